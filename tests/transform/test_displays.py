"""List displays that only a function gets which takes a tuple as well."""

from __future__ import annotations

import operator

import numpy as np

from mooncake_py import inspect
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.tangents import ListShadow
from tests.derive import all_sites, derivation_of


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


def _given(x, k=1.0, *, m=0.5):
    return x * k + m


def _given_on(f, x, *args, **kwargs):
    return f(x, *args, **kwargs)


def test_arguments_that_are_given_on_are_given_one_by_one():
    def options_of(p):
        options = {"m": p}
        return _given_on(_given, p, **options)

    for f in (
        lambda p: _given_on(_given, p),
        lambda p: _given_on(_given, p, p, m=p),
        lambda p: _given_on(_given, p, **{"m": p, "k": 2.0}),
        lambda p: _given(*(p, 2.0)) + sum((p, *(p, 1.0), p)),
        options_of,
    ):
        assert all_sites(f, 0.7) == []
        assert not any(is_const(fn, x) for fn in _made(f, 0.7) for x in (ops.build_list, ops.dict_merge, ops.call_ex))


def test_what_is_put_at_the_end_of_a_list_is_appended():
    def f(xs):
        out, log = [], []
        for x in xs:
            out += [x * x]
            out.extend((x, out[0]))
            log += out[:1]
        return sum(out) + log[0]

    forward = derivation_of(f, [0.4, 0.7]).forward
    assert sum(is_const(s.fn, operator.iadd) for b in forward.blocks for s in b.stmts) == 0
    assert sum(is_const(s.fn, ops.build_list) and bool(s.args) for b in forward.blocks for s in b.stmts) == 0
