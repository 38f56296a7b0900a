"""scipy.sparse: matrices times dense arrays, systems, conversions.

The tangent of a sparse matrix is that of its `data`, the numbers that are stored. Where a sum or a product comes out as
an exact zero, which SciPy would not store, the zero is stored, for it has a derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse._data import _data_matrix

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import overlay, pure, rrule, zero_derivative
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.numpy_matrix import matrix_fdata, numbers_fdata

Sparse = _data_matrix
"""What keeps its numbers in an array; the others are differentiated by their own Python code, where they can be."""
_FORMATS = (sp.csr_array, sp.csc_array, sp.coo_array, sp.dia_array, sp.bsr_array)
_OLD_FORMATS = (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.dia_matrix, sp.bsr_matrix)

STORED: dict[str, Any] = {}
"""By format the rules of `tocsr` of matrices that keep their numbers in lists."""


def places(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every stored number; of diagonals outside of the matrix -1. A sparse vector is one row."""
    if a.format in ("csr", "csc"):
        major = np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr))
        return (major, a.indices) if a.format == "csr" else (a.indices, major)
    if a.format == "coo":
        return (np.zeros_like(a.coords[0]), a.coords[0]) if a.ndim == 1 else (a.row, a.col)
    if a.format == "dia":
        col = np.broadcast_to(np.arange(a.data.shape[1]), a.data.shape)
        row = col - a.offsets[:, None]
        out = (row < 0) | (row >= a.shape[0]) | (col >= a.shape[1])
        return np.where(out, -1, row), np.where(out, -1, col)
    if a.format == "bsr":
        r, c = a.blocksize
        block = np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr))
        row = block[:, None, None] * r + np.arange(r)[:, None] + np.zeros((1, 1, c), int)
        col = a.indices[:, None, None] * c + np.arange(c) + np.zeros((1, r, 1), int)
        return row, col
    raise NotDifferentiated(f"sparse matrices of format {a.format!r} are not differentiated: use csr, csc or coo")


def data_shadow(a: CoDual) -> Shadow | None:
    """The fdata of the stored numbers; None for a constant."""
    if type(a.fdata) is not ObjectShadow or a.primal.dtype.kind not in "fc":
        return None
    shadow: Shadow | None = a.fdata.fdata("data")
    return shadow


def give(a: CoDual, t: Any) -> None:
    """Add the cotangent t(rows, columns) of the matrix to that of its stored numbers."""
    shadow = data_shadow(a)
    if shadow is not None:
        row, col = places(a.primal)
        d = np.where(row < 0, 0.0, t(np.maximum(row, 0), np.maximum(col, 0)))
        shadow.add(kind_of(d, a.primal.data).astype(a.primal.dtype, copy=False))


def tangent_of(a: Any, data: Shadow | None = None) -> ObjectShadow:
    """The fdata of a sparse matrix that was just made; `data`: that of the array that its numbers stay in."""
    shadow = ObjectShadow(a, {"data": zero_fdata(a.data) if data is None else data})
    run.current().made[id(a)] = a, shadow
    return shadow


def dense_fdata(y: Any) -> Any:
    """The fdata of what was made dense: an array, a number, or of matrices of the old kind an np.matrix."""
    return matrix_fdata(y) if isinstance(y, np.matrix) else zero_fdata(y)


def matrix_of(y: Any, d: Any) -> Any:
    """The sparse matrix of the cotangents d of the numbers of y; numbers at one place have one cotangent."""
    row, col = (v.ravel() for v in places(y))
    ok = row >= 0
    row, col, d = row[ok].astype(np.int64), col[ok], np.ravel(d)[ok]
    _, first = np.unique(row * y.shape[-1] + col, return_index=True)
    return sp.csr_array((d[first], (row[first], col[first])), shape=(1, *y.shape)[-2:])


def adjoint(a: Any) -> Any:
    return a.conj().T if a.dtype.kind == "c" else a.T


# -- products ---------------------------------------------------------------------------------------------


