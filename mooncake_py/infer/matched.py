"""Which classes a `match` statement tries its patterns of items, or of keys, on.

A class says so by a flag of its own, inherited or given to it by `Sequence.register`: it may come later, and stays.
"""

from __future__ import annotations

from typing import Any

from mooncake_py.infer.inferred import Guard
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.types import Known, Obj, T, Union
from mooncake_py.ir import ops
from mooncake_py.structure import HEAP

MATCHES = {ops.match_sequence: 1 << 5, ops.match_mapping: 1 << 6}
"""The flags Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING of CPython, by the operation that asks for them."""


class _Flags:
    """The flags of a class, as a scope that guards look into."""

    __slots__ = ("cls", "flag")

    def __init__(self, cls: type, flag: int):
        self.cls, self.flag = cls, flag

    def get(self, name: str, default: Any) -> bool:
        """Has the class this one?"""
        return bool(self.cls.__flags__ & self.flag)


def matches(f: Any, t: T, guards: dict[tuple[int, str], Guard] | None = None) -> bool | None:
    """Are the patterns that f asks for tried on a value of this type? None: that is not known.

    A class that may be given the flag later is known by a guard, where these are taken down.
    """
    if isinstance(t, Union):
        answers = {matches(f, x, guards) for x in t.options}
        return answers.pop() if len(answers) == 1 else None
    cls = type(t.value) if isinstance(t, Known) else t.cls if isinstance(t, Obj) else class_of(t)
    if cls is None:
        return None
    if cls.__flags__ & MATCHES[f]:
        return True
    if cls.__flags__ & HEAP:
        if guards is None:
            return None
        guards[(id(cls), f.__name__)] = Guard(_Flags(cls, MATCHES[f]), f.__name__, False)
    return False
