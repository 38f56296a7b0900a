"""scipy.linalg. Sources of the formulas as in numpy_linalg; for matrix functions N. Higham, "Functions of Matrices"
(2008): the adjoint of the derivative of f at A is the derivative of f at A^H. Matrices of which a function reads a
triangle or some diagonals only have a cotangent there and zeros elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.registry import infer_table, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types
from mooncake_rules.numpy_decompositions import cholesky_cotangent, eigh_cotangent, qr_cotangent, svd_cotangent
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
from mooncake_rules.sequences import unstack

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
    (c, lower), b = o["c_and_lower"], o["b"]
    vector = b.ndim == 1
    db = sl.cho_solve((c, lower), dy)
    dm = -(_matrix(db, vector) @ adjoint(_matrix(x, vector)))
    dm = dm + adjoint(dm)
    dc = np.tril(dm @ np.tril(c)) if lower else np.triu(np.triu(c) @ dm)
    return (kind_of(unbroadcast(dc, c.shape), c), None), unbroadcast(db, b.shape)


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


def _single(a: Arrays, name: str) -> None:
    if a.ndim > 2:
        raise NotImplementedError(f"scipy.linalg.{name} of stacks of matrices is not differentiated: loop over them")


def lu_factor_cotangent(dy: Any, y: Any, o: Options) -> Any:
    _single(o["a"], "lu_factor")
    if dy[0] is None:
        return None
    k = min(y[0].shape)
    t = lu_parts(dy[0][:, :k], dy[0][:k], *_split_lu(y[0]))
    out = np.empty_like(t)
    out[_pivots(y[1], t.shape[0])] = t
    return out


def lu_solve_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, Arrays]:
    (lu, piv), b, trans = o["lu_and_piv"], o["b"], o["trans"]
    _single(lu, "lu_solve")
    vector = b.ndim == 1
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
    _single(a, "lu")
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
    for k in range(-up, lo + 1):  # the k-th diagonal below the main one
        d = np.conjugate(ab[up + k, max(0, -k) : n - max(0, k)])
        turned[lo - k, max(0, k) : n - max(0, -k)] = d
    db = sl.solve_banded((up, lo), turned, dy)
    dm, xm = (db[:, None], x[:, None]) if b.ndim == 1 else (db, x)
    dab = np.zeros(ab.shape, np.result_type(ab, db))
    for k in range(-up, lo + 1):
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
library_rule(sl.solve_banded, ("l_and_u", "ab", "b"), banded_cotangents)
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

# -- decompositions ---------------------------------------------------------------------------------------


def _cholesky(dy: Arrays, y: Arrays, lower: bool) -> Arrays:
    return cholesky_cotangent(dy, y) if lower else adjoint(cholesky_cotangent(adjoint(dy), adjoint(y)))


def cho_factor_cotangent(dy: Any, y: Any, o: Options) -> Any:
    """What stands in the other triangle of the factor is the matrix's own."""
    if dy[0] is None:
        return None
    lower = o["lower"]
    keep, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    return _cholesky(keep(dy[0]), keep(y[0]), lower) + other(dy[0], 1 if lower else -1)


def scipy_qr_cotangent(dy: Any, y: Any, o: Options) -> Any:
    a, mode = o["a"], o["mode"]
    if mode == "raw":
        raise NotImplementedError("scipy.linalg.qr is not differentiated in mode 'raw'")
    k = min(a.shape[-2:])
    items, ds = (list(v) if type(y) is tuple else [v] for v in (y, dy))
    order = items[-1] if o["pivoting"] else None
    ordered = a if order is None else np.take_along_axis(a, order[..., None, :], -1)
    if mode == "r":
        q, r = np.linalg.qr(ordered)
        dq, dr = None, ds[0]
        sign = np.sign(np.real(np.einsum("...ii->...i", r))) * np.sign(np.real(np.einsum("...ii->...i", items[0])))
        q, r = q * sign[..., None, :], r * sign[..., :, None]
    else:
        q, r = items[0][..., :k], items[1][..., :k, :]
        dq, dr = ds[0], ds[1]
        if dq is not None and np.any(dq[..., k:]):
            raise NotImplementedError("the columns that complete Q are not determined: call qr with mode='economic'")
        dq = None if dq is None else dq[..., :k]
    dr = None if dr is None else np.triu(dr[..., :k, :])
    t = qr_cotangent(dq, dr, ordered, q, r)
    if order is None:
        return t
    out = np.empty_like(t)
    np.put_along_axis(out, np.broadcast_to(order[..., None, :], t.shape), t, -1)
    return out


