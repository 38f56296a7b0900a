"""Classes that functions make are known when these are derived, as long as nobody changes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mooncake_py import value_and_grad
from mooncake_py.structure import MANY
from tests.derive import all_sites, rule_of
from tests.zoo import made_once as zoo


def test_nothing_is_decided_when_they_run() -> None:
    xs = [0.4, 1.3, 0.9]
    assert all_sites(zoo.local_accumulator, xs) == []
    assert all_sites(zoo.local_data_class_with_operators, xs) == []
    assert all_sites(zoo.local_linked_list, 0.7) == []


kept: list[Any] = []


def keeps_one(x: Any) -> Any:
    class P:
        weight = 2.0

        def __init__(self, v: Any):
            self.v = v

        def scaled(self) -> Any:
            return self.v * self.weight

    kept.append(P(1.0))
    return P(x).scaled() * x


def test_a_class_that_somebody_changed_is_not_used_again() -> None:
    assert value_and_grad(keeps_one)(1.5) == (4.5, 6.0)
    type(kept[-1]).weight = 5.0
    for _ in range(3):
        assert value_and_grad(keeps_one)(1.5) == (4.5, 6.0)
    assert kept[-1].weight == 2.0


def counts(x: Any) -> Any:
    class P:
        made = 0

    def another() -> Any:
        for name in ("made",):
            setattr(P, name, P.made + 1)
        return P()

    return x * another().made * x * another().made


def test_each_run_begins_with_a_class_as_it_was_made() -> None:
    for _ in range(3):
        assert value_and_grad(counts)(1.5) == (4.5, 6.0)


class Scaled:
    weight = 2.0


def inherits(x: Any) -> Any:
    class P(Scaled):
        @property
        def w(self) -> Any:
            return self.weight

    return P().w * x


def test_what_it_inherits_may_change(monkeypatch: Any) -> None:
    assert value_and_grad(inherits)(1.5) == (3.0, 2.0)
    monkeypatch.setattr(Scaled, "weight", 3.0)
    assert value_and_grad(inherits)(1.5) == (4.5, 3.0)

    class Other:
        weight = 7.0

    monkeypatch.setitem(globals(), "Scaled", Other)
    assert value_and_grad(inherits)(1.5) == (10.5, 7.0)


def made_by_several(x: Any) -> Any:
    @dataclass
    class P:
        a: Any

    return P(x).a * 2.0


def test_they_are_known_however_many_rules_there_are() -> None:
    for n in range(MANY + 2):
        x = [1.5] * (n + 1)
        assert value_and_grad(lambda xs: made_by_several(xs[0]))(x)[0] == 3.0
    values: list[Any] = [1.5, 2, True, 1.5j]
    assert [rule_of(made_by_several, v) for v in values]
    assert all_sites(made_by_several, 1.5) == []
