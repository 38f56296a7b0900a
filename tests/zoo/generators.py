"""Generators that several loops, `next` and other functions ask for items."""

import math

from tests.zoo.registry import case

XS = [0.5, -1.2, 2.0, 0.3, -0.7, 1.1, 0.9, -0.4]


def sums(xs):
    t = 0.0
    for x in xs:
        t += x * x
        yield t


def head_first(xs):
    yield xs[0]
    for x in xs[1:]:
        yield x * x
    yield xs[-1]
    i = 0
    while i < 3:
        yield xs[i] * i
        i += 1


def delegating(xs):
    yield from sums(xs)
    yield from head_first(xs)
    for v in sums(xs):
        yield v


def of_rows(rows):
    for row in rows:
        for v in row:
            if v > 0:
                yield v
            else:
                yield -v * v


def until(xs, limit):
    t = 0.0
    for x in xs:
        t += abs(x)
        if t > limit:
            return
        yield t


def pairs_of(xs):
    it = iter(xs)
    while True:
        a = next(it, None)
        if a is None:
            return
        yield a * next(it, 1.0)


def three(xs):
    it = iter(xs)
    yield next(it)
    yield next(it) * 2.0
    yield next(it)


def stopping(xs):
    for x in xs:
        if x < -0.5:
            raise ValueError(x)
        yield x * x


@case(XS)
def asked_by_next_and_by_loops(xs):
    g = sums(xs)
    total = next(g) * next(g)
    for v in g:
        total += v
        if total > 8.0:
            break
    total += next(g, 0.5)
    for v in g:
        total += 0.1 * v
    return total + next(g, xs[0])


@case(XS)
def several_yields_and_delegation(xs):
    total = 0.0
    for v in delegating(xs):
        total = 0.9 * total + v
        if total > 50.0:
            break
    for v in head_first(xs):
        if v > 1.0:
            continue
        total += math.sin(v)
    return total


@case(XS)
def rows_in_parts(xs):
    g = of_rows([xs[:2], xs[2:3], [], xs[3:]])
    total = next(g)
    for v in g:
        total += math.sin(v)
        if total > 2.0:
            break
    return total + sum(g)


@case(XS)
def zipped_with_lists_and_each_other(xs):
    g, h, total = head_first(xs), sums(xs), 0.0
    for a, b in zip(g, h):
        total += a * b
    for a, b, c in zip(xs, sums(xs), head_first(xs)):
        total += a * b - c
    for a, b in zip(sums(xs), [2.0, xs[0], 3.0]):
        total += a * b
    for i, (a, b) in enumerate(zip(sums(xs), xs)):
        total += i * a - b * b
    return total + sum(g)


@case(XS)
def one_iterator_in_several_hands(xs):
    it, total = iter(xs), 0.0
    for x in it:
        y = next(it, None)
        if y is None:
            break
        total += x * y
        if x > 1.5:
            break
    for a, b in zip(it, it):
        total += a * math.cos(b)
    it = iter(xs)
    try:
        while True:
            total += next(it) * next(it) - next(it)
    except StopIteration:
        pass
    return total


@case(XS)
def asked_after_its_end(xs):
    g, total = until(xs, 3.0), 0.0
    for i, v in enumerate(g):
        total += v * i
    for _ in g:
        total += 100.0
    try:
        total += next(g)
    except StopIteration:
        total *= 2.0
    return total + sum(g) + len(list(g))


@case(XS)
def made_anew_in_a_loop(xs):
    total = 0.0
    for k in range(3):
        g = sums(xs)
        for _ in range(k + 1):
            total += next(g)
        for v in g:
            total += 0.1 * v
            if v > k:
                break
    return total


@case(XS)
def asked_in_the_loop_over_itself(xs):
    g, total = sums(xs), 0.0
    for v in g:
        for w in g:
            total += v * w
            if w > v + 1.0:
                break
    return total


@case(XS)
def local_generators_and_expressions(xs):
    def scaled(k):
        for x in xs:
            yield k * x

    g = scaled(2.0)
    total = next(g) * xs[3]
    for v in g:
        total += v * v
    squares = (x * x for x in xs if x > 0)
    least = next(squares)
    for v in squares:
        total += v / least
    first = next(x for x in xs if x > 0.9)
    return total + sum(scaled(total)) + first * next((x for x in xs if x > 50.0), xs[2])


