"""Functions that call themselves with objects have a rule of their own, found beforehand, where it is known what they
change."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad, inspect, value_and_pullback
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.results import result_of
from mooncake_py.infer.types import BOT, Lst
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
def test_what_changes_its_arguments_has_a_rule(fn, more) -> None:
    assert kinds(fn, zoo.some_tree(), more) == {"derived"}


def gathers(n):
    out = [n]
    if n.left is not None:
        out.extend(gathers(n.left))
    return out


def gathers_in(n, out):
    out.append(n)
    held = [out]
    held[0].append(n.left)
    return n


def test_a_list_made_in_a_function_is_none_of_its_arguments_though_it_holds_them() -> None:
    t = abstract(zoo.some_tree(), True)
    found = result_of(gathers, (t,), simplified=True)
    assert found is not None and found.changes == {} and found.gives == {0}
    found = result_of(gathers_in, (t, Lst(BOT, True)), simplified=True)
    assert found is not None and set(found.changes or ()) == {0, 1}


SEEN: list[float] = []


def notes(n, x):
    if n is None:
        return 0.0
    SEEN.append(1.0)
    return n.v * x + notes(n.left, x)


def test_what_changes_what_is_outside_is_decided_when_it_runs() -> None:
    assert kinds(notes, zoo.some_tree(), 1.3) == {"dynamic"}


def collected(n, x):
    out = [x]
    if n > 0:
        out.append(collected(n - 1, x * 0.5))
    out[0] = out[0] * x
    s = sum(v * v for v in out)
    out[0] = 0.0
    return s


def test_a_pullback_that_puts_back_what_a_callee_changed_is_that_of_another_run_the_second_time() -> None:
    _, pullback = value_and_pullback(lambda x: collected(3, x), 0.7)
    assert not pullback.reusable
    for _ in range(2):
        assert pullback(1.0) == grad(lambda x: collected(3, x), argnums=(0,))(0.7)


@pytest.mark.parametrize(
    "name",
    (
        *("linked.expression_of_several_classes", "linked.tree_by_a_method", "linked.tree_and_an_array_by_a_function"),
        "generators.recursive_generator_over_tuples",
        *("recursion.inner_cached_without_limit", "recursion.inner_cached_of_two_that_call_each_other"),
        *("recursive_results.memo_in_a_dict", "recursive_results.memo_as_an_argument"),
        *("recursive_results.merge_sorted", "recursive_results.quick_sorted", "recursive_results.array_returned"),
        *("recursive_results.sorted_where_it_stands", "recursive_results.leaves_of_a_nested_structure"),
        *("recursive_results.sum_over_a_nested_structure", "ordering.sorted_without_and_with_a_key"),
        *("grown.a_constructor_makes_more", "grown.of_a_constructor_changed_afterwards", "grown.searched"),
        *("grown.a_chain_by_its_constructor", "grown.a_shared_array_is_changed_by_constructors"),
        *("grown.lists_of_children_changed", "grown.children_that_know_their_parent", "grown.children_by_name"),
        *("grown.grown_onto_an_argument", "grown.constructors_that_call_each_other"),
        *("grown.several_trees", "grown.a_tree_that_subdivides_and_is_changed", "grown.objects_compared"),
        *("grown.a_tree_whose_methods_call_each_other", "grown.walked_by_a_generator"),
        *("recursive_generators.walked_and_numbered", "recursive_generators.tree_of_tuples_walked"),
        *("recursive_generators.nested_lists_flattened", "recursive_generators.inner_generator_by_itself"),
        *("recursive_generators.inner_generator_in_a_loop", "recursive_generators.inner_generators_of_two"),
        "other_modules.objects_and_generators_of_another_module",
    ),
)
def test_nothing_in_it_is_decided_when_it_runs(name: str) -> None:
    case = by_name(name)
    seen = inspect(case.fn, *case.fresh_args())
    assert not any(c.kind == "dynamic" for c in seen.stages["inferred"].calls.values())
