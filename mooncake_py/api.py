"""What users call: values with pullbacks, gradients."""

from __future__ import annotations

import functools
import inspect
import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py import registry
from mooncake_py.errors import ArgumentError, MooncakeError, NonScalarOutput, PullbackReuse, UnsupportedError
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.infer.types import abstract
from mooncake_py.runtime import site
from mooncake_py.runtime.rule import DerivedRule, bind, cells_of, rule_for, seed_result
from mooncake_py.runtime.user import array_ids, check_cotangent, contents, put_back, report, seed, shadows_of, snapshot
from mooncake_py.runtime.warm import WarmCall
from mooncake_py.switches import current
from mooncake_py.tangents import has_tangent


class Pullback:
    """The pullback of one call: takes the cotangent of the value, returns one cotangent per argument.

    Cotangents have the structure, shapes and dtypes of the arguments, None where an argument has no derivative.
    It may be called again unless the run changed objects in place, which the first call undid; then a second
    call raises PullbackReuse.
    """

    __slots__ = ("_args", "_fdata", "_outside", "_run", "_spent", "_value", "reusable")

    def __init__(
        self,
        value: Any,
        args: Sequence[Any],
        fdata: Sequence[Any],
        run: Callable[[Any], Any],
        reusable: bool,
        outside: Sequence[Any] = (),
    ):
        self._outside = outside  # what the pullback undoes there is redone: it stays as after a plain call
        self._value, self._args, self._fdata, self._run, self.reusable = value, args, fdata, run, reusable
        self._spent = False

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        return self.of_arguments(cotangent, range(len(self._args)))

    def of_arguments(self, cotangent: Any, chosen: Sequence[int]) -> tuple[Any, ...]:
        """The cotangents of some arguments only."""
        if self._spent and not self.reusable:
            raise PullbackReuse(
                "this pullback was called before, and the function changes objects in place: what it saved is used up; "
                "call value_and_pullback again"
            )
        dy = check_cotangent(self._value, cotangent)
        self._spent = True
        kept = [] if self.reusable else contents(self._value, self._args) + snapshot(self._outside)
        rdata = self._run(dy)
        put_back(kept)
        seen: dict[int, Any] = {}
        given = array_ids(dy)
        return tuple(
            report(self._args[i], self._fdata[i], None if rdata is None else rdata[i], seen, given) for i in chosen
        )


def value_and_pullback(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
    """`f(*args, **kwargs)` and its pullback.

    `f` is any callable. The pullback takes a cotangent of the value (same structure, shapes and dtypes) and
    returns a tuple with one cotangent per positional argument: floats for floats, arrays of the same shape and
    dtype for arrays, containers for containers, None where there is no derivative. Keyword arguments are held
    constant.

    Raises ArgumentError where f is not callable or no argument can have a derivative, UnsupportedError for code
    the engine does not differentiate, MissingRule for a C function without a rule on an active argument.
    """
    _check(f, args)
    y, pullback = _forward(f, args, kwargs, tuple(True for _ in args))
    return y, pullback


def _check(f: Any, args: tuple[Any, ...], by: Sequence[int] | None = None) -> None:
    """Is f callable, and can one of the arguments (those numbered `by`) have a derivative?"""
    registry.load_packs()
    if not callable(f):
        raise ArgumentError(f"the function to differentiate must be callable, got {type(f).__name__}: {f!r}")
    by = range(len(args)) if by is None else by
    for i in by:
        _refuse_subclasses(args[i], i)
    if not any(_differentiable(args[i]) for i in by):
        ints = [i for i in by if isinstance(args[i], (int, np.integer)) and not isinstance(args[i], bool)]
        if ints:
            a = args[ints[0]]
            hint = f"argument {ints[0]} is the integer {a}: pass {float(a)} to differentiate by it"
        elif not args:
            hint = "pass the arguments to differentiate by after the function"
        else:
            hint = "got " + ", ".join(type(args[i]).__name__ for i in by)
        raise ArgumentError(f"no argument can have a derivative; {hint}")


def _refuse_subclasses(x: Any, i: int) -> None:
    """Classes that override what arrays and containers do would get the derivative of what they override."""
    cls = type(x)
    if isinstance(x, (np.ndarray, list, dict)) and cls not in (np.ndarray, list, dict):
        base = next(b for b in (np.ndarray, list, dict) if isinstance(x, b))
        raise ArgumentError(
            f"argument {i} is of class {cls.__module__}.{cls.__qualname__}, a subclass of {base.__name__}, whose "
            f"derivative is not known; pass a plain {base.__name__}"
        )
    if isinstance(x, (list, tuple)):
        for v in x:
            _refuse_subclasses(v, i)
    elif isinstance(x, dict):
        for v in x.values():
            _refuse_subclasses(v, i)


def _differentiable(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_differentiable, x))
    if isinstance(x, dict):
        return any(map(_differentiable, x.values()))
    return has_tangent(x)


