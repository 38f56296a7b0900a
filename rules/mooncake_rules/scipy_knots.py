"""scipy.interpolate: all derivatives of a spline, knots inserted into it, the Bernstein basis, polynomials of several
arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _fitpack_impl, _ppoly
from scipy.special import comb

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_
from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import taken_back
from mooncake_rules.mirror import mirrors

# -- FITPACK's own ----------------------------------------------------------------------------------------


def within(x: float, t: np.ndarray, k: int) -> bool:
    return bool(t[k] <= x <= t[-k - 1])


def interval(x: float, t: np.ndarray, k: int) -> int:
    """Which knot begins the interval of x; the last knot is in the interval before it."""
    return int(np.searchsorted(t, x, "left" if x == t[-k - 1] else "right")) - 1


zero_derivative(within, interval)


@mirrors(sip.spalde, _fitpack_impl.spalde, types=(Any_, tuple))
@mirrors(sip.spalde, _fitpack_impl.spalde, types=(Any_, list))
def spalde(x, tck):
    t, c, k = tck
    if np.ndim(c[0]) > 0:
        return [spalde(x, (t, one, k)) for one in c]
    places = np.atleast_1d(x)
    if len(places) > 1:
        return [spalde(place, (t, c, k)) for place in places]
    return np.array([sip.splev(places[0], (t, c, k), der) for der in range(k + 1)])


@overlay(_fitpack_impl.insert)
def insert(x, tck, m=1, per=0):
    if per:
        raise NotDifferentiated("scipy.interpolate.insert into a periodic spline is not differentiated")
    t, c, k = tck
    if np.ndim(c[0]) > 0:
        pairs = [insert(x, (t, one, k), m) for one in c]
        return pairs[0][0], [pair[1] for pair in pairs], k
    if not within(x, t, k):
        raise ValueError("Invalid input data")
    for _ in range(m):
        t, c = with_knot(x, t, c, k)
        c = np.concatenate([c, np.zeros(k + 1)])
    return t, c, k


def with_knot(x, t, c, k):
    """Boehm's algorithm: W. Boehm, Inserting new knots into B-spline curves, 1980."""
    at = interval(x, t, k)
    share = (x - t[at - k + 1 : at + 1]) / (t[at + 1 : at + k + 1] - t[at - k + 1 : at + 1])
    share = np.reshape(share, (-1, *[1] * (np.ndim(c) - 1)))
    between = share * c[at - k + 1 : at + 1] + (1.0 - share) * c[at - k : at]
    c = np.concatenate([c[: at - k + 1], between, c[at : len(t) - k - 1]])
    return np.concatenate([t[: at + 1], np.reshape(x, 1), t[at + 1 :]]), c


@overlay(sip.BSpline.insert_knot)
def insert_knot(self, x, m=1):
    t, c, k = self.t, self.c, self.k
    if self.extrapolate == "periodic" or self.axis != 0:
        raise NotDifferentiated("BSpline.insert_knot is differentiated along axis 0, and not for periodic splines")
    if not within(x, t, k):
        raise ValueError(f"Cannot insert a knot at {x}.")
    if m <= 0:
        raise ValueError(f"`m` must be positive, got {m = }.")
    for _ in range(m):
        t, c = with_knot(x, t, c, k)
    return sip.BSpline(t, c, k, self.extrapolate)


# -- other bases ------------------------------------------------------------------------------------------


@overlay(sip.BPoly.from_power_basis.__func__)
def from_power_basis(cls, pp, extrapolate=None):
    if not isinstance(pp, sip.PPoly):
        raise TypeError(f".from_power_basis only accepts PPoly instances. Got {type(pp)} instead.")
    if pp.axis != 0:
        raise NotDifferentiated("BPoly.from_power_basis is differentiated for polynomials along axis 0")
    c, x = pp.c, pp.x
    k = len(c) - 1
    h = np.reshape(np.diff(x), (-1, *[1] * (np.ndim(c) - 2)))
    out = np.zeros_like(c)
    for a in range(k + 1):
        factor = c[a] / comb(k, k - a) * h ** (k - a)
        for j in range(k - a, k + 1):
            out[j] += factor * comb(j, k - a)
    return cls(out, x, pp.extrapolate if extrapolate is None else extrapolate)


# -- several arguments ------------------------------------------------------------------------------------


def powers(s: np.ndarray, k: int, nu: int) -> np.ndarray:
    """The nu-th derivatives of s^(k - 1), ..., s, 1: one row for each place."""
    out = np.zeros((len(s), k))
    for j in range(k):
        p = k - 1 - j
        if p >= nu:
            out[:, j] = np.prod(np.arange(p, p - nu, -1.0)) * s ** (p - nu)
    return out


