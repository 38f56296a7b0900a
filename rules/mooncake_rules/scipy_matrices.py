"""scipy.linalg: functions of matrices, matrix equations, matrices that are made of vectors.

For matrix functions N. Higham, "Functions of Matrices" (2008): the transpose of the derivative of f at A is the
derivative of f at A^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.numpy_linalg import (
    adjoint,
    kind_of,
)
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule
from mooncake_rules.scipy_linalg import toeplitz_parts
from mooncake_rules.sequences import unstack
from mooncake_rules.stacks import one_after_other

Options = dict[str, Any]
Arrays = np.ndarray


def _matrix(x: Arrays, vector: bool) -> Arrays:
    return x[..., None] if vector else x


def _zeros(y: Any) -> Any:
    return np.zeros(y.shape, y.dtype)


def _or_zeros(dy: Any, y: Any) -> Any:
    return _zeros(y) if dy is None else dy


def lower_part(t: Arrays, k: int = 0) -> Arrays:
    return np.tril(t, k)


# -- functions of matrices --------------------------------------------------------------------------------


def _each(f: Any, *stacks: Arrays) -> Arrays:
    """f of the matrices of stacks, one by one."""
    if stacks[0].ndim == 2:
        return np.asarray(f(*stacks))
    flat = [s.reshape(-1, *s.shape[-2:]) for s in stacks]
    return np.stack([f(*ms) for ms in zip(*flat, strict=True)]).reshape(stacks[0].shape)


def expm_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    return _each(lambda a, e: sl.expm_frechet(a, e, compute_expm=False), adjoint(o["A"]), dy)


def sqrtm_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    """X X = A: the cotangent solves X^H T + T X^H = dy."""
    yh = adjoint(y)
    return _each(sl.solve_sylvester, yh, yh, dy)


def block_derivative(f: Any, a: Arrays, e: Arrays) -> Arrays:
    """The derivative of the matrix function f at a in direction e: a block of f([[a, e], [0, a]])."""
    n = a.shape[-1]
    scale = float(np.linalg.norm(e)) / (float(np.linalg.norm(a)) or 1.0)
    if not scale:
        return np.zeros_like(e)
    whole = np.zeros((2 * n, 2 * n), np.result_type(a, e))
    whole[:n, :n] = whole[n:, n:] = a
    whole[:n, n:] = e / scale
    return f(whole)[:n, n:] * scale


def transposed_derivative(f: Any, a: Arrays, dy: Arrays) -> Arrays:
    """The cotangent of a matrix; not by a^H, as f(a^H) is not f(a)^H where an eigenvalue is on a branch cut of f."""
    return np.conjugate(block_derivative(f, np.swapaxes(a, -1, -2), np.conjugate(dy)))


def _matrix_function(f: Any) -> None:
    library_rule(f, 1, lambda dy, y, o: _each(lambda a, e: transposed_derivative(f, a, e), o["A"], dy))


def power_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    a, t = o["A"], o["t"]
    p = float(t)
    da = transposed_derivative(lambda m: sl.fractional_matrix_power(m, p), a, dy)
    return da, np.real(np.sum(np.conjugate(dy) * (y @ sl.logm(a))))


library_rule(sl.expm, 1, expm_cotangent)
library_rule(sl.sqrtm, 1, sqrtm_cotangent)

for _f in (sl.logm, sl.cosm, sl.sinm, sl.tanm, sl.coshm, sl.sinhm, sl.tanhm, sl.signm):
    _matrix_function(_f)

library_rule(sl.fractional_matrix_power, 2, power_cotangents)

# -- matrix equations -------------------------------------------------------------------------------------


def sylvester_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    z = sl.solve_sylvester(adjoint(o["a"]), adjoint(o["b"]), dy)
    xh = adjoint(x)
    return -(z @ xh), -(xh @ z), z


def lyapunov_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A X + X A^H = Q."""
    z = sl.solve_continuous_lyapunov(adjoint(o["a"]), dy)
    return -(z @ adjoint(x) + adjoint(z) @ x), z


def discrete_lyapunov_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A X A^H - X + Q = 0."""
    a = o["a"]
    z = sl.solve_discrete_lyapunov(adjoint(a), dy)
    return z @ a @ adjoint(x) + adjoint(z) @ a @ x, z


def riccati_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A^H X + X A - X B R^-1 B^H X + Q = 0."""
    if o["e"] is not None or o["s"] is not None:
        raise NotDifferentiated("scipy.linalg.solve_continuous_are is differentiated without e and s")
    a, b, r = o["a"], o["b"], o["r"]
    gain = np.linalg.solve(r, adjoint(b) @ x)
    closed = a - b @ gain
    z = sl.solve_continuous_lyapunov(closed, -dy)
    both = adjoint(x) @ z + x @ adjoint(z)
    return both, -(both @ adjoint(gain)), z, gain @ z @ adjoint(gain)


