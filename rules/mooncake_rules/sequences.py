"""NumPy functions of one array, given a list or tuple of numbers or arrays instead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py.fields import bare
from mooncake_py.infer.types import Arr, T
from mooncake_py.kinds import Kind
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.shadows import NoDerivative
from mooncake_rules.inference import nested

SEQUENCES = (list, tuple, deque)
ArrayLike = Kind("ArrayLike", (*SEQUENCES, np.ndarray, int, float, complex, np.number, np.bool_))
"""What needs none of its own code to be made an array."""


def unstack(t: Any, like: Any) -> Any:
    """The cotangent of `np.array(like)` in the structure of `like`."""
    if isinstance(like, SEQUENCES):
        kind: Any = tuple if isinstance(like, tuple) else list
        if all([type(x) is float for x in like]) and t.dtype.kind == "f":
            return kind(t.tolist())
        return kind([unstack(t[i], x) for i, x in enumerate(like)])
    if isinstance(like, np.ndarray):
        t = np.asarray(t)
        if like.dtype.kind != "c" and t.dtype.kind == "c":
            t = t.real
        return t if like.dtype.kind in "fc" else None
    if isinstance(like, (float, np.floating)):
        return type(bare(like))(np.real(t))
    if isinstance(like, (complex, np.complexfloating)):
        return type(bare(like))(t)
    if _says_what_it_holds(type(like)):
        return NoDerivative("an array", f"the {type(like).__name__} in it", "make it an array before: np.asarray(x)")
    return None


def _says_what_it_holds(cls: type) -> bool:
    """Has a class code of its own, by which NumPy finds the numbers in its objects?"""
    if issubclass(cls, (np.generic, str, bytes, range)):
        return False
    return hasattr(cls, "__array__") or (hasattr(cls, "__getitem__") and hasattr(cls, "__len__"))


pure.add(unstack)


def also_of_sequences(f: Any, rule: Callable) -> None:
    """Register `rule`, a rule of f on arrays, for lists and tuples as well."""

    def rule_of_sequence(xs):
        y, pb = rule(np.array(xs))

        def pullback(dy):
            ds = pb(dy)
            return (unstack(ds[0] if type(ds) is tuple else ds, xs),)

        return y, pullback

    def rule_of_sequence_axis(xs, axis):
        y, pb = rule(np.array(xs), axis)

        def pullback(dy):
            ds = pb(dy)
            return (unstack(ds[0] if type(ds) is tuple else ds, xs),)

        return y, pullback

    for kind in SEQUENCES:
        rrule(f, types=(kind,))(rule_of_sequence)
        rrule(f, types=(kind,))(rule_of_sequence_axis)
    inner = infer_table.get(f)

    def infer(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
        from mooncake_py.infer.types import Top

        if inner is None or isinstance(args[0], Arr):
            return None if inner is None else inner(args, kwargs)
        act = args[0].active
        n = nested(args[0])
        if n is None or n[1] is None:
            return Top(act)
        return inner((Arr(n[1], n[0], act), *args[1:]), kwargs)

    infer_table[f] = infer


def give_flat(shadow: Any, first: int, r: Sequence[Any]) -> None:
    """Add cotangents to those of an array's elements from `first` on, in the order of `a.flat`."""
    if any(t is not None for t in r):
        d = np.zeros(shadow.shape, shadow.dtype)
        d.flat[first : first + len(r)] = [0.0 if t is None else t for t in r]
        shadow.add(d)
