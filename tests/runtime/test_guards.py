"""A rule never outlives what it relies on: globals, attributes, cells and the table of rules."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, build_rrule, grad, registry, rrule, value_and_pullback

SOURCE = """
import math

K = 2.0
A = [1.0]

def helper(x):
    return x * x

def uses(x):
    return helper(x) * K

def middle(x):
    return helper(x) * 2.0

def outer(x):
    s = 0.0
    for _ in range(3):
        s += middle(x)
    return s

def item(x):
    return x * A[0]

def magnitude(x):
    return abs(x) * 1.0

def fact(x, n):
    return 1.0 if n == 0 else x * fact(x, n - 1)

def scaled(x, *, by):
    return helper(x) * by * K

def nested(x, n):
    return x if n == 0 else scaled(nested(x, n - 1), by=2)

def above(x):
    return nested(x, 2) + x

def told(x, n):
    v = x if n > 3 else None
    y = helper(x)
    return y if v is None else v * y
"""


@pytest.fixture
def notebook() -> types.ModuleType:
    """A module whose names the test may rebind, as the cells of a notebook do."""
    module = types.ModuleType("notebook")
    exec(compile(SOURCE, "notebook", "exec"), module.__dict__)
    return module


def rebind(module: types.ModuleType, source: str) -> None:
    exec(compile(source, "notebook", "exec"), module.__dict__)


def test_global_function_redefined(notebook: types.ModuleType) -> None:
    g = grad(notebook.uses)
    assert g(3.0) == 12.0
    rebind(notebook, "def helper(x):\n    return x * x * x\n")
    assert g(3.0) == 54.0
    assert grad(notebook.uses)(3.0) == 54.0


def test_function_redefined_beside_a_value_that_may_be_none(notebook: types.ModuleType) -> None:
    g = grad(notebook.told)
    assert g(3.0, 5) == 27.0
    rebind(notebook, "def helper(x):\n    return x * x * x\n")
    assert g(3.0, 5) == 108.0
    assert grad(notebook.told)(3.0, 5) == 108.0


def test_function_two_calls_away_redefined(notebook: types.ModuleType) -> None:
    g = grad(notebook.outer)
    assert g(1.0) == 12.0
    rebind(notebook, "def helper(x):\n    return x * x * x\n")
    assert g(1.0) == 18.0


def test_global_constant_rebound(notebook: types.ModuleType) -> None:
    g, rule = grad(notebook.uses), build_rrule(notebook.uses, 3.0)
    assert g(3.0) == 12.0
    for k in (5.0, 3, np.float64(0.5), -0.0):
        notebook.K = k
        assert g(3.0) == 6.0 * k
        assert rule(3.0)[1](1.0) == (6.0 * k,)
    del notebook.K
    with pytest.raises(NameError):
        g(3.0)


def test_content_of_a_global_changed(notebook: types.ModuleType) -> None:
    g = grad(notebook.item)
    assert g(1.0) == 1.0
    notebook.A[0] = 4.0
    assert g(1.0) == 4.0


def test_builtin_shadowed_and_back(notebook: types.ModuleType) -> None:
    g = grad(notebook.magnitude)
    assert g(-2.0) == -1.0
    rebind(notebook, "def abs(x):\n    return 7.0 * x\n")
    assert g(-2.0) == 7.0
    del notebook.abs
    assert g(-2.0) == -1.0


def test_recursive_name_rebound(notebook: types.ModuleType) -> None:
    fact = notebook.fact
    g = grad(fact)
    assert g(2.0, 5) == 80.0
    rebind(notebook, "def fact(x, n):\n    return x * 7.0\n")
    assert g(2.0, 5) == 28.0


def test_what_a_recursive_function_calls_rebound(notebook: types.ModuleType) -> None:
    g = grad(notebook.above)
    assert g(0.5) == pytest.approx(256.0 * 0.5**3 + 1.0)
    rebind(notebook, "def helper(x): return 3.0 * x")
    assert g(0.5) == pytest.approx(12.0**2 + 1.0)
    rebind(notebook, "K = 1")
    assert g(0.5) == pytest.approx(6.0**2 + 1.0)


def test_attribute_of_a_module_rebound() -> None:
    module = types.ModuleType("module")
    module.f, module.k = math.sin, 2.0

    def uses(x):
        return module.f(x) * module.k

    g = grad(uses)
    assert g(0.5) == 2.0 * math.cos(0.5)
    module.k = 3.0
    assert g(0.5) == 3.0 * math.cos(0.5)
    module.f = math.exp
    assert g(0.5) == 3.0 * math.exp(0.5)


def test_attribute_of_a_class_rebound() -> None:
    class Config:
        k = 2.0

    g = grad(lambda x: x * Config.k)
    assert g(1.0) == 2.0
    Config.k = 3.0
    assert g(1.0) == 3.0


def test_cell_rebound() -> None:
    def make() -> tuple[Callable[[float], float], Callable[[Any], None]]:
        k: Any = 2.0
        h: Callable[[float], float] = math.sin

        def f(x):
            return h(x) * k

        def rebind(new_h, new_k):
            nonlocal h, k
            h, k = new_h, new_k

        return f, rebind

    f, rebind = make()
    g = grad(f)
    assert g(0.5) == 2.0 * math.cos(0.5)
    rebind(math.exp, 3)
    assert g(0.5) == 3.0 * math.exp(0.5)
    rebind(lambda x: x * x, np.float64(3.0))
    assert g(0.5) == 3.0


@pytest.fixture
def rules() -> Iterator[None]:
    """What the test registers is taken back."""
    registry.load_packs()
    before = {k: list(v) for k, v in registry._rules.items()}
    yield
    registry._rules.clear()
    registry._rules.update(before)
    registry.generation += 1


def test_rule_registered_after_a_derivation(rules: None) -> None:
    def f(x):
        return math.nextafter(x, 9.0) * 2.0

    g = grad(f)
    with pytest.raises(MissingRule):
        g(1.0)
    for factor in (10.0, 20.0):

        @rrule(math.nextafter)
        def rule(x, y, factor=factor):
            def pullback(dy):
                return factor * dy, 0.0

            return math.nextafter(x, y), pullback

        assert g(1.0) == 2.0 * factor
        assert value_and_pullback(f, 1.0)[1](1.0) == (2.0 * factor,)


def test_rule_registered_for_a_python_function(rules: None) -> None:
    def clip(x):
        return min(x, 1.0)

    g = grad(lambda x: clip(x) * 3.0)
    assert g(2.0) == 0.0

    @rrule(clip)
    def straight_through(x):
        def pullback(dy):
            return dy

        return min(x, 1.0), pullback

    assert g(2.0) == 3.0
