"""Debug mode: every planted fault is caught, named by rule and line; what is right stays as it is."""

from __future__ import annotations

import copy
import inspect
import math
import operator
import os
import subprocess
import sys

import numpy as np
import pytest

import mooncake_py
from mooncake_py import DebugError, build_rrule, debug, grad, value_and_grad, value_and_pullback
from tests.derive import rule_of
from tests.diagnostics.faults import FAULTS, Fault, run
from tests.functions import SAMPLE, by_name
from tests.harness import Case, close, random_like, same


def marked_line(fault: Fault) -> int:
    """The line of the call at fault."""
    source, first = inspect.getsourcelines(fault.plant)
    found = [first + i for i, line in enumerate(source) if "# HERE" in line]
    if not found:  # in the function that the plant calls
        import tests.diagnostics.faults as module

        helper = getattr(module, fault.target.split(".")[0])
        source, first = inspect.getsourcelines(helper)
        found = [first + i for i, line in enumerate(source) if "# HERE" in line]
    return found[0]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_fault_is_caught(fault: Fault) -> None:
    with pytest.raises(DebugError) as caught:
        run(fault)
    e = caught.value
    line = marked_line(fault)
    target = fault.target if "." in fault.target else f"{fault.name}.<locals>.{fault.target}"
    assert (e.check, e.run, e.line) == (fault.check, fault.run, line)
    assert e.rule == target or e.rule.endswith("." + target)
    text = str(e)
    assert target in text and f"faults.py:{line}" in text and f"run       {fault.run}" in text
    assert "\n  fix " in text and "\n  values " in text and "\n  statement " in text