def _unwrap(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Bound methods, partials and callable objects as a function with more arguments."""
    while True:
        if type(f) is pytypes.MethodType:
            f, args = f.__func__, (f.__self__, *args)
        elif isinstance(f, functools.partial):
            f, args, kwargs = f.func, (*f.args, *args), {**f.keywords, **kwargs}
        elif not isinstance(f, (pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc, type)) and isinstance(
            call := class_attribute(type(f), "__call__"), pytypes.FunctionType
        ):
            f, args = call, (f, *args)
        else:
            if type(f) is pytypes.FunctionType and f.__code__.co_flags & inspect.CO_GENERATOR:
                code = f.__code__
                hint = "differentiate a function that uses its items"
                raise UnsupportedError("the gradient of a generator", code.co_filename, code.co_firstlineno, hint)
            return f, args, kwargs


def _forward(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]) -> tuple[Any, Pullback]:
    g, all_args, all_kwargs = _unwrap(f, args, kwargs)
    extra = len(all_args) - len(args)
    act = (False,) * extra + (active if current().activity else (True,) * len(active))
    if type(g) is not pytypes.FunctionType or registry.rules_of(g):
        fdata = shadows_of(all_args, act)
        entry = site.DynamicSite("the call", None, getattr(f, "__name__", repr(f)), "called directly")
        rule_ = registry.find_rule_for_values(g, all_args, tuple(all_kwargs))
        y, fy, pb = entry(
            g, None, all_args, fdata, tuple(all_kwargs), tuple(all_kwargs.values()), (None,) * len(all_kwargs)
        )

        def run_site(dy: Any) -> Any:
            seed(y, fy, dy)
            ds = None if pb is None else pb(dy)
            return None if ds is None else ds[1 + extra : 1 + len(all_args)]

        return y, Pullback(y, args, fdata[extra:], run_site, rule_ is not None and not rule_.mutates)
    code = g.__code__
    if all_kwargs or code.co_kwonlyargcount or code.co_flags & 0x0C or len(all_args) != code.co_argcount:
        return _forward_bound(g, all_args, all_kwargs, act, args, extra)
    cells = cells_of(g)
    types = tuple(abstract(x, a) for x, a in zip(all_args, act, strict=True))
    rule = rule_for(g, types, tuple(abstract(c, False) for c in cells))
    rule, shadows = _with_shadows(g, rule, types, cells, all_args, act)
    y, fy, captures = _run(rule, all_args, cells, shadows)
    tree = rule.derived.result_tree

    def run(dy: Any) -> Any:
        return rule.pullback(captures, seed_result(tree, y, fy, dy))[extra : extra + len(args)]

    return y, Pullback(y, args, shadows[extra : extra + len(args)], run, rule.reusable, rule.outside(cells))


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
    # an array that no gradient is asked of may be another name of one that is written to
    fdata = shadows_of(args, tuple(a or type(x) is np.ndarray for x, a in zip(args, act, strict=True)))
    if fdata.aliased:
        rule = rule_for(g, types, tuple(abstract(c, False) for c in cells), aliased=True)
    return rule, tuple(fdata)


def _forward_bound(
    g: pytypes.FunctionType,
    all_args: tuple[Any, ...],
    kwargs: dict[str, Any],
    act: tuple[bool, ...],
    args: tuple[Any, ...],
    extra: int,
) -> tuple[Any, Pullback]:
    """A call that needs binding: defaults, keywords, `*args`."""
    slots = site._Slots()
    fdata = shadows_of(all_args, act)
    boxes = [slots.box(x, fx) for x, fx in zip(all_args, fdata, strict=True)]
    n = len(boxes)
    params = bind(g, tuple(boxes), kwargs, g.__defaults__, g.__kwdefaults__)
    inputs = [slots.primal(v) for v in params]
    fdatas = [slots.fdata(v) for v in params]

    def typed(v: Any) -> Any:
        if type(v) is site._Box:
            return abstract(v.primal, act[v.index])
        if type(v) is tuple:
            from mooncake_py.infer.types import Tup

            return Tup(tuple(map(typed, v)))
        return abstract(slots.primal(v), type(v) is dict and any(type(x) is site._Box for x in v.values()))

    cells = cells_of(g)
    rule = rule_for(g, tuple(map(typed, params)), tuple(abstract(c, False) for c in cells), fdata.aliased)
    y, fy, captures = _run(rule, inputs, cells, fdatas)
    tree = rule.derived.result_tree

    def run(dy: Any) -> Any:
        ds = rule.pullback(captures, seed_result(tree, y, fy, dy))
        return slots.scatter(params, list(ds[: len(params)]))[extra:n]

    return y, Pullback(y, args, fdata[extra:], run, rule.reusable, rule.outside(cells))


def _run(rule: DerivedRule, inputs: Sequence[Any], cells: Sequence[Any], fdatas: Sequence[Any]) -> tuple[Any, Any, Any]:
    """The forward run; where the engine refuses in the middle of it, the arguments are as they were."""
    saved = snapshot(inputs[i] for i in rule.derived.touched_args)
    try:
        return rule.run([*inputs, *cells], [*fdatas, *(None for _ in cells)])
    except MooncakeError:
        put_back(saved)
        raise


def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., tuple[Any, Any]]:
    """The function that returns `(f(*args), gradient)`.

    The gradient is by the argument `argnums`, or a tuple of gradients by those of a tuple; other arguments are
    constants. float64 arrays give float64 arrays, floats give floats. The value must be a real scalar:
    NonScalarOutput otherwise, ArgumentError for argnums out of range or an argument without derivative.
    """
    single = isinstance(argnums, (int, np.integer)) and not isinstance(argnums, bool)
    nums: tuple[Any, ...] = (argnums,) if single or not isinstance(argnums, (tuple, list)) else tuple(argnums)
    if not nums or any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) for k in nums):
        raise ArgumentError(f"argnums must be an int or a tuple of ints, got {argnums!r}")
    if not callable(f):
        raise ArgumentError(f"the function to differentiate must be callable, got {type(f).__name__}: {f!r}")

    warm: WarmCall | None = None

    @functools.wraps(f, updated=())
    def value_and_grad_f(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        nonlocal warm
        if warm is not None and not kwargs and warm.fits(args):
            y, gs = warm.run(args)
            return y, gs[0] if single else tuple(gs)
        chosen = []
        for k in nums:
            if not -len(args) <= k < len(args):
                raise ArgumentError(f"argnums {k} is out of range: the call has {len(args)} positional arguments")
            chosen.append(k % len(args))
        for k in chosen:
            _check(f, args, [k])
        y, pullback = _forward(f, args, kwargs, tuple(i in chosen for i in range(len(args))))
        if not _real_scalar(y):
            restore(pullback, y)
            shape = f"an array of shape {y.shape}" if isinstance(y, np.ndarray) else f"a {type(y).__name__}"
            raise NonScalarOutput(
                f"grad needs a real scalar result, but {getattr(f, '__name__', f)!s} returned {shape}; "
                "use value_and_pullback for other results"
            )
        one = np.ones(y.shape, y.dtype) if isinstance(y, np.ndarray) else type(y)(1.0)
        grads = pullback.of_arguments(one if has_tangent(y) else None, chosen)
        if not kwargs:
            warm = WarmCall.after(f, args, chosen)
        return y, grads[0] if single else grads

    return value_and_grad_f


def restore(pullback: Pullback, y: Any) -> None:
    """Put back what the forward run changed, where its value turns out to be of no use."""
    pullback(_zeros(y))


def _zeros(y: Any) -> Any:
    if isinstance(y, (tuple, list)):
        return type(y)(map(_zeros, y))
    if isinstance(y, dict):
        return {k: _zeros(v) for k, v in y.items()}
    if isinstance(y, np.ndarray) and has_tangent(y):
        return np.zeros(y.shape, y.dtype)
    return type(y)(0) if has_tangent(y) else None


def _real_scalar(y: Any) -> bool:
    if isinstance(y, (bool, np.bool_)):
        return False
    if isinstance(y, np.ndarray):
        return y.shape == () and y.dtype.kind in "fiu"
    return isinstance(y, (int, float, np.integer, np.floating))


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of a real scalar function, as `value_and_grad` without the value."""
    both = value_and_grad(f, argnums)

    @functools.wraps(f, updated=())
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return grad_f


def build_rrule(f: Callable[..., Any], *args: Any) -> Callable[..., tuple[Any, Pullback]]:
    """The reusable rule of f for arguments of these types: called with arguments, it returns `(y, pullback)`.

    Everything is derived before it returns, so what f does not support is reported here. Calls with arguments of
    other types derive a rule for those.
    """
    _check(f, args)
    g, all_args, kwargs = _unwrap(f, args, {})
    if type(g) is pytypes.FunctionType and not kwargs and len(all_args) == g.__code__.co_argcount:
        extra = len(all_args) - len(args)
        types = tuple(abstract(x, i >= extra) for i, x in enumerate(all_args))
        rule_for(g, types, tuple(abstract(c, False) for c in cells_of(g)))

    def rule(*args: Any) -> tuple[Any, Pullback]:
        return value_and_pullback(f, *args)

    return rule
