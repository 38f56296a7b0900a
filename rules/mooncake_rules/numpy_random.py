"""Random numbers are constants; samples of location-scale families follow their parameters (the path derivative).

None of these functions is pure: each call gives other numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, Known, T, is_scalar, widen
from mooncake_py.registry import infer_table, overlay, rrule, zero_derivative
from mooncake_py.shadows import NoDerivative
from mooncake_py.structure import constant_classes
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.common import total, unbroadcast
from mooncake_rules.inference import Types, shape_ndim
from mooncake_rules.sequences import unstack

_random = np.random
_Generator, _RandomState = np.random.Generator, np.random.RandomState
constant_classes += [_Generator, _RandomState]

zero_derivative(
    _random.rand, _random.randn, _random.random, _random.random_sample, _random.randint, _random.seed,
    _random.default_rng, _random.standard_normal, _random.standard_exponential, _random.RandomState, _RandomState.rand,
    _RandomState.randn, _RandomState.random_sample, _RandomState.random, _RandomState.randint,
    _RandomState.standard_normal,
    _Generator.random, _Generator.integers, _Generator.standard_normal, _Generator.standard_exponential,
)  # fmt: skip


# What is drawn into an array: it holds constants from then on, whatever it held.


def drawn_size(size: Any, out: Any) -> Any:
    if size is None or out.shape == (tuple(size) if isinstance(size, (tuple, list)) else (size,)):
        return out.shape
    raise ValueError("size must match out.shape when used together")


zero_derivative(drawn_size)


@overlay(_Generator.random)
def random_into(rng, size=None, dtype=np.float64, out=None):
    out[...] = rng.random(drawn_size(size, out), dtype)
    return out


@overlay(_Generator.standard_normal)
def standard_normal_into(rng, size=None, dtype=np.float64, out=None):
    out[...] = rng.standard_normal(drawn_size(size, out), dtype)
    return out


@overlay(_Generator.standard_exponential)
def standard_exponential_into(rng, size=None, dtype=np.float64, method="zig", out=None):
    out[...] = rng.standard_exponential(drawn_size(size, out), dtype, method)
    return out


def onto(t: Any, like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return unbroadcast(t, like.shape)
    return unstack(unbroadcast(t, np.shape(like)), like) if isinstance(like, (list, tuple)) else total(t)


def normal_cotangents(dy: Any, y: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """y = loc + scale * z, where z stays the same."""
    return onto(dy, loc), onto(dy * (y - loc) / scale, scale)


def uniform_cotangents(dy: Any, y: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """y = low + (high - low) u, where u stays the same."""
    u = (y - low) / (high - low)
    return onto(dy * (1 - u), low), onto(dy * u, high)


def scaled_cotangent(dy: Any, y: Any, scale: Any) -> Any:
    """y = scale * z, where z stays the same."""
    return onto(dy * y / scale, scale)


def _family(cotangents: Any, names: tuple[str, str], function: Any, *methods: Any) -> None:
    if names[0] == "loc":

        @rrule(function)
        def sample(loc=0.0, scale=1.0, size=None):
            y = function(loc, scale, size)

            def pullback(dy):
                return cotangents(dy, y, loc, scale)

            return y, pullback

        for m in methods:
            _normal_method(m, cotangents)
    else:

        @rrule(function)
        def sample_between(low=0.0, high=1.0, size=None):
            y = function(low, high, size)

            def pullback(dy):
                return cotangents(dy, y, low, high)

            return y, pullback

        for m in methods:
            _uniform_method(m, cotangents)


def _normal_method(m: Any, cotangents: Any) -> None:
    @rrule(m)
    def method(rng, loc=0.0, scale=1.0, size=None):
        y = m(rng, loc, scale, size)

        def pullback(dy):
            da, db = cotangents(dy, y, loc, scale)
            return None, da, db

        return y, pullback


def _uniform_method(m: Any, cotangents: Any) -> None:
    @rrule(m)
    def method(rng, low=0.0, high=1.0, size=None):
        y = m(rng, low, high, size)

        def pullback(dy):
            da, db = cotangents(dy, y, low, high)
            return None, da, db

        return y, pullback


_family(normal_cotangents, ("loc", "scale"), _random.normal, _Generator.normal, _RandomState.normal)
_family(uniform_cotangents, ("low", "high"), _random.uniform, _Generator.uniform, _RandomState.uniform)


@rrule(_random.exponential)
def exponential(scale=1.0, size=None):
    y = _random.exponential(scale, size)

    def pullback(dy):
        return (scaled_cotangent(dy, y, scale),)

    return y, pullback


def _scaled_method(m: Any) -> None:
    @rrule(m)
    def method(rng, scale=1.0, size=None):
        y = m(rng, scale, size)

        def pullback(dy):
            return None, scaled_cotangent(dy, y, scale)

        return y, pullback


_scaled_method(_Generator.exponential)
_scaled_method(_RandomState.exponential)


# -- normal samples of several variables ------------------------------------------------------------------


def correlated_cotangents(dy: Any, y: Any, mean: Any, cov: Any, method: str) -> tuple[Any, Any]:
    """Samples are mean + L z for the Cholesky factor L; the other factors are not determined by the covariance."""
    dy = np.reshape(dy, (-1, np.shape(y)[-1]))
    dmean = unstack(np.sum(dy, axis=0), mean)
    if method != "cholesky":
        remedy = "hold it constant, or draw by default_rng().multivariate_normal(..., method='cholesky')"
        return dmean, NoDerivative("numpy.random.multivariate_normal", "the covariance", remedy)
    factor, pull = run(np.linalg.cholesky, None, [np.array(cov, float)])
    z = np.linalg.solve(factor, np.reshape(y - np.asarray(mean), dy.shape).T)
    return dmean, unstack(pull(np.tril(dy.T @ z.T))[0], cov)


@rrule(_Generator.multivariate_normal)
def correlated(rng, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"):
    y = rng.multivariate_normal(mean, cov, size, check_valid, tol, method=method)

    def pullback(dy):
        return None, *correlated_cotangents(dy, y, mean, cov, method)

    return y, pullback


@rrule(_RandomState.multivariate_normal)
def correlated_as_before(rng, mean, cov, size=None, check_valid="warn", tol=1e-8):
    y = rng.multivariate_normal(mean, cov, size, check_valid, tol)

    def pullback(dy):
        return None, *correlated_cotangents(dy, y, mean, cov, "svd")

    return y, pullback


@rrule(_random.multivariate_normal)
def correlated_by_function(mean, cov, size=None, check_valid="warn", tol=1e-8):
    y = _random.multivariate_normal(mean, cov, size, check_valid, tol)

    def pullback(dy):
        return correlated_cotangents(dy, y, mean, cov, "svd")

    return y, pullback


# What is drawn or shuffled is told by shuffling the positions: the generator takes the same steps for these.


def drawn(rng: Any, n: Any, *args: Any) -> Any:
    return rng.choice(n, *args)


def order(rng: Any, n: Any) -> Any:
    return rng.permutation(np.arange(n))


zero_derivative(drawn, order)


@overlay(_Generator.choice)
def choice(rng, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    if isinstance(a, (int, np.integer)):
        return drawn(rng, a, size, replace, p, 0, shuffle)
    a = np.asarray(a)
    return np.take(a, drawn(rng, a.shape[axis], size, replace, p, 0, shuffle), axis)


@overlay(_RandomState.choice)
def legacy_choice(rng, a, size=None, replace=True, p=None):
    if isinstance(a, (int, np.integer)):
        return drawn(rng, a, size, replace, p)
    a = np.asarray(a)
    return a[drawn(rng, a.shape[0], size, replace, p)]


@overlay(_Generator.permutation)
def permutation(rng, x, axis=0):
    if isinstance(x, (int, np.integer)):
        return order(rng, x)
    x = np.asarray(x)
    return np.take(x, order(rng, x.shape[axis]), axis)


def places_of(rng: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Where the elements of an array of this shape come from when each of its lines is shuffled by itself."""
    return rng.permuted(np.arange(math.prod(shape)).reshape(shape), axis=axis)


