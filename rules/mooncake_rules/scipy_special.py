"""scipy.special: gamma, error and exponential functions, distributions, elliptic integrals, sums over axes.

Formulas without a source are those of the NIST Digital Library of Mathematical Functions (dlmf.nist.gov) and follow
from the definitions. Bessel functions and their kin are in scipy_bessel, polynomials in scipy_polynomials.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex, real_of
from mooncake_rules.numpy_elementwise import sinc_slope
from mooncake_rules.scipy_elementwise import Entry, elementwise, keep, onto, quotient, register_table, sum_of
from mooncake_rules.scipy_shapes import (
    betainc_slope_a,
    betainc_slope_b,
    gammainc_slope,
    hurwitz_slope,
    trigamma,
)

E = Entry
_PI, _LN2, _LN10 = math.pi, math.log(2.0), math.log(10.0)
_ROOT_PI, _ROOT_2PI, _DEGREE = math.sqrt(math.pi), math.sqrt(2.0 * math.pi), math.pi / 180.0

# -- the gamma family -------------------------------------------------------------------------------------


def rgamma_slope(x: Any, y: Any) -> Any:
    """-psi(x) / gamma(x); at the poles of gamma (-1)^n n!."""
    pole = (y == 0) & (np.real(x) <= 0)
    n = np.where(pole, -np.real(x), 0.0)
    safe = np.where(pole, 1.0, x)
    return np.where(pole, np.cos(_PI * n) * sc.gamma(n + 1.0), -y * sc.psi(safe))


def poch_slope(z: Any, m: Any, y: Any) -> Any:
    """By z, also at the poles of gamma(z): there 1 / gamma is linear in z, or the poles of gamma(z + m) meet them."""
    end = z + m
    pole = (z <= 0) & (z == np.floor(z))
    met = pole & (end <= 0) & (end == np.floor(end))
    by_psi = y * np.where(met, sc.psi(1.0 - end) - sc.psi(1.0 - z), sc.psi(end) - sc.psi(z))
    return np.where(pole & ~met, rgamma_slope(z, 0.0) * sc.gamma(end), by_psi)


def binom_slopes(n: Any, k: Any, y: Any) -> tuple[Any, Any]:
    """By n and k; where k or n - k is a negative integer by the slope of 1 / gamma, which is zero there."""

    def at_pole(k: Any) -> Any:
        """gamma(n + 1) / gamma(n - k + 1) times the slope of 1 / gamma at k + 1."""
        return rgamma_slope(k + 1.0, 0.0) / sc.poch(n + 1.0, -k)

    rest = n - k
    left, right = [(y == 0) & (x < 0) & (x == np.floor(x)) for x in (k, rest)]
    by_n, by_rest, by_k = [sc.psi(np.where(x < 0, np.where(x == np.floor(x), 1.0, x), x) + 1.0) for x in (n, rest, k)]
    d_rest, d_k = np.where(right, at_pole(rest), -y * by_rest), np.where(left, at_pole(k), -y * by_k)
    return y * by_n + d_rest, d_k - d_rest


def multigamma_slope(a: Any, d: int) -> Any:
    return sum(sc.psi(a - 0.5 * j) for j in range(d))


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) exp(-x) / gamma(a)."""
    return np.exp(sc.xlogy(a - 1.0, x) - x - sc.gammaln(a))


