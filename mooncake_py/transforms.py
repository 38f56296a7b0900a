"""Transforms besides the gradient: `vjp`, `jacobian`, `elementwise_grad`, `holomorphic_grad`."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from mooncake_py.api import check_arguments, check_chosen
from mooncake_py.arguments import Argnums, choose, parse_argnums
from mooncake_py.diagnostics.mode import running
from mooncake_py.errors import ArgumentError, AuxError, HolomorphicError, NonScalarOutput, PullbackReuse
from mooncake_py.fields import one_like
from mooncake_py.forward import run_forward
from mooncake_py.gradients import Wrapper, in_mode, real_scalar
from mooncake_py.pullback import Pullback, restore
from mooncake_py.runtime.handed_out import as_left
from mooncake_py.tracebacks import entry
from mooncake_py.trees import children, describe, is_leaf, leaves, map_leaves

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class VjpFunction:
    """What `vjp` returns beside the value: takes a cotangent of the value, returns a tuple, one per argument."""

    __slots__ = ("_has_aux", "_pullback")

    def __init__(self, pullback: Pullback, has_aux: bool):
        self._pullback, self._has_aux = pullback, has_aux

    @entry
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        return self._pullback((cotangent, None) if self._has_aux else cotangent)


@overload
def vjp(
    f: Callable[..., R], *args: Any, has_aux: Literal[False] = False, debug_mode: bool | None = None
) -> tuple[R, VjpFunction]: ...
@overload
def vjp(
    f: Callable[..., tuple[R, A]], *args: Any, has_aux: Literal[True], debug_mode: bool | None = None
) -> tuple[R, VjpFunction, A]: ...
@entry
def vjp(f: Any, *args: Any, has_aux: bool = False, debug_mode: bool | None = None) -> Any:
    """`y, vjp_fn = vjp(f, *args)`: the value, and the function from its cotangent to a tuple of one per argument.

    The shape is JAX's; `value_and_pullback` is the same, for keyword arguments too. With `has_aux=True` f returns
    `(y, aux)` and the result is `(y, vjp_fn, aux)`. Raises as `value_and_pullback`, and AuxError where f does not
    return a pair.
    """
    check_arguments(f, args)
    with running(debug_mode):
        y, pullback = run_forward(f, args, {}, (True,) * len(args))
    if not has_aux:
        return y, VjpFunction(pullback, False)
    if type(y) is not tuple or len(y) != 2:
        restore(pullback)
        raise AuxError(f"with has_aux=True the function must return a pair (value, aux), but it returned {describe(y)}")
    return y[0], VjpFunction(pullback, True), as_left(y[1], pullback.saved)


class Transform(Wrapper):
    """A transform that runs f with some arguments active."""

    def __init__(self, f: Callable[..., Any], argnums: Argnums = 0):
        self.nums, self.single = parse_argnums(argnums)
        super().__init__(f, argnums)

    def chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Callable[[], tuple[Any, Pullback]], list]:
        """A function that runs f forwards, and the numbers of the chosen arguments with their values."""
        chosen, keywords = choose(self.f, self.nums, args, kwargs)
        values = (*args, *keywords.values())
        check_chosen(self.f, values, chosen)
        active = tuple(i in chosen for i in range(len(values)))
        return functools.partial(run_forward, self.f, args, keywords, active), [(k, values[k]) for k in chosen]

    def result(self, grads: Any) -> Any:
        return grads[0] if self.single else tuple(grads)


class Jacobian(Transform):
    """`jacobian(f)`."""

    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        for _, x in chosen:
            if any(np.iscomplexobj(v) for v in leaves(x)):
                raise ArgumentError(
                    "jacobian is by real arguments: a function of a complex one has no complex Jacobian unless it is "
                    "holomorphic; use holomorphic_grad, or jacobian of a function of real and imaginary part"
                )
        y, pullback = forward()
        then = [] if pullback.reusable else [copy.copy(leaf) for leaf in leaves(y)]  # it may be an argument's memory
        numbers = [k for k, _ in chosen]
        wanted = [list(leaves(x)) for _, x in chosen]
        rows: list[list[list[np.ndarray]]] = []  # by leaf of the value, chosen argument, leaf of the argument
        spent = False
        for place, leaf in enumerate(leaves(y)):
            shape = np.shape(leaf)
            dtype = complex if np.iscomplexobj(leaf) else float
            blocks = [[np.empty((np.size(leaf), *np.shape(v)), _dtype(v, dtype)) for v in vs] for vs in wanted]
            units: tuple[complex, ...] = (1.0, 1j) if dtype is complex else (1.0,)
            for i in range(np.size(leaf)):
                for unit in units:
                    # Under Re<conj(a) b> the cotangent 1j picks the derivative of the imaginary part.
                    dy = _unit(y, place, i, unit)
                    if spent and not pullback.reusable:
                        ds = _of_another_run(pullback, forward, then, dy, numbers)
                    else:
                        ds = pullback.of_arguments(dy, numbers)
                    spent = True
                    for block, d in zip(blocks, ds, strict=True):
                        for rows_of_leaf, t in zip(block, leaves(d), strict=True):
                            if unit == 1.0:
                                rows_of_leaf[i] = t
                            else:
                                rows_of_leaf[i] += 1j * t
            rows.append([[b.reshape(shape + b.shape[1:]) for b in block] for block in blocks])
        if not spent:
            restore(pullback)
        found = iter(rows)

        def of_leaf(leaf: Any) -> Any:
            blocks = next(found)
            return self.result([_filled(x, iter(block), leaf) for (_, x), block in zip(chosen, blocks, strict=True)])

        return map_leaves(of_leaf, y)


def _of_another_run(
    pullback: Pullback, forward: Callable[[], Any], then: list[Any], dy: Any, numbers: list[int]
) -> Any:
    try:
        return pullback.of_another_run(forward, then, dy, numbers)
    except PullbackReuse:
        raise PullbackReuse(
            f"jacobian runs the function again for every row, as it changes objects in place, and {pullback.why}"
        ) from None


def _dtype(v: Any, dtype: type) -> Any:
    return np.result_type(np.asarray(v).dtype, dtype) if dtype is complex else np.asarray(v).dtype


def _unit(y: Any, place: int, i: int, unit: complex) -> Any:
    """The cotangent of y that is zero but at element i of leaf number `place`."""
    counter = iter(range(1 << 60))

    def one(leaf: Any) -> Any:
        if next(counter) != place:
            return None
        if not isinstance(leaf, np.ndarray):
            return type(leaf)(unit)
        d = np.zeros(leaf.shape, leaf.dtype)
        d.flat[i] = unit
        return d

    return map_leaves(one, y)


def _filled(x: Any, blocks: Iterator[np.ndarray], leaf: Any) -> Any:
    """The Jacobian blocks in the structure of the argument; a number by a number is a number."""

    def one(v: Any) -> Any:
        b = next(blocks)
        return b[()].item() if b.shape == () and not isinstance(v, np.ndarray) and not np.ndim(leaf) else b

    return map_leaves(one, x)


@entry
def jacobian(f: Callable[P, Any], argnums: Argnums = 0, *, debug_mode: bool | None = None) -> Callable[P, Any]:
    """The function that returns the Jacobian of f, by reverse runs, one per element of the value.

    For a value of shape `s` and an argument of shape `t` it has shape `s + t`; of structured values and arguments it
    is a structure of the value whose leaves are structures of the argument. f runs forward once, or once per row
    where it changes objects in place. A complex value gives the complex derivative by its real arguments.

    Raises ArgumentError for complex arguments, and as `value_and_grad` for argnums.
    """
    return in_mode(Jacobian(f, argnums), debug_mode)


class ElementwiseGrad(Transform):
    """`elementwise_grad(f)`."""

    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        y, pullback = forward()
        if (not is_leaf(y) and not real_scalar(y)) or np.iscomplexobj(y):
            restore(pullback)
            raise NonScalarOutput(f"elementwise_grad needs a real array or number as result, got {describe(y)}")
        one = np.ones(y.shape, y.dtype) if isinstance(y, np.ndarray) else one_like(y)
        return self.result(pullback.of_arguments(one if is_leaf(y) else None, [k for k, _ in chosen]))


@entry
def elementwise_grad(f: Callable[P, Any], argnums: Argnums = 0, *, debug_mode: bool | None = None) -> Callable[P, Any]:
    """The function that returns the gradient of the sum of f's elements.

    For an elementwise f that is its derivative at every element, in the argument's shape. NonScalarOutput where f
    does not return a real number or array.
    """
    return in_mode(ElementwiseGrad(f, argnums), debug_mode)


class HolomorphicGrad(Transform):
    """`holomorphic_grad(f)`."""

    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        numbers = [k for k, _ in chosen]
        for k, x in chosen:
            if children(x) is not None or not np.iscomplexobj(x):
                raise ArgumentError(f"holomorphic_grad is by complex numbers and arrays, argument {k} is {describe(x)}")
        y, pullback = forward()
        if np.shape(y) != () or not np.iscomplexobj(y):
            restore(pullback)
            raise NonScalarOutput(f"holomorphic_grad needs one complex number as result, got {describe(y)}")
        cls = np.asarray if isinstance(y, np.ndarray) else type(y)
        ds = pullback.of_arguments(cls(1.0 + 0j), numbers)
        if not pullback.reusable:
            _, pullback = forward()
        turned = pullback.of_arguments(cls(1j), numbers)
        for d, e in zip(ds, turned, strict=True):
            # The adjoint of multiplication by f' is that by conj(f'): it is complex linear only for a holomorphic f.
            size = float(np.max(np.abs(d), initial=0.0)) + float(np.max(np.abs(e), initial=0.0))
            tolerance = 64 * float(np.finfo(np.asarray(d).dtype).eps) ** 0.75 * size
            if np.max(np.abs(1j * d - e), initial=0.0) > tolerance:
                raise HolomorphicError(
                    "the function is not holomorphic here (its derivative depends on the direction); take the "
                    "gradients of its real and imaginary part instead"
                )
        return self.result([d.conjugate() for d in ds])


@entry
def holomorphic_grad(f: Callable[P, Any], argnums: Argnums = 0, *, debug_mode: bool | None = None) -> Callable[P, Any]:
    """The function that returns the complex derivative `f'(z)` of a holomorphic function.

    For an array the partial derivatives by its elements. It is the conjugate of the gradient that
    `value_and_pullback(f, z)[1](1.0)` gives, whose convention is that of the adjoint under `Re sum(conj(a) * b)`.

    Raises ArgumentError for a real argument, NonScalarOutput where the value is not one complex number, and
    HolomorphicError where the Cauchy-Riemann equations do not hold at this point.
    """
    return in_mode(HolomorphicGrad(f, argnums), debug_mode)
