"""scipy.special: distribution functions, losses, sums and norms of exponentials. Sources as in scipy_special."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array, Numeric
from mooncake_py.registry import infer_table, probed, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex, real_of
from mooncake_rules.inference import is_dtype
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_elementwise import Entry, keep, onto, register_table
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_shapes import (
    betainc_slope_a,
    betainc_slope_b,
    gammainc_slope,
)
from mooncake_rules.scipy_special import beta_density, exprel_slope, gamma_density
from mooncake_rules.sequences import also_of_sequences

E = Entry
_PI, _LN2, _LN10 = math.pi, math.log(2.0), math.log(10.0)
_ROOT_PI, _ROOT_2PI, _DEGREE = math.sqrt(math.pi), math.sqrt(2.0 * math.pi), math.pi / 180.0

# -- statistics and learning ------------------------------------------------------------------------------


def xlogy_slope(x: Any, z: Any) -> Any:
    """x / z, zero where x is: of x log z."""
    zero = x == 0
    return np.where(zero, 0.0, x / np.where(zero, 1.0, z))


def boxcox_slope(x: Any, lam: Any, log: Any) -> Any:
    """The derivative of (x^lam - 1) / lam by lam, with t = lam log x: (exp(t) (t - 1) + 1) / t^2 * log(x)^2."""
    return log * log * exprel_slope(lam * log)


def inv_boxcox_slope(x: Any, lam: Any) -> Any:
    """The derivative of log(1 + lam x) / lam by lam; its series near zero."""
    t = lam * x
    safe = np.where(np.abs(t) < 1e-2, 1.0, t)
    far = safe / (1.0 + safe) - np.log1p(safe)
    near = -0.5 + t * (2 / 3 + t * (-3 / 4 + t * (4 / 5 + t * (-5 / 6 + t * (6 / 7 - t * 7 / 8)))))
    return x * x * np.where(np.abs(t) < 1e-2, near, far / (safe * safe))


def t_density(df: Any, t: Any) -> Any:
    log = sc.gammaln((df + 1.0) / 2.0) - sc.gammaln(df / 2.0) - 0.5 * np.log(df * _PI)
    return np.exp(log - (df + 1.0) / 2.0 * np.log1p(t * t / df))


def t_shape_slope(df: Any, t: Any) -> Any:
    """The derivative of Student's distribution by df: for t < 0 it is I(df / 2, 1/2; df / (df + t^2)) / 2."""
    sign = np.sign(t)
    t = np.where(t == 0, 1.0, t)[()]  # the density is infinite at 0
    s = df + t * t
    x = df / s
    d = 0.5 * betainc_slope_a(df / 2.0, 0.5, x) + beta_density(df / 2.0, 0.5, x) * t * t / (s * s)
    return -0.5 * sign * d


def f_point(m: Any, n: Any, x: Any) -> Any:
    return m * x / (m * x + n)


def f_density(m: Any, n: Any, x: Any) -> Any:
    s = m * x + n
    return beta_density(m / 2.0, n / 2.0, m * x / s) * m * n / (s * s)


def f_slope_m(m: Any, n: Any, x: Any) -> Any:
    s = m * x + n
    z = m * x / s
    return 0.5 * betainc_slope_a(m / 2.0, n / 2.0, z) + beta_density(m / 2.0, n / 2.0, z) * n * x / (s * s)


def f_slope_n(m: Any, n: Any, x: Any) -> Any:
    s = m * x + n
    z = m * x / s
    return 0.5 * betainc_slope_b(m / 2.0, n / 2.0, z) - beta_density(m / 2.0, n / 2.0, z) * m * x / (s * s)


def binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """The derivative of the binomial distribution by p."""
    return -beta_density(np.floor(k) + 1.0, n - np.floor(k), p)


def poisson_slope(k: Any, m: Any) -> Any:
    return -np.exp(sc.xlogy(np.floor(k), m) - m - sc.gammaln(np.floor(k) + 1.0))


