"""numpy.linalg, on single matrices and stacks of them.

Formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode AD" (2008); for svd J. Townsend,
"Differentiating the singular value decomposition" (2016); for qr M. Seeger et al., "Auto-differentiating linear
algebra" (2017). `cholesky` and `eigh` read one triangle of their argument, and so their cotangent has zeros in the
other: that is the derivative of what is computed, and equals the symmetric one along symmetric directions.
Eigenvectors and singular vectors have derivatives where the values are distinct.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.registry import Array, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import reduces

_linalg = np.linalg
_TWO = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def adjoint(a: np.ndarray) -> np.ndarray:
    """The conjugate transpose of every matrix."""
    t = a.swapaxes(-1, -2)
    return np.conjugate(t) if a.dtype.kind == "c" else t


def kind_of(t: np.ndarray, a: np.ndarray) -> np.ndarray:
    """t as a cotangent of a: its real part where a is real."""
    return t.real if t.dtype.kind == "c" and a.dtype.kind != "c" else t


def _per_matrix(x: Any) -> np.ndarray:
    return np.asarray(x)[..., None, None]


def _diagonal(x: np.ndarray) -> np.ndarray:
    """Diagonal matrices of the vectors in the last axis."""
    return x[..., None] * np.eye(x.shape[-1], dtype=x.dtype)


pure.update({adjoint, kind_of})

# -- inverses and systems ---------------------------------------------------------------------------------


def inv_cotangent(dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    yh = adjoint(y)
    return -(yh @ dy @ yh)


@rrule(_linalg.inv, types=(Array,))
def inv(a):
    y = np.linalg.inv(a)

    def pullback(dy):
        return inv_cotangent(dy, y)

    return y, pullback


def solve_cotangents(dy: np.ndarray, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[Any, Any]:
    ah = adjoint(a)
    if a.ndim == 2 and b.ndim == 1:
        db = np.linalg.solve(ah, dy)
        da = np.multiply.outer(-db, np.conjugate(x) if x.dtype.kind == "c" else x)
        return kind_of(da, a), kind_of(db, b)
    if b.ndim == 1 if _TWO else b.ndim == a.ndim - 1:
        db = np.linalg.solve(ah, dy[..., None])[..., 0]
        da = -db[..., :, None] * np.conjugate(x)[..., None, :]
    else:
        db = np.linalg.solve(ah, dy)
        da = -(db @ adjoint(x))
    return kind_of(unbroadcast(da, a.shape), a), kind_of(unbroadcast(db, b.shape), b)


@rrule(_linalg.solve, types=(Array, Array))
def solve(a, b):
    x = np.linalg.solve(a, b)

    def pullback(dy):
        return solve_cotangents(dy, a, b, x)

    return x, pullback


def cofactors(a: np.ndarray) -> np.ndarray:
    """The derivative of det by every entry, by singular values: right for singular matrices too."""
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), axis=-1) for i in range(n)], -1)
    return _per_matrix(np.linalg.det(u) * np.linalg.det(vh)) * (
        (np.conjugate(u) * others[..., None, :]) @ np.conjugate(vh)
    )


def det_cotangent(dy: Any, a: np.ndarray, y: Any) -> np.ndarray:
    if np.all(y):
        t = _per_matrix(dy * np.conjugate(y)) * adjoint(np.linalg.inv(a))
    else:
        t = _per_matrix(dy) * np.conjugate(cofactors(a))
    return kind_of(t, a)


@rrule(_linalg.det, types=(Array,))
def det(a):
    y = np.linalg.det(a)

    def pullback(dy):
        return (det_cotangent(dy, a, y),)

    return y, pullback


def slogdet_cotangent(dy: Any, a: np.ndarray, sign: Any) -> np.ndarray:
    """log|det| varies with Re tr(A^-1 dA); for complex matrices the sign turns by Im tr(A^-1 dA)."""
    weight = 0.0 if dy[1] is None else dy[1]
    if a.dtype.kind == "c" and dy[0] is not None:
        weight = weight + 1j * np.real(np.conjugate(dy[0]) * 1j * sign)
    return kind_of(_per_matrix(weight) * adjoint(np.linalg.inv(a)), a)


@rrule(_linalg.slogdet, types=(Array,))
def slogdet(a):
    y = np.linalg.slogdet(a)

    def pullback(dy):
        return (slogdet_cotangent(dy, a, y[0]),)

    return y, pullback


def pinv_cotangent(dy: np.ndarray, a: np.ndarray, p: np.ndarray) -> np.ndarray:
    """dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, transposed (Golub and Pereyra 1973)."""
    ph, gh = adjoint(p), adjoint(dy)
    t = -(ph @ dy @ ph)
    t = t + (gh - a @ (p @ gh)) @ p @ ph
    return t + ph @ p @ (gh - (gh @ p) @ a)


@rrule(_linalg.pinv, types=(Array,))
def pinv(a):
    p = np.linalg.pinv(a)

    def pullback(dy):
        return (pinv_cotangent(dy, a, p),)

    return p, pullback


def lstsq_cotangents(dy: Any, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[Any, Any]:
    """x = pinv(A) b; the residuals |b - A x|^2 do not change with x, which minimises them."""
    if dy[3] is not None and np.any(dy[3]):
        raise NotImplementedError("the singular values that lstsq returns are not differentiated: use svd")
    vector = b.ndim == 1
    bm, xm = (b[:, None], x[:, None]) if vector else (b, x)
    da, db = np.zeros(a.shape, x.dtype), np.zeros(bm.shape, x.dtype)
    if dy[0] is not None:
        dx = dy[0][:, None] if vector else dy[0]
        p = np.linalg.pinv(a)
        db = db + adjoint(p) @ dx
        da = da + pinv_cotangent(dx @ adjoint(bm), a, p)
    if dy[1] is not None and np.size(dy[1]):
        r = 2 * (bm - a @ xm) * dy[1]
        db = db + r
        da = da - r @ adjoint(xm)
    return kind_of(da, a), kind_of(db[:, 0] if vector else db, b)


@rrule(_linalg.lstsq, types=(Array, Array))
def lstsq(a, b, rcond=None):
    y = np.linalg.lstsq(a, b, rcond)

    def pullback(dy):
        return lstsq_cotangents(dy, a, b, y[0])

    return y, pullback


# -- decompositions ---------------------------------------------------------------------------------------


def one_triangle(s: np.ndarray, lower: bool) -> np.ndarray:
    """The cotangent of the triangle that is read, from that of the whole Hermitian matrix."""
    n = s.shape[-1]
    w = np.tril(np.full((n, n), 2.0), -1) + np.eye(n)
    return s * (w if lower else w.T).astype(s.real.dtype)


def cholesky_cotangent(dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    p = np.tril(adjoint(y) @ dy)
    n = p.shape[-1]
    p[..., range(n), range(n)] *= 0.5
    p = p + adjoint(p)
    yh = adjoint(y)
    s = np.linalg.solve(yh, adjoint(np.linalg.solve(yh, p))) * 0.5
    return one_triangle(s, True)


@rrule(_linalg.cholesky, types=(Array,))
def cholesky(a):
    y = np.linalg.cholesky(a)

    def pullback(dy):
        return (cholesky_cotangent(dy, y),)

    return y, pullback


def _inverse_gaps(w: np.ndarray) -> np.ndarray:
    """1 / (w_j - w_i), zero on the diagonal."""
    n = w.shape[-1]
    return (1 - np.eye(n, dtype=w.dtype)) / (w[..., None, :] - w[..., :, None] + np.eye(n, dtype=w.dtype))


def eigh_cotangent(dw: Any, dv: Any, w: np.ndarray, v: np.ndarray, lower: bool) -> np.ndarray:
    vh = adjoint(v)
    inner: Any = 0.0
    if dw is not None:
        inner = inner + _diagonal(np.asarray(dw))
    if dv is not None:
        inner = inner + _inverse_gaps(w) * (vh @ dv)
    x = v @ inner @ vh
    return one_triangle((x + adjoint(x)) / 2, lower)


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


def svd_cotangent(
    du: Any, ds: Any, dvh: Any, a: np.ndarray, u: np.ndarray, s: np.ndarray, vh: np.ndarray
) -> np.ndarray:
    k = s.shape[-1]
    for d, axis in ((du, -1), (dvh, -2)):
        if d is not None and d.shape[axis] > k and np.any(np.delete(d, range(k), axis)):
            raise NotImplementedError(
                "the singular vectors that complete a basis are not determined: call svd with full_matrices=False"
            )
    u, vh = u[..., :k], vh[..., :k, :]
    uh, v = adjoint(u), adjoint(vh)
    t: Any = 0.0
    if ds is not None:
        t = t + (u * ds[..., None, :]) @ vh
    gaps = _inverse_gaps(s * s) if du is not None or dvh is not None else None
    if du is not None:
        du = du[..., :k]
        p = uh @ du
        scaled = du / s[..., None, :]
        t = t + (u @ (gaps * (p - adjoint(p)) * s[..., None, :]) + scaled - u @ (uh @ scaled)) @ vh
        if a.dtype.kind == "c":  # the phases, which only gauge-invariant functions may depend on (Wan and Zhang 2019)
            t = t + (u * (1j * np.imag(np.einsum("...ii->...i", p)) / s)[..., None, :]) @ vh
    if dvh is not None:
        dv = adjoint(dvh[..., :k, :])
        p = adjoint(v) @ dv
        scaled = adjoint(dv) / s[..., :, None]
        t = t + u @ (s[..., :, None] * (gaps * (p - adjoint(p))) @ vh + scaled - (scaled @ v) @ vh)
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


def qr_cotangent(dq: Any, dr: Any, a: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """For wide matrices A = [X Y] = Q [U V] with V = Q^H Y."""
    k = q.shape[-1]
    if q.shape[-2] < a.shape[-2] or k > min(a.shape[-2:]):
        raise NotImplementedError("qr is differentiated in mode 'reduced'")
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
        return (qr_cotangent(dy[0], dy[1], a, y[0], y[1]),)

    return y, pullback


# -- norms, powers, chains --------------------------------------------------------------------------------


def norm_cotangent(dy: Any, x: np.ndarray, y: Any, ord: Any, axis: Any, keepdims: bool) -> np.ndarray:
    """Zero at zero; vector norms of every order, of matrices the Frobenius, nuclear and spectral ones."""
    whole = axis is None and (ord is None or (ord == 2 and x.ndim == 1))
    axes = (
        tuple(range(x.ndim)) if axis is None else tuple(k % x.ndim for k in (axis if type(axis) is tuple else (axis,)))
    )
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    dy, y = np.asarray(dy).reshape(shape), np.asarray(y).reshape(shape)
    size = np.where(y == 0, 1, y)
    if whole or ord is None or ord == "fro" or (ord == 2 and len(axes) == 1):
        return x * (dy / size)
    if len(axes) == 2:
        moved = np.moveaxis(x, axes, (-2, -1))
        u, s, vh = np.linalg.svd(moved, full_matrices=False)
        if ord == "nuc":
            t = u @ vh
        elif ord in (2, -2):
            i = 0 if ord == 2 else s.shape[-1] - 1
            t = u[..., :, i : i + 1] @ vh[..., i : i + 1, :]
        else:
            raise NotImplementedError(f"the matrix norm of order {ord!r} is not differentiated")
        return np.moveaxis(t, (-2, -1), axes) * dy
    size_x = np.abs(x)
    unit = x / np.where(size_x == 0, 1, size_x)
    if ord in (np.inf, -np.inf):
        hit = size_x == y
        return unit * hit * (dy / np.add.reduce(hit, axes, None, None, True))
    if ord == 0:
        return np.zeros_like(x)
    if ord == 1:
        return unit * dy
    return unit * (np.where(size_x == 0, 1, size_x) ** (ord - 1) * (size_x != 0)) * (dy * size ** (1 - ord))


def order_cotangent(dy: Any, x: np.ndarray, y: Any, ord: Any, axis: Any) -> Any:
    """By the order p of a vector norm, s being the sum of |x|^p: y (sum(|x|^p log|x|) / (p s) - log(s) / p^2)."""
    if not isinstance(ord, (float, np.floating)) or ord == 0 or not np.isfinite(ord):
        return None
    axis = (0 if x.ndim == 1 else None) if axis is None else axis
    if axis is None or (type(axis) is tuple and len(axis) > 1):
        return None  # the orders of a matrix norm are a few numbers
    size = np.abs(x)
    safe = np.where(size == 0, 1, size)
    powers = np.where(size == 0, 0, safe**ord)
    axes = axis if type(axis) is tuple else (axis,)
    s = np.add.reduce(powers, axes)
    s = np.where(s == 0, 1, s)
    slope = np.add.reduce(powers * np.log(safe), axes) / (ord * s) - np.log(s) / ord**2
    return float(np.sum(np.reshape(dy, s.shape) * np.reshape(y, s.shape) * slope))


@rrule(_linalg.norm, types=(Array,))
def norm(x, ord=None, axis=None, keepdims=False):
    y = np.linalg.norm(x, ord, axis, keepdims)

    def pullback(dy):
        return norm_cotangent(dy, x, y, ord, axis, keepdims), order_cotangent(dy, x, y, ord, axis)

    return y, pullback


@rrule(_linalg.norm, types=(Array,))
def norm_of_all(x):
    y = np.linalg.norm(x)

    def pullback(dy):
        return (x * (dy / y if y else 0.0),)

    return y, pullback


def power_cotangent(dy: np.ndarray, a: np.ndarray, n: int) -> np.ndarray:
    """The sum of (A^H)^k dY (A^H)^(n-1-k), by Horner's scheme; negative powers are those of the inverse."""
    if n < 0:
        y = np.linalg.inv(a)
        return inv_cotangent(power_cotangent(dy, y, -n), y)
    ah = adjoint(a)
    t: Any = np.zeros_like(a)
    right = dy
    for _ in range(n):
        t = ah @ t + right
        right = right @ ah
    return t


