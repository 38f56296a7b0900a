"""Dicts put together out of others are displays, and calls with them calls by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.derive import all_sites
from tests.zoo import keywords as zoo

KNOWN = (
    zoo.defaults_set_by_a_wrapper,
    zoo.set_where_they_are_not_given,
    zoo.a_decorator_that_has_options_of_its_own,
    zoo.one_option_another_than_in_a_dict,
    zoo.copies_with_more_options,
    zoo.written_to_once_it_is_copied,
    zoo.the_same_names_whichever_way_is_taken,
    zoo.taken_out_before,
    zoo.order_of_what_is_put_together,
    zoo.a_configuration_over_its_defaults,
    zoo.no_options_for_a_function_made_here,
)


@pytest.mark.parametrize("f", KNOWN, ids=lambda f: f.__name__)
def test_nothing_is_decided_when_it_runs(f: Any) -> None:
    assert not all_sites(f, 1.3)
