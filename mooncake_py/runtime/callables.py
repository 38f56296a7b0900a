"""Callable objects of the standard library that carry values: partials, cached functions, getters of `operator`."""

from __future__ import annotations

import functools
import operator
from typing import Any

from mooncake_py import run
from mooncake_py.registry import seen_through
from mooncake_py.runtime.results import Call, Given, Result, through, without_first
from mooncake_py.structure import KEYS, compared_by
from mooncake_py.tangents import DictShadow, ListShadow, PartialShadow, add_any
from mooncake_py.unwinding import Raised


def call_object(
    call: Call,
    f: Any,
    ff: Any,
    given: Given,
) -> Result | None:
    """A call of one of them; None where f is something else."""
    if f is functools.partial:
        return make_partial(given)
    if isinstance(f, functools.partial):
        return _partial(call, f, ff, given)
    if type(f) is functools._lru_cache_wrapper:
        return _cached(call, f, ff, given)
    if type(f) is staticmethod:
        return call(f.__func__, None, *given)
    if type(f) is KEYS:
        if not run.is_wary() and not any(f is not None for f in given.fargs):  # numbers, to compare and not to note
            return f(*given.args, **given.kwargs), None, None
        key, fkey, _ = call(seen_through(functools.cmp_to_key), None, (compared_by(f),), (None,))
        return call(key, fkey, *given)
    if type(f) in _GETTERS and not given.names:
        return without_first(call(_GETTERS[type(f)], None, *given.after(_given(f), None)))
    if type(f) is operator.methodcaller and not given.names:
        how = _method_call(f)
        result = call(_call_method, None, (*how, *given.args), (None, None, None, *given.fargs))
        return through(result, lambda ds: (None, ds[4]))
    return None


def _given(getter: Any) -> Any:
    """The keys or names that a getter was made with."""
    return _reduced(getter)[1]


def _reduced(x: Any) -> Any:
    return x.__reduce__()