def of_inverse(slope: Any, density: Any) -> Any:
    """The derivative by a shape of the inverse of a distribution function: none where that has none, at its ends."""
    return -slope / np.where(slope == 0, 1.0, density)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b)."""
    return np.exp(sc.xlogy(a - 1.0, x) + sc.xlog1py(b - 1.0, -x) - sc.betaln(a, b))


_GAMMA = [
    E("gamma", (lambda x, y: y * sc.psi(x),), (1.7,), True),
    E("gammaln", (lambda x, y: sc.psi(x),), (1.7,)),
    E("loggamma", (lambda x, y: sc.psi(x),), (1.7,), True),
    E("psi", (lambda x, y: trigamma(x),), (1.7,), True),
    E("rgamma", (lambda x, y: rgamma_slope(x, y),), (1.7,), True),
    E("polygamma", (None, lambda n, x, y: sc.polygamma(n + 1, x)), (2, 1.7)),
    E("multigammaln", (lambda a, d, y: multigamma_slope(a, d), None), (2.7, 3)),
    E("poch", (lambda z, m, y: poch_slope(z, m, y), lambda z, m, y: y * sc.psi(z + m)), (1.3, 0.7)),
    E("beta", (lambda a, b, y: y * (sc.psi(a) - sc.psi(a + b)), lambda a, b, y: y * (sc.psi(b) - sc.psi(a + b))),
      (1.3, 0.7)),
    E("betaln", (lambda a, b, y: sc.psi(a) - sc.psi(a + b), lambda a, b, y: sc.psi(b) - sc.psi(a + b)), (1.3, 0.7)),
    E("binom", (lambda n, k, y: binom_slopes(n, k, y)[0], lambda n, k, y: binom_slopes(n, k, y)[1]), (4.3, 1.7)),
    E("gammainc", (lambda a, x, y: gammainc_slope(a, x), lambda a, x, y: gamma_density(a, x)), (1.3, 0.7)),
    E("gammaincc", (lambda a, x, y: -gammainc_slope(a, x), lambda a, x, y: -gamma_density(a, x)), (1.3, 0.7)),
    E("gammaincinv", (lambda a, p, y: of_inverse(gammainc_slope(a, y), gamma_density(a, y)),
                      lambda a, p, y: 1.0 / gamma_density(a, y)), (1.3, 0.4)),
    E("gammainccinv", (lambda a, p, y: of_inverse(gammainc_slope(a, y), gamma_density(a, y)),
                       lambda a, p, y: -1.0 / gamma_density(a, y)), (1.3, 0.4)),
    E("betainc", (lambda a, b, x, y: betainc_slope_a(a, b, x), lambda a, b, x, y: betainc_slope_b(a, b, x),
                  lambda a, b, x, y: beta_density(a, b, x)), (1.3, 2.2, 0.4)),
    E("betaincc", (lambda a, b, x, y: -betainc_slope_a(a, b, x), lambda a, b, x, y: -betainc_slope_b(a, b, x),
                   lambda a, b, x, y: -beta_density(a, b, x)), (1.3, 2.2, 0.4)),
    E("betaincinv", (lambda a, b, p, y: of_inverse(betainc_slope_a(a, b, y), beta_density(a, b, y)),
                     lambda a, b, p, y: of_inverse(betainc_slope_b(a, b, y), beta_density(a, b, y)),
                     lambda a, b, p, y: 1.0 / beta_density(a, b, y)), (1.3, 2.2, 0.4)),
    E("betainccinv", (lambda a, b, p, y: of_inverse(betainc_slope_a(a, b, y), beta_density(a, b, y)),
                      lambda a, b, p, y: of_inverse(betainc_slope_b(a, b, y), beta_density(a, b, y)),
                      lambda a, b, p, y: -1.0 / beta_density(a, b, y)), (1.3, 2.2, 0.4)),
    E("zetac", (lambda x, y: hurwitz_slope(x, 1.0),), (2.3,)),
]  # fmt: skip

# -- error functions, exponential integrals ---------------------------------------------------------------


_FAR = 20.0


def tail(t: Any) -> Any:
    """The sum of (2n - 1)!! (t / 2)^n from n = 1: what is left of asymptotic series behind their first term."""
    series = 0.0
    for n in range(15, 0, -2):
        series = 0.5 * n * t * (1.0 + series)
    return series


def erfcx_slope(x: Any, y: Any) -> Any:
    if is_complex(x):
        return 1j * wofz_slope(1j * x, y)
    far = x > _FAR
    return np.where(far, tail(-1.0 / np.square(np.where(far, x, 1.0))), _ROOT_PI * x * y - 1.0) * (2.0 / _ROOT_PI)


def dawsn_slope(x: Any, y: Any) -> Any:
    far = np.abs(x) > _FAR
    if is_complex(x):
        z = np.where(np.imag(x) < 0, -x, x)
        far = far & (np.abs(np.imag(x)) < 1.0)  # else the exponential outweighs the rest
        safe = np.where(far, z, 1.0)
        at_far = -1j * _ROOT_PI * safe * np.exp(-safe * safe) - tail(1.0 / (safe * safe))
        return np.where(far, at_far, 1.0 - 2.0 * x * y)
    return np.where(far, -tail(1.0 / np.square(np.where(far, x, 1.0))), 1.0 - 2.0 * x * y)


def wofz_slope(z: Any, w: Any) -> Any:
    """-2 z w + 2i / sqrt(pi), which cancels far from zero, but where the exponential in w is larger."""
    far = (np.abs(z) > _FAR) & (np.imag(z) >= 0)
    safe = np.where(far, z, 1.0)
    return np.where(far, -2j / _ROOT_PI * tail(1.0 / (safe * safe)), -2.0 * z * w + 2j / _ROOT_PI)


def voigt_parts(x: Any, sigma: Any, gamma: Any) -> tuple[Any, ...]:
    """The derivatives of Re w(z) / (sigma sqrt(2 pi)) with z = (x + i gamma) / (sigma sqrt 2).

    Without sigma, of which it is an even function, it is Im 1 / (pi (x - i gamma)), and without both zero.
    """
    thin = sigma == 0
    if np.any(thin):
        slope = -1.0 / (np.pi * np.square(x - 1j * np.where(thin, gamma, 1.0)))
        rest = voigt_parts(x, np.where(thin, 1.0, sigma), gamma)
        return tuple([np.where(thin, a, b) for a, b in zip((np.imag(slope), 0.0, -np.real(slope)), rest, strict=True)])
    z = (x + 1j * gamma) / (sigma * math.sqrt(2.0))
    w = sc.wofz(z)
    d = wofz_slope(z, w)
    scale = 1.0 / (sigma * _ROOT_2PI)
    by_z = scale / (sigma * math.sqrt(2.0))
    return by_z * np.real(d), -scale / sigma * np.real(w + z * d), -by_z * np.imag(d)


def exprel_slope(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x, from its series near zero."""
    safe = np.where(np.abs(x) < 0.05, 1.0, x)
    far = (np.exp(safe) * (safe - 1.0) + 1.0) / (safe * safe)
    near = 0.5 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x * (1 / 144 + x * (1 / 840 + x / 5760)))))
    return np.where(np.abs(x) < 0.05, near, far)


