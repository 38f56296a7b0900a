"""Small programs, a construct or two each, with the arguments to run them on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

PROGRAMS: list[tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = []


def on(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((f, calls))
        return f

    return register


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def norm(self):
        return self.x + self.y


class Point3(Point):
    def __init__(self, x, y, z):
        super().__init__(x, y)
        self.z = z

    def norm(self):
        return super().norm() + super(Point3, self).norm() + self.z

    def first(self):
        def inner():
            return self.x

        return super().x if hasattr(super(), "x") else inner()


class Log:
    def __init__(self, swallow):
        self.swallow, self.seen = swallow, []

    def __enter__(self):
        self.seen.append("in")
        return self

    def __exit__(self, kind, exc, traceback):
        self.seen.append(kind and kind.__name__)
        return self.swallow


@on((0,), (1,), (5,))
def counted(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        if i > 3:
            break
        total += i
    else:
        total = -1
    while total < 10:
        total = total * 2 + 3
        if total == 5:
            break
    return total


@on((0,), (2,))
def maybe_unbound(n):
    for i in range(n):
        last = i
    return last


@on((True, True), (True, False), (False, True))
def bound_in_part(a, b):
    if a:
        x = 1
    if b:
        y = x
    else:
        y = 2
    return x, y


@on((1,), (0,))
def deleted(a):
    x = a
    if a:
        del x
    return x


@on((1, 2), (2, 1), (0, 0), ("a", ""))
def conditions(a, b):
    p = a and b
    q = a or b
    r = not a
    s = a if a != b else None
    t = a is None or b is not None
    u = a in (b, 1), a not in (b, 2)
    return p, q, r, s, t, u, not a == b, (a and b) or not (a or b)


@on((1.5,), (0,))
def chained(x):
    return 0 < x < 2, 0 <= x == x, (-x, +x, ~int(x))


@on(([1, 2, 3, 4],), ([],))
def slices(xs):
    ys = xs[1:]
    ys[:1] = [7, 8]
    ys[0:0] = xs[::2]
    del ys[-1:]
    return ys, xs[-2:], xs[:2]


@on(([1, 2, 3],), ([1],))
def unpacking(xs):
    a, *b = xs
    first, *mid, last = xs
    (c, d), e = (a, b), last
    a, c = c, a
    return a, b, c, d, e, first, mid


@on(("a", 3), ("bb", 7))
def strings(s, n):
    return f"{s!r:>{n}}|{n:03d}|{s}|{s!s}{n!a}|{n=}"


@on((3,), (0,))
def comprehensions(n):
    x = 10
    a = [x * i for i in range(n) if i != 1]
    b = {i: j for i in range(n) for j in range(i)}
    c = {i % 2 for i in range(n)}
    d = sum(i + x for i in range(n))
    e = [[i * j for j in range(i)] for i in range(n)]
    return a, b, c, d, e, x


@on(
    (3,),
)
def comprehension_shadows(n):
    i = "kept"
    fs = [lambda k=k: (k, i) for k in range(n)]
    gs = [lambda: i for i in range(n)]
    return [f() for f in fs], [g() for g in gs], i


@on((1, 2), (3, 4))
def closures(a, b):
    total = a

    def add(k, *more, scale=2, **named):
        nonlocal total
        total += k * scale + b
        return total, more, named

    return add(1), add(2, 3, 4), add(1, scale=5, z=1), total


@on((1,))
def calls(x):
    def f(*args, **kwargs):
        return args, kwargs

    rest, named = [1, 2], {"a": 1}
    return f(x, k=2), f(*rest, x), f(x, **named), f(*rest, *rest, b=1, **named), [*rest, x], {**named, "c": 3}


@on((1,))
def keyword_clash(x):
    named = {"a": 1}
    return dict(**named, **named, x=x)


@on((1, 2))
def objects(a, b):
    p = Point(a, b)
    p.x += 2
    q = Point3(p.x, p.y, 3)
    del p.y
    return p.x, q.norm(), q.first(), hasattr(p, "y")


@on((0,), (1,), (2,), (3,))
def tries(k):
    log = []
    try:
        log.append("body")
        if k == 1:
            raise ValueError("one")
        if k == 2:
            log[5]
        if k == 3:
            return log
    except ValueError as e:
        log.append(str(e))
    except (IndexError, KeyError):
        log.append("index")
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


@on((0,), (1,), (2,))
def nested_tries(k):
    log = []
    x = 0
    try:
        x = 1
        try:
            x = 2
            if k:
                raise KeyError(k)
            x = 3
        except KeyError as e:
            x = 4
            if k == 2:
                raise RuntimeError("again") from e
            x = 5
        finally:
            log.append(x)
        x = 6
    except RuntimeError as e:
        log.append((str(e), type(e.__cause__).__name__, x))
    return log, x


@on((0,), (1,))
def reraised(k):
    try:
        try:
            return 1 // k
        except ZeroDivisionError:
            raise
    except ArithmeticError as e:
        return type(e).__name__


@on((3,))
def try_in_loop(n):
    got = []
    for i in range(n):
        try:
            if i == 1:
                continue
            got.append(10 // (i - 2))
        except ZeroDivisionError:
            got.append("zero")
            break
        finally:
            got.append(i)
    return got


@on(([1, 0],), ([1, 2],))
def comprehension_in_try(xs):
    i = "kept"
    try:
        ys = [1 // i for i in xs]
    except ZeroDivisionError:
        ys = "failed"
    return ys, i


@on((0,), (1,))
def unbound_after_handler(k):
    try:
        y = 1 // k
    except ZeroDivisionError as e:
        e.add_note("seen")
    return y


@on((0, False), (1, False), (1, True))
def withs(k, swallow):
    log = Log(swallow)
    with log as a, Log(False) as b:
        if k:
            raise ValueError("inside")
        return a.seen, b.seen
    return log.seen


@on((1,))
def not_a_manager(x):
    with x:
        return 1


@on((1,), (0,))
def asserts(x):
    assert x, "x is zero"
    return x


@on((1,), ((1, 2),), ([1, 2, 3],), ({"k": 1, "z": 2},), (Point(1, 2),), ("text",), (None,))
def matches(v):
    match v:
        case 0 | 1:
            return "small"
        case (a, b):
            return a, b
        case [a, *rest] if len(rest) > 1:
            return a, rest
        case {"k": k, **others}:
            return k, others
        case Point(x=a, y=b):
            return "point", a, b
        case str() as s:
            return s
        case _:
            return "other"


@on((3,))
def imports(x):
    import math
    from operator import add, mul as times

    return math.floor(x), add(x, 1), times(x, 2)


@on((3,))
def generators(n):
    def numbers(n):
        got = yield "start"
        for i in range(n):
            yield i
        return got

    def outer(n):
        result = yield from numbers(n)
        yield "result", result

    g = numbers(1)
    sent = [next(g), g.send("hello")]
    return list(outer(n)), sent, list(x * 2 for x in outer(2))


@on((1,))
def generator_cleanup(x):
    log = []

    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    for v in g():
        log.append(v)
    return log


@contextlib.contextmanager
def _managed(log: list[Any]) -> Iterator[int]:
    log.append("enter")
    yield 1
    log.append("exit")


@on(())
def library_manager():
    log: list[Any] = []
    with _managed(log) as one:
        log.append(one)
    return log


@on((5,))
def walrus_and_ternaries(n):
    if (half := n // 2) > 1:
        n = half
    return [y for x in range(n + 3) if (y := x * 2) > 2], n, y


@on((2,))
def while_true(n):
    while True:
        n += 1
        if n > 5:
            return n


@on((4,))
def parameter_rebound_in_loop(n):
    while n:
        n -= 1
    return n


@on(([3, 1, 2],))
def augmented(xs):
    ys = xs
    ys += [4]
    ys[0] += 10
    ys[1] @= Scale(3)
    return xs, ys


class Scale:
    def __init__(self, k):
        self.k = k

    def __rmatmul__(self, other):
        return other * self.k
