"""Python's object protocol on values with tangents: attributes, construction, operators, decided when they run.

What Python's C code does between two Python functions is done here step by step, so that the Python functions
among them (methods, properties, `__init__`, `__add__`, descriptors, `__getattr__`) are derived like any other. What is
left is reading and writing what an object stores: that is mirrored in its `ObjectShadow`, and undone by the pullback.
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
import operator
import types as pytypes
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.registry import asking_items
from mooncake_py.structure import attributes, is_user_class, slot_of, store, stored, unstore
from mooncake_py.tangents import DictShadow, ObjectShadow, add_any, has_tangent, zero_fdata
from mooncake_py.unwinding import Raised

Pull = Callable[[Any], Any]
Result = tuple[Any, Any, Pull | None]
Call = Callable[..., Result]

_ABSENT = object()
_MISSING = class_attribute(object, "")


def shadow_of_attributes(x: Any, fx: Any) -> ObjectShadow | None:
    """Where the tangents of an object's attributes are; None where nothing has been written to them."""
    if type(fx) is ObjectShadow:
        return fx
    here = run.current()
    if isinstance(x, (list, dict, type, pytypes.FunctionType, pytypes.ModuleType)):
        found = here.memos.get(id(x))
        return found if type(found) is ObjectShadow else None
    known = here.shadow(x)
    return known if type(known) is ObjectShadow else None


def _writable_shadow(x: Any, fx: Any) -> ObjectShadow:
    shadow = shadow_of_attributes(x, fx)
    if shadow is None:
        shadow = ObjectShadow(x)
        here = run.current()
        if isinstance(x, (list, dict, type, pytypes.FunctionType, pytypes.ModuleType)):
            here.memos[id(x)] = shadow  # beside the shadow of the items; it keeps the object
        else:
            here.put(x, shadow)
    return shadow


def named(x: Any) -> str:
    """An object as messages name it."""
    name = type(x).__name__
    return f"{name} {x.__name__}" if isinstance(x, (type, pytypes.FunctionType)) else f"a {name}"


def _carries(x: Any, fx: Any) -> bool:
    return fx is not None or (has_tangent(x) and not isinstance(x, (list, dict, tuple, np.ndarray)))


def _numberless(x: Any) -> bool:
    """Has this nothing in it, at any depth, that could have a derivative? (What is empty is there to be filled.)"""
    if isinstance(x, (list, tuple, dict)):
        return 0 < len(x) <= 256 and all(map(_numberless, x.values() if isinstance(x, dict) else x))
    return not has_tangent(x)


