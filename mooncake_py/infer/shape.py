"""What can be read off a function before any type is known: inference asks it again and again."""

from __future__ import annotations

import builtins
import itertools
import operator
from collections import Counter
from collections.abc import Collection, Container
from functools import cached_property

from mooncake_py.closures import cell_of, default_of, receiver_of
from mooncake_py.fields import make_object, narrow
from mooncake_py.hashing import hashable
from mooncake_py.ir import ops
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Operand,
    Raise,
    Return,
    Try,
    Var,
    brings_value,
    edges,
    term_operands,
)
from mooncake_py.iterators import DictItems, DictValues


class Shape:
    """The statements of a function, by what they define, and who uses what."""

    def __init__(self, fn: Function, scope: Container[str] | None = None):
        self.fn = fn
        self.scope = scope  # the names that its module defines: others are those of builtins
        self.blocks = {b.id: b for b in fn.blocks}
        self.statements = [s for b in fn.blocks for s in b.stmts]
        self.defs: dict[Var, Call] = {s.out: s for s in self.statements}
        self.users: dict[Var, set[BlockId]] = {}  # the blocks that use it
        counts: dict[Var, int] = {}
        for b in fn.blocks:
            for v in (*[v for s in b.stmts for v in s.operands()], *term_operands(b.term)):
                if type(v) is Var:
                    self.users.setdefault(v, set()).add(b.id)
                    counts[v] = counts.get(v, 0) + 1
        loops = Counter(b.term.iterator for b in fn.blocks if isinstance(b.term, ForNext))
        # Iterators that nothing but a loop sees.
        self.looped = {v for v, n in loops.items() if isinstance(v, Var) and counts[v] == n}
        for s in self.statements if fn.calls(isinstance) else ():
            if is_const(s.fn, isinstance) and isinstance(v := s.args[0], Var):
                counts[v] -= 1  # it changes nothing
        lists = [s for s in self.statements if is_const(s.fn, ops.build_list)] if fn.calls(ops.build_list) else []
        made = [s for s in lists if counts.get(s.out) == 1]
        self.displays = {s.out for s in made}  # lists for one call
        for s in reversed(made):  # which sees the types of their items
            for v in s.args:
                if isinstance(v, Var):
                    self.users[v] |= self.users[s.out]
        of_held = fn.blocks if fn.calls(*_OF_HELD) else ()
        held = {b.id for b in of_held for s in b.stmts if type(s.fn) is Const and s.fn.value in _OF_HELD}
        for s in self.statements if held else ():
            if is_const(s.fn, ops.make_function) or is_const(s.fn, getattr):  # what these read is found by the type
                for v in s.args:
                    if isinstance(v, Var):
                        self.users[v] |= held

    @cached_property
    def joining(self) -> dict[Var, CFGBlock]:
        """What gets its value where blocks join, and the block."""
        return {p: b for b in self.fn.blocks for p in b.params}

    @cached_property
    def block_of(self) -> dict[Var, BlockId]:
        """The blocks of the statements, by what these define."""
        return {s.out: b.id for b in self.fn.blocks for s in b.stmts}

    @cached_property
    def tried(self) -> dict[BlockId, BlockId]:
        """The blocks that are bodies of a `try`, and the one that each is entered from."""
        return {b.term.body.target: b.id for b in self.fn.blocks if isinstance(b.term, Try)}

    @cached_property
    def protected(self) -> set[Var]:
        """What is made in the bodies of `try`."""
        return {s.out for b in self.tried for s in self.blocks[b].stmts}

    @cached_property
    def used_next(self) -> dict[Var, Call]:
        """What one statement makes and the next uses, and none else.

        In between, a new object may be made for what uses it, and a name be looked up.
        """
        between = (make_object, ops.load_global)
        blocks = [[s for s in b.stmts if not any(is_const(s.fn, f) for f in between)] for b in self.fn.blocks]
        pairs = [(s.out, t) for stmts in blocks for s, t in itertools.pairwise(stmts) if s.out in t.operands()]
        counts = use_counts(self.fn)
        return {v: t for v, t in pairs if counts[v] == 1}

    def makes(self, v: Var) -> bool:
        """Is it a new object, by the name it has where it is made?"""
        made = self.defs.get(v)
        return made is not None and is_const(made.fn, make_object)

    @cached_property
    def splits(self) -> int:
        """How often an operation was made into one for each option of a type."""
        return sum(is_const(s.fn, narrow) for s in self.statements)

    @cached_property
    def set_on_classes(self) -> set[str]:
        """The names of attributes that are set on, or deleted from, what may be a class: a global, the class of an
        object."""
        found: set[str] = set()
        for s in self.statements if self.fn.calls(setattr, delattr) else ():
            if (is_const(s.fn, setattr) or is_const(s.fn, delattr)) and isinstance(name := s.args[1], Const):
                made = self.defs.get(s.args[0]) if isinstance(s.args[0], Var) else None
                if isinstance(s.args[0], Const) or (made is not None and self._may_give_class(made)):
                    found.add(name.value)
        return found

    @property
    def patched(self) -> set[str]:
        """Of these, special methods, which operators look up without a name."""
        return {name for name in self.set_on_classes if name[:2] == name[-2:] == "__"}

    def _may_give_class(self, s: Call) -> bool:
        named = is_const(s.fn, ops.load_global) or (is_const(s.fn, getattr) and is_const(s.args[1], "__class__"))
        return named or self.builtin(s.fn) is type

    @cached_property
    def first_in(self) -> dict[Operand, list[Call]]:
        """The statements that have a value for their first argument."""
        found: dict[Operand, list[Call]] = {}
        for s in self.statements:
            if s.args:
                found.setdefault(s.args[0], []).append(s)
        return found

    @cached_property
    def escaping(self) -> set[Operand]:
        """Values that are used otherwise than as the callee of a call."""
        return not_only_called(self.fn)

    @cached_property
    def reads_keywords(self) -> bool:
        """Does anything read the keyword arguments of a partial, which may then be set there?"""
        return any(is_const(s.fn, getattr) and is_const(s.args[1], "keywords") for s in self.statements)

    @cached_property
    def looked_into(self) -> set[Var]:
        """The dicts of attributes that are only read: no other code gets them, and nothing is written into them but by
        `update` and as an item."""
        return self.only_read({s.out for s in self.statements if self.builtin(s.fn) is vars or _reads_dict(s)})

    def builtin(self, f: Operand) -> object:
        """The function that a callee surely is, as a constant or by the name of a builtin."""
        if isinstance(f, Const):
            return f.value if hashable(f.value) else None
        s = self.defs.get(f)
        if s is None or self.scope is None or not is_const(s.fn, ops.load_global):
            return None
        name = s.args[0].value  # type: ignore[union-attr]
        return None if name in self.scope else getattr(builtins, name, None)

    @cached_property
    def _constant_displays(self) -> dict[Var, Call]:
        """Dicts that are written down with constant names for keys and then only read."""
        found = {s.out: s for s in self.statements if is_const(s.fn, ops.build_map) and names(s) is not None}
        return {v: found[v] for v in self.only_read(set(found))}

    def shown(self, v: Operand) -> list[tuple[str, Operand]] | None:
        """The items of a dict that is written down with constant names, and then only read."""
        s = self._constant_displays.get(v) if isinstance(v, Var) else None
        return None if s is None else names(s)

    def keywords(self, v: Operand) -> list[tuple[str, Operand]] | None:
        """The items of a dict that is put together for one call, if that is of names and other such dicts."""
        d = self.defs.get(v) if isinstance(v, Var) else None
        if d is None or not is_const(d.fn, ops.build_map) or (found := names(d)) is None:
            return None
        for s in self.first_in.get(d.out, ()):
            other = s.args[1] if len(s.args) == 2 else None
            given = self._constant_displays.get(other) if isinstance(other, Var) else None
            if given is None or not is_const(s.fn, ops.dict_merge):
                return None
            found += names(given) or []
        calls = [s for s in self.statements if v in s.operands() and s.args[:1] != (v,)]
        alone = len(calls) == 1 and not any(v in term_operands(b.term) for b in self.fn.blocks)
        return found if alone and len({k for k, _ in found}) == len(found) else None

    def only_read(self, found: set[Var]) -> set[Var]:
        """Those of these dicts that nothing is done with but to look into them."""
        if not found:
            return found
        methods = {s.out: s.args[0] for s in self.statements if _reads_method(s)}
        updates = {s.out: s.args[0] for s in self.statements if _reads_method(s, "update")}
        of_attributes = {s.out for s in self.statements if self.builtin(s.fn) is vars or _reads_dict(s)}
        methods |= {m: d for m, d in updates.items() if d in of_attributes}
        for b in self.fn.blocks:
            found.difference_update(term_operands(b.term))
            for s in b.stmts:
                if is_const(s.fn, ops.dict_merge) or is_const(s.fn, ops.dict_update):
                    found.discard(s.args[0])
                elif is_const(s.fn, operator.setitem) and s.args[0] in of_attributes:
                    found.difference_update(s.args[1:])  # an attribute is set
                elif self.builtin(s.fn) not in _LOOK and s.out not in methods and s.fn not in updates.keys() & methods:
                    found.difference_update(s.operands())
        found.difference_update([d for m, d in methods.items() if m in self.escaping])
        return found

    @cached_property
    def looked_up(self) -> set[Var]:
        """The dicts that are made here of which nobody asks for the keys: no other code gets them."""
        found = {s.out for s in self.statements if self.builtin(s.fn) in _MAKE}
        if not found:
            return found
        methods = {s.out: s.args[0] for s in self.statements if _reads_method(s, *_BY_KEY)}
        for b in self.fn.blocks:
            found.difference_update(term_operands(b.term))
            for s in b.stmts:
                by_key = self.builtin(s.fn) in _LOOK_UP or s.out in methods
                found.difference_update(s.operands()[2:] if by_key else s.operands())
        found.difference_update([d for m, d in methods.items() if m in self.escaping])
        return found

    @cached_property
    def returned(self) -> list[Var]:
        return [v for b in self.fn.blocks if isinstance(b.term, Return) and isinstance(v := b.term.value, Var)]

    @cached_property
    def passed(self) -> list[tuple[Var, Var]]:
        """Values that edges pass on, and the parameters that get them."""
        found: list[tuple[Var, Var]] = []
        for b in self.fn.blocks:
            for e in edges(b.term):
                params = self.blocks[e.target].params
                if brings_value(b.term, e):
                    params = params[1:]
                found += [(a, p) for p, a in zip(params, e.args, strict=True) if isinstance(a, Var)]
        return found

    @cached_property
    def incoming(self) -> dict[Var, list[Operand]]:
        """What edges pass on to every parameter of a block."""
        found: dict[Var, list[Operand]] = {p: [] for p in self.joining}
        for b in self.fn.blocks:
            for e in edges(b.term):
                params = self.blocks[e.target].params
                for p, a in zip(params[1:] if brings_value(b.term, e) else params, e.args, strict=True):
                    found[p].append(a)
        return found

    def comes_from(self, v: Var) -> list[Operand]:
        """What may come to be in the parameter of a block; itself where a terminator gives it a value."""
        given = {p for _, p in self.brought}
        seen: dict[Operand, None] = {v: None}
        for x in (work := [v]):
            new = [] if x in given else [a for a in self.incoming.get(x, ()) if a not in seen]
            seen.update(dict.fromkeys(new))
            work += [a for a in new if isinstance(a, Var)]
        return [x for x in seen if x in given or x not in self.joining]

    @cached_property
    def brought(self) -> list[tuple[Operand | None, Var]]:
        """The parameters that a terminator gives a value itself, with what that is or is an item of, if in sight."""
        found: list[tuple[Operand | None, Var]] = []
        for b in self.fn.blocks:
            for e in edges(b.term):
                if brings_value(b.term, e):
                    p = self.blocks[e.target].params[0]
                    if isinstance(b.term, ForNext):
                        found.append((b.term.iterator, p))
                    else:
                        body = self.blocks[b.term.body.target].term if isinstance(b.term, Try) else None
                        found.append((body.exc if isinstance(body, Raise) else None, p))
        return found


