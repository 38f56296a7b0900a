"""Which comparisons of objects in heaps and lists run nothing of the user's, so that the objects stay known."""

import heapq

import pytest

from mooncake_py import grad, inspect, value_and_grad
from tests.derive import all_sites
from tests.zoo import ordering as zoo


class Event:
    def __init__(self, cost):
        self.cost, self.start = cost, None


class Rival:
    def __init__(self, cost):
        self.cost = cost

    def __lt__(self, other):
        return self.cost < other.cost


class Noting(Rival):
    def __lt__(self, other):
        self.start = other.cost
        return self.cost < other.cost


def served(times, costs, cls=Event):
    heap = [(t, i, cls(c)) for i, (t, c) in enumerate(zip(times, costs, strict=True))]
    heapq.heapify(heap)
    now = s = 0.0
    while heap:
        t, i, event = heapq.heappop(heap)
        event.start = max(now, t)
        now = event.start + event.cost
        s += now * event.cost
        if event.cost > 0.85 and t < 4.0:
            heapq.heappush(heap, (t + 4.0, i + 10, cls(event.cost * event.cost)))
    return s


TIMES, COSTS = [3.0, 1.0, 2.0, 0.5], [0.7, 0.8, 0.9, 0.4]


def served_rivals(times, costs):
    return served(times, costs, Rival)


def served_noting(times, costs):
    return served(times, costs, Noting)


@pytest.mark.parametrize("f", [served, served_rivals])
def test_objects_that_cannot_be_compared_or_only_look_stay_known(f):
    assert "decided when it runs" not in str(inspect(f, TIMES, COSTS))


def test_objects_that_note_are_asked():
    assert "the method of an object may be called" in str(inspect(served_noting, TIMES, COSTS))


@pytest.mark.parametrize(
    "f",
    [
        zoo.objects_that_only_say_which_is_less,
        zoo.events_in_the_order_of_their_times,
        zoo.the_best_of_objects_without_comparisons,
        zoo.lists_that_an_object_keeps_in_order,
    ],
    ids=lambda f: f.__name__,
)
def test_nothing_is_decided_when_it_runs(f):
    assert not all_sites(f, zoo.XS)


def less(a, b):
    return a.cost < b.cost


class ByGlobal:
    def __init__(self, cost):
        self.cost = cost

    def __lt__(self, other):
        return less(self, other)


def in_order(x):
    first, second = sorted([ByGlobal(3.0 * x), ByGlobal(x)])
    return first.cost * second.cost


def test_what_a_comparison_calls_is_looked_at_again_when_it_is_another(monkeypatch):
    def noting(a, b):
        a.cost = 2.0 * a.cost
        return False

    assert value_and_grad(in_order)(1.5) == (6.75, 9.0)
    monkeypatch.setitem(globals(), "less", noting)
    expected = in_order(1.5)
    value, g = value_and_grad(in_order)(1.5)
    assert value == expected
    assert abs(g - 2 * expected / 1.5) < 1e-9


class Late:
    def __init__(self, x):
        self.x = x


def tied(x):
    heap = [(1, Late(x)), (1, Late(2.0 * x))]
    try:
        heapq.heapify(heap)
    except TypeError:
        return 5.0 * x
    return heap[0][1].x * heap[1][1].x


def test_what_cannot_be_compared_raises_and_what_is_made_comparable_later_is_asked():
    def noting(self, other):
        self.x = 3.0 * self.x
        return False

    assert value_and_grad(tied)(1.5) == (7.5, 5.0)
    try:
        Late.__lt__ = noting
        expected = tied(1.5)
        step = 1e-6
        slope = (tied(1.5 + step) - tied(1.5 - step)) / (2 * step)
        value, g = value_and_grad(tied)(1.5)
        assert value == expected
        assert abs(g - slope) < 1e-6
    finally:
        del Late.__lt__
    assert grad(tied)(1.5) == 5.0
