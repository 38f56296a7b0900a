"""Functions that only read the objects they are given: a call of one has a rule of its own, found before it runs."""

from __future__ import annotations

import functools
import operator
import types as pytypes
from collections.abc import Callable

from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.predicates import may_be_written
from mooncake_py.infer.types import Arr, Dct, Lst, Obj, T, Tup, Union, is_scalar
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand, Var
from mooncake_py.registry import is_pure

# What looks at a thing, and hands on what it finds there.
_READS = frozenset(
    {getattr, len, iter, zip, enumerate, reversed, ops.load_global, ops.truth, operator.is_, operator.is_not}
)


def may_pass(t: T) -> bool:
    """Is it known where the derivative of a value of this type is, so that a rule can be given it?"""
    if not t.active:
        return True
    match t:
        case Obj() | Lst() | Dct() | Arr():
            return True
        case Tup(items=items):
            return all(map(may_pass, items))
        case Union(options=options):
            return all(may_pass(x) and not (x.active and isinstance(x, Tup)) and not is_scalar(x) for x in options)
    return is_scalar(t)


def may_come_back(f: pytypes.FunctionType) -> bool:
    """Does f, or a function that it calls by a global name, call something by the name of f?"""
    seen: set[str] = set()
    work = [f]
    while work:
        names = _names(work.pop().__code__) - seen
        if f.__name__ in names:
            return True
        seen |= names
        work += [g for name in names if isinstance(g := f.__globals__.get(name), pytypes.FunctionType)]
    return False


@functools.cache
def _names(code: pytypes.CodeType) -> frozenset[str]:
    """The names that a function, and those that are made in it, look up: global ones and attributes."""
    inner = [_names(x) for x in code.co_consts if isinstance(x, pytypes.CodeType)]
    return frozenset(code.co_names).union(*inner)


def only_reads(inferred: Inferred) -> bool:
    """Does a function change nothing but what it makes itself?"""
    memory = inferred.memory
    from_outside = {memory.find(v) for v in (*inferred.fn.params, *inferred.fn.free)}
    from_outside |= {memory.find(v) for v, call in inferred.calls.items() if call.named is not None}

    def own(v: Operand) -> bool:
        return not isinstance(v, Var) or memory.find(v) not in from_outside

    return all(_changes_only(call, own) for call in inferred.calls.values())


def _changes_only(call: CallInfo, own: Callable[[Operand], bool]) -> bool:
    """Does a call change nothing but its own?"""
    if call.rule is not None and not all(own(call.args[i]) for i in call.rule.mutates if i < len(call.args)):
        return False
    if call.kind == "plain" and call.rule is None:
        names = [k for k, _ in call.kwargs]
        only_reads = any(call.target is f for f in _READS) or is_pure(call.target, len(call.args), names)
        return only_reads or not any(map(may_be_written, call.types))
    return call.kind in ("plain", "rule", "op", "derived")
