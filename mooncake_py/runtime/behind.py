"""Iterators and views from outside that give what is held elsewhere, of which no run keeps a tangent.

What the run has written there would be read through them without its derivative, so that is refused.
"""

from __future__ import annotations

import operator
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import gives_what_others_hold
from mooncake_py.iterators import advance
from mooncake_py.runtime.asked import reached
from mooncake_py.runtime.user import has_derivative
from mooncake_py.tangents import met_fdata

_PYTHON = (pytypes.FunctionType, pytypes.MethodType)
_OF_ITEMS = frozenset({next, advance, operator.getitem, iter})
"""What gives items as they are held, so that those with an identity are known again."""


def check_given(f: Any, args: tuple[Any, ...], y: Any) -> None:
    """Refuse what a call of f gave in a wary run, if that may be numbers that the run has written and does not know."""
    if isinstance(f, _PYTHON) or not _loses(f, y):
        return
    for x in (getattr(f, "__self__", None), *args):
        if gives_what_others_hold(type(x)) and reaches_met(x, run.current()):
            raise UnsupportedError(
                f"reading what the function may have written outside through a {type(x).__name__} from outside",
                "the call",
                None,
                "make it in the function",
            )


def _loses(f: Any, y: Any) -> bool:
    """Are there numbers in y that nobody will know by an identity?"""
    if isinstance(y, tuple):
        return any(_loses(f, v) for v in y)
    if isinstance(y, (float, complex, np.inexact)):
        return True
    anew = not hashable(f) or f not in _OF_ITEMS
    return anew and not gives_what_others_hold(type(y)) and has_derivative(y)


def reaches_met(x: Any, here: run.Run) -> bool:
    """May x give or read numbers that are held by what this run has a tangent of?"""
    return any(reads_met(v, here) for v in reached([x]))


def reads_met(v: Any, here: run.Run) -> bool:
    """Are there numbers in v, of which this run has a tangent?"""
    return _has_numbers(v) and met_fdata(v, here) is not None


def _has_numbers(x: Any) -> bool:
    if type(x) is pytypes.CellType:
        try:
            return has_derivative(x.cell_contents)
        except ValueError:  # an empty cell
            return False
    return has_derivative(x)
