"""Uses of functions that their rules have no derivative for: the error says what, in which line, and what to do."""

from __future__ import annotations

import array
import copy
import datetime
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg, sparse, special, stats

from mooncake_py import MissingRule, UnsupportedError, grad
from mooncake_py.errors import NotDifferentiated

M = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])


def reshaped_in_place(x):
    y = x * 2.0
    y.shape = (9,)  # HERE
    return y[0]


def by_strings(x):
    return np.sum(np.r_["0,2", x, x])  # HERE


def raw(x):
    return np.sum(np.linalg.qr(x, mode="raw")[0])  # HERE


def completed(x):
    return np.sum(np.linalg.svd(x[:1])[2])  # HERE


def check(e: Any, f: Callable[..., Any]) -> None:
    source = Path(__file__).read_text().splitlines()
    assert e.filename == __file__
    assert "# HERE" in source[e.line - 1]
    assert f.__code__.co_firstlineno < e.line
    assert f"{__file__}:{e.line}" in str(e)


@pytest.mark.parametrize("debug_mode", [False, True])
@pytest.mark.parametrize("f", [reshaped_in_place, by_strings, raw, completed])
def test_place(f: Callable[..., Any], debug_mode: bool) -> None:
    with pytest.raises(MissingRule) as caught:
        grad(f, debug_mode=debug_mode)(M)
    check(caught.value, f)
    assert caught.value.chain[-1][1] == caught.value.line


def function_of_matrix(x):
    w, v = np.linalg.eigh(x)  # HERE
    return np.sum(M * ((v * np.sqrt(w)) @ v.T))


def logarithm(x):
    w, v = np.linalg.eigh(x / 2)  # HERE
    return np.sum(M * ((v * np.log(w)) @ v.T))


def one_vector(x):
    return M[0] @ np.linalg.eigh(x)[1][:, 0]  # HERE


def product_of_factors(x):
    u, s, vh = np.linalg.svd(x)  # HERE
    return np.sum(M * ((u * s**2) @ vh))


def function_by_inverse(x):
    w, v = np.linalg.eig(x)  # HERE
    return np.sum(M * ((v * w**2) @ np.linalg.inv(v))).real


def generalized(x):
    w, v = linalg.eigh(x, np.eye(3))  # HERE
    return np.sum(M * ((v * w**2) @ v.T))


@pytest.mark.parametrize("a", [np.diag([2.0, 2.0, 2.0]), np.diag([2.0, 2.0 + 4e-16, 2.0])])
@pytest.mark.parametrize(
    "f", [function_of_matrix, logarithm, one_vector, product_of_factors, function_by_inverse, generalized]
)
def test_vectors_of_equal_values(f: Callable[..., Any], a: np.ndarray) -> None:
    with pytest.raises(NotDifferentiated, match="not determined") as caught:
        grad(f)(a)
    check(caught.value, f)


def completing_column(x):
    return np.sum(M[0] * np.linalg.qr(x[:, :1], mode="complete")[0][:, 1])  # HERE


@pytest.mark.parametrize("f", [completing_column, completed])
def test_one_of_many_completions(f: Callable[..., Any]) -> None:
    with pytest.raises(NotDifferentiated, match="not determined") as caught:
        grad(f)(M)
    check(caught.value, f)


def copied_exceptions(x):
    errors = [ValueError(x[0, 0]), KeyError(x[0, 1])]
    return copy.deepcopy(errors)[0].args[0]  # HERE


def test_deep_copies_of_builtin_exceptions() -> None:
    with pytest.raises(UnsupportedError, match="make the copy yourself") as caught:
        grad(copied_exceptions)(M)
    check(caught.value, copied_exceptions)


def field_of_records(x):
    a = np.zeros(2, [("a", float)])
    a["a"][0] = x[0, 0]  # HERE
    return a["a"][0]


def test_fields_of_structured_arrays() -> None:
    with pytest.raises(UnsupportedError, match="one for each field") as caught:
        grad(field_of_records)(M)
    check(caught.value, field_of_records)


def bits_of_numbers(x):
    z = x * 2.0
    return z.view(np.int64)[0, 0] * 1.0


