"""What operations on objects come down to, taken in as soon as it stands there: what it does is seen from the start."""

from __future__ import annotations

import types as pytypes
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.special_methods import STAND_INS
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand
from mooncake_py.patterns import is_matcher
from mooncake_py.transform.inline import MOST_TOTAL, Callee, known_callee, stand_in
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.splice import splice

_STAND_INS: frozenset[Any] = STAND_INS


def with_stand_ins(fn: Function, inferred: Inferred, globals_: dict) -> Function:
    """The function with the calls of `protocol.STAND_INS` taken in, and in them what they are given to call."""
    total = sum(len(b.stmts) for b in fn.blocks)
    for s in [s for b in fn.blocks for s in b.stmts]:
        f: Any = s.fn.value if isinstance(s.fn, Const) else None
        if not isinstance(f, pytypes.FunctionType) or not (f in _STAND_INS or is_matcher(f)) or total > MOST_TOTAL:
            continue
        callee = stand_in(f, s)
        if callee is None or callee.decided_only or callee.body.suspends:
            continue
        callee = _with_given(callee, s, inferred, globals_)
        total += sum(len(b.stmts) for b in callee.body.blocks)
        b = next(b for b in fn.blocks if s in b.stmts)
        fn = splice(fn, b, b.stmts.index(s), explicit(callee.body), callee.args, callee.closure)
    return fn


def _with_given(callee: Callee, call: Call, inferred: Inferred, globals_: dict) -> Callee:
    """The same with the functions that it is given: what one makes is known to be new."""
    given: dict[Operand, Operand] = dict(zip(callee.body.params, callee.args, strict=True))

    def takes(b: CFGBlock, i: int) -> Function | None:
        f = given.get(b.stmts[i].fn)
        if not isinstance(f, Const) or not isinstance(f.value, pytypes.FunctionType) or b.handler is not None:
            return None
        inner = known_callee(f.value, b.stmts[i], inferred, globals_)
        if inner is None or inner.body.suspends:
            return None
        return splice(callee.body, b, i, explicit(inner.body), inner.args, inner.closure)

    for b in callee.body.blocks:
        for i in range(len(b.stmts)):
            if (body := takes(b, i)) is not None:
                return Callee(body, callee.args, callee.closure, callee.owner)
    return callee
