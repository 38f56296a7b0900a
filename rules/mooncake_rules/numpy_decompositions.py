"""numpy.linalg's decompositions: eigenvalues, singular values, Cholesky and QR factors.

Formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode AD" (2008); for svd J. Townsend,
"Differentiating the singular value decomposition" (2016); for qr M. Seeger et al., "Auto-differentiating linear
algebra" (2017); for eig C. Boeddeker et al., "On the computation of complex-valued gradients" (2017). `cholesky` and
`eigh` read one triangle of their argument, and so their cotangent has zeros in the other: that is the derivative of
what is computed, and equals the symmetric one along symmetric directions.

Eigenvectors and singular vectors are determined where their values are distinct. Those of equal values may be turned
into one another. What no such turn changes, and does not depend on the values either (a projector, `u @ vh`), has its
derivative all the same; of what depends on both (`v @ diag(f(w)) @ v.T`) the cotangents no longer tell it, and the
pullback refuses. Eigenvalues and singular values alone may repeat: what the pullback gives is then the derivative of
their sums. Singular values of zero have none with respect to the vectors. So it is with the columns that complete an
orthogonal matrix (`full_matrices=True`, `mode="complete"`): what no turn of them changes has its derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, T
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import Types
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_linalg import adjoint, all_of, kind_of, like, one_triangle, per_matrix, triangle_weights

_linalg = np.linalg
_TWO = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def _diagonal(x: np.ndarray) -> np.ndarray:
    """Diagonal matrices of the vectors in the last axis."""
    return x[..., None] * np.eye(x.shape[-1], dtype=x.dtype)


def of_completed(dq: Any, q: np.ndarray, k: int) -> Any:
    """The cotangent of the first k columns of an orthogonal matrix, for that of all of it.

    The other columns R are the first ones' complement, turned somehow: R^H dR is Hermitian where no turn matters, and
    as Q1^H R = 0 they move by -Q1 Q1'^H R.
    """
    if dq is None or dq.shape[-1] == k:
        return dq
    first, rest, drest = q[..., :k], q[..., k:], dq[..., k:]
    if not np.any(drest):
        return dq[..., :k]
    turn = adjoint(rest) @ drest
    most = np.max(np.abs(drest), (-2, -1), keepdims=True)
    if np.any(np.abs(turn - adjoint(turn)) > np.sqrt(np.finfo(q.dtype).eps) * most):
        raise NotDifferentiated(
            "the columns that complete an orthogonal matrix are not determined, and what this depends on is one of "
            "their choices: call svd with full_matrices=False, qr with mode='reduced' ('economic' in SciPy)"
        )
    return dq[..., :k] - rest @ (adjoint(drest) @ first)


# -- Cholesky ---------------------------------------------------------------------------------------------


def cholesky_cotangent(dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`y^-H p y^-1 / 2` in one triangle, where p is the Hermitian matrix with the lower triangle of `y^H dy`.

    Murray, "Differentiation of the Cholesky decomposition" (2016), section 3.3. A matrix is given up when it has been
    read for the last time: there are three at once.
    """
    p = adjoint(y) @ dy
    del dy
    p *= triangle_weights(p.shape[-1], p.real.dtype, True)
    inverse = np.linalg.inv(y)
    del y
    p = p @ inverse
    p = adjoint(inverse) @ p
    del inverse
    p = p + adjoint(p)
    p *= 0.25
    return one_triangle(p, True)


@rrule(_linalg.cholesky, types=(Array,))
def cholesky(a):
    y = np.linalg.cholesky(a)

    def pullback(dy):
        return (cholesky_cotangent(dy, y),)

    return y, pullback


if _TWO:

    @rrule(_linalg.cholesky, types=(Array,))
    def cholesky_of(a, *, upper):
        y = np.linalg.cholesky(a, upper=upper)

        def pullback(dy):
            if not upper:
                return (cholesky_cotangent(dy, y),)
            return (adjoint(cholesky_cotangent(adjoint(dy), adjoint(y))),)

        return y, pullback


# -- eigenvalues ------------------------------------------------------------------------------------------


