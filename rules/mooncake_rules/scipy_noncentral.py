"""Noncentral chi-squared, F and t distributions: densities and probabilities by every argument, moments.

The first two are Poisson mixtures of their central kind, and so are their derivatives; Student's t is a mean over the
chi-squared variable in its denominator, by the trapezoidal rule in that variable's logarithm.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase
from mooncake_rules.scipy_elementwise import Entry, register_table
from mooncake_rules.scipy_shapes import betainc_slope_a, betainc_slope_b, gammainc_slope
from mooncake_rules.scipy_special import beta_density

_MOST = 100_000
"""A mixture of so many terms gives NaN."""

# -- mixtures ---------------------------------------------------------------------------------------------


def mixture(c: Any, term: Callable[..., Any], *args: Any) -> Any:
    """The sum of `term(j, *args)` with the weights of j = 0, 1, ... in the Poisson distribution of mean c / 2."""
    mean, *xs = (np.asarray(v, float)[..., None] for v in np.broadcast_arrays(c, *args))
    mean = mean / 2.0
    if mean.size == 0:
        return np.zeros(mean.shape[:-1])
    spread = 12.0 * np.sqrt(mean) + 30.0
    first, last = np.floor(max(0.0, np.min(mean - spread))), np.max(mean + spread)
    if not last - first < _MOST:
        return np.full(mean.shape[:-1], np.nan)[()]
    j = np.arange(first, last)
    weights = np.exp(sc.xlogy(j, mean) - mean - sc.gammaln(j + 1.0))
    return np.sum(weights * term(j, *xs), axis=-1)[()]


def chi2_term(j: Any, x: Any, k: Any) -> Any:
    """The density of chi-squared with k + 2 j degrees of freedom."""
    a = k / 2.0 + j
    return 0.5 * np.exp(sc.xlogy(a - 1.0, x / 2.0) - x / 2.0 - sc.gammaln(a))


def chi2_density_by_k(x: Any, k: Any, c: Any) -> Any:
    return mixture(c, lambda j, x, k: chi2_term(j, x, k) * 0.5 * (np.log(x / 2.0) - sc.psi(k / 2.0 + j)), x, k)


def chi2_probability_by_k(x: Any, k: Any, c: Any) -> Any:
    return mixture(c, lambda j, x, k: 0.5 * gammainc_slope(k / 2.0 + j, x / 2.0), x, k)


def chi2_density(x: Any, k: Any, c: Any) -> Any:
    """By a Bessel function; the central one where c is 0."""
    central = c == 0
    c = np.where(central, 1.0, c)[()]
    log = -0.5 * np.square(np.sqrt(x) - np.sqrt(c)) + (k / 4.0 - 0.5) * np.log(x / c)
    return np.where(central, chi2_term(0.0, x, k), 0.5 * np.exp(log) * sc.ive(k / 2.0 - 1.0, np.sqrt(c * x)))[()]


def chi2_density_slope(i: int, x: Any, k: Any, c: Any, y: Any) -> Any:
    """By x, k or c; zero where k makes no sense: a value that is not chosen, as the Skellam distribution has it."""
    with np.errstate(all="ignore"):
        if i == 0:
            t = y * ((k / 2.0 - 1.0) / x - 0.5) + c / (2.0 * x) * chi2_density(x, k + 2.0, c)
        else:
            t = chi2_density_by_k(x, k, c) if i == 1 else 0.5 * (chi2_density(x, k + 2.0, c) - y)
    return np.where(k > 0, t, 0.0)[()]


def chi2_probability_slope(i: int, x: Any, k: Any, c: Any) -> Any:
    """By x, k or c; zero where k makes no sense, as that of the density."""
    with np.errstate(all="ignore"):
        if i == 0:
            t = chi2_density(x, k, c)
        else:
            t = chi2_probability_by_k(x, k, c) if i == 1 else -chi2_density(x, k + 2.0, c)
    return np.where(k > 0, t, 0.0)[()]


def f_place(x: Any, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Where x is in the beta distribution, and that by x, a and b."""
    whole = a * x + b
    return a * x / whole, a * b / whole**2, b * x / whole**2, -a * x / whole**2


def f_term(j: Any, x: Any, a: Any, b: Any) -> Any:
    """The density of the scaled F distribution that is drawn with j."""
    y, by_x, _, _ = f_place(x, a, b)
    return beta_density(a / 2.0 + j, b / 2.0, y) * by_x


