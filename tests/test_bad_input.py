"""What bad input gets: an error that says what, where and what to do."""

from __future__ import annotations

import concurrent.futures
import copy
import enum
import itertools
import math
import pickle
import struct
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py import (
    ArgumentError,
    CotangentError,
    DebugError,
    MissingRule,
    MooncakeError,
    NonScalarOutput,
    NotDifferentiated,
    UnsupportedError,
    build_rrule,
    elementwise_grad,
    errors,
    grad,
    jacobian,
    prepare,
    value_and_grad,
    value_and_pullback,
)

HERE = Path(__file__).name


def square(x):
    return x * x


def line_of(f: Callable[..., Any], text: str) -> int:
    """The line of the function's source that holds the text."""
    lines = Path(__file__).read_text().splitlines()
    first = f.__code__.co_firstlineno
    return next(n for n, line in enumerate(lines, 1) if n >= first and text in line)


# -- arguments --


@pytest.mark.parametrize("use", [
    lambda f: grad(f), lambda f: value_and_grad(f), lambda f: value_and_pullback(f, 1.0), lambda f: build_rrule(f, 1.0)
])  # fmt: skip
def test_not_callable(use: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentError, match=r"must be callable, got int: 3"):
        use(3)


@pytest.mark.parametrize("use", [
    lambda x: grad(square)(x), lambda x: value_and_pullback(square, x), lambda x: build_rrule(square, x)
])  # fmt: skip
def test_an_int_where_a_float_was_meant(use: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentError, match=r"argument 0 is the integer 3: pass 3\.0"):
        use(3)


def test_one_of_the_arguments_has_no_derivative() -> None:
    for argnums in ((0, 1), 1, ("a", "b")):
        with pytest.raises(ArgumentError, match=r"there is no derivative by argument 1; .* the integer 3: pass 3\.0"):
            grad(lambda a, b: a * b, argnums)(2.0, 3)


@pytest.mark.parametrize("x", ["text", None, True, np.arange(3), [1, 2], (), lambda: 1])
def test_no_differentiable_argument(x: Any) -> None:
    with pytest.raises(ArgumentError, match="no argument can have a derivative"):
        value_and_pullback(lambda x: 1.0, x)


def test_no_argument_at_all() -> None:
    with pytest.raises(ArgumentError, match="pass the arguments"):
        value_and_pullback(lambda: 1.0)


@pytest.mark.parametrize("argnums", [1, -2, (0, 1)])
def test_argnums_out_of_range(argnums: Any) -> None:
    with pytest.raises(ArgumentError, match=r"argnums -?\d is out of range: the call has 1 positional argument"):
        grad(square, argnums)(1.0)


def test_argnums_of_an_int() -> None:
    with pytest.raises(ArgumentError, match=r"argument 1 is the integer 3: pass 3\.0"):
        grad(lambda x, y: x * y, (0, 1))(2.0, 3)


def test_a_call_that_python_refuses() -> None:
    for args, kwargs in [((), {}), ((1.0, 2.0), {}), ((1.0,), {"z": 1.0})]:
        with pytest.raises(TypeError):
            grad(square)(*args, **kwargs)


# -- values and cotangents --


@pytest.mark.parametrize("value, described", [
    (lambda x: (x, x), "a tuple"),
    (lambda x: [x], "a list"),
    (lambda x: None, "a NoneType"),
    (lambda x: x * 1j, "a complex"),
    (lambda x: x > 0.0, "a bool"),
    (lambda x: x * np.ones(3), r"an array of shape \(3,\)"),
    (lambda x: x * np.ones(1), r"an array of shape \(1,\)"),
])  # fmt: skip
def test_grad_of_what_is_no_scalar(value: Callable[[float], Any], described: str) -> None:
    with pytest.raises(NonScalarOutput, match=f"returned {described}; use value_and_pullback"):
        grad(value)(2.0)


def test_arguments_are_restored_where_grad_refuses() -> None:
    def f(x):
        x[0] = 7.0
        x *= 2.0
        return x

    x = np.arange(3.0)
    with pytest.raises(NonScalarOutput):
        grad(f)(x)
    assert x.tolist() == [0.0, 1.0, 2.0]


ARRAY = np.ones(3)


