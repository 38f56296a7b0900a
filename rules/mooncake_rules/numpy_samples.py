"""Random samples of further families: by location, scale and power as the path of a sample has it.

How a sample of the gamma family and those made of it follow their shape depends on how they are drawn: that is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.numpy_random import normal_cotangents, onto, scaled_cotangent

_random = np.random
_HOLDERS = (_random, np.random.Generator, np.random.RandomState)

Cotangents = Callable[..., tuple[Any, ...]]


def _lognormal(dy: Any, y: Any, mean: Any, sigma: Any) -> tuple[Any, ...]:
    t = dy * y
    return onto(t, mean), onto(t * (np.log(y) - mean) / sigma, sigma)


def _uniform_power(dy: Any, y: Any, a: Any) -> tuple[Any, ...]:
    """y = u ** (1 / a); and for weibull the same of an exponential sample."""
    return (onto(-dy * y * np.log(y) / a, a),)


def _pareto(dy: Any, y: Any, a: Any) -> tuple[Any, ...]:
    return (onto(-dy * (1.0 + y) * np.log1p(y) / a, a),)


def _triangular(dy: Any, y: Any, left: Any, mode: Any, right: Any) -> tuple[Any, ...]:
    """The share of the area below a sample stays the same: the squared distance to its end over those of the others."""
    low = y < mode
    first, second, width = mode - left, right - mode, right - left
    down, up = y - left, right - y
    rise, fall = np.where(low, down, 1.0), np.where(low, 1.0, up)
    width_part = np.where(low, rise / (2.0 * width), -fall / (2.0 * width))
    rising, falling = np.where(low, rise / (2.0 * first), 0.0), np.where(low, 0.0, fall / (2.0 * second))
    dleft = np.where(low, 1.0, 0.0) - width_part - rising
    dright = np.where(low, 0.0, 1.0) + width_part - falling
    return onto(dy * dleft, left), onto(dy * (rising + falling), mode), onto(dy * dright, right)


def _unknown(name: str, count: int) -> Cotangents:
    def cotangents(dy: Any, y: Any, *values: Any) -> tuple[Any, ...]:
        return (NoDerivative(f"numpy.random.{name}", "its parameters"),) * count

    return cotangents


def _gamma(dy: Any, y: Any, shape: Any, scale: Any) -> tuple[Any, ...]:
    return NoDerivative("numpy.random.gamma", "its shape"), scaled_cotangent(dy, y, scale)


_FAMILIES: dict[str, tuple[dict[str, Any], Cotangents]] = {
    "laplace": ({"loc": 0.0, "scale": 1.0}, normal_cotangents),
    "logistic": ({"loc": 0.0, "scale": 1.0}, normal_cotangents),
    "gumbel": ({"loc": 0.0, "scale": 1.0}, normal_cotangents),
    "lognormal": ({"mean": 0.0, "sigma": 1.0}, _lognormal),
    "rayleigh": ({"scale": 1.0}, lambda dy, y, scale: (scaled_cotangent(dy, y, scale),)),
    "weibull": ({"a": None}, _uniform_power),
    "power": ({"a": None}, _uniform_power),
    "pareto": ({"a": None}, _pareto),
    "triangular": ({"left": None, "mode": None, "right": None}, _triangular),
    "gamma": ({"shape": None, "scale": 1.0}, _gamma),
    **{
        name: (dict.fromkeys(names), _unknown(name, len(names)))
        for name, names in {
            "standard_gamma": ("shape",), "beta": ("a", "b"), "chisquare": ("df",), "standard_t": ("df",),
            "noncentral_chisquare": ("df", "nonc"), "f": ("dfnum", "dfden"), "vonmises": ("mu", "kappa"),
            "noncentral_f": ("dfnum", "dfden", "nonc"), "wald": ("mean", "scale"), "dirichlet": ("alpha",),
        }.items()
    },
}  # fmt: skip


def _family(f: Any, first: int, defaults: dict[str, Any], cotangents: Cotangents) -> None:
    """A function, or a method, of the parameters of a family, their number and the like."""
    names = (*defaults, "size")

    @rrule(f)
    def rule(*args, **kwargs):
        y = f(*args, **kwargs)

        def pullback(dy):
            given = defaults | dict(zip(names, args[first:], strict=False)) | kwargs
            ds = dict(zip(defaults, cotangents(dy, y, *[given[k] for k in defaults]), strict=True))
            return *[None] * first, *[ds.get(k) for k in names[: len(args) - first]], *[ds.get(k) for k in kwargs]

        return y, pullback


for _name, (_defaults, _cotangents) in _FAMILIES.items():
    for _holder in _HOLDERS:
        _family(getattr(_holder, _name), 0 if _holder is _random else 1, _defaults, _cotangents)

for _holder in _HOLDERS:
    zero_derivative(_holder.standard_cauchy)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([0.5, 1.0, 2.0])


def _placed(loc: float, scale: np.ndarray) -> Any:
    rng = np.random.default_rng(3)
    return [f(loc, scale) for f in (rng.laplace, rng.logistic, rng.gumbel, rng.lognormal)]


def _shaped(a: np.ndarray) -> Any:
    rng = np.random.RandomState(3)
    return rng.weibull(a), rng.power(a, size=(2, 3)), rng.pareto(a=a), rng.rayleigh(a[0]), rng.gamma(2.0, a)


def _within(left: float, mode: float, right: float) -> Any:
    return np.random.default_rng(3).triangular(left, mode, right, 6)


CASES: list[RuleCase] = [
    case(_placed, 0.3, _A), case(_shaped, _A), case(_within, -0.5, 0.2, 1.3),
    case(lambda x: x * np.random.default_rng(3).standard_gamma(np.full(3, 1.5)), _A),
]  # fmt: skip
