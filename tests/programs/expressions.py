"""What random programs are made of: names, lines and expressions.

Names have kinds: "f" float, "i" int, ("a", n) array, ("m", r, c) matrix, "l" list of floats (two at least), "la" list
of arrays of the program's length, "d" dict of floats with the keys "p" and "q", "t" tuple (float, array); those of
objects and iterators are in `objects.py`. The attributes of an object are names, too: "o1.v".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Forms = list[Callable[[], Any]]


class Expressions:
    """Names with kinds, lines, and expressions over the names."""

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
        self.lines.append(("    " * self.indent + line).rstrip())

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
        form = self.rng.randrange(26)
        if form < 3:
            return f"({rec()} {self.pick('+-')} {rec()})"
        if form < 5:
            return f"{self.pick(['math.sin', 'math.tanh', 'np.sin', 'np.tanh', 'math.cos', 'np.cos'])}({rec()})"
        if form < 8:
            return f"math.tanh({rec()}) * {rec()}"
        return self.pick(self.floats(depth))()

    def floats(self, depth: int) -> Forms:
        """Expressions that are floats."""
        rec = lambda: self.float(depth - 1)  # noqa: E731
        arr = lambda: self.array(self.n, depth - 1)  # noqa: E731
        return [
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

    def float_atom(self) -> str:
        return self.pick(self.atoms())()

    def atoms(self) -> Forms:
        """Short expressions that are floats."""
        forms: Forms = [self.const]
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
        return forms

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
