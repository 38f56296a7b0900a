"""Checks of rules and gradients against central differences.

`check_rule` is for a function with a rule of its own, `check_grads` for any function. Both raise AssertionError
with the two numbers that differ, the argument they belong to and the direction it was moved in.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
        return f"{getattr(self.fn, '__qualname__', None) or self.fn.__name__}-{kinds}{words}"


def case(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> RuleCase:
    """`RuleCase(fn, args, kwargs)`."""
    return RuleCase(fn, args, kwargs)


def _kind(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype.kind}{x.dtype.itemsize * 8}({'x'.join(map(str, x.shape))})"
    if isinstance(x, (list, tuple)):
        return "[" + ",".join(map(_kind, x)) + "]"
    return f"{x}" if isinstance(x, (int, str)) else type(x).__name__


def check_grads(
    f: Callable[..., Any], args: tuple[Any, ...], *, rtol: float | None = None, atol: float = 1e-7, seed: int = 0
) -> None:
    """Check the derivative of `f(*args)` by every differentiable argument.

    The value must be that of the plain call, in value and type; cotangents must have the structure, shapes and
    dtypes of the arguments; their inner product with a random direction must agree with central differences at
    one step at least (several are tried: no step suits every function); arguments must be as they were after
    the pullback; a second run must give identical results.

    What it cannot see: an error where the random direction or cotangent happens to be orthogonal to it; errors at
    other arguments than these, at other shapes, dtypes or branches; whether a subgradient is well chosen where
    the function has a kink (differences are wrong there); memory kept by reference that nobody changed during
    the check; what is smaller than the tolerance (1e-6 relative, 2e-3 in single precision).
    """
    from mooncake_py.api import value_and_pullback

    rng = np.random.default_rng(seed + zlib.crc32(getattr(f, "__name__", "f").encode()))
    before = copy.deepcopy(args)
    plain = f(*copy.deepcopy(args))
    if not any(True for _ in _leaves(args)):
        return
    y, pullback = value_and_pullback(f, *args)
    assert _same(y, plain), f"the value is {y!r}, a plain call gives {plain!r}"
    if not any(True for _ in _leaves(plain)):
        return
    dy = _random(plain, rng)
    given = copy.deepcopy(dy)
    ds = pullback(dy)
    assert _same(dy, given), "the pullback wrote to the cotangent it was given"
    assert _same(args, before), "the arguments are not as they were before the call"
    for i, (x, d) in enumerate(zip(args, ds, strict=True)):
        _check_structure(x, d, f"argument {i}")
    y2, pullback2 = value_and_pullback(f, *args)
    ds2 = pullback2(dy)
    assert _same(y2, y), f"a second run gives {y2!r}, the first gave {y!r}"
    assert _same(ds2, ds), f"a second run gives the cotangents {ds2!r}, the first gave {ds!r}"
    single = any(np.asarray(v).dtype in (np.float32, np.complex64) for v in _leaves((args, plain)))
    tolerance = rtol if rtol is not None else (2e-3 if single else 1e-6)
    for i, x in enumerate(args):
        if any(True for _ in _leaves(x)):
            v = _random(x, rng)
            _check_direction(f, args, i, v, dy, ds[i], tolerance, atol)


def check_rule(f: Callable[..., Any], *args: Any, rtol: float | None = None, **kwargs: Any) -> None:
    """Check the rule of f on the call `f(*args, **kwargs)`, inlined and called.

    The call is checked as `check_grads` does it twice: in a function where f and the arguments without
    derivative are constants, so that the rule is inlined, and in one where f is not known until it runs.
    Limits as of `check_grads`; keyword arguments are held constant.
    """
    check_grads(*known_call(f, args, kwargs), rtol=rtol)
    check_grads(*unknown_call(f, args, kwargs), rtol=rtol)


def known_call(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable, tuple[Any, ...]]:
    """A function of the differentiable arguments that calls f with everything else written out, and those arguments."""
    return _caller("", "f", {"f": f}, args, kwargs)


def unknown_call(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable, tuple[Any, ...]]:
    """The same with a callee that types do not tell."""
    return _caller("fs = [f, None]; ", "fs[0]", {"f": f}, args, kwargs)


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


def _differentiable(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.inexact))


def _parts(x: Any) -> list[Any] | None:
    if isinstance(x, (tuple, list)):
        return list(x)
    return list(x.values()) if isinstance(x, dict) else None


def _rebuild(x: Any, parts: list[Any]) -> Any:
    if isinstance(x, dict):
        return dict(zip(x, parts, strict=True))
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)


def _leaves(x: Any) -> Iterator[Any]:
    parts = _parts(x)
    if parts is None:
        if _differentiable(x):
            yield x
        return
    for p in parts:
        yield from _leaves(p)


def _same(a: Any, b: Any) -> bool:
    """Equal in type, structure and value; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    pa, pb = _parts(a), _parts(b)
    if pa is not None and pb is not None:
        return len(pa) == len(pb) and all(map(_same, pa, pb))
    return bool(a == b) or (a != a and b != b)


