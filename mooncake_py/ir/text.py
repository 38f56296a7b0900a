"""The text form of the IR: `to_text` prints, `parse` reads it back.

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

import builtins
import importlib
import math
import re
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from mooncake_py.errors import MooncakeError
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import (
    NO_POS,
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
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


class ParseError(MooncakeError):
    """The text is not IR; the message shows the line."""


# -- printing -------------------------------------------------------------------------------------------------


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


def _imported(name: str) -> Any:
    """The object a dotted name stands for; ParseError when it stands for nothing."""
    first, _, rest = name.partition(".")
    if first == "ops":
        found: Any = ops
    elif not rest and hasattr(builtins, name):
        return getattr(builtins, name)
    else:
        try:
            found = importlib.import_module(first)
        except ImportError as e:
            raise ParseError(f"no module {first!r} for {name!r}") from e
    path = first
    for part in rest.split(".") if rest else ():
        path += "." + part
        if hasattr(found, part):
            found = getattr(found, part)
        else:
            try:
                found = importlib.import_module(path)
            except ImportError as e:
                raise ParseError(f"nothing is called {name!r}") from e
    return found


_NAMES: dict[int, str] = {id(f): f"ops.{n}" for n, f in vars(ops).items() if not n.startswith("_")}
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


def _dotted(x: Any) -> str | None:
    """A dotted name that imports x, None where there is none."""
    known = _NAMES.get(id(x))
    if known is not None:
        return known
    if isinstance(x, ModuleType):
        name = x.__name__
        return name if sys.modules.get(name) is x and _DOTTED.match(name) else None
    qualname, module = getattr(x, "__qualname__", None), getattr(x, "__module__", None)
    if not isinstance(x, type | FunctionType | BuiltinFunctionType) and not (qualname or getattr(x, "__name__", None)):
        return None
    if not callable(x):
        return None
    if module == "_operator":
        module = "operator"
    for name in (
        f"{module}.{qualname}",
        f"{module}.{getattr(x, '__name__', '')}",
        f"numpy.{getattr(x, '__name__', '')}",
    ):
        if _DOTTED.match(name) and name.partition(".")[0] in sys.modules:
            try:
                if _imported(name) is x:
                    return name
            except ParseError:
                continue
    return None


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
            text = _dotted(x)
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
        name = fn.name if _DOTTED.match(fn.name) else repr(fn.name)
        head = f"{'fn' if fn.kind == 'function' else fn.kind} {name}({self.definitions(fn.params)})"
        head += f" free({self.definitions(fn.free)})" if fn.free else ""
        head += f" at {fn.filename!r} {fn.firstline}" if self.positions else ""
        return head + ":"

    def function(self, fn: Function) -> str:
        return "\n".join([self.head(fn), *[self.block(b) for b in fn.blocks]]) + "\n"


# -- parsing --------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<var>%\d+)
      | (?P<block>bb\d+)(?=\()
      | (?P<const><const\ \d+>)
      | (?P<string>b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+\.?\d*(?:e[+-]?\d+)?j?|-inf\b|-nan\b)
      | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
      | (?P<ellipsis>\.\.\.)
      | (?P<op>[(){},:=@-])
    )""",
    re.VERBOSE,
)
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "Ellipsis": Ellipsis}


def parse(text: str, consts: list[Any] | None = None) -> Function:
    """The function a text stands for; `<const i>` is `consts[i]`."""
    return _Parser(text, consts or []).function()


