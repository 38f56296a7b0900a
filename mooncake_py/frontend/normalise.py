"""Symbolic evaluation of the stack machine: bytecode becomes calls over SSA values."""

from __future__ import annotations

import builtins
import dis
import importlib
import sys
import weakref
from types import CodeType

from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.frontend.decode import BasicBlock, Handler, Region, Version, decode, falls_through, is_jump
from mooncake_py.frontend.ssa import UNBOUND, Draft, SSABuilder, can_raise
from mooncake_py.frontend.stack import NONE, Marker, Slot
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import CFGBlock, Const, Fresh, Function, Operand, Pos, Var
from mooncake_py.iterators import lasting

TRUTH = Const(ops.truth)

GENERATOR, COROUTINE, ASYNC_GENERATOR, VARARGS, VARKEYWORDS = 0x20, 0x80, 0x200, 0x04, 0x08


def _version() -> Version:
    name = f"mooncake_py.frontend.py{sys.version_info.major}{sys.version_info.minor}"
    try:
        version: Version = importlib.import_module(name).VERSION
    except ModuleNotFoundError:
        raise MooncakeError(f"Python {sys.version_info.major}.{sys.version_info.minor} is not supported") from None
    return version


def _unknown(ev: Evaluator, arg: int) -> None:
    raise MooncakeError(f"unknown opcode {dis.opname[ev.decoded.ops[ev.at]]} in {ev.code.co_filename}")


_VERSION = _version()
_HANDLERS: list[Handler] = [_VERSION.handlers.get(name, _unknown) for name in dis.opname]
_EFFECTS: dict[int, tuple[int | None, int | None]] = {}


def _effect(op: int, arg: int) -> tuple[int | None, int | None]:
    """What an instruction does to the stack's depth, falling through and jumping; None where it does not."""
    special = _VERSION.effects.get(dis.opname[op])
    oparg = arg if op >= dis.HAVE_ARGUMENT else None

    def effect(jump: bool) -> int:
        return dis.stack_effect(op, oparg, jump=jump) if special is None else special(arg)

    found = effect(False) if falls_through(op) else None, effect(True) if is_jump(op) else None
    _EFFECTS[arg << 8 | op] = found
    return found


class Site:
    """A basic block that control has been seen to reach: its draft and the stack it starts with.

    Slots below `floor` may differ between predecessors, those from there on are the handler's own.
    """

    __slots__ = ("basic", "draft", "floor", "stack")

    def __init__(self, basic: BasicBlock, draft: Draft, stack: list[Slot], floor: int):
        self.basic, self.draft, self.stack, self.floor = basic, draft, stack, floor


