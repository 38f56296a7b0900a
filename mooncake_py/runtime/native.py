"""Attributes and bound methods of what C code made."""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Sequence
from typing import Any

from mooncake_py import registry
from mooncake_py.errors import MooncakeError
from mooncake_py.infer.named import field_index
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.registry import find_rule_for_values, name_of
from mooncake_py.runtime.coduals import is_active
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Pull, Result
from mooncake_py.tangents import has_tangent


class NoRule(MooncakeError):
    """A function without a rule was given these arguments, that numbered `active` carrying a derivative."""

    def __init__(self, f: Any, args: Sequence[Any], fargs: Sequence[Any]):
        self.f, self.given = f, tuple(args)
        self.active = next((i for i, (a, fa) in enumerate(zip(args, fargs, strict=False)) if is_active(a, fa)), 0)
        super().__init__(f"{name_of(f)} has no rule")


def native_method(cls: type, bound: Any) -> Any:
    """The descriptor in C that gave this bound method."""
    found = getattr(bound, "__objclass__", None)
    if found is not None:
        return found.__dict__.get(bound.__name__)
    for k in cls.__mro__:
        d = k.__dict__.get(bound.__name__)
        if isinstance(d, (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)):
            return d
    return None


def native_attribute(args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    x, name = args[0], args[1]
    others = (None,) * (len(args) - 1)  # the name, and perhaps a default
    y = getattr(*args)
    if type(y) in (pytypes.MethodType, pytypes.BuiltinFunctionType, pytypes.MethodWrapperType):
        if getattr(y, "__self__", None) is x:
            return y, fargs[0], lambda dy: (None, dy, *others)
    d = class_attribute(type(x), name)
    if is_active(x, fargs[0]):
        if isinstance(x, tuple) and (i := field_index(d)) is not None:
            y, fy, give = field(x, fargs[0], i)
            return y, fy, lambda dy: (None, give(dy), *others)
        try:
            rule = find_rule_for_values(d, (x,))
        except TypeError:
            rule = None
        if registry.refusal(d) is not None:
            raise NoRule(d, args, fargs)
        if rule is not None:
            if rule.fn is None:
                return y, None, None
            y, fy, pb = run_rule(functools.partial(attribute_of, name), rule, (x,), fargs[:1], {}, ())
            return y, fy, None if pb is None else (lambda dy: _padded(pb(dy), others))
        if has_tangent(y):
            raise NoRule(d if callable(d) else getattr, args, fargs)
    return y, None, None


def field(x: tuple[Any, ...], fx: Any, i: int) -> tuple[Any, Any, Pull]:
    """A field of a named tuple; the pullback gives the cotangent of the tuple."""
    fy = None if fx is None else fx[i]

    def pullback(dy: Any) -> Any:
        return None if dy is None else tuple([dy if k == i else None for k in range(len(x))])

    return tuple.__getitem__(x, i), fy, pullback  # as the field does, whatever x[i] means


def attribute_of(name: str, x: Any) -> Any:
    return getattr(x, name)


def _padded(ds: Any, others: tuple[None, ...]) -> Any:
    return None if ds is None else (None, ds[1], *others)
