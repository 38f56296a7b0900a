"""Where random numbers come from: a run that draws again may have other ones, and the same value."""

from __future__ import annotations

import os
import random
import secrets
import time
import types as pytypes
import uuid
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.outside import Code, Walk
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Const

_STATES: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    random.Random: (random.Random.getstate, random.Random.setstate),
    np.random.RandomState: (lambda old: old.get_state(legacy=False), np.random.RandomState.set_state),
    np.random.Generator: (
        lambda generator: generator.bit_generator.state,
        lambda generator, state: setattr(generator.bit_generator, "state", state),
    ),
}


_MAKERS: frozenset[Any] = frozenset(
    {random.Random, np.random.default_rng, np.random.RandomState, np.random.SeedSequence, np.random.MT19937}
    | {np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64}
)
"""What makes generators: other ones each time where no seed is given, or None for one."""
_OTHERS = frozenset({random.SystemRandom, os.urandom, uuid.uuid1, uuid.uuid4})
_OTHERS |= {secrets.randbits, secrets.randbelow, secrets.choice, secrets.token_bytes, secrets.token_hex}
"""What gives something else each time."""
_CLOCKS = frozenset(f for k, f in vars(time).items() if isinstance(f, pytypes.BuiltinFunctionType) and "sleep" not in k)


class Again(IntEnum):
    """Does a function that is called again draw the same numbers, from generators that it makes itself?"""

    SAME = 0
    PERHAPS = 1
    """The seed is not seen, or it looks at the clock."""
    OTHERS = 2


_SHARED = (random.seed.__self__, np.random.get_state.__self__)  # type: ignore[attr-defined]


class Draws:
    """The generators of random numbers that a call may draw from, with those that `random` and `numpy.random` share.

    They are found where the callable and its arguments lead: through names, variables, attributes and other functions.
    """

    def __init__(self, f: Any, given: Iterable[Any]):
        walk = Walk()
        for x in (f, *given):
            for part in x if isinstance(x, tuple) else (x,):
                walk.value(part)
        self.again = max(map(_again, walk.codes.values()), default=Again.SAME)
        found = {id(x): x for x in (*_SHARED, *walk.kept)}.values()
        kinds = ((x, next((k for k in _STATES if issubclass(type(x), k)), None)) for x in found)
        self._generators = [
            (x, *_STATES[kind])
            for x, kind in kinds
            if kind is not None and not isinstance(x, random.SystemRandom)  # which has no state
        ]

    def states(self) -> list[Any]:
        return [get(x) for x, get, _ in self._generators]

    def put_back(self, states: list[Any]) -> bool:
        """Was anything drawn since these were the states? They are again."""
        moved = not all([_equal(get(x), state) for (x, get, _), state in zip(self._generators, states, strict=True)])
        if moved:
            for (x, _, put), state in zip(self._generators, states, strict=True):
                put(x, state)
        return moved


def _equal(a: Any, b: Any) -> bool:
    """Are two states of a generator the same?"""
    if isinstance(a, dict):
        return all([_equal(v, b[k]) for k, v in a.items()])
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def _is_source(x: Any) -> bool:
    return hashable(x) and (x in _MAKERS or x in _OTHERS or x in _CLOCKS)


def _again(c: Code) -> Again:
    """What one code says of that."""
    defs = {s.out: s for b in c.body.blocks for s in b.stmts}
    sources = {v: x for v in defs if _is_source(x := c.known(v, defs))}
    found = Again.PERHAPS if any(map(_is_source, c.free.values())) else Again.SAME
    for s in defs.values():
        if any(v in sources for v in s.args) and not is_const(s.fn, getattr):
            found = max(found, Again.PERHAPS)  # it is handed on
        f = sources.get(s.fn)  # type: ignore[arg-type]
        if f is None:
            continue
        seeds = [*s.args, *(v for _, v in s.kwargs)]
        if f in _OTHERS or (f in _MAKERS and all(isinstance(v, Const) and v.value is None for v in seeds)):
            return Again.OTHERS
        if f in _CLOCKS or not isinstance(seeds[0], Const):
            found = max(found, Again.PERHAPS)
    return found
