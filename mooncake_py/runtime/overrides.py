"""Classes that say themselves what NumPy's functions are of their objects: `__array_ufunc__`, `__array_function__`."""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.registry import name_of, rules_of
from mooncake_py.runtime.coduals import is_active
from mooncake_py.runtime.results import Call, Given, Pull, Result, through
from mooncake_py.structure import has_say
from mooncake_py.tangents import add_any

UFUNC, FUNCTION = "__array_ufunc__", "__array_function__"
OF_ARRAYS = type(np.concatenate)
"""The functions that ask for `__array_function__`."""
ASKS_ARRAYS = frozenset({OF_ARRAYS, np.ufunc, pytypes.BuiltinFunctionType, pytypes.MethodDescriptorType})
"""The classes of functions, and methods of ufuncs, that may ask."""


def overridden(call: Call, f: Any, given: Given) -> Result | None:
    """A function of NumPy's as a class of an argument has it; None where none has a say."""
    if type(f) is OF_ARRAYS:
        return _of_function(call, f, given)
    if isinstance(f, np.ufunc):
        return _of_ufunc(call, f, "__call__", given)
    if getattr(f, "__objclass__", None) is np.ufunc and given.args:
        found = _of_ufunc(call, given.args[0], f.__name__, Given(given.args[1:], given.fargs[1:], *given[2:]))
        return None if found is None else through(found, lambda ds: (None, *ds))
    ufunc = getattr(f, "__self__", None)
    return _of_ufunc(call, ufunc, f.__name__, given) if isinstance(ufunc, np.ufunc) else None


def _in_order(xs: Sequence[Any], name: str) -> list[int]:
    """The places of those that are asked, as NumPy asks: from the left, but subclasses before their bases."""
    out: list[int] = []
    for i, x in enumerate(xs):
        if has_say(type(x), name) and type(x) not in {type(xs[k]) for k in out}:
            before = [n for n, k in enumerate(out) if issubclass(type(x), type(xs[k]))]
            out.insert(before[0] if before else len(out), i)
    return out


_OF_REDUCE = ("axis", "dtype", "out", "keepdims", "initial", "where")


def _of_ufunc(call: Call, f: np.ufunc, method: str, given: Given) -> Result | None:
    args, fargs, names, kwvalues, kwfdata = given
    places = _in_order(args, UFUNC)
    if not places or _has_users_rule(f):
        return None
    if any(getattr(type(args[i]), UFUNC) is None for i in places):
        f(*args)  # raises the TypeError of NumPy
    words = dict(zip(names, kwvalues, strict=True))
    inputs = f.nin if method == "__call__" else 1 if method in ("reduce", "accumulate") else 2
    if method == "reduce" and len(args) > 1:  # NumPy hands on by name what was not
        more = dict(zip(_OF_REDUCE, args[1:], strict=False))
        words = {**{k: v for k, v in more.items() if k != "out" or v is not None}, **words}
    elif len(args) > inputs:
        raise _unseen(f, args[places[0]], "with a place for its result, or options that are not given by name")
    words = {k: v for k, v in words.items() if k != "out" or v is not None}
    if "out" in words:
        raise _unseen(f, args[places[0]], "with a place for its result")
    if any(map(is_active, kwvalues, kwfdata)):
        raise _unseen(f, args[places[0]], "with an option that has a derivative")
    xs, fxs = args[:inputs], fargs[:inputs]
    for i in places:
        d = _method(xs[i], UFUNC)
        asked = Given((xs[i], f, method, *xs), (fxs[i], None, None, *fxs), tuple(words), tuple(words.values()))
        y, fy, pb = call(d, None, asked.args, asked.fargs, asked.names, asked.kwvalues, (None,) * len(words))
        if y is not NotImplemented:
            return y, fy, None if pb is None else _given_back(pb, i, len(xs), len(args) - len(xs) + len(names))
        _undone(pb)
    kinds = ", ".join(repr(type(x).__name__) for x in xs)
    raise TypeError(f"operand type(s) all returned NotImplemented from {UFUNC}({f!r}, {method!r}): {kinds}")


def _given_back(pb: Pull, i: int, n: int, rest: int) -> Pull:
    """The cotangents of n operands, the i-th of which was asked, from those of the method's arguments."""

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        if ds is None:
            return None
        out = list(ds[4 : 4 + n])
        out[i] = add_any(out[i], None, ds[1])
        return (None, *out, *[None] * rest)

    return pullback


