"""scipy.interpolate: FITPACK's splines of curves, by their points, weights and parameters (`splprep`)."""

from __future__ import annotations

import numpy as np
import scipy.interpolate as sip

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules import spline_formulas as formulas
from mooncake_rules.callables import run
from mooncake_rules.scipy_library import fitted

_NONE = CoDual(None, None)


def along(points):
    """The parameters that FITPACK gives the points of a curve: the share of its length up to each."""
    steps = np.sqrt(np.sum((points[1:] - points[:-1]) ** 2, axis=1))
    length = np.concatenate([np.zeros(1), np.cumsum(steps)])
    return length / length[-1]


def curve(points, w, u, matrix, rest, k, s):
    """The coefficients, knots and parameters; one row for each point."""
    u = along(points) if u is None else u
    t = matrix @ u + rest
    if s == 0:
        return formulas.interpolating(u, points, t, (), k, ((), ())), t, u
    return formulas.smoothing(u, points, np.ones(len(points)) if w is None else w, t, k, s), t, u


@rrule(sip.splprep)
def splprep(x, w=None, u: CoDual = _NONE, ub: CoDual = _NONE, ue: CoDual = _NONE, k=3, task=0, s: CoDual = _NONE,
            t: CoDual = _NONE, full_output=0, nest: CoDual = _NONE, per=0, quiet=1):  # fmt: skip
    if full_output or per or task or any(v.primal is not None for v in (ub, ue, t)):
        raise NotDifferentiated("scipy.interpolate.splprep is differentiated by x, w, u, k and s alone")
    given = u.primal
    y = sip.splprep(x, w, given, k=k, s=s.primal, nest=nest.primal, quiet=quiet)
    fy = zero_fdata(y)

    def pullback(dy):
        found = take_fdata(fy, dy)
        if found is None:
            return None
        (knots, cs, _), us = y
        dtck, du = found
        dt, dcs = (None, None) if dtck is None else dtck[:2]
        points = np.stack([np.asarray(v, float) for v in x], axis=1)
        m, dim = points.shape
        residual = m - np.sqrt(2 * m) if s.primal is None else s.primal
        matrix, rest = formulas.data_knots(knots, us)
        weights = None if w is None else np.asarray(w, float)
        parameters = None if given is None else np.asarray(given, float)
        args = (points, weights, parameters, matrix, rest, k, residual)
        on = [True, w is not None, given is not None, *[False] * 4]
        (c, _, _), pull = run(curve, None, args, on)
        if not np.allclose(c, np.stack(cs, axis=1), rtol=1e-6, atol=1e-6 * np.max(np.abs(c))):
            raise NotDifferentiated("this fit of FITPACK's is not differentiated: use make_splprep")
        dcs = [None] * dim if dcs is None else dcs
        dc = np.stack([np.zeros(len(c)) if d is None else d for d in dcs], axis=1)
        dpoints, dw, du, *_ = pull((dc, np.zeros(len(knots)) if dt is None else dt, np.zeros(m) if du is None else du))
        dx = (
            dpoints.T
            if isinstance(x, np.ndarray)
            else type(x)([fitted(d, v) for d, v in zip(dpoints.T, x, strict=True)])
        )
        return dx, fitted(dw, w), fitted(du, given)

    return CoDual(y, fy), pullback


# -- cases ------------------------------------------------------------------------------------------------

_U = np.linspace(0.0, 2.1, 8) ** 1.2
_A, _B = np.cos(_U) + _U, np.sin(2 * _U)
_AT = np.array([0.21, 0.57, 0.93])


def _evaluated(a, b, **options):
    tck, u = sip.splprep([a, b], **options)
    return sip.splev(_AT, tck), u


CASES: list[RuleCase] = [
    case(lambda a, b: _evaluated(a, b, s=0), _A, _B), case(lambda a, b: _evaluated(a, b, s=0, k=2), _A, _B),
    case(lambda a, b, u: _evaluated(a, b, u=u / u[-1], s=0), _A, _B, _U),
    case(lambda a, b, w: _evaluated(a, b, w=w, s=0.02), _A, _B, 1.0 + 0.1 * _U),
    case(lambda m, q: sip.splev(q, sip.splprep(m, s=0)[0], der=1), np.stack([_A, _B]), _AT),
]  # fmt: skip
