"""Arrays that a function finds outside and writes to: buffers of modules, closures, classes and default values."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import KeysView

import numpy as np

from tests.zoo.registry import case

X3 = np.array([0.7, 1.3, 0.4])

WORK, GRID = np.zeros(5), np.zeros((3, 3))
ROWS = (np.zeros(3), np.zeros(3))


def _smooth(u: np.ndarray, x: np.ndarray) -> None:
    u[1:-1] = 0.5 * (u[2:] + u[:-2]) + x


@case(X3)
def global_buffer_filled_by_a_helper(x):
    WORK[:] = 1.0
    for _ in range(3):
        _smooth(WORK, x)
    return WORK @ WORK


def _total(k):
    return WORK[k:].sum() * WORK[k]


@case(X3)
def global_buffer_read_by_a_helper(x):
    WORK[:3] = x * x
    WORK[3:] = x[:2]
    return _total(1) + _total(2)


def _two_buffers():
    old, new = np.zeros(3), np.zeros(3)

    def step(x):
        nonlocal old, new
        new[:] = np.sin(old) + x
        old, new = new, old

    def run(x):
        old[:] = 0.5
        for _ in range(4):
            step(x)
        return old.sum() * old[0]

    return run


_swapping = _two_buffers()


@case(X3)
def captured_buffers_swapped(x):
    return _swapping(x)


class _Layer:
    hidden = np.zeros(2)

    def __init__(self) -> None:
        self.out = np.zeros(2)

    def run(self, x):
        np.multiply(x[:2], x[1:], out=self.hidden)
        np.tanh(self.hidden, out=self.out)
        return self

    def result(self):
        return self.out.sum() + (self.hidden**2).sum()


_layer = _Layer()


@case(X3)
def buffers_of_a_class_and_an_object(x):
    return _layer.run(x).result() * _Layer.hidden[0]


def _into(x, out=WORK[1:4]):  # noqa: B008
    out[:] = x**2
    return out


@case(X3)
def buffer_that_is_a_default_value_and_a_view(x):
    WORK[:] = 1.0
    _into(x)
    return WORK.prod() + _into(2.0 * x).sum()


_bound = functools.partial(_into, out=GRID[1])


@case(X3)
def row_bound_in_a_partial(x):
    GRID[...] = 1.0
    _bound(x)
    return (GRID @ GRID).sum() + GRID[:, 0] @ x


@case(X3)
def arrays_in_a_global_tuple(x):
    for k, row in enumerate(ROWS):
        row[:] = x * (k + 1.0)
    ROWS[0][1:] += ROWS[1][:-1]
    return ROWS[0] @ ROWS[1]


def _rows():
    yield from ROWS


@case(X3)
def arrays_from_a_generator_over_globals(x):
    for row in _rows():
        row[:] = np.exp(x)
    return ROWS[1] @ x + ROWS[0][2]


@case(X3)
def results_that_numpy_makes_as_views_of_new_memory(x):
    WORK[0] += 1.0
    rows = np.array(x, order="F", ndmin=2).T
    return (rows[:, 0] * x).sum()


@case(X3)
def an_axis_put_before_a_number(x):
    WORK[0] += 1.0
    kept = list(x) if isinstance(x, KeysView) else x  # which is decided when it runs
    return np.sum(np.sum(np.asarray(kept))[..., None] * x)


@contextlib.contextmanager
def replaced(box, key, value):
    old = box[key]
    box[key] = value
    try:
        yield box
    finally:
        box[key] = old


@contextlib.contextmanager
def _scaled(box, k):
    yield box * k


def _multiples(a, k):
    for v in a:
        yield v * k


def _sums(a, k):
    for v in a:
        yield v + k


class Reader:
    def multiples(self, a, k):
        for v in a:
            yield v * k

    @contextlib.contextmanager
    def replaced(self, a, i, v):
        old = a[i]
        a[i] = v
        yield a
        a[i] = old


KEPT = np.array([0.5, 0.25, 0.125])
MANAGERS, GENERATORS, READERS = {"scaled": _scaled, "replaced": replaced}, [_multiples, _sums], [Reader(), Reader()]


@case(X3)
def given_to_a_generator_that_is_chosen(x):
    total = 0.0
    for g in GENERATORS:
        for v in g(KEPT, x[0]):
            total += v * x[1]
    return total * sum(GENERATORS[int(x[1])](KEPT, x[2])) + sum(sum(r.multiples(KEPT, x[0])) for r in READERS)


@case(X3)
def given_to_a_manager_that_is_chosen(x):
    with MANAGERS["scaled"](KEPT, x[0]) as b, MANAGERS["replaced"](KEPT, 1, x[1] ** 2) as c:
        total = np.sum(b) * c[1]
    for r in READERS:
        with r.replaced(KEPT, 1, x[0]) as a:
            total += a[1] * KEPT[1]
    with (replaced if x[1] > 1 else _scaled)(KEPT, 1, x[2]) as a:
        return total * a[1] * KEPT[1]


@case(X3)
def given_to_managers_by_name_and_on_a_stack(x):
    with contextlib.ExitStack() as stack:
        b = stack.enter_context(_scaled(KEPT, x[0]))
        stack.enter_context(replaced(box=KEPT, key=1, value=x[0] ** 2))
        return np.sum(b) * KEPT[1] * x[1]


def _written(a, k):
    a[0] = k * k
    yield a[0] * k
    a[1] = a[0] * k
    yield a[1]


def _read_twice(a, k):
    for v in a:
        yield v * k
        a = a * k


def _bumped(a, k):
    a[2] = k * k
    return k


WRITERS, READING, CHANGERS = [_written, _written], [_read_twice, _multiples], [_bumped]


def _one_of(k):
    return READING[k]


@case(X3)
def given_to_one_of_two_generators_in_pairs(x):
    g = _one_of(int(x[1]))
    total = 0.0
    for u, v in zip(g(KEPT, x[0]), g(KEPT, x[2]), strict=True):
        total += u * v
    return total + sum(functools.partial(g, KEPT)(x[2]))


@case(X3)
def given_by_map_to_a_generator_that_writes(x):
    total = 0.0
    for g in map(WRITERS[int(x[0])], [KEPT], [x[0]]):
        total += sum(g)
    return total * KEPT[0] * KEPT[1]


@case(X3)
def given_by_a_partial_to_a_generator_that_writes(x):
    return sum(functools.partial(WRITERS[int(x[0])], KEPT)(x[1])) * KEPT[0] * KEPT[1]


@case(X3)
def given_by_reduce_to_a_function_that_writes(x):
    return functools.reduce(CHANGERS[int(x[0])], [x[1]], KEPT) * KEPT[2] * x[0]


@case(X3)
def given_by_map_to_a_partial_that_writes(x):
    return sum(map(functools.partial(CHANGERS[int(x[0])], k=x[0]), {"a": KEPT}.values())) * KEPT[2]
