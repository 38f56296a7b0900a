"""The checks around one call of a registered rule: before it, after it, and in its pullback.

`RuleSite` is what is known of the call when it is derived, `Watch` what is seen of one run of it;
`runtime.registered.run_rule` tells the watch what happens. A watch changes nothing and keeps what it needs to compare.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from mooncake_py.diagnostics import facts
from mooncake_py.diagnostics.mode import Mode
from mooncake_py.diagnostics.purity import surely_pure
from mooncake_py.diagnostics.where import Where, describe, name_of
from mooncake_py.errors import DebugError
from mooncake_py.infer.types import T
from mooncake_py.ir import ops
from mooncake_py.rule import Rule
from mooncake_py.runtime.coduals import is_active

# Reading and writing one item: here a check of a whole long array would cost more than any bound on the run.
_ACCESS = frozenset({operator.getitem, operator.setitem, operator.delitem, ops.list_append, ops.map_add, list.append})
_ACCESS |= {list.pop, dict.get, dict.pop, dict.setdefault, len}
NOTHING: tuple[Any, ...] = ()
_MUTABLE = frozenset({np.ndarray, list, dict})
SHORT = 4096  # bytes


class RuleSite:
    """A rule at a call in the user's code; `types` and `result` are what it was built for, where that is known."""

    __slots__ = ("access", "f", "mode", "overwrites", "pure", "result", "rule", "types", "where")

    def __init__(
        self, f: Any, rule: Rule, where: Where, mode: Mode, types: Sequence[T] | None = None, result: T | None = None
    ):
        self.f, self.rule, self.where, self.mode = f, rule, where, mode
        self.types, self.result = types, result
        self.access = _is_access(f)
        self.pure = not rule.mutates and surely_pure(rule.target)
        self.overwrites = any(name.startswith("overwrite") for name in rule.names)

    @property
    def name(self) -> str:
        return name_of(self.rule.target)

    def fail(self, check: str, what: str, run: str, values: Sequence[str], fix: str) -> NoReturn:
        code = self.rule.fn.__code__ if self.rule.fn is not None else None
        made = f"{code.co_name} in {code.co_filename}:{code.co_firstlineno}" if code is not None else "zero_derivative"
        raise DebugError(
            check, what,
            rule=self.name, made=made, statement=tuple(self.where.statement()), filename=self.where.filename,
            line=self.where.line, function=self.where.function, run=run, values=tuple(values), fix=fix,
        )  # fmt: skip

    def argument(self, i: int) -> str:
        """Argument i as a message names it."""
        names = self.rule.names
        return f"argument {i + 1}" + (f" ({names[i]})" if i < len(names) and not self.rule.variadic else "")

    def watch(self) -> Watch:
        return Watch(self)


def _is_access(f: Any) -> bool:
    try:
        return f in _ACCESS
    except TypeError:
        return False


