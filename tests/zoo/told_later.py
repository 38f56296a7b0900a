"""Variables that hold another function, class, method's name or number of arguments each time round a loop."""

import itertools
import math

import numpy as np

from tests.zoo.registry import case


@case([0.3, 0.9, -0.4, 1.1, 0.2, -0.7, 0.8])
def a_state_machine(xs):
    def idle(c, x):
        c["energy"] += 0.1 * x
        return "run" if x > 0.5 else "idle"

    def run(c, x):
        c["energy"] += x * x * c["gain"]
        c["gain"] *= 0.9
        return "stop" if x < 0 else "run"

    def stop(c, x):
        c["energy"] -= math.sin(x)
        return "idle"

    table = {"idle": idle, "run": run, "stop": stop}
    c = {"energy": 0.0, "gain": 1.5}
    state = "idle"
    for x in xs:
        state = table[state](c, x)
    return c["energy"] * c["gain"]


class Plain:
    def __init__(self, x):
        self.x = x

    def next_class(self):
        return Squared


class Squared:
    def __init__(self, x):
        self.x = x * x

    def next_class(self):
        return Plain


@case([0.3, 0.9, -0.4, 1.1])
def a_class_by_the_last_object(xs):
    cls, total = Plain, 0.0
    for x in xs:
        made = cls(x)
        total += made.x
        cls = made.next_class()
    return total


def once(x, *more):
    return x + sum(more), twice


def twice(x, *more):
    return x * x * sum(more), once


@case([0.3, 0.9, -0.4, 1.1])
def a_function_by_the_last_result(xs):
    f, total = once, 0.0
    for x in xs:
        v, f = f(x, 1.0)
        total += v
    return total


def power(x, n=3, *more):
    return x if n == 0 else x * power(x, n - 1)


def multiple(x, n=2, *more):
    return x if n == 0 else x + multiple(x, n - 1)


def other_one(f):
    return multiple if f is power else power


@case([0.3, 0.9, -0.4, 1.1])
def a_recursive_function_by_another(xs):
    f, total = power, 0.0
    for x in xs:
        total += f(x)
        f = other_one(f)
    return total


def with_another(*args):
    return (*args, args[0] * 2.0)


@case(1.3)
def more_starred_arguments_each_time(x):
    args = (x,)
    for _ in range(3):
        args = with_another(*args)
    return sum(v * v for v in args)


def same(x):
    return x


@case(1.3, 4)
def asked_whether_it_is_a_variable(x, n):
    last, v, total = None, x if n > 2 else None, 0.0
    for i in range(4):
        if v is last:
            total += 1.0 if v is None else v * i
        last = same(v)
    return total


class Bag:
    def __init__(self, x):
        self.x = x

    def values(self):
        return [self.x, self.x * 2.0]


def bag_of(d):
    return Bag(sum(d.values()))


@case(1.3)
def values_of_a_dict_and_of_something_else(x):
    d, total = {"a": x, "b": 2.0}, 0.0
    for i in range(3):
        shown = d.values()
        made = bag_of(d)
        if i == 0:
            d["a"] = x * x
        total += sum(shown)
        d = made
    return total


def doubled(f):
    return lambda v: f(v) * 2.0


@case(1.3)
def closures_of_closures(x):
    f, total = lambda v: v * x, 0.0
    for _ in range(3):
        total += f(x)
        f = doubled(f)
    return total


@case(np.array([0.5, 1.5]))
def a_function_out_of_the_step_before(x):
    def halve(v):
        return v * 0.5, (square if np.sum(v) > 1.0 else halve)

    def square(v):
        return v * v * x, halve

    step, v = halve, x
    for _ in range(4):
        v, step = step(v)
    return np.sum(v)


class Open:
    def __init__(self, x, steps=0):
        self.x, self.steps = x, steps

    def run(self, y):
        return self.x * y, Shut(self.x + y) if y > 0.5 else Open(self.x * 2.0, self.steps + 1)


class Shut:
    def __init__(self, x):
        self.x = x
        self.seen = [x]

    def run(self, y):
        self.seen.append(y)
        return self.x * sum(self.seen), Open(y)