@pytest.mark.parametrize("cotangent, says", [
    (1.0, "the value, a tuple of 2, must be a tuple of 2, got float: 1.0"),
    ((ARRAY,), "a tuple of 1"),
    ((ARRAY, ARRAY, ARRAY), "a tuple of 3"),
    ((np.ones(2), None), r"the value\[0\] must be an array of shape \(3,\) and dtype float64, .* shape \(2,\)"),
    ((np.ones((1, 3)), None), r"shape \(1, 3\)"),
    ((1.0, None), "got float: 1.0"),
    (("text", None), "got str: 'text'"),
    ((ARRAY * 1j, None), "dtype complex128"),
    ((ARRAY > 0, None), "dtype bool"),
    ((np.array(["a", "b", "c"]), None), "dtype <U1"),
    ((ARRAY, (2.0,)), r"the value\[1\], a tuple of 2, must be a tuple of 2, got a tuple of 1"),
    ((ARRAY, ("text", None)), r"the value\[1\]\[0\] must be a number like .*2.0.*, got str: 'text'"),
    ((ARRAY, (ARRAY, None)), r"must be a number like .*2.0.*, got an array of shape \(3,\)"),
    ((ARRAY, (1j, None)), "got complex"),
])  # fmt: skip
def test_cotangent_that_does_not_fit(cotangent: Any, says: str) -> None:
    x = np.arange(3.0)
    _, pullback = value_and_pullback(lambda x: (x * 2.0, (x[1] * 2.0, 3)), x)
    with pytest.raises(CotangentError, match=says):
        pullback(cotangent)


def test_cotangents_of_dicts_and_masked_arrays() -> None:
    _, pullback = value_and_pullback(lambda x: {"a": x * x, "b": x, "n": 3, "none": []}, 2.0)
    with pytest.raises(CotangentError, match=r"a dict, must have all of its keys: 'b' is missing"):
        pullback({"a": 1.0})
    assert pullback({"a": 1.0, "b": None}) == (4.0,)
    _, pullback = value_and_pullback(lambda x: [x * x], ARRAY)
    with pytest.raises(CotangentError, match=r"the value\[0\] must be a plain array, got one with masked elements"):
        pullback([np.ma.masked_array(ARRAY, [0, 1, 0])])
    assert pullback([np.ma.masked_array(ARRAY)])[0].tolist() == [2.0, 2.0, 2.0]


def test_a_bad_cotangent_spends_nothing() -> None:
    def f(x):
        x[0] = 7.0
        return x * 2.0

    x = np.arange(3.0)
    _, pullback = value_and_pullback(f, x)
    with pytest.raises(CotangentError):
        pullback(np.ones(2))
    assert pullback(ARRAY)[0].tolist() == [0.0, 2.0, 2.0]
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_nan_is_no_error() -> None:
    assert math.isnan(grad(square)(math.nan))
    assert np.isnan(value_and_pullback(np.sqrt, np.ones(2))[1](np.full(2, np.nan))[0]).all()


# -- functions --


def test_missing_rule() -> None:
    def f(x):
        z = x + 1.0
        return time.ctime(z)

    with pytest.raises(MissingRule) as e:
        grad(f)(1.0)
    message = str(e.value)
    assert "time.ctime has no rule and was given an active argument (number 1, float)" in message
    assert f"{HERE}:{line_of(f, 'ctime(z')}" in message
    assert "@mooncake_py.rrule(time.ctime)" in message
    assert "mooncake_py.zero_derivative(time.ctime)" in message


def test_missing_rule_in_a_callee_names_the_callees_line() -> None:
    def inner(x):
        return time.ctime(x)

    with pytest.raises(MissingRule, match=f"{HERE}:{line_of(inner, 'ctime(x')}"):
        grad(lambda x: inner(x) * 2.0)(1.0)


def test_missing_rule_where_nothing_is_active_is_just_called() -> None:
    assert grad(lambda x, y: x * len(time.ctime(y)))(1.0, 1.0) == len(time.ctime(1.0))


async def coroutine(x):
    return x * x


def generator(x):
    yield x


@pytest.mark.parametrize("f, construct, text", [
    (coroutine, "async def", "async def"),
    (generator, "generator", "def generator"),
])  # fmt: skip
def test_unsupported_constructs_are_refused_when_the_rule_is_built(
    f: Callable[..., Any], construct: str, text: str
) -> None:
    with pytest.raises(UnsupportedError, match="is not supported") as e:
        build_rrule(f, 1.0)
    assert construct in e.value.construct
    assert Path(e.value.filename).name == HERE
    assert e.value.line == line_of(f, text)
    assert f"{HERE}:{e.value.line}" in str(e.value)


