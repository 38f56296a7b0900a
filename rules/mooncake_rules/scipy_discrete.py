"""scipy.stats: probabilities and distribution functions of the discrete distributions, by their shapes.

By whole numbers, the argument and the location, they are refused where these are active.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.stats as st

from mooncake_py.registry import infer_table, overlay, rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_library import fitted, is_constant, unknown_by
from mooncake_rules.scipy_stats import are_floats, cotangents_of, known, numbers_of, of_whole_numbers


def _discrete_cotangents(name: str, dist: Any, dy: Any, y: Any, k: Any, args: Any, kwds: Any) -> tuple[Any, ...]:
    shapes, loc, _ = dist._parse_args(*args, **kwds)
    whole = [np.asarray(v, dtype=float) for v in np.broadcast_arrays(k, loc, *shapes, dy, y)]
    at = whole[0] - whole[1]
    lost = (whole[-2] != 0) & np.isnan(whole[-1])  # nothing is a derivative where it is not defined
    good = np.isfinite(at) & (whole[-2] != 0) & np.isfinite(whole[-1])
    good = good & dist._support_mask(np.floor(at), *whole[2:-2])
    if name in ("pmf", "logpmf"):
        good = good & (np.floor(at) == at)
    zs, ds, ys = at[good], whole[-2][good], whole[-1][good]
    values = [v[good] for v in whole[2:-2]]
    method = {"pmf": "_pmf", "logpmf": "_logpmf"}.get(name, "_cdf")
    if name in ("sf", "logsf"):
        ds = -ds
    if name in ("logcdf", "logsf"):
        ds = ds * np.exp(-ys)
    if name == "pmf" and type(dist)._logpmf is not st.rv_discrete._logpmf:
        method, ds = "_logpmf", ds * ys
    if name == "logpmf" and type(dist)._logpmf is st.rv_discrete._logpmf:
        method, ds = "_pmf", ds * np.exp(-ys)
    floats = are_floats(shapes)
    steps = of_whole_numbers(dist, name, shapes, floats)
    zs, on = np.floor(zs), [False, *[k and s is None for k, s in zip(floats, steps, strict=True)]]
    dshapes: list[Any] = [None] * len(values)
    if good.any() and values:
        dshapes = cotangents_of(getattr(dist, method), ds, [zs, *values], on)[1:]
    if name == "pmf" and method == "_logpmf" and np.any(ys == 0):  # which is infinite there
        direct = cotangents_of(dist._pmf, whole[-2][good], [zs, *values], on)[1:]
        dshapes = [known(t, d) for t, d in zip(dshapes, direct, strict=True)]

    def whole_of(t: Any) -> Any:
        if type(t) is NoDerivative:
            return t
        out = np.where(lost, np.nan, 0.0)
        out[good] = 0.0 if t is None else t
        return out

    owner = f"{type(dist).__module__}.{type(dist).__qualname__}.{name}"
    step = NoDerivative(owner, "a whole number (k or loc)")
    names = [s.strip() for s in dist.shapes.split(",")] if dist.shapes else []
    found = [whole_of(t if s is None else s) for t, s in zip(dshapes, steps, strict=True)]
    if len(found) > len(names):  # one array of many probabilities
        found = [next((t for t in found if type(t) is NoDerivative), None) or np.stack(found, -1)]
    of = dict(zip([*names, "loc"], [*found, step], strict=True))
    of = {
        n: None if is_constant(v) else of[n]
        for n, v in {**dict(zip([*names, "loc"], args, strict=False)), **kwds}.items()
    }
    positional = [fitted(of[n], v) for n, v in zip([*names, "loc"], args, strict=False)]
    return None, unknown_by(step, k), *positional, *(fitted(of[n], v) for n, v in kwds.items())


def _discrete_method(name: str) -> None:
    f = getattr(st.rv_discrete, name)

    @rrule(f)
    def rule(self, k, *args, **kwds):
        y = f(self, k, *args, **kwds)

        def pullback(dy):
            return _discrete_cotangents(name, self, dy, y, k, args, kwds)

        return y, pullback


for _name in ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"):
    _discrete_method(_name)
    infer_table[getattr(st.rv_discrete, _name)] = numbers_of


_Poisson: Any = type(st.poisson)


@rrule(_Poisson._pmf)
def poisson_mass(self, k, mu):
    y = _Poisson._pmf(self, k, mu)

    def pullback(dy):
        before = np.where(np.asarray(k) > 0, _Poisson._pmf(self, np.maximum(k, 1) - 1, mu), 0.0)
        return None, unknown_by(NoDerivative("scipy.stats.poisson", "k"), k), fitted(dy * (before - y), mu)

    return y, pullback


def _sum_of_trials(cls: Any) -> None:
    """poisson_binom: how many of several events happen, one after the other."""

    def probabilities(p):
        mass = [1.0 - p[0], p[0]]
        for q in p[1:]:
            mass = [mass[0] * (1.0 - q), *[b * (1.0 - q) + a * q for a, b in itertools.pairwise(mass)], mass[-1] * q]
        return mass

    def at(k, values):
        k = np.asarray(k)
        return sum([np.where(k == i, v, 0.0) for i, v in enumerate(values)])

    @overlay(cls._pmf)
    def pmf(self, k, *args):
        return at(k, probabilities(args))

    @overlay(cls._cdf)
    def cdf(self, k, *args):
        return at(k, itertools.accumulate(probabilities(args)))


if hasattr(st, "poisson_binom"):
    _sum_of_trials(type(st.poisson_binom))

# -- cases ------------------------------------------------------------------------------------------------


def _discrete_case(dist: Any, name: str, k: Any, *shapes: Any) -> RuleCase:
    method = getattr(dist, name)

    def call(*a):
        return method(k, *a)

    call.__qualname__ = f"{dist.name}.{name}"
    return case(call, *shapes)


_DISCRETE: list[tuple[Any, ...]] = [
    (st.poisson, np.array([0, 2, 5]), 2.3), (st.geom, np.array([1, 2, 5]), 0.3),
    (st.bernoulli, np.array([0, 1, 1]), 0.3), (st.logser, np.array([1, 2, 4]), 0.4),
]  # fmt: skip
CASES: list[RuleCase] = [
    *[_discrete_case(d, m, k, *a) for d, k, *a in _DISCRETE for m in ("pmf", "logpmf")],
    *[_discrete_case(st.poisson, m, np.array([0, 2, 5]), 2.3) for m in ("cdf", "sf", "logcdf", "logsf")],
    case(lambda p: st.binom.logpmf(np.array([0, 2, 5]), 7, p), 0.3), case(lambda p: st.binom.cdf(2, 7, p), 0.3),
    case(lambda p: st.nbinom.logpmf(np.array([0, 2, 5]), 7, p), 0.3),
    case(lambda m: st.poisson(m).logpmf(np.array([0, 2, 5])), 2.3),
    case(lambda m: st.poisson.logpmf([0.0, 1.0, 2.0], m), 1.3), case(lambda p: st.binom.pmf([1.0, 2.0], 5.0, p), 0.3),
]  # fmt: skip
if hasattr(st, "poisson_binom"):
    _P = np.array([0.3, 0.6, 0.2])
    CASES += [
        case(lambda p, m=m: getattr(st.poisson_binom, m)([0, 1, 3], p), _P) for m in ("pmf", "logpmf", "cdf", "sf")
    ]
    CASES.append(case(lambda p: st.poisson_binom.mean(p) * st.poisson_binom.std([p[0], 0.4]), np.array([0.3, 0.6])))