def scipy_svd_cotangent(dy: Any, y: Any, o: Options) -> Any:
    if o["compute_uv"]:
        return svd_cotangent(dy[0], dy[1], dy[2], o["a"], y[0], y[1], y[2])
    u, s, vh = np.linalg.svd(o["a"], full_matrices=False)
    return svd_cotangent(None, dy, None, o["a"], u, s, vh)


def singular_values_cotangent(dy: Any, y: Any, o: Options) -> Any:
    u, s, vh = np.linalg.svd(o["a"], full_matrices=False)
    return svd_cotangent(None, dy, None, o["a"], u, s, vh)


def eigh_cotangents(dw: Any, dv: Any, w: Any, v: Any, o: Options) -> tuple[Any, Any]:
    """A v = w B v with V^H B V = 1; of a part of the spectrum the other vectors are found anew."""
    a, b, lower = o["a"], o["b"], o["lower"]
    if o["type"] != 1:
        raise NotImplementedError("scipy.linalg.eigh is differentiated for problems of type 1")
    whole_w, whole_v = sl.eigh(a, b, lower=lower)
    if len(w) != len(whole_w):
        first = int(np.argmin(np.abs(whole_w - w[0])))
        part = slice(first, first + len(w))
        if v is not None:
            whole_v[:, part] = v
        dws, dvs = np.zeros_like(whole_w), np.zeros_like(whole_v)
        dws[part] = 0.0 if dw is None else dw
        dvs[:, part] = 0.0 if dv is None else dv
        dw, dv, w, v = dws, None if dv is None else dvs, whole_w, whole_v
    elif v is None:
        v = whole_v
    if b is None:
        return eigh_cotangent(dw, dv, w, v, lower), None
    n = len(w)
    inner = np.diag(np.zeros(n) if dw is None else np.asarray(dw)).astype(v.dtype)
    own: Any = 0.0
    if dv is not None:
        m = adjoint(v) @ dv
        inner = inner + m * (1 - np.eye(n)) / (w[None, :] - w[:, None] + np.eye(n))
        own = np.diag(np.diag(m)) / 2
    da = v @ inner @ adjoint(v)
    db = -(v @ (inner * w[None, :] + own) @ adjoint(v))
    return one_triangle((da + adjoint(da)) / 2, lower), one_triangle((db + adjoint(db)) / 2, lower)


def scipy_eigh_cotangents(dy: Any, y: Any, o: Options) -> Any:
    _single(o["a"], "eigh")
    if o["eigvals_only"]:
        return eigh_cotangents(dy, None, y, None, o)
    return eigh_cotangents(dy[0], dy[1], y[0], y[1], o)


def tridiagonal_cotangents(dy: Any, y: Any, o: Options) -> Any:
    values = type(y) is not tuple
    if o["select"] != "a":
        raise NotImplementedError("scipy.linalg.eigh_tridiagonal is differentiated for the whole spectrum")
    d, e = o["d"], o["e"]
    w, v = sl.eigh_tridiagonal(d, e) if values else y
    dw, dv = (dy, None) if values else dy
    inner: Any = np.zeros((len(w), len(w)))
    if dw is not None:
        inner = inner + np.diag(dw)
    if dv is not None:
        inner = inner + (v.T @ dv) * (1 - np.eye(len(w))) / (w[None, :] - w[:, None] + np.eye(len(w)))
    t = v @ inner @ v.T
    return np.diag(t), np.diag(t, 1) + np.diag(t, -1)


def eig_cotangent(dw: Any, dv: Any, w: Arrays, v: Arrays) -> Arrays:
    """Eigenvectors have norm 1 and, as LAPACK has it, their largest component is real (C. Boeddeker et al. 2017)."""
    n = len(w)
    vh = adjoint(v)
    inner = np.zeros((n, n), complex) if dw is None else np.diag(np.asarray(dw, complex))
    if dv is not None:
        g = np.array(dv, complex)
        top = np.argmax(np.abs(v), axis=0)
        cols = np.arange(n)
        turn = np.real(np.sum(np.conjugate(g) * (-1j * v), axis=0))
        g[top, cols] += 1j / v[top, cols].real * turn
        m = vh @ g
        m = m - (vh @ v) * np.real(np.diag(m))[None, :]
        gaps = w[None, :] - w[:, None] + np.eye(n)
        inner = inner + m * (1 - np.eye(n)) / np.conjugate(gaps)
    return np.linalg.solve(vh, inner @ vh)


