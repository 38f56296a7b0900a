"""`f(*xs)` of a list or array whose length is not known, where f takes one number of arguments: xs has that many."""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from mooncake_py.infer.lookup import Lookup, is_function
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.types import Arr, Bot, Fn, Known, Lst, Meth, Obj, T
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call
from mooncake_py.structure import is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.state import State


def spread_out(state: State, s: Call) -> Plan | None:
    """The call of `call_ex` with the items as arguments; None where it is not known how many there are to be."""
    callee, xs, kwargs = s.args
    t, f = state.type_of(xs), state.type_of(callee)
    if isinstance(t, Obj) and is_function(Lookup(t.cls).get("__iter__", None)) and is_const(kwargs, None):
        return Plan(list, (xs,), argument=1)
    if not isinstance(t, (Arr, Lst)) or (isinstance(t, Arr) and not t.fewest) or not is_const(kwargs, None):
        return None
    code = _code_of(f)
    if code is None or isinstance(f, Bot):
        return None
    bound = 1 if isinstance(f, Meth) or (isinstance(f, Known) and isinstance(f.value, type)) else 0
    return Plan(callee, (), spread=(xs, code, code.co_argcount - bound))


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
