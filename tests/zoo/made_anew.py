"""Objects, dicts and tuples made of others: `dataclasses.replace`, dicts of pairs, dicts that make their items."""

import dataclasses
import math
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.zoo.registry import case

V = np.array([0.3, 1.2, -0.7])


@dataclass
class Point:
    x: Any
    y: Any = 2.0
    tags: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Fixed:
    a: Any
    b: Any = 1.0

    def __post_init__(self) -> None:
        if self.b < 0.0:
            raise ValueError("negative", self.b)

    @property
    def area(self) -> Any:
        return self.a * self.b


@dataclass(kw_only=True)
class Wider(Point):
    z: Any = 3.0


@dataclass
class Counted:
    v: Any
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.made += 1


class Moved(Point):
    @property
    def norm(self) -> Any:
        return self.x * self.x + self.y * self.y


@case(0.7)
def replaced_in_a_loop(x):
    p = Point(x)
    for i in range(4):
        p = replace(p, x=p.x * x + 0.1, y=p.y + p.x * i)
    return p.x * p.y


@case(0.7)
def replaced_objects_share_what_they_hold(x):
    p = Point(x, tags=[x])
    q = replace(p, y=x * x)
    q.tags.append(3.0 * x)
    p.tags[0] = p.tags[1] * x
    q.x = 5.0
    return p.x * sum(q.tags) * q.y


@case(0.7)
def replaced_frozen(x):
    f = Fixed(x)
    g = replace(f, b=f.a * 2.0)
    h = dataclasses.replace(g)
    try:
        h = replace(g, b=-1.0)
    except ValueError as e:
        return f.area * g.area + h.area * e.args[1]
    return f.area


@case(0.7)
def replaced_of_a_subclass(x):
    w = replace(Wider(x, z=x), y=x * x, z=4.0 * x)
    m = replace(Moved(x, x), x=2.0 * x)
    return w.x * w.y * w.z + m.norm * isinstance(m, Moved)


@case(0.7)
def replaced_with_what_it_refuses(x):
    p = Point(x)
    total = 0.0
    for word in ("no_field", "made"):
        try:
            q = replace(Counted(x), **{word: 1})
            total += q.v
        except (TypeError, ValueError):
            total += p.x * 2.0
    try:
        replace(Counted(x), made=2)
    except (TypeError, ValueError):
        total *= x
    return total + replace(Counted(x), v=x * x).v * replace(Counted(x)).made


@case(0.7)
def replaced_one_of_two_classes(x):
    total = 0.0
    for p in (Point(x, 1.0), Wider(x * x, y=x)):
        q = replace(p, y=p.y * x)
        total += q.x * q.y
    return total


@case(Point(0.5, 1.5, [0.25]))
def replaced_argument(p):
    q = replace(p, x=p.y * 2.0)
    q.tags.append(q.x)
    y = sum(p.tags) * p.x * q.x
    q.tags.pop()
    return y


@case(0.7)
def nested_default_dicts(x):
    d = defaultdict(lambda: defaultdict(float))
    for i in range(6):
        d[i % 3][i % 2] += x * i
    return d[0][0] * d[1][1] + len(d[5]) + sum(d[2].values()) * x


@case(0.7)
def default_dicts_of_lists_of_dicts(x):
    d = defaultdict(lambda: [{"n": 1.0}])
    d["a"][0]["n"] *= x
    d["a"].append({"n": x * x})
    d["b"][0]["n"] += d["a"][1]["n"]
    first = d["c"]
    first[0]["m"] = x
    return d["a"][0]["n"] * d["b"][0]["n"] + d["c"][0]["m"] * len(d)


@case(0.7)
def default_dict_that_hands_out_one_list(x):
    shared = [x]
    d = defaultdict(lambda: shared)
    d["a"].append(x * 2.0)
    d["b"][0] = d["a"][1] * x
    return sum(d["c"])


@case(0.7)
def default_dict_three_deep(x):
    d = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for i in range(4):
        d[i % 2]["k"][i].append(x * i)
        d[0]["k"][0].append(x)
    return sum(d[0]["k"][0]) * d[1]["k"][3][0]


@case(0.7)
def default_dict_from_pairs(x):
    d = defaultdict(float, {"a": x, "b": 2.0})
    e = defaultdict(list, [("a", [x]), ("b", [x * x])])
    d["c"] += d["a"] * d["b"]
    e["c"].extend(e["a"] + e["b"])
    return d["c"] * d["d"] + sum(e["c"]) * d["c"]


@case(0.7)
def dicts_of_lists_of_pairs(x):
    d = dict([("a", x), ("b", x * x), ("a", 3.0 * x)])
    o = OrderedDict([("first", x), ("second", d["a"])])
    o.move_to_end("first")
    total = 0.0
    for i, (k, v) in enumerate(o.items()):
        total += v * (i + 1) * len(k)
    return total * d["b"]


@case(V)
def dicts_of_zips_and_generators(v):
    d = dict(zip("abc", v))
    e = OrderedDict((i, t * t) for i, t in enumerate(v))
    f = dict(enumerate([v[0] * v[1], v[2]]), extra=v[0])
    return d["a"] * d["b"] + e[1] * e[2] + f[0] * f[1] * f["extra"]


@case(0.7)
def ordered_dict_of_keywords(x):
    o = OrderedDict(a=x, b=x * x)
    p = OrderedDict(o, c=2.0)
    p["a"] += p["c"]
    total = 0.0
    for k in p:
        total += p[k] * p[k]
    return total * o["a"]


@case(0.7)
def counters_of_values(x):
    c = Counter(a=x, b=2.0 * x)
    c.update({"a": x * x})
    d = c + Counter({"b": 1.0, "d": x})
    return c["a"] * c["b"] + d["d"] * d["b"] + c["nothing"]


class Keyed:
    def __init__(self, x):
        self.x = x

    def keys(self):
        return ["u", "v"]

    def __getitem__(self, k):
        return self.x * (2.0 if k == "u" else 3.0)


@case(0.7)
def dicts_of_what_has_keys(x):
    d = dict(Keyed(x))
    o = OrderedDict(Keyed(d["u"]), w=x)
    return d["v"] * o["u"] * o["w"]


@case(0.7)
@case(1.4, name="replaced_in_a_try_raised")
def replaced_in_a_try(x):
    total = 0.0
    try:
        for p in (Point(x, 1.0), Wider(x * x, y=x), Point(x, x)):
            q = replace(p, y=p.y * x)
            total += q.x * q.y
            if total > 3.0:
                raise OverflowError(total)
    except OverflowError:
        return total * x
    finally:
        x += 1.0
    return total


@case(0.7, {"a": 0.5, "b": -1.5, "c": 2.0})
def names_in_a_try(x, table):
    total = 0.0
    for name in ("a", "b", "none", "c"):
        try:
            total += math.sqrt(table[name]) * x
        except KeyError:
            total *= x
        except ValueError as e:
            total -= table[name] * len(e.args)
        else:
            table[name] = total
    return total * table["a"]
