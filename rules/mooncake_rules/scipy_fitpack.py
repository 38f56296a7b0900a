"""scipy.interpolate: FITPACK's splines, by the data they are fitted to, by coefficients and where they are evaluated.

Knots that FITPACK places are data points, or means of two; which ones does not change with the data. Where it smooths
until the residual is `s`, its iteration is differentiated (`spline_formulas.smoothing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _fitpack_impl as _impl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_
from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules import spline_formulas as formulas
from mooncake_rules.callables import run
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_splines import knots_cotangent, knots_part, spline_cotangents

_NONE = CoDual(None, None)

# -- fits -------------------------------------------------------------------------------------------------


class Fit:
    """A spline (t, c, k) of data x and y with weights w, or None.

    `inner` are the knots that were given, None where FITPACK placed them; `ends` those of the first and last knot
    that were; s is the residual, None for least squares.
    """

    def __init__(self, x: Any, y: Any, w: Any, tck: Any, s: float | None, inner: Any, ends: tuple[Any, Any]):
        self.t, self.c, self.k = tck
        self.x, self.y = np.asarray(x, float), np.asarray(y, float)
        self.w, self.inner = (None if v is None else np.asarray(v, float) for v in (w, inner))
        self.s = s
        self.matrix, self.rest = formulas.data_knots(self.t, self.x)
        k, n = self.k, len(self.t) - self.k - 1
        fixed = [*[ends[0] is not None] * (k + 1), *[inner is not None] * (n - k - 1), *[ends[1] is not None] * (k + 1)]
        self.matrix[fixed] = 0.0
        self.rest = np.where(fixed, self.t, self.rest)

    def made(self, x, y, w, inner):
        """The coefficients and knots."""
        k = self.k
        t = self.matrix @ x + self.rest
        if inner is not None:
            t = np.concatenate([t[: k + 1], inner, t[len(t) - k - 1 :]])
        w = np.ones(len(x)) if w is None else w
        if self.inner is None and self.s == 0.0:
            return formulas.interpolating(x, y, t, (), k, ((), ())), t
        if self.s is None:
            return formulas.least_squares(x, y, w, t, k), t
        return formulas.smoothing(x, y[:, None], w, t, k, self.s)[:, 0], t

    def cotangents(self, dc: np.ndarray, dt: np.ndarray) -> tuple[Any, Any, Any, Any]:
        """Of x, y, w and the inner knots."""
        n = len(self.t) - self.k - 1
        given = self.x, self.y, self.w, self.inner
        (c, _), pull = run(self.made, None, given, [v is not None for v in given])
        if not np.allclose(c, self.c[:n], rtol=1e-6, atol=1e-6 * np.max(np.abs(c))):
            raise NotDifferentiated("this fit of FITPACK's is not differentiated: use make_splrep or make_lsq_spline")
        return pull((dc[:n], dt))


@rrule(sip.splrep)
def splrep(x: CoDual, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t: CoDual = _NONE,
           full_output=0, per=0, quiet=1):  # fmt: skip
    if full_output:
        raise NotDifferentiated("scipy.interpolate.splrep is differentiated without full_output")
    inner = t.primal
    tck = sip.splrep(x.primal, y, w, xb, xe, k, task, s, inner, 0, per, quiet)
    ft, fc = zero_fdata(tck[0]), zero_fdata(tck[1])
    if s is None:
        s = 0.0 if w is None else len(y) - np.sqrt(2 * len(y))

    def pullback(dy):
        dc, dt = take_fdata(fc, None), take_fdata(ft, None)
        if dc is None and dt is None:
            return None
        if per:
            unknown = NoDerivative("scipy.interpolate.splrep", "the data of a periodic spline")
            return unknown, unknown, unknown
        unknown = dt if type(dt) is NoDerivative else None
        dt = np.zeros(tck[0].shape) if dt is None or unknown is not None else dt
        dc = np.zeros(tck[1].shape) if dc is None else dc
        fit = Fit(x.primal, y, w, tck, None if inner is not None or task == -1 else s, inner, (xb, xe))
        dx, dys, dw, dinner = fit.cotangents(dc, dt)
        dx, dinner = unknown or fitted(dx, x.primal), unknown or fitted(dinner, inner)
        return dx, fitted(dys, y), fitted(dw, w), None, None, None, None, None, dinner

    return CoDual(tck, (ft, fc, None)), pullback


_PARAMETERS = {
    sip.UnivariateSpline: ("w", "bbox", "k", "s", "ext", "check_finite"),
    sip.InterpolatedUnivariateSpline: ("w", "bbox", "k", "ext", "check_finite"),
    sip.LSQUnivariateSpline: ("t", "w", "bbox", "k", "ext", "check_finite"),
}


def _parts(spline: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Knots, coefficients and degree."""
    t, c, k = spline._eval_args
    return t, c, k


