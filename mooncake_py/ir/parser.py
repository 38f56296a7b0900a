"""Reads the text form of the IR: see `ir.text`."""

from __future__ import annotations

import ast
import re
from typing import Any

from mooncake_py.errors import MooncakeError
from mooncake_py.ir.names import imported
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

    def imported(self, name: str) -> Any:
        try:
            return imported(name)
        except ImportError as e:
            raise self.fail(f"nothing is called {name!r}") from e

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
            return float(token) if token.lstrip("-") in ("inf", "nan") else _evaluate(token)
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
        return self.imported(token)

    def operand(self) -> Operand:
        return self.var() if self.kind() == "var" else Const(self.value())

    def callee(self) -> Operand:
        if self.kind() == "name" and self.peek() in ("complex", "frozenset"):
            return Const(self.imported(self.take()))
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
    return ast.literal_eval(token)