@rrule(_linalg.matrix_power, types=(Array,))
def matrix_power(a, n):
    def pullback(dy):
        return (power_cotangent(dy, a, n),)

    return np.linalg.matrix_power(a, n), pullback


def chain_cotangents(dy: Any, arrays: Any) -> list[Any]:
    mats = [np.asarray(x) for x in arrays]
    shapes = [m.shape for m in mats]
    if mats[0].ndim == 1:
        mats[0] = mats[0][None, :]
    if mats[-1].ndim == 1:
        mats[-1] = mats[-1][:, None]
    right = np.asarray(dy).reshape(mats[0].shape[0], mats[-1].shape[1])
    after = [np.eye(mats[-1].shape[1])]
    for m in mats[:0:-1]:
        after.append(m @ after[-1])
    out = []
    before = right
    for m, post, shape, x in zip(mats, reversed(after), shapes, arrays, strict=True):
        out.append(kind_of((before @ adjoint(post)).reshape(shape), np.asarray(x)))
        before = adjoint(m) @ before
    return out


@rrule(_linalg.multi_dot)
def multi_dot(arrays):
    def pullback(dy):
        return (chain_cotangents(dy, arrays),)

    return np.linalg.multi_dot(arrays), pullback


pure.update({
    inv_cotangent, solve_cotangents, det_cotangent, slogdet_cotangent, pinv_cotangent, lstsq_cotangents,
    cholesky_cotangent,
    eigh_cotangent, svd_cotangent, qr_cotangent, norm_cotangent, power_cotangent, chain_cotangents, _linalg.multi_dot,
    _linalg.inv, _linalg.solve, _linalg.det, _linalg.slogdet, _linalg.pinv, order_cotangent, _linalg.lstsq,
    _linalg.cholesky,
    _linalg.eigh,
    _linalg.eigvalsh, _linalg.svd, _linalg.qr, _linalg.matrix_power,
})  # fmt: skip
zero_derivative(_linalg.matrix_rank)
reduces(_linalg.norm)


