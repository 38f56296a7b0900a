"""`types.SimpleNamespace`: made, changed, carried by loops, compared, in each other; `__dict__` of classes."""

import copy
import enum
from types import SimpleNamespace

from tests.zoo.registry import case

#: From CPython 3.13 on.
replace = getattr(copy, "replace", lambda p, **changes: SimpleNamespace(**{**vars(p), **changes}))


@case(1.3)
def namespace_made_and_changed(x):
    p = SimpleNamespace(a=x, b=[x, 2.0])
    p.b.append(p.a)
    p.c = x * x
    del p.a
    return p.b[2] * p.c + len(vars(p)) + sum(p.b)


@case(1.3, 0.4)
def namespace_carried_by_a_loop(x, y):
    s = SimpleNamespace(x=x, v=y)
    for _ in range(4):
        s = SimpleNamespace(x=s.x + 0.1 * s.v, v=s.v - 0.1 * s.x, before=s)
        s.v *= y
    return s.x * s.v + s.before.before.x


@case(1.3, 0.4)
def namespaces_compared_and_copied(x, y):
    p, q = SimpleNamespace(a=x), SimpleNamespace(a=x)
    s = x if p == q else 0.0
    q.a *= y
    r = SimpleNamespace(**vars(q))
    r.a += y
    try:
        return p.b
    except AttributeError as e:
        s += len(str(e)) * y
    return s + p.a * q.a * r.a * getattr(r, "z", y) + (3.0 * y if p != q else 0.0)


@case(1.3)
def namespaces_in_each_other(x):
    ps = [SimpleNamespace(k=i, inner=SimpleNamespace(v=x * i)) for i in range(4)]
    ps.sort(key=lambda p: -p.inner.v)
    ps[0].inner.v *= x
    return sum(p.k * p.inner.v for p in ps) + ps[0].inner.v


@case(1.3)
def namespace_replaced(x):
    p = SimpleNamespace(a=x, b=2.0)
    q = replace(p, b=x * x, c=p.a)
    return q.a * q.b * q.c + p.b * x


class Rescaler:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        return obj.__dict__[self.name] * 2

    def __set__(self, obj, value):
        obj.__dict__[self.name] = value


class Settings:
    pass


@case(1.3)
def what_a_class_holds_by_vars(x):
    class C:
        pass

    C.b = x * x
    C.c = x
    return sum(v for k, v in vars(C).items() if not k.startswith("_"))


@case(1.3)
def names_of_a_class_body_read_from_its_dict(x):
    class C:
        b = x * x
        c = x

    return vars(C)["b"] + C.__dict__.get("c") + C.__dict__.get("d", x)


@case(1.3)
def a_dict_of_a_class_is_a_view(x):
    class C:
        b = 2.0

    d = C.__dict__
    C.b = x * x
    return d["b"]


@case(1.3)
def names_of_a_class_one_by_one(x):
    class C:
        b = 2.0

    C.b = x * x
    s = 0.0
    for n in vars(C):
        if n in ("b", "c"):
            s += getattr(C, n)
    s += len([n for n in sorted(vars(C)) if n == "b"]) * x + ("b" in C.__dict__) * x + len(C.__dict__) * x
    s += (
        sum(C.__dict__[n] for n in list(C.__dict__) if n == "b")
        + len(set(vars(C))) * x
        + len(tuple(vars(C).keys())) * x
    )
    return s


@case(1.3)
def copies_of_the_dict_of_a_class(x):
    class C:
        b = 2.0

    C.b = x * x
    d = dict(C.__dict__)
    e = C.__dict__.copy()
    f = {**vars(C)}
    g = {}
    g.update(vars(C))
    return d["b"] + e["b"] + f["b"] * g["b"]


@case(1.3)
def the_dict_of_a_class_from_outside(x):
    Settings.b = x * x
    return Settings.__dict__["b"] * x


@case(1.3)
def methods_and_descriptors_from_the_dict_of_a_class(x):
    class C:
        d = Rescaler()

        def __init__(self, v):
            self.d = v

        def f(self):
            return self.d * x

    c = C(x)
    return vars(C)["f"](c) + C.__dict__["d"].__get__(c, C)


