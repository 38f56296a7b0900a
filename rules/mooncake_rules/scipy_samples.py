"""scipy.stats: statistics and tests of samples, whose wrappers see to `axis`, `nan_policy` and `keepdims`.

One wrapper is around every such function, and it is long. Where there is nothing to see to (no number is missing, and
the function itself works along the last axis or is given rows) it is differentiated as the few lines that are left of
it; else by its own code.
"""

from __future__ import annotations

import types as pytypes
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.stats import _axis_nan_policy, _stats_py

from mooncake_py.errors import MissingRule
from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.stop import no_diff
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors

_NAME = "axis_nan_policy_wrapper"
_CELLS = {
    *("default_axis", "hypotest_fun_in", "is_too_small", "kwd_samples", "n_outputs", "n_samples", "override", "paired"),
    *("result_to_tuple", "tuple_to_result"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How the arguments of one call are passed on."""

    names: tuple[str, ...]  # of the arguments given by position
    samples: tuple[str, ...]
    positional: int  # how many of the samples are passed by position
    dtype: Any
    shapes: tuple[tuple[int, ...], ...]  # of the samples when they are broadcast, none where they are made rows
    present: tuple[Any, ...]  # by sample, where some numbers are left out: which stay
    last: bool  # are the axes to be reduced moved to the end?
    axes: tuple[int, ...]
    keepdims: bool
    outputs: int


_TAKEN = ("axis", "nan_policy", "keepdims")


def _parameters(f: Any) -> tuple[list[str], bool]:
    """The names of the positional parameters, and is there `*args`?"""
    code = f.__code__
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return names, bool(code.co_flags & 0x04)


def plan_of(of: dict[str, Any], args: tuple[Any, ...], kwds: dict[str, Any]) -> Plan | None:
    """The plan of a call; None where the wrapper has work to do, or an error to raise."""
    params, star = _parameters(of["hypotest_fun_in"])
    if of["n_samples"] is None:
        params = [f"arg{i}" for i in range(len(args))] + params
    elif star or len(args) > len(params):
        return None
    names = tuple(params[: len(args)])
    given = dict(zip(names, args, strict=True))
    if given.keys() & kwds.keys():
        return None
    given.update(kwds)
    count = of["n_samples"](given) if callable(of["n_samples"]) else of["n_samples"] or len(args)
    samples = [*params[:count], *(k for k in of["kwd_samples"] if given.get(k) is not None)]
    if any(k not in given for k in samples):
        return None
    if any(isinstance(given[k], np.ndarray) and type(given[k]) is not np.ndarray for k in samples):
        return None  # masked arrays
    axis = given.get("axis", of["default_axis"])
    arrays = [np.atleast_1d(given[k]) for k in samples]
    dtype = np.result_type(*arrays)
    if dtype.kind not in "fc":
        return None
    missing = any(np.isnan(x).any() for x in arrays)
    ndim = max(x.ndim for x in arrays)
    axes = tuple(range(ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    shapes: tuple[tuple[int, ...], ...] = ()
    present: tuple[np.ndarray, ...] = ()
    if axis is None or ndim == 1:
        rows = [x.ravel() for x in arrays]
        fitting = not of["paired"] or len({x.size for x in rows}) == 1
        if missing and fitting and given.get("nan_policy") == "omit":
            present = _present(rows, of["paired"])
            rows = [x[stay] for x, stay in zip(rows, present, strict=True)]
            missing = False
    elif "axis" in params and not of["override"]["vectorization"]:
        try:
            arrays = _axis_nan_policy._broadcast_arrays(arrays, axis=None if of["paired"] else axis)
        except ValueError:
            return None
        shapes = tuple([x.shape for x in arrays])
        rows = [np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*_kept(x.shape, axes), -1) for x in arrays]
    else:
        return None
    options = {k: v for k, v in given.items() if k not in (*samples, *_TAKEN)}
    if missing or any(x.size == 0 for x in rows) or of["is_too_small"](rows, options):
        return None
    outputs = of["n_outputs"](options) if callable(of["n_outputs"]) else of["n_outputs"]
    last = axis is not None and ndim > 1
    keepdims = bool(given.get("keepdims", False))
    return Plan(names, tuple(samples), count, dtype, shapes, present, last, axes, keepdims, outputs)


def _present(rows: list[np.ndarray], paired: bool) -> tuple[np.ndarray, ...]:
    """Which numbers of samples are no NaN; of pairs, in both."""
    present = [~np.isnan(x) for x in rows]
    return (np.logical_and.reduce(present),) * len(rows) if paired else tuple(present)


def _kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
    """The lengths of the axes that are not reduced."""
    reduced = {k % len(shape) for k in axes}
    return [n for k, n in enumerate(shape) if k not in reduced]


def at_the_end(x, axes):
    """The axes as one, the last."""
    n = len(axes)
    y = np.moveaxis(x, axes, tuple(range(-n, 0)))
    return np.reshape(y, (*np.shape(y)[: np.ndim(y) - n], -1))


def _spelled_out(f: Any) -> None:
    cells = f.__closure__
    of = {k: c.cell_contents for k, c in zip(f.__code__.co_freevars, cells, strict=True)}
    inner, to_tuple, from_tuple = of["hypotest_fun_in"], of["result_to_tuple"], of["tuple_to_result"]
    whole = pytypes.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
    whole.__kwdefaults__ = f.__kwdefaults__

    @overlay(f)
    def of_samples(*args, _no_deco=False, **kwds):
        if _no_deco:
            return inner(*args, **kwds)
        plan = plan_of(of, args, kwds)
        if plan is None:
            return whole(*args, **kwds)
        given = dict(kwds)
        for k, v in zip(plan.names, args, strict=True):
            given[k] = v
        rows = []
        for i, k in enumerate(plan.samples):
            x = np.asarray(given.pop(k), plan.dtype)
            if plan.last and np.shape(x) != plan.shapes[i]:
                x = x * np.ones(plan.shapes[i], plan.dtype)
            x = at_the_end(x, plan.axes) if plan.last else np.ravel(x)
            rows.append(x[plan.present[i]] if plan.present else x)
        for k in _TAKEN:
            given.pop(k, None)
        if plan.last:
            given["axis"] = -1
        for k, x in zip(plan.samples[plan.positional :], rows[plan.positional :], strict=True):
            given[k] = x
        parts = to_tuple(inner(*rows[: plan.positional], **given), plan.outputs)
        if plan.keepdims:
            parts = [v if isinstance(v, int) else np.expand_dims(v, plan.axes) for v in parts]
        return from_tuple(*parts)


def _with_inner(f: Any) -> list[pytypes.FunctionType]:
    """A function and those that it has in its cells, as a decorator's has; nothing for what is no function."""
    if not isinstance(f, pytypes.FunctionType):
        return []
    return [f, *[c.cell_contents for c in f.__closure__ or () if isinstance(c.cell_contents, pytypes.FunctionType)]]


zero_derivative(plan_of)
for _module in (st, st.mstats):
    for _f in {g: None for v in vars(_module).values() for g in _with_inner(v)}:
        if _f.__code__.co_name == _NAME and set(_f.__code__.co_freevars) >= _CELLS:
            _spelled_out(_f)
zero_derivative(st.rankdata, _axis_nan_policy._contains_nan)

if hasattr(_stats_py, "_xp_var"):

    @mirrors(_stats_py._xp_var)
    def variance(x, axis=None, correction=0, keepdims=False, nan_policy="propagate", dtype=None, xp=None):
        """What is left out must not come back as zero times what is not a number."""
        f = np.nanvar if nan_policy == "omit" else np.var
        return f(np.asarray(x), axis, dtype, ddof=correction, keepdims=keepdims)


# -- statistics from ranks, and of medians ----------------------------------------------------------------

zero_derivative(st.wilcoxon, st.weightedtau)


def expectile_found(a, alpha, weights, axis):
    along = {"axis": axis} if a.ndim > 1 else {}  # which SciPy knows since 1.18
    return np.expand_dims(st.expectile(a, alpha, weights=weights, **along), axis)


@overlay(st.expectile)
def expectile(a, alpha=0.5, *, weights=None, axis=None, nan_policy="propagate", keepdims=False):
    """The mean by weights that are other above it than below."""
    if nan_policy == "omit":
        raise MissingRule(
            "scipy.stats.expectile is not differentiated with nan_policy='omit': leave out what is missing"
        )
    x = np.asarray(a, float)
    w = np.ones(np.shape(x)) if weights is None else np.asarray(weights, float) * np.ones(np.shape(x))
    y, w, along = (np.ravel(x), np.ravel(w), -1) if axis is None else (x, w, axis)
    found = expectile_found(y, alpha, w, along)
    m = np.abs((y <= found) - alpha) * w
    t = np.sum(m * y, axis=along) / np.sum(m, axis=along)
    t = np.squeeze(found, along) + (t - no_diff(t))  # the value that SciPy finds, to the last bit
    if keepdims:
        return np.reshape(t, (1,) * np.ndim(x)) if axis is None else np.expand_dims(t, axis)
    return t


@mirrors(st.siegelslopes)
def siegelslopes(y, x=None, method="hierarchical"):
    """Medians of the medians of the slopes, and of the intercepts, between each point and the others."""
    ys = np.ravel(np.asarray(y, float))
    xs = np.arange(len(ys), dtype=float) if x is None else np.ravel(np.asarray(x, float))
    slopes, intercepts = [], []
    for j in range(len(ys)):
        others = np.flatnonzero(xs != xs[j])
        steps = xs[others] - xs[j]
        slopes.append(np.median((ys[others] - ys[j]) / steps))
        intercepts.append(np.median((ys[j] * xs[others] - ys[others] * xs[j]) / steps))
    slope = np.median(np.stack(slopes))
    if method == "separate":
        return slope, np.median(np.stack(intercepts))
    return slope, np.median(ys - slope * xs)


zero_derivative(expectile_found)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.9, -0.4, 1.7, 0.3, 2.2, -1.1, 0.6])
_Y = np.array([1.2, 0.1, 1.1, 0.9, 2.9, -0.7, 0.2])
_M = np.stack([_X, _Y, _X * _Y + 0.3])
_WITH_NAN = np.array([0.9, -0.4, np.nan, 0.3, 2.2])