def scipy_eig_cotangent(dy: Any, y: Any, o: Options) -> Any:
    a = o["a"]
    _single(a, "eig")
    if o["b"] is not None or o.get("left") or o["homogeneous_eigvals"]:
        raise NotImplementedError("scipy.linalg.eig is differentiated without b, left and homogeneous_eigvals")
    if type(y) is tuple:
        return eig_cotangent(dy[0], dy[1], y[0], np.asarray(y[1], complex))
    w, v = np.linalg.eig(a)
    order = np.argmin(np.abs(w[None, :] - y[:, None]), axis=1)
    return eig_cotangent(dy, None, y, np.asarray(v[:, order], complex))


library_rule(sl.cholesky, 1, lambda dy, y, o: _cholesky(np.tril(dy) if o["lower"] else np.triu(dy), y, o["lower"]))
library_rule(sl.cho_factor, 1, cho_factor_cotangent)
library_rule(sl.qr, 1, scipy_qr_cotangent)
library_rule(sl.svd, 1, scipy_svd_cotangent)
library_rule(sl.svdvals, 1, singular_values_cotangent)
library_rule(sl.eigh, 2, scipy_eigh_cotangents)
library_rule(sl.eigvalsh, 2, lambda dy, y, o: eigh_cotangents(dy, None, y, None, o))
library_rule(sl.eigh_tridiagonal, 2, tridiagonal_cotangents)
library_rule(sl.eigvalsh_tridiagonal, 2, tridiagonal_cotangents)
library_rule(sl.eig, 1, scipy_eig_cotangent)
library_rule(sl.eigvals, 1, scipy_eig_cotangent)

# -- functions of matrices --------------------------------------------------------------------------------


def _each(f: Any, *stacks: Arrays) -> Arrays:
    """f of the matrices of stacks, one by one."""
    if stacks[0].ndim == 2:
        return np.asarray(f(*stacks))
    flat = [s.reshape(-1, *s.shape[-2:]) for s in stacks]
    return np.stack([f(*ms) for ms in zip(*flat, strict=True)]).reshape(stacks[0].shape)


def expm_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    return _each(lambda a, e: sl.expm_frechet(a, e, compute_expm=False), adjoint(o["A"]), dy)


def sqrtm_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    """X X = A: the cotangent solves X^H T + T X^H = dy."""
    yh = adjoint(y)
    return _each(sl.solve_sylvester, yh, yh, dy)


def block_derivative(f: Any, a: Arrays, e: Arrays) -> Arrays:
    """The derivative of the matrix function f at a in direction e: a block of f([[a, e], [0, a]])."""
    n = a.shape[-1]
    scale = float(np.linalg.norm(e)) / (float(np.linalg.norm(a)) or 1.0)
    if not scale:
        return np.zeros_like(e)
    whole = np.zeros((2 * n, 2 * n), np.result_type(a, e))
    whole[:n, :n] = whole[n:, n:] = a
    whole[:n, n:] = e / scale
    return f(whole)[:n, n:] * scale


def _matrix_function(f: Any) -> None:
    library_rule(f, 1, lambda dy, y, o: _each(lambda a, e: block_derivative(f, a, e), adjoint(o["A"]), dy))


def power_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    a, t = o["A"], o["t"]
    p = float(t)
    da = block_derivative(lambda m: sl.fractional_matrix_power(m, p), adjoint(a), dy)
    return da, np.real(np.sum(np.conjugate(dy) * (y @ sl.logm(a))))


library_rule(sl.expm, 1, expm_cotangent)
library_rule(sl.sqrtm, 1, sqrtm_cotangent)
for _f in (sl.logm, sl.cosm, sl.sinm, sl.tanm, sl.coshm, sl.sinhm, sl.tanhm):
    _matrix_function(_f)
library_rule(sl.fractional_matrix_power, 2, power_cotangents)

# -- matrix equations -------------------------------------------------------------------------------------


def sylvester_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    z = sl.solve_sylvester(adjoint(o["a"]), adjoint(o["b"]), dy)
    xh = adjoint(x)
    return -(z @ xh), -(xh @ z), z


def lyapunov_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A X + X A^H = Q."""
    z = sl.solve_continuous_lyapunov(adjoint(o["a"]), dy)
    return -(z @ adjoint(x) + adjoint(z) @ x), z


def discrete_lyapunov_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A X A^H - X + Q = 0."""
    a = o["a"]
    z = sl.solve_discrete_lyapunov(adjoint(a), dy)
    return z @ a @ adjoint(x) + adjoint(z) @ a @ x, z