def _kept(spline: Any) -> ObjectShadow:
    t, c, _ = _parts(spline)
    return Kept.of(spline, c=c, t=t)


def _univariate(cls: Any) -> None:
    names = _PARAMETERS[cls]

    @rrule(cls)
    def rule(x: CoDual, y, *args: CoDual, **options: CoDual):
        given = dict(zip(names, args, strict=False)) | options
        o = {k: v.primal for k, v in given.items()}
        spline = cls(x.primal, y, **o)
        inner = o.get("t")
        shadow = _kept(spline)
        tck = _parts(spline)

        def pullback(dy):
            dc = Kept.take(shadow, "c", tck[1])
            dt, unknown = knots_part(shadow, tck[0])
            s = None if cls is sip.LSQUnivariateSpline else float(spline._data[6])
            fit = Fit(x.primal, y, o.get("w"), tck, s, inner, tuple(o.get("bbox") or (None, None)))
            dx, dys, dw, dinner = fit.cotangents(dc, dt)
            of = {"w": fitted(dw, o.get("w")), "t": unknown or fitted(dinner, inner)}
            rest = [of.get(k) for k in (*names[: len(args)], *options)]
            return unknown or fitted(dx, x.primal), fitted(dys, y), *rest

        return CoDual(spline, shadow), pullback


for _cls in _PARAMETERS:
    _univariate(_cls)


@rrule(sip.make_splrep)
def make_splrep(x: CoDual, y, *, w=None, xb=None, xe=None, k=3, s=0, t: CoDual = _NONE, nest=None, bc_type=None):
    b = sip.make_splrep(x.primal, y, w=w, xb=xb, xe=xe, k=k, s=s, t=t.primal, nest=nest, **_given(bc_type))
    inner = None if t.primal is None else np.asarray(t.primal)[k + 1 : -k - 1]
    shadow = Kept.of(b, c=b.c, t=b.t)

    def pullback(dy):
        dc = Kept.take(shadow, "c", b.c)
        dt, unknown = knots_part(shadow, b.t)
        if bc_type == "periodic" or (inner is not None and s == 0):
            raise NotDifferentiated("scipy.interpolate.make_splrep is differentiated without bc_type, and t with s > 0")
        fit = Fit(x.primal, y, w, (b.t, b.c, k), s, inner, (xb, xe))
        dx, dys, dw, _ = fit.cotangents(dc, dt)
        refused = NoDerivative("scipy.interpolate.make_splrep", "the knots")
        return unknown or fitted(dx, x.primal), fitted(dys, y), fitted(dw, w), *[None] * 4, refused

    return CoDual(b, shadow), pullback


def _given(bc_type: Any) -> dict[str, Any]:
    return {} if bc_type is None else {"bc_type": bc_type}


# -- functions of (t, c, k) -------------------------------------------------------------------------------


def _is_single(tck: Any) -> bool:
    """Is this one spline as FITPACK has it, and not several, or one of SciPy's objects?"""
    return isinstance(tck, (tuple, list)) and isinstance(tck[1], np.ndarray) and tck[1].ndim == 1


def ends_cotangent(t: np.ndarray, k: int, x: Any, dx: Any) -> np.ndarray:
    """Of the knots by those that stand for places beyond them, dx being the cotangent of the places."""
    dt = np.zeros(t.shape)
    dt[k] = np.sum(np.where(x < t[k], dx, 0.0))
    dt[-k - 1] = np.sum(np.where(x > t[-k - 1], dx, 0.0))
    return dt


def _of_tck(tck: Any, dt: Any, dc: Any) -> Any:
    return type(tck)([fitted(dt, tck[0]), dc if isinstance(dc, list) else fitted(dc, tck[1]), None])


