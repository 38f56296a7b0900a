"""Instruction sequences of CPython 3.13: what differs from 3.12."""

from __future__ import annotations

from bytecode import Compare
from bytecode.instr import FormatValue

from mooncake_py.lowering.py312 import (  # noqa: F401
    BACKWARD_CONDITIONAL_JUMPS,
    CLEANUP_THROW,
    GETSLICE,
    IMPORT_STAR,
    JUMPS,
    LIST_TO_TUPLE,
    LOAD_LOCALS,
    POSITIVE,
    RETURN_CONST,
    SEND_DONE,
    SETSLICE,
    STOPITERATION_HANDLER,
    TAKE_FAST,
    Ins,
    attribute,
    binary,
    classderef,
    compare,
    intrinsic,
    load_super,
    method,
)

VERSION = (3, 13)
NULL_FIRST = False
SUPERINSTRUCTIONS = True
CLOSURE_BY_LOAD_FAST = True
BRANCH_NEEDS_BOOL = True
TRUTH: tuple[Ins, ...] = (("TO_BOOL", None, 0),)
NOT: tuple[Ins, ...] = (("TO_BOOL", None, 0), ("UNARY_NOT", None, 0))
FOR_DONE: tuple[Ins, ...] = (("END_FOR", None, 0), ("POP_TOP", None, 0))
YIELD_FROM = (("YIELD_VALUE", 1), ("RESUME", 2))
YIELD: tuple[Ins, ...] = (("YIELD_VALUE", 0, 0), ("RESUME", 1, 0))
_CAST = {c: Compare(c + 16) for c in (0, 1, 2, 3, 4, 5)}


def compare_for_branch(op: Compare) -> Ins:
    return ("COMPARE_OP", _CAST[op], -1)


def call(n: int, kwnames: tuple[str, ...]) -> tuple[Ins, ...]:
    if kwnames:
        return (("LOAD_CONST", kwnames, 1), ("CALL_KW", n, -n - 2))
    return (("CALL", n, -n - 1),)


def format_value(conversion: int, spec: bool) -> tuple[Ins, ...]:
    if not spec:
        head: tuple[Ins, ...] = (("CONVERT_VALUE", FormatValue(conversion), 0),) if conversion else ()
        return (*head, ("FORMAT_SIMPLE", None, 0))
    if not conversion:
        return (("FORMAT_WITH_SPEC", None, -1),)
    swap: Ins = ("SWAP", 2, 0)
    return (swap, ("CONVERT_VALUE", FormatValue(conversion), 0), swap, ("FORMAT_WITH_SPEC", None, -1))


def make_function(flags: int) -> tuple[Ins, ...]:
    """The parts named by flags lie on the stack in the order of their bits, the code object on top."""
    out: list[Ins] = [("MAKE_FUNCTION", None, 0)]
    out += [("SET_FUNCTION_ATTRIBUTE", bit, -1) for bit in (8, 4, 2, 1) if flags & bit]
    return tuple(out)
