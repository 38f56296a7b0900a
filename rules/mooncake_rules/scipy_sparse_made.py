"""scipy.sparse: matrices made of numbers, of dense arrays and of one another, and dense arrays made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array
from mooncake_py.registry import overlay, rrule
from mooncake_py.shadows import NoDerivative, Shadow
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.scipy_sparse import Sparse, data_shadow, entries, give, matrix_of, methods, tangent_of
from mooncake_rules.sequences import unstack


def _is_same_memory(a: np.ndarray, b: Any) -> bool:
    """SciPy keeps the numbers where they are, if it can: what is written to the one is written to the other."""
    if not isinstance(b, np.ndarray) or a.dtype != b.dtype:
        return False
    return a.ctypes.data == b.ctypes.data and a.shape == b.shape and a.strides == b.strides


def _shadow_kept(numbers: np.ndarray, x: Any, fx: Any) -> Any:
    """The fdata of the numbers of a matrix that was made of x, if they are in its memory, as it is or as a row."""
    if _is_same_memory(numbers, x):
        return fx
    in_row = isinstance(fx, Shadow) and np.ndim(x) == 1 and _is_same_memory(numbers, np.atleast_2d(x))
    return fx.views(lambda a: [np.atleast_2d(a)])[0] if in_row else None


def shared_shadow(y: Any, a: CoDual) -> Shadow | None:
    """The fdata of the numbers of a, if those of y are in the same memory."""
    return data_shadow(a) if _is_same_memory(y.data, a.primal.data) else None


# -- conversions ------------------------------------------------------------------------------------------


def _rearranged(name: str, turned: bool = False) -> None:
    """A method that puts the stored numbers in another order."""

    def rule_of(f: Any) -> None:
        @rrule(f, types=(Sparse,))
        def rule(self: CoDual, *args, **kwargs):
            plain = [x.primal if type(x) is CoDual else x for x in args]
            options = {k: x.primal if type(x) is CoDual else x for k, x in kwargs.items()}
            y = f(self.primal, *plain, **options)
            if y is self.primal:
                return CoDual(y, self.fdata), lambda dy: None
            held = shared_shadow(y, self)
            fy = tangent_of(y, held)

            def pullback(dy):
                if held is not None:
                    return None
                d = take_fdata(fy.f["data"], None)
                if d is not None:
                    t = matrix_of(y, d)
                    t = t.T.tocsr() if turned else t
                    give(self, lambda r, c: entries(t, r, c))
                return None

            return CoDual(y, fy), pullback

    for f in methods(name):
        rule_of(f)


for _name in ("tocsr", "tocsc", "tocoo", "copy"):
    _rearranged(_name)
_rearranged("transpose", True)


def _to_dense(name: str) -> None:
    def rule_of(f: Any) -> None:
        @rrule(f, types=(Sparse,))
        def rule(self: CoDual, order=None, out=None):
            if out is not None:
                raise NotDifferentiated("dense forms of sparse matrices are differentiated without `out`")
            y = np.asarray(f(self.primal, order))
            fy = zero_fdata(y)

            def pullback(dy):
                dy = take_fdata(fy, dy)
                if dy is not None:
                    give(self, lambda r, c: np.atleast_2d(dy)[r, c])
                return None

            return CoDual(y, fy), pullback

    for f in methods(name):
        rule_of(f)


_to_dense("toarray")


# -- construction -----------------------------------------------------------------------------------------


ZEROS = NoDerivative(
    "a sparse matrix", "the zeros of a dense one", "make it of the numbers to store, as (data, (row, column))"
)


def _constructor(cls: type) -> None:
    """From (data, (row, column)), (data, indices, indptr), a dense or a sparse matrix."""

    def rule(arg1: CoDual, shape=None, dtype=None, copy=False, **options):
        given = arg1.primal
        y = cls(given, shape, dtype, copy, **options)
        if isinstance(given, Sparse):
            held = shared_shadow(y, arg1)
        else:
            held = _shadow_kept(y.data, given[0], arg1.fdata[0]) if type(arg1.fdata) is tuple else None
        fy = tangent_of(y, held)

        def pullback(dy):
            if held is not None:
                return None
            d = take_fdata(fy.f["data"], None)
            if d is None:
                return None
            t = matrix_of(y, d)
            if isinstance(given, Sparse):
                give(arg1, lambda r, c: entries(t, r, c))
                return None
            if not isinstance(given, tuple) or len(given) < 2:
                dense = np.asarray(given)
                if not dense.all():
                    return ZEROS
                full = kind_of(np.asarray(t.toarray()).reshape(dense.shape), dense)
                return unstack(full, given) if not isinstance(given, np.ndarray) else full
            if y.format == "dia":
                dd = np.asarray(d)[:, : np.shape(given[0])[-1]].reshape(np.shape(given[0]))  # one diagonal, perhaps
            elif len(given) == 2:
                at = [np.asarray(i) for i in given[1]]
                at = at if len(at) == 2 else [np.zeros_like(at[0]), at[0]]  # a sparse vector is one row
                dd = np.ravel(d) if y.format == "coo" else np.asarray(t[at[0], at[1]])
            else:
                dd = np.asarray(d)[: len(given[0])]
            data = given[0]
            dd = kind_of(dd, np.asarray(data))
            return ((unstack(dd, data) if not isinstance(data, np.ndarray) else dd, *(None,) * (len(given) - 1)),)

        return CoDual(y, fy), pullback

    if issubclass(cls, (sp.dia_array, sp.dia_matrix)):
        for kind in (Array, list):
            rrule(cls, types=(kind,))(rule)
        for kind in (tuple, sp.dia_array, sp.dia_matrix):
            rrule(cls, types=(kind,), alias=(0,))(rule)
        return
    rrule(cls)(rule)
    for kind in (tuple, Sparse):
        rrule(cls, types=(kind,), alias=(0,))(rule)


for _cls in (
    sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix, sp.dia_array, sp.dia_matrix,
):  # fmt: skip
    _constructor(_cls)


def _of_other_formats(cls: type) -> None:
    @overlay(cls)
    def in_diagonals(arg1, shape=None, dtype=None, copy=False):
        """SciPy puts triplets in order, in place."""
        return cls(arg1.todia(), shape, dtype)


for _cls in (sp.dia_array, sp.dia_matrix):
    _of_other_formats(_cls)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.0, 2.0])
_ROW, _COL = np.array([0, 0, 1, 2, 2]), np.array([0, 2, 1, 0, 0])
_D = np.array([2.0, 0.5, -1.0, 0.7, 0.3])
_A = np.array([[5.0, 3.0, 3.5], [3.0, 2.0, 3.3], [3.7, 3.0, 4.5]])


def _built_coo(data, x):
    a = sp.coo_array((data, (_ROW, _COL)), shape=(3, 3))
    return (a.tocsr() * 2.0 - a.T.tocsr()) @ x


def _dense(data):
    return sp.csr_array((data, np.array([0, 2, 1, 0]), np.array([0, 2, 3, 4])), shape=(3, 3)).toarray() ** 2


def _filled(x, v):
    a = sp.dok_array((3, 3))
    a[1, 2] = x
    a[0, 1] = a.toarray()[1, 2] ** 2
    return a.toarray(order="F"), a @ v, a.tocsr().sum()


def _one_diagonal(v):
    low = sp.dia_array((list(v), [-1]), shape=(3, 3))
    return low @ v, sp.dia_array((v, 0), shape=(3, 3)).tocsr() @ v, sp.spdiags(v * v, 1, 3, 3).toarray()


def _one_diagonal_written_to(v):
    d = v * 2.0
    a = sp.dia_array((d, 0), shape=(3, 3))
    before = a.toarray()
    d[1] = v[0] * v[2]
    return before, a @ v


CASES: list[RuleCase] = [
    case(_filled, 0.7, _V), case(_built_coo, _D, _V), case(_dense, _D[:4]),
    case(lambda a, x: sp.csr_array(a) @ x, _A, _V), case(_one_diagonal, _V), case(_one_diagonal_written_to, _V),
]  # fmt: skip
