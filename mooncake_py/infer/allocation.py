"""Which statement made a container, as far as names alone tell.

Containers that are in each other share memory as a class, but a write into one of them is not one into the others:
of a list that a statement in sight made, and that came by assignments and joins only, it is known which it is.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mooncake_py.fields import make_object, narrow, surely
from mooncake_py.infer.types import Inst, Lst, Meth, T, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var, term_operands
from mooncake_py.iterators import each_key

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import CallInfo
    from mooncake_py.infer.shape import Shape

_MAKES = frozenset({ops.build_list, ops.build_map, ops.make_cell, list, dict, list.copy, dict.copy, sorted})
_MAKES |= {deque, deque.copy, OrderedDict, defaultdict}
_READS: frozenset[Any] = frozenset({operator.getitem, dict.__getitem__, dict.get, list.__getitem__})
_READS |= {list, tuple, sorted, set, dict, list.copy, dict.copy, iter, enumerate, reversed, each_key}
_READS |= {dict.keys, dict.values, dict.items}
"""What gives an item of its first argument, or all of them, and does not keep that."""
_SAME = frozenset({ops.check_bound, surely, narrow})


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a value: one of the statements `made`, or (`elsewhere`) code that is not seen.

    `held`: may it be in a container, or known to other code, so that values from elsewhere may be it?
    """

    made: frozenset[Var] = frozenset()
    elsewhere: bool = True
    held: bool = True

    def apart(self, other: Origin) -> bool:
        """Are they never the same object?"""
        if not self.made.isdisjoint(other.made):
            return False
        return not (self.elsewhere and other.held) and not (other.elsewhere and self.held)


ANYWHERE = Origin()


def makes_container(info: CallInfo) -> bool:
    """Is the result of this call a container that was not there before it?"""
    f = info.target
    if info.kind not in ("op", "plain", "rule") or type(f).__hash__ is None:
        return False
    if f in _MAKES:
        return True
    if not info.types or not isinstance(info.types[0], Lst):
        return False
    if f is operator.getitem:
        return isinstance(t := widen(info.types[1]), Inst) and t.cls is slice
    return f is operator.mul or f is operator.add


_READ_ONE: frozenset[Any] = frozenset({operator.getitem, dict.__getitem__, dict.get, list.__getitem__})
_READ_ONE |= {dict.setdefault, OrderedDict.setdefault, dict.pop, OrderedDict.pop, list.pop, deque.pop, deque.popleft}
_PUT_LAST: frozenset[Any] = frozenset({operator.setitem, dict.__setitem__, OrderedDict.__setitem__, ops.map_add})
_PUT_LAST |= {dict.setdefault, OrderedDict.setdefault, ops.list_append, list.append, list.insert, deque.append}


