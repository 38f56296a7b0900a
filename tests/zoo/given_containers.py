"""Arguments that are objects of classes derived from containers."""

import copy
from collections import Counter, OrderedDict, defaultdict, deque

from tests.zoo.registry import case


class Weights(list):
    def norm(self):
        return sum(w * w for w in self)

    def push(self, x):
        self.append(x)
        return self


@case(Weights([1.3, 0.7, 0.4]))
def lists_with_methods(w):
    w.push(w[0] * w[1])
    w[0] = 2.0 * w[-1]
    w.insert(1, w[2] * 3.0)
    del w[2]
    w += [w[0], w.pop()]
    return w.norm() * w[1] + sum(w[1:]) * len(w)


@case(Weights([1.3, 0.7]), Weights([0.4, 0.2]))
def two_lists_written_to(v, w):
    v.push(w[0] * w[1])
    w[0] = v[-1] * 3.0
    return v.norm() * w[0] + w.norm() * (v is w)


class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def out(self, x):
        return sum(w * x for w in self.w) + self.b


@case({"in": Layer(Weights([0.3, 0.8]), 0.1), "out": Layer(Weights([1.3, 0.7]), 0.2)}, Weights([0.9, 0.6]))
def lists_in_objects_in_a_dict(layers, w):
    layers["out"].w.push(w[0] * w[1])
    x = 0.5
    for layer in layers.values():
        x = layer.out(x) * w.norm()
    layers["in"].w[0] = x * w[-1]
    return x + layers["in"].w.norm()


class Slotted(list):
    __slots__ = ("rate",)

    def __init__(self, items=()):
        super().__init__(items)
        self.rate = 0.5


@case(Slotted([1.3, 0.7]))
def slots_beside_the_items_of_an_argument(xs):
    before = xs.rate
    xs.rate = xs[0] * xs[1]
    return sum(xs) * xs.rate + before * xs[1]


class Loud(dict):
    """Reads as its own methods have it, and past these."""

    def values(self):
        return [2.0 * v for v in super().values()]

    def pop(self, key):
        return 5.0 * super().pop(key)

    def copy(self):
        return Loud(super().copy())

    def clear(self):
        super().clear()
        self["left"] = 1.5


def _loud(d):
    total = sum(d.values()) * sum(dict.values(d)) + d.pop("a")
    for k, v in dict.items(d):
        total = total * len(k) + v
    other = d.copy()
    other["b"] *= total
    for k, v in other.items():
        total = total * 0.5 + v * len(k)
    d.clear()
    return total * d["left"] + sum(v for v in dict.values(other))


@case(Loud(a=1.3, b=0.7))
def dicts_whose_methods_are_their_own(d):
    return _loud(d) * len(d)


class Louder(Loud):
    def items(self):
        return [(k, 3.0 * v) for k, v in super().items()]


@case(1.3, 0.7)
def dicts_made_here_whose_methods_are_their_own(x, y):
    return _loud(Loud(a=x, b=y)) * _loud(Louder(b=x * y, a=y))


class Shown(OrderedDict):
    def values(self):
        return [2.0 * v for v in super().values()]

    def clear(self):
        super().clear()


@case(Shown(a=1.3, b=0.7, c=0.4))
def ordered_dicts_whose_methods_are_their_own(d):
    d.move_to_end("a")
    total = 0.0
    for v in OrderedDict.values(d):
        total = total * 0.5 + v
    for v in d.values():
        total = total * 0.5 + v
    key, last = d.popitem(last=False)
    d.clear()
    d[key] = total * last
    return d["b"] * total


