"""The language's own operations, as functions: what normalised bytecode calls besides `operator` and builtins.

Each runs as plain Python where it can (so IR can be interpreted and rules written for them); the lowering
emits one or a few instructions for each. Operations that only make sense inside a frame are marked and raise
when called.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn

from mooncake_py import exception_groups
from mooncake_py.errors import UnsupportedError


class _Sentinel:
    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return self._name


UNBOUND = _Sentinel("UNBOUND")
"""The value of a local variable that is not assigned (or was deleted)."""


def _in_frame(name: str) -> NoReturn:
    raise RuntimeError(f"{name} has a meaning only inside a lowered code object")


# -- building ---------------------------------------------------------------------------------------------


def build_tuple(*xs: Any) -> tuple:
    return xs


def build_list(*xs: Any) -> list:
    return list(xs)


def build_set(*xs: Any) -> set:
    return set(xs)


def build_map(*kvs: Any) -> dict:
    """`build_map(k1, v1, k2, v2, ...)`."""
    return dict(zip(kvs[::2], kvs[1::2], strict=True))


def build_string(*parts: str) -> str:
    return "".join(parts)


def list_append(xs: list, x: Any) -> None:
    """Append inside a comprehension or star-display; the list is not visible to the user yet."""
    list.append(xs, x)


def list_extend(xs: list, ys: Any) -> None:
    xs.extend(ys)


def list_to_tuple(xs: list) -> tuple:
    return tuple(xs)


def set_add(s: set, x: Any) -> None:
    s.add(x)


def set_update(s: set, xs: Any) -> None:
    s.update(xs)


def map_add(d: dict, k: Any, v: Any) -> None:
    d[k] = v


def dict_update(d: dict, other: Any) -> None:
    """`{**other}` inside a dict display."""
    if not hasattr(other, "keys"):
        raise TypeError(f"{type(other).__name__!r} object is not a mapping")
    d.update(other)


def dict_merge(d: dict, other: Any) -> None:
    """`f(**other)`: as dict_update, but a repeated key is a TypeError."""
    if not hasattr(other, "keys"):
        raise TypeError(f"argument after ** must be a mapping, not {type(other).__name__}")
    as_dict = isinstance(other, dict) and type(other).__iter__ is dict.__iter__  # then its brackets are not asked
    for k in dict.keys(other) if as_dict else other.keys():
        if k in d:
            raise TypeError(f"got multiple values for keyword argument {k!r}")
        d[k] = dict.__getitem__(other, k) if as_dict else other[k]


# -- taking apart -----------------------------------------------------------------------------------------


def unpack(xs: Any, n: int) -> tuple:
    """`a, b = xs` as a tuple of exactly n items; the items are read from it by `operator.getitem`."""
    cls = type(xs)
    out = tuple(xs) if cls is tuple or cls is list else tuple(itertools.islice(xs, n + 1))
    if len(out) != n:
        check_length(out, n)
    return out


def check_unchanged(d: Any, n: int) -> None:
    """Raise what iterating over a deque or a set raises when it has changed."""
    if len(d) != n:
        what = "Set changed size" if isinstance(d, set) else "deque mutated"
        raise RuntimeError(f"{what} during iteration")


def check_fields(cls: Any, xs: Any, whole: bool, beside: int = 0) -> None:
    """Raise what `cls(*xs)` (or with arguments `beside` it) or `cls._make(xs)` raises where xs are not as many as the
    named tuple has fields."""
    if len(xs) + beside != len(cls._fields):
        cls._make(xs) if whole else cls(*[None] * beside, *xs)


def check_arguments(code: CodeType, xs: Any, n: int) -> None:
    """Raise what the call of a function raises that is given xs where it takes n, behind those it is bound to."""
    if len(xs) != n:
        cells = tuple([CellType() for _ in code.co_freevars])
        FunctionType(code, {}, None, None, cells)(*[None] * (code.co_argcount - n), *xs)


def check_least(xs: Any, n: int) -> None:
    """Raise what `a, *b, c = xs` raises where there are fewer than n."""
    if len(xs) < n:
        raise ValueError(f"not enough values to unpack (expected at least {n}, got {len(xs)})")


def unpack_ex(xs: Any, before: int, after: int) -> tuple:
    """`a, *b, c = xs` as a tuple of before + 1 + after items, the middle one a list.

    An iterator gives the first ones; the others are in a list of that, which is asked for an iterator again.
    """
    it = iter(xs)
    first: list[Any] = []
    while len(first) < before:
        x = next(it, UNBOUND)
        if x is UNBOUND:
            check_least(first, before + after)
        first.append(x)
    rest = list(it)
    cut = len(rest) - after
    if cut < 0:
        check_least(first + rest, before + after)
    return (*first, rest[:cut], *rest[cut:])


def check_length(xs: Any, n: int) -> None:
    """Raise what unpacking xs into n names would raise."""
    if len(xs) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    if len(xs) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(xs)})")


def getslice(x: Any, start: Any, stop: Any) -> Any:
    return x[start:stop]


def setslice(x: Any, start: Any, stop: Any, value: Any) -> None:
    x[start:stop] = value


# -- formatting -------------------------------------------------------------------------------------------


def format_value(x: Any, spec: str, conversion: int) -> str:
    """One `{x!r:spec}` of an f-string; conversion is 0 (none), 1 (str), 2 (repr) or 3 (ascii)."""
    x = (x, str(x), repr(x), ascii(x))[conversion] if conversion else x
    return format(x, spec)


# -- calls ------------------------------------------------------------------------------------------------


def call_ex(f: Any, args: Any, kwargs: Any) -> Any:
    """`f(*args, **kwargs)`; kwargs is None when there is none."""
    return f(*args, **kwargs) if kwargs is not None else f(*args)


# -- names ------------------------------------------------------------------------------------------------


def load_global(name: str) -> Any:
    """A global, else a builtin, of the function the code belongs to."""
    _in_frame("load_global")


def store_global(name: str, value: Any) -> None:
    _in_frame("store_global")


def delete_global(name: str) -> None:
    _in_frame("delete_global")


def load_name(name: str) -> Any:
    """Class and module bodies: a local of the namespace, else a global, else a builtin."""
    _in_frame("load_name")


def store_name(name: str, value: Any) -> None:
    _in_frame("store_name")


def delete_name(name: str) -> None:
    _in_frame("delete_name")


def load_locals() -> Any:
    _in_frame("load_locals")


def load_dict_or_global(namespace: Any, name: str) -> Any:
    """A name of an annotation scope: the class namespace first, then globals and builtins."""
    _in_frame("load_dict_or_global")


def setup_annotations() -> None:
    """Make `__annotations__` exist in the namespace of a class or module body."""
    _in_frame("setup_annotations")


def load_build_class() -> Any:
    _in_frame("load_build_class")


def load_assertion_error() -> Any:
    return AssertionError


def import_name(name: str, fromlist: Any, level: int) -> Any:
    _in_frame("import_name")


def import_from(module: Any, name: str) -> Any:
    _in_frame("import_from")


def import_star(module: Any) -> None:
    _in_frame("import_star")


def check_bound(x: Any, name: str) -> Any:
    """x itself, or UnboundLocalError where it is UNBOUND."""
    if x is UNBOUND:
        raise UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")
    return x


# -- cells and functions ----------------------------------------------------------------------------------


def make_cell(x: Any) -> CellType:
    """A new cell holding x, empty when x is UNBOUND."""
    return CellType() if x is UNBOUND else CellType(x)


def cell_get(cell: CellType, name: str) -> Any:
    """The content; NameError where it is empty (UnboundLocalError for the frame's own variables)."""
    try:
        return cell.cell_contents
    except ValueError:
        raise NameError(
            f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
        ) from None


def cell_set(cell: CellType, x: Any) -> None:
    cell.cell_contents = x


def cell_delete(cell: CellType, name: str) -> None:
    cell_get(cell, name)
    del cell.cell_contents


def classderef(cell: CellType, name: str) -> Any:
    """A name of a class body: its namespace first, then the cell."""
    _in_frame("classderef")


def load_dict_or_deref(namespace: Any, cell: CellType, name: str) -> Any:
    """A name of an annotation scope: the class namespace first, then the cell."""
    return namespace[name] if name in namespace else cell_get(cell, name)


def make_function(code: Any, defaults: Any, kwdefaults: Any, annotations: Any, closure: Any) -> Any:
    """A function over the frame's globals; closure is a tuple of cells or None, the others may be None."""
    _in_frame("make_function")


# -- truth, special methods -------------------------------------------------------------------------------


def truth(x: Any) -> bool:
    """`bool(x)` as a branch does it."""
    return bool(x)


def not_reached() -> NoReturn:
    """Stands where code is known not to come to: after a call that is seen to raise, an item of an empty container.

    That it is reached shows that something was written where that was not seen, so a derivative would be lost.
    """
    hint = "pass the object as an argument, or return what you would store"
    raise UnsupportedError("reading what code that is not seen has stored in an object", "the function", None, hint)


def no_operator(op: Any, a: Any, b: Any) -> Any:
    """What an operator is for objects whose methods all said NotImplemented: TypeError, or for `==` identity."""
    if op is operator.eq:
        return a is b
    kinds = f"'{type(a).__name__}' and '{type(b).__name__}'"
    if op in _COMPARISONS:
        raise TypeError(f"'{_COMPARISONS[op]}' not supported between instances of {kinds}")
    raise TypeError(f"unsupported operand type(s) for {_SYMBOLS.get(op, op.__name__)}: {kinds}")


def said(name: str, y: Any, x: Any) -> Any:
    """What Python makes of what a special method of x has given: it converts that, or raises TypeError."""
    ask, cls = _ASKED[name]
    if type(y) is cls and (cls is not int or name == "__int__"):
        return y
    return ask(type(type(x).__name__, (), {name: lambda self, *_: y})())


_ASKED: dict[str, tuple[Any, type]] = {
    "__bool__": (bool, bool), "__len__": (len, int), "__contains__": (lambda x: None in x, bool),
    "__hash__": (hash, int), "__int__": (int, int), "__index__": (operator.index, int), "__float__": (float, float),
    "__complex__": (complex, complex), "__str__": (str, str), "__repr__": (repr, str), "__format__": (format, str),
}  # fmt: skip
"""What asks for a special method, and the class that its result should be of: -1 is no hash, and no length."""
_COMPARISONS = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="}
_SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "** or pow()", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^",
}  # fmt: skip


