"""Instruction sequences of CPython 3.13: what differs from 3.12."""

from __future__ import annotations

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
    classderef,
    intrinsic,
    load_super,
    method,
)

VERSION = (3, 13)
NULL_FIRST = False
SUPERINSTRUCTIONS: dict[tuple[str, str], str] = {
    ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
    ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
    ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
}
CLOSURE_BY_LOAD_FAST = True
BRANCH_NEEDS_BOOL = True
TRUTH: tuple[Ins, ...] = (("TO_BOOL", None, 0),)
NOT: tuple[Ins, ...] = (("TO_BOOL", None, 0), ("UNARY_NOT", None, 0))
# The handler of what a generator raises whose frame FOR_ITER runs is looked up one code unit early.
PROTECTED_FOR: tuple[Ins, ...] = (("NOP", None, 0),)
FOR_DONE: tuple[Ins, ...] = (("END_FOR", None, 0), ("POP_TOP", None, 0))
YIELD_FROM = (("YIELD_VALUE", 1), ("RESUME", 2))
YIELD: tuple[Ins, ...] = (("YIELD_VALUE", 0, 0), ("RESUME", 1, 0))
# The operator's number, and below it what specialised code tests: unordered 1, less 2, greater 4, equal 8.
_COMPARE = {"lt": 2, "le": 1 << 5 | 10, "eq": 2 << 5 | 8, "ne": 3 << 5 | 7, "gt": 4 << 5 | 4, "ge": 5 << 5 | 12}


def compare(op: str) -> Ins:
    return ("COMPARE_OP", _COMPARE[op], -1)


def compare_for_branch(op: str) -> Ins:
    return ("COMPARE_OP", _COMPARE[op] | 16, -1)  # the result is a bool


def call(n: int, kwnames: tuple[str, ...]) -> tuple[Ins, ...]:
    if kwnames:
        return (("LOAD_CONST", kwnames, 1), ("CALL_KW", n, -n - 2))
    return (("CALL", n, -n - 1),)


def format_value(conversion: int, spec: bool) -> tuple[Ins, ...]:
    if not spec:
        head: tuple[Ins, ...] = (("CONVERT_VALUE", conversion, 0),) if conversion else ()
        return (*head, ("FORMAT_SIMPLE", None, 0))
    if not conversion:
        return (("FORMAT_WITH_SPEC", None, -1),)
    swap: Ins = ("SWAP", 2, 0)
    return (swap, ("CONVERT_VALUE", conversion, 0), swap, ("FORMAT_WITH_SPEC", None, -1))


def make_function(flags: int) -> tuple[Ins, ...]:
    """The parts named by flags lie on the stack in the order of their bits, the code object on top."""
    out: list[Ins] = [("MAKE_FUNCTION", None, 0)]
    out += [("SET_FUNCTION_ATTRIBUTE", bit, -1) for bit in (8, 4, 2, 1) if flags & bit]
    return tuple(out)
