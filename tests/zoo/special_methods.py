"""Special methods of built-in types, called by name: what operators, loops and brackets call for themselves."""

import functools
import math
import operator
import warnings
from collections import deque

import numpy as np

from tests.zoo.registry import add, case

AREA = "special_methods"
V = np.array([0.4, 1.3, 2.1])
M = np.array([[0.3, -1.2], [1.5, 0.7]])


@case(1.3)
def items_asked_of_iterators(x):
    s = x
    for xs in ([x, x * x], (x, x * x), deque([x, x * x]), {1: x, 2: x * x}.values()):
        it = iter(xs)
        s += it.__next__() * next(it) + xs.__iter__().__next__() * type(it).__next__(iter(xs))
    return s


@case(V)
def items_asked_of_an_iterator_over_an_array(v):
    it = v.__iter__()
    step = iter(v).__next__
    return it.__next__() * it.__next__() + step() * step() + np.ndarray.__iter__(v).__next__()


@case(1.3)
def lists_iterated_by_method(x):
    xs = [1.0, x, x * x]
    s = sum(list.__iter__(xs)) * x
    for y in xs.__reversed__():
        s = s * x + y
    for y in list.__iter__(xs):
        s += y * y
        if len(xs) < 5:
            xs.append(y * x)
    return s


class Doubled(list):
    def __iter__(self):
        for y in super().__iter__():
            yield 2 * y


@case(1.3)
def iteration_of_a_derived_list(x):
    return sum(Doubled([x, x * x])) * x


@case(1.3)
def deques_by_method(x):
    d = deque([x, 2.0, x * x])
    d.__setitem__(1, x * 3)
    s = sum(deque.__iter__(d)) * d.__getitem__(1)
    for y in d.__reversed__():
        s = s * x + y
    d.__delitem__(0)
    return s * d[0] + deque.__contains__(d, 2.0)


@case(V)
def elements_put_by_method(v):
    a = v * 2
    a.flat.__setitem__(0, v[1])
    a.__setitem__(slice(1, None), v[1:] * v[0])
    np.ndarray.__setitem__(a, 2, v[0])
    return np.sum(a * v) * a.flat.__getitem__(1) + a.__getitem__(0)


@case(V, M)
def arrays_changed_by_method(v, m):
    a, b = v * 2, m * 2
    a.__iadd__(v * v).__imul__(v)
    a.__isub__(v[::-1])
    a.__itruediv__(v + 1.0)
    a.__imod__(np.full(3, 7.0))
    b.__imatmul__(m)
    a.__ipow__(np.full(3, 2.0))
    b.__ifloordiv__(m + 4.7)
    b.__ifloordiv__(m + 4.7)
    return np.sum(a * v) + np.sum(b * m)


@case(1.3, 0.45)
def numbers_by_method(x, y):
    s = float.__add__(x, y) * x.__rsub__(1.0) + float.__divmod__(x, y)[1] + y.__rdivmod__(x)[1] * x
    return s + x.__round__(1) + x.__float__() * float.__abs__(-y) + float.__floor__(x) * y + float.__int__(x) * y


@case(np.float64(1.236), np.float64(0.45))
def numbers_of_numpy_by_method(x, y):
    rounded = x.__round__(1) * x + x.__round__() + y.__round__(None) * x
    return rounded + x.__pow__(2) * y.__abs__() + x.__divmod__(0.7)[1]


@case(1.3, V)
def methods_without_an_answer(x, v):
    answers = [float.__mul__(x, 1j), x.__add__(v), (2).__mul__(x), complex.__mul__(x * 1j, v)]
    return sum([a is NotImplemented for a in answers]) * x + np.sum(v[0].__mul__(v)) + np.sum(v.__radd__([x, x, 1.0]))


@case(0.8)
def an_array_of_one_number_as_a_number(x):
    z = np.array(x * 2)
    return float(z) * x + complex(z).real * z.__float__() + int(z) * x + bool(z) * x + abs(complex(np.array(x + 1j)))


@case(1.3)
def items_by_functions_of_operator(x):
    xs, a = [1.0, 2.0, x], np.zeros(3)
    operator.setitem(xs, 0, x * x)
    operator.delitem(xs, 1)
    operator.setitem(a, slice(None, 2), xs)
    return operator.getitem(a, 1) * a[0] * operator.itemgetter(0)(xs) * np.sin.__call__(x)


def scaled(x, by=2.0):
    return x * by


