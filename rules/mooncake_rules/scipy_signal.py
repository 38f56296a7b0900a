"""scipy.signal: convolutions and linear filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft as sf
import scipy.ndimage as nd
import scipy.signal as ss

from mooncake_py.errors import NotDifferentiated
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.common import unbroadcast
from mooncake_rules.mirror import mirrors
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule

Options = dict[str, Any]

# -- convolution ------------------------------------------------------------------------------------------


def embedded(
    dy: np.ndarray, n1: tuple[int, ...], n2: tuple[int, ...], mode: str, axes: Any, late: int = 0
) -> np.ndarray:
    """The cotangent of a convolution of lengths n1 and n2 where it stands in the full convolution.

    The middle of an even length is rounded down, up where `late` is 1.
    """
    shape, where = list(dy.shape), [slice(None)] * dy.ndim
    for k in axes:
        n, m = n1[k], n2[k]
        start = 0 if mode == "full" else (m - 1 + late) // 2 if mode == "same" else min(n, m) - 1
        shape[k] = n + m - 1
        where[k] = slice(start, start + dy.shape[k])
    out = np.zeros(shape, dy.dtype)
    out[tuple(where)] = dy
    return out


def correlated(full: np.ndarray, v: np.ndarray, n: Any, axes: Any) -> np.ndarray:
    """sum_k full[i + k] conj(v[k]) for the lengths n along the axes."""
    lengths = [full.shape[k] for k in axes]
    t = sf.ifftn(sf.fftn(full, axes=axes) * np.conjugate(sf.fftn(v, lengths, axes=axes)), axes=axes)
    t = t[tuple(slice(0, n[k]) if k in axes else slice(None) for k in range(t.ndim))]
    return t if full.dtype.kind == "c" or v.dtype.kind == "c" else t.real


def convolution_cotangents(
    dy: np.ndarray, a: np.ndarray, v: np.ndarray, mode: str, axes: Any, late: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    if a.ndim == 0 or v.ndim == 0:
        return np.sum(dy * np.conjugate(v)).reshape(a.shape), np.sum(dy * np.conjugate(a)).reshape(v.shape)
    axes = tuple(range(a.ndim)) if axes is None else tuple(int(k) % a.ndim for k in np.atleast_1d(axes))
    full = embedded(dy, a.shape, v.shape, mode, axes, late)
    da, dv = correlated(full, v, a.shape, axes), correlated(full, a, v.shape, axes)
    return unbroadcast(da, a.shape), unbroadcast(dv, v.shape)


def convolve_cotangents(dy: np.ndarray, y: np.ndarray, o: Options) -> tuple[np.ndarray, np.ndarray]:
    return convolution_cotangents(dy, o["in1"], o["in2"], o["mode"], o.get("axes"))


def _turned(v: np.ndarray) -> np.ndarray:
    return np.conjugate(np.flip(v))


def correlate_cotangents(dy: np.ndarray, y: np.ndarray, o: Options) -> tuple[np.ndarray, np.ndarray]:
    """A convolution with the second array reversed and conjugated."""
    da, dv = convolution_cotangents(dy, o["in1"], _turned(o["in2"]), o["mode"], None)
    return da, _turned(dv)


_PAD: dict[str, Any] = {
    "fill": "constant", "pad": "constant", "zero": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
    "symmetric": "symmetric",
}  # fmt: skip


def padded_cotangent(t: np.ndarray, shape: tuple[int, ...], width: Any, mode: str) -> np.ndarray:
    """The adjoint of `np.pad(x, width, mode)`, by where every number came from."""
    index = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    options: dict[str, Any] = {"constant_values": 0} if mode == "constant" else {}
    index = np.pad(index, width, mode, **options)
    out = np.zeros(int(np.prod(shape)) + 1, t.dtype)
    np.add.at(out, index.ravel(), t.ravel())
    return out[1:].reshape(shape)


def _planes(dy: np.ndarray, a: np.ndarray, v: np.ndarray, o: Options, late: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """convolve2d, whose first array is continued beyond its borders."""
    mode, boundary = o["mode"], o["boundary"]
    if boundary in ("fill", "pad", "zero") and not o["fillvalue"]:
        return convolution_cotangents(dy, a, v, mode, None, late)
    if mode == "valid":
        return convolution_cotangents(dy, a, v, mode, None)
    width = [(m - 1, m - 1) for m in v.shape]
    options: dict[str, Any] = {"constant_values": o["fillvalue"]} if _PAD[boundary] == "constant" else {}
    wide = np.pad(a, width, _PAD[boundary], **options)
    full = embedded(dy, a.shape, v.shape, mode, (0, 1), late)  # what `valid` of the wider array gives
    dwide, dv = convolution_cotangents(full, wide, v, "valid", None)
    return padded_cotangent(dwide, a.shape, width, _PAD[boundary]), dv


def convolve2d_cotangents(dy: np.ndarray, y: np.ndarray, o: Options) -> tuple[np.ndarray, np.ndarray]:
    return _planes(dy, o["in1"], o["in2"], o)


def correlate2d_cotangents(dy: np.ndarray, y: np.ndarray, o: Options) -> tuple[np.ndarray, np.ndarray]:
    a, v = o["in1"], o["in2"]
    if o["mode"] == "valid" and any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
        dv, da = _planes(np.conjugate(np.flip(dy)), v, _turned(a), o)
        return _turned(da), dv
    da, dv = _planes(dy, a, _turned(v), o, 1)
    return da, _turned(dv)


for _f in (ss.convolve, ss.fftconvolve, ss.oaconvolve):
    library_rule(_f, 2, convolve_cotangents)
library_rule(ss.correlate, 2, correlate_cotangents)
library_rule(ss.convolve2d, 2, convolve2d_cotangents)
library_rule(ss.correlate2d, 2, correlate2d_cotangents)

# -- filters ----------------------------------------------------------------------------------------------


def filter_cotangents(
    dy: np.ndarray, y: np.ndarray, b: np.ndarray, a: np.ndarray, x: np.ndarray
) -> tuple[Any, Any, Any, Any]:
    """Of a filter along the last axis: coefficients, input, and what solves the equation backwards.

    a[0] y[n] = sum_k b[k] x[n - k] - sum_k a[k] y[n - k]: the cotangents of both sides, `t`, solve the same equation
    backwards in time.
    """
    t = np.flip(ss.lfilter([1.0], np.conjugate(a), np.flip(dy, -1)), -1)
    n = x.shape[-1]
    dx = np.flip(ss.lfilter(np.conjugate(b), [1.0], np.flip(t, -1)), -1)
    db = np.array([np.sum(t[..., k:] * np.conjugate(x[..., : n - k])) if k < n else 0.0 for k in range(len(b))])
    da = np.array([-np.sum(t[..., k:] * np.conjugate(y[..., : n - k])) if k < n else 0.0 for k in range(len(a))])
    return db, da, dx, t


def lfilter_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, ...]:
    b, a, x, zi, axis = np.atleast_1d(o["b"]), np.atleast_1d(o["a"]), o["x"], o["zi"], o["axis"]
    if zi is not None:
        if dy[1] is not None and np.any(dy[1]):
            return _with_final_state(dy, o)
        dy, y = dy[0], y[0]
        if dy is None:
            return None, None, None, None
    moved = [np.moveaxis(v, axis, -1) for v in (dy, y, x)]
    db, da, dx, t = filter_cotangents(moved[0], moved[1], b, a, moved[2])
    dzi = None
    if zi is not None:
        dz = t[..., : max(len(a), len(b)) - 1] * np.conjugate(a[0])
        short = max(len(a), len(b)) - 1 - dz.shape[-1]
        dz = np.concatenate([dz, np.zeros((*dz.shape[:-1], short))], -1) if short else dz
        dzi = unbroadcast(np.moveaxis(dz, -1, axis), zi.shape)
        start = np.broadcast_to(np.moveaxis(zi, axis, -1), dz.shape)[..., : t.shape[-1]]
        da[0] = da[0] + np.sum(t[..., : start.shape[-1]] * np.conjugate(start))
    return db.reshape(np.shape(o["b"])), da.reshape(np.shape(o["a"])), np.moveaxis(dx, -1, axis), dzi


def run_on(b, a, x, zi):
    """A filter along the last axis with its final state.

    It runs on without input for as many steps as the state is long: what it gives then is the state divided by a(z).
    """
    n, k = x.shape[-1], zi.shape[-1]
    more = np.concatenate([x, np.zeros((*x.shape[:-1], k))], axis=-1)
    y = ss.lfilter(b, a, more, zi=zi)[0]
    late, a = y[..., n:], np.concatenate([a, np.zeros(max(k - len(a), 0))]) / a[0]
    state = [sum([a[i] * late[..., j - i] for i in range(j + 1)]) for j in range(k)]
    return y[..., :n], np.stack(state, axis=-1)


def _with_final_state(dy: Any, o: Options) -> tuple[Any, ...]:
    b, a, axis = np.atleast_1d(o["b"]), np.atleast_1d(o["a"]), o["axis"]
    x, zi = (np.moveaxis(o[k], axis, -1) for k in ("x", "zi"))
    whole = np.array(np.broadcast_to(zi, (*x.shape[:-1], zi.shape[-1])))
    given = [None if d is None else np.moveaxis(d, axis, -1) for d in dy]
    (y, z), pull = run(run_on, None, [v.astype(np.result_type(v, 1.0)) for v in (b, a, x, whole)])
    t = tuple(np.zeros(v.shape, v.dtype) if d is None else d for v, d in zip((y, z), given, strict=True))
    db, da, dx, dz = pull(t)
    dz = unbroadcast(dz, zi.shape)
    return (
        db.reshape(np.shape(o["b"])),
        da.reshape(np.shape(o["a"])),
        np.moveaxis(dx, -1, axis),
        np.moveaxis(dz, -1, axis),
    )


def sections(sos, x, zi):
    """A cascade of second-order filters along the last axis, with the states that it starts with and ends with."""
    ends = []
    for i in range(len(sos)):
        x, end = ss.lfilter(sos[i, :3], sos[i, 3:], x, zi=zi[i])
        ends.append(end)
    return x, np.stack(ends)


def _sections_with_states(dy: Any, y: Any, o: Options) -> tuple[Any, Any, Any]:
    sos, axis = o["sos"], o["axis"] % o["x"].ndim
    x, zi = np.moveaxis(o["x"], axis, -1), np.moveaxis(o["zi"], axis + 1, -1)
    _, pull = run(sections, None, [v.astype(np.result_type(v, 1.0)) for v in (sos, x, zi)])
    t = [np.zeros(v.shape, v.dtype) if d is None else d for v, d in zip(y, dy, strict=True)]
    dsos, dx, dz = pull((np.moveaxis(t[0], axis, -1), np.moveaxis(t[1], axis + 1, -1)))
    return dsos, np.moveaxis(dx, -1, axis), np.moveaxis(dz, -1, axis + 1)


def sosfilt_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, Any, Any]:
    sos, axis = o["sos"], o["axis"]
    if o["zi"] is not None:
        return _sections_with_states(dy, y, o)
    steps = [np.moveaxis(o["x"], axis, -1)]
    for section in sos:
        steps.append(ss.lfilter(section[:3], section[3:], steps[-1]))
    t = np.moveaxis(dy, axis, -1)
    dsos = np.zeros(sos.shape, np.result_type(sos, t))
    for i in range(len(sos) - 1, -1, -1):
        db, da, t, _ = filter_cotangents(t, steps[i + 1], sos[i, :3], sos[i, 3:], steps[i])
        dsos[i, :3], dsos[i, 3:] = db, da
    return dsos, np.moveaxis(t, -1, axis), None


def extended(x, width, mode, cval):
    """Rows of numbers with `width` more on both sides, as the modes of SciPy's `upfirdn` say."""
    n = x.shape[-1]
    j = np.arange(-width, n + width)
    first, last = x[:, :1], x[:, -1:]
    inside = (j >= 0) & (j < n)
    if mode == "constant":
        return np.where(inside, x[:, np.clip(j, 0, n - 1)], cval)
    if mode == "edge":
        return x[:, np.clip(j, 0, n - 1)]
    if mode == "wrap":
        return x[:, j % n]
    if mode in ("symmetric", "antisymmetric"):
        k = j % (2 * n)
        y = x[:, np.where(k < n, k, 2 * n - 1 - k)]
        return y if mode == "symmetric" else y * np.where(k < n, 1.0, -1.0)
    if mode in ("reflect", "antireflect"):
        turns, k = np.divmod(j, max(2 * n - 2, 1))
        y = x[:, np.where(k < n, k, 2 * n - 2 - k)]
        if mode == "reflect":
            return y
        return np.where(k < n, y, 2.0 * last - y) + 2.0 * turns * (last - first)
    if mode == "smooth":
        if n == 1:
            raise NotDifferentiated("scipy.signal.upfirdn with mode='smooth' of one number reads what lies beside it")
        ends = np.where(j < 0, first + j * (x[:, 1:2] - first), last + (j - n + 1) * (last - x[:, -2:-1]))
        return np.where(inside, x[:, np.clip(j, 0, n - 1)], ends)
    if mode == "line":
        return np.where(inside, x[:, np.clip(j, 0, n - 1)], first + j * ((last - first) / (n - 1)))
    raise NotDifferentiated(f"scipy.signal.upfirdn is not differentiated with mode={mode!r}")


