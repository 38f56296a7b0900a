"""The text of normalised code, the same on every Python.

`golden.txt` holds sources, each followed by its normal form. With MOONCAKE_GOLDEN=write in the environment
the normal forms are written anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import CodeType

import pytest

from mooncake_py.frontend import normalise
from mooncake_py.ir.text import to_text
from mooncake_py.ir.verify import verify

FILE = Path(__file__).with_name("golden.txt")
WRITE = os.environ.get("MOONCAKE_GOLDEN") == "write"


def read() -> list[tuple[str, str, str]]:
    """(title, source, text) of every entry."""
    entries = re.split(r"^### (.*)\n", FILE.read_text(), flags=re.M)[1:]
    out = []
    for title, body in zip(entries[::2], entries[1::2], strict=True):
        source, _, text = body.partition("---\n")
        out.append((title, source.rstrip() + "\n", text.rstrip() + "\n"))
    return out


def innermost(code: CodeType, name: str) -> CodeType | None:
    """The code object of this name among those nested in `code`."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found = const if const.co_name == name else innermost(const, name)
            if found is not None:
                return found
    return None


def text_of(source: str) -> str:
    """The normal form of the function `f` of a source."""
    code = innermost(compile(source, "golden", "exec"), "f")
    assert code is not None
    fn = normalise(code)
    verify(fn)
    return to_text(fn)


ENTRIES = read()


@pytest.mark.parametrize("title, source, text", ENTRIES, ids=[title for title, _, _ in ENTRIES])
def test_golden(title: str, source: str, text: str) -> None:
    if not WRITE:
        assert text_of(source) == text


@pytest.mark.skipif(not WRITE, reason="writes golden.txt, on demand only")
def test_write() -> None:
    FILE.write_text("\n".join(f"### {t}\n{source}---\n{text_of(source)}" for t, source, _ in ENTRIES))
