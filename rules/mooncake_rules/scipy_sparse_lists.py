"""scipy.sparse: matrices that are filled number by number, in lists of rows (`lil`).

What was written with a derivative is known by place, and has its cotangent there until the place is written again. A
zero that was written is stored in what is made of the matrix, for it has a derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import mooncake_rules.scipy_sparse_made  # noqa: F401 (of the rules of a constructor the last one wins)
from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_
from mooncake_py.registry import overlay, refuse, rrule
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.copies import Part
from mooncake_rules.scipy_sparse import (
    STORED,
    Sparse,
    complete,
    data_shadow,
    entries,
    give,
    methods,
    pattern,
    places,
    tangent_of,
)

_Place = tuple[int, int]
_LISTS = sp.lil_array
_ENTRIES = "entries"


class Entries(Part):
    """The places of a matrix that were written with a derivative, what was written, and its cotangents (or zero)."""

    def __init__(self, known: dict[_Place, Any] | None = None):
        self.known: dict[_Place, Any] = {} if known is None else known
        self.of: dict[_Place, Any] = {}

    @staticmethod
    def found(a: CoDual) -> Entries | None:
        found = a.fdata.f.get(_ENTRIES) if type(a.fdata) is ObjectShadow else None
        return found if isinstance(found, Entries) and found.known else None

    @staticmethod
    def find(a: CoDual) -> Entries | None:
        """They are looked through: what was written to the lists themselves is refused."""
        found = Entries.found(a)
        if found is None:
            return None
        if any(a.primal[place] != v and v == v for place, v in found.known.items()):
            raise NotDifferentiated("the lists of a lil matrix were written to: write to the matrix itself")
        return found

    @staticmethod
    def at(a: CoDual) -> Entries:
        """Those of the matrix, which gets them now if it has none. Its lists are refused to code that reads them."""
        f = a.fdata.f
        if not isinstance(f.get(_ENTRIES), Entries):
            f[_ENTRIES] = Entries()
            f["data"] = Shadow(a.primal.data.shape, a.primal.data.dtype)
        found: Entries = f[_ENTRIES]
        return found

    def add(self, place: _Place, d: Any) -> None:
        if place in self.known:
            self.of[place] = self.of.get(place, 0.0) + d

    def add_all(self, rows: np.ndarray, cols: np.ndarray, ds: np.ndarray) -> None:
        for place, d in zip(zip(rows.tolist(), cols.tolist(), strict=True), ds, strict=True):
            self.add(place, d)

    def pattern(self, shape: tuple[int, int]) -> Any:
        at = np.array(list(self.known), int).reshape(-1, 2).T
        return sp.csr_array((np.ones(at.shape[1]), (at[0], at[1])), shape=shape)

    def blank(self) -> Entries:
        return Entries(dict(self.known))

    def numbers(self) -> np.ndarray:
        found = np.array([self.of.get(p, 0.0) for p in self.known])
        self.of.clear()
        return found

    def give(self, numbers: list[Any]) -> None:
        for place in self.known:
            self.add(place, numbers.pop(0))


def _places(shape: tuple[int, int], key: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of what the key picks, which is found of arrays that say where they are."""
    if sp.issparse(key):
        raise NotDifferentiated("a lil matrix is written to by numbers, slices and arrays: use key.toarray()")
    rows = np.broadcast_to(np.arange(shape[0])[:, None], shape)[key]
    return rows, np.broadcast_to(np.arange(shape[1]), shape)[key]


@rrule(_LISTS.__setitem__, types=(_LISTS, Any_, Any_), mutates=(0,))
@rrule(_LISTS.__setitem__, types=(sp.lil_matrix, Any_, Any_), mutates=(0,))
def setitem(self: CoDual, key, x: Any):
    a = self.primal
    if not isinstance(x, (int, float, complex, np.number, np.ndarray)):
        raise NotDifferentiated("what is written into a lil matrix has derivatives as a number or an array")
    rows, cols = _places(a.shape, key)
    old = {i: (a.rows[i].copy(), a.data[i].copy()) for i in set(np.ravel(rows).tolist())}
    _LISTS.__setitem__(a, key, x)
    held = Entries.at(self)
    at = list(zip(np.ravel(rows).tolist(), np.ravel(cols).tolist(), strict=True))
    was = {place: held.known.get(place, _nothing) for place in at}
    given = np.asarray(x)
    active = given.dtype.kind in "fc"
    for place in at:
        held.known.pop(place, None)
        if active:
            held.known[place] = a[place]

    def pullback(dy):
        for i, (row, numbers) in old.items():
            a.rows[i], a.data[i] = row, numbers
        d = np.zeros(len(at), a.dtype)
        for k in range(len(at) - 1, -1, -1):  # of a place that is written twice the last is there
            d[k] = held.of.pop(at[k], 0.0)
        for place, v in was.items():
            held.known.pop(place, None)
            if v is not _nothing:
                held.known[place] = v
        if not active:
            return None
        d = d if np.iscomplexobj(x) else d.real
        if np.ndim(x) == 0:
            return None, None, np.sum(d)
        if given.size == len(at):
            return None, None, d.reshape(given.shape).astype(given.dtype)
        shape = np.broadcast_shapes(np.shape(x), np.shape(rows))
        whole = d.reshape(shape)
        axes = tuple(i for i, n in enumerate((1,) * (len(shape) - np.ndim(x)) + np.shape(x)) if n == 1)
        return None, None, whole.sum(axis=axes, keepdims=True).reshape(given.shape).astype(given.dtype)

    return None, pullback


