"""Values that are one of several types, where what is done with them depends on which.

Such an operation becomes one for each option (`transform/split.py`), each behind a test that is made when it runs: a
list of objects of several classes, an accumulator that starts as a number and becomes an array, a variable that may
be None. The tests are made, so nothing here is a promise that has to be kept.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.fields import get_dict, get_field, get_number, no_attribute
from mooncake_py.hashing import hashable
from mooncake_py.infer.codes import is_generic
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.readers import is_passed_whole, may_come_back
from mooncake_py.infer.resolve import attribute, class_of, result_type
from mooncake_py.infer.types import (
    BOT,
    REAL,
    Bot,
    Kind,
    Known,
    Lst,
    Meth,
    Obj,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    join,
    kind_of,
    union,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Operand, Var
from mooncake_py.iterators import tuple_as_list

if TYPE_CHECKING:
    from mooncake_py.infer.protocol import Classes
    from mooncake_py.infer.state import State

RAISES = "raises"
MOST_OPTIONS = 16  # of all operands of one call together
MOST_SPLITS = 64  # operations of one function that are made into several
_ITERATES = frozenset({iter, zip, enumerate, reversed, next, map, filter})


@dataclass(frozen=True, slots=True)
class Split:
    """An operation on `value`, once for each of the kinds that are tested for and once for all others.

    With `name`, the callee is the method of this name of `value`, which is read from it again where its class is known.
    """

    value: Var
    tested: tuple[Kind, ...]
    name: Operand | None = None
    chain: tuple[Call, ...] = ()  # what gives the callee for the class of `value`, to be found out for each


def split_of(state: State, s: Call, info: CallInfo) -> Split | Plan | None:
    """How an operation that is not known by its types is known for each option of one operand; None if it is not."""
    fn = state.type_of(s.fn)
    if (asked := asked_by_class(state, s)) is not None:
        split = _tested(state, asked[0])
        return None if split is None else replace(split, chain=asked[1])
    if isinstance(fn, Union):
        method = fn.options[0]
        if isinstance(method, Meth):
            same = all(isinstance(x, Meth) and x.sites == method.sites for x in fn.options)
            if same and method.is_read_as(s.fn):
                return _tested(state, method.site.args[0], method.site.args[1])
        return _tested(state, s.fn)
    for v, t in zip(s.args, gone_over(fn.value, info.types) if isinstance(fn, Known) else (), strict=False):
        if isinstance(t, Union) and any(map(state.gives_no_items, t.options)):
            return _tested(state, v)
    if isinstance(fn, Known) and hashable(fn.value) and fn.value in _ITERATES - {next}:
        for i, t in enumerate(info.types):  # tuples of several lengths, or a list: a loop is over one list of the items
            if isinstance(t, Union) and (way := _as_one_list(t)) is not None:
                return Plan(way, (s.args[i],), argument=i)
    if not isinstance(fn, (Known, Meth, Obj, Tup)) or (isinstance(fn, Known) and _is_decided_elsewhere(fn.value, info)):
        return None
    generic = isinstance(fn, Known) and is_generic(fn.value)
    for v in (*info.args, *[x for _, x in info.kwargs], *s.args):
        t = state.type_of(v)
        if isinstance(t, Union) and (info.why != "call" or generic or not is_passed_whole(t)):
            return _tested(state, v)
    return None


def split_of_receiver(state: State, m: Meth) -> Split | None:
    """How a method in C of what is of one of several types, the others of which have none, becomes one of that type."""
    if state.classes is None or state.shape.splits >= MOST_SPLITS or not is_const(m.site.fn, getattr):
        return None
    return None if isinstance(m.func, FunctionType) else _tested(state, m.site.args[0], m.site.args[1])


def asked_by_class(state: State, s: Call) -> tuple[Var, tuple[Call, ...]] | None:
    """The value that is of one of several classes by whose name the callee is found, and the statements that find it:
    `getattr(self, "visit_" + type(node).__name__)(node)`; None where it is not so."""
    named = state.shape.defs.get(s.fn) if isinstance(s.fn, Var) else None
    if named is None or state.type_of(named.fn) != Known(getattr):
        return None
    return _by_class(state, s, s.fn)


def is_found_by_class(state: State, getting: Call) -> bool:
    """Does an attribute's name depend on the class of a value that is of one of several?"""
    return _by_class(state, getting, getting.args[1]) is not None


