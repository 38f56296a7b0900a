"""One rule: its function, what that takes, and what is declared beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mooncake_py.infer.types import T
from mooncake_py.kinds import Kind, Pattern, matches
from mooncake_py.outputs import can_be_split, writes_out
from mooncake_py.tangents import CoDual

initial: set[Any] = set()
"""Functions that write where nothing was before and nobody has looked: there is nothing to undo."""


class Rule:
    """One registered rule; `fn` None says that the derivative is zero."""

    __slots__ = (
        "_most",
        "_needs",
        "alias",
        "codual",
        "deferred",
        "fn",
        "keywords",
        "mutates",
        "names",
        "pattern",
        "target",
        "user",
        "variadic",
    )

    def __init__(
        self,
        target: Any,
        fn: Callable | None,
        pattern: tuple[Pattern, ...] = (),
        alias: tuple[int, ...] = (),
        mutates: tuple[int, ...] = (),
        deferred: tuple[int, ...] = (),
    ):
        self.target = target
        self.fn = fn
        self.pattern = pattern
        self.alias = alias
        self.mutates = mutates
        self.deferred = deferred
        self.user = False  # a user's, not a pack's: it wins over those, and what it returns is checked at every call
        self.codual: frozenset[int] = frozenset()
        self.variadic = False
        self.keywords = False  # takes any keyword
        self.names: tuple[str, ...] = ()
        self._needs: tuple[str, ...] = ()
        self._most = 0
        if fn is not None:
            params = list(inspect.signature(fn).parameters.values())
            self.names = tuple(p.name for p in params)
            self.variadic = any(p.kind is p.VAR_POSITIONAL for p in params)
            self.keywords = any(p.kind is p.VAR_KEYWORD for p in params)
            positional = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            self._most = len(positional)
            self._needs = tuple(
                p.name for p in params if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            )
            self.codual = frozenset(
                i for i, p in enumerate(params) if p.annotation is CoDual or str(p.annotation).endswith("CoDual")
            )

    def accepts(self, n: int, keywords: Iterable[str]) -> bool:
        """Can the rule be called with n positional arguments and these keywords?

        A call that passes more than the rule knows of (`out=`, `where=`) must not lose it silently. Where the
        derivative is zero everything is taken but a place to write the result to.
        """
        if self.fn is None:
            return not writes_out(self.target, n, keywords)
        if not self.mutates and can_be_split(self.target) and writes_out(self.target, n, keywords):
            return False
        if n > self._most and not self.variadic:
            return False
        given = {*self.names[: min(n, self._most)]}
        for k in keywords:
            if k in given or (k not in self.names and not self.keywords):
                return False
            given.add(k)
        return given.issuperset(self._needs)

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the parameters that have no default."""
        return self._needs

    @property
    def in_place(self) -> bool:
        """Does the function change something that its pullback undoes?"""
        return bool(self.mutates) and self.target not in initial

    @property
    def most(self) -> int:
        """The number of positional parameters of the rule's function, without `*args`."""
        return self._most

    @property
    def label(self) -> str:
        """The rule's function and where it is written, for messages."""
        if self.fn is None:
            return "zero_derivative"
        code = self.written.__code__
        return f"{self.written.__qualname__} ({code.co_filename}:{code.co_firstlineno})"

    @property
    def written(self) -> Any:
        """The function that somebody wrote: the rule's, or the derivative it was made from."""
        return getattr(self.fn, "derivative", self.fn)

    def sees_fdata(self, i: int) -> bool:
        """Is what stands at this place given as a CoDual?"""
        last = len(self.names) - 1
        if i < last or not (self.variadic or self.keywords):
            return i in self.codual
        return bool(self.codual) if self.variadic else last in self.codual

    def positions(self, n: int, keywords: Iterable[str]) -> dict[str, int]:
        """Where in the pullback's result the cotangents of keyword arguments stand; -1 for those that have none.

        Those that a rule takes by `**kwargs` follow in the order of the call: after the rule's other parameters, and
        after the n positional arguments where it takes any number of them.
        """
        places: dict[str, int] = {}
        more = max(n, self._most) if self.variadic else len(self.names) - 1
        for k in keywords:
            i = self.names.index(k) if k in self.names else -1
            if i < 0 and self.keywords:
                i, more = more, more + 1
            elif self.variadic and i >= self._most:
                i = -1
            places[k] = i
        return places

    def moved(self, n: int, keywords: Sequence[str]) -> list[str]:
        """The keywords that go on after n positional arguments, where the rule says which of its parameters is changed
        or shared: what it says is by position."""
        if not (self.alias or self.mutates):
            return []
        out: list[str] = []
        while n + len(out) < self._most and self.names[n + len(out)] in keywords:
            out.append(self.names[n + len(out)])
        return out

    def matches(self, types: Sequence[T]) -> bool | None:
        """Do arguments of these types meet the pattern? None where that is not known."""
        if not self.pattern:
            return True
        if len(types) < len(self.pattern):
            return False
        sure: bool | None = True
        for want, t in zip(self.pattern, types, strict=False):
            m = matches(want, t)
            if m is False:
                return False
            if m is None:
                sure = None
        return sure

    def may_match(self, classes: Sequence[type]) -> bool:
        """May values of these classes meet the pattern? False where the classes alone say that they do not."""
        return len(classes) >= len(self.pattern) and all(
            not _by_class(want) or issubclass(cls, want)
            for want, cls in zip(map(_class_of, self.pattern), classes, strict=False)
        )

    def matches_values(self, args: Sequence[Any]) -> bool:
        """The same as `matches` for values."""
        return len(args) >= len(self.pattern) and all(
            isinstance(a, want) for want, a in zip(map(_class_of, self.pattern), args, strict=False)
        )


def _class_of(want: Any) -> Any:
    """What `isinstance` takes for an element of a pattern."""
    return want.cls if isinstance(want, Kind) else want


def _by_class(want: Any) -> bool:
    """Does the class of a value alone say whether it is an instance? Classes of other metaclasses may ask the value."""
    return all(type(k) is type for k in (want if type(want) is tuple else (want,)))
