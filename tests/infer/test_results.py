"""Types of what Python functions return that are not taken in, and of arrays made of lists."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import forward, registry, value_and_grad
from mooncake_py.infer import interpret, results
from mooncake_py.infer.interpret import Inference
from mooncake_py.infer.types import BOT, Arr, Inst, Lst, Real, Top
from mooncake_py.runtime import rule
from tests.functions import by_name
from tests.harness import check_case
from tests.zoo import parsers

registry.load_packs()
VECTOR = Arr(np.dtype(float), 1, True)
SCALE: Any = 2.0


def halved(x: Any) -> Any:
    return halved(x[1:] * 0.5) * SCALE if len(x) > 2 else x


def even(x: Any, n: int) -> Any:
    return x if n == 0 else odd(x * SCALE, n - 1)


def odd(x: Any, n: int) -> Any:
    return even(np.outer(x, x)[0], n - 1) if n > 0 else x


def first(xs: Any) -> Any:
    return xs[0]


def never(x: Any) -> Any:
    raise ValueError(x)


@pytest.mark.parametrize(
    ("f", "types", "wanted"),
    [
        (halved, (VECTOR,), VECTOR),
        (even, (VECTOR, Inst(int)), VECTOR),
        (odd, (VECTOR, Inst(int)), VECTOR),
        (first, (Lst(VECTOR, True),), VECTOR),
    ],
)
def test_the_result_of_a_function_is_found_with_those_it_calls(f: Any, types: Any, wanted: Any) -> None:
    found = results.result_of(f, types)
    assert found is not None
    assert found.type == wanted
    assert f in found.functions


def test_nothing_is_said_of_a_function_that_was_not_seen_to_return() -> None:
    nothing = results.result_of(never, (VECTOR,))
    assert nothing is not None
    assert nothing.type is BOT
    found = results.result_of(first, (Lst(Top()),))
    assert found is not None
    assert found.type == Top()


def use_halved(x: Any) -> Any:
    return (halved(x) ** 2).sum()


def test_a_name_that_the_result_relies_on_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(value_and_grad(use_halved)(x)[1], [0.0, 4.0, 6.0])
    assert "unknown" not in str(mooncake_py.inspect(use_halved, x)).split("returns")[1].splitlines()[0]
    monkeypatch.setattr(f"{__name__}.SCALE", np.array([2.0 + 0j, 1.0]))
    assert results.result_of(halved, (VECTOR,)).type != VECTOR  # type: ignore[union-attr]
    monkeypatch.setattr(f"{__name__}.SCALE", np.array([4.0, 2.0]))
    assert np.allclose(value_and_grad(use_halved)(x)[1], [0.0, 16.0, 6.0])


def array_of_a_display(x: Any) -> Any:
    a = np.array([[1, 0.5], [0, x[0]]])
    b = np.array([1.0, 2j])
    return (a @ a).sum() * abs(b @ a).sum()


def test_an_array_of_a_list_has_the_dtype_of_its_items() -> None:
    text = str(mooncake_py.inspect(array_of_a_display, np.array([0.5])))
    assert "float64 array, 2-d" in text
    assert "complex128 array, 1-d" in text
    assert "decided when it runs" not in text


def circle(n: int) -> dict[str, Any]:
    """Functions each of which calls all of them."""
    names: dict[str, Any] = {"__name__": __name__}
    for k in range(n):
        sums = " + ".join(f"f{j}(x * 0.5, n - 1)" for j in range(n))
        exec(f"def f{k}(x, n):\n    return x * {k + 1} if n == 0 else {sums}", names)
    return names


def test_functions_that_call_each_other_are_looked_into_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run = Inference.run

    def counted(self: Inference) -> Any:
        runs.append(self.fn.name)
        return run(self)

    monkeypatch.setattr(Inference, "run", counted)
    names = circle(6)
    found = results.result_of(names["f0"], (VECTOR, Inst(int)))
    assert found is not None
    assert found.type == VECTOR
    assert len(runs) < 200  # without what holds for a round it takes thousands
    assert not results._running
    assert not results._as_yet
    before = len(runs)
    other = results.result_of(names["f3"], (VECTOR, Inst(int)))
    assert other is not None
    assert other.type == VECTOR
    assert len(runs) - before < 200


def test_what_holds_for_a_round_is_given_up_when_more_is_known() -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec(
        "def start(x, n):\n"
        "    if n < 0: return 1\n"
        "    return middle(x, n) if n > 3 else end(x, n)\n"
        "def middle(x, n):\n    return start(x, n - 1)\n"
        "def end(x, n):\n    return x if n == 0 else middle(x, n - 1)\n",
        names,
    )
    for f in ("start", "middle", "end"):
        found = results.result_of(names[f], (Inst(float, True), Inst(int)))
        assert found is not None
        assert found.type == Real(True, frozenset({int, float})), f


class Held:
    def __init__(self, value: Any, compute: Any) -> None:
        self.value, self.compute = value, compute
        self.inner: list[Held] = []


def collected(x: Held, found: list[Held]) -> None:
    for y in x.inner:
        collected(y, found)
    found.append(x)


def test_functions_that_objects_hold_are_known_where_the_objects_come_back() -> None:
    def f(x: float, y: float) -> Any:
        found: list[Held] = []
        outer = Held(x, lambda: x * y)
        outer.inner.append(Held(y, lambda: y * y))
        collected(outer, found)
        return sum(h.compute() * h.value for h in found)

    seen = [finding for findings in mooncake_py.inspect(f, 0.3, 0.7).lines.values() for finding in findings]
    assert not [finding for finding in seen if finding.kind == "dynamic" and "compute" in finding.text]
    assert value_and_grad(f, argnums=(0, 1))(0.3, 0.7)[1] == pytest.approx((2 * 0.3 * 0.7, 0.09 + 3 * 0.49))


def test_what_relies_on_code_that_is_derived_goes_with_the_derivation() -> None:
    def f(x: float) -> Any:
        found: list[Held] = []
        collected(Held(x, lambda: x * x), found)
        return found[0].compute()

    mooncake_py.inspect(f, 0.3)
    assert not results._of_derivation
    assert not any(results.holds_passed(t) for key in results._results for t in key[2])


EVALUATOR = """
def value_of(e, env):
    if isinstance(e, str):
        return env[e]
    if not isinstance(e, tuple):
        return e
    if e[0] == "let":
        return value_of(e[3], {**env, e[1]: value_of(e[2], env)})
    return sum([value_of(a, env) for a in e[len(e[0]) :]])

