"""Random programs: rebuilt code must do what the original does, values, prints and exceptions alike."""

from __future__ import annotations

import random
from types import FunctionType
from typing import Any

import pytest

from tests.lowering.roundtrip import roundtrip

NAMES = "abcdef"
CAUGHT = ["ZeroDivisionError", "NameError", "Exception", "(KeyError, ZeroDivisionError)"]


class Writer:
    """Writes a function of nested loops, branches, swaps, handlers, closures and calls over small ints."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.fresh = 0
        self.budget = 45

    def name(self) -> str:
        return self.r.choice(NAMES)

    def atom(self) -> str:
        return self.name() if self.r.random() < 0.75 else str(self.r.randint(-3, 9))

    def expr(self, depth: int = 2) -> str:
        r = self.r
        if depth == 0 or r.random() < 0.3:
            return self.atom()
        kind = r.randrange(9)
        x, y = self.expr(depth - 1), self.expr(depth - 1)
        if kind < 4:
            return f"({x} {r.choice(['+', '-', '*', '&', '|', '^'])} {y}) % 97"
        if kind == 4:
            return f"note({x}, {y})"
        if kind == 5:
            return f"({x} if {self.cond()} else {y})"
        if kind == 6:
            return f"(xs[{self.atom()} % 5] + {y})"
        if kind == 7:
            return f"({x} // ({y} % 4)) % 97"
        return f"({x} and {y} or {self.atom()})"

    def cond(self) -> str:
        r = self.r
        x, y = self.atom(), self.atom()
        return r.choice(
            [
                f"{x} < {y}",
                f"{x} == {y}",
                f"not {x}",
                f"{x} in xs",
                f"{x} not in xs",
                f"{x} is None",
                f"{x}",
                f"0 < {x} <= {y}",
            ]
        )

    def block(self, indent: int, depth: int, loop: bool) -> None:
        for _ in range(self.r.randint(1, 4)):
            self.statement(indent, depth, loop)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, indent: int, depth: int, loop: bool) -> None:
        r = self.r
        self.budget -= 1
        kind = r.randrange(16)
        if self.budget <= 0 or depth == 0 or kind < 4:
            self.simple(indent, loop)
        elif kind < 7:
            self.put(indent, f"if {self.cond()}:")
            self.block(indent + 1, depth - 1, loop)
            if r.random() < 0.6:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, loop)
        elif kind < 9:
            self.put(indent, f"for {self.name()} in range({self.expr(1)} % 5):")
            self.block(indent + 1, depth - 1, True)
            if r.random() < 0.2:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, loop)
        elif kind < 11:
            self.fresh += 1
            k = f"k{self.fresh}"
            self.put(indent, f"{k} = 0")
            self.put(indent, f"while {k} < {r.randint(1, 4)} and {self.cond()}:")
            self.put(indent + 1, f"{k} += 1")
            self.block(indent + 1, depth - 1, True)
        elif kind < 13:
            self.put(indent, "try:")
            self.block(indent + 1, depth - 1, loop)
            if r.random() < 0.7:
                self.put(
                    indent,
                    f"except {r.choice(CAUGHT)}:",
                )
                self.block(indent + 1, depth - 1, loop)
                if r.random() < 0.3:
                    self.put(indent, "else:")
                    self.block(indent + 1, depth - 1, loop)
            else:
                self.put(indent, "finally:")
                self.put(indent + 1, f"note({self.atom()}, 1)")
        elif kind == 13:
            self.put(indent, f"with Ctx({self.atom()}) as {self.name()}:")
            self.block(indent + 1, depth - 1, loop)
        elif kind == 14:
            self.put(indent, f"{self.name()} = sum([{self.expr(1)} for {self.name()} in xs if {self.cond()}])")
        else:
            self.put(indent, f"def g({self.name()}=1):")
            self.put(indent + 1, f"nonlocal {'y' if r.random() < 0.5 else 'z'}")
            self.put(indent + 1, f"y{'' if 'y' in self.lines[-1] else '2'} = {self.expr(1)}")
            self.put(indent + 1, f"return {self.expr(1)} + z")
            self.put(indent, f"{self.name()} = g({self.atom()})")

    def simple(self, indent: int, loop: bool) -> None:
        r = self.r
        kind = r.randrange(14)
        a, b, c = self.name(), self.name(), self.name()
        if kind < 4:
            self.put(indent, f"{a} = {self.expr()}")
        elif kind < 6:
            self.put(indent, f"{a}, {b} = {b}, {a}")
        elif kind == 6:
            self.put(indent, f"{a}, {b}, {c} = {c}, {self.expr(1)}, {a}")
        elif kind == 7:
            self.put(indent, f"{a} += {self.expr(1)}")
        elif kind == 8:
            self.put(indent, f"xs[{self.atom()} % 5] = {self.expr(1)}")
        elif kind == 9:
            self.put(indent, f"{a} = {b} = {self.expr(1)}")
        elif kind == 10:
            self.put(indent, f"note({self.expr(1)}, {self.expr(1)})")
        elif kind == 11 and loop:
            self.put(indent, r.choice(["break", "continue"]))
        elif kind == 12 and r.random() < 0.3:
            self.put(indent, f"return {self.expr(1)}")
        elif kind == 13 and r.random() < 0.3:
            self.put(indent, f"del {a}")
        else:
            self.put(indent, f"z = {self.expr(1)}")

    def write(self) -> str:
        self.put(0, f"def f({', '.join(NAMES)}):")
        self.put(1, "xs = [1, 2, 3, 4, 5]")
        self.put(1, "y = z = 0")
        while self.budget > 0:
            self.statement(1, 4, False)
        self.put(1, f"return ({', '.join(NAMES)}, y, z, xs)")
        if self.r.random() < 0.2:
            self.lines[2:2] = ["    yield 1"]
            self.lines = [
                line.replace("note(", "(yield ", 1)
                if "(yield" not in line and self.r.random() < 0.2 and "    note(" in line
                else line
                for line in self.lines
            ]
        return "\n".join(self.lines) + "\n"


def observe(f: Any, log: list[Any], args: tuple[int, ...]) -> Any:
    log.clear()
    try:
        out = f(*args)
        if hasattr(out, "send"):
            items = []
            try:
                while True:
                    items.append(next(out))
            except StopIteration as e:
                out = (items, e.value)
        result = repr(out)
    except (ArithmeticError, NameError, LookupError, TypeError, ValueError) as e:
        tb, lines = e.__traceback__, []
        while tb is not None:
            lines.append(tb.tb_lineno)
            tb = tb.tb_next
        result = f"{type(e).__name__}: {e} {lines[1:]} {type(e.__context__).__name__}"
    return result, list(log)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("chunk", range(10))
def test_random_programs(chunk: int) -> None:
    compared = 0
    for seed in range(chunk * 12, chunk * 12 + 12):
        source = Writer(seed).write()
        log: list[Any] = []

        def note(x: Any, y: Any, log: list[Any] = log) -> Any:
            log.append((x, y))
            return (x * 3 + y) % 89

        class Ctx:
            def __init__(self, x: Any):
                self.x = x

            def __enter__(self) -> Any:
                note(self.x, "enter")
                return self.x

            def __exit__(self, kind: Any, *rest: Any) -> bool:
                note(1, kind.__name__ if kind else None)
                return kind is not None and self.x == 1

        namespace: dict[str, Any] = {"note": note, "Ctx": Ctx}
        try:
            code = compile(source, f"<random {seed}>", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        exec(code, namespace)
        f = namespace["f"]
        assert isinstance(f, FunctionType)
        g = roundtrip(f)
        for args in ((1, 2, 3, 4, 5, 6), (0, 0, 0, 0, 0, 0), (7, -3, 2, 0, 1, 9)):
            assert observe(f, log, args) == observe(g, log, args), source
        compared += 1
    assert compared >= 5
