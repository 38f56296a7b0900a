"""JAX compiled: loops rewritten with `scan` and `fori_loop`, element loops with `vmap`, where that can be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from benchmarks.peers import CannotDo, Peer
from benchmarks.peers import jax_peer as eager
from benchmarks.workloads import Workload

np, lax = jax.numpy, jax.lax


def scalar_loop(x):
    return lax.fori_loop(0, 1000, lambda _, x: np.sin(x) * 1.01 + 0.1 * x * x, x)


def branchy_loop(x):
    def step(i, y):
        which = np.where(y > 1.0, 0, np.where(i % 3 == 0, 1, 2))
        return lax.switch(which, (lambda y: 0.5 * y * x, lambda y: y + 0.1 * np.cos(y), lambda y: 0.9 * y + 0.2 * x), y)

    return lax.fori_loop(0, 1000, step, x)


def nested_loops(x, y):
    def outer(i, total):
        row = lax.fori_loop(0, 30, lambda j, row: row * y + 0.01 * (i - j) * x, x)
        return total + row * row

    return lax.fori_loop(0, 30, outer, 0.0)


def small_functions(x, t):
    def step(i, y):
        z = y + 0.01 * i
        return t * np.log(1.0 + np.exp(y)) + (1.0 - t) * (x / (1.0 + z * z))

    return lax.fori_loop(0, 300, step, 0.0)


def tuple_state(angle, damping):
    def step(_, state):
        angle, speed = state
        speed = speed - 0.02 * (np.sin(angle) + damping * speed)
        return angle + 0.02 * speed, speed

    angle, speed = lax.fori_loop(0, 300, step, (angle, 0.0))
    return angle * speed


def neighbours(x):
    return np.sum(x[:-1] * x[1:])


def smoothing(x, a):
    def step(before, value):
        now = a * value + (1.0 - a) * before
        return now, now

    _, rest = lax.scan(step, x[0], x[1:])
    return x[0] ** 2 + np.sum(rest * rest)


def sum_loop(f, x):
    return np.sum(jax.vmap(f)(x))


def naive_map_sin_cos_exp(x):
    return np.sum(jax.vmap(jax.vmap(lambda v: np.sin(np.cos(np.exp(v)))))(x))


def rnn(w, u, b, inputs):
    def step(h, x):
        return np.tanh(w @ h + u @ x + b), None

    h, _ = lax.scan(step, np.zeros(len(b)), inputs)
    return np.sum(h * h)


def lstm(w, b, inputs):
    n = len(b) // 4

    def step(state, x):
        h, c = state
        z = w @ np.concatenate((h, x)) + b
        i, f, o = np.split(jax.nn.sigmoid(z[: 3 * n]), 3)
        c = f * c + i * np.tanh(z[3 * n :])
        return (o * np.tanh(c), c), None

    (h, _), _ = lax.scan(step, (np.zeros(n), np.zeros(n)), inputs)
    return np.sum(h * h)


def heat(u, k):
    def step(_, u):
        return u.at[1:-1].add(k * (u[2:] - 2.0 * u[1:-1] + u[:-2]))

    u = lax.fori_loop(0, 200, step, u)
    return np.sum(u * u)


def lotka_volterra(a, b, c, d):
    h = 0.01

    def slope(state):
        x, y = state
        return np.array([x * (a - b * y), y * (d * x - c)])

    def step(_, state):
        k1 = slope(state)
        k2 = slope(state + 0.5 * h * k1)
        k3 = slope(state + 0.5 * h * k2)
        k4 = slope(state + h * k3)
        return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    x, y = lax.fori_loop(0, 100, step, np.array([10.0, 5.0]))
    return x * y


def orbit(position, velocity, dt):
    def step(_, state):
        position, velocity = state
        r2 = position @ position
        velocity = velocity - dt * position / (r2 * np.sqrt(r2))
        return position + dt * velocity, velocity

    position, _ = lax.fori_loop(0, 100, step, (position, velocity))
    return np.sum(position * position)


REWRITTEN: dict[str, Callable[..., Any]] = {
    "_sum_1000": sum_loop,
    "_sum_sin_1000": sum_loop,
    "map_sin_cos_exp": naive_map_sin_cos_exp,
} | {
    fn.__name__: fn
    for fn in (
        scalar_loop, branchy_loop, nested_loops, small_functions, tuple_state, neighbours, smoothing,
        naive_map_sin_cos_exp, rnn, lstm, heat, lotka_volterra, orbit,
    )
}  # fmt: skip
CANNOT = {"newton_roots": "while_loop has no reverse mode"}


def gradient(work: Workload) -> Peer:
    if work.name in CANNOT:
        raise CannotDo(CANNOT[work.name])
    fn = REWRITTEN.get(work.name) or eager.in_jax(work)
    args, static = eager.arguments(work)
    compiled = jax.jit(jax.value_and_grad(fn, argnums=work.argnums), static_argnums=tuple(sorted(static)))
    return eager.peer_of(compiled, args)
