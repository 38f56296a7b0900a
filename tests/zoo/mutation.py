"""Writes in place: into arguments, through views and aliases, into reused buffers, in loops."""

import numpy as np

from tests.zoo.registry import add, case

AREA = "mutation"
V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
W = np.array([1.5, 0.2, -0.7, 0.9, 0.4])
M = np.sin(np.arange(12.0) + 1).reshape(3, 4)


@case(V)
def argument_scaled(a):
    a *= 2
    return (a * a).sum()


@case(V, 3.0)
def argument_element_written(a, x):
    a[1] = x
    a[0] = a[1] * a[2]
    return a[0] * a[1] + a.sum()


@case(V, W)
def argument_slices_written(a, b):
    a[1:3] = b[:2] * a[3:]
    b[::2] += a[2]
    return a * b


@case(V)
def argument_written_and_returned(a):
    a[:] = a * a
    a += 1
    return a


@case(V)
def argument_overwritten_by_constant(a):
    y = a.sum()
    a[:] = 0.0
    return y * y + a.sum()


@case(V)
def argument_written_before_and_after_use(a):
    a[0] = a[0] * a[1]
    y = a * a
    a[0] = 7.0
    a[1] *= 3
    return (y * a).sum()


@case(V, V.copy())
def two_arguments_swapped_by_buffer(a, b):
    t = a.copy()
    a[:] = b * 2
    b[:] = t * t
    return a - b


SHARED = np.array([0.5, -1.2, 2.0])


@case(SHARED, SHARED)
def same_array_passed_twice(a, b):
    a[0] = a[1] * a[2]
    return (a * b).sum() + b[0]


@case(V)
def augmented_assignment_of_array(a):
    b = a + 0
    b += a
    b *= b
    b -= 0.5
    b /= a
    b **= 2
    return b


@case(V)
def augmented_assignment_aliases(a):
    b = a * 1
    c = b
    c += a
    return b * c


@case(V)
def augmented_float_is_not_aliased(a):
    x = a[0]
    y = x
    y += a[1]
    return x * y


@case(M)
def augmented_matmul(m):
    b = m @ m.T
    b @= b
    return b


@case(V)
def view_sees_base_written(a):
    b = a.copy()
    view = b[1:4]
    b[2] = a[0] * a[4]
    return view * view


@case(V)
def base_sees_view_written(a):
    b = a.copy()
    view = b[1:4]
    view[:] = a[:3] * view
    view[0] = 5.0
    return b * b


@case(V)
def view_read_before_and_after(a):
    b = a * 2
    view = b[::2]
    y = view.sum()
    b[0] *= 3
    z = view.sum()
    b[:] = a
    return y * z * view.sum()


@case(M)
def view_of_view(m):
    b = m.copy()
    rows = b[1:]
    corner = rows[:, 2:]
    corner *= 2
    rows[0] = m[0]
    return b * b + corner.sum()


@case(M)
def reshape_and_transpose_are_views(m):
    b = m.copy()
    flat = b.reshape(-1)
    flat[3] = flat[0] * flat[1]
    b.T[1] *= 2
    b.ravel()[5] = 1.0
    return b * flat.reshape(3, 4)


@case(V)
def overlapping_views(a):
    b = a.copy()
    left, right = b[:4], b[1:]
    left += right
    right *= 2
    return left * right


@case(V)
def view_outlives_base_name(a):
    b = a * a
    view = b[1:]
    b = view * 2
    view[0] = a[0]
    return b * view


@case(V)
def copy_is_independent(a):
    b = a.copy()
    c = b.copy()
    b[0] = 9.0
    c[1] = b[0] * b[2]
    return b * c


@case(V)
def chosen_alias(a):
    b, c = a * 2, a * 3
    target = b if a[0] > 0 else c
    target[0] = a[1] * a[2]
    return b * c


@case(V)
def alias_through_tuple(a):
    b = a * 2
    pair = (b, b)
    pair[0][1] = a[0]
    return pair[1] * b


@case(V)
def alias_through_function(a):
    def fill(target, value):
        target[1:3] = value
        return target

    b = a * 1
    c = fill(b, a[0] * a[0])
    c[0] = b[1]
    return b * c


@case(V)
def function_writes_argument(a):
    def scale_in_place(x, factor):
        for i in range(len(x)):
            x[i] = x[i] * factor

    scale_in_place(a, 2.0)
    scale_in_place(a[1:3], a[0])
    return a.sum() * a[1]


@case(V)
def swap_arrays_in_loop(a):
    b = np.zeros(5)
    for i in range(5):
        b[:] = a * 1.1 + i
        b[0] *= a[1]
        a, b = b, a
    return a - b


@case(V, W)
def buffer_reused_in_loop(a, b):
    buffer = np.empty(5)
    total = 0.0
    for i in range(4):
        buffer[:] = a * (i + 1)
        buffer *= b
        total += (buffer * buffer).sum()
    return total


