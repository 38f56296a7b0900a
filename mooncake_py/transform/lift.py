"""Inner functions that call themselves, as functions of what they capture.

Such a function reaches itself, and what else it captured, through cells. Where all it does with a cell is to read it,
and nobody writes to the cell while the function runs, a call of it is the call of a function without cells that is
given the contents, or, where functions write to it, the cell: one whose types can be found, and whose rule is known
before it runs. The function that is made stays for those who do more with it than to call it. Functions that it makes
itself, generator expressions say, may capture these cells too, if they only call what is lifted: they get a cell that
holds the function without cells, given what it captured.

A generator reads what it captured later than it is called, so what changes is given to one as cells.

One behind a decorator is reached through a cell of the function that the decorator made. One behind `functools.cache`
is given the dict of what it has returned as well, if everybody only calls it. One that takes any number of arguments is
one for as many as it is given (`counted.py`).
"""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import CO_GENERATOR
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import sees_its_frame
from mooncake_py.infer.results import is_plain
from mooncake_py.infer.types import Known, T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const, map_function
from mooncake_py.ir.nodes import (
    Call,
    CFGBlock,
    Const,
    Function,
    Operand,
    Pos,
    Var,
    term_operands,
)
from mooncake_py.lowering import lower
from mooncake_py.transform.counted import counted, takes_rest
from mooncake_py.transform.fixed_cells import Cells
from mooncake_py.transform.lifted import Inner, bound_to, makes_with, only_calls, with_captured, with_memo
from mooncake_py.transform.single import without_single_params


def lift(fn: Function, globals_: dict[str, Any], types: Mapping[Var, T]) -> Function | None:
    """The function with calls of recursive inner functions as calls of functions without cells; None where none is."""
    if fn.suspends or not any(_may_recur(s) for b in fn.blocks for s in b.stmts):
        return None
    return _Lifting(without_single_params(fn), globals_, types).function()


def _may_recur(s: Call) -> bool:
    return is_const(s.fn, ops.make_function) and isinstance(s.args[4], Var)


