"""for and while loops: ranges, containers, break, continue, else, nests, zero trips."""

import math

import numpy as np

from tests.zoo.registry import add, case

AREA = "loops"
V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])


@case(0.6)
def scalar_loop(x):
    for _ in range(20):
        x = math.sin(x) * 1.01 + 0.1 * x * x
    return x


def _zero_trips(x, n):
    y = x
    for i in range(n):
        y = y * x + i
    return y


for _n in (0, 1, 2, 7):
    add(f"trips_{_n}", _zero_trips, 1.1, _n, area=AREA)


@case(1.1)
def range_forms(x):
    y = x
    for i in range(2, 5):
        y += i * x
    for i in range(10, 0, -3):
        y = y * 0.9 + i * x
    for i in range(0, 7, 2):
        y += math.sin(i * x)
    return y


@case(1.3, 5)
def integer_power_loop(x, n):
    result = 1.0
    while n > 0:
        if n % 2 == 1:
            result *= x
        x *= x
        n //= 2
    return result


@case(10.0)
def while_with_tolerance(x):
    guess = x
    while abs(guess * guess - x) > 1e-13 * x:
        guess = 0.5 * (guess + x / guess)
    return guess


@case(0.5)
def while_true_break(x):
    i = 0
    while True:
        x = x * 1.5
        i += 1
        if i == 4:
            break
    return x + i


@case(0.5)
def while_zero_trips(x):
    while x > 1:
        x = x / 2
    return x * 3


@case(1.2)
def break_out(x):
    y = 0.0
    for i in range(10):
        y += x**i
        if y > 6:
            break
    return y


@case(1.2)
def continue_some(x):
    y = 0.0
    for i in range(10):
        if i % 3 == 0:
            continue
        y += x * i
    return y * x


@case(1.2)
def for_else_taken(x):
    y = x
    for i in range(3):
        y = y * x
        if y > 1000:
            break
    else:
        y = y + 10 * x
    return y


@case(1.2)
def for_else_not_taken(x):
    y = x
    for i in range(30):
        y = y * x
        if y > 4:
            break
    else:
        y = y + 10 * x
    return y


@case(1.2)
def while_else(x):
    i = 0
    while i < 3:
        i += 1
        if x > 100:
            break
        x = x * 1.1
    else:
        x = x * x
    return x


@case(V)
def early_return_in_loop(v):
    total = 0.0
    for i in range(len(v)):
        total += v[i] * v[i]
        if total > 5:
            return total * 2
    return total


@case(V)
def return_from_nested_loop(v):
    total = 0.0
    for i in range(5):
        for j in range(5):
            total += v[i] * v[j] * 0.5
            if i == 2 and j == 3:
                return total * total
    return -1.0


@case(0.9)
def nested_loops(x):
    total = 0.0
    for i in range(4):
        row = 1.0
        for j in range(i):
            row *= x + j
        total += row
    return total


@case(0.9)
def nested_break_continue_else(x):
    total = x
    for i in range(5):
        if i == 1:
            continue
        for j in range(5):
            if j == i:
                break
            if (i + j) % 2:
                continue
            total = total * 1.1 + x * j
        else:
            total += x * x
            break
        total -= 0.1 * x
    else:
        total = total * 100
    return total


@case(0.9)
def triple_nest(x):
    total = 0.0
    for i in range(3):
        for j in range(3):
            for k in range(j, 3):
                total += (x + i) * (x - j) / (x + k + 1)
    return total


@case(0.9)
def while_inside_for(x):
    total = 0.0
    for i in range(1, 5):
        t = x * i
        while t > 0.5:
            t = t * 0.6
            total += t
    return total


@case(0.9)
def branch_inside_loop(x):
    y = x
    for i in range(12):
        if y > 1:
            y = y - 0.7 * x
        elif i % 2:
            y = y * 1.3
        else:
            y = y + math.sin(x * i) ** 2
    return y


@case(0.9)
def variable_first_defined_in_loop(x):
    for i in range(4):
        if i == 0:
            y = x
        else:
            y = y * x + i
    return y


@case(0.9)
def loop_variable_after_loop(x):
    for i in range(5):
        last = x * i
    return last + i * x


@case(0.9)
def loop_carried_tuple_swap(x):
    a, b = 0.0, x
    for _ in range(8):
        a, b = b, a + b * 0.5
    return a


@case(0.9)
def loop_invariant_values(x):
    scale = math.exp(x)
    y = 0.0
    for i in range(5):
        y = y + scale * x
    return y * scale


@case(0.9)
def dead_value_in_loop(x):
    y = x
    for i in range(5):
        unused = y * y * y
        y = y * 1.1
    return y


@case(0.9)
def inactive_counter(x):
    count = 0
    for i in range(6):
        if i % 2 == 0:
            count += 1
    return count * x


