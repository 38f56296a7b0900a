"""scipy.linalg: decompositions and eigenvalues. Sources of the formulas as in numpy_decompositions.

Of a matrix of which a function reads a triangle, only that triangle has a cotangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_decompositions import (
    cholesky_cotangent,
    eig_cotangent,
    eigh_cotangent,
    over_gaps,
    qr_cotangent,
    svd_cotangent,
)
from mooncake_rules.numpy_linalg import adjoint, one_triangle
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule

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


# -- decompositions ---------------------------------------------------------------------------------------


def _cholesky(dy: Arrays, y: Arrays, lower: bool) -> Arrays:
    return cholesky_cotangent(dy, y) if lower else adjoint(cholesky_cotangent(adjoint(dy), adjoint(y)))


_OTHER_IS_KEPT = bool(sl.cho_factor(np.array([[2.0, 0.5], [0.3, 2.0]]))[0][1, 0])


def cho_factor_cotangent(dy: Any, y: Any, o: Options) -> Any:
    """What stands in the other triangle of the factor is the matrix's own, or, from SciPy 1.18 on, zero."""
    if dy[0] is None:
        return None
    lower = o["lower"]
    keep, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    da = _cholesky(keep(dy[0]), keep(y[0]), lower)
    return da + other(dy[0], 1 if lower else -1) if _OTHER_IS_KEPT else da


def rq_cotangent(dy: Any, y: Any, o: Options) -> Any:
    """A = R Q turned by half a turn and transposed is a QR decomposition."""
    a = o["a"]
    if o["mode"] == "r" or (o["mode"] == "full" and a.shape[0] != a.shape[1]):
        raise NotDifferentiated("scipy.linalg.rq is differentiated in mode 'economic'")
    if a.shape[0] > a.shape[1]:
        raise NotDifferentiated("scipy.linalg.rq of a tall matrix is not differentiated")
    r, q = y
    dr, dq = dy

    def turned(x: Any) -> Any:
        return None if x is None else x[::-1].T

    def square(x: Any) -> Any:
        return None if x is None else x[::-1, ::-1].T

    t = qr_cotangent(turned(dq), square(dr), turned(a), turned(q), square(r))
    return t.T[::-1]


def _leading(r: np.ndarray, k: int) -> np.ndarray:
    """The real part of the first k diagonal elements."""
    return np.real(np.einsum("...ii->...i", r[..., :k, :k]))


def scipy_qr_cotangent(dy: Any, y: Any, o: Options) -> Any:
    a, mode = o["a"], o["mode"]
    if mode == "raw":
        raise NotDifferentiated("scipy.linalg.qr is not differentiated in mode 'raw'")
    k = min(a.shape[-2:])
    items, ds = (list(v) if type(y) is tuple else [v] for v in (y, dy))
    order = items[-1] if o["pivoting"] else None
    ordered = a if order is None else np.take_along_axis(a, order[..., None, :], -1)
    if mode == "r":
        q, r = np.linalg.qr(ordered)
        dq, dr = None, ds[0]
        sign = np.sign(_leading(r, k)) * np.sign(_leading(items[0], k))
        q, r = q * sign[..., None, :], r * sign[..., :, None]
    else:
        q, r, dq, dr = items[0], items[1], ds[0], ds[1]
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
    if o["type"] != 1 and b is not None:
        return product_eigh_cotangents(dw, dv, w, v, o)
    whole_w, whole_v = sl.eigh(a, b, lower=lower)
    if len(w) != len(whole_w):
        dw, dv, w, v = _in_whole(dw, dv, w, v, whole_w, whole_v)
    elif v is None:
        v = whole_v
    if b is None:
        return eigh_cotangent(dw, dv, w, v, lower), None
    inner = np.diag(np.zeros(len(w)) if dw is None else np.asarray(dw)).astype(v.dtype)
    lengths: Any = 0.0  # B has a say in them
    if dv is not None:
        m = adjoint(v) @ dv
        inner = inner + over_gaps(m - adjoint(m), w, np.abs(m), dw) / 2
        lengths = (m + adjoint(m)) / 4
    da = v @ inner @ adjoint(v)
    db = -(v @ (inner * (w[None, :] + w[:, None]) / 2 + lengths) @ adjoint(v))
    return one_triangle(da, lower), one_triangle(db, lower)


def _in_whole(dw: Any, dv: Any, w: Arrays, v: Any, whole_w: Arrays, whole_v: Arrays) -> tuple[Any, Any, Arrays, Arrays]:
    """Cotangents, values and vectors of a part of a spectrum in their place in the whole; the vectors given stay."""
    first = int(np.argmin(np.abs(whole_w - w[0])))
    part = slice(first, first + len(w))
    if v is not None:
        whole_v[:, part] = v
    dws, dvs = np.zeros_like(whole_w), np.zeros_like(whole_v)
    dws[part] = 0.0 if dw is None else dw
    dvs[:, part] = 0.0 if dv is None else dv
    return dws, None if dv is None else dvs, whole_w, whole_v


