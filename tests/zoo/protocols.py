"""What Python and its C code ask objects: special methods that compute, keep and raise; iteration by items; `*args`."""

from __future__ import annotations

import functools
import math
import operator
import types
from collections import deque, namedtuple
from typing import Any, ClassVar

import numpy as np

from tests.zoo.registry import add, case

V = np.array([0.5, -1.2, 2.0])


def fused(a, b, c):
    return a * b + c


# -- f(*args) of everything that can be iterated over ---------------------------------------------------------


class ByItems:
    """Iterated over by its items: there is no `__iter__`."""

    def __init__(self, values: Any):
        self.values = values

    def __getitem__(self, i: int) -> Any:
        if i > 2:
            raise IndexError(i)
        return self.values[i] * 2.0


class ByGenerator:
    def __init__(self, values: Any):
        self.values = values

    def __iter__(self) -> Any:
        for v in self.values:
            yield v * v


Triple = namedtuple("Triple", "a b c")

for _name, _make in {
    "array": lambda p: p,
    "reversed_array": lambda p: p[::-1],
    "list": list,
    "tuple": tuple,
    "named_tuple": lambda p: Triple(*p),
    "map": lambda p: map(math.sin, p),
    "generator": lambda p: (v * v for v in p),
    "dict_values": lambda p: dict(zip("abc", p, strict=True)).values(),
    "deque": deque,
    "iterator": iter,
    "items": ByItems,
    "generator_method": ByGenerator,
    "rows": lambda p: [p[0], *p[1:]],
}.items():
    add(f"star_of_{_name}", lambda p, make=_make: fused(*make(p)) * p[0], V, area="protocols")


@case(V)
def star_of_array_into_c(p):
    return math.hypot(*p) + max(*p) + math.atan2(*p[1:]) + np.hypot(*p[:2]) + pow(*p[::2]) * complex(*p[:2]).imag


@case(V)
def star_of_array_into_unknown_callee(p):
    f = fused if p[0] > 0 else math.hypot
    return f(*p) + functools.partial(fused, *p[:2])(*p[2:])


@case(np.array([[0.5, -1.2, 2.0], [1.0, 0.3, -0.4]]))
def star_of_matrix(a):
    return np.dot(*a) + math.dist(*a)


@case(V)
def star_and_keywords(p):
    def f(*values, **named):
        return sum(values) * named["z"]

    return f(*p, z=p[0]) * f(*p[:1], *p[1:], **{"z": p[2]})


# -- iteration by items ----------------------------------------------------------------------------------------


@case(V)
def by_items_in_a_loop(p):
    total = 0.0
    for v in ByItems(p):
        total += v * v
    return total


@case(V)
def by_items_into_builtins(p):
    xs = ByItems(p)
    a, *rest = xs
    return sum(xs) * max(xs) + list(xs)[1] * tuple(xs)[0] + a * rest[1] + sorted(xs)[0] + math.fsum(xs)


@case(V)
def by_items_zipped(p):
    xs = ByItems(p)
    pairs = sum(v * w for v, w in zip(xs, xs, strict=True))
    return pairs + functools.reduce(operator.mul, xs) + sum(i * v for i, v in enumerate(xs)) + next(iter(xs))


# -- special methods that change their object ------------------------------------------------------------------


class Lazy:
    """Remembers what it worked out the first time it was asked, whoever asked."""

    def __init__(self, x: Any):
        self.x = x

    @functools.cached_property
    def norm(self) -> Any:
        return math.sqrt(self.x * self.x + 1.0)

    def __bool__(self) -> bool:
        return self.norm > 0.0

    def __len__(self) -> int:
        return int(self.norm) + 1

    def __repr__(self) -> str:
        return f"{self.norm:.3f}"

    def __eq__(self, other: Any) -> bool:
        return self.norm == other.norm

    def __lt__(self, other: Any) -> bool:
        return self.norm < other.norm

    def __contains__(self, value: Any) -> bool:
        return value < self.norm

    def __float__(self) -> float:
        return float(self.norm)

    def __hash__(self) -> int:
        return hash(self.norm)