def outer(left: Any, right: Any) -> Any:
    """The entries of left @ right^H at rows and columns."""
    lm, rm = (v.reshape(v.shape[0], -1) for v in (left, right))

    def at(row: Any, col: Any) -> Any:
        return np.sum(lm[row] * np.conjugate(rm[col]), axis=-1)

    return at


def _method(name: str, types: Any, formats: Any = (*_FORMATS, *_OLD_FORMATS)) -> Any:
    """Register the rule that the decorated function makes of each function behind a method of the formats."""

    def decorate(make: Any) -> Any:
        for f in methods(name, formats):
            rrule(f, types=types)(make(f))
        return make

    return decorate


def methods(name: str, formats: Any = (*_FORMATS, *_OLD_FORMATS)) -> set[Any]:
    """The functions behind a method of all the formats."""
    return {getattr(c, name) for c in formats if hasattr(c, name)}


def _times_dense(f: Any) -> Any:
    def times_dense(self: CoDual, other):
        y = f(self.primal, other)
        fy = dense_fdata(y)

        def pullback(dy):
            dy = take_fdata(numbers_fdata(y, fy), dy)
            if dy is None:
                return None
            a, t = (self.primal, dy) if self.primal.ndim > 1 else (self.primal.reshape(1, -1), np.asarray(dy)[None])
            give(self, outer(t, other))
            return None, kind_of(adjoint(a) @ t, other)

        return CoDual(y, fy), pullback

    return times_dense


def _dense_times(f: Any) -> Any:
    def dense_times(self: CoDual, other):
        y = f(self.primal, other)
        fy = dense_fdata(y)

        def pullback(dy):
            dy = take_fdata(numbers_fdata(y, fy), dy)
            if dy is None:
                return None
            a = self.primal.conj() if self.primal.dtype.kind == "c" else self.primal
            if a.ndim == 1:
                d = np.conjugate(np.atleast_2d(other)).T @ np.atleast_1d(dy)
                give(self, lambda r, c: d[c])
                return None, kind_of(np.multiply.outer(dy, a.toarray()), other)
            left, right = (other, dy) if other.ndim > 1 else (other[None], dy[None])
            give(self, outer(np.conjugate(left).T, np.conjugate(right).T))
            return None, kind_of((a @ dy.T).T, other)

        return CoDual(y, fy), pullback

    return dense_times


_method("__matmul__", (Sparse, Array))(_times_dense)
_method("__rmatmul__", (Sparse, Array))(_dense_times)
_method("__mul__", (Sparse, Array), _OLD_FORMATS)(_times_dense)  # of arrays it is that element by element
_method("__rmul__", (Sparse, Array), _OLD_FORMATS)(_dense_times)


def with_matrix_of(make: Any) -> Any:
    """The same of an np.matrix, which has one as the result."""

    def rule_of(f: Any) -> Any:
        with_dense = make(f)

        def with_matrix(self: CoDual, other: CoDual):
            y, pull = with_dense(self, np.asarray(other.primal))
            m = np.asarray(y.primal).view(np.matrix)
            numbers = numbers_fdata(other.primal, other.fdata)

            def pullback(dy):
                ds = pull(None)
                if ds is not None and numbers is not None:
                    numbers.add(ds[1])
                return None

            return CoDual(m, matrix_fdata(m, numbers_fdata(y.primal, y.fdata))), pullback

        return with_matrix

    return rule_of


_method("__matmul__", (Sparse, np.matrix))(with_matrix_of(_times_dense))
_method("__rmatmul__", (Sparse, np.matrix))(with_matrix_of(_dense_times))
_method("__mul__", (Sparse, np.matrix), _OLD_FORMATS)(with_matrix_of(_times_dense))
_method("__rmul__", (Sparse, np.matrix), _OLD_FORMATS)(with_matrix_of(_dense_times))


