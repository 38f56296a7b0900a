"""Products: dot, @, inner, outer, tensordot, einsum, kron, cross."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, T
from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import infer_table, inline, overlay, probed, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, is_complex, real_of, unbroadcast
from mooncake_rules.inference import Types, known_arrays
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_einsum import einsum_cotangent, tensordot_left, tensordot_right

# -- products of matrices ---------------------------------------------------------------------------------


def matmul_left(dy: np.ndarray, b: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The cotangent of a, of this shape, in `a @ b`, where one of them is a stack of matrices."""
    if len(shape) == 1:
        t = np.matmul(b, dy[..., None])[..., 0] if b.ndim > 1 else dy[..., None] * b
    elif b.ndim == 1:
        t = dy[..., None] * b
    else:
        t = np.matmul(dy, b.swapaxes(-1, -2))
    return unbroadcast(t, shape)


def matmul_right(dy: np.ndarray, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The cotangent of b, of this shape, in `a @ b`."""
    if len(shape) == 1:
        t = np.matmul(a.swapaxes(-1, -2), dy[..., None])[..., 0]
    elif a.ndim == 1:
        t = a[:, None] * dy[..., None, :]
    else:
        t = np.matmul(a.swapaxes(-1, -2), dy)
    return unbroadcast(t, shape)


pure.update({matmul_left, matmul_right})


@inline
def _products(a: Any, b: Any, dy: Any) -> Any:
    """The cotangents of both in `a @ b`, for vectors and matrices."""
    if a.ndim == 2:
        if b.ndim == 2:
            return real_of(dy @ conj(b).T, a), real_of(conj(a).T @ dy, b)
        return real_of(np.multiply.outer(dy, conj(b)), a), real_of(conj(a).T @ dy, b)
    if b.ndim == 2:
        return real_of(conj(b) @ dy, a), real_of(np.multiply.outer(conj(a), dy), b)
    return real_of(dy * conj(b), a), real_of(dy * conj(a), b)


@rrule(operator.matmul, types=(Array, Array))
@rrule(np.matmul, types=(Array, Array))
def matmul(a, b):
    if a.ndim <= 2 and b.ndim <= 2:

        def pullback(dy):
            return _products(a, b, dy)

        return a @ b, pullback

    sa, sb = a.shape, b.shape

    def pullback_stacked(dy):
        return real_of(matmul_left(dy, conj(b), sa), a), real_of(matmul_right(dy, conj(a), sb), b)

    return a @ b, pullback_stacked


@rrule(np.dot, types=(Array, Array))
@rrule(np.ndarray.dot, types=(Array, Array))
def dot(a, b):
    if a.ndim == 0 or b.ndim == 0:

        def pullback_scaled(dy):
            return real_of(unbroadcast(dy * conj(b), a.shape), a), real_of(unbroadcast(dy * conj(a), b.shape), b)

        return np.dot(a, b), pullback_scaled
    if a.ndim <= 2 and b.ndim <= 2:

        def pullback(dy):
            return _products(a, b, dy)

        return np.dot(a, b), pullback

    axes = ((a.ndim - 1,), (max(b.ndim - 2, 0),))

    def pullback_general(dy):
        return tensordot_left(dy, a, b, axes), tensordot_right(dy, a, b, axes)

    return np.dot(a, b), pullback_general


@overlay(np.ndarray.dot)
def dot_of_sequence(a, b):
    return np.dot(a, np.asarray(b))


@rrule(np.dot, types=(Scalar, Array))
@rrule(np.dot, types=(Array, Scalar))
@rrule(np.dot, types=(Scalar, Scalar))
@rrule(np.ndarray.dot, types=(Array, Scalar))
def dot_scaled(a, b):
    def pullback(dy):
        return scaled(dy * conj(b), a), scaled(dy * conj(a), b)

    return np.dot(a, b), pullback


def scaled(t: Any, like: Any) -> Any:
    """The cotangent of one of two factors, one of which is a number."""
    t = t if is_complex(like) else np.real(t)
    return t if isinstance(like, np.ndarray) else np.add.reduce(t, None)


pure.add(scaled)


@rrule(np.inner, types=(Array, Array))
def inner(a, b):
    if a.ndim == 0 or b.ndim == 0:

        def pullback_scaled(dy):
            return real_of(unbroadcast(dy * conj(b), a.shape), a), real_of(unbroadcast(dy * conj(a), b.shape), b)

        return np.inner(a, b), pullback_scaled
    if a.ndim == 1 and b.ndim == 1:

        def pullback(dy):
            return _products(a, b, dy)

        return np.inner(a, b), pullback

    axes = ((a.ndim - 1,), (b.ndim - 1,))

    def pullback_general(dy):
        return tensordot_left(dy, a, b, axes), tensordot_right(dy, a, b, axes)

    return np.inner(a, b), pullback_general


@rrule(np.vdot, types=(Array, Array))
def vdot(a, b):
    """sum(conj(a) b): a's cotangent is conj(dy) b."""

    def pullback(dy):
        return (
            real_of((conj(dy) * b).reshape(a.shape), a),
            real_of((dy * a).reshape(b.shape), b),
        )

    return np.vdot(a, b), pullback


@rrule(np.outer, types=(Array, Array))
def outer(a, b):
    def pullback(dy):
        da = np.matmul(dy, conj(b).reshape(-1)).reshape(a.shape)
        db = np.matmul(conj(a).reshape(-1), dy).reshape(b.shape)
        return real_of(da, a), real_of(db, b)

    return np.outer(a, b), pullback


@rrule(np.multiply.outer, types=(Array, Array))
def multiply_outer(a, b):
    def pullback(dy):
        return real_of(np.tensordot(dy, conj(b), b.ndim), a), real_of(np.tensordot(conj(a), dy, a.ndim), b)

    return np.multiply.outer(a, b), pullback


def _vector_product(f: Any, spec: str, conjugated: bool) -> None:
    """Products along last axes, as einsum writes them; of complex arrays the first may be conjugated."""

    @rrule(f, types=(Array, Array))
    def rule(x1, x2):
        a = conj(x1) if conjugated else x1

        def pullback(dy):
            da = einsum_cotangent(spec, (a, x2), dy, 0)
            return real_of(conj(da) if conjugated else da, x1), real_of(einsum_cotangent(spec, (a, x2), dy, 1), x2)

        return f(x1, x2), pullback

    probed.add(f)


for _name, _spec, _conjugated in (
    ("vecdot", "...i,...i->...", True), ("matvec", "...ij,...j->...i", False), ("vecmat", "...i,...ij->...j", True),
):  # fmt: skip
    if hasattr(np, _name):
        _vector_product(getattr(np, _name), _spec, _conjugated)

if hasattr(np, "vecdot"):

    @mirrors(np.vecdot, types=(Array, Array), fallback=True)
    def vecdot_along(x1, x2, axis=-1):
        return np.vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))

