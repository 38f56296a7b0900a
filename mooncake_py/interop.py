"""Rules taken over from other libraries."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable
from typing import Any

from mooncake_py.compat.autograd import conjugate, fitting
from mooncake_py.errors import RuleError
from mooncake_py.hashing import hashable
from mooncake_py.registration import rrule
from mooncake_py.registry import name_of
from mooncake_py.shadows import NoDerivative
from mooncake_py.trees import leaves


def from_autograd(*targets: Any) -> None:
    """Take over the derivatives of `autograd.extend` primitives: functions, or modules for all of those in them.

    A library that defines its functions with `autograd.extend.primitive` and `defvjp` then works here as it is.
    Vector-Jacobian products are those defined when the pullback runs; one that is not defined raises MissingRule
    where it is needed. Keyword arguments are constants. Complex cotangents are converted between the conventions.

    Needs autograd. RuleError for what is not one of its primitives.
    """
    from autograd.core import primitive_vjps

    for t in targets:
        if isinstance(t, pytypes.ModuleType):
            found = {id(v): v for v in vars(t).values() if _is_key(v) and v in primitive_vjps}
            if not found:
                raise RuleError(f"from_autograd: the module {t.__name__} has no primitives of autograd")
            for f in found.values():
                _take_over(f, primitive_vjps)
        elif not _is_key(t) or t not in primitive_vjps:
            raise RuleError(
                f"from_autograd: {name_of(t)} is no primitive of autograd with a vector-Jacobian product; give it one "
                "with autograd.extend.defvjp, or register a rule with @rrule"
            )
        else:
            _take_over(t, primitive_vjps)


def _is_key(f: Any) -> bool:
    return callable(f) and hashable(f)


def _take_over(f: Callable[..., Any], vjps: dict[Any, Callable[..., Any]]) -> None:
    name = name_of(getattr(f, "fun", f))

    @rrule(f)
    def rule(*args, **kwargs):  # type: ignore[no-untyped-def]
        ans = f(*args, **kwargs)

        def pullback(dy):  # type: ignore[no-untyped-def]
            g = conjugate(dy)
            out: list[Any] = []
            for i, x in enumerate(args):
                if not any(True for _ in leaves(x)):
                    out.append(None)
                    continue
                try:
                    vjp = vjps[f]((i,), ans, args, kwargs)
                except (NotImplementedError, KeyError):
                    out.append(NoDerivative(name, f"argument {i}", "define it with autograd.extend.defvjp"))
                    continue
                (t,) = vjp(g)
                out.append(fitting(conjugate(t), x, name, i))
            return (*out, *(NoDerivative(name, f"the keyword argument {k}", "pass it by position") for k in kwargs))

        return ans, pullback