@rrule(sip.splev, _impl.splev, types=(Any_, tuple))
@rrule(sip.splev, _impl.splev, types=(Any_, list))
def splev(x, tck, der=0, ext=0):
    y = sip.splev(x, tck, der, ext)
    of_parts = isinstance(tck, (tuple, list))
    several = of_parts and isinstance(tck[1], list) and np.ndim(tck[1][0]) > 0  # a curve: one for every coordinate
    if not several and not (of_parts and np.ndim(tck[1]) == 1):
        raise NotDifferentiated("scipy.interpolate.splev is differentiated for (t, c, k): call the spline itself")
    t, given, k = np.asarray(tck[0]), tck[1], tck[2]

    def one(c, dy):
        """The cotangents of the places, the knots and the coefficients c."""
        c = np.asarray(c)
        at, d = np.asarray(x, float), np.asarray(dy, float)
        inside = (at >= t[k]) & (at <= t[-k - 1])
        if ext == 1:
            d = np.where(inside, d, 0.0)
        where = np.clip(at, t[k], t[-k - 1]) if ext == 3 else at
        dc, dx = spline_cotangents(t, c, k, where, d, der, True)
        dt = knots_cotangent(t, c, k, where, d, der, True)
        if ext == 3:
            dt = dt + ends_cotangent(t, k, at, dx)
        return np.where(inside, dx, 0.0) if ext == 3 else dx, dt, dc

    def pullback(dy):
        if not several:
            dx, dt, dc = one(given, dy)
            return fitted(dx, x), _of_tck(tck, dt, dc)
        parts = [one(c, d) for c, d in zip(given, dy, strict=True) if d is not None]
        dcs = iter([dc for _, _, dc in parts])
        dc = [None if d is None else next(dcs) for d in dy]
        return fitted(sum(p[0] for p in parts), x), _of_tck(tck, sum(p[1] for p in parts), dc)

    return y, pullback


@rrule(sip.splint, _impl.splint, types=(Any_, Any_, tuple))
@rrule(sip.splint, _impl.splint, types=(Any_, Any_, list))
def splint(a, b, tck, full_output=0):
    if full_output or not _is_single(tck):
        raise NotDifferentiated("scipy.interpolate.splint is differentiated for (t, c, k), without full_output")
    t, c, k = tck

    def pullback(dy):
        ends, free = _clipped(t, k, a, b)
        _, pull = run(formulas.integral, None, (t, c[: len(t) - k - 1], *ends, k), [True, True, True, True, False])
        dt, dc, da, db, _ = pull(np.float64(dy))
        dt = dt + ends_cotangent(t, k, np.array([a, b]), np.array([da, db]))
        dc = np.concatenate([dc, np.zeros(len(c) - len(dc))])
        return da if free[0] else None, db if free[1] else None, _of_tck(tck, dt, dc)

    return sip.splint(a, b, tck), pullback


def _clipped(t: np.ndarray, k: int, *ends: Any) -> tuple[list[float], list[bool]]:
    """Between the knots, outside of which the integral is zero."""
    free = [bool(t[k] <= v <= t[-k - 1]) for v in ends]
    return [float(np.clip(v, t[k], t[-k - 1])) for v in ends], free


def root_cotangents(t: np.ndarray, c: np.ndarray, k: int, roots: np.ndarray, dy: np.ndarray) -> tuple[Any, Any]:
    """Of coefficients and knots: a root moves by the change of the value there over minus the slope."""
    slope = sip.BSpline(t, c, k)(roots, 1)
    d = -np.asarray(dy) / slope
    return spline_cotangents(t, c, k, roots, d, 0, True)[0], knots_cotangent(t, c, k, roots, d, 0, True)


@rrule(sip.sproot, _impl.sproot, types=(tuple,))
@rrule(sip.sproot, _impl.sproot, types=(list,))
def sproot(tck, mest=10):
    y = sip.sproot(tck, mest)
    if not _is_single(tck):
        raise NotDifferentiated("scipy.interpolate.sproot is differentiated for (t, c, k)")

    def pullback(dy):
        t, c, k = tck
        dc, dt = root_cotangents(t, c, k, y, dy)
        return _of_tck(tck, dt, dc), None

    return y, pullback


# -- objects ----------------------------------------------------------------------------------------------


