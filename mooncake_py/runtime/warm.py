"""The short way for calls like the last one: the signature is compared, the two functions run, nothing else is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import registry
from mooncake_py.errors import MooncakeError
from mooncake_py.fields import ABSENT
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.brought import code_of
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.infer.results import only_numbers
from mooncake_py.infer.types import Arr, T, widen
from mooncake_py.registry import is_declared
from mooncake_py.run import Run, begin, end
from mooncake_py.runtime.filling import PLAIN, Filling
from mooncake_py.runtime.fits import Fit, fit_of
from mooncake_py.runtime.passage import UNWATCHED, Aliased, into_rule, no_fdata, out_of_rule, ways
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.unrolled import fitting, reported, spec_of
from mooncake_py.runtime.user import Seen, put_back, report, shadows_of, snapshot
from mooncake_py.sums import read_once
from mooncake_py.switches import current
from mooncake_py.transform.lanes import NUM

if TYPE_CHECKING:
    from mooncake_py.transform.derived import Kept

_NOTHING: frozenset[int] = frozenset()


class WarmCall:
    """`value_and_grad` of a plain function for one signature: arguments that the function only reads."""

    __slots__ = (
        *("active", "cell_types", "cells", "chosen", "code", "filling", "fits", "fitting", "forward", "function"),
        *("generation", "guards", "light", "n", "one", "options", "pullback", "reported", "rule", "scalar", "single"),
        *("stacks", "taken", "tree", "ways"),
    )

    def __init__(
        self,
        filling: Filling,
        rule: DerivedRule,
        args: tuple[Any, ...],
        chosen: list[int],
        cell_types: tuple[T, ...],
        single: bool,
        one: Any,
        fits: tuple[Fit, ...] | None,
        types: tuple[T, ...],
    ):
        g = filling.function
        self.filling = None if filling.plain else filling
        self.one = one  # of the class that the value had
        self.rule, self.options = rule, current()
        self.tree = rule.derived.result_tree  # that of a number, or of a pair (number, aux)
        self.function, self.code = g, g.__code__
        self.chosen = chosen
        self.cells = cells_of(g)
        self.cell_types = cell_types
        self.n = len(args)
        self.forward, self.pullback = rule.forward, rule.pullback
        self.generation, self.taken = rule.generation, rule.taken
        self.guards = tuple([(scope.get, name, value, fits) for scope, name, value, fits in rule.guards])
        self.light = self.tree == NUM and all(map(_is_small, rule.derived.kept))
        arrays = [k for k in rule.derived.kept if k.how == "pushed" and isinstance(k.type, Arr)]
        self.stacks = tuple(sorted({k.place[0] for k in arrays}))
        self.scalar, self.single = self.tree == NUM, single
        self.fits = fits  # None where no argument is a container or an object
        self.active = tuple([i in chosen or type(a) is np.ndarray for i, a in enumerate(args)])
        passed = zip(types, self.active, strict=True)
        found = [ways(t, rule.reusable) if act else UNWATCHED for t, act in passed] if fits is not None else [None]
        self.ways = None if None in found else tuple([way for way in found if way is not None])
        specs = tuple(map(spec_of, args))
        self.fitting = fitting(specs)
        self.reported = reported(specs, self.n + len(self.cells), tuple(chosen), single)

    @classmethod
    def after(
        cls,
        f: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        chosen: list[int],
        single: bool,
        one: Any,
        has_aux: bool = False,
    ) -> WarmCall | None:
        """For calls like the one that has just been made; None where they need the long way.

        `chosen` are some of `(*args, *kwargs.values())`.
        """
        filling = Filling.of(f, args, kwargs)
        if filling is None:
            return None
        g = filling.function
        if is_declared(g) or may_write_outside(g, filling.prefix, code_of((*args, *kwargs.values()))):
            return None
        args = filling.parameters(args, kwargs) or ()
        chosen = [filling.place(k) for k in chosen]
        cell_types = tuple(abstract(c, False) for c in cells_of(g))
        everything = not current().activity
        types = tuple(abstract(a, everything or i in chosen) for i, a in enumerate(args))
        rule = rule_for(g, types, cell_types, outermost=True)
        fits = None
        plain = all(type(a) is np.ndarray or type(a) in PLAIN or isinstance(a, np.generic) for a in args)
        if rule.has_lanes or not plain:
            found = [fit_of(t) for t in types]
            if everything or rule.derived.dynamic or None in found:
                return None
            fits = tuple([fit for fit in found if fit is not None])
        tree = rule.derived.result_tree
        if has_aux and rule.reusable and isinstance(tree, tuple) and len(tree) == 2:
            tree = tree[0]
        if tree != NUM or rule.derived.touched_globals or rule.derived.touched_cells:
            return None
        if any(map(filling.is_own, rule.derived.touched_args)):  # what is written to a method's object stays there
            return None
        return cls(filling, rule, args, chosen, cell_types, single, one[0] if has_aux else one, fits, types)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """The value and the gradients by the chosen arguments; None where this is not a call of the same signature.

        Nor is it where the names in the function mean something else now.
        """
        if self.filling is not None:
            args = self.filling.parameters(args, kwargs)  # type: ignore[assignment]
            if args is None:
                return None
        elif kwargs:
            return None
        if len(args) != self.n or self.function.__code__ is not self.code or current() is not self.options:
            return None
        fits = self.fits
        if fits is None:
            if not self.fitting(args):
                return None
        elif not all([fit(a) for fit, a in zip(fits, args)]):  # noqa: B905
            return None
        if self.cells and tuple([abstract(c, False) for c in self.cells]) != self.cell_types:
            return None
        if self.taken or registry.generation != self.generation:
            if not self.rule.valid():
                return None
        else:
            for get, name, value, fits_too in self.guards:  # what `valid` does, without the call
                now = get(name, ABSENT)
                if now is not value and (fits_too is None or now is ABSENT or not fits_too(now)):
                    return None
        if fits is not None:
            return self._structured(args)
        one = self.one
        outer = begin()
        try:
            if self.light:
                y, _, captures = self.forward(*args, *self.cells) if self.cells else self.forward(*args)
                ds = self.pullback(captures, one if type(y) is type(one) else type(y)(1.0))
            elif self.scalar:
                # The captures are given away: the pullback, which runs once, frees each array after its last use.
                y, _, *captures = self.forward(*args, *self.cells)
                if self.stacks:
                    captures[0] = read_once(captures[0], self.stacks)
                ds = self.pullback(captures.pop(), one if type(y) is type(one) else type(y)(1.0))
            else:
                y, fy, *captures = self.forward(*args, *self.cells)
                ds = self.pullback(captures.pop(), seed_result(self.tree, y, fy, (type(y[0])(1.0), None)))
        finally:
            end(outer)
        return y, self.reported(ds, args)

    def _structured(self, args: tuple[Any, ...]) -> tuple[Any, Any] | None:
        """The same for containers and objects: their cotangents are collected in shadows."""
        with Run() as run:
            shadows = self._shadows(args, run)
            if shadows is None:
                return None
            touched = self.rule.derived.touched_args
            saved = snapshot([args[i] for i in touched]) if touched else []
            cells = self.cells
            try:
                y, fy, *captures = self.rule.run([*args, *cells], [*shadows, *[None] * len(cells)])
            except MooncakeError:
                put_back(saved)
                raise
            if self.stacks:
                captures[0] = read_once(captures[0], self.stacks)
            one = type(y)(1.0) if self.scalar else (type(y[0])(1.0), None)
            ds = self.pullback(captures.pop(), seed_result(self.tree, y, fy, one))
        if self.ways is not None:
            ways = self.ways
            grads = out_of_rule([(ways[k][1], args[k], shadows[k], ds[k]) for k in self.chosen])
        else:
            seen = Seen()
            grads = tuple([report(args[k], shadows[k], ds[k], seen, _NOTHING) for k in self.chosen])
        return y, grads[0] if self.single else grads

    def _shadows(self, args: tuple[Any, ...], run: Run) -> Sequence[Any] | None:
        """fdata of the arguments; None where some of it is in two places."""
        if self.ways is None:
            shadows = shadows_of(args, self.active, apart=self.rule.reusable)
            return None if shadows.aliased else shadows
        try:
            return into_rule(args, [way[0] if act else no_fdata for way, act in zip(self.ways, self.active)], run)  # noqa: B905
        except Aliased:
            return None


def _is_small(kept: Kept) -> bool:
    """Is this no memory worth freeing before the pullback returns?"""
    return kept.how != "pushed" and only_numbers(widen(kept.type))
