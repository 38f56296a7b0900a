"""Deques: windows, queues and stacks of numbers, arrays and tuples; what is put in at either end, lost and moved."""

from collections import deque

import numpy as np

from tests.zoo.registry import case

XS = [1.3, 0.4, 0.9, 1.7, 0.6, 1.1]


@case(XS)
def moving_average(xs):
    window = deque(maxlen=3)
    s = 0.0
    for x in xs:
        window.append(x * x)
        s += sum(window) / len(window)
    return s * window[0]


@case(XS)
def queue(xs):
    d = deque()
    s = 0.0
    for x in xs:
        d.append(x)
        if len(d) > 2:
            s += d.popleft() * x
    while d:
        s = s * 0.5 + d.pop()
    return s


@case(XS)
def both_ends(xs):
    d = deque([1.0, 2.0], 4)
    for x in xs:
        d.appendleft(x * d[-1])
        d[0] *= 0.5
        d.append(x)
    return d[0] * d[1] + d[-1] * len(d) * d.maxlen


@case(XS)
def moved_about(xs):
    d = deque(xs)
    s = 0.0
    for i in range(3):
        d.rotate(1)
        s += d[0] * i + d[-1]
    d.extend([x * 2 for x in xs])
    d.extendleft(xs)
    d.reverse()
    e = d.copy()
    e[0] = s
    e.remove(e[3])
    e.insert(2, s * s)
    del e[1]
    for i, v in enumerate(d + e):
        s += i * v
    for u, v in zip(d, reversed(e)):
        s = s * 0.9 + u * v
    return s + list(e)[2] * max(d) + e.index(e[4]) * tuple(d)[1]


@case(XS)
def of_lists_and_arrays(xs):
    d = deque([[x, x * x] for x in xs], maxlen=4)
    d.appendleft([xs[0], 1.0])
    d[0][1] *= xs[1]
    d.rotate(-1)
    a, b, *c = d
    e = deque([np.array(xs) * k for k in (1.0, 2.0)])
    e.append(e[0] * e[1])
    e[0][1] = 3.0 * xs[2]
    e.popleft()[2] += 1.0
    return a[0] * b[1] + len(c) * c[0][0] + sum(v.sum() for v in e)


@case(XS)
def breadth_first(xs):
    below = {0: [1, 2], 1: [3], 2: [3], 3: []}
    d = deque([(0, xs[0])])
    s = 0.0
    while d:
        k, v = d.popleft()
        s += v * xs[k]
        for j in below[k]:
            d.append((j, v * xs[j + 1]))
    return s


@case(XS)
def sliding_maximum(xs):
    d = deque()
    s = 0.0
    for i, x in enumerate(xs):
        while d and d[-1][0] <= x:
            d.pop()
        d.append((x, i))
        if d[0][1] <= i - 3:
            d.popleft()
        s += d[0][0] * (i + 1)
    return s


@case(deque([1.3, 0.4, 0.9], 3), XS)
def argument(d, xs):
    d.append(xs[0] * d[0])
    d.popleft()
    d.extend(xs[:2])
    return d[0] * d[1] + d[-1]


@case(XS)
def returned(xs):
    return deque([x * x for x in xs], maxlen=4)


@case(XS)
def nothing_fits(xs):
    d = deque(maxlen=0)
    d.append(xs[0])
    d.appendleft(xs[0])
    return xs[1] * xs[1] + len(d)


@case(XS)
def changed_while_iterated_over(xs):
    d = deque(xs)
    s = 0.0
    try:
        for v in d:
            s += v * v
            if s > 2.0:
                d.append(s)
    except RuntimeError:
        s *= 2.0
    return s


@case(XS)
def to_numpy(xs):
    d = deque(xs)
    return np.array(d).sum() * np.mean(d) + np.dot(d, d) + (np.arange(6.0) * d)[2] + np.concatenate([d, d])[7]


class Line:
    def __init__(self):
        self.waiting = deque()

    def put(self, x):
        self.waiting.append(x)

    def get(self):
        return self.waiting.popleft()


@case(XS)
def in_an_object(xs):
    line = Line()
    s = 0.0
    for i, x in enumerate(xs):
        line.put(x * x)
        if i % 3 == 2:
            s += line.get() * x
    return s + sum(line.waiting)


@case(XS)
def chosen_by_numpy(xs):
    d = deque(xs)
    return (np.where(np.array(d) > 1.0, d, 0.5) * np.fromiter(d, float)).sum()


@case(XS)
def turned(xs):
    d = deque(xs)
    s = 0.0
    for i in range(4):
        d.rotate(i - 1)
        s += d[0] * d[1] * (i + 1.0)
        d[2] = s * 0.1
        d.rotate()
    d.reverse()
    rows = deque([[xs[0]], [xs[1], xs[2]]], 2)
    rows.rotate(3)
    rows[0][0] *= xs[3]
    rows.reverse()
    return s * d[0] + d[-1] + rows[0][0] * rows[1][0]


@case(XS)
def numbers_at_the_right_end(xs):
    full, none, free = deque([1.0, xs[0]], maxlen=2), deque(maxlen=0), deque(xs, 4)
    s = 0.0
    for x in xs:
        full.append(x * full[0])
        none.append(x)
        free.append(x * full[1])
        s += free.popleft() * full[0] + len(none)
    free.append(s)
    free.append(s * s)
    return s + free.pop() * free.popleft() + free[0]
