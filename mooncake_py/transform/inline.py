"""Taking called Python functions into the primal: comprehensions and lambdas called where they are made, and small
functions that are known by their types."""

from __future__ import annotations

import builtins
import types as pytypes
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

import numpy as np

from mooncake_py.closures import Captured, captured, kept_captured
from mooncake_py.errors import UnsupportedError
from mooncake_py.exception_groups import exception_of
from mooncake_py.fields import ABSENT, make_object
from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import sees_its_frame
from mooncake_py.infer.held import is_cell_set, is_library, is_rebound, module_of
from mooncake_py.infer.inferred import Awaited, Guard, Inferred, TakenIn
from mooncake_py.infer.lookup import is_fixed, is_function
from mooncake_py.infer.named import is_as_dict
from mooncake_py.infer.predicates import takes_all
from mooncake_py.infer.protocol import Classes, coming_back
from mooncake_py.infer.readers import engines_own
from mooncake_py.infer.resolve import class_of, is_code_like
from mooncake_py.infer.special_methods import STAND_INS
from mooncake_py.infer.types import Arr, Fn, Known, Meth, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import (
    Branch,
    Call,
    CFGBlock,
    Const,
    Function,
    Operand,
    Pos,
    Var,
    term_operands,
)
from mooncake_py.iterators import WAYS_TO_COLUMNS, thrown_into, tuple_as_list
from mooncake_py.outputs import can_be_split, writes_out
from mooncake_py.registry import at_run_time, is_declared, overlay_modules, overlay_of, rules_of, seen_through
from mooncake_py.run import ATTRIBUTES, NOTHING
from mooncake_py.transform.answered import answered, statements_left
from mooncake_py.transform.bound import bound, with_rest
from mooncake_py.transform.doubts import doubted
from mooncake_py.transform.expressions import in_line, put_before_use
from mooncake_py.transform.imports import by_full_name, is_from_beside
from mooncake_py.transform.kept import changes_nothing
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.splice import COMPREHENSIONS, splice
from mooncake_py.transform.stops import stops_seen_to
from mooncake_py.transform.suspended import keeps_place, only_yields, simple_generator
from mooncake_py.tuples import MADE_OF_LISTS

_STAND_INS: frozenset[Any] = STAND_INS | {
    ops.match_class,
    ops.match_keys,
    exception_of,
    *WAYS_TO_COLUMNS,
    *MADE_OF_LISTS,
    tuple_as_list,
}
MOST_STATEMENTS = 80  # of a callee that is taken in
MOST_AT_ONCE = 300  # where what it writes to would be unknown, or an object that it makes could not be done without
MOST_TOTAL = 1500  # of a function that others are taken into
MOST_OF_RECURSIVE = 300  # of one that comes back to itself: it is inferred again and again
MOST_BLOCKS = 100  # of one that a library's functions are taken into: it takes long to infer, and seldom runs in a loop
MOST_STANDING_IN = 6  # rule packs' functions in one another, likewise
MOST_REACHED = 6000  # bytes of code, of what functions of other modules that read tables lead to
MOST_NESTED = 16  # functions in one another: one that is given itself to call would be taken in without end


@dataclass(slots=True)
class Callee:
    """A called function that can be taken in: its body, the arguments, the tuple of its cells."""

    body: Function
    args: tuple[Operand, ...]
    closure: Operand
    owner: Any = None  # the function object, where it is one that may be changed
    decided_only: bool = False  # it may come back to what it stands for, but where the arguments answer its questions


