"""Lists, tuples and numbers where NumPy's functions take arrays: they are converted first, as NumPy does."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py.errors import MissingRule
from mooncake_py.infer.types import Inst, T
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, overlay, rrule, rules_of, zero_derivative
from mooncake_py.structure import constant_packages, package_of
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.numpy_ufunc import ruled, with_keywords
from mooncake_rules.sequences import SEQUENCES, unstack

_LISTED = (*SEQUENCES, range, np.flatiter)
_LIKE = (*_LISTED, float, complex, int, np.generic)
_NUMERIC = (np.ndarray, float, complex, int, np.generic)
_BY_OPERATOR: dict[Any, Any] = {np.absolute: abs, np.negative: operator.neg, np.positive: operator.pos}
"""How NumPy asks an object for its value of a function; of others it calls the method of that name."""


def arrays_wanted(f: Any) -> int:
    """How many leading arguments f has rules for arrays for."""
    found = [r.pattern for r in rules_of(f) if r.fn is not None]
    return max((next((i for i, p in enumerate(ps) if p is not Array), len(ps)) for ps in found), default=0)


def _is_object(x):
    """Is x of a class that says itself what array it is?"""
    return hasattr(x, "__array__") and not hasattr(x, "__array_ufunc__")


def _is_converted(x):
    """Is x of a class that leaves functions of arrays to NumPy, which asks it for an array?"""
    return hasattr(x, "__array__") and not hasattr(x, "__array_function__")


def _one(f: Any) -> None:
    python = f._implementation
    method = f in (np.squeeze, np.transpose)  # these ask scalars of NumPy for their method

    @overlay(f)
    def array_like(a, *args, **kwargs):
        if method and isinstance(a, np.generic):
            return f(np.asarray(a), *args, **kwargs)[()]
        if isinstance(a, _LIKE) or _is_object(a):
            return f(np.asarray(a), *args, **kwargs)
        return python(a, *args, **kwargs)


def _two(f: Any) -> None:
    python = f._implementation

    @overlay(f)
    def array_like(a, b, *args, **kwargs):
        if isinstance(a, _LIKE) or isinstance(b, _LIKE) or _is_converted(a) or _is_converted(b):
            return f(np.asarray(a), np.asarray(b), *args, **kwargs)
        return python(a, b, *args, **kwargs)


def _ufunc(f: np.ufunc) -> None:
    of_itself = _BY_OPERATOR.get(f, operator.methodcaller(f.__name__))

    @overlay(f)
    def array_like(*args, **kwargs):
        if not any([isinstance(x, _LISTED) or _is_object(x) for x in args]):
            if len(args) == 1 and not kwargs and not isinstance(args[0], _NUMERIC):
                return of_itself(args[0])
            for why in [constant_packages.get(package_of(type(x))) for x in args]:
                if why is not None:
                    raise MissingRule(f"np.{f.__name__} is not differentiated: {why}")
            raise MissingRule(
                f"np.{f.__name__} is not differentiated with these keyword arguments: {', '.join(kwargs)}"
            )
        return f(*[np.asarray(x) if isinstance(x, _LISTED) or _is_object(x) else x for x in args], **kwargs)


_CORES = {"vecdot": (1, 1, 0), "matvec": (2, 1, 1), "vecmat": (1, 2, 1)}


def core_dimensions(name: str, a: int, b: int) -> tuple[int, int, int]:
    """How many dimensions of its operands, that have a and b of them, and of its result a product is about."""
    return _CORES.get(name) or (min(a, 2), min(b, 2), min(a, 2) + min(b, 2) - 2)


def _product(f: np.ufunc) -> None:
    """A ufunc of vectors and matrices; `axes` says where in the operands, and in the result, these are."""
    name = f.__name__

    @overlay(f)
    def array_like(a, b, /, *, axes=None, axis=None, keepdims=False, dtype=None, **keywords):
        if keywords or (axis is not None and name != "vecdot"):
            raise MissingRule(f"np.{name} is not differentiated with the keyword arguments casting, order and subok")
        a, b = np.asarray(a, dtype), np.asarray(b, dtype)
        if axis is not None:
            axes = [axis, axis]
        if axes is None:
            y = f(a, b)
        else:
            na, nb, ny = core_dimensions(name, a.ndim, b.ndim)
            y = f(np.moveaxis(a, axes[0], tuple(range(-na, 0))), np.moveaxis(b, axes[1], tuple(range(-nb, 0))))
            y = np.moveaxis(y, tuple(range(-ny, 0)), axes[2]) if ny else y
        return np.expand_dims(y, -1 if axes is None else axes[0]) if keepdims else y


def _operator(f: Any) -> None:
    """An operator between an array and a list or tuple; whole numbers repeat these."""
    numbers = np.ndarray if f in (operator.mul, operator.imul) else (np.ndarray, np.generic)

    @overlay(f, classes=(numbers, (*SEQUENCES, range)))
    def with_list(a, b):
        return f(a, np.asarray(b))

    plain = _PLAIN.get(f, f)  # a list has no operator in place but + and * of its own kind: what it gives is an array

    @overlay(f, classes=((*SEQUENCES, range), numbers))
    def of_list(a, b):
        return plain(np.asarray(a), b)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
_PLAIN = {getattr(operator, f"i{name}"): getattr(operator, name) for name in _BINARY}
for _f in (*_PLAIN.values(), *_PLAIN):
    _operator(_f)


@rrule(operator.iadd, types=(list, Array))
@rrule(operator.iadd, types=(list, np.generic))
def list_plus_array(xs, b):
    """An array is asked before the list is extended, and gives the sum."""
    shape = np.shape(b)

    def pullback(dy):
        t = np.asarray(dy)
        return unstack(unbroadcast(t, np.shape(xs)), xs), unstack(unbroadcast(t, shape), b)

    return np.add(xs, b), pullback


_REDUCTIONS = frozenset({"max", "mean", "min", "prod", "sum"})


def _method(name: str) -> None:
    """A method of NumPy's scalars as that of arrays without dimensions."""
    of_arrays = getattr(np.ndarray, name)

    @overlay(getattr(np.generic, name))
    def of_scalar(x, *args, **kwargs):
        return of_arrays(np.asarray(x), *args, **kwargs)

    if name in _REDUCTIONS:
        infer_table[of_scalar] = _itself


