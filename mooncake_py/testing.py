"""Checks of rules and gradients against central differences.

`check_rule` is for a function with a rule of its own, `check_grads` for any function. Both raise AssertionError
with the two numbers that differ, the argument they belong to and the direction it was moved in.
"""

from __future__ import annotations

import contextlib
import copy
import time
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated, PullbackReuse
from mooncake_py.mirrors import tangent_fields
from mooncake_py.structure import is_user_class
from mooncake_py.trees import children, describe, is_leaf, leaves, map_leaves, moved, same, tangents_of_parts


@dataclass(frozen=True, slots=True, eq=False)
class RuleCase:
    """A call that a rule must get right: `fn(*args, **kwargs)`, at a point where it is smooth."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        kinds = "_".join(_kind(a) for a in self.args)
        words = "".join(f"-{k}={_kind(v)}" for k, v in self.kwargs.items())
        names = (getattr(self.fn, k, None) for k in ("__qualname__", "__name__"))
        return f"{next(filter(None, names), type(self.fn).__name__)}-{kinds}{words}"


def case(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> RuleCase:
    """`RuleCase(fn, args, kwargs)`."""
    return RuleCase(fn, args, kwargs)


def _kind(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype.kind}{x.dtype.itemsize * 8}({'x'.join(map(str, x.shape))})"
    if isinstance(x, (list, tuple)):
        return "[" + ",".join(map(_kind, x)) + "]"
    return f"{x}" if isinstance(x, (int, str)) else type(x).__name__


@dataclass(frozen=True, slots=True)
class Performance:
    """What a gradient costs beside the function: median seconds, and bytes allocated at the peak."""

    primal_seconds: float
    gradient_seconds: float
    primal_bytes: int
    gradient_bytes: int

    def __str__(self) -> str:
        return (
            f"function {self.primal_seconds * 1e6:.1f} us, {self.primal_bytes} bytes at the peak; with pullback "
            f"{self.gradient_seconds * 1e6:.1f} us, {self.gradient_bytes} bytes"
        )


def check_grads(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    rtol: float | None = None,
    atol: float = 1e-7,
    seed: int = 0,
    performance: bool = False,
) -> Performance | None:
    """Check the derivative of `f(*args)` by every differentiable argument.

    Checked are: that the value is that of the plain call, in value and type of every leaf; that cotangents have the
    structure, shapes, dtypes and types of the arguments; that their inner products with random directions, one for
    every argument and one for all together, agree with central differences at one step at least (several are tried:
    no step suits every function); that the arguments are as they were, and the cotangent it was given untouched,
    after the pullback; that a second call of the pullback, where it is allowed, and a second run give identical
    results; that cotangents are added to what else the arguments are used for; and that an argument passed twice
    gets the sum of both. Returns measured time and memory with `performance=True`.

    What it cannot see: an error where the random direction or cotangent happens to be orthogonal to it; errors at
    other arguments than these, at other shapes, dtypes or branches; whether a subgradient is well chosen where
    the function has a kink (differences are wrong there); memory kept by reference that nobody changed during
    the check; what is smaller than the tolerance (1e-6 relative, 2e-3 in single precision).

    Raises AssertionError, with both numbers, the argument and the direction; errors of the engine pass through.
    """
    return _Check(f, args, rtol, atol, seed).run(performance)


def check_rule(
    f: Callable[..., Any], *args: Any, rtol: float | None = None, performance: bool = False, **kwargs: Any
) -> Performance | None:
    """Check the rule of f on the call `f(*args, **kwargs)`: by itself, inlined and called.

    By itself: that it returns a pair, the value of the plain call in its type, and cotangents of the shapes and
    dtypes of the arguments, and writes to nothing. Then the call is checked as `check_grads` does it twice: in a
    function where f and the arguments without derivative are constants, so that the rule is inlined, and in one where
    f is not known until it runs. Limits as of `check_grads`; keyword arguments are held constant.
    """
    _check_alone(f, args, kwargs)
    check_grads(*known_call(f, args, kwargs), rtol=rtol)
    check_grads(*unknown_call(f, args, kwargs), rtol=rtol)
    return measure(*known_call(f, args, kwargs)) if performance else None


def measure(f: Callable[..., Any], args: tuple[Any, ...], repeat: int = 15) -> Performance:
    """Median time and peak memory of f, and of its value and pullback."""
    from mooncake_py.api import value_and_pullback

    def both() -> None:
        y, pullback = value_and_pullback(f, *args)
        pullback(map_leaves(lambda v: v * 0 + 1, y))

    def cost(run: Callable[[], Any]) -> tuple[float, int]:
        run()
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return sorted(times)[repeat // 2], peak

    primal, gradient = cost(lambda: f(*copy.deepcopy(args))), cost(both)
    return Performance(primal[0], gradient[0], primal[1], gradient[1])


def known_call(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable, tuple[Any, ...]]:
    """A function of the differentiable arguments that calls f with everything else written out, and those arguments."""
    return _caller("", "f", {"f": f}, args, kwargs)


def unknown_call(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable, tuple[Any, ...]]:
    """The same with a callee that types do not tell."""
    first = "fs = [f, abs, len, repr, hash, iter, callable]; "  # more than are told apart
    return _caller(first, "fs[0]", {"f": f}, args, kwargs)


def _caller(
    first: str, callee: str, scope: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable, tuple[Any, ...]]:
    names: list[str] = []
    values: list[Any] = []

    def spell(x: Any) -> str:
        if type(x) in (int, bool, str, type(None)) or (
            type(x) is tuple and all(type(v) in (int, bool, str, type(None)) for v in x)
        ):
            return repr(x)
        if isinstance(x, (type, np.dtype)):
            scope[f"c{len(scope)}"] = x
            return f"c{len(scope) - 1}"
        if type(x) in (tuple, list) and all(type(v) is not dict for v in x):
            inner = "".join(spell(v) + ", " for v in x)
            return f"({inner})" if type(x) is tuple else f"[{inner}]"
        names.append(f"x{len(names)}")
        values.append(copy.deepcopy(x))  # arguments that alias would get one cotangent together
        return names[-1]

    words = [spell(a) for a in args] + [f"{k}={spell(v)}" for k, v in kwargs.items()]
    source = f"def call({', '.join(names)}):\n    {first}return {callee}({', '.join(words)})\n"
    exec(compile(source, "<mooncake_py.testing>", "exec"), scope)
    return scope["call"], tuple(values)


# -- structures -------------------------------------------------------------------------------------------


def _random(x: Any, rng: np.random.Generator) -> Any:
    """A random tangent of x, None where there is none."""

    def one(v: Any) -> Any:
        a = np.asarray(v)
        noise: Any = rng.standard_normal(a.shape)
        if a.dtype.kind == "c":
            noise = noise + 1j * rng.standard_normal(a.shape)
        noise = np.asarray(noise).astype(a.dtype)
        return noise if isinstance(v, np.ndarray) else type(v)(noise[()])

    return map_leaves(one, x)


def _moved(x: Any, v: Any, t: float) -> Any:
    """x + t v in new memory, in double precision."""

    def one(x: Any, v: Any) -> Any:
        if v is None:
            return copy.deepcopy(x)
        if isinstance(x, np.ndarray):
            return np.asarray(_double(x) + t * _double(v))
        return type(x)(x + t * v) if type(x) in (float, complex) else _double(x) + t * _double(v)

    return moved(x, one, v)


def _double(x: Any) -> Any:
    """Single precision in double: differences are taken of the same formula without its rounding."""
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype in (np.float32, np.complex64):
        return x.astype(np.float64 if x.dtype == np.float32 else np.complex128)
    return x


def _all_double(x: Any) -> Any:
    return moved(x, lambda v, _: _double(copy.deepcopy(v)))


def _inner(a: Any, b: Any) -> float:
    """Re sum(conj(a) b)."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(leaves(a), leaves(b), strict=True)))


