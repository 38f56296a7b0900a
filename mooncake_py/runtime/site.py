"""Call sites in derived code."""

from __future__ import annotations

import functools
import operator
import types as pytypes
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py import outputs, registry, run
from mooncake_py.errors import MissingRule, UnsupportedError
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.ir.nodes import Call, Pos
from mooncake_py.registry import find_rule_for_values, name_of
from mooncake_py.run import ARRAYS, OBJECTS
from mooncake_py.runtime.attributes import handle_setattr, read_quickly, stored_plainly
from mooncake_py.runtime.behind import check_given
from mooncake_py.runtime.calls import call, call_protected, of_python
from mooncake_py.runtime.coduals import ATOMS, BOUND, is_active, is_new, known
from mooncake_py.runtime.native import NoRule, native_method
from mooncake_py.runtime.plain import run_plainly
from mooncake_py.runtime.results import Given, Result
from mooncake_py.runtime.settled import Settled, is_ordinary, settled_for
from mooncake_py.runtime.stored import ABSENT, named
from mooncake_py.structure import is_user_class, of_constant_package
from mooncake_py.tangents import DictShadow, ListShadow, PartialShadow, met_fdata, zero_fdata
from mooncake_py.unwinding import Raised, leave

_NOTHING_YET = None, (), None, -1