class Watch:
    """What is seen of one call."""

    __slots__ = (
        "args",
        "at_first",
        "captured",
        "dy",
        "fargs",
        "items",
        "known",
        "kwargs",
        "overwritten",
        "own",
        "site",
        "undeclared",
        "y",
    )

    def __init__(self, site: RuleSite):
        self.site = site

    def fail(self, check: str, what: str, run: str, fix: str, *more: str) -> NoReturn:
        given = [f"{self.site.argument(i)}: {self.shown(i, x)}" for i, x in enumerate(self.args)]
        given += [f"{k}: {describe(x)}" for k, x in self.kwargs.items()]
        self.site.fail(check, what, run, [*given, *more], fix)

    def shown(self, i: int, x: Any) -> str:
        """Argument i in a message."""
        return describe(x)

    # -- before --

    def before(self, args: tuple[Any, ...], fargs: Sequence[Any], kwargs: dict[str, Any]) -> None:
        site = self.site
        self.args, self.fargs, self.kwargs = args, fargs, kwargs
        keep = site.mode.check_numbers and site.rule.mutates and facts.plain_data(args)
        self.at_first = copy.deepcopy(args) if keep else args
        if site.types is not None:
            for i, (x, t) in enumerate(zip(args, site.types, strict=False)):
                if not facts.conforms(x, t):
                    self.fail(
                        "signature",
                        f"{site.argument(i)} of {site.name} is {describe(x)}, but the rule was built for "
                        f"{facts.type_text(t)}",
                        "forward",
                        "the type that was inferred for it is wrong: look at infer_table of the function that made it",
                    )
        for i, (x, fx) in enumerate(zip(args, fargs, strict=False)):
            wrong = None if fx is None else facts.fdata_wrong(x, fx)
            if wrong is not None:
                self.fail(
                    "fdata",
                    f"the tangent of {site.argument(i)} of {site.name} does not fit it: {wrong}",
                    "forward",
                    "look at the rule that made this value: the fdata of its CoDual must mirror the primal",
                )
        self.known: Any = NOTHING
        for i, (x, fx) in enumerate(zip(args, fargs, strict=False)):
            if fx is not None:
                self.known += ((site.argument(i), x, fx),)
        wrong = facts.alias_wrong(list(self.known)) if len(self.known) > 1 else None
        if wrong is not None:
            self.fail(
                "alias",
                f"aliases with different tangents go into {site.name}: {wrong}",
                "forward",
                "the rule that made one of them must give it the fdata of the other, or say alias=(...)",
            )
        mutates = site.rule.mutates
        self.overwritten = [self._part(i) for i in mutates if i < len(args)] if mutates else NOTHING
        self.undeclared: Any = NOTHING
        for i, x in enumerate(args):
            if i not in mutates and type(x) in _MUTABLE and self._affordable(x):
                if not any(facts.share(x, args[k]) for k in mutates if k < len(args)):
                    self.undeclared += ((i, x, facts.fingerprint(x)),)

    def _affordable(self, x: Any) -> bool:
        if isinstance(x, np.ndarray):
            return not self.site.access or x.nbytes <= SHORT
        return type(x) in (list, dict)

    def _part(self, i: int) -> tuple[int, Any, Any]:
        """(argument, index or None, fingerprint) of what is going to be overwritten."""
        x = self.args[i]
        if self.site.access and isinstance(x, np.ndarray) and x.nbytes > SHORT and len(self.args) > 1:
            try:
                return i, self.args[1], facts.fingerprint(np.array(x[self.args[1]]))
            except IndexError:
                return i, None, None
        return i, None, facts.fingerprint(x)

    # -- after --

    def pair(self, result: Any) -> tuple[Any, Any]:
        """What the rule returned, as the value and the pullback."""
        if type(result) is not tuple or len(result) != 2:
            self.y = result
            self.fail(
                "pair",
                f"the rule of {self.site.name} must return (value, pullback), it returned {describe(result)}",
                "forward",
                "return value, pullback",
            )
        y, pb = result
        if pb is not None and not callable(pb):
            self.fail(
                "pair",
                f"the pullback that the rule of {self.site.name} returned cannot be called: {describe(pb)}",
                "forward",
                "return value, pullback, the pullback being a function of the cotangent",
            )
        return y, pb

    def after(self, y: Any, fy: Any, own: bool, pb: Any) -> None:
        site = self.site
        self.y, self.own = y, own
        for i, x, mark in self.undeclared:
            if not facts.unchanged(x, mark):
                self.fail(
                    "undeclared write",
                    f"{site.name} changed {site.argument(i)}, which its rule does not say",
                    "forward",
                    f"register the rule with mutates=({i},) and put the old content back in its pullback",
                )
        if site.result is not None and not facts.conforms(y, site.result):
            self.fail(
                "signature",
                f"{site.name} returned {describe(y)}, but what follows was built for {facts.type_text(site.result)}",
                "forward",
                "the type inferred for its result is wrong: look at infer_table of the function",
                f"result: {describe(y)}",
            )
        wrong = None if fy is None else facts.fdata_wrong(y, fy)
        if wrong is not None:
            self.fail(
                "fdata",
                f"the tangent of the result of {site.name} does not fit it: {wrong}",
                "forward",
                "the fdata of the CoDual that the rule returns must mirror the primal",
                f"result: {describe(y)}",
            )
        self._aliases(y, fy, own)
        if (
            site.pure
            and "where" not in self.kwargs
            and facts.plain_data(self.args)
            and facts.plain_data(tuple(self.kwargs.values()))
        ):
            self._plain(y)
        if site.mode.check_finite:
            self._finite(y, "forward", "result", [*self.args, *self.kwargs.values()])
        held = [x for x in self.args if type(x) is np.ndarray] if site.access else facts.captured_arrays(pb)
        self.captured: Any = NOTHING
        marks = {id(x): mark for _, x, mark in self.undeclared}  # they are as they were before the call
        for a in held:
            if not site.access or a.nbytes <= SHORT:
                mark = marks.get(id(a))
                self.captured += ((a, facts.fingerprint(a) if mark is None else mark),)
        self.items: Any = NOTHING
        for i, x in enumerate(self.args):
            if type(x) in (list, dict) and len(x) < 512:
                self.items += ((i, x, facts.fingerprint(x)),)
        self.known = self.undeclared = NOTHING  # a long run keeps many of these
        if site.mode.check_numbers and (
            site.pure or (site.rule.mutates and surely_pure(site.rule.target, writes=True))
        ):
            from mooncake_py.diagnostics.numbers import wrong_numbers

            found = wrong_numbers(self)
            if found is not None:
                self.fail("numbers", found[0], "reverse", found[1])

    def _aliases(self, y: Any, fy: Any, own: bool) -> None:
        site = self.site
        if fy is not None:
            wrong = facts.alias_wrong([*self.known, ("the result", y, fy)])
            if wrong is not None:
                self.fail(
                    "alias",
                    f"{site.name} gave a result whose tangent is not that of what it aliases: {wrong}",
                    "forward",
                    "register the rule with alias=(...), or return a copy",
                    f"result: {describe(y)}",
                )
        if not own or not isinstance(y, np.ndarray) or y.dtype.kind not in "fc" or not y.flags.writeable:
            return
        for i, x in enumerate(self.args):
            if i in site.rule.alias or i in site.rule.mutates or not isinstance(x, np.ndarray):
                continue
            if facts.share(x, y):
                self.fail(
                    "alias",
                    f"the result of {site.name} shares memory with {site.argument(i)}, which its rule does not say",
                    "forward",
                    f"register the rule with alias=({i},), or return a copy",
                    f"result: {describe(y)}",
                )

    def _plain(self, y: Any) -> None:
        """Is the value what a plain call gives?"""
        args = copy.deepcopy(self.args) if self.site.overwrites else self.args  # rules do not let them be overwritten
        with np.errstate(all="ignore"):
            try:
                plain = self.site.f(*args, **self.kwargs)
            except Exception as e:
                self.fail(
                    "value",
                    f"the rule of {self.site.name} gave a value where a plain call raises {type(e).__name__}: {e}",
                    "forward",
                    "let the rule call the function itself for the value",
                    f"result: {describe(y)}",
                )
        wrong = facts.same_value(y, plain)
        if wrong is not None:
            self.fail(
                "value",
                f"the value that the rule of {self.site.name} gives is not that of a plain call: {wrong}",
                "forward",
                "let the rule call the function itself for the value",
                f"result: {describe(y)}",
                f"plain call: {describe(plain)}",
            )

    def _finite(self, x: Any, run: str, what: str, sources: Sequence[Any]) -> None:
        """Is this the first NaN, or an infinity that no input had?"""
        nan = facts.has_nan(x)
        if not nan and not (facts.has_inf(x) and not any(map(facts.has_inf, sources))):
            return
        came = [i for i, s in enumerate(sources) if facts.has_nan(s)]
        kind = "NaN" if nan else "infinity"
        made = f"{self.site.name} made" if run == "forward" else f"the pullback of {self.site.name} made"
        if came:
            made = f"{self.site.name} was given NaN and gave"
        self.fail(
            "finite",
            f"{made} the first {kind} of the {run} run",
            run,
            "look at the values: a division by zero, a logarithm or root of what is not positive, an overflow",
            f"{what}: {describe(x)}",
        )

    # -- in the pullback --

    def run(self, pb: Callable[[Any], Any], dy: Any) -> Any:
        """What the pullback returns; its warnings may be about a cotangent that nobody asked for."""
        self.cotangent(dy)
        with np.errstate(all="ignore"):
            result = pb(dy)
        self.returned(result)
        return result

    def cotangent(self, dy: Any) -> None:
        site = self.site
        wrong = facts.cotangent_wrong(self.y, dy, "the result") if self.own else None
        if wrong is not None:
            self.fail(
                "cotangent",
                f"the cotangent that came to {site.name} does not belong to its result: {wrong}",
                "reverse",
                "look at the pullbacks of the rules that use this result: one of them returned it",
                f"result: {describe(self.y)}",
                f"cotangent: {describe(dy)}",
            )
        for a, mark in self.captured:
            if not facts.unchanged(a, mark):
                self.fail(
                    "captured",
                    f"an {describe(a)} that the pullback of {site.name} captured was changed after the rule ran",
                    "reverse",
                    "a rule that runs later writes to it without saying mutates, or does not put it back; or the "
                    "pullback should capture a copy",
                )
        for i, x, mark in self.items:
            if not facts.unchanged(x, mark):
                self.fail(
                    "captured",
                    f"{site.argument(i)} of {site.name}, {describe(x)}, is not as it was when the rule had run",
                    "reverse",
                    "a rule that changed it later did not put it back in its pullback",
                )
        self.dy = dy, (facts.fingerprint(dy) if self._affordable(dy) else None)

    def returned(self, result: Any) -> None:
        site = self.site
        self._count(result)
        items = result if type(result) is tuple else (result,)
        wanted = []
        for i, d in enumerate(items[: len(self.args)]):
            x = self.args[i]
            if self._active(i):
                wanted.append(d)
            name = site.argument(i)
            wrong = facts.cotangent_wrong(x, d, name) or (facts.less_precise(x, d, name) if site.rule.user else None)
            if wrong is not None:
                self.fail(
                    "returned",
                    f"the pullback of {site.name} returned a cotangent that does not belong to its argument: {wrong}",
                    "reverse",
                    "return for every argument a cotangent of its type, shape and dtype, None for zero",
                    f"returned: {describe(result)}",
                )
        dy, mark = self.dy
        if mark is not None and not facts.unchanged(dy, mark):
            self.fail(
                "cotangent written",
                f"the pullback of {site.name} wrote to the cotangent that it was given",
                "reverse",
                "make a new array: others may hold the one that was given",
            )
        self._restored()
        if site.mode.check_finite:
            self._finite(wanted, "reverse", "returned", [dy, self.y, *self.args])

    def _active(self, i: int) -> bool:
        """May argument i carry a derivative?"""
        if self.site.types is not None:
            return self.site.types[i].active and facts.differentiable(self.args[i])
        return is_active(self.args[i], self.fargs[i]) and facts.differentiable(self.args[i])

    def _counts(self, i: int) -> bool:
        """Must argument i have a cotangent? Not an option, which has a default; nor what the rule sees the fdata of."""
        rule = self.site.rule
        if rule.codual and (rule.variadic or i in rule.codual):
            return False
        return i >= len(rule.names) or rule.names[i] in rule.needs

    def _count(self, result: Any) -> None:
        rule, site = self.site.rule, self.site
        if type(result) is tuple:
            given, missing = len(result), range(len(result), len(self.args))
            most = given if rule.variadic else max(len(rule.names), len(self.args))
            most += len(self.kwargs) if rule.keywords else 0
        else:
            most, given, missing = 1, 1, range(1 if result is not None else len(self.args), len(self.args))
        lost = [i for i in missing if self._active(i) and self._counts(i)]
        if given > most or lost:
            takes = f"{len(self.args)} argument{'s' if len(self.args) != 1 else ''}"
            self.fail(
                "count",
                f"the pullback of {site.name} returned {given} cotangent{'s' if given != 1 else ''} for {takes}",
                "reverse",
                "return a tuple with one cotangent per argument, None for zero",
                f"returned: {describe(result)}",
            )

    def _restored(self) -> None:
        site = self.site
        for i, index, mark in self.overwritten:
            x = self.args[i]
            if mark is None:
                continue
            now = x if index is None else np.array(x[index])
            if not facts.unchanged(now, mark):
                self.fail(
                    "restored",
                    f"the pullback of {site.name} did not put back what {site.argument(i)} held before the call",
                    "reverse",
                    "keep a copy of what is overwritten, and write it back in the pullback",
                )
        if not site.rule.mutates:
            for a, mark in self.captured:
                if not facts.unchanged(a, mark):
                    self.fail(
                        "captured",
                        f"the pullback of {site.name} wrote to an {describe(a)} that it captured",
                        "reverse",
                        "make a new array: the pullback may be called again, and others may hold the array",
                    )


class PlainSite:
    """A call without derivative in the user's code (`zero_derivative`): it must change none of its arguments."""

    __slots__ = ("mode", "site")

    def __init__(self, f: Any, rule: Rule, where: Where, mode: Mode):
        self.site = RuleSite(f, rule, where, mode)
        self.mode = mode

    def __call__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        site = self.site
        before = [(i, x, facts.fingerprint(x)) for i, x in enumerate(args) if type(x) in (np.ndarray, list, dict)]
        y = f(*args, **kwargs)
        for i, x, mark in before:
            if not facts.unchanged(x, mark):
                site.fail(
                    "undeclared write",
                    f"{site.name} is declared zero_derivative, but it changed argument {i + 1}",
                    "forward",
                    [f"argument {k + 1}: {describe(v)}" for k, v in enumerate(args)],
                    "write a rule that says mutates and puts the old content back",
                )
        return y