def test_unsupported_callee_is_refused_when_it_is_reached() -> None:
    async def inner(x):
        return x

    def callee(x):
        return inner(x)

    with pytest.raises(UnsupportedError, match=f"async def.*{HERE}"):
        grad(lambda x: callee(x) * 2.0)(2.0)


def test_async_function_inside() -> None:
    def f(x):
        async def inner():
            return x

        return x * x

    with pytest.raises(UnsupportedError, match=f"async def.*{HERE}:{line_of(f, 'async def')}"):
        build_rrule(f, 1.0)


def test_class_body_that_computes_what_an_enumeration_makes_its_own() -> None:
    def f(x):
        class Inner(enum.Enum):
            y = x * 2.0

        return x * Inner.y.value

    with pytest.raises(UnsupportedError, match=f"class body.*Enum makes.*{HERE}:{line_of(f, 'class Inner')}"):
        grad(f)(1.0)


def test_class_body_that_computes_what_a_metaclass_may_look_at() -> None:
    class Meta(type):
        def __new__(cls, name, bases, namespace):
            namespace["double"] = 2.0 * namespace["y"]
            return super().__new__(cls, name, bases, namespace)

    class Asking:
        def __init_subclass__(cls) -> None:
            cls.double = 2.0 * cls.y  # type: ignore[attr-defined]

    def by_metaclass(x):
        class Inner(metaclass=Meta):
            y = x * 2.0

        return x * Inner.double  # type: ignore[attr-defined]

    def by_base(x):
        class Inner(Asking):
            y = x * 2.0

        return x * Inner.double  # type: ignore[attr-defined]

    for f, who in ((by_metaclass, "Meta"), (by_base, "Asking")):
        with pytest.raises(UnsupportedError, match=f"class body.*{who} makes.*{HERE}:{line_of(f, 'class Inner')}"):
            grad(f)(1.0)


def test_class_statement_given_an_active_value() -> None:
    class Base:
        def __init_subclass__(cls, y: Any = 0.0) -> None:
            cls.y = y  # type: ignore[attr-defined]

    def f(x):
        class Inner(Base, y=x * 2.0):
            pass

        return x * Inner.y  # type: ignore[attr-defined]

    with pytest.raises(
        UnsupportedError, match=f"the keyword 'y' of a class statement.*{HERE}:{line_of(f, 'class Inner')}"
    ):
        grad(f)(1.0)


@pytest.mark.parametrize("error", [
    ArgumentError, CotangentError, MissingRule, NonScalarOutput, UnsupportedError
])  # fmt: skip
def test_every_error_is_a_mooncake_error(error: type[Exception]) -> None:
    assert issubclass(error, MooncakeError)


def test_the_users_own_exception_passes_unchanged() -> None:
    class Mine(Exception):
        pass

    error = Mine("no")

    def f(x):
        if x > 0.0:
            raise error
        return x

    with pytest.raises(Mine) as e:
        grad(f)(1.0)
    assert e.value is error and e.traceback[-1].name == "f"
    assert grad(f)(-1.0) == 1.0, "it leaves no state behind"


def _object_array(x):
    z = np.empty(2, dtype=object)
    z[0] = x[0]
    return z[0] * 2


@pytest.mark.parametrize(
    "f",
    [
        _object_array,
        lambda x: x.astype(object).sum(),
        lambda x: np.array([x[0], 1.0], dtype=object)[0],
        lambda x, fs=(np.full,): fs[0](2, x[0], dtype=object)[0],
    ],
)
def test_arrays_of_objects_are_refused(f):
    with pytest.raises(UnsupportedError, match="dtype object"):
        grad(f)(np.array([0.5, 0.7]))


class _Holder:
    def __init__(self, v):
        self.v = v


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([_Holder(x), None], dtype=object)[0].v.sum(),
        lambda x: np.asarray([_Holder(x), _Holder(x)])[0].v.sum(),
        lambda x: (np.matrix(x) * 2.0).sum(),
        lambda x: (np.asmatrix(x) * 2.0).sum(),
        lambda x: np.asarray(x.view(np.matrix) * 2.0).sum(),
        lambda x: np.ma.masked_where(x > 1.0, x).sum(),
        lambda x: np.ma.array(x, mask=[0, 1]).mean(),
        lambda x: np.ma.log(x).sum(),
        lambda x, fs=(np.ndarray.view,): fs[0](x, np.recarray).sum(),
    ],
)
def test_what_arrays_would_lose_is_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="a value with a derivative in an array of"):
        grad(f)(np.array([0.5, 1.5]))


