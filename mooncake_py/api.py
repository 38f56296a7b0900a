"""Values with pullbacks: the way from a user's call into derived rules and back."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from mooncake_py import outputs, registry
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.diagnostics.mode import running
from mooncake_py.errors import ArgumentError, MooncakeError, PullbackReuse
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.brought import code_of, code_of_types
from mooncake_py.infer.held import may_change
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.infer.types import T, Tup
from mooncake_py.ir.nodes import NO_POS
from mooncake_py.run import NOTHING, Run, in_run, is_wary
from mooncake_py.run import current as this_run
from mooncake_py.runtime.binding import Box, Slots, bind, unwrap
from mooncake_py.runtime.draws import Draws
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.site import DynamicSite
from mooncake_py.runtime.user import (
    Seen,
    Shadows,
    all_plain,
    array_ids,
    check_cotangent,
    contents,
    has_derivative,
    put_back,
    reachable,
    report,
    seed,
    shadows_of,
    snapshot,
)
from mooncake_py.runtime.warm import WarmRun
from mooncake_py.switches import current
from mooncake_py.tangents import DictShadow, ListShadow
from mooncake_py.tracebacks import entry
from mooncake_py.unwinding import forget

P = ParamSpec("P")
R = TypeVar("R")


class Pullback:
    """The pullback of one call: takes the cotangent of the value, returns one cotangent per argument.

    Cotangents have the structure, shapes and dtypes of the arguments, None where an argument has no derivative.
    Called, it gives those of the positional arguments; `with_keywords` those of the keyword arguments too.
    It may be called again. Where the run changed objects in place, which the first call undid, the function is run
    again for it; where it may have changed its arguments or anything else that is not its own, or has another value
    now, a second call raises PullbackReuse. `reusable` tells whether it can be called again without such a run.
    """

    __slots__ = (
        "_args",
        "_draws",
        "_fdata",
        "_keywords",
        "_outside",
        "_run",
        "_spent",
        "_value",
        "_why",
        "again",
        "always_zero",
        "arrays",
        "met",
        "newcomers",
        "own_only",
        "reusable",
        "touched",
        "wrote",
    )

    def __init__(
        self,
        value: Any,
        args: Sequence[Any],
        fdata: Sequence[Any],
        run: Callable[[Any], Any],
        reusable: bool,
        outside: Sequence[Any] = (),
        keywords: tuple[str, ...] = (),
    ):
        self._outside = outside  # what the pullback undoes there is redone: it stays as after a plain call
        self._value, self._args, self._fdata, self._run, self.reusable = value, args, fdata, run, reusable
        self._keywords = keywords  # the names of the last of the arguments
        self._spent = False
        self._draws: Draws | None = None
        self._why = "the function changes objects in place: what it saved is used up"
        self.again: Callable[[], tuple[Any, Pullback]] | None = None  # another run of the function
        self.own_only = False  # does that surely change nothing but what the function makes?
        self.always_zero: tuple[int, ...] = ()  # arguments that the value is known not to depend on
        self.touched: dict[int, Any] = {}  # objects that the run changed
        self.wrote = False  # did it surely change one of them, where the pullback may be called again?
        self.arrays: list[np.ndarray] = []  # those from outside, where the run may have written to such
        self.met: dict[int, tuple[Any, Any]] = {}  # objects from outside with their shadows
        self.newcomers: list[Any] = []  # what it put into those from outside

    @entry
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        return self.of_arguments(cotangent, range(len(self._args) - len(self._keywords)))

    @entry
    def with_keywords(self, cotangent: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The cotangents of the positional arguments, and those of the keyword arguments by name."""
        ds = self.of_arguments(cotangent, range(len(self._args)))
        n = len(self._args) - len(self._keywords)
        return ds[:n], dict(zip(self._keywords, ds[n:], strict=True))

    def of_arguments(self, cotangent: Any, chosen: Sequence[int]) -> tuple[Any, ...]:
        """The cotangents of some arguments only, by number; keyword arguments count on after the positional ones."""
        if self._spent and not self.reusable:
            return self._of_another_run().of_arguments(cotangent, chosen)
        dy = check_cotangent(self._value, cotangent)
        self._spent = True
        kept = [] if self.reusable and not self._outside and not self.wrote else self._keep()
        shadows = self._keep_shadows() if self.reusable and (self._outside or self.wrote) else []
        try:
            rdata = self._run(dy)
        except BaseException:
            self.reusable, self.again, self._why = False, None, "that call ended with an exception half way"
            raise
        if kept:  # what the run took out of the arguments is in them again
            mine = reachable(self._args)
            put_back([(x, content) for x, content in kept if id(x) not in mine])
        for shadow, f in shadows:
            shadow.reset(f)
        seen = Seen()
        given = array_ids(dy)
        return tuple(
            report(self._args[i], self._fdata[i], None if rdata is None else rdata[i], seen, given) for i in chosen
        )

    def _of_another_run(self) -> Pullback:
        """The pullback of another run of the function, with the same value."""
        from mooncake_py.diagnostics.facts import same_value
        from mooncake_py.trees import leaves

        if self.again is not None and self.own_only and not self.touched.keys() - reachable(self._args):
            draws = self._draws = self._draws or Draws()
            states = draws.states()
            value, pullback = self.again()
            now, then = [*leaves(value)], [*leaves(self._value)]  # whatever holds them
            drew = draws.put_back(states)
            if not drew and same_value((value, now), (self._value, then)) is None:
                return pullback
            restore(pullback)
            self._why = "the function draws random numbers" if drew else "the function has another value now"
        raise PullbackReuse(f"this pullback was called before, and {self._why}; call value_and_pullback again")

    def _keep_shadows(self) -> list[tuple[ListShadow | DictShadow, Any]]:
        """The shadows of lists and dicts from outside, with the fdata of what these hold now."""
        mine = reachable(self._args)
        return [
            (s, s.f.copy()) for k, (_, s) in self.met.items() if k not in mine and type(s) in (ListShadow, DictShadow)
        ]

    def _keep(self) -> list[tuple[Any, Any]]:
        """What undoing must leave as it is: what the value holds, and all that is outside of the arguments."""
        mine = reachable(self._args)
        outside = [x for k, x in self.touched.items() if k not in mine]
        return contents((self._value, *self.newcomers, *self.arrays), self._args) + snapshot((*self._outside, *outside))


