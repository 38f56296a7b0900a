"""How calls fill the parameters of the Python function that runs, remembered for calls like the last one."""

from __future__ import annotations

import functools
import operator
import types as pytypes
from typing import Any

from mooncake_py.infer.resolve import class_attribute
from mooncake_py.runtime.binding import bind, unwrap

PLAIN = frozenset({float, complex, int, bool, str, type(None)})


class Filling:
    """The parameters of g, which runs when f is called with so many arguments and keywords of these names.

    `prefix` are arguments that are not the user's own: a method's object, those of a partial. What else is not given by
    the call, a partial's keywords and default values, is the `rest`.
    """

    __slots__ = (
        *("called", "defaults", "f", "function", "given", "keywords", "kwdefaults", "names", "order", "pick", "prefix"),
        "rest",
    )

    def __init__(self, f: Any, g: pytypes.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]):
        _, all_args, all_kwargs = unwrap(f, args, kwargs)
        self.f, self.function, self.given, self.names = f, g, len(args), tuple(kwargs)
        self.called = not isinstance(f, (pytypes.FunctionType, pytypes.MethodType, functools.partial))
        self.prefix = all_args[: len(all_args) - len(args)]
        own = {k: v for k, v in all_kwargs.items() if k not in kwargs}
        self.defaults, self.kwdefaults = g.__defaults__, _ids(g.__kwdefaults__)
        self.keywords = _ids(f.keywords) if own else {}
        self.rest = (*own.values(), *(self.defaults or ()), *(g.__kwdefaults__ or {}).values())
        numbers = iter(range(len(all_args) + len(kwargs) + len(self.rest)))
        places = [next(numbers) for _ in all_args]
        keywords = {k: next(numbers) for k in (*kwargs, *own)}
        defaults = [next(numbers) for _ in self.defaults or ()]
        kwdefaults = {k: next(numbers) for k in self.kwdefaults}
        self.order = bind(g, tuple(places), keywords, defaults, kwdefaults)
        self.pick = operator.itemgetter(*self.order) if len(self.order) > 1 else lambda values: (values[self.order[0]],)

    @classmethod
    def of(cls, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Filling | None:
        """None where f runs no Python function, where that collects arguments, or where default values may change."""
        g, _, all_kwargs = unwrap(f, args, kwargs)
        if type(g) is not pytypes.FunctionType or g.__code__.co_flags & 0x0C or not g.__code__.co_varnames:
            return None
        if len(all_kwargs) > len(kwargs) and type(f) is not functools.partial:
            return None
        filling = cls(f, g, args, kwargs)
        if filling.called and class_attribute(type(f), "__call__") is not g:
            return None  # what its class has for `__call__` comes to a function by another way
        first = len(filling.prefix) + len(args) + len(kwargs)
        used = [filling.rest[i - first] for i in filling.order if i >= first]
        return filling if all(type(v) in PLAIN for v in used) else None

    def place(self, k: int) -> int:
        """The parameter that the k-th of `(*args, *kwargs.values())` goes to."""
        return self.order.index(len(self.prefix) + k)

    def is_own(self, i: int) -> bool:
        """Is the i-th parameter not given by the call?"""
        first = len(self.prefix)
        return not first <= self.order[i] < first + self.given + len(self.names)

    @property
    def plain(self) -> bool:
        """Are the parameters the arguments as they are given?"""
        return not self.called and self.order == list(range(self.given))

    def parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """What the parameters are in this call; None where it is another kind of call."""
        if len(args) != self.given or tuple(kwargs) != self.names:
            return None
        g = self.function
        if self.called and class_attribute(type(self.f), "__call__") is not g:
            return None
        if g.__defaults__ is not self.defaults or (self.kwdefaults and _ids(g.__kwdefaults__) != self.kwdefaults):
            return None
        if self.keywords and _ids(self.f.keywords) != self.keywords:
            return None
        return self.pick((*self.prefix, *args, *kwargs.values(), *self.rest))


def _ids(values: dict[str, Any] | None) -> dict[str, int]:
    """To see whether a dict that others may change still holds what it held."""
    return {k: id(v) for k, v in (values or {}).items()}
