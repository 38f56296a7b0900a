"""Dicts of `collections`: those that make what is missing, those in order, counters; and classes derived from them."""

import math
from collections import ChainMap, Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypedDict

import numpy as np

from tests.zoo.registry import case

XS = [1.3, 0.4, 0.9, 1.7, 0.6, 1.1]


@case(XS)
def lists_by_key(xs):
    d = defaultdict(list)
    d[0].append(xs[0])
    e = d[0]
    e.append(xs[1])
    d[1] += [xs[2]]
    d[0][0] *= xs[3]
    return d[0][0] * d[0][1] + sum(d[1]) + len(d)


@case(XS)
def factory_of_an_active_value(xs):
    d = defaultdict(lambda: xs[0])
    d[1] += xs[1]
    s = d[2] * d[1]
    return s + sum(d.values())


@case(XS)
def no_factory(xs):
    d = defaultdict(None)
    try:
        d[3]
    except KeyError as e:
        s = xs[0] * e.args[0]
    d[3] = xs[1]
    return s * d[3]


@case(XS)
def factory_taken_away(xs):
    d = defaultdict(float, a=1.0)
    d["a"] += xs[0]
    d["b"] += xs[1]
    d.default_factory = None
    try:
        return d["zz"]
    except KeyError:
        return d["a"] * d["b"]


@case(XS)
def methods_of_a_defaultdict(xs):
    d = defaultdict(float, {"a": xs[0]})
    d["b"] += d["a"] * xs[1]
    e = d.copy()
    e["c"] += xs[2]
    f = dict(d)
    f["b"] *= xs[3]
    g = d | {"z": xs[4]}
    d.update({"a": xs[5]})
    d.setdefault("q", xs[2])
    p = d.pop("b")
    return e["c"] * e["b"] + f["b"] + g["z"] * g["a"] + d["a"] * d["q"] + p + d.get("nn", xs[0]) + len(d)


@case(defaultdict(float, {"a": 1.0, "b": 2.0}), XS)
def defaultdict_argument(d, xs):
    d["c"] += d["a"] * d["b"] * xs[0]
    return d["c"] * d["zz"] + d["c"] + len(d)


@case(defaultdict(list, {"a": [1.0], "b": [2.0, 3.0]}), XS)
def defaultdict_of_lists_argument(d, xs):
    d["a"].append(xs[0])
    d["c"].append(d["a"][0] * xs[1])
    return sum(sum(v) ** 2 for v in d.values())


def fill(d, xs):
    for i, x in enumerate(xs):
        d[i % 2] += x * x


@case(XS)
def filled_by_a_function(xs):
    d = defaultdict(float)
    fill(d, xs)
    fill(d, xs[:2])
    return d[0] * d[1]


@case(XS)
def counter_methods(xs):
    c = Counter("abca")
    w = Counter({"a": xs[0], "b": xs[1]})
    w["a"] += c["a"] * xs[2]
    w["z"] -= xs[3]
    w.update({"b": xs[4]})
    s = 0.0
    for k, v in w.most_common(2):
        s += v * len(k)
    return s + w["nothing"] + w["z"] * c["b"] + sum(w.values())


@case(XS)
def counter_sums(xs):
    c = Counter()
    for i, x in enumerate(xs):
        c["ab"[i % 2]] += x
    del c["q"]
    d = c.copy()
    d["a"] *= xs[0]
    t = c + d
    return t["a"] * t["b"] + c.pop("a") + ("a" in c)


@case(XS)
def ordered_methods(xs):
    od = OrderedDict()
    for i, x in enumerate(xs):
        od[i] = x * x
    od.move_to_end(0)
    od.move_to_end(3, last=False)
    k, v = od.popitem(last=False)
    s = v * k
    od[1] *= xs[0]
    for i, (k, v) in enumerate(od.items()):
        s += v * (i + 1)
    for v in od.values():
        s = s * 0.9 + v
    for k in od:
        s += od[k] * k
    e = od.copy()
    e[9] = xs[1]
    del e[1]
    s += list(e)[-1] * sum(e.values())
    s += od.pop(2) * od.setdefault(77, xs[3])
    return s + next(iter(od.values()))