@case(1.3)
def fields_found_by_a_class_method(x):
    class Base:
        def fields(cls):
            return {k: v for k, v in cls.__dict__.items() if isinstance(v, float)}

        fields = classmethod(fields)

    class A(Base):
        p = 2.0
        q = x

    return sum(A.fields().values()) * A.q


@case(1.3)
def copies_that_outlive_what_they_were_made_of(x):
    class C:
        b = x * x

    d, items = dict(C.__dict__), [v for k, v in vars(C).items() if k == "b"]
    C.b = x * 3
    e = vars(C).copy()
    C.b = 1.0
    return d["b"] + 2 * items[0] + e["b"] * C.b


@case(1.3)
def attributes_set_one_by_one(x):
    class C:
        b = x * x
        c = x

    for k, v in list(vars(C).items()):
        if not k.startswith("_"):
            setattr(C, k, v * x)
    return C.b + C.c * vars(C)["b"]


class Kept:
    """A descriptor that leaves what it computes in the object, where it is found first from then on."""

    def __init__(self, compute):
        self.compute = compute

    def __get__(self, obj, cls=None):
        value = obj.__dict__[self.compute.__name__] = self.compute(obj)
        return value


class Ball:
    def __init__(self, r):
        self.r = r

    @Kept
    def area(self):
        return 3.0 * self.r**2

    @Kept
    def volume(self):
        return self.area * self.r


@case(1.3)
def computed_once_and_deleted(x):
    ball = Ball(x)
    s = ball.volume + ball.area
    ball.r = 2.0
    s += ball.area
    del ball.area
    return s * ball.area + ball.volume + len(ball.__dict__)


@case(1.3)
def properties_of_enumerations(x):
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

        @property
        def scaled(self):
            return self.value * x

        def __call__(self, y):
            return y * self.scaled

    weights = {Colour.RED: x, Colour.BLUE: x * x}
    return sum(weights[c] * c.scaled for c in Colour) + Colour["RED"](x) + Colour(2).scaled


@case(1.3)
def classes_that_are_registered_when_they_are_made(x):
    by_key = {}

    class Base:
        found = []

        def __init_subclass__(cls, key="", **kwargs):
            super().__init_subclass__(**kwargs)
            Base.found.append(cls)
            by_key[key] = cls

    class Times(Base, key="times"):
        def value(self, y):
            return y * x

    class Plus(Base, key="plus"):
        def value(self, y):
            return y + x

    s = by_key["plus"]().value(x)
    for c in Base.found:
        s = c().value(s)
    return s * len(by_key)


class AttrDict(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Bunch:
    def __init__(self, **kwargs):
        self.__dict__ = kwargs


@case(1.3)
def dict_whose_items_are_its_attributes(x):
    d = AttrDict(a=AttrDict(b=x), values=[x])
    d.a.b *= x
    d.values.append(d["a"]["b"])
    d["c"] = d.a.b * x
    d.update(e=x)
    del d["e"]
    d.setdefault("f", x)
    d.g = d.c * d.f
    del d.f
    other = AttrDict(d)
    other.g = 3.0 * x
    return sum(d.values) * d["g"] * other["g"] * len(d) + getattr(d, "f", x)


@case(1.3)
def object_whose_attributes_are_a_dict(x):
    kept = {"a": x}
    p = Bunch(b=x)
    p.q = x
    p.__dict__ = kept
    kept["b"] = p.a * x
    p.c = p.b * x
    t = kept["c"] * p.b
    for i in range(3):
        p = Bunch(a=x * i, b=2.0)
        p.a += x
        t += p.a * p.b
    return t


@case(1.3)
def objects_that_exchange_their_attributes(x):
    p, q = Bunch(a=x), Bunch(a=2.0 * x)
    p.b = x * x
    p.__dict__, q.__dict__ = q.__dict__, p.__dict__
    q.b = q.b * x
    return p.a * q.b * q.a


@case(1.3, 0.7)
def made_with_attributes_that_are_a_dict(x, y):
    return AttrDict(a=x * y, b=[x]), Bunch(a=y * y)
