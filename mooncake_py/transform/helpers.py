"""The functions that derived code calls besides the rules: few, stateless, plain Python.

`accum_*` are placeholders: once it is known whether their first argument is zero they become the value
itself, `operator.add` or `add_rdata`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mooncake_py import layout
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.types import Arr, Inst, Known, Lst, T, Tup, is_scalar
from mooncake_py.shadows import At as At
from mooncake_py.shadows import NoDerivative, Shadow
from mooncake_py.shadows import add_at as add_at
from mooncake_py.shadows import shadow_of as shadow_of
from mooncake_py.tangents import (
    CoDual,
    DictShadow,
    FunctionShadow,
    ListShadow,
    add_owned,
    add_rdata,
    made_fdata,
    take_fdata,
    zero_fdata,
)
from mooncake_py.tangents import add_any as add_any


def accum_num(acc: Any, t: Any) -> Any:
    """The sum of two numbers."""
    return acc + t


def accum_maybe(acc: Any, t: Any) -> Any:
    """A number plus a cotangent that may be None."""
    return acc if t is None else acc + t


def accum_arr(acc: Any, t: Any) -> Any:
    """The sum of two arrays, neither being written to; the first may be None."""
    return add_rdata(acc, t)


def accum_any(acc: Any, t: Any) -> Any:
    """The sum of two cotangents of unknown type; None is zero."""
    return add_rdata(acc, t)


def add_owned_maybe(acc: Any, t: Any) -> Any:
    """`add_owned`, for a cotangent that may be None."""
    return acc if t is None else add_owned(acc, t)


def add_deferred(acc: Any, t: Any, like: np.ndarray) -> Any:
    """`add_owned`, for a cotangent that may be an `At` or None; `like` has the shape and dtype of the sum."""
    if t is None:
        return acc
    if type(t) is not At:
        return add_owned(acc, t)
    acc = dense_zeros(acc, like)
    add_at(acc, t.index, t.value)
    return acc


def dense_zeros(acc: Any, like: np.ndarray) -> np.ndarray:
    """An accumulator that may be written to."""
    return np.zeros(like.shape, like.dtype) if acc is None else acc


def either(a: Any, b: Any) -> Any:
    """A cotangent that is there, where one of the two is; both may be None."""
    return b if a is None else a


def is_nothing(t: Any) -> bool:
    """Is this the cotangent of a value, or of a tuple of values, none of which anybody used?"""
    return t is None or (type(t) is tuple and all(map(is_nothing, t)))


def filled(t: Any, y: Any) -> Any:
    """A cotangent of y with zeros for every part that nobody used: what rules are given that need not know of None."""
    if isinstance(y, np.ndarray):
        return np.zeros(y.shape, y.dtype) if t is None and y.dtype.kind in "fc" else t
    if isinstance(y, (tuple, list)) and (t is None or len(t) == len(y)):
        items = [filled(None if t is None else t[i], v) for i, v in enumerate(y)]
        return items if isinstance(y, list) else tuple(items)
    if isinstance(y, dict) and (t is None or isinstance(t, dict)):
        return {k: filled(None if t is None else t.get(k), v) for k, v in y.items()}
    return type(y)(0) if t is None and isinstance(y, (float, complex, np.inexact)) else t


def filled_own(given: bool, t: Any, y: Any) -> Any:
    """The same, unless the rule gave the fdata of y, in which it finds for itself what came."""
    return t if given else filled(t, y)


def own_copy(acc: Any) -> Any:
    """A cotangent that may be somebody else's as one that may be written to."""
    return None if acc is None else acc.copy()