@case(XS)
def iterators_in_generators(xs):
    total = sum(v * v for v in pairs_of(xs)) + sum(pairs_of(xs[:3]))
    for v in three(xs):
        total += math.sin(v)
    try:
        for v in three(xs[:2]):
            total += v
    except RuntimeError:
        total *= 3.0
    return total


@case(XS)
def ended_by_an_exception(xs):
    g, total = stopping([0.3, *xs]), 0.0
    try:
        for v in g:
            total += v
    except ValueError as e:
        total += e.args[0] ** 3
    for _ in g:
        total += 1000.0
    return total


@case(XS)
def one_of_two(xs):
    g = sums(xs) if xs[0] > 0 else head_first(xs)
    total = next(g)
    for v in g:
        total += 0.1 * v
    return total


@case(XS)
def taken_apart(xs):
    a, *rest = head_first(xs)
    b, c, d = three(xs)
    return a * sum(rest) + b * c * d + max(*sums(xs)) * min(sums(xs), default=1.0)


@case(XS)
def left_by_return(xs):
    total = 0.0
    for x in xs:
        for v in head_first([x, total, x * total]):
            if v < 0:
                continue
            total += 0.3 * v
            if total > 3.0:
                return total * x
    return total


@case(XS)
def a_list_that_grows_while_it_is_asked(xs):
    ys = list(xs)
    it = iter(ys)
    total = next(it)
    ys.append(xs[0] * 3.0)
    for y in it:
        total += y * y
        if len(ys) < 12:
            ys.append(y * 0.5)
    return total


def counted(xs):
    total = 0.0
    for x in xs:
        total += x
        yield total
    return total * 3.0


@case(XS)
def what_a_generator_returns(xs):
    g, total = counted(xs[:3]), 0.0
    while True:
        try:
            total += next(g) ** 2
        except StopIteration as e:
            return total * e.value


def leaves_in_order(t):
    if t is None:
        return
    left, v, right = t
    yield from leaves_in_order(left)
    yield v
    yield from leaves_in_order(right)


@case(0.7)
def recursive_generator_over_tuples(x):
    t = ((None, x, None), 2.0 * x, ((None, x * x, None), 3.0, None))
    s = 0.0
    for k, v in enumerate(leaves_in_order(t)):
        s += math.sin(v) * k
    for v in leaves_in_order(t):
        s += v
    return s * sum(leaves_in_order(t)) * max(leaves_in_order(t))


def flattened(t):
    if isinstance(t, list):
        for part in t:
            yield from flattened(part)
    else:
        yield t


@case([[0.4, [1.3, -0.6]], 0.9, [[0.1]]], 0.7)
def recursive_generator_over_lists(t, x):
    out = []
    for v in flattened(t):
        out.append(v * x)
    return sum(v * k for k, v in enumerate(out)) + sum(flattened(out))


@case([[0.4, [1.3, -0.6]], 0.9], 0.7)
def recursive_generator_whose_source_changes(t, x):
    s = 0.0
    for v in flattened(t):
        s += v * x
        t[0][1][1] = 5.0 * x
        t[1] = v
    return s


def countdown(n, x):
    yield x * n
    if n != 0:
        yield from countdown(n - 1, x * 1.1)


@case(0.7)
def recursive_generator_left_early(x):
    s = 0.0
    for v in countdown(-1 if x > 5.0 else 6, x):
        s += v
        if s > 9.0:
            break
    return s


@case(0.7)
def recursive_generator_that_would_not_end(x):
    s = 0.0
    for v in countdown(-1, x * 0.5):
        if s > 2.0:
            return s
        s -= v
    return s


@case(0.7)
def recursive_generator_kept(x):
    xs = [[x, 2.0], [x * x]]
    g = flattened(xs)
    xs[1][0] = x * 3.0
    s = 0.0
    for v in g:
        s = s * x + v
    return s


def failing(n, x):
    yield x * n
    if n == 0:
        raise ValueError
    yield from failing(n - 1, x)


@case(0.7)
def recursive_generator_that_fails(x):
    s = 0.0
    try:
        for v in failing(3, x):
            s += v * x
    except ValueError:
        s *= x
    return s


