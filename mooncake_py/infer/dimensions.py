"""Arrays that have some number of dimensions or more: parameters of several layers in one dict, walked by key.

What a function makes of these is the join of what it makes of arrays with so many dimensions, one more, and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from mooncake_py.infer.types import BOT, Arr, Inst, T, Top, join, union

Kwargs = tuple[tuple[str, T], ...]

LOOKED_AT = 5
"""So many numbers of dimensions are looked at: results that differ by them go on as they began (`np.atleast_3d`)."""
MOST_SEVERAL = 3  # arguments with that many each


def is_some_array(t: T) -> bool:
    """An array of known dtype whose number of dimensions is not known?"""
    return type(t) is Arr and t.ndim is None and t.dtype is not None


def for_each_ndim(result: Callable[[tuple[T, ...], Kwargs], T], args: tuple[T, ...], kwargs: Kwargs) -> T:
    """The join of the results for every number of dimensions that the arguments may have; unknown if any is."""
    types = (*args, *[t for _, t in kwargs])
    if sum(map(is_some_array, types)) > MOST_SEVERAL:
        return Top(any(t.active for t in types))
    joined: T = BOT
    for given in itertools.product(*map(_of_each_ndim, types)):
        named = tuple([(k, t) for (k, _), t in zip(kwargs, given[len(args) :], strict=True)])
        joined = join(joined, result(given[: len(args)], named))
        if type(joined) is Top:
            break
    return joined


def _of_each_ndim(t: T) -> Iterator[T]:
    if not isinstance(t, Arr) or not is_some_array(t):
        yield t
        return
    for n in range(t.least, t.least + LOOKED_AT):
        yield Arr(t.dtype, n, t.act)


def row_of(t: Arr) -> T:
    """What iteration over an array gives: numbers, or arrays of a dimension less."""
    if t.ndim is None and t.least > 1:
        return Arr(t.dtype, None, t.act, t.least - 1)
    if t.ndim is not None and t.ndim > 1:
        return Arr(t.dtype, t.ndim - 1, t.act)
    if t.dtype is None or not t.fewest:
        return Top(t.act)
    number = Inst(t.dtype.type, t.act)
    return number if t.ndim == 1 else union((number, Arr(t.dtype, None, t.act, 1)))
