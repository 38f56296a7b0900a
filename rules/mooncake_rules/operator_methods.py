"""Operators called as the methods that they are: `float.__mul__(x, y)`, `x.__rsub__(1.0)`, `dict.__or__(a, b)`.

Where the classes of the arguments leave an answer of NotImplemented possible, there is none here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.registry import asking_items, overlay, zero_derivative

_f: Any

_OPERATORS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
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
    "pow": lambda a, b: b**a,
    "matmul": lambda a, b: b @ a,
}
_UNARY: dict[str, Any] = {"neg": lambda a: -a, "pos": lambda a: +a, "abs": lambda a: abs(a)}
_OTHERS: dict[type, tuple[type, ...]] = {
    float: (float, int),
    complex: (complex, float, int),
    np.ndarray: (np.ndarray, np.generic, complex, float, int),
    **dict.fromkeys((np.float64, np.complex128, np.float32, np.complex64), (np.number, complex, float, int)),
}
for _cls, _others in _OTHERS.items():
    for _table, _prefix in ((_OPERATORS, ""), (_REFLECTED, "r")):
        for _name, _f in _table.items():
            if (_method := _cls.__dict__.get(f"__{_prefix}{_name}__")) is not None:
                overlay(_method, classes=(_cls, _others))(_f)
    for _name, _f in _UNARY.items():
        if (_method := _cls.__dict__.get(f"__{_name}__")) is not None:
            overlay(_method, classes=(_cls,))(_f)
    zero_derivative(*(_cls.__dict__[f"__{_name}__"] for _name in ("eq", "ne", "lt", "le", "gt", "ge", "bool")))


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


@overlay(set.union)
def set_union(s, *others):
    """Of dicts, the keys: constants."""
    y = set.copy(s)
    for x in others:
        for k in x:
            y.add(k)
    return y
