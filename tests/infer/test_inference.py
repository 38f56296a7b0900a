"""Activity and types as they show in derived code: what is not needed is not there."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from mooncake_py import inspect, registry, value_and_grad
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import Inst
from mooncake_py.ir.nodes import Branch, Const, ForNext
from mooncake_py.ir.nodes import Function as IR
from mooncake_py.run import NOTHING
from mooncake_py.testing import check_grads
from tests.derive import derivation_of
from tests.functions import by_name


def callees(fn: IR) -> list[object]:
    return [s.fn.value for b in fn.blocks for s in b.stmts if isinstance(s.fn, Const)]


def test_inactive_argument_costs_nothing() -> None:
    def f(x, y):
        return math.sin(x) * math.exp(y)

    both, one = derivation_of(f, 1.0, 1.0), derivation_of(f, 1.0, 1.0, active=[True, False])
    assert callees(both.pullback).count(math.cos) == 1
    assert callees(one.pullback).count(math.cos) == 1
    assert len(callees(one.pullback)) < len(callees(both.pullback))
    assert one.arg_trees == ("num", "none")


def test_branch_decided_by_types_is_not_there() -> None:
    def f(x):
        if isinstance(x, np.ndarray):
            return np.sum(x)
        return math.sin(x)

    d = derivation_of(f, 1.0)
    assert np.sum not in callees(d.forward) and math.sin in callees(d.forward)
    assert not any(isinstance(b.term, Branch) for b in (*d.forward.blocks, *d.pullback.blocks))


def test_integer_work_has_no_reverse() -> None:
    def f(x, n):
        k = 0
        for i in range(n):
            k += i * i
        return x * k

    d = derivation_of(f, 1.0, 4)
    assert not any(s.endswith("[]") for s in d.stored), "nothing is pushed in a loop of integers"
    assert not any(isinstance(b.term, Branch | ForNext) for b in d.pullback.blocks)


def test_arrays_that_are_only_read_have_no_shadow() -> None:
    def f(x):
        y = np.sin(x)
        return np.sum(y * y + x)

    d = derivation_of(f, np.ones(3))
    assert d.lane_args == () and d.arg_trees == ("arr",)
    assert not any("hadow" in getattr(c, "__name__", "") for c in callees(d.forward) + callees(d.pullback))


def test_arrays_that_are_written_to_have_one() -> None:
    def f(x):
        x[0] = 1.0
        return x

    d = derivation_of(f, np.ones(3))
    assert d.arg_trees == ("ref",) and d.lane_args == ((0, ()),) and d.in_place


@pytest.mark.parametrize("n", [0, 1, 3])
def test_types_that_change_in_a_loop(n: int) -> None:
    def f(x, n):
        acc = 0
        for i in range(n):
            acc = acc + x * i
        return acc * 1.0

    assert value_and_grad(f)(2.0, n) == (2.0 * sum(range(n)), float(sum(range(n))))


def test_augmented_assignments_of_numbers_are_of_their_type() -> None:
    registry.load_packs()
    number = Inst(float, True)
    for f in (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow):
        assert result_type(f, (number, number), ()) == number, f


@pytest.mark.parametrize(
    "f",
    [
        lambda a, c: np.sum(a / c[0] ** 2),
        lambda a, c: np.sum(a * [1.0, c[0], 2]) + a @ [1, 2, 3],
        lambda a, c: np.dot(a, [1.0, c[0], c[1]]) + np.linalg.norm([c[0], c[1]]),
        lambda a, c: np.sum(np.concatenate([a, [0.5, c[0], 1], c])),
        lambda a, c: np.sum(np.hstack([a, c[1], 0.5]) * np.hstack([c, a])),
        lambda a, c: np.sum(np.stack([a, [c[0], 1.0, 2.0]]) @ a),
    ],
)
def test_lists_beside_arrays_and_powers_of_their_items_are_seen_through(f) -> None:
    args = np.array([0.3, 0.7, 0.2]), np.array([1.3, 0.4])
    assert not any(c.kind == "dynamic" for c in inspect(f, *args).stages["inferred"].calls.values())
    check_grads(f, args)


@pytest.mark.parametrize(
    "name",
    [
        "simulations.steps_in_buffers",
        "simulations.reactions_written_as_text",
        "simulations.amounts_by_words_of_a_text",
        "simulations.objects_from_a_generator_method",
        "iteration.counted_from_one",
        "iteration.letters_in_order_and_once",
        "simulations.stars_of_as_many_as_are_taken",
        "number_lists.starred_parts_of_lists",
        "copies.copies_of_settings",
        "copies.copies_of_a_plant",
    ],
)
def test_simulations_are_seen_through(name: str) -> None:
    found = by_name(name)
    seen = inspect(found.fn, *found.fresh_args())
    assert not any(c.kind == "dynamic" for c in seen.stages["inferred"].calls.values())


def test_attributes_are_not_taken_for_names_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """`self.t` is not the `t` that the module has, whatever that may write to."""
    found = by_name("simulations.objects_from_a_generator_method")
    monkeypatch.setitem(found.fn.__globals__, "t", note)
    assert may_write_outside(found.fn) is NOTHING


LOG: list[float] = []


def note(x: float) -> None:
    LOG.append(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.bincount([0, 1, 1, 2]) * a + np.hanning(3) + np.unique([3, 1, 2])),
        lambda a: np.sum(np.tile(a, 2)) * np.quantile(a, 0.3) + np.sum(np.percentile(a, [20, 70])),
        lambda a: np.sum(np.gradient(a) * a) + np.sum(np.take(a, [0, 2]) ** 2) + math.prod([a[0], a[1]]),
        lambda a: np.sum(np.polyfit(np.arange(3.0), a, 1) ** 2) + np.interp(0.5, np.arange(3.0), a) ** 2,
        lambda a: np.sum(a / (a + np.finfo(float).eps)) * np.iinfo(np.int8).max + sum({k: a[0] for k in "ab"}.values()),
    ],
)
def test_results_of_library_functions_have_types(f) -> None:
    args = (np.array([0.3, 0.7, 0.2]),)
    assert not any(c.kind == "dynamic" for c in inspect(f, *args).stages["inferred"].calls.values())
    check_grads(f, args)