def test_bits_of_numbers() -> None:
    with pytest.raises(UnsupportedError, match="bits are read as int64"):
        grad(bits_of_numbers)(M)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: float(mpmath.gamma(x)),
        lambda x: float(mpmath.mpf(x) ** 2),
        lambda x: float(mpmath.mp.sin(x)),
        lambda x: float(mpmath.quad(lambda t: t * x, [0, 1])),
        lambda x: mpmath.fp.gamma(x) + float(mpmath.mp.convert(x)),
    ],
)
def test_numbers_of_mpmath(f: Callable[..., Any]) -> None:
    assert f(1.5) > 0
    with pytest.raises(MissingRule, match="made of whole numbers"):
        grad(f)(1.5)


def test_mpmath_for_constants() -> None:
    assert grad(lambda x, n: x * float(mpmath.gamma(n)))(1.5, 4.0) == 6.0


def keys_and_a_list(x):
    d = {x[0, 0]: 1.0, x[0, 1]: 2.0}
    return sum(d.keys() | [x[0, 2]])  # HERE


def keys_in_bytes(x):
    return array.array("d", {x[0, 0]: 1})[0]  # HERE


@pytest.mark.parametrize("f", [keys_and_a_list, keys_in_bytes])
def test_keys_with_derivatives_elsewhere(f: Callable[..., Any]) -> None:
    with pytest.raises((MissingRule, UnsupportedError), match=r"a set of keys|bytes") as caught:
        grad(f)(M)
    check(caught.value, f)


def stored_in_an_array_of_c_numbers(x):
    a = array.array("d", bytes(16))
    a[0] = x[0, 0]  # HERE
    return a[0]


def appended_to_an_array_of_c_numbers(x):
    a = array.array("d")
    a.append(x[0, 0])  # HERE
    return a[0]


@pytest.mark.parametrize("f", [stored_in_an_array_of_c_numbers, appended_to_an_array_of_c_numbers])
def test_objects_that_hold_no_derivative_say_why(f: Callable[..., Any]) -> None:
    with pytest.raises(MissingRule, match="keep the values in a list or an ndarray") as caught:
        grad(f)(M)
    check(caught.value, f)


def key_of_an_error(x):
    try:
        return {}[x[0, 0]]
    except KeyError as e:
        return e.args[0]  # HERE


def test_keys_in_errors_of_python() -> None:
    with pytest.raises(UnsupportedError, match="use the key itself") as caught:
        grad(key_of_an_error)(M)
    check(caught.value, key_of_an_error)


def times_a_timedelta(x):
    return (datetime.timedelta(seconds=2) * float(x[0, 0])).total_seconds()  # HERE


def length_hint_of_values(x):
    d = {"a": x[0, 0], "b": x[0, 1]}
    return operator.length_hint(iter(d.values())) * d["a"]  # HERE


@pytest.mark.parametrize("f, hint", [
    (times_a_timedelta, "whole microseconds"), (length_hint_of_values, "make a list"),
], ids=lambda f: getattr(f, "__name__", ""))  # fmt: skip
def test_hints(f: Callable[..., Any], hint: str) -> None:
    with pytest.raises((MissingRule, UnsupportedError), match=hint) as caught:
        grad(f)(M)
    check(caught.value, f)


def density_of_items(x):
    return stats.kstwo.pdf(2.15, 9, x[0, 0], x[0, 1])  # HERE


def test_items_of_which_the_derivative_is_not_known() -> None:
    with pytest.raises(MissingRule, match=r"kstwo_gen\._pdf") as caught:
        grad(density_of_items)(M)
    check(caught.value, density_of_items)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def leading_zero(x):
    return np.poly1d(np.append(0.0, x[0]))(0.5)  # HERE


def line_without_slope(x):
    return np.sum(np.polynomial.legendre.legline(x[0, 0], 0.0 * x[0, 1]))  # HERE


def roots_with_a_leading_zero(x):
    return np.sum(np.roots(np.append(0.0, x[0])))  # HERE