class Evaluator:
    """Runs the instructions of one code object symbolically; the handlers of the version tables drive it."""

    def __init__(self, code: CodeType):
        self.code = code
        self.decoded = decode(code)
        self.positions = list(code.co_positions())
        self.consts = [Const(c) for c in code.co_consts]
        self.names = [Const(n) for n in code.co_names]
        arguments = set(code.co_varnames)
        self.locals = [*code.co_varnames, *(c for c in code.co_cellvars if c not in arguments), *code.co_freevars]
        self.builder = SSABuilder(Fresh())
        self.sites: dict[int, Site] = {}
        self.work: list[Site] = []
        self.bools: set[Operand] = set()  # values whose truth runs no user code
        self.supers: set[Operand] = set()  # what the global `super` gave
        self.exceptions: set[Operand] = set()  # those that are no classes: what is handled, what calls gave
        self.bodies: set[Operand] = set()  # what makes classes
        self.keywords: tuple[str, ...] = ()
        self.at = 0
        self.block = self.builder.entry
        self.region: Region | None = None
        self.stack: list[Slot] = []
        self.checked: dict[Operand, Var] = {}
        self.jump_depth = 0
        self.ended = False

    # -- the run --

    def run(self) -> Function:
        code = self.code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & VARARGS) + bool(code.co_flags & VARKEYWORDS)
        first_free = len(self.locals) - len(code.co_freevars)
        params = tuple([Var(-1, name) for name in code.co_varnames[:count]])
        free = tuple([Var(-1, name) for name in code.co_freevars])
        defs = self.block.defs
        for k in range(count, first_free):
            defs[k] = UNBOUND
        defs.update(enumerate(params))
        defs.update(enumerate(free, first_free))
        self.goto(0)
        while self.work:
            self.evaluate(self.work.pop())
        blocks = self.builder.finish()
        _number(params + free, blocks)
        kind = "function"
        if code.co_flags & GENERATOR:
            kind = "iterator" if code in lasting else "generator"
        return Function(code.co_name, code.co_filename, params, free, blocks, kind, code.co_firstlineno)

    def evaluate(self, site: Site) -> None:
        basic = site.basic
        self.block = draft = site.draft
        self.region = basic.region
        self.checked = {}
        if draft.sealed:
            self.stack = stack = list(site.stack)
        else:
            read = self.builder.read
            self.stack = stack = [
                read(draft, ~k) if k < site.floor and not isinstance(v, Marker) else v for k, v in enumerate(site.stack)
            ]
        self.ended = False
        codes, args = self.decoded.ops, self.decoded.args
        for at in range(basic.start, basic.end):
            self.at = at
            op, arg = codes[at], args[at]
            before = len(stack)
            _HANDLERS[op](self, arg)
            falls, jumps = _EFFECTS.get(arg << 8 | op) or _effect(op, arg)
            if falls is not None and len(stack) != before + falls:
                self.depth_error(op, len(stack) - before, falls)
            if jumps is not None and self.jump_depth != before + jumps:
                self.depth_error(op, self.jump_depth - before, jumps)
        if not self.ended:
            self.goto(basic.end)

    def depth_error(self, op: int, found: int, expected: int) -> None:
        raise MooncakeError(
            f"{dis.opname[op]} changed the stack by {found} where {expected} is due, in {self.code.co_filename}, "
            f"{self.code.co_qualname}"
        )

    def refuse(self, construct: str) -> None:
        raise UnsupportedError(construct, self.code.co_filename, self.pos().line)

    # -- statements --

    def pos(self) -> Pos:
        line, end_line, col, end_col = self.positions[self.decoded.units[self.at]]
        return Pos(line, end_line, col, end_col)

    def emit(self, fn: Operand, args: tuple[Operand, ...], kwargs: tuple[tuple[str, Operand], ...] = ()) -> Var:
        """`fn(*args, **kwargs)` as a statement; its value."""
        out = Var(-1)
        self.block.stmts.append([out, fn, args, kwargs, self.pos()])
        if self.region is not None and can_raise(fn):
            self.split()
        if type(fn) is Const and fn.value in _NAMING:
            if fn.value is ops.load_build_class:
                self.bodies.add(out)
            elif fn.value is ops.load_global and args[0].value in _BUILTIN:  # type: ignore[union-attr]
                self.exceptions.add(out)  # a class that computes nothing when it is called
        elif fn not in self.bodies:
            self.exceptions.add(out)
        return out

    def may_be_class(self, value: Operand) -> bool:
        """May what is raised be a class, which Python calls without arguments?"""
        return type(value) is Var and value not in self.exceptions

    def truth(self, value: Operand) -> Operand:
        """The truth of a value, itself where finding it runs no user code."""
        if type(value) is Const or value in self.bools:
            return value
        out = self.emit(TRUTH, (value,))
        self.bools.add(out)
        return out

    def load(self, k: int) -> Operand:
        """A local variable, checked to be bound where that is not plain."""
        value = self.builder.read(self.block, k, self.locals[k])
        if value is UNBOUND or value in self.builder.joins:
            known = self.checked.get(value)
            if known is not None:
                return known
            out = self.builder.check_bound(self.block, value, self.locals[k], self.pos())
            if self.region is not None:
                self.split()
            self.checked[value] = out
            return out
        return value

    def load_raw(self, k: int) -> Operand:
        """What a local variable holds, UNBOUND included."""
        return self.builder.read(self.block, k, self.locals[k])

    def store(self, k: int, value: Operand) -> None:
        if type(value) is Var and value.name is None:
            value.name = self.locals[k]
        self.block.defs[k] = value

    def next_is(self, name: str) -> bool:
        """Is the next instruction of this name?"""
        return dis.opname[self.decoded.ops[self.at + 1]] == name

    # -- protected regions --

    def split(self) -> None:
        """End the block after a statement that may raise."""
        self.protect()
        new = self.builder.new_block()
        self.builder.goto(self.block, new, self.pos())
        new.sealed = True
        self.block = new

    def protect(self) -> None:
        """Send exceptions of the current block to the region's handler, if there is one."""
        region = self.region
        if region is None:
            return
        depth = region.depth
        site = self.sites.get(region.target)
        if site is None:
            draft = self.builder.new_block()
            own: list[Slot] = [NONE] if region.lasti else []
            own.append(self.builder.param(draft))
            site = Site(self.decoded.blocks[region.target], draft, self.stack[:depth] + own, depth)
            self.sites[region.target] = site
            self.work.append(site)
        assert site.floor == depth, "two depths for one handler"
        self.write_stack(self.stack[:depth])
        self.builder.on_exception(self.block, site.draft)

    # -- jumps --

    def write_stack(self, stack: list[Slot]) -> None:
        defs = self.block.defs
        for k, value in enumerate(stack):
            if not isinstance(value, Marker):
                defs[~k] = value

    def enter(self, index: int, stack: list[Slot]) -> Draft:
        """The draft of the block at `index`, entered with this stack."""
        site = self.sites.get(index)
        if site is None:
            basic = self.decoded.blocks[index]
            draft = self.builder.new_block()
            draft.sealed = basic.preds == 1
            site = self.sites[index] = Site(basic, draft, list(stack), len(stack))
            self.work.append(site)
        if len(site.stack) != len(stack):
            raise MooncakeError(f"stack depths differ at a join, in {self.code.co_filename}, {self.code.co_qualname}")
        if not site.draft.sealed:
            self.write_stack(stack)
        return site.draft

    def goto(self, index: int) -> None:
        target = self.enter(index, self.stack)
        self.builder.goto(self.block, target, self.pos())
        self.ended = True

    def jump(self) -> None:
        """The unconditional jump of the current instruction."""
        self.jump_depth = len(self.stack)
        self.goto(self.decoded.targets[self.at])

    def branch(self, cond: Operand, taken: bool, kept: Operand | None = None) -> None:
        """Jump to the current instruction's target where `cond` is `taken`, with `kept` on top of the stack."""
        stack = self.stack if kept is None else [*self.stack, kept]
        self.jump_depth = len(stack)
        target = self.enter(self.decoded.targets[self.at], stack)
        below = self.enter(self.at + 1, self.stack)
        then, orelse = (target, below) if taken else (below, target)
        self.builder.branch(self.block, cond, then, orelse, self.pos())
        self.ended = True

    def for_next(self, done: list[Slot]) -> None:
        """Advance the iterator on top of the stack; `done` is the stack when it is exhausted."""
        builder = self.builder
        iterator = self.stack[-1]
        assert not isinstance(iterator, Marker)
        self.jump_depth = len(done)
        exhausted = self.enter(self.decoded.targets[self.at], done)
        self.protect()
        body = builder.new_block()
        body.sealed = True
        item = builder.param(body)
        builder.for_next(self.block, iterator, body, exhausted, self.pos())
        self.block = body
        self.stack.append(item)
        self.goto(self.at + 1)

    def ret(self, value: Operand) -> None:
        self.builder.ret(self.block, value, self.pos())
        self.ended = True

    def raise_(self, exc: Operand | None, cause: Operand | None, reraise: bool = False) -> None:
        self.protect()
        self.builder.raise_(self.block, exc, cause, reraise, self.pos())
        self.ended = True


