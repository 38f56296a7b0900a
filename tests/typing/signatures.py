"""What a type checker must know of the public functions; read by mypy in tests/test_typing.py, never run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

from mooncake_py import (
    Prepared,
    Pullback,
    elementwise_grad,
    grad,
    jacobian,
    prepare,
    primitive,
    ravel,
    rrule,
    value_and_grad,
    value_and_pullback,
    vjp,
    zero_derivative,
)
from mooncake_py.compat import autograd


def loss(x: np.ndarray, k: float = 1.0) -> float:
    return float(np.sum(x)) * k


def with_aux(x: np.ndarray) -> tuple[float, dict[str, int]]:
    return float(np.sum(x)), {"n": 1}


x = np.ones(2)
assert_type(value_and_grad(loss)(x, 2.0), tuple[float, Any])
assert_type(value_and_grad(loss)(x, k=2.0)[0], float)
assert_type(value_and_grad(with_aux, has_aux=True)(x), tuple[tuple[float, dict[str, int]], Any])
assert_type(grad(with_aux, has_aux=True)(x), tuple[Any, dict[str, int]])
assert_type(value_and_pullback(loss, x, k=2.0), tuple[float, Pullback])
assert_type(vjp(loss, x)[0], float)
assert_type(vjp(with_aux, x, has_aux=True)[2], dict[str, int])
assert_type(prepare(loss, x, 2.0).value_and_grad(x, 2.0), tuple[float, Any])
assert_type(ravel({"a": x})[0], np.ndarray)
prepared: Prepared[..., float] = prepare(loss, x, 2.0, argnums=("x", 1))
jacobian(loss, "k")(x, 2.0)
elementwise_grad(loss, (0, 1))(x, k=2.0)
autograd.grad(loss, 1)(x, 2.0)


@primitive
def opaque(x: float) -> float:
    return x


@rrule(opaque)
def opaque_rule(x: float) -> Any:
    return x, lambda dy: dy


@zero_derivative
def rounded(x: float) -> int:
    return round(x)


assert_type(opaque(1.0), float)
assert_type(rounded(1.0), int)

# What does not fit is seen: each of these is an error, and mypy warns where it is not.
value_and_grad(loss)("text")  # type: ignore[arg-type]
value_and_grad(loss)(x, 2.0, 3.0)  # type: ignore[call-arg]
grad(loss, 1.5)(x)  # type: ignore[call-overload]
value_and_pullback(loss)  # type: ignore[call-arg]
prepare(loss, x, 2.0).value_and_pullback("text")  # type: ignore[arg-type]
