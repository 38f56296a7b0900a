"""Random programs against plain Python and central differences."""

from __future__ import annotations

import copy
import linecache
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.harness import (
    bits,
    children,
    directions_for,
    inner,
    leaves,
    magnitude,
    random_like,
    same,
    shared_groups,
    slopes,
)

RTOL = 1e-5


@dataclass(frozen=True)
class Program:
    seed: int
    source: str
    args: tuple[Any, ...]

    def load(self, directory: Path) -> ModuleType:
        """The module of `main`, out of a file of its own."""
        path = directory / f"program_{self.seed}.py"
        path.write_text(self.source)
        linecache.checkcache(str(path))
        module = ModuleType("tests.programs.made")  # one of the tests' own, so that its objects are looked into
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # the one made before may go
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(self.source, str(path), "exec"), vars(module))
        return module


class Unfit(Exception):
    """A program that says nothing: it raises, grows, or has a kink near its arguments."""


class Plain:
    """A plain call of `main`, and what it leaves outside: every run begins with the same there."""

    def __init__(self, module: ModuleType):
        self.main: Callable[..., Any] = module.main
        self.reset: Callable[[], None] = getattr(module, "reset", lambda: None)
        self.state: Callable[[], Any] = getattr(module, "state", lambda: None)

    def __call__(self, *args: Any) -> Any:
        self.reset()
        return copy.deepcopy(self.main(*args))


def run_plain(p: Program, fn: Callable[..., Any]) -> tuple[Any, tuple[Any, ...]]:
    args = copy.deepcopy(p.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = fn(*args)
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from None
    values = [np.asarray(v) for v in leaves((y, args))]
    if not all(np.isfinite(v).all() and (np.abs(v) < 1e4).all() for v in values):
        raise Unfit("large")
    if not any(True for _ in leaves(y)):
        raise Unfit("constant")
    return y, args


def differences(p: Program, fn: Callable[..., Any], ybar: Any, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """(arguments, direction, slope) where two steps and both sides agree on the slope."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in shared_groups(p.args):
            v = directions_for(p.args, group, rng)
            try:
                back, central, forth = slopes(fn, p.args, v, ybar, 1e-5)
                _, finer, _ = slopes(fn, p.args, v, ybar, 2.5e-6)
            except Exception as error:
                raise Unfit(f"{type(error).__name__}: {error}") from None
            scale = max(abs(central), 1e-1)
            if abs(central - finer) > 2e-6 * scale or abs(forth - back) > 1e-2 * scale:
                raise Unfit("kink")
            found.append((group, v, central))
    return found


def all_finite(value: Any, seen: set[int]) -> bool:
    """Is every number in there finite, at any depth?"""
    if isinstance(value, np.ndarray):
        return bool(np.isfinite(value).all())
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if id(value) in seen:
        return True
    seen.add(id(value))
    parts = children(value)
    return parts is None or all(all_finite(v, seen) for v in parts)


def finite_throughout(p: Program, fn: Plain) -> bool:
    """Does a plain call meet finite numbers only, in all variables at all times?

    Where it does not, the derivative may be 0 * inf by way of a value that is not used in the end: reverse mode gives
    NaN for that, here as in other libraries, while differences look at the result alone.
    """
    found = True

    def look(frame: Any, event: str, value: Any) -> Any:
        nonlocal found
        if frame.f_code.co_filename != fn.main.__code__.co_filename:
            return None
        found = found and all_finite(list(frame.f_locals.values()), set())
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        run_plain(p, fn)
    finally:
        sys.settrace(before)
    return found


def has_nan(value: Any) -> bool:
    return any(np.isnan(leaf).any() for leaf in map(np.asarray, leaves(value)))


def held(value: Any) -> set[int]:
    """The arrays, containers and objects in there, by identity."""
    parts = children(value)
    if parts is None:
        return {id(value if value.base is None else value.base)} if isinstance(value, np.ndarray) else set()
    return {id(value)}.union(*map(held, parts))


def check(p: Program, directory: Path) -> None:
    """Raises Unfit, what the engine refuses with, or AssertionError."""
    from mooncake_py import value_and_grad, value_and_pullback

    plain = Plain(p.load(directory))
    fn = plain.main
    y, after = run_plain(p, plain)
    state = bits(plain.state())
    rng = np.random.default_rng(p.seed)
    ybar = random_like(y, rng)
    expected = differences(p, plain, ybar, rng)
    before = bits(p.args)
    results = []
    for attempt in ("first", "second"):
        args = copy.deepcopy(p.args)
        plain.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, pullback = value_and_pullback(fn, *args)
            assert same(value, y), f"{attempt} run: value {value!r}, plain Python gives {y!r}"
            assert bits(args) == bits(after), f"{attempt} run: other arguments than the plain call leaves"
            assert bits(plain.state()) == state, f"{attempt} run: left outside {plain.state()!r}"
            apart = held(plain.state()).isdisjoint(held(args))  # what is put back in an argument is seen outside, too
            results.append(pullback(copy.deepcopy(ybar)))
        assert bits(args) == before, f"{attempt} run: the arguments are not restored"
        assert not apart or bits(plain.state()) == state, f"{attempt} pullback: left outside {plain.state()!r}"
    assert same(*results), f"two runs differ: {results}"
    if has_nan(results[0]) and not finite_throughout(p, plain):
        raise Unfit("not finite on the way")
    for group, v, slope in expected:
        got = sum(inner(results[0][i], v[i]) for i in group)
        terms = sum(magnitude(results[0][i], v[i]) for i in group)
        assert abs(got - slope) <= RTOL * max(abs(slope), terms, 1e-2), f"slope {got!r}, differences {slope!r}, {group}"
    if not isinstance(y, float):
        return
    group, v, slope = expected[p.seed % len(expected)]
    if len(group) > 1:
        return
    args = copy.deepcopy(p.args)
    plain.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, g = value_and_grad(fn, argnums=group[0])(*args)
    assert same(value, y), f"value_and_grad: value {value!r}, plain Python gives {y!r}"
    assert bits(args) == before, "value_and_grad: the arguments are not restored"
    assert not apart or bits(plain.state()) == state, f"value_and_grad: left outside {plain.state()!r}"
    got, terms = inner(g, v[group[0]]) * inner(ybar, 1.0), magnitude(g, v[group[0]])
    assert abs(got - slope) <= RTOL * max(abs(slope), terms, 1e-2), f"argnums {group}: {got!r}, differences {slope!r}"


def outcome(p: Program, directory: Path) -> tuple[str, str]:
    """("ok" | "unfit" | "refused" | "wrong", why)."""
    from mooncake_py.errors import MissingRule, UnsupportedError

    try:
        check(p, directory)
    except Unfit as error:
        return "unfit", re.sub(r"\d+", "N", str(error))
    except UnsupportedError as error:
        return "refused", re.sub(r"\d+", "N", error.construct)
    except MissingRule as error:
        return "refused", re.sub(r"\d+", "N", str(error).split(", in ")[0])[:150]
    except AssertionError as error:
        return "wrong", str(error)[:300]
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"[:300]
    return "ok", ""