def riccati_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A^H X + X A - X B R^-1 B^H X + Q = 0."""
    if o["e"] is not None or o["s"] is not None:
        raise NotImplementedError("scipy.linalg.solve_continuous_are is differentiated without e and s")
    a, b, r = o["a"], o["b"], o["r"]
    gain = np.linalg.solve(r, adjoint(b) @ x)
    closed = a - b @ gain
    z = sl.solve_continuous_lyapunov(closed, -dy)
    both = adjoint(x) @ z + x @ adjoint(z)
    return both, -(both @ adjoint(gain)), z, gain @ z @ adjoint(gain)


library_rule(sl.solve_sylvester, 3, sylvester_cotangents)
library_rule(sl.solve_continuous_lyapunov, 2, lyapunov_cotangents)
library_rule(sl.solve_discrete_lyapunov, 2, discrete_lyapunov_cotangents)
library_rule(sl.solve_continuous_are, 4, riccati_cotangents)

# -- matrices made of vectors -----------------------------------------------------------------------------


def _vectors(name: str, *xs: Any) -> None:
    if any(x is not None and x.ndim > 1 for x in xs):
        raise NotImplementedError(f"scipy.linalg.{name} is differentiated for vectors")


def toeplitz_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    c, r = o["c"], o["r"]
    _vectors("toeplitz", c, r)
    n, m = dy.shape
    dc, dr = toeplitz_parts(dy, n, m)
    if r is None:
        return (dc + np.conjugate(dr)).reshape(c.shape), None
    return dc.reshape(c.shape), dr.reshape(r.shape)


def gathered(dy: Arrays, index: Arrays, n: int) -> Arrays:
    """The cotangent of the n numbers that were put in places `index` (from 1; 0 is a zero)."""
    out = np.zeros(n + 1, dy.dtype)
    np.add.at(out, index, dy)
    return out[1:]


def hankel_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    c, r = o["c"], o["r"]
    _vectors("hankel", c, r)
    n = c.size
    if r is None:
        return gathered(dy, sl.hankel(np.arange(1, n + 1)), n).reshape(c.shape), None
    t = gathered(dy, sl.hankel(np.arange(1, n + 1), np.arange(1, r.size + 1) + n), n + r.size)
    return t[:n].reshape(c.shape), t[n:].reshape(r.shape)


def circulant_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    c = o["c"]
    _vectors("circulant", c)
    return gathered(dy, sl.circulant(np.arange(1, c.size + 1)), c.size).reshape(c.shape)


def convolution_matrix_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    a = o["a"]
    _vectors("convolution_matrix", a)
    return gathered(dy, sl.convolution_matrix(np.arange(1, a.size + 1), o["n"], o["mode"]), a.size)


def companion_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    a = o["a"]
    _vectors("companion", a)
    t = -dy[0] / np.conjugate(a[0])
    return np.concatenate([[np.sum(t * np.conjugate(y[0]))], t])


def khatri_rao_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    a, b = o["a"], o["b"]
    t = dy.reshape(*dy.shape[:-2], a.shape[-2], b.shape[-2], dy.shape[-1])
    da = np.sum(t * np.conjugate(b)[..., None, :, :], axis=-2)
    db = np.sum(t * np.conjugate(a)[..., :, None, :], axis=-3)
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


library_rule(sl.toeplitz, 2, toeplitz_cotangents)
library_rule(sl.hankel, 2, hankel_cotangents)
library_rule(sl.circulant, 1, circulant_cotangent)
library_rule(sl.convolution_matrix, 1, convolution_matrix_cotangent)
library_rule(sl.companion, 1, companion_cotangent)
library_rule(sl.khatri_rao, 2, khatri_rao_cotangents)


def block_diag_cotangents(dy: Arrays, arrs: tuple[Any, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    row = col = 0
    for x in arrs:
        a = np.asarray(x)
        m, n = a.shape[-2:] if a.ndim > 1 else (1, a.size)
        if a.ndim > 2 or dy.ndim > 2:
            raise NotImplementedError("scipy.linalg.block_diag of stacks of matrices is not differentiated")
        t = dy[row : row + m, col : col + n].reshape(a.shape)
        t = kind_of(np.array(t), a)
        out.append(t if isinstance(x, np.ndarray) else unstack(t if a.ndim else t[()], x))
        row, col = row + m, col + n
    return tuple(out)


@rrule(sl.block_diag)
def block_diag(*arrs):
    def pullback(dy):
        return block_diag_cotangents(dy, arrs)

    return sl.block_diag(*arrs), pullback


pure.update({block_diag_cotangents, sl.block_diag})
zero_derivative(sl.hilbert, sl.invhilbert, sl.pascal, sl.invpascal, sl.hadamard, sl.dft, sl.helmert)

_like, _solved = infer_table[np.linalg.inv], infer_table[np.linalg.solve]
for _f in (sl.inv, sl.expm, sl.cholesky):
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
_SPREAD = np.array([[1.0, 0.3, 0.1], [0.2, 2.5, 0.4], [0.1, -0.3, 4.0]])
_F32 = np.float32


def _via_cholesky(a: Any, b: Any, lower: bool = False) -> Any:
    c = sl.cho_factor(a, lower=lower)
    return sl.cho_solve(c, b), np.tril(c[0]) if lower else np.triu(c[0])


def _via_lu(a: Any, b: Any, trans: int = 0) -> Any:
    f = sl.lu_factor(a)
    return sl.lu_solve(f, b, trans=trans), f[0]


def _eigenvectors(a: Any, b: Any = None, lower: bool = True) -> Any:
    w, v = sl.eigh(a, b, lower=lower)
    return np.abs(v) ** 2 * w


def _some_eigenvectors(a: Any) -> Any:
    w, v = sl.eigh(a, subset_by_index=[1, 2])
    return np.abs(v) ** 2 * w


def _invariant_eig(a: Any) -> Any:
    w, v = sl.eig(a)
    return np.abs(v) ** 2, w * 2.0


def _gauge_eig(a: Any) -> Any:
    return sl.eig(a)[1] * 2.0


def _qr(a: Any, mode: str = "economic", pivoting: bool = False) -> Any:
    out = sl.qr(a, mode=mode, pivoting=pivoting)
    return out[0] * 2.0, out[1] * np.arange(1.0, 1 + out[1].shape[1])


def _svd(a: Any) -> Any:
    u, s, vh = sl.svd(a, full_matrices=False)
    return (u * s**2) @ vh + np.abs(u[:, :1] * s[0])


def _lu(a: Any) -> Any:
    _, lo, up = sl.lu(a)
    return lo * 2.0, up * 3.0


def _pl_u(a: Any) -> Any:
    pl, up = sl.lu(a, permute_l=True)
    return pl * 2.0, up * 3.0


def _lu_indices(a: Any) -> Any:
    _, lo, up = sl.lu(a, p_indices=True)
    return lo * 2.0, up * 3.0


def _tridiagonal(d: Any, e: Any) -> Any:
    w, v = sl.eigh_tridiagonal(d, e)
    return v**2 * w


CASES: list[RuleCase] = [
    *[case(f, x) for f in (sl.inv, sl.det, sl.pinv, sl.expm) for x in (_A, _Z, _A.astype(_F32), _B)],
    *[case(sl.solve, a, b) for a, b in ((_A, _V), (_A, _M.T), (_Z, _V), (_A, _Z), (_B, _A))],
    *[case(sl.solve, _H, _V, assume_a=s, lower=w) for s in ("sym", "pos", "gen") for w in (False, True)],
    case(sl.solve, _ZH, _V, assume_a="her"), case(sl.solve, _A, _V, transposed=True), case(sl.solve, _A.tolist(), _V),
    case(lambda x: sl.solve([[2.0, x], [1.0, 3.0]], [1.0, x]), 0.5), case(sl.solve, _A.astype(_F32), _V.astype(_F32)),
    *[case(sl.solve_triangular, a, b, t, lower=w) for a, b in ((_K, _V), (_K, _M.T), (_ZH, _V)) for t in (0, 1, 2)
      for w in (False, True)],
    case(sl.solve_triangular, _K, _V, unit_diagonal=True), case(sl.solve_triangular, _K, _V, "T", True),
    *[case(sl.cholesky, a, lower=w) for a in (_H, _ZH, _H.astype(_F32)) for w in (False, True)],
    *[case(_via_cholesky, a, b, w) for a, b in ((_H, _V), (_H, _M.T), (_ZH, _V)) for w in (False, True)],
    *[case(_via_lu, a, b, t) for a, b in ((_A, _V), (_A, _M.T), (_Z, _V)) for t in (0, 1, 2)],
    *[case(f, a) for f in (_lu, _pl_u, _lu_indices) for a in (_A, _M, _M.T, _Z)],
    case(sl.solve_banded, (1, 1), _BAND, np.arange(1.0, 5.0)), case(sl.solve_banded, (1, 1), _BAND, np.eye(4)[:, :2]),
    case(sl.solve_banded, (1, 1), _BAND * (1 + 0.3j), np.arange(1.0, 5.0)),
    case(sl.solveh_banded, _BAND[:2], np.arange(1.0, 5.0)), case(sl.solveh_banded, _BAND[1:], np.eye(4), lower=True),
    case(sl.solve_toeplitz, _V + 3, _V), case(sl.solve_toeplitz, (_V + 3, _V - 1), _V),
    case(sl.solve_toeplitz, (_V + 3, _V - 1), _M.T), *[case(_qr, a) for a in (_A, _M, _M.T, _Z)],
    case(_qr, _A, "full"), case(_qr, _A, "economic", True), case(_qr, _M.T, "economic", True),
    case(lambda a: sl.qr(a, mode="r")[0] * np.arange(1.0, 4.0), _A), case(_svd, _M), case(_svd, _A), case(_svd, _Z),
    case(sl.svdvals, _M), case(sl.svd, _M, compute_uv=False), case(_eigenvectors, _H), case(_eigenvectors, _ZH),
    case(_eigenvectors, _H, _K), case(_eigenvectors, _H, None, False), case(_eigenvectors, _H, _K, False),
    case(_eigenvectors, _ZH, _K), case(_some_eigenvectors, _H), case(sl.eigvalsh, _H), case(sl.eigvalsh, _H, _K),
    case(sl.eigvalsh, _H, subset_by_index=(0, 1)), case(_tridiagonal, _V, _M[0, :2]),
    case(sl.eigvalsh_tridiagonal, _V, _M[0, :2]), case(_invariant_eig, _A), case(_invariant_eig, _SPREAD),
    case(_gauge_eig, _SPREAD), case(_gauge_eig, _Z), case(_invariant_eig, np.array([[0.5, -2.0], [1.0, 0.3]])),
    case(_gauge_eig, np.array([[0.5, -2.0], [1.0, 0.3]])), case(sl.eigvals, _Z), case(sl.eigvals, _SPREAD),
    *[case(sl.norm, _M, o) for o in (None, "fro", "nuc", 2)], case(sl.norm, _V), case(sl.norm, _V, 1),
    case(sl.norm, _Z),
    case(lambda a, b: sl.lstsq(a, b)[0], _M.T, _V), case(sl.pinvh, _H), case(sl.sqrtm, _H), case(sl.sqrtm, _ZH),
    case(sl.sqrtm, _SPREAD), case(sl.logm, _H), case(sl.logm, _ZH), case(sl.logm, _SPREAD),
    *[case(f, x) for f in (sl.cosm, sl.sinm, sl.tanm, sl.coshm, sl.sinhm, sl.tanhm) for x in (_K / 3, _SPREAD / 4)],
    case(sl.cosm, _Z / 3), case(sl.fractional_matrix_power, _H, 0.3), case(sl.expm, np.zeros((2, 2))),
    case(sl.solve_sylvester, _A + 3 * np.eye(3), _M[:, :2], np.ones((3, 2))), case(sl.solve_sylvester, _Z, _ZH, _A),
    case(sl.solve_continuous_lyapunov, _A, _H), case(sl.solve_continuous_lyapunov, _Z, _A),
    case(sl.solve_discrete_lyapunov, _A / 3, _H), case(sl.solve_discrete_lyapunov, _Z / 3, _ZH),
    case(sl.toeplitz, _V), case(sl.toeplitz, _V, _M[0]), case(sl.toeplitz, _V * 1j + 1), case(sl.hankel, _V),
    case(sl.hankel, _V, _M[0]), case(sl.circulant, _V), case(sl.convolution_matrix, _V, 4),
    case(sl.convolution_matrix, _V, 4, "same"), case(sl.companion, _V), case(sl.khatri_rao, _A, _M),
    case(sl.block_diag, _A, _M, _V), case(sl.block_diag, 0.5, _M), case(sl.block_diag, [1.5, 2.0], _Z),
    case(lambda b: sl.solve_continuous_are(_A, b, _H, _K), _M.T @ np.array([[1.0, 0.2, 0.1], [0.3, 2.0, 0.5]])),
    case(lambda a, q, r: sl.solve_continuous_are(a, _A + 2, (q + q.T) / 2, (r + r.T) / 2), _A, _H, _K),
]  # fmt: skip
