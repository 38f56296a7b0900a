"""CPython 3.11: what differs from the common table."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from mooncake_py.frontend import common
from mooncake_py.frontend.common import call, jump_if, jump_if_none
from mooncake_py.frontend.decode import Handler, Version
from mooncake_py.frontend.patterns import nop, pop, popn, refused, takes
from mooncake_py.frontend.stack import NULL, Marker, Super
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator

_CLASSDEREF = Const(ops.classderef)


# -- shared with 3.12 -------------------------------------------------------------------------------------


def load_global(ev: Evaluator, arg: int) -> None:
    if arg & 1:
        ev.stack.append(NULL)
    ev.stack.append(common.load_global(ev, ev.names[arg >> 1]))


def kw_names(ev: Evaluator, arg: int) -> None:
    ev.keywords = ev.code.co_consts[arg]


def called(ev: Evaluator, arg: int) -> tuple[Operand, tuple[Any, ...]]:
    """Pop the operands of CALL: NULL and a callable below the arguments, or a callable and its first argument."""
    fn, *args = popn(ev, arg + 2)
    if isinstance(fn, Marker):
        fn, *args = args
    return fn, tuple(args)


def format_value(ev: Evaluator, arg: int) -> None:
    spec = pop(ev) if arg & 4 else common.EMPTY
    common.format_value(ev, pop(ev), spec, arg & 3)


def make_function(ev: Evaluator, arg: int) -> None:
    code = pop(ev)
    common.make_function(ev, code, {bit: pop(ev) for bit in (8, 4, 2, 1) if arg & bit})


# -- 3.11 only --------------------------------------------------------------------------------------------


def _attribute(ev: Evaluator, arg: int, method: bool) -> None:
    obj = pop(ev)
    if isinstance(obj, Super):
        value = ev.emit(common.LOAD_SUPER, (obj.super_type, obj.cls, obj.obj, ev.names[arg]))
    else:
        value = ev.emit(common.GETATTR, (obj, ev.names[arg]))
    if method:
        ev.stack.append(NULL)
    ev.stack.append(value)


def _load_attr(ev: Evaluator, arg: int) -> None:
    _attribute(ev, arg, method=False)


def _load_method(ev: Evaluator, arg: int) -> None:
    _attribute(ev, arg, method=True)


def _call(ev: Evaluator, arg: int) -> None:
    fn, args = called(ev, arg)
    if fn in ev.supers and not ev.keywords and (ev.next_is("LOAD_ATTR") or ev.next_is("LOAD_METHOD")):
        # later versions have one instruction for `super(...).name`
        if not args and common.finds_super(ev):
            args = common.super_arguments(ev)
        if len(args) == 2:
            ev.stack.append(Super(fn, *args))
            return
    call(ev, fn, args)


def _import_star(ev: Evaluator, arg: int) -> None:
    ev.emit(common.IMPORT_STAR, (pop(ev),))


def _load_classderef(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(_CLASSDEREF, (ev.load_raw(arg), Const(ev.locals[arg]))))


def _compare_op(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(common.COMPARE[arg], popn(ev, 2)))


def _jump_or_pop(taken: bool) -> Handler:
    def handler(ev: Evaluator, arg: int) -> None:
        value = pop(ev)
        ev.branch(ev.truth(value), taken, kept=value)

    return handler


def _for_iter(ev: Evaluator, arg: int) -> None:
    ev.for_next(done=ev.stack[:-1])


def _yield_from(ev: Evaluator, arg: int) -> None:
    result = common.yield_from(ev)
    ev.stack[-2:] = [result]
    ev.jump()


VERSION = Version(
    handlers={
        **common.HANDLERS,
        "PRECALL": nop,
        "KW_NAMES": kw_names,
        "CALL": _call,
        "LOAD_GLOBAL": load_global,
        "LOAD_ATTR": _load_attr,
        "LOAD_METHOD": _load_method,
        "LOAD_CLOSURE": common.load_closure,
        "LOAD_CLASSDEREF": _load_classderef,
        "COMPARE_OP": _compare_op,
        "UNARY_POSITIVE": takes(operator.pos, 1),
        "LIST_TO_TUPLE": takes(ops.list_to_tuple, 1),
        "IMPORT_STAR": _import_star,
        "FORMAT_VALUE": format_value,
        "MAKE_FUNCTION": make_function,
        "FOR_ITER": _for_iter,
        "SEND": _yield_from,
        "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
        "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True),
        **dict.fromkeys(("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE"), jump_if(False)),
        **dict.fromkeys(("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE"), jump_if(True)),
        **dict.fromkeys(("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE"), jump_if_none(True)),
        **dict.fromkeys(("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE"), jump_if_none(False)),
        "PRINT_EXPR": refused("an interactive statement"),
        "PREP_RERAISE_STAR": lambda ev, arg: common.prep_reraise_star(ev),
        "ASYNC_GEN_WRAP": refused("async generator"),
    },
    effects={
        "PRECALL": lambda arg: 0,  # `dis` splits the effect of a call between the two
        "CALL": lambda arg: -arg - 1,
        "RETURN_GENERATOR": lambda arg: 1,  # popped by the instruction that follows
    },
)
