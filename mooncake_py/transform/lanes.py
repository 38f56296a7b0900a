"""Lanes: how the tangent of each value travels through derived code.

A value's tangent has the shape of its type. Every leaf is one of

- NONE: no derivative;
- NUM: a number, its cotangent a local variable of the pullback (zero is 0.0);
- ARR: an array nobody can write to, its cotangent a local variable of the pullback (zero is None);
- VAL: one of several things without identity, numbers and tuples of such: as ARR;
- REF: a thing with identity that others see, its fdata a second value in the forward code;
- ANY: not known before it runs: fdata (perhaps None) beside it, and a cotangent variable (zero is None).

A tuple has the tuple of its items' lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mooncake_py.infer.memory import Memory
from mooncake_py.infer.parts import is_plain
from mooncake_py.infer.types import (
    Arr,
    Cell,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    parts_of,
)
from mooncake_py.ir.nodes import Const, Operand, Var
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CellShadow, DictShadow, ListShadow, ObjectShadow

NONE, NUM, ARR, VAL, REF, ANY = "none", "num", "arr", "val", "ref", "any"

Tree = str | tuple["Tree", ...]
Path = tuple[int, ...]

ZERO = Const(0.0)
NULL = Const(None)


def tree_of(t: T, shared: bool) -> Tree:
    """The lanes of a value of this type; `shared` as its memory class is."""
    if not t.active:
        return NONE
    match t:
        case Real():
            return NUM
        case Obj():
            return REF
        case Inst():
            return NUM if is_scalar(t) else ANY
        case Arr():
            return REF if shared else ARR
        case Lst() | Dct() | Cell() | Fn():
            return REF
        case Meth():
            return ANY if t.by_value else REF
        case Tup(items=items):
            trees = tuple(tree_of(x, shared) for x in items)
            return NONE if all(x == NONE for x in trees) else trees
        case Union(options=options):  # fdata of what has no derivative is None
            kinds = {tree_of(x, shared) for x in options if not isinstance(x, Tup)} - {NONE}
            tuples = [x for x in options if isinstance(x, Tup)]
            if any(x.active for x in tuples) or (kinds == {NUM} and tuples):
                # A call that is not seen gives the numbers in a constant tuple cotangents.
                return VAL if is_plain(t) and not _holds_code(t) else ANY
            return kinds.pop() if kinds in ({REF}, {NUM}) else ANY
        case Top():
            return ANY
    return NONE


def _holds_code(t: T) -> bool:
    """Is there a function or class in it, which others may know more of?"""
    return (isinstance(t, Known) and callable(t.value)) or any(map(_holds_code, parts_of(t)))


def leaves(tree: Tree, path: Path = ()) -> list[tuple[Path, str]]:
    """The leaves that carry a tangent: there are some where the tree is not NONE."""
    if isinstance(tree, tuple):
        return [x for i, sub in enumerate(tree) for x in leaves(sub, (*path, i))]
    return [] if tree == NONE else [(path, tree)]


def has_fdata(tree: Tree) -> bool:
    """Does any of its tangent travel beside the value?"""
    if isinstance(tree, tuple):
        return any(map(has_fdata, tree))
    return tree in (REF, ANY)


def lanes_given(types: Sequence[T]) -> list[tuple[int, Path]]:
    """The places of the fdata that a function is given with arguments of these types."""
    return [(i, path) for i, t in enumerate(types) for path, kind in leaves(tree_of(t, True)) if kind in (REF, ANY)]


def subtree(tree: Tree, path: Path) -> Tree:
    for i in path:
        if not isinstance(tree, tuple):
            return tree if tree in (ANY, VAL) else NONE
        tree = tree[i]
    return tree


def part_of(t: T | None, path: Path) -> T | None:
    """The type of part of a value of this type, None where it is not known."""
    for i in path:
        t = t.items[i] if isinstance(t, Tup) else None
    return t


def may_be_whole(t: T | None) -> bool:
    """Is this an array that may turn out to be one of whole numbers, which has no fdata?"""
    return isinstance(t, Arr) and t.dtype is None


def fdata_type(t: T | None, path: Path) -> T:
    """The type of the fdata of (part of) an active value of this type."""
    t = part_of(t, path)
    if isinstance(t, Arr) and not may_be_whole(t):
        return Inst(Shadow)
    if isinstance(t, Lst):
        return Inst(ListShadow)
    if isinstance(t, Dct):
        return Inst(DictShadow)
    if isinstance(t, Cell):
        return Inst(CellShadow)
    if isinstance(t, Obj):
        return Inst(ObjectShadow) if t.items is None else fdata_type(t.items, ())
    return Top()


_NO_VALUE = Known(None)


class Lanes:
    """Trees of operands."""

    def __init__(self, types: dict[Var, T], memory: Memory):
        self.types = types
        self.memory = memory
        self.trees: dict[Var, Tree] = {}

    def tree(self, v: Operand) -> Tree:
        t = self.trees.get(v)  # type: ignore[arg-type]
        if t is None:
            if isinstance(v, Const):
                return NONE
            t = self.trees[v] = tree_of(self.types.get(v, _NO_VALUE), self.memory.is_shared(v))
        return t
