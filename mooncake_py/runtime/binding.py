"""Arguments to parameters, as Python binds them, and cotangents of parameters back to arguments."""

from __future__ import annotations

import functools
import inspect
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py.errors import ArgumentError, UnsupportedError
from mooncake_py.infer.resolve import called_alone, class_attribute
from mooncake_py.spelling import takes_others
from mooncake_py.tangents import DictShadow, ListShadow

_ITSELF = (pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc, type)


def unwrap(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Bound methods, partials and callable objects as a function with more arguments."""
    while True:
        if type(f) is pytypes.MethodType:
            f, args = f.__func__, (f.__self__, *args)
        elif isinstance(f, functools.partial):
            f, args, kwargs = f.func, (*f.args, *args), {**f.keywords, **kwargs}
        elif isinstance(
            call := None if isinstance(f, _ITSELF) else class_attribute(type(f), "__call__"), pytypes.FunctionType
        ):
            f, args = call, (f, *args)
        elif call is not None and (alone := called_alone(call)) is not None:
            f = alone
        else:
            if type(f) is pytypes.FunctionType and f.__code__.co_flags & inspect.CO_GENERATOR:
                code = f.__code__
                hint = "differentiate a function that uses its items"
                raise UnsupportedError("the gradient of a generator", code.co_filename, code.co_firstlineno, hint)
            return f, args, kwargs


def bind(
    fn: pytypes.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], defaults: Any, kwdefaults: Any
) -> list[Any]:
    """The values of the parameters, in the order of the code's locals; TypeError as a call would raise."""
    code = fn.__code__
    n, names = code.co_argcount, code.co_varnames
    rest = dict(kwargs)
    values: list[Any] = list(args[:n])
    defaults = defaults or ()
    missing = []
    for i in range(len(values), n):
        name = names[i]
        if name in rest and i >= code.co_posonlyargcount:
            values.append(rest.pop(name))
        elif i >= n - len(defaults):
            values.append(defaults[i - n + len(defaults)])
        else:
            missing.append(name)
    for name in names[n : n + code.co_kwonlyargcount]:
        if name in rest:
            values.append(rest.pop(name))
        elif name in (kwdefaults or {}):
            values.append(kwdefaults[name])
        else:
            missing.append(name)
    extra = args[n:]
    if missing or (extra and not code.co_flags & inspect.CO_VARARGS) or (rest and not takes_others(code, rest)):
        fn(*args, **kwargs)  # raises the TypeError that says what is wrong, before any of its code runs
        raise ArgumentError(f"{fn.__qualname__}() cannot take these arguments")
    if code.co_flags & inspect.CO_VARARGS:
        values.append(tuple(extra))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        values.append(rest)
    return values


class Box:
    """Stands for one argument while it is bound to a parameter."""

    __slots__ = ("index", "primal", "shadow")

    def __init__(self, index: int, primal: Any, shadow: Any):
        self.index, self.primal, self.shadow = index, primal, shadow


class Slots:
    """Follows arguments through binding: into `*args` tuples and `**kwargs` dicts and back."""

    def __init__(self) -> None:
        self.n = 0
        self.dicts: list[tuple[dict, DictShadow]] = []
        self.boxed_defaults: tuple[ListShadow, int] | None = None
        self.boxed_kwdefaults: tuple[DictShadow, int, list] | None = None

    def box(self, x: Any, fx: Any) -> Box:
        self.n += 1
        return Box(self.n - 1, x, fx)

    def primal(self, v: Any) -> Any:
        if type(v) is Box:
            return v.primal
        if type(v) is tuple:
            return tuple(map(self.primal, v))
        if type(v) is dict and any(type(x) is Box for x in v.values()):
            return {k: self.primal(x) for k, x in v.items()}
        return v

    def fdata(self, v: Any) -> Any:
        if type(v) is Box:
            return v.shadow
        if type(v) is tuple:
            f = tuple(map(self.fdata, v))
            return f if any(x is not None for x in f) else None
        if type(v) is dict and any(type(x) is Box for x in v.values()):
            shadow = DictShadow({k: self.fdata(x) for k, x in v.items()})
            self.dicts.append((v, shadow))
            return shadow
        return None

    def defaults(self, f: pytypes.FunctionType, ff: Any) -> tuple[Any, Any]:
        """The default values, boxed where they carry a derivative."""
        if ff is None or (ff.defaults is None and ff.kwdefaults is None):
            return f.__defaults__, f.__kwdefaults__
        d, kd = f.__defaults__, f.__kwdefaults__
        if ff.defaults is not None and d is not None:
            self.boxed_defaults = ff.defaults, self.n
            d = tuple(self.box(x, fx) for x, fx in zip(d, ff.defaults.f, strict=True))
        if ff.kwdefaults is not None and kd is not None:
            self.boxed_kwdefaults = ff.kwdefaults, self.n, list(kd)
            kd = {k: self.box(x, ff.kwdefaults.f.get(k)) for k, x in kd.items()}
        return d, kd

    def scatter(self, params: list[Any], ds: list[Any]) -> list[Any]:
        out: list[Any] = [None] * self.n

        def put(v: Any, d: Any) -> None:
            if d is None:
                return
            if type(v) is Box:
                out[v.index] = d
            elif type(v) is tuple:
                for x, y in zip(v, d, strict=True):
                    put(x, y)

        for v, d in zip(params, ds, strict=True):
            put(v, d)
        for v, shadow in self.dicts:
            for k, t in shadow.r.items():
                put(v[k], t)
            shadow.r.clear()
        n = self.n
        if self.boxed_kwdefaults is not None:
            kwshadow, n, keys = self.boxed_kwdefaults
            for k, t in zip(keys, out[n:], strict=False):
                kwshadow.add_item(k, t)
        if self.boxed_defaults is not None:
            dshadow, first = self.boxed_defaults
            dshadow.add(out[first:n])
            n = first
        return out[:n]
