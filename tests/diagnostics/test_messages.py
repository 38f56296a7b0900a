"""What a user reads: tracebacks of user lines, errors with positions, the texts of debug mode word for word."""

from __future__ import annotations

import math
import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import (
    ArgumentError,
    CotangentError,
    DebugError,
    MissingRule,
    NonScalarOutput,
    UnsupportedError,
    build_rrule,
    grad,
    registry,
    rrule,
    value_and_grad,
    value_and_pullback,
)
from mooncake_py.diagnostics.missing import missing_rule, skeleton
from tests.diagnostics import elsewhere
from tests.diagnostics.faults import FAULTS, run

HERE = Path(__file__)
GOLDEN = HERE.with_name("messages.txt")


def line_with(text: str) -> int:
    return next(n for n, line in enumerate(HERE.read_text().splitlines(), 1) if line.rstrip().endswith(text))


def frames(call: Callable[[], Any], kind: type[BaseException]) -> tuple[list[tuple[str, int]], BaseException]:
    """The lines of this file that the exception went through, and the exception; no other files may be among them."""
    with pytest.raises(kind) as caught:
        call()
    found = traceback.extract_tb(caught.value.__traceback__)
    ours = [f for f in found if f.filename == str(HERE)]
    assert [f.filename for f in found if f.filename != str(HERE) and "_pytest" not in f.filename] == []
    return [(f.name, f.lineno or 0) for f in ours][1:], caught.value


# -- tracebacks --


def root(x):
    for _ in range(2):
        x = math.sqrt(x)  # ROOT
    return x


def below(x):
    functions = [root, fails_late]  # which is found when it runs: its frame is its own
    y = x - 2.0
    return functions[0](y) + y  # BELOW


def small(x):
    y = x - 1.0
    return 1.0 / y  # SMALL


def items(x):
    yield x
    yield small(x)  # ITEM


def taken_in(x):
    total = 0.0
    for v in items(x):  # TAKEN IN
        total += v
    return total


ENTRIES = [
    lambda f: grad(f)(1.0),
    lambda f: value_and_grad(f)(1.0),
    lambda f: value_and_pullback(f, 1.0),
    lambda f: build_rrule(f, 1.0)(1.0),
    lambda f: grad(f, debug_mode=True)(1.0),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_functions_that_were_taken_in_have_frames(entry: Callable[[Any], Any]) -> None:
    found, e = frames(lambda: entry(taken_in), ZeroDivisionError)
    assert found[-3:] == [
        ("taken_in", line_with("# TAKEN IN")),
        ("items", line_with("# ITEM")),
        ("small", line_with("# SMALL")),
    ]
    assert "return 1.0 / y  # SMALL\n           ~~~~^~~" in "".join(traceback.format_exception(e))


def calls_elsewhere(x):
    return elsewhere.middle(x)  # ELSEWHERE


def here_again(x):
    return 1.0 / (x - 2.0)  # HERE AGAIN


def is_called_back(x):
    return elsewhere.twice(here_again, x)  # CALLED BACK


@pytest.mark.parametrize("entry", ENTRIES)
def test_functions_of_another_file_have_frames(entry: Callable[[Any], Any]) -> None:
    def lines(f: Any) -> list[tuple[str, str, str]]:
        with pytest.raises(ZeroDivisionError) as caught:
            entry(lambda x: f(x + 1.0))
        found = traceback.extract_tb(caught.value.__traceback__)[-3:]
        return [(Path(t.filename).stem, t.name, (t.line or "").rpartition("# ")[2]) for t in found]

    assert lines(calls_elsewhere) == [
        ("test_messages", "calls_elsewhere", "ELSEWHERE"),
        ("elsewhere", "middle", "MIDDLE"),
        ("elsewhere", "low", "LOW"),
    ]
    assert lines(is_called_back) == [
        ("test_messages", "is_called_back", "CALLED BACK"),
        ("elsewhere", "twice", "TWICE"),
        ("test_messages", "here_again", "HERE AGAIN"),
    ]


def test_functions_made_in_another_file_find_their_names() -> None:
    math = None  # noqa: F841 (a name of the other file)
    scope: dict[str, Any] = {"sines": elsewhere.sines}
    exec("def f(xs):\n    return sines(xs) * 2.0\n", scope)
    assert np.allclose(grad(scope["f"])([1.0, 2.0]), [2.0 * (np.cos(1.0) - np.sin(1.0)), 2.0 * np.cos(2.0)])


def truth(x):
    return 1.0 if x > 0.0 else x  # TRUTH


def test_a_condition_that_was_taken_in_has_a_frame() -> None:
    found, _ = frames(lambda: grad(lambda x: truth(x))(np.ones(2)), ValueError)
    assert found[-1] == ("truth", line_with("# TRUTH"))


@pytest.mark.parametrize("entry", ENTRIES)
def test_forward_run(entry: Callable[[Any], Any]) -> None:
    found, _ = frames(lambda: entry(below), ValueError)
    assert found[-2:] == [("below", line_with("# BELOW")), ("root", line_with("# ROOT"))] and len(found) == 4


def fails_late(x):
    return x * 2.0


@rrule(fails_late)
def fails_late_rule(x):
    def pullback(dy):
        raise ZeroDivisionError("in the pullback")  # RAISES

    return x * 2.0, pullback


def uses(x):
    y = x * 3.0
    return fails_late(y) + 1.0  # USES


def test_pullback() -> None:
    found, _ = frames(lambda: grad(uses)(1.0), ZeroDivisionError)
    assert [line for _, line in found][-2:] == [line_with("# USES"), line_with("# RAISES")]
    _, pullback = value_and_pullback(uses, 1.0)
    found, _ = frames(lambda: pullback(1.0), ZeroDivisionError)
    assert [line for _, line in found][-2:] == [line_with("# USES"), line_with("# RAISES")]


def test_a_warm_gradient() -> None:
    g = grad(root)
    g(4.0)
    found, _ = frames(lambda: g(-1.0), ValueError)
    assert found[-1] == ("root", line_with("# ROOT"))


def test_engine_frames_on_demand() -> None:
    mooncake_py.show_engine_frames()
    try:
        with pytest.raises(ValueError) as caught:
            grad(below)(1.0)
    finally:
        mooncake_py.show_engine_frames(False)
    assert any(f.filename.endswith("gradients.py") for f in traceback.extract_tb(caught.value.__traceback__))


# -- positions --


@pytest.mark.parametrize("call, kind", [
    (lambda: grad(root)(3), ArgumentError),
    (lambda: grad(3), ArgumentError),
    (lambda: grad(root, 1.5), ArgumentError),
    (lambda: value_and_grad(root, 7)(1.0), ArgumentError),
    (lambda: value_and_pullback(root, "text"), ArgumentError),
    (lambda: grad(lambda x: (x, x))(1.0), NonScalarOutput),
    (lambda: value_and_pullback(root, 1.0)[1]("text"), CotangentError),
])  # fmt: skip
def test_errors_say_where_they_were_called(call: Callable[[], Any], kind: type[mooncake_py.MooncakeError]) -> None:
    found, e = frames(call, kind)
    assert isinstance(e, kind) and (e.filename, e.line) == (str(HERE), found[-1][1])
    assert f", in {HERE}:{e.line}" in str(e)


def test_unsupported_in_the_middle_of_a_run() -> None:
    def f(x):
        kept = [np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))]
        kept[0][:, :] = 2.0 * x[2]  # one element twice
        return kept[0].sum()

    _, e = frames(lambda: grad(f)(np.ones(3)), UnsupportedError)
    assert isinstance(e, UnsupportedError) and e.filename == str(HERE) and e.line is not None
    assert f"{HERE}:{e.line}" in str(e) and "None" not in str(e)


