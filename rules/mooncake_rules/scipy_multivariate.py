"""scipy.stats: densities of several variables, by covariance matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st
from scipy.stats import _multivariate as scipy_multivariate
from scipy.stats import _qmvnt

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.stop import no_diff
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_decompositions import one_triangle
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_noncentral import corner_density, corner_slope

# -- the normal distribution ------------------------------------------------------------------------------


_SMALL = 1e6 * np.finfo(float).eps  # below this part of the greatest, SciPy takes an eigenvalue for zero


def _normal_cotangents(dy: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> tuple[Any, ...]:
    """Of the log density; of the covariance matrix the lower triangle is read.

    A singular matrix has its pseudoinverse, as in the density: the derivative is that on matrices of the same rank.
    """
    if isinstance(cov, st.Covariance):
        raise NotDifferentiated("multivariate_normal is differentiated by covariance matrices, not Covariance objects")
    m = np.zeros(0) if mean is None else np.asarray(mean, float)
    c = np.asarray(cov, float)
    dim = m.size or (c.shape[0] if c.ndim else 1)
    matrix = c * np.eye(dim) if c.ndim < 2 else np.tril(c) + np.tril(c, -1).T
    points = np.asarray(x, float)
    points = points[..., None] if dim == 1 and points.ndim and points.shape[-1:] != (1,) else points
    dev = np.atleast_1d(points) - (m.reshape(-1) if m.size else 0.0)
    weight = np.broadcast_to(np.asarray(dy, float), dev.shape[:-1])[..., None]
    if allow_singular:
        inverse = np.linalg.pinv(matrix, rcond=_SMALL, hermitian=True)
    else:
        inverse = np.linalg.inv(matrix)
    a = dev @ inverse
    flat, w = a.reshape(-1, dim), weight.reshape(-1, 1)
    dm = ((flat * w).T @ flat - np.sum(w) * inverse) / 2
    dcov: Any = one_triangle(dm, True) if c.ndim == 2 else np.diag(dm).copy() if c.ndim else np.trace(dm)
    dx = -(weight * a)
    dx = dx.reshape(np.shape(x))
    dmean = None if mean is None else np.sum(flat * w, axis=0).reshape(np.shape(mean))
    return None, fitted(dx, x), None if mean is None else fitted(dmean, mean), fitted(dcov, cov)


def _multivariate(cls: type, log: bool) -> None:
    f = getattr(cls, "logpdf" if log else "pdf")

    @rrule(f)
    def rule(self, x, mean=None, cov=1, allow_singular=False):
        y = f(self, x, mean, cov, allow_singular)

        def pullback(dy):
            return _normal_cotangents(dy if log else dy * y, x, mean, cov, allow_singular)

        return y, pullback


_multivariate(type(st.multivariate_normal), True)
_multivariate(type(st.multivariate_normal), False)

# -- others, and those that hold a matrix -----------------------------------------------------------------

_PSD = scipy_multivariate._PSD


def plain_parts(*given: Any) -> tuple[Any, ...]:
    known = _PSD(*given)
    return known.eps, known.V, known.rank, known.U, known.log_pdet, known.pinv


zero_derivative(plain_parts)


@overlay(_PSD.__init__)
def decomposed(self, M, cond=None, rcond=None, lower=True, check_finite=True, allow_singular=True):
    """A root U of the inverse, from eigenvectors that are not determined where eigenvalues are equal.

    What is made of U does not change where it is rotated, so that its derivative may be that of any root: it is
    -P dM U / 2 with the inverse P.
    """
    m = np.asarray(M)
    eps, null, rank, root, log_pdet, inverse = plain_parts(m, cond, rcond, lower, check_finite, allow_singular)
    half = np.tril(m) if lower else np.triu(m).T
    whole = half + np.tril(half, -1).T
    step = whole - no_diff(whole)
    self._M = m
    self.eps = eps
    self.V = null
    self.rank = rank
    self.U = root - 0.5 * (inverse @ step @ root)
    self.log_pdet = log_pdet + np.sum(inverse * step)
    self._pinv = None


# -- probabilities of rectangles --------------------------------------------------------------------------


if not isinstance(_qmvnt._bvnu, np.ufunc):  # before SciPy 1.18

    @rrule(_qmvnt._bvnu)
    def corner(a, b, r):
        def pullback(dy):
            return dy * corner_slope(a, b, r), dy * corner_slope(b, a, r), dy * corner_density(a, b, r)

        return _qmvnt._bvnu(a, b, r), pullback


def in_units(x, s):
    """x / s; what is infinite stays so whatever s is."""
    return x / s if np.isfinite(x) else x


@overlay(_qmvnt._bvn)
def rectangle(a, b, A):
    s, t = np.sqrt(A[0, 0]), np.sqrt(A[1, 1])
    r = A[0, 1] / (s * t)
    low, high = (in_units(a[0], s), in_units(a[1], t)), (in_units(b[0], s), in_units(b[1], t))
    above = _qmvnt._bvnu
    p = above(*low, r) - above(high[0], low[1], r) - above(low[0], high[1], r) + above(*high, r)
    return max(0.0, min(p, 1.0))


# -- the inverse Wishart distribution ---------------------------------------------------------------------


@mirrors(type(st.invwishart)._logpdf)
def inverse_wishart(self, x, dim, df, log_det_scale, C):
    """The matrices stand along the last axis of x; C is the Cholesky factor of the scale."""
    logs, traces = [], []
    for i in range(x.shape[-1]):
        factor = np.linalg.cholesky(x[:, :, i])
        logs.append(2.0 * np.sum(np.log(np.diagonal(factor))))
        traces.append(np.sum(np.linalg.solve(factor, C) ** 2))
    out = 0.5 * df * log_det_scale - 0.5 * np.array(traces) - 0.5 * (df + dim + 1) * np.array(logs)
    return out - 0.5 * df * dim * np.log(2.0) - sc.multigammaln(0.5 * df, dim)


# -- cases ------------------------------------------------------------------------------------------------

_SOME = np.array([[0.3, -0.5], [1.2, 0.4], [0.1, 0.1]])
_EQUAL = np.array([[1.5, 0.4, 0.4], [0.4, 1.5, 0.4], [0.4, 0.4, 1.5]])  # two of its eigenvalues are equal


def _held(x: Any, m: Any, c: Any) -> Any:
    c = (c + c.T) / 2
    return st.multivariate_normal(m, c).logpdf(x), st.multivariate_t.logpdf(x, m, c, df=4)


CASES: list[RuleCase] = [
    case(lambda x, m, c: st.multivariate_normal.cdf(x, m, (c + c.T) / 2), _SOME[0], _SOME[1], _EQUAL[:2, :2]),
    case(lambda s, n: st.wishart.logpdf(_EQUAL, n, np.eye(3) * s), 1.3, 4.5),
    case(lambda x, n, s: st.invwishart.logpdf(x, n, s), _EQUAL, 4.5, _EQUAL + np.diag([0.3, 0.1, 0.2])),
    case(lambda x: st.invwishart.pdf(np.stack([x, 2.0 * x], -1), 5, np.eye(3)), _EQUAL),
    case(lambda x, n, s: st.invwishart(n, s).logpdf(x), 0.7, 2.5, 1.2),
    case(_held, np.array([[0.3, -0.5, 0.7], [1.2, 0.4, 0.2]]), np.array([0.1, 0.2, 0.3]), _EQUAL),
    case(lambda x, c: st.matrix_normal.logpdf(x, rowcov=(c + c.T) / 2), _EQUAL[:, :1] * 0.7, _EQUAL),
    *[case(lambda x, m, c, f=f: f(x, m, c), _SOME, _SOME[0], np.array([[1.3, 0.2], [0.2, 0.8]]))
      for f in (st.multivariate_normal.logpdf, st.multivariate_normal.pdf)],
    case(lambda x, m: st.multivariate_normal.logpdf(x, m, 0.7), _SOME[0], _SOME[1]),
    case(lambda x, m, c: st.multivariate_normal.logpdf(x, mean=m, cov=c), _SOME[0], _SOME[1], np.array([0.5, 1.2])),
    case(lambda x, m, c: st.multivariate_normal.logpdf(x, mean=m, cov=c), 0.4, 0.5, 1.2),
    case(lambda x: st.multivariate_normal.logpdf(x), np.array([0.4, 0.7])),
    case(
        lambda s, m: st.multivariate_normal.logpdf(np.array([1.0, 2.0]) * s, m * np.array([1.0, 2.0]),
                                                   np.array([[1.0, 2.0], [2.0, 4.0]]), allow_singular=True),
        0.7, 0.2,
    ),
]  # fmt: skip
