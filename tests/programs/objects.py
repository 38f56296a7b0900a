"""Objects, iterators and closures in random programs.

More kinds: ("o", C) object of class C, with the float `v`, the array `a` and the list `l`; ("lo", C) list of two such;
"da" dict of arrays with the keys "p" and "q"; "nt" named tuple (x: float, a: array); "dv" kept view of the values of a
dict of floats; "g" iterator of floats that is kept; "fs" list of two functions of a float.
"""

from __future__ import annotations

from typing import Any

from tests.programs.compound import Compound
from tests.programs.expressions import Forms


class Objects(Compound):
    """What has attributes or methods, and what is looked into later."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.classes: list[str] = []
        self.generators: list[str] = []

    # what there is

    def objects(self) -> list[tuple[str, str]]:
        """The objects in scope, with their classes."""
        return [(x, k[1]) for x, k in self.kinds.items() if k[0] == "o"]

    def made(self, depth: int = 1) -> str:
        """A new object of any class."""
        return f"{self.pick(self.classes)}({self.float(depth)}, {self.array(self.n, depth)})"

    def know(self, name: str, cls: str) -> None:
        """An object's attributes are names that can be read, bound and written into."""
        self.kinds |= {name: ("o", cls), f"{name}.v": "f", f"{name}.a": ("a", self.n), f"{name}.l": "l"}

    # expressions

    def atoms(self) -> Forms:
        forms = super().atoms()
        if self.names("da"):
            forms.append(lambda: f'{self.pick(self.names("da"))}["{self.pick("pq")}"][{self.index(self.n)}]')
        if self.names("nt"):
            forms.append(
                lambda: self.pick([f"{t}.x" for t in self.names("nt")] + [f"{t}[0]" for t in self.names("nt")])
            )
        for o, _ in self.objects():
            forms += [lambda o=o: f"{o}[{self.index(self.n)}]", lambda o=o: f'getattr({o}, "v")']
        if self.names("d"):
            forms.append(lambda: f'{self.pick(self.names("d"))}.get("{self.pick("pz")}", {self.const()})')
        return forms

    def floats(self, depth: int) -> Forms:
        forms = super().floats(depth)
        rec = lambda: self.float(depth - 2)  # noqa: E731
        if self.loops < 2:
            for o, cls in self.objects():
                forms += [
                    lambda o=o: f"{o}.m({rec()})",
                    lambda o=o: f"{o}.p",
                    lambda o=o: f"{o}({rec()})",
                    lambda o=o: f"sum({o})",
                    lambda o=o, c=cls: f"({o} + {self.pick(self.names(('o', c)))}).v",
                ]
            if self.classes:
                forms.append(lambda: f"{self.made(0)}.m({rec()})")
            if self.generators:
                forms.append(lambda: f"sum({self.pick(self.generators)}({rec()}, {self.array_name()}))")
        for xs, k in self.kinds.items():
            if k[0] == "lo":
                forms += [
                    lambda xs=xs: f"max({xs}, key=lambda o: o.v).a[{self.index(self.n)}]",
                    lambda xs=xs: f"sum(o.v for o in {xs})",
                    lambda xs=xs: f"{xs}[{self.pick([0, 1])}].v",
                ]
        if self.names("d"):
            forms.append(lambda: f"{self.pick(['sum', 'max', 'min'])}({self.pick(self.names('d'))}.values())")
        if self.names("dv"):
            forms.append(lambda: f"{self.pick(['sum', 'max', '0.1 * len'])}({self.pick(self.names('dv'))})")
        if self.names("g"):
            forms += [lambda: f"next({self.pick(self.names('g'))}, {rec()})"] * 2
            forms.append(lambda: f"sum({self.pick(self.names('g'))})")
        if self.names("fs"):
            forms.append(lambda: f"{self.pick(self.names('fs'))}[{self.pick([0, 1])}]({rec()})")
        return forms

    # statements

    def simple(self) -> Forms:
        forms = super().simple()
        forms += [self.more_of_dicts, self.array_dict, self.named_tuple, self.keep_iterator, self.keep_view]
        if self.classes:
            forms += [self.make_object] * (1 if self.objects() else 4) + [self.use_object] * 4 + [self.object_list] * 2
        return [*forms, self.function_list]

    def compound(self) -> Forms:
        forms = super().compound()
        return [*forms, self.closure, self.generator_loop, self.object_loop, self.failing]

    def make_object(self) -> None:
        cls = self.pick(self.classes)
        old = self.names(("o", cls), bound=True)
        name = self.pick(old) if old and self.maybe(0.4) else self.fresh("o")
        self.emit(f"{name} = {cls}({self.float()}, {self.array(self.n)})")
        self.know(name, cls)

    def use_object(self) -> None:
        if not self.objects():
            return self.make_object()
        o, cls = self.pick(self.objects())
        forms: Forms = [
            lambda: self.emit(f"{o}.v {self.pick(['=', '+=', '-='])} {self.float()}"),
            lambda: self.emit(f"{o}.a = {self.array(self.n)}"),
            lambda: self.emit(f"{o}.a[{self.index(self.n)}] {self.pick(['=', '+=', '*='])} {self.float(1)}"),
            lambda: self.emit(f"{o}[{self.index(self.n)}] = {self.float(1)}"),
            lambda: self.emit(f"{o}.a *= np.tanh({self.array(self.n, 1)})"),
            lambda: self.emit(f"{o}.p = {self.float(1)}"),
            lambda: self.emit(f'setattr({o}, "v", {self.float(1)})'),
            lambda: self.bind("f", "x", f"{o}.m({self.float(1)})"),
        ]
        if not self.nested:
            forms.append(lambda: self.alias(o, cls))
        self.pick(forms)()

    def alias(self, o: str, cls: str) -> None:
        name = self.fresh("o")
        self.emit(f"{name} = {self.pick([o, o, f'copy.copy({o})', f'copy.deepcopy({o})', f'{o} + {o}'])}")
        self.know(name, cls)

    def object_list(self) -> None:
        known = [(x, k[1]) for x, k in self.kinds.items() if k[0] == "lo"]
        if not known or self.maybe(0.3):
            if not self.objects():
                return self.make_object()
            o, cls = self.pick(self.objects())
            self.bind(("lo", cls), "s", f"[{o}, {cls}({self.float(1)}, {self.array_name()})]")
            return
        xs, _ = self.pick(known)
        self.pick(
            [
                lambda: self.emit(f"{xs}[0], {xs}[1] = {xs}[1], {xs}[0]"),
                lambda: self.emit(f"{xs}.sort(key=lambda o: o.v)"),
                lambda: self.emit(f"{xs}[{self.pick([0, 1])}].v += {self.float(1)}"),
                lambda: self.emit(f"{xs}[{self.pick([0, 1])}].a[{self.index(self.n)}] = {self.float(1)}"),
                lambda: self.emit(f"{xs}[0].a, {xs}[1].a = {xs}[1].a, {xs}[0].a"),
            ]
        )()

    def more_of_dicts(self) -> None:
        if not self.names("d"):
            return self.dictionary()
        d, v = self.pick(self.names("d")), self.fresh("c")
        forms: Forms = [
            lambda: self.emit(f"{d}.update(p={self.float(1)}, q={self.float(1)})"),
            lambda: self.emit(f'{d}["{self.pick("rst")}"] = {self.float(1)}'),
            lambda: self.bind("f", "x", f'{d}.pop("{self.pick("rst")}", {self.float(1)})'),
            lambda: self.bind("f", "x", f'{d}.setdefault("{self.pick("prs")}", {self.float(1)})'),
            lambda: self.bind("d", "d", f"{{**{d}, 'p': {self.float(1)}}}"),
            lambda: self.bind("d", "d", f"{{k: math.tanh({v}) for k, {v} in {d}.items()}}"),
            lambda: self.bind("d", "d", f"{self.pick([d, f'dict({d})', f'{d}.copy()'])}"),
            lambda: self.bind("f", "x", f"sum({v} * {self.const()} for {v} in {d}.values())"),
        ]
        self.pick(forms)()

    def array_dict(self) -> None:
        ds = self.names("da")
        if not ds or self.maybe(0.3):
            self.bind("da", "d", f'{{"p": {self.array(self.n, 1)}, "q": {self.array_name()}}}')
            return
        d, key = self.pick(ds), self.pick("pq")
        self.pick(
            [
                lambda: self.emit(f'{d}["{key}"] = {self.array(self.n)}'),
                lambda: self.emit(f'{d}["{key}"][{self.index(self.n)}] += {self.float(1)}'),
                lambda: self.emit(f'{d}["{key}"] += {self.array(self.n, 1)}'),
                lambda: self.bind(("a", self.n), "a", f'{d}["{key}"]'),
                lambda: self.emit(f'{d}["p"], {d}["q"] = {d}["q"], {d}["p"]'),
            ]
        )()

    def named_tuple(self) -> None:
        ts = self.names("nt")
        if not ts or self.maybe(0.3):
            self.bind("nt", "t", f"Pair({self.float()}, {self.array_name()})")
            return
        t = self.pick(ts)
        forms: Forms = [
            lambda: self.bind("nt", "t", f"{t}._replace({self.pick(['x', 'x'])}={self.float(1)})"),
            lambda: self.bind("f", "x", f"{t}.size()"),
            lambda: self.emit(f"{t}.a[{self.index(self.n)}] = {self.float(1)}"),
            lambda: self.bind("t", "t", f"tuple({t})"),
        ]
        if not self.nested:
            forms.append(lambda: self.unpacked(t))
        self.pick(forms)()

    def unpacked(self, t: str) -> None:
        x, a = self.fresh("x"), self.fresh("a")
        self.emit(f"{x}, {a} = {t}")
        self.kinds |= {x: "f", a: ("a", self.n)}

    def keep_iterator(self) -> None:
        """An iterator that is made now and asked later: what it reads may have changed by then."""
        v, a = self.fresh("c"), self.array_name()
        outer, self.kinds = self.kinds, {**self.kinds, v: "f"}
        local, self.local, helpers, self.helpers = self.local, {}, self.helpers, []
        loops, self.loops = self.loops, 2  # no calls in it
        item = self.float(2)
        self.kinds, self.local, self.helpers, self.loops = outer, local, helpers, loops
        forms = [f"({v} + {item} for {v} in {a})", f"map(lambda {v}: {item}, {a})", f"iter({a})", f"reversed({a})"]
        forms += [f"filter(lambda {v}: {v} > {self.const()}, {a})", f"itertools.accumulate({a})"]
        if self.names("l"):
            xs = self.pick(self.names("l"))
            forms += [f"iter({xs})", f"reversed({xs})", f"({v} * {self.const()} for {v} in {xs})"]
        if self.names("d"):
            forms.append(f"({v} + {self.float_atom()} for {v} in {self.pick(self.names('d'))}.values())")
        if self.generators and self.loops < 2:
            forms += [f"{self.pick(self.generators)}({self.float(1)}, {a})"] * 3
        self.bind("g", "it", self.pick(forms))

    def keep_view(self) -> None:
        if not self.names("d"):
            return self.dictionary()
        self.bind("dv", "vs", f"{self.pick(self.names('d'))}.values()")

    def function_list(self) -> None:
        u = self.fresh("u")
        kinds, self.kinds = self.kinds, {**self.kinds, u: "f"}
        local, self.local, helpers, self.helpers = self.local, {}, self.helpers, []
        bodies = [self.float(2), self.float(2)]
        self.kinds, self.local, self.helpers = kinds, local, helpers
        self.bind("fs", "fs", f"[lambda {u}: {bodies[0]}, lambda {u}, k={self.float_atom()}: k * ({bodies[1]})]")

    # compound statements

    def closure(self) -> None:
        """A function that makes a function with a state of its own."""
        if self.nested or self.loops > 0:
            return self.branch()
        make, start, state, inner, u = (self.fresh(x) for x in "mucfu")
        kinds, local, helpers = dict(self.kinds), dict(self.local), self.helpers
        with self.block(f"def {make}({start}):"):
            self.emit(f"{state} = {start}")
            with self.block(f"def {inner}({u}):"):
                self.emit(f"nonlocal {state}")
                self.kinds |= {u: "f", state: "f", start: "f"}
                self.helpers, self.local = [], {}
                self.emit(f"{state} = math.tanh({self.float(2)} + {state})")
                self.emit(f"return {self.float(2)} * {state}")
            self.emit(f"return {inner}")
        name = self.fresh("h")
        self.kinds, self.local, self.helpers = kinds, local, helpers
        self.emit(f"{name} = {make}({self.float(1)})")
        self.local[name] = 1

    def generator_loop(self) -> None:
        v = self.fresh("v")
        if self.loops > 1 or not (self.names("g") or self.generators):
            return self.branch()
        forms = [f"for {v} in {it}:" for it in self.names("g")]
        forms += [f"for {v} in {g}({self.float(1)}, {self.array_name()}):" for g in self.generators]
        growing, self.growing = self.growing, False
        self.body(self.pick(forms), {v: "f"}, "for")
        self.growing = growing

    def object_loop(self) -> None:
        lists = [(x, k[1]) for x, k in self.kinds.items() if k[0] == "lo"]
        if self.loops > 1 or not lists:
            return self.branch()
        xs, cls = self.pick(lists)
        o = self.fresh("o")
        bound: dict[str, Any] = {o: ("o", cls), f"{o}.v": "f", f"{o}.a": ("a", self.n), f"{o}.l": "l"}
        growing, self.growing = self.growing, False
        self.body(f"for {o} in {xs}:", bound, "for")
        self.growing = growing

    def failing(self) -> None:
        """An exception that carries a value."""
        e, x = self.fresh("e"), self.target("f", "x")
        self.tries += 1
        with self.block("try:"):
            self.statements(self.rng.randrange(2), 0)
            with self.block(f"if {self.condition()}:"):
                self.emit(f"raise Failure({self.float(1)})")
            self.emit(f"{x} = {self.float(1)}")
        self.tries -= 1
        with self.block(f"except Failure as {e}:"):
            self.emit(f"{x} = {self.pick([f'{e}.value', f'{e}.args[0]', f'{e}.value * {self.float(1)}'])}")
        self.kinds[x] = "f"

    # definitions

    def class_definition(self, name: str) -> None:
        """A class of one of four forms. Its methods read and change the attributes."""
        bases = [c for c in self.classes if c[0] == "C"]
        form = self.pick(["plain", "plain", "data", "slots", "child" if bases else "plain"])
        name = {"data": "D", "slots": "S", "child": "E"}.get(form, "C") + name
        if form == "data":
            self.emit("@dataclasses.dataclass")
        self.emit(f"class {name}{f'({self.pick(bases)})' if form == 'child' else ''}:")
        self.indent = 1
        if form == "data":
            for line in ("v: float", "a: np.ndarray", "w: float = 0.3", "l: list = dataclasses.field(default=None)"):
                self.emit(line)
            self.method("__post_init__", "", ["self.l = [self.v, self.w]"])
        elif form != "child":
            if form == "slots":
                self.emit('__slots__ = ("v", "a", "w", "l")')
            stored = self.pick(["a", "a", "a.copy()", "np.tanh(a)"])
            self.method("__init__", ", v, a, w=0.3", ["self.v, self.w = v, w", f"self.a = {stored}", "self.l = [v, w]"])
        own = {"self.v": "f", "self.a": ("a", self.n), "self.l": "l", "self.w": "f"}
        if form == "child":
            self.method("m", ", x", [f"x = super().m({self.within(own | {'x': 'f'})})"], own | {"x": "f"})
        else:
            self.method("m", ", x", [], own | {"x": "f"})
            self.method("__add__", ", o", [f"return {name}(self.v + o.v, self.a * {self.const()} + o.a)"])
            self.method("__getitem__", ", i", ["return self.a[i]"])
            self.method("__setitem__", ", i, x", ["self.a[i] = x"])
        self.method("__call__", ", x", [f"return {self.within(own | {'x': 'f'})}"])
        self.method("__iter__", "", ["for u in self.a:", f"    yield u * {self.within(own | {'u': 'f'})}"])
        self.emit("@property")
        self.method("p", "", [f"return {self.within(own)}"])
        self.emit("@p.setter")
        self.method("p", ", x", [f"self.v = {self.within(own | {'x': 'f'})}"])
        self.indent = 0
        self.lines += ["", ""]
        self.classes.append(name)

    def within(self, kinds: dict[str, Any]) -> str:
        """A float over these names alone."""
        outer, self.kinds = self.kinds, kinds
        x = self.float(2)
        self.kinds = outer
        return x

    def method(self, name: str, params: str, lines: list[str], kinds: dict[str, Any] | None = None) -> None:
        """A method with these lines; with `kinds` given, statements over these names follow, and a float."""
        self.emit(f"def {name}(self{params}):")
        self.indent += 1
        for line in lines:
            self.emit(line)
        if kinds is not None:
            outer, self.kinds, self.growing, self.loops, self.nested = self.kinds, kinds, False, 1, True
            self.statements(self.rng.randrange(1, 3), 1)
            self.emit(f"return {self.float(2)}")
            self.kinds, self.growing, self.loops, self.nested = outer, True, 0, False
        self.indent -= 1
        self.emit("")

    def generator_definition(self, name: str) -> None:
        """A generator function of a float and an array: two items at least."""
        self.emit(f"def {name}(x, a):")
        self.indent = 1
        self.kinds = {"x": "f", "a": ("a", self.n)}
        self.emit(f"yield {self.float(2)}")
        self.growing, self.loops, self.nested = False, 1, True
        header = self.pick(["for u in a:", "for u in reversed(a):", "for i, u in enumerate(a):", "for u in list(a):"])
        with self.block(header):
            self.kinds["u"] = "f"
            self.statements(self.rng.randrange(1, 3), 0)
            self.emit(f"yield {self.float(2)}")
        if self.generators and self.maybe(0.6):
            self.emit(f"yield from {self.pick(self.generators)}({self.float(1)}, a)")
        self.growing, self.loops, self.nested = True, 0, False
        self.emit(f"yield {self.float(1)}")
        self.indent = 0
        self.lines += ["", ""]
        self.generators.append(name)
