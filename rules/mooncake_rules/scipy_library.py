"""Rules of SciPy's Python functions, each with the function's own signature, from the cotangents of its arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import infer_table, overlay, pure, rrule, zero_derivative
from mooncake_py.shadows import NoDerivative
from mooncake_rules.common import is_inexact, unbroadcast
from mooncake_rules.sequences import unstack
from mooncake_rules.stacks import cores, one_by_one, stack_shape

_IGNORED = frozenset({
    "overwrite_a", "overwrite_b", "overwrite_ab", "overwrite_x", "overwrite_data", "lwork", "workers",
})  # fmt: skip
"""Options about speed: a rule does without (and must not let its arguments be overwritten)."""


def library_rule(
    f: Callable[..., Any],
    arrays: int | tuple[str, ...],
    cotangents: Callable[..., Any],
    types: Any = (),
    infer: Any = None,
    matrices: dict[str, Any] | None = None,
) -> None:
    """Register the rule of the Python function f.

    `arrays`: how many leading parameters have a derivative, or their names. `cotangents(dy, y, o)` is given the
    cotangent, the value and all arguments by name (`o["axis"]`), the differentiable ones as arrays, and returns the
    cotangents of those, in their order. Lists and tuples are taken as the arrays they stand for. The other arguments
    must be constants, and are refused where they are not. `matrices`: the dimensions of those that may be stacks, of
    which `cotangents` sees one after the other; what SciPy's own decorator says of f need not be said.
    """
    params = list(inspect.signature(f).parameters.values())
    given = tuple(p.name for p in params[:arrays]) if isinstance(arrays, int) else arrays
    to_array = f.__module__.startswith("scipy.ndimage")  # elsewhere `output` is another thing
    if to_array and any(p.name == "output" and p.default is not p.empty for p in params):
        writes_output(f)
    name = f"{f.__module__}.{f.__name__}"
    scope: dict[str, Any] = {"f": f, "spread": _spread, "given": given, "none": only_none}
    scope["cotangents"] = of_stacks(f, given, cotangents, matrices or cores(f))
    spelled, passed, kept = [], [], []
    star = False
    more = "[]"
    by_name = False
    for p in params:
        if to_array and p.name == "output" and p.default is not p.empty:
            by_name = True  # what follows cannot be given by position
            continue
        if to_array and p.name == "output":
            spelled.append("output")
            passed.append("none(output)")
            continue
        if p.kind is p.VAR_KEYWORD:
            spelled.append(f"**{p.name}")
            passed.append(f"**{p.name}")
            kept.append(f"**{p.name}")
            scope["others"] = NoDerivative(name, "a keyword argument")
            more = f"[others] * len({p.name})"
            continue
        if (by_name or p.kind is p.KEYWORD_ONLY) and not star:
            spelled.append("*")
            star = True
        default = ""
        if p.default is not p.empty:
            scope[f"default_{p.name}"] = p.default
            default = f"=default_{p.name}"
        spelled.append(p.name + default)
        if p.name not in _IGNORED:
            passed.append(f"{p.name}={p.name}" if star or p.default is not p.empty else p.name)
            kept.append(f"{p.name!r}: {p.name}")
    scope["blank"] = {
        p.name: NoDerivative(name, f"its argument {p.name!r}")
        for p in params
        if p.kind is not p.VAR_KEYWORD and not (to_array and p.name == "output" and p.default is not p.empty)
    }
    source = (
        f"def rule({', '.join(spelled)}):\n"
        f"    result_ = f({', '.join(passed)})\n"
        f"    def pullback(dy_):\n"
        f"        return spread(cotangents, given, blank, {more}, dy_, result_, {{{', '.join(kept)}}})\n"
        f"    return result_, pullback\n"
    )
    scope["__name__"] = __name__  # no code of the user's
    exec(compile(source, f"<the rule of {name}>", "exec"), scope)
    rrule(f, types=types)(scope["rule"])
    pure.add(f)
    if infer is not None:
        infer_table[f] = infer


def of_stacks(
    f: Any, given: tuple[str, ...], cotangents: Callable[..., Any], ndims: dict[str, Any]
) -> Callable[..., Any]:
    """The cotangents of a function of single matrices or of stacks of them, from those for single ones."""
    if not ndims:
        return cotangents

    def of_any(dy: Any, y: Any, o: dict[str, Any]) -> Any:
        shape = stack_shape(ndims, o)
        if not shape:
            return cotangents(dy, y, o)
        ds = one_by_one(f, ndims, o, shape, dy)
        return tuple([ds.get(k) for k in given])

    return of_any


def only_none(output):
    if output is not None:
        raise NotDifferentiated("it is differentiated without `output`: write the result into it")


def fit_for_output(x, output):
    """The image x in numbers that hold those of `output`: SciPy computes in these, and does not round before."""
    if output is None:
        return x
    return np.asarray(x, np.result_type(np.asarray(x), output if isinstance(output, np.ndarray) else np.dtype(output)))


def as_output(y, output):
    """The result y where SciPy's `output` says that it should be: in an array, or a new one of this dtype."""
    if output is None:
        return y
    if not isinstance(output, np.ndarray):
        return y.astype(output)
    if np.shape(y) != output.shape:
        raise RuntimeError("output shape not correct")
    output[...] = y
    return output


