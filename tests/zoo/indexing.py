"""Reading and writing by ints, slices, negative steps, masks, integer arrays, None, Ellipsis."""

import numpy as np

from tests.zoo.registry import case

AREA = "indexing"
V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
M = np.sin(np.arange(12.0) + 1).reshape(3, 4)
T = np.cos(np.arange(24.0)).reshape(2, 3, 4)


@case(V)
def integers(a):
    return a[0] * a[-1] + a[2] * a[np.int64(3)] * a[2]


@case(M)
def integer_pairs(m):
    return m[0, 1] * m[2][3] + m[-1, -2] * m[(1, 1)]


@case(M, 1)
def rows_and_columns(m, i):
    return m[i] * m[:, i].sum() + m[-1]


@case(V)
def slices(a):
    return a[1:4] * a[:3] + a[3:] - a[-3:]


@case(V)
def steps(a):
    return a[::2] * a[1::2] + a[::-2][:3] + a[5:0:-2]


@case(V)
def negative_step(a):
    return a[::-1] * a, a[4:1:-1] + a[:3]


@case(V, 2, 5)
def variable_slices(a, i, j):
    return a[i:j] * a[:j][i:] + a[slice(0, 3)] + a[i : i + 3]


@case(M)
def slices_of_two_axes(m):
    return m[1:, ::2] * m[:2, 1::2] + m[::-1][:2, 2:]


@case(T)
def ellipsis_and_none(t):
    return t[..., 0] * t[..., -1], t[0, ..., 1:], t[:, None, 0] * t[1, None], t[..., None][0]


@case(V)
def empty_slices(a):
    return a[3:3].sum() + a[10:].sum() + a[0]


@case(V)
def overlapping_slices(a):
    return a[1:] * a[:-1] + a[1:] ** 2


@case(V, np.array([0, 2, 2, 5, 0]))
def integer_array_with_repeats(a, index):
    return a[index] * np.arange(1.0, 6.0) + a[[1, 1, 0, -1, 2]]


@case(M, np.array([0, 2, 0]), np.array([1, 1, 1]))
def two_integer_arrays(m, i, j):
    return m[i, j] * m[i, j[::-1]] + m[i][:, 0]


@case(M)
def integer_array_and_slice(m):
    return m[[2, 0, 2], 1:], m[:, [0, 0, 3]], m[1:, [2, 1]]


@case(M)
def matrix_of_indices(m):
    index = np.array([[0, 1], [1, 2]])
    return m[index] * 2, m[index, index.T]


@case(V)
def masks(a):
    return a[a > 0] * a[a > 0][::-1], a[np.array([True, False, True, False, False, True])]


@case(M)
def mask_of_matrix(m):
    return m[m > 0].sum() * m[m.sum(axis=1) > -10][0]


@case(V, tags=("wider",))
def take_and_compress(a):
    return np.take(a, [0, 3, 3]) * a.take(np.array([1, 2, 0])) + a[np.flatnonzero(a > 1.0)][0]


@case(M)
def where_indices(m):
    rows, columns = np.where(m > 0.5)
    return m[rows, columns] ** 2


@case(M, tags=("wider",))
def advanced_pairs_with_ix(m):
    return m[np.ix_([0, 2], [1, 3])] * 2


@case(M)
def row_by_row(m):
    total = np.zeros(4)
    for i in range(len(m)):
        total = total + m[i] * m[i, i]
    return total


@case(V, 3.0)
def write_element(a, x):
    b = a * 1
    b[2] = x
    b[0] = b[2] * b[1]
    return b * b


@case(V, 3.0)
def write_slice(a, x):
    b = a.copy()
    b[1:4] = x * a[:3]
    b[::2] = x
    return b * a


@case(V)
def write_reversed(a):
    b = np.zeros(6)
    b[::-1] = a
    b[4:1:-1] = a[:3] * b[0]
    return b * b


