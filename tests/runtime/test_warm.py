"""Calls like the last one take the short way, and give what the long one gives."""

from __future__ import annotations

import functools
import math
import types

import numpy as np
import pytest

from mooncake_py import (
    MissingRule,
    NonScalarOutput,
    grad,
    prepare,
    rrule,
    scoped_rules,
    value_and_grad,
    value_and_pullback,
)
from mooncake_py.sums import read_once


def total(x):
    return np.sum(x)


def pair(x, y):
    return np.sum(x + y)


@pytest.mark.parametrize(
    "x", [np.ones(3), np.ones((2, 3)), np.asfortranarray(np.ones((2, 3))), np.ones(0), np.ones(6)[::2]], ids=str
)
def test_a_sum_fills_the_gradient(x) -> None:
    f = value_and_grad(total)
    for _ in range(3):
        value, g = f(x)
        assert value == x.size and g.shape == x.shape and np.all(g == 1.0)
        assert g.flags.c_contiguous and g.flags.owndata and g.flags.writeable


def test_float32_stays_float32() -> None:
    f = value_and_grad(lambda x: np.sum(x * np.float32(2.0)))
    for _ in range(2):
        value, g = f(np.ones(3, np.float32))
        assert value.dtype == g.dtype == np.float32 and g.tolist() == [2.0] * 3


def test_gradients_do_not_share_memory() -> None:
    f = value_and_grad(pair, argnums=(0, 1))
    x = np.ones(3)
    for _ in range(3):
        _, (dx, dy) = f(x, x)
        assert not np.shares_memory(dx, dy) and not np.shares_memory(dx, x)
        dx[:] = 7.0
        assert dy.tolist() == [1.0] * 3 and x.tolist() == [1.0] * 3


def test_another_signature_goes_the_long_way() -> None:
    f = value_and_grad(total)
    assert f(np.ones(2))[1].shape == (2,)
    assert f(np.ones((2, 2)))[1].shape == (2, 2)
    assert f(np.ones(2, np.float32))[1].dtype == np.float32
    assert f(2.0) == (2.0, 1.0)


SCALE = 2.0


def scaled(x):
    return x * SCALE


def test_names_are_looked_at(monkeypatch) -> None:
    df = grad(scaled)
    assert df(1.0) == df(1.0) == 2.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert df(1.0) == 3.0
    monkeypatch.setitem(globals(), "SCALE", np.array([1.0, 2.0]))
    with pytest.raises(Exception, match="real scalar"):
        df(1.0)


def test_cells_are_looked_at() -> None:
    k = 2.0

    def f(x):
        return np.sum(x * k)

    df = grad(f)
    assert df(np.ones(2)).tolist() == df(np.ones(2)).tolist() == [2.0, 2.0]
    k = np.array([3.0, 4.0])
    assert df(np.ones(2)).tolist() == [3.0, 4.0]


def test_aux_beside_the_value() -> None:
    f = value_and_grad(lambda x: (np.sum(x * x), x * 3.0), has_aux=True)
    for _ in range(3):
        (value, aux), g = f(np.array([1.0, 2.0]))
        assert value == 5.0 and aux.tolist() == [3.0, 6.0] and g.tolist() == [2.0, 4.0]


def test_prepared_calls() -> None:
    p = prepare(total, np.ones(3))
    for _ in range(3):
        value, g = p.value_and_grad(np.arange(3.0))
        assert value == 3.0 and g.tolist() == [1.0] * 3
    out = np.empty(3)
    value, g = p.value_and_grad(np.arange(3.0), out=out)
    assert g is out and out.tolist() == [1.0] * 3


def test_a_stack_that_is_read_once() -> None:
    a, b = [1.0, None, 3.0], [4.0]
    captures = read_once((a, "x", b), (0, 2))
    assert type(captures) is tuple and captures[1] == "x"
    assert list(reversed(captures[0])) == [3.0, None, 1.0] and captures[0] == []
    assert a == [1.0, None, 3.0]


