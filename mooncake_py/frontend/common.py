"""What instructions mean that are the same on every supported Python: name -> handler on the evaluator's stack.

`py311`, `py312` and `py313` start from `HANDLERS` and hold what differs.
"""

from __future__ import annotations

import operator
from types import CodeType
from typing import TYPE_CHECKING, Any

from mooncake_py.exception_groups import exception_of
from mooncake_py.frontend.decode import Handler
from mooncake_py.frontend.patterns import (
    adds,
    builds,
    deletes_name,
    loads_name,
    nop,
    peeks,
    pop,
    popn,
    refused,
    stores_name,
    takes,
)
from mooncake_py.frontend.ssa import UNBOUND
from mooncake_py.frontend.stack import NONE, NULL, Converted, Marker
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator

GETATTR = Const(getattr)
GETITEM = Const(operator.getitem)
SETITEM = Const(operator.setitem)
SLICE = Const(slice)
IS = Const(operator.is_)
NOT = Const(operator.not_)
UNPACK = Const(ops.unpack)
UNPACK_EX = Const(ops.unpack_ex)
CELL_GET = Const(ops.cell_get)
EXCEPTION_OF = Const(exception_of)
LOAD_GLOBAL = Const(ops.load_global)
CALL_EX = Const(ops.call_ex)
FORMAT_VALUE = Const(ops.format_value)
LOAD_SPECIAL = Const(ops.load_special)
YIELD_FROM = Const(ops.yield_from)
LOAD_SUPER = Const(ops.load_super)
BUILD_MAP = Const(ops.build_map)
IMPORT_STAR = Const(ops.import_star)
LIST_TO_TUPLE = Const(ops.list_to_tuple)
POS = Const(operator.pos)
EMPTY = Const("")

_BINARY = "add and_ floordiv lshift matmul mul mod or_ pow rshift sub truediv xor"
_INPLACE = "iadd iand ifloordiv ilshift imatmul imul imod ior ipow irshift isub itruediv ixor"
BINARY = [Const(getattr(operator, name)) for name in f"{_BINARY} {_INPLACE}".split()]
"""By the argument of BINARY_OP."""
COMPARE = [Const(getattr(operator, name)) for name in ["lt", "le", "eq", "ne", "gt", "ge"]]
"""By the index in `dis.cmp_op`."""


# -- stack and locals -------------------------------------------------------------------------------------


def pop_top(ev: Evaluator, arg: int) -> None:
    ev.stack.pop()


def copy(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.stack[-arg])


def swap(ev: Evaluator, arg: int) -> None:
    stack = ev.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


def push_null(ev: Evaluator, arg: int) -> None:
    ev.stack.append(NULL)


def load_const(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.consts[arg])


def load_fast(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.load(arg))


def store_fast(ev: Evaluator, arg: int) -> None:
    ev.store(arg, pop(ev))


def delete_fast(ev: Evaluator, arg: int) -> None:
    ev.load(arg)
    ev.block.defs[arg] = UNBOUND


def make_cell(ev: Evaluator, arg: int) -> None:
    ev.store(arg, ev.emit(_MAKE_CELL, (ev.load_raw(arg),)))


def load_closure(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.load_raw(arg))


def load_deref(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(CELL_GET, (ev.load_raw(arg), Const(ev.locals[arg]))))


def store_deref(ev: Evaluator, arg: int) -> None:
    ev.emit(_CELL_SET, (ev.load_raw(arg), pop(ev)))


def delete_deref(ev: Evaluator, arg: int) -> None:
    ev.emit(_CELL_DELETE, (ev.load_raw(arg), Const(ev.locals[arg])))


_MAKE_CELL, _CELL_SET, _CELL_DELETE = Const(ops.make_cell), Const(ops.cell_set), Const(ops.cell_delete)


# -- names and attributes ---------------------------------------------------------------------------------


def load_global(ev: Evaluator, name: Const) -> Operand:
    value = ev.emit(LOAD_GLOBAL, (name,))
    if name.value == "super":
        ev.supers.add(value)
    return value


def load_attr(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(GETATTR, (pop(ev), ev.names[arg])))


def store_attr(ev: Evaluator, arg: int) -> None:
    value, obj = popn(ev, 2)
    ev.emit(_SETATTR, (obj, ev.names[arg], value))


def delete_attr(ev: Evaluator, arg: int) -> None:
    ev.emit(_DELATTR, (pop(ev), ev.names[arg]))


def store_subscr(ev: Evaluator, arg: int) -> None:
    value, obj, key = popn(ev, 3)
    ev.emit(SETITEM, (obj, key, value))


def delete_subscr(ev: Evaluator, arg: int) -> None:
    ev.emit(_DELITEM, popn(ev, 2))


def setup_annotations(ev: Evaluator, arg: int) -> None:
    ev.emit(_SETUP_ANNOTATIONS, ())


