"""One call of a rule against central differences, on copies of its arguments, while a run goes on."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.diagnostics import facts
from mooncake_py.diagnostics.mode import enter, leave
from mooncake_py.errors import MissingRule
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.user import Seen, report, seed
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import zero_fdata
from mooncake_py.testing import _all_double, _double, _inner, _moved, _random, _size, leaves
from mooncake_py.trees import moved

if TYPE_CHECKING:
    from mooncake_py.diagnostics.rules import Watch

_STEPS = (1e-6, 1e-5, 1e-4, 1e-7)
_NOT_UNIQUE = frozenset({"eig", "eigh", "svd", "qr", "cho_factor", "lu_factor", "least_singular_vector"})
"""Factors whose signs and phases, or whose other half, are left open: differences of them mean nothing."""
SLACK = 1e-4  # relative: a wrong rule is wrong by more, a difference at an unlucky step by less


def wrong_numbers(watch: Watch) -> tuple[str, str] | None:
    """What is wrong and what to do, where the rule's cotangents are not the function's slopes; None where they are."""
    site, rule, kwargs = watch.site, watch.site.rule, watch.kwargs
    if getattr(site.rule.target, "__name__", "") in _NOT_UNIQUE:
        return None
    if "where" in kwargs or not facts.plain_data(tuple(kwargs.values())):
        return None
    args = watch.at_first
    if not all(map(facts.plain_data, args)) or not any(True for _ in leaves(args)):
        return None
    rng = np.random.default_rng(0)
    given = tuple(map(_apart, args))
    written = [i for i in rule.mutates if i < len(given)]
    fargs = tuple(map(zero_fdata, given))
    token = enter(None)  # this call is not watched
    try:
        y, fy, pb = run_rule(site.f, rule, given, fargs, copy.deepcopy(kwargs), (None,) * len(kwargs))
    finally:
        leave(token)
    outputs = [] if any(y is given[i] for i in written) else [y]
    outputs += [given[i] for i in written]
    cotangents = [_random(o, rng) for o in outputs]
    if not any(True for _ in leaves(cotangents)):
        return None
    whole = copy.deepcopy(cotangents)
    if not any(y is given[i] for i in written):
        dy = whole.pop(0)
        seed(y, fy, dy)
    else:
        dy = None
    for i, d in zip(written, whole, strict=True):
        seed(given[i], fargs[i], d)
    try:
        ds = pb(_in_variables(fy, dy)) if pb is not None else None
    except MissingRule:  # a part of the result that the rule has no derivative for
        return None
    rdata = (None,) * len(args) if ds is None else ds[1:]
    for i, x in enumerate(args):
        if not any(True for _ in leaves(x)):
            continue
        if isinstance(rdata[i], NoDerivative):
            continue
        d = report(x, fargs[i], rdata[i], Seen(), frozenset())
        found = _direction(watch, args, i, _random(x, rng), written, cotangents, d)
        if found is not None:
            name = site.argument(i)
            return (
                f"the pullback of {site.name} is wrong by {name}: along a random direction it gives {found[0]:.9g}, "
                f"differences give {found[1]:.9g}",
                "compare the pullback with the derivative of the function: mooncake_py.testing.check_rule does this",
            )
    return None


def _apart(x: Any) -> Any:
    """x in new memory; what is in two places in two pieces of it, since differences move one at a time."""
    return moved(x, lambda v, _: copy.deepcopy(v))


def _in_variables(fy: Any, dy: Any) -> Any:
    """What of a cotangent is not in the fdata of its value."""
    if type(fy) is tuple and isinstance(dy, (tuple, list)):
        return tuple(_in_variables(f, d) for f, d in zip(fy, dy, strict=True))
    return dy if fy is None else None


def _direction(
    watch: Watch, args: tuple[Any, ...], i: int, v: Any, written: list[int], cotangents: list[Any], d: Any
) -> tuple[float, float] | None:
    """(what the pullback gives, what differences give) along v, where they differ."""
    got = _inner(d, v)
    if not np.isfinite(got):
        return None  # check_finite is for that
    f, kwargs = watch.site.f, watch.kwargs
    single = any(np.asarray(x).dtype in (np.float32, np.complex64) for x in leaves((args, cotangents)))
    slack = 5e-3 if single else SLACK

    def value(t: float) -> float:
        moved = [_moved(a, v, t) if k == i else _all_double(a) for k, a in enumerate(args)]
        y = f(*moved, **copy.deepcopy(kwargs))
        outputs = [] if any(y is moved[k] for k in written) else [y]
        outputs += [moved[k] for k in written]
        return sum(_inner(c, _double_of(o)) for c, o in zip(cotangents, outputs, strict=True))

    slope = 0.0
    with np.errstate(all="ignore"):
        try:
            here = value(0.0)
            for h in _STEPS:
                lo, hi = value(-h), value(h)
                left, right, slope = (here - lo) / h, (hi - here) / h, (hi - lo) / (2 * h)
                if not np.isfinite(slope):
                    continue
                room = 1e-7 + slack * max(abs(slope), _size(d, v)) + 1e-13 * abs(here) / h
                if min(left, right) - room <= got <= max(left, right) + room:
                    return None
        except Exception:  # moved out of the function's domain
            return None
    return (got, slope) if np.isfinite(slope) else None


def _double_of(x: Any) -> Any:
    return x if isinstance(x, (tuple, list, dict)) else _double(x)
