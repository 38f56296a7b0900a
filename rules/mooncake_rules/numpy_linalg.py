"""numpy.linalg, on single matrices and stacks of them: inverses, determinants, systems, powers, chains.

Formulas: M. Giles, "Collected matrix derivative results for forward and reverse mode AD" (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Display, Inst, T, Tup
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types, known_arrays
from mooncake_rules.mirror import mirrors

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


def one_triangle(s: np.ndarray, lower: bool) -> np.ndarray:
    """The cotangent of the triangle that is read, from that of the whole Hermitian matrix."""
    return s * triangle_weights(s.shape[-1], s.real.dtype, lower)


def triangle_weights(n: int, dtype: np.dtype, lower: bool) -> np.ndarray:
    """2 in one triangle, 1 on the diagonal, 0 in the other triangle: a view of their few values, to be read only."""
    values = np.zeros(2 * n + 1, dtype)  # by the distance from the diagonal
    values[n] = 1.0
    values[n + 1 :] = 2.0
    step = values.itemsize
    return np.ndarray((n, n), dtype, values, n * step, (step, -step) if lower else (-step, step))


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
    if a.ndim == 2 and y:
        return kind_of((dy * y.conjugate()) * adjoint(np.linalg.inv(a)), a)
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
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    """Where the rank is what it is nearby; a Hermitian matrix is read from its lower triangle."""
    if rtol is not np._NoValue:
        p = np.linalg.pinv(a, rcond, hermitian, rtol=rtol)
    elif rcond is not None:
        p = np.linalg.pinv(a, rcond, hermitian)
    else:
        p = np.linalg.pinv(a, hermitian=hermitian)

    def pullback(dy):
        t = pinv_cotangent(dy, a, p)
        return (one_triangle((t + adjoint(t)) / 2, True) if hermitian else t,)

    return p, pullback


def lstsq_cotangents(dy: Any, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[Any, Any]:
    """x = pinv(A) b; the residuals |b - A x|^2 do not change with x, which minimises them; the singular values."""
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
    if dy[3] is not None:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        da = da + (u * dy[3]) @ vh
    return kind_of(da, a), kind_of(db[:, 0] if vector else db, b)


@rrule(_linalg.lstsq, types=(Array, Array))
def lstsq(a, b, rcond=None):
    y = np.linalg.lstsq(a, b, rcond)

    def pullback(dy):
        return lstsq_cotangents(dy, a, b, y[0])

    return y, pullback


# -- powers and chains --------------------------------------------------------------------------------------


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


@rrule(_linalg.matrix_power, types=(Array,), alias=(0,))  # with n = 1 it is a itself
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


@mirrors(_linalg.tensorinv)
def tensorinv(a, ind=2):
    a = np.asarray(a)
    old, n = a.shape, int(np.prod(a.shape[ind:]))
    return np.linalg.inv(a.reshape((n, -1))).reshape(old[ind:] + old[:ind])


@mirrors(_linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        moved = [k % a.ndim for k in axes]
        a = a.transpose([k for k in range(a.ndim) if k not in moved] + moved)
    shape = a.shape[b.ndim :]
    return np.linalg.solve(a.reshape((b.size, -1)), b.ravel()).reshape(shape)


pure.update({
    inv_cotangent, solve_cotangents, det_cotangent, slogdet_cotangent, pinv_cotangent, lstsq_cotangents,
    power_cotangent, chain_cotangents, _linalg.multi_dot, _linalg.inv, _linalg.solve, _linalg.det, _linalg.slogdet,
    _linalg.pinv, _linalg.lstsq, _linalg.matrix_power,
})  # fmt: skip
zero_derivative(_linalg.matrix_rank)

# -- types: these functions fail on the engine's samples, which are singular --------------------------------


def like(args: Types, kwargs: dict[str, T]) -> T | None:
    """An array like the first argument."""
    a = args[0]
    return Arr(a.dtype, a.ndim, a.act) if isinstance(a, Arr) and a.dtype is not None and a.dtype.kind in "fc" else None


def _solved(args: Types, kwargs: dict[str, T]) -> T | None:
    a, b = args[0], args[1]
    if not (isinstance(a, Arr) and isinstance(b, Arr)) or not known_arrays(a, b):
        return None
    n = (a.ndim or 0) - 1 if b.ndim == 1 else max(a.ndim or 0, b.ndim or 0)
    return Arr(np.result_type(a.dtype, b.dtype), n, a.act or b.act) if _TWO or b.ndim in (1, a.ndim) else None


def _fitted(args: Types, kwargs: dict[str, T]) -> T | None:
    """The solution, the sums of squares, the rank, and the singular values."""
    a, b = args[0], args[1]
    if not (isinstance(a, Arr) and isinstance(b, Arr)) or not known_arrays(a, b):
        return None
    d, act = np.result_type(a.dtype, b.dtype, np.float32), a.act or b.act
    real = Arr(np.zeros(0, d).real.dtype, 1, act)
    return Tup((Arr(d, b.ndim, act), real, Inst(np.int32), real)) if d.char in "dD" else None


def _chained(args: Types, kwargs: dict[str, T]) -> T | None:
    """A matrix, but for vectors at the ends."""
    arrays = args[0].items if isinstance(args[0], (Display, Tup)) else ()
    if len(arrays) < 2 or kwargs or not known_arrays(*arrays):
        return None
    n = sum(t.ndim == 2 for t in (arrays[0], arrays[-1]) if isinstance(t, Arr))
    d = np.result_type(*[t.dtype for t in arrays if isinstance(t, Arr)])
    act = any(t.active for t in arrays)
    return Arr(d, n, act) if n else Inst(d.type, act)


def _rank(args: Types, kwargs: dict[str, T]) -> T | None:
    a = args[0]
    if not isinstance(a, Arr) or a.ndim is None or a.ndim < 2:
        return None
    return Arr(np.dtype(np.intp), a.ndim - 2) if a.ndim > 2 else Inst(np.intp)


def per_matrix(real: bool, vector: bool) -> Any:
    """A number or a vector for every matrix."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        if not isinstance(a, Arr) or a.dtype is None or a.ndim is None or a.dtype.kind not in "fc":
            return None
        d = np.zeros(0, a.dtype).real.dtype if real else a.dtype
        n = a.ndim - 2 + vector
        return Arr(d, n, a.act) if n else Inst(d.type, a.act)

    return infer


