"""Iteration decided when it runs: `iter`, `next` and `advance` on values that carry derivatives.

Each takes primals with their fdata and returns value, fdata and pullback, as every call does (`runtime/calls.py`).
"""

from __future__ import annotations

import operator
import types as pytypes
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mooncake_py.infer.quiet import way_to_list
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.iterators import KEY_ITERATORS, KEYS_VIEWS, DictItems, DictValues, advance, item_by_item, items_left
from mooncake_py.kept_iterators import Generator, Lasting, SequenceIterator, check_stop, kept_iterator
from mooncake_py.kinds import ConstantKeys
from mooncake_py.registry import at_run_time, find_rule_for_values
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Given
from mooncake_py.shadows import Shadow
from mooncake_py.structure import dict_kind
from mooncake_py.tangents import WHOLE, DictShadow, ListShadow, ObjectShadow, SetShadow, add_any
from mooncake_py.unwinding import Raised, give_tangent, note_missing, tangent_of

Call = Callable[..., tuple[Any, Any, Any]]
Values = tuple[Any, ...]

_MISSING = class_attribute(object, "")
_KEYED = (dict, set, frozenset)
_OVER_KEYS = (dict.__iter__, OrderedDict.__iter__, set.__iter__, frozenset.__iter__)


def codual_iter(call: Call, args: Values, fargs: Values, protected: bool) -> tuple[Any, Any, Any] | None:
    """`iter(x)`; None where x is of a kind that is not known here."""
    if len(args) != 1:
        return None
    (x,), (fx,) = args, fargs
    cls = type(x)
    if issubclass(cls, (Generator, SequenceIterator)) or cls in KEY_ITERATORS:
        return x, fx, None
    if cls is np.flatiter and type(fx) is Shadow:
        return x, fx, None
    array = cls is np.ndarray and x.ndim
    if (cls in (list, deque) and type(fx) is ListShadow) or (array and type(fx) is Shadow):
        it = SequenceIterator(x)
        return it, ObjectShadow(it, {"sequence": fx}), None
    if isinstance(x, (list, deque)) and cls.__iter__ in (list.__iter__, deque.__iter__):
        return call(cls.__iter__, None, args, fargs, protected=protected)  # whatever x[i] means
    if isinstance(x, tuple) and cls.__iter__ is tuple.__iter__:
        n = tuple.__len__(x)
        items = ListShadow([None] * n if fx is None else list(fx), [None] * n)
        it = SequenceIterator(list(tuple.__iter__(x)))

        def pullback(_: Any) -> Any:
            r, items.r = items.r, [None] * n
            return (None, tuple(r)) if any(t is not None for t in r) else None

        return it, ObjectShadow(it, {"sequence": items}), pullback
    if cls in KEYS_VIEWS or (isinstance(x, _KEYED) and cls.__iter__ in _OVER_KEYS):
        return iter(x), fx, None  # whose tangents are found in the shadow of the dict or set
    method = _method_of_iteration(cls)
    if type(method) is pytypes.FunctionType:
        method = items_of if method.__name__ == "__getitem__" else method
        return call(method, None, args, fargs, protected=protected)
    if method is _MISSING:
        iter(x)  # raises
    return None


