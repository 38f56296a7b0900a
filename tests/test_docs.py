"""The documentation: every Python block of every page runs, links lead somewhere, the pages build."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mooncake_py
from mooncake_py import scoped_rules

pytest.importorskip("scipy")
pytest.importorskip("cloudpickle")
ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.M | re.S)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page with the lines they begin at."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.stem)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, in one namespace per page."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    with scoped_rules():
        for line, source in blocks(page):
            exec(compile("\n" * line + source, str(page), "exec", dont_inherit=True), scope)


def test_the_main_pages_have_blocks() -> None:
    with_blocks = {p.stem for p in PAGES if blocks(p)}
    assert with_blocks >= {"index", "tutorial", "using", "mutation", "complex", "processes", "rules", "moving"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+\.md)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_page_is_in_the_menu_and_on_the_first_page(page: Path) -> None:
    assert f": {page.name}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert page.name == "index.md" or f"({page.name})" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (\S+)", text, flags=re.M)
    members = ",".join(re.findall(r"members: \[([^]]*)\]", text))
    for name in mooncake_py.__all__:
        x = getattr(mooncake_py, name)
        module = getattr(x, "__module__", "")
        found = module == "mooncake_py.errors" or f"{module}.{name}" in listed or re.search(rf"\b{name}\b", members)
        assert found or f"`{name}`" in text or f"heading: {name}\n" in text, name
        documented = type(x).__call__ if name == "rrule" else x
        assert module == "mooncake_py.registry" or len(documented.__doc__ or "") > 20, name


def test_the_pages_build(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings_handlers.python")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site" / "reference" / "index.html").read_text(encoding="utf-8")
    for name in ("value_and_grad", "jacobian", "prepare", "ravel", "check_rule", "NonScalarOutput", "multigrad_dict"):
        assert name in reference
