"""What plans rely on while other plans are still to be carried out: what those give is not seen yet.

What a plan took a value for is noted beside it (`fields.surely`). Where the types show in the end that it was so the
note goes; where they do not, the function is inferred again with more care.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mooncake_py import fields
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.protocol import exact_class
from mooncake_py.infer.shape import Shape
from mooncake_py.infer.sources import Source, source_of
from mooncake_py.infer.types import (
    BOT,
    Bot,
    Cell,
    Dct,
    Fn,
    Known,
    Lst,
    Many,
    Meth,
    Obj,
    T,
    Top,
    Tup,
    Union,
    join,
    parts_of,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const, map_function
from mooncake_py.ir.nodes import Call, Const, Fresh, Function, Operand, Pos, Var


def doubt(inferred: Inferred, v: Operand, fresh: Fresh, pos: Pos) -> list[Call]:
    """A note of what v is taken for: a value, the code of a function, the length of a tuple or a class.

    None is needed where no plan can change that, nor for methods: those are read where they are called.
    """
    t = inferred.types.get(v) if isinstance(v, Var) else None
    if t is None or isinstance(t, Meth) or stands(v, inferred.fn, inferred.memory.shape.defs):
        return []
    what: object = exact_class(t)
    match t:
        case Known():
            what = t
        case Fn(code=code):
            what = code
        case Tup(items=items):
            what = len(items)
    return [] if what is None else [note(v, what, inferred.memory.shape, fresh, pos)]


def note(v: Operand, what: object, shape: Shape, fresh: Fresh, pos: Pos) -> Call:
    """A statement that v is taken for this."""
    return Call(fresh.var(), Const(fields.surely), (v, Const(what), Const(source_of(v, shape))), (), pos)


def doubted(fn: Function, inferred: Inferred, s: Call, relied: Sequence[Operand]) -> Function:
    """The function with these notes before a statement that is about to be replaced."""
    if all(stands(v, inferred.fn, inferred.memory.shape.defs) for v in relied):
        return fn
    fresh = fresh_beside(fn)
    notes = [x for v in relied for x in doubt(inferred, v, fresh, s.pos)]
    blocks = []
    for b in fn.blocks:
        if s in b.stmts:
            i = b.stmts.index(s)
            b = replace(b, stmts=(*b.stmts[:i], *notes, *b.stmts[i:]))
        blocks.append(b)
    return replace(fn, blocks=tuple(blocks))


def stands(v: Operand, fn: Function, defs: Mapping[Var, Call]) -> bool:
    """Is what is known of this value read off what stands there, and not off what is in a variable or a container?"""
    while isinstance(v, Var) and v not in fn.params:
        s = defs.get(v)
        if s is None:
            return False
        if any(is_const(s.fn, f) for f in _STANDING):
            return True
        if not any(is_const(s.fn, f) for f in _LEADING):
            return False
        v = s.args[0]
    return True


_LEADING = (getattr, ops.check_bound)
_STANDING = (ops.load_global, ops.make_function, ops.build_map, ops.build_list, ops.build_tuple)


def settle(inferred: Inferred, everything: bool = False) -> Function | None:
    """The function without the doubts that the types have removed (or without any); None if none goes.

    Where other calls are still to stand, what they give and write may make more of a type than it is so far.
    """
    if not everything and any(c.kind == "planned" for c in inferred.calls.values()):
        return None
    known: dict[Operand, Operand] = {}
    dead: set[Call] = set()
    for s in doubts(inferred.fn):
        x, what, _ = s.args
        t = inferred.types.get(x) if isinstance(x, Var) else None  # None: never reached
        if everything or t is None or isinstance(t, Bot) or _is_surely(t, what.value):  # type: ignore[union-attr]
            known[s.out] = known.get(x, x)
            dead.add(s)
    return map_function(inferred.fn, lambda v: _last(known, v), dead) if dead else None


def _is_surely(t: T, what: object) -> bool:
    """Are the values of exactly this class, or functions of this code, methods that are this function, this very
    value, or tuples of this length?"""
    match what:
        case Known():
            return t == what
        case int():
            return (isinstance(t, Tup) and len(t.items) == what) or (
                isinstance(t, Known) and isinstance(t.value, tuple) and len(t.value) == what
            )
    if isinstance(t, Fn):
        return t.code is what
    if isinstance(t, Many):
        return what is tuple
    return t.func is what if isinstance(t, Meth) else exact_class(t) is what


def doubts(fn: Function) -> list[Call]:
    """What plans relied on, and is not known to be so yet."""
    if not fn.calls(fields.surely):
        return []
    return [s for b in fn.blocks for s in b.stmts if is_const(s.fn, fields.surely)]


def better_told(inferred: Inferred, told: Mapping[Source, T]) -> dict[Source, T]:
    """What the values that are still in doubt have turned out to be as well, as far as that is known of them."""
    more: dict[Source, T] = {}
    for s in doubts(inferred.fn):
        x, source = s.args[0], s.args[2].value  # type: ignore[union-attr]
        t = inferred.types.get(x) if isinstance(x, Var) else None
        if t is None or source is None or not _is_known_elsewhere(t):
            continue
        known = join(more.get(source, told.get(source, BOT)), t)
        if known != told.get(source):
            more[source] = known
    return more


def _is_known_elsewhere(t: T) -> bool:
    """Does it say anything, and that without the statements of this attempt?"""
    match t:
        case Fn() | Meth():
            return False
        case Union() | Tup() | Lst() | Cell() | Obj():
            return all(map(_is_known_elsewhere, parts_of(t)))
    return not isinstance(t, (Top, Dct))


def _last(known: dict[Operand, Operand], v: Operand) -> Operand:
    while v in known:
        v = known[v]
    return v