for _name, _ask in {
    "bool": lambda o, x: bool(o),
    "if": lambda o, x: 1 if o else 2,
    "not": lambda o, x: not o,
    "len": lambda o, x: len(o),
    "str": lambda o, x: str(o),
    "repr": lambda o, x: repr(o),
    "format": lambda o, x: f"{o}{o!r:>9}",
    "eq": lambda o, x: o == Lazy(2.0 * x),
    "ne": lambda o, x: o != Lazy(2.0 * x),
    "lt": lambda o, x: o < Lazy(2.0 * x),
    "in": lambda o, x: x in o,
    "hash": lambda o, x: hash(o),
    "hasattr": lambda o, x: hasattr(o, "norm"),
    "getattr_default": lambda o, x: getattr(o, "norm", 1.0),
    "float": lambda o, x: float(o),
    "math": lambda o, x: math.sin(o),
}.items():

    def _asked(x, ask=_ask):
        o = Lazy(x)
        ask(o, x)
        return o.norm * x

    add(f"kept_when_asked_by_{_name}", _asked, 1.3, area="protocols")


@case(1.3)
def numbers_of_objects(x):
    return math.sin(Lazy(x)) * math.atan2(Lazy(2.0 * x), x) + float(Lazy(x))


# -- special methods that raise when they have changed something -----------------------------------------------


class Raising:
    def __init__(self, x: Any):
        self.items = [x]
        self.total = 0.0

    def _raise(self, v: Any) -> Any:
        self.total += 0.5 * self.items[0] + v
        raise ValueError(v * self.items[0])

    def __getitem__(self, i: int) -> Any:
        return self._raise(1.5)

    def __setitem__(self, i: int, v: Any) -> None:
        self.items.append(v)
        self._raise(v)

    def __delitem__(self, i: int) -> None:
        self.items.append(self.items[0] * 2.0)
        self._raise(0.2)

    def __add__(self, v: Any) -> Any:
        return self._raise(v)

    def __eq__(self, v: Any) -> Any:
        return self._raise(v)

    def __bool__(self) -> bool:
        return self._raise(0.5)

    def __len__(self) -> int:
        return self._raise(0.7)

    def __contains__(self, v: Any) -> bool:
        return self._raise(v)

    def __call__(self, v: Any) -> Any:
        return self._raise(v)

    @property
    def read(self) -> Any:
        return self._raise(0.3)

    @read.setter
    def read(self, v: Any) -> None:
        self._raise(v)

    @functools.cached_property
    def once(self) -> Any:
        return self._raise(0.4)

    __hash__ = None  # type: ignore[assignment]


for _name, _do in {
    "getitem": lambda o, x: o[0],
    "setitem": lambda o, x: o.__setitem__(0, x * 3.0),
    "delitem": lambda o, x: o.__delitem__(0),
    "add": lambda o, x: o + x,
    "eq": lambda o, x: o == x,
    "ne": lambda o, x: o != x,
    "bool": lambda o, x: bool(o),
    "not": lambda o, x: not o,
    "len": lambda o, x: len(o),
    "in": lambda o, x: x in o,
    "call": lambda o, x: o(x),
    "partial": lambda o, x: functools.partial(o, x)(),
    "property": lambda o, x: o.read,
    "setter": lambda o, x: setattr(o, "read", x),
    "cached_property": lambda o, x: o.once,
    "itemgetter": lambda o, x: operator.itemgetter(0)(o),
    "iteration": lambda o, x: list(zip(o, [1], strict=False)),
    "loop": lambda o, x: [v for v in o],
}.items():

    def _caught(x, do=_do):
        o = Raising(x * x)
        extra = 1.0
        try:
            do(o, x)
        except ValueError as e:
            extra = e.args[0]
        return (sum(o.items) + 3.0 * o.total) * x * extra

    add(f"caught_from_{_name}", _caught, 1.3, area="protocols")