@case(V)
def out_buffer_by_elements(a):
    out = np.zeros(5)
    for i in range(5):
        out[i] = a[i] * a[i]
        if i:
            out[i] += out[i - 1]
    return out


@case(V)
def prefix_sums_in_place(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a * a


@case(V)
def bubble_sort_in_place(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a * np.arange(5)


@case(V)
def insertion_sort(a):
    a = a.copy()
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return (a * a)[1:] * a[:-1]


@case(V)
def reverse_in_place(a):
    i, j = 0, len(a) - 1
    while i < j:
        a[i], a[j] = a[j] * 2, a[i]
        i, j = i + 1, j - 1
    return a * np.arange(5)


@case(M)
def gaussian_elimination_step(m):
    for i in range(1, 3):
        factor = m[i, 0] / m[0, 0]
        m[i] -= factor * m[0]
        m[i, 0] = 0.0
    return m


@case(V, 3)
def integer_array_written(a, n):
    index = np.array([0, 1, 2])
    y = a[index] * 2
    index[0] = n
    z = a[index]
    index[:] = 4
    return y * z + a[index]


@case(V)
def mask_written(a):
    mask = a > 0
    y = a[mask].sum()
    mask[1] = True
    z = a[mask].sum()
    mask[:] = False
    return y * z


@case(V)
def captured_factor_is_overwritten(a):
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    y = a * weights
    weights[:] = 0.0
    return (y * y).sum() + weights.sum()


@case(0.7)
def inactive_buffer_becomes_active(x):
    table = np.arange(5.0)
    first = table * x
    table[2] = x * x
    return (first * table).sum()


@case(0.7)
def active_buffer_becomes_inactive(x):
    table = np.ones(3) * x
    y = (table * table).sum()
    table[:] = 2.0
    return y * table.sum()


@case(V, True)
def write_on_one_branch(a, flag):
    b = a * 2
    if flag:
        b[1] = a[0]
    else:
        b = a
    b[2] *= a[1]
    return b * b


@case(V)
def write_then_early_return(a):
    for i in range(5):
        a[i] *= 2
        if a[i] > 3:
            a[0] = a[i] * a[1]
            return a[0] * a[i]
    return a[0]


@case(V)
def returned_view_of_argument(a):
    a[2] = a[0] * a[1]
    return a[1:4]


@case(V)
def returned_base_and_view(a):
    b = a * a
    view = b[:2]
    view[1] = a[3]
    return b, view


@case(V)
def fill_method(a):
    b = a * 2
    b.fill(3.0)
    c = a.copy()
    c[...] = b * a
    return c * b


@case(V, W, tags=("wider",))
def out_arguments(a, b):
    out = np.empty(5)
    np.multiply(a, b, out=out)
    np.add(out, a, out=out)
    return out * out


@case(V, W, tags=("wider",))
def copyto_and_add_at(a, b):
    c = a.copy()
    np.copyto(c[:2], b[1:3])
    np.add.at(c, [0, 0, 1], b[:3])
    return c * a


@case(V, tags=("wider",))
def sort_methods(a):
    b = a.copy()
    b.sort()
    return b * np.arange(5) + np.sort(a)


@case(V, W)
def rows_of_work_array(a, b):
    work = np.zeros((2, 5))
    work[0] = a
    for i in range(4):
        now, nxt = work[i % 2], work[(i + 1) % 2]
        nxt[:] = now * b + 0.1
    return work[0] - work[1]


@case(V)
def nested_function_writes_captured(a):
    history = np.zeros(3)

    def record(i, value):
        history[i] = value * value

    for i in range(3):
        record(i, a[i] + a[4])
    return history * history[::-1]


@case(V)
def mutated_twice_per_iteration(a):
    b = np.zeros(5)
    for i in range(3):
        b += a * i
        b[i] *= b[i + 1] + 1
        b[1:3] -= a[i]
    return b


@case(V)
def float_array_from_argument(a):
    b = np.array(a)
    b[0] = a[1] * 2
    c = np.asarray(a)
    c[3] = b[0]
    return a * b * c


def _in_place_power(a, n):
    for _ in range(n):
        a *= a
    return a


for _n in (0, 1, 3):
    add(f"in_place_power_{_n}", _in_place_power, np.array([0.9, -1.1, 0.5]), _n, area=AREA)


@case(1.3)
def views_of_constants_of_unknown_type(y):
    parts = [np.zeros((2, 3)), "name"]
    for view in (np.ravel(parts[0]), np.reshape(parts[0], (3, 2)), np.transpose(parts[0]), parts[0].view()):
        view += y
    return parts[0].sum() * y


@case(np.array([0.5, -1.2, 0.8]))
def attributes_of_arrays_set(x):
    a, z = np.zeros(3), np.zeros(3, complex)
    a.flat = x
    z.real = x * a
    z.imag = 2.0
    return np.sum(a**2 * z.real + z.imag)


@case(np.array([0.5, -1.2, 0.8, 0.4]))
def array_given_its_own_iterator(x):
    m = x.reshape(2, 2) * 1.0
    m.flat = m.flat
    total = 0.0
    for (i, j), v in np.ndenumerate(m):
        total += v * v * (i + 2 * j)
    return total


class Maker:
    n = 3

    def buffer(self):
        return np.zeros(self.n)


@case(V, "zeros", "buffer")
def filled_arrays_that_unknown_calls_made(a, name, method):
    z = getattr(np, name)(a.shape)
    z += a
    b = getattr(Maker(), method)()
    b[0] = a[0] * a[1]
    return (z * z).sum() + b[0] * z[1]


@case(np.array([0.4, 1.3]), [np.ndarray.copy])
def parts_of_arrays_that_are_found_when_it_runs(x, makers):
    total = 0.0
    for make in makers:
        y, z = make(x), make(x * (1.0 + 2.0j))
        y.real = 2.0
        total += np.sum(y * y * x)
        z.imag = 3.0
        z.real = x[0]
        y.flat = x[1]
        try:
            y.flat = [x[0], 2.0]
        finally:
            total += np.sum(abs(z) * y)
    return total


@case([np.array([0.4, 1.3]), np.array([0.7, -0.2])], 0.6)
def new_lists_and_objects_that_hold_what_is_given(arrays, x):
    ordered = sorted(arrays, key=lambda a: -a[1])
    ordered.append(arrays[0] * x)
    ordered[0][0] = x * ordered[1][1]
    kept = [ordered, list(arrays)]
    kept[1].reverse()
    kept[1][0] *= 2.0
    return sum((a * a).sum() for a in ordered) + (arrays[0] * kept[1][1]).sum()


@case(np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.2, -0.4]))
def arrays_that_change_joined_before_and_after(x, h):
    """What is joined is apart from its parts: those change, and are kept, before and after."""
    x, h = x * 1.0, h * 1.0
    kept, total = [], 0.0
    for i in range(3):
        y = np.concatenate([x, h]) * np.stack((h, x)).ravel()
        kept.append(h)
        x[i] = y[i] * 2.0
        h = np.tanh(y[:3] + x) + np.hstack((x[1:], h[:1]))
        kept[0][i] += total
        total = total + y @ np.concatenate((kept[-1], x))
        x += 0.1 * np.linalg.multi_dot((np.outer(x, h), h.reshape(3, 1), h[:1]))
    return total + sum(k @ x for k in kept)