class _Parser:
    def __init__(self, text: str, consts: list[Any]):
        self.lines = [
            (n, line)
            for n, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
        self.consts = consts
        self.vars: dict[int, Var] = {}
        self.known: dict[Any, Const] = {}
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        self.line = (0, "")

    def fail(self, what: str) -> ParseError:
        return ParseError(f"line {self.line[0]}: {what} in {self.line[1].strip()!r}")

    def scan(self, line: tuple[int, str]) -> None:
        self.line, self.tokens, self.at = line, [], 0
        text = line[1].rstrip()
        i = 0
        while i < len(text):
            m = _TOKEN.match(text, i)
            if m is None:
                raise self.fail(f"cannot read {text[i : i + 12]!r}")
            assert m.lastgroup is not None
            self.tokens.append((m.lastgroup, m.group(m.lastgroup)))
            i = m.end()

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def take(self, expected: str | None = None) -> str:
        if self.at >= len(self.tokens):
            raise self.fail(f"expected {expected or 'more'!r}")
        token = self.tokens[self.at][1]
        if expected is not None and token != expected:
            raise self.fail(f"expected {expected!r}, found {token!r}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token and self.kind() in ("op", "name"):
            self.at += 1
            return True
        return False

    def var(self) -> Var:
        if self.kind() != "var":
            raise self.fail(f"expected a variable, found {self.peek()!r}")
        number = int(self.take()[1:])
        v = self.vars.get(number)
        if v is None:
            v = self.vars[number] = Var(number)
        return v

    def definition(self) -> Var:
        v = self.var()
        if self.kind() == "name":
            v.name = self.take()
        return v

    def definitions(self) -> tuple[Var, ...]:
        self.take("(")
        out = []
        while not self.accept(")"):
            out.append(self.definition())
            if self.peek() != ")":
                self.take(",")
        return tuple(out)

    def value(self) -> Any:
        """A constant: literal, dotted name or place in consts."""
        kind, token = self.kind(), self.take()
        if kind == "number":
            return float(token) if token.lstrip("-") in ("inf", "nan") else _number(token)
        if kind == "string":
            return _evaluate(token)
        if kind == "ellipsis":
            return Ellipsis
        if kind == "const":
            return self.consts[int(token[7:-1])]
        if token == "(":
            items = []
            while not self.accept(")"):
                items.append(self.value())
                if self.peek() != ")":
                    self.take(",")
            return tuple(items)
        if kind != "name":
            raise self.fail(f"expected an operand, found {token!r}")
        if token in ("inf", "nan"):
            return float(token)
        if token in _WORDS:
            return _WORDS[token]
        if token == "complex" and self.peek() == "(":
            return complex(*self.value())
        if token == "frozenset" and self.peek() == "(":
            self.take("(")
            items = []
            if self.accept("{"):
                while not self.accept("}"):
                    items.append(self.value())
                    if self.peek() != "}":
                        self.take(",")
            self.take(")")
            return frozenset(items)
        return _imported(token)

    def operand(self) -> Operand:
        return self.var() if self.kind() == "var" else Const(self.value())

    def callee(self) -> Operand:
        if self.kind() == "name" and self.peek() in ("complex", "frozenset"):
            return Const(_imported(self.take()))
        return self.operand()

    def edge(self) -> Edge:
        if self.kind() != "block":
            raise self.fail(f"expected a block, found {self.peek()!r}")
        target = BlockId(int(self.take()[2:]))
        self.take("(")
        args = []
        while not self.accept(")"):
            args.append(self.operand())
            if self.peek() != ")":
                self.take(",")
        return Edge(target, tuple(args))

    def pos(self) -> Pos:
        if not self.accept("@"):
            return NO_POS
        line = int(self.take())
        if not self.accept(":"):
            return Pos(line)
        col = int(self.take())
        end_line = -int(self.take()) if self.peek().startswith("-") and self.peek() != "-" else self._after_dash()
        self.take(":")
        return Pos(line, end_line, col, int(self.take()))

    def _after_dash(self) -> int:
        self.take("-")
        return int(self.take())

    def statement(self) -> Call:
        out = self.definition()
        self.take("=")
        fn = self.callee()
        self.take("(")
        args: list[Operand] = []
        kwargs: list[tuple[str, Operand]] = []
        while not self.accept(")"):
            if self.kind() == "name" and self.tokens[self.at + 1][1] == "=":
                name = self.take()
                self.take("=")
                kwargs.append((name, self.operand()))
            else:
                args.append(self.operand())
            if self.peek() != ")":
                self.take(",")
        return Call(out, fn, tuple(args), tuple(kwargs), self.pos())

    def terminator(self) -> Terminator:
        word = self.take()
        if word == "goto":
            return Goto(self.edge(), self.pos())
        if word == "try":
            body = self.edge()
            self.take(",")
            return Try(body, self.edge(), self.pos())
        if word == "return":
            return Return(self.operand(), self.pos())
        if word in ("raise", "reraise"):
            more = self.at < len(self.tokens) and self.peek() != "@"
            exc = self.operand() if more else None
            cause = self.operand() if self.accept("from") else None
            return Raise(exc, cause, word == "reraise", self.pos())
        value = self.operand()
        if word == "switch":
            self.take("{")
            cases = []
            while not self.accept("}"):
                number = int(self.take())
                self.take(":")
                cases.append((number, self.edge()))
                if self.peek() != "}":
                    self.take(",")
            self.take("else")
            return Switch(value, tuple(cases), self.edge(), self.pos())
        self.take(",")
        first = self.edge()
        self.take(",")
        second = self.edge()
        if word == "branch":
            return Branch(value, first, second, self.pos())
        if word == "for":
            return ForNext(value, first, second, self.pos())
        raise self.fail(f"no terminator is called {word!r}")

    def function(self) -> Function:
        if not self.lines:
            raise ParseError("no text")
        self.scan(self.lines[0])
        word = self.take()
        name = _evaluate(self.take()) if self.kind() == "string" else self.take()
        params = self.definitions()
        free = self.definitions() if self.accept("free") else ()
        filename, firstline = "<ir>", 1
        if self.accept("at"):
            filename, firstline = _evaluate(self.take()), int(self.take())
        blocks: list[CFGBlock] = []
        i = 1
        while i < len(self.lines):
            i = self.block(i, blocks)
        kind = "function" if word == "fn" else word
        return Function(name, filename, params, free, tuple(blocks), kind, firstline)

    def block(self, i: int, blocks: list[CFGBlock]) -> int:
        self.scan(self.lines[i])
        if self.kind() != "block":
            raise self.fail("expected a block")
        id = BlockId(int(self.take()[2:]))
        params = self.definitions()
        handler = self.edge() if self.accept("handler") else None
        self.take(":")
        stmts: list[Call] = []
        while True:
            i += 1
            if i >= len(self.lines):
                raise self.fail("a block ends without a terminator")
            self.scan(self.lines[i])
            if self.kind() == "var":
                stmts.append(self.statement())
            else:
                break
            self.end()
        term = self.terminator()
        self.end()
        blocks.append(CFGBlock(id, params, tuple(stmts), term, handler))
        return i + 1

    def end(self) -> None:
        if self.at != len(self.tokens):
            raise self.fail(f"{self.peek()!r} is too much")


def _evaluate(token: str) -> Any:
    import ast

    return ast.literal_eval(token)


_number = _evaluate
