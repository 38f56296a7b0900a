"""Recursive functions that are given functions made here: as functions of what these captured.

    def search(f, a, b):                    def search_(k, a, b):
        ...                                     f = lambda t: g(t, k)
        return f(a) + search(f, m, b)           ...
                                                return f(a) + search_(k, m, b)
    search(lambda t: g(t, k), 0.0, b)       search_(k, 0.0, b)

Types are found of a function of numbers, and a rule for it before it runs, where one that is given a function which
captured something is decided call by call. So it is for parameters that the function does no more with than to call
them, and to hand them on in its calls of itself. It still reads the name by which it calls itself: should that come to
stand for another function, what was found no longer holds.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import sees_its_frame
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.readers import engines_own
from mooncake_py.infer.results import is_plain
from mooncake_py.infer.types import Known
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const, map_function
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Var, term_operands
from mooncake_py.lowering import lower
from mooncake_py.transform.fixed_cells import Cells
from mooncake_py.transform.lifted import in_order

MOST_KEPT = 5000
MOST_NESTED = 4


@dataclass(frozen=True, slots=True)
class _Given:
    """A function made here that is an argument: its code, constant default values, and what it captured.

    That is cells with values, and other functions made here.
    """

    code: pytypes.CodeType
    defaults: tuple[Any, ...]
    captured: tuple[Operand | _Given, ...]

    def cells(self) -> Iterator[Operand]:
        """The cells with values that it, and what it captured, read."""
        for x in self.captured:
            yield from x.cells() if isinstance(x, _Given) else (x,)

    def role(self, cells: Sequence[Operand]) -> Any:
        """What is the same for all functions that are made in this way of the contents of these cells."""
        told = tuple([x.role(cells) if isinstance(x, _Given) else cells.index(x) for x in self.captured])
        return self.code, self.code.co_filename, repr(self.defaults), told


def without_given(inferred: Inferred, globals_: dict[str, Any]) -> Function | None:
    """The function with such calls as calls of functions that get what was captured; None where there are none."""
    fn = inferred.fn
    made: dict[Operand, Call] = {s.out: s for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.make_function)}
    stmts = [s for b in fn.blocks for s in b.stmts if any(v in made for v in s.operands())]
    calls = [(s, g) for s in stmts if (g := _function(inferred, s)) is not None and g.__globals__ is globals_]
    if fn.suspends or not calls:
        return None
    cells = Cells(fn)
    new: dict[Call, list[Call]] = {}
    for s, g in calls:
        args, handed_on = _in_order(g, s), _handed_on(g)
        given = {i: _given(cells, made[v], s) for i, v in enumerate(args or ()) if v in made and i in handed_on}
        found = {i: f for i, f in given.items() if f is not None}
        if args is not None and found:
            new[s] = _direct(cells, replace(s, args=args, kwargs=()), g, found)
    if not new:
        return None
    blocks = [replace(b, stmts=tuple([x for s in b.stmts for x in new.get(s, [s])])) for b in fn.blocks]
    return replace(fn, blocks=tuple(blocks))


def _function(inferred: Inferred, s: Call) -> pytypes.FunctionType | None:
    """The plain function that this calls, which its module has by its name."""
    t = Known(s.fn.value) if isinstance(s.fn, Const) else inferred.types.get(s.fn)
    if not isinstance(t, Known) or type(t.value) is not pytypes.FunctionType:
        return None
    g = t.value
    if g.__closure__ is not None or not is_plain(g.__code__):
        return None
    return g if g.__globals__.get(g.__name__) is g and not sees_its_frame(g.__code__) else None


def _in_order(g: pytypes.FunctionType, s: Call) -> tuple[Operand, ...] | None:
    """The arguments of a call of g, one for each parameter; None where one is left to its default, which may change."""
    return in_order(g.__code__, (), s)


def _given(cells: Cells, site: Call, call: Call, depth: int = 0) -> _Given | None:
    """What is known of a function made by this statement, where what it captured is there for the call."""
    code, defaults = site.args[0], cells.constants(site.args[1])
    if not isinstance(code, Const) or defaults is None or not is_const(site.args[2], None) or depth > MOST_NESTED:
        return None
    if isinstance(site.args[4], Const):
        return _Given(code.value, defaults, ()) if depth else None  # by itself it is known as it is
    closure = cells.defs.get(site.args[4])
    captured: list[Operand | _Given] = []
    for c in closure.args if closure is not None and is_const(closure.fn, ops.build_tuple) else ():
        if c not in cells.fixed or not cells.is_bound(c, call.out):
            return None
        made = cells.held(c)
        if made is None or not is_const(made.fn, ops.make_function):
            captured.append(c)
        elif (inner := _given(cells, made, call, depth + 1)) is not None:
            captured.append(inner)
        else:
            return None
    return _Given(code.value, defaults, tuple(captured)) if captured else None


def _handed_on(g: pytypes.FunctionType) -> frozenset[int]:
    """The parameters that g does no more with than to call them, and to hand them on in calls of itself."""
    body = normalise(g.__code__)
    own = {s.out for s in _own_calls(body, g)}
    if body.suspends or not own:
        return frozenset()
    left: dict[Operand, int] = {p: i for i, p in enumerate(body.params)}
    for b in body.blocks:
        used: set[Operand] = {*term_operands(b.term), *(b.handler.args if b.handler is not None else ())}
        for s in b.stmts:
            args = _in_order(g, s) if s.out in own else None
            if args is None:
                used |= {*s.args, *(v for _, v in s.kwargs)}
            else:
                used |= {v for i, v in enumerate(args) if left.get(v) != i}
                left = {p: i for p, i in left.items() if args[i] is p}
        left = {p: i for p, i in left.items() if p not in used}
    return frozenset(left.values())


def _own_calls(body: Function, g: pytypes.FunctionType) -> list[Call]:
    """The calls of g by the name that its module has it by."""
    stmts = [s for b in body.blocks for s in b.stmts]
    named = {s.out for s in stmts if is_const(s.fn, ops.load_global) and is_const(s.args[0], g.__name__)}
    return [s for s in stmts if s.fn in named and _in_order(g, s) is not None]


def _direct(cells: Cells, call: Call, g: pytypes.FunctionType, given: Mapping[int, _Given]) -> list[Call]:
    """The call of a function that makes what it was given out of what this had captured."""
    captured = list(dict.fromkeys(c for f in given.values() for c in f.cells()))
    reads = [Call(cells.fresh.var(), Const(ops.cell_get), (c, Const(c.name)), (), call.pos) for c in captured]  # type: ignore[union-attr]
    others = [v for i, v in enumerate(call.args) if i not in given]
    f = _specialised(g, given, captured)
    return [*reads, Call(call.out, Const(f), (*[s.out for s in reads], *others), (), call.pos)]


_made: dict[Any, pytypes.FunctionType] = {}


def _specialised(
    g: pytypes.FunctionType, given: Mapping[int, _Given], captured: Sequence[Operand]
) -> pytypes.FunctionType:
    """The function g for these arguments, with the contents of the cells as its first parameters."""
    key = g, g.__code__, *[(i, f.role(captured)) for i, f in given.items()]
    known = _made.get(key)
    if known is None:
        if len(_made) > MOST_KEPT:
            _made.clear()
        known = _made[key] = pytypes.FunctionType(g.__code__, g.__globals__, g.__name__)
        known.__code__ = _code(g, known, given, captured)
        known.__qualname__ = g.__qualname__
        engines_own[known] = engines_own.get(g, g)
    return known


def _code(
    g: pytypes.FunctionType, self: pytypes.FunctionType, given: Mapping[int, _Given], captured: Sequence[Operand]
) -> pytypes.CodeType:
    body = normalise(g.__code__)
    fresh, pos, none = fresh_beside(body), body.entry.term.pos, Const(None)
    contents = [fresh.var(c.name) for c in captured]  # type: ignore[union-attr]
    first: list[Call] = []

    def add(f: Any, *args: Operand, name: str | None = None) -> Var:
        first.append(Call(fresh.var(name), Const(f), args, (), pos))
        return first[-1].out

    held = [add(ops.make_cell, v, name=v.name) for v in contents]

    def function(f: _Given) -> Var:
        cells = [
            add(ops.make_cell, function(x)) if isinstance(x, _Given) else held[captured.index(x)] for x in f.captured
        ]
        closure = add(ops.build_tuple, *cells) if cells else none
        return add(ops.make_function, Const(f.code), Const(f.defaults or None), none, none, closure)

    functions: dict[Operand, Operand] = {body.params[i]: function(f) for i, f in given.items()}
    own = {s.out for s in _own_calls(body, g)}

    def at(s: Call) -> Call:
        if s.out not in own:
            return s
        others = [v for i, v in enumerate(_in_order(g, s) or ()) if i not in given]
        return Call(s.out, Const(self), (*contents, *others), (), s.pos)

    blocks = [replace(b, stmts=tuple(map(at, b.stmts))) for b in body.blocks]
    whole = map_function(replace(body, blocks=tuple(blocks)), lambda v: functions.get(v, v))
    entry = replace(whole.entry, stmts=(*first, *whole.entry.stmts))
    params = (*contents, *[p for i, p in enumerate(body.params) if i not in given])
    return lower(replace(whole, params=params, blocks=(entry, *whole.blocks[1:])), qualname=g.__qualname__)
