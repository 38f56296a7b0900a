"""What made a container: a write into one is not taken for one into those it is in."""

from __future__ import annotations

from collections import defaultdict

from mooncake_py import grad
from mooncake_py.infer.allocation import Origin
from mooncake_py.ir.nodes import Const, Var
from mooncake_py.runtime.site import DynamicSite
from tests.derive import derivation_of


def test_values_from_elsewhere_may_be_what_is_seen() -> None:
    one, two = Var(1), Var(2)
    mine = Origin(frozenset({one}), elsewhere=False, held=True, seen=False)
    seen = Origin(frozenset({two}), elsewhere=False, held=True, seen=True)
    assert mine.apart(seen) and seen.apart(mine)
    assert not mine.apart(Origin(frozenset({one, two}), elsewhere=False, held=True, seen=True))
    assert mine.apart(Origin()) and Origin().apart(mine)
    assert not seen.apart(Origin()) and not Origin().apart(Origin())


def test_lists_of_lists_by_comprehensions_are_known() -> None:
    def f(xs):
        m = [[x * y for x in xs] for y in xs]
        return m[0][1] * m[1][1]

    forward = derivation_of(f, [2.0, 3.0]).forward
    assert not any(
        isinstance(s.fn, Const) and isinstance(s.fn.value, DynamicSite) for b in forward.blocks for s in b.stmts
    )
    assert grad(f)([2.0, 3.0]) == [27.0, 54.0]


def _decides(f, *args) -> bool:
    """Is there a call that is decided when it runs?"""
    forward = derivation_of(f, *args).forward
    return any(isinstance(s.fn, Const) and isinstance(s.fn.value, DynamicSite) for b in forward.blocks for s in b.stmts)


def test_dicts_of_dicts_by_loops_over_them_are_known() -> None:
    def graph_of(edges):
        graph: dict = {}
        for (a, b), w in edges.items():
            if a not in graph:
                graph[a] = {}
            graph[a][b] = w
        return graph

    def by_values(edges):
        s = 0.0
        for nb in graph_of(edges).values():
            for w in nb.values():
                s += w * w
        return s

    def by_items(edges):
        s = 0.0
        for u, nb in graph_of(edges).items():
            for v, w in nb.items():
                s += w * w * (u + v)
        return s

    def by_default(edges):
        graph: dict = defaultdict(dict)
        for (a, b), w in edges.items():
            graph[a][b] = w
        s = 0.0
        for nb in graph.values():
            for w in nb.values():
                s += w * w
        return s

    edges = {(0, 1): 2.0, (1, 2): 3.0}
    assert not any(_decides(f, edges) for f in (by_values, by_items, by_default))
    assert grad(by_items)(edges) == {(0, 1): 4.0, (1, 2): 18.0}


def test_dicts_of_dicts_by_setdefault_are_known() -> None:
    def f(xs):
        found: dict = {}
        for i, x in enumerate(xs):
            found.setdefault(i % 2, {}).setdefault("values", []).append(x)
        return sum(sum(e["values"]) ** 2 for e in found.values())

    assert not _decides(f, [2.0, 3.0, 1.0])
    assert grad(f)([2.0, 3.0, 1.0]) == [6.0, 6.0, 6.0]


def test_sums_over_a_dict_in_a_loop_are_known() -> None:
    def f(d, x):
        s = 0.0
        for k in range(3):
            s += sum(w * x[i] for i, w in d.items()) * k
        return s

    assert not _decides(f, {0: 2.0, 1: 3.0}, [4.0, 5.0])
    assert grad(f)({0: 2.0, 1: 3.0}, [4.0, 5.0]) == {0: 12.0, 1: 15.0}


def test_a_list_that_is_held_is_written_to_by_its_other_name() -> None:
    def f(x):
        inner: list = []
        outer: list = [inner]
        outer[0].append([x * x])
        inner.append(x)
        return inner[0][0] * inner[1]

    assert grad(f)(2.0) == 12.0


class Told:
    def __init__(self):
        self.handlers = []
        self.log = []

    def tell(self, x):
        for handler in self.handlers:
            handler(self, x)


def test_lists_of_one_object_are_told_apart() -> None:
    def f(x):
        told, noted = Told(), []
        told.handlers.append(lambda t, v: noted.append(v * x))
        told.handlers.append(lambda t, v: t.log.append(v + x))
        for k in range(3):
            told.tell(x * k)
        return sum(noted) * sum(told.log)

    assert not _decides(f, 1.5)
    assert abs(grad(f)(1.5) - 54 * 1.5**2) < 1e-12  # of 3 x^2 by 6 x


def test_lists_by_two_attributes_are_one() -> None:
    def f(x):
        told, other = Told(), Told()
        other.log = told.handlers
        other.log.append(x * x)
        return sum(told.handlers) * x

    assert abs(grad(f)(2.0) - 12.0) < 1e-12


def test_what_code_out_of_sight_holds_may_be_any_list_it_has_seen() -> None:
    def keep(t, n):
        t.log = t.handlers
        return t if n == 0 else keep(t, n - 1)

    def f(x):
        told = Told()
        found = keep(told, 2)
        found.log.append(x * x)
        return sum(told.handlers) * x

    assert abs(grad(f)(2.0) - 12.0) < 1e-12