def put_back(x: Any, name: str, old: Any) -> None:
    """Set an attribute to what it was before it was set."""
    setattr(x, name, old)


def put_back_item(x: Any, i: Any, old: Any) -> None:
    """Set an item to what it was before it was set."""
    x[i] = old


def put_back_last(xs: list, x: Any) -> None:
    """Append what was taken from a list's end."""
    xs.append(x)


def load_super(super_type: Any, cls: Any, self: Any, name: str) -> Any:
    """`super(cls, self).name`; super_type is what the name `super` means there."""
    return getattr(super_type(cls, self), name)


def load_special(x: Any, name: str) -> Any:
    """`type(x).name` bound to x, as `with` looks up `__enter__` and `__exit__`."""
    method = getattr(type(x), name, None)
    if method is None:
        raise TypeError(f"{type(x).__name__!r} object does not support the context manager protocol")
    return method.__get__(x, type(x))


# -- exceptions (only inside handlers) --------------------------------------------------------------------


def push_exc_info(exc: BaseException) -> Any:
    """Make exc the exception being handled; the result is a token for `pop_except`."""
    _in_frame("push_exc_info")


def pop_except(token: Any) -> None:
    _in_frame("pop_except")


def exc_match(exc: BaseException, kinds: Any) -> bool:
    """Does `except kinds` catch exc?"""
    return isinstance(exc, kinds)


