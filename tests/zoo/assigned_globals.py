"""Global variables that functions assign: made when first asked for, kept for later, read back by other functions."""

import math

import numpy as np

import tests.zoo.assigned_globals as this_module
from tests.zoo import tables
from tests.zoo.registry import case

V = np.array([0.4, 1.3, 2.1])
MODEL = WEIGHTS = CACHE = LAST = BUFFER = STEP = PARTS = SCALE = None
TOTAL = 0.0
CALLS = 0


class Model:
    def __init__(self, weight):
        self.weight = weight
        self.seen = []

    def __call__(self, x):
        self.seen.append(x)
        return self.weight * x


def model():
    global MODEL
    if MODEL is None:
        MODEL = Model(2.0)
    return MODEL


@case(1.3)
def made_when_first_asked_for(x):
    return model()(x) * model()(x * x)


@case(1.3)
def what_was_made_is_changed(x):
    model().weight = x * x
    y = model()(x) * x
    model().weight = 2.0
    return y * model().seen[-1] * model()(x)


@case(V)
def arrays_and_lists_made_when_first_asked_for(v):
    global WEIGHTS, PARTS
    if WEIGHTS is None:
        WEIGHTS = np.arange(1.0, 4.0)
    if PARTS is None:
        PARTS = [0.5, 2.0]
    return np.sum(WEIGHTS * v) * PARTS[0] * v[1]


@case(V)
def a_buffer_made_when_first_asked_for(v):
    global BUFFER
    if BUFFER is None:
        BUFFER = np.zeros(3)
    BUFFER[:] = v * 2
    BUFFER *= v
    return np.sum(BUFFER * v)


def fibonacci(n, x):
    global CACHE
    if CACHE is None:
        CACHE = {}
    if n < 2:
        return x * n + 1.0
    if n not in CACHE:
        CACHE[n] = fibonacci(n - 1, x) + fibonacci(n - 2, x) * x
    return CACHE[n]


@case(1.3)
def a_cache_thrown_away(x):
    global CACHE
    CACHE = None
    return fibonacci(6, x)


@case(V)
def the_last_loss(v):
    global LAST
    LAST = np.sum(v * v)
    return np.sum(v * v * v) * LAST


def add(v):
    global TOTAL
    TOTAL = TOTAL + v


@case(1.3)
def a_total_that_functions_add_to(x):
    global TOTAL
    TOTAL = 0.0
    for i in range(4):
        add(x * i)

    def twice():
        return TOTAL * 2

    return twice() * TOTAL + sum([TOTAL * i for i in range(3)])


@case(1.3)
def counted_and_added(x):
    global CALLS, TOTAL
    CALLS += 1
    TOTAL = 1.0
    for i in range(3):
        TOTAL = TOTAL * x if i % 2 else TOTAL + i
    return TOTAL * min(CALLS, 1)


@case(1.3)
def a_function_assigned(x):
    global STEP
    STEP = lambda v: v * x  # noqa: E731
    return STEP(x) + sum(map(STEP, [x, 1.0]))


@case(1.3)
def deleted_and_missed(x):
    global LAST
    LAST = x
    y = LAST * LAST
    del LAST
    try:
        y = y * LAST
    except NameError:
        y = y * x
    LAST = None
    return y


@case(1.3)
def read_between_writes_by_a_generator(x):
    global LAST

    def multiples():
        for i in range(3):
            yield LAST * i

    LAST = x
    s = 0.0
    for y in multiples():
        s += y
        LAST = LAST * x
    return s


@case(1.3)
def assigned_where_an_exception_is_handled(x):
    global LAST
    try:
        LAST = x * 2
        raise ValueError
    except ValueError:
        y = LAST * x
    finally:
        LAST = x * x
    return y * LAST


@case(1.3)
def variables_of_another_module(x):
    tables.remember(x * x)
    return tables.recalled() * x + tables.REMEMBERED * x


@case(1.3)
def by_the_name_of_the_module(x):
    this_module.SCALE = x * x
    y = SCALE * x
    this_module.SCALE = None
    return y


class Keeper:
    def keep(self, v):
        global LAST
        LAST = v

    @property
    def kept(self):
        return LAST


@case(1.3)
def assigned_and_read_by_methods(x):
    k = Keeper()
    k.keep(x * x)
    return k.kept * x


@case(V)
def another_array_by_the_same_name(v):
    global BUFFER
    BUFFER = old = np.ones(3)
    BUFFER = v * 2
    BUFFER[0] = v[1]
    s = np.sum(BUFFER * v)
    BUFFER = old
    BUFFER[:] = v
    return s + np.sum(BUFFER * old)


TWICE, ROW = [1.0], np.ones(2)


@case(1.3)
def a_list_and_an_array_assigned_what_they_hold_times_two(x):
    global TWICE, ROW
    TWICE.clear()
    TWICE.append(x)
    ROW[0] = x
    TWICE *= 2
    ROW = ROW * 2
    return TWICE[1] * ROW[0] * x


LEVEL = 0.0


def smoothed(x):
    global LEVEL
    LEVEL = LEVEL * 0.9 + x
    return LEVEL


@case((0.4, 1.3, 2.1))
def summed_up_in_a_loop(xs):
    global LEVEL, STEP
    LEVEL, STEP = xs[0] * xs[1], 1
    t = 0.0
    for x in xs:
        LEVEL = LEVEL * x + x
        t += smoothed(x * x) * STEP
        STEP += 1
    y, LEVEL, STEP = LEVEL, 0.0, None
    return t * y


def relaxed(xs):
    global LEVEL
    for x in xs:
        for _ in range(3):
            if LEVEL > 2.0:
                LEVEL = math.sqrt(LEVEL)
            LEVEL += x * math.sin(LEVEL)
    return LEVEL


@case((0.4, 1.3, 2.1))
def summed_up_by_a_helper_with_loops(xs):
    global LEVEL
    LEVEL = 0.5
    y = relaxed(xs) * LEVEL + relaxed(xs[1:]) * LEVEL
    LEVEL = 0.0
    return y


MARK = 0


@case(1.3)
def a_counter_that_becomes_none(x):
    global MARK
    MARK = 1
    y = x
    for _ in range(3):
        if MARK is None:
            y = y * x
        MARK = None
    MARK = 0
    return y


SHARE = 1


@case(1.3)
def a_counter_that_becomes_a_fraction(x):
    global SHARE
    SHARE = 1
    y = x
    for _ in range(3):
        y = y * x * SHARE
        SHARE = SHARE + 0.5
    SHARE = 1
    return y
