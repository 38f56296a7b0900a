"""scipy.linalg. Sources of the formulas as in numpy_linalg; for matrix functions N. Higham, "Functions of Matrices"
(2008): the adjoint of the derivative of f at A is the derivative of f at A^H. Matrices of which a function reads a
triangle or some diagonals only have a cotangent there and zeros elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.registry import infer_table
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types
from mooncake_rules.numpy_linalg import (
    adjoint,
    det_cotangent,
    inv_cotangent,
    kind_of,
    lstsq_cotangents,
    one_triangle,
    pinv_cotangent,
)
from mooncake_rules.numpy_norms import norm_cotangent
from mooncake_rules.scipy_library import library_rule
from mooncake_rules.stacks import one_after_other

Options = dict[str, Any]
Arrays = np.ndarray


def _matrix(x: Arrays, vector: bool) -> Arrays:
    return x[..., None] if vector else x


def _zeros(y: Any) -> Any:
    return np.zeros(y.shape, y.dtype)


def _or_zeros(dy: Any, y: Any) -> Any:
    return _zeros(y) if dy is None else dy


def lower_part(t: Arrays, k: int = 0) -> Arrays:
    return np.tril(t, k)


# -- systems ----------------------------------------------------------------------------------------------


def _read(t: Arrays, structure: Any, lower: bool) -> Arrays:
    """The cotangent t of a matrix of this structure at the entries that are read."""
    if structure in ("sym", "symmetric"):
        both = t + t.swapaxes(-1, -2)
        return _half(both, lower)
    if structure in ("her", "hermitian", "pos", "positive definite"):
        return one_triangle((t + adjoint(t)) / 2, lower)
    if structure in ("upper triangular", "lower triangular"):
        return np.triu(t) if structure[0] == "u" else np.tril(t)
    if structure == "diagonal":
        return t * np.eye(t.shape[-1], dtype=t.real.dtype)
    if structure == "tridiagonal":
        return np.triu(np.tril(t, 1), -1)
    return t


def _half(both: Arrays, lower: bool) -> Arrays:
    t = np.tril(both) if lower else np.triu(both)
    n = t.shape[-1]
    t[..., range(n), range(n)] /= 2
    return t


def solve_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Arrays, Arrays]:
    a, b = o["a"], o["b"]
    structure, lower, transposed = o["assume_a"], o["lower"], o.get("transposed", False)
    full = a
    if structure in ("sym", "symmetric", "her", "hermitian", "pos", "positive definite"):
        part = np.tril(a) if lower else np.triu(a)
        flip = part.swapaxes(-1, -2) if structure in ("sym", "symmetric") else adjoint(part)
        full = part + flip - part * np.eye(a.shape[-1], dtype=a.real.dtype)
        if structure not in ("sym", "symmetric"):
            full = np.where(np.eye(a.shape[-1], dtype=bool), full.real, full)
    elif structure in ("upper triangular", "lower triangular", "diagonal", "tridiagonal"):
        full = _read(a, structure, lower)
    op = full.swapaxes(-1, -2) if transposed else full
    vector = b.ndim == 1
    db = np.linalg.solve(adjoint(op), _matrix(dy, vector))
    da = -(db @ adjoint(_matrix(x, vector)))
    da = da.swapaxes(-1, -2) if transposed else da
    db = db[..., 0] if vector else db
    return unbroadcast(_read(da, structure, lower), a.shape), unbroadcast(db, b.shape)


_TRANS = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def triangular_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Arrays, Arrays]:
    a, b, lower, unit = o["a"], o["b"], o["lower"], o["unit_diagonal"]
    trans = _TRANS[o["trans"]]
    part = np.tril(a, -1 if unit else 0) if lower else np.triu(a, 1 if unit else 0)
    if unit:
        part = part + np.eye(a.shape[-1], dtype=a.dtype)
    op = part if trans == 0 else part.swapaxes(-1, -2) if trans == 1 else adjoint(part)
    vector = b.ndim == 1
    db = np.linalg.solve(adjoint(op), _matrix(dy, vector))
    if a.ndim == 2:
        turned = lower if trans else not lower
        db = sl.solve_triangular(adjoint(op), _matrix(dy, vector), lower=turned, unit_diagonal=unit)
    da = -(db @ adjoint(_matrix(x, vector)))
    da = da if trans == 0 else da.swapaxes(-1, -2) if trans == 1 else adjoint(da)
    k = (-1 if lower else 1) if unit else 0
    da = np.tril(da, k) if lower else np.triu(da, k)
    db = db[..., 0] if vector else db
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


def cho_solve_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, Arrays]:
    c, b = np.asarray(o["c_and_lower"][0]), o["b"]
    lower = bool(np.ravel(o["c_and_lower"][1])[0])  # SciPy's cho_factor gives one for each matrix of a stack
    vector = b.ndim == 1
    if c.ndim > 2 or b.ndim > 2:

        def one(dy: Arrays, x: Arrays, c: Arrays, b: Arrays) -> Any:
            (dc, _), db = cho_solve_cotangents(dy, x, {"c_and_lower": (c, lower), "b": b})
            return dc, db

        dc, db = one_after_other(one, dy, x, (c, 2), (b, min(b.ndim, 2)))
        return (kind_of(dc, c), None), db
    db = sl.cho_solve((c, lower), dy)
    dm = -(_matrix(db, vector) @ adjoint(_matrix(x, vector)))
    dm = dm + adjoint(dm)
    dc = np.tril(dm @ np.tril(c)) if lower else np.triu(np.triu(c) @ dm)
    return (kind_of(dc, c), None), db


def _pivots(piv: Arrays, m: int) -> Arrays:
    """The order of the rows after LAPACK's exchanges."""
    p = np.arange(m)
    for i, j in enumerate(piv):
        p[[i, j]] = p[[j, i]]
    return p


