"""What an object stores: reading and writing it is mirrored in its `ObjectShadow`, and undone by the pullback."""

from __future__ import annotations

import types as pytypes
from collections import deque
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import delete_name, load_name
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import may_be_given, module_of, of_library
from mooncake_py.registry import rules_of
from mooncake_py.runtime.results import Call, Pull, Result
from mooncake_py.structure import (
    dict_of,
    held_values,
    is_own_namespace,
    is_user_class,
    slot_names,
    slot_of,
    store,
    stored,
    unstore,
)
from mooncake_py.tangents import DictShadow, ObjectShadow, add_any, attributes_view, has_tangent, zero_fdata

ABSENT = object()
_COMPUTE = frozenset({"math", "cmath", "numpy", "scipy"})
"""Libraries whose functions rules use, by their names."""


def _apart(x: Any) -> bool:
    """Are the attributes of this kind of object beside what it holds, whose tangent is another one?"""
    if isinstance(x, BaseException):
        return not is_user_class(type(x))
    return isinstance(x, (list, dict, deque, tuple, type, pytypes.FunctionType, pytypes.ModuleType))


def shadow_of_attributes(x: Any, fx: Any) -> ObjectShadow | None:
    """Where the tangents of an object's attributes are; None where nothing has been written to them."""
    if type(fx) is ObjectShadow:
        return fx
    here = run.current()
    if isinstance(x, dict) and getattr(x, "__dict__", None) is x:
        items = fx if type(fx) is DictShadow else here.shadow(x)
        return ObjectShadow(x).share(items) if type(items) is DictShadow else None
    if _apart(x):
        found = here.memos.get(id(x))
        if found is None and is_own_namespace(x):
            items = fx if type(fx) is DictShadow else here.shadow(x)
            if type(items) is DictShadow:
                found = here.memos[id(x)] = ObjectShadow(x, items.f)
                found.r, found.viewed = items.r, True
        return found if type(found) is ObjectShadow else None
    known = here.shadow(x)
    return known if type(known) is ObjectShadow else None


def writable_shadow(x: Any, fx: Any) -> ObjectShadow:
    if is_own_namespace(x):
        fx = zero_fdata(x)
    shadow = shadow_of_attributes(x, fx)
    if shadow is None:
        shadow = ObjectShadow(x)
        here = run.current()
        if isinstance(x, dict) and getattr(x, "__dict__", None) is x:
            return shadow.share(zero_fdata(x))
        if _apart(x):
            here.memos[id(x)] = shadow  # beside the shadow of the items; it keeps the object
        else:
            here.put(x, shadow)
    return shadow


def shadow_of_kept(holder: Any) -> ObjectShadow:
    """That of a class, function or module, whose attributes derived code sets: see `infer/kept_names.py`."""
    return writable_shadow(holder, None)


def named(x: Any) -> str:
    """An object as messages name it."""
    name = type(x).__name__
    return f"{name} {x.__name__}" if isinstance(x, (type, pytypes.FunctionType, pytypes.ModuleType)) else f"a {name}"


def _carries(x: Any, fx: Any) -> bool:
    if isinstance(x, tuple) and fx is None:
        return any(_carries(v, None) for v in x)
    return fx is not None or (has_tangent(x) and not isinstance(x, (list, dict, np.ndarray)))


def _numberless(x: Any) -> bool:
    """Has this nothing in it, at any depth, that could have a derivative? (What is empty is there to be filled.)"""
    if isinstance(x, (list, tuple, dict)):
        return 0 < len(values := held_values(x)) <= 256 and all(map(_numberless, values))
    return not has_tangent(x)


def met(y: Any) -> Any:
    """What the run knows of an object that it comes to by a name."""
    here = run.current()
    return zero_fdata(y) if here.wary >= run.ARRAYS and isinstance(y, (np.ndarray, tuple)) else here.shadow(y)


