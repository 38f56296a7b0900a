"""Arrays from outside that a run writes to, reached in many ways: the derivative, and what is left outside."""

from __future__ import annotations

import itertools
import linecache
from typing import Any, ClassVar

import numpy as np
import pytest

from mooncake_py import jacobian, value_and_grad
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.run import ARRAYS, NOTHING, OBJECTS

PRELUDE = """
import numpy as np, functools, collections, types
from dataclasses import dataclass
from typing import NamedTuple, Any

class Kept:
    def __init__(self, buf):
        self.buf = buf
    def get(self):
        return self.buf
    def put(self, x):
        self.buf[1] = x[0] * x[1]
@dataclass
class Data:
    buf: Any
class Named(NamedTuple):
    buf: Any
    k: int

LOG, HOLDER = [], types.SimpleNamespace()
def same(v):
    return v
def fill(b, x):
    b[1] = x[0] * x[1]
"""

SOURCES = {
    "name": ("G = np.zeros(4)", "G"),
    "list": ("L = [np.zeros(4), np.ones(4)]", "L[0]"),
    "dict": ("D = {'b': np.zeros(4)}", "D['b']"),
    "object": ("S = Kept(np.zeros(4))", "S.buf"),
    "class": ("class S:\n    b = np.zeros(4)", "S.b"),
    "function": ("def S(): pass\nS.b = np.zeros(4)", "S.b"),
    "module": ("M = types.ModuleType('M'); M.b = np.zeros(4)", "M.b"),
    "tuple": ("T = (np.zeros(4), 3)", "T[0]"),
    "view": ("B = np.zeros(8); G = B[::2]", "B[::2]"),
}
WAYS = {
    "direct": ("pass", "{s}"),
    "local": ("a = {s}", "a"),
    "list": ("a = [1.0, {s}]", "a[1]"),
    "tuple": ("a = (1.0, {s})", "a[1]"),
    "dict": ("a = dict(u={s})", "a['u']"),
    "object": ("o = Kept({s})", "o.buf"),
    "dataclass": ("o = Data({s})", "o.buf"),
    "named tuple": ("o = Named({s}, 1)", "o.buf"),
    "closure": ("def g(): return {s}", "g()"),
    "lambda": ("g = lambda: {s}", "g()"),
    "call": ("pass", "same({s})"),
    "asarray": ("a = np.asarray({s})", "a"),
    "reshape": ("a = {s}.reshape(4, 1)", "a[:, 0]"),
    "view": ("a = {s}.view()", "a[:]"),
    "append": ("a = []; a.append({s})", "a[-1]"),
    "nested": ("a = [[{s}], {{'k': [{s}]}}]", "a[1]['k'][0]"),
    "deque": ("a = collections.deque([{s}])", "a[0]"),
    "branch": ("a = {s} if x[0] > 0 else np.zeros(4)", "a"),
    "partial": ("g = functools.partial(same, {s})", "g()"),
    "generator": ("def g(): yield {s}", "next(g())"),
    "setattr": ("o = Kept(None); setattr(o, 'buf', {s})", "getattr(o, 'buf')"),
    "starred": ("a = [0, *[{s}]]", "a[1]"),
    "namespace": ("o = types.SimpleNamespace(buf={s})", "o.buf"),
    "method": ("o = Kept({s})", "o.get()"),
    "map": ("a = list(map(same, [{s}]))", "a[0]"),
    "list outside": ("LOG.append({s})", "LOG[-1]"),
    "object outside": ("HOLDER.z = {s}", "HOLDER.z"),
}
WRITES = {
    "item": "{t}[1] = x[0] * x[1]",
    "slice": "{t}[1:3] = x[:2] * 2",
    "whole": "{t}[...] = x[0]",
    "in place": "b = {t}; b += x[0] * x[1]",
    "slice in place": "{t}[1:] += x",
    "out": "np.multiply(x[0], np.ones(4), out={t})",
    "at": "np.add.at({t}, [1, 1], x[:2])",
    "copyto": "np.copyto({t}, x[0] * x[1])",
    "fill": "{t}.fill(x[0] * x[1])",
    "put": "np.put({t}, [1], x[0])",
    "function": "fill({t}, x)",
    "loop": "for i in range(2): {t}[i + 1] = x[i] ** 2",
    "sort": "{t}[:3] = x; {t}.sort()",
    "swap": "{t}[1], {t}[2] = x[1], x[0]",
    "method": "Kept({t}).put(x)",
    "mask": "{t}[{t} < 1] = x[0]",
}
READS = {
    "name": "{s}[1] * 3 + ({s} ** 2).sum()",
    "function": "read() * 3",
    "copy": "{s}.copy()[1] * 5",
    "product": "{s} @ {s} + np.sum({s})",
}

# Every source with every way; writes and reads take turns.
_TURNS = zip(itertools.product(SOURCES, WAYS), itertools.cycle(WRITES), itertools.cycle((*READS, "name")), strict=False)
PROGRAMS = [(source, way, write, read) for (source, way), write, read in _TURNS]


