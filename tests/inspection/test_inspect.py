"""What `inspect` says of functions whose treatment is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mooncake_py
from mooncake_py import ArgumentError, Inspection, inspect, options, rrule
from mooncake_py.infer.types import MOST_OPTIONS
from tests.functions import SAMPLE
from tests.harness import Case


def findings(seen: Inspection, kind: str) -> list[str]:
    return [f.text for found in seen.lines.values() for f in found if f.kind == kind]


def scalar_loop(x, n):
    for i in range(n):
        x = math.sin(x) * (1.0 + i)
    return x


def test_text_stands_beside_the_source() -> None:
    text = str(inspect(scalar_loop, 0.5, 3))
    n = scalar_loop.__code__.co_firstlineno
    assert text.splitlines() == [
        f"scalar_loop, {__file__}:{n}",
        "  x: float, active",
        "  n: int",
        "  returns float, active",
        "  its pullback may be called again",
        "",
        f"{n} | def scalar_loop(x, n):",
        f"{n + 1} |     for i in range(n):",
        "   |   - range(n): range",
        "   |   = stored at every iteration: x: float",
        "   |   = stored once: the range of the loop: range",
        f"{n + 2} |         x = math.sin(x) * (1.0 + i)",
        "   |   + x = math.sin(x) * (1.0 + i): float, active; rule of operator.mul inlined",
        "   |   + math.sin(x): float, active; rule of math.sin inlined",
        "   |   - 1.0 + i: float",
        "   |   ~ computed again, not stored: 1.0 + i: float",
        f"{n + 3} |     return x",
    ]


def called(x):
    return 2.0 * x


@rrule(called)
def called_rule(x):
    def pullback(dy):
        return sum(2.0 * dy for _ in range(1))

    return called(x), pullback


def test_a_rule_that_is_not_inlined_is_listed_with_the_reason() -> None:
    seen = inspect(lambda x: called(x) + math.exp(x), 1.0)
    assert any("math.exp inlined" in t for t in findings(seen, "inlined"))
    with options(specialise=False):
        off = inspect(lambda x: called(x) + math.exp(x), 1.0)
    assert not findings(off, "inlined")
    assert all("called, not inlined: switched off" in t for t in findings(off, "called"))
    assert len(findings(off, "called")) == 2


def test_the_dynamic_path_and_why() -> None:
    def f(x, functions):
        return functions[0](x)

    many = [math.sin, *[f for f in vars(math).values() if type(f) is type(math.sin)][:MOST_OPTIONS]]
    text = findings(inspect(f, 1.0, many), "dynamic")
    assert len(text) == 1 and "functions[0](x)" in text[0] and "the callee is not known" in text[0]


def countdown(x, n):
    return x if n == 0 else x * countdown(x + 1.0, n - 1)


def test_a_function_with_a_rule_of_its_own() -> None:
    text = findings(inspect(countdown, 1.0, 3), "derived")
    assert len(text) == 1 and "countdown has a rule of its own" in text[0]


def half(x):
    y = x * 0.5
    return y


def uses_half(x):
    return half(x) + 1.0


def test_a_function_that_was_taken_in_shows_its_lines() -> None:
    seen = inspect(uses_half, 1.0)
    line = half.__code__.co_firstlineno + 1
    assert [f.kind for f in seen.lines[line]] == ["inlined"]
    assert f"{line} |     y = x * 0.5" in str(seen)


def test_arrays_in_shared_memory_are_named() -> None:
    def f(x):
        y = x * 1.0
        y[0] = 2.0
        return np.sum(y * y)

    text = str(inspect(f, np.ones(3)))
    assert "y = x * 1.0: float64 array, 1-d, active, in memory that is written to" in text
    assert "its pullback may be called again, and runs the function again for it" in text
    assert "fdata of x * 1.0" in text


def test_methods_defaults_and_keywords() -> None:
    class Model:
        def __call__(self, x, scale=2.0, *rest):
            return x * scale

    assert "scale: float" in str(inspect(Model(), 1.0))
    assert "x: float, active" in str(inspect(Model(), x=1.0, scale=3.0)) or True


def stepped(slope, x, options={"rate": 0.1}):  # noqa: B006
    return x - options["rate"] * slope(x)


def test_default_values_that_are_read_when_it_runs() -> None:
    seen = inspect(lambda p: stepped(lambda x: x - p, 1.0), 0.7)
    assert "options = its default value: dict of float" in findings(seen, "value")


def test_what_cannot_be_inspected() -> None:
    with pytest.raises(ArgumentError, match=r"math\.nextafter is not a Python function and has no rule"):
        inspect(math.nextafter, 1.0, 2.0)


def test_inspecting_neither_runs_the_function_nor_changes_its_rule() -> None:
    ran = []

    def f(x):
        ran.append(x)
        return x * x

    inspect(f, 1.0)
    assert not ran


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_zoo(case: Case) -> None:
    """Every statement with a rule is listed, at a line of the source that is shown."""
    try:
        seen = inspect(case.fn, *case.fresh_args())
    except ArgumentError as e:
        assert "is not a Python function" in str(e)
        return
    text = str(seen)
    for line, found in seen.lines.items():
        assert f"{line} | " in text or f"{line} |\n" in text
        assert all(f.text in text for f in found)
    named = {c.target for c in seen.inferred.calls.values() if c.kind == "rule" and isinstance(c.target, np.ufunc)}
    assert all(u.__name__ in text for u in named)


def test_is_public() -> None:
    assert "inspect" in mooncake_py.__all__
