"""np.matrix, which sums and dense forms of SciPy's sparse matrices are, and what is done with one.

The rules for arrays mean `*` by element and one dimension by `x[0]`; so a matrix carries its derivatives as an object
does, in the fdata of an attribute, and no rule for arrays can take it for one. The rules below compute the same of its
numbers as an array, and differentiate that.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_, Scalar
from mooncake_py.registry import rrule
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_py.transform.helpers import view_shadow
from mooncake_rules.callables import run as call

_NUMBERS = "numbers"
"""The attribute of the shadow that has the fdata of the matrix as an array."""


def matrix_fdata(y: np.matrix, numbers: Shadow | None = None) -> ObjectShadow | None:
    """The fdata of a matrix that was just made; `numbers`: that of its numbers, where there is one."""
    numbers = zero_fdata(np.asarray(y)) if numbers is None else numbers
    if numbers is None:
        return None
    shadow = ObjectShadow(y, {_NUMBERS: numbers})
    run.current().made[id(y)] = y, shadow
    return shadow


def numbers_fdata(x: Any, fx: Any) -> Any:
    """The fdata of an argument, of a matrix that of its numbers."""
    return fx.f[_NUMBERS] if isinstance(x, np.matrix) and type(fx) is ObjectShadow else fx


def _of_arrays(f: Any, plain: Any, *patterns: tuple[Any, ...]) -> None:
    """Rules of f for these types, by `plain`, which computes the same numbers in the same order of arrays."""
    by: Any = f if plain is None else plain

    def rule(*args: CoDual, **kwargs: CoDual):
        xs = [a.primal for a in args]
        options = {k: v.primal for k, v in kwargs.items()}
        y = f(*xs, **options)
        fxs = [numbers_fdata(a.primal, a.fdata) for a in args]
        m, fm = xs[0], fxs[0]
        if isinstance(y, np.ndarray) and isinstance(m, np.matrix) and fm is not None and np.may_share_memory(m, y):
            fy = view_shadow(
                np.asarray(m), fm, np.asarray(y), lambda d: np.asarray(f(d.view(np.matrix), *xs[1:], **options))
            )
            return CoDual(y, matrix_fdata(y, fy) if isinstance(y, np.matrix) else fy), _nothing
        fy = matrix_fdata(y) if isinstance(y, np.matrix) else zero_fdata(y)
        numbers = numbers_fdata(y, fy)

        def pullback(dy):
            dy = take_fdata(numbers, None if isinstance(y, np.matrix) else dy)
            if dy is None:
                return None
            plains = [np.array(x) if isinstance(x, np.ndarray) else x for x in xs]  # two may share memory
            z, pull = call(lambda *ps: by(*ps, **options), None, plains, [_is_inexact(p) for p in plains])
            ds = pull(dy.reshape(np.shape(z)) if isinstance(dy, np.ndarray) else dy)
            out = []
            for fx, d in zip(fxs, ds, strict=True):
                if fx is not None and d is not None:
                    fx.add(d)
                    d = None
                out.append(d)
            return (*out, *[None] * len(options))

        return CoDual(y, fy), pullback

    for types in patterns:
        rrule(f, types=types)(rule)


def _nothing(_: Any) -> None:
    return None


def _is_inexact(x: Any) -> bool:
    return isinstance(x, (float, complex)) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


_ALONE = ((np.matrix,),)
_WITH = ((np.matrix,), (np.matrix, Any_))
_EITHER = ((Any_, np.matrix), (np.matrix, Any_))


def _product(a: Any, b: Any) -> Any:
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return np.atleast_2d(a) @ (b if np.ndim(b) > 1 else np.atleast_2d(b))


for _f in (
    operator.add, operator.sub, operator.truediv, operator.matmul, np.add, np.subtract, np.divide, np.multiply,
    np.maximum, np.minimum, np.matmul, np.dot, np.linalg.solve,
):  # fmt: skip
    _of_arrays(_f, None, *_EITHER)
_of_arrays(operator.mul, _product, *_EITHER)
for _f in (operator.neg, operator.abs, abs, np.abs, np.sqrt, np.exp, np.log, np.square, np.diagonal, np.trace,
           np.linalg.det, np.linalg.inv):  # fmt: skip
    _of_arrays(_f, None, *_ALONE)
for _f in (np.asarray, np.asanyarray, np.array, np.ravel, np.squeeze, np.atleast_2d, np.broadcast_to, operator.getitem,
           np.linalg.norm, np.sum, np.mean, np.max, np.amax, np.min, np.amin, np.prod, np.std, np.var):  # fmt: skip
    _of_arrays(_f, None, *_WITH)
_of_arrays(np.power, None, (np.matrix, Scalar))
_M: Any = np.matrix
_of_arrays(np.ndarray.view, None, (np.matrix, type))
for _f in (np.linalg.matrix_power, _M.__pow__):
    _of_arrays(_f, np.linalg.matrix_power, (np.matrix, int))
_of_arrays(_M.__mul__, _product, (np.matrix, Any_))
_of_arrays(_M.__rmul__, lambda a, b: _product(b, a), (np.matrix, Any_))
_of_arrays(_M.__getitem__, lambda a, i: a[i], (np.matrix, Any_))
_of_arrays(_M.tolist, np.ndarray.tolist, *_ALONE)
_of_arrays(np.ndarray.item, None, (np.matrix,), (np.matrix, Any_), (np.matrix, Any_, Any_))
for _name in ("sum", "mean", "max", "min", "std", "var", "prod", "ravel", "flatten", "squeeze"):
    _of_arrays(getattr(_M, _name), getattr(np.ndarray, _name), *_WITH)
for _f in (np.ndarray.transpose, np.ndarray.diagonal, np.ndarray.trace, np.ndarray.copy):
    _of_arrays(_f, None, *_ALONE)
for _name, _plain in {
    "getA": np.asarray, "getA1": np.ravel, "getT": np.transpose, "getI": np.linalg.pinv,
    "getH": lambda a: np.conjugate(a).T,
}.items():  # fmt: skip
    if hasattr(_M, _name):
        _of_arrays(getattr(_M, _name), _plain, *_ALONE)
for _name, _plain in {
    "A": np.asarray, "A1": np.ravel, "T": np.transpose, "I": np.linalg.pinv, "H": lambda a: np.conjugate(a).T
}.items():  # fmt: skip
    _of_arrays(getattr(_M, _name).fget, _plain, *_ALONE)


@rrule(np.ndarray.flat, types=(np.matrix,))
def flat(a: CoDual):
    return CoDual(np.asarray(a.primal).flat, numbers_fdata(a.primal, a.fdata)), _nothing


@rrule(operator.setitem, types=(np.matrix, Any_, Any_))
def setitem(m: CoDual, index, value):
    raise NotDifferentiated("an np.matrix with derivatives is not written to: write to np.asarray(m), its memory")


for _f in (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.imatmul):

    @rrule(_f, types=(np.matrix, Any_))
    def in_place(m: CoDual, value):
        setitem(m, None, value)


# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_S = np.array([[2.0, 0.3], [0.5, 1.5]])


def _dense(x):
    """An array as the dense form of a matrix of the old kind."""
    from scipy.sparse import csr_matrix

    return csr_matrix(x).todense()


def _of_products(x, k):
    m: Any = _dense(x)
    p: Any = _dense(x) * m.T
    return np.asarray(p * k), (k * p / 2.0 - p).A1, (m.T * m)[0, 1], np.asarray(p**2), (x.T @ p).A, np.asarray(m @ m.T)


def _of_reductions(x):
    m: Any = _dense(x)
    rows = 1.0 / m.sum(axis=1)
    by_functions: Any = np.sum(m), np.max(m), np.ravel(np.mean(m, axis=1)), np.linalg.norm(m), np.power(m, 2).A
    return (
        by_functions,
        m.sum(),
        m.max(),
        m.mean(axis=0).A1,
        np.asarray(rows).ravel(),
        np.ravel(m),
        rows[0, 0],
        rows.tolist(),
    )


def _of_views(x):
    m: Any = _dense(x)
    return (
        m[0].A1 * m[:, 1].sum(),
        m.ravel().A1,
        max(m.flat),
        m.flatten().A1,
        np.array(m.T),
        m.item(1, 2),
        np.sqrt(abs(m)).A,
    )


def _of_squares(s):
    m: Any = _dense(s)
    return m.I.A, np.asarray(m.H), np.linalg.det(m), np.trace(m), np.asarray(np.linalg.inv(m)), np.asarray(-m)


def _written_as_an_array(x):
    m: Any = _dense(x)
    np.asarray(m)[0, 1] = x[1, 1] ** 2
    return np.ravel(m.sum(axis=0))


CASES: list[RuleCase] = [
    case(_of_products, _X, 0.7), case(_of_reductions, _X), case(_of_views, _X), case(_of_squares, _S),
    case(_written_as_an_array, _X),
]  # fmt: skip
