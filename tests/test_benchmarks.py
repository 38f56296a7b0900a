"""The yardsticks are right: every hand-written gradient against central differences, without the engine."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from benchmarks import fit, latency, rules
from benchmarks.workloads import WORKLOADS, Workload
from tests.harness import assert_cotangent_fits, bits, directions_for, inner, magnitude, slopes


def test_there_are_enough_and_they_are_distinct() -> None:
    assert len(WORKLOADS) >= 20
    assert len({work.name for work in WORKLOADS}) == len(WORKLOADS)


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.name)
def test_gradient_by_hand(work: Workload) -> None:
    before = bits(work.args)
    args = copy.deepcopy(work.args)
    plain = work.fn(*args)
    assert bits(args) == before, "a workload must leave its arguments alone: it is called again and again"
    value, gradients = work.hand(*args)
    assert bits(args) == before
    assert value == pytest.approx(plain, rel=1e-12)
    assert len(gradients) == len(work.argnums)
    rng = np.random.default_rng(0)
    for position, gradient in zip(work.argnums, gradients, strict=True):
        assert_cotangent_fits(type_of_gradient(work.args[position]), gradient, f"argument {position}")
        directions = directions_for(work.args, [position], rng)
        _, expected, _ = slopes(work.fn, work.args, directions, 1.0, 1e-6)
        got = inner(gradient, directions[position])
        assert abs(got - expected) <= 1e-6 * max(abs(expected), magnitude(gradient, directions[position]), 1e-4)


def type_of_gradient(arg: object) -> object:
    """A NumPy scalar will do for the gradient of a float: hand-written code is not asked to convert."""
    return np.float64(arg) if isinstance(arg, float) else arg


@pytest.mark.parametrize("case", rules.CASES, ids=lambda case: case.name)
def test_adjoint_by_hand(case: rules.Case) -> None:
    rng = np.random.default_rng(1)
    plain, by_hand = rules.programs(case, 1, 4)
    args = tuple(make(rng, 4) for make in case.args)
    (y,) = plain(*args)
    dy = rng.normal(size=np.shape(y))
    (value,), gradients = by_hand((dy[()],), *args)
    assert np.array_equal(value, y)
    for position, gradient in enumerate(gradients):
        directions = directions_for(args, [position], rng)
        _, expected, _ = slopes(lambda *xs: np.sum(plain(*xs)[0] * dy), args, directions, 1.0, 1e-6)
        assert np.sum(gradient * directions[position]) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_reference_of_the_fit() -> None:
    steps = 1e-5 * np.eye(4)
    ends = [[fit.loss(fit.RATES + sign * e, 1e-12, 1e-13) for sign in (1, -1)] for e in steps]
    differences = [(up - down) / 2e-5 for up, down in ends]
    assert np.allclose(fit.reference_gradient(fit.RATES), differences, rtol=1e-6)


def test_the_way_into_a_call_is_measured() -> None:
    """By what the engine calls its parts, which may change."""
    for fn, args in latency.call_cases().values():
        assert isinstance(latency.overhead_microseconds(fn, args, repeat=1, calls=1), float)
