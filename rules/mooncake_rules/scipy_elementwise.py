"""What the tables of SciPy's elementwise functions become: rules of one to four arguments, for numbers, arrays, lists.

A table says, for every argument of a function, the derivative by it in terms of the arguments and the value, or None
where no formula is known: such an argument must be a constant, and is refused where it is not. Functions of complex
numbers are holomorphic, and their pullback multiplies by the conjugate of the derivative.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooncake_py.kinds import Numeric
from mooncake_py.registry import inline, probed, pure, rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, is_complex, is_number, real_of, total, unbroadcast
from mooncake_rules.numpy_ufunc import with_keywords
from mooncake_rules.scipy_library import is_constant, unknown_by
from mooncake_rules.sequences import SEQUENCES, unstack

Partial = Callable[..., Any] | None


@dataclass(frozen=True)
class Entry:
    """A function of a table: its name, the derivatives by its arguments, a point to check it at."""

    name: str
    partials: tuple[Partial, ...]
    at: tuple[Any, ...]
    holomorphic: bool = False


@inline
def keep(x: Any) -> Any:
    """What to keep of x to sum a cotangent down to it."""
    return () if is_number(x) else x.shape


@inline
def onto(t: Any, like: Any, shape: Any) -> Any:
    """The cotangent t of a broadcast result summed down to `like`, whose shape is `shape`."""
    return real_of(total(t), like) if is_number(like) else real_of(unbroadcast(t, shape), like)


def _part(n: int, partial: Partial, unknown: NoDerivative) -> Callable[..., Any]:
    """The cotangent of one of n arguments: `part(dy, argument, its shape, *arguments, value)`."""
    if partial is None:

        def none2(dy, like, shape, a, b, y):
            return unknown

        def none3(dy, like, shape, a, b, c, y):
            return unknown

        def none4(dy, like, shape, a, b, c, d, y):
            return unknown

        return inline((none2, none3, none4)[n - 2])
    slope = inline(partial)

    def part2(dy, like, shape, a, b, y):
        return onto(dy * conj(slope(a, b, y)), like, shape)

    def part3(dy, like, shape, a, b, c, y):
        return onto(dy * conj(slope(a, b, c, y)), like, shape)

    def part4(dy, like, shape, a, b, c, d, y):
        return onto(dy * conj(slope(a, b, c, d, y)), like, shape)

    return inline((part2, part3, part4)[n - 2])


def _one(f: Any, partials: tuple[Partial, ...]) -> Callable[..., Any]:
    assert partials[0] is not None
    d = inline(partials[0])

    def rule(x):
        y = f(x)

        def pullback(dy):
            return real_of(dy * conj(d(x, y)), x)

        return y, pullback

    return rule


def _two(f: Any, pa: Callable, pb: Callable) -> Callable[..., Any]:
    def rule(a, b):
        y = f(a, b)
        sa, sb = keep(a), keep(b)

        def pullback(dy):
            return pa(dy, a, sa, a, b, y), pb(dy, b, sb, a, b, y)

        return y, pullback

    return rule


def _three(f: Any, pa: Callable, pb: Callable, pc: Callable) -> Callable[..., Any]:
    def rule(a, b, c):
        y = f(a, b, c)
        sa, sb, sc = keep(a), keep(b), keep(c)

        def pullback(dy):
            return pa(dy, a, sa, a, b, c, y), pb(dy, b, sb, a, b, c, y), pc(dy, c, sc, a, b, c, y)

        return y, pullback

    return rule


def _four(f: Any, pa: Callable, pb: Callable, pc: Callable, pd: Callable) -> Callable[..., Any]:
    def rule(a, b, c, d):
        y = f(a, b, c, d)
        sa, sb, sc, sd = keep(a), keep(b), keep(c), keep(d)

        def pullback(dy):
            return (
                pa(dy, a, sa, a, b, c, d, y),
                pb(dy, b, sb, a, b, c, d, y),
                pc(dy, c, sc, a, b, c, d, y),
                pd(dy, d, sd, a, b, c, d, y),
            )

        return y, pullback

    return rule


_MAKERS: dict[int, Callable[..., Any]] = {2: _two, 3: _three, 4: _four}


def _spelled(f: Any, rule: Callable[..., Any], n: int) -> Callable[..., Any]:
    """The rule with the parameter names of a Python function, so that it is found when called by keyword."""
    if isinstance(f, np.ufunc):
        return rule
    names = list(inspect.signature(f).parameters)[:n]
    if any(k.startswith("_") for k in names):
        return rule
    head = ", ".join(names)
    scope: dict[str, Any] = {"rule_": inline(rule)}
    exec(f"def rule({head}):\n    return rule_({head})\n", scope)
    return scope["rule"]


def register(module: str, f: Any, partials: tuple[Partial, ...]) -> None:
    """The rules of an elementwise function f of this module."""
    n = len(partials)
    if n == 1:
        rule = _one(f, partials)
    else:
        unknown = [NoDerivative(f"{module}.{f.__name__}", f"its argument number {i + 1}") for i in range(n)]
        rule = _MAKERS[n](f, *[_part(n, p, u) for p, u in zip(partials, unknown, strict=True)])
    elementwise(f, n)(_spelled(f, rule, n))


def elementwise(f: Any, n: int) -> Callable[[Callable], Callable]:
    """Register the decorated function, whose first n parameters are numbers or arrays, as the rule of f.

    It also serves calls by keyword, and calls where they are lists or tuples.
    """

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        rrule(f)(_of_anything(rule, n))
        rrule(f, types=(Numeric,) * n)(rule)
        probed.add(f)
        if isinstance(f, np.ufunc) and f.nin == n:
            with_keywords(f)
        return rule

    return decorate


def _of_anything(rule: Callable[..., Any], n: int) -> Callable[..., Any]:
    """The rule with its first n arguments made arrays where they are lists or tuples."""
    params = list(inspect.signature(rule).parameters.values())
    scope: dict[str, Any] = {"listed": _listed, "rule": rule}
    spelled, passed = [], []
    for p in params:
        by_name = p.kind is p.KEYWORD_ONLY
        if by_name and "*" not in spelled:
            spelled.append("*")
        scope[f"default_{p.name}"] = p.default
        spelled.append(p.name if p.default is p.empty else f"{p.name}=default_{p.name}")
        passed.append(f"{p.name}={p.name}" if by_name else p.name)
    leading = ", ".join(p.name for p in params[:n])
    source = (
        f"def of_anything({', '.join(spelled)}):\n"
        f"    def applied({leading}):\n"
        f"        return rule({', '.join(passed)})\n"
        f"    return listed(applied, ({leading},))\n"
    )
    exec(source, scope)
    return scope["of_anything"]


def _listed(rule: Callable[..., Any], xs: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]]:
    y, pb = rule(*[np.array(x) if type(x) in SEQUENCES else x for x in xs])

    def pullback(dy: Any) -> tuple[Any, ...]:
        ds = pb(dy)
        ds = ds if type(ds) is tuple else (ds,)
        pairs = zip(ds, xs, strict=False)
        return tuple(
            [
                unknown_by(d, x) if type(d) is NoDerivative else None if is_constant(x) else unstack(d, x)
                for d, x in pairs
            ]
        )

    return y, pullback


def register_table(module: Any, table: list[Entry]) -> list[RuleCase]:
    """Register a table's functions, those that this SciPy has; the cases that check them."""
    cases: list[RuleCase] = []
    for e in table:
        f = getattr(module, e.name, None)
        if f is not None:
            register(module.__name__, f, e.partials)
            cases += _cases(f, e)
    return cases


