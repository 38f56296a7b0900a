"""Functions of any number of arguments become functions of as many as they are called with."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.transform.counted import counted, takes_rest


def through(*args: Any, **kwargs: Any) -> Any:
    return pair(*args, **kwargs)


def noted(a: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs["c"] = a
    return pair(*args, **kwargs)


def two(a: Any, b: Any = 1) -> Any:
    return a, b


def pair(a: Any, b: Any = 1, c: Any = 2) -> Any:
    return a, b, c


def made(f: Callable[..., Any], n: int, *names: str) -> Callable[..., Any] | None:
    code = counted(f.__code__, n, names)
    return None if code is None else pytypes.FunctionType(code, f.__globals__)


def test_arguments_are_handed_on_one_by_one() -> None:
    f = made(through, 2, "c")
    assert f is not None and f(3, 4, c=5) == (3, 4, 5)
    assert not normalise(f.__code__).calls(ops.call_ex)


def test_what_is_changed_on_the_way_stays_starred() -> None:
    f = made(noted, 2, "b")
    assert f is not None and f(3, 4, b=5) == (4, 5, 3)
    assert normalise(f.__code__).calls(ops.call_ex)


def test_arguments_that_do_not_fit() -> None:
    assert made(noted, 0) is None
    assert made(noted, 2, "a") is None
    assert made(two, 3) is None
    assert not takes_rest(two.__code__) and takes_rest(noted.__code__)
