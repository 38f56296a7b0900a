"""Closure specialisation: the bodies of rules and of the pullbacks they return, taken into the derived code.

A rule is read as IR and evaluated as far as the types allow: what folds is gone, what does not is emitted.
Tuples, closures, cells and coduals that the rule makes stay virtual, so the pullback it returns is a
`VClosure`: its body, with the captured values in place of its free variables, is evaluated into the reverse
blocks by the same function. What cannot be seen through is made at run time like any Python value.
"""

from __future__ import annotations

import math
import operator
import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import BOT, Inst, Known, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.graph import rpo
from mooncake_py.ir.nodes import (
    Branch,
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Goto,
    Operand,
    Raise,
    Return,
    Var,
    edges,
)
from mooncake_py.registry import complex_tests, folds, inlined, maybe_none
from mooncake_py.shadows import At
from mooncake_py.tangents import CoDual
from mooncake_py.transform.folds import SPECIAL
from mooncake_py.transform.values import (
    AV,
    Cell,
    Dependencies,
    NotSpecialised,
    Slot,
    VAt,
    VCell,
    VClosure,
    VCoDual,
    VTuple,
    bind,
    hashable,
    is_frozen,
)

_FLOAT = Inst(float)
_PURE_FOLDS = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg),
        *(
            operator.lt,
            operator.le,
            operator.gt,
            operator.ge,
            operator.eq,
            operator.ne,
            operator.not_,
            operator.contains,
        ),
        *(operator.and_, operator.or_, operator.getitem, ops.truth, len, isinstance, issubclass, bool, int, float, abs),
        *(min, max, range, slice, math.sqrt, math.log, math.exp, callable, hasattr, tuple),
    }
)


