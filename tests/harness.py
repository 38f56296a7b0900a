"""What every zoo case must satisfy, and central differences to hold it against.

Nothing here knows how gradients are made: the helpers below walk structures (tuples, lists, dicts, arrays, scalars)
and take differences of plain calls; `check_case` uses the public names only, imported when it runs.

Conventions. A cotangent has the structure of its value, with None where a value has no tangent (int, bool, str, None,
integer arrays, functions). For complex numbers the inner product is Re sum(conj(a) * b), so that
d/dt Re<ybar, f(x + t v)> = Re<xbar, v>.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import enum
import functools
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
STEP = 1e-5
RTOL = 1e-5
SINGLE_RTOL = 1e-3
#: For functions that compute in single precision inside, where a small step drowns in rounding.
SINGLE_STEP = 1e-2


@dataclass(frozen=True, slots=True)
class Case:
    """One function with arguments it is smooth at. Tag "single": it computes in float32 inside."""

    name: str
    fn: Callable[..., Any] = field(repr=False)
    args: tuple[Any, ...] = field(repr=False)
    tags: tuple[str, ...] = ()

    def fresh_args(self) -> tuple[Any, ...]:
        """Copies, sharing among themselves what the originals share."""
        return copy.deepcopy(self.args)

    @property
    def rtol(self) -> float:
        single = any(leaf.dtype in (np.float32, np.complex64) for leaf in map(np.asarray, leaves(self.args)))
        return SINGLE_RTOL if single or "single" in self.tags else RTOL

    @property
    def step(self) -> float:
        return SINGLE_STEP if "single" in self.tags else STEP

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(self.name.encode()))


# --- structures ---------------------------------------------------------------------------------------------------


def is_differentiable(leaf: object) -> bool:
    if isinstance(leaf, np.ndarray):
        return bool(np.issubdtype(leaf.dtype, np.inexact))
    return isinstance(leaf, float | complex | np.inexact)


def fields(value: object) -> dict[str, Any] | None:
    """The attributes that an object of one of the tests' own classes stores; None for anything else."""
    cls = type(value)
    if not cls.__module__.startswith("tests.") or isinstance(
        value, enum.Enum | tuple | list | dict | collections.deque | type
    ):
        return None
    slots = [name for c in reversed(cls.__mro__) for name in c.__dict__.get("__slots__", ())]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**held, **getattr(value, "__dict__", {})}


def children(value: object) -> list[Any] | None:
    """The parts of a container or object, None for a leaf."""
    if isinstance(value, tuple | list | collections.deque):
        return list(value)
    if isinstance(value, dict):
        return list(base_of(value).values(value))
    if isinstance(value, Mapping):
        return list(value.values())
    held = fields(value)
    return None if held is None else list(held.values())


def base_of(value: object) -> Any:
    """The container of Python's own that a list, deque or dict is, past what its class has instead; else its class."""
    own: tuple[type, ...] = (collections.OrderedDict, collections.defaultdict, dict, list, collections.deque)
    return type(value) if type(value) in own else next((c for c in own if isinstance(value, c)), type(value))


def cotangent_class(value: object) -> type:
    """The class that the cotangent of a container has: that of an object of a derived class is of its items alone."""
    base = base_of(value)
    return base if base is type(value) or not issubclass(base, dict) else dict


def rebuild(value: Any, parts: list[Any]) -> Any:
    """A container or object like `value` over new parts."""
    if isinstance(value, Mapping):
        new = copy.copy(value)
        update = new.update if not isinstance(value, dict) else functools.partial(dict.update, new)  # type: ignore
        update(zip(value, parts, strict=True))
        return new
    held = fields(value)
    if held is not None:
        new = object.__new__(type(value))
        for name, part in zip(held, parts, strict=True):
            object.__setattr__(new, name, part)
        return new
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*parts)
    if isinstance(value, list | collections.deque):
        new = copy.copy(value)
        base_of(value).clear(new)
        base_of(value).extend(new, parts)
        return new
    return type(value)(parts)


def leaves(value: Any) -> Iterator[Any]:
    """The differentiable leaves, left to right."""
    parts = children(value)
    if parts is None:
        if is_differentiable(value):
            yield value
        return
    for part in parts:
        yield from leaves(part)


