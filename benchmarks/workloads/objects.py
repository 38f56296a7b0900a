"""Objects: attributes that are added to in a loop, a small vector class with operators, records in a list.

The gradients by hand work on the numbers: who writes them by hand takes the objects apart.
"""

import math
from dataclasses import dataclass

from benchmarks.workloads.base import workload


class Running:
    def __init__(self):
        self.total = 0.0
        self.weight = 1.0

    def add(self, x):
        self.total += x * self.weight
        self.weight = 0.99 * self.weight + 0.01 * math.sin(self.total)


def running_sum(x):
    running = Running()
    for _ in range(300):
        running.add(x)
    return running.total * running.weight


def running_sum_by_hand(x):
    t, w = 0.0, 1.0
    saved = []
    for _ in range(300):
        saved.append(w)
        t += x * w
        saved.append(t)
        w = 0.99 * w + 0.01 * math.sin(t)
    value = t * w
    dt, dw, dx = w, t, 0.0
    back = reversed(saved)
    for t in back:
        dt += 0.01 * math.cos(t) * dw
        dw = 0.99 * dw + x * dt
        dx += dt * next(back)
    return value, (dx,)


workload(running_sum, running_sum_by_hand, 0.3, note="300 calls of a method that changes two attributes")


class Vec2:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vec2(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vec2(self.x * k, self.y * k)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


def planet(x, v):
    place, speed = Vec2(x, 0.0), Vec2(0.0, v)
    for _ in range(200):
        r2 = place.dot(place)
        pull = place * (-1.0 / (r2 * math.sqrt(r2)))
        speed = speed + pull * 0.01
        place = place + speed * 0.01
    return place.dot(place) + speed.dot(speed)


def planet_by_hand(x, v):
    px, py, ux, uy = x, 0.0, 0.0, v
    saved = []
    for _ in range(200):
        r2 = px * px + py * py
        k = -1.0 / (r2 * math.sqrt(r2))
        saved += (px, py, r2, k)
        ux += px * k * 0.01
        uy += py * k * 0.01
        px += ux * 0.01
        py += uy * 0.01
    value = px * px + py * py + ux * ux + uy * uy
    dpx, dpy, dux, duy = 2.0 * px, 2.0 * py, 2.0 * ux, 2.0 * uy
    back = reversed(saved)
    for k in back:
        r2, py, px = next(back), next(back), next(back)
        dux += 0.01 * dpx
        duy += 0.01 * dpy
        dax, day = 0.01 * dux, 0.01 * duy
        dr2 = (dax * px + day * py) * -3.0 * k / r2
        dpx += dax * k + px * dr2
        dpy += day * k + py * dr2
    return value, (dpx, duy)


workload(planet, planet_by_hand, 1.0, 1.1, note="a vector class with operators, 200 steps")


@dataclass
class Body:
    x: float
    y: float
    vx: float
    vy: float
    m: float = 1.0


def cluster(m, v):
    bodies = [Body(0.5 * i, 0.2 * i * i, v * (i - 1.5), 0.1 * v * i, m * (1.0 + i)) for i in range(4)]
    for _ in range(20):
        for a in bodies:
            ax = ay = 0.0
            for b in bodies:
                dx, dy = b.x - a.x, b.y - a.y
                r2 = dx * dx + dy * dy + 0.1
                k = b.m / (r2 * math.sqrt(r2))
                ax += k * dx
                ay += k * dy
            a.vx += 0.01 * ax
            a.vy += 0.01 * ay
        for a in bodies:
            a.x += 0.01 * a.vx
            a.y += 0.01 * a.vy
    return sum(b.x * b.x + b.y * b.y for b in bodies)


def cluster_by_hand(m, v):
    n = range(4)
    x, y = [0.5 * i for i in n], [0.2 * i * i for i in n]
    vx, vy, ms = [v * (i - 1.5) for i in n], [0.1 * v * i for i in n], [m * (1.0 + i) for i in n]
    saved = []
    for _ in range(20):
        for a in n:
            xa, ya = x[a], y[a]
            ax = ay = 0.0
            for b in n:
                dx, dy = x[b] - xa, y[b] - ya
                r2 = dx * dx + dy * dy + 0.1
                s = 1.0 / (r2 * math.sqrt(r2))
                saved += (dx, dy, r2, s)
                k = ms[b] * s
                ax += k * dx
                ay += k * dy
            vx[a] += 0.01 * ax
            vy[a] += 0.01 * ay
        for a in n:
            x[a] += 0.01 * vx[a]
            y[a] += 0.01 * vy[a]
    value = sum(x[a] * x[a] + y[a] * y[a] for a in n)
    gx, gy = [2.0 * t for t in x], [2.0 * t for t in y]
    gvx, gvy, gm = [0.0] * 4, [0.0] * 4, [0.0] * 4
    back = reversed(saved)
    for _ in range(20):
        for a in n:
            gvx[a] += 0.01 * gx[a]
            gvy[a] += 0.01 * gy[a]
        for a in (3, 2, 1, 0):
            gax, gay = 0.01 * gvx[a], 0.01 * gvy[a]
            for b in (3, 2, 1, 0):
                s, r2, dy, dx = next(back), next(back), next(back), next(back)
                if a == b:  # both are moved, and by as much
                    continue
                gk = gax * dx + gay * dy
                gm[b] += gk * s
                k = ms[b] * s
                gr2 = -3.0 * gk * k / r2
                gdx, gdy = gax * k + dx * gr2, gay * k + dy * gr2
                gx[b] += gdx
                gy[b] += gdy
                gx[a] -= gdx
                gy[a] -= gdy
    dm = sum(gm[i] * (1.0 + i) for i in n)
    return value, (dm, sum(gvx[i] * (i - 1.5) + gvy[i] * 0.1 * i for i in n))


workload(cluster, cluster_by_hand, 0.7, 0.3, note="four records in a list, all pairs, 20 steps")