def test_arrays_of_a_loop_are_freed_while_the_pullback_runs() -> None:
    def f(x, n):
        for _ in range(n):
            x = np.sin(x) * x
        return np.sum(x)

    df = value_and_grad(f)
    x = np.linspace(0.1, 1.0, 1000)
    first = df(x, 20)
    assert df.warm is not None and df.warm.stacks
    for _ in range(2):
        value, g = df(x, 20)
        assert value == first[0] and g.tolist() == first[1].tolist()
    _, pullback = value_and_pullback(f, x, 20)
    assert pullback(1.0)[0].tolist() == pullback(1.0)[0].tolist() == first[1].tolist()


class Line:
    def __init__(self, slope, offset):
        self.slope, self.offset = slope, offset


def dense(params, x):
    h = np.tanh(params["w"] @ x + params["b"])
    return np.sum(h * params["scale"])


def of_object(line, x):
    return np.sum(line.slope * x + line.offset)


def of_list(xs, k):
    total = 0.0
    for i, v in enumerate(xs):
        total += v * v * (i + k)
    return total


def of_pair(pair, x):
    return pair[0] * x + np.sum(pair[1])


STRUCTURED = {
    "dict": (dense, lambda c: ({"w": np.full((2, 3), c), "b": np.array([0.1, c]), "scale": c}, np.arange(3.0))),
    "dict of one type": (lambda d, x: d["a"] * d["b"] + x, lambda c: ({"a": c, "b": 2.0}, c)),
    "object": (of_object, lambda c: (Line(np.array([c, 2.0]), c), np.array([1.0, c]))),
    "list": (of_list, lambda c: ([c, 2.0, 3.0], 2.0)),
    "list of lists": (lambda rows, k: sum(k * v * v for row in rows for v in row), lambda c: ([[c, 1.0], [2.0]], c)),
    "dict of tuples": (lambda d: d["a"][0] * d["a"][1][1], lambda c: ({"a": (c, [1.0, 2.0]), "n": 3, "s": None},)),
    "list of complex numbers": (lambda zs: (zs[0] * zs[1]).real, lambda c: ([complex(c, 1.0), 2j],)),
    "list of arrays": (lambda ws: sum((w * w).sum() for w in ws), lambda c: ([np.full(2, c), np.full(2, 3.0)],)),
    "tuple": (of_pair, lambda c: ((c, np.array([c, 1.0])), 2.0)),
}


def plain(t):
    if isinstance(t, (tuple, list)):
        return [plain(v) for v in t]
    if isinstance(t, np.ndarray):
        return t.tolist()
    return (
        {k: plain(v) for k, v in t.items()}
        if isinstance(t, dict)
        else t
        if t is None or isinstance(t, complex)
        else float(t)
    )


@pytest.mark.parametrize("name", STRUCTURED)
def test_containers_and_objects_take_the_short_way(name) -> None:
    f, make = STRUCTURED[name]
    args = make(0.5)
    nums = tuple(range(len(args)))
    df = value_and_grad(f, argnums=nums)
    df(*args)
    warm = df.warm
    assert warm is not None
    for c in (0.5, 1.5):
        y, pullback = value_and_pullback(f, *make(c))
        value, gradients = df(*make(c))
        again = df(*make(c))
        assert value == again[0] == y
        structured = [g.to_dict() if hasattr(g, "to_dict") else g for g in gradients]
        expected = [g.to_dict() if hasattr(g, "to_dict") else g for g in pullback(1.0)]
        assert plain(structured) == plain(expected)
    assert df.warm is warm


def test_structured_arguments_of_other_types_go_the_long_way() -> None:
    df = grad(of_list)
    assert df([1.0, 2.0], 1.0) == df([1.0, 2.0], 1.0) == [2.0, 8.0]
    assert df([1.0, 2.0, 3.0], 1.0) == [2.0, 8.0, 18.0]
    assert df([1.0, 2], 1.0) == [2.0, None]
    assert df((1.0, 2.0), 1.0) == (2.0, 8.0)
    dd = grad(dense)
    params, x = STRUCTURED["dict"][1](0.5)
    dd(params, x)
    short = {k: np.asarray(v, np.float32) if k == "b" else v for k, v in params.items()}
    assert dd(short, x)["b"].dtype == np.float32


