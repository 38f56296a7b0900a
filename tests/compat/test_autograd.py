"""`mooncake_py.compat.autograd`: the same results as autograd, or closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, NonScalarOutput, RuleError, RuleResultError
from mooncake_py.compat.autograd import (
    checkpoint,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    holomorphic_grad,
    jacobian,
    make_vjp,
    multigrad_dict,
    primitive,
    value_and_grad,
)

autograd = pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")

X = np.array([0.5, -1.0, 2.0])
Z = X + 1j * np.array([0.1, 0.2, -0.7])
M = np.arange(6.0).reshape(2, 3)

SCALAR: list[tuple[Any, tuple]] = [
    (lambda np: lambda x: np.sum(np.sin(x) * x), (X,)),
    (lambda np: lambda x: np.array([np.sum(x * x)]), (X,)),
    (lambda np: lambda x: np.reshape(np.sum(x), (1, 1)), (M,)),
    (lambda np: lambda x: np.sum(np.dot(x, x.T)), (M,)),
    (lambda np: lambda z: np.real(np.sum(z * z * (1 + 2j) + np.conj(z) * 3j)), (Z,)),
    (lambda np: lambda z: np.sum(np.abs(z) ** 2), (Z,)),
    (lambda np: lambda x: x**3, (2.0,)),
    (lambda np: lambda t: np.sum(t[0] * t[1]), ((X, 2.0 * X),)),
    (lambda np: lambda d: np.sum(d["a"]) * d["b"], ({"a": X, "b": 2.0},)),
    (lambda np: lambda x, k: np.sum(x) * k, (X, 2.0)),
]


def close(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(close, a, b))
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b))


@pytest.mark.parametrize("make, args", SCALAR)
def test_grad_and_value(make: Any, args: tuple) -> None:
    assert close(grad(make(np))(*args), autograd.grad(make(anp))(*args))
    ours, theirs = value_and_grad(make(np))(*args), autograd.value_and_grad(make(anp))(*args)
    assert close(ours[0], theirs[0]) and close(ours[1], theirs[1])


def test_argnum() -> None:
    def f(x, k):
        return np.sum(x) * k

    assert grad(f, 1)(X, 2.0) == pytest.approx(1.5) and grad(f, argnum=1)(X, k=2.0) == pytest.approx(1.5)
    both = grad(f, (0, 1))(X, 2.0)
    assert type(both) is tuple and close(both, (np.full(3, 2.0), 1.5))
    assert grad_named(f, "k")(X, 2.0) == pytest.approx(1.5)


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x * 1j, lambda x: (np.sum(x), 1.0)])
def test_grad_of_what_is_no_scalar(f: Any) -> None:
    with pytest.raises(NonScalarOutput, match="only applies to real functions with one element"):
        grad(f)(X)
    with pytest.raises(TypeError):
        value_and_grad(f)(X)


def test_jacobian_and_elementwise_grad() -> None:
    assert close(jacobian(lambda x: np.outer(x, x))(X), autograd.jacobian(lambda x: anp.outer(x, x))(X))
    assert close(elementwise_grad(np.tanh)(M), autograd.elementwise_grad(anp.tanh)(M))
    assert close(elementwise_grad(lambda x, y: x * y, 1)(X, 2.0 * X), X)
    with pytest.raises(NonScalarOutput):
        elementwise_grad(lambda z: z * z)(Z)


def test_holomorphic_grad() -> None:
    def make(np):
        return lambda z: np.sum(np.exp(z) * z)

    assert close(holomorphic_grad(make(np))(Z), autograd.holomorphic_grad(make(anp))(Z))


def test_make_vjp() -> None:
    vjp, y = make_vjp(lambda z: z * z * (1 + 1j))(Z)
    theirs, y2 = autograd.make_vjp(lambda z: z * z * (1 + 1j))(Z)
    assert close(y, y2) and close(vjp(Z + 1.0), theirs(Z + 1.0)) and close(vjp(Z), theirs(Z))
    vjp, y = make_vjp(lambda x, k: x * k, 1)(X, 2.0)
    assert vjp(np.ones(3)) == pytest.approx(1.5)


def test_grad_and_aux() -> None:
    g, aux = grad_and_aux(lambda x: (np.sum(x * x), {"x": x + 1.0}))(X)
    assert close(g, 2.0 * X) and close(aux["x"], X + 1.0)


def test_multigrad_dict() -> None:
    def f(a, b=2.0, *rest, c=3.0, n=2, **more):
        return a * b**n * c * rest[0] * more["d"]

    g = multigrad_dict(f)(1.0, 2.0, 4.0, d=5.0)
    assert list(g) == ["a", "b", "rest", "c", "n", "more"]
    expected = {"a": 240.0, "b": 240.0, "rest": (60.0,), "c": 80.0, "more": {"d": 48.0}}
    assert all(close(g[k], v) for k, v in expected.items()) and g["n"] is None
    assert close(multigrad_dict(lambda a, b=2.0: a * b)(3.0)["b"], 3.0)


def test_checkpoint() -> None:
    runs = []

    def block(x, k):
        runs.append(1)
        return np.sin(x) * k

    def f(x, k):
        c = checkpoint(block)
        return np.sum(c(c(x, k), k))

    dx, dk = grad(f, (0, 1))(X, 2.0)
    expected = autograd.grad(lambda x, k: anp.sum(anp.sin(anp.sin(x) * k) * k), (0, 1))(X, 2.0)
    assert close(dx, expected[0]) and close(dk, expected[1])
    assert len(runs) == 4, "each block ran forwards, and once more in the reverse run"


def logsumexp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def test_primitive_and_defvjp() -> None:
    f = primitive(logsumexp)
    with pytest.raises(MissingRule, match="define its vector-Jacobian product with defvjp"):
        grad(lambda x: f(x))(X)
    defvjp(f, lambda ans, x: lambda g: g * np.exp(x - ans))
    assert close(grad(lambda x: f(x * 2.0))(X), 2.0 * np.exp(2.0 * X - logsumexp(2.0 * X)))
    assert close(grad(f)(X), np.exp(X - logsumexp(X))) and f.__name__ == "logsumexp" and f(X) == logsumexp(X)


def test_defvjp_of_some_arguments() -> None:
    f = primitive(lambda x, k: x * k)
    defvjp(f, lambda ans, x, k: lambda g: np.sum(g * x), argnums=(1,))
    assert grad(lambda x, k: np.sum(f(x, k)), 1)(X, 2.0) == pytest.approx(1.5)
    with pytest.raises(MissingRule, match="by argument 0"):
        grad(lambda x, k: np.sum(f(x, k)))(X, 2.0)
    defvjp(f, None, lambda ans, x, k: lambda g: np.sum(g * x))
    assert close(grad(lambda x, k: np.sum(f(x, k)))(X, 2.0), np.zeros(3))


def test_defvjp_by_number() -> None:
    f, h = primitive(lambda x, y: x * y), primitive(lambda x, y: x * y)
    defvjp_argnum(f, lambda k, ans, args, kwargs: lambda g: g * args[1 - k])
    defvjp_argnums(h, lambda ks, ans, args, kwargs: lambda g: tuple(g * args[1 - k] for k in ks))
    for p in (f, h):
        assert close(grad(lambda x, y, p=p: np.sum(p(x, y)), (0, 1))(X, 2.0 * X), (2.0 * X, X))


def test_defvjp_of_complex_functions_is_autograds() -> None:
    extend = pytest.importorskip("autograd.extend")

    def raw(z):
        return z * z * (1.0 + 2.0j)

    def maker(ans, z):
        return lambda g: g * 2.0 * z * (1.0 + 2.0j)

    ours, theirs = primitive(raw), extend.primitive(raw)
    defvjp(ours, maker)
    extend.defvjp(theirs, maker)
    mine = grad(lambda z: np.real(np.sum(ours(z))))(Z)
    assert close(mine, autograd.grad(lambda z: anp.real(anp.sum(theirs(z))))(Z))


def test_keyword_arguments_of_primitives_are_constants() -> None:
    f = primitive(lambda x, k=1.0: x * k)
    defvjp(f, lambda ans, x, k=1.0: lambda g: g * k)
    assert grad(lambda x: f(x, k=3.0))(2.0) == 3.0
    with pytest.raises(MissingRule, match="the keyword argument k is not known: pass it by position"):
        grad(lambda k: f(2.0, k=k))(3.0)


def test_defvjp_of_what_is_no_primitive() -> None:
    for define in (defvjp, defvjp_argnum, defvjp_argnums):
        with pytest.raises(RuleError, match="is no primitive"):
            define(logsumexp, lambda *a: None)


def test_a_vector_jacobian_product_of_another_shape() -> None:
    f = primitive(lambda x, k: x * k)
    defvjp(f, lambda ans, x, k: lambda g: g * k, lambda ans, x, k: lambda g: g * x)
    with pytest.raises(RuleResultError, match=r"returned array\(3,\) float64 for argument 1, which is float") as e:
        grad(lambda k: np.sum(f(np.ones(3), k)))(2.0)
    assert str(e.value).endswith(f"{__file__}:{e.value.line}")


def test_a_vector_jacobian_product_that_is_an_integer() -> None:
    f = primitive(lambda x: 3.0 * x)
    defvjp(f, lambda ans, x: lambda g: 3)
    assert grad(lambda x: f(x))(2.0) == 3.0
