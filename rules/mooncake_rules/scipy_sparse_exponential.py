"""scipy.sparse.linalg: the exponential of a matrix, and what it does to vectors.

With F = e^(hA) B the cotangents are dB = e^(hA^H) dF and dA = int_0^h e^((h-s)A^H) dF (e^(sA) B)^H ds (Najfeld and
Havel, 1995), of which only the entries that A stores are computed: the integrand is entire, and Gauss' rule exact to
rounding on pieces over which the norm of A is small. SciPy's own series is not differentiated: it ends where its terms
vanish, as those of a constant vector under a Laplacian do at once, and those of the derivative do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.sparse import linalg as spl

from mooncake_py.kinds import Array
from mooncake_py.registry import refuse, rrule
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_linalg import kind_of
from mooncake_rules.scipy_sparse import Sparse, adjoint, complete, give, outer, pattern, tangent_of

# -- the matrix itself ------------------------------------------------------------------------------------


def _reached(a: Any) -> Any:
    """The pattern of the sum of all powers of a matrix."""
    reach = pattern(a) + sp.eye_array(a.shape[0])
    while True:
        more = reach @ reach
        if more.nnz == reach.nnz:
            return reach
        more.data[:] = 1.0
        reach = more


@rrule(spl.expm, types=(Sparse,))
def expm(A: CoDual):
    a = A.primal
    y = complete(spl.expm(a), _reached(a))
    fy = tangent_of(y)

    def pullback(dy):
        d = take_fdata(fy.f["data"], None)
        if d is not None:
            e = y.copy()
            e.data = np.asarray(d)
            t = sl.expm_frechet(adjoint(a).toarray(), e.toarray(), compute_expm=False)
            give(A, lambda r, c: t[r, c])
        return None

    return CoDual(y, fy), pullback


@rrule(spl.expm, types=(Array,))
def expm_of_dense(A):
    def pullback(dy):
        return kind_of(sl.expm_frechet(adjoint(A), np.asarray(dy), compute_expm=False), A)

    return spl.expm(A), pullback


# -- what it does to vectors ------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_PIECE = 2.0
"""The norm of A times the length of a piece, for which ten nodes leave 3e-20 of the integral."""
_EPSILON = 2.0**-56


class _Steps:
    """Short steps v -> e^(tA) v for a matrix A whose trace was taken away, which only scales."""

    def __init__(self, a: Any):
        n = a.shape[0]
        self.mu = a.trace() / max(n, 1)
        self.a = a - self.mu * (sp.eye_array(n, format="csr") if sp.issparse(a) else np.eye(n))
        self.norm = float(np.asarray(abs(self.a).sum(axis=0)).max(initial=0.0))

    def by(self, t: float, v: np.ndarray) -> np.ndarray:
        theta, k, bound = abs(t) * self.norm, 0, 1.0
        y = term = v
        while bound > _EPSILON:
            k += 1
            bound *= theta / k
            term = (self.a @ term) * (t / k)
            y = y + term
        return np.exp(t * self.mu) * y


def _integral(a: Any, ends: Any, h: float, starts: list[np.ndarray], dys: list[np.ndarray], add: Any) -> None:
    """Hand int_0^h l(s) r(s)^H ds over to `add`, as pairs (l, r) at nodes, for each start and cotangent of its end."""
    forth, back = _Steps(a), _Steps(ends)
    count = max(1, int(np.ceil(abs(h) * forth.norm / _PIECE)), int(np.ceil(abs(h) * back.norm / _PIECE)))
    tau = h / count
    at = 0.5 * tau * (_NODES + 1.0)
    hops = np.diff(at, prepend=0.0)
    left_over = tau - at[-1]
    for x, w in zip(starts, dys, strict=True):
        first = [x]
        for _ in range(count - 1):
            first.append(forth.by(tau, first[-1]))
        for piece in reversed(range(count)):
            rights, lefts = [], []
            r, w = first[piece], back.by(left_over, w)
            for hop in hops:
                r = forth.by(hop, r)
                rights.append(r)
            for hop in hops[::-1]:
                lefts.append(w)
                w = back.by(hop, w)
            add(
                np.concatenate([v * (0.5 * tau * k) for v, k in zip(lefts[::-1], _WEIGHTS, strict=True)], axis=-1),
                np.concatenate(rights, axis=-1),
            )


def _columns(v: np.ndarray) -> np.ndarray:
    return v.reshape(v.shape[0], -1)


@rrule(spl.expm_multiply, types=(Sparse, Array))
@rrule(spl.expm_multiply, types=(Array, Array))
def expm_multiply(A: CoDual, B, start=None, stop=None, num=None, endpoint=None, traceA=None):
    a = A.primal
    y = spl.expm_multiply(a, B, start, stop, num, endpoint, traceA)
    simple = start is None and stop is None and num is None and endpoint is None
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        if simple:
            times, shares = np.ones(1), np.zeros(1)
            values, ds = [_columns(y)], [_columns(dy)]
        else:
            options = {k: v for k, v in (("num", num), ("endpoint", endpoint)) if v is not None}
            times, shares = np.linspace(start, stop, **options), np.linspace(0.0, 1.0, **options)
            values, ds = [_columns(v) for v in y], [_columns(v) for v in dy]
        slopes = [np.sum(np.real(np.conjugate(d) * (a @ v))) for d, v in zip(ds, values, strict=True)]
        turned = adjoint(a)
        da = np.zeros(a.shape, np.result_type(a, B, dy)) if isinstance(a, np.ndarray) else None

        def add(left, right):
            if da is None:
                give(A, outer(left, right))
            else:
                da[...] += left @ np.conjugate(right).T

        w = ds[-1]
        for k in range(len(times) - 1, 0, -1):
            h = times[k] - times[k - 1]
            _integral(a, turned, h, [values[k - 1]], [w], add)
            w = spl.expm_multiply(turned * h, w) + ds[k - 1]
        _integral(a, turned, times[0], [_columns(B)], [w], add)
        db = kind_of(spl.expm_multiply(turned * times[0], w).reshape(B.shape), B)
        d = None if da is None else kind_of(da, a)
        if type(A.fdata) is Shadow:
            A.fdata.add(d)
            d = None
        if simple:
            return d, db
        return d, db, float(np.dot(slopes, 1.0 - shares)), float(np.dot(slopes, shares))

    return CoDual(y, fy), pullback


refuse("make a sparse matrix or an array of the operator", spl.expm_multiply)

# -- cases ------------------------------------------------------------------------------------------------

_ROW, _COL = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 1, 2, 2, 0, 3, 1])
_D = np.array([-4.0, 0.5, -3.0, 0.2, 1.0, 0.7, -2.0, 0.3])
_V = np.array([0.5, -1.0, 2.0, 0.3])
_M = np.stack([_V, _V**2], axis=1)
_LAPLACIAN = np.diag([-1.0, -2.0, -2.0, -1.0]) + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)


def _matrix(d):
    return sp.csc_array((d, (_ROW, _COL)), shape=(4, 4))


def _of_triangle(d):
    a = sp.csr_matrix((d[:4], ([0, 0, 1, 2], [0, 1, 2, 2])), shape=(3, 3))
    return spl.expm(a).toarray(), spl.expm(a).diagonal()


def _over_times(d, v, t, u):
    a = _matrix(d)
    every = spl.expm_multiply(a, v, start=t, stop=u, num=4, endpoint=True)
    return every, spl.expm_multiply(a, v, t, u, 3, endpoint=False)


CASES: list[RuleCase] = [
    case(lambda d: spl.expm(_matrix(d)).toarray(), _D), case(_of_triangle, _D), case(spl.expm, _LAPLACIAN),
    case(lambda d: spl.expm(_matrix(d * (0.3 + 0.5j))).toarray(), _D),
    *[case(lambda d, v: spl.expm_multiply(_matrix(d), v), _D, v) for v in (_V, _M)],
    case(lambda d, v: spl.expm_multiply(_matrix(d * (1.0 + 0.5j)), v), _D, _V), case(spl.expm_multiply, _LAPLACIAN, _M),
    case(_over_times, _D, _V, 0.3, 1.4), case(spl.expm_multiply, _LAPLACIAN, np.ones(4)),
    case(lambda d: spl.expm_multiply(-0.1 * _matrix(d), np.zeros(4)), _D),
    case(lambda v: spl.expm_multiply(_matrix(_D), v, 0.0, 2.0, num=3), np.zeros(4)),
]  # fmt: skip
