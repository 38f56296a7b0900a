"""scipy.interpolate: splines that are fitted to data, whose coefficients are linear in the values.

That holds where the knots do not depend on the values: for interpolation, for least squares with given knots, for
smoothing with a given penalty. Where FITPACK places knots until the residual is below `s`, it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip

from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, NoDerivative, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_splines import spline_cotangents

_PLACES = "the places of the data, weights or options"


def _refuse(name: str) -> None:
    raise NotImplementedError(
        f"{name} with s > 0 places its knots by the values, and is not differentiated by them: use s=0, given knots "
        "(LSQUnivariateSpline, make_lsq_spline), or make_smoothing_spline with lam"
    )


# -- B-splines --------------------------------------------------------------------------------------------


def _fitted_spline(f: Any, check: Any) -> None:
    """A function of x, y and more that gives a BSpline; a matrix of values has a spline in each column."""

    @rrule(f)
    def rule(x: CoDual, y, *args, **options):
        plain = [v.primal if type(v) is CoDual else v for v in args]
        named = {k: v.primal if type(v) is CoDual else v for k, v in options.items()}
        b = f(x.primal, y, *plain, **named)
        shadow = Kept.of(b, c=b.c)

        def pullback(dy):
            check(plain, named)
            axis = named.get("axis", 0)
            rest = {k: v for k, v in named.items() if k != "axis"}
            dc = Kept.take(shadow, "c", b.c)
            n = np.shape(y)[axis]
            unit = np.stack([f(x.primal, e, *plain, **rest).c for e in np.eye(n)], axis=1)
            d = np.moveaxis(np.tensordot(unit.T, dc, 1), 0, axis)
            where = NoDerivative(f"scipy.interpolate.{f.__name__}", _PLACES)
            return where, fitted(d, y), *[where] * (len(args) + len(options))

        return CoDual(b, shadow), pullback


def _needs_penalty(args: list[Any], options: dict[str, Any]) -> None:
    if len(args) < 2 and options.get("lam") is None:
        raise NotImplementedError(
            "make_smoothing_spline without lam chooses the penalty by the values, and is not differentiated: pass lam"
        )


_fitted_spline(sip.make_lsq_spline, lambda args, options: None)
_fitted_spline(sip.make_smoothing_spline, _needs_penalty)

# -- FITPACK ----------------------------------------------------------------------------------------------


@rrule(sip.splrep)
def splrep(x: CoDual, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    def fit(v):
        return sip.splrep(x.primal, v, w, xb, xe, k, task, s, t, 0, per, quiet)

    if full_output:
        raise NotImplementedError("scipy.interpolate.splrep is differentiated without full_output")
    tck = fit(y)
    linear = task == -1 or t is not None or s == 0 or (s is None and w is None)
    fc = zero_fdata(tck[1])

    def pullback(dy):
        dc = take_fdata(fc, None if dy is None else dy[1])
        if dc is None:
            return None
        if not linear:
            _refuse("splrep")
        d = np.array([fit(e)[1] @ dc for e in np.eye(len(y))])
        return NoDerivative("scipy.interpolate.splrep", _PLACES), fitted(d, y)

    return CoDual(tck, (None, fc, None)), pullback


_PARAMETERS = {
    sip.UnivariateSpline: ("w", "bbox", "k", "s", "ext", "check_finite"),
    sip.InterpolatedUnivariateSpline: ("w", "bbox", "k", "ext", "check_finite"),
    sip.LSQUnivariateSpline: ("t", "w", "bbox", "k", "ext", "check_finite"),
}


def _parts(spline: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Knots, coefficients and degree."""
    t, c, k = spline._eval_args
    return t, c, k


def _univariate(cls: Any) -> None:
    names = _PARAMETERS[cls]

    @rrule(cls)
    def rule(x: CoDual, y, *args, **options):
        named = {k: v.primal if type(v) is CoDual else v for k, v in options.items()}
        named.update(zip(names, [v.primal if type(v) is CoDual else v for v in args], strict=False))
        spline = cls(x.primal, y, **named)
        c = _parts(spline)[1]
        shadow = Kept.of(spline, c=c)
        again = _linear_fit(spline, x.primal, named)

        def pullback(dy):
            dc = Kept.take(shadow, "c", c)
            if again is None:
                _refuse(cls.__name__)
            d = np.array([_parts(again(e))[1] @ dc for e in np.eye(len(y))])
            where = NoDerivative(f"scipy.interpolate.{cls.__name__}", _PLACES)
            return where, fitted(d, y), *[None] * (len(args) + len(options))

        return CoDual(spline, shadow), pullback