def test_masked_constants_are_fine() -> None:
    weights = np.ma.array([0.5, 1.5], mask=[0, 1])
    assert grad(lambda x: x * weights.sum())(2.0) == 0.5


def test_a_slice_with_an_active_bound_is_refused():
    with pytest.raises(UnsupportedError, match="a slice with a bound"):
        grad(lambda x: np.sum(np.mgrid[0 : x[0] : 3j]))(np.array([0.5, 0.7]))


def test_a_refusal_says_why():
    with pytest.raises(MissingRule, match=r"tobytes is not differentiated: its bytes.*<lambda>"):
        grad(lambda x: np.frombuffer(x.tobytes()).sum())(np.array([0.5, 0.7]))


def test_refused_functions_of_constants_are_just_called():
    c = np.array([1.0, 2.0])
    assert grad(lambda x: x * len(c.tobytes()))(1.0) == 16.0


def test_shapes_that_do_not_fit_raise_what_numpy_raises():
    a = np.ones((2, 3))
    for f in (
        lambda x: np.add(x, np.ones(2)),
        lambda x: np.add(x, 1.0, out=np.zeros(2)),
        lambda x: np.sum(x, axis=0, out=np.zeros(2)),
        lambda x: np.linalg.solve(x, np.ones(3)),
        lambda x: np.select([x > 0], [x, x]),
        lambda x: np.put_along_axis(x, np.zeros(3, int), 0.5, 0),
    ):
        with pytest.raises(Exception) as plain:
            f(a.copy())
        with pytest.raises(plain.type):
            grad(lambda x, f=f: np.sum(f(x)))(a)


def test_a_singular_system_raises_from_the_line_of_the_user():
    def f(a):
        return np.sum(np.linalg.solve(a, np.ones(2)))

    with pytest.raises(np.linalg.LinAlgError) as e:
        grad(f)(np.zeros((2, 2)))
    lines = [frame.lineno for frame in traceback.extract_tb(e.tb) if frame.filename == __file__]
    assert f.__code__.co_firstlineno + 1 in lines


def test_a_generator_left_where_it_has_to_clean_up():
    def f(x):
        log = []

        def items():
            try:
                yield x
                yield x * x
            finally:
                log.append(x)

        it = items()
        y = next(it)
        del it
        return y * sum(log)

    with pytest.raises(UnsupportedError, match=f"leaving the generator items.*{HERE}:{line_of(f, 'def items')}; close"):
        grad(f)(1.3)


# -- frames, threads, text --


def _local_variables(x):
    y = x * x
    return locals()["y"]


def _evaluated(x):
    return eval("x * x")


def _frame(x):
    y = x * x
    return sys._getframe().f_locals["y"] + y


def _class_body(x):
    class Model:
        locals()["rate"] = x * 2.0

    return Model.rate


@pytest.mark.parametrize(("f", "word"), [
    (_local_variables, "locals"), (_evaluated, "eval"), (_frame, "_getframe"), (_class_body, "locals"),
])  # fmt: skip
def test_code_that_looks_at_its_frame_is_refused(f, word):
    with pytest.raises(UnsupportedError, match=rf"({word}).* is not supported, in .*{HERE}:\d+"):
        grad(f)(1.3)


def test_code_without_derivatives_may_look_at_its_frame():
    def name():
        return len(sys._getframe().f_code.co_name) + len(locals())

    assert grad(lambda x: x * name())(1.3) == 4.0


def test_the_dict_behind_keys_of_one_of_several_is_refused():
    def f(x, chosen):
        keys = {"a": x}.keys() if chosen else {"a": x * x}.keys()
        return keys.mapping["a"] * 2.0

    with pytest.raises(UnsupportedError, match=rf"the mapping of a view of a dict's keys.*{HERE}:\d+"):
        grad(f)(1.3, True)


