"""Arguments to parameters as Python binds them, and cotangents back to where the arguments came from."""

from types import SimpleNamespace

import numpy as np
import pytest

from mooncake_py import debug, grad
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


def put_into_a_dict(x, **k):
    k["held"]["h"] = x * 2.0
    return k["held"]["h"] ** 2


def appended(x, **k):
    k["held"].append(x * 2.0)
    return k["held"][-1] ** 2


def stored_in_an_array(x, **k):
    k["held"][0] = x * 2.0
    return k["held"][0] ** 2


def set_on_an_object(x, **k):
    k["held"].v = x * 2.0
    return k["held"].v ** 2


def gone_through(x, **k):
    for v in k.values():
        v[0] = x * 2.0
    return sum([k[name][0] ** 2 for name in k])


def handed_on(x, **k):
    return {"f": stored_in_an_array}["f"](x, **k)


@pytest.mark.parametrize(
    ("f", "made"),
    [
        (put_into_a_dict, dict),
        (appended, list),
        (stored_in_an_array, lambda: np.ones(2)),
        (stored_in_an_array, lambda: [1.0]),
        (set_on_an_object, lambda: SimpleNamespace(v=1.0)),
        (gone_through, lambda: [1.0]),
        (handed_on, lambda: [1.0]),
    ],
)
@pytest.mark.parametrize("debug_mode", [False, True])
def test_what_is_written_into_further_keywords(f, made, debug_mode):
    held = made()
    before = repr(held)
    for names in ("x", ("x", "held")) if before not in ("[]", "{}") else ("x",):
        df = grad(f, names)
        for _ in range(2):
            with debug(debug_mode):
                d = df(2.0, held=held)
            assert (d[0] if names != "x" else d) == 16.0 and repr(held) == before