def discrete_riccati_cotangents(dy: Arrays, x: Arrays, o: Options) -> tuple[Any, ...]:
    """A^H X A - X - A^H X B (R + B^H X B)^-1 B^H X A + Q = 0."""
    if o["e"] is not None or o["s"] is not None:
        raise NotDifferentiated("scipy.linalg.solve_discrete_are is differentiated without e and s")
    a, b, r = o["a"], o["b"], o["r"]
    gain = np.linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
    closed = a - b @ gain
    z = sl.solve_discrete_lyapunov(closed, dy)
    both = x @ closed @ (z + adjoint(z))
    return both, -(both @ adjoint(gain)), z, gain @ z @ adjoint(gain)


_EQUATION = dict.fromkeys(("a", "b", "q", "r", "e", "s"), 2)
library_rule(sl.solve_sylvester, 3, sylvester_cotangents)
library_rule(sl.solve_continuous_lyapunov, 2, lyapunov_cotangents)
library_rule(sl.solve_discrete_lyapunov, 2, discrete_lyapunov_cotangents)
library_rule(sl.solve_continuous_are, 4, riccati_cotangents, matrices=_EQUATION)
library_rule(sl.solve_discrete_are, 4, discrete_riccati_cotangents, matrices=_EQUATION)

# -- matrices made of vectors -----------------------------------------------------------------------------


def _vectors(cotangents: Any, *names: str) -> Any:
    """The cotangents of vectors by those of one: each of its own matrix, or all of one, as SciPy had it before 1.17."""

    def of_any(dy: Arrays, y: Arrays, o: Options) -> Any:
        if y.ndim == 2:
            return cotangents(dy, y, o)

        def one(dy: Arrays, y: Arrays, *vectors: Arrays) -> Any:
            ds = cotangents(dy, y, {**o, **dict(zip(there, vectors, strict=True))})
            return ds[: len(there)] if type(ds) is tuple else (ds,)

        there = [k for k in names if o[k] is not None]
        ds = one_after_other(one, dy, y, *[(o[k], min(o[k].ndim, 1)) for k in there])
        return (*ds, *[None] * (len(names) - len(ds)))

    return of_any


def toeplitz_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    c, r = o["c"], o["r"]
    n, m = dy.shape
    dc, dr = toeplitz_parts(dy, n, m)
    if r is None:
        return (dc + np.conjugate(dr)).reshape(c.shape), None
    return dc.reshape(c.shape), dr.reshape(r.shape)


def gathered(dy: Arrays, index: Arrays, n: int) -> Arrays:
    """The cotangent of the n numbers that were put in places `index` (from 1; 0 is a zero)."""
    out = np.zeros(n + 1, dy.dtype)
    np.add.at(out, index, dy)
    return out[1:]


def hankel_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    c, r = o["c"], o["r"]
    n = c.size
    if r is None:
        return gathered(dy, sl.hankel(np.arange(1, n + 1)), n).reshape(c.shape), None
    t = gathered(dy, sl.hankel(np.arange(1, n + 1), np.arange(1, r.size + 1) + n), n + r.size)
    return t[:n].reshape(c.shape), t[n:].reshape(r.shape)


def circulant_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    c = o["c"]
    return gathered(dy, sl.circulant(np.arange(1, c.size + 1)), c.size).reshape(c.shape)


def convolution_matrix_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    n = o["a"].size
    return gathered(dy, sl.convolution_matrix(np.arange(1, n + 1), o["n"], o["mode"]), n)


def companion_cotangent(dy: Arrays, y: Arrays, o: Options) -> Arrays:
    a = o["a"]
    t = -dy[..., 0, :] / np.conjugate(a[..., :1])
    return np.concatenate([np.sum(t * np.conjugate(y[..., 0, :]), -1, keepdims=True), t], -1)


def khatri_rao_cotangents(dy: Arrays, y: Arrays, o: Options) -> tuple[Any, Any]:
    a, b = o["a"], o["b"]
    t = dy.reshape(*dy.shape[:-2], a.shape[-2], b.shape[-2], dy.shape[-1])
    da = np.sum(t * np.conjugate(b)[..., None, :, :], axis=-2)
    db = np.sum(t * np.conjugate(a)[..., :, None, :], axis=-3)
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


library_rule(sl.toeplitz, 2, _vectors(toeplitz_cotangents, "c", "r"))
library_rule(sl.hankel, 2, _vectors(hankel_cotangents, "c", "r"))
library_rule(sl.circulant, 1, _vectors(circulant_cotangent, "c"))
library_rule(sl.convolution_matrix, 1, _vectors(convolution_matrix_cotangent, "a"))
library_rule(sl.companion, 1, companion_cotangent)
library_rule(sl.khatri_rao, 2, khatri_rao_cotangents)