_SAME = {("UPLO", "L"), ("UPLO", "U"), ("mode", "reduced")}
"""Arguments of decompositions that change nothing of what there is in the result."""


def all_of(f: Any, *parts: Any) -> Any:
    """The tuple of results that f gives for a matrix, of the class it has; its items' types are what `parts` say."""
    cls = type(f(np.eye(1)))

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        items = [part(args, kwargs) for part in parts]
        plain = all((k, getattr(t, "value", None)) in _SAME for k, t in kwargs.items())
        return None if not plain or len(args) > 1 or None in items else Tup(tuple(items), cls)

    return infer


infer_table[_linalg.inv] = infer_table[_linalg.matrix_power] = infer_table[_linalg.pinv] = like
infer_table[_linalg.solve] = _solved
infer_table[_linalg.lstsq] = _fitted
infer_table[_linalg.matrix_rank] = _rank
infer_table[_linalg.multi_dot] = _chained
infer_table[_linalg.det] = per_matrix(False, False)
infer_table[_linalg.slogdet] = all_of(_linalg.slogdet, per_matrix(False, False), per_matrix(True, False))

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


def _least_squares(a: np.ndarray, b: np.ndarray) -> Any:
    x, residuals, _, s = np.linalg.lstsq(a, b, rcond=None)
    return x * 2, residuals, s


_SIX = np.eye(6) + 0.1 * np.sin(np.arange(36.0)).reshape(6, 6)

CASES: list[RuleCase] = [
    *[case(f, x) for f in (np.linalg.inv, np.linalg.det, np.linalg.pinv) for x in (_A, _B, _Z, _A.astype(np.float32))],
    case(np.linalg.det, np.array([[1.0, 2.0], [2.0, 4.0]])), case(np.linalg.solve, _A, _V),
    case(np.linalg.solve, _A, _M.T), case(np.linalg.solve, _B, _A), case(np.linalg.solve, _A, _B),
    case(np.linalg.solve, _A[:0, :0], _V[:0]), case(np.linalg.solve, _A.astype(np.float32), _V.astype(np.float32)),
    case(np.linalg.slogdet, _A), case(np.linalg.slogdet, _BH), case(np.linalg.solve, _Z, _V),
    case(np.linalg.solve, _A, _Z), case(np.linalg.pinv, _M), case(np.linalg.pinv, _M.T),
    case(lambda a: np.linalg.pinv(a, 1e-10), _M), case(np.linalg.pinv, _H, hermitian=True),
    case(np.linalg.inv, _A[:0, :0]), case(_log_det, _A), case(_log_det, _Z), case(np.linalg.matrix_power, _A, 3),
    case(np.linalg.matrix_power, _A, -2), case(np.linalg.matrix_power, _Z, 2), case(np.linalg.matrix_power, _A, 0),
    case(np.linalg.matrix_power, _B, 2), case(np.linalg.multi_dot, [_M, _A, _A]),
    case(np.linalg.multi_dot, [_V, _A, _V]), case(np.linalg.multi_dot, [_M, _A]), case(_least_squares, _M.T, _V),
    case(_least_squares, _M.T, _A), case(_least_squares, _Z[:, :2], _V),
    case(np.linalg.tensorinv, _SIX.reshape(2, 3, 6)), case(np.linalg.tensorsolve, _SIX.reshape(2, 3, 2, 3), _M),
    case(np.linalg.tensorsolve, _SIX.reshape(2, 3, 6), _M),
    case(np.linalg.tensorsolve, _SIX.reshape(6, 2, 3).transpose(1, 0, 2), _V[:1].repeat(6), axes=(0, 2)),
]  # fmt: skip
if _TWO:
    CASES.append(case(np.linalg.solve, _B, _V))
