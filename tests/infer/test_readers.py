"""Functions that call themselves with objects, and only read them, have a rule of their own, found beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import inspect
from tests.functions import by_name
from tests.zoo import linked as zoo


def writes(n, x):
    if n is None:
        return 0.0
    n.v = n.v * x
    return n.v + writes(n.left, x)


def collects(n, out):
    if n is None:
        return 0.0
    out.append(n.v)
    return n.v + collects(n.left, out)


def fills(n, a):
    if n is None:
        return 0.0
    a[0] += n.v
    return n.v + fills(n.left, a)


def fills_its_own(n, a):
    if n is None:
        return 0.0
    b = [n.v]
    b.append(a[0])
    return sum(b) + fills_its_own(n.left, a * n.v)


def kinds(fn, *args) -> set[str]:
    """How fn comes to be called, by itself above all."""
    calls = inspect(fn, *args).stages["inferred"].calls.values()
    return {c.kind for c in calls if c.kind in ("derived", "dynamic", "plain") and c.target is fn}


def test_what_only_reads_has_a_rule() -> None:
    t = zoo.some_tree()
    assert kinds(zoo.rows, t, np.ones(2)) == {"derived"}
    assert kinds(fills_its_own, t, np.ones(2)) == {"derived"}


@pytest.mark.parametrize(("fn", "more"), [(writes, 1.3), (collects, [0.1]), (fills, np.ones(2))])
def test_what_changes_something_is_decided_when_it_runs(fn, more) -> None:
    assert kinds(fn, zoo.some_tree(), more) == {"dynamic"}


@pytest.mark.parametrize(
    "name", ("expression_of_several_classes", "tree_by_a_method", "tree_and_an_array_by_a_function")
)
def test_nothing_in_it_is_decided_when_it_runs(name: str) -> None:
    case = by_name(f"linked.{name}")
    seen = inspect(case.fn, *case.fresh_args())
    assert not any(c.kind == "dynamic" for c in seen.stages["inferred"].calls.values())
