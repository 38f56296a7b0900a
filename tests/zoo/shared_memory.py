"""What some functions return is what they were given, or a view of it that shows elements more than once."""

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tests.zoo.registry import case

M = np.array([[1.3, 0.7], [0.4, 1.9]])
V = np.array([1.3, 0.7, 2.1, 0.4])


@case(M, 1)
@case(M, 2, name="matrix_power_copy")
def matrix_power(m, n):
    z = m * 1.5
    y = np.linalg.matrix_power(z, n)
    y *= 3.0
    return np.sum(z**2) + np.sum(y * m)


@case(M, 0)
@case(M, 1, name="differences_copy")
def differences(m, n):
    z = m * 1.5
    y = np.diff(z, n)
    z[0] += 1.0
    return np.sum(z**2) + np.sum(y**3)


@case(V, [])
@case(V, [2.0], name="sum_of_one")
def sum_of_nothing(x, more):
    z = x * 2.0
    s = sum(more, z)
    t = sum((v for v in more), start=s)
    t *= x
    return np.sum(z * z) + np.sum(s) * t[0]


@case(M)
def einsum_of_the_diagonal(m):
    z = m * 1.0
    d = np.einsum("ii->i", z)
    d *= m[0]
    turned = np.einsum("ij->ji", z)
    z[1] += 1.0
    zero = np.zeros((2, 2))
    np.einsum("ii->i", zero)[:] = d
    return np.sum(z**2) + np.sum(turned[0] * zero)


@case(V)
def meshes_without_copies(x):
    y = x * 1.0
    a, b = np.meshgrid(y, x, copy=False, sparse=True)
    y[0] = 5.0 * x[1]
    return np.sum(a * b * b) + np.sum(np.meshgrid(x, y, indexing="ij", copy=False)[0] ** 2)


@case(V)
def numbers_in_place(x):
    y = x * 2.0
    y[1] = np.inf
    z = np.nan_to_num(y, copy=False, posinf=1.0)
    y[0] *= 3.0
    return np.sum(z * y)


@case(V)
def windows_of_a_buffer(x):
    b = x * 1.0
    w = sliding_window_view(b, 2)
    total = 0.0
    for i in range(3):
        total += np.sum(w[:, 0] * w[:, 1]) * (i + 1)
        b *= x
        b[0] = total * 0.01
    return total


@case(V)
def windows_of_every_other(x):
    b = x * 1.0
    w = sliding_window_view(b[::2], 2)
    b[0] *= 3.0
    return np.sum(w**2)


@case(V)
def broadcast_and_written_later(x):
    held = [x * 1.0]
    held.append(np.broadcast_to(held[0], (3, 4)))
    held[0] *= 2.0
    y = held[1]
    return np.sum(y * x) + np.sum(y[1] ** 2) + np.sum(y, axis=0)[2] * y.T[0, 1]


@case(M)
def broadcast_matrix(m):
    b = m.T * 1.0
    y = np.broadcast_to(b, (3, 2, 2))
    b[0] *= 3.0
    return np.sum(y**2) + np.sum(y @ m) + np.sum(np.diagonal(y, axis1=1, axis2=2))


def other_way_round(m):
    return m.T


@case(M)
def views_of_an_argument_that_overlap(m):
    return m.T, m[0], m, other_way_round(m).reshape(-1), np.diag(m), m[0, 1]


@case(M)
def a_view_written_before_others_are_returned(m):
    m.T[0] *= m[1]
    return m.T, m[0] * 2.0, m[::-1]


@case(M)
def a_view_that_the_caller_of_it_writes_to(m):
    w = other_way_round(m)
    w[1] = m[0] ** 2
    return w, m


@case(M, M[0])
def two_arguments_in_one_result(m, v):
    return [m.T, v], (v, v[::-1]), {"m": m}


@case(M, V)
def one_or_the_other(m, v):
    y = m.ravel() if m[0, 0] > 1.0 else v
    return y, v[1:]


@case(V)
def an_element_of_a_window_is_written_to_the_base(x):
    a = x * 1.0
    p = sliding_window_view(a, 2)
    a[1] = 2.0 * p[0, 0]
    return np.sum(p) + p[1, 0] * p[0, 1]


