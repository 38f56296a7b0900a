"""`profile`: time by line and phase, what is kept, as a table and as a picture."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py import profile
from mooncake_py.diagnostics.profile import Clock, clocked
from mooncake_py.frontend import normalise
from mooncake_py.ir.verify import verify
from mooncake_py.lowering import lower
from tests.functions import SAMPLE, on_one_python
from tests.harness import Case, same


def work(a, n):
    b = np.exp(a)
    for _ in range(n):
        b = np.sin(b) * 1.01
    return np.sum(b)


ARGS = np.ones(5000), 20
FIRST = work.__code__.co_firstlineno


def test_lines_and_phases() -> None:
    p = profile(work, *ARGS, seconds=0.05, quiet=True)
    assert set(p.lines) == set(range(FIRST + 1, FIRST + 5))
    loop = p.lines[FIRST + 3]
    assert set(loop) == {"primal", "forward", "pullback"} and min(loop.values()) > 0.0
    # Twenty sines and cosines of the array against one exponential of it: no timing of the machine turns this round.
    assert loop["forward"] > p.lines[FIRST + 1]["forward"]
    assert p.total("primal") == sum(t.get("primal", 0.0) for t in p.lines.values())


def test_what_is_kept() -> None:
    p = profile(work, *ARGS, seconds=0.0, quiet=True)
    pushed = [s for s in p.stored if s.entries]
    assert [s.entries for s in pushed] == [20] and pushed[0].bytes == 20 * (40_000 + 8)
    assert pushed[0].name == "b" and p.kept(pushed[0].line or 0) >= pushed[0].bytes


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    p = profile(work, *ARGS, seconds=0.0)
    out = capsys.readouterr().out
    assert out == f"{p}\n"
    rows = out.splitlines()
    assert rows[1].split() == ["line", "primal", "forward", "pullback", "kept", "source"]
    assert rows[2].split()[0] == str(FIRST + 1) and rows[2].endswith("b = np.exp(a)")
    assert rows[6].split()[0] == "total"
    assert any("kept: b of line" in r and "in 20 entries" in r for r in rows)


def test_picture() -> None:
    p = profile(work, *ARGS, seconds=0.0, quiet=True)
    root = ElementTree.fromstring(p.svg())
    bars = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("class") == "bar"]
    assert {(int(b.get("data-line", 0)), b.get("data-phase")) for b in bars} == {
        (n, phase) for n in p.lines for phase in ("primal", "forward", "pullback")
    }
    widths = {(int(b.get("data-line", 0)), b.get("data-phase")): float(b.get("width", 0)) for b in bars}
    assert max(widths.values()) > 0.0 and "</html>" in p.html() and "<svg" in p._repr_html_()


def test_arguments_are_left_alone() -> None:
    def f(a):
        a[0] = 7.0
        return np.sum(a * a)

    a = np.arange(3.0)
    profile(f, a, seconds=0.0, quiet=True)
    assert a.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_the_zoo(case: Case) -> None:
    p = profile(case.fn, *case.fresh_args(), seconds=0.0, quiet=True)
    assert p.lines and str(p)


def test_a_clock_changes_nothing() -> None:
    seen: list[Any] = []
    fn = clocked(normalise(work.__code__), seen.append)
    verify(fn)
    code = lower(fn, like=work.__code__)
    assert same(type(work)(code, work.__globals__)(*ARGS), work(*ARGS))
    assert seen[0] == FIRST + 1 and set(seen) == set(range(FIRST + 1, FIRST + 5))


def test_clock() -> None:
    clock = Clock()
    for _ in range(3):
        clock.tick(1)
        clock.tick(2)
        clock.finish()
    assert len(clock.runs) == 3 and all(set(run) == {1, 2} for run in clock.runs)
    assert clock.per_line(0.0)[1] > 0.0 and clock.per_line(1e12)[1] == 0.0


@on_one_python(1)
def test_shell(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "mooncake_py", "profile", "tests.diagnostics.test_profile:work"]
    command += ["--args", "np.ones(10), 2"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    assert "pullback" in done.stdout and "total" in done.stdout
    path = tmp_path / "p.html"
    subprocess.run([*command, "--html", str(path)], env=env, check=True, capture_output=True)
    assert "<svg" in path.read_text()
