"""Classes made in the function: bodies that compute, attributes of classes, default values of fields and methods."""

import contextlib
import dataclasses
import functools
import math
import typing

import numpy as np

from tests.zoo.registry import case


@case(1.3)
def attribute_by_a_function_of_the_class_body(x):
    def c():
        return x * 2

    class P:
        k = c()

    return P.k * x


@case(1.3)
def decorator_made_around_the_class(x):
    def scale(fn):
        return lambda self: fn(self) * x

    class P:
        @scale
        def m(self):
            return 2.0

    return P().m() * x


@case(1.3)
def comprehension_in_a_class_body(x):
    c = lambda: x * 2

    class P:
        k = [c() for i in range(2)]

    return P.k[0] * x


@case(1.3)
def partial_called_in_a_class_body(x):
    p = functools.partial(lambda a, b: a * b, x)

    class P:
        k = p(2.0)

    return P.k * x


class Q:
    def __init__(self, a):
        self.a = a


@case(1.3)
def attribute_of_an_object_in_a_class_body(x):
    q = Q(x)

    class P:
        k = q.a * 2

    return P.k * x


@case(1.3)
def object_as_a_class_attribute(x):
    q = Q(x)

    class P:
        k = q

        def m(self):
            return self.k.a * x

    return P().m()


@case(1.3)
def default_value_of_a_method(x):
    class P:
        def m(self, a=x):
            return a * 2

    return P().m() * x


@case(1.3)
def loop_in_a_class_body(x):
    class P:
        s = 0.0
        for i in range(3):
            s = s + x * i
        del i
        t = (lambda y: y * x)(s)

    return P.s * P.t


@case(1.3)
def class_in_a_class_body(x):
    class A:
        k = x * 2

        class B:
            j = x * 3

    return A.k * A.B.j


@case(1.3)
def class_attribute_inherited_and_hidden(x):
    class A:
        k = x * 2

        def get(self):
            return self.k

    class B(A):
        def get(self):
            return super().get() * x

    a = B()
    s = a.get()
    a.k = x * 5
    return s + a.get() * A.k


@case(1.3)
def containers_as_class_attributes(x):
    class A:
        w = [x, x * 2]
        d = {"a": x}
        v = np.zeros(3)

    A.w.append(x * 3)
    A.v[0] = x
    A.d["b"] = x * x
    return sum(A.w) * A.d["b"] * A.v[0]


@case(1.3)
def class_attributes_set_afterwards(x):
    class A:
        pass

    A.k = x
    a = A()
    setattr(A, "j", x * 2)
    return a.k * a.j + getattr(A, "j")


@case(1.3)
def attribute_of_a_metaclass(x):
    class Meta(type):
        scale = x * 2

        def __call__(cls, *args):
            o = super().__call__(*args)
            o.w = cls.scale
            return o

    class A(metaclass=Meta):
        pass

    return A().w * x


@case(1.3)
def default_value_of_a_data_class(x):
    @dataclasses.dataclass
    class A:
        a: float
        b: float = x

    return A(2.0).b * A(x, x).a


@case(1.3)
def class_made_by_a_call(x):
    P = type("P", (), {"m": lambda self: x * 2, "k": 3.0})
    return P().m() * P.k


@case(1.3)
def class_attribute_set_by_a_decorator(x):
    def deco(cls):
        cls.k = x * 2
        return cls

    @deco
    class A:
        pass

    return A.k * x


@case(1.3)
def default_value_of_a_typed_named_tuple(x):
    class P(typing.NamedTuple):
        a: float
        b: float = x

    return P(2.0).b * P(x).a


def deco(fn):
    @functools.wraps(fn)
    def w(self, *a):
        return fn(self, *a) * 2

    return w


def deco2(fn):
    def w(self):
        return fn(self) * 2

    return w


@case(1.3)
def methods_decorated_from_outside(x):
    class P:
        @deco
        def m(self):
            return x

        @deco2
        def n(self):
            return x

    return P().m() * x + P().n()


@case(1.3)
def functions_in_a_class_body_called_there(x):
    class P:
        k = sum(x * i for i in range(3))
        j = max([1.0, 2.0], key=lambda v: v * x)
        l = list(map(lambda v: v * x, [1.0, 2.0]))

    return P.k * P.j * P.l[1]


