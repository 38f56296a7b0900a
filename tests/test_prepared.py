"""`prepare`: one signature, gradients into given arrays."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mooncake_py import ArgumentError, MissingRule, OutputError, SignatureError, UnsupportedError, prepare

X = np.array([0.5, -1.0, 2.0])


def loss(x, k=2.0):
    return np.sum(x * x) * k


def test_value_and_grad() -> None:
    p = prepare(loss, X, 3.0)
    for x in (X, 2.0 * X, np.ones(5)):
        value, g = p.value_and_grad(x, 3.0)
        assert value == loss(x, 3.0) and np.allclose(g, 6.0 * x)
    assert prepare(loss, X, 3.0, argnums="k").value_and_grad(X, 3.0)[1] == pytest.approx(np.sum(X * X))


def test_value_and_pullback() -> None:
    _, pullback = prepare(loss, X, 3.0).value_and_pullback(X, 3.0)
    dx, dk = pullback(2.0)
    assert np.allclose(dx, 12.0 * X) and dk == pytest.approx(2.0 * np.sum(X * X))


def test_keywords_and_aux() -> None:
    p = prepare(lambda x, *, k: (np.sum(x) * k, x), X, k=2.0, argnums=("x", "k"), has_aux=True)
    (value, aux), (dx, dk) = p.value_and_grad(X, k=3.0)
    assert value == 4.5 and aux is X and dx.tolist() == [3.0] * 3 and dk == 1.5


def test_out() -> None:
    p = prepare(loss, X, 3.0)
    out = np.full(3, np.nan)
    for _ in range(3):
        _, g = p.value_and_grad(X, 3.0, out=out)
        assert g is out and np.allclose(out, 6.0 * X)


def test_out_of_structures() -> None:
    t = {"a": X, "b": [X.copy(), 1.0]}
    p = prepare(lambda t, k: np.sum(t["a"] * t["b"][0]) * k, t, 2.0, argnums=(0, 1))
    a, b, strided = np.empty(3), np.empty(3), np.empty((3, 2))[:, 0]
    _, (dt, dk) = p.value_and_grad(t, 2.0, out=({"a": a, "b": [b, None]}, None))
    assert dt["a"] is a and dt["b"][0] is b and np.allclose(a, 2.0 * X) and dt["b"][1] == 0.0 and type(dk) is float
    p.value_and_grad(t, 2.0, out=({"a": strided, "b": [b, None]}, None))
    assert np.allclose(strided, 2.0 * X)


def read_only() -> np.ndarray:
    a = np.empty(3)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("out, says", [
    (np.empty(4), r"out= must have the gradient's shape \(3,\) .* shape \(4,\)"),
    (np.empty((3, 1)), r"shape \(3, 1\)"),
    (np.empty(3, np.float32), "dtype float32"),
    ([0.0, 0.0, 0.0], "must be an array of shape"),
    (read_only(), "cannot be written to"),
])  # fmt: skip
def test_out_that_does_not_fit(out: Any, says: str) -> None:
    with pytest.raises(OutputError, match=says) as e:
        prepare(loss, X, 3.0).value_and_grad(X, 3.0, out=out)
    assert e.value.filename == __file__


@pytest.mark.parametrize("out, says", [
    (np.empty(3), "must have the structure of the gradient"),
    ((np.empty(3),), "structure"),
    ((np.empty(3), np.empty(())), r"out\[1\]= must be None"),
])  # fmt: skip
def test_out_of_another_structure(out: Any, says: str) -> None:
    with pytest.raises(OutputError, match=says):
        prepare(loss, X, 3.0, argnums=(0, 1)).value_and_grad(X, 3.0, out=out)


def test_out_with_shared_memory() -> None:
    a = np.empty(4)
    with pytest.raises(OutputError, match="share memory"):
        prepare(lambda x, y: np.sum(x * y), X, X, argnums=(0, 1)).value_and_grad(X, X.copy(), out=(a[:3], a[1:]))


@pytest.mark.parametrize(
    "args", [(X.astype(np.float32), 3.0), (np.ones((3, 1)), 3.0), (X, 3), (X,), (X, np.float64(3.0)), (2.0, 3.0)]
)
def test_another_signature(args: tuple) -> None:
    p = prepare(loss, X, 3.0)
    p.value_and_grad(X, 3.0)
    for call in (p.value_and_grad, p.value_and_pullback):
        with pytest.raises(SignatureError, match=r"prepared for: float64\[:\], float\n  called with: "):
            call(*args)


def test_what_is_not_supported_is_said_at_once() -> None:
    def bad(x):
        async def inner():
            await x

        return x if inner else 0.0

    with pytest.raises(UnsupportedError, match="async"):
        prepare(bad, X)
    with pytest.raises(ArgumentError, match="integer"):
        prepare(loss, 3)
    with pytest.raises(ArgumentError, match="must be callable"):
        prepare(3, X)  # type: ignore[arg-type]


def test_rules_that_come_later_are_seen() -> None:
    import math

    from mooncake_py import rrule

    def opaque(x):
        return math.nextafter(x, 9.0)

    p = prepare(opaque, 1.0)
    with pytest.raises(MissingRule):
        p.value_and_grad(1.0)

    @rrule(opaque)
    def rule(x):
        def pullback(dy):
            return 7.0 * dy

        return opaque(x), pullback

    assert p.value_and_grad(1.0)[1] == 7.0


def of_many(x, xs, d, o, t):
    return np.sum(x) * sum(xs) * d["a"] * np.sum(d["b"]) * o.v * t[0]


def many():
    return X, [1.0, 2.0], {"a": 2.0, "b": X}, SimpleNamespace(v=3.0, n=1, s="s"), (0.5, None, True)


_IN_ANOTHER = """
import pickle, sys
from tests.test_prepared import many
p = pickle.load(open(sys.argv[1], "rb"))
print(p.value_and_grad(*many())[0], p.value_and_grad(*many())[1].tolist())
"""


def test_pickled_it_can_be_used_in_another_process(tmp_path) -> None:
    p = prepare(of_many, *many())
    value, g = p.value_and_grad(*many())
    path = tmp_path / "prepared"
    path.write_bytes(pickle.dumps(p))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "17"}
    command = [sys.executable, "-c", _IN_ANOTHER, str(path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"{value} {g.tolist()}", done.stderr
