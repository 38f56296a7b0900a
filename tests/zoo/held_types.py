"""Containers whose contents have types that are known: dicts by key, lists of lists, what is written and aliased."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.zoo.registry import case

RNG = np.random.default_rng(11)


def _draw(*shape):
    return 0.5 * RNG.standard_normal(shape)


@case({"w1": _draw(3, 4), "b1": _draw(4), "w2": _draw(4), "rate": 0.3, "name": "net", "depth": 2}, _draw(5, 3))
def parameters_in_a_dict(p, x):
    h = x
    for _ in range(p["depth"] - 1):
        h = np.tanh(h @ p["w1"] + p["b1"])
    out = h @ p["w2"] * (2.0 if p["name"] == "net" else 1.0)
    return np.sum(out**2) * p["rate"]


@case([{"W": _draw(3, 4), "b": _draw(4)}, {"W": _draw(4, 2), "b": _draw(2)}], _draw(5, 3))
def layers_in_a_list_of_dicts(layers, x):
    for layer in layers[:-1]:
        x = np.tanh(x @ layer["W"] + layer["b"])
    return np.sum((x @ layers[-1]["W"] + layers[-1]["b"]) ** 2)


@case({"enc": {"W": _draw(3, 2), "b": _draw(2)}, "dec": {"W": _draw(2, 3)}, "scale": 1.3}, _draw(4, 3))
def dicts_in_dicts(p, x):
    z = np.tanh(x @ p["enc"]["W"] + p["enc"]["b"]) * p["scale"]
    return np.mean((z @ p["dec"]["W"] - x) ** 2)


@case({"a": _draw(3), "b": _draw(2, 2), "c": 0.7})
def loop_over_items(p):
    s = 0.0
    for k, v in p.items():
        s = s + np.sum(v * v) * (2.0 if k == "b" else 1.0)
    for v in p.values():
        s = s * 0.5 + np.sum(np.sin(v))
    for k in p:
        s = s + np.sum(p[k])
    return s


@case({"a": 1.0, "b": 2.0})
def items_written_while_they_are_read(p):
    s = 0.0
    for k, v in p.items():
        p["b"] = p["b"] * v
        s = s + p[k] * v
    return s


@case(0.7)
def dict_of_changing_types(x):
    d: dict[Any, Any] = {"a": x, "n": 2}
    d["a"] = np.array([x, x * x])
    d["n"] = x
    d[1] = x**3
    return np.sum(d["a"]) * d["n"] * d[1]


@case(0.7, 3)
def state_in_a_dict(x, n):
    s = {"x": x, "v": 1.0, "t": 0}
    for _ in range(n):
        s = {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * s["x"], "t": s["t"] + 1}
    return s["x"] * s["v"] * s["t"]


@case(0.7, 5)
def accumulated_by_key(x, n):
    d = {"even": 0.0, "odd": 0.0}
    seen: dict[int, float] = {}
    for i in range(n):
        d["even" if i % 2 == 0 else "odd"] += x**i
        seen[i % 3] = seen.get(i % 3, 0.0) + d["odd"] * x
    return d["even"] * d["odd"] + sum(seen.values()) + seen.get(7, x)


@case(0.7)
def deleted_and_taken_out(x):
    d = {"a": x, "b": x * x, "c": x**3}
    e = d
    del e["a"]
    b = d.pop("b")
    z = d.pop("nothing", 2 * x)
    d["a"] = b * z
    k, last = d.popitem()
    return last * d["c"] * len(k) + len(d)


@case(0.7)
def a_key_that_is_missing(x):
    d = {"a": x}
    try:
        d["a"] = x * x
        y = d["b"]
    except KeyError:
        y = d["a"] * 3
    return y + d.get("c", x) + d.setdefault("d", x**3) * d["d"]


@case(0.7)
def two_names_of_one_dict(x):
    d = {"w": x, "inner": {"v": x * x}}
    e = d
    inner = d["inner"]
    e["w"] = e["w"] * 2
    inner["v"] = inner["v"] * d["w"]
    holder = [d, e]
    holder[1]["inner"]["v"] += x
    return d["inner"]["v"] * holder[0]["w"]


@case(0.7, True)
@case(0.7, False, name="a_dict_or_the_other")
def a_dict_or_another(x, first):
    a = {"w": x}
    b = {"w": x * x, "u": 2.0}
    d = a if first else b
    d["w"] = d["w"] * 3
    d["v"] = np.array([x, 1.0])
    return a["w"] * b["w"] + np.sum(d["v"])


@case({"a": 1.5, "b": [0.5, 2.0]}, 3)
def argument_that_is_changed(p, n):
    for i in range(n):
        p["a"] = p["a"] * p["b"][i % 2]
        p["b"][0] += 0.1 * p["a"]
    p["c"] = p["a"] * p["b"][0]
    del p["a"]
    return p["c"] * p["b"][1]


@case(0.7)
def merged(x):
    d = {"a": x, "b": 2.0}
    e = {"b": x * x, "n": 3}
    f = {**d, **e, "c": d["a"] * e["b"]}
    g = d | e
    d |= {"a": 5 * x}
    d.update(e)
    d.update(b=x**3)
    h = dict(d)
    h["a"] = 0.0
    return f["b"] * f["c"] * g["n"] + g["a"] * d["a"] + d["b"] * len(h) + d.copy()["n"]


@case(_draw(6))
def comprehensions_of_dicts(xs):
    d = {i: v * v for i, v in enumerate(xs)}
    e = {str(k): v for k, v in d.items() if k % 2}
    return sum(d.values()) * e["1"] + max(e.values()) + min(d.values())


@case(0.7, 6)
def memo_in_a_dict(x, n):
    memo = {0: x, 1: x * x}

    def term(k):
        if k not in memo:
            memo[k] = 0.5 * term(k - 1) + math.sin(term(k - 2))
        return memo[k]

    return term(n) * len(memo)


@case([[1.0, 2.0], [0.5, -1.0]], [[0.3, 0.1], [2.0, 1.5]])
def matrices_as_lists(a, b):
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    total = 0.0
    for row in c:
        for v in row:
            total += v * v
    return total


@case([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.3, 0.1, 4.0]])
def elimination_on_lists(a):
    a = [row[:] for row in a]
    for k in range(3):
        for i in range(k + 1, 3):
            f = a[i][k] / a[k][k]
            for j in range(k, 3):
                a[i][j] -= f * a[k][j]
    return math.log(a[0][0] * a[1][1] * a[2][2])


@case(0.7)
def rows_that_are_one(x):
    rows = [[x, 1.0]] * 2
    rows[0][1] = x * x
    rows.append([2.0, 3.0])
    rows[2] = rows[0]
    rows[2][0] *= 2
    return rows[1][0] * rows[1][1]


@case(0.7)
def empty_lists_filled_later(x):
    table: list[Any] = []
    row: list[Any] = []
    table.append(row)
    other = row
    row.append(x)
    table[0].append(x * x)
    other.append([x**3])
    return table[0][0] * row[1] * other[2][0]


@case(0.7)
def list_that_changes_its_kind(x):
    xs: list[Any] = [[x]]
    ys = xs[0]
    xs.append(x * 3)
    ys.append(np.array([x, x]))
    return np.sum(ys[1]) * xs[1] * ys[0]


@case(0.7, [1.0, 2.0])
def lists_and_tuples_within(x, xs):
    held = (xs, [x], {"k": xs})
    held[1].append(x * x)
    held[0][0] = x * 5
    held[2]["k"].append(held[1][1])
    return xs[0] * xs[2] + held[2]["k"][1] * held[1][0]


@case(_draw(4), 2.0)
def array_in_two_containers(a, x):
    d = {"a": a, "x": x}
    xs = [a, a * 2]
    d["a"][1] *= d["x"]
    xs[0][0] = x * x
    return np.sum(d["a"] * xs[1]) * xs[0][0]


@case([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
def lists_side_by_side(a, b):
    s = 0.0
    for i, (x, y) in enumerate(zip(a, b)):
        s += x * y * i
    for x, y in zip(a, reversed(b)):
        s *= x - y
    return s


@case(0.7)
def a_dict_given_to_a_function(x):
    def change(d):
        d["y"] = d["x"] * 2
        return d

    d = {"x": x}
    e = change(d)
    e["x"] = x * x
    return d["x"] * d["y"]


@case({"a": 0.5, "b": 1.5})
def keyword_arguments_from_a_dict(p):
    def f(a, b, c=2.0):
        return a * b + c

    return f(**p) * f(**{**p, "c": p["a"] ** 2})


@case(1.3)
def containers_that_hold_themselves(x):
    table = {}
    table["self"] = table
    table["v"] = x * x
    items = [x, table]
    items.append(items)
    table["items"] = items
    return table["self"]["self"]["v"] * items[2][2][0] + items[1]["items"][2][0]


@case(1.3)
def containers_deep_in_each_other(x):
    inner = deep = {"v": x}
    for _ in range(8):
        deep = {"in": [deep], "v": x}
    inner["v"] = inner["v"] * x
    while "in" in deep:
        deep = deep["in"][0]
    return deep["v"] * x


@case([0.7, -0.4, 1.2])
def table_by_nested_comprehensions(xs):
    m = [[x * y for x in xs] for y in xs]
    s = 0.0
    for i in range(len(m)):
        for j in range(len(m)):
            s += m[i][j] * m[j][i] * (i + 1)
    return s


@case([0.7, -0.4, 1.2])
def rows_with_two_names_grow(xs):
    rows = []
    last = []
    for x in xs:
        row = [x * x]
        rows.append(row)
        last = row if x > 0.0 else last
        last.append(x)
    rows[0].append(rows[-1][0])
    same = rows[1]
    same[0] = same[0] * rows[0][1]
    s = 0.0
    for row in rows:
        for k in range(len(row)):
            s += row[k] * (k + 2)
    return s


@case([0.7, -0.4])
def empty_lists_of_which_one_gets_lists(xs):
    outer, inner = [], []
    held = [inner]
    for x in xs:
        inner.append(x * x)
        outer.append(inner)
    held[0].append(xs[0])
    either = outer[0] if xs[0] > 0.0 else inner
    either.append(3.0 * xs[1])
    return sum([v * (k + 1) for k, v in enumerate(inner)]) + outer[1][3] * len(held[0])