@case((0.5, 1.5, 2.5))
def over_tuple(values):
    total = 1.0
    for v in values:
        total *= v
    return total


@case(1.5)
def over_tuple_of_constants(x):
    total = 0.0
    for c in (1.0, -0.5, 0.25):
        total = total * x + c
    return total


@case(V)
def over_array(v):
    total = 0.0
    for element in v:
        total += element * element * element
    return total


@case(V.reshape(1, 5) * np.array([[1.0], [2.0], [-1.0]]))
def over_rows(m):
    total = np.zeros(5)
    for row in m:
        total = total * 0.5 + row * row
    return total


@case(V, 2 * V + 1)
def over_zip(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total += x * y * y
    return total


@case(V)
def over_enumerate(v):
    total = 0.0
    for i, x in enumerate(v):
        total += (i + 1) * x * x
    return total


@case(V)
def over_enumerate_from(v):
    total = 0.0
    for i, x in enumerate(v, 3):
        total += x**i
    return total


@case(V, (1.0, 2.0, 3.0, 4.0, 5.0))
def over_enumerate_zip(v, weights):
    total = 0.0
    for i, (x, w) in enumerate(zip(v, weights)):
        if i % 2:
            continue
        total += w * x * x
    return total


@case(V)
def over_reversed_indices(v):
    total = 0.0
    for i in reversed(range(len(v))):
        total = total * 0.5 + v[i]
    return total


@case(V)
def over_integer_array(v):
    total = 0.0
    for i in np.array([0, 3, 3, 1]):
        total += v[i] * v[i]
    return total


@case(0.5)
def over_string(x):
    for c in "a.b":
        if c == ".":
            x = x * 3
        else:
            x = x + ord(c) * 0.01
    return x


@case(V)
def neighbours(v):
    total = 0.0
    for i in range(len(v) - 1):
        total += v[i] * v[i + 1]
    return total


@case(0.7, V)
def horner(x, coefficients):
    y = 0.0
    for c in coefficients:
        y = y * x + c
    return y


@case(V, V[::-1].copy())
def dot_by_loop(a, b):
    total = 0.0
    i = 0
    while i < len(a):
        total += a[i] * b[i]
        i += 1
    return total


@case(0.3)
def two_loops_in_a_row(x):
    y = x
    for i in range(3):
        y = y + x * i
    z = y
    for i in range(4):
        z = z * y
    return z


@case(0.3, True)
def loop_on_one_branch(x, flag):
    y = x
    if flag:
        for i in range(5):
            y = y * 1.5
    else:
        while y < 100:
            y = y * y + 3
    return y * x


@case(0.3)
def loop_with_many_carried(x):
    a, b, c, d = x, x * x, 1.0, 0.0
    for i in range(6):
        a = a + 0.1 * b
        b = b - 0.1 * a * c
        c = c * 0.9 + d
        d = d + a * b
    return a + b * c - d


@case(0.3)
def type_changes_in_loop(x):
    y = 0
    for i in range(4):
        y = y + x * i
    return y


@case(0.3)
def int_to_float_in_loop(x):
    y = 1
    for i in range(4):
        if i == 2:
            y = y * x
    return y * 2


@case(0.3)
def none_until_set(x):
    best = None
    for i in range(5):
        candidate = (x - 0.1 * i * i) ** 2
        if best is None or candidate < best:
            best = candidate
    return best


@case(0.3)
def flag_loop(x):
    done = False
    i = 0
    while not done:
        x = x * 1.7
        i += 1
        done = x > 3 or i > 50
    return x


_WIDE = np.arange(6.0).reshape(2, 3) * 0.3 + 0.2


@case(np.array([1.0, 2.0, 3.0]), _WIDE, name="sum_that_grows_by_broadcasting_a_row")
@case(np.array([0.7]), _WIDE, name="sum_that_grows_by_broadcasting_one")
@case(np.array([[0.7], [1.2]]), _WIDE, name="sum_that_grows_by_broadcasting_a_column")
def sum_that_grows_by_broadcasting(a, m):
    t = a * 2.0
    for _ in range(2):
        t = t + m * a
    return np.sum(t)


@case(np.array([1.0, 2.0, 3.0]), _WIDE)
@case(np.array([[0.7, 0.2, 0.1]]), _WIDE, name="loop_that_grows_by_broadcasting_two_dimensional")
def loop_that_grows_by_broadcasting(a, m):
    t, u, k = a, 0.0, 0
    while k < 3:
        u = u + t
        t = m - np.sin(t)
        k += 1
    return np.sum(t * t), u


@case(np.array([1.0, 2.0, 3.0]), [_WIDE, _WIDE * 0.5])
def grows_by_the_arrays_of_a_list(a, ws):
    t = a * 2.0
    for w in ws:
        for _ in range(2):
            t = t * 0.5 + w
    return np.sum(t * t)
