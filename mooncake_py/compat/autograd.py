"""The names of HIPS autograd with autograd's meanings: code ports by changing its imports and using plain NumPy.

    import numpy as np                          # was: import autograd.numpy as np
    from mooncake_py.compat.autograd import grad    # was: from autograd import grad

Differences from `mooncake_py`'s own functions: `argnum` in the place of `argnums`, results with one element count as
scalars, `make_vjp` returns the function first, and complex gradients follow autograd's convention, which is the
conjugate of ours: for a real f of z = a + ib, `df/da - i df/db`.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.api import value_and_pullback
from mooncake_py.arguments import Argnums
from mooncake_py.errors import NonScalarOutput, RuleError, RuleResultError
from mooncake_py.fields import one_like
from mooncake_py.gradients import Wrapper, real_scalar
from mooncake_py.pullback import restore
from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tracebacks import entry
from mooncake_py.transforms import Transform
from mooncake_py.transforms import holomorphic_grad as _holomorphic_grad
from mooncake_py.transforms import jacobian as _jacobian
from mooncake_py.trees import describe, is_leaf, leaves, map_leaves


def conjugate(t: Any) -> Any:
    """A cotangent in the other convention: its complex numbers conjugated."""
    if isinstance(t, (int, np.integer)) or (isinstance(t, np.ndarray) and t.dtype.kind in "iu"):
        return t
    return map_leaves(lambda v: np.conj(v) if np.iscomplexobj(v) else v, t)


class _ValueAndGrad(Transform):
    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        y, pullback = forward()
        if np.size(y) != 1 or not real_scalar(np.reshape(y, ())[()] if isinstance(y, np.ndarray) else y):
            restore(pullback)
            raise NonScalarOutput(
                f"grad only applies to real functions with one element as result, got {describe(y)}; "
                "try jacobian, elementwise_grad or holomorphic_grad"
            )
        one = None
        if is_leaf(y):
            one = np.ones(y.shape, y.dtype) if isinstance(y, np.ndarray) else one_like(y)
        return y, self.result([conjugate(d) for d in pullback.of_arguments(one, [k for k, _ in chosen])])


class _Grad(_ValueAndGrad):
    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)[1]


class _ElementwiseGrad(Transform):
    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        y, pullback = forward()
        if not all(map(is_leaf, [y])) or np.iscomplexobj(y):
            restore(pullback)
            raise NonScalarOutput(
                f"elementwise_grad only applies to functions with real arrays as results, got {describe(y)}"
            )
        one = np.ones(y.shape, y.dtype) if isinstance(y, np.ndarray) else one_like(y)
        return self.result([conjugate(d) for d in pullback.of_arguments(one, [k for k, _ in chosen])])


class _MakeVjp(Transform):
    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        y, pullback = forward()

        def vjp(g: Any) -> Any:
            return self.result([conjugate(d) for d in pullback.of_arguments(conjugate(g), [k for k, _ in chosen])])

        return vjp, y


class _GradAndAux(Transform):
    @entry
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward, chosen = self.chosen(args, kwargs)
        y, pullback = forward()
        value, aux = y
        if np.size(value) != 1:
            restore(pullback)
            raise NonScalarOutput(f"grad_and_aux needs one element as the first result, got {describe(value)}")
        one = np.ones(value.shape, value.dtype) if isinstance(value, np.ndarray) else one_like(value)
        return self.result([conjugate(d) for d in pullback.of_arguments((one, None), [k for k, _ in chosen])]), aux


def grad(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the gradient of fun by its positional argument number `argnum` (a tuple: a tuple).

    The value must be real and have one element, in any number of dimensions; NonScalarOutput, a TypeError, otherwise.
    """
    return _Grad(fun, argnum)


def value_and_grad(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., Any]:
    """The function that returns `(fun(...), gradient)`; as `grad`."""
    return _ValueAndGrad(fun, argnum)


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """`grad` by the argument of this name."""
    return _Grad(fun, argname)


