"""Code -> IR -> code: a zoo with every construct, and the shape of what comes back."""

from __future__ import annotations

import dis
import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.roundtrip import CASES
from tests.lowering.roundtrip import roundtrip


class Point:
    kind = "point"

    def __init__(self, x: Any, y: Any):
        self.x, self.y = x, y

    def scaled(self, k: Any = 2, *, shift: Any = 0) -> tuple[Any, Any]:
        return self.x * k + shift, self.y * k + shift


class Sub(Point):
    def scaled(self, k: Any = 2, *, shift: Any = 0) -> tuple[Any, Any]:
        x, y = super().scaled(k, shift=shift)
        return y, x


Sub.scaled = roundtrip(Sub.scaled)  # type: ignore[method-assign]


def operators(a: int, b: int) -> Any:
    c = a
    c += b
    c *= 3
    c //= 2
    c ^= 5
    return a + b, a - b, a * b, a / b, a // b, a % b, a**b, a << b, a >> b, a & b, a | b, ~a, -a, +a, not a, c


def comparisons(a: Any, b: Any) -> Any:
    return a < b, a <= b, a == b, a != b, a is b, a is not b, a in (b, 1), a not in (b, 1), 0 < a < b, (a and b) or None


def arguments(a: Any, /, b: Any = 2, *rest: Any, c: Any = 4, **more: Any) -> Any:
    return a, b, rest, c, sorted(more.items())


def calls(x: Any) -> Any:
    args, kwargs = (1, 2), {"c": 3}
    p = Sub(x, 1)
    return (
        arguments(x),
        arguments(x, c=5, z=1),
        arguments(*args, x, **kwargs),
        arguments(x, *args, d=6, **kwargs),
        p.scaled(3, shift=1),
        p.scaled(*args[:1], **{"shift": 2}),
        "a-b".upper().split("-"),
        max(x, 3),
        print.__name__,
    )


def slices(xs: list[int]) -> Any:
    ys = list(xs)
    ys[1:3] = [7, 8, 9]
    del ys[0], ys[-1:]
    ys[0] = ys[-1]
    return ys, ys[1:], ys[:2], ys[::2], ys[1:-1:2], xs[len(ys) - 1]


def displays(a: Any, b: Any) -> Any:
    return [a, b, *range(3)], (a, *[b]), {a, b, *[1]}, {"a": a, **{"b": b}}, [], (), {}, {1: 2, a: b}


def formatting(x: Any) -> str:
    return f"{x} {x!r:>8} {x!s} {x!a} {x:>{5 + 1}} {{}} {x=}"


def comprehensions(xs: list[int]) -> Any:
    k = 2
    return (
        [x * k for x in xs if x % 2],
        {x: k for x in xs},
        {x % 3 for x in xs},
        list((x, y) for x in xs for y in range(x)),
        [[i * j for i in xs] for j in xs],
    )


def closures(n: int) -> Any:
    def counter(step: int) -> Callable[[], int]:
        total = n

        def advance() -> int:
            nonlocal total
            total += step
            return total

        return advance

    c, made = counter(2), []
    for i in range(3):
        made.append(lambda j=i: (i, j, n))  # noqa: B023
    return c(), c(), [f() for f in made]


def unpacking(xs: Any) -> Any:
    (a, (b, c)), *rest = xs
    first, *middle, last = rest
    a, b = b, a
    return a, b, c, first, middle, last


def loops(n: int) -> Any:
    seen = []
    for i in range(n):
        for j in range(n):
            if j == i:
                continue
            if j > i + 1:
                break
            seen.append((i, j))
        else:
            seen.append(i)
        k = n
        while k:
            k -= 1
            if k == i:
                break
        else:
            seen.append("all")
    return seen


def early(xs: Any) -> Any:
    for x in xs:
        for y in x:
            if y == 3:
                return x, y
    return None


def handlers(f: Any) -> Any:
    log: list[Any] = []
    x = 0
    for i in range(4):
        try:
            x = i
            x = f(i) + x
        except (KeyError, IndexError) as e:
            log.append(("lookup", repr(e), x))
            continue
        except ValueError:
            log.append(("value", x))
            try:
                raise TypeError("inner") from None
            except TypeError as e:
                log.append((str(e), e.__context__ is not None, e.__cause__))
        else:
            log.append(("fine", x))
        finally:
            log.append(i)
    return log


def reraised(f: Any) -> Any:
    try:
        try:
            f()
        except Exception as e:
            raise RuntimeError("outer") from e
    except RuntimeError as e:
        return str(e), repr(e.__cause__), e.__cause__ is e.__context__


