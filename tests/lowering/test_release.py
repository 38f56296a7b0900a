"""Slots of arrays are emptied by their last read; nothing else is."""

from __future__ import annotations

import dis
import gc
import sys
import tracemalloc
import weakref
from types import FunctionType

import numpy as np
import pytest

from mooncake_py import value_and_grad, value_and_pullback
from mooncake_py.ir.parser import parse
from mooncake_py.lowering import lower

LOOP = """
fn f(%0 x, %1 n):
bb0():
  %2 = builtins.range(%1)
  %3 = builtins.iter(%2)
  goto bb1(%0)
bb1(%4 y):
  for %3, bb2(), bb3()
bb2(%5):
  %6 = operator.mul(%4, %4)
  %7 = operator.add(%6, %4)
  goto bb1(%7)
bb3():
  %8 = operator.add(%4, %0)
  return %8
"""


def test_loops_keep_what_they_read_again() -> None:
    fn = parse(LOOP)
    heavy = {v for b in fn.blocks for v in (*b.params, *(s.out for s in b.stmts))} | {*fn.params}
    plain = FunctionType(lower(fn), {})
    emptied = FunctionType(lower(fn, heavy=heavy), {})
    for n in range(4):
        assert emptied(0.5, n) == plain(0.5, n)


class Thing:
    pass


def test_an_emptied_slot_lets_go() -> None:
    fn = parse(
        """
fn f(%0 make, %1 look):
bb0():
  %2 t = %0()
  %3 = builtins.id(%2)
  %5 = builtins.repr(%2)
  %4 = %1()
  return %4
"""
    )
    t = fn.blocks[0].stmts[0].out
    refs: list[weakref.ref] = []

    def make() -> Thing:
        thing = Thing()
        refs.append(weakref.ref(thing))
        return thing

    for heavy, gone in ((set(), False), ({t}, True)):
        f = FunctionType(lower(fn, heavy=heavy), {})
        assert f(make, lambda: refs[-1]() is None) is gone


def test_parameters_of_the_caller_stay() -> None:
    x = np.arange(4.0)
    value_and_grad(lambda x: np.sum(x * x * 2.0))(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_pullback_may_be_called_again() -> None:
    _, pullback = value_and_pullback(lambda x: np.sum(np.sin(x) * np.exp(-x * x)), np.linspace(0.0, 1.0, 100_000))
    first = pullback(1.0)[0].copy()
    assert np.array_equal(pullback(1.0)[0], first) and np.array_equal(pullback(1.0)[0], first)


@pytest.mark.skipif(sys.gettrace() is not None, reason="measures memory")
def test_peak_of_array_code() -> None:
    """What is held at once: what the reverse needs, and few temporaries."""
    x = np.linspace(-1.0, 1.0, 100_000)
    g = value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x)))
    g(x)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    g(x)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 4.5 * x.nbytes


def test_scalar_code_is_left_alone() -> None:
    from tests.derive import rule_of

    def f(x):
        for _ in range(3):
            x = x * x + 1.0
        return x

    rule = rule_of(f, 0.5)
    names = [i.opname for i in dis.get_instructions(rule.forward)]
    assert "LOAD_FAST_AND_CLEAR" not in names