def expn_slope(n: Any, x: Any) -> Any:
    n = np.trunc(n)
    below = np.exp(-x) / x
    return np.where(n == 0, -below * (1.0 + 1.0 / x), -sc.expn(np.maximum(n, 1) - 1, x))


def spence_slope(x: Any) -> Any:
    """log(x) / (1 - x), -1 at 1. On the cut the sign of x's imaginary part counts, which 1 - x has not if that is 0."""
    t = 1.0 - x
    near = np.abs(t) < 0.5
    log = np.where(near, sc.log1p(-np.where(near, t, 0.0)), np.log(np.where(near, 1.0, x)))
    return np.where(t == 0, -1.0, log / np.where(t == 0, 1.0, t))


_ERROR = [
    E("erf", (lambda x, y: 2.0 / _ROOT_PI * np.exp(-x * x),), (0.7,), True),
    E("erfc", (lambda x, y: -2.0 / _ROOT_PI * np.exp(-x * x),), (0.7,), True),
    E("erfcx", (lambda x, y: erfcx_slope(x, y),), (0.7,), True),
    E("erfi", (lambda x, y: 2.0 / _ROOT_PI * np.exp(x * x),), (0.7,), True),
    E("erfinv", (lambda x, y: _ROOT_PI / 2.0 * np.exp(y * y),), (0.7,)),
    E("erfcinv", (lambda x, y: -_ROOT_PI / 2.0 * np.exp(y * y),), (0.7,)),
    E("dawsn", (lambda x, y: dawsn_slope(x, y),), (0.7,), True),
    E("wofz", (lambda x, y: wofz_slope(x, y),), (0.7,), True),
    E("voigt_profile", (lambda x, s, g, y: voigt_parts(x, s, g)[0], lambda x, s, g, y: voigt_parts(x, s, g)[1],
                        lambda x, s, g, y: voigt_parts(x, s, g)[2]), (0.7, 1.3, 0.4)),
    E("expi", (lambda x, y: np.exp(x) / x,), (0.7,), True),
    E("exp1", (lambda x, y: -np.exp(-x) / x,), (0.7,), True),
    E("expn", (None, lambda n, x, y: expn_slope(n, x)), (3, 0.7)),
    E("exprel", (lambda x, y: exprel_slope(x),), (0.7,)),
    E("expm1", (lambda x, y: np.exp(x),), (0.7,), True),
    E("log1p", (lambda x, y: 1.0 / (1.0 + x),), (0.7,), True),
    E("exp2", (lambda x, y: y * _LN2,), (0.7,)),
    E("exp10", (lambda x, y: y * _LN10,), (0.7,)),
    E("cbrt", (lambda x, y: 1.0 / (3.0 * y * y),), (0.7,)),
    E("cosm1", (lambda x, y: -np.sin(x),), (0.7,)),
    E("sindg", (lambda x, y: _DEGREE * sc.cosdg(x),), (40.0,)),
    E("cosdg", (lambda x, y: -_DEGREE * sc.sindg(x),), (40.0,)),
    E("tandg", (lambda x, y: _DEGREE * (1.0 + y * y),), (40.0,)),
    E("cotdg", (lambda x, y: -_DEGREE * (1.0 + y * y),), (40.0,)),
    E("radian", (lambda d, m, s, y: _DEGREE, lambda d, m, s, y: _DEGREE / 60.0, lambda d, m, s, y: _DEGREE / 3600.0),
      (40.0, 20.0, 10.0)),
    E("powm1", (lambda x, p, y: p * np.power(x, p - 1.0), lambda x, p, y: (y + 1.0) * np.log(x)), (1.3, 0.7)),
    E("spence", (lambda x, y: spence_slope(x),), (0.7,), True),
    E("wrightomega", (lambda x, y: y / (1.0 + y),), (0.7,), True),
]  # fmt: skip