def _check_module(x: Any, name: str) -> None:
    """That a name of a module is set was seen before the run, or what it stands for was relied on."""
    if not isinstance(x, pytypes.ModuleType):
        return
    if of_library(x.__name__):
        old = vars(x).get(name)
        if x.__name__.partition(".")[0] in _COMPUTE and hashable(old) and rules_of(old):
            what = f"setting {x.__name__}.{name}, which derivatives are computed with,"
            raise UnsupportedError(what, "the call", None, "call another function, by a name of your own")
        return
    if run.is_wary() < run.NAMES and not _is_expected(x, name):
        raise UnsupportedError(
            f"setting {name!r} of module {x.__name__} where the module is not named",
            "the call",
            None,
            "import the module and set its attribute by that name",
        )


def _is_expected(x: pytypes.ModuleType, name: str) -> bool:
    """Was it seen before the run that this name may be assigned, so that it is looked up wherever it is read?"""
    return run.is_wary() >= run.ARRAYS and may_be_given(vars(x), name) and module_of(vars(x)) is x


def _check_namespace(x: Any, name: str, v: Any) -> None:
    """What is set there must be read where it is looked for: names of functions and methods are known before a run."""
    if of_library(getattr(x, "__module__", None) or x.__name__):
        return
    what = ""
    if isinstance(v, pytypes.FunctionType) and not (isinstance(x, pytypes.ModuleType) and _is_expected(x, name)):
        what = f"a function that holds values with derivatives as attribute {name!r} of {named(x)}"
    elif isinstance(x, pytypes.ModuleType) and not _is_expected(x, name) and _is_read_as_global(vars(x), name):
        what = f"assigning the global variable {name!r} of a module whose functions read it, with active values,"
    if what:
        raise UnsupportedError(what, "the call", None, "pass the value as an argument")


def _is_read_as_global(scope: dict[str, Any], name: str) -> bool:
    """Do functions and methods of this module use this name?"""
    work = [*scope.values()]
    work += [d for c in work if isinstance(c, type) for d in vars(c).values()]
    functions = [getattr(f, "__func__", getattr(f, "fget", f)) for f in work]
    codes = [f.__code__ for f in functions if isinstance(f, pytypes.FunctionType) and f.__globals__ is scope]
    while codes:
        code = codes.pop()
        if name in code.co_names:
            return True
        codes += [c for c in code.co_consts if isinstance(c, pytypes.CodeType)]
    return False


def read_stored(x: Any, fx: Any, name: str) -> Result:
    """An attribute that the object stores. The pullback takes the attribute's cotangent and returns nothing."""
    y = stored(x, name)
    shadow = shadow_of_attributes(x, fx)
    if shadow is None:
        return y, None, None
    fy = shadow.fdata(name)

    def pullback(dy: Any) -> Any:
        if dy is not None and name not in shadow.constant:
            r = shadow.r
            r[name] = add_any(r.get(name), fy, dy)
        return None

    return y, fy, pullback


def write_stored(x: Any, fx: Any, name: str, v: Any, fv: Any, constant: bool = False) -> Pull:
    """Set an attribute; the pullback undoes that and returns the cotangent of what was set."""
    shadow = shadow_of_attributes(x, fx)
    _check_module(x, name)
    if isinstance(x, (type, pytypes.ModuleType)) and not constant and _carries(v, fv):
        _check_namespace(x, name, v)
    if shadow is None and not constant and _carries(v, fv):
        outside = fx is None and run.current().shadow(x) is None and not isinstance(x, BaseException)
        if outside and not run.is_wary() and not _numberless(v):
            keep = isinstance(x, (type, pytypes.FunctionType, pytypes.ModuleType))
            raise UnsupportedError(
                f"writing a value with a derivative into an attribute of {named(x)} from outside the function",
                "the call",
                None,
                "keep it in an object that is an argument" if keep else "pass the object as an argument",
            )
        shadow = writable_shadow(x, fx)
    held = _dict_for(x, name)
    if held is not None:
        old = held.get(name, ABSENT)
    else:
        try:
            old = stored(x, name)
        except AttributeError:
            old = ABSENT
    here = run.current()
    here.touch(x)
    if isinstance(x, pytypes.ModuleType):
        here.assigned[id(x), name] = x
    if held is not None:
        held[name] = v
    else:
        store(x, name, v)
    made = old is ABSENT and id(x) in here.made  # nobody has looked at it before: there is nothing to undo
    made = made and (shadow is None or not shadow.viewed)
    if not made:
        here.in_place = True
    old_f = ABSENT
    if shadow is not None:
        old_f = shadow.f.get(name, ABSENT)
        shadow.f[name] = None if name in shadow.constant else fv

    def pullback(_: Any) -> Any:
        if made:
            return None if shadow is None else shadow.r.pop(name, None)
        if held is None:
            unstore(x, name) if old is ABSENT else store(x, name, old)
        elif old is ABSENT:
            del held[name]
        else:
            held[name] = old
        if shadow is None:
            return None
        if old_f is ABSENT:
            shadow.f.pop(name, None)
        else:
            shadow.f[name] = old_f
        return shadow.r.pop(name, None)

    return pullback


