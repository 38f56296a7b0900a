"""What is refused because derived code does it otherwise, as far as that is seen: `list.sort` by a key that looks at
the list, which is empty while Python sorts it, and `tee` of a branch of a `tee`, which Python copies.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.state import State
from mooncake_py.infer.types import Fn, Known, Meth
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Operand, Var


def check_key(state: State, s: Call, xs: Operand) -> None:
    """Refuse a key that reads the list by its own name for it, or as the same attribute of the same object."""
    key = dict(s.kwargs).get("key")
    if key is None or not isinstance(xs, Var):
        return
    seen, names = _seen(state, key)
    read = state.shape.defs.get(xs)
    if read is not None and is_const(read.fn, getattr) and read.args[0] in seen:
        names &= {read.args[1].value}  # type: ignore[union-attr]
    else:
        names.clear()
    if xs in seen or names:
        raise UnsupportedError(
            "list.sort with a key that reads the list, which is empty while it is sorted,",
            state.fn.filename,
            s.pos.line,
            "let it read a copy: `seen = list(xs)` before",
        )


def _seen(state: State, key: Operand) -> tuple[set[Operand], set[str]]:
    """What a function, and those that it holds, can read of the variables around them, and the names they use."""
    seen: set[Operand] = set()
    names: set[str] = set()
    work = [key]
    while work:
        v = work.pop()
        if v in seen:
            continue
        seen.add(v)
        t = state.type_of(v)
        if isinstance(t, Fn):
            names.update(t.code.co_names)
            work += [x for site in t.sites if state.shape.defs.get(site.out) == site for x in _held(state, site)]
        elif isinstance(t, Meth) and t.is_read_as(v) and hasattr(t.func, "__code__"):
            names.update(t.func.__code__.co_names)
            work.append(t.receiver)
    return seen, names


def _held(state: State, site: Call) -> Iterator[Operand]:
    """What the cells hold that a function is made with, by all names that it has here."""
    closure = state.shape.defs.get(site.args[4])  # type: ignore[arg-type]
    cells = () if closure is None else closure.args
    for s in state.shape.statements if cells else ():
        if is_const(s.fn, ops.cell_get) and s.args[0] in cells:
            yield s.out
        elif is_const(s.fn, ops.cell_set) and s.args[0] in cells:
            yield s.args[1]
        elif is_const(s.fn, ops.make_cell) and s.out in cells:
            yield s.args[0]


def check_tee(state: State, s: Call, it: Operand) -> None:
    """Refuse to make branches of what is one already, and is asked beside them."""
    defs = state.shape.defs
    item = made = defs.get(it)  # type: ignore[arg-type]
    while made is not None and (is_const(made.fn, ops.unpack) or is_const(made.fn, operator.getitem)):
        made = defs.get(made.args[0])  # type: ignore[arg-type]
    if item is None or made is item or made is None or state.type_of(made.fn) != Known(itertools.tee):
        return
    names = {u.out for u in state.shape.statements if _is_same_item(u, item)}
    if sum(not names.isdisjoint(u.operands()) for u in state.shape.statements) > 1:
        raise UnsupportedError(
            "itertools.tee of what a tee gave, and is asked for items itself,",
            state.fn.filename,
            s.pos.line,
            "make all of them at once: `a, b, c = itertools.tee(xs, 3)`",
        )


def _is_same_item(s: Call, item: Call) -> bool:
    """Does a statement read the same item of a tuple as another one?"""
    same = is_const(s.fn, operator.getitem) and s.args[0] is item.args[0]
    return same and getattr(s.args[1], "value", s) == getattr(item.args[1], "value", item)
