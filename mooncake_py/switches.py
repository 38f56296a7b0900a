"""Optimisations that can be switched off, to see what each is worth and to rule one out where something looks wrong.

Results do not depend on them. They are part of what a derived rule is found by, so rules derived under different
switches never mix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Options(NamedTuple):
    """What the engine may do; see `options`."""

    specialise: bool = True
    recompute: bool = True
    trip_counts: bool = True
    activity: bool = True
    stack_folding: bool = True
    objects: bool = True
    tidy: bool = True


DEFAULT = Options()
_current: ContextVar[Options] = ContextVar("mooncake_py.options", default=DEFAULT)
current = _current.get


@contextmanager
def options(
    *,
    specialise: bool | None = None,
    recompute: bool | None = None,
    trip_counts: bool | None = None,
    activity: bool | None = None,
    stack_folding: bool | None = None,
    objects: bool | None = None,
    tidy: bool | None = None,
) -> Iterator[Options]:
    """Switch optimisations off (or on again) for the calls made in a `with` block, in this thread or task.

    - `specialise`: the bodies of rules and of their pullbacks are taken into the derived code; off: rules are called
      and the closures they return are kept.
    - `recompute`: values that are cheap to have again are not kept for the reverse run; off: all are kept.
    - `trip_counts`: loops are reversed by an integer or a reversed range; off: every iteration records how it was
      entered.
    - `activity`: no code for cotangents that were not asked for; off: every argument counts as differentiated by. A
      function that hands an argument it is not differentiated by to code without a rule is then refused.
    - `stack_folding`: values used once stay on the interpreter's stack; off: each has a local variable.
    - `objects`: what objects of your classes do is found out from their classes, their methods are taken in, and those
      that only the function sees become local variables; off: all of that is decided when it runs.
    - `tidy`: in the reverse run equal computations are shared, signs taken into sums, what is computed for one reader
      is computed right before it, and outer products that a loop adds up are added as products of matrices.

    What is not given stays as it is outside the block. Values and gradients are the same under all of them.
    """
    given = (specialise, recompute, trip_counts, activity, stack_folding, objects, tidy)
    chosen = Options(*(old if new is None else bool(new) for old, new in zip(_current.get(), given, strict=True)))
    token = _current.set(DEFAULT if chosen == DEFAULT else chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)