def inline_calls(
    inferred: Inferred,
    globals_: dict,
    taken: set[pytypes.FunctionType],
    apart: Collection[pytypes.CodeType],
    most: int,
) -> Function | None:
    """The function with its calls of small Python functions taken in, None where there is none.

    Taken in are functions that do not call themselves, and those that rule packs give for functions written in C;
    `taken` collects them. Those that are kept `apart` are not.
    """
    fn = inferred.fn
    total = sum(len(b.stmts) for b in fn.blocks)
    made = {s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, make_object)}
    changed = False
    for b in list(fn.blocks):
        if b.id not in inferred.reached:
            continue
        for s in b.stmts:
            if total > most:
                continue
            found = callee_of(inferred, s, globals_)
            if found is None or (found.owner is not None and found.owner.__code__ in apart):
                continue
            n = sum(len(x.stmts) for x in found.body.blocks)
            late = found.owner is not None and inferred.calls[s.out].kind == "dynamic"
            at_once = late or (found.body.name == "__init__" and bool(s.args) and s.args[0] in made)
            if n > (MOST_AT_ONCE if at_once else MOST_STATEMENTS) or _makes_class(found.body):
                continue
            if len(fn.blocks) > MOST_BLOCKS and _branches(found):
                continue
            if found.body.suspends:
                if not (is_used_up(s.out, inferred) and only_yields(found.body)):
                    continue
                found, fn = _listed(found, inferred, globals_), put_before_use(fn, s)
            if found.owner is not None:
                taken.add(found.owner)
            at_block = next(x for x in fn.blocks if s in x.stmts)
            total += n
            fn = splice(fn, at_block, at_block.stmts.index(s), explicit(found.body), found.args, found.closure)
            changed = True
    return fn if changed else None


def _listed(generator: Callee, inferred: Inferred, globals_: dict) -> Callee:
    """A function that gives a list of a generator's items."""
    return replace(generator, body=plain_generator(generator, inferred, globals_))


def plain_generator(generator: Callee, inferred: Inferred, globals_: dict) -> Function:
    """The body of a generator that can stand where its items are asked for."""
    scope = _scope(generator, globals_)
    types = [Known(v.value) if isinstance(v, Const) else inferred.types.get(v) for v in generator.args]
    held = generator.closure
    closure = inferred.types.get(held) if isinstance(held, Var) else None
    body = map_function(generator.body, lambda v: v, keeps_place(generator.body))
    return stops_seen_to(simple_generator(body, "next" not in scope), types, closure, scope)


def _scope(f: Callee, globals_: dict) -> dict:
    return globals_ if f.owner is None else f.owner.__globals__


def _branches(found: Callee) -> bool:
    """Is it a library's, and more than a formula?"""
    return found.owner is not None and is_library(found.owner) and len(found.body.blocks) > 1


def take_in(
    inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType], classes: Classes, most: int
) -> Function | None:
    """The function with the calls taken in of which inference knows no more than that, None where there is none.

    Nothing else may be made of its types before. Functions that cannot be taken in are kept apart.
    """
    fn = inferred.fn
    total = sum(len(b.stmts) for b in fn.blocks)
    found = False
    for s in [s for b in fn.blocks for s in b.stmts]:
        info = inferred.calls.get(s.out)
        if info is None or not isinstance(info.target, TakenIn):
            continue
        found = True
        callee = _callee_of(inferred, s, globals_) if total <= most else None
        if callee is not None and callee.body.suspends:
            callee = _listed(callee, inferred, globals_) if only_yields(callee.body) else None
        n = 0 if callee is None else sum(len(x.stmts) for x in callee.body.blocks)
        if callee is not None and n > MOST_STATEMENTS:
            n = statements_left(callee.body, callee.args, inferred, _scope(callee, globals_))
        if callee is None or callee.decided_only or n > MOST_STATEMENTS or _makes_class(callee.body):
            back = callee is None and _comes_back_here(inferred, s, globals_)
            between = _without_cells(inferred, s, globals_, taken) if back else None
            classes.keep_apart(info.target.code if between is None else between, back)
            continue
        if callee.owner is not None:
            taken.add(callee.owner)
            classes.note_taken_in(callee.owner.__code__, n)
        fn = doubted(fn, inferred, s, (s.fn,))
        at_block = next(x for x in fn.blocks if s in x.stmts)
        total += n
        fn = splice(fn, at_block, at_block.stmts.index(s), explicit(callee.body), callee.args, callee.closure)
    return fn if found else None


def take_in_awaited(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType], most: int) -> Function | None:
    """The function with the calls taken in that are not known and would be decided late; None where there are none."""
    fn = inferred.fn
    total = sum(len(b.stmts) for b in fn.blocks)
    found = False
    for s in [s for b in fn.blocks for s in b.stmts]:
        info = inferred.calls.get(s.out)
        if total > most or info is None or not isinstance(info.target, Awaited):
            continue
        callee = callee_of(inferred, s, globals_)
        if callee is None or _makes_class(callee.body):
            continue
        items = callee.body.suspends
        if items:
            if not (is_used_up(s.out, inferred) and only_yields(callee.body)):
                continue
            callee = _listed(callee, inferred, globals_)
        n = sum(len(x.stmts) for x in callee.body.blocks)
        if n > MOST_STATEMENTS:
            continue
        found = True
        if callee.owner is not None:
            taken.add(callee.owner)
        t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else None
        relied = (t.receiver,) if isinstance(t, Meth) else (s.fn,)
        fn = doubted(put_before_use(fn, s) if items else fn, inferred, s, (*relied, *s.args))
        at_block = next(x for x in fn.blocks if s in x.stmts)
        total += n
        fn = splice(fn, at_block, at_block.stmts.index(s), explicit(callee.body), callee.args, callee.closure)
    return fn if found else None


