"""scipy.interpolate: rational functions in barycentric form (Schneider and Werner 1986), and AAA's choice of one.

Which points support the approximation is chosen from the values and constant; the weights are a singular vector of the
Loewner matrix of the others (Nakatsukasa, Sete and Trefethen 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_polynomials import slopes_at_points

_UNDETERMINED = "the weights of this approximation by AAA are not determined: use more samples, or a larger rtol"


def loewner(z: Any, f: Any, zj: Any, fj: Any) -> Any:
    return (f[:, None] - fj) / (z[:, None] - zj)


def chosen(z: Any, f: Any, rtol: Any, max_terms: Any) -> Any:
    """What AAA gives: the places of the supporting points, the weights, the errors, what it divides the columns by."""
    plain = object.__new__(sip.AAA)
    zj, fj, wj = plain._compute_weights(z, f, rtol, max_terms)
    at = np.array([np.flatnonzero(z == p)[0] for p in zj])
    a = loewner(np.delete(z, at), np.delete(f, at), zj, fj)
    for norms in (np.ones(len(zj)), np.linalg.norm(a, axis=0)):
        v = np.conj(np.linalg.svd(a / norms)[2][-1])
        w = wj * norms
        if len(zj) == len(plain.errors) and np.abs(np.vdot(v, w)) > (1.0 - 1e-8) * np.linalg.norm(w):
            return at, wj, plain.errors, norms
    raise NotDifferentiated(_UNDETERMINED)


def least_singular_vector(a: Any, v: Any) -> Any:
    """The singular vector of the least singular value, which is v: a new array, v being constant."""
    return v.copy()


@rrule(least_singular_vector)
def least_vector(a, v):
    def pullback(dy):
        n = a.shape[1]
        u, s, vh = np.linalg.svd(a)
        k = len(s)
        values = np.zeros(n)
        values[:k] = s
        gaps, sums = values[-1] - values[:-1], values[-1] + values[:-1]
        if np.any(-gaps <= n * np.finfo(s.dtype).eps * values[0]):
            raise NotDifferentiated(_UNDETERMINED)
        length = np.linalg.norm(v)
        y = (vh[:-1] @ dy) * length / gaps / sums
        p = np.conj(vh[:-1]).T @ y
        ap = u[:, : min(k, n - 1)] @ (values[:k] * np.append(y, 0.0)[:k])[: n - 1]
        unit = v / length
        return np.outer(a @ unit, np.conj(p)) + np.outer(ap, np.conj(unit)), None

    return v.copy(), pullback


def rational_rules() -> None:
    @overlay(sip.AAA._compute_weights)
    def compute_weights(self, z, f, rtol=None, max_terms=100):
        at, wj, self.errors, norms = chosen(z, f, rtol, max_terms)
        zj, fj = z[at], f[at]
        a = loewner(np.delete(z, at), np.delete(f, at), zj, fj)
        if np.any(norms != 1.0):
            size = np.linalg.norm(a, axis=0)
            wj = least_singular_vector(a / size, wj * norms) / size
        else:
            wj = least_singular_vector(a, wj)
        self._points, self._values = z, f
        return zj, fj, wj

    @overlay(sip.AAA.__mro__[1].__call__)
    def evaluate(self, z):
        """The same numbers; at a supporting point, the tangent there."""
        z = np.asarray(z)
        x, zj, wj = np.ravel(z), self._support_points, self.weights
        fj = self._support_values.reshape((len(zj), -1))
        gaps = x[:, None] - zj
        at, far = gaps == 0.0, np.isinf(x)[:, None]
        c = 1.0 / np.where(at | far, 1.0, gaps)
        r = (c @ (wj[:, None] * fj)) / (c @ wj[:, None])
        hit = np.any(at, axis=1)
        if np.any(hit):
            k = np.argmax(at, axis=1)
            r = np.where(hit[:, None], fj[k] + (x - zj[k])[:, None] * slopes_at_points(zj, fj, wj)[k], r)
        y = np.reshape(r, z.shape + self._shape)
        return np.moveaxis(y, 0, self._axis) if z.ndim > 0 else y


CASES: list[RuleCase] = []
zero_derivative(chosen)
if hasattr(sip, "AAA"):
    rational_rules()
    _X = np.linspace(0.0, 1.0, 9)
    CASES += [
        case(lambda a, x: sip.AAA(_X, np.exp(a * _X))(x), 0.8, np.array([0.33, 0.9])),
        case(lambda a, x: sip.AAA(_X, np.exp(a * _X), rtol=1e-4)(x), 0.8, np.array([0.33, 0.9])),
        case(lambda a: sip.AAA(_X, 1.0 / (a + _X)).poles().real, 0.8),
        case(lambda a: sip.AAA(_X, a + 3.0 * _X)(0.37), 0.8),
        case(lambda a: np.abs(sip.AAA(_X, np.exp((a + 1j) * _X), rtol=1e-4)(_X + 0.01)), 0.8),
        case(lambda y, x: sip.FloaterHormannInterpolator(_X, y)(x), np.cos(3 * _X), np.array([0.33, 0.6])),
        case(
            lambda y: sip.FloaterHormannInterpolator(_X, y)(_X[[3, 4]]),
            np.cos(np.ones((2, 9)).cumsum(0).T * _X[:, None]),
        ),
    ]
