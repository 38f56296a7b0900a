"""The operators of Python, and the ufuncs behind them, on numbers and arrays in every mix."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import infer_table, inline, overlay, probed, pure, rrule, zero_derivative
from mooncake_rules.common import conj, is_complex, is_number, is_one, real_of, shapes_unless_same, summed, total

_f: Any  # what a table registers, one at a time

_COMPARE = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_ARITHMETIC = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg,
    operator.pos, operator.abs, operator.matmul, operator.and_, operator.or_, operator.xor, operator.invert,
    operator.lshift, operator.rshift, abs, divmod,
)  # fmt: skip
probed.update(_ARITHMETIC, _COMPARE)
probed.update({np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.power, np.remainder})
probed.update({np.floor_divide, np.float_power, np.fmod, np.absolute})
pure.update({operator.is_, operator.is_not, operator.not_, operator.contains, operator.truth, operator.index})

zero_derivative(*_COMPARE, operator.not_, operator.contains, operator.is_, operator.is_not, operator.truth)
zero_derivative(operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift)
zero_derivative(operator.index, operator.countOf, operator.indexOf, operator.length_hint, np.floor_divide)


@overlay(operator.concat)
def concat(a, b, /):
    return a + b


@overlay(operator.iconcat)
def iconcat(a, b, /):
    a += b
    return a


@overlay(operator.call)
def call(f, /, *args, **kwargs):
    return f(*args, **kwargs)


MIXES = ((Scalar, Scalar), (Array, Array), (Array, Scalar), (Scalar, Array))


@inline
def shapes_of(a: Any, b: Any) -> Any:
    """What to keep of two operands to sum cotangents down to them: nothing where one side is a number."""
    return None if is_number(a) or is_number(b) else shapes_unless_same(a, b)


@inline
def down(t: Any, like: Any, shapes: Any, i: int, other: Any) -> Any:
    """The cotangent t of operand i, `like`, of an elementwise operation with `other`, in like's shape and kind."""
    if is_number(like):
        if is_number(other):
            return real_of(t, like)
        return real_of(total(t), like)
    if is_number(other):
        return real_of(t, like)
    return real_of(summed(t, shapes, i), like)


def binary(make: Any, *targets: Any) -> None:
    """Register the rule that `make(f)` gives for every target f."""
    for f in targets:
        rule = make(f)
        in_place = getattr(f, "__name__", "")[:1] == "i" and getattr(operator, f.__name__, None) is f
        for types in MIXES:
            if not (in_place and types[0] is Array):  # those write into the array: numpy_indexing has them
                rrule(f, types=types)(rule)


def _add(f: Any) -> Any:
    def add(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy, a, shapes, 0, b), down(dy, b, shapes, 1, a)

        return f(a, b), pullback

    return add


def _sub(f: Any) -> Any:
    def sub(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy, a, shapes, 0, b), down(-dy, b, shapes, 1, a)

        return f(a, b), pullback

    return sub


def _mul(f: Any) -> Any:
    def mul(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy * conj(b), a, shapes, 0, b), down(dy * conj(a), b, shapes, 1, a)

        return f(a, b), pullback

    return mul


def _div(f: Any) -> Any:
    def div(a, b):
        y = f(a, b)
        shapes = shapes_of(a, b)

        def pullback(dy):
            da = dy / conj(b)
            db = -dy * conj(y * y) if is_one(a) else -da * conj(y)  # where a is one, b need not be kept
            return down(da, a, shapes, 0, b), down(db, b, shapes, 1, a)

        return y, pullback

    return div


binary(_add, operator.add, operator.iadd, np.add)
binary(_sub, operator.sub, operator.isub, np.subtract)
binary(_mul, operator.mul, operator.imul, np.multiply)
binary(_div, operator.truediv, operator.itruediv, np.divide)


# -- powers -----------------------------------------------------------------------------------------------