@case(1.3)
def decorated_class_that_computes(x):
    @functools.total_ordering
    class P:
        scale = x * 2

        def __init__(self, v):
            self.v = v * self.scale

        def __lt__(self, o):
            return self.v < o.v

        def __eq__(self, o):
            return self.v == o.v

    return max(P(1.0), P(2.0)).v


@case(1.3)
def data_class_with_factories_and_defaults(x):
    @dataclasses.dataclass
    class P:
        w: float = x * 2
        b: float = 1.0
        c: list = dataclasses.field(default_factory=lambda: [x])

        def f(self, v):
            return self.w * v + self.b + self.c[0]

    p = P()
    q = dataclasses.replace(p, b=x)
    return p.f(x) * q.f(2.0) + P(b=x).w * P.w + dataclasses.asdict(q)["w"]


@case(1.3)
def frozen_data_class_with_keywords_only(x):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class P:
        w: float = x * 2
        b: float = 1.0

    return P().w * P(b=x).b


@case(1.3)
def data_class_with_slots(x):
    @dataclasses.dataclass(slots=True)
    class P:
        w: float = x * 2
        b: float = 1.0

    return P().w * P(b=x).b


@case(1.3)
def class_attribute_beside_slots(x):
    class P:
        __slots__ = ("a",)
        k = x

        def __init__(self, a):
            self.a = a * self.k

    return P(x).a


@case(1.3)
def class_made_in_a_loop(x):
    s = 0.0
    for i in range(3):

        class P:
            k = x * i

            def get(self):
                return self.k * i

        s += P().get() + P.k
    return s


def make(x):
    class P:
        k = x * x

        def get(self, y):
            return self.k * y

    return P


@case(1.3)
def one_class_statement_with_and_without_a_derivative(x):
    A, B = make(x), make(2.0)
    return A().get(x) * B().get(x) + A.k * B.k


@case(1.3)
def class_and_object_handed_on(x):
    def use(cls, obj):
        return cls.k * obj.k * obj.get(1.0)

    P = make(x)
    return use(P, P())


def helper(o):
    return o.k * o.get(2.0)


@case(1.3)
def objects_of_classes_handed_on(x):
    return helper(make(x)()) + sum([helper(make(x * i)()) for i in range(2)])


@case(np.array([0.4, 1.3]))
def array_as_a_class_attribute(v):
    class P:
        w = v * 2
        n = len(w)

        def f(self):
            return np.sum(self.w * v) * self.n

    P.w[0] = v[1]
    return P().f() + np.sum(P.w)


@case(1.3)
def helpers_of_a_class_body(x):
    class P:
        def helper():
            return x * 2

        k = helper()

        def get(self):
            return x

        got = property(get)
        j = (lambda: x)()

    return P.k * P().got * P.j


@case(1.3)
def branches_and_exceptions_in_a_class_body(x):
    class P:
        if x > 1:
            a = 1.0
        else:
            a = 2.0
        b = []
        for q in (x, x * x):
            b.append(q)
        try:
            c = b[5]
        except IndexError:
            c = b[0]
        with contextlib.nullcontext(x) as d:
            pass

    return P.a * sum(P.b) * P.c * P.d


@case(1.3)
def registry_in_a_class_made_there(x):
    class Registry:
        items = {}

        def __class_getitem__(cls, key):
            return cls.items[key]

        @classmethod
        def add(cls, key):
            def decorate(f):
                cls.items[key] = f
                return f

            return decorate

    @Registry.add("square")
    def square(y):
        return y * y * x

    Registry.items["number"] = x * x
    return Registry["square"](x) + Registry.items["square"](2.0) * Registry["number"]


@case(1.3)
def metaclass_that_knows_values(x):
    class Meta(type):
        k = 3.0

        def __add__(cls, other):
            return x * other

        def __iter__(cls):
            yield x

        def __len__(cls):
            return 2

        def __getitem__(cls, key):
            return x * key

        def __getattr__(cls, name):
            return x * len(name)

        def __call__(cls):
            return x * 5

        @property
        def p(cls):
            return x * 7

        def method(cls):
            return x

    class Made(metaclass=Meta):
        j = 2.0

    def use(c):
        s = sum(c) + max(c)
        for y in c:
            s += y
        return (c + 3.0) * c[2.0] + c.abc * c.p + c.method() * len(c) + s + c.k * c.j + c()

    return use(Made)


