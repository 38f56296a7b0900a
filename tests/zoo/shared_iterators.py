"""`itertools` where several iterators share one source, and where what they go over has no derivative."""

import itertools
import math
import operator

import numpy as np

from tests.zoo.registry import case

XS = [0.5, -1.2, 2.0, 0.3, -0.7, 1.1]


@case(1.3)
def groups_of_constants(x):
    powers = [x**k for k in range(9)]
    total = 0.0
    for k, group in itertools.groupby(range(9), key=lambda i: i // 4):
        part = 1.0
        for i in group:
            part += powers[i]
        total += part * part * (k + 1)
    return total


@case(1.3)
def groups_of_rows_by_their_first(x):
    rows = [(i // 3, x * i) for i in range(10)]
    sums = {k: sum(v * v for _, v in group) for k, group in itertools.groupby(rows, key=operator.itemgetter(0))}
    return sum(k * v for k, v in sums.items()) + sums[0]


@case(XS)
def a_group_asked_after_the_next_is_empty(xs):
    groups = itertools.groupby(xs, key=lambda v: v > 0)
    _, first = next(groups)
    total = next(first)
    positive, second = next(groups)
    return total * sum(first, 1.0) * (2.0 if positive else 3.0) + sum(v * v for v in second) + len(list(groups))


@case(XS)
def keys_of_groups_have_derivatives(xs):
    total = 0.0
    for k, group in itertools.groupby([xs[0], xs[0], xs[1], xs[1] * 1.0, xs[2]]):
        total += k * k * len(list(group))
    return total


@case(XS)
def nothing_to_group(xs):
    return sum(len(list(g)) * xs[0] for _, g in itertools.groupby([])) + xs[1]


@case(XS)
def two_of_tee_run_apart(xs):
    ahead, behind = itertools.tee(v * v for v in xs)
    total = next(ahead) * next(ahead)
    for a, b in zip(ahead, behind):
        total += a * b
        if total > 4.0:
            break
    return total + sum(behind) * 2.0


@case(XS)
def one_of_tee_is_not_asked(xs):
    kept, asked = itertools.tee(xs)
    return sum(v * v for v in asked) + next(kept, 0.0)


@case(XS)
def longest_of_two(xs):
    total = 0.0
    for a, b in itertools.zip_longest(xs, (v * v for v in xs[:2]), fillvalue=xs[3]):
        total += a * b
    for i, b in itertools.zip_longest(range(2), xs[:4]):
        total += b if i is None else i * b
    for a, i in itertools.zip_longest(xs[:1], range(3), fillvalue=2.0):
        total += a * i
    return total


@case(1.3)
def counted_from_outside_of_the_loop(x):
    total = 0.0
    for i in itertools.count():
        total += x**i
        if i > 4:
            break
    for v, i in zip([x, x * x], itertools.count(3, 2)):
        total += v * i
    for t in itertools.count(0.5, 0.25):
        if t > 1.2:
            return total
        total += t * x
    return x


@case(1.3)
def constants_chosen_and_added_up(x):
    total = sum(x * i for i in filter(lambda i: i % 3, range(9)))
    for i in itertools.accumulate(range(5)):
        total += x**i
    for i in itertools.takewhile(lambda i: i < 12, itertools.count(2, 3)):
        total *= 1.0 + x / i
    return total + sum(x * p for p in itertools.starmap(pow, [(2, 3), (3, 2)]))


class Numbered:
    """Gives what it keeps a number each, its own and one of all."""

    of_all = itertools.count(1)

    def __init__(self):
        self.numbers, self.kept = itertools.count(1), []

    def add(self, value):
        self.kept.append((next(self.numbers), value, next(Numbered.of_all)))


@case(1.3)
def numbers_given_by_an_attribute(x):
    a, b = Numbered(), Numbered()
    for k in range(4):
        (a if k % 2 else b).add(x * k)
    first = a.kept[0][2]
    return sum(i * v * (n - first) for i, v, n in a.kept) + sum(i * v for i, v, _ in b.kept)


@case(1.3)
def counted_in_steps_with_derivatives(x):
    ids = itertools.count(x, x * x)
    return next(ids) * next(ids) + sum(itertools.islice(ids, 3))


def doubled(v):
    if v > 8.0:
        raise ValueError("too large")
    return 2.0 * v


def large_part(v):
    if v > 8.0:
        raise ValueError("too large")
    return int(v)


@case(1.3)
def groups_go_on_after_an_exception(x):
    groups = itertools.groupby([x, x * 1.1, 9.0, x * 2.0, x * 2.0, 9.5, x * 4.0], large_part)
    total = 0.0
    for n in range(12):
        try:
            _, group = next(groups)
        except StopIteration:
            break
        except ValueError:
            total += 1.0
            continue
        for _ in range(4):
            try:
                total += next(group) * (n + 1)
            except StopIteration:
                break
            except ValueError:
                total += 0.5
    return total


@case(1.3)
def tee_goes_on_after_an_exception(x):
    ahead, behind = itertools.tee(map(doubled, [x, 9.0, x * x, x * 3.0]))
    total = 0.0
    for n, it in enumerate([ahead, ahead, behind, ahead, behind, behind, behind, behind]):
        try:
            total += next(it) * (n + 1)
        except ValueError:
            total += x
        except StopIteration:
            total *= x
    return total


@case(0.5, {"p": 0.3, "q": 0.7})
def first_of_values_in_a_loop(x, d):
    s = 0.0
    for _ in range(2):
        it = (v + x for v in d.values())
        s = s + math.sin(next(it, 1.0)) * d["q"]
        if x < 0.0:
            break
    return s


@case(0.5, {"p": 0.3, "q": 0.7})
def first_of_values_that_change_in_a_loop(x, d):
    s = 0.0
    for _ in range(2):
        it = (v * x for v in d.values())
        s = s + next(it)
        d["q"] = s * x
        s = s + next(it, 2.0) ** 2
        pairs = ((k, v * s) for k, v in d.items())
        k, v = next(pairs)
        d["p"] = v * x
        s = s + sum(w for _, w in pairs) + len(k)
    return s


@case(0.5, {"p": 0.3, "q": 0.7})
def values_asked_in_turns_while_they_change(x, d):
    s, total = x, 0.0
    for k in range(3):
        values, pairs = (v + x for v in d.values()), ((n, v) for n, v in d.items())
        total += next(values, 1.0) * s
        d["p" if k else "q"] = s = s * x + 1.0
        total += sum(v * len(n) for n, v in pairs if k)
        total += next(values, 2.0)
    return total


@case(0.5)
def constants_asked_in_turns_while_they_change(x):
    d, total = {"p": 0.3, "q": 0.7}, 0.0
    for k in range(3):
        values = (v * x for v in d.values())
        total += next(values, 1.0)
        d["q"] = k + 0.5
        total += next(values, 2.0) * x
    return total


def _tenths(v):
    return int(10 * v)


@case([1.33, 1.35, 1.47, 1.48, 1.61, 1.32])
def groups_used_up_at_once(xs):
    total = sum(sum(group) * k for k, group in itertools.groupby(xs, key=_tenths))
    for k, group in itertools.groupby(xs, key=_tenths):
        total = total * 0.5 + max(group) * k
    for k, group in itertools.groupby(xs, key=_tenths):
        first = next(group)
        total += first * sum(group) + k
    for _, group in itertools.groupby(xs, key=_tenths):
        for x in group:
            total += x * sum(group)
            break
    listed = {k: list(group) for k, group in itertools.groupby(sorted(xs), key=_tenths)}
    kept = [(k, group) for k, group in itertools.groupby(xs, key=_tenths)]
    return total * sum(v[0] * v[-1] * len(v) for v in listed.values()) + sum(sum(group) for _, group in kept)


@case([1.3, 0.7, 0.4])
def generators_that_rebind_what_they_captured_used_up_at_once(xs):
    total = 0.0

    def growing(k):
        nonlocal total
        for x in xs:
            if x > 0.5:
                total = total + x * k
            yield total * x

    result = 0.0
    for i in range(3):
        result += max(growing(i + 1.0)) * total
    first, then = sorted(growing(0.5)), tuple(growing(2.0))
    return result * first[0] + then[1] * total + sum(growing(1.0))


@case(XS)
def one_item_each_time_around(xs):
    total = 0.0
    pairs, numbered, back = zip(xs, reversed(xs), strict=True), enumerate(xs), reversed(xs)
    for a in xs:
        for b, c in pairs:
            total = total * 1.1 + a * b * c
            break
        for i, b in numbered:
            total += i * a * b
            break
        for b in back:
            total *= b
            break
    return total


@case(XS)
def until_there_is_none_left(xs):
    total, back = 0.0, enumerate(reversed((xs[0], xs[1], xs[2])), start=1)
    while True:
        for i, x in back:
            total = total * 1.1 + i * x
            break
        else:
            break
    return total


@case(XS)
def made_anew_each_time_around(xs):
    total = 0.0
    for k in range(3):
        pairs = zip(xs, reversed(xs), strict=True)
        for a, b in pairs:
            total = total * 0.9 + k * a * b
    return total


@case(XS)
def one_that_is_longer_than_another(xs):
    total = 0.0
    try:
        for a, b in zip(xs, sorted(xs)[1:], strict=True):
            total = total * 0.9 + a * b
    except ValueError as e:
        total *= len(e.args[0])
    try:
        for a, b, c in zip(xs, map(abs, xs), map(abs, [*xs, 1.0]), strict=True):
            total += a * b * c
    except ValueError as e:
        total *= 0.01 * len(e.args[0])
    return total


@case([0.4, 0.7, 1.2, 0.9, 0.3])
def items_by_twos_and_threes(xs):
    n = 2
    total = sum(a * b for a, b in zip(*(iter(xs),) * n))
    its = [iter(xs)] * 2
    for i, (a, b) in enumerate(zip(*its)):
        total += (i + 1) * a**b
    for a, b, c in zip(*[iter(xs)] * 3, strict=False):
        total += a * b - c
    return total + sum(zip(*[xs[:1]] * 0), start=xs[1])


@case([0.4, 0.7, 1.2, 0.9, 0.3])
def an_argument_several_times(xs):
    seen = [xs[0], xs[1]] * 2
    seen.append(max(*[xs[2]] * 2))
    return math.hypot(*[xs[0]] * 3) * sum(seen) + math.atan2(*(xs[3], xs[4]) * True)


def _squares(xs, log):
    for x in xs:
        log.append(x)
        yield x * x


def _unpacked(it):
    try:
        a, b = it
    except ValueError as e:
        return len(str(e))
    return a * b


@case(XS)
def what_is_left_by_too_few_names(xs):
    log = []
    its = [iter(xs), map(operator.neg, xs), _squares(xs, log), iter(xs[:1])]
    total = 0.0
    for it in its:
        total += _unpacked(it)
        total += sum(it) * xs[0]
    return total * sum(log) + _unpacked(xs) + _unpacked({"a": xs[2], "b": xs[3]}.values())


@case(XS)
def what_has_no_end_for_two_names(xs):
    total = 0.0
    for it in (itertools.repeat(xs[1]), (xs[0] * k for k in itertools.count())):
        total += _unpacked(it) * next(it)
    return total


@case(XS)
def what_is_taken_by_too_few_names(xs):
    log = []
    it, of_list, more = _squares(xs, log), iter(xs), Counted(xs)
    try:
        a, b = it
    except ValueError:
        a, b = xs[:2]
    try:
        c, d, e = of_list
    except ValueError as problem:
        c, d, e = [*map(abs, xs[:3])]
        a *= len(str(problem))
    try:
        f, g = more
    except ValueError:
        f = g = next(more) * more.asked
    h, i = (x * x for x in xs[:2])
    return sum(log) * a * b + sum(it) * c * d * e + sum(of_list) + f * g + h * i


class Counted:
    """An iterator that counts how often it is asked."""

    def __init__(self, xs):
        self.xs, self.asked = xs, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.asked > len(self.xs):
            raise StopIteration
        return self.xs[self.asked - 1]


@case(XS)
def an_iterator_that_has_ended_before_the_list_grows(xs):
    rows, short = list(xs), [xs[0], xs[1]]
    over, it = iter(rows), iter(short)
    total = next(it) * next(it) + next(it, 7.0) * xs[2]
    short.append(xs[3])
    total += next(it, 3.0) * xs[1]
    for x in over:
        total += x * xs[5]
        if x == xs[2]:
            rows.clear()
    rows.extend(xs)
    return total + sum(over) * xs[4]


@case(XS)
def an_iterator_asked_again_while_the_list_grows(xs):
    rows, other = list(xs[:3]), list(xs)
    it, back = iter(rows), iter(other)
    total = 0.0
    for k in range(4):
        for x in it:
            total += x * (k + 1) * xs[4]
            break
        for x in back:
            total += x * x * (k + 1)
            if len(other) > 3:
                other.pop()
        rows.append(xs[k] * 2.0)
        other.append(xs[k])
    return total * next(it) + next(back, 0.5) * xs[5]


def _raised(make):
    try:
        make()
    except (TypeError, ValueError) as e:
        return len(str(e))
    return 0


@case(1.3)
def what_is_refused_when_it_is_made(x):
    xs, n = [x, x * x], x + 1.0
    lengths = [
        _raised(lambda: reversed({x, n})),
        _raised(lambda: itertools.islice(xs, 1.0)),
        _raised(lambda: itertools.islice(xs, 1.0, None)),
        _raised(lambda: itertools.islice(xs, 0, None, n)),
        _raised(lambda: itertools.repeat(x, n)),
        _raised(lambda: enumerate(xs, n)),
        _raised(lambda: np.float64(x) @ xs),
        _raised(lambda: itertools.repeat(x, 2)),
    ]
    return sum(x**k * n for k, n in enumerate(lengths))
