"""Dicts that are put together out of others, `f(**options)` and `{**options, "k": 1}`, as displays of their items.

The keys of a dict are known from where it is made with constant names, as long as nothing is done with it but to read,
set and take out items by such names: what a wrapper does with its `**kwargs` before it hands them on.
"""

from __future__ import annotations

import operator
from dataclasses import replace

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.shape import Shape, names
from mooncake_py.ir import ops
from mooncake_py.ir.graph import predecessors, rpo
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Function,
    Operand,
    Pos,
    Try,
    Var,
    term_operands,
)
from mooncake_py.transform.answered import with_answers

_LOOKS = (operator.getitem, len)
_PLAIN = frozenset({bool, int, float, str, type(None)})
Keys = dict[Operand, dict[str, None]]


def unite(inferred: Inferred) -> Function | None:
    """The function with such dicts as displays, and without questions to them; None where there are none."""
    fn = inferred.fn
    if not fn.calls(ops.dict_merge, ops.dict_update):
        return None
    return _Uniting(fn, inferred.memory.shape).function()


class _Uniting:
    def __init__(self, fn: Function, shape: Shape):
        self.fn, self.shape = fn, shape
        self.fresh = fresh_beside(fn)
        # The methods that are looked up, wherever they are called then.
        looked_up = [s for s in shape.statements if is_const(s.fn, getattr) and isinstance(s.args[1], Const)]
        self.methods = {s.out: (s.args[0], s.args[1].value) for s in looked_up if len(s.args) == 2}  # type: ignore[union-attr]
        self.known: dict[Operand, Operand] = {}  # what is known instead of the results of statements
        self.changed = False

    def function(self) -> Function | None:
        """Blocks are gone through until what is known where they begin is what is known where others lead to them."""
        preds = predecessors(self.fn)
        handlers = {b.term.handler.target for b in self.fn.blocks if isinstance(b.term, Try)}
        by_id, order = self.shape.blocks, rpo(self.fn.blocks)
        ends: dict[BlockId, Keys] = {}
        while True:
            before = dict(ends)
            self.known, self.changed = {}, False
            blocks: dict[BlockId, CFGBlock] = {}
            for i in order:
                b = by_id[i]
                seen = [ends[p] for p in preds[b.id] if p in ends]
                same = {} if b.id in handlers or not seen else seen[0]
                self.keys = {d: k for d, k in same.items() if all(d in end and [*end[d]] == [*k] for end in seen)}
                blocks[b.id] = self._block(b)
                ends[b.id] = self.keys
            if before == ends:
                break
        if not self.changed:
            return None
        fn = replace(self.fn, blocks=tuple([blocks.get(b.id, b) for b in self.fn.blocks]))
        return with_answers(fn, self.known, set())

    def _block(self, b: CFGBlock) -> CFGBlock:
        self.keys = {d: dict(keys) for d, keys in self.keys.items()}
        self.out: list[Call] = []
        self.unseen: dict[Operand, list[tuple[str, Operand]]] = {}  # displays that nothing but unions has seen yet
        for s in b.stmts:
            if not self._step(s):
                self.out.append(s)
        self._drop(term_operands(b.term))
        return replace(b, stmts=tuple(self.out))

    def _step(self, s: Call) -> bool:
        """Take note of what a statement does to the dicts; is it replaced?"""
        if is_const(s.fn, ops.build_map) and (items := names(s)) is not None:
            self._drop(s.operands())
            self.keys[s.out] = dict.fromkeys([k for k, _ in items])
            self.unseen[s.out] = items
            return False
        d = s.args[0] if s.args else None
        of_two = is_const(s.fn, ops.dict_merge) or is_const(s.fn, ops.dict_update)
        if of_two and d in self.keys and d is not s.args[1]:
            return self._union(s, is_const(s.fn, ops.dict_merge))
        self.unseen = {v: items for v, items in self.unseen.items() if v not in s.operands()}
        done = None
        asks = is_const(s.fn, operator.not_) or is_const(s.fn, ops.truth)
        asked = self.known.get(d, d) if asks and d is not None else None
        if isinstance(asked, Const) and type(asked.value) in _PLAIN:
            return self._is(s, Const(bool(asked.value) is is_const(s.fn, ops.truth)))
        if s.fn in self.methods:
            of, method = self.methods[s.fn]
            done = self._by_method(s, of, method) if of in self.keys else None
        elif d in self.keys and not s.kwargs:
            done = self._by_name(s, d, s.args[1:])
        elif self.shape.builtin(s.fn) is dict:
            done = self._copy(s, s.args)
        if done is None:
            self._drop(s.operands())
        return bool(done)

    def _drop(self, operands: tuple[Operand, ...] | list[Operand]) -> None:
        """Other code may get the dicts now."""
        for v in operands:
            self.keys.pop(self.methods[v][0] if v in self.methods else v, None)

    def _emit(self, pos: Pos, f: object, *args: Operand) -> Var:
        out = self.fresh.var()
        self.out.append(Call(out, Const(f), args, (), pos))
        return out

    def _is(self, s: Call, value: Operand) -> bool:
        self.known[s.out] = self.known.get(value, value)
        self.changed = True
        return True

    def _by_name(self, s: Call, d: Operand, rest: tuple[Operand, ...]) -> bool | None:
        """What is done with a dict itself; None where the keys are not known any more."""
        if is_const(s.fn, operator.or_):
            return self._copy(s, s.args)
        if any(v in self.keys or v in self.methods for v in rest):
            return None
        if s.out in self.methods or any(is_const(s.fn, f) for f in _LOOKS):
            return False
        if is_const(s.fn, ops.truth):
            return self._is(s, Const(bool(self.keys[d])))
        k = _name(rest[0]) if rest else None
        if k is None:
            return None
        if is_const(s.fn, operator.contains):
            return self._is(s, Const(k in self.keys[d]))
        if is_const(s.fn, operator.setitem):
            self.keys[d][k] = None
            return False
        if is_const(s.fn, operator.delitem) and k in self.keys[d]:
            del self.keys[d][k]
            return False
        return None

    def _by_method(self, s: Call, d: Operand, method: str) -> bool | None:
        """The call of a method of a dict; None where the keys are not known any more."""
        if method == "copy" and not s.args and not s.kwargs:
            return self._copy(s, (d,))
        if method == "update":
            given = self._given(s.args)
            if given is not None:
                self.keys[d] |= dict.fromkeys([*given, *(k for k, _ in s.kwargs)])
            return None if given is None else False
        k = _name(s.args[0]) if s.args else None
        default: Operand = s.args[1] if len(s.args) == 2 else Const(None)
        if k is None or len(s.args) > 2 or s.kwargs or default in self.keys or default in self.methods:
            return None
        if method in ("get", "setdefault") and k in self.keys[d]:
            return self._is(s, self._emit(s.pos, operator.getitem, d, Const(k)))
        if method == "get":
            return self._is(s, default)
        if method == "setdefault":
            self._emit(s.pos, operator.setitem, d, Const(k), default)
            self.keys[d][k] = None
            return self._is(s, default)
        if method == "pop" and k in self.keys[d]:
            item = self._emit(s.pos, operator.getitem, d, Const(k))
            self._emit(s.pos, operator.delitem, d, Const(k))
            del self.keys[d][k]
            return self._is(s, item)
        if method == "pop" and len(s.args) == 2:
            return self._is(s, default)
        return None

    def _given(self, dicts: tuple[Operand, ...]) -> list[str] | None:
        """The keys of these dicts; None where they are not known."""
        found: list[str] = []
        for d in dicts:
            shown = self.shape.shown(d) if d not in self.keys else None
            if shown is None and d not in self.keys:
                return None
            found += self.keys[d] if shown is None else [k for k, _ in shown]
        return found

    def _items(self, s: Call, d: Operand) -> list[tuple[str, Operand]]:
        """The items of a dict of which the keys are known, as they are now."""
        if d not in self.keys:
            return self.shape.shown(d) or []
        return [(k, self._emit(s.pos, operator.getitem, d, Const(k))) for k in self.keys[d]]

    def _copy(self, s: Call, dicts: tuple[Operand, ...]) -> bool | None:
        """`dict(a, k=1)` and `a | b`: the display of the items."""
        if len(dicts) > 2 or self._given(dicts) is None:
            return None
        self._show(s, dict([x for d in dicts for x in self._items(s, d)]) | dict(s.kwargs))
        return True

    def _show(self, s: Call, items: dict[str, Operand]) -> None:
        """The display of these items for what statement s makes."""
        self._drop([*items.values()])
        words = [x for k, v in items.items() for x in (Const(k), v)]
        self.out.append(Call(s.out, Const(ops.build_map), tuple(words), (), s.pos))
        self.keys[s.out] = dict.fromkeys(items)
        self.unseen[s.out] = [*items.items()]
        self.changed = True

    def _union(self, s: Call, once: bool) -> bool:
        """`{**other}` in a display: where nothing has seen that yet, the display with these items too."""
        d, other = s.args
        given = self._given((other,))
        if given is None or (once and not self.keys[d].keys().isdisjoint(given)):  # or it raises
            self._drop(s.operands())
            return False
        items = self.unseen.pop(d, None)
        self.unseen.pop(other, None)
        self.keys[d] |= dict.fromkeys(given)
        if items is None:
            return False
        made = self.out.pop(next(i for i in reversed(range(len(self.out))) if self.out[i].out is d))
        self._show(made, dict([*items, *self._items(s, other)]))
        return True


def _name(v: Operand) -> str | None:
    return v.value if isinstance(v, Const) and type(v.value) is str else None