@case(1.3)
def properties_put_together_in_a_class_body(x):
    class P:
        def __init__(self):
            self._v = 1.0

        def get(self):
            return self._v * x

        factor = get(type("Stub", (), {"_v": x})())
        v = property(get)

        @v.setter
        def v(self, value):
            self._v = value * self.factor

    p = P()
    p.v = x * 3
    return p.v * P.factor


SEEN = []


@case(1.3)
def data_class_with_fields_beside_data_that_changes(x):
    SEEN.clear()

    @dataclasses.dataclass(order=True)
    class Item:
        key: float
        value: float = dataclasses.field(compare=False, default=0.0)
        others: list = dataclasses.field(compare=False, default_factory=list)

        def __post_init__(self):
            self.value = self.key * x
            SEEN.append(self.value)

    items = sorted([Item(x * k) for k in (3, 1, 2)])
    items[0].others.append(x)
    return items[0].value * items[1].key + SEEN[-1] * items[0].others[0] + (Item(x) == Item(x)) * x


class Tree:
    weigh = math.tanh

    class Node:
        def __init__(self, value):
            self.value = value
            self.left = self.right = None

    def __init__(self):
        self.root = None

    def insert(self, value):
        if self.root is None:
            self.root = Tree.Node(value)
            return
        node = self.root
        while True:
            if value < node.value:
                if node.left is None:
                    node.left = self.Node(value)
                    return
                node = node.left
            else:
                if node.right is None:
                    node.right = Tree.Node(value)
                    return
                node = node.right

    def total(self, node, depth=1):
        if node is None:
            return 0.0
        return self.weigh(node.value) * depth + self.total(node.left, depth + 1) + self.total(node.right, depth + 1)


@case([0.5, 0.2, 0.9, 0.7])
def classes_in_classes(values):
    tree = Tree()
    for v in values:
        tree.insert(v * v)
    return tree.total(tree.root)


class Rebound:
    weigh = math.tanh

    def scaled(self, x):
        return 3.0 * x

    class Holder:
        def __init__(self, x):
            self.x = 2.0 * x


class Halving:
    def __init__(self, x):
        self.x = 0.5 * x


def squared(self, x):
    return x * x


@case(0.4)
def what_is_set_on_a_class_in_the_run(x):
    before = Rebound().scaled(x) + Rebound.weigh(x) + Rebound.Holder(x).x
    old = Rebound.__dict__["scaled"], Rebound.weigh, Rebound.Holder
    Rebound.scaled, Rebound.weigh, Rebound.Holder = squared, math.exp, Halving
    try:
        now = Rebound().scaled(x) + Rebound.weigh(x) + Rebound().weigh(2.0 * x) + Rebound.Holder(x).x
    finally:
        Rebound.scaled, Rebound.weigh, Rebound.Holder = old
    return before * now + Rebound().scaled(x)


@case(1.3)
def defaults_read_from_the_fields(x):
    @dataclasses.dataclass
    class Rates:
        name: str
        up: float = x
        rows: list = dataclasses.field(default_factory=list)
        both: tuple = (x * x, 2.0)

    defaults = {f.name: f.default for f in dataclasses.fields(Rates) if f.default is not dataclasses.MISSING}
    made = Rates("a")
    total = defaults["up"] * made.both[0] + dataclasses.fields(made)[1].default * 2.0
    return total + defaults["both"][0] * Rates.__dataclass_fields__["up"].default * made.up


@case((1.3, 0.7))
def defaults_of_the_fields_of_a_class_derived_from(xs):
    @dataclasses.dataclass
    class Rates:
        up: float = xs[0]
        down: float = xs[1] * 2.0

    @dataclasses.dataclass
    class Constant(Rates):
        scale: float = 3.0

    @dataclasses.dataclass(slots=True)
    class More(Constant):
        up: float
        down: float = xs[0] * xs[1]
        sides: tuple = (xs[1], xs[0])

    total = Constant().up * Constant().scale + More().up * More().down + More(2.0).sides[1]
    return total * sum(f.default for f in dataclasses.fields(More)[:2]) + Constant.up + Rates().down * Constant.down
