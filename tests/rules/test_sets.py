"""What the pullback puts back into a set is what was in it, not what is equal to it."""

from __future__ import annotations

from typing import Any

from mooncake_py import value_and_grad


class Town:
    def __init__(self, name: str):
        self.name = name

    def __eq__(self, other: Any) -> bool:
        return bool(self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)


def changed(x: float, s: set) -> float:
    s.remove(1)
    s.remove(Town("a"))
    s |= {x, 2}
    s -= {"k"}
    return sum([v for v in s if isinstance(v, float)]) * x


def test_a_set_has_its_own_items_back() -> None:
    town = Town("a")
    items = [1.0, 3, "k", None, town]
    s = set(items)
    value, gradient = value_and_grad(changed)(0.7, s)
    assert (value, gradient) == (0.7 * 0.7, 1.4)
    assert len(s) == len(items) and set(map(id, s)) == set(map(id, items))
