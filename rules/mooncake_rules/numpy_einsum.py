"""tensordot and einsum."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, T, Top
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, overlay, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex
from mooncake_rules.inference import Types, known_arrays
from mooncake_rules.sequences import unstack

# -- tensordot --------------------------------------------------------------------------------------------


def _contracted(
    a: np.ndarray, b: np.ndarray, axes: Any
) -> tuple[tuple[int, ...], tuple[int, ...], list[int], list[int]]:
    """The axes of both that are summed over, and those that stay."""
    if isinstance(axes, (int, np.integer)):
        over_a, over_b = tuple(range(a.ndim - int(axes), a.ndim)), tuple(range(int(axes)))
    else:
        over_a, over_b = (
            tuple(int(k) % x.ndim for k in (over if np.iterable(over) else (over,)))
            for x, over in ((a, axes[0]), (b, axes[1]))
        )
    return over_a, over_b, [k for k in range(a.ndim) if k not in over_a], [k for k in range(b.ndim) if k not in over_b]


def tensordot_left(dy: Any, a: np.ndarray, b: np.ndarray, axes: Any) -> np.ndarray:
    """Contract dy with b over its free axes: the result has a's free axes, then the contracted ones in b's order."""
    over_a, over_b, free_a, free_b = _contracted(a, b, axes)
    dy = np.asarray(dy)
    t = np.tensordot(dy, np.conjugate(b), (list(range(len(free_a), dy.ndim)), free_b))
    t = t.transpose(np.argsort(free_a + [over_a[over_b.index(k)] for k in sorted(over_b)]))
    return t if is_complex(a) else t.real


def tensordot_right(dy: Any, a: np.ndarray, b: np.ndarray, axes: Any) -> np.ndarray:
    """The same for b: its contracted axes come in a's order, then the free ones."""
    over_a, over_b, free_a, free_b = _contracted(a, b, axes)
    t = np.tensordot(np.conjugate(a), np.asarray(dy), (free_a, list(range(len(free_a)))))
    t = t.transpose(np.argsort([over_b[over_a.index(k)] for k in sorted(over_a)] + free_b))
    return t if is_complex(b) else t.real


pure.update({tensordot_left, tensordot_right})


@rrule(np.tensordot, types=(Array, Array))
def tensordot(a, b, axes=2):
    def pullback(dy):
        return tensordot_left(dy, a, b, axes), tensordot_right(dy, a, b, axes)

    return np.tensordot(a, b, axes), pullback


# -- einsum -----------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def explicit(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """The subscripts of every operand and of the result, without ellipses and implied results."""
    subscripts = subscripts.replace(" ", "")
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    spare = [c for c in _LETTERS if c not in subscripts]
    extra = max((n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True) if "..." in t), default=0)
    dots = "".join(spare[:extra])
    if not arrow:
        names = "".join(sorted({c for c in left if c.isalpha() and left.count(c) == 1}))
        right = ("..." if "..." in left else "") + names
    out = []
    for t, n in zip(terms, ndims, strict=True):
        k = n - len(t.replace("...", ""))
        out.append(t.replace("...", dots[len(dots) - k :] if k else ""))
    return out, right.replace("...", dots)


@functools.lru_cache(1000)
def einsum_plan(subscripts: str, ndims: tuple[int, ...], i: int) -> tuple[str, str, str, str, bool]:
    """For operand i: its subscripts, each of them once, those the contraction gives, the contraction; is that all?"""
    terms, result = explicit(subscripts, list(ndims))
    mine = "".join(dict.fromkeys(terms[i]))
    others = [t for k, t in enumerate(terms) if k != i]
    there = "".join(c for c in mine if c in set(result).union(*others))
    return terms[i], mine, there, ",".join([result, *others]) + "->" + there, there == terms[i]