def test_a_deep_copy_that_its_memo_has_is_refused():
    def again(x):
        memo, xs = {}, [x]
        a, b = copy.deepcopy(xs, memo), copy.deepcopy(xs, memo)
        b[0] *= 3.0
        return a[0]

    def within(x):
        memo, xs = {}, [x]
        a, b = copy.deepcopy([xs], memo), copy.deepcopy({"xs": xs}, memo)
        b["xs"][0] *= 3.0
        return a[0][0]

    for f in (again, within):
        with pytest.raises(UnsupportedError, match=rf"with a memo of the copies.* of a list.*{HERE}:\d+.*\(\(a, b\)\)"):
            grad(f)(1.3)


class Ranked:
    def __init__(self, xs, scale):
        self.xs, self.scale = list(xs), scale

    def by_size(self, v):
        return v * self.scale

    def by_place(self, v):
        return v * len(self.xs)

    def smallest(self):
        self.xs.sort(key=self.by_size)
        return self.xs[0]

    def first(self):
        self.xs.sort(key=self.by_place)
        return self.xs[0]


def _by_what_is_in_it(x, y):
    xs = [x, y]
    xs.sort(key=lambda v: -v if v in xs else v)
    return xs[0]


def _by_a_helper(x, y):
    def place(v):
        return len(xs) * v

    xs = [x, y]
    xs.sort(key=lambda v: place(v))
    return xs[0]


def _by_a_method(x, y):
    return Ranked([x, y], 2.0).first()


@pytest.mark.parametrize("f", [_by_what_is_in_it, _by_a_helper, _by_a_method])
def test_a_key_that_reads_the_list_which_is_sorted_is_refused(f):
    with pytest.raises(UnsupportedError, match=rf"list.sort with a key that reads the list.*{HERE}:\d+; let it read a"):
        grad(f)(1.3, 0.7)


def test_branches_of_a_branch_that_is_asked_itself_are_refused():
    def f(x):
        branches = itertools.tee([x, 2.0, x * x])
        first, second = itertools.tee(branches[1])
        return next(branches[1]) * sum(first) * sum(second)

    def g(x):
        a, b = itertools.tee([x, 2.0, x * x])
        c, d = itertools.tee(b)
        return next(a) * sum(c) * sum(d)

    with pytest.raises(UnsupportedError, match=rf"itertools.tee of what a tee gave.*{HERE}:\d+; make all of them"):
        grad(f)(1.3)
    assert abs(grad(g)(1.3) - (4.99**2 + 2 * 1.3 * 4.99 * 3.6)) < 1e-9


def test_a_key_may_read_other_things_where_the_list_is():
    def by_a_copy(x, y):
        xs = [x, y]
        seen = list(xs)
        xs.sort(key=lambda v: -v if v in seen else v)
        return xs[0]

    assert grad(by_a_copy, (0, 1))(1.3, 0.7) == (1.0, 0.0)
    assert grad(lambda x, y: Ranked([x, y], 2.0).smallest(), (0, 1))(1.3, 0.7) == (0.0, 1.0)
    assert grad(lambda x, y: sorted([x, y], key=lambda v: v * x)[0], (0, 1))(1.3, 0.7) == (0.0, 1.0)


def test_global_variables_are_not_assigned_through_their_dict():
    def f(x):
        globals()["_never"] = x * 2.0
        return x

    with pytest.raises(UnsupportedError, match=rf"writing a value with a derivative into a dict.*{HERE}:\d+"):
        grad(f)(1.3)
    assert "_never" not in globals()


def test_threads_are_refused():
    def f(x):
        out = []
        thread = threading.Thread(target=lambda: out.append(x * x))
        thread.start()
        thread.join()
        return out[0]

    def pool(x):
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            return sum(executor.map(lambda v: v * x, [1.0, 2.0]))

    for g in (f, pool):
        with pytest.raises(MissingRule, match=rf"another thread.* is not seen.*{HERE}:\d+"):
            grad(g)(1.3)


@pytest.mark.parametrize("f", [
    lambda x: pickle.loads(pickle.dumps(x)), lambda x: struct.unpack("d", struct.pack("d", x))[0],
    lambda x: float.fromhex(x.hex()), lambda x: weakref.ref(Holder(x))().held, lambda x: memoryview(np.array([x]))[0],
])  # fmt: skip
def test_values_in_bytes_are_refused(f):
    with pytest.raises(MissingRule, match=rf"is not differentiated: .*{HERE}:\d+"):
        grad(f)(1.3)


class Holder:
    def __init__(self, held):
        self.held = held


