"""The types of what dicts hold, of what is read from them, and of what is put into them."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict
from dataclasses import replace
from typing import Any

from mooncake_py.infer.parts import keys_of
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.types import BOT, NONE, Dct, Inst, Known, Lst, SetOf, T, Top, Tup, dict_of, join, widen
from mooncake_py.ir import ops
from mooncake_py.registry import element_effects, infer_table, pure
from mooncake_rules.containers.lists import elements

Types = tuple[T, ...]
_f: Any
_cls: Any  # what a table registers, one at a time


def _display(args: Types, kwargs: dict[str, T]) -> T:
    key: T = BOT
    items = []
    for k, t in zip(args[::2], args[1::2], strict=True):
        key = join(key, widen(k))
        items.append((k.value if isinstance(k, Known) else None, widen(t)))
    return dict_of(dict, key, items, any(t.active for t in args))


def _read(args: Types, kwargs: dict[str, T]) -> T | None:
    return args[0].item(args[1]) if isinstance(args[0], Dct) and len(args) == 2 else None


def _read_or(args: Types, kwargs: dict[str, T]) -> T | None:
    """`d.get(k, default)` and its like."""
    if not isinstance(args[0], Dct) or not 2 <= len(args) <= 3 or kwargs:
        return None
    if len(args) == 3 and isinstance(args[2], Known) and args[2].value is ops.UNBOUND:
        return None  # a variable that is unbound has any type, a value that says so has not
    return join(args[0].item(args[1]), widen(args[2]) if len(args) == 3 else NONE)


def _popped(args: Types, kwargs: dict[str, T]) -> T | None:
    return _read(args, kwargs) if len(args) == 2 else _read_or(args, kwargs)


def _copied(args: Types, kwargs: dict[str, T]) -> T | None:
    if kwargs or len(args) > 1:
        return None
    if not args:
        return Dct(dict, BOT, (), BOT)
    return replace(args[0], cls=dict, factory=BOT) if isinstance(args[0], Dct) else None


def _with_factory(args: Types, kwargs: dict[str, T]) -> T | None:
    """`defaultdict(f)` and `defaultdict(f, d)`."""
    d = args[1] if len(args) == 2 else Dct(dict, BOT, (), BOT)
    if kwargs or len(args) > 2 or not isinstance(d, Dct):
        return None
    return replace(d, cls=defaultdict, factory=args[0] if args else NONE)


def _ordered(args: Types, kwargs: dict[str, T]) -> T | None:
    d = args[0] if args else Dct(dict, BOT, (), BOT)
    return replace(d, cls=OrderedDict, factory=BOT) if isinstance(d, Dct) and not kwargs else None


def _counted(args: Types, kwargs: dict[str, T]) -> T | None:
    """What is counted is not active; of active values this is a mapping."""
    if not args and not kwargs:
        return Dct(Counter, BOT, (), BOT)
    if len(args) > 1 or any(t.active for t in (*args, *kwargs.values())):
        return None
    if not args:
        return dict_of(Counter, Inst(str), [(k, widen(t)) for k, t in kwargs.items()], False)
    if kwargs or isinstance(args[0], Top):
        return None
    if isinstance(args[0], Dct):
        return replace(args[0], cls=Counter, factory=BOT)
    return Dct(Counter, elements(args[0]), (), Inst(int))


def _united(args: Types, kwargs: dict[str, T]) -> T | None:
    return join(*args) if all(isinstance(t, Dct) for t in args) else None


def _put(types: Any) -> T:
    """A dict of what `d[k] = x` puts into d; what goes into a list."""
    d, k, x = types[:3] if len(types) > 2 else (*types, NONE)
    if not isinstance(d, Dct):
        return elements(x) if class_of(widen(k)) is slice else widen(x)
    return dict_of(d.cls, widen(k), [(k.value if isinstance(k, Known) else None, widen(x))], k.active or x.active)


def _updated(types: Any) -> T:
    if isinstance(types[0], SetOf):
        return elements(types[1])
    return types[1] if isinstance(types[1], Dct) else Top(any(t.active for t in types))


infer_table[ops.build_map] = _display
infer_table[dict.__getitem__] = _read
for _f in (dict.get, dict.setdefault, OrderedDict.setdefault):
    infer_table[_f] = _read_or
for _f in (dict.pop, OrderedDict.pop):
    infer_table[_f] = _popped
for _f in (dict, dict.copy):
    infer_table[_f] = _copied
for _f in (OrderedDict.copy, defaultdict.copy):
    infer_table[_f] = lambda args, kwargs: args[0] if isinstance(args[0], Dct) else None
infer_table[defaultdict] = _with_factory
infer_table[OrderedDict] = _ordered
infer_table[Counter] = _counted
pure.add(Counter)
for _f in (operator.or_, operator.ior):
    infer_table[_f] = _united
for _cls in (dict, OrderedDict):
    infer_table[_cls.values] = lambda args, kwargs: (
        Lst(args[0].values(), args[0].act) if isinstance(args[0], Dct) else None
    )
    infer_table[_cls.items] = lambda args, kwargs: (
        Lst(Tup((keys_of(args[0]), args[0].values())), args[0].act) if isinstance(args[0], Dct) else None
    )
    infer_table[_cls.popitem] = lambda args, kwargs: (
        Tup((keys_of(args[0]), args[0].values())) if isinstance(args[0], Dct) else None
    )
for _f in (
    *(ops.map_add, dict.__setitem__, dict.update, ops.dict_update, ops.dict_merge, dict.clear, dict.__delitem__),
    *(OrderedDict.__setitem__, OrderedDict.clear, OrderedDict.__delitem__, OrderedDict.move_to_end),
):
    infer_table[_f] = lambda args, kwargs: Known(None)
for _f in (
    *(ops.map_add, dict.__setitem__, dict.setdefault, operator.setitem),
    *(OrderedDict.__setitem__, OrderedDict.setdefault),
):
    element_effects[_f] = _put
for _f in (dict.update, ops.dict_update, ops.dict_merge, operator.ior):
    element_effects[_f] = _updated
for _f in (
    *(dict.pop, dict.popitem, dict.clear, dict.__delitem__, OrderedDict.pop, OrderedDict.popitem),
    *(OrderedDict.clear, OrderedDict.__delitem__, OrderedDict.move_to_end),
):
    element_effects[_f] = lambda types: BOT
