"""scipy.stats: mean, variance, skewness, kurtosis, moments and entropy of distributions.

By location and scale they have formulas; by the shapes the distribution's own `_stats`, `_munp` and `_entropy` are
differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import comb
from typing import Any

import numpy as np
import scipy.stats as st
from scipy.stats import _distn_infrastructure as infrastructure

from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.scipy_library import fitted, is_constant

Base = infrastructure.rv_generic

# -- of the distribution with location 0 and scale 1 --------------------------------------------------------


def _about_zero(dist, n, *shapes):
    """The moment of order n.

    SciPy's own integrates the quantile function. Where that is a search itself, along an integral of the density, an
    integral of the density gives the same: the derivative of the other would be one of three of them in each other.
    """
    if not _of_density_alone(dist):
        return dist._munp(n, *shapes)
    with np.errstate(all="ignore"):
        return np.vectorize(dist._mom0_sc, otypes="d")(n, *shapes)


def _of_density_alone(dist: Any) -> bool:
    """Are the quantiles of this distribution found by search, in an integral?"""
    cls, general = type(dist), st.rv_continuous
    return isinstance(dist, general) and all(
        getattr(cls, k) is getattr(general, k) for k in ("_munp", "_ppf", "_cdf", "_mom0_sc", "_mom1_sc")
    )


zero_derivative(_of_density_alone)


def standard(dist, letters, *shapes):
    """The statistics of the letters in "mvsk", in this order, as `rv_generic.stats` computes them."""
    if dist._stats_has_moments:
        mu, mu2, g1, g2 = dist._stats(*shapes, moments=letters)
    else:
        mu, mu2, g1, g2 = dist._stats(*shapes)
    if mu is None and (mu2 is None or g1 is None or g2 is None or "m" in letters):
        mu = _about_zero(dist, 1, *shapes)
    if mu2 is None and letters != "m":
        mu2 = _about_zero(dist, 2, *shapes) - mu**2
    if (g1 is None and "s" in letters) or (g2 is None and "k" in letters):
        mu3 = _about_zero(dist, 3, *shapes) - (mu * mu + 3.0 * mu2) * mu if g1 is None else g1 * mu2**1.5
        if g2 is None and "k" in letters:
            g2 = (_about_zero(dist, 4, *shapes) - ((mu**2 + 6.0 * mu2) * mu + 4.0 * mu3) * mu) / mu2**2 - 3.0
        g1 = mu3 / mu2**1.5
    out = []
    if "m" in letters:
        out.append(mu)
    if "v" in letters:
        out.append(mu2)
    if "s" in letters:
        out.append(g1)
    if "k" in letters:
        out.append(g2)
    return out


def raw(dist, order, *shapes):
    """The moment of this order about 0."""
    mu, mu2, g1, g2 = None, None, None, None
    if 0 < order < 5:
        if dist._stats_has_moments:
            mu, mu2, g1, g2 = dist._stats(*shapes, moments=["m", "v", "vs", "mvsk"][order - 1])
        else:
            mu, mu2, g1, g2 = dist._stats(*shapes)
    return infrastructure._moment_from_stats(order, mu, mu2, g1, g2, partial(_about_zero, dist), shapes)


# -- the rules --------------------------------------------------------------------------------------------

Cotangents = tuple[Any, Any, list[Any]]
"""Those of location, scale and shapes."""


def pulled(f: Callable[..., Any], weight: Any, shapes: Sequence[Any], on: Sequence[bool]) -> list[Any]:
    """The cotangents of the shapes for the cotangent `weight` of `f(*shapes)`."""
    if not any(on):
        return [None] * len(shapes)
    y, pull = run(f, None, shapes, on)
    return list(pull(_like(weight, y)))


def _like(w: Any, y: Any) -> Any:
    """Moments that do not depend on the shapes are numbers."""
    w = np.broadcast_to(w, np.shape(y)) if np.ndim(y) else np.sum(w)
    return np.array(w, float) if isinstance(y, np.ndarray) else float(w) if type(y) is float else None


def total_of(ds: Sequence[Any]) -> Any:
    """The sum of cotangents of one argument, None being zero."""
    given = [d for d in ds if d is not None]
    return sum(given[1:], given[0]) if given else None


def _whole(dist: Any, args: Any, kwds: dict[str, Any], y: Any, dy: Any, pull: Callable[..., Cotangents]) -> Any:
    """The cotangents of dist, args and kwds; `pull` is given what is well defined, one element after the other.

    Where y is asked for and infinite or not defined, nothing is a derivative: NaN.
    """
    names = [s.strip() for s in dist.shapes.split(",")] if dist.shapes else []
    order = [*names, *(["loc"] if isinstance(dist, st.rv_discrete) else ["loc", "scale"])]
    given = args[: len(order)]  # behind these may stand which moments are asked for
    shapes, loc, scale, *_ = dist._parse_args(*given, **{k: v for k, v in kwds.items() if k != "moments"})
    whole = np.broadcast_arrays(loc, scale, *shapes, y, dy)
    asked = np.asarray(whole[-1] != 0)
    good = asked & np.isfinite(whole[-2])
    ls, ss, *values, _, ds = (v[good] for v in whole)
    on = [np.asarray(s).dtype.kind == "f" and not is_constant(s) for s in shapes]
    parts: Cotangents = (None, None, [None] * len(shapes))
    if good.any():
        parts = pull(ls, ss, values, on, ds)
    of: dict[str, Any] = {"moments": None}

    def whole_of(t: Any) -> Any:
        out = np.where(asked, np.nan, np.zeros(good.shape))
        out[good] = 0.0 if t is None else t
        return out

    found = list(map(whole_of, parts[2]))
    if len(found) > len(names):  # one array of many probabilities
        found = [np.stack(found, -1)]
    of.update(zip([*names, "loc", "scale"], [*found, whole_of(parts[0]), whole_of(parts[1])], strict=True))
    positional = [fitted(of[k], v) for k, v in zip(order, given, strict=False)]
    positional += [None] * (len(args) - len(given))
    return None, *positional, *(None if k == "moments" else fitted(of[k], v) for k, v in kwds.items())


def _of_statistic(dist: Any, letter: str, y: Any, dy: Any, args: Any, kwds: dict[str, Any]) -> Any:
    """The cotangents for that of the statistic of this letter."""
    power = {"m": 1, "v": 2}.get(letter, 0)

    def pull(loc: Any, scale: Any, shapes: Any, on: Any, dy: Any) -> Cotangents:
        dscale = None
        if power:
            dscale = dy * power * scale ** (power - 1) * standard(dist, letter, *shapes)[0]
        of_shapes = pulled(lambda *a: standard(dist, letter, *a)[0], dy * scale**power, shapes, on)
        return dy if letter == "m" else None, dscale, of_shapes

    return _whole(dist, args, kwds, y, dy, pull)


@rrule(Base.stats)
def stats(self, *args, **kwds):
    y = Base.stats(self, *args, **kwds)
    *_, asked = self._parse_args_stats(*args, **kwds)
    letters = "".join(k for k in "mvsk" if k in asked)

    def pullback(dy):
        several = zip(letters, y, dy, strict=True) if isinstance(y, tuple) else [(letters, y, dy)]
        parts = [_of_statistic(self, *part, args, kwds) for part in several if part[2] is not None]
        return tuple([total_of(ds) for ds in zip(*parts, strict=True)]) if parts else None

    return y, pullback


def _single(name: str, letter: str) -> None:
    f = getattr(Base, name)

    @rrule(f)
    def rule(self, *args, **kwds):
        y = f(self, *args, **kwds)

        def pullback(dy):
            dy = dy / np.where(np.isfinite(y), 2.0 * y, 1.0) if name == "std" else dy
            return _of_statistic(self, letter, y, dy, args, kwds)

        return y, pullback


for _name, _letter in (("mean", "m"), ("var", "v"), ("std", "v")):
    _single(_name, _letter)


@rrule(Base.entropy)
def entropy(self, *args, **kwds):
    y = Base.entropy(self, *args, **kwds)

    def pullback(dy):
        def pull(loc, scale, shapes, on, dy):
            return None, dy / scale, pulled(self.vecentropy, dy, shapes, on)

        return _whole(self, args, kwds, y, dy, pull)

    return y, pullback


@rrule(Base.moment)
def moment(self, order, *args, **kwds):
    y = Base.moment(self, order, *args, **kwds)

    def pullback(dy):
        def pull(loc, scale, shapes, on, dy):
            below = sum(
                comb(order - 1, k) * scale**k * loc ** (order - 1 - k) * raw(self, k, *shapes) for k in range(order)
            )
            here = sum(comb(order, k) * scale**k * loc ** (order - k) * raw(self, k, *shapes) for k in range(order + 1))
            dshapes: list[Any] = [None] * len(shapes)
            for k in range(1, order + 1):
                weight = dy * comb(order, k) * scale**k * loc ** (order - k)
                if np.any(weight):
                    ds = pulled(lambda *a, k=k: raw(self, k, *a), weight, shapes, on)
                    dshapes = [t if d is None else d if t is None else t + d for t, d in zip(dshapes, ds, strict=True)]
            return dy * order * below, dy * order * (here - loc * below) / scale, dshapes

        dist, *rest = _whole(self, args, kwds, y, dy, pull)
        return dist, None, *rest

    return y, pullback


# -- cases ------------------------------------------------------------------------------------------------

_A, _M = np.array([1.7, 2.3]), np.array([0.4, -0.2])


def _stats(dist: Any, *shapes: Any, **kwds: Any) -> Any:
    return dist.stats(*shapes, **kwds, moments="mvsk")


CASES: list[RuleCase] = [
    case(lambda m, s: st.norm.mean(loc=m, scale=s) * st.norm.std(m, s), _M, _A),
    case(lambda a, s: st.gamma.var(a, scale=s), _A, 0.8), case(lambda a, m: st.gamma.std(a, m), _A, 0.3),
    case(lambda a, b, m, s: _stats(st.beta, a, b, loc=m, scale=s), _A, 2.2, 0.3, _A[:, None]),
    case(lambda a, s: _stats(st.weibull_min, a, scale=s), 1.7, 0.8), case(lambda a, m: st.t.stats(a, m), _A + 3, 0.3),
    case(lambda a, s: st.expon(scale=s).var() * st.lognorm(a).stats("vs")[1], 0.4, 0.8),
    case(lambda a, m, s: st.gamma.moment(3, a, m, s), 1.7, 0.3, _A), case(lambda s: st.norm.moment(2, scale=s), _A),
    case(lambda m, s: st.norm.stats(m, s, "mvk"), _A, 0.8), case(lambda m: st.poisson.stats(m, 2, "vs"), 1.3),
    case(lambda c: st.lomax.stats(c, moments="mv")[0], 1.5), case(lambda c: st.pareto.mean([0.7, c])[1], 1.5),
    case(lambda a, s: st.gamma.entropy(a, scale=s), _A, 0.8), case(lambda s: st.norm.entropy(scale=s), _A),
    case(lambda m: _stats(st.poisson, m, loc=2), _A), case(lambda p: st.binom.entropy(5, p), 0.3),
    case(lambda n, p: _stats(st.nbinom, n, p), 4.4, 0.5), case(lambda p: _stats(st.bernoulli, p), 0.3),
    case(lambda m: st.poisson.moment(2, m, loc=1), 1.3), case(lambda p: st.logser.entropy(p), 0.5),
    case(lambda s: st.gamma.var(np.array([1.7, -1.0]), scale=s)[0], 0.8),
]  # fmt: skip
