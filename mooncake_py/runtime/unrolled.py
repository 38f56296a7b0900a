"""A warm call, written out for one signature: what it asks of its arguments, the two runs, and the cotangents.

A loop over ten arrays, or ten calls and twenty attributes, cost as much as the small gradient they belong to. The code
is made once for all calls whose arguments are of the same classes, dtypes and numbers of dimensions; what differs
between these are its constants.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from mooncake_py import registry
from mooncake_py.fields import ABSENT, one_like
from mooncake_py.run import begin, end
from mooncake_py.runtime.rule import seed_result
from mooncake_py.runtime.user import Seen, report
from mooncake_py.sums import read_once
from mooncake_py.switches import current

Spec = tuple[type, np.dtype | None, int]
"""Of an argument its class and, of an array, dtype and number of dimensions."""

_NONE_GIVEN: frozenset[int] = frozenset()
_FILE = "<mooncake_py.warm>"


def spec_of(a: Any) -> Spec:
    return (type(a), a.dtype, a.ndim) if type(a) is np.ndarray else (type(a), None, 0)


@functools.lru_cache(256)
def fitting(specs: tuple[Spec, ...]) -> Callable[[tuple[Any, ...]], bool]:
    """Are as many arguments of these classes, dtypes and dimensions?"""
    scope: dict[str, Any] = {}
    unpack = _unpack("a", range(len(specs)), len(specs))
    tests = _tests(specs, scope)
    exec(compile(f"def fitting(args):\n    {unpack}= args\n    return {' and '.join(tests)}", _FILE, "exec"), scope)
    return scope["fitting"]


class Way(NamedTuple):
    """What a warm call is written out for."""

    specs: tuple[Spec, ...]
    chosen: tuple[int, ...]
    single: bool
    total: int
    """The number of cotangents that a pullback gives."""
    fitted: bool
    """Is it asked of each argument by a `Fit` whether it is of its type, for there are containers or objects?"""
    filled: bool
    """Are the parameters found from the call by a `Filling`, are they not the arguments as they are given?"""
    cells: bool
    scalar: bool
    """Is the value a number, is it not a pair of one and something else?"""
    small: bool
    """Is what the forward run keeps too little to be freed before the pullback returns?"""
    stacks: bool
    taken: bool
    """Does the rule rely on the code of functions that it has taken in?"""


_CONSTANTS = (
    *("parameters", "function", "code", "fits", "options", "generation", "guards", "valid", "cells", "same_cells"),
    *("forward", "pullback", "one", "one_type", "tree", "stacks"),
)
"""What differs between calls that are written out the same."""

_SOURCE = """\
def make({constants}):
    def call(args, kwargs):
        if {other_call}: return None
        {arguments} = args
        if not ({fitting}): return None
        if function.__code__ is not code or switches() is not options or registry.generation != generation: return None
        if {other_cells}: return None
        for get, name, value in guards:
            if get(name, ABSENT) is not value and not valid(): return None
        if {not_valid}: return None
        outer = begin()
        try:
            {run}
            ds = pullback({captures}, {seed})
        finally:
            end(outer)
        {cotangents} = ds
        if {twice}: return y, report_all(ds, args, {chosen})
        return y, {reported}
    return call