@case(OrderedDict(a=1.0, b=2.0))
def ordered_argument(d):
    d["c"] = d["a"] * d["b"]
    d.move_to_end("a")
    return d["c"] * list(d.values())[-1]


class Two(dict):
    def __missing__(self, k):
        return 2.0


@case(XS)
def class_with_missing_items(xs):
    m = Two()
    m["a"] = xs[0]
    return m["a"] * m["q"] * xs[1]


class Five(Counter):
    def __missing__(self, k):
        return 5.0


@case(XS)
def counter_of_its_own(xs):
    m = Five()
    m["a"] = xs[0]
    return m["a"] * m["q"] * xs[1]


class Three(defaultdict):
    def __missing__(self, k):
        self[k] = 3.0
        return self[k]


@case(XS)
def defaultdict_of_its_own(xs):
    m = Three()
    m["a"] = xs[0]
    m["b"] *= xs[1]
    return m["a"] * m["q"] * m["b"]


@case(XS)
def dicts_by_key(xs):
    g = defaultdict(dict)
    g["a"]["x"] = xs[0]
    g["a"]["y"] = xs[1] * xs[0]
    g["b"]["x"] = 2.0
    return sum(v for d in g.values() for v in d.values()) * g["a"]["y"]


@case(XS)
def two_names(xs):
    a = defaultdict(float)
    b = a
    a["x"] += xs[0]
    b["x"] *= xs[1]
    l = [a, defaultdict(float)]
    l[1]["x"] += xs[2]
    l[0]["y"] += l[1]["x"]
    return a["x"] * a["y"] + b["w"]


@case(XS)
def arrays_by_key(xs):
    d = defaultdict(lambda: np.zeros(3))
    for i, x in enumerate(xs):
        d[i % 2] += np.array([x, x * x, 1.0])
        d[i % 2][0] *= x
    return sum((v * v).sum() for v in d.values())


class Mean:
    def __init__(self, start=0.0):
        self.n = 0
        self.m = start

    def push(self, x):
        self.n += 1
        self.m += (x - self.m) / self.n


@dataclass
class Sums:
    of_all: float = 0.0
    kept: list = field(default_factory=list)


class Bins(list):
    pass


class Needs:
    def __init__(self, x):
        self.x = x


@case(XS)
def objects_by_key(xs):
    g = defaultdict(Mean)
    for i, x in enumerate(xs):
        g[i % 2].push(x * x)
    return sum(m.m**2 for m in g.values()) * g[7].n + g[0].m


@case(XS)
def objects_of_a_data_class_by_key(xs):
    g = defaultdict(Sums)
    for i, x in enumerate(xs):
        g[i % 2].of_all += x
        g[i % 2].kept.append(x * x)
    return sum(s.of_all * s.kept[1] for s in g.values())


@case(XS)
def lists_of_its_own_by_key(xs):
    g = defaultdict(Bins)
    for i, x in enumerate(xs):
        g[i % 2].append(x)
    return sum(b[0] * b[2] for b in g.values())


@case(XS)
def class_that_needs_more(xs):
    g = defaultdict(Needs)
    try:
        g[0].x *= xs[0]
    except TypeError:
        return xs[1] * len(g) + xs[2]
    return xs[3]


@case(XS)
def lists_of_two_by_key(xs):
    d = defaultdict(lambda: [0.0, 0.0])
    for i, x in enumerate(xs):
        d[i % 2][0] += x
        d[i % 2][1] += x * x
    return sum(a * b for a, b in d.values())


@case(XS)
def a_look_puts_it_in(xs):
    d = defaultdict(float)
    d["a"]
    s = 0.0 if "a" not in d else xs[0]
    for k in list(d):
        s += d[k] + xs[1]
    return s * len(d)


