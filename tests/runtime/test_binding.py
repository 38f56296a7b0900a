"""Arguments to parameters as Python binds them, and cotangents back to where the arguments came from."""

import pytest

from mooncake_py.runtime.binding import Slots, bind
from mooncake_py.tangents import FunctionShadow, ListShadow


def plain(a, b=2.0, *rest, c, d=4.0, **others):
    return a, b, rest, c, d, others


def positional(a, /, b):
    return a, b


CALLS = [
    (plain, (1.0,), {"c": 3.0}),
    (plain, (1.0, 5.0, 6.0, 7.0), {"c": 3.0, "e": 8.0}),
    (plain, (), {"a": 1.0, "c": 3.0, "d": 9.0}),
    (positional, (1.0,), {"b": 2.0}),
]


@pytest.mark.parametrize(("f", "args", "kwargs"), CALLS)
def test_values_are_those_of_a_call(f, args, kwargs):
    assert tuple(bind(f, args, kwargs, f.__defaults__, f.__kwdefaults__)) == _in_order(f(*args, **kwargs), f)


def _in_order(values, f):
    """Locals stand in the order of the code: `*args` after the keyword-only parameters."""
    if f is not plain:
        return values
    a, b, rest, c, d, others = values
    return a, b, c, d, rest, others


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [(plain, (), {}), (positional, (), {"a": 1.0, "b": 2.0}), (positional, (1.0, 2.0, 3.0), {})],
)
def test_what_a_call_refuses_is_refused_alike(f, args, kwargs):
    with pytest.raises(TypeError) as theirs:
        f(*args, **kwargs)
    with pytest.raises(TypeError) as ours:
        bind(f, args, kwargs, f.__defaults__, f.__kwdefaults__)
    assert str(ours.value) == str(theirs.value)


def test_cotangents_go_back_to_the_arguments():
    slots = Slots()
    boxes = [slots.box(x, None) for x in (1.0, 2.0, 3.0, 4.0)]
    params = bind(plain, tuple(boxes[:3]), {"c": boxes[3]}, plain.__defaults__, plain.__kwdefaults__)
    assert [slots.primal(v) for v in params] == [1.0, 2.0, 4.0, 4.0, (3.0,), {}]
    assert slots.scatter(params, [0.1, 0.2, 0.4, 0.5, (0.3,), None]) == [0.1, 0.2, 0.3, 0.4]


def test_cotangents_of_default_values_go_to_the_function():
    shadow = FunctionShadow((), ListShadow([None], [None]), None)
    slots = Slots()
    boxes = [slots.box(1.0, None), slots.box(3.0, None)]
    params = bind(plain, (boxes[0],), {"c": boxes[1]}, *slots.defaults(plain, shadow))
    assert slots.scatter(params, [0.1, 0.2, 0.3, 0.4, None, None]) == [0.1, 0.3]
    assert shadow.defaults.r == [0.2]
