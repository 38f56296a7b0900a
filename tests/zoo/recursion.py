"""Functions that call themselves or each other: inner ones by what they capture, cached ones, ones that fail."""

import functools
import math
from functools import lru_cache

import numpy as np

from tests.zoo.registry import case

V = np.array([0.4, 1.3, -0.6])


@case(1.1)
def inner_recursion(x):
    k = 2.0

    def f(n):
        return x if n == 0 else f(n - 1) * x + k

    return f(4) + f(2) * x


@case(1.1)
def inner_recursion_with_an_active_argument(x):
    def f(n, y, scale=0.5):
        if n == 0:
            return y
        return f(n - 1, y * x, scale) * scale + y

    return f(3, x) + f(2, 1.0, scale=2.0)


@case(1.1)
def inner_recursion_of_two(x):
    offset = x * x

    def even(n):
        return x if n == 0 else odd(n - 1) * 1.01 + offset

    def odd(n):
        return offset if n == 0 else even(n - 1) * x

    return even(4) * odd(3)


@case(1.1)
def inner_recursion_when_what_it_captured_changes(x):
    k = x

    def f(n):
        return k if n == 0 else f(n - 1) * k + 1.0

    a = f(2)
    k = k * x
    b = f(3)
    for i in range(3):
        k = k + i * x
        b += f(i)
    return a * b


@case(1.1)
def inner_recursion_that_rebinds(x):
    total = 0.0

    def f(n):
        nonlocal total
        total += x * n
        return total if n == 0 else f(n - 1) * x

    y = f(3)
    return y * total


@case(1.1)
def inner_recursion_beside_one_that_rebinds(x):
    k = x

    def bump():
        nonlocal k
        k = k * x

    def f(n):
        bump()
        return k if n == 0 else f(n - 1) + k

    return f(3) * k


@case(1.1)
def inner_recursion_rebound(x):
    def f(n):
        return x if n == 0 else f(n - 1) * x

    g = f

    def f(n):  # noqa: F811
        return 2.0 * x if n == 0 else 3.0 * x

    return g(2) + f(1)


@case(1.1)
def inner_recursion_made_in_a_loop(x):
    total = 0.0
    for i in range(3):

        def f(n):
            return x + i if n == 0 else f(n - 1) * x

        total += f(i)
    return total


@case(1.1)
def inner_recursion_given_away(x):
    def f(n):
        return x if n == 0 else f(n - 1) * x

    return sum(map(f, range(4))) + f(2) * max(range(3), key=f)


@case(1.1)
def inner_recursion_that_fails(x):
    def f(n):
        if n == 0:
            raise ValueError(x * 2.0)
        return f(n - 1) * x

    def g(n):
        try:
            return f(n) if n % 2 else g(n - 1) * x
        except ValueError as e:
            return e.args[0] * n

    try:
        y = f(3)
    except ValueError as e:
        y = e.args[0]
    return y * g(2)


@case(1.1)
def inner_recursion_before_its_variables(x):
    def f(n):
        return late if n == 0 else f(n - 1) * x

    try:
        y = f(2)
    except NameError:
        y = 1.0
    late = x * x
    return y + f(2)


@case(1.1)
def inner_recursion_that_does_not_ask(x):
    def f(n, deep):
        if deep:
            return f(n, False) * missing
        return x if n == 0 else f(n - 1, False) * x

    y = f(3, False)
    missing = 2.0
    return y + f(1, True)


@case(V)
def inner_recursion_over_an_array(v):
    def total(i):
        return 0.0 if i == len(v) else v[i] * v[i] + total(i + 1) * v[0]

    def halves(a):
        if len(a) == 1:
            return a[0] * v[1]
        m = len(a) // 2
        return halves(a[:m]) * halves(a[m:])

    return total(0) + halves(v)


@case(1.1)
def inner_recursion_that_fills_a_list(x):
    found = []

    def walk(n, value):
        if n == 0:
            found.append(value)
            return 1
        return walk(n - 1, value * x) + walk(n - 1, value + x)

    count = walk(2, x)
    return sum(found) * count


@case(1.1)
def inner_recursion_with_a_memo(x):
    memo = {}

    def fib(n):
        if n < 2:
            return x
        if n not in memo:
            memo[n] = fib(n - 1) * 0.5 + fib(n - 2) * x
        return memo[n]

    return fib(7) + memo[3] * len(memo)


@case(1.1)
def inner_recursion_in_an_inner_function(x):
    def outer(k):
        def f(n):
            return k if n == 0 else f(n - 1) * x + k

        return f(2) + (outer(k - 1.0) if k > 2.0 else x)

    return outer(3.0) * outer(x)


