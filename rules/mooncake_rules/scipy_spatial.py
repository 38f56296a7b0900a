"""scipy.spatial.distance. Where two points coincide a distance has no derivative: zero is given, as for |x|."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.spatial.distance as sd
from scipy.spatial import procrustes
from scipy.special import rel_entr

from mooncake_py.errors import NotDifferentiated
from mooncake_py.kinds import Any_
from mooncake_py.outputs import splittable
from mooncake_py.registry import pure, rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import fitted, library_rule

Options = dict[str, Any]


def _weights(o: Options) -> Any:
    w = o.get("w")
    return 1.0 if w is None else np.asarray(w, float)


def _safe(d: np.ndarray) -> np.ndarray:
    return np.where(d == 0, 1.0, d)


def _mixed(g: np.ndarray, a: np.ndarray, b: np.ndarray, w: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of sum_ij g_ij |a_i - b_j|^2 / 2, with weights of the coordinates."""
    da = (np.sum(g, 1)[:, None] * a - g @ b) * w
    db = (np.sum(g, 0)[:, None] * b - g.T @ a) * w
    return da, db


def _spread(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of what depends on the differences a_i - b_j alone, t being the cotangent of those."""
    return np.sum(t, 1), -np.sum(t, 0)


def _angle(g: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, w: Any) -> tuple[np.ndarray, np.ndarray]:
    """The cosine distance 1 - <a, b> / (|a| |b|)."""
    na, nb = np.sqrt(np.sum(w * a * a, 1)), np.sqrt(np.sum(w * b * b, 1))
    scaled = g / (na[:, None] * nb[None, :])
    c = g * (1.0 - y)
    da = (-scaled @ b + a * (np.sum(c, 1) / na**2)[:, None]) * w
    db = (-scaled.T @ a + b * (np.sum(c, 0) / nb**2)[:, None]) * w
    return da, db


_NAMES = {
    "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
    "cityblock": "cityblock", "cblock": "cityblock", "cb": "cityblock", "c": "cityblock", "manhattan": "cityblock",
    "chebychev": "chebyshev", "cheby": "chebyshev", "cheb": "chebyshev", "ch": "chebyshev", "cos": "cosine",
    "co": "correlation", "mi": "minkowski", "m": "minkowski", "pnorm": "minkowski", "mahal": "mahalanobis",
    "mahalanobis": "mahalanobis", "mah": "mahalanobis", "se": "seuclidean", "s": "seuclidean",
}  # fmt: skip


def name_of(o: Options) -> str:
    metric = o["metric"]
    return _NAMES.get(metric.lower(), metric.lower())


def metric_cotangents(
    g: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, o: Options
) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of the points for that of the matrix y of distances between them."""
    metric, w = name_of(o), _weights(o)
    if metric == "euclidean":
        return _mixed(np.where(y == 0, 0.0, g / _safe(y)), a, b, w)
    if metric == "sqeuclidean":
        return _mixed(2.0 * g, a, b, w)
    if metric == "seuclidean":
        return _mixed(np.where(y == 0, 0.0, g / _safe(y)), a, b, 1.0 / np.asarray(o["V"], float))
    if metric == "mahalanobis":
        vi = np.asarray(o["VI"], float)
        return _mixed(np.where(y == 0, 0.0, g / _safe(y)), a @ (vi + vi.T) / 2, b @ (vi + vi.T) / 2, 1.0)
    if metric == "cosine":
        return _angle(g, y, a, b, w)
    if metric == "correlation":
        if o.get("w") is not None:
            raise NotDifferentiated("the correlation distance is differentiated without weights")
        ca, cb = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
        da, db = _angle(g, y, ca, cb, 1.0)
        return da - da.mean(1, keepdims=True), db - db.mean(1, keepdims=True)
    delta = a[:, None, :] - b[None, :, :]
    if metric == "cityblock":
        return _spread(g[..., None] * np.sign(delta) * w)
    if metric == "chebyshev":
        size = np.where(w > 0, np.abs(delta), -1.0) if o.get("w") is not None else np.abs(delta)
        top = np.arange(delta.shape[-1]) == np.argmax(size, -1)[..., None]
        return _spread(g[..., None] * np.sign(delta) * top)
    if metric == "minkowski":
        p = 2 if o.get("p") is None else o["p"]
        if p == np.inf:
            return metric_cotangents(g, y, a, b, {**o, "metric": "chebyshev"})
        size = np.abs(delta)
        inner = np.where(size == 0, 0.0, np.where(size == 0, 1.0, size) ** (p - 1)) * np.sign(delta) * w
        return _spread((g * _safe(y) ** (1 - p))[..., None] * inner)
    if metric == "canberra":
        total = np.abs(a)[:, None, :] + np.abs(b)[None, :, :]
        safe = _safe(total)
        t = g[..., None] * w
        one = t * np.sign(delta) / safe
        part = t * np.abs(delta) / safe**2
        return (
            np.sum(one - part * np.sign(a)[:, None, :], 1),
            np.sum(-one - part * np.sign(b)[None, :, :], 0),
        )
    if metric == "braycurtis":
        both = a[:, None, :] + b[None, :, :]
        whole = _safe(np.sum(w * np.abs(both), -1))
        one = (g / whole)[..., None] * np.sign(delta) * w
        part = (g * y / whole)[..., None] * np.sign(both) * w
        return np.sum(one - part, 1), np.sum(-one - part, 0)
    if metric == "jensenshannon":
        g = np.where(y == 0, 0.0, g / (4.0 * _safe(y)))
        sa, sb = np.sum(a, 1, keepdims=True), np.sum(b, 1, keepdims=True)
        p, q = (a / sa)[:, None, :], (b / sb)[None, :, :]
        with np.errstate(divide="ignore"):
            one, other = (np.log(r / _safe(p + q)) + np.log(2.0) for r in (p, q))
        parts = [np.sum(g[..., None] * np.where(r > 0, t, 0.0), k) for r, t, k in ((p, one, 1), (q, other, 0))]
        shares = ((parts[0], a / sa, sa), (parts[1], b / sb, sb))
        da, db = ((t - np.sum(t * r, 1, keepdims=True)) / s for t, r, s in shares)
        return da, db
    raise NotDifferentiated(f"the distance {metric!r} is not differentiated")


def squares(h: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of h_ij (a_i - b_j)(a_i - b_j)^T."""
    across = a.T @ h @ b
    return (a.T * np.sum(h, 1)) @ a + (b.T * np.sum(h, 0)) @ b - across - across.T


def option_cotangents(g: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, o: Options) -> Options:
    """The cotangents of weights, variances, an inverse covariance and an exponent, as far as they are known."""
    metric, w = name_of(o), _weights(o)
    half = np.where(y == 0, 0.0, g / (2.0 * _safe(y)))
    if metric in ("euclidean", "sqeuclidean"):
        return {"w": np.diagonal(squares(half if metric == "euclidean" else g, a, b))}
    if metric == "seuclidean":
        return {"V": -np.diagonal(squares(half, a, b)) / np.asarray(o["V"], float) ** 2}
    if metric == "mahalanobis":
        return {"VI": squares(half, a, b)}
    if metric == "cosine":
        na, nb = np.sum(w * a * a, 1), np.sum(w * b * b, 1)
        c = g * (1.0 - y) / 2.0
        scaled = g / np.sqrt(na[:, None] * nb)
        return {"w": np.sum(c, 1) / na @ (a * a) + np.sum(c, 0) / nb @ (b * b) - np.sum(a * (scaled @ b), 0)}
    if metric == "cityblock":
        return {"w": np.einsum("ij,ijk->k", g, np.abs(a[:, None, :] - b))}
    if metric == "minkowski":
        p = 2.0 if o.get("p") is None else float(o["p"])
        if np.isfinite(p):
            size = np.abs(a[:, None, :] - b)
            scaled = g * _safe(y) ** (1.0 - p) / p
            power = np.where(size == 0, 0.0, _safe(size) ** p)
            slope = (
                np.einsum("ij,ijk->", scaled, w * power * np.log(_safe(size))) - np.sum(g * y * np.log(_safe(y))) / p
            )
            return {"w": np.einsum("ij,ijk->k", scaled, power), "p": slope}
    return {}


def by_points(metric: str, x: np.ndarray) -> tuple[Options, Any]:
    """What a metric takes from all points where it is not given, and the points' cotangent from its."""
    centred, n = x - x.mean(0), len(x) - 1
    if metric == "seuclidean":
        return {"V": np.sum(centred**2, 0) / n}, lambda ds: 2.0 * centred * ds["V"] / n
    if metric == "mahalanobis":
        vi = np.linalg.inv(centred.T @ centred / n)

        def of_points(ds: Options) -> np.ndarray:
            d = vi @ ds["VI"] @ vi
            return -centred @ (d + d.T) / n

        return {"VI": vi}, of_points
    return {}, None


def whole_cotangents(
    g: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, points: np.ndarray, o: Options
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, Options]:
    """Of the points on both sides, of all of them by what a metric takes from them, and of the options."""
    found, of_points = by_points(name_of(o), points) if o.get("V") is None and o.get("VI") is None else ({}, None)
    o = {**o, **found}
    da, db = metric_cotangents(g, y, a, b, o)
    asked = [k for k in ("w", "p", "V", "VI") if o.get(k) is not None]
    of = option_cotangents(g, y, a, b, o) if asked else {}
    unknown = {k: NoDerivative(f"the distance {name_of(o)!r}", f"its argument {k!r}") for k in asked if k not in of}
    return da, db, None if of_points is None else of_points(of), of | unknown


@rrule(sd.cdist, types=(Any_, Any_))
def cdist_euclidean(XA, XB, **kwargs):
    y, pb = cdist(XA, XB, "euclidean", **kwargs)

    def pullback(dy):
        da, db, _, *of_options = pb(dy)
        return da, db, *of_options

    return y, pullback


@rrule(sd.cdist, types=(Any_, Any_, str))
def cdist(XA, XB, metric, **kwargs):
    y = sd.cdist(XA, XB, metric, **kwargs)

    def pullback(dy):
        a, b = np.asarray(XA, float), np.asarray(XB, float)
        o = {"metric": metric, **kwargs}
        da, db, rest, of = whole_cotangents(dy, y, a, b, np.concatenate([a, b]), o)
        if rest is not None:
            da, db = da + rest[: len(a)], db + rest[len(a) :]
        return fitted(da, XA), fitted(db, XB), None, *[_of_option(of.get(k), v) for k, v in kwargs.items()]

    return y, pullback


@rrule(sd.pdist, types=(Any_,))
def pdist_euclidean(X, **kwargs):
    y, pb = pdist(X, "euclidean", **kwargs)

    def pullback(dy):
        dx, _, *of_options = pb(dy)
        return dx, *of_options

    return y, pullback


@rrule(sd.pdist, types=(Any_, str))
def pdist(X, metric, **kwargs):
    y = sd.pdist(X, metric, **kwargs)

    def pullback(dy):
        x = np.asarray(X, float)
        g, whole = np.zeros((len(x), len(x))), np.zeros((len(x), len(x)))
        upper = np.triu_indices(len(x), 1)
        g[upper], whole[upper] = dy, y
        da, db, rest, of = whole_cotangents(g, whole, x, x, x, {"metric": metric, **kwargs})
        dx = da + db if rest is None else da + db + rest
        return fitted(dx, X), None, *[_of_option(of.get(k), v) for k, v in kwargs.items()]

    return y, pullback


def _of_option(d: Any, v: Any) -> Any:
    return None if v is None else fitted(d, v)


def squareform_cotangent(dy: np.ndarray, y: np.ndarray, o: Options) -> np.ndarray:
    """Of a vector both places of the matrix; of a matrix the upper triangle, which is what is read."""
    x = o["X"]
    if x.ndim == 1:
        upper = np.triu_indices(len(dy), 1)
        return dy[upper] + dy.T[upper]
    out = np.zeros_like(x)
    out[np.triu_indices(len(x), 1)] = dy
    return out


pure.update({sd.cdist, sd.pdist})
splittable.update({sd.cdist, sd.pdist})
library_rule(sd.squareform, 1, squareform_cotangent)


def _of_two(name: str) -> None:
    f = getattr(sd, name)
    options = [k for k in ("p", "w", "V", "VI") if k in inspect.signature(f).parameters]

    def cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, ...]:
        if name == "correlation" and not o.get("centered", True):
            o = {**o, "metric": "cosine"}
        u, v = o["u"].astype(float), o["v"].astype(float)
        g = np.array([[dy]], float)
        whole = np.array([[y]], float)
        da, db, _, of = whole_cotangents(g, whole, u[None], v[None], np.stack([u, v]), {"metric": name, **o})
        return da[0], db[0], *[of.get(k) for k in options]

    library_rule(f, ("u", "v", *options), cotangents)


for _name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
              "braycurtis", "mahalanobis", "seuclidean"):  # fmt: skip
    _of_two(_name)


