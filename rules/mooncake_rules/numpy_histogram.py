"""Counting into bins. In which bin a value falls does not change nearly everywhere; its weight counts, and so do the
edges of bins that span the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.registry import probed, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import gives_one
from mooncake_rules.mirror import mirrors
from mooncake_rules.sequences import unstack


@rrule(np.bincount)
def bincount(x, weights=None, minlength=0):
    def pullback(dy):
        return None, None if weights is None else unstack(dy[np.asarray(x)], weights)

    return np.bincount(x, weights, minlength), pullback


def bin_count(sample: Any, bins: Any, range: Any, weights: Any) -> int | None:
    """How many bins span the data evenly; None where the edges are given."""
    if isinstance(bins, (int, np.integer)):
        return int(bins)
    return len(np.histogram_bin_edges(sample, bins, range, weights)) - 1 if isinstance(bins, str) else None


def bin_of(edges: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """The bin of every value, the last one closed; what lies outside is counted beyond the last."""
    i = np.searchsorted(edges, sample, "right") - 1
    n = len(edges) - 1
    i = np.where(sample == edges[-1], n - 1, i)
    return np.where((sample >= edges[0]) & (sample <= edges[-1]), i, n)


zero_derivative(bin_count, bin_of)
pure.update({bin_count, bin_of})
gives_one(np.bincount)


def edges_of(sample, bins, range, weights):
    n = bin_count(sample, bins, range, weights)
    if n is None:
        return np.asarray(bins)
    if range is not None:
        first, last = range[0], range[1]
    elif sample.size == 0:
        first, last = 0.0, 1.0
    else:
        first, last = np.min(sample), np.max(sample)
    if first == last:
        first, last = first - 0.5, last + 0.5
    return np.linspace(first, last, n + 1)


@mirrors(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    return edges_of(np.ravel(np.asarray(a)), bins, range, weights)


@mirrors(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    sample = np.ravel(np.asarray(a))
    edges = edges_of(sample, bins, range, weights)
    w = np.ones(sample.shape) if weights is None else np.ravel(np.asarray(weights))
    n = len(edges) - 1
    i = bin_of(edges, sample)
    h = np.bincount(i, w.real, n + 1)[:n]
    if np.iscomplexobj(w):
        h = h + 1j * np.bincount(i, w.imag, n + 1)[:n]
    return (h / np.diff(edges) / np.sum(h) if density else h), edges


@mirrors(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    if isinstance(sample, np.ndarray) and sample.ndim == 2:
        columns = [sample[:, k] for k in np.arange(sample.shape[1])]
    else:
        columns = [np.asarray(x) for x in sample]
    d = len(columns)
    each = [bins] * d if np.ndim(bins) == 0 else bins
    edges = [edges_of(columns[k], each[k], None if range is None else range[k], None) for k in np.arange(d)]
    shape = [len(e) for e in edges]
    place = np.ravel_multi_index([bin_of(edges[k], columns[k]) for k in np.arange(d)], shape)
    w = np.ones(len(place)) if weights is None else np.asarray(weights)
    h = np.bincount(place, w, int(np.prod(shape))).reshape(shape)[(slice(None, -1),) * d]
    if density:
        for k in np.arange(d):
            widths = np.diff(edges[k])
            h = h / widths.reshape([-1 if j == k else 1 for j in np.arange(d)])
        h = h / np.sum(np.bincount(place, w, int(np.prod(shape))).reshape(shape)[(slice(None, -1),) * d])
    return h, edges


probed.discard(np.histogramdd)  # the dimensions of its counts are in the shape of the sample


@mirrors(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    n = 1 if np.ndim(bins) == 0 else len(bins)
    h, edges = histogramdd([x, y], [bins, bins] if n not in (1, 2) else bins, range, density, weights)
    return h, edges[0], edges[1]


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3, 1.7, 0.33])
_P = np.array([0.4, 1.3, 2.2, 0.9, 1.7, 0.2])
_I = np.array([0, 1, 1, 3, 0, 1])

CASES: list[RuleCase] = [
    case(np.bincount, _I, _P), case(np.bincount, _I, weights=_P, minlength=6),
    case(np.bincount, _I, [0.5, 1.0, 0.2, 1.0, 2.0, 3.0]), case(np.histogram, _V, 3, weights=_P),
    case(np.histogram, _V, 3, weights=_P * (1 + 2j)), case(np.histogram, _V, [-1.0, 0.4, 0.7, 2.0], None, None, _P),
    case(np.histogram, _V, 4),
    case(np.histogram, _V, 3, density=True), case(np.histogram, _V, 3, density=True, weights=_P),
    case(np.histogram, _V, 3, (-1.0, 1.0), weights=_P), case(np.histogram, _V, "sturges", weights=None),
    case(np.histogram_bin_edges, _V, 4), case(np.histogram2d, _V, _P, 3, weights=_P),
    case(np.histogram2d, _V, _P, [2, 3], density=True),
    case(np.histogram2d, _V, _P, np.array([-1.0, 0.5, 3.0]), weights=_P),
    case(np.histogramdd, np.stack([_V, _P, _V * _P], 1), 2, weights=_P),
    case(np.histogramdd, (_V, _P), (2, 3), density=True, weights=_P),
]  # fmt: skip
