"""Registering rules: which one wins, what is refused, how they are found."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py import Array, CoDual, RealScalar, RuleError, grad, registry, rrule, value_and_pullback, zero_derivative
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.types import Top
from mooncake_py.registry import find_rule, find_rule_for_values, rules_of
from mooncake_py.rule import Rule

DOCS = Path(__file__).parents[1] / "docs" / "rules.md"


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    """What a test registers is taken back."""
    registry.load_packs()
    before = {k: list(v) for k, v in registry._rules.items()}
    yield
    registry._rules.clear()
    registry._rules.update(before)
    registry.generation += 1


def opaque(x: Any, y: Any = 1.0) -> Any:
    return math.nextafter(float(x), 9.0) + y


def test_packs_come_in_through_the_entry_point() -> None:
    found = {e.value for e in importlib.metadata.entry_points(group="mooncake_py.rules")}
    assert "mooncake_rules" in found
    assert rules_of(math.sin) and rules_of(np.sin)


class Broken:
    name = "aaa"

    def load(self) -> None:
        raise ImportError("this pack")


def test_a_pack_that_cannot_be_imported_is_missed_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Broken()])
    monkeypatch.setattr(registry, "_loaded", False)
    for _ in range(2):
        with pytest.raises(ImportError, match="this pack"):
            registry.load_packs()

    (tmp_path / "library_of_a_user.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_loaded", True)
    monkeypatch.setattr(registry, "_waiting", {})
    registry.when_imported("library_of_a_user", "rules_that_are_not_there")
    registry.load_packs()
    importlib.import_module("library_of_a_user")
    for _ in range(2):
        with pytest.raises(ImportError, match="rules_that_are_not_there"):
            registry.load_packs()


def test_the_last_rule_wins() -> None:
    for factor in (2.0, 3.0):

        @rrule(opaque)
        def rule(x, y, factor=factor):
            def pullback(dy):
                return factor * dy, None

            return opaque(x, y), pullback

    assert grad(lambda x: opaque(x, 1.0))(1.0) == 3.0


def test_rules_for_types() -> None:
    @rrule(opaque, types=(RealScalar,))
    def scalar(x):
        return opaque(x), lambda dy: 2.0 * dy

    @rrule(opaque, types=(Array,))
    def array(x):
        def pullback(dy):
            return np.full(x.shape, 5.0 * dy)

        return x.sum(), pullback

    assert grad(lambda x: opaque(x))(1.0) == 2.0
    assert grad(lambda x: opaque(x))(np.ones(2)).tolist() == [5.0, 5.0]
    types = [abstract(1.0, True)], [abstract(np.ones(2), True)], [abstract("a", True)]
    assert [getattr(find_rule(opaque, t), "fn", None) for t in types] == [scalar, array, None]
    assert find_rule(opaque, [Top()]) is False, "not known until it runs"
    assert find_rule_for_values(opaque, (1.0,)).fn is scalar  # type: ignore[union-attr]
    assert find_rule_for_values(opaque, ("a",)) is None


class _Large(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, list) and len(x) > 2


class Large(metaclass=_Large):
    pass


def test_a_class_may_ask_the_value_each_time() -> None:
    @rrule(opaque, types=(list,))
    def any_list(x):
        return 0.0, lambda dy: None

    @rrule(opaque, types=(Large,))
    def large(x):
        return 0.0, lambda dy: None

    found = [find_rule_for_values(opaque, (x,)) for x in ([1.0], [1.0, 2.0, 3.0], [2.0], 1.0)]
    assert [getattr(r, "fn", None) for r in found] == [any_list, large, any_list, None]


def test_a_rule_only_takes_calls_it_knows_the_arguments_of() -> None:
    def rule(x, y=1.0, *, z=0.0):
        return x, lambda dy: dy

    r = Rule(opaque, rule)
    assert r.accepts(1, ()) and r.accepts(2, ()) and r.accepts(1, ("y", "z"))
    assert not r.accepts(0, ()) and not r.accepts(3, ()) and not r.accepts(2, ("y",)) and not r.accepts(1, ("w",))


def test_cotangents_of_keywords_follow_those_of_all_parameters() -> None:
    def product(x, power=1, *more, **options):
        return x**power * options["factor"]

    @rrule(product)
    def with_any(x, power=1, *more, **options):
        def pullback(dy):
            y = x**power
            return dy * power * y / x * options["factor"], None, *[None] * len(more), dy * y

        return product(x, power, **options), pullback

    assert grad(lambda x, k: product(x, factor=k), argnums=(0, 1))(3.0, 2.0) == (2.0, 3.0)
    assert grad(lambda x, k: product(x, 2, factor=k), argnums=(0, 1))(3.0, 2.0) == (12.0, 9.0)
    assert grad(lambda x, k: product(x, 2, 5, factor=k), argnums=(0, 1))(3.0, 2.0) == (12.0, 9.0)


def test_zero_derivative() -> None:
    zero_derivative(opaque)
    assert grad(lambda x: opaque(x) * x)(1.0) == opaque(1.0)
    assert not Rule(np.sign, None).accepts(2, ()) and not Rule(np.sign, None).accepts(1, ("out",))


def test_codual_rule_sees_what_is_shared() -> None:
    def scale(a, k):
        a *= k

    @rrule(scale, mutates=(0,))
    def rule(a: CoDual, k):
        old = a.primal.copy()
        scale(a.primal, k)

        def pullback(dy):
            a.primal[...] = old
            d = a.fdata.dense()
            dk = np.sum(d * old)
            d *= k
            return None, dk

        return None, pullback

    def f(x, k):
        y = x * 1.0
        scale(y, k)
        return np.sum(y)

    dx, dk = value_and_pullback(f, np.arange(3.0), 2.0)[1](1.0)
    assert dx.tolist() == [2.0, 2.0, 2.0] and dk == 3.0


@pytest.mark.parametrize("register", [lambda x: rrule(x)(lambda a: (a, lambda d: d)), zero_derivative])
def test_a_target_that_is_no_function(register: Any) -> None:
    with pytest.raises(RuleError, match="3 is not callable"):
        register(3)


def test_a_rule_that_is_no_function() -> None:
    with pytest.raises(RuleError, match="must be a Python function, not builtin_function_or_method"):
        rrule(opaque)(math.sin)


def test_every_registration_is_a_new_generation() -> None:
    before = registry.generation
    zero_derivative(opaque)
    assert registry.generation > before


def test_the_blocks_of_the_documentation_run() -> None:
    """docs/rules.md: all its Python blocks, one after the other."""
    scope: dict[str, Any] = {"__name__": "docs"}
    blocks = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), flags=re.M | re.S)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), scope)
