"""Where derivatives stop: the report, the warning, the refusal, and what the log says of derivations."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import AlwaysZeroWarning, DroppedDerivative, debug, dropped, grad, value_and_grad


def rounded(x):
    n = int(x * 10)  # CAST
    y = n / 10
    if x > 3.0:  # COMPARISON
        y = y + 1.0
    return float(y)


def line_of(f: Any, text: str) -> int:
    import inspect

    source, first = inspect.getsourcelines(f)
    return next(first + i for i, line in enumerate(source) if text in line)


def test_report() -> None:
    report = dropped(rounded, 1.5)
    assert [(s.line, s.kind, s.expression, s.into_result) for s in report.stops] == [
        (line_of(rounded, "# CAST"), "cast", "int(x * 10)", True),
        (line_of(rounded, "# COMPARISON"), "comparison", "x > 3.0", False),
    ]
    assert report.always_zero == ("x",) and report.function == "rounded"
    assert str(report) == (
        "rounded returns float\n"
        "  always zero: the derivative by x\n"
        f"  stops at {__file__}:{report.stops[0].line}: int(x * 10)  (cast: int; its value goes into the result)\n"
        f"  stops at {__file__}:{report.stops[1].line}: x > 3.0  (comparison: operator.gt)"
    )


def test_report_of_arrays() -> None:
    def f(a):
        i = np.argmax(a)
        c = a.astype(int)
        text = str(a)
        return np.sum(a * np.floor(a)) + c[i] + a.shape[0] + len(a) + len(text)

    found = {s.expression: (s.kind, s.into_result) for s in dropped(f, np.arange(3.0)).stops}
    assert found == {
        "np.argmax(a)": ("comparison", True),
        "a.astype(int)": ("cast", True),
        "str(a)": ("text", True),
        "np.floor(a)": ("cast", True),
    }
    assert dropped(f, np.arange(3.0)).always_zero == ()


def test_nothing_stops() -> None:
    report = dropped(lambda x: math.sin(x) * x, 1.0)
    assert report.stops == () and "no derivative stops" in str(report)


def test_what_is_not_known_before_it_runs() -> None:
    def f(x, g):
        return g(x) * 2.0

    assert "g(x)" in str(dropped(f, 1.0, {"not": "known"}))


def test_always_zero_warns_once() -> None:
    def f(x):
        return float(int(x))

    with pytest.warns(AlwaysZeroWarning, match=r"by argument 0 \(x\) is always zero.*\n.*int\(x\)") as caught:
        assert grad(f)(1.5) == 0.0
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(f)(2.5) == value_and_grad(f)(2.5)[1] == 0.0


def test_an_argument_that_is_not_used() -> None:
    def f(x, a, t):
        return x * t[0]

    args = 2.0, np.ones(3), (3.0, 4.0)
    with pytest.warns(
        AlwaysZeroWarning, match=r"by argument 1 \(a\) is always zero: its result does not depend on it$"
    ):
        grad(f, (0, 1, 2))(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(f)(*args) == 3.0


@pytest.mark.parametrize("nothing", [[], {}, np.zeros(0), [np.zeros((0, 3))]])
def test_of_nothing_there_is_no_warning(nothing: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(lambda xs, x: x * 2.0, (0, 1))(nothing, 1.3)


@pytest.mark.parametrize("f, x", [
    (lambda x: x * 0.0, 1.0),
    (lambda a: np.sum(a) * 0.0, np.ones(2)),
    (lambda x: [x][0], 1.0),
    (lambda x: 2.0 if x > 1.0 else x, 2.0),
])  # fmt: skip
def test_a_derivative_that_happens_to_be_zero_is_no_news(f: Any, x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(f)(x)
        grad(f, debug_mode=True)(x)


def test_a_write_into_whole_numbers_is_refused() -> None:
    def f(a):
        b = np.zeros(3, dtype=int)
        b[0] = a[0]  # WRITE
        return np.sum(b) * 1.0

    with pytest.raises(DroppedDerivative, match="array of int64, which cuts it to a whole number") as caught:
        grad(f)(np.ones(3))
    assert caught.value.line == line_of(f, "# WRITE") and caught.value.filename == __file__


def test_a_write_into_truth_values_is_refused() -> None:
    def f(a):
        b = np.zeros(3, dtype=bool)
        b[:] = a
        return np.sum(a * b)

    with pytest.raises(DroppedDerivative, match=r"array of bool, which keeps whether it is zero.* write a comparison"):
        grad(f)(np.ones(3))


def test_a_write_of_whole_numbers_is_not() -> None:
    def f(a):
        b = np.zeros(3, dtype=int)
        b[0] = int(a[0])
        b[1] += 2
        return np.sum(a * b)

    assert grad(f)(np.array([1.5, 2.0, 3.0])).tolist() == [1.0, 2.0, 0.0]


# -- the log --

CURVE: Any = math.sin


def scaled(x):
    return CURVE(x) * 2.0


def test_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> list[str]:
        out = [r.getMessage().split(", for (")[0].removeprefix("derived scaled ") for r in caplog.records]
        caplog.clear()
        return [text.partition(") ")[2] for text in out]

    place = f"derived scaled ({__file__}:{scaled.__code__.co_firstlineno})"
    with caplog.at_level(logging.INFO, "mooncake_py"):
        grad(scaled)(1.0)
        (record,) = caplog.records
        assert record.name == "mooncake_py" and record.levelno == logging.INFO
        assert record.getMessage().startswith(f"{place} for the first time, for (x: float, active), in ")
        caplog.clear()
        grad(scaled)(2.0)
        assert said() == []
        grad(scaled)(np.float64(1.0))
        assert said() == ["for another signature"]
        with debug():
            grad(scaled)(1.0)
        assert said() == ["for another signature"]
        monkeypatch.setitem(globals(), "CURVE", math.cos)
        grad(scaled)(1.0)
        assert said() == ["again: CURVE was math.sin and is math.cos now"]


def test_stored_values_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mooncake_py"):
        grad(lambda x: math.sin(x) * x)(1.0)
    assert any("keeps x, %5 for its pullback" in r.getMessage() for r in caplog.records)


def test_logging_is_not_imported_for_us() -> None:
    code = "import sys, mooncake_py\nhad = 'logging' in sys.modules\nmooncake_py.grad(lambda x: x * x)(1.0)\n"
    code += "assert had or 'logging' not in sys.modules\n"
    code += "assert 'mooncake_py.diagnostics.rules' not in sys.modules\n"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def truncated(x):
    return int(x)  # TRUNCATED


def grown(x):
    for i in range(2):
        if x > i:  # GROWN
            x = x * 1.5
    return x


class Holder:
    def __init__(self, x):
        self.x = x

    def floor(self):
        return np.floor(self.x)  # FLOOR


def test_calls_that_are_decided_when_they_run() -> None:
    table = {"cut": truncated, "builtin": round, **dict.fromkeys(map(str, range(100)))}  # too many to be looked at

    def f(x, key):
        return table[key](x) * x + grown(x) + Holder(x).floor()  # CALLS

    expected = {
        (line_of(truncated, "# TRUNCATED"), "cast"),
        (line_of(grown, "# GROWN"), "comparison"),
        (line_of(Holder.floor, "# FLOOR"), "cast"),
    }
    report = dropped(f, 3.5, "cut")
    assert {(s.line, s.kind) for s in report.stops} == expected and report.undecided == ()
    found = {(s.line, s.kind, s.callee) for s in dropped(f, 3.5, "builtin").stops}
    assert (line_of(f, "# CALLS"), "cast", "round") in found and (
        line_of(truncated, "# TRUNCATED"),
        "cast",
        "int",
    ) not in found


def test_the_arguments_of_a_report_are_left_alone() -> None:
    def f(x):
        x *= 2.0
        return np.sum(x)

    x = np.ones(2)
    assert dropped(f, x).stops == () and x.tolist() == [1.0, 1.0]


def test_a_report_of_a_function_that_raises() -> None:
    def f(x):
        n = int(x)
        return x / (n - n)

    assert [s.kind for s in dropped(f, 3.0).stops] == ["cast"]


def test_no_diff_is_known_by_what_it_is() -> None:
    kept = mooncake_py.stop_gradient

    def no_diff(x):
        return x * 2.0

    assert [s.kind for s in dropped(lambda x: kept(x) * x, 3.0).stops] == ["no_diff"]
    assert dropped(lambda x: no_diff(x), 3.0).stops == ()