def test_constant_containers_of_other_types_go_the_long_way() -> None:
    def f(x, ws):
        return np.sum(x * ws[0])

    df = value_and_grad(f)
    x = np.array([1.0, 2.0])
    for w in (2.0, np.array([3.0, 4.0]), np.ones((3, 2)), 2.0):
        for _ in range(2):
            _, g = df(x, [w])
            assert g.tolist() == (w.sum(0) if np.ndim(w) == 2 else w * np.ones(2)).tolist()


def test_arguments_that_share_memory() -> None:
    def f(d):
        return np.sum(d["a"] * d["b"])

    df = value_and_grad(f)
    x = np.array([1.0, 2.0, 3.0])
    _, first = df({"a": x.copy(), "b": x.copy()})
    assert df.warm is not None
    for views in ({"a": x, "b": x}, {"a": x[:2], "b": x[1:]}):
        expected = value_and_pullback(f, views)[1](1.0)[0]
        assert plain(df(views)[1]) == plain(expected)
    assert first["a"].tolist() == x.tolist()


def test_a_function_that_changes_its_arguments() -> None:
    def f(xs, a):
        xs[0] = xs[0] * 2.0
        xs.append(3.0)
        a[1] *= xs[0]
        return xs[0] * xs[1] * a[1]

    df = grad(f, argnums=(0, 1))
    for _ in range(3):
        xs, a = [1.0, 2.0], np.array([5.0, 1.5])
        dxs, da = df(xs, a)
        assert dxs == [24.0, 6.0] and da.tolist() == [0.0, 8.0]
        assert xs == [1.0, 2.0] and a.tolist() == [5.0, 1.5]
    assert df.both.warm is not None


def test_a_list_in_two_places_goes_the_long_way() -> None:
    def f(rows):
        rows[0][0] = 3.0 * rows[1][0]
        return rows[0][0] * rows[1][0]

    df = grad(f)
    assert df([[1.0], [2.0]]) == df([[1.0], [2.0]]) == [[0.0], [12.0]]
    row = [2.0]
    g = df([row, row])
    assert g[0] is g[1] and g == [[36.0], [36.0]] and row == [2.0]


def test_where_a_call_is_refused_the_arguments_are_as_they_were() -> None:
    stop = [False]

    def f(xs):
        xs[0] = xs[0] * 2.0
        if stop[0]:
            raise MissingRule("in the middle")
        return xs[0]

    df = grad(f)
    assert df([1.0]) == [2.0] and df.both.warm is not None
    stop[0] = True
    xs = [1.0]
    with pytest.raises(MissingRule):
        df(xs)
    assert xs == [1.0]


# -- `value_and_pullback` by the rule of the last call --


def gradient(f, *args, dy=1.0):
    return value_and_pullback(f, *args)[1](dy)[0]


def test_functions_of_one_code_have_their_own_variables() -> None:
    functions = [lambda x, k=k: x * k for k in (2.0, 3.0)]
    for k in (1.0, 2.0, np.array([1.0, 2.0]), 3):

        def f(x):
            return np.sum(x * k)  # noqa: B023

        for _ in range(2):
            assert gradient(f, 2.0) == np.sum(k)
            assert [gradient(g, 1.0) for g in functions] == [2.0, 3.0]


def test_what_changed_meanwhile_is_seen(monkeypatch) -> None:
    def f(x, k=2.0):
        return x * k * SCALE

    class Scaled:
        def __init__(self, w):
            self.w = w

        def times(self, x):
            return np.sum(self.w * x)

    scaled_by = Scaled(2.0)
    for _ in range(3):
        assert gradient(f, 1.0) == 4.0
        assert gradient(scaled_by.times, 1.0) == 2.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    f.__defaults__ = (3.0,)
    scaled_by.w = np.array([1.0, 4.0])
    for _ in range(2):
        assert gradient(f, 1.0) == 15.0
        assert gradient(scaled_by.times, 1.0) == 5.0
    monkeypatch.setattr(Scaled, "times", lambda self, x: x * x)
    assert gradient(scaled_by.times, 3.0) == 6.0
    assert gradient(f, np.ones(2), dy=np.ones(2)).tolist() == [15.0, 15.0]


