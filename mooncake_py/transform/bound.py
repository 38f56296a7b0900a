"""The arguments of a call as the parameters of the function: `*args`, `**kwargs` and default values spelled out."""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence
from dataclasses import replace
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

from mooncake_py.closures import Default, Emptiness, empty_default, kept_default
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.held import may_change
from mooncake_py.infer.inferred import Guard, Inferred, Spelled
from mooncake_py.infer.lookup import is_fixed
from mooncake_py.infer.protocol import Classes
from mooncake_py.infer.readers import engines_own
from mooncake_py.infer.shape import Shape
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Pos, Var
from mooncake_py.lowering import lower
from mooncake_py.run import Wary
from mooncake_py.spelling import takes_others
from mooncake_py.transform.answered import known_keys
from mooncake_py.transform.doubts import doubt

MOST_KEPT = 5000


def bound(
    f: pytypes.FunctionType, body: Function, call: Call, wary: Wary
) -> tuple[Function, tuple[Operand, ...]] | None:
    """The body and the arguments of a call in the order of its parameters; None where they do not simply fit."""
    code = f.__code__
    n = code.co_argcount
    rest = call.args[n:]
    if rest and not code.co_flags & CO_VARARGS:
        return None
    keywords = dict(call.kwargs)
    defaults: dict[str, Any] = dict(f.__kwdefaults__ or {})
    defaults.update(zip(reversed(code.co_varnames[:n]), reversed(f.__defaults__ or ()), strict=False))
    args: list[Operand] = list(call.args[:n])
    kept: dict[int, Default] = {}
    for i in range(len(args), n + code.co_kwonlyargcount):
        name = code.co_varnames[i]
        if name in keywords and i >= code.co_posonlyargcount:
            args.append(keywords.pop(name))
        elif name in defaults:
            default = defaults[name]
            if _is_constant(default):
                args.append(Const(default))
            elif may_change(default, wary):
                return None
            else:
                kept[i] = Default(f, name if i >= n else i - n)
        else:
            return None
    if keywords and not takes_others(code, keywords):
        return None
    body = with_rest(_with_kept(body, code, kept), code, len(rest), tuple(keywords))
    return body, (*args, *rest, *keywords.values())


def _is_constant(x: Any) -> bool:
    """Is there nothing in it that may be changed?"""
    return is_fixed(x) or isinstance(x, (float, complex)) or (type(x) is tuple and all(map(_is_constant, x)))


def _with_kept(body: Function, code: pytypes.CodeType, kept: dict[int, Default]) -> Function:
    """The body of a function that reads these default values, by the places of the parameters, when it is called."""
    if not kept:
        return body
    pos, fresh = Pos(body.firstline), fresh_beside(body)
    reads: list[Call] = []
    for i, d in kept.items():
        p, name = body.params[i], code.co_varnames[i]
        which = Const(d), Const(name)
        if Emptiness(d).get(name) and Shape(body).only_read({p}):  # `**kwargs` of it are known to be none
            reads.append(Call(fresh.var(), Const(empty_default), which, (), pos))
            reads.append(Call(p, Const(ops.build_map), (), (), pos))
        else:
            reads.append(Call(p, Const(kept_default), which, (), pos))
    return _begun(body, [p for i, p in enumerate(body.params) if i not in kept], reads)


def _begun(body: Function, params: Sequence[Var], first: Sequence[Call]) -> Function:
    """The body with these parameters, and statements that come first."""
    entry = body.blocks[0]
    entry = replace(entry, stmts=(*first, *entry.stmts))
    return replace(body, params=tuple(params), blocks=(entry, *body.blocks[1:]))