def _scaled(power: int) -> Any:
    """The matrix times (or divided by) a number."""

    def make(f: Any) -> Any:
        def scaled(self: CoDual, other):
            y = f(self.primal, other)
            fy = tangent_of(y)

            def pullback(dy):
                d = take_fdata(fy.f["data"], None)
                if d is None:
                    return None
                factor = other if power > 0 else 1.0 / other
                shadow = data_shadow(self)
                if shadow is not None:
                    t = kind_of(d * np.conjugate(factor), self.primal.data)
                    shadow.add(t.astype(self.primal.dtype, copy=False))
                dk = np.sum(d * np.conjugate(self.primal.data))
                dk = dk if power > 0 else -dk * np.conjugate(factor * factor)
                return None, dk if is_complex(other) else np.real(dk)

            return CoDual(y, fy), pullback

        return scaled

    return make


_method("__mul__", (Sparse, Scalar))(_scaled(1))
_method("__rmul__", (Sparse, Scalar))(_scaled(1))
_method("__truediv__", (Sparse, Scalar))(_scaled(-1))


def _negative(f: Any) -> Any:
    def negative(self: CoDual):
        y = f(self.primal)
        fy = tangent_of(y)

        def pullback(dy):
            d = take_fdata(fy.f["data"], None)
            shadow = data_shadow(self)
            if d is not None and shadow is not None:
                shadow.add(-d)
            return None

        return CoDual(y, fy), pullback

    return negative


_method("__neg__", (Sparse,))(_negative)


def pattern(a: Any) -> Any:
    """Ones where a number is stored."""
    row, col = (v.ravel() for v in places(a))
    ok = row >= 0
    return sp.csr_array((np.ones(int(ok.sum())), (row[ok], col[ok])), shape=a.shape)


def complete(y: Any, pattern: Any) -> Any:
    """y with a number, be it zero, wherever the pattern has one."""
    if y.nnz == pattern.nnz:
        return y
    full = pattern.tocoo()
    values = np.asarray(y.tocsr()[full.row, full.col]).ravel()
    return type(y.tocsr())((values, (full.row, full.col)), shape=y.shape).asformat(y.format)


def _combined(sign: float) -> Any:
    """The sum or difference of two sparse matrices."""

    def make(f: Any) -> Any:
        def combined(self: CoDual, other: CoDual):
            y = complete(f(self.primal, other.primal), pattern(self.primal) + pattern(other.primal))
            fy = tangent_of(y)

            def pullback(dy):
                d = take_fdata(fy.f["data"], None)
                if d is not None:
                    t = matrix_of(y, d)
                    give(self, lambda r, c: entries(t, r, c))
                    give(other, lambda r, c: sign * entries(t, r, c))
                return None

            return CoDual(y, fy), pullback

        return combined

    return make


def entries(t: Any, row: Any, col: Any) -> Any:
    """What stands in a matrix at these rows and columns."""
    return np.asarray(t[np.ravel(row), np.ravel(col)]).reshape(np.shape(row))


_method("__add__", (Sparse, Sparse))(_combined(1.0))
_method("__sub__", (Sparse, Sparse))(_combined(-1.0))


def product(f: Any) -> Any:
    """The rule of a matrix product f."""

    def of_two(self: CoDual, other: CoDual):
        y = complete(f(self.primal, other.primal), pattern(self.primal) @ pattern(other.primal))
        fy = tangent_of(y)

        def pullback(dy):
            d = take_fdata(fy.f["data"], None)
            if d is not None:
                t = matrix_of(y, d)
                left, right = (t @ adjoint(other.primal)).tocsr(), (adjoint(self.primal) @ t).tocsr()
                give(self, lambda r, c: entries(left, r, c))
                give(other, lambda r, c: entries(right, r, c))
            return None

        return CoDual(y, fy), pullback

    return of_two


_method("__matmul__", (Sparse, Sparse))(product)

# -- sums -----------------------------------------------------------------------------------------------


def is_put_in_order(a, method, *options):
    """Does this method of a add up what has one place and sort the rest, in the matrix itself?"""
    if getattr(a, "has_canonical_format", True):
        return False
    copy = a.copy()
    getattr(copy, method)(*options)
    return copy.data.shape != a.data.shape or not np.array_equal(copy.data, a.data, equal_nan=True)


def sum_in_order(a, axis, dtype, out):
    return a.sum(axis, dtype, out)