def _by_class(state: State, s: Call, name: Operand) -> tuple[Var, tuple[Call, ...]] | None:
    at = next((b for b in state.shape.fn.blocks if s in b.stmts), None)
    if at is None:
        return None
    made = {x.out: x for x in at.stmts[: at.stmts.index(s)] if not x.kwargs}
    chain: list[Call] = []
    values: set[Var] = set()
    work: list[Operand] = [name]
    while work:
        v = work.pop()
        x = made.get(v) if isinstance(v, Var) else None
        if x is None or x in chain:
            continue
        if (asked := _asked_for_class(state, x)) is not None:
            values.add(asked)
        elif _is_named(state, x):
            work += x.operands()
        else:
            continue
        chain.append(x)
    return (values.pop(), tuple([x for x in at.stmts if x in chain])) if len(values) == 1 else None


def _asked_for_class(state: State, x: Call) -> Var | None:
    """The value of one of several classes that is asked for its class here."""
    f = state.type_of(x.fn)
    asks = (f == Known(type) and len(x.args) == 1) or (f == Known(getattr) and is_const(x.args[1], "__class__"))
    v = x.args[0] if asks else None
    t = state.type_of(v) if isinstance(v, Var) else None
    return v if isinstance(v, Var) and isinstance(t, Union) and all(isinstance(o, Obj) for o in t.options) else None


def _is_named(state: State, x: Call) -> bool:
    """Is this a part of finding an attribute by a name that is put together?"""
    f = state.type_of(x.fn)
    if isinstance(f, Meth):
        return f.func in TEXT_METHODS
    return isinstance(f, Known) and hashable(f.value) and f.value in (getattr, *MAKE_TEXT)


TEXT_METHODS = frozenset({str.lower, str.upper, str.title, str.capitalize, str.replace, str.strip})
MAKE_TEXT = frozenset({operator.add, operator.mod, str, ops.format_value, ops.build_string})


def _as_one_list(t: Union) -> Any:
    """What makes a list, to be walked, of what is a tuple or a list; None for anything else."""
    kinds = {(type(x), x.cls) for x in t.options if isinstance(x, (Tup, Lst))}
    if any(not isinstance(x, (Tup, Lst)) for x in t.options) or not kinds <= {(Tup, tuple), (Lst, list)}:
        return None
    return list if (Lst, list) not in kinds else tuple_as_list


def gone_over(f: Any, types: tuple[T, ...]) -> tuple[T, ...]:
    """The types of the arguments, the first ones, that f makes an iterator over, asking for nothing but their items."""
    if f is zip:
        return types
    return types[:1] if f is enumerate or (f is iter and len(types) == 1) else ()


def _is_decided_elsewhere(f: Any, info: CallInfo) -> bool:
    """Is this a call that is decided in the callee, or one that a loop is made of?

    One that may call itself has a rule for each type that it is given.
    """
    if info.why == "call":
        elsewhere = type(f) is not FunctionType or is_library(f) or not may_come_back(f)
        return elsewhere and not is_generic(f)
    return hashable(f) and f in _ITERATES


def _tested(state: State, v: Operand, name: Operand | None = None) -> Split | None:
    t = state.type_of(v)
    if not isinstance(t, Union) or not isinstance(v, Var):
        return None
    kinds = [k for k in map(kind_of, t.options) if k is not None]
    if any(k[0] == "method" and k[2] is not None for k in kinds):
        return None
    if NOTHING in kinds:
        return Split(v, (NOTHING,), name)
    kinds.sort(key=REAL.__eq__)  # a real number is of no one class
    return Split(v, tuple(kinds[:-1]), name)


