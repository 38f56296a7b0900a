"""Displays that CPython's compiler writes in parts, as one.

It makes a list of more than thirty items, and a dict of more than fifteen, empty, and then puts in one item after the
other. Nobody has it before the last one is there. Calls with so many arguments are given such a list or dict.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace

from mooncake_py.ir import ops
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand, Var


def whole_displays(fn: Function) -> Function:
    """The function with every display that is filled where it is made as one statement."""
    repeated = fn.calls(ops.call_ex) and fn.calls(operator.mul)
    if not repeated and not fn.calls(ops.list_append, ops.map_add):
        return fn
    counts = use_counts(fn)
    fn = replace(fn, blocks=tuple([_whole(b, counts) for b in fn.blocks]))
    counts = use_counts(fn)
    return replace(fn, blocks=tuple([_with_calls(b, counts) for b in fn.blocks]))


@dataclass(slots=True)
class _Display:
    """A display that nothing but what fills it has had so far."""

    made: Call
    items: tuple[Operand, ...]
    parts: list[Call] = field(default_factory=list)


def _whole(b: CFGBlock, counts: dict[Var, int]) -> CFGBlock:
    """The block with the items of a display given to it at once, where the last of them was put in."""
    displays: dict[Operand, _Display] = {}
    filling: dict[Operand, _Display] = {}
    gone: set[Call] = set()
    for s in b.stmts:
        if is_const(s.fn, ops.build_list) or is_const(s.fn, ops.build_map):
            displays[s.out] = filling[s.out] = _Display(s, s.args)
        display = filling.get(s.args[0]) if s.args else None
        if display is not None and _puts_in(s):
            display.items += s.args[1:]
            display.parts.append(s)
            had = s.args[1:]
        elif display is not None and (other := _taken_over(s, display, filling, counts)) is not None:
            display.items += other.items
            display.parts.append(s)
            gone |= {other.made, *other.parts}
            del displays[other.made.out]
            had = s.args[1:]
        else:
            had = s.operands()
        for v in had:
            filling.pop(v, None)
    whole = [d for d in displays.values() if d.parts]
    last = {d.parts[-1]: replace(d.made, args=d.items) for d in whole}
    gone |= {s for d in whole for s in (d.made, *d.parts)}
    return replace(b, stmts=tuple([last.get(s, s) for s in b.stmts if s in last or s not in gone]))


def _puts_in(s: Call) -> bool:
    """Does it put an item into a display, and ask nothing of the user's for that, as a key may?"""
    return is_const(s.fn, ops.list_append) or (is_const(s.fn, ops.map_add) and isinstance(s.args[1], Const))


def _taken_over(
    s: Call, display: _Display, filling: dict[Operand, _Display], counts: dict[Var, int]
) -> _Display | None:
    """The dict that is added to this one and is gone then: the compiler makes large ones of several."""
    if not (is_const(s.fn, ops.dict_update) or is_const(s.fn, ops.dict_merge)):
        return None
    other = filling.get(s.args[1])
    if other is None or not is_const(other.made.fn, ops.build_map) or counts[other.made.out] != len(other.parts) + 1:
        return None
    keys = [k.value if isinstance(k, Const) else None for d in (display, other) for k in d.items[::2]]
    return other if len({k for k in keys if type(k) is str}) == len(keys) else None


def _with_calls(b: CFGBlock, counts: dict[Var, int]) -> CFGBlock:
    """The block with calls that are given displays which nothing else has as calls with their items."""
    made: dict[Operand, Call] = {s.out: s for s in b.stmts if counts.get(s.out) == 1}
    gone: set[Call] = set()
    stmts: list[Call] = []
    for s in b.stmts:
        if is_const(s.fn, ops.call_ex):
            f, positional, keywords = s.args
            args, names = _given(positional, made), _given_by_name(keywords, made)
            if args is not None and names is not None and (args[1] or names[1]):
                gone |= {*args[1], *names[1]}
                s = Call(s.out, f, args[0], names[0], s.pos)
        stmts.append(s)
    return replace(b, stmts=tuple([s for s in stmts if s not in gone])) if gone else b


def _given(v: Operand, made: dict[Operand, Call]) -> tuple[tuple[Operand, ...], list[Call]] | None:
    """The positional arguments in a tuple that is made for a call, and the statements that make it."""
    if isinstance(v, Const):
        return ((), []) if v.value == () else None
    tuple_ = made.get(v)
    if tuple_ is not None and is_const(tuple_.fn, ops.build_tuple):
        return tuple_.args, [tuple_]
    if tuple_ is not None and is_const(tuple_.fn, operator.mul):
        return _repeated(tuple_, made)
    if tuple_ is None or not is_const(tuple_.fn, ops.list_to_tuple):
        return None
    list_ = made.get(tuple_.args[0])
    return (list_.args, [list_, tuple_]) if list_ is not None and is_const(list_.fn, ops.build_list) else None


def _repeated(product: Call, made: dict[Operand, Call]) -> tuple[tuple[Operand, ...], list[Call]] | None:
    """The items of a display that is repeated a number of times that is written down."""
    display, times = made.get(product.args[0]), product.args[1]
    if display is None or not isinstance(times, Const) or type(times.value) is not int:
        return None
    if not is_const(display.fn, ops.build_list) and not is_const(display.fn, ops.build_tuple):
        return None
    few = 0 < len(display.args) * times.value <= MOST_REPEATED
    return (display.args * times.value, [display, product]) if few else None


MOST_REPEATED = 32


def _given_by_name(v: Operand, made: dict[Operand, Call]) -> tuple[tuple[tuple[str, Operand], ...], list[Call]] | None:
    """The arguments by name in a dict that is made for a call, and the statement that makes it."""
    if isinstance(v, Const):
        return ((), []) if v.value is None else None
    dict_ = made.get(v)
    if dict_ is None or not is_const(dict_.fn, ops.build_map):
        return None
    names = [k.value for k in dict_.args[::2] if isinstance(k, Const) and type(k.value) is str]
    if len(set(names)) < len(dict_.args) // 2:
        return None
    return tuple(zip(names, dict_.args[1::2], strict=True)), [dict_]