def _number(params: tuple[Var, ...], blocks: tuple[CFGBlock, ...]) -> None:
    """Give values their ids in printed order."""
    k = 0
    for v in params:
        v.id = k
        k += 1
    for block in blocks:
        for v in block.params:
            v.id = k
            k += 1
        for s in block.stmts:
            s.out.id = k
            k += 1


_NAMING = frozenset(
    {
        *(getattr, ops.load_global, ops.load_name, ops.cell_get, ops.classderef),
        *(ops.load_dict_or_global, ops.load_dict_or_deref, ops.load_build_class),
    }
)
_BUILTIN = frozenset(k for k, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException))

_cache: dict[int, tuple[weakref.ref[CodeType], Function]] = {}


def normalise(code: CodeType) -> Function:
    """The SSA form of a code object, made once; UnsupportedError names what has none."""
    key = id(code)  # equality of code objects ignores their file
    known = _cache.get(key)
    if known is not None:
        return known[1]
    if code.co_flags & (COROUTINE | ASYNC_GENERATOR):
        construct = "async def" if code.co_flags & COROUTINE else "async generator"
        raise UnsupportedError(construct, code.co_filename, code.co_firstlineno)
    function = Evaluator(code).run()
    _cache[key] = weakref.ref(code, lambda _: _cache.pop(key, None)), function
    return function
