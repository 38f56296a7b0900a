"""`enumerate(xs, start=1)` as `enumerate(xs, 1)`: what Python brings along is known by the places of arguments."""

from __future__ import annotations

import builtins
import functools
import inspect
import types as pytypes
from dataclasses import replace
from typing import Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Known
from mooncake_py.ir.nodes import Call, Const, Function

_BUILTIN = frozenset({f for f in vars(builtins).values() if type(f) in (type, pytypes.BuiltinFunctionType)})


def by_position(inferred: Inferred) -> Function | None:
    """The function with the named arguments of such calls in their places; None where there are none."""
    new: dict[Call, Call] = {}
    for b in inferred.fn.blocks:
        for s in b.stmts:
            t = None if not s.kwargs else Known(s.fn.value) if isinstance(s.fn, Const) else inferred.types.get(s.fn)
            if isinstance(t, Known) and hashable(t.value) and t.value in _BUILTIN:
                names = _places(t.value)[len(s.args) :][: len(s.kwargs)]
                given = dict(s.kwargs)
                if given.keys() == set(names):
                    new[s] = replace(s, args=(*s.args, *[given[k] for k in names]), kwargs=())
    if not new:
        return None
    blocks = [replace(b, stmts=tuple([new.get(s, s) for s in b.stmts])) for b in inferred.fn.blocks]
    return replace(inferred.fn, blocks=tuple(blocks))


@functools.cache
def _places(f: Any) -> tuple[str, ...]:
    """The parameters that may be given either way, by their places; "" for those that may not be named."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return ()
    kinds = inspect.Parameter
    return tuple(
        [
            p.name if p.kind is kinds.POSITIONAL_OR_KEYWORD else ""
            for p in parameters
            if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
    )