@pytest.mark.parametrize("make", [
    lambda x: np.array([x, None], dtype=object), lambda x: np.array([x[0], None]),
    lambda x: np.array(list(x), dtype="O"),
])  # fmt: skip
def test_values_in_arrays_of_objects_are_refused(make):
    def f(x):
        return np.sum(make(x)[0])

    with pytest.raises(UnsupportedError, match=rf"array of dtype object.*{HERE}:\d+"):
        grad(f)(np.array([0.5, 0.7]))


def test_values_put_into_arrays_of_none_are_refused():
    def f(x):
        z = np.array([None, None])
        z[0] = x
        return z[0] * 2.0

    with pytest.raises(UnsupportedError, match=rf"array of dtype object.*{HERE}:\d+"):
        grad(f)(1.3)


class Counting:
    """Its special methods add up what they are asked."""

    def __init__(self, x):
        self.x, self.log = x, []

    def __repr__(self):
        self.log.append(self.x)
        return "Counting"

    def __index__(self):
        self.log.append(self.x)
        return 1

    def __float__(self):
        self.log.append(self.x)
        return self.x


@pytest.mark.parametrize("ask, what", [
    (lambda c, x: repr([c]), "repr: a method that it calls changes a list"),
    (lambda c, x: "%s" % c, "a method that it calls changes a list"),  # noqa: UP031
    (lambda c, x: list(range(c)), "range: a method that it calls changes a list"),
    (lambda c, x: [1.0, x][c:], "slice of an object whose __index__ may change something"),
    (lambda c, x: np.ones(c), "ones of an object whose __index__ may change something"),
    (lambda c, x: np.ones(2).reshape(c, 2), "reshape: a method that it calls changes a list"),
    (lambda c, x: np.array([c, c], dtype=float), "are asked for numbers|say they are"),
])  # fmt: skip
def test_objects_that_change_while_c_code_asks_them_are_refused(ask, what):
    def f(x):
        c = Counting(x)
        ask(c, x)
        return sum(c.log) * x

    with pytest.raises(UnsupportedError, match=rf"({what}).*{HERE}:\d+"):
        grad(f)(1.3)


def test_what_is_set_while_a_class_is_made_is_refused():
    def by_a_hook(x):
        class Base:
            def __init_subclass__(cls, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.rate = x * 2

        class Derived(Base):
            pass

        return Derived.rate * x

    def by_a_descriptor(x):
        class Field:
            def __set_name__(self, owner, name):
                self.scale = x

            def __get__(self, obj, cls=None):
                return self.scale * 2

        class Derived:
            field = Field()

        return Derived().field

    with pytest.raises(UnsupportedError, match=rf"attribute 'rate' of class Derived that is set while.*{HERE}:\d+"):
        grad(by_a_hook)(1.3)
    with pytest.raises(UnsupportedError, match=rf"changes the attribute 'scale' of a Field.*{HERE}:\d+"):
        grad(by_a_descriptor)(1.3)


def test_parts_of_groups_that_get_values_of_their_own_are_refused():
    class Group(ExceptionGroup):
        def derive(self, excs):
            part = Group(self.message, excs)
            part.weight = self.weight * 2
            return part

    def f(x):
        group = Group("both", [ValueError(x), KeyError(x)])
        group.weight = x
        try:
            raise group
        except* ValueError as part:
            y = part.weight
        except* KeyError:
            pass
        return y

    with pytest.raises(UnsupportedError, match=rf"derive\(\) of Group that sets attributes.*weight.*{HERE}:\d+"):
        grad(f)(1.3)


def test_setting_the_default_values_of_a_function_is_refused():
    def f(x):
        def g(a=2.0 * x):
            return a

        g.__defaults__ = (x * 5.0,)
        return g()

    with pytest.raises(UnsupportedError, match=rf"setting __defaults__.*{HERE}:{line_of(f, 'g.__def')}"):
        grad(f)(1.3)


class Plain:
    def value(self):
        return 2.0


class Other(Plain):
    def value(self):
        return 3.0


def _other_class(x):
    o = Plain()
    o.__class__ = Other
    return o.value() * x


def _other_class_by_name(x, name="__class__"):
    o = Plain()
    o.held = x
    setattr(o, name, Other)
    return o.value() * x


@pytest.mark.parametrize("f", [_other_class, _other_class_by_name])
def test_changing_the_class_of_an_object_is_refused(f):
    with pytest.raises(UnsupportedError, match=rf"changing the class of an object.*{HERE}:\d+"):
        grad(f)(1.3)


ERRORS = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, MooncakeError)]


