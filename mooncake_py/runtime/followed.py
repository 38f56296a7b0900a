"""Lists from outside that grow in a call which is run as it is: their tangents get as many items.

What such code, a cached function's or that under a rule of the user's, puts at the end of a list is constant.
"""

from __future__ import annotations

import types as pytypes
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.runtime.results import Result
from mooncake_py.runtime.user import all_plain
from mooncake_py.structure import in_order
from mooncake_py.tangents import ListShadow, zero_fdata

_IN_C = (pytypes.BuiltinFunctionType, pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)


def keeps_to_itself(f: Any, args: tuple[Any, ...]) -> bool:
    """Does a call surely run no code of the user's?"""
    return isinstance(f, _IN_C) and all_plain(args)


def refuse_if_behind(args: Iterable[Any], fargs: Iterable[Any]) -> None:
    """Refuse to go on with a list that changed where nobody saw it: in a special method that C code calls, say."""
    for x, fx in zip(args, fargs, strict=True):
        if type(fx) is ListShadow and isinstance(x, (list, deque)) and len(fx.f) != len(in_order(x)):
            raise _changed() from None


def _changed() -> UnsupportedError:
    return UnsupportedError("a list that code without derivative changed", "the call", None, "pass it as argument")


def followed(result: Result) -> Result:
    """The result of a call that was run as it is, and may have put something into lists that the run knows."""
    if not run.is_wary():
        return result
    met = list(run.current().objects.values())
    grown = [(x, fx, len(fx.f)) for x, fx in met if type(fx) is ListShadow and len(fx.f) != len(in_order(x))]
    if not grown:
        return result
    for x, fx, n in grown:
        held = in_order(x)
        if len(held) < n:
            raise _changed() from None
        fx.f.extend([zero_fdata(v) for v in list(held)[n:]])
        fx.r.extend([None] * (len(held) - n))
    y, fy, pb = result
    return y, fy, _undoing(grown, pb)


def _undoing(grown: list[tuple[Any, ListShadow, int]], pb: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    def pullback(dy: Any) -> Any:
        for _, fx, n in grown:
            while len(fx.f) > n:
                fx.f.pop()
                fx.r.pop()
        return None if pb is None else pb(dy)

    return pullback
