"""Where random numbers come from: a run that draws again may have other ones, and the same value."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mooncake_py.infer.outside import Walk

_STATES: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    random.Random: (random.Random.getstate, random.Random.setstate),
    np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
    np.random.Generator: (
        lambda generator: generator.bit_generator.state,
        lambda generator, state: setattr(generator.bit_generator, "state", state),
    ),
}


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
        found = {id(x): x for x in (*_SHARED, *walk.kept)}.values()
        kinds = ((x, next((k for k in _STATES if issubclass(type(x), k)), None)) for x in found)
        self._generators = [
            (x, *_STATES[kind])
            for x, kind in kinds
            if kind is not None and not isinstance(x, random.SystemRandom)  # which has no state
        ]

    def states(self) -> list[bytes]:
        return [pickle.dumps(get(x)) for x, get, _ in self._generators]

    def put_back(self, states: list[bytes]) -> bool:
        """Was anything drawn since these were the states? They are again."""
        moved = self.states() != states
        if moved:
            for (x, _, put), state in zip(self._generators, states, strict=True):
                put(x, pickle.loads(state))
        return moved
