"""What functions that rules are given change in what they captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from mooncake_py.errors import UnsupportedError

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")
linear = pytest.importorskip("scipy.sparse.linalg")


class Recorder:
    def __init__(self, a):
        self.a, self.calls, self.last = a, 0, None

    def cubic(self, t):
        self.calls += 1
        self.last = self.a * t
        return t**3 - self.a


def logged_root(a):
    seen, count = [], 0

    def g(t):
        nonlocal count
        count += 1
        seen.append(a * t)
        return t**3 - a

    root = optimize.brentq(g, 0.0, 5.0)
    return root if len(seen) == count > 1 else 0.0


def logged_integral(a):
    seen = {}

    def g(t):
        seen[t] = a * t * t
        return seen[t]

    return integrate.quad(g, 0.0, 1.0)[0] * len(seen) / len(seen)


def logged_minimum(a):
    losses, best, buffer = [], [None], np.zeros(2)

    def loss(x):
        buffer[:] = x - a
        best[0] = np.sum(buffer**2)
        losses.append(best[0])
        return best[0]

    return np.sum(optimize.minimize(loss, np.zeros(2)).x)


def counted_root(a):
    recorder = Recorder(a)
    return optimize.brentq(recorder.cubic, 0.0, 5.0) * recorder.calls


def minimum_with_a_callback(a):
    path = []

    def note(x):
        path.append(x * 1.0)

    y = np.sum(optimize.minimize(fun=lambda x: np.sum((x - a) ** 2), x0=np.zeros(2), callback=note).x)
    return y if path else 0.0


def root_with_a_callback(a):
    path = []

    def note(x, f):
        path.append(x * 1.0)

    def residuals(x):
        return x**3 - a * np.ones(2)

    y = np.sum(optimize.root(residuals, np.ones(2), method="broyden1", tol=1e-10, callback=note).x)
    return y if path else 0.0


def logged_in_arguments(a):
    log = []

    def g(t, p, seen):
        seen.append(p * t)
        return t**3 - p

    def rate(t, y, p, seen):
        seen.append(y[0])
        return -p * y

    root = optimize.brentq(g, 0.0, 5.0, args=(a, log))
    area = integrate.quad(g, 0.0, 1.0, args=(a, log))[0]
    least = optimize.minimize(lambda x, seen: (seen.append(x), np.sum((x - a) ** 2))[1], [0.0], args=(log,)).x[0]
    state = integrate.solve_ivp(rate, (0.0, 1.0), [a], args=(a, log), rtol=1e-6).y[0, -1]
    return root + area + least + state if len(log) > 40 else 0.0


MATRIX, RIGHT = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])


def counted_products(a):
    count, seen = [0], []

    def product(x):
        count[0] += 1
        return MATRIX @ x * a

    operator = linear.LinearOperator((2, 2), matvec=product)
    return np.sum(linear.cg(operator, RIGHT, callback=seen.append)[0]) if len(seen) < 99 else count[0]


class Hooked:
    def __init__(self, a):
        self.a, self.calls, self.hooks = a, 0, [self.count]

    def count(self):
        self.calls += 1

    def cubic(self, t):
        for hook in self.hooks:
            hook()
        return t**3 - self.a


def counted_by_hooks(a):
    hooked = Hooked(a)
    return optimize.brentq(hooked.cubic, 0.0, 5.0) * hooked.a if hooked.calls > 4 else 0.0


def logged_by_methods(a):
    log, table = [], {}
    note, put = log.append, table.__setitem__

    def g(t):
        note(a * t)
        put("last", a * t)
        return t**3 - a

    y = optimize.brentq(g, 0.0, 5.0) + integrate.quad(g, 0.0, 1.0)[0]
    return y * len(table) if len(log) > 20 else 0.0


def logged_arrays(a):
    log = []

    def g(x):
        log.append(x)
        return x**3 - a

    x = [optimize.fsolve(g, [1.0]), optimize.root(g, [1.0]).x, optimize.leastsq(g, [1.0])[0]]
    return np.sum(x) + optimize.curve_fit(lambda t, p: (log.append(p), p * t * a)[1], [1.0, 2.0], [1.0, 2.0])[0][0]


@pytest.mark.parametrize(
    "f",
    [
        *(logged_root, logged_integral, logged_minimum, counted_root, minimum_with_a_callback, root_with_a_callback),
        *(logged_in_arguments, logged_by_methods, logged_arrays, counted_by_hooks, counted_products),
    ],
)
def test_logs_and_counters(f: Callable[[Any], Any]) -> None:
    value, gradient = value_and_grad(f)(2.0)
    again, same = value_and_grad(f)(2.0)
    assert value == f(2.0) == again
    assert gradient == same == pytest.approx((f(2.0 + 1e-4) - f(2.0 - 1e-4)) / 2e-4, rel=1e-2)
    assert value_and_grad(f, debug_mode=True)(2.0) == (value, gradient)


def last_of_a_list(a):
    seen = []
    root = optimize.brentq(lambda t: (seen.append(a * t), t**3 - a)[1], 0.0, 5.0)
    return root + seen[-1]


def last_in_a_variable(a):
    last = 0.0

    def g(t):
        nonlocal last
        last = a * t
        return t**3 - a

    return optimize.brentq(g, 0.0, 5.0) + last


def last_of_an_object(a):
    recorder = Recorder(a)
    return optimize.brentq(recorder.cubic, 0.0, 5.0) + recorder.last


def last_in_an_array(a):
    last = np.zeros(2)

    def g(t):
        last[0] = a * t
        return t**3 - a

    return optimize.brentq(g, 0.0, 5.0) + last[0]


def alone_in_a_variable(a):
    last = 0.0

    def g(t):
        nonlocal last
        last = a * t
        return t**3 - a

    optimize.brentq(g, 0.0, 5.0)
    return last * 2.0


def alone_in_a_list(a):
    last = [0.0]

    def g(t):
        last[0] = a * t
        return t**3 - a

    optimize.brentq(g, 0.0, 5.0)
    return last[0] * 2.0


def alone_of_an_object(a):
    recorder = Recorder(a)
    optimize.brentq(recorder.cubic, 0.0, 5.0)
    return recorder.last * 2.0


def alone_by_out(a):
    last = np.zeros(2)

    def g(t):
        np.multiply(a, t, out=last)
        return t**3 - a

    optimize.brentq(g, 0.0, 5.0)
    return last[0] * 2.0


def alone_in_place(a):
    last = [np.zeros(2)]

    def g(t):
        x = last[0]
        x += a * t
        return t**3 - a

    optimize.brentq(g, 0.0, 5.0)
    return last[0][0] * 2.0


class Keeper:
    def __init__(self):
        self.last = 0.0

    def keep(self, v):
        self.last = v


def keep_in(last, v):
    last[0] = v


def alone_by_a_function(a):
    last = [0.0]

    def note(v):
        last[0] = v

    optimize.brentq(lambda t: (note(a * t), t**3 - a)[1], 0.0, 5.0)
    return last[0] * 2.0


def alone_by_a_global_function(a):
    last = [0.0]
    optimize.brentq(lambda t: (keep_in(last, a * t), t**3 - a)[1], 0.0, 5.0)
    return last[0] * 2.0


def alone_by_a_method(a):
    keeper = Keeper()
    optimize.brentq(lambda t: (keeper.keep(a * t), t**3 - a)[1], 0.0, 5.0)
    return keeper.last * 2.0


def alone_by_a_bound_method(a):
    keeper = Keeper()
    keep = keeper.keep
    optimize.brentq(lambda t: (keep(a * t), t**3 - a)[1], 0.0, 5.0)
    return keeper.last * 2.0


def alone_in_an_argument(a):
    last = np.zeros(2)

    def g(t, p, kept):
        kept[0] = p * t
        return t**3 - p

    optimize.brentq(g, 0.0, 5.0, args=(a, last))
    return last[0] * 2.0


def alone_of_an_operator(a):
    last = [0.0]

    def product(x):
        last[0] = a * x[0]
        return MATRIX @ x * a

    linear.cg(linear.LinearOperator((2, 2), matvec=product), RIGHT)
    return last[0] * 2.0


def alone_of_an_iteration(a):
    seen = []
    linear.gmres(MATRIX * a, RIGHT, callback=lambda x: seen.append(np.sum(x)), callback_type="x")
    return seen[-1] * 2.0


def alone_of_an_integral(a):
    last = [0.0]

    def g(t):
        last[0] = a
        return np.exp(-a * t)

    integrate.tanhsinh(g, 0.0, 1.0)
    return last[0] * 2.0


ALONE = (
    *(alone_by_a_function, alone_by_a_global_function, alone_by_a_method, alone_by_a_bound_method),
    *(alone_in_an_argument, alone_in_a_variable, alone_in_a_list, alone_of_an_object, alone_by_out, alone_in_place),
    *(alone_of_an_operator, alone_of_an_iteration),
    *([alone_of_an_integral] if hasattr(integrate, "tanhsinh") else []),
)


@pytest.mark.parametrize("f", [last_of_a_list, last_in_a_variable, last_of_an_object, last_in_an_array, *ALONE])
def test_reading_back_is_refused(f: Callable[[Any], Any]) -> None:
    for _ in range(2):  # the rule is as good as new
        with pytest.raises(UnsupportedError, match=r"has stored|changes a list"):
            value_and_grad(f)(2.0)
