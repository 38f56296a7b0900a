"""Integrals of vectors by Gauss and Kronrod's rule, with pieces that are halved where they are not smooth."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_EPSILON = float(np.finfo(float).eps)

Rule = tuple[np.ndarray, np.ndarray]
"""The nodes in (-1, 1), and their weights."""

# Nodes and weights of Gauss and Kronrod, 10 and 21 points (Piessens et al., QUADPACK, 1983, routine qk21).
_KRONROD = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0,
])  # fmt: skip
_OF_KRONROD = np.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
])  # fmt: skip
_OF_GAUSS = np.array([
    0.066671344308688137593568809893332, 0.149451349150580593145863396957770, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
])  # fmt: skip
ALL = (np.concatenate([-_KRONROD, _KRONROD[-2::-1]]), np.concatenate([_OF_KRONROD, _OF_KRONROD[-2::-1]]))
TENTH = (np.concatenate([-_KRONROD[1::2], _KRONROD[-2::-2]]), np.concatenate([_OF_GAUSS, _OF_GAUSS[::-1]]))
MOST = 200
"""How many pieces an interval is divided into at most; SciPy's own limit is 50."""


class Piece(NamedTuple):
    """A part of an interval. A bent one is what u from lo to hi gives by x = end + (other - end) u^2.

    An integrand like a root of the distance from the end, or one over it, is smooth in u: so are the derivatives of
    areas and lengths that end where a root does.
    """

    lo: float
    hi: float
    bent: tuple[float, float] | None = None

    def nodes(self, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
        """Where the rule takes the integrand, and the weights."""
        half = 0.5 * (self.hi - self.lo)
        t, w = 0.5 * (self.lo + self.hi) + half * rule[0], half * rule[1]
        if self.bent is None:
            return t, w
        end, other = self.bent
        x = end + (other - end) * t * t
        return np.where(x == end, np.nextafter(end, other), x), w * (2.0 * (other - end)) * t

    def halves(self, ends: set[float]) -> list[Piece]:
        """The two halves; those of a piece that was halved before are bent to the ends of the interval they touch."""
        middle = 0.5 * (self.lo + self.hi)
        pieces = [self._replace(hi=middle), self._replace(lo=middle)]
        if self.bent is not None or {self.lo, self.hi} <= ends:
            return pieces
        if self.lo in ends:
            pieces[0] = Piece(0.0, 1.0, (self.lo, middle))
        if self.hi in ends:
            pieces[1] = Piece(1.0, 0.0, (self.hi, middle))
        return pieces

    @property
    def is_point(self) -> bool:
        """Are there so few numbers between its ends that the rule may take one where the integrand has no value?"""
        return abs(self.hi - self.lo) <= 256 * _EPSILON * max(abs(self.lo), abs(self.hi))


def at_nodes(piece: Piece, rule: Rule, a: float, b: float) -> Any:
    """Where the rule takes the integrand in a piece of the interval from a to b, and the weights. Of an infinite
    interval the piece is one of (0, 1), which QUADPACK maps it to by x = a + (1 - t) / t."""
    t, w = piece.nodes(rule)
    if np.isfinite(a) and np.isfinite(b):
        return t, w
    x, w = (1.0 - t) / t, w / (t * t)
    if np.isfinite(a):
        return (a + x, w) if b > 0 else (a - x, -w)
    if np.isfinite(b):
        return (b - x, w) if a < 0 else (b + x, -w)
    return np.concatenate([x, -x]), np.concatenate([w, w]) * (1.0 if b > a else -1.0)


def adaptive(
    by: Callable[[Rule, Piece], np.ndarray], a: float, b: float, epsabs: float, epsrel: float, points: Any
) -> np.ndarray:
    """The integral of a vector, of which `by(rule, piece)` gives that of a piece by a rule's nodes.

    By halves of the piece with the largest error, as QUADPACK does.
    """
    epsabs, epsrel = max(epsabs, 1e-12), min(epsrel, 1e-10)

    def measured(piece: Piece) -> tuple[float, Piece, np.ndarray]:
        whole = by(ALL, piece)
        if piece.is_point:
            return 0.0, piece, np.where(np.isfinite(whole), whole, 0.0)
        return _greatest(errors(whole, by(TENTH, piece))) if whole.size else 0.0, piece, whole

    first = first_pieces(a, b, points)
    if a == b:
        return np.zeros_like(by(TENTH, first[0]))
    ends = {end for piece in first for end in (piece.lo, piece.hi)}
    pieces = [measured(piece) for piece in first]
    while True:
        whole = np.sum([p[2] for p in pieces], axis=0)
        if not whole.size or len(pieces) >= MOST:
            return whole
        if sum(p[0] for p in pieces) <= max(epsabs, epsrel * _greatest(whole)):
            return whole
        worst = max(range(len(pieces)), key=lambda i: pieces[i][0])
        pieces += map(measured, pieces.pop(worst)[1].halves(ends))


def errors(whole: np.ndarray, less: np.ndarray) -> np.ndarray:
    """QUADPACK's estimate of the error of an integral by Kronrod's rule, from that by Gauss's."""
    differ = np.abs(whole - less)
    size = np.maximum(np.abs(whole), differ)
    size = np.where(size > 0.0, size, 1.0)
    error = size * np.minimum(1.0, (200.0 * differ / size) ** 1.5)
    return np.where(differ > 50.0 * _EPSILON * size, error, 0.0)


def first_pieces(a: float, b: float, points: Any) -> list[Piece]:
    """An interval from point to point; an infinite one is one piece."""
    if not (np.isfinite(a) and np.isfinite(b)):
        return [Piece(0.0, 1.0)]
    inside = [] if points is None else [float(p) for p in points if min(a, b) < p < max(a, b)]
    ends = [float(a), *sorted({*inside}, reverse=bool(b < a)), float(b)]
    return [Piece(lo, hi) for lo, hi in itertools.pairwise(ends)]


def _greatest(x: Any) -> float:
    return float(np.max(np.abs(x)))
