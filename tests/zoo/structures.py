"""Tuples in and out, unpacking, results of every shape."""

import math
from collections import deque

import numpy as np

from tests.zoo.registry import case

V = np.array([0.5, -1.2, 2.0])


@case(1.2, -0.7)
def returns_tuple(x, y):
    return x * y, x + y


@case(1.2, -0.7)
def returns_nested_tuple(x, y):
    return (x * y, (x, y * y)), 3, math.exp(x)


@case(1.2)
def returns_same_argument_twice(x):
    return x, x


@case(V)
def returns_same_array_twice(v):
    w = v * v
    return w, w


@case(V)
def returns_argument_array(v):
    return v


@case(V, 1.5)
def returns_mixed_tuple(v, t):
    return v * t, t, v.sum(), "label", None, 4


@case(V)
def returns_constant_array(v):
    return np.ones(3), v * 2


@case((1.2, -0.7))
def tuple_argument(p):
    return p[0] * p[1] + p[-1]


@case((1.2, (3.0, V), 2))
def nested_tuple_argument(p):
    a, (b, v), n = p
    return a * b * v[n] + v.sum()


@case((1.2, 0.7, 3.0, -2.0))
def starred_unpacking(p):
    first, *middle, last = p
    return first * middle[0] + middle[1] * last + len(middle)


@case((1.2, 0.7, 3.0, -2.0))
def tuple_slices(p):
    head, tail = p[:2], p[2:]
    joined = tail + head
    return joined[0] * joined[3] + sum(head) * p[::-1][0]


@case((1.2, 0.7))
def tuple_multiplied(p):
    q = p * 2
    return q[0] * q[3] + len(q) * q[2]


@case((1.2, 0.7))
def tuple_passed_through(p):
    return p


@case((1.2, 0.7), 3.0)
def tuple_extended(p, x):
    q = (*p, x, x * x)
    return q[0] * q[3] + q[2]


@case(1.2)
def tuple_indexed_by_variable(x):
    values = (x, x * x, 2.0, math.sin(x))
    total = 0.0
    for i in range(4):
        total += values[i] * values[(i + 1) % 4]
    return total


@case(1.2, 0.3)
def tuple_carried_through_loop(x, v):
    state = (x, v)
    for _ in range(10):
        position, velocity = state
        state = (position + 0.1 * velocity, velocity - 0.1 * math.sin(position))
    return state


@case(1.2, 0.3)
def dual_numbers_by_hand(x, y):
    def mul(p, q):
        return p[0] * q[0], p[0] * q[1] + p[1] * q[0]

    z = mul((x, 1.0), mul((y, x), (x, y)))
    return z[1]


@case(V)
def unpack_array(v):
    a, b, c = v
    return a * b + b * c


@case(V)
def array_elements_as_floats(v):
    return float(v[0]) * math.sin(v[1]) + math.exp(float(v[2]))


@case(V, np.array([1, 2, 0]), True, "name", 3)
def inactive_companions(v, index, flag, name, n):
    if flag and name == "name":
        return v[index] * n
    return v


@case(1.2)
def float_and_array_result(x):
    return x * np.ones((2, 2)), np.float64(x) * 2


@case(V)
def scalar_of_array(v):
    return v[1]


@case(0.3 + 0.4j, 2.0)
def returns_complex_and_float(z, x):
    return z * x, x * z.real


@case((0.5, 1.5, 2.5), (1.0, 2.0, 3.0))
def tuples_compared(p, q):
    return p[0] * q[2] if p < q else p[1]


@case(V, np.array([[1.0, 2.0], [3.0, 4.0]]))
def returns_arrays(v, m):
    return v * m[0, 1], m.T @ m, (v[:2] + m[1],)


@case(1.2)
def tuple_of_functions(x):
    fs = (math.sin, math.cos, lambda t: t * x)
    return fs[0](x) * fs[2](x) + sum([f(x) for f in fs])


@case(1.3)
def tuple_grown_in_place(x):
    t = (x,)
    t += (x * x, 2.0)
    t *= 2
    return sum(t) * t[4]


@case([0.3, 0.7, 1.1])
def linked_tuples(xs):
    head = None
    for i in range(60):
        head = (xs[i % 3] * 0.5, head)
    total = 0.0
    while head is not None:
        total = total * 0.9 + math.sin(head[0])
        head = head[1]
    return total


@case(0.7, np.array([0.2, 0.4]))
def linked_tuples_of_arrays(x, a):
    head = ()
    for i in range(4):
        head = (a * (x + i), head)
    total = 0.0
    while head:
        row, head = head
        total = total * x + (row * row).sum()
    return total


@case(np.array([[2.0, 0.5], [0.5, 1.0]]))
def decompositions_by_item_and_by_name(a):
    w, v = np.linalg.eigh(a)
    q = np.linalg.qr(a)
    r = q[1]
    return w[0] * v[0, 0] ** 2 + q.Q[0, 1] * r[0, 1] + np.linalg.slogdet(a)[1] * np.linalg.eigh(a)[0][1]


@case(np.array([0.5, -1.2]), 1.3)
def sequences_repeated_by_numbers_on_either_side(v, x):
    n = len(v)
    a, b = n * [x, v[0]], 2 * (x * x, v)
    c = np.int64(2) * [x * v[1]] + [v[0]] * np.int64(n)
    c *= np.int64(n)
    a[0] = x * a[2]
    return sum(a) + b[3] * b[0] + sum(i * t for i, t in enumerate(c)) + sum(n * deque([x])) + sum(deque([x, 2.0]) * n)


@case(np.array([0.5, -1.2, 2.0]))
def mixed_pieces_in_an_index_trick(v):
    named = {"a": v[0], "b": v[1]}
    known = len({"a", "c"}.intersection(named)) + {"c"}.isdisjoint(named)
    return np.r_[1.0, v[1:]] * known + named["a"]


@case(1.5, "spread")
@case(1.5, "lone", name="numbers_or_arrays_in_a_tuple")
def arrays_or_numbers_in_a_tuple(x, kind):
    if kind == "spread":
        y = x * np.array([1.0, 2.0])
        return y, y * y, 1
    return x * 3.0, x, 2


@case(1.5, "spread", 0)
@case(1.5, "lone", 0, name="numbers_or_arrays_in_nested_tuples")
def arrays_or_numbers_in_nested_tuples(x, kind, n):
    if kind == "spread":
        y = x + np.array([1j, 2.0])
        pair = (y, np.imag(y)), x * 2.0
    else:
        pair = (x - 1j, n), np.exp(x)
    (a, b), c = pair
    return a * c, b
