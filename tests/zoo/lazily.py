"""What looks at something later than it is made (generators, iterators, views of dicts), when that has changed."""

import math
from collections import OrderedDict
from functools import partial

import numpy as np

from tests.zoo.registry import case

V = [1.0, 2.0]
A = np.array([0.9, -0.2, -0.4])


@case(V)
def generator_over_a_variable_that_is_bound_again(v):
    k = v[0]
    g = (x * k for x in v)
    k = v[1] * 2
    return sum(g)


@case(V)
def generator_over_a_list_that_changes(v):
    n = [1.0]
    g = (x * n[0] for x in v)
    n[0] = v[0] * 7
    v.append(v[1] * 3)
    return max(g) + n[0]


@case(V)
def map_of_a_closure_that_changes(v):
    k = v[0]
    m = map(lambda x: x * k, v)
    k = k * 3
    return sum(m)


@case(V)
def reversed_of_a_list_that_grows(v):
    r = reversed(v)
    v.append(v[0] * 3)
    t = 0.0
    for x in reversed(v):
        t = t * 2 + x
        v.append(x)
    return sum(r) * t * len(v)


@case(V)
def reversed_of_a_list_that_shrinks(v):
    t, w = 0.0, v * 2
    for x in reversed(w):
        t = t * 2 + x * x
        w.remove(x)
    return t


class _Countdown:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        yield from self.items

    def __reversed__(self):
        return iter([x * 2 for x in self.items])


@case(V)
def reversed_as_a_class_says(v):
    d = OrderedDict(a=v[0], b=v[1])
    keys = [k for k in reversed(d)]
    t = 0.0
    for i, x in enumerate(reversed(_Countdown(v))):
        t += (i + 1) * x * d[keys[i]]
    return t


def _append(v, n, x):
    if n == 0:
        v.append(x)
    else:
        _append(v, n - 1, x)


@case(V)
def queue_that_a_function_appends_to(v):
    t = 0.0
    for i, x in enumerate(v):
        t = t * 2 + x
        if i < 2:
            _append(v, 2, x * 3)
    return t


class _Work:
    def __init__(self, queue):
        self.queue, self.done = queue, 0.0

    def step(self, x):
        self.done += x * x
        if len(self.queue) < 5:
            self.queue.append(x * 0.5)

    def run(self):
        for x in self.queue:
            self.step(x)
        return self.done


@case(V)
def queue_of_an_object(v):
    steps = [_Work(v), _Work([v[0]])]
    return sum(w.run() * len(w.queue) for w in steps)


@case(V)
def values_of_a_dict_that_changes(v):
    d = {"a": v[0], "b": v[1]}
    values, items, keys = d.values(), d.items(), d.keys()
    d["c"] = v[0] * 3
    d["a"] *= v[1]
    return sum(values) * len(keys) + max(x for _, x in items) * len(items)


@case(V)
def iterator_over_a_dict_that_changes(v):
    d = {"a": v[0], "b": v[1]}
    it = iter(d.items())
    _, x = next(it)
    d["b"] = x * 9
    return next(it)[1] * x


class _Holder:
    def __init__(self, **values):
        self.d, self.me = values, None

    def values(self):
        return self.d.values()

    def bump(self, x, n=2):
        if n:
            self.bump(x, n - 1)
        else:
            self.d["b"] = x


@case(V)
def view_that_is_returned_and_kept(v):
    o = _Holder(a=v[0], b=v[1])
    o.me = o
    kept = o.values()
    o.bump(v[0] * 5)
    t = sum(kept)
    for key, x in o.me.d.items():
        t = t * 2 + x
        if key == "a":
            o.d["b"] = x * 3
    return t * sum(reversed(kept))


@case(V)
def ordered_dict_that_changes_in_its_loop(v):
    d, t = OrderedDict(a=v[0], b=v[1]), 0.0
    for x in d.values():
        t += x
        d["b"] = x * 3
    return t * len(d)


@case(V)
def dict_that_grows_in_its_loop(v):
    d, t = {"a": v[0], "b": v[1]}, 0.0
    try:
        for key, x in d.items():
            t += x
            d[key + key] = x
    except RuntimeError:
        return t * d["aa"]
    return t


@case(0.3)
def parts_of_a_partial(x):
    f = partial(lambda a, *, b=1.0, c: a * b - c, x, c=x * x)
    g = partial(f, b=3.0 * x)
    return g() + g.keywords["c"] * f.args[0] + g.func(2.0, c=x)


