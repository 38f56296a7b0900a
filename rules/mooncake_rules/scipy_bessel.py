"""scipy.special: Bessel, Airy, Struve, Kelvin and parabolic cylinder functions, and orthogonal polynomials.

Recurrences of the NIST Digital Library of Mathematical Functions (chapters 9 to 12 and 18). By their order, or degree,
these functions have no derivative in closed form: it must be a constant, but for
modified Bessel functions (scipy_orders).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import pure
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex
from mooncake_rules.scipy_elementwise import Entry, elementwise, keep, onto, quotient, register_table, sum_of
from mooncake_rules.scipy_orders import iv_order_slope, ive_order_slope, kv_order_slope, kve_order_slope

E = Entry

# -- Bessel functions -------------------------------------------------------------------------------------


def _real_only(x: Any, name: str) -> None:
    if is_complex(x):
        raise NotDifferentiated(f"scipy.special.{name} is scaled by |exp(z)|: not differentiated by complex numbers")


def scaled(f: Any, sign: float, v: Any, x: Any, y: Any) -> Any:
    """ive: the derivative of exp(-|x|) I."""
    _real_only(x, f.__name__)
    return 0.5 * (f(v - 1, x) + f(v + 1, x)) + sign * np.sign(x) * y


def central(f: Any, v: Any, x: Any, y: Any) -> Any:
    """jve and yve of real numbers, where they are jv and yv."""
    _real_only(x, f.__name__)
    return 0.5 * (f(v - 1, x) - f(v + 1, x))


def struve_slope(f: Any, sign: float, v: Any, x: Any) -> Any:
    """(f_(v-1) + sign f_(v+1) + c) / 2 (DLMF 11.4.23 to 11.4.26); f_-1 is c + sign f_1, also at zero."""
    c = np.power(0.5 * x, v) * sc.rgamma(v + 1.5) / math.sqrt(math.pi)
    above = sign * f(v + 1.0, x)
    return 0.5 * (np.where(v == 0.0, c + above, f(v - 1.0, x)) + above + c)


_BESSEL = [
    E("j0", (lambda x, y: -sc.j1(x),), (0.7,)),
    E("j1", (lambda x, y: 0.5 * (sc.j0(x) - sc.jv(2, x)),), (0.7,)),
    E("y0", (lambda x, y: -sc.y1(x),), (0.7,)),
    E("y1", (lambda x, y: 0.5 * (sc.y0(x) - sc.yv(2, x)),), (0.7,)),
    E("i0", (lambda x, y: sc.i1(x),), (0.7,)),
    E("i1", (lambda x, y: 0.5 * (sc.i0(x) + sc.iv(2, x)),), (0.7,)),
    E("k0", (lambda x, y: -sc.k1(x),), (0.7,)),
    E("k1", (lambda x, y: -0.5 * (sc.k0(x) + sc.kv(2, x)),), (0.7,)),
    E("i0e", (lambda x, y: sc.i1e(x) - np.sign(x) * y,), (0.7,)),
    E("i1e", (lambda x, y: 0.5 * (sc.i0e(x) + sc.ive(2, x)) - np.sign(x) * y,), (0.7,)),
    E("k0e", (lambda x, y: y - sc.k1e(x),), (0.7,)),
    E("k1e", (lambda x, y: y - 0.5 * (sc.k0e(x) + sc.kve(2, x)),), (0.7,)),
    E("jv", (None, lambda v, x, y: 0.5 * (sc.jv(v - 1, x) - sc.jv(v + 1, x))), (2, 0.7), True),
    E("yv", (None, lambda v, x, y: 0.5 * (sc.yv(v - 1, x) - sc.yv(v + 1, x))), (2, 0.7), True),
    E("yn", (None, lambda v, x, y: 0.5 * (sc.yv(np.trunc(v) - 1, x) - sc.yv(np.trunc(v) + 1, x))), (2, 0.7)),
    E("iv", (lambda v, x, y: iv_order_slope(v, x),
              lambda v, x, y: 0.5 * (sc.iv(v - 1, x) + sc.iv(v + 1, x))), (2, 0.7), True),
    E("kv", (lambda v, x, y: kv_order_slope(v, x),
              lambda v, x, y: -0.5 * (sc.kv(v - 1, x) + sc.kv(v + 1, x))), (2, 0.7), True),
    E("kn", (None, lambda v, x, y: -0.5 * (sc.kv(np.trunc(v) - 1, x) + sc.kv(np.trunc(v) + 1, x))), (2, 0.7)),
    E("jve", (None, lambda v, x, y: central(sc.jve, v, x, y)), (2, 0.7)),
    E("yve", (None, lambda v, x, y: central(sc.yve, v, x, y)), (2, 0.7)),
    E("ive", (lambda v, x, y: ive_order_slope(v, x),
               lambda v, x, y: scaled(sc.ive, -1.0, v, x, y)), (2, 0.7)),
    E("kve", (lambda v, x, y: kve_order_slope(v, x),
               lambda v, x, y: y - 0.5 * (sc.kve(v - 1, x) + sc.kve(v + 1, x))), (2, 0.7), True),
    E("hankel1", (None, lambda v, x, y: 0.5 * (sc.hankel1(v - 1, x) - sc.hankel1(v + 1, x))), (2, 0.7), True),
    E("hankel2", (None, lambda v, x, y: 0.5 * (sc.hankel2(v - 1, x) - sc.hankel2(v + 1, x))), (2, 0.7), True),
    E("hankel1e",
      (None, lambda v, x, y: 0.5 * (sc.hankel1e(v - 1, x) - sc.hankel1e(v + 1, x)) - 1j * y), (2, 0.7), True),
    E("hankel2e",
      (None, lambda v, x, y: 0.5 * (sc.hankel2e(v - 1, x) - sc.hankel2e(v + 1, x)) + 1j * y), (2, 0.7), True),
    E("struve", (None, lambda v, x, y: struve_slope(sc.struve, -1.0, v, x)), (1, 0.7)),
    E("modstruve", (None, lambda v, x, y: struve_slope(sc.modstruve, 1.0, v, x)), (1, 0.7)),
    E("itstruve0", (lambda x, y: sc.struve(0, x),), (0.7,)),
    E("it2struve0", (lambda x, y: -quotient(sc.struve(0, x), x, 2.0 / math.pi),), (0.7,)),
    E("itmodstruve0", (lambda x, y: sc.modstruve(0, x),), (0.7,)),
    E("ber", (lambda x, y: sc.berp(x),), (0.7,)),
    E("bei", (lambda x, y: sc.beip(x),), (0.7,)),
    E("ker", (lambda x, y: sc.kerp(x),), (0.7,)),
    E("kei", (lambda x, y: sc.keip(x),), (0.7,)),
    E("berp", (lambda x, y: -quotient(y, x, 0.0) - sc.bei(x),), (0.7,)),
    E("beip", (lambda x, y: -quotient(y, x, 0.5) + sc.ber(x),), (0.7,)),
    E("kerp", (lambda x, y: -y / x - sc.kei(x),), (0.7,)),
    E("keip", (lambda x, y: -y / x + sc.ker(x),), (0.7,)),
]  # fmt: skip
CASES: list[RuleCase] = register_table(sc, _BESSEL)


def _differentiated(name: str) -> None:
    """`jvp(v, z, n)` and its kin: the n-th derivative by z."""
    f = getattr(sc, name)
    unknown = NoDerivative(f"scipy.special.{name}", "its order")

    def rule(v, z, n=1):
        sz = keep(z)

        def pullback(dy):
            t = dy * np.conjugate(f(v, z, n + 1))
            return unknown, onto(t, z, sz)

        return f(v, z, n), pullback

    elementwise(f, 2)(rule)
    CASES.extend([case(f, 2, 0.7), case(f, 2, _P, 2), case(f, 1, _P)])


def _spherical(name: str, below: float, above: float) -> None:
    """Spherical Bessel functions: (2 n + 1) f_n' = below n f_(n-1) + above (n + 1) f_(n+1) (DLMF 10.51)."""
    f = getattr(sc, name)
    unknown = NoDerivative(f"scipy.special.{name}", "its order")

    def second(n, z):
        lower, upper = f(np.maximum(n - 1, 0), z, True), f(n + 1, z, True)
        return (below * n * lower + above * (n + 1) * upper) / (2 * n + 1)

    def rule(n, z, derivative=False):
        sz = keep(z)

        def pullback(dy):
            d = second(n, z) if derivative else f(n, z, True)
            return unknown, onto(dy * np.conjugate(d), z, sz)

        return f(n, z, derivative), pullback

    elementwise(f, 2)(rule)
    CASES.extend(
        [case(f, 2, 0.7), case(f, 2, _P), case(f, 1, _P, True), case(f, 1, _P, derivative=True), case(f, 0, _P)]
    )


