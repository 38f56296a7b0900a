"""Closure cells."""

from __future__ import annotations

from typing import Any

from mooncake_py import closures
from mooncake_py.infer.types import BOT, Cell, Known, T, widen
from mooncake_py.ir import ops
from mooncake_py.registry import element_effects, infer_table, maybe_none, pure, rrule
from mooncake_py.tangents import CellShadow, CoDual, FunctionShadow, add_rdata


@rrule(ops.make_cell)
def make_cell(x: CoDual):
    shadow = CellShadow(x.fdata)

    def pullback(_):
        return (take_cell(shadow),)  # one argument: the content may be a tuple itself

    return CoDual(ops.make_cell(x.primal), shadow), pullback


def take_cell(shadow: CellShadow) -> Any:
    """The cotangent of a cell's content, leaving zero."""
    r = shadow.r
    shadow.r = None
    return r


def add_cell(shadow: CellShadow, dy: Any) -> None:
    if dy is not None:
        shadow.r = add_rdata(shadow.r, dy)


@rrule(ops.cell_get)
def cell_get(c: CoDual, name):
    shadow = c.fdata

    def pullback(dy):
        add_cell(shadow, dy)
        return None

    return CoDual(ops.cell_get(c.primal, name), cell_fdata(shadow)), pullback


@rrule(closures.cell_of)
def cell_of(f: CoDual, i):
    def pullback(_):
        return None

    return CoDual(closures.cell_of(f.primal, i), cell_shadow(f.fdata, i)), pullback


def cell_shadow(shadow: FunctionShadow | None, i: int) -> Any:
    return None if shadow is None else shadow.cells[i]


@rrule(closures.receiver_of)
def receiver_of(m: CoDual):
    def pullback(_):
        return None

    return CoDual(closures.receiver_of(m.primal), m.fdata), pullback


@rrule(closures.default_of)
def default_of(f: CoDual, i):
    shadow = f.fdata

    def pullback(dy):
        add_default(shadow, i, dy)
        return None

    return CoDual(closures.default_of(f.primal, i), default_fdata(shadow, i)), pullback


def default_fdata(shadow: FunctionShadow | None, i: int) -> Any:
    return None if shadow is None or shadow.defaults is None else shadow.defaults.f[i]


def add_default(shadow: FunctionShadow | None, i: int, dy: Any) -> None:
    """Add to the cotangent of a default value."""
    if dy is not None and shadow is not None and shadow.defaults is not None:
        shadow.defaults.r[i] = add_rdata(shadow.defaults.r[i], dy)


def cell_fdata(shadow: CellShadow | None) -> Any:
    return None if shadow is None else shadow.f


@rrule(ops.cell_set, mutates=(0,))
def cell_set(c: CoDual, x: CoDual):
    cell, shadow = c.primal, c.fdata
    old = set_cell(cell, shadow, x.primal, x.fdata)

    def pullback(_):
        return None, unset_cell(cell, shadow, old)

    return None, pullback


@rrule(ops.cell_delete, mutates=(0,))
def cell_delete(c: CoDual, name):
    cell, shadow = c.primal, c.fdata
    old = set_cell(cell, shadow, ops.cell_get(cell, name), None)
    ops.cell_delete(cell, name)

    def pullback(_):
        restore_cell(cell, shadow, old)
        return None

    return None, pullback


def restore_cell(cell: Any, shadow: CellShadow | None, old: tuple[Any, Any]) -> None:
    """Put back what a cell held when it was emptied."""
    cell.cell_contents = old[0]
    if shadow is not None:
        shadow.f = old[1]


def set_cell(cell: Any, shadow: CellShadow | None, x: Any, fx: Any) -> tuple[Any, Any]:
    """Rebind a cell; what it held before."""
    try:
        old = cell.cell_contents
    except ValueError:
        old = ops.UNBOUND
    cell.cell_contents = x
    if shadow is None:
        return old, None
    old_f = shadow.f
    shadow.f = fx
    return old, old_f


def unset_cell(cell: Any, shadow: CellShadow | None, old: tuple[Any, Any]) -> Any:
    """Undo `set_cell`; the cotangent of what it had set."""
    if old[0] is ops.UNBOUND:
        del cell.cell_contents
    else:
        cell.cell_contents = old[0]
    if shadow is None:
        return None
    shadow.f = old[1]
    return take_cell(shadow)


def _cell_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    x = args[0]
    unbound = isinstance(x, Known) and x.value is ops.UNBOUND
    return Cell(BOT if unbound else widen(x), x.active)


infer_table[ops.make_cell] = _cell_type
infer_table[ops.cell_get] = lambda args, kwargs: args[0].elem if isinstance(args[0], Cell) else None
infer_table[ops.cell_set] = infer_table[ops.cell_delete] = lambda args, kwargs: Known(None)
element_effects[ops.cell_set] = lambda types: widen(types[1])
maybe_none.update({take_cell, unset_cell})
pure.update({cell_fdata, CellShadow})