def f_density_slope(i: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    """By x, a, b or c."""

    def by_argument(j: Any, x: Any, a: Any, b: Any) -> Any:
        y, *dy = f_place(x, a, b)
        p, q, whole = a / 2.0 + j, b / 2.0, a * x + b
        if i == 0:
            direct = -2.0 * a / whole
        elif i == 1:
            direct = 0.5 * (np.log(y) - sc.psi(p) + sc.psi(p + q)) + 1.0 / a - 2.0 * x / whole
        else:
            direct = 0.5 * (np.log1p(-y) - sc.psi(q) + sc.psi(p + q)) + 1.0 / b - 2.0 / whole
        return f_term(j, x, a, b) * (direct + ((p - 1.0) / y - (q - 1.0) / (1.0 - y)) * dy[i])

    def by_c(j: Any, x: Any, a: Any, b: Any) -> Any:
        return 0.5 * (f_term(j + 1.0, x, a, b) - f_term(j, x, a, b))

    return mixture(c, by_c if i == 3 else by_argument, x, a, b)


def f_probability_slope(i: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    """By x, a, b or c."""

    def by_argument(j: Any, x: Any, a: Any, b: Any) -> Any:
        y, *dy = f_place(x, a, b)
        p, q = a / 2.0 + j, b / 2.0
        own = 0.0 if i == 0 else 0.5 * (betainc_slope_a if i == 1 else betainc_slope_b)(p, q, y)
        return own + beta_density(p, q, y) * dy[i]

    def by_c(j: Any, x: Any, a: Any, b: Any) -> Any:
        y, p, q = f_place(x, a, b)[0], a / 2.0 + j, b / 2.0
        return -0.5 * beta_density(p, q, y) * y * (1.0 - y) / p

    return mixture(c, by_c if i == 3 else by_argument, x, a, b)


# -- Student's t ------------------------------------------------------------------------------------------


def _bell(z: Any) -> Any:
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def over_scale(t: Any, n: Any, c: Any, h: Callable[..., Any], decay: Callable[..., Any]) -> Any:
    """The mean of h(u, t u - c, score) over u, where n u^2 is chi-squared with n degrees of freedom; score: of n.

    `decay(t, t u - c)` is the logarithm of what makes h small: far out the mean is that of values of u that are rare.
    """
    t, n, c = (np.asarray(v, float)[..., None] for v in np.broadcast_arrays(t, n, c))

    def weight(s: Any) -> Any:
        u = np.exp(s)
        return n * s - n / 2.0 * u * u + decay(t, t * u - c)

    middle = np.log((c * t + np.sqrt(c * c * t * t + 4.0 * n * (n + t * t))) / (2.0 * (n + t * t)))
    peaks = np.concatenate(
        [middle, np.zeros(n.shape), np.log(np.where(c * t > 0.0, c / np.where(t == 0, 1.0, t), 1.0))], -1
    )
    top = np.take_along_axis(peaks, np.argmax(weight(peaks), -1)[..., None], -1)
    ends = [_where_gone(weight, top, step / np.sqrt(2.0 * n + np.abs(c * t) * np.exp(top))) for step in (-1.0, 1.0)]
    s = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, 801)
    u, half = np.exp(s), n / 2.0
    log = math.log(2.0) + half * np.log(half) - sc.gammaln(half) + n * s - half * u * u
    score = 0.5 * (np.log(half) + 1.0 - sc.psi(half)) + s - 0.5 * u * u
    values = np.exp(log) * h(u, t * u - c, score)
    return (np.sum(values, axis=-1) * (ends[1] - ends[0])[..., 0] / 800.0)[()]


def _where_gone(weight: Callable[..., Any], top: Any, step: Any) -> Any:
    """From the top in the direction of the step, to where exp(weight) is too small to count."""
    for _ in range(60):
        far = weight(top + step) < weight(top) - 50.0
        if far.all():
            break
        step = np.where(far, step, 1.5 * step)
    return top + step


def _rest(t: Any, z: Any) -> Any:
    """The probability beyond z, on the side of it that gets small when t is far out."""
    return np.where(t > 0.0, -sc.ndtr(-z), sc.ndtr(z))


_DENSITY_BY: list[Callable[..., Any]] = [
    lambda u, z, score: -u * u * z * _bell(z), lambda u, z, score: u * _bell(z) * score,
    lambda u, z, score: u * z * _bell(z),
]  # fmt: skip


def t_density_slope(i: int, t: Any, n: Any, c: Any) -> Any:
    """By t, n or c."""
    return over_scale(t, n, c, _DENSITY_BY[i], lambda t, z: -0.5 * z * z)


def t_probability_slope(i: int, t: Any, n: Any, c: Any) -> Any:
    """By t, n or c."""
    if i == 1:
        at = np.asarray(t, float)[..., None]
        return over_scale(
            t, n, c, lambda u, z, score: _rest(at, z) * score, lambda t, z: -0.5 * np.maximum(np.sign(t) * z, 0.0) ** 2
        )
    return over_scale(
        t, n, c, (lambda u, z, _: u * _bell(z)) if i == 0 else (lambda u, z, _: -_bell(z)), lambda t, z: -0.5 * z * z
    )


def t_mean_factor(n: Any) -> Any:
    return np.sqrt(n / 2.0) * np.exp(sc.gammaln((n - 1.0) / 2.0) - sc.gammaln(n / 2.0))


def t_mean_rate(n: Any) -> Any:
    """The derivative of the logarithm of that."""
    return 0.5 / n + 0.5 * (sc.psi((n - 1.0) / 2.0) - sc.psi(n / 2.0))


def f_variance_parts(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """The derivatives of the logarithm of the variance by a, b and c."""
    whole = (a + c) ** 2 + (a + 2.0 * c) * (b - 2.0)
    return (
        -2.0 / a + (2.0 * (a + c) + b - 2.0) / whole,
        2.0 / b + (a + 2.0 * c) / whole - 2.0 / (b - 2.0) - 1.0 / (b - 4.0),
        2.0 * (a + c + b - 2.0) / whole,
    )


def corner_slope(a: Any, b: Any, r: Any) -> Any:
    """By a, of the probability that normal variables of correlation r lie above a and b."""
    with np.errstate(invalid="ignore"):
        rest = sc.ndtr((r * a - b) / np.sqrt(1.0 - r * r))
    return np.where(np.isinf(a), 0.0, -_bell(a) * rest)[()]


def corner_density(a: Any, b: Any, r: Any) -> Any:
    """That of the two variables, which is also the derivative by r."""
    with np.errstate(invalid="ignore"):
        t = np.exp(-0.5 * (a * a - 2.0 * r * a * b + b * b) / (1.0 - r * r)) / (2.0 * math.pi * np.sqrt(1.0 - r * r))
    return np.where(np.isinf(a) | np.isinf(b), 0.0, t)[()]


pure.update({
    corner_slope, corner_density,
    chi2_density, chi2_density_slope, chi2_probability_slope, f_density_slope, f_probability_slope, t_density_slope,
    t_probability_slope, t_mean_factor, t_mean_rate, f_variance_parts,
})  # fmt: skip

# -- rules ------------------------------------------------------------------------------------------------

E = Entry

_CHI2_DENSITY = (
    lambda x, k, c, y: chi2_density_slope(0, x, k, c, y),
    lambda x, k, c, y: chi2_density_slope(1, x, k, c, y),
    lambda x, k, c, y: chi2_density_slope(2, x, k, c, y),
)
_CHI2_PROBABILITY = (
    lambda x, k, c, y: chi2_probability_slope(0, x, k, c),
    lambda x, k, c, y: chi2_probability_slope(1, x, k, c),
    lambda x, k, c, y: chi2_probability_slope(2, x, k, c),
)

_PRIVATE = [
    E("_ncx2_pdf", _CHI2_DENSITY, (1.7, 3.3, 0.8)), E("_ncx2_cdf", _CHI2_PROBABILITY, (1.7, 3.3, 0.8)),
    E("_ncx2_sf", (lambda x, k, c, y: -chi2_probability_slope(0, x, k, c),
                   lambda x, k, c, y: -chi2_probability_slope(1, x, k, c),
                   lambda x, k, c, y: -chi2_probability_slope(2, x, k, c)), (1.7, 3.3, 0.8)),
    E("_ncf_pdf", (lambda x, a, b, c, y: f_density_slope(0, x, a, b, c),
                   lambda x, a, b, c, y: f_density_slope(1, x, a, b, c),
                   lambda x, a, b, c, y: f_density_slope(2, x, a, b, c),
                   lambda x, a, b, c, y: f_density_slope(3, x, a, b, c)), (0.9, 3.5, 8.2, 1.4)),
    E("_ncf_cdf", (lambda x, a, b, c, y: f_probability_slope(0, x, a, b, c),
                   lambda x, a, b, c, y: f_probability_slope(1, x, a, b, c),
                   lambda x, a, b, c, y: f_probability_slope(2, x, a, b, c),
                   lambda x, a, b, c, y: f_probability_slope(3, x, a, b, c)), (0.9, 3.5, 8.2, 1.4)),
    E("_nct_pdf", (lambda t, n, c, y: t_density_slope(0, t, n, c), lambda t, n, c, y: t_density_slope(1, t, n, c),
                   lambda t, n, c, y: t_density_slope(2, t, n, c)), (-0.3, 3.4, 0.7)),
    E("_nct_cdf", (lambda t, n, c, y: t_probability_slope(0, t, n, c),
                   lambda t, n, c, y: t_probability_slope(1, t, n, c),
                   lambda t, n, c, y: t_probability_slope(2, t, n, c)), (1.3, 3.4, 0.7)),
    E("_ncf_sf", (lambda x, a, b, c, y: -f_probability_slope(0, x, a, b, c),
                  lambda x, a, b, c, y: -f_probability_slope(1, x, a, b, c),
                  lambda x, a, b, c, y: -f_probability_slope(2, x, a, b, c),
                  lambda x, a, b, c, y: -f_probability_slope(3, x, a, b, c)), (0.9, 3.5, 8.2, 1.4)),
    E("_nct_sf", (lambda t, n, c, y: -t_probability_slope(0, t, n, c),
                  lambda t, n, c, y: -t_probability_slope(1, t, n, c),
                  lambda t, n, c, y: -t_probability_slope(2, t, n, c)), (-1.3, 3.4, 0.7)),
    E("_ncf_mean", (lambda a, b, c, y: -b * c / (a * a * (b - 2.0)), lambda a, b, c, y: -2.0 * y / (b * (b - 2.0)),
                    lambda a, b, c, y: b / (a * (b - 2.0))), (3.5, 8.2, 1.4)),
    E("_ncf_variance", (lambda a, b, c, y: y * f_variance_parts(a, b, c)[0],
                        lambda a, b, c, y: y * f_variance_parts(a, b, c)[1],
                        lambda a, b, c, y: y * f_variance_parts(a, b, c)[2]), (3.5, 8.2, 1.4)),
    E("_nct_mean", (lambda n, c, y: y * t_mean_rate(n), lambda n, c, y: t_mean_factor(n)), (3.4, 0.7)),
    E("_nct_variance", (lambda n, c, y: -2.0 * (1.0 + c * c) / (n - 2.0) ** 2
                        - 2.0 * np.square(c * t_mean_factor(n)) * t_mean_rate(n),
                        lambda n, c, y: 2.0 * c * (n / (n - 2.0) - np.square(t_mean_factor(n)))), (3.4, 0.7)),
    E("_nbinom_mean", (lambda n, p, y: (1.0 - p) / p, lambda n, p, y: -n / (p * p)), (6.5, 0.4)),
    E("_nbinom_variance", (lambda n, p, y: (1.0 - p) / (p * p), lambda n, p, y: n * (p - 2.0) / p**3), (6.5, 0.4)),
    E("_bivariate_normal_cdf", (lambda a, b, r, y: corner_slope(a, b, r), lambda a, b, r, y: corner_slope(b, a, r),
                                lambda a, b, r, y: corner_density(a, b, r)), (0.3, -0.2, 0.5)),
    E("_scaled_exp1", (lambda x, y: y / x + y - 1.0,), (0.7,)),  # x exp(x) E1(x)
    E("_log1mexp", (lambda x, y: -1.0 / np.expm1(-x),), (-0.7,)),
]  # fmt: skip
_PUBLIC = [
    E("chndtr", _CHI2_PROBABILITY, (1.7, 3.3, 0.8)),
    E("ncfdtr", (lambda a, b, c, x, y: f_probability_slope(1, x, a, b, c),
                 lambda a, b, c, x, y: f_probability_slope(2, x, a, b, c),
                 lambda a, b, c, x, y: f_probability_slope(3, x, a, b, c),
                 lambda a, b, c, x, y: f_probability_slope(0, x, a, b, c)), (3.5, 8.2, 1.4, 0.9)),
    E("nctdtr", (lambda n, c, t, y: t_probability_slope(1, t, n, c), lambda n, c, t, y: t_probability_slope(2, t, n, c),
                 lambda n, c, t, y: t_probability_slope(0, t, n, c)), (3.4, 0.7, 1.3)),
]  # fmt: skip

_ufuncs = importlib.import_module("scipy.special._ufuncs")
CASES: list[RuleCase] = register_table(_ufuncs, [e for e in _PRIVATE if hasattr(_ufuncs, e.name)])
CASES += register_table(sc, _PUBLIC)