_P, _Q = np.array([0.4, 1.3, 2.2]), np.array([[0.5 + 0.3j, -1.1 + 0.2j]])
_ORDERS = np.array([[-1.3], [0.0], [2.4], [30.0]])
CASES += [case(f, v, x) for f in (sc.iv, sc.kv, sc.ive, sc.kve) for v, x in ((2.3, 0.7), (_ORDERS, _P), (_P, 40.0))]
for _name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
    _differentiated(_name)
for _name, _below, _above in (("jn", 1.0, -1.0), ("yn", 1.0, -1.0), ("in", 1.0, 1.0), ("kn", -1.0, -1.0)):
    _spherical(f"spherical_{_name}", _below, _above)

# -- functions with several results -----------------------------------------------------------------------


def airy_slopes(x: Any, y: Any) -> tuple[Any, ...]:
    return y[1], x * y[0], y[3], x * y[2]


def airye_slopes(x: Any, y: Any) -> tuple[Any, ...]:
    """Scaled by exp(+-2/3 x^(3/2)), for x >= 0."""
    if is_complex(x) or np.any(np.asarray(x) < 0):
        raise NotDifferentiated("scipy.special.airye is differentiated for real x >= 0; use airy")
    r = np.sqrt(x)
    return y[1] + r * y[0], x * y[0] + r * y[1], y[3] - r * y[2], x * y[2] - r * y[3]