@rrule(sum_in_order)
def sum_of_ordered(a: CoDual, axis, dtype, out):
    y = a.primal.sum(axis, dtype, out)
    if out is not None:
        raise NotDifferentiated("sums of sparse matrices are differentiated without out")
    fy = dense_fdata(y)

    def pullback(dy):
        dy = take_fdata(numbers_fdata(y, fy), dy)
        if dy is not None:
            if np.ndim(y) == 0:
                give(a, lambda r, c: np.full(np.shape(r), dy))
            else:
                d = np.ravel(dy)
                give(a, lambda r, c: d[c if axis in (0, -2, (0,), (-2,)) else r])
        return None

    return CoDual(y, fy), pullback


def _summed(f: Any) -> None:
    @overlay(f)
    def sum_of(self, axis=None, dtype=None, out=None):
        if self.format in ("lil", "dok"):
            return self.tocsr().sum(axis, dtype, out)
        if is_put_in_order(self, "sum", axis, dtype):
            self.sum_duplicates()
        return sum_in_order(self, axis, dtype, out)


for _f in methods("sum"):
    _summed(_f)


zero_derivative(sp.issparse, sp.eye, sp.identity, sp.random, is_put_in_order)
pure.update({places})

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.0, 0.5], [0.0, -1.0, 0.3], [0.7, 0.0, 1.5]])
_CSR, _CSC, _COO, _DIA = sp.csr_array(_A), sp.csc_matrix(_A), sp.coo_array(_A), sp.dia_array(_A)
_V = np.array([0.5, -1.0, 2.0])
_M = np.array([[0.5, -1.2], [0.3, 1.4], [2.0, 0.1]])
_ROW, _COL = np.array([0, 0, 1, 2, 2]), np.array([0, 2, 1, 0, 0])
_D = np.array([2.0, 0.5, -1.0, 0.7, 0.3])


def _old(data):
    return sp.csr_matrix((data, (_ROW, _COL)), shape=(3, 3))


def _of_old_kind(data):
    """Rows of a graph's matrix made to sum up to one, as they mostly are."""
    a = _old(data)
    rows = a.sum(axis=1)
    products = (a @ a.todense()).A, np.asarray(rows.T * a), np.asarray(a * rows), (a + a.todense()).A
    return *products, a.sum(axis=0).A1, np.asarray(rows).ravel(), (sp.diags(1.0 / a.sum(axis=1).A1) @ a).toarray()


def _built(data, x):
    return sp.csr_matrix((data, (_ROW, _COL)), shape=(3, 3)) @ x


CASES: list[RuleCase] = [
    *[case(lambda x, a=a: a @ x, x) for a in (_CSR, _CSC, _COO, _DIA) for x in (_V, _M)],
    case(lambda x: x @ _CSR, _V), case(lambda x: x @ _CSR, _M.T), case(lambda x: _CSC * x, _V),
    case(lambda x: _CSR.dot(x), _V), case(lambda x: _CSR.T @ x, _V),
    case(lambda x: (_CSR * (1 + 0.5j)) @ x, _V), case(_built, _D, _V), case(_built, _D, _M),
    case(lambda d, x: x @ sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)), _D, _V),
    case(lambda d, x: (sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)) @ _CSR) @ x, _D, _V),
    case(lambda d: sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)).sum(), _D),
    case(lambda d: sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)).sum(axis=1), _D),
    case(lambda d: sp.coo_array((d, (_ROW, _COL)), shape=(3, 3)).mean(axis=0), _D),
    case(lambda d: sp.csr_array((d, (_ROW, _COL)), shape=(3, 3)).max(axis=0).toarray(), _D),
    case(lambda d: sp.csr_array((d[:3], ([0, 2, 3],)), shape=(4,)) @ _D[:4], _D),
    case(lambda d: sp.csr_matrix((d, (_ROW, _COL)), shape=(3, 3)).mean(), _D),
    case(lambda k, x: (k * _CSR / 3.0) @ x, 0.7, _V), case(_of_old_kind, np.abs(_D)),
    case(lambda d: np.asarray(_old(d).mean(axis=1)), _D), case(lambda d: max(abs(_old(d)).sum(axis=1).flat), _D),
]  # fmt: skip
