"""Which statement made a container or an object, and what is put into it: where values come from.

Containers that are in each other share memory as a class, but a write into one of them is not one into the others.
What the statements of a function make is followed through assignments, joins, containers, cells and attributes, as far
as no code gets hold of it that is not in sight (a points-to analysis as L. O. Andersen's, by attribute names, that does
not ask in which order things are done).
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Container, Iterator, Mapping
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NamedTuple

from mooncake_py.closures import cell_of, default_of, receiver_of
from mooncake_py.fields import INITIAL, items_of, make_object, narrow, set_beside, surely
from mooncake_py.hashing import hashable
from mooncake_py.infer.lookup import MISSING, Lookup
from mooncake_py.infer.own_containers import base_of
from mooncake_py.infer.types import Arr, Dct, Fn, Inst, Known, Lst, Meth, Obj, SetOf, T, Top, Tup, is_scalar, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Raise, Var, term_operands
from mooncake_py.iterators import advance, each_key, item_within
from mooncake_py.registry import is_pure

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import CallInfo
    from mooncake_py.infer.shape import Shape

_MAKES = frozenset({ops.build_list, ops.build_map, ops.make_cell, list, dict, list.copy, dict.copy, sorted})
_MAKES |= {deque, deque.copy, OrderedDict, defaultdict}
_READS: frozenset[Any] = frozenset({operator.getitem, list, tuple, sorted, set, dict, list.copy, dict.copy, iter})
_READS |= {reversed, each_key, dict.keys, dict.values}
"""What gives something with the items of its first argument, or part of them, and does not keep that."""
_SAME = frozenset({ops.check_bound, items_of, surely, narrow})


class Origin(NamedTuple):
    """What made a value: one of the statements `made`, or (`elsewhere`) code that is not in sight.

    `held`: may it be in a container or object? `seen`: may code come to it that is not in sight, so that values from
    elsewhere may be it?
    """

    made: frozenset[Var] = frozenset()
    elsewhere: bool = True
    held: bool = True
    seen: bool = True

    def apart(self, other: Origin) -> bool:
        """Are they never the same object?"""
        if not self.made.isdisjoint(other.made):
            return False
        return not (self.elsewhere and other.seen) and not (other.elsewhere and self.seen)


ANYWHERE = Origin()


def makes_container(info: CallInfo) -> bool:
    """Is the result of this call a container that was not there before it?"""
    f = info.target
    if info.kind not in ("op", "plain", "rule") or not hashable(f):
        return False
    if f in _MAKES or (f is make_object and isinstance(t := info.types[0], Known) and base_of(t.value) is not None):
        return True
    if not info.types or not isinstance(info.types[0], Lst):
        return False
    if f is operator.getitem:
        return isinstance(t := widen(info.types[1]), Inst) and t.cls is slice
    return f is operator.mul or f is operator.add


_READ_ONE: frozenset[Any] = frozenset({operator.getitem, dict.__getitem__, dict.get, list.__getitem__, next})
"""What gives an item of its first argument; `operator.getitem` gives a part as well."""
_PAIRS: dict[Any, Callable[[int], int | None]] = {zip: lambda i: i, enumerate: lambda i: 1, dict.items: lambda i: None}
"""What gives an iterator over tuples of its own: where in them the items of its i-th argument are."""
_DICTS: frozenset[Any] = frozenset({dict, OrderedDict, defaultdict})
_HOLD: frozenset[Any] = frozenset({ops.build_tuple, ops.build_list, ops.build_map, ops.build_set, ops.make_cell})
_PUT_ONE: frozenset[Any] = frozenset({operator.setitem, dict.__setitem__, OrderedDict.__setitem__, ops.map_add})
_PUT_ONE |= {ops.cell_set, dict.setdefault, OrderedDict.setdefault, ops.list_append, list.append, list.insert}
_PUT_ONE |= {deque.append, deque.appendleft, ops.set_add}
"""What puts its last argument into its first, and runs nothing of it."""
_PUT_ALL: frozenset[Any] = frozenset({list.extend, operator.iadd, deque.extend, ops.list_extend, dict.update})
_PUT_ALL |= {ops.dict_update, ops.dict_merge}
"""What puts there what its last argument holds."""
_TAKE_OUT: frozenset[Any] = frozenset({dict.setdefault, OrderedDict.setdefault, dict.pop, OrderedDict.pop})
_TAKE_OUT |= {list.pop, deque.pop, deque.popleft}
"""What gives an item of the container that it changes, or what it is given for one, and never that container itself."""
_ATTRIBUTES: frozenset[Any] = frozenset({*INITIAL, *INITIAL.values(), set_beside})
_OF_FUNCTIONS: frozenset[Any] = frozenset({cell_of, default_of, receiver_of, ops.cell_get})
_IN_SIGHT = frozenset({"op", "plain", "rule"})
LOOK_ONLY = frozenset({f.__module__ for f in (ops.load_global, cell_of, make_object)})
"""Where the functions are that are given functions and call none of them."""

_Part = str | int | None  # an attribute, a place in a tuple, or (None) what a container holds somewhere
_Sites = int  # a set of what makes something, one bit each
_ELSEWHERE: _Sites = 1  # all that is not made here


class Allocations:
    """The origin of every value of a function.

    What is put into containers and attributes here comes out of them again: of what no code has seen that is not in
    sight it is known what it holds. `through`: of all else, too, as if nothing but what is seen here put it there.
    """

    def __init__(
        self,
        shape: Shape,
        types: Mapping[Var, T],
        calls: Mapping[Var, CallInfo],
        has_identity: Callable[[Operand], bool],
        through: bool = False,
    ):
        self.shape, self.types, self.has_identity, self.through = shape, types, has_identity, through
        self._from: dict[Operand, _Sites] = {}
        self._makers: list[Var | None] = [None]  # of every bit the statement; None where it is no value of the function
        self._made_by: dict[Var, _Sites] = {}
        self._contents: list[dict[_Part, _Sites]] = [{}]  # of every bit
        self._seen: _Sites = 0  # by code that is not in sight
        self._copies: list[tuple[Operand, Operand]] = []
        self._reads: list[tuple[Operand, Operand, _Part]] = []
        self._puts: list[tuple[Operand, _Part, Operand]] = []
        self._items: list[tuple[Operand, _Part, Operand]] = []
        self._shown: list[Operand] = []
        self._origins: dict[Operand, Origin] = {}
        self._spared: dict[tuple[_Sites, _Sites], frozenset[str]] = {}
        self._attributes: dict[_Sites, dict[str, _Sites]] = {}
        self._made_together: dict[frozenset[Var], _Sites] = {}
        for v in (*shape.fn.params, *shape.fn.free):
            self._from[v] = _ELSEWHERE
        for a, p in shape.passed:
            self._copy(p, a)
        raised = [b.term.exc for b in shape.fn.blocks if isinstance(b.term, Raise) and b.term.exc is not None]
        self._show(*raised)
        for source, p in shape.brought:
            if isinstance(source, Var) and source not in raised:
                self._read(p, source)
            else:
                self._from[p] = _ELSEWHERE
        for s in shape.statements:
            info = calls.get(s.out)
            if info is not None:
                self._statement(s, info)
        self._settle()
        self._held: _Sites = 0
        for holder in self._contents:
            for sites in holder.values():
                self._held |= sites

    def _make(self, out: Var | None = None) -> _Sites:
        """A set of one: what a statement makes, `out`, or (None) a tuple that is no value of the function so far."""
        sites = 1 << len(self._makers)
        self._makers.append(out)
        self._contents.append({})
        if out is not None:
            self._from[out] = self._made_by[out] = sites
        return sites

    def _of_tuples(self, out: Var) -> Operand:
        """A name for the tuples that an iterator which a statement makes gives."""
        each = Const(out)
        self._make(out)
        gives = self._contents[-1]
        self._from[each] = gives[None] = self._make()
        return each

    def _copy(self, out: Operand, v: Operand) -> None:
        if self.has_identity(v):
            self._copies.append((out, v))

    def _read(self, out: Operand, v: Operand, name: _Part = None) -> None:
        if self.has_identity(out):
            self._reads.append((out, v, name))

    def _put(self, where: Operand, v: Operand, name: _Part = None) -> None:
        if self.has_identity(v):
            self._puts.append((where, name, v))

    def _put_items(self, where: Operand, v: Operand, name: _Part = None) -> None:
        """What it holds."""
        if self.has_identity(v):
            self._items.append((where, name, v))

    def _show(self, *values: Operand) -> None:
        self._shown += [v for v in values if self.has_identity(v)]

    def _statement(self, s: Call, info: CallInfo) -> None:
        """What a statement copies, reads and puts where."""
        out, args, kind = s.out, info.args, info.kind
        f = info.target if hashable(info.target) else None
        named = [v for _, v in info.kwargs]
        if kind in ("dynamic", "planned") and only_iterates(s, self.shape, self._type):
            kind, f, args = "op", self._type(s.fn).value, s.args  # type: ignore[attr-defined]
        if kind == "planned":
            self._from[out] = _ELSEWHERE  # what is to stand here will say
        elif kind not in _IN_SIGHT:
            self._show(*s.operands(), *args)
            self._from[out] = _ELSEWHERE
        elif is_const(s.fn, make_object):
            self._make(out)
        elif f in _SAME or (f is ops.unpack and isinstance(info.types[0], Tup)):
            self._copy(out, args[0])
        elif f in _OF_FUNCTIONS:
            self._read(out, args[0])
        elif f in _ATTRIBUTES:
            self._put(args[0], args[2], args[1].value)  # type: ignore[union-attr]
        elif is_const(s.fn, getattr) and self._is_attribute(s):
            self._read(out, s.args[0], s.args[1].value)  # type: ignore[union-attr]
            self._read(out, s.args[0])  # of a dict that has its items as attributes
        elif f in _HOLD or (kind == "op" and isinstance(self.types.get(out), Meth)):
            self._make(out)
            for i, v in enumerate((*(args if f in _HOLD else s.args), *named)):
                self._put(out, v, i if f is ops.build_tuple else None)
        elif f in _READ_ONE and (f is not operator.getitem or _is_of_one(*info.types[:2])):
            self._show(*args[1:])  # a key, which may be asked
            self._read(out, args[0], _place(args[1]) if f is operator.getitem else None)
            for v in args[1:]:
                self._copy(out, v)
        elif f in _PAIRS:
            each = self._of_tuples(out)
            for i, v in enumerate(args):
                self._put_items(each, v, _PAIRS[f](i))
        elif f is ops.make_function:
            self._make(out)
            for v in args:
                self._put(out, v)
                self._put_items(out, v)
        elif f is defaultdict and len(args) < 2:
            # What it makes itself is told apart from all but this dict; others than classes may hand out anything.
            made = not info.types or (isinstance(t := info.types[0], Known) and isinstance(t.value, type))
            own = self._make(out)
            self._contents[-1][None] = own if made else own | _ELSEWHERE
            self._show(*args)
        elif f in _READS or f is ops.unpack or f is advance or makes_container(info):
            of_pairs = f in _DICTS and bool(args) and not isinstance(info.types[0], Dct)
            if of_pairs:
                self._from[out] = _ELSEWHERE
            else:
                self._make(out)
            if f is operator.getitem and not isinstance(info.types[0], (Lst, Tup, Dct)):
                self._copy(out, args[0])  # a part of an array is a view of it
            n = 2 if f is operator.add else 1
            for v in args[:n]:
                self._put_items(out, v)
            for v in named if f in _DICTS else ():
                self._put(out, v)
            self._show(*args[0 if of_pairs else n :], *(() if f in _DICTS else named))
        elif info.rule is not None and info.rule.mutates == (0,):
            in_one = f in _PUT_ONE and not (f is operator.setitem and not _is_of_one(*info.types[:2]))
            for v in args[1:]:
                if f not in _PUT_ALL:
                    self._put(args[0], v)
                if not in_one:
                    self._put_items(args[0], v)
                self._copy(out, v)
            self._show(*args[1 : -1 if f in _PUT_ONE or f in _PUT_ALL else None], *named)
            if f not in _TAKE_OUT:
                self._copy(out, args[0])
            self._read(out, args[0])
        else:
            look_only = getattr(f, "__module__", None) in LOOK_ONLY or is_pure(info.target)
            keeps = kind == "op" or self._may_keep(out) or (info.rule is not None and bool(info.rule.mutates))
            self._show(*[v for v in (s.fn, *args, *named) if keeps or (self._runs(v) and not look_only)])
            if self.has_identity(out):
                self._from[out] = _ELSEWHERE

    def _type(self, v: Operand) -> T:
        return Known(v.value) if isinstance(v, Const) else self.types.get(v, Top())

    def _may_keep(self, v: Var) -> bool:
        """May this hold on to what it was computed from?"""
        t = self.types.get(v)
        return self.has_identity(v) and not (isinstance(t, Arr) and t.dtype is not None and t.dtype.kind not in "OV")

    def _runs(self, v: Operand) -> bool:
        """Is it a function that a call may run?"""
        return isinstance(v, Var) and isinstance(self.types.get(v), (Fn, Meth, Top))

    def _is_attribute(self, s: Call) -> bool:
        """Is an attribute read that objects of this class have of their own, and the class has not?"""
        t, name = self.types.get(s.args[0]), s.args[1]  # type: ignore[arg-type]
        if len(s.args) > 2 or not isinstance(t, Obj) or not isinstance(name, Const) or name.value[:2] == "__":
            return False
        d = Lookup(t.cls).get(name.value, MISSING)
        return d is MISSING or type(d) is MemberDescriptorType

    def _settle(self) -> None:
        """What is put somewhere is read there, and what is seen there by others may be something else."""
        self._changed = True
        while self._changed:
            self._changed = False
            get = self._from.get
            for out, v in self._copies:
                self._add(out, get(v, 0))
            for out, v, name in self._reads:
                self._add(out, self._read_from(get(v, 0), name))
            for where, name, v in self._puts:
                self._put_at(get(where, 0), name, get(v, 0))
            for where, name, v in self._items:
                self._put_at(get(where, 0), name, self._read_from(get(v, 0), None))
            for v in self._shown:
                self._see(get(v, 0))
            if not self._changed:  # what it is not seen to hold it has from elsewhere
                for out, _, _ in self._reads:
                    self._add(out, 0 if get(out) else _ELSEWHERE)

    def _add(self, v: Operand, sites: _Sites) -> None:
        before = self._from.get(v, 0)
        if sites & ~before:
            self._from[v] = before | sites
            self._changed = True

    def _read_from(self, sites: _Sites, name: _Part) -> _Sites:
        found = sites & _ELSEWHERE
        if sites & self._seen:
            found = _ELSEWHERE
        for i in _bits(sites):
            for part, held in self._contents[i].items():
                if part == name or (_is_place(part) and _is_place(name) and (part is None or name is None)):
                    found |= held
        if self.through and found != _ELSEWHERE:
            found &= ~_ELSEWHERE
        return found

    def _put_at(self, holders: _Sites, name: _Part, sites: _Sites) -> None:
        if not sites:
            return
        for i in _bits(holders):
            parts = self._contents[i]
            before = parts.get(name, 0)
            if sites & ~before:
                parts[name] = before | sites
                self._changed = True
        if holders & (_ELSEWHERE | self._seen):
            self._see(sites)

    def _see(self, sites: _Sites) -> None:
        """Code that is not in sight comes to these, and to what they hold."""
        seen = self._seen | self._led_to(sites)
        if seen != self._seen:
            self._seen = seen
            self._changed = True

    def of(self, v: Operand) -> Origin:
        """Where v comes from."""
        known = self._origins.get(v)
        if known is None:
            known = self._origins[v] = self._origin(v)
        return known

    def spared(self, v: Operand, written: Origin) -> frozenset[str]:
        """Attributes of what v is and holds that surely do not lead to what is written to."""
        if written.seen or not written.held:
            return frozenset()
        made = self._made_together.get(written.made)
        if made is None:
            made = self._made_together[written.made] = sum([self._made_by[x] for x in written.made])
        key = self._from.get(v, 0), made
        known = self._spared.get(key)
        if known is None:
            named = self._attributes_of(key[0])
            known = self._spared[key] = frozenset([n for n, led_to in named.items() if not led_to & made])
        return known

    def _attributes_of(self, sites: _Sites) -> dict[str, _Sites]:
        """The attributes of these and of all that they hold, with all that each leads to."""
        named = self._attributes.get(sites)
        if named is None:
            held: dict[str, _Sites] = {}
            for i in _bits(self._led_to(sites)):
                for name, there in self._contents[i].items():
                    if isinstance(name, str):
                        held[name] = held.get(name, 0) | there
            named = self._attributes[sites] = {name: self._led_to(there) for name, there in held.items()}
        return named

    def _led_to(self, sites: _Sites) -> _Sites:
        """These, and all that they hold."""
        found = work = sites & ~_ELSEWHERE
        while work:
            held = 0
            for i in _bits(work):
                for parts in self._contents[i].values():
                    held |= parts
            work = held & ~found & ~_ELSEWHERE
            found |= work
        return found

    def _origin(self, v: Operand) -> Origin:
        sites = self._from.get(v)
        if not sites:
            return ANYWHERE
        makers = [self._makers[i] for i in _bits(sites)]
        elsewhere = bool(sites & _ELSEWHERE)
        seen = elsewhere or bool(sites & self._seen)
        made = frozenset([x for x in makers if x is not None])
        return Origin(made, elsewhere, seen or bool(sites & self._held), seen)


def _bits(sites: _Sites) -> Iterator[int]:
    """The places of these, elsewhere left out."""
    sites &= ~_ELSEWHERE
    while sites:
        last = sites & -sites
        yield last.bit_length() - 1
        sites ^= last


def _is_place(part: _Part) -> bool:
    """Is it where an item is (None: in any place), and no attribute?"""
    return not isinstance(part, str)


def _place(index: Operand) -> int | None:
    """Which item of a tuple this index gives, if that is known."""
    known = isinstance(index, Const) and type(index.value) is int and index.value >= 0
    return index.value if known else None  # type: ignore[union-attr]


_ITERATES = frozenset(map(id, (iter, zip, enumerate, reversed, next, item_within)))


def only_iterates(s: Call, shape: Shape, type_of: Callable[[Operand], T]) -> bool:
    """Does a call make an iterator over containers of Python and nothing else?"""
    callee = type_of(s.fn)
    if not isinstance(callee, Known) or id(callee.value) not in _ITERATES:
        return False
    for v in s.args:
        made = shape.defs.get(v) if isinstance(v, Var) else None
        t = type_of(v)
        if isinstance(t, (Top, Inst, Fn, Meth)) and not (is_scalar(t) or isinstance(t, SetOf)):
            if made is None or not only_iterates(made, shape, type_of):
                return False
    return True


def _is_of_one(t: T, index: T) -> bool:
    """Is it one item that an index gives, and not a part?"""
    return isinstance(t, Dct) or is_scalar(index)


def private_objects(shape: Shape, types: dict[Var, T], calls: dict[Var, CallInfo], writes: Container[Any]) -> set[Var]:
    """Objects that are made here and of which only attributes are read and written: no other code comes to them."""
    found = {s.out for s in shape.statements if is_const(s.fn, make_object)}
    for b in shape.fn.blocks if found else ():
        found.difference_update(term_operands(b.term))
        for s in b.stmts:
            if not found.isdisjoint(s.operands()) and not _of_attribute(s, types, calls, writes, shape.escaping):
                found.difference_update(s.operands())
            found.difference_update(s.args[1:])
    return found


def _of_attribute(
    s: Call, types: dict[Var, T], calls: dict[Var, CallInfo], writes: Container[Any], escaping: Container[Operand]
) -> bool:
    """Is an attribute of the first argument read or written, or a method of it found that is called?"""
    info = calls.get(s.out)
    if info is None:
        return False
    if info.kind == "op":
        return isinstance(types.get(s.out), Meth) and s.out not in escaping
    if is_const(s.fn, getattr):
        return info.kind in ("plain", "rule") and not is_const(s.args[1], "__dict__")  # which may be written to
    return info.kind == "rule" and info.target in writes
