"""Objects that the function makes and that keep containers and objects from outside: what is written to these through
them stays there, and keeps its derivative."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import mooncake_py
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.run import Wary
from tests.runtime.outside import check_state

SETTINGS: Any = {"rate": 0.5}
ITEMS: Any = [1.0, 2.0]


class Box:
    def __init__(self, v):
        self.v = v

    def bump(self, x):
        self.v = self.v + x


BOX: Any = Box(1.5)


class Keeper:
    def __init__(self, w, kept):
        self.w, self.kept = w, kept

    def put(self, x):
        self.kept["rate"] = x

    def get(self):
        return self.kept["rate"]

    def append(self, x):
        self.kept.append(x)

    def bump(self, x):
        self.kept.bump(x)

    def scale(self, x):
        box = self.kept
        box.v = box.v * x

    def itself(self):
        return self

    def attribute(self, name):
        return getattr(self, name)


class Derived(Keeper):
    def __init__(self, w, kept):
        super().__init__(w, kept)


class ByProperty:
    def __init__(self, kept):
        self.kept = kept

    @property
    def kept(self):
        return self._kept

    @kept.setter
    def kept(self, v):
        self._kept = v


@dataclass
class Record:
    w: float
    kept: Any

    def put(self, x):
        self.kept["rate"] = x


@dataclass(frozen=True)
class Frozen:
    w: float
    kept: Any

    def put(self, x):
        self.kept["rate"] = x


class Matched:
    __match_args__ = ("kept",)

    def __init__(self, kept):
        self.kept = kept

    def put(self, x):
        match self:
            case Matched(kept=found):
                found["rate"] = x


class Gives:
    def __init__(self, kept):
        self.kept = kept

    def __iter__(self):
        yield self.kept

    def __getitem__(self, i):
        return self.kept

    def __call__(self):
        return self.kept

    def __enter__(self):
        return self.kept

    def __exit__(self, *_):
        pass

    def __add__(self, other):
        return self.kept


def by_method(x):
    k = Keeper(x, SETTINGS)
    k.put(x * x)
    return SETTINGS["rate"] * 2.0 + k.get()


def appended(x):
    Keeper(x, ITEMS).append(x * x)
    return sum(ITEMS)


def by_method_of_what_is_kept(x):
    Keeper(x, BOX).bump(x * x)
    return BOX.v * x


def by_another_name(x):
    Keeper(x, BOX).scale(x)
    return BOX.v


def of_itself(x):
    Keeper(x, SETTINGS).itself().kept["rate"] = x**3
    return SETTINGS["rate"]


def by_computed_name(x):
    Keeper(x, SETTINGS).attribute("kept")["rate"] = x**3
    return SETTINGS["rate"]


def of_a_derived_class(x):
    Derived(x, SETTINGS).put(x * 2.0)
    return SETTINGS["rate"]


def by_property(x):
    ByProperty(SETTINGS).kept["rate"] = x * 2.0
    return SETTINGS["rate"]


def nested(x):
    outer = Keeper(x, Keeper(x, BOX))
    outer.kept.kept.v = x * 7.0
    return BOX.v


def of_a_data_class(x):
    Record(x, SETTINGS).put(x * 3.0)
    return SETTINGS["rate"]


def of_a_frozen_class(x):
    Frozen(x, SETTINGS).put(x * 3.0)
    return SETTINGS["rate"]


def by_pattern(x):
    Matched(SETTINGS).put(x * 3.0)
    return SETTINGS["rate"]


def of_a_copy(x):
    copy.copy(Keeper(x, SETTINGS)).kept["rate"] = x * 3.0
    return SETTINGS["rate"]


def out_of_a_list(x):
    keepers = [Keeper(x, SETTINGS), Keeper(x, ITEMS)]
    keepers[0].kept["rate"] = x * 4.0
    return SETTINGS["rate"]


def by_closure(x):
    k = Keeper(x, SETTINGS)

    def put():
        k.kept["rate"] = x * 5.0

    put()
    return SETTINGS["rate"]


def by_getter(x):
    operator.attrgetter("kept")(Keeper(x, BOX)).v = x * 2.0
    return BOX.v


def by_dict(x):
    vars(Keeper(x, SETTINGS))["kept"]["rate"] = x * 2.0
    return SETTINGS["rate"]


def set_later(x):
    k = Keeper(x, None)
    k.kept = SETTINGS
    k.put(x * 2.0)
    return SETTINGS["rate"]


def made_by_a_function(x):
    def made(kept):
        return Keeper(x, kept)

    made(SETTINGS).put(x * x)
    return SETTINGS["rate"]


def gone_over(x):
    for kept in Gives(SETTINGS):
        kept["rate"] = x * 2.0
    return SETTINGS["rate"]


def an_item(x):
    Gives(SETTINGS)[0]["rate"] = x * 2.0
    return SETTINGS["rate"]


def called(x):
    Gives(SETTINGS)()["rate"] = x * 2.0
    return SETTINGS["rate"]


def entered(x):
    with Gives(SETTINGS) as kept:
        kept["rate"] = x * 2.0
    return SETTINGS["rate"]


def by_operator(x):
    kept = Gives(SETTINGS) + 1
    kept["rate"] = x * 2.0
    return SETTINGS["rate"]


WRITING = (
    *(by_method, appended, by_method_of_what_is_kept, by_another_name, of_itself, by_computed_name, of_a_derived_class),
    *(by_property, nested, of_a_data_class, of_a_frozen_class, by_pattern, of_a_copy, out_of_a_list, by_closure),
    *(by_getter, by_dict, set_later, made_by_a_function, gone_over, an_item, called, entered, by_operator),
)


@pytest.fixture(autouse=True)
def as_before() -> None:
    reset()


def reset() -> None:
    SETTINGS.clear()
    SETTINGS["rate"] = 0.5
    ITEMS[:] = [1.0, 2.0]
    BOX.v = 1.5


def state() -> Any:
    return dict(SETTINGS), list(ITEMS), BOX.v


@pytest.mark.parametrize("objects", (True, False))
@pytest.mark.parametrize("f", WRITING)
def test_what_is_written_through_objects_that_are_made(f: Callable[[float], float], objects: bool) -> None:
    with mooncake_py.options(objects=objects):
        check_state(f, reset, state)


def only_read(x):
    k = Keeper(x, SETTINGS)
    return k.w * k.get()


def only_called(x):
    k = Keeper(x, BOX)
    return k.w * k.kept.v


@pytest.mark.parametrize("f", (only_read, only_called))
def test_what_is_only_read_is_no_write(f: Callable[[float], float]) -> None:
    assert may_write_outside(f) is Wary.NOTHING  # type: ignore[arg-type]
    check_state(f, reset, state)