class Branching:
    def __init__(self, v, *below):
        self.v, self.below = v, list(below)

    def __iter__(self):
        yield self.v
        for b in self.below:
            yield from b


@case(Branching(0.5, Branching(0.2, Branching(0.9)), Branching(1.1)), 0.7)
def object_that_iterates_over_its_own_kind(t, x):
    s = 0.0
    for v in t:
        s = s * x + v
    return s * sum(t)


SEEN = []


def noting(n, x):
    SEEN.append(n)
    yield x * n
    if n > 0:
        yield from noting(n - 1, x)


@case(0.7)
def recursive_generator_that_writes_outside(x):
    del SEEN[:]
    s = 0.0
    for v in noting(3, x):
        s += v * len(SEEN)
    return s


def three_ways(x):
    yield x
    yield x * x
    if x > 1.2:
        raise ValueError(x)
    yield x * x * x


@case(XS)
def several_yields_in_a_try(xs):
    total, caught = 0.0, 0
    for x in xs:
        try:
            for v in three_ways(x):
                total += v * x
        except ValueError as e:
            total *= 0.5
            caught += len(e.args)
        finally:
            total += 0.1 * x
    return total * caught


@case(XS)
def several_yields_and_a_try_in_the_loop(xs):
    total = 1.0
    try:
        for x in xs:
            for v in three_ways(x):
                try:
                    if v < -0.45:
                        raise KeyError(v)
                    total += v * total
                except KeyError:
                    total -= v
                    continue
                finally:
                    total *= 1.1
                if total > 50.0:
                    break
            total *= 0.9
    except ValueError:
        return -total
    return total


@case(0.7)
def several_yields_and_an_exception_out_of_the_loop(x):
    def walked(limit):
        s = 0.0
        for v in three_ways(x):
            s += v
            if s > limit:
                raise OverflowError(limit)
        return s

    t = 0.0
    for limit in (0.5, 1.1, 5.0):
        try:
            t += walked(limit) * x
        except OverflowError:
            t += limit * x * x
    return t


@case(0.7)
def several_yields_left_from_a_try(x):
    s = 0.0
    for k in range(3):
        try:
            for v in three_ways(x + 0.1 * k):
                if v < 0.6:
                    break
                s += v
            else:
                s *= 2.0
        finally:
            s += x
        try:
            for v in three_ways(x * k):
                if k == 2:
                    return s * v
        finally:
            s += 1.0
    return s


def smoothed(a):
    mean = yield
    while True:
        x = yield mean
        mean = a * mean + (1 - a) * x


def controller(kp, ki):
    total, out = 0.0, None
    while True:
        error = yield out
        total += error * 0.1
        out = kp * error + ki * total


@case([0.5, 1.2, 0.9, 2.0, 0.3])
def sent_to_generators_that_are_known(xs):
    mean = smoothed(xs[0] * 0.3)
    next(mean)
    mean.send(xs[1])
    total = sum(mean.send(x) * x for x in xs)
    control, at = controller(xs[0], xs[1]), 0.0
    control.send(None)
    for _ in range(6):
        at += 0.1 * control.send(xs[2] - at)
    control.close()
    try:
        control.send(xs[3])
    except StopIteration:
        total *= at
    return total + next(control, xs[4])


@case([0.5, 1.2, 0.9, 2.0])
def sent_too_early(xs):
    mean = smoothed(0.5)
    try:
        mean.send(xs[0])
    except TypeError as e:
        total = xs[1] * len(str(e))
    next(mean)
    mean.send(xs[2])
    return total * mean.send(xs[3])


def restarted(xs):
    total = 1.0
    for x in xs:
        sent = yield x * total
        total += 0.25 if sent is None else sent


@case([0.5, 1.2, 0.9, 2.0, 0.3])
def asked_and_sent_to_in_turn(xs):
    items, total = restarted(xs), 0.0
    for k, v in enumerate(items):
        total += v
        if k == 1:
            break
    try:
        for x in xs:
            total += items.send(x) * (len(xs) - 1)
    except StopIteration:
        total *= xs[0]
    thrown = restarted(xs)
    next(thrown)
    try:
        thrown.throw(ValueError(xs[1]))
    except ValueError as e:
        total += e.args[0] * next(thrown, xs[2])
    return total