def attribute_of_any(classes: Classes, s: Call, x: Operand, t: Union, name: str) -> tuple[T, Any] | None:
    """As `Classes.read`, of an object that is one of several and gives the attribute in the same way; else None.

    Reading it of None or a number, which have none of that name, raises as it stands.
    """
    found = []
    for o in t.options:
        if has_no(o, name):
            continue
        read = classes.read(s, x, o, name) if isinstance(o, Obj) else _native_method(s, o, name)
        if read is None:
            return None
        found.append(read)
    if not found:
        return None
    types, ways = [a for a, _ in found], {how for _, how in found}
    if len(found) == 1 and isinstance(m := types[0], Meth) and m.owner is None and not isinstance(m.func, FunctionType):
        return m, None
    if ways == {None} and len(types) == len(t.options) and all(isinstance(m, Meth) and m.owner is None for m in types):
        return union(types), None
    if not (ways <= {getattr, get_number, get_field} or ways <= {getattr, get_dict}):
        return None
    held = union(types)
    if get_dict in ways:
        return held, get_dict
    if len(ways) > 1:
        ways = {get_number if is_scalar(held) else get_field}
    return held, ways.pop()


def _native_method(s: Call, t: T, name: str) -> tuple[T, None] | None:
    """A method of a number or array, as `attribute_of_any` has those of objects."""
    found = attribute(widen(t), name, s)
    return (found[0], None) if found is not None and found[1] is None and isinstance(found[0], Meth) else None


def has_no(t: T, name: str) -> bool:
    """Have the values of a type, which are of one of Python's or NumPy's own classes, no such attribute?"""
    cls = _exact(t)
    return cls in _WITHOUT_DICT and not hasattr(cls, name)


def _exact(t: T) -> type | None:
    return type(None) if t == Known(None) else class_of(t)


_FIXED = frozenset({int, float, complex, bool, str, tuple, list, dict, type(None)})
"""Classes of which no object's attribute can be set."""
_WITHOUT_DICT = _FIXED | {np.ndarray, np.float64}
NOTHING: Kind = ("is", None)


def refuses(f: Any, types: tuple[T, ...]) -> bool:
    """Does f surely raise, being given None, a number for a container, a tuple that is too short, or surely not run,
    given what is not set yet?

    A list in which something may be a list or a number is often one of lists: it was not yet known which of two lists
    the number was put into.
    """
    if f is None:
        return True
    if not hashable(f):
        return False
    if f is no_attribute:
        return True
    if f in _OF_SOMETHING and types[:1] in (_ONLY_NONE, _NOT_SET):
        return True
    match types:
        case (Tup(items=items, cls=cls), Known(value=int() as n)) if cls is tuple:
            if (f is operator.getitem and not -len(items) <= n < len(items)) or (f is ops.unpack and n != len(items)):
                return True
    if f in _OF_MATRICES:
        operands = {_exact(widen(t)) for t in types}
        return not operands.isdisjoint(_SCALARS) and operands <= _ARRAYS_AND_NUMBERS
    if f in _BY_NAME and len(types) > 1:
        name = _exact(types[1] if types[1] == Known(None) else widen(types[1]))
        if name in _NO_INDEX - {str} or name in _NUMBERS:
            return True
    if f in _BY_INDEX and len(types) > 1 and _exact(widen(types[0])) in (list, tuple):
        if _exact(types[1] if types[1] == Known(None) else widen(types[1])) in _NO_INDEX:
            return True
    if f in OF_REALS:
        return any(t == Known(None) or _exact(widen(t)) in _NO_REALS for t in types)
    if f in _OF_CONTAINERS:
        return bool(types) and _exact(widen(types[0])) in _NUMBERS
    if f in _OF_ITEMS:
        return bool(types) and _exact(widen(types[0])) in _SCALARS
    if f is ops.call_ex:
        return types[1:2] == (Known(None),)  # f(*None)
    if f is setattr or f is delattr:
        return bool(types) and _exact(types[0]) in _FIXED
    if f not in _ARITHMETIC or len(types) != 2:
        return False
    if types[:1] == _NOT_SET:
        return True
    first, second = (_exact(widen(t)) for t in types)
    classes = {first, second}
    if object in classes and classes <= {object, *_CONTAINERS, *_NUMBERS}:
        return True
    if classes <= _CONTAINERS and not (f is operator.iadd and first is list):  # a list takes the items of all
        return f not in _OF_SEQUENCES or len(classes) > 1 or first is dict
    if not classes.isdisjoint(_CONTAINERS) and not classes.isdisjoint(_NUMBERS):
        return f not in _TIMES or classes.isdisjoint({int, bool})
    kinds = [kind_of(widen(t)) for t in types]
    return NOTHING in kinds and all(
        k in (NOTHING, REAL, ("a", np.ndarray)) or c in _CONTAINERS for k, c in zip(kinds, (first, second), strict=True)
    )


