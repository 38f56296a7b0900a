"""Where in the source a value is made: what was found out of it holds in another attempt as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooncake_py.fields import narrow, surely
from mooncake_py.infer.shape import Shape
from mooncake_py.infer.types import T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Operand, Pos, Var

Source = tuple[Any, ...]


def source_of(v: Operand, shape: Shape) -> Source | None:
    """What a value is in the source, whatever is known of it here; None for arguments and constants.

    A variable that is given several values is told by its name: what is taken in at two places may be told as one.
    """
    while isinstance(v, Var) and (s := shape.defs.get(v)) is not None:
        if not _is_same(s):
            named = [x.value for x in s.args if isinstance(x, Const) and type(x.value) is str]
            return (*_place(s.pos), getattr(s.fn, "value", None), *named)
        v = s.args[0]
    block = shape.joining.get(v) if isinstance(v, Var) else None
    return None if block is None else _joined(v, block)  # type: ignore[arg-type]


def told_of(told: Mapping[Source, T], shape: Shape) -> dict[Var, T]:
    """What is told of sources, as what is told of the values of a function."""
    if not told:
        return {}
    values = (*[v for v, s in shape.defs.items() if not _is_same(s)], *shape.joining)
    return {v: told[source] for v in values if (source := source_of(v, shape)) in told}  # type: ignore[index]


def _joined(v: Var, block: CFGBlock) -> Source:
    where = _place(block.term.pos)
    return (v.name, *where[4:]) if v.name is not None else where


def _is_same(s: Call) -> bool:
    """Is it about what is known of a value, and gives the value itself?"""
    return any(is_const(s.fn, f) for f in (narrow, surely, ops.check_bound))


def _place(pos: Pos | None) -> Source:
    if pos is None:
        return ()
    name, call = pos.within or (None, None)
    inner = tuple([(file, function, _place(p)) for file, function, p in pos.inner])
    return pos.line, pos.end_line, pos.col, pos.end_col, name, _place(call), inner
