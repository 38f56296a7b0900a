"""The README's promises: the first example runs as it stands, and the commands are the ones we test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def first_example() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", README, flags=re.S | re.M)
    assert blocks, "the README has no python example"
    return str(blocks[0])


def test_first_example_runs_as_it_stands(tmp_path: Path) -> None:
    script = tmp_path / "first_example.py"
    script.write_text(first_example(), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "start 1.200, damping 0.300" in done.stdout


def test_first_example_is_short() -> None:
    code = [line for line in first_example().splitlines() if line.strip()]
    assert len(code) <= 20


def test_commands_stand_in_the_readme() -> None:
    for command in (
        'python -m pip install -e ".[examples]" && python examples/digits.py',
        'python -m pip install -e ".[test]" && python -m pytest',
    ):
        assert f"\n    {command}\n" in README


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
