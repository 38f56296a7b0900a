"""The rule of a call like one before is found again for values of its types only."""

from __future__ import annotations

import math
import types as pytypes
from typing import Any

import pytest

from mooncake_py import grad
from mooncake_py.infer.abstraction import NARROW, abstract
from mooncake_py.infer.types import join
from mooncake_py.run import Run, current
from mooncake_py.runtime.coduals import MOST, abstract_codual
from mooncake_py.runtime.python import run_python
from mooncake_py.runtime.recent import _KEPT, _of_cell, _of_code, _of_codual
from mooncake_py.runtime.results import Given
from mooncake_py.structure import MANY
from mooncake_py.tangents import ObjectShadow, zero_fdata
from tests.runtime.test_fits import VALUES, Plain


def with_default(x, y=2.0):
    return x * y


def maker(captured):
    return lambda x: x * captured


def fresh():
    return lambda x: x


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
    Plain(a=[Plain(a=1.0)] * 3),
    Plain(a=[Plain(a=1.0)] * (NARROW + 1)),
    Plain(a=None),
    Plain(a={"b": Plain(a=1.0), "c": 1.0}),
    Plain(f=maker(1.0)),
    Plain(f=with_default),
    Plain(f=fresh()),
    Plain(f=fresh()),
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


@pytest.mark.parametrize("most", [MOST, NARROW])
def test_what_fits_is_of_the_type(most: int) -> None:
    with Run():
        values = with_fdata()
        types = [abstract_codual(x, fx, most) for x, fx in values]
        asked = 0
        for (x, fx), t in zip(values, types, strict=True):
            asks = _of_codual(t, x, fx, most)
            if asks is None:
                continue
            asked += 1
            for (y, fy), u in zip(values, types, strict=True):
                if asks(y, fy):
                    assert join(t, u) == t, (x, y)
        assert asked > len(values) / 2


@pytest.mark.parametrize("most", [MOST, NARROW])
def test_what_fits_is_of_the_type_of_a_cell(most: int) -> None:
    with Run():
        values = [(pytypes.CellType(x), fx) for x, fx in with_fdata()] + [(pytypes.CellType(), None)]
        types = [abstract(c, fx is not None, most) for c, fx in values]
        for (_, fx), t in zip(values, types, strict=True):
            asks = _of_cell(t, fx, most)
            if asks is not None:
                for (d, fy), u in zip(values, types, strict=True):
                    if asks(d, fy):
                        assert join(t, u) == t


@pytest.mark.parametrize("x", [1.0, [1.0], Plain(a=1.0), (1.0, [2.0]), {"a": 1.0}, with_default, maker(1.0)])
def test_a_value_fits_itself(x: Any) -> None:
    with Run():
        for fx in (None, zero_fdata(x)):
            asks = _of_codual(abstract_codual(x, fx), x, fx)
            assert asks is not None and asks(x, fx)


@pytest.mark.parametrize("content", [(), (1.0,), ([1.0],)])
def test_a_cell_fits_itself(content: tuple[Any, ...]) -> None:
    cell = pytypes.CellType(*content)
    with Run():
        for fx in (None, zero_fdata(cell)):
            asks = _of_cell(abstract(cell, fx is not None, MOST), fx)
            assert asks is not None and asks(cell, fx)


@pytest.mark.parametrize("f", [fresh, lambda: maker(1.0), lambda: with_default], ids=["local", "cells", "defaults"])
@pytest.mark.parametrize("most", [MOST, NARROW])
def test_objects_that_hold_functions_are_of_one_type(f: Any, most: int) -> None:
    """A rule was looked up by its types, which takes long, for each of them."""
    with Run():
        for act in (False, True):
            x, y = Plain(f=f(), a=1.0), Plain(f=f(), a=2.0)
            fx, fy = (zero_fdata(x), zero_fdata(y)) if act else (None, None)
            t = abstract_codual(x, fx, most)
            assert t == abstract_codual(y, fy, most)
            asks = _of_codual(t, x, fx, most)
            assert asks is not None and asks(y, fy)


class Leaf:
    def __init__(self, value):
        self.value = value


class Plus:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Minus(Plus):
    pass


class Times(Plus):
    pass


def evaluated(e):
    if isinstance(e, Leaf):
        return e.value
    left, right = evaluated(e.left), evaluated(e.right)
    return left * right if isinstance(e, Times) else left - right if isinstance(e, Minus) else left + right


def tree(shape, x):
    return shape[0](*[tree(part, x) for part in shape[1:]]) if isinstance(shape, tuple) else Leaf(x * shape)


def of_many_trees(x, shapes):
    total = 0.0
    for shape in shapes:
        total = total + [evaluated][0](tree(shape, x))
    return total


def shapes_of(n: int) -> list[Any]:
    found: list[Any] = [1.0, 0.5]
    for i in range(n):
        found.append(((Plus, Minus, Times)[i % 3], found[-1 - i % 2], found[-1 - i % 5 % len(found)]))
    return found


def test_code_that_meets_ever_other_trees_looks_at_less_of_them() -> None:
    shapes, e = shapes_of(9), 1e-6
    expected = (of_many_trees(0.7 + e, shapes) - of_many_trees(0.7 - e, shapes)) / (2 * e)
    for _ in range(3):
        assert grad(of_many_trees)(0.7, shapes) == pytest.approx(expected, rel=1e-6)
    known = _of_code[evaluated.__code__]
    assert known.most == NARROW and len(known.kept) <= 6


def grown_by(nodes, x):
    nodes.append(Leaf(x + nodes[-1].value))


def test_code_that_is_often_given_much_looks_at_less_of_it() -> None:
    nodes, x = [Leaf(0.5)], 1.0
    with Run():
        shadow = zero_fdata(nodes)
        back = [run_python(grown_by, None, Given((nodes, x), (shadow, None)), False)[2] for _ in range(150)]
        assert _of_code[grown_by.__code__].most == NARROW
        current().shadow(nodes[-1]).r["value"] = 1.0
        assert sum(pull(None)[2] for pull in reversed(back) if pull is not None) == 150.0
    assert len(nodes) == 1


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
    def first(xs):
        return xs[0]

    with Run():
        for i in range(400):
            xs = (1.0,) * (i % 20 + 1)
            assert run_python(first, None, Given((xs,), (None,)), False)[0] == 1.0
    assert 0 < len(_of_code[first.__code__].kept) <= _KEPT
