"""The checks around a derived rule: its arguments, its result, the cotangents that go in and come out."""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from mooncake_py import run
from mooncake_py.diagnostics import facts
from mooncake_py.diagnostics.mode import Mode, current
from mooncake_py.diagnostics.where import Where, describe
from mooncake_py.errors import DebugError
from mooncake_py.fields import ABSENT
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.lookup import Lookup
from mooncake_py.infer.types import T
from mooncake_py.ir.nodes import Pos
from mooncake_py.runtime.rule import DerivedRule
from mooncake_py.transform.lanes import ANY, ARR, NONE, NUM, REF, VAL, Tree


def watch_rule(rule: DerivedRule, fn: pytypes.FunctionType, inferred: Inferred, mode: Mode) -> None:
    """Put the checks around the rule's two functions."""
    watched = WatchedRule(rule, fn, inferred, mode)
    rule.forward, rule.pullback = watched.forward, watched.pullback


class WatchedRule:
    """A derived rule with its checks; what a run needs for them travels with its captures."""

    def __init__(self, rule: DerivedRule, fn: pytypes.FunctionType, inferred: Inferred, mode: Mode):
        self.rule, self.mode = rule, mode
        self.name = fn.__qualname__
        code = fn.__code__
        self.made = f"derived from {code.co_filename}:{code.co_firstlineno}"
        self.defined = Where(code.co_filename, code.co_qualname, Pos(code.co_firstlineno))
        self.inner_forward, self.inner_pullback = rule.forward, rule.pullback
        inputs = [*inferred.fn.params, *inferred.fn.free]
        self.names = [v.name or f"argument {i + 1}" for i, v in enumerate(inputs)]
        self.types: list[T] = [inferred.types[v] for v in inputs]
        self.result = inferred.result
        self.trees: Sequence[Tree] = rule.derived.arg_trees
        self.result_tree = rule.derived.result_tree
        self.touched = rule.derived.touched_args

    def fail(self, check: str, what: str, run: str, fix: str, inputs: Sequence[Any], *more: str) -> NoReturn:
        frame = current()
        where = frame.where if frame is not None and frame.where is not None else self.defined
        values = [f"{n}: {describe(x)}" for n, x in zip(self.names, inputs, strict=False)]
        raise DebugError(
            check, what,
            rule=self.name, made=self.made, statement=tuple(where.statement()), filename=where.filename,
            line=where.line, function=where.function, run=run, values=(*values, *more), fix=fix,
        )  # fmt: skip

    def forward(self, *args: Any) -> tuple[Any, Any, Any]:
        n = len(self.names)
        inputs, lanes = args[:n], args[n:]
        bound = self._guards(inputs)
        for name, x, t in zip(self.names, inputs, self.types, strict=True):
            if not facts.conforms(x, t):
                self.fail(
                    "signature",
                    f"{name} of {self.name} is {describe(x)}, but the rule was built for {facts.type_text(t)}",
                    "forward",
                    "call it with arguments of the types it was built for; if this is not your call, please report it",
                    inputs,
                )
        known = []
        for (i, path), fx in zip(self.rule.lanes, lanes, strict=True):
            x = inputs[i]
            for k in path:
                x = x[k]
            name = self.names[i] + "".join(f"[{k}]" for k in path)
            known.append((name, x, fx))
            wrong = facts.fdata_wrong(x, fx)
            if wrong is not None:
                self.fail(
                    "fdata",
                    f"the tangent of {name} of {self.name} does not fit it: {wrong}",
                    "forward",
                    "look at the rule that made this value: the fdata of its CoDual must mirror the primal",
                    inputs,
                )
        wrong = facts.alias_wrong(known)
        if wrong is not None:
            self.fail(
                "alias",
                f"aliases with different tangents go into {self.name}: {wrong}",
                "forward",
                "the rule that made one of them must give it the fdata of the other, or say alias=(...)",
                inputs,
            )
        held = [(i, inputs[i], facts.fingerprint(inputs[i])) for i in self.touched if _short(inputs[i])]
        y, fy, captures = self.inner_forward(*args)
        self._guards(inputs, bound)
        if not facts.conforms(y, self.result):
            self.fail(
                "signature",
                f"{self.name} returned {describe(y)}, but its callers were built for {facts.type_text(self.result)}",
                "forward",
                "the type inferred for its result is wrong: look at infer_table of the functions it calls",
                inputs,
            )
        wrong = None if fy is None else facts.fdata_wrong(y, fy)
        if wrong is not None:
            self.fail(
                "fdata",
                f"the tangent of the result of {self.name} does not fit it: {wrong}",
                "forward",
                "the fdata of the CoDual that a rule returns must mirror the primal",
                inputs,
                f"result: {describe(y)}",
            )
        shown = None if self.result_tree == NONE else y  # what has no derivative is the caller's alone
        return y, fy, (captures, shown, inputs, held)

    def pullback(self, captures: Any, dy: Any) -> tuple[Any, ...]:
        inner, y, inputs, held = captures
        wrong = _tree_wrong(self.result_tree, y, dy, "the result")
        if wrong is not None:
            self.fail(
                "cotangent",
                f"the cotangent that came to {self.name} does not belong to its result: {wrong}",
                "reverse",
                "look at the pullbacks of the rules that use this result: one of them returned it",
                inputs,
                f"result: {describe(y)}",
                f"cotangent: {describe(dy)}",
            )
        ds: tuple[Any, ...] = self.inner_pullback(inner, dy)
        if type(ds) is not tuple or len(ds) != len(inputs):
            self.fail(
                "count",
                f"the pullback of {self.name} returned {describe(ds)} for {len(inputs)} arguments",
                "reverse",
                "this is a fault of the engine: please report it",
                inputs,
            )
        for name, x, tree, d in zip(self.names, inputs, self.trees, ds, strict=True):
            wrong = _tree_wrong(tree, x, d, name)
            if wrong is not None:
                self.fail(
                    "returned",
                    f"the pullback of {self.name} returned a cotangent that does not belong to its argument: {wrong}",
                    "reverse",
                    "one of the rules that the function calls returned it",
                    inputs,
                )
        for i, x, mark in held:
            if mark is not None and not facts.unchanged(x, mark):
                self.fail(
                    "restored",
                    f"the pullback of {self.name} did not put back what {self.names[i]} held before the call",
                    "reverse",
                    "a rule of a function that it calls changes its argument and does not put the old content back",
                    inputs,
                )
        return ds

    def _guards(self, inputs: Sequence[Any], before: Sequence[Any] = ()) -> list[Any]:
        """The names that the rule relies on mean what they meant when it was derived.

        Gives what they are bound to. `before`: what they were bound to when the run began; what is in that, the
        run may have changed itself.
        """
        bound = [scope.get(name, ABSENT) for scope, name, _, _ in self.rule.guards]
        for i, ((scope, name, value, fits), now) in enumerate(zip(self.rule.guards, bound, strict=True)):
            if now is value or (before and now is before[i]) or (fits is not None and now is not ABSENT and fits(now)):
                continue
            if before and _was_set(scope):
                continue  # by the run, which knew of that
            self.fail(
                "guard",
                f"{self.name} was derived while {name} was {describe(value)}, now it is {describe(now)}",
                "forward",
                f"do not rebind {name} while the function runs, or pass it as an argument",
                inputs,
            )
        return bound


def _was_set(scope: Any) -> bool:
    """Did the run set a name of the class, function or module that keeps these?"""
    set_ = run.current().touched.values()
    return any(x is scope.cls if isinstance(scope, Lookup) else getattr(x, "__dict__", None) is scope for x in set_)


def _short(x: Any) -> bool:
    return x.nbytes <= 4096 if isinstance(x, np.ndarray) else type(x) in (list, dict, pytypes.CellType)


def _tree_wrong(tree: Tree, x: Any, d: Any, name: str) -> str | None:
    """Is d what travels as the rdata of x?"""
    if tree in (NONE, REF) or d is None:
        return None
    if tree in (NUM, ARR, VAL, ANY):
        return facts.cotangent_wrong(x, d, name)
    if not isinstance(d, tuple) or len(d) != len(tree):
        return f"{name}, {describe(x)}, got {describe(d)}"
    found = (_tree_wrong(t, x[i], d[i], f"{name}[{i}]") for i, t in enumerate(tree))
    return next((w for w in found if w is not None), None)
