"""Where differences cannot tell: which derivative is given where a function has a kink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import grad


@pytest.mark.parametrize("f, sign", [(np.maximum, 1.0), (np.minimum, -1.0), (np.fmax, 1.0), (np.fmin, -1.0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_ties_shares_its_cotangent(f: Any, sign: float, dtype: type) -> None:
    a = sign * np.array([1.0, 2.0, np.inf, -np.inf, 3.0], dtype)
    b = sign * np.array([1.0, 5.0, np.inf, -np.inf, 0.5], dtype)
    da, db = grad(lambda a, b: f(a, b).sum(), argnums=(0, 1))(a, b)
    assert np.array_equal(da, [0.5, 0.0, 0.5, 0.5, 1.0]) and np.array_equal(da + db, np.ones(5))
    assert da.dtype == db.dtype == dtype


@pytest.mark.parametrize("f", [np.maximum, np.minimum])
def test_what_is_not_a_number_has_no_derivative(f: Any) -> None:
    a = np.array([1.0, np.nan, 2.0])
    da, db = grad(lambda a, b: f(a, b).sum(), argnums=(0, 1))(a, np.array([0.5, 2.0, np.nan]))
    assert np.isfinite(da[0]) and np.isfinite(db[0]) and np.isnan(da[1:]).all() and np.isnan(db[1:]).all()


@pytest.mark.parametrize("f", [np.max, np.amin, np.ptp, np.median, lambda a: np.quantile(a, 0.3), lambda a: a.min()])
def test_what_is_not_a_number_has_none_where_it_is_what_a_reduction_gives(f: Any) -> None:
    da = grad(lambda a: f(a))(np.array([1.0, np.nan, 2.0]))
    assert np.isnan(da[1]) and da[0] == da[2] == 0.0


def test_what_is_not_a_number_along_an_axis() -> None:
    a = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 2.0]])
    da = grad(lambda a: np.sum(np.max(a, axis=1)))(a)
    assert np.isnan(da[0, 1]) and np.isfinite(np.delete(da.ravel(), 1)).all() and da[1].tolist() == [0.0, 1.0, 0.0]
    x, y = grad(lambda x, y: np.maximum(x, y), argnums=(0, 1))(1.0, float("nan"))
    assert np.isnan(x) and np.isnan(y)
    assert grad(lambda a: np.max(a[:2], initial=5.0))(np.array([1.0, 2.0, np.nan])).tolist() == [0.0, 0.0, 0.0]


def compared_with_views_of_infinite_ends(s):
    low = np.full(2, -np.inf) * s + 1.0
    x = np.ones(2) * s
    seen = np.broadcast_arrays(low, x)[0]
    x = x.copy()
    x[x < seen[::-1]] = np.nan
    return np.sum(x)


def test_nothing_comes_through_a_view_that_is_only_compared() -> None:
    assert grad(compared_with_views_of_infinite_ends)(0.7) == 2.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_terms_of_a_sum_of_zero_have_no_share_in_its_logarithm(f: Any) -> None:
    assert grad(f, (0, 1))(-np.inf, -np.inf) == (0.0, 0.0)
    xs = np.array([-np.inf, 0.0, -np.inf], np.float32)
    by_xs, by_y = grad(lambda xs, y: f(xs, y).sum(), (0, 1))(xs, -np.inf)
    assert list(by_xs) == [0.0, 1.0, 0.0] and by_y == 0.0
