"""scipy.sparse.linalg: some eigenvalues and singular values of large matrices, with their vectors.

A value moves by what the change of the matrix does between its vectors (`dw = v^H dA v`), a vector in the complement
of itself: `dv = (w - A)^+ dA v`, for which a bordered system is solved, so that the matrix stays sparse. Where a value
is not simple, its vectors have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import linalg as spl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array
from mooncake_py.registry import refuse, rrule
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.scipy_sparse import Sparse, adjoint, give, outer

_Parts = list[tuple[np.ndarray, np.ndarray]]
"""Pairs of vectors (l, r): the cotangent of the matrix is the sum of all l r^H."""


def _given(a: CoDual, parts: _Parts) -> Any:
    """Hand the cotangent of a matrix over to it; that of a dense one may be what a rule returns."""
    left, right = (np.stack(vs, axis=1) for vs in zip(*parts, strict=True))
    if isinstance(a.primal, Sparse):
        give(a, outer(left, right))
        return None
    d = kind_of(left @ np.conjugate(right).T, a.primal)
    if type(a.fdata) is Shadow:
        a.fdata.add(d)
        return None
    return d


def _moved(a: Any, w: Any, v: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(w - a)^+ t for the eigenpair w, v of the Hermitian matrix a."""
    t = t - v * np.vdot(v, t)
    shifted = sp.eye_array(len(v)) * w - sp.csc_array(a)
    border = sp.csc_array(v[:, None])
    whole = sp.block_array([[shifted, border], [border.conj().T, None]], format="csc")
    z: np.ndarray = spl.spsolve(whole, np.append(t, 0.0))[:-1]
    return z


def _hermitian(a: Any, w: np.ndarray, v: np.ndarray, dw: Any, dv: Any) -> _Parts:
    """Of a Hermitian matrix with the eigenvalues w and the eigenvectors v, as a Hermitian one."""
    parts: _Parts = []
    for i in range(len(w)):
        if dw is not None and dw[i]:
            parts.append((v[:, i] * dw[i], v[:, i]))
        if dv is not None and np.any(dv[:, i]):
            z = _moved(a, w[i], v[:, i], dv[:, i])
            parts += [(z / 2, v[:, i]), (v[:, i] / 2, z)]
    return parts


_SHOWN = {True: "uv", "u": "u", "vh": "v"}


def _order_of(w: Any, like: Any) -> np.ndarray:
    """Where in w the numbers of `like` are."""
    return np.array([int(np.argmin(np.abs(w - x))) for x in like])


@rrule(spl.eigsh, types=(Sparse,))
@rrule(spl.eigsh, types=(Array,))
def eigsh(A: CoDual, k=6, M: CoDual = CoDual(None, None), *args: CoDual, **kwargs: CoDual):  # noqa: B008
    if M.primal is not None:
        raise NotDifferentiated("scipy.sparse.linalg.eigsh is differentiated without M")
    plain, options = [v.primal for v in args], {name: v.primal for name, v in kwargs.items()}
    a = A.primal
    y = spl.eigsh(a, k, None, *plain, **options)
    fy = zero_fdata(y)

    def pullback(dy):
        ds = take_fdata(fy, dy)
        if ds is None:
            return None
        if isinstance(y, tuple):
            (w, v), (dw, dv) = y, ds
        else:
            more = [*plain[:5], True, *plain[6:]] if len(plain) > 5 else plain
            named = options if len(plain) > 5 else options | {"return_eigenvectors": True}
            w, v = spl.eigsh(a, k, None, *more, **named)
            at = _order_of(w, y)
            w, v, dw, dv = w[at], v[:, at], ds, None
        parts = _hermitian(a, w, v, dw, dv)
        return (_given(A, parts), *[None] * (2 + len(args) + len(kwargs))) if parts else None

    return CoDual(y, fy), pullback


@rrule(spl.svds, types=(Sparse,))
@rrule(spl.svds, types=(Array,))
def svds(A: CoDual, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True,
         **kwargs: CoDual):  # fmt: skip
    options = {name: v.primal for name, v in kwargs.items()}
    a = A.primal
    alone = return_singular_vectors is False
    found = spl.svds(a, k, ncv, tol, which, v0, maxiter, not alone, **options)
    y = found if alone else (found[0] if "u" in _SHOWN[return_singular_vectors] else None, found[1],
                             found[2] if "v" in _SHOWN[return_singular_vectors] else None)  # fmt: skip
    fy = zero_fdata(y)

    def pullback(dy):
        ds = take_fdata(fy, dy)
        if ds is None:
            return None
        u, s, vh = spl.svds(a, k, ncv, tol, which, v0, maxiter, True, **options) if alone else found
        du, dw, dvh = (None, ds[_order_of(y, s)], None) if alone else ds
        v = np.conjugate(vh).T
        parts: _Parts = []
        twice = sp.block_array([[None, sp.csr_array(a)], [adjoint(sp.csr_array(a)), None]])
        for i in range(len(s)):
            if dw is not None and dw[i]:
                parts.append((u[:, i] * dw[i], v[:, i]))
            pair = [
                np.zeros(len(x)) if d is None else d for x, d in ((u, None if du is None else du[:, i]),
                (v, None if dvh is None else np.conjugate(dvh[i])))
            ]  # fmt: skip
            if np.any(pair[0]) or np.any(pair[1]):
                both = np.concatenate([u[:, i], v[:, i]]) / np.sqrt(2.0)
                z = _moved(twice, s[i], both, np.concatenate(pair))
                parts += [(z[: len(u)], v[:, i]), (u[:, i], z[len(u) :])]
        return (_given(A, parts), *[None] * (7 + len(kwargs))) if parts else None

    return CoDual(y, fy), pullback


refuse(
    "scipy.linalg.eig has the derivatives of the eigenvalues of any matrix, eigsh those of a symmetric one", spl.eigs,
)  # fmt: skip
refuse("its steps are those of a search; use scipy.sparse.linalg.eigsh", spl.lobpcg)

# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 5]), np.array([0, 1, 1, 2, 2, 5, 3, 4, 3, 5])
_D = np.array([4.0, 0.5, 3.0, 0.2, 5.0, 0.7, 2.0, 0.9, 0.3, 1.4])

_START = np.cos(np.arange(6.0))


def _symmetric(d):
    a = sp.csr_array((d, (_ROW, _COL)), shape=(6, 6))
    return a + a.T


def _pairs(d):
    w, v = spl.eigsh(_symmetric(d), 2, which="LA", v0=_START)
    return w, v * v, v[:, 0] * v[0, 0]


def _of_dense(d):
    a = _symmetric(d).toarray()
    return spl.eigsh(a, k=2, which="SA", v0=_START, return_eigenvectors=False), spl.eigsh(a, 2, sigma=3.1, v0=_START)[0]


def _singular(d):
    u, s, vh = spl.svds(sp.csr_array((d, (_ROW, _COL)), shape=(6, 6))[:5], k=2, v0=_START[:5])
    return (u * s**2) @ vh, s


CASES: list[RuleCase] = [
    case(_pairs, _D), case(_of_dense, _D), case(_singular, _D),
    case(lambda d: spl.svds(sp.csc_array((d, (_ROW, _COL)), shape=(6, 6)), 2, None, 0, "LM", _START, None, False), _D),
    case(lambda d: spl.svds(_symmetric(d).toarray()[:, :5], 1, v0=_START[:5], return_singular_vectors="u")[0] ** 2, _D),
]  # fmt: skip