_SETUP_ANNOTATIONS = Const(ops.setup_annotations)


def import_name(ev: Evaluator, arg: int) -> None:
    level, names = popn(ev, 2)
    ev.stack.append(ev.emit(_IMPORT_NAME, (ev.names[arg], names, level)))


def import_from(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(_IMPORT_FROM, (ev.stack[-1], ev.names[arg])))  # type: ignore[arg-type]


_SETATTR, _DELATTR, _DELITEM = Const(setattr), Const(delattr), Const(operator.delitem)
_IMPORT_NAME, _IMPORT_FROM = Const(ops.import_name), Const(ops.import_from)


# -- operators --------------------------------------------------------------------------------------------


def binary_op(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(BINARY[arg], popn(ev, 2)))


def as_bool(ev: Evaluator, value: Operand) -> None:
    ev.bools.add(value)
    ev.stack.append(value)


def unary_not(ev: Evaluator, arg: int) -> None:
    as_bool(ev, ev.emit(NOT, (pop(ev),)))


def is_op(ev: Evaluator, arg: int) -> None:
    as_bool(ev, ev.emit(_IS_NOT if arg else IS, popn(ev, 2)))


def contains_op(ev: Evaluator, arg: int) -> None:
    item, container = popn(ev, 2)
    found = ev.emit(_CONTAINS, (container, item))
    as_bool(ev, ev.emit(NOT, (found,)) if arg else found)


def build_slice(ev: Evaluator, arg: int) -> None:
    parts = popn(ev, arg)
    ev.stack.append(ev.emit(SLICE, parts if arg == 3 else (*parts, NONE)))


_IS_NOT, _CONTAINS = Const(operator.is_not), Const(operator.contains)


# -- containers and strings -------------------------------------------------------------------------------


def build_const_key_map(ev: Evaluator, arg: int) -> None:
    *values, keys = popn(ev, arg + 1)
    pairs: list[Operand] = []
    for key, value in zip(keys.value, values, strict=True):
        pairs += (Const(key), value)
    ev.stack.append(ev.emit(BUILD_MAP, tuple(pairs)))


_extend = adds(ops.list_extend)
MOST_SPELT_OUT = 16  # items


def list_extend(ev: Evaluator, arg: int) -> None:
    """Compilers put the items of a display of constants in a tuple; a short one is a list of these items."""
    items, last = ev.stack[-1], ev.block.stmts[-1] if ev.block.stmts else None
    if (
        arg == 1
        and type(items) is Const
        and type(items.value) is tuple
        and len(items.value) <= MOST_SPELT_OUT
        and last is not None
        and last[0] is ev.stack[-2]
        and type(last[1]) is Const
        and last[1].value is ops.build_list
        and not last[2]
    ):
        pop(ev)
        last[2] = tuple(map(Const, items.value))
    else:
        _extend(ev, arg)


def build_string(ev: Evaluator, arg: int) -> None:
    parts = popn(ev, arg)  # some compilers put an empty string last
    ev.stack.append(ev.emit(_BUILD_STRING, tuple([p for p in parts if type(p) is not Const or p.value != ""])))


_BUILD_STRING = Const(ops.build_string)


def unpack_sequence(ev: Evaluator, arg: int) -> None:
    _take_apart(ev, ev.emit(UNPACK, (pop(ev), Const(arg))), arg)


def unpack_ex(ev: Evaluator, arg: int) -> None:
    before, after = arg & 0xFF, arg >> 8
    _take_apart(ev, ev.emit(UNPACK_EX, (pop(ev), Const(before), Const(after))), before + 1 + after)


def _take_apart(ev: Evaluator, items: Operand, n: int) -> None:
    values = [ev.emit(GETITEM, (items, Const(k))) for k in range(n)]
    ev.stack.extend(reversed(values))


def format_value(ev: Evaluator, value: Operand | Converted, spec: Operand, conversion: int = 0) -> None:
    if isinstance(value, Converted):
        conversion = value.conversion
        value = value.value
    ev.stack.append(ev.emit(FORMAT_VALUE, (value, spec, Const(conversion))))


# -- functions and calls ----------------------------------------------------------------------------------


def call(ev: Evaluator, fn: Operand, args: tuple[Any, ...]) -> None:
    """Push the result of a call; the last args are keywords where `ev.keywords` says so."""
    names = ev.keywords
    if names:
        ev.keywords = ()
        cut = len(args) - len(names)
        ev.stack.append(ev.emit(fn, args[:cut], tuple(zip(names, args[cut:], strict=True))))
        return
    if not args and fn in ev.supers and finds_super(ev):
        args = super_arguments(ev)
    ev.stack.append(ev.emit(fn, args))


def finds_super(ev: Evaluator) -> bool:
    """Is this the code of a method, in which `super()` works?"""
    return "__class__" in ev.code.co_freevars and ev.code.co_argcount > 0


