"""Call sites in derived code."""

from __future__ import annotations

import builtins
import functools
import operator
import types as pytypes
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py import registry, run
from mooncake_py.errors import MissingRule, UnsupportedError
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Pos
from mooncake_py.kinds import Constant, Numbers
from mooncake_py.registry import find_rule_for_values, name_of
from mooncake_py.rule import Rule
from mooncake_py.run import ARRAYS, OBJECTS
from mooncake_py.runtime.attributes import handle_setattr
from mooncake_py.runtime.calls import call, call_protected
from mooncake_py.runtime.coduals import ATOMS, is_active, is_new, known
from mooncake_py.runtime.iteration import ITERATORS
from mooncake_py.runtime.native import NoRule, native_method
from mooncake_py.runtime.objects import NATIVE
from mooncake_py.runtime.operators import decides
from mooncake_py.runtime.plain import run_plainly
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Given, Result
from mooncake_py.runtime.stored import named
from mooncake_py.tangents import DictShadow, ListShadow, PartialShadow, met_fdata, zero_fdata
from mooncake_py.unwinding import Raised, leave


class DynamicSite:
    """One call in a derived rule whose callee or types were not known when it was derived."""

    __slots__ = (
        *("classes", "filename", "function", "generation", "last", "line", "live", "numeric", "protected", "rule"),
        *("made", "why", "written"),
    )

    def __init__(
        self,
        filename: str,
        pos: Pos,
        function: str,
        why: str,
        live: tuple[bool, ...] | None = None,
        protected: bool = False,
    ):
        self.written = False  # is the result written into?
        self.made = False  # is it what a Python function gives for constants, and may be changed?
        self.live = live  # which arguments may carry a derivative, where that is known
        self.protected = protected  # is there a handler that asks what was done before an exception?
        self.line, self.function = pos.calls(function)[-1]  # through functions that were taken in
        self.filename, self.why = filename, why
        self.last: Any = None  # the inline cache: the callee and the classes of its arguments that `rule` is for
        self.classes: tuple[type, ...] = ()
        self.rule: Rule | None = None
        self.numeric: Callable[..., Any] | None = None  # the rule itself, where the arguments are numbers
        self.generation = -1

    @classmethod
    def at(cls, code: pytypes.CodeType) -> Callable[[CallInfo, Call, tuple[bool, ...], bool], DynamicSite]:
        return lambda info, s, live, protected: cls(
            code.co_filename, s.pos, code.co_qualname, info.why, live, protected
        )

    def __repr__(self) -> str:
        return f"<call site {self.filename}:{self.line}>"

    def _where(self) -> str:
        return f"{self.filename}:{self.line} ({self.function})" if self.line else self.filename

    def _met(self, f: Any, ff: Any, given: Given, live: tuple[bool, ...]) -> tuple[Any, tuple[Any, ...]]:
        """fdata of a callee and of its positional arguments, with what the run knows of what the callee holds on to.

        Writing a value with a derivative where nobody would find it is refused. `live`: which arguments may carry one.
        """
        args, fargs = given.args, given.fargs
        if type(f) in _BOUND:
            x = f.__self__
            if ff is None and type(x) not in ATOMS:
                outside = type(x) is np.ndarray and run.is_wary() >= ARRAYS
                ff = zero_fdata(x) if outside else met_fdata(x, run.current())
            if ff is None and type(x) in _WRITTEN and callable(d := native_method(type(x), f)):
                ff = self._write(d, given.after(x, None), (False, *live))[0]
        elif type(f) is functools.partial and type(ff) is not PartialShadow:
            n = len(f.args)
            keywords = {k: v for k, v in f.keywords.items() if k not in given.names}
            kwfdata = known(tuple(keywords.values()), (None,) * len(keywords))
            within = Given(
                (*f.args, *args), (*known(f.args, (None,) * n), *fargs),
                (*keywords, *given.names), (*keywords.values(), *given.kwvalues), (*kwfdata, *given.kwfdata),
            )  # fmt: skip
            inner, found = self._met(f.func, None, within, (*[False] * (n + len(keywords)), *live))
            fargs = found[n:]
            if any(x is not None for x in (inner, *found[:n], *kwfdata)):
                bound = ListShadow(list(found[:n]), [None] * n)
                ff = PartialShadow(inner, bound, DictShadow(dict(zip(keywords, kwfdata, strict=True))))
        elif fargs and fargs[0] is None and type(args[0]) in _WRITTEN:
            fargs = self._write(f, given, live)
        return ff, fargs

    def _write(self, f: Any, given: Given, live: tuple[bool, ...]) -> tuple[Any, ...]:
        """fdata of the positional arguments where f writes to the first of them, which came without."""
        args, fargs = given.args, given.fargs
        x = args[0]
        array = type(x) is np.ndarray
        rule = find_rule_for_values(f, args, given.names) if type(f).__hash__ is not None else None
        if rule is None or 0 not in rule.mutates or (array and x.dtype.kind not in "fcOV"):
            return fargs
        if any(on and is_active(v, fv) for on, v, fv in zip(live, given.values, given.fdata, strict=True)):
            if run.is_wary() >= (ARRAYS if array else OBJECTS) and (zero := zero_fdata(x)) is not None:
                return (zero, *fargs[1:])
            raise UnsupportedError(
                f"writing a value with a derivative into {named(x)} from outside the function",
                self.filename,
                self.line,
                "pass the object as an argument, or return what you would store",
            )
        return fargs

    def __call__(
        self,
        f: Any,
        ff: Any,
        args: tuple[Any, ...],
        fargs: tuple[Any, ...],
        names: tuple[str, ...] = (),
        kwvalues: tuple[Any, ...] = (),
        kwfdata: tuple[Any, ...] = (),
    ) -> Result:
        if (
            (numeric := self.numeric) is not None
            and f is self.last
            and not names
            and tuple(map(type, args)) == self.classes
            and self.generation == registry.generation
        ):
            y, pb = numeric(*args)
            if type(y) in _FLOATING:
                return y, None, _of_numbers(pb, len(args))
        try:
            fargs = known(args, fargs)
            if names:
                kwfdata = known(kwvalues, kwfdata)
            if self.live is not None:
                ff, fargs = self._met(f, ff, Given(args, fargs, names, kwvalues, kwfdata), self.live)
            classes = tuple(map(type, args))
            if f is self.last and classes == self.classes and not names and self.generation == registry.generation:
                assert self.rule is not None
                if any(map(is_active, args, fargs)):
                    return run_rule(f, self.rule, args, fargs, {}, ())
            elif (
                not names
                and ff is None
                and type(f).__hash__ is not None
                and f not in _NATIVE
                and (ITERATORS.isdisjoint(classes))
            ):
                rule = find_rule_for_values(f, args)
                if rule is not None and rule.fn is not None and not any(map(decides, args)) and _settled(rule):
                    self.last, self.classes, self.rule, self.generation = f, classes, rule, registry.generation
                    plain = type(self) is DynamicSite and not (rule.user or rule.codual or rule.mutates)
                    self.numeric = rule.fn if plain and _ARITHMETIC.issuperset(classes) else None
            if f is setattr and self.live is not None and not self.live[-1] and fargs[-1] is None:
                y, fy, pb = handle_setattr(call_protected if self.protected else call, args, fargs, constant=True)
            else:
                y, fy, pb = call(f, ff, args, fargs, names, kwvalues, kwfdata, self.protected)
            if type(y) is Raised:
                leave(y.exc, pb)
            if fy is None and type(y) not in ATOMS and ((self.live is not None and any(self.live)) or run.is_wary()):
                inner = type(y) is tuple and f is operator.getitem  # of one that has none: it may be a long chain
                fy = None if inner or (isinstance(y, np.ndarray) and run.is_wary() < ARRAYS) else zero_fdata(y)
            if fy is None and (self.made or (self.written and is_new(y))):
                fy = zero_fdata(y)
            return y, fy, pb
        except NoRule as e:
            bound = getattr(f, "__self__", None)  # of a method of a number nobody knows whether it has a derivative
            if self.live is not None and not any(self.live) and ff is None and not names and not is_active(bound, None):
                return run_plainly(f, args, {}, ())  # numbers, but none that has a derivative
            why = registry.refusal(e.f)
            if why is not None and e.f not in registry.opaque:
                raise MissingRule(
                    f"{name_of(e.f)} is not differentiated: {why}. It was given an active argument "
                    f"(number {e.active + 1}), in {self._where()}"
                ) from None
            from mooncake_py.diagnostics.missing import missing_rule

            raise MissingRule(missing_rule(e.f, e.given, names, e.active, self._where(), why)) from None


def _of_numbers(pb: Callable[[Any], Any], n: int) -> Callable[[Any], Any]:
    """The pullback of a call with n numbers, by that of a rule."""

    def pullback(dy: Any) -> Any:
        if dy is None:
            return None
        ds = pb(dy)
        if type(ds) is not tuple:
            ds = (ds,)
        return (None, *ds) if len(ds) == n else (None, *ds, *[None] * (n - len(ds)))

    return pullback


_ARITHMETIC = frozenset({float, complex, int, np.float64})
_FLOATING = frozenset({float, complex, np.float64})  # what the arithmetic of these gives where it has a derivative
_BOUND = frozenset({pytypes.BuiltinFunctionType, pytypes.MethodWrapperType, pytypes.MethodType})
_WRITTEN = frozenset({list, dict, deque, defaultdict, OrderedDict, np.ndarray})
_NATIVE = frozenset({ops.call_ex, builtins.__build_class__, *NATIVE})


def _settled(rule: Rule) -> bool:
    """Is the rule for all arguments of these classes, whatever they hold?"""
    return Numbers not in rule.pattern and Constant not in rule.pattern
