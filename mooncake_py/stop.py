"""Dropping a derivative on purpose."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np

from mooncake_py.infer.parts import activate, elsewhere
from mooncake_py.infer.types import T, widen
from mooncake_py.registry import infer_table, pure, zero_derivative

X = TypeVar("X")
_VALUES = (int, float, complex, str, bytes, np.generic, type(None))


def no_diff(x: X) -> X:
    """x as a constant: what is computed from it has no derivative by it.

    The value is x's; where x could be changed in place (arrays, lists, objects) it is a copy of its own, so that
    writing to one does not change the other. Outside of a gradient it is the same.
    """
    return x if isinstance(x, _VALUES) else copy.deepcopy(x)


stop_gradient = no_diff
"""`no_diff` by the name that JAX gives it."""


def _type(args: tuple[T, ...], kwargs: dict[str, Any]) -> T | None:
    return activate(elsewhere(widen(args[0])), False) if len(args) == 1 else None


zero_derivative(no_diff)
infer_table[no_diff] = _type
pure.add(no_diff)
