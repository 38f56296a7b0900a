"""Attributes, read, written and deleted as Python does it, step by step: descriptors, hooks, `super`."""

from __future__ import annotations

import enum
import functools
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.held import assigns_values, is_library
from mooncake_py.infer.named import field_index
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.iterators import KEYS_VIEWS
from mooncake_py.runtime.callables import part_of_partial
from mooncake_py.runtime.coduals import BOUND, is_active
from mooncake_py.runtime.exceptions import read_args, write_args
from mooncake_py.runtime.native import NoRule, field
from mooncake_py.runtime.results import Call, Result, dropping, of_receiver, through
from mooncake_py.runtime.stored import (
    ABSENT,
    delete_stored,
    met,
    named,
    namespace_of,
    read_stored,
    replace_dict,
    shadow_of_attributes,
    vars_shadow,
    write_stored,
)
from mooncake_py.structure import comes_first, dict_of, is_user_class, slot_of, stored
from mooncake_py.tangents import ObjectShadow, PartialShadow, add_any, has_tangent, zero_fdata
from mooncake_py.unwinding import Raised

_MISSING = class_attribute(object, "")
_NOTHING: dict[str, Any] = {}


def _is_hook(d: Any) -> bool:
    """Does a class say with this what its attributes are? By a function, or by a method such as `dict.__getitem__`."""
    if type(d) is pytypes.FunctionType:
        return True
    return isinstance(d, _NATIVE) and d.__name__ not in _ORDINARY


_NATIVE = (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)
_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_ORDINARY = frozenset({"__getattribute__", "__setattr__", "__delattr__"})


def _function(d: Any, name: str) -> pytypes.FunctionType | None:
    """The method of a descriptor (`__get__`, ...), where that is written in Python."""
    m = class_attribute(type(d), name)
    return m if type(m) is pytypes.FunctionType else None


