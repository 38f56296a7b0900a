"""Objects from outside that a run writes to: by all their names what was written, with its derivative, as in Python."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad, options, value_and_grad
from tests.runtime.outside import check_state

SWITCHES = ("specialise", "recompute", "trip_counts", "activity", "stack_folding", "objects", "tidy")


class Vec:
    def __init__(self, x: Any, y: Any):
        self.x, self.y = x, y

    def plus(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def grow(self, k: Any) -> None:
        self.x *= k


class Slotted:
    __slots__ = ("n", "value")

    def __init__(self) -> None:
        self.n, self.value = 0, 1.0


class Watched:
    count = 0

    def __init__(self) -> None:
        self.__dict__["log"] = []
        self.v = 1.0

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(name)
        object.__setattr__(self, name, value)


class Metered:
    made = 0
    scale = 1.0

    def __init__(self, a: Any):
        Metered.made += 1
        self.a = a

    @classmethod
    def tune(cls, k: Any) -> None:
        cls.scale = k

    @property
    def square(self) -> Any:
        return self.scale * self.a * self.a


@dataclass
class Trainer:
    rate: float = 0.1
    steps: int = 0
    best: Any = None
    losses: list[Any] = field(default_factory=list)
    weights: Any = None

    def step(self, w: Any) -> Any:
        loss = np.sum(w**2)
        self.losses.append(loss)
        self.steps += 1
        if self.best is None or loss < self.best:
            self.best = loss
        self.weights = w - self.rate * 2.0 * w
        return self.weights


class World:
    """All that the functions below write to, made anew before each call."""

    def __init__(self) -> None:
        self.vec = self.other = Vec(2.0, 3.0)
        self.held = {"v": self.vec, "list": [self.vec]}
        self.log: list[Any] = []
        self.recent: deque[Any] = deque(maxlen=2)
        self.slotted, self.watched, self.trainer = Slotted(), Watched(), Trainer()
        self.memo: dict[Any, Any] = {}


W = World()
VEC = OTHER = HELD = LOG = RECENT = SLOTTED = WATCHED = TRAINER = MEMO = None  # type: Any


def reset() -> None:
    global W
    W = World()
    g = globals()
    for name, value in vars(W).items():
        g["OTHER" if name == "other" else name.upper()] = value
    Metered.made, Metered.scale = 0, 1.0


def state() -> str:
    names = ("VEC", "HELD", "LOG", "RECENT", "SLOTTED", "WATCHED", "TRAINER", "MEMO")
    return repr([plain(globals()[n]) for n in names]) + repr((Metered.made, Metered.scale, VEC is OTHER))


def plain(x: Any) -> Any:
    """What is in it, in words."""
    if isinstance(x, (list, deque, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, Slotted):
        return ["Slotted", x.n, plain(x.value)]
    if hasattr(x, "__dict__"):
        return [type(x).__name__, plain(vars(x))]
    return np.round(x, 9).tolist() if isinstance(x, (float, np.ndarray, np.floating)) else x


def far(o: Any, x: Any, n: int) -> Any:
    """Writes, in a function that calls itself and so is not taken into its callers."""
    if n == 0:
        o.x = o.x * x
        return o.y
    return far(o, x, n - 1)


def far_by_name(x: Any, n: int) -> Any:
    if n == 0:
        VEC.x = np.array([x, x * x])
        return x
    return far_by_name(x, n - 1)


def by_two_names(x):
    VEC.x = x * x
    OTHER.x = OTHER.x + VEC.x
    return VEC.x * x


def through_a_dict(x):
    HELD["v"].x = x
    HELD["list"][0].grow(x)
    return VEC.x + OTHER.y


def type_changes_by_another_name(x):
    OTHER.x = np.array([x, 2.0 * x])
    VEC.x *= x
    return np.sum(VEC.x)


def changed_by_a_call(x):
    VEC.x = x
    y = far(OTHER, x, 2)
    return VEC.x * y


def changed_by_a_call_that_is_given_nothing(x):
    VEC.x = x
    y = far_by_name(x, 2)
    return np.sum(VEC.x) * y


def counters(x):
    total = 0.0
    for i in range(5):
        SLOTTED.n += 1
        SLOTTED.value = SLOTTED.value * x
        total += math.sin(x * i) * SLOTTED.value
    return total * SLOTTED.n


def setter_hook(x):
    WATCHED.v = x * x
    WATCHED.v = WATCHED.v * 2.0
    WATCHED.extra = [x]
    WATCHED.extra.append(WATCHED.v)
    return sum(WATCHED.extra) * len(WATCHED.log)


def class_counters(x):
    total = 0.0
    for i in range(3):
        total += Metered(x * i).square
    return total * Metered.made


def class_attribute_read_by_objects(x):
    m = Metered(x)
    before = m.square
    Metered.tune(x * 3.0)
    return before + m.square * Metered(2.0).square


def training(x):
    w = np.array([x, 2.0 * x])
    for _ in range(4):
        w = TRAINER.step(w)
    return np.sum(w) + TRAINER.best * TRAINER.steps + TRAINER.losses[1]


def new_objects_kept_outside(x):
    v = Vec(x, 1.0)
    LOG.append(v)
    HELD["new"] = v
    LOG[0].x *= x
    HELD["new"].y = x
    v.grow(2.0)
    return v.x * v.y + LOG[-1].x


def new_object_in_an_attribute(x):
    TRAINER.weights = Vec(x, x * x)
    TRAINER.weights.grow(x)
    inner = TRAINER.weights
    inner.y += inner.x
    return TRAINER.weights.y + far(TRAINER.weights, x, 1) * inner.x


def new_objects_beside(x):
    v = Vec(x, 1.0)
    for i in range(4):
        v = v.plus(Vec(x * i, 2.0))
        LOG.append((i, v.x))
        RECENT.append(v.x * x)
    return v.x * v.y + RECENT[0] * LOG[1][1]


def memo_of_values(x):
    def power(n):
        if n not in MEMO:
            MEMO[n] = x if n == 0 else power(n - 1) * x
        return MEMO[n]

    return power(3) + power(2)


def an_exception_half_way(x):
    try:
        VEC.x = x * x
        LOG.append(VEC.x)
        raise KeyError(VEC.x)
    except KeyError as e:
        VEC.y = e.args[0] * 2.0
    return VEC.x * OTHER.y


def attributes_come_and_go(x):
    VEC.z = x
    del VEC.x
    try:
        OTHER.x  # noqa: B018
    except AttributeError:
        OTHER.x = VEC.z * x
    return VEC.x + getattr(VEC, "nothing", x)


def setattr_by_name(x):
    for i, name in enumerate(("x", "y", "w")):
        setattr(VEC, name, x**i)
        LOG.append(getattr(OTHER, name))
    return VEC.w + sum(LOG)


def swapped_lists(x):
    TRAINER.losses, HELD["list"] = HELD["list"], TRAINER.losses
    HELD["list"].append(x)
    TRAINER.losses[0].x = HELD["list"][0] * x
    return VEC.x


def restored_at_the_end(x):
    old = VEC.x
    VEC.x = x
    y = VEC.x * OTHER.x
    VEC.x = old
    return y * VEC.x


FUNCTIONS = [
    by_two_names, through_a_dict, type_changes_by_another_name, changed_by_a_call, new_objects_kept_outside,
    changed_by_a_call_that_is_given_nothing, counters, setter_hook, class_counters, class_attribute_read_by_objects,
    training, new_object_in_an_attribute, new_objects_beside, memo_of_values, an_exception_half_way,
    attributes_come_and_go, setattr_by_name, swapped_lists, restored_at_the_end,
]  # fmt: skip


def check(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, state)
    reset()


@pytest.mark.parametrize("f", FUNCTIONS)
def test_as_python_does_it(f: Callable[[Any], Any]) -> None:
    check(f)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_without_optimisations(f: Callable[[Any], Any]) -> None:
    with options(**dict.fromkeys(SWITCHES, False)):
        check(f)


def test_an_argument_that_is_outside_too() -> None:
    def f(x: Any, v: Any) -> Any:
        VEC.x = x * x
        v.y = v.x * 2.0
        return OTHER.y * v.x

    reset()
    assert grad(lambda x: f(x, VEC))(1.5) == pytest.approx(8.0 * 1.5**3)
    reset()
    dx, dv = value_and_grad(f, (0, 1))(1.5, VEC)[1]
    assert dx == pytest.approx(8.0 * 1.5**3)
    assert dv.x == 0.0


def test_a_bound_method_of_an_object_with_two_names() -> None:
    reset()

    def step(x: Any) -> Any:
        OTHER.grow(x)
        return VEC.x * x

    assert grad(step)(1.5) == pytest.approx(2.0 * 2.0 * 1.5)
    assert VEC.x == 3.0
    grown = VEC.grow
    assert grad(lambda x: grown(x) or VEC.x)(2.0) == 3.0
    assert VEC.x == 6.0