def kelvin_slopes(x: Any, y: Any) -> tuple[Any, ...]:
    """Be'' = -Be' / x + i Be, and so for Ke."""
    return y[2], y[3], -quotient(y[2], x, 0.5j) + 1j * y[0], -y[3] / x + 1j * y[1]


_SEVERAL: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("airy", airy_slopes, (0.7, -1.3, _P, _Q)),
    ("airye", airye_slopes, (0.7, _P)),
    ("kelvin", kelvin_slopes, (0.7, _P)),
    ("itairy", lambda x, y: (sc.airy(x)[0], sc.airy(x)[2], sc.airy(-x)[0], sc.airy(-x)[2]), (0.7, _P)),
    ("itj0y0", lambda x, y: (sc.j0(x), sc.y0(x)), (0.7, _P)),
    ("iti0k0", lambda x, y: (sc.i0(x), sc.k0(x)), (0.7, _P)),
    ("it2j0y0", lambda x, y: (quotient(1.0 - sc.j0(x), x, 0.0), -sc.y0(x) / x), (0.7, _P)),
    ("it2i0k0", lambda x, y: (quotient(sc.i0(x) - 1.0, x, 0.0), -sc.k0(x) / x), (0.7, _P)),
]


def _several(name: str, slopes: Any) -> None:
    f = getattr(sc, name)

    def rule(x):
        y = f(x)
        shape = keep(x)

        def pullback(dy):
            return (sum_of(list(zip(dy, slopes(x, y), strict=True)), x, shape),)

        return y, pullback

    elementwise(f, 1)(rule)


def _cylinder(name: str, curvature: Any) -> None:
    """Parabolic cylinder functions: (D, D') with D'' = curvature D."""
    f = getattr(sc, name)
    unknown = NoDerivative(f"scipy.special.{name}", "its parameter")

    def rule(v, x):
        y = f(v, x)
        shape = keep(x)

        def pullback(dy):
            return unknown, sum_of([(dy[0], y[1]), (dy[1], curvature(v, x) * y[0])], x, shape)

        return y, pullback

    elementwise(f, 2)(rule)
    CASES.extend([case(f, 2, 0.7), case(f, 2, _P)])


for _name, _slopes, _points in _SEVERAL:
    _several(_name, _slopes)
    CASES += [case(getattr(sc, _name), x) for x in _points]
_cylinder("pbdv", lambda v, x: x * x / 4.0 - v - 0.5)
_cylinder("pbvv", lambda v, x: x * x / 4.0 - v - 0.5)
_cylinder("pbwa", lambda a, x: a - x * x / 4.0)

# -- orthogonal polynomials -------------------------------------------------------------------------------


def lowered(f: Any, n: Any, *rest: Any) -> Any:
    """f of degree n - 1, zero for n = 0."""
    n = np.asarray(n)
    if n.ndim == 0:
        return f(n[()] - 1, *rest) if n > 0 else 0.0 * rest[-1]
    return np.where(n > 0, f(np.where(n > 0, n - 1, 0), *rest), 0.0)


