"""Arguments that the function reaches from outside as well: what is written by one name is read by the other."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import tests.infer.test_also_outside as here
from mooncake_py import UnsupportedError, debug, jacobian, value_and_grad

START = [1.2, 2.0, 3.0]
ROW = np.array(START)
TAIL = ROW[1:]
NUMBERS, QUEUE = list(START), deque(START)
BY_NAME = {"a": 1.2, "b": 2.0, "c": 3.0}
NESTED: dict[str, Any] = {"rows": (1.0, [ROW])}


class Holder:
    row: ClassVar[np.ndarray] = ROW

    def __init__(self) -> None:
        self.held = ROW

    def first(self):
        return self.held[0]

    def write_and_read(self, x):
        x[0] = x[1] ** 2
        return self.held[0] * x[2]


HOLDER = Holder()
FIRST = functools.partial(lambda row, k: row[k], ROW)


def _helper(x):
    x[0] = x[1] ** 2


def _by_global(x):
    x[0] = x[1] ** 2
    return ROW[0] * x[2]


def _by_default(x, row=ROW):
    x[0] = x[1] ** 2
    return row[0] * x[2]


def _by_helper(x):
    _helper(x)
    return HOLDER.first() * Holder.row[2]


def _by_module(x):
    from tests.infer.test_also_outside import ROW as row

    x[0] = x[1] ** 2
    return row[0] * here.ROW[0] * x[2]


def _by_partial(x):
    x[0] = x[1] ** 2
    return FIRST(0) * x[2]


def _in_place(x):
    x *= 2.0 * x[::-1]
    return (NESTED["rows"][1][0] * x).sum()


def _by_view(x):
    x[1:] *= x[0]
    return TAIL[0] * TAIL[1]


def _collected(*xs, factor=1.0):
    np.multiply(xs[0], factor * ROW, out=xs[0])
    return ROW.prod()


def _captured():
    row = ROW

    def inner():
        return row[0]

    def f(x):
        x[0] = x[1] ** 2
        return inner() * x[2]

    return f


ROWS = [_by_global, _by_default, _by_helper, _by_module, _by_partial, _in_place, _by_view, _collected, _captured()]
ROWS += [HOLDER.write_and_read]


def _differences(f: Callable[[Any], Any], x: Any) -> list[float]:
    """By the items of x, which is changed and put back."""
    kept = x.copy()
    out = []
    for k in x if isinstance(x, dict) else range(len(x)):
        ends = []
        for step in (1e-6, -1e-6):
            x[k] += step
            ends.append(f(x))
            _set(x, kept)
        out.append((ends[0] - ends[1]) / 2e-6)
    return out


def _set(x: Any, kept: Any) -> None:
    if isinstance(x, np.ndarray):
        x[:] = kept
    else:
        x.clear()
        (x.update if isinstance(x, dict) else x.extend)(kept)


def _check(f: Callable[[Any], Any], x: Any) -> None:
    expected = _differences(f, x)
    kept = x.copy()
    gradient = value_and_grad(f)
    for _ in range(2):
        _, g = gradient(x)
        assert np.allclose(list(g.values()) if isinstance(g, dict) else g, expected)
        assert list(x) == list(kept) and (not isinstance(x, dict) or x == kept)


@pytest.mark.parametrize("f", ROWS, ids=lambda f: f.__name__)
def test_arrays(f: Any) -> None:
    _check(f, ROW)
    with debug():
        _check(f, ROW)


def test_a_view_of_an_array_from_outside() -> None:
    def by_argument(x):
        x[0] = x[1] ** 2
        return ROW[1] * x[1]

    def by_name(x):
        ROW[1] = x[1] ** 2
        return x[0] * x[1]

    _check(by_argument, TAIL)
    _check(by_name, TAIL)


def test_lists_deques_and_dicts() -> None:
    def of_list(x):
        x[0] = x[1] ** 2
        x.append(x[0] * x[2])
        return NUMBERS[0] * NUMBERS[-1]

    def of_deque(x):
        x.rotate(1)
        return QUEUE[0] * QUEUE[1] ** 2

    def of_dict(x):
        x["a"] = x["b"] ** 2
        return BY_NAME["a"] * x["c"]

    _check(of_list, NUMBERS)
    _check(of_deque, QUEUE)
    _check(of_dict, BY_NAME)


def test_constant_arguments() -> None:
    def of_array(y, x):
        x[0] = y**2
        return ROW[0] * y

    def of_arrays(y, xs):
        xs[0][0] = y**2
        return ROW[0] * y

    def of_list(y, x):
        x[0] = y**2
        return NUMBERS[0] * y

    for f, x in ((of_array, ROW), (of_arrays, [ROW]), (of_list, NUMBERS)):
        assert np.allclose(value_and_grad(f)(2.0, x), (8.0, 12.0))
    assert ROW.tolist() == START == NUMBERS


def test_arrays_of_objects_outside() -> None:
    held, alone = np.array([None, ROW], dtype=object), np.array(None, dtype=object)

    def f(x):
        x[0] = x[1] ** 2
        return held[1][0] * x[2] if alone[()] is None else 0.0

    with pytest.raises(UnsupportedError, match="array of dtype object") as e:
        value_and_grad(f)(ROW)
    assert e.value.__context__ is None
    assert ROW.tolist() == START


def test_a_call_after_one_with_an_argument_of_its_own() -> None:
    gradient = value_and_grad(_by_global)
    own = np.array(START)
    for _ in range(2):
        assert np.allclose(gradient(own)[1], [0.0, 0.0, 1.2])
        assert np.allclose(gradient(ROW)[1], [0.0, 12.0, 4.0])


def test_rows_of_a_jacobian() -> None:
    def f(x):
        x[0] = x[1] ** 2
        return ROW * x[2]

    assert np.allclose(jacobian(f)(ROW), [[0.0, 12.0, 4.0], [0.0, 3.0, 2.0], [0.0, 0.0, 6.0]])
    assert ROW.tolist() == START


def test_an_array_of_another_module_written_by_an_import() -> None:
    def f(x):
        from tests.infer.test_also_outside import ROW as row

        row[0] = x**2
        return here.ROW[0] * x

    try:
        assert np.allclose(value_and_grad(f)(2.0), (8.0, 12.0))
    finally:
        ROW[:] = START
