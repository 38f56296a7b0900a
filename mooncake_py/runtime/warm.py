"""The short way for calls like the last one: the signature is compared, the two functions run, nothing else is made."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import registry
from mooncake_py.errors import MooncakeError
from mooncake_py.fields import ABSENT, one_like
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.also_outside import Outside
from mooncake_py.infer.brought import code_of
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.infer.results import only_numbers
from mooncake_py.infer.types import Arr, T, widen
from mooncake_py.registry import is_declared
from mooncake_py.run import Run
from mooncake_py.run import current as current_run
from mooncake_py.runtime.aliases import with_aliases
from mooncake_py.runtime.arguments import shadows_of
from mooncake_py.runtime.filling import PLAIN, Filling
from mooncake_py.runtime.fits import Fit, fit_of
from mooncake_py.runtime.passage import UNWATCHED, Aliased, into_rule, no_fdata, out_of_rule, ways
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.unrolled import Way, call_of, fitting, spec_of
from mooncake_py.runtime.user import Seen, put_back, report, snapshot_within, unlock, writeable_of
from mooncake_py.sums import read_once
from mooncake_py.switches import current
from mooncake_py.transform.lanes import ANY, NUM, VAL

if TYPE_CHECKING:
    from mooncake_py.transform.derived import Kept

_NOTHING: frozenset[int] = frozenset()


class Signature:
    """What the parameters, the closure and the names of a function are where its rule holds."""

    __slots__ = ("cell_types", "fits", "fitting", "generation", "guards", "n", "options", "rule", "specs", "taken")

    def __init__(
        self, rule: DerivedRule, params: tuple[Any, ...], cell_types: tuple[T, ...], fits: tuple[Fit, ...] | None
    ):
        self.rule, self.options = rule, current()
        self.n, self.cell_types = len(params), cell_types
        self.generation, self.taken = rule.generation, rule.taken
        self.guards = tuple([(scope.get, name, value, fits) for scope, name, value, fits in rule.guards])
        self.fits = fits  # None where no argument is a container or an object
        self.specs = tuple(map(spec_of, params))
        self.fitting: Callable[[tuple[Any, ...]], bool] | None = None

    def holds(self, params: tuple[Any, ...], cells: tuple[Any, ...]) -> bool:
        """Is a call with these of the same signature, and do the names in the function mean what they meant?"""
        if len(params) != self.n or current() is not self.options:
            return False
        fits = self.fits
        if fits is None:
            ask = self.fitting
            if ask is None:
                ask = self.fitting = fitting(self.specs)
            if not ask(params):
                return False
        elif not all([fit(a) for fit, a in zip(fits, params)]):  # noqa: B905
            return False
        if cells and not self.same_cells(cells):
            return False
        if self.taken or registry.generation != self.generation:
            return self.rule.valid()
        for get, name, value, fits_too in self.guards:  # what `valid` does, without the call
            now = get(name, ABSENT)
            if now is not value and (fits_too is None or now is ABSENT or not fits_too(now)):
                return False
        return True

    def same_cells(self, cells: tuple[Any, ...]) -> bool:
        return tuple([abstract(c, False) for c in cells]) == self.cell_types


class WarmRun(Signature):
    """A forward run by a rule that needs no fdata: for functions of one code, called without keywords."""

    __slots__ = ("defaults", "extra", "given", "globals")
    defaults: tuple[Any, ...] | None
    extra: int
    given: int
    globals: dict[str, Any]

    @classmethod
    def after(
        cls,
        g: pytypes.FunctionType,
        rule: DerivedRule,
        params: tuple[Any, ...],
        types: tuple[T, ...],
        extra: int,
        given: int,
    ) -> WarmRun | None:
        """For calls like the one that has just been made; `extra` is 1 for a method's, whose object comes first.

        `given` is how many of the parameters the call gave: there is no derivative by the default values of others.
        """
        code = g.__code__
        if rule.has_lanes or rule.derived.touched_args or code.co_kwonlyargcount or code.co_flags & 0x0C:
            return None
        known, fits = fits_of(params, types)
        warm = cls(rule, params, tuple([abstract(c, False) for c in cells_of(g)]), fits)
        warm.globals, warm.defaults, warm.extra, warm.given = g.__globals__, g.__defaults__, extra, given
        return warm if known else None

    def parameters(self, g: pytypes.FunctionType, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What is given and default values, as parameters of g; None where this is another kind of call."""
        if g.__globals__ is not self.globals or len(given) > self.given:
            return None
        if (missing := self.n - len(given)) > 0:
            defaults = self.defaults
            if defaults is None or g.__defaults__ is not defaults or len(defaults) < missing:
                return None
            given = (*given, *defaults[-missing:])
        return given if self.holds(given, cells_of(g)) else None


