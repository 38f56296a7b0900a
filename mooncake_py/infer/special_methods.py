"""Which special methods operators ask for, and functions that stand for an operation which asks them.

A stand-in is what Python would do, written out: it is taken in at the place of the operation (`transform/standins.py`).
"""

from __future__ import annotations

import math
import operator
from typing import Any

from mooncake_py import tuples
from mooncake_py.fields import check_factory, has_own, items_of, own
from mooncake_py.hashing import hashable
from mooncake_py.ir import ops
from mooncake_py.iterators import asked, items_hinted, items_left, items_measured, iterating, next_of_object
from mooncake_py.kept_iterators import (
    goes_on,
    goes_on_as_in_c,
    item_of,
    item_of_or,
    items_of_generator,
    over_deque,
    over_sequence,
    over_tuple,
)

# `a op b`; x and y are the operands in the order in which they are asked.


def one_answers(f, x, y, op, a, b):  # type: ignore[no-untyped-def]
    z = f(x, y)
    if z is NotImplemented:
        return ops.no_operator(op, a, b)
    return z


def two_answer(f, g, x, y, op, a, b):  # type: ignore[no-untyped-def]
    z = f(x, y)
    if z is NotImplemented:
        z = g(y, x)
        if z is NotImplemented:
            return ops.no_operator(op, a, b)
    return z


def truth_of(f, x):  # type: ignore[no-untyped-def]
    """What `__bool__` says, which must be True or False."""
    y = f(x)
    if type(y) is not bool:
        return ops.said("__bool__", y, x)
    return y


def no_truth_of(f, x):  # type: ignore[no-untyped-def]
    y = f(x)
    if type(y) is not bool:
        return ops.said("__bool__", y, x)
    return not y


def measured(f, x):  # type: ignore[no-untyped-def]
    """`len(x)`."""
    n = f(x)
    if type(n) is not int:
        return ops.said("__len__", n, x)
    return n


def is_filled(f, x):  # type: ignore[no-untyped-def]
    """The truth of what has a length."""
    return measured(f, x) != 0


def is_empty(f, x):  # type: ignore[no-untyped-def]
    return measured(f, x) == 0


def as_float(f, x):  # type: ignore[no-untyped-def]
    """`float(x)`."""
    y = f(x)
    if type(y) is float:
        return y
    if isinstance(y, float):
        return float(y)
    return ops.said("__float__", y, x)


def found_in(f, x, k):  # type: ignore[no-untyped-def]
    return bool(f(x, k))


def computed_or_asked(f, ask, x, name):  # type: ignore[no-untyped-def]
    """`x.name` by a property's function, or by `__getattr__` where that says that there is none."""
    try:
        return f(x)
    except AttributeError:
        return ask(x, name)


def kept_or_computed(f, x, name):  # type: ignore[no-untyped-def]
    """`x.name` by a `functools.cached_property`."""
    if not has_own(x, name):
        object.__setattr__(x, name, f(x))
    return own(x, name)


def kept_or_described(get, d, x, cls, name):  # type: ignore[no-untyped-def]
    """`x.name` by a descriptor that an attribute of the object's own comes before."""
    if has_own(x, name):
        return own(x, name)
    return get(d, x, cls)


def kept_or_itself(d, x, name):  # type: ignore[no-untyped-def]
    """`x.name` where the class has an object by that name which is only told when the attribute is set."""
    if has_own(x, name):
        return own(x, name)
    return d


def item_or_made(d, k, f):  # type: ignore[no-untyped-def]
    """`d[k]` of a defaultdict."""
    if k not in d:
        check_factory(d, f)
        dict.__setitem__(d, k, f())
    return dict.__getitem__(d, k)


def item_or_zero(d, k):  # type: ignore[no-untyped-def]
    """`d[k]` of a Counter."""
    if k in d:
        return dict.__getitem__(d, k)
    return 0


def item_or_asked(x, k, f):  # type: ignore[no-untyped-def]
    """`dict.__getitem__(x, k)` where the class has a `__missing__`."""
    d = items_of(x)
    if dict.__contains__(d, k):
        return dict.__getitem__(d, k)
    return f(x, k)


def started(xs, items=()):  # type: ignore[no-untyped-def]
    """`list.__init__`."""
    if list.__len__(xs):
        list.clear(xs)
    ops.list_extend(xs, items)


def two_items(x, i, j):  # type: ignore[no-untyped-def]
    """`itemgetter(i, j)(x)`; the others below as their names say."""
    return x[i], x[j]


def three_items(x, i, j, k):  # type: ignore[no-untyped-def]
    return x[i], x[j], x[k]


def two_attributes(x, a, b):  # type: ignore[no-untyped-def]
    return getattr(x, a), getattr(x, b)


def three_attributes(x, a, b, c):  # type: ignore[no-untyped-def]
    return getattr(x, a), getattr(x, b), getattr(x, c)


def inner_attribute(x, a, b):  # type: ignore[no-untyped-def]
    return getattr(getattr(x, a), b)


STAND_INS = frozenset(
    {one_answers, two_answer, truth_of, no_truth_of, found_in, asked, iterating, items_left, next_of_object}
)
STAND_INS |= {goes_on, goes_on_as_in_c, item_of, item_of_or, items_of_generator}
STAND_INS |= {over_deque, over_sequence, over_tuple}
STAND_INS |= {measured, is_filled, is_empty, as_float}
STAND_INS |= {two_items, three_items, two_attributes, three_attributes, inner_attribute}
STAND_INS |= {
    started,
    item_or_asked,
    items_measured,
    items_hinted,
    item_or_made,
    item_or_zero,
    computed_or_asked,
    kept_or_computed,
    kept_or_described,
    kept_or_itself,
}
STAND_INS |= {tuples.part, tuples.together, tuples.times}

BINARY: dict[Any, tuple[str, str]] = {}
IN_PLACE: dict[Any, tuple[str, Any]] = {}
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
for _name in (*_ARITHMETIC, "and_", "or_", "xor", "lshift", "rshift"):
    _bare = _name.strip("_")
    BINARY[getattr(operator, _name)] = f"__{_bare}__", f"__r{_bare}__"
    IN_PLACE[getattr(operator, "i" + _bare)] = f"__i{_bare}__", getattr(operator, _name)
for _name, _back in (("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("eq", "eq")):
    BINARY[getattr(operator, _name)] = f"__{_name}__", f"__{_back}__"
COMPARING = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
BINARY[divmod] = "__divmod__", "__rdivmod__"
SPECIAL = {
    operator.neg: "__neg__",
    operator.pos: "__pos__",
    operator.invert: "__invert__",
    abs: "__abs__",
    round: "__round__",
    math.floor: "__floor__",
    math.ceil: "__ceil__",
    math.trunc: "__trunc__",
    len: "__len__",
    float: "__float__",
    next: "__next__",
    operator.getitem: "__getitem__",
    operator.setitem: "__setitem__",
    operator.delitem: "__delitem__",
}

CONVERTED = {len: measured, float: as_float}
"""What Python makes of what some of these methods give."""


def asks(f: Any) -> tuple[str, ...]:
    """The special methods that an operator asks for."""
    if not hashable(f):
        return ()
    if f in IN_PLACE:
        name, plain = IN_PLACE[f]
        return (name, *BINARY[plain])
    if f is operator.ne:
        return ("__ne__",)
    return BINARY.get(f) or ((SPECIAL[f],) if f in SPECIAL else ())
