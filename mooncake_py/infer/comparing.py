"""Which comparisons that C code makes, to sort or search, do no more than look: what they compare stays known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mooncake_py.fields import ABSENT
from mooncake_py.infer.inferred import Guard
from mooncake_py.infer.named import answers
from mooncake_py.infer.predicates import may_be_asked
from mooncake_py.infer.quiet import COMPARISONS, Relied, is_quiet
from mooncake_py.infer.special_methods import COMPARING
from mooncake_py.infer.types import Lst, Obj, T, Tup, Union

if TYPE_CHECKING:
    from mooncake_py.infer.state import State


def are_compared_quietly(state: State, f: Any, given: Sequence[T]) -> bool:
    """Does f, comparing such values, or the items of such tuples and lists, run nothing that does more than look?

    What comparing two gives, if that is what f gives, need not be true or false: then nothing written in Python.
    """
    return all(_quietly(state, t, f not in COMPARING) for t in given)


def _quietly(state: State, t: T, looking: bool) -> bool:
    match t:
        case Union(options=options):
            return all(_quietly(state, x, looking) for x in options)
        case Tup():
            return not answers(t.cls) and all(_quietly(state, x, looking) for x in t.raw)
        case Lst():
            return _quietly(state, t.raw, looking)
        case Obj() if may_be_asked(t):
            return state.classes is not None and _only_look(state, t.cls, looking)
    return not may_be_asked(t)


def _only_look(state: State, cls: type, looking: bool) -> bool:
    """Do the comparisons of objects of this class only look, if there are any written in Python?"""
    assert state.classes is not None
    look = state.classes.look
    if all([look(cls, name) is getattr(object, name) for name in COMPARISONS]):
        return True
    relied: list[Relied] = []
    if not looking or not is_quiet(cls, COMPARISONS, relied):
        return False
    for scope, name in relied:
        if isinstance(scope, type):
            look(scope, name)
        else:
            state.guards[(id(scope), name)] = Guard(scope, name, scope.get(name, ABSENT))
    return True
