"""Compound statements of random programs."""

from __future__ import annotations

from typing import Any

from tests.programs.expressions import Forms
from tests.programs.statements import Statements


class Compound(Statements):
    """Branches, loops, local functions, exceptions, managers."""

    def compound(self) -> Forms:
        return [
            self.branch, self.branch, self.loop, self.loop, self.loop, self.loop, self.while_loop, self.accumulate,
            self.local_function, self.leave, self.protected, self.protected, self.managed,
        ]  # fmt: skip

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
        rebound = [x for x in self.names("f") if "." not in x]
        if self.maybe(0.3):
            self.kinds |= dict.fromkeys(params, "f")
            self.local, self.helpers = {}, []
            self.emit(f"{name} = lambda {', '.join(params)}: {self.float(3)}")
        else:
            self.nested = True
            growing, self.growing, inside, self.inside = self.growing, False, self.inside, ""
            with self.block(f"def {name}({', '.join(params)}):"):
                self.fixed = self.fixed | {x for x in self.kinds if "." not in x}  # attributes may be set
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
