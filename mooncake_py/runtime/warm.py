"""The short way for calls like the last one: the signature is compared, the two functions run, nothing else is made."""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np

from mooncake_py.infer.outside import may_write_outside
from mooncake_py.infer.types import T, abstract
from mooncake_py.registry import is_declared
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.user import report
from mooncake_py.switches import current
from mooncake_py.transform.lanes import NUM

_NOTHING: frozenset[int] = frozenset()
_PLAIN = frozenset({float, complex, int, bool, str, type(None)})


class WarmCall:
    """`value_and_grad` of a plain function for one signature: scalars and arrays that the function only reads."""

    __slots__ = ("cell_types", "cells", "chosen", "code", "function", "n", "options", "rule", "specs", "tree")

    def __init__(
        self,
        g: pytypes.FunctionType,
        rule: DerivedRule,
        args: tuple[Any, ...],
        chosen: list[int],
        cell_types: tuple[T, ...],
    ):
        self.rule, self.options = rule, current()
        self.tree = rule.derived.result_tree  # that of a number, or of a pair (number, aux)
        self.function, self.code = g, g.__code__
        self.chosen = chosen
        self.cells = cells_of(g)
        self.cell_types = cell_types
        self.n = len(args)
        self.specs = [
            (i, type(a), a.dtype, a.ndim) if type(a) is np.ndarray else (i, type(a), None, 0)
            for i, a in enumerate(args)
        ]

    @classmethod
    def after(cls, g: Any, args: tuple[Any, ...], chosen: list[int], has_aux: bool = False) -> WarmCall | None:
        """For calls like the one that has just been made; None where they need the long way."""
        if type(g) is not pytypes.FunctionType or len(args) != g.__code__.co_argcount:
            return None
        code = g.__code__
        if is_declared(g) or may_write_outside(g):
            return None
        if code.co_kwonlyargcount or code.co_flags & 0x0C:
            return None
        if not all(type(a) is np.ndarray or type(a) in _PLAIN or isinstance(a, np.generic) for a in args):
            return None
        cell_types = tuple(abstract(c, False) for c in cells_of(g))
        everything = not current().activity
        rule = rule_for(g, tuple(abstract(a, everything or i in chosen) for i, a in enumerate(args)), cell_types)
        tree = rule.derived.result_tree
        if has_aux and rule.reusable and isinstance(tree, tuple) and len(tree) == 2:
            tree = tree[0]
        if rule.has_lanes or tree != NUM or rule.derived.touched_globals or rule.derived.touched_cells:
            return None
        return cls(g, rule, args, chosen, cell_types)

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Is this a call of the same signature, and do the names in the function still mean the same?"""
        if len(args) != self.n or self.function.__code__ is not self.code or current() is not self.options:
            return False
        for i, cls, dtype, ndim in self.specs:
            a = args[i]
            if type(a) is not cls or (
                dtype is not None and (a.ndim != ndim or (a.dtype is not dtype and a.dtype != dtype))
            ):
                return False
        if self.cells and tuple(abstract(c, False) for c in self.cells) != self.cell_types:
            return False
        return self.rule.valid()

    def run(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The value and the gradients by the chosen arguments."""
        rule = self.rule
        # The captures are given away: the pullback, which runs once, frees each array after its last use.
        y, fy, *captures = rule.forward(*args, *self.cells)
        if self.tree == NUM:
            ds = rule.pullback(captures.pop(), 1.0 if type(y) is float else type(y)(1.0))
        else:
            ds = rule.pullback(captures.pop(), seed_result(self.tree, y, fy, (type(y[0])(1.0), None)))
        out = []
        seen: dict[int, Any] = {}
        for k in self.chosen:
            x = args[k]
            out.append(float(ds[k]) if type(x) is float else report(x, None, ds[k], seen, _NOTHING))
        return y, out