_OF_HELD = (cell_of, default_of, receiver_of)

_LOOK = frozenset({iter, len, list, tuple, sorted, dict, operator.getitem, operator.contains, DictValues, DictItems})
_LOOKING = frozenset({"values", "items", "keys", "get", "copy", "__contains__", "__len__"})
"""What functions and methods do with a dict that they only look into."""


_MAKE = frozenset({ops.build_map, dict})
_LOOK_UP = frozenset(
    {
        operator.getitem,
        operator.setitem,
        operator.delitem,
        operator.contains,
        ops.map_add,
        ops.truth,
        operator.not_,
        len,
    }
)
_BY_KEY = frozenset({"values", "get", "setdefault", "pop", "clear", "__contains__", "__len__"})
"""What makes dicts, and the functions and methods by which nobody gets a key."""


def names(s: Call) -> list[tuple[str, Operand]] | None:
    """The items of a dict display whose keys are constant strings."""
    keys = [k.value for k in s.args[::2] if isinstance(k, Const) and type(k.value) is str]
    return list(zip(keys, s.args[1::2], strict=True)) if 2 * len(keys) == len(s.args) else None


def _reads_dict(s: Call) -> bool:
    return is_const(s.fn, getattr) and len(s.args) == 2 and is_const(s.args[1], "__dict__")


def _reads_method(s: Call, *names: str) -> bool:
    name = s.args[1] if is_const(s.fn, getattr) and len(s.args) == 2 else None
    return isinstance(name, Const) and name.value in (names or _LOOKING)


def only_called(fn: Function, values: set[Var], gone: Collection[Var] = ()) -> set[Var]:
    """Those of the values that are used as the callee of calls and not otherwise, once some statements are gone."""
    return values - not_only_called(fn, gone)


def not_only_called(fn: Function, gone: Collection[Var] = ()) -> set[Operand]:
    """Values that are used otherwise than as the callee of a call."""
    out: set[Operand] = set()
    for b in fn.blocks:
        for s in b.stmts:
            if s.out in gone:
                continue
            out.update(s.args)
            out.update(v for _, v in s.kwargs)
        out.update(term_operands(b.term))
        out.update(b.handler.args if b.handler is not None else ())
    return out
