"""numpy.fft. The adjoint of the transform F of length n is n F^-1: an inverse transform of the opposite norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, T, Top
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types, argument, is_dtype, nested

_fft = np.fft
_OPPOSITE: dict[Any, str] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def fitted(t: np.ndarray, n: int, axis: int, like: np.ndarray) -> np.ndarray:
    """t cut or filled with zeros to length n: the adjoint of what transforms do to their input; real where it was."""
    axis %= t.ndim
    m = t.shape[axis]
    if m > n:
        t = t[(slice(None),) * axis + (slice(0, n),)]
    elif m < n:
        t = np.pad(t, [(0, n - m if k == axis else 0) for k in range(t.ndim)])
    return t.real if t.dtype.kind == "c" and like.dtype.kind != "c" else t


def fft_cotangent(dy: np.ndarray, a: np.ndarray, axis: int, norm: Any) -> np.ndarray:
    return fitted(np.fft.ifft(dy, None, axis, _OPPOSITE[norm]), a.shape[axis], axis, a)


def ifft_cotangent(dy: np.ndarray, a: np.ndarray, axis: int, norm: Any) -> np.ndarray:
    return fitted(np.fft.fft(dy, None, axis, _OPPOSITE[norm]), a.shape[axis], axis, a)


def rfft_cotangent(dy: np.ndarray, a: np.ndarray, n: Any, axis: int, norm: Any) -> np.ndarray:
    n = a.shape[axis] if n is None else n
    return fitted(np.fft.ifft(dy, n, axis, _OPPOSITE[norm]), a.shape[axis], axis, a)


def irfft_cotangent(dy: np.ndarray, a: np.ndarray, axis: int, norm: Any) -> np.ndarray:
    """Every frequency but the first (and the last, for even n) stands for itself and its conjugate."""
    n = dy.shape[axis]
    t = np.fft.rfft(dy, None, axis, _OPPOSITE[norm])
    weight = np.full(t.shape[axis], 2.0)
    weight[0] = 1.0
    if n % 2 == 0:
        weight[-1] = 1.0
    t = t * weight.reshape([-1 if k == axis % t.ndim else 1 for k in range(t.ndim)])
    return fitted(t, a.shape[axis], axis, a)


@rrule(_fft.fft, types=(Array,))
def fft(a, n=None, axis=-1, norm=None):
    def pullback(dy):
        return (fft_cotangent(dy, a, axis, norm),)

    return np.fft.fft(a, n, axis, norm), pullback


@rrule(_fft.ifft, types=(Array,))
def ifft(a, n=None, axis=-1, norm=None):
    def pullback(dy):
        return (ifft_cotangent(dy, a, axis, norm),)

    return np.fft.ifft(a, n, axis, norm), pullback


@rrule(_fft.rfft, types=(Array,))
def rfft(a, n=None, axis=-1, norm=None):
    def pullback(dy):
        return (rfft_cotangent(dy, a, n, axis, norm),)

    return np.fft.rfft(a, n, axis, norm), pullback


@rrule(_fft.irfft, types=(Array,))
def irfft(a, n=None, axis=-1, norm=None):
    def pullback(dy):
        return (irfft_cotangent(dy, a, axis, norm),)

    return np.fft.irfft(a, n, axis, norm), pullback


def real_if(t: np.ndarray, a: np.ndarray) -> np.ndarray:
    return t if a.dtype.kind == "c" else t.real


@rrule(_fft.fft2, types=(Array,))
def fft2(a, *, axes=(-2, -1), norm=None):
    def pullback(dy):
        return (real_if(np.fft.ifftn(dy, None, axes, _OPPOSITE[norm]), a),)

    return np.fft.fft2(a, None, axes, norm), pullback


@rrule(_fft.ifft2, types=(Array,))
def ifft2(a, *, axes=(-2, -1), norm=None):
    def pullback(dy):
        return (real_if(np.fft.fftn(dy, None, axes, _OPPOSITE[norm]), a),)

    return np.fft.ifft2(a, None, axes, norm), pullback


@rrule(_fft.fftn, types=(Array,))
def fftn(a, *, axes=None, norm=None):
    def pullback(dy):
        return (real_if(np.fft.ifftn(dy, None, axes, _OPPOSITE[norm]), a),)

    return np.fft.fftn(a, None, axes, norm), pullback


@rrule(_fft.ifftn, types=(Array,))
def ifftn(a, *, axes=None, norm=None):
    def pullback(dy):
        return (real_if(np.fft.fftn(dy, None, axes, _OPPOSITE[norm]), a),)

    return np.fft.ifftn(a, None, axes, norm), pullback


@rrule(_fft.fftshift, types=(Array,))
def fftshift(x, axes=None):
    def pullback(dy):
        return (np.fft.ifftshift(dy, axes),)

    return np.fft.fftshift(x, axes), pullback


@rrule(_fft.ifftshift, types=(Array,))
def ifftshift(x, axes=None):
    def pullback(dy):
        return (np.fft.fftshift(dy, axes),)

    return np.fft.ifftshift(x, axes), pullback


def _transform_type(real: bool | None) -> Any:
    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        if not isinstance(a, Arr) or a.dtype is None:
            return Top(a.active)
        if real is None:
            return Arr(a.dtype, a.ndim, a.act)
        double = is_dtype(a.dtype, float, complex)
        return Arr(np.dtype(float if real else complex) if double else None, a.ndim, a.act)

    return infer


for _f in (_fft.fft, _fft.ifft, _fft.rfft, _fft.fft2, _fft.ifft2, _fft.fftn, _fft.ifftn):
    infer_table[_f] = _transform_type(False)
infer_table[_fft.irfft] = _transform_type(True)
infer_table[_fft.fftshift] = infer_table[_fft.ifftshift] = _transform_type(None)
pure.update({fitted, fft_cotangent, ifft_cotangent, rfft_cotangent, irfft_cotangent, real_if})
pure.update({_fft.fft, _fft.ifft, _fft.rfft, _fft.irfft, _fft.fft2, _fft.ifft2, _fft.fftn, _fft.ifftn})


def frequencies(f: Any) -> None:
    """The frequencies of samples at the distance d are multiples of 1 / d."""

    @rrule(f)
    def rule(n, d=1.0, **options):
        y = f(n, d, **options)

        def pullback(dy):
            t = unbroadcast(-dy * y / d, np.shape(d))
            return None, t if isinstance(d, np.ndarray) else t[()], *[None] * len(options)

        return y, pullback

    infer_table[f] = _frequencies_type


def _frequencies_type(args: Types, kwargs: dict[str, T]) -> T | None:
    d = argument(args, kwargs, 1, "d") or Known(1.0)
    active = any(t.active for t in (*args, *kwargs.values()))
    if not isinstance(d, Arr):
        return Arr(np.dtype(float), 1, active) if nested(d) == (0, np.dtype(float)) else Top(active)
    return Arr(
        np.dtype(float) if is_dtype(d.dtype, float) else None, None if d.ndim is None else max(d.ndim, 1), active
    )


frequencies(_fft.fftfreq)
frequencies(_fft.rfftfreq)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_M = np.sin(np.arange(24.0)).reshape(4, 6)
_Z = _M * (1 + 0.5j) + 0.2j * _M[::-1]

CASES: list[RuleCase] = [
    *[case(f, x, axis=k) for f in (_fft.fft, _fft.ifft) for x in (_M, _Z) for k in (0, -1)],
    *[case(f, x, n) for f in (_fft.fft, _fft.ifft) for x in (_V, _Z[0]) for n in (3, 8)],
    *[case(f, _Z, norm=w) for f in (_fft.fft, _fft.ifft, _fft.irfft, _fft.fftn) for w in ("ortho", "forward")],
    *[case(_fft.rfft, x, n) for x in (_V, _M) for n in (None, 3, 4, 8)], case(_fft.rfft, _M, axis=0, norm="ortho"),
    *[case(_fft.irfft, x, n) for x in (_Z, _M) for n in (None, 7, 4, 16)], case(_fft.irfft, _Z, axis=0),
    *[case(f, x) for f in (_fft.fft2, _fft.ifft2, _fft.fftn, _fft.ifftn) for x in (_M, _Z)],
    case(_fft.fftn, _M, axes=(0,)), case(_fft.fftshift, _V), case(_fft.ifftshift, _M, 1),
    case(lambda d: (_fft.fftfreq(5, d), _fft.rfftfreq(4, d=d)), 0.3), case(_fft.fftfreq, 3, np.array([[0.3], [0.4]])),
]  # fmt: skip
_SHAPES = ((3, 8), (5, 4))
CASES += [
    case(_fft.hfft, _Z[0]), case(_fft.hfft, _Z, 5, 0), case(_fft.ihfft, _V), case(_fft.ihfft, _M, 4),
    case(_fft.rfft2, _M), case(_fft.rfftn, _M, (3, 4)), case(_fft.rfftn, _M, axes=(1, 0), norm="ortho"),
    case(_fft.irfft2, _Z), case(_fft.irfftn, _Z, (3, 5)), case(_fft.irfftn, _M),
    case(_fft.irfftn, _Z, axes=(1, 0), norm="forward"), case(_fft.hfft, _Z[0], norm="ortho"),
    *[case(f, x, s) for f in (_fft.fft2, _fft.ifft2, _fft.fftn, _fft.ifftn) for x in (_M, _Z) for s in _SHAPES],
    case(_fft.fftn, _Z, (3,), (0,)), case(_fft.fft, _V.astype(np.float32)), case(_fft.irfft, _Z.astype(np.complex64)),
    case(_fft.fft, _M, 4, 0, out=np.zeros((4, 6), complex)) if np.__version__ >= "2" else case(_fft.fft, _M, 4, 0),
    case(_fft.rfft, _M, out=np.zeros((4, 4), complex)) if np.__version__ >= "2" else case(_fft.rfft, _M),
    case(_fft.fft, [0.5, 0.2]),
]  # fmt: skip
