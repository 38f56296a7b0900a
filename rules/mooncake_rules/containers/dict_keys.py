"""The keys of dicts: what is put in as a key keeps its derivative, and has it when the key is read back.

Its tangent is found in the dict's shadow (`DictShadow.of_key`), made when somebody asks for it: a dict in which things
are only looked up has none. The key that was there first stays, as in Python, and so does its tangent.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mooncake_py.infer.parts import is_plain, keys_of
from mooncake_py.infer.types import Dct, Inst, Known, Real
from mooncake_py.iterators import each_key, key_in
from mooncake_py.kinds import ConstantKeys
from mooncake_py.registry import (
    folds,
    incurious,
    infer_table,
    inline,
    maybe_none,
    register,
    rrule,
    zero_derivative,
)
from mooncake_py.rule import Rule
from mooncake_py.tangents import WHOLE, CellShadow, CoDual, DictShadow, ObjectShadow, SetShadow, zero_fdata

_f: Any  # what a table registers, one at a time


def is_whole(k: Any) -> bool:
    """Is this a key that cannot have a derivative?"""
    return type(k) in WHOLE


def are_whole(d: dict) -> bool:
    """Are all keys of a dict such? (The engine asks the types.)"""
    return False


def are_plain(d: dict) -> bool:
    """Are they numbers and the like, which have no fdata? (The engine asks the types.)"""
    return False


folds[is_whole] = lambda k: isinstance(k, (Known, Inst, Real)) and is_plain(k) and not k.active
folds[are_whole] = lambda d: isinstance(d, Dct) and not keys_of(d).active
folds[are_plain] = lambda d: isinstance(d, Dct) and is_plain(d.key)


@inline
def key_fdata(d: dict, shadow: DictShadow | None, k: Any) -> Any:
    """The fdata of a key that is read back."""
    return None if are_plain(d) else fdata_of_key(shadow, k)


def fdata_of_key(shadow: SetShadow | None, k: Any) -> Any:
    if isinstance(k, (int, float, str)):
        return None
    return zero_fdata(k) if shadow is None else shadow.of_key(k).f


def give_key(shadow: SetShadow | None, k: Any, dy: Any) -> None:
    """Add a cotangent to a key that is in the dict."""
    if dy is not None and shadow is not None and not is_whole(k):
        shadow.of_key(k).add(dy)


def keep_key(shadow: SetShadow | None, k: Any, fk: Any) -> None:
    """Keep the fdata of a key that is new in the dict, if the run does not know it: a function's."""
    if shadow is not None and fk is not None and type(fk) is not ObjectShadow:
        shadow.put_key(k, CellShadow(fk))


def taken_key(shadow: SetShadow | None, k: Any, new: bool) -> Any:
    """The cotangent of a key whose writing is undone, which is out of the dict by now if it was new there."""
    return shadow.take_key(k) if new and shadow is not None and shadow.keys is not None else None


maybe_none.add(taken_key)


def share_key(shadow: SetShadow | None, source: SetShadow | None, k: Any) -> None:
    """Let a key that came from another dict have one tangent in both."""
    if shadow is not None and source is not None and not is_whole(k):
        shadow.put_key(k, source.of_key(k))


def keys_shared(shadow: DictShadow | None, d: dict) -> dict[Any, CellShadow] | None:
    """The tangents of the keys of a dict, for a copy of it."""
    return None if shadow is None or are_whole(d) else shadow.of_keys(d)


def keys_of_both(fa: DictShadow | None, a: dict, fb: DictShadow | None, b: dict) -> dict[Any, CellShadow] | None:
    """The tangents of the keys of `a | b`: those that are in both are a's."""
    found = {k: t for k, t in (keys_shared(fb, b) or {}).items() if k not in a}
    return found | (keys_shared(fa, a) or {}) or None


@rrule(key_in)
def _key_in(d: CoDual, k):
    shadow = d.fdata

    def pullback(dy):
        give_key(shadow, k, dy)
        return None

    return CoDual(k, key_fdata(d.primal, shadow, k)), pullback


infer_table[key_in] = lambda args, kwargs: keys_of(args[0]) if isinstance(args[0], Dct) else None
infer_table[each_key] = lambda args, kwargs: Inst(type(iter(args[0].cls()))) if isinstance(args[0], Dct) else None
zero_derivative(each_key)
incurious.update({each_key, key_in})

for _f in (
    *(iter, dict.keys, dict.__iter__, dict.__reversed__, set, frozenset),
    *(OrderedDict.keys, OrderedDict.__iter__, OrderedDict.__reversed__),
):
    register(Rule(_f, None, (ConstantKeys,)))
infer_table[dict.keys] = lambda args, kwargs: Inst(type({}.keys())) if isinstance(args[0], Dct) else None
