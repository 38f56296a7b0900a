"""`ravel`, and the optimisers it is for."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize, root

from mooncake_py import jacobian, ravel, value_and_grad, value_and_pullback
from mooncake_py.testing import check_grads
from mooncake_py.trees import describe, same


class Pair(NamedTuple):
    a: Any
    b: Any


class Squared(Pair):
    """Made of one value, and goes its own way when it is iterated over."""

    def __new__(cls, a: Any) -> Any:
        return super().__new__(cls, a, a * a)

    def __iter__(self) -> Any:
        return iter((7.0,))


TREES: list[Any] = [
    3.0, np.arange(3.0), np.float32(2.0), np.arange(6.0).reshape(2, 3), np.array(1.5), 1.0 + 2.0j, np.arange(2) * 1j,
    np.ones(2, np.float32), np.ones((0, 3)), (1.0, 2.0), [1.0, [2.0, (3.0,)]], {"a": 1.0, "b": {"c": np.ones(2)}},
    Pair(1.0, np.ones(2)), Squared(3.0), {"n": 3, "s": "x", "w": np.ones((2, 2)), 7: None, "ints": np.arange(3)}, (),
    {}, (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(8.0)[::2]),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=describe)
def test_ravel_and_back(tree: Any) -> None:
    flat, unravel = ravel(tree)
    assert flat.dtype == np.float64 and flat.ndim == 1 and flat.flags.c_contiguous and flat.flags.owndata
    assert same(unravel(flat), tree)
    moved = unravel(flat + 1.0)
    assert np.allclose(ravel(moved)[0], flat + 1.0)


def test_a_vector_of_another_length() -> None:
    _, unravel = ravel((1.0, np.ones(2)))
    with pytest.raises(ValueError, match=r"needs a vector of 3 numbers, got an array of shape \(4,\)"):
        unravel(np.ones(4))


def test_ravel_copies() -> None:
    x = np.ones(3)
    flat, _ = ravel(x)
    flat[:] = 0.0
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_unravel_is_differentiated() -> None:
    tree = {"w": np.arange(6.0).reshape(2, 3), "b": (1.5, [np.ones(2), 3]), "z": 1.0 + 2.0j}
    flat, unravel = ravel(tree)

    def loss(flat):
        p = unravel(flat)
        return np.sum(p["w"] ** 2) * p["b"][0] + np.sum(p["b"][1][0]) * p["b"][1][1] + abs(p["z"]) ** 2

    value, g = value_and_grad(loss)(flat)
    assert value == loss(flat)
    assert np.allclose(g, [*(3.0 * np.arange(6.0)), 55.0, 3.0, 3.0, 2.0, 4.0])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "trust-constr", "Newton-CG", "CG", "SLSQP"])
def test_minimize(method: str) -> None:
    x0 = np.array([-1.0, 1.5, 0.5])
    tol = 1e-12 if method in ("SLSQP", "L-BFGS-B") else None
    result = minimize(value_and_grad(rosenbrock), x0, jac=True, method=method, tol=tol)
    assert np.allclose(result.x, 1.0, atol=1e-2)
    assert x0.tolist() == [-1.0, 1.5, 0.5]


def residuals(p, t, y):
    return p[0] * np.exp(-p[1] * t) - y


def test_least_squares() -> None:
    t = np.linspace(0.0, 2.0, 20)
    y = residuals(np.array([2.0, 0.7]), t, 0.0)
    for method in ("trf", "lm", "dogbox"):
        result = least_squares(residuals, np.array([1.0, 1.0]), jac=jacobian(residuals), args=(t, y), method=method)
        assert np.allclose(result.x, [2.0, 0.7])


@pytest.mark.parametrize("f", [
    lambda x: np.array([x[0] ** 2 + x[1] - 3.0, x[0] - x[1]]), lambda x: [x[0] ** 2 + x[1] - 3.0, x[0] - x[1]],
])  # fmt: skip
@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(f: Any, method: str) -> None:
    result = root(f, np.ones(2), jac=jacobian(f), method=method)
    assert result.success and np.allclose(f(result.x), 0.0, atol=1e-8)


@dataclass
class Body:
    mass: float
    place: np.ndarray
    name: str = "body"

    def energy(self):
        return self.mass * np.sum(self.place**2)


class System:
    def __init__(self, *bodies):
        self.bodies = list(bodies)
        self.size = len(bodies)

    def energy(self):
        total = 0.0
        for body in self.bodies:
            total += body.energy()
        return total


def system() -> System:
    return System(Body(2.0, np.arange(3.0)), Body(1.0, np.ones(2), "moon"))


def test_ravel_of_objects() -> None:
    flat, unravel = ravel(system())
    assert flat.tolist() == [2.0, 0.0, 1.0, 2.0, 1.0, 1.0, 1.0]
    again = unravel(2.0 * flat)
    assert again.bodies[1].name == "moon" and again.size == 2 and again.bodies[0].mass == 4.0
    value, g = value_and_grad(lambda flat: unravel(flat).energy())(flat)
    assert value == 12.0 and g.tolist() == [5.0, 0.0, 4.0, 8.0, 2.0, 2.0, 2.0]


def test_jacobian_of_objects() -> None:
    j = jacobian(lambda body: body.mass * body.place)(Body(2.0, np.arange(3.0)))
    assert j.mass.tolist() == [0.0, 1.0, 2.0] and np.array_equal(j.place, 2.0 * np.eye(3)) and j.name is None
    by_x = jacobian(lambda x: Body(2.0 * x, x * np.ones(2)))(3.0)
    assert by_x.mass == 2.0 and by_x.place.tolist() == [1.0, 1.0]


def test_a_pullback_called_again_starts_from_zero() -> None:
    _, pullback = value_and_pullback(lambda body, xs: body.mass * body.place * xs[0], Body(2.0, np.arange(3.0)), [3.0])
    for _ in range(2):
        body, xs = pullback(np.array([0.0, 1.0, 1.0]))
        assert (body.mass, body.place.tolist(), xs) == (9.0, [0.0, 6.0, 6.0], [6.0])


def test_checks_of_objects() -> None:
    check_grads(lambda s: s.energy(), (system(),))
    check_grads(lambda x: Body(2.0 * x, x * np.ones(2)), (3.0,))


def shuffled(x: Any) -> Any:
    y = copy.copy(x)
    y.__dict__ = dict(reversed(x.__dict__.items()))
    return y


def test_what_is_the_same() -> None:
    one, other = system(), shuffled(system())
    assert same(one, other) and same(one.energy, other.energy)  # whatever order the attributes are in
    assert same({"a": [np.nan], "b": np.ones(2)}, {"a": [np.nan], "b": np.ones(2)})
    other.here = 1.0
    assert not same(one, other) and not same(one.energy, other.energy)
    assert not same({"a": 1.0}, {"b": 1.0}) and not same([1.0], [1]) and not same([1.0], [1.0, 2.0])


def test_structures_of_objects_are_described() -> None:
    assert describe(Body(1.0, np.ones(2))) == "Body(mass=float, place=array(2,) float64, name=str)"


def test_tuples_that_go_their_own_way_are_their_items() -> None:
    value, d = value_and_grad(lambda p: p.a * p.b)(Squared(3.0))
    assert value == 27.0 and type(d) is Squared and (d.a, d.b) == (9.0, 3.0)
    value, pullback = value_and_pullback(Squared, 3.0)
    assert type(value) is Squared and pullback(Squared(2.0)) == (2.0 + 6.0 * 4.0,)
    v = np.array([1.0, 2.0])
    d, t = value_and_grad(lambda v, p: v.sum() * p.a.sum(), argnums=(0, 1))(v, tuple.__new__(Squared, (v, 1.0)))[1]
    assert np.array_equal(d + t.a, [6.0, 6.0])  # one array, twice
