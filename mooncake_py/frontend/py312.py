"""CPython 3.12: what differs from the common table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mooncake_py.frontend import common, py311
from mooncake_py.frontend.common import call, jump_if, jump_if_none
from mooncake_py.frontend.decode import STOPITERATION_ERROR, Handler, Version
from mooncake_py.frontend.patterns import pop, popn
from mooncake_py.frontend.ssa import UNBOUND
from mooncake_py.frontend.stack import NONE, NULL, Slot
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator

_IMPORT_STAR, _POS, _LIST_TO_TUPLE = 2, 5, 6
_INTRINSICS_1 = {
    STOPITERATION_ERROR: "STOPITERATION_ERROR",
    7: "TYPEVAR",
    8: "PARAMSPEC",
    9: "TYPEVARTUPLE",
    10: "SUBSCRIPT_GENERIC",
    11: "TYPEALIAS",
}
_REFUSED_1 = {1: "an interactive statement", 4: "async generator"}
_INTRINSICS_2 = {
    2: "TYPEVAR_WITH_BOUND",
    3: "TYPEVAR_WITH_CONSTRAINTS",
    4: "SET_FUNCTION_TYPE_PARAMS",
    5: "SET_TYPEPARAM_DEFAULT",
}
_PREP_RERAISE_STAR = 1

_INTRINSIC = Const(ops.intrinsic)
_DICT_OR_DEREF = Const(ops.load_dict_or_deref)
_DICT_OR_GLOBAL = Const(ops.load_dict_or_global)
_CLASSDEREF = Const(ops.classderef)


# -- shared with 3.13 -------------------------------------------------------------------------------------


def load_fast_and_clear(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.load_raw(arg))
    ev.block.defs[arg] = UNBOUND


def load_locals(ev: Evaluator, arg: int) -> None:
    if not ev.next_is("LOAD_FROM_DICT_OR_DEREF"):
        ev.stack.append(ev.emit(_LOAD_LOCALS, ()))
    else:
        ev.stack.append(NULL)  # `classderef` finds the namespace itself


def load_from_dict_or_deref(ev: Evaluator, arg: int) -> None:
    namespace = pop(ev)
    place = (ev.load_raw(arg), Const(ev.locals[arg]))
    if namespace is NULL:
        ev.stack.append(ev.emit(_CLASSDEREF, place))
    else:
        ev.stack.append(ev.emit(_DICT_OR_DEREF, (namespace, *place)))


def load_from_dict_or_globals(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(_DICT_OR_GLOBAL, (pop(ev), ev.names[arg])))


def super_attr(ev: Evaluator, arg: int) -> Operand:
    return ev.emit(common.LOAD_SUPER, (*popn(ev, 3), ev.names[arg >> 2]))


def binary_slice(ev: Evaluator, arg: int) -> None:
    obj, start, stop = popn(ev, 3)
    ev.stack.append(ev.emit(common.GETITEM, (obj, ev.emit(common.SLICE, (start, stop, NONE)))))


def store_slice(ev: Evaluator, arg: int) -> None:
    value, obj, start, stop = popn(ev, 4)
    ev.emit(common.SETITEM, (obj, ev.emit(common.SLICE, (start, stop, NONE)), value))


def call_intrinsic_1(ev: Evaluator, arg: int) -> None:
    if arg in _REFUSED_1:
        ev.refuse(_REFUSED_1[arg])
    value = pop(ev)
    if arg == _IMPORT_STAR:
        ev.emit(common.IMPORT_STAR, (value,))
        ev.stack.append(NONE)
    elif arg == _LIST_TO_TUPLE:
        ev.stack.append(ev.emit(common.LIST_TO_TUPLE, (value,)))
    elif arg == _POS:
        ev.stack.append(ev.emit(common.POS, (value,)))
    else:
        ev.stack.append(ev.emit(_INTRINSIC, (Const(_INTRINSICS_1[arg]), value)))


def call_intrinsic_2(ev: Evaluator, arg: int) -> None:
    if arg == _PREP_RERAISE_STAR:
        common.prep_reraise_star(ev)
        return
    ev.stack.append(ev.emit(_INTRINSIC, (Const(_INTRINSICS_2[arg]), *popn(ev, 2))))


def for_iter(ev: Evaluator, arg: int) -> None:
    done: list[Slot] = [*ev.stack, NULL]  # a place for END_FOR to pop
    ev.for_next(done)


def end_for(ev: Evaluator, arg: int) -> None:
    popn(ev, 2)


def send(ev: Evaluator, arg: int) -> None:
    ev.stack[-1] = common.yield_from(ev)
    ev.jump()


def end_send(ev: Evaluator, arg: int) -> None:
    del ev.stack[-2]


def return_const(ev: Evaluator, arg: int) -> None:
    ev.ret(ev.consts[arg])


_LOAD_LOCALS = Const(ops.load_locals)


SHARED: dict[str, Handler] = {
    **common.HANDLERS,
    "LOAD_FAST_CHECK": common.load_fast,
    "LOAD_FAST_AND_CLEAR": load_fast_and_clear,
    "LOAD_LOCALS": load_locals,
    "LOAD_FROM_DICT_OR_DEREF": load_from_dict_or_deref,
    "LOAD_FROM_DICT_OR_GLOBALS": load_from_dict_or_globals,
    "BINARY_SLICE": binary_slice,
    "STORE_SLICE": store_slice,
    "CALL_INTRINSIC_1": call_intrinsic_1,
    "CALL_INTRINSIC_2": call_intrinsic_2,
    "FOR_ITER": for_iter,
    "SEND": send,
    "END_SEND": end_send,
    "RETURN_CONST": return_const,
    "POP_JUMP_IF_FALSE": jump_if(False),
    "POP_JUMP_IF_TRUE": jump_if(True),
    "POP_JUMP_IF_NONE": jump_if_none(True),
    "POP_JUMP_IF_NOT_NONE": jump_if_none(False),
}
"""What 3.12 brought and 3.13 kept."""


# -- 3.12 only --------------------------------------------------------------------------------------------


def _load_attr(ev: Evaluator, arg: int) -> None:
    value = ev.emit(common.GETATTR, (pop(ev), ev.names[arg >> 1]))
    if arg & 1:
        ev.stack.append(NULL)
    ev.stack.append(value)


def _load_super_attr(ev: Evaluator, arg: int) -> None:
    value = super_attr(ev, arg)
    if arg & 1:
        ev.stack.append(NULL)
    ev.stack.append(value)


def _call(ev: Evaluator, arg: int) -> None:
    call(ev, *py311.called(ev, arg))


def _compare_op(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(common.COMPARE[arg >> 4], popn(ev, 2)))


VERSION = Version(
    handlers={
        **SHARED,
        "KW_NAMES": py311.kw_names,
        "CALL": _call,
        "LOAD_GLOBAL": py311.load_global,
        "LOAD_ATTR": _load_attr,
        "LOAD_SUPER_ATTR": _load_super_attr,
        "LOAD_CLOSURE": common.load_closure,
        "COMPARE_OP": _compare_op,
        "FORMAT_VALUE": py311.format_value,
        "MAKE_FUNCTION": py311.make_function,
        "END_FOR": end_for,
    },
    effects={"RETURN_GENERATOR": lambda arg: 1},  # popped by the instruction that follows
)
