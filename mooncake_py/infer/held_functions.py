"""Calls of functions that were made here, and of methods that were bound here, which come from elsewhere by now: out
of a list, by another name.

Their type says by which statement they were made, so that what is in their cells, what their default values are and
the object they are bound to has a type, and their code can be taken in (`transform/held_functions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from typing import TYPE_CHECKING

from mooncake_py.closures import cell_of, receiver_of
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import sees_its_frame
from mooncake_py.infer.types import BOT, Bot, Fn, Known, Meth, Obj, T, Top, Tup, join
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.spelling import takes_others

if TYPE_CHECKING:
    from mooncake_py.infer.state import State

MOST_STATEMENTS = 80  # of a function that is taken in
MOST_TOTAL = 1500  # of a function that others are taken into
MOST_NESTED = 8
_OTHER_KINDS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True)
class Default:
    """A default value, by its place among those of positional parameters, which is read from the function."""

    at: int


@dataclass(frozen=True, slots=True)
class Held:
    """A call of such a function, of this type, that is to be taken in."""

    type: Fn | Meth
    args: tuple[Operand | Default, ...] = ()  # of a function: its parameters, and then what goes into *args, **kwargs
    rest: int = 0  # so many of them go into *args
    names: tuple[str, ...] = ()  # and those of these names into **kwargs


def held(state: State, fn: Fn, s: Call) -> Held | None:
    """How a call of such a function is to be taken in; None where it is not, or is one of a function in sight."""
    made = state.shape.defs.get(s.fn)  # type: ignore[arg-type]
    code = fn.code
    in_sight = made is not None and is_const(made.fn, ops.make_function)
    if code.co_flags & _OTHER_KINDS or sees_its_frame(code):
        return None
    if code.co_name in code.co_freevars or len(s.pos.calls("")) > MOST_NESTED:
        return None
    plan = in_order(state, fn, s, in_sight)
    if plan is None or (in_sight and plan.args == s.args and not plan.names and not code.co_flags & CO_VARKEYWORDS):
        return None  # it fits as it stands
    if not (in_sight or code.co_freevars or plan.args != s.args):
        return None
    if sum(len(b.stmts) for b in state.shape.fn.blocks) > MOST_TOTAL:
        return None
    try:
        body = normalise(code)
    except UnsupportedError:
        return None
    if sum(len(b.stmts) for b in body.blocks) > MOST_STATEMENTS:
        return None
    return None if any(is_const(x.fn, ops.load_build_class) for b in body.blocks for x in b.stmts) else plan


def in_order(state: State, fn: Fn, s: Call, in_sight: bool) -> Held | None:
    """The call with its arguments in the order of the parameters; None where they do not simply fit."""
    code, site = fn.code, fn.sites[0]
    n, rest = code.co_argcount, s.args[code.co_argcount :]
    if rest and not code.co_flags & CO_VARARGS:
        return None
    defaults = state.type_of(site.args[1])
    of_positional = defaults.items if isinstance(defaults, Tup) else getattr(defaults, "value", None) or ()
    first = n - len(of_positional)
    seen = _seen_defaults(state, site) if in_sight else {}
    keywords = dict(s.kwargs)
    args: list[Operand | Default] = list(s.args[:n])
    for i in range(len(args), n + code.co_kwonlyargcount):
        name = code.co_varnames[i]
        if name in keywords and i >= code.co_posonlyargcount:
            args.append(keywords.pop(name))
        elif name in seen:
            args.append(seen[name])
        elif first <= i < n and not in_sight:
            args.append(Default(i - first))
        else:
            return None
    if keywords and not takes_others(code, keywords):
        return None
    return Held(fn, (*args, *rest, *keywords.values()), len(rest), tuple(keywords))


def _seen_defaults(state: State, site: Call) -> dict[str, Operand]:
    """The default values of a function that is made in sight, by the names of the parameters."""
    code, defaults, named = site.args[:3]
    assert isinstance(code, Const)
    positional = code.value.co_varnames[: code.value.co_argcount]
    found: dict[str, Operand] = {}
    if isinstance(defaults, Const):
        values: tuple[Operand, ...] = tuple(map(Const, defaults.value or ()))
    else:
        values = state.shape.defs[defaults].args if _is_made_by(state, defaults, ops.build_tuple) else ()
    found.update(zip(positional[len(positional) - len(values) :], values, strict=True))
    if _is_made_by(state, named, ops.build_map):
        shown = state.shape.defs[named].args  # type: ignore[index]
        found.update((k.value, v) for k, v in zip(shown[::2], shown[1::2], strict=True) if isinstance(k, Const))
    return found


def _is_made_by(state: State, v: Operand, f: object) -> bool:
    made = state.shape.defs.get(v) if isinstance(v, Var) else None
    return made is not None and is_const(made.fn, f)


def held_method(state: State, m: Meth) -> Held | None:
    """The same for a method of an object of a known class."""
    of_object = m.is_of_objects and all(is_const(s.fn, getattr) for s in m.sites)
    return Held(m) if of_object and isinstance(_of_sites(state, m, lambda s: state.type_of(s.args[0])), Obj) else None


def type_held(state: State, f: object, types: tuple[T, ...]) -> T:
    """The type of what `cell_of`, `default_of` or `receiver_of` read of a function or method of this type."""
    t = types[0]
    if isinstance(t, Bot):
        return BOT
    if f is receiver_of:
        return _of_sites(state, t, lambda s: state.type_of(s.args[0])) if isinstance(t, Meth) else Top(True)
    i = types[1]
    if not isinstance(t, Fn) or not isinstance(i, Known):
        return Top(True)
    return _of_sites(state, t, lambda s: _item(state, s.args[4] if f is cell_of else s.args[1], i.value))


def _of_sites(state: State, f: Fn | Meth, read: Callable[[Call], T]) -> T:
    """The join of what is read of the calls that make a function or bind a method."""
    t: T = BOT
    for s in f.sites:
        t = join(t, read(s))
    return t


def _item(state: State, whole: Operand, i: int) -> T:
    items = state.type_of(whole)
    if isinstance(items, Known) and isinstance(whole, Const):
        return Known(items.value[i])
    return items.items[i] if isinstance(items, Tup) else BOT if isinstance(items, Bot) else Top(True)