def _cases(f: Any, e: Entry) -> list[RuleCase]:
    """Arrays that broadcast, numbers, no dimensions, single precision, complex; what has no formula as an integer."""
    known = [p is not None for p in e.partials]
    at = [x for x in e.at]
    wide = [np.array([x, x * 1.03, x * 0.96]) if k else x for x, k in zip(at, known, strict=True)]
    first = known.index(True)
    mixed = list(wide)
    mixed[first] = np.array([[at[first] * 0.99], [at[first] * 1.02]])
    out = [case(f, *wide), case(f, *at)]
    if len(at) > 1:
        out += [case(f, *mixed), case(f, *[np.array(x) if k else x for x, k in zip(at, known, strict=True)])]
    if isinstance(f, np.ufunc) and any(t.replace("l", "i").rpartition("->")[2] == "f" for t in f.types):
        out.append(case(f, *[np.float32(x) if k else x for x, k in zip(wide, known, strict=True)]))
    if e.holomorphic:
        last = len(at) - 1 - known[::-1].index(True)
        z = np.array([at[last] + 0.2j, at[last] * 1.1 - 0.3j])
        out += [case(f, *at[:last], z, *at[last + 1 :]), case(f, *at[:last], at[last] + 0.1j, *at[last + 1 :])]
    return out


def sum_of(parts: list[tuple[Any, Any]], like: Any, shape: Any) -> Any:
    """The sum of cotangent times derivative over the results of a function of several, None being zero."""
    t: Any = None
    for dy, d in parts:
        if dy is not None:
            s = dy * (np.conjugate(d) if is_complex(d) else d)
            t = s if t is None else t + s
    if t is None:
        return None
    t = t if is_complex(like) or not is_complex(t) else t.real
    return total(t) if is_number(like) else unbroadcast(t, shape)


def quotient(a: Any, x: Any, at_zero: complex) -> Any:
    """a / x, where both may be zero and there is a limit."""
    return np.where(x == 0, at_zero, a / np.where(x == 0, 1.0, x))


pure.update({sum_of, quotient})
