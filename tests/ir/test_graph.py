"""Order, dominators, loops and liveness of small graphs."""

from __future__ import annotations

from mooncake_py.ir import graph
from mooncake_py.ir.parser import parse

NESTED = parse("""
fn f(%0 n):
bb0():
  %1 = builtins.range(%0)
  %2 = builtins.iter(%1)
  goto bb1(0)
bb1(%3):
  for %2, bb2(), bb6()
bb2(%4):
  %5 = operator.lt(%4, 3)
  goto bb3(%3)
bb3(%6):
  branch %5, bb4(), bb5()
bb4() handler bb7():
  %7 = operator.add(%6, %4)
  goto bb3(%7)
bb5():
  goto bb1(%6)
bb6():
  return %3
bb7(%8):
  raise %8
bb8():
  return None
""")
V = {v.id: v for b in NESTED.blocks for v in (*b.params, *(s.out for s in b.stmts))} | {0: NESTED.params[0]}


def test_predecessors_include_handlers() -> None:
    preds = graph.predecessors(NESTED)
    assert preds[3] == [2, 4] and preds[7] == [4] and preds[1] == [0, 5] and preds[8] == []


def test_order_and_dominators() -> None:
    order = graph.rpo(NESTED.blocks)
    assert order[0] == 0 and 8 not in order and len(order) == 8
    idom = graph.dominators(NESTED)
    assert idom[0] is None and idom[6] == 1 and idom[4] == 3 and idom[7] == 4
    assert graph.dominates(idom, 1, 7) and not graph.dominates(idom, 4, 5)


def test_loops() -> None:
    loops = graph.loops(NESTED)
    assert loops == {1: {1, 2, 3, 4, 5}, 3: {3, 4}}
    assert list(loops) == [1, 3]
    assert graph.loop_depth(NESTED) == {0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 1, 6: 0, 7: 0, 8: 0}
    inner = graph.innermost_loop(NESTED)
    assert inner[4] == 3 and inner[5] == 1 and inner[6] is None


def test_liveness() -> None:
    live_in, live_out = graph.liveness(NESTED)
    assert live_in[3] == {V[2], V[4], V[5]}  # its parameter is its own
    assert live_out[5] == {V[2]}
    assert live_in[6] == {V[3]} and live_out[6] == set()


def test_use_counts() -> None:
    counts = graph.use_counts(NESTED)
    assert counts[V[6]] == 2 and counts[V[4]] == 2 and V[0] in counts


def test_irreducible_graph() -> None:
    fn = parse("""
    fn f(%0):
    bb0():
      branch %0, bb1(), bb2()
    bb1():
      goto bb2()
    bb2():
      branch %0, bb1(), bb3()
    bb3():
      return %0
    """)
    assert graph.loops(fn) == {}
    assert graph.dominators(fn) == {0: None, 1: 0, 2: 0, 3: 2}