def _random(x: Any, rng: np.random.Generator) -> Any:
    """A random tangent of x, None where there is none."""
    parts = _parts(x)
    if parts is not None:
        items = [_random(p, rng) for p in parts]
        return _rebuild(x, items) if type(x) in (tuple, list, dict) or hasattr(x, "_fields") else tuple(items)
    if not _differentiable(x):
        return None
    a = np.asarray(x)
    noise: Any = rng.standard_normal(a.shape)
    if a.dtype.kind == "c":
        noise = noise + 1j * rng.standard_normal(a.shape)
    noise = np.asarray(noise).astype(a.dtype)
    return noise if isinstance(x, np.ndarray) else type(x)(noise[()])


def _moved(x: Any, v: Any, t: float) -> Any:
    """x + t v in new memory, in double precision."""
    parts = _parts(x)
    if parts is not None:
        return _rebuild(x, [_moved(p, q, t) for p, q in zip(parts, _parts(v) or [], strict=True)])
    if v is None:
        return copy.deepcopy(x)
    if isinstance(x, np.ndarray):
        return np.asarray(_double(x) + t * _double(v))
    return type(x)(x + t * v) if type(x) in (float, complex) else _double(x) + t * _double(v)


def _double(x: Any) -> Any:
    """Single precision in double: differences are taken of the same formula without its rounding."""
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype in (np.float32, np.complex64):
        return x.astype(np.float64 if x.dtype == np.float32 else np.complex128)
    return x


def _all_double(x: Any) -> Any:
    parts = _parts(x)
    return _double(copy.deepcopy(x)) if parts is None else _rebuild(x, [_all_double(p) for p in parts])


def _inner(a: Any, b: Any) -> float:
    """Re sum(conj(a) b)."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(_leaves(a), _leaves(b), strict=True)))


def _size(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.abs(np.conj(x) * y)) for x, y in zip(_leaves(a), _leaves(b), strict=True)))


# -- checks -----------------------------------------------------------------------------------------------


def _check_structure(x: Any, d: Any, where: str) -> None:
    parts = _parts(x)
    if parts is not None:
        got = _parts(d)
        assert got is not None and len(got) == len(parts), f"{where}: the cotangent {d!r} is not like {x!r}"
        for i, (p, q) in enumerate(zip(parts, got, strict=True)):
            _check_structure(p, q, f"{where}[{i}]")
    elif not _differentiable(x):
        assert d is None, f"{where}: {type(x).__name__} has no derivative, got {d!r}"
    elif isinstance(x, np.ndarray):
        assert isinstance(d, np.ndarray), f"{where}: the cotangent is {type(d).__name__}, not an array"
        assert d.shape == x.shape, f"{where}: the cotangent has shape {d.shape}, the argument {x.shape}"
        assert d.dtype == x.dtype, f"{where}: the cotangent has dtype {d.dtype}, the argument {x.dtype}"
    else:
        assert type(d) is type(x), f"{where}: the cotangent is {type(d).__name__}, the argument {type(x).__name__}"


_STEPS = (1e-5, 1e-4, 1e-6, 1e-3)


def _check_direction(
    f: Callable[..., Any], args: tuple[Any, ...], i: int, v: Any, dy: Any, d: Any, rtol: float, atol: float
) -> None:
    """<d, v> is the slope of t -> Re<dy, f(..., args[i] + t v, ...)> at 0."""
    got = _inner(d, v)
    wide = [_all_double(a) for a in args]
    tried = []
    with np.errstate(all="ignore"):
        for h in _STEPS:
            lo, hi = (_inner(dy, f(*wide[:i], _moved(args[i], v, t), *wide[i + 1 :])) for t in (-h, h))
            slope = (hi - lo) / (2 * h)
            if abs(got - slope) <= atol + rtol * max(abs(slope), _size(d, v)):
                return
            tried.append(f"{slope!r} (step {h:g})")
    raise AssertionError(
        f"argument {i}: the pullback gives <cotangent, direction> = {got!r}, "
        f"central differences give {', '.join(tried)};\n"
        f"argument: {args[i]!r}\ndirection: {v!r}\ncotangent of the value: {dy!r}\ncotangent of the argument: {d!r}"
    )