@case(A)
def array_in_a_tuple_in_a_cell(b):
    """What is written through one name is read through another, in a function that is not taken in."""
    t = 0.7, b

    def h(n):
        if n > 3:
            return h(n - 1)
        t[1][2] = t[1][0] * b[1] * 3
        return t[1][2] + t[0]

    return h(4) * b[0]


@case(V)
def view_that_nobody_looks_at(v):
    d = {"a": v[0], "b": v[1]}
    d.items()
    d["a"] *= d["b"]
    return d["a"]


def _items(x):
    yield x * x
    yield x * 3.0


@case(0.4, V)
def next_with_a_default_that_is_not_needed(x, v):
    """The default has a derivative, and no part in the result until the iterator has ended."""
    it = map(math.sin, _items(x))
    own = iter(_Countdown(v))
    t = next(it, x) * next(own, x)
    t += next(it, x) * next(it, x * 5.0)
    return t


class _Bag:
    def __init__(self, **values):
        for name, x in values.items():
            setattr(self, name, x)

    def total(self):
        return sum(x for x in vars(self).values() if isinstance(x, float))


@case(0.4)
def attributes_that_are_set_after_they_were_listed(x):
    o = _Bag(p=x, q=2.0 * x)
    kept = vars(o).values()
    o.r = o.total()
    o.__dict__["s"] = o.r * x
    return sum(kept) * o.total()


@case([0.5, 1.2, -0.3, 0.8])
def iterator_that_calls_until_a_value_comes(v):
    rest = iter(v)
    t = 0.0
    for x in iter(lambda: next(rest), v[3]):
        t = t * 2 + x

    def read(left=list(v)):
        return left.pop(0) if left else None

    return t * sum(iter(read, None)) + sum(iter(lambda: next(rest), 100.0))


class Lazily:
    """Computes what it is asked for once, with what it was given."""

    def __init__(self, fn, *args):
        self.fn, self.args, self.kept, self.rows = fn, args, None, None

    @property
    def value(self):
        if self.kept is None:
            self.kept = self.fn(*self.args)
        return self.kept * 2.0

    def row(self, i):
        if self.rows is None:
            self.rows = {"all": [self.fn(*self.args), self.value]}
        return self.rows["all"][i]


@case(0.7, 1.3)
def computed_once_with_starred_arguments(x, y):
    a, b = Lazily(lambda u, v: u * v, x, y), Lazily(lambda u: u * u, x)
    total = a.value + a.value * b.row(1)
    a.kept = y
    return total + a.value * a.row(0) + b.row(0)


@case(1.3)
def views_of_a_dict_unpacked(x):
    d = {"a": x, "b": 2.0}
    (k, v), (_, w) = d.items()
    a, b = d.values()
    first, *rest = d.values()
    d[k] = v * x
    shown = d.values()
    d["b"] = a * 3.0
    c, e = shown
    return v * w * a + b * first + rest[0] * c + e


@case({"a": 0.3, "b": -0.5})
def functions_mapped_over_views(d):
    own = {k: v * v for k, v in d.items()}
    y = (
        sum(map(math.exp, d.values()))
        + max(map(abs, own.values()))
        + sum(map(lambda kv: kv[1] * len(kv[0]), d.items()))
    )
    return y + sum(filter(lambda v: v > 0.0, d.values())) + math.fsum(map(lambda v: v * d["a"], own.values()))


@case({"a": 0.3, "b": -0.5})
def functions_mapped_over_views_that_change_what_is_shown(d):
    own = {k: v * v for k, v in d.items()}

    def doubled(v):
        own["b"] = own["b"] * 2.0
        return v * v

    y = sum(map(doubled, own.values()))
    later = map(math.exp, own.values())
    own["a"] = d["b"] * 3.0
    y += sum(later)
    for v in map(doubled, own.values()):
        own["a"] = v
    return y + own["a"] + own["b"]


def squares(values):
    for v in values:
        yield v * v


@case({"a": 0.3, "b": -0.5})
def generators_given_views(d):
    own = {k: v * v for k, v in d.items()}
    first, later = squares(d.values()), squares(own.values())
    own["a"] = d["b"] * 3.0
    return sum(first) + sum(later) + sum(squares(own.values()))