@case([0.3, 0.9, -0.4, 1.1, 0.7])
def states_that_give_the_next_one(xs):
    state, total = Open(1.5), 0.0
    for x in xs:
        v, state = state.run(x)
        total += v
    return total * state.x


class Component:
    def __init__(self, weight, mean):
        self.weight, self.mean = weight, mean

    def density(self, x):
        return self.weight * np.exp(-0.5 * (x - self.mean) ** 2)


@case([0.4, 0.6], [-0.5, 1.2], np.array([-0.7, -0.4, 0.9, 1.3, 1.6]))
def objects_that_get_what_all_of_them_give(weights, means, data):
    components = [Component(w, m) for w, m in zip(weights, means)]
    for _ in range(2):
        densities = np.stack([c.density(data) for c in components])
        shares = densities / densities.sum(axis=0)
        for c, share in zip(components, shares):
            c.weight = share.sum() / data.size
            c.mean = share @ data / share.sum()
    return np.mean(np.log(np.sum([c.density(data) for c in components], axis=0)))


class Controller:
    def __init__(self, gain, rate):
        self.gain, self.rate = gain, rate
        self.total, self.last = 0.0, None

    def __call__(self, error):
        self.total += error
        change = 0.0 if self.last is None else (error - self.last) / 0.1
        self.last = error
        force = self.gain * error + self.total + self.rate * change
        if not -2.0 <= force <= 2.0:
            self.total -= error
            force = min(max(force, -2.0), 2.0)
        return force


class Mass:
    def __init__(self, mass):
        self.mass, self.place, self.speed = mass, 0.0, 0.0

    def step(self, force):
        self.speed += (force - 0.5 * self.speed) / self.mass * 0.1
        self.place += self.speed * 0.1
        return self.place


@case(3.0, 0.2, 1.1)
def a_controller_that_knows_the_last_error(gain, rate, mass):
    controller, body, y, cost = Controller(gain, rate), Mass(mass), 0.0, 0.0
    for k in range(6):
        y = body.step(controller((1.0 if k < 4 else 0.5) - y))
        cost += (1.0 - y) ** 2
    return cost


class Reaction:
    def __init__(self, constant, changes):
        self.constant, self.changes = constant, changes


class Mixture:
    def __init__(self, reactions, amounts):
        self.reactions, self.amounts = reactions, dict(amounts)

    def after(self, extents):
        amounts = dict(self.amounts)
        for r, x in zip(self.reactions, extents):
            for name, k in r.changes.items():
                amounts[name] = amounts.get(name, 0.0) + k * x
        return amounts

    def residual(self, extents):
        amounts = self.after(extents)
        return np.array(
            [sum(k * math.log(amounts[s]) for s, k in r.changes.items()) - r.constant for r in self.reactions]
        )


@case([0.1, -0.3], {"a": 1.0, "b": 0.8, "c": 0.2})
def sums_of_generators_that_lead_to_the_next_step(constants, amounts):
    reactions = [Reaction(constants[0], {"a": -1, "b": 1}), Reaction(constants[1], {"b": -1, "c": 2})]
    mixture, extents = Mixture(reactions, amounts), np.array([0.05, 0.02])
    for _ in range(3):
        extents = extents - 0.1 * mixture.residual(extents)
    return extents[0] * extents[1]


@case([0.4, -0.3], 1.7)
def sums_of_arrays_in_steps(y, k):
    y = np.array(y)
    for _ in range(3):
        slopes = [np.sin(k * y), y * y - k]
        slopes.append(slopes[0] * slopes[1])
        y = y + 0.1 * sum(b * s for b, s in zip((0.2, 0.3, 0.5), slopes))
    return np.sum(y * sum(slopes))


@case([[1.0, 2.0], [], [0.5, 3.0, 1.5]], 0.7)
def sums_of_arrays_that_may_be_none_at_all(rows, x):
    total = 0.0
    for row in rows:
        total = total + np.sum(x * sum([v * np.array([x, 1.0]) for v in row]) + 1.0)
    return total


class Glass:
    def __init__(self, index):
        self.index = index


