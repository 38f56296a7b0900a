"""Scalar expressions: operators, `math`, builtins, powers, complex numbers."""

import cmath
import math
import operator
import types

import numpy as np

from tests.zoo.registry import add, case

AREA = "scalars"

# Every differentiable function of one float in `math`, at a point inside its domain.
UNARY_MATH = {
    "acos": 0.3, "acosh": 1.7, "asin": -0.4, "asinh": 0.8, "atan": 1.3, "atanh": 0.25, "cbrt": 2.2, "cos": 0.9,
    "cosh": 0.7, "degrees": 1.1, "erf": 0.4, "erfc": 0.6, "exp": 0.5, "exp2": 1.2, "expm1": 0.1, "fabs": -1.5,
    "gamma": 2.4, "lgamma": 3.3, "log": 1.9, "log10": 2.5, "log1p": 0.3, "log2": 3.1, "radians": 40.0, "sin": 0.6,
    "sinh": -0.5, "sqrt": 2.3, "tan": 0.4, "tanh": -0.8,
}  # fmt: skip
for _name, _at in UNARY_MATH.items():
    add(f"math_{_name}", getattr(math, _name), _at, area=AREA)

BINARY_MATH = {
    "atan2": (0.7, -1.2),
    "pow": (1.7, 2.3),
    "hypot": (3.0, -4.1),
    "copysign": (2.0, -3.0),
    "fmod": (7.3, 2.1),
}
for _name, _point in BINARY_MATH.items():
    add(f"math_{_name}", getattr(math, _name), *_point, area=AREA)

for _name in ("add", "sub", "mul", "truediv", "pow"):
    add(f"operator_{_name}", getattr(operator, _name), 1.3, 2.7, area=AREA)
for _name in ("neg", "pos", "abs"):
    add(f"operator_{_name}", getattr(operator, _name), -1.3, area=AREA)


@case(1.2)
def identity(x):
    return x


@case(1.2)
def constant_output(x):
    return 3.0


@case(1.5, -0.5)
def unused_argument(x, y):
    return x * x


@case(0.7)
def straight_line(x):
    y = math.sin(x)
    z = y * x
    w = z + y / x
    return w - 2 * z


@case(0.7)
def value_used_many_times(x):
    y = x * x
    return y + y * y + y * y * y - y / (1 + y)


@case(2.0, 3.0)
def all_arithmetic(x, y):
    return (x + y) * (x - y) / (x * y) + x**y - (-x) + (+y)


