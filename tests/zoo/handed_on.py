"""What is no container, and carries derivatives all the same: handed on by functions that are decided when they run."""

from collections import OrderedDict

import numpy as np

from tests.zoo.registry import case

X3 = np.array([0.4, 1.3, 2.2])


def handed(v, n):
    return handed(v, n - 1) if n else v


def called(f, n):
    return called(f, n - 1) if n else f()


@case(X3)
def methods_of_arrays_and_numbers(x):
    total = called(x.sum, 2) * x[1] + called(x[0].item, 1) * x[2]
    return total + handed(x.dot, 1)(x) * called((x * 1j).conj, 1).imag.sum() * called(float(x[0]).conjugate, 1)


@case(X3)
def methods_of_sets(x):
    s = {x[0], x[1]}
    total = sum(called(s.copy, 1)) * called(frozenset({x[2]}).copy, 1).__iter__().__next__()
    return total + called(s.pop, 1) + called(s.pop, 2) * 1.0


@case(X3)
def methods_in_closures_defaults_and_tuples(x):
    f = x.dot

    def captured(n):
        return captured(n - 1) if n else f(x)

    def by_default(n, g=x.sum):
        return by_default(n - 1) if n else g()

    def in_a_tuple(t, n):
        return in_a_tuple(t, n - 1) if n else t[1](x)

    return captured(2) * by_default(1) + in_a_tuple((1, x.dot), 1)


@case(X3)
def iterators_over_keys(x):
    d = {x[0]: 1, x[1]: 2}
    total = sum(handed(iter(d), 1)) * next(handed(iter({x[2]}), 1))
    return total + sum(handed(iter(OrderedDict(d)), 2)) + sum(k * k for k in handed(reversed(d), 1))


@case(X3)
def static_methods_by_themselves(x):
    scaled = staticmethod(lambda v: v * x[1])
    return scaled(x[2]) * called(staticmethod(lambda: x[0]), 1) + staticmethod(lambda: x[1] ** 2)()


class Rates:
    """Keeps what was asked for, outside of all runs."""

    def __init__(self):
        self.kept = {}

    def rate(self, name, x):
        self.kept[name] = x * len(name)
        return self.kept[name]


RATES = Rates()


class Account:
    def __init__(self, name, amount, rates):
        self.name, self.amount, self.rates = name, amount, rates

    def yearly(self):
        return self.amount * self.rates.kept[self.name]


@case(1.3)
def methods_that_read_what_was_written_outside_and_are_only_there(x):
    account = Account("savings", x * x, RATES)
    rate = account.rates.rate("savings", x)
    yearly = account.yearly
    asked = yearly or None
    return rate * (not yearly) + asked() * bool(yearly) + (2.0 * x if asked else -x)


class InOrder(dict):
    """Says itself what is in it, which is so only when it has been filled."""

    def __init__(self):
        self.order = []

    def __setitem__(self, name, v):
        if name not in self:
            self.order.append(name)
        dict.__setitem__(self, name, v)

    def values(self):
        return [self[name] for name in self.order]

    def __len__(self):
        return len(self.values())


@case(1.3, 0.7)
def dicts_that_say_what_is_in_them_beside_writes_outside(x, y):
    found = InOrder()
    found["a"] = RATES.rate("bonds", x)
    found["b"] = x * y
    return sum(v * (k + 1) for k, v in enumerate(found.values())) + RATES.kept["bonds"] * len(found)