@case(1.3)
def calls_by_method(x):
    kept = [x]
    kept.append.__call__(x * x)
    double = functools.partial(scaled, by=x)
    return scaled.__call__(x) * double.__call__(kept[1]) + math.sin.__call__(x) * type(scaled).__call__(scaled, x, by=x)


@case(1.3)
def calls_of_closures_by_method(x):
    by_default = lambda v, k=x: v * k  # noqa: E731
    calls = [(lambda v: v * x).__call__, by_default.__call__, (lambda s, v: s * v).__get__(x * x)]
    return sum(f(2.0) for f in calls) * sum(map((lambda v: v * x).__call__, [x, 2.0]))


class Measured:
    """Its comparisons give numbers, and its attributes may not be there."""

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v * other

    __hash__ = None

    @property
    def missing(self):
        return self.nothing * 2.0

    @property
    def twice(self):
        return self.v * 2.0

    def __getattr__(self, name):
        if name == "nothing":
            raise AttributeError(name)
        return self.v * len(name)


class Refusing:
    def __get__(self, x, cls=None):
        if x.v > 1.0:
            raise AttributeError("too large")
        return x.v


class Described(Measured):
    small = Refusing()


@case(1.3)
def inequality_by_what_says_that_two_are_equal(x):
    m = Measured(x)
    return (m != 4.0) * x + (m != 0.0) * x * x + (m == 2.0) * x


@case(1.3)
def properties_that_have_no_attribute_ask_for_it(x):
    m = Measured(x)
    return m.missing * m.twice + getattr(m, "missing", 1.0) * hasattr(m, "missing")


@case(1.3)
def descriptors_that_have_no_attribute_ask_for_it(x):
    return Described(x).small * Described(x * 0.5).small


class Scaled:
    def __init__(self, v):
        self.v = v

    def __matmul__(self, other):
        return self.v * other * 2

    def __rmatmul__(self, other):
        return other * self.v


@case(0.7, 1.3)
def matrix_products_of_numbers_and_objects(x, y):
    total = (x @ Scaled(y)) + (Scaled(y) @ x)
    for i in range(4):
        other = Scaled(y) if i % 2 else np.array([y, x])
        one = x if i % 2 else np.array([x, y])
        total = total + one @ other
    return total


class Plain:
    def __init__(self, v):
        self.v = v


class Added(Plain):
    def __add__(self, other):
        return Added(self.v + other)


@case(0.7)
def an_operator_replaced_meanwhile(x):
    a = Added(x)
    total, before = (a + 1).v, Added.__add__
    Added.__add__ = lambda self, other: Added(self.v * self.v + other)
    try:
        return total * (a + 2).v
    finally:
        Added.__add__ = before


@case(0.7)
def operators_that_are_set_meanwhile(x):
    a, total = Plain(x), 0.0
    for i in range(3):
        try:
            total += (a * 2.0).v
        except TypeError:
            total += x * x
        if i == 0:
            Plain.__mul__ = lambda self, other: Plain(self.v * other)
    del Plain.__mul__
    return total


@case(0.7)
def a_length_that_is_set_meanwhile(x):
    a = Plain(x)

    def patch():
        Plain.__len__ = lambda self: 0

    total = x * x if a else x
    patch()
    try:
        return total + (2 * x if a else 3 * x)
    finally:
        del Plain.__len__


@case(1.5, 1.0)
@case(1.5, 3.0, name="what_the_class_has_nothing_for_either")
def what_the_class_has_nothing_for(x, y):
    a = Plain(x) if y > 2 else [x, y]
    try:
        total = a[0] * x + len(a)
    except TypeError as e:
        total = a.v * len(str(e))
    b = Plain(y)
    try:
        b += total
    except TypeError as e:
        total += len(str(e)) * b.v
    try:
        return (-b).v
    except TypeError:
        return total


@case(np.array([0.5, -0.3]), "x")
def what_builtins_say_of_the_rest(a, text):
    x, total = Plain(a[0]), 0.0
    calls = (
        *(lambda: abs(x), lambda: len(x), lambda: next(x), lambda: round(x), lambda: divmod(x, 2), lambda: float(x)),
        *(lambda: iter(a[0]), lambda: list(a[1]), lambda: int(x), lambda: sum(x), lambda: text + x),
    )
    for f in calls:
        try:
            f()
        except TypeError as e:
            total += a[1] * len(str(e))
    return total + x.v


class Reversible(Plain):
    def __reversed__(self):
        return iter([self.v, self.v * self.v])


