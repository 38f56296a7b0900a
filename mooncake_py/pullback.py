"""The pullback that a user gets: checks of its cotangent, further calls, and what stays as the run left it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py.errors import PullbackReuse
from mooncake_py.runtime.draws import Again, Draws
from mooncake_py.runtime.user import (
    Saved,
    Seen,
    array_ids,
    check_cotangent,
    contents,
    put_back,
    reachable,
    report,
    snapshot,
    unlock,
)
from mooncake_py.tangents import DictShadow, ListShadow
from mooncake_py.tracebacks import entry


class Pullback:
    """The pullback of one call: takes the cotangent of the value, returns one cotangent per argument.

    Cotangents have the structure, shapes and dtypes of the arguments, None where an argument has no derivative.
    Called, it gives those of the positional arguments; `with_keywords` those of the keyword arguments too.
    It may be called again. Where the run changed objects in place, which the first call undid, the function is run
    again for it; where it may have changed its arguments or anything else that is not its own, or has another value
    now, a second call raises PullbackReuse. `reusable` tells whether it can be called again without such a run.
    """

    __slots__ = (
        "_args",
        "_draws",
        "_fdata",
        "_keywords",
        "_outside",
        "_run",
        "_spent",
        "_value",
        "again",
        "always_zero",
        "arrays",
        "function",
        "met",
        "newcomers",
        "own_only",
        "reusable",
        "saved",
        "touched",
        "wary",
        "why",
        "writeable",
        "wrote",
    )

    def __init__(
        self,
        value: Any,
        args: Sequence[Any],
        fdata: Sequence[Any],
        run: Callable[[Any], Any],
        reusable: bool,
        outside: Sequence[Any] = (),
        keywords: tuple[str, ...] = (),
    ):
        self._outside = outside  # what the pullback undoes there is redone: it stays as after a plain call
        self._value, self._args, self._fdata, self._run, self.reusable = value, args, fdata, run, reusable
        self._keywords = keywords  # the names of the last of the arguments
        self._spent = False
        self._draws: Draws | None = None
        self.why = "the function changes objects in place: what it saved is used up"
        self.function: Any = None  # what was called
        self.again: Callable[[], tuple[Any, Pullback]] | None = None  # another run of the function
        self.own_only = False  # does that surely change nothing but what the function makes?
        self.always_zero: tuple[int, ...] = ()  # arguments that the value is known not to depend on
        self.saved: Saved = []  # what the arguments held before the run, where that may have written to them
        self.writeable: list[np.ndarray] = []  # arguments that could be written to, where the run may have ended that
        self.touched: dict[int, Any] = {}  # objects that the run changed
        self.wary = False  # might the run write to what is outside?
        self.wrote = False  # did it surely change one of them, where the pullback may be called again?
        self.arrays: list[np.ndarray] = []  # those from outside, where the run may have written to such
        self.met: dict[int, tuple[Any, Any]] = {}  # objects from outside with their shadows
        self.newcomers: list[Any] = []  # what it put into those from outside

    @entry
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        return self.of_arguments(cotangent, range(len(self._args) - len(self._keywords)))

    @entry
    def with_keywords(self, cotangent: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The cotangents of the positional arguments, and those of the keyword arguments by name."""
        ds = self.of_arguments(cotangent, range(len(self._args)))
        n = len(self._args) - len(self._keywords)
        return ds[:n], dict(zip(self._keywords, ds[n:], strict=True))

    def of_arguments(self, cotangent: Any, chosen: Sequence[int]) -> tuple[Any, ...]:
        """The cotangents of some arguments only, by number; keyword arguments count on after the positional ones."""
        dy = check_cotangent(self._value, cotangent)
        if self._spent and not self.reusable:
            again = None if not self.own_only or self.touched.keys() - reachable(self._args) else self.again
            return self.of_another_run(again, leaves_of(self._value), cotangent, chosen)
        self._spent = True
        kept = [] if self.reusable and not self._outside and not self.wrote else self._keep()
        shadows = self._keep_shadows() if self.reusable and (self._outside or self.wrote) else []
        unlock(self.writeable)
        try:
            rdata = self._run(dy)
        except BaseException:
            self.reusable, self.again, self.why = False, None, "that call ended with an exception half way"
            put_back(kept + self.saved)  # all else is as after the call, the arguments as before it
            raise
        finally:
            self.saved = []
            unlock(self.writeable)
        if kept:  # what the run took out of the arguments is in them again
            mine = reachable(self._args)
            put_back([(x, content) for x, content in kept if id(x) not in mine])
        for shadow, f in shadows:
            shadow.reset(f)
        seen = Seen()
        given = array_ids(dy)
        return tuple(
            report(self._args[i], self._fdata[i], None if rdata is None else rdata[i], seen, given) for i in chosen
        )

    def of_another_run(
        self, again: Callable[[], tuple[Any, Pullback]] | None, then: list[Any], cotangent: Any, chosen: Sequence[int]
    ) -> tuple[Any, ...]:
        """The same by another run of the function, which leaves what is outside as it is now.

        PullbackReuse where its value has other leaves than `then`, draws random numbers, or is not to be had at all.
        """
        if again is None:
            raise self._reuse()
        draws = self._draws = self._draws or Draws(self.function, self._args)
        if draws.again is Again.OTHERS:
            self.why = "the function draws random numbers from what has no seed"
            raise self._reuse()
        mine = reachable(self._args)
        outside = snapshot([x for k, x in self.touched.items() if k not in mine])
        ds = self._like_it(again, then, draws).of_arguments(cotangent, chosen)
        put_back(outside)
        if draws.again:
            others = self._like_it(again, then, draws).of_arguments(cotangent, chosen)
            put_back(outside)
            if _differ(leaves_of(ds), leaves_of(others)):
                self.why = "the function draws other random numbers each time, or looks at the clock"
                raise self._reuse()
        return ds

    def _like_it(self, again: Callable[[], tuple[Any, Pullback]], then: list[Any], draws: Draws) -> Pullback:
        """The pullback of another run, whose value has these leaves."""
        states = draws.states()
        value, pullback = again()
        drew = draws.put_back(states)
        if drew or _differ(leaves_of(value), then):
            restore(pullback)
            self.why = "the function draws random numbers" if drew else "the function has another value now"
            raise self._reuse()
        return pullback

    def _reuse(self) -> PullbackReuse:
        return PullbackReuse(f"this pullback was called before, and {self.why}; call value_and_pullback again")

    def _keep_shadows(self) -> list[tuple[ListShadow | DictShadow, Any]]:
        """The shadows of lists and dicts from outside, with the fdata of what these hold now."""
        mine = reachable(self._args)
        return [
            (s, s.f.copy()) for k, (_, s) in self.met.items() if k not in mine and type(s) in (ListShadow, DictShadow)
        ]

    def _keep(self) -> list[tuple[Any, Any]]:
        """What undoing must leave as it is: what the value holds, and all that is outside of the arguments."""
        mine = reachable(self._args)
        outside = [*self._outside, *(x for k, x in self.touched.items() if k not in mine)]
        arrays = [x for x in outside if isinstance(x, np.ndarray)]  # they may be views of the arguments'
        others = [x for x in outside if not isinstance(x, np.ndarray)]
        held = contents((self._value, *self.newcomers, *self.arrays, *arrays), self._args)
        return held + snapshot(others)


def leaves_of(value: Any) -> list[Any]:
    """The numbers and arrays of a value, whatever holds them."""
    from mooncake_py.trees import leaves

    return [*leaves(value)]


def _differ(a: Any, b: Any) -> bool:
    """Are two values not the same?"""
    from mooncake_py.diagnostics.facts import same_value

    return same_value(a, b) is not None


def restore(pullback: Pullback) -> None:
    """Put back what the forward run changed, where its value turns out to be of no use."""
    pullback.of_arguments(None, ())