def codual_advance(call: Call, args: Values, fargs: Values, protected: bool) -> tuple[Any, Any, Any] | None:
    """`advance(it, sent, thrown)`; None where the iterator is of a kind that is not known here."""
    it, fit = args[0], fargs[0]
    sent, thrown = (*args[1:], None, None)[:2]
    fsent, fthrown = (*fargs[1:], None, None)[:2]
    cls = type(it)
    n = len(args)
    if issubclass(cls, Generator):
        # as `resumed` does, which is the code of all of them
        try:
            y, fy, pb = call(cls.resume, None, (it, sent, thrown), (fit, fsent, fthrown), protected=protected)
        except StopIteration as e:
            if issubclass(cls, Lasting):
                check_stop(e)
                return (True, None), None, None
            raise RuntimeError("generator raised StopIteration") from e
        if type(y) is Raised and isinstance(y.exc, StopIteration):
            stop = y.exc
            if issubclass(cls, Lasting):
                check_stop(stop)
                y = True, None
            else:
                y = Raised(RuntimeError("generator raised StopIteration"))
                y.exc.__cause__ = y.exc.__context__ = stop
        if pb is None:
            return y, fy, None

        def resumed(dy: Any) -> Any:
            ds = pb(dy)
            return None if ds is None else ds[: n + 1]

        return y, fy, resumed
    if cls is np.flatiter and type(fit) is Shadow and sent is None and thrown is None:
        i = it.index
        if i >= it.base.size:
            return (True, None), None, None
        y, _, item = call(operator.getitem, None, (it.base.flat, i), (fit, None))  # `it[i]` would set it back
        next(it)

        def of_element(dy: Any) -> None:
            if item is not None:
                item(None if dy is None else dy[1])

        return (False, y), None, of_element
    if cls in KEY_ITERATORS and isinstance(fit, SetShadow) and sent is None and thrown is None:
        return _next_key(it, fit)
    if cls is SequenceIterator and type(fit) is ObjectShadow and sent is None and thrown is None:
        i = it.position
        try:
            next(it)
        except StopIteration:
            return (True, None), None, None
        y, fy, item = call(operator.getitem, None, (it.sequence, i), (fit.fdata("sequence"), None))

        def of_item(dy: Any) -> None:
            if item is not None:
                item(None if dy is None else dy[1])

        return (False, y), None if fy is None else (None, fy), of_item
    method = class_attribute(cls, "__next__")
    if type(method) is pytypes.FunctionType and sent is None and thrown is None:
        y, fy, pb = call(method, None, (it,), (fit,), protected=True)
        if type(y) is Raised and not isinstance(y.exc, StopIteration) and not protected:
            raise y.exc

        ended = type(y) is Raised and isinstance(y.exc, StopIteration)
        brought = tangent_of(y.exc) if ended else None

        def of_method(dy: Any) -> Any:
            t = None if dy is None else dy[1]
            if brought is not None and t is not None:
                brought.r[0] = add_any(brought.r[0], brought.f[0], t)
            ds = None if pb is None else pb(None if ended else t)
            return None if ds is None else (None, ds[1], None, None)[: n + 1]

        if ended:
            return (True, y.exc.value), None if brought is None or not brought.f else (None, brought.f[0]), of_method
        if type(y) is Raised:
            return y, None, of_method
        return (False, y), None if fy is None else (None, fy), of_method
    if fit is None and fsent is None and not isinstance(sent, (float, complex, np.inexact)):
        return advance(*args), None, None
    return None


def _next_key(it: Any, shadow: SetShadow) -> tuple[Any, Any, Any]:
    """`advance` of an iterator over the keys of a dict or set with this shadow."""
    done, key = advance(it)
    if done or type(key) in WHOLE:
        return (done, key), None, None
    tangent = shadow.of_key(key)

    def pullback(dy: Any) -> None:
        if dy is not None and dy[1] is not None:
            tangent.add(dy[1])

    return (False, key), None if tangent.f is None else (None, tangent.f), pullback


def _keys_by(get: Callable[[Any], Any]) -> Callable[[Call, Values, Values, bool], tuple[Any, Any, Any] | None]:
    """What gives the keys of a dict or set in one way or other, one by one: with its own shadow."""

    def handle(call: Call, args: Values, fargs: Values, protected: bool) -> tuple[Any, Any, Any] | None:
        return (get(*args), fargs[0], None) if isinstance(fargs[0], SetShadow) and len(args) == 1 else None

    return handle


def gives_keys(x: Any, fx: Any) -> bool:
    """Does going through x give keys of a dict or set that may have derivatives?"""
    if not isinstance(fx, SetShadow):
        return False
    return not isinstance(x, ConstantKeys.cls) if isinstance(x, _KEYED) else type(x) in (*KEYS_VIEWS, *KEY_ITERATORS)


def codual_next(call: Call, args: Values, fargs: Values, protected: bool) -> tuple[Any, Any, Any] | None:
    """`next(it)` and `next(it, default)`."""
    method = class_attribute(type(args[0]), "__next__")
    if type(method) is pytypes.FunctionType and not issubclass(type(args[0]), ITERATORS) and len(args) == 1:
        return call(method, None, args, fargs, protected=protected)
    found = codual_advance(call, args[:1], fargs[:1], protected)
    if found is None and not hasattr(type(args[0]), "__next__"):
        next(args[0])  # raises
    if found is None or type(found[0]) is Raised:
        return found
    (done, y), f, pb = found
    if done:
        # what was done since the last item is reversed, too
        if len(args) == 1:
            stop = StopIteration() if y is None else StopIteration(y)
            if pb is None:
                raise stop
            shadow = give_tangent(stop, (None if f is None else f[1],)) if stop.args else None
            if not protected:
                note_missing(stop, "an iterator", "the call of next", 0)
                raise stop
            return Raised(stop), None, lambda dy: pb(None if shadow is None else (None, shadow.take()[0]))

        def of_default(dy: Any) -> Any:
            ds = None if pb is None else pb(None)
            return None, None if ds is None else ds[1], dy

        return args[1], fargs[1], of_default

    def pullback(dy: Any) -> Any:
        ds = None if pb is None else pb((None, dy))
        return None if ds is None else (*ds, *[None] * (len(args) - 1))

    return y, None if f is None else f[1], pullback


