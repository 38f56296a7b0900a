"""Arguments and results of classes derived from containers."""

from typing import Any

from mooncake_py import value_and_grad, value_and_pullback


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
