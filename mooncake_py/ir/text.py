"""The text form of the IR: `to_text` prints it, `ir.parser.parse` reads it back.

    fn f(%0 x, %1 n) free(%2 c):
    bb0():
      %3 = builtins.range(%1)
      %4 = builtins.iter(%3)
      goto bb1(%0)
    bb1(%5):
      for %4, bb2(), bb3()
    bb2(%6 i):
      %7 = operator.mul(%5, 2.0)
      goto bb1(%7)
    bb3() handler bb4(%5):
      return %5

Functions, classes and modules print as the dotted name that finds them (the operations of `ir.ops` as
`ops.name`), literals by repr, and any other object as `<const 0>`, a place in the list `consts`. Positions are
printed on demand, as `@ line:column-line:column` after a statement. Two parses of one text are equal texts.
"""

from __future__ import annotations

import math
from typing import Any

from mooncake_py.ir.names import DOTTED, dotted
from mooncake_py.ir.nodes import (
    Branch,
    Call,
    CFGBlock,
    Edge,
    ForNext,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Switch,
    Terminator,
    Try,
    Var,
)


def to_text(fn: Function, consts: list[Any] | None = None, *, positions: bool = False) -> str:
    """The text of a function; objects without a text are appended to `consts` and printed as their place in it."""
    return _Printer([] if consts is None else consts, positions).function(fn)


def statement_text(s: Call) -> str:
    """The text of one statement."""
    return _Printer([], False).statement(s)


def head_line(fn: Function, consts: list[Any]) -> str:
    """The first line of a function's text."""
    return _Printer(consts, False).head(fn)


def block_lines(b: CFGBlock, consts: list[Any]) -> list[tuple[str, Call | Terminator | None]]:
    """The lines of a block's text, each with the statement or terminator it is."""
    p = _Printer(consts, False)
    return [
        (p.block_head(b), None),
        *((f"  {p.statement(s)}", s) for s in b.stmts),
        (f"  {p.terminator(b.term)}", b.term),
    ]


def _literal(x: Any) -> str | None:
    """The text of a value that is rebuilt from it exactly, None where that is not so."""
    t = type(x)
    if x is None or x is Ellipsis or t in (bool, int, str, bytes):
        return repr(x)
    if t is float:
        if math.isfinite(x):
            return repr(x)
        return "nan" if x != x else ("inf" if x > 0 else "-inf")
    if t is complex:
        return f"complex({_literal(x.real)}, {_literal(x.imag)})"
    if t in (tuple, frozenset):
        parts = [_literal(y) for y in (sorted(x, key=repr) if t is frozenset else x)]
        if any(p is None for p in parts):
            return None
        inner = ", ".join(p for p in parts if p is not None)
        if t is frozenset:
            return f"frozenset({{{inner}}})" if parts else "frozenset()"
        return f"({inner},)" if len(parts) == 1 else f"({inner})"
    return None


class _Printer:
    def __init__(self, consts: list[Any], positions: bool):
        self.consts, self.positions = consts, positions

    def const(self, x: Any) -> str:
        text = _literal(x)
        if text is None:
            text = dotted(x)
        if text is not None:
            return text
        for i, known in enumerate(self.consts):
            if known is x:
                return f"<const {i}>"
        self.consts.append(x)
        return f"<const {len(self.consts) - 1}>"

    def operand(self, x: Operand) -> str:
        return f"%{x.id}" if isinstance(x, Var) else self.const(x.value)

    def operands(self, xs: tuple[Operand, ...]) -> str:
        return ", ".join([self.operand(x) for x in xs])

    def definition(self, v: Var) -> str:
        return f"%{v.id} {v.name}" if v.name and v.name.isidentifier() else f"%{v.id}"

    def definitions(self, vs: tuple[Var, ...]) -> str:
        return ", ".join([self.definition(v) for v in vs])

    def edge(self, e: Edge) -> str:
        return f"bb{e.target}({self.operands(e.args)})"

    def pos(self, p: Pos) -> str:
        if not self.positions or p.line is None:
            return ""
        if p.col is None:
            return f"  @ {p.line}"
        return f"  @ {p.line}:{p.col}-{p.end_line}:{p.end_col}"

    def statement(self, s: Call) -> str:
        args = [self.operand(a) for a in s.args] + [f"{k}={self.operand(v)}" for k, v in s.kwargs]
        return f"{self.definition(s.out)} = {self.operand(s.fn)}({', '.join(args)}){self.pos(s.pos)}"

    def terminator(self, t: Terminator) -> str:
        match t:
            case Goto(edge=e):
                text = f"goto {self.edge(e)}"
            case Branch(cond=c, then=a, orelse=b):
                text = f"branch {self.operand(c)}, {self.edge(a)}, {self.edge(b)}"
            case ForNext(iterator=it, body=a, done=b):
                text = f"for {self.operand(it)}, {self.edge(a)}, {self.edge(b)}"
            case Switch(value=v, cases=cases, default=d):
                listed = ", ".join(f"{k}: {self.edge(e)}" for k, e in cases)
                text = f"switch {self.operand(v)} {{{listed}}} else {self.edge(d)}"
            case Try(body=a, handler=b):
                text = f"try {self.edge(a)}, {self.edge(b)}"
            case Return(value=v):
                text = f"return {self.operand(v)}"
            case Raise(exc=exc, cause=cause, reraise=reraise):
                text = "reraise" if reraise else "raise"
                text += f" {self.operand(exc)}" if exc is not None else ""
                text += f" from {self.operand(cause)}" if cause is not None else ""
        return text + self.pos(t.pos)

    def block_head(self, b: CFGBlock) -> str:
        handler = f" handler {self.edge(b.handler)}" if b.handler is not None else ""
        return f"bb{b.id}({self.definitions(b.params)}){handler}:"

    def block(self, b: CFGBlock) -> str:
        lines = [self.block_head(b)]
        lines += [f"  {self.statement(s)}" for s in b.stmts]
        lines.append(f"  {self.terminator(b.term)}")
        return "\n".join(lines)

    def head(self, fn: Function) -> str:
        name = fn.name if DOTTED.match(fn.name) else repr(fn.name)
        head = f"{'fn' if fn.kind == 'function' else fn.kind} {name}({self.definitions(fn.params)})"
        head += f" free({self.definitions(fn.free)})" if fn.free else ""
        head += f" at {fn.filename!r} {fn.firstline}" if self.positions else ""
        return head + ":"

    def function(self, fn: Function) -> str:
        return "\n".join([self.head(fn), *[self.block(b) for b in fn.blocks]]) + "\n"