def _pow_type(args: Any, kwargs: Any) -> Any:
    """`float ** float` may be complex, `int ** int` a float: a known whole exponent decides, or a number of NumPy."""
    from mooncake_py.infer.parts import activate
    from mooncake_py.infer.resolve import _probe
    from mooncake_py.infer.types import Arr, Inst, Known, Real, Top, is_scalar, widen

    if len(args) != 2:
        return None
    a, b = args
    act = a.active or b.active
    whole = isinstance(b, Known) and isinstance(b.value, int) and not isinstance(b.value, bool)
    if is_scalar(a) and is_scalar(b):
        wa, wb = widen(a), widen(b)
        if isinstance(wa, Inst) and issubclass(wa.cls, (complex, np.complexfloating)):
            return None if isinstance(wb, Real) else activate(_probe(operator.pow, (wa, wb), ()), act)
        if isinstance(wb, Inst) and issubclass(wb.cls, (complex, np.complexfloating)):
            return activate(_probe(operator.pow, (wa, wb), ()), act)
        if not isinstance(wa, Inst) or not isinstance(wb, Inst) or wa.cls in (int, bool):
            return Real(act)
        if wa.cls is float and wb.cls in (float, int, bool):
            return Inst(float, act)
        if whole or issubclass(wa.cls, np.floating) or issubclass(wb.cls, np.floating):
            return activate(_probe(operator.pow, (wa, wb), ()), act)
        return Real(act)
    if isinstance(a, Arr) or isinstance(b, Arr):
        return activate(_probe(operator.mul, args, ()), act) if not isinstance(a, Top) else None
    return None


def surely_positive(a: Any) -> bool:
    """Are all numbers of a known to be greater than zero?"""
    return type(a) is np.ndarray and a.dtype.kind == "f" and a.size > 0 and bool(np.minimum.reduce(a, None) > 0)


def exponent_log(a: Any, positive: bool) -> Any:
    """log(a), zero where a is zero (the derivative of 0 ** b by b is zero for b > 0), NaN where it is negative."""
    if positive:
        return np.log(a)
    if is_number(a) and not isinstance(a, np.generic):
        if isinstance(a, complex):
            return np.log(a) if a else 0.0
        return np.log(a) if a > 0 else 0.0 if a == 0 else np.nan
    safe = np.where(a == 0, 1, a)
    with np.errstate(invalid="ignore"):  # a negative base: mostly nobody asks for the derivative by the exponent
        return np.log(safe)


def check_real_power(y: Any) -> Any:
    """y itself; a negative float to a fractional power is complex in Python, which a real derivative cannot follow."""
    if type(y) is complex:
        raise ValueError(
            "a negative number to a fractional power is complex: make the base complex to differentiate it"
        )
    return y


pure.add(exponent_log)


def _pow(f: Any) -> Any:
    def pow_(a, b):
        real = is_number(a) and is_number(b) and not (is_complex(a) or is_complex(b))
        y = check_real_power(f(a, b)) if real else f(a, b)
        shapes = shapes_of(a, b)

        def pullback(dy):
            positive = False if is_number(a) else surely_positive(a)
            below = power_below(a, b, False, dy) if is_number(b) else power_below(a, b, positive, dy)
            da = dy * conj(b * below)
            return down(da, a, shapes, 0, b), down(dy * conj(y * exponent_log(a, positive)), b, shapes, 1, a)

        return y, pullback

    return pow_


def power_below(a: Any, b: Any, positive: bool, dy: Any) -> Any:
    """a ** (b - 1); where b is zero the value does not matter, for it is multiplied by b, nor where dy is, of numbers.

    `positive`: is a an array whose numbers are all known to be so?
    """
    if positive:
        return np.power(a, b - 1)
    if is_number(a) and is_number(b):
        if not b:
            return 1.0
        return a ** (b - 1) if a or b >= 1 else float("inf") if dy else 0.0
    if is_number(b) and a.dtype.kind == "f":
        if b == 3:  # the squares and cubes of which most powers are made
            return a * a
        if b == 2:
            return a
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.power(np.asarray(a, dtype=np.result_type(a, 1.0)) if is_number(a) or a.dtype.kind in "iub" else a, b - 1)
    if is_number(b):
        return r if b else np.ones_like(r)
    return np.where(b == 0, 1, r)