@case(7.3, 2.1)
def modulo_and_floor(x, y):
    return x % y + (x // y) * y


@case(7.3)
def divmod_parts(x):
    q, r = divmod(x, 2.0)
    return r * r + q


@case(1.3, 3)
def mixed_int_and_float(x, n):
    return n * x + x / n - n


@case(-1.7)
def negative_base_int_exponent(x):
    return x**3 + x**2 - x**1 + x**0 + x**-2


@case(-1.7, 3)
def int_exponent_argument(x, n):
    return x**n


@case(1.4)
def constant_base(x):
    return 2**x + 3.0**x


@case(0.0)
def power_at_zero(x):
    return x**2 + x**3 + 4 * x


@case(1.1)
def reverse_operands(x):
    return 1 - x + 2 / x + 3 * x - (5 + x)


@case(2.0, 5.0)
def augmented_assignments(x, y):
    z = x
    z += y
    z *= x
    z -= 3
    z /= y
    z **= 2
    return z


@case(0.3)
def reassigned_name(x):
    x = x + 1
    x = x * x
    x = math.exp(x)
    return x


@case(0.8, -0.3)
def swapped_names(a, b):
    a, b = b, a
    a, b = a + b, a * b
    return a - 3 * b


@case(0.4)
def walrus(x):
    return (y := math.sin(x)) + y * y


@case(0.4)
def chained_assignment(x):
    a = b = x * 2
    a = a * b
    return a + b


@case(1.6, -2.5)
def builtin_min_max(x, y):
    return min(x, y) * 3 + max(x, y, 0.5) * min(x, 10)


@case(-2.5)
def builtin_abs(x):
    return abs(x) * x + abs(x + 1)


@case(1.0, 2.0, 3.0)
def builtin_sum_of_tuple(x, y, z):
    return sum((x, y * y, z)) + sum((x, z), 0.5) * y


@case(2.6)
def float_and_int_calls(x):
    return float(x) * int(x) + float(3) * x + round(x) * x


@case(0.5)
def math_constants(x):
    return math.pi * x + math.sin(math.e * x) + math.tau


@case(1.2, 0.7, 2.0)
def math_many_arguments(x, y, z):
    return math.hypot(x, y, z) + math.log(z, 3) + math.log(x, y + 1) + math.dist((x, y), (z, 0.0))


@case(1.2, 0.7, 2.0)
def math_sums(x, y, z):
    return math.fsum((x, y, z * z)) * math.prod((x, y, z), start=2)


@case(0.7)
def floor_and_trunc_have_zero_slope(x):
    return math.floor(x) + math.ceil(x) * x + math.trunc(x)


@case(1.7, 0.4)
def gaussian_density(x, s):
    return math.exp(-0.5 * (x / s) ** 2) / (s * math.sqrt(2 * math.pi))


@case(0.2 + 0.5j)
def complex_polynomial(z):
    return z * z * (1 + 2j) - 3 * z + 1 / z


@case(0.6, -1.1)
def complex_inside_real(x, y):
    z = complex(x, y)
    w = z * z + 1j * z
    return w.real * w.imag + abs(w)


@case(0.2 + 0.5j, 1.5)
def complex_parts(z, x):
    return z.conjugate() * x + z.real * 2j - z.imag


@case(0.2 + 0.5j, tags=("wider",))
def complex_functions(z):
    return cmath.exp(z) * z + cmath.sin(z)


@case(np.float64(1.3))
def numpy_scalar_argument(x):
    return x * x + np.sin(x)


@case(1.3)
def numpy_function_of_float(x):
    return np.exp(-x) * np.sqrt(x) + 1.0


@case(np.float32(1.5), np.float32(0.5))
def single_precision_scalars(x, y):
    return x * y + x / y


@case(1.3)
def numpy_scalar_attributes(x):
    y = np.float64(x) * 2
    return y.item() + y.real + float(y) * y.ndim + y.size * x


@case(2.5)
def printing_on_the_way(x):
    y = x * 2
    print("y is", y, f"and x is {x:.2f}")
    return y * x


@case(2.5)
def f_strings(x):
    label = f"{x:>8.3f}|{x:.1e}{'ab'!r}" + "%d" % 3
    return x * len(label)


@case(2.5, "cubic")
def string_argument(x, kind):
    if kind == "square":
        return x**2
    if kind.startswith("cub"):
        return x**3
    return x


@case(2.5, None, True)
def none_and_bool_arguments(x, maybe, flag):
    scale = 2.0 if maybe is None else maybe
    return scale * x + flag * x * x


@case(2.5)
def assertions(x):
    assert x > 0
    assert isinstance(x, float), f"bad type {type(x)}"
    return 1 / x


@case(2.5)
def type_tests(x):
    if isinstance(x, (int, float)) and not isinstance(x, np.ndarray) and type(x) is float:
        return x * x
    return 0.0


@case(3, 2.5)
def integer_arithmetic_beside(n, x):
    k = (n << 2) | 1
    k ^= 3
    k = ~k & 15
    return x * k + (n % 2) * x * x + (7 // n) * x


@case(1.3)
def formatted_on_the_way(x):
    text = "%g and %s" % (x, x) + "{:.2f} {a}".format(x, a=x) + "%.3f" % x
    return x * x if text else 0.0


@case(0.7)
def operators_as_functions(x):
    xs = operator.concat([x], [x * x])
    xs = operator.iconcat(xs, [2.0])
    return operator.call(math.sin, xs[1]) * xs[2] + operator.countOf(xs, x) * x


@case(0.5 + 0.4j)
def complex_sums(z):
    s = sum([z, z * z], 0j)
    t = math.prod([z, z * z], start=1.0 + 1j)
    return cmath.phase(s) + cmath.phase(t) * cmath.phase(np.sum([z, 2.0 * z * z]))


@case(0.7)
def called_if_it_can_be(x):
    total = 0.0
    for f in [math.sin, x, 2.0]:
        try:
            total += f(x)
        except TypeError as e:
            total += f * len(str(e))
    for wrong in (
        lambda: x * types.SimpleNamespace(a=x),
        lambda: math.sin(x, x),
        lambda: [x][x],
        lambda: [x] + (x,),
        lambda: {"a": x} | [x],
    ):
        try:
            total += wrong()
        except TypeError as e:
            total += x * len(str(e))
    return total


class _Estimate:
    """Tells by how much it moves when it is set; after the first time that is nothing."""

    def __init__(self):
        self.value = 0.0

    def set(self, value, times):
        if times:
            self.set(value * 1.0, times - 1)
        moved = max(abs(self.value - value), math.sqrt(abs(self.value - value)))
        self.value = value
        return moved


@case(0.3)
def steepness_that_nobody_asks_for(x):
    estimate = _Estimate()
    estimate.set(x * x, 2)
    if estimate.set(x * x, 2) > 0.01:
        return x
    nothing = x - x
    steep = max(x, math.sqrt(nothing), nothing**0.5, math.pow(nothing, 0.3))
    return estimate.value * steep + min(2.0 * x, math.acos(1.0 - nothing) + x * 3.0, math.asin(1.0 - nothing))
