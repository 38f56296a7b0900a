"""Copies, shallow and deep, of what holds values with derivatives; what looks into functions and methods."""

import copy
import functools
import operator
from collections import defaultdict, deque

import numpy as np

from tests.zoo.registry import case

B = np.array([0.9, -0.2, -0.4])


class _Holder:
    def __init__(self, v, f=None):
        self.v, self.f = v, f

    def times(self, k):
        return self.v * k

    def scale(self, a, b):
        return self.v * a * b

    double = functools.partialmethod(scale, 2.0)


@case(B)
def deep_copy_of_a_tuple_with_one_array_twice(b):
    t = (b, 2.0, [b])
    u = copy.deepcopy(t)
    u[0][1] = u[0][0] * 5
    u[2][0][2] += u[0][1]
    return u[0].sum() * u[2][0].sum() + t[0].sum()


@case(B)
def deep_copy_of_functions(b):
    k = b[0]
    o = _Holder(b[1], lambda z: z * k)
    p = copy.deepcopy([o, o.f, {"f": o.f}])
    p[0].v *= 2
    return p[0].f(p[0].v) * p[1](o.v) + p[2]["f"](3.0)


@case(B)
def deep_copy_of_a_method(b):
    o = _Holder(b[0])
    m = copy.deepcopy(o.times)
    o.v = o.v * b[1]
    return m(b[2]) * o.times(2.0)


@case(B)
def copies_of_deques_and_dicts(b):
    d = deque([b[0], b[1] * 2, b], maxlen=3)
    e, f = copy.copy(d), copy.deepcopy(d)
    f[2][0] *= f[0]
    g = defaultdict(list, a=[b[2]])
    h, i = copy.copy(g), copy.deepcopy(g)
    h["a"].append(b[0])
    i["b"].append(e[1])
    return e[0] * f[1] * f[2].sum() + sum(g["a"]) * sum(i["a"]) * i["b"][0]


@case(B)
def copies_of_partials(b):
    p = functools.partial(lambda a, c, k=1.0: a * c * k, b[0], k=b[1])
    return copy.copy(p)(2.0) * copy.deepcopy(p)(b[2])


@case(B)
def copy_of_a_tuple_shares(b):
    t = (b, [b])
    u = copy.copy(t)
    u[0][0] = u[1][0][1] * 2
    return t[0][0] * u[0][2]


@case(B)
def the_object_of_a_method(b):
    m = _Holder(b[0]).times
    n = _Holder(b[1]).double
    return m.__self__.v * m.__func__(_Holder(b[1]), 3.0) * m(b[2]) + n(b[0])


@case(B)
def what_a_decorator_wraps(b):
    @functools.wraps(max)
    def plain(z):
        return z * b[0]

    @functools.wraps(plain)
    def g(z):
        return plain(z) + b[1]

    h = functools.lru_cache(g)
    return h.__wrapped__(b[2]) * g.__wrapped__(2.0) * h(3.0)


@case(B)
def an_attribute_of_an_exception_of_python(b):
    try:
        raise ValueError("a", b[0])
    except ValueError as e:
        e.extra = b[1] * 2
        e.path = [b]
        kept = e
    kept.path[0][2] *= kept.extra
    return kept.extra * kept.args[1] + b[2]


@case(B)
def arrays_in_tuples_in_lists_and_dicts(b):
    ls = [(1.0, b), (b[0], b * 2)]
    d = {"a": (b, b[1]), "b": (b * 3, b[2])}
    for k in range(2):
        ls[k][1][2] = ls[k][1][0] * 3 * ls[1][0]
    d["a"][0][1] = d["b"][0][2] * d["b"][1]
    return sum(t[1][2] * t[1][1] for t in ls) * d["a"][0].sum()


@case(B)
def arrays_in_tuples_that_a_generator_gives(b):
    def g():
        t = (b, 2.0)
        yield t
        t[0][0] = t[0][1] * 3
        yield t
        yield t[0][0] * t[0][1], t

    *_, (x, t) = g()
    s = sorted([(2, b * 2), (1, t[0])], key=lambda p: p[0])
    s[0][1][2] = s[1][1][0] * x
    return s[0][1].sum() + t[0][2]


class Stem:
    def __init__(self, v, kids=()):
        self.v, self.kids = v, list(kids)


@case({"layers": [{"w": np.ones((2, 2)), "b": np.zeros(2)}], "rate": 0.1, "sizes": [1.0, 2.0]}, np.ones((3, 2)))
def copies_of_settings(settings, x):
    a, b = copy.deepcopy(settings), copy.copy(settings)
    c, d = copy.deepcopy(settings["layers"]), copy.copy(settings["sizes"])
    a["layers"][0]["w"] *= 2.0
    c[0]["b"] += 1.0
    b["rate"] = 0.5
    d[0] = d[1] * 3.0
    b["sizes"][1] = 7.0
    y = (x @ a["layers"][0]["w"] + c[0]["b"]).sum() * settings["rate"] + b["rate"] * d[0]
    return y + settings["sizes"][1] * settings["sizes"][0] + settings["layers"][0]["w"].sum()


@case(1.5, [1.0, 2.0])
def copies_of_a_plant(x, ys):
    stem = Stem(x, [Stem(y) for y in ys])
    deep, shallow = copy.deepcopy(stem), copy.copy(stem)
    deep.kids[0].v = x * x
    shallow.v = 3.0 * x
    shallow.kids.append(Stem(x))
    deep.kids[1].v += stem.kids[0].v
    return stem.v * deep.v + sum(k.v for k in stem.kids) * 2.0 + sum(k.v for k in deep.kids) + shallow.v


@case(1.3)
def copies_of_iterators(x):
    xs = [x, 2.0 * x, x * x]
    it = iter(xs)
    total = next(it) * operator.length_hint(it)
    other = copy.copy(it)
    total += next(it) * next(other)
    xs.append(x)
    pair = iter((x, 3.0))
    left = next(pair) * pair.__length_hint__()
    return total + left * sum(it) - operator.length_hint(it) * x + sum(other)


SIZES = (np.float64(2.0), 3.0, [np.float64(1.5)], {"a": np.float32(2.0)})


@case(1.3)
def copies_of_numbers(x):
    a, b, c, d = [copy.deepcopy(t) for t in SIZES]
    y = np.float64(x)
    return x * a + b * c[0] * copy.copy(y) + copy.deepcopy(y * 2.0) * float(d["a"])


class Stand:
    def __init__(self, legs, top, size):
        self.legs, self.top, self.size = legs, top, size

    def __deepcopy__(self, memo):
        made = Stand.__new__(Stand)
        memo[id(self)] = made
        for name, x in self.__dict__.items():
            setattr(made, name, copy.deepcopy(x, memo))
        return made


@case((1.3, 0.7))
def deep_copies_with_a_memo(xs):
    size = (xs[0], 2.0)
    stand = Stand([xs[0], xs[1]], np.array(xs), size)
    one, other = copy.deepcopy(stand), copy.deepcopy(stand, {})
    one.legs[0] *= 3.0
    other.top *= one.legs[0]
    memo = {}
    a, b = copy.deepcopy(stand.legs, memo), copy.deepcopy([size, size], memo)
    a[1] *= 2.0
    return one.legs[0] * other.top[1] + stand.top[0] * a[1] * b[1][0] + stand.legs[1] * other.size[0]


@case((1.3, 0.7, 2.1, 0.4))
def copies_of_what_goes_backwards(xs):
    back = reversed(xs)
    total = next(back)
    other = copy.copy(back)
    return total * next(back) + next(other) * 10.0 + sum(other) * xs[3] + next(back) * xs[0]