def f(x):
    return value_of(("let", "a", ("+", "x", 1.0), ("+", "a", ("+", "x", ("+", "a", 3.0)))), {"x": x})
"""


def test_work_for_results_that_are_of_no_use_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone_through(most: int) -> int:
        monkeypatch.setattr(results, "MOST_IN_VAIN", most)
        scope: dict[str, Any] = {}
        exec(compile(EVALUATOR, f"<bound of {most}>", "exec"), scope)  # derived anew for each bound
        before = results._gone_through
        assert value_and_grad(scope["f"])(0.5) == (pytest.approx(6.5), 3.0)
        return results._gone_through - before

    assert gone_through(100) < 0.8 * gone_through(10**9)


@pytest.mark.parametrize("name", ["parsers.parsed_by_an_iterator", "grown.a_tree_that_subdivides"])
def test_what_takes_long_to_find_is_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that there is to find takes 9,000 statements and more; the derivative is right without it."""
    for module, cache in ((results, "_results"), (rule, "_cache"), (forward, "_warm")):
        monkeypatch.setattr(module, cache, {})
    monkeypatch.setattr(results, "MOST_ALTOGETHER", 3000)
    monkeypatch.setattr(results, "LEAST_ALTOGETHER", 500)
    longest = 0

    def noted(statements: int) -> None:
        nonlocal longest
        results.went_through(statements)
        longest = max(longest, results._gone_through - results._begun if results._running else 0)

    monkeypatch.setattr(interpret, "went_through", noted)
    check_case(by_name(name))
    assert 500 < longest <= 3000


@pytest.mark.parametrize(
    ("parse", "most"),
    [
        (parsers.parsed_by_characters, 20_000),
        (parsers.parsed_by_an_iterator, 50_000),
        (parsers.functions_that_a_text_makes, 90_000),
        (parsers.expression_differentiated, 30_000),
    ],
)
def test_functions_that_call_one_another_are_found_without_much_work(parse: Any, most: int) -> None:
    before = results._gone_through
    value_and_grad(types.FunctionType(parse.__code__.replace(co_name="parsed"), parse.__globals__))(1.3, 0.7)
    assert results._gone_through - before < most


@pytest.mark.parametrize("choice", [True, False, 1, 0, np.True_, np.False_])
def test_a_flag_may_be_any_number(choice: object) -> None:
    """What a library gives for a flag of one type: it was asked for 1 alone."""

    def f(a, choice):
        y = np.linalg.svd(a, True, choice)
        return np.sum(y[1] if choice else y)

    a = np.array([[1.0, 0.3], [0.2, 2.0]])
    y, d = value_and_grad(f)(a, choice)
    assert y == f(a, choice)
    u, _, vh = np.linalg.svd(a)
    np.testing.assert_allclose(d[0] if isinstance(d, tuple) else d, u @ vh)
