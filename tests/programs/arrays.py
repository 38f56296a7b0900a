"""Index arrays, masks, `out=` and overlapping memory in random programs; complex numbers.

More kinds: "ix" array of three indices, "bm" mask of the program's length, "c" complex number.
"""

from __future__ import annotations

from tests.programs.containers import Containers
from tests.programs.expressions import Forms


class Arrays(Containers):
    """Arrays that are read and written by other arrays."""

    def atoms(self) -> Forms:
        forms = super().atoms()
        if self.names("c"):
            c = self.pick(self.names("c"))
            forms += [lambda: self.pick([f"{c}.real", f"{c}.imag", f"abs({c})", f"({c} * {c}.conjugate()).real"])] * 2
        return forms

    def floats(self, depth: int) -> Forms:
        forms = super().floats(depth)
        if self.names("ix"):
            forms.append(lambda: f"np.sum({self.array_name()}[{self.pick(self.names('ix'))}])")
        if self.names("bm"):
            forms.append(lambda: f"np.sum({self.array_name()}, where={self.pick(self.names('bm'))})")
        return forms

    def simple(self) -> Forms:
        return [*super().simple(), self.by_index, self.by_index, self.by_mask, self.into, self.into, self.complex]

    def by_index(self) -> None:
        n, known, a = self.n, self.names("ix"), self.array_name()
        if not known or self.maybe(0.25):
            some = ", ".join(str(self.rng.randrange(-n, n)) for _ in range(3))
            self.bind(
                "ix", "ix", self.pick([f"np.array([{some}])", f"np.argsort({a})[:3]", f"np.arange(3)[::-1] % {n}"])
            )
            return
        ix = self.pick(known)
        three = f"{self.array_name()}[{self.pick(known)}]" if self.maybe(0.5) else self.array(3, 1)
        forms = [
            lambda: self.emit(f"{ix}[{self.pick([0, 1, 2])}] = {self.rng.randrange(n)}"),
            lambda: self.emit(f"{ix}[:] = {ix}[::-1]"),
            lambda: self.emit(f"np.add({ix}, 1, out={ix}); {ix} %= {n}" if not self.nested else f"{ix}[0] = 0"),
            lambda: self.bind(("a", 3), "a", f"{a}[{ix}]"),
            lambda: self.bind(("a", 3), "a", f"np.take({a}, {ix})"),
            lambda: self.emit(f"{a}[{ix}] {self.pick(['=', '+=', '*='])} {three}"),
            lambda: self.emit(f"{a}[{ix}] {self.pick(['=', '+=', '-='])} {self.float(1)}"),
            lambda: self.emit(f"np.add.at({a}, {ix}, {three})"),
            lambda: self.emit(f"np.subtract.at({a}, {ix}, {self.float(1)})"),
        ]
        self.pick(forms)()

    def by_mask(self) -> None:
        known, a = self.names("bm"), self.array_name()
        if not known or self.maybe(0.3):
            self.bind("bm", "bm", f"{self.array(self.n, 1)} {self.pick('<>')} {self.const()}")
            return
        mask = self.pick(known)
        forms = [
            lambda: self.emit(f"{mask}[{self.index(self.n)}] = {self.pick(['True', 'False'])}"),
            lambda: self.emit(f"{mask}[:] = ~{mask}"),
            lambda: self.emit(f"{a}[{mask}] {self.pick(['=', '+=', '*='])} {self.float(1)}"),
            lambda: self.emit(f"{a}[~{mask}] {self.pick(['=', '+='])} {self.array_name()}[~{mask}]"),
            lambda: self.emit(f"np.copyto({a}, {self.array(self.n, 1)}, where={mask})"),
            lambda: self.emit(f"np.add({self.array_name()}, {self.float(1)}, out={a}, where={mask})"),
            lambda: self.bind(("a", self.n), "a", f"np.where({mask}, {a}, {self.array(self.n, 1)})"),
        ]
        self.pick(forms)()

    def into(self) -> None:
        """Results that are written where something was: partly over what is read."""
        a, n = self.array_name(), self.n
        lines = [
            f"np.{self.pick(['add', 'multiply', 'subtract'])}({self.array_name()}, {self.array(n, 1)}, out={a})",
            f"np.multiply({a}, {self.array(n, 1)}, {a})", f"np.cumsum({self.array(n, 1)}, out={a})",
            f"np.add({a}[1:], {self.float(1)}, out={a}[:-1])", f"np.tanh({a}[:-1], out={a}[1:])",
            f"{a}[1:] = {a}[:-1]", f"{a}[:-1] += {a}[1:]", f"{a}[:] = {a}[::-1]", f"{a}[::-1] += {a}",
            f"np.clip({a}, -0.9, {self.float(1)}, out={a})", f"{a}.sort()", f"np.copyto({a}, {self.array(n, 1)})",
            f"{a}.flat[{self.index(n)}] = {self.float(1)}", f"np.put({a}, [0, {self.index(n)}], {self.array(2, 1)})",
            f"{a}[1:], {a}[:-1] = {a}[:-1].copy(), {a}[1:].copy()", f"{a}[[0, -1]] = {a}[[-1, 0]]",
            f"{a}[np.newaxis, :][0, {self.index(n)}] = {self.float(1)}",
        ]  # fmt: skip
        arrays = [
            f"np.roll({a}, {self.pick([1, -2])})", f"np.sort({a})", f"np.concatenate([{a}[1:], {a}[:1]])",
            f"np.where({a} > 0, {a}, 0.1 * {a})", f"np.diff({a}, append={self.float_atom()})", f"np.flip({a})",
            f"np.einsum('i,i->i', {a}, {self.array(n, 1)})", f"np.hstack([{a}[:1], {a}[1:] * {a}[:-1]])",
            f"np.append({a}[1:], {self.float(1)})", f"np.asarray({a})", f"np.ravel({a})", f"{a}.flatten()",
            f"np.minimum({a}, {self.array(n, 1)})", f"np.linalg.norm({a}) * {self.array(n, 1)}",
            f"np.array([u * w for u, w in zip({a}, {self.array(n, 1)})])", f"np.square({a}) - np.abs({a})",
        ]  # fmt: skip
        if self.maybe(0.55):
            self.emit(self.pick(lines))
        else:
            self.bind(("a", n), "a", self.pick(arrays))

    def complex(self) -> None:
        known, x = self.names("c"), self.float(1)
        forms = [f"complex({x}, {self.float(1)})", f"cmath.exp(1j * math.tanh({x}))", f"np.exp(1j * ({x}))"]
        if known:
            c, other = self.pick(known), self.pick(known)
            forms += [f"{c} * {other}", f"{c} + {x}", f"({x}) * {c} - 1j", f"{c} / (2.0 + abs({other}))"] * 2
            forms += [f"{c}.conjugate()", f"cmath.sin({c} / (1.0 + abs({c})))", f"-{c} * 1j", f"{c} ** 2"]
        self.bind("c", "z", self.pick(forms))
