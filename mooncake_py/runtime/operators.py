"""Operators and builtins that ask the class of an object."""

from __future__ import annotations

import math
import operator
import types as pytypes
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.ir.ops import said
from mooncake_py.runtime.asked import check_bounds
from mooncake_py.runtime.coduals import is_active, is_new
from mooncake_py.runtime.overrides import ufunc_between
from mooncake_py.runtime.results import Call, Pull, Result, dropping
from mooncake_py.runtime.stored import ABSENT, read_stored
from mooncake_py.structure import is_user_class
from mooncake_py.tangents import add_any, zero_fdata
from mooncake_py.unwinding import Raised


def defines(x: Any, name: str) -> bool:
    """Has the class of x this method, written in Python?"""
    return _method(type(x), name) is not None


def decides(x: Any) -> bool:
    """May the class of x have something to say in an operation?"""
    return bool(type(x).__flags__ & 1 << 9) or type(x) is defaultdict or type(x) is type


def _is_own_method(d: Any) -> bool:
    """Is this a class method written in Python?"""
    return type(d) is classmethod and type(d.__func__) is pytypes.FunctionType


def _method(cls: type, name: str) -> pytypes.FunctionType | None:
    d = class_attribute(cls, name)
    return d if type(d) is pytypes.FunctionType else None


Operation = Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]


