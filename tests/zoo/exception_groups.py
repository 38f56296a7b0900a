"""Groups of exceptions and `except*`: every exception in a group brings its values."""

import numpy as np

from tests.zoo.registry import case

XS = np.array([1.3, 2.2, 0.7])


class Failure(Exception):
    def __init__(self, v):
        super().__init__()
        self.v = v


@case(XS)
def taken_apart_by_class(x):
    try:
        raise ExceptionGroup("both", [ValueError(x[0]), KeyError(x[1] * 2)])
    except* ValueError as group:
        a = group.exceptions[0].args[0]
    except* KeyError as group:
        b = group.exceptions[0].args[0]
    return a * b


@case(XS)
def one_that_is_in_no_group(x):
    def squared(v):
        try:
            if v > 1:
                raise ValueError(v)
            return v * 3
        except* ValueError as group:
            v = group.exceptions[0].args[0] ** 2
        return v

    return sum(squared(v) for v in x)


@case(XS)
def nothing_raised(x):
    total = x[2]
    try:
        total *= x[0]
    except* ValueError:
        total = 0.0
    else:
        total += x[1]
    finally:
        total *= 2
    return total


@case(XS)
def collected_in_a_loop(x):
    errors, total = [], 0.0
    for v in x:
        try:
            if v > 1:
                raise ValueError(v)
            raise KeyError(v * 3)
        except Exception as e:
            errors.append(e)
    try:
        raise ExceptionGroup("all", errors)
    except* KeyError as group:
        total += sum(e.args[0] for e in group.exceptions)
    except* ValueError as group:
        for e in group.exceptions:
            total += e.args[0] ** 2
    return total


@case(XS)
def left_for_another_handler(x):
    try:
        try:
            raise ExceptionGroup("both", [ValueError(x[0]), KeyError(x[1])])
        except* ValueError:
            pass
    except ExceptionGroup as group:
        return group.exceptions[0].args[0] * x[2] * len(group.exceptions)


@case(XS)
def raised_in_a_handler(x):
    try:
        try:
            raise ExceptionGroup("both", [ValueError(x[0]), KeyError(x[1])])
        except* ValueError as group:
            raise TypeError(group.exceptions[0].args[0] * 2) from None
    except ExceptionGroup as group:
        total = 0.0
        for i, e in enumerate(group.exceptions):
            total += (i + 1) * (e.exceptions[0] if isinstance(e, ExceptionGroup) else e).args[0]
        return total * x[2]


@case(XS)
def raised_again_in_a_handler(x):
    try:
        try:
            raise ExceptionGroup("two", [ValueError(x[0]), KeyError(x[1])])
        except* ValueError:
            raise
        except* KeyError as group:
            kept = group.exceptions[0].args[0]
    except ExceptionGroup as group:
        return group.exceptions[0].args[0] * kept * len(group.exceptions)


@case(XS)
def groups_in_groups(x):
    try:
        raise ExceptionGroup("g", [Failure(x[0]), ExceptionGroup("h", [Failure(x[1]), KeyError(x[2])])])
    except* Failure as group:
        a = sum(e.v for e in group.exceptions if isinstance(e, Failure))
        b = group.exceptions[1].exceptions[0].v
    except* KeyError as group:
        c = group.exceptions[0].exceptions[0].args[0]
    return a * b * c


def push(items, v):
    items.append(v)
    raise KeyError(sum(items))


@case(XS)
def raised_by_a_callee_that_wrote(x):
    items = []
    for v in x:
        try:
            push(items, v)
        except* KeyError as group:
            items.append(group.exceptions[0].args[0] * v)
    return sum(items)


@case(1.3)
def not_caught(x):
    try:
        try:
            return 1 / 0
        except* ValueError:
            pass
    except ZeroDivisionError:
        return x * 2


def nested(x):
    inner = ExceptionGroup("in", [ValueError(x[0] * x[1]), KeyError(x[2])])
    return ExceptionGroup("all", [ValueError(x[0]), KeyError(x[1]), inner])


def weighed(e, x):
    if isinstance(e, BaseExceptionGroup):
        total = 0.0
        for i, part in enumerate(e.exceptions):
            total = total * 1.7 + (i + 1) * weighed(part, x)
        return total + len(e.exceptions) * x[2] + len(e.message)
    return e.args[0] * 1.3 if isinstance(e, ValueError) else e.args[0]


@case(XS)
def walked_by_a_function_that_calls_itself(x):
    return weighed(nested(x), x)


def raised_from(x, how):
    try:
        try:
            raise nested(x)
        except* ValueError as group:
            if how == "anew":
                raise ExceptionGroup("new", group.exceptions) from None
            if how == "by name":
                raise group
            if how == "from none":
                raise group from None
            if how == "noted":
                group.add_note("seen")
            if how != "not":
                raise
    except ExceptionGroup as group:
        return weighed(group, x)


@case(XS)
def what_handlers_raise_beside_what_is_left(x):
    total = 0.0
    for how in ("again", "anew", "by name", "from none", "noted", "not"):
        total = total * 1.3 + raised_from(x, how)
    return total


def depth(e, n):
    return depth(e, n - 1) if n else e.args[0]


@case(XS)
def builtin_exceptions_handed_on(x):
    errors = [ValueError(x[0]), KeyError(x[1] * x[2])]
    total = depth(errors[int(x[0] > 9)], 2)
    try:
        raise errors[1]
    except KeyError as e:
        return total * depth(e, int(x[1] > 0)) + depth((e,)[0], len(errors))


class Weighted(ExceptionGroup):
    def derive(self, excs):
        part = Weighted(self.message, excs)
        part.weight = self.weight * 2
        return part


@case(1.3)
def taken_apart_by_split(x):
    group = Weighted("all", [Failure(x), TypeError(x * x), ExceptionGroup("inner", [Failure(x * 3), KeyError("k")])])
    group.weight = x
    group.add_note("noted")
    failures, others = group.split(Failure)
    only = group.subgroup((TypeError, KeyError))
    none = group.subgroup(ZeroDivisionError)
    s = failures.exceptions[0].v * failures.exceptions[1].exceptions[0].v * failures.weight + others.weight
    return s + only.exceptions[0].args[0] * len(others.exceptions) * len(only.__notes__) + (none is None) * x


@case(1.3)
def taken_apart_by_a_function_that_notes(x):
    seen = []

    def wanted(exc):
        seen.append(x * len(seen))
        return isinstance(exc, Failure)

    group = ExceptionGroup("all", [Failure(x), ExceptionGroup("inner", [TypeError(x), Failure(x * x)])])
    found, rest = group.split(wanted)
    return (
        sum(seen) * found.exceptions[0].v * found.exceptions[1].exceptions[0].v
        + rest.exceptions[0].exceptions[0].args[0]
    )