def exc_group_match(exc: BaseException, kinds: Any) -> tuple[BaseException | None, BaseException | None]:
    """What `except* kinds` leaves of exc for others, and what it catches: a group, or None."""
    return exception_groups.parted(exc, kinds)


def part_of_group(exc: BaseException | None) -> BaseException | None:
    """What `except*` has found in an exception, which may bring values with derivatives."""
    return exc


def raised_again(exc: BaseException, raised: list) -> BaseException | None:
    """What is raised at the end of the handlers of exc with `except*`: what they raised themselves, what is left."""
    return exception_groups.put_together(exc, raised)


# -- patterns ---------------------------------------------------------------------------------------------


MATCH_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def match_class(subject: Any, cls: Any, n_positional: int, names: Any) -> Any:
    """The tuple of matched attributes, or None."""
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    values: tuple[Any, ...] = ()  # not a list, whose items would all be of one type
    if n_positional:
        given = getattr(cls, "__match_args__", ())
        if not given and n_positional == 1 and issubclass(cls, MATCH_THEMSELVES):
            values = (subject,)
        elif n_positional > len(given):
            raise TypeError(f"{cls.__name__}() accepts {len(given)} positional sub-patterns ({n_positional} given)")
        else:
            names = (*given[:n_positional], *names)
    for name in names:
        if not hasattr(subject, name):
            return None
        values = (*values, getattr(subject, name))
    return values