def lpmv_slope(m: Any, v: Any, x: Any, y: Any) -> Any:
    """((v + m) P_(v-1) - v x P_v) / (1 - x^2); for m = 0 that of the function of order 1, which has limits at +-1."""
    gap = 1.0 - x * x
    ends = np.where(x > 0, 0.5, -0.5 * np.cos(np.pi * v)) * v * (v + 1.0)
    plain = np.where(gap == 0, ends, -sc.lpmv(1, v, x) / np.sqrt(np.where(gap == 0, 1.0, gap)))
    lower = np.where(np.asarray(v) == 0, 0.0, sc.lpmv(m, np.where(np.asarray(v) == 0, 1, v) - 1, x))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(m) == 0, plain, ((v + m) * lower - v * x * y) / gap)[()]


_POLYNOMIALS = [
    E("eval_legendre",
      (None, lambda n, x, y: 0.5 * (n + 1.0) * lowered(sc.eval_jacobi, n, 1.0, 1.0, x)), (3, 0.7), True),
    E("eval_sh_legendre",
      (None, lambda n, x, y: (n + 1.0) * lowered(sc.eval_jacobi, n, 1.0, 1.0, 2.0 * x - 1.0)), (3, 0.7), True),
    E("eval_chebyt", (None, lambda n, x, y: n * lowered(sc.eval_chebyu, n, x)), (3, 0.7), True),
    E("eval_chebyu", (None, lambda n, x, y: 2.0 * lowered(sc.eval_gegenbauer, n, 2.0, x)), (3, 0.7), True),
    E("eval_chebyc", (None, lambda n, x, y: n * lowered(sc.eval_chebyu, n, 0.5 * x)), (3, 0.7), True),
    E("eval_chebys", (None, lambda n, x, y: lowered(sc.eval_gegenbauer, n, 2.0, 0.5 * x)), (3, 0.7), True),
    E("eval_sh_chebyt", (None, lambda n, x, y: 2.0 * n * lowered(sc.eval_chebyu, n, 2.0 * x - 1.0)), (3, 0.7), True),
    E("eval_sh_chebyu",
      (None, lambda n, x, y: 4.0 * lowered(sc.eval_gegenbauer, n, 2.0, 2.0 * x - 1.0)), (3, 0.7), True),
    E("eval_hermite", (None, lambda n, x, y: 2.0 * n * lowered(sc.eval_hermite, n, x)), (3, 0.7)),
    E("eval_hermitenorm", (None, lambda n, x, y: n * lowered(sc.eval_hermitenorm, n, x)), (3, 0.7)),
    E("eval_laguerre", (None, lambda n, x, y: -lowered(sc.eval_genlaguerre, n, 1.0, x)), (3, 0.7), True),
    E("eval_genlaguerre",
      (None, None, lambda n, a, x, y: -lowered(sc.eval_genlaguerre, n, a + 1.0, x)), (3, 2, 0.7), True),
    E("eval_gegenbauer",
      (None, None, lambda n, a, x, y: 2.0 * a * lowered(sc.eval_gegenbauer, n, a + 1.0, x)), (3, 2, 0.7), True),
    E("eval_jacobi", (None, None, None, lambda n, a, b, x, y:
                      0.5 * (n + a + b + 1.0) * lowered(sc.eval_jacobi, n, a + 1.0, b + 1.0, x)), (3, 2, 1, 0.7), True),
    E("eval_sh_jacobi", (None, None, None, lambda n, p, q, x, y:
                         n * lowered(sc.eval_sh_jacobi, n, p + 2.0, q + 1.0, x)), (3, 4, 2, 0.7), True),
    E("lpmv", (None, None, lambda m, v, x, y: lpmv_slope(m, v, x, y)), (1, 3, 0.7)),
]  # fmt: skip
pure.update({scaled, central, struve_slope, airy_slopes, airye_slopes, kelvin_slopes, lowered, lpmv_slope})
CASES += register_table(sc, _POLYNOMIALS)
CASES += [
    case(f, n, x)
    for f in (sc.eval_legendre, sc.eval_chebyt, sc.eval_hermite, sc.eval_laguerre)
    for n, x in ((0, 0.7), (1, _P / 3), (np.array([0, 1, 2, 5]), 0.3))
]
CASES += [case(lambda x: sc.jv(2.5, x), _P)]
_ZERO = np.array([0.0, 0.7])
CASES += [case(f, n, _ZERO) for f in (sc.struve, sc.modstruve) for n in (0, 1)]
CASES += [case(sc.it2struve0, np.array([1e-3, 0.7])), case(sc.berp, _ZERO), case(sc.beip, _ZERO)]
CASES += [case(f, n, _ZERO, True) for f in (sc.spherical_jn, sc.spherical_in) for n in (0, 1, 2)]
