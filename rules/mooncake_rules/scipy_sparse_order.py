"""scipy.sparse: the numbers of a compressed matrix put in order, which SciPy does in place before it reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy._lib._util import _prune_array
from scipy.sparse import _sparsetools

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import taken_back

_sort, _add_up, _eliminate = (
    _sparsetools.csr_sort_indices,
    _sparsetools.csr_sum_duplicates,
    _sparsetools.csr_eliminate_zeros,
)


def keeps_too_much(array):
    """Is it a small part of the memory that it is a view of?"""
    return array.base is not None and array.size < array.base.size // 2


zero_derivative(keeps_too_much)


@overlay(_prune_array)
def prune_array(array):
    return array.copy() if keeps_too_much(array) else array


def _put_back(olds: list[np.ndarray], arrays: list[CoDual], back: Callable[[np.ndarray], np.ndarray]) -> None:
    """What the arrays held; the cotangent of the last, the numbers, is what `back` makes of that of the new ones."""
    ts = [taken_back(a, old) for a, old in zip(arrays, olds, strict=True)]
    if ts[-1] is not None:
        data: Any = arrays[-1].fdata
        data.add(back(np.asarray(ts[-1])))


@rrule(_sort, mutates=(2, 3))
def sort_indices(n, indptr, indices: CoDual, data: CoDual):
    olds = [a.primal.copy() for a in (indices, data)]
    order = np.arange(len(data.primal), dtype=np.int64)
    _sort(n, indptr, indices.primal.copy(), order)
    _sort(n, indptr, indices.primal, data.primal)

    def back(t):
        d = np.empty_like(t)
        d[order] = t
        return d

    def pullback(_):
        _put_back(olds, [indices, data], back)

    return None, pullback


@rrule(_add_up, mutates=(2, 3, 4))
def sum_duplicates(n_row, n_col, indptr: CoDual, indices: CoDual, data: CoDual):
    olds = [a.primal.copy() for a in (indptr, indices, data)]
    row = np.repeat(np.arange(n_row), np.diff(olds[0]))
    col = olds[1][: len(row)]
    first = np.ones(len(row), bool)
    first[1:] = (np.diff(row) != 0) | (np.diff(col) != 0)
    place = np.cumsum(first) - 1
    _add_up(n_row, n_col, indptr.primal, indices.primal, data.primal)

    def back(t):
        """Behind the sums stands what was there before."""
        d = np.zeros_like(t)
        d[: len(place)] = t[place]
        n = int(first.sum())
        d[n:] += t[n:]
        return d

    def pullback(_):
        _put_back(olds, [indptr, indices, data], back)

    return None, pullback


@rrule(_eliminate, mutates=(2, 3, 4))
def eliminate_zeros(n_row, n_col, indptr: CoDual, indices: CoDual, data: CoDual):
    if not np.all(data.primal[: indptr.primal[-1]]):
        raise NotDifferentiated(
            "eliminate_zeros drops numbers that are 0, and their derivatives with them: leave them in"
        )

    def pullback(_):
        return None

    return None, pullback


def compared(a: Any, b: Any, op: Any) -> Any:
    """A matrix of truth values; SciPy puts those that it compares in order, so these are others."""
    return op(*[x.copy() if sp.issparse(x) else x for x in (a, b)])


zero_derivative(compared)


@overlay(*{cls._comparison for cls in sp.csr_array.__mro__ if "_comparison" in vars(cls)})
def comparison(self, other, op):
    return compared(self, other, op)


# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 1, 2])
_D = np.array([0.5, 0.7, 1.2, 0.9, 1.5])


def _of_products(d):
    a = sp.csr_array((d, (_ROW, _COL)), shape=(3, 3))
    b = (a @ a).tocsc() @ a.T
    return (a @ a).sum(), abs(a @ a).max(), np.sqrt(b @ b).sum(), sp.linalg.norm(a @ a, 1), (a @ a).power(2).sum(axis=0)


def _in_one_memory(d):
    data = d * 1.0
    a = sp.coo_array((data, (_ROW, _COL)), shape=(3, 3))
    data[0] = d[1] ** 2
    a.data *= 2.0
    b = sp.csr_array((data, np.array([2, 0, 1, 2, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    b.T.data[1:] *= 3.0
    b.tocoo(copy=False).data[2] = d[0]
    return a.toarray(), b @ _D[:3], data * _D


def _in_order(d):
    a = sp.csr_array((d * 1.0, np.array([2, 0, 0, 1, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    a.sum_duplicates()
    b = sp.csr_array((d * 2.0, np.array([2, 0, 1, 2, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    b.sort_indices()
    b.eliminate_zeros()
    return a.data * np.arange(1.0, 4.0), b.data * _D, a.sum()


def _compared(d):
    """What comes out of comparisons are truth values, of which those that are False are not kept."""
    a = sp.csr_array((d * 1.0, (_ROW, _COL)), shape=(3, 3))
    large = a > 0.8
    return a.multiply(large).sum(), large.sum() * d[0], a[large.nonzero()] ** 2, (a != a.T).sum() * d[1]


def _of_one_another(d):
    a = sp.csr_array((d * 1.0, (_ROW, _COL)), shape=(3, 3))
    b, row, whole, listed = sp.csr_array(a), a.reshape((1, 9)), a.reshape((3, 3)), sp.coo_array(a)
    b.data[0] = d[1] ** 2
    row.data *= 2.0
    whole.data[1] = d[0]
    apart, again = sp.csr_array(a, copy=True), sp.coo_array(listed)
    apart.data[2] = 0.5
    again.data[3] *= d[4]
    return a.toarray(), b.sum(), row.toarray()[0] * np.arange(9.0), whole.data, listed @ _D[:3], apart @ _D[:3]


def _in_order_by_use(d):
    """A sum, or a form of diagonals, puts the numbers in order, also for others who hold them."""
    data = d * 1.0
    a = sp.csr_array((data, np.array([2, 0, 1, 2, 1]), np.array([0, 3, 3, 5])), shape=(3, 3))
    by_column = a.sum(axis=0)
    before = data * _D
    b, c, e = [sp.coo_array((d * 1.0, (_COL[::-1].copy(), _ROW)), shape=(3, 3)) for _ in range(3)]
    total = a.sum() + e.sum(axis=(0, 1))
    diagonals = b.todia(), sp.dia_array(c)
    return (
        before,
        by_column,
        total,
        data * _D,
        b.data * _D,
        c.data * _D,
        e.data * _D,
        diagonals[0].data,
        diagonals[1].sum(),
    )


CASES: list[RuleCase] = [
    case(_of_products, _D), case(_in_order, _D), case(_in_one_memory, _D), case(_of_one_another, _D),
    case(_in_order_by_use, _D), case(_compared, _D),
]  # fmt: skip
