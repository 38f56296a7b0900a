"""scipy.stats: distributions at the bounds of their parameters, where SciPy has a formula of its own without them.

The functions here have the same value there, and the derivative from within.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import overlay
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written
from mooncake_rules.scipy_elementwise import elementwise, keep, onto

_NoncentralChi2: Any = type(st.ncx2)
_Triangle: Any = type(st.triang)
_Trapezoid: Any = type(st.trapezoid)
_Circle: Any = type(st.vonmises)
_Rice: Any = type(st.rice)
_TruncatedPareto: Any = getattr(st, "truncpareto", None)


def _noncentral(name: str, central: Callable[..., Any]) -> None:
    """`central`: the value where nc is 0, with the first term by nc."""
    written = as_written(getattr(_NoncentralChi2, name))

    @overlay(getattr(_NoncentralChi2, name))
    def of_chi2(self, x, df, nc):
        none = nc == 0
        if not np.any(none):
            return written(self, x, df, nc)
        return np.where(none, central(x, df, nc), written(self, x, df, np.where(none, 1.0, nc)))


_noncentral("_logpdf", lambda x, df, nc: st.chi2._logpdf(x, df) + 0.5 * nc * (x / df - 1.0))
_noncentral("_pdf", lambda x, df, nc: st.chi2._pdf(x, df) * (1.0 + 0.5 * nc * (x / df - 1.0)))
_noncentral("_cdf", lambda x, df, nc: st.chi2._cdf(x, df) - nc * st.chi2._pdf(x, df + 2.0))
_noncentral("_sf", lambda x, df, nc: st.chi2._sf(x, df) + nc * st.chi2._pdf(x, df + 2.0))


def _rising(x: Any, c: Any) -> tuple[Any, Any, Any]:
    """Is x on the side that rises, and divisors for both sides."""
    rising = (x < c) | (c == 1)
    return rising, np.where(rising, c, 1.0), np.where(rising, 1.0, 1.0 - c)


@overlay(_Triangle._pdf)
def triangle_pdf(self, x, c):
    rising, up, down = _rising(x, c)
    return np.where(rising, 2.0 * x / up, 2.0 * (1.0 - x) / down)


@overlay(_Triangle._cdf)
def triangle_cdf(self, x, c):
    rising, up, down = _rising(x, c)
    return np.where(rising, x * x / up, 1.0 - (1.0 - x) ** 2 / down)


@overlay(_Trapezoid._munp)
def trapezoid_moment(self, n, c, d):
    """(1 - d^(n + 2)) / (1 - d) as the sum that it is."""
    slope = 1.0
    for _ in range(int(n) + 1):
        slope = slope * d + 1.0
    return 2.0 / (1.0 + d - c) * (slope - c ** (n + 1)) / ((n + 1) * (n + 2))


def scaled_i0(k: Any) -> Any:
    """The Bessel function I_0(k) exp(-k)."""
    return sc.i0e(k)


@elementwise(scaled_i0, 1)
def _scaled_i0(k):
    y = scaled_i0(k)
    s = keep(k)

    def pullback(dy):
        return onto(dy * (sc.i1e(k) - y), k, s)

    return y, pullback


@overlay(_Circle._pdf)
def circle_pdf(self, x, kappa):
    return np.exp(kappa * sc.cosm1(x)) / (2.0 * np.pi * scaled_i0(kappa))


@overlay(_Circle._entropy)
def circle_entropy(self, kappa):
    i0 = scaled_i0(kappa)
    return -kappa * sc.i1e(kappa) / i0 + np.log(2.0 * np.pi * i0) + kappa


@overlay(_Rice._pdf)
def rice_pdf(self, x, b):
    return x * np.exp(-0.5 * (x - b) * (x - b)) * scaled_i0(x * b)


if "_logpdf" in vars(_Circle):

    @overlay(_Circle._logpdf)
    def circle_logpdf(self, x, kappa):
        return kappa * sc.cosm1(x) - np.log(2.0 * np.pi) - np.log(scaled_i0(kappa))


def _truncated_pareto(cls: Any) -> None:
    @overlay(cls._munp)
    def moment(self, n, b, c):
        """Smooth where b = n: (c^b - c^n) / (b - n) is c^n log(c) (exp(z) - 1) / z with z = (b - n) log(c)."""
        log = np.log(c)
        return b * c**n * log * sc.exprel((b - n) * log) / (c**b - 1.0)


# -- cases --------------------------------------------------------------------------------------------------

_X = np.array([0.3, 0.6, 1.2])

CASES: list[RuleCase] = [
    case(lambda x, k, f=f: f(x, k, 0.0), _X, 3.0) for f in (st.ncx2.pdf, st.ncx2.logpdf, st.ncx2.cdf, st.ncx2.logsf)
]
CASES += [case(f, _X / 2.0, 0.4) for f in (st.triang.pdf, st.triang.cdf)]
CASES += [case(lambda d: st.trapezoid.stats(0.2, d, moments="mvs"), 0.7)]
CASES += [case(f, _X, 0.8) for f in (st.vonmises.pdf, st.vonmises.logpdf)] + [case(st.vonmises.entropy, 0.8)]
CASES += [case(st.rice.pdf, _X, 0.8)]
if _TruncatedPareto is not None:
    _truncated_pareto(type(_TruncatedPareto))
    CASES += [case(lambda b: st.truncpareto.stats(b, 5.0, moments="mvs"), b) for b in (1.0, 2.7)]
