"""`zip(*rows)` of a list whose length is not known: the columns, made where each is asked for.

What `zip` gives are tuples as long as the list, whose type tells no more than that they hold numbers. A column that is
only looked into, as any sequence is, may as well be a list.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.types import Arr, Bot, Known, Lst, T, Tup, is_scalar
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, ForNext, Operand, Var, term_operands
from mooncake_py.iterators import (
    all_columns,
    all_tuples,
    columns,
    four_columns,
    three_columns,
    tuple_columns,
    two_columns,
)
from mooncake_py.registry import drained

if TYPE_CHECKING:
    from mooncake_py.infer.state import State

_LOOK = frozenset({iter, len, zip, enumerate, reversed, any, all, ops.unpack, operator.contains})
_KEEP = frozenset({tuple, ops.call_ex})  # what gives a tuple, or hands its items on as one
_OF_TUPLES = {2: two_columns, 3: three_columns, 4: four_columns}


def by_columns(state: State, s: Call) -> Plan | None:
    """What a call of `zip(*rows)` comes down to; None where it is none, or the columns have to be tuples."""
    callee, rows, kwargs = s.args
    t = state.type_of(rows)
    if state.type_of(callee) != Known(zip) or not is_const(kwargs, None):
        return None
    if not isinstance(t, Lst) or t.cls is not list:
        return None
    uses = _Uses(state)
    users = uses.of(s.out)
    if len(users) != 1 or uses.ends_block(s.out):
        return None
    (user,) = users
    if uses.known(user.fn) is iter and len(user.args) == 1:
        if not _is_even(t.elem) or (items := uses.looped_over(user.out)) is None:
            return None
        if all(map(uses.is_sequence, items)):
            return Plan(Const(columns), (rows,))
        return Plan(Const(tuple_columns), (rows,)) if _holds_numbers(t.elem) else None
    if uses.known(user.fn) is map and len(user.args) == 2 and not user.kwargs:
        f = uses.known(user.args[0])
        plain = _is_even(t.elem) and f is not None and f not in _KEEP and drained.get(f) == 0
        return Plan(Const(columns), (rows,)) if plain and user.args[1] is s.out else None
    if is_const(user.fn, ops.unpack) and all(map(uses.is_sequence, uses.items(user.out))):
        if isinstance(t.elem, Tup):
            n = uses.known(user.args[1])
            return Plan(Const(_OF_TUPLES[n]), (rows,)) if n == len(t.elem.items) and n in _OF_TUPLES else None
        return Plan(Const(all_columns), (rows,)) if _is_even(t.elem) else None
    at_once = user.args[:1] == (s.out,) and state.shape.used_next.get(s.out) is user  # no row changes before
    if not at_once or drained.get(uses.known(user.fn)) != 0 or not _is_even(t.elem) or not _holds_numbers(t.elem):
        return None
    return Plan(Const(all_tuples), (rows,))


def _is_even(t: T) -> bool:
    """Has a row items of one type, wherever they stand? What is put into a list may not be seen yet."""
    if isinstance(t, Tup):
        return len(set(t.items)) == 1
    return isinstance(t, Bot) or (isinstance(t, Lst) and t.cls is list) or (isinstance(t, Arr) and bool(t.fewest))


def _holds_numbers(t: T) -> bool:
    """Are all items of such a row numbers, so that a tuple of any number of them has a type?"""
    if isinstance(t, Tup):
        return all(map(is_scalar, t.items))
    return (
        isinstance(t, Bot)
        or (isinstance(t, Lst) and isinstance(t.elem, Bot))
        or (isinstance(t, Lst) and is_scalar(t.elem))
        or (isinstance(t, Arr) and t.ndim == 1)
    )


class _Uses:
    """What is done with values."""

    def __init__(self, state: State):
        self.state = state
        self.blocks = list(state.shape.fn.blocks)

    def of(self, v: Operand) -> list[Call]:
        return [s for b in self.blocks for s in b.stmts if v in s.operands()]

    def ends_block(self, v: Operand) -> bool:
        return any(v in term_operands(b.term) for b in self.blocks)

    def known(self, v: Operand) -> Any:
        """The value of an operand, also of one that has not been reached yet."""
        d = self.state.shape.defs.get(v) if isinstance(v, Var) else None
        t = self.state.type_of(v)
        if d is not None and is_const(d.fn, ops.load_global) and not isinstance(t, Known):
            t = self.state.global_type(d.args[0].value)  # type: ignore[attr-defined,union-attr]
        return t.value if isinstance(t, Known) and hashable(t.value) else None

    def looped_over(self, it: Var) -> list[Var] | None:
        """What loops get out of an iterator that nothing else asks; None where something does."""
        loops = [b for b in self.blocks if isinstance(b.term, ForNext) and b.term.iterator is it]
        items = [self.state.shape.blocks[b.term.body.target].params[0] for b in loops]  # type: ignore[union-attr]
        others = [b for b in self.blocks if b not in loops and it in term_operands(b.term)]
        return items if loops and not others and not self.of(it) else None

    def items(self, unpacked: Var) -> list[Operand]:
        """The columns that are taken out of what was unpacked; it itself where it is used otherwise."""
        users = self.of(unpacked)
        reads = [s for s in users if is_const(s.fn, operator.getitem) and isinstance(s.args[1], Const)]
        return [s.out for s in reads] if len(reads) == len(users) and not self.ends_block(unpacked) else [unpacked]

    def is_sequence(self, v: Operand) -> bool:
        """Is all that is done with this value the same for lists and for tuples?"""
        return not self.ends_block(v) and all(self._looks(s, v) for s in self.of(v))

    def _looks(self, s: Call, v: Operand) -> bool:
        f = self.known(s.fn)
        if f is None or any(x is v for _, x in s.kwargs) or f in _KEEP:
            return False
        if f is operator.getitem:
            i = s.args[1]
            index = self.state.type_of(i)
            return s.args[0] is v and i is not v and (is_scalar(index) or isinstance(index, Bot))
        if f in _LOOK or drained.get(f) is not None:
            return True
        return isinstance(f, np.ufunc) or (getattr(f, "__module__", None) or "").partition(".")[0] == "numpy"