def lu_parts(dl: Arrays, du: Arrays, lo: Arrays, up: Arrays) -> Arrays:
    """The cotangent of L U = A, from those of L (unit lower) and U, for matrices of every shape."""
    m, n = lo.shape[-2], up.shape[-1]
    k = min(m, n)
    l1, u1 = lo[..., :k, :], up[..., :, :k]
    dl, du = np.tril(dl, -1), np.triu(du)
    dl1, du1 = dl[..., :k, :], du[..., :, :k]
    rest: Any = None
    if n > k:
        rest = sl.solve_triangular(adjoint(l1), du[..., :, k:], unit_diagonal=True)
        dl1 = np.tril(dl1 - rest @ adjoint(up[..., :, k:]), -1)
    if m > k:
        rest = adjoint(sl.solve_triangular(u1, adjoint(dl[..., k:, :])))
        du1 = np.triu(du1 - adjoint(lo[..., k:, :]) @ rest)
    inner = np.tril(adjoint(l1) @ dl1, -1) + np.triu(du1 @ adjoint(u1))
    t = sl.solve_triangular(adjoint(l1), inner, unit_diagonal=True)
    t = adjoint(sl.solve_triangular(u1, adjoint(t)))
    return t if rest is None else np.concatenate([t, rest], -1 if n > k else -2)


def _split_lu(lu: Arrays) -> tuple[Arrays, Arrays]:
    m, n = lu.shape
    k = min(m, n)
    return np.tril(lu[:, :k], -1) + np.eye(m, k, dtype=lu.dtype), np.triu(lu[:k])


def each(cotangent: Any, dy: Any, y: Any, o: Options) -> Any:
    """The cotangents of a stack of matrices, one after the other."""
    a = o["a"]
    out = np.zeros(a.shape, np.result_type(a, *[d for d in dy if d is not None]))
    for i in np.ndindex(a.shape[:-2]):
        t = cotangent(tuple([None if d is None else d[i] for d in dy]), tuple([v[i] for v in y]), {**o, "a": a[i]})
        out[i] = 0.0 if t is None else t
    return out


def lu_factor_cotangent(dy: Any, y: Any, o: Options) -> Any:
    if o["a"].ndim > 2:
        return each(lu_factor_cotangent, dy, y, o)
    if dy[0] is None:
        return None
    k = min(y[0].shape)
    t = lu_parts(dy[0][:, :k], dy[0][:k], *_split_lu(y[0]))
    out = np.empty_like(t)
    out[_pivots(y[1], t.shape[0])] = t
    return out