def _size(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.abs(np.conj(x) * y)) for x, y in zip(leaves(a), leaves(b), strict=True)))


def _has_leaf(x: Any) -> bool:
    return any(True for _ in leaves(x))


# -- checks -----------------------------------------------------------------------------------------------

_STEPS = (1e-5, 1e-4, 1e-6, 1e-3)


class _Check:
    """The checks of one call of one function."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], rtol: float | None, atol: float, seed: int):
        self.f, self.atol = f, atol
        self.args = tuple(copy.deepcopy(a) for a in args)  # an array passed twice would get one cotangent
        self.before = copy.deepcopy(self.args)
        self.rng = np.random.default_rng(seed + zlib.crc32(getattr(f, "__name__", "f").encode()))
        called = copy.deepcopy(self.args)
        self.plain = f(*called)
        self.mutates = not same(called, self.before)
        single = any(np.asarray(v).dtype in (np.float32, np.complex64) for v in leaves((args, self.plain)))
        self.rtol = rtol if rtol is not None else (2e-3 if single else 1e-6)

    def run(self, performance: bool) -> Performance | None:
        if not _has_leaf(self.args):
            return None
        y, pullback = self.forward(self.f, self.args)
        assert same(y, self.plain), f"the value is {y!r}, a plain call gives {self.plain!r}"
        if not _has_leaf(self.plain):
            return None
        dy = _random(self.plain, self.rng)
        ds = self.reverse(pullback, dy)
        assert same(self.args, self.before), "the arguments are not as they were before the call"
        for i, (x, d) in enumerate(zip(self.args, ds, strict=True)):
            _check_structure(x, d, f"argument {i}")
        with contextlib.nullcontext() if pullback.reusable else contextlib.suppress(PullbackReuse):
            again = self.reverse(pullback, dy)
            assert same(again, ds), f"a second run of the pullback gives {again!r}, the first gave {ds!r}"
            assert same(self.args, self.before), "the arguments are not as they were before the call"
        y2, pullback2 = self.forward(self.f, self.args)
        ds2 = self.reverse(pullback2, dy)
        assert same(y2, y), f"a second run gives {y2!r}, the first gave {y!r}"
        assert same(ds2, ds), f"a second run gives the cotangents {ds2!r}, the first gave {ds!r}"
        active = [i for i, x in enumerate(self.args) if _has_leaf(x)]
        for i in active:
            v = _random(self.args[i], self.rng)
            self.direction(f"argument {i}", {i: v}, dy, ds)
        if len(active) > 1:
            dy = _random(self.plain, self.rng)
            ds = self.reverse(self.forward(self.f, self.args)[1], dy)
            self.direction("all arguments", {i: _random(self.args[i], self.rng) for i in active}, dy, ds)
        if not self.mutates:
            self.beside_other_uses(dy, ds)
            self.twice(active, dy)
        return measure(self.f, self.args) if performance else None

    def forward(self, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
        from mooncake_py.api import value_and_pullback
        from mooncake_py.errors import RuleError

        try:
            return value_and_pullback(f, *args)
        except RuleError as e:
            raise AssertionError(str(e)) from e

    def reverse(self, pullback: Callable[[Any], Any], dy: Any) -> tuple[Any, ...]:
        from mooncake_py.errors import MooncakeError, RuleError

        given = copy.deepcopy(dy)
        try:
            ds = pullback(dy)
        except MooncakeError as e:
            if isinstance(e, RuleError):
                raise AssertionError(str(e)) from e
            raise
        except Exception as e:
            raise AssertionError(f"the pullback raised {type(e).__name__}: {e}") from e
        assert same(dy, given), "the pullback wrote to the cotangent it was given"
        return ds

    def direction(self, where: str, vs: dict[int, Any], dy: Any, ds: tuple[Any, ...]) -> None:
        """<ds, v> is the slope of t -> Re<dy, f(args + t v)> at 0."""
        got = sum(_inner(ds[i], v) for i, v in vs.items())
        size = sum(_size(ds[i], v) for i, v in vs.items())
        wide = [_all_double(a) for a in self.args]
        tried = []

        def along(t: float) -> float:
            args = [_moved(a, vs[i], t) if i in vs else copy.deepcopy(a) for i, a in enumerate(wide)]
            return _inner(dy, self.f(*args))

        with np.errstate(all="ignore"):
            for h in _STEPS:
                lo, hi = along(-h), along(h)
                slope = (hi - lo) / (2 * h)
                if abs(got - slope) <= self.atol + self.rtol * max(abs(slope), size):
                    return
                tried.append(f"{slope!r} (step {h:g})")
        shown = [(self.args[i], v, ds[i]) for i, v in vs.items()]
        raise AssertionError(
            f"{where}: the pullback gives <cotangent, direction> = {got!r}, "
            f"central differences give {', '.join(tried)};\n"
            f"argument: {_all(a for a, _, _ in shown)}\ndirection: {_all(v for _, v, _ in shown)}\n"
            f"cotangent of the value: {dy!r}\ncotangent of the argument: {_all(d for _, _, d in shown)}"
        )

    def beside_other_uses(self, dy: Any, ds: tuple[Any, ...]) -> None:
        """Arguments that have other uses as well: what the rule finds in their shadows must stay there."""
        names = ", ".join(f"x{i}" for i in range(len(self.args)))
        scope: dict[str, Any] = {"f": self.f}
        exec(f"def around({names}):\n    y = f({names})\n    return y, ({names},)\n", scope)
        others = tuple(_random(x, self.rng) for x in self.args)
        _, pullback = self.forward(scope["around"], self.args)
        both = self.reverse(pullback, (dy, others))
        for i, x in enumerate(self.args):
            if _has_leaf(x):
                expected = map_leaves(lambda v, d, o: d + o, x, ds[i], others[i])
                assert self.close(both[i], expected), (
                    f"argument {i}: beside another use, whose cotangent is {others[i]!r}, the cotangent must be "
                    f"{expected!r}, it is {both[i]!r}"
                )

    def twice(self, active: list[int], dy: Any) -> None:
        """One array for two arguments: its cotangent is the sum of theirs."""
        for i in active:
            x = self.args[i]
            for j in active:
                y = self.args[j]
                if not (i < j and isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
                    continue
                if x.shape != y.shape or x.dtype != y.dtype:
                    continue
                apart = [*self.args]
                apart[j] = x.copy()
                try:
                    with np.errstate(all="ignore"):
                        plain = self.f(*copy.deepcopy(tuple(apart)))
                except Exception:  # the function does not take this
                    continue
                if describe(plain) != describe(self.plain) or not all(np.all(np.isfinite(v)) for v in leaves(plain)):
                    continue
                try:
                    ds = self.reverse(self.forward(self.f, tuple(apart))[1], dy)
                except NotDifferentiated:  # a singular point
                    continue
                together = [*self.args]
                together[j] = x
                es = self.reverse(self.forward(self.f, tuple(together))[1], dy)
                total, expected = es[i] + es[j], ds[i] + ds[j]
                assert self.close(total, expected) or not np.all(np.isfinite(expected)), (
                    f"arguments {i} and {j}: for one array in both places the cotangent must be {expected!r}, "
                    f"it is {total!r}"
                )

    def close(self, a: Any, b: Any) -> bool:
        rtol = 1e-3 if self.rtol > 1e-4 else 1e-9
        return all(
            np.allclose(x, y, rtol=rtol, atol=rtol * max(1.0, float(np.max(np.abs(y), initial=0.0))), equal_nan=True)
            for x, y in zip(leaves(a), leaves(b), strict=True)
        )


def _all(values: Any) -> str:
    return ", ".join(map(repr, values))


def _check_structure(x: Any, d: Any, where: str, seen: set[int] | None = None) -> None:
    seen = set() if seen is None else seen
    parts = children(x)
    if parts is not None:
        if id(x) in seen:
            return
        seen.add(id(x))
        is_object = is_user_class(type(x)) and tangent_fields(type(x), d) is not None
        got = tangents_of_parts(x, d) if is_object else children(d)
        assert got is not None and len(got) == len(parts), f"{where}: the cotangent {d!r} is not like {x!r}"
        for i, (p, q) in enumerate(zip(parts, got, strict=True)):
            _check_structure(p, q, f"{where}[{i}]", seen)
    elif not is_leaf(x):
        assert d is None, f"{where}: {type(x).__name__} has no derivative, got {d!r}"
    elif isinstance(x, np.ndarray):
        assert isinstance(d, np.ndarray), f"{where}: the cotangent is {type(d).__name__}, not an array"
        assert d.shape == x.shape, f"{where}: the cotangent has shape {d.shape}, the argument {x.shape}"
        assert d.dtype == x.dtype, f"{where}: the cotangent has dtype {d.dtype}, the argument {x.dtype}"
    else:
        assert type(d) is type(x), f"{where}: the cotangent is {type(d).__name__}, the argument {type(x).__name__}"


def _check_alone(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A user's value rule on its own: dtypes and shapes that the engine would mend."""
    from mooncake_py import registry
    from mooncake_py.errors import RuleError
    from mooncake_py.tangents import CoDual
    from mooncake_py.transform import contract

    registry.load_packs()
    rule = registry.find_rule_for_values(f, args, tuple(kwargs))
    if rule is None or not rule.user or rule.fn is None or rule.codual or rule.mutates:
        return
    given = copy.deepcopy((args, kwargs))
    result = rule.fn(*args, **kwargs)
    if type(result) is tuple and len(result) == 2 and type(result[0]) is CoDual:
        return
    call = contract.RuleCall(rule, len(args), (rule.fn.__code__.co_filename, rule.fn.__code__.co_firstlineno))
    plain = f(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    try:
        value, pullback = contract.pair(result, call)
        assert same(value, plain), f"the rule's value is {value!r}, a plain call gives {plain!r}"
        assert same((args, kwargs), given), "the rule wrote to its arguments"
        if not _has_leaf(plain):
            return
        rng = np.random.default_rng(zlib.crc32(repr(rule.names).encode()))
        dy = _random(plain, rng)
        kept = copy.deepcopy(dy)
        ds = pullback(dy)
        assert same(dy, kept), "the pullback wrote to the cotangent it was given"
        assert same((args, kwargs), given), "the arguments are not as they were before the call"
        active = tuple(i for i, x in enumerate(args) if is_leaf(x))
        ds = contract.count(ds, active, active, call)
        ds = ds if type(ds) is tuple else (ds,)
        for i in active:
            t = ds[i] if i < len(ds) else None
            contract.fit(t, contract.form_of(args[i]), i, not np.iscomplexobj(args[i]), call)
            if isinstance(t, (np.ndarray, np.generic)) and isinstance(args[i], np.ndarray) and t.dtype != args[i].dtype:
                call.fail(f"returned a cotangent of dtype {t.dtype} for {call.argument(i)}, of dtype {args[i].dtype}")
        _check_kept(rule.fn, args, kwargs, (value, plain), ds, rng)
    except RuleError as e:
        raise AssertionError(str(e)) from e


def _check_kept(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: tuple[Any, Any],
    ds: tuple[Any, ...],
    rng: np.random.Generator,
) -> None:
    """What the rule and its pullback returned stays as it is when the rule runs again: no buffer is used twice."""
    before = copy.deepcopy(ds)
    others = tuple(_moved(a, _random(a, rng), 1e-3) if is_leaf(a) else copy.deepcopy(a) for a in args)
    try:
        with np.errstate(all="ignore"):
            value, pullback = fn(*others, **copy.deepcopy(kwargs))
            pullback(_random(value, rng))
    except Exception:  # the function may not take these
        return
    assert same(*values), "a second call of the rule changed the value that the first one returned"
    assert same(ds, before), "a second call of the rule changed the cotangents that the first one returned"