@case(M, np.array([1.0, 2.0, 3.0, 4.0]))
def write_broadcast(m, v):
    b = np.zeros((3, 4))
    b[:] = v
    b[1:] = m[1:] * b[1:]
    b[:, 0] = v[0] * v[1]
    b[0, ...] = m[2]
    return b * b


@case(V, 2.0)
def write_mask(a, x):
    b = a * 1.0
    b[b < 0] = x
    b[a > 1] = a[a > 1] * x
    return b * b


@case(V, np.array([4, 1]))
def write_integer_array(a, index):
    b = a * 2
    b[index] = a[:2] * b[index]
    b[[0, 3]] = 1.5
    return b * a


@case(M)
def write_integer_pairs(m):
    b = m.copy()
    b[[0, 1], [2, 3]] = m[2, :2]
    b[np.array([2, 2]), np.array([0, 1])] = np.array([1.0, 2.0])
    return b * b


@case(V, 0.5)
def add_to_element(a, x):
    b = a.copy()
    b[1] += x * b[0]
    b[1] *= b[2]
    b[2] -= b[1]
    b[3] /= x
    b[4] **= 2
    return b * b


@case(V, 0.5)
def add_to_slice(a, x):
    b = a.copy()
    b[1:3] += x
    b[::2] *= b[1::2]
    b[3:] -= b[:3]
    b[-2:] /= x
    return b * b


@case(V)
def add_at_mask_and_indices(a):
    b = a.copy()
    b[b > 0] *= 3
    b[[0, 1]] += a[[2, 3]]
    return b * a


@case(V)
def overlapping_assignment(a):
    b = a.copy()
    b[1:] = b[:-1]
    b[:3] = b[2:5] * 2
    return b * b * a


@case(V)
def reverse_onto_itself(a):
    b = a.copy()
    b[:] = b[::-1]
    b[:] = b * a
    return b


@case(V)
def swap_elements(a):
    b = a.copy()
    b[0], b[3] = b[3], b[0]
    b[1], b[2] = b[2] * b[0], b[1]
    return b * np.arange(1.0, 7.0)


@case(V, np.array([2.0]))
def write_length_one_array(a, x):
    b = a.copy()
    b[2:5] = x
    b[0] = x[0] * b[1]
    return b


@case(M)
def write_row_from_row(m):
    b = m.copy()
    for i in range(1, 3):
        b[i] = b[i - 1] * 0.5 + b[i]
    return b


@case(M)
def write_column_by_column(m):
    b = np.empty((3, 4))
    for j in range(4):
        b[:, j] = m[:, j] * (j + 1) if j % 2 else m[:, 0]
    return b * b


@case(V)
def index_arithmetic(a):
    n = len(a)
    total = 0.0
    for i in range(n):
        total += a[i] * a[(i * 2 + 1) % n] * a[-i - 1]
    return total


@case(V.astype(np.float32), 2.0)
def write_single_precision(a, x):
    b = a.copy()
    b[0] = x * 2
    b[1:3] += b[0]
    return b * b


@case(np.array([0.5 + 0.2j, -1.2 + 1.0j, 0.3 - 0.7j]), 1.5)
def write_complex(z, x):
    w = z.copy()
    w[0] = x
    w[1] *= 1j
    return w * w


@case(V)
def indexed_by_float_comparison(a):
    i = int(a[2] * 1.6)
    return a[i] * a[2]


@case(np.array(1.5), np.array([2.0, 3.0]))
def zero_d_indexing(s, v):
    w = v.copy()
    w[...] = s
    w[0] = s[()] * v[1]
    return w, s[None] * v


@case(V)
def text_and_ranges_written_into_an_array(a):
    m = a[:3] * 2.0
    m[0] = "1.5"
    m[1:] = "0.5 2".split()
    n = np.outer(a[:2], m)
    n[1] = range(3)
    missing = a[:2] * m[0]
    missing[0] = None
    return n @ m + np.nansum(missing)


@case(V)
def ranges_beside_arrays(a):
    b = a.copy()
    b *= range(1, 7)
    return b + range(6) / a - range(1, 7) ** np.sin(a) + np.hypot(a, range(6)) * (a @ range(6))