def in_whole_numbers(output):
    """Does SciPy's `output` say that the result is one of whole numbers, which have no derivative?"""
    if output is None:
        return False
    return np.dtype(output.dtype if isinstance(output, np.ndarray) else output).kind in "biu"


def cut(f, output, given):
    """The result in the whole numbers of `output`, to which SciPy cuts after each axis."""
    return f(**given, output=output.dtype if isinstance(output, np.ndarray) else output)


zero_derivative(in_whole_numbers, cut)


def writes_output(f: Callable[..., Any]) -> None:
    """`f(x, output=z)` is f(x) written into z; z may be the class of the result's numbers as well."""
    spelled, passed, given = [], [], []
    scope: dict[str, Any] = {
        "f": f, "as_output": as_output, "fit": fit_for_output, "cut": cut, "in_whole_numbers": in_whole_numbers,
        "__name__": __name__,
    }  # fmt: skip
    star = False
    for p in inspect.signature(f).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            spelled.append("*")
            star = True
        scope[f"default_{p.name}"] = p.default
        spelled.append(p.name if p.default is p.empty else f"{p.name}=default_{p.name}")
        if p.name != "output":
            given.append(f"{p.name!r}: {p.name}")
            passed.append("input=fit(input, output)" if p.name == "input" else f"{p.name}={p.name}")
    source = (
        f"def into_output({', '.join(spelled)}):\n"
        f"    if in_whole_numbers(output):\n"
        f"        return as_output(cut(f, output, {{{', '.join(given)}}}), output)\n"
        f"    return as_output(f({', '.join(passed)}), output)\n"
    )
    exec(compile(source, f"<{f.__name__} with output>", "exec"), scope)
    overlay(f)(scope["into_output"])


def _spread(
    cotangents: Callable[..., Any],
    given: tuple[str, ...],
    blank: dict[str, Any],
    others: list[Any],
    dy: Any,
    y: Any,
    o: dict[str, Any],
) -> tuple[Any, ...]:
    like = {k: o[k] for k in given}
    o.update({k: _as_array(v) for k, v in like.items()})
    out = {k: unknown_by(t, o.get(k)) for k, t in blank.items()}
    nothing = type(y) is np.ndarray and not y.size
    if not is_inexact(y):
        ds: Any = (None,) * len(given)
    else:
        ds = tuple([np.zeros_like(o[k]) for k in given]) if nothing else cotangents(dy, y, o)
    for k, d in zip(given, ds if type(ds) is tuple else (ds,), strict=True):
        out[k] = _fitted(d, like[k])
    return *out.values(), *others


_CONSTANT = frozenset({type(None), int, bool, str, np.int64})
"""Classes of options that nobody differentiates by, whatever is known of them before they are there."""


def is_constant(v: Any) -> bool:
    """Is v an option, or a whole number, or a list, a tuple or an array of such?"""
    if type(v) in (list, tuple):
        return all(map(is_constant, v))
    return type(v) in _CONSTANT or (type(v) is np.ndarray and not is_inexact(v))


def unknown_by(t: NoDerivative, v: Any) -> Any:
    """The cotangent t of an option v by which nothing is known; a list of constants has one in each place."""
    if is_constant(v):
        return None
    return type(v)([unknown_by(t, x) for x in v]) if type(v) in (list, tuple) else t


def _as_array(x: Any) -> Any:
    if x is None or (type(x) in (tuple, list) and any(type(v) is np.ndarray for v in x)):
        if type(x) is not list or len({np.shape(v) for v in x}) > 1:  # factors of several kinds, not rows
            return x
    return np.asarray(x)


def _fitted(d: Any, like: Any) -> Any:
    """A cotangent in the kind and structure of its argument."""
    if d is None or type(d) in (tuple, NoDerivative) or like is None:
        return d
    if type(like) is not np.ndarray:
        return unstack(np.asarray(d), like) if isinstance(like, (list, tuple)) else unstack(np.asarray(d)[()], like)
    return d.real if np.iscomplexobj(d) and like.dtype.kind != "c" else d


def fitted(t: Any, like: Any) -> Any:
    """A cotangent of a broadcast value as one of an argument."""
    if t is None or type(t) is NoDerivative:
        return t
    if isinstance(like, np.ndarray):
        t = unbroadcast(np.asarray(t), like.shape)
        return t.astype(like.dtype, copy=False) if like.dtype.kind == "f" else t
    return unstack(unbroadcast(np.asarray(t), np.shape(like)), like) if isinstance(like, (list, tuple)) else np.sum(t)


pure.add(_spread)
