"""scipy.linalg: Schur, Hessenberg and LDL decompositions, functions of matrices, subspaces, banded matrices.

What a decomposition leaves open (phases, signs, rotations of a basis) has no derivative: a result that depends on it is
refused where the pullback finds that out. Of small or banded problems the derivative is that of plain NumPy code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import refuse, rrule, zero_derivative
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_decompositions import eigh_cotangent
from mooncake_rules.numpy_linalg import adjoint, kind_of
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule
from mooncake_rules.stacks import cores, one_after_other

Options = dict[str, Any]
Arrays = np.ndarray


def _free(t: Arrays, scale: Any, what: str) -> None:
    """Raise where the derivative t by something that is not determined is not zero."""
    if np.any(np.abs(t) > 1e-8 * (1.0 + np.max(np.abs(scale)))):
        raise NotDifferentiated(what)


# -- Schur ------------------------------------------------------------------------------------------------


def schur_cotangent(dy: Any, y: Any, o: Options) -> Arrays:
    """With Z' = Z W, W skew, T' = M + T W - W T is upper triangular, where M = Z^H A' Z: that determines W."""
    t, z = y[0], y[1]
    if np.any(np.diag(t, -1)):
        raise NotDifferentiated("the real Schur form of complex eigenvalues is not differentiated: output='complex'")
    n, th = len(t), adjoint(t)
    u = np.zeros_like(t) if dy[0] is None else np.triu(dy[0])
    w = th @ u - u @ th
    if dy[1] is not None:
        w = w + adjoint(z) @ dy[1]
    g = w - adjoint(w)
    _free(np.diag(g), w, "the phases of a complex Schur form are not determined: use what does not depend on them")
    m = u.astype(np.result_type(u, g))
    for k in range(1, n):  # below the diagonal, one diagonal after the other
        for j in range(n - k):
            i = j + k
            near = m[i, j + 1 : i] @ th[j + 1 : i, j] - th[i, j + 1 : i] @ m[j + 1 : i, j]
            m[i, j] = (g[i, j] - near) / (th[j, j] - th[i, i])
    return z @ m @ adjoint(z)


library_rule(sl.schur, 1, schur_cotangent)
refuse("its factors are not determined; use scipy.linalg.eig(a, b)", sl.qz, sl.ordqz)

# -- the unitary factor -----------------------------------------------------------------------------------


def unitary_factor(a: Arrays) -> Arrays:
    """U in the polar decomposition A = U P."""
    w, _, vh = sl.svd(a, full_matrices=False)
    return w @ vh


def unitary_cotangent(dy: Arrays, a: Arrays) -> Arrays:
    """dU = W (E o (X - X^H)) V^H + (1 - W W^H) dA V S^-1 V^H, X = W^H dA V, E_ij = 1 / (s_i + s_j), A = W S V^H thin.

    Equal singular values do no harm, nor does one that is zero if A is real and square.
    """
    if len(a) < a.shape[1]:
        return adjoint(unitary_cotangent(adjoint(dy), adjoint(a)))
    w, s, vh = sl.svd(a, full_matrices=False)
    k = adjoint(w) @ dy @ adjoint(vh)
    skew = k - adjoint(k)
    da = w @ np.divide(skew, np.add.outer(s, s), where=skew != 0, out=np.zeros_like(skew)) @ vh
    if len(a) > a.shape[1]:
        t = dy @ adjoint(vh)
        da = da + ((t - w @ (adjoint(w) @ t)) / s) @ vh
    return da


@rrule(unitary_factor)
def unitary_rule(a):
    def pullback(dy):
        return unitary_cotangent(dy, a)

    return unitary_factor(a), pullback


@mirrors(sl.polar)
def polar(a, side="right"):
    a = np.asarray(a)
    u = unitary_factor(a)
    return u, np.conj(u).T @ a if side == "right" else a @ np.conj(u).T


@mirrors(sl.orthogonal_procrustes)
def orthogonal_procrustes(A, B, check_finite=True):
    m = (np.asarray(B).T @ np.conj(A)).T
    u = unitary_factor(m)
    return u, np.sum(np.real(np.conj(u) * m))


# -- Hessenberg, LDL, balance -----------------------------------------------------------------------------


@mirrors(sl.hessenberg)
def hessenberg(a, calc_q=False, overwrite_a=False, check_finite=True):
    """By Householder's reflections."""
    if np.iscomplexobj(a):
        raise NotDifferentiated("scipy.linalg.hessenberg is differentiated for real matrices")
    n = len(a)
    h, q = np.asarray(a), np.eye(n)
    for k in range(n - 2):
        x = h[k + 1 :, k]
        if np.any(x[1:]):
            v = np.concatenate([np.zeros(k + 1), x[:1] + np.where(x[0] < 0, -1.0, 1.0) * np.sqrt(np.sum(x * x)), x[1:]])
            p = np.eye(n) - 2.0 * np.outer(v, v) / np.sum(v * v)
            h, q = p @ h @ p, q @ p
    return (h, q) if calc_q else h