def einsum_cotangent(subscripts: str, operands: tuple[np.ndarray, ...], dy: Any, i: int) -> Any:
    """The contraction of dy with the other operands into the subscripts of operand i."""
    x = operands[i]
    if len(operands) == 2:
        other = operands[1 - i]
        term, mine, there, spec, all_there = einsum_plan(subscripts, (operands[0].ndim, operands[1].ndim), i)
        t = np.einsum(spec, dy, np.conjugate(other) if other.dtype.kind == "c" else other)
    else:
        term, mine, there, spec, all_there = einsum_plan(subscripts, tuple([o.ndim for o in operands]), i)
        others = [np.conjugate(o) if is_complex(o) else o for k, o in enumerate(operands) if k != i]
        t = np.einsum(spec, dy, *others, optimize=len(others) > 1)
    if t.dtype.kind == "c" and x.dtype.kind != "c":
        t = t.real
    if all_there and t.shape == x.shape:
        return t
    sizes = dict(zip(term, x.shape, strict=True))
    t = np.asarray(t).reshape([t.shape[there.index(c)] if c in there else 1 for c in mine])
    axes = tuple(k for k, c in enumerate(mine) if sizes[c] == 1 and t.shape[k] != 1)
    if axes:  # broadcast along an ellipsis
        t = np.add.reduce(t, axes, None, None, True)
    if len(mine) == len(term):
        return np.broadcast_to(t, x.shape)
    full = np.zeros(x.shape, t.dtype)
    np.einsum(f"{term}->{mine}", full)[...] = t  # a view of the diagonal
    return full


def einsum_cotangents(subscripts: str, operands: tuple[Any, ...], dy: Any) -> tuple[Any, ...]:
    arrays = tuple([np.asarray(x) for x in operands])
    ds = [
        unstack(einsum_cotangent(subscripts, arrays, dy, i), x) if arrays[i].dtype.kind in "fc" else None
        for i, x in enumerate(operands)
    ]
    return (None, *ds)


pure.update({einsum_cotangent, einsum_cotangents})


@overlay(np.einsum)
def einsum_of_lists(*operands, optimize=False, dtype=None, casting="safe", order="K"):
    """`einsum(a, [0, 1], b, [1, 2], [0, 2])` and what is not an array, or shall be of another dtype."""
    if isinstance(operands[0], str):
        spec, arrays = operands[0], operands[1:]
    else:
        n = len(operands) // 2
        spec = written_out([operands[2 * k + 1] for k in range(n)], operands[-1] if len(operands) % 2 else None)
        arrays = tuple([operands[2 * k] for k in range(n)])
    xs = [np.asarray(x) for x in arrays]
    if order == "A":
        order = "F" if all([x.flags.fnc for x in xs]) else "C"
    if dtype is not None:
        xs = [x.astype(dtype, casting=casting) for x in xs]
    y = np.einsum(spec, *xs, optimize=optimize)
    return y if order == "K" or np.ndim(y) == 0 else np.asarray(y, order=order)


def written_out(terms: list[Any], result: Any) -> str:
    """Lists of axis numbers as subscripts."""

    def one(axes: Any) -> str:
        return "".join("..." if k is Ellipsis else _LETTERS[k] for k in axes)

    return ",".join(map(one, terms)) + ("" if result is None else "->" + one(result))


zero_derivative(written_out)


@rrule(np.einsum, types=(str,))
def einsum(subscripts, *operands, optimize=False):
    def pullback(dy):
        return einsum_cotangents(subscripts, operands, dy)

    return np.einsum(subscripts, *operands, optimize=optimize), pullback


# With few operands each cotangent is a call of its own, and those nobody wants are not computed.


@rrule(np.einsum, types=(str, Array), alias=(1,))  # "ii->i" is a view
def einsum_one(subscripts, a, *, optimize=False):
    def pullback(dy):
        return None, einsum_cotangent(subscripts, (a,), dy, 0)

    return np.einsum(subscripts, a, optimize=optimize), pullback


@rrule(np.einsum, types=(str, Array, Array))
def einsum_two(subscripts, a, b, *, optimize=False):
    def pullback(dy):
        return None, einsum_cotangent(subscripts, (a, b), dy, 0), einsum_cotangent(subscripts, (a, b), dy, 1)

    return np.einsum(subscripts, a, b, optimize=optimize), pullback


