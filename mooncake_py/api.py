"""Values with pullbacks: `value_and_pullback`, and `build_rrule` for one signature."""

from __future__ import annotations

import types as pytypes
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from mooncake_py import registry
from mooncake_py.diagnostics.mode import running
from mooncake_py.errors import ArgumentError
from mooncake_py.forward import run_forward
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.brought import code_of_types
from mooncake_py.infer.held import may_change
from mooncake_py.infer.outside import with_answer
from mooncake_py.infer.types import T
from mooncake_py.pullback import Pullback
from mooncake_py.run import Run, Wary
from mooncake_py.runtime.binding import unwrap
from mooncake_py.runtime.rule import cells_of, rule_for
from mooncake_py.runtime.user import (
    all_plain,
    has_derivative,
)
from mooncake_py.tracebacks import entry
from mooncake_py.undisturbed import undisturbed

P = ParamSpec("P")
R = TypeVar("R")


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
    one = by is not None and len(args) > 1
    by = range(len(args)) if by is None else by
    for i in by:
        _refuse_subclasses(args[i], i)
    if not any(has_derivative(args[i]) or is_empty(args[i]) for i in by):
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
        which = f"there is no derivative by argument {by[0]}" if one else "no argument can have a derivative"
        raise ArgumentError(f"{which}; {hint}")


def check_chosen(f: Any, args: tuple[Any, ...], chosen: Sequence[int]) -> None:
    """Can each of these arguments have a derivative? Beside one that has, containers may happen to hold none."""
    apart = [k for k in chosen if not isinstance(args[k], (list, dict, tuple, deque)) or has_derivative(args[k])]
    for k in apart or chosen:
        check_arguments(f, args, [k])


def is_empty(x: Any) -> bool:
    """Is x a container with nothing in it now? Its gradient is one, too."""
    return isinstance(x, (list, dict, deque)) and not len(x)


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

            def with_wary(wary: Wary) -> None:
                here.wary = wary
                all_types = (*(abstract(x, may_change(x, wary)) for x in given), *types)
                rule_for(g, all_types, tuple(abstract(c, bool(wary)) for c in cells_of(g)), outermost=True)

            with Run() as here:
                undisturbed(with_answer, with_wary, g, given, code_of_types(types))