def pivots(a, lower, hermitian):
    """The order of the rows of the LDL decomposition, if it has no blocks of two."""
    _, d, p = sl.ldl(a, lower, hermitian)
    if np.any(np.diag(d, 1)) or np.any(np.diag(d, -1)):
        raise NotDifferentiated("scipy.linalg.ldl is differentiated where D is diagonal")
    return p


@mirrors(sl.ldl)
def ldl(A, lower=True, hermitian=True, overwrite_a=False, check_finite=True):
    def turned(x):
        return np.conjugate(x) if hermitian else x

    a = np.asarray(A)
    p = pivots(a, lower, hermitian)
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    middle = np.diag(a)
    s = (part + turned(part).T + np.diag(np.real(middle) if hermitian else middle))[p][:, p]
    n = len(a)
    if not lower:
        s = s[::-1, ::-1]
    columns, d = [], []
    for j in range(n):
        d.append(s[0, 0])
        column = s[:, 0] / s[0, 0]
        columns.append(np.concatenate([np.zeros(j), column]))
        s = s[1:, 1:] - np.outer(column[1:], turned(column[1:])) * s[0, 0]
    low, d = np.stack(columns, axis=1), np.stack(d)
    if not lower:
        low, d = low[::-1, ::-1], d[::-1]
    return low[np.argsort(p)], np.diag(d), p


def scaling(a, permute, scale):
    return sl.matrix_balance(a, permute, scale)[1]


@mirrors(sl.matrix_balance)
def matrix_balance(A, permute=True, scale=True):
    """By powers of two, which do not change with the matrix."""
    t = scaling(A, permute, scale)
    return np.linalg.solve(t, A @ t), t


zero_derivative(pivots, scaling)

# -- null spaces ------------------------------------------------------------------------------------------


def null_space_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    """A N = 0: N moves by -A^+ A' N, and may be turned."""
    inner = adjoint(y) @ dy
    _free(inner - adjoint(inner), inner, "the basis of a null space is not determined: use N @ N.T, or what N spans")
    return -(adjoint(np.linalg.pinv(o["A"])) @ dy @ adjoint(y))


library_rule(sl.null_space, 1, null_space_cotangent)

# -- banded matrices --------------------------------------------------------------------------------------


def _diagonals(ab, lower):
    """Those of the lower triangle, and what is in the rows of `ab` besides."""
    ab = np.asarray(ab)
    m, n = np.shape(ab)
    for k in range(m):
        if lower:
            yield k, ab[k, : n - k], ab[k, n - k :]
        else:
            yield k, np.conjugate(ab[m - 1 - k, k:]), ab[m - 1 - k, :k]


def lower_triangle(ab, lower):
    return sum(np.diag(d, -k) for k, d, _ in _diagonals(ab, lower))


def hermitian(ab, lower):
    low = lower_triangle(ab, lower)
    return low + np.conjugate(np.tril(low, -1)).T


@mirrors(sl.cholesky_banded)
def cholesky_banded(ab, overwrite_ab=False, lower=False, check_finite=True):
    c = np.linalg.cholesky(hermitian(ab, lower))
    rows = []
    for k, _, rest in _diagonals(ab, lower):
        d = np.diag(c, -k)
        rows.append(np.concatenate([d, rest] if lower else [rest, np.conjugate(d)]))
    return np.stack(rows if lower else rows[::-1])


@mirrors(sl.cho_solve_banded)
def cho_solve_banded(cb_and_lower, b, overwrite_b=False, check_finite=True):
    cb, b, lower = np.asarray(cb_and_lower[0]), np.asarray(b), cb_and_lower[1]
    core = b.shape[-1:] if b.ndim == 1 else b.shape[-2:]
    shape = np.broadcast_shapes(cb.shape[:-2], b.shape[: b.ndim - len(core)])
    if shape:
        cbs = np.broadcast_to(cb, shape + cb.shape[-2:]).reshape((-1,) + cb.shape[-2:])
        bs = np.broadcast_to(b, shape + core).reshape((-1,) + core)
        return np.stack([cho_solve_banded((c, lower), v) for c, v in zip(cbs, bs, strict=True)]).reshape(shape + core)
    c = lower_triangle(cb, lower)
    return np.linalg.solve(c @ np.conjugate(c).T, b)


