"""`print` to an object of the user's, whose methods are told what is printed."""

from __future__ import annotations

import types as pytypes
from typing import Any

from mooncake_py.infer.resolve import class_attribute
from mooncake_py.structure import is_user_class


def writes_in_python(file: Any) -> bool:
    """Is this an object whose class, of the user's, says itself what writing to it does?"""
    return is_user_class(type(file)) and type(class_attribute(type(file), "write")) is pytypes.FunctionType


def printed(*values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    """What `print` does with a file that is an object of a class written in Python."""
    for name, text in (("sep", sep), ("end", end)):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{name} must be None or a string, not {type(text).__name__}")
    first = True
    for v in values:
        if not first:
            file.write(" " if sep is None else sep)
        file.write(str(v))
        first = False
    file.write("\n" if end is None else end)
    if flush:
        file.flush()