def take_in_expression(inferred: Inferred, globals_: dict, over: Collection[Var]) -> Function | None:
    """The function with a generator expression over one of these taken in that is used up at once; None without one."""
    fn = inferred.fn
    for b in fn.blocks:
        for s in b.stmts:
            t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else None
            if not isinstance(t, Fn) or not any(v in over for v in s.args) or not is_used_up(s.out, inferred):
                continue
            site = next((x for c in fn.blocks for x in c.stmts if x.out is s.fn), None)
            found = None if site is None or not is_const(site.fn, ops.make_function) else _callee(site, s)
            if found is not None and found.body.suspends and only_yields(found.body):
                found, fn = _listed(found, inferred, globals_), put_before_use(fn, s)
                block = next(x for x in fn.blocks if s in x.stmts)
                return splice(fn, block, block.stmts.index(s), explicit(found.body), found.args, found.closure)
    return None


def callee_of(inferred: Inferred, s: Call, globals_: dict) -> Callee | None:
    """What a call with an active argument runs, where its code is known and may be taken into this function."""
    found = _callee_of(inferred, s, globals_)
    if found is None:
        return None
    body = answered(found.body, found.args, inferred)
    if found.decided_only and any(isinstance(b.term, Branch) for b in body.blocks):
        return None
    return replace(found, body=body)


def _callee_of(inferred: Inferred, s: Call, globals_: dict) -> Callee | None:
    info = inferred.calls.get(s.out)
    if info is not None and isinstance(info.target, Awaited):
        info = info.target.call
    if info is None or len(s.pos.calls("")) > MOST_NESTED or s.pos.deep > MOST_STANDING_IN:
        return None
    seen = info.kind in ("dynamic", "derived") or isinstance(info.target, TakenIn)
    if not seen and not (info.kind == "plain" and _is_entered(s.out, inferred)):
        return None
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    if (
        isinstance(t, Meth)
        and t.is_read_as(s.fn)
        and not is_function(t.func)
        and info.types  # none are known of arguments by name
        and not isinstance(info.types[0], Arr)
    ):
        # what an array's methods give may share its memory, which the call site looks after
        s = Call(s.out, Const(t.func), info.args, s.kwargs, s.pos)
        t = Known(t.func)
    if isinstance(t, Known) and isinstance(getattr(t.value, "__self__", None), np.ufunc):
        # a method, taken for what it is in its class by the inference, too
        ufunc, t = t.value.__self__, Known(getattr(np.ufunc, t.value.__name__))
        s = Call(s.out, Const(t.value), (Const(ufunc), *s.args), s.kwargs, s.pos)
    if isinstance(t, Known):
        f = t.value
        if isinstance(f, pytypes.FunctionType) and (f in _STAND_INS or _is_packs(f)):
            return stand_in(f, s)
        if isinstance(f, pytypes.FunctionType) and seen_through(f) is f:
            return known_callee(f, s, inferred, globals_)
        if writes_out(f, len(s.args), [k for k, _ in s.kwargs]) and can_be_split(f):
            return None  # a call without `out` and a write of what it gives are put in its place, or done when it runs
        python = overlay_of(f, len(s.args), bool(s.kwargs), [class_of(widen(t)) for t in info.types])
        if python is None or python in at_run_time or (rules_of(f) and info.target is not python):
            return None
        return stand_in(python, s)
    if isinstance(t, Fn):
        site = next((x for b in inferred.fn.blocks for x in b.stmts if x.out is s.fn), None)
        if site is not None and is_const(site.fn, ops.make_function) and not _in_closure_of_itself(site):
            return _callee(site, s)
        if t.knows_nothing:
            return _callee(t.sites[0], s)  # wherever it comes from, it knows nothing but its arguments
    return None


