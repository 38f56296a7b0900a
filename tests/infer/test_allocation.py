"""What made a container: a write into one is not taken for one into those it is in."""

from __future__ import annotations

from mooncake_py import grad
from mooncake_py.infer.allocation import Origin
from mooncake_py.ir.nodes import Const, Var
from mooncake_py.runtime.site import DynamicSite
from tests.derive import rule_of


def test_values_from_elsewhere_may_be_what_is_held() -> None:
    one, two = Var(1), Var(2)
    mine = Origin(frozenset({one}), elsewhere=False, held=False)
    held = Origin(frozenset({two}), elsewhere=False, held=True)
    assert mine.apart(held) and held.apart(mine)
    assert not mine.apart(Origin(frozenset({one, two}), elsewhere=False, held=True))
    assert mine.apart(Origin()) and Origin().apart(mine)
    assert not held.apart(Origin()) and not Origin().apart(Origin())


def test_lists_of_lists_by_comprehensions_are_known() -> None:
    def f(xs):
        m = [[x * y for x in xs] for y in xs]
        return m[0][1] * m[1][1]

    forward = rule_of(f, [2.0, 3.0]).derived.forward
    assert not any(
        isinstance(s.fn, Const) and isinstance(s.fn.value, DynamicSite) for b in forward.blocks for s in b.stmts
    )
    assert grad(f)([2.0, 3.0]) == [27.0, 54.0]


def test_a_list_that_is_held_is_written_to_by_its_other_name() -> None:
    def f(x):
        inner: list = []
        outer: list = [inner]
        outer[0].append([x * x])
        inner.append(x)
        return inner[0][0] * inner[1]

    assert grad(f)(2.0) == 12.0
