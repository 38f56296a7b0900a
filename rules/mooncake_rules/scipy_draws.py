"""scipy.stats: samples of distributions, by location and scale, and by shapes where the path of a sample is known.

A sample that is drawn by the inverse of the distribution function, or another function of one random number, stays
where that function puts it: F(y; shape) is constant. Others are made of several numbers, or by rejection; how they
follow a shape is not known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as st
from scipy.stats._distn_infrastructure import rv_generic

from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.common import unbroadcast
from mooncake_rules.scipy_library import fitted

_OF_ONE_NUMBER = {st.rv_continuous._rvs, type(st.lognorm)._rvs}


def _of_shapes(dist: Any, shapes: list[Any], z: np.ndarray, dz: np.ndarray) -> list[Any]:
    """The cotangents of the shapes, dz being that of the standardised sample z."""
    if type(dist)._rvs not in _OF_ONE_NUMBER:
        return [NoDerivative(f"scipy.stats.{dist.name}.rvs", "its shapes")] * len(shapes)
    given = [np.array(np.broadcast_to(np.asarray(s, float), z.shape)) for s in shapes]
    _, pull = run(lambda *s: dist.cdf(z, *s), None, given)
    ds = pull(np.asarray(-dz / dist.pdf(z, *shapes)).reshape(z.shape)[()])
    return [None if d is None else fitted(unbroadcast(d, np.shape(s)), s) for d, s in zip(ds, shapes, strict=True)]


@rrule(rv_generic.rvs)
def rvs(self: CoDual, *args: CoDual, **kwds: CoDual):
    dist = self.primal
    given, named = [v.primal for v in args], {k: v.primal for k, v in kwds.items()}
    y = dist.rvs(*given, **named)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None or np.asarray(y).dtype.kind != "f":
            return None
        names = [*(dist.shapes.split(", ") if dist.shapes else []), "loc", "scale", "size"]
        values = {"loc": 0.0, "scale": 1.0} | dict(zip(names, given, strict=False)) | named
        loc, scale = values["loc"], values["scale"]
        t, z = np.asarray(dy), np.asarray((y - np.asarray(loc)) / scale)
        ds = {
            "loc": fitted(unbroadcast(t, np.shape(loc)), loc),
            "scale": fitted(unbroadcast(t * z, np.shape(scale)), scale),
        }
        shapes = names[:-3]
        if shapes:
            ds |= dict(zip(shapes, _of_shapes(dist, [values[k] for k in shapes], z, t * scale), strict=True))
        return None, *[ds.get(k) for k in names[: len(args)]], *[ds.get(k) for k in kwds]

    return CoDual(y, fy), pullback


# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([0.3, 0.9])

CASES: list[RuleCase] = [
    case(lambda m, s: st.norm.rvs(m, s, size=(3, 2), random_state=1), _A, 1.3),
    *[case(lambda m, s: st.gamma.rvs(1.7, loc=m, scale=s, size=2, random_state=1), m, _A) for m in (0.3, _A[None])],
    case(lambda a, s: st.weibull_min(a, 0.1, s).rvs((3, 2), random_state=1), _A + 1.0, 1.3),
    case(lambda a: st.lognorm.rvs(a, random_state=np.random.default_rng(1)) * a, 0.7),
    case(lambda x: x * st.beta(1.7, 2.0).rvs(2, random_state=1) * st.poisson.rvs(2.3, random_state=1), _A),
]  # fmt: skip
