"""`f(*xs)` and `f(a, *xs)` of a list or array whose length is not known, where f takes one number of arguments: xs has
as many as are left."""

from __future__ import annotations

from inspect import CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from mooncake_py.hashing import hashable
from mooncake_py.infer.held import is_library
from mooncake_py.infer.lookup import Lookup, is_function
from mooncake_py.infer.named import takes_all
from mooncake_py.infer.parts import many
from mooncake_py.infer.protocol import MADE, Plan, Spread
from mooncake_py.infer.types import Arr, Bot, Fn, Known, Lst, Many, Meth, Obj, T, Tup, is_scalar
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.registry import is_declared, is_pure
from mooncake_py.structure import is_user_class
from mooncake_py.tuples import OF_NUMBERS

if TYPE_CHECKING:
    from mooncake_py.infer.state import State


def spread_out(state: State, s: Call) -> Plan | None:
    """The call of `call_ex` with the items as arguments; None where it is not known how many there are to be."""
    callee, xs, kwargs = s.args
    t, f = state.type_of(xs), state.type_of(callee)
    if isinstance(t, Obj) and is_function(Lookup(t.cls).get("__iter__", None)) and is_const(kwargs, None):
        return Plan(list, (xs,), argument=1)
    rest = code_of_rest(f) if is_const(kwargs, None) else None
    if rest is not None and isinstance(t, Lst):
        return Plan(tuple, (xs,), argument=1) if isinstance(many(t.elem), Many) else None
    if rest is not None and isinstance(t, Many):
        return _with_rest_given(rest, f, xs)
    if isinstance(f, Known) and isinstance(t, Lst) and is_scalar(t.elem) and is_const(kwargs, None):
        of_numbers = OF_NUMBERS.get(f.value) if hashable(f.value) else None
        if of_numbers is not None:
            return Plan(Const(of_numbers), (xs,))
    if not is_const(kwargs, None) or isinstance(f, Bot):
        return None
    if _has_any_length(t):
        taken = _taken_by(f)
        return None if taken is None else Plan(callee, (), spread=Spread(xs, *taken))
    spread = None if isinstance(t, (Tup, Known)) else _between_others(state, s)
    return None if spread is None else Plan(callee, (), spread=spread)


def _has_any_length(t: T) -> bool:
    return isinstance(t, Lst) or (isinstance(t, Arr) and bool(t.fewest))


def _between_others(state: State, s: Call) -> Spread | None:
    """The arguments of `f(a, *xs, b)`, one of which is starred; None for other calls, or where a may change xs."""
    taken = _taken_by(state.type_of(s.args[0]), named=True)
    shape = state.shape
    d = shape.defs.get(s.args[1])  # type: ignore[arg-type]
    made = shape.defs.get(d.args[0]) if d is not None and is_const(d.fn, ops.list_to_tuple) else None  # type: ignore[arg-type]
    if taken is None or d is None or made is None or not is_const(made.fn, ops.build_list):
        return None
    stmts = shape.blocks[shape.block_of[s.out]].stmts
    if made not in stmts:
        return None
    before: list[Operand] = list(made.args)
    after: list[Operand] = []
    xs: Operand | None = None
    for x in stmts[stmts.index(made) + 1 : stmts.index(d)]:
        if x.args[:1] != (made.out,):
            if xs is not None and not _changes_nothing(state, x):
                return None
        elif is_const(x.fn, ops.list_append):
            (before if xs is None else after).append(x.args[1])
        elif not is_const(x.fn, ops.list_extend) or xs is not None or not _has_any_length(state.type_of(x.args[1])):
            return None
        else:
            xs = x.args[1]
    if xs is None or any(made.out in x.operands() for x in stmts[stmts.index(d) + 1 :]):
        return None
    spread = Spread(xs, *taken, tuple(before), tuple(after), d.out)
    return spread if spread.length >= 0 else None


def _changes_nothing(state: State, s: Call) -> bool:
    """Is this surely no call of a function of the user's, nor of one that writes, as far as is known by now?"""
    info = state.calls.get(s.out)
    state.read += [v for v in s.operands() if isinstance(v, Var)]  # what it is follows from their types
    if info is None:
        return True
    if info.kind not in ("rule", "plain", "op"):
        return False
    reads = is_const(s.fn, getattr) or is_const(s.fn, ops.load_global)
    return reads or is_pure(info.target, len(s.args), [k for k, _ in s.kwargs])


def code_of_rest(t: T) -> FunctionType | None:
    """The function that a call of such a function, method or class runs, where that takes all arguments as `*args`."""
    f, bound = (t.func, 1) if isinstance(t, Meth) else (t.value if isinstance(t, Known) else None, 0)
    if isinstance(f, (FunctionType, type)) and is_declared(f):
        return None  # which a rule stands for
    if isinstance(f, type):
        made = is_user_class(f) and Lookup(f).get("__new__", None) is object.__new__
        f, bound = Lookup(f).get("__init__", None) if made else None, 1
    if not isinstance(f, FunctionType) or f.__closure__ is not None or is_library(f):
        return None
    code = f.__code__
    others = code.co_kwonlyargcount or code.co_flags & (CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE)
    return f if code.co_flags & CO_VARARGS and not others and code.co_argcount == bound else None


def _with_rest_given(rest: FunctionType, callee: T, xs: Operand) -> Plan | None:
    """The call with the tuple that its `*args` is."""
    if isinstance(callee, Meth):
        return None if callee.owner is not None else Plan(Const(_given(rest)), (callee.receiver, xs))
    assert isinstance(callee, Known)
    if isinstance(callee.value, type):
        return Plan(_given(rest), (MADE, xs), makes=callee.value)
    return Plan(Const(_given(rest)), (xs,))


_kept: dict[FunctionType, FunctionType] = {}


def _given(f: FunctionType) -> FunctionType:
    """A function like f whose `*args` is one argument."""
    if f not in _kept:
        if len(_kept) > MOST_KEPT:
            _kept.clear()
        code = f.__code__
        code = code.replace(co_argcount=code.co_argcount + 1, co_flags=code.co_flags & ~CO_VARARGS)
        _kept[f] = FunctionType(code, f.__globals__, f.__name__)
        _kept[f].__qualname__ = f.__qualname__
    return _kept[f]


MOST_KEPT = 1000


def _taken_by(t: T, named: bool = False) -> tuple[CodeType | type, int] | None:
    """What a call of such a function, method or class runs, where that takes no more and no fewer arguments, and how
    many; `named`: for a class of named tuples as well, which is what takes them."""
    if isinstance(t, Fn):
        plain = all(is_const(v, None) for s in t.sites for v in s.args[1:3])
        return (t.code, t.code.co_argcount) if plain and _is_exact(t.code) else None
    f, bound = (t.func, 1) if isinstance(t, Meth) else (t.value if isinstance(t, Known) else None, 0)
    if isinstance(f, type):
        if named and takes_all(f) and not is_declared(f):
            return f, len(f._fields)  # type: ignore[attr-defined]
        made = is_user_class(f) and Lookup(f).get("__new__", None) is object.__new__
        f, bound = Lookup(f).get("__init__", None) if made else None, 1
    if not isinstance(f, FunctionType) or f.__defaults__ or f.__kwdefaults__ or not _is_exact(f.__code__):
        return None
    return f.__code__, f.__code__.co_argcount - bound


def _is_exact(code: CodeType) -> bool:
    return not code.co_kwonlyargcount and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