def of_each_option(f: Any, types: tuple[T, ...], kwargs: tuple[tuple[str, T], ...]) -> T:
    """What a call gives that nothing is differentiated of, for whichever of its types each operand is of.

    It may come to have a derivative when more is known, and is one call for each option then.
    """
    options = [t.options if isinstance(t, Union) else (t,) for t in types]
    if not 1 < math.prod(map(len, options)) <= MOST_OPTIONS:
        return Top()
    found: T = BOT
    for given in itertools.product(*options):
        if not refuses(f, given):
            match f, given:
                case ops.unpack, (Tup(items=items), _):
                    found = join(found, Tup(items))
                case operator.getitem, (Tup(items=items), Known(value=int() as i)):
                    found = join(found, items[i])
                case _:
                    found = join(found, result_type(f, given, kwargs))
    return Top() if isinstance(found, Bot) else found


_ONLY_NONE, _NOT_SET = (Known(None),), (Known(ops.UNBOUND),)
_OF_SOMETHING = frozenset({operator.getitem, operator.setitem, operator.delitem, operator.neg, abs, len, iter, float})
_OF_SOMETHING |= {ops.unpack, ops.unpack_ex}
_OF_CONTAINERS = frozenset({operator.getitem, operator.setitem, operator.delitem, len, iter, ops.unpack, ops.unpack_ex})
_OF_ITEMS = frozenset({sum, sorted, list, tuple, set, frozenset, any, all, enumerate, reversed, zip})
_BY_NAME = frozenset({getattr, setattr, delattr, hasattr})
_BY_INDEX = frozenset({operator.getitem, operator.setitem, operator.delitem})
_NO_INDEX = frozenset({float, complex, str, tuple, list, dict, type(None)})
"""Classes of what lists and tuples have no item by; nor have objects attributes, but by a str."""
_NUMBERS = frozenset({int, float, complex, bool})
_SCALARS = _NUMBERS | {np.float64, np.complex128}
_ARRAYS_AND_NUMBERS = _SCALARS | {np.ndarray}
_OF_MATRICES = frozenset({operator.matmul, np.matmul})
_CONTAINERS = frozenset({list, tuple, dict})
_NO_REALS = _CONTAINERS | {str}
OF_REALS = frozenset(
    {
        *(math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.atan2, math.sinh, math.cosh, math.tanh),
        *(math.exp, math.expm1, math.log, math.log1p, math.log2, math.log10, math.sqrt, math.fabs, math.pow),
    }
)
_TIMES = frozenset({operator.mul, operator.imul})
_OF_SEQUENCES = (operator.add, operator.iadd, operator.lt, operator.le, operator.gt, operator.ge)
"""What there is for two of a kind."""
_ARITHMETIC = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod, operator.floordiv),
        *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow),
        *(operator.lt, operator.le, operator.gt, operator.ge),
    }
)
