"""What a warm call asks of its arguments and of their cotangents, written out for one signature.

A loop over ten arrays costs as much as the small gradient it belongs to: both functions are one expression that names
every argument, made once for all calls whose arguments are of the same classes, dtypes and numbers of dimensions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.runtime.user import Seen, report

Spec = tuple[type, np.dtype | None, int]
"""Of an argument its class and, of an array, dtype and number of dimensions."""

_NONE_GIVEN: frozenset[int] = frozenset()


def spec_of(a: Any) -> Spec:
    return (type(a), a.dtype, a.ndim) if type(a) is np.ndarray else (type(a), None, 0)


@functools.lru_cache(256)
def fitting(specs: tuple[Spec, ...]) -> Callable[[tuple[Any, ...]], bool]:
    """Are as many arguments of these classes, dtypes and dimensions?"""
    scope: dict[str, Any] = {}
    tests = []
    for i, (cls, dtype, ndim) in enumerate(specs):
        tests.append(f"type(a{i}) is {_named(scope, 'c', cls)}")
        if dtype is not None:
            name = _named(scope, "t", dtype)
            tests.append(f"a{i}.ndim == {ndim} and (a{i}.dtype is {name} or a{i}.dtype == {name})")
    unpack = "".join(f"a{i}, " for i in range(len(specs)))
    return _function("fitting", "args", [f"{unpack}= args", f"return {' and '.join(tests)}"], scope)


@functools.lru_cache(256)
def reported(
    specs: tuple[Spec, ...], total: int, chosen: tuple[int, ...], single: bool
) -> Callable[[Any, tuple[Any, ...]], Any]:
    """The cotangents of the chosen ones among arguments that were found `fitting`, as they are given to the user.

    A pullback gives `total` of them. Most are the user's as they are: a float, an array of its argument's dtype and
    shape that shares its memory with no other. What is not goes through `report`.
    """
    scope: dict[str, Any] = {"report": report, "Seen": Seen, "none": _NONE_GIVEN, "slow": _report_all, "chosen": chosen}
    items, arrays = [], []
    for k in chosen:
        cls, dtype, ndim = specs[k]
        as_it_is = f"type(d{k}) is float" if cls is float else "False"
        if dtype is not None:
            arrays.append(f"d{k}")
            as_it_is = f"type(d{k}) is {_named(scope, 'c', np.ndarray)} and d{k}.base is None"
            as_it_is += f" and d{k}.dtype is {_named(scope, 't', dtype)} and {_same_shape(k, ndim)}"
            as_it_is += f" and d{k}.flags.c_contiguous" if ndim > 1 else ""
        items.append(f"d{k} if {as_it_is} else report(a{k}, None, d{k}, Seen(), none)")
    lines = []
    for v, whole, n in (("a", "args", len(specs)), ("d", "ds", total)):
        lines.append("".join(f"{v}{i}, " if i in chosen else "_, " for i in range(n)) + f"= {whole}")
    if len(arrays) > 1:
        ids = ", ".join(f"id({d})" for d in arrays)
        lines += [f"if len({{{ids}}}) < {len(arrays)}:", "    return slow(ds, args, chosen)"]
    result = items[0] if single else "(" + "".join(f"{item}, " for item in items) + ")"
    return _function("reported", "ds, args", [*lines, f"return {result}"], scope)


def _same_shape(k: int, ndim: int) -> str:
    """Two shapes that are compared as tuples cost twice as much as two lengths."""
    return f"d{k}.ndim == 1 and len(d{k}) == len(a{k})" if ndim == 1 else f"d{k}.shape == a{k}.shape"


def _report_all(ds: Any, args: tuple[Any, ...], chosen: tuple[int, ...]) -> tuple[Any, ...]:
    """Where one array came as the cotangent of two arguments."""
    seen = Seen()
    return tuple([report(args[k], None, ds[k], seen, _NONE_GIVEN) for k in chosen])


def _named(scope: dict[str, Any], kind: str, value: Any) -> str:
    """A name for a constant of the code."""
    for name, known in scope.items():
        if known is value:
            return name
    name = f"{kind}{len(scope)}_"
    scope[name] = value
    return name


def _function(name: str, params: str, lines: list[str], scope: dict[str, Any]) -> Callable[..., Any]:
    source = f"def {name}({params}):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<mooncake_py.warm>", "exec"), scope)
    return scope[name]
