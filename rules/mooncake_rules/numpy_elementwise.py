"""NumPy's elementwise functions: tables of derivatives, for numbers and arrays of every dtype.

`x` and `y` in a table are argument and value, `a`, `b` and `y` those of functions of two; constants are Python
numbers, so that float32 stays float32. Complex functions are holomorphic unless they stand below the tables:
their pullback multiplies by the conjugate of the derivative.

Subgradients: where both arguments of maximum, minimum, fmax or fmin are equal, each gets half of the cotangent;
|x| and sign have derivative zero at zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import infer_table, inline, overlay, probed, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, is_complex, is_number
from mooncake_rules.operators import binary, down, shapes_of

# -- functions of one argument ----------------------------------------------------------------------------

_LN2, _LN10, _DEGREE = math.log(2.0), math.log(10.0), math.pi / 180.0


def sinc_slope(x: Any) -> Any:
    """The derivative of sin(pi x) / (pi x), from its series near zero."""
    near = np.abs(x) < 0.15
    safe = np.where(near, 1, x)
    t = math.pi * np.where(near, x, 0)
    u = t * t
    series = 1 / 840 - u * (1 / 45360 - u * (1 / 3991680 - u / 518918400))
    return np.where(near, -math.pi * t * (1 / 3 - u * (1 / 30 - u * series)), (np.cos(math.pi * x) - np.sinc(x)) / safe)


pure.add(sinc_slope)


@inline
def over(a: Any, b: Any) -> Any:
    """a / b as NumPy has it at b = 0, also of Python's numbers: where the function does not raise, its pullback does
    not either."""
    return np.divide(a, b) if is_number(b) else a / b


# what y says of complex numbers, and x * x does not: on which side of a branch cut x is
_UNARY: list[tuple[Callable, Callable[[Any, Any], Any]]] = [
    (np.sin, lambda x, y: np.cos(x)),
    (np.cos, lambda x, y: -np.sin(x)),
    (np.tan, lambda x, y: 1.0 + y * y),
    (np.arcsin, lambda x, y: 1.0 / (np.cos(y) if is_complex(y) else np.sqrt(1.0 - x * x))),
    (np.arccos, lambda x, y: -1.0 / (np.sin(y) if is_complex(y) else np.sqrt(1.0 - x * x))),
    (np.arctan, lambda x, y: 1.0 / (1.0 + x * x)),
    (np.sinh, lambda x, y: np.cosh(x)),
    (np.cosh, lambda x, y: np.sinh(x)),
    (np.tanh, lambda x, y: 1.0 - y * y),
    (np.arcsinh, lambda x, y: 1.0 / (np.cosh(y) if is_complex(y) else np.hypot(x, 1.0))),
    (np.arccosh, lambda x, y: 1.0 / (np.sinh(y) if is_complex(y) else np.sqrt(x - 1.0) * np.sqrt(x + 1.0))),
    (np.arctanh, lambda x, y: over(1.0, 1.0 - x * x)),
    (np.exp, lambda x, y: y),
    (np.exp2, lambda x, y: y * _LN2),
    (np.expm1, lambda x, y: np.exp(x)),
    (np.log2, lambda x, y: over(1.0, x * _LN2)),
    (np.log10, lambda x, y: over(1.0, x * _LN10)),
    (np.log1p, lambda x, y: over(1.0, 1.0 + x)),
    (np.sqrt, lambda x, y: 0.5 / y),
    (np.cbrt, lambda x, y: 1.0 / (3.0 * y * y)),
    (np.square, lambda x, y: 2.0 * x),
    (np.reciprocal, lambda x, y: -y * y),
    (np.degrees, lambda x, y: 1.0 / _DEGREE),
    (np.rad2deg, lambda x, y: 1.0 / _DEGREE),
    (np.radians, lambda x, y: _DEGREE),
    (np.deg2rad, lambda x, y: _DEGREE),
    (np.sinc, lambda x, y: sinc_slope(x)),
]


def unary(f: Callable, derivative: Callable[[Any, Any], Any]) -> None:
    """The rule of an elementwise function: `derivative(x, y)` is that of y = f(x)."""
    d = inline(derivative)

    def rule(x):
        y = f(x)

        def pullback(dy):
            return dy * conj(d(x, y))

        return y, pullback

    for kind in (Scalar, Array):
        rrule(f, types=(kind,))(rule)
    probed.add(f)


for _f, _d in _UNARY:
    unary(_f, _d)


@rrule(np.log, types=(Scalar,))
@rrule(np.log, types=(Array,))
def log(x):
    def pullback(dy):
        return dy / conj(x)

    return np.log(x), pullback


probed.add(np.log)

# -- functions of two arguments ---------------------------------------------------------------------------


def number_above(a: Any, b: Any) -> Any:
    return 1.0 if a > b else 0.0 if a < b else 0.5 if a == b else math.nan


def complex_above(a: Any, b: Any) -> Any:
    """As NumPy orders complex numbers: by their real parts, and where these are equal by the imaginary ones."""
    real, imag = np.real(a) - np.real(b), np.imag(a) - np.imag(b)
    return np.where(real == 0, np.heaviside(imag, 0.5), np.heaviside(real, 0.5))


@inline
def shares(a: Any, b: Any) -> tuple[Any, Any]:
    """What the larger gets of a cotangent, by place: 1 for a where a > b, and for b where a < b; 1/2 where they tie."""
    if is_complex(a) or is_complex(b):
        w = complex_above(a, b)
        return w, 1.0 - w
    if is_number(a) and is_number(b):
        w = number_above(a, b)
        return w, 1.0 - w
    return array_shares(a, b)


def array_shares(a: Any, b: Any) -> tuple[Any, Any]:
    """The same of real arrays: of bool, unless some elements are equal or not numbers."""
    more, less = a > b, a < b
    if np.count_nonzero(more) + np.count_nonzero(less) == more.size:
        return more, less
    w = np.where((a != a) | (b != b), np.nan, more + 0.5 * (a == b)).astype(np.result_type(a, b))
    return w, 1.0 - w


def above_or_alone(a: Any, b: Any) -> Any:
    """1 where a > b, 1/2 where they are equal, and 1 where b is not a number (as fmax and fmin have it)."""
    return np.where(np.isnan(b), 1.0, np.where(np.isnan(a), 0.0, shares(a, b)[0]))


def below_or_alone(a: Any, b: Any) -> Any:
    """The same where a < b."""
    return np.where(np.isnan(b), 1.0, np.where(np.isnan(a), 0.0, shares(b, a)[0]))


pure.update({number_above, complex_above, array_shares, above_or_alone, below_or_alone})


def turns(a: Any, b: Any) -> tuple[Any, Any]:
    """The derivatives of arctan2(a, b): (b, -a) / (a^2 + b^2), also where the squares do not fit a float."""
    if _are_many_floats(a) and _are_many_floats(b):  # np.hypot takes ten times as long as squares
        with np.errstate(over="ignore", under="ignore"):
            squares = a * a + b * b
        if np.min(squares) > 1e-30 and np.max(squares) < np.inf:
            return b / squares, a / -squares
    h = np.hypot(a, b)
    return np.divide(np.divide(b, h), h), np.divide(np.divide(a, h), -h)


def _are_many_floats(a: Any) -> bool:
    return type(a) is np.ndarray and a.size >= 256 and a.dtype.char in "fd"


pure.add(turns)
probed.add(turns)


def _arctan2(f: Any) -> Any:
    def arctan2(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            by_a, by_b = turns(a, b)
            return down(dy * by_a, a, shapes, 0, b), down(dy * by_b, b, shapes, 1, a)

        return f(a, b), pullback

    return arctan2


@inline
def apart_from_zero(y: Any) -> Any:
    """What to divide by where y is a norm: at zero its derivative is zero."""
    if is_number(y):
        return y if y else 1.0
    return y if np.count_nonzero(y) == y.size else np.where(y == 0, 1, y)


_LOWEST = {np.dtype(c): np.array(np.finfo(c).min) for c in "efdg"}  # arrays: numbers would be made such


def bounded(y: Any) -> Any:
    """What to subtract from the terms of the sum that y is the logarithm of: they have no share in a sum of zero.

    Infinity minus infinity would be no number, and NumPy warn of it.
    """
    return np.maximum(y, _LOWEST[y.dtype])


pure.add(bounded)
infer_table[bounded] = lambda args, kwargs: args[0]


def _logaddexp(f: Any) -> Any:
    power = np.exp if f is np.logaddexp else np.exp2

    def logaddexp(a, b):
        y = f(a, b)
        shapes = shapes_of(a, b)

        def pullback(dy):
            z = (y if y > -math.inf else 0.0) if is_number(y) else bounded(y)
            return down(dy * power(a - z), a, shapes, 0, b), down(dy * power(b - z), b, shapes, 1, a)

        return y, pullback

    return logaddexp


_BINARY: list[tuple[Callable, Callable, Callable]] = [
    (np.hypot, lambda a, b, y: a / apart_from_zero(y), lambda a, b, y: b / apart_from_zero(y)),
    (np.fmax, lambda a, b, y: above_or_alone(a, b), lambda a, b, y: above_or_alone(b, a)),
    (np.fmin, lambda a, b, y: below_or_alone(a, b), lambda a, b, y: below_or_alone(b, a)),
    (np.fmod, lambda a, b, y: 1.0, lambda a, b, y: -np.trunc(over(a, b))),
]


def _of_two(df_da: Callable, df_db: Callable) -> Callable:
    da, db = inline(df_da), inline(df_db)

    def make(f: Any) -> Any:
        def rule(a, b):
            y = f(a, b)
            shapes = shapes_of(a, b)

            def pullback(dy):
                return down(dy * conj(da(a, b, y)), a, shapes, 0, b), down(dy * conj(db(a, b, y)), b, shapes, 1, a)

            return y, pullback

        return rule

    return make


for _f, _a, _b in _BINARY:
    binary(_of_two(_a, _b), _f)
    probed.add(_f)


for _f in (np.logaddexp, np.logaddexp2):
    binary(_logaddexp, _f)
    probed.add(_f)


def _one_of_two(f: Any) -> Any:
    """The rule of maximum and minimum."""
    larger = f is np.maximum

    def one_of_two(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            more, less = shares(a, b)
            of_a, of_b = (more, less) if larger else (less, more)
            return down(dy * of_a, a, shapes, 0, b), down(dy * of_b, b, shapes, 1, a)

        return f(a, b), pullback

    return one_of_two


def _copysign(f: Any) -> Any:
    def copysign(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy * (np.copysign(1.0, a) * np.copysign(1.0, b)), a, shapes, 0, b), None

        return np.copysign(a, b), pullback

    return copysign


def _ldexp(f: Any) -> Any:
    def ldexp(x, n):
        shapes = shapes_of(x, n)

        def pullback(dy):
            return down(np.ldexp(dy, n), x, shapes, 0, n), None

        return np.ldexp(x, n), pullback

    return ldexp


def _nextafter(f: Any) -> Any:
    """The neighbour of a number moves with it."""

    def nextafter(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy * 1.0, a, shapes, 0, b), None

        return np.nextafter(a, b), pullback

    return nextafter


def _divmod(f: Any) -> Any:
    def divmod_(a, b):
        y = np.divmod(a, b)
        q = y[0]
        shapes = shapes_of(a, b)

        def pullback(dy):
            dr = dy[1]
            return None if dr is None else (down(dr * 1.0, a, shapes, 0, b), down(-dr * q, b, shapes, 1, a))

        return y, pullback

    return divmod_


def _heaviside(f: Any) -> Any:
    def heaviside(x, h):
        shapes = shapes_of(x, h)

        def pullback(dy):
            return None, down(dy * (x == 0), h, shapes, 1, x)

        return np.heaviside(x, h), pullback

    return heaviside


binary(_arctan2, np.arctan2)
binary(_one_of_two, np.maximum)
binary(_one_of_two, np.minimum)
binary(_copysign, np.copysign)
binary(_ldexp, np.ldexp)
binary(_heaviside, np.heaviside)
binary(_nextafter, np.nextafter)
binary(_divmod, np.divmod)
for _types in ((Array, Array), (Array, Scalar), (Scalar, Array)):
    rrule(divmod, types=_types)(_divmod(divmod))
probed.update({np.arctan2, np.maximum, np.minimum, np.copysign, np.ldexp, np.heaviside, np.nextafter, np.divmod})


# -- the rest ---------------------------------------------------------------------------------------------


@rrule(np.nan_to_num)
def nan_to_num(x):
    def pullback(dy):
        return np.where(np.isfinite(x), dy, 0)

    return np.nan_to_num(x, True), pullback


@overlay(np.nan_to_num)
def nan_to_numbers(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy and isinstance(x, np.ndarray):
        x[...] = nan_to_numbers(x, True, nan, posinf, neginf)
        return x
    a = np.asarray(x)
    if a.dtype.kind == "c":
        re, im = (nan_to_numbers(part, True, nan, posinf, neginf) for part in (a.real, a.imag))
        return re + 1j * im
    y = np.where(np.isnan(a), nan, a)
    y = np.where(np.isposinf(a), np.finfo(a.dtype).max if posinf is None else posinf, y)
    y = np.where(np.isneginf(a), np.finfo(a.dtype).min if neginf is None else neginf, y)
    return y.astype(a.dtype)[()]


@rrule(np.modf, types=(Scalar,))
@rrule(np.modf, types=(Array,))
def modf(x):
    def pullback(dy):
        return dy[0]

    return np.modf(x), pullback


@rrule(np.frexp, types=(Scalar,))
@rrule(np.frexp, types=(Array,))
def frexp(x):
    y = np.frexp(x)
    e = y[1]

    def pullback(dy):
        return None if dy[0] is None else np.ldexp(dy[0], -e)

    return y, pullback


@rrule(np.unwrap)
def unwrap(p, discont=None, axis=-1):
    def pullback(dy):
        return dy

    return np.unwrap(p, discont, axis), pullback


probed.update({np.nan_to_num, np.modf, np.frexp, np.unwrap})

_ZERO: list[Any] = [
    np.floor, np.ceil, np.rint, np.trunc, np.fix, np.round, np.around, np.ndarray.round, np.floor_divide,
    np.signbit, np.isnan, np.isinf, np.isfinite, np.isclose, np.allclose, np.array_equal, np.isreal, np.iscomplex,
    np.iscomplexobj, np.isrealobj, np.isscalar, np.isposinf, np.isneginf, np.array_equiv, np.spacing, np.less,
    np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.gcd,
    np.lcm,
]  # fmt: skip
zero_derivative(*_ZERO)
probed.update(_ZERO)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3])
_P = np.array([0.4, 1.3, 2.2, 0.9])
_Z = np.array([0.5 + 0.2j, -0.7 + 1.0j, 0.3 - 0.7j])
_M = np.array([[0.5, -1.2, 2.0, 0.7], [0.3, 1.4, -0.6, 0.2]])
_POSITIVE = {np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.arccosh, np.reciprocal}
_REAL_ONLY = {np.cbrt, np.degrees, np.radians, np.rad2deg, np.deg2rad, np.sinc, np.exp2}


def _filled(x: float) -> Any:
    return np.nan_to_num(np.array([x, np.nan, np.inf, -np.inf]), nan=x, posinf=x * x, neginf=2 * x)


CASES: list[RuleCase] = []
_MANY = np.linspace(-1.0, 2.0, 260).reshape(26, 10)
for _f in (*(f for f, _ in _UNARY), np.log, np.absolute, np.fabs, np.negative, np.positive, np.conjugate):
    _x = _P + 1 if _f is np.arccosh else _P if _f in _POSITIVE else _V
    CASES += [case(_f, _x), case(_f, 1.5 if _f is np.arccosh else 0.4), case(_f, _x.astype(np.float32))]
    CASES += [case(_f, np.float64(_x[0])), case(_f, np.array(_x[0])), case(_f, _M[:0])]
    if _f not in _REAL_ONLY and _f is not np.fabs:
        # Of a single number whose square is exact: else NumPy rounds it in one of two ways, by where it lies in memory.
        CASES += [case(_f, _Z), case(_f, 0.5 + 0.25j), case(_f, _Z.astype(np.complex64))]
for _f in (
    *(f for f, _, _ in _BINARY),
    np.logaddexp,
    np.logaddexp2,
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.power,
    np.remainder,
    np.copysign,
):
    for _pair in (
        (_P, _P[::-1] + 0.07), (_P, _M[:, :1] + 3), (_M[:1] + 3, _P), (_P, 0.7), (0.7, _P), (1.3, 0.6),
        (np.array(0.3), _P),
        (_P.astype(np.float32), _P[::-1].astype(np.float32) + np.float32(0.07)), (np.float64(1.25), _P),
        (np.array(0.3), 0.2),
        (_P, np.array([1, 2, 3, 4])), (np.array([1, 2, 3, 4]), _P),
    ):  # fmt: skip
        CASES.append(case(_f, *_pair))
for _f in (np.add, np.subtract, np.multiply, np.divide, np.power):
    CASES += [case(_f, _Z, _Z[::-1] * 2), case(_f, _Z, _P[:3]), case(_f, _P[:3], _Z), case(_f, 0.3 + 0.2j, _P)]
CASES += [
    case(np.ldexp, _V, np.array([1, 2, 0, -1])), case(np.ldexp, 1.5, 3), case(np.heaviside, _V, 0.5),
    case(np.heaviside, _V, _P), case(lambda h: np.heaviside(np.zeros(2), h), np.array([0.5, 0.7])),
    case(np.nan_to_num, _V), case(_filled, 0.7), case(np.arctan2, _MANY, _MANY[::-1] - 0.3),
    case(np.arctan2, np.array([3, -1, 200]), np.array([0.5, -2.0, 0.1])),
    case(np.arctan2, (_MANY > 0.2)[:, :1], _MANY + 1.5),
    case(np.modf, _V + 1.2),
    case(np.unwrap, np.array([0.1, 3.0, 6.5, 0.3])), case(np.sin, _V, dtype=np.float64),
    case(np.add, _V, _P, dtype=np.float64), case(np.sign, _V), case(np.floor, _V), case(np.rint, _V),
    case(np.round, _V, 1), case(np.isnan, _V), case(np.divmod, _P, _P[::-1] + 0.07), case(np.divmod, _P, 0.37),
    case(np.divmod, 2.3, 0.7), case(divmod, _P, 0.37), case(divmod, 2.3, _P), case(divmod, _P, _P[::-1] + 0.07),
    case(np.divmod, _M[:1] + 3, _P), case(np.frexp, _P), case(np.frexp, 5.3),
    case(np.nextafter, _V, 5.0), case(np.nextafter, 0.5, _V), case(np.real_if_close, _V), case(np.fix, _V),
    case(np.spacing, _V),
    case(np.bitwise_count, np.array([1, 2])) if hasattr(np, "bitwise_count") else case(np.invert, np.array([1, 2])),
    case(pow, _P, 1.6), case(pow, 1.6, _P), case(pow, _P, np.array(1.6)), case(pow, 1.6, 0.7), case(pow, _Z, _P[:3]),
]  # fmt: skip
CASES += [
    case(np.float_power, _P, _P[::-1]), case(np.float_power, _P, 2),
    case(np.amax, _M, 0), case(np.amin, _M),
    *[case(f, _Z, _Z[::-1] * 1.1) for f in (np.maximum, np.minimum, np.fmax, np.fmin)], case(np.maximum, _Z, 0.1 + 1j),
]  # fmt: skip
