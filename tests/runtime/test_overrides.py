"""What is refused of objects whose classes say what NumPy's functions are of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import UnsupportedError, grad


class Doubled:
    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        values = [x.v if isinstance(x, Doubled) else x for x in inputs]
        return getattr(ufunc, method)(*values, **options) * 2.0


class Joined:
    def __init__(self, v):
        self.v = v

    def __array_function__(self, f, types, args, options):
        return self.v * 3.0


class Odd(Doubled):
    __array_ufunc__: Any = staticmethod(lambda *args, **options: 1.0)


def into_an_array(x):
    z = np.zeros(2)
    np.add(Doubled(x), np.ones(2), out=z)
    return z.sum()


def into_an_array_by_a_function(x, f=np.add):
    z = np.zeros(2)
    fs = [np.sin, np.cos, f]
    fs[2](Doubled(x), np.ones(2), z)
    return z.sum()


def in_a_list(x):
    return np.concatenate([Joined(x), np.ones(2)])


def by_keyword(x):
    return np.mean(Joined(2.0), dtype=Joined(x))


def as_an_array(x):
    return np.sum(np.asarray(Doubled(x)))


def by_no_method(x):
    return np.sin(Odd(x))


def caught(x):
    try:
        return in_a_list(x)
    except Exception:
        return x * 100.0


CASES = [into_an_array, into_an_array_by_a_function, in_a_list, by_keyword, as_an_array, by_no_method, caught]


@pytest.mark.parametrize("f", CASES)
def test_what_is_not_done_as_numpy_does_it_is_refused(f: Callable[[float], float]) -> None:
    with pytest.raises(UnsupportedError):
        grad(f)(1.3)
