"""`match`, functions of functions, generators that are sent to, managers made of generators in random programs."""

from __future__ import annotations

from typing import Any

from tests.programs.arrays import Arrays
from tests.programs.expressions import Forms as Choices

HEADER = """

def wrapped(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * 1.5 - 0.1

    return inner


def scaled(k, *, by=0.5):
    def decorate(f):
        def inner(*args):
            return k * f(*args) + by

        return inner

    return decorate


def counted(f):
    calls = []

    def inner(*args):
        calls.append(args[0])
        return f(*args) + 0.1 * sum(calls)

    return inner


def remembered(f):
    memo = {}

    def inner(k, *args):
        if k not in memo:
            memo[k] = f(*args)
        return memo[k]

    return inner


def running(x):
    total = x
    while True:
        u = yield total
        if u is None:
            return
        total = math.tanh(total + u) + 0.1 * u


@contextlib.contextmanager
def replaced(box, key, value):
    old = box[key]
    box[key] = value
    try:
        yield box
    finally:
        box[key] = old * 0.9


def total(t):
    if isinstance(t, dict):
        return sum(total(v) for v in t.values())
    if isinstance(t, (list, tuple)):
        return sum(total(v) for v in t)
    return np.sum(t)


def mapped(f, t):
    return [mapped(f, v) if isinstance(v, list) else f(v) for v in t]
"""


class Forms(Arrays):
    """Forms of statements that are met less often."""

    def floats(self, depth: int) -> Choices:
        forms = super().floats(depth)
        if self.local and self.loops < 2:
            h = self.pick(self.local)
            xs = [", ".join(self.float_atom() for _ in range(self.local[h])) for _ in range(2)]
            forms += [
                lambda: f"wrapped({h})({xs[0]})",
                lambda: f"(lambda f: f({xs[0]}) - f({xs[1]}))({h})",
                lambda: f"sum(itertools.starmap({h}, [{', '.join(f'({x},)' if x else '()' for x in xs)}]))",
                lambda: f"sum(f({xs[0]}) for f in ({h}, scaled({self.const()})({h})))",
            ]
        return forms

    def simple(self) -> Choices:
        return [*super().simple(), self.derived_function, self.sent, self.walrus]

    def compound(self) -> Choices:
        return [*super().compound(), self.match, self.match, self.with_replaced]

    def derived_function(self) -> None:
        """A function made of another one."""
        if self.nested or self.loops or not self.local:
            return self.assign_float()
        h = self.pick(self.local)
        count, name = self.local[h], self.fresh("h")
        forms = [(f"wrapped({h})", count), (f"counted({h})", count)]
        forms += [(f"scaled({self.float(1)}, by={self.float_atom()})({h})", count)]
        forms += [(f"functools.partial({h}, {self.float(1)})", count - 1)]
        forms += [(f"functools.partial(remembered({h}), {self.pick(['1', 'True'])})", count)]
        value, self.local[name] = self.pick(forms)
        self.emit(f"{name} = {value}")

    def sent(self) -> None:
        g = self.fresh("g")
        self.emit(f"{g} = running({self.float(1)})")
        self.bind("f", "x", f"next({g})")
        for _ in range(self.rng.randrange(1, 3)):
            self.bind("f", "x", f"{g}.send({self.float(1)})")
        if self.maybe(0.3):
            self.emit(f"{g}.close()")

    def walrus(self) -> None:
        x, y = self.fresh("x"), self.fresh("x")
        self.emit(f"{y} = ({x} := {self.float()}) * {x} + {self.float(1)}")
        self.kinds |= {x: "f", y: "f"}

    def case(self, pattern: str, bound: dict[str, Any]) -> None:
        with self.block(f"case {pattern}:"):
            self.kinds |= bound
            self.statements(self.rng.randrange(1, 3), self.deeper() - 1)

    def match(self) -> None:
        u, w, r = self.fresh("u"), self.fresh("w"), self.fresh("r")
        guard = f" if {u} > {self.const()}" if self.maybe(0.5) else ""
        forms: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
            (f"({self.float(1)}, {self.float(1)})", [(f"({u}, {w}){guard}", {u: "f", w: "f"})]),
            (f"{self.float(1)}", [(f"float() as {u}{guard}", {u: "f"})]),
        ]
        if self.names("i"):
            forms.append((f"{self.pick(self.names('i'))} % 3", [("0", {}), ("1 | 2", {})]))
        if self.names("l"):
            xs = self.pick(self.names("l"))
            forms.append((xs, [(f"[{u}, {w}]", {u: "f", w: "f"}), (f"[{u}, *_, {w}]{guard}", {u: "f", w: "f"})]))
        if self.names("d"):
            forms.append((self.pick(self.names("d")), [(f'{{"p": {u}, **{r}}}{guard}', {u: "f"})]))
        if self.names("nt"):
            forms.append((self.pick(self.names("nt")), [(f"Pair({u}, {w}){guard}", {u: "f", w: ("a", self.n)})]))
        for o, cls in self.objects():
            forms.append((o, [(f"{cls}(v={u}, a={w}){guard}", {u: "f", w: ("a", self.n)})]))
        subject, cases = self.pick(forms)
        with self.block(f"match {subject}:"):
            for pattern, bound in cases:
                self.case(pattern, bound)
            self.case("_", {})

    def with_replaced(self) -> None:
        forms = [f"{self.array_name()}, {self.index(self.n)}"]
        forms += [f"{d}, '{self.pick('pq')}'" for d in self.names("d")]
        forms += [f"{xs}, {self.pick([0, 1])}" for xs in self.names("l")]
        growing, self.growing = self.growing, False
        with self.block(f"with replaced({self.pick(forms)}, {self.float(1)}):"):
            self.statements(self.rng.randrange(1, 3), self.deeper())
        self.growing = growing
