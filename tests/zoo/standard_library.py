"""The standard library on the way: called with constants, for text, for grouping, for statistics."""

from __future__ import annotations

import argparse
import array
import collections
import copy
import csv
import ctypes
import functools
import io
import itertools
import json
import logging
import pathlib
import pprint
import queue
import re
import statistics
import sys
import tempfile
import textwrap
import threading
from datetime import date, datetime, time, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np

from tests.zoo.registry import case

XS = [0.5, 1.5, 1.2, -0.3, 2.1, 2.5, -1.0]
SETTINGS = {"name": "run", "sizes": [1, 2], "on": True}


class Safe:
    """Looks names up in a tuple that C made."""

    def __init__(self, x):
        self.scale = x * 2.0
        self.least = sys.float_info.epsilon
        self.most = sys.float_info.max


NOON = datetime(2020, 6, 6, 12, tzinfo=timezone(timedelta(hours=2)))
CLOCKS = [time(9), time(9, tzinfo=timezone.utc)]


@case(1.3)
def time_zones_of_dates_and_times_from_outside(x):
    total = x * NOON.tzinfo.utcoffset(None).total_seconds() / 3600.0
    for clock in CLOCKS:
        total += x**3 if clock.tzinfo is None else np.sin(x)
    return total if NOON.tzinfo is not None else -total


IS_RUNNING = ctypes.pythonapi.Py_IsInitialized
ASKED: dict[str, Any] = {"running": IS_RUNNING, "last": 0.0}


def asked_of_c(x, ask):
    ASKED["last"] = x * x
    return ask() * x


@case(0.7)
def functions_of_c_libraries_on_constants(x):
    size = ctypes.c_double(2.0)
    return x * IS_RUNNING() * size.value + asked_of_c(x, ASKED["running"]) * ASKED["last"]


@case(0.7)
def names_in_a_tuple_of_c(x):
    safe = Safe(x)
    return safe.scale / (safe.scale + safe.least) + x * min(safe.most, 2.0)


@case(0.7)
def json_of_settings(x):
    text = json.dumps(SETTINGS, sort_keys=True)
    back = json.loads(text)
    return x * back["sizes"][1] * len(json.dumps({"a": [1, 2]}, indent=1))


@case(0.7)
def json_of_what_has_a_derivative(x):
    history: dict[str, Any] = {"loss": []}
    for i in range(2):
        x = x * x + i
        history["loss"].append(x)
    return x * (json.dumps(history)[0] == "{") + history["loss"][0] * (len(pprint.pformat(history)) > 3)


@case(0.7)
def csv_into_a_buffer(x):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["a", "b"])
    writer.writerow([1, 2])
    return x * len(list(csv.reader(out.getvalue().splitlines())))


@case(0.7, tags=("slow",))
def options_of_a_program(x):
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=3)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args(["--n", "4", "a", "b"])
    return x**args.n * len(args.names)


@case(0.7)
def text_and_dates(x):
    title = "one and two".title()
    lines = textwrap.wrap(title, 5)
    logging.getLogger("tests.zoo").debug("%s: %s", title, x)
    return x * len(lines) + date(2020, 1, 31).month * x * x + float(Fraction(1, 4)) * x


@case(0.7)
def a_copy_of_constants_is_written_to(x):
    template = {"w": [0.0, 1.0], "n": 2}
    mine = copy.deepcopy(template)
    other = copy.copy(template)
    mine["w"][0] = x
    other["w"] = [x * x]
    return mine["w"][0] * mine["w"][1] * other["w"][0] + template["w"][0]


@case(XS)
def runs_of_one_kind(xs):
    total = 0.0
    for large, run in itertools.groupby(xs, key=lambda v: v > 1):
        total += sum(v * v for v in run) * (2 if large else 1)
    return total


@case(XS)
def runs_not_read_to_their_end(xs):
    total, left = 0.0, []
    for _, run in itertools.groupby(xs, key=lambda v: int(0.9 * v)):
        total += next(run) ** 2
        left.append(run)
    return total + sum([v for run in left for v in run])


@case([1.5, 1.6, 2.0, 0.5])
def groups_by_the_items_themselves(xs):
    return sum([k * len(list(g)) for k, g in itertools.groupby(sorted(xs))])


@case(XS)
def iterators_from_tee(xs):
    a, b = itertools.tee(v * v for v in xs)
    next(b)
    c, d = itertools.tee(xs)
    return sum([x * y for x, y in zip(a, b)]) * max(c) + sum(d)


@case(XS)
def statistics_of_a_list(xs):
    centre = statistics.mean(xs) * statistics.fmean(xs) + statistics.median(xs)
    return centre * statistics.stdev(xs) + statistics.variance(xs) - statistics.pstdev(v * v for v in xs)


