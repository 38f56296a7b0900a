"""Calls that the specialiser sees through: what they give for abstract values, None where they stay calls."""

from __future__ import annotations

import builtins
import operator
import types as pytypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.infer.predicates import fold_is, fold_isinstance
from mooncake_py.infer.types import Arr
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import (
    Const,
    Var,
)
from mooncake_py.registry import perhaps_none
from mooncake_py.shadows import At
from mooncake_py.tangents import CoDual
from mooncake_py.transform.values import (
    AV,
    NotSpecialised,
    VAt,
    VCell,
    VClosure,
    VCoDual,
    VIter,
    VTuple,
)

if TYPE_CHECKING:
    from mooncake_py.transform.specialise import Specialiser


def _load_global(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    name: str = args[0].value  # type: ignore[union-attr, assignment]
    sp.names.append((g, name, g.get(name)))
    if name in g:
        return Const(g[name])
    b = g.get("__builtins__", builtins)
    return Const((b if isinstance(b, dict) else b.__dict__)[name])


def _getattr(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    x, name = args[0], args[1].value if isinstance(args[1], Const) else None
    if name is None:
        return None
    if isinstance(x, VCoDual) and name in ("primal", "fdata"):
        return x.primal if name == "primal" else x.fdata
    if isinstance(x, Const) and (
        isinstance(x.value, (pytypes.ModuleType, type, np.ufunc, np.dtype, str, tuple)) and len(args) == 2
    ):
        return Const(getattr(x.value, name))
    t = sp.type_of(x)
    if isinstance(t, Arr):
        if name == "ndim" and t.ndim is not None:
            return Const(t.ndim)
        if name == "dtype" and t.dtype is not None:
            return Const(t.dtype)
    if isinstance(x, Var):
        out = sp.emit(Const(getattr), args, {})
        from mooncake_py.infer.resolve import attribute
        from mooncake_py.infer.types import Meth, widen

        found = attribute(widen(t), name, None)
        if found is not None and not isinstance(found[0], Meth):
            sp.types[out] = found[0]
        return out
    return None


def _codual(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return VCoDual(args[0], args[1]) if len(args) == 2 else None


def _at(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if len(args) == 3 and isinstance(args[2], Const):
        return VAt(args[0], args[1], args[2].value)
    return VAt(args[0], args[1]) if len(args) == 2 else None


def _build_tuple(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    return VTuple(tuple(args))


def _getitem(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    x, i = args
    if isinstance(x, VTuple) and isinstance(i, Const):
        if isinstance(i.value, int):
            return x.items[i.value]
        if isinstance(i.value, slice):
            return VTuple(x.items[i.value])
    return None


def _unpack(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[0], VTuple):
        return args[0]
    return None


def _len(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return Const(len(args[0].items)) if isinstance(args[0], VTuple) else None


def _add(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    a, b = map(_tuple_items, args)
    return None if a is None or b is None else VTuple(a + b)


def _tuple_items(x: AV) -> tuple[AV, ...] | None:
    if isinstance(x, Const):
        return tuple(map(Const, x.value)) if type(x.value) is tuple else None
    return x.items if isinstance(x, VTuple) else None


MOST_ITEMS = 200
"""Of what is gone through item by item; a loop over more stays one."""


def _items(x: AV) -> tuple[AV, ...] | None:
    """The items of what is known one by one."""
    if isinstance(x, Const) and type(x.value) is range and len(x.value) <= MOST_ITEMS:
        return tuple(map(Const, x.value))
    items = _tuple_items(x)
    return None if items is None or len(items) > MOST_ITEMS else items


def _iter(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if len(args) != 1:
        return None
    if isinstance(args[0], VIter):
        return args[0]
    items = _items(args[0])
    return None if items is None else VIter(items)


def _reversed(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    items = _items(args[0])
    return None if items is None else VIter(items[::-1])


def _enumerate(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    items = _items(args[0]) if len(args) == 1 else None
    return None if items is None else VIter(tuple([VTuple((Const(i), x)) for i, x in enumerate(items)]))


def _list_append(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    made = sp.display(args[0])
    return None if made is None else sp.grow(made, args[1:])


def _list_extend(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    made, items = sp.display(args[0]), _items(args[1])
    return None if made is None or items is None else sp.grow(made, items)


def _map_add(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    made = sp.display(args[0])
    if made is None or not isinstance(made.fn, Const) or made.fn.value is not ops.build_map:
        return None
    return sp.grow(made, args[1:])


def _tuple(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    """A tuple of known items; of a list that was only made for it, too."""
    if len(args) != 1:
        return None
    made = sp.display(args[0])
    if made is not None and isinstance(made.fn, Const) and made.fn.value is ops.build_list:
        sp.b.block.stmts.remove(made)
        return VTuple(made.args)
    items = _tuple_items(args[0])
    return None if items is None else VTuple(items)


def _perhaps_none(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    if isinstance(args[0], Var):
        sp.maybe_none.add(args[0])
    return args[0]


def _make_cell(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    x = args[0]
    return VCell(None if isinstance(x, Const) and x.value is ops.UNBOUND else x)


def _cell_set(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    cell = args[0]
    if isinstance(cell, VCell):
        if cell.content is not None:
            raise NotSpecialised("a captured variable is assigned twice")
        cell.content = args[1]
        return Const(None)
    return None


def _cell_get(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    cell = args[0]
    return cell.content if isinstance(cell, VCell) and cell.content is not None else None


def _make_function(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    code, defaults, kwdefaults, _, closure = args
    if not isinstance(code, Const) or (isinstance(kwdefaults, Var)):
        raise NotSpecialised("make_function")
    d: tuple[AV, ...] = ()
    if isinstance(defaults, VTuple):
        d = defaults.items
    elif isinstance(defaults, Const) and defaults.value is not None:
        d = tuple(map(Const, defaults.value))
    cells = closure.items if isinstance(closure, VTuple) else ()
    if not all(isinstance(c, VCell) for c in cells):
        raise NotSpecialised("a cell that is not seen")
    return VClosure(code.value, g, d, {}, cells)  # type: ignore[arg-type]


def _isinstance(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[1], VTuple) and all(isinstance(c, Const) for c in args[1].items):
        args[1] = Const(tuple(c.value for c in args[1].items))  # type: ignore[union-attr]
    if isinstance(args[1], Const):
        r = fold_isinstance(sp.type_of(args[0]), args[1].value)
        return None if r is None else Const(r)
    return None


def _is(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[0], (VTuple, VClosure, VCoDual)) or isinstance(args[1], (VTuple, VClosure, VCoDual)):
        return Const(args[0] is args[1])
    r = fold_is(sp.type_of(args[0]), sp.type_of(args[1]))
    return None if r is None else Const(r)


def _is_not(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    r = _is(sp, args, g)
    return None if r is None else Const(not r.value)  # type: ignore[union-attr]


def _check_bound(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return None if isinstance(args[0], Const) and args[0].value is ops.UNBOUND else args[0]


SPECIAL: dict[Any, Callable[[Specialiser, list[AV], dict[str, Any]], AV | None]] = {
    ops.load_global: _load_global,
    getattr: _getattr,
    CoDual: _codual,
    At: _at,
    ops.build_tuple: _build_tuple,
    operator.getitem: _getitem,
    operator.add: _add,
    operator.iadd: _add,
    iter: _iter,
    tuple: _tuple,
    ops.list_to_tuple: _tuple,
    ops.list_append: _list_append,
    ops.list_extend: _list_extend,
    ops.map_add: _map_add,
    operator.setitem: _map_add,
    perhaps_none: _perhaps_none,
    reversed: _reversed,
    enumerate: _enumerate,
    ops.unpack: _unpack,
    len: _len,
    ops.make_cell: _make_cell,
    ops.cell_set: _cell_set,
    ops.cell_get: _cell_get,
    ops.make_function: _make_function,
    isinstance: _isinstance,
    operator.is_: _is,
    operator.is_not: _is_not,
    ops.check_bound: _check_bound,
}