def zeros_unless(acc: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same, from shape and dtype."""
    return np.zeros(shape, dtype) if acc is None else acc


def zeros_like(a: Any) -> Any:
    """Zeros of an array's shape and dtype; None where the run did not reach the array."""
    return None if a is None else np.zeros(a.shape, a.dtype)


def sum_of_one(t: Any, like: np.ndarray) -> Any:
    """A cotangent added to nothing, as an array that may be written to."""
    return np.add(0.0, t, np.empty(like.shape, like.dtype))


def negative_of_one(t: Any, like: np.ndarray) -> Any:
    """The same for one that is subtracted."""
    return np.subtract(0.0, t, np.empty(like.shape, like.dtype))


def shadow_dense(shadow: Shadow) -> np.ndarray:
    return shadow.dense()


def dense_if_made(shadow: Shadow | None) -> np.ndarray | None:
    """The same; None for an array that the run did not come to make."""
    return None if shadow is None else shadow.dense()


def shadow_look(shadow: Shadow) -> np.ndarray:
    """The cotangent of what is written to, which stays: an array that will not change."""
    if shadow.spread is not None:
        whole = shadow.dense()
        whole.check_written(whole.places)
        return np.asarray(whole)
    data = shadow.data
    if data is None:
        return np.zeros(shadow.shape, shadow.dtype)
    return data.copy() if shadow.owned else data


def shadow_add(shadow: Shadow | None, t: Any) -> None:
    """Add a cotangent to that of an array; one whose dtype is not known may be of integers, which have none."""
    if t is not None and shadow is not None:
        shadow.add(t)


def option_add(shadow: Any, t: Any) -> None:
    """The same for a value that may be one without derivative, which has no fdata."""
    if t is not None and shadow is not None:
        shadow.add(t)


def shadow_take(shadow: Shadow | ListShadow) -> Any:
    return shadow.take()


def take_any(acc: Any, fdata: Any) -> Any:
    """The whole cotangent of a value of unknown type."""
    return acc if fdata is None else take_fdata(fdata, acc)


def is_codual(x: Any) -> bool:
    return type(x) is CoDual


def take_own(given: bool, acc: Any, fdata: Any) -> Any:
    """The cotangent of a rule's result; what is in fdata that the rule gave is the rule's own business."""
    return acc if given else take_any(acc, fdata)


def view_shadow(base: np.ndarray, shadow: Shadow | None, view: Any, f: Any, *rest: Any) -> Any:
    """The fdata of `view = f(base, *rest)`: a view of the base's fdata where the result is a view."""
    if shadow is None:
        return zero_fdata(view)
    other = next((type(v) for v in (view, base) if isinstance(v, np.ndarray) and type(v) is not np.ndarray), None)
    if other is not None:
        raise UnsupportedError(
            f"a value with a derivative in an array of class {other.__name__}", "the call", None,
            "use plain arrays",
        )  # fmt: skip
    if base.dtype.kind in "OV":
        raise UnsupportedError(
            f"a value with a derivative in an array of dtype {base.dtype}", "the call", None,
            "use arrays of floats or complex numbers, one for each field",
        )  # fmt: skip
    if type(view) is np.ndarray and np.may_share_memory(view, base):
        if view.dtype != base.dtype and not layout.same_numbers(base, view.dtype):
            refuse_bits(base, view.dtype)
        if shadow.spread is not None:
            whole, places = shadow.spread
            if view.dtype != base.dtype:
                raise UnsupportedError(
                    "a part of the numbers of a view that shows elements more than once", "the call", None,
                    "take the part of the array, and the view of that",
                )  # fmt: skip
            return whole.shown_at(np.asarray(f(places, *rest), np.intp))
        blank = shadow.data is None
        data = f(shadow.dense(), *rest)
        if layout.repeats(data):  # not so where the base itself is such a view: its shadow has every element
            if blank:
                shadow.take()
            return shadow.shown_at(_places_shown(base, view, f, *rest))
        if not np.may_share_memory(data, shadow.data):
            raise UnsupportedError(
                "a view of an array with this memory layout", "the call", None, "copy the array first"
            )
        return shadow.view(data)
    return made_fdata(view)


def refuse_bits(a: np.ndarray, dtype: Any) -> None:
    raise UnsupportedError(
        f"a derivative by {a.dtype} numbers whose bits are read as {np.dtype(dtype)}", "numpy.ndarray.view", None,
        "convert the numbers by astype",
    )  # fmt: skip


def _places_shown(base: np.ndarray, view: np.ndarray, f: Any, *rest: Any) -> np.ndarray:
    """Which elements of the base, counted in C order, `view = f(base, *rest)` shows."""
    count = np.empty_like(base, np.dtype(f"i{base.itemsize}") if base.itemsize <= 8 else base.dtype)  # laid out alike
    count[...] = np.arange(base.size).reshape(base.shape)
    places = np.asarray(f(count, *rest).real, np.intp)
    if places.min() < 0 or places.max() >= base.size or not np.array_equal(base.reshape(-1)[places], view, True):
        raise UnsupportedError("a view of an array with this memory layout", "the call", None, "copy the array first")
    return places


def view_shadow_at(places: tuple[int, ...], view: Any, f: Any, args: tuple[Any, ...], lanes: tuple[Any, ...]) -> Any:
    """The same of `view = f(*args)`, which may be a view of one of the arguments at these places."""
    for i in places:
        x = args[i]
        if lanes[i] is not None and isinstance(x, np.ndarray) and np.may_share_memory(view, x):
            return view_shadow(x, lanes[i], view, lambda data, k=i: f(*args[:k], data, *args[k + 1 :]))
    return zero_fdata(view)


def fdata_of_result(y: Any) -> Any:
    """fdata of what a rule made of values with derivatives: that is refused in arrays of objects."""
    if type(y) is np.ndarray and y.dtype.kind in "OV":
        if layout.holds_nothing(y):
            return None
        raise UnsupportedError(
            f"a value with a derivative in an array of dtype {y.dtype}", "the call", None,
            "use arrays of floats or complex numbers, lists or dicts",
        )  # fmt: skip
    return made_fdata(y)


def fdata_of_numbers(xs: list) -> ListShadow:
    """The fdata of a list that was just made of numbers and constants."""
    n = len(xs)
    return ListShadow([None] * n, [None] * n)


def fdata_of_numbers_by_key(d: dict) -> DictShadow:
    """The same of a dict."""
    return DictShadow(dict.fromkeys(d))


def with_shadows(fdata: Any, y: Any) -> Any:
    """fdata of what a call gave, with shadows for arrays that turned out to be constant."""
    if isinstance(y, tuple):
        return tuple(map(with_shadows, (None,) * len(y) if fdata is None else fdata, y))
    return zero_fdata(y) or shadow_of(y) if fdata is None and isinstance(y, np.ndarray) else fdata


def tuple_fdata(*items: Any) -> Any:
    """The fdata of a tuple by that of its items, some of which may have none: a chain of tuples of numbers has none."""
    return None if items.count(None) == len(items) else items


def item_fdata(fdata: Any, i: int) -> Any:
    """The fdata of a tuple's item."""
    return None if fdata is None else fdata[i]


def function_shadow(defaults: Any, fdefaults: Any, kwdefaults: Any, closure: Any, fclosure: Any) -> FunctionShadow:
    """fdata for a function that is made from these."""
    n = 0 if defaults is None else len(defaults)
    k = 0 if closure is None else len(closure)
    return FunctionShadow(
        fclosure if fclosure is not None else (None,) * k,
        ListShadow(list(fdefaults) if fdefaults is not None else [None] * n, [None] * n) if n else None,
        kwdefaults,
    )


def take_defaults(shadow: FunctionShadow) -> Any:
    """The cotangents of the default values, leaving zero."""
    d = shadow.defaults
    if d is None:
        return None
    r = tuple(d.r)
    d.r[:] = [None] * len(r)
    return r


def copy_take(shadow: Any, number: Any = None) -> Any:
    """The cotangent of a result that could have been a view: None where it was one, for its base has it then.

    `number` is the cotangent of a result that turned out to be a number.
    """
    return number if shadow is None else None if shadow.is_view else shadow.take()


def with_keywords(f: Any, *pairs: Any) -> Any:
    """f with keyword arguments bound: `with_keywords(f, k1, v1, ...)`."""
    return functools.partial(_call_keywords, f, dict(zip(pairs[::2], pairs[1::2], strict=True)))


def _call_keywords(f: Any, kwargs: dict[str, Any], x: Any, *rest: Any) -> Any:
    return f(x, *rest, **kwargs)


def rule_pullback(rule: Any, dy: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a rule for its pullback's sake."""
    return rule(*args, **kwargs)[1](dy)


def primal_of(x: Any) -> Any:
    return x.primal if type(x) is CoDual else x


def fdata_of(x: Any) -> Any:
    return x.fdata if type(x) is CoDual else made_fdata(x)


def cotangent(result: Any, i: int) -> Any:
    """The i-th cotangent of what a pullback returned: a tuple has one per argument, anything else is the first."""
    if type(result) is not tuple:
        t = result if i == 0 else None
    else:
        t = result[i] if i < len(result) else None
    return t.here() if type(t) is NoDerivative else t


def not_known(t: NoDerivative) -> NoDerivative:
    """A cotangent that is not known, with the line of the call that derived code is at."""
    return t.here()


def run_pullback(pb: Any, dy: Any) -> Any:
    return None if pb is None else pb(dy)


def read_each_once(x: np.ndarray, i: Any) -> Any:
    """`x[i]`, which no other read of the array gives, and nothing else does anything with x that has a derivative."""
    return x[i]


def index_kind(t: T, ndim: int | None) -> str:
    """How an index of this type selects: "element", "basic" (a view), "advanced" (a copy) or "unknown".

    `ndim` is that of what is indexed: integers alone may name an element where it is not known (None).
    """
    items = t.items if isinstance(t, Tup) else (t,)
    if isinstance(t, Known) and isinstance(t.value, tuple):
        items = tuple(map(Known, t.value))
    kinds = set()
    for x in items:
        if isinstance(x, Known):
            v = x.value
            if isinstance(v, (bool, np.bool_)):
                return "advanced"
            if isinstance(v, (int, np.integer)):
                kinds.add("int")
            elif v is None or v is Ellipsis or isinstance(v, slice):
                kinds.add("slice")
            else:
                return "advanced"
        elif isinstance(x, Inst) and x.cls is slice:
            kinds.add("slice")
        elif is_scalar(x) and isinstance(x, Inst) and issubclass(x.cls, (int, np.integer)) and x.cls is not bool:
            kinds.add("int")
        elif isinstance(x, (Arr, Lst)):
            return "advanced"
        else:
            return "unknown"
    if kinds <= {"int"}:
        return "unknown" if ndim is None else "element" if len(items) == ndim else "basic"
    return "basic"