@rrule(_LISTS.__getitem__)
def getitem(self: CoDual, key):
    y = _LISTS.__getitem__(self.primal, key)
    held = Entries.find(self) if sp.issparse(y) else Entries.found(self)
    if held is None:
        return CoDual(y, zero_fdata(y)), _nothing
    rows, cols = _places(self.primal.shape, key)
    if sp.issparse(y):
        return _picked(held, y, rows.ravel(), cols.ravel())

    def pullback(dy):
        if dy is not None:
            held.add((int(rows), int(cols)), dy)
        return None

    return CoDual(y, None), pullback


def _picked(held: Entries, y: Any, rows: np.ndarray, cols: np.ndarray) -> tuple[CoDual, Any]:
    """A part of a matrix, of what stood at these rows and columns: lists, or a sparse vector."""
    width = 1 + max(int(cols.max(initial=0)), max(col for _, col in held.known))
    at = np.array(list(held.known), int).T
    found = np.flatnonzero(np.isin(rows * width + cols, at[0] * width + at[1]))
    places = list(zip(rows[found].tolist(), cols[found].tolist(), strict=True))
    here = np.unravel_index(found, y.shape)
    if y.format == "lil":
        shadow = ObjectShadow(y)
        run.current().made[id(y)] = y, shadow
        mine = Entries.at(CoDual(y, shadow))
        mine.known = {p: y[p] for p in zip(*[k.tolist() for k in here], strict=True)}

        def pullback_of_lists(dy):
            for p, place in zip(zip(*[k.tolist() for k in here], strict=True), places, strict=True):
                held.add(place, mine.of.pop(p, 0.0))
            return None

        return CoDual(y, shadow), pullback_of_lists
    values = np.ravel(y.toarray())
    stored = np.union1d(np.flatnonzero(values), found)
    y = type(y)((values[stored], (stored,)), shape=y.shape)
    fy = tangent_of(y)

    def pullback(dy):
        d = take_fdata(fy.f["data"], None)
        if d is not None:
            for place, t in zip(places, d[np.searchsorted(stored, found)], strict=True):
                held.add(place, t)
        return None

    return CoDual(y, fy), pullback


@rrule(_LISTS.tocsr)
def tocsr(self: CoDual, copy=False):
    y = _LISTS.tocsr(self.primal)
    held = Entries.find(self)
    if held is None:
        return CoDual(y, tangent_of(y)), _nothing
    y = complete(y, pattern(y) + held.pattern(y.shape))
    fy = tangent_of(y)

    def pullback(dy):
        d = take_fdata(fy.f["data"], None)
        if d is not None:
            held.add_all(*places(y), np.asarray(d))
        return None

    return CoDual(y, fy), pullback


@rrule(_LISTS.toarray)
def toarray(self: CoDual, order=None, out=None):
    if out is not None:
        raise NotDifferentiated("dense forms of sparse matrices are differentiated without `out`")
    y = _LISTS.toarray(self.primal, order)
    held = Entries.find(self)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is not None and held is not None:
            for place in held.known:
                held.add(place, dy[place])
        return None

    return CoDual(y, fy), pullback


@rrule(_LISTS.copy)
def copy(self: CoDual):
    y = _LISTS.copy(self.primal)
    held = Entries.find(self)
    shadow = ObjectShadow(y)
    run.current().made[id(y)] = y, shadow
    mine = None if held is None else Entries.at(CoDual(y, shadow))
    if mine is not None and held is not None:
        mine.known = dict(held.known)

    def pullback(dy):
        if mine is not None and held is not None:
            for place, d in mine.of.items():
                held.add(place, d)
            mine.of.clear()
        return None

    return CoDual(y, shadow), pullback


def _nothing(_: Any) -> None:
    return None


def _empty(cls: Any) -> None:
    """One without numbers, of a shape; SciPy's own code fills arrays with lists."""

    @rrule(cls, types=(tuple,))
    def rule(arg1: CoDual, shape=None, dtype=None, copy=False):
        if not all(isinstance(n, (int, np.integer)) for n in arg1.primal):
            raise NotDifferentiated(
                "a lil matrix is made of a shape, or by tolil() of one made of (data, (row, column))"
            )
        y = cls(arg1.primal, shape, dtype, copy)
        shadow = ObjectShadow(y)
        run.current().made[id(y)] = y, shadow
        return CoDual(y, shadow), _nothing


_empty(sp.lil_array)
_empty(sp.lil_matrix)