@case(0.6)
def what_can_only_be_gone_over_backwards(x):
    total = sum(a * b for a, b in zip(reversed(Reversible(x)), (1.0, 2.0), strict=True))
    for r in (Reversible(x), None):
        try:
            for v in reversed(r):
                total += v * v
        except TypeError:
            total += x
    try:
        return total + len()
    except TypeError as e:
        return total * len(str(e))


class _Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


class _CallsUfunc:
    __call__ = np.sin


class _CallsC:
    __call__ = math.sin


class _CallsObject:
    __call__ = _Scaled(8.0)


class _CallsStatic:
    __call__ = staticmethod(lambda x: x * x)


_CALLED = [_CallsUfunc(), _CallsC(), _CallsObject(), _CallsStatic()]


@case(0.7)
def calls_that_do_not_take_the_object(x):
    y = _CALLED[0](x) * _CallsUfunc()(x) + _CALLED[1](x) * _CallsC()(x)
    return y + _CALLED[2](x) * _CallsObject()(x) + _CALLED[3](x) * _CallsStatic()(x)


@case(0.7)
def calls_that_do_not_take_the_object_of_any_class(x):
    return [c(x) for c in _CALLED]


for _c in _CALLED:
    add(f"call_of_{type(_c).__name__.strip('_').lower()}", _c, 0.7, area=AREA)


class Vague:
    """What special methods of it give is not what they should."""

    def __init__(self, v):
        self.v = v

    def __contains__(self, k):
        return self.v * k

    def __bool__(self):
        return self.v

    def __len__(self):
        return self.v

    def __float__(self):
        return 1

    def __index__(self):
        return self.v

    def __repr__(self):
        return self.v

    def __hash__(self):
        return self.v


class OfLength:
    """A length of a class of numbers, and a number that says that it is a float."""

    def __init__(self, v):
        self.v = v

    def __len__(self):
        return True

    def __contains__(self, k):
        return [] if k else "yes"

    def __float__(self):
        return np.float64(self.v)


def _asked_in_every_way(o, x):
    total = 0.0
    for i, ask in enumerate((bool, len, float, repr, hash, lambda o: not o, lambda o: [1.0, 2.0][o], lambda o: f"{o}")):
        try:
            ask(o)
        except TypeError as e:
            total += (i + 1.0) * x * (len(str(e)) + ("float" in str(e)))
        except ValueError:
            total += x
    return total


@case(0.6)
def what_special_methods_give_is_converted_or_refused(x):
    o = Vague(x)
    total = (1 in o) * 3.0 * x + (0 in o) * x + (1 not in o) * 5.0
    try:
        total += x if o else x * x
    except TypeError as e:
        total += len(str(e)) * x
    try:
        total += x * len(o)
    except TypeError as e:
        total += len(str(e)) * x
    try:
        total += x * float(o)
    except TypeError as e:
        total += ("__float__" in str(e)) * x
    try:
        total += 2.0 if not o else 1.0
    except TypeError as e:
        total += len(str(e)) * x
    return total * x


@case(0.6)
def what_they_give_is_converted_in_classes_that_are_made_here(x):
    class Here(Vague):
        def __contains__(self, k):
            return x

    o = Here(x)
    total = (1 in o) * 3.0 * x + (1 not in o) * 5.0
    return total + _asked_in_every_way(o, x)


@case(0.6)
def what_they_give_is_converted_in_objects_of_several_classes(x):
    total = 0.0
    for o in (Vague(x), OfLength(x), Vague(x * x)):
        total = total + (1 in o) * 3.0 * x + (1 not in o) * x * x
        total += _asked_in_every_way(o, x)
        try:
            total += len(o) * float(o) * x if o else x
        except TypeError as e:
            total += len(str(e)) * x
    return total


