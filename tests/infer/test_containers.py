"""What containers of `collections` hold is known: nothing of these functions is decided when it runs."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import UnsupportedError, grad, inspect
from mooncake_py.ir.text import to_text
from tests.infer.test_protocol import sites
from tests.zoo import dict_kinds, number_lists, tuple_lengths, visited_objects

XS = [1.0, 2.0, 3.0]


def test_deques() -> None:
    def ends(xs):
        d = deque(maxlen=2)
        s = 0.0
        for x in xs:
            d.append(x * x)
            d.appendleft(s)
            s += d.pop() * d[0] + d.popleft()
        return s + sum(d) + len(d)

    def moved(xs):
        d = deque([(x, [x]) for x in xs])
        d.rotate(2)
        d.extend([(2.0, [xs[0]])])
        d[0][1].append(xs[1])
        d.insert(1, d[-1])
        s = 0.0
        for x, ys in d.copy():
            s += x * ys[0]
        return s * list(d)[1][0]

    def of_argument(d, x):
        d.append(x)
        return d[0] * d[-1]

    assert sites(ends, XS) == 0
    assert sites(moved, XS) == 0
    assert sites(of_argument, deque(XS, 3), 2.0) == 0


def test_dicts_that_make_what_is_missing() -> None:
    def sums(xs):
        d = defaultdict(float)
        for i, x in enumerate(xs):
            d[i % 2] += x * x
        return sum(v * v for v in d.values()) + d["none"]

    def lists(xs):
        d = defaultdict(list)
        for i, x in enumerate(xs):
            d[i % 2].append(x * x)
        return sum([sum(v) ** 2 for v in d.values()])

    def made_here(xs):
        d = defaultdict(lambda: 1.0)
        for i, x in enumerate(xs):
            d[i % 2] *= x
        s = 0.0
        for k, v in d.items():
            s += k * v
        return s

    def counted(xs):
        c = Counter()
        for i, x in enumerate(xs):
            c[i % 2] += x
        return sum(c.values()) * c[0] + c["none"]

    for f in (sums, lists, made_here, counted, dict_kinds.objects_by_key):
        assert sites(f, XS) == 0


def test_what_is_missing_is_made_by_another_class_later() -> None:
    def f(x):
        d = defaultdict(dict_kinds.Mean)
        d[0].push(x)
        d.default_factory = dict_kinds.Sums
        d[1].of_all += x
        return d[0].m * d[1].of_all

    with pytest.raises(UnsupportedError, match="another default_factory"):
        grad(f)(2.0)


def test_dicts_whose_values_come_one_from_the_other() -> None:
    """Every key is known when that before it is: there are as many rounds as keys."""

    def steps(x):
        d = {"a": x}
        d["b"] = d["a"] * 2.0
        d["c"] = d["b"] + x
        d["d"] = d["c"] * x
        d["e"] = d["d"] - d["b"]
        d["f"] = d["e"] * d["a"]
        d["g"] = d["f"] + d["c"]
        d["h"] = d["g"] * 0.5
        d["i"] = d["h"] * d["g"]
        d["j"] = d["i"] - x
        d["k"] = d["j"] * d["d"]
        d["l"] = d["k"] + d["a"]
        return d["l"] * d["h"]

    def of_a_tuple(x):
        a, b, xs, d = x, 2.0, [x], {"k0": x}
        d["k1"] = d["k0"] * a
        d["k2"] = d["k1"] * b
        d["k3"] = d["k2"] * a
        d["k4"] = d["k3"] * b
        d["k5"] = d["k4"] * a
        d["k6"] = d["k5"] * b
        d["k7"] = d["k6"] * a
        d["k8"] = d["k7"] * b
        d["k9"] = d["k8"] * a
        d["k10"] = d["k9"] * xs[0]
        return d["k10"]

    assert sites(steps, 1.3) == 0
    assert sites(of_a_tuple, 1.3) == 0
    assert grad(of_a_tuple)(1.3) == pytest.approx(7 * 16 * 1.3**6)


def test_dicts_in_order() -> None:
    def f(xs):
        d = OrderedDict()
        for i, x in enumerate(xs):
            d[i] = x * x
        d.move_to_end(0)
        s = d.popitem()[1]
        for k, v in d.items():
            s += k * v
        return s * d[1]

    def of_argument(d, x):
        d["b"] += x * d["a"]
        return d["b"]

    assert sites(f, XS) == 0
    assert sites(of_argument, OrderedDict(a=1.0, b=2.0), 3.0) == 0
    assert sites(of_argument, defaultdict(float, {"a": 1.0}), 3.0) == 0


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __add__(self, other):
        return Rows([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])  # noqa: B905

    def __matmul__(self, other):
        columns = range(len(other.rows[0]))
        return Rows([[sum(a * b[j] for a, b in zip(r, other.rows)) for j in columns] for r in self.rows])  # noqa: B905

    def turned(self):
        return Rows([list(c) for c in zip(*self.rows)])  # noqa: B905

    def trace(self):
        return sum(self.rows[i][i] for i in range(len(self.rows)))


def test_lists_of_lists_that_objects_hold() -> None:
    """Before it was seen what the inner list holds, it might have been the outer one: that was never forgotten."""

    def held(x):
        rows = [[x * (i + j) for j in range(3)] for i in range(3)]
        return Rows(rows).trace()

    def computed(x):
        a = Rows([[x * (i + j) for j in range(3)] for i in range(3)])
        return ((a + a.turned()) @ a @ a).trace()

    assert sites(held, 1.3) == 0
    assert sites(computed, 1.3) == 0


def test_operations_that_numbers_refuse() -> None:
    def items(x, n):
        mixed = [x, [x, x * x]]
        total = 0.0
        for i in range(n):
            try:
                total += mixed[i % 2][1] + len(mixed[i % 2])
            except TypeError:
                total += mixed[i % 2] * 2.0
        return total

    def sums(x, n):
        mixed = [x, (x, x)]
        total = 0.0
        for i in range(n):
            try:
                total += (mixed[i % 2] + (x,))[2]
            except TypeError:
                total += x
        return total

    assert sites(items, 1.3, 4) == 0
    assert sites(sums, 1.3, 4) == 0


def test_loops_over_keys_with_derivatives() -> None:
    def looped(xs):
        d = {x: i for i, x in enumerate(xs)}
        d[xs[0] * 2.0] = 3
        s = 0.0
        for k in d:
            s += k * d[k]
        for k, v in d.items():
            s += k * v
        return s + sum([k * k for k in d.keys()])  # noqa: SIM118

    assert sites(looped, XS) == 0


def test_dicts_that_are_looked_up_only_take_nothing_for_their_keys() -> None:
    def looked_up(x):
        d = {}
        for i in range(3):
            if x * i not in d:
                d[x * i] = x + i
        return d.get(0.0, x) * len(d) + d.setdefault(x, 2.0) * d.pop(x * 2)

    def gone_through(x):
        d = {}
        for i in range(3):
            d[x * i] = x + i
        return sum(d.values()) * sum(d)

    assert sites(looked_up, 0.7) == sites(gone_through, 0.7) == 0
    assert [_takes_keys(f) for f in (looked_up, gone_through)] == [False, True]


def _takes_keys(f: Callable[[float], float]) -> bool:
    return "taken_key" in to_text(inspect(f, 0.7).derived.pullback)


def test_sets_of_constants_are_seen_through() -> None:
    def visited(xs: list[float]) -> float:
        seen, total = set(), 0.0
        for i, x in enumerate(xs):
            if i // 2 not in seen:
                seen.add(i // 2)
                total += x * x
        for k in seen | {1}:
            total += xs[k]
        return total

    def made(xs: list[float]) -> float:
        best = max([x * xs[0] for x in xs])
        ways = {"a": best}
        for _ in range(2):
            ways = {k: max([v + x for x in xs]) * best for k, v in ways.items()}
        return ways["a"]

    for f in (visited, made):
        assert "decided when it runs" not in str(inspect(f, [1.0, 2.0, 0.5]))


def test_visited_objects_are_seen_through() -> None:
    for f in (visited_objects.breadth_first, visited_objects.distances_by_object):
        assert "decided when it runs" not in str(inspect(f, visited_objects.XS))


class ReadThreefold(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 3.0

    def __iter__(self):
        return iter(sorted(super().keys()))


@pytest.mark.parametrize("fill", [dict, lambda d: {**d}, lambda d: {"c": 1.0} | d], ids=["dict", "stars", "or"])
def test_dicts_filled_from_one_that_reads_its_own_way_are_refused(fill: Any) -> None:
    def f(x):
        return sum(fill(ReadThreefold(a=x, b=x * x)).values())

    assert f(2.0) >= 18.0
    with pytest.raises(UnsupportedError, match="ReadThreefold, whose class has an __iter__"):
        grad(f)(2.0)


def test_tuples_that_become_ones_of_their_items_are_not_decided_late() -> None:
    assert sites(tuple_lengths.steps_of_tuples_by_generator_expressions, 1.2, 0.4, 0.7) == 0
    assert sites(tuple_lengths.a_tuple_that_becomes_one_of_its_items, 1.2, 0.4, 0.7) == 0


def test_what_long_lists_of_constants_hold_is_known() -> None:
    assert "decided when it runs" not in str(inspect(number_lists.long_list_of_coefficients, 0.3))
