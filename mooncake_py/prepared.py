"""`prepare`: a function bound to the signature of one call, for loops that call it again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from mooncake_py.api import check_chosen, derive, value_and_pullback
from mooncake_py.arguments import Argnums, choose
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.errors import OutputError, SignatureError
from mooncake_py.gradients import ValueAndGrad
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.types import T
from mooncake_py.pullback import Pullback
from mooncake_py.tracebacks import entry
from mooncake_py.trees import children, describe, is_leaf, rebuild

P = ParamSpec("P")
R = TypeVar("R")


class Prepared(Generic[P, R]):
    """A function whose rule is derived, bound to the types of its arguments.

    Arguments of other types (another class, dtype or number of dimensions) raise SignatureError; other shapes and
    values are fine. Pickled, it is the function and the signature, and derived anew on arrival.
    """

    def __init__(self, f: Callable[P, R], argnums: Argnums, has_aux: bool, signature: Signature):
        self.f = f
        self._gradient = ValueAndGrad(f, argnums, has_aux)
        self._state = (argnums, has_aux, signature)
        self.signature = signature
        positional, keywords = signature
        if not keywords:
            active = set(choose(f, self._gradient.nums, (None,) * len(positional), {})[0])
            derive(f, tuple(t.abstract(i in active) for i, t in enumerate(positional)))

    @entry
    @overload
    def value_and_grad(self, *args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]: ...
    @overload
    def value_and_grad(self, *args: Any, out: Any, **kwargs: Any) -> tuple[R, Any]: ...
    def value_and_grad(self, *args: Any, **kwargs: Any) -> tuple[R, Any]:
        """`(f(*args), gradient)`, as `value_and_grad(f, argnums, has_aux)` gives it.

        With `out=` the gradient's arrays are written into the arrays of `out`, which has the gradient's structure
        (None where there is no array), and are those of the result. OutputError where it does not fit.
        """
        out = kwargs.pop("out", None) if "out" not in self.signature[1] else None
        warm = self._gradient.warm
        result = warm.call(args, kwargs) if warm is not None and debug_frame() is None else None
        if result is None:
            self._check(args, kwargs)
            result = self._gradient(*args, **kwargs)
        if out is None:
            return result
        value, gradient = result
        places: list[tuple[np.ndarray, np.ndarray]] = []
        result = _into(gradient, out, "out", places)
        for k, (place, _) in enumerate(places):
            if any(np.shares_memory(place, other) for other, _ in places[:k]):
                raise OutputError("out= has two arrays that share memory: each gradient needs its own")
        for place, g in places:
            place[...] = g
        return value, result

    @entry
    def value_and_pullback(self, *args: P.args, **kwargs: P.kwargs) -> tuple[R, Pullback]:
        """`value_and_pullback(f, *args, **kwargs)`."""
        self._check(args, kwargs)
        return value_and_pullback(self.f, *args, **kwargs)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = signature_of(args, kwargs)
        if given != self.signature:
            raise SignatureError(
                f"{self!r} was called with arguments of another signature"
                f"\n  prepared for: {show(self.signature)}\n  called with:  {show(given)}\nprepare it for these too"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.f, *self._state)

    def __repr__(self) -> str:
        return f"<prepared {getattr(self.f, '__qualname__', self.f)}({show(self.signature)})>"


class Kind:
    """The type of one argument: what a rule depends on."""

    __slots__ = ("name", "types")

    def __init__(self, x: Any):
        self.types = abstract(x, False), abstract(x, True)
        self.name = _kind(x)

    def abstract(self, active: bool) -> T:
        return self.types[active]

    def __eq__(self, other: object) -> bool:
        return type(other) is Kind and self.name == other.name and self.types == other.types

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _kind_from, (self.name, self.types)


def _kind_from(name: str, types: tuple[T, T]) -> Kind:
    k = Kind.__new__(Kind)
    k.name, k.types = name, types
    return k


Signature = tuple[tuple[Kind, ...], dict[str, Kind]]


def signature_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
    """The types of a call's arguments."""
    return tuple(map(Kind, args)), {k: Kind(v) for k, v in kwargs.items()}


def show(signature: Signature) -> str:
    positional, keywords = signature
    return ", ".join([*(k.name for k in positional), *(f"{n}={k.name}" for n, k in sorted(keywords.items()))])


def _kind(x: Any, path: tuple[int, ...] = ()) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype}[{', '.join([':'] * x.ndim)}]"
    parts = children(x)
    if parts is None:
        return type(x).__name__
    if id(x) in path:
        return "..."
    path = (*path, id(x))
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {_kind(v, path)}" for k, v in x.items()) + "}"
    return f"{type(x).__name__}({', '.join(_kind(p, path) for p in parts)})"


def _into(g: Any, out: Any, where: str, places: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """The gradient with the arrays of `out` in the place of its own; `places` collects both."""
    if isinstance(g, np.ndarray):
        if not isinstance(out, np.ndarray):
            raise OutputError(f"{where}= must be an array of shape {g.shape} and dtype {g.dtype}, got {describe(out)}")
        if out.shape != g.shape or out.dtype != g.dtype:
            raise OutputError(
                f"{where}= must have the gradient's shape {g.shape} and dtype {g.dtype}, "
                f"it has shape {out.shape} and dtype {out.dtype}"
            )
        if not out.flags.writeable:
            raise OutputError(f"{where}= is an array that cannot be written to")
        places.append((out, g))
        return out
    parts = children(g)
    if parts is None:
        if out is not None and (isinstance(out, np.ndarray) or not is_leaf(g)):
            raise OutputError(f"{where}= must be None where the gradient is no array, got {describe(out)}")
        return g
    theirs = children(out)
    if theirs is None or len(theirs) != len(parts) or (isinstance(g, dict) and out.keys() != g.keys()):
        raise OutputError(
            f"{where}= must have the structure of the gradient\n  gradient: {describe(g)}\n  out:      {describe(out)}"
        )
    keys = list(g) if isinstance(g, dict) else list(range(len(parts)))
    if isinstance(g, dict):
        theirs = [out[k] for k in keys]
    items = zip(keys, parts, theirs, strict=True)
    return rebuild(g, [_into(v, o, f"{where}[{k!r}]", places) for k, v, o in items])


@entry
def prepare(
    f: Callable[P, R], /, *args: Any, argnums: Argnums = 0, has_aux: bool = False, **kwargs: Any
) -> Prepared[P, R]:
    """f bound to the signature of the call `f(*args, **kwargs)`, its rule derived.

    The object has `.value_and_grad(*args, out=...)`, by the arguments `argnums`, and `.value_and_pullback(*args)`.
    What f does not support is reported here. Raises as `value_and_grad`.
    """
    chosen, keywords = choose(f, ValueAndGrad(f, argnums, has_aux).nums, args, kwargs)
    values = (*args, *keywords.values())
    check_chosen(f, values, chosen)
    return Prepared(f, argnums, has_aux, signature_of(args, kwargs))
