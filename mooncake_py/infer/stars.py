"""`f(*xs)` of a list or array whose length is not known, where f takes one number of arguments: xs has that many."""

from __future__ import annotations

from inspect import CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from mooncake_py.infer.held import is_library
from mooncake_py.infer.lookup import Lookup, is_function
from mooncake_py.infer.parts import many
from mooncake_py.infer.protocol import MADE, Plan
from mooncake_py.infer.types import Arr, Bot, Fn, Known, Lst, Many, Meth, Obj, T, is_scalar
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand
from mooncake_py.registry import is_declared
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
        of_numbers = OF_NUMBERS.get(f.value) if type(f.value).__hash__ is not None else None
        if of_numbers is not None:
            return Plan(Const(of_numbers), (xs,))
    if not isinstance(t, (Arr, Lst)) or (isinstance(t, Arr) and not t.fewest) or not is_const(kwargs, None):
        return None
    code = _code_of(f)
    if code is None or isinstance(f, Bot):
        return None
    bound = 1 if isinstance(f, Meth) or (isinstance(f, Known) and isinstance(f.value, type)) else 0
    return Plan(callee, (), spread=(xs, code, code.co_argcount - bound))


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


def _code_of(t: T) -> CodeType | None:
    """What a call of such a function, method or class runs, where that takes no more and no fewer arguments."""
    if isinstance(t, Fn):
        plain = all(is_const(v, None) for s in t.sites for v in s.args[1:3])
        return t.code if plain and _is_exact(t.code) else None
    f = t.func if isinstance(t, Meth) else t.value if isinstance(t, Known) else None
    if isinstance(f, type):
        made = is_user_class(f) and Lookup(f).get("__new__", None) is object.__new__
        f = Lookup(f).get("__init__", None) if made else None
    if not isinstance(f, FunctionType) or f.__defaults__ or f.__kwdefaults__:
        return None
    return f.__code__ if _is_exact(f.__code__) else None


def _is_exact(code: CodeType) -> bool:
    return not code.co_kwonlyargcount and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