def _answered(name: str, reflected: str) -> Operation:
    """What the methods of two operands that are written in Python give; None where none of them has an answer."""

    def run(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        a, b = args
        fa, fb = fargs
        left = _method(type(a), name)
        right = _method(type(b), reflected) if type(a) is not type(b) or reflected != f"__r{name[2:]}" else None
        steps = [(left, False), (right, True)]
        if right is not None and issubclass(type(b), type(a)) and type(b) is not type(a):
            if class_attribute(type(a), reflected) is not class_attribute(type(b), reflected):
                steps.reverse()
        for method, swapped in steps:
            if method is None:
                continue
            pair, fpair = ((b, a), (fb, fa)) if swapped else ((a, b), (fa, fb))
            y, fy, pb = call(method, None, pair, fpair)
            if y is NotImplemented:
                if pb is not None:
                    pb(None)
                continue
            if pb is None:
                return y, fy, None
            return y, fy, _swapped(pb) if swapped else pb
        return None

    return run


def _binary(name: str, reflected: str) -> Operation:
    answered = _answered(name, reflected)

    def run_binary(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        a, b = args
        left = _method(type(a), name)
        right = _method(type(b), reflected) if type(a) is not type(b) or reflected != f"__r{name[2:]}" else None
        if left is None and (f := ufunc_between(name, a, b)) is not None:
            return call(f, None, args, fargs)
        if left is None and right is None:
            return None
        first = right is not None and issubclass(type(b), type(a)) and type(b) is not type(a)
        if left is None and not first and isinstance(b, _NUMBERS) and _answers(a, b, name):
            return None
        if left is None and (native := _native_result(a, b, name)) is not None:
            return native
        if (found := answered(call, args, fargs)) is not None:
            return found
        if name in ("__eq__", "__ne__"):
            if isinstance(a, (tuple, list, dict)) or isinstance(b, (tuple, list, dict)):
                return _OPERATORS[name](a, b), None, None  # these have something to say themselves
            return (a is b) is (name == "__eq__"), None, None
        _OPERATORS[name](a, b)  # raises the TypeError of Python
        return None

    return run_binary


_NUMBERS = (float, int, complex, str)


def _answers(a: Any, b: Any, name: str) -> bool:
    """Has the number, string or array on the left an answer, so that the number on the right is not asked?"""
    method = getattr(type(a), name, None)
    if isinstance(a, np.ndarray) or not isinstance(a, (*_NUMBERS, np.generic)):
        return isinstance(a, np.ndarray)
    try:
        return method is not None and method(a, b) is not NotImplemented
    except Exception:
        return True


def _native_result(a: Any, b: Any, name: str) -> Result | None:
    """What the C type on the left makes of an object on the right, where it does not leave that to the object."""
    if not isinstance(a, (np.ndarray, np.generic)) or isinstance(a, np.generic):
        return None
    if getattr(type(b), "__array_ufunc__", ABSENT) is None or getattr(type(b), "__array_priority__", 0.0) > 0:
        return None
    raise UnsupportedError(
        f"an array {name} an object of {type(b).__name__}",
        "the call",
        None,
        "set __array_ufunc__ = None in the class, so that its reflected method is asked",
    )


def _swapped(pb: Pull) -> Pull:
    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else (ds[0], ds[2], ds[1])

    return pullback


def _in_place(name: str, plain: Any, in_place: Any) -> Operation:
    answered = _answered(f"__{name[3:]}", f"__r{name[3:]}")

    def run_in_place(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        method = _method(type(args[0]), name)
        if method is not None:
            y, fy, pb = call(method, None, args, fargs)
            if y is not NotImplemented:
                return y, fy, pb
        elif isinstance(args[0], (list, deque)) and (name == "__imul__" or type(args[0]) in (list, deque)):
            # For CPython `+=` of classes derived from these is an operation of numbers, which come first; `*=` is none.
            found = answered(call, args, fargs)
            if found is None and not defines(args[0], f"__{name[3:]}") and defines(args[0], f"__r{name[3:]}"):
                return call(plain, None, args, fargs)  # the operation of numbers finds the method in C
            return found
        without = not hasattr(type(args[0]), name)
        if isinstance(args[0], dict) and not without:  # which asks nobody else
            return None
        if not any(is_user_class(type(x)) or (without and decides(x)) for x in args):
            return None
        lacks = is_user_class(type(args[0])) and not hasattr(type(args[0]), f"__{name[3:]}")
        if without and lacks and type(args[1]) in _NUMBERS:
            in_place(*args)  # raises the TypeError of Python, which names the operator
        return call(plain, None, args, fargs)

    return run_in_place


_MUST_BE = {"__float__": float, "__complex__": complex}
_ASKED = frozenset({"__len__", "__contains__", "__hash__", "__repr__", "__index__", "__int__"})


def _special(name: str) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    def run_special(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        method = _method(type(args[0]), name)
        if method is None:
            return None
        found = call(method, None, args, fargs)
        if name in _ASKED:
            return _converted(name, args[0], found)
        if name in _MUST_BE and type(found[0]) not in (_MUST_BE[name], Raised):
            return said(name, found[0], args[0]), None, found[2]
        return found

    return run_special


def _whole(name: str) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    """A function that gives whole numbers, unless a class says otherwise."""
    special = _special(name)

    def run_whole(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        found = special(call, args, fargs)
        if found is not None and type(found[0]) is not Raised and is_active(*found[:2]):
            what = f"{name} that gives a value with a derivative, of an object whose class is not seen before it runs"
            raise UnsupportedError(what, "the call", None, "call the method directly")
        return found

    return run_whole


def _item(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`x[k]`."""
    x = args[0]
    method = _method(type(x), "__getitem__")
    if method is not None:
        return call(method, None, args, fargs)
    if isinstance(x, type):
        made = class_attribute(x, "__class_getitem__")
        return call(made.__func__, None, args, (None, fargs[1])) if _is_own_method(made) else None
    return _missing(call, args, fargs) if isinstance(x, dict) else None


def _missing(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """What a dict does about a key that is missing, whatever its class says of brackets."""
    x, k = args
    if dict.__contains__(x, k):
        return None
    method = _method(type(x), "__missing__")
    if method is not None:
        return call(method, None, args, fargs)
    if not isinstance(x, defaultdict) or x.default_factory is None:
        return None
    factory, ffactory, _ = read_stored(x, fargs[0], "default_factory")
    y, fy, pb = call(factory, ffactory, (), ())
    if type(y) is Raised:
        return dropping((y, None, pb))
    if fy is None and (not isinstance(y, np.ndarray) or is_new(y)):
        fy = zero_fdata(y)
    _, _, put = call(operator.setitem, None, (x, k, y), (*fargs, fy))

    def pullback(dy: Any) -> Any:
        ds = None if put is None else put(None)
        if pb is not None:
            pb(add_any(dy, None, None if ds is None else ds[3]))
        return None if ds is None else (None, None, ds[2])

    return y, fy, pullback


def _by_index(
    f: Any, of_class: Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]
) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    """`x[k]` and the like, where a sequence in C asks the object k for a whole number."""

    def run_by_index(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        x, k = args[:2]
        method = None if decides(x) or not isinstance(x, _SEQUENCES) else _method(type(k), "__index__")
        if method is None:
            return of_class(call, args, fargs)
        i, _, asked = call(method, None, (k,), fargs[1:2])
        if type(i) is Raised:
            return dropping((i, None, asked))
        i = said("__index__", i, k)
        y, fy, pb = call(f, None, (x, i, *args[2:]), (fargs[0], None, *fargs[2:]))

        def pullback(dy: Any) -> Any:
            ds = None if pb is None else pb(dy)
            if asked is not None:
                asked(None)
            return ds

        return y, fy, pullback

    return run_by_index


_SEQUENCES = (list, tuple, deque, np.ndarray)


def _truth(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    for name in ("__bool__", "__len__"):
        method = _method(type(args[0]), name)
        if method is not None:
            return _converted(name, args[0], call(method, None, args, fargs), bool)
    return None


def _converted(name: str, x: Any, found: Result, last: Callable[[Any], Any] | None = None) -> Result:
    """What Python makes of what a method of x gave, where that is no number with a derivative."""
    y, _, pb = found
    if type(y) is Raised:
        return found
    y = said(name, y, x) if last is None else last(said(name, y, x))
    return y, None, None if pb is None else lambda _: pb(None)  # it may have put its arguments somewhere


def _not(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    return _negated(_truth(call, args, fargs))


def _ne(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if any(_method(type(x), "__ne__") is not None for x in args):
        return _binary_ne(call, args, fargs)
    if any(isinstance(x, (tuple, list, dict)) for x in args):  # these do not ask `__eq__` of classes derived from them
        return None
    return _negated(PROTOCOL[operator.eq](call, args, fargs))


def _negated(found: Result | None) -> Result | None:
    if found is None or type(found[0]) is Raised:
        return found
    pb = found[2]  # what was asked for may be a number, whose derivative ends here
    return not found[0], None, None if pb is None else lambda _: pb(None)


def _text(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`str(x)`, which is `repr(x)` where the class has nothing else to say."""
    return _first_of(("__str__", "__repr__"), call, args, fargs)


def _first_of(names: tuple[str, ...], call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if len(args) != 1:
        return None
    for name in names:
        if (method := _method(type(args[0]), name)) is not None:
            return _converted(names[0], args[0], call(method, None, args, fargs))
    return None


def _formatted(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """One `{x!r:spec}` of an f-string."""
    x, spec, conversion = args
    found: Result | None
    if not conversion and (method := _method(type(x), "__format__")) is not None:
        found = _converted("__format__", x, call(method, None, (x, spec), (fargs[0], None)))
    else:
        names = ("__str__", "__repr__") if conversion < 2 else ("__repr__",)
        found = _first_of(names, call, (x,), fargs[:1])
    if found is None:
        return None
    y, _, pb = found
    return y if type(y) is Raised else format(y, spec if conversion else ""), None, pb


def _of_numbers(f: Any) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    """A function of `math`, which asks its arguments for numbers."""

    def run_of_numbers(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        numbers: list[Any] = []
        pulls: list[Pull | None] = []
        for x, fx in zip(args, fargs, strict=True):
            asked = _method(type(x), "__float__") is not None
            y, _, pb = call(float, None, (x,), (fx,)) if asked else (x, fx, None)
            if type(y) is Raised:
                return y, None, pb
            numbers.append(y)
            pulls.append(pb)
        if not any(pulls):
            return None
        y, fy, pb = call(f, None, tuple(numbers), (None,) * len(args))

        def pullback(dy: Any) -> Any:
            ds = (None if pb is None else pb(dy)) or (None,) * (1 + len(args))
            out = [None]
            for pull, d in zip(reversed(pulls), reversed(ds[1:]), strict=True):
                back = (None, d) if pull is None else pull(d)
                out.insert(1, None if back is None else back[1])
            return tuple(out)

        return y, fy, pullback

    return run_of_numbers


PROTOCOL: dict[Any, Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]] = {}
"""Operators and builtins that ask the class of an object."""
_OPERATORS: dict[str, Any] = {}

for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
):
    _op, _bare = getattr(operator, _name), _name.strip("_")
    PROTOCOL[_op] = _binary(f"__{_bare}__", f"__r{_bare}__")
    _OPERATORS[f"__{_bare}__"] = _op
    PROTOCOL[getattr(operator, "i" + _bare)] = _in_place(f"__i{_bare}__", _op, getattr(operator, "i" + _bare))
for _name, _back in (("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("eq", "eq")):
    PROTOCOL[getattr(operator, _name)] = _binary(f"__{_name}__", f"__{_back}__")
    _OPERATORS[f"__{_name}__"] = getattr(operator, _name)
_OPERATORS["__ne__"] = operator.ne
_binary_ne = _binary("__ne__", "__ne__")
PROTOCOL[operator.ne] = _ne
PROTOCOL[divmod] = _binary("__divmod__", "__rdivmod__")
_OPERATORS["__divmod__"] = divmod
for _f, _name in (
    (operator.neg, "__neg__"), (operator.pos, "__pos__"), (operator.invert, "__invert__"), (abs, "__abs__"),
    (operator.abs, "__abs__"), (float, "__float__"), (int, "__int__"), (complex, "__complex__"), (round, "__round__"),
    (len, "__len__"),
    (operator.setitem, "__setitem__"), (operator.delitem, "__delitem__"),
    (operator.contains, "__contains__"), (hash, "__hash__"), (reversed, "__reversed__"),
    (repr, "__repr__"), (operator.index, "__index__"),
):  # fmt: skip
    PROTOCOL[_f] = _special(_name)
PROTOCOL[math.floor], PROTOCOL[math.ceil] = _whole("__floor__"), _whole("__ceil__")
PROTOCOL[math.trunc] = _whole("__trunc__")
for _f in vars(math).values():
    if callable(_f) and _f not in PROTOCOL and _f not in (math.fsum, math.prod, math.dist):
        PROTOCOL[_f] = _of_numbers(_f)
PROTOCOL[ops.truth] = PROTOCOL[bool] = PROTOCOL[operator.truth] = _truth
PROTOCOL[operator.not_] = _not
PROTOCOL[str] = _text
PROTOCOL[ops.format_value] = _formatted
PROTOCOL[operator.getitem] = _by_index(operator.getitem, _item)
PROTOCOL[dict.__getitem__] = _missing
for _f in (operator.setitem, operator.delitem):
    PROTOCOL[_f] = _by_index(_f, PROTOCOL[_f])
PROTOCOL[slice] = check_bounds
PROTOCOL[pow] = PROTOCOL[operator.pow]
