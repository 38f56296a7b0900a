"""Calls of functions that come out of containers, taken in (`infer/held_functions.py`)."""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.closures import cell_of, default_of, receiver_of
from mooncake_py.frontend import normalise
from mooncake_py.infer.held_functions import MOST_TOTAL, Default, Held
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Fn, Meth
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand
from mooncake_py.ir.ops import make_function
from mooncake_py.transform.bound import with_rest
from mooncake_py.transform.doubts import note
from mooncake_py.transform.late_cells import settle_cells
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.single import without_single_params
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
        site = next((x for c in fn.blocks for x in c.stmts if x.out is s.fn and is_const(x.fn, make_function)), None)
        if site is not None:
            body = _body(plan)
            fn = splice(fn, b, i, body, tuple([x for x in plan.args if not isinstance(x, Default)]), site.args[4])
            total += sum(len(x.stmts) for x in body.blocks)
            continue
        of = plan.type.func if isinstance(plan.type, Meth) else plan.type.code
        doubt = note(s.fn, of, inferred.memory.shape, fresh, s.pos)
        reads = [doubt]
        if isinstance(plan.type, Meth):
            reads.append(Call(fresh.var(), Const(receiver_of), (doubt.out,), (), s.pos))
            call = replace(s, fn=Const(plan.type.func), args=(reads[-1].out, *s.args))
            fn = _with(fn, b, (*b.stmts[:i], *reads, call, *b.stmts[i + 1 :]))[0]
            continue
        body = _body(plan)
        args: list[Operand] = []
        for k, x in enumerate(plan.args):
            if isinstance(x, Default):
                name = plan.type.code.co_varnames[k]
                reads.append(Call(fresh.var(name), Const(default_of), (doubt.out, Const(x.at)), (), s.pos))
                x = reads[-1].out
            args.append(x)
        fn, new = _with(fn, b, (*b.stmts[:i], *reads, *b.stmts[i:]))
        fn = splice(fn, new, i + len(reads), body, tuple(args), doubt.out, cell_of)
        total += sum(len(x.stmts) for x in body.blocks)
        if total > MOST_TOTAL:
            break  # what is left is looked at again
    return settle_cells(without_single_params(fn))


def _body(plan: Held) -> Function:
    """The body of the function, with a parameter for each argument."""
    assert isinstance(plan.type, Fn)
    code = plan.type.code
    return explicit(with_rest(normalise(code), code, plan.rest, plan.names))


def _with(fn: Function, b: CFGBlock, stmts: tuple[Call, ...]) -> tuple[Function, CFGBlock]:
    """The function with other statements in a block, and that block."""
    new = replace(b, stmts=stmts)
    return replace(fn, blocks=tuple([new if x is b else x for x in fn.blocks])), new
