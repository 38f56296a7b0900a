"""Random Python programs, each from a seed: what a user could have written, bounded and mostly smooth.

`program(seed)` is a module's source with a function `main`, and arguments for it; `check(program)` compares the
engine with plain Python and with central differences. For long runs: `python -m tests.programs --count 5000 --seed 1`.
"""

from __future__ import annotations

import argparse
import copy
import linecache
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.harness import bits, directions_for, inner, leaves, magnitude, random_like, same, shared_groups, slopes

HEADER = """import contextlib
import math

import numpy as np

K = np.array([0.3, -0.8, 1.1, 0.5, -0.4, 0.9])


class Manager:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.left = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.left += 1
        return kind is not None and issubclass(kind, self.kinds)
"""
RTOL = 1e-5


@dataclass(frozen=True)
class Program:
    seed: int
    source: str
    args: tuple[Any, ...]

    def function(self, directory: Path) -> Callable[..., Any]:
        """`main`, out of a file of its own."""
        path = directory / f"program_{self.seed}.py"
        path.write_text(self.source)
        linecache.checkcache(str(path))
        scope: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(self.source, str(path), "exec"), scope)
        return scope["main"]


# --- the generator ------------------------------------------------------------------------------------------------
#
# Names have kinds: "f" float, "i" int, ("a", n) array, ("m", r, c) matrix, "l" list of floats (two at least), "la" list
# of arrays of the program's length, "d" dict of floats with the keys "p" and "q", "t" tuple (float, array).


