"""scipy.fft. The adjoint of a transform of length n is the transform back, of the opposite norm."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft as sf

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_fft import frequencies
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule

Options = dict[str, Any]
_OPPOSITE: dict[Any, str] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def cut(t: np.ndarray, n: int, axis: int) -> np.ndarray:
    """t cut or filled with zeros to length n: the adjoint of what transforms do to their input."""
    m = t.shape[axis]
    if m > n:
        return t[(slice(None),) * (axis % t.ndim) + (slice(0, n),)]
    if m < n:
        return np.pad(t, [(0, n - m if k == axis % t.ndim else 0) for k in range(t.ndim)])
    return t


def _fit(t: np.ndarray, a: np.ndarray, axes: Any) -> np.ndarray:
    for k in axes:
        t = cut(t, a.shape[k], k)
    return t if a.dtype.kind == "c" else t.real


def _axes(o: Options, a: np.ndarray) -> list[int]:
    """The axes of a transform, last one last."""
    if "axis" in o:
        return [o["axis"] % a.ndim]
    axes, s = o["axes"], o.get("s")
    if axes is None:
        axes = range(a.ndim) if s is None else range(a.ndim - np.size(s), a.ndim)
    return [int(k) % a.ndim for k in np.atleast_1d(axes)]


def _lengths(o: Options, a: np.ndarray, axes: list[int]) -> list[int]:
    given = o["n"] if "axis" in o else o.get("s")
    if given is None:
        return [a.shape[k] for k in axes]
    return [a.shape[k] if n == -1 else int(n) for n, k in zip(np.atleast_1d(given), axes, strict=True)]


def _complex_transform(back: Any) -> Any:
    def cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
        a = o["x"]
        axes = _axes(o, a)
        return _fit(back(dy, axes=axes, norm=_OPPOSITE[o["norm"]]), a, axes)

    return cotangent


def _from_real(t: np.ndarray, a: np.ndarray, o: Options, norm: str) -> np.ndarray:
    """rfftn: zeros stand where the conjugate half of the spectrum was left out."""
    axes = _axes(o, a)
    t = cut(t, _lengths(o, a, axes)[-1], axes[-1])
    return _fit(sf.ifftn(t, axes=axes, norm=norm), a, axes)


def _to_real(t: np.ndarray, a: np.ndarray, o: Options, norm: str) -> np.ndarray:
    """irfftn: every frequency but the first (and the last, for an even length) stands for its conjugate as well."""
    axes = _axes(o, a)
    n = t.shape[axes[-1]]
    t = sf.rfftn(t, axes=axes, norm=norm)
    weight = np.full(t.shape[axes[-1]], 2.0, t.real.dtype)
    weight[0] = 1.0
    if n % 2 == 0:
        weight[-1] = 1.0
    return _fit(t * weight.reshape([-1 if k == axes[-1] else 1 for k in range(t.ndim)]), a, axes)


def rfft_cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
    return _from_real(dy, o["x"], o, _OPPOSITE[o["norm"]])


def irfft_cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
    return _to_real(dy, o["x"], o, _OPPOSITE[o["norm"]])


def hfft_cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
    """hfft(x) is irfft of the conjugate, with the opposite norm."""
    return np.conjugate(_to_real(dy, o["x"], o, o["norm"] or "backward"))


def ihfft_cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
    return _from_real(np.conjugate(dy), o["x"], o, o["norm"] or "backward")


for _f in (sf.fft, sf.fft2, sf.fftn):
    library_rule(_f, 1, _complex_transform(sf.ifftn))
for _f in (sf.ifft, sf.ifft2, sf.ifftn):
    library_rule(_f, 1, _complex_transform(sf.fftn))
for _f in (sf.rfft, sf.rfft2, sf.rfftn):
    library_rule(_f, 1, rfft_cotangent)
for _f in (sf.irfft, sf.irfft2, sf.irfftn):
    library_rule(_f, 1, irfft_cotangent)
for _f in (sf.hfft, sf.hfft2, sf.hfftn):
    library_rule(_f, 1, hfft_cotangent)
for _f in (sf.ihfft, sf.ihfft2, sf.ihfftn):
    library_rule(_f, 1, ihfft_cotangent)

# -- transforms of real numbers ---------------------------------------------------------------------------

_TURNED = {1: 1, 2: 3, 3: 2, 4: 4}


def _weighted(t: np.ndarray, at: tuple[int, ...], factor: float, axis: int) -> np.ndarray:
    t = t.copy()
    for i in at:
        t[(slice(None),) * axis + (i,)] *= factor
    return t


def _trigonometric(t: np.ndarray, axis: int, kind: int, norm: Any, sine: bool) -> np.ndarray:
    """The adjoint of `dct` or `dst` without orthogonalisation, along one axis.

    Types 2 and 3 are each other's adjoint but for the weight of the first (of dst: last) number; type 1 of dct is
    symmetric but for those of both ends.
    """
    f = sf.dst if sine else sf.dct
    end = (-1,) if sine else (0,)
    if kind == 2:
        t = _weighted(t, end, 2.0, axis)
    if kind == 1 and not sine:
        t = _weighted(f(_weighted(t, (0, -1), 2.0, axis), kind, axis=axis, norm=norm, orthogonalize=False), (), 1, axis)
        return _weighted(t, (0, -1), 0.5, axis)
    t = f(t, _TURNED[kind], axis=axis, norm=norm, orthogonalize=False)
    return _weighted(t, end, 0.5, axis) if kind == 3 else t


def _trigonometric_cotangent(inverse: bool, sine: bool) -> Any:
    def cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
        a, norm = o["x"], o["norm"]
        kind = _TURNED[o["type"]] if inverse else o["type"]
        one = norm == "ortho" and o["orthogonalize"] is not False
        if norm != "ortho" and o["orthogonalize"]:
            raise NotDifferentiated("scipy.fft with orthogonalize=True is differentiated for norm='ortho'")
        norm = _OPPOSITE[norm] if inverse else norm
        t = dy
        axes = _axes(o, a)
        for k in axes:
            if one:
                t = (sf.idst if sine else sf.idct)(t, kind, axis=k, norm="ortho")
            else:
                t = _trigonometric(t, k, kind, norm, sine)
        return _fit(t, a, axes)

    return cotangent


for _f, _inverse, _sine in (
    (sf.dct, False, False), (sf.dctn, False, False), (sf.idct, True, False), (sf.idctn, True, False),
    (sf.dst, False, True), (sf.dstn, False, True), (sf.idst, True, True), (sf.idstn, True, True),
):  # fmt: skip
    library_rule(_f, 1, _trigonometric_cotangent(_inverse, _sine))

# -- the rest ---------------------------------------------------------------------------------------------


def by_columns(f: Any, dy: np.ndarray, n: int) -> np.ndarray:
    """The adjoint of a linear function of the last axis, of length n, by its matrix."""
    return dy @ np.conjugate(f(np.eye(n))).T


library_rule(sf.fht, 1, lambda dy, y, o: by_columns(
    lambda e: sf.fht(e, o["dln"], o["mu"], o["offset"], o["bias"]), dy, o["a"].shape[-1]))  # fmt: skip
library_rule(sf.ifht, 1, lambda dy, y, o: by_columns(
    lambda e: sf.ifht(e, o["dln"], o["mu"], o["offset"], o["bias"]), dy, o["A"].shape[-1]))  # fmt: skip


@rrule(sf.fftshift)
def fftshift(x, axes=None):
    def pullback(dy):
        return (sf.ifftshift(dy, axes),)

    return sf.fftshift(x, axes), pullback


@rrule(sf.ifftshift)
def ifftshift(x, axes=None):
    def pullback(dy):
        return (sf.fftshift(dy, axes),)

    return sf.ifftshift(x, axes), pullback


pure.update({sf.fftshift, sf.ifftshift})
frequencies(sf.fftfreq)
frequencies(sf.rfftfreq)
zero_derivative(sf.next_fast_len)

by_regular_samples(
    sf.fft,
    sf.ifft,
    sf.rfft,
    sf.irfft,
    sf.hfft,
    sf.ihfft,
    sf.fft2,
    sf.ifft2,
    sf.rfft2,
    sf.irfft2,
    sf.fftn,
    sf.ifftn,
    sf.rfftn,
    sf.irfftn,
    sf.dct,
    sf.idct,
    sf.dst,
    sf.idst,
    sf.dctn,
    sf.idctn,
    sf.dstn,
    sf.idstn,
)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_M = np.sin(np.arange(24.0)).reshape(4, 6)
_Z = _M * (1 + 0.5j) + 0.2j * _M[::-1]
_ONE = (sf.fft, sf.ifft, sf.rfft, sf.irfft, sf.hfft, sf.ihfft)
_MANY = (sf.fft2, sf.ifft2, sf.fftn, sf.ifftn, sf.rfft2, sf.rfftn, sf.irfft2, sf.irfftn, sf.hfft2, sf.hfftn,
         sf.ihfft2, sf.ihfftn)  # fmt: skip
_REAL = (sf.rfft, sf.ihfft, sf.rfft2, sf.rfftn, sf.ihfft2, sf.ihfftn)
CASES: list[RuleCase] = [
    *[case(f, x, n, norm=w) for f in _ONE for x in ((_V, _M) if f in _REAL else (_V, _Z)) for n in (None, 4, 7)
      for w in (None, "ortho")],
    *[case(f, _M if f in _REAL else _Z, axis=0, norm="forward") for f in _ONE],
    *[case(f, x, norm=w) for f in _MANY for x in ((_M,) if f in _REAL else (_M, _Z))
      for w in (None, "ortho", "forward")],
    *[case(f, _M if f in _REAL else _Z, (3, 8)) for f in _MANY], case(sf.fft, _M.astype(np.float32)),
    *[case(f, _M if f in _REAL else _Z, axes=(1, 0)) for f in _MANY], case(sf.fftn, np.stack([_M, _M]), axes=(0,)),
    *[case(f, x, t, norm=w) for f in (sf.dct, sf.idct, sf.dst, sf.idst) for t in (1, 2, 3, 4)
      for w in (None, "ortho", "forward") for x in (_V, _M)],
    *[case(f, _M, 2, n, 0) for f in (sf.dct, sf.idct, sf.dst, sf.idst) for n in (3, 6)],
    *[case(f, _M, norm=w) for f in (sf.dctn, sf.idctn, sf.dstn, sf.idstn) for w in (None, "ortho")],
    case(sf.dct, _V, norm="ortho", orthogonalize=False), case(sf.dctn, _M, axes=(0,)),
    case(sf.dct, _V.astype(np.float32)),
    case(lambda a: sf.fht(a, 0.3, 0.5), _V),
    case(lambda a: sf.ifht(a, 0.3, 0.5), _V), case(sf.fftshift, _M), case(sf.ifftshift, _V),
    case(sf.fft, [0.5, 1.5, 0.3]), case(lambda d: (sf.fftfreq(5, d), sf.rfftfreq(4, d=d)), 0.3),
]  # fmt: skip
