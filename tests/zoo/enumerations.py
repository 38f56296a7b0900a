"""Members of enumerations: their values, what they hold, their methods, and loops over them."""

import enum

from tests.zoo.registry import case


class Weight(enum.Enum):
    LOW = 1.5
    HIGH = 2.5
    TOP = 2.5


class Planet(enum.Enum):
    MERCURY = (0.330, 2.44)
    EARTH = (5.976, 6.378)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return 6.673 * self.mass / (self.radius * self.radius)

    def weight(self, m):
        return m * self.gravity


class Step(enum.Enum):
    ADD = "+"
    MULTIPLY = "*"

    def apply(self, a, b):
        if self is Step.ADD:
            return a + b
        return a * b

    @classmethod
    def usual(cls):
        return cls.MULTIPLY


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Scaled(enum.IntEnum):
    ONE = 1

    def __mul__(self, other):
        return other * 100.0

    __rmul__ = __mul__


class Part(enum.Flag):
    RED = 1
    GREEN = 2
    BLUE = 4


class Kept(enum.Enum):
    LIST = [1.0, 2.0]

    @property
    def value(self):
        return 7.0


@case(1.3)
def values_in_a_loop(x):
    total = x * Weight.LOW.value + len(Weight.HIGH.name) * x
    for w in Weight:
        total += x**w.value
    for i, w in enumerate(list(Weight)):
        total *= 1.0 + i * x * w.value
    return total * len(Weight)


@case(1.3)
def attributes_properties_and_methods_of_members(x):
    return sum(p.weight(x) * p.gravity / p.mass for p in Planet) + Planet.EARTH.radius * x


@case(1.3)
def members_decide(x):
    total = x
    for step in (Step.ADD, Step.usual(), Step("+"), Step["MULTIPLY"]):
        total = step.apply(total, x)
    return total


@case(1.3, Step.MULTIPLY)
def a_member_as_argument(x, step):
    match step:
        case Step.ADD:
            return x + x
        case Step.MULTIPLY:
            return x * x * len(step.value)


@case(1.3)
def members_that_are_numbers(x):
    return x * Level.ONE + Level.TWO * x + x**Level.TWO + sum(x * i for i in Level) + [x, x * x][Level.ONE]


@case(1.3)
def members_with_operators(x):
    return x * Scaled.ONE + Scaled.ONE * (x * x)


@case(1.3)
def members_put_together(x):
    mixed = Part.RED | Part.BLUE
    return sum(x * p.value for p in Part if p in mixed) * mixed.value


@case(1.3)
def members_are_keys(x):
    found = {w: x * w.value for w in Weight}
    scale = {Step.ADD: lambda a: a + x, Step.MULTIPLY: lambda a: a * x}
    total = sum(v * v for w, v in found.items() if w is not Weight.LOW)
    return total * found[Weight.LOW] + scale[Step.MULTIPLY](x) + found[Weight.TOP]


@case(1.3)
def a_value_that_the_class_computes(x):
    return x * Kept.LIST.value + x * Kept.LIST._value_[1]


@case(1.3)
def a_list_that_a_member_holds(x):
    Kept.LIST._value_.append(2.0)
    total = Kept.LIST._value_[-1] * x
    Kept.LIST._value_.pop()
    return total * len(Kept.LIST._value_)
