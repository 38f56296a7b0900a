"""What comes with the value is as the function left it, though the arguments are put back."""

from collections import deque
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from mooncake_py import debug, value_and_grad, vjp


class Two(NamedTuple):
    p: Any
    q: Any


class Slotted:
    __slots__ = ("a", "xs")

    def __init__(self) -> None:
        self.a, self.xs = np.ones(2), [1.0]


def counted(x, st):
    st["n"] += 1
    return np.sum(x), st


def view(x, st):
    x *= 2.0
    return np.sum(x), x[1:]


def nested(x, st):
    x *= 2.0
    st["n"] += 1
    return np.sum(x), [st, (x, x[1:]), {"k": x, "m": 3}, Two(x, st)]


def an_object(x, st):
    st["o"].v = 5
    st["o"].w = x * 1.0
    return np.sum(x), st["o"]


def slots(x, st):
    st["s"].a *= 3.0
    st["s"].xs.append(4.0)
    return np.sum(x), st["s"]


def a_deque(x, st):
    st["d"].append(np.sum(x))
    return np.sum(x), st["d"]


def put_in(x, st):
    y = x * 2.0
    y[0] = 3.0
    st["y"] = y
    return np.sum(y), (y, st)


def no_dimensions(x, st):
    y = x[:1].reshape(())
    y *= 2.0
    return y, y


def a_large_array(x, st):
    st["large"] *= 2.0
    return np.sum(x), st["large"][:3]


FUNCTIONS = (counted, view, nested, an_object, slots, a_deque, put_in, no_dimensions, a_large_array)


def arguments() -> tuple[Any, ...]:
    held = {"n": 0, "o": SimpleNamespace(v=1.0), "s": Slotted(), "d": deque([1.0], 3), "large": np.ones(200_000)}
    return np.array([1.0, 2.0, 3.0]), held


def shown(x: Any) -> Any:
    if isinstance(x, dict):
        return {k: shown(v) for k, v in x.items()}
    if isinstance(x, list | tuple | deque):
        return type(x).__name__, *map(shown, x)
    if isinstance(x, SimpleNamespace):
        return "object", shown(vars(x))
    return ("slots", shown(x.a), shown(x.xs)) if isinstance(x, Slotted) else repr(x)


@pytest.mark.parametrize("debug_mode", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_it_is_as_after_a_plain_call(f: Any, debug_mode: bool) -> None:
    plain = shown(f(*arguments()))
    df = value_and_grad(f, has_aux=True)
    for _ in range(2):
        args = arguments()
        with debug(debug_mode):
            result, _ = df(*args)
        assert shown(result) == plain and shown(args) == shown(arguments())
    _, pullback, aux = vjp(f, *args, has_aux=True)
    pullback(np.array(1.0))
    assert shown(aux) == plain[2]


def test_what_was_not_changed_is_the_same_object() -> None:
    x, st = arguments()
    assert value_and_grad(lambda x, st: (np.sum(x), st), has_aux=True)(x, st)[0][1] is st
    assert value_and_grad(lambda x, st: (counted(x, st)[0], x), has_aux=True)(x, st)[0][1] is x


def test_what_holds_itself() -> None:
    def f(x, st):
        st["self"] = st
        return x * x, st

    (_, aux), g = value_and_grad(f, has_aux=True)(2.0, st := {})
    assert aux["self"] is aux and aux is not st and g == 4.0 and not st
