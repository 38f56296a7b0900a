"""if/elif/else, conditional expressions, comparisons, and/or/not."""

import math

import numpy as np

from tests.zoo.registry import add, case

AREA = "branches"


@case(1.5)
def if_else(x):
    if x > 1:
        y = x * x
    else:
        y = -x
    return y


def _elif_chain(x):
    if x < -1:
        return math.exp(x)
    elif x < 0:
        y = x * x
    elif x == 0.5:
        y = 3 * x
    elif 1 < x <= 2:
        y = math.sin(x)
    else:
        y = x**3
    return y + x


for _at in (-2.0, -0.5, 0.7, 1.5, 3.0):
    add(f"elif_chain_{_at}", _elif_chain, _at, area=AREA)


@case(1.5)
def if_without_else(x):
    y = x
    if y > 1:
        y = y * y
    return y * 2


@case(1.5, True)
def defined_on_one_branch(x, flag):
    if flag:
        extra = x * x
    y = 2 * x
    if flag:
        y = y + extra
    return y


@case(1.5, False)
def defined_on_the_branch_not_taken(x, flag):
    if flag:
        extra = x * x
    y = 2 * x
    if flag:
        y = y + extra
    return y


@case(0.4, 1.3)
def both_branches_return(x, y):
    if x < y:
        return x * y
    else:
        return x / y


@case(-0.4)
def early_return(x):
    if x < 0:
        return x * x
    z = math.sqrt(x)
    return z


@case(0.4)
def late_return(x):
    if x < 0:
        return x * x
    z = math.sqrt(x)
    return z


@case(0.4, 2.0)
def nested_branches(x, y):
    if x > 0:
        if y > 1:
            if x > y:
                z = x
            else:
                z = y * x
        else:
            z = 1 / y
        z = z * z
    else:
        z = -x
    return z + y


@case(0.4, 2.0)
def branch_swaps_values(x, y):
    a, b = x, y
    if a < b:
        a, b = b, a
    return a - b * b


@case(0.4, 2.0)
def branch_passes_values_through(x, y):
    # both branches keep one value and replace the other: parameters with mixed origins
    u, v = x, y
    if u < 1:
        u = u * v
    else:
        v = u + v
    return u * v


@case(0.7)
def conditional_expression(x):
    return x * x if x > 0.5 else -x


@case(0.7, -0.2)
def nested_conditional_expressions(x, y):
    return (x if x > y else y) * (1.0 if x < 0 else x if y < -1 else y * y if y < 0 else 2.0)


@case(0.7)
def conditional_argument(x):
    return math.sin(x if x > 0 else -x) + (math.cos if x > 0 else math.sin)(x)


@case(0.7, 1.2)
def comparison_chain(x, y):
    if 0 < x < y < 2:
        return x * y
    if 0 < x <= y != 3:
        return x
    return y


@case(0.7, 1.2)
def comparison_chain_fails_midway(x, y):
    if 0 < x < -y < 2:
        return x * y
    return y / x


@case(0.7, 1.2)
def and_or_conditions(x, y):
    if (x > 0 and y > 1) or x > 10:
        z = x * y
    else:
        z = x
    if not (x > 5 or not y > 0):
        z = z * z
    return z


@case(0.7, 1.2)
def and_returns_active_value(x, y):
    return (x and y) * x


@case(0.7, 1.2)
def or_returns_active_value(x, y):
    return (x or y) * y + (0 or x) + (None or y * 2)


@case(0.0, 1.2)
def or_falls_through_zero(x, y):
    return (0.0 or y) * 3 + x


@case(0.7)
def active_value_as_condition(x):
    if x:
        return x * 2
    return 0.0


@case(0.7, None)
def is_none(x, default):
    default = default if default is not None else x * 3
    return default * x


@case(0.7)
def boolean_arithmetic(x):
    positive = x > 0
    return x * positive + (x > 1) * 5 + (not positive)


@case(0.7, "b")
def membership(x, key):
    if key in ("a", "b"):
        x = x * x
    if key not in "xyz":
        x = x + 1
    if 3 in (1, 2):
        x = 0.0
    return x


@case(1.1)
def branch_with_constant_result(x):
    if x > 1:
        y = 2.0
    else:
        y = x
    return y * x


@case(1.1)
def gradient_only_on_untaken_branch(x):
    if x > 2:
        return x * x
    return 4.0


@case(np.array([1.0, 2.0, 3.0]))
def branch_on_array(a):
    if a.sum() > 2 and a.ndim == 1 and len(a) == 3:
        return a[0] * a
    return a


@case(np.array([1.0, 2.0, 3.0]), 0.5)
def branch_array_or_float(a, t):
    if t > 1:
        z = a
    else:
        z = t
    return (z * a).sum()


@case(1.2, 2)
def match_literals(x, n):
    match n:
        case 1:
            return x
        case 2 | 3:
            return x * x
        case _:
            return -x


@case(1.2)
def pass_and_ellipsis(x):
    if x > 5:
        pass
    else:
        ...
    return x * 3


@case(1.2)
def unreachable_code(x):
    if True:
        return x * x
    return x
    return 2 * x


@case(1.2)
def delete_names(x):
    y = x * 2
    z = y * y
    del y
    y = z + x
    return y
