"""Sets hold what has no derivative; what is changed in them is undone."""

from __future__ import annotations

from mooncake_py.ir import ops
from mooncake_py.kinds import Constant
from mooncake_py.registry import refuse, register, rrule
from mooncake_py.rule import Rule
from mooncake_py.run import note_change
from mooncake_py.tangents import CoDual


@rrule(set.add, ops.set_add, types=(set, Constant), mutates=(0,))
def set_add(s: CoDual, x):
    primal = s.primal
    new = x not in primal
    primal.add(x)
    note_change(primal)

    def pullback(_):
        if new:
            primal.discard(x)
        return None

    return None, pullback


@rrule(set.discard, types=(set,), mutates=(0,))
def set_discard(s: CoDual, x):
    primal = s.primal
    there = x in primal
    primal.discard(x)
    note_change(primal)

    def pullback(_):
        if there:
            primal.add(x)
        return None

    return None, pullback


register(Rule(set, None, (dict,)))  # its keys, which have no derivative
for _f in (set.intersection, set.difference, set.union, set.isdisjoint, set.issubset, set.issuperset):
    register(Rule(_f, None, (set, dict)))
refuse(
    "a set holds constants; keep values that have a derivative in a list or dict",
    set, frozenset, set.add, set.update, set.__ior__, ops.build_set, ops.set_add, ops.set_update,
)  # fmt: skip
