"""Inner functions that take nothing but `*args`, and are given `*xs`: they get one tuple.

    def m(*r): ...                  def m(r): ...
    m(*xs[i:j]) + m(x, 1.0)   ->    m(tuple(xs[i:j])) + m((x, 1.0))

So it need not be known how many arguments there are.
"""

from __future__ import annotations

import types as pytypes
from inspect import CO_COROUTINE, CO_VARARGS, CO_VARKEYWORDS

from mooncake_py.infer.codes import sees_its_frame
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Fresh, Function, Operand, Try, term_operands


def with_rest_given(fn: Function) -> Function:
    """The function with such functions and their calls as these; itself where there are none."""
    if not fn.calls(ops.call_ex):
        return fn
    stmts = [s for b in fn.blocks for s in b.stmts]
    starred = {s.args[0] for s in stmts if _is_starred(s)}
    made: dict[Operand, Call] = {s.out: s for s in stmts if s.out in starred and _takes_rest(s)}
    protected = {b.term.body.target for b in fn.blocks if isinstance(b.term, Try)}
    for s in (s for b in fn.blocks if b.id in protected for s in b.stmts):
        made.pop(s.args[0] if _is_starred(s) else s.fn, None)  # going over what is starred may do something, and raise
    for s in stmts:
        given = [*(s.args[1:] if _is_starred(s) else s.args), *[v for _, v in s.kwargs]]
        for v in (*given, *([s.fn] if s.kwargs else ())):
            made.pop(v, None)
    for b in fn.blocks:
        for v in term_operands(b.term):
            made.pop(v, None)
    if not made:
        return fn
    fresh = fresh_beside(fn)
    blocks = tuple(
        CFGBlock(b.id, b.params, tuple([x for s in b.stmts for x in _given(s, made, fresh)]), b.term) for b in fn.blocks
    )
    return Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)


def _is_starred(s: Call) -> bool:
    return is_const(s.fn, ops.call_ex) and is_const(s.args[2], None)


def _takes_rest(s: Call) -> bool:
    """Does it make a function of `*args` and no other parameters?"""
    code = s.args[0].value if is_const(s.fn, ops.make_function) and isinstance(s.args[0], Const) else None
    if not isinstance(code, pytypes.CodeType) or code.co_argcount or code.co_kwonlyargcount or sees_its_frame(code):
        return False
    return code.co_flags & (CO_VARARGS | CO_VARKEYWORDS | CO_COROUTINE) == CO_VARARGS


def _given(s: Call, made: dict[Operand, Call], fresh: Fresh) -> list[Call]:
    if s.out in made:
        code = s.args[0].value  # type: ignore[union-attr]
        taking = code.replace(co_argcount=1, co_flags=code.co_flags & ~CO_VARARGS)
        return [Call(s.out, s.fn, (Const(taking), *s.args[1:]), (), s.pos)]
    if s.fn in made:
        whole = Call(fresh.var(), Const(ops.build_tuple), s.args, (), s.pos)
    elif _is_starred(s) and s.args[0] in made:
        whole = Call(fresh.var(), Const(tuple), s.args[1:2], (), s.pos)
    else:
        return [s]
    f = s.fn if s.fn in made else s.args[0]
    return [whole, Call(s.out, f, (whole.out,), (), s.pos)]
