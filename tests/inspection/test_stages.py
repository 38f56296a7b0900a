"""The stages as text, as pictures, as a page that a browser draws; from Python and from a shell."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py import ArgumentError, inspect
from mooncake_py.inspection.stages import STAGES
from tests.functions import SAMPLE, on_one_python
from tests.harness import Case

CHROMIUM = next(
    (p for n in ("chromium", "chromium-browser", "google-chrome", "chrome") if (p := shutil.which(n))), None
)


def loop(x, n):
    for _ in range(n):
        x = math.sin(x) * 1.01
    return x


def mixed(a, k):
    s = 0.0
    for i in range(3):
        if a[i] > k:
            s = s + np.exp(a[i]) * k
    return s + np.sum(a * a)


ARRAY = np.array([0.5, 1.5, 2.5])


@pytest.fixture
def no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_every_function_of_the_zoo(case: Case, no_graphviz: None) -> None:
    seen = inspect(case.fn, *case.fresh_args())
    page = seen.html()  # which has every stage in it
    assert page.count("<svg") == 2 and page.count('<pre class="panel"') == len(STAGES)
    assert seen.text()


# -- text --


def test_a_statement_has_its_line_beside_it() -> None:
    code = loop.__code__
    line = f"| {code.co_firstlineno + 2}: x = math.sin(x) * 1.01"
    seen = inspect(loop, 0.5, 3)
    for stage in ("normalised", "inferred", "forward", "pullback"):
        assert line in seen.stage(stage)
    assert "# float, active" in seen.stage("inferred") and "math.cos" in seen.stage("pullback")
    assert "FOR_ITER" in seen.stage("bytecode") and "FOR_ITER" in seen.stage("pullback bytecode")


def test_a_stage_that_is_none() -> None:
    with pytest.raises(ArgumentError, match="no stage 'other': there are bytecode, normalised"):
        inspect(loop, 0.5, 3).stage("other")


def test_differences() -> None:
    seen = inspect(loop, 0.5, 3)
    text = seen.diff("normalised", "forward")
    assert text.startswith("--- normalised\n+++ forward\n") and re.search(r"^\+.*math\.sin", text, re.MULTILINE)
    assert seen.diff("forward", "forward") == ""


def test_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = inspect(loop, 0.5, 3)
    painted = seen.stage("forward", colour=True)
    assert "\x1b[" in painted and re.sub(r"\x1b\[\d*m", "", painted) == seen.stage("forward")
    seen.show()
    assert "\x1b[" not in capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    seen.show(seen.stage("forward"))
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    seen.show(seen.stage("forward"))
    assert "\x1b[" not in capsys.readouterr().out


def test_a_function_with_a_rule_is_shown_as_a_call() -> None:
    seen = inspect(np.tanh, ARRAY)
    assert "rule of numpy.tanh inlined" in str(seen) and "return f(x0)" in str(seen)
    with pytest.raises(ArgumentError, match=r"math\.nextafter is not a Python function and has no rule"):
        inspect(math.nextafter, 1.0, 2.0)


def test_sizes() -> None:
    def f(a, x):
        b = np.exp(a)
        for _ in range(10):
            x = math.sin(x)
        return np.sum(b * b) + x

    seen = inspect(f, np.ones(100), 0.5)
    found = {(k.how, k.what, k.pos.line): (size, entries) for k, size, entries in seen.sizes()}
    first = f.__code__.co_firstlineno
    assert found[("captured", "b", first + 1)] == (800, 0)
    (pushed,) = [v for (how, what, _), v in found.items() if how == "pushed" and what == "x"]
    assert pushed == (10 * (sys.getsizeof(1.0) + 8), 10)


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from tests.inspection.test_stages import ARRAY, loop, mixed
from mooncake_py import inspect
from mooncake_py.inspection.stages import STAGES
for f, args in ((loop, (0.5, 3)), (mixed, (ARRAY, 1.0))):
    seen = inspect(f, *args)
    print(seen, *map(seen.stage, STAGES), seen.html(), sep="\\n")
"""


def test_the_same_in_every_process() -> None:
    code = SCRIPT.format(path=sys.path)
    outs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": s},
        ).stdout
        for s in ("1", "2")
    ]
    assert outs[0] == outs[1] and len(outs[0]) > 10_000


# -- pictures --


