"""What functions that are given no derivative make: arrays and their views, closures and generators that share them."""

import functools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.zoo.registry import case

V = np.array([1.3, 0.7, 2.1])


class Board:
    """A table, one of its columns, and functions that look at them."""

    def __init__(self, n=3):
        table = np.zeros((n, 2))
        self.table, self.first = table, table[:, 0]
        self.write = lambda v: table.__setitem__((slice(None), 1), v)
        self.second = lambda: table[:, 1].sum()


def pair(n=3):
    a = np.zeros(n)
    return a, a[1:]


def in_a_dict(n):
    a = np.zeros((n, n))
    return {"whole": a, "rows": list(a), "turned": a.T, "same": np.broadcast_to(a[0], (2, n))}


def one_after_the_other():
    a = np.zeros(4)
    yield a
    yield a[::2]


def access():
    a = np.zeros(3)
    tail, number = a[1:], [1.0]

    def put(v):
        a[:] = v
        number[0] = v

    def numbers():
        while True:
            yield number[0]

    return put, lambda: tail.sum(), numbers(), lambda v: number.__setitem__(0, v)


def in_layers(n):
    return Board() if n == 0 else in_layers(n - 1)


TABLE = {"pair": pair, "Board": Board, "access": access}
PARTIAL = functools.partial(access)


@case(0.7)
def array_and_view_from_a_function(x):
    a, v = pair()
    a[:] = x * x
    v *= a[0]
    return np.sum(a) * np.sum(v)


@case(0.7)
def array_and_view_from_a_function_in_a_dict(x):
    a, v = TABLE["pair"](2)
    v[0] = x
    return np.sum(a) * x


@case(V)
def views_in_a_dict_from_a_function(x):
    d = in_a_dict(3)
    d["rows"][0][:] = x
    d["turned"][0] += x**2
    shown = np.sum(d["same"] * x)
    d["whole"] *= x
    return np.sum(d["rows"][0]) * shown + np.sum(d["turned"])


@case(0.7)
def views_in_objects_made_in_several_ways(x):
    boards = [Board(), TABLE["Board"](2), in_layers(2), functools.partial(Board, 4)()]
    boards += map(Board, [2])
    total = 0.0
    for i, b in enumerate(boards):
        b.table[0, :] += x * (i + 1)
        b.first[1:] += b.first[0]
        total = total + np.sum(b.table) * b.first[0]
    return total


@case(0.7)
def functions_of_an_object_share_its_arrays(x):
    b = TABLE["Board"]()
    b.write(x * x)
    b.table[0] *= 3.0
    return b.second() * x


@case(0.7)
def arrays_of_a_generator_share_memory(x):
    a, v = list(one_after_the_other())
    a[:] = x
    v += a[1] * x
    it = one_after_the_other()
    b = next(it)
    b[2] = np.sum(v)
    return np.sum(a) * np.sum(next(it))


@case(0.7)
def closures_from_a_function_share_an_array(x):
    put, tail, numbers, _ = access()
    put(x * x)
    return tail() * x + next(numbers)


@case(0.7)
def generator_from_a_function_shares_a_list(x):
    put, _, numbers, set_number = PARTIAL()
    first = next(numbers)
    set_number(x * x)
    second = next(numbers)
    put(second * 2.0)
    return first + second * next(numbers)


@case(0.7)
def closures_by_a_dict_and_a_lambda(x):
    put, tail, numbers, _ = TABLE["access"]()
    other = (lambda: access())()
    put(x)
    other[0](tail() * x)
    return other[1]() * next(other[2]) + next(numbers)


@case(0.7)
def cached_function_gives_one_array(x):
    buffer = functools.cache(lambda n: np.zeros(n))
    buffer(3)[1] = x * x
    buffer(2)[0] = np.sum(buffer(3))
    return np.sum(buffer(2)) * x


COUNT = np.zeros(2)


@case(V)
def results_that_are_views_of_what_nobody_sees(x):
    COUNT[0] = x[0]
    tile, kron = (lambda f: f)(np.tile), {"kron": np.kron}["kron"]
    y = tile(x, 2)
    y[0] *= 2.0
    total = np.sum(y**2) + np.sum(kron(x, x[:2])) + COUNT[0]
    COUNT[0] = 0.0
    return total