def _is_entered(v: Var, inferred: Inferred) -> bool:
    """Is it what a `with` statement enters, or throws into? Then what it is matters, even if it has no derivative."""
    users = inferred.memory.shape.first_in.get(v, ())
    return any(is_const(s.fn, ops.load_special) or is_const(s.fn, thrown_into) for s in users)


def _is_packs(f: pytypes.FunctionType) -> bool:
    """Is this what a rule pack's Python functions for others are made of?"""
    return f.__module__ in overlay_modules and not is_declared(f) and f not in at_run_time and not _recursive(f)


def stand_in(f: Any, call: Call) -> Callee | None:
    """A rule pack's Python function, with what its names and cells mean put in and the call's position everywhere."""
    found = bound(f, normalise(f.__code__), call, NOTHING)
    if found is None:
        return None
    body, args = found
    if any(_looked_up(made) for made in _made_in(body)):
        return None
    scope = {**vars(builtins), **f.__globals__}
    names: dict[Operand, Operand] = {}
    for s in (s for b in body.blocks for s in b.stmts):
        if is_const(s.fn, ops.load_global):
            names[s.out] = Const(scope[s.args[0].value])  # type: ignore[union-attr]
        elif is_const(s.fn, ops.cell_get) and s.args[0] in body.free:
            names[s.out] = Const(f.__closure__[body.free.index(s.args[0])].cell_contents)
        elif any(v in body.free for v in s.operands()):
            return None

    def at_call(v: Operand) -> Operand:
        return names.get(v, v)

    dead = {s for b in body.blocks for s in b.stmts if s.out in names}
    moved = map_function(body, at_call, dead)
    here = call.pos.deeper()
    blocks = tuple(_at(b, lambda _: here) for b in moved.blocks)
    return Callee(replace(moved, blocks=blocks, free=()), args, Const(()), decided_only=f.__closure__ is not None)


def _made_in(body: Function) -> list[Function]:
    """The functions that are made in it."""
    made = [s.args[0].value for b in body.blocks for s in b.stmts if is_const(s.fn, ops.make_function)]  # type: ignore[union-attr]
    return [normalise(code) for code in made]


def _looked_up(body: Function) -> set[str]:
    """The names that a function, and those that are made in it, look up in their module."""
    own = {s.args[0].value for b in body.blocks for s in b.stmts if is_const(s.fn, ops.load_global)}  # type: ignore[union-attr]
    return own.union(*map(_looked_up, _made_in(body)))


def _imports_from_beside(body: Function) -> bool:
    """Does a function, or one that is made in it, import from the package that it stands in?"""
    own = any(is_from_beside(s) for b in body.blocks for s in b.stmts)
    return own or any(map(_imports_from_beside, _made_in(body)))


def _in_closure_of_itself(site: Call) -> bool:
    """May the function made there call itself through its own closure?"""
    assert isinstance(site.args[0], Const)
    code = site.args[0].value
    return code.co_name in code.co_freevars


def known_callee(f: pytypes.FunctionType, call: Call, inferred: Inferred, globals_: dict) -> Callee | None:
    """A function that is known: one that calls neither itself nor the one that is derived, and makes no class."""
    code, fn = f.__code__, inferred.fn
    if is_declared(f) or f in at_run_time or code in coming_back or _recursive(f):
        return None
    if engines_own.get(f, f).__code__ in coming_back:
        return None
    if sees_its_frame(code):
        return None
    here = _is_here(f, fn, globals_)
    if _is_part_of(f, call.pos, fn, globals_):
        return None
    try:
        found = bound(f, normalise(code), call, inferred.wary)
    except UnsupportedError:
        return None
    if found is None:
        return None
    body, args = found
    if _makes_class(body):
        return None
    if here and f.__closure__ is None:
        return Callee(body, args, Const(()), f)
    if is_library(f) and not is_as_dict(f):
        return None
    if f.__globals__ is not globals_:
        body = _with_comprehensions(body)
        for made in _made_in(body):  # with the names of this module in place of its own
            names = _looked_up(made)
            if (names and made.name not in (*COMPREHENSIONS, "<genexpr>")) or _imports_from_beside(made):
                return None
            for name in names:
                x = f.__globals__.get(name, ABSENT)
                if globals_.get(name, ABSENT) is not x or (x is ABSENT and not hasattr(builtins, name)):
                    return None
                inferred.guards[id(f.__globals__), name] = Guard(f.__globals__, name, x)
    return _from_elsewhere(f, body, args, call, inferred, here)