@case(XS)
def keys_of_comparisons(xs):
    d = defaultdict(int)
    for x in xs:
        d[x > 1.0] += x
    return d[True] * d[False]


@case(XS)
def function_with_a_cell(xs):
    def make():
        return xs[0] * 2

    d = defaultdict(make)
    return d["a"] * d["b"] + d["a"]


def three():
    return 3.0


@case(XS)
def global_factory(xs):
    d = defaultdict(three)
    d[0] *= xs[0]
    return d[0] * d[1]


@case(XS)
def factory_that_counts(xs):
    n = [0]

    def make():
        n[0] += 1
        return float(n[0])

    d = defaultdict(make)
    s = 0.0
    for i, x in enumerate(xs):
        s += d[i % 3] * x
    return s * len(d)


class Holder:
    def __init__(self):
        self.d = defaultdict(float)
        self.c = Counter()
        self.o = OrderedDict()

    def add(self, k, x):
        self.d[k] += x
        self.c[k] += x * x
        self.o[k] = self.d[k]


@case(XS)
def in_an_object(xs):
    h = Holder()
    for i, x in enumerate(xs):
        h.add(i % 2, x)
    return h.d[0] * h.c[1] + h.o[0] * h.o[1]


@case(0.7)
def chained_maps(x):
    c = ChainMap({"a": x}, {"a": 2.0 * x, "b": x**2})
    inner = c.new_child({"b": 5.0 * x})
    inner["z"] = x**3
    total = sum(k * c[name] for k, name in enumerate(c, 1)) + sum(inner.values())
    return total * len(inner) + inner["b"] * inner.parents["b"] + dict.__or__(c.maps[0], {"c": x})["c"]


class Scope(ChainMap):
    def assign(self, key, v):
        for names in self.maps:
            if key in names:
                names[key] = v
                return
        self[key] = v


@case(1.2, 0.5)
def chained_maps_with_children(a, b):
    c = ChainMap({"a": a, "b": b})
    inner = c.new_child({"c": a * b})
    inner["a"] = b
    empty = inner.new_child()
    empty["q"] = a
    outer = c.parents
    outer["z"] = a
    named = inner.new_child({"d": b}, e=a)
    own = Scope({"a": a})
    below = own.new_child({"b": b})
    below.assign("a", b * 2.0)
    below.assign("c", a)
    total = inner["a"] * inner["c"] + c["a"] + empty["q"] * empty["b"] + inner.parents["a"] * outer["z"] * len(c.maps)
    return total + named["e"] * named["d"] + below["a"] * below.parents["a"] + below["c"] * (type(below) is Scope)


class Rows(dict):
    """A dict that keeps its numbers elsewhere, and whose iteration does not end with them."""

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.numbers = {}

    @property
    def kind(self):
        return type(self)

    def __len__(self):
        return len(self.numbers)

    def __iter__(self):
        yield self.kind(self.name)

    def items(self):
        return self.numbers.items()

    def times(self, factor):
        new = self.kind(self.name)
        for k, v in self.numbers.items():
            new.numbers[k] = v * factor
        return new


@case(0.7)
def dict_that_iterates_in_its_own_way(x):
    a = Rows("a")
    a.numbers[1] = x
    a.numbers[1] += x**2
    b = a.times(3.0 * x)
    return b.numbers[1] * len(b) + a.numbers[1]


class Rates(TypedDict):
    up: float
    down: float


@case(1.3, 0.4)
def typed_dicts(x, y):
    rates = Rates(up=x, down=y)
    rates["up"] *= 2
    return rates["up"] * rates["down"] * len(Rates(rates))


class Tripled(dict):
    """What its brackets say is not what Python's own methods give."""

    def __getitem__(self, k):
        return super().__getitem__(k) * 3


@case(1.3)
def methods_that_do_not_ask_the_brackets(x):
    d = Tripled(a=x, b=x * x)
    e = {"z": x}
    e.update(d)
    s = d.get("a") + d.get("q", x) + sum({**d}.values()) + sum(e.values()) + (lambda a, b: a * b)(**d)
    return s + d["b"] + sum((d | {"r": x}).values()) + d.setdefault("a", 1.0) + d.pop("b")