"""


def call_of(way: Way, **constants: Any) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """The function of `(args, kwargs)` that a warm call is: None where it is not a call of the same signature."""
    return _maker(way)(*[constants[name] for name in _CONSTANTS])


@functools.lru_cache(256)
def _maker(way: Way) -> Callable[..., Any]:
    """What makes such calls of constants; a question that need not be asked is `if False:`, which costs nothing."""
    specs, chosen, scope = way.specs, way.chosen, dict(_ENGINE)
    numbers = range(len(specs))
    arrays = [f"d{k}" for k in chosen if specs[k][1] is not None]
    inputs = ", ".join([*(f"a{i}" for i in numbers), *["*cells"] * way.cells])
    # Most captures are given away: the pullback, which runs once, frees each array after its last use.
    run = f"y, fy, {'' if way.small else '*'}captures = forward({inputs})"
    source = _SOURCE.format(
        constants=", ".join(_CONSTANTS),
        other_call="(args := parameters(args, kwargs)) is None"
        if way.filled
        else f"kwargs or len(args) != {len(specs)}",
        arguments=_unpack("a", numbers, len(specs)),
        fitting=" and ".join([f"fits[{i}](a{i})" for i in numbers] if way.fitted else _tests(specs, scope)),
        other_cells="not same_cells(cells)" if way.cells else "False",
        not_valid="not valid()" if way.taken else "False",
        run=f"{run}; captures[0] = read_once(captures[0], stacks)" if way.stacks else run,
        captures="captures" if way.small else "captures.pop()",
        seed="one if type(y) is one_type else one_like(y)"
        if way.scalar
        else "seed_result(tree, y, fy, (one_like(y[0]), None))",
        cotangents=_unpack("d", chosen, way.total),
        twice=f"len({{{', '.join(f'id({d})' for d in arrays)}}}) < {len(arrays)}" if len(arrays) > 1 else "False",
        chosen=repr(chosen),
        reported=_reported(way, scope),
    )
    exec(compile(source, _FILE, "exec"), scope)
    return scope["make"]


def _tests(specs: tuple[Spec, ...], scope: dict[str, Any]) -> list[str]:
    """Are a0, a1 ... of these classes, dtypes and dimensions?"""
    tests = []
    for i, (cls, dtype, ndim) in enumerate(specs):
        tests.append(f"type(a{i}) is {_named(scope, 'c', cls)}")
        if dtype is not None:
            name = _named(scope, "t", dtype)
            tests.append(f"a{i}.ndim == {ndim} and (a{i}.dtype is {name} or a{i}.dtype == {name})")
    return tests


def _reported(way: Way, scope: dict[str, Any]) -> str:
    """The cotangents of the chosen arguments, as they are given to the user.

    Most are the user's as they are: a float, an array of its argument's dtype and shape that shares its memory with no
    other. What is not goes through `report`.
    """
    items = []
    for k in way.chosen:
        cls, dtype, ndim = way.specs[k]
        as_it_is = f"type(d{k}) is float" if cls is float else "False"
        if dtype is not None:
            as_it_is = f"type(d{k}) is {_named(scope, 'c', np.ndarray)} and d{k}.base is None"
            as_it_is += f" and d{k}.dtype is {_named(scope, 't', dtype)} and {_same_shape(k, ndim)}"
            as_it_is += f" and d{k}.flags.c_contiguous" if ndim > 1 else ""
        items.append(f"d{k} if {as_it_is} else report(a{k}, None, d{k}, Seen(), NONE_GIVEN)")
    return items[0] if way.single else "(" + "".join(f"{item}, " for item in items) + ")"


def _unpack(name: str, wanted: Iterable[int], n: int) -> str:
    """Names for the items of a tuple of n, `_` for those nobody asks for."""
    wanted = set(wanted)
    return "".join(f"{name}{i}, " if i in wanted else "_, " for i in range(n))


def _same_shape(k: int, ndim: int) -> str:
    """Two shapes that are compared as tuples cost twice as much as two lengths."""
    return f"d{k}.ndim == 1 and len(d{k}) == len(a{k})" if ndim == 1 else f"d{k}.shape == a{k}.shape"


def _report_all(ds: Any, args: tuple[Any, ...], chosen: tuple[int, ...]) -> tuple[Any, ...]:
    """Where one array came as the cotangent of two arguments."""
    seen = Seen()
    return tuple([report(args[k], None, ds[k], seen, _NONE_GIVEN) for k in chosen])


_ENGINE: dict[str, Any] = {
    "ABSENT": ABSENT,
    "NONE_GIVEN": _NONE_GIVEN,
    "Seen": Seen,
    "begin": begin,
    "end": end,
    "one_like": one_like,
    "read_once": read_once,
    "registry": registry,
    "report": report,
    "report_all": _report_all,
    "seed_result": seed_result,
    "switches": current,
}


def _named(scope: dict[str, Any], kind: str, value: Any) -> str:
    """A name for a constant of the code."""
    for name, known in scope.items():
        if known is value:
            return name
    name = f"{kind}{len(scope)}_"
    scope[name] = value
    return name
