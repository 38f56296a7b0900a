"""scipy.stats: densities and distribution functions of every distribution, by argument, location, scale and shapes.

The public methods have rules; the derivative of what they call, a distribution's own `_logpdf`, `_pdf` or `_cdf`, is
that of its Python code. The derivative of a distribution function by its argument is the density.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.stats as st

from mooncake_py.errors import MooncakeError, NotDifferentiated
from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.registry import infer_table, rrule, zero_derivative
from mooncake_py.run import current as run_of_now
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, DictShadow, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.inference import Types, nested
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_records import tuple_classes
from mooncake_rules.scipy_tails import tail_cotangents

# -- elementwise functions by cases -----------------------------------------------------------------------


def _by_cases(cond: Any, arrays: Any, f1: Any, ff1: Any, f2: Any, ff2: Any, fill: Any) -> Any:
    """f1 of the elements where cond holds, f2 (or `fill`) elsewhere: the value and its pullback to the arrays."""
    single = not isinstance(arrays, (tuple, list))
    given = [arrays] if single else list(arrays)
    whole = np.broadcast_arrays(cond, *given)
    mask, xs = np.asarray(whole[0], dtype=bool), whole[1:]
    parts = []
    for f, ff, m in ((f1, ff1, mask), (f2, ff2, ~mask)):
        if f is not None and m.any():
            parts.append((m, *run(f, ff, [x[m] for x in xs])))
    kinds = [np.asarray(y).dtype for _, y, _ in parts] + ([] if f2 is not None else [np.asarray(fill).dtype])
    dtype = np.result_type(*kinds) if f2 is not None or not parts else np.result_type(kinds[0], kinds[-1])
    out = np.empty(mask.shape, dtype) if f2 is not None else np.array(np.broadcast_to(fill, mask.shape), dtype)
    for m, y, _ in parts:
        out[m] = y

    def pull(dy: Any) -> Any:
        ds = [np.zeros(mask.shape) for _ in xs]
        for m, y, pull_part in parts:
            for d, t in zip(ds, pull_part(np.broadcast_to(np.asarray(dy)[m], np.shape(y))), strict=True):
                if t is not None:
                    d[m] = t
        back = [fitted(d, x) for d, x in zip(ds, given, strict=True)]
        dfill = None if fill is None or f2 is not None else fitted(np.where(mask, 0.0, dy), fill)
        return back[0] if single else type(arrays)(back), dfill

    return out, pull


_NO_FUNCTION = CoDual(None, None)


def _apply_where(apply_where: Any) -> None:
    @rrule(apply_where)
    def rule(cond, args, f1: CoDual, f2: CoDual = _NO_FUNCTION, /, *, fill_value=None, kwargs=None, xp=None):
        if kwargs is not None:
            raise NotDifferentiated("apply_where with kwargs is not differentiated")
        y, pull = _by_cases(cond, args, f1.primal, f1.fdata, f2.primal, f2.fdata, fill_value)
        fy = zero_fdata(y)

        def pullback(dy):
            dy = take_fdata(fy, dy)
            if dy is None:
                return None
            dargs, dfill = pull(dy)
            return None, dargs, None, None, dfill

        return CoDual(y, fy), pullback


def _lazywhere(lazywhere: Any) -> None:
    @rrule(lazywhere)
    def rule(cond, arrays, f: CoDual, fillvalue=None, f2: CoDual = _NO_FUNCTION):
        y, pull = _by_cases(cond, arrays, f.primal, f.fdata, f2.primal, f2.fdata, fillvalue)
        fy = zero_fdata(y)

        def pullback(dy):
            dy = take_fdata(fy, dy)
            if dy is None:
                return None
            dargs, dfill = pull(dy)
            return None, dargs, None, dfill

        return CoDual(y, fy), pullback


def _register_cases() -> None:
    """Under whichever name this SciPy has it."""
    import scipy._lib._util as util
    import scipy.stats._continuous_distns as distributions

    apply_where = getattr(getattr(distributions, "xpx", None), "apply_where", None)
    if apply_where is not None:
        _apply_where(apply_where)
    lazywhere = getattr(util, "_lazywhere", None)
    if lazywhere is not None:
        _lazywhere(lazywhere)


_register_cases()

# -- the methods of distributions -------------------------------------------------------------------------


def cotangents_of(method: Any, weight: Any, args: list[Any], on: list[bool]) -> list[Any]:
    """The cotangents of those arguments that are `on`, for the cotangent `weight` of `method(*args)`.

    Where the method cannot be differentiated by all of them it is by each alone, as far as that goes; the others'
    are refused if somebody asks.
    """
    try:
        y, pull = run(method, None, args, on)
        return list(pull(np.broadcast_to(weight, np.shape(y)).astype(float)))
    except MooncakeError as e:
        if sum(on) < 2:
            dist = type(method.__self__)
            name = f"{dist.__module__}.{dist.__qualname__}.{method.__name__}"
            return [NoDerivative(name, f"its argument number {i + 1}", str(e)) if k else None for i, k in enumerate(on)]
    alone = [[k and j == i for j in range(len(on))] for i, k in enumerate(on)]
    return [cotangents_of(method, weight, args, one)[i] if on[i] else None for i, one in enumerate(alone)]


def _overrides(dist: Any, name: str) -> bool:
    return getattr(type(dist), name) is not getattr(st.rv_continuous, name)


def _log_density(dist: Any, weight: Any, args: list[Any], on: list[bool]) -> list[Any]:
    """The cotangents of z and the shapes for the cotangent `weight` of the log density."""
    out: list[Any] = []
    if _overrides(dist, "_logpdf"):
        out = cotangents_of(dist._logpdf, weight, args, on)
        if not _overrides(dist, "_pdf") or not any(type(t) is NoDerivative for t in out):
            return out
    with np.errstate(divide="ignore", invalid="ignore"):
        w = np.where(weight == 0, 0.0, weight / dist._pdf(*args))
    return cotangents_of(dist._pdf, w, args, on)


def _probability(name: str, dist: Any, dy: Any, y: Any, args: list[Any], on: list[bool]) -> list[Any]:
    """The cotangents of the shapes for the cotangent of a distribution function, its rest, or their logarithms.

    By the distribution's own code for it, as far as that goes: the others lose the digits of what is small.
    """
    if not any(on[1:]):
        return [None] * (len(on) - 1)
    found: list[Any] = [NoDerivative("", "")] * (len(on) - 1)
    for cotangents in _ways(name, dist, dy, y, args, [False, *on[1:]]):
        found = [known(t, d) for t, d in zip(found, cotangents, strict=True)]
        if all(t is None or (type(t) is not NoDerivative and not np.isnan(t).any()) for t in found):
            break
    return [_unless_flat(name, t, y) for t in found]


def _ways(name: str, dist: Any, dy: Any, y: Any, args: list[Any], on: list[bool]) -> Iterator[list[Any]]:
    """The cotangents of the shapes by one method after the other; the first is the best.

    Of a tail whose own code is not differentiated, what the rest of the distribution says has lost its digits.
    """
    if name != "cdf" and _overrides(dist, f"_{name}"):
        yield cotangents_of(getattr(dist, f"_{name}"), dy, args, on)[1:]
    weight = dy * np.exp(-y) if name.startswith("log") else dy
    if name == "logsf" and _overrides(dist, "_sf"):
        yield cotangents_of(dist._sf, weight, args, on)[1:]
    weight = -weight if name.endswith("sf") else weight
    tail = name.endswith("sf") and _overrides(dist, "_sf")
    if tail:
        yield from _by_tail(dist, weight, args, on)
    yield cotangents_of(dist._cdf, weight, args, on)[1:]
    if not tail:
        yield from _by_tail(dist, weight, args, on)


def _by_tail(dist: Any, weight: Any, args: list[Any], on: list[bool]) -> Iterator[list[Any]]:
    if not _overrides(dist, "_get_support"):
        yield tail_cotangents(dist, weight, args, on, _log_density)


def known(t: Any, other: Any) -> Any:
    """The cotangent t, where it is one; else the other."""
    if type(t) is NoDerivative or t is None:
        return other
    return t if other is None or type(other) is NoDerivative else np.where(np.isnan(t), other, t)


def _unless_flat(name: str, slope: Any, y: Any) -> Any:
    """What is 0 or 1 to the last digit has no slope, where it is lost to infinite steps."""
    if slope is None or type(slope) is NoDerivative:
        return slope
    flat = y == 0 if name.startswith("log") else (y == 0) | (y == 1)
    return np.where(np.isnan(slope) & flat, 0.0, slope)


def _of_inverse(slope: Any, p: Any, dy: Any) -> Any:
    """Where the distribution function does not depend on a shape, its inverse does not, whatever the density p is."""
    if slope is None or type(slope) is NoDerivative:
        return slope
    return np.where(slope == 0, 0.0, -dy * slope / np.where(slope == 0, 1.0, p))


def are_floats(xs: Any) -> list[bool]:
    return [np.asarray(x).dtype.kind == "f" for x in xs]


def of_whole_numbers(dist: Any, name: str, shapes: Any, on: list[bool]) -> list[NoDerivative | None]:
    """What refuses a derivative by shapes that can only be whole numbers: half a step away nothing is defined."""
    out: list[NoDerivative | None] = [None] * len(shapes)
    for i, info in enumerate(dist._shape_info() if any(on) and hasattr(dist, "_shape_info") else ()):
        if not info.integrality or not on[i]:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            between = dist._argcheck(*[s + 0.5 if k == i else s for k, s in enumerate(map(np.asarray, shapes))])
        if not np.any(between):
            owner = f"{type(dist).__module__}.{type(dist).__qualname__}.{name}"
            out[i] = NoDerivative(owner, f"a whole number ({info.name})")
    return out


def _cotangents(name: str, dist: Any, dy: Any, y: Any, x: Any, args: Any, kwds: dict[str, Any]) -> tuple[Any, ...]:
    """The cotangents of `getattr(dist, name)(x, *args, **kwds)`: of dist, x, args and kwds.

    Where the value is not defined, or an inverse is infinite, nothing is a derivative: NaN.
    """
    shapes, loc, scale = dist._parse_args(*args, **kwds)
    whole = [np.asarray(v, dtype=float) for v in np.broadcast_arrays(x, loc, scale, *shapes, dy, y)]
    inverse = name in ("ppf", "isf")
    lost = (whole[-2] != 0) & (~np.isfinite(whole[-1]) if inverse else np.isnan(whole[-1]))
    out: list[Any] = [np.where(lost, np.nan, 0.0) for _ in whole[:-2]]
    with np.errstate(divide="ignore", invalid="ignore"):
        units = ((whole[-1] if inverse else whole[0]) - whole[1]) / whole[2]
    floats = are_floats(shapes)
    steps = of_whole_numbers(dist, name, shapes, floats)
    on = [True, *[k and step is None for k, step in zip(floats, steps, strict=True)]]
    for where, of_these in _regions(name, dist, whole, units, (whole[-2] != 0) & ~lost):
        if where.any():
            z, ss, ds, ys, *values = (v[where] for v in (units, whole[2], whole[-2], whole[-1], *whole[3:-2]))
            dx, dloc, dscale, dshapes = of_these(name, dist, ds, ys, ss, [z, *values], on)
            for i, t in enumerate((dx, dloc, dscale, *dshapes)):
                if type(t) is NoDerivative:
                    out[i] = t
                elif t is not None and type(out[i]) is not NoDerivative:
                    out[i][where] = t
    out[3:] = [t if step is None else step for t, step in zip(out[3:], steps, strict=True)]
    names = [s.strip() for s in dist.shapes.split(",")] if dist.shapes else []
    order = [*names, "loc", "scale"]
    of = dict(zip(order, [*out[3:], *out[1:3]], strict=True))
    positional = [fitted(of[k], v) for k, v in zip(order, args, strict=False)]
    return None, fitted(out[0], x), *positional, *(fitted(of[k], v) for k, v in kwds.items())


def _regions(name: str, dist: Any, whole: Any, units: Any, good: Any) -> list[tuple[Any, Any]]:
    """Which elements have cotangents other than zero, and what they are of."""
    if name in ("ppf", "isf"):
        inner = (whole[0] > 0) & (whole[0] < 1)
        return [(good & inner, _parts), (good & ~inner, _parts_of_end)]
    inner = good & dist._support_mask(units, *whole[3:-2]) & np.isfinite(whole[0])
    if name == "pdf":
        low, high = dist._get_support(*whole[3:-2])
        ends = good & (low <= units) & (units <= high) & np.isfinite(whole[0])
        return [(inner & (whole[-1] != 0), _parts), (ends & (whole[-1] == 0), _parts_of_zero)]
    return [(inner, _parts)]


Parts = tuple[Any, Any, Any, list[Any]]
"""The cotangents of argument, location, scale and shapes."""


def _parts(name: str, dist: Any, dy: Any, y: Any, scale: Any, args: list[Any], on: list[bool]) -> Parts:
    """Where all is well defined; args are z and the shapes."""
    z = args[0]
    if name in ("pdf", "logpdf"):
        weight = dy * y if name == "pdf" else dy
        dz, *ds = _log_density(dist, weight, args, on)
        if type(dz) is NoDerivative:
            return dz, dz, dz, ds
        dz = 0.0 if dz is None else dz
        return dz / scale, -dz / scale, -(_product(dz, z) + weight) / scale, ds
    if name in ("ppf", "isf"):
        p, moved = dist._pdf(*args), dy * scale
        forward, sign = ("cdf", 1.0) if name == "ppf" else ("sf", -1.0)
        direct = _probability(forward, dist, np.ones(p.shape), np.nan, args, on)
        return sign * moved / p, dy, dy * z, [_of_inverse(t, p, sign * moved) for t in direct]
    sign = 1.0 if name in ("cdf", "logcdf") else -1.0
    if name.startswith("log"):
        dz = sign * dy * np.exp(dist._logpdf(*args) - y)
        if _overrides(dist, f"_{name}"):  # which keeps the digits that this difference may lose
            dz = known(cotangents_of(getattr(dist, f"_{name}"), dy, args, [True, *[False] * len(on[1:])])[0], dz)
    else:
        dz = sign * dy * dist._pdf(*args)
    return dz / scale, -dz / scale, -_product(dz, z) / scale, _probability(name, dist, dy, y, args, on)


def _product(dz: Any, z: Any) -> Any:
    """Of a cotangent that may be infinite where z is zero."""
    return np.where(z == 0, 0.0, dz) * z


def _parts_of_end(name: str, dist: Any, dy: Any, y: Any, scale: Any, args: list[Any], on: list[bool]) -> Parts:
    """Of an inverse at the probabilities 0 and 1: it is an end of the support, which may depend on the shapes."""
    z, *shapes = args
    with np.errstate(divide="ignore"):
        slope = (dy if name == "ppf" else -dy) * scale / dist._pdf(*args)
    return slope, dy, dy * z, _of_end(dist, dy * scale, z, shapes, on[1:])


def _parts_of_zero(name: str, dist: Any, dy: Any, y: Any, scale: Any, args: list[Any], on: list[bool]) -> Parts:
    """Of a density that is zero: it is too small, or at an end of the support; there its slope is that from within."""
    z, *shapes = args
    low, high = dist._get_support(*shapes)
    dz = np.where(z == low, _slope_from(dist, 1.0, args), np.where(z == high, _slope_from(dist, -1.0, args), 0.0))
    dz = dy * dz
    return dz / scale, -dz / scale, -_product(dz, z) / scale, _of_end(dist, -dz, z, shapes, on[1:])


def _of_end(dist: Any, weight: Any, z: Any, shapes: list[Any], on: list[bool]) -> list[Any]:
    """The cotangents of the shapes for those of the end of the support that is next to z."""
    if not _overrides(dist, "_get_support") or not any(on):
        return [None] * len(shapes)
    (low, high), pull = run(dist._get_support, None, shapes, on)
    lower = np.abs(z - low) <= np.abs(z - high)
    ends = zip((low, high), (lower, ~lower), strict=True)
    return list(pull(tuple([np.where(k, weight, 0.0) if np.ndim(end) else np.sum(weight[k]) for end, k in ends])))


def _slope_from(dist: Any, side: float, args: list[Any]) -> Any:
    """The slope of the density to one side of where it is zero, by the power of the distance that it goes with."""
    z, *shapes = args
    step = np.maximum(np.spacing(np.abs(z)), 1e-100)
    with np.errstate(all="ignore"):
        near, far = (dist._pdf(z + side * k * step, *shapes) for k in (1.0, 4.0))
        power = np.log(far / near) / np.log(4.0)
        slope = np.where(power > 0.99, near / step, np.inf)
    return side * np.where(~(near > 0) | (power > 1.01), 0.0, slope)


def _method(name: str) -> None:
    f = getattr(st.rv_continuous, name)

    @rrule(f)
    def rule(self, x, *args, **kwds):
        y = f(self, x, *args, **kwds)

        def pullback(dy):
            return _cotangents(name, self, dy, y, x, args, kwds)

        return y, pullback


def numbers_of(args: Types, kwargs: dict[str, T]) -> T | None:
    """The type of what these methods give: numbers in double precision, as many as the arguments broadcast to."""
    parts = [nested(x) for x in (*args[1:], *kwargs.values())]
    if None in parts:
        return None
    n = max([p[0] for p in parts if p is not None])
    act = any(x.active for x in (*args[1:], *kwargs.values()))
    return Arr(np.dtype(float), n, act) if n else Inst(np.float64, act)


for _name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
    _method(_name)
    infer_table[getattr(st.rv_continuous, _name)] = numbers_of

# -- frozen distributions ---------------------------------------------------------------------------------


def _frozen(cls: type) -> None:
    """`dist(*args, **kwds)`: an object that keeps the parameters for its methods, which are derived."""

    @rrule(cls)
    def rule(dist, *args: CoDual, **kwds):
        given, named = [a.primal for a in args], {k: v.primal for k, v in kwds.items()}
        y = cls(_primal(dist), *given, **named)
        fargs = tuple([_own(a) for a in args])
        fkwds = DictShadow({k: _own(v) for k, v in kwds.items()})
        shadow = ObjectShadow(y, {"args": fargs if any(f is not None for f in fargs) else None, "kwds": fkwds})
        here = run_of_now()
        here.made[id(y)] = y, shadow
        here.made[id(y.kwds)] = y.kwds, fkwds

        def pullback(dy):
            r = shadow.r.pop("args", None)
            out = [_returned(a, fargs[i], None if r is None else r[i]) for i, a in enumerate(args)]
            out += [_returned(v, fkwds.f[k], fkwds.r.pop(k, None)) for k, v in kwds.items()]
            return None, *out

        return CoDual(y, shadow), pullback


def _primal(x: Any) -> Any:
    return x.primal if type(x) is CoDual else x


def _own(x: CoDual) -> Any:
    return zero_fdata(x.primal) if x.fdata is None else x.fdata


def _returned(x: CoDual, fdata: Any, r: Any) -> Any:
    """The cotangent of a parameter as rdata: what was added to fdata of our own, nothing where it has some."""
    return take_fdata(fdata, r) if x.fdata is None else r


def _frozen_classes() -> None:
    import scipy.stats._distn_infrastructure as infrastructure

    for name in ("rv_continuous_frozen", "rv_discrete_frozen"):
        cls = getattr(infrastructure, name, None)
        if cls is not None:
            _frozen(cls)


_frozen_classes()

tuple_classes("scipy.stats")  # the results of tests

zero_derivative(st.rv_continuous._support_mask, st.rv_continuous._open_support_mask)  # where the support is infinite

by_regular_samples(st.zscore)

# -- cases ------------------------------------------------------------------------------------------------


def _method_case(dist: Any, name: str, *shapes: float) -> RuleCase:
    method = getattr(dist, name)

    def call(x, loc, scale, *a):
        return method(x, *a, loc=loc, scale=scale)

    call.__qualname__ = f"{dist.name}.{name}"
    q = np.array([0.2, 0.47, 0.83])
    x = q if name in ("ppf", "isf") else dist.ppf(q, *shapes, loc=0.3, scale=1.2)
    return case(call, x, 0.3, 1.2, *shapes)


_CONTINUOUS: list[tuple[Any, ...]] = [
    (st.norm,), (st.expon,), (st.gamma, 1.7), (st.beta, 1.3, 2.4), (st.t, 3.4), (st.chi2, 2.3), (st.f, 3.2, 5.1),
    (st.lognorm, 0.8), (st.weibull_min, 1.6), (st.weibull_max, 1.6), (st.laplace,), (st.logistic,), (st.cauchy,),
    (st.pareto, 2.3), (st.gumbel_r,), (st.gumbel_l,), (st.rayleigh,), (st.uniform,), (st.halfnorm,), (st.invgamma, 2.2),
    (st.genlogistic, 1.4), (st.maxwell,), (st.nakagami, 1.7), (st.lomax, 1.9), (st.burr12, 1.4, 2.1), (st.fisk, 2.3),
    (st.exponnorm, 1.2), (st.invgauss, 0.9), (st.powerlaw, 1.7), (st.hypsecant,), (st.loggamma, 0.9), (st.chi, 2.4),
    (st.exponweib, 1.3, 0.9),
]  # fmt: skip
_XS, _YS = np.cos(np.arange(7.0)), np.sin(1.7 * np.arange(7.0))


def _correlated(x, y):
    r = st.pearsonr(x, y)
    return r[0], r.pvalue, st.zscore(x)


def _regressed(x, y):
    r = st.linregress(x, y)
    return r.slope, r.intercept_stderr, *st.f_oneway(x, y)


CASES: list[RuleCase] = [
    *[_method_case(d, m, *a) for d, *a in _CONTINUOUS for m in ("pdf", "logpdf", "cdf")],
    *[_method_case(d, m, *a) for d, *a in _CONTINUOUS[:8] for m in ("sf", "logsf", "logcdf", "ppf", "isf")],
    case(lambda x: st.norm.logpdf(x), 0.7),
    case(lambda x: st.norm(0.5, 2.0).logpdf(x), 0.7), case(lambda x, m, s: st.norm(m, s).logpdf(x), 0.7, 0.2, 1.3),
    case(lambda x, m, s: st.norm(loc=m, scale=s).cdf(x), np.array([0.7, 1.2]), np.array([0.2, 0.4]), 1.3),
    case(lambda x, a, s: st.gamma(a, scale=s).pdf(x), np.array([0.7, 1.2]), 1.4, 1.3),
    case(lambda x, a: st.gamma.logpdf(x, a=a, scale=2.0), 0.7, 1.3),
    case(lambda x, m: st.norm.logpdf(x, m), np.array([0.3, 1.2]), np.array([[0.1], [0.4]])),
    case(lambda m: st.norm.logpdf([0.3, 1.2], loc=m, scale=[1.0, 2.0]), 0.4),
    *[case(lambda x, a, f=f: f(x, a), np.array([-0.7, 0.9]), 1.5) for f in (st.dgamma.cdf, st.dweibull.cdf)],
    case(lambda x: st.norm.logpdf(x), np.array([0.3, 1.2], np.float32)), case(lambda x: st.uniform.pdf(x), 2.5),
    case(lambda x: st.expon.pdf(x), np.array([-1.0, 0.5])),
    case(lambda c, x: st.genextreme.nnlf((c, 0.01, 1.03), x), 0.2, np.array([0.3, 0.7])),
]  # fmt: skip
CASES += [
    case(lambda m, s: (st.uniform.ppf([0.0, 0.3, 1.0], m, s), *st.uniform.interval(1.0, m, s)), 0.3, 1.2),
    case(lambda a, b: (st.truncnorm.ppf([0.0, 1.0], a, b), st.truncnorm.isf(1.0, a, b)), -1.4, 2.0),
    case(lambda c, m: st.genpareto.ppf(1.0, c, m), -0.5, 0.3), case(lambda x, a: st.dgamma.pdf(x, a), 0.0, 3.1),
    case(lambda b, x: (st.exponpow.cdf(x, b), st.exponpow.logcdf(x, b)), 2.0, 588.0),
    case(st.gumbel_l.logsf, np.array([0.3, 9.0, 60.0])), case(st.gumbel_r.logcdf, np.array([0.3, -9.0, -60.0])),
    case(lambda x, b, m: st.crystalball.logsf(x, b, m), np.array([0.3, 12.0]), 2.0, 3.0),
]  # fmt: skip