def _einsum_type(args: Types, kwargs: dict[str, T]) -> T | None:
    act = any(t.active for t in args)
    spec = args[0]
    if not isinstance(spec, Known) or not isinstance(spec.value, str):
        return Top(act)
    arrays = [t for t in args[1:] if isinstance(t, Arr) and t.ndim is not None and t.dtype is not None]
    if len(arrays) != len(args) - 1:
        return Top(act)
    try:
        _, result = explicit(spec.value, [t.ndim or 0 for t in arrays])
    except (ValueError, IndexError):
        return Top(act)
    dtype = np.result_type(*[t.dtype for t in arrays])
    from mooncake_py.infer.types import Inst

    if not result and kwargs.get("optimize", Known(False)) != Known(False):
        return None  # an array without dimensions, where it goes by tensordot
    return Arr(dtype, len(result), act) if result else Inst(dtype.type, act)


infer_table[np.einsum] = _einsum_type


def _tensordot_type(args: Types, kwargs: dict[str, T]) -> T | None:
    act = any(t.active for t in args[:2])
    axes = args[2] if len(args) > 2 else kwargs.get("axes", Known(2))
    a, b = args[0], args[1]
    if not (isinstance(axes, Known) and isinstance(a, Arr) and isinstance(b, Arr)) or not known_arrays(a, b):
        return Top(act)
    n = axes.value if isinstance(axes.value, int) else np.size(axes.value[0])
    return Arr(np.result_type(a.dtype, b.dtype), (a.ndim or 0) + (b.ndim or 0) - 2 * n, act)


infer_table[np.tensordot] = _tensordot_type
pure.update({np.tensordot, np.einsum})

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0])
_W = np.array([1.1, 0.4, -0.7])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
_A = np.array([[1.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_T = np.sin(np.arange(24.0) * 1.7).reshape(4, 2, 3)
_S = np.cos(np.arange(24.0) * 1.3).reshape(4, 3, 2)
_Z = _A * (1 + 0.5j) + 0.3j

CASES: list[RuleCase] = [
    case(np.tensordot, _T, _S[0], 1), case(np.tensordot, _T, _S, axes=([1, 2], [2, 1])),
    case(np.tensordot, _T, _S, ((0, 2), (0, 1))), case(np.tensordot, _T, _S, axes=([2, 0], [1, 0])),
    case(np.tensordot, _A, _A), case(np.tensordot, _Z, _A, 1), case(np.einsum, "ij,jk->ik", _M, _A),
    case(np.einsum, "ij,j,i->", _M, _V, _V[:2], optimize=True),
    case(np.einsum, "ii", _A), case(np.einsum, "ii->i", _A), case(np.einsum, "ij->j", _M),
    case(np.einsum, "ij,jk", _M, _A), case(np.einsum, "bij,bjk->bik", _T, _S),
    case(np.einsum, "...ij,...jk->...ik", _T, _S[0]), case(np.einsum, "...i,...i", _T, _V),
    case(np.einsum, "i,j,ij->", _V, _W, _A), case(np.einsum, "ij,i->i", _A, _V), case(np.einsum, "ij->", _Z),
    case(np.einsum, "i,i->i", _V, _Z[0]), case(np.einsum, "ii,i->", _A, _V), case(np.einsum, "ij->ji", _M),
    case(np.einsum, "i,ij,jk->k", _V, _A, _A, optimize=True), case(np.einsum, "...i->...", _T[:1]),
    case(np.einsum, "...i,...i->...", _T[:1], _T), case(np.einsum, _M, [0, 1], _A, [1, 2], [0, 2]),
    case(np.einsum, _M, [0, 1], _M, [0, 1]), case(np.einsum, _T, [Ellipsis, 0], [Ellipsis]),
    case(np.einsum, "i,i", [0.5, 1.0, 2.0], _V), case(np.einsum, "ij,jk->ik", _M, _A, out=np.zeros((2, 3))),
    case(np.einsum, "i,i->i", _V, 2 * _V, optimize="greedy"), case(np.einsum, "i,j", np.array([1, 2, 3]), _V),
    case(np.tensordot, [0.5, 1.0, 2.0], _V, 1), case(np.einsum, "ij,jk->ik", _M, _A, order="F"),
    case(np.einsum, "ij,jk->ik", _M, _A, dtype=complex, casting="same_kind", order="A"),
    case(np.einsum, "ii->i", _A, order="C"),
    case(np.einsum, "ij,j->i", _M.astype(np.float32), _V.astype(np.float32), dtype=np.float64, optimize=True),
    case(np.einsum, "ij->", _M, dtype=np.float32, casting="same_kind"), case(np.einsum, "ij->", _M, casting="no"),
]  # fmt: skip