def _bound_method(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`types.MethodType(function, x)`: fdata of a bound method is that of its object."""
    if len(args) != 2 or fargs[0] is not None:
        return None
    return pytypes.MethodType(*args), fargs[1], lambda dy: (None, None, dy)


# -- what is stored ---------------------------------------------------------------------------------------


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
    if shadow is None and not constant and _carries(v, fv):
        if fx is None and run.current().shadow(x) is None and not run.is_wary() and not _numberless(v):
            raise UnsupportedError(
                f"writing a value with a derivative into an attribute of {named(x)} from outside the function",
                "the call",
                None,
                "pass the object as an argument",
            )
        shadow = _writable_shadow(x, fx)
    try:
        old = stored(x, name)
    except AttributeError:
        old = _ABSENT
    here = run.current()
    here.touch(x)
    store(x, name, v)
    made = old is _ABSENT and id(x) in here.made  # nobody has looked at it before: there is nothing to undo
    if not made:
        here.in_place = True
    old_f = _ABSENT
    if shadow is not None:
        old_f = shadow.f.get(name, _ABSENT)
        shadow.f[name] = None if name in shadow.constant else fv

    def pullback(_: Any) -> Any:
        if made:
            return None if shadow is None else shadow.r.pop(name, None)
        if old is _ABSENT:
            unstore(x, name)
        else:
            store(x, name, old)
        if shadow is None:
            return None
        if old_f is _ABSENT:
            shadow.f.pop(name, None)
        else:
            shadow.f[name] = old_f
        return shadow.r.pop(name, None)

    return pullback


def delete_stored(x: Any, fx: Any, name: str) -> Pull:
    """Delete an attribute; the pullback puts it back."""
    old = stored(x, name)
    shadow = shadow_of_attributes(x, fx)
    run.current().touch(x)
    run.changed_in_place()
    unstore(x, name)
    old_f = _ABSENT if shadow is None else shadow.f.pop(name, _ABSENT)

    def pullback(_: Any) -> Any:
        store(x, name, old)
        if shadow is not None and old_f is not _ABSENT:
            shadow.f[name] = old_f
        return None

    return pullback


# -- attributes -------------------------------------------------------------------------------------------


def _function(d: Any, name: str) -> pytypes.FunctionType | None:
    """The method of a descriptor (`__get__`, ...), where that is written in Python."""
    m = class_attribute(type(d), name)
    return m if type(m) is pytypes.FunctionType else None


def get_attribute(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """`x.name`, where x is an object of a Python class or a class; None where C code has the say.

    The pullback takes the cotangent of the attribute and returns that of x, which has one only where x is no object.
    """
    cls = type(x)
    if isinstance(x, (type, pytypes.ModuleType, pytypes.FunctionType)):
        return _class_attribute(call, x, name)
    if cls is super:
        return _super_attribute(call, x, fx, name)
    if not is_user_class(cls) and not cls.__flags__ & 1 << 9:
        return None
    if isinstance(x, enum.Enum):
        return getattr(x, name), None, None
    hook = class_attribute(cls, "__getattribute__")
    if type(hook) is pytypes.FunctionType:
        return _first(call(hook, None, (x, name), (fx, None)))
    return _generic_get(call, x, fx, name)


def _generic_get(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    cls = type(x)
    d = class_attribute(cls, name)
    if name == "__dict__" and is_user_class(cls):
        return x.__dict__, vars_shadow(x, fx), None
    if d is not _MISSING and (hasattr(type(d), "__set__") or hasattr(type(d), "__delete__")):
        if type(d) is pytypes.MemberDescriptorType:
            try:
                return read_stored(x, fx, name)
            except AttributeError:
                pass
        else:
            found = bind_descriptor(call, d, x, fx, cls)
            if found is not None:
                return found
            if name == "args" and isinstance(x, BaseException):
                return _read_args(x, fx)
            return None
    if name in getattr(x, "__dict__", ()):
        return read_stored(x, fx, name)
    if isinstance(d, functools.cached_property):
        y, fy, pb = call(d.func, None, (x,), (fx,))
        if type(y) is Raised:
            return _dropping((y, None, pb))
        unset = write_stored(x, fx, d.attrname or name, y, fy)
        y, fy, read = read_stored(x, fx, d.attrname or name)

        def pullback(dy: Any) -> Any:
            if read is not None:
                read(dy)
            dy = unset(None)
            if pb is not None:
                pb(dy)
            return None

        return y, fy, pullback
    if d is not _MISSING and type(d) is not pytypes.MemberDescriptorType:
        found = bind_descriptor(call, d, x, fx, cls)
        if found is not None or hasattr(type(d), "__get__"):
            return found
        return _class_attribute(call, cls, name)
    hook = class_attribute(cls, "__getattr__")
    if type(hook) is pytypes.FunctionType:
        return _first(call(hook, None, (x, name), (fx, None)))
    return None


def bind_descriptor(call: Call, d: Any, x: Any, fx: Any, cls: type) -> Result | None:
    """What the class attribute d is for object x; None where C code has the say."""
    if isinstance(d, property):
        return _first(call(d.fget, None, (x,), (fx,))) if d.fget is not None else None
    if isinstance(d, pytypes.FunctionType):
        return pytypes.MethodType(d, x), fx, lambda dy: dy
    if type(d) is classmethod:
        return d.__get__(x, cls), None, None
    if type(d) is staticmethod:
        return d.__func__, None, None
    get = _function(d, "__get__")
    if get is not None:
        fd = zero_fdata(d)
        return _dropping(call(get, None, (d, x, cls), (fd, fx, None)))
    return None


def _class_attribute(call: Call, x: Any, name: str) -> Result | None:
    """An attribute of a class or module: a constant, if the run did not set it."""
    if isinstance(x, enum.EnumMeta):
        return getattr(x, name), None, None
    owners = x.__mro__ if isinstance(x, type) else (x,)
    for k in owners:
        if name in k.__dict__:
            d = k.__dict__[name]
            if isinstance(x, type) and (get := _function(d, "__get__")) is not None:
                return _dropping(call(get, None, (d, None, x), (zero_fdata(d), None, None)))
            if shadow_of_attributes(k, None) is None:
                break
            return (*read_stored(k, None, name),)
    if isinstance(x, type) and isinstance(p := class_attribute(type(x), name), property) and p.fget is not None:
        return _first(call(p.fget, None, (x,), (None,)))
    y = getattr(x, name, _ABSENT)
    return None if y is _ABSENT else (y, _known(y), None)


def _known(y: Any) -> Any:
    """What the run knows of an object from outside."""
    return run.current().shadow(y)


def _super_attribute(call: Call, s: Any, fx: Any, name: str) -> Result | None:
    """`super(cls, x).name`; fdata of the super object is that of x."""
    x, cls = s.__self__, s.__self_class__
    if x is None:
        return None
    mro = cls.__mro__
    for k in mro[mro.index(s.__thisclass__) + 1 :]:
        if name in k.__dict__:
            d = k.__dict__[name]
            if x is cls:  # in a class method, or in `__new__`
                return d.__get__(None, cls) if isinstance(d, pytypes.FunctionType) else getattr(s, name), None, None
            found = bind_descriptor(call, d, x, fx, cls)
            if found is None and not hasattr(type(d), "__get__"):
                return _class_attribute(call, k, name)
            return found if found is not None else (getattr(s, name), fx, None)
    return None


def _first(result: Result) -> Result:
    """The pullback of a call of a function of x and constants, as that of an attribute of x."""
    y, fy, pb = result
    if pb is None:
        return result

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else ds[1]

    return y, fy, pullback


def _dropping(result: Result) -> Result:
    """The same for a function of objects only: their cotangents are in their shadows."""
    y, fy, pb = result
    if pb is None:
        return result

    def pullback(dy: Any) -> Any:
        pb(dy)
        return None

    return y, fy, pullback


def vars_shadow(x: Any, fx: Any) -> DictShadow:
    """The fdata of `x.__dict__`: that of x by another name."""
    shadow = _writable_shadow(x, fx)
    for name in x.__dict__:
        shadow.fdata(name)
    view = DictShadow(shadow.f, shadow.r)
    run.current().put(x.__dict__, view)
    run.current().touch(x)
    return view


def _read_args(x: BaseException, fx: Any) -> Result:
    shadow = shadow_of_attributes(x, fx)
    if shadow is None:
        return x.args, None, None
    fy = shadow.f.get("args")

    def pullback(dy: Any) -> Any:
        if dy is not None:
            shadow.r["args"] = add_any(shadow.r.get("args"), fy, dy)
        return None

    return x.args, fy, pullback


def handle_getattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`getattr(x, name)` and `getattr(x, name, default)`."""
    x, name = args[0], args[1]
    if not isinstance(name, str):
        return None
    if len(args) == 3:
        found = _get_or_default(call, x, fargs[0], name)
        if found is not None and found[0] is _ABSENT:
            undo = found[2]
            return args[2], fargs[2], lambda dy: (None, None if undo is None else undo(None), None, dy)
    else:
        found = get_attribute(call, x, fargs[0], name)
    if found is None:
        return None
    y, fy, pb = found
    if fy is None and y is not None and type(y) not in _NUMBERS:
        fy = _known(y)
    return y, fy, None if pb is None else (lambda dy: (None, pb(dy), *(None,) * (len(args) - 1)))


def _get_or_default(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """`getattr(x, name, default)`: an attribute, or _ABSENT with the pullback of what was done to find that out."""
    try:
        found = get_attribute(functools.partial(call, protected=True), x, fx, name)
        if found is None and not hasattr(x, name):
            return _ABSENT, None, None
    except AttributeError:
        return _ABSENT, None, None
    if found is None or type(found[0]) is not Raised:
        return found
    return (_ABSENT, None, found[2]) if isinstance(found[0].exc, AttributeError) else found


_NUMBERS = frozenset({float, int, complex, str, bool})


def handle_hasattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`hasattr(x, name)`: a property may do more than say whether it is there."""
    x, name = args
    if not isinstance(name, str):
        return None
    found = _get_or_default(call, x, fargs[0], name)
    if found is None:
        return hasattr(x, name), None, None
    y, _, pb = found
    return y if type(y) is Raised else y is not _ABSENT, None, None if pb is None else lambda _: (pb(None), None)[1]


def handle_setattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], constant: bool = False) -> Result:
    """`setattr(x, name, v)`, and what an assignment to an attribute is; `constant`: v surely has no derivative."""
    x, name, v = args
    fx, _, fv = fargs
    cls = type(x)
    if cls is super:
        x, cls = x.__self__, type(x.__self__)
    hook = class_attribute(cls, "__setattr__")
    if type(hook) is pytypes.FunctionType:
        return _setting(call(hook, None, (x, name, v), (fx, None, fv)))
    return generic_set(call, args, fargs, constant)


def generic_set(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], constant: bool = False) -> Result:
    """`object.__setattr__(x, name, v)`."""
    x, name, v = args
    fx, _, fv = fargs
    if type(x) is super:
        x = x.__self__  # type: ignore[attr-defined]
    d = _MISSING if isinstance(x, type) else class_attribute(type(x), name)
    if isinstance(d, property) and type(d.fset) is pytypes.FunctionType:
        return _setting(call(d.fset, None, (x, v), (fx, fv)))
    put = None if d is _MISSING else _function(d, "__set__")
    if put is not None:
        return _setting(call(put, None, (d, x, v), (zero_fdata(d), fx, fv)))
    if d is not _MISSING and hasattr(type(d), "__set__") and type(d) is not pytypes.MemberDescriptorType:
        if name == "__dict__":
            raise UnsupportedError("replacing the __dict__ of an object", "the call", None, "update it")
        object.__setattr__(x, name, v)  # raises, or sets what has no derivative
        run.changed_in_place()
        return None, None, None
    if not _can_store(x, name):
        object.__setattr__(x, name, v)  # raises
    unset = write_stored(x, fx, name, v, fv, constant)
    return None, None, lambda dy: (None, None, None, unset(None))


def _can_store(x: Any, name: str) -> bool:
    return isinstance(x, type) or hasattr(x, "__dict__") or slot_of(type(x), name) is not None


def _setting(result: Result) -> Result:
    """A call of a setter, whose last argument is the value, as one of `setattr`."""
    y, _, pb = result

    def pullback(dy: Any) -> Any:
        ds = None if pb is None else pb(dy)
        return None if ds is None else (None, None, None, ds[-1])

    return y if type(y) is Raised else None, None, None if pb is None else pullback


def handle_delattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    hook = class_attribute(type(args[0]), "__delattr__")
    if type(hook) is pytypes.FunctionType:
        y, _, pb = call(hook, None, args, fargs)
        return _dropping((y if type(y) is Raised else None, None, pb))
    return generic_delete(call, args, fargs)


def generic_delete(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """`object.__delattr__(x, name)`."""
    x, name = args
    d = class_attribute(type(x), name)
    f = d.fdel if isinstance(d, property) else None if d is _MISSING else _function(d, "__delete__")
    if type(f) is pytypes.FunctionType:
        values = (x,) if isinstance(d, property) else (d, x)
        y, _, pb = call(f, None, values, fargs[:1] if isinstance(d, property) else (zero_fdata(d), fargs[0]))
        return _dropping((y if type(y) is Raised else None, None, pb))
    try:
        stored(x, name)
    except AttributeError:
        delattr(x, name)  # raises
    undo = delete_stored(x, fargs[0], name)
    return None, None, undo


def handle_vars(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if len(args) != 1 or not is_user_class(type(args[0])):
        return None
    return args[0].__dict__, vars_shadow(args[0], fargs[0]), None


# -- construction -----------------------------------------------------------------------------------------


def construct(
    call: Call,
    cls: type,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    names: tuple[str, ...],
    kwvalues: tuple[Any, ...],
    kwfdata: tuple[Any, ...],
) -> Result | None:
    """`cls(*args, **kwargs)` for a class written in Python; None where C code makes the object."""
    meta = class_attribute(type(cls), "__call__")
    if isinstance(cls, enum.EnumMeta):
        return None
    if type(meta) is pytypes.FunctionType:
        return _without_class(call(meta, None, (cls, *args), (None, *fargs), names, kwvalues, kwfdata))
    if meta is not TYPE_CALL or not (cls.__flags__ & 1 << 9 or cls is defaultdict):
        return None
    return type_call(call, cls, args, fargs, names, kwvalues, kwfdata)


TYPE_CALL = type.__dict__["__call__"]


def type_call(
    call: Call,
    cls: type,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    names: tuple[str, ...],
    kwvalues: tuple[Any, ...],
    kwfdata: tuple[Any, ...],
) -> Result | None:
    new = class_attribute(cls, "__new__")
    init = class_attribute(cls, "__init__")
    made: Pull | None = None
    if isinstance(new, staticmethod):
        new = new.__func__
    if type(new) is pytypes.FunctionType:
        x, fx, made = call(new, None, (cls, *args), (None, *fargs), names, kwvalues, kwfdata)
        if not isinstance(x, cls):
            return _without_class((x, fx, made))
    elif (base := _container(cls)) is not None:
        x = base.__new__(cls)
        fx = zero_fdata(x)
    elif not is_user_class(cls):
        return None
    elif new is object.__new__:
        if init is object.__init__ and (args or names):
            cls(*args, **dict(zip(names, kwvalues, strict=True)))  # raises
        x = object.__new__(cls)
        fx = ObjectShadow(x)
    else:  # an exception
        x = cls.__new__(cls, *args, **dict(zip(names, kwvalues, strict=True)))
        fx = ObjectShadow(x)
        made = _set_args(fx, args, fargs)
    if fx is None:
        fx = zero_fdata(x)
    if is_user_class(cls):
        run.current().made[id(x)] = x, fx
    init = class_attribute(type(x), "__init__")
    started: Pull | None = None
    y: Any = None
    if type(init) is pytypes.FunctionType:
        y, _, started = call(init, None, (x, *args), (fx, *fargs), names, kwvalues, kwfdata)
        if y is not None and type(y) is not Raised:
            raise TypeError(f"__init__() should return None, not '{type(y).__name__}'")
    elif _container(cls) is not None:
        y, _, started = call(init, None, (x, *args), (fx, *fargs), names, kwvalues, kwfdata)
    elif init is not object.__init__ and not isinstance(x, (BaseException, tuple)):
        return None
    elif init is not object.__init__ and not isinstance(x, tuple):
        x.__init__(*args, **dict(zip(names, kwvalues, strict=True)))

    def pullback(dy: Any) -> Any:
        one = None if started is None else started(None)
        two = None if made is None else made(dy)
        if one is None:
            return None if two is None else (None, *two[2:])
        if two is None:
            return (None, *one[2:])
        return (
            None,
            *(
                add_any(None, None, a) if b is None else add_any(a, None, b)
                for a, b in zip(one[2:], two[2:], strict=True)
            ),
        )

    return (x, fx, pullback) if type(y) is not Raised else (y, None, pullback)


def _container(cls: type) -> Any:
    """The container whose items objects of the class hold; its `__new__` makes an empty one."""
    return next((b for b in cls.__mro__ if b in (list, dict, deque, OrderedDict, defaultdict)), None)


def _set_args(shadow: ObjectShadow, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Pull:
    """`BaseException.__new__` keeps the arguments."""
    shadow.f["args"] = tuple(fargs) if any(f is not None for f in fargs) else None

    def pullback(_: Any) -> Any:
        r = shadow.r.pop("args", None)
        return None if r is None else (None, None, *r)

    return pullback


def exception_init(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`BaseException.__init__(x, *args)`: the arguments are what the exception holds from now on."""
    x, rest, frest = args[0], args[1:], fargs[1:]
    run.changed_in_place()
    shadow = _writable_shadow(x, fargs[0])
    old, old_f = x.args, shadow.f.get("args")
    x.args = rest
    shadow.f["args"] = tuple(frest) if any(f is not None for f in frest) else None

    def pullback(_: Any) -> Any:
        r = shadow.r.pop("args", None)
        x.args, shadow.f["args"] = old, old_f
        return None if r is None else (None, None, *r)

    return None, None, pullback


def _without_class(result: Result) -> Result:
    y, fy, pb = result
    if pb is None:
        return result

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else (None, *ds[2:])

    return y, fy, pullback


def handle_new(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`object.__new__(cls)`."""
    x = object.__new__(*args)
    fx = ObjectShadow(x)
    run.current().made[id(x)] = x, fx
    return x, fx, None


def handle_load_super(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    super_type, cls, x, name = args
    s = super_type(cls, x)
    if type(s) is not super:
        return None
    found = _super_attribute(call, s, fargs[2], name)
    if found is None:
        return getattr(s, name), None, None
    y, fy, pb = found
    return y, fy, None if pb is None else (lambda dy: (None, None, None, pb(dy), None))


def handle_super(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if len(args) != 2:
        return None
    return super(*args), fargs[1], None


def handle_build_class(ff: Any, args: tuple[Any, ...], fargs: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    """A class statement: its body runs as it is, its methods find the cells they share with the function."""
    body, shadow = args[0], fargs[0]
    run.changed_in_place()
    if shadow is not None and body.__closure__:
        here = run.current()
        for cell, fcell in zip(body.__closure__, shadow.cells, strict=True):
            if fcell is not None:
                here.put(cell, fcell)
        _check_class_body(body, shadow)
    return builtins.__build_class__(*args, **kwargs), None, None


def _check_class_body(body: pytypes.FunctionType, shadow: Any) -> None:
    """The body itself must not compute with what has a derivative: it runs without one."""
    fn = normalise(body.__code__)
    for b in fn.blocks:
        for s in b.stmts:
            f = getattr(s.fn, "value", None)
            if f in (ops.classderef, ops.load_dict_or_deref, ops.cell_get):
                for k, cell in enumerate(fn.free):
                    if any(v is cell for v in s.args) and shadow.cells[k] is not None:
                        try:
                            value = body.__closure__[k].cell_contents  # type: ignore[index]
                        except ValueError:
                            continue
                        if has_tangent(value):
                            raise UnsupportedError(
                                "a class body that reads a value with a derivative",
                                body.__code__.co_filename,
                                s.pos.line,
                                "set the attribute in __init__",
                            )


# -- operators and builtins -------------------------------------------------------------------------------


Asked = list[tuple[Any, dict[str, Any]]]


def asked(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
    """The objects whose methods f, which is written in C, may call, with what they store."""
    given = [*args, *kwargs.values()]
    if type(f).__hash__ is not None and f in asking_items:
        for x in args:
            if isinstance(x, (list, tuple, dict)):
                given += x.values() if isinstance(x, dict) else x
    return [(x, attributes(x)) for x in given if is_user_class(type(x))]


def check_unchanged(f: Any, asked: Asked) -> None:
    """Refuse what such a method did to its object: nobody has derived it."""
    for x, old in asked:
        new = attributes(x)
        for name in old.keys() | new.keys():
            if old.get(name) is not new.get(name) and (has_tangent(old.get(name)) or has_tangent(new.get(name))):
                raise UnsupportedError(
                    f"{f.__name__}: a method of {type(x).__name__} that it calls changes the attribute {name!r}, which",
                    "the call",
                    None,
                    "call the method directly, or set the attribute before",
                )


def defines(x: Any, name: str) -> bool:
    """Has the class of x this method, written in Python?"""
    return _method(type(x), name) is not None


def decides(x: Any) -> bool:
    """May the class of x have something to say in an operation?"""
    return bool(type(x).__flags__ & 1 << 9) or type(x) is defaultdict


def _method(cls: type, name: str) -> pytypes.FunctionType | None:
    d = class_attribute(cls, name)
    return d if type(d) is pytypes.FunctionType else None


def _binary(name: str, reflected: str) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    def run_binary(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        a, b = args
        fa, fb = fargs
        left = _method(type(a), name)
        right = _method(type(b), reflected) if type(a) is not type(b) or reflected != f"__r{name[2:]}" else None
        if left is None and right is None:
            return None
        steps = [(left, False), (right, True)]
        if right is not None and issubclass(type(b), type(a)) and type(b) is not type(a):
            if class_attribute(type(a), reflected) is not class_attribute(type(b), reflected):
                steps.reverse()
        if left is None and (native := _native_result(a, b, name)) is not None:
            return native
        for method, swapped in steps:
            if method is None:
                continue
            pair, fpair = ((b, a), (fb, fa)) if swapped else ((a, b), (fa, fb))
            y, fy, pb = call(method, None, pair, fpair)
            if y is NotImplemented:
                if pb is not None:
                    pb(None)
                continue
            if pb is None:
                return y, fy, None
            return y, fy, _swapped(pb) if swapped else pb
        if name in ("__eq__", "__ne__"):
            return (a is b) is (name == "__eq__"), None, None
        _OPERATORS[name](a, b)  # raises the TypeError of Python
        return None

    return run_binary


def _native_result(a: Any, b: Any, name: str) -> Result | None:
    """What the C type on the left makes of an object on the right, where it does not leave that to the object."""
    if not isinstance(a, (np.ndarray, np.generic)) or isinstance(a, np.generic):
        return None
    if getattr(type(b), "__array_ufunc__", _ABSENT) is None or getattr(type(b), "__array_priority__", 0.0) > 0:
        return None
    raise UnsupportedError(
        f"an array {name} an object of {type(b).__name__}",
        "the call",
        None,
        "set __array_ufunc__ = None in the class, so that its reflected method is asked",
    )


def _swapped(pb: Pull) -> Pull:
    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else (ds[0], ds[2], ds[1])

    return pullback


def _in_place(name: str, plain: Any) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    def run_in_place(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        method = _method(type(args[0]), name)
        if method is not None:
            y, fy, pb = call(method, None, args, fargs)
            if y is not NotImplemented:
                return y, fy, pb
        if not any(is_user_class(type(x)) for x in args):
            return None
        return call(plain, None, args, fargs)

    return run_in_place


def _special(name: str) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    def run_special(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        method = _method(type(args[0]), name)
        return None if method is None else call(method, None, args, fargs)

    return run_special


def _item(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`x[k]`; what a dict does about a key that is missing."""
    x, k = args
    method = _method(type(x), "__getitem__")
    if method is not None:
        return call(method, None, args, fargs)
    if not isinstance(x, dict) or k in x:
        return None
    method = _method(type(x), "__missing__")
    if method is not None:
        return call(method, None, args, fargs)
    if not isinstance(x, defaultdict) or x.default_factory is None:
        return None
    factory, ffactory, _ = read_stored(x, fargs[0], "default_factory")
    y, fy, pb = call(factory, ffactory, (), ())
    if type(y) is Raised:
        return _dropping((y, None, pb))
    fy = zero_fdata(y) if fy is None and not isinstance(y, np.ndarray) else fy
    _, _, put = call(operator.setitem, None, (x, k, y), (fargs[0], None, fy))

    def pullback(dy: Any) -> Any:
        ds = None if put is None else put(None)
        if pb is not None:
            pb(add_any(dy, None, None if ds is None else ds[3]))
        return None

    return y, fy, pullback


def _truth(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    for name in ("__bool__", "__len__"):
        method = _method(type(args[0]), name)
        if method is not None:
            y, _, pb = call(method, None, args, fargs)
            return _dropping((y if type(y) is Raised else bool(y), None, pb))
    return None


def _not(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    return _negated(_truth(call, args, fargs))


def _ne(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if any(_method(type(x), "__ne__") is not None for x in args):
        return _binary_ne(call, args, fargs)
    return _negated(PROTOCOL[operator.eq](call, args, fargs))


def _negated(found: Result | None) -> Result | None:
    if found is None or type(found[0]) is Raised:
        return found
    return not found[0], None, found[2]


def _text(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`str(x)`, which is `repr(x)` where the class has nothing else to say."""
    return _first_of(("__str__", "__repr__"), call, args, fargs)


def _first_of(names: tuple[str, ...], call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    method = next((m for m in (_method(type(args[0]), name) for name in names) if m is not None), None)
    return None if method is None or len(args) != 1 else call(method, None, args, fargs)


def _formatted(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """One `{x!r:spec}` of an f-string."""
    x, spec, conversion = args
    found: Result | None
    if not conversion and (method := _method(type(x), "__format__")) is not None:
        found = call(method, None, (x, spec), (fargs[0], None))
    else:
        names = ("__str__", "__repr__") if conversion < 2 else ("__repr__",)
        found = _first_of(names, call, (x,), fargs[:1])
    if found is None:
        return None
    y, _, pb = _dropping(found)
    return y if type(y) is Raised else format(y, spec if conversion else ""), None, pb


def _of_numbers(f: Any) -> Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]:
    """A function of `math`, which asks its arguments for numbers."""

    def run_of_numbers(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
        numbers: list[Any] = []
        pulls: list[Pull | None] = []
        for x, fx in zip(args, fargs, strict=True):
            asked = _method(type(x), "__float__") is not None
            y, _, pb = call(float, None, (x,), (fx,)) if asked else (x, fx, None)
            if type(y) is Raised:
                return y, None, pb
            numbers.append(y)
            pulls.append(pb)
        if not any(pulls):
            return None
        y, fy, pb = call(f, None, tuple(numbers), (None,) * len(args))

        def pullback(dy: Any) -> Any:
            ds = (None if pb is None else pb(dy)) or (None,) * (1 + len(args))
            out = [None]
            for pull, d in zip(reversed(pulls), reversed(ds[1:]), strict=True):
                back = (None, d) if pull is None else pull(d)
                out.insert(1, None if back is None else back[1])
            return tuple(out)

        return y, fy, pullback

    return run_of_numbers


PROTOCOL: dict[Any, Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]] = {}
"""Operators and builtins that ask the class of an object."""
_OPERATORS: dict[str, Any] = {}

for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
):
    _op, _bare = getattr(operator, _name), _name.strip("_")
    PROTOCOL[_op] = _binary(f"__{_bare}__", f"__r{_bare}__")
    _OPERATORS[f"__{_bare}__"] = _op
    PROTOCOL[getattr(operator, "i" + _bare)] = _in_place(f"__i{_bare}__", _op)
for _name, _back in (("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("eq", "eq")):
    PROTOCOL[getattr(operator, _name)] = _binary(f"__{_name}__", f"__{_back}__")
    _OPERATORS[f"__{_name}__"] = getattr(operator, _name)
_OPERATORS["__ne__"] = operator.ne
_binary_ne = _binary("__ne__", "__ne__")
PROTOCOL[operator.ne] = _ne
PROTOCOL[divmod] = _binary("__divmod__", "__rdivmod__")
_OPERATORS["__divmod__"] = divmod
for _f, _name in (
    (operator.neg, "__neg__"), (operator.pos, "__pos__"), (operator.invert, "__invert__"), (abs, "__abs__"),
    (operator.abs, "__abs__"), (float, "__float__"), (int, "__int__"), (complex, "__complex__"), (round, "__round__"),
    (math.floor, "__floor__"), (math.ceil, "__ceil__"), (math.trunc, "__trunc__"), (len, "__len__"),
    (operator.setitem, "__setitem__"), (operator.delitem, "__delitem__"),
    (operator.contains, "__contains__"), (hash, "__hash__"), (reversed, "__reversed__"),
    (repr, "__repr__"), (operator.index, "__index__"),
):  # fmt: skip
    PROTOCOL[_f] = _special(_name)
for _f in vars(math).values():
    if callable(_f) and _f not in PROTOCOL and _f not in (math.fsum, math.prod, math.dist):
        PROTOCOL[_f] = _of_numbers(_f)
PROTOCOL[ops.truth] = PROTOCOL[bool] = PROTOCOL[operator.truth] = _truth
PROTOCOL[operator.not_] = _not
PROTOCOL[str] = _text
PROTOCOL[ops.format_value] = _formatted
PROTOCOL[operator.getitem] = _item
PROTOCOL[pow] = PROTOCOL[operator.pow]

NATIVE: dict[Any, Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]] = {
    getattr: handle_getattr,
    hasattr: handle_hasattr,
    setattr: handle_setattr,
    delattr: handle_delattr,
    vars: handle_vars,
    super: handle_super,
    pytypes.MethodType: _bound_method,
    object.__setattr__: generic_set,
    object.__delattr__: generic_delete,
    type.__setattr__: generic_set,
    object.__getattribute__: lambda call, args, fargs: _behind_getattribute(call, args, fargs),
    object.__new__: handle_new,
    object.__init__: lambda call, args, fargs: (None, None, None) if len(args) == 1 else None,
    BaseException.__init__: exception_init,
    Exception.__init__: exception_init,
    ops.load_super: handle_load_super,
}
"""Functions in C that read, write or make what objects store."""


def _behind_getattribute(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    found = _generic_get(call, args[0], fargs[0], args[1])
    if found is None:
        return None
    y, fy, pb = found
    return y, fy, None if pb is None else (lambda dy: (None, pb(dy), None))
