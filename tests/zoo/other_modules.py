"""Data of another module, read and written by `module.name`."""

from __future__ import annotations

import numpy as np

from tests.zoo import classes, computed_names, iteration, objects, tables
from tests.zoo.generators import Branching as Many
from tests.zoo.linked import Branching, Tree
from tests.zoo.registry import case

X3 = np.array([0.5, -1.2, 2.0])


@case(1.3)
def table_of_another_module(x):
    s = 0.0
    for i in range(len(tables.WEIGHTS)):
        s += tables.WEIGHTS[i] * x**i * tables.SCALE
    return s


@case(0.01)
def bodies_of_another_module_copied(dt):
    bodies = []
    for name in tables.BODIES:
        r, v, m = tables.BODIES[name]
        bodies.append((list(r), list(v), m))
    for _ in range(3):
        for (r1, v1, _m1), (r2, _v2, m2) in zip(bodies, bodies[1:], strict=False):
            dx = r1[0] - r2[0]
            v1[0] -= dt * dx * m2
        for r, v, _ in bodies:
            r[0] += dt * v[0]
    return sum([m * r[0] * v[0] for r, v, m in bodies])


@case(1.3)
def objects_of_another_module(x):
    return sum([x * b.energy() * b.x[0] for b in tables.OBJECTS])


@case(1.3)
def functions_of_another_module_that_read_its_table(x):
    return tables.weighted(x, 0) * tables.weighted(x * x, 1)


@case(1.3, 0.4)
def bodies_of_another_module_changed(dt, x):
    for k, (r, v, m) in enumerate(tables.BODIES.values()):
        r[:] = [x, x * k, 1.0]
        v[0] = dt * m
    for r, v, _ in tables.BODIES.values():
        r[0] += dt * v[0]
    return sum([m * r[0] * r[1] + v[0] for r, v, m in tables.BODIES.values()])


@case(1.3)
def row_of_another_module_by_two_names(x):
    row = tables.START[0]
    tables.START[0][0] = x
    row[1] = row[0] * x
    return tables.START[0][1] * row[0] + tables.START[1][0]


@case(1.3)
def what_another_module_logs(x):
    tables.LOG.append(x * x)
    tables.STATE["k"] = tables.LOG[-1] * x
    return tables.LOG.pop() * tables.STATE["k"]


@case(X3)
def buffer_of_another_module(x):
    tables.WORK[:] = x
    tables.WORK[1:] *= x[:-1]
    return tables.WORK.sum() + x @ tables.WORK


@case(1.3)
def a_name_of_another_module_set_and_read(x):
    before = tables.START
    tables.START = [x, x * x]
    s = tables.START[1] * sum(tables.START)
    tables.START = before
    return s * tables.WEIGHTS[0]


@case(Branching(0.5, Branching(0.2, Branching(0.9)), Branching(1.1)), Tree(1.0, Tree(2.0), Tree(0.5, None, Tree(0.3))))
def trees_of_another_module(t, u):
    return t.total() * u.total(0.8)


@case(Many(0.5, Many(0.2, Many(0.9)), Many(1.1)), 0.7)
def iterator_over_its_own_kind_of_another_module(t, x):
    s = 0.0
    for v in t:
        s = s * x + v
    return s * sum(t)


@case(1.3)
def objects_and_generators_of_another_module(x):
    y = iteration.generator_into_list(x) + objects.sum_of_objects(x)
    return y * classes.a_world_of_particles(x) + objects.object_carried_through_loop(x)


@case(14.2)
def classes_of_another_module_that_read_its_tables(h):
    low, high = tables.Air(h), tables.Air(2.0 * h, "high")
    return low.t * high.p - low.p * high.t / 3


@case(3.7, 4)
def functions_of_another_module_that_read_its_tables(h, n):
    total = 0.0
    for i in range(n):
        total += tables.SLOPES[tables.layer_of(h * i)] * h * i
    return total


@case(0.4)
def visitors_of_another_module_asked_by_a_generator(x):
    def items():
        yield computed_names.nodes_that_accept_visitors(x)
        yield None

    return next(items())


@case(1.3)
def names_that_another_module_sets_to_constants(x):
    tables.fast()
    a = tables.paced(x)
    tables.fast()
    a += tables.paced(x * x)
    tables.slow()
    return a


READ, WRITE, WRITES = tables.moded()
READ_TOO, WRITE_TOO, WRITES_TOO = tables.moded()


@case(1.3)
def variables_of_functions_that_others_set_to_constants(x):
    a = READ(x)
    WRITE("b", None)
    b = READ(x)
    WRITE("a", 1)
    c = READ(x)
    WRITE("a", None)
    return a + 2.0 * b + 3.0 * c


@case(1.3)
def variables_of_functions_that_functions_made_there_set(x):
    a = READ_TOO(x)
    WRITES_TOO()
    b = READ_TOO(x)
    WRITE_TOO("a", None)
    return a + 2.0 * b


@case(1.3)
def variables_of_functions_whose_maker_is_met_first(x):
    if tables.moded is None:
        return x
    WRITES()
    b = READ(x)
    WRITE("a", None)
    return READ(x) + 2.0 * b