def product_eigh_cotangents(dw: Any, dv: Any, w: Any, v: Any, o: Options) -> tuple[Any, Any]:
    """A B v = w v and B A v = w v are A u = w C u with C = B^-1: there u = B v, here u = v."""
    b, lower = o["b"], o["lower"]
    whole = np.tril(b) + adjoint(np.tril(b, -1)) if lower else np.triu(b) + adjoint(np.triu(b, 1))
    c = np.linalg.inv(whole)
    turned = o["type"] == 2
    u, du = (whole @ v, None if dv is None else c @ dv) if turned and v is not None else (v, dv)
    da, dc = eigh_cotangents(dw, du, w, u, {**o, "b": c, "type": 1})
    dc = (dc + adjoint(dc)) / 2
    if turned and dv is not None:
        dc = dc + (dv @ adjoint(u) + u @ adjoint(dv)) / 2
    return da, one_triangle(-(c @ dc @ c), lower)


def scipy_eigh_cotangents(dy: Any, y: Any, o: Options) -> Any:
    if o["eigvals_only"]:
        return eigh_cotangents(dy, None, y, None, o)
    return eigh_cotangents(dy[0], dy[1], y[0], y[1], o)


def tridiagonal_cotangents(dy: Any, y: Any, o: Options) -> Any:
    values = type(y) is not tuple
    d, e = o["d"], o["e"]
    w, v = (y, None) if values else y
    dw, dv = (dy, None) if values else dy
    if len(w) == 0:
        return None, None
    if v is None or len(w) < len(d):
        dw, dv, w, v = _in_whole(dw, dv, w, v, *sl.eigh_tridiagonal(d, e))
    t = eigh_cotangent(dw, dv, w, v, True)
    return np.diag(t), np.diag(t, -1)


def scipy_eig_cotangents(dy: Any, y: Any, o: Options) -> Any:
    a, b = o["a"], o["b"]
    if o.get("homogeneous_eigvals"):
        raise NotDifferentiated("scipy.linalg.eig is differentiated without homogeneous_eigvals")
    if type(y) is not tuple:
        return general_cotangents(dy, None, a, b, y, None)
    ds = general_cotangents(dy[0], dy[-1] if o["right"] else None, a, b, y[0], y[-1] if o["right"] else None)
    if not o["left"] or dy[1] is None:
        return ds
    # the left vectors are those of the adjoint matrices
    b_too = None if b is None else adjoint(b)
    more = general_cotangents(None, dy[1], adjoint(a), b_too, np.conjugate(y[0]), y[1])
    return tuple([_sum(d, None if t is None else adjoint(t)) for d, t in zip(ds, more, strict=True)])