def fits_of(params: tuple[Any, ...], types: tuple[T, ...], plain: bool = True) -> tuple[bool, tuple[Fit, ...] | None]:
    """Can it be asked whether parameters are of these types, and what asks it; None where `fitting` does.

    That it does for numbers and arrays, where they are all `plain`.
    """
    if plain and all(type(a) is np.ndarray or type(a) in PLAIN or isinstance(a, np.generic) for a in params):
        return True, None
    found = [fit for t in types if (fit := fit_of(t)) is not None]
    return len(found) == len(types), tuple(found)


class WarmCall(Signature):
    """`value_and_grad` of a plain function for one signature: arguments that the function only reads."""

    __slots__ = (
        *("active", "call", "cells", "chosen", "code", "filling", "function", "pullback", "scalar", "single", "stacks"),
        *("outside", "tree", "ways"),
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
        super().__init__(rule, args, cell_types, fits)
        g = filling.function
        self.filling = None if filling.plain else filling
        self.tree = (
            rule.derived.result_tree
        )  # that of a number, of a pair (number, aux), or of what is not known before
        self.function, self.code = g, g.__code__
        self.chosen = chosen
        self.cells = cells_of(g)
        self.pullback = rule.pullback
        arrays = [k for k in rule.derived.kept if k.how == "pushed" and isinstance(k.type, Arr)]
        self.stacks = tuple(sorted({k.place[0] for k in arrays}))
        self.scalar, self.single = self.tree in (NUM, ANY, VAL), single
        self.active = tuple([i in chosen or type(a) is np.ndarray for i, a in enumerate(args)])
        passed = zip(types, self.active, strict=True)
        found = [ways(t, rule.reusable) if act else UNWATCHED for t, act in passed] if fits is not None else [None]
        self.outside: Outside | None = None  # where arguments may be written to, and something is outside
        self.ways = None if None in found else tuple([way for way in found if way is not None])
        self.call: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any] | None] = self._structured
        """The value and the gradients by the chosen arguments; None where this is not a call of the same signature.

        Nor is it where the names in the function mean something else now.
        """
        lanes = rule.has_lanes or self.tree in (ANY, VAL)
        if not (lanes or any(type(args[k]) not in PLAIN for k in chosen if fits is not None)):
            self.call = self._written_out(one)
        if rule.derived.touched_args or rule.derived.dynamic:
            self.call = self._of_writes(self.call)

    def _written_out(self, one: Any) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """The call where cotangents travel beside their values; `one` is the 1 of the class that the value had."""
        rule = self.rule
        way = Way(
            specs=self.specs,
            fitted=self.fits is not None,
            chosen=tuple(self.chosen),
            single=self.single,
            total=self.n + len(self.cells),
            filled=self.filling is not None,
            cells=bool(self.cells),
            scalar=self.scalar,
            small=self.scalar and all(map(_is_small, rule.derived.kept)),
            stacks=bool(self.stacks),
            taken=bool(self.taken),
        )
        return call_of(
            way,
            parameters=self.filling and self.filling.parameters,
            function=self.function,
            code=self.code,
            fits=self.fits,
            options=self.options,
            generation=self.generation,
            guards=() if self.taken else [(get, name, value) for get, name, value, _ in self.guards],
            valid=rule.valid,
            cells=self.cells,
            same_cells=self.same_cells,
            forward=rule.forward,
            pullback=_marking(rule.pullback) if rule.derived.touched_args or rule.derived.dynamic else rule.pullback,
            one=one,
            one_type=type(one),
            tree=self.tree,
            stacks=self.stacks,
        )

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
        brought = code_of((*args, *kwargs.values()))
        if is_declared(g) or may_write_outside(g, filling.prefix, brought):
            return None
        args = filling.parameters(args, kwargs) or ()
        chosen = [filling.place(k) for k in chosen]
        cell_types = tuple(abstract(c, False) for c in cells_of(g))
        everything = not current().activity
        types = tuple(abstract(a, everything or i in chosen) for i, a in enumerate(args))
        rule = rule_for(g, types, cell_types, outermost=True)
        known, fits = fits_of(args, types, plain=not rule.has_lanes)
        if not known or (fits is not None and (everything or rule.derived.dynamic)):
            return None
        tree = rule.derived.result_tree
        if has_aux and rule.reusable and isinstance(tree, tuple) and len(tree) == 2:
            tree = tree[0]
        if tree not in (NUM, ANY, VAL) or rule.derived.touched_globals or rule.derived.touched_cells:
            return None
        if any(map(filling.is_own, rule.derived.touched_args)):  # what is written to a method's object stays there
            return None
        call = cls(filling, rule, args, chosen, cell_types, single, one[0] if has_aux else one, fits, types)
        if rule.derived.touched_args:
            call.outside = Outside(g, filling.prefix, brought)
        return call

    def _of_writes(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call where arguments may be written to.

        A constant one must be no other name of another. What a pullback that ends with an exception has not put back
        is put back after it, and arrays that could be written to still can.
        """
        active = tuple([i in self.chosen for i in range(self.n)])
        touched = self.rule.derived.touched_args
        kept = () if call == self._structured else touched  # that puts them back by itself

        def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            params = args if self.filling is None else self.filling.parameters(args, kwargs)
            if params is None or len(params) != self.n or (touched and with_aliases(params, active) != active):
                return None
            may_lock = writeable_of(params)
            saved = snapshot_within([params[i] for i in kept])
            try:
                result = call(args, kwargs)
            except BaseException as e:
                if vars(e).pop(_IN_PULLBACK, False):
                    unlock(may_lock)
                    put_back(saved)
                raise
            unlock(may_lock)
            return result

        return asked

    def _structured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """The call with containers and objects: their cotangents are collected in shadows."""
        if (around := current_run()).wary or around.rebinds:
            return None
        if self.outside is not None and self.outside.has((*args, *kwargs.values())):
            return None
        if self.filling is not None:
            args = self.filling.parameters(args, kwargs)  # type: ignore[assignment]
            if args is None:
                return None
        elif kwargs:
            return None
        if self.function.__code__ is not self.code or not self.holds(args, self.cells):
            return None
        with Run() as run:
            shadows = self._shadows(args, run)
            if shadows is None:
                return None
            touched = self.rule.derived.touched_args
            saved = snapshot_within([args[i] for i in touched]) if touched else []
            may_lock = writeable_of(args) if touched else []
            cells = self.cells
            try:
                y, fy, *captures = self.rule.run([*args, *cells], [*shadows, *[None] * len(cells)])
            except MooncakeError:
                put_back(saved)
                raise
            if self.tree in (ANY, VAL) and not isinstance(y, (float, np.floating)):
                put_back(saved)
                return None
            if self.stacks:
                captures[0] = read_once(captures[0], self.stacks)
            unlock(may_lock)
            one = one_like(y) if self.scalar else (one_like(y[0]), None)
            try:
                ds = self.pullback(captures.pop(), seed_result(self.tree, y, fy, one))
            except BaseException:
                put_back(saved)
                raise
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


_IN_PULLBACK = "__mooncake_in_pullback__"


def _marking(pullback: Callable[..., Any]) -> Callable[..., Any]:
    """The pullback, whose exceptions say that they come from there."""

    def run(captures: Any, dy: Any) -> Any:
        try:
            return pullback(captures, dy)
        except BaseException as e:
            vars(e)[_IN_PULLBACK] = True
            raise

    return run


def _is_small(kept: Kept) -> bool:
    """Is this no memory worth freeing before the pullback returns?"""
    return kept.how != "pushed" and only_numbers(widen(kept.type))
