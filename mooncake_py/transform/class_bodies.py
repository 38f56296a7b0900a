"""Bodies of class statements as functions of the namespace that they fill.

    class P:                         def P(namespace):
        k = x * 2           ->           namespace["k"] = x * 2
        j = k + 1                        namespace["j"] = name_in(namespace, "k") + 1

So what a class is made with is differentiated like any dict that a function writes to.
"""

from __future__ import annotations

import inspect
import operator
import types as pytypes
from typing import Any

from mooncake_py import fields
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import all_vars
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand, Var


def is_class_body(code: pytypes.CodeType) -> bool:
    """Does this code keep its variables in a namespace that it is given?"""
    return not code.co_flags & inspect.CO_OPTIMIZED


def as_function(body: Function, scope: dict[str, Any]) -> Function:
    """The function of one parameter, for the normal form of a class body; `scope` are the global variables."""
    namespace = Var(1 + max((v.id for v in all_vars(body)), default=0), "namespace")
    blocks = tuple([_block(b, namespace, Const(scope)) for b in body.blocks])
    return Function(body.name, body.filename, (namespace,), body.free, blocks, body.kind, body.firstline)


def _block(b: CFGBlock, namespace: Var, scope: Const) -> CFGBlock:
    stmts = tuple([_statement(s, namespace, scope) for s in b.stmts])
    return CFGBlock(b.id, b.params, stmts, b.term, b.handler)


def _statement(s: Call, namespace: Var, scope: Const) -> Call:
    f = s.fn.value if isinstance(s.fn, Const) else None

    def instead(fn: Any, *args: Operand) -> Call:
        return Call(s.out, Const(fn), (namespace, *args), (), s.pos)

    if f is ops.store_name:
        return instead(operator.setitem, *s.args)
    if f is ops.load_name:
        return instead(fields.name_in, *s.args, scope)
    if f is ops.delete_name:
        return instead(fields.drop_name, *s.args)
    if f is ops.classderef:
        return instead(fields.name_or_cell, *s.args)
    if f is ops.setup_annotations:
        return instead(fields.annotations_in)
    if f is ops.load_locals:
        return instead(fields.namespace_of)
    return s