def match_mapping(x: Any) -> bool:
    return isinstance(x, Mapping)


def match_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray))


def match_keys(subject: Any, keys: Any) -> Any:
    """The tuple of values, or None."""
    values = []
    for i, k in enumerate(keys):
        if k in keys[:i]:
            raise ValueError(f"mapping pattern checks duplicate key ({k!r})")
        v = subject.get(k, UNBOUND)
        if v is UNBOUND:
            return None
        values.append(v)
    return tuple(values)


# -- generators -------------------------------------------------------------------------------------------


def yield_(value: Any) -> Any:
    """Suspend with value; the result is what `send` brought."""
    _in_frame("yield_")


def get_yield_from_iter(x: Any) -> Any:
    """The iterator that `yield from x` drives."""
    _in_frame("get_yield_from_iter")


def yield_from(iterator: Any) -> Any:
    """Drive the iterator to its end, passing on what `send`, `throw` and `close` bring; its return value."""
    _in_frame("yield_from")


# -- typing ------------------------------------------------------------------------------------------------


def intrinsic(name: str, *args: Any) -> Any:
    """An operation of the interpreter without a function: type parameters and aliases (`INTRINSIC_` + name)."""
    _in_frame("intrinsic")


# -- engine only (made by the transform, never by the frontend) -------------------------------------------


def push(stack: list, x: Any) -> None:
    """Append to a comms or block stack."""
    stack.append(x)


def backwards(stack: list) -> Any:
    """The iterator over a stack from its last entry to its first; the stack stays as it is."""
    return reversed(stack)


def pull(iterator: Any) -> Any:
    """The next entry of a `backwards` iterator, which has one."""
    return next(iterator)


# -- what the operations may do ---------------------------------------------------------------------------

NEVER_RAISES = frozenset(
    {
        operator.is_,
        operator.is_not,
        build_tuple,
        build_list,
        build_string,
        list_append,
        list_to_tuple,
        load_assertion_error,
        load_locals,
        make_cell,
        cell_set,
        make_function,
        slice,
        push_exc_info,
        pop_except,
        match_mapping,
        match_sequence,
    }
)
"""The callables whose calls in normalised code cannot raise, so they do not end a block of a protected region."""