@case(1.1)
def inner_recursion_in_a_comprehension(x):
    def tree(n):
        return x if n == 0 else sum([tree(n - 1) * (i + 1) for i in range(2)]) * x

    return tree(3)


@case(1.1)
def inner_recursion_of_tuples(x):
    def both(n):
        if n == 0:
            return x, 1.0
        a, b = both(n - 1)
        return a * x + b, a

    a, b = both(4)
    return a * b


@case(1.1)
def inner_recursion_counts_its_calls(x):
    def f(n):
        f.calls += 1
        return x if n == 0 else f(n - 1) * x

    f.calls = 0
    return f(3) * f.calls


@case(1.1)
def inner_cached(x):
    @lru_cache(maxsize=None)
    def f(n):
        return x if n < 2 else f(n - 1) * 0.5 + f(n - 2) * x

    @functools.cache
    def g(n, m):
        return f(n) if m == 0 else g(n, m - 1) + g(n - 1, 0) * x

    return f(6) * g(3, 2)


@case(1.1)
def inner_recursion_decorated(x):
    def through(f):
        def asked(n):
            return f(n) * x

        return asked

    @through
    def g(n):
        return x if n == 0 else g(n - 1) + n

    return g(5)


@case(1.1)
def inner_recursion_with_a_memo_around_it(x):
    calls = []

    def kept(f):
        found = {}

        @functools.wraps(f)
        def asked(n):
            if n not in found:
                calls.append(n)
                found[n] = f(n)
            return found[n]

        return asked

    @kept
    def fib(n):
        return x * (n + 1) if n < 2 else fib(n - 1) + math.sin(fib(n - 2))

    return fib(9) * len(calls) * len(fib.__name__)


@case(1.1)
def inner_recursion_decorated_twice(x):
    def scaled(f):
        def asked(n):
            return f(n) * 0.9

        return asked

    def shifted(f):
        def asked(n):
            return f(n) + x

        return asked

    @scaled
    @shifted
    def g(n):
        return x if n == 0 else g(n - 1) * x

    return g(4)


@case(1.1)
def inner_recursion_whose_decorator_goes_on(x):
    def replaced(f):
        def asked(n):
            return f(n) * 2.0

        first = f
        f = lambda n: first(n) + x  # noqa: E731
        return asked

    @replaced
    def g(n):
        return x if n == 0 else g(n - 1) * x

    return g(3)


@case(1.1)
def inner_recursion_decorated_and_given_away(x):
    def through(f):
        def asked(n):
            return f(n) * x

        return asked

    @through
    def g(n):
        return x if n == 0 else g(n - 1) + n

    return sum(map(g, range(4)))


@lru_cache(maxsize=None)
def count(n):
    return 1.0 if n < 2 else count(n - 1) + count(n - 2)


@lru_cache(maxsize=32)
def pair(n):
    return n, [float(n), 2.0]


@case(1.1)
def cached_constants(x):
    total = 0.0
    for i in range(6):
        n, values = pair(i % 3)
        total += x * count(i) + math.sin(x * n) * values[1]
    return total


@case(0.7)
def inner_cached_without_limit(x):
    calls = []

    @functools.cache
    def fib(n):
        return x * (n + 1) if n < 2 else fib(n - 1) + math.sin(fib(n - 2))

    @lru_cache(maxsize=None)
    def paths(i, j):
        calls.append(1)
        return x if i == 0 or j == 0 else paths(i - 1, j) * 0.9 + paths(i, j - 1) * x

    return fib(9) * paths(3, 2) + fib(4) * len(calls)


