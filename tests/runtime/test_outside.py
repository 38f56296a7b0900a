"""State outside the arguments: as after a plain call, and what is read back of it keeps its derivative."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad
from tests.runtime.outside import check_state

LOG: list[Any] = []
TABLE: dict[str, Any] = {}


class Settings:
    """A class whose attributes are written to."""

    last: Any = None
    history: list[Any] = []  # noqa: RUF012

    def keep(self, x: Any) -> Any:
        self.history.append(x * x)
        type(self).history[0] *= 2.0
        return self.history[0]


class Model:
    """A callable object, which is data all the same."""

    def __init__(self) -> None:
        self.cache: Any = None
        self.trace: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.trace.append(2.0 * x)
        self.cache = x * x
        return self.cache + self.trace[-1]


MODEL = Model()
MODULE: Any = types.ModuleType("module_of_a_user")


def reset() -> None:
    LOG.clear()
    TABLE.clear()
    Settings.last = None
    Settings.history.clear()
    MODEL.cache, MODEL.trace = None, []
    MODULE.items, MODULE.value = [1.0], 1.0


def state() -> Any:
    kept = (LOG, TABLE, Settings.last, Settings.history, MODEL.cache, MODEL.trace, MODULE.items, MODULE.value)
    return copy.deepcopy(kept)


def log_of_records(x):
    record = {"x": x}
    LOG.append(record)
    record["loss"] = x * x
    record["x"] *= 2.0
    return record["loss"] * record["x"]


def lists_put_into_a_list(x):
    LOG.append([x])
    LOG[-1].append(x * 2.0)
    LOG[0][0] *= 3.0
    return sum(LOG[-1])


def arrays_put_into_a_dict(x):
    a = np.array([x, x])
    TABLE["a"] = a
    a *= 2.0
    TABLE["more"] = {"z": [a[0]]}
    TABLE["more"]["z"].append(x)
    return a.sum() * TABLE["more"]["z"][1]


def objects_put_into_a_list(x):
    made = types.SimpleNamespace(v=x)
    LOG.append(made)
    made.v *= 3.0
    made.items = [x]
    made.items.append(1.0)
    return made.v * x


def attribute_of_a_class(x):
    Settings.last = x * 2.0
    return Settings.last * x


def list_of_a_class(x):
    Settings.history.append(x)
    return Settings.history[-1] * x


def list_of_a_class_through_an_instance(x):
    return Settings().keep(x) * x


def list_of_a_module(x):
    MODULE.items.append(x)
    MODULE.items[0] = x * x
    return MODULE.items[0] * MODULE.items[-1]


def attribute_of_a_module(x):
    MODULE.value = x * x
    return MODULE.value * x


def attribute_of_a_callable_object(x):
    MODEL.cache = {}
    MODEL.cache["a"] = x * x
    return MODEL.cache["a"] + MODEL(x) * len(MODEL.trace)


def read_back_from_a_callable_object(x):
    MODEL(x)
    return MODEL.cache * MODEL.trace[0]


@pytest.mark.parametrize("f", [
    log_of_records, lists_put_into_a_list, arrays_put_into_a_dict, objects_put_into_a_list, attribute_of_a_class,
    list_of_a_class, list_of_a_class_through_an_instance, list_of_a_module, attribute_of_a_module,
    attribute_of_a_callable_object, read_back_from_a_callable_object,
])  # fmt: skip
def test_state_is_as_after_a_plain_call(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, state)


def test_closures_over_callable_objects() -> None:
    model = Model()

    def f(x):
        def inner():
            model.cache = x * x

        inner()
        return model.cache * model(x)

    assert grad(f)(1.5) == pytest.approx(4 * 1.5**3 + 6 * 1.5**2)
