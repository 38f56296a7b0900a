"""Rules with one fault each, and the call that must show it: what debug mode is there to catch.

A fault is a function that plants it and returns how to run it. The call at fault stands on the line marked `# HERE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mooncake_py import CoDual, rrule, value_and_pullback, zero_derivative
from mooncake_py.infer.types import Arr, Inst
from mooncake_py.registry import infer_table
from mooncake_py.shadows import Shadow, shadow_of


@dataclass(frozen=True)
class Fault:
    """`plant()` gives the function to differentiate and its arguments; `target` is the name the message must have."""

    name: str
    plant: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    check: str
    run: str
    target: str
    options: dict[str, bool] = field(default_factory=dict)


FAULTS: list[Fault] = []


def fault(check: str, run: str, target: str = "f", **options: bool) -> Callable[[Any], Any]:
    def keep(plant: Any) -> Any:
        FAULTS.append(Fault(plant.__name__, plant, check, run, target, options))
        return plant

    return keep


X = np.array([0.5, 1.0, 1.5, 2.0])


# -- rules of numbers -------------------------------------------------------------------------------------


@fault("value", "forward")
def value_of_a_number():
    def f(x):
        return math.sin(x)

    @rrule(f)
    def rule(x):
        return math.sin(x) * 1.001, lambda dy: dy * math.cos(x)

    def loss(x):
        y = f(x)  # HERE
        return y * 2.0

    return loss, (0.5,)


@fault("signature", "forward")
def result_of_another_class():
    def f(x):
        return x * 2.0

    infer_table[f] = lambda args, kwargs: Inst(float, args[0].active)

    @rrule(f)
    def rule(x):
        return np.float32(x * 2.0), lambda dy: dy * 2.0

    def loss(x):
        return f(x) + 1.0  # HERE

    return loss, (0.5,)


@fault("count", "reverse")
def one_cotangent_too_many():
    def f(x):
        return x * x

    @rrule(f)
    def rule(x):
        def pullback(dy):
            return 2.0 * x * dy, dy

        return x * x, pullback

    def loss(x):
        return 3.0 * f(x)  # HERE

    return loss, (0.5,)


@fault("count", "reverse")
def one_cotangent_too_few():
    def f(x, y):
        return x * y

    @rrule(f)
    def rule(x, y):
        def pullback(dy):
            return dy * y

        return x * y, pullback

    def loss(x, y):
        for _ in range(3):
            x = f(x, y)  # HERE
        return x

    return loss, (0.5, 1.5)


@fault("count", "reverse")
def a_tuple_that_is_too_short():
    def f(x, y, z):
        return x * y * z

    @rrule(f)
    def rule(x, y, z):
        return x * y * z, lambda dy: (dy * y * z, dy * x * z)

    def loss(x, y, z):
        return f(x, y, z)  # HERE

    return loss, (0.5, 1.5, 2.5)


@fault("returned", "reverse")
def array_for_a_number():
    def f(x):
        return x * 2.0

    @rrule(f)
    def rule(x):
        return x * 2.0, lambda dy: np.array([2.0 * dy])

    def loss(x):
        return f(x)  # HERE

    return loss, (0.5,)


@fault("returned", "reverse")
def complex_for_a_real_number():
    def f(x):
        return x * 2.0

    @rrule(f)
    def rule(x):
        return x * 2.0, lambda dy: dy * (2.0 + 1j)

    def loss(x):
        return f(x)  # HERE

    return loss, (0.5,)


@fault("returned", "reverse")
def text_for_a_number():
    def f(x):
        return x * 2.0

    @rrule(f)
    def rule(x):
        return x * 2.0, lambda dy: "two"

    def loss(x):
        return f(x)  # HERE

    return loss, (0.5,)


@fault("pair", "forward")
def no_pullback_at_all():
    def f(x):
        return x * 2.0

    @rrule(f)
    def rule(x):
        return x * 2.0

    def loss(x):
        return f(x)  # HERE

    return loss, (0.5,)


@fault("pair", "forward")
def three_things():
    def f(x):
        return x * 2.0

    @rrule(f)
    def rule(x):
        return x * 2.0, None, lambda dy: 2.0 * dy

    def loss(x):
        return f(x)  # HERE

    return loss, (0.5,)


@fault("pair", "forward")
def pullback_that_cannot_be_called():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, a

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("numbers", "reverse", check_numbers=True)
def derivative_of_a_number():
    def f(x):
        return math.sin(x)

    @rrule(f)
    def rule(x):
        return math.sin(x), lambda dy: -dy * math.cos(x)

    def loss(x):
        for _ in range(2):
            x = x * 1.5
            x = f(x)  # HERE
        return x

    return loss, (0.5,)


@fault("numbers", "reverse", check_numbers=True)
def derivative_by_the_second_argument():
    def f(x, y):
        return x**2.0 * y**3.0

    @rrule(f)
    def rule(x, y):
        return x**2.0 * y**3.0, lambda dy: (dy * 2.0 * x * y**3.0, dy * x**2.0 * 3.0 * y)

    def loss(x, y):
        return f(x, y) + x  # HERE

    return loss, (0.5, 1.7)


# -- rules of arrays --------------------------------------------------------------------------------------


@fault("value", "forward")
def value_of_an_array():
    def f(a):
        return np.tanh(a)

    @rrule(f)
    def rule(a):
        y = np.tanh(a)
        y[1] = 0.0
        return y, lambda dy: dy * (1.0 - y * y)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("value", "forward")
def value_of_another_dtype():
    def f(a):
        return np.exp(a)

    @rrule(f)
    def rule(a):
        y = np.exp(a).astype(np.float32)
        return y, lambda dy: dy * np.exp(a)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("value", "forward")
def value_of_another_shape():
    def f(a):
        return np.sum(a, keepdims=True)

    @rrule(f)
    def rule(a):
        return np.sum(a), lambda dy: dy * np.ones_like(a)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def cotangent_of_another_shape():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: np.append(dy, 0.0)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def cotangent_that_only_broadcasts():
    def f(a, k):
        return a * k

    @rrule(f)
    def rule(a, k):
        return a * k, lambda dy: (np.sum(dy * k).reshape(1), np.sum(dy * a))

    def loss(a, k):
        b = f(a, k)  # HERE
        return np.sum(b)

    return loss, (X, 2.0)


@fault("returned", "reverse")
def number_for_an_array():
    def f(a):
        return np.sum(a)

    @rrule(f)
    def rule(a):
        return np.sum(a), lambda dy: float(dy)

    def loss(a):
        return f(a)  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def array_for_a_number_among_arrays():
    def f(a, k):
        return a * k

    @rrule(f)
    def rule(a, k):
        return a * k, lambda dy: (dy * k, dy * a)

    def loss(a, k):
        return np.sum(f(a, k))  # HERE

    return loss, (X, 2.0)


@fault("returned", "reverse")
def integers_for_an_array():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: (2 * dy).astype(int)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def complex_for_a_real_array():
    def f(a):
        return np.abs(np.fft.fft(a)) ** 2

    @rrule(f)
    def rule(a):
        t = np.fft.fft(a)
        return np.abs(t) ** 2, lambda dy: a.size * np.fft.ifft(2 * dy * t)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def list_for_an_array():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: (list(2.0 * dy),)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("count", "reverse")
def cotangent_of_an_array_left_out():
    def f(a, b):
        return a @ b

    @rrule(f)
    def rule(a, b):
        return a @ b, lambda dy: dy * b

    def loss(a):
        return f(a, a * 3.0)  # HERE

    return loss, (X,)


@fault("count", "reverse")
def more_cotangents_than_arrays():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: (2.0 * dy, None)

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("numbers", "reverse", check_numbers=True)
def derivative_of_an_array():
    def f(a):
        return np.tanh(a)

    @rrule(f)
    def rule(a):
        y = np.tanh(a)
        return y, lambda dy: dy * (1.0 - y)

    def loss(a):
        b = np.exp(-a)
        return np.sum(f(b) * a)  # HERE

    return loss, (X,)


@fault("numbers", "reverse", check_numbers=True)
def transpose_forgotten():
    def f(a, b):
        return a @ b

    @rrule(f)
    def rule(a, b):
        return a @ b, lambda dy: (dy @ b, a.T @ dy)

    def loss(a):
        return np.sum(f(a.reshape(2, 2), np.sin(a).reshape(2, 2)) ** 2)  # HERE

    return loss, (X,)


# -- writing where it must not be written -----------------------------------------------------------------


@fault("cotangent written", "reverse")
def pullback_writes_to_what_it_is_given():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        def pullback(dy):
            dy *= 2.0
            return dy

        return a * 2.0, pullback

    def loss(a):
        return np.sum(f(a) * a)  # HERE

    return loss, (X,)


@fault("captured", "reverse")
def pullback_writes_to_what_it_captured():
    def f(a):
        return np.exp(a)

    @rrule(f)
    def rule(a):
        y = np.exp(a)
        kept = y.copy()

        def pullback(dy):
            kept[:] = 3.0 * kept * dy
            return kept.copy()

        return y, pullback

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("captured", "reverse")
def workspace_shared_between_calls():
    work = np.empty(4)

    def f(a):
        return a * a

    @rrule(f)
    def rule(a):
        work[:] = 2.0 * a
        return a * a, lambda dy: dy * work

    def loss(a):
        b = f(a)  # HERE
        return np.sum(f(b))

    return loss, (X,)


@fault("undeclared write", "forward")
def argument_changed_without_saying():
    def f(a):
        a[0] = 7.0
        return a * 2.0

    @rrule(f)
    def rule(a):
        a[0] = 7.0
        return a * 2.0, lambda dy: 2.0 * dy

    def loss(a):
        b = a * 1.0
        return np.sum(f(b))  # HERE

    return loss, (X,)


@fault("undeclared write", "forward")
def no_derivative_but_a_write():
    def f(a):
        a.sort()
        return len(a)

    zero_derivative(f)

    def loss(a):
        b = a * 1.0
        n = f(b)  # HERE
        return np.sum(b) * n

    return loss, (X[::-1].copy(),)


@fault("restored", "reverse")
def content_not_put_back():
    def f(a, k):
        a *= k

    @rrule(f, mutates=(0,))
    def rule(a: CoDual, k):
        old = a.primal.copy()
        f(a.primal, k)

        def pullback(_):
            d = a.fdata.dense()
            dk = np.sum(d * old)
            d *= k
            return None, dk

        return None, pullback

    def loss(a, k):
        b = a * 1.0
        f(b, k)  # HERE
        return np.sum(b)

    return loss, (X, 2.0)


@fault("restored", "reverse")
def content_put_back_but_for_one_bit():
    def f(a):
        a += 1.0

    @rrule(f, mutates=(0,))
    def rule(a: CoDual):
        f(a.primal)

        def pullback(_):
            a.primal[...] = a.primal - 1.0

        return None, pullback

    def loss(a):
        b = a * 1e-17
        f(b)  # HERE
        return np.sum(b)

    return loss, (X,)


@fault("restored", "reverse")
def list_not_put_back():
    def f(xs):
        xs.reverse()

    @rrule(f, mutates=(0,))
    def rule(xs: CoDual):
        xs.primal.reverse()
        shadow = xs.fdata
        shadow.f.reverse()
        shadow.r.reverse()

        def pullback(_):
            shadow.f.reverse()
            shadow.r.reverse()

        return None, pullback

    def loss(x):
        xs = [x, 2.0 * x]
        f(xs)  # HERE
        return xs[0]

    return loss, (0.5,)


@fault("restored", "reverse")
def dict_not_put_back():
    def f(d):
        d["seen"] = 1

    @rrule(f, mutates=(0,))
    def rule(d: CoDual):
        d.primal["seen"] = 1
        return None, lambda _: None

    def loss(x):
        d = {"x": x}
        f(d)  # HERE
        return d["x"] * 2.0

    return loss, (0.5,)


@fault("numbers", "reverse", check_numbers=True)
def derivative_through_a_write():
    def f(a, k):
        a *= k

    @rrule(f, mutates=(0,))
    def rule(a: CoDual, k):
        old = a.primal.copy()
        f(a.primal, k)

        def pullback(_):
            a.primal[...] = old
            d = a.fdata.dense()
            d *= k
            return None, np.sum(d * old)

        return None, pullback

    def loss(a, k):
        b = a * 1.0
        f(b, k)  # HERE
        return np.sum(b)

    return loss, (X, 2.0)


# -- tangents and aliases ---------------------------------------------------------------------------------


@fault("alias", "forward")
def view_without_saying():
    def f(a):
        return a[1:]

    @rrule(f)
    def rule(a):
        def pullback(dy):
            return np.concatenate([np.zeros(1), dy])

        return a[1:], pullback

    def loss(a):
        b = a * 2.0
        c = f(b)  # HERE
        b[2] = 0.0
        return np.sum(c)

    return loss, (X,)


def _codual_result(fdata: Callable[[Any, Any], Any]) -> Any:
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a: CoDual):
        y = a.primal * 2.0
        s = fdata(y, a.fdata)

        def pullback(_):
            return 2.0 * s.take() if isinstance(s, Shadow) else None

        return CoDual(y, s), pullback

    def loss(a):
        b = [a * 1.0]
        c = f(b[0])  # HERE
        c[0] = 0.0
        return np.sum(c)

    return loss, (X,)


@fault("fdata", "forward", "_codual_result.<locals>.f")
def tangent_of_another_shape():
    return _codual_result(lambda y, fa: Shadow((3,), y.dtype))


@fault("fdata", "forward", "_codual_result.<locals>.f")
def tangent_of_another_dtype():
    return _codual_result(lambda y, fa: Shadow(y.shape, np.dtype(np.float32)))


@fault("fdata", "forward", "_codual_result.<locals>.f")
def tangent_of_another_kind():
    return _codual_result(lambda y, fa: [0.0] * 4)


@fault("alias", "forward")
def one_array_with_two_tangents():
    def f(a):
        return a

    @rrule(f)
    def rule(a: CoDual):
        s = shadow_of(a.primal)
        return CoDual(a.primal, s), lambda _: s.take()

    def loss(a):
        b = [a * 1.0]
        c = f(b[0])  # HERE
        c[0] = 0.0
        return np.sum(b[0])

    return loss, (X,)


@fault("fdata", "forward")
def list_tangent_that_is_too_short():
    def f(x, y):
        return [x, y]

    @rrule(f)
    def rule(x: CoDual, y: CoDual):
        from mooncake_py.tangents import ListShadow

        return CoDual([x.primal, y.primal], ListShadow([None], [None])), lambda _: None

    def loss(x, y):
        xs = f(x, y)  # HERE
        return xs[0] + xs[1]

    return loss, (0.5, 1.5)


@fault("fdata", "forward")
def tuple_tangent_that_is_too_long():
    def f(a):
        return a, a * 2.0

    @rrule(f)
    def rule(a: CoDual):
        s = shadow_of(a.primal)
        return CoDual((a.primal, a.primal * 2.0), (a.fdata, s, None)), lambda _: None

    def loss(a):
        b, c = f(a * 1.0)  # HERE
        return np.sum(b) + np.sum(c)

    return loss, (X,)


@fault("returned", "reverse")
def tuple_cotangent_that_is_too_short():
    def f(t):
        return t[0] * t[1]

    @rrule(f)
    def rule(t):
        return t[0] * t[1], lambda dy: ((dy * t[1],),)

    def loss(x, y):
        return f((x, y))  # HERE

    return loss, (0.5, 1.5)


@fault("returned", "reverse")
def list_cotangent_that_is_too_long():
    def f(xs):
        return xs[0] * 2.0

    @rrule(f)
    def rule(xs):
        return xs[0] * 2.0, lambda dy: ([2.0 * dy, 0.0, 0.0],)

    def loss(x, y):
        return f([x, y])  # HERE

    return loss, (0.5, 1.5)


# -- what the rule was built for --------------------------------------------------------------------------


@fault("signature", "forward")
def dtype_that_was_not_promised():
    def f(a):
        return a * 2.0

    infer_table[f] = lambda args, kwargs: Arr(np.dtype(np.float32), 1, args[0].active)

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: dy * 2.0

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("signature", "forward")
def dimensions_that_were_not_promised():
    def f(a):
        return a[None] * 2.0

    infer_table[f] = lambda args, kwargs: Arr(np.dtype(float), 1, args[0].active)

    @rrule(f)
    def rule(a):
        return a[None] * 2.0, lambda dy: dy[0] * 2.0

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


@fault("signature", "forward")
def number_where_an_array_was_promised():
    def f(a):
        return float(a[0])

    infer_table[f] = lambda args, kwargs: Arr(np.dtype(float), 1, args[0].active)

    @rrule(f)
    def rule(a):
        return float(a[0]), lambda dy: np.append(dy, np.zeros(3))

    def loss(a):
        return np.sum(f(a))  # HERE

    return loss, (X,)


INNER: Any = math.sin
set_name = globals().__setitem__  # nobody sees what this writes to


@fault("guard", "forward", "loss")
def name_rebound_during_the_run():
    def rebind():
        set_name("INNER", math.cos)

    def loss(x):  # HERE
        y = INNER(x)
        rebind()
        return y + INNER(x)

    global INNER
    INNER = math.sin
    return loss, (0.5,)


# -- call sites decided when they run ---------------------------------------------------------------------


@fault("count", "reverse")
def count_at_a_dynamic_site():
    def f(a, b):
        return a * b

    @rrule(f)
    def rule(a, b):
        return a * b, lambda dy: dy * b

    def loss(a):
        table = [f, None]
        return np.sum(table[0](a, a))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def shape_at_a_dynamic_site():
    def f(a):
        return a * 2.0

    @rrule(f)
    def rule(a):
        return a * 2.0, lambda dy: dy[:2]

    def loss(a):
        table = {"f": f}
        return np.sum(table["f"](a))  # HERE

    return loss, (X,)


@fault("value", "forward")
def value_at_a_dynamic_site():
    def f(x):
        return math.exp(x)

    @rrule(f)
    def rule(x):
        return math.exp(x) + 1e-3, lambda dy: dy * math.exp(x)

    def loss(x):
        s = 0.0
        for g in [f, f]:
            s = s + g(x)  # HERE
        return s

    return loss, (0.5,)


@fault("restored", "reverse")
def write_at_a_dynamic_site():
    def f(a):
        a *= 2.0

    @rrule(f, mutates=(0,))
    def rule(a: CoDual):
        f(a.primal)

        def pullback(_):
            a.fdata.dense()[...] *= 2.0

        return None, pullback

    def loss(a):
        b = a * 1.0
        for g in [f]:
            g(b)  # HERE
        return np.sum(b)

    return loss, (X,)


@fault("numbers", "reverse", check_numbers=True)
def numbers_at_a_dynamic_site():
    def f(a, *, scale=1.0):
        return a * scale

    @rrule(f)
    def rule(a, *, scale=1.0):
        return a * scale, lambda dy: (dy,)

    def loss(a):
        table = [f]
        return np.sum(table[0](a, scale=3.0))  # HERE

    return loss, (X,)


@fault("returned", "reverse")
def fault_in_a_comprehension():
    def f(x):
        return x * x

    @rrule(f)
    def rule(x):
        return x * x, lambda dy: [2.0 * x * dy]

    def loss(x):
        return sum([f(x * k) for k in (1.0, 2.0)])  # HERE

    return loss, (0.5,)


@fault("returned", "reverse")
def fault_in_a_generator_expression():
    def f(x):
        return x * x

    @rrule(f)
    def rule(x):
        return x * x, lambda dy: [2.0 * x * dy]

    def loss(x):
        return sum(f(x * k) for k in (1.0, 2.0))  # HERE

    return loss, (0.5,)


@fault("returned", "reverse")
def fault_in_a_nested_call():
    def f(x):
        return x * x

    @rrule(f)
    def rule(x):
        return x * x, lambda dy: {}

    def inner(x):
        return f(x) + 1.0  # HERE

    def loss(x):
        return [inner][0](x) * 2.0

    return loss, (0.5,)


# -- NaN and infinity -------------------------------------------------------------------------------------


@fault("finite", "forward", "numpy.log", check_finite=True)
def log_of_a_negative_number():
    def loss(a):
        b = a - 1.0
        c = np.log(b)  # HERE
        return np.sum(c * 2.0)

    return loss, (X,)


@fault("finite", "forward", "operator.truediv", check_finite=True)
def division_by_zero():
    def loss(a):
        b = a - 1.0
        return np.sum(1.0 / b)  # HERE

    return loss, (X,)


@fault("finite", "forward", "numpy.exp", check_finite=True)
def overflow():
    def loss(a):
        for _ in range(4):
            a = np.exp(a)  # HERE
        return np.sum(a)

    return loss, (X,)


@fault("finite", "reverse", "numpy.sqrt", check_finite=True)
def root_at_zero():
    def loss(a):
        b = a - 0.5
        return np.sum(np.sqrt(b))  # HERE

    return loss, (X,)


@fault("finite", "reverse", check_finite=True)
def zero_divided_by_zero_in_a_rule():
    def f(a):
        return np.sqrt(np.sum(a * a))

    @rrule(f)
    def rule(a):
        y = np.sqrt(np.sum(a * a))
        return y, lambda dy: dy * a / y

    def loss(a):
        return f(a - a) + np.sum(a)  # HERE

    return loss, (X,)


def run(fault: Fault) -> None:
    """Differentiate the planted function in debug mode."""
    from mooncake_py import debug

    loss, args = fault.plant()
    with debug(**fault.options), np.errstate(all="ignore"):
        y, pullback = value_and_pullback(loss, *args)
        pullback(np.ones_like(y) if isinstance(y, np.ndarray) else type(y)(1.0))