def outer_rows(factors: list[np.ndarray]) -> np.ndarray:
    out = factors[0]
    for f in factors[1:]:
        out = (out[:, :, None] * f[:, None, :]).reshape(len(out), -1)
    return out


def several_cotangents(c: np.ndarray, knots: Any, ks: Any, x: np.ndarray, nu: Any, t: np.ndarray) -> Any:
    """Of coefficients, breakpoints and places."""
    n = len(knots)
    where = [np.clip(np.searchsorted(k, x[:, d], "right") - 1, 0, len(k) - 2) for d, k in enumerate(knots)]
    piece = np.ravel_multi_index(where, [len(k) - 1 for k in knots])
    steps = [x[:, d] - knots[d][where[d]] for d in range(n)]
    factors = [powers(steps[d], ks[d], nu[d]) for d in range(n)]
    dc = np.zeros(c.shape, np.result_type(c, t))
    np.add.at(dc.swapaxes(0, 1), piece, outer_rows(factors)[:, :, None] * t[:, None, :])
    dx, dknots = np.zeros(x.shape), []
    for d in range(n):
        rows = outer_rows([*factors[:d], powers(steps[d], ks[d], nu[d] + 1), *factors[d + 1 :]])
        dx[:, d] = np.einsum("nw,wnv,nv->n", rows, np.conjugate(c[:, piece]), t).real
        dknots.append(np.zeros(len(knots[d])))
        np.add.at(dknots[d], where[d], -dx[:, d])
    return dc if c.dtype.kind == "c" else dc.real, tuple(dknots), dx


_several: Any = _ppoly.evaluate_nd


@rrule(_several, mutates=(6,))
def evaluate_several(c, xs, ks, x, nu, extrapolate, out: CoDual):
    old = out.primal.copy()
    _several(c, xs, ks, x, nu, extrapolate, out.primal)

    def pullback(_):
        t = taken_back(out, old)
        if t is None:
            return None
        if not extrapolate:
            inside = np.all([(x[:, d] >= k[0]) & (x[:, d] <= k[-1]) for d, k in enumerate(xs)], axis=0)
            t = np.where(inside[:, None], t, 0.0)
        dc, dknots, dx = several_cotangents(c, xs, ks, x, nu, t)
        return dc, dknots, None, dx, None, None, None

    return None, pullback


# -- cases ------------------------------------------------------------------------------------------------

_X = np.linspace(0.0, 3.0, 9)
_Y = np.sin(_X) + 0.2 * _X
_C = np.cos(np.arange(24.0)).reshape(2, 3, 2, 1, 2)
_AT = np.array([[0.3, 0.7], [1.5, 1.9], [2.4, -0.2]])


def _all_derivatives(y, x):
    tck = sip.splrep(_X, y)
    return np.array(sip.spalde(x, tck)), np.array(sip.spalde(1.1, (tck[0], [tck[1], tck[1] ** 2], 3)))


def _inserted(y, x):
    t, c, k = sip.insert(x, sip.splrep(_X, y), 2)
    _, (d, e), _ = sip.insert(0.4, (t, [c, 2.0 * c], k))
    return t, c[:-4], d[:-4], e[:-4], sip.splev(_X[1:4], (t, c * np.cos(np.arange(len(c))), k))


def _several_arguments(c, u, x):
    p = sip.NdPPoly(c, (u, np.array([0.0, 2.0])))
    return p(x), p(x, nu=(1, 1)), p(x[:2], extrapolate=False)


CASES: list[RuleCase] = [
    case(_all_derivatives, _Y, np.array([0.2, 1.3])), case(_inserted, _Y, 1.3), case(_inserted, _Y, 2.97),
    case(lambda y, x: sip.make_interp_spline(_X, np.stack([y, y**2], 1)).insert_knot(x, 2)(_X[1:4]), _Y, 1.3),
    case(lambda c, x: sip.BPoly.from_power_basis(sip.PPoly(c, x))(_X), _C.reshape(4, 2, 3), np.array([0.0, 0.7, 2.0])),
    case(_several_arguments, _C, np.array([0.0, 1.2, 2.0]), _AT),
    case(lambda c, x: sip.NdPPoly(c * (1 + 0.3j), (np.array([0.0, 1.2, 2.0]), np.array([0.0, 2.0])))(x), _C, _AT),
]  # fmt: skip
if "c" in vars(sip.BPoly):  # an older SciPy's integrals write into the polynomial
    CASES += [case(lambda c: sip.NdPPoly(c, (_X[:3], _X[:2])).integrate([[0.2, 0.9], [0.1, 0.3]]), _C)]