def get_attribute(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """`x.name`, where x is an object of a Python class or a class; None where C code has the say.

    The pullback takes the cotangent of the attribute and returns that of x, which has one only where x is no object.
    """
    cls = type(x)
    if is_user_class(cls):
        return _object_attribute(call, x, fx, name)
    if isinstance(x, (type, pytypes.ModuleType, pytypes.FunctionType)):
        return _class_attribute(call, x, fx, name)
    if cls is super:
        return _super_attribute(call, x, fx, name)
    if type(fx) is PartialShadow:
        return part_of_partial(x, fx, name)
    if cls is pytypes.MethodType and name in ("__self__", "__func__"):
        return (x.__self__, fx, lambda dy: dy) if name == "__self__" else (x.__func__, None, None)
    if cls is functools._lru_cache_wrapper and name == "__wrapped__":
        return x.__wrapped__, fx, None  # fdata of what caches is that of its function
    if isinstance(x, BaseException):
        if name == "__dict__":
            return x.__dict__, vars_shadow(x, None), None
        if name in x.__dict__:
            return read_stored(x, None, name)
    if cls is pytypes.CellType and name == "cell_contents":
        y, fy, pb = call(ops.cell_get, None, (x, name), (fx, None))
        return y, fy, None if pb is None else (lambda dy: pb(dy)[1])
    if cls in KEYS_VIEWS and name == "mapping":
        return _mapping_of(x, fx)
    if not cls.__flags__ & 1 << 9:
        return None
    if isinstance(x, enum.Enum):
        d = class_attribute(cls, name)
        found = bind_descriptor(call, d, x, fx, cls) if type(d) is property else None
        return (getattr(x, name), None, None) if found is None else found
    return _object_attribute(call, x, fx, name)


def _mapping_of(keys: Any, fkeys: Any) -> Result:
    """The dict that this is a view of the keys of, as a view."""
    if fkeys is None and any(map(has_tangent, keys.mapping.values())):
        what = "the mapping of a view of a dict's keys, of which it is not known what was put into the dict,"
        raise UnsupportedError(what, "the call", None, "keep the dict itself: types.MappingProxyType(d)")
    return keys.mapping, fkeys, None


def _object_attribute(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """The same of an object, by its `__getattribute__`."""
    cls = type(x)
    hook = class_attribute(cls, "__getattribute__")
    own = type(hook) is pytypes.FunctionType
    fallback = class_attribute(cls, "__getattr__")
    if not _is_hook(fallback):
        return of_receiver(call(hook, None, (x, name), (fx, None))) if own else _generic_get(call, x, fx, name)
    if not own and not _is_computed(class_attribute(cls, name)):
        return _generic_get(call, x, fx, name)
    alike = functools.partial(call, protected=True)
    try:
        found = of_receiver(alike(hook, None, (x, name), (fx, None))) if own else _generic_get(alike, x, fx, name)
    except AttributeError as e:
        found = Raised(e), None, None
    if found is None or type(found[0]) is not Raised or not isinstance(found[0].exc, AttributeError):
        return found
    tried = found[2]
    y, fy, pb = call(fallback, None, (x, name), (fx, None))

    def both(dy: Any) -> Any:
        ds = None if pb is None else pb(dy)
        if tried is not None:
            tried(None)
        return ds

    return of_receiver((y, fy, both))


def _is_computed(d: Any) -> bool:
    """Does a function of the user's run where this attribute of a class is looked up, which may say there is none?"""
    return isinstance(d, (property, functools.cached_property)) or _function(d, "__get__") is not None


def _generic_get(call: Call, x: Any, fx: Any, name: str, fallback: bool = True) -> Result | None:
    """The attribute as `object` finds it, and `__getattr__` if that is to be asked."""
    cls = type(x)
    d = class_attribute(cls, name)
    if name == "__dict__" and is_user_class(cls):
        return dict_of(x), vars_shadow(x, fx), None
    if d is _MISSING and name in (dict_of(x) or ()):
        return read_stored(x, fx, name)
    if d is not _MISSING and comes_first(d):
        if type(d) is pytypes.MemberDescriptorType:
            try:
                return read_stored(x, fx, name)
            except AttributeError:
                pass
        else:
            found = bind_descriptor(call, d, x, fx, cls)
            if found is not None:
                return found
            if isinstance(x, BaseException):
                if name == "args":
                    return read_args(x, fx)
                if name in ("__cause__", "__context__"):  # another exception, which has its own tangent
                    y = getattr(x, name)
                    return y, run.current().shadow(y), None
            return None
    if name in (dict_of(x) or ()):
        return read_stored(x, fx, name)
    if isinstance(d, functools.cached_property):
        y, fy, pb = call(d.func, None, (x,), (fx,))
        if type(y) is Raised:
            return dropping((y, None, pb))
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
        return _class_attribute(call, cls, None, name)
    hook = class_attribute(cls, "__getattr__")
    if fallback and _is_hook(hook):
        return of_receiver(call(hook, None, (x, name), (fx, None)))
    return None


def bind_descriptor(call: Call, d: Any, x: Any, fx: Any, cls: type) -> Result | None:
    """What the class attribute d is for object x; None where C code has the say."""
    if isinstance(d, property):
        return of_receiver(call(d.fget, None, (x,), (fx,))) if d.fget is not None else None
    if isinstance(d, pytypes.FunctionType):
        return pytypes.MethodType(d, x), fx, lambda dy: dy
    if type(d) is classmethod:
        return d.__get__(x, cls), None, None
    if type(d) is staticmethod:
        return d.__func__, None, None
    get = _function(d, "__get__")
    if get is not None:
        fd = zero_fdata(d)
        return dropping(call(get, None, (d, x, cls), (fd, fx, None)))
    return None


def _class_attribute(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """An attribute of a class, module or function: a constant, if the run did not set it and it is no method of x."""
    if isinstance(x, enum.EnumMeta):
        return getattr(x, name), None, None
    if name == "__dict__" and isinstance(x, pytypes.FunctionType):
        return x.__dict__, vars_shadow(x, None), None
    if name == "__dict__" and isinstance(x, type) and not is_library(x):
        return *namespace_of(x), None
    if name == "__dict__" and isinstance(x, pytypes.ModuleType):
        _check_scope(x)
    meta: Any = type(x)
    if isinstance(x, type) and isinstance(p := class_attribute(meta, name), property) and p.fget is not None:
        return of_receiver(call(p.fget, None, (x,), (None,)))
    owners: tuple[Any, ...] = (*x.__mro__, *meta.__mro__) if isinstance(x, type) else (x,)
    for k in owners:
        if name in k.__dict__:
            d = k.__dict__[name]
            if isinstance(x, type) and (get := _function(d, "__get__")) is not None:
                return dropping(call(get, None, (d, None, x), (zero_fdata(d), None, None)))
            if shadow_of_attributes(k, None) is None or (isinstance(x, type) and hasattr(type(d), "__get__")):
                break
            return (*read_stored(k, None, name),)
    else:
        hook = class_attribute(meta, "__getattr__") if isinstance(x, type) else None
        if type(hook) is pytypes.FunctionType:
            return of_receiver(call(hook, None, (x, name), (None, None)))
    y = getattr(x, name, ABSENT)
    if y is ABSENT:
        return None
    own = fx is not None and type(y) in BOUND and getattr(y, "__self__", None) is x
    return y, fx if own else met(y), None


def _check_scope(module: pytypes.ModuleType) -> None:
    """Refuse the dict of global variables where one may be assigned what has a derivative: nobody would know."""
    if run.is_wary() and assigns_values(vars(module)):
        what = "the dict of global variables, one of which is assigned what may have a derivative,"
        raise UnsupportedError(what, "the call", None, "name the variable")


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
                return _class_attribute(call, k, None, name)
            return found if found is not None else _super_native(s, d, x, fx, name)
    return None


def _super_native(s: Any, d: Any, x: Any, fx: Any, name: str) -> Result:
    """The same where C code has the say: a method bound to x, or the field of a named tuple."""
    if isinstance(x, tuple) and (i := field_index(d)) is not None:
        return field(x, fx, i)
    y = getattr(s, name)
    if getattr(y, "__self__", ABSENT) is x:
        return y, fx, lambda dy: dy
    if is_active(x, fx) and has_tangent(y):
        raise NoRule(getattr, (x, name), (fx, None))
    return y, None, None


def stored_plainly(x: Any, name: Any) -> Any:
    """What an object stores as an attribute of which its class has nothing to say; ABSENT where it may have."""
    cls = type(x)
    if not is_user_class(cls):
        return ABSENT
    for k in cls.__mro__:
        d = k.__dict__
        if "__getattribute__" in d and type(d["__getattribute__"]) is pytypes.FunctionType:
            return ABSENT
        if name in d and comes_first(d[name]):
            return ABSENT
    return getattr(x, "__dict__", _NOTHING).get(name, ABSENT)


def read_quickly(x: Any, fx: Any, name: Any) -> Result | None:
    """`getattr(x, name)` where x stores that, and its class has nothing to say; None where it may have."""
    y = stored_plainly(x, name)
    if y is ABSENT:
        return None
    shadow = fx if type(fx) is ObjectShadow else run.current().shadow(x)
    if type(shadow) is not ObjectShadow:
        return y, None if type(y) in _NUMBERS else met(y), None
    fy = shadow.fdata(name)
    if fy is None and y is not None and type(y) not in _NUMBERS:
        fy = met(y)

    def pullback(dy: Any) -> Any:
        if dy is not None and name not in shadow.constant:
            r = shadow.r
            r[name] = add_any(r.get(name), fy, dy)
        return None

    return y, fy, pullback


def handle_getattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`getattr(x, name)` and `getattr(x, name, default)`."""
    x, name = args[0], args[1]
    if not isinstance(name, str):
        return None
    if len(args) == 3:
        found = _get_or_default(call, x, fargs[0], name)
        if found is not None and found[0] is ABSENT:
            undo = found[2]
            return args[2], fargs[2], lambda dy: (None, None if undo is None else undo(None), None, dy)
    else:
        found = get_attribute(call, x, fargs[0], name)
    if found is None:
        return None
    y, fy, pb = found
    if fy is None and y is not None and type(y) not in _NUMBERS:
        fy = met(y)
    return y, fy, None if pb is None else (lambda dy: (None, pb(dy), *(None,) * (len(args) - 1)))


def _get_or_default(call: Call, x: Any, fx: Any, name: str) -> Result | None:
    """`getattr(x, name, default)`: an attribute, or ABSENT with the pullback of what was done to find that out."""
    try:
        found = get_attribute(functools.partial(call, protected=True), x, fx, name)
        if found is None and not hasattr(x, name):
            return ABSENT, None, None
    except AttributeError:
        return ABSENT, None, None
    if found is None or type(found[0]) is not Raised:
        return found
    return (ABSENT, None, found[2]) if isinstance(found[0].exc, AttributeError) else found


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
    return y if type(y) is Raised else y is not ABSENT, None, None if pb is None else lambda _: (pb(None), None)[1]


def handle_setattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], constant: bool = False) -> Result | None:
    """`setattr(x, name, v)`, and what an assignment to an attribute is; `constant`: v surely has no derivative.

    None for an array with a derivative, of whose parts there is a rule.
    """
    x, name, v = args
    fx, _, fv = fargs
    if type(x) is np.ndarray and fx is not None:
        return None
    cls = type(x)
    if cls is super:
        x, cls = x.__self__, type(x.__self__)
    hook = class_attribute(cls, "__setattr__")
    if _is_hook(hook):
        return _setting(call(hook, None, (x, name, v), (fx, None, fv)))
    return generic_set(call, args, fargs, constant)


def generic_set(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], constant: bool = False) -> Result:
    """`object.__setattr__(x, name, v)`."""
    x, name, v = args
    fx, _, fv = fargs
    if type(x) is super:
        x = x.__self__  # type: ignore[attr-defined]
    if isinstance(x, pytypes.FunctionType) and name in _OF_FUNCTIONS:
        raise UnsupportedError(f"setting {name} of a function", "the call", None, "make another function")
    if type(x) is pytypes.CellType and name == "cell_contents":
        _, _, pb = call(ops.cell_set, None, (x, v), (fx, fv))
        return None, None, None if pb is None else (lambda dy: (None, None, None, pb(None)[2]))
    d = class_attribute(type(x), name)
    if isinstance(d, property) and type(d.fset) is pytypes.FunctionType:
        return _setting(call(d.fset, None, (x, v), (fx, fv)))
    put = None if d is _MISSING else _function(d, "__set__")
    if put is not None:
        return _setting(call(put, None, (d, x, v), (zero_fdata(d), fx, fv)))
    known = isinstance(x, type) or type(d) is pytypes.MemberDescriptorType
    if d is not _MISSING and hasattr(type(d), "__set__") and not known:
        if name == "args" and isinstance(x, BaseException):
            put_back = write_args(x, fx, v, fv)
            return None, None, lambda dy: (None, None, None, put_back(None))
        if name == "__dict__" and v is x and isinstance(x, dict) and not vars(x):
            old = vars(x)
            object.__setattr__(x, name, x)
            run.changed_in_place()
            return None, None, lambda dy: object.__setattr__(x, name, old)
        if name == "__dict__":
            undo = replace_dict(x, fx, v, fv)
            return None, None, lambda dy: (None, None, None, undo(None))
        if name == "__class__":
            what = "changing the class of an object"
            raise UnsupportedError(what, "the call", None, "make an object of the other class")
        if not constant and is_active(v, fv):
            what = f"setting {name!r} of {named(x)} to a value with a derivative"
            raise UnsupportedError(what, "the call", None, "keep the value elsewhere")
        object.__setattr__(x, name, v)  # raises, or sets what has no derivative
        run.changed_in_place()
        return None, None, None
    if not _can_store(x, name):
        object.__setattr__(x, name, v)  # raises
    unset = write_stored(x, fx, name, v, fv, constant)
    return None, None, lambda dy: (None, None, None, unset(None))


def handle_set_kept(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """`x.__dict__[name] = v`."""
    x, name, v = args
    unset = write_stored(x, fargs[0], name, v, fargs[2])
    return None, None, lambda dy: (None, None, None, unset(None))


def _can_store(x: Any, name: str) -> bool:
    return isinstance(x, type) or hasattr(x, "__dict__") or slot_of(type(x), name) is not None


def _setting(result: Result) -> Result:
    """A call of a setter, whose last argument is the value, as one of `setattr`."""
    y, _, pb = through(result, lambda ds: (None, None, None, ds[-1]))
    return y if type(y) is Raised else None, None, pb


def handle_delattr(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    hook = class_attribute(type(args[0]), "__delattr__")
    if _is_hook(hook):
        y, _, pb = call(hook, None, args, fargs)
        return dropping((y if type(y) is Raised else None, None, pb))
    return generic_delete(call, args, fargs)


def generic_delete(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    """`object.__delattr__(x, name)`."""
    x, name = args
    d = class_attribute(type(x), name)
    f = d.fdel if isinstance(d, property) else None if d is _MISSING else _function(d, "__delete__")
    if type(f) is pytypes.FunctionType:
        values = (x,) if isinstance(d, property) else (d, x)
        y, _, pb = call(f, None, values, fargs[:1] if isinstance(d, property) else (zero_fdata(d), fargs[0]))
        return dropping((y if type(y) is Raised else None, None, pb))
    try:
        stored(x, name)
    except AttributeError:
        delattr(x, name)  # raises
    undo = delete_stored(x, fargs[0], name)
    return None, None, undo


def handle_vars(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if len(args) != 1:
        return None
    x = args[0]
    if isinstance(x, pytypes.ModuleType):
        _check_scope(x)
    if isinstance(x, type):
        return None if is_library(x) else (*namespace_of(x), None)
    if not (isinstance(x, (BaseException, pytypes.FunctionType)) or is_user_class(type(x))):
        return None
    return x.__dict__, vars_shadow(x, fargs[0]), None


def handle_super(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    if len(args) != 2:
        return None
    return super(*args), fargs[1], lambda dy: (None, None, dy)


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


def behind_getattribute(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    found = _generic_get(call, args[0], fargs[0], args[1], fallback=False)
    if found is None:
        object.__getattribute__(*args)  # may raise
        return None
    y, fy, pb = found
    return y, fy, None if pb is None else (lambda dy: (None, pb(dy), None))
