"""What C code and callees are given in random programs: functions, keywords, objects that are asked for numbers.

And what comes out of that: exceptions with numbers, containers within tuples.
"""

from __future__ import annotations

from tests.programs.expressions import Forms as Choices
from tests.programs.forms import Forms

HEADER = """

class Measured:
    def __init__(self, v):
        self.v = v
        self.asked = 0

    def __float__(self):
        self.asked += 1
        return float(self.v) + 0.1 * self.asked

    def __contains__(self, x):
        self.v = 0.9 * self.v + 0.1 * x
        return x > self.v

    def __lt__(self, other):
        return self.v < other.v

    def __len__(self):
        self.v *= 1.1
        return 2

    def __abs__(self):
        return abs(self.v) * 0.5


class Fields(typing.NamedTuple):
    l: list
    d: dict


def optioned(x, **options):
    options["p"] = options.get("p", 0.3) * x
    x = math.tanh(x) + options.setdefault("q", 2.0 * x)
    options.update(q=x - 0.2 * options["q"])
    return options


def handed_on(x, *args, **options):
    options["q"] = x
    return optioned(*args, **options)["p"] + x


def level(t):
    return 0.3 * t


def checked(x, limit=0.4):
    if x > limit:
        raise Failure(1.5 * x)
    return math.sin(x)
"""


class Given(Forms):
    """Functions and objects that others call."""

    def simple(self) -> Choices:
        return [*super().simple(), self.options, self.fields, self.given, self.raised, self.measured]

    def options(self) -> None:
        """Keywords that a callee writes to."""
        d = self.pick(self.names("d")) if self.names("d") else f'{{"p": {self.float(1)}, "q": {self.float_atom()}}}'
        form = self.rng.randrange(4)
        if form == 0:
            self.bind("d", "d", f"optioned({self.float(1)}, **{d})")
        elif form == 1:
            self.bind("d", "d", f"optioned({self.float(1)}, p={self.float_atom()})")
        elif form == 2:
            self.bind("f", "x", f"handed_on({self.float(1)}, {self.float_atom()}, **{d})")
        else:
            name = self.fresh("d")
            self.emit(f'{name} = {{"p": {self.float(1)}}}')
            self.emit(f'{name}["q"] = {self.float(1)}')
            self.kinds[name] = "d"
            self.bind("f", "x", f'optioned({self.float_atom()}, **{name})["p"]')

    def fields(self) -> None:
        """A list and a dict in a tuple, which are written to."""
        if self.nested:
            return self.assign_float()
        r = self.fresh("r")
        xs = self.pick(self.names("l")) if self.names("l") and self.maybe(0.5) else f"[{self.float(1)}, 0.2]"
        d = self.pick(self.names("d")) if self.names("d") and self.maybe(0.5) else f'{{"p": {self.float(1)}, "q": 0.4}}'
        self.emit(f"{r} = Fields({xs}, {d})")
        self.kinds |= {f"{r}.l": "l", f"{r}.d": "d"}
        self.fixed = self.fixed | {f"{r}.l", f"{r}.d"}
        self.emit(f"{r}.l[0] *= {self.float(1)}")
        self.emit(f'{r}.d["{self.pick("pq")}"] = {self.float(1)}')

    def function(self) -> str:
        """A smooth one of one number."""
        body = f"math.sin(t * {self.float_atom()}) + {self.float_atom()} * t"
        return f"lambda t: {self.pick([body, f'{body} + level(t)'])}"

    def given(self) -> None:
        """Functions that are given away, and read what the program wrote."""
        if self.loops > 1:
            return self.assign_float()
        f = self.function()
        xs = self.pick(self.names("l")) if self.names("l") else f"[{self.float_atom()}, {self.float_atom()}]"
        forms = [
            f"quad({f}, 0.0, 0.7)[0]",
            f"brentq(lambda t: t**3 + t - math.sin({self.float_atom()}) - level(0.3), -6.0, 6.0)",
            f"np.vectorize({f}, otypes=[float])({self.array_name()}).sum()",
            f"np.apply_along_axis(lambda row: row * {self.float_atom()}, 0, {self.array_name()}).sum()",
            f"sum(map({f}, {xs}))",
            f"sorted({xs}, key={f})[0]",
            f"max({xs}, key={f})",
            f"functools.reduce(lambda s, t: 0.5 * s * {self.float_atom()} + t, {xs})",
        ]
        self.bind("f", "x", self.pick(forms))

    def raised(self) -> None:
        """A number that comes by an exception."""
        xs = self.pick(self.names("l")) if self.names("l") else f"[{self.float_atom()}, {self.float_atom()}]"
        limit = f"functools.partial(checked, limit={self.const()})"
        forms = [
            f"sum(map({self.pick(['checked', limit])}, {xs}))",
            f"sorted({xs}, key=checked)[0]",
            f"[checked(v) for v in {xs}][-1]",
            f"next(filter(checked, {xs}))",
            f"quad(lambda t: checked({self.float_atom()}) * t, 0.0, 1.0)[0]",
        ]
        name, e = self.fresh("x"), self.fresh("e")
        self.emit("try:")
        self.emit(f"    {name} = {self.pick(forms)}")
        self.emit(f"except Failure as {e}:")
        self.emit(f"    {name} = {self.pick([f'{e}.value', f'{e}.args[0]'])} * {self.float_atom()}")
        if "next" in self.lines[-3]:
            self.emit("except StopIteration:")
            self.emit(f"    {name} = {self.float_atom()}")
        self.kinds[name] = "f"

    def measured(self) -> None:
        """An object that is asked for numbers and answers."""
        m = self.fresh("m")
        self.emit(f"{m} = Measured({self.float(1)})")
        for _ in range(self.rng.randrange(1, 3)):
            forms = [
                f"math.fsum([{self.float_atom()}, {m}])",
                f"math.atan({m})",
                f"float({m})",
                f"({self.float_atom()} in {m}) * {self.float_atom()} + {m}.v",
                f"len({m}) * {m}.v",
                f"min({m}, Measured({self.float_atom()})).v",
                f"sorted([{m}, Measured({self.float_atom()})])[1].v",
                f"abs({m})",
                f"({self.float_atom()} if {m} else 0.3) * {m}.v",
            ]
            self.bind("f", "x", self.pick(forms))