class Allocations:
    """The origin of every value of a function.

    `through`: also of what is read out of containers and attributes, as if nothing but what is seen here put it there.
    """

    def __init__(
        self,
        shape: Shape,
        types: Mapping[Var, T],
        calls: Mapping[Var, CallInfo],
        has_identity: Callable[[Operand], bool],
        through: bool = False,
    ):
        self.types, self.escaping, self.has_identity = types, shape.escaping, has_identity
        given: dict[Var, list[Operand]] = {}
        elsewhere = (*shape.fn.params, *shape.fn.free, *[p for _, p in shape.brought])
        self._made: dict[Var, frozenset[Var | None]] = dict.fromkeys(elsewhere, _ELSEWHERE)
        for s in shape.statements:
            info = calls.get(s.out)
            if info is not None and info.kind == "op" and info.target in _SAME:
                given[s.out] = [info.args[0]]
            else:
                new = info is not None and makes_container(info)
                self._made[s.out] = frozenset({s.out}) if new else _ELSEWHERE
        for a, p in shape.passed:
            given.setdefault(p, []).append(a)
        self._settle(given)
        if through:
            self._look_through(shape.statements, calls, given)
        self._origins: dict[Operand, Origin] = {}
        self._held: set[Var | None] = set()
        here = {v for v, made in self._made.items() if made is not _ELSEWHERE}
        for s in shape.statements if here else ():
            info = calls.get(s.out)
            if info is None or (here.isdisjoint(info.args) and not info.kwargs):
                continue  # what comes from elsewhere is held anyway
            self._held |= self._handed_on(s, info)

    def _settle(self, given: dict[Var, list[Operand]]) -> None:
        """A join may get all that it is given."""
        made = self._made
        again = True
        while again:
            again = False
            for p, sources in given.items():
                old = made.get(p, frozenset())
                new = old.union(*[made.get(a, frozenset()) for a in sources])  # type: ignore[arg-type]
                if new != old:
                    made[p] = new
                    again = True

    def _look_through(
        self, statements: Sequence[Call], calls: Mapping[Var, CallInfo], given: dict[Var, list[Operand]]
    ) -> None:
        """Let what is read have the origin of what is put there: into containers by what made these, into attributes
        by their name."""
        puts: list[tuple[Operand, Sequence[Operand]]] = []
        reads: list[tuple[Var, Operand]] = []
        for s in statements:
            info = calls.get(s.out)
            f = None if info is None or type(info.target).__hash__ is None else info.target
            if is_const(s.fn, getattr) and self._made.get(s.out) == _ELSEWHERE:
                reads.append((s.out, s.args[1]))
            elif is_const(s.fn, setattr):
                puts.append((s.args[1], s.args[2:]))
            elif f is ops.build_list or f is ops.build_map:
                puts.append((s.out, s.args if f is ops.build_list else s.args[1::2]))
            elif info is not None and info.args:
                if f in _PUT_LAST:
                    puts.append((info.args[0], info.args[-1:]))
                if f in _READ_ONE:
                    reads.append((s.out, info.args[0]))
        contents: dict[Any, frozenset[Var | None]] = {}
        again = True
        while again:
            before = dict(self._made), dict(contents)
            for where, values in puts:
                held = frozenset().union(*[self._made.get(v, frozenset()) for v in values if isinstance(v, Var)])
                for place in self._places(where):
                    contents[place] = contents.get(place, frozenset()) | held
            for out, where in reads:
                found = frozenset().union(*[contents.get(place, frozenset()) for place in self._places(where)])
                self._made[out] = found or _ELSEWHERE
            self._settle(given)
            again = before != (self._made, contents)

    def _places(self, where: Operand) -> Iterable[Any]:
        return [where.value] if isinstance(where, Const) else self._made.get(where, frozenset()) - {None}

    def _handed_on(self, s: Call, info: CallInfo) -> set[Var | None]:
        """The statements whose containers a call may put into others, or make known to code that is not seen."""
        if info.kind == "planned":
            return set()  # what is to stand here will say
        if info.kind == "op" and isinstance(self.types.get(s.out), Meth) and s.out not in self.escaping:
            return set()  # a method that is called and nothing else
        if info.kind == "op" and info.target in _SAME:
            return set()
        args = list(info.args)
        rule = info.rule
        if info.kind in ("rule", "plain") and type(info.target).__hash__ is not None and info.target in _READS:
            args = args[1:]
        elif info.kind == "rule" and rule is not None:
            if rule.mutates:
                args = [v for i, v in enumerate(args) if i not in rule.mutates] if rule.mutates == (0,) else args
            elif not self.has_identity(s.out):
                return set()
        elif info.kind == "plain" and not self.has_identity(s.out):
            return set()
        values = (*args, *[v for _, v in info.kwargs])
        return set().union(*[self._made.get(v, ()) for v in values if isinstance(v, Var)])

    def of(self, v: Operand) -> Origin:
        """Where v comes from."""
        known = self._origins.get(v)
        if known is None:
            known = self._origins[v] = self._origin(v)
        return known

    def _origin(self, v: Operand) -> Origin:
        made = self._made.get(v, _ELSEWHERE) if isinstance(v, Var) else _ELSEWHERE
        elsewhere = None in made
        known = frozenset([x for x in made if x is not None])
        return Origin(known, elsewhere, elsewhere or not made.isdisjoint(self._held))


_ELSEWHERE: frozenset[Var | None] = frozenset({None})


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
