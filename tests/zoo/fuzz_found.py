"""What random programs (tests/programs) found wrong, made as small as it goes."""

import math

import numpy as np

from tests.zoo.registry import add, case

AREA = "fuzz_found"
V = np.array([0.5, -1.2, 2.0])


@case(0.5, V)
def list_item_without_cotangent(p, b):
    for i in range(len(b)):
        s = [b + b[i], b]
    return 0.7 * p, b


def _unused_sum(x, a):
    s = 1
    s = s + a.copy()


@case(0.5, V)
def helper_whose_sum_is_not_used(p, b):
    r = _unused_sum(p, b)
    d = {"p": p * b[0], "q": b @ b}
    return 0.3 * p


def _write_one_read_other(p, a, b):
    b += p
    return np.dot(a, a)


add("same_array_twice_after_a_number", _write_one_read_other, 0.5, V, V, area=AREA)


@case(1.3, 0.4, 5)
def swap_after_a_continue(p, q, limit):
    """The exit of the inner loop passes values on through two blocks that do nothing else."""
    k = 0
    while k < 2:
        k += 1
        if k > limit:
            continue
        p, q = q, p
        q += k * p
    return p * 2 + q * q


@case(V, 0)
def first_of_unknown_dimensions(x, k):
    """An integer index names an element where the array turns out to have one dimension."""
    y = x.reshape((-1, *[1 for _ in range(k)]))
    return y[0] * y[2]


@case(V)
def writing_into_a_view_of_unknown_dtype(x):
    z = np.empty((2, 3), dtype=np.promote_types(x.dtype, int))
    np.multiply(x, 2.0, out=z[0])
    z[1] = x[::-1]
    row = z[0]
    row += 1.0
    return z[0] * z[1]


@case(np.array([0.3, 0.7, 1.5, 2.1]), np.array([0.5, -1.2, 2.0, 0.3]))
def shape_from_a_repeated_tuple(x, y):
    h = x[1:] - x[:-1]
    m = (y[1:] - y[:-1]) / h.reshape((-1,) + (1,) * (y.ndim - 1))
    return sum(h[i] * m[i - 1] for i in range(1, 3))


@case(V)
def methods_of_numbers(x):
    """A method of a number that is decided when it runs: the number is what it is a function of."""
    s = x.sum()
    return s.mean() * s.reshape(1) + s.astype(float)


@case(V, V[::-1] + 1.0)
def constant_array_read_from_a_list(a, b):
    held = [a, b]
    return held[1].sum()


@case(V, V[::-1] + 1.0)
def constant_arrays_of_several_displays(a, b):
    held = [a] + [b]
    rows = [[a], [b]]
    first, second = list((a, b))
    return held[0] @ held[1] + rows[1][0] @ rows[0][0] + first @ second


@case(V, V[::-1] + 1.0)
def constant_array_chosen_from_a_list(a, b):
    held = [a, b]
    c = held[0] if a[0] > b[0] else held[1]
    return (c * held[0]).sum()


@case(1.6)
def integers_among_arrays_of_unknown_kind(x):
    held = [v for v in (x, np.asarray([2]))]
    b = held[1]
    while b.ndim > 0 and b.shape[0] == 1:
        b = b[0]
    return x * b


@case(V, 1.6)
def power_by_its_function(x, c):
    return pow(x * x, c) + pow(c, x) + pow(x * x + 1.0, np.asarray(c))


@case(1.3)
def list_among_lists_extended_in_place(x):
    shared = [[x]]
    shared[0].append(x * 2)
    rows = [[x], *shared]
    copies = list(map(list, rows))
    copies[1][0] = 0.0
    both = [*rows, *copies]
    both[1] += [x]
    return sum(map(sum, both)) * shared[0][2]


class Held:
    def __init__(self, a):
        self.a = a


@case(V, 0.7)
def item_out_of_range_of_an_object_that_is_not_made(a, x):
    o = Held(a * x)
    try:
        o.a[7] *= o.a[1]
    except IndexError:
        o.a[0] *= o.a[1]
    return o.a.sum()


def one_after_the_items(x, a):
    for u in a:
        d = {"p": u - x}  # noqa: F841
    yield x


@case(1.3, V, V * 2)
def loop_that_is_reversed_before_the_one_around_it(p, a, b):
    b, a = a, b
    first, *_ = b
    for _ in range(2):
        p -= 1.0
        a[0] = sum(one_after_the_items(a[1], a))
    try:
        p = [1.0][5]
    except Exception:
        for _ in b:
            fs = [lambda: b, lambda: 1.0]  # noqa: F841
    return p + a[0] * first


@case(1.3, V)
def none_in_an_array_that_is_never_made(x, a):
    s = None
    try:
        x = s[0]
    except TypeError:
        return x * a.sum()
    a *= np.where(a > 0.0, a, s)
    return x


class Kept:
    def __init__(self):
        self.v = 0.5


KEPT = Kept()


@case(0.7, {"p": 0.3, "q": 0.4}, tags=("outside",))
def values_asked_in_a_handler_in_a_loop(x, d):
    """The view is walked by index when the loop that it stands in is seen to be one that may write to it."""
    KEPT.v = 0.5
    k = 0
    while k < 3:
        k += 1
        try:
            KEPT.v = x * math.log(x - k)
        except ValueError:
            it = (v + KEPT.v for v in d.values())
            x = x + next(it, 0.5)
    return x * KEPT.v


@case(0.7, {"p": 0.3, "q": 0.4})
def values_asked_after_they_were_written(x, d):
    s = 0.0
    for i in range(4):
        if i != 1:
            try:
                s += next(it)  # noqa: F821
            except UnboundLocalError:
                it = (v * x for v in d.values())
        d["p"] = x * s + i
        d["q"] = s + x
    return s


@case(V)
def rows_of_what_is_computed_again(a):
    """The zeros that the rows' cotangents go into are made like an array that the reverse run computes again."""
    b = -a
    c = np.array([np.sum(u * 0.7) for u in b])
    return np.sum(np.sin(a)) + np.sum(np.sin(b)) + np.sum(np.sin(c))


@case(V, np.array([[0.3, 0.4, 0.9]]))
def loop_whose_array_nobody_uses(x, a):
    """What the loop carries has no cotangent; what is summed to its shape in there has, where that is run at all."""
    b = np.array(a)
    total = np.asarray(b * 1.3).sum()
    scale = np.abs(np.mean(a))
    for _ in range(1):
        c = np.array(a)
        c = np.asarray(c).max(axis=-1)
        a = a * 0.5 + np.hypot(total, 0.3 + np.abs(scale * x))
    return np.sum(np.sin(total)) * 0.3
