"""The border to the user on the way in: shadows for arguments."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np

from mooncake_py import layout, run
from mooncake_py.errors import UnsupportedError
from mooncake_py.runtime.user import PLAIN, all_plain
from mooncake_py.shadows import Shadow, shadow_of
from mooncake_py.structure import attributes, dict_kind, has_attributes_beside, in_order, is_user_class, items_of
from mooncake_py.tangents import DictShadow, ListShadow, ObjectShadow, lies_in, made_fdata, zero_fdata


class Shadows(tuple):
    """fdata of arguments; `aliased` where two of them share memory."""

    aliased = False


def shadows_of(args: tuple[Any, ...], active: tuple[bool, ...], apart: bool = False) -> Shadows:
    """Fresh fdata for arguments; arguments that share memory share their fdata.

    `apart`: nobody writes to them, so an array has fdata of its own at every place that it is found at.
    """
    here = run.current()
    if not apart and here.wary < run.ARRAYS and (plain := _of_plain_arrays(args, active)) is not None:
        return plain
    seen: dict[int, Any] = {}
    arrays: list[tuple[np.ndarray, Shadow]] = []
    state = {"aliased": False}
    met: list[tuple[Any, ObjectShadow]] = []  # objects: looked into later, they may be linked into long lists

    def one(x: Any) -> Any:
        if type(x) in PLAIN:
            return None
        if apart and type(x) is np.ndarray:
            return zero_fdata(x) if here.wary >= run.ARRAYS else made_fdata(x)
        if not isinstance(x, tuple) and id(x) in seen:
            state["aliased"] = True
            return seen[id(x)]
        if type(x) is np.ndarray and x.dtype.kind in "fc":
            f: Any = _array_shadow(x, arrays, state)
        elif isinstance(x, tuple):
            items = tuple(map(one, items_of(x)))
            f = items if any(v is not None for v in items) else None
        elif isinstance(x, list):
            held = in_order(x)
            f = noted(x, ListShadow([], [None] * len(held)))
            f.f.extend([None] * len(held) if all_plain(held) else [one(v) for v in held])
        elif isinstance(x, deque):
            held = in_order(x)
            f = noted(x, ListShadow(deque(maxlen=x.maxlen), deque([None] * len(held), x.maxlen)))  # type: ignore[arg-type]
            f.f.extend([one(v) for v in held])
        elif isinstance(x, dict):
            f = noted(x, DictShadow({}))
            f.f.update({k: one(v) for k, v in dict_kind(x).items(x)})
        elif is_user_class(type(x)):
            f = noted(x, ObjectShadow(x))
            met.append((x, f))
        else:
            f = zero_fdata(x)
        if f is not None:
            seen[id(x)] = f
        if type(x) not in _WITHOUT_ATTRIBUTES and isinstance(x, (list, dict, deque)) and has_attributes_beside(x):
            beside = here.memos[id(x)] = ObjectShadow(x)
            met.append((x, beside))
        return f

    def noted(x: Any, f: Any) -> Any:
        """One shadow per object, which may hold itself, and from wherever the run comes to it."""
        seen[id(x)] = f
        here.put(x, f)
        return f

    out = Shadows(one(x) if a else None for x, a in zip(args, active, strict=True))
    for x, f in met:  # there are more and more
        f.f.update({k: None if k in f.constant else one(v) for k, v in attributes(x).items()})
    out.aliased = state["aliased"]
    return out


def _of_plain_arrays(args: tuple[Any, ...], active: tuple[bool, ...]) -> Shadows | None:
    """The same for numbers and arrays with memory of their own; None where something else is among them."""
    out: list[Shadow | None] = []
    owners: set[int] = set()
    for x, a in zip(args, active, strict=True):
        if not a or type(x) in PLAIN:
            out.append(None)
        elif type(x) is np.ndarray and x.base is None and x.dtype.kind in "fc" and id(x) not in owners:
            owners.add(id(x))
            out.append(shadow_of(x))
        else:
            return None
    return Shadows(out)


def _array_shadow(x: np.ndarray, arrays: list[tuple[np.ndarray, Shadow]], state: dict[str, bool]) -> Shadow:
    if run.current().wary >= run.ARRAYS and lies_in(x, layout.owner_of(x)):
        shadow = zero_fdata(x)  # the run may come to its memory from outside as well
        state["aliased"] = state["aliased"] or any(np.shares_memory(x, y) for y, _ in arrays)
        arrays.append((x, shadow))
        return shadow
    shadow = shadow_of(x)
    own = x.base is None
    for y, other in arrays:
        if own and y.base is None:  # each has memory of its own
            continue
        if np.may_share_memory(x, y) and np.shares_memory(x, y):
            state["aliased"] = True
            base = layout.owner_of(x)
            if (
                base is not layout.owner_of(y)
                or base.dtype != x.dtype
                or y.dtype != x.dtype
                or not base.flags.c_contiguous
            ):
                raise UnsupportedError("arguments that overlap in memory in this way", "the call", None)
            data = other.data if other.shared and other.data is not None else None
            whole = data.base if data is not None and isinstance(data.base, np.ndarray) else None
            if whole is None or whole.shape != base.shape:
                whole = np.zeros(base.shape, base.dtype)
                other.data, other.owned, other.shared = layout.same_view(y, base, whole), True, True
            shadow.data, shadow.owned, shadow.shared = layout.same_view(x, base, whole), True, True
            break
    arrays.append((x, shadow))
    return shadow


_WITHOUT_ATTRIBUTES = frozenset({list, tuple, dict, defaultdict, deque, set, frozenset, np.ndarray})
