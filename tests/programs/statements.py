"""Simple statements of random programs."""

from __future__ import annotations

from typing import Any

from tests.programs.expressions import Expressions, Forms


class Statements(Expressions):
    """Assignments, writes, views, containers."""

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
        forms = self.compound() if depth > 0 and self.maybe(0.42) else self.simple()
        self.pick(forms)()

    def simple(self) -> Forms:
        """Statements of one line, or nearly."""
        return [
            self.assign_float, self.assign_float, self.assign_array, self.assign_array, self.unpack, self.swap,
            self.augment, self.augment, self.write, self.write, self.write, self.write, self.view, self.view,
            self.matrix, self.make_list, self.use_list, self.array_list, self.dictionary, self.carry_tuple,
            self.call_statement,
        ]  # fmt: skip

    def compound(self) -> Forms:
        """Statements with statements in them."""
        raise NotImplementedError

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
