"""Values that are one of several types: None or a number, objects of several classes, functions told apart when run."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case

RNG = np.random.default_rng(29)


# -- None or something ------------------------------------------------------------------------------------


@case([3.0, 1.0, 2.0, -0.5])
def least_so_far(xs):
    best = None
    for x in xs:
        if best is None or x * x < best:
            best = x * x
    return best


@case([1.0, None, 3.0])
def some_items_are_none(xs):
    s = 0.0
    for x in xs:
        if x is None:
            continue
        s += x * x
    return s


@case([1.0, None, 3.0], name="none_counts_as_one")
def none_counts(xs):
    s = 0.0
    for x in xs:
        s += 1.0 if x is None else x * x
    return s


@case({"a": 1.3, "b": None})
def some_values_are_none(d):
    s = 0.0
    for k in d:
        v = d[k]
        if v is not None:
            s += v**2
    return s


@case(1.3)
def none_in_a_list_made_here(x):
    best = None
    ys = [x, x * 2, None, x * 3]
    out = []
    for y in ys:
        if y is not None and (best is None or y > best):
            best = y
        out.append(best)
    return sum(o for o in out if o is not None)


@case(1.2)
def a_function_that_may_give_none(x):
    def find(v):
        if v > 2:
            return None
        return v * x

    s = 0.0
    for i in range(4):
        r = find(float(i))
        s += r if r is not None else 10 * x
    return s


@case(1.2)
def filled_from_none(x):
    r = [None] * 4
    r[1] = x * x
    r[3] = math.sin(x)
    s = 0.0
    for v in r:
        if v:
            s += v
    return s


@case(1.2)
def arithmetic_with_none_is_caught(x):
    s = None
    try:
        s = s + x
    except TypeError:
        s = x * x
    return s


@case((1.5, None))
def none_in_a_tuple(t):
    a, b = t
    return a * a if b is None else a * b


@case(1.1)
def set_to_none_again(x):
    cur = None
    total = 0.0
    for i in range(8):
        if i % 3 == 0:
            cur = None
        elif cur is None:
            cur = x * i
        else:
            cur = cur * x
        total += 0.0 if cur is None else cur
    return total


@case(1.3)
def zero_that_becomes_an_array(x):
    acc = 0
    for k in range(4):
        acc = acc + np.array([x, x * x]) * k
    return acc.sum()


@case(1.3)
def none_that_becomes_an_array(x):
    acc = None
    for k in range(4):
        t = np.array([x, x * x]) * k
        if acc is None:
            acc = t
        else:
            acc += t
    return acc.sum()


@case(1.3)
def a_number_or_an_array_in_place(x):
    v = np.array([x, 2 * x]) if x > 0 else 1.0
    w = v
    v *= x
    return np.sum(v) + np.sum(w)


@case(1.3)
def a_number_or_an_array_in_a_list(x):
    v = [1.0, x]
    if x > 0:
        v[0] = np.array([x, 2 * x])
    v[0] *= v[1]
    return np.sum(v[0] * v[0])


@case(1.3)
def a_number_or_an_array_in_an_attribute(x):
    g = Gain(1.0)
    if x > 0:
        g.k = np.array([x, 2 * x])
    g.k *= x
    return np.sum(g.k)


@case(1.2)
def none_that_becomes_a_tuple(x):
    out = None
    for i in range(3):
        out = (x, i) if out is None else (out[0] * x, out[1] + i)
    return out[0] * out[1]


# -- objects of several classes ---------------------------------------------------------------------------


class Gain:
    def __init__(self, k):
        self.k = k

    def f(self, x):
        return self.k * x


class Square:
    def __init__(self, c):
        self.c = c
        self.n = 0

    def f(self, x):
        self.n += 1
        return self.c * x * x


class Shifted(Gain):
    def f(self, x):
        return super().f(x) + 1.0


class Stored:
    """Gives `f` in other ways: a stored function, and `k` as a property."""

    def __init__(self, a):
        self.a = a
        self.f = math.sin

    @property
    def k(self):
        return self.a * self.a


@case([Gain(1.0), Square(2.0), Shifted(3.0), Square(0.5)], 1.5)
def methods_of_several_classes(units, x):
    s = 0.0
    for u in units:
        s += u.f(x)
    return s


@case(1.2, 0.7)
def objects_of_several_classes_made_here(k, x):
    units = [Gain(k), Square(k * k), Shifted(2 * k), Gain(1.0)]
    s = 0.0
    for i in range(6):
        s += units[i % 4].f(x * i)
    return s


@case(1.2, 0.7)
def one_of_two_classes(k, x):
    a = Gain(k) if x > 0 else Square(k)
    b = Gain(k) if x < 0 else Square(k)
    return a.f(x) * b.f(x)


@case([Gain(1.0), Square(2.0), Shifted(3.0), 3], 1.5)
def the_program_asks_for_the_class(units, x):
    for u in units:
        if isinstance(u, Gain):
            x = x * u.k
        elif type(u) is Square:
            x = x + u.c
    return x


@case([Gain(1.0), Square(2.0), Shifted(3.0)], 1.5)
def written_by_class(units, x):
    for u in units:
        if isinstance(u, Square):
            u.c = u.c * x
        else:
            u.k = u.k + x
    return methods_of_several_classes(units, x)


@case([Gain(1.0), Stored(2.0), Gain(0.5)], 0.8)
def attributes_in_several_ways(units, x):
    return sum([u.k * u.f(x) for u in units])


@case(1.4)
def another_class_each_time_round(x):
    cur = Gain(x)
    s = 0.0
    for i in range(5):
        s += cur.f(x)
        cur = Square(x * i) if isinstance(cur, Gain) else Shifted(x + i)
    return s


@case([Gain(2.0), Square(1.0), Shifted(1.0)], 1.2)
def the_best_of_several(units, x):
    best = None
    for u in units:
        if best is None or u.f(x) > best.f(x):
            best = u
    return best.f(x) * 2


class Dense:
    def __init__(self, w, b):
        self.w = w
        self.b = b

    def __call__(self, x):
        return x @ self.w + self.b


class Tanh:
    def __call__(self, x):
        return np.tanh(x)


class Scale:
    def __init__(self, by=None):
        self.by = by

    def __call__(self, x):
        return x if self.by is None else x * self.by


@case(
    [
        Dense(RNG.normal(size=(3, 4)), RNG.normal(size=4)),
        Tanh(),
        Scale(1.5),
        Dense(RNG.normal(size=(4, 2)), RNG.normal(size=2)),
        Scale(),
    ],
    RNG.normal(size=(5, 3)),
)
def layers_of_several_classes(layers, x):
    for layer in layers:
        x = layer(x)
    return np.mean(x**2)


# -- functions --------------------------------------------------------------------------------------------


@case(1.2, [math.sin, math.exp, lambda t: t * t])
def functions_from_a_list(x, fs):
    for f in fs:
        x = f(x) * 0.7
    return x


@case(1.2)
def functions_from_a_tuple_made_here(x):
    s = 0.0
    for i in range(3):
        for f in (math.sin, math.cos, lambda t: t * t):
            s += f(x * i)
    return s


@case(1.2)
def functions_that_know_values(x):
    fs = [lambda t, k=k: t * k * x for k in range(1, 4)]
    return sum(f(x) for f in fs)


@case(1.2, True)
def one_of_two_functions(x, which):
    f = math.sin if which else np.cosh
    return f(x) * f(2 * x)


# -- methods that are kept --------------------------------------------------------------------------------


@case([Gain(1.0), Gain(2.0), Gain(3.0)], 1.3)
def methods_in_a_list(units, x):
    ms = [u.f for u in units]
    return sum(m(x) for m in ms)


@case([Gain(1.0), Square(2.0), Gain(3.0)], 1.3)
def methods_of_several_classes_in_a_list(units, x):
    ms = []
    for u in units:
        ms.append(u.f)
    s = 0.0
    for m in ms:
        s += m(x)
    return s


@case([Gain(1.0), Gain(2.0), Gain(3.0)], 1.3)
def methods_in_a_dict(units, x):
    d = {}
    for i, u in enumerate(units):
        d[i] = u.f
    return d[0](x) * d[1](x)


@case([Gain(1.0), Gain(2.0), Gain(3.0)], 1.3)
def the_last_method_that_was_read(units, x):
    s = 0.0
    for u in units:
        if u.k < 2.5:
            m = u.f
        s += m(x)
    return s


@case(1.3)
def the_last_method_of_an_array(x):
    for y in [x * np.ones(2), x * np.arange(2.0)]:
        if y[0] > 0:
            m = y.sum
    return m()


@case(1.3)
def methods_of_lists_in_a_list(x):
    ls = [[], []]
    puts = [xs.append for xs in ls]
    puts[0](x)
    puts[1](2 * x)
    puts[0](x * x)
    return sum(ls[0]) * ls[1][0]


@case(0.7)
def number_or_list_told_by_an_exception(x):
    xs = [x, 2.0 * x]
    y = x
    for b in (xs if len(xs) == 1 else 3, [x * x], 2):
        try:
            len(b)
        except TypeError:
            b = [b]
        y = y * b[0]
    return y


@case(0.7)
def whole_number_or_list_put_into_a_list(x):
    xs = [x, 2.0 * x]
    b = xs if len(xs) == 1 else 3
    try:
        len(b)
    except TypeError:
        b = [b]
    return x * b[0]


class Split:
    """A node of a tree that asks for a feature, or a leaf."""

    def __init__(self, feature=None, limit=None, left=None, right=None, value=None):
        self.feature, self.limit, self.left, self.right, self.value = feature, limit, left, right, value

    def predict(self, x):
        if self.value is not None:
            return self.value
        g = 1.0 / (1.0 + math.exp(-5.0 * (x[self.feature] - self.limit)))
        return (1.0 - g) * self.left.predict(x) + g * self.right.predict(x)


@case([0.5, 0.3], [0.1, 0.7, 0.9], [(0.2, 0.8), (0.6, 0.1)])
def tree_whose_leaves_ask_for_nothing(limits, values, xs):
    low = Split(1, limits[1], Split(value=values[0]), Split(value=values[1]))
    tree = Split(0, limits[0], low, Split(value=values[2]))
    return sum((tree.predict(x) - x[0]) ** 2 for x in xs)


@case([0.3, 0.4], 0.7)
def items_by_what_may_be_none(xs, y):
    total = 0.0
    for s in [Split(0), Split(value=y), Split(1)] * 2:
        try:
            total += xs[s.feature] * y
        except TypeError:
            total += s.value * xs[0]
    return total
