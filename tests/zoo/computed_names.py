"""Attributes and methods whose names are put together, and methods that are chosen among several."""

import math

import numpy as np

from tests.zoo.registry import case


class Num:
    def __init__(self, value):
        self.value = value


class Name:
    def __init__(self, name):
        self.name = name


class Sum:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Product:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Sine:
    def __init__(self, of):
        self.of = of


class Evaluator:
    def __init__(self, env):
        self.env = env
        self.visited = 0

    def visit(self, node):
        return getattr(self, "visit_" + type(node).__name__)(node)

    def visit_Num(self, node):
        self.visited += 1
        return node.value

    def visit_Name(self, node):
        return self.env[node.name]

    def visit_Sum(self, node):
        return self.visit(node.left) + self.visit(node.right)

    def visit_Product(self, node):
        return self.visit(node.left) * self.visit(node.right)


class WithDefault(Evaluator):
    def visit(self, node):
        kind = node.__class__.__name__
        visitor = getattr(self, f"visit_{kind}", self.generic)
        return visitor(node)

    def generic(self, node):
        return math.sin(self.visit(node.of))


@case(0.4, 0.7)
def visitors_by_the_name_of_the_class(x, y):
    tree = Sum(Product(Name("x"), Num(y)), Product(Num(2.0), Sum(Name("x"), Num(x))))
    evaluator = Evaluator({"x": x, "y": y})
    return evaluator.visit(tree) * evaluator.visited


@case(0.4, 0.7)
def visitors_with_a_default(x, y):
    tree = Sum(Product(Name("x"), Sine(Name("y"))), Product(Sine(Num(x)), Sum(Name("x"), Num(y))))
    evaluator = WithDefault({"x": x, "y": y})
    return evaluator.visit(tree) + evaluator.visited


@case(0.4, 0.7)
def a_class_that_no_method_is_for(x, y):
    total = x
    for node in (Num(x), Sine(Num(y)), Num(y)):
        try:
            total += Evaluator({}).visit(node) * y
        except AttributeError as e:
            total *= len(str(e))
    return total


class Accepting:
    def accept(self, visitor):
        return getattr(visitor, f"of_{self.__class__.__name__.lower()}")(self)


class Leaf(Accepting):
    def __init__(self, value):
        self.value = value


class Twice(Accepting):
    def __init__(self, of):
        self.of = of


class Depths:
    def of_leaf(self, node):
        return node.value * node.value

    def of_twice(self, node):
        return 2.0 * node.of.accept(self)


@case(0.4)
def nodes_that_accept_visitors(x):
    return Twice(Twice(Leaf(x))).accept(Depths()) + Leaf(x + 1.0).accept(Depths())


class Machine:
    def __init__(self, start):
        self.stack = [start]

    def op_push(self, value):
        self.stack.append(value)

    def op_add(self, _):
        self.stack.append(self.stack.pop() + self.stack.pop())

    def op_mul(self, _):
        self.stack.append(self.stack.pop() * self.stack.pop())

    def eval(self, program):
        for name, value in program:
            getattr(self, "op_" + name)(value)
        return self.stack[-1]


@case(0.4, 0.7)
def instructions_by_name(x, y):
    program = [("push", x), ("push", y), ("mul", None), ("push", x), ("add", None), ("mul", None)]
    return Machine(y).eval(program)


class Given(Machine):
    def op_power(self, n):
        self.stack[-1] = self.stack[-1] ** n


@case(0.4, 0.7)
def instructions_that_an_object_has_itself(x, y):
    machine = Given(y)
    machine.op_double = lambda by: machine.stack.append(2.0 * by)
    total = machine.eval([("push", x), ("double", y), ("power", 3), ("add", 0.0)])
    return total + getattr(machine, "op_" + "none"[:3], x) * y


class Account:
    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    def grow(self, rate):
        self.balance *= 1.0 + rate


@case(0.4, 0.7)
def handlers_of_several_methods(x, y):
    handlers = {"in": [], "all": []}
    accounts = [Account(x), Account(y)]
    for account in accounts:
        handlers["in"].append(account.deposit)
        handlers["all"] += [account.deposit, account.grow]
    for i in range(3):
        for name in ("in", "all"):
            for handler in handlers.get(name, []):
                handler(x * y + i)
    return accounts[0].balance + accounts[1].balance * y


class Dropout:
    def __init__(self, rate, rng):
        self.rate, self.rng = rate, rng

    def look(self):
        return sum(isinstance(v, list) for v in vars(self).values())

    def look_at_each(self):
        for v in vars(self).values():
            isinstance(v, list)

    def __call__(self, x):
        return x * self.rate


@case(0.7)
def attributes_that_are_looked_at_by_a_method_of_any_name(x):
    layer = Dropout(x, np.random.default_rng(1))
    y = np.mean(layer(np.ones(3) * x))
    for name in ("look", "look_at_each"):
        getattr(layer, "".join([name]))()
    return y


class Motor:
    limit = 3.0

    def __init__(self, a, b):
        self.a, self.b, self.energy = a, b, 0.0

    def idle(self, x):
        self.energy *= 0.9
        return x

    def run(self, x):
        self.energy += x * x * self.a
        return self.energy

    @property
    def power(self):
        return self.energy * self.b


@case((0.4, 1.3, 2.1))
def named_by_what_is_written_down(xs):
    m = Motor(xs[0], xs[1])
    t = 0.0
    for i, x in enumerate(xs):
        t += getattr(m, "ab"[i % 2]) * x
        t += getattr(m, ("power", "limit", "energy")[i]) * x
        t += getattr(m, "idle" if x > 1.0 else "run")(x)
    return t * m.energy


@case((0.4, 1.3, 2.1))
def set_by_names_that_are_written_down(xs):
    m = Motor(0.5, 0.2)
    for name, v in zip(("a", "b"), xs, strict=False):
        setattr(m, name, v * xs[2])
    for name in ("energy", "late"):
        setattr(m, name, getattr(m, "a") * m.b)
    for i, x in enumerate(xs):
        setattr(m, "ba"[i % 2], x * getattr(m, "ab"[i % 2]))
    return m.a * m.b * m.late + m.energy


@case((0.4, 1.3, 2.1))
def named_by_parts_of_a_text(xs):
    m = Motor(xs[0], xs[1])
    m.ab = xs[2]
    t = 0.0
    for i, x in enumerate(xs):
        t += getattr(m, "ab"[i % 2 :]) * x if i < 2 else getattr(m, "cd"[i % 2], x * x)
    return t


@case((0.4, 1.3, 2.1))
def functions_of_a_module_by_name(xs):
    t = 0.0
    for name in ("tanh", "atan"):
        for x in xs:
            t += getattr(math, name)(x)
    for i, x in enumerate(xs):
        t *= getattr(math, ("sin", "cos", "exp")[i])(x)
    return t


@case(0.7)
def one_of_the_names_is_missing(x):
    m = Motor(x, x * x)
    y = x
    for i in range(3):
        try:
            y = y * getattr(m, "abc"[i])
        except AttributeError:
            y = y * 2.0
    return y