@entry
def value_and_pullback(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[R, Pullback]:
    """`f(*args, **kwargs)` and its pullback.

    `f` is any callable. The pullback takes a cotangent of the value (same structure, shapes and dtypes) and
    returns a tuple with one cotangent per positional argument: floats for floats, arrays of the same shape and
    dtype for arrays, containers for containers, None where there is no derivative. Its method `with_keywords`
    gives those of the keyword arguments too.
    `debug_mode=True` runs this call in debug mode (`mooncake_py.debug`), False out of it.

    Raises ArgumentError where f is not callable or no argument can have a derivative, UnsupportedError for code
    the engine does not differentiate, MissingRule for a C function without a rule on an active argument.
    """
    debug_mode: Any = kwargs.pop("debug_mode", None)
    values = (*args, *kwargs.values())
    check_arguments(f, values)
    if debug_mode is None:
        return run_forward(f, args, kwargs, (True,) * len(values))
    with running(debug_mode):
        return run_forward(f, args, kwargs, (True,) * len(values))


def check_arguments(f: Any, args: tuple[Any, ...], by: Sequence[int] | None = None) -> None:
    """Is f callable, and can one of the arguments (those numbered `by`) have a derivative?"""
    registry.load_packs()
    if not callable(f):
        raise ArgumentError(f"the function to differentiate must be callable, got {type(f).__name__}: {f!r}")
    by = range(len(args)) if by is None else by
    for i in by:
        _refuse_subclasses(args[i], i)
    if not any(has_derivative(args[i]) for i in by):
        ints = [i for i in by if isinstance(args[i], (int, np.integer)) and not isinstance(args[i], bool)]
        if ints:
            a = args[ints[0]]
            hint = f"argument {ints[0]} is the integer {a}: pass {float(a)} to differentiate by it"
        elif arrays := [i for i in by if isinstance(args[i], np.ndarray)]:
            i = arrays[0]
            hint = f"argument {i} is an array of {args[i].dtype}: pass one of floats, as .astype(float) makes it"
        elif not args:
            hint = "pass the arguments to differentiate by after the function"
        else:
            hint = "got " + ", ".join(type(args[i]).__name__ for i in by)
        raise ArgumentError(f"no argument can have a derivative; {hint}")


def _refuse_subclasses(x: Any, i: int, seen: set[int] | None = None) -> None:
    """Classes that override what arrays do would get the derivative of what they override."""
    cls = type(x)
    if cls is np.ndarray or cls is float:
        return
    if isinstance(x, np.ndarray) and cls is not np.ndarray:
        raise ArgumentError(
            f"argument {i} is of class {cls.__module__}.{cls.__qualname__}, a subclass of ndarray, whose "
            "derivative is not known; pass a plain ndarray"
        )
    seen = set() if seen is None else seen
    if isinstance(x, (list, tuple, dict)) and id(x) not in seen:
        seen.add(id(x))
        items = x.values() if isinstance(x, dict) else x
        for v in () if all_plain(items) else items:
            _refuse_subclasses(v, i, seen)


@in_run
def run_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback]:
    """`f(*args, **kwargs)` and its pullback by the active ones of `(*args, *kwargs.values())`."""
    frame = debug_frame()
    if frame is None:
        y, pullback = _warm_forward(f, args, kwargs, active) or _run_forward(f, args, kwargs, active)
    else:
        from mooncake_py.diagnostics.entry import EntryWatch

        with running(True):
            watch = EntryWatch(f, (*args, *kwargs.values()), frame)
            y, pullback = _run_forward(f, args, kwargs, active)
        pullback._run = watch.around(pullback._run)
    pullback.again = lambda: run_forward(f, args, kwargs, active)
    return y, pullback


