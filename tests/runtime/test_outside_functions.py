"""Functions that are given to rules and C code read and write outside, in a run that writes there."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, quad, solve_ivp
from scipy.optimize import brentq, least_squares, minimize, minimize_scalar

from mooncake_py import value_and_grad, value_and_pullback
from mooncake_py.errors import UnsupportedError
from tests.runtime.outside import check_state

TABLE: dict[str, Any] = {}
ITEMS: list[Any] = []
ARRAY = np.zeros(2)
LOG: list[Any] = []
SHARED = 0.0


class Model:
    shared = 0.0

    def __init__(self) -> None:
        self.k = 0.0

    def slope(self, t, z):
        return -self.k * z

    def slope_by_the_class(self, t, z):
        return -self.shared * z


MODEL = Model()


class Asked:
    """C code asks it for a number, or Python for one less than nothing."""

    def __float__(self):
        return ITEMS[0] * 2.0

    def __neg__(self):
        return ITEMS[0] * 2.0


class AskedToo(Asked):
    pass


def reset() -> None:
    TABLE.clear()
    TABLE.update(k=0.0, other=1.5, weights=np.array([1.0, 2.0]))
    ITEMS[:] = [0.0]
    ARRAY[:] = 0.0
    LOG.clear()
    MODEL.k = 0.0


def state() -> Any:
    return dict(TABLE), list(ITEMS), ARRAY.tolist(), list(LOG), MODEL.k


def of_a_dict(x):
    TABLE["k"] = x * x
    return quad(lambda t: TABLE["k"] * t, 0, 1)[0]


def of_a_dict_twice(x):
    TABLE["k"] = x * x
    first = quad(lambda t: TABLE["k"] * t, 0, 1)[0]
    TABLE["k"] = 3 * x
    return first * quad(lambda t: TABLE["k"] * t, 0, 1)[0] + TABLE["k"]


def of_a_dict_in_a_dict(x):
    TABLE["inner"] = {"k": x * x}
    return quad(lambda t: TABLE["inner"]["k"] * t, 0, 1)[0]


def of_an_array_in_a_dict(x):
    TABLE["k"] = x * x
    TABLE["weights"][1] = x
    return quad(lambda t: (TABLE["k"] + TABLE["weights"][1]) * t, 0, 1)[0]


def as_a_default(x):
    TABLE["k"] = x * x

    def f(t, table=TABLE):
        return table["k"] * t

    return quad(f, 0, 1)[0]


def beside_arguments(x):
    TABLE["k"] = x * x
    return quad(lambda t, c: TABLE["k"] * t * c, 0, 1, args=(x,))[0]


def decay(t, z):
    return -rate() * z


def rate():
    return TABLE["k"]


def by_another_function(x):
    TABLE["k"] = x * x
    return solve_ivp(decay, (0, 1.0), [x], rtol=1e-8, atol=1e-10).y[0, -1]


def of_a_list(x):
    ITEMS[0] = x * x
    return solve_ivp(lambda t, z: -ITEMS[0] * z, (0, 1.0), [x], method="LSODA", rtol=1e-8, atol=1e-10).y[0, -1]


def of_an_array(x):
    ARRAY[0] = x * x
    return solve_ivp(lambda t, z: -ARRAY[0] * z, (0, 1.0), [x], rtol=1e-8, atol=1e-10).y[0, -1]


def of_an_object(x):
    MODEL.k = x * x
    return solve_ivp(lambda t, z: -MODEL.k * z, (0, 1.0), [x], rtol=1e-8, atol=1e-10).y[0, -1]


def as_a_method(x):
    MODEL.k = x * x
    return solve_ivp(MODEL.slope, (0, 1.0), [x], rtol=1e-8, atol=1e-10).y[0, -1]


def as_a_partial(x):
    TABLE["k"] = x * x
    f = functools.partial(lambda c, t, z: -TABLE["k"] * c * z, 2.0)
    return solve_ivp(f, (0, 1.0), [x], rtol=1e-8, atol=1e-10).y[0, -1]


def of_an_equation(x):
    TABLE["k"] = x * x
    return odeint(lambda z, t: -TABLE["k"] * z, [x], [0, 0.5, 1.0], rtol=1e-9, atol=1e-10)[-1, 0]


def of_roots_and_minima(x):
    TABLE["k"] = x * x
    root = brentq(lambda t: t**3 + t - TABLE["k"], -2, 2)
    least = minimize_scalar(lambda t: (t - TABLE["k"]) ** 2 + 0.1 * t**4).x
    fitted = least_squares(lambda t: t**3 + t - TABLE["k"], [0.5], xtol=1e-12, ftol=1e-12, gtol=1e-12).x[0]
    return root * least + fitted


def through_numpy(x):
    TABLE["k"] = x * x
    whole = np.fromfunction(lambda i: TABLE["k"] * i, (3,)).sum()
    whole += np.vectorize(lambda t: TABLE["k"] * t)(np.arange(3.0)).sum()
    return whole + np.apply_along_axis(lambda row: row.sum() * TABLE["k"], 0, np.ones((2, 2))).sum()


def that_logs(x):
    LOG.append(x)

    def f(t):
        LOG.append(t)
        return x * t * t

    return quad(f, 0, 1)[0] * x


def that_reads_constants(x):
    LOG.append(x)
    return TABLE["other"] + quad(lambda t: (1 + TABLE["other"]) * t * x, 0, 1)[0]


def called_back(x):
    found = minimize(lambda t: (t[0] - x) ** 2, [0.1], callback=lambda v: LOG.append(len(v)), tol=1e-12)
    return found.x[0] * x + len(LOG)


def asked_for_a_number(x):
    ITEMS[0] = x * x
    return math.sqrt(Asked())


def of_several_classes(x):
    ITEMS[0] = x * x
    return sum(-o for o in [Asked(), AskedToo()])


@pytest.mark.parametrize("f", [
    of_a_dict, of_a_dict_twice, of_a_dict_in_a_dict, of_an_array_in_a_dict, as_a_default, beside_arguments,
    by_another_function, of_a_list, of_an_array, of_an_object, as_a_method, as_a_partial, of_an_equation,
    of_roots_and_minima, through_numpy, that_logs, that_reads_constants, called_back, asked_for_a_number,
    of_several_classes,
], ids=lambda f: f.__name__)  # fmt: skip
def test_what_a_function_reads_outside_has_its_derivative(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, state)


def of_a_global(x):
    global SHARED
    SHARED = x * x
    return quad(lambda t: SHARED * t, 0, 1)[0]


def of_a_class(x):
    Model.shared = x * x
    return solve_ivp(MODEL.slope_by_the_class, (0, 1.0), [x]).y[0, -1]


def of_a_function(x):
    decay.k = x * x  # type: ignore[attr-defined]
    return quad(lambda t: decay.k * t, 0, 1)[0]  # type: ignore[attr-defined]


def of_what_it_writes(x):
    TABLE["k"] = 0.0

    def f(t):
        TABLE["k"] = x * t
        return t

    quad(f, 0, 1)
    return TABLE["k"]


@pytest.mark.parametrize("f, why", [
    (of_a_global, "the global variable 'SHARED'"),
    (of_a_class, "an attribute of Model"),
    (of_a_function, "an attribute of decay"),
    (of_what_it_writes, "that a function given to a solver or an integral has stored"),
])  # fmt: skip
def test_what_it_reads_otherwise_is_refused(f: Callable[[Any], Any], why: str) -> None:
    reset()
    with pytest.raises(UnsupportedError, match=why):
        value_and_grad(f)(0.7)
    Model.shared, decay.__dict__["k"] = 0.0, 0.0


COUNT = 0


class Counted:
    n = 0


def count() -> None:
    global COUNT
    COUNT += 1
    Counted.n += 1
    count.calls = getattr(count, "calls", 0) + 1  # type: ignore[attr-defined]
    LOG.append(1)
    TABLE["n"] = TABLE.get("n", 0) + 1
    ARRAY[0] += 1.0


def counted_in_an_integral(x):
    def g(t):
        count()
        return math.exp(-x * t)

    return quad(g, 0, 1)[0]


def counted_at_a_root(x):
    def g(t):
        count()
        return t**3 - x

    return brentq(g, 0.0, 10.0)


def counted_in_a_minimum(x):
    return minimize(lambda t: ((t - x) ** 2).sum(), np.zeros(2), callback=lambda t: count()).x.sum()


def counted_in_an_equation(x):
    def g(t, y):
        count()
        return -x * y

    return solve_ivp(g, (0.0, 1.0), [1.0]).y[0, -1]


@pytest.mark.parametrize(
    "f",
    [counted_in_an_integral, counted_at_a_root, counted_in_a_minimum, counted_in_an_equation],
    ids=lambda f: f.__name__,
)
def test_what_given_functions_count_is_as_after_a_plain_call(f: Callable[..., Any]) -> None:
    def begin() -> None:
        global COUNT
        reset()
        COUNT, Counted.n, count.calls = 0, 0, 0  # type: ignore[attr-defined]

    def counted() -> tuple[Any, ...]:
        return COUNT, Counted.n, count.calls, len(LOG), TABLE["n"], ARRAY[0]  # type: ignore[attr-defined]

    begin()
    f(1.3)
    expected = counted()
    begin()
    _, pullback = value_and_pullback(f, 1.3)
    assert counted() == expected
    pullback(1.0)
    assert counted() == expected