@case(0.7, np.ones(2))
def numbers_from_arrays_by_class(x, a):
    z = np.array(x)
    z *= x
    b = np.float64(a)
    b *= 2.0
    return np.float64(z) * x + np.float32(1.5) * np.sum(b) + np.complex128(z).real


@case(0.7)
def power_with_a_modulus_of_none(x):
    return pow(x, 3, None) + pow(7, 3, 5) * x


@case(V, np.eye(3) + 0.3)
def vector_times_matrix_in_place(v, m):
    w = v * 2.0
    w @= m
    w[1:] @= m[1:, 1:]
    return np.sum(w**2)


def six():
    a = np.zeros(2)
    return a, np.zeros(2), [0.0], np.zeros(2), np.zeros(2), sliding_window_view(a, 1)


@case(0.7)
def six_things_from_a_function(x):
    a, b, c, d, e, shown = six()
    e[:] = x
    a[0] = x * x
    c[0] = a[0]
    d[1] = c[-1]
    return np.sum(e) * np.sum(a) + np.sum(d) + np.sum(b) + np.sum(shown * x) + six()[-2][0]


class Node:
    def __init__(self):
        self.value, self.me = 0.0, self
        self.whole = np.zeros(2)
        self.rest = self.whole[1:]


def one_list_twice():
    items = [0.0]
    return items, {"items": items}


def one_object_twice():
    node = Node()
    return {"a": node, "b": node}


@case(0.7)
def containers_and_objects_that_are_in_two_places(x):
    items, held = one_list_twice()
    items[0] = x * x
    items.append(x)
    nodes = one_object_twice()
    nodes["a"].value = held["items"][0] + held["items"][1]
    nodes["a"].whole[:] = nodes["b"].me.value
    return nodes["b"].value * nodes["b"].rest[0]


def shifted(n, t):
    return lambda u: (u - t) ** n


@case(0.7)
def functions_made_of_constants_in_a_list(x):
    fs = [shifted(k % 4, 0.1 * k) for k in range(6)]
    return sum(f(x) for f in fs)


def list_and_its_methods():
    items = [1.0, 2.0]
    return {
        "items": items,
        "put": functools.partial(list.__setitem__, items),
        "first": functools.partial(items.__setitem__, 0),
        "get": functools.partial(list.__getitem__, items),
        "at": items.__getitem__,
        "total": functools.partial(sum, items),
    }


@case(0.7)
def methods_of_a_list_made_with_it(x):
    d = list_and_its_methods()
    d["put"](1, x * x)
    d["first"](d["at"](1) * x)
    return d["items"][0] * d["get"](1) + d["total"]()


def dict_and_its_methods():
    table = {"a": 1.0}
    return {"table": table, "put": table.update, "more": functools.partial(table.update, c=3.0), "pop": table.pop}


@case(0.7)
def methods_of_a_dict_made_with_it(x):
    d = dict_and_its_methods()
    d["put"](a=x * x)
    d["more"](b=x)
    return d["table"]["a"] * d["table"]["c"] * d["pop"]("b") + len(d["table"])


def array_and_its_methods():
    a = np.zeros(3)
    return {"array": a, "put": functools.partial(np.ndarray.__setitem__, a), "fill": a[1:].fill, "sum": a.sum}


@case(0.7)
def methods_of_an_array_made_with_it(x):
    d = array_and_its_methods()
    d["put"](0, x * x)
    d["fill"](x)
    return d["sum"]() * d["array"][2]


class Log:
    def __init__(self):
        self.items = [0.5]
        self.put = functools.partial(list.append, self.items)
        self.pop = self.items.pop

    def last(self):
        return self.items[-1]


@case(0.7)
def object_that_keeps_methods_of_its_list(x):
    log = Log()
    held = {"log": log, "last": log.last}
    log.put(x * x)
    held["log"].items[0] = held["last"]() * x
    return held["log"].items[0] * log.pop()