def _sum(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def general_cotangents(dw: Any, dv: Any, a: Arrays, b: Any, w: Arrays, v: Any) -> tuple[Any, Any]:
    """Those of A and B by the eigenvalues and right eigenvectors of A v = w B v; v is None where not asked for."""
    if dw is None and dv is None:
        return None, None
    if b is not None and dv is None:
        return values_cotangents(dw, a, b, w)
    if v is None:
        v = _vectors(a, w)
    both = a
    if b is not None:
        _phases_are_known(v, np.asarray(dv))
        try:
            both = np.linalg.solve(b, a)
        except np.linalg.LinAlgError:
            raise NotDifferentiated("eigenvectors of eig(a, b) are differentiated where b is regular") from None
    t = eig_cotangent(dw, dv, both, w, v)
    if b is None:
        return t, None
    da = np.linalg.solve(adjoint(b), t)
    return da, -(da @ adjoint(both))


_SHIFT = 0.37 + 0.93j
"""Times the size of the eigenvalues: no eigenvalue, but by accident."""


def values_cotangents(dw: Any, a: Arrays, b: Arrays, w: Arrays) -> tuple[Any, Any]:
    """By the eigenvalues 1 / (w - s) of (A - s B)^-1 B: B may be singular, and an eigenvalue infinite."""
    s = _SHIFT * np.linalg.norm(a) / np.linalg.norm(b)
    c = a - s * b
    m = np.linalg.solve(c, b)
    finite = np.isfinite(w)
    u = np.divide(1.0, w - s, out=np.zeros(w.shape, complex), where=finite)
    du = np.divide(-dw, np.conjugate(u * u), out=np.where(dw == 0, 0j, np.nan), where=finite)
    dm = eig_cotangent(du, None, m, u, _vectors(m, u))
    db = np.linalg.solve(adjoint(c), dm)
    dc = -db @ adjoint(m)
    return dc, db - np.conjugate(s) * dc


def _vectors(a: Arrays, w: Arrays) -> Arrays:
    """The eigenvectors of these eigenvalues, all there are."""
    values, vectors = np.linalg.eig(a)
    left = list(range(len(values)))
    return vectors[:, [left.pop(int(np.argmin(np.abs(values[left] - u)))) for u in w]]


def _phases_are_known(v: Arrays, dv: Arrays) -> None:
    """Raise where a result depends on the phase of an eigenvector to which LAPACK gives none."""
    top = v[np.argmax(np.abs(v), axis=0), np.arange(v.shape[1])]
    turn = np.sum(np.conjugate(dv) * v, axis=0).imag
    if np.any((np.abs(top.imag) > 1e-12) & (np.abs(turn) > 1e-8 * (1.0 + np.max(np.abs(dv))))):
        raise NotDifferentiated("eigenvectors of eig(a, b) are determined up to a phase: use eig(solve(b, a))")
    if not np.allclose(np.linalg.norm(v, axis=0), 1.0, 1e-4):  # before SciPy 1.18, left ones alone
        raise NotDifferentiated("left eigenvectors of eig(a, b) have the length 1 where right ones are asked for, too")


library_rule(sl.cholesky, 1, lambda dy, y, o: _cholesky(np.tril(dy) if o["lower"] else np.triu(dy), y, o["lower"]))
library_rule(sl.cho_factor, 1, cho_factor_cotangent)
library_rule(sl.qr, 1, scipy_qr_cotangent)
library_rule(sl.rq, 1, rq_cotangent)
library_rule(sl.svd, 1, scipy_svd_cotangent)
library_rule(sl.svdvals, 1, singular_values_cotangent)
library_rule(sl.eigh, 2, scipy_eigh_cotangents)
library_rule(sl.eigvalsh, 2, lambda dy, y, o: eigh_cotangents(dy, None, y, None, o))
library_rule(sl.eigh_tridiagonal, 2, tridiagonal_cotangents)
library_rule(sl.eigvalsh_tridiagonal, 2, tridiagonal_cotangents)
library_rule(sl.eig, 2, scipy_eig_cotangents, matrices={"a": 2, "b": 2})
library_rule(sl.eigvals, 2, scipy_eig_cotangents, matrices={"a": 2, "b": 2})


@mirrors(sl.qr_multiply)
def qr_multiply(a, c, mode="right", pivoting=False, conjugate=False):
    factors = sl.qr(a, mode="economic", pivoting=pivoting)
    q = np.conjugate(factors[0]) if conjugate else factors[0]
    return (q @ c if mode == "left" else c @ q, *factors[1:])


by_regular_samples(sl.eigh, sl.eigvalsh, sl.svd, sl.svdvals, sl.qr, sl.rq, sl.polar, sl.lu, sl.schur, sl.hessenberg)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_H = _A @ _A.T + np.eye(3)
_K = np.array([[1.5, 0.2, 0.1], [0.2, 2.5, 0.3], [0.1, 0.3, 3.5]])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_ZH = _Z @ np.conjugate(_Z.T) + np.eye(3)

_SPREAD = np.array([[1.0, 0.3, 0.1], [0.2, 2.5, 0.4], [0.1, -0.3, 4.0]])
_F32 = np.float32


def _via_cholesky(a: Any, b: Any, lower: bool = False) -> Any:
    c = sl.cho_factor(a, lower=lower)
    return sl.cho_solve(c, b), np.tril(c[0]) if lower else np.triu(c[0])


def _eigenvectors(a: Any, b: Any = None, lower: bool = True) -> Any:
    w, v = sl.eigh(a, b, lower=lower)
    return np.abs(v) ** 2 * w


def _product_eigenvectors(a: Any, b: Any, type: int, lower: bool = True) -> Any:
    w, v = sl.eigh(a, b, type=type, lower=lower)
    return np.abs(v) ** 2 * w, sl.eigvalsh(a, b, type=type, lower=lower, subset_by_index=[0, 1])


def _some_eigenvectors(a: Any) -> Any:
    w, v = sl.eigh(a, subset_by_index=[1, 2])
    return np.abs(v) ** 2 * w


def _invariant_eig(a: Any) -> Any:
    w, v = sl.eig(a)
    return np.abs(v) ** 2, w * 2.0


def _general(a: Any, b: Any) -> Any:
    w, v = sl.eig(a, b)
    return np.abs(v) ** 2, w


def _left_eig(a: Any, b: Any = None) -> Any:
    w, vl, vr = sl.eig(a, b, left=True)
    return np.abs(vl) ** 2 * w, (vl, sl.eig(a, b, True, False)[1]) if b is None else np.abs(vr)


def _finite_values(a: Any, b: Any) -> Any:
    """Of two matrices of the last of which a row is zero."""
    w = sl.eigvals(a, np.vstack([b[:2], np.zeros(3)]))
    return w[np.isfinite(w)]


def _gauge_eig(a: Any) -> Any:
    return sl.eig(a)[1] * 2.0


def _qr(a: Any, mode: str = "economic", pivoting: bool = False) -> Any:
    out = sl.qr(a, mode=mode, pivoting=pivoting)
    return out[0] * 2.0, out[1] * np.arange(1.0, 1 + out[1].shape[1])


def _qr_as_it_turns_out(a: Any) -> Any:
    return sl.qr(a, mode="economic", pivoting=bool(a[0, 0] > 0.0))[0] * 2.0


def _svd(a: Any) -> Any:
    u, s, vh = sl.svd(a, full_matrices=False)
    return (u * s**2) @ vh + np.abs(u[:, :1] * s[0])


def _some_of_tridiagonal(d: Any, e: Any) -> Any:
    w, v = sl.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))
    return v**2 * w, sl.eigh_tridiagonal(d, e, True, "v", (-3.0, 0.4)), np.sum(v[:, :1] ** 3 * v[0, 0])


