"""What `match` takes for items or keys is known of a type, and a class that says so later is seen."""

import math
from collections.abc import Mapping, Sequence

from mooncake_py import inspect, value_and_grad


def evaluate(e, env):
    match e:
        case float() | int():
            return e
        case str():
            return env[e]
        case {"neg": a}:
            return -evaluate(a, env)
        case ("+", a, b):
            return evaluate(a, env) + evaluate(b, env)
        case ("sin", a):
            return math.sin(evaluate(a, env))


def of_text(x, e):
    return evaluate(e, {"x": x, "y": x * x})


def of_an_expression(x):
    return evaluate(("+", ("sin", "x"), {"neg": ("+", "y", 2.0)}), {"x": x, "y": x * x})


class Pair:
    def __init__(self, a, b):
        self.items = [a, b]

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return self.items[i]

    def get(self, key, default=None):
        return self.items[0] if key == "k" else default


def read(x, y):
    match Pair(x, y):
        case {"k": v}:
            return v * x * y
        case [a, b]:
            return a * b
        case _:
            return x


def test_patterns_of_another_kind_are_not_tried():
    assert "decided when it runs" not in str(inspect(of_text, 0.7, "x"))
    assert value_and_grad(of_text)(0.7, "y") == (0.7 * 0.7, 1.4)


def test_expressions_that_are_written_down():
    value, slope = value_and_grad(of_an_expression)(0.7)
    assert math.isclose(value, of_an_expression(0.7)) and math.isclose(slope, math.cos(0.7) - 1.4)


def test_classes_that_are_registered_later():
    assert value_and_grad(read)(3.0, 2.0) == (3.0, 1.0)
    Sequence.register(Pair)
    assert value_and_grad(read)(3.0, 2.0) == (6.0, 2.0)


def test_mappings_that_are_registered_later():
    class Table(Pair):
        pass

    def by_key(x):
        match Table(x, x):
            case {"k": v}:
                return v * x
            case _:
                return x

    assert value_and_grad(by_key)(3.0) == (3.0, 1.0)
    Mapping.register(Table)
    assert value_and_grad(by_key)(3.0) == (9.0, 6.0)
