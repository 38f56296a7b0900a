"""What `value_and_grad` and `grad` take: names, keyword arguments, pairs with aux; what pickles."""

from __future__ import annotations

import pickle
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import cloudpickle
import numpy as np
import pytest

from mooncake_py import (
    ArgnumsError,
    ArgumentError,
    AuxError,
    DuplicateArgument,
    NonScalarOutput,
    build_rrule,
    grad,
    jacobian,
    prepare,
    value_and_grad,
    value_and_pullback,
)

X = np.array([0.5, -1.0, 2.0])


def power(x, k=2.0, *, scale=1.0):
    return scale * x**k


def keywords(x, **more):
    return x * more["u"] * more.get("v", 1.0)


# -- argnums --


@pytest.mark.parametrize("f, argnums, args, kwargs, expected", [
    (power, "x", (3.0,), {}, 6.0),
    (power, "k", (3.0,), {}, 9.0 * np.log(3.0)),
    (power, "k", (3.0, 3.0), {}, 27.0 * np.log(3.0)),
    (power, "k", (3.0,), {"k": 1.0}, 3.0 * np.log(3.0)),
    (power, "scale", (3.0,), {}, 9.0),
    (power, ("scale", "x"), (3.0,), {"scale": 2.0}, (9.0, 12.0)),
    (power, (0, "scale"), (3.0, 1.0), {"scale": 2.0}, (2.0, 3.0)),
    (power, 1, (3.0,), {"k": 1.0}, 3.0 * np.log(3.0)),
    (power, "x", (), {"x": 3.0, "k": 2.0}, 6.0),
    (power, ["x"], (3.0,), {}, (6.0,)),
    (keywords, "u", (3.0,), {"u": 2.0}, 3.0),
    (keywords, ("u", "v"), (3.0,), {"u": 2.0, "v": 5.0}, (15.0, 6.0)),
])  # fmt: skip
def test_names(f: Any, argnums: Any, args: tuple, kwargs: dict, expected: Any) -> None:
    for _ in range(2):
        assert grad(f, argnums)(*args, **kwargs) == pytest.approx(expected)


@pytest.mark.parametrize("argnums, says", [
    ("z", "argnums 'z' is no argument of this call of power; its parameters: x, k, scale"),
    (("x", "z"), "argnums 'z'"),
    (7, "argnums 7 is out of range: the call has 1 positional argument"),
    (-2, "out of range"),
    (3, "out of range"),
])  # fmt: skip
def test_argnums_without_argument(argnums: Any, says: str) -> None:
    with pytest.raises(ArgnumsError, match=says) as e:
        grad(power, argnums)(3.0)
    assert e.value.filename == __file__ and f"{__file__}:{e.value.line}" in str(e.value)


@pytest.mark.parametrize("argnums", [1.5, None, (), "x y".split, (0, 1.0), (True,), {0}])
def test_argnums_of_no_kind(argnums: Any) -> None:
    with pytest.raises(ArgnumsError, match="must be an int, a name, or a tuple of such"):
        grad(power, argnums)


def test_duplicate_names() -> None:
    with pytest.raises(DuplicateArgument, match="'x' more than once"):
        grad(power, ("x", "k", "x"))
    with pytest.raises(DuplicateArgument, match="means 'x' more than once"):
        grad(power, (0, "x"))(3.0)
    for argnums in ((0, 0), (0, -2), (1, "k", 0, 1)):
        with pytest.raises(DuplicateArgument, match="more than once"):
            grad(power, argnums)(3.0, 2.0)


def test_a_name_without_derivative() -> None:
    with pytest.raises(ArgumentError, match=r"is the integer 2: pass 2\.0"):
        grad(power, "k")(3.0, k=2)


def test_cotangents_of_keyword_arguments() -> None:
    def f(x, *, w, n):
        return x * w["a"] ** n

    _, pullback = value_and_pullback(f, 2.0, w={"a": X}, n=2)
    assert pullback(np.ones(3)) == (pytest.approx(float(np.sum(X**2))),)
    positional, named = value_and_pullback(f, 2.0, w={"a": X}, n=2)[1].with_keywords(np.ones(3))
    assert positional == (pytest.approx(float(np.sum(X**2))),)
    assert named["n"] is None and np.allclose(named["w"]["a"], 4.0 * X)


