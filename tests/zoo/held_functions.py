"""Closures and bound methods that are kept in containers and called out of them."""

import math

from tests.zoo.registry import case


class Layer:
    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    def apply(self, v, bias=0.5):
        self.calls += 1
        return math.tanh(self.weight * v + bias)


@case(0.7)
def tape_of_closures(x):
    tape = []

    def times(a, b):
        tape.append(lambda g: (g * b, g * a))
        return a * b

    v = x
    for i in range(4):
        v = times(v, x + i)
    total, g = v, 1.0
    for back in reversed(tape):
        g, d = back(g)
        total += d
    return total


@case(0.7)
def counters_and_defaults(x):
    def counter(n):
        def more(d, k=x * n, twice=2.0):
            nonlocal n
            n += d * k
            return n * twice

        return more

    counters = {name: counter(x * i) for i, name in enumerate("abc")}
    total = 0.0
    for d in (1.0, x):
        for more in counters.values():
            total += more(d) * more(x, d)
    return total


@case(0.7)
def bound_methods(x):
    layers = [Layer(x * i) for i in range(4)]
    applied = [layer.apply for layer in layers]
    v = x
    for f in applied:
        v = f(v) + f(x, v)
    layers[1].weight = v
    return applied[1](0.1) * layers[2].calls + layers[1].weight


def _sum_of_chosen(functions, flags, x):
    total = 0.0
    for f, flag in zip(functions, flags, strict=True):
        if flag:
            total = total + f(x)
    return total


@case(0.7)
def functions_made_anew_in_every_run_and_chosen_from_a_list(x):
    def square(v):
        return v * v

    def triple(v):
        return 3.0 * v

    add = [_sum_of_chosen, abs, len, repr, hash, iter, callable][0]  # decided when it runs
    first = add([square, triple], [x > 0.0, x < 0.0], x)
    second = add([triple, square, lambda v: v**3], [False, x > 0.0, True], x + 1.0)
    return first * second + add([lambda v: math.sin(v), lambda v: v], [True, True], x)


def _sum_of_marked(functions, x):
    total = 0.0
    for f in functions:
        if f.wanted:
            total = total + f(x) * f.factor
    return total


@case(0.7)
def attributes_of_functions_made_anew(x):
    add = [_sum_of_marked, abs, len, repr, hash, iter, callable][0]  # decided when it runs
    total = 0.0
    for i in range(4):

        def square(v):
            return v * v

        def triple(v):
            return 3.0 * v

        square.wanted, triple.wanted = i % 2 == 0, i != 2
        square.factor, triple.factor = i + 1.0, i - 0.5
        total = total + add([square, triple], x + i)
    return total


class Pair:
    def __init__(self, f, g):
        self.f = f
        self.g = g


class Comparisons:
    """Functions that are found by a name that is put together when the program runs."""

    @staticmethod
    def in_an_object(p, x):
        return p.f(x) * 3.0 if p.f is p.g else p.f(x) + x

    @staticmethod
    def in_an_object_of_its_own(f, g, x):
        p = Pair(f, g)
        return p.f(x) * 3.0 if p.f is p.g else p.f(x) + x

    @staticmethod
    def among_several(f, g, x):
        for h in (f, math.sin):
            x = x * 2.0 if h is g else h(x)
        return x

    @staticmethod
    def by_position(f, g, x):
        return x * [f, g].index(g) + x * x * len({f, g})

    @staticmethod
    def given_back(p, x):
        return p.f, p.g


@case(0.7)
def functions_made_anew_are_told_apart(x):
    def square():
        def inner(y):
            return y * y

        return inner

    def run(name, *args):
        return getattr(Comparisons, (name + "!")[:-1])(*args)

    total = x
    for f, g in [(square(), square()), (square(),) * 2]:
        total += run("in_an_object", Pair(f, g), x) * run("in_an_object_of_its_own", f, g, x)
        total += run("among_several", f, g, x) * run("by_position", f, g, x)
        h, k = run("given_back", Pair(f, g), x)
        total *= h(x) * 2.0 if h is k and h is f else k(x) + (k is g)
    return total


@case(0.7, 0.4)
def closures_called_by_keyword_or_with_less(x, y):
    def power(v, k=2.0, *, times=y):
        return v**k * times * x

    def summed(*values, factor=1.0, **more):
        total = 0.0
        for v in values:
            total += v * x
        for name, v in more.items():
            total += v * len(name)
        return total * factor

    total = 0.0
    for i in range(4):

        def step(v, k=i * y, acc=[]):  # noqa: B006
            acc.append(v)
            return v * k + sum(acc)

        total += step(x) + step(v=y) + step(x, 0.5)
        total += power(x) + power(v=y, k=i) + power(y, times=i * x)
        total += summed(x, y, i) + summed(x, factor=y, abc=x * y) + summed()
    return total


class Pairwise:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        yield self.a
        yield self.b


@case(0.7, 0.4)
def objects_that_give_the_arguments(x, y):
    def area(a, b):
        return a * b + x

    total = 0.0
    for i in range(4):
        total += area(*Pairwise(x + i, y)) + math.atan2(*Pairwise(y, x))
    try:
        total *= math.atan2(*Pairwise(x, y), y)
    except TypeError:
        total *= x
    return total


class Tape:
    def __init__(self):
        self.backs = []

    def variable(self, value):
        return Traced(self, value)


class Traced:
    def __init__(self, tape, value):
        self.tape = tape
        self.value = value
        self.grad = 0.0
        self.back = lambda: None

    def __add__(self, other):
        out = Traced(self.tape, self.value + other.value)

        def back():
            self.grad += out.grad
            other.grad += out.grad

        out.back = back
        self.tape.backs.append(back)
        return out

    def __mul__(self, other):
        out = Traced(self.tape, self.value * other.value)

        def back():
            self.grad += other.value * out.grad
            other.grad += self.value * out.grad

        out.back = back
        self.tape.backs.append(back)
        return out


@case(0.7, 0.4)
def a_tape_in_an_object(x, y):
    tape = Tape()
    a, b = tape.variable(x), tape.variable(y)
    z = a * b + a
    for _ in range(3):
        z = z * z + b * a
    z.grad = 1.0
    for back in reversed(tape.backs):
        back()
    return a.grad + b.grad * z.value


@case(0.7, 0.4)
def closures_that_objects_hold(x, y):
    tape = Tape()
    a, b = tape.variable(x), tape.variable(y)
    c = a * b
    d = c * a + b
    d.grad = 1.0
    for v in (d, c, b, a):
        v.back()
    d.back = b.back
    d.back()
    return a.grad + b.grad * c.grad


class Parented:
    def __init__(self, value, parents=()):
        self.value = value
        self.parents = parents
        self.grad = 0.0

    def __mul__(self, other):
        return Parented(self.value * other.value, [(self, other.value), (other, self.value)])

    def backward(self, g=1.0):
        self.grad += g
        for parent, weight in self.parents:
            parent.backward(weight * g)


@case(0.7, 0.4)
def parents_in_a_tuple_or_a_list(x, y):
    a, b = Parented(x), Parented(y)
    c = a * b * a
    c.backward()
    n = [len(list(zip(v.parents, "ab"))) for v in (a, b, c)]
    return a.grad + b.grad * sum(i * k for i, k in enumerate(n)) + c.value


@case(0.7, 0.4)
def methods_bound_in_several_places(x, y):
    first, second = Layer(x), Layer(y)
    todo = [first.apply]
    todo.append(second.apply)
    if x > y:
        todo.append(first.apply)
    v = x
    for apply in todo:
        v = apply(v) + apply(y, v)
    return v * first.calls + second.calls