def _tridiagonal(d: Any, e: Any) -> Any:
    w, v = sl.eigh_tridiagonal(d, e)
    return v**2 * w


CASES: list[RuleCase] = [
    *[case(sl.qr_multiply, a, c, mode=m) for m, c in (("left", _V), ("right", _M), ("left", _M.T)) for a in (_A, _Z)],
    case(lambda a, c: sl.qr_multiply(a, c, "right", True)[0], _M.T, _V), case(sl.qr_multiply, _Z, _M, conjugate=True),
    case(lambda a, c: sl.qr_multiply(a, c, "left"), _M.T, _M), case(sl.qr_multiply, _M.T, _V),
    *[case(_product_eigenvectors, a, b, t, w) for a, b, w in ((_K, _H, True), (_ZH, _H, False)) for t in (2, 3)],
    *[case(sl.cholesky, a, lower=w) for a in (_H, _ZH, _H.astype(_F32)) for w in (False, True)],
    *[case(_via_cholesky, a, b, w) for a, b in ((_H, _V), (_H, _M.T), (_ZH, _V)) for w in (False, True)],
    case(sl.rq, _A), case(sl.rq, _M, mode="economic"), case(sl.rq, _Z),
    *[case(_qr, a) for a in (_A, _M, _M.T, _Z)], case(_qr, _A, "full"),
    case(_qr_as_it_turns_out, _A), case(_qr, _A, "economic", True),
    case(_qr, _M.T, "economic", True), case(lambda a: sl.qr(a, mode="r")[0] * np.arange(1.0, 4.0), _A),
    *[case(lambda a: sl.qr(a, mode="r")[0] ** 2, a) for a in (_M, _M.T)],
    case(_svd, _M), case(_svd, _A), case(_svd, _Z), case(sl.svdvals, _M), case(sl.svd, _M, compute_uv=False),
    case(_eigenvectors, _H), case(_eigenvectors, _ZH), case(_eigenvectors, _H, _K),
    case(_eigenvectors, _H, None, False), case(_eigenvectors, _H, _K, False), case(_eigenvectors, _ZH, _K),
    case(_some_eigenvectors, _H), case(sl.eigvalsh, _H), case(sl.eigvalsh, _H, _K),
    case(sl.eigvalsh, _H, subset_by_index=(0, 1)), case(_tridiagonal, _V, _M[0, :2]),
    case(_some_of_tridiagonal, _V, _M[0, :2]),
    case(sl.eigvalsh_tridiagonal, _V, _M[0, :2]), case(_invariant_eig, _A), case(_invariant_eig, _SPREAD),
    case(_gauge_eig, _SPREAD), case(_gauge_eig, _Z), case(_invariant_eig, np.array([[0.5, -2.0], [1.0, 0.3]])),
    case(_gauge_eig, np.array([[0.5, -2.0], [1.0, 0.3]])), case(sl.eigvals, _Z), case(sl.eigvals, _SPREAD),
    case(lambda a, b: sl.eigvals(a, b + _K), _SPREAD, _A), case(_general, _SPREAD, _K),
    *[case(_left_eig, a) for a in (_A, _SPREAD, _Z)], case(_left_eig, _SPREAD, _K), case(_finite_values, _A, _K),
]  # fmt: skip