def with_rest(body: Function, code: pytypes.CodeType, n: int, names: tuple[str, ...] = ()) -> Function:
    """The body of a function that takes `*args` or `**kwargs`, with a parameter for each: n, and these names."""
    if not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return body
    fresh = fresh_beside(body)
    params, pos = list(body.params), Pos(body.firstline)
    more, named = [fresh.var() for _ in range(n)], [fresh.var(name) for name in names]
    made: list[Call] = []
    if code.co_flags & CO_VARKEYWORDS:
        items = [x for name, v in zip(names, named, strict=True) for x in (Const(name), v)]
        made.append(Call(params.pop(), Const(ops.build_map), tuple(items), (), pos))
    if code.co_flags & CO_VARARGS:
        made.append(Call(params.pop(), Const(ops.build_tuple), tuple(more), (), pos))
    body = _begun(body, [*params, *more, *named], made)
    if not code.co_flags & CO_VARKEYWORDS:
        return body
    return known_keys(body, made[0].out, dict(zip(names, named, strict=True)))


def spell_out(inferred: Inferred, taken: set[pytypes.FunctionType], classes: Classes) -> Function | None:
    """The function in which such calls are calls of functions that get their arguments one by one; None without any.

    Calls whose arguments do not simply fit are put into `classes.misfits`.
    """
    fn = inferred.fn
    planned = {v: c.target for v, c in inferred.calls.items() if isinstance(c.target, Spelled)}
    if not planned:
        return None

    fresh = fresh_beside(fn)

    def spelled(s: Call) -> list[Call]:
        plan = planned.get(s.out)
        if plan is None:
            return [s]
        f = plan.function
        found = spelled_function(f, Call(s.out, s.fn, plan.args, s.kwargs, s.pos), inferred.wary)
        if found is None:
            classes.misfits.add(s.out)
            return [s]
        taken.add(f)
        for which, name in _taken_to_be_empty(found[0]):
            inferred.guards[(id(which), name)] = Guard(Emptiness(which), name, True)
        return [*doubt(inferred, s.fn, fresh, s.pos), Call(s.out, Const(found[0]), found[1], (), s.pos)]

    blocks = [replace(b, stmts=tuple([x for s in b.stmts for x in spelled(s)])) for b in fn.blocks]
    return replace(fn, blocks=tuple(blocks))


def _taken_to_be_empty(f: pytypes.FunctionType) -> list[tuple[Default, str]]:
    """The default values that a function which is spelled out relies on having nothing in them."""
    first = normalise(f.__code__).blocks[0].stmts
    return [(s.args[0].value, s.args[1].value) for s in first if is_const(s.fn, empty_default)]  # type: ignore[union-attr]


_spelled: dict[tuple[Any, ...], pytypes.FunctionType] = {}


def spelled_function(
    f: pytypes.FunctionType, call: Call, wary: Wary
) -> tuple[pytypes.FunctionType, tuple[Operand, ...]] | None:
    """A function like f with a parameter for each argument of the call, and the arguments; None if they do not fit."""
    code = f.__code__
    try:
        own = normalise(code)
        found = bound(f, own, call, wary)
    except UnsupportedError:
        return None
    if found is None:
        return None
    body, args = found
    if args == call.args and body is own:
        return f, args
    first = [s for s in body.blocks[0].stmts if is_const(s.fn, kept_default) or is_const(s.fn, empty_default)]
    reads = [(s.fn.value, s.args[0].value) for s in first]  # type: ignore[union-attr]
    own_values = tuple([(read, d.function, d.key) for read, d in reads])
    key = code, id(f.__globals__), max(0, len(call.args) - code.co_argcount), _others(code, call), own_values
    if (g := _spelled.get(key)) is None or g.__globals__ is not f.__globals__:
        if len(_spelled) > MOST_KEPT:
            _spelled.clear()
        g = _spelled[key] = pytypes.FunctionType(lower(body, qualname=f.__qualname__), f.__globals__, f.__name__)
        engines_own[g] = engines_own.get(f, f)
    return g, args


def _others(code: pytypes.CodeType, call: Call) -> tuple[str, ...]:
    """The names of the arguments that go into `**kwargs`."""
    own = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    return tuple([name for name, _ in call.kwargs if name not in own])