def test_enough_faults() -> None:
    assert len(FAULTS) >= 40 and len({f.name for f in FAULTS}) == len(FAULTS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_results_are_those_of_a_plain_run(case: Case) -> None:
    dy = random_like(case.fn(*case.fresh_args()), case.rng())
    y, pullback = value_and_pullback(case.fn, *case.fresh_args())
    y, ds = copy.deepcopy(y), pullback(dy)  # undoing writes to a result that is an argument
    with debug(check_finite=True):
        y2, pullback2 = value_and_pullback(case.fn, *case.fresh_args())
    assert same(y, y2) and close(ds, pullback2(dy))
    assert pullback.reusable == pullback2.reusable


def test_an_array_of_none_is_one_without_derivatives() -> None:
    case = by_name("filled_later.arrays_of_none_in_the_place_of_what_comes")
    with debug():
        y, pullback = value_and_pullback(case.fn, *case.fresh_args())
    assert y == case.fn(*case.fresh_args())
    plain = value_and_pullback(case.fn, *case.fresh_args())[1]
    assert close(pullback(1.0), plain(1.0))


def test_the_right_rule_is_found_right() -> None:
    def loss(a, k):
        b = np.tanh(a * k)
        b[0] = k
        xs = [np.sum(b), k]
        xs.append(b[1])
        return math.sin(xs[0]) * xs[1] + xs[2] ** 2

    args = np.array([0.3, 0.6, 0.9]), 1.5
    with debug(check_finite=True, check_numbers=True):
        g = grad(loss, (0, 1))(*args)
    assert same(g, grad(loss, (0, 1))(*args))


# -- ways to turn it on --


def bad(x):
    return x * 2.0


@mooncake_py.rrule(bad)
def bad_rule(x):
    return x * 2.0, lambda dy: np.array(2.0 * dy)


def loss(x):
    return bad(x) + 1.0


def test_every_entry_point() -> None:
    assert grad(loss)(1.0) == 2.0  # an array of no dimensions is as good as a number
    with pytest.raises(DebugError):
        grad(loss, debug_mode=True)(1.0)
    with pytest.raises(DebugError):
        value_and_grad(loss, debug_mode=True)(1.0)
    _, pullback = value_and_pullback(loss, 1.0, debug_mode=True)
    with pytest.raises(DebugError):
        pullback(1.0)
    _, pullback = build_rrule(loss, 1.0, debug_mode=True)(1.0)
    with pytest.raises(DebugError):
        pullback(1.0)
    with debug():
        g = grad(loss)
        with pytest.raises(DebugError):
            g(1.0)
        assert grad(loss, debug_mode=False)(1.0) == 2.0
        _, pullback = value_and_pullback(loss, 1.0)
    assert g(1.0) == 2.0
    with pytest.raises(DebugError):
        pullback(1.0)


SEEN: list[float] = []


def test_what_a_run_changes_and_puts_back_is_no_fault() -> None:
    def logged(x: float) -> float:
        for i in range(2):
            x = x * 1.5 + i
            SEEN.append(x)
        return x * SEEN[0]

    def deleted(x: float) -> float:
        d = {k + k: x * i for i, k in enumerate("abc")}
        del d["bb"]  # equal to the key, and another object
        return d["cc"] * x

    SEEN.clear()
    assert grad(logged, debug_mode=True)(2.0) == 15.0
    assert grad(deleted, debug_mode=True)(2.0) == 8.0


def test_a_warm_gradient_is_not_used_in_debug_mode() -> None:
    g = grad(loss)
    assert g(1.0) == g(2.0) == 2.0
    with debug(), pytest.raises(DebugError):
        g(3.0)
    assert g(4.0) == 2.0


def test_blocks_nest() -> None:
    with debug():
        with debug(check_finite=True), pytest.raises(DebugError, match="infinity"):
            grad(lambda x: x / (x - x + 1e-320) * 1.0)(1e10)
        grad(lambda x: x / (x - x + 1e-320) * 1.0)(1e10)


@pytest.mark.parametrize("value, on", [("1", True), ("finite", True), ("0", False), ("", False)])
def test_environment_variable(value: str, on: bool) -> None:
    code = (
        "import mooncake_py, numpy\n"
        "def f(x): return x * 2.0\n"
        "@mooncake_py.rrule(f)\n"
        "def rule(x): return x * 2.0, lambda dy: numpy.array(2.0 * dy)\n"
        "print(mooncake_py.grad(lambda x: f(x))(1.0))\n"
    )
    env = {**os.environ, "MOONCAKE_DEBUG": value, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert ("DebugError" in out.stderr) is on and (out.stdout == "2.0\n") is not on


# -- faults of the engine, planted in derived rules --


def loop(x):
    for _ in range(3):
        x = math.sin(x) * x
    return x


def debugged(fn, *args):
    with debug():
        return rule_of(fn, *args)


@pytest.mark.parametrize("damage, says", [
    (lambda stack: stack.append(1.0), "is not empty at the end"),
    (lambda stack: stack.pop(), "is empty too early"),
])  # fmt: skip
def test_stacks_that_do_not_come_out_even(damage, says) -> None:
    rule = debugged(loop, 0.5)
    _, _, (captures, *rest) = rule.forward(0.5)
    damage(next(c for c in captures if isinstance(c, list)))
    with pytest.raises(DebugError, match=f"a stack of stored values {says} in the pullback of loop") as caught:
        rule.pullback((captures, *rest), 1.0)
    assert caught.value.check == "comms" and caught.value.line == loop.__code__.co_firstlineno + 1


def array_loss(a):
    b = a * 2.0
    b[0] = 1.0
    return np.sum(b)


def test_a_derived_rule_that_is_given_what_it_was_not_built_for() -> None:
    rule = debugged(loop, 0.5)
    with pytest.raises(DebugError, match="x of loop is int 1, but the rule was built for float") as caught:
        rule.forward(1)
    assert caught.value.check == "signature" and caught.value.line == loop.__code__.co_firstlineno
    _, _, captures = rule.forward(0.5)
    with pytest.raises(DebugError, match="does not belong to its result") as caught:
        rule.pullback(captures, np.ones(2))
    assert caught.value.check == "cotangent" and caught.value.run == "reverse"


def test_a_stale_guard(monkeypatch) -> None:
    scope = {"math": math, "inner": math.sin}
    exec("def f(x):\n    return inner(x) * 2.0\n", scope)
    rule = debugged(scope["f"], 0.5)
    rule.forward(0.5)
    scope["inner"] = math.cos
    with pytest.raises(DebugError, match=r"f was derived while inner was .*, now it is") as caught:
        rule.forward(0.5)
    assert caught.value.check == "guard" and caught.value.rule == "f" and caught.value.line == 1


def test_arguments_that_go_in_with_the_wrong_tangents() -> None:
    def f(a, b):
        a[0] = b[1] = a[2] * b[0]
        return np.sum(a) + np.sum(b)

    a = np.arange(3.0)
    rule = debugged(f, a, a.copy())
    lanes = [mooncake_py.shadows.shadow_of(a) for _ in rule.lanes]
    with pytest.raises(DebugError, match="are one object, but have two fdata"):
        rule.forward(a, a, *lanes)
    with pytest.raises(DebugError, match=r"the fdata of array \(3,\) float64 is a Shadow \(2,\)"):
        rule.forward(a, a.copy(), mooncake_py.shadows.shadow_of(a[:2]), *lanes[1:])


def test_argument_that_is_not_finite() -> None:
    with debug(check_finite=True), pytest.raises(DebugError, match=r"argument 1 of .*loop is not finite") as caught:
        grad(loop)(float("nan"))
    assert caught.value.line == loop.__code__.co_firstlineno


def test_an_infinite_constant_is_no_fault() -> None:
    def smallest(a):
        best = np.inf
        for x in a:
            best = min(best, x)
        return np.minimum(best, np.inf) * 2.0

    with debug(check_finite=True):
        assert grad(smallest)(np.array([3.0, 1.0, 2.0])).tolist() == [0.0, 2.0, 0.0]


def test_a_cotangent_in_single_precision() -> None:
    def sine(x):
        return np.sin(x)

    def f(x):
        return np.sum(sine(x))

    with mooncake_py.scoped_rules():

        @mooncake_py.rrule(sine)
        def sine_rule(x):
            def pullback(dy):
                return (dy * np.cos(x)).astype(np.float32)

            return np.sin(x), pullback

        with pytest.raises(DebugError, match="has dtype float64, its cotangent has dtype float32") as e:
            grad(f, debug_mode=True)(np.ones(3))
    assert e.value.line == f.__code__.co_firstlineno + 1 and "sine_rule" in str(e.value)


def test_containers_that_hold_themselves() -> None:
    def f(xs, d, x):
        ys = [x]
        ys.append(ys)
        return xs[1][1][0] * d["d"]["v"] * ys[1][0]

    def args():
        xs: list = [2.0]
        xs.append(xs)
        d: dict = {"v": 3.0}
        d["d"] = d
        return xs, d, 5.0

    with debug(check_finite=True, check_numbers=True):
        dxs, dd, dx = value_and_pullback(f, *args())[1](1.0)
    assert dxs[0] == 15.0 and dd["v"] == 10.0 and dx == 6.0


def test_a_container_that_is_too_long_to_remember() -> None:
    table = {k: float(k) for k in range(5000)}

    def f(x: float) -> float:
        return x * table.get(3, 0.0) + len(str(table.get(7)))

    assert value_and_pullback(f, 2.0, debug_mode=True)[1](1.0) == (3.0,)


def test_a_plain_call_that_overwrites_is_made_on_copies() -> None:
    def lowest(x):
        y = x * 2.0
        return np.median(y, overwrite_input=True) + y[0]

    x = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
    assert grad(lowest, debug_mode=True)(x).tolist() == grad(lowest)(x).tolist()


def test_differences_of_an_array_that_is_given_twice() -> None:
    def doubled(x, f):
        return np.sum(f(x, x) + np.stack([x, x])[0])

    with debug(check_numbers=True):
        assert grad(doubled)(np.array([1.0, 2.0]), operator.mul).tolist() == [3.0, 5.0]
