"""Where the time of a gradient goes, by the user's lines: primal, forward and pullback, and what is kept between them.

The three functions are run from their IR with a clock put in wherever the line changes: what a line costs is what
passed between two ticks. A call belongs to the line it stands on, whatever it does inside.
"""

from __future__ import annotations

import copy
import html
import linecache
import statistics
import time
import types as pytypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooncake_py.inspection.inspect import Inspection, inspect
from mooncake_py.inspection.sizes import nbytes
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function
from mooncake_py.lowering import lower
from mooncake_py.run import Run
from mooncake_py.runtime.rule import seed_result
from mooncake_py.structure import items_of, with_items
from mooncake_py.tracebacks import entry

PHASES = ("primal", "forward", "pullback")


@dataclass(frozen=True, slots=True)
class Stored:
    """A value kept for the reverse run: its bytes, the entries on its stack (0 for one that is kept once)."""

    name: str
    line: int | None
    bytes: int
    entries: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Seconds per run by line and phase, and what is kept; `str()` is the table."""

    function: str
    filename: str
    lines: dict[int, dict[str, float]]
    stored: tuple[Stored, ...]
    runs: int

    def total(self, phase: str) -> float:
        """Seconds of one run of a phase."""
        return sum(times.get(phase, 0.0) for times in self.lines.values())

    def kept(self, line: int) -> int:
        """Bytes that a line's values take until the reverse run."""
        return sum(s.bytes for s in self.stored if s.line == line)

    def __str__(self) -> str:
        head = f"{self.function} ({self.filename}), median of {self.runs} runs"
        out = [head, f"{'line':>6} {'primal':>10} {'forward':>10} {'pullback':>10} {'kept':>10}  source"]
        for n in sorted(self.lines):
            times = [_time(self.lines[n].get(p, 0.0)) for p in PHASES]
            source = linecache.getline(self.filename, n).rstrip()
            out.append(f"{n:>6} {times[0]:>10} {times[1]:>10} {times[2]:>10} {_bytes(self.kept(n)):>10}  {source}")
        totals = [_time(self.total(p)) for p in PHASES]
        kept = _bytes(sum(s.bytes for s in self.stored))
        out.append(f"{'total':>6} {totals[0]:>10} {totals[1]:>10} {totals[2]:>10} {kept:>10}")
        for s in sorted(self.stored, key=lambda s: -s.bytes):
            often = f" in {s.entries} entries" if s.entries else ""
            out.append(f"  kept: {s.name} of line {s.line}, {_bytes(s.bytes)}{often}")
        return "\n".join(out)

    def __repr__(self) -> str:
        return f"<profile of {self.function}, {self.runs} runs>"

    def svg(self) -> str:
        """A picture: for every line a bar for each phase, to one scale."""
        numbers = sorted(self.lines)
        most = max((t for n in numbers for t in self.lines[n].values()), default=0.0) or 1.0
        width, left, row = 900, 470, 34
        height = row * len(numbers) + 40
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" '
            'font-size="11">'
        ]
        for i, (phase, colour) in enumerate(_COLOURS.items()):
            out.append(f'<rect x="{left + 130 * i}" y="8" width="10" height="10" fill="{colour}"/>')
            text = f"{phase} {_time(self.total(phase))}"
            out.append(f'<text x="{left + 130 * i + 14}" y="17">{text}</text>')
        for k, n in enumerate(numbers):
            y = 30 + row * k
            source = linecache.getline(self.filename, n).rstrip()[:60]
            out.append(f'<text x="4" y="{y + 18}" xml:space="preserve">{n:>5} {html.escape(source)}</text>')
            for i, (phase, colour) in enumerate(_COLOURS.items()):
                t = self.lines[n].get(phase, 0.0)
                out.append(
                    f'<rect class="bar" data-line="{n}" data-phase="{phase}" x="{left}" y="{y + 9 * i}" '
                    f'width="{(width - left - 90) * t / most:.1f}" height="8" fill="{colour}">'
                    f"<title>{phase}: {_time(t)}</title></rect>"
                )
            kept = self.kept(n)
            if kept:
                out.append(f'<text x="{width - 80}" y="{y + 18}">{_bytes(kept)}</text>')
        return "\n".join([*out, "</svg>"])

    def html(self) -> str:
        """The picture and the table as one self-contained page."""
        return (
            f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{html.escape(self.function)}</title></head>'
            f'<body style="font-family:sans-serif">{self._repr_html_()}</body></html>'
        )

    def _repr_html_(self) -> str:
        return f"{self.svg()}<pre>{html.escape(str(self))}</pre>"


_COLOURS = {"primal": "#8a9", "forward": "#58c", "pullback": "#c75"}