def test_keyword_arguments_of_functions_with_rules() -> None:
    y, pullback = value_and_pullback(np.clip, X, a_min=-0.75, a_max=1.0)
    assert y.tolist() == [0.5, -0.75, 1.0]
    (dx,), bounds = pullback.with_keywords(np.ones(3))
    assert dx.tolist() == [1.0, 0.0, 0.0]
    assert bounds == {"a_min": 1.0, "a_max": 1.0}


# -- aux --


def with_aux(x, k):
    doubled = 2.0 * x
    return np.sum(x * x) * k, {"doubled": doubled, "n": 3}


def test_aux() -> None:
    both, g = value_and_grad(with_aux, has_aux=True), grad(with_aux, (0, 1), has_aux=True)
    for _ in range(3):
        (value, aux), gradient = both(X, 2.0)
        assert value == with_aux(X, 2.0)[0] and aux["doubled"].tolist() == (2.0 * X).tolist() and aux["n"] == 3
        assert np.allclose(gradient, 4.0 * X)
        (dx, dk), aux = g(X, 2.0)
        assert np.allclose(dx, 4.0 * X) and dk == pytest.approx(np.sum(X * X)) and aux["n"] == 3


def test_aux_is_what_a_plain_call_gives() -> None:
    def f(x):
        trail = []
        state = np.zeros(2)
        for i in range(3):
            state[i % 2] = x * i
            trail.append(float(state[0]))
        return np.sum(state * state), (state, trail)

    for _ in range(3):
        (value, (state, trail)), g = value_and_grad(f, has_aux=True)(2.0)
        expected, (plain, plain_trail) = f(2.0)
        assert value == expected and state.tolist() == plain.tolist() and trail == plain_trail
        assert g == 2.0 * (4.0 + 1.0) * 2.0


@pytest.mark.parametrize(
    "f, got", [(lambda x: x, "a float"), (lambda x: (x, x, x), "a tuple"), (lambda x: [x, 1], "a list")]
)
def test_aux_that_is_not_there(f: Any, got: str) -> None:
    with pytest.raises(AuxError, match=rf"must return a pair \(value, aux\), but it returned {got}"):
        grad(f, has_aux=True)(2.0)


def test_what_no_scalar_may_be_used_for() -> None:
    with pytest.raises(NonScalarOutput, match=r"shape \(3,\); use value_and_pullback, or jacobian .*test_gradients"):
        grad(lambda x: x * 2.0)(X)
    with pytest.raises(NonScalarOutput, match="or has_aux=True"):
        grad(lambda x: (x, 1))(2.0)
    with pytest.raises(NonScalarOutput, match="or holomorphic_grad"):
        grad(lambda x: x * x)(2.0 + 1j)


# -- as functions are --


class Model:
    def __init__(self):
        self.k = 3.0

    loss = value_and_grad(lambda self, x: self.k * x * x, 1)


@value_and_grad
def decorated(x):
    """A cube."""
    return x * x * x


def test_a_method() -> None:
    assert Model().loss(2.0) == (12.0, 12.0)


def test_a_decorated_function() -> None:
    assert decorated(2.0) == (8.0, 12.0) and decorated.__doc__ == "A cube." and decorated.__name__ == "decorated"


# -- pickling --


def shard_loss(w, x, y):
    r = x @ w - y
    return np.sum(r * r)


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
@pytest.mark.parametrize("make", [
    lambda: value_and_grad(power, "x"), lambda: grad(power), lambda: jacobian(power), lambda: decorated,
    lambda: prepare(power, 1.0).value_and_grad,
])  # fmt: skip
def test_pickles(pickler: Any, make: Any) -> None:
    g = make()
    again = pickler.loads(pickler.dumps(g))
    assert again(3.0) == g(3.0)


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_built_rules_pickle(pickler: Any) -> None:
    rule = build_rrule(power, 3.0, 2.0)
    (y, pullback), (y2, pullback2) = rule(3.0, 2.0), pickler.loads(pickler.dumps(rule))(3.0, 2.0)
    assert y == y2 and pullback(1.0) == pullback2(1.0)