class Manager:
    def __init__(self, log: list[Any], swallow: bool):
        self.log, self.swallow = log, swallow

    def __enter__(self) -> Manager:
        self.log.append("in")
        return self

    def __exit__(self, kind: Any, e: Any, tb: Any) -> bool:
        self.log.append((kind, tb is not None))
        return self.swallow


def managers(swallow: bool) -> Any:
    log: list[Any] = []
    with Manager(log, True) as m, Manager(log, swallow):
        log.append(m.swallow)
        raise KeyError("k")
    return log


def generators(n: int) -> Any:
    def inner(k: int) -> Any:
        got = []
        try:
            for i in range(k):
                got.append((yield i))
        except KeyError:
            got.append("thrown")
            yield "caught"
        finally:
            got.append("done")
        return got

    def outer(k: int) -> Any:
        result = yield from inner(k)
        yield result

    g = outer(n)
    seen = [next(g), g.send("a"), g.throw(KeyError("x")), next(g)]
    h = outer(n)
    next(h)
    h.close()
    return seen, list(outer(n)), list(h)


def matching(x: Any) -> Any:
    match x:
        case 0 | 1:
            return "small"
        case [a, *rest]:
            return a, rest
        case {"k": v, **others}:
            return v, others
        case Point(x=px, y=0):
            return px
        case str() as s if s:
            return s
        case _:
            return None


def unbound(flag: bool) -> Any:
    if flag:
        value = 1
    return value


def deleted(x: Any) -> Any:
    y = x
    del y
    return y  # noqa: F821


def imports() -> Any:
    import os.path as path
    from math import pi, sin

    return path.basename("a/b"), pi, sin(0.0)


def signs() -> Any:
    return math.copysign(1.0, -0.0), math.copysign(1.0, 0.0), 1, True, 1.0


def conditional(a: Any, b: Any) -> Any:
    x = a if b else -a
    assert x, "zero"
    return x if x is not None else b


ZOO: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (operators, [(7, 3), (1, 0)]),
    (comparisons, [(1, 2), (2.0, 2.0), (0, ()), ("a", "b")]),
    (arguments, [(1,), (1, 3, 5)]),
    (calls, [(0,), ("s",)]),
    (slices, [([1, 2, 3, 4, 5],)]),
    (displays, [(1, 2)]),
    (formatting, [("x",)]),
    (comprehensions, [([1, 2, 3],)]),
    (closures, [(5,)]),
    (unpacking, [(((1, (2, 3)), 4, 5, 6, 7),), ((1, 2),), (((1, 2),),)]),
    (loops, [(4,), (0,)]),
    (early, [([[1, 2], [3]],), ([],)]),
    (handlers, [({0: 1, 2: 5}.__getitem__,), (int,), (lambda i: int("x" * i or 3),), (lambda i: i // 0,)]),
    (reraised, [(lambda: [][1],), (lambda: None,)]),
    (managers, [(True,), (False,)]),
    (generators, [(3,)]),
    (matching, [(0,), ([1, 2],), ({"k": 1, "j": 2},), (Point(3, 0),), ("s",), ("",), (Point(3, 1),)]),
    (unbound, [(True,), (False,)]),
    (deleted, [(1,)]),
    (imports, [()]),
    (signs, [()]),
    (conditional, [(1, 0), (0, 1), (2, 3)]),
]


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    try:
        return repr(f(*args))
    except Exception as e:
        lines, tb = [], e.__traceback__
        while tb is not None:
            lines.append((tb.tb_lineno, tb.tb_frame.f_code.co_name))
            tb = tb.tb_next
        return f"{e!r} {lines[1:]}"


@pytest.mark.parametrize(("f", "inputs"), ZOO, ids=[f.__name__ for f, _ in ZOO])
def test_zoo(f: Callable[..., Any], inputs: list[tuple[Any, ...]]) -> None:
    g = roundtrip(f)
    assert inspect.signature(g) == inspect.signature(f)
    for args in inputs:
        assert outcome(g, args) == outcome(f, args)


@pytest.mark.parametrize(("f", "x"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_benchmarked_functions(f: Callable[..., Any], x: Any) -> None:
    assert roundtrip(f)(x) == f(x)


def test_documentation_and_name_survive() -> None:
    def f() -> None:
        """Says what it does."""

    g = roundtrip(f)
    assert (g.__doc__, g.__qualname__, g.__code__.co_filename) == (f.__doc__, f.__qualname__, __file__)


def test_loop_keeps_its_iterator_on_the_stack() -> None:
    def f(xs: Any) -> Any:
        s = 0.0
        for x in xs:
            s += x
        return s

    code = roundtrip(f).__code__
    names = [i.opname for i in dis.get_instructions(code)]
    loop = names[names.index("FOR_ITER") : names.index("JUMP_BACKWARD") + 1]
    assert not [n for n in loop if n in ("SWAP", "POP_TOP", "COPY")]
