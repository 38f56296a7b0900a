"""The rule of a call like one before is found again for values of its types only."""

from __future__ import annotations

import itertools
import math
import types as pytypes
from typing import Any

import pytest

from mooncake_py import grad
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.types import join
from mooncake_py.run import Run, current
from mooncake_py.runtime.coduals import MOST, abstract_codual
from mooncake_py.runtime.recent import _of_cell, _of_codual
from mooncake_py.structure import MANY
from mooncake_py.tangents import ObjectShadow, zero_fdata
from tests.runtime.test_fits import VALUES, Plain


def with_default(x, y=2.0):
    return x * y


def maker(captured):
    return lambda x: x * captured


def class_of_its_own():
    class Local:
        pass

    return Local


MADE_ANEW = [class_of_its_own() for _ in range(MANY + 4)]

MORE: list[Any] = [
    *VALUES,
    math.sin,
    with_default,
    lambda x: x,
    maker(1.0),
    [1.0].append,
    {"a": 1.0}.get,
    [1.0] * (MOST + 1),
    [1.0, "s"] * MOST,
    [None, 1.0],
    Plain(a=[1.0] * (MOST + 1)),
    ((1.0, Plain(a=1.0)), [1.0]),
    *(cls() for cls in MADE_ANEW),
    *([cls()] for cls in MADE_ANEW[-2:]),
    MADE_ANEW[-1],
    ValueError(1.0),
]


def with_fdata() -> list[tuple[Any, Any]]:
    pairs = [(x, None) for x in MORE]
    pairs += [(x, fx) for x in MORE if (fx := zero_fdata(x)) is not None]
    new = Plain()
    current().made[id(new)] = new, (shadow := ObjectShadow(new))
    return [*pairs, (new, shadow), ((1.0, Plain()), (None, None)), ((1.0, x := Plain(a=1.0)), (None, zero_fdata(x)))]


def test_what_fits_is_of_the_type() -> None:
    with Run():
        values = with_fdata()
        types = [abstract_codual(x, fx) for x, fx in values]
        asked = 0
        for (x, fx), t in zip(values, types, strict=True):
            asks = _of_codual(t, x, fx)
            if asks is None:
                continue
            asked += 1
            for (y, fy), u in zip(values, types, strict=True):
                if asks(y, fy):
                    assert join(t, u) == t, (x, y)
        assert asked > len(values) / 2


def test_what_fits_is_of_the_type_of_a_cell() -> None:
    with Run():
        values = [(pytypes.CellType(x), fx) for x, fx in with_fdata()] + [(pytypes.CellType(), None)]
        types = [abstract(c, fx is not None, MOST) for c, fx in values]
        for (_, fx), t in zip(values, types, strict=True):
            asks = _of_cell(t, fx)
            if asks is not None:
                for (d, fy), u in zip(values, types, strict=True):
                    if asks(d, fy):
                        assert join(t, u) == t


@pytest.mark.parametrize("x", [1.0, [1.0], Plain(a=1.0), (1.0, [2.0]), {"a": 1.0}, with_default])
def test_a_value_fits_itself(x: Any) -> None:
    with Run():
        for fx in (None, zero_fdata(x)):
            asks = _of_codual(abstract_codual(x, fx), x, fx)
            assert asks is not None and asks(x, fx)


class Held:
    def __init__(self, f, x):
        self.f, self.x = f, x

    def run(self, *more, by=1.0):
        return self.f(self.x, *more) * by


def kept_in(held, i):
    return held[i % len(held)].run(*([2.0] * (i % 3)))


def any_of(x, y=3.0, *rest):
    return x * x * y + sum(rest)


def of_many_types(x):
    """One statement that comes to functions with defaults and `*args`, given numbers, tuples, lists, None, in turns."""
    parts = [x, (x, 2.0), [x, x], {"a": x}, None, "s", Held(any_of, x)]
    total = 0.0
    for i in range(30):
        total = total + weight(parts[i % len(parts)], i)
        total = total + kept_in([Held(any_of, x), Held(math.atan2, x), Held(lambda x, *r: x, x)], [0, 1, 2, 4][i % 4])
    return total


def weight(part, i):
    if isinstance(part, (tuple, list)):
        return part[0] * part[1] * i
    if isinstance(part, dict):
        return part["a"] * i
    if isinstance(part, Held):
        return part.x * i
    return 0.1 if part is None or isinstance(part, str) else part * part


def test_one_statement_of_many_types() -> None:
    e = 1e-6
    for _ in range(3):
        expected = (of_many_types(0.7 + e) - of_many_types(0.7 - e)) / (2 * e)
        assert grad(of_many_types)(0.7) == pytest.approx(expected, rel=1e-6)


def test_a_function_that_was_replaced_is_not_run_by_its_old_rule() -> None:
    def called(f, x):
        return [f][0](x)

    scope: dict[str, Any] = {}
    exec("def g(x): return x * x", scope)
    g, f = scope["g"], lambda x, fs: called(fs["g"], x)
    assert grad(f)(3.0, {"g": g}) == 6.0
    g.__code__ = (lambda x: x * x * x).__code__
    assert grad(f)(3.0, {"g": g}) == 27.0


def test_many_kinds_of_arguments_are_not_kept_for_ever() -> None:
    from mooncake_py.runtime.recent import _KEPT, _of_code

    def through(x, n):
        total = 0.0
        for i in range(n):
            total = total + first(tuple([x] * (i % 20 + 1)))
        return total

    def first(xs):
        return xs[0]

    assert grad(through)(1.0, 400) == 400.0
    assert all(len(known.kept) <= _KEPT for known in _of_code.values())
    assert list(itertools.islice(_of_code, 1))