def lu_solve_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, Arrays]:
    (lu, piv), b, trans = o["lu_and_piv"], o["b"], o["trans"]
    lu, piv = np.asarray(lu), np.asarray(piv)
    vector = b.ndim == 1
    if lu.ndim > 2 or b.ndim > 2:

        def one(dy: Arrays, x: Arrays, lu: Arrays, piv: Arrays, b: Arrays) -> Any:
            (dlu, _), db = lu_solve_cotangents(dy, x, {"lu_and_piv": (lu, piv), "b": b, "trans": trans})
            return dlu, None, db

        dlu, _, db = one_after_other(one, dy, x, (lu, 2), (piv, 1), (b, min(b.ndim, 2)))
        return (kind_of(dlu, lu), None), db
    if trans == 1 and lu.dtype.kind == "c":
        db = np.conjugate(sl.lu_solve((lu, piv), np.conjugate(dy)))
    else:
        db = sl.lu_solve((lu, piv), dy, trans=2 if trans == 0 else 0)
    da = -(_matrix(db, vector) @ adjoint(_matrix(x, vector)))
    da = da if trans == 0 else da.T if trans == 1 else adjoint(da)
    lo, up = _split_lu(lu)
    da = da[_pivots(piv, da.shape[0])]
    dlu = np.tril(da @ adjoint(up), -1) + np.triu(adjoint(lo) @ da)
    return (kind_of(dlu, lu), None), db


def lu_cotangent(dy: Any, y: Any, o: Options) -> Any:
    a = o["a"]
    if a.ndim > 2:
        return each(lu_cotangent, dy, y, o)
    if o["permute_l"]:
        up = y[1]
        p, lo, _ = sl.lu(a)
        dl = None if dy[0] is None else p.T @ dy[0]
        du = dy[1]
    else:
        p, lo, up = y
        dl, du = dy[1], dy[2]
        p = np.eye(a.shape[0])[:, p].T if o["p_indices"] else p
    t = lu_parts(_or_zeros(dl, lo), _or_zeros(du, up), lo, up)
    return p @ t


def banded_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, Arrays, Arrays]:
    """ab[u + i - j, j] is A[i, j]."""
    (lo, up), ab, b = o["l_and_u"], o["ab"], o["b"]
    n = ab.shape[-1]
    turned = np.zeros_like(ab)
    there = range(max(-up, 1 - n), min(lo, n - 1) + 1)  # diagonals below the main one; more may be given than there are
    for k in there:
        d = np.conjugate(ab[up + k, max(0, -k) : n - max(0, k)])
        turned[lo - k, max(0, k) : n - max(0, -k)] = d
    db = sl.solve_banded((up, lo), turned, dy)
    dm, xm = (db[:, None], x[:, None]) if b.ndim == 1 else (db, x)
    dab = np.zeros(ab.shape, np.result_type(ab, db))
    for k in there:
        cols = slice(max(0, -k), n - max(0, k))
        rows = slice(max(0, k), n - max(0, -k))
        dab[up + k, cols] = -np.sum(dm[rows] * np.conjugate(xm[cols]), axis=1)
    return None, dab, db


def hermitian_banded_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Arrays, Arrays]:
    ab, b, lower = o["ab"], o["b"], o["lower"]
    n, u = ab.shape[-1], ab.shape[0] - 1
    db = sl.solveh_banded(ab, dy, lower=lower)
    dm, xm = (db[:, None], x[:, None]) if b.ndim == 1 else (db, x)
    dab = np.zeros(ab.shape, np.result_type(ab, db))
    for k in range(u + 1):
        below = -np.sum(dm[k:] * np.conjugate(xm[: n - k]), axis=1)
        above = -np.sum(dm[: n - k] * np.conjugate(xm[k:]), axis=1)
        if lower:
            dab[k, : n - k] = below + np.conjugate(above) if k else np.real(below)
        else:
            dab[u - k, k:] = above + np.conjugate(below) if k else np.real(below)
    return dab, db


