"""The functions of `math`: a table of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mooncake_py.registry import inline, probed, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case

Derivative = Callable[[Any, Any], Any]


def unary(f: Callable, derivative: Derivative) -> None:
    """The rule of a function of one number: `derivative(x, y)` is that of y = f(x)."""
    d = inline(derivative)

    def rule(x):
        y = f(x)

        def pullback(dy):
            return dy * d(x, y)

        return y, pullback

    rrule(f)(rule)
    probed.add(f)


@inline
def over(a: float, b: float) -> float:
    """a / b; at b = 0 infinite, or zero where a is: what nobody asks for is zero, however steep the function is.

    A pullback does not raise where the function did not.
    """
    return a / b if b else a * math.inf if a else 0.0


def steep(f: Callable, derivative: Derivative) -> None:
    """The rule of a function with a derivative that may be infinite: `derivative(x, y)` is numerator, denominator."""
    d = inline(derivative)

    def rule(x):
        y = f(x)

        def pullback(dy):
            n, m = d(x, y)
            return over(dy * n, m)

        return y, pullback

    rrule(f)(rule)
    probed.add(f)


_TABLE: list[tuple[Callable, Derivative]] = [
    (math.sin, lambda x, y: math.cos(x)),
    (math.cos, lambda x, y: -math.sin(x)),
    (math.tan, lambda x, y: 1.0 + y * y),
    (math.atan, lambda x, y: 1.0 / (1.0 + x * x)),
    (math.sinh, lambda x, y: math.cosh(x)),
    (math.cosh, lambda x, y: math.sinh(x)),
    (math.tanh, lambda x, y: 1.0 - y * y),
    (math.asinh, lambda x, y: 1.0 / math.hypot(x, 1.0)),
    (math.atanh, lambda x, y: 1.0 / (1.0 - x * x)),
    (math.exp, lambda x, y: y),
    (math.expm1, lambda x, y: math.exp(x)),
    (math.log2, lambda x, y: 1.0 / (x * math.log(2.0))),
    (math.log10, lambda x, y: 1.0 / (x * math.log(10.0))),
    (math.log1p, lambda x, y: 1.0 / (1.0 + x)),
    (math.fabs, lambda x, y: math.copysign(1.0, x) if x else 0.0),
    (math.erf, lambda x, y: 2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    (math.erfc, lambda x, y: -2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    (math.degrees, lambda x, y: 180.0 / math.pi),
    (math.radians, lambda x, y: math.pi / 180.0),
]
_STEEP: list[tuple[Callable, Derivative]] = [
    (math.asin, lambda x, y: (1.0, math.sqrt(1.0 - x * x))),
    (math.acos, lambda x, y: (-1.0, math.sqrt(1.0 - x * x))),
    (math.acosh, lambda x, y: (1.0, math.sqrt(x - 1.0) * math.sqrt(x + 1.0))),
    (math.sqrt, lambda x, y: (0.5, y)),
]
for _f, _d in _TABLE:
    unary(_f, _d)
for _f, _d in _STEEP:
    steep(_f, _d)
if hasattr(math, "exp2"):
    unary(math.exp2, lambda x, y: y * math.log(2.0))
if hasattr(math, "cbrt"):
    steep(math.cbrt, lambda x, y: (1.0, 3.0 * y * y))


def digamma(x: float) -> float:
    """The derivative of log-gamma, by recurrence and the asymptotic series (Abramowitz & Stegun 6.3.18)."""
    if x <= 0.0:
        return digamma(1.0 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


unary(math.lgamma, lambda x, y: digamma(x))
unary(math.gamma, lambda x, y: y * digamma(x))

probed.update(
    {math.atan2, math.hypot, math.pow, math.log, math.copysign, math.fmod, math.ldexp, math.dist, math.modf, math.frexp}
)


@rrule(math.log)
def log(x, base=None):
    if base is None:

        def pullback(dy):
            return dy / x

        return math.log(x), pullback

    def pullback_base(dy):
        lb = math.log(base)
        return dy / (x * lb), -dy * math.log(x) / (base * lb * lb)

    return math.log(x, base), pullback_base


@rrule(math.atan2)
def atan2(y, x):
    def pullback(d):
        h = math.hypot(x, y)  # its square may be too large or too small for a float
        r = d / h if h else 0.0
        return r * (x / h) if h else 0.0, -r * (y / h) if h else 0.0

    return math.atan2(y, x), pullback


@rrule(math.pow)
def pow_(a, b):
    y = math.pow(a, b)

    def pullback(dy):
        da = dy * b * (math.pow(a, b - 1.0) if a or b >= 1.0 else math.inf if dy else 0.0) if b else 0.0
        return da, dy * y * math.log(a) if a > 0.0 else 0.0

    return y, pullback


@rrule(math.hypot)
def hypot(*xs):
    y = math.hypot(*xs)

    def pullback(dy):
        return tuple([dy * x / y if y else 0.0 for x in xs])

    return y, pullback


@rrule(math.copysign)
def copysign(x, s):
    y = math.copysign(x, s)

    def pullback(dy):
        return dy * math.copysign(1.0, x) * math.copysign(1.0, s), 0.0

    return y, pullback


@rrule(math.fmod)
def fmod(a, b):
    def pullback(dy):
        return dy, -dy * math.trunc(a / b)

    return math.fmod(a, b), pullback


@rrule(math.ldexp)
def ldexp(x, n):
    def pullback(dy):
        return math.ldexp(dy, n), None

    return math.ldexp(x, n), pullback


@rrule(math.remainder)
def remainder(a, b):
    y = math.remainder(a, b)

    def pullback(dy):
        return dy, -dy * round((a - y) / b)

    return y, pullback


@rrule(math.modf)
def modf(x):
    def pullback(dy):
        return (dy[0],)

    return math.modf(x), pullback


@rrule(math.frexp)
def frexp(x):
    """x = m 2**e: e is a step function of x."""
    m, e = math.frexp(x)

    def pullback(dy):
        return (math.ldexp(dy[0], -e),)

    return (m, e), pullback


if hasattr(math, "fma"):

    @rrule(math.fma)
    def fma(a, b, c):
        def pullback(dy):
            return dy * b, dy * a, dy

        return math.fma(a, b, c), pullback


zero_derivative(math.ulp)
zero_derivative(math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose, math.factorial)
zero_derivative(math.gcd, math.lcm, math.comb, math.perm, math.isqrt)
probed.update({math.gcd, math.lcm, math.comb, math.perm, math.isqrt})
probed.update({int.bit_length, int.bit_count, float.is_integer})
probed.update({math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.isclose, math.factorial})

# -- cases ------------------------------------------------------------------------------------------------

CASES: list[RuleCase] = [
    *[case(f, 0.6) for f, _ in _TABLE if f not in (math.acosh,)], case(math.acosh, 1.6), case(math.atan2, 0.4, -1.3),
    case(math.log, 1.7, 3.0), case(math.pow, 1.7, 2.5), case(math.hypot, 0.3, -1.2, 2.0),
    case(math.copysign, 0.3, -2.0),
    case(math.fmod, 2.3, -0.7), case(math.remainder, 2.3, 0.7), case(math.modf, -2.3), case(math.frexp, 2.3),
    case(math.ldexp, 0.3, 4), case(math.gamma, 1.3), case(math.lgamma, -0.4),
    *([case(math.fma, 0.3, -1.2, 2.0)] if hasattr(math, "fma") else []),
    *([case(math.cbrt, 0.3), case(math.exp2, 0.3)] if hasattr(math, "cbrt") else []),
]  # fmt: skip