@pytest.mark.parametrize("f", [leading_zero, line_without_slope, roots_with_a_leading_zero])
def test_coefficients_that_are_dropped(f: Callable[..., Any]) -> None:
    with pytest.raises(NotDifferentiated, match="leading coefficients that are 0") as caught:
        grad(f)(M)
    check(caught.value, f)


def test_what_series_drop_is_no_number() -> None:
    """Of what has no derivative, like the zeros of a constant, nothing comes back."""
    series = np.polynomial.Polynomial
    c = np.array([2.0, 1.0, 0.0])
    assert np.array_equal(np.isnan(grad(lambda c: (series(c) * series([1.0, 2.0]))(0.5))(c)), [False, False, True])
    assert np.allclose(grad(lambda c: series(c)(0.5))(c), [1.0, 0.5, 0.25])
    d = grad(lambda c: (series.fromroots(c) - series.fromroots([1.0, 2.0, 3.0]))(0.5))(c)
    assert np.allclose(d, [0.25, 0.75, -0.75])


class Area(float):
    def __mul__(self, other: Any) -> Any:
        return Area(7.0 * float(self) * float(other))


class Plain(float):
    pass


def test_products_of_numbers_that_multiply_themselves() -> None:
    def products(x):
        return float(math.prod([Area(x), x]))  # HERE

    with pytest.raises(MissingRule, match=r"math\.prod of objects of class Area.*in a loop") as caught:
        grad(products)(1.3)
    check(caught.value, products)
    assert grad(lambda x: math.prod([Plain(x), 2.0, x]))(1.3) == pytest.approx(5.2)


def unknown_of_a_buffer(v):
    z = np.zeros(3)
    z[:] = v
    z[1:] += v[:-1]
    return np.sum(special.struve(z, 1.3)) + np.sum(z)  # HERE


def unknown_of_a_view(v):
    z = np.zeros(3)
    b = z[1:]
    b[...] = v[:1]
    return np.sum(special.struve(z, 1.3))  # HERE


def unknown_of_padded(v):
    w = np.pad(v, 1, constant_values=0.5)
    return np.sum(special.struve(w, 1.0))  # HERE


def unknown_of_a_part(v):
    w = np.split(v, 3)[1]
    return np.sum(special.struve(w, 1.0)) + np.sum(v)  # HERE


def unknown_of_transposed(v):
    w = np.outer(v, v).T
    return np.sum(special.struve(w, 1.3))  # HERE


def unknown_of_swapped(v):
    w = np.outer(v, v).swapaxes(0, 1)
    return np.sum(special.struve(w, 1.3))  # HERE


def unknown_of_an_item(v):
    d = {"a": v * 2.0}
    w = np.concatenate([d["a"], v])
    return (lambda t: np.sum(special.struve(t, 1.0)))(w)  # HERE


def zeros_of_transposed(v):
    a = np.triu(np.outer(v, v)).T
    return (sparse.csr_array(special.struve(np.zeros((3, 3)) + a, 1.0)) @ np.ones(3)).sum()  # HERE


@pytest.mark.parametrize("debug_mode", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        unknown_of_a_buffer,
        unknown_of_a_view,
        unknown_of_padded,
        unknown_of_a_part,
        unknown_of_transposed,
        unknown_of_swapped,
        unknown_of_an_item,
        zeros_of_transposed,
    ],
)
def test_unknown_derivatives_are_told_by_the_line_of_the_call(f: Callable[..., Any], debug_mode: bool) -> None:
    with pytest.raises(MissingRule, match="is not known: hold it constant") as caught:
        grad(f, debug_mode=debug_mode)(np.array([0.5, 1.0, 1.5]))
    check(caught.value, f)


def test_unknown_derivatives_of_constants_are_nobodys_business() -> None:
    def f(x, model):
        model["calls"] += 1
        return np.sum(special.struve(model["orders"], x))

    model = {"calls": 0, "orders": np.array([0.5, 1.0, 1.5])}
    a, b = (np.sum(special.struve(model["orders"], x)) for x in (0.7 + 1e-6, 0.7 - 1e-6))
    assert grad(lambda x: f(x, model))(0.7) == pytest.approx((a - b) / 2e-6)
