"""Whatever is derived for the zoo is well-formed IR."""

from __future__ import annotations

import contextlib
from types import BuiltinFunctionType, CodeType
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, forward, pipeline, value_and_pullback
from mooncake_py.ir.nodes import Function
from mooncake_py.ir.parser import parse
from mooncake_py.ir.text import to_text
from mooncake_py.ir.verify import verify
from mooncake_py.runtime import rule
from tests.functions import SAMPLE
from tests.harness import Case


def is_in_c(f: Any) -> bool:
    return isinstance(f, BuiltinFunctionType | np.ufunc)


DERIVED = [c for c in SAMPLE if not is_in_c(c.fn) and not is_in_c(vars(type(c.fn)).get("__call__"))]


@pytest.mark.parametrize("case", DERIVED, ids=lambda case: case.name)
def test_derived_code_verifies(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every rule that a call derives, callees included; that no rule is missing is test_zoo's to say."""
    lower, lowered = pipeline.lower, list[Function]()

    def noted(fn: Function, **options: Any) -> CodeType:
        lowered.append(fn)
        return lower(fn, **options)

    monkeypatch.setattr(pipeline, "lower", noted)
    monkeypatch.setattr(rule, "_cache", {})
    monkeypatch.setattr(forward, "_warm", {})
    with contextlib.suppress(MissingRule):
        value_and_pullback(case.fn, *case.fresh_args())
    assert lowered
    for i, fn in enumerate(lowered):
        verify(fn, late=i % 2 == 0)  # a forward function, and then its pullback
        consts: list[object] = []
        text = to_text(fn, consts)
        assert to_text(parse(text, consts), list(consts)) == text
