"""scipy.sparse: products of matrices element by element, and sums with dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import refuse, rrule
from mooncake_py.tangents import CoDual, take_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.numpy_matrix import numbers_fdata
from mooncake_rules.scipy_sparse import (
    Sparse,
    complete,
    dense_fdata,
    entries,
    give,
    matrix_of,
    methods,
    pattern,
    product,
    tangent_of,
    with_matrix_of,
)


def _elementwise(f: Any, self: CoDual, other: CoDual) -> tuple[Any, Any]:
    a, b = self.primal, other.primal
    if a.shape != b.shape:
        raise NotDifferentiated("sparse matrices are multiplied and differentiated element by element in one shape")
    y = complete(f(a, b), pattern(a).multiply(pattern(b)))
    fy = tangent_of(y)

    def pullback(dy):
        d = take_fdata(fy.f["data"], None)
        if d is not None:
            t = matrix_of(y, d)
            one, two = (sp.csr_array(np.conjugate(m).reshape((1, *m.shape)[-2:])) for m in (a, b))
            give(self, lambda r, c: entries(t, r, c) * entries(two, r, c))
            give(other, lambda r, c: entries(t, r, c) * entries(one, r, c))
        return None

    return CoDual(y, fy), pullback


def _multiplied(f: Any, matrices: bool) -> None:
    """`matrices`: is this the operator, which for matrices of the old kind is another product?"""
    of_matrices = product(f)

    @rrule(f, types=(Sparse, Sparse))
    def rule(self: CoDual, other: CoDual):
        if matrices and isinstance(self.primal, sp.spmatrix):
            return of_matrices(self, other)
        return _elementwise(f, self, other)


for _f in methods("multiply"):
    _multiplied(_f, False)
for _f in methods("__mul__"):
    _multiplied(_f, True)


def _extremum(f: Any, sign: float) -> None:
    """The larger, or smaller, of two matrices element by element; where they tie each has half of the cotangent."""

    @rrule(f, types=(Sparse, Sparse))
    def rule(self: CoDual, other: CoDual):
        a, b = self.primal, other.primal
        y = complete(f(a, b), pattern(a) + pattern(b))
        fy = tangent_of(y)

        def pullback(dy):
            d = take_fdata(fy.f["data"], None)
            if d is not None:
                t = matrix_of(y, d)
                lead = sp.csr_array(sign * (a - b)).reshape((1, *a.shape)[-2:]).tocsr()
                give(self, lambda r, c: entries(t, r, c) * np.heaviside(entries(lead, r, c), 0.5))
                give(other, lambda r, c: entries(t, r, c) * np.heaviside(-entries(lead, r, c), 0.5))
            return None

        return CoDual(y, fy), pullback


def _clipped(f: Any, sign: float) -> None:
    """The same with a number. One beyond zero fills the matrix; zeros that are not stored have no cotangent."""

    @rrule(f, types=(Sparse, Scalar))
    def rule(self: CoDual, other):
        a = self.primal
        fills = sign * np.real(other) > 0
        y = complete(f(a, other), sp.csr_array(np.ones(a.shape)) if fills else pattern(a))
        fy = tangent_of(y)

        def pullback(dy):
            d = take_fdata(fy.f["data"], None)
            if d is None:
                return None
            t = matrix_of(y, d)
            whole = sp.csr_array(a).reshape((1, *a.shape)[-2:]).tocsr()
            give(self, lambda r, c: entries(t, r, c) * np.heaviside(sign * (entries(whole, r, c) - other), 0.5))
            at = t.tocoo()
            return None, np.sum(at.data * np.heaviside(sign * (other - entries(whole, at.row, at.col)), 0.5))

        return CoDual(y, fy), pullback


for _f in methods("maximum"):
    _extremum(_f, 1.0)
    _clipped(_f, 1.0)
for _f in methods("minimum"):
    _extremum(_f, -1.0)
    _clipped(_f, -1.0)


def _with_dense(name: str, sign: float, dense_sign: float) -> None:
    def make(f: Any) -> Any:
        def rule(self: CoDual, other):
            y = f(self.primal, other)
            if y is NotImplemented or np.shape(other) != y.shape:
                raise NotDifferentiated("sums of sparse and dense arrays are differentiated in one shape")
            fy = dense_fdata(y)

            def pullback(dy):
                dy = take_fdata(numbers_fdata(y, fy), dy)
                if dy is None:
                    return None
                t = np.atleast_2d(dy)
                give(self, lambda r, c: sign * t[r, c])
                return None, kind_of(dense_sign * dy, other)

            return CoDual(y, fy), pullback

        return rule

    for f in methods(name):
        rrule(f, types=(Sparse, Array))(make(f))
        rrule(f, types=(Sparse, np.matrix))(with_matrix_of(make)(f))


_with_dense("__add__", 1.0, 1.0)
_with_dense("__radd__", 1.0, 1.0)
_with_dense("__sub__", 1.0, -1.0)
_with_dense("__rsub__", -1.0, 1.0)

refuse(
    "it keeps Python lists or a dict of its numbers; make it of (data, (row, column)), as csr, csc or coo",
    sp.lil_array, sp.lil_matrix, sp.dok_array, sp.dok_matrix, *methods("todok"),
)  # fmt: skip

# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 2])
_D = np.array([4.0, 0.5, 3.0, 0.2, 5.0, 0.7])
_M = np.cos(np.arange(9.0)).reshape(3, 3)


def _products(d, e):
    a, b = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)), sp.coo_array((e, (_COL, _ROW)), shape=(3, 3))
    old = sp.csc_matrix((d, (_ROW, _COL)), shape=(3, 3))
    return a.multiply(b).toarray(), (a * b).sum(), (old * old).toarray(), (b.multiply(b) * (1 + 0.5j)).toarray()


def _products_with_dense(d, m):
    a = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3))
    b = sp.coo_array((d, (_COL, _ROW)), shape=(3, 3))
    return (a * m).toarray(), (m * b).sum(axis=0), (a.tocsc() * m[0]).toarray(), (m[:, :1] * a).toarray(), (a / m).sum()


def _sums(d, m):
    a = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3))
    return a + m, m - a.tocsc(), a - m, m + sp.coo_array((d, (_COL, _ROW)), shape=(3, 3))


def _of_formats(d):
    a = sp.coo_array((d, (_ROW, _COL)), shape=(3, 3))
    return a.sum(), sp.dia_array(a).toarray(), abs(a.tocsr()).sum(), np.absolute(-a).sum(), np.sqrt(a).toarray()


def _extrema(d, e):
    a, b = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)), sp.coo_array((e, (_COL, _ROW)), shape=(3, 3)).tocsc()
    old = sp.csc_matrix((d, (_ROW, _COL)), shape=(3, 3))
    return (
        a.maximum(b).toarray(),
        a.minimum(b).sum(),
        old.minimum(old.T * 0.7).toarray(),
        b.maximum(a - 2.0 * b).data.sum(),
    )


def _bounded(d, k):
    a, old = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)), sp.csc_matrix((d, (_ROW, _COL)), shape=(3, 3))
    return (
        a.maximum(0.0).toarray(),
        a.minimum(k) @ _M,
        old.maximum(k).data,
        a.maximum(-k).sum(),
        a.tocoo().minimum(-1).sum(),
    )


CASES: list[RuleCase] = [
    case(_bounded, _D - 2.0, 0.3),
    case(_extrema, _D - 2.0, _D[::-1] - 1.7),
    case(_products, _D, _D[::-1] + 0.3), case(_products_with_dense, _D, _M), case(_sums, _D, _M), case(_of_formats, _D),
    case(lambda d: sp.dia_array((d.reshape(2, 3), np.array([0, 1])), shape=(3, 3)) @ _M, _D),
]  # fmt: skip