def _method_call(f: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    how, given = _reduced(f)[:2]
    keywords = how.keywords if isinstance(how, functools.partial) else {}
    if isinstance(how, functools.partial):
        given = how.args + given
    return given[0], given[1:], keywords


def _call_method(name, given, keywords, x):  # type: ignore[no-untyped-def]
    return getattr(x, name)(*given, **keywords)


def _get_items(keys, x):  # type: ignore[no-untyped-def]
    return x[keys[0]] if len(keys) == 1 else tuple([x[k] for k in keys])


def _get_attributes(names, x):  # type: ignore[no-untyped-def]
    found = []
    for name in names:
        y = x
        for part in name.split("."):
            y = getattr(y, part)
        found.append(y)
    return found[0] if len(found) == 1 else tuple(found)


_GETTERS: dict[type, Any] = {operator.itemgetter: _get_items, operator.attrgetter: _get_attributes}


# -- partial ----------------------------------------------------------------------------------------------


def make_partial(
    given: Given,
) -> Result:
    """`functools.partial(f, *args, **kwargs)`."""
    args, fargs, names, _, kwfdata = given
    y = functools.partial(args[0], *args[1:], **given.kwargs)
    inner, bound = fargs[0], list(fargs[1:])
    base = args[0] if isinstance(args[0], functools.partial) and type(inner) is PartialShadow else None
    skipped = len(y.args) - len(bound)
    keywords = dict.fromkeys(y.keywords)
    if base is not None:
        bound = [*inner.args.f, *bound]
        keywords.update(inner.keywords.f)
        inner_f = inner.func
    else:
        inner_f = inner
        bound = [None] * skipped + bound
    keywords.update(zip(names, kwfdata, strict=True))
    shadow = PartialShadow(inner_f, ListShadow(bound, [None] * len(bound)), DictShadow(keywords))

    def pullback(_: Any) -> Any:
        r, shadow.args.r[:] = list(shadow.args.r), [None] * len(bound)
        kr = dict(shadow.keywords.r)
        shadow.keywords.r.clear()
        mine = tuple(kr.pop(k, None) for k in names)
        if base is not None:
            for i in range(skipped):
                inner.args.add_item(i, r[i])
            for k, t in kr.items():
                inner.keywords.add_item(k, t)
        return (None, None, *r[skipped:], *mine)

    return y, shadow, pullback


def _partial(
    call: Call,
    f: functools.partial,
    ff: Any,
    given: Given,
) -> Result:
    args, fargs, names, kwvalues, kwfdata = given
    n, keywords = len(f.args), {k: v for k, v in f.keywords.items() if k not in names}
    shadow = ff if type(ff) is PartialShadow else None
    if shadow is None and type(written := run.current().shadow(f.keywords)) is DictShadow:
        shadow = PartialShadow(None, ListShadow([None] * n, [None] * n), written)
    bound = (None,) * n if shadow is None else tuple(shadow.args.f)
    kwbound = tuple(None if shadow is None else shadow.keywords.f.get(k) for k in keywords)
    y, fy, pb = call(
        f.func,
        None if shadow is None else shadow.func,
        (*f.args, *args),
        (*bound, *fargs),
        (*keywords, *names),
        (*keywords.values(), *kwvalues),
        (*kwbound, *kwfdata),
    )
    if pb is None:
        return y, fy, None

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        if ds is None:
            return None
        ds = tuple(ds)
        k = 1 + n + len(args)
        if shadow is not None:
            for i in range(n):
                shadow.args.add_item(i, ds[1 + i])
            for name, t in zip(keywords, ds[k:], strict=False):
                shadow.keywords.add_item(name, t)
        return (None, *ds[1 + n : k], *ds[k + len(keywords) :])

    return y, fy, pullback


def part_of_partial(x: functools.partial, shadow: PartialShadow, name: str) -> Result | None:
    """`x.func`, `x.args` or `x.keywords`: what the partial was made with."""
    if name == "args":
        n = len(x.args)

        def pullback(dy: Any) -> Any:
            for i in range(n if dy is not None else 0):
                shadow.args.add_item(i, dy[i])
            return None

        return x.args, tuple(shadow.args.f), pullback
    known = {"func": shadow.func, "keywords": shadow.keywords}  # things with identity, which keep their cotangents
    return (getattr(x, name), known[name], None) if name in known else None


# -- functools.cache --------------------------------------------------------------------------------------


class _Memo:
    """A result of a cached function in this run; `r` collects the cotangents of those who were given it."""

    __slots__ = ("fy", "r", "y")

    def __init__(self, y: Any, fy: Any):
        self.y, self.fy, self.r = y, fy, None


class _Memos(dict[Any, _Memo]):
    """The results of a cached function in this run, by its arguments."""

    hits = misses = 0


def _memo_of(f: Any) -> _Memos:
    memo: _Memos = run.current().memos.setdefault(("cache", id(f)), _Memos())
    return memo


def cache_clear(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """`f.cache_clear()`: what was computed in this run is forgotten as well."""
    args[0].cache_clear()
    memo = _memo_of(args[0])
    memo.clear()
    memo.hits = memo.misses = 0
    return None, None, None


def cache_info(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """`f.cache_info()`: what plain calls did, and this run."""
    y = args[0].cache_info()
    memo = _memo_of(args[0])
    size = y.currsize + len(memo)
    size = size if y.maxsize is None else min(size, y.maxsize)
    return y._replace(hits=y.hits + memo.hits, misses=y.misses + memo.misses, currsize=size), None, None


def _cached(
    call: Call,
    f: Any,
    ff: Any,
    given: Given,
) -> Result:
    """A function with a cache: within a run each result is computed once, with its pullback.

    What earlier plain calls left in the cache has no derivative and is not used.
    """
    memo = _memo_of(f)
    key = (tuple((type(x), x) for x in given.args), tuple(zip(given.names, given.kwvalues, strict=True)))
    most = f.cache_parameters()["maxsize"]
    found = memo.get(key)
    if found is not None:
        memo.hits += 1
        memo[key] = memo.pop(key)  # the last that goes

        def again(dy: Any) -> Any:
            if dy is not None:
                found.r = add_any(found.r, None, dy)
            return None

        return found.y, found.fy, again
    y, fy, pb = call(f.__wrapped__, ff, *given)
    if type(y) is Raised:
        return y, fy, pb
    kept = memo[key] = _Memo(y, fy)
    memo.misses += 1
    if most is not None and len(memo) > most:
        del memo[next(iter(memo))]

    def pullback(dy: Any) -> Any:
        r, kept.r = kept.r, None
        return None if pb is None else pb(add_any(dy, None, r))

    return y, fy, pullback