def over_gaps(p: np.ndarray, w: np.ndarray, sizes: np.ndarray, dw: Any) -> np.ndarray:
    """p over w_j - w_i off the diagonal.

    Where the values w are equal but for rounding there is nothing to divide by. `sizes` says how much the cotangents of
    the vectors have of one along another, which in p cancels where it is a turn that changes nothing; `dw` is the
    cotangent of the values, None where they are not used. Raises NotDifferentiated where there is a derivative, or may
    be, that these do not tell: of what uses the values, too, it is told where it does not use these vectors, and
    treats their values alike.
    """
    n = w.shape[-1]
    gaps = np.broadcast_to(w[..., None, :] - w[..., :, None], p.shape)
    off = np.eye(n) == 0
    rounding = np.finfo(w.dtype).eps
    near = (np.abs(gaps) <= n * rounding * np.max(np.abs(w), -1, initial=0.0)[..., None, None]) & off
    if np.any(near):
        most = np.max(sizes, (-2, -1), keepdims=True)
        if dw is None:
            matters = np.abs(p) > np.sqrt(rounding) * most
        else:
            nothing = (most == 0) & (dw[..., None, :] != 0)  # V f(w) V^H has none where f(w) = 0
            steps = np.abs(dw[..., None, :] - dw[..., :, None])
            apart = steps > np.sqrt(rounding) * np.max(np.abs(dw), -1, initial=0.0)[..., None, None]
            matters = np.any(sizes != 0, -2, keepdims=True) | apart | nothing
        if np.any(matters & near):
            raise NotDifferentiated(
                "the vectors of equal eigenvalues or singular values are not determined, and so is the derivative by "
                "the matrix of what depends on them and on these values: take functions of a matrix from scipy.linalg "
                "(sqrtm, logm, expm, polar), or solve instead of decomposing"
            )
    return np.divide(p, gaps, out=np.zeros(p.shape, np.result_type(p, gaps)), where=off & ~near)


def eigh_cotangent(dw: Any, dv: Any, w: np.ndarray, v: np.ndarray, lower: bool) -> np.ndarray:
    vh = adjoint(v)
    if dv is None:
        return one_triangle((v * dw[..., None, :]) @ vh, lower)
    inner: Any = 0.0
    if dw is not None:
        inner = inner + _diagonal(np.asarray(dw))
    p = vh @ dv
    inner = inner + over_gaps(p - adjoint(p), w, np.abs(p), dw) / 2
    return one_triangle(v @ inner @ vh, lower)


@rrule(_linalg.eigh, types=(Array,))
def eigh(a, UPLO="L"):
    y = np.linalg.eigh(a, UPLO)

    def pullback(dy):
        return (eigh_cotangent(dy[0], dy[1], y[0], y[1], UPLO in "lL"),)

    return y, pullback


@rrule(_linalg.eigvalsh, types=(Array,))
def eigvalsh(a, UPLO="L"):
    def pullback(dy):
        w, v = np.linalg.eigh(a, UPLO)
        return (eigh_cotangent(dy, None, w, v, UPLO in "lL"),)

    return np.linalg.eigvalsh(a, UPLO), pullback


