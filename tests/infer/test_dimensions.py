"""Arrays of some number of dimensions or more."""

from __future__ import annotations

import operator

import mooncake_rules  # noqa: F401 (result types of primitives)
import numpy as np
import pytest

from mooncake_py.infer.dimensions import row_of
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import Arr, Inst, Known, T, Top, union

F = np.dtype(float)
NUMBER = Inst(np.float64, True)


def some(least: int) -> Arr:
    return Arr(F, None, True, least)


@pytest.mark.parametrize(
    ("f", "args", "result"),
    [
        (operator.mul, (some(1), some(2)), some(2)),
        (operator.sub, (some(1), Inst(float)), some(1)),
        (np.sum, (some(0),), NUMBER),
        (np.tanh, (some(0),), union((NUMBER, some(1)))),
        (operator.matmul, (some(1), some(1)), union((NUMBER, some(1)))),
        (operator.matmul, (some(2), some(2)), some(2)),
        (np.ndarray.sum, (some(2), Known(0)), some(1)),
        (np.atleast_3d, (some(1),), some(3)),
        (operator.getitem, (some(1), Inst(int)), union((NUMBER, some(1)))),
        (np.ravel, (some(1),), Arr(F, 1, True)),
        (operator.matmul, (some(0), some(1)), Top(True)),
    ],
)
def test_results_are_those_of_each_number_of_dimensions(f: object, args: tuple[T, ...], result: T) -> None:
    assert result_type(f, args, ()) == result


def test_rows() -> None:
    assert row_of(some(2)) == some(1) and row_of(Arr(F, 2)) == Arr(F, 1)
    assert row_of(some(1)) == union((NUMBER, some(1))) and row_of(some(0)) == Top(True)