class Named:
    def __init__(self, rates):
        self.rates = rates

    def keys(self):
        return self.rates.keys()

    def __getitem__(self, key):
        return self.rates[key] * 2.0


class Uncounted:
    def __init__(self, x):
        self.x = x

    def __ror__(self, other):
        return 5.0 * self.x


@case([0.5, -1.2, 2.0])
def united_with_pairs(xs):
    d = {"a": 1.0}
    d |= [("a", xs[0]), ["b", xs[1]]]
    d |= ((k, v * 2) for k, v in zip("bc", xs))
    e = d
    d |= {"z": xs[2]}.items()
    d |= Named({"z": xs[0], "y": xs[1]})
    kept = OrderedDict(p=xs[0])
    kept |= zip("pq", xs)
    sums = defaultdict(float)
    sums |= map(lambda k: (k, xs[2] * len(k)), ["s", "tt"])
    try:
        sums |= [("s", xs[1]), 3]
    except TypeError:
        sums["s"] *= 2.0
    try:
        d |= Uncounted(xs[0])
    except TypeError:
        d["a"] *= 3.0
    return sum(v * (i + 1) for held in (e, kept, sums) for i, v in enumerate(held.values()))


class Graph:
    def __init__(self):
        self.weights = defaultdict(dict)

    def add(self, a, b, weight):
        self.weights[a][b] = weight
        self.weights[b]  # noqa: B018
        return self

    def ranks(self, damping, times):
        nodes = list(self.weights)
        rank = {k: 1.0 / len(nodes) for k in nodes}
        for _ in range(times):
            new = {k: (1.0 - damping) / len(nodes) for k in nodes}
            for u in nodes:
                total = sum(self.weights[u].values())
                for v, w in self.weights[u].items():
                    new[v] += damping * rank[u] * w / total
            rank = new
        return rank


@case(0.4, 0.85)
def dicts_of_another_kind_in_an_object(weight, damping):
    graph = Graph().add("a", "b", weight).add("b", "c", 1.0).add("c", "a", 2.0).add("a", "c", 0.5)
    rank = graph.ranks(damping, 4)
    return rank["a"] + 2.0 * rank["b"] * graph.weights["a"]["b"]


@case({"a": 1.1, "b": 0.4}, {"x": 2.0, "y": 1.0})
def states_by_name(p, start):
    def rates(y):
        return {"x": p["a"] * y["x"] - p["b"] * y["x"] * y["y"], "y": p["b"] * y["x"] * y["y"] - y["y"]}

    def moved(y, k, h):
        return {n: y[n] + h * k[n] for n in y}

    y = dict(start)
    for _ in range(3):
        k = rates(y)
        k = rates(moved(y, k, 0.05))
        y = moved(y, k, 0.1)
    return y["x"] + y["y"] * 0.5


@case([0.5, 1.2, -0.7, 2.0, 0.3])
def views_that_are_taken_at_once(xs):
    d = {"a": xs[0], "b": xs[1], "c": xs[2]}
    values, more = [1.0, *d.values()], []
    d["a"] = xs[3]
    more.extend(d.values())
    more += d.values()
    copied, filled = dict(d.items()), {}
    filled.update(d.items())
    d["b"] *= 3.0
    k, v = next(iter(d.items()))
    scaled = (lambda a, b, c: a * b + c)(*d.values())
    try:
        scaled += d.values()[0]
    except TypeError:
        scaled *= xs[4]
    total = scaled + v * filled[k] + max(*d.values()) * math.hypot(*d.values()) + copied["b"] * dict(d, e=xs[4])["e"]
    return total + sum(i * x for i, x in enumerate(values)) + sum(i * x for i, x in enumerate(more))


