"""Results do not depend on the switches: the zoo under each of them.

Every sixteenth case, others for each switch, a third of them on each Python; all of them with
`MOONCAKE_ZOO=all python -m pytest tests/test_options.py`.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict

import numpy as np
import pytest

from mooncake_py import grad, options, value_and_grad, value_and_pullback
from mooncake_py.switches import DEFAULT, Options, current
from tests.derive import rule_of
from tests.functions import ALL, QUICK, share
from tests.harness import Case, check_case, close

SWITCHES = Options._fields
STRIDE = 1 if ALL else 16
SAMPLE = share([(s, case) for k, s in enumerate(SWITCHES) for case in QUICK[k % STRIDE :: STRIDE]])


@pytest.mark.parametrize(("switch", "case"), SAMPLE, ids=lambda x: getattr(x, "name", x))
def test_zoo(switch: str, case: Case) -> None:
    with options(**{switch: False}):
        check_case(case)


@pytest.mark.parametrize("case", QUICK[3::29], ids=lambda case: case.name)
def test_everything_off_gives_the_same(case: Case) -> None:
    def cotangents():
        y, pullback = value_and_pullback(case.fn, *case.fresh_args())
        return y, pullback(ones(y))

    with options(**dict.fromkeys(SWITCHES, False)):
        plain = cotangents()
    for got, expected in zip(cotangents(), plain, strict=True):
        assert close(got, expected)


def ones(y):
    if isinstance(y, (tuple, list)):
        return type(y)(map(ones, y)) if not hasattr(y, "_fields") else type(y)(*map(ones, y))
    if isinstance(y, dict):
        return {k: ones(v) for k, v in y.items()}
    if isinstance(y, np.ndarray):
        return np.ones_like(y) if y.dtype.kind in "fc" else None
    return type(y)(1.0) if isinstance(y, (float, complex, np.inexact)) else None


def loop(x, n):
    for i in range(n):
        x = x * 1.01 + 0.1 * np.sin(x) * i
    return x


@pytest.mark.parametrize("switch", ("specialise", "recompute", "trip_counts", "stack_folding"))
def test_a_switch_changes_the_code(switch: str) -> None:
    """Rules of different switches are different rules; those of the same are one."""
    plain = rule_of(loop, 0.5, 3)
    with options(**{switch: False}):
        other = rule_of(loop, 0.5, 3)
        assert rule_of(loop, 0.5, 3) is other
    assert rule_of(loop, 0.5, 3) is plain
    codes = [(f.__code__.co_code, f.__code__.co_consts) for f in (plain.forward, plain.pullback)]
    assert codes != [(f.__code__.co_code, f.__code__.co_consts) for f in (other.forward, other.pullback)]


def test_activity_off_counts_every_argument() -> None:
    def f(x, y):
        return x * y

    seen = []
    for active in (True, False):
        with options(activity=active):
            g = value_and_grad(f)
            assert g(2.0, 3.0) == (6.0, 3.0)
            assert g(2.0, 3.0) == (6.0, 3.0)
            warm = g.warm  # type: ignore[attr-defined]
            seen.append(warm.rule.derived.arg_trees)
    assert seen == [("num", "none"), ("num", "num")]


def puts_in_what_it_looks_for(x, d):
    for n in range(3):
        x = x + d[n]
    for k in list(d):
        d[k] = d[k] + x * k
    return sum(d.values()) * x


@pytest.mark.parametrize("objects", (True, False))
@pytest.mark.parametrize("d", (defaultdict(float), defaultdict(float, {5: 2.0}), Counter()), ids=repr)
def test_given_dicts_that_put_in_what_is_looked_for(d: dict[int, float], objects: bool) -> None:
    before = d.copy()
    slope = (puts_in_what_it_looks_for(1.3 + 1e-6, d.copy()) - puts_in_what_it_looks_for(1.3 - 1e-6, d.copy())) / 2e-6
    with options(objects=objects):
        for _ in range(2):
            value, gradient = value_and_grad(puts_in_what_it_looks_for)(1.3, d)
            assert value == puts_in_what_it_looks_for(1.3, d.copy())
            assert gradient == pytest.approx(slope, rel=1e-7)
            assert d == before


def test_options_nest_and_end() -> None:
    assert current() == DEFAULT
    with options(specialise=False):
        with options(trip_counts=False) as inner:
            assert inner == current() == DEFAULT._replace(specialise=False, trip_counts=False)
            with options(specialise=True):
                assert current() == DEFAULT._replace(trip_counts=False)
        assert current() == DEFAULT._replace(specialise=False)
    assert current() is DEFAULT
    with pytest.raises(KeyError), options(recompute=False):
        raise KeyError
    assert current() is DEFAULT


def test_a_gradient_made_under_one_is_used_under_another() -> None:
    with options(specialise=False, stack_folding=False):
        g = grad(loop)
        off = g(0.5, 20)
    on = g(0.5, 20)
    with options(specialise=False):
        assert g(0.5, 20) == pytest.approx(off, rel=1e-12)
    assert on == pytest.approx(off, rel=1e-12)


def test_options_belong_to_their_thread() -> None:
    found = []
    with options(recompute=False):
        thread = threading.Thread(target=lambda: found.append(current()))
        thread.start()
        thread.join()
    assert found == [DEFAULT]


def test_unknown_switch() -> None:
    with pytest.raises(TypeError):
        options(speed=False)  # type: ignore[call-arg]