pure.update({
    rgamma_slope, poch_slope, binom_slopes, multigamma_slope, gamma_density, beta_density, wofz_slope, voigt_parts,
    exprel_slope, expn_slope, spence_slope, tail, erfcx_slope, dawsn_slope,
})  # fmt: skip

CASES: list[RuleCase] = register_table(sc, [*_GAMMA, *_ERROR])

# -- functions with several results -----------------------------------------------------------------------


def _several(name: str, slopes: Any, *points: Any) -> None:
    """The rule of a function of one argument that returns a tuple: `slopes(x, y)` are the derivatives."""
    f = getattr(sc, name)

    def rule(x):
        y = f(x)
        shape = keep(x)

        def pullback(dy):
            return (sum_of(list(zip(dy, slopes(x, y), strict=True)), x, shape),)

        return y, pullback

    elementwise(f, 1)(rule)
    CASES.extend(case(f, x) for x in points)


_P, _Q = np.array([0.4, 1.3, 2.2]), np.array([[0.5 + 0.3j, -1.1 + 0.2j]])

_several("fresnel", lambda x, y: (np.sin(_PI / 2 * x * x), np.cos(_PI / 2 * x * x)), 0.7, _P, _Q)
_several("sici", lambda x, y: (quotient(np.sin(x), x, 1.0), np.cos(x) / x), 0.7, _P, _Q)
CASES.append(case(lambda x: sc.sici(x)[0] + sc.shichi(x)[0], np.array([0.0, 0.4])))
_several("shichi", lambda x, y: (quotient(np.sinh(x), x, 1.0), np.cosh(x) / x), 0.7, _P, _Q)

# -- functions written in Python --------------------------------------------------------------------------


@elementwise(sc.zeta, 1)
def riemann_zeta(x):
    def pullback(dy):
        return real_of(dy * hurwitz_slope(x, 1.0), x)

    return sc.zeta(x), pullback


@elementwise(sc.zeta, 2)
def zeta(x, q):
    sx, sq = keep(x), keep(q)

    def pullback(dy):
        return onto(dy * hurwitz_slope(x, q), x, sx), onto(-dy * x * sc.zeta(x + 1.0, q), q, sq)

    return sc.zeta(x, q), pullback


def lambertw_cotangent(dy: Any, z: Any, y: Any) -> Any:
    """W' = 1 / (exp(W) (1 + W)), which has nothing to cancel at zero."""
    t = dy * np.conjugate(np.exp(-y) / (1.0 + y))
    return t if is_complex(z) else np.real(t)


pure.add(lambertw_cotangent)


@elementwise(sc.lambertw, 1)
def lambertw(z, k=0, tol=1e-8):
    y = sc.lambertw(z, k, tol)

    def pullback(dy):
        return (lambertw_cotangent(dy, z, y),)

    return y, pullback


def binomial_part(t: Any, like: Any, shape: Any) -> Any:
    t = np.where(np.isfinite(t), t, 0.0)  # outside of 0 <= k <= n the value is a constant zero
    return onto(t, like, shape)


def _no_exact(name: str, exact: Any) -> None:
    if exact:
        raise TypeError(f"scipy.special.{name} with exact=True is of integers, and has no derivative")


