"""Exceptions that the user's code raises where C code has called it: numbers in them would lose their derivatives."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import pytest
from scipy.integrate import quad

from mooncake_py import UnsupportedError, grad, value_and_grad


class Bad:
    def __init__(self, v: Any):
        self.v = v

    def _raise(self, *_: Any) -> Any:
        raise ValueError(self.v)

    __hash__ = __float__ = __index__ = __str__ = _raise  # type: ignore[assignment]


class Worse(Bad):
    pass


ASKED: list[Callable[[Any], Any]] = [
    lambda o: {o: 1},
    lambda o: {1: o}[o],
    range,
    print,
    lambda o: [1] * o,
    lambda o: round(1.5, o),
]


@pytest.mark.parametrize("ask", ASKED, ids=range(len(ASKED)))
def test_what_methods_raise_that_c_code_calls_is_not_looked_at(ask: Any) -> None:
    def f(x: float) -> Any:
        try:
            ask([Bad(x * x), Worse(x)][int(x < 0)])
        except ValueError as e:
            return e.args[0] * x

    with pytest.raises(UnsupportedError, match=r"Bad\._raise raised it in test_raised.py") as e:
        grad(f)(0.7)
    assert e.value.filename == __file__ and e.value.line == f.__code__.co_firstlineno + 4


def test_what_numbers_of_a_sum_raise_is_looked_at() -> None:
    def f(x: float) -> Any:
        try:
            return math.fsum([x, Bad(x * x)])
        except ValueError as e:
            return e.args[0] * x

    assert grad(f)(0.7) == pytest.approx(3 * 0.7**2)


def integrand(x: float, v: Any) -> float:
    def f(t: float) -> float:
        if t > 0.1:
            raise ValueError(v(x))
        return t

    return quad(f, 0, 1)[0]


def test_what_an_integrand_raises_is_looked_at_only_for_text() -> None:
    def f(x: float, v: Any) -> float:
        try:
            return integrand(x, v)
        except ValueError as e:
            return x * x * len(str(e))

    def g(x: float, v: Any) -> Any:
        try:
            return integrand(x, v)
        except ValueError as e:
            return x * x * (e.args[0] if len(e.args) < 2 else 1.0)

    for v in (lambda x: "too large", lambda x: 12.5, lambda x: str(x)):
        assert grad(f)(0.5, v) == pytest.approx(len(str(v(0.5))))
    assert value_and_grad(g)(0.5, lambda x: 3) == (0.75, 3.0)
    for v in (lambda x: x * x, lambda x: [x], lambda x: {"v": (x,)}, lambda x: Bad(x)):
        with pytest.raises(UnsupportedError, match="not differentiated"):
            grad(g)(0.5, v)


def test_numbers_that_stand_in_the_code_have_no_derivative() -> None:
    class Ends:
        def __float__(self) -> float:
            raise ValueError(2.5)

    def f(x: float) -> Any:
        try:
            math.sqrt(Ends())
        except ValueError as e:
            return e.args[0] * x

    assert value_and_grad(f)(2.0) == (5.0, 2.5)


class Looks:
    def __enter__(self) -> Looks:
        return self

    def __exit__(self, kind: Any, exc: Any, tb: Any) -> bool:
        self.found = exc.args[0]
        return True


def test_however_it_is_looked_at() -> None:
    def entered(x: float) -> Any:
        looks = Looks()
        with looks:
            {Bad(x * x)}
        return looks.found

    def being_handled(x: float) -> Any:
        try:
            {Bad(x * x)}
        except ValueError:
            return sys.exc_info()[1].args[0]  # type: ignore[union-attr]

    def stored(x: float) -> Any:
        found = None
        try:
            {Bad(x * x)}
        except ValueError as e:
            found = e
        return operator.attrgetter("args")(found)[0]

    def in_a_group(x: float) -> Any:
        def f(t: float) -> float:
            raise ExceptionGroup("several", [ValueError(x * x)])

        try:
            quad(f, 0, 1)
        except* ValueError as e:
            return_ = e.exceptions[0].args[0]
        return return_

    def passed_on(x: float) -> Any:
        try:
            try:
                {Bad(x * x)}
            finally:
                x *= 2.0
        except (KeyError, ValueError) as e:
            return max(e.args)

    for f in (entered, being_handled, stored, in_a_group, passed_on):
        with pytest.raises(UnsupportedError, match="not differentiated"):
            grad(f)(0.7)


def test_what_is_not_looked_at_is_handled() -> None:
    def f(x: float) -> float:
        with contextlib.suppress(ValueError):
            {Bad(x * x)}
        try:
            {Bad(x * x)}
        except ValueError:
            x *= 2.0
        try:
            {Bad(x * x)}
        except ValueError as e:
            x *= len(f"{type(e).__name__}") * (e.__cause__ is None)
        return x

    assert value_and_grad(f)(0.5) == (10.0, 20.0)


def test_values_of_what_ends_map_and_its_like() -> None:
    def asked(x: float, by: Any) -> Any:
        def f(*v: Any) -> Any:
            raise StopIteration(x * v[0])

        try:
            next(by(f))
        except StopIteration as e:
            return e.value

    def listed(x: float, by: Any) -> Any:
        def f(*v: Any) -> Any:
            if v[0] > 1.0:
                raise StopIteration
            return v[0] * x

        return sum(list(by(f))) * x

    for by in (
        lambda f: map(f, [1.0, 2.0]),
        lambda f: map(f, [1.0, 2.0], [1, 2]),
        lambda f: filter(f, [1.0, 2.0]),
        lambda f: itertools.starmap(f, [(1.0, 2), (2.0, 2)]),
    ):
        with pytest.raises(UnsupportedError, match="a StopIteration with a value"):
            grad(asked)(0.7, by)
    for by in (
        lambda f: map(f, [1.0, 2.0, 0.5]),
        lambda f: itertools.starmap(f, [(1.0, 2), (2.0, 2)]),
    ):
        assert value_and_grad(listed)(0.7, by) == (pytest.approx(0.49), pytest.approx(1.4))


def test_a_function_that_only_ends_starmap() -> None:
    def f(x: float) -> float:
        def ends(a: int, b: int) -> int:
            raise StopIteration

        try:
            return len(list(itertools.starmap(ends, [(1, 2)]))) + x
        except StopIteration:
            return -100.0

    assert value_and_grad(f)(0.7) == (0.7, 1.0)
