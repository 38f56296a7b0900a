"""Where random numbers come from: a run that draws again may have other ones, and the same value."""

from __future__ import annotations

import gc
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_STATES: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    random.Random: (random.Random.getstate, random.Random.setstate),
    np.random.RandomState: (np.random.RandomState.get_state, np.random.RandomState.set_state),
    np.random.Generator: (
        lambda generator: generator.bit_generator.state,
        lambda generator, state: setattr(generator.bit_generator, "state", state),
    ),
}


class Draws:
    """All generators of random numbers there are, also those that `random` and `numpy.random` share.

    The collector knows them: a function may draw from one that it finds through names, attributes and other functions.
    """

    def __init__(self) -> None:
        kinds = ((x, next((k for k in _STATES if issubclass(type(x), k)), None)) for x in gc.get_objects())
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
