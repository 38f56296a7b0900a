"""Types and calls in words."""

from __future__ import annotations

import types as pytypes
from typing import Any

from mooncake_py.infer.types import Arr, Bot, Cell, Dct, Fn, Inst, Known, Lst, Meth, Real, Rec, T, Top, Tup, Union


def type_text(t: T) -> str:
    """The type of a value: `float, active`, `float64 array, 2-d`."""
    return _plain(t) + (", active" if t.active else "")


def _plain(t: T) -> str:
    match t:
        case Known(value=v):
            return f"known: {name_of(v)}"
        case Inst(cls=c):
            return c.__name__
        case Rec(cls=c):
            return f"such a {c.__name__}" if c in (tuple, list, dict) else c.__name__
        case Real():
            return "real number"
        case Arr(dtype=d, ndim=n, least=least):
            ndim = f"{n}-d" if n is not None else f"{least}-d or more" if least else "?-d"
            return f"{d if d is not None else 'unknown'} array, {ndim}"
        case Tup(raw=items):
            name = "" if t.cls is tuple else t.cls.__name__
            return name + "(" + ", ".join(map(_plain, items)) + ("," if len(items) == 1 and not name else "") + ")"
        case Lst(raw=e, cls=c):
            return f"{c.__name__} of {_plain(e)}"
        case Dct(raw_fields=fields, raw=e):
            parts = [f"{k!r}: {_plain(x)}" for k, x in fields] + ([] if isinstance(e, Bot) and fields else [_plain(e)])
            return f"dict of {', '.join(parts)}"
        case Cell(elem=e):
            return f"cell of {_plain(e)}"
        case Fn(code=c):
            return f"function {c.co_name}"
        case Meth(func=m):
            return f"method {getattr(m, '__name__', m)}"
        case Bot():
            return "never reached"
        case Union(options=options):
            return " or ".join(map(_plain, options))
        case Top():
            return "unknown"
    return repr(t)


def name_of(f: Any) -> str:
    """A function, class or module by its name, other values as they print."""
    if isinstance(f, pytypes.ModuleType):
        return f.__name__
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if name is None or not isinstance(name, str):
        text = repr(f)
        return text if len(text) <= 60 else text[:57] + "..."
    module = getattr(f, "__module__", None) or getattr(getattr(f, "__objclass__", None), "__module__", None)
    module = {"_operator": "operator"}.get(module or "", module)
    return f"{module}.{name}" if module and module != "builtins" else name
