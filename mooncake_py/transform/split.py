"""Operations on values of one of several types, made into one for each (`infer/choices.py`).

    y = f(x)                        t = type(x)
                                    if t is A:   y = f(x1)      x1 = narrow(x, True, A)
                                    else:        y = f(x2)      x2 = narrow(x, False, A)

`narrow` is the value itself; only its type is another. Where the program itself asks which it is (`x is None`,
`isinstance(x, A)`, `type(x) is A`, `len(x) == 2`), the value is narrowed in what follows, and nothing is asked again.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType

from mooncake_py.fields import is_code_of, is_function, is_local_function, is_method_of, is_of_length, narrow
from mooncake_py.hashing import hashable
from mooncake_py.infer.choices import NOTHING, RAISES, Split
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.matched import MATCHES, matches
from mooncake_py.infer.predicates import classes_given, fold_isinstance
from mooncake_py.infer.types import BOT, Inst, Kind, Known, Meth, T, Union, kind_of
from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominates, dominators, predecessors, use_counts
from mooncake_py.ir.mapping import fresh_beside, is_const, map_terminator
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    Fresh,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Terminator,
    Try,
    Var,
    term_operands,
)
from mooncake_py.transform.doubts import stands
from mooncake_py.transform.protect import protect_all
from mooncake_py.transform.single import without_single_params

# -- what the program asks --------------------------------------------------------------------------------


class Narrowing:
    """What one function asks of the types of its values, whatever these turn out to be."""

    def __init__(self, fn: Function):
        self.fn = fn
        self.branches = [b for b in fn.blocks if isinstance(b.term, Branch) and isinstance(b.term.cond, Var)]
        self.used: dict[tuple[Var, BlockId], bool] = {}

    @cached_property
    def defs(self) -> dict[Var, Call]:
        return {s.out: s for b in self.fn.blocks for s in b.stmts}

    @cached_property
    def preds(self) -> dict[BlockId, list[BlockId]]:
        return predecessors(self.fn)

    @cached_property
    def idom(self) -> dict[BlockId, BlockId | None]:
        return dominators(self.fn)

    def _is_used(self, x: Var, at: BlockId) -> bool:
        known = self.used.get((x, at))
        if known is None:
            known = self.used[x, at] = _is_used(self.fn, x, at, self.idom)
        return known

    def narrowed(self, types: Mapping[Var, T], reached: Set[BlockId]) -> Function | None:
        """The function with one value narrowed where it asks for its type; None where there is nothing to be done."""
        fn = self.fn
        if not self.branches or not any(isinstance(t, Union) for t in types.values()):
            return None
        for b in self.branches:
            question = _asked(b.term.cond, fn, self.defs, types) if b.id in reached else None  # type: ignore[union-attr]
            if question is None:
                continue
            assert isinstance(b.term, Branch)
            x = question.value
            for e, these in ((b.term.then, question.holds), (b.term.orelse, question.fails)):
                told = _told(types[x], these, question.kind)
                if told and len(self.preds[e.target]) == 1 and self._is_used(x, e.target):
                    return _renamed(fn, x, e.target, told, self.idom, fresh_beside(fn), b.term.pos)
                if told and len(self.preds[e.target]) > 1 and x in e.args:
                    return _given(fn, b, e, x, told, fresh_beside(fn))
        return None


def _given(fn: Function, b: CFGBlock, e: Edge, x: Var, told: tuple[tuple[bool, Kind], ...], fresh: Fresh) -> Function:
    """The function in which x has another name where an edge hands it on: a loop that asks at its end."""
    assert isinstance(b.term, Branch)
    stmts: list[Call] = []
    better = _narrow(x, told, stmts, fresh, b.term.pos)
    to = Goto(Edge(e.target, tuple([better if v is x else v for v in e.args])), b.term.pos)
    between = CFGBlock(fresh.block(), (), tuple(stmts), to)
    there = Edge(between.id)
    term = replace(b.term, then=there) if e is b.term.then else replace(b.term, orelse=there)
    return replace(fn, blocks=tuple([replace(c, term=term) if c is b else c for c in fn.blocks]) + (between,))


@dataclass(frozen=True, slots=True)
class _Question:
    """A condition that tells of which kinds a value may be where it holds, and where it fails.

    `kind` is the one that is asked for by itself. Of others that are left it is only known what they are not: there
    may be more of them when what other operations give is seen.
    """

    value: Var
    holds: frozenset[Kind]
    fails: frozenset[Kind]
    kind: Kind | None = None


def _asked(cond: Operand, fn: Function, defs: dict[Var, Call], types: Mapping[Var, T]) -> _Question | None:
    """What a condition asks of a value of one of several types; None where it asks something else.

    What it asks by has to stand there: what is in a variable may be something else when more is seen.
    """
    s = defs.get(cond) if isinstance(cond, Var) else None
    if s is None or s.kwargs or not s.args:
        return None
    f, x = _value(s.fn, types), s.args[0]
    if f in (ops.truth, operator.not_, bool) and len(s.args) == 1:
        kinds = _kinds(x, types)
        found = _Question(x, kinds - {NOTHING}, kinds) if kinds and isinstance(x, Var) else _asked(x, fn, defs, types)
        if found is not None and f is operator.not_:
            return replace(found, holds=found.fails, fails=found.holds)
        return found
    if type(f) is FunctionType and f in MATCHES:
        return _question(x, types, lambda t: matches(f, t))
    if len(s.args) == 2 and f in (operator.is_, operator.is_not) and _is_bare(s.args[1], types):
        kinds = _kinds(x, types)  # the other may be another one of its class
        yes = kinds & {_BARE}
        if not yes or not isinstance(x, Var):
            return None
        return _Question(x, yes, kinds, _BARE) if f is operator.is_ else _Question(x, kinds, yes, _BARE)
    if len(s.args) != 2 or not _stands(s.args[1], fn, defs):
        return None
    if f is isinstance:
        classes = classes_given(_type(s.args[1], types))
        return None if classes is None else _question(x, types, lambda t: fold_isinstance(t, classes))
    other = _known(s.args[1], types)
    if other is None or f not in (operator.is_, operator.is_not, operator.eq, operator.ne):
        return None
    asked = defs.get(x) if isinstance(x, Var) else None
    by = _value(asked.fn, types) if asked is not None and len(asked.args) == 1 else None
    if asked is not None and (by is type or by is len):
        x = asked.args[0]
    elif f not in (operator.is_, operator.is_not):
        return None
    kinds = _kinds(x, types)
    if by is len:
        yes = frozenset(k for k in kinds if not _is_tuple(k) or k[2] == other.value)
        no = frozenset(k for k in kinds if not _is_tuple(k) or k[2] != other.value)
    else:
        yes = frozenset(k for k in kinds if k[:2] == ("a" if by is type else "is", other.value))
        no = kinds if is_local_function(other.value) else kinds - yes  # it may be another one made from the same code
    if not yes or not isinstance(x, Var):
        return None
    kind = next(iter(yes)) if len(yes) == 1 and by is not len else None
    return _Question(x, yes, no, kind) if f in (operator.is_, operator.eq) else _Question(x, no, yes, kind)


_BARE: Kind = ("a", object)


def _is_bare(v: Operand, types: Mapping[Var, T]) -> bool:
    """Is it a value that is nothing but itself, `object()`?"""
    t = _type(v, types)
    return isinstance(t, Inst) and t.cls is object


def _question(x: Operand, types: Mapping[Var, T], answer: Callable[[T], bool | None]) -> _Question | None:
    """One that is answered by the class of a value of one of several types."""
    t = types.get(x) if isinstance(x, Var) else None
    if not isinstance(x, Var) or not isinstance(t, Union):
        return None
    answers = [(kind_of(o), answer(o)) for o in t.options]
    holds = frozenset(k for k, a in answers if a is not False and k is not None)
    fails = frozenset(k for k, a in answers if a is not True and k is not None)
    return _Question(x, holds, fails)


def _is_tuple(kind: Kind) -> bool:
    return len(kind) == 3 and kind[0] == "a"


def _stands(v: Operand, fn: Function, defs: dict[Var, Call]) -> bool:
    d = defs.get(v) if isinstance(v, Var) else None
    if d is not None and is_const(d.fn, ops.build_tuple):
        return all(_stands(x, fn, defs) for x in d.args)
    return stands(v, fn, defs)


def _value(v: Operand, types: Mapping[Var, T]) -> object:
    known = _known(v, types)
    return None if known is None or not hashable(known.value) else known.value


def _known(v: Operand, types: Mapping[Var, T]) -> Known | None:
    t = _type(v, types)
    return t if isinstance(t, Known) else None


def _type(v: Operand, types: Mapping[Var, T]) -> T:
    return Known(v.value) if isinstance(v, Const) else types.get(v, BOT)


def _kinds(v: Operand, types: Mapping[Var, T]) -> frozenset[Kind]:
    """The kinds of a value of one of several types, none of any other."""
    t = types.get(v) if isinstance(v, Var) else None
    return frozenset(k for k in map(kind_of, t.options) if k is not None) if isinstance(t, Union) else frozenset()


def _told(t: T, kinds: frozenset[Kind], proven: Kind | None) -> tuple[tuple[bool, Kind], ...]:
    """What a value of this type is told to be or not to be, where it is of one of these kinds."""
    assert isinstance(t, Union)
    found = [k for k in map(kind_of, t.options) if k is not None]
    if proven is not None and kinds == {proven}:
        return ((True, proven),)
    return tuple((False, k) for k in found if k not in kinds)


def _is_used(fn: Function, x: Var, at: BlockId, idom: dict[BlockId, BlockId | None]) -> bool:
    """Is x used, otherwise than to be narrowed, in what the block `at` dominates?"""
    for b in fn.blocks:
        if b.id in idom and dominates(idom, at, b.id):
            if x in term_operands(b.term) or any(x in s.operands() for s in b.stmts if not is_const(s.fn, narrow)):
                return True
    return False


def _renamed(
    fn: Function,
    x: Var,
    at: BlockId,
    told: tuple[tuple[bool, Kind], ...],
    idom: dict[BlockId, BlockId | None],
    fresh: Fresh,
    pos: Pos,
) -> Function:
    """The function in which x has another name in what the block `at` dominates."""
    head: list[Call] = []
    better = _narrow(x, told, head, fresh, pos)

    def f(v: Operand) -> Operand:
        return better if v is x else v

    def edge(e: Edge) -> Edge:
        return Edge(e.target, tuple(map(f, e.args)))

    blocks = []
    for b in fn.blocks:
        if b.id in idom and dominates(idom, at, b.id):
            stmts = tuple(
                [
                    Call(s.out, f(s.fn), tuple(map(f, s.args)), tuple((k, f(v)) for k, v in s.kwargs), s.pos)
                    for s in b.stmts
                ]
            )
            b = CFGBlock(b.id, b.params, (*head, *stmts) if b.id == at else stmts, map_terminator(b.term, f, edge))
        blocks.append(b)
    return replace(fn, blocks=tuple(blocks))


def _narrow(x: Var, told: tuple[tuple[bool, Kind], ...], out: list[Call], fresh: Fresh, pos: Pos) -> Var:
    for of, kind in told:
        better = fresh.var(x.name)
        out.append(Call(better, Const(narrow), (x, Const(of), Const(kind)), (), pos))
        x = better
    return x


# -- what is asked of it ----------------------------------------------------------------------------------


def by_options(inferred: Inferred) -> Function | None:
    """The function with such operations made into several."""
    fn = inferred.fn
    splits = {v: c.target for v, c in inferred.calls.items() if c.kind == "planned" and isinstance(c.target, Split)}
    if not splits:
        return None
    fresh = fresh_beside(fn)
    handlers = {b.term.body.target: b.term.handler for b in fn.blocks if isinstance(b.term, Try)}
    out: list[CFGBlock] = []
    for b in fn.blocks:
        pieces = _pieces(b, splits, fresh)
        handler = handlers.get(b.id)
        if handler is not None and len(pieces) > 1:
            pieces = [pieces[0], *protect_all(pieces[1:], handler, fresh)]
        out += pieces
    counts = use_counts(replace(fn, blocks=tuple(out)))
    methods = {v for v, t in inferred.types.items() if isinstance(t, Union) and isinstance(t.options[0], Meth)}
    gone = {v for v in methods if not counts.get(v)}
    gone |= _unused({c.out: c for split in splits.values() for c in split.chain}, counts)
    blocks = [replace(b, stmts=tuple([s for s in b.stmts if s.out not in gone])) for b in out]
    return replace(fn, blocks=tuple(blocks))


def _unused(chain: dict[Var, Call], counts: Mapping[Var, int]) -> set[Var]:
    """Those of the statements that are made anew for each option whose results nothing else asks for."""
    left = Counter(counts)
    gone: set[Var] = set()
    while more := {v for v in chain if not left[v]} - gone:
        gone |= more
        for v in more:
            left.subtract([x for x in chain[v].operands() if isinstance(x, Var)])
    return gone


def _pieces(b: CFGBlock, splits: dict[Var, Split], fresh: Fresh) -> list[CFGBlock]:
    """The blocks that stand for one."""
    out: list[CFGBlock] = []
    current, params = b.id, b.params
    stmts: list[Call] = []
    for s in b.stmts:
        split = splits.get(s.out)
        if split is None:
            stmts.append(s)
            continue
        after, x = fresh.block(), split.value
        arms: list[CFGBlock] = []
        for kind in split.tested:
            arm, other = fresh.block(), fresh.block()
            cond = _test(x, kind, stmts, fresh, s.pos)
            out.append(CFGBlock(current, params, tuple(stmts), Branch(cond, Edge(arm), Edge(other), s.pos)))
            arms.append(_arm(arm, s, split, x, [], ((True, kind),), after, fresh))
            current, params, stmts = other, (), []
            x = _narrow(x, ((False, kind),), stmts, fresh, s.pos)
        arms.append(_arm(current, s, split, x, stmts, (), after, fresh))
        out += arms
        current, params, stmts = after, (s.out,), []
    out.append(CFGBlock(current, params, tuple(stmts), b.term))
    return out


def _test(x: Var, kind: Kind, out: list[Call], fresh: Fresh, pos: Pos) -> Var:
    """A statement that tells whether x is of this kind."""
    cond = fresh.var()
    if kind[0] == "is":
        same = is_function if type(kind[1]) is FunctionType else operator.is_  # `Known` takes one made anew for it
        out.append(Call(cond, Const(same), (x, Const(kind[1])), (), pos))
    elif kind[0] == "a" and len(kind) == 3:
        out.append(Call(cond, Const(is_of_length), (x, *map(Const, kind[1:])), (), pos))
    elif kind[0] == "a":
        cls = fresh.var()
        out.append(Call(cls, Const(type), (x,), (), pos))
        out.append(Call(cond, Const(operator.is_), (cls, Const(kind[1])), (), pos))
    else:
        asks = is_method_of if kind[0] == "method" else is_code_of
        out.append(Call(cond, Const(asks), (x, Const(kind[1])), (), pos))
    return cond


def _arm(
    id: BlockId,
    s: Call,
    split: Split,
    x: Var,
    stmts: list[Call],
    told: tuple[tuple[bool, Kind], ...],
    after: BlockId,
    fresh: Fresh,
) -> CFGBlock:
    """The operation for one option, x being the value so far; `stmts` stand before it."""
    x = _narrow(x, told, stmts, fresh, s.pos)

    def f(v: Operand) -> Operand:
        return x if v is split.value else v

    callee = f(s.fn)
    if split.name is not None:
        callee = fresh.var()
        stmts.append(Call(callee, Const(getattr), (x, split.name), (), s.pos))
    names: dict[Operand, Operand] = {split.value: x}
    for c in split.chain:
        made = fresh.var(c.out.name)
        stmts.append(Call(made, names.get(c.fn, c.fn), tuple([names.get(v, v) for v in c.args]), (), c.pos))
        names[c.out] = made
    callee = names.get(callee, callee)
    result = fresh.var(s.out.name)
    stmts.append(Call(result, callee, tuple(map(f, s.args)), tuple((k, f(v)) for k, v in s.kwargs), s.pos))
    return CFGBlock(id, (), tuple(stmts), Goto(Edge(after, (result,)), s.pos))


# -- what surely raises -----------------------------------------------------------------------------------


def without_dead_ends(inferred: Inferred) -> Function | None:
    """The function whose blocks end with a statement that surely raises: what it would give is of no type.

    Where other calls are still to stand, what is None so far may become something else, but for what was tested.
    """
    fn, calls = inferred.fn, inferred.calls
    open_ = any(c.kind == "planned" for c in calls.values())
    raising = {v for v, c in calls.items() if c.why == RAISES}
    tested = {s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, narrow)} if open_ and raising else set()
    blocks: list[CFGBlock] = []
    changed = False
    for b in fn.blocks if raising else ():
        ends = [i for i, s in enumerate(b.stmts) if s.out in raising]
        n = next((i for i in ends if not open_ or not tested.isdisjoint(b.stmts[i].operands())), None)
        if n is not None and not (isinstance(b.term, Raise) and n == len(b.stmts) - 1):
            s = b.stmts[n]
            end: Terminator = Raise(Const(AssertionError("not reached")), pos=s.pos)
            b = replace(b, stmts=b.stmts[: n + 1], term=end)
            changed = True
        blocks.append(b)
    return without_single_params(replace(fn, blocks=tuple(blocks))) if changed else None
