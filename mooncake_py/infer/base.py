"""What abstract types have in common: they are compared by what they hold, and what is found of them is remembered."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

from mooncake_py.ir.nodes import node

_Type = TypeVar("_Type")
_Function = TypeVar("_Function", bound=Callable[..., Any])


_remembering: list[Callable[[], None]] = []


def remembered(f: _Function) -> _Function:
    """A function of types that remembers its results until `forget`."""
    kept = cache(f)
    _remembering.append(kept.cache_clear)
    return kept  # type: ignore[return-value]


def until_forgotten(kept: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of results that is emptied by `forget`."""
    _remembering.append(kept.clear)
    return kept


def forget() -> None:
    """To be called when a rule has been derived: types hold classes, functions and arrays of the user's."""
    for clear in _remembering:
        clear()


class T:
    """Base of all abstract types.

    They are compared by what they hold. A type of objects may be deep, and inference compares and looks up all the
    time: so it keeps its hash, and types with different hashes are told apart by these. Two that were found to be equal
    hold the very same from then on, which is seen at once the next time.
    """

    __slots__ = ("_content", "_free", "_hash")
    _content: Any
    _hash: int
    _free: frozenset[tuple[Any, ...]]  # see `types.free`

    @property
    def active(self) -> bool:
        return False

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._content = content = self._held()
            self._hash = h = hash((type(self), content))
            return h

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        assert isinstance(other, T)
        try:
            if self._hash != other._hash:
                return False
        except AttributeError:  # one of them was not asked for it yet
            if hash(self) != hash(other):
                return False
        mine, others = self._content, other._content
        if mine is others:
            return True
        if mine != others:
            return False
        other._content = mine
        return True

    def __getstate__(self) -> Any:
        """Without the hash, which is another one in another process."""
        state = object.__getstate__(self)
        if type(state) is not tuple:
            return state
        return state[0], {k: v for k, v in state[1].items() if k not in T.__slots__}

    def _held(self) -> Any:
        """What two equal types have in common."""
        return ()


_lasting: dict[T, T] = {}
_known: set[int] = set()  # the ids of those


def keep(t: T) -> None:
    """Let this be the one of all types equal to it, in every derivation: it holds nothing of the user's."""
    _lasting[t] = t
    _known.add(id(t))


def interned(t: T) -> T:
    """The one of all types equal to this that was met first, written down in one way: comparing that is cheap."""
    return t if id(t) in _known else _first(t)


@remembered
def _first(t: T) -> T:
    from mooncake_py.infer.recursive import canonical

    kept = _lasting.get(t)
    if kept is not None:
        return kept
    return t if (same := canonical(t)) is t else interned(same)


@dataclass_transform(frozen_default=True)
def type_class(cls: type[_Type]) -> type[_Type]:
    """As `node`, but compared by its fields."""
    made = node(cls)
    if names := [f.name for f in fields(made)]:  # type: ignore[arg-type]
        get = operator.attrgetter(*names)
        made._held = lambda self: get(self)  # type: ignore[attr-defined]
    return made
