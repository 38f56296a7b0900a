"""Classes of the user's that inherit their methods from `UserDict`, `UserList` and abstract classes of containers."""

import collections.abc
from collections import UserDict, UserList

from tests.zoo.registry import case


class Sums(UserDict):
    def __missing__(self, key):
        return 0.0


class Lower(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


class History(UserList):
    def append(self, value):
        super().append(value)
        self.last = value

    def total(self):
        return sum(self.data)


class Vector(collections.abc.Sequence):
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Settings(collections.abc.MutableMapping):
    def __init__(self, **given):
        self.given = given

    def __getitem__(self, key):
        return self.given[key]

    def __setitem__(self, key, value):
        self.given[key] = value

    def __delitem__(self, key):
        del self.given[key]

    def __iter__(self):
        return iter(self.given)

    def __len__(self):
        return len(self.given)


class Rows:
    """Iterated over as `collections.abc.Sequence` does it."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        if isinstance(i, slice):
            return self.__class__(self.rows[i])
        return self.rows[i]

    def __iter__(self):
        i = 0
        try:
            while True:
                yield self[i]
                i += 1
        except IndexError:
            return


@case(0.7)
def dict_with_a_default(x):
    d = Sums()
    for i in range(12):
        d[i % 5] = d[i % 5] + x**i
    return sum(v * k for k, v in d.items()) + d[7] + sum(d.values())


@case(0.7)
def dict_that_changes_its_keys(x):
    d = Lower({"A": x, "B": x * x})
    d["C"] = d["a"] * d["b"]
    d.update(D=x, e=2.0)
    return sum(v for k, v in d.items() if k != "a") + len(d) * d.pop("d")


@case(0.7)
def user_dict_itself(x):
    d = UserDict(a=x)
    d["b"] = 2.0 * x
    d.update({"c": x})
    for k in d:
        d[k] *= 1.5
    return sum(d.values()) + d.get("z", x) + d.pop("a") + d.setdefault("q", x * x)


@case(0.7)
def list_that_keeps_the_last(x):
    h = History([x])
    for i in range(6):
        h.append(x * h[-1] + i)
    return sum(h) + h.last**2 + h.total() + sum(h[2:4]) * len(h + [1.0])


@case(0.7)
def sequence_by_length_and_items(x):
    v = Vector(x, 2.0 * x, 3.0)
    return sum(a * b for a, b in zip(v, reversed(v), strict=True)) + v.index(3.0) + (2.0 * x in v)


@case(0.7)
def mapping_by_five_methods(x):
    s = Settings(a=x, b=2.0)
    s.update(c=x * x)
    y = sum(v * len(k) for k, v in s.items())
    return y + s.get("a") + s.get("q", 1.0) + s.setdefault("e", x) * s.pop("b") + sum(s.values())


@case(0.7)
def iterated_over_and_cut(x):
    r = Rows([x])
    for _ in range(3):
        r.rows.append(x * r[-1])
    return sum(r) + sum(r[1:3]) * r[0]


def _scaled(x, **options):
    if options:
        return x * options["scale"]
    return x * x


def _filled(x, **options):
    options.setdefault("scale", x)
    return x * options["scale"] if options else 0.0


def _filled_in_a_loop(x, **options):
    s = x
    for i in range(3):
        if options:
            s = s * options["last"]
        options["last"] = s + i
    return s


def _filled_elsewhere(x, **options):
    keep = options
    keep["scale"] = 3.0 * x
    return x * options["scale"] if options else 0.0


@case(0.7)
def keywords_that_may_be_none_at_all(x):
    s = _scaled(x) + _scaled(x, scale=3.0 * x)
    return s + _filled(x) + _filled(x, scale=2.0) + _filled_in_a_loop(x) + _filled_elsewhere(x)


@case(0.7)
def asked_whether_they_are_mappings(x):
    s = 0.0
    for v in [{"a": x}, [x, x], x, (x, 2.0), Settings(a=x)]:
        if isinstance(v, collections.abc.Mapping):
            s += v["a"] ** 2
        elif isinstance(v, collections.abc.Sequence):
            s += v[0] * len(v)
        else:
            s += v
    return s
