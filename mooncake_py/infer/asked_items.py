"""What asks an object of a class derived from a container (`own_containers.py`) for nothing but its items."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from mooncake_py.infer.lookup import MISSING, is_function
from mooncake_py.infer.own_containers import is_of_base
from mooncake_py.infer.predicates import uses_up
from mooncake_py.infer.special_methods import BINARY, SPECIAL
from mooncake_py.infer.types import Dct, Lst, Obj, T, Tup, is_scalar
from mooncake_py.ir import ops

Look = Callable[[type, str], Any]
"""Finds what a class has by a name, which is relied on from then on."""
_TAKE_ITEMS: dict[Any, tuple[int, ...]] = {
    enumerate: (0,),
    filter: (1,),
    ops.unpack: (0,),
    ops.unpack_ex: (0,),
    ops.list_extend: (0, 1),
    ops.dict_update: (0, 1),
    ops.dict_merge: (1,),
    ops.list_to_tuple: (0,),
    dict: (0,),
    dict.update: (1,),
}
"""By the places of their arguments, functions that take items of what they are given and keep nothing else of it."""
_ASKED_OF_ITEMS: dict[Any, tuple[str, ...]] = {
    iter: ("__iter__",),
    reversed: ("__reversed__",),
    operator.contains: ("__contains__",),
    **dict.fromkeys((ops.truth, bool, operator.not_), ("__bool__", "__len__")),
}


def asks_items(look: Look, f: Any, k: int, types: Sequence[T]) -> bool:
    """Does f ask the k-th argument, an object of a class derived from a container, only for its items?"""
    cls = types[k].cls  # type: ignore[attr-defined]
    if k == 0 and is_of_base(f, cls):
        return True
    if uses_up(f, types) == k or (f in _TAKE_ITEMS and k in _TAKE_ITEMS[f]):
        return f is not operator.iadd or look(cls, "__radd__") is MISSING  # which a list leaves it to
    if f is zip or (f is map and k > 0):
        return True
    if f in BINARY and len(types) == 2:
        return all(_leaves(look, t, BINARY[f]) for t in types)
    names = _ASKED_OF_ITEMS.get(f) or ((SPECIAL[f],) if f in SPECIAL and f is not next else ())
    if k > 0 or not names:
        return False
    found = [d for name in names if (d := look(cls, name)) is not MISSING]
    return bool(found) and all(is_of_base(d, cls) for d in found)


def _leaves(look: Look, t: T, names: Sequence[str]) -> bool:
    """Is an operand asked in C, by none of these methods: a container, one of a class that has it, a number?"""
    if isinstance(t, Obj):
        return t.items is not None and not any(is_function(look(t.cls, name)) for name in names)
    return is_scalar(t) or (isinstance(t, (Lst, Dct, Tup)) and t.cls in (list, tuple, dict, OrderedDict))
