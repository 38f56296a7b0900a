"""`out=`: NumPy functions that are told where to write their result.

`f(x, out=z)` is `f(x)` written into z, and so it needs no rule of its own: the call is taken apart into one without
`out` and one of `write_out`, whose rule saves what it overwrites and puts it back. `out=...` asks for an array.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable

_DISPATCHER: Any = type(np.concatenate)
_METHODS = {
    name: getattr(np.ndarray, name)
    for name in (
        "all", "any", "argmax", "argmin", "choose", "clip", "compress", "cumprod", "cumsum", "dot", "max", "mean",
        "min", "prod", "round", "std", "sum", "take", "trace", "var",
    )
}  # fmt: skip
_METHOD_AT = {"all": 2, "any": 2, "argmax": 2, "argmin": 2, "choose": 2, "dot": 2, "max": 2, "min": 2, "round": 2,
              "trace": 5}  # fmt: skip
_FUNCTION_AT = {
    "all": 2, "any": 2, "argmax": 2, "argmin": 2, "around": 2, "choose": 2, "clip": 3, "compress": 3, "cumprod": 3,
    "cumsum": 3, "dot": 2, "fix": 1, "isneginf": 1, "isposinf": 1, "max": 2, "amax": 2, "mean": 3, "median": 2,
    "min": 2, "amin": 2, "outer": 2, "percentile": 3, "prod": 3, "ptp": 2, "quantile": 3, "round": 2, "std": 3,
    "sum": 3, "take": 3, "trace": 5, "var": 3, "concatenate": 2, "stack": 2, "nanmax": 2, "nanmin": 2, "nansum": 3,
    "nanmean": 3, "nanprod": 3, "nancumsum": 3, "nancumprod": 3, "nanvar": 3, "nanstd": 3, "nanmedian": 2,
    "nanargmax": 2, "nanargmin": 2,
}  # fmt: skip
_AT: dict[Any, int] = {d: _METHOD_AT.get(name, 3) for name, d in _METHODS.items()}
_AT.update({getattr(np, name): i for name, i in _FUNCTION_AT.items() if hasattr(np, name)})
_OF_SUMS = ("keepdims", "initial", "where")
_AFTER = {
    "reduce": _OF_SUMS, "sum": _OF_SUMS, "prod": _OF_SUMS, "max": _OF_SUMS, "min": _OF_SUMS, "mean": ("keepdims",),
    "any": ("keepdims",), "all": ("keepdims",), "var": ("ddof", "keepdims"), "std": ("ddof", "keepdims"),
    "take": ("mode",), "choose": ("mode",),
}  # fmt: skip
_UFUNC_METHOD_AT = {"reduce": 3, "accumulate": 3, "reduceat": 4}
_AT.update({getattr(np.ufunc, name): i + 1 for name, i in _UFUNC_METHOD_AT.items()})


splittable: set[Any] = {np.fix, np.isposinf, np.isneginf}
"""Python functions of which that is so."""


def position(f: Any) -> int | None:
    """Where `out` stands among the positional arguments of a NumPy function; None where it is a keyword only."""
    if isinstance(f, np.ufunc):
        return f.nin
    if type(f) is pytypes.BuiltinFunctionType and isinstance(f.__self__, np.ufunc):
        return _UFUNC_METHOD_AT.get(f.__name__)
    return _AT.get(f) if hashable(f) else None


def writes_out(f: Any, n: int, keywords: Iterable[str]) -> bool:
    """Is f, called with n positional arguments and these keywords, given a place to write its result to?"""
    if "out" in keywords:
        return True
    at = position(f)
    return at is not None and n > at


def can_be_split(f: Any) -> bool:
    """Is `out` of this function what it is of NumPy's functions, whoever else has a parameter of that name?"""
    if isinstance(f, (np.ufunc, _DISPATCHER)):
        return True
    if type(f) is pytypes.BuiltinFunctionType:
        return isinstance(f.__self__, np.ufunc)
    if getattr(f, "__objclass__", None) in (np.ndarray, np.generic, np.ufunc):
        return True
    return type(f) is pytypes.FunctionType and f in splittable


def split(f: Any, args: Sequence[Any], keywords: dict[str, Any], none: Any) -> tuple[list[Any], dict[str, Any], Any]:
    """The arguments without `out`, and what was given as `out`: of a ufunc with several, a list (`none` is None)."""
    rest, at = list(args), position(f)
    keywords = dict(keywords)
    if "out" in keywords:
        return rest, keywords, keywords.pop("out")
    assert at is not None
    if isinstance(f, np.ufunc):
        outs = rest[at:] + [none] * (f.nout - len(rest[at:]))
        return rest[:at], keywords, outs if f.nout > 1 else outs[0]
    keywords.update(zip(_after(f, at), rest[at + 1 :], strict=False))  # what follows `out` is given by name
    return rest[:at], keywords, rest[at]


def _after(f: Any, at: int) -> Sequence[str]:
    """The names of the parameters behind `out`."""
    if isinstance(f, _DISPATCHER):
        return list(inspect.signature(f).parameters)[at + 1 :]
    return _AFTER.get(f.__name__, ())


def write_out(out: np.ndarray, y: Any, broadcast: bool, where: Any = True, casting: Any = "same_kind") -> None:
    """Write the result y of a function into `out`; only ufuncs `broadcast` what they write.

    Raises ValueError and TypeError where shapes or dtypes do not fit.
    """
    if not broadcast and np.shape(y) != out.shape:
        raise ValueError(f"out has shape {out.shape}, the result has shape {np.shape(y)}")
    np.copyto(out, y, casting=casting, where=where)