def test_lambdas_pickle_with_cloudpickle() -> None:
    k = 3.0
    g = cloudpickle.loads(cloudpickle.dumps(value_and_grad(lambda x: k * x * x)))
    assert g(2.0) == (12.0, 12.0)


def test_a_used_gradient_pickles() -> None:
    g = value_and_grad(shard_loss)
    x, y, w = np.ones((4, 3)), np.zeros(4), X
    g(w, x, y)
    assert pickle.loads(pickle.dumps(g))(w, x, y)[1].tolist() == g(w, x, y)[1].tolist()


def test_shards_in_processes() -> None:
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(8, 3)), rng.normal(size=8), X
    shards = [(w, x[i : i + 2], y[i : i + 2]) for i in range(0, 8, 2)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(value_and_grad(shard_loss), *zip(*shards, strict=True)))
    value, gradient = value_and_grad(shard_loss)(w, x, y)
    assert sum(v for v, _ in results) == pytest.approx(value)
    assert np.allclose(sum(g for _, g in results), gradient)


# -- containers that hold nothing with a derivative ---------------------------------------------------------


@pytest.mark.parametrize("empty", [[], {}, deque()], ids=repr)
@pytest.mark.filterwarnings("error")
def test_the_gradient_of_an_empty_container_is_empty(empty) -> None:
    g = value_and_grad(lambda xs: sum(v * v for v in (xs.values() if isinstance(xs, dict) else xs)) + 1.0)
    full = {"a": 2.0} if isinstance(empty, dict) else type(empty)([2.0])
    for _ in range(2):
        assert g(empty) == (1.0, empty)
        assert g(full)[0] == 5.0
    assert value_and_pullback(lambda xs: 1.0, empty)[1](1.0) == (empty,)


@pytest.mark.parametrize("other", [[], [1, 2], {}, {"a": 1}, (), (1, 2)], ids=repr)
def test_beside_others_containers_may_happen_to_hold_no_number_with_a_derivative(other) -> None:
    def f(x, xs):
        return x * (1.0 + sum(xs.values() if isinstance(xs, dict) else xs))

    dx, d = grad(f, (0, 1))(2.0, other)
    assert dx == f(1.0, other)
    assert d == (dict.fromkeys(other) if isinstance(other, dict) else type(other)([None] * len(other)))
    assert jacobian(lambda x: f(x, other))(np.ones(2)).shape == (2, 2)


def test_integers_alone_are_refused_as_before() -> None:
    for args, argnums in (([1, 2],), 0), ((2.0, 3), (0, 1)), (([1], [2]), (0, 1)):
        with pytest.raises(ArgumentError, match=r"no argument can have|no derivative by argument"):
            grad(lambda *xs: 1.0, argnums)(*args)


class Odd(float):
    def __add__(self, other: float) -> Odd:
        return Odd(float(self) * 2.0 + float(other))

    def __radd__(self, other: float) -> Odd:
        return Odd(float(other) + float(self) * 3.0)

    def __mul__(self, other: float) -> Odd:
        return Odd(super().__mul__(other) * 3.0)

    __rmul__ = __mul__


def test_a_number_of_a_class_that_is_given_back_has_a_plain_cotangent() -> None:
    def f(x: float, y: float) -> float:
        a = Odd(x)
        return 1.0 + (a + y) * (a if a else y) + Odd(y)

    def minus(a: float, b: float) -> float:
        return float(a) - float(b)

    h = 1e-6
    expected = [minus(f(0.7 + h, 1.3), f(0.7 - h, 1.3)) / (2 * h), minus(f(0.7, 1.3 + h), f(0.7, 1.3 - h)) / (2 * h)]
    g = value_and_grad(f, argnums=(0, 1))
    for _ in range(3):
        assert g(0.7, 1.3)[1] == pytest.approx(expected)
    _, pullback = value_and_pullback(f, 0.7, 1.3)
    assert pullback(Odd(1.0)) == pytest.approx(expected)
    assert grad(lambda x: x * x)(Odd(2.0)) == 12.0 and type(grad(lambda x: x * x)(Odd(2.0))) is float
