"""Calls of functions that were made here, and of methods that were bound here, which come from elsewhere by now: out
of a list, by another name.

Their type says by which statement they were made, so that what is in their cells, what their default values are and
the object they are bound to has a type, and their code can be taken in (`transform/held_functions.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from typing import TYPE_CHECKING

from mooncake_py.closures import cell_of, receiver_of
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import FRAME_NAMES
from mooncake_py.infer.lookup import is_function
from mooncake_py.infer.types import BOT, Bot, Fn, Known, Meth, Obj, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand

if TYPE_CHECKING:
    from mooncake_py.infer.state import State

MOST_STATEMENTS = 80  # of a function that is taken in
MOST_TOTAL = 1500  # of a function that others are taken into
MOST_NESTED = 8
_OTHER_KINDS = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True)
class Held:
    """A call of such a function, of this type, that is to be taken in."""

    type: Fn | Meth
    defaults: int = 0  # how many a function has


def held(state: State, fn: Fn, s: Call) -> Held | None:
    """How a call of such a function is to be taken in; None where it is not, or is one of a function in sight."""
    made = state.shape.defs.get(s.fn)  # type: ignore[arg-type]
    code = fn.code
    if (made is not None and is_const(made.fn, ops.make_function)) or code.co_flags & _OTHER_KINDS:
        return None
    if s.kwargs or code.co_kwonlyargcount or not FRAME_NAMES.isdisjoint(code.co_names):
        return None
    if code.co_name in code.co_freevars or len(s.pos.calls("")) > MOST_NESTED:
        return None
    missing = code.co_argcount - len(s.args)
    defaults = state.type_of(fn.site.args[1])
    n = len(defaults.items) if isinstance(defaults, Tup) else 0
    if not 0 <= missing <= n:
        return None
    if not (code.co_freevars or missing):
        return None
    if sum(len(b.stmts) for b in state.shape.fn.blocks) > MOST_TOTAL:
        return None
    try:
        body = normalise(code)
    except UnsupportedError:
        return None
    if sum(len(b.stmts) for b in body.blocks) > MOST_STATEMENTS:
        return None
    return None if any(is_const(x.fn, ops.load_build_class) for b in body.blocks for x in b.stmts) else Held(fn, n)


def held_method(state: State, m: Meth) -> Held | None:
    """The same for a method of an object of a known class."""
    of_object = m.owner is None and is_function(m.func) and is_const(m.site.fn, getattr)
    return Held(m) if of_object and isinstance(state.type_of(m.site.args[0]), Obj) else None


def type_held(state: State, f: object, types: tuple[T, ...]) -> T:
    """The type of what `cell_of`, `default_of` or `receiver_of` read of a function or method of this type."""
    t = types[0]
    if isinstance(t, Bot):
        return BOT
    if f is receiver_of:
        return state.type_of(t.site.args[0]) if isinstance(t, Meth) else Top(True)
    i = types[1]
    if not isinstance(t, Fn) or not isinstance(i, Known):
        return Top(True)
    whole: Operand = t.site.args[4] if f is cell_of else t.site.args[1]
    items = state.type_of(whole)
    if isinstance(items, Known) and isinstance(whole, Const):
        return Known(items.value[i.value])
    return items.items[i.value] if isinstance(items, Tup) else BOT if isinstance(items, Bot) else Top(True)
