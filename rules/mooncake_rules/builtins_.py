"""Builtin functions and the language's own operations."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import MissingRule, UnsupportedError
from mooncake_py.infer.parts import keys_of
from mooncake_py.infer.types import Arr, Bot, Dct, Inst, Known, Lst, Real, SetOf, T, Top, Tup, is_scalar, join, widen
from mooncake_py.ir import ops
from mooncake_py.kept_iterators import check_stop
from mooncake_py.kinds import Array, Numbers, RealScalar, Scalar
from mooncake_py.raised import looked_at
from mooncake_py.registry import (
    asking_items,
    folds,
    incurious,
    infer_table,
    overlay,
    probed,
    pure,
    rrule,
    zero_derivative,
)
from mooncake_py.shadows import At
from mooncake_py.structure import HEAP
from mooncake_py.tangents import CoDual, has_tangent, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_py.unwinding import end_handler, users_kinds, users_match
from mooncake_rules.common import conj
from mooncake_rules.containers import elements
from mooncake_rules.containers.sums import sum_of_scalars, summand

_f: Any  # what a table registers, one at a time

probed.update({range, float, int, bool, complex, abs, round, slice, ops.truth, hash, ord, chr, bin, hex, oct})
pure.update(
    {range, float, int, bool, complex, str, repr, len, isinstance, issubclass, type, callable, slice, id, ops.truth}
)
pure.update(
    {ops.format_value, ops.build_string, ops.load_global, hasattr, iter, zip, enumerate, reversed, format, ascii}
)
pure.update({ops.load_assertion_error, ops.load_special, ops.build_tuple, ops.check_bound, ops.list_to_tuple})

zero_derivative(
    range, bool, len, dir, isinstance, issubclass, callable, hasattr, id, repr, str, format, ascii, hash, print,
    slice, ops.format_value, ops.build_string, ops.truth, ops.load_assertion_error,
    ops.match_mapping, ops.match_sequence, str.format, str.format_map, str.join, float.is_integer,
    np.float64.is_integer, np.float32.is_integer, BaseException.add_note,
)  # fmt: skip

asking_items.update({
    set, frozenset, dict.fromkeys, sorted, min, max, list.sort, list.index, list.count, list.remove, tuple.index,
    tuple.count, operator.contains,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, print, str, repr, operator.mod,
})  # fmt: skip
incurious.update({isinstance, issubclass, callable, type, id, slice, ops.match_mapping, ops.match_sequence})
incurious.update({operator.is_, operator.is_not})
incurious.update(
    {
        ops.push_exc_info,
        ops.pop_except,
        ops.exc_match,
        users_match,
        users_kinds,
        end_handler,
        looked_at,
        check_stop,
        ops.check_length,
        ops.check_least,
    }
)
incurious.update({ops.check_fields, ops.check_arguments, ops.check_unchanged, BaseException.add_note})
incurious.update({ops.import_name, ops.import_from, ops.load_assertion_error, ops.build_string})


def _len(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    if len(args) == 1 and isinstance(args[0], Tup):
        return Known(len(args[0].items))
    return Inst(int)


folds[len] = lambda t: len(t.items) if isinstance(t, Tup) else None

for _f in (len, id, hash):
    infer_table[_f] = _len if _f is len else lambda args, kwargs: Inst(int)
for _f in (
    isinstance,
    issubclass,
    callable,
    hasattr,
    ops.match_mapping,
    ops.match_sequence,
    operator.contains,
    operator.not_,
    operator.is_,
    operator.is_not,
):
    infer_table[_f] = lambda args, kwargs: Inst(bool)
for _f in (str, repr, format, ascii, ops.format_value, ops.build_string):
    infer_table[_f] = lambda args, kwargs: Inst(str)
infer_table[object] = lambda args, kwargs: None if args or kwargs else Inst(object)
infer_table[print] = lambda args, kwargs: Known(None)


def _iter(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """An iterator that only gives constants is not an unknown object, which could be anything its items meet."""
    if len(args) == 1 and isinstance(args[0], Arr) and not args[0].active:
        return Inst(type(iter(np.empty(0))))
    if len(args) == 1 and isinstance(args[0], Dct) and not keys_of(args[0]).active:
        return Inst(type(iter(args[0].cls())))
    return Inst(type(iter(set()))) if len(args) == 1 and isinstance(args[0], SetOf) and not args[0].act else None


infer_table[iter] = _iter


def _type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    from mooncake_py.infer.resolve import class_of

    c = class_of(widen(args[0])) if len(args) == 1 else None
    return None if c is None else Known(c)


infer_table[type] = _type


def _int(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    return Inst(int)


for _f in (int, math.floor, math.ceil, math.trunc):
    infer_table[_f] = _int
zero_derivative(int, math.floor, math.ceil, math.trunc)


def _float(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    return Inst(float, any(t.active for t in args))


infer_table[float] = _float


@rrule(float, types=(Scalar,))
def float_(x):
    def pullback(dy):
        return dy

    return float(x), pullback


@rrule(float, types=(Array,))
def float_of_array(x):
    def pullback(dy):
        return np.full(x.shape, dy, x.dtype)

    return float(x), pullback


@rrule(complex, types=(Scalar,))
def complex_(real=0, imag=0):
    def pullback(dy):
        return dy.real if isinstance(real, (int, float)) else dy, dy.imag

    return complex(real, imag), pullback


@overlay(complex, classes=(np.ndarray,))
def complex_of_array(x):
    return complex(x.item())


@overlay(complex, arity=0)
def complex_of_parts(*, real=0, imag=0):
    return complex(real, imag)


@rrule(round)
def round_(number, ndigits=None):
    def pullback(dy):
        return 0.0 * dy if isinstance(number, float) else None

    return round(number, ndigits), pullback


infer_table[round] = lambda args, kwargs: Inst(int) if len(args) == 1 and not kwargs and is_scalar(args[0]) else None


# -- min, max, sum ----------------------------------------------------------------------------------------


def _extreme(f: Any) -> None:
    @rrule(f, types=(Numbers,))
    def of_sequence(xs):
        y = f(xs)
        chosen = next(i for i, x in enumerate(xs) if x is y or (isinstance(xs, np.ndarray) and x == y))

        def pullback(dy):
            if isinstance(xs, np.ndarray):
                d = np.zeros(xs.shape, xs.dtype)
                d[chosen] = dy
                return (d,)
            return (tuple([dy if i == chosen else None for i in range(len(xs))]),)

        return y, pullback

    @rrule(f, types=(Scalar, Scalar))
    def of_many(*xs):
        y = f(*xs)
        chosen = next(i for i, x in enumerate(xs) if x is y)

        def pullback(dy):
            return tuple([dy if i == chosen else None for i in range(len(xs))])

        return y, pullback

    @rrule(f, types=(RealScalar, RealScalar))
    def pair(a, b):
        y = f(a, b)

        def pullback(dy):
            if y is a:
                return dy, 0.0
            return 0.0, dy

        return y, pullback

    def result(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
        if len(args) >= 2 and not kwargs:
            t: T = args[0]
            for x in args[1:]:
                t = join(t, x)
            return t if is_scalar(t) or isinstance(t, Real) else None
        t = elements(args[0]) if len(args) == 1 and "default" not in kwargs else Top()
        return t if (is_scalar(t) and not kwargs) or isinstance(t, (Bot, Lst, Tup)) else None

    infer_table[f] = result


_extreme(min)
_extreme(max)


@rrule(math.fsum, types=(Numbers,), deferred=(0,))
def fsum(xs):
    n = len(xs)

    def pullback(dy):
        return (At(slice(None), dy) if isinstance(xs, np.ndarray) else (dy,) * n,)

    return math.fsum(xs), pullback


def real_number(x):
    """What the functions of `math` make of an argument: they ask objects by `float()`, which takes texts as well."""
    if isinstance(x, (str, bytes, bytearray, complex)):
        raise TypeError(f"must be real number, not {type(x).__name__}")
    return float(x)


@overlay(math.fsum)
def fsum_of_objects(xs):
    return math.fsum([real_number(x) for x in xs])


def like(xs: Any, ds: list[Any]) -> Any:
    """Cotangents of the items of xs as that of xs."""
    return np.array(ds, dtype=xs.dtype) if isinstance(xs, np.ndarray) else tuple(ds)


def conjugates(xs: Any) -> list[Any]:
    return [conj(x) for x in xs]


def are_numbers(xs: Any) -> bool:
    """Are all items numbers, of which there is nothing to be asked?"""
    return isinstance(xs, Numbers.cls)


zero_derivative(are_numbers)
incurious.add(are_numbers)
infer_table[are_numbers] = lambda args, kwargs: Inst(bool)


@rrule(math.dist, types=(Numbers, Numbers))
def dist(p, q):
    y = math.dist(p, q)

    def pullback(dy):
        ds = [dy * (a - b) / y if y else 0.0 for a, b in zip(p, q, strict=True)]
        return like(p, ds), like(q, [-d for d in ds])

    return y, pullback


@overlay(math.dist)
def dist_of_iterables(p, q):
    return math.dist([real_number(x) for x in p], [real_number(x) for x in q])


if hasattr(math, "sumprod"):

    @rrule(math.sumprod, types=(Numbers, Numbers))
    def sumprod(p, q):
        def pullback(dy):
            dp = [summand(dy * b, a) for a, b in zip(p, conjugates(q), strict=True)]
            dq = [summand(dy * a, b) for a, b in zip(conjugates(p), q, strict=True)]
            return like(p, dp), like(q, dq)

        return math.sumprod(p, q), pullback

    @overlay(math.sumprod)
    def sumprod_of_iterables(p, q):
        p, q = list(p), list(q)  # iterators run once
        if are_numbers(p) and are_numbers(q):
            return math.sumprod(p, q)
        total = 0
        for a, b in zip(p, q, strict=True):
            total += a * b
        return total


def _product_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    return sum_of_scalars(join(elements(args[0]), widen(kwargs.get("start", Known(1)))))


infer_table[math.prod] = _product_type


def _multiplied_as_numbers(items: list[Any]) -> list[Any]:
    """The items; those of a class derived from float or complex that says itself what `*` gives are refused."""
    kinds: set[Any] = set(map(type, items))
    for cls in kinds:
        base: Any = next((c for c in (float, complex) if issubclass(cls, c)), None)
        if base is None or not cls.__flags__ & HEAP:
            continue
        if cls.__mul__ is not base.__mul__ or cls.__rmul__ is not base.__rmul__:
            why = f"{cls.__name__} says itself what multiplying gives; multiply the items in a loop"
            raise MissingRule(f"math.prod of objects of class {cls.__name__} is not differentiated: {why}")
    return items


@overlay(math.prod)
def product_of_objects(iterable, *, start=1):
    y = start
    for x in iterable:
        y = y * x
    return y


@rrule(math.prod, types=(Numbers,))
def prod(xs, *, start=1):
    items = _multiplied_as_numbers(list(xs))
    y = math.prod(items, start=start)

    def pullback(dy):
        across = conjugates(items)
        before = list(itertools.accumulate(across, operator.mul, initial=dy * conj(start)))
        after = list(itertools.accumulate(reversed(across), operator.mul, initial=1.0))
        ds = [summand(a * b, v) for a, b, v in zip(before, reversed(after[:-1]), items, strict=False)]
        return like(xs, ds), summand(dy * after[-1], start)

    return y, pullback


for _f in (math.fsum, math.dist):
    infer_table[_f] = lambda args, kwargs: Inst(float, any(t.active for t in args))


@rrule(divmod, types=(RealScalar, RealScalar))
def divmod_(a, b):
    def pullback(dy):
        return dy[1], -dy[1] * (a // b)

    return divmod(a, b), pullback


def _slice(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    if all(isinstance(a, Known) for a in args):
        return Known(slice(*[a.value for a in args if isinstance(a, Known)]))
    return Inst(slice)


infer_table[slice] = _slice
# -- exceptions -------------------------------------------------------------------------------------------

zero_derivative(ops.push_exc_info, ops.pop_except, ops.exc_match, users_match, users_kinds, end_handler)
zero_derivative(looked_at, check_stop)


@rrule(ops.part_of_group)
def part_of_group(exc: CoDual):
    """Each exception has its own tangent; what a `derive` of the user's gave the group itself is not seen."""
    group = exc.primal
    looked_at(group)
    own = isinstance(group, BaseExceptionGroup) and type(group).derive is not BaseExceptionGroup.derive
    if own and run.current().shadow(group) is None:
        for name, value in vars(group).items():
            if name != "__notes__" and has_tangent(value):
                raise UnsupportedError(
                    f"a derive() of {type(group).__name__} that sets attributes with derivatives ({name})", "except*",
                    None, "take the group apart with split()",
                )  # fmt: skip

    def pullback(_):
        return None

    return CoDual(group, zero_fdata(group)), pullback


