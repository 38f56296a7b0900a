"""Exceptions as objects: what they hold besides attributes is the tuple of their arguments."""

from __future__ import annotations

import builtins
import types as pytypes
from typing import Any

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import ARGS
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.kinds import Constant
from mooncake_py.raised import looked_at
from mooncake_py.runtime.results import Call, Pull, Result
from mooncake_py.runtime.stored import shadow_of_attributes, writable_shadow
from mooncake_py.structure import is_user_class
from mooncake_py.tangents import ObjectShadow, add_any, has_tangent
from mooncake_py.unwinding import give_tangent, hold_tangent, tangent_of


def make_exception(cls: type[BaseException], args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """An exception that holds its arguments and nothing else; None where its class does more with them."""
    if any(type(class_attribute(cls, k)) is not type(class_attribute(Exception, k)) for k in ("__new__", "__init__")):
        return None
    exc = cls(*args)
    if len(exc.args) != len(args) or any(a is not b for a, b in zip(exc.args, args, strict=True)):
        return None
    shadow = give_tangent(exc, fargs)

    def pullback(_: Any) -> Any:
        return (None, *shadow.take())

    return exc, shadow, pullback


def of_exception(exc: BaseException, name: str) -> Result | None:
    """`exc.args`, and what else a builtin exception gives that is one of its arguments: the `value` of a StopIteration,
    the `code` of a SystemExit; None for other attributes, and where there is no derivative."""
    shadow = tangent_of(exc)
    if shadow is None and name == "args" and type(exc) is KeyError and not isinstance(exc.args, Constant.cls):
        what = "reading back the key in a KeyError that Python raised, which may have a derivative,"
        raise UnsupportedError(what, "the call", None, "use the key itself")
    if shadow is None and not name.startswith("__"):
        looked_at(exc)  # it may be the one being handled, which nobody has caught in sight
    if shadow is None or type(class_attribute(type(exc), name)) not in _STORED:
        return None
    y, f, r = getattr(exc, name), shadow.f, shadow.r
    place = next((i for i, x in enumerate(exc.args) if x is y), None)

    def pullback(dy: Any) -> None:
        if dy is not None:
            for i, t in enumerate(dy) if place is None else ((place, dy),):
                r[i] = add_any(r[i], f[i], t)

    if place is not None:
        return y, f[place], pullback
    if y is exc.args or name == "args":
        return y, f if any(x is not None for x in f) else None, pullback
    if has_tangent(y) and not isinstance(y, BaseException):  # which has a tangent of its own
        what = f"reading {name!r} of an exception that holds what has a derivative"
        raise UnsupportedError(what, "the call", None, "read it from its args")
    return None


def read_args(x: BaseException, fx: Any) -> Result:
    shadow = shadow_of_attributes(x, fx)
    if shadow is None:
        return x.args, None, None
    fy = shadow.f.get("args")

    def pullback(dy: Any) -> Any:
        if dy is not None:
            shadow.r["args"] = add_any(shadow.r.get("args"), fy, dy)
        return None

    return x.args, fy, pullback


def write_args(x: BaseException, fx: Any, v: Any, fv: Any) -> Pull:
    """`x.args = v`; the pullback undoes that and gives the cotangent of v."""
    if type(v) is not tuple and fv is not None:
        raise UnsupportedError("setting the args of an exception to what is no tuple", "the call", None, "make it one")
    run.changed_in_place()
    old = x.args
    if is_user_class(type(x)):
        own = writable_shadow(x, fx)
        old_f = own.f.get("args")
        x.args, own.f["args"] = v, fv

        def put_back(_: Any) -> Any:
            x.args, own.f["args"] = old, old_f
            return own.r.pop("args", None)

        return put_back
    before = tangent_of(x)
    x.args = v
    shadow = give_tangent(x, (None,) * len(x.args) if fv is None else fv)

    def pullback(_: Any) -> Any:
        x.args = old
        hold_tangent(x, before)
        return tuple(shadow.take())

    return pullback


def set_args(shadow: ObjectShadow, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Pull:
    """`BaseException.__new__` keeps the arguments."""
    shadow.f["args"] = tuple(fargs) if any(f is not None for f in fargs) else None

    def pullback(_: Any) -> Any:
        r = shadow.r.pop("args", None)
        return None if r is None else (None, None, *r)

    return pullback


def inits_that_keep_arguments() -> list[Any]:
    """`__init__` of the builtin classes of exceptions that hold nothing but their arguments."""
    classes = [c for c in vars(builtins).values() if isinstance(c, type) and issubclass(c, BaseException)]
    above = {c: [k for k in c.__mro__ if k not in (BaseException, object)] for c in classes}
    plain = [c for c, ks in above.items() if not any(isinstance(d, _STORED) for k in ks for d in vars(k).values())]
    return [class_attribute(c, "__init__") for c in plain]


_STORED = (pytypes.MemberDescriptorType, pytypes.GetSetDescriptorType)


def exception_init(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`BaseException.__init__(x, *args)`: the arguments are what the exception holds from now on."""
    x, rest, frest = args[0], args[1:], fargs[1:]
    run.changed_in_place()
    shadow = writable_shadow(x, fargs[0])
    old, old_f = ARGS.__get__(x), shadow.f.get("args")
    ARGS.__set__(x, rest)  # its class may have a `__setattr__`
    shadow.f["args"] = tuple(frest) if any(f is not None for f in frest) else None

    def pullback(_: Any) -> Any:
        r = shadow.r.pop("args", None)
        ARGS.__set__(x, old)
        shadow.f["args"] = old_f
        return None if r is None else (None, None, *r)

    return None, None, pullback