class Doubling(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2.0

    def __missing__(self, key):
        return 1.5 * len(key)


@case(Doubling(a=1.3, bb=0.7))
def items_read_their_own_way(d):
    d["c"] = d["a"] * d["nope"]
    return d["c"] * d["bb"] + sum(d.values()) + d.get("c")


class Settings(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


@case(Settings(rate=1.3, size=0.7))
def items_of_an_argument_by_the_names_of_attributes(s):
    s.both = s.rate * s["size"]
    s.rate = s.both * 2.0
    return s.rate * s["both"] + getattr(s, "none", 3.0) * s.size + hasattr(s, "none")


class Groups(defaultdict):
    def add(self, key, x):
        self[key].append(x)

    def total(self):
        return sum(sum(v) * len(k) for k, v in self.items())


@case(Groups(list, a=[1.3], bb=[0.7, 0.4]))
def defaultdicts_with_methods(d):
    d.add("a", d["bb"][0] * d["a"][0])
    d.add("new", d["a"][-1])
    return d.total() * d["new"][0] + len(d["none"]) + (d.default_factory is list)


@case(defaultdict(float, a=1.3, bb=0.7), Counter(a=1.3, bb=0.7), OrderedDict(b=0.4, a=0.6))
def dicts_of_other_kinds(d, c, o):
    d["c"] += d["a"] * c["bb"]
    c["a"] += d["c"]
    o.move_to_end("b")
    total = d["none"] + c["none"]
    for k, v in o.items():
        total = total * 0.5 + v * len(k) * d["c"]
    return total * c["a"] + sum(v for _, v in c.most_common(1))


class Window(deque):
    def push(self, x):
        self.append(x)
        return self.popleft()

    def mean(self):
        return sum(self) / len(self)


@case(Window([1.3, 0.7, 0.4], 4), deque([0.3, 0.6]), {"same": Window([0.2, 0.5])})
def deques_with_methods(w, q, held):
    gone = w.push(q[0] * w[1])
    held["same"].appendleft(gone * q[1])
    w.extend([gone, q.pop()])
    q[0] = w[-1] * held["same"].mean()
    w.rotate(1)
    return w.mean() * w[0] * len(w) + q[0] * w.maxlen


class Branch(list):
    def total(self):
        return sum(v if isinstance(v, float) else 0.5 * v.total() for v in self)


@case(Branch([1.3, Branch([0.4, Branch([0.7])]), Branch([0.6])]))
def trees_of_lists_of_their_own_class(tree):
    tree[2].append(tree[0] * 2.0)
    tree.append(Branch([tree[2][1]]))
    return tree.total() * tree[1][1][0]


@case([Weights([1.3, 0.7]), [0.4, 0.2], Branch([0.6])])
def lists_of_several_classes(rows):
    total = 0.0
    for row in rows:
        total += row.norm() if isinstance(row, Weights) else sum(row)
    rows[0].push(total)
    rows[1] = rows[0]
    return sum(sum(row) * len(row) for row in rows)


@case(Weights([1.3, 0.7, 0.4]))
def what_python_does_with_lists_of_their_own_class(w):
    first, *rest = w
    other, deep = copy.copy(w), copy.deepcopy(w)
    other.append(first)
    deep[0] = other[1] * 2.0
    whole = [*w, *other] + w * 2
    try:
        w.append(w[9])
    except IndexError:
        w[1] = w[0] * first
    return sum(whole) * max(deep) + sum(sorted(w)[:2]) * sum(rest) + sum(map(lambda a, b: a * b, w, deep))


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


def _pairs(rows):
    keys = iter(rows)
    for k in keys:
        yield k, next(keys, None)


@case({"a": 1.3, "bb": 0.7, "c": 0.4}, Rows(Settings(a=0.9, c=0.2, bb=0.6)))
def dicts_gone_over_by_iterators_that_objects_give(d, other):
    total = 0.0
    for k in Rows(d):
        for other_k in other:
            total = total * 0.5 + d[k] * other.rows[other_k]
    for a, b in _pairs(d):
        total = total * d[a] + (d[b] if b else 3.0)
    total += sum(d[a] * other.rows[b] for a, b in zip(Rows(d), other)) + d[max(Rows(d))]
    try:
        for k in Rows(d):
            total += d[k]
            d[k + k] = total
    except RuntimeError as e:
        total *= len(str(e))
    return total + len(d)
