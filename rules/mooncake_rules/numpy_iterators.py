"""NumPy's own iterators, `np.broadcast` and `np.nditer`, as the Python that they could have been written in.

They give the elements of their arrays one after the other. In which order is NumPy's to say, and constant.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case


def places_in(shape: tuple[int, ...], places: Any) -> list[Any]:
    """Where an array of this shape has what it shows at these places, when it is broadcast."""
    n = len(shape)
    return [tuple([0 if k == 1 else i for i, k in zip(p[len(p) - n :], shape, strict=True)]) for p in places]


def all_places(*arrays: Any) -> tuple[Any, Any]:
    """The shape that arrays are broadcast to, and the places in each of them, in the order of C."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return shape, [places_in(np.shape(a), list(np.ndindex(shape))) for a in arrays]


class Broadcast:
    """`np.broadcast`: one tuple for each place, of what the arrays show there."""

    def __init__(self, *arrays: Any) -> None:
        self._arrays = tuple([np.asarray(a) for a in arrays])
        self.shape, self._places = all_places(*arrays)
        self.nd = self.ndim = len(self.shape)
        self.numiter = len(arrays)
        self.size = math.prod(self.shape)
        self.index = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        k = self.index
        if k >= self.size:
            raise StopIteration
        self.index = k + 1
        return tuple([a[at[k]] for a, at in zip(self._arrays, self._places, strict=True)])

    def reset(self) -> None:
        self.index = 0


_FLAGS = frozenset({"multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok", "copy_if_overlap", "common_dtype"})


def places_of(operands: Any, flags: Any, op_flags: Any, order: Any, casting: Any) -> tuple[Any, ...]:
    """The shape that is gone through, the places in their order, and their numbers in the order of C and Fortran."""
    if not _FLAGS.issuperset(flags):
        raise NotDifferentiated("np.nditer is differentiated element by element: without external_loop and buffers")
    plain = [f for f in flags if f not in ("c_index", "f_index", "multi_index")]
    it = np.nditer(operands, [*plain, "multi_index"], op_flags, order=order, casting=casting)
    if any(a is not None and b.dtype != np.asarray(a).dtype for a, b in zip(operands, it.operands, strict=True)):
        raise NotDifferentiated("np.nditer is differentiated where it does not convert its arrays")
    shape, dtypes = it.shape, [b.dtype for b in it.operands]
    places = [it.multi_index for _ in it] if it.itersize else []
    numbers = [[int(np.ravel_multi_index(p, shape, order=o)) if p else 0 for p in places] for o in ("C", "F")]
    each = [[(*q, ...) for q in places_in(shape if a is None else np.shape(a), places)] for a in operands]
    return shape, places, each, numbers[1 if "f_index" in flags else 0], dtypes


zero_derivative(places_of, all_places)


class NdIter:
    """`np.nditer` of several arrays: views of their elements, to be read, or written to."""

    def __init__(self, operands: Any, flags: Any, op_flags: Any, order: Any, casting: Any) -> None:
        self.shape, self._places, self._at, self._numbers, dtypes = places_of(operands, flags, op_flags, order, casting)
        self.operands = tuple(
            [np.empty(self.shape, t) if a is None else np.asarray(a) for a, t in zip(operands, dtypes, strict=True)]
        )
        self.itersize = len(self._places)
        self.iterindex = 0
        self._next = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def reset(self) -> None:
        self.iterindex = self._next = 0

    def iternext(self) -> bool:
        self.iterindex += 1
        return self.iterindex < self.itersize

    @property
    def finished(self) -> bool:
        return self.iterindex >= self.itersize

    @property
    def multi_index(self) -> Any:
        return self._places[self.iterindex]

    @property
    def index(self) -> Any:
        return self._numbers[self.iterindex]

    @property
    def nop(self) -> int:
        return len(self.operands)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return self._all()[k]
        return self.operands[k][self._at[k][self.iterindex]]

    def __setitem__(self, k: Any, value: Any) -> None:
        self.operands[k][self._at[k][self.iterindex]] = value

    def _all(self) -> Any:
        i = self.iterindex
        return tuple([a[at[i]] for a, at in zip(self.operands, self._at, strict=True)])

    @property
    def value(self) -> Any:
        return self._all()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        k = self._next
        if k >= self.itersize:
            self.iterindex = k
            raise StopIteration
        self.iterindex = k
        self._next = k + 1
        return self.value


class NdIterOfOne(NdIter):
    """`np.nditer` of one array, whose elements do not stand in tuples."""

    @property
    def value(self) -> Any:
        return self.operands[0][self._at[0][self.iterindex]]


@overlay(np.broadcast)
def broadcast(*arrays):
    return Broadcast(*arrays)


@overlay(np.nditer)
def nditer(
    op, flags=None, op_flags=None, op_dtypes=None, order="K", casting="safe", op_axes=None, itershape=None, buffersize=0
):
    if op_dtypes is not None or op_axes is not None or itershape is not None:
        raise NotDifferentiated("np.nditer is differentiated without op_dtypes, op_axes and itershape")
    if isinstance(op, (list, tuple)) and len(op) > 1:
        return NdIter(op, [] if flags is None else flags, op_flags, order, casting)
    return NdIterOfOne(
        op if isinstance(op, (list, tuple)) else [op], [] if flags is None else flags, op_flags, order, casting
    )


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0])
_M = np.sin(np.arange(6.0)).reshape(2, 3)


def _in_turn(x, m):
    b = np.broadcast(x, m)
    first = next(b)[1]
    return sum([u * v * b.index for u, v in b]) + first * b.size, np.zeros(np.broadcast(m, x).shape) + x


def _read(m):
    by_place = 0.0
    with np.nditer([m.T, np.cos(m).T], flags=["multi_index"]) as it:
        for u, v in it:
            by_place = by_place + u * v * it.multi_index[0]
    s = 0.0
    for k, v in enumerate(np.nditer(m[:, ::-1])):
        s = s + k * v * v
    return by_place, s


def _by_steps(x, m):
    it = np.nditer([x, m[:, :1]], flags=["f_index"], order="C")
    s = x[0]
    while not it.finished:
        s = s * 0.9 + it[0] * it[1] * it.index
        it.iternext()
    return s


def _written(m):
    a = m * 2.0
    writing: Any = ["readwrite"]
    one: Any = np.nditer(a, op_flags=writing)
    with one:
        for v in one:
            v[...] = v * v + m[0, 0]
    several: Any = np.nditer([a, m, None])
    for u, v, w in several:
        w[...] = u * v
    return a, several.operands[2]


CASES: list[RuleCase] = [case(_in_turn, _V, _M), case(_read, _M), case(_by_steps, _V, _M), case(_written, _M)]
