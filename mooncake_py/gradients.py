"""`value_and_grad` and `grad`: gradient functions, warm for calls like the last one."""

from __future__ import annotations

import functools
import sys
import types as pytypes
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from mooncake_py.api import check_chosen
from mooncake_py.arguments import Argnums, choose, parse_argnums
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.diagnostics.mode import running
from mooncake_py.errors import ArgumentError, AuxError, NonScalarOutput
from mooncake_py.fields import one_like
from mooncake_py.forward import run_forward
from mooncake_py.pullback import Pullback, restore
from mooncake_py.run import WithinWary
from mooncake_py.runtime.handed_out import as_left
from mooncake_py.runtime.warm import WarmCall
from mooncake_py.structure import constant_classes
from mooncake_py.tangents import has_tangent
from mooncake_py.tracebacks import entry, once, tidy
from mooncake_py.trees import leaves

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class Wrapper:
    """An object in the place of a function: it has its name and documentation, can be a method, and pickles."""

    def __init__(self, f: Callable[..., Any], *settings: Any):
        if not callable(f):
            raise ArgumentError(f"the function to differentiate must be callable, got {type(f).__name__}: {f!r}")
        functools.update_wrapper(self, f, updated=())
        self.f, self.settings = f, settings

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else pytypes.MethodType(self, instance)

    def __reduce__(self) -> Any:
        # Where this object took its function's name, by @value_and_grad, pickle finds it by that name.
        module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
        if module != "__main__" and getattr(sys.modules.get(module or ""), name, None) is self:
            return name
        return type(self), (self.f, *self.settings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {getattr(self, '__qualname__', self.f)}>"


constant_classes.append(Wrapper)


class ValueAndGrad(Wrapper):
    """`value_and_grad(f)`."""

    def __init__(self, f: Callable[..., Any], argnums: Argnums, has_aux: bool):
        self.nums, self.single = parse_argnums(argnums)
        super().__init__(f, argnums, has_aux)
        self.has_aux = has_aux
        self.warm: WarmCall | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        try:
            warm = self.warm
            if warm is not None and debug_frame() is None:
                try:
                    result = warm.call(args, kwargs)
                except WithinWary:
                    result = None
                if result is not None:
                    return result
            return self._cold(args, kwargs)
        except BaseException as e:
            tidy(e)
            raise

    def _cold(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        f = self.f
        chosen, keywords = choose(f, self.nums, args, kwargs)
        values = (*args, *keywords.values())
        check_chosen(f, values, chosen)
        y, pullback = run_forward(f, args, keywords, tuple(i in chosen for i in range(len(values))))
        one = cotangent_of_one(f, y, pullback, self.has_aux)
        y = as_left(y, pullback.saved)
        grads = pullback.of_arguments(one, chosen)
        for k in pullback.always_zero:
            held = [d for d in leaves(grads[chosen.index(k)]) if np.size(d)] if k in chosen else []
            if held and not any(map(np.any, held)):
                _warn_zero(f, k, args, kwargs)
        if debug_frame() is None and not pullback.wary:
            self.warm = WarmCall.after(f, args, keywords, chosen, self.single, one, self.has_aux)
        return y, grads[0] if self.single else grads


def _warn_zero(f: Any, k: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The value does not depend on an argument that its gradient was asked for by."""
    from mooncake_py.diagnostics.dropped import warn_always_zero

    code = getattr(f, "__code__", None)
    name = f" ({code.co_varnames[k]})" if code is not None and k < code.co_argcount else ""
    warn_always_zero(f, args, kwargs, f"argument {k}{name}")


class Moded(Wrapper):
    """A gradient function whose calls run in debug mode, or out of it."""

    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with running(self.settings[0]):
            return self.f(*args, **kwargs)


def in_mode(f: Wrapper, debug_mode: bool | None) -> Wrapper:
    """f itself where debug mode is left to the context."""
    return f if debug_mode is None else Moded(f, debug_mode)


class Grad(Wrapper):
    """`grad(f)`."""

    def __init__(self, f: Callable[..., Any], argnums: Argnums, has_aux: bool):
        self.both = ValueAndGrad(f, argnums, has_aux)
        super().__init__(f, argnums, has_aux)
        self.has_aux = has_aux

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            y, g = self.both(*args, **kwargs)
        except BaseException as e:
            tidy(e)
            raise
        return (g, y[1]) if self.has_aux else g


def cotangent_of_one(f: Any, y: Any, pullback: Pullback, has_aux: bool) -> Any:
    """The cotangent 1 of a scalar value, None of what comes with it."""
    value = y
    if has_aux:
        if type(y) is not tuple or len(y) != 2:
            restore(pullback)
            raise AuxError(f"with has_aux=True {_name(f)} must return a pair (value, aux), but it returned {_shape(y)}")
        value = y[0]
    if not real_scalar(value):
        restore(pullback)
        hint = ""
        if isinstance(value, np.ndarray) and value.dtype.kind != "c":
            hint = ", or jacobian for the derivatives of all its elements"
        elif isinstance(value, (complex, np.complexfloating)):
            hint = ", or holomorphic_grad"
        elif type(value) is tuple and len(value) == 2 and real_scalar(value[0]):
            hint = ", or has_aux=True where only the first part is to be differentiated"
        raise NonScalarOutput(
            f"grad needs a real scalar result, but {_name(f)} returned {_shape(value)}; use value_and_pullback{hint}"
        )
    one: Any = None
    if has_tangent(value):
        one = np.ones(value.shape, value.dtype) if isinstance(value, np.ndarray) else one_like(value)
    return (one, None) if has_aux else one


def _name(f: Any) -> str:
    code = getattr(f, "__code__", None)
    name = getattr(f, "__name__", None) or repr(f)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def _shape(y: Any) -> str:
    return f"an array of shape {y.shape}" if isinstance(y, np.ndarray) else f"a {type(y).__name__}"


def real_scalar(y: Any) -> bool:
    """A number that is neither complex nor a truth value, or an array of no dimensions of such."""
    if isinstance(y, (bool, np.bool_)):
        return False
    if isinstance(y, np.ndarray):
        return y.shape == () and y.dtype.kind in "fiu"
    return isinstance(y, (int, float, np.integer, np.floating))


once(ValueAndGrad.__call__, Grad.__call__)  # which are hot, and tidy up by themselves


@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, has_aux: Literal[False] = False, *, debug_mode: bool | None = None
) -> Callable[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[R, A]], argnums: Argnums = 0, *, has_aux: Literal[True], debug_mode: bool | None = None
) -> Callable[P, tuple[tuple[R, A], Any]]: ...
@entry
def value_and_grad(f: Any, argnums: Argnums = 0, has_aux: bool = False, *, debug_mode: bool | None = None) -> Any:
    """The function that returns `(f(*args), gradient)`.

    The gradient is by the argument `argnums`, a position or a name, or a tuple of gradients by those of a tuple;
    other arguments are constants. A gradient mirrors its argument: float64 arrays give C-contiguous float64 arrays
    that nobody else holds, floats floats, containers containers of the same structure.

    With `has_aux=True` f returns `(value, aux)`, of which only the value is differentiated, and the result is
    `((value, aux), gradient)`.

    The value must be a real scalar: NonScalarOutput otherwise. Raises ArgnumsError for argnums that fit no
    argument, DuplicateArgument for one named twice, ArgumentError for one without derivative, AuxError for an f that
    does not return a pair where one is expected.

    `debug_mode=True` runs every call in debug mode (`mooncake_py.debug`), False out of it.
    """
    return in_mode(ValueAndGrad(f, argnums, has_aux), debug_mode)


@overload
def grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, *, debug_mode: bool | None = None
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]], argnums: Argnums = 0, *, has_aux: Literal[True], debug_mode: bool | None = None
) -> Callable[P, tuple[Any, A]]: ...
@entry
def grad(f: Any, argnums: Argnums = 0, has_aux: bool = False, *, debug_mode: bool | None = None) -> Any:
    """The gradient of a real scalar function, as `value_and_grad` without the value.

    With `has_aux=True` the result is `(gradient, aux)`. `debug_mode`: as of `value_and_grad`.
    """
    return in_mode(Grad(f, argnums, has_aux), debug_mode)