# -- kron and cross ---------------------------------------------------------------------------------------


def kron_cotangents(dy: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    """By the matrix of the cotangents of what every item of a gives with every item of b."""
    real = a.dtype.kind != "c" and b.dtype.kind != "c"
    ca, cb = (a, b) if real else (conj(a), conj(b))
    if not any(dy.strides) and dy.size:  # one number everywhere, as a sum gives it
        one = dy[(0,) * dy.ndim]
        da, db = np.full(a.shape, one * np.add.reduce(cb, None)), np.full(b.shape, one * np.add.reduce(ca, None))
        return real_of(da, a), real_of(db, b)
    if b.ndim == 1 and a.ndim > 0:
        t = dy.reshape(a.size, b.size)
        da, db = (t @ cb).reshape(a.shape), ca.reshape(-1) @ t
        return (da, db) if real else (real_of(da, a), real_of(db, b))
    n = max(a.ndim, b.ndim)
    sa, sb = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    t = np.asarray(dy).reshape([k for pair in zip(sa, sb, strict=True) for k in pair])
    t = t.transpose([*range(0, 2 * n, 2), *range(1, 2 * n, 2)]).reshape(a.size, b.size)
    da = (t @ cb.reshape(-1)).reshape(a.shape)
    db = (ca.reshape(-1) @ t).reshape(b.shape)
    return (da, db) if real else (real_of(da, a), real_of(db, b))


pure.add(kron_cotangents)


@rrule(np.kron, types=(Array, Array))
def kron(a, b):
    def pullback(dy):
        return kron_cotangents(dy, a, b)

    return np.kron(a, b), pullback


@rrule(np.cross, types=(Array, Array))
def cross(a, b, axis=-1):
    """For vectors of length three: <dy, da x b> = <b x dy, da>."""
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        y = np.cross(a, b, axis=axis)
        raise NotDifferentiated(f"np.cross is differentiated for vectors of length 3, not {y.shape}")

    def pullback(dy):
        da, db = np.cross(conj(b), dy, axis=axis), np.cross(dy, conj(a), axis=axis)
        return real_of(unbroadcast(da, a.shape), a), real_of(unbroadcast(db, b.shape), b)

    return np.cross(a, b, axis=axis), pullback


@mirrors(np.cross, types=(Array, Array), fallback=True)
def cross_axes(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa, axisb, axisc = axis, axis, axis
    return np.moveaxis(np.cross(np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)), -1, axisc)


probed.update({np.dot, np.ndarray.dot, np.matmul, np.inner, np.vdot, np.outer, np.multiply.outer, np.kron})

infer_table[np.cross] = lambda args, kwargs: _like_both(args)


def _like_both(args: Types) -> T | None:
    a, b = args[0], args[1]
    if isinstance(a, Arr) and isinstance(b, Arr) and known_arrays(a, b):
        return Arr(np.result_type(a.dtype, b.dtype), max(a.ndim or 0, b.ndim or 0), a.act or b.act)
    return None


pure.add(np.cross)


@overlay(operator.matmul, classes=((float, np.number), (list, tuple)))
@overlay(operator.matmul, classes=((list, tuple), (float, np.number)))
def _matmul_of_a_number(a, b):
    names = [f"numpy.{type(x).__name__}" if isinstance(x, np.generic) else type(x).__name__ for x in (a, b)]
    raise TypeError(f"unsupported operand type(s) for @: '{names[0]}' and '{names[1]}'")


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0])
_W = np.array([1.1, 0.4, -0.7])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_A = np.array([[1.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_T = np.sin(np.arange(24.0) * 1.7).reshape(4, 2, 3)
_S = np.cos(np.arange(24.0) * 1.3).reshape(4, 3, 2)
_Z = _A * (1 + 0.5j) + 0.3j


def _along_axes(t: Any, m: Any, s: Any, v: Any) -> Any:
    """The core dimensions of products elsewhere than at the end."""
    product: Any = np.matmul
    inner: Any = getattr(np, "vecdot", None)
    ys = product(t, m, axes=[(1, 0), (0, 1), (2, 0)]), product(s, v, axes=[(-1, -2), 0, 0])
    single = product(s, s.tolist(), dtype=np.float32)
    if inner is None:  # NumPy 1
        return ys, single
    return ys, single, inner(t, t * 2, axis=1, keepdims=True), inner(t, v, axes=[2, 0])


CASES: list[RuleCase] = [
    case(_along_axes, _T, _T[:, 0], _A, _V),
    case(np.dot, _T, _S), case(np.dot, 0.5, _V), case(np.dot, _M, 0.5), case(np.dot, np.array(0.5), _V),
    case(np.ndarray.dot, _M, _V), case(np.ndarray.dot, _M, list(_V)), case(np.inner, _V, _W),
    case(np.inner, _M, _A), case(np.inner, _T, _V),
    case(np.vdot, _V, _W), case(np.vdot, _Z, _Z * 2), case(np.vdot, _M, _M), case(np.outer, _V, _W),
    case(np.outer, _M, _V), case(np.outer, _Z[0], _V), case(np.multiply.outer, _V, _M), case(np.kron, _M, _A),
    case(np.kron, _V, _M), case(np.kron, _V, _W), case(np.cross, _A, _A[::-1], 0, 0, 1), case(np.cross, _Z, _A),
    case(np.inner, _V, 0.5), case(np.vdot, _V, [0.5, 1.0, 2.0]), case(np.outer, _V, _W, out=np.zeros((3, 3))),
    case(np.dot, _M, _A, out=np.zeros((2, 3))), case(np.matmul, _T, _S, out=np.zeros((4, 2, 2))),
    case(np.kron, 0.5, _V), case(np.cross, _V, _W), case(np.cross, _A, _V), case(np.cross, _A, _A.T, axis=0),
]  # fmt: skip

for _f in (operator.matmul, np.matmul, np.dot):
    for _a, _b in (
        (_V, _W), (_M, _V), (_V, _A), (_M, _A), (_Z, _A), (_A, _Z[0]), (_Z[0], _V), (_V, _Z), (_Z, _Z),
        (_T, _S[0]), (_T, _V), (_V, _S),
    ):  # fmt: skip
        CASES.append(case(_f, _a, _b))
    CASES.append(case(_f, _M.astype(np.float32), _V.astype(np.float32)))

for _f in (operator.matmul, np.matmul):
    CASES += [
        case(_f, _T, _S),
        case(_f, _T[:1], _S),
        case(_f, _M, _S),
        case(_f, _T[:, None], _S),
        case(_f, _V, _S),
        case(_f, _T, _S * 1j),
    ]

for _name in ("vecdot", "matvec", "vecmat"):
    if hasattr(np, _name):
        _f = getattr(np, _name)
        _x, _y = {"vecdot": (_T, _T[0] * 2), "matvec": (_T, _V), "vecmat": (_W, _S)}[_name]
        CASES += [
            case(_f, _x, _y),
            case(_f, _x * (1 + 0.5j), _y),
            case(_f, _x, _y * (1 - 0.3j)),
            case(_f, _x * 1j, _y * (2 + 1j)),
        ]

if hasattr(np.linalg, "vecdot"):
    CASES += [
        case(np.linalg.matmul, _M, _A), case(np.linalg.outer, _V, _W), case(np.linalg.tensordot, _M, _A, axes=1),
        case(np.linalg.cross, _A, _A[::-1]), case(np.linalg.trace, _A), case(np.linalg.trace, _T, offset=1),
        case(np.linalg.diagonal, _T), case(np.linalg.matrix_transpose, _T),
    ]  # fmt: skip
