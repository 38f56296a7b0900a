"""The types of the public functions, as mypy sees them: in the examples, and in a file of assertions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mooncake_py

ROOT = Path(__file__).resolve().parent.parent


def mypy(*arguments: str | Path, cache: Path) -> str:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--cache-dir", cache, "--warn-unused-ignores"]
    command += ["--follow-imports", "silent", "--ignore-missing-imports", "--no-error-summary", *arguments]
    path = os.pathsep.join([str(ROOT), str(ROOT / "rules"), str(ROOT / "examples")])
    env = {**os.environ, "MYPYPATH": path}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cache, env=env, timeout=600)
    return done.stdout + done.stderr


def test_the_package_says_it_is_typed() -> None:
    assert (Path(mooncake_py.__file__).parent / "py.typed").exists()


def test_examples(tmp_path: Path) -> None:
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert examples and mypy("--check-untyped-defs", *examples, cache=tmp_path) == ""


def test_signatures(tmp_path: Path) -> None:
    assert mypy(ROOT / "tests" / "typing" / "signatures.py", cache=tmp_path) == ""


def test_every_lazy_name_is_there_and_listed() -> None:
    for name in mooncake_py.__all__:
        assert getattr(mooncake_py, name) is not None and name in dir(mooncake_py)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mooncake_py.nothing  # noqa: B018
