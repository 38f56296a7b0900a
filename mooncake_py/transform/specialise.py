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
from collections.abc import Sequence
from typing import Any

from mooncake_py.closures import Captured
from mooncake_py.frontend import normalise
from mooncake_py.hashing import hashable
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import TOP, Inst, Known, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import (
    Call,
    Const,
    Function,
    Operand,
    Return,
    Var,
)
from mooncake_py.registry import complex_tests, folds, inlined, maybe_none
from mooncake_py.shadows import At
from mooncake_py.tangents import CoDual
from mooncake_py.transform.folds import SPECIAL
from mooncake_py.transform.region import Region
from mooncake_py.transform.values import (
    AV,
    Dependencies,
    NotSpecialised,
    Slot,
    VAt,
    VCell,
    VClosure,
    VCoDual,
    VIter,
    VTuple,
    bind,
    is_frozen,
    value_in,
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
        self.displays: set[AV] = set()  # lists and dicts made by displays in the evaluation under way
        self.looked = False  # did the value of a `Slot` decide anything?

    # -- calls of functions --

    def call_function(self, f: pytypes.FunctionType, args: Sequence[AV], kwargs: dict[str, AV]) -> AV:
        """Evaluate a Python function on abstract values."""
        cells = tuple([VCell(Const(c.cell_contents)) for c in f.__closure__]) if f.__closure__ else ()
        if cells:
            self.names += [(Captured(c), "", c.cell_contents) for c in f.__closure__]  # type: ignore[union-attr]
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
        if self.depth == 0:
            self.displays.clear()
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
                return value_in(env, block.term.value)
        return Region(self, fn, env, globals_).run()

    # -- statements --

    def statement(self, s: Call, env: dict[Var, AV], globals_: dict[str, Any]) -> AV:
        fn = value_in(env, s.fn)
        args = [value_in(env, a) for a in s.args]
        kwargs = {k: value_in(env, v) for k, v in s.kwargs}
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
            if callee.value is ops.build_list or callee.value is ops.build_map:
                self.displays.add(out)
        self.types[out] = self._result(callee, operands, kw)
        return out

    def _result(self, callee: Operand, args: Sequence[Operand], kwargs: tuple[tuple[str, Operand], ...]) -> T:
        if not isinstance(callee, Const):
            return Top()
        return result_type(
            callee.value, tuple(map(self.type_of, args)), tuple([(k, self.type_of(v)) for k, v in kwargs])
        )

    def display(self, v: AV) -> Call | None:
        """The display that made a list or dict here, where nothing has looked at it so far."""
        if v not in self.displays:
            return None
        for s in reversed(self.b.block.stmts):
            if s.out is v:
                return s
            if v in s.operands():
                return None
        return None

    def grow(self, made: Call, items: Sequence[AV]) -> Const:
        """Put more into a display that nothing has looked at."""
        args = (*made.args, *map(self.materialise, items))
        self.b.block.stmts.remove(made)
        self.b.append(Call(made.out, made.fn, args, (), made.pos))
        self.types[made.out] = self._result(made.fn, args, ())
        return Const(None)

    def type_of(self, v: AV) -> T:
        match v:
            case Slot():
                return _FLOAT
            case Const(value=x):
                return Known(x)
            case Var():
                return self.types.get(v, TOP)
            case VTuple(items=items):
                return Tup(tuple(map(self.type_of, items)))
            case VCoDual(primal=p):
                return self.type_of(p)
        return Top()

    def materialise(self, v: AV) -> Operand:
        """The value as an operand, made at run time where it was virtual."""
        if isinstance(v, (Var, Const)):
            return v
        match v:
            case VTuple(items=items):
                if all(isinstance(x, Const) for x in items):
                    self.looked = self.looked or any(type(x) is Slot for x in items)
                    return Const(tuple(x.value for x in items))  # type: ignore[union-attr]
                return self.emit(Const(ops.build_tuple), list(items), {})
            case VCoDual(primal=p, fdata=f):
                return self.emit(Const(CoDual), [p, f], {})
            case VAt(index=i, value=x, once=once):
                return self.emit(Const(At), [i, x, *([Const(True)] if once else [])], {})
            case VIter(items=items):
                if v.asked:
                    raise NotSpecialised("an iterator that two ask for items")
                v.asked = True
                return self.emit(Const(iter), [VTuple(items)], {})
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
