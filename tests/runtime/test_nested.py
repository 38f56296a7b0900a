"""Gradients that a function takes inside, of what it may have written to."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mooncake_py import grad, value_and_grad, value_and_pullback
from mooncake_py.errors import UnsupportedError

model, held, named = SimpleNamespace(w=1.0), [1.0], 1.0
of_attribute = grad(lambda y: model.w * y * y)
of_item = grad(lambda y: y * held[0])
of_global = value_and_grad(lambda y: y * named)
of_method = grad(lambda y: sum(model.w * v for v in [y]))


def attribute(x):
    model.w = x
    return of_attribute(2.0) + x


def item(x):
    held[0] = x
    return of_item(2.0) + x


def global_name(x):
    global named
    named = x
    return sum(of_global(2.0)) + x


def by_pullback(x):
    model.w = x
    return value_and_pullback(lambda y: y * model.w, 2.0)[0] + x


def in_generator(x):
    model.w = x
    return of_method(2.0) + x


@pytest.mark.parametrize("f", [attribute, item, global_name, by_pullback, in_generator])
def test_what_the_function_wrote_is_not_read_without_its_derivative(f) -> None:
    global named
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="a gradient, in a function, of what reads outside"):
            grad(f)(3.0)
        model.w, held[0], named = 1.0, 1.0, 1.0
        of_attribute(1.0), of_item(1.0), of_global(1.0)  # which are warm then


def test_so_it_is_in_a_closure_and_for_an_argument_that_is_outside_as_well() -> None:
    w = 1.0
    d = {"w": 1.0}
    inner, of_dict = grad(lambda y: y * w), grad(lambda y: y * d["w"])

    def f(x):
        nonlocal w
        w = x
        return inner(2.0) + x

    def g(x, d):
        d["w"] = x
        return of_dict(2.0) + x

    for call in (lambda: grad(f)(3.0), lambda: grad(g)(3.0, d)):
        with pytest.raises(UnsupportedError, match="a gradient, in a function, of what reads outside"):
            call()


calls: list[int] = []
table = np.array([1.0, 2.0])
of_table = grad(lambda y: np.sum(table) * y)


def test_what_is_not_written_to_is_read() -> None:
    def f(x):
        calls.append(1)
        return of_table(2.0) * x

    assert grad(f)(3.0) == grad(f)(4.0) == 3.0