@case([1.0, 2.0, 4.0], [0.5, 1.5, 1.0])
def statistics_of_pairs(x, y):
    means = statistics.harmonic_mean(x) * statistics.geometric_mean(y) + statistics.fmean(x, y)
    return means + statistics.covariance(x, y) + statistics.correlation(x, y) + statistics.pvariance(y, 1.0)


@case(np.array([0.5, 2.0, 1.0]))
def statistics_of_an_array(a):
    return statistics.median_low(a.tolist()) * statistics.mean(a) + float(a[0].is_integer())


def _in_batches(xs, n):
    it = iter(xs)
    while batch := tuple(itertools.islice(it, n)):
        yield batch


_batched = getattr(itertools, "batched", _in_batches)  # new in Python 3.12


@case(XS)
def items_in_batches(xs):
    return sum([b[0] * b[-1] * len(b) for b in _batched(xs, 3)])


class Canvas:
    def __init__(self, width, shade):
        self.pixels = array.array("B", [0] * (width * width))
        self.shade = shade
        for i in range(width):
            self.pixels[i * width + i] = 255

    def weight(self):
        return self.shade * sum(self.pixels) * len(self.pixels.tobytes())


@case(0.7)
def arrays_of_bytes(x):
    return Canvas(3, x * x).weight()


@case([0.4, 1.3, 2.1, 0.7], [1.0, 3.0, 0.5, 2.0])
def regression_of_a_line(x, y):
    line = statistics.linear_regression(x, y)
    return line.slope * x[0] + line.intercept, statistics.linear_regression(x, y, proportional=True).slope


@case(0.3, 1.2, 0.7)
def quantiles_of_a_normal_distribution(p, mu, sigma):
    d = statistics.NormalDist(mu, sigma)
    return d.inv_cdf(p) * d.inv_cdf(0.5 * p) + d.cdf(mu + p)


@case([0.4, 1.3, 2.1])
def counted_on_the_way(x):
    c = collections.Counter()
    c.update("abca")
    c.update({"b": 3})
    c.subtract(iter("ab"))
    most = statistics.mode([round(v) for v in x])
    return x[most] * c["a"] + x[1] * c.most_common(1)[0][1]


@case(np.array([0.4, 1.3, 2.1]))
def sorted_by_comparing(v):
    def by_value(a, b):
        return -1 if v[a] > v[b] else 1

    order = sorted(range(3), key=functools.cmp_to_key(by_value))
    xs = sorted([float(y) for y in v], key=functools.cmp_to_key(lambda a, b: (b > a) - (b < a)))
    key = functools.cmp_to_key(lambda a, b: (a > b) - (a < b))
    return v[order[0]] * v[order[1]] ** 2 + xs[0] * xs[1] ** 2 + max(xs[1], xs[2], key=key)


@case(np.array([0.4, 1.3, 2.1]))
def text_replaced_by_functions(v):
    seen = []

    def replace(match):
        seen.append(v[int(match.group())])
        return "z"

    text = re.sub(r"\d", replace, "a0b1c2")
    longer, n = re.compile(r"\d").subn(lambda m: str(v[int(m.group())] > 1.0), "a0b1c2", count=2)
    return sum(seen) * v[0] * len(text) + n * v[1] + len(longer) * v[2]


@case(1.3)
def a_cache_of_few_results(x):
    asked = []

    @functools.lru_cache(maxsize=2)
    def f(n, k=1.0):
        asked.append(n * x)
        return x * n if n < 2 else f(n - 1) * f(n - 2) + k

    @functools.lru_cache(maxsize=0)
    def g(n):
        asked.append(x)
        return n * x

    s = f(4) + f(3) + f(4, k=2.0) * sum(asked) + g(2) + g(2)
    return s * len(asked) + f.cache_info().hits * x + f.cache_info().currsize


@case(1.3)
def settings_in_a_file(x):
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "settings.txt"
        path.write_text(f"{2.0} {len(path.suffix)}")
        factor, power = path.read_text().split()
        here = len(list(path.parent.glob("*.txt")))
    return float(factor) * x ** int(power) * here


@case(np.array([0.5, -1.2, 2.0]))
def constants_packed_in_bytes(x):
    packed = array.array("d", [1.0, 2.0, 3.0])
    text = np.frombuffer(np.arange(3.0).tobytes())
    return np.frombuffer(packed) @ x + text @ (x * x) + packed[0] * x[0] + sum(packed) * x[1]


@case(0.7)
def queues(x):
    q, ordered = queue.Queue(), queue.PriorityQueue()
    for i in range(3):
        q.put(x * (i + 1))
        ordered.put((-i, x**i))
    total = q.get() * q.get()
    while not ordered.empty():
        total = total * x + ordered.get()[1]
    try:
        for _ in range(3):
            total += q.get_nowait()
    except queue.Empty:
        total *= x
    lock = threading.RLock()
    try:
        with lock:
            raise ValueError(x)
    except ValueError as e:
        return total * e.args[0]
