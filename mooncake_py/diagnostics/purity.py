"""May a function be called once more to see what it returns? Only where nobody could notice."""

from __future__ import annotations

import functools
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.resolve import is_code_like
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand, Var
from mooncake_py.registry import is_pure, rules_of

_MODULES = frozenset({"math", "cmath", "operator", "_operator", "statistics", "numpy", "numpy.linalg", "numpy.fft"})
_WRITE = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "save", "savez", "seterr"})
_HARMLESS = frozenset({abs, min, max, sum, len, range, zip, enumerate, reversed, sorted, tuple, list, dict, float, int})
_HARMLESS |= {complex, bool, str, isinstance, round, divmod, pow, map, any, all, iter, getattr, slice}
_OPS = frozenset({ops.build_tuple, ops.build_list, ops.build_map, ops.list_append, ops.list_extend, ops.unpack})
_OPS |= {ops.list_to_tuple, ops.check_bound, ops.truth, ops.load_global, ops.cell_get, ops.make_cell, ops.make_function}
_OPS |= {ops.map_add, ops.load_assertion_error, ops.build_string, ops.format_value}
_METHODS = frozenset({"sum", "mean", "dot", "max", "min", "prod", "copy", "reshape", "ravel", "transpose", "astype"})
_METHODS |= {"std", "var", "real", "imag", "conj", "conjugate", "T", "shape", "ndim", "size", "dtype", "tolist", "item"}
_METHODS |= {"trace", "cumsum", "diagonal", "squeeze", "flatten", "clip", "round", "any", "all"}


def surely_pure(f: Any, writes: bool = False) -> bool:
    """Does f, given plain data, surely do nothing but compute a value from it (or, if `writes`, write to it)?"""
    if isinstance(f, functools.partial):
        f = f.func
    if isinstance(f, np.ufunc):
        return True
    if getattr(f, "__name__", None) in _WRITE:
        return writes
    if isinstance(f, pytypes.FunctionType):
        return is_pure(f) or f.__module__ in _MODULES or _python(f, set(), writes)
    if isinstance(f, pytypes.BuiltinFunctionType):
        module = getattr(f.__self__, "__name__", None) if f.__self__ is not None else f.__module__
        return is_pure(f) or f in _HARMLESS or module in _MODULES or str(module).startswith("scipy.")
    if isinstance(f, (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType, pytypes.GetSetDescriptorType)):
        return f.__objclass__ in (np.ndarray, float, int, complex, str, tuple)
    try:
        return f in _HARMLESS or is_pure(f)
    except TypeError:
        return False


def _python(f: pytypes.FunctionType, seen: set[pytypes.CodeType], writes: bool) -> bool:
    """Is everything that the function's code does harmless, as far as names tell?"""
    if f.__code__ in seen:
        return True
    seen.add(f.__code__)
    try:
        fn = normalise(f.__code__)
    except UnsupportedError:
        return False
    values: dict[Var, Any] = {}
    for cell, c in zip(fn.free, f.__closure__ or (), strict=True):
        try:
            values[cell] = c.cell_contents
        except ValueError:
            return False
    free = set(values)

    def known(v: Operand) -> Any:
        return v.value if isinstance(v, Const) else values.get(v, _UNKNOWN)

    for b in fn.blocks:
        for s in b.stmts:
            callee = known(s.fn)
            if callee is ops.load_global:
                name = s.args[0].value  # type: ignore[union-attr]
                builtins_ = f.__globals__.get("__builtins__", {})
                scope = builtins_ if isinstance(builtins_, dict) else vars(builtins_)
                value = f.__globals__.get(name, scope.get(name, _UNKNOWN))
                if value is _UNKNOWN:
                    return False
                values[s.out] = value
            elif callee is ops.cell_get and s.args[0] in free:
                values[s.out] = values[s.args[0]]
            elif callee is getattr and isinstance(known(s.args[1]), str):
                x, name = known(s.args[0]), known(s.args[1])
                if isinstance(x, pytypes.ModuleType):
                    values[s.out] = getattr(x, name, _UNKNOWN)
                elif name in _METHODS:
                    values[s.out] = _METHOD
            elif callee is _METHOD:
                continue
            elif callee is _UNKNOWN or not _harmless(callee, seen, writes):
                return False
    return True


def _harmless(f: Any, seen: set[pytypes.CodeType], writes: bool) -> bool:
    try:
        if f in _OPS or f in _HARMLESS:
            return True
    except TypeError:
        return False
    if getattr(f, "__module__", None) == ops.__name__:
        return False  # what else the language does: assigning names and cells, yielding
    if isinstance(f, pytypes.FunctionType) and f.__module__ not in _MODULES:
        return _python(f, seen, writes)
    if any(r.mutates for r in rules_of(f)) and not writes:
        return False
    return is_code_like(f) and surely_pure(f, writes)


_UNKNOWN = object()
_METHOD = object()
