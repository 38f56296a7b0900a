"""Which functions may change what they find outside: too many and they are slow, too few and they are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from reprlib import recursive_repr
from typing import Any

import numpy as np
import pytest

from mooncake_py import UnsupportedError, inspect, registry, value_and_grad
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.run import NAMES
from tests.zoo import tables

TABLE = [1.0, 2.0, 3.0]
ROWS = [[1.0], [2.0]]
SETTINGS = {"rate": 0.1}
HOLDER: Any = None


class Model:
    def __init__(self) -> None:
        self.k, self.seen = 2.0, []

    def fit(self, x):
        self.k = x
        self.seen.append(x)

    def predict(self, x):
        return self.k * x

    def step(self, x):
        return self._count(x)

    def _count(self, x):
        self.seen.append(1)
        return x

    @property
    def gain(self):
        return self.k

    @gain.setter
    def gain(self, v):
        self.k = v


@dataclass
class Made:
    sums: np.ndarray = field(default_factory=lambda: np.zeros(2))
    seen: list = field(default_factory=list)


MODEL = Model()


def goes_through(x):
    return sum([v * x for v in TABLE])


def goes_through_with_a_generator(x):
    return sum(v * x for v in TABLE) * max(v for v in SETTINGS.values())


def goes_through_with_a_list(x):
    out = []
    for i, (v, w) in enumerate(zip(TABLE, SETTINGS.values(), strict=False)):
        out.append(v * w * x + i)
    return sum(out)


def copies(x):
    table, settings = list(TABLE), SETTINGS.copy()
    table.append(x)
    settings.update(x=x)
    more = [x]
    more += TABLE
    more.append(x)
    return sum(table) * settings["x"] + more[1]


def uses_the_model(x):
    return MODEL.predict(x) * MODEL.gain


def makes_a_data_class(x):
    made = Made()
    made.sums[0] += x
    made.seen.append(x)
    return made.sums[0] * made.seen[0]


def appends(x):
    table = TABLE
    table.append(1.0)
    return x


def writes_one_of_two(x):
    held = TABLE if x > 0 else MODEL.seen
    held[0] = 1.0
    return x


def appends_in_a_display(x):
    for held in [TABLE]:
        held.append(2.0)
    return x


def appends_to_rows(x):
    for row in ROWS:
        row.append(1.0)
    return x


def hands_on(x):
    return change(TABLE) + x


def change(xs):
    xs.append(1.0)
    return 0.0


def keeps(x):
    d = {}
    d["table"] = TABLE
    d["table"].append(1.0)
    return x


def gets_from_a_function(x):
    def inner():
        return TABLE

    inner().append(1.0)
    return x


def greatest(x):
    most = max(TABLE, [0.0])
    most[0] = 2.0
    return x


def fits_the_model(x):
    MODEL.fit(2.0)
    return MODEL.k * x


def steps(x):
    return MODEL.step(x)


def sets_a_property(x):
    MODEL.gain = 3.0
    return x


def by_a_name(x, name="step"):
    return getattr(MODEL, name)(x)


@dataclass
class Layer:
    weight: float
    bias: float = 0.1


@dataclass
class Counted:
    shown: int = 0

    @recursive_repr()
    def __repr__(self):
        self.shown += 1
        return f"shown {self.shown} times"


LAYERS = [Layer(0.5), Layer(1.5)]
COUNTED = Counted()


def reads_data_classes(x):
    for layer in LAYERS:
        x = x * layer.weight + layer.bias
    return x


def shows_what_counts(x):
    return x * LAYERS[0].weight * len(repr(COUNTED))


class Node:
    def __init__(self, v, *below):
        self.v, self.below, self.seen = v, below, 0


TREE = Node(1.0, Node(2.0, Node(3.0)), Node(4.0))
NESTED = {"v": 1.0, "below": [{"v": 2.0, "below": []}, {"v": 3.0, "below": []}]}


def total(n, x):
    t = 0.0
    for k in n.below:
        t += total(k, x * 0.9)
    return n.v * x + t


def total_of_dicts(d, x, *, scale=1.0):
    return scale * d["v"] * x + sum(total_of_dicts(k, x, scale=0.5) for k in d["below"])


def hands_on_a_tree(x):
    return total(TREE, x)


def hands_on_nested_dicts(x):
    return total_of_dicts(NESTED, x)


def hands_on_to_its_own_function(x):
    def below(n):
        return [k.v * x for k in n.below]

    return sum(below(TREE))


def goes_through_a_tree_with_a_stack(x):
    stack, t = [TREE], 0.0
    while stack:
        n = stack.pop()
        t += n.v * x
        for k in n.below:
            stack.append(k)
    return t


def mark(n):
    n.seen += 1
    return n


def mark_by_name(*, node):
    node.seen += 1


def mark_all(*nodes):
    for n in nodes:
        n.seen += 1


def itself(n):
    return n


def each(n):
    yield n


def push(stack, n):
    stack.append(n)


def marks_in_a_callee(x):
    mark(TREE)
    return x


def marks_by_a_keyword(x):
    mark_by_name(node=TREE)
    return x


def marks_all(x):
    mark_all(TREE)
    return x


def marks_what_a_callee_gives(x):
    itself(TREE).seen += 1
    return x


def marks_what_a_generator_gives(x):
    for n in each(TREE):
        n.seen += 1
    return x


def marks_in_its_own_function(x):
    def inner(n):
        n.seen += 1

    inner(TREE)
    return x


def marks_what_is_on_a_stack(x):
    stack = [TREE]
    while stack:
        n = stack.pop()
        n.seen += 1
        for k in n.below:
            stack.append(k)
    return x


def marks_by_another_name_of_a_list(x):
    nodes = []
    again = nodes
    nodes.append(TREE)
    for n in again:
        n.seen += 1
    return x


def marks_in_a_list_made_later(x):
    nodes = None
    for _ in range(2):
        if nodes is None:
            nodes = []
        nodes.append(TREE)
    nodes[1].seen += 1
    return x


def marks_in_a_list_in_a_list(x):
    inner = [1]
    outer = [inner]
    inner.append(TREE)
    outer[0][1].seen += 1
    return x


def marks_what_was_added(x):
    nodes = [] + [TREE] * 2
    nodes[0].seen += 1
    return x


def marks_what_is_sorted(x):
    sorted(NESTED["below"], key=lambda d: d["v"])[0]["seen"] = 1
    return x


def marks_what_a_callee_puts_there(x):
    nodes = []
    push(nodes, TREE)
    nodes[0].seen += 1
    return x


READS = [
    *(goes_through, goes_through_with_a_generator, goes_through_with_a_list, copies),
    *(uses_the_model, makes_a_data_class, reads_data_classes),
    *(hands_on_a_tree, hands_on_nested_dicts, hands_on_to_its_own_function, goes_through_a_tree_with_a_stack),
]
WRITES = [
    *(appends, writes_one_of_two, appends_in_a_display, appends_to_rows, hands_on, keeps, gets_from_a_function),
    *(greatest, fits_the_model, steps, sets_a_property, by_a_name, shows_what_counts),
    *(marks_in_a_callee, marks_by_a_keyword, marks_all, marks_what_a_callee_gives, marks_what_a_generator_gives),
    *(marks_in_its_own_function, marks_what_is_on_a_stack, marks_by_another_name_of_a_list),
    *(marks_in_a_list_made_later, marks_in_a_list_in_a_list, marks_what_was_added, marks_what_is_sorted),
    marks_what_a_callee_puts_there,
]


@pytest.mark.parametrize("f", READS, ids=lambda f: f.__name__)
def test_functions_that_only_read(f: Callable[[Any], Any]) -> None:
    registry.load_packs()
    assert not may_write_outside(f)
    y, d = value_and_grad(f)(1.5)
    assert y == f(1.5)
    assert d == pytest.approx((f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_functions_that_may_write(f: Callable[[Any], Any]) -> None:
    registry.load_packs()
    assert may_write_outside(f)


def test_bound_methods_are_asked_for_by_name() -> None:
    model = Model()
    assert not may_write_outside(Model.predict, (model,))  # type: ignore[arg-type]
    assert may_write_outside(Model.step, (model,))  # type: ignore[arg-type]
    assert value_and_grad(model.predict)(3.0) == (6.0, 2.0)
    assert value_and_grad(model.step)(3.0) == (3.0, 1.0)
    assert model.seen == [1]


CHANGING: list[Any] = [1.0, 2.0]


def appends_to_lists_in_it(x):
    for row in CHANGING:
        if isinstance(row, list):
            row.append(x)
    return x * len(CHANGING)


def test_what_a_container_holds_is_looked_at_again() -> None:
    registry.load_packs()
    assert not may_write_outside(appends_to_lists_in_it)
    CHANGING[:] = [[], []]
    assert may_write_outside(appends_to_lists_in_it)
    assert value_and_grad(appends_to_lists_in_it)(2.0) == (4.0, 2.0)
    assert CHANGING == [[2.0], [2.0]]


def test_a_name_that_stands_for_a_container_later_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(x):
        HOLDER[0] = x
        return x

    monkeypatch.setitem(globals(), "HOLDER", (1.0,))
    assert not may_write_outside(write)
    monkeypatch.setitem(globals(), "HOLDER", [1.0])
    assert may_write_outside(write)
    monkeypatch.setitem(globals(), "HOLDER", np.sin)
    assert not may_write_outside(write)


def test_closures_of_one_function_are_not_confused() -> None:
    def over(rows):
        def f(x):
            for row in rows:
                if isinstance(row, list):
                    row.append(x)
            return x * len(rows)

        return f

    rows: list[list[float]] = [[], []]
    assert value_and_grad(over([1.0, 2.0]))(2.0) == value_and_grad(over(rows))(2.0) == (4.0, 2.0)
    assert rows == [[2.0], [2.0]]


def test_closures_that_captured_other_functions_are_not_confused() -> None:
    def calling(g):
        return lambda x: g(x)

    counts = {"n": 0.0}

    def keeps(x):
        counts["n"] = x * x
        return counts["n"] * x

    assert value_and_grad(calling(appends_nothing))(2.0) == (4.0, 2.0)
    assert value_and_grad(calling(keeps))(2.0) == (8.0, 12.0)
    assert counts == {"n": 4.0}


def appends_nothing(x):
    return 2.0 * x


def reads_another_module(x):
    return sum([b.energy() * x for b in tables.OBJECTS]) + tables.WEIGHTS[0] * tables.BODIES["sun"][2] * x


def sets_a_name_of_another_module(x):
    tables.SCALE = x
    return x


def sets_it_by_a_word(x):
    setattr(tables, "SCALE", x)  # noqa: B010
    return x


@pytest.mark.parametrize("f", [sets_a_name_of_another_module, sets_it_by_a_word])
def test_names_of_modules_that_are_set(f: Callable[..., Any]) -> None:
    assert may_write_outside(f) is NAMES


def test_data_of_another_module_has_its_type() -> None:
    seen = inspect(reads_another_module, 1.3)
    assert not any(c.kind == "dynamic" for c in seen.stages["inferred"].calls.values())
    assert seen.inferred.wary < NAMES


def test_a_rule_relies_on_what_another_module_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return tables.WEIGHTS[0] * x * x

    assert value_and_grad(f)(2.0) == (2.0, 2.0)
    monkeypatch.setattr(tables, "WEIGHTS", [np.float32(3.0)])
    assert value_and_grad(f)(2.0) == (12.0, 12.0)
    monkeypatch.setattr(tables, "WEIGHTS", {0: 3})
    assert value_and_grad(f)(2.0) == (12.0, 12.0)


def test_a_module_that_is_not_named_keeps_its_names() -> None:
    def f(x, module):
        module.WEIGHTS = [1.0]
        return tables.WEIGHTS[0] * x

    with pytest.raises(UnsupportedError, match="setting 'WEIGHTS' of module"):
        value_and_grad(f)(2.0, tables)
    assert len(tables.WEIGHTS) == 3