def eig_cotangent(dw: Any, dv: Any, a: np.ndarray, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """For eigenvectors of length one whose largest component is real, as LAPACK has them."""
    vh = adjoint(v)
    inner: Any = np.zeros(v.shape, v.dtype)
    if dv is not None:
        along = np.sum(np.conjugate(dv) * v, -2, keepdims=True)
        g = dv - along.real * v
        if v.dtype.kind == "c":  # the phase
            largest = np.argmax(np.abs(v), -2, keepdims=True)
            turned = np.take_along_axis(g, largest, -2) + 1j * along.imag / np.take_along_axis(v, largest, -2).real
            np.put_along_axis(g, largest, turned, -2)
        p = vh @ g
        inner = inner + over_gaps(p, np.conjugate(w), np.abs(p), dw)
    if dw is not None:
        inner = inner + _diagonal(np.asarray(dw))
    return kind_of(np.linalg.solve(vh, inner @ vh), a)


@rrule(_linalg.eig, types=(Array,))
def eig(a):
    y = np.linalg.eig(a)

    def pullback(dy):
        return (eig_cotangent(dy[0], dy[1], a, y[0], y[1]),)

    return y, pullback


@rrule(_linalg.eigvals, types=(Array,))
def eigvals(a):
    def pullback(dy):
        w, v = np.linalg.eig(a)
        return (eig_cotangent(dy, None, a, w, v),)

    return np.linalg.eigvals(a), pullback


# -- singular values --------------------------------------------------------------------------------------


def _over_values(x: np.ndarray, s: np.ndarray, ds: Any) -> np.ndarray:
    """The columns of x over the singular values. What is zero beside a value of zero that is not used is zero."""
    s = np.broadcast_to(s[..., None, :], x.shape)
    unused: Any = True if ds is None else np.asarray(ds)[..., None, :] == 0
    return np.divide(x, s, out=np.zeros_like(x), where=(x != 0) | (s != 0) | ~np.asarray(unused))


def svd_cotangent(
    du: Any, ds: Any, dvh: Any, a: np.ndarray, u: np.ndarray, s: np.ndarray, vh: np.ndarray
) -> np.ndarray:
    k = s.shape[-1]
    if du is None and dvh is None:
        return (u[..., :k] * ds[..., None, :]) @ vh[..., :k, :]
    du = of_completed(du, u, k)
    dvh = None if dvh is None else adjoint(of_completed(adjoint(dvh), adjoint(vh), k))
    u, vh = u[..., :k], vh[..., :k, :]
    uh, v = adjoint(u), adjoint(vh)
    t: Any = 0.0
    if ds is not None:
        t = t + (u * ds[..., None, :]) @ vh
    left: Any = np.zeros(s.shape + (k,), u.dtype)
    right = left
    if du is not None:
        left = uh @ du
        if u.shape[-2] > k:
            t = t + _over_values(du - u @ left, s, ds) @ vh
        if a.dtype.kind == "c":  # the phases, which only gauge-invariant functions may depend on (Wan and Zhang 2019)
            phases = 1j * np.imag(np.einsum("...ii->...i", left))
            t = t + _over_values(u * phases[..., None, :], s, None) @ vh
    if dvh is not None:
        dv = adjoint(dvh)
        right = adjoint(v) @ dv
        if v.shape[-2] > k:
            t = t + u @ adjoint(_over_values(dv - v @ right, s, ds))
    # Townsend's F of s_j^2 - s_i^2 in partial fractions: one part divides by s_j - s_i, the other does not
    a_left, a_right = left - adjoint(left), right - adjoint(right)
    together, apart = a_left + a_right, a_left - a_right
    sizes = np.maximum(np.abs(left), np.abs(right))
    sums = np.broadcast_to(s[..., None, :] + s[..., :, None], apart.shape)
    inner = np.divide(apart, sums, out=np.zeros_like(apart), where=(apart != 0) & (np.eye(k) == 0))
    t = t + u @ ((over_gaps(together, s, sizes, ds) + inner) / 2) @ vh
    return kind_of(np.asarray(t), a)


@rrule(_linalg.svd, types=(Array,))
def svd(a, full_matrices=True, compute_uv=True):
    if compute_uv:
        y = np.linalg.svd(a, full_matrices)

        def pullback(dy):
            return (svd_cotangent(dy[0], dy[1], dy[2], a, y[0], y[1], y[2]),)

        return y, pullback

    def pullback_values(dy):
        u, s, vh = np.linalg.svd(a, False)
        return (svd_cotangent(None, dy, None, a, u, s, vh),)

    return np.linalg.svd(a, full_matrices, False), pullback_values


def svd_with_choice(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Of a Hermitian matrix by eigenvalues, largest modulus first."""
    if not hermitian:
        return np.linalg.svd(a, full_matrices) if compute_uv else np.linalg.svd(a, full_matrices, False)
    w, v = np.linalg.eigh(a)
    order = np.argsort(np.abs(w), -1)[..., ::-1]
    w = np.take_along_axis(w, order, -1)
    s = np.abs(w)
    if not compute_uv:
        return s
    v = np.take_along_axis(v, order[..., None, :], -1)
    vh = np.swapaxes(v * np.sign(w)[..., None, :], -1, -2)
    return v, s, np.conjugate(vh)


mirrors(_linalg.svd, types=(Array,), fallback=True)(svd_with_choice)

if _TWO:

    @rrule(_linalg.svdvals, types=(Array,))
    def svdvals(x):
        def pullback(dy):
            u, s, vh = np.linalg.svd(x, False)
            return (svd_cotangent(None, dy, None, x, u, s, vh),)

        return np.linalg.svdvals(x), pullback


# -- QR ---------------------------------------------------------------------------------------------------


def qr_cotangent(dq: Any, dr: Any, a: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """For wide matrices A = [X Y] = Q [U V] with V = Q^H Y; for tall ones Q may have all columns."""
    k = min(a.shape[-2:])
    dq, q, r = of_completed(dq, q, k), q[..., :k], r[..., :k, :]
    dr = None if dr is None else dr[..., :k, :]
    dq = np.zeros(q.shape, q.dtype) if dq is None else dq
    dr = np.zeros(r.shape, r.dtype) if dr is None else dr
    n = a.shape[-1]
    rest: Any = None
    if n > k:
        dv = dr[..., k:]
        dq = dq + a[..., k:] @ adjoint(dv)
        rest = q @ dv
        r, dr = r[..., :k], dr[..., :k]
    m = r @ adjoint(dr) - adjoint(dq) @ q
    low = np.tril(m, -1)
    m = low + adjoint(low) + np.real(m) * np.eye(k, dtype=r.real.dtype)
    t = adjoint(np.linalg.solve(r, adjoint(dq + q @ m)))
    return t if rest is None else np.concatenate([t, rest], -1)


@rrule(_linalg.qr, types=(Array,))
def qr(a, mode="reduced"):
    y = np.linalg.qr(a, mode)

    def pullback(dy):
        if mode == "r":
            q, r = np.linalg.qr(a)
            return (qr_cotangent(None, dy, a, q, r),)
        if mode != "reduced" and mode != "complete":
            raise NotDifferentiated(f"np.linalg.qr is not differentiated in mode {mode!r}")
        return (qr_cotangent(dy[0], dy[1], a, y[0], y[1]),)

    return y, pullback


pure.update({
    cholesky_cotangent, eigh_cotangent, eig_cotangent, svd_cotangent, qr_cotangent, _linalg.cholesky, _linalg.eigh,
    _linalg.eigvalsh, _linalg.eig, _linalg.eigvals, _linalg.svd, _linalg.qr,
})  # fmt: skip


def _some_numbers(less: int) -> Any:
    """Of so many dimensions less, real or complex as it turns out."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        return Arr(None, a.ndim - less, a.act) if isinstance(a, Arr) and a.ndim is not None else None

    return infer


infer_table[_linalg.cholesky] = like
infer_table[_linalg.eigvalsh] = per_matrix(True, True)
infer_table[_linalg.eigh] = all_of(_linalg.eigh, per_matrix(True, True), like)
infer_table[_linalg.eig] = all_of(_linalg.eig, _some_numbers(1), _some_numbers(0))
infer_table[_linalg.eigvals] = _some_numbers(1)
infer_table[_linalg.qr] = all_of(_linalg.qr, like, like)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_H = _A @ _A.T + np.eye(3)
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_B = np.stack([_A, _A.T + np.eye(3), _H])
_BH = np.stack([_H, _H * 2 + np.diag([1.0, 2.0, 4.0])])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_ZH = _Z @ np.conjugate(_Z.T) + np.eye(3)


def _spectrum(a: np.ndarray) -> Any:
    w, v = np.linalg.eigh(a)
    return v**2 * w[..., None, :]


def _complex_spectrum(a: np.ndarray) -> Any:
    w, v = np.linalg.eigh(a)
    return np.abs(v) * w


def _singular(a: np.ndarray) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * s**2) @ vh + np.abs(u[:, :1] * s[0])


def _factors(a: np.ndarray) -> Any:
    q, r = np.linalg.qr(a)
    return q.sum() * r, q * 2


def _eigen(a: np.ndarray) -> Any:
    w, v = np.linalg.eig(a)
    return w * 2, v


_TURNS = np.array([[0.3, -1.5, 0.2], [1.2, 0.4, -0.3], [0.1, 0.6, 1.7]])  # has a complex pair of eigenvalues


def _first_part(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u[:, :1] * s[0] @ vh[:1]) / np.sum(s**2) + np.linalg.eigh(a.T @ a)[1][:, -1] ** 2


def _apart(a: Any) -> Any:
    """The vector of a value that is there once, beside one that is there twice."""
    w, v = np.linalg.eigh(a + a.T)
    u, s, vh = np.linalg.svd(a)
    return v[:, -1] * np.sign(v[-1, -1]) * w[-1], u[:, :1] @ vh[:1] * s[0]


def _turned(a: Any) -> Any:
    """What does not depend on how vectors of equal values are turned: the nearest rotation, projectors."""
    u, _, vh = np.linalg.svd(a)
    v = np.linalg.eigh(a @ a.T + np.diag([0.0, 0.0, 1.0]))[1]
    return u @ vh, v[:, :2] @ v[:, :2].T


def _completed(a: Any) -> Any:
    """The least squares residual, what a complete basis leaves of a vector, and the projector on the null space."""
    q, r = np.linalg.qr(a, mode="complete")
    u, s, vh = np.linalg.svd(a)
    n = a.shape[1]
    x = np.arange(1.0, 1.0 + len(a))
    inside, outside = q[:, :n], np.conj(q[:, n:]).T @ x
    left, right = u[:, n:], vh[len(a) :]
    return inside, r, np.sum(np.abs(outside) ** 2), left @ np.conj(left).T, np.conj(right).T @ right, s


_ROTATION = np.linalg.qr(_A)[0]

CASES: list[RuleCase] = [
    *[case(_first_part, np.outer(x, [1.0, 0.5, 2.0])) for x in ([1.0, -1.0, 0.5], [1.0, 2.0], [1.0, 0.0, 3.0, 2.0])],
    case(_first_part, np.diag([2.0, 0.0, 0.0]) + 0.0), case(_turned, _ROTATION), case(_turned, 2 * np.eye(3)),
    case(_apart, np.diag([1.0, 1.0, 3.0]) + 0.0), case(_apart, np.diag([1.0, 1.0, 1.0, 3.0]) + 0.5),
    case(np.linalg.cholesky, _H), case(np.linalg.cholesky, _BH), case(np.linalg.cholesky, _H.astype(np.float32)),
    case(np.linalg.cholesky, _ZH), case(_spectrum, _H), case(_complex_spectrum, _ZH), case(_spectrum, _BH),
    case(np.linalg.eigvalsh, _H), case(np.linalg.eigvalsh, _BH), case(np.linalg.eigvalsh, _ZH),
    case(np.linalg.eigvalsh, _H, UPLO="U"), case(np.linalg.eigh, _H), case(_singular, _M), case(_singular, _M.T),
    case(_singular, _A), case(_singular, _Z), case(np.linalg.svd, _M, compute_uv=False),
    case(np.linalg.svd, _B, True, False), case(lambda a: np.linalg.svd(a, False, True, False).S, _M),
    case(np.linalg.svd, _M, compute_uv=False, hermitian=False),
    *[case(lambda a, x: np.linalg.svd(a, compute_uv=x > 0), _A, x) for x in (-1.0, 1.0)],
    case(np.linalg.svd, _M, False),
    case(lambda a: np.linalg.svd(a, hermitian=True), _H - 3 * np.eye(3)),
    case(lambda a: np.linalg.svd(a, True, False, True), _BH), case(_factors, _A), case(_factors, _M),
    case(_factors, _M.T), case(_factors, _Z), case(_completed, _M.T), case(_completed, _A), case(_completed, _M),
    case(_completed, _M.T[:, :1]), case(_completed, _Z[:, :2]), case(_completed, _Z[:2]),
    case(lambda a: np.linalg.qr(a, "complete")[0] ** 2, _M.T), case(lambda a: np.linalg.svd(a)[2] ** 2, _M),
    case(np.linalg.qr, _A, "r"), case(np.linalg.qr, _B), case(_eigen, _A),
    case(_eigen, _TURNS), case(_eigen, _Z), case(_eigen, _B), case(np.linalg.eig, _H), case(np.linalg.eigvals, _A),
    case(np.linalg.eigvals, _TURNS), case(np.linalg.eigvals, _Z), case(np.linalg.eigvals, np.stack([_A, _TURNS])),
    case(np.linalg.eigvals, _A.astype(np.float32)),
]  # fmt: skip
if _TWO:
    CASES += [case(np.linalg.svdvals, _M), case(np.linalg.svdvals, _B), case(np.linalg.cholesky, _H, upper=True),
              case(np.linalg.cholesky, _ZH, upper=True), case(np.linalg.cholesky, _H, upper=False)]  # fmt: skip