@mirrors(sd.jensenshannon)
def jensenshannon(p, q, base=None, axis=0, keepdims=False):
    """Zero, as the derivatives of norms are, where both are the same distribution."""
    p, q = np.asarray(p), np.asarray(q)
    p = p / np.sum(p, axis=axis, keepdims=True)
    q = q / np.sum(q, axis=axis, keepdims=True)
    m = (p + q) / 2.0
    square = np.sum(rel_entr(p, m) + rel_entr(q, m), axis=axis, keepdims=keepdims) / 2.0
    apart = square > 0.0
    return np.where(apart, np.sqrt(np.where(apart, square, 1.0) / (1.0 if base is None else np.log(base))), 0.0)


by_regular_samples(
    sd.cdist,
    sd.pdist,
    sd.squareform,
    sd.euclidean,
    sd.sqeuclidean,
    sd.cityblock,
    sd.cosine,
    sd.chebyshev,
    sd.minkowski,
    sd.correlation,
    sd.braycurtis,
    sd.canberra,
)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.sin(np.arange(12.0)).reshape(4, 3) + 0.07
_B = np.cos(np.arange(9.0)).reshape(3, 3) + 0.1
_W = np.array([0.5, 1.2, 0.7])
_VI = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.1]])
_SIMPLE = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "braycurtis")