def drain(
    call: Call,
    k: int,
    f: Any,
    given: Given,
    protected: bool,
) -> tuple[Any, Any, Any]:
    """A function that uses up the iterator in its argument k: given the list of its items."""
    args, fargs = given.args, given.fargs
    way = way_to_list(f, type(args[k]))
    if (
        way is items_left
        and not isinstance(args[k], _TAKEN_AT_ONCE)
        and (each := item_by_item(f, type(args[0]))) is not None
    ):
        return call(each, None, args, fargs, protected=protected)
    view = _VIEWED.get(type(args[k])) if type(fargs[k]) is ObjectShadow else None
    if view is not None:
        d = args[k]._mapping
        rule = find_rule_for_values(view, (d,))
        assert rule is not None
        xs, fxs, items = run_rule(view, rule, (d,), (fargs[k].fdata("_mapping"),), {}, ())
    else:
        xs, fxs, items = call(way, None, args[k : k + 1], fargs[k : k + 1], protected=protected)
    if type(xs) is Raised:
        return xs, None, None if items is None else lambda dy: (items(None), None)[1]
    rest = (*args[:k], xs, *args[k + 1 :]), (*fargs[:k], fxs, *fargs[k + 1 :])
    try:
        y, fy, pb = call(f, None, *rest, *given[2:], protected)
    except BaseException as e:
        if items is None:
            raise
        if not protected:
            note_missing(e, "an iterator", "the call", 0)
            raise
        y, fy, pb = Raised(e), None, None

    def pullback(dy: Any) -> Any:
        ds = None if pb is None else pb(dy)
        back = None if items is None else items(None)  # a tuple whose class iterates its own way has a cotangent
        if ds is None:
            if back is None:
                return None
            ds = (None,) * (1 + len(args) + len(given.names))
        return (*ds[: k + 1], None if back is None else back[1], *ds[k + 2 :])

    return y, fy, pullback


def iterates_in_python(x: Any) -> bool:
    """Is x iterated over by Python code of its class?"""
    return type(_method_of_iteration(type(x))) is pytypes.FunctionType


def _method_of_iteration(cls: type) -> Any:
    method = class_attribute(cls, "__iter__")
    return class_attribute(cls, "__getitem__") if method is _MISSING else method


def items_of(x: Any) -> Iterator[Any]:
    """Iteration over an object that has items by number and no `__iter__`."""
    i = 0
    while True:
        try:
            item = x[i]
        except (IndexError, StopIteration):
            return
        yield item
        i += 1


_VIEWED = {DictValues: dict.values, DictItems: dict.items}
_TAKEN_AT_ONCE = (dict, *_VIEWED)


def dict_view(cls: type) -> Callable[[Call, Values, Values], tuple[Any, Any, Any] | None]:
    """`d.values()` or `d.items()` of a dict whose values may have derivatives, as an object of this class."""

    def handle(call: Call, args: Values, fargs: Values) -> tuple[Any, Any, Any] | None:
        if len(args) != 1 or type(fargs[0]) is not DictShadow:
            return None
        d = args[0]
        if type(d).__iter__ not in _OVER_KEYS:  # that says something else than what is in it
            d = dict(dict_kind(d).items(d))
        y = cls(d)
        return y, ObjectShadow(y, {"_mapping": fargs[0]}), None

    return handle


ITERATORS = Generator, SequenceIterator
ITERATION: dict[Any, Callable[[Call, Values, Values, bool], tuple[Any, Any, Any] | None]] = {
    iter: codual_iter,
    next: codual_next,
    kept_iterator: codual_iter,
    advance: codual_advance,
    **{f: _keys_by(f) for f in (dict.keys, dict.__iter__, dict.__reversed__, set.__iter__, frozenset.__iter__)},
    **{cls.__next__: codual_next for cls in KEY_ITERATORS},
    **{cls.__iter__: _keys_by(iter) for cls in KEYS_VIEWS},
    **{cls.__reversed__: _keys_by(reversed) for cls in KEYS_VIEWS},
    **{f: _keys_by(f) for f in (OrderedDict.keys, OrderedDict.__iter__, OrderedDict.__reversed__)},
}
"""What is run in place of these functions."""
at_run_time.update(ITERATION)