@case(0.7)
def inner_cached_of_two_that_call_each_other(x):
    @functools.cache
    def even(n):
        return x if n == 0 else odd(n - 1) * x + even(n // 2)

    @lru_cache(None)
    def odd(n):
        return 1.0 if n == 0 else even(n - 1) + x

    return even(7) * odd(5)


@case(0.7)
def inner_cached_when_what_it_captured_changes(x):
    k = x

    @functools.cache
    def scaled(n):
        return k if n == 0 else scaled(n - 1) * k

    a = scaled(2)
    k = k * 3.0
    return a + scaled(2) * k + scaled(3)


@case(0.7)
def inner_cached_given_away(x):
    @functools.cache
    def power(n):
        return x if n == 0 else power(n - 1) * x

    return sum(map(power, [1, 2, 1])) * power(2)


@case(0.7, 0.7)
def inner_cached_of_active_values(x, y):
    @functools.cache
    def halved(v, n):
        return v if n == 0 else halved(v * 0.5, n - 1) * x

    return halved(x, 2) + halved(2.0 * y, 1)


@case(0.7)
def inner_cached_that_fails_the_first_time(x):
    tries = []

    @functools.cache
    def f(n):
        if n == 0:
            tries.append(x)
            if len(tries) == 1:
                raise ValueError
            return x * len(tries)
        return f(n - 1) * x

    try:
        a = f(2)
    except ValueError:
        a = x
    return a + f(2) * f(1)


@case(0.7)
def inner_cached_made_in_a_loop(x):
    total = 0.0
    for k in range(3):

        @functools.cache
        def f(n):
            return x * k if n == 0 else f(n - 1) * x + k

        total += f(3) + f(2)
    return total


@case(0.3)
def memory_of_a_recursion_that_a_generator_asks(x):
    known = {}

    def legendre(n):
        if n in known:
            return known[n]
        if n < 2:
            r = x if n else 1.0
        else:
            r = ((2 * n - 1) * x * legendre(n - 1) - (n - 1) * legendre(n - 2)) / n
        known[n] = r
        return r

    return max(legendre(i) for i in range(6)) * x + sum(legendre(i) for i in range(4)) + len(known)


@case(0.3)
def cached_recursion_that_a_generator_asks(x):
    @functools.lru_cache(maxsize=None)
    def chebyshev(n):
        if n < 2:
            return x if n else 1.0
        return 2.0 * x * chebyshev(n - 1) - chebyshev(n - 2)

    return sum(chebyshev(i) * 0.5**i for i in range(7))


@case(0.7, 9)
def inner_recursion_of_two_that_rebind(x, n):
    total, i = 0.0, 0

    def odd():
        nonlocal i, total
        i += 1
        total += x * i
        if i < n:
            even()

    def even():
        nonlocal i, total
        i += 2
        total = total * x + x**i
        if i < n:
            odd()

    odd()
    return total * i


@case(0.7, 3)
def inner_recursion_rebinds_what_may_be_unbound(x, n):
    def go(k):
        nonlocal s
        try:
            s = s * x
        except NameError:
            s = x
        if k > 0:
            go(k - 1)
        return s

    if n < 0:
        s = 1.0
    return go(n) * s


@case(0.7, 3)
def inner_recursion_deletes_what_it_rebinds(x, n):
    s = x

    def go(k):
        nonlocal s
        s = s * x
        if k > 0:
            go(k - 1)
        else:
            t = s
            del s
            s = t + 1.0

    go(n)
    return s


@case(0.7, 3)
def inner_recursion_rebinds_values_of_other_types(x, n):
    t = x

    def go(k):
        nonlocal t
        if k == 2:
            t = [t, x]
        elif k == 1:
            t = t[0] * t[1]
        if k > 0:
            go(k - 1)

    go(n)
    return t


@case(0.7, 3)
def inner_recursion_that_rebinds_is_given_away(x, n):
    best, kept = x, []

    def go(k):
        nonlocal best
        if k > 0:
            best = best * x + k
            kept.append(lambda: best * k)
            go(k - 1)
        return best

    a = list(map(go, [1, n]))
    b = go(2)
    best = b * x
    return sum(a) + b + go(1) + best + sum(f() for f in kept)


@case(0.7, 3)
def inner_recursion_rebinds_and_raises(x, n):
    s = 0.0

    def go(k):
        nonlocal s
        s += x**k
        if k == 0:
            raise ValueError(s * x)
        go(k - 1)

    try:
        go(n)
    except ValueError as e:
        return e.args[0] * s
    return s


@case(np.array([0.5, -1.2, 2.0]), 4)
def inner_recursion_rebinds_arrays(v, n):
    a, seen = v * 1.0, []

    def go(k):
        nonlocal a
        a[k % 3] += 0.5
        a = a * v + 1.0
        seen.append(a)
        if k:
            go(k - 1)

    go(n)
    return a.sum() + (seen[0] ** 2).sum()


@case(1.5, 0.7)
def a_parser_of_inner_functions(x, y):
    tokens, at, values = "2 * x + y * ( x - 3 ) / x".split(), 0, {"x": x, "y": y}

    def peek():
        return tokens[at] if at < len(tokens) else None

    def take():
        nonlocal at
        at += 1
        return tokens[at - 1]

    def atom():
        t = take()
        if t == "(":
            v = total()
            take()
            return v
        return values[t] if t in values else float(t)

    def product():
        v = atom()
        while peek() in ("*", "/"):
            v = v * atom() if take() == "*" else v / atom()
        return v

    def total():
        v = product()
        while peek() in ("+", "-"):
            v = v + product() if take() == "+" else v - product()
        return v

    return total()
