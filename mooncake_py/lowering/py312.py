"""Instruction sequences of CPython 3.12: what differs from 3.11."""

from __future__ import annotations

from mooncake_py.lowering.py311 import (  # noqa: F401
    CLOSURE_BY_LOAD_FAST,
    NOT,
    NULL_FIRST,
    PROTECTED_FOR,
    SUPERINSTRUCTIONS,
    TRUTH,
    Ins,
    format_value,
    make_function,
)

VERSION = (3, 12)
BACKWARD_CONDITIONAL_JUMPS = False
RETURN_CONST = True
TAKE_FAST = ("LOAD_FAST_AND_CLEAR",)
STOPITERATION_HANDLER = True
BRANCH_NEEDS_BOOL = False
POSITIVE: Ins = ("CALL_INTRINSIC_1", 5, 0)
LIST_TO_TUPLE: Ins = ("CALL_INTRINSIC_1", 6, 0)
IMPORT_STAR: tuple[Ins, ...] = (("CALL_INTRINSIC_1", 2, 0), ("POP_TOP", None, -1))
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


# The operator's number, and below it what specialised code tests: unordered 1, less 2, greater 4, equal 8.
_COMPARE = {"lt": 2, "le": 1 << 4 | 10, "eq": 2 << 4 | 8, "ne": 3 << 4 | 7, "gt": 4 << 4 | 4, "ge": 5 << 4 | 12}


def compare(op: str) -> Ins:
    return ("COMPARE_OP", _COMPARE[op], -1)


compare_for_branch = compare


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


_INTRINSICS_1 = {
    "STOPITERATION_ERROR": 3,
    "TYPEVAR": 7,
    "PARAMSPEC": 8,
    "TYPEVARTUPLE": 9,
    "SUBSCRIPT_GENERIC": 10,
    "TYPEALIAS": 11,
}
_INTRINSICS_2 = {
    "TYPEVAR_WITH_BOUND": 2,
    "TYPEVAR_WITH_CONSTRAINTS": 3,
    "SET_FUNCTION_TYPE_PARAMS": 4,
    "SET_TYPEPARAM_DEFAULT": 5,
}


def intrinsic(name: str, n: int) -> tuple[Ins, ...]:
    if n == 1:
        return (("CALL_INTRINSIC_1", _INTRINSICS_1[name], 0),)
    return (("CALL_INTRINSIC_2", _INTRINSICS_2[name], -1),)