def _itself(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """What a reduction of a number over no axis, or over its only one, gives."""
    x = args[0]
    known = isinstance(x, Inst) and issubclass(x.cls, np.inexact)
    return x if known and len(args) <= 2 and kwargs.keys() <= {"axis"} else None


def _scalar_method(name: str) -> None:
    """A method that gives a scalar again."""
    of_arrays = getattr(np.ndarray, name)

    @overlay(getattr(np.generic, name))
    def of_scalar(x, *args, **kwargs):
        return of_arrays(np.asarray(x), *args, **kwargs)[()]


for _name in (
    "clip", "cumprod", "cumsum", "diagonal", "flatten", "max", "mean", "min", "prod", "ravel", "repeat", "reshape",
    "std", "sum", "swapaxes", "take", "trace", "var",
):  # fmt: skip
    _method(_name)
for _name in ("astype", "copy", "squeeze", "transpose"):
    _scalar_method(_name)
zero_derivative(
    np.generic.all, np.generic.any, np.generic.argmax, np.generic.argmin, np.generic.round, np.generic.nonzero,
    np.generic.argsort,
)  # fmt: skip


def serve() -> None:
    """Let every function of NumPy that has a rule for arrays take what is like an array, ufuncs also keywords."""
    with_keywords(*ruled())
    asks_itself = (np.diff, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)  # what a list gives is special
    for space in (np, np.linalg, np.fft):
        for name, f in sorted(vars(space).items()):
            if f in asks_itself:
                continue
            if type(f) is type(np.concatenate) and not name.startswith("_") and (n := arrays_wanted(f)):
                (_one if n == 1 else _two)(f)
    for u in ruled():
        (_ufunc if u.signature is None else _product)(u)


# -- cases ------------------------------------------------------------------------------------------------

_L = [0.5, -1.2, 2.0]
_R = [[2.0, 0.5], [0.3, 1.4]]


class _Held:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


def _objects(x: np.ndarray) -> Any:
    held = _Held(x)
    return np.asarray(held) * np.sin(held) + np.cumsum(held), np.dot(held, x), np.polyval(held, 2.0)


def _scalar(x: np.ndarray) -> Any:
    s = x.sum()
    return s.mean() * s.astype(np.float32) + s.reshape(1) * s.max() + s.clip(0.0, 5.0)


def _still_scalar(x: np.ndarray) -> Any:
    s = x.sum()
    return s.astype(np.float32), s.copy(), s.squeeze() * s.transpose(), np.squeeze(s), np.transpose(s) * 2.0


def _operators(x: Any, items: Any) -> Any:
    y = items * x + (1.0, x[0], 2.0) - [0.5, 0.1, 0.7] / x
    y += items
    y *= (2.0, 1.0, items[0])
    return y ** [1, 2, 3] @ items


def _in_place_of_lists(xs: Any, v: Any) -> Any:
    xs /= np.linalg.norm(xs)
    ys, zs, us = [v[0], 2.0 * v[1]], (v[1], v[0]), [v[0], 1.0]
    ys *= v
    zs -= v[1]
    us += v
    return xs * 2.0 + ys[0] * zs, us


CASES: list[RuleCase] = [
    case(_in_place_of_lists, [0.6, 1.1], np.array([1.3, 0.8])),
    case(np.sin, _L), case(np.add, _L, np.array([1.0, 2.0, 3.0])), case(np.multiply, 0.5, (1.0, 2.0)),
    case(np.hypot, _L, _L, out=np.zeros(3)), case(np.dot, _L, _L), case(np.reshape, _R, (4,)), case(np.outer, _L, _L),
    case(np.linalg.norm, _L), case(np.linalg.inv, _R), case(np.linalg.solve, _R, np.array([0.5, 0.2])),
    case(np.fft.fft, _L), case(np.cumsum, _L), case(np.sort, _L), case(np.flip, _R, 0), case(np.transpose, _R),
    case(np.convolve, _L, _L, "same"), case(np.var, _L, ddof=1), case(np.sum, _R, axis=0, keepdims=True),
    case(np.sum, 0.5, axis=None, keepdims=True), case(np.tile, 0.5, 3), case(np.ravel, 0.5),
    case(np.expand_dims, 0.5, 0), case(np.linalg.det, _R), case(np.kron, _L, _R), case(np.diff, _L),
    case(lambda x: np.diff(x, 0), _L), case(np.array_split, _R, [1], 1), case(np.array_split, _L, 2),
    case(np.split, _L, [1]),
    case(np.cumprod, (0.5, 2.0)), case(_scalar, np.array([0.5, 1.5])), case(_still_scalar, np.array([0.5, 1.5])),
    case(_operators, np.array(_L), _L), case(_objects, np.array(_L)),
]  # fmt: skip