def _with_comprehensions(body: Function) -> Function:
    """The body with its comprehensions taken in, as they are in the code of Python 3.12 and later."""
    made = {s.out: s for b in body.blocks for s in b.stmts if is_const(s.fn, ops.make_function)}
    called = {s.fn for b in body.blocks for s in b.stmts}
    for site in [s for v, s in made.items() if v in called and s.args[0].value.co_name in COMPREHENSIONS]:  # type: ignore[union-attr]
        body = explicit(body)
        block, at = next((b, i) for b in body.blocks for i, s in enumerate(b.stmts) if s.fn is site.out)
        callee = _callee(site, block.stmts[at])
        if callee is not None:
            body = splice(body, block, at, explicit(callee.body), callee.args, callee.closure)
            body = map_function(body, lambda v: v, {site})
    return body


def _comes_back_here(inferred: Inferred, s: Call, globals_: dict) -> bool:
    """Is it a call of the function that is derived, or of one that was taken in and that this call is part of?"""
    f = _known_function(inferred, s)
    return f is not None and _is_part_of(f, s.pos, inferred.fn, globals_)


def _known_function(inferred: Inferred, s: Call) -> pytypes.FunctionType | None:
    """The Python function that is called, or whose method is."""
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    f = t.func if isinstance(t, Meth) else t.value if isinstance(t, Known) else None
    return f if isinstance(f, pytypes.FunctionType) else None


def _without_cells(
    inferred: Inferred, s: Call, globals_: dict, taken: set[pytypes.FunctionType]
) -> pytypes.CodeType | None:
    """The code of a function without cells by way of which one with cells calls itself; None where there is none.

    What a decorator makes has no rule that is known before it runs, but the function that it calls may have one.
    """
    f = _known_function(inferred, s)
    if f is None or f.__closure__ is None:
        return None

    def is_on_the_way(g: pytypes.FunctionType) -> bool:
        return g.__closure__ is None and _within(g, s.pos, _is_here(g, inferred.fn, globals_))

    found = [engines_own.get(g, g).__code__ for g in taken if not is_library(g) and is_on_the_way(g)]
    return min(found, key=lambda code: (code.co_filename, code.co_firstlineno, code.co_name), default=None)


def _is_here(f: pytypes.FunctionType, fn: Function, globals_: dict) -> bool:
    return f.__globals__ is globals_ and f.__code__.co_filename == fn.filename


def _is_part_of(f: pytypes.FunctionType, pos: Pos, fn: Function, globals_: dict) -> bool:
    """Is this place in the body of f, which is derived, or was taken in?

    What a decorator makes is of one code: it is another one around another function.
    """

    def holds(g: pytypes.FunctionType) -> bool:
        here = _is_here(g, fn, globals_)
        return (here and _is_derived(g.__code__, fn)) or _within(g, pos, here)

    return holds(f) and (f.__closure__ is None or not (behind := _behind(f)) or any(map(holds, behind)))


def _behind(f: pytypes.FunctionType) -> list[pytypes.FunctionType]:
    """The functions without cells that are in the cells of f, or of functions there."""
    seen: list[pytypes.FunctionType] = [f]
    found: list[pytypes.FunctionType] = []
    for g in seen:
        for h in captured(g).values():
            if isinstance(h, pytypes.FunctionType) and h not in seen:
                (found if h.__closure__ is None else seen).append(h)
    return found


def _is_derived(code: pytypes.CodeType, fn: Function) -> bool:
    """Is this the code of the function that is derived, whose file it stands in?"""
    return code.co_name == fn.name and code.co_firstlineno == fn.firstline


def _name_of(f: pytypes.FunctionType) -> str:
    """What a function is called, where its code stands: all that is generated stands in one file, at the first line."""
    return f.__qualname__ if f.__code__.co_filename[:1] == "<" else f.__code__.co_name