@mirrors(sl.eigvals_banded)
def eigvals_banded(a_band, lower=False):
    return np.linalg.eigvalsh(hermitian(a_band, lower))


def eig_banded_cotangent(dy: Any, y: Any, o: Options) -> Arrays:
    """Of the eigenvalues and vectors that SciPy gave: those of another routine have other signs."""
    ab, lower = o["a_band"], o["lower"]
    if o["select"] not in ("a", "all", 0):
        raise NotDifferentiated("scipy.linalg.eig_banded is differentiated for the whole spectrum")
    (w, v), (dw, dv) = (sl.eig_banded(ab, lower), (dy, None)) if o["eigvals_only"] else (y, dy)
    t = eigh_cotangent(dw, dv, w, v, True)
    out = np.zeros(ab.shape, t.dtype)
    m, n = ab.shape
    for k in range(m):
        d = np.diag(t, -k)
        if lower:
            out[k, : n - k] = d
        else:
            out[m - 1 - k, k:] = np.conjugate(d)
    return out


library_rule(sl.eig_banded, 1, eig_banded_cotangent)


# -- functions of matrices, angles --------------------------------------------------------------------------


@rrule(sl.funm)
@watched
def funm(A, func: CoDual, disp=True):
    """With A = V diag(w) V^-1 a change E of it, seen from there, is that times the divided differences of func.

    Y. Daleckii and S. Krein (1965). Where two eigenvalues are one these are derivatives; where A has not enough
    eigenvectors they do not do.
    """
    y = sl.funm(A, func.primal, disp)
    f = zero_fdata(y)

    def pullback(dy):
        ds = take_fdata(f, dy)
        ds = ds[0] if isinstance(ds, tuple) else ds
        if ds is None:
            return None
        a, ds = np.asarray(A), np.asarray(ds)
        (da,) = one_after_other(lambda t, _, a: (funm_cotangent(t, a, func),), ds, ds, (a, 2))
        return kind_of(da, a), None, None

    return CoDual(y, f), pullback


def funm_cotangent(dy: Arrays, a: Arrays, func: CoDual) -> Arrays:
    """That of the matrix; what func depends on is given its part."""
    w, v = sl.eig(a)
    if np.linalg.cond(v) > 1e8:
        raise NotDifferentiated("scipy.linalg.funm is differentiated for matrices that are diagonalisable")
    inverse = adjoint(np.linalg.inv(v))
    x = adjoint(v) @ dy @ inverse
    d = Dependence(func.primal, func.fdata)
    fw, pull = d.at(w)
    (slope,), _ = pull(np.ones_like(fw))
    slope = np.conjugate(slope)
    gap, same = w[:, None] - w, np.abs(w[:, None] - w) <= 1e-7 * (1.0 + np.abs(w))
    quotient = np.where(same, (slope[:, None] + slope) / 2, (fw[:, None] - fw) / np.where(same, 1.0, gap))
    _, pull = d.at(w)
    d.give(pull(np.diagonal(x).astype(fw.dtype))[1])
    return inverse @ (x * np.conjugate(quotient)) @ adjoint(v)


@mirrors(sl.subspace_angles)
def subspace_angles(A, B):
    """By sine and cosine: SciPy takes one of the two, whose slope may be infinite there."""
    qa, qb = sl.orth(np.asarray(A)), sl.orth(np.asarray(B))
    between = np.conjugate(qa.T) @ qb
    beside = qb - qa @ between if qa.shape[1] >= qb.shape[1] else qa - qb @ np.conjugate(between.T)
    return np.arctan2(sl.svdvals(beside), sl.svdvals(between)[::-1])


by_regular_samples(sl.cho_factor, sl.cho_solve, sl.lu_factor, sl.lu_solve)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3, 0.4], [0.2, -1.1, 0.8, 0.1], [0.4, 0.6, 1.7, -0.2], [0.3, 0.1, 0.2, 3.1]])
_Z = _A + 1j * _A[::-1, ::-1]
_H = _A @ _A.T + np.eye(4)
_UPPER = np.array([[0.0, 0.5, -0.3, 0.2], [3.0, 4.0, 5.0, 3.5]])
_V = np.array([0.5, -1.0, 2.0, 0.3])


def _of_bands(ab: Arrays, b: Arrays, lower: bool = False) -> Any:
    c = sl.cholesky_banded(ab, lower=lower)
    return sl.cho_solve_banded((c, lower), b), c, sl.eigvals_banded(ab, lower)


_DISTINCT = np.diag([1.0, 2.5, 4.0, -2.0]) + _A / 9


def _of_banded(ab: Arrays, lower: bool) -> Any:
    w, v = sl.eig_banded(ab, lower)
    return w * 2.0, v * np.sin(w) @ v.T