def replace_dict(x: Any, fx: Any, v: Any, fv: Any) -> Pull:
    """`x.__dict__ = v`: the attributes of x are what the dict v holds from now on, which may be x itself."""
    here = run.current()
    fits = not x.__dict__ if v is x else type(v) is dict
    if not fits or id(x) not in here.made or slot_names(type(x)):
        what = "replacing the __dict__ of an object that the function did not make, that has slots, or by no dict,"
        raise UnsupportedError(what, "the call", None, "update it")
    items = fv if type(fv) is DictShadow else zero_fdata(v)
    x.__dict__ = v  # of what the run has made, so that this need not be undone
    if v is x:
        return lambda _: None
    shadow = writable_shadow(x, fx)
    before = shadow.f, shadow.r, shadow.viewed
    shadow.share(items)

    def pullback(_: Any) -> Any:
        shadow.f, shadow.r, shadow.viewed = before

    return pullback


def _dict_for(x: Any, name: str) -> dict[str, Any] | None:
    """The dict in which x keeps what is set by this name; None where that is a slot, or a class keeps it."""
    if isinstance(x, type) or slot_of(type(x), name) is not None:
        return None
    held = dict_of(x)
    return held if type(held) is dict else None


def delete_stored(x: Any, fx: Any, name: str) -> Pull:
    """Delete an attribute; the pullback puts it back."""
    _check_module(x, name)
    old = stored(x, name)
    shadow = shadow_of_attributes(x, fx)
    run.current().touch(x)
    run.changed_in_place()
    held = (None if isinstance(x, pytypes.ModuleType) else _dict_for(x, name)) or {}
    later = [*held][[*held].index(name) + 1 :] if name in held else []
    unstore(x, name)
    old_f = ABSENT if shadow is None else shadow.f.pop(name, ABSENT)

    def pullback(_: Any) -> Any:
        store(x, name, old)
        for k in later:  # it stood before these
            held[k] = held.pop(k)
        if shadow is not None and old_f is not ABSENT:
            shadow.f[name] = old_f
        return None

    return pullback


def handle_load_name(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """A global variable that the run may assign."""
    module, name = args
    y = load_name(module, name)
    if shadow_of_attributes(module, None) is None or name not in vars(module):
        return y, met(y), None
    y, fy, pb = read_stored(module, None, name)
    return y, met(y) if fy is None else fy, pb


def handle_store_name(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    module, name, v = args
    unset = write_stored(module, None, name, v, fargs[2])
    return None, None, lambda dy: (None, None, None, unset(None))


def handle_delete_name(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    module, name = args
    if name not in vars(module):
        delete_name(module, name)  # raises
    return None, None, delete_stored(module, None, name)


def vars_shadow(x: Any, fx: Any) -> DictShadow:
    """The fdata of `x.__dict__`, which may be written to."""
    return attributes_view(x, writable_shadow(x, fx), run.current())


def namespace_of(cls: type) -> tuple[Any, DictShadow]:
    """`cls.__dict__` with its fdata: that of the class by another name."""
    shadow = writable_shadow(cls, None)
    for name in cls.__dict__:
        shadow.fdata(name)
    proxy = cls.__dict__
    view = DictShadow(shadow.f, shadow.r)
    run.current().put(proxy, view)
    return proxy, view
