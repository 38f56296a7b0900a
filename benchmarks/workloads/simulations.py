"""Differential equations: scalars, small vectors, stencils."""

import numpy as np

from benchmarks.workloads.base import workload

RNG = np.random.default_rng(3)


def heat(u0, k):
    u = u0.copy()
    for _ in range(200):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def heat_by_hand(u0, k):
    u = u0.copy()
    inner, right, left = u[1:-1], u[2:], u[:-2]
    curvatures = np.empty((200, len(inner)))
    for t in range(200):
        curvature = right - 2.0 * inner + left
        curvatures[t] = curvature
        inner += k * curvature
    value = np.sum(u * u)
    du = 2.0 * u
    dinner, dright, dleft = du[1:-1], du[2:], du[:-2]
    changes = np.empty_like(curvatures)
    for t in range(199, -1, -1):
        changes[t] = dinner
        d = k * dinner
        dright += d
        dleft += d
        d *= 2.0
        dinner -= d
    return value, (du, np.vdot(changes, curvatures))


workload(heat, heat_by_hand, np.sin(np.linspace(0.0, 9.0, 200)), 0.2, note="in place, 200 steps of 200")


def hunted(x, y, a, b):
    return x * (a - b * y)


def hunting(x, y, c, d):
    return y * (d * x - c)


def lotka_volterra(a, b, c, d):
    x, y, h = 10.0, 5.0, 0.01
    for _ in range(100):
        p1, q1 = hunted(x, y, a, b), hunting(x, y, c, d)
        x2, y2 = x + 0.5 * h * p1, y + 0.5 * h * q1
        p2, q2 = hunted(x2, y2, a, b), hunting(x2, y2, c, d)
        x3, y3 = x + 0.5 * h * p2, y + 0.5 * h * q2
        p3, q3 = hunted(x3, y3, a, b), hunting(x3, y3, c, d)
        x4, y4 = x + h * p3, y + h * q3
        p4, q4 = hunted(x4, y4, a, b), hunting(x4, y4, c, d)
        x = x + h / 6.0 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
        y = y + h / 6.0 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
    return x * y


def lotka_volterra_by_hand(a, b, c, d):
    x, y, h = 10.0, 5.0, 0.01
    half, sixth = 0.5 * h, h / 6.0
    saved = []
    for _ in range(100):
        p1, q1 = x * (a - b * y), y * (d * x - c)
        x2, y2 = x + half * p1, y + half * q1
        p2, q2 = x2 * (a - b * y2), y2 * (d * x2 - c)
        x3, y3 = x + half * p2, y + half * q2
        p3, q3 = x3 * (a - b * y3), y3 * (d * x3 - c)
        x4, y4 = x + h * p3, y + h * q3
        p4, q4 = x4 * (a - b * y4), y4 * (d * x4 - c)
        saved.append((x, y, x2, y2, x3, y3, x4, y4))
        x = x + sixth * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
        y = y + sixth * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
    da = db = dc = dd = 0.0
    dx, dy = y, x
    for x1, y1, x2, y2, x3, y3, x4, y4 in reversed(saved):
        edge_p, edge_q = sixth * dx, sixth * dy
        # stage 4, then 3, 2, 1: each hands its input's cotangent to the stage before
        u, v = edge_p * x4, edge_q * y4
        da += u
        db -= u * y4
        dc -= v
        dd += v * x4
        ex = edge_p * (a - b * y4) + v * d
        ey = edge_q * (d * x4 - c) - u * b
        dx += ex
        dy += ey
        p, q = 2.0 * edge_p + h * ex, 2.0 * edge_q + h * ey
        u, v = p * x3, q * y3
        da += u
        db -= u * y3
        dc -= v
        dd += v * x3
        ex = p * (a - b * y3) + v * d
        ey = q * (d * x3 - c) - u * b
        dx += ex
        dy += ey
        p, q = 2.0 * edge_p + half * ex, 2.0 * edge_q + half * ey
        u, v = p * x2, q * y2
        da += u
        db -= u * y2
        dc -= v
        dd += v * x2
        ex = p * (a - b * y2) + v * d
        ey = q * (d * x2 - c) - u * b
        dx += ex
        dy += ey
        p, q = edge_p + half * ex, edge_q + half * ey
        u, v = p * x1, q * y1
        da += u
        db -= u * y1
        dc -= v
        dd += v * x1
        dx += p * (a - b * y1) + v * d
        dy += q * (d * x1 - c) - u * b
    return x * y, (da, db, dc, dd)


workload(lotka_volterra, lotka_volterra_by_hand, 1.1, 0.4, 0.4, 0.1, note="Runge-Kutta on floats, 100 steps")


def orbit(position, velocity, dt):
    for _ in range(100):
        r2 = position @ position
        velocity = velocity - dt * position / (r2 * np.sqrt(r2))
        position = position + dt * velocity
    return np.sum(position * position)


def orbit_by_hand(position, velocity, dt):
    saved = []
    for _ in range(100):
        r2 = position @ position
        cube = r2 * np.sqrt(r2)
        velocity = velocity - dt * position / cube
        saved.append((position, velocity, r2, cube))
        position = position + dt * velocity
    value = np.sum(position * position)
    dposition, dvelocity, ddt = 2.0 * position, 0.0, 0.0
    for before, speed, r2, cube in reversed(saved):
        ddt += dposition @ speed
        dvelocity = dvelocity + dt * dposition
        # acceleration a = before / cube, with d cube = 3 cube / r2 * (before . d before)
        pull = dvelocity @ before
        ddt -= pull / cube
        dposition = dposition - (dt / cube) * dvelocity + (3.0 * dt * pull / (cube * r2)) * before
    return value, (dposition, dvelocity, ddt)


workload(
    orbit, orbit_by_hand, np.array([1.0, 0.1, -0.2]), np.array([0.1, 0.9, 0.2]), 0.02,
    note="100 steps of 3-vectors: overhead of small arrays",
)  # fmt: skip
