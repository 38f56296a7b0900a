"""scipy.linalg.blas and scipy.linalg.lapack: functions of vectors and matrices in common use, in all four precisions.

The value is that of the library; what is differentiated is the same in NumPy's and SciPy's own functions. Options of
strides and offsets are refused where they are used, and so is what overwrites an argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.linalg import blas, lapack

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrored

_DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def _routine(f: Any, g: Callable[..., Any]) -> None:
    """The rule of f from the function g, which gives those of its results that are no integers."""
    signature = inspect.signature(g)

    def rule(*args, **kwargs):
        y = f(*args, **kwargs)
        several = type(y) is tuple
        if several and type(y[-1]) is int and y[-1] != 0:
            raise NotDifferentiated(f"{f.__name__} failed (info = {y[-1]}): its result is not differentiated")

        def pullback(dy):
            if several:
                pairs = [(v, d) for v, d in zip(y, dy, strict=True) if np.asarray(v).dtype.kind in "fc"]
                dy = tuple([np.zeros(np.shape(v), v.dtype) if d is None else d for v, d in pairs])
                dy = dy if len(dy) > 1 else dy[0]
            return mirrored(g, signature, args, kwargs, dy)

        return y, pullback

    rule.__signature__ = signature  # type: ignore[attr-defined]
    rrule(f)(rule)


def plainly(*options: Any) -> None:
    """Options at their defaults: nothing is overwritten, nothing is left out."""
    for given, default in options:
        if given is not None and given != default:
            raise NotDifferentiated(
                "offsets, strides and overwriting in calls of BLAS and LAPACK are not differentiated"
            )


zero_derivative(plainly)
zero_derivative(sl.get_blas_funcs, sl.get_lapack_funcs)  # what they remember is by kinds of arrays


def turned(a: Any, trans: Any) -> Any:
    """a, its transpose, or its conjugate transpose."""
    return np.conj(a.T) if trans == 2 else a.T if trans == 1 else a


def triangle(a: Any, lower: Any, unit: Any = 0) -> Any:
    t = np.tril(a) if lower else np.triu(a)
    return t - np.diag(np.diag(t)) + np.eye(len(t), dtype=t.dtype) if unit else t


def mirrored_triangle(a: Any, lower: Any, conjugate: bool) -> Any:
    """The symmetric or Hermitian matrix of which one triangle is given."""
    t = triangle(a, lower)
    middle = np.diag(np.diag(t))
    rest = t - middle
    return rest + np.conj(rest).T + middle.real if conjugate else rest + rest.T + middle


# -- vectors ------------------------------------------------------------------------------------------------


def dot(x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return np.sum(np.asarray(x) * np.asarray(y))


def dotc(x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return np.sum(np.conj(x) * np.asarray(y))


def nrm2(x, n=None, offx=0, incx=1):
    plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1))
    return np.linalg.norm(x)


def asum(x, n=None, offx=0, incx=1):
    plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1))
    x = np.asarray(x)
    return np.sum(np.abs(x.real)) + np.sum(np.abs(x.imag)) if np.iscomplexobj(x) else np.sum(np.abs(x))


def written_to(x: Any, dtype: Any) -> bool:
    """Does a routine that changes x do so in place, and not in a copy?"""
    return isinstance(x, np.ndarray) and x.dtype == dtype and x.ndim == 1 and bool(x.flags.c_contiguous)


zero_derivative(written_to)


def _in_place(letter: str) -> None:
    """axpy and scal change their vector, where it is one that they can use as it is."""
    dtype, library_axpy = _DTYPES[letter], getattr(blas, letter + "axpy")

    def summed(x, y, a):
        """As the library rounds it: the processor may multiply and add at once."""
        return library_axpy(x, np.array(y), a=a)

    def numpy_sum(x, y, a):
        return y + np.asarray(a * np.asarray(x), dtype=dtype)

    _routine(summed, numpy_sum)

    @overlay(library_axpy)
    def axpy(x, y, n=None, a=1.0, offx=0, incx=1, offy=0, incy=1):
        plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
        if not written_to(y, dtype):
            y = np.array(y, dtype=dtype)
        y[:] = summed(x, y, a)
        return y

    @overlay(getattr(blas, letter + "scal"))
    def scal(a, x, n=None, offx=0, incx=1):
        plainly((n, None if n is None else len(x)), (offx, 0), (incx, 1))
        if not written_to(x, dtype):
            x = np.array(x, dtype=dtype)
        x *= np.asarray(a, dtype=dtype)
        return x


# -- products -----------------------------------------------------------------------------------------------


def gemv(alpha, a, x, beta=0.0, y=None, offx=0, incx=1, offy=0, incy=1, trans=0, overwrite_y=0):
    plainly((offx, 0), (incx, 1), (offy, 0), (incy, 1), (overwrite_y, 0))
    product = alpha * (turned(np.asarray(a), trans) @ np.asarray(x))
    return product if y is None else product + beta * np.asarray(y)


def gemm(alpha, a, b, beta=0.0, c=None, trans_a=0, trans_b=0, overwrite_c=0):
    plainly((overwrite_c, 0))
    product = alpha * (turned(np.asarray(a), trans_a) @ turned(np.asarray(b), trans_b))
    return product if c is None else product + beta * np.asarray(c)


def ger(alpha, x, y, incx=1, incy=1, a=None, overwrite_x=1, overwrite_y=1, overwrite_a=0):
    plainly((incx, 1), (incy, 1), (overwrite_a, 0))  # x and y are kept, whatever is said
    product = alpha * np.outer(x, y)
    return product if a is None else product + np.asarray(a)


def _of_symmetric(conjugate: bool) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def symv(alpha, a, x, beta=0.0, y=None, offx=0, incx=1, offy=0, incy=1, lower=0, overwrite_y=0):
        plainly((offx, 0), (incx, 1), (offy, 0), (incy, 1), (overwrite_y, 0))
        product = alpha * (mirrored_triangle(np.asarray(a), lower, conjugate) @ np.asarray(x))
        return product if y is None else product + beta * np.asarray(y)

    def symm(alpha, a, b, beta=0.0, c=None, side=0, lower=0, overwrite_c=0):
        plainly((overwrite_c, 0))
        whole, b = mirrored_triangle(np.asarray(a), lower, conjugate), np.asarray(b)
        product = alpha * (b @ whole if side else whole @ b)
        return product if c is None else product + beta * np.asarray(c)

    def syrk(alpha, a, beta=0.0, c=None, trans=0, lower=0, overwrite_c=0):
        plainly((overwrite_c, 0))
        a = turned(np.asarray(a), 2 if trans and conjugate else 1 if trans else 0)
        product = triangle(alpha * (a @ turned(a, 2 if conjugate else 1)), lower)
        if c is None:
            return product
        c = np.asarray(c)
        return product + c + triangle((beta - 1.0) * c, lower)  # the other triangle is left as it is

    return symv, symm, syrk


def trmm(alpha, a, b, side=0, lower=0, trans_a=0, diag=0, overwrite_b=0):
    plainly((overwrite_b, 0))
    t, b = turned(triangle(np.asarray(a), lower, diag), trans_a), np.asarray(b)
    return alpha * (b @ t if side else t @ b)


def trsm(alpha, a, b, side=0, lower=0, trans_a=0, diag=0, overwrite_b=0):
    plainly((overwrite_b, 0))
    t, b = turned(triangle(np.asarray(a), lower, diag), trans_a), alpha * np.asarray(b)
    return np.linalg.solve(t.T, b.T).T if side else np.linalg.solve(t, b)


def trmv(a, x, offx=0, incx=1, lower=0, trans=0, diag=0, overwrite_x=0):
    plainly((offx, 0), (incx, 1), (overwrite_x, 0))
    return turned(triangle(np.asarray(a), lower, diag), trans) @ np.asarray(x)


def trsv(a, x, incx=1, offx=0, lower=0, trans=0, diag=0, overwrite_x=0):
    plainly((offx, 0), (incx, 1), (overwrite_x, 0))
    return np.linalg.solve(turned(triangle(np.asarray(a), lower, diag), trans), np.asarray(x))


# -- factors and systems ------------------------------------------------------------------------------------


def potrf(a, lower=0, clean=1, overwrite_a=0):
    plainly((overwrite_a, 0))
    a = np.asarray(a)
    c = sl.cholesky(mirrored_triangle(a, lower, np.iscomplexobj(a)), lower=bool(lower))
    return c if clean else c + a - triangle(a, lower)


def potrs(c, b, lower=0, overwrite_b=0):
    plainly((overwrite_b, 0))
    return sl.cho_solve((np.asarray(c), bool(lower)), np.asarray(b))


def posv(a, b, lower=0, overwrite_a=0, overwrite_b=0):
    plainly((overwrite_a, 0), (overwrite_b, 0))
    a = np.asarray(a)
    c = potrf(a, lower, 0)
    return c, sl.cho_solve((c, bool(lower)), np.asarray(b))


def potri(c, lower=0, overwrite_c=0):
    plainly((overwrite_c, 0))
    c = np.asarray(c)
    inverse = sl.cho_solve((c, bool(lower)), np.eye(len(c), dtype=c.dtype))
    return triangle(inverse, lower) + c - triangle(c, lower)


def trtrs(a, b, lower=0, trans=0, unitdiag=0, lda=None, overwrite_b=0):
    plainly((overwrite_b, 0), (lda, None))
    return np.linalg.solve(turned(triangle(np.asarray(a), lower, unitdiag), trans), np.asarray(b))


def trtri(c, lower=0, unitdiag=0, overwrite_c=0):
    plainly((overwrite_c, 0))
    c = np.asarray(c)
    inverse = np.linalg.inv(triangle(c, lower, unitdiag))
    return triangle(inverse, lower) + c - triangle(c, lower) - (np.diag(np.diag(inverse - c)) if unitdiag else 0.0)


def getrf(a, overwrite_a=0):
    plainly((overwrite_a, 0))
    return sl.lu_factor(np.asarray(a))[0]


def getrs(lu, piv, b, trans=0, overwrite_b=0):
    plainly((overwrite_b, 0))
    return sl.lu_solve((np.asarray(lu), piv), np.asarray(b), trans)


def getri(lu, piv, lwork=None, overwrite_lu=0):
    plainly((overwrite_lu, 0))
    lu = np.asarray(lu)
    return sl.lu_solve((lu, piv), np.eye(len(lu), dtype=lu.dtype))


def gesv(a, b, overwrite_a=0, overwrite_b=0):
    plainly((overwrite_a, 0), (overwrite_b, 0))
    lu, piv = sl.lu_factor(np.asarray(a))
    return lu, sl.lu_solve((lu, piv), np.asarray(b))


# -- the rules ----------------------------------------------------------------------------------------------

_SYMMETRIC, _HERMITIAN = _of_symmetric(False), _of_symmetric(True)
_BLAS: dict[str, Callable[..., Any]] = {
    "sdot": dot, "ddot": dot, "cdotu": dot, "zdotu": dot, "cdotc": dotc, "zdotc": dotc,
    "snrm2": nrm2, "dnrm2": nrm2, "scnrm2": nrm2, "dznrm2": nrm2,
    "sasum": asum, "dasum": asum, "scasum": asum, "dzasum": asum, "sger": ger, "dger": ger,
}  # fmt: skip
for _letter in _DTYPES:
    _in_place(_letter)
    _symmetric = dict(zip(("symv", "symm", "syrk"), _SYMMETRIC, strict=True))
    if _letter in "cz":
        _symmetric = {"symm": _SYMMETRIC[1], "syrk": _SYMMETRIC[2]}
        _symmetric.update(zip(("hemv", "hemm", "herk"), _HERMITIAN, strict=True))
    _BLAS.update({_letter + k: g for k, g in _symmetric.items()})
    _BLAS.update({_letter + g.__name__: g for g in (gemv, gemm, trmm, trsm, trmv, trsv)})
_LAPACK = [potrf, potrs, posv, potri, trtrs, trtri, getrf, getrs, getri, gesv]
for _name, _g in _BLAS.items():
    _routine(getattr(blas, _name), _g)
for _g in _LAPACK:
    for _letter in _DTYPES:
        _routine(getattr(lapack, _letter + _g.__name__), _g)

# -- cases --------------------------------------------------------------------------------------------------

_M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.6, -0.7, 1.8]])
_B, _V = np.array([[0.4, -1.2], [0.7, 0.3], [1.1, 0.9]]), np.array([0.4, -1.3, 0.8])
_H, _C = _M @ _M.T + np.eye(3), _M + 0.4j * _M[::-1]


def _added(x, y, a):
    z = y * 1.0
    w = blas.daxpy(x, z, a=a)
    blas.dscal(a, z)
    return w * x, z, blas.daxpy([1.0, 2.0, 0.3], list(y))


CASES: list[RuleCase] = [
    case(_added, _V, _V[::-1], 1.3), case(lambda x, y: blas.ddot(x, y) * blas.dnrm2(x) + blas.dasum(y), _V, _V[::-1]),
    case(lambda z: (blas.zdotc(z[0], z[1]), blas.zdotu(z[0], z[1]), blas.dznrm2(z[0]), blas.dzasum(z[1])), _C),
    case(lambda s, a, x: (blas.dgemv(s, a, x), blas.dgemv(1.0, a, x, beta=s, y=x, trans=1)), 1.3, _M, _V),
    case(lambda s, a, b: (blas.dgemm(s, a, b), blas.dgemm(1.0, b, a, s, b.T, trans_a=1, trans_b=1)), 1.3, _M, _B),
    case(lambda z: blas.zgemm(1.0 + 0.5j, z, z, trans_a=2), _C),
    case(lambda x, a: blas.dger(1.2, x, x * x, a=a), _V, _M),
    case(lambda a, x: (blas.dsymv(1.2, a, x, lower=1), blas.dtrmv(a, x, trans=1), blas.dtrsv(a, x, diag=1)), _M, _V),
    case(lambda a, b: (blas.dsymm(1.2, a, b), blas.dsyrk(0.7, b, beta=0.3, c=a), blas.dsyrk(0.7, b, trans=1)), _M, _B),
    case(lambda z: (blas.zhemm(1.2, z, z, side=1), blas.zherk(0.7, z, lower=1)), _C),
    case(lambda a, b: (blas.dtrmm(1.2, a, b, lower=1), blas.dtrsm(1.2, a, b, trans_a=1)), _M, _B),
    case(lambda a, b: blas.dtrsm(1.2, a, b.T, side=1, diag=1), _M, _B),
    *[case(lambda a, k=k, c=c: lapack.dpotrf(a, lower=k, clean=c)[0], _H) for k in (0, 1) for c in (0, 1)],
    case(lambda a, b: lapack.dpotrs(lapack.dpotrf(a)[0], b)[0], _H, _B),
    case(lambda a, b: lapack.dposv(a, b)[1], _H, _B),
    case(lambda a: lapack.dpotri(lapack.dpotrf(a, lower=True)[0], lower=True)[0], _H),
    case(lambda a, b: (lapack.dtrtrs(a, b, trans=1)[0], lapack.dtrtri(a, lower=1)[0]), _M, _B),
    case(lambda a: lapack.dtrtri(a, unitdiag=1)[0], _M), case(lambda a: lapack.zpotrf(a @ np.conj(a.T))[0], _C),
    case(lambda a, b: lapack.dgetrs(*lapack.dgetrf(a)[:2], b, trans=1)[0], _M, _B),
    case(lambda a: lapack.dgetri(*lapack.dgetrf(a)[:2])[0], _M), case(lambda a, b: lapack.zgesv(a, b)[2], _C, _B + 0j),
    case(lambda a, b: sl.get_lapack_funcs("gesv", (a, b))(a, b)[::2], _M, _B),
    case(lambda a, b: sl.get_blas_funcs("gemm", (a, b))(1.0, a, b), _M.astype(np.float32), _B.astype(np.float32)),
]  # fmt: skip