def comb_parts(dy: Any, n: Any, k: Any, y: Any) -> tuple[Any, Any]:
    gap = sc.psi(n - k + 1.0)
    return dy * y * (sc.psi(n + 1.0) - gap), dy * y * (gap - sc.psi(k + 1.0))


def perm_parts(dy: Any, n: Any, k: Any, y: Any) -> tuple[Any, Any]:
    gap = sc.psi(n - k + 1.0)
    return dy * y * (sc.psi(n + 1.0) - gap), dy * y * gap


@elementwise(sc.comb, 2)
def comb(N, k, *, exact=False, repetition=False):
    _no_exact("comb", exact)
    y = sc.comb(N, k, repetition=repetition)
    sn, sk = keep(N), keep(k)

    def pullback(dy):
        if repetition:
            dn, dk = comb_parts(dy, N + k - 1.0, k, y)
            return binomial_part(dn, N, sn), binomial_part(dn + dk, k, sk)
        dn, dk = comb_parts(dy, N, k, y)
        return binomial_part(dn, N, sn), binomial_part(dk, k, sk)

    return y, pullback


@elementwise(sc.perm, 2)
def perm(N, k, exact=False):
    _no_exact("perm", exact)
    y = sc.perm(N, k)
    sn, sk = keep(N), keep(k)

    def pullback(dy):
        dn, dk = perm_parts(dy, N, k, y)
        return binomial_part(dn, N, sn), binomial_part(dk, k, sk)

    return y, pullback


@elementwise(sc.factorial, 1)
def factorial(n, exact=False):
    _no_exact("factorial", exact)
    y = sc.factorial(n)

    def pullback(dy):
        return binomial_part(dy * y * sc.psi(n + 1.0), n, keep(n))

    return y, pullback


def diric_slope(x: Any, n: Any, y: Any) -> Any:
    """The derivative of sin(n x / 2) / (n sin(x / 2)), at its peaks by its series."""
    s, c = np.sin(x / 2.0), np.cos(x / 2.0)
    near = np.abs(s) * n < 0.005
    t = 2.0 * np.arcsin(np.where(near, s, 0.0)) * np.sign(c)
    sign = np.where((c < 0) & (n % 2 == 0), -1.0, 1.0)
    series = -t * (n * n - 1.0) / 12.0 * (1.0 - t * t * (3.0 * n * n - 7.0) / 120.0)
    return np.where(near, sign * series, (np.cos(n * x / 2.0) - c * y) / (2.0 * np.where(near, 1.0, s)))


pure.update({binomial_part, comb_parts, perm_parts, diric_slope, sc.lambertw})

CASES += register_table(sc, [E("diric", (lambda x, n, y: diric_slope(x, n, y), None), (0.7, 4))])

if sc.sinc is not np.sinc:
    CASES += register_table(sc, [E("sinc", (lambda x, y: sinc_slope(x),), (0.7,))])

_ON = np.array([True, False, True])


def _some(x, y):
    """Where the other elements are not left as they are found in memory."""
    z = y * 1.0
    sc.betainc(y, 1.3, x, out=z, where=_ON)  # of two operands, NumPy 2.4 with SciPy 1.17 writes where it must not
    sc.betainc(1.3, y, x, where=_ON[::-1], out=z)
    return z + sc.xlogy(x, z, out=np.empty(3), where=True)


CASES += [
    case(_some, np.array([0.3, 0.5, 0.7]), np.array([1.3, 0.4, 0.9])), case(sc.jv, 2, _P, dtype=float),
    case(sc.zeta, 2.3), case(sc.zeta, _P + 1.2), case(sc.zeta, 2.3, 0.7),
    case(sc.zeta, _P + 1.2, np.array([[0.3], [2]])), case(sc.zeta, [2.3, 3.1], q=(0.3, 1)), case(sc.zeta, x=_P + 1.2),
    case(sc.zeta, np.float32(2.3), np.array([0.3, 1.2], np.float32)), case(sc.lambertw, 0.7), case(sc.lambertw, _P),
    case(sc.lambertw, _Q), case(sc.lambertw, _Q, 1), case(sc.comb, 4.3, 1.7), case(sc.comb, _P + 3, 2),
    case(sc.comb, _P + 3, np.array([[1.2], [2.1]])), case(sc.comb, _P + 3, 1.2, repetition=True),
    case(sc.perm, 4.3, 1.7), case(sc.perm, _P + 3, np.array([[1.2], [2.1]])), case(sc.factorial, 2.3),
    case(sc.factorial, _P),
]  # fmt: skip