def tukey_density(y: Any, lam: Any) -> Any:
    """The density of Tukey's lambda distribution where its distribution function is y; zero beyond its support."""
    y = np.asarray(y)
    with np.errstate(divide="ignore"):
        return (y > 0) * (y < 1) / (np.power(y, lam - 1.0) + np.power(1.0 - y, lam - 1.0))


def tukey_slope(y: Any, lam: Any) -> Any:
    """The derivative by lambda of Tukey's distribution function: that of its inverse, (y^lam - (1-y)^lam) / lam."""
    y = np.asarray(y, float)
    inside = (y > 0) & (y < 1)
    u, v = np.log(np.where(inside, y, 0.5)), np.log1p(-np.where(inside, y, 0.5))
    return -tukey_density(y, lam) * (u * u * exprel_slope(lam * u) - v * v * exprel_slope(lam * v))


def kolmogorov_slope(x: Any) -> Any:
    """The derivative of 2 sum (-1)^(k-1) exp(-2 k^2 x^2); for small x by the dual sum."""
    x = np.asarray(x, dtype=float)
    k = np.arange(1, 30)
    big = np.maximum(x, 0.4)[..., None]
    far = -8.0 * np.sum((-1.0) ** (k - 1) * k * k * big * np.exp(-2.0 * k * k * big * big), -1)
    small = np.clip(x, 0.04, 1.0)[..., None]
    a = (2 * k - 1) ** 2 * _PI**2 / 8.0
    near = -_ROOT_2PI * np.sum(np.exp(-a / small**2) * (2.0 * a / small**4 - 1.0 / small**2), -1)
    return np.where(x > 0.6, far, np.where(x > 0.04, near, 0.0))


_SMIRNOV_SLOPE: Any = importlib.import_module("scipy.special._ufuncs")._smirnovp


def kolmogorov_curvature(x: Any) -> Any:
    """The second derivative, of the same sums."""
    x = np.asarray(x, dtype=float)
    k = np.arange(1, 30)
    big = np.maximum(x, 0.4)[..., None]
    squares = k * k * big * big
    far = np.sum((-1.0) ** (k - 1) * k * k * (32.0 * squares - 8.0) * np.exp(-2.0 * squares), -1)
    small = np.clip(x, 0.04, 1.0)[..., None]
    a = (2 * k - 1) ** 2 * _PI**2 / 8.0 / small**2
    near = -_ROOT_2PI * np.sum(np.exp(-a) * (4.0 * a * a - 10.0 * a + 2.0) / small**3, -1)
    return np.where(x > 0.6, far, np.where(x > 0.04, near, 0.0))


def log_ndtr_slope(x: Any, y: Any) -> Any:
    """The density over the distribution function: left of zero by the scaled function, as both are small there."""
    direct = np.exp(-0.5 * x * x - y) / _ROOT_2PI
    if is_complex(x):
        return direct
    return np.where(x < 0, 2.0 / _ROOT_2PI / sc.erfcx(-np.minimum(x, 0.0) * math.sqrt(0.5)), direct)


def pseudo_huber_slope(d: Any, r: Any) -> Any:
    """By d, of d^2 (s - 1) with s = sqrt(1 + (r / d)^2)."""
    q = np.square(r / d)
    s = np.sqrt(1.0 + q)
    return d * q / s * (q / np.square(s + 1.0))