def super_arguments(ev: Evaluator) -> tuple[Operand, Operand]:
    """What `super()` finds in its frame: the class being defined and the first argument."""
    cell = ev.load_raw(ev.locals.index("__class__"))
    cls = ev.emit(CELL_GET, (cell, Const("__class__")))
    first = ev.locals[0]
    if first in ev.code.co_cellvars:
        return cls, ev.emit(CELL_GET, (ev.load_raw(0), Const(first)))
    return cls, ev.load(0)


def call_function_ex(ev: Evaluator, arg: int) -> None:
    """Callable and NULL stand below the arguments, in an order that depends on the version."""
    kwargs = pop(ev) if arg & 1 else NONE
    a, b, args = popn(ev, 3)
    ev.stack.append(ev.emit(CALL_EX, (b if isinstance(a, Marker) else a, args, kwargs)))


def make_function(ev: Evaluator, code: Operand, parts: dict[int, Operand]) -> None:
    """`parts` by the bits of MAKE_FUNCTION: 1 defaults, 2 keyword defaults, 4 annotations, 8 closure."""
    assert isinstance(code, Const) and isinstance(code.value, CodeType)
    ev.stack.append(ev.emit(_MAKE_FUNCTION, (code, *(parts.get(bit, NONE) for bit in (1, 2, 4, 8)))))


_MAKE_FUNCTION = Const(ops.make_function)


# -- control ----------------------------------------------------------------------------------------------


def jump(ev: Evaluator, arg: int) -> None:
    ev.jump()


def jump_if(taken: bool) -> Handler:
    def handler(ev: Evaluator, arg: int) -> None:
        ev.branch(ev.truth(pop(ev)), taken)

    return handler


def jump_if_none(taken: bool) -> Handler:
    """Jump where `x is None` is `taken`."""

    def handler(ev: Evaluator, arg: int) -> None:
        ev.branch(ev.emit(IS, (pop(ev), NONE)), taken)

    return handler


def return_value(ev: Evaluator, arg: int) -> None:
    ev.ret(pop(ev))


def return_generator(ev: Evaluator, arg: int) -> None:
    ev.stack.append(NONE)


def raise_varargs(ev: Evaluator, arg: int) -> None:
    parts = [ev.emit(EXCEPTION_OF, (v,)) if ev.may_be_class(v) else v for v in popn(ev, arg)]
    ev.raise_(parts[0] if arg else None, parts[1] if arg == 2 else None)


def yield_from(ev: Evaluator) -> Operand:
    """What SEND with the loop behind it comes to, given the iterator and the first value sent (None)."""
    iterator = ev.stack[-2]
    assert not isinstance(iterator, Marker)
    return ev.emit(YIELD_FROM, (iterator,))


# -- exceptions and with ----------------------------------------------------------------------------------


def push_exc_info(ev: Evaluator, arg: int) -> None:
    exc = pop(ev)
    ev.exceptions.add(exc)
    ev.stack += (ev.emit(_PUSH_EXC_INFO, (exc,)), exc)


def pop_except(ev: Evaluator, arg: int) -> None:
    ev.emit(_POP_EXCEPT, (pop(ev),))


def check_exc_match(ev: Evaluator, arg: int) -> None:
    kinds = pop(ev)
    as_bool(ev, ev.emit(_EXC_MATCH, (ev.stack[-1], kinds)))  # type: ignore[arg-type]


def check_eg_match(ev: Evaluator, arg: int) -> None:
    pair = ev.emit(_EXC_GROUP_MATCH, popn(ev, 2))
    ev.stack += [ev.emit(_PART_OF_GROUP, (ev.emit(GETITEM, (pair, Const(k))),)) for k in range(2)]


def prep_reraise_star(ev: Evaluator) -> None:
    ev.stack.append(ev.emit(_RAISED_AGAIN, popn(ev, 2)))


def reraise(ev: Evaluator, arg: int) -> None:
    ev.raise_(pop(ev), None, reraise=True)


def before_with(ev: Evaluator, arg: int) -> None:
    manager = pop(ev)
    enter = ev.emit(LOAD_SPECIAL, (manager, Const("__enter__")))
    ev.stack.append(ev.emit(LOAD_SPECIAL, (manager, Const("__exit__"))))
    ev.stack.append(ev.emit(enter, ()))


def with_except_start(ev: Evaluator, arg: int) -> None:
    exit_fn, _, _, exc = ev.stack[-4:]
    assert not isinstance(exit_fn, Marker) and not isinstance(exc, Marker)
    kind = ev.emit(_TYPE, (exc,))
    traceback = ev.emit(GETATTR, (exc, Const("__traceback__")))
    ev.stack.append(ev.emit(exit_fn, (kind, exc, traceback)))


