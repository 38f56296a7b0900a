"""Arguments and results of classes derived from containers."""

from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import UnsupportedError, value_and_grad, value_and_pullback


class Noted(list):
    log = 0.0

    def append(self, v):
        super().append(v)
        self.log = self.log + v

    def clear(self):
        raise TypeError("kept")


class Settings(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


class Ordered(OrderedDict):
    pass


class Frozen(dict):
    def __setitem__(self, key, value):
        raise TypeError("frozen")

    update = clear = __setitem__


def noted(x):
    y = Noted([x])
    y.append(2.0 * x)
    y[0] = 5.0 * x
    return y


def test_a_result_keeps_its_items_and_attributes():
    y, pullback = value_and_pullback(noted, 1.5)
    assert pullback([1.0, 1.0]) == (7.0,)
    assert y == [7.5, 3.0] and y.log == 3.0


def test_attributes_that_are_items_of_an_argument():
    s: Any = Settings(rate=2.0, size=3.0)

    def cost(s):
        s.size = s.rate * s["size"]
        return s["size"] * s.rate

    value, gradient = value_and_grad(cost)(s)
    assert value == 12.0 and gradient == {"rate": 12.0, "size": 4.0}
    assert s == {"rate": 2.0, "size": 3.0} and s.rate == 2.0


def test_an_argument_is_looked_into_past_its_methods():
    value, gradient = value_and_grad(lambda d: d["a"] * d["b"])(Frozen(a=2.0, b=3.0))
    assert value == 6.0 and gradient == {"a": 3.0, "b": 2.0}


def test_a_result_is_kept_past_its_methods():
    y, pullback = value_and_pullback(lambda x: Frozen(a=x, b=[x]), 2.0)
    assert pullback({"a": 1.0, "b": [3.0]}) == (4.0,)
    assert dict.items(y) == {"a": 2.0, "b": [2.0]}.items()


class Weights(list):
    def push(self, x):
        self.append(x)
        return self


class Named(list):
    scale = 2.0

    def __init__(self, items, unit):
        super().__init__(items)
        self.unit, self.log = unit, []

    def record(self, x):
        self.append(x * self.unit)
        self.log.append(x)
        self.unit = self.unit * 1.5
        return self.scale * x


class Groups(defaultdict):
    pass


class Window(deque):
    pass


def decided_late(f, *args):
    """Nothing is decided when it runs."""
    return [line for line in str(mooncake_py.inspect(f, *args)).splitlines() if line.lstrip("|").lstrip()[:4] == "| ? "]


def total(d):
    return sum(d.values()) * d["a"] if isinstance(d, dict) else sum(d) * d[0]


@pytest.mark.parametrize(
    "x",
    [
        Weights([1.5, 2.0]),
        Window([1.5, 2.0], 3),
        Groups(float, a=1.5, b=2.0),
        Ordered(a=1.5, b=2.0),
        Frozen(a=1.5, b=2.0),
        deque([1.5, 2.0], 3),
        defaultdict(float, a=1.5, b=2.0),
        OrderedDict(a=1.5, b=2.0),
        Counter(a=1.5, b=2.0),
    ],
    ids=lambda x: type(x).__name__,
)
def test_arguments_are_known_before_the_run(x):
    assert decided_late(total, x) == []
    f = value_and_grad(total)
    value, first = f(x)
    assert value == 5.25 and (list(first.values()) if isinstance(x, dict) else list(first)) == [5.0, 1.5]
    again = f(x)[1]
    assert type(again) is type(first) and again == first
    assert getattr(again, "maxlen", None) == getattr(first, "maxlen", None)
    assert getattr(again, "default_factory", None) is getattr(first, "default_factory", None)


def test_calls_with_other_content_are_told_apart():
    f = value_and_grad(lambda xs: sum(x if isinstance(x, float) else 2.0 * x[0] for x in xs))
    assert f(Weights([1.0, 2.0])) == (3.0, [1.0, 1.0])
    assert f(Weights([1.0, [2.0]])) == (5.0, [1.0, [2.0]])
    assert f(Weights([1.0, Weights([2.0, 3.0])])) == (5.0, [1.0, [2.0, 0.0]])
    assert f(Noted([1.0, 2.0])) == (3.0, [1.0, 1.0])
    assert f([1.0, 2.0, 3.0]) == (6.0, [1.0, 1.0, 1.0])


def test_calls_with_other_attributes_are_told_apart():
    f = value_and_grad(lambda xs: xs.log * xs[0] if isinstance(xs.log, float) else xs.log[0] * xs[1])
    xs, ys = Noted([1.0, 2.0]), Noted([1.0, 2.0])
    xs.log, ys.log = 3.0, [5.0]  # type: ignore[assignment]
    for _ in range(2):
        assert f(Noted([1.0, 2.0])) == (0.0, [0.0, 0.0])
        assert f(xs) == (3.0, [3.0, 0.0])
        assert f(ys) == (10.0, [0.0, 5.0])


def test_other_factories_are_told_apart():
    f = value_and_grad(lambda d: d["a"] * d["none"])
    for _ in range(2):
        assert f(Groups(float, a=2.0)) == (0.0, {"a": 0.0})
        assert f(Groups(lambda: 3.0, a=2.0)) == (6.0, {"a": 3.0})
        assert f(Groups(None, a=2.0, none=4.0)) == (8.0, {"a": 4.0, "none": 2.0})

    def replaced(d):
        d.default_factory = lambda: 3.0
        return d["a"] * d["none"]

    d = Groups(float, a=2.0)
    assert value_and_grad(replaced)(d) == (6.0, {"a": 3.0})
    assert d.default_factory is float and d == {"a": 2.0}


def test_attributes_beside_items_are_put_back():
    def cost(xs):
        y = 0.0
        for k in range(3):
            y += xs.record(xs[k] * xs[k])
        xs.scale = xs[0] * y
        xs.extra = [xs[1]]
        return y * xs.scale + sum(xs.log) + xs.extra[0]

    def plainly(a, b):
        held, log, unit, y = [a, b], [], 0.5, 0.0
        for k in range(3):
            x = held[k] * held[k]
            held.append(x * unit)
            log.append(x)
            unit *= 1.5
            y += 2.0 * x
        return y * (a * y) + sum(log) + b

    expected, (da, db) = value_and_grad(plainly, argnums=(0, 1))(1.3, 0.7)
    xs = Named([1.3, 0.7], 0.5)
    f = value_and_grad(cost)
    for _ in range(3):
        value, gradient = f(xs)
        assert value == pytest.approx(expected) and gradient == pytest.approx([da, db])
        assert xs == [1.3, 0.7] and vars(xs) == {"unit": 0.5, "log": []}


def written_by_both(v, w):
    v.push(w[0] * w[1])
    w[0] = v[-1] * 3.0
    return sum(v) * w[0]


def test_one_list_by_two_names():
    def one(a, b):
        c = a * b
        return (c * 3.0 + b + c) * c * 3.0

    f = value_and_grad(written_by_both, argnums=(0, 1))
    apart = f(Weights([1.5, 2.0]), Weights([1.5, 2.0]))
    expected, slope = value_and_grad(one, argnums=(0, 1))(1.5, 2.0)
    v = Weights([1.5, 2.0])
    for _ in range(2):
        value, (dv, dw) = f(v, v)
        assert value == expected and dv is dw and dv == pytest.approx(list(slope))
        assert v == [1.5, 2.0]
        assert f(Weights([1.5, 2.0]), Weights([1.5, 2.0])) == apart


@pytest.mark.parametrize("around", [lambda v: {"a": v, "b": v}, lambda v: [v, v], lambda v: Weights([v, v])])
def test_one_list_in_two_places(around):
    def cost(held):
        v, w = held.values() if isinstance(held, dict) else held
        return written_by_both(v, w)

    v = Weights([1.5, 2.0])
    both = value_and_grad(written_by_both, argnums=(0, 1))(v, v)
    f = value_and_grad(cost)
    for _ in range(2):
        value, gradient = f(around(v))
        first = gradient["a"] if isinstance(gradient, dict) else gradient[0]
        assert value == both[0] and first == both[1][0] and v == [1.5, 2.0]


def test_an_attribute_that_is_an_argument():
    def cost(xs, ys):
        xs.log.append(ys[0] * xs[0])
        ys[1] = xs.log[-1] * 2.0
        return sum(xs.log) * sum(ys)

    def plainly(x, a):
        c = a * x
        return (a + c * 2.0 + c) * (a + c * 2.0 + c)

    xs, ys = Noted([1.3]), Weights([0.7, 0.4])
    xs.log = ys  # type: ignore[assignment]
    expected, (dx, da) = value_and_grad(plainly, argnums=(0, 1))(1.3, 0.7)
    f = value_and_grad(cost, argnums=(0, 1))
    for _ in range(2):
        value, (gx, gy) = f(xs, ys)
        assert value == pytest.approx(expected) and gx == pytest.approx([dx]) and gy == pytest.approx([da, 0.0])
        assert xs.log is ys and ys == [0.7, 0.4]


def test_a_class_that_changes_is_asked_again():
    class Row(list):
        pass

    f = value_and_grad(lambda xs: sum(xs) * xs[0])
    assert f(Row([2.0, 3.0])) == (10.0, [7.0, 2.0])
    Row.__getitem__ = lambda self, i: 5.0 * list.__getitem__(self, i)  # type: ignore[method-assign, assignment]
    assert f(Row([2.0, 3.0])) == (50.0, [35.0, 10.0])
    del Row.__getitem__
    Row.__iter__ = lambda self: iter([1.0])  # type: ignore[method-assign, assignment]
    assert f(Row([2.0, 3.0])) == (2.0, [1.0, 0.0])


def test_a_class_is_known_after_a_deep_copy():
    from copy import deepcopy

    class Row(list):
        pass

    xs = deepcopy(Row([2.0, 3.0]))  # leaves a note in the class
    assert decided_late(total, xs) == []


def test_an_argument_that_no_gradient_is_asked_of():
    def cost(x, xs):
        xs.append(x * xs[0])
        return xs[-1] * x

    xs = Weights([2.0])
    f = value_and_grad(cost)
    for _ in range(2):
        assert f(1.5, xs) == (4.5, 6.0) and xs == [2.0]


def test_arrays_in_lists_of_their_own_class():
    def cost(xs):
        xs[0] *= 2.0
        xs.push(xs[0] * xs[1])
        return float((xs[-1] * xs[0]).sum())

    xs = Weights([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    f = value_and_grad(cost)
    for _ in range(2):
        value, (a, b) = f(xs)
        assert value == 4.0 * (3.0 + 16.0)
        assert a == pytest.approx([24.0, 64.0]) and b == pytest.approx([4.0, 16.0])
        assert xs[0] == pytest.approx([1.0, 2.0]) and len(xs) == 2


def test_dicts_and_lists_that_hold_their_data():
    class Record(UserDict):
        def total(self):
            return sum(v * len(k) for k, v in self.items())

    class Series(UserList):
        def last(self):
            return self[-1]

    def cost(r, s):
        r["c"] = r["a"] * s[0]
        s.append(r["c"] * r.get("none", 2.0))
        del r["a"]
        s[0] = s.last() * r["bb"]
        return r.total() * sum(s) + len(r) * len(s)

    def plainly(a, b, s, t):
        c = a * s
        return (2.0 * b + c) * (2.0 * c * b + t + 2.0 * c) + 6

    expected, slopes = value_and_grad(plainly, argnums=(0, 1, 2, 3))(1.3, 0.7, 0.4, 0.2)
    r, s = Record(a=1.3, bb=0.7), Series([0.4, 0.2])
    f = value_and_grad(cost, argnums=(0, 1))
    for _ in range(2):
        value, (dr, ds) = f(r, s)
        assert value == pytest.approx(expected)
        assert [*dr["data"].values(), *ds["data"]] == pytest.approx(list(slopes))
        assert r.data == {"a": 1.3, "bb": 0.7} and s.data == [0.4, 0.2]


def test_keys_that_are_replaced_while_a_dict_is_gone_over():
    def cost(d):
        y = 0.0
        for k, v in d.items():
            if k == "a":
                del d["b"]
                d["new"] = 2.0 * v
            y += v
        return y

    f = value_and_grad(cost)
    for _ in range(2):
        assert f({"a": 1.0, "b": 2.0}) == (3.0, {"a": 3.0, "b": 0.0})
        value, gradient = f(UserDict(a=1.0, b=2.0))
        assert value == 3.0 and gradient["data"] == {"a": 3.0, "b": 0.0}


class Restarted(defaultdict):
    def restart(self):
        defaultdict.__init__(self, lambda: 3.0)

    def give(self, factory):
        self.default_factory = factory


def three():
    return 3.0


def test_another_factory_is_seen_or_refused():
    def given(x):
        d = Restarted(float, a=x)
        y = d["none"]
        d.give(three)
        return y + d["a"] * d["other"]

    assert value_and_grad(given)(2.0) == (6.0, 3.0)

    def restarted(x):
        d = Restarted(float)
        d["a"] = x
        y = d["none"]
        d.restart()
        return y + d["a"] * d["other"]

    with pytest.raises(UnsupportedError, match="another default_factory where that is not seen at once"):
        value_and_grad(restarted)(2.0)
