"""scipy.sparse: what picks numbers out of matrices and puts them together: slices, diagonals, triangles, stacks.

Where every number of the result came from is found by doing the same to matrices whose numbers are their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule
from mooncake_py.tangents import CoDual, take_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_matrix import numbers_fdata
from mooncake_rules.scipy_sparse import (
    STORED,
    Sparse,
    complete,
    data_shadow,
    dense_fdata,
    give,
    is_put_in_order,
    matrix_of,
    methods,
    places,
    tangent_of,
)
from mooncake_rules.scipy_sparse_made import ZEROS, shared_shadow


def numbered(a: Any, start: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """A matrix like a, whose stored numbers count its places from start on; the rows and columns of these places."""
    row, col = (v.ravel().astype(np.int64) for v in places(a))
    row, col = row[row >= 0], col[row >= 0]
    width = a.shape[-1]
    at = np.unique(row * width + col)
    r, c = at // width, at % width
    ids = np.arange(start, start + len(at), dtype=float)
    if a.ndim == 1:
        return type(a)((ids, (c,)), shape=a.shape), r, c
    full = sp.coo_array((ids, (r, c)), shape=a.shape)
    return type(a)(full).asformat(a.format), r, c


def rearranged(f: Any, given: list[CoDual], build: Any) -> tuple[Any, Any]:
    """The value and pullback of `build(matrices)`, which does nothing but pick and place their numbers."""
    y = build([a.primal for a in given])
    for a in given if sp.issparse(y) else ():
        if y is a.primal:
            return CoDual(y, a.fdata), _nothing
        if (held := shared_shadow(y, a)) is not None:
            return CoDual(y, tangent_of(y, held)), _nothing
    start, like, spots = 1, [], []
    for a in given:
        p, r, c = numbered(a.primal, start)
        like.append(p)
        spots.append((start, r, c))
        start += len(r)
    ids = build(like)
    if sp.issparse(y):
        y = complete(y, ids)
        fy: Any = tangent_of(y)
    else:
        y = y if isinstance(y, np.matrix) else np.asarray(y)[()] if np.ndim(y) == 0 else np.asarray(y)
        fy = dense_fdata(y)

    def pullback(dy: Any) -> Any:
        if sp.issparse(y):
            d = take_fdata(fy.f["data"], None)
            if d is None:
                return None
            row, col = (v.ravel() for v in places(ids))
            source, t = ids.data.ravel()[row >= 0], matrix_of(y, d)
            t = np.asarray(t[row[row >= 0], col[row >= 0]]).ravel()
        else:
            dy = take_fdata(numbers_fdata(y, fy), dy)
            if dy is None:
                return None
            source, t = np.ravel(ids), np.ravel(dy)
        sums = np.zeros(start, np.asarray(t).dtype)
        there = source > 0
        np.add.at(sums, source[there].astype(np.int64), t[there])
        for a, (first, r, c) in zip(given, spots, strict=True):
            if data_shadow(a) is not None and len(r):
                where, width = r * a.primal.shape[-1] + c, a.primal.shape[-1]
                give(
                    a, lambda i, j, w=where, n=width, k=first: sums[k + np.searchsorted(w, i.astype(np.int64) * n + j)]
                )
        return None

    return CoDual(y, fy), pullback


def _nothing(_: Any) -> None:
    return None


def _picked(f: Any, orders: bool = True) -> None:
    """A method of one matrix; what it is given besides says what to pick. `orders`: it may put the matrix in order."""

    @rrule(f, types=(Sparse,))
    def rule(self: CoDual, *args, **kwargs):
        plain = [v.primal if type(v) is CoDual else v for v in args]
        options = {k: v.primal if type(v) is CoDual else v for k, v in kwargs.items()}
        return rearranged(f, [self], lambda ms: f(_unshared(ms[0]) if orders else ms[0], *plain, **options))


def _unshared(a: Any) -> Any:
    """One that methods may put in order."""
    return a.copy() if a.format == "coo" else a


for _name in ("__getitem__", "diagonal", "todense", "tobsr", "getrow", "getcol"):
    for _f in methods(_name):
        _picked(_f)


def in_diagonals(a, copy):
    return a.todia(copy)


_picked(in_diagonals)
for _f in methods("todia"):

    @overlay(_f)
    def todia(self, copy=False):
        if is_put_in_order(self, "todia"):
            self.sum_duplicates()
        return in_diagonals(self, copy)


for _f in methods("reshape"):
    _picked(_f, orders=False)
for _f in (sp.tril, sp.triu):
    _picked(_f)


def _stacked(f: Any) -> None:
    """A function of a list of matrices, or of lists of them."""

    @rrule(f)
    def rule(blocks: CoDual, *args, **kwargs):
        plain = [v.primal if type(v) is CoDual else v for v in args]
        options = {k: v.primal if type(v) is CoDual else v for k, v in kwargs.items()}
        given: list[CoDual] = []
        converted: list[Any] = []

        def slots(x: Any, fx: Any) -> Any:
            if sp.issparse(x):
                block, back = STORED[x.format](CoDual(x, fx)) if x.format in STORED else (CoDual(x, fx), None)
                given.append(block)
                converted.append(back)
                return len(given) - 1
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.size:
                dense = sp.coo_matrix(x)
                given.append(CoDual(dense, tangent_of(dense)))
                return len(given) - 1
            if isinstance(x, (list, tuple)):
                inner = fx.f if hasattr(fx, "f") else fx
                return [slots(v, None if inner is None else inner[i]) for i, v in enumerate(x)]
            if x is not None and np.asarray(x).dtype.kind in "fc" and np.size(x):
                raise NotDifferentiated(
                    "numbers among the blocks of a sparse matrix are not differentiated: use arrays"
                )
            return x

        def cotangents(slot: Any, x: Any) -> Any:
            """Of dense blocks; those of sparse ones have been given to their numbers."""
            if isinstance(slot, list):
                of = [cotangents(v, w) for v, w in zip(slot, x, strict=True)]
                return (tuple(of) if isinstance(x, tuple) else of) if any(t is not None for t in of) else None
            if not isinstance(x, np.ndarray) or type(slot) is not int:
                return None
            block = given[slot]
            d = take_fdata(block.fdata.f["data"], None)
            if d is None or not x.all():
                return None if d is None else ZEROS
            return (
                sp.coo_matrix((d, (block.primal.row, block.primal.col)), shape=block.primal.shape)
                .toarray()
                .reshape(x.shape)
            )

        def filled(slot: Any, ms: Any) -> Any:
            if isinstance(slot, list):
                return [filled(v, ms) for v in slot]
            return ms[slot] if type(slot) is int else slot

        where = slots(blocks.primal, blocks.fdata)
        y, pull = rearranged(f, given, lambda ms: f(filled(where, ms), *plain, **options))

        def pullback(dy: Any) -> Any:
            pull(dy)
            for back in converted:
                if back is not None:
                    back(None)
            return (cotangents(where, blocks.primal),)

        return y, pullback


for _f in (sp.vstack, sp.hstack, sp.bmat, sp.block_array, sp.block_diag):
    _stacked(_f)

# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 2, 2, 0, 3, 1])
_D = np.array([4.0, 0.5, 3.0, 0.2, 5.0, 0.7, 2.0, 0.3])
_V = np.array([0.5, -1.0, 2.0, 0.3])


def _csr(d):
    return sp.csr_array((d, (_ROW, _COL)), shape=(4, 4))


def _sliced(d, v):
    a = _csr(d)
    return a[1:3] @ v, a[1, 1], a[:, [0, 2, 2]].toarray(), a[[0, 3]][:, 1:].sum(), a[2] @ v, a[::2, ::2].todense()


def _of_others(d):
    a = sp.csc_matrix((d, (_ROW, _COL)), shape=(4, 4))
    b = sp.coo_array((d, (_ROW, _ROW * 0 + 1)), shape=(4, 4))
    return a[:, 1].toarray(), a[1, 2], b.todense(), a.diagonal(), b.diagonal(1), a.reshape(2, 8).toarray()


def _joined(d, v):
    a = _csr(d)
    up = sp.vstack([a, a * 2.0]) @ v
    wide = sp.hstack([a, a.T]).toarray()
    return up, wide, sp.block_diag([a, a[:2]]).toarray(), sp.bmat([[a, None], [None, a]]).sum(axis=1)


def _bordered(d, v):
    a, row = _csr(d), v[None, :]
    old = sp.csr_matrix((d, (_ROW, _COL)), shape=(4, 4))
    wide = sp.hstack((a, v[:, None], row.T * v[0]), format="csr") @ np.arange(6.0)
    return wide, sp.vstack([row, old, np.ones((1, 4))]).toarray(), sp.block_diag((row, a)) @ np.append(v, v)


def _with_diagonal(d, v):
    a = sp.csc_matrix((d, (_ROW, _COL)), shape=(4, 4))
    a.setdiag(v)
    return a.toarray()


def _by_copies(d):
    """What SciPy makes a triplet of first, in code of its own."""
    a = _csr(d)
    return sp.kron(a, a * 2.0).toarray(), sp.kronsum(a, a).toarray(), sp.find(a)[2]


CASES: list[RuleCase] = [
    case(_by_copies, _D), case(_with_diagonal, _D, _V),
    case(_bordered, _D, _V), case(lambda v: sp.bmat([[_csr(_D), v[:, None]], [v[None, :], None]]).toarray(), _V),
    case(_sliced, _D, _V), case(_of_others, _D), case(_joined, _D, _V), case(lambda d: _csr(d).diagonal(-1), _D),
    case(lambda d: (sp.tril(_csr(d)).toarray(), sp.triu(_csr(d), 1).toarray()), _D),
    case(lambda d: _csr(d).trace(), _D),
    case(lambda d: _csr(d).tobsr((2, 2)).toarray() + _csr(d).todia().toarray(), _D),
]  # fmt: skip
