"""Instruction sequences of CPython 3.11. An instruction is `(name, argument, stack effect)`."""

from __future__ import annotations

Ins = tuple[str, object, int]

VERSION = (3, 11)
NULL_FIRST = True  # a call's NULL lies under the callable, not above it
SUPERINSTRUCTIONS: dict[tuple[str, str], str] = {}  # the interpreter pairs instructions by itself
BACKWARD_CONDITIONAL_JUMPS = True
RETURN_CONST = False
TAKE_FAST = ("LOAD_FAST", "LOAD_CONST", "STORE_FAST")
STOPITERATION_HANDLER = False
CLOSURE_BY_LOAD_FAST = False
BRANCH_NEEDS_BOOL = False
TRUTH: tuple[Ins, ...] = (("UNARY_NOT", None, 0), ("UNARY_NOT", None, 0))
NOT: tuple[Ins, ...] = (("UNARY_NOT", None, 0),)
POSITIVE: Ins = ("UNARY_POSITIVE", None, 0)
LIST_TO_TUPLE: Ins = ("LIST_TO_TUPLE", None, 0)
IMPORT_STAR: tuple[Ins, ...] = (("IMPORT_STAR", None, -1),)
GETSLICE: tuple[Ins, ...] = (("BUILD_SLICE", 2, -1), ("BINARY_SUBSCR", None, -1))
SETSLICE: tuple[Ins, ...] = (("BUILD_SLICE", 2, -1), ("STORE_SUBSCR", None, -3))
PROTECTED_FOR: tuple[Ins, ...] = ()  # before a FOR_ITER whose exceptions are caught
FOR_DONE: tuple[Ins, ...] = ()  # what stands at the target of FOR_ITER (its stack effect is nil as seen from there)
LOAD_LOCALS: tuple[Ins, ...] | None = None
YIELD_FROM = (("YIELD_VALUE", None), ("RESUME", 2))
SEND_DONE: tuple[Ins, ...] = (("NOP", None, -1),)  # SEND itself has dropped the iterator
CLEANUP_THROW = False
YIELD: tuple[Ins, ...] = (("YIELD_VALUE", None, 0), ("RESUME", 1, 0))
JUMPS = {
    # condition -> (forward, backward)
    "true": ("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE"),
    "false": ("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE"),
    "none": ("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE"),
    "not_none": ("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE"),
}


def compare(op: str) -> Ins:
    return ("COMPARE_OP", ("lt", "le", "eq", "ne", "gt", "ge").index(op), -1)


compare_for_branch = compare


def attribute(name: str) -> Ins:
    return ("LOAD_ATTR", name, 0)


def method(name: str) -> Ins:
    return ("LOAD_METHOD", name, 1)


def call(n: int, kwnames: tuple[str, ...]) -> tuple[Ins, ...]:
    tail: tuple[Ins, ...] = (("PRECALL", n, 0), ("CALL", n, -n - 1))
    return (("KW_NAMES", kwnames, 0), *tail) if kwnames else tail


def format_value(conversion: int, spec: bool) -> tuple[Ins, ...]:
    return (("FORMAT_VALUE", conversion | (4 if spec else 0), -1 if spec else 0),)


def make_function(flags: int) -> tuple[Ins, ...]:
    """The parts named by flags lie on the stack in the order of their bits, the code object on top."""
    return (("MAKE_FUNCTION", flags, -flags.bit_count()),)


def load_super(name: str) -> tuple[Ins, ...] | None:
    return None


def classderef(cell: object) -> tuple[Ins, ...]:
    return (("LOAD_CLASSDEREF", cell, 1),)