@rrule(ops.raised_again)
def raised_again(exc: CoDual, raised):
    """A group of some of the exceptions, which bring what they brought."""

    def pullback(_):
        return None

    y = ops.raised_again(exc.primal, raised)
    return CoDual(y, zero_fdata(y)), pullback


zero_derivative(ops.exc_group_match)
incurious.add(ops.exc_group_match)
infer_table[ops.exc_group_match] = lambda args, kwargs: Tup((Top(), Top()))
for _f in (ops.part_of_group, ops.raised_again):
    infer_table[_f] = lambda args, kwargs: Top(True)
for _f in (ops.exc_match, users_match):
    infer_table[_f] = lambda args, kwargs: Inst(bool)
for _f in (ops.pop_except, end_handler, looked_at, check_stop):
    infer_table[_f] = lambda args, kwargs: Known(None)

for _f in (ops.check_length, ops.check_least, ops.check_fields, ops.check_arguments, ops.check_unchanged):
    infer_table[_f] = lambda args, kwargs: Known(None)
zero_derivative(ops.check_length, ops.check_least, ops.check_fields, ops.check_arguments, ops.check_unchanged)
zero_derivative(ops.import_name, ops.import_from)

# -- cases ------------------------------------------------------------------------------------------------

_L = [0.3, -1.2, 2.0]
_V = np.array([0.3, -1.2, 2.0])
_PAIRS = [(_L, (2.0, 0.7, 1.5)), (_V, _L), ([0.5 + 0.4j, 2.0], [0.7, 1.0 - 1j])]
CASES: list[RuleCase] = [
    case(math.fsum, _L), case(math.fsum, _V), case(math.dist, _L, (0.5, 1.0, 1.5)), case(math.dist, _V, _L),
    case(math.prod, [0.5 + 0.4j, 2.0, 1.0 - 1j]), case(math.prod, [0.3, 1.5], start=0.2 + 1j),
    case(math.prod, _L), case(math.prod, _V), case(math.prod, _L, start=0.7), case(math.prod, [0.0, 1.5, 2.0]),
    *([case(math.sumprod, *pq) for pq in _PAIRS] if hasattr(math, "sumprod") else []),
]  # fmt: skip
