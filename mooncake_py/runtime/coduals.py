"""Values beside their fdata: which may carry a derivative, what the run knows of them, and their types."""

from __future__ import annotations

import sys
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.infer.abstraction import abstract, is_item_by_item, is_of_class_made_anew
from mooncake_py.infer.types import Obj, Tup
from mooncake_py.structure import items_of
from mooncake_py.tangents import met_fdata

ATOMS = frozenset({float, int, complex, bool, str, bytes, type(None), range, slice, type, pytypes.FunctionType})
"""Classes of values that no run knows by their identity."""
BOUND = frozenset({pytypes.BuiltinFunctionType, pytypes.MethodWrapperType, pytypes.MethodType})
MOST = 256
"""Up to how many items of a list are looked at for each call: a loop must not look at all of them every time."""


def known(args: tuple[Any, ...], fargs: tuple[Any, ...]) -> tuple[Any, ...]:
    """fdata of arguments, that of objects from outside too where this run has met them."""
    if None not in fargs:
        return fargs
    here = run.current()
    if not (here.objects or here.made or here.memory or here.arrays or here.exceptions):
        return fargs
    return tuple(
        [met_fdata(x, here) if fx is None and type(x) not in ATOMS else fx for x, fx in zip(args, fargs, strict=True)]
    )


def _references(x: Any) -> int:
    return sys.getrefcount(x)


def _references_of_one_name() -> int:
    x = np.zeros(1)
    return _references(x)


_ALONE = _references_of_one_name()


def is_new(x: Any) -> bool:
    """Is x, of which the caller has one name, an array with memory of its own that nobody else holds?

    Then a call that has just returned it made it: what is written into it can be read from it only.
    """
    return type(x) is np.ndarray and x.base is None and sys.getrefcount(x) == _ALONE


def is_active(x: Any, fdata: Any) -> bool:
    """May this value carry a derivative? Numbers may; things with identity do where they have fdata."""
    if fdata is not None:
        return True
    if isinstance(x, (float, complex, np.inexact)):
        return True
    if type(x) in BOUND:
        return is_active(x.__self__, None)
    return isinstance(x, tuple) and any(is_active(v, None) for v in items_of(x))


def abstract_codual(x: Any, fx: Any, most: int = MOST) -> Any:
    """The type of a value with this fdata: things with identity are active where they have some.

    `most`: up to how many items of a list are looked at.
    """
    if isinstance(x, tuple) and is_item_by_item(x) and not is_of_class_made_anew(x):
        fs = fx if fx is not None else (None,) * len(x)
        return Tup(tuple([abstract_codual(v, fv, most) for v, fv in zip(x, fs, strict=True)]), type(x))
    t = abstract(x, is_active(x, fx), most)
    if type(t) is Obj and not t.fields and id(x) in run.current().made:
        return Obj(t.cls, t.act, new=True)
    return t
