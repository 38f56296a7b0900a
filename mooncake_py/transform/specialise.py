"""Closure specialisation: the bodies of rules and of the pullbacks they return, taken into the derived code.

A rule is read as IR and evaluated as far as the types allow: what folds is gone, what does not is emitted.
Tuples, closures, cells and coduals that the rule makes stay virtual, so the pullback it returns is a
`VClosure`: its body, with the captured values in place of its free variables, is evaluated into the reverse
blocks by the same function. What cannot be seen through is made at run time like any Python value.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
import types as pytypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooncake_py.frontend import normalise
from mooncake_py.infer.interpret import _fold_is, _fold_isinstance
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import BOT, Arr, Inst, Known, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder, Draft
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
from mooncake_py.tangents import At, CoDual


@dataclass(slots=True, eq=False)
class VTuple:
    items: tuple[AV, ...]


@dataclass(slots=True, eq=False)
class VCell:
    content: AV | None


@dataclass(slots=True, eq=False)
class VClosure:
    code: pytypes.CodeType
    globals: dict[str, Any]
    defaults: tuple[AV, ...]
    kwdefaults: dict[str, AV]
    cells: tuple[VCell, ...]


@dataclass(slots=True, eq=False)
class VCoDual:
    primal: AV
    fdata: AV


@dataclass(slots=True, eq=False)
class VAt:
    """`At(index, value)`: a cotangent that is zero but at an index, added in place."""

    index: AV
    value: AV


class Slot(Const):
    """A float constant of a template: what it is used for should not depend on which float it is."""

    __slots__ = ()


Dependencies = list[tuple[Any, str, Any]]
"""(scope, name, value): what the evaluation of a rule relied on."""

AV = Var | Const | VTuple | VCell | VClosure | VCoDual | VAt


class Cell:
    """A closure cell as a scope with one name."""

    __slots__ = ("cell",)

    def __init__(self, cell: pytypes.CellType):
        self.cell = cell

    def get(self, name: str, default: Any) -> Any:
        """What the cell holds."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return default


class NotSpecialised(Exception):
    """The body cannot be taken in; the reason is for `inspect`."""


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

        def merge(values: list[AV]) -> AV:
            first = values[0]
            if all(v is first for v in values):
                return first
            self.looked = self.looked or any(type(v) is Slot for v in values)
            if isinstance(first, Const) and all(isinstance(v, Const) and v.value is first.value for v in values):
                return first
            if isinstance(first, VTuple) and all(
                isinstance(v, VTuple) and len(v.items) == len(first.items) for v in values
            ):
                return VTuple(tuple(merge([v.items[i] for v in values]) for i in range(len(first.items))))  # type: ignore[union-attr]
            if isinstance(first, VAt) and all(isinstance(v, VAt) for v in values):
                return VAt(merge([v.index for v in values]), merge([v.value for v in values]))  # type: ignore[union-attr]
            if isinstance(first, VCoDual) and all(isinstance(v, VCoDual) for v in values):
                return VCoDual(merge([v.primal for v in values]), merge([v.fdata for v in values]))  # type: ignore[union-attr]
            param = b.fresh.var()
            join.params.append(param)
            t: T = BOT
            if any((isinstance(v, Const) and v.value is None) or v in self.maybe_none for v in values):
                self.maybe_none.add(param)
            for k, ((source, _), v) in enumerate(zip(returns, values, strict=True)):
                b.block = source
                outgoing[k].append(self.materialise(v))
                t = _join(t, self.type_of(v))
            self.types[param] = t
            return param

        value = merge([v for _, v in returns])
        for (source, _), args in zip(returns, outgoing, strict=True):
            b.block = source
            b.goto(join, *args)
        join.sealed = True
        b.block = join
        return value

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
            special = _SPECIAL.get(f) if _hashable(f) else None
            if special is not None and not kwargs:
                r = special(self, args, globals_)
                if r is not None:
                    return r
            if not kwargs and all(map(_is_frozen, args)) and _hashable(f) and f in _PURE_FOLDS:
                self.looked = self.looked or any(type(a) is Slot for a in args)
                try:
                    return Const(f(*[a.value for a in args]))  # type: ignore[union-attr]
                except Exception as e:
                    raise NotSpecialised(f"{f} fails on constants: {e}") from e
            if isinstance(f, pytypes.FunctionType) and f in inlined:
                return self.call_function(f, args, kwargs)
            if _hashable(f) and f in folds:
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
            if _hashable(callee.value) and callee.value in maybe_none:
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
            case VAt(index=i, value=x):
                return self.emit(Const(At), [i, x], {})
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


def bind(c: VClosure, args: Sequence[AV], kwargs: dict[str, AV]) -> list[AV]:
    """The arguments as the function's parameters, in the order of its locals."""
    code = c.code
    n = code.co_argcount
    names = code.co_varnames
    values: list[AV | None] = list(args[:n]) + [None] * (n - len(args))
    rest = dict(kwargs)
    extra = list(args[n:])
    if extra and not code.co_flags & inspect.CO_VARARGS:
        raise NotSpecialised(f"{code.co_name} takes {n} positional arguments, {len(args)} given")
    first_default = n - len(c.defaults)
    for i in range(n):
        if values[i] is None:
            if names[i] in rest and i >= code.co_posonlyargcount:
                values[i] = rest.pop(names[i])
            elif i >= first_default:
                values[i] = c.defaults[i - first_default]
            else:
                raise NotSpecialised(f"{code.co_name} misses argument {names[i]}")
    for name in names[n : n + code.co_kwonlyargcount]:
        if name in rest:
            values.append(rest.pop(name))
        elif name in c.kwdefaults:
            values.append(c.kwdefaults[name])
        else:
            raise NotSpecialised(f"{code.co_name} misses argument {name}")
    if code.co_flags & inspect.CO_VARARGS:
        values.append(VTuple(tuple(extra)))
    if rest or code.co_flags & inspect.CO_VARKEYWORDS:
        raise NotSpecialised(f"{code.co_name} takes other keyword arguments")
    return values  # type: ignore[return-value]


