"""Operators called as the methods that they are: `float.__mul__(x, y)`, `x.__rsub__(1.0)`, `dict.__or__(a, b)`.

Also items and iteration. Where the classes of the arguments leave an answer of NotImplemented possible, it is given.
"""

from __future__ import annotations

import operator
from collections import deque
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from mooncake_py.fields import bare
from mooncake_py.infer.types import Inst, T, widen
from mooncake_py.registry import asking_items, infer_table, overlay, rrule, zero_derivative
from mooncake_py.structure import HEAP

_f: Any

_OPERATORS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "divmod": lambda a, b: divmod(a, b),
    "pow": lambda a, b: a**b,
    "matmul": lambda a, b: a @ b,
}
_REFLECTED: dict[str, Any] = {
    "add": lambda a, b: b + a,
    "sub": lambda a, b: b - a,
    "mul": lambda a, b: b * a,
    "truediv": lambda a, b: b / a,
    "floordiv": lambda a, b: b // a,
    "mod": lambda a, b: b % a,
    "divmod": lambda a, b: divmod(b, a),
    "pow": lambda a, b: b**a,
    "matmul": lambda a, b: b @ a,
}
_IN_PLACE: dict[str, Any] = {
    "add": lambda a, b: operator.iadd(a, b),
    "sub": lambda a, b: operator.isub(a, b),
    "mul": lambda a, b: operator.imul(a, b),
    "truediv": lambda a, b: operator.itruediv(a, b),
    "floordiv": lambda a, b: operator.ifloordiv(a, b),
    "mod": lambda a, b: operator.imod(a, b),
    "pow": lambda a, b: operator.ipow(a, b),
    "matmul": lambda a, b: operator.imatmul(a, b),
}
_UNARY: dict[str, Any] = {
    "neg": lambda a: -a,
    "pos": lambda a: +a,
    "abs": lambda a: abs(a),
    "float": lambda a: float(a),
    "complex": lambda a: complex(a),
}
_SCALARS = (np.float64, np.complex128, np.float32, np.complex64)
_WITH_ARRAYS = (np.ndarray, np.number, complex, float, int, list, tuple)
_OTHERS: dict[type, tuple[type, ...]] = {
    float: (float, int),
    complex: (complex, float, int),
    np.ndarray: _WITH_ARRAYS,
    **dict.fromkeys(_SCALARS, _WITH_ARRAYS),
}


def _no_answer(a, b):
    return NotImplemented


@rrule(bare)
def _bare(x):
    def pullback(dy):
        return dy

    return bare(x), pullback


def _bare_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    t = widen(args[0])
    if isinstance(t, Inst) and t.cls.__flags__ & HEAP:
        return Inst(float if issubclass(t.cls, float) else complex, t.act)
    return t


infer_table[bare] = _bare_type


def _of_numbers(f):
    """The operator on the numbers, whatever classes derived from theirs say of it."""
    if f.__code__.co_argcount == 1:
        return lambda a: f(bare(a))
    return lambda a, b: f(bare(a), bare(b))


for _cls, _others in _OTHERS.items():
    for _table, _prefix in ((_OPERATORS, ""), (_REFLECTED, "r")):
        for _name, _f in _table.items():
            if (_method := _cls.__dict__.get(f"__{_prefix}{_name}__")) is not None:
                overlay(_method, classes=(_cls, _others))(_of_numbers(_f) if _cls in (float, complex) else _f)
                if _cls in (float, complex):
                    overlay(_method, classes=(_cls, object))(_no_answer)
    for _name, _f in _UNARY.items():
        if (_method := _cls.__dict__.get(f"__{_name}__")) is not None:
            overlay(_method, classes=(_cls,))(_of_numbers(_f) if _cls in (float, complex) else _f)
    zero_derivative(*(_cls.__dict__[f"__{_name}__"] for _name in ("eq", "ne", "lt", "le", "gt", "ge", "bool")))
for _cls in (float, np.floating):
    overlay(_cls.__round__, classes=(_cls,))(lambda a: round(a))
    overlay(_cls.__round__, classes=(_cls, (int, type(None))))(lambda a, n: round(a, n))
for _name, _f in _IN_PLACE.items():
    overlay(getattr(np.ndarray, f"__i{_name}__"), classes=(np.ndarray, _WITH_ARRAYS))(_f)
for _prefix in ("", "r"):  # with anything but a whole number, int has no answer
    zero_derivative(*(getattr(int, f"__{_prefix}{_name}__") for _name in _OPERATORS if _name != "matmul"))
zero_derivative(float.__int__, float.__trunc__, float.__floor__, float.__ceil__)
zero_derivative(np.ndarray.__len__, np.ndarray.__contains__, np.ndarray.__int__, np.ndarray.__bool__)


@overlay(np.ndarray.__getitem__)
def array_getitem(a, i):
    return a[i]


@overlay(np.ndarray.__setitem__, np.flatiter.__setitem__)
def array_setitem(a, i, v):
    a[i] = v


@overlay(np.flatiter.__getitem__)
def flat_getitem(a, i):
    return a[i]


@overlay(np.ndarray.__iter__)
def array_iter(a):
    return iter(a)


@overlay(np.ndarray.__array__)
def array_itself(a, dtype=None, copy=None):
    return np.asarray(a, dtype, copy=copy)


_COMPARED = [getattr(list, f"__{_name}__") for _name in ("eq", "ne", "lt", "le", "gt", "ge")]
_COMPARED += [dict.__eq__, dict.__ne__]
zero_derivative(*_COMPARED)
asking_items.update(_COMPARED)

# -- containers, whose class may say something else of the operator ---------------------------------------


@overlay(list.__add__, classes=(list, list))
def list_add(a, b):
    y = list.copy(a)
    list.extend(y, b)
    return y


@overlay(list.__iter__)
def list_iter(xs):
    i = 0
    while i < list.__len__(xs):
        yield list.__getitem__(xs, i)
        i += 1


@overlay(list.__reversed__)
def list_reversed(xs):
    for i in range(list.__len__(xs) - 1, -1, -1):
        if i >= list.__len__(xs):
            return
        yield list.__getitem__(xs, i)


@overlay(deque.__iter__)
def deque_iter(d):
    n = deque.__len__(d)
    for i in range(n):
        if deque.__len__(d) != n:
            raise RuntimeError("deque mutated during iteration")
        yield deque.__getitem__(d, i)


@overlay(deque.__reversed__)
def deque_reversed(d):
    n = deque.__len__(d)
    for i in range(n - 1, -1, -1):
        if deque.__len__(d) != n:
            raise RuntimeError("deque mutated during iteration")
        yield deque.__getitem__(d, i)


@overlay(list.__mul__, list.__rmul__, classes=(list, int))
def list_mul(a, k):
    y = list.copy(a)
    list.__imul__(y, k)
    return y


@overlay(dict.__or__, classes=(dict, dict))
def dict_or(a, b):
    y = dict(a)
    dict.update(y, b)
    return y


@overlay(dict.__ior__, classes=(dict, dict))
def dict_ior(a, b):
    dict.update(a, b)
    return a


@overlay(*(kind.__call__ for kind in (np.ufunc, FunctionType, MethodType, BuiltinFunctionType, partial)))
def called(f, /, *args, **kwargs):
    return f(*args, **kwargs)
