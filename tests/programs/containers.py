"""Lists in all their forms in random programs, and deques.

More kinds: "ll" list of lists of floats (two at least, of two at least), "dq" deque of floats (two at least).
"""

from __future__ import annotations

from tests.programs.expressions import Forms
from tests.programs.objects import Objects


class Containers(Objects):
    """What the methods of lists do, lists in lists, deques."""

    def atoms(self) -> Forms:
        forms = super().atoms()
        if self.names("ll"):
            forms.append(lambda: f"{self.pick(self.names('ll'))}[{self.pick([0, 1, -1])}][{self.pick([0, 1, -1])}]")
        if self.names("dq"):
            forms.append(lambda: f"{self.pick(self.names('dq'))}[{self.pick([0, 1, -1])}]")
        return forms

    def floats(self, depth: int) -> Forms:
        forms = super().floats(depth)
        if self.names("l"):
            xs = self.pick(self.names("l"))
            form = self.pick(
                [
                    f"math.fsum({xs})", f"max({xs}, key=abs)", f"math.prod({xs}[:2])", f"math.hypot(*{xs}[:2])",
                    f"sum(u * w for u, w in zip({xs}, {xs}[1:]))", f"sorted({xs})[{self.pick([0, 1, -1])}]",
                    f"functools.reduce(lambda u, w: {self.const()} * u + w, {xs})", f"np.sum({xs})",
                    f"sum(u for u in {xs} if u > {self.const()})", f"min(enumerate({xs}), key=lambda t: t[1])[1]",
                    f"total({{'a': {xs}, 'b': (0.5, {self.array_name()})}})", f"sum(mapped(math.sin, [{xs}, {xs}])[1])",
                ]
            )  # fmt: skip
            forms += [lambda: form] * 2
        if self.names("ll"):
            rows = self.pick(self.names("ll"))
            nested = self.pick(
                [
                    f"sum(map(sum, {rows}))", f"sum(u for r in {rows} for u in r)", f"max(map(max, {rows}))",
                    f"sum(u * w for u, w in zip({rows}[0], {rows}[1]))", f"sum(sum({rows}, []))",
                    f"sum(c[0] * c[1] for c in zip(*{rows}))", f"total({rows})",
                ]
            )  # fmt: skip
            forms += [lambda: nested] * 2
        if self.names("dq"):
            forms.append(lambda: f"sum({self.pick(self.names('dq'))})")
        return forms

    def simple(self) -> Forms:
        return [*super().simple(), self.change_list, self.change_list, self.rows, self.rows, self.deque]

    def compound(self) -> Forms:
        return [*super().compound(), self.rows_loop]

    def change_list(self) -> None:
        if not self.names("l"):
            return self.make_list()
        xs = self.pick(self.names("l"))
        lines = [
            f"{xs}.sort()", f"{xs}.sort(key=abs, reverse=True)", f"{xs}.reverse()", f"{xs}.append({xs}.pop(0))",
            f"{xs}[0], {xs}[-1] = {xs}[-1], {xs}[0]", f"{xs}[:2] = [{self.float(1)}, {self.float(1)}]",
            f"{xs}[::-1] = {xs}[:]", f"del {xs}[2:]", f"heapq.heapify({xs})",
            f"{xs}.insert({self.pick([0, 1])}, {xs}.pop() * {self.const()})",
        ]  # fmt: skip
        if self.growing:
            lines += [
                f"{xs}.insert({self.pick([0, 1, -1])}, {self.float(1)})", f"{xs}.extend([{self.float(1)}, {xs}[0]])",
                f"{xs}[1:1] = [{self.float(1)}]", f"bisect.insort({xs}, {self.float(1)})",
            ]  # fmt: skip
        copies = [f"{xs}[::-1]", f"sorted({xs})", f"{xs}[:]", f"list(reversed({xs}))", f"{xs}.copy()", f"[*{xs}]"]
        copies += [f"list(map(math.tanh, {xs}))", f"[u * w for u, w in zip({xs}, {xs}[::-1])]", f"list({xs})"]
        if self.loops == 0:
            copies += [f"[{self.float(1)}, *{xs}]", f"{xs}[:2] * 2", f"{xs}[:2] + {self.pick(self.names('l'))}"]
        if self.maybe(0.7):
            self.emit(self.pick(lines))
        else:
            self.bind("l", "l", self.pick(copies))

    def rows(self) -> None:
        known = self.names("ll")
        if not known or self.maybe(0.25):
            lists = self.names("l")
            forms = [f"[[{self.float(1)}, {self.float(1)}], [{self.float(1)}, {self.float(1)}, {self.float(1)}]]"]
            if lists:
                xs = self.pick(lists)
                forms += [f"[{xs}, {self.pick(lists)}]", f"[{xs}, list({xs})]", f"[{xs}[:2], {xs}]"]
            self.bind("ll", "r", self.pick(forms))
            return
        rows, i, j = self.pick(known), self.pick([0, 1, -1]), self.pick([0, 1, -1])
        forms = [
            lambda: self.emit(f"{rows}[{i}][{j}] {self.pick(['=', '+=', '*='])} {self.float(1)}"),
            lambda: self.emit(f"{rows}[{i}][{j}] {self.pick(['=', '+=', '*='])} {self.float(1)}"),
            lambda: self.emit(f"{rows}[0], {rows}[1] = {rows}[1], {rows}[0]"),
            lambda: self.emit(f"{rows}[{i}] = {rows}[{self.pick([0, 1])}]"),
            lambda: self.emit(f"{rows}[{i}] = [{self.float(1)}, {self.float(1)}]"),
            lambda: self.emit(f"{rows}.sort({self.pick(['', 'key=sum', 'key=lambda r: r[0], reverse=True'])})"),
            lambda: self.bind("l", "l", f"{rows}[{i}]"),
            lambda: self.bind("l", "l", f"sum({rows}[:2], [])") if self.loops == 0 else self.use_list(),
            lambda: self.bind("ll", "r", f"copy.deepcopy({rows})"),
            lambda: self.bind("ll", "r", f"[r[:] for r in {rows}]"),
            lambda: self.bind("ll", "r", f"{rows}[::-1]"),
            lambda: self.bind("ll", "r", f"[[u * {self.const()} for u in r] for r in {rows}]"),
            lambda: self.bind("ll", "r", f"list(map(list, zip({rows}[0], {rows}[1])))"),
        ]
        if self.growing:
            forms += [
                lambda: self.emit(f"{rows}[{i}].append({self.float(1)})"),
                lambda: self.emit(f"{rows}.append({self.pick(self.names('l') or [f'[0.3, {self.float(1)}]'])})"),
            ]
        self.pick(forms)()

    def deque(self) -> None:
        known = self.names("dq")
        if not known or self.maybe(0.25):
            size = self.pick(["", ", 3", ", 4"])
            self.bind("dq", "dq", f"collections.deque([{self.float(1)}, {self.float(1)}, {self.float(1)}]{size})")
            return
        xs = self.pick(known)
        lines = [
            f"{xs}.rotate({self.pick([1, -1, 2])})", f"{xs}.append({xs}.popleft())", f"{xs}.reverse()",
            f"{xs}[{self.pick([0, -1])}] {self.pick(['=', '+='])} {self.float(1)}",
            f"{xs}.appendleft({xs}.pop() * {self.float(1)})",
        ]  # fmt: skip
        if self.growing:
            lines += [f"{xs}.append({self.float(1)})", f"{xs}.appendleft({self.float(1)})"] * 2
            lines.append(f"{xs}.extend([{self.float(1)}, {self.float(1)}])")
        if self.maybe(0.8):
            self.emit(self.pick(lines))
        else:
            self.bind("l", "l", f"list({xs})")

    def rows_loop(self) -> None:
        if self.loops > 1 or not self.names("ll"):
            return self.branch()
        rows, r, u, w = self.pick(self.names("ll")), self.fresh("r"), self.fresh("u"), self.fresh("w")
        growing, self.growing = self.growing, False
        if self.maybe(0.6):
            self.body(f"for {r} in {rows}:", {r: "l"}, "for")
        else:
            self.body(f"for {u}, {w} in zip({rows}[0], {rows}[-1]):", {u: "f", w: "f"}, "for")
        self.growing = growing
