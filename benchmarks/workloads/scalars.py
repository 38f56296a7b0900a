"""Loops, recursion and calls on Python floats."""

import math

import numpy as np

from benchmarks.workloads.base import workload


def scalar_loop(x):
    for _ in range(1000):
        x = math.sin(x) * 1.01 + 0.1 * x * x
    return x


def scalar_loop_by_hand(x):
    sin, cos = math.sin, math.cos
    saved = []
    push = saved.append
    for _ in range(1000):
        push(x)
        x = sin(x) * 1.01 + 0.1 * x * x
    dx = 1.0
    for x_in in reversed(saved):
        dx *= cos(x_in) * 1.01 + 0.2 * x_in
    return x, (dx,)


workload(scalar_loop, scalar_loop_by_hand, 0.6, note="1000 x = sin(x)*1.01 + 0.1*x*x")


def branchy_loop(x):
    y = x
    for i in range(1000):
        if y > 1.0:
            y = 0.5 * y * x
        elif i % 3 == 0:
            y = y + 0.1 * math.cos(y)
        else:
            y = 0.9 * y + 0.2 * x
    return y


def branchy_loop_by_hand(x):
    sin, cos = math.sin, math.cos
    saved = []
    push = saved.append
    y = x
    for i in range(1000):
        push(y)
        if y > 1.0:
            y = 0.5 * y * x
        elif i % 3 == 0:
            y = y + 0.1 * cos(y)
        else:
            y = 0.9 * y + 0.2 * x
    dx, dy = 0.0, 1.0
    # which branch was taken follows from what was saved
    for i in range(999, -1, -1):
        y_in = saved[i]
        if y_in > 1.0:
            dx += 0.5 * dy * y_in
            dy *= 0.5 * x
        elif i % 3 == 0:
            dy *= 1.0 - 0.1 * sin(y_in)
        else:
            dx += 0.2 * dy
            dy *= 0.9
    return y, (dx + dy,)


workload(branchy_loop, branchy_loop_by_hand, 0.7, note="1000 steps, three branches")


def newton_roots(a):
    total = 0.0
    for i in range(1, 60):
        target = a * i
        x = float(i)
        while abs(x * x - target) > 1e-12 * target:
            x = 0.5 * (x + target / x)
        total += x
    return total


def newton_roots_by_hand(a):
    saved, trips = [], []
    push = saved.append
    total = 0.0
    for i in range(1, 60):
        target = a * i
        x = float(i)
        n = 0
        while abs(x * x - target) > 1e-12 * target:
            push(x)
            n += 1
            x = 0.5 * (x + target / x)
        trips.append(n)
        total += x
    pop = saved.pop
    da = 0.0
    for i in range(59, 0, -1):
        target = a * i
        dx, dtarget = 1.0, 0.0
        for _ in range(trips[i - 1]):
            x = pop()
            half = 0.5 * dx
            share = half / x
            dtarget += share
            dx = half - share * target / x
        da += dtarget * i
    return total, (da,)


workload(newton_roots, newton_roots_by_hand, 2.3, note="while with tolerance, 59 Newton solves")


def nested_loops(x, y):
    total = 0.0
    for i in range(30):
        row = x
        for j in range(30):
            row = row * y + 0.01 * (i - j) * x
        total += row * row
    return total


def nested_loops_by_hand(x, y):
    saved, ends = [], []
    push = saved.append
    total = 0.0
    for i in range(30):
        row = x
        for j in range(30):
            push(row)
            row = row * y + 0.01 * (i - j) * x
        ends.append(row)
        total += row * row
    pop = saved.pop
    dx = dy = 0.0
    for i in range(29, -1, -1):
        drow = 2.0 * ends[i]
        for j in range(29, -1, -1):
            dx += 0.01 * (i - j) * drow
            dy += drow * pop()
            drow *= y
        dx += drow
    return total, (dx, dy)


workload(nested_loops, nested_loops_by_hand, 1.3, 0.9, note="30 x 30, two parameters")


