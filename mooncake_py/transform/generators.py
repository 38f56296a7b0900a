"""Generator functions as classes: what lives across a `yield` is an attribute, and the body a method that is called for
every item.

    def g(x):                        def g(x):
        for i in range(3):               self = <an object of the class of g>
            yield x * i       ->         self.place, self.x = START, x
                                         return self

                                     def resume(self, sent, thrown):
                                         <go where self.place says>; ...; return False, self.x * i

`resume` returns `(done, value)`: an item, or the return value with the end. Objects, attributes and branches are what
the engine differentiates anyway, so generators need no reverse of their own.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types as pytypes
from collections.abc import Iterator
from typing import Any

from mooncake_py.fields import make_object
from mooncake_py.frontend import normalise
from mooncake_py.frontend.reducible import make_reducible
from mooncake_py.frontend.ssa import Draft
from mooncake_py.infer.special_methods import IN_PLACE
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Fresh,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Var,
)
from mooncake_py.iterators import PAUSED, advance
from mooncake_py.kept_iterators import Generator, Lasting, kept_iterator, watched
from mooncake_py.lowering import lower
from mooncake_py.transform.rebuild import Handler, Rebuild
from mooncake_py.transform.suspended import FINISHED, START, gives_back, keeps_place, live_after, made_early, names_of

_made: dict[tuple[Any, ...], tuple[Function, Function]] = {}
_MOST = 2000


def as_function(body: Function, code: pytypes.CodeType, globals_: dict) -> Function:
    """The function that makes the generator, for the normal form of a generator function's code, or of more known of
    it."""
    held = tuple([id(v.value) for b in body.blocks for s in b.stmts for v in s.operands() if isinstance(v, Const)])
    key = code, id(globals_), repr(body), held  # all of which the function and the class keep
    if key not in _made:
        if len(_made) >= _MOST:
            _made.clear()
        _made[key] = body, _maker(body, code, globals_)
    return _made[key][1]


def _maker(body: Function, code: pytypes.CodeType, globals_: dict) -> Function:
    resume = _Resume(body)
    cls = _class(resume, code, globals_)
    fresh = Fresh()
    params = tuple(fresh.var(p.name) for p in body.params)
    free = tuple(fresh.var(v.name) for v in body.free)
    pos = Pos(body.firstline)
    stmts: list[Call] = []

    def call(fn: object, *args: Operand, name: str | None = None) -> Var:
        out = fresh.var(name)
        stmts.append(Call(out, Const(fn), args, (), pos))
        return out

    made = call(make_object, Const(cls), name=body.name)
    call(setattr, made, Const("place"), Const(START))
    for v, x in zip((*body.free, *body.params), (*free, *params), strict=True):
        call(setattr, made, Const(resume.names[v]), x)
    for s, k in resume.early.items():
        call(setattr, made, Const(resume.names[s.out]), call(kept_iterator, params[k]))
    if resume.cleaning:
        call(watched, made)
    block = CFGBlock(fresh.block(), (), tuple(stmts), Return(made, pos))
    return Function(body.name, body.filename, params, free, (block,), "function", body.firstline)


def _class(resume: _Resume, code: pytypes.CodeType, globals_: dict) -> type[Generator]:
    """The class of the generators."""
    compiled = lower(resume.function(), argnames=("self", "sent", "thrown"), qualname=code.co_qualname)
    scope = {
        "__slots__": tuple(resume.names.values()),
        "__module__": Generator.__module__,
        "__qualname__": f"{code.co_qualname}.{next(_serial)}",  # it is no class that each run makes anew
        "resume": pytypes.FunctionType(compiled, globals_, code.co_name),
        "cleans_up": frozenset(resume.cleaning),
        "writes": frozenset(_written(resume)),
    }
    return type(code.co_name, (Lasting if resume.lasts else Generator,), scope)


def _written(resume: _Resume) -> Iterator[str]:
    """The attributes whose items are set, or those of what is looked at in them."""
    made = {s.out: s for b in resume.body.blocks for s in b.stmts}
    for s in made.values():
        v = s.args[0] if isinstance(s.fn, Const) and s.fn.value in _SET else None
        while isinstance(v, Var):
            if v in resume.names:
                yield resume.names[v]
            look = made.get(v)
            v = look.args[0] if look is not None and is_const(look.fn, operator.getitem) else None


_SET = frozenset({operator.setitem, *IN_PLACE})
_serial = itertools.count()


def _attribute(v: Var, k: int) -> str:
    """What the k-th value that is kept is called. (Python has names of its own for slots that begin as `__x`.)"""
    return f"v{k}_{v.name}" if v.name is not None and v.name.isidentifier() else f"v{k}"


@functools.cache
def cleans_up(code: pytypes.CodeType) -> bool:
    """Has a generator of this code something to do where it is closed?"""
    body = normalise(code)
    suspended = [b.handler for b in body.blocks if any(map(gives_back, b.stmts))]
    return any(h is not None and _cleans_up(body, h.target) for h in suspended)


def _cleans_up(body: Function, handler: BlockId) -> bool:
    """Does a handler do anything where a generator is closed, but see that the exception is none of its own?"""
    blocks = {b.id: b for b in body.blocks}
    defs = {s.out: s for b in body.blocks for s in b.stmts}
    at: BlockId | None = handler
    seen: set[BlockId] = set()
    while at is not None and at not in seen:
        seen.add(at)
        b = blocks[at]
        if not all(isinstance(s.fn, Const) and s.fn.value in _LOOKS for s in b.stmts):
            return True
        match b.term:
            case Goto(edge=e):
                at = e.target
            case Branch(cond=Var() as cond, orelse=e) if cond in defs and is_const(defs[cond].fn, ops.exc_match):
                if _may_be_exit(defs[cond].args[1], defs):
                    return True
                at = e.target
            case Raise(reraise=True):
                at = None if b.handler is None else b.handler.target
            case _:
                return True
    return at is not None


_LOOKS = frozenset(
    {
        *(ops.push_exc_info, ops.pop_except, ops.exc_match),
        *(ops.load_global, ops.cell_get, ops.build_tuple, getattr),
    }
)


def _may_be_exit(classes: Operand, defs: dict[Var, Call]) -> bool:
    """May one of these classes, of an `except`, be that of the exception that closes a generator?"""
    if isinstance(classes, Const):
        kinds = classes.value if isinstance(classes.value, tuple) else (classes.value,)
        return not all(isinstance(k, type) and not issubclass(GeneratorExit, k) for k in kinds)
    d = defs.get(classes)
    if d is not None and is_const(d.fn, ops.build_tuple):
        return any(_may_be_exit(v, defs) for v in d.args)
    if d is None or not any(is_const(d.fn, f) for f in (ops.load_global, ops.cell_get, getattr)):
        return True
    name = d.args[-1]
    return not isinstance(name, Const) or name.value in ("GeneratorExit", "BaseException")


class _Resume(Rebuild):
    """The function that runs to the next yield."""

    def __init__(self, body: Function):
        super().__init__()
        self.body = body
        self.handled = {s.out: s.args[0] for b in body.blocks for s in b.stmts if is_const(s.fn, ops.push_exc_info)}
        self.lasts = body.kind == "iterator"
        self.early = made_early(body) if self.lasts else {}
        self.keeping = keeps_place(body)
        self.pauses = names_of(body, PAUSED)
        early = [s.out for s in self.early]
        self.live = {v: [*early, *(x for x in live if x not in early)] for v, live in live_after(body).items()}
        self.me, self.sent, self.thrown = (self.fresh.var(name) for name in ("self", "sent", "thrown"))
        self.free = {v: self.fresh.var(v.name) for v in body.free}
        kept = dict.fromkeys([*body.params, *early])
        kept.update(dict.fromkeys(sorted({v for vs in self.live.values() for v in vs}, key=lambda v: v.id)))
        kept = {v: None for v in kept if v not in self.handled}
        self.names = {v: _attribute(v, k) for k, v in enumerate((*body.free, *kept))}
        self.resumes: list[Draft] = []
        self.cleaning: set[int] = set()  # where something is to be done when the generator is left

    def function(self) -> Function:
        body = self.body
        self.add(body)
        self.copy(body)
        self._dispatch()
        make_reducible(self.builder)
        params = self.me, self.sent, self.thrown
        return Function(body.name, body.filename, params, (), self.builder.finish(), "function", body.firstline)

    def get(self, d: Draft, pos: Pos, name: str, of: Var | None = None) -> Var:
        return self.emit(d, pos, getattr, self.me, Const(name), name=None if of is None else of.name)

    def set(self, d: Draft, pos: Pos, name: str, value: Operand) -> None:
        self.emit(d, pos, setattr, self.me, Const(name), value)

    def _dispatch(self) -> None:
        """From the entry to where the generator stands."""
        pos = Pos(self.body.firstline)
        entry, start = self.builder.entry, self.builder.new_block()
        where = self.get(entry, pos, "place")
        if not self.lasts:
            self.set(entry, pos, "place", Const(FINISHED))  # so it stays where an exception leaves it
        for v, cell in self.free.items():
            entry.stmts.append([cell, Const(getattr), (self.me, Const(self.names[v])), (), pos])
        here = entry
        for k, target in enumerate([start, *self.resumes]):
            onward = self.builder.new_block()
            self.builder.branch(here, self.emit(here, pos, operator.eq, where, Const(k)), target, onward, pos)
            here = onward
        ended = self.builder.new_block()
        self.builder.ret(ended, self.emit(ended, pos, ops.build_tuple, Const(True), Const(None)), pos)
        self._throw_or(here, pos, None, ended)
        for p in (*self.body.params, *(s.out for s in self.early)):
            self.builder.write(start, p, self.get(start, pos, self.names[p], p))
        self._throw_or(start, pos, None, self._begun(pos))

    def _begun(self, pos: Pos) -> Draft:
        """Where the generator begins; nothing can be sent to it before."""
        first = self.drafts[self.body, self.body.entry.id]
        if self.lasts:
            return first
        begun, refused = self.builder.new_block(), self.builder.new_block()
        given = self.emit(begun, pos, operator.is_not, self.sent, Const(None))
        self.builder.branch(begun, given, refused, first, pos)
        self.set(refused, pos, "place", Const(START))
        message = Const("can't send non-None value to a just-started generator")
        self.builder.raise_(refused, self.emit(refused, pos, TypeError, message), None, False, pos)
        return begun

    def _throw_or(self, d: Draft, pos: Pos, handler: Handler, onward: Draft) -> None:
        """End a block by raising what `throw` brought, or going on."""
        raises = self.builder.new_block()
        thrown = self.emit(d, pos, operator.is_not, self.thrown, Const(None))
        self.builder.branch(d, thrown, raises, onward, pos)
        if handler is not None:
            self.protect(self.body, raises, handler)
        self.builder.raise_(raises, self.thrown, None, False, pos)

    def read(self, d: Draft, v: Operand) -> Operand:
        return self.free[v] if v in self.free else super().read(d, v)

    def define(self, d: Draft, v: Var, value: Operand, pos: Pos) -> None:
        super().define(d, v, value, pos)
        if v in self.names and not self.lasts:
            self.set(d, pos, self.names[v], value)

    def leave(self, fn: Function, d: Draft, term: Return) -> None:
        pausing = self.lasts and (is_const(term.value, PAUSED) or term.value in self.pauses)
        if self.lasts and not pausing:
            self.set(d, term.pos, "place", Const(FINISHED))
        value = Const(None) if pausing else self.read(d, term.value)
        pair = self.emit(d, term.pos, ops.build_tuple, Const(True), value)
        self.builder.ret(d, pair, term.pos)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if gives_back(s) and handler is not None and _cleans_up(self.body, handler.target):
            self.cleaning.add(len(self.resumes) + 1)
        if s in self.early:
            return d
        if s in self.keeping:
            here = self.builder.new_block()
            self._keep(d, s, here)
            self.builder.goto(d, here, s.pos)
            self._read_kept(here, s)
            return here
        if is_const(s.fn, ops.yield_):
            back = self._suspend(d, self.read(d, s.args[0]), s)
            onward = self.builder.new_block()
            self._throw_or(back, s.pos, handler, onward)
            self.define(onward, s.out, self.sent, s.pos)
            return onward
        if is_const(s.fn, ops.yield_from):
            return self._delegate(fn, d, s, handler)
        if is_const(s.fn, ops.get_yield_from_iter):
            s = Call(s.out, Const(kept_iterator), s.args, (), s.pos)
        if is_const(s.fn, iter) and s.out in self.names:
            s = Call(s.out, Const(kept_iterator), s.args, s.kwargs, s.pos)
        return super().statement(fn, d, s, handler)

    def _suspend(self, d: Draft, value: Operand, s: Call) -> Draft:
        """Return the item; the block that is run when the generator is resumed.

        Exceptions that are being handled are so only while the generator runs.
        """
        back = self.builder.new_block()
        tokens = [v for v in self.live[s.out] if v in self.handled]
        self._keep(d, s, back)
        for token in reversed(tokens):
            self.emit(d, s.pos, ops.pop_except, self.read(d, token))
        self.builder.ret(d, self.emit(d, s.pos, ops.build_tuple, Const(False), value), s.pos)
        self._read_kept(back, s)
        for token in tokens:
            again = self.emit(back, s.pos, ops.push_exc_info, self.read(back, self.handled[token]))
            self.builder.write(back, token, again)
        return back

    def _keep(self, d: Draft, s: Call, back: Draft) -> None:
        """Note that the generator is to go on there, and with what."""
        self.resumes.append(back)
        self.set(d, s.pos, "place", Const(len(self.resumes)))
        for v in self.live[s.out] if self.lasts else ():
            if v not in self.handled:
                self.set(d, s.pos, self.names[v], self.read(d, v))

    def _read_kept(self, back: Draft, s: Call) -> None:
        for v in self.live[s.out]:
            if v not in self.handled:
                self.builder.write(back, v, self.get(back, s.pos, self.names[v], v))

    def _delegate(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        """`yield from`: the other's items one by one, with what `send` and `throw` bring handed on."""
        builder = self.builder
        loop, again, done = (builder.new_block() for _ in range(3))
        for key in ("sent", "thrown"):
            builder.write(d, (key, s.out), Const(None))
        builder.goto(d, loop, s.pos)
        sent, thrown = (builder.read(loop, (key, s.out)) for key in ("sent", "thrown"))
        pair = self.emit(loop, s.pos, advance, self.read(loop, s.args[0]), sent, thrown)
        if handler is not None:
            loop_end = self.after_raising(fn, loop, handler, s.pos)
        else:
            loop_end = loop
        finished = self.emit(loop_end, s.pos, operator.getitem, pair, Const(0))
        value = self.emit(loop_end, s.pos, operator.getitem, pair, Const(1))
        builder.branch(loop_end, finished, done, again, s.pos)
        resumed = self._suspend(again, value, s)
        builder.write(resumed, ("sent", s.out), self.sent)
        builder.write(resumed, ("thrown", s.out), self.thrown)
        builder.goto(resumed, loop, s.pos)
        self.define(done, s.out, value, s.pos)
        return done
