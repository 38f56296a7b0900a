"""Polynomials without the coefficients of their highest powers: where these are 0 NumPy drops them, and with them
the derivatives that they may have.

`poly1d` is refused then. `numpy.polynomial` drops what is 0 at every step, mostly what has no derivative: there the
cotangent of what was dropped is NaN, so that the derivative of what depends on it is not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Array
from mooncake_py.registry import overlay, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, real_of
from mooncake_rules.mirror import as_written
from mooncake_rules.sequences import ArrayLike, unstack

BASES = {chebyshev: "cheb", hermite: "herm", hermite_e: "herme", laguerre: "lag", legendre: "leg", polynomial: "poly"}


def dropped(name: str) -> None:
    raise NotDifferentiated(
        f"{name} drops leading coefficients that are 0, and their derivatives with them: evaluate by np.polyval or "
        "np.polynomial.Polynomial(c)(x), which keep them"
    )


# -- series -----------------------------------------------------------------------------------------------


def shortened(seq: np.ndarray) -> np.ndarray:
    return polyutils.trimseq(seq).copy()


@rrule(shortened, types=(Array,))
def shortened_rule(seq):
    y = shortened(seq)
    n = len(seq)

    def pullback(dy):
        return padded(dy, n)

    return y, pullback


def padded(dy: np.ndarray, n: int) -> np.ndarray:
    out = np.full(n, np.nan, dy.dtype)
    out[: len(dy)] = dy
    return out


@overlay(polyutils.trimseq)
def trimseq(seq):
    if len(seq) < 2 or seq[-1] != 0:
        return seq
    return shortened(np.asarray(seq))


@overlay(polyutils.trimcoef)
def trimcoef(c, tol=0):
    """What is asked for with a tolerance is a choice of elements."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    [c] = polyutils.as_series([c], trim=tol == 0)
    kept = np.flatnonzero(np.abs(c) > tol)
    return c[: kept[-1] + 1].copy() if len(kept) else c[:1] * 0


def product_cotangents(mul: Callable[..., Any], dy: np.ndarray, c1: Any, c2: Any) -> tuple[Any, Any]:
    """By the products of each with the polynomials of the basis: what these do not reach stays without NaN."""
    return factor_cotangent(mul, dy, c1, c2), factor_cotangent(mul, dy, c2, c1)


def factor_cotangent(mul: Callable[..., Any], dy: np.ndarray, c: Any, other: Any) -> Any:
    a = np.asarray(c)
    d = np.zeros(a.shape, np.result_type(dy, np.asarray(other)))
    for i, one in enumerate(np.eye(a.size)):
        t = mul(one, other)
        d.flat[i] = conj(t) @ dy[: len(t)] if len(t) <= len(dy) else np.nan
    return unstack(real_of(d, a), c) if a.ndim else real_of(d, a)[()]


def bilinear(mul: Any) -> None:
    @rrule(mul, types=(ArrayLike, ArrayLike))
    def product(c1, c2):
        def pullback(dy):
            return product_cotangents(mul, dy, c1, c2)

        return mul(c1, c2), pullback


# -- what makes constants of what is 0 ---------------------------------------------------------------------


def guarded(f: Any, name: str, check: Callable[..., None]) -> None:
    """Differentiate f as it is written where `check`, given its arguments, raises nothing."""
    written = as_written(f)

    @overlay(f)
    def guard(*args, **kwargs):
        check(name, *args)
        return written(*args, **kwargs)


def check_single(name: str, c: Any, *rest: Any) -> None:
    if np.ndim(c) > 0 and np.shape(c)[0] == 1 and not np.any(c):
        dropped(name)


def check_line(name: str, off: Any, scl: Any) -> None:
    if scl == 0:
        dropped(name)


for _module, _prefix in BASES.items():
    for _name, _check in (("line", check_line), ("int", check_single), ("mulx", check_single)):
        _f = getattr(_module, _prefix + _name)
        guarded(_f, f"{_module.__name__}.{_f.__name__}", _check)
    bilinear(getattr(_module, f"{_prefix}mul"))


# -- the old class ----------------------------------------------------------------------------------------

_made, _divided = as_written(np.poly1d.__init__), as_written(np.polydiv)


@overlay(np.poly1d.__init__)
def poly1d_init(self, c_or_r, r=False, variable=None):
    """NumPy's own makes a 0 of its own of a constant that is 0."""
    if isinstance(c_or_r, np.poly1d):
        _made(self, c_or_r, r, variable)
        return
    c = np.atleast_1d(np.poly(c_or_r) if r else c_or_r)
    if c.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    if len(c) > 1 and c[0] == 0:
        dropped("np.poly1d")
    self._coeffs = c if len(c) else np.zeros(1, c.dtype)
    self._variable = "x" if variable is None else variable


@overlay(np.polydiv)
def polydiv(u, v):
    """Of the remainder what cannot but be 0 goes, and what happens to be."""
    q, r = _divided(u, v)
    if len(np.atleast_1d(r)) < min(len(np.atleast_1d(u)), max(len(np.atleast_1d(v)) - 1, 1)):
        dropped("the remainder of np.polydiv")
    return q, r


# -- cases ------------------------------------------------------------------------------------------------

_C = np.array([0.5, -1.2, 0.0, 2.0])
_D = np.array([0.3, 0.0, 1.1])


def _converted(c: np.ndarray, kind: Any) -> Any:
    return np.polynomial.Polynomial(c).convert(kind=kind).coef, (kind(c) * kind([0.0, 0.0, 1.0])).coef


CASES: list[RuleCase] = [
    *(case(getattr(m, f"{prefix}mul"), _C, _D) for m, prefix in BASES.items()),
    case(legendre.legmul, _C * (1 + 0.5j), [0.3, 0.2]),
    case(lambda c: (np.poly1d(c) / np.poly1d([1.0, -2.0]))[0](1.7), np.array([1.0, -5.0, 6.0])),
    case(lambda c: np.polydiv(c, [1.0, 0.5, 1.0]), _C), case(lambda c: np.poly1d(c)(1.7) ** 2, np.zeros(1)),
    *(case(_converted, _C, k) for k in (np.polynomial.Chebyshev, np.polynomial.Legendre, np.polynomial.Hermite)),
    case(polynomial.polytrim, np.append(_C, [0.0, 0.0]), 0.1),
    case(lambda c: polynomial.polysub(c, [0.0, 1.0, 0.0, 0.0]), np.append(_C, 0.7)),
    case(np.roots, np.append(_C[::-1], 0.0)),
]  # fmt: skip
