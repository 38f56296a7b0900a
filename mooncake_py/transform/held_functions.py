"""Calls of functions that come out of containers, taken in (`infer/held_functions.py`)."""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.closures import cell_of, default_of, receiver_of
from mooncake_py.fields import surely
from mooncake_py.frontend import normalise
from mooncake_py.infer.held_functions import MOST_TOTAL, Held
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Meth
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.splice import splice


def take_in_held(inferred: Inferred) -> Function | None:
    """The function with such calls taken in; None where there is none."""
    fn = inferred.fn
    found = {v: c.target for v, c in inferred.calls.items() if c.kind == "planned" and isinstance(c.target, Held)}
    if not found:
        return None
    total = sum(len(b.stmts) for b in fn.blocks)
    for out, plan in found.items():
        b, i = next((b, i) for b in fn.blocks for i, s in enumerate(b.stmts) if s.out is out)
        s = b.stmts[i]
        fresh = fresh_beside(fn)
        of = plan.type.func if isinstance(plan.type, Meth) else plan.type.code
        doubt = Call(fresh.var(), Const(surely), (s.fn, Const(of)), (), s.pos)
        reads = [doubt]
        if isinstance(plan.type, Meth):
            reads.append(Call(fresh.var(), Const(receiver_of), (doubt.out,), (), s.pos))
            call = replace(s, fn=Const(plan.type.func), args=(reads[-1].out, *s.args))
            fn = _with(fn, b, (*b.stmts[:i], *reads, call, *b.stmts[i + 1 :]))[0]
            continue
        code = plan.type.code
        body = explicit(normalise(code))
        args: list[Operand] = list(s.args)
        for k in range(len(s.args), code.co_argcount):
            at = k - code.co_argcount + plan.defaults
            reads.append(Call(fresh.var(code.co_varnames[k]), Const(default_of), (doubt.out, Const(at)), (), s.pos))
            args.append(reads[-1].out)
        fn, new = _with(fn, b, (*b.stmts[:i], *reads, *b.stmts[i:]))
        fn = splice(fn, new, i + len(reads), body, tuple(args), doubt.out, cell_of)
        total += sum(len(x.stmts) for x in body.blocks)
        if total > MOST_TOTAL:
            break  # what is left is looked at again
    return fn


def _with(fn: Function, b: CFGBlock, stmts: tuple[Call, ...]) -> tuple[Function, CFGBlock]:
    """The function with other statements in a block, and that block."""
    new = replace(b, stmts=stmts)
    return replace(fn, blocks=tuple([new if x is b else x for x in fn.blocks])), new