def recursion_tree(x, c, depth):
    if depth == 0:
        return math.sin(x) * c
    left = recursion_tree(0.5 * x, c, depth - 1)
    right = recursion_tree(x + 0.1, c, depth - 1)
    return left * right + x


def recursion_tree_by_hand(x, c, depth):
    def sweep(x, depth):
        if depth == 0:
            s = math.sin(x)
            return s * c, math.cos(x) * c, s
        left, left_dx, left_dc = sweep(0.5 * x, depth - 1)
        right, right_dx, right_dc = sweep(x + 0.1, depth - 1)
        return (
            left * right + x,
            0.5 * left_dx * right + left * right_dx + 1.0,
            left_dc * right + left * right_dc,
        )

    value, dx, dc = sweep(x, depth)
    return value, (dx, dc)


workload(recursion_tree, recursion_tree_by_hand, 0.4, 0.8, 8, argnums=(0, 1), note="511 recursive calls")


def soft(x):
    return math.log(1.0 + math.exp(x))


def gate(x, y):
    return x / (1.0 + y * y)


def mix(x, y, t):
    return t * x + (1.0 - t) * y


def small_functions(x, t):
    y = 0.0
    for i in range(300):
        y = mix(soft(y), gate(x, y + 0.01 * i), t)
    return y


def small_functions_by_hand(x, t):
    exp, log = math.exp, math.log
    saved = []
    push = saved.append
    y, rest = 0.0, 1.0 - t
    for i in range(300):
        e = exp(y)
        s = log(1.0 + e)
        z = y + 0.01 * i
        q = 1.0 + z * z
        push(e)
        push(s)
        push(z)
        push(q)
        y = t * s + rest * (x / q)
    pop = saved.pop
    dx, dt, dy = 0.0, 0.0, 1.0
    for _ in range(300):
        q = pop()
        z = pop()
        s = pop()
        e = pop()
        g = x / q
        dt += dy * (s - g)
        dg = dy * rest / q
        dx += dg
        dy = dy * t * e / (1.0 + e) - 2.0 * z * g * dg
    return y, (dx, dt)


workload(small_functions, small_functions_by_hand, 1.4, 0.6, note="300 x three small functions")


def leapfrog(state, damping):
    angle, speed = state
    speed = speed - 0.02 * (math.sin(angle) + damping * speed)
    return angle + 0.02 * speed, speed


def tuple_state(angle, damping):
    state = (angle, 0.0)
    for _ in range(300):
        state = leapfrog(state, damping)
    return state[0] * state[1]


def tuple_state_by_hand(angle, damping):
    sin, cos = math.sin, math.cos
    angles, speeds = [], []
    push_angle, push_speed = angles.append, speeds.append
    speed = 0.0
    for _ in range(300):
        push_angle(angle)
        push_speed(speed)
        speed = speed - 0.02 * (sin(angle) + damping * speed)
        angle = angle + 0.02 * speed
    dangle, dspeed, ddamping = speed, angle, 0.0
    keep = 1.0 - 0.02 * damping
    for angle_in, speed_in in zip(reversed(angles), reversed(speeds)):
        dspeed += 0.02 * dangle
        ddamping -= 0.02 * dspeed * speed_in
        dangle -= 0.02 * dspeed * cos(angle_in)
        dspeed *= keep
    return angle * speed, (dangle, ddamping)


workload(tuple_state, tuple_state_by_hand, 1.2, 0.3, note="300 steps, the state is a tuple")


def shrink(x, a, n):
    return shrink(x * a, a, n - 1) if n > 0 else x


def large_single_block(v):
    return shrink(v[0], v[1], 400)


def large_single_block_by_hand(v):
    def sweep(x, a, n):
        if n == 0:
            return x, 1.0, 0.0
        value, dx, da = sweep(x * a, a, n - 1)
        return value, dx * a, da + dx * x

    value, dx, da = sweep(v[0], v[1], 400)
    return value, (np.array([dx, da]),)


workload(large_single_block, large_single_block_by_hand, np.array([0.9, 0.99]), note="400 recursive calls")