zero_derivative(places_of)


@overlay(_Generator.permuted)
def permuted(rng, x, *, axis=None, out=None):
    x = np.asarray(x)
    y = np.take(x, places_of(rng, x.shape, axis))
    if out is None:
        return y
    out[...] = y
    return out


@overlay(_RandomState.permutation)
def legacy_permutation(rng, x):
    if isinstance(x, (int, np.integer)):
        return order(rng, x)
    x = np.asarray(x)
    return x[order(rng, x.shape[0])]


@overlay(_Generator.shuffle)
def shuffle(rng, x, axis=0):
    if isinstance(x, list):
        x[:] = [x[i] for i in order(rng, len(x))]
    else:
        x[...] = np.take(x, order(rng, x.shape[axis]), axis)


@overlay(_RandomState.shuffle)
def legacy_shuffle(rng, x):
    places = order(rng, len(x))
    if isinstance(x, list):
        x[:] = [x[i] for i in places]
    else:
        x[...] = x[places]


def _dims(first: int) -> Any:
    """`rand(d0, d1, ...)`: doubles of as many dimensions as there are arguments after `first`."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        n = len(args) - first
        return Arr(np.dtype(float), n) if n else Inst(float)

    return infer


def _samples(cls: type, holder: Any, *names: str) -> Any:
    """Samples of a distribution whose parameters have these names, and then `size`."""
    first = 0 if holder is _random else 1
    whole = np.int64 if holder is _Generator else "l"

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        given = dict(zip((*names, "size"), args[first:], strict=False)) | kwargs
        if len(args) > first + len(names) + 1 or not given.keys() <= {*names, "size", "endpoint"}:
            return None
        size = given.pop("size", Known(None))
        act = any(t.active for t in given.values())
        if not isinstance(size, Known) or size.value is not None:
            n = shape_ndim(size)
        elif all(is_scalar(widen(t)) or t == Known(None) for t in given.values()):
            return Inst(cls, act)
        else:
            ndims = [t.ndim if isinstance(t, Arr) else 0 if is_scalar(widen(t)) else None for t in given.values()]
            n = None if None in ndims else max(d for d in ndims if d is not None) or None
        return None if n is None else Arr(np.dtype(whole if cls is int else cls), n, act)

    return infer


_DISTRIBUTIONS: dict[type, dict[str, tuple[str, ...]]] = {
    float: {
        "random": (), "random_sample": (), "standard_normal": (), "standard_exponential": (), "standard_cauchy": (),
        "standard_gamma": ("shape",), "normal": ("loc", "scale"), "uniform": ("low", "high"), "exponential": ("scale",),
        "gamma": ("shape", "scale"), "beta": ("a", "b"), "lognormal": ("mean", "sigma"), "laplace": ("loc", "scale"),
        "logistic": ("loc", "scale"), "gumbel": ("loc", "scale"), "chisquare": ("df",), "standard_t": ("df",),
        "weibull": ("a",), "pareto": ("a",), "rayleigh": ("scale",), "triangular": ("left", "mode", "right"),
        "vonmises": ("mu", "kappa"), "wald": ("mean", "scale"), "f": ("dfnum", "dfden"),
    },
    int: {
        "randint": ("low", "high"), "poisson": ("lam",), "binomial": ("n", "p"), "geometric": ("p",),
        "negative_binomial": ("n", "p"),
    },
    np.int64: {"integers": ("low", "high")},
}  # fmt: skip

infer_table[_random.rand] = infer_table[_random.randn] = _dims(0)
infer_table[_RandomState.rand] = infer_table[_RandomState.randn] = _dims(1)
for _cls, _distributions in _DISTRIBUTIONS.items():
    for _name, _parameters in _distributions.items():
        for _holder in (_random, _Generator, _RandomState):
            if hasattr(_holder, _name):
                infer_table[getattr(_holder, _name)] = _samples(_cls, _holder, *_parameters)


def _is_whole(t: T) -> bool:
    t = widen(t)
    return isinstance(t, Inst) and issubclass(t.cls, (int, np.integer))


def _picked(args: Types, kwargs: dict[str, T]) -> T | None:
    """What is drawn from a range; of other things the overlay tells."""
    if len(args) < 2 or not _is_whole(args[1]):
        return None
    size = args[2] if len(args) > 2 else kwargs.get("size", Known(None))
    if isinstance(size, Known) and size.value is None:
        return Inst(int)
    n = shape_ndim(size)
    return None if n is None else Arr(np.dtype(np.int64), n)


def _reordered(args: Types, kwargs: dict[str, T]) -> T | None:
    return Arr(np.dtype(np.int64), 1) if len(args) > 1 and _is_whole(args[1]) else None


if np.dtype("l") == np.int64:  # what the old generators give is as long as a C long
    for _f in (drawn, _Generator.choice, _RandomState.choice):
        infer_table[_f] = _picked
    for _f in (order, _Generator.permutation, _RandomState.permutation):
        infer_table[_f] = _reordered
infer_table[_random.default_rng] = lambda args, kwargs: Inst(_Generator)
infer_table[_random.RandomState] = lambda args, kwargs: Inst(_RandomState)

# -- cases ------------------------------------------------------------------------------------------------


def _drawn(mu: float, sigma: np.ndarray) -> Any:
    return np.random.default_rng(3).normal(mu, sigma, (2, 3)) ** 2


def _drawn_between(a: float, b: float) -> Any:
    rng = np.random.default_rng(3)
    return rng.uniform(a, b, size=4) * rng.random(4) * a


def _waited(scale: float, scales: np.ndarray) -> Any:
    rng, old = np.random.default_rng(3), np.random.RandomState(3)
    return rng.exponential(scale, (2, 3)) * rng.exponential(scale=scales) + rng.exponential(scale) * old.exponential(
        scales
    )


def _rearranged(x: np.ndarray) -> Any:
    rng = np.random.default_rng(3)
    y = rng.permutation(x, axis=1) * rng.choice(x, 3, axis=1) + rng.choice(x, p=[0.2, 0.8]) * rng.permutation(x)
    rng.shuffle(x)
    rng.shuffle(y, axis=1)
    items = list(y[0])
    rng.shuffle(items)
    rows = np.empty(x.shape)
    rng.permuted(x, axis=1, out=rows)
    return x * items * rng.choice(x[0], replace=False) + rows * rng.permuted(x)


def _rearranged_as_before(x: np.ndarray) -> Any:
    rng = np.random.RandomState(3)
    y = rng.permutation(x) + rng.choice(x[0], size=3, replace=False) * rng.choice(x[1])
    rng.shuffle(y)
    items = list(x[0])
    rng.shuffle(items)
    return y * np.array(items)


def _correlated(mean: np.ndarray, root: np.ndarray, a: float) -> Any:
    rng, old = np.random.default_rng(3), np.random.RandomState(3)
    y = rng.multivariate_normal(mean, root @ root.T + np.eye(3), (4, 2), method="cholesky")
    one = rng.multivariate_normal([a, 2.0 * a], [[a, 0.1], [0.1, 1.0]], method="cholesky")
    return (
        y * rng.multivariate_normal(mean, np.eye(3)),
        one * a,
        old.multivariate_normal(mean=mean, cov=np.eye(3), size=2),
    )


_X = np.array([[0.5, 1.0, 2.0], [0.3, -1.0, 0.7]])
CASES: list[RuleCase] = [
    case(_drawn, 0.5, np.array([0.5, 1.0, 2.0])),
    case(_drawn, 0.5, [0.5, 1.0, 2.0]),
    case(_drawn_between, 0.5, 1.5),
    case(_correlated, np.array([0.5, 1.0, 2.0]), np.array([[0.5, 1.0, 2.0], [0.3, -1.0, 0.7], [0.1, 0.4, 0.9]]), 1.3),
    case(_waited, 0.5, np.array([0.5, 1.0, 2.0])),
    case(_rearranged, _X),
    case(_rearranged_as_before, _X),
]