def no_rule(x, n):
    return [math.nextafter][0](x, n)  # NO RULE


def model(x):
    y = x * 2.0
    return [no_rule][0](y, 3.0) + y  # MODEL


def test_missing_rule() -> None:
    found, e = frames(lambda: grad(model)(1.0), MissingRule)
    assert isinstance(e, MissingRule)
    called = found[0][1]
    assert e.chain == (
        (str(HERE), called, "<lambda>"),
        (str(HERE), line_with("# MODEL"), "model"),
        (str(HERE), line_with("# NO RULE"), "no_rule"),
    )
    assert str(e).endswith(
        "The calls that led there:\n"
        f"    <lambda>, {HERE}:{called}\n"
        f"    model, {HERE}:{line_with('# MODEL')}\n"
        f"    no_rule, {HERE}:{line_with('# NO RULE')}"
    )
    pasted = "\n".join(line[4:] for line in str(e).splitlines() if line.startswith("    ") or not line)
    scope: dict[str, Any] = {}
    text = pasted[pasted.index("import math") : pasted.index("return value, pullback") + 22]
    exec(text.replace("...", "1.0"), scope)
    try:
        assert grad(model)(1.0) == 4.0
    finally:
        del registry._rules[math.nextafter]
        registry.generation += 1


@pytest.mark.parametrize("f, args, names, head, call", [
    (math.nextafter, (1.0, 2.0), (), "nextafter_rule(x, y)", "math.nextafter(x, y)"),
    (np.ldexp, (np.ones(2), 3), (), "ldexp_rule(x, y)", "numpy.ldexp(x, y)"),
    (np.interp, (0.5, np.ones(2), np.ones(2)), ("left",), "interp_rule(x, xp, fp, left=None)",
     "numpy.interp(x, xp, fp, left)"),
    (str.ljust, ("a", 3), (), "ljust_rule(self, width)", "str.ljust(self, width)"),
    (sorted, ([1.0],), ("reverse",), "sorted_rule(iterable, *, reverse=False)",
     "sorted(iterable, reverse=reverse)"),
])  # fmt: skip
def test_skeleton(f: Any, args: tuple[Any, ...], names: tuple[str, ...], head: str, call: str) -> None:
    text = skeleton(f, args, names)
    compile(text, "skeleton", "exec")
    assert f"\ndef {head}:\n    value = {call}\n" in text


def test_what_has_no_name_gets_no_skeleton() -> None:
    lapack = pytest.importorskip("scipy.linalg").lapack
    text = missing_rule(lapack.dorcsd, (np.eye(2),) * 4, (), 0, "here.py:1", None)
    assert "in here.py:1" in text and "a rule of the function that calls it" in text and "rrule" not in text


# -- words --


def words(e: DebugError) -> str:
    """The message without what depends on the machine and on the lines of other files."""
    text = str(e).replace(str(HERE.parent) + os.sep, "")
    return re.sub(r"[^ ]*/mooncake_rules/(\w+\.py):\d+", r"\1", text)


def test_golden_texts() -> None:
    found = []
    for fault in FAULTS:
        with pytest.raises(DebugError) as caught:
            run(fault)
        found.append(f"== {fault.name}\n{words(caught.value)}\n")
    text = "\n".join(found)
    if os.environ.get("MOONCAKE_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
