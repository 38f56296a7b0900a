"""scipy.interpolate: B-splines, by where they are evaluated, by coefficients and knots, and by the data they fit.

Coefficients are linear in the values; by everything else they are differentiated as `spline_formulas` has them.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import scipy.interpolate as sip
import scipy.optimize as so
import scipy.sparse as sp
import scipy.sparse.linalg as sl

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules import spline_formulas as formulas
from mooncake_rules.callables import run
from mooncake_rules.common import unbroadcast
from mooncake_rules.scipy_interpolate import front
from mooncake_rules.scipy_kept import Kept, getter_of
from mooncake_rules.scipy_library import fitted

# -- the objects ------------------------------------------------------------------------------------------


def spline_cotangents(
    t: np.ndarray, c: np.ndarray, k: int, x: np.ndarray, dy: np.ndarray, nu: int, extrapolate: Any
) -> Any:
    """Of the coefficients and the argument of a B-spline of one dimension with coefficients along the first axis."""
    flat = np.asarray(x, float).ravel()
    n = len(t) - k - 1
    slope = np.nan_to_num(sip.BSpline(t, c, k, extrapolate)(flat, nu + 1))
    d = dy.reshape(flat.size, *c.shape[1:])
    dc = np.zeros(c.shape, np.result_type(c, d))
    dc[:n] = coefficients_cotangent(t, k, flat, d.reshape(flat.size, -1), nu, extrapolate).reshape(n, *c.shape[1:])
    dx = np.sum((d * np.conjugate(slope)).real.reshape(flat.size, -1), axis=1)
    return dc, dx.reshape(np.shape(x))


def coefficients_cotangent(t: np.ndarray, k: int, x: np.ndarray, d: np.ndarray, nu: int, extrapolate: Any) -> Any:
    """Of the coefficients, for that of the values at x, one column each: a point has k + 1 of them."""
    n = len(t) - k - 1
    if nu > k:
        return np.zeros((n, d.shape[1]))
    first, last = t[k], t[n]
    if extrapolate == "periodic":
        x = first + (x - first) % (last - first)
    there = np.isfinite(x) & (bool(extrapolate) | ((x >= first) & (x <= last)))
    inner = t[nu : len(t) - nu]
    dc = sip.BSpline.design_matrix(x[there], inner, k - nu, extrapolate=True).T @ d[there]
    for r in range(nu - 1, -1, -1):  # the coefficients of a derivative are differences of those of the function
        m = n - r
        width = t[k + 1 : m + k] - t[r + 1 : r + m]
        g = dc * ((k - r) / np.where(width > 0.0, width, np.inf))[:, None]
        dc = np.zeros((m, d.shape[1]), g.dtype)
        dc[1:] += g
        dc[:-1] -= g
    return dc


@rrule(formulas.values)
def values(t, c, x, k, nu):
    d, places_cotangents = _recurrence(t, c, x, k, nu)

    def pullback(dy):
        dt, dx = places_cotangents(dy)
        dc = coefficients_cotangent(t, k, x, np.reshape(dy, (len(x), -1)), nu, True).reshape(-1, *c.shape[1:])
        return dt, np.concatenate([dc, np.zeros((len(c) - len(dc), *c.shape[1:]))]), dx, None, None

    return d, pullback


def _recurrence(t: np.ndarray, c: np.ndarray, x: np.ndarray, k: int, nu: int) -> tuple[np.ndarray, Any]:
    """`formulas.values`, and the recurrence backwards, from a cotangent to those of the knots and the points."""
    n = len(t) - k - 1
    if nu > k:
        return formulas.values(t, c, x, k, nu), lambda dy: (np.zeros(t.shape), np.zeros(x.shape))
    i = np.clip(np.searchsorted(t, x, "right") - 1, k, n - 1)
    column = (-1,) + (1,) * (c.ndim - 1)
    d = [c[i - k + j] for j in range(k + 1)]
    steps: list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray]] = []
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low = t[i + j - k]
            width = t[i + j + 1 - r] - low
            share = (k - r + 1) / width if r <= nu else (x - low) / width
            change = d[j] - d[j - 1]
            d[j] = share.reshape(column) * change + (0.0 if r <= nu else d[j - 1])
            steps.append((r, j, width, share, change))

    def pullback(dy: Any) -> tuple[np.ndarray, np.ndarray]:
        ds: list[Any] = [0.0] * k + [np.asarray(dy)]
        dt, dx = np.zeros(t.shape), np.zeros(x.shape)
        for r, j, width, share, change in reversed(steps):
            g, by = ds[j], share.reshape(column)
            ds[j] = by * g
            ds[j - 1] = ds[j - 1] + (g - ds[j] if r > nu else -ds[j])
            slope = np.einsum("ij,ij->i", *(v.reshape(len(x), -1) for v in (np.conjugate(g), change))).real / width
            if r > nu:
                dx += slope
                np.add.at(dt, i + j - k, slope * (share - 1.0))
                slope = slope * share
            else:
                slope = slope * share
                np.add.at(dt, i + j - k, slope)
            np.add.at(dt, i + j + 1 - r, -slope)
        return dt, dx

    return d[k], pullback


@rrule(formulas.interpolating)
def interpolating(x, y, t, ends, k, orders):
    """The system that the coefficients solve has k + 1 numbers in a row, and so has what it is made of."""
    if k == 0:
        return y, lambda dc: (None, dc, None, None, None, None)
    at = [(x[:1], m) for m in orders[0]] + [(x, 0)] + [(x[-1:], m) for m in orders[1]]
    blocks = [
        sip.BSpline.design_matrix(p, t, k, extrapolate=True) if m == 0 and p is x else formulas.basis(t, p, k, m)
        for p, m in at
    ]
    whole = sp.vstack([sp.csr_array(b) for b in blocks], format="csc") if len(blocks) > 1 else blocks[0].tocsc()
    factors = sl.splu(whole)
    n = len(orders[0])
    given = [np.broadcast_to(v, y.shape[1:])[None] for v in ends]
    c = _solved(factors, np.concatenate([*given[:n], y, *given[n:]]), "N")

    def pullback(dc):
        d = _solved(factors, np.asarray(dc), "T")
        parts = [(c, d)] if not np.iscomplexobj(c) else [(c.real, d.real), (c.imag, d.imag)]
        dt, dx, row = np.zeros(t.shape), np.zeros(x.shape), 0
        for i, (p, m) in enumerate(at):
            rows = slice(row, row + len(p))
            row += len(p)
            places = slice(0, 1) if i < n else slice(len(x) - 1, len(x)) if i > n else slice(None)
            for w, e in parts:
                more_t, more_x = _recurrence(t, w, p, k, m)[1](-e[rows])
                dt += more_t
                dx[places] += more_x
        of_ends = [d[i] for i in range(n)] + [d[len(d) - len(ends) + i] for i in range(n, len(ends))]
        dends = tuple([fitted(unbroadcast(e, np.shape(v)), v) for e, v in zip(of_ends, ends, strict=True)])
        return dx, d[n : n + len(y)], dt, dends, None, None

    return c, pullback


def _solved(factors: Any, b: np.ndarray, trans: str) -> np.ndarray:
    flat = np.ascontiguousarray(b.reshape(len(b), -1))
    if np.iscomplexobj(flat):
        x = factors.solve(flat.real.copy(), trans) + 1j * factors.solve(flat.imag.copy(), trans)
    else:
        x = factors.solve(flat.astype(float), trans)
    return x.reshape(b.shape)


def knots_cotangent(
    t: np.ndarray, c: np.ndarray, k: int, x: np.ndarray, dy: np.ndarray, nu: int, extrapolate: Any
) -> Any:
    if extrapolate == "periodic":
        return NoDerivative("a periodic spline", "its knots")
    flat = np.asarray(x, float).ravel()
    d = dy.reshape(flat.size, *c.shape[1:])
    if not extrapolate:
        inside = (flat >= t[k]) & (flat <= t[-k - 1])
        d = np.where(inside.reshape(-1, *[1] * (d.ndim - 1)), d, 0.0)
    parts = [(c, d)] if c.dtype.kind != "c" else [(c.real, d.real), (c.imag, d.imag)]
    return np.add.reduce([_recurrence(t, p, flat, k, nu)[1](e)[0] for p, e in parts])


def knots_part(shadow: ObjectShadow, t: np.ndarray) -> tuple[np.ndarray, NoDerivative | None]:
    """The cotangent of the knots, and what refuses it where it is not known."""
    dt: Any = Kept.take(shadow, "t", t)
    return (np.zeros(t.shape), dt) if type(dt) is NoDerivative else (dt, None)


@rrule(sip.BSpline.__call__)
def spline(self: CoDual, x, nu=0, extrapolate=None):
    b = self.primal
    y = b(x, nu, extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        e = b.extrapolate if extrapolate is None else extrapolate
        t = front(np.asarray(dy), b.axis, np.ndim(x))
        dc, dx = spline_cotangents(b.t, b.c, b.k, x, t, nu, e)
        if type(self.fdata) is ObjectShadow:
            Kept.add(self, c=dc, t=knots_cotangent(b.t, b.c, b.k, x, t, nu, e))
        return None, fitted(dx, x)

    return CoDual(y, fy), pullback


@rrule(sip.BSpline)
def of_coefficients(t: CoDual, c, k, extrapolate=True, axis=0):
    b = sip.BSpline(t.primal, c, k, extrapolate, axis)
    shadow = Kept.of(b, c=b.c, t=b.t)

    def pullback(dy):
        dc = fitted(np.moveaxis(Kept.take(shadow, "c", b.c), 0, axis), c)
        return fitted(Kept.take(shadow, "t", b.t), t.primal), dc

    return CoDual(b, shadow), pullback


def _array_of(name: str) -> None:
    """Reading `b.c` or `b.t`."""

    @rrule(getter_of(sip.BSpline, name))
    def rule(self: CoDual):
        y = getattr(self.primal, name)
        return CoDual(y, Kept.find(self.fdata, name) if type(self.fdata) is ObjectShadow else None), lambda dy: None


for _name in ("c", "t"):
    if hasattr(sip.BSpline, _name):  # before SciPy 1.17 they are attributes
        _array_of(_name)


@rrule(sip.BSpline.tck.fget)
def tck(self: CoDual):
    f = self.fdata if type(self.fdata) is ObjectShadow else None
    fs = (None, None, None) if f is None else (Kept.find(f, "t"), Kept.find(f, "c"), None)
    return CoDual(self.primal.tck, fs if any(v is not None for v in fs) else None), lambda dy: None


def _other_degree(method: Any, formula: Any, step: int) -> None:
    """A method that gives the derivative or antiderivative of order nu."""

    @rrule(method)
    def rule(self: CoDual, nu=1):
        b = self.primal
        y = method(b, nu)
        shadow = Kept.of(y, c=y.c, t=y.t)

        def made(t, c):
            k = b.k
            for _ in range(nu):
                c = formula(t, c, k)
                k += step
                t = t[1:-1] if step < 0 else np.concatenate([t[:1], t, t[-1:]])
            return c, t

        def pullback(dy):
            c, t = b.c, b.t
            n = len(y.t) - y.k - 1
            dc = Kept.take(shadow, "c", y.c)
            extra = dc[n:]
            dc = dc[:n].copy()
            if step > 0:
                dc[-1] += np.sum(extra, axis=0)  # it is filled up with the last one
            parts = [(c, dc)] if c.dtype.kind != "c" else [(c.real, dc.real), (c.imag, dc.imag)]
            dt, unknown = knots_part(shadow, y.t)
            found = []
            for p, d in parts:
                _, pull = run(made, None, (t, p))
                found.append(
                    [np.zeros(x.shape) if v is None else v for v, x in zip(pull((d, dt)), (t, p), strict=True)]
                )
                dt = np.zeros(y.t.shape)
            dcs = found[0][1] if len(found) == 1 else found[0][1] + 1j * found[1][1]
            Kept.add(self, c=dcs, t=unknown or np.add.reduce([d[0] for d in found]))
            return None

        return CoDual(y, shadow), pullback


_other_degree(sip.BSpline.derivative, formulas.differenced, -1)
_other_degree(sip.BSpline.antiderivative, formulas.summed, 1)


@rrule(sip.BSpline.integrate)
def integrate(self: CoDual, a, b, extrapolate=None):
    s = self.primal
    y = s.integrate(a, b, extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        e = s.extrapolate if extrapolate is None else extrapolate
        if e == "periodic" or s.c.dtype.kind == "c":
            raise NotDifferentiated("integrals of periodic and complex splines are not differentiated")
        low, high = s.t[s.k], s.t[-s.k - 1]
        free = [bool(e) or low <= v <= high for v in (a, b)]
        ends = [float(v) if f else float(np.clip(v, low, high)) for v, f in zip((a, b), free, strict=True)]
        value, pull = run(formulas.integral, None, (s.t, s.c, *ends, s.k), [True, True, True, True, False])
        dt, dc, da, db, _ = pull(np.asarray(dy).reshape(np.shape(value))[()])
        unknown = NoDerivative("the integral of a spline beyond its knots", "the knots")
        Kept.add(self, c=dc, t=dt if all(free) else unknown)
        da, db = (fitted(d, v) if f else None for d, v, f in zip((da, db), (a, b), free, strict=True))
        return None, da, db

    return CoDual(y, fy), pullback


# -- fitted to data ---------------------------------------------------------------------------------------


def _conditions(bc: Any) -> list[list[tuple[int, Any]]]:
    """The derivatives given at either end: their orders and values."""
    if bc is None or (isinstance(bc, str) and bc in ("not-a-knot", "periodic")):
        return [[], []]
    named: dict[str, list[tuple[int, Any]]] = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)], "not-a-knot": []}
    ends = [bc, bc] if isinstance(bc, str) else list(bc)
    return [[] if e is None else named[e] if isinstance(e, str) else list(e) for e in ends]


def _of_conditions(bc: Any, ds: list[Any]) -> Any:
    """The cotangents ds of the values in the structure of `bc_type`."""
    if bc is None or isinstance(bc, str):
        return None
    rest = list(ds)
    out: list[Any] = []
    for e in bc:
        skip = e is None or isinstance(e, str)
        if skip:
            del rest[: len(_conditions((e, None))[0])]
        out.append(None if skip else type(e)([(None, fitted(rest.pop(0), v)) for _, v in e]))
    return tuple(out) if isinstance(bc, tuple) else out


_NONE = CoDual(None, None)


@rrule(sip.make_interp_spline)
def make_interp_spline(x: CoDual, y, k=3, t: CoDual = _NONE, bc_type=None, axis=0, check_finite=True):
    b = sip.make_interp_spline(x.primal, y, k, t.primal, bc_type, axis, check_finite)
    by_t = t.primal is not None
    shadow = Kept.of(b, c=b.c, t=b.t)

    def pullback(dy):
        dc = Kept.take(shadow, "c", b.c)
        dt, unknown = knots_part(shadow, b.t)
        ys = np.moveaxis(np.asarray(y) * 1.0, axis, 0)
        if isinstance(bc_type, str) and bc_type == "periodic":
            unknown = NoDerivative("a periodic spline", "the places of the data")
            return unknown, fitted(np.moveaxis(_periodic(x.primal, len(ys), k, dc), 0, axis), y)
        conditions = _conditions(bc_type)
        orders = tuple([tuple([m for m, _ in e]) for e in conditions])
        ends = tuple([np.asarray(v, float) for e in conditions for _, v in e])
        given = np.asarray(t.primal, float) if by_t else None

        def made(x, y, t, *ends):
            knots = formulas.knots_at(x, k, len(ends) > 0) if t is None else t
            return formulas.interpolating(x, y, knots, ends, k, orders), knots

        xs = np.asarray(x.primal, float)
        _, pull = run(made, None, (xs, ys, given, *ends), [True, True, by_t, *[True] * len(ends)])
        dx, dys, dgiven, *dends = pull((dc, dt))
        dx = unknown if unknown is not None and not by_t else fitted(dx, x.primal)
        dgiven = (unknown or fitted(dgiven, t.primal)) if by_t else None
        return dx, fitted(np.moveaxis(dys, 0, axis), y), None, dgiven, _of_conditions(bc_type, dends)

    return CoDual(b, shadow), pullback


def _periodic(x: Any, n: int, k: int, dc: np.ndarray) -> np.ndarray:
    """The cotangent of n values, the last of which is the first."""
    unit = np.eye(n)
    unit[-1, 0] = 1.0
    made = sip.make_interp_spline(x, unit[:, :-1], k, None, "periodic", 0).c
    d = np.tensordot(made.T, dc, 1)
    return np.concatenate([d, np.zeros((1, *d.shape[1:]))])


def _fit(f: Any, formula: Any, names: tuple[str, ...]) -> None:
    """A function of x, y and more that gives a BSpline.

    `formula(o, x, y, *values)` gives coefficients and knots from data, the values of y along the first axis; `values`
    are those of the options of these names.
    """
    parameters = list(inspect.signature(f).parameters)

    @rrule(f)
    def rule(x: CoDual, y, *args: CoDual, **options: CoDual):
        given = dict(zip(parameters[2:], args, strict=False)) | options
        o = {k: v.primal for k, v in given.items()}
        b = f(x.primal, y, *[v.primal for v in args], **{k: v.primal for k, v in options.items()})
        shadow = Kept.of(b, c=b.c, t=b.t)

        def pullback(dy):
            dc = Kept.take(shadow, "c", b.c)
            dt, unknown = knots_part(shadow, b.t)
            axis = o.get("axis", 0)
            ys = np.moveaxis(np.asarray(y) * 1.0, axis, 0)
            values = [None if o.get(k) is None else np.asarray(o[k], float) for k in names]
            on = [True, True, *[v is not None for v in values]]
            _, pull = run(functools.partial(formula, o), None, (np.asarray(x.primal, float), ys, *values), on)
            dx, dys, *ds = pull((dc, dt))
            of = {k: fitted(d, o[k]) for k, d in zip(names, ds, strict=True) if d is not None}
            if unknown is not None:
                of, dx = of | {"t": unknown}, dx if "t" in names else unknown
            dys = fitted(np.moveaxis(dys, 0, axis), y)
            rest = [of.get(k) for k in parameters[2 : 2 + len(args)]]
            return fitted(dx, x.primal), dys, *rest, *[of.get(k) for k in options]

        return CoDual(b, shadow), pullback


def _least_squares(o, x, y, t, w):
    return formulas.least_squares(x, y, np.ones(len(x)) if w is None else w, t, o.get("k", 3)), t


def _smooth(o, x, y, w, lam):
    w = np.ones(len(x)) if w is None else w
    if lam is None:
        columns = y.reshape(len(x), -1)
        smooth = [formulas.penalised(x, v, w, chosen_penalty(x, v, w)) for v in columns.T]
        smooth = np.stack(smooth, axis=1).reshape(y.shape)
    else:
        smooth = formulas.penalised(x, y, w, lam)
    t = np.concatenate([x[0] + np.zeros(3), x, x[-1] + np.zeros(3)])
    return formulas.interpolating(x, smooth, t, (0.0, 0.0), 3, ((2,), (2,))), t


def chosen_penalty(x: Any, y: Any, w: Any) -> float:
    """Where generalised cross-validation is least, as far as SciPy looks; its residuals have no weights."""

    def score(lam: float) -> float:
        k = formulas.roughness(x)
        hat = np.linalg.solve(np.diag(w) + lam * k, np.diag(w))
        return float(np.sum((y - hat @ y) ** 2) / (len(x) - np.trace(hat)) ** 2)

    return float(so.minimize_scalar(score, bounds=(0, len(x)), method="bounded").x)


@rrule(chosen_penalty)
def chosen_penalty_rule(x, y, w):
    lam = chosen_penalty(x, y, w)

    def pullback(dy):
        inner = 1e-4 < lam < len(x) - 1e-4  # at the border it does not move
        if not inner:
            return None
        _, pull = run(formulas.cross_validation_slope, None, (lam, x, y, w))
        dlam, dx, dys, dw = pull(1.0)
        return tuple([-dy / dlam * d for d in (dx, dys, dw)])

    return lam, pullback


_fit(sip.make_lsq_spline, _least_squares, ("t", "w"))
_fit(sip.make_smoothing_spline, _smooth, ("w", "lam"))

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3, 4.0])
_Y = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.4])
_Q = np.array([[0.2, 1.1], [2.5, 3.9]])
_T = np.array([0.0, 0.0, 0.0, 0.0, 1.8, 4.0, 4.0, 4.0, 4.0])
_NOISY = np.array([0.1, 0.9, 0.8, 0.2, -0.7, -1.1, -0.1, 0.7, 0.9])
_BS = sip.make_interp_spline(_X, _Y)


def _knots(t):
    return np.concatenate([t[:1], t[:1], t[:1], t, t[-1:], t[-1:], t[-1:]])


def _used(t, c, q):
    s = sip.BSpline(_knots(t), c, 3)
    return s(q), s.derivative()(q), s.antiderivative(2)(q), s.integrate(0.3, 3.1), s.c * s.t[:5].sum(), s.tck[1]


CASES: list[RuleCase] = [
    case(lambda q: _BS(q), _Q), case(lambda q: _BS(q, 1), 1.1),
    case(lambda x, y, q: sip.make_interp_spline(x, y)(q), _X, _Y, _Q),
    *[case(lambda x, y, f=f: f(x, y)(1.1), _X.tolist(), _Y.tolist())
      for f in (sip.make_interp_spline, sip.make_smoothing_spline)],
    case(lambda x, y, q: sip.make_interp_spline(x, y, k=1)(q), _X, np.stack([_Y, _Y**2], 1), 1.1),
    case(lambda x, y: sip.make_interp_spline(x, y, k=2)(_Q + 0.05), _X, _Y),
    case(lambda x, y, b: sip.make_interp_spline(x, y, bc_type=([(1, b)], "natural"))(_Q), _X, _Y, 0.3),
    case(lambda y: sip.make_interp_spline(_X, np.concatenate([y, y[:1]]), bc_type="periodic")(_Q), _Y[:-1]),
    case(lambda y: sip.make_smoothing_spline(np.arange(9.0), y)(_Q), _NOISY),
    case(_used, _T[3:6], _Y[:5], _Q[0]),
    case(lambda c: sip.BSpline(_BS.t, c, 3)(1.1, 1), _BS.c),
    case(lambda c: sip.BSpline(_BS.t, c, 3, axis=1)(1.1), np.stack([_BS.c, _BS.c**2])),
    case(lambda x, y, t, w: sip.make_lsq_spline(x, y, _knots(t), w=w)(_Q), _X, _Y, _T[3:6] * 1.2 - 0.1, 1.0 + 0.1 * _X),
    case(lambda y: sip.make_lsq_spline(_X, np.stack([y, y * y]), _T, axis=1)(_Q), _Y),
    case(lambda x, y, lam: sip.make_smoothing_spline(x, y, lam=lam)(_Q), _X, _Y, 0.1),
    case(lambda y, w: sip.make_smoothing_spline(_X, y, w=w, lam=0.01)(_Q), _Y, _X + 1.0),
]  # fmt: skip