@case([0.5, 1.2, -0.7, 2.0, 0.3])
def dicts_of_keys(xs):
    sums, last = dict.fromkeys("abc", 0.0), dict.fromkeys(range(3))
    for i, (k, x) in enumerate(zip("abcab", xs)):  # noqa: B905
        sums[k] += x * x
        last[i % 3] = x
    return sums["a"] * sums["b"] + sums["c"] + sum(last.values()) * len(dict.fromkeys(xs, 1))


@case([0.5, 1.2, -0.7, 2.0, 0.3, 0.9])
def greatest_of_pairs_and_rows(xs):
    pairs = [(x * x, i) for i, x in enumerate(xs)]
    greatest, (least, at) = max(pairs)[0], min(pairs)
    rows = [xs[:2], xs[2:4], xs[4:]]
    row, shortest = max(rows), min(rows, key=sum)
    row[0] *= 2.0
    doubled = list(xs)
    doubled.reverse()
    doubled *= 2
    return greatest * (at + 1) + least * row[0] * shortest[1] + sum(map(max, rows)) + doubled[0] * doubled[-2]


class Settings:
    def __init__(self, values):
        self._values = dict(values)

    @property
    def values(self):
        return MappingProxyType(self._values)

    def put(self, name, x):
        self._values[name] = x


@case(XS)
def views_that_nobody_writes_to(xs):
    made = Settings({"a": xs[0], "b": xs[1]})
    view = made.values
    made.put("a", xs[2] * view["a"])
    made.put("c", xs[3])
    total = view["a"] * view["b"] + sum(x * x for x in view.values()) + len(view) * view.get("z", xs[4])
    total += sum(view[k] for k in view) * ("c" in view) + next(reversed(view.values())) * dict(view)["a"]
    both = MappingProxyType(view) | {"a": xs[5]} | MappingProxyType({"d": xs[4]})
    rest = {"b": xs[3]} | view
    try:
        view["a"] = 1.0
    except TypeError:
        total *= both["a"] * rest["b"]
    return total + both["d"] * both["c"] + {**view}["b"] + (lambda a, b, c: a * b * c)(**view)


def first_of(view):
    return view.mapping["a"] * len(view)


@case((0.4, 1.3, 2.1))
def the_dict_behind_a_view(xs):
    d, ordered = {"a": xs[0]}, OrderedDict({"a": xs[1]})
    keys, values = d.keys(), ordered.values()
    d["b"] = xs[1] * xs[0]
    total = keys.mapping["b"] * values.mapping["a"] + first_of(d.items()) + first_of(d.keys()) * first_of(d.values())
    d["a"] = xs[2] * 3.0
    views = [getattr(d, name)() for name in ("keys", "values", "items")]
    total += sum([v.mapping["a"] * len(v.mapping) for v in views])
    return total * ordered.keys().mapping.get("a") + sum(d.items().mapping.values())


@case({"a": 0.4, "b": 1.3})
def the_given_dict_behind_a_view(d):
    return d.keys().mapping["a"] * d.values().mapping["b"] + max(d.items().mapping.values())


@case((0.4, 1.3, 2.1, 0.7))
def defaultdicts_of_defaultdicts(xs):
    sums = defaultdict(lambda: defaultdict(float))
    rows = defaultdict(lambda: defaultdict(list))
    deep = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for i, x in enumerate(xs):
        sums[i % 2][i % 3] += x * x
        rows[i % 2][i % 3].append(sums[i % 2][i % 3])
        deep[i % 2][0][i % 3] += 1
        deep[i % 2][1][i % 3] += x
    return sums[0][0] * sums[1][1] * sum(rows[1][0]) * (deep[0][1][2] + deep[1][0][1]) + sums[5][5]


@case((0.4, 1.3, 2.1, 0.7))
def a_defaultdict_by_two_names(xs):
    inner = defaultdict(float)
    outer = defaultdict(lambda: inner)
    for i, x in enumerate(xs):
        outer[i][0] += x * inner[1]
        inner[1] += x
    inner.default_factory = list
    outer[9][7].append(xs[0])
    return inner[0] * outer[3][1] + inner[7][0]
