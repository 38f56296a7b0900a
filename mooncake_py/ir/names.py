"""Dotted names of functions, classes and modules: `dotted` finds one that imports an object, `imported` the object."""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from mooncake_py.ir import ops


def imported(name: str) -> Any:
    """The object a dotted name stands for; ImportError when it stands for nothing."""
    first, _, rest = name.partition(".")
    if first == "ops":
        found: Any = ops
    elif not rest and hasattr(builtins, name):
        return getattr(builtins, name)
    else:
        found = importlib.import_module(first)
    path = first
    for part in rest.split(".") if rest else ():
        path += "." + part
        if hasattr(found, part):
            found = getattr(found, part)
        else:
            found = importlib.import_module(path)
    return found


_NAMES: dict[int, str] = {id(f): f"ops.{n}" for n, f in vars(ops).items() if not n.startswith("_")}
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


def dotted(x: Any) -> str | None:
    """A dotted name that imports x, None where there is none."""
    known = _NAMES.get(id(x))
    if known is not None:
        return known
    if isinstance(x, ModuleType):
        name = x.__name__
        return name if sys.modules.get(name) is x and DOTTED.match(name) else None
    qualname, module = getattr(x, "__qualname__", None), getattr(x, "__module__", None)
    if not isinstance(x, type | FunctionType | BuiltinFunctionType) and not (qualname or getattr(x, "__name__", None)):
        return None
    if not callable(x):
        return None
    if module == "_operator":
        module = "operator"
    for name in (
        f"{module}.{qualname}",
        f"{module}.{getattr(x, '__name__', '')}",
        f"numpy.{getattr(x, '__name__', '')}",
    ):
        if DOTTED.match(name) and name.partition(".")[0] in sys.modules:
            try:
                if imported(name) is x:
                    return name
            except ImportError:
                continue
    return None