def _to_lists(f: Any) -> None:
    @rrule(f, types=(Sparse,))
    def tolil(self: CoDual, copy=False):
        y = f(self.primal, copy)
        shadow = ObjectShadow(y)
        run.current().made[id(y)] = y, shadow
        mine = None
        if data_shadow(self) is not None:
            mine = Entries.at(CoDual(y, shadow))
            row, col = places(self.primal)
            mine.known = {place: y[place] for place in zip(row[row >= 0].tolist(), col[row >= 0].tolist(), strict=True)}

        def pullback(dy):
            if mine is not None and mine.of:
                at = np.array(list(mine.of), int).T
                t = sp.csr_array((np.array(list(mine.of.values())), (at[0], at[1])), shape=y.shape)
                mine.of.clear()
                give(self, lambda r, c: entries(t, r, c))
            return None

        return CoDual(y, shadow), pullback


for _f in methods("tolil"):
    _to_lists(_f)

for _f in {_LISTS._matmul_vector, _LISTS._matmul_multivector}:

    @overlay(_f)
    def times(self, other):
        return self.tocsr() @ other


STORED["lil"] = tocsr


@overlay(_LISTS._mul_scalar)
def scaled(self, other):
    return (self.tocsr() * other).tolil()


@overlay(_LISTS.__truediv__)
def divided(self, other):
    return (self.tocsr() / other).tolil()


@overlay(_LISTS.getrow)
def row_of(self, i):
    return self[[i]]


refuse(
    "it reads and writes the lists of a lil matrix: use tocsr()",
    *(getattr(_LISTS, name) for name in (
        "__iadd__", "__isub__", "__imul__", "__itruediv__", "getrowview", "reshape", "resize",
    )),
)  # fmt: skip

# -- cases ------------------------------------------------------------------------------------------------

_D = np.array([4.0, 0.5, 3.0, 0.2])
_V = np.array([0.5, -1.0, 2.0, 0.3])


def _filled(d, v):
    a = sp.lil_matrix((4, 4))
    for i in range(4):
        a[i, i] = 2.0 * d[i]
        if i:
            a[i, i - 1] = -d[i - 1]
        a[i, (i + 2) % 4] += d[i] * d[i]
    return a.tocsc() @ v, a.toarray(), a[2, 1], a @ v, a.sum()


def _by_slices(d, v):
    a = sp.lil_array((4, 4))
    a[1] = d
    a[:, 2] = v[:, None]
    a[2:, :3] = v[:3]
    a[[0, 3], [1, 1]] = d[:2]
    a[2:, :2] = d[3]
    a[np.eye(4, dtype=bool)] = v * d
    a.setdiag(v[:3], k=1)
    return a.tocsr().toarray(), a.tocoo().data


def _written_again(d):
    a = sp.lil_array((2, 2))
    a[0, 0] = d[0]
    a[0, 1] = d[1]
    b = a.copy()
    a[0, 0] = 2.0
    b[0, 1] = a[0, 0] * d[2]
    a[0, 1] = 1
    return a.toarray(), b.toarray(), b.tocsr().sum(axis=0)


def _converted(d, v):
    a = sp.lil_matrix((4, 4))
    a[0] = d
    b = sp.csr_matrix((v, (range(4), range(4))), shape=(4, 4)).tolil()
    b[1, 1] *= d[2]
    return sp.csc_matrix(a).toarray(), (sp.csr_array(b) @ d), sp.coo_matrix(b).sum(), b.T.tocsr() @ d


def _zero_at(d, v):
    a = sp.lil_array((4, 4))
    a[1, 2] = d[0] - 4.0
    return a.tocsr() @ v


def _computed(cls: Any) -> Any:
    def computed(d, v):
        a = cls((4, 4))
        a.setdiag(d)
        a[0, 1:] = v[1:]
        b = a * d[1] - a.T / v[0]
        a[2, 2] = 0.5 * d[0]
        row = a[0]
        return (
            b @ v,
            (a @ a).sum(),
            (a.tocsr() + a).toarray(),
            (a * v[3])[1:3, 1:] @ d[1:],
            (row * 2).toarray(),
            a.mean(),
        )

    return computed


def _parts(d, v):
    a = sp.lil_array((4, 4))
    a[1] = d
    a[2, :2] = v[:2]
    a[3, 3] = 0.0 * v[0]
    column, some = a[:, 1], a[[1, 2, 1], [0, 1, 3]]
    part = a[1:3]
    part[0, 0] *= v[3]
    both = sp.vstack([part, a[[2]], a.getrow(1)])
    return column @ v, some.toarray(), part.toarray(), both @ d, a.multiply(v).sum(), a.maximum(a.T).sum(), (a**2).sum()


CASES: list[RuleCase] = [
    case(_computed(sp.lil_matrix), _D, _V), case(_computed(sp.lil_array), _D, _V), case(_parts, _D, _V),
    case(_filled, _D, _V), case(_by_slices, _D, _V), case(_written_again, _D), case(_zero_at, _D, _V),
    case(_converted, _D, _V),
]  # fmt: skip