CASES: list[RuleCase] = [
    case(sl.polar, _A), case(sl.polar, _A[:3], side="left"), case(sl.polar, _Z[:, :2]), case(sl.polar, _Z, "left"),
    case(sl.polar, np.eye(3)), case(sl.orthogonal_procrustes, _A, _H),
    case(sl.orthogonal_procrustes, _A[:, :2], _H[:, :2]),
    case(lambda a, p: sl.funm(a, lambda w: np.exp(p * w)), _DISTINCT, 0.3), case(lambda a: sl.funm(a, np.sin), _Z),
    case(lambda a: sl.funm(a + a.T, lambda w: w**2 + 1.0), _A), case(sl.subspace_angles, _A[:, :2], _DISTINCT[:, 1:]),
    case(lambda a: sl.subspace_angles(a, _A[:, :1]), _Z[:, :2]), case(lambda a: sl.subspace_angles(a, 2 * a), _A),
    *[case(_of_banded, _UPPER if up else _UPPER[::-1], not up) for up in (True, False)],
    case(lambda ab: sl.eig_banded(ab, eigvals_only=True), _UPPER * (1 + 0.2j * np.array([[1.0], [0.0]]))),
    case(sl.schur, _DISTINCT), case(lambda a: np.abs(sl.schur(a, output="complex")[0]), _A - 2 * _A.T),
    case(lambda a: np.abs(np.stack(sl.schur(a))) ** 2, _Z),
    case(lambda a: sl.schur(a, "complex")[0].diagonal(), _A - 2 * _A.T), case(sl.hessenberg, _A),
    case(sl.hessenberg, _A, True), case(lambda a: sl.ldl(a)[:2], _H), case(lambda a: sl.ldl(a, lower=False)[:2], _H),
    case(lambda a: sl.ldl(a)[:2], _Z @ adjoint(_Z)), case(lambda a: sl.matrix_balance(a)[0], _A),
    case(lambda a: (lambda n: n @ n.T)(sl.null_space(a)), _A[:2]), case(sl.null_space, _A[:3]),
    case(_of_bands, _UPPER, _V), case(_of_bands, np.roll(_UPPER, -1, 0) + [[0], [0.1]], _V, True),
]  # fmt: skip

if cores(sl.polar):  # SciPy 1.15 or newer
    _TWO = np.stack([_A, _H])
    CASES += [
        case(sl.polar, _TWO), case(sl.orthogonal_procrustes, _TWO, _H), case(sl.hessenberg, _TWO),
        case(lambda a: tuple(sl.schur(a)), np.stack([_DISTINCT, 2 * _DISTINCT])),
        case(sl.rq, _TWO[:, :2], mode="economic"),
        case(sl.solve_sylvester, _TWO, _H, _A), case(sl.solveh_banded, np.stack([_UPPER, 2 * _UPPER]), _V),
        case(sl.solve_banded, (0, 1), np.stack([_UPPER, 2 * _UPPER]), _V), case(sl.eigvalsh, _TWO @ adjoint(_TWO), _H),
        case(lambda a: sl.eigvals(a, 3 * np.eye(len(_A))), np.stack([_DISTINCT, 2 * _DISTINCT])),
        case(lambda a, p: sl.funm(a, lambda w: np.exp(p * w)), np.stack([_DISTINCT, _DISTINCT / 2]), 0.3),
        case(lambda a, b: sl.cho_solve(sl.cho_factor(a), b), np.stack([_H, 2 * _H]), _A),
        case(lambda a, b: sl.cho_solve((sl.cholesky(a, True), True), b), np.stack([_H, 2 * _H]), _V),
        case(lambda a, b: sl.cho_solve_banded((a, True), b), np.stack([_UPPER[::-1], _UPPER[::-1] + 1]), _V),
        *[case(lambda a, b, t: sl.lu_solve(sl.lu_factor(a), b, t), np.stack([_A, _H]), b, t)
          for b in (_V, _TWO * (1 + 0.5j)) for t in (0, 1, 2)],
        case(sl.solve_toeplitz, _TWO[0] + 9 * np.eye(1, 4), _V), case(sl.solve_toeplitz, (_V + 5, _A[:2] - 1), _TWO),
    ]  # fmt: skip
    if sl.toeplitz(np.ones((2, 1))).ndim == 3:  # before, rows were one long vector
        CASES += [
            case(sl.toeplitz, _A), case(sl.toeplitz, _Z), case(sl.toeplitz, _V, _A[:2]), case(sl.circulant, _Z),
            case(sl.convolution_matrix, _A, 5, "same"), case(sl.companion, _Z + 1), case(sl.block_diag, _TWO, _V, _A),
        ]  # fmt: skip
