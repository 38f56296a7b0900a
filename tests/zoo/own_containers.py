"""Classes derived from containers that say themselves how they are made, filled, iterated over, or added up."""

import copy
from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

from tests.zoo.registry import case


class Recent(OrderedDict):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def get_or_make(self, key, make):
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make(key)
            if len(self) > self.most:
                self.popitem(last=False)
        return self[key]


@case(1.3)
def recent_results(x):
    kept = Recent(2)
    total = sum(kept.get_or_make(k, lambda k: x**k) for k in (0, 1, 0, 2, 1, 2))
    return total * x + sum(kept.values()) + kept.most


class Totals(defaultdict):
    def __init__(self, unit):
        super().__init__(float)
        self.unit = unit


@case(1.3)
def totals_with_a_unit(x):
    totals = Totals(x)
    totals["a"] += x * x
    del totals["a"]
    totals["b"] += x
    return totals["b"] * totals.unit


class Descending(dict):
    def __iter__(self):
        return iter(sorted(dict.keys(self), reverse=True))


@case(1.3, 0.7)
def values_whatever_iteration_gives(x, y):
    d = Descending(a=x, b=y)
    d["c"] = x * y
    total = 0.0
    for v in d.values():
        total = total * x + v
    for k, v in d.items():
        total = total * y + v * len(k)
    for k in d:
        total = total * x + d[k]
    return total


class Doubled(list):
    def __iter__(self):
        return (2.0 * v for v in list.__iter__(self))

    def __len__(self):
        return 1


@case([1.3, 0.7])
def lists_of_another_length(xs):
    held = [Doubled(xs)]
    return sum(held[0]) * held[0][1] * len(held[0])


class Steps(deque):
    def __len__(self):
        return 1


@case([1.3, 0.7])
def deques_of_another_length(xs):
    held = [Steps(xs)]
    return sum(held[0]) * held[0][1] * len(held[0])


class Settings(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


@case(1.3)
def items_that_are_attributes(x):
    s = Settings(rate=x, size=2.0)
    s.both = s.rate * s["size"]
    s["rate"] = s.both * s.rate
    del s.size
    s.update(more=s.rate * x)
    return s.rate * s.get("both") + s.more * len(s)


class Step(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Step(self.x + other.x, self.y + other.y)


class Place:
    at = Step(0.0, 0.0)


@case(1.3, 0.7)
def tuples_that_say_what_adding_in_place_is(x, y):
    p = Place()
    p.at = Step(x * y, y)
    q = Step(x, x)
    q += p.at
    return q.x * q.y


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    def __add__(self, other):
        return Pair(self[0] + other[0], self[1] + other[1])

    def __mul__(self, k):
        return Pair(k * self[0], k * self[1])


@case(1.3, 0.7)
def tuples_of_a_class_added_and_scaled_in_place(x, y):
    p = Pair(x, x * y)
    p += Pair(y, x)
    p *= y
    return p[0] * p[1]


class Window(deque):
    def __init__(self, items, most):
        super().__init__(items, most)


class Started(list):
    def __init__(self, x):
        self.append(x)
        super().__init__([x * x])
        self.append(2.0 * x)


@case(1.3)
def started_again(x):
    w = Window([x, 2.0 * x, 3.0 * x], 2)
    w.append(x * x)
    total = sum(w) * w.maxlen
    w.__init__(w, 3)
    w.extend([x] * 2)
    q = deque([x, 2.0], maxlen=4)
    q.__init__([x * x, x, 3.0], 2)
    return total + sum(w) * x + sum(q) * q.maxlen + sum(Started(x))


class Threefold(dict):
    """Its items are read threefold, and one that is missing is made of another."""

    def __getitem__(self, key):
        return super().__getitem__(key) * 3.0

    def __contains__(self, key):
        return True

    def __missing__(self, key):
        return self.base * len(key)


@case(1.3, 0.4)
def missing_items_by_the_method_of_dict(x, y):
    d = Threefold(a=x)
    d.base = y
    return d["a"] * d["bc"] + dict.__getitem__(d, "d") * x


class Halved(list):
    def __iter__(self):
        return (v * 0.5 for v in super(Halved, self).__iter__())


@case([0.7, 1.3])
def methods_of_list_on_one_that_iterates_its_own_way(xs):
    kept = Halved(xs)
    longer, twice, same = list.__add__(kept, [xs[0]]), list.__mul__(kept, 2), list.copy(kept)
    return sum(v * (k + 1) for k, v in enumerate(longer + twice + same)) * sum(kept)


class Direction(tuple):
    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))