@case(V)
def items_read_beside_sorting(a):
    before = a[0] * a[1]
    a.sort()
    after = a[0] * a[1] + a[4]
    a[1:].partition(2)
    return before * after + a[2] * a[0]


@case(V)
def items_read_beside_writes_through_flat_and_parts(a):
    before = a[0] * a[2]
    a.flat[1] = before * a[3]
    z = a * (1 + 2j)
    middle = (z[0] * z[1]).real
    z.real = a * a
    z.imag[2] = middle
    return before * middle + (z[0] * z[1] * z[2]).real + a[1] * a[0]


@case(V)
def sorted_in_every_round(a):
    total = 0.0
    for i in range(3):
        total += a[i] * a[0] + a[1]
        a.sort()
        a[i] *= 2.5
    return total * a[0]


@case(V, W)
def arrays_that_are_locked(x, b):
    b *= x
    part = b[1:]
    part += 1.0
    part.flags.writeable = False
    b.setflags(write=False)
    x.flags["WRITEABLE"] = False
    return np.sum(b * part[0])


@case(V, W)
def accumulated_into_what_a_rule_gives(x, w):
    a = np.outer(x, w)
    np.add.accumulate(a, out=a)
    b = np.einsum("i,j->ij", x, w)
    np.logaddexp.accumulate(b, 1, None, b)
    np.hypot.accumulate(x, out=b[0])
    return np.sum(a * w) + np.sum(b * x)


@case(V, W)
def reduced_into_what_a_rule_gives(x, w):
    a = x * [1.0, 0.5, 2.0, -0.7, 0.3]
    y = np.add.reduce(np.outer(x, w), axis=0, out=a)
    b = np.kron(x, w)[:5]
    np.hypot.reduce(np.outer(w, x), 0, None, b)
    return np.sum(a * w) + y[1] + np.sum(b * x)


@case(V, W)
def slices_reduced_into_what_a_rule_gives(x, w):
    a = np.outer(x, w)
    f = np.add.reduceat
    f(a, [0, 1, 2, 1, 0], out=a)
    b = x * [1.0, 0.5, 2.0, -0.7, 0.3]
    np.multiply.reduceat(w * x, [0, 1, 2, 3, 4], 0, None, b)
    c = np.kron(x, w).reshape(5, 5)
    np.divide.outer(x, w, out=c)
    return np.sum(a * w) + np.sum(b * x) + np.sum(c * c)


@case(V)
def accumulated_along_an_axis_of_a_view(x):
    v = np.squeeze(x[None, :] * 1.0)
    np.cumsum(v, axis=0, out=v)
    np.cumprod(v, axis=-1, out=v)
    v.cumsum(axis=0, out=v)
    return np.sum(v * x)