@rrule(sip.UnivariateSpline.__call__)
def evaluate(self: CoDual, x, nu=0, ext=None):
    spline = self.primal
    y = spline(x, nu, ext)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        t, c, k = _parts(spline)
        how = spline.ext if ext is None else {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        given, d = np.asarray(x, float), np.asarray(dy, float)
        inside = (given >= t[k]) & (given <= t[-k - 1])
        if how == 1:
            d = np.where(inside, d, 0.0)
        at = np.clip(given, t[k], t[-k - 1]) if how == 3 else given
        dc, dx = spline_cotangents(t, c, k, at, d, nu, True)

        def of_knots():
            dt = knots_cotangent(t, c, k, at, d, nu, True)
            return dt + ends_cotangent(t, k, given, dx) if how == 3 else dt

        _give(self, dc, of_knots)
        return None, fitted(np.where(inside, dx, 0.0) if how == 3 else dx, x)

    return CoDual(y, fy), pullback


def _give(self: CoDual, dc: np.ndarray | None, dt: Any) -> None:
    """Add the cotangents of the coefficients and of the knots."""
    if type(self.fdata) is ObjectShadow:
        Kept.add(self, c=dc, t=dt())


@rrule(sip.UnivariateSpline.integral)
def integral(self: CoDual, a, b):
    spline = self.primal
    y = spline.integral(a, b)

    def pullback(dy):
        if dy is None:
            return None
        t, c, k = _parts(spline)
        ends, free = _clipped(t, k, a, b)
        _, pull = run(formulas.integral, None, (t, c[: len(t) - k - 1], *ends, k), [True, True, True, True, False])
        dt, dc, da, db, _ = pull(np.float64(dy))
        dt = dt + ends_cotangent(t, k, np.array([a, b]), np.array([da, db]))
        _give(self, np.concatenate([dc, np.zeros(len(c) - len(dc))]), lambda: dt)
        return None, da if free[0] else None, db if free[1] else None

    return CoDual(y, None), pullback


@rrule(sip.UnivariateSpline.derivatives)
def derivatives(self: CoDual, x):
    spline = self.primal
    y = spline.derivatives(x)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        t, c, k = _parts(spline)
        total = 0.0
        for nu, d in enumerate(np.asarray(dy)):
            dc, dx = spline_cotangents(t, c, k, np.asarray(x, float), np.asarray(d), nu, True)
            _give(self, dc, lambda nu=nu, d=d: knots_cotangent(t, c, k, np.asarray(x, float), np.asarray(d), nu, True))
            total = total + float(dx)
        return None, total

    return CoDual(y, fy), pullback


def _read(method: Any, give: Callable[[Any, CoDual, Any, Any], None]) -> None:
    """A method without arguments that gives an array; `give(spline, self, y, dy)` hands its cotangent on."""

    @rrule(method)
    def rule(self: CoDual):
        spline = self.primal
        y = method(spline)
        fy = zero_fdata(y)

        def pullback(dy):
            dy = take_fdata(fy, dy)
            if dy is not None:
                give(spline, self, y, dy)
            return None

        return CoDual(y, fy), pullback


def _give_roots(spline: Any, to: CoDual, y: Any, dy: Any) -> None:
    dc, dt = root_cotangents(*_parts(spline), y, dy)
    _give(to, dc, lambda: dt)


def _give_coeffs(spline: Any, to: CoDual, y: Any, dy: Any) -> None:
    c = _parts(spline)[1]
    Kept.add(to, c=np.concatenate([dy, np.zeros(len(c) - len(dy))]))


def _give_knots(spline: Any, to: CoDual, y: Any, dy: Any) -> None:
    k = _parts(spline)[2]
    Kept.add(to, t=np.concatenate([np.zeros(k), dy, np.zeros(k)]))


_read(sip.UnivariateSpline.roots, _give_roots)
_read(sip.UnivariateSpline.get_coeffs, _give_coeffs)
_read(sip.UnivariateSpline.get_knots, _give_knots)


def _other_degree(name: str, formula: Any, step: int) -> None:
    """A method that gives the derivative or antiderivative of order n."""
    f = getattr(sip.UnivariateSpline, name)

    @rrule(f)
    def rule(self: CoDual, n=1):
        spline = self.primal
        y = f(spline, n)
        shadow = _kept(y)

        def made(t, c):
            k = _parts(spline)[2]
            for _ in range(n):
                c = formula(t, c, k)
                k += step
                t = t[1:-1] if step < 0 else np.concatenate([t[:1], t, t[-1:]])
            return c, t

        def pullback(dy):
            t, c, k = _parts(spline)
            dc = Kept.take(shadow, "c", _parts(y)[1])
            dt, unknown = knots_part(shadow, _parts(y)[0])
            size = len(t) - k - 1
            (cs, _), pull = run(made, None, (t, c[:size]))
            dknots, d = pull((dc[: len(cs)], dt))
            d = None if d is None else np.concatenate([d, np.zeros(len(c) - size)])
            _give(self, d, lambda: unknown or dknots)
            return None

        return CoDual(y, shadow), pullback


_other_degree("derivative", formulas.differenced, -1)
_other_degree("antiderivative", formulas.summed, 1)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.linspace(0.0, 1.0, 9) ** 1.1
_Y = np.sin(3 * _X) - 0.4 + 0.2 * np.cos(17.0 * _X)
_Q = np.array([0.13, 0.52, 0.9])
_W = 1.0 + 0.3 * np.cos(5 * _X)


def _used(x, y, q):
    s = sip.UnivariateSpline(x, y, s=0)
    more = s.derivatives(q[0]), s.roots(), s.get_coeffs(), s.get_knots()
    return s(q), s(q, 1), s.derivative()(q), s.antiderivative()(q), s.integral(0.2, q[2]), more


def _functions(x, y, q):
    tck = sip.splrep(x, y)
    other = sip.splder(tck), sip.splantider(tck)
    return sip.splint(0.1, q[1], tck), sip.sproot(tck), [sip.splev(q, s) for s in other], tck[1], tck[0]


CASES: list[RuleCase] = [
    case(_used, _X, _Y, _Q), case(_functions, _X, _Y, _Q),
    case(lambda x, y, q: sip.InterpolatedUnivariateSpline(x, y, k=2)(q), _X, _Y, _Q),
    case(lambda x, y, w, t: sip.LSQUnivariateSpline(x, y, t, w=w)(_Q), _X, _Y, _W, np.array([0.3, 0.6])),
    case(lambda y, q: sip.InterpolatedUnivariateSpline(_X, y, ext=3)(q), _Y, _Q * 2 - 0.5),
    case(lambda y, q: sip.InterpolatedUnivariateSpline(_X, y, ext="zeros")(q), _Y, _Q * 2 - 0.5),
    case(lambda x, y, q: sip.splev(q, sip.splrep(x, y)), _X, _Y, _Q),
    case(lambda t, c, q: sip.splev(q, (t, c, 3)), *[v.tolist() for v in sip.splrep(_X, _Y)[:2]], _Q),
    case(lambda y, q: sip.splev(q, sip.splrep(_X, y, k=2, s=0), der=1), _Y, _Q),
    case(lambda y, q: sip.splev(q, sip.splrep(_X, y), ext=3), _Y, _Q * 2 - 0.5),
    case(lambda x, y, q: sip.splev(q, sip.splrep(x, y), ext=3), _X, _Y, _Q * 2 - 0.5),
    case(lambda x, y, q: sip.InterpolatedUnivariateSpline(x, y, ext="const")(q), _X, _Y, _Q * 2 - 0.5),
    *[case(lambda x, y, a, b: sip.splint(a, b, sip.splrep(x, y)), _X, _Y, a, b)
      for a, b in ((-0.5, 0.4), (0.3, 1.7), (1.5, 0.2), (-2.0, -1.0))],
    case(lambda x, y, b: sip.UnivariateSpline(x, y, s=0).integral(-0.3, b), _X, _Y, 1.4),
    case(lambda y, t: sip.splev(_Q, sip.splrep(_X, y, t=t)), _Y, np.array([0.4, 0.6])),
    case(lambda t, c, q: sip.splev(q, (t, c, 3)), sip.splrep(_X, _Y)[0], sip.splrep(_X, _Y)[1], _Q),
    *[case(lambda x, y, w, s=s: sip.UnivariateSpline(x, y, w, s=s)(_Q), _X, _Y, _W) for s in (0.1, 0.02, 5.0)],
    case(lambda x, y: sip.splev(_Q, sip.splrep(x, y, s=0.03)), _X, _Y),
]  # fmt: skip
if hasattr(sip, "make_splrep"):
    CASES += [
        case(lambda x, y, w: sip.make_splrep(x, y, w=w, s=0.03)(_Q), _X, _Y, _W),
        case(lambda y: sip.make_splrep(_X, y)(_Q), _Y),
    ]