def upfirdn_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, Any]:
    """The convolution of h with x, extended, zeros between its numbers, of which every `down`-th number is kept."""
    h, x, up, down, axis = o["h"], o["x"], o["up"], o["down"], o["axis"]
    mode, cval = o["mode"] or "constant", o["cval"]
    n, m = x.shape[axis], len(h)
    rows = np.moveaxis(x, axis, -1).reshape(-1, n)
    width = 0 if mode == "constant" and not cval else -(-(m - 1) // up)
    pull = None
    if width:
        more = np.array(rows, np.result_type(rows, 1.0))
        rows, pull = run(lambda x: extended(x, width, mode, cval), None, [more])
    t = np.moveaxis(dy, axis, -1).reshape(len(rows), -1)
    wide = np.zeros((len(rows), (rows.shape[1] - 1) * up + 1), rows.dtype)
    wide[:, ::up] = rows
    full = np.zeros((len(rows), wide.shape[1] + m - 1), np.result_type(t, h, x))
    kept = full[:, width * up :: down][:, : t.shape[1]]
    kept[...] = t[:, : kept.shape[1]]
    dx = np.stack([np.correlate(f, h, "valid")[::up] for f in full])
    dh = np.sum([np.correlate(f, w, "valid") for f, w in zip(full, wide, strict=True)], axis=0)
    if pull is not None:
        (dx,) = pull(dx if rows.dtype.kind == "c" else np.real(dx).astype(rows.dtype))
    return dh, np.moveaxis(dx.reshape(*np.moveaxis(x, axis, -1).shape[:-1], n), -1, axis)


def hilbert_cotangent(dy: Any, y: Any, o: Options) -> Any:
    x, axis = o["x"], o["axis"]
    n = o["N"] or x.shape[axis]
    h = np.zeros(n)
    h[0] = 1
    h[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        h[n // 2] = 1
    t = np.moveaxis(sf.ifft(sf.fft(np.moveaxis(dy, axis, -1)) * h).real, -1, axis)
    m = x.shape[axis]
    if m > n:
        return np.pad(t, [(0, m - n if k == axis % t.ndim else 0) for k in range(t.ndim)])
    return np.take(t, range(m), axis)


def _without(o: Options, *names: str) -> Options:
    return {k: v for k, v in o.items() if k not in names}


def savgol_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, Any]:
    """That of a convolution, whose ends are those of polynomials fitted to a window at each side where the mode is
    `interp`. A derivative of the fitted polynomials is one by the distance of the samples."""
    fit = {k: o[k] for k in ("window_length", "polyorder", "deriv", "delta")}
    t, mode, size = np.moveaxis(dy, o["axis"], -1), o["mode"], o["window_length"]
    dx: Any = 0.0
    if mode == "interp":
        half, mode = size // 2, "constant"
        dx = np.zeros(t.shape)
        ends = ss.savgol_filter(np.eye(size), **fit, axis=0, mode="interp")
        dx[..., :size] += t[..., :half] @ ends[:half]
        dx[..., -size:] += t[..., t.shape[-1] - half :] @ ends[size - half :]
        t = t.copy()
        t[..., :half] = t[..., t.shape[-1] - half :] = 0.0
    weights = ss.savgol_coeffs(size, o["polyorder"], deriv=o["deriv"], delta=o["delta"])
    x = np.moveaxis(o["x"], o["axis"], -1).astype(float)
    dx = dx + run(lambda v: nd.convolve1d(v, weights, mode=mode, cval=0.0), None, [x])[1](t)[0]
    return np.moveaxis(dx, -1, o["axis"]), -o["deriv"] * np.sum(dy * y) / o["delta"]


@mirrors(ss.lfilter_zi)
def lfilter_zi(b, a):
    """The state of a filter that has always been given ones; its own code does not divide by a[0] where that is 1."""
    n = max(len(a), len(b))
    p, q = (np.concatenate([np.asarray(v), np.zeros(n - len(v))]) for v in (b, a))
    p, q = p / q[0], q / q[0]
    shift = np.eye(n - 1) - np.eye(n - 1, k=1)
    shift = shift + q[1:, None] * np.eye(1, n - 1)
    return np.linalg.solve(shift, p[1:] - q[1:] * p[0])


@mirrors(ss.lfiltic)
def lfiltic(b, a, y, x=None):
    """The state of a filter after these outputs and inputs, the latest first; divided by a[0] always, as above."""
    b, a, y = np.atleast_1d(b), np.atleast_1d(a), np.atleast_1d(y)
    n, m = len(a) - 1, len(b) - 1
    x = np.zeros(m) if x is None else np.asarray(x)
    x, y = np.concatenate([x, np.zeros(m)]), np.concatenate([y, np.zeros(n)])
    state = [np.sum(b[i + 1 :] * x[: m - i]) - np.sum(a[i + 1 :] * y[: max(n - i, 0)]) for i in range(max(n, m))]
    return np.array(state) / a[0]


@mirrors(ss.sepfir2d)
def sepfir2d(input, hrow, hcol):
    x = np.asarray(input)
    if len(hrow) > x.shape[1] + 1 or len(hcol) > x.shape[0] + 1:
        raise NotDifferentiated("scipy.signal.sepfir2d with filters longer than the image reads what lies beside it")
    along = nd.convolve1d(x, hrow, 1, mode="reflect")
    return nd.convolve1d(along, hcol, 0, mode="reflect")


library_rule(ss.lfilter, ("b", "a", "x", "zi"), lfilter_cotangents)
library_rule(ss.sosfilt, ("sos", "x", "zi"), sosfilt_cotangents)
library_rule(ss.upfirdn, 2, upfirdn_cotangents)
library_rule(ss.hilbert, 1, hilbert_cotangent)


def detrend_cotangent(dy: Any, y: Any, o: Options) -> Any:
    """It is an orthogonal projection."""
    return ss.detrend(dy, **_without(o, "data"))


library_rule(ss.detrend, 1, detrend_cotangent)
library_rule(ss.savgol_filter, ("x", "delta"), savgol_cotangents)

by_regular_samples(
    ss.convolve,
    ss.fftconvolve,
    ss.oaconvolve,
    ss.correlate,
    ss.convolve2d,
    ss.lfilter,
    ss.sosfilt,
    ss.savgol_filter,
    ss.detrend,
    ss.hilbert,
)

_MADE = [f for k, f in vars(ss.windows).items() if k in ss.windows.__all__]
_MADE += [ss.butter, ss.cheby1, ss.cheby2, ss.ellip, ss.bessel, ss.firwin, ss.iirnotch, ss.iirpeak, ss.savgol_coeffs]
by_regular_samples(*_MADE)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.7, -0.4])
_W = np.array([1.1, 0.4, -0.7])
_M = np.sin(np.arange(20.0)).reshape(4, 5)
_K = np.cos(np.arange(6.0)).reshape(2, 3)
_SOS = np.array([[0.5, 0.2, 0.1, 1.0, -0.3, 0.2], [1.0, 0.4, -0.2, 1.0, 0.1, 0.05]])
_MODES = ("full", "same", "valid")