def _linear_fit(spline: Any, x: Any, options: dict[str, Any]) -> Any:
    """The fit of other values with the same knots; None where these depend on the values."""
    rest = {k: v for k, v in options.items() if k not in ("s", "t")}
    if type(spline) is sip.InterpolatedUnivariateSpline:
        return lambda v: sip.InterpolatedUnivariateSpline(x, v, **rest)
    t, _, k = _parts(spline)
    if type(spline) is sip.LSQUnivariateSpline:
        return lambda v: sip.LSQUnivariateSpline(x, v, t[k + 1 : len(t) - k - 1], **rest)
    return None


for _cls in _PARAMETERS:
    _univariate(_cls)


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
        at, d = np.asarray(x, float), np.asarray(dy, float)
        inside = (at >= t[k]) & (at <= t[-k - 1])
        if how == 1:
            d = np.where(inside, d, 0.0)
        dc, dx = spline_cotangents(t, c, k, np.clip(at, t[k], t[-k - 1]) if how == 3 else at, d, nu, True)
        Kept.add(self, c=dc)
        return None, fitted(np.where(inside, dx, 0.0) if how == 3 else dx, x)

    return CoDual(y, fy), pullback


@rrule(sip.UnivariateSpline.integral)
def integral(self: CoDual, a, b):
    spline = self.primal
    y = spline.integral(a, b)

    def pullback(dy):
        t, c, k = _parts(spline)
        n = len(t) - k - 1
        low, high = (np.clip(v, t[k], t[-k - 1]) for v in (a, b))
        unit = sip.BSpline(t, np.eye(n), k).antiderivative()
        dc = np.zeros(len(c))
        dc[:n] = (unit(high) - unit(low)) * dy
        Kept.add(self, c=dc)
        ends = [float(spline(v)) * dy if t[k] <= v <= t[-k - 1] else 0.0 for v in (a, b)]
        return None, -ends[0], ends[1]

    return CoDual(y, None), pullback


def _of_coefficients(name: str) -> None:
    """A method that gives another spline, linear in the coefficients."""
    f = getattr(sip.UnivariateSpline, name)

    @rrule(f)
    def rule(self: CoDual, n=1):
        spline = self.primal
        y = f(spline, n)
        shadow = Kept.of(y, c=_parts(y)[1])

        def pullback(dy):
            t, c, k = _parts(spline)
            d = Kept.take(shadow, "c", _parts(y)[1])
            one = sip.splder if name == "derivative" else sip.splantider
            dc = np.array([one((t, e, k), n)[1] @ d for e in np.eye(len(c))])
            Kept.add(self, c=dc)
            return None

        return CoDual(y, shadow), pullback


_of_coefficients("derivative")
_of_coefficients("antiderivative")

# -- cases ------------------------------------------------------------------------------------------------

_X = np.linspace(0.0, 1.0, 9)
_Y = np.sin(3 * _X) + 0.2 * np.cos(17.0 * _X)
_Q = np.array([0.13, 0.52, 0.9])
_T = np.array([0.0, 0.0, 0.0, 0.0, 0.4, 0.7, 1.0, 1.0, 1.0, 1.0])


def _used(y, q):
    s = sip.UnivariateSpline(_X, y, s=0)
    return s(q), s(q, 1), s.derivative()(q), s.antiderivative()(q), s.integral(0.2, q[2])


CASES: list[RuleCase] = [
    case(_used, _Y, _Q), case(lambda y, q: sip.InterpolatedUnivariateSpline(_X, y, k=2)(q), _Y, _Q),
    case(lambda y, q: sip.LSQUnivariateSpline(_X, y, [0.3, 0.6])(q), _Y, _Q),
    case(lambda y, q: sip.InterpolatedUnivariateSpline(_X, y, ext=3)(q), _Y, _Q * 2 - 0.5),
    case(lambda y, q: sip.InterpolatedUnivariateSpline(_X, y, ext="zeros")(q), _Y, _Q * 2 - 0.5),
    case(lambda y, q: sip.splev(q, sip.splrep(_X, y)), _Y, _Q),
    case(lambda y, q: sip.splev(q, sip.splrep(_X, y, k=2, s=0), der=1), _Y, _Q),
    case(lambda y, q: sip.splev(q, sip.splrep(_X, y, t=[0.4, 0.6])), _Y, _Q),
    case(lambda y, q: sip.make_lsq_spline(_X, y, _T)(q), _Y, _Q),
    case(lambda y, q: sip.make_smoothing_spline(_X, y, lam=0.001)(q), _Y, _Q),
    case(lambda y, q: sip.make_lsq_spline(_X, np.stack([y, y * y]), _T, axis=1)(q), _Y, _Q),
    case(lambda y, q: sip.make_smoothing_spline(_X, y, w=_X + 1.0, lam=0.001)(q), _Y, _Q),
]  # fmt: skip