_STATISTICS = [
    E("expit", (lambda x, y: y * sc.expit(-x),), (0.7,)),
    E("logit", (lambda x, y: 1.0 / (x * (1.0 - x)),), (0.7,)),
    E("log_expit", (lambda x, y: sc.expit(-x),), (0.7,)),
    E("softplus", (lambda x, y: sc.expit(x),), (0.7,)),
    E("xlogy", (lambda x, z, y: np.log(z), lambda x, z, y: xlogy_slope(x, z)), (0.7, 1.3), True),
    E("xlog1py", (lambda x, z, y: np.log1p(z), lambda x, z, y: xlogy_slope(x, 1.0 + z)), (0.7, 1.3), True),
    E("entr", (lambda x, y: -np.log(x) - 1.0,), (0.7,)),
    E("rel_entr", (lambda x, z, y: np.log(x / z) + 1.0, lambda x, z, y: -x / z), (0.7, 1.3)),
    E("kl_div", (lambda x, z, y: np.log(x / z), lambda x, z, y: 1.0 - x / z), (0.7, 1.3)),
    E("huber", (lambda d, r, y: np.maximum(np.abs(r) - d, 0.0), lambda d, r, y: np.clip(r, -d, d)), (0.7, 1.3)),
    E("pseudo_huber", (lambda d, r, y: pseudo_huber_slope(d, r),
                       lambda d, r, y: r / np.sqrt(1.0 + np.square(r / d))), (0.7, 1.3)),
    E("boxcox", (lambda x, p, y: np.power(x, p - 1.0), lambda x, p, y: boxcox_slope(x, p, np.log(x))), (1.3, 0.7)),
    E("boxcox1p", (lambda x, p, y: np.power(1.0 + x, p - 1.0), lambda x, p, y: boxcox_slope(x, p, np.log1p(x))),
      (1.3, 0.7)),
    E("inv_boxcox", (lambda x, p, y: y / (1.0 + p * x), lambda x, p, y: y * inv_boxcox_slope(x, p)), (1.3, 0.7)),
    E("inv_boxcox1p", (lambda x, p, y: (1.0 + y) / (1.0 + p * x), lambda x, p, y: (1.0 + y) * inv_boxcox_slope(x, p)),
      (1.3, 0.7)),
    E("ndtr", (lambda x, y: np.exp(-0.5 * x * x) / _ROOT_2PI,), (0.7,), True),
    E("log_ndtr", (lambda x, y: log_ndtr_slope(x, y),), (-0.7,), True),
    E("ndtri", (lambda x, y: _ROOT_2PI * np.exp(0.5 * y * y),), (0.7,)),
    E("ndtri_exp", (lambda x, y: 1.0 / log_ndtr_slope(y, x),), (-0.7,)),
    E("stdtr", (lambda df, t, y: t_shape_slope(df, t), lambda df, t, y: t_density(df, t)), (3.3, 0.7)),
    E("stdtrit", (lambda df, p, y: -t_shape_slope(df, y) / t_density(df, y), lambda df, p, y: 1.0 / t_density(df, y)),
      (3.3, 0.7)),
    E("chdtr", (lambda v, x, y: 0.5 * gammainc_slope(v / 2.0, x / 2.0),
                lambda v, x, y: 0.5 * gamma_density(v / 2.0, x / 2.0)), (3.3, 1.7)),
    E("chdtrc", (lambda v, x, y: -0.5 * gammainc_slope(v / 2.0, x / 2.0),
                 lambda v, x, y: -0.5 * gamma_density(v / 2.0, x / 2.0)), (3.3, 1.7)),
    E("chdtri", (lambda v, p, y: -gammainc_slope(v / 2.0, y / 2.0) / gamma_density(v / 2.0, y / 2.0),
                 lambda v, p, y: -2.0 / gamma_density(v / 2.0, y / 2.0)), (3.3, 0.4)),
    E("gdtr", (lambda a, b, x, y: x * gamma_density(b, a * x), lambda a, b, x, y: gammainc_slope(b, a * x),
               lambda a, b, x, y: a * gamma_density(b, a * x)), (0.8, 1.3, 0.7)),
    E("gdtrc", (lambda a, b, x, y: -x * gamma_density(b, a * x), lambda a, b, x, y: -gammainc_slope(b, a * x),
                lambda a, b, x, y: -a * gamma_density(b, a * x)), (0.8, 1.3, 0.7)),
    E("gdtrix", (lambda a, b, p, y: -y / a,
                 lambda a, b, p, y: -gammainc_slope(b, a * y) / (a * gamma_density(b, a * y)),
                 lambda a, b, p, y: 1.0 / (a * gamma_density(b, a * y))), (0.8, 1.3, 0.4)),
    E("gdtria", (lambda p, b, x, y: 1.0 / (x * gamma_density(b, y * x)),
                 lambda p, b, x, y: -gammainc_slope(b, y * x) / (x * gamma_density(b, y * x)),
                 lambda p, b, x, y: -y / x), (0.4, 1.3, 0.7)),
    E("gdtrib", (lambda a, p, x, y: -x * gamma_density(y, a * x) / gammainc_slope(y, a * x),
                 lambda a, p, x, y: 1.0 / gammainc_slope(y, a * x),
                 lambda a, p, x, y: -a * gamma_density(y, a * x) / gammainc_slope(y, a * x)), (0.8, 0.4, 0.7)),
    E("btdtria", (lambda p, b, x, y: 1.0 / betainc_slope_a(y, b, x),
                  lambda p, b, x, y: -betainc_slope_b(y, b, x) / betainc_slope_a(y, b, x),
                  lambda p, b, x, y: -beta_density(y, b, x) / betainc_slope_a(y, b, x)), (0.4, 1.3, 0.7)),
    E("btdtrib", (lambda a, p, x, y: -betainc_slope_a(a, y, x) / betainc_slope_b(a, y, x),
                  lambda a, p, x, y: 1.0 / betainc_slope_b(a, y, x),
                  lambda a, p, x, y: -beta_density(a, y, x) / betainc_slope_b(a, y, x)), (1.3, 0.4, 0.3)),
    E("chdtriv", (lambda p, x, y: 2.0 / gammainc_slope(y / 2.0, x / 2.0),
                  lambda p, x, y: -gamma_density(y / 2.0, x / 2.0) / gammainc_slope(y / 2.0, x / 2.0)), (0.4, 1.7)),
    E("pdtr", (None, lambda k, m, y: poisson_slope(k, m)), (3, 2.2)),
    E("pdtrc", (None, lambda k, m, y: -poisson_slope(k, m)), (3, 2.2)),
    E("pdtri", (None, lambda k, p, y: 1.0 / poisson_slope(k, y)), (3, 0.4)),
    E("bdtr", (None, None, lambda k, n, p, y: binomial_slope(k, np.trunc(n), p)), (3, 7, 0.4)),
    E("bdtrc", (None, None, lambda k, n, p, y: -binomial_slope(k, np.trunc(n), p)), (3, 7, 0.4)),
    E("bdtri", (None, None, lambda k, n, q, y: 1.0 / binomial_slope(k, n, y)), (3, 7, 0.4)),
    E("nbdtr", (None, None, lambda k, n, p, y: beta_density(np.trunc(n), np.floor(k) + 1.0, p)), (3, 7, 0.4)),
    E("nbdtrc", (None, None, lambda k, n, p, y: -beta_density(np.trunc(n), np.floor(k) + 1.0, p)), (3, 7, 0.4)),
    E("nbdtri", (None, None, lambda k, n, q, y: 1.0 / beta_density(np.trunc(n), np.floor(k) + 1.0, y)), (3, 7, 0.4)),
    E("fdtr", (lambda m, n, x, y: f_slope_m(m, n, x), lambda m, n, x, y: f_slope_n(m, n, x),
               lambda m, n, x, y: f_density(m, n, x)), (3.3, 4.1, 0.7)),
    E("fdtrc", (lambda m, n, x, y: -f_slope_m(m, n, x), lambda m, n, x, y: -f_slope_n(m, n, x),
                lambda m, n, x, y: -f_density(m, n, x)), (3.3, 4.1, 0.7)),
    E("fdtri", (lambda m, n, p, y: -f_slope_m(m, n, y) / f_density(m, n, y),
                lambda m, n, p, y: -f_slope_n(m, n, y) / f_density(m, n, y),
                lambda m, n, p, y: 1.0 / f_density(m, n, y)), (3.3, 4.1, 0.7)),
    E("nrdtrimn", (lambda p, s, x, y: -s * _ROOT_2PI * np.exp(0.5 * np.square(sc.ndtri(p))),
                   lambda p, s, x, y: -sc.ndtri(p), lambda p, s, x, y: 1.0), (0.7, 1.3, 0.4)),
    E("nrdtrisd", (lambda m, p, x, y: -1.0 / sc.ndtri(p),
                   lambda m, p, x, y: -y * _ROOT_2PI * np.exp(0.5 * np.square(sc.ndtri(p))) / sc.ndtri(p),
                   lambda m, p, x, y: 1.0 / sc.ndtri(p)), (0.3, 0.7, 1.3)),
    E("tklmbda", (lambda x, p, y: tukey_density(y, p), lambda x, p, y: tukey_slope(y, p)), (0.3, 0.7)),
    E("kolmogorov", (lambda x, y: kolmogorov_slope(x),), (0.7,)),
    E("smirnov", (None, lambda n, x, y: _SMIRNOV_SLOPE(n, x)), (9, 0.31)),
    E("smirnovi", (None, lambda n, p, y: 1.0 / _SMIRNOV_SLOPE(n, y)), (9, 0.31)),
    E("kolmogi", (lambda p, y: 1.0 / kolmogorov_slope(y),), (0.7,)),
    E("owens_t", (lambda h, a, y: -sc.erf(a * h / math.sqrt(2.0)) * np.exp(-0.5 * h * h) / (2.0 * _ROOT_2PI),
                  lambda h, a, y: np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * _PI * (1.0 + a * a))), (0.7, 0.4)),
]  # fmt: skip