def _sections(b: Any, a: Any, x: Any) -> Any:
    return ss.sosfilt(np.concatenate([b, np.ones((2, 1)), a], axis=1), x)


def _states(b: Any, a: Any, x: Any) -> Any:
    return ss.sosfilt(np.concatenate([b, np.ones((2, 1)), a], axis=1), x, zi=np.outer(x[:2], x[2:4]))


CASES: list[RuleCase] = [
    *[case(f, a, v, m) for f in (ss.convolve, ss.correlate, ss.fftconvolve, ss.oaconvolve) for m in _MODES
      for a, v in ((_V, _W), (_W, _V), (_V, _W[:2]), (_M, _K), (_V * 1j + 1, _W), (_V, _W * 1j + 0.5))],
    case(ss.convolve, _V, _W, method="fft"), case(ss.fftconvolve, _M, _K[:1], axes=1),
    case(ss.fftconvolve, _M, _W[:, None], "same", axes=0),
    case(ss.convolve, _V.astype(np.float32), _W.astype(np.float32)),
    case(ss.convolve, _V, [0.5, 0.25]), case(lambda v, w: ss.deconvolve(v, w)[0], _V, _W[:2]),
    case(ss.fftconvolve, _K, _M, "valid"),
    *[case(f, _M, k, m, b) for f in (ss.convolve2d, ss.correlate2d) for k in (_K, _K[:, :2]) for m in _MODES
      for b in ("fill", "wrap", "symm")],
    case(lambda a, v: ss.convolve2d(a, v, fillvalue=0.7), _M, _K),
    case(ss.convolve2d, _M * 1j + 1, _K * (1 + 1j), "same", "wrap"),
    case(ss.correlate2d, _M, _K * (1 + 1j), "same", "wrap"), case(ss.correlate2d, _K, _M, "valid"),
    case(ss.lfilter, _W, np.array([1.5, 0.3]), _V), case(ss.lfilter, _W, np.array([1.0, 0.3, 0.1, 0.05]), _M, 0),
    case(ss.lfilter, [0.5, 0.2], [1.0, -0.3], _V), case(ss.lfilter, _W, np.array([1.5, 0.3j]), _V),
    case(lambda b, a, x, z: ss.lfilter(b, a, x, zi=z)[0], _W, np.array([1.5, 0.3]), _V, np.array([0.3, -0.2])),
    case(lambda b, a, x, z: ss.lfilter(b, a, x, zi=z)[0], _W[:2], np.array([1.5, 0.3, 0.2]), _M, _M[:, :2]),
    case(ss.lfilter, 2.0, np.array([1.0, 0.5]), _V), case(_sections, _SOS[:, :3], _SOS[:, 4:], _V),
    case(lambda x: ss.sosfilt(_SOS, x, axis=0), _M),
    case(lambda b, a, x, z: ss.lfilter(b, a, x, zi=z), _W, np.array([1.5, 0.3]), _V, np.array([0.3, -0.2])),
    case(lambda b, a, x, z: ss.lfilter(b, a, x, 0, z), _W[:2], np.array([1.5, 0.3, 0.2]), _M, _M[:2]),
    case(lambda x, z: ss.sosfilt(_SOS, x, zi=z), _V, _M[:2, :2]), case(_states, _SOS[:, :3], _SOS[:, 4:], _V),
    case(ss.upfirdn, _W, _V, 2, 3), case(lambda h, x: ss.upfirdn(h, x, cval=0.7), _W, _V),
    *[case(ss.upfirdn, h, _M, u, d, 0, m) for h, u, d in ((_W, 1, 1), (np.cos(np.arange(12.0)), 2, 3))
      for m in ("edge", "wrap", "symmetric", "antisymmetric", "reflect", "antireflect", "smooth", "line")],
    case(ss.upfirdn, _W * (1 + 0.5j), _V, mode="line"), case(ss.upfirdn, _W, _V * (1 + 0.5j), 1, 2, mode="antireflect"),
    case(ss.resample_poly, _M, 3, 2, padtype="line"), case(ss.resample_poly, _M, 3, 2, padtype="median"),
    case(ss.lfilter_zi, [0.2, 0.3], [1.5, -0.3]),
    case(ss.lfiltic, [0.2, 0.3], np.array([1.0, -0.3]), _V), case(ss.lfiltic, _V, [1.0, 0.3], [0.5, 0.2], _W),
    case(ss.lfiltic, _W[:1], np.array([1.5, -0.3, 0.4]), [0.7]), case(ss.lfiltic, [1], np.array([1.0, 0.3j]), _V),
    case(ss.upfirdn, _W, _M, 1, 2, axis=0), case(ss.upfirdn, _V, _W, 5, 1), case(ss.upfirdn, _W[:1], _V, 1, 4),
    case(ss.resample_poly, _V, 2, 3), case(ss.decimate, np.sin(np.arange(40.0)), 2), case(ss.resample_poly, _M, 3, 2),
    case(lambda x: ss.sosfiltfilt(_SOS, x), np.sin(np.arange(30.0))),
    case(ss.filtfilt, [0.2, 0.3], [1.0, -0.3], _M[0], padlen=2),
    case(ss.sepfir2d, _M, _V[:5], _W), case(ss.sepfir2d, _M * (1 + 0.5j), _W, _W),
    case(ss.medfilt, _V), case(ss.medfilt, _M + 0.1, (3, 1)),
    case(ss.hilbert, _V), case(ss.hilbert, _M, axis=0), case(ss.hilbert, _V, 5), case(ss.hilbert, _V, 10),
    case(ss.detrend, _V), case(ss.detrend, _M, 0), case(ss.detrend, _M, type="constant"),
    case(ss.savgol_filter, _V, 5, 2), case(ss.savgol_filter, _M, 3, 1, axis=0),
    *[case(ss.savgol_filter, _V, 5, 2, mode=m) for m in ("mirror", "constant", "nearest", "wrap")],
    case(ss.savgol_filter, _M, 5, 2, 1), case(ss.savgol_filter, _V, 4, 2), case(ss.detrend, _V, bp=[2, 5]),
    case(lambda x: ss.savgol_filter(x, 3, 1, axis=0, mode="constant", cval=2.0), _M),
    case(ss.resample, _M * 1j + 1.0, 7), case(lambda x: ss.resample(x, 9, window="hamming"), _V),
    case(lambda x: ss.detrend(np.exp(x), overwrite_data=True), _V),
    case(lambda x, d: ss.savgol_filter(x, 5, 3, deriv=2, delta=d), _V, 0.4),
    case(lambda c: ss.windows.general_hamming(7, c), 0.6), case(ss.resample, _V, 5, axis=0),
    case(ss.resample, _M, 9, axis=1),
    case(lambda b, a: ss.freqz(b, a, worN=8)[1], np.array([0.8, 0.3, -0.5]), np.array([1.0, 0.3, 0.2])),
]  # fmt: skip