def test_rules_that_come_later_are_used() -> None:
    def cube(x):
        return x**3

    def f(x):
        return cube(x) * 2.0

    assert [gradient(f, 1.0) for _ in range(2)] == [6.0, 6.0]
    with scoped_rules():

        @rrule(cube)
        def rule(x):
            return x**3, lambda dy: dy * 100.0

        assert [gradient(f, 1.0) for _ in range(2)] == [200.0, 200.0]
    assert gradient(f, 1.0) == 6.0


def test_pullbacks_of_the_same_function_are_apart() -> None:
    def f(x):
        out = np.zeros(2)
        out[0] = x[0] * x[1]
        out[1] = out[0] * x[0]
        return out.sum()

    pullbacks = [value_and_pullback(f, np.array([a, 2.0]))[1] for a in (1.0, 3.0)]
    for _ in range(2):
        assert [p(1.0)[0].tolist() for p in pullbacks] == [[6.0, 2.0], [14.0, 12.0]]


def test_an_object_that_is_written_to_is_left_as_after_a_plain_call() -> None:
    class Counter:
        n = 0

        def __init__(self):
            self.seen = []

        def loss(self, x):
            self.n += 1
            self.seen.append(float(x))
            return x * x

    c = Counter()
    for i in range(3):
        assert gradient(c.loss, 3.0) == 6.0
        assert c.n == i + 1 and c.seen == [3.0] * (i + 1)


def test_default_values_that_collect() -> None:
    def f(x, seen=[]):  # noqa: B006
        seen.append(1)
        return len(seen) * x

    assert [gradient(f, 1.0) for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_arguments_that_an_earlier_call_left_at_their_default() -> None:
    def f(x, k=4.0):
        return x * x * k

    class Scaled:
        def times(self, x, k=(1.0, 1.0)):
            return x * k[0] + x * k[1]

    for _ in range(2):
        assert gradient(f, 2.0) == 16.0
        assert value_and_grad(f, (0, 1))(2.0, 1.0) == (4.0, (4.0, 4.0))
        assert value_and_pullback(f, 2.0, 3.0)[1](1.0) == (12.0, 4.0)
        assert gradient(Scaled().times, 2.0) == 2.0
        assert value_and_pullback(Scaled().times, 2.0, (1.0, 1.0))[1](1.0)[1] == (2.0, 2.0)


def test_a_method_is_not_taken_for_its_function() -> None:
    class A:
        def f(x, k=2.0):
            return x * k if isinstance(x, float) else 100.0 * k

    for _ in range(2):
        assert value_and_pullback(A.f, 3.0)[0] == 6.0 and gradient(A.f, 3.0) == 2.0
        assert value_and_pullback(A().f, 3.0)[0] == 300.0 and gradient(A().f, 3.0) == 100.0


@pytest.mark.parametrize("f", [np.multiply, functools.partial(lambda a, b: a * b), math.pow])
def test_methods_of_what_is_no_python_function(f) -> None:
    method = types.MethodType(f, 2.0)
    expected = 2.0 if f is not math.pow else 8.0 * math.log(2.0)
    for _ in range(2):
        assert gradient(method, 3.0) == pytest.approx(expected)
        assert grad(method)(3.0) == pytest.approx(expected)


def test_a_value_that_may_be_of_several_types() -> None:
    def f(params, k):
        params["a"] *= 3.0
        values = [v * v for v in params.values()]
        return values[k]

    params = {"a": 2.0, "w": np.array([1.0, 3.0])}
    g = value_and_grad(f)
    first = g(params, 0)
    assert g.warm is not None
    value, cotangents = g(params, 0)
    assert (value, cotangents["a"]) == (first[0], first[1]["a"]) == (36.0, 36.0)
    with pytest.raises(NonScalarOutput):
        g(params, 1)
    assert params["a"] == 2.0
