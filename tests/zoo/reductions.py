"""Sums, means, extrema, products, norms; products of matrices."""

import numpy as np

from tests.zoo.registry import case

AREA = "reductions"
V = np.array([0.5, -1.2, 2.0, 0.3])
W = np.array([1.1, 0.4, -0.7, 0.9])
M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
T = np.sin(np.arange(24.0) * 1.7).reshape(2, 3, 4) + 0.1
A = np.array([[1.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])


@case(V)
def sum_all(a):
    return np.sum(a * a)


@case(V)
def sum_method(a):
    return (a * a * a).sum()


@case(T)
def sum_axes(t):
    return np.sum(t * t, axis=0) * 2, t.sum(axis=(0, 2)), t.sum(-1), np.sum(t, axis=1, keepdims=True) * t


@case(T)
def mean_axes(t):
    return np.mean(t * t), t.mean(axis=1), np.mean(t, axis=(1, 2), keepdims=True) * t, t.mean(0)


@case(T)
def max_axes(t):
    return np.max(t) * t.max(axis=2), t.max(axis=0, keepdims=True) * t, np.max(t, axis=(0, 1))


@case(T)
def min_axes(t):
    return np.min(t) * t.min(axis=2), t.min(axis=0, keepdims=True) * t, np.amin(t, axis=1)


@case(T)
def prod_axes(t):
    return np.prod(t[0]), t.prod(axis=1), np.prod(t, axis=(0, 2)), t.prod(axis=2, keepdims=True) * t


@case(np.array([0.0, 2.0, 3.0]))
def prod_with_zero(a):
    return np.prod(a)


@case(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
def prod_with_two_zeros(m):
    return m.prod(axis=1)


@case(M)
def builtin_reductions_of_array(m):
    return sum(m) * max(m[0]) + min(m[1]) * sum(m[0])


@case(V, tags=("wider",))
def reductions_with_initial(a):
    return np.sum(a, initial=2.0) * np.max(a, initial=-5.0)


@case(V, tags=("wider",))
def reductions_where(a):
    return np.sum(a * a, where=np.array([True, False, True, True]))


@case(T, tags=("wider",))
def cumulative(t):
    return np.cumsum(t, axis=1), t.cumsum(), np.cumprod(t, axis=2)


@case(T, tags=("wider",))
def spread(t):
    return np.var(t), t.std(axis=1), np.var(t, axis=0, ddof=1), t.var(axis=2, keepdims=True)


@case(M)
def norm_by_hand(m):
    return np.sqrt((m**2).sum()) + np.sqrt(np.sum(m * m, axis=1)).sum()


@case(M, tags=("wider",))
def norms(m):
    return np.linalg.norm(m) + np.linalg.norm(m, axis=1).sum()


@case(M)
def softmax(m):
    e = np.exp(m - m.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@case(M)
def log_sum_exp(m):
    top = np.max(m, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(m - top), axis=-1)) + top[:, 0]


@case(M)
def standardise(m):
    centred = m - m.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0) + 1e-3)


@case(V, W)
def dot_vectors(a, b):
    return np.dot(a, b) * (a @ b) + a.dot(b) + np.inner(a, b) + np.vdot(a, b)


@case(M, np.array([0.5, -1.0, 2.0]))
def matrix_vector(m, v):
    return m @ v + np.dot(m, v)


@case(np.array([0.5, -1.0]), M)
def vector_matrix(v, m):
    return v @ m + v.dot(m)


@case(M, A)
def matrix_matrix(m, a):
    return m @ a, np.dot(m, a), np.matmul(m, a)


@case(T, T[:, :, ::-1].transpose(0, 2, 1).copy())
def batched_matmul(s, t):
    return s @ t


@case(T, np.array([[0.5, -1.0], [1.0, 2.0], [0.3, 0.4], [-0.2, 0.1]]))
def batched_times_matrix(t, m):
    return t @ m


@case(A, T.transpose(0, 1, 2))
def matrix_times_batched(a, t):
    return a @ t


@case(T, V)
def batched_times_vector(t, v):
    return t @ v, np.array([1.0, 2.0, 3.0]) @ t


@case(T[:1], T)
def broadcast_batches(s, t):
    return s @ t.transpose(0, 2, 1)


@case(A)
def matrix_with_itself(a):
    return a @ a + a.T @ a


@case(A, np.array([1.0, 2.0, -1.0]))
def quadratic_form(a, x):
    return x @ a @ x


@case(V, W)
def outer_products(a, b):
    return np.outer(a, b) + a[:, None] * b + np.multiply.outer(b, a)


@case(A, A.T + 1, tags=("wider",))
def trace_and_diagonal(a, b):
    return np.trace(a @ b) * np.diag(a).sum() + np.diagonal(b) @ np.array([1.0, 2.0, 3.0])


@case(M, A, tags=("wider",))
def einsum_forms(m, a):
    return np.einsum("ij,jk->ik", m, a), np.einsum("ii", a), np.einsum("ij->j", m)


@case(T, A, tags=("wider",))
def tensordot_axes(t, a):
    return np.tensordot(t, a, axes=([1], [0]))


@case(np.array([[1.0, 2.0], [0.5, -1.0]]), M)
def kron_by_broadcasting(a, b):
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(4, 6)


@case(np.array([[1.0, 2.0], [0.5, -1.0]]), M, tags=("wider",))
def kron_function(a, b):
    return np.kron(a, b)


@case(M, np.array([0.5, -1.0, 2.0]), 0.3)
def linear_layer(w, x, b):
    return np.tanh(w @ x + b)


@case(V.astype(np.float32), W.astype(np.float32))
def single_precision_dot(a, b):
    return np.sum(a * b) * (a @ b)


@case(np.array([0.5 + 0.2j, -1.2 + 1.0j]), np.array([[1.0 + 1j, 0.5], [0.2j, -1.0]]))
def complex_matmul(z, m):
    return m @ z, np.sum(z * z), z @ z


@case(M)
def all_and_any_are_inactive(m):
    if (m > -5).all() and np.any(m > 1):
        return m.sum()
    return m.max()


@case(V)
def argmax_is_inactive(a):
    return a[np.argmax(a)] * a[a.argmin()]


@case(V)
def count_and_sorting_indices(a):
    order = np.argsort(a)
    return a[order] * np.arange(4) * np.count_nonzero(a > 0)


@case(V, 3.0)
def summed_from_an_array(a, s):
    wide = sum([np.outer(a, a), a], a)  # the items have more dimensions than the start
    start = a * s
    same = sum([], start)
    same += sum([a * k for k in range(3)], start)
    return wide.sum() + (start * a).sum() + sum((x * a for x in (1j, s)), np.zeros(4, complex)).real @ a