def _time(t: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if t >= size:
            return f"{t / size:.2f} {unit}"
    return f"{t * 1e9:.0f} ns" if t else "-"


def _bytes(n: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} B" if n else "-"


class Clock:
    """Adds up what passes between its ticks, by the line that was running; one run at a time."""

    def __init__(self) -> None:
        self.runs: list[dict[int, tuple[int, int]]] = []  # by line: nanoseconds, ticks
        now = time.perf_counter_ns
        times: dict[int, int] = {}
        ticks: dict[int, int] = {}
        line, began = 0, now()

        def tick(to: int) -> None:
            nonlocal line, began
            t = now()
            times[line] = times.get(line, 0) + t - began
            ticks[line] = ticks.get(line, 0) + 1
            line, began = to, now()

        def finish() -> None:
            tick(0)
            self.runs.append({n: (t, ticks[n]) for n, t in times.items() if n})
            times.clear()
            ticks.clear()

        self.tick, self.finish = tick, finish

    def per_line(self, overhead: float) -> dict[int, float]:
        """Seconds by line, without what the ticks themselves cost: the median of the runs."""
        lines = {n for run in self.runs for n in run}
        out = {}
        for n in lines:
            found = [max(t - overhead * k, 0.0) for t, k in (run.get(n, (0, 0)) for run in self.runs)]
            out[n] = statistics.median(found) * 1e-9
        return out


def _overhead() -> float:
    """Nanoseconds that pass between two ticks with nothing between them."""
    best = float("inf")
    for _ in range(5):
        clock = Clock()
        for _ in range(200):
            clock.tick(1)
        clock.finish()
        t, ticks = clock.runs[0][1]
        best = min(best, t / ticks)
    return best


def clocked(fn: Function, tick: Callable[[int], None]) -> Function:
    """The same function with a tick wherever the line changes."""
    fresh = fresh_beside(fn)
    blocks = []
    for b in fn.blocks:
        stmts: list[Call] = []
        last = None
        for item in (*b.stmts, b.term):
            line = item.pos.line
            if line is not None and line != last and b.handler is None:
                last = line
                stmts.append(Call(fresh.var(), Const(tick), (Const(line),), (), item.pos))
            if isinstance(item, Call):
                stmts.append(item)
        blocks.append(CFGBlock(b.id, b.params, tuple(stmts), b.term, b.handler))
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)


@entry
def profile(f: Callable[..., Any], *args: Any, seconds: float = 0.3, quiet: bool = False, **kwargs: Any) -> Profile:
    """Where the time of the gradient of `f(*args, **kwargs)` goes, by source line: printed as a table, and returned.

    f is run for about `seconds`, every time on copies of its arguments: plainly, forwards, and backwards with a
    cotangent of ones. The object shows itself as a picture in a notebook, `svg()` and `html()` give it as text.
    `quiet` prints nothing. Raises as `inspect`.
    """
    seen = inspect(f, *args, **kwargs)
    g = seen.function
    clocks = {phase: Clock() for phase in PHASES}
    primal = _function(clocked(seen.stages["normalised"], clocks["primal"].tick), g, g.__code__, g.__closure__)
    forward = _function(clocked(seen.derived.forward, clocks["forward"].tick), g)
    pullback = _function(clocked(seen.derived.pullback, clocks["pullback"].tick), g)
    rule = copy.copy(seen.rule)
    rule.forward = forward
    tree = seen.derived.result_tree
    n = len(g.__code__.co_freevars)
    runs = 0
    stored: tuple[Stored, ...] = ()
    until = time.perf_counter() + seconds
    while runs < 3 or (time.perf_counter() < until and runs < 10_000):
        _run(clocks["primal"], primal, _call_arguments(seen, n))
        inputs = _fresh(seen, n)
        with Run() as here:
            here.wary = seen.inferred.wary
            y, fy, captures = _run(clocks["forward"], lambda *a: rule.run(a, [None] * len(a)), inputs)
        if not runs:
            stored = _stored(seen, captures)
        dy = seed_result(tree, y, fy, _ones(y))
        _run(clocks["pullback"], pullback, (captures, dy))
        runs += 1
    overhead = _overhead()
    lines: dict[int, dict[str, float]] = {}
    for phase, clock in clocks.items():
        for line, t in clock.per_line(overhead).items():
            lines.setdefault(line, {})[phase] = t
    code = g.__code__
    found = Profile(code.co_qualname, code.co_filename, dict(sorted(lines.items())), stored, runs)
    if not quiet:
        print(found)
    return found


def _function(
    fn: Function, g: pytypes.FunctionType, like: pytypes.CodeType | None = None, closure: Any = None
) -> Callable[..., Any]:
    code = lower(fn, like=like, derived=like is None)  # what is like the code of g is its own
    made = pytypes.FunctionType(code, g.__globals__, g.__name__, g.__defaults__ if like else None, closure)
    if like is not None:
        made.__kwdefaults__ = g.__kwdefaults__
    return made


def _fresh(seen: Inspection, n: int) -> list[Any]:
    """The parameters in copies, and the cells."""
    m = len(seen.values) - n
    return [*copy.deepcopy(seen.values[:m]), *seen.values[m:]]


def _call_arguments(seen: Inspection, n: int) -> list[Any]:
    """The parameters as positional arguments; those that only have a name, or gather others, are left to defaults."""
    return _fresh(seen, n)[: seen.function.__code__.co_argcount]


def _run(clock: Clock, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    clock.tick(0)
    out = f(*args)
    clock.finish()
    return out


def _ones(y: Any) -> Any:
    if isinstance(y, tuple):
        return with_items(y, map(_ones, items_of(y)))
    if isinstance(y, list):
        return list(map(_ones, y))
    if isinstance(y, dict):
        return {k: _ones(v) for k, v in y.items()}
    if isinstance(y, np.ndarray):
        return np.ones(y.shape, y.dtype) if y.dtype.kind in "fc" else None
    return type(y)(1) if isinstance(y, (float, complex, np.inexact)) else None


def _stored(seen: Inspection, captures: Sequence[Any]) -> tuple[Stored, ...]:
    out = []
    for k in seen.derived.kept:
        if k.how == "recomputed":
            continue
        name = (f"{k.part} of " if k.part else "") + (k.what or "a value")
        if k.how == "captured":
            out.append(Stored(name, k.pos.line, nbytes(captures[k.place[0]]), 0))
        else:
            where, i, step = k.place
            entries = captures[where][i::step]
            out.append(Stored(name, k.pos.line, sum(map(nbytes, entries)) + 8 * len(entries), len(entries)))
    return tuple(out)