def _run_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback]:
    g, all_args, all_kwargs = unwrap(f, args, kwargs)
    extra = len(all_args) - len(args)
    n = len(args)
    brought = code_of((*args, *kwargs.values()))
    wary = may_write_outside(g, all_args[:extra], brought) if type(g) is pytypes.FunctionType else NOTHING
    this_run().wary = wary
    if not current().activity:
        active = (True,) * len(active)
    act = (*(may_change(x, wary) for x in all_args[:extra]), *active[:n])
    kwact = tuple(k in kwargs and active[n + list(kwargs).index(k)] for k in all_kwargs)
    if type(g) is not pytypes.FunctionType or registry.is_declared(g):
        python = _differentiated_as(g, all_args, all_kwargs)
        if python is None:
            return _forward_site(f, g, all_args, all_kwargs, act, kwact, args, kwargs)
        g = python
    code = g.__code__
    if all_kwargs or code.co_kwonlyargcount or code.co_flags & 0x0C or len(all_args) != code.co_argcount:
        return _forward_bound(f, g, all_args, all_kwargs, act, kwact, args, kwargs)
    cells = cells_of(g)
    types = tuple(abstract(x, a) for x, a in zip(all_args, act, strict=True))
    rule = rule_for(g, types, tuple(abstract(c, bool(is_wary())) for c in cells), outermost=True)
    rule, shadows = _with_shadows(g, rule, types, cells, all_args, act)
    result = _by_rule(rule, cells, all_args, shadows, args, extra)
    if all(active) and not wary:
        _remember(f, g, rule, all_args, types, extra)
    return result


def _by_rule(
    rule: DerivedRule,
    cells: tuple[Any, ...],
    params: tuple[Any, ...],
    shadows: tuple[Any, ...],
    args: tuple[Any, ...],
    extra: int,
) -> tuple[Any, Pullback]:
    """The run of a rule on parameters that are, after some, the arguments, and then perhaps default values."""
    y, fy, captures = _run(rule, params, cells, shadows)
    tree, n = rule.derived.result_tree, len(args)

    def run(dy: Any) -> Any:
        return rule.pullback(captures, seed_result(tree, y, fy, dy))[extra : extra + n]

    pullback = _pullback(rule, cells, y, args, shadows[extra : extra + n], run)
    pullback.always_zero = tuple([i - extra for i in rule.derived.always_zero if extra <= i < extra + n])
    return y, pullback


_warm: dict[pytypes.CodeType, WarmRun] = {}
"""The last run of a function of this code, where it needs little more than its rule."""


def _remember(
    f: Any, g: pytypes.FunctionType, rule: DerivedRule, params: tuple[Any, ...], types: tuple[T, ...], extra: int
) -> None:
    if debug_frame() is None and (f.__func__ if type(f) is pytypes.MethodType else f) is g:
        warm = WarmRun.after(g, rule, params, types, extra)
        if warm is not None:
            if len(_warm) > 1000:
                _warm.clear()
            _warm[g.__code__] = warm