class Coordinates(tuple):
    def __new__(cls, *xs):
        return super().__new__(cls, (float(x) for x in xs))

    def __add__(self, other):
        return Coordinates(*(a + b for a, b in zip(self, other)))


@case([0.5, -1.2, 2.0])
def tuples_of_their_own_class_of_what_iterates(xs):
    squares, doubles = Direction(x * x for x in xs), Direction(map(lambda x: 2 * x, xs))
    positive = Direction(x for x in xs if x > 0)
    first, *others = positive
    total = squares.dot(doubles) + Direction(xs).dot(squares) + first * sum(others) + len(Direction())
    return total + Coordinates(*xs)[1] * sum(x * x for x in Coordinates(*xs) + Coordinates(*xs[::-1]))


class Polynomial:
    def __init__(self, coefficients):
        self.c = list(coefficients)

    def __call__(self, x):
        r = 0.0
        for c in reversed(self.c):
            r = r * x + c
        return r

    def __mul__(self, other):
        r = [0.0] * (len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                r[i + j] += a * b
        return Polynomial(r)

    def derivative(self):
        return Polynomial(i * c for i, c in enumerate(self.c) if i)


@case([0.3, 0.2, 0.5], 0.7)
def polynomials_made_of_generators(c, x):
    p = Polynomial(c)
    q = p * p * Polynomial([1.0, x])
    return q(x) + q.derivative()(0.3) * p.derivative().derivative()(x)


class Bunch(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


@case(1.3)
def items_by_the_names_of_attributes(x):
    p = Bunch(a=x, b=2.0 * x)
    p.c = p.a * p.b
    for k in range(3):
        p.c = p.c * 0.9 + p["a"] * k
    del p.b
    q = Bunch(p)
    q.a = 1.0
    p.update(d=x * x)
    return p.c * p.d + sum(q.values()) * len(p) + sum(v * len(k) for k, v in p.items())


class Named(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


@case(1.3)
def attributes_that_are_looked_up_in_items(x):
    p = Named({"a": x}, b=x * x)
    p.c = p.a * p["b"]
    there = hasattr(p, "a") + 3 * hasattr(p, "z")
    return p.c * p.get("a") * there + getattr(p, "z", x) + p.setdefault("w", x) * p.w


class Counted(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.reads = 0

    def __getitem__(self, key):
        self.reads += 1
        return super().__getitem__(key)

    def __missing__(self, key):
        return float(len(key))


@case(1.3)
def reads_that_are_counted(x):
    p = Counted(a=x, b=2.0)
    total = 0.0
    for k in ("a", "b", "abc"):
        total += p[k] * p["a"]
    return total * p.reads + len(p)


class Filled(dict):
    def __missing__(self, key):
        made = self[key] = self.unit * len(key)
        return made


@case(1.3)
def missing_items_that_are_kept(x):
    d = Filled(a=x)
    d.unit = x * x
    return d["a"] * d["bb"] + d["bb"] * len(d) + (d.get("ccc") is None)


class Ordered(OrderedDict):
    def total(self):
        return sum(self.values())


@case(1.3)
def ordered_with_a_method(x):
    d = Ordered(a=x, b=x * x)
    d["c"] = x * d["a"]
    d.move_to_end("a")
    s = 0.0
    for k, v in d.items():
        s = s * 0.9 + v * len(k)
    return s * d.total()


class Vector(list):
    def __add__(self, other):
        return Vector(a + b for a, b in zip(self, other))

    def __radd__(self, other):
        return Vector(self) if other == 0 else self + other

    def __mul__(self, k):
        return Vector([a * k for a in self])

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-a for a in self)

    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))

    @property
    def squared(self):
        return self.dot(self)

    @classmethod
    def zeros(cls, n):
        return cls([0.0] * n)


class Longer(Vector):
    pass


@case([0.8, 1.3, 0.6])
def vectors_that_are_lists(xs):
    v = Vector(xs)
    w = 2.0 * v
    s = 0.0
    for _ in range(4):
        v = v + w * 0.1
        s += v.dot(w)
    total = sum([v, w, -v])
    return s + v.squared + total.dot(w) + Vector.zeros(3).dot(v) + len(v) + v[0] * v[-1]


@case([0.8, 1.3, 0.6])
def what_lists_do_with_one_of_their_own_class(xs):
    v = Longer(xs)
    a, b, c = list(v), v[:2], v[::-1]
    x, y, z = v
    w = v + v
    kinds = (type(w) is Vector) + 2 * isinstance(v, list) + 4 * (type(b) is list) + 8 * (type(v) is Longer)
    first = [*v, *b][4] * tuple(v)[2] + sorted(v)[0] * max(v) + x * y * z
    v.append(xs[0] * 2.0)
    v[0] = xs[1] * xs[2]
    del v[1]
    v.insert(0, 3.0 * xs[0])
    v.extend([xs[1], xs[2]])
    v.reverse()
    q = v.pop() + v.pop(0)
    return first * kinds + a[1] * c[0] + sum(v) * q + v.index(v[1]) + sum(x * k for k, x in enumerate(v))


class Stack(list):
    limit = 4

    def push(self, x):
        if len(self) >= self.limit:
            raise ValueError("full")
        self.append(x)

    def peek(self):
        return self[-1]


@case(1.3)
def stacks_that_are_lists(x):
    s = Stack()
    t = 0.0
    for k in range(6):
        try:
            s.push(x * k)
        except ValueError:
            t += s.peek() * x
    while s:
        t = t * 0.9 + s.pop()
    return t


class Log(list):
    def append(self, x):
        super().append(2.0 * x)

    def extend(self, xs):
        for x in xs:
            self.append(x)


@case(1.3)
def methods_that_call_those_of_list(x):
    log = Log()
    for k in range(4):
        log.append(x * k)
    log.extend([x, x * x])
    return sum(log) + log[2] * len(log)


class History(list):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.total = 0.0

    def record(self, x):
        self.append(x)
        self.total += x
        return self

    def mean(self):
        return self.total / len(self)


@case(1.3)
def attributes_beside_items(x):
    h = History("h")
    for k in range(5):
        h.record(x * k)
    same = h
    same.total *= x
    h.notes = [x]
    h.notes.append(x * x)
    return h.mean() * h[3] + sum(h) + max(h) + len(h.name) + sum(same.notes) + (same is h)


class Noted(list):
    log = 1.0

    def append(self, x):
        super().append(x)
        self.log = self.log * x


@case(1.3)
def attributes_that_the_class_has_first(x):
    kept = Noted([x])
    kept.append(2.0 * x)
    kept.append(x * x)
    other = Noted([x])
    other.append(3.0 * x)
    other[0] = 5.0 * x
    return kept.log * sum(kept) + sum(other)


class Tree(list):
    def __init__(self, value, *children):
        super().__init__(children)
        self.value = value

    def total(self):
        return self.value + sum(c.total() for c in self)


@case(1.3, 0.7)
def trees_that_are_lists(x, y):
    t = Tree(x, Tree(x * y), Tree(y, Tree(x)))
    t.append(Tree(y))
    return t.total() * t[0].value + t[1][0].value


def _doubled(xs):
    return Vector(2.0 * x for x in xs)


def _longer_by(v, x):
    v.append(x)
    return v.dot(v)


@case([0.8, 1.3, 0.6])
def lists_of_their_own_class_that_are_given_around(xs):
    v = _doubled(xs)
    made = [_doubled(v) for _ in range(3)]
    several = [Vector(xs), Longer(xs[:2]), xs]
    s = sum(u.dot(v) for u in made)
    for u in several:
        s += u.dot(u) if isinstance(u, Vector) else sum(u)
    held = {"a": Vector(xs)}
    return s + held["a"].dot(v) + _longer_by(v, xs[0]) * v[-1]


class Hidden(list):
    def first(self):
        return self[0]


@case([0.8, 1.3])
def methods_hidden_by_attributes(xs):
    h = Hidden(xs)
    h.first = lambda: xs[1]
    return h.first() * h[0] + Hidden(xs).first()


@case([0.8, 1.3])
def operators_of_lists_on_their_own_class(xs):
    h = Hidden(xs)
    longer, twice, other = h + [xs[0]], h * 2, [xs[1]] + h
    kinds = (type(longer) is list) + 2 * (type(twice) is list) + 4 * (type(other) is list)
    same = (h == Hidden(xs)) + 2 * (h == xs) + 4 * (h < [99.0])
    g = h
    g += [xs[0] * xs[1]]
    return sum(longer) * kinds + twice[2] * same + other[1] + h[2] * (g is h) + g.first()


class Tagged(list):
    pass


class Marked(dict):
    pass


class Queue(deque):
    pass


@case(1.3)
def copies_have_the_attributes(x):
    v, d = Tagged([x * x]), Marked(a=1.0)
    v.tag, d.tag, d.held = x, x * x, [x]
    w, e = copy.copy(v), copy.copy(d)
    w.append(w.tag)
    w.tag = w.tag * 2.0
    e.held.append(e.tag * x)
    return sum(w) * w.tag + v.tag * x + e.tag * sum(d.held)


@case(1.3)
def deep_copies_have_the_attributes(x):
    v, d, q = Tagged([1.0]), Marked(a=x), Queue([x])
    v.tag, d.tag, d.me, q.tag = [x, x * x], x * x, d, x**3
    u, (e, f), r = copy.deepcopy(v), copy.deepcopy([d, d]), copy.deepcopy(q)
    u.tag[0] *= x
    e.me.tag *= 2.0
    r.append(r.tag * x)
    return sum(u.tag) * sum(v.tag) + f.tag * f["a"] + d.tag + sum(r) * q.tag


class Elementwise(list):
    def __mul__(self, k):
        return Elementwise([a * k for a in self])

    def __add__(self, other):
        return Elementwise([a + b for a, b in zip(self, other)])


class Reflecting(list):
    def __rmul__(self, k):
        return Reflecting([a * 5.0 for a in self])

    def __radd__(self, other):
        return Reflecting([a * 10.0 for a in self])


@case(1.3)
def operators_in_place_ask_as_python_does(x):
    v = Elementwise([x, 2.0])
    w = v
    v *= 2
    v *= x
    u = Elementwise([x, 2.0])
    t = u
    u += [x, x]
    r = [x, 1.0]
    r += Reflecting([x])
    q = Reflecting([x])
    p = q
    q += Reflecting([x * x])
    q *= 2
    plain = [x]
    plain += Elementwise([x * x])
    return sum(v) * len(v) + sum(w) + sum(u) * len(t) + sum(r) * len(r) + sum(q) * len(p) + sum(plain)


class Recents(deque):
    def push(self, x):
        gone = self.popleft() if len(self) == self.maxlen else 0.0
        self.append(x)
        return gone

    def mean(self):
        return sum(self) / len(self)


class Scaled(deque):
    def __init__(self, most, unit):
        super().__init__(maxlen=most)
        self.unit, self.total = unit, 0.0

    def append(self, x):
        super().append(x * self.unit)
        self.total += x


@case([1.3, 0.7, 0.4, 0.9])
def deques_with_methods_and_attributes(xs):
    w, s = Recents(maxlen=2), Scaled(3, xs[0])
    total = 0.0
    for x in xs:
        total += w.push(x) * x + w.mean()
        s.append(x * x)
    s.unit = s.unit * xs[1]
    s.appendleft(s.unit)
    s.rotate(1)
    other = Recents(w, 4)
    other.extendleft(s)
    w[0] = other[0] * 2.0
    several = {"a": w, "b": other, "c": Recents([xs[2]])}
    several["c"].extend(several["a"])
    several["a"].append(several["c"].popleft())
    return total * sum(s) * s.total + sum(sum(d) * len(d) for d in several.values()) + s[0] * s.maxlen * other[-1]


class Sums(defaultdict):
    def __init__(self, unit=2.0):
        super().__init__(float)
        self.unit = unit

    def add(self, key, x):
        self[key] += x * self.unit


class Nested(defaultdict):
    def __init__(self):
        super().__init__(Nested)

    def total(self):
        return sum(v if isinstance(v, float) else v.total() for v in self.values())


class Grouped(defaultdict):
    pass


@case([1.3, 0.7, 0.4])
def defaultdicts_with_methods_and_attributes(xs):
    sums, groups, given = Sums(xs[1]), Grouped(list), Grouped(list, a=[xs[0]])
    for i, x in enumerate(xs):
        sums.add("ab"[i % 2], x)
        groups["ab"[i % 2]].append(x * x)
        given["ab"[i % 2]].append(x)
    same = sums
    same.unit = xs[2]
    sums.add("a", sums["none"] + xs[0])
    nested = Nested()
    nested["a"]["b"] = xs[0] * sums["a"]
    nested["a"]["c"] = nested["a"]["b"] * xs[1]
    nested["d"] = xs[2]
    known = (sums.default_factory is float) + hasattr(sums, "default_factory") + len(groups["none"]) + len(sums)
    total = sum(sum(v) * len(k) for k, v in groups.items()) + nested.total() * nested["a"]["c"]
    return total * sums["a"] * sum(given["a"]) + sums["b"] * known
