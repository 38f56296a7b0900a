"""Inner functions that call themselves by functions they make: generator expressions, lambdas, inner functions."""

import functools
import math

import numpy as np

from tests.zoo.registry import case

TREE = [0.4, [1.3, [0.7, -0.6]], [[0.2], 0.9]]


@case(TREE)
def recursion_by_a_generator_expression(tree):
    def total(t, depth):
        return sum(total(u, depth + 1) for u in t) if isinstance(t, list) else t * t * depth

    return total(tree, 0)


@case([[0.3, 0.4, 0.2], [0.4, 1.1, 0.7], [0.2, 0.7, -0.5]])
def determinant_by_a_generator_expression(m):
    def det(m):
        if len(m) == 1:
            return m[0][0]
        return sum((-1) ** j * m[0][j] * det([r[:j] + r[j + 1 :] for r in m[1:]]) for j in range(len(m)))

    return det(m)


@case([0.7, 1.2, -0.4, 0.9], 0.8)
def recursion_by_a_generator_expression_with_what_it_captured(xs, k):
    def best(i, y):
        if i == len(xs):
            return y
        return max(best(j, y * k + xs[i] * j) for j in range(i + 1, len(xs) + 1))

    return best(0, 0.3)


@case(0.7)
def two_that_call_each_other_by_generator_expressions(x):
    scale = x * x

    def even(n):
        return x if n < 1 else sum(odd(k) for k in range(n)) * scale

    def odd(n):
        return scale if n < 1 else sum(even(k) * x for k in range(n))

    return even(4) + odd(3)


@case(0.7, 3)
def functions_that_a_recursion_makes_outlive_what_they_captured(x, n):
    """Each is run when `k` is another, and calls the recursion then."""
    k = x

    def made(n):
        return [lambda: k * n * (len(made(n - 1)) if n else 1.0), *(made(n - 1) if n else [])]

    fs = made(n)
    k = x * x
    return sum(f() for f in fs)


@case(0.7, 3)
def recursion_by_functions_of_functions(x, n):
    def f(n, y):
        def twice(z):
            def once(w):
                return f(n - 1, w) + z

            return once(z * x) * x

        return twice(y) if n else y * y

    return f(n, x)


@case(0.7, 3)
def recursion_by_one_that_rebinds(x, n):
    total = 0.0

    def f(n):
        def add(y):
            nonlocal total
            total += y * total + x
            return sum(f(k) for k in range(n)) if n else y

        return add(x * n) + total

    return f(n) * total


@case([0.7, 0.2, 1.1])
def recursion_that_is_handed_on_as_a_value(xs):
    def f(n):
        return xs[n] if n == 0 else sum(map(f, range(n))) * xs[n] + sum(f(k) for k in range(n))

    return f(2)


@case([0.7, 0.2, 1.1])
def recursion_that_is_compared(xs):
    """What is handed on must be the function itself for those who do more with it than to call it."""

    def f(n, g):
        same = all(h is f for h in [g])
        return xs[n] * (2.0 if same else 3.0) + sum(f(k, f) for k in range(n))

    return f(2, f)


@case(0.7)
def cached_recursion_by_a_generator_expression(x):
    @functools.cache
    def ways(n):
        return x if n == 0 else sum(ways(k) * x for k in range(n)) + math.sin(x)

    return ways(6)


@case(0.7, 3)
def recursion_by_a_key(x, n):
    def weight(n):
        if n == 0:
            return x
        order = sorted(range(n), key=lambda k: -weight(k) * (k + 1))
        return weight(order[0]) * x + order[-1] * x

    return weight(n)


@case(0.7, 4)
def recursion_by_a_generator_function(x, n):
    def parts(n):
        def each():
            for k in range(n):
                yield total(k) * x

        return each()

    def total(n):
        return x + sum(parts(n))

    return total(n)


@case(0.7, 3)
def recursion_by_keywords_and_defaults(x, n):
    def f(n, y=2.0):
        if n == 0:
            return y * x
        return sum(f(k) + f(k, y=y * x) + f(n=k, y=x) for k in range(n))

    return f(n)


@case(np.array([0.4, 1.3, -0.6, 0.8]))
def halves_of_an_array_by_a_comprehension(v):
    def total(v, depth):
        if len(v) == 1:
            return v[0] * depth
        return sum([total(part, depth + 1) ** 2 for part in (v[: len(v) // 2], v[len(v) // 2 :])])

    return total(v, 1.0)


@case(0.7, 2)
def recursion_that_fails_in_a_generator_expression(x, n):
    def f(n):
        if n < 0:
            raise ValueError(x * n)
        return sum(f(n - k) * x for k in (1, 2)) if n != 1 else x

    try:
        return f(n)
    except ValueError as e:
        return e.args[0] * x


@case([0.3, 0.9, 0.2, 0.7, 0.5, 0.1, 0.8])
def greatest_of_least_of_a_recursion(xs):
    def value(i, depth, mine):
        if depth == 3:
            return xs[i % len(xs)] * 1.5
        if mine:
            return max(value(2 * i + j, depth + 1, False) for j in (1, 2))
        return min([value(2 * i + j, depth + 1, True) for j in (1, 2)])

    return value(0, 0, True)


@case([1.0, 2.5, 3.2])
def least_of_a_recursion_that_may_come_to_nothing(costs):
    def least(n):
        if n == 0:
            return 0.0
        return min((least(n - k) + c * n for k, c in zip((2, 3, 4), costs) if k <= n), default=float("inf"))

    return least(9)
