"""`vjp`, `jacobian`, `elementwise_grad` and `holomorphic_grad`, against closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import (
    ArgnumsError,
    ArgumentError,
    AuxError,
    HolomorphicError,
    NonScalarOutput,
    PullbackReuse,
    elementwise_grad,
    holomorphic_grad,
    jacobian,
    value_and_pullback,
    vjp,
)

X = np.array([0.5, -1.0, 2.0])
M = np.arange(6.0).reshape(2, 3)


def test_vjp_is_jaxs() -> None:
    y, vjp_fn = vjp(lambda x, y: (x * y, np.sum(x)), X, 3.0)
    assert y[0].tolist() == (3.0 * X).tolist()
    dx, dy = vjp_fn((np.ones(3), 2.0))
    assert dx.tolist() == [5.0, 5.0, 5.0] and dy == pytest.approx(np.sum(X))
    assert type(vjp_fn((np.zeros(3), 0.0))) is tuple


def test_vjp_with_aux() -> None:
    _, vjp_fn, aux = vjp(lambda x: (x * x, {"x": x}), X, has_aux=True)
    assert vjp_fn(np.ones(3))[0].tolist() == (2.0 * X).tolist() and list(aux) == ["x"]
    with pytest.raises(AuxError, match="must return a pair"):
        vjp(lambda x: x * x, X, has_aux=True)


def test_vjp_without_argument() -> None:
    with pytest.raises(ArgumentError, match="no argument can have a derivative"):
        vjp(lambda: 1.0)


# -- jacobian --


def differences(f: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    columns = []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = h
        e = e.reshape(x.shape)
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * h))
    return np.moveaxis(np.array(columns), 0, -1).reshape(np.shape(columns[0]) + x.shape)


def in_place(x):
    y = x.copy()
    y[0] = y[1] * y[2]
    x[1] = y[0] * 2.0
    return y * x


@pytest.mark.parametrize("f, x", [
    (lambda x: x**2, X),
    (lambda x: np.outer(x, x), X),
    (lambda x: x @ x.T, M),
    (lambda x: np.sum(x), M),
    (lambda x: np.array([x[0] * x[1], x[2], np.sin(x[0]) * x[2], 1.0]), X),
    (in_place, X),
    (lambda x: x[:, 1:], M),
    (lambda x: np.zeros(2), X),
])  # fmt: skip
def test_jacobian(f: Any, x: np.ndarray) -> None:
    before = x.copy()
    j = jacobian(f)(x)
    assert j.shape == np.shape(f(x.copy())) + x.shape and j.flags.c_contiguous and j.dtype == np.float64
    assert np.allclose(j, differences(lambda x: f(x.copy()), x), atol=1e-7)
    assert x.tolist() == before.tolist()


def test_jacobian_runs_forward_once_where_it_can() -> None:
    runs = []

    def f(x):
        runs.append(1)
        return x * x

    def g(x):
        count()
        return x * x

    def count():
        runs.append(1)

    assert np.array_equal(jacobian(f)(X), np.diag(2.0 * X))
    runs.clear()
    assert np.array_equal(jacobian(g)(X), np.diag(2.0 * X))
    runs.clear()
    j = jacobian(lambda x: x * x)
    assert np.array_equal(j(X), np.diag(2.0 * X))


def test_jacobian_of_numbers() -> None:
    assert jacobian(lambda x: x * x)(3.0) == 6.0 and type(jacobian(lambda x: x * x)(3.0)) is float
    assert jacobian(lambda x: x * np.ones(2))(3.0).tolist() == [1.0, 1.0]


def test_jacobian_of_structures() -> None:
    def f(p, k):
        return {"a": p[0] * k, "b": [np.sum(p[1])], "n": 3}

    p = (X, M)
    by_p, by_k = jacobian(f, (0, 1))(p, 2.0)["a"]
    assert np.array_equal(by_p[0], 2.0 * np.eye(3)) and by_p[1].shape == (3, 2, 3) and not by_p[1].any()
    assert by_k.tolist() == X.tolist()
    both = jacobian(f, "p")(p, 2.0)
    assert both["b"][0][1].tolist() == np.ones((2, 3)).tolist() and both["n"] is None


def test_jacobian_of_complex_values() -> None:
    assert np.allclose(jacobian(lambda x: np.exp(1j * x))(X), np.diag(1j * np.exp(1j * X)))
    with pytest.raises(ArgumentError, match="holomorphic_grad"):
        jacobian(lambda z: z * z)(X + 1j)


def test_jacobian_argnums() -> None:
    with pytest.raises(ArgnumsError, match="out of range"):
        jacobian(lambda x: x, 1)(X)


# -- elementwise_grad --


@pytest.mark.parametrize("f, x, expected", [
    (np.sin, X, np.cos(X)), (lambda x: x * x, M, 2.0 * M), (np.tanh, 0.5, 1.0 - np.tanh(0.5) ** 2),
])  # fmt: skip
def test_elementwise_grad(f: Any, x: Any, expected: Any) -> None:
    g = elementwise_grad(f)(x)
    assert np.allclose(g, expected) and np.shape(g) == np.shape(x)


def test_elementwise_grad_by_the_second() -> None:
    assert elementwise_grad(lambda x, y: x * y, 1)(X, 2.0 * X).tolist() == X.tolist()


@pytest.mark.parametrize("f", [lambda x: (x, x), lambda x: x * 1j, lambda x: None])
def test_elementwise_grad_of_what_is_no_array(f: Any) -> None:
    with pytest.raises(NonScalarOutput, match="needs a real array or number"):
        elementwise_grad(f)(X)


# -- holomorphic_grad --

Z = 0.7 - 0.4j


@pytest.mark.parametrize("f, df", [
    (lambda z: z**3 + 2j * z, lambda z: 3 * z**2 + 2j),
    (np.exp, np.exp),
    (lambda z: np.sin(z) / z, lambda z: np.cos(z) / z - np.sin(z) / z**2),
    (lambda z: np.log(z) * (1 + 2j), lambda z: (1 + 2j) / z),
])  # fmt: skip
def test_holomorphic_grad(f: Any, df: Any) -> None:
    assert holomorphic_grad(f)(Z) == pytest.approx(complex(df(Z)))
    z = np.array([Z, 2.0 * Z, 1j])
    assert np.allclose(holomorphic_grad(lambda z: np.sum(f(z)))(z), df(z))


@pytest.mark.parametrize("f", [lambda z: np.conj(z) * 1.0, lambda z: z * np.abs(z), lambda z: z.real * (1 + 1j)])
def test_holomorphic_grad_of_what_is_not(f: Any) -> None:
    with pytest.raises(HolomorphicError, match="not holomorphic"):
        holomorphic_grad(f)(Z)


def test_holomorphic_grad_of_real_things() -> None:
    with pytest.raises(ArgumentError, match="by complex numbers"):
        holomorphic_grad(lambda z: z * 1j)(2.0)
    with pytest.raises(NonScalarOutput, match="one complex number"):
        holomorphic_grad(lambda z: abs(z))(Z)


def test_the_convention() -> None:
    """The gradient of a real function of z = a + ib is df/da + i df/db: the way f grows."""
    from mooncake_py import grad

    g = grad(lambda z: abs(z) ** 2 + 3.0 * z.imag)(Z)
    assert g == pytest.approx(2.0 * Z + 3.0j)


calls: list[int] = []
tally = np.zeros(2, int)


def logs_to_a_list(x):
    calls.append(len(calls))
    return x**2


def counts_in_an_array(x):
    tally[1] += 1
    return x**3 + tally[1]


def test_jacobian_of_a_function_that_logs_runs_it_once() -> None:
    x = np.array([1.0, 2.0, 3.0])
    inner: list[float] = []
    n = 0

    def logs_in_a_closure(x):
        nonlocal n
        n += 1
        inner.append(7.0)
        return x**2

    for f, slope in ((logs_to_a_list, 2.0 * x), (counts_in_an_array, 3.0 * x**2), (logs_in_a_closure, 2.0 * x)):
        calls.clear()
        tally[:] = 0
        assert np.allclose(jacobian(f)(x), np.diag(slope))
        assert calls == ([0] if f is logs_to_a_list else []) and tally[1] == (f is counts_in_an_array)
    assert inner == [7.0] * n


kept: list[float] = []


def test_what_is_kept_outside_with_a_derivative_is_undone_once() -> None:
    def f(x):
        kept.append(x[0] * 2.0)
        return x * kept[-1]

    x = np.array([1.0, 3.0])
    assert np.allclose(jacobian(f)(x), [[4.0, 0.0], [6.0, 2.0]])


places = [0, 1]


def test_an_outside_list_of_indices_is_put_back_for_every_row() -> None:
    def f(x):
        u = x[places]
        places[0] = 2
        return np.concatenate([u * u, x[places]])

    _, pullback = value_and_pullback(f, np.array([1.0, 2.0, 3.0]))
    expected = np.array([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    if pullback.reusable:
        assert np.allclose([pullback(e)[0] for e in (*np.eye(4), *np.eye(4))], [*expected, *expected])
    else:
        assert np.allclose(pullback(np.eye(4)[0])[0], expected[0])
    assert places == [2, 1]


COUNTS, SEEN, TOTALS = [0.0], {"calls": 0}, np.zeros(2)


def filled(x: np.ndarray, scale: float) -> np.ndarray:
    out = np.empty(2)
    out[0] = x[0] * x[1] * scale
    out[1] = x[1] ** 2 * scale
    return out


def test_jacobian_leaves_what_is_outside_as_after_one_call() -> None:
    def f(x):
        SEEN["calls"] += 1
        TOTALS[:] = x
        return filled(x, 1.0 + TOTALS[1] - x[1])

    assert np.allclose(jacobian(f)(np.array([2.0, 3.0])), [[3.0, 2.0], [0.0, 6.0]])
    assert SEEN == {"calls": 1}
    assert TOTALS.tolist() == [2.0, 3.0]


def test_jacobian_of_a_value_that_is_the_argument() -> None:
    def f(x):
        x *= x
        return x

    x = np.array([2.0, 3.0])
    assert jacobian(f)(x).tolist() == [[4.0, 0.0], [0.0, 6.0]]
    assert x.tolist() == [2.0, 3.0]


def counted(x: np.ndarray) -> np.ndarray:
    COUNTS[0] += 1.0
    return filled(x, COUNTS[0])


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "f",
    [
        counted,
        lambda x: filled(x, np.random.rand()),
        lambda x: filled(x, RNG.random()),
        lambda x: filled(x, np.random.default_rng().random()),
        lambda x: filled(x - x, 1.0 + np.random.rand()),
    ],
)
def test_jacobian_of_one_run_and_another_is_refused(f: Any) -> None:
    """Row by row it was that of several functions."""
    with pytest.raises(PullbackReuse, match="for every row"):
        jacobian(f)(np.array([2.0, 3.0]))


def test_jacobian_with_a_seed() -> None:
    def f(x):
        return filled(x, np.random.default_rng(3).random())

    scale = np.random.default_rng(3).random()
    assert np.allclose(jacobian(f)(np.array([2.0, 3.0])), [[3.0 * scale, 2.0 * scale], [0.0, 6.0 * scale]])
