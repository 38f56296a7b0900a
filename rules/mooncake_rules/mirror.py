"""Functions whose derivative is that of simpler Python code.

The value is the function's own, and so are its errors; the pullback differentiates a Python function of the same
parameters that computes the same thing, as the engine differentiates any. That costs a second run of it.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.kinds import Pattern
from mooncake_py.registry import infer_table, probed, rrule
from mooncake_rules.common import is_inexact
from mooncake_rules.stacks import cores, one_by_one, stack_shape


def mirrors(*targets: Any, types: tuple[Pattern, ...] = (), fallback: bool = False) -> Callable[[Callable], Callable]:
    """Register for `targets` the rule whose pullback is that of the decorated function.

    Its parameters are those of the targets, by name, all of them positional; what it leaves out is no argument that
    the rule takes.
    """

    def decorate(g: Callable) -> Callable:
        for f in targets:
            rrule(f, types=types, fallback=fallback)(mirror_rule(f, g))
            if f not in infer_table:
                probed.add(f)
        return g

    return decorate


def mirror_rule(f: Any, g: Callable) -> Callable:
    """The rule whose value is that of f, and whose pullback is that of g."""
    signature = inspect.signature(g)
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in signature.parameters.values()), g

    ndims = cores(f)

    def rule(*args, **kwargs):
        y = f(*args, **kwargs)

        def pullback(dy):
            if not is_inexact(y):
                return None
            if ndims:
                given = signature.bind(*args, **kwargs).arguments
                shape = stack_shape(ndims, given)
                if shape:
                    ds = one_by_one(f, ndims, given, shape, dy)
                    return tuple([ds.get(k) for k in signature.parameters])
            return mirrored(g, signature, args, kwargs, dy)

        return y, pullback

    rule.__signature__ = signature  # type: ignore[attr-defined]
    return rule


def mirrored(g: Callable, signature: inspect.Signature, args: Any, kwargs: dict[str, Any], dy: Any) -> tuple[Any, ...]:
    """The cotangents of all parameters of g."""
    from mooncake_rules.callables import run

    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    y, pullback = run(g, None, tuple(map(apart, bound.args)))
    if isinstance(dy, np.ndarray) and np.iscomplexobj(dy) and not np.iscomplexobj(y):
        dy = dy.real  # a `dtype` that g does not know of made the value complex
    return pullback(dy)


def as_written(f: Any) -> Any:
    """The Python function f once more, for an overlay of f that calls it."""
    f = inspect.unwrap(f)
    same = pytypes.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    same.__kwdefaults__ = f.__kwdefaults__
    return same


def apart(x: Any) -> Any:
    """The same with arrays of its own: an array that is given twice has a cotangent in each place."""
    if isinstance(x, np.ndarray):
        return x.copy()
    return type(x)(map(apart, x)) if type(x) in (list, tuple) else x