# -- construction that raises ----------------------------------------------------------------------------------


class Init:
    def __init__(self, log: list, v: Any):
        log.append(v * 2.0)
        if v > 1.0:
            raise ValueError(v * 3.0)


class Derived(Init):
    def __init__(self, log: list, v: Any):
        log.append(v)
        super().__init__(log, v * v)


class New:
    def __new__(cls, log: list, v: Any) -> Any:
        log.append(v * 2.0)
        raise ValueError(v * 3.0)


class Meta(type):
    def __call__(cls, log: list, v: Any) -> Any:
        log.append(v * 5.0)
        return super().__call__(log, v * v)


class OfMeta(metaclass=Meta):
    def __init__(self, log: list, v: Any):
        log.append(v)
        raise ValueError(v)


class OfList(list):
    def __init__(self, log: list, v: Any):
        super().__init__([v, v])
        log.extend(self)
        raise ValueError(v)


for _cls in (Init, Derived, New, OfMeta, OfList):

    def _constructed(x, cls=_cls):
        log = [x]
        extra = 1.0
        for k in range(2):
            try:
                cls(log, x * (k + 1))
            except ValueError as e:
                extra += e.args[0]
        return sum(v * i for i, v in enumerate(log)) * extra

    add(f"construction_of_{_cls.__name__}_raises", _constructed, 1.3, area="protocols")


class Kept(type):
    made: ClassVar[dict] = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args, **kwargs)
        return cls.made[cls]


class Only(metaclass=Kept):
    def __init__(self, v, w=1.0):
        self.v = v * w


@case(1.3)
def instance_made_by_a_metaclass(x):
    Kept.made.clear()
    return Only(x, w=x).v * Only(3.0).v


# -- objects and the functions that have a say of their own ----------------------------------------------------


class Iterable:
    """Can be iterated over, and says itself what operators do with it."""

    def __init__(self, a: Any):
        self.a = a

    def __iter__(self) -> Any:
        yield self.a

    def __lt__(self, other: Any) -> bool:
        return self.a < other.a

    def __iadd__(self, other: Any) -> Any:
        self.a = self.a * other.a
        return self


@case(1.3)
def iterable_objects_compared_and_added(x):
    o = Iterable(x)
    o += Iterable(3.0 * x)
    return max(Iterable(x), Iterable(2.0 * x)).a * min(Iterable(x), Iterable(3.0)).a + o.a


@case(1.3)
def method_bound_by_hand(x):
    o = Lazy(x)
    return types.MethodType(lambda self, k: self.norm * k, o)(x)


class Shadowed:
    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        self.last = self.x * len(name)
        return self.last

    def step(self, v):
        return 3.0 * v + self.x

    def learn(self):
        self.step = lambda v: v * v * self.x


@case(1.5)
def attributes_that_short_methods_set(x):
    thing = Shadowed(x)
    for k in range(3):
        x = thing.step(x) + thing.extra * thing.last
        if k == 1:
            thing.learn()
    return x


