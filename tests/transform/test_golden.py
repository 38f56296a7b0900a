"""The forward and pullback IR of the seed's examples, the same on every Python.

One file an example. After a change of the transform that is meant, write them anew and read the difference:

    MOONCAKE_GOLDEN=write python -m pytest tests/transform/test_golden.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.derive import text_of
from tests.transform.seeds import EXAMPLES

WRITE = os.environ.get("MOONCAKE_GOLDEN") == "write"
HERE = Path(__file__).parent


@pytest.mark.parametrize("fn, args", EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
def test_golden(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    text = text_of(fn, *args)
    path = HERE / f"{fn.__name__}.txt"
    if WRITE:
        path.write_text(text)
    assert text == path.read_text()


def test_every_file_has_its_example() -> None:
    assert {p.stem for p in HERE.glob("*.txt")} == {fn.__name__ for fn, _ in EXAMPLES}
