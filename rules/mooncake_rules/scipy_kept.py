"""Interpolating objects: the tangents of the arrays they hold, whatever names these have in the object."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_rules.copies import Named


class Kept:
    """The tangents of the arrays an interpolating object was made of: they stand in its ObjectShadow by these names.

    How SciPy's classes keep their arrays differs between versions, so that their methods have rules. What code reads
    of the object by other means, and differentiates by, is refused.
    """

    @staticmethod
    def of(obj: Any, **arrays: Any) -> ObjectShadow:
        """The fdata of an object that was just made."""
        shadow = ObjectShadow(obj, Named({k: zero_fdata(v) for k, v in arrays.items()}))
        run.current().made[id(obj)] = obj, shadow
        return shadow

    @staticmethod
    def add(obj: CoDual, **cotangents: Any) -> None:
        """Add to them (None is zero); nothing for an object from outside, which is a constant."""
        if type(obj.fdata) is ObjectShadow:
            for name, d in cotangents.items():
                shadow = Kept.find(obj.fdata, name)
                if shadow is not None and d is not None:
                    shadow.add(d if type(d) is NoDerivative else d.astype(shadow.dtype, copy=False))

    @staticmethod
    def find(shadow: ObjectShadow, name: str) -> Any:
        """The fdata of the array of this name, also where the object was made by its own code."""
        if not _NAMES.isdisjoint(shadow.f):
            return shadow.f.get(name)
        held = vars(shadow.owner)
        for k in (name, f"_{name}"):
            if k in held:
                return shadow.fdata(k)
        inner = shadow.fdata("_delegate_to") if "_delegate_to" in held else None
        return Kept.find(inner, name) if type(inner) is ObjectShadow else None

    @staticmethod
    def take(shadow: ObjectShadow, name: str, like: np.ndarray) -> np.ndarray:
        """The cotangent of one of them, and zero from now on."""
        for k in {**shadow.f, **shadow.r}:
            if k not in _NAMES and take_fdata(shadow.f.get(k), shadow.r.pop(k, None)) is not None:
                raise NotDifferentiated(
                    f"the attribute {k!r} of a {type(shadow.owner).__name__} is read, and not differentiated"
                )
        d = take_fdata(shadow.f[name], None)
        return np.zeros(like.shape, like.dtype) if d is None else d


def getter_of(cls: type, name: str) -> Any:
    """What reads an attribute of the class's objects: that of a property, or of a slot (before SciPy 1.17)."""
    d = inspect.getattr_static(cls, name)
    return d.fget if isinstance(d, property) else d


_NAMES = frozenset({"c", "points", "t", "values", "x"})


def knots_of(obj: Any) -> np.ndarray:
    """Where the pieces of an interpolating function of one variable meet; empty where it does not say."""
    for name in ("x", "t"):
        x = getattr(obj, name, None)
        if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind == "f":
            return x
    return np.asarray(obj.get_knots()) if hasattr(obj, "get_knots") and not hasattr(obj, "tck") else np.zeros(0)
