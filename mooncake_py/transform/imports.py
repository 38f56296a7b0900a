"""Imports from the package that a function stands in, where it is taken into one of another module."""

from __future__ import annotations

from importlib.util import resolve_name

from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const


def is_from_beside(s: Call) -> bool:
    """Is it an import of what is named from the package of its module (`from . import x`)?"""
    return is_const(s.fn, ops.import_name) and bool(s.args[2].value)  # type: ignore[union-attr]


def by_full_name(s: Call, scope: dict) -> Call | None:
    """The same import for any module; None where the package is not known."""
    name, names, level = s.args
    assert isinstance(name, Const) and isinstance(level, Const)
    try:
        full = resolve_name("." * level.value + name.value, scope.get("__package__"))
    except ImportError:
        return None
    return Call(s.out, s.fn, (Const(full), names, Const(0)), s.kwargs, s.pos)