@case(V)
def a_sum_of_what_is_repeated_is_written_to_the_base(x):
    a = x * 1.0
    p = np.broadcast_to(a, (2, 4))
    a[1] = np.sum(p[0])
    a[2] *= p[1, 1]
    a[0] += p[0, 1:3] @ p[1, 2:]
    return np.sum(p) * p[1, 2]


@case(V)
def grids_that_are_no_copies(x):
    a = x * 1.0
    p, q = np.meshgrid(a, [1.0, 2.0], copy=False)
    a += np.sum(p[0])
    r, _ = np.broadcast_arrays(a, np.zeros((3, 1)))
    a[2] = r[1, 0] * p[1, 3]
    return np.sum(p * q) + np.sum(r[:, 2] * p[0, 1])


@case(V)
def a_base_written_through_a_row_of_it(x):
    a = np.outer(x, x)
    last = list(a)[-1]
    p = np.broadcast_to(a, (2, 4, 4))
    np.sum(p[0], axis=0, out=last)
    return np.sum(p * x)


@case(V)
def windows_of_a_buffer_that_is_being_filled(x):
    a = np.zeros(8)
    a[:4] = x
    windows = sliding_window_view(a, 3)
    for t in range(4, 8):
        a[t] = windows[t - 3] @ np.array([0.2, 0.3, 0.5])
    return np.sum(windows[:, 0] * windows[:, 2])


@case(V)
def windows_that_are_written_to(x):
    a = x * 1.0
    p = sliding_window_view(a, 2, writeable=True)
    p[0] = p[2] * x[0]
    p[1, 1] = x[3] * p[0, 0]
    p[2] += p[0]
    for row in p:
        row *= x[1]
    return np.sum(a * x) + np.sum(p)


@case(V)
def views_by_strides_that_are_written_to(x):
    a = x * 1.0
    p = as_strided(a, (3, 2), (8, 8))
    p[0] = p[1] * x[0]
    np.multiply(p[2], p[0], out=p[1])
    sliding_window_view(x, 2, writeable=True)[0] = x[2:] * 2.0
    return np.sum(a) + np.sum(x * a)


@case(M, 0)
def what_a_function_gives_shows_elements_twice(m, n):
    def windows_of(a, n):
        return windows_of(a, n - 1) if n else sliding_window_view(a, 2, axis=1)

    a = m @ m
    p = windows_of(a, n + 1)
    q = [*p, *np.split(np.broadcast_to(a[0], (2, 2)), 2)]
    a[0] *= p[1, 0]
    a[1, 1] = q[0][0, 1] * q[2][0, 0]
    return sum(np.sum(v * v) for v in q)


@case(np.sin(np.arange(8.0)).reshape(2, 4).T)
def windows_of_columns(m):
    a = m * 1.0
    p = sliding_window_view(a, 2, axis=0)
    a[1] = p[2, :, 1] * p[0, 0]
    a.T[0, 2] = p[0, 0] @ p[1, 1]
    return np.sum(p * p)


def shifted(a, by, times):
    """Writes to parts of its argument, and is not taken in: it calls itself."""
    if times == 0:
        return 0.7
    np.add(a[1:], -by, out=a[:-1])
    part = a[2:]
    part[:] = part * by
    part -= 0.5
    return shifted(a, by, times - 1)


@case(np.array([-0.3, 0.8, -1.1, -0.6, 0.25, 1.7]), 1.3)
def parts_written_in_a_function_that_calls_itself(a, by):
    before = a[4] * a[1]
    return before + shifted(a, by, 2) * a[0] + a[4] * a[1]


def settled(a, times):
    if times == 0:
        return
    np.copyto(a[1:2], a[0] * a[3:4])
    a[1:][1:].fill(a[0])
    np.add.at(a[2:], [0, 1, 0], a[1])
    settled(a + a, times - 1)


@case(np.array([0.3, 0.8, 1.1, 0.6, 0.25]))
def parts_filled_in_a_function_that_calls_itself(a):
    settled(a, 2)
    return a[1] * a[2] + a[3] * a[4]