pure.update({
    xlogy_slope, boxcox_slope, inv_boxcox_slope, t_density, t_shape_slope, f_density, f_slope_m, f_slope_n,
    binomial_slope, poisson_slope, tukey_density, tukey_slope,
    kolmogorov_slope, kolmogorov_curvature, log_ndtr_slope, pseudo_huber_slope,
})  # fmt: skip

CASES: list[RuleCase] = register_table(sc, _STATISTICS)

# -- sums and norms of exponentials -----------------------------------------------------------------------


def _lifted(t: Any, ndim: int, axis: Any, keepdims: bool) -> Any:
    """A reduced array with the axes it lost."""
    t = np.asarray(t)
    if keepdims:
        return t
    axes = range(ndim) if axis is None else axis if type(axis) is tuple else (axis,)
    return np.expand_dims(t, tuple(k % ndim for k in axes)) if ndim else t


def logsumexp_cotangents(dy: Any, a: Any, b: Any, y: Any, sign: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """dy times the weights b exp(a - y) / sign; none where the sum is zero or infinite."""
    aa = np.asarray(a)
    bb = None if b is None else np.asarray(b)
    ndim = aa.ndim if bb is None else np.broadcast(aa, bb).ndim
    dy, y = _lifted(dy, ndim, axis, keepdims), _lifted(y, ndim, axis, keepdims)
    sign = 1.0 if sign is None else _lifted(sign, ndim, axis, keepdims)
    with np.errstate(invalid="ignore", over="ignore"):
        w = np.exp(np.where(np.isfinite(y), aa - y, -np.inf)) / sign
        db = None if bb is None else dy * np.conjugate(w)
        da = dy * np.conjugate(w if bb is None else np.where(bb == 0, 0, bb * w))
    return onto(da, a, keep(a)), None if b is None else fitted(real_of(db, bb), b)


pure.add(logsumexp_cotangents)


@rrule(sc.logsumexp, types=(Numeric,))
def logsumexp(a, axis=None, b=None, keepdims=False):
    y = sc.logsumexp(a, axis=axis, b=b, keepdims=keepdims)

    def pullback(dy):
        da, db = logsumexp_cotangents(dy, a, b, y, None, axis, keepdims)
        return da, None, db

    return y, pullback


@rrule(sc.logsumexp, types=(Numeric,))
def logsumexp_signed(a, axis=None, b=None, keepdims=False, return_sign=False):
    if not return_sign:
        return logsumexp(a, axis, b, keepdims)
    y = sc.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=True)

    def pullback(dy):
        if is_complex(a) or is_complex(b):
            raise NotDifferentiated("logsumexp of complex numbers is differentiated without return_sign")
        if dy[0] is None:
            return None
        da, db = logsumexp_cotangents(dy[0], a, b, y[0], y[1], axis, keepdims)
        return da, None, db

    return y, pullback


