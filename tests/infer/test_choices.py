"""What is done with values of one of several types is known for each, and not decided when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.derive import sites
from tests.zoo import (
    filled_later,
    named_tuples,
    ordering,
    recursive_results,
    taken_one_by_one,
    told_later,
    tuple_lengths,
)


@pytest.mark.parametrize(
    "f",
    [
        filled_later.methods_of_items_filled_later,
        filled_later.methods_of_a_grid_filled_later,
        filled_later.objects_that_an_object_keeps,
    ],
)
def test_places_filled_later(f: Callable[..., Any]) -> None:
    assert sites(f, 0.7, 3) == 0


def test_lists_of_objects_put_together() -> None:
    assert sites(filled_later.lists_of_objects_put_together, 0.7) == 0


def test_a_matrix_of_rows_that_are_copied_and_swapped() -> None:
    assert sites(filled_later.triangles_of_a_matrix_of_rows, 0.3, 3) == 0


@pytest.mark.parametrize(
    ("f", "n"),
    [(recursive_results.tree_of_two_classes_that_numbers_give, 3), (recursive_results.sorted_by_inserting, 6)],
)
def test_trees_that_recursive_calls_make(f: Callable[..., Any], n: int) -> None:
    assert sites(f, 0.7, n) == 0


@pytest.mark.parametrize(
    "f",
    [told_later.states_that_give_the_next_one, told_later.a_function_by_the_last_result, told_later.a_state_machine],
)
def test_what_the_last_call_gave_is_called(f: Callable[..., Any]) -> None:
    assert sites(f, [0.3, 0.9, -0.4, 1.1]) == 0


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (told_later.objects_that_get_what_all_of_them_give, ([0.4, 0.6], [-0.5, 1.2], np.arange(5.0))),
        (told_later.a_controller_that_knows_the_last_error, (3.0, 0.2, 1.1)),
        (told_later.sums_of_arrays_in_steps, ([0.4, -0.3], 1.7)),
        (told_later.layers_that_take_turns, (1.3, 2.1, [0.1, 0.2, 0.3])),
        (
            told_later.sums_of_generators_that_lead_to_the_next_step,
            ([0.1, -0.3], {"a": 1.0, "b": 0.8, "c": 0.2}),
        ),
        (named_tuples.made_of_starred_generators, ([0.5, 0.4], 0.2)),
    ],
)
def test_what_calls_give_that_are_not_seen_yet(f: Callable[..., Any], args: Any) -> None:
    assert sites(f, *args) == 0


def test_rows_that_are_put_in_order() -> None:
    assert sites(ordering.constant_rows_in_order, 0.7) == 0
    assert sites(ordering.rows_in_order_of_an_item, [1.3, 0.2, 0.9], 0.7) == 0


@pytest.mark.parametrize(
    "f",
    [
        tuple_lengths.rows_of_several_lengths,
        tuple_lengths.told_by_their_lengths,
        tuple_lengths.commands_told_by_patterns,
        tuple_lengths.expressions_as_tuples,
        tuple_lengths.too_short_and_caught,
        tuple_lengths.tuple_or_number,
        tuple_lengths.objects_that_keep_their_operands_in_a_loop,
    ],
)
def test_tuples_of_several_lengths(f: Callable[..., Any]) -> None:
    assert sites(f, 0.7) == 0


def test_iterators_are_neither_dicts_nor_sequences() -> None:
    """So what takes them is the Python that stands for it, and that is taken in."""
    assert sites(taken_one_by_one.default_dict_updated_while_it_is_read, 0.7) == 0
    assert sites(taken_one_by_one.numbers_of_a_generator, 0.7) == 0


def test_what_an_object_stands_for_that_is_nothing_else() -> None:
    def f(xs):
        missing, found, total = object(), {}, 0.0
        for i, x in enumerate(xs):
            v = found.get(i % 2, missing)
            if v is missing:
                found[i % 2] = v = x
            total += v * x
        return total

    assert sites(f, [0.4, 0.7, 1.2]) == 0
