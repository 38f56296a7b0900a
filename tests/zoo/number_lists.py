"""Lists and dicts of numbers, changed in place: what they held is asked for again, or not."""

from tests.zoo.registry import case

XS = [1.3, 0.4, 0.9, 1.7, 0.6]
ROWS = [[0.7, 1.2, 0.4], [0.9, 0.3, 1.1], [1.6, 0.8, 0.5]]


@case(XS)
def running_sum_in_the_argument(xs):
    for i in range(1, len(xs)):
        xs[i] += xs[i - 1] * xs[0]
    return xs[-1] * xs[2]


@case(XS)
def running_product_in_a_copy(xs):
    a = list(xs)
    for i in range(1, len(a)):
        a[i] *= a[i - 1]
    return a[-1] + xs[1] * a[1]


@case(XS)
def what_was_overwritten_is_read_again(xs):
    a = xs[:]
    s = 0.0
    for i in range(len(a)):
        b = a[1:]
        a[i] = a[i] * a[-1]
        for v in a:
            s += v * v * b[0]
    return s


@case(XS)
def appended_and_taken(xs):
    out = [xs[0]]
    s = 0.0
    for x in xs:
        out.append(x * out[-1])
        out.append(x + out[0])
        s += out.pop() * out[-1]
        if x > 1.0:
            s -= out.pop()
    return s * out[-1]


@case(XS)
def taken_from_the_argument(xs):
    a = xs.pop()
    b = xs.pop(0)
    xs.append(a * b)
    return xs.pop() * xs[0] + xs[-1]


@case(XS)
def extended(xs):
    a = [xs[0], 2.0]
    a.extend(xs)
    a += a
    a.extend([xs[1]] * 2)
    a[3] = 0.0
    a[4] = a[10] * a[1]
    return sum(v * i for i, v in enumerate(a))


@case(XS, 2)
def repeated_and_added(xs, k):
    a = xs * k + [xs[1]] * 3
    b = a + a
    b[7] = b[-1] * 2.0
    a[0] = 5.0
    return sum(b) * a[1] + sum(xs * 0) + a[0]


@case(XS)
def part_with_a_step(xs):
    a = xs[::-2]
    a[0] = a[1] * xs[4]
    b = xs[5:]
    return a[0] * a[1] + a[2] * sum(b) + len(b)


@case(XS)
def copies_of_copies(xs):
    a = xs.copy()
    b = list(a)
    a[0] = b[1] * 2.0
    b[2] = a[0] * a[3]
    return a[0] * b[0] + a[2] * b[2] + xs[2]


@case(ROWS, [row[::-1] for row in ROWS])
def product_of_rows(a, b):
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    return sum(v * v for row in c for v in row)


@case(ROWS)
def elimination(rows):
    a = [row[:] for row in rows]
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
    return a[0][0] * a[1][1] * a[2][2]


@case(ROWS)
def rows_swapped_and_scaled(rows):
    a = [row[:] for row in rows]
    a[0], a[2] = a[2], a[0]
    b = a[0]
    b[1] *= a[1][0]
    a[1] = [v * b[1] for v in a[0]]
    b[0] = 2.0
    return a[1][1] * a[0][0] * rows[2][1] + a[2][0]


@case(XS)
def whole_numbers_become_floats(xs):
    a = [0] * 3
    for i, x in enumerate(xs):
        a[i % 3] += x * x
    return a[0] * a[1] - a[2]


@case(XS)
def counted_by_key(xs):
    d = {}
    for i, x in enumerate(xs):
        k = i % 2
        if k in d:
            d[k] += x * d[k]
        else:
            d[k] = x
    return d[0] * d[1]


@case({"a": 1.5, "b": 0.5}, XS)
def dict_argument_in_place(d, xs):
    for x in xs:
        d["a"] += x * d["b"]
        d["b"] = d["a"] * 0.1
        d["c"] = d["b"] * x
    return d["a"] * d["c"]


@case(XS)
def letters(xs):
    d = {"x": 0.0, "y": 1.0}
    for i in range(len(xs)):
        d["xy"[i % 2]] += xs[i] ** 2
    del d["x"]
    d["x"] = 2.0 * d["y"]
    return d["x"] * d["y"]


@case(XS)
def numbers_then_a_tuple_by_key(xs):
    d = {"n": xs[0]}
    d["n"] = d["n"] * 2.0
    y = d["n"]
    d["n"] = (y, xs[1])
    d["n"] = d["n"][0] * d["n"][1]
    return d["n"] * xs[2]