@case(0.6)
def lengths_and_numbers_of_classes_of_their_own(x):
    o = OfLength(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return len(o) * x + float(o) * x + (3.0 if o else 2.0) * x + (1 in o) * x + (0 in o) * x * x


class Twice:
    """What NumPy's functions are of it, its class says."""

    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        values = [x.v if isinstance(x, Twice) else x for x in inputs]
        return getattr(ufunc, method)(*values, **options) * 2.0

    def __array_function__(self, f, types, args, options):
        if f is np.sum:
            return self.v * 3.0
        if f is np.interp:
            return args[0] * self.v * len(types)
        return NotImplemented


class Reluctant(Twice):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc is np.sin:
            return self.v * self.v
        if ufunc is np.cos:
            return NotImplemented
        return super().__array_ufunc__(ufunc, method, *inputs, **options)


class Unasked(Twice):
    __array_ufunc__ = None

    def __radd__(self, other):
        return other * self.v


class Operated(np.lib.mixins.NDArrayOperatorsMixin, Twice):
    pass


@case(0.6, np.array([0.5, 2.0]))
def what_ufuncs_are_of_an_object_its_class_says(x, v):
    o = Twice(x)
    total = np.sin(o) + np.add(o, 1.0) + np.maximum(2.0, o)
    total += np.sum(o + v) + np.sum(v - o) + np.sum(np.multiply(v, o)) + np.float64(x) / o + (v > o).sum() * x
    total += np.sum(v + Unasked(x)) + Operated(x) * 3.0 - (1.0 + Operated(x)) + np.sum(v * Operated(x))
    return total


@case(0.6)
def what_ufuncs_are_of_objects_that_are_known_late(x):
    class Here(Twice):
        pass

    total = 0.0
    for o in [Twice(x), x, Reluctant(x * x), Here(x)]:
        total = total + np.sin(o) + np.add(o, 1.0) + np.sum(o + np.ones(2))
    for f in (np.sin, np.exp, np.negative):
        total = total + f(Twice(x)) * f(Here(x))
    return total + np.add(Twice(x), Reluctant(x))


@case(0.6)
def what_objects_leave_to_others(x):
    try:
        total = np.cos(Reluctant(x))
    except TypeError:
        total = 3.0 * x
    try:
        return total + np.add(1.0, Unasked(x))
    except TypeError as e:
        return total * len(str(e))


@case(0.6)
def what_functions_of_arrays_are_of_an_object_its_class_says(x):
    total = np.sum(Twice(x)) + np.interp(x * 2.0, Twice(x), Reluctant(x * x))
    try:
        return total + np.mean(Twice(x))
    except TypeError as e:
        return total * len(str(e))


@case(0.6)
def exceptions_caught_around_what_a_class_says(x):
    try:
        return np.exp(Twice(x)) + np.sum(Twice(x))
    except Exception:
        return x * 100.0


class Weight:
    """A number by `float()`, and by `*` and `+` another of its kind."""

    def __init__(self, v):
        self.v = v

    def __float__(self):
        return self.v

    def __mul__(self, other):
        return Weight(self.v * float(other))

    def __add__(self, other):
        return Weight(self.v + float(other))

    __rmul__, __radd__ = __mul__, __add__


@case(1.3)
def sums_and_products_of_objects_that_are_numbers(x):
    class Here(Weight):
        pass

    total = math.fsum([Weight(x), 1.0]) + math.fsum((Weight(x), Here(x * x))) + math.fsum(Weight(x * i) for i in (1, 2))
    total += math.dist([Weight(x)], [1.0]) + math.dist([Weight(x), x], (Here(x * x), 3.0)) + math.hypot(Weight(x), 2.0)
    total += math.prod([Weight(x), 2.0, Here(x)]).v + math.prod((Weight(x),), start=x).v + sum([Weight(x), 2.0]).v
    if hasattr(math, "sumprod"):
        total += math.sumprod([Weight(x), 2.0], [x, Weight(x)]).v + math.sumprod(iter([x, 2.0]), (x, 1.0))
    for items in ([Here(x), "1.5"], [x, 1j], ["a"]):
        try:
            total += math.fsum(items)
        except TypeError as e:
            total += x * len(str(e))
    return total


@case(1.3)
def sums_of_numbers_and_objects_from_a_list_that_is_filled(x):
    items = []
    for i in range(4):
        items.append(Weight(x * i) if i % 2 else x * i)
    keys = math.fsum({x: 1, x * x: 2}) + math.prod({x: 1, 2.0: 2}) + math.prod([]) * x
    return math.fsum(items) + math.dist(items, items[::-1]) + keys + math.fsum([np.float64(x), np.array(x), 1])


class AsArray:
    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return np.array([self.v, self.v**2])


class AsArrayTimes(AsArray):
    def __mul__(self, other):
        return np.sum(other) * self.v


@case(1.3)
def arrays_beside_objects_that_give_arrays(x):
    o, a = AsArray(x), np.arange(2.0)
    b = a + o
    b += o
    b *= AsArray(2 * x)
    total = (o * np.ones(2) - a / o).sum() + b.sum() + np.ones(2) @ o + ((np.ones(2) < o) * x).sum()
    return total + (np.float64(2.0) * o).sum() + AsArrayTimes(x) * np.ones(2) + (a * AsArrayTimes(x)).sum()
