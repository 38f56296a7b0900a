"""Arguments that share memory with what the gradient is by: that memory moves under all of its names."""

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mooncake_py import debug, grad, jacobian, prepare, value_and_pullback

N = 3
OUTSIDE = np.ones(3)


class Holder:
    def __init__(self, held: Any):
        self.held = held

    def method(self, a):
        self.held *= 2.0
        return np.sum(a**2) * a[0]


def written(a, b):
    b *= 2.0
    return np.sum(a**2) * b[0]


def written_in_a_dict(a, d):
    d["b"] *= 2.0
    return np.sum(a**2)


def written_in_a_list(a, xs):
    xs[0][-1] = a[0] * 5.0
    return np.sum(a**2)


def written_in_an_object(a, o):
    o.b *= a[0]
    return np.sum(a**2)


def written_in_keywords(a, **k):
    k["b"][-1] = a[0] * 5.0
    return np.sum(a**2)


def written_in_a_rest(a, *rest):
    rest[0][0] *= a[1]
    return np.sum(a**2)


def written_in_a_part(a, b):
    part = b[1:]
    part *= a[0]
    return np.sum(a**2)


def written_in_a_shape(a, b):
    table = b.reshape(1, -1)
    table[0, 1] *= a[0]
    return np.sum(a**2)


def written_by_an_unknown(a, b, how):
    {"f": written}[how](a, b)
    return np.sum(a**2)


CALLS = {
    "same": lambda x: (written, (x, x), {}),
    "view": lambda x: (written, (x, x[1:]), {}),
    "reversed": lambda x: (written, (x, x[::-1]), {}),
    "reshaped": lambda x: (written, (x, x.reshape(N, 1)[0]), {}),
    "keyword": lambda x: (written, (x,), {"b": x[1:]}),
    "partial": lambda x: (functools.partial(written, b=x[1:]), (x,), {}),
    "first of a partial": lambda x: (functools.partial(lambda b, a: written(a, b), x[1:]), (x,), {}),
    "method": lambda x: (Holder(x[1:]).method, (x,), {}),
    "in a dict": lambda x: (written_in_a_dict, (x, {"b": x[:2]}), {}),
    "in a dict by name": lambda x: (written_in_a_dict, (x,), {"d": {"b": x[:2]}}),
    "in a list": lambda x: (written_in_a_list, (x, [x]), {}),
    "in an object": lambda x: (written_in_an_object, (x, SimpleNamespace(b=x[1:])), {}),
    "in keywords": lambda x: (written_in_keywords, (x,), {"b": x[1:]}),
    "in a rest": lambda x: (written_in_a_rest, (x, x[1:]), {}),
    "in a part": lambda x: (written_in_a_part, (x, x), {}),
    "in a shape": lambda x: (written_in_a_shape, (x, x), {}),
    "unknown": lambda x: (written_by_an_unknown, (x, x[1:], "f"), {}),
}


@pytest.mark.parametrize("debug_mode", [False, True])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_written_by_another_name(call: Any, debug_mode: bool) -> None:
    def value(t: np.ndarray) -> Any:
        f, args, kwargs = call(t)
        return f(*args, **kwargs)

    x = np.array([1.0, 2.0, 3.0])
    expected = [(value(x + e) - value(x - e)) / 2e-6 for e in 1e-6 * np.eye(N)]
    f, args, kwargs = call(x)
    with debug(debug_mode):
        df = grad(f)
        for _ in range(3):
            assert np.allclose(df(*args, **kwargs), expected)
            assert x.tolist() == [1.0, 2.0, 3.0]


def test_containers_and_objects_under_two_names() -> None:
    def item(a, b):
        b[0] = b[0] * 3.0
        return a[0] ** 2

    def attribute(a, b):
        b.v = b.v * 3.0
        return a.v**2

    def array(a, b):
        b *= 2.0
        return np.sum(a["x"] ** 2)

    xs, o, x = [2.0], SimpleNamespace(v=2.0), np.ones(2)
    for k in (0, 1) * 2:
        assert grad(item, k)(xs, xs) == [36.0] and xs == [2.0]
        assert grad(attribute, k)(o, o).v == 36.0 and o.v == 2.0
        assert grad(array, 0)({"x": x}, x)["x"].tolist() == [8.0, 8.0] == grad(array, 1)({"x": x}, x).tolist()
    assert grad(item, (0, 1))(xs, xs)[0] == [36.0]


def test_two_names_of_a_constant() -> None:
    def f(x, a, b):
        a[0] = x * 2.0
        return b[0] ** 2

    for held in ([1.0], np.ones(2), {0: 1.0}):
        df = grad(f)
        for _ in range(3):
            assert df(2.0, held, held) == 16.0 and held[0] == 1.0


def test_a_name_of_the_module() -> None:
    def f(b):
        part = b[1:]
        part *= 2.0
        return np.sum(OUTSIDE**2) * b[0]

    for _ in range(2):
        assert grad(f)(OUTSIDE).tolist() == [11.0, 8.0, 8.0] and OUTSIDE.tolist() == [1.0, 1.0, 1.0]


def test_what_is_only_read_has_a_gradient_at_each_place() -> None:
    def f(a, b):
        return np.sum(a * b**2)

    x = np.array([2.0, 3.0])
    assert grad(f)(x, x).tolist() == [4.0, 9.0] and grad(f, 1)(x, x).tolist() == [8.0, 18.0]


def test_parts_that_do_not_overlap_are_apart() -> None:
    x = np.arange(1.0, 7.0)
    df = grad(lambda a, b: written(a, b))
    for _ in range(3):
        assert df(x[::2], x[1::2]).tolist() == [8.0, 24.0, 40.0]


def test_calls_that_were_of_arguments_apart() -> None:
    x, y = np.ones(2), np.ones(2)

    def f(a, b):
        b *= 2.0
        return np.sum(a**2)

    df, p = grad(f), prepare(f, x, y)
    for _ in range(2):
        assert df(x, y).tolist() == [2.0, 2.0] == p.value_and_grad(x, y)[1].tolist()
        assert df(x, x).tolist() == [8.0, 8.0] == p.value_and_grad(x, x)[1].tolist()
    assert np.array_equal(jacobian(lambda a, b: written(a, b) * a)(x, x), jacobian(lambda a: written(a, a) * a)(x))
    assert value_and_pullback(f, x, x)[1](1.0)[0].tolist() == [8.0, 8.0]
