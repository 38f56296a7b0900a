"""scipy.special: elliptic integrals and functions, hypergeometric functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_elementwise import Entry, elementwise, keep, register_table, sum_of
from mooncake_rules.scipy_series import hyp0f1_slope, hyp1f1_slope, hyp2f1_slope

E = Entry
_PI = math.pi


def elliptic_gap(m: Any) -> Any:
    """(K(m) - E(m)) / m, by Carlson's R_D: nothing cancels at m = 0."""
    return sc.elliprd(0.0, 1.0 - m, 1.0) / 3.0


def elliptic_gap_inc(phi: Any, m: Any) -> Any:
    """(F(phi, m) - E(phi, m)) / m; beyond pi / 2 with whole half-periods."""
    turns = np.rint(phi / _PI)
    rest = phi - turns * _PI
    s, c = np.sin(rest), np.cos(rest)
    inc = s**3 * sc.elliprd(c * c, 1.0 - m * s * s, 1.0) / 3.0
    return inc + np.where(turns == 0, 0.0, 2.0 * turns * elliptic_gap(m))


def ellipk_slope(p: Any) -> Any:
    """By m = 1 - p: the integral of sin(t)^2 / (2 (1 - m sin(t)^2)^(3/2)) over a quarter of a period."""
    return sc.elliprd(0.0, 1.0, p) / 6.0


def ellipkinc_slope(phi: Any, m: Any) -> Any:
    """The same integral up to phi."""
    turns = np.rint(phi / _PI)
    rest = phi - turns * _PI
    s, c = np.sin(rest), np.cos(rest)
    inc = s**3 * sc.elliprd(c * c, 1.0, 1.0 - m * s * s) / 6.0
    return inc + np.where(turns == 0, 0.0, 2.0 * turns * ellipk_slope(1.0 - m))


def carlson_slope(f: Any, k: int, *xs: Any) -> Any:
    """By argument k, with a complex step: formulas lose digits where two arguments are near each other."""
    h = 1e-20 * xs[k]
    with np.errstate(invalid="ignore"):
        slope = f(*xs[:k], xs[k] + 1j * h, *xs[k + 1 :]).imag / h
    return np.where(xs[k] == 0, np.inf if f is sc.elliprg else -np.inf, slope)


def elliprj_slope(k: int, x: Any, y: Any, z: Any, p: Any) -> Any:
    """Of p < 0, where it is a principal value, by partial fractions of the integrand; p is near no other then."""
    j = sc.elliprj(x, y, z, p)
    parts = [(j - sc.elliprd(b, c, a)) / (2.0 * (p - a)) for a, b, c in ((x, y, z), (y, z, x), (z, x, y))]
    parts.append(-(1.5 * j + sum(a * d for a, d in zip((x, y, z), parts, strict=True))) / p)

    def at(t: float) -> Any:
        return carlson_slope(sc.elliprj, k, x, y, z, np.abs(p) * t)

    slope = at(1.0)
    near = sum(np.abs(a - p) < 1e-5 * np.abs(p) for a in (x, y, z))
    if np.any(near):  # SciPy's value is good there, but not as a function of complex numbers
        slope = np.where(near, (4.0 * (at(0.999) + at(1.001)) - at(0.998) - at(1.002)) / 6.0, slope)
    return np.where(p < 0, parts[k], slope)


def _by_carlson(f: Any, k: int) -> Any:
    return lambda x, z, w, y: carlson_slope(f, k, x, z, w)


def _by_elliprj(k: int) -> Any:
    return lambda x, z, w, p, y: elliprj_slope(k, x, z, w, p)


def agm_slope(a: Any, b: Any, y: Any) -> Any:
    """By a, of pi (a + b) / (4 K(m)) with 1 - m = 4 a b / (a + b)^2; where one of them is zero, so is the mean."""
    s = a + b
    p = 4.0 * (a / s) * (b / s)
    with np.errstate(all="ignore"):
        slope = y / s * (1.0 - ellipk_slope(p) / sc.ellipkm1(p) * 4.0 * (b / s) * ((a - b) / s))
    return np.where((a == 0) & (b != 0), np.inf, np.where((b == 0) & (a != 0), 0.0, slope))[()]


def _by_hyp2f1(k: int) -> Any:
    return lambda a, b, c, z, y: hyp2f1_slope(k, a, b, c, z, y)