def map_tree(fn: Callable[[Any], Any], value: Any) -> Any:
    parts = children(value)
    return fn(value) if parts is None else rebuild(value, [map_tree(fn, part) for part in parts])


def tangent_tree(fn: Callable[[Any], Any], value: Any) -> Any:
    """The same for what is added to `value`: a dict by attribute in the place of an object."""
    parts = children(value)
    if parts is None:
        return fn(value)
    held = fields(value)
    mapped = [tangent_tree(fn, part) for part in parts]
    return rebuild(value, mapped) if held is None else dict(zip(held, mapped, strict=True))


def close(a: Any, b: Any) -> bool:
    """As `same`, but for rounding: the order of additions may differ."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, (float, complex, np.inexact, np.ndarray)) and np.asarray(a).dtype.kind in "fc":
        single = np.asarray(a).dtype in (np.float32, np.complex64)
        scale = np.max(np.abs(b), initial=1e-300) if np.size(b) else 1.0
        tolerance = 1e-4 if single else 1e-10
        return type(a) is type(b) and np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return same(a, b)


def same(a: Any, b: Any) -> bool:
    """Equal types, structure and values, exactly; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        exact = np.issubdtype(a.dtype, np.inexact)
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=bool(exact))
    parts, other = children(a), children(b)
    if parts is not None and other is not None:
        keys_equal = list(a) == list(b) if isinstance(a, Mapping) else list(fields(a) or ()) == list(fields(b) or ())
        return keys_equal and len(parts) == len(other) and all(map(same, parts, other))
    if isinstance(a, float | complex | np.inexact) and a != a:
        return bool(b != b)
    return bool(a == b)


def bits(value: Any) -> Any:
    """A snapshot that compares equal only to the same bytes."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    parts = children(value)
    if parts is not None:
        keys = list(value) if isinstance(value, Mapping) else list(fields(value) or ())
        return (type(value), keys, [bits(part) for part in parts])
    return (type(value), repr(value))


def inner(a: Any, b: Any) -> float:
    """Re sum(conj(a) * b) over the differentiable leaves of two like structures."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(leaves(a), leaves(b), strict=True)))


def magnitude(a: Any, b: Any) -> float:
    """The size of the terms of `inner`, what rounding is relative to."""
    return float(sum(np.sum(np.abs(np.conj(x) * y)) for x, y in zip(leaves(a), leaves(b), strict=True)))


def random_like(value: Any, rng: np.random.Generator, *, relative: bool = False) -> Any:
    """A random tangent or cotangent of `value`: its types, with None where there is no tangent."""

    def one(leaf: Any) -> Any:
        if not is_differentiable(leaf):
            return None
        array = np.asarray(leaf)
        noise: Any = rng.standard_normal(array.shape)
        if np.issubdtype(array.dtype, np.complexfloating):
            noise = noise + 1j * rng.standard_normal(array.shape)
        if relative:
            noise = noise * np.maximum(np.abs(array), 0.1)
        noise = np.asarray(noise).astype(array.dtype)
        return noise if isinstance(leaf, np.ndarray) else type(leaf)(noise[()])

    return tangent_tree(one, value)


