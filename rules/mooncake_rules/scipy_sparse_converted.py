"""scipy.sparse: what is done with matrices that keep their numbers in lists or in a dict.

They have no array of numbers that could have a cotangent; so this goes by way of rows (`csr`), as it does in SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import mooncake_rules.scipy_sparse_lists
import mooncake_rules.scipy_sparse_made  # noqa: F401 (of the rules of a constructor the last one wins)
from mooncake_py.registry import overlay, rrule
from mooncake_py.runtime.calls import call
from mooncake_py.tangents import CoDual, take_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_sparse import STORED, Sparse, entries, give, matrix_of, methods, tangent_of

_LISTS: Any = (sp.lil_array, sp.lil_matrix)
_DICTS: Any = (sp.dok_array, sp.dok_matrix)


def _rows_of_dict(self: CoDual) -> tuple[CoDual, Any]:
    """By SciPy's Python code."""
    y, fy, pull = call(self.primal.tocsr.__func__, None, (self.primal,), (self.fdata,))
    return CoDual(y, fy), lambda dy: None if pull is None else pull(dy)


STORED["dok"] = _rows_of_dict


def _made(cls: type) -> None:
    def rule(arg1: CoDual, shape=None, dtype=None, copy=False):
        z, pull = STORED[arg1.primal.format](arg1)
        y = cls(z.primal, shape, dtype)
        fy = tangent_of(y)

        def pullback(dy):
            d = take_fdata(fy.f["data"], None)
            if d is not None:
                t = matrix_of(y, d)
                give(z, lambda r, c: entries(t, r, c))
                pull(None)
            return None

        return CoDual(y, fy), pullback

    for kind in (*_LISTS, *_DICTS):
        rrule(cls, types=(kind,))(rule)


for _cls in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix):
    _made(_cls)


def _through_rows(name: str, kinds: Any) -> None:
    """A method of two matrices that has rows as its result, of which one is of these kinds."""
    for f in methods(name) | methods(name, kinds):

        @overlay(f, classes=(kinds, kinds))
        def of_both(self, other):
            return getattr(self.tocsr(), name)(other.tocsr())

        @overlay(f, classes=(Sparse, kinds))
        def of_second(self, other):
            return getattr(self, name)(other.tocsr())

        @overlay(f, classes=(kinds, (Sparse, np.ndarray)))
        def of_first(self, other):
            return getattr(self.tocsr(), name)(other)


_PRODUCTS = (
    "__sub__",
    "__rsub__",
    "__mul__",
    "__rmul__",
    "__matmul__",
    "__rmatmul__",
    "multiply",
    "maximum",
    "minimum",
)
for _name in (*_PRODUCTS, "__add__", "__radd__", "__truediv__"):
    _through_rows(_name, _LISTS)
for _name in _PRODUCTS:
    _through_rows(_name, _DICTS)
for _f in methods("__add__"):

    @overlay(_f, classes=(Sparse, _DICTS))
    def with_dict(self, other):
        return self + other.tocsr()


for _f in methods("__pow__", (*_LISTS, *_DICTS)):

    @overlay(_f, classes=((*_LISTS, *_DICTS), int))
    def to_power(self, power):
        return self.tocsr() ** power


for _f in methods("todense", (*_LISTS, *_DICTS)):

    @overlay(_f, classes=((*_LISTS, *_DICTS),))
    def dense(self):
        return self.tocsr().todense()


@overlay(spl.spsolve, classes=((*_LISTS, *_DICTS), object))
def solution(a, b):
    return spl.spsolve(a.tocsc(), b)


# -- cases ------------------------------------------------------------------------------------------------

_D = np.array([4.0, 0.5, 3.0, 0.2])
_V = np.array([0.5, -1.0, 2.0, 0.3])


def _computed(cls: Any) -> Any:
    def computed(d, v):
        a = cls((4, 4))
        for i in range(4):
            a[i, i] = d[i]
        a[0, 1], a[0, 3] = v[1], v[3]
        b = a * d[1] - a.T / v[0]
        a[2, 2] = 0.5 * d[0]
        a[1, 0] = v[2]  # the dict is out of order
        both = sp.vstack([a, a * 2]) @ v
        products = (a @ a).sum() + a.multiply(v).sum() + a.maximum(a.T).sum() + (a**2).sum() + np.sum(a.todense())
        return (
            b @ v,
            products,
            (a.tocsr() + a).toarray(),
            (a + a).mean(),
            both,
            sp.linalg.spsolve(a, v),
            sp.tril(a).sum(),
        )

    return computed


CASES: list[RuleCase] = [case(_computed(cls), _D, _V) for cls in (*_LISTS, *_DICTS)]