def _ranked(x):
    return st.rankdata(x) * x, st.spearmanr(x, _Y)[0] + x


_EXPECTILES = [case(st.expectile, _M, axis=1, keepdims=True)] if "axis" in signature(st.expectile).parameters else []
CASES: list[RuleCase] = [
    case(lambda x, y: (st.pearsonr(x, y)[0], st.pearsonr(x, y).pvalue), _X, _Y), case(st.zscore, _X),
    case(lambda x, y: (st.linregress(x, y).slope, st.linregress(x, y).intercept_stderr), _X, _Y),
    case(lambda x, y: tuple(st.f_oneway(x, y)), _X, _Y), case(lambda x, y: st.ttest_ind(x, y).pvalue, _X, _Y),
    case(lambda x: st.ttest_1samp(x, 0.1).statistic, _X),
    case(lambda x: st.ttest_1samp(x, 0.1).confidence_interval(0.9), _X),
     case(lambda x, y: st.ttest_rel(x, y).pvalue, _X, _Y),
    case(st.skew, _X), case(st.skew, _M, axis=1), case(st.kurtosis, _M, axis=0, fisher=False),
    case(st.kurtosis, _M, axis=None, keepdims=True), case(st.moment, _X, 3), case(st.sem, _M, axis=1, ddof=0),
    case(st.variation, _M, axis=1, keepdims=True), case(st.gmean, _M**2, axis=1),
    case(st.gmean, _M**2, axis=1, weights=_Y**2), case(st.tvar, _M, (-1.0, 2.0), axis=1), case(st.hmean, _X**2),
    case(lambda x, w: st.gmean(x, weights=w), _X**2, _Y**2), case(st.entropy, _X**2), case(st.iqr, _M, axis=1),
    case(lambda p, q: st.entropy(p, q), _X**2, _Y**2), case(st.skew, _WITH_NAN, nan_policy="omit"),
    case(lambda x, y: st.ttest_rel(x, y, nan_policy="omit").pvalue, _WITH_NAN, _Y[:5]),
    case(lambda x, y: st.ttest_ind(x, y, nan_policy="omit").pvalue, _WITH_NAN, _Y),
    case(st.gstd, _X**2 + 0.3), case(st.trim_mean, _X, 0.2), case(st.median_abs_deviation, _X),
    case(lambda x, p, w: st.expectile(x, p, weights=w), _X, 0.3, _Y**2), *_EXPECTILES,
    *[case(lambda y, x, m=m: tuple(st.siegelslopes(y, x, m)), _Y, _X) for m in ("hierarchical", "separate")],
    case(lambda x: st.wilcoxon(x * x - 0.5).pvalue * x, _X),
    case(lambda x: st.describe(x).variance, _X), case(_ranked, _X), case(st.circmean, _X),
]  # fmt: skip