def _join(a: T, b: T) -> T:
    from mooncake_py.infer.types import join

    return join(a, b)


def _is_frozen(v: AV) -> bool:
    """A constant that stays what it is: a list that a rule closes over may change."""
    return isinstance(v, Const) and not isinstance(v.value, (list, dict, set, bytearray, np.ndarray))


def _hashable(f: Any) -> bool:
    return type(f).__hash__ is not None


def _get(env: dict[Var, AV], v: Operand) -> AV:
    return env[v] if isinstance(v, Var) else v


# -- what folds -------------------------------------------------------------------------------------------


def _load_global(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    name: str = args[0].value  # type: ignore[union-attr, assignment]
    sp.names.append((g, name, g.get(name)))
    if name in g:
        return Const(g[name])
    b = g.get("__builtins__", builtins)
    return Const((b if isinstance(b, dict) else b.__dict__)[name])


def _getattr(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    x, name = args[0], args[1].value if isinstance(args[1], Const) else None
    if name is None:
        return None
    if isinstance(x, VCoDual) and name in ("primal", "fdata"):
        return x.primal if name == "primal" else x.fdata
    if isinstance(x, Const) and (
        isinstance(x.value, (pytypes.ModuleType, type, np.ufunc, np.dtype, str, tuple)) and len(args) == 2
    ):
        return Const(getattr(x.value, name))
    t = sp.type_of(x)
    if isinstance(t, Arr):
        if name == "ndim" and t.ndim is not None:
            return Const(t.ndim)
        if name == "dtype" and t.dtype is not None:
            return Const(t.dtype)
    if isinstance(x, Var):
        out = sp.emit(Const(getattr), args, {})
        from mooncake_py.infer.resolve import attribute
        from mooncake_py.infer.types import Meth, widen

        found = attribute(widen(t), name, None)
        if found is not None and not isinstance(found[0], Meth):
            sp.types[out] = found[0]
        return out
    return None


def _codual(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return VCoDual(args[0], args[1]) if len(args) == 2 else None


def _at(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return VAt(args[0], args[1]) if len(args) == 2 else None


def _build_tuple(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    return VTuple(tuple(args))


def _getitem(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    x, i = args
    if isinstance(x, VTuple) and isinstance(i, Const):
        if isinstance(i.value, int):
            return x.items[i.value]
        if isinstance(i.value, slice):
            return VTuple(x.items[i.value])
    return None


def _unpack(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[0], VTuple):
        return args[0]
    return None


def _len(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return Const(len(args[0].items)) if isinstance(args[0], VTuple) else None


def _make_cell(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    x = args[0]
    return VCell(None if isinstance(x, Const) and x.value is ops.UNBOUND else x)


def _cell_set(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    cell = args[0]
    if isinstance(cell, VCell):
        if cell.content is not None:
            raise NotSpecialised("a captured variable is assigned twice")
        cell.content = args[1]
        return Const(None)
    return None


def _cell_get(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    cell = args[0]
    return cell.content if isinstance(cell, VCell) and cell.content is not None else None


def _make_function(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV:
    code, defaults, kwdefaults, _, closure = args
    if not isinstance(code, Const) or (isinstance(kwdefaults, Var)):
        raise NotSpecialised("make_function")
    d: tuple[AV, ...] = ()
    if isinstance(defaults, VTuple):
        d = defaults.items
    elif isinstance(defaults, Const) and defaults.value is not None:
        d = tuple(map(Const, defaults.value))
    cells = closure.items if isinstance(closure, VTuple) else ()
    if not all(isinstance(c, VCell) for c in cells):
        raise NotSpecialised("a cell that is not seen")
    return VClosure(code.value, g, d, {}, cells)  # type: ignore[arg-type]


def _isinstance(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[1], VTuple) and all(isinstance(c, Const) for c in args[1].items):
        args[1] = Const(tuple(c.value for c in args[1].items))  # type: ignore[union-attr]
    if isinstance(args[1], Const):
        r = _fold_isinstance(sp.type_of(args[0]), args[1].value)
        return None if r is None else Const(r)
    return None


def _is(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    if isinstance(args[0], (VTuple, VClosure, VCoDual)) or isinstance(args[1], (VTuple, VClosure, VCoDual)):
        return Const(args[0] is args[1])
    r = _fold_is(sp.type_of(args[0]), sp.type_of(args[1]))
    return None if r is None else Const(r)


def _is_not(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    r = _is(sp, args, g)
    return None if r is None else Const(not r.value)  # type: ignore[union-attr]


def _check_bound(sp: Specialiser, args: list[AV], g: dict[str, Any]) -> AV | None:
    return None if isinstance(args[0], Const) and args[0].value is ops.UNBOUND else args[0]


_SPECIAL: dict[Any, Callable[[Specialiser, list[AV], dict[str, Any]], AV | None]] = {
    ops.load_global: _load_global,
    getattr: _getattr,
    CoDual: _codual,
    At: _at,
    ops.build_tuple: _build_tuple,
    operator.getitem: _getitem,
    ops.unpack: _unpack,
    len: _len,
    ops.make_cell: _make_cell,
    ops.cell_set: _cell_set,
    ops.cell_get: _cell_get,
    ops.make_function: _make_function,
    isinstance: _isinstance,
    operator.is_: _is,
    operator.is_not: _is_not,
    ops.check_bound: _check_bound,
}