_ELLIPTIC = [
    E("ellipk", (lambda m, y: ellipk_slope(1.0 - m),), (0.4,)),
    E("ellipkm1", (lambda p, y: -ellipk_slope(p),), (0.4,)),
    E("ellipe", (lambda m, y: -0.5 * elliptic_gap(m),), (0.4,)),
    E("ellipkinc", (lambda f, m, y: 1.0 / np.sqrt(1.0 - m * np.square(np.sin(f))),
                    lambda f, m, y: ellipkinc_slope(f, m)), (0.7, 0.4)),
    E("ellipeinc", (lambda f, m, y: np.sqrt(1.0 - m * np.square(np.sin(f))),
                    lambda f, m, y: -0.5 * elliptic_gap_inc(f, m)), (0.7, 0.4)),
    E("elliprf", (lambda x, z, w, y: -sc.elliprd(z, w, x) / 6.0, lambda x, z, w, y: -sc.elliprd(x, w, z) / 6.0,
                  lambda x, z, w, y: -sc.elliprd(x, z, w) / 6.0), (0.7, 1.3, 2.1), True),
    E("elliprc", (lambda x, z, y: np.where(z < 0, (y - 1.0 / np.sqrt(x)) / (2.0 * (z - x)), -sc.elliprd(z, z, x) / 6.0),
                  lambda x, z, y: np.where(z < 0, (np.sqrt(x) / z - y) / (2.0 * (z - x)), -sc.elliprd(x, z, z) / 3.0)),
      (0.7, 1.3)),
    *[E(f.__name__, tuple([_by_carlson(f, k) for k in range(3)]), (0.7, 1.3, 2.1)) for f in (sc.elliprd, sc.elliprg)],
    E("elliprj", tuple([_by_elliprj(k) for k in range(4)]), (0.7, 1.3, 2.1, 0.7)),
    E("agm", (lambda a, b, y: agm_slope(a, b, y), lambda a, b, y: agm_slope(b, a, y)), (0.7, 1.3)),
    E("hyp0f1", (lambda v, z, y: hyp0f1_slope(v, z, y), lambda v, z, y: sc.hyp0f1(v + 1.0, z) / v), (2.3, 0.7), True),
    E("hyp1f1", (lambda a, b, x, y: hyp1f1_slope(0, a, b, x, y), lambda a, b, x, y: hyp1f1_slope(1, a, b, x, y),
                 lambda a, b, x, y: a / b * sc.hyp1f1(a + 1.0, b + 1.0, x)), (1.7, 3.1, 0.7), True),
    E("hyperu", (None, None, lambda a, b, x, y: -a * sc.hyperu(a + 1.0, b + 1.0, x)), (2, 3, 0.7)),
    E("hyp2f1", (*[_by_hyp2f1(k) for k in range(3)],
                 lambda a, b, c, z, y: a * b / c * sc.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z)),
      (1.7, 0.6, 3.1, 0.4), True),
    E("wright_bessel", (None, None, lambda a, b, x, y: sc.wright_bessel(a, a + b, x)), (2, 3, 0.7)),
    E("log_wright_bessel",
      (None, None, lambda a, b, x, y: np.exp(sc.log_wright_bessel(a, a + b, x) - y)), (2, 3, 0.7)),
]  # fmt: skip


def ellipj_slopes(u: Any, m: Any, y: Any) -> tuple[Any, Any]:
    """The derivatives of sn, cn, dn and the amplitude, by u and by m."""
    sn, cn, dn, ph = y
    dph = -dn * ellipkinc_slope(ph, m)
    ddn = -(sn * sn + 2.0 * m * sn * cn * dph) / (2.0 * dn)
    return (cn * dn, -sn * dn, -m * sn * cn, dn), (cn * dph, -sn * dph, ddn, dph)


@elementwise(sc.ellipj, 2)
def ellipj(u, m):
    y = sc.ellipj(u, m)
    su, sm = keep(u), keep(m)

    def pullback(dy):
        by_u, by_m = ellipj_slopes(u, m, y)
        return sum_of(list(zip(dy, by_u, strict=True)), u, su), sum_of(list(zip(dy, by_m, strict=True)), m, sm)

    return y, pullback


pure.update({
    elliptic_gap, elliptic_gap_inc, ellipk_slope, ellipkinc_slope, carlson_slope, elliprj_slope, agm_slope,
    ellipj_slopes, hyp0f1_slope, hyp1f1_slope, hyp2f1_slope,
})  # fmt: skip

CASES: list[RuleCase] = register_table(sc, _ELLIPTIC)

_P = np.array([0.4, 1.3, 2.2])
CASES += [case(sc.ellipj, 0.7, 0.4), case(sc.ellipj, _P, np.array([[0.2], [0.6]])), case(sc.ellipj, _P * 3, 0.4)]
CASES += [case(sc.ellipj, 0.7, [0.2, 0.6])]
CASES += [case(lambda b: sc.agm(0.0, b), 0.7), case(lambda a: sc.agm(a, 0.0), 0.7)]
_P, _Q, _R = np.array([0.3, 2.6, -1.4, 0.0]), np.array([1.7, -0.4, 6.0, -2.0]), np.array([2.4, 3.7, 0.8, 1.3])
CASES += [
    *[case(sc.hyp2f1, _P, _Q, _R, z) for z in (-7.3, -0.6, 0.3, 0.93)],
    case(lambda a, b, c: sc.hyp2f1(a, b, c, 1.0), 0.3, 0.4, np.array([1.7, 2.9])),
    *[case(sc.hyp1f1, _P, _R, z) for z in (-12.0, -0.7, 9.0)],
    *[case(sc.hyp0f1, _R, z) for z in (-4.0, 25.0)],
]