def _with(f: Any, metric: str, **options: Any) -> Any:
    def call(*xs):
        return f(*xs, metric, **options)

    return call


def _into(a, b):
    across, between = np.ones((len(a), len(b))), np.empty(len(a) * (len(a) - 1) // 2)
    sd.cdist(a, b, "cosine", out=across)
    y = [sd.cdist][0](a, b, out=np.empty_like(across))
    return across * y, sd.pdist(a, out=between) + between


CASES: list[RuleCase] = [
    *[case(sd.cdist, _A, _B, m) for m in (*_SIMPLE, "minkowski")], *[case(sd.pdist, _A, m) for m in _SIMPLE],
    case(sd.cdist, _A, _B), case(sd.pdist, _A), case(_with(sd.cdist, "minkowski", p=3), _A, _B),
    case(_with(sd.cdist, "minkowski", p=1.5, w=_W), _A, _B), case(_with(sd.cdist, "mahalanobis", VI=_VI), _A, _B),
    case(_with(sd.cdist, "seuclidean", V=_W), _A, _B), case(_with(sd.pdist, "seuclidean", V=_W), _A),
    *[case(_with(sd.cdist, m, w=_W), _A, _B) for m in ("euclidean", "sqeuclidean", "cityblock", "cosine", "canberra")],
    case(lambda a, b: sd.cdist(a, b, "seuclidean"), _A, _B), case(sd.pdist, _A, "seuclidean"),
    case(lambda a, b: sd.cdist(a, b, "mahalanobis"), _A, _B + 0.3 * _VI),
    case(sd.pdist, np.abs(_A) + 0.1, "jensenshannon"), case(sd.jensenshannon, [0.2, 0.8], np.array([0.5, 0.7]), 2.0),
    case(lambda a: sd.jensenshannon(a, a[::-1], axis=1), np.abs(_A[:3]) + 0.1),
    case(lambda a, b: sd.jensenshannon(a, b, base=2, axis=0, keepdims=True), np.abs(_A) + 0.1, np.abs(_A[::-1]) + 0.2),
    case(lambda a, b: sd.cdist(a, b, "jensenshannon"), np.abs(_A) + 0.1, np.abs(_B) + 0.2),
    *[case(lambda a, b, w, m=m: sd.cdist(a, b, m, w=w), _A, _B, _W)
      for m in ("euclidean", "sqeuclidean", "cityblock", "cosine", "minkowski")],
    case(lambda a, b, v: sd.cdist(a, b, "mahalanobis", VI=v), _A, _B, _VI),
    case(lambda a, v: sd.pdist(a, "seuclidean", V=v), _A, _W),
    case(lambda a, b, p, w: sd.cdist(a, b, "minkowski", p=p, w=w), _A, _B, 2.7, _W), case(sd.pdist, _A[:2]),
    case(lambda a, b: procrustes(a, b)[1:], _A[:3], _B),
    case(sd.squareform, np.arange(1.0, 7.0)), case(lambda a, b, w: sd.cdist(a, w=w, XB=b), _A, _B, _W),
    case(lambda a, b, w: sd.cdist(XB=b, metric="cityblock", XA=a, w=w), _A, _B, _W),
    case(lambda a, b, k: sd.cdist(a, b, lambda u, v: np.sum(np.abs(u - v) ** k)), _A, _B, 2.5),
    case(lambda a, k: sd.pdist(a, metric=lambda u, v, p=2.0: k * np.sum((u - v) ** 2), p=3.0), _A, 1.5),
    case(lambda v: sd.squareform(sd.squareform(v)), np.arange(1.0, 7.0)), case(_into, _A, _B),
    case(lambda x: np.exp(-sd.squareform(sd.pdist(x, "sqeuclidean"))), _A),
    *[case(getattr(sd, m), _A[0], _B[0]) for m in (*_SIMPLE, "minkowski")], case(sd.minkowski, _A[0], _B[0], 3),
    case(sd.mahalanobis, _A[0], _B[0], _VI), case(sd.seuclidean, _A[0], _B[0], _W),
    case(sd.euclidean, _A[0], _B[0], _W), case(sd.minkowski, _A[0], _B[0], 2.5, _W),
    case(sd.cosine, _A[0], _B[0], _W), case(sd.cityblock, _A[0], _B[0], _W),
    case(lambda u, v: sd.seuclidean(u, v, _W), _A[0], _B[0]),
    case(lambda u, v: sd.euclidean(u, v, _W), _A[0], _B[0]), case(lambda x: sd.euclidean([x, 1.0], [2.0, x]), 0.5),
]  # fmt: skip