@rrule(sc.logsumexp, types=(Numeric,))
def logsumexp_plain(a, axis=None, b=None, keepdims=False):
    return logsumexp(a, axis, b, keepdims)


@mirrors(sc.logsumexp, fallback=True)
def logsumexp_of_sequences(a, axis=None, b=None, keepdims=False, return_sign=False):
    b = None if b is None else np.asarray(b)
    return sc.logsumexp(np.asarray(a), axis, b, keepdims, return_sign)


def softmax_cotangent(dy: Any, y: Any, axis: Any) -> Any:
    t = dy * y
    return t - y * np.sum(t, axis=axis, keepdims=True)


def log_softmax_cotangent(dy: Any, y: Any, axis: Any) -> Any:
    return dy - np.exp(y) * np.sum(dy, axis=axis, keepdims=True)


pure.update({softmax_cotangent, log_softmax_cotangent, sc.softmax, sc.log_softmax})


@rrule(sc.softmax, types=(Array,))
def softmax(x, axis=None):
    y = sc.softmax(x, axis)

    def pullback(dy):
        return (softmax_cotangent(dy, y, axis),)

    return y, pullback


@rrule(sc.log_softmax, types=(Array,))
def log_softmax(x, axis=None):
    y = sc.log_softmax(x, axis)

    def pullback(dy):
        return (log_softmax_cotangent(dy, y, axis),)

    return y, pullback