def _infer() -> None:
    """Decompositions fail on the engine's samples, which are singular: their types are written out."""
    from mooncake_py.infer.types import Arr, Inst, T
    from mooncake_py.registry import infer_table
    from mooncake_rules.inference import Types, known_arrays

    def like(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        return (
            Arr(a.dtype, a.ndim, a.act) if isinstance(a, Arr) and a.dtype is not None and a.dtype.kind in "fc" else None
        )

    def solved(args: Types, kwargs: dict[str, T]) -> T | None:
        a, b = args[0], args[1]
        if not (isinstance(a, Arr) and isinstance(b, Arr)) or not known_arrays(a, b):
            return None
        n = (a.ndim or 0) - 1 if b.ndim == 1 else max(a.ndim or 0, b.ndim or 0)
        return Arr(np.result_type(a.dtype, b.dtype), n, a.act or b.act) if _TWO or b.ndim in (1, a.ndim) else None

    def per_matrix(real: bool, vector: bool) -> Any:
        def infer(args: Types, kwargs: dict[str, T]) -> T | None:
            a = args[0]
            if not isinstance(a, Arr) or a.dtype is None or a.ndim is None or a.dtype.kind not in "fc":
                return None
            d = np.zeros(0, a.dtype).real.dtype if real else a.dtype
            n = a.ndim - 2 + vector
            return Arr(d, n, a.act) if n else Inst(d.type, a.act)

        return infer

    for f in (_linalg.inv, _linalg.cholesky, _linalg.matrix_power, _linalg.pinv):
        infer_table[f] = like
    infer_table[_linalg.solve] = solved
    infer_table[_linalg.det] = per_matrix(False, False)
    infer_table[_linalg.eigvalsh] = per_matrix(True, True)


_infer()

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_H = _A @ _A.T + np.eye(3)
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_B = np.stack([_A, _A.T + np.eye(3), _H])
_BH = np.stack([_H, _H * 2 + np.diag([1.0, 2.0, 4.0])])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_ZH = _Z @ np.conjugate(_Z.T) + np.eye(3)


def _log_det(a: np.ndarray) -> Any:
    sign, value = np.linalg.slogdet(a)
    return sign * value


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


def _least_squares(a: np.ndarray, b: np.ndarray) -> Any:
    x, residuals, _, _ = np.linalg.lstsq(a, b, rcond=None)
    return x * 2, residuals


CASES: list[RuleCase] = [
    *[case(f, x) for f in (np.linalg.inv, np.linalg.det, np.linalg.pinv) for x in (_A, _B, _Z, _A.astype(np.float32))],
    case(np.linalg.det, np.array([[1.0, 2.0], [2.0, 4.0]])), case(np.linalg.solve, _A, _V),
    case(np.linalg.solve, _A, _M.T), case(np.linalg.solve, _B, _A), case(np.linalg.solve, _A, _B),
    case(np.linalg.solve, _Z, _V), case(np.linalg.solve, _A, _Z), case(np.linalg.pinv, _M), case(np.linalg.pinv, _M.T),
    case(_log_det, _A), case(_log_det, _Z), case(np.linalg.cholesky, _H), case(np.linalg.cholesky, _BH),
    case(np.linalg.cholesky, _ZH), case(_spectrum, _H), case(_complex_spectrum, _ZH), case(_spectrum, _BH),
    case(np.linalg.eigvalsh, _H), case(np.linalg.eigvalsh, _BH), case(np.linalg.eigvalsh, _ZH),
    case(np.linalg.eigvalsh, _H, UPLO="U"), case(_singular, _M), case(_singular, _M.T), case(_singular, _A),
    case(_singular, _Z), case(np.linalg.svd, _M, compute_uv=False), case(np.linalg.svd, _B, True, False),
    case(_factors, _A), case(_factors, _M), case(_factors, _M.T), case(_factors, _Z), case(np.linalg.norm, _V),
    case(np.linalg.norm, _M), case(np.linalg.norm, _M, axis=1), case(np.linalg.norm, _M, 1, 0),
    case(np.linalg.norm, _M, "fro"), case(np.linalg.norm, _M, "nuc"), case(np.linalg.norm, _M, 2),
    case(np.linalg.norm, _V, np.inf), case(np.linalg.norm, _V, 3), case(np.linalg.norm, _V, 2.5),
    case(np.linalg.norm, _Z),
    case(np.linalg.norm, _Z, axis=0, keepdims=True), case(np.linalg.norm, _B, axis=(1, 2)),
    case(np.linalg.norm, _V, 1), case(np.linalg.matrix_power, _A, 3), case(np.linalg.matrix_power, _A, -2),
    case(np.linalg.matrix_power, _Z, 2), case(np.linalg.matrix_power, _A, 0), case(np.linalg.multi_dot, [_M, _A, _A]),
    case(np.linalg.multi_dot, [_V, _A, _V]), case(_least_squares, _M.T, _V), case(_least_squares, _M.T, _A),
]  # fmt: skip