@pytest.mark.parametrize("graphviz", [True, False])
def test_pictures(graphviz: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if graphviz and shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    if not graphviz:
        monkeypatch.setattr(shutil, "which", lambda name: None)
    seen = inspect(mixed, ARRAY, 1.0)
    root = ElementTree.fromstring(seen._repr_svg_())
    space = "{http://www.w3.org/2000/svg}"
    graphs = root.findall(f".//{space}svg")
    assert [g.get("data-cfg") for g in graphs] == ["forward", "pullback"]
    for g, fn in zip(graphs, (seen.derived.forward, seen.derived.pullback), strict=True):
        rects = g.findall(f".//{space}rect")
        assert len(rects) == len(fn.blocks)
        assert any("back" in (e.get("class") or "") for e in g.findall(f"{space}path"))
        width, height = float(g.get("width", 0)), float(g.get("height", 0))
        places = [tuple(float(r.get(k, 0)) for k in ("x", "y", "width", "height")) for r in rects]
        assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in places)
        for i, (x, y, w, h) in enumerate(places):
            for u, v, p, q in places[:i]:
                assert x + w <= u or u + p <= x or y + h <= v or v + q <= y, "blocks lie over each other"


def test_in_a_notebook() -> None:
    text = inspect(loop, 0.5, 3)._repr_html_()
    assert text.startswith("<iframe") and "srcdoc=" in text


# -- the page in a browser --

PROBE = """
<script>
{
const probe = {};
const of = (cfg, text) => [...document.querySelectorAll('svg[data-cfg=' + cfg + '] .stmt')]
  .find(e => e.textContent.includes(text));
const target = of('forward', 'math.sin');
const box = target.getBoundingClientRect();
probe.drawn = box.width > 20 && box.height > 5;
probe.blocks = [...document.querySelectorAll('svg .block rect')].every(r => r.getBoundingClientRect().width > 10);
target.dispatchEvent(new Event('mouseenter'));
probe.lit = [...document.querySelectorAll('.stmt.on')].map(e => e.textContent);
probe.line = [...document.querySelectorAll('.line.on')].map(e => e.textContent);
const tip = document.getElementById('fragments');
probe.tip = getComputedStyle(tip).display !== 'none' ? tip.textContent : '';
target.dispatchEvent(new Event('mouseleave'));
probe.after = document.querySelectorAll('.on.stmt').length + (getComputedStyle(tip).display !== 'none');
document.querySelectorAll('.tab')[5].click();
const open = [...document.querySelectorAll('.panel')].filter(e => getComputedStyle(e).display !== 'none');
probe.panel = open.length === 1 ? open[0].textContent : '';
document.body.innerHTML = '<pre id="probe">' + btoa(unescape(encodeURIComponent(JSON.stringify(probe)))) + '</pre>';
}
</script></body>"""


def in_browser(page: str, tmp_path: Path) -> dict[str, Any]:
    """What the probe finds when the page, with it, is open in headless Chromium."""
    import base64

    assert CHROMIUM is not None
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r'<pre id="probe">([^<]*)</pre>', done.stdout)
    assert found is not None, done.stdout[-2000:]
    result: dict[str, Any] = json.loads(base64.b64decode(found[1]))
    return result


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is installed: the page cannot be opened")
def test_page_draws_and_reacts_in_chromium(tmp_path: Path) -> None:
    seen = in_browser(inspect(loop, 0.5, 3).html(), tmp_path)
    assert seen["drawn"] and seen["blocks"]
    assert any("math.sin" in t for t in seen["lit"]) and any("math.cos" in t for t in seen["lit"])
    assert len(seen["line"]) == 1 and "x = math.sin(x) * 1.01" in seen["line"][0]
    assert "forward:" in seen["tip"] and "pullback:" in seen["tip"] and "math.cos" in seen["tip"]
    assert seen["after"] == 0
    assert "ops.pull" in seen["panel"]


# -- from a shell --


def shell(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "mooncake_py", *args], capture_output=True, text=True, env=env, cwd=cwd
    )


@on_one_python(2)
def test_shell(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text("import numpy as np\n" + getsource(mixed))
    given = ("--args", "np.array([0.5, 1.5, 2.5]), 1.0")
    where = "ours:mixed"
    done = shell("inspect", where, *given, cwd=tmp_path)
    assert done.returncode == 0 and "rule of numpy.exp inlined" in done.stdout
    done = shell("inspect", where, *given, "--stage", "pullback", "--colour", "always", cwd=tmp_path)
    assert done.stdout.startswith("\x1b[1mfn mixed")
    done = shell("inspect", where, *given, "--diff", "normalised", "forward", cwd=tmp_path)
    assert done.stdout.startswith("--- normalised")
    done = shell("inspect", where, *given, "--html", str(tmp_path / "page.html"), cwd=tmp_path)
    assert "</html>" in (tmp_path / "page.html").read_text() and "wrote" in done.stdout
    (tmp_path / "mine.py").write_text("def f(x):\n    return x * x\n")
    done = shell("inspect", "mine.py:f", "--args", "2.0", cwd=tmp_path)
    assert done.returncode == 0 and "return x * x" in done.stdout
    for wrong in (["mixed"], ["nowhere:f"], [where], [where, *given, "--stage", "other"], [where, "--args", "1.0,,"]):
        done = shell("inspect", *wrong, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr and "Traceback" not in done.stderr
