"""Generator expressions are made right before what uses them: what is between does not hide that."""

from __future__ import annotations

from typing import Any

import pytest

from mooncake_py.frontend import normalise
from mooncake_py.ir.verify import verify
from mooncake_py.transform.expressions import before_use
from tests.derive import all_sites
from tests.zoo import expressions, lazily, named_tuples
from tests.zoo.registry import CASES


@pytest.mark.parametrize(
    "fn",
    [
        expressions.neurons_in_a_list,
        expressions.layers_of_neurons,
        expressions.neurons_in_training,
        expressions.a_layer_that_gives_one_or_several,
    ],
)
def test_nothing_is_decided_late(fn: Any) -> None:
    assert all_sites(fn, 0.7) == []


@pytest.mark.parametrize("fn", [lazily.functions_mapped_over_views, named_tuples.made_of_what_is_no_sequence])
def test_nothing_is_decided_late_of_what_is_used_up_at_once(fn: Any) -> None:
    (case,) = (c for c in CASES if c.fn is fn)
    assert all_sites(fn, *case.fresh_args()) == []


def test_it_moves_next_to_its_user() -> None:
    def f(xs, start):
        return sum((x * x for x in xs), start())

    before = normalise(f.__code__)
    after = before_use(before)
    verify(after)
    (made,) = (s for b in before.blocks for s in b.stmts if _is_generator(before, s))
    stmts = [s for b in after.blocks for s in b.stmts]
    assert stmts.index(made) == len(stmts) - 2 and made.out in stmts[-1].args


def test_where_it_is_next_to_it_already_nothing_is_new() -> None:
    def f(xs):
        return sum(x * x for x in xs)

    before = normalise(f.__code__)
    assert before_use(before) is before


def _is_generator(fn: Any, s: Any) -> bool:
    functions = {t.out for b in fn.blocks for t in b.stmts if "make_function" in repr(t.fn)}
    return s.fn in functions
