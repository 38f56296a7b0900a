"""List displays that only a function gets which takes a tuple as well."""

from __future__ import annotations

import numpy as np

from mooncake_py import inspect
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.tangents import ListShadow


def _made(f, *args):
    derived = inspect(f, *args).derived
    assert derived is not None
    return [s.fn for b in derived.forward.blocks for s in b.stmts]


def test_arrays_that_are_joined_need_no_list():
    a = np.ones((2, 3))
    for f in (
        lambda x, y: np.concatenate([x, y, x]),
        lambda x, y: np.vstack([x, y]) * 2.0,
        lambda x, y: np.stack([x, y], axis=1),
    ):
        made = _made(f, a, a)
        assert any(is_const(fn, ops.build_tuple) for fn in made)
        assert not any(is_const(fn, ListShadow) for fn in made)


def test_a_list_that_somebody_else_has_stays_one():
    def f(x, y):
        held = [x, y]
        z = np.concatenate(held)
        held[0] = y
        return z * 2.0, held[0]

    assert any(is_const(fn, ListShadow) for fn in _made(f, np.ones(2), np.ones(2)))
