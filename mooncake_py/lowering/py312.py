"""Instruction sequences of CPython 3.12: what differs from 3.11."""

from __future__ import annotations

from bytecode.instr import Intrinsic1Op, Intrinsic2Op

from mooncake_py.lowering.py311 import (  # noqa: F401
    CLOSURE_BY_LOAD_FAST,
    NOT,
    NULL_FIRST,
    SUPERINSTRUCTIONS,
    TRUTH,
    Ins,
    binary,
    compare,
    compare_for_branch,
    format_value,
    make_function,
)

VERSION = (3, 12)
BACKWARD_CONDITIONAL_JUMPS = False
RETURN_CONST = True
TAKE_FAST = ("LOAD_FAST_AND_CLEAR",)
STOPITERATION_HANDLER = True
BRANCH_NEEDS_BOOL = False
POSITIVE: Ins = ("CALL_INTRINSIC_1", Intrinsic1Op.INTRINSIC_UNARY_POSITIVE, 0)
LIST_TO_TUPLE: Ins = ("CALL_INTRINSIC_1", Intrinsic1Op.INTRINSIC_LIST_TO_TUPLE, 0)
IMPORT_STAR: tuple[Ins, ...] = (("CALL_INTRINSIC_1", Intrinsic1Op.INTRINSIC_IMPORT_STAR, 0), ("POP_TOP", None, -1))
GETSLICE: tuple[Ins, ...] = (("BINARY_SLICE", None, -2),)
SETSLICE: tuple[Ins, ...] = (("STORE_SLICE", None, -4),)
FOR_DONE: tuple[Ins, ...] = (("END_FOR", None, 0),)
LOAD_LOCALS: tuple[Ins, ...] | None = (("LOAD_LOCALS", None, 1),)
# The argument is the depth of exception handlers: 1 would let `close` skip the handlers of this frame.
YIELD_FROM = (("YIELD_VALUE", 2), ("RESUME", 2))
SEND_DONE: tuple[Ins, ...] = (("END_SEND", None, -1),)
CLEANUP_THROW = True
YIELD: tuple[Ins, ...] = (("YIELD_VALUE", 2, 0), ("RESUME", 1, 0))
JUMPS = {
    "true": ("POP_JUMP_IF_TRUE", ""),
    "false": ("POP_JUMP_IF_FALSE", ""),
    "none": ("POP_JUMP_IF_NONE", ""),
    "not_none": ("POP_JUMP_IF_NOT_NONE", ""),
}


def attribute(name: str) -> Ins:
    return ("LOAD_ATTR", (False, name), 0)


def method(name: str) -> Ins:
    return ("LOAD_ATTR", (True, name), 1)


def call(n: int, kwnames: tuple[str, ...]) -> tuple[Ins, ...]:
    tail: tuple[Ins, ...] = (("CALL", n, -n - 1),)
    return (("KW_NAMES", kwnames, 0), *tail) if kwnames else tail


def load_super(name: str) -> tuple[Ins, ...] | None:
    return (("LOAD_SUPER_ATTR", (False, True, name), -2),)


def classderef(cell: object) -> tuple[Ins, ...]:
    return (("LOAD_LOCALS", None, 1), ("LOAD_FROM_DICT_OR_DEREF", cell, 0))


def intrinsic(name: str, n: int) -> tuple[Ins, ...]:
    if n == 1:
        return (("CALL_INTRINSIC_1", Intrinsic1Op[f"INTRINSIC_{name}"], 0),)
    return (("CALL_INTRINSIC_2", Intrinsic2Op[f"INTRINSIC_{name}"], -1),)