def _warm_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback] | None:
    """The run by the rule of the last call; None where this is a call of another kind."""
    if kwargs or type(f) not in _PYTHON or (warm := _warm.get(f.__code__)) is None:
        return None
    found = warm.parameters(f, args) if all(active) and this_run().observer is None else None
    if found is None:
        return None
    g, params = found
    return _by_rule(warm.rule, cells_of(g), params, (None,) * len(params), args, warm.extra)


_PYTHON = frozenset({pytypes.FunctionType, pytypes.MethodType})


def _differentiated_as(g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> pytypes.FunctionType | None:
    """The Python function that a call of g, which has no rule for it, is differentiated as."""
    if kwargs or registry.find_rule_for_values(g, args) is not None or outputs.writes_out(g, len(args), ()):
        return None
    return registry.seen_through(g, len(args), False, tuple(map(type, args)))


def _forward_site(
    f: Any,
    g: Any,
    all_args: tuple[Any, ...],
    all_kwargs: dict[str, Any],
    act: tuple[bool, ...],
    kwact: tuple[bool, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Pullback]:
    """A call of what has a rule of its own, or is no Python function."""
    m = len(all_args)
    names = tuple(all_kwargs)
    own = registry.find_rule_for_values(g, all_args, names) if type(g).__hash__ is not None else None
    apart = own is not None and not own.mutates
    fdata = shadows_of((*all_args, *all_kwargs.values()), (*act, *kwact), apart)
    entry = DynamicSite("the call", NO_POS, getattr(f, "__name__", repr(f)), "called directly")
    y, fy, pb = entry(g, None, all_args, fdata[:m], names, tuple(all_kwargs.values()), fdata[m:])
    mine = _mine(all_args, all_kwargs, args, kwargs)

    def run_site(dy: Any) -> Any:
        seed(y, fy, dy)
        ds = None if pb is None else pb(dy)
        return None if ds is None else [ds[1 + i] if 1 + i < len(ds) else None for i in mine]

    values = (*args, *kwargs.values())
    reusable = not this_run().in_place
    return y, Pullback(y, values, [fdata[i] for i in mine], run_site, reusable, keywords=tuple(kwargs))


def _mine(
    all_args: tuple[Any, ...], all_kwargs: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int]:
    """Where the user's own arguments stand among those that an unwrapped callable gets."""
    m = len(all_args)
    names = list(all_kwargs)
    return [*range(m - len(args), m), *(m + names.index(k) for k in kwargs)]


def _with_shadows(
    g: pytypes.FunctionType,
    rule: DerivedRule,
    types: tuple[Any, ...],
    cells: tuple[Any, ...],
    args: tuple[Any, ...],
    act: tuple[bool, ...],
) -> tuple[DerivedRule, tuple[Any, ...]]:
    """fdata for the arguments whose memory the rule shares; where such arguments alias, the rule that knows it."""
    if not rule.has_lanes:
        return rule, (None,) * len(args)
    fdata = _shadows(args, act, apart=rule.reusable)
    if fdata.aliased:
        rule = rule_for(g, types, tuple(abstract(c, bool(is_wary())) for c in cells), aliased=True, outermost=True)
    return rule, tuple(fdata)


def _shadows(args: tuple[Any, ...], act: tuple[bool, ...], apart: bool = False) -> Shadows:
    """fdata; an array that no gradient is asked of may be another name of one that is written to."""
    return shadows_of(args, tuple(a or type(x) is np.ndarray for x, a in zip(args, act, strict=True)), apart)


def _forward_bound(
    f: Any,
    g: pytypes.FunctionType,
    all_args: tuple[Any, ...],
    all_kwargs: dict[str, Any],
    act: tuple[bool, ...],
    kwact: tuple[bool, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Pullback]:
    """A call that needs binding: defaults, keywords, `*args`."""
    slots = Slots()
    m = len(all_args)
    act = (*act, *kwact)
    given = (*all_args, *all_kwargs.values())
    fdata = _shadows(given, act)
    boxes = [slots.box(x, fx) for x, fx in zip(given, fdata, strict=True)]
    params = bind(g, tuple(boxes[:m]), dict(zip(all_kwargs, boxes[m:], strict=True)), g.__defaults__, g.__kwdefaults__)
    inputs = [slots.primal(v) for v in params]
    fdatas = [slots.fdata(v) for v in params]

    def typed(v: Any) -> Any:
        if type(v) is Box:
            return abstract(v.primal, act[v.index])
        if type(v) is tuple:
            return Tup(tuple(map(typed, v)))
        return abstract(slots.primal(v), type(v) is dict and any(type(x) is Box and act[x.index] for x in v.values()))

    cells = cells_of(g)
    free = tuple(abstract(c, bool(is_wary())) for c in cells)
    rule = rule_for(g, tuple(map(typed, params)), free, fdata.aliased, outermost=True)
    y, fy, captures = _run(rule, inputs, cells, fdatas)
    tree = rule.derived.result_tree
    mine = _mine(all_args, all_kwargs, args, kwargs)

    def run(dy: Any) -> Any:
        ds = rule.pullback(captures, seed_result(tree, y, fy, dy))
        ds = slots.scatter(params, list(ds[: len(params)]))
        return [ds[i] for i in mine]

    values = (*args, *kwargs.values())
    fd = [fdata[i] for i in mine]
    if all(act[m - len(args) :]) and not all_kwargs and not is_wary():
        _remember(f, g, rule, tuple(inputs), tuple(map(typed, params)), m - len(args))
    return y, _pullback(rule, cells, y, values, fd, run, tuple(kwargs))


def _pullback(
    rule: DerivedRule,
    cells: tuple[Any, ...],
    y: Any,
    values: Sequence[Any],
    fdata: Sequence[Any],
    run: Callable[[Any], Any],
    keywords: tuple[str, ...] = (),
) -> Pullback:
    """The pullback of the run of a derived rule that is under way."""
    this = this_run()
    in_place = rule.in_place or this.in_place  # but for what is outside, which is put back
    pullback = Pullback(y, values, fdata, run, rule.reusable or not in_place, rule.outside(cells), keywords)
    pullback.own_only = rule.derived.own_only and not this.wary
    return pullback


def _run(rule: DerivedRule, inputs: Sequence[Any], cells: Sequence[Any], fdatas: Sequence[Any]) -> tuple[Any, Any, Any]:
    """The forward run; where the engine refuses in the middle of it, the arguments are as they were."""
    saved = snapshot(inputs[i] for i in rule.derived.touched_args)
    try:
        return rule.run([*inputs, *cells], [*fdatas, *(None for _ in cells)])
    except MooncakeError:
        put_back(saved)
        raise
    except BaseException as e:
        forget(e)
        raise


def restore(pullback: Pullback) -> None:
    """Put back what the forward run changed, where its value turns out to be of no use."""
    pullback.of_arguments(None, ())


class BuiltRule(Generic[R]):
    """What `build_rrule` returns; pickled, it is the function and the signature, and derived anew on arrival."""

    def __init__(self, f: Callable[..., R], types: tuple[T, ...], debug_mode: bool | None = None):
        self.f, self.types, self.debug_mode = f, types, debug_mode
        with running(debug_mode):
            derive(f, types)

    @entry
    def __call__(self, *args: Any) -> tuple[R, Pullback]:
        with running(self.debug_mode):
            return value_and_pullback(self.f, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return BuiltRule, (self.f, self.types, self.debug_mode)

    def __repr__(self) -> str:
        return f"<rule of {getattr(self.f, '__qualname__', self.f)}>"


@entry
def build_rrule(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> BuiltRule[R]:
    """The reusable rule of f for arguments of these types: called with arguments, it returns `(y, pullback)`.

    Everything is derived before it returns, so what f does not support is reported here. Calls with arguments of
    other types derive a rule for those. `debug_mode`: as of `value_and_pullback`, for every call.
    """
    debug_mode: Any = kwargs.pop("debug_mode", None)
    if kwargs:
        raise ArgumentError("build_rrule takes positional arguments only")
    check_arguments(f, args)
    return BuiltRule(f, tuple(abstract(x, True) for x in args), debug_mode)


def derive(f: Callable[..., Any], types: tuple[T, ...]) -> None:
    """Derive the rule of a Python function for arguments of these types; what needs values waits for the call."""
    registry.load_packs()
    g, given, kwargs = unwrap(f, (), {})
    if type(g) is pytypes.FunctionType and not kwargs and not registry.is_declared(g):
        code = g.__code__
        if len(given) + len(types) == code.co_argcount and not (code.co_flags & 0x0C or code.co_kwonlyargcount):
            with Run() as here:
                here.wary = wary = may_write_outside(g, given, code_of_types(types))
                types = (*(abstract(x, may_change(x, wary)) for x in given), *types)
                rule_for(g, types, tuple(abstract(c, bool(wary)) for c in cells_of(g)), outermost=True)
