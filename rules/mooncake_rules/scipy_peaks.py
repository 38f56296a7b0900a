"""scipy.signal: peaks, and filters by rank. Where the peaks are is constant; how high and wide they are is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as nd
import scipy.signal as ss
from scipy.signal import _peak_finding_utils as _utils

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors

_compiled: Any = _utils

zero_derivative(_compiled._local_maxima_1d, _compiled._select_by_peak_distance)


def bases_of(x: Any, peaks: Any, wlen: Any) -> Any:
    return _compiled._peak_prominences(x, peaks, wlen)[1:]


zero_derivative(bases_of)


@mirrors(_compiled._peak_prominences)
def prominences(x, peaks, wlen):
    """How far above the higher one of the lowest points on either side, before a higher peak."""
    left, right = bases_of(x, peaks, wlen)
    return x[peaks] - np.maximum(x[left], x[right]), left, right


@mirrors(_compiled._peak_widths)
def widths(x, peaks, rel_height, prominences, left_bases, right_bases):
    """Between the points on either side where x, drawn straight, is down at the height."""
    heights = x[peaks] - rel_height * prominences
    lefts, rights = [], []
    for k in range(len(peaks)):
        i = peaks[k]
        while i > left_bases[k] and x[i] > heights[k]:
            i = i - 1
        lefts.append(i + (heights[k] - x[i]) / (x[i + 1] - x[i]) if x[i] < heights[k] else 0.0 * heights[k] + i)
        i = peaks[k]
        while i < right_bases[k] and x[i] > heights[k]:
            i = i + 1
        rights.append(i - (heights[k] - x[i]) / (x[i - 1] - x[i]) if x[i] < heights[k] else 0.0 * heights[k] + i)
    left, right = np.array(lefts), np.array(rights)
    return right - left, heights, left, right


# -- ranks ------------------------------------------------------------------------------------------------


@mirrors(ss.medfilt2d)
def medfilt2d(input, kernel_size=3):
    """Beyond the border are zeros."""
    rows, columns = np.broadcast_to(np.asarray(kernel_size), 2).tolist()
    wide = np.pad(input, ((rows // 2, rows // 2), (columns // 2, columns // 2)))
    return np.median(np.lib.stride_tricks.sliding_window_view(wide, (rows, columns)), axis=(-2, -1))


@overlay(ss.order_filter)
def order_filter(a, domain, rank):
    where = np.asarray(domain) != 0
    if any(n % 2 != 1 for n in where.shape):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    return nd.rank_filter(np.asarray(a), rank, footprint=where, mode="constant")


# -- cases ------------------------------------------------------------------------------------------------

_X = np.sin(np.arange(24.0) ** 1.2) + 0.02 * np.arange(24.0)
_M = np.cos(np.arange(20.0) ** 1.3).reshape(4, 5) + 0.3


def _found(x):
    at, properties = ss.find_peaks(x, height=0.1, prominence=0.05, width=0.2, distance=2)
    return x[at], [properties[k] for k in ("peak_heights", "prominences", "widths", "width_heights", "left_ips")]


CASES: list[RuleCase] = [
    case(_found, _X), case(lambda x: ss.peak_prominences(x, ss.find_peaks(x)[0])[0], _X),
    case(lambda x: ss.peak_widths(x, ss.find_peaks(x)[0], 0.7)[:2], _X), case(ss.medfilt2d, _M),
    case(lambda x: ss.medfilt2d(x, (1, 3)), _M), case(lambda x: ss.order_filter(x, np.eye(3), 1), _M),
]  # fmt: skip
