"""What a user's rule must return, checked where derived code uses it: a pair, one cotangent per argument, of its shape.

Rules of packs have tests of their own and are not checked at every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mooncake_py.errors import RuleResultError
from mooncake_py.mirrors import tangent_fields
from mooncake_py.registry import name_of
from mooncake_py.rule import Rule
from mooncake_py.shadows import At, NoDerivative
from mooncake_py.structure import is_user_class
from mooncake_py.trees import leaves

Form = Any
"""What a cotangent must be like: the shape of an array, NUMBER, the class of an object, how many items a list has, or
None where anything may be right."""
NUMBER = "a number"


@dataclass(frozen=True, slots=True)
class Items:
    """The form of the cotangent of a list or tuple."""

    kind: str
    n: int


class RuleCall:
    """One call of a user's rule: what error messages say of it. The line is found when there is an error."""

    __slots__ = ("most", "n", "position", "rule")

    def __init__(self, rule: Rule, n: int, position: tuple[str, int | None] | None = None):
        self.rule, self.n, self.position = rule, n, position
        self.most = None if rule.variadic or rule.keywords else max(n, len(rule.names))

    def __repr__(self) -> str:
        return f"<call of the rule {self.rule.label}>"

    def fail(self, what: str) -> NoReturn:
        raise RuleResultError(f"the rule {self.rule.label} of {name_of(self.rule.target)} {what}", self.position)

    def argument(self, i: int) -> str:
        names = self.rule.names
        return f"argument {i} ({names[i]})" if i < len(names) else f"argument {i}"


def pair(result: Any, call: RuleCall) -> tuple[Any, Any]:
    """What the rule returned, if it is a value and a pullback."""
    if type(result) is not tuple or len(result) != 2 or not callable(result[1]):
        call.fail(f"must return a pair (value, pullback), it returned {_describe(result)}")
    return result


def count(result: Any, active: tuple[int, ...], able: tuple[int, ...], call: RuleCall) -> Any:
    """What the pullback returned, if there is one cotangent per argument.

    `active` are the arguments asked for; a tuple must have all of `able`, whose types have derivatives.
    """
    if type(result) is tuple:
        count_tuple(len(result), able, call)
    elif result is not None and (rest := [i for i in active if i > 0]):
        bare(rest[0], call)
    return result


def count_tuple(n: int, able: tuple[int, ...], call: RuleCall) -> None:
    """Is a tuple of n cotangents one per argument? Those of arguments at the end that have no derivative may miss."""
    missing = [i for i in able if i >= n]
    if missing or (call.most is not None and n > call.most):
        call.fail(
            f"returned {n} cotangent{'' if n == 1 else 's'} for a call of {call.n} argument{'' if call.n == 1 else 's'}"
            + (f": there is none for {call.argument(missing[0])}" if missing else "")
        )


def bare(i: int, call: RuleCall) -> NoReturn:
    call.fail(
        f"returned one cotangent that is not in a tuple for a call of {call.n} arguments: there is none for "
        f"{call.argument(i)}; return a tuple, with None for zero"
    )


def form_of(x: Any) -> Form:
    """The form of a value's cotangent."""
    if isinstance(x, np.ndarray):
        return x.shape if x.dtype.kind in "fc" else None
    if isinstance(x, (float, complex, np.inexact)):
        return NUMBER
    if isinstance(x, (list, tuple)):
        return Items(type(x).__name__, len(x)) if any(True for _ in leaves(x)) else None
    return type(x) if is_user_class(type(x)) and any(True for _ in leaves(x)) else None


def fit(t: Any, form: Form, i: int, real: bool, call: RuleCall) -> Any:
    """The cotangent of argument i, if it has this form; None is zero."""
    if t is None or form is None or type(t) is NoDerivative:
        return t
    if isinstance(form, type):
        if not isinstance(tangent_fields(form, t), Mapping):
            _misfit(t, f"a Tangent of a {form.__name__}, or a dict by its attributes", i, call)
        return t
    if isinstance(form, Items):
        if (
            not isinstance(t, (list, tuple, np.ndarray))
            or (isinstance(t, np.ndarray) and not t.ndim)
            or len(t) != form.n
        ):
            _misfit(t, f"a {form.kind} of {form.n}", i, call)
        return t
    if form is NUMBER:
        if isinstance(t, np.ndarray) and t.shape == ():
            t = t[()]
        if not isinstance(t, (int, float, complex, np.number)):
            _misfit(t, "a number", i, call)
    elif type(t) is At:
        return t
    elif not isinstance(t, np.ndarray):
        if form != () or not isinstance(t, (int, float, complex, np.number)):
            _misfit(t, f"an array of shape {form}", i, call)
    elif t.shape != form:
        _misfit(t, f"an array of shape {form}", i, call)
    if real and (t.dtype.kind == "c" if isinstance(t, (np.ndarray, np.generic)) else isinstance(t, complex)):
        call.fail(f"returned a complex cotangent for {call.argument(i)}, which is real: return its real part")
    return t


def _misfit(t: Any, wanted: str, i: int, call: RuleCall) -> NoReturn:
    call.fail(f"returned {_describe(t)} as the cotangent of {call.argument(i)}, it must be {wanted}")


def _describe(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    return f"a {type(x).__name__} of {len(x)}" if isinstance(x, (tuple, list)) else f"{type(x).__name__}: {x!r}"