@case(XS)
def loops_over_lists_that_change_in_length_and_not(xs):
    out = [xs[0]]
    for x in xs:
        out.append(x * out[-1])
    s = 0.0
    for v in out:
        out[0] = v * 0.5
        s += v * out[1]
    for v in out:
        if len(out) < 9:
            out.append(v * s)
        s += v
    for v in out:
        s += v * out.pop()
    for a, b in zip(xs, out):
        s += a * b
    for a, b in zip(out, xs):
        out.append(a * b)
        s *= b
        if len(out) > 12:
            break
    return s + sum(out)


@case(ROWS)
def rows_that_grow_in_a_loop_over_the_rows(rows):
    table = [row[:] for row in rows]
    s = 0.0
    for row in table:
        for v in row:
            s += v
            if len(row) < 5:
                row.append(v * s)
        if len(table) < 5:
            table.append([s, row[0]])
    return s * table[-1][0] * table[1][-1]


@case(XS)
def an_iterator_made_before_the_list_grows(xs):
    out = [xs[0], xs[1]]
    it = iter(out)
    out.append(xs[2])
    s = 1.0
    for v in it:
        s = s * v + xs[3]
    for i in range(2):
        for v in it:
            s += v
        out.append(s)
        it = iter(out[: i + 1])
    return s


@case(XS, 3)
def sums_of_generators_and_comprehensions(xs, n):
    s = sum(x * x for x in xs)
    for k in range(n):
        s += sum([x * s * 0.1 for x in xs[k:]]) * sum(v for v in xs if v > 1.0)
        s += sum(x for x in xs if x > 100.0)
    t = [x * s for x in xs]
    return sum(t) * t[0] + sum(i * v for i, v in enumerate(xs)) / sum(a * b for a, b in zip(xs, t))


@case(XS)
def lists_turned_round(xs):
    a = xs[:]
    a.reverse()
    a[0] *= a[1]
    a.reverse()
    rows = [[xs[0], 2.0], [xs[1] * xs[2], xs[3]]]
    rows.reverse()
    return a[-1] * a[1] + rows[0][0] * rows[1][0]


@case([1.0, 2.0, 3.0, 4.0])
def starred_parts_of_lists(xs):
    a, *b, c = xs
    b.append(a * c)
    b[0] = b[0] * 2.0
    *d, e = b
    f, *g = d
    h, *i, j = [f, e]
    return sum(b) * e + sum(d) * f + len(g) * h * j + len(i) + xs[1]


@case([1.0, 2.0])
def starred_parts_of_a_list_too_short(xs):
    r = 0.0
    try:
        a, b, *c, d = xs
        r = a
    except ValueError as e:
        r += len(str(e)) * xs[0]
    a, b, *c = xs
    return r + a * b + len(c)


class _Log:
    def __init__(self):
        self.items = []

    def put(self, *items):
        self.items += [*items]
        self.items += (items[0], 1.0)
        return self


@case([0.4, 0.7, 1.2])
def lists_put_at_the_end_of_others(xs):
    out, log, nested = [xs[0]], _Log(), []
    same = out
    for x in xs:
        out += [x * out[-1]]
        out += (out[0], x)
        out.extend([x * x, out[0]])
        out.extend((x,))
        nested += [[x, x * x]]
        log.put(x, out[1])
    nested[0][1] = xs[2] * 3.0
    return sum(same) * len(out) + sum(log.items) * nested[0][1] + same[2] * nested[1][1]


@case([0.4, 0.7, 1.2])
def a_stack_that_gets_several_at_once(xs):
    stack, total = [(0, 1.0)], 0.0
    while stack:
        i, w = stack.pop()
        total += w * xs[i] ** 2
        if i < 2:
            stack += [(i + 1, w * xs[0]), (2, 0.1 * w)]
    return total


@case(0.3)
def long_list_of_coefficients(x):
    coefficients = [
        -11, -1, 0, -8, -2, -5, 6, 8, 1, 8, 6, -5, -2, -8, 0, -1, -11, -7, 11, -3, -3, 11, -7, -11, -1, 0, -8,
        -2, -5, 6, 8, 1, 8, 6, -5, -2, -8, 0, -1, -11, -7, 11, -3, -3, 11, -7, -11, -1, 0, -8, -2, -5, 6, 8,
        1, 8, 6, -5, -2, -8
    ]  # fmt: skip
    total, place = 0.0, 0
    for degree in range(10):
        y = float(coefficients[place])
        for k in range(1, degree + 1):
            y = y * x + coefficients[place + k]
        total += y * x * degree
        place += degree + 1
    return total