pure.update({power_below, surely_positive})
binary(_pow, operator.pow, operator.ipow, pow, np.power, np.float_power)


@overlay(pow)
def pow_builtin(base, exp, mod=None):
    return base**exp if mod is None else base.__pow__(exp, mod)


# -- remainder and floor ----------------------------------------------------------------------------------


def _mod(f: Any) -> Any:
    quotient = np.floor_divide if f is np.remainder else operator.floordiv  # NumPy does not raise at b = 0

    def mod(a, b):
        shapes = shapes_of(a, b)

        def pullback(dy):
            return down(dy, a, shapes, 0, b), down(-dy * quotient(a, b), b, shapes, 1, a)

        return f(a, b), pullback

    return mod


binary(_mod, operator.mod, operator.imod, np.remainder)
zero_derivative(operator.floordiv)


@rrule(operator.ifloordiv, types=(Scalar, Array))
@rrule(operator.ifloordiv, types=(Scalar, Scalar))
def ifloordiv(a, b):
    def pullback(_):
        return None

    return a // b, pullback


@rrule(operator.mod, operator.imod, types=(str,))
def format_by_percent(a, b):
    def pullback(_):
        return None

    return a % b, pullback


# -- unary ------------------------------------------------------------------------------------------------


def _neg(f: Any) -> Any:
    def neg(a):
        def pullback(dy):
            return -dy

        return f(a), pullback

    return neg


def _pos(f: Any) -> Any:
    def pos(a):
        def pullback(dy):
            return dy

        return f(a), pullback

    return pos


def sign(x: Any) -> Any:
    """x / |x|, zero at zero: the derivative of |x|."""
    if type(x) is float:
        return 1.0 if x > 0 else -1.0 if x < 0 else 0.0
    if is_complex(x):
        r = np.abs(x)
        return x / np.where(r == 0, 1, r)  # NumPy 1 has another sign of complex numbers
    return np.sign(x)


pure.add(sign)


def _abs(f: Any) -> Any:
    def abs_(a):
        def pullback(dy):
            return dy * sign(a)

        return f(a), pullback

    return abs_


for _make, _targets in (
    (_neg, (operator.neg, np.negative)),
    (_pos, (operator.pos, np.positive)),
    (_abs, (abs, operator.abs, np.absolute, np.fabs)),
):
    for _f in _targets:
        for _kind in (Scalar, Array):
            rrule(_f, types=(_kind,))(_make(_f))

for _f in (operator.pow, operator.ipow, pow):
    infer_table[_f] = _pow_type


def _product_type(args: Any, kwargs: Any) -> Any:
    """How long a tuple repeated a number of times is depends on that number."""
    from mooncake_py.infer.types import Known, Lst, Top, Tup

    if any(isinstance(t, Lst) for t in args) and all(isinstance(t, Lst) or _is_int(t) for t in args):
        return args[0] if isinstance(args[0], Lst) else args[1]
    repeated = any(isinstance(t, Tup) or (isinstance(t, Known) and isinstance(t.value, tuple)) for t in args)
    if repeated and not all(isinstance(t, (Known, Tup)) for t in args):
        return Top(any(t.active for t in args))
    return None


def _sum_type(args: Any, kwargs: Any) -> Any:
    from mooncake_py.infer.types import Inst, Lst, Tup, join, widen

    if all(widen(t) == Inst(str) for t in args):
        return Inst(str)
    a, b = map(widen, args)
    if isinstance(a, Tup) and isinstance(b, Tup):
        return Tup((*a.items, *b.items))
    return join(*args) if all(isinstance(t, Lst) for t in args) else None


def _is_int(t: Any) -> bool:
    from mooncake_py.infer.types import Inst, widen

    t = widen(t)
    return isinstance(t, Inst) and issubclass(t.cls, (int, np.integer))


infer_table[operator.add] = _sum_type
infer_table[operator.mul] = _product_type  # `*=` asks for it where it does not write into its first operand
