"""Creation, reshaping, transposing, joining."""

import numpy as np

from tests.zoo.registry import case

AREA = "shapes"
V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
M = V.reshape(2, 3).copy()
T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
F = np.asfortranarray(M)


@case(V)
def reshape_forms(a):
    return a.reshape(2, 3) * a.reshape((2, 3)) + np.reshape(a, (2, -1)), a.reshape(-1, 1)


@case(M)
def ravel_and_flatten(m):
    return m.ravel() * m.flatten() + np.ravel(m) * m.reshape(-1)


@case(F)
def ravel_of_fortran_order(m):
    return m.ravel() * np.arange(6), m.T.ravel() * np.arange(6), m.reshape(3, 2)


@case(T)
def transposes(t):
    return t.T[0], t.transpose(1, 0, 2), np.transpose(t, (2, 0, 1)), t.transpose((0, 2, 1)) @ t, t[0].transpose()


@case(T, tags=("wider",))
def swap_and_move_axes(t):
    return np.swapaxes(t, 0, 2), t.swapaxes(1, 2), np.moveaxis(t, 0, -1)


@case(M)
def squeeze_and_expand(m):
    return np.squeeze(m[None, :, None]) * m, np.expand_dims(m, 1) * m[0], m[:, :, None].squeeze(-1)


@case(V, 2.0)
def unpack_flat_parameters(theta, t):
    w = theta[:4].reshape(2, 2)
    b = theta[4:]
    return w @ b * t + b


@case(V)
def reshape_of_view_is_used_after_write(a):
    b = a.copy()
    m = b.reshape(2, 3)
    b[0] = 3.0
    return m * m


@case(V, V[::-1].copy())
def concatenate_forms(a, b):
    return np.concatenate((a, b)) * 2, np.concatenate([a[:2], b, a[4:]]), np.hstack((a, b))


@case(M, 2 * M)
def concatenate_axes(m, n):
    return np.concatenate([m, n], axis=1), np.concatenate((m, n, m), axis=0), np.vstack([m, n[0]])


@case(V, V[::-1].copy())
def stack_forms(a, b):
    return np.stack([a, b]), np.stack((a, b, a * b), axis=1), np.stack([a, b], axis=-1), np.column_stack((a, b))


@case(V, 0.5, M)
def concatenate_mixed(a, t, m):
    return np.concatenate([a * t, np.array([t, t * t]), m.ravel(), np.zeros(2)])


@case(V, tags=("wider",))
def append_and_pad_by_concatenation(a):
    return np.append(a, a[0] * 2) * np.concatenate([np.ones(1), a])


@case(1.5, -0.4)
def zeros_filled(x, y):
    a = np.zeros(4)
    a[0] = x
    a[2] = x * y
    return a * y


@case(1.5, -0.4)
def ones_and_full(x, y):
    return np.ones((2, 2)) * x + np.full((2, 2), y) + np.full(2, 3.0) * x


@case(M)
def created_like(m):
    z = np.zeros_like(m)
    e = np.empty_like(m)
    z[0] = m[1]
    e[:] = m * z
    return e + np.ones_like(m) + np.full_like(m, 2.0) * m


@case(1.5)
def empty_then_filled(x):
    a = np.empty(5)
    for i in range(5):
        a[i] = x**i
    return a


@case(1.5)
def ranges(x):
    return np.arange(4) * x + np.arange(1.0, 3.0, 0.5), np.linspace(0, 1, 5) * x


@case(1.5, 4.0)
def active_linspace(a, b):
    return np.linspace(a, b, 5) ** 2


@case(1.5)
def identity_matrices(x):
    return np.eye(3) * x + np.identity(3), np.eye(2, 3, 1) * x


@case(V)
def copies(a):
    b = a.copy()
    c = np.copy(a)
    b[0] = 5.0
    c[1] = b[2] * b[2]
    return a * b * c


@case(np.array([1.0, 2.0, 3.0]), tags=("wider",))
def diag_built(v):
    return np.diag(v) @ np.array([1.0, 2.0, 3.0]) + np.diag(np.diag(v))


@case(M, tags=("wider",))
def flips_and_rolls(m):
    return np.flip(m, axis=1) * m[::-1], np.roll(m, 1, axis=1), m[:, ::-1], np.roll(m, 2)


@case(V, tags=("wider",))
def tiles_and_repeats(a):
    return np.tile(a, 2), np.repeat(a, 2), np.tile(a, (2, 1)) * 3, np.repeat(a.reshape(2, 3), 2, axis=0)


@case(V, tags=("wider",))
def broadcast_to_and_at_least(a):
    return np.broadcast_to(a, (2, 6)) * 2, np.atleast_2d(a) * a, np.atleast_1d(a[0] * 1.0)


@case(V, V * 2, tags=("wider",))
def meshes(a, b):
    x, y = np.meshgrid(a[:2], b[:3])
    return x * y


@case(M, tags=("wider",))
def triangles(m):
    square = m.T @ m
    return np.tril(square), np.triu(square, 1)


@case(V, tags=("wider",))
def splits(a):
    left, middle, right = np.split(a, 3)
    return left * middle + right


@case(V, tags=("wider",))
def differences(a):
    return np.diff(a) * (a[1:] + a[:-1]) / 2


@case(M)
def shape_driven_loops(m):
    rows, columns = m.shape
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            total += m[i, j] * (i + 1) * m[i, (j + 1) % columns]
    return total


@case(F, V)
def fortran_order_arithmetic(f, a):
    return f * f + a.reshape((3, 2)).T, (f * 2).T


@case(np.array([0.3, 0.2, 0.9, 0.2]), "same")
def ranks_of_a_dtype_that_is_found_when_it_runs(x, name):
    dtype = {"same": lambda v: v.dtype, "single": lambda v: np.float32}[name](x)
    ordinal = np.broadcast_to(np.arange(1, 5, dtype=dtype), x.shape)
    return np.sum(ordinal[x > 0.25] + 1.0) * x[0] * x[2]


@case(np.array([[0.3, -0.2, 0.5, 0.1, 0.7]] * 2))
def lists_joined_with_what_a_loop_carries(w):
    h, c = np.zeros(1), np.zeros(1)
    for t in range(4):
        z = w @ np.concatenate([h, [0.1 * t, 1.0, c[0]], [0.5]])
        c = np.tanh(z[:1]) + 0.5 * c
        h = c * z[1] ** 2
    return h[0] + c[0]


@case([[0.3, -0.2], [0.5, 0.1], [0.7, 0.9]])
def rows_of_lists_unpacked_in_a_loop(points):
    total = 0.0
    for x, y in points:
        total += x * y
    ((a, b), first), last = (points[0], 2.0), points[-1]
    last[0] += a * b * first
    return total * last[0]


@case(np.array([0.3, -0.2, 0.5, 1.7]), 5)
def bits_in_place(x, n):
    mask = x > 0.0
    kept = x[mask]
    mask &= x < 1.0
    mask |= x < -5.0
    power, base = 1.0, x[0] + 1.0
    k = n
    while k:
        if k & 1:
            power *= base
        k >>= 1
        base *= base
    k |= 6
    k ^= 3
    k <<= 1
    return (kept**2).sum() + np.sum(x[mask]) * power * k
