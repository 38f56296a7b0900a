"""Lists and objects that are written by one name and read by another: through attributes, containers, cells, calls."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections import defaultdict, deque

from tests.zoo.registry import case


class Box:
    def __init__(self, log=None, value=0.0):
        self.log = [] if log is None else log
        self.value = value


class Event:
    def __init__(self):
        self.handlers = []

    def __iadd__(self, handler):
        self.handlers.append(handler)
        return self

    def __call__(self, *args):
        for handler in self.handlers:
            handler(*args)


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.changed = Event()
        self.log = []

    def deposit(self, x):
        self.balance += x
        self.changed(self, x)


@case(10.0, 2.0)
def events_of_an_account(x, y):
    account, fees = Account(x), []
    account.changed += lambda a, d: fees.append(0.01 * d)
    account.changed += lambda a, d: a.log.append(a.balance)
    for i in range(4):
        account.deposit(y * i)
    return account.balance * account.log[-1] - sum(fees)


@case(10.0, 2.0)
def a_handler_that_swaps_lists(x, y):
    account, fees = Account(x), [y]

    def swap(a, d):
        nonlocal fees
        a.log, fees = fees, a.log

    account.changed += swap
    account.changed += lambda a, d: a.log.append(a.balance * d)
    for i in range(3):
        account.deposit(y * i)
    return sum(account.log) * x - sum(fees)


@case(1.3)
def one_list_in_two_objects(x):
    shared = []
    a, b = Box(shared), Box()
    b.log = a.log
    b.log.append(x * x)
    other = Box([x])
    other.log.append(2.0)
    return sum(shared) * x + sum(a.log) + sum(other.log)


@case(1.3)
def lists_of_objects_swapped(x):
    a, b = Box([x]), Box()
    first, second = a.log, b.log
    a.log, b.log = b.log, a.log
    a.log.append(x * x)
    b.log.append(3.0 * x)
    return sum(first) * 2 + sum(second) * x


@case(1.3)
def slices_share_their_items(x):
    groups = [[1.0], [x], []]
    part = groups[1:]
    part[1].append(x * x)
    part.append([x])
    again = [*part, *groups]
    again[0].append(2.0 * x)
    return sum(groups[2]) * x + sum(groups[1]) + len(again)


@case(1.3)
def items_by_iterators(x):
    boxes = [Box(), Box(), Box()]
    next(iter(boxes)).log.append(x)
    for i, b in enumerate(boxes):
        b.log.append(x * i)
    for b, c in zip(boxes, reversed(boxes)):
        c.log.append(x * x)
        b.value += x
    for (b, c), k in zip(list(zip(boxes, boxes[1:])), (2.0, 3.0)):
        b.log.append(k * x)
        c.value += k * x
    return sum(sum(b.log) * (i + 1) + b.value for i, b in enumerate(boxes))


@case(1.3)
def chosen_by_a_key(x):
    seen = []

    def key(b):
        seen.append(b.value * x)
        return b.value

    boxes = [Box(value=3.0), Box(value=1.0), Box(value=2.0)]
    sorted(boxes, key=key)[0].log.append(x)
    min(boxes, key=key).log.append(x * x)
    max(boxes, key=lambda b: b.value).log.append(2.0 * x)
    boxes.sort(key=key)
    return sum(boxes[0].log) * x + sum(boxes[2].log) + sum(seen)


@case(1.3)
def put_behind_another_list(x):
    inner, more = [], [1.0]
    outer = [[x]]
    outer += [inner]
    outer.extend([more])
    outer[-2].append(x * x)
    outer[-1].append(x)
    outer[1:2] = [more]
    outer[1].append(3.0 * x)
    return sum(inner) * x + sum(more)


@case(1.3)
def by_keys_of_dicts(x):
    shared, tables = [], {"a": [], "b": [x]}
    tables.setdefault("c", shared).append(x)
    tables.get("d", shared).append(x * x)
    for k, v in tables.items():
        v.append(len(k) * x)
    for v in tables.values():
        v.append(2.0)
    copied = dict(tables, e=shared)
    copied["a"].append(x**3)
    copied["e"].append(x)
    rest = defaultdict(lambda: shared)
    rest["z"].append(5.0 * x)
    return sum(shared) * x + sum(tables["a"]) + sum(tables["b"])


@case(1.3)
def unpacked_and_starred(x):
    lists = [[x], [], [2.0]]
    p, q, r = lists
    first, *others = lists
    p.append(x * x)
    others[0].append(x)
    (a, b), c = (q, r), first
    b.append(3.0 * x)
    c.append(x)
    return sum(lists[0]) * x + sum(lists[1]) + sum(lists[2])


class Carried(Exception):
    def __init__(self, items):
        super().__init__(items)
        self.items = items


@case(1.3)
def carried_by_an_exception(x):
    mine, other = [x], []
    try:
        raise Carried(mine)
    except Carried as e:
        e.items.append(x * x)
        e.args[0].append(2.0 * x)
        other.append(e)
    other[0].items.append(x**3)
    return sum(mine) * x


@case(1.3)
def handed_out_by_calls(x):
    box, other = Box(), [x]
    getattr(box, "log", other).append(x)
    getattr(box, "missing", other).append(x * x)
    functools.partial(list.append, box.log)(3.0 * x)
    push = box.log.append
    push(x * other[-1])
    vars(box)["log"].append(x)
    copy.copy(box).log.append(x * x)
    list(map(lambda b: b.log.append(2.0 * x), [box]))
    return sum(box.log) * x + sum(other)


@case(1.3)
def given_by_generators(x):
    logs = [[x], [2.0]]

    def each():
        for log in logs:
            yield log
        yield logs[0]

    for log in each():
        log.append(x * len(log))
    with contextlib.suppress(IndexError):
        for log in reversed(logs):
            log.append(log[5])
    return sum(logs[0]) * x + sum(logs[1])


@case(1.3)
def queues_of_lists(x):
    lists = [[x], [], [1.0]]
    queue = deque(lists)
    queue.rotate(1)
    queue.popleft().append(x * x)
    queue.appendleft(lists[2])
    queue[0].append(x)
    queue.extend([lists[1]])
    queue[-1].append(3.0 * x)
    return sum(lists[2]) * x + sum(lists[1])


@case(1.3)
def matched_attributes(x):
    box = Box([x], 2.0)
    match box:
        case Box(log=found, value=v):
            found.append(x * v)
    match {"inner": box.log, "other": 1}:
        case {"inner": inner, **others}:
            inner.append(x * len(others))
    return sum(box.log) * x


@case(1.3)
def put_there_by_a_function(x):
    def connect(b, log):
        if len(log) > 0:
            b.log = log
        return b.log

    mine, theirs = [x], []
    a, b = Box(), Box()
    connect(a, mine).append(x * x)
    connect(b, theirs).append(2.0 * x)
    a.log.append(x)
    return sum(mine) * x + sum(b.log) + sum(theirs)


def kept(b, depth):
    """Calls itself, so it has a rule of its own."""
    if depth == 0:
        return b.log
    b.log.append(b.value * depth)
    return kept(b, depth - 1)


@case(1.3)
def written_by_a_recursive_function(x):
    mine = [x]
    box = Box(mine, x * x)
    kept(box, 3).append(x)
    return sum(mine) * x + math.sin(sum(box.log))


class World:
    def __init__(self):
        self.bodies, self.listeners, self.time = [], [], 0.0

    def add(self, b):
        self.bodies.append(b)
        return self

    def step(self, dt):
        for b in self.bodies:
            b.log.append(b.value)
            b.value += dt * len(self.bodies)
        self.time += dt
        for tell in self.listeners:
            tell(self)


@case(0.5, 1.2)
def a_world_with_listeners(x, v):
    energies: list = []
    world = World().add(Box(value=x)).add(Box(value=x * v))
    world.listeners.append(lambda w: energies.append(sum(b.value * b.value for b in w.bodies)))
    for _ in range(3):
        world.step(0.1 * v)
    return sum(energies) + sum(world.bodies[0].log)