class Settings(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


@case(1.5, 0.5)
def attributes_that_are_items(x, rate):
    s = Settings(rate=rate, deep=Settings(w=2.0))
    s.step = s.rate * x
    s["rate"] = s.step * s.deep.w
    s.deep.w *= x
    del s.step
    return s.rate * s.deep.w + len(s)


class Place:
    def __init__(self, i):
        self.i = i

    def __index__(self):
        return self.i


@case([1.0, 2.0, 3.0], np.array([1.0, 2.0]))
def items_at_objects(xs, a):
    k = Place(1)
    xs[k] = xs[Place(0)] * xs[Place(-1)]
    del xs[Place(0)]
    return xs[Place(0)] * a[k] + (xs[0], xs[1])[k]


@case(1.5)
def operators_called_as_methods(x):
    y = np.float64(x)
    numbers = np.float64.__mul__(y, 2.0) + x.__rsub__(1.0) * float.__pow__(x, 3) + y.__truediv__(x) + float.__neg__(x)
    return numbers + sum(list.__add__([x], [2.0 * x]).__mul__(2)) + ([x] == [x].__mul__(1))


class Meters:
    """Its methods are chosen by the class of their argument."""

    def __init__(self, k):
        self.k = k

    @functools.singledispatchmethod
    def measure(self, v):
        return 0.0

    @measure.register
    def _(self, v: float):
        return v * self.k

    @measure.register(list)
    def _(self, v):
        return sum(self.measure(x) for x in v)


@case(2.0, 0.5)
def methods_by_class(a, b):
    m = Meters(a)
    return m.measure([b, a, "x", [a * b]]) * Meters(b).measure(a)


class Coefficients:
    def __init__(self, *c):
        self.c = c

    def __class_getitem__(cls, items):
        return cls(*items)


@case(2.0, 0.5)
def class_with_an_index(a, b):
    return sum(x * (i + 1) for i, x in enumerate(Coefficients[a, b, a * b].c)) * Coefficients[b,].c[0]


class Doubling:
    def __getattribute__(self, name):
        v = object.__getattribute__(self, name)
        return v * 2 if isinstance(v, float) else v


class WithDefault(Doubling):
    def __getattr__(self, name):
        return 7.0 * self.x


@case(1.5)
def every_attribute_asked_for(x):
    o, p = Doubling(), WithDefault()
    o.x, p.x = x, x * x
    try:
        z = o.missing
    except AttributeError:
        z = x
    return o.x + hasattr(o, "y") + getattr(o, "z", x) * z + p.x * p.missing + getattr(p, "other", 0.0)


class Tiring:
    """Says what its items are each time it is asked, and is another one after that."""

    def __init__(self, x, word=None):
        self.x, self.word, self.times = x, word, 0

    def __iter__(self):
        self.times += 1
        self.x = self.x * 2.0
        return iter([self.x, self.x * self.times] if self.word is None else [self.word, self.word])


@case(1.5)
def list_extended_by_an_object(x):
    d = Tiring(x)
    xs = [x]
    xs.extend(d)
    xs += d
    return sum(xs) * d.x


@case({"a": 1.5, "b": 0.5})
def texts_joined(d):
    word = Tiring(d["a"], "ab")
    text = "-".join(word) + "".join(d) + ", ".join(k for k in d if d[k] > 1.0)
    return len(text) * word.x * d["b"]


class Stack:
    """Operators that write to the object, and say nothing about its numbers."""

    def __init__(self):
        self.items = []

    def __lshift__(self, v):
        self.items.append(v)
        return self

    def __rshift__(self, n):
        return [self.items.pop() for _ in range(n)]

    def __or__(self, v):
        self.items.append(v * 2)

    def __contains__(self, v):
        self.items.append(v * 3)
        return True

    def __eq__(self, v):
        self.items.append(v * 4)
        return True

    __hash__ = None


class Whole:
    def __init__(self, v):
        self.v = v

    def __lshift__(self, o):
        return self.v * o

    def __rrshift__(self, o):
        return self.v**2 * o

    def __ilshift__(self, o):
        self.v *= o
        return self

    def __divmod__(self, o):
        return self.v, self.v * o

    def __round__(self, n=1):
        return self.v * 7 * n


@case(np.array([1.3, 2.2, 0.7]))
def shifts_that_write_to_an_object(x):
    s, t = Stack(), [Stack()][0]
    s << x[0] << x[1] << x[2]
    t << x[1]
    t | x[0]
    a, b = s >> 2
    n = (x[2] in t) + (t == x[0]) + (t != x[1])
    return a * b * s.items[0] + sum(i * v for i, v in enumerate(t.items)) * n


@case(1.3, 0.45)
def shifts_and_whole_numbers_as_a_class_says(x, y):
    k = Whole(x)
    total = (k << y) + (y >> k) * divmod(k, y)[1] + round(k)
    k <<= y
    return total * round(k, 2) + k.v