class Writer:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.n = self.rng.choice([3, 4, 5, 6, 6])
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0
        self.kinds: dict[str, Any] = {}
        self.fixed: set[str] = set()  # names that may be read and written into, but not bound
        self.loops = 0
        self.tries = 0  # in how many try statements are we?
        self.inside = ""  # the innermost loop, "for" or "while"
        self.growing = True  # may lists grow here?
        self.nested = False  # are these the statements of a local function?
        self.helpers: list[tuple[str, str]] = []
        self.local: dict[str, int] = {}  # local functions of floats: how many
        self.result = "f"

    # names and lines

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """What is bound in a block is not known after it."""
        self.emit(header)
        kinds, local, here = dict(self.kinds), dict(self.local), len(self.lines)
        self.indent += 1
        yield
        if len(self.lines) == here:
            self.emit("pass")
        self.indent -= 1
        self.kinds, self.local = kinds, local

    def names(self, kind: Any, *, bound: bool = False) -> list[str]:
        return [x for x, k in self.kinds.items() if k == kind and not (bound and x in self.fixed)]

    def maybe(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, xs: Any) -> Any:
        return self.rng.choice(list(xs))

    def const(self) -> str:
        return f"{self.rng.uniform(-1.5, 1.5):.3f}"

    def index(self, n: int) -> str:
        ints = self.names("i")
        if ints and self.maybe(0.5):
            return f"{self.pick(ints)} % {n}"
        return str(self.rng.randrange(-n, n))

    # expressions

    def float(self, depth: int = 2) -> str:
        if depth <= 0 or self.maybe(0.15):
            return self.float_atom()
        rec = lambda: self.float(depth - 1)  # noqa: E731
        arr = lambda: self.array(self.n, depth - 1)  # noqa: E731
        form = self.rng.randrange(26)
        if form < 3:
            return f"({rec()} {self.pick('+-')} {rec()})"
        if form < 5:
            return f"{self.pick(['math.sin', 'math.tanh', 'np.sin', 'np.tanh', 'math.cos', 'np.cos'])}({rec()})"
        if form < 8:
            return f"math.tanh({rec()}) * {rec()}"
        plain = [
            lambda: f"{rec()} / (1.5 + {self.float_atom()} ** 2)",
            lambda: f"math.sqrt(1.0 + {rec()} ** 2)",
            lambda: f"np.exp(-({rec()} ** 2))",
            lambda: f"math.exp(math.sin({rec()}))",
            lambda: f"np.log1p({rec()} ** 2)",
            lambda: f"-({rec()})",
            lambda: f"np.sum({arr()})",
            lambda: f"{self.array_name()}.sum()",
            lambda: f"{self.array_name()}.mean()",
            lambda: f"np.mean({arr()})",
            lambda: f"np.dot({arr()}, {self.array_name()})",
            lambda: f"{self.array_name()} @ {self.array_name()}",
            lambda: f"({rec()} if {self.condition()} else {rec()})",
            lambda: self.call(depth),
            lambda: self.call(depth),
            lambda: f"sum({self.pick(self.names('l'))})" if self.names("l") else rec(),
            lambda: f"{self.pick(['min', 'max'])}({rec()}, {rec()})",
            lambda: f"float({rec()})",
        ]
        return self.pick(plain)()

    def float_atom(self) -> str:
        forms = [self.const]
        if self.names("f"):
            forms += [lambda: self.pick(self.names("f"))] * 4
        if self.names("i"):
            forms.append(lambda: f"0.3 * {self.pick(self.names('i'))}")
        forms += [lambda: f"{self.array_name()}[{self.index(self.n)}]"] * 2
        if self.names("l"):
            forms.append(lambda: f"{self.pick(self.names('l'))}[{self.rng.choice([0, 1, -1])}]")
        if self.names("d"):
            forms.append(lambda: f'{self.pick(self.names("d"))}["{self.pick("pq")}"]')
        if self.names("t"):
            forms.append(lambda: f"{self.pick(self.names('t'))}[0]")
        if self.names("la"):
            forms.append(lambda: f"{self.pick(self.names('la'))}[{self.rng.choice([0, -1])}][{self.index(self.n)}]")
        for m, k in self.kinds.items():
            if k[0] == "m":
                forms.append(lambda m=m, k=k: f"{m}[{self.index(k[1])}, {self.index(k[2])}]")
        return self.pick(forms)()

    def array_name(self) -> str:
        xs = self.names(("a", self.n))
        forms = [lambda: self.pick(xs)] * 6 if xs else [lambda: f"K[:{self.n}]"]
        if self.names("la"):
            forms.append(lambda: f"{self.pick(self.names('la'))}[{self.rng.choice([0, 1])}]")
        if self.names("t"):
            forms.append(lambda: f"{self.pick(self.names('t'))}[1]")
        return self.pick(forms)()

    def array(self, n: int, depth: int = 2) -> str:
        if depth <= 0 or self.maybe(0.15):
            return self.array_atom(n)
        rec = lambda: self.array(n, depth - 1)  # noqa: E731
        flt = lambda: self.float(depth - 1)  # noqa: E731
        forms = [
            lambda: f"({rec()} {self.pick('+-')} {rec()})",
            lambda: f"({rec()} + {flt()})",
            lambda: f"np.tanh({rec()})",
            lambda: f"np.sin({rec()})",
            lambda: f"{rec()} * np.tanh({flt()})",
            lambda: f"np.tanh({rec()}) * {rec()}",
            lambda: f"{rec()} / (1.5 + {self.array_atom(n)} ** 2)",
            lambda: f"np.array([{', '.join(self.float_atom() for _ in range(n))}])",
            lambda: f"np.where({self.array_atom(n)} > {self.const()}, {rec()}, {rec()})",
            lambda: f"({rec()})[::-1]",
            lambda: f"({rec()}).copy()",
            lambda: f"0.4 * np.cumsum({rec()})",
            lambda: f"np.outer({self.array_name()}, {rec()})[{self.rng.randrange(3)}]",
            lambda: f"np.maximum({rec()}, {self.const()})",
            lambda: f"np.full({n}, {flt()})",
            lambda: f"np.zeros({n})",
        ]
        return self.pick(forms)()

    def array_atom(self, n: int) -> str:
        forms = [lambda x=x: x for x in self.names(("a", n))] or [lambda: f"K[:{n}]"]
        if n == self.n:
            forms += [self.array_name]
        elif n < self.n:
            lo = self.rng.randrange(self.n - n + 1)
            forms += [lambda: f"{self.array_name()}[{lo}:{lo + n}]"] * 2
        return self.pick(forms)()

    def condition(self) -> str:
        forms = [lambda: f"{self.float_atom()} {self.pick('<>')} {self.const()}"] * 3
        if self.names("i"):
            forms += [
                lambda: f"{self.pick(self.names('i'))} % 2 == {self.rng.randrange(2)}",
                lambda: f"{self.pick(self.names('i'))} < {self.rng.randrange(1, 4)}",
            ]
        if self.names("l"):
            forms.append(lambda: f"len({self.pick(self.names('l'))}) > {self.rng.randrange(2, 5)}")
        if self.maybe(0.15):
            return f"{self.pick(forms)()} {self.pick(['and', 'or'])} not {self.pick(forms)()}"
        return self.pick(forms)()

    def call(self, depth: int) -> str:
        """A float, from a local function or a function of the module."""
        if self.local and self.maybe(0.6):
            name = self.pick(self.local)
            return f"{name}({', '.join(self.float(depth - 2) for _ in range(self.local[name]))})"
        if not self.helpers or self.loops > 1:
            return self.float(depth - 1)
        name, form = self.pick(self.helpers)
        x, a = self.float(depth - 1), self.array_name() if self.maybe(0.7) else self.array(self.n, depth - 1)
        if form == "recursive":
            return f"{name}({x}, {a}, {self.rng.randrange(1, 4)})"
        forms = [f"{name}({x}, {a})", f"{name}({x}, {a}, k={self.float_atom()})", f"{name}(a={a}, x={x})"]
        if form == "rest":
            forms += [f"{name}({x}, {a}, {self.float_atom()}, {self.float_atom()}, {self.float_atom()})"] * 2
            forms.append(f"{name}({x}, {a}, *({self.float_atom()}, {self.float_atom()}))")
        return self.pick(forms)

    # statements

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            self.statement(depth)

    def target(self, kind: Any, stem: str) -> str:
        """A name to bind: an old one of this kind, or a new one."""
        old = self.names(kind, bound=True)
        name = self.pick(old) if old and self.maybe(0.5) else self.fresh(stem)
        return name

    def bind(self, kind: Any, stem: str, value: str) -> str:
        name = self.target(kind, stem)
        self.emit(f"{name} = {value}")
        self.kinds[name] = kind
        return name

    def statement(self, depth: int) -> None:
        simple = [
            self.assign_float, self.assign_float, self.assign_array, self.assign_array, self.unpack, self.swap,
            self.augment, self.augment, self.write, self.write, self.write, self.write, self.view, self.view,
            self.matrix, self.make_list, self.use_list, self.array_list, self.dictionary, self.carry_tuple,
            self.call_statement,
        ]  # fmt: skip
        compound = [
            self.branch, self.branch, self.loop, self.loop, self.loop, self.loop, self.while_loop, self.accumulate,
            self.local_function, self.leave, self.protected, self.protected, self.managed,
        ]  # fmt: skip
        self.pick(compound if depth > 0 and self.maybe(0.42) else simple)()

    def assign_float(self) -> None:
        self.bind("f", "x", self.float(3))

    def assign_array(self) -> None:
        self.bind(("a", self.n), "a", self.array(self.n, 3))

    def unpack(self) -> None:
        form = self.rng.randrange(4)
        if form == 0 and self.names("t"):
            x, a = self.target("f", "x"), self.target(("a", self.n), "a")
            self.emit(f"{x}, {a} = {self.pick(self.names('t'))}")
            self.kinds |= {x: "f", a: ("a", self.n)}
        elif form == 1:
            first, others = self.fresh("x"), self.fresh("l")
            self.emit(f"{first}, *{others} = {self.array_name()}")
            self.kinds |= {first: "f", others: "l"}
        else:
            x, y = self.fresh("x"), self.fresh("x")
            self.emit(f"{x}, {y} = {self.float()}, {self.float()}")
            self.kinds |= {x: "f", y: "f"}

    def swap(self) -> None:
        for kind in self.rng.sample(["f", ("a", self.n), "l"], 3):
            xs = self.names(kind, bound=True)
            if len(xs) > 1:
                x, y = self.rng.sample(xs, 2)
                self.emit(f"{x}, {y} = {y}, {x}")
                return
        self.assign_float()

    def augment(self) -> None:
        if self.maybe(0.5) and self.names(("a", self.n), bound=True):
            a = self.pick(self.names(("a", self.n), bound=True))
            op, value = self.pick(
                [("+=", self.array(self.n)), ("-=", self.float()), ("*=", f"np.tanh({self.array(self.n, 1)})")]
                + [("/=", f"(1.5 + {self.array(self.n, 1)} ** 2)")]
            )
            self.emit(f"{a} {op} {value}")
        elif self.names("f", bound=True):
            op = self.pick(["+= ", "-= ", "*= math.tanh", "/= 1.5 + abs"])
            self.emit(f"{self.pick(self.names('f', bound=True))} {op}({self.float()})")
        else:
            self.assign_float()

    def write(self) -> None:
        """Into an element, a slice, a mask or all of an array: a local one, an argument, an alias, a view."""
        a, n = self.array_name(), self.n
        others = [(x, k[1]) for x, k in self.kinds.items() if k[0] == "a"]
        if others and self.maybe(0.7):
            a, n = self.pick(others)
        lo = self.rng.randrange(n)
        hi = self.rng.randrange(lo + 1, n + 1)
        forms = [
            lambda: f"{a}[{self.index(n)}] = {self.float()}",
            lambda: f"{a}[{self.index(n)}] += {self.float()}",
            lambda: f"{a}[{self.index(n)}] *= math.tanh({self.float()})",
            lambda: f"{a}[{lo}:{hi}] = {self.array(hi - lo)}",
            lambda: f"{a}[{lo}:{hi}] = {self.float()}",
            lambda: f"{a}[{lo}:{hi}] *= {self.array(hi - lo, 1)}",
            lambda: f"{a}[::2] -= {self.float()}",
            lambda: f"{a}[{a} > {self.const()}] = {self.float()}",
            lambda: f"{a}[{a} < {self.const()}] *= {self.const()}",
            lambda: f"{a}[:] = {self.array(n)}",
            lambda: f"{a}[...] = {self.array(n)}",
            lambda: f"np.{self.pick(['sin', 'tanh', 'cos'])}({self.array(n, 1)}, out={a})",
            lambda: f"{a}[{self.index(n)}], {a}[{self.index(n)}] = {a}[{self.index(n)}], {self.float()}",
            lambda: f"{a}.fill({self.float()})",
            lambda: f"{a}[[0, -1]] = {self.array(2)}",
        ]
        self.emit(self.pick(forms)())

    def view(self) -> None:
        a, n = self.array_name(), self.n
        form = self.rng.randrange(5)
        if form == 0:
            self.bind(("a", n), "a", a)
        elif form == 1:
            self.bind(("a", n), "v", f"{a}[::-1]")
        elif form == 2 and n > 2:
            lo, size = self.rng.randrange(n - 1), 2
            self.bind(("a", size), "v", f"{a}[{lo}:{lo + size}]")
        elif form == 3 and n > 3:
            self.bind(("a", (n + 1) // 2), "v", f"{a}[::2]")
        else:
            self.bind(("a", n), "v", f"{a}.reshape(-1)")

    def matrix(self) -> None:
        known = [(m, k) for m, k in self.kinds.items() if k[0] == "m"]
        if not known or self.maybe(0.3):
            if self.n == 6 and self.maybe(0.6):
                self.bind(("m", 2, 3), "m", f"{self.array_name()}.reshape(2, 3)")
            elif self.n % 2 == 0 and self.maybe(0.5):
                self.bind(("m", 2, self.n // 2), "m", f"{self.array_name()}.reshape(2, {self.n // 2})")
            else:
                self.bind(("m", 2, self.n), "m", f"np.stack([{self.array(self.n, 1)}, {self.array_name()}])")
            return
        m, (_, r, c) = self.pick(known)
        forms = [
            lambda: self.bind(("m", c, r), "m", f"{m}.T"),
            lambda: self.bind(("a", c), "v", f"{m}[{self.index(r)}]"),
            lambda: self.bind(("a", r), "v", f"{m}[:, {self.index(c)}]"),
            lambda: self.emit(f"{m}[{self.index(r)}] = {self.array(c)}"),
            lambda: self.emit(f"{m}[:, {self.index(c)}] += {self.array(r)}"),
            lambda: self.emit(f"{m}[{self.index(r)}, {self.index(c)}] = {self.float()}"),
            lambda: self.emit(f"{m}.T[{self.index(c)}, {self.index(r)}] *= {self.const()}"),
            lambda: self.bind(("a", r), "a", f"np.tanh({m} @ {self.array(c, 1)})"),
            lambda: self.bind(("a", c), "a", f"np.sum({m}, axis=0)"),
            lambda: self.bind(("a", r), "a", f"{m}.mean(axis=1)"),
            lambda: self.bind(("m", r, r), "m", f"np.tanh({m} @ {m}.T)"),
            lambda: self.emit(f"{m} *= np.tanh({self.array(c, 1)})"),
        ]
        if self.nested:
            forms.pop()  # binds the name
        self.pick(forms)()

    def make_list(self) -> None:
        v = self.fresh("c")
        form = self.rng.randrange(4)
        if form == 0:
            source = self.array_name()
        elif form == 1 and self.names("l"):
            source = self.pick(self.names("l"))
        else:
            self.bind("l", "l", f"[{', '.join(self.float(1) for _ in range(self.rng.randrange(2, 4)))}]")
            return
        kinds, local, helpers = dict(self.kinds), self.local, self.helpers
        self.kinds[v], self.local, self.helpers = "f", {}, []
        item = self.float(2)
        self.kinds, self.local, self.helpers = kinds, local, helpers
        self.bind("l", "l", f"[{v} + {item} for {v} in {source}]")

    def use_list(self) -> None:
        ls = self.names("l")
        if not ls:
            return self.make_list()
        xs = self.pick(ls)
        forms = [
            lambda: self.emit(f"{xs}[{self.rng.choice([0, 1, -1])}] = {self.float()}"),
            lambda: self.emit(f"{xs}[{self.rng.choice([0, 1, -1])}] += {self.float()}"),
            lambda: self.bind("l", "l", xs),
            lambda: self.bind("l", "l", f"{xs} + [{self.float(1)}]") if self.loops == 0 else self.assign_float(),
            lambda: self.bind(("a", 2), "a", f"np.array({xs}[:2])"),
        ]
        if self.growing:
            forms += [lambda: self.emit(f"{xs}.append({self.float()})")] * 3
            forms.append(lambda: (self.emit(f"{xs}.append({self.float()})"), self.bind("f", "x", f"{xs}.pop()")))
        self.pick(forms)()

    def array_list(self) -> None:
        ls = self.names("la")
        if not ls or self.maybe(0.2):
            self.bind("la", "s", f"[{self.array(self.n, 1)}, {self.array_name()}]")
            return
        xs = self.pick(ls)
        forms = [
            lambda: self.emit(f"{xs}[0], {xs}[1] = {xs}[1], {xs}[0]"),
            lambda: self.emit(f"{xs}[{self.rng.choice([0, 1])}] = {self.array(self.n, 1)}"),
            lambda: self.emit(f"{xs}[{self.rng.choice([0, 1])}][{self.index(self.n)}] = {self.float(1)}"),
            lambda: self.emit(f"{xs}[{self.rng.choice([0, 1])}] += {self.array(self.n, 1)}"),
        ]
        if self.growing:
            forms.append(lambda: self.emit(f"{xs}.append({self.array_name()})"))
        self.pick(forms)()

    def dictionary(self) -> None:
        ds = self.names("d")
        if not ds or self.maybe(0.3):
            self.bind("d", "d", f'{{"p": {self.float()}, "q": {self.float()}}}')
            return
        d, key = self.pick(ds), self.pick("pq")
        self.emit(self.pick([f'{d}["{key}"] = {self.float()}', f'{d}["{key}"] += {self.float()}']))

    def carry_tuple(self) -> None:
        ts = self.names("t", bound=True)
        if not ts:
            self.bind("t", "t", f"({self.float()}, {self.array_name()})")
            return
        t = self.pick(ts)
        i = self.fresh("i")
        if self.loops > 1:
            self.emit(f"{t} = ({self.float()}, {self.array(self.n)})")
            return
        with self.block(f"for {i} in range({self.rng.randrange(1, 4)}):"):
            self.kinds[i] = "i"
            self.emit(f"{t} = ({self.float()}, {self.array(self.n)})")
            if self.maybe(0.5):
                self.emit(f"{t}[1][{self.index(self.n)}] = {self.float(1)}")

    def call_statement(self) -> None:
        if self.local and self.maybe(0.5):
            name = self.pick(self.local)
            self.emit(f"{name}({', '.join(self.float(1) for _ in range(self.local[name]))})")
        else:
            self.bind("f", "x", self.call(2))

    # compound statements

    def branch(self) -> None:
        with self.block(f"if {self.condition()}:"):
            self.statements(self.rng.randrange(1, 3), self.deeper())
        while self.maybe(0.25):
            with self.block(f"elif {self.condition()}:"):
                self.statements(self.rng.randrange(1, 3), self.deeper())
        if self.maybe(0.5):
            with self.block("else:"):
                self.statements(self.rng.randrange(1, 3), self.deeper())

    def deeper(self) -> int:
        return 2 - self.indent // 2 if self.indent < 5 else 0

    def loop(self) -> None:
        if self.loops > 1:
            return self.branch()
        i, v, w = self.fresh("i"), self.fresh("v"), self.fresh("w")
        n = self.n
        forms: list[tuple[str, dict[str, Any]]] = [
            (f"for {i} in range({self.rng.randrange(1, 5)}):", {i: "i"}),
            (f"for {i} in range({n}):", {i: "i"}),
            (f"for {i} in range({n - 1}, -1, -1):", {i: "i"}),
            (f"for {i} in range(len({self.array_name()})):", {i: "i"}),
            (f"for {v} in {self.array_name()}:", {v: "f"}),
            (f"for {v}, {w} in zip({self.array_name()}, {self.array_name()}):", {v: "f", w: "f"}),
            (f"for {i}, {v} in enumerate({self.array_name()}):", {i: "i", v: "f"}),
            (f"for {v} in ({self.float(1)}, {self.float(1)}):", {v: "f"}),
        ]
        growing = self.growing
        if self.names("l"):
            xs = self.pick(self.names("l"))
            forms += [(f"for {v} in {xs}:", {v: "f"}), (f"for {i}, {v} in enumerate({xs}):", {i: "i", v: "f"})]
        if self.names("la"):
            forms.append((f"for {v} in {self.pick(self.names('la'))}:", {v: ("a", n)}))
        if self.names("d"):
            forms.append((f"for {w}, {v} in {self.pick(self.names('d'))}.items():", {v: "f"}))
        for m, k in self.kinds.items():
            if k[0] == "m":
                forms.append((f"for {v} in {m}:", {v: ("a", k[2])}))
        header, bound = self.pick(forms)
        self.growing = growing and "range" in header  # a list that is gone through must not grow without end
        self.body(header, bound, "for")
        self.growing = growing

    def body(self, header: str, bound: dict[str, Any], inside: str, last: str = "") -> None:
        outer, self.inside = self.inside, inside
        self.loops += 1
        left = False
        with self.block(header):
            self.kinds |= bound
            if last:
                self.emit(last)
            self.statements(self.rng.randrange(1, 4), self.deeper())
            if self.maybe(0.3):
                left = self.maybe(0.6)
                with self.block(f"if {self.condition()}:"):
                    self.statements(self.rng.randrange(2), 0)
                    self.emit("break" if left else "continue")
                self.statements(self.rng.randrange(1, 3), 0)
        self.loops -= 1
        self.inside = outer
        if left and self.maybe(0.6):
            with self.block("else:"):
                self.statements(1, 0)

    def while_loop(self) -> None:
        if self.loops > 1:
            return self.branch()
        i = self.fresh("k")
        self.emit(f"{i} = 0")
        also = f" and {self.float_atom()} < {self.rng.uniform(0.5, 3):.3f}" if self.maybe(0.4) else ""
        growing, self.growing = self.growing, False
        self.body(f"while {i} < {self.rng.randrange(1, 5)}{also}:", {i: "i"}, "while", f"{i} += 1")
        self.growing = growing

    def accumulate(self) -> None:
        """A sum whose type changes on the way: an int or a float that becomes a float or an array."""
        if self.loops > 1:
            return self.branch()
        s, i = self.fresh("s"), self.fresh("i")
        self.emit(f"{s} = {self.pick(['0', '0.0', '1', 'None'])}")
        self.loops += 1
        array = self.maybe(0.5)
        start = self.lines[-1].endswith("None")
        with self.block(f"for {i} in range({self.rng.randrange(1, 5)}):"):
            self.kinds[i] = "i"
            value = self.array(self.n, 2) if array else self.float(2)
            if start:
                self.emit(f"{s} = {value} if {s} is None else {s} + {value}")
            else:
                self.emit(self.pick([f"{s} = {s} + {value}", f"{s} += {value}"]))
        self.loops -= 1
        self.kinds[s] = ("a", self.n) if array else "f"

    def local_function(self) -> None:
        if self.nested or self.loops > 0:
            return self.branch()
        name, count = self.fresh("h"), self.rng.randrange(1, 3)
        params = [self.fresh("u") for _ in range(count)]
        kinds, fixed, local, helpers = dict(self.kinds), self.fixed, self.local, self.helpers
        rebound = self.names("f")
        if self.maybe(0.3):
            self.kinds |= dict.fromkeys(params, "f")
            self.local, self.helpers = {}, []
            self.emit(f"{name} = lambda {', '.join(params)}: {self.float(3)}")
        else:
            self.nested = True
            growing, self.growing, inside, self.inside = self.growing, False, self.inside, ""
            with self.block(f"def {name}({', '.join(params)}):"):
                self.fixed = set(self.kinds)
                self.helpers, self.local = [], {}
                self.kinds |= dict.fromkeys(params, "f")
                if rebound and self.maybe(0.5):
                    x = self.pick(rebound)
                    self.emit(f"nonlocal {x}")
                    self.emit(f"{x} = {self.pick(['math.tanh', 'math.sin', 'np.cos'])}({self.float()})")
                    self.fixed = self.fixed - {x}
                outer, self.result = self.result, "f"
                self.loops += 1
                self.statements(self.rng.randrange(1, 4), 1)
                self.loops -= 1
                self.result = outer
                self.emit(f"return {self.float()}")
            self.nested, self.growing, self.inside = False, growing, inside
        self.kinds, self.fixed, self.local, self.helpers = kinds, fixed, {**local, name: count}, helpers

    def risky(self, depth: int) -> None:
        """Statements, one of which may raise, and where."""
        self.statements(self.rng.randrange(3), depth)
        n, a = self.n, self.array_name()
        ints = self.names("i")
        shift = f"{self.pick(ints)} + {self.rng.randrange(n)}" if ints else f"{self.rng.randrange(n - 1, n + 2)}"
        forms = [
            lambda: self.bind("f", "x", f"math.sqrt({self.float_atom()} + {self.const()})"),
            lambda: self.bind("f", "x", f"{self.float(1)} * math.log({self.float_atom()} + {self.const()})"),
            lambda: self.bind("f", "x", f"{a}[{shift}] * {self.float(1)}"),
            lambda: self.emit(f"{a}[{shift}] = {self.float(1)}"),
            lambda: self.emit(f"{a}[{shift}] *= {self.float(1)}"),
            lambda: self.bind("f", "x", f"float({self.float(1)}) / {self.pick(['0.0', '2.0', f'(len({a}) - {n})'])}"),
            lambda: self.raises(),
            lambda: self.raises(),
            lambda: self.emit(f"assert {self.condition()}, 'failed'"),
        ]
        if self.names("d"):
            forms.append(lambda: self.bind("f", "x", f"{self.pick(self.names('d'))}['{self.pick('pqr')}']"))
        if self.names("l"):
            forms.append(lambda: self.bind("f", "x", f"{self.pick(self.names('l'))}[{self.rng.randrange(4)}]"))
        self.pick(forms)()
        self.statements(self.rng.randrange(2), depth)

    def raises(self) -> None:
        what = self.pick(["ValueError", "KeyError('k')", "IndexError", "ZeroDivisionError('z')"])
        with self.block(f"if {self.condition()}:"):
            self.statements(self.rng.randrange(2), 0)
            self.emit(f"raise {what}")

    def handler(self, depth: int) -> None:
        self.statements(self.rng.randrange(1, 3), depth)
        if self.inside and self.maybe(0.25):
            self.emit(self.pick(["break", "continue"]))
        elif self.maybe(0.1):
            self.emit(f"return {self.returned()}")
        elif self.tries > 1 and self.maybe(0.3):
            self.emit(self.pick(["raise", "raise ValueError from None"]))

    def protected(self) -> None:
        """`try` in one of its forms. Everything is caught by the outermost, so that the program goes on."""
        if self.tries > 2:
            return self.branch()
        depth = self.deeper()
        self.tries += 1
        with self.block("try:"):
            self.risky(depth)
        form = self.rng.randrange(8)
        if form == 0 and self.tries > 1:
            with self.block("finally:"):
                self.statements(self.rng.randrange(1, 3), depth)
        else:
            if form < 4:
                kinds = self.pick(["ValueError", "IndexError", "(KeyError, ZeroDivisionError)", "LookupError as e"])
                with self.block(f"except {kinds}:"):
                    self.handler(depth)
            self.tries -= 1
            with self.block(self.pick(["except Exception:", "except Exception as error:", "except:"])):
                self.handler(depth)
            self.tries += 1
            if self.maybe(0.3):
                with self.block("else:"):
                    self.statements(self.rng.randrange(1, 3), depth)
            if self.maybe(0.3):
                with self.block("finally:"):
                    self.statements(self.rng.randrange(1, 3), depth)
        self.tries -= 1

    def managed(self) -> None:
        manager = self.pick([
            "np.errstate(all='ignore')", "contextlib.suppress(Exception)", "Manager(Exception)",
            "np.errstate(all='ignore'), Manager(ArithmeticError, LookupError, ValueError, AssertionError)",
        ])  # fmt: skip
        with self.block(f"with {manager}:"):
            if "Exception" in manager or "Error" in manager:
                self.risky(self.deeper())
            else:
                self.statements(self.rng.randrange(1, 3), self.deeper())
            if self.inside and self.maybe(0.2):
                self.emit(self.pick(["break", "continue"]))

    def leave(self) -> None:
        """An early return, of what the function returns anyway."""
        with self.block(f"if {self.condition()}:"):
            self.emit(f"return {self.returned()}")

    # functions

    def returned(self) -> str:
        if self.result == "f":
            return self.float(2)
        return {"a": self.array(self.n), "fa": f"({self.float()}, {self.array(self.n)})"}[self.result]

    def helper(self, name: str) -> None:
        form = self.pick(["default", "default", "rest", "recursive"])
        if form == "recursive":
            self.emit(f"def {name}(x, a, k):")
            self.indent = 1
            self.kinds = {"x": "f", "a": ("a", self.n)}
            self.emit("if k == 0:")
            self.emit(f"    return {self.float()}")
            self.statements(self.rng.randrange(1, 3), 0)
            self.emit(f"return {self.float(1)} + {name}(math.sin({self.float(1)}), {self.array(self.n, 1)}, k - 1)")
        else:
            self.emit(f"def {name}(x, a, {'*rest' if form == 'rest' else 'k=0.7'}{', k=0.2' * (form == 'rest')}):")
            self.indent = 1
            self.kinds = {"x": "f", "a": ("a", self.n), "k": "f"}
            if form == "rest":
                self.emit("for r in rest:")
                self.emit("    x = x + math.sin(r) * k")
            self.loops = 1
            self.statements(self.rng.randrange(1, 4), 1)
            self.loops = 0
            self.emit(f"return {self.float(1)} + {self.float()}")
        self.indent, self.local = 0, {}
        self.emit("")
        self.emit("")
        self.helpers.append((name, form))

    def main(self) -> tuple[Any, ...]:
        floats, arrays = self.rng.randrange(1, 3), self.rng.randrange(1, 3)
        names = [f"p{i}" for i in range(floats)] + [f"b{i}" for i in range(arrays)]
        self.kinds = {x: "f" if x[0] == "p" else ("a", self.n) for x in names}
        self.result = self.pick(["f", "f", "f", "f", "a", "fa"])
        self.emit(f"def main({', '.join(names)}):")
        self.indent = 1
        self.statements(self.rng.randrange(4, 10), 2)
        if self.result == "f":
            parts = []
            for i, (x, kind) in enumerate(self.kinds.items()):
                if kind == "f":
                    parts.append(f"{0.3 + 0.1 * (i % 7):.1f} * {x}")
                elif kind == ("a", self.n):
                    parts.append(f"np.dot(K[:{self.n}], {x})")
                elif kind[0] in "am":
                    parts.append(f"{x}.sum()")
                elif kind == "l":
                    parts.append(f"0.3 * {x}[0] - {x}[-1]")
                elif kind == "d":
                    parts.append(f'{x}["p"] * {x}["q"]')
                elif kind == "t":
                    parts.append(f"{x}[0] - {x}[1][0]")
            self.emit("return " + " + ".join(parts))
        else:
            self.emit(f"return {self.returned()}")
        noise = np.random.default_rng(self.rng.randrange(2**32))
        values: list[Any] = [float(noise.uniform(-1.2, 1.2)) for _ in range(floats)]
        values += [noise.uniform(-1.2, 1.2, self.n) for _ in range(arrays)]
        if arrays == 2 and self.maybe(0.15):
            values[-1] = values[-2]
        return tuple(values)


def program(seed: int) -> Program:
    writer = Writer(seed)
    for i in range(writer.rng.randrange(3)):
        writer.helper(f"g{i}")
    args = writer.main()
    return Program(seed, HEADER + "\n\n" + "\n".join(writer.lines) + "\n", args)


# --- the checks ---------------------------------------------------------------------------------------------------


class Unfit(Exception):
    """A program that says nothing: it raises, grows, or has a kink near its arguments."""


def run_plain(p: Program, fn: Callable[..., Any]) -> tuple[Any, tuple[Any, ...]]:
    args = copy.deepcopy(p.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = fn(*args)
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from None
    values = [np.asarray(v) for v in leaves((y, args))]
    if not all(np.isfinite(v).all() and (np.abs(v) < 1e4).all() for v in values):
        raise Unfit("large")
    if not any(True for _ in leaves(y)):
        raise Unfit("constant")
    return y, args


def differences(p: Program, fn: Callable[..., Any], ybar: Any, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """(arguments, direction, slope) where two steps and both sides agree on the slope."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in shared_groups(p.args):
            v = directions_for(p.args, group, rng)
            try:
                back, central, forth = slopes(fn, p.args, v, ybar, 1e-5)
                _, finer, _ = slopes(fn, p.args, v, ybar, 2.5e-6)
            except Exception as error:
                raise Unfit(f"{type(error).__name__}: {error}") from None
            scale = max(abs(central), 1e-1)
            if abs(central - finer) > 2e-6 * scale or abs(forth - back) > 1e-2 * scale:
                raise Unfit("kink")
            found.append((group, v, central))
    return found


def check(p: Program, directory: Path) -> None:
    """Raises Unfit, what the engine refuses with, or AssertionError."""
    from mooncake_py import value_and_grad, value_and_pullback

    fn = p.function(directory)
    y, after = run_plain(p, fn)
    rng = np.random.default_rng(p.seed)
    ybar = random_like(y, rng)
    expected = differences(p, fn, ybar, rng)
    before = bits(p.args)
    results = []
    for attempt in ("first", "second"):
        args = copy.deepcopy(p.args)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, pullback = value_and_pullback(fn, *args)
            assert same(value, y), f"{attempt} run: value {value!r}, plain Python gives {y!r}"
            assert bits(args) == bits(after), f"{attempt} run: other arguments than the plain call leaves"
            results.append(pullback(copy.deepcopy(ybar)))
        assert bits(args) == before, f"{attempt} run: the arguments are not restored"
    assert same(*results), f"two runs differ: {results}"
    for group, v, slope in expected:
        got = sum(inner(results[0][i], v[i]) for i in group)
        terms = sum(magnitude(results[0][i], v[i]) for i in group)
        assert abs(got - slope) <= RTOL * max(abs(slope), terms, 1e-2), f"slope {got!r}, differences {slope!r}, {group}"
    if not isinstance(y, float):
        return
    group, v, slope = expected[p.seed % len(expected)]
    if len(group) > 1:
        return
    args = copy.deepcopy(p.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, g = value_and_grad(fn, argnums=group[0])(*args)
    assert same(value, y), f"value_and_grad: value {value!r}, plain Python gives {y!r}"
    assert bits(args) == before, "value_and_grad: the arguments are not restored"
    got, terms = inner(g, v[group[0]]) * inner(ybar, 1.0), magnitude(g, v[group[0]])
    assert abs(got - slope) <= RTOL * max(abs(slope), terms, 1e-2), f"argnums {group}: {got!r}, differences {slope!r}"


def outcome(p: Program, directory: Path) -> tuple[str, str]:
    """("ok" | "unfit" | "refused" | "wrong", why)."""
    from mooncake_py.errors import MissingRule, UnsupportedError

    try:
        check(p, directory)
    except Unfit as error:
        return "unfit", re.sub(r"\d+", "N", str(error))
    except UnsupportedError as error:
        return "refused", re.sub(r"\d+", "N", error.construct)
    except MissingRule as error:
        return "refused", re.sub(r"\d+", "N", str(error).split(", in ")[0])[:150]
    except AssertionError as error:
        return "wrong", str(error)[:300]
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"[:300]
    return "ok", ""


# --- shrinking ----------------------------------------------------------------------------------------------------


def smaller(lines: list[str]) -> Iterator[list[str]]:
    """The same program without one statement, with a block in place of its header, or with a simpler expression."""
    margin = [len(line) - len(line.lstrip()) for line in lines]
    for i in range(len(lines)):
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or margin[end] > margin[i]):
            end += 1
        yield lines[:i] + lines[end:]
        if end > i + 1:
            yield lines[:i] + [line[4:] for line in lines[i + 1 : end]] + lines[end:]
    for i, line in enumerate(lines):
        for m in re.finditer(r"(?:[\w.]+)?\(", line):
            depth, end = 1, m.end()
            while end < len(line) and depth:
                depth += {"(": 1, ")": -1}.get(line[end], 0)
                end += 1
            for new in (line[m.end() : end - 1], "0.7", "p0"):
                yield lines[:i] + [line[: m.start()] + new + line[end:]] + lines[i + 1 :]
        for op in (" + ", " - ", " * ", " / "):
            at = line.find(op)
            while at >= 0:
                head = re.match(r"\s*(return |[\w\[\], ]+ [-+*/]?= )?", line)
                yield lines[:i] + [line[:at]] + lines[i + 1 :]
                if head and head.end() < at:
                    yield lines[:i] + [line[: head.end()] + line[at + len(op) :]] + lines[i + 1 :]
                at = line.find(op, at + 1)


def shrink(p: Program, directory: Path, why: str) -> Program:
    """The smallest program found that goes wrong in the same way."""
    key = re.sub(r"[-\d.e]+", "N", why)[:18]
    progress = True
    while progress:
        progress = False
        for lines in smaller(p.source.split("\n")):
            source = "\n".join(lines)
            if len(source) >= len(p.source):
                continue
            q = Program(p.seed, source, p.args)
            try:
                kind, reason = outcome(q, directory)
            except (SyntaxError, KeyError, RecursionError):
                continue
            if kind == "wrong" and re.sub(r"[-\d.e]+", "N", reason)[:18] == key:
                p, progress = q, True
                break
    return p


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random programs with plain Python and central differences.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--shrink", action="store_true", help="shrink what goes wrong")
    parser.add_argument("--show", action="store_true", help="print the program of the first seed and stop")
    options = parser.parse_args()
    if options.show:
        print(program(options.seed).source)
        return 0
    counts: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as tmp:
        for seed in range(options.seed, options.seed + options.count):
            p = program(seed)
            kind, why = outcome(p, Path(tmp))
            counts[kind] += 1
            if kind != "wrong":
                reasons[kind, why] += 1
                continue
            print(f"seed {seed}: {why}", flush=True)
            if options.shrink:
                small = shrink(p, Path(tmp), why)
                print(small.source, f"# args = {small.args}", outcome(small, Path(tmp))[1], flush=True)
    for (kind, why), count in reasons.most_common():
        if kind != "ok":
            print(f"{count:6d} {kind}: {why}")
    print(dict(counts))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
