"""What inference says of the results of functions with rules is so."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py.infer.types import Arr, Inst, Known, Lst, Real, T, Tup, Union
from mooncake_py.testing import RuleCase, known_call
from tests.functions import share
from tests.rules.test_rules import CASES

TYPED = share(CASES, 2)


def holds(t: T, value: Any) -> bool:
    """Is the value of the type, as far as that says anything of its class, dtype, dimensions and items?"""
    match t:
        case Known(value=v):
            return type(v) is type(value) and (v is value or bool(np.all(v == value)))
        case Inst(cls=c):
            return type(value) is c
        case Real():
            return isinstance(value, int | float | np.integer | np.floating | np.bool_)
        case Arr(dtype=d, ndim=n):
            fits = type(value) is np.ndarray and (n is None or value.ndim == n)
            return fits and (d is None or value.dtype == d)
        case Tup(items=items, cls=c):
            return type(value) is c and len(value) == len(items) and all(map(holds, items, value))
        case Lst(elem=e, cls=c):
            return type(value) is c and all(holds(e, v) for v in value)
        case Union(options=options):
            return any(holds(o, value) for o in options)
    return True


@pytest.mark.parametrize("case", [c for _, c in TYPED], ids=[name for name, _ in TYPED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_what_is_said_of_them(case: RuleCase) -> None:
    f, args = known_call(case.fn, case.args, case.kwargs)
    t = mooncake_py.inspect(f, *copy.deepcopy(args)).inferred.result
    assert holds(t, f(*copy.deepcopy(args))), t


def test_a_type_that_does_not_hold_is_noticed() -> None:
    assert not holds(Arr(np.dtype(float), 1), np.zeros((2, 2)))
    assert not holds(Arr(np.dtype(float), 1), np.float64(1.0))
    assert not holds(Tup((Inst(float), Inst(int))), (1.0, 2.0))
