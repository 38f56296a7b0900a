"""scipy.sparse.linalg: systems of equations, direct, by a factorisation and by iteration.

x = A^-1 b has the cotangents db = A^-H dx of b and -db x^H of A, however it was found. The iterative methods solve the
adjoint system by the same method to the same tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import linalg as spl

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_, Array
from mooncake_py.registry import rrule
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run as call
from mooncake_rules.captured import watched
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.scipy_sparse import Sparse, adjoint, give, outer

# -- directly ---------------------------------------------------------------------------------------------


@rrule(spl.spsolve, types=(Sparse, Array))
def spsolve(a: CoDual, b, permc_spec=None, use_umfpack=True):
    known = getattr(a.primal, "_has_canonical_format", False)
    x = spl.spsolve(a.primal if known else a.primal.copy(), b, permc_spec, use_umfpack)  # it puts numbers in order
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        db = np.asarray(spl.spsolve(adjoint(a.primal).tocsc(), dy, permc_spec, use_umfpack)).reshape(b.shape)
        give(a, outer(-db.reshape(np.shape(x)), x))
        return None, kind_of(db, b)

    return CoDual(x, fx), pullback


@rrule(spl.spsolve_triangular, types=(Sparse, Array))
def spsolve_triangular(a: CoDual, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    x = spl.spsolve_triangular(a.primal, b, lower, unit_diagonal=unit_diagonal)
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        db = spl.spsolve_triangular(adjoint(a.primal).tocsr(), dy, not lower, unit_diagonal=unit_diagonal)
        at = outer(-db, x)
        give(a, lambda r, c: np.where((r > c if lower else r < c) | ((r == c) & (not unit_diagonal)), at(r, c), 0.0))
        return None, kind_of(db, b)

    return CoDual(x, fx), pullback


# -- factorised -------------------------------------------------------------------------------------------


@rrule(spl.splu)
def splu(A: CoDual, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None):
    y = spl.splu(A.primal, permc_spec, diag_pivot_thresh, relax, panel_size, {} if options is None else options)
    shadow = ObjectShadow(y, {"matrix": A.fdata})
    run.current().made[id(y)] = y, shadow
    return CoDual(y, shadow), lambda dy: None


@rrule(spl.spilu)
def spilu(A: CoDual, drop_tol=None, fill_factor=None, drop_rule=None, permc_spec=None, diag_pivot_thresh=None,
          relax=None, panel_size=None, options=None):  # fmt: skip
    """Factors of something near A: fine as a preconditioner, on which no solution depends."""
    y = spl.spilu(A.primal, drop_tol, fill_factor, drop_rule, permc_spec, diag_pivot_thresh, relax, panel_size, options)
    shadow = ObjectShadow(y, {"near": A.fdata})
    run.current().made[id(y)] = y, shadow
    return CoDual(y, shadow), lambda dy: None


_TURNED = {"N": "H", "T": "N", "H": "N"}


@rrule(spl.SuperLU.solve)
def solve(self: CoDual, rhs, trans="N"):
    lu = self.primal
    x = lu.solve(rhs, trans)
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        if type(self.fdata) is ObjectShadow and "near" in self.fdata.f:
            raise NotDifferentiated(
                "which numbers the factors of scipy.sparse.linalg.spilu drop has no derivative: what they solve is "
                "differentiated as a preconditioner (M) only; use splu"
            )
        dy = np.asarray(dy, x.dtype)
        conjugated = trans == "T"  # the adjoint of the inverse of A^T is the conjugate of that of A
        db = lu.solve(np.conjugate(dy) if conjugated else dy, _TURNED[trans])
        db = np.conjugate(db) if conjugated else db
        matrix = self.fdata.f.get("matrix") if type(self.fdata) is ObjectShadow else None
        if matrix is not None:
            left, right = (db, x) if trans == "N" else (np.conjugate(x), np.conjugate(db)) if conjugated else (x, db)
            give(CoDual(matrix.owner, matrix), outer(-left, right))
        return None, kind_of(db, rhs)

    return CoDual(x, fx), pullback


# -- by iteration -----------------------------------------------------------------------------------------

_HERMITIAN = (spl.cg, spl.minres)


def _adjoint_operator(f: Any, a: Any) -> Any:
    if f in _HERMITIAN or a is None:
        return a
    if isinstance(a, (np.ndarray, Sparse)):
        return adjoint(a)
    a = spl.aslinearoperator(a)
    try:
        a.rmatvec(np.zeros(a.shape[0], a.dtype))
    except (TypeError, NotImplementedError):  # it was given none, and SciPy says so in either way
        return spl.LinearOperator(a.shape[::-1], matvec=lambda v: _pulled_back(a, v), dtype=a.dtype)
    return a.H


def _pulled_back(a: spl.LinearOperator, v: np.ndarray) -> np.ndarray:
    """A^H v by the pullback of what computes A x, wherever that is."""
    d = call(a.matvec, None, [np.zeros(a.shape[1], np.result_type(a.dtype, v.dtype))])[1](v)[0]
    return np.zeros(a.shape[1], a.dtype) if d is None else d


def _check_solved(a: Any, x: np.ndarray, b: np.ndarray, info: int) -> None:
    """Where a method gave up is the solution if little is left: then too much was asked for."""
    if info and not np.linalg.norm(a @ x - b.reshape(x.shape)) <= 1e-6 * np.linalg.norm(b):
        raise NotDifferentiated(
            "the solver has not converged: where it stopped is no solution, and has no derivative as one; "
            "give it more iterations or a better preconditioner"
        )


def _iterative(f: Any) -> None:
    preconditioners = ("M1", "M2") if f is spl.qmr else ("M",)

    @rrule(f, types=(Any_, Array))
    @watched
    def rule(A: CoDual, b, x0=None, **options: CoDual):
        given = {k: v.primal for k, v in options.items()}
        a = A.primal
        x, info = f(a, b, x0, **given)
        x = x.copy()  # callbacks are given the solver's own
        fx = zero_fdata(x)

        def pullback(dy):
            dy = take_fdata(fx, None if dy is None else dy[0])
            if dy is None:
                return None
            _check_solved(a, x, b, info)
            back = {k: v for k, v in given.items() if not k.startswith("callback")}
            for k in preconditioners:
                if k in back:
                    back[k] = _adjoint_operator(f, back[k])
            turned = _adjoint_operator(f, a)
            db, info_back = f(turned, dy, **back)
            _check_solved(turned, db, np.asarray(dy), info_back)
            da = None
            if isinstance(a, Sparse):
                give(A, outer(-db, x))
            elif isinstance(a, np.ndarray):
                da = kind_of(-np.outer(db, np.conjugate(x)), a)
            else:  # by what the operator was made from, as A x depends on it
                call(a.matvec, A.fdata, [x], [False])[1](-db)
            if type(A.fdata) is Shadow:
                A.fdata.add(da)
                da = None
            return da, kind_of(db.reshape(b.shape), b), None, *[None] * len(options)

        return CoDual((x, info), (fx, None)), pullback


for _f in (spl.cg, spl.cgs, spl.bicg, spl.bicgstab, spl.gmres, spl.lgmres, spl.minres, spl.qmr, spl.gcrotmk, spl.tfqmr):
    _iterative(_f)

# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 2, 2, 0, 3, 1])
_D = np.array([4.0, 0.5, 3.0, 0.2, 5.0, 0.7, 2.0, 0.3])
_V = np.array([0.5, -1.0, 2.0, 0.3])
_M = np.stack([_V, _V**2], axis=1)


def _matrix(d):
    return sp.csc_array((d, (_ROW, _COL)), shape=(4, 4))


_FIXED = _matrix(_D)


def _spd(d):
    a = _matrix(d)
    return a @ a.T


def _by_lu(d, b):
    lu = spl.splu(_matrix(d))
    return lu.solve(b), lu.solve(b, "T"), spl.factorized(_matrix(d))(b)


def _by_complex_lu(d, b):
    lu = spl.splu(_matrix(d * (1.0 + 0.5j)))
    return lu.solve(b * (0.3 + 1.0j)), lu.solve(b + 0j, "T"), lu.solve(b * 1j, "H")


def _lower(d, b):
    return spl.spsolve_triangular(sp.tril(_matrix(d).tocsr()).tocsr(), b)


def _of_operators(d, b):
    a = spl.LinearOperator((4, 4), matvec=lambda v: d[:4] * v, dtype=float)
    return spl.cg(a, b, rtol=1e-13)[0], spl.minres(spl.aslinearoperator(_spd(d)), b, rtol=1e-13)[0]


def _by_matvec_alone(d, b):
    a = spl.LinearOperator((4, 4), matvec=lambda v: d[:4] * v + 0.1 * np.roll(v, 1), dtype=float)
    z = spl.LinearOperator((4, 4), matvec=lambda v: (d[:4] + 0.5j) * v + 0.1j * np.roll(v, 1), dtype=complex)
    return spl.gmres(a, b, rtol=1e-13)[0], spl.bicgstab(a * 2.0, b, rtol=1e-13)[0], spl.gmres(z, b, rtol=1e-13)[0]


def _preconditioned(d, b):
    a = _matrix(d)
    near = spl.LinearOperator((4, 4), spl.spilu(a).solve)
    return spl.gmres(a, b, rtol=1e-13, M=near)[0]


def _out_of_order(d, v):
    indices, indptr = np.array([2, 0, 1, 2, 1]), np.array([0, 2, 3, 5])
    return spl.spsolve(sp.csc_array((d, indices, indptr), shape=(3, 3)), v)


CASES: list[RuleCase] = [
    case(_out_of_order, np.array([0.5, 4.0, 3.0, 5.0, 0.7]), np.array([0.5, -1.0, 2.0])),
    case(_by_matvec_alone, _D, _V), case(_preconditioned, _D, _V),
    case(lambda b: spl.spsolve(_FIXED, b), _V), case(lambda d, b: spl.spsolve(_matrix(d), b), _D, _V),
    case(lambda d, b: spl.spsolve(_matrix(d), b), _D, _M), case(_by_lu, _D, _V), case(_by_lu, _D, _M),
    case(_by_complex_lu, _D, _V), case(lambda b: spl.splu(_FIXED).solve(b), _V), case(_lower, _D, _V),
    case(lambda b: spl.spsolve_triangular(sp.triu(_FIXED).tocsr(), b, lower=False), _M), case(_of_operators, _D, _V),
    *[case(lambda d, b, f=f: f(_matrix(d), b, rtol=1e-13)[0], _D, _V)
      for f in (spl.gmres, spl.bicgstab, spl.bicg, spl.lgmres, spl.qmr)],
    *[case(lambda d, b, f=f: f(_spd(d), b, rtol=1e-13)[0], _D, _V) for f in (spl.cg, spl.minres)],
    case(lambda a, b: spl.gmres(a, b, rtol=1e-13)[0], _FIXED.toarray(), _V),
    case(lambda b: spl.cg(spl.aslinearoperator(_spd(_D)), b, rtol=1e-13)[0], _V),
]  # fmt: skip
