"""Operations on objects of known classes as the calls they come down to (`infer/protocol.py`)."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

from mooncake_py import fields
from mooncake_py.infer.codes import attributes_set
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.lookup import MISSING, Lookup, is_function
from mooncake_py.infer.own_containers import is_of_base
from mooncake_py.infer.partials import partials
from mooncake_py.infer.protocol import MADE, Keywords, Plan, Spread, exact_class
from mooncake_py.infer.shape import only_called
from mooncake_py.infer.special_methods import STAND_INS
from mooncake_py.infer.types import BOT, Bot, Dct, Known, Lst, Meth, Obj, T, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const, map_function
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Fresh, Function, Operand, Pos, Var
from mooncake_py.transform.displays import puts_together
from mooncake_py.transform.doubts import doubt, note


def as_calls(inferred: Inferred) -> Function | None:
    """The function with every planned operation replaced; None where there is none."""
    fn, calls = inferred.fn, inferred.calls
    plans = {v: c.target for v, c in calls.items() if c.kind == "planned" and isinstance(c.target, Plan)}
    if not plans:
        return None
    types = inferred.types

    def type_of(v: Operand) -> T:
        return Known(v.value) if isinstance(v, Const) else types.get(v, BOT)

    fresh = fresh_beside(fn)
    bound = {v for v, t in inferred.types.items() if isinstance(t, Meth)}
    bound |= partials(fn, type_of)
    kept = [v for p in plans.values() for v in (p.function, *p.args, *[x for _, x in p.kwargs])]
    bound.difference_update([v for v in kept if isinstance(v, Var)])  # a method that a partial hands on, too
    bound -= {s.fn for b in fn.blocks for s in b.stmts if s.out in plans and plans[s.out].argument is not None}
    gone: set[Var] = set()
    while len(gone) < len(more := {v for v in only_called(fn, bound, gone) if _calls_of(fn, v) <= plans.keys()}):
        gone = more
    shown = _displays(inferred, plans)
    names = _kept(fn, plans, fresh)
    blocks = []
    for b in fn.blocks:
        stmts: list[Call] = [*names.values()] if b is fn.entry else []
        for s in b.stmts:
            if s.out in plans:
                plan = plans[s.out]
                given = s.args[1:2] if plan.spread is None else (plan.spread.sequence,)
                for v in (s.args[0], *given) if is_const(s.fn, ops.call_ex) else (s.fn,):
                    stmts += [] if v in gone else doubt(inferred, v, fresh, s.pos)
                if plan.lacks is not None:
                    stmts.append(Call(fresh.var(), Const(fields.lacks), plan.lacks, (), s.pos))
                if plan.kept:
                    plan = replace(plan, args=(names[_name_of(plan.args)].out, *plan.args[1:]))
                stmts += _direct(s, plan, fresh, inferred)
            elif s.out not in gone and s not in shown and not (b is fn.entry and is_const(s.fn, fields.kept_by)):
                stmts.append(s)
        blocks.append(CFGBlock(b.id, b.params, tuple(stmts), b.term, b.handler))
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)


def _filled(
    out: Var,
    f: Any,
    x: Operand,
    args: tuple[Operand, ...],
    kwargs: Keywords,
    types: Mapping[Var, T],
    pos: Pos,
    fresh: Fresh,
) -> tuple[list[Call], list[Call]] | None:
    """What `f(x, ...)` does, that fills a list or dict of a class of its own, and what is to be done before; None for
    what is done in another way."""
    if f is not dict.__init__ and f is not dict.update and f is not list.__init__:
        return None
    kind: Any = list if f is list.__init__ else dict
    if len(args) > 1 or (kwargs and kind is list):
        return None
    before: list[Call] = []
    parts = list(args)
    t = types.get(args[0]) if args and isinstance(args[0], Var) else None
    known = isinstance(t, Dct if kind is dict else (Lst, Tup)) or (isinstance(t, Obj) and t.items is not None)
    if args and not known:
        before.append(Call(fresh.var(), Const(kind), args, (), pos))
        parts = [before[-1].out]
    if kwargs or (kind is dict and not args):
        shown = tuple([v for k, x in kwargs for v in (Const(k), x)])
        before.append(Call(fresh.var(), Const(ops.build_map), shown, (), pos))
        parts.append(before[-1].out)
    held = Call(fresh.var(), Const(fields.items_of), (x,), (), pos)
    fill = ops.list_extend if kind is list else dict.update
    outs = [*[fresh.var() for _ in parts[1:]], out]
    return before, [held, *[Call(v, Const(fill), (held.out, p), (), pos) for v, p in zip(outs, parts, strict=False)]]


def _direct(s: Call, plan: Plan, fresh: Fresh, inferred: Inferred) -> list[Call]:
    types, shape = inferred.types, inferred.memory.shape
    if plan.spread is not None:
        return _one_by_one(s, plan.function, plan.spread, fresh)
    if is_const(plan.function, fields.set_kept):
        names = [(plan.args[0], Const(k), v) for k, v in plan.kwargs]
        outs = [*(fresh.var() for _ in names[1:]), s.out]
        return [Call(out, plan.function, given, (), s.pos) for out, given in zip(outs, names, strict=True)]
    if isinstance(plan.function, (Var, Const)):
        reads, x = [], s.args[0] if plan.reads else None
        cls = exact_class(types.get(x, BOT)) if isinstance(x, Var) else None
        if x is not None and cls is not None:
            reads.append(note(x, cls, shape, fresh, s.pos))
            x = reads[0].out
        kwargs = list(plan.kwargs)
        for name in plan.reads:
            assert x is not None
            reads.append(Call(fresh.var(), Const(getattr), (x, Const(name)), (), s.pos))
            kwargs.append((name, reads[-1].out))
        f = plan.function.value if isinstance(plan.function, Const) else None
        if 0 in plan.items and (plan.kwargs or f is dict.__init__):
            filled = _filled(s.out, f, plan.args[0], plan.args[1:], plan.kwargs, types, s.pos, fresh)
            if filled is not None:
                return [*filled[0], *filled[1]]
        taken = list(plan.args)
        for k in plan.items:
            reads.append(Call(fresh.var(), Const(fields.items_of), (taken[k],), (), s.pos))
            taken[k] = reads[-1].out
        return [*reads, Call(s.out, plan.function, tuple(taken), tuple(kwargs), s.pos)]
    if plan.makes is None:
        stmts: list[Call] = []
        args = list(plan.args)
        sure: dict[Operand, Operand] = {}
        # What other plans make is not seen yet: the operands that told this plan are looked at again when it is.
        for i in range(len(args) if plan.function in STAND_INS else 1):
            x = args[i] if args else None
            cls = exact_class(types.get(x, BOT)) if isinstance(x, Var) else None
            if cls is not None:
                assert x is not None
                if x not in sure:
                    stmts.append(note(x, cls, shape, fresh, s.pos))
                    sure[x] = stmts[-1].out
                args[i] = sure[x]
        if plan.argument is None:
            return [*stmts, Call(s.out, Const(plan.function), tuple(args), plan.kwargs, s.pos)]
        k, items = plan.argument, fresh.var()
        whole = Call(s.out, s.fn, (*s.args[:k], items, *s.args[k + 1 :]), s.kwargs, s.pos)
        return [*stmts, Call(items, Const(plan.function), tuple(args), (), s.pos), whole]
    made = Call(s.out, Const(fields.make_object), (Const(plan.makes),), (), s.pos)
    if issubclass(plan.makes, BaseException):
        kept = tuple([v for v in plan.args if v is not MADE])
        made = Call(s.out, Const(fields.make_exception), (Const(plan.makes), *kept), (), s.pos)
    if plan.function is None:
        sets = [Call(fresh.var(), Const(setattr), (s.out, Const(k), v), (), s.pos) for k, v in plan.kwargs]
        return [made, *sets]
    given: tuple[Operand, ...] = tuple([s.out if v is MADE else v for v in plan.args])
    if plan.items:
        filled = _filled(fresh.var(), plan.function, s.out, given[1:], plan.kwargs, types, s.pos, fresh)
        if filled is not None:
            return [*filled[0], made, *filled[1]]
    return [made, Call(fresh.var(), Const(plan.function), given, plan.kwargs, s.pos)]


def _one_by_one(s: Call, f: Operand, spread: Spread, fresh: Fresh) -> list[Call]:
    """The call with the items of a sequence, whose length is checked, between other arguments."""
    xs, n, beside = spread.sequence, spread.length, len(spread.before) + len(spread.after)
    if isinstance(spread.by, type):
        args: tuple[Operand, ...] = (Const(spread.by), xs, Const(False), Const(beside))
        check = Call(fresh.var(), Const(ops.check_fields), args, (), s.pos)
    else:
        check = Call(fresh.var(), Const(ops.check_arguments), (Const(spread.by), xs, Const(n)), (), s.pos)
    each = [Call(fresh.var(), Const(operator.getitem), (xs, Const(i)), (), s.pos) for i in range(n)]
    given = (*spread.before, *[x.out for x in each], *spread.after)
    return [check, *each, Call(s.out, f, given, (), s.pos)]


def _displays(inferred: Inferred, plans: Mapping[Var, Plan]) -> set[Call]:
    """What puts tuples together of which these plans say the items."""
    tuples = {p.spread.display for p in plans.values() if p.spread is not None and p.spread.display is not None}
    if not tuples:
        return set()
    lists = {inferred.memory.shape.defs[v].args[0] for v in tuples}
    return {s for b in inferred.fn.blocks for s in b.stmts if s.out in tuples or puts_together(s, lists)}


def _kept(fn: Function, plans: Mapping[Var, Plan], fresh: Fresh) -> dict[tuple[int, str], Call]:
    """What stands for the names of classes and modules in this function, by holder and name: found where it begins."""
    found: dict[tuple[int, str], Call] = {}
    wanted = [s for s in fn.entry.stmts if is_const(s.fn, fields.kept_by)]
    for s, plan in ((s, plans.get(s.out)) for b in fn.blocks for s in b.stmts):
        if plan is not None and plan.kept:
            what = (*plan.args[:2], Const(is_const(plan.function, setattr)))
            wanted.append(Call(fresh.var(), Const(fields.kept_by), what, (), s.pos))
    for s in wanted:
        known = found.setdefault(_name_of(s.args), s)
        if is_const(s.args[2], True):
            found[_name_of(s.args)] = replace(known, args=s.args)
    return found


def _name_of(args: tuple[Operand, ...]) -> tuple[int, str]:
    holder, name = args[:2]
    assert isinstance(holder, Const) and isinstance(name, Const)
    return id(holder.value), name.value


def hidden(inferred: Inferred) -> set[tuple[type, str]]:
    """Attributes of objects, by class and name, that a plan took not to be there before all writes were seen."""
    found = set()
    for s, t in _taken_to_lack(inferred):
        _, cls, name = s.args
        assert isinstance(cls, Const) and isinstance(name, Const)
        if isinstance(t, Obj):
            there = t.field(name.value) is not None
        else:
            there = not isinstance(t, Bot) and _may_set(cls.value, name.value)
        if there:
            found.add((cls.value, name.value))
    return found


def _may_set(cls: type, name: str) -> bool:
    """May objects of a class be given such an attribute where that is not seen? By its methods, if it hides one."""
    d = Lookup(cls).get(name, MISSING)
    if not is_function(d) and not is_of_base(d, cls):
        return True
    own = [f for k in cls.__mro__ for f in k.__dict__.values() if isinstance(f, FunctionType)]
    return any(name in attributes_set(f.__code__) for f in own)


def without_doubts(inferred: Inferred) -> Inferred:
    """The same without tests of what is known now. Objects that may be changed unseen are tested when it runs."""
    dead = {s for s, t in _taken_to_lack(inferred) if isinstance(t, (Obj, Bot))}
    return replace(inferred, fn=map_function(inferred.fn, lambda v: v, dead)) if dead else inferred


def _taken_to_lack(inferred: Inferred) -> list[tuple[Call, T]]:
    if not inferred.fn.calls(fields.lacks):
        return []
    return [
        (s, inferred.types.get(s.args[0], BOT) if isinstance(s.args[0], Var) else BOT)
        for b in inferred.fn.blocks
        for s in b.stmts
        if is_const(s.fn, fields.lacks)
    ]


def _calls_of(fn: Function, v: Operand) -> set[Var]:
    return {s.out for b in fn.blocks for s in b.stmts if s.fn is v}
