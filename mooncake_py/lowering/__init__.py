"""Lowering: a `Function` of the IR becomes a code object of the running interpreter."""

from __future__ import annotations

import opcode
from collections.abc import Sequence, Set
from types import CodeType
from typing import Any

from bytecode import UNSET, Bytecode, CompilerFlags, Instr
from bytecode.instr import InstrLocation

from mooncake_py.ir.nodes import Function, Pos, Var
from mooncake_py.lowering.emit import Emitter
from mooncake_py.lowering.native import V
from mooncake_py.lowering.release import release
from mooncake_py.lowering.schedule import schedule
from mooncake_py.lowering.slots import allocate
from mooncake_py.lowering.writer import Line

__all__ = ["lower"]

_OPTIMIZED = CompilerFlags.OPTIMIZED | CompilerFlags.NEWLOCALS
_SHAPE = CompilerFlags.VARARGS | CompilerFlags.VARKEYWORDS | CompilerFlags.NESTED | CompilerFlags.GENERATOR


def lower(
    fn: Function,
    *,
    argnames: Sequence[str] | None = None,
    like: CodeType | None = None,
    qualname: str | None = None,
    folding: bool = True,
    heavy: Set[Var] = frozenset(),
) -> CodeType:
    """The code object of `fn`.

    Its parameters are plain positional ones, named by `argnames` (default: the parameters' own names); with
    `like`, kinds and names of parameters and free variables, flags and qualified name are those of that code
    object. Cells of free variables are `co_freevars` in the order of `fn.free`. Without `folding` every value goes to a
    local slot, none waits on the stack for its consumer. Slots of `heavy`
    variables are emptied by the last read.
    """
    if like is not None:
        n = like.co_argcount + like.co_kwonlyargcount
        n += bool(like.co_flags & CompilerFlags.VARARGS) + bool(like.co_flags & CompilerFlags.VARKEYWORDS)
        argnames = like.co_varnames[:n]
        free_names = list(like.co_freevars)
    else:
        free_names = _unique([v.name or f"free{i}" for i, v in enumerate(fn.free)])
    names = _unique([v.name or f"arg{i}" for i, v in enumerate(fn.params)] if argnames is None else list(argnames))
    if len(names) != len(fn.params):
        raise ValueError(f"{fn.name} has {len(fn.params)} parameters, {len(names)} names were given")
    plan = schedule(fn, folding)
    slots = allocate(plan, names, pinned="__class__" in free_names)
    emitter = Emitter(plan, slots, free_names)
    doc = like.co_consts[0] if like is not None and like.co_consts else None
    emitter.const(doc if isinstance(doc, str) else None)  # the first constant is the docstring, or None
    emitter.run()
    emptied = {slots.names[slots.of[v]] for v in heavy if v in slots.of} - set(slots.cell_names)
    emitter.code = release(emitter.code, emptied, emitter.const(None))
    return _assemble(fn, emitter, like, free_names, qualname)


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


def _assemble(
    fn: Function, emitter: Emitter, like: CodeType | None, free_names: list[str], qualname: str | None
) -> CodeType:
    bc = Bytecode(_instructions(emitter))
    bc.name, bc.filename, bc.first_lineno = fn.name, fn.filename, fn.firstline
    bc.qualname = qualname or (fn.name if like is None else like.co_qualname)
    bc.argnames = emitter.slots.names  # registers every local, in the order of the slots
    bc.freevars, bc.cellvars = free_names, emitter.slots.cell_names
    if like is None:
        bc.argcount, bc.flags = len(fn.params), _OPTIMIZED
        if fn.kind == "generator":
            bc.flags |= CompilerFlags.GENERATOR
        if free_names:
            bc.flags |= CompilerFlags.NESTED
    else:
        bc.argcount, bc.posonlyargcount = like.co_argcount, like.co_posonlyargcount
        bc.kwonlyargcount, bc.flags = like.co_kwonlyargcount, CompilerFlags(like.co_flags)
    bc.docstring = 0  # type: ignore[assignment]  # a number, as every constant here
    concrete = bc.to_concrete_bytecode(compute_exception_stack_depths=False)
    # The library tells constants apart by value; here they are numbers, and the objects take their place now.
    concrete.consts = [emitter.consts[i] for i in concrete.consts]
    return concrete.to_code(stacksize=emitter.stacksize + len(V.TAKE_FAST), compute_exception_stack_depths=False)


def _instructions(emitter: Emitter) -> list[Any]:
    locations: dict[int, InstrLocation | None] = {}
    opmap = opcode.opmap
    make = Instr._from_trusted
    out: list[Any] = []
    code = _paired(emitter.code, emitter.slots.names) if V.SUPERINSTRUCTIONS else emitter.code
    for line in code:
        if type(line) is not tuple:
            out.append(line)
            continue
        name, arg, pos = line
        key = id(pos)
        if key in locations:
            where = locations[key]
        else:
            where = locations[key] = _location(pos)
        out.append(make(name, opmap[name], UNSET if arg is None else arg, where))
    return out


class _Where(InstrLocation):
    """A location compared by identity, which is how the assembler finds runs of equal ones, and much faster."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _location(pos: Pos) -> InstrLocation | None:
    if pos.line is None:
        return None
    if pos.col is None or pos.end_line is None or pos.end_col is None or pos.end_line < pos.line:
        return _Where._from_tuple(pos.line, None, None, None)
    return _Where._from_tuple(pos.line, pos.end_line, pos.col, pos.end_col)


_PAIRS = {
    ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
    ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
    ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
}


def _paired(code: list[Line], names: list[str]) -> list[Line]:
    """Neighbouring loads and stores of the first sixteen locals as one instruction."""
    small = set(names[:16])
    out: list[Line] = []
    for line in code:
        if out and type(line) is tuple and type(out[-1]) is tuple:
            first = out[-1]
            pair = _PAIRS.get((first[0], line[0]))
            if pair and type(line[1]) is str and type(first[1]) is str and line[1] in small and first[1] in small:
                out[-1] = (pair, (first[1], line[1]), first[2])
                continue
        out.append(line)
    return out
