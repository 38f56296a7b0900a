"""What sees to a StopIteration is left out where none can come: what it stands around is then known before the run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.derive import all_sites
from tests.zoo import iteration, layers, own_containers, raised, recursion


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (recursion.memory_of_a_recursion_that_a_generator_asks, (0.3,)),
        (recursion.cached_recursion_that_a_generator_asks, (0.3,)),
        (iteration.filtered, (recursion.V,)),
    ],
)
def test_nothing_is_decided_late(fn: Any, args: Any) -> None:
    assert all_sites(fn, *args) == []


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (raised.every_clause_of_a_try_in_a_loop, (0.7,)),
        (own_containers.polynomials_made_of_generators, ([0.3, 0.2, 0.5], 0.7)),
        (layers.layers_in_a_tuple, (layers.W, layers.B, layers.V, layers.X)),
        (layers.layers_in_a_list, (layers.W, layers.B, layers.V, layers.X)),
        (layers.layers_in_a_list_of_the_function, (layers.W, layers.B, layers.V, layers.X)),
        (layers.layers_whose_weights_are_written_to, (layers.W, layers.B)),
    ],
)
def test_nor_are_exceptions_objects_and_layers(fn: Any, args: Any) -> None:
    assert all_sites(fn, *args) == []
