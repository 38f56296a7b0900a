"""Objects from outside in random programs: a list, a dict, an array, an object and a number of the module.

`reset` puts them back, for every run begins with the same; `state` is what a run leaves.
"""

from __future__ import annotations

from tests.programs.expressions import Forms as Choices
from tests.programs.given import Given

HEADER = """

class Box:
    def __init__(self):
        self.v = 0.5
        self.l = [0.2, -0.7]


LOG, TABLE, STORE, BOX, TOTAL = [], {{}}, np.zeros({n}), Box(), 0.0


def reset():
    global TOTAL
    LOG[:] = [0.4, -0.3]
    TABLE.clear()
    TABLE.update(p=0.2, q=-0.6)
    STORE[:] = np.linspace(-0.5, 0.8, {n})
    BOX.__init__()
    TOTAL = 0.25


def level(t):
    return TABLE["p"] * t + BOX.v * LOG[0] - BOX.l[0] * STORE[0]


def state():
    return [LOG, TABLE, STORE, BOX.v, BOX.l, TOTAL]
"""


class Outside(Given):
    """What a run leaves behind."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.outside: list[str] = []

    def let_in(self) -> None:
        """The names from outside, in a function that begins."""
        if not self.outside:
            return
        known = {"LOG": "l", "TABLE": "d", "STORE": ("a", self.n), "BOX.v": "f", "BOX.l": "l"}
        self.kinds |= {name: kind for name, kind in known.items() if name.split(".")[0] in self.outside}
        self.fixed = self.fixed | {"LOG", "TABLE", "STORE"}
        if "TOTAL" in self.outside:
            self.emit("global TOTAL")

    def atoms(self) -> Choices:
        return super().atoms() + [lambda: "TOTAL"] * ("TOTAL" in self.outside)

    def simple(self) -> Choices:
        return super().simple() + [self.add_up] * (2 * ("TOTAL" in self.outside and not self.nested))

    def add_up(self) -> None:
        self.emit(f"TOTAL = 0.5 * TOTAL + {self.float(1)}")