def _of_function(call: Call, f: Any, given: Given) -> Result | None:
    args, fargs, names, kwvalues, kwfdata = given
    shown: list[Any] = []
    for a in given.values:
        if type(a) in (list, tuple):
            shown += a if any(map(_has_some_say, {*map(type, a)})) else ()
        else:
            shown.append(a)
    places = _in_order(shown, FUNCTION)
    if not places or _has_users_rule(f):
        return _of_ufuncs(call, f, given, shown)
    if any(map(is_active, kwvalues, kwfdata)):
        raise _unseen(f, shown[places[0]], "with a keyword argument that has a derivative")
    kinds = tuple(type(shown[i]) for i in places)
    fdata = tuple(fargs) if any(x is not None for x in fargs) else None
    for i in places:
        x = shown[i]
        k = next((k for k, a in enumerate(args) if a is x), None)
        if k is None:
            raise _unseen(f, x, "that stands in a list, a tuple or a keyword argument")
        y, fy, pb = call(
            _method(x, FUNCTION), None, (x, f, kinds, args, given.kwargs), (fargs[k], None, None, fdata, None)
        )
        if y is not NotImplemented:
            return _spread((y, fy, pb), len(args), len(names))
        _undone(pb)
    raise TypeError(
        f"no implementation found for '{f.__module__}.{f.__name__}' on types that implement {FUNCTION}: {list(kinds)}"
    )


def _has_some_say(cls: type) -> bool:
    """Has the class a say in functions of NumPy's?"""
    return has_say(cls, UFUNC) or has_say(cls, FUNCTION)


def _has_users_rule(f: Any) -> bool:
    return any(r.user for r in rules_of(f))


def _spread(found: Result, n: int, rest: int) -> Result:
    """What a method that was given a tuple of n arguments gave, as of a call with these and some constants."""
    return through(found, lambda ds: (None, *(ds[4] or (None,) * n), *[None] * rest))


def _of_ufuncs(call: Call, f: Any, given: Given, shown: list[Any]) -> Result | None:
    """A function that leaves objects which have a say in ufuncs alone to these."""
    if not any(has_say(type(x), UFUNC) for x in shown):
        return None
    python = f._implementation
    if type(python) is not pytypes.FunctionType:
        raise _unseen(f, next(x for x in shown if has_say(type(x), UFUNC)), "in C")
    return call(python, None, *given)


def _method(x: Any, name: str) -> Any:
    d = class_attribute(type(x), name)
    if type(d) is not pytypes.FunctionType:
        raise UnsupportedError(f"{type(x).__name__}.{name} that is no plain method", "the call", None)
    return d


def _undone(pb: Pull | None) -> None:
    """What was asked in vain is gone back over at once: it has changed nothing that is used."""
    if pb is not None:
        pb(None)


def _unseen(f: Any, x: Any, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name_of(f)} of an object of {type(x).__name__}, whose class says what it is, {what}", "the call", None,
        "call the method that does it directly",
    )  # fmt: skip


OPERATORS: dict[str, Any] = {
    "__add__": np.add, "__sub__": np.subtract, "__mul__": np.multiply, "__truediv__": np.divide,
    "__floordiv__": np.floor_divide, "__mod__": np.remainder, "__pow__": np.power, "__matmul__": np.matmul,
    "__and__": np.bitwise_and, "__or__": np.bitwise_or, "__xor__": np.bitwise_xor, "__lt__": np.less,
    "__le__": np.less_equal, "__gt__": np.greater, "__ge__": np.greater_equal, "__eq__": np.equal,
    "__ne__": np.not_equal, "__divmod__": np.divmod, "__lshift__": np.left_shift, "__rshift__": np.right_shift,
}  # fmt: skip
"""The ufuncs that operators of arrays are, by the names of their methods."""


_COMPARISONS = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"})
"""These have an answer in every class."""


def ufunc_between(name: str, a: Any, b: Any) -> Any:
    """The ufunc that an operator is between an array and an object that is asked in it, for its say or an array."""
    f = OPERATORS.get(name)
    arrays = isinstance(a, (np.ndarray, np.generic)), isinstance(b, (np.ndarray, np.generic))
    if f is None or arrays[0] is arrays[1]:
        return None
    x = b if arrays[0] else a
    if getattr(type(x), UFUNC, None) is not None and has_say(type(x), UFUNC):
        return f
    own = name if x is a or name in _COMPARISONS else f"__r{name[2:]}"
    asked = class_attribute(type(x), "__array__")
    return f if type(asked) is pytypes.FunctionType and not hasattr(type(x), own) else None
