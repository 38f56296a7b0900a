"""Functions of `*args` and `**kwargs` as ones with a parameter for each argument that they are called with.

def f(*a, **k): return g(*a, **k)    ->    def f(a1, a2): return g(a1, a2)
"""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Mapping
from dataclasses import replace
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS

from mooncake_py.frontend import normalise
from mooncake_py.infer.shape import Shape
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Var
from mooncake_py.lowering import lower
from mooncake_py.transform.bound import with_rest

_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def takes_rest(code: pytypes.CodeType) -> bool:
    """Is it a function that takes any number of arguments, and runs when it is called?"""
    taking = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return bool(taking) and not (code.co_flags & _SUSPENDED or code.co_kwonlyargcount)


@functools.lru_cache(maxsize=1000)
def counted(code: pytypes.CodeType, n: int, names: tuple[str, ...]) -> pytypes.CodeType | None:
    """Code like this one that takes n arguments by position and those of these names; None if it does not take them."""
    own = code.co_varnames[: code.co_argcount]
    rest = n - len(own)
    if rest < 0 or (rest and not code.co_flags & CO_VARARGS) or not set(own).isdisjoint(names):
        return None
    if names and not code.co_flags & CO_VARKEYWORDS:
        return None
    body = _unstarred(with_rest(normalise(code), code, rest, names))
    params = [*own, *[f"argument{i}" for i in range(rest)], *names]
    if len(set(params)) < len(params):
        return None
    return lower(body, argnames=params, qualname=code.co_qualname).replace(co_posonlyargcount=n)


def _unstarred(body: Function) -> Function:
    """The body with calls of `f(*a, **k)` with the arguments one by one, where these are put together right there."""
    if not body.calls(ops.call_ex):
        return body
    defs: dict[Operand, Call] = {s.out: s for b in body.blocks for s in b.stmts}
    uses: dict[Operand, list[Call]] = {}
    for s in (s for b in body.blocks for s in b.stmts):
        for v in s.operands():
            uses.setdefault(v, []).append(s)
    maps = Shape(body).only_read({v for v, s in defs.items() if isinstance(v, Var) and is_const(s.fn, ops.build_map)})
    direct: dict[Call, Call] = {}
    dead: set[Call] = set()
    for b in body.blocks:
        for s in b.stmts:
            if not is_const(s.fn, ops.call_ex):
                continue
            items, pairs = _items(s.args[1], defs), _pairs(s, defs, uses, maps)
            if items is not None and pairs is not None:
                direct[s] = Call(s.out, s.args[0], items, pairs[0], s.pos)
                dead |= pairs[1]
    blocks = [replace(b, stmts=tuple([direct.get(s, s) for s in b.stmts if s not in dead])) for b in body.blocks]
    return replace(body, blocks=tuple(blocks))


def _items(v: Operand, defs: Mapping[Operand, Call]) -> tuple[Operand, ...] | None:
    """The items of a tuple that is made here."""
    made = defs.get(v)
    return made.args if made is not None and is_const(made.fn, ops.build_tuple) else None


def _pairs(
    call: Call, defs: Mapping[Operand, Call], uses: Mapping[Operand, list[Call]], maps: set[Var]
) -> tuple[tuple[tuple[str, Operand], ...], set[Call]] | None:
    """What a call is given by name, and the statements that put it together, which are for this call alone."""
    v = call.args[2]
    if is_const(v, None):
        return (), set()
    made = defs.get(v)
    if made is None or not is_const(made.fn, ops.build_map):
        return None
    parts = [made]
    for s in uses[v]:
        if s is call:
            continue
        more = defs.get(s.args[1]) if is_const(s.fn, ops.dict_merge) and s.args[0] is v else None
        if more is None or more.out not in maps or s.out in uses:
            return None
        parts.append(more)
    found: list[tuple[str, Operand]] = []
    for part in parts:
        for key, x in zip(part.args[::2], part.args[1::2], strict=True):
            if not isinstance(key, Const) or type(key.value) is not str:
                return None
            found.append((key.value, x))
    if len(dict(found)) < len(found):
        return None
    return tuple(found), {made, *(s for s in uses[v] if s is not call)}
