"""scipy.stats: the Gauss hypergeometric distribution, by all of its parameters.

Its norm is a hypergeometric function, whose derivatives by parameters SciPy lacks: those of its logarithm
are means, over the distribution, of the logarithms in the density.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_elementwise import elementwise, keep, onto

_NODES = 400


def log_norm(a: Any, b: Any, c: Any, z: Any) -> Any:
    """The logarithm of the integral of x^(a-1) (1-x)^(b-1) (1+zx)^-c from 0 to 1."""
    return sc.betaln(a, b) + np.log(sc.hyp2f1(c, a, a + b, -np.asarray(z)))


def norm_slopes(a: Any, b: Any, c: Any, z: Any) -> tuple[Any, ...]:
    """By all four, at places u of log(x / (1 - x)) that are further apart where the density only falls."""
    a, b, c, z = np.broadcast_arrays(*[np.asarray(v, float) for v in (a, b, c, z)])
    end = np.arcsinh(40.0 / np.minimum(np.minimum(a, b), 1.0))
    v = np.linspace(-1.0, 1.0, _NODES).reshape(-1, *[1] * a.ndim) * end
    u = np.sinh(v)
    log_x, log_rest = -np.logaddexp(0.0, -u), -np.logaddexp(0.0, u)
    x = np.exp(log_x)
    log_last = np.log1p(z * x)
    log = a * log_x + b * log_rest - c * log_last
    w = np.exp(log - np.max(log, axis=0)) * np.cosh(v)
    w = w / np.sum(w, axis=0)
    last = np.sum(w * log_last, axis=0), np.sum(w * x / (1.0 + z * x), axis=0)
    return np.sum(w * log_x, axis=0), np.sum(w * log_rest, axis=0), -last[0], -c * last[1]


pure.update({log_norm, norm_slopes})


@elementwise(log_norm, 4)
def _log_norm(a, b, c, z):
    y = log_norm(a, b, c, z)
    sa, sb, sc_, sz = keep(a), keep(b), keep(c), keep(z)

    def pullback(dy):
        da, db, dc, dz = norm_slopes(a, b, c, z)
        return onto(dy * da, a, sa), onto(dy * db, b, sb), onto(dy * dc, c, sc_), onto(dy * dz, z, sz)

    return y, pullback


def density(self, x, a, b, c, z):
    return np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - c * np.log1p(z * x) - log_norm(a, b, c, z))


def moment(self, n, a, b, c, z):
    return np.exp(log_norm(n + a, b, c, z) - log_norm(a, b, c, z))


_Gauss: Any = type(st.gausshyper)
mirrors(_Gauss._pdf)(density)
mirrors(_Gauss._munp)(moment)

_A = np.array([1.4, 0.6])

CASES: list[RuleCase] = [
    case(log_norm, _A, 2.3, 1.2, 0.7), case(log_norm, 1.4, 2.3, np.array([-0.7, 1.2]), np.array([[-0.6], [9.0]])),
    case(log_norm, 0.05, 0.08, 1.2, 0.7), case(log_norm, 30.0, 12.0, 1.2, 0.7),
    case(lambda x, a, b, c, z: st.gausshyper.pdf(x, a, b, c, z, loc=0.2), np.array([0.3, 0.8]), 1.4, 2.3, 1.2, 0.7),
    case(lambda a, b, c, z: st.gausshyper.logpdf(0.4, a, b, c, z), _A, 2.3, 1.2, 0.7),
    case(lambda x, a, z: st.gausshyper.cdf(x, a, 2.3, 1.2, z), np.array([0.3, 0.8]), 1.4, 0.7),
    case(lambda a, b: st.gausshyper.mean(a, b, 1.2, 0.7) * st.gausshyper.var(a, b, 1.2, 0.7), 1.4, 2.3),
]  # fmt: skip
