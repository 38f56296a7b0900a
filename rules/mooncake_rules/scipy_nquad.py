"""scipy.integrate.nquad, and so dblquad and tplquad, which call it.

The derivative of an integral over a domain is the integral of that of the integrand, and what moves across the ends of
every dimension: there the integrand, integrated over the dimensions inside, times the derivative of the end.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.integrate as si

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.abstraction import FEW
from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, add_rdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.quadrature import ALL, TENTH, Piece, Rule, adaptive, at_nodes, errors, first_pieces
from mooncake_rules.scipy_integrate import weight_at

_NONE = CoDual(None, None)
_AT_ONCE = 4000
"""How many nodes are run at once: what the integrand stores for its derivative is kept that long."""

Row = tuple[float, ...]
Weighted = Callable[[list[float], list[Row]], np.ndarray]


class Domain:
    """What an integral is over: of every dimension, the innermost first, the ends, by the coordinates outside of it."""

    def __init__(self, ranges: Any, args: tuple[Any, ...], opts: Any):
        self.args = args
        self.ranges = [r if callable(r) else (lambda *_, r=r: r) for r in ranges]
        opts = {} if opts is None else opts
        of_each = [opts] * len(ranges) if isinstance(opts, dict) else opts
        self.opts = [o if callable(o) else (lambda *_, o=o: o) for o in of_each]

    def interval(self, k: int, outer: Row) -> tuple[float, float, dict[str, Any]]:
        a, b = self.ranges[k](*outer, *self.args)
        return float(a), float(b), dict(self.opts[k](*outer, *self.args))

    def product(self, rule: Any, first: int, k: int, outer: Row = ()) -> Iterator[tuple[Row, float]]:
        """The nodes in the dimensions first ... k, where every interval is one piece from point to point."""
        if k < first:
            yield outer, 1.0
            return
        a, b, opt = self.interval(k, outer)
        for piece in first_pieces(a, b, opt.get("points")):
            for x, w in zip(*at_nodes(piece, rule, a, b), strict=True):
                for row, v in self.product(rule, first, k - 1, (float(x), *outer)):
                    yield row, v * float(w)

    def integral(self, weighted: Weighted, first: int) -> np.ndarray:
        """The integral of a vector over the dimensions from `first` on, by sums of it at some nodes.

        By the nodes of all dimensions together, if these will do; otherwise one dimension after the other.
        """
        last = len(self.ranges) - 1
        if last < first:
            return weighted([1.0], [()])
        if any(o.get("weight") for o in self._options(first)):
            return self._by_parts(weighted, first)
        epsabs, epsrel = _tolerances(self.interval(last, ())[2])
        whole, less = (_summed(weighted, self.product(rule, first, last)) for rule in (ALL, TENTH))
        if np.sum(errors(whole, less)) <= max(epsabs, epsrel * np.max(np.abs(whole), initial=0.0)):
            return whole
        return self._nested(weighted, first, last, ())

    def _options(self, first: int) -> list[dict[str, Any]]:
        """The options of every dimension, somewhere."""
        outer: Row = ()
        out: list[dict[str, Any]] = []
        for k in reversed(range(first, len(self.ranges))):
            a, _, opt = self.interval(k, outer)
            out.append(opt)
            outer = (a, *outer)
        return out

    def _by_parts(self, weighted: Weighted, first: int) -> np.ndarray:
        """With weights, as SciPy has them, one element of the vector after the other."""
        n = len(self.ranges) - first
        at = functools.cache(lambda *row: weighted([1.0], [row]))
        middle: Row = ()
        for k in reversed(range(first, len(self.ranges))):
            middle = (0.5 * sum(self.interval(k, middle)[:2]), *middle)
        ranges, opts = self.ranges[first:], self.opts[first:]
        return np.array([
            si.nquad(lambda *row, i=i: at(*row[:n])[i], ranges, self.args, opts)[0] for i in range(at(*middle).size)
        ])  # fmt: skip

    def _nested(self, weighted: Weighted, first: int, k: int, outer: Row) -> np.ndarray:
        a, b, opt = self.interval(k, outer)

        def by(rule: Rule, piece: Piece) -> np.ndarray:
            xs, ws = (v.tolist() for v in at_nodes(piece, rule, a, b))
            if k == first:
                return weighted(ws, [(x, *outer) for x in xs])
            parts = [w * self._nested(weighted, first, k - 1, (x, *outer)) for x, w in zip(xs, ws, strict=True)]
            return np.sum(parts, axis=0)

        return adaptive(by, a, b, *_tolerances(opt), opt.get("points"))


def _tolerances(opt: dict[str, Any]) -> tuple[float, float]:
    return max(opt.get("epsabs", 1.49e-8), 1e-12), min(opt.get("epsrel", 1.49e-8), 1e-10)


def _summed(weighted: Weighted, nodes: Iterator[tuple[Row, float]]) -> np.ndarray:
    parts = []
    while some := list(itertools.islice(nodes, _AT_ONCE)):
        rows, ws = zip(*some, strict=True)
        parts.append(weighted(list(ws), list(rows)))
    return np.sum(parts, axis=0)


class Ends:
    """What the integral changes by when the ends of a dimension move."""

    def __init__(self, f: Any, ranges: Any, opts: Any, domain: Domain):
        self.f, self.ranges, self.opts, self.domain = f, ranges, opts, domain

    def inside(self, k: int, x: float, row: Row, opt: dict[str, Any]) -> float:
        """The integral over the dimensions inside of k, where the coordinate of k is at an end."""
        if not np.isfinite(x):
            return 0.0
        args = (x, *row, *self.domain.args)
        if k == 0:
            value = np.ravel(self.f(*args))[0]
        else:
            opts = self.opts[:k] if isinstance(self.opts, (list, tuple)) else self.opts
            value = si.nquad(self.f, self.ranges[:k], args, opts)[0]
        return float(value) * weight_at(x, opt.get("weight"), opt.get("wvar"))

    def at(self, k: int, ws: list[float], rows: list[Row]) -> tuple[list[float], list[float]]:
        """By the lower and by the upper ends, at places outside of dimension k."""
        low, high = [], []
        for w, row in zip(ws, rows, strict=True):
            a, b, opt = self.domain.interval(k, row)
            low.append(-w * self.inside(k, a, row, opt))
            high.append(w * self.inside(k, b, row, opt))
        return low, high

    def of_function(self, k: int, d: Dependence) -> np.ndarray:
        """The cotangent of what the function that gives the ends depends on."""

        def weighted(ws: list[float], rows: list[Row]) -> np.ndarray:
            low, high = self.at(k, ws, rows)
            parts = []
            for i in range(0, len(rows), FEW):
                some = slice(i, i + FEW)
                s, pull = d.pairs(low[some], high[some], *map(list, zip(*rows[some], strict=True)))
                parts.append(pull(_one(s)))
            return np.sum(parts, axis=0)

        return self.domain.integral(weighted, k + 1)

    def of_numbers(self, k: int) -> list[float]:
        """The cotangents of the two ends."""
        return self.domain.integral(lambda ws, rows: np.sum(self.at(k, ws, rows), axis=1), k + 1).tolist()


def _one(s: Any) -> Any:
    return np.ones_like(s) if isinstance(s, np.ndarray) else type(s)(1.0)


def _given(k: int, low: float, high: float, ranges: Any) -> Any:
    r = ranges[k]
    return low * r[0] + high * r[1]


def _gradient(func: CoDual, ranges: CoDual, args: CoDual, opts: Any, dy: float) -> tuple[Any, Any]:
    """The cotangents of ranges and args; what functions captured gets its cotangents."""
    domain = Domain(ranges.primal, args.primal, opts)
    inside = Dependence(func.primal, func.fdata, args.primal, args.fdata)

    def integrand(ws: list[float], rows: list[Row]) -> np.ndarray:
        s, pull = inside.weighted(ws, *map(list, zip(*rows, strict=True)))
        return pull(_one(s))

    of_args = inside.give(domain.integral(integrand, 0) * dy)
    of_ranges = None
    ends = Ends(func.primal, ranges.primal, opts, domain)
    given = Dependence(_given, None, (ranges.primal,), (ranges.fdata,))
    for k, r in enumerate(ranges.primal):
        if callable(r):
            fr = None if ranges.fdata is None else ranges.fdata[k] if type(ranges.fdata) is tuple else ranges.fdata.f[k]
            d = Dependence(r, fr, args.primal, args.fdata)
            of_args = add_rdata(of_args, d.give(ends.of_function(k, d) * dy))
        elif ranges.fdata is not None:
            low, high = ends.of_numbers(k)
            s, pull = given.at(k, low, high)
            of_ranges = add_rdata(of_ranges, given.give(pull(_one(s))[1] * dy)[0])
    return of_ranges, of_args


@rrule(si.nquad)
@watched
def nquad(func: CoDual, ranges: CoDual, args: CoDual = _NONE, opts=None, full_output=False):
    y = si.nquad(func.primal, ranges.primal, args.primal, opts, full_output)

    def pullback(dy):
        if dy is not None and dy[1] is not None and dy[1]:
            raise NotDifferentiated("the error that scipy.integrate.nquad estimates is not differentiated")
        if dy is None or dy[0] is None:
            return None
        if not isinstance(args.primal, (tuple, type(None))):
            raise NotDifferentiated("scipy.integrate.nquad is differentiated with args in a tuple")
        known = args if args.primal else CoDual((), None)
        of_ranges, of_args = _gradient(func, ranges, known, opts, dy[0])
        return None, of_ranges, of_args if args.primal else None, None, None

    return CoDual(y, None), pullback


# -- cases ------------------------------------------------------------------------------------------------

_P = np.array([0.7, 1.3, 0.4])


def _dblquad(p):
    return si.dblquad(lambda y, x: np.exp(-x * y * p[0]) * p[2], 0.1, p[1], lambda x: x * p[2], lambda x: p[0] + x)[0]


def _args(a, b):
    return si.nquad(lambda x, y, a, b: np.cos(a * x) * y**b, [lambda y, a, b: (0.0, y * b), (0.2, 1.0)], (a, b))[0]


def _numbers(a, b):
    return si.nquad(lambda x, y: np.sin(x * y + a), [[a, 1.0], [0.0, b]])[0]


def _three(a, b):
    return si.tplquad(
        lambda z, y, x: x * y * np.sin(a * z), 0.0, b, 0.2, lambda x: x + b, lambda x, y: 0.0, lambda x, y: a * y
    )[0]


def _line(a, b):
    return si.nquad(lambda x: np.exp(-a * x), [[a, b]])[0]


def _endless(a):
    return si.dblquad(lambda y, x: np.exp(-a * x * x - y * y), -np.inf, np.inf, 0.0, np.inf)[0]


def _options(a, b):
    opts = [{"points": [0.5]}, {"weight": "cos", "wvar": 2.0}]
    return si.nquad(lambda x, y: abs(x - 0.5) ** a * np.exp(-y * b), [[0.0, 1.0], [0.1, b]], opts=opts)[0]


def _default(a):
    def f(x, y, c, a=a):
        return a * x * y**c

    return si.nquad(f, [[0.0, 1.0], [0.0, a]], (a,), full_output=True)[0]


def _disc(r):
    """The slope of the end has no value where the disc ends."""
    return si.dblquad(lambda y, x: 1.0 + x, -r, r, lambda x: -np.sqrt(r * r - x * x), lambda x: np.sqrt(r * r - x * x))[
        0
    ]


CASES: list[RuleCase] = [
    case(_dblquad, _P), case(_args, 0.7, 1.3), case(_numbers, 0.3, 1.2), case(_three, 0.7, 0.9), case(_line, 0.4, 1.7),
    case(_endless, 0.8), case(_options, 1.7, 0.8), case(_default, 0.8), case(_disc, 1.3),
]  # fmt: skip
