"""What a test tells of a type: what is left of it where the value is of a kind, and where it is not."""

from __future__ import annotations

import numpy as np

from mooncake_py.infer.types import BOT, Arr, Inst, Kind, Known, T, Top, Tup, Union, kind_of, union


def without(t: T, kind: Kind) -> T:
    """What is left of a type for values that are not of this kind."""
    options = t.options if isinstance(t, Union) else (t,)
    left = [x for x in options if kind_of(x) != kind]
    return t if len(left) == len(options) else union(left) if left else BOT


def only(t: T, kind: Kind) -> T:
    """What a type says of values of this kind."""
    if isinstance(t, Union):
        return next((x for x in t.options if kind_of(x) == kind), BOT)
    if not isinstance(t, Top):
        known = kind_of(t)
        return BOT if known is not None and known != kind else t
    if kind[0] == "is":
        return Known(kind[1])
    if kind[0] == "a" and len(kind) == 3:
        return Tup((Top(t.act),) * kind[2], kind[1])
    if kind[0] == "a":
        return Arr(None, None, t.act) if kind[1] is np.ndarray else Inst(kind[1], t.act)
    return t
