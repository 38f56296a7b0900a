"""The body of a callee without the questions that the arguments of the call answer: is a parameter None, is it a list.

What is not run then is left out. So a function that is asked whether it is None is one whose calls can all be taken in,
and what is returned in the one case that there is, is known.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.predicates import fold_hasattr, fold_is, fold_isinstance
from mooncake_py.infer.protocol import exact_class
from mooncake_py.infer.types import (
    TOP,
    Known,
    Real,
    T,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Function,
    Goto,
    Operand,
    Var,
    all_edges,
    term_operands,
)

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_PLAIN = (int, str, bool, type(None))


def answered(body: Function, args: tuple[Operand, ...], inferred: Inferred) -> Function:
    """The body of a callee that gets these arguments."""
    types, defs = inferred.types, inferred.memory.shape.defs
    values = dict(zip(body.params, args, strict=True))
    answers: dict[Operand, Operand] = {}
    dead: set[Call] = set()

    tuples: dict[Operand, tuple[Operand, ...]] = {}

    def meant(v: Operand) -> Operand:
        v = answers.get(v, v)
        return values.get(v, v) if isinstance(v, Var) else v

    def type_of(v: Operand) -> T | None:
        if items := tuples.get(v):
            consts = [x.value for x in map(meant, items) if isinstance(x, Const)]
            return Known(tuple(consts)) if len(consts) == len(items) else None
        v = meant(v)
        return Known(v.value) if isinstance(v, Const) else types.get(v) if v in args else None

    def of_tuple(f: Any, s: Call) -> Operand | None:
        """How long a tuple is that is put together here, or one of its items."""
        items = tuples[s.args[0]]
        if f is len:
            return Const(len(items))
        place = s.args[1].value if f is operator.getitem and isinstance(s.args[1], Const) else None
        return items[place] if type(place) is int and -len(items) <= place < len(items) else None

    def is_there(x: Operand, name: Operand) -> bool | None:
        made = defs.get(values.get(x, x)) if isinstance(x, Var) else None  # type: ignore[arg-type]
        if made is None or not isinstance(name, Const):
            return None
        maker = types.get(made.fn) if isinstance(made.fn, Var) else Known(made.fn.value)
        return fold_hasattr(TOP, name.value, maker)

    for s in (s for b in body.blocks for s in b.stmts):
        f = s.fn.value if isinstance(s.fn, Const) else None
        given = [type_of(a) for a in s.args]
        answer: Any
        if f is ops.build_tuple:
            tuples[s.out] = tuple([answers.get(v, v) for v in s.args])
            continue
        if s.args and s.args[0] in tuples and (item := of_tuple(f, s)) is not None:
            answers[s.out] = item
            dead.add(s)
            continue
        if f is hasattr and len(s.args) == 2:
            answer = is_there(*s.args)
        elif f is type and len(given) == 1 and not isinstance(given[0], (Real, type(None))):
            answer = exact_class(given[0])
        elif f is getattr and None not in given:
            answer = _method_of(given)
        else:
            answer = _answer(f, given) if given and None not in given else None
        if answer is not None:
            answers[s.out] = Const(answer)
            dead.add(s)
    return with_answers(body, answers, dead)


def statements_left(body: Function, args: tuple[Operand, ...], inferred: Inferred, scope: Mapping[str, Any]) -> int:
    """How many statements there are without what is not run: as things are now, whatever names come to mean."""
    read = [s for b in body.blocks for s in b.stmts if is_const(s.fn, ops.load_global)]
    named = {s.out: s.args[0].value for s in read}  # type: ignore[union-attr]
    builtin = {v: name for v, name in named.items() if name not in scope and hasattr(builtins, name)}
    meant: dict[Operand, Operand] = {v: Const(getattr(builtins, name)) for v, name in builtin.items()}
    of_builtins = map_function(body, lambda v: meant.get(v, v), {s for s in read if s.out in builtin})
    return sum(len(b.stmts) for b in answered(of_builtins, args, inferred).blocks)


def known_keys(body: Function, made: Var, keys: Mapping[str, Operand]) -> Function:
    """The same where `made`, a dict with these items at first, is asked for them before it may be another one."""
    succs = {b.id: [e.target for e in all_edges(b)] for b in body.blocks}
    changed = {b.id: i for b in body.blocks if (i := _first_change(b, made)) is not None}
    since = _reached_from([to for b in changed for to in succs[b]], succs)
    answers: dict[Operand, Operand] = {}
    dead: set[Call] = set()
    for b in body.blocks:
        for s in b.stmts[: changed.get(b.id)] if b.id not in since else ():
            if made in s.args and (answer := _answer_of_keys(s, keys)) is not None:
                answers[s.out] = answer
                dead.add(s)
    return with_answers(body, answers, dead)


def _first_change(b: CFGBlock, made: Var) -> int | None:
    """The first statement of a block that may change a dict, or give it to others; None where none does."""
    uses = [i for i, s in enumerate(b.stmts) if made in s.operands() and not _only_looks(s, made)]
    return uses[0] if uses else len(b.stmts) if _ends_with(b, made) else None


def _only_looks(s: Call, made: Var) -> bool:
    """Is a dict asked for what it has by a name, or spread out in a call?"""
    if is_const(s.fn, ops.call_ex):
        return made not in s.args[:2] and not s.kwargs
    if is_const(s.fn, operator.contains) or is_const(s.fn, operator.getitem):
        return s.args[0] is made and _is_text(s.args[1])
    return is_const(s.fn, ops.truth)


def _answer_of_keys(s: Call, keys: Mapping[str, Operand]) -> Operand | None:
    if is_const(s.fn, ops.truth):
        return Const(bool(keys))
    if is_const(s.fn, operator.getitem):
        return keys.get(s.args[1].value)  # type: ignore[union-attr]
    return Const(s.args[1].value in keys) if is_const(s.fn, operator.contains) else None  # type: ignore[union-attr]


def _is_text(v: Operand) -> bool:
    return isinstance(v, Const) and type(v.value) is str


def with_answers(body: Function, answers: Mapping[Operand, Operand], dead: Set[Call]) -> Function:
    """The body without dead statements, of which the results are known, and without what nobody comes to then."""
    if not answers and not dead:
        return body
    body = map_function(body, lambda v: answers.get(v, v), dead)
    by_id = {b.id: _decided(b) for b in body.blocks}
    reached = _reached_from([body.entry.id], {b.id: [e.target for e in all_edges(b)] for b in by_id.values()})
    return replace(body, blocks=tuple(b for b in by_id.values() if b.id in reached))


def _reached_from(some: Collection[BlockId], succs: Mapping[BlockId, Collection[BlockId]]) -> set[BlockId]:
    reached, work = set(some), list(some)
    while work:
        for to in succs[work.pop()]:
            if to not in reached:
                reached.add(to)
                work.append(to)
    return reached


def _ends_with(b: CFGBlock, v: Var) -> bool:
    return v in term_operands(b.term) or any(v in e.args for e in all_edges(b))


def _answer(f: Any, given: list[T | None]) -> bool | None:
    if f is operator.is_ or f is operator.is_not:
        a, b = given
        same = None if a is None or b is None else fold_is(a, b)
        return None if same is None else same is (f is operator.is_)
    if f is isinstance:
        x, cls = given
        return fold_isinstance(x, cls.value) if x is not None and isinstance(cls, Known) else None
    values = [t.value for t in given if isinstance(t, Known) and type(t.value) in _PLAIN]
    if len(values) < len(given):
        return None
    if f is operator.eq:
        return values[0] == values[1]
    if f is operator.lt and all(type(v) is int for v in values):
        return values[0] < values[1]
    return bool(values[0]) if f is ops.truth else None


def _method_of(given: list[T | None]) -> Any:
    """What a class that cannot be changed has by a name: where it is asked with something to give in place of it."""
    values = [t.value for t in given if isinstance(t, Known)]
    if len(values) != len(given) or len(values) != 3 or type(values[0]) is not type:
        return None
    return getattr(*values) if values[0].__flags__ & _IMMUTABLE else None


def _decided(b: CFGBlock) -> CFGBlock:
    if isinstance(b.term, Branch) and isinstance(b.term.cond, Const):
        return replace(b, term=Goto(b.term.then if b.term.cond.value else b.term.orelse, b.term.pos))
    return b