def toeplitz_system_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, Arrays]:
    pair, b = o["c_or_cr"], o["b"]
    c, r = (np.asarray(v) for v in pair) if type(pair) is tuple else (pair, np.conjugate(pair))
    if max(c.ndim, r.ndim) > 1 or b.ndim > 2:

        def one(dy: Arrays, x: Arrays, c: Arrays, r: Arrays, b: Arrays) -> Any:
            (dc, dr), db = toeplitz_system_cotangents(dy, x, {"c_or_cr": (c, r), "b": b})
            return dc, dr, db

        dc, dr, db = one_after_other(one, dy, x, (c, 1), (r, 1), (b, min(b.ndim, 2)))
        return (kind_of(dc, c), kind_of(dr, r)) if type(pair) is tuple else dc + np.conjugate(dr), db
    db = sl.solve_toeplitz((np.conjugate(np.concatenate([c[:1], r[1:]])), np.conjugate(c)), dy)
    dm, xm = (db[:, None], x[:, None]) if b.ndim == 1 else (db, x)
    t = -(dm @ np.conjugate(xm).T)
    dc, dr = toeplitz_parts(t, len(c), len(r))
    if type(pair) is tuple:
        return (kind_of(dc, c), kind_of(dr, r)), db
    return dc + np.conjugate(dr), db


def toeplitz_parts(t: Arrays, n: int, m: int) -> tuple[Arrays, Arrays]:
    """The sums along the diagonals: of the first column, and of the first row without its first element."""
    index = sl.toeplitz(np.arange(n), np.arange(m) + n)
    out = np.zeros(n + m, t.dtype)
    np.add.at(out, index, t)
    return out[:n], out[n:]


library_rule(sl.solve, 2, solve_cotangents)
library_rule(sl.solve_triangular, 2, triangular_cotangents)
library_rule(sl.cho_solve, 2, cho_solve_cotangents)
library_rule(sl.lu_factor, 1, lu_factor_cotangent)
library_rule(sl.lu_solve, 2, lu_solve_cotangents)
library_rule(sl.lu, 1, lu_cotangent)
library_rule(sl.solve_banded, ("l_and_u", "ab", "b"), banded_cotangents, matrices={"ab": 2, "b": "1|2"})
library_rule(sl.solveh_banded, 2, hermitian_banded_cotangents)
library_rule(sl.solve_toeplitz, 2, toeplitz_system_cotangents)


def inverse_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    return _read(inv_cotangent(dy, y), o.get("assume_a"), o.get("lower", False))


def pseudo_cotangent(dy: Any, y: Any, o: Options) -> Any:
    p, dp = (y[0], dy[0]) if o["return_rank"] else (y, dy)
    return None if dp is None else pinv_cotangent(dp, o["a"], p)


def hermitian_pseudo_cotangent(dy: Any, y: Any, o: Options) -> Any:
    t = pseudo_cotangent(dy, y, o)
    return None if t is None else one_triangle((t + adjoint(t)) / 2, o["lower"])


library_rule(sl.inv, 1, inverse_cotangent)
library_rule(sl.det, 1, lambda dy, y, o: det_cotangent(dy, o["a"], y))
library_rule(sl.pinv, 1, pseudo_cotangent)
library_rule(sl.pinvh, 1, hermitian_pseudo_cotangent)
library_rule(sl.norm, 1, lambda dy, y, o: norm_cotangent(dy, o["a"], y, o["ord"], o["axis"], o["keepdims"]))
library_rule(sl.lstsq, 2, lambda dy, y, o: lstsq_cotangents(dy, o["a"], o["b"], y[0]))


_like, _solved = infer_table[np.linalg.inv], infer_table[np.linalg.solve]

for _f in (sl.inv, sl.cholesky, sl.expm):
    infer_table[_f] = _like

for _f in (sl.solve, sl.solve_triangular):
    infer_table[_f] = _solved


def _det_type(args: Types, kwargs: dict[str, T]) -> T | None:
    """SciPy's determinants are of double precision."""
    t = infer_table[np.linalg.det](args, kwargs)
    if isinstance(t, Arr):
        return Arr(None if t.dtype is None else np.result_type(t.dtype, np.float64), t.ndim, t.act)
    if isinstance(t, Inst):
        return Inst(np.result_type(t.cls, np.float64).type, t.act)
    return t