def elementwise_grad(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the sum of each column of the Jacobian: the derivative of an elementwise fun."""
    return _ElementwiseGrad(fun, argnum)


def jacobian(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the Jacobian, of shape (shape of the value) + (shape of the argument)."""
    return _jacobian(fun, argnum)


def holomorphic_grad(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the complex derivative of a holomorphic fun."""
    return _holomorphic_grad(fun, argnum)


def make_vjp(fun: Callable[..., Any], argnum: Argnums = 0) -> Callable[..., tuple[Callable[[Any], Any], Any]]:
    """The function that returns `(vjp, value)`; `vjp(g)` is the vector-Jacobian product by the argument."""
    return _MakeVjp(fun, argnum)


def grad_and_aux(fun: Callable[..., tuple[Any, Any]], argnum: Argnums = 0) -> Callable[..., tuple[Any, Any]]:
    """For a fun that returns `(value, aux)`: the function that returns `(gradient of the value, aux)`."""
    return _GradAndAux(fun, argnum)


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., OrderedDict[str, Any]]:
    """The function that returns the gradients by all arguments at once, by parameter name, defaults included.

    Those of `*args` are a tuple, those of `**kwargs` a dict; None where an argument has no derivative.
    """
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def gradfun(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        y, pullback = value_and_pullback(fun, *bound.args, **bound.kwargs)
        if np.size(y) != 1:
            restore(pullback)
            raise NonScalarOutput(f"multigrad_dict needs one element as result, got {describe(y)}")
        one = np.ones(y.shape, y.dtype) if isinstance(y, np.ndarray) else one_like(y)
        positional, named = pullback.with_keywords(one)
        positional, named = conjugate(positional), conjugate(named)
        out: OrderedDict[str, Any] = OrderedDict()
        rest = list(positional)
        for name, p in signature.parameters.items():
            if p.kind is p.VAR_POSITIONAL:
                out[name], rest = tuple(rest), []
            elif p.kind is p.VAR_KEYWORD:
                out[name] = {k: v for k, v in named.items() if k not in signature.parameters}
            else:
                out[name] = named[name] if p.kind is p.KEYWORD_ONLY else rest.pop(0)
        return out

    return gradfun


# -- functions with a derivative of their own -------------------------------------------------------------


class Checkpointed(Wrapper):
    """`checkpoint(fun)`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


@rrule(Checkpointed.__call__)
def _checkpointed(self, *args, **kwargs):  # type: ignore[no-untyped-def]
    def pullback(dy):  # type: ignore[no-untyped-def]
        positional, named = value_and_pullback(self.f, *args, **kwargs)[1].with_keywords(dy)
        return None, *positional, *named.values()

    return self.f(*args, **kwargs), pullback


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """fun, computed again in the reverse run instead of its intermediate values being kept: less memory, more time.

    fun must not change its arguments, and must compute the same when it is called again.
    """
    return Checkpointed(fun)


class Primitive(Wrapper):
    """`primitive(fun)`: `vjps` has for every argument number the maker of its vector-Jacobian product."""

    def __init__(self, f: Callable[..., Any]):
        super().__init__(f)
        self.vjps: VjpMakers = {}
        self.general: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


VjpMakers = dict[int, Callable[..., Callable[[Any], Any]] | None]


@rrule(Primitive.__call__)
def _primitive(self, *args, **kwargs):  # type: ignore[no-untyped-def]
    ans = self.f(*args, **kwargs)

    def pullback(dy):  # type: ignore[no-untyped-def]
        return None, *_cotangents(self, self.vjps, self.general, ans, args, kwargs, dy)

    return ans, pullback


def _cotangents(
    f: Any,
    vjps: VjpMakers,
    general: Callable[..., Any] | None,
    ans: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dy: Any,
) -> list[Any]:
    """One cotangent per argument; one that is not defined may not be used."""
    name = getattr(f, "__name__", repr(f))
    out: list[Any] = []
    for i, x in enumerate(args):
        if not any(True for _ in leaves(x)):
            out.append(None)
        elif general is not None:
            (t,) = general((i,), ans, args, kwargs)(conjugate(dy))
            out.append(fitting(conjugate(t), x, name, i))
        elif i in vjps:
            maker = vjps[i]
            t = None if maker is None else conjugate(maker(ans, *args, **kwargs)(conjugate(dy)))
            out.append(None if t is None else fitting(t, x, name, i))
        else:
            out.append(NoDerivative(name, f"argument {i}", "define its vector-Jacobian product with defvjp"))
    return out + [NoDerivative(name, f"the keyword argument {k}", "pass it by position") for k in kwargs]


def like(t: Any, x: Any) -> Any:
    """The cotangent t in the type of the argument x."""
    if isinstance(x, np.ndarray) and not isinstance(t, NoDerivative):
        t = np.asarray(t)
        if np.iscomplexobj(t) and not np.iscomplexobj(x):
            t = t.real
    return t


def fitting(t: Any, x: Any, name: str, i: int) -> Any:
    """The cotangent t that a vector-Jacobian product gave for argument i, if it has x's shape."""
    t = like(t, x)
    if t is not None and is_leaf(x) and not isinstance(t, NoDerivative) and np.shape(t) != np.shape(x):
        raise RuleResultError(
            f"the vector-Jacobian product of {name} returned {describe(t)} for argument {i}, which is {describe(x)}"
        )
    return t


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose body is not differentiated; `defvjp` says what its derivative is."""
    return Primitive(f_raw)


def defvjp(fun: Any, *vjpmakers: Callable[..., Any] | None, argnums: Any = None) -> None:
    """Define the vector-Jacobian products of a primitive, one maker per argument: `maker(ans, *args, **kwargs)`
    returns the function from the cotangent of the value to that of the argument. None means that it is zero.

    `argnums` says which arguments the makers are for, if not the first ones. RuleError where fun is no `primitive`.
    """
    _the_primitive(fun, "defvjp").vjps = dict(zip(argnums or range(len(vjpmakers)), vjpmakers, strict=False))


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """As `defvjp`, with one maker for all arguments: `vjpmaker(argnum, ans, args, kwargs)`."""

    def general(argnums: tuple[int, ...], *rest: Any) -> Callable[[Any], Any]:
        vjps = [vjpmaker(k, *rest) for k in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    _the_primitive(fun, "defvjp_argnum").general = general


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """As `defvjp`, with one maker for all arguments at once: `vjpmaker(argnums, ans, args, kwargs)`."""
    _the_primitive(fun, "defvjp_argnums").general = vjpmaker


def _the_primitive(fun: Any, verb: str) -> Primitive:
    if not isinstance(fun, Primitive):
        raise RuleError(f"{verb}: {fun!r} is no primitive; decorate it with @primitive, or use mooncake_py.rrule")
    return fun