@case(1.3, 2.1, [0.1, 0.2, 0.3, 0.4, 0.5])
def layers_that_take_turns(a, b, depths):
    glasses = itertools.cycle([Glass(a), Glass(b), Glass(a * b)])
    layers = [(next(glasses), d) for d in depths]
    return sum(math.sin(glass.index * d) for glass, d in layers) * layers[-1][0].index


class Below:
    def handle(self, machine, x):
        machine.energy += x * x
        if machine.energy > 3.0:
            machine.state = Above(machine.energy)


class Above:
    def __init__(self, start):
        self.start = start

    def handle(self, machine, x):
        machine.energy -= 0.5 * self.start * x
        if machine.energy < 1.0:
            machine.state = Below()


class Machine:
    def __init__(self, energy):
        self.energy = energy
        self.state = Below()
        self.log = []

    def feed(self, x):
        self.state.handle(self, x)
        self.log.append(self.energy)


@case(0.6, 0.2)
def a_state_that_puts_another_in_its_place(x, energy):
    machine = Machine(energy)
    for k in range(12):
        machine.feed(x + 0.1 * k)
    return sum(machine.log) + machine.energy


class Weight:
    def __init__(self, value):
        self.value = value


class Part:
    def weights(self):
        return []


class Unit(Part):
    def __init__(self, ws, bias, bent=True):
        self.ws = [Weight(w) for w in ws]
        self.bias = Weight(bias)
        self.bent = bent

    def weights(self):
        return [*self.ws, self.bias]


class Row(Part):
    def __init__(self, wss, biases, **how):
        self.units = [Unit(ws, bias, **how) for ws, bias in zip(wss, biases)]

    def weights(self):
        return [w for unit in self.units for w in unit.weights()]


class Rows(Part):
    def __init__(self, wsss, biasess):
        pairs = enumerate(zip(wsss, biasess))
        self.rows = [Row(wss, biases, bent=i != len(wsss) - 1) for i, (wss, biases) in pairs]

    def weights(self):
        return [w for row in self.rows for w in row.weights()]


@case([[[0.3, -0.2], [0.5, 0.1]], [[0.7, 1.1]]], [[0.1, 0.2], [0.4]])
def parts_of_parts_by_methods_of_one_name(wsss, biasess):
    return sum((i + 1) * w.value**2 for i, w in enumerate(Rows(wsss, biasess).weights()))


class Solid:
    def __init__(self, t):
        self.t = t

    def heated(self, q):
        t = self.t + 0.5 * q
        return Liquid(t - 1.0, 0.0) if t > 1.0 else Solid(t)

    def energy(self):
        return 2.0 * self.t


class Liquid:
    def __init__(self, t, gone):
        self.t, self.gone = t, gone

    def heated(self, q):
        return Gas(self.t) if self.gone > 0.5 else Liquid(self.t + q, self.gone + 0.1 * self.t * q)

    def energy(self):
        return 3.0 * self.t + 7.0 * self.gone


class Gas:
    def __init__(self, t):
        self.t = t

    def heated(self, q):
        return Gas(self.t + 0.3 * q)

    def energy(self):
        return self.t**2


@case(0.7, 0.1)
def an_object_that_gives_one_of_another_class(q, t):
    matter, total = Solid(t), 0.0
    for _ in range(15):
        matter = matter.heated(q)
        total += matter.energy()
    return total


class Growing:
    def __init__(self, rate):
        self.rate = rate

    def applied(self, v, k):
        return v * (1.0 + self.rate)

    def following(self, v):
        return Shrinking(self.rate) if v > 2.0 else self


class Shrinking:
    def __init__(self, rate):
        self.rate, self.times = rate, 0

    def applied(self, v, k):
        self.times += 1
        return v * (1.0 - self.rate) - 0.01 * k

    def following(self, v):
        return Growing(self.rate * 0.9) if v < 1.0 else self


class Context:
    def __init__(self, strategy, v):
        self.strategy, self.v = strategy, v

    def step(self, k):
        self.v = self.strategy.applied(self.v, k)
        self.strategy = self.strategy.following(self.v)


@case(1.1, 0.3)
def a_strategy_that_is_changed(v, rate):
    context = Context(Growing(rate), v)
    for k in range(15):
        context.step(k)
    return context.v + context.strategy.rate
