"""What is written outside by one name and read by another: dicts of attributes, cells, partials, exceptions, views."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from mooncake_py import UnsupportedError, value_and_grad
from tests.runtime.outside import check_state

Program = tuple[Callable[[Any], Any], Callable[[], None], Callable[[], Any]]
"""A function, what puts what it changes back, and what tells of that."""
SCALED = functools.partial(lambda a, b=1.0: a * b, b=2.0)
NUMBER = 1.0


class Plain:
    pass


class AttrDict(dict):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.__dict__ = self


class Shared:
    state: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.__dict__ = Shared.state


def put(p, v):
    p.keywords["b"] = v


def keywords_of_a_global_partial() -> Program:
    def f(x):
        SCALED.keywords["b"] = x
        return SCALED(3.0) * x

    return f, lambda: SCALED.keywords.update(b=2.0), lambda: SCALED.keywords["b"]


def keywords_set_by_another_function() -> Program:
    def f(x):
        put(SCALED, x)
        return SCALED(3.0) * SCALED.keywords["b"]

    return f, lambda: SCALED.keywords.update(b=2.0), lambda: SCALED.keywords["b"]


def a_captured_class() -> Program:
    class Settings:
        w = 1.0

    def f(x):
        Settings.w = x * x
        return vars(Settings)["w"] * Settings().w

    return f, lambda: setattr(Settings, "w", 1.0), lambda: Settings.w


def a_property_of_a_metaclass() -> Program:
    class Meta(type):
        @property
        def w(cls):
            return cls.kept

        @w.setter
        def w(cls, v):
            cls.kept = v

    class Settings(metaclass=Meta):
        kept = 1.0

    def f(x):
        Settings.w = x * x
        return Settings.w * Settings.kept

    return f, lambda: setattr(Settings, "kept", 1.0), lambda: Settings.kept


def attributes_of_a_function() -> Program:
    def g():
        return g.w

    def f(x):
        vars(g)["w"] = x * x
        return g() * g.w

    return f, lambda: setattr(g, "w", 1.0), lambda: g.w


def the_dict_of_an_object() -> Program:
    n = Plain()
    n.w, n.u = 1.0, 1.0
    d, store = vars(n), vars(n).__setitem__

    def f(x):
        d["w"] = x * x
        y = n.w
        n.u = x
        store("w", x * y)
        return y * n.w * d["u"]

    def reset():
        n.w, n.u = 1.0, 1.0

    return f, reset, lambda: d


def items_that_are_attributes() -> Program:
    d: Any = AttrDict(a=1.0, inner=AttrDict(b=2.0))

    def f(x):
        d.a = x * x
        d["inner"]["b"] = d["a"] * x
        return d["a"] * d.inner.b * d.a

    def reset():
        d.a, d.inner.b = 1.0, 2.0

    return f, reset, lambda: d


def attributes_that_all_objects_of_a_class_share() -> Program:
    def f(x):
        first: Any = Shared()
        first.v *= x
        second: Any = Shared()
        second.w = x
        return first.w * second.v * Shared.state["v"] * x

    def reset():
        Shared.state.clear()
        Shared.state["v"] = 2.0

    return f, reset, lambda: Shared.state


def a_constant_over_an_attribute_of_a_class() -> Program:
    class Settings:
        w = 1.0

        @classmethod
        def put(cls, v):
            cls.w = v

    class Special(Settings):
        pass

    def f(x):
        Settings.w = x
        y = Settings.w
        Settings.w = 2.0
        y *= Settings.w * x
        Settings.put(x * x)
        y += Settings.w
        Settings.put(3.0)
        Special.w = x
        y *= Special.w * Settings.w
        del Special.w
        return y * Special.w

    return f, lambda: setattr(Settings, "w", 1.0), lambda: (Settings.w, "w" in vars(Special))


def a_constant_over_an_attribute_of_a_function() -> Program:
    def g():
        return g.w

    def f(x):
        g.w = x
        y = g()
        del g.w
        g.w = 2.0
        return y * g() * g.w * x

    return f, lambda: setattr(g, "w", 1.0), lambda: g.w


def the_content_of_a_cell() -> Program:
    w: Any = [1.0]

    def get():
        return w

    def store(v):
        nonlocal w
        w = v

    cell = get.__closure__[0]  # type: ignore[index]

    def f(x):
        cell.cell_contents = [x * x]
        cell.cell_contents.append(x)
        y = get()[0] * get()[1]
        store([x])
        return y * cell.cell_contents[0]

    return f, lambda: store([1.0]), get


def attributes_of_an_exception() -> Program:
    e = ValueError("a")

    def f(x):
        e.w = x * x
        return e.__dict__["w"] * vars(e)["w"]

    return f, lambda: setattr(e, "w", 1.0), lambda: e.w


def what_an_exception_gives_of_its_arguments() -> Program:
    def f(x):
        r = 0.0
        for k in range(3):
            try:
                if k == 0:
                    raise SystemExit(x * x)
                if k == 1:
                    raise SystemExit(x, 2.0 * x)
                raise OSError(3.0 * x, "e")
            except SystemExit as e:
                r += e.code * x if k == 0 else e.code[0] * e.code[1]
            except OSError as e:
                r += e.errno * x
        return r

    return f, lambda: None, lambda: None


def a_cached_function() -> Program:
    held = [1.0]

    @functools.lru_cache
    def g(k):
        return held[0] * k

    def f(x):
        held[0] = x
        return g(2) * x

    def reset():
        g.cache_clear()
        held[0] = 1.0

    return f, reset, lambda: held


def measured_before_it_is_listed() -> Program:
    log: list[Any] = []

    class Pair:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            log.append(2.0 * self.x)
            return iter([self.x, 2.0])

        def __len__(self):
            log.append(self.x)
            return 2

    def f(x):
        items = list(Pair(x))
        items.extend(Pair(x * x))
        return sum(items) * sum(tuple(Pair(x))) * sum(log) * sum(Pair(x))

    return f, log.clear, lambda: log


def hinted_before_it_is_listed() -> Program:
    log: list[Any] = []

    class Hinted:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            return iter([self.x, 2.0])

        def __length_hint__(self):
            log.append(3.0 * self.x)
            return 2

    def f(x):
        return sum(list(Hinted(x))) * sum([*Hinted(x)]) * sum(log)

    return f, log.clear, lambda: log


@pytest.mark.parametrize(
    "program",
    [
        *(keywords_of_a_global_partial, keywords_set_by_another_function, a_captured_class),
        *(a_property_of_a_metaclass, attributes_of_a_function, the_dict_of_an_object, the_content_of_a_cell),
        *(attributes_of_an_exception, what_an_exception_gives_of_its_arguments, a_cached_function),
        *(measured_before_it_is_listed, hinted_before_it_is_listed, items_that_are_attributes),
        *(attributes_that_all_objects_of_a_class_share, a_constant_over_an_attribute_of_a_class),
        a_constant_over_an_attribute_of_a_function,
    ],
    ids=lambda p: p.__name__,
)
def test_what_is_written_by_one_name_is_read_by_another(program):
    check_state(*program())


def a_generator():
    held = [1.0]

    def items():
        while True:
            yield held[0]

    it = items()

    def f(x):
        held[0] = x * x
        return next(it) * x

    return f


def a_view_of_a_dict():
    d = {"a": 1.0}
    values = d.values()

    def f(x):
        d["a"] = x * x
        return sum(values) * x

    return f


def a_proxy_of_a_dict():
    d = {"a": 1.0}
    proxy = types.MappingProxyType(d)

    def f(x):
        d["a"] = x * x
        return proxy["a"] * x

    return f


def a_view_of_memory():
    a = np.ones(3)
    m = memoryview(a)

    def f(x):
        a[0] = x
        return m[0] * x

    return f


def the_dict_of_global_variables():
    def f(x):
        global NUMBER
        NUMBER = x * x
        return globals()["NUMBER"] * x

    return f


def the_names_of_a_module():
    def f(x):
        global NUMBER
        NUMBER = x * x
        return vars(sys.modules[__name__])["NUMBER"] * x

    return f


def the_dict_of_a_module():
    me = sys.modules[__name__]

    def f(x):
        global NUMBER
        NUMBER = x * x
        return me.__dict__["NUMBER"] * x

    return f


@pytest.mark.parametrize(
    "make",
    [
        *(a_generator, a_view_of_a_dict, a_proxy_of_a_dict, a_view_of_memory),
        *(the_dict_of_global_variables, the_dict_of_a_module, the_names_of_a_module),
    ],
    ids=lambda p: p.__name__,
)
def test_what_would_be_read_without_its_derivative_is_refused(make):
    with pytest.raises(UnsupportedError, match=r"outside|global variables"):
        value_and_grad(make())(1.3)


def test_iterators_that_give_nothing_of_what_was_written_work():
    numbers = iter([1.0, 2.0, 3.0])
    log: list[Any] = []

    def f(x):
        log.append(x)
        return next(numbers) * log[-1] * x

    assert value_and_grad(f)(2.0) == (4.0, 4.0)
    assert value_and_grad(f)(2.0) == (8.0, 8.0)


def test_attributes_of_an_argument_are_not_replaced():
    def f(p, x):
        p.__dict__ = {"a": x}
        return p.a

    p = Plain()
    p.a = 1.0
    with pytest.raises(UnsupportedError, match="replacing the __dict__ of an object that the function did not make"):
        value_and_grad(f, (0, 1))(p, 1.3)