def block_diag_cotangents(dy: Arrays, arrs: tuple[Any, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    row = col = 0
    for x in arrs:
        a = np.asarray(x)
        m, n = a.shape[-2:] if a.ndim > 1 else (1, a.size)
        t = unbroadcast(dy[..., row : row + m, col : col + n], a.shape if a.ndim > 1 else (m, n)).reshape(a.shape)
        t = kind_of(np.array(t), a)
        out.append(t if isinstance(x, np.ndarray) else unstack(t if a.ndim else t[()], x))
        row, col = row + m, col + n
    return tuple(out)


@rrule(sl.block_diag)
def block_diag(*arrs):
    def pullback(dy):
        return block_diag_cotangents(dy, arrs)

    return sl.block_diag(*arrs), pullback


pure.update({block_diag_cotangents, sl.block_diag})
zero_derivative(sl.hilbert, sl.invhilbert, sl.pascal, sl.invpascal, sl.hadamard, sl.dft, sl.helmert)
zero_derivative(sl.bandwidth, sl.issymmetric, sl.ishermitian)

by_regular_samples(
    sl.toeplitz,
    sl.hankel,
    sl.circulant,
    sl.block_diag,
    sl.solve_toeplitz,
    sl.solve_banded,
    sl.solveh_banded,
    sl.solve_sylvester,
    sl.solve_continuous_lyapunov,
    sl.solve_discrete_lyapunov,
    sl.pinv,
    sl.norm,
    sl.khatri_rao,
)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_H = _A @ _A.T + np.eye(3)
_K = np.array([[1.5, 0.2, 0.1], [0.2, 2.5, 0.3], [0.1, 0.3, 3.5]])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_ZH = _Z @ np.conjugate(_Z.T) + np.eye(3)

_SPREAD = np.array([[1.0, 0.3, 0.1], [0.2, 2.5, 0.4], [0.1, -0.3, 4.0]])

CASES: list[RuleCase] = [
    case(sl.sqrtm, _H), case(sl.sqrtm, _ZH), case(sl.sqrtm, _SPREAD), case(sl.logm, _H), case(sl.logm, _ZH),
    case(sl.logm, _SPREAD),
    *[case(f, x) for f in (sl.cosm, sl.sinm, sl.tanm, sl.coshm, sl.sinhm, sl.tanhm) for x in (_K / 3, _SPREAD / 4)],
    case(sl.cosm, _Z / 3), case(sl.fractional_matrix_power, _H, 0.3), case(sl.fractional_matrix_power, -_H, 0.3),
    *[case(f, _H - 2.0 * np.outer(_H[0], _H[0])) for f in (sl.logm, sl.sqrtm)], case(sl.expm, np.zeros((2, 2))),
    case(sl.solve_sylvester, _A + 3 * np.eye(3), _M[:, :2], np.ones((3, 2))), case(sl.solve_sylvester, _Z, _ZH, _A),
    case(sl.solve_continuous_lyapunov, _A, _H), case(sl.solve_continuous_lyapunov, _Z, _A),
    case(sl.solve_discrete_lyapunov, _A / 3, _H), case(sl.solve_discrete_lyapunov, _Z / 3, _ZH),
    case(sl.toeplitz, _V), case(sl.toeplitz, _V, _M[0]), case(sl.toeplitz, _V * 1j + 1), case(sl.hankel, _V),
    case(sl.hankel, _V, _M[0]), case(sl.circulant, _V), case(sl.convolution_matrix, _V, 4),
    case(sl.convolution_matrix, _V, 4, "same"), case(sl.companion, _V), case(sl.khatri_rao, _A, _M),
    case(sl.block_diag, _A, _M, _V), case(sl.block_diag, 0.5, _M), case(sl.block_diag, [1.5, 2.0], _Z),
    case(lambda b: sl.solve_continuous_are(_A, b, _H, _K), _M.T @ np.array([[1.0, 0.2, 0.1], [0.3, 2.0, 0.5]])),
    case(lambda a, b, q, r: sl.solve_discrete_are(a, b, (q + q.T) / 2, (r + r.T) / 2), _A / 3, _M.T, _H, _H[:2, :2]),
    case(sl.signm, _A), case(lambda a: np.sum(a) * (sl.bandwidth(a)[0] + sl.issymmetric(a) + 2), _A),
    case(lambda a, q, r: sl.solve_continuous_are(a, _A + 2, (q + q.T) / 2, (r + r.T) / 2), _A, _H, _K),
]  # fmt: skip
