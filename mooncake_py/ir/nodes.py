"""Nodes of the IR: immutable, SSA, block parameters instead of phi nodes.

A `Function` is a tuple of `CFGBlock`s, the first being the entry. A block has parameters, statements and
one terminator; an edge carries one argument per parameter of its target. There is one computing statement,
`Call`; what it may call is any Python callable, the language's own operations being the functions of
`operator` and of `mooncake_py.ir.ops`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, NewType, TypeVar, dataclass_transform

BlockId = NewType("BlockId", int)
"""Names a block (`bb3`); opaque, never a position."""


_Node = TypeVar("_Node")


@dataclass_transform(eq_default=False, frozen_default=True)
def node(cls: type[_Node]) -> type[_Node]:
    """A class of immutable nodes, compared by identity.

    That nobody assigns to a field is left to the type checker: what enforces it at run time triples the cost of a node.
    """
    return dataclass(slots=True, eq=False)(cls)


class Var:
    """An SSA value (`%12`). Compared by identity; `id` is only its printed name, unique in its function."""

    __slots__ = ("id", "name")

    def __init__(self, id: int, name: str | None = None):
        self.id = id
        self.name = name  # the user's name for it where there is one: a hint for readers, no meaning

    def __repr__(self) -> str:
        return f"%{self.id}"


class Const:
    """An operand known when the code is built. Two are the same constant when their values are the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


Operand = Var | Const


class Pos:
    """A source range in the user's file: 1-based lines, 0-based columns in UTF-8 bytes, as CPython counts.

    In code that was taken in from another function, `within` is that function's name and where it was called. Code of
    another file stands where it was called; `inner` has the file, the function and the place there, outermost first.
    `deep` counts the rule packs' functions for others, one in the other, that stand for the call here.
    """

    __slots__ = ("col", "deep", "end_col", "end_line", "inner", "line", "within")

    def __init__(
        self,
        line: int | None,
        end_line: int | None = None,
        col: int | None = None,
        end_col: int | None = None,
        within: tuple[str, Pos] | None = None,
        inner: tuple[tuple[str, str, Pos], ...] = (),
        deep: int = 0,
    ):
        self.line, self.end_line, self.col, self.end_col = line, end_line, col, end_col
        self.within, self.inner, self.deep = within, inner, deep

    def taken_in(self, name: str, call: Pos) -> Pos:
        """This place, as one of the function `name` that is taken in where it is called."""
        if self.within is not None:
            name, call = self.within[0], self.within[1].taken_in(name, call)
        return Pos(self.line, self.end_line, self.col, self.end_col, (name, call), self.inner)

    def deeper(self) -> Pos:
        """This place, in what stands for the call here."""
        return Pos(self.line, self.end_line, self.col, self.end_col, self.within, self.inner, self.deep + 1)

    def beside(self, call: Pos) -> Pos:
        """This place, as one of the function that the call stands in, whatever that was taken into."""
        if call.inner:
            *outer, (filename, name, _) = call.inner
            place = (*outer, (filename, name, self))
            return Pos(call.line, call.end_line, call.col, call.end_col, call.within, place)
        return self if call.within is None else self.taken_in(*call.within)

    def into(self, filename: str, name: str, place: Pos) -> Pos:
        """A place in a function of another file that is called here."""
        inner = (*self.inner, (filename, name, place))
        return Pos(self.line, self.end_line, self.col, self.end_col, self.within, inner)

    def chain(self) -> list[Pos]:
        """This place, and those of the calls that led here, in functions of this file that were taken in."""
        return [self] if self.within is None else [self, *self.within[1].chain()]

    def calls(self, function: str) -> list[tuple[int | None, str]]:
        """(line, function) of the calls that led here from `function`, which holds the code; the place itself last."""
        if self.within is None:
            return [(self.line, function)]
        name, call = self.within
        return [*call.calls(function), (self.line, name)]

    def __repr__(self) -> str:
        return f"{self.line}:{self.col}"


NO_POS = Pos(None)


@node
class Call:
    """`out = fn(*args, **kwargs)`."""

    out: Var
    fn: Operand
    args: tuple[Operand, ...]
    kwargs: tuple[tuple[str, Operand], ...] = ()
    pos: Pos = NO_POS

    def operands(self) -> tuple[Operand, ...]:
        if self.kwargs:
            return (self.fn, *self.args, *[v for _, v in self.kwargs])
        return (self.fn, *self.args)


@node
class Edge:
    """A jump to `target`; `args` become its parameters."""

    target: BlockId
    args: tuple[Operand, ...] = ()


@node
class Goto:
    edge: Edge
    pos: Pos = NO_POS


@node
class Branch:
    """Jump on the truth of `cond`, which is a bool or a value whose truth runs no user code."""

    cond: Operand
    then: Edge
    orelse: Edge
    pos: Pos = NO_POS


@node
class ForNext:
    """Advance `iterator`: its next item is the *first* parameter of `body`'s target, `body.args` the others."""

    iterator: Operand
    body: Edge
    done: Edge
    pos: Pos = NO_POS