class DynamicSite:
    """One call in a derived rule whose callee or types were not known when it was derived."""

    __slots__ = (
        *("filename", "function", "last", "line", "live", "live_at_all", "made", "protected", "why", "written"),
    )

    bare = True  # may a rule's own function be called, where nobody watches?

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
        self.live_at_all = live is not None and any(live)
        self.protected = protected  # is there a handler that asks what was done before an exception?
        self.line, self.function = pos.calls(function)[-1]  # through functions that were taken in
        self.filename, self.why = filename, why
        # The inline cache: a callee, the classes of its arguments, what is settled of such calls, and the generation of
        # rules. It is one tuple, put there at once: threads share sites.
        self.last: tuple[Any, tuple[type, ...], Settled | None, int] = _NOTHING_YET

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
        if type(f) in BOUND:
            x = f.__self__
            if ff is None and type(x) not in ATOMS:
                outside = type(x) is np.ndarray and run.is_wary() >= ARRAYS
                ff = zero_fdata(x) if outside else met_fdata(x, run.current())
            if ff is None and _is_written(x) and callable(d := native_method(type(x), f)):
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
            written = run.current().shadow(f.keywords)
            if written is not None or any(x is not None for x in (inner, *found[:n], *kwfdata)):
                bound = ListShadow(list(found[:n]), [None] * n)
                ff = PartialShadow(inner, bound, written or DictShadow(dict(zip(keywords, kwfdata, strict=True))))
        if fargs and fargs[0] is None and _is_written(args[0]):  # the method of a ufunc or of a module, too
            fargs = self._write(f, given, live)
        return ff, fargs

    def _write(self, f: Any, given: Given, live: tuple[bool, ...]) -> tuple[Any, ...]:
        """fdata of the positional arguments where f writes to the first of them, which came without."""
        args, fargs = given.args, given.fargs
        x = args[0]
        array = isinstance(x, np.ndarray)
        rule = find_rule_for_values(f, args, given.names) if hashable(f) else None
        if rule is None or 0 not in rule.mutates or (array and x.dtype.kind not in "fcOV"):
            return fargs
        if _carries(live, given):
            if run.is_wary() >= (ARRAYS if array else OBJECTS) and (zero := zero_fdata(x)) is not None:
                return (zero, *fargs[1:])
            if array and (type(x) is not np.ndarray or x.dtype.kind in "OV"):
                kind = f"dtype {x.dtype}" if type(x) is np.ndarray else f"class {type(x).__name__}"
                raise UnsupportedError(
                    f"a value with a derivative in an array of {kind}", self.filename, self.line,
                    "use plain arrays of floats or complex numbers, lists or dicts",
                )  # fmt: skip
            raise UnsupportedError(
                f"writing a value with a derivative into {named(x)} from outside the function",
                self.filename,
                self.line,
                "pass the object as an argument, or return what you would store",
            )
        return fargs

    def _settle(self, f: Any, args: tuple[Any, ...], classes: tuple[type, ...]) -> Settled | None:
        """What is settled of calls like this one, kept for the next."""
        settled = settled_for(f, args, classes)
        if settled is not None:
            self.last = f, classes, settled, registry.generation
        return settled

    def _run_settled(self, settled: Settled, f: Any, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
        """A call of which it is known what rule it comes to."""
        if not settled.atoms:
            fargs = known(args, fargs)
            if settled.writes and self.live is not None and fargs[0] is None and _is_written(args[0]):
                fargs = self._write(f, Given(args, fargs), self.live)
        active = settled.is_active(args, fargs)
        if active and settled.asks_items:
            return call(f, None, args, fargs, protected=self.protected)
        return settled.run(f, args, fargs, active)

    def _run(
        self,
        f: Any,
        ff: Any,
        args: tuple[Any, ...],
        fargs: tuple[Any, ...],
        names: tuple[str, ...],
        kwvalues: tuple[Any, ...],
        kwfdata: tuple[Any, ...],
    ) -> Result:
        """Any other call."""
        constant = self.live is not None and not self.live_at_all and ff is None
        constant = constant and all(x is None for x in (*fargs, *kwfdata))
        if constant and outputs.writes_out(f, len(args), names):
            return run_plainly(f, args, dict(zip(names, kwvalues, strict=True)), names, self.protected)
        fargs = known(args, fargs)
        if f is setattr and len(args) == 3 and not names and not self.protected and is_user_class(type(args[0])):
            unused = self.live is not None and not self.live[-1] and fargs[-1] is None
            if (found := handle_setattr(call, args, fargs, constant=unused)) is not None:
                return found
        if names:
            kwfdata = known(kwvalues, kwfdata)
        if self.live is not None:
            ff, fargs = self._met(f, ff, Given(args, fargs, names, kwvalues, kwfdata), self.live)
            if constant and type(f) is pytypes.FunctionType and is_ordinary(f):
                return of_python(f, ff, Given(args, fargs, names, kwvalues, kwfdata), self.protected, constant=True)
        if f is setattr and self.live is not None and not self.live[-1] and fargs[-1] is None:
            alike = call_protected if self.protected else call
            if (found := handle_setattr(alike, args, fargs, constant=True)) is not None:
                return found
        return call(f, ff, args, fargs, names, kwvalues, kwfdata, self.protected)

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
        settled = found = None
        if f is getattr and not names and len(args) == 2:
            found = read_quickly(args[0], fargs[0], args[1])
        elif f is hasattr and len(args) == 2 and not names and stored_plainly(*args) is not ABSENT:
            return True, None, None
        elif not names and ff is None:
            classes = tuple(map(type, args))
            last, classes_then, settled, generation = self.last
            if f is not last or classes != classes_then or generation != registry.generation:
                settled = self._settle(f, args, classes)
            if settled is not None and (numeric := settled.numeric) is not None and self.bare:
                y, pb = numeric(*args)
                if type(y) in _FLOATING:
                    return y, None, _of_numbers(pb, len(args))
        try:
            if found is not None:
                y, fy, pb = found
            elif settled is not None:
                y, fy, pb = self._run_settled(settled, f, args, fargs)
            elif type(f) is pytypes.FunctionType and self.live_at_all and not names and is_ordinary(f):
                y, fy, pb = of_python(f, ff, Given(args, known(args, fargs)), self.protected)
            else:
                y, fy, pb = self._run(f, ff, args, fargs, names, kwvalues, kwfdata)
            if fy is None and type(y) not in _WHOLE and run.is_wary():
                check_given(f, args, y)
            if type(y) in ATOMS:
                return y, fy, pb
            if type(y) is Raised:
                leave(y.exc, pb)
            if fy is None:
                if found is None and f is getattr and of_constant_package(type(args[0])):
                    return y, fy, pb  # what that holds is not new: nothing with a derivative is to be put into it
                if self.live_at_all or run.is_wary():
                    inner = type(y) is tuple and f is operator.getitem  # of one that has none: it may be a long chain
                    fy = None if inner or (isinstance(y, np.ndarray) and run.is_wary() < ARRAYS) else zero_fdata(y)
                if fy is None and (self.made or (self.written and is_new(y))):
                    fy = zero_fdata(y)
            return y, fy, pb
        except NoRule as e:
            bound = getattr(f, "__self__", None)  # of a method of a number nobody knows whether it has a derivative
            if self.live is not None and ff is None and not is_active(bound, None):
                given = Given(args, fargs, names, kwvalues, kwfdata)
                if not _carries(self.live, given):
                    return run_plainly(f, args, given.kwargs, names)  # numbers, but none that has a derivative
            why = registry.refusal(e.f) or registry.refusal_of_object(e.given)
            if why is not None and e.f not in registry.opaque:
                raise MissingRule(
                    f"{name_of(e.f)} is not differentiated: {why}. It was given an active argument "
                    f"(number {e.active + 1}), in {self._where()}"
                ) from None
            from mooncake_py.diagnostics.missing import missing_rule

            raise MissingRule(missing_rule(e.f, e.given, names, e.active, self._where(), why)) from None


def _carries(live: tuple[bool, ...], given: Given) -> bool:
    """Has one of the arguments a derivative, which those may have that are `live`?"""
    return any(on and is_active(x, fx) for on, x, fx in zip(live, given.values, given.fdata, strict=True))


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


_WHOLE = frozenset({int, bool, str, type(None)})
_FLOATING = frozenset({float, complex, np.float64})  # what the arithmetic of these gives where it has a derivative

_WRITTEN = frozenset({list, dict, deque, defaultdict, OrderedDict, np.ndarray})


def _is_written(x: Any) -> bool:
    """May a rule write to it? Arrays of classes derived from ndarray, which have no fdata, must not be overlooked."""
    return type(x) in _WRITTEN or isinstance(x, np.ndarray)