def program(source: str, way: str, write: str, read: str) -> dict[str, Any]:
    """Names of a module: `f`, and `reset` to have what is outside as it was."""
    setup, s = SOURCES[source]
    before, t = WAYS[way]
    lines = [before.format(s=s), WRITES[write].format(t=t.format(s=s)), f"return {READS[read].format(s=s)}"]
    text = f"{PRELUDE}{setup}\ndef read(): return {s}[1] * 2 + {s}.sum()\ndef f(x):\n"
    text += "".join(f"    {line}\n" for line in lines)
    text += f"def reset():\n    {s}[...] = 0.0; LOG.clear(); vars(HOLDER).clear()\ndef now(): return {s}.copy()\n"
    name = f"<{source}, {way}, {write}, {read}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return scope


@pytest.mark.parametrize(("source", "way", "write", "read"), PROGRAMS)
def test_what_is_written_outside_keeps_its_derivative(source: str, way: str, write: str, read: str) -> None:
    p = program(source, way, write, read)
    x = np.array([0.7, 1.3, 0.4])

    def plain(x: np.ndarray) -> Any:
        p["reset"]()
        return p["f"](x)

    slopes = [(plain(x + e) - plain(x - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    value, after = plain(x), p["now"]()
    for _ in range(2):
        p["reset"]()
        y, g = value_and_grad(p["f"])(x)
        assert np.isclose(y, value)
        assert np.allclose(g, slopes, rtol=1e-5, atol=1e-6)
        assert np.array_equal(p["now"](), after)


BUFFER, TABLE, GRID = np.zeros(3), np.array([1.0, 2.0, 3.0]), np.ones((2, 2))


def reads(x):
    return (TABLE * x).sum() + GRID[0] @ GRID[1]


def hands_on(x):
    return weighted(TABLE, x) + weighted(w=TABLE, x=x)


def weighted(w, x):
    out = np.empty(len(w))
    for i in range(len(w)):
        out[i] = w[i] * x
    return out.sum()


def adds_up_items(x):
    s = TABLE[0]
    for i in range(3):
        s += TABLE[i] * x
        t = TABLE[i]
        t += x
    return s


def copies(x):
    a = TABLE.copy()
    a[0] = x
    b = TABLE + 0.0
    b += x
    return a.sum() + b.sum()


def fills(x):
    BUFFER[0] = x
    return BUFFER[0]


def fills_through_a_helper(x):
    put(BUFFER, x)
    return BUFFER[0]


def put(b, x):
    b[0] = x


def fills_a_row(x):
    row = GRID[0]
    row += x
    return row.sum()


@pytest.mark.parametrize("f", [reads, hands_on, adds_up_items, copies])
def test_arrays_that_are_only_read(f: Any) -> None:
    assert may_write_outside(f) is NOTHING


@pytest.mark.parametrize("f", [fills, fills_through_a_helper, fills_a_row])
def test_arrays_that_are_written_to(f: Any) -> None:
    assert may_write_outside(f) is ARRAYS


LOG: list[float] = []


def logs_and_reads_a_table(x):
    LOG.append(1.0)
    return (TABLE * x).sum()


def test_logging_makes_no_array_one_that_changes() -> None:
    assert may_write_outside(logs_and_reads_a_table) is OBJECTS


def test_an_answer_is_not_used_for_other_values() -> None:
    scope: dict[str, Any] = {"np": np, "A": None}
    exec("def f(x):\n    if A is None: return x * 2.0\n    A[0] = x\n    return A[0] * x\n", scope)
    assert value_and_grad(scope["f"])(3.0) == (6.0, 2.0)
    scope["A"] = np.zeros(1)
    assert value_and_grad(scope["f"])(3.0) == (9.0, 6.0)
    assert scope["A"][0] == 3.0


def test_default_values_that_are_bound_again() -> None:
    buffer = np.zeros(2)

    def inner(x, out=buffer):
        out[0] += x * x
        return out

    def f(x):
        inner(x)
        inner(2 * x)
        return buffer[0] + buffer.sum()

    assert value_and_grad(f)(3.0) == (90.0, 60.0)
    assert buffer[0] == 45.0


def test_rows_of_a_jacobian_with_a_buffer_from_outside() -> None:
    buffer = np.zeros(3)

    def f(x):
        buffer[:] = buffer * 0.0 + x
        buffer[1:] *= buffer[:-1]
        return buffer.copy()

    x = np.array([2.0, 3.0, 5.0])
    assert np.allclose(jacobian(f)(x), [[1, 0, 0], [3, 2, 0], [0, 5, 3]])
    assert buffer.tolist() == [2.0, 6.0, 15.0]


class Kept:
    buffers: ClassVar[dict[str, Any]] = {}

    @classmethod
    def get(cls, key):
        if key not in cls.buffers:
            cls.buffers[key] = np.zeros(2)
        return cls.buffers[key]


def test_buffers_that_a_class_method_gives() -> None:
    def f(x):
        Kept.get("a")[0] = x
        Kept.get("b")[:] = Kept.get("a")[0] * x
        return Kept.get("a").sum() * Kept.get("b").sum()

    gradient = value_and_grad(f)
    for x in (2.0, 3.0, 5.0):
        assert np.allclose(gradient(x), (2 * x**3, 6 * x**2))
        assert Kept.buffers["a"].tolist() == [x, 0.0] and Kept.buffers["b"].tolist() == [x * x, x * x]
