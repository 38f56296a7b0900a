"""What random programs (tests/programs.py) found wrong, made as small as it goes."""

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