@pytest.mark.parametrize("cls", ERRORS)
def test_errors_travel_between_processes(cls: type[MooncakeError]) -> None:
    given: dict[type, tuple] = {UnsupportedError: ("eval", "f.py", 3), DebugError: ("value", "it is wrong")}
    args = next((v for k, v in given.items() if issubclass(cls, k)), ("what",))
    e = cls(*args, rule="f", filename="f.py", line=3) if cls is DebugError else cls(*args)
    e.line = 3
    other = pickle.loads(pickle.dumps(e))
    assert type(other) is cls and str(other) == str(e) and vars(other) == vars(e)


def cubed(y):
    return y**3


NESTED = [
    lambda x: grad(cubed)(x),
    lambda x: grad(lambda y: y * x)(2.0),
    lambda x: value_and_grad(cubed)(x)[1],
    lambda x: value_and_pullback(cubed, x)[1](1.0)[0],
    lambda x: jacobian(cubed)(x),
    lambda x: elementwise_grad(cubed)(x),
    lambda x: prepare(cubed, 2.0).value_and_grad(x)[1],
]


@pytest.mark.parametrize("f", NESTED)
def test_a_gradient_of_a_gradient_is_refused_where_it_is_asked_for(f: Callable[..., Any]) -> None:
    with pytest.raises(MissingRule, match="gradients are not differentiated again") as e:
        grad(f)(2.0)
    assert e.value.filename == __file__ and e.value.line == f.__code__.co_firstlineno


def test_a_gradient_at_a_constant_is_a_constant() -> None:
    assert grad(lambda x: x * grad(cubed)(2.0))(3.0) == 12.0
    assert grad(lambda x: x * jacobian(cubed)(2.0) + x * value_and_grad(cubed)(1.0)[1])(3.0) == 15.0


class Marked(np.ndarray):
    """An array of a class of its own, which is made as such."""


def into_items(x):
    a = Marked((3,))
    a[:] = x
    return float(np.sum(a))


def into_one(x):
    a = Marked((3,))
    a[...] = 1.0
    a[1] = x[0]
    return float(np.sum(a))


def into_record(x):
    a = np.recarray((3,), dtype=[("v", float)])
    a["v"] = x
    return a["v"].sum()


def in_place(x):
    a = Marked((3,))
    a += x
    return float(np.sum(a))


@pytest.mark.parametrize(
    "f", [into_items, into_one, into_record, in_place, lambda x: np.rec.fromarrays([x], names="v")["v"].sum()]
)
def test_what_is_written_to_an_array_of_a_derived_class_is_refused(f: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"in an array of class (Marked|recarray)"):
        grad(f)(np.ones(3))


def copied(x, a):
    np.copyto(a, x)


def added(x, a):
    np.add.at(a, [0, 1], x[:2])


def by_place(x, a):
    a.flat[1] = x[0]


@pytest.mark.parametrize("write", [copied, added, by_place])
@pytest.mark.parametrize("make", [lambda: Marked((3,)), lambda: np.frombuffer(bytearray(24))])
def test_what_is_written_to_an_array_that_has_no_derivative_is_refused(write: Any, make: Any) -> None:
    def f(x):
        a = make()
        write(x, a)
        return float(np.sum(np.asarray(a)))

    with pytest.raises((MissingRule, UnsupportedError), match=r"from outside the function|array of class Marked"):
        grad(f)(np.ones(3))


def test_a_ufunc_of_python_objects() -> None:
    square = np.frompyfunc(lambda v: v * v, 1, 1)
    with pytest.raises(MissingRule, match=r"is not differentiated: what np.frompyfunc makes .* use np.vectorize"):
        grad(lambda x: np.sum(square(x).astype(float)))(np.ones(2))


def test_padding_by_a_function_without_keywords() -> None:
    def fill(line, width, axis, keywords):
        line[: width[0]] = line[width[0]] * 2

    with pytest.raises(NotDifferentiated, match=r"given no keyword is not differentiated: pass it one"):
        grad(lambda x: np.sum(np.pad(x, 1, fill)))(np.ones(2))  # type: ignore[call-overload]
    assert grad(lambda x: np.sum(np.pad(x, (1, 0), fill, unused=0)))(np.ones(2)).tolist() == [3.0, 1.0]  # type: ignore[call-overload]