def _within(f: pytypes.FunctionType, pos: Pos, here: bool) -> bool:
    """Is this place in the body of the code, taken in? `here`: the code is of the file it would be taken into."""
    code = f.__code__
    name = _name_of(f)
    inner = [place for p in pos.chain() for place in p.inner]
    lines = [p.line for filename, n, p in inner if filename == code.co_filename and n in (name, code.co_name)]
    if here:
        lines += [line for line, n in pos.calls("") if n == code.co_name]
    last = max((line for *_, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return any(line is not None and code.co_firstlineno <= line <= last for line in lines)


def _from_elsewhere(
    f: pytypes.FunctionType, body: Function, args: tuple[Operand, ...], call: Call, inferred: Inferred, here: bool
) -> Callee | None:
    """A function of another file, or one with cells: what its names and cells hold put in, and guarded.

    A code object has one file name: statements of another file stand at the call, and know where they are from.
    """
    scope, code = f.__globals__, f.__code__
    names: dict[Var, Operand] = {}
    guards = []
    dead: set[Call] = set()
    elsewhere: dict[Call, Call] = {}  # what means something else elsewhere, and what is put in its place
    for b in body.blocks:
        for s in b.stmts:
            if is_const(s.fn, ops.cell_get) and s.args[0] in body.free:
                i = body.free.index(s.args[0])
                cell = f.__closure__[i]  # type: ignore[index]
                if inferred.wary and is_cell_set(code.co_freevars[i]):
                    return None
                try:
                    x = cell.cell_contents
                except ValueError:
                    return None
                if not is_fixed(x) and inferred.wary:
                    return None
                if not (is_fixed(x) or isinstance(x, (float, pytypes.FunctionType))):
                    which = Const(Captured(cell)), Const(code.co_freevars[i])
                    elsewhere[s] = Call(s.out, Const(kept_captured), which, (), s.pos)
                    continue
                guards.append(Guard(Captured(cell), "", x))
            elif is_const(s.fn, ops.load_global) and not here:
                name = s.args[0].value  # type: ignore[union-attr]
                if inferred.wary and (is_rebound(scope, name) or inferred.wary >= ATTRIBUTES):
                    return None  # by constants too: what it holds is known when it runs
                if name in scope:
                    x = scope[name]
                    guards.append(Guard(scope, name, x))
                elif hasattr(builtins, name) and scope.get("__builtins__") in (builtins, vars(builtins)):
                    x = getattr(builtins, name)
                    guards.append(Guard(scope, name, ABSENT))
                else:
                    return None
                if not (is_fixed(x) or is_code_like(x) or isinstance(x, float)):
                    if (module := module_of(scope)) is None or guards.pop().value is ABSENT or leads_far(f):
                        return None
                    # Data of the module is read there: what it holds may be of other types later.
                    elsewhere[s] = Call(s.out, Const(getattr), (Const(module), Const(name)), (), s.pos)
                    continue
            elif not here and is_from_beside(s):
                if (full := by_full_name(s, scope)) is None:
                    return None
                elsewhere[s] = full
                continue
            elif any(v in body.free for v in s.operands()) or _assigns_global(s):
                return None  # a cell that is written to, or shared with a function made there
            else:
                continue
            names[s.out] = Const(x)
            dead.add(s)
    moved = map_function(body, lambda v: names.get(v, v), dead)  # type: ignore[arg-type]
    blocks = moved.blocks
    if elsewhere:
        blocks = tuple([replace(b, stmts=tuple([elsewhere.get(s, s) for s in b.stmts])) for b in blocks])
    if not here:
        blocks = tuple(_at(b, lambda p: call.pos.into(code.co_filename, _name_of(f), p)) for b in blocks)
    for g in guards:
        inferred.guards[(id(g.scope) if not isinstance(g.scope, Captured) else id(g.scope.cell), g.name)] = g
    return Callee(replace(moved, blocks=blocks, free=()), args, Const(()), f)


def leads_far(f: pytypes.FunctionType) -> bool:
    """Is there much code that a function may run, by the names of functions? It takes long to infer in every caller."""
    seen: set[pytypes.CodeType] = set()
    work, size = [f], 0
    while work and size <= MOST_REACHED:
        g = work.pop()
        if g.__code__ not in seen:
            seen.add(g.__code__)
            size += len(g.__code__.co_code)
            named = [g.__globals__.get(name) for name in g.__code__.co_names]
            work += [h for h in named if isinstance(h, pytypes.FunctionType) and not is_library(h)]
    return size > MOST_REACHED


def _assigns_global(s: Call) -> bool:
    return is_const(s.fn, ops.store_global) or is_const(s.fn, ops.delete_global)


def _at(b: CFGBlock, moved: Callable[[Pos], Pos]) -> CFGBlock:
    """A block whose statements stand elsewhere."""
    stmts = tuple([Call(s.out, s.fn, s.args, s.kwargs, moved(s.pos)) for s in b.stmts])
    return CFGBlock(b.id, b.params, stmts, replace(b.term, pos=moved(b.term.pos)), b.handler)


def _recursive(f: pytypes.FunctionType) -> bool:
    """May f, through the global functions it names, come back to itself, or to one of its kind?"""
    f = engines_own.get(f, f)
    return _comes_back(f, lambda code: code.co_names) and _comes_back(f, _globals_named)


def _comes_back(f: pytypes.FunctionType, names: Callable[[pytypes.CodeType], Iterable[str]]) -> bool:
    seen: set[pytypes.CodeType] = set()
    work = [f]
    while work:
        g = work.pop()
        called = [*[g.__globals__.get(name) for name in names(g.__code__)], *g.__code__.co_consts]
        for h in called:
            if isinstance(h, pytypes.FunctionType):
                if h.__code__ is f.__code__:
                    return True
                if h.__code__ not in seen:
                    seen.add(h.__code__)
                    work.append(h)
    return False


def _globals_named(code: pytypes.CodeType) -> Iterable[str]:
    """The names that a function looks up, and no attributes."""
    try:
        body = normalise(code)
    except UnsupportedError:
        return code.co_names
    return [s.args[0].value for b in body.blocks for s in b.stmts if is_const(s.fn, ops.load_global)]  # type: ignore[union-attr]


def inline_one(fn: Function) -> Function | None:
    """Take in one function that is called where it is made and nowhere else, if there is one."""
    if not fn.calls(ops.make_function):
        return None
    made = {s.out: s for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.make_function)}
    uses: dict[Var, int] = {}
    for b in fn.blocks:
        for s in b.stmts:
            for v in s.operands():
                if v in made:
                    uses[v] = uses.get(v, 0) + 1
        for v in term_operands(b.term):
            if v in made:
                uses[v] = uses.get(v, 0) + 2
    for b in fn.blocks:
        for i, s in enumerate(b.stmts):
            if s.fn in made and uses.get(s.fn) == 1:
                site = made[s.fn]
                callee = _callee(site, s)
                if callee is not None and not callee.body.suspends and not _makes_class(callee.body):
                    return splice(fn, b, i, explicit(callee.body), callee.args, callee.closure)
    return None


def _makes_class(body: Function) -> bool:
    """A function that is refused, where it is reached."""
    return any(is_const(s.fn, ops.load_build_class) for b in body.blocks for s in b.stmts)


def is_used_up(generator: Var, inferred: Inferred) -> bool:
    """Is the generator given to a function that takes all of it, to nothing else, and surely?"""
    uses = [(b, s) for b in inferred.fn.blocks for s in b.stmts if any(v is generator for v in s.operands())]
    if len(uses) != 1 or any(v is generator for b in inferred.fn.blocks for v in term_operands(b.term)):
        return False
    ((block, use),) = uses
    callee = inferred.types.get(use.fn) if isinstance(use.fn, Var) else Known(use.fn.value)
    if not isinstance(callee, Known) or not takes_all(callee.value, generator, use.args):
        return False
    home = next((b for b in inferred.fn.blocks if any(s.out is generator for s in b.stmts)), None)
    line = [] if home is None else in_line(inferred.fn, home, block)
    made = next((i for i, s in enumerate(line) if s.out is generator), None)
    if made is None:
        return False
    between = line[made + 1 : line.index(use)]
    return all(changes_nothing(s, inferred) for s in between)


def _callee(site: Call, call: Call) -> Callee | None:
    """The body and arguments of a call of a function made in this one, where they fit without more ado."""
    code = site.args[0]
    assert isinstance(code, Const) and isinstance(code.value, pytypes.CodeType)
    c = code.value
    n = len(call.args) - c.co_argcount
    if c.co_flags & CO_VARKEYWORDS or c.co_kwonlyargcount or call.kwargs or sees_its_frame(c):
        return None
    if n < 0 or (n > 0 and not c.co_flags & CO_VARARGS):
        return None
    return Callee(with_rest(normalise(c), c, n), call.args, site.args[4])
