"""Numbers of classes that are derived from float: lengths, say, with operators of their own."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Metres(float):
    def __add__(self, other):
        return Metres(float(self) + float(other))

    __radd__ = __add__

    def __mul__(self, other):
        return Metres(float.__mul__(self, other) * 7.0)

    def __rmul__(self, other):
        return Metres(float(self) * float(other) * 5.0)

    def __truediv__(self, other):
        return Metres(super().__truediv__(other) * 2.0)

    def centimetres(self):
        return float(self) * 100.0

    @property
    def kilometres(self):
        return self / 1000.0


class Twice(int):
    def __mul__(self, other):
        return int(self) * other * 2.0

    def __rmul__(self, other):
        return -1.0


class Label(str):
    def __mod__(self, other):
        return other * 2.0


LENGTH, TWICE, LABEL = Metres(2.0), Twice(3), Label("a")


@case(1.3)
def operators_of_a_constant(x):
    return float(LENGTH + x) * float(x + LENGTH) * float(LENGTH * x) * float(x * LENGTH) * float(LENGTH / x)


@case(1.3)
def operators_of_whole_numbers_and_strings(x):
    return TWICE * x + x * TWICE * (LABEL % x)


@case(1.3)
def made_of_a_value(x):
    d = Metres(0.0)
    for i in range(3):
        d += x * i
    return d.centimetres() * float(Metres(x) * x) * float((d + LENGTH).kilometres)


@case(1.3)
def held_in_a_list(x):
    lengths = [Metres(x), LENGTH, x]
    return float(sum(lengths)) * float(lengths[0] * lengths[1])


@case(1.3)
def given_to_functions_of_numbers(x):
    d = Metres(x)
    return math.hypot(d, 2.0 * x) + math.atan2(LENGTH, x) + x**LENGTH + abs(d) * float(-d) + np.multiply(LENGTH, x)


@case(np.array([1.3, 0.7]))
def times_an_array(x):
    return np.sum(x * LENGTH)


class Scaled(float):
    unit = "m"

    def __new__(cls, value, factor=1.0):
        return super().__new__(cls, value * factor)

    def __mul__(self, other):
        return type(self)(float(self) * float(other))


class Measured(float):
    def __new__(cls, value, name):
        self = float.__new__(cls, value)
        self.name = name
        return self


class Phasor(complex):
    def __new__(cls, a, b):
        return super().__new__(cls, complex(a, b))


@case(1.3, 0.7)
def made_by_a_method_of_their_own(x, y):
    a = Scaled(x, 2.0) * Scaled(y)
    found = {m.name: m for m in [Measured(x * x, "a"), Measured(y, "b")]}
    z = Phasor(x, y) * (2 + 1j)
    return a * a * len(a.unit) + found["a"] * found["b"] + max(found.values()) + z.real * z.imag


class Odd(float):
    """Its operators are not those of numbers: cotangents are none of these."""

    def __add__(self, other):
        return Odd(float(self) * 2.0 + float(other))

    def __radd__(self, other):
        return Odd(float(other) + float(self) * 3.0)

    def __mul__(self, other):
        return Odd(super().__mul__(other) * 3.0)

    __rmul__ = __mul__

    def __lt__(self, other):
        return float(self) > float(other)

    def __gt__(self, other):
        return float(self) < float(other)


@case(0.7, 1.3)
def sums_by_their_operators(x, y):
    d = {"a": Odd(x), "b": Odd(y)}
    total = sum([Odd(x), Odd(y), Odd(x * y)]) * 1.0 + sum([Odd(x), Odd(y)], 1.0) * y
    return float(total) + float(sum(Odd(v) for v in (x, y)) * x) + float(sum(d.values()))


@case(0.7, 1.3)
def the_largest_by_their_operators(x, y):
    return float(max(Odd(x), Odd(y))) * 2.0 + float(min([Odd(x), Odd(y)])) * x


@case(0.7, 1.3)
def in_an_array(x, y):
    return np.array([Odd(x), Odd(y)]).sum() * Odd(x) + np.array([Odd(y)])[0]


@case(0.7, 1.3)
def held_and_used_twice(x, y):
    lengths = [Odd(y), Odd(x)]
    return float(lengths[0] * 1.0 + lengths[1] * lengths[0] + lengths[1])