_PUSH_EXC_INFO, _POP_EXCEPT = Const(ops.push_exc_info), Const(ops.pop_except)
_EXC_MATCH, _TYPE = Const(ops.exc_match), Const(type)
_EXC_GROUP_MATCH, _PART_OF_GROUP = Const(ops.exc_group_match), Const(ops.part_of_group)
_RAISED_AGAIN = Const(ops.raised_again)


# -- patterns ---------------------------------------------------------------------------------------------


def match_class(ev: Evaluator, arg: int) -> None:
    subject, cls, names = popn(ev, 3)
    ev.stack.append(ev.emit(_MATCH_CLASS, (subject, cls, Const(arg), names)))


_MATCH_CLASS = Const(ops.match_class)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("CACHE", "NOP", "RESUME", "EXTENDED_ARG", "COPY_FREE_VARS"), nop),
    "POP_TOP": pop_top,
    "COPY": copy,
    "SWAP": swap,
    "PUSH_NULL": push_null,
    "LOAD_CONST": load_const,
    "LOAD_FAST": load_fast,
    "STORE_FAST": store_fast,
    "DELETE_FAST": delete_fast,
    "MAKE_CELL": make_cell,
    "LOAD_DEREF": load_deref,
    "STORE_DEREF": store_deref,
    "DELETE_DEREF": delete_deref,
    "STORE_GLOBAL": stores_name(ops.store_global),
    "DELETE_GLOBAL": deletes_name(ops.delete_global),
    "LOAD_NAME": loads_name(ops.load_name),
    "STORE_NAME": stores_name(ops.store_name),
    "DELETE_NAME": deletes_name(ops.delete_name),
    "LOAD_BUILD_CLASS": takes(ops.load_build_class, 0),
    "LOAD_ASSERTION_ERROR": takes(ops.load_assertion_error, 0),
    "STORE_ATTR": store_attr,
    "DELETE_ATTR": delete_attr,
    "BINARY_SUBSCR": takes(operator.getitem, 2),
    "STORE_SUBSCR": store_subscr,
    "DELETE_SUBSCR": delete_subscr,
    "IMPORT_NAME": import_name,
    "IMPORT_FROM": import_from,
    "BINARY_OP": binary_op,
    "UNARY_NEGATIVE": takes(operator.neg, 1),
    "UNARY_INVERT": takes(operator.invert, 1),
    "UNARY_NOT": unary_not,
    "IS_OP": is_op,
    "CONTAINS_OP": contains_op,
    "BUILD_TUPLE": builds(ops.build_tuple),
    "BUILD_LIST": builds(ops.build_list),
    "BUILD_SET": builds(ops.build_set),
    "BUILD_STRING": build_string,
    "BUILD_MAP": builds(ops.build_map, per_item=2),
    "BUILD_CONST_KEY_MAP": build_const_key_map,
    "BUILD_SLICE": build_slice,
    "LIST_APPEND": adds(ops.list_append),
    "LIST_EXTEND": list_extend,
    "SET_ADD": adds(ops.set_add),
    "SET_UPDATE": adds(ops.set_update),
    "MAP_ADD": adds(ops.map_add, 2),
    "DICT_UPDATE": adds(ops.dict_update),
    "DICT_MERGE": adds(ops.dict_merge),
    "UNPACK_SEQUENCE": unpack_sequence,
    "UNPACK_EX": unpack_ex,
    "CALL_FUNCTION_EX": call_function_ex,
    "GET_ITER": takes(iter, 1),
    "GET_LEN": peeks(len, 1),
    "GET_YIELD_FROM_ITER": takes(ops.get_yield_from_iter, 1),
    "YIELD_VALUE": takes(ops.yield_, 1),
    "RETURN_VALUE": return_value,
    "RETURN_GENERATOR": return_generator,
    "RAISE_VARARGS": raise_varargs,
    "RERAISE": reraise,
    "PUSH_EXC_INFO": push_exc_info,
    "POP_EXCEPT": pop_except,
    "CHECK_EXC_MATCH": check_exc_match,
    "BEFORE_WITH": before_with,
    "WITH_EXCEPT_START": with_except_start,
    "MATCH_CLASS": match_class,
    "MATCH_MAPPING": peeks(ops.match_mapping, 1),
    "MATCH_SEQUENCE": peeks(ops.match_sequence, 1),
    "MATCH_KEYS": peeks(ops.match_keys, 2),
    "SETUP_ANNOTATIONS": setup_annotations,
    **dict.fromkeys(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"), jump),
    "CHECK_EG_MATCH": check_eg_match,
    "GET_AWAITABLE": refused("await"),
    **dict.fromkeys(("GET_AITER", "GET_ANEXT", "END_ASYNC_FOR"), refused("async for")),
    "BEFORE_ASYNC_WITH": refused("async with"),
}
