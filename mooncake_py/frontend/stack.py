"""What stands on the symbolic stack besides values: markers for what a later instruction completes."""

from __future__ import annotations

from mooncake_py.ir.nodes import Const, Operand

NONE = Const(None)


class Marker:
    """Something on the symbolic stack that is no value."""

    __slots__ = ()


NULL = Marker()
"""The empty place beside a callable."""


class Converted(Marker):
    """`x!r` of an f-string, waiting for its format instruction."""

    __slots__ = ("conversion", "value")

    def __init__(self, value: Operand, conversion: int):
        self.value, self.conversion = value, conversion


class Making(Marker):
    """A function waiting for the rest of its attributes."""

    __slots__ = ("code", "parts")

    def __init__(self, code: Operand):
        self.code = code
        self.parts: dict[int, Operand] = {}


class Super(Marker):
    """`super(cls, obj)` waiting for the attribute that is looked up on it."""

    __slots__ = ("cls", "obj", "super_type")

    def __init__(self, super_type: Operand, cls: Operand, obj: Operand):
        self.super_type, self.cls, self.obj = super_type, cls, obj


Slot = Operand | Marker
