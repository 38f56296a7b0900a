"""What a call was found to mean is found again from memory, and is the same as when it is worked out anew."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from inspect import signature
from types import FunctionType
from typing import Any

import pytest

from mooncake_py import grad, pipeline
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.interpret import Inference
from tests.derive import derivation_of, rounds_of
from tests.functions import QUICK, TURN
from tests.harness import Case


def is_plain(case: Case) -> bool:
    """Is it a function that gets its arguments as they are?"""
    f = case.fn
    return isinstance(f, FunctionType) and len(signature(f).parameters) == f.__code__.co_argcount == len(case.args)


SAMPLE = [case for case in QUICK[TURN::80] if is_plain(case)]


class _Nothing(dict[Any, Any]):
    """Remembers nothing."""

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return default


def facts(found: Inferred) -> str:
    calls = [(c.kind, c.target, c.why) for c in found.calls.values()]
    text = repr((str(found.fn), list(found.types.values()), calls, found.result))
    return re.sub(r"%\d+|0x[0-9a-f]+", "", text)  # names and addresses


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_inference_with_memory_finds_what_it_finds_without(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    infer: Callable[..., Any] = pipeline.infer_simplified
    start = Inference.__init__
    seen = []

    def twice(*args: Any, **kwargs: Any) -> Any:
        result = infer(*args, **kwargs)

        def forgetful(self: Inference, *args: Any, **kwargs: Any) -> None:
            start(self, *args, **kwargs)
            self.found_before = _Nothing()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Inference, "__init__", forgetful)
            again = infer(*args, **kwargs)
        seen.append((facts(result[0]), facts(again[0])))
        return result

    monkeypatch.setattr(pipeline, "infer_simplified", twice)

    derivation_of(case.fn, *case.fresh_args())
    assert seen
    for one, other in seen:
        assert one == other


class Particle:
    def __init__(self, x: Any, v: Any):
        self.x, self.v = x, v

    def moved(self, dt: float) -> Any:
        return Particle(self.x + self.v * dt, self.v - self.x * dt)


def moves(x: Any) -> Any:
    particles = [Particle(x, 1.0), Particle(1.0, x)]
    for _ in range(3):
        particles = [p.moved(0.1) for p in particles]
    return sum(p.x * p.v for p in particles)


def test_what_is_written_is_known_from_the_run_before() -> None:
    rounds = rounds_of(moves, 0.5)
    assert rounds[-1] == 1  # the last sees no new writes
    assert sum(rounds) < 3 * len(rounds)


def filled(x: Any, n: Any) -> Any:
    boxes: list[Any] = []
    for i in range(n):
        boxes.append([])
        boxes[i].append([])
    rows = [math.sin(x * 0.5) for _ in range(n)]
    total = sum(row * x for row in rows)
    total = total + math.exp(x) if n > 2 else total - math.exp(x)
    total = total + math.cos(x) if n > 3 else total - math.cos(x)
    boxes[0][0].append(total)
    return boxes[-1][0][0] if n == 1 else total


def test_what_is_written_is_taken_to_those_who_read_it() -> None:
    """Of a function in which it is found step by step what a list holds, each step goes through a part."""
    flow, block = Inference.flow, Inference.block
    parts: list[tuple[bool, float]] = []

    def counted_flow(inference: Inference, *since: Any) -> Any:
        parts.append((not since, 0))
        return flow(inference, *since)

    def counted_block(inference: Inference, *args: Any) -> Any:
        parts[-1] = parts[-1][0], parts[-1][1] + 1 / len(inference.fn.blocks)
        return block(inference, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inference, "flow", counted_flow)
        patch.setattr(Inference, "block", counted_block)
        derivation_of(filled, 0.5, 2)
    steps = [part for whole, part in parts if not whole]
    assert len(steps) > 5
    assert sum(steps) < 0.6 * len(steps)
    assert grad(filled)(0.5, 1) == pytest.approx(_slope(1))
    assert grad(filled)(0.5, 2) == pytest.approx(_slope(2))


def _slope(n: int, x: float = 0.5, h: float = 1e-6) -> float:
    return float(filled(x + h, n) - filled(x - h, n)) / (2 * h)
