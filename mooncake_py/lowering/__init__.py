"""Lowering: a `Function` of the IR becomes a code object of the running interpreter."""

from __future__ import annotations

from collections.abc import Sequence, Set
from inspect import CO_GENERATOR, CO_NESTED, CO_NEWLOCALS, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from types import CodeType

from mooncake_py.ir.nodes import Function, Var
from mooncake_py.lowering.assembler import Assembled
from mooncake_py.lowering.emit import Emitter
from mooncake_py.lowering.native import V
from mooncake_py.lowering.release import release
from mooncake_py.lowering.schedule import schedule
from mooncake_py.lowering.slots import allocate
from mooncake_py.origins import OF_RULE, Origins

__all__ = ["lower"]


def lower(
    fn: Function,
    *,
    argnames: Sequence[str] | None = None,
    like: CodeType | None = None,
    qualname: str | None = None,
    folding: bool = True,
    heavy: Set[Var] = frozenset(),
    derived: bool = False,
) -> CodeType:
    """The code object of `fn`.

    Its parameters are plain positional ones, named by `argnames` (default: the parameters' own names); with
    `like`, kinds and names of parameters and free variables, flags and qualified name are those of that code
    object. Cells of free variables are `co_freevars` in the order of `fn.free`. Without `folding` every value goes to a
    local slot, none waits on the stack for its consumer. Slots of `heavy`
    variables are emptied by the last read. `derived` code is that of a rule, and can be told to be (`origins.py`).
    """
    if like is not None:
        n = like.co_argcount + like.co_kwonlyargcount
        n += bool(like.co_flags & CO_VARARGS) + bool(like.co_flags & CO_VARKEYWORDS)
        argnames = like.co_varnames[:n]
        free_names = list(like.co_freevars)
    else:
        free_names = _unique([v.name or f"free{i}" for i, v in enumerate(fn.free)])
    names = _unique([v.name or f"arg{i}" for i, v in enumerate(fn.params)] if argnames is None else list(argnames))
    if len(names) != len(fn.params):
        raise ValueError(f"{fn.name} has {len(fn.params)} parameters, {len(names)} names were given")
    plan = schedule(fn, folding)
    slots = allocate(plan, names, pinned="__class__" in free_names, derived=derived)
    emitter = Emitter(plan, slots)
    doc = like.co_consts[0] if like is not None and like.co_consts else None
    emitter.const(doc if isinstance(doc, str) else None)  # the first constant is the docstring, or None
    emitter.run()
    emptied = {slots.names[slots.of[v]] for v in heavy if v in slots.of} - set(slots.cell_names)
    emitter.code = release(emitter.code, emptied, emitter.const(None))
    return _code(fn, emitter, like, free_names, qualname, derived)


def _unique(names: list[str]) -> list[str]:
    seen: set[str] = set()
    out = []
    for name in names:
        base, n = name, 1
        while name in seen:
            n += 1
            name = f"{base}_{n}"
        seen.add(name)
        out.append(name)
    return out


def _code(
    fn: Function,
    emitter: Emitter,
    like: CodeType | None,
    free_names: list[str],
    qualname: str | None,
    derived: bool,
) -> CodeType:
    slots = emitter.slots
    parts = Assembled(emitter.code, slots.names, fn.firstline)
    if like is None:
        counts = len(fn.params), 0, 0
        flags = CO_OPTIMIZED | CO_NEWLOCALS
        if fn.suspends:
            flags |= CO_GENERATOR
        if free_names:
            flags |= CO_NESTED
    else:
        counts = like.co_argcount, like.co_posonlyargcount, like.co_kwonlyargcount
        flags = like.co_flags
    consts = emitter.consts
    if any([pos.within is not None or pos.inner for pos, _ in parts.stretches]):
        consts = [*consts, Origins(parts.places(), derived)]
    elif derived:
        consts = [*consts, OF_RULE]
    return CodeType(
        *counts,
        len(slots.names),
        emitter.stacksize + len(V.TAKE_FAST),
        flags,
        parts.code,
        tuple(consts),
        parts.names,
        tuple(slots.names),
        fn.filename,
        fn.name,
        qualname or (fn.name if like is None else like.co_qualname),
        fn.firstline,
        parts.locations,
        parts.exceptions,
        tuple(free_names),
        tuple(slots.cell_names),
    )
