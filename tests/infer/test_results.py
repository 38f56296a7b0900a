"""Types of what Python functions return that are not taken in, and of arrays made of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import value_and_grad
from mooncake_py.infer import results
from mooncake_py.infer.types import Arr, Inst, Lst, Top

VECTOR = Arr(np.dtype(float), 1, True)
SCALE: Any = 2.0


def halved(x: Any) -> Any:
    return halved(x[1:] * 0.5) * SCALE if len(x) > 2 else x


def even(x: Any, n: int) -> Any:
    return x if n == 0 else odd(x * SCALE, n - 1)


def odd(x: Any, n: int) -> Any:
    return even(np.outer(x, x)[0], n - 1) if n > 0 else x


def first(xs: Any) -> Any:
    return xs[0]


def never(x: Any) -> Any:
    raise ValueError(x)


@pytest.mark.parametrize(
    ("f", "types", "wanted"),
    [
        (halved, (VECTOR,), VECTOR),
        (even, (VECTOR, Inst(int)), VECTOR),
        (odd, (VECTOR, Inst(int)), VECTOR),
        (first, (Lst(VECTOR, True),), VECTOR),
    ],
)
def test_the_result_of_a_function_is_found_with_those_it_calls(f: Any, types: Any, wanted: Any) -> None:
    found = results.result_of(f, types)
    assert found is not None
    assert found.type == wanted
    assert f in found.functions


def test_nothing_is_said_of_a_function_that_was_not_seen_to_return() -> None:
    assert results.result_of(never, (VECTOR,)) is None
    found = results.result_of(first, (Lst(Top()),))
    assert found is not None
    assert found.type == Top()


def use_halved(x: Any) -> Any:
    return (halved(x) ** 2).sum()


def test_a_name_that_the_result_relies_on_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(value_and_grad(use_halved)(x)[1], [0.0, 4.0, 6.0])
    assert "unknown" not in str(mooncake_py.inspect(use_halved, x)).split("returns")[1].splitlines()[0]
    monkeypatch.setattr(f"{__name__}.SCALE", np.array([2.0 + 0j, 1.0]))
    assert results.result_of(halved, (VECTOR,)).type != VECTOR  # type: ignore[union-attr]
    monkeypatch.setattr(f"{__name__}.SCALE", np.array([4.0, 2.0]))
    assert np.allclose(value_and_grad(use_halved)(x)[1], [0.0, 16.0, 6.0])


def array_of_a_display(x: Any) -> Any:
    a = np.array([[1, 0.5], [0, x[0]]])
    b = np.array([1.0, 2j])
    return (a @ a).sum() * abs(b @ a).sum()


def test_an_array_of_a_list_has_the_dtype_of_its_items() -> None:
    text = str(mooncake_py.inspect(array_of_a_display, np.array([0.5])))
    assert "float64 array, 2-d" in text
    assert "complex128 array, 1-d" in text
    assert "decided when it runs" not in text