def _of_softmax(args: Any, kwargs: Any) -> Any:
    """The type of the argument; an array of no dimensions comes back as a number."""
    t = args[0]
    return t if is_dtype(getattr(t, "dtype", None), float, "f4") and t.ndim else None


for _f in (sc.softmax, sc.log_softmax):
    infer_table[_f] = _of_softmax

for _f, _rule in ((sc.logsumexp, logsumexp_plain), (sc.softmax, softmax), (sc.log_softmax, log_softmax)):
    also_of_sequences(_f, _rule)

zero_derivative(sc.gammasgn, sc.round)
probed.update({sc.gammasgn, sc.round})

_M = np.array([[0.5, -1.2, 2.0, 0.7], [0.3, 1.4, -0.6, 0.2]])
_W = np.array([0.5, 1.5, 0.0, 2.0])
_Q = np.array([[0.5 + 0.3j, -1.1 + 0.2j]])

CASES += [
    case(sc.logsumexp, _M), case(sc.logsumexp, _M, axis=0), case(sc.logsumexp, _M, 1, keepdims=True),
    case(sc.logsumexp, _M, axis=1, b=2.0), case(lambda a, b: sc.logsumexp(a, axis=1, b=b), _M, _W + 0.1),
    case(lambda a, b: sc.logsumexp(a, b=b, return_sign=True), _M, -_W - 0.1), case(sc.logsumexp, _M[0]),
    case(sc.logsumexp, np.array(0.3)), case(sc.logsumexp, _M.astype(np.float32), 0), case(sc.logsumexp, _Q),
    case(sc.logsumexp, np.array([0.3, -np.inf, 1.0])), case(sc.logsumexp, _M[None], axis=(0, 2)),
    case(lambda x, y: sc.logsumexp([x, y]), 0.5, 1.5), case(lambda x: sc.logsumexp([x, 0.5], b=[1.0, 2.0]), 0.5),
    case(lambda x: sc.logsumexp((x, [0.5, 0.5]), axis=0, b=[-1.0, 2.0], return_sign=True), [0.5, 0.3]),
    case(lambda x: sc.logsumexp([0.5, 0.5], b=[1.0, x]), 2.0),
    case(lambda a, b: sc.logsumexp(a, b=b), _M[0], [0.5, 1.5, 1.0, 2.0]), case(lambda x: sc.softmax([x, 1.0]), 0.5),
    *[case(f, x, **k) for f in (sc.softmax, sc.log_softmax) for x in (_M, _M.astype(np.float32))
      for k in ({}, {"axis": 0}, {"axis": -1}, {"axis": (0, 1)})],
    case(sc.softmax, _M[0]), case(sc.softmax, 0.3), case(sc.log_softmax, np.array(0.3)),
    case(sc.gammasgn, _M), case(lambda x: sc.gammaln([x, 1.5]), 0.7),
    case(lambda x, b: sc.xlogy((x, 1.5), b), 0.7, np.array([1.3, 0.4])),
]  # fmt: skip