infer_table[sl.det] = _det_type

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_H = _A @ _A.T + np.eye(3)
_K = np.array([[1.5, 0.2, 0.1], [0.2, 2.5, 0.3], [0.1, 0.3, 3.5]])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_ZH = _Z @ np.conjugate(_Z.T) + np.eye(3)
_B = np.stack([_A, _A.T + np.eye(3)])
_BAND = np.array([[0.0, 0.5, -0.3, 0.2], [3.0, 4.0, 5.0, 3.5], [0.7, -0.4, 0.6, 0.0]])

_F32 = np.float32


def _via_lu(a: Any, b: Any, trans: int = 0) -> Any:
    f = sl.lu_factor(a)
    return sl.lu_solve(f, b, trans=trans), f[0]


def _lu(a: Any) -> Any:
    _, lo, up = sl.lu(a)
    return lo * 2.0, up * 3.0


def _pl_u(a: Any) -> Any:
    pl, up = sl.lu(a, permute_l=True)
    return pl * 2.0, up * 3.0


def _lu_indices(a: Any) -> Any:
    _, lo, up = sl.lu(a, p_indices=True)
    return lo * 2.0, up * 3.0


_HEAVY = 3.0 * (np.arange(8) == 3)[:, None]  # the main one of many diagonals

CASES: list[RuleCase] = [
    *[case(f, np.stack([_A, _H])) for f in (_lu, _pl_u, _lu_indices)], case(_lu, np.stack([_Z[:2], _ZH[:2]])),
    case(lambda a: sl.lu_factor(a)[0] * 2.0, np.stack([_A, _H])),
    *[case(f, x) for f in (sl.inv, sl.det, sl.pinv, sl.expm) for x in (_A, _Z, _A.astype(_F32), _B)],
    *[case(sl.solve, a, b) for a, b in ((_A, _V), (_A, _M.T), (_Z, _V), (_A, _Z), (_B, _A))],
    *[case(sl.solve, _H, _V, assume_a=s, lower=w) for s in ("sym", "pos", "gen") for w in (False, True)],
    case(sl.solve, _ZH, _V, assume_a="her"), case(sl.solve, _A, _V, transposed=True), case(sl.solve, _A.tolist(), _V),
    case(lambda x: sl.solve([[2.0, x], [1.0, 3.0]], [1.0, x]), 0.5), case(sl.solve, _A.astype(_F32), _V.astype(_F32)),
    *[case(sl.solve_triangular, a, b, t, lower=w) for a, b in ((_K, _V), (_K, _M.T), (_ZH, _V)) for t in (0, 1, 2)
      for w in (False, True)], case(sl.solve_triangular, _K, _V, unit_diagonal=True),
    case(sl.solve_triangular, _K, _V, "T", True),
    *[case(_via_lu, a, b, t) for a, b in ((_A, _V), (_A, _M.T), (_Z, _V)) for t in (0, 1, 2)],
    *[case(f, a) for f in (_lu, _pl_u, _lu_indices) for a in (_A, _M, _M.T, _Z)],
    case(sl.solve_banded, (4, 3), np.sin(np.arange(24.0)).reshape(8, 3) + _HEAVY, np.arange(1.0, 4.0)),
    case(sl.solve_banded, (1, 1), _BAND, np.arange(1.0, 5.0)), case(sl.solve_banded, (1, 1), _BAND, np.eye(4)[:, :2]),
    case(sl.solve_banded, (1, 1), _BAND * (1 + 0.3j), np.arange(1.0, 5.0)),
    case(sl.solveh_banded, _BAND[:2], np.arange(1.0, 5.0)), case(sl.solveh_banded, _BAND[1:], np.eye(4), lower=True),
    case(sl.solve_toeplitz, _V + 3, _V), case(sl.solve_toeplitz, (_V + 3, _V - 1), _V),
    case(sl.solve_toeplitz, (_V + 3, _V - 1), _M.T), *[case(sl.norm, _M, o) for o in (None, "fro", "nuc", 2)],
    case(sl.norm, _V), case(sl.norm, _V, 1), case(sl.norm, _Z), case(lambda a, b: sl.lstsq(a, b)[0], _M.T, _V),
    case(sl.pinvh, _H),
]  # fmt: skip
