"""scipy.stats.gaussian_kde: the sums of Gaussian kernels that its Python code has in C.

The density at the points is a sum over the data: exp(-|L^-1 (x_i - z_j)|^2 / 2) / ((2 pi)^(d/2) |L|) weighs the values,
with L the Cholesky factor of the kernel's covariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st
from scipy.linalg import solve_triangular
from scipy.stats import _stats

from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors


def exponents(points, xi, cho_cov):
    """The logarithm of every data point's kernel at every point of xi."""
    at, data = (solve_triangular(cho_cov, p.T, lower=True).T for p in (xi, points))
    apart = at[:, None, :] - data[None, :, :]
    norm = 0.5 * xi.shape[1] * np.log(2.0 * np.pi) + np.sum(np.log(np.diag(cho_cov)))
    return -0.5 * np.sum(apart * apart, axis=-1) - norm


def estimate(points, values, xi, cho_cov, dtype):
    return np.exp(exponents(points, xi, cho_cov)) @ values


def log_estimate(points, values, xi, cho_cov, dtype):
    e = exponents(points, xi, cho_cov)
    top = np.max(e, axis=1, keepdims=True)
    return np.log(np.exp(e - top) @ values) + top


def _kinds(name: str) -> list[Any]:
    """The compiled versions of one function, for every class of floats."""
    return list(getattr(getattr(_stats, name, None), "__signatures__", {}).values())


for _name, _g in (("gaussian_kernel_estimate", estimate), ("gaussian_kernel_estimate_log", log_estimate)):
    mirrors(*_kinds(_name))(_g)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.3, 1.2, -0.5, 0.9, 2.1, 1.4])
_W = np.array([0.2, 0.5, 0.9, 1.4, 1.2, 0.3])
_Q = np.array([0.1, 0.7, 1.9])
_D = np.array([[0.3, 1.2, -0.5, 0.9, 2.1, 1.4], [0.7, -1.1, 0.2, 0.8, 0.1, 1.6]])


def _estimated(x, q):
    k = st.gaussian_kde(x)
    return k(q), k.logpdf(q), k.integrate_box_1d(-1.0, 1.2)


CASES: list[RuleCase] = [
    case(_estimated, _X, _Q), case(lambda x, w, q: st.gaussian_kde(x, weights=w).pdf(q), _X, _W, _Q),
    case(lambda x, h, q: st.gaussian_kde(x, bw_method=h)(q), _X, 0.4, _Q),
    case(lambda x, q: st.gaussian_kde(x, "silverman").evaluate(q), _D, _D[:, :2] + 0.1),
]  # fmt: skip
