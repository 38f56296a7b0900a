"""scipy.special: spherical harmonics and Legendre functions, whose derivatives SciPy computes itself (`diff_n`).

By their degree and order they have no derivative: these must be constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.registry import pure
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import real_of
from mooncake_rules.scipy_elementwise import elementwise, keep, onto

_LEGENDRE = {
    name: f
    for name in ("legendre_p", "assoc_legendre_p", "sph_legendre_p")
    for name in (name, f"{name}_all")
    if (f := getattr(sc, name, None)) is not None
}
_HARMONICS = {name: f for name in ("sph_harm_y", "sph_harm_y_all") if (f := getattr(sc, name, None)) is not None}


def legendre_cotangent(f: Any, dy: Any, leading: tuple[Any, ...], z: Any, diff_n: int, options: dict[str, Any]) -> Any:
    """The results of order 0, 1, ... stand along the first axis."""
    slopes = f(*leading, z, diff_n=diff_n + 1, **options)[1:]
    return real_of(np.sum(dy * np.conjugate(slopes), 0), z)


def harmonic_cotangents(f: Any, dy: Any, n: Any, m: Any, theta: Any, phi: Any, diff_n: int) -> list[Any]:
    """The results of order k have k axes at their end, for the angles that they are differentiated by."""
    total: list[Any] = [0.0, 0.0]
    slopes = f(n, m, theta, phi, diff_n=diff_n + 1)[1:]
    for order, (t, d) in enumerate(zip(dy if diff_n else (dy,), slopes, strict=True)):
        if t is not None:
            for i in range(2):
                total[i] = total[i] + np.real(t * np.conjugate(d[..., i])).sum(tuple(range(-order, 0)))
    return total


pure.update({legendre_cotangent, harmonic_cotangents})


def _legendre(name: str, f: Any) -> None:
    unknown = NoDerivative(f"scipy.special.{name}", "its degree or order")

    def of_degree(n, z, *, diff_n=0):
        sz = keep(z)

        def pullback(dy):
            return unknown, onto(legendre_cotangent(f, dy, (n,), z, diff_n, {}), z, sz)

        return f(n, z, diff_n=diff_n), pullback

    def of_order(n, m, z, *, diff_n=0):
        sz = keep(z)

        def pullback(dy):
            return unknown, unknown, onto(legendre_cotangent(f, dy, (n, m), z, diff_n, {}), z, sz)

        return f(n, m, z, diff_n=diff_n), pullback

    def of_complex(n, m, z, *, branch_cut=2, norm=False, diff_n=0):
        sz = keep(z)
        options = {"branch_cut": branch_cut, "norm": norm}

        def pullback(dy):
            return unknown, unknown, onto(legendre_cotangent(f, dy, (n, m), z, diff_n, options), z, sz)

        return f(n, m, z, diff_n=diff_n, **options), pullback

    if name.startswith("assoc"):
        elementwise(f, 3)(of_complex)
    elif name.startswith("sph"):
        elementwise(f, 3)(of_order)
    else:
        elementwise(f, 2)(of_degree)


def _harmonic(name: str, f: Any) -> None:
    unknown = NoDerivative(f"scipy.special.{name}", "its degree or order")

    def rule(n, m, theta, phi, *, diff_n=0):
        st, sp = keep(theta), keep(phi)

        def pullback(dy):
            dt, dp = harmonic_cotangents(f, dy, n, m, theta, phi, diff_n)
            return unknown, unknown, onto(dt, theta, st), onto(dp, phi, sp)

        return f(n, m, theta, phi, diff_n=diff_n), pullback

    elementwise(f, 4)(rule)


for _name, _f in _LEGENDRE.items():
    _legendre(_name, _f)
for _name, _f in _HARMONICS.items():
    _harmonic(_name, _f)

# -- cases ------------------------------------------------------------------------------------------------

_P, _C = np.array([0.4, 1.3, 2.2]), np.array([[0.3], [-0.6]])
CASES: list[RuleCase] = []
for _name, _f in _LEGENDRE.items():
    _at = (3,) if _name.startswith("legendre") else (3, 1)
    CASES += [case(_f, *_at, 0.3), case(_f, *_at, _C)]
    if _name.startswith("assoc"):
        CASES += [case(_f, 2, 1, [0.4j + 0.3, 1.4j], branch_cut=3, norm=True)]
    else:
        CASES += [case(_f, *_at, [0.3, 0.5], diff_n=1)]
for _f in _HARMONICS.values():
    CASES += [case(_f, 2, m, t, p) for m in (1, -2) for t, p in ((0.7, 0.4), (_C * _C, _P))]
    CASES += [case(_f, 0, 0, _P, [0.1, 0.2, 0.3]), case(_f, 2, 1, _P, 0.3, diff_n=1), case(_f, 2, 0, 0.0, 0.3)]
