"""Packages of constants: a stand-in for one that holds tables, which keeps what it computes when it is read."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, UnsupportedError, grad, no_diff, value_and_grad
from mooncake_py.errors import MooncakeError
from mooncake_py.structure import constant_packages

SOURCE = """
import numpy as np

class Column:
    def __init__(self, values):
        self.values = np.array(values)
        self.mean_ = None

    def mean(self):
        if self.mean_ is None:
            self.mean_ = float(self.values.mean())
        return self.mean_

    def apply(self, f):
        return Column([f(v) for v in self.values])

    def __iter__(self):
        return iter(self.values)

    def __mul__(self, k):
        return Column(self.values * k)

    __rmul__ = __mul__
    __array_ufunc__ = None

    def __array__(self, dtype=None, copy=None):
        return self.values

class Table:
    def __init__(self, columns, **more):
        self.columns = {k: Column(v) for k, v in {**columns, **more}.items()}
        self.attrs = {}

    def __getitem__(self, k):
        return self.columns[k]

    def __setitem__(self, k, v):
        self.columns[k] = v if isinstance(v, Column) else Column(v)

    def assign(self, **more):
        return Table({k: c.values for k, c in self.columns.items()}, **more)
"""
HINT = "its tables hold constants; take the numbers out"


@pytest.fixture(scope="module", autouse=True)
def package() -> Iterator[None]:
    made = types.ModuleType("tables_of_tests")
    constant_packages["tables_of_tests"] = HINT
    sys.modules["tables_of_tests"] = made
    exec(SOURCE, vars(made))
    globals().update(tables=made, T=made.Table({"t": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 2.0]}))
    yield
    del constant_packages["tables_of_tests"], sys.modules["tables_of_tests"]


tables: Any = None
T: Any = None
LOG: list[Any] = []
W = np.zeros(2)


def residuals(x):
    r = x * T["t"].values - T["y"].values
    return (r * r).sum()


def summary(x):
    return x * T["y"].mean() + sum(v * x for v in T["t"])


def beside_a_log(x):
    LOG.append(x * x)
    return LOG[-1] * T["y"].mean() + (T["y"].values * x).sum()


def made_in_the_function(x):
    table = tables.Table({"a": [1.0, 2.0]})
    table["b"] = table["a"] * 3.0
    return (table["b"].values * x).sum() + table.assign(c=[1.0]).columns["c"].mean() * x


def function_of_constants(x):
    return T["t"].apply(lambda v: v**2).mean() * x


def in_a_function_of_arrays(x):
    return np.dot(T["t"], np.array([x, x * x, 1.0]))


def as_data(x):
    return (T["t"] * no_diff(x)).mean() * x


@pytest.mark.parametrize("f", [
    residuals, summary, beside_a_log, made_in_the_function, function_of_constants, in_a_function_of_arrays,
])  # fmt: skip
def test_what_is_taken_out(f: Callable[..., Any]) -> None:
    h = 1e-6
    slope = (f(1.3 + h) - f(1.3 - h)) / (2.0 * h)
    for _ in range(2):
        assert value_and_grad(f)(1.3) == (f(1.3), pytest.approx(slope))


def test_no_diff() -> None:
    assert grad(as_data)(1.3) == pytest.approx(1.3)


def columns_with_derivatives(x):
    return tables.Table({"a": [x, x]})["a"].mean()


def product_of_a_column(x):
    return (x * T["t"]).mean()


def ufunc_of_a_column(x):
    return np.multiply(np.array([x, x, x]), T["t"]).sum()


def closure(x):
    return T["t"].apply(lambda v: v * x).mean()


@pytest.mark.parametrize("f", [columns_with_derivatives, product_of_a_column, closure])
def test_what_is_put_in(f: Callable[..., Any]) -> None:
    with pytest.raises(MissingRule, match=HINT):
        grad(f)(1.3)


def reads_what_was_written(x):
    W[0] = x
    return T["t"].apply(lambda v: v * W[0]).mean()


def puts_into_what_is_held(x):
    T.attrs["w"] = x
    return T.attrs["w"] * 2.0


@pytest.mark.parametrize("f", [reads_what_was_written, puts_into_what_is_held])
def test_what_is_put_in_unseen(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="outside"):
        grad(f)(1.3)
    T.attrs.clear()


def test_ufuncs() -> None:
    with pytest.raises(MooncakeError):
        grad(lambda x: np.multiply(x, T["t"]))(np.ones(3))
