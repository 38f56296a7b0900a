"""`ravel` of every kind of structure, of such as hold themselves, and inside functions that are differentiated."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mooncake_py import ArgumentError, differentiable, grad, prepare, ravel
from mooncake_py.testing import check_grads


@dataclass(frozen=True)
class Frozen:
    a: float
    b: Any


class Node:
    def __init__(self, x: float):
        self.x, self.after = x, self


def looped() -> list[Any]:
    xs: list[Any] = [1.0, np.ones(2)]
    xs.append(xs)
    return xs


@pytest.mark.parametrize(
    "tree",
    [
        OrderedDict(a=1.0, b=2.0), deque([1.0, 2.0], maxlen=4), defaultdict(float, {"a": 2.0}),
        Frozen(1.0, [Frozen(2.0, None)]),
    ],
)  # fmt: skip
def test_containers_come_back_as_what_they_were(tree: Any) -> None:
    flat, unravel = ravel(tree)
    back = unravel(flat)
    assert type(back) is type(tree) and back == tree
    assert getattr(back, "maxlen", None) == getattr(tree, "maxlen", None)
    assert getattr(back, "default_factory", None) is getattr(tree, "default_factory", None)
    check_grads(lambda v: np.sum(ravel(unravel(v))[0] ** 3), (flat,))


def test_what_holds_itself_does_so_afterwards() -> None:
    flat, unravel = ravel(looped())
    assert flat.tolist() == [1.0, 1.0, 1.0]
    xs = unravel(2.0 * flat)
    assert xs[0] == 2.0 and xs[1].tolist() == [2.0, 2.0] and xs[2] is xs
    node = unravel_of(Node(3.0), 2.0)
    assert node.x == 6.0 and node.after is node
    d: dict[str, Any] = {"x": 1.0}
    d["me"] = d
    assert unravel_of(d, 2.0)["me"]["me"]["x"] == 2.0


def unravel_of(tree: Any, k: float) -> Any:
    flat, unravel = ravel(tree)
    return unravel(k * flat)


def test_what_is_reached_twice_is_there_once() -> None:
    p = Frozen(2.0, None)
    flat, unravel = ravel([p, (p, 1.0)])
    assert flat.tolist() == [2.0, 1.0]
    first, (second, _) = unravel(flat)
    assert first is second
    assert grad(lambda v: unravel(v)[0].a * unravel(v)[1][0].a)(flat).tolist() == [4.0, 0.0]


def test_a_tuple_that_holds_itself() -> None:
    xs: list[Any] = [1.0]
    t = (xs,)
    xs.append(t)
    with pytest.raises(ArgumentError, match="a tuple that holds itself"):
        ravel(t)


def test_constant_attributes_stay() -> None:
    @differentiable(no_diff=("k",))
    @dataclass
    class Rod:
        x: float
        k: float

    flat, unravel = ravel(Rod(1.0, 5.0))
    assert flat.tolist() == [1.0] and unravel(3.0 * flat) == Rod(3.0, 5.0)


@pytest.mark.parametrize(
    "tree",
    [
        {"a": 1.0, "b": [np.ones((2, 2)), 3, "s"]}, (1.0 + 2.0j, np.arange(2) * 1j), Frozen(2.0, [1.0]), looped(),
        Node(2.0), deque([1.0, np.float32(2.0)]), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ],
)  # fmt: skip
def test_inside_of_what_is_differentiated(tree: Any) -> None:
    weights = np.arange(1.0, ravel(tree)[0].size + 1.0)
    check_grads(lambda t: np.sum(weights * ravel(t)[0] ** 2), (tree,))


def test_there_and_back_inside() -> None:
    def f(tree: Any) -> Any:
        flat, unravel = ravel(tree)
        return unravel(flat * flat)["a"]

    gradient = grad(f)({"a": 3.0, "b": np.ones(2)})
    assert gradient["a"] == 6.0 and gradient["b"].tolist() == [0.0, 0.0]


def test_structures_that_hold_themselves_everywhere() -> None:
    def f(xs: Any) -> Any:
        return xs[2][2][0] ** 2 * np.sum(xs[2][1])

    g = grad(f)(looped())
    assert g[0] == 4.0 and g[1].tolist() == [1.0, 1.0] and g[2] is g
    assert grad(f, debug_mode=True)(looped())[0] == 4.0
    assert prepare(f, looped()).value_and_grad(looped())[1][0] == 4.0
    check_grads(f, (looped(),))
    check_grads(lambda n: n.after.after.x**2, (Node(2.0),))
    check_grads(lambda x: [[x * 2.0]] * 2, (3.0,))


def test_gradients_are_structures_too() -> None:
    node = Node(3.0)
    model = {"frozen": Frozen(2.0, [np.ones(2)]), "node": node, "n": 3}
    gradient = grad(lambda m: m["frozen"].a * np.sum(m["frozen"].b[0]) * m["node"].after.x * m["n"])(model)
    flat, unravel = ravel(gradient)
    assert flat.tolist() == [18.0, 18.0, 18.0, 12.0] and flat.shape == ravel(model)[0].shape
    back = unravel(2.0 * flat)
    assert back["frozen"].a == 36.0 and back["node"].after is back["node"] and back["n"] is None
    assert type(back["frozen"]) is type(gradient["frozen"])


def test_an_ordered_dict_is_iterated_over() -> None:
    def f(d: Any) -> Any:
        return sum(d[k] ** 2 for k in d) + sum(d[k] for k in iter(d))

    check_grads(f, (OrderedDict(a=1.0, b=2.0),))