def to_double(value: Any) -> Any:
    """Single-precision data in double: differences are taken of the same formula without its rounding."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray | np.generic) and leaf.dtype in (np.float32, np.complex64):
            wide = np.float64 if leaf.dtype == np.float32 else np.complex128
            return leaf.astype(wide)
        return leaf

    return map_tree(one, value)


def moved(args: tuple[Any, ...], directions: tuple[Any, ...], t: float) -> tuple[Any, ...]:
    """args + t * directions, in new memory; an object that is passed twice is moved once and stays shared."""
    seen: dict[int, Any] = {}

    def one(value: Any, direction: Any) -> Any:
        shareable = isinstance(value, np.ndarray | list | dict) or fields(value) is not None
        if shareable and id(value) in seen:
            return seen[id(value)]
        parts = children(value)
        if parts is not None:
            new = rebuild(value, [one(v, d) for v, d in zip(parts, children(direction) or [], strict=True)])
        elif direction is None or not is_differentiable(value):
            new = copy.deepcopy(value)
        elif isinstance(value, np.ndarray):
            new = np.asarray(value + t * direction)  # asarray: a sum of 0-d arrays is a scalar
        else:
            new = type(value)(value + t * direction)
        seen[id(value)] = new
        return new

    return tuple(map(one, args, directions))


# --- differences --------------------------------------------------------------------------------------------------


def slopes(
    fn: Callable[..., Any], args: tuple[Any, ...], directions: tuple[Any, ...], ybar: Any, step: float
) -> tuple[float, float, float]:
    """(backward, central, forward) difference of t -> Re<ybar, fn(args + t * directions)> at 0."""
    args = to_double(args)
    minus, here, plus = (inner(ybar, fn(*moved(args, directions, t))) for t in (-step, 0.0, step))
    return (here - minus) / step, (plus - minus) / (2 * step), (plus - here) / step


def shared_groups(args: tuple[Any, ...]) -> list[list[int]]:
    """Positions of the differentiable arguments; one object passed at several positions makes one group."""
    groups: dict[int, list[int]] = {}
    for position, arg in enumerate(args):
        if any(True for _ in leaves(arg)):
            by_identity = id(arg) if isinstance(arg, np.ndarray) else -position - 1
            groups.setdefault(by_identity, []).append(position)
    return list(groups.values())


def directions_for(args: tuple[Any, ...], group: list[int], rng: np.random.Generator) -> tuple[Any, ...]:
    """A random direction at the positions of the group, no movement anywhere else."""
    random = random_like(args[group[0]], rng, relative=True)
    return tuple(random if i in group else tangent_tree(lambda _: None, arg) for i, arg in enumerate(args))


# --- the checks ---------------------------------------------------------------------------------------------------


def assert_cotangent_fits(value: Any, cotangent: Any, where: str) -> None:
    """float for a float, a same-dtype same-shape ndarray for an array, None where there is no tangent."""
    if not is_differentiable(value) and children(value) is None:
        assert cotangent is None, f"{where}: {type(value).__name__} has no tangent, got {cotangent!r}"
    elif isinstance(value, np.ndarray):
        assert isinstance(cotangent, np.ndarray), f"{where}: expected an array, got {type(cotangent).__name__}"
        assert cotangent.dtype == value.dtype, f"{where}: dtype {cotangent.dtype}, expected {value.dtype}"
        assert cotangent.shape == value.shape, f"{where}: shape {cotangent.shape}, expected {value.shape}"
    elif (parts := children(value)) is not None:
        held = fields(value)
        if held is None:
            expected = cotangent_class(value)
            assert type(cotangent) is expected, f"{where}: expected {expected.__name__}, got {cotangent!r}"
        else:
            assert isinstance(cotangent, Mapping), f"{where}: expected the attributes, got {cotangent!r}"
            assert list(cotangent) == list(held), f"{where}: {list(cotangent)}, expected {list(held)}"
        got = children(cotangent) or []
        assert len(got) == len(parts), f"{where}: {len(got)} parts, expected {len(parts)}"
        for i, (part, bar) in enumerate(zip(parts, got, strict=True)):
            assert_cotangent_fits(part, bar, f"{where}[{i}]")
    elif type(value) in (float, complex):
        assert type(cotangent) is type(value), f"{where}: expected {type(value).__name__}, got {cotangent!r}"
    else:  # a NumPy scalar: its own type, or the Python type it stands for
        kinds: Any = (complex, np.complexfloating) if isinstance(value, np.complexfloating) else (float, np.floating)
        assert isinstance(cotangent, kinds), f"{where}: got {type(cotangent).__name__} for {type(value).__name__}"


def check_case(case: Case, alone: bool = True) -> None:
    """The whole contract of a derivative, on one case; raises AssertionError saying which part does not hold.

    `alone`: by each of its arguments alone too, for which it is derived once more each.
    """
    from mooncake_py import PullbackReuse, build_rrule, value_and_pullback

    rng = case.rng()
    before = bits(case.args)
    plain_args = case.fresh_args()
    plain = case.fn(*plain_args)
    ybar = random_like(plain, rng)

    args = case.fresh_args()
    y, pullback = value_and_pullback(case.fn, *args)
    assert same(y, plain), f"value {y!r}, plain Python gives {plain!r}"
    assert bits(args) == bits(plain_args), "the forward run left other arguments than the plain call"
    seed = bits(ybar)
    cotangents = pullback(ybar)
    assert bits(args) == before, "the pullback did not restore the arguments"
    assert bits(ybar) == seed, "the pullback wrote into the cotangent it was given"

    assert type(cotangents) is tuple and len(cotangents) == len(args), f"not one cotangent per argument: {cotangents!r}"
    for i, (arg, cotangent) in enumerate(zip(case.args, cotangents, strict=True)):
        assert_cotangent_fits(arg, cotangent, f"cotangent of argument {i}")
    reusable = getattr(pullback, "reusable", True)
    refusal = contextlib.nullcontext() if reusable else contextlib.suppress(PullbackReuse)
    with refusal:
        assert same(pullback(ybar), cotangents), "the pullback, called again: other cotangents"
    assert bits(args) == before, "the pullback, called again, did not restore the arguments"
    check_against_differences(case, cotangents, ybar, rng)

    rule = build_rrule(case.fn, *case.fresh_args())
    for attempt in ("first", "second"):
        again = case.fresh_args()
        y2, pullback2 = rule(*again)
        assert same(y2, plain), f"{attempt} call of the built rule: other value"
        assert same(pullback2(ybar), cotangents), f"{attempt} call of the built rule: other cotangents"
        assert bits(again) == before, f"{attempt} call of the built rule: arguments not restored"
    if alone:
        check_each_argument_alone(case, plain, rng)
    if isinstance(plain, float):  # a NumPy number too
        check_gradient_again(case)


def check_gradient_again(case: Case) -> None:
    """The gradient function takes a shorter way from the second call on: it must find the same."""
    from mooncake_py import value_and_grad

    active = tuple(i for i, arg in enumerate(case.args) if any(True for _ in leaves(arg)))
    gradient = value_and_grad(case.fn, active)
    value, first = gradient(*case.fresh_args())
    for _ in range(2):
        args = case.fresh_args()
        again, grads = gradient(*args)
        assert same(again, value), f"the gradient function, called again: value {again!r}, at first {value!r}"
        assert close(grads, first), f"the gradient function, called again: {grads!r}, at first {first!r}"
        assert bits(args) == bits(case.args), "the gradient function, called again, did not restore the arguments"


def check_against_differences(case: Case, cotangents: tuple[Any, ...], ybar: Any, rng: np.random.Generator) -> None:
    for group in shared_groups(case.args):
        directions = directions_for(case.args, group, rng)
        _, expected, _ = slopes(case.fn, case.args, directions, ybar, case.step)
        got = sum(inner(cotangents[i], directions[i]) for i in group)
        terms = sum(magnitude(cotangents[i], directions[i]) for i in group)
        tolerance = case.rtol * max(abs(expected), terms, 1e-3)
        assert abs(got - expected) <= tolerance, f"argument {group}: <xbar, v> = {got!r}, differences give {expected!r}"


def check_each_argument_alone(case: Case, plain: Any, rng: np.random.Generator) -> None:
    """With one active argument at a time `value_and_grad` must agree: what is inactive must not leak into the rest."""
    if type(plain) is not float and not isinstance(plain, np.floating):
        return
    from mooncake_py import value_and_grad

    before = bits(case.args)
    groups = shared_groups(case.args)
    positions = [group[0] for group in groups if len(group) == 1]
    for position in positions:
        args = case.fresh_args()
        value, gradient = value_and_grad(case.fn, argnums=position)(*args)
        assert same(value, plain), f"argnums={position}: value {value!r}, plain Python gives {plain!r}"
        assert bits(args) == before, f"argnums={position}: arguments not restored"
        assert_cotangent_fits(case.args[position], gradient, f"argnums={position}")
        directions = directions_for(case.args, [position], rng)
        _, expected, _ = slopes(case.fn, case.args, directions, 1.0, case.step)
        got = inner(gradient, directions[position])
        tolerance = case.rtol * max(abs(expected), magnitude(gradient, directions[position]), 1e-3)
        assert abs(got - expected) <= tolerance, f"argnums={position}: {got!r}, differences give {expected!r}"