class Specialiser:
    """Evaluates bodies into a builder; `types` gives and receives the types of what is emitted there."""

    def __init__(self, builder: Builder, types: dict[Var, T], real: bool = False):
        self.b = builder
        self.real = real  # nothing complex is in sight
        self.types = types
        self.depth = 0
        self.maybe_none: set[Var] = set()
        self.names: Dependencies = []  # the names that were looked up
        self.looked = False  # did the value of a `Slot` decide anything?

    # -- calls of functions --

    def call_function(self, f: pytypes.FunctionType, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """Evaluate a Python function on abstract values."""
        cells = tuple([VCell(Const(c.cell_contents)) for c in f.__closure__]) if f.__closure__ else ()
        if cells:
            self.names += [(Cell(c), "", c.cell_contents) for c in f.__closure__]  # type: ignore[union-attr]
        closure = VClosure(
            f.__code__,
            f.__globals__,
            tuple(map(Const, f.__defaults__ or ())),
            {k: Const(v) for k, v in (f.__kwdefaults__ or {}).items()},
            cells,
        )
        return self.call_closure(closure, args, kwargs)

    def call_closure(self, c: VClosure, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        fn = normalise(c.code)
        if fn.kind != "function":
            raise NotSpecialised("a generator")
        if self.depth > 20:
            raise NotSpecialised("recursion")
        env: dict[Var, AV] = dict(zip(fn.params, bind(c, args, kwargs), strict=True))
        env.update(zip(fn.free, c.cells, strict=True))
        self.depth += 1
        try:
            return self._body(fn, env, c.globals)
        finally:
            self.depth -= 1

    def _body(self, fn: Function, env: dict[Var, AV], globals_: dict[str, Any]) -> AV:
        if len(fn.blocks) == 1:
            block = fn.blocks[0]
            if isinstance(block.term, Return):
                for s in block.stmts:
                    env[s.out] = self.statement(s, env, globals_)
                return _get(env, block.term.value)
        return self._region(fn, env, globals_)

    def _region(self, fn: Function, env: dict[Var, AV], globals_: dict[str, Any]) -> AV:
        b = self.b
        order = rpo(fn.blocks)
        position = {x: i for i, x in enumerate(order)}
        blocks = {x.id: x for x in fn.blocks}
        headers = {
            e.target
            for x in fn.blocks
            if x.id in position
            for e in edges(x.term)
            if position[e.target] <= position[x.id]
        }
        pending: dict[int, list[tuple[Draft, list[AV]]]] = {fn.entry.id: [(b.block, [])]}
        loops: dict[int, Draft] = {}
        returns: list[tuple[Draft, AV]] = []
        for x in order:
            block: CFGBlock = blocks[x]
            incoming = pending.get(x)
            if not incoming:
                continue
            if block.handler is not None:
                raise NotSpecialised("try in a rule")
            if len(incoming) == 1 and x not in headers:
                b.block, args = incoming[0]
                env.update(zip(block.params, args, strict=True))
            else:
                draft = b.new_block([b.fresh.var() for _ in block.params])
                for src, args in incoming:
                    b.block = src
                    b.goto(draft, *[self.materialise(a) for a in args])
                for p, v in zip(block.params, draft.params, strict=True):
                    env[p] = v
                    self.types[v] = Top()
                draft.sealed = x not in headers
                b.block = draft
                if x in headers:
                    loops[x] = draft
            for s in block.stmts:
                env[s.out] = self.statement(s, env, globals_)
            self._terminator(block, env, pending, loops, returns)
        for draft in loops.values():
            b.seal(draft)
        return self._merge_returns(returns)

    def _terminator(
        self,
        block: CFGBlock,
        env: dict[Var, AV],
        pending: dict[int, list[tuple[Draft, list[AV]]]],
        loops: dict[int, Draft],
        returns: list[tuple[Draft, AV]],
    ) -> None:
        b = self.b

        def flow(edge: Any, source: Draft, extra: list[AV]) -> None:
            args = extra + [_get(env, a) for a in edge.args]
            if edge.target in loops:
                b.block = source
                b.goto(loops[edge.target], *[self.materialise(a) for a in args])
            else:
                pending.setdefault(edge.target, []).append((source, args))

        term = block.term
        match term:
            case Goto(edge=e):
                flow(e, b.block, [])
            case Return(value=v):
                returns.append((b.block, _get(env, v)))
            case Branch(cond=c, then=then, orelse=orelse):
                cond = _get(env, c)
                if isinstance(cond, Const):
                    self.looked = self.looked or type(cond) is Slot
                    flow(then if cond.value else orelse, b.block, [])
                    return
                yes, no = b.new_block(), b.new_block()
                b.branch(self.materialise(cond), b.edge(yes), b.edge(no))
                yes.sealed = no.sealed = True
                flow(then, yes, [])
                flow(orelse, no, [])
            case ForNext(iterator=it, body=body, done=done):
                item = b.fresh.var()
                self.types[item] = Top()
                yes, no = b.new_block([item]), b.new_block()
                b.for_next(self.materialise(_get(env, it)), b.edge(yes), b.edge(no))
                yes.sealed = no.sealed = True
                flow(body, yes, [item])
                flow(done, no, [])
            case Raise(exc=exc, cause=cause):
                b.block.term = Raise(
                    None if exc is None else self.materialise(_get(env, exc)),
                    None if cause is None else self.materialise(_get(env, cause)),
                    pos=b.pos,
                )
            case _:
                raise NotSpecialised(type(term).__name__)

    def _merge_returns(self, returns: list[tuple[Draft, AV]]) -> AV:
        b = self.b
        if not returns:
            raise NotSpecialised("it never returns")
        if len(returns) == 1:
            b.block, value = returns[0]
            return value
        join = b.new_block()
        outgoing: list[list[Operand]] = [[] for _ in returns]

        def param(values: list[AV]) -> Var:
            made = b.fresh.var()
            join.params.append(made)
            t: T = BOT
            if any((isinstance(v, Const) and v.value is None) or v in self.maybe_none for v in values):
                self.maybe_none.add(made)
            for k, ((source, _), v) in enumerate(zip(returns, values, strict=True)):
                b.block = source
                outgoing[k].append(self.materialise(v))
                t = _join(t, self.type_of(v))
            self.types[made] = t
            return made

        value = self._merged([v for _, v in returns], param)
        for (source, _), args in zip(returns, outgoing, strict=True):
            b.block = source
            b.goto(join, *args)
        join.sealed = True
        b.block = join
        return value

    def _merged(self, values: list[AV], param: Callable[[list[AV]], Var]) -> AV:
        """One value for those that meet; `param` makes a parameter for what differs."""
        first = values[0]
        if all(v is first for v in values):
            return first
        self.looked = self.looked or any(type(v) is Slot for v in values)
        if isinstance(first, Const) and all(isinstance(v, Const) and v.value is first.value for v in values):
            return first

        def merged(part: Callable[[Any], AV]) -> AV:
            return self._merged([part(v) for v in values], param)

        n = len(first.items) if isinstance(first, VTuple) else -1
        if isinstance(first, VTuple) and all(isinstance(v, VTuple) and len(v.items) == n for v in values):
            return VTuple(tuple([merged(lambda v, i=i: v.items[i]) for i in range(n)]))  # type: ignore[misc]
        if isinstance(first, VAt) and all(isinstance(v, VAt) for v in values):
            once = all(v.once for v in values)  # type: ignore[union-attr]
            return VAt(merged(lambda v: v.index), merged(lambda v: v.value), once)
        if isinstance(first, VCoDual) and all(isinstance(v, VCoDual) for v in values):
            return VCoDual(merged(lambda v: v.primal), merged(lambda v: v.fdata))
        return param(values)

    # -- statements --

    def statement(self, s: Call, env: dict[Var, AV], globals_: dict[str, Any]) -> AV:
        fn = _get(env, s.fn)
        args = [_get(env, a) for a in s.args]
        kwargs = {k: _get(env, v) for k, v in s.kwargs}
        return self.apply(fn, args, kwargs, globals_)

    def apply(self, fn: AV, args: list[AV], kwargs: dict[str, AV], globals_: dict[str, Any]) -> AV:
        if isinstance(fn, VClosure):
            return self.call_closure(fn, args, kwargs)
        if isinstance(fn, Const):
            f = fn.value
            special = SPECIAL.get(f) if hashable(f) else None
            if special is not None and not kwargs:
                r = special(self, args, globals_)
                if r is not None:
                    return r
            if not kwargs and all(map(is_frozen, args)) and hashable(f) and f in _PURE_FOLDS:
                self.looked = self.looked or any(type(a) is Slot for a in args)
                try:
                    return Const(f(*[a.value for a in args]))  # type: ignore[union-attr]
                except Exception as e:
                    raise NotSpecialised(f"{f} fails on constants: {e}") from e
            if isinstance(f, pytypes.FunctionType) and f in inlined:
                return self.call_function(f, args, kwargs)
            if hashable(f) and f in folds:
                v = folds[f](*[self.type_of(a) for a in args])
                if v is not None:
                    return Const(v)
                if self.real and f in complex_tests:
                    return Const(False)
        return self.emit(fn, args, kwargs)

    def emit(self, fn: AV, args: list[AV], kwargs: dict[str, AV]) -> Var:
        """A call that stays."""
        operands = [self.materialise(a) for a in args]
        kw = tuple((k, self.materialise(v)) for k, v in kwargs.items())
        callee = self.materialise(fn)
        out = self.b.call(callee, *operands, kwargs=kw)
        if isinstance(callee, Const):
            if hashable(callee.value) and callee.value in maybe_none:
                self.maybe_none.add(out)
            types = tuple(map(self.type_of, operands))
            self.types[out] = result_type(callee.value, types, tuple((k, self.type_of(v)) for k, v in kw))
        else:
            self.types[out] = Top()
        return out

    def type_of(self, v: AV) -> T:
        match v:
            case Slot():
                return _FLOAT
            case Const(value=x):
                return Known(x)
            case Var():
                return self.types.get(v, Top())
            case VTuple(items=items):
                return Tup(tuple(map(self.type_of, items)))
            case VCoDual(primal=p):
                return self.type_of(p)
        return Top()

    def materialise(self, v: AV) -> Operand:
        """The value as an operand, made at run time where it was virtual."""
        match v:
            case Var() | Const():
                return v
            case VTuple(items=items):
                if all(isinstance(x, Const) for x in items):
                    self.looked = self.looked or any(type(x) is Slot for x in items)
                    return Const(tuple(x.value for x in items))  # type: ignore[union-attr]
                return self.emit(Const(ops.build_tuple), list(items), {})
            case VCoDual(primal=p, fdata=f):
                return self.emit(Const(CoDual), [p, f], {})
            case VAt(index=i, value=x, once=once):
                return self.emit(Const(At), [i, x, *([Const(True)] if once else [])], {})
            case VCell(content=c):
                return self.emit(Const(ops.make_cell), [Const(ops.UNBOUND) if c is None else c], {})
            case VClosure():
                if v.kwdefaults:
                    raise NotSpecialised("a closure with keyword-only defaults that is not called on the spot")
                return self.emit(
                    Const(pytypes.FunctionType),
                    [Const(v.code), Const(v.globals), Const(v.code.co_name), VTuple(v.defaults), VTuple(v.cells)],
                    {},
                )
        raise AssertionError(v)


def _join(a: T, b: T) -> T:
    from mooncake_py.infer.types import join

    return join(a, b)


def _get(env: dict[Var, AV], v: Operand) -> AV:
    return env[v] if isinstance(v, Var) else v