class _Lifting(Cells):
    def __init__(self, fn: Function, globals_: dict[str, Any], types: Mapping[Var, T]):
        super().__init__(fn)
        self.globals, self.types = globals_, types
        self.inner: dict[Operand, Inner] = {}  # by the cell that holds it
        for cell in self.fixed:
            found = self._inner(cell)
            if found is not None:
                self.inner[cell] = found
        for cell, f in self.inner.items():
            if f.body.suspends:  # it reads its variables when it is asked for items
                later = {x for c in self._reached(cell) for x in self.inner[c].cells}
                self.rebound |= {c for c in later & self.fixed if c not in self.inner and not self.is_settled(c)}
            captured = {n for k in f.code.co_consts if isinstance(k, pytypes.CodeType) for n in k.co_freevars}
            shared = {c for c, n in zip(f.cells, f.code.co_freevars, strict=True) if n in captured}
            self.rebound |= {c for c in shared & self.fixed if c not in self.inner and not self.is_settled(c)}
        self.fixed -= self.rebound
        while dropped := [c for c, f in self.inner.items() if not self._only_reads(f) or not self._is_seen(c, f)]:
            for c in dropped:
                del self.inner[c]

    # -- functions --

    def _inner(self, cell: Operand) -> Inner | None:
        """The function that a cell holds, once it is bound, where that can be called without cells."""
        sets, made = self.sets.get(cell, []), self.defs[cell].args[0]
        if len(sets) > 1 or bool(sets) is not is_const(made, ops.UNBOUND):
            return None
        made = sets[0].args[1] if sets else made
        site = self.defs.get(made)
        cached = site is not None and self._puts_cache(site)
        if site is not None and (cached or self._only_names(site)):
            site = self.defs.get(site.args[0])
        if site is None or not _may_recur(site) or not isinstance(site.args[0], Const):
            return None
        code = self._counted(cell, made, site)
        if code is None:
            return None
        generates = bool(code.co_flags & CO_GENERATOR)
        plain = is_plain(code.replace(co_flags=code.co_flags & ~CO_GENERATOR)) and not (generates and cached)
        if not plain or sees_its_frame(code) or not is_const(site.args[2], None):
            return None
        closure = self.defs.get(site.args[4])
        defaults = self.constants(site.args[1])
        body = normalise(code)
        if closure is None or defaults is None or body.suspends is not generates:
            return None
        memo = self.fresh.var("memo") if cached else None
        return Inner(site, made, memo, code, body, closure.args, defaults)

    def _counted(self, cell: Operand, made: Operand, site: Call) -> pytypes.CodeType | None:
        """The code of a function that a cell holds.

        Of one that takes any number of arguments that for as many as the first call which is seen gives it: others do
        not fit then.
        """
        code: pytypes.CodeType = site.args[0].value  # type: ignore[union-attr]
        if not takes_rest(code):
            return code
        s = next(self._calls_of(cell, made), None)
        if s is None or not is_const(site.args[1], None):
            return None
        return counted(code, len(s.args), tuple([name for name, _ in s.kwargs]))

    def _calls_of(self, cell: Operand, made: Operand) -> Iterator[Call]:
        """The calls of what a cell holds, in this function and in those that capture the cell."""
        held = {s.out for s in self.defs.values() if is_const(s.fn, ops.cell_get) and s.args[0] is cell} | {made}
        yield from (s for s in self.defs.values() if s.fn in held)
        for site in self.defs.values():
            closure = self.defs.get(site.args[4]) if _may_recur(site) else None
            if closure is None or cell not in closure.args or not isinstance(site.args[0], Const):
                continue
            try:
                body = normalise(site.args[0].value)
            except UnsupportedError:
                continue
            stmts = [s for b in body.blocks for s in b.stmts]
            free = body.free[closure.args.index(cell)]
            held = {s.out for s in stmts if is_const(s.fn, ops.cell_get) and s.args[0] is free}
            yield from (s for s in stmts if s.fn in held)

    def _puts_cache(self, s: Call) -> bool:
        """Does it put a cache around a function, that keeps everything?"""
        if len(s.args) != 1 or s.kwargs:
            return False
        if self._value(s.fn) is functools.cache:
            return True
        made = self.defs.get(s.fn)
        if made is None or self._value(made.fn) is not functools.lru_cache:
            return False
        given = [*(("maxsize", v) for v in made.args), *made.kwargs]
        return len(given) == 1 and given[0][0] == "maxsize" and is_const(given[0][1], None)

    def _only_names(self, s: Call) -> bool:
        """Does it give the function that it is given, with the name of another one?"""
        made = self.defs.get(s.fn)
        return made is not None and self._value(made.fn) is functools.wraps and len(s.args) == 1 and not s.kwargs

    def _value(self, v: Operand) -> Any:
        t = Known(v.value) if isinstance(v, Const) else self.types.get(v)
        return t.value if isinstance(t, Known) else None

    def _is_seen(self, cell: Operand, f: Inner) -> bool:
        """Are all its calls seen, and is it used otherwise by nobody? What has, and calls, no cache may well be."""
        if all(self.inner[c].memo is None for c in self._reached(cell)):
            return True
        sites = {x.site.args[4] for x in self.inner.values()}
        names = {s.out for s in self.defs.values() if is_const(s.fn, ops.cell_get) and s.args[0] is cell} | {f.made}
        for b in self.fn.blocks:
            if not names.isdisjoint(term_operands(b.term)) or (b.handler and not names.isdisjoint(b.handler.args)):
                return False
            for s in b.stmts:
                given = {v for v in (*s.args, *(v for _, v in s.kwargs)) if isinstance(v, Var)}
                if not names.isdisjoint(given) and not is_const(s.fn, ops.cell_set):
                    return False
                if s.fn in names and (s.kwargs or not self._can_be_direct(cell, s)):
                    return False
                if cell in s.args and is_const(s.fn, ops.build_tuple) and s.out not in sites:
                    return False
        bodies = [(x, s) for x in self.inner.values() for b in x.body.blocks for s in b.stmts]
        held = {s.out for x, s in bodies if is_const(s.fn, ops.cell_get) and self._cell(x, s.args[0]) is cell}
        return not any(s.fn in held and s.kwargs for _, s in bodies)

    def _cell(self, f: Inner, v: Operand) -> Operand | None:
        return f.cells[f.body.free.index(v)] if v in f.body.free else None

    def _can_be_direct(self, cell: Operand, call: Call) -> bool:
        group = self._reached(cell)
        bound = [x for c in group for x in (c, *self.inner[c].cells)]
        return bound_to(self.inner[cell], call) is not None and all(self.is_bound(x, call.out) for x in bound)

    def _only_reads(self, f: Inner) -> bool:
        """Does it do no more with its cells than to read the values, and to call the functions, in them?"""
        if any(c not in self.fixed and c not in self.rebound for c in f.cells):
            return False
        held: dict[Operand, Operand] = dict(zip(f.body.free, f.cells, strict=True))
        called: dict[Operand, Inner] = {}
        for b in f.body.blocks:
            for s in b.stmts:
                if is_const(s.fn, ops.cell_get) and s.args[0] in held:
                    cell = held[s.args[0]]
                    if cell in self.inner:
                        called[s.out] = self.inner[cell]
                    elif self._holds_function(cell):
                        return False
                elif is_const(s.fn, ops.cell_set) and held.get(s.args[0]) in self.rebound and s.args[1] not in held:
                    continue
                elif any(v in held for v in s.operands()) and not self._hands_on(f, s):
                    return False
        for b in f.body.blocks:
            ends = (*term_operands(b.term), *(b.handler.args if b.handler is not None else ()))
            if any(v in called for v in ends):
                return False
            for s in b.stmts:
                if any(v in called for v in (*s.args, *(v for _, v in s.kwargs))):
                    return False
                if s.fn in called and bound_to(called[s.fn], s) is None:
                    return False
        return True

    def _hands_on(self, f: Inner, s: Call) -> bool:
        """Does this statement gather cells for functions made in f that do no more with functions in them than f?"""
        makers = [x for b in f.body.blocks for x in b.stmts if s.out in x.operands()]
        if not is_const(s.fn, ops.build_tuple) or not all(makes_with(x, s.out) for x in makers):
            return False
        for k, v in enumerate(s.args):
            cell = self._cell(f, v)
            if cell in self.inner:
                if not all(only_calls(x.args[0].value, k, self.inner[cell]) for x in makers):  # type: ignore[union-attr]
                    return False
            elif cell is not None and self._holds_function(cell):
                return False
        return True

    def _holds_function(self, cell: Operand) -> bool:
        return any(_may_recur(d) for s in self.sets.get(cell, ()) if (d := self.defs.get(s.args[1])) is not None)

    def _reached(self, cell: Operand) -> list[Operand]:
        """The cells of the functions that a call of this one may run, itself first."""
        found: list[Operand] = [cell]
        for c in found:
            found += [x for x in self.inner[c].cells if x in self.inner and x not in found]
        return found

    # -- the function with other calls --

    def function(self) -> Function | None:
        of_site: dict[Operand, Operand] = {f.made: cell for cell, f in self.inner.items()}
        memos = {f.made: f.memo for f in self.inner.values() if f.memo is not None}
        changed = False
        blocks = []
        for b in self.fn.blocks:
            stmts: list[Call] = []
            for s in b.stmts:
                cell = of_site.get(s.fn)
                got = self.defs.get(s.fn)
                if cell is None and got is not None and is_const(got.fn, ops.cell_get) and got.args[0] in self.inner:
                    cell = got.args[0] if self.is_bound(got.args[0], got.out) else None
                new = None if cell is None else self._direct(cell, s)
                changed = changed or new is not None
                if s.out in memos:  # nobody is left who asks for what has the cache
                    new = [Call(memos[s.out], Const(ops.build_map), (), (), s.pos)]
                stmts += [s] if new is None else new
            blocks.append(CFGBlock(b.id, b.params, tuple(stmts), b.term, b.handler))
        fn = self.fn
        if not changed:
            return None
        uncached = {f.made: f.site.out for f in self.inner.values()}
        whole = Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)
        return map_function(whole, lambda v: uncached.get(v, v))

    def _direct(self, cell: Operand, call: Call) -> list[Call] | None:
        """The call of a function in a cell, of one that calls itself, with what it captured as arguments."""
        group = self._reached(cell)
        args = bound_to(self.inner[cell], call)
        cached = self.inner[cell].memo is not None
        if args is None or not (cached or any(cell in self.inner[c].cells for c in group)):
            return None
        values = list(
            dict.fromkeys(self.defs[x].out for c in group for x in self.inner[c].cells if x not in self.inner)
        )
        if not all(self.is_bound(x, call.out) for x in (*values, *group) if x not in self.rebound):
            return None
        reads = {
            x: Call(self.fresh.var(), Const(ops.cell_get), (x, Const(x.name)), (), call.pos)
            for x in values
            if x not in self.rebound
        }
        f = self._lifted(group, values)
        memos = [m for c in group if (m := self.inner[c].memo) is not None]
        given = [reads[x].out if x in reads else x for x in values]
        return [*reads.values(), Call(call.out, Const(f), (*memos, *given, *args), (), call.pos)]

    def _lifted(self, group: list[Operand], values: list[Var]) -> pytypes.FunctionType:
        """The first of these functions, with the contents of these cells as its first parameters."""
        roles = [
            tuple(values.index(x) if x in values else self.inner[x].code for x in self.inner[c].cells) for c in group
        ]
        parts = [(self.inner[c], r) for c, r in zip(group, roles, strict=True)]
        told = [(f.code, f.code.co_filename, repr(f.defaults), f.memo is not None, r) for f, r in parts]
        key = id(self.globals), *told, *(x in self.rebound for x in values)
        known = _lifted.get(key)
        if known is None:
            made = {}
            for c in group:
                code = _EMPTY_GENERATOR if self.inner[c].body.suspends else _EMPTY
                made[c] = pytypes.FunctionType(code, self.globals, self.inner[c].code.co_name)
            for c, f in made.items():
                f.__code__ = self._code(self.inner[c], values, made)
                f.__qualname__ = self.inner[c].code.co_qualname
            if len(_lifted) > 5000:
                _lifted.clear()
            known = _lifted[key] = made[group[0]]
        return known

    def _code(self, f: Inner, values: Sequence[Var], made: dict[Operand, pytypes.FunctionType]) -> pytypes.CodeType:
        body = f.body
        fresh = fresh_beside(body)
        memos = {c: fresh.var("memo") for c in made if self.inner[c].memo is not None}
        contents = [fresh.var(x.name) for x in values]
        extra = [*memos.values(), *contents]
        held: dict[Operand, Operand] = dict(zip(body.free, f.cells, strict=True))
        content: dict[Operand, Operand] = dict(zip(values, contents, strict=True))
        given = {v: content[c] for v, c in held.items() if c in self.rebound}
        shared = {content[c] for c in values if c in self.rebound}
        called: dict[Operand, Operand] = {}
        dead: set[Call] = set()
        for s in (s for b in body.blocks for s in b.stmts):
            if is_const(s.fn, ops.cell_get) and s.args[0] in held:
                cell = held[s.args[0]]
                if cell in made:
                    called[s.out] = cell
                elif cell not in self.rebound:
                    given[s.out] = content[cell]
                else:
                    continue
                dead.add(s)

        def handed_on(v: Operand, pos: Pos) -> list[Call]:
            """What makes a cell with what a lifted function has in place of what was in this one, the cell last."""
            cell = held[v]
            calls: list[Call] = []

            def add(f: Any, *args: Operand, name: str | None = None) -> Var:
                calls.append(Call(fresh.var(name), Const(f), args, (), pos))
                return calls[-1].out

            whole = content.get(cell) or Const(made[cell])
            if cell in made and (extra or self.inner[cell].defaults):
                cells = [x if x in shared else add(ops.make_cell, x, name=x.name) for x in extra]
                none, code = Const(None), with_captured(made[cell], self.inner[cell], extra, shared)
                closure = add(ops.build_tuple, *cells) if cells else none
                defaults = Const(self.inner[cell].defaults or None)
                whole = add(ops.make_function, Const(code), defaults, none, none, closure)
            add(ops.make_cell, whole, name=v.name)  # type: ignore[union-attr]
            return calls

        def at(s: Call) -> list[Call]:
            if s in dead:
                return []
            if s.fn in called:
                args = bound_to(self.inner[called[s.fn]], s)
                assert args is not None
                return [Call(s.out, Const(made[called[s.fn]]), (*extra, *args), (), s.pos)]
            cells = {v: handed_on(v, s.pos) for v in s.args if v in held and v not in given}
            new = replace(s, args=tuple([cells[v][-1].out if v in cells else v for v in s.args]))
            return [*(x for calls in cells.values() for x in calls), new]

        blocks = tuple(
            CFGBlock(b.id, b.params, tuple([x for s in b.stmts for x in at(s)]), b.term, b.handler) for b in body.blocks
        )
        params = (*extra, *body.params)
        whole = Function(body.name, body.filename, params, (), blocks, body.kind, body.firstline)
        memo = next((memos[c] for c in memos if self.inner[c] is f), None)
        if memo is not None:
            whole = with_memo(whole, memo, body.params, fresh)
        return lower(map_function(whole, lambda v: given.get(v, v)), qualname=f.code.co_qualname)


_EMPTY = (lambda: None).__code__
_EMPTY_GENERATOR = (lambda: (yield)).__code__
_lifted: dict[Any, pytypes.FunctionType] = {}