@node
class Switch:
    """Jump to the case whose int equals `value`, else to `default` (made by the engine, never by the frontend)."""

    value: Operand
    cases: tuple[tuple[int, Edge], ...]
    default: Edge
    pos: Pos = NO_POS


@node
class Try:
    """Go to `body`, a block that nothing else enters; an exception raised in that block goes to `handler`.

    The exception is the *first* parameter of the handler's target, `handler.args` the others. This is the edge that
    `CFGBlock.handler` leaves out, as the transform wants it: the frontend and the lowering know the other form.
    """

    body: Edge
    handler: Edge
    pos: Pos = NO_POS


@node
class Return:
    value: Operand
    pos: Pos = NO_POS


@node
class Raise:
    """`raise exc from cause`; both None is the bare `raise`. `reraise`: as is, keeping the traceback it has."""

    exc: Operand | None
    cause: Operand | None = None
    reraise: bool = False
    pos: Pos = NO_POS


Terminator = Goto | Branch | ForNext | Switch | Try | Return | Raise


@node
class CFGBlock:
    """Statements run in order, then the terminator.

    `handler` is where an exception raised in this block goes; the exception is the first parameter of the
    handler's target, `handler.args` the others. A block with a handler holds at most one statement that can
    raise, and it is the last one (or the terminator); the handler's args are defined before it.
    """

    id: BlockId
    params: tuple[Var, ...]
    stmts: tuple[Call, ...]
    term: Terminator
    handler: Edge | None = None


@node
class Function:
    """A function over SSA blocks.

    `params` are the parameters in the order of the code object's locals (positional-only, positional,
    keyword-only, *args, **kwargs), `free` the *cell objects* of its free variables.
    """

    name: str
    filename: str
    params: tuple[Var, ...]
    free: tuple[Var, ...]
    blocks: tuple[CFGBlock, ...]
    kind: str = "function"  # or "generator"; "iterator" where an exception leaves that as it was, as those written in C
    firstline: int = 1
    _called: frozenset[int] | None = field(default=None, init=False, repr=False)

    def calls(self, *functions: object) -> bool:
        """Does a statement of it call one of these, as a constant?"""
        if self._called is None:
            self._called = frozenset([id(s.fn.value) for b in self.blocks for s in b.stmts if type(s.fn) is Const])  # type: ignore[misc]
        return not self._called.isdisjoint(map(id, functions))

    @property
    def entry(self) -> CFGBlock:
        return self.blocks[0]

    @property
    def suspends(self) -> bool:
        """Does a call of it make something that is asked for items?"""
        return self.kind != "function"


def edges(term: Terminator) -> tuple[Edge, ...]:
    """The edges of a terminator, in printed order."""
    kind = type(term)
    if kind is Goto:
        return (term.edge,)  # type: ignore[union-attr]
    if kind is Branch:
        return (term.then, term.orelse)  # type: ignore[union-attr]
    if kind is ForNext:
        return (term.body, term.done)  # type: ignore[union-attr]
    if kind is Switch:
        return (*[e for _, e in term.cases], term.default)  # type: ignore[union-attr]
    if kind is Try:
        return (term.body, term.handler)  # type: ignore[union-attr]
    return ()


def all_edges(b: CFGBlock) -> tuple[Edge, ...]:
    """The edges of a block: its terminator's and, as long as no terminator is a Try, that of its exceptions."""
    return edges(b.term) if b.handler is None else (*edges(b.term), b.handler)


def brings_value(term: Terminator, e: Edge) -> bool:
    """Does this edge of `term` bring an item or an exception, the first parameter of its target?"""
    kind = type(term)
    return (kind is ForNext and e is term.body) or (kind is Try and e is term.handler)  # type: ignore[union-attr]


def own_operands(term: Terminator) -> tuple[Operand, ...]:
    """The operands a terminator reads itself: without edge arguments."""
    kind = type(term)
    if kind is Goto or kind is Try:
        return ()
    if kind is Branch:
        return (term.cond,)  # type: ignore[union-attr]
    if kind is ForNext:
        return (term.iterator,)  # type: ignore[union-attr]
    if kind is Raise:
        return tuple([x for x in (term.exc, term.cause) if x is not None])  # type: ignore[union-attr]
    return (term.value,)  # type: ignore[union-attr]


def term_operands(term: Terminator) -> list[Operand]:
    """The operands a terminator reads, edge arguments last."""
    kind = type(term)
    if kind is Goto:
        return list(term.edge.args)  # type: ignore[union-attr]
    if kind is Branch:
        return [term.cond, *term.then.args, *term.orelse.args]  # type: ignore[union-attr]
    out = list(own_operands(term))
    for e in edges(term):
        out += e.args
    return out


class Fresh:
    """Counters for ids: they belong to the builder, so that output is deterministic."""

    __slots__ = ("_blocks", "_vars", "first_var")

    def __init__(self, first_var: int = 0, first_block: int = 0):
        self.first_var = first_var
        self._vars = itertools.count(first_var)
        self._blocks = itertools.count(first_block)

    def var(self, name: str | None = None) -> Var:
        return Var(next(self._vars), name)

    def block(self) -> BlockId:
        return BlockId(next(self._blocks))
