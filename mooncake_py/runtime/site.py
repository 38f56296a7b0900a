"""Call sites decided when they run, and the general way to run any callable forwards with a pullback.

A call takes the callee, its arguments and their fdata, and returns `(value, fdata, pullback)`. The pullback
takes the rdata of the value and returns the rdata of callee, arguments and keyword arguments, in that order;
None stands for a pullback with nothing to do.
"""

from __future__ import annotations

import builtins
import functools
import operator
import types as pytypes
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import outputs, registry, run
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.errors import MissingRule, MooncakeError, UnsupportedError
from mooncake_py.infer.interpret import CallInfo
from mooncake_py.infer.outside import is_data
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.infer.types import Obj, Tup, abstract, widen
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Pos
from mooncake_py.registry import Rule, find_rule_for_values, name_of, rules_of
from mooncake_py.runtime import objects
from mooncake_py.runtime.callables import call_object
from mooncake_py.runtime.iteration import ITERATION, ITERATORS, drain, iterates_in_python
from mooncake_py.runtime.plain import all_it_reaches, inert_parts, run_plainly
from mooncake_py.runtime.rule import bind, cells_of, lift, rule_for, settle
from mooncake_py.runtime.user import has_derivative
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, Shadow, add_rdata, has_tangent, take_fdata, zero_fdata
from mooncake_py.transform import contract
from mooncake_py.transform.helpers import add_any, cotangent, repeats, view_shadow
from mooncake_py.transform.lanes import ANY, NONE, REF, Tree
from mooncake_py.unwinding import Raised, give_tangent, leave, note_missing, tangent_of

if TYPE_CHECKING:
    from mooncake_py.diagnostics.rules import Watch

Pull = Callable[[Any], Any]
Result = tuple[Any, Any, Pull | None]


class DynamicSite:
    """One call in a derived rule whose callee or types were not known when it was derived."""

    __slots__ = (
        *("classes", "filename", "function", "generation", "last", "line", "live", "protected", "rule"),
        "why",
    )

    def __init__(
        self,
        filename: str,
        pos: Pos,
        function: str,
        why: str,
        live: tuple[bool, ...] | None = None,
        protected: bool = False,
    ):
        self.live = live  # which arguments may carry a derivative, where that is known
        self.protected = protected  # is there a handler that asks what was done before an exception?
        self.line, self.function = pos.calls(function)[-1]  # through functions that were taken in
        self.filename, self.why = filename, why
        self.last: Any = None  # the inline cache: the callee and the classes of its arguments that `rule` is for
        self.classes: tuple[type, ...] = ()
        self.rule: Rule | None = None
        self.generation = -1

    @classmethod
    def at(cls, code: pytypes.CodeType) -> Callable[[CallInfo, Call, tuple[bool, ...], bool], DynamicSite]:
        return lambda info, s, live, protected: cls(
            code.co_filename, s.pos, code.co_qualname, info.why, live, protected
        )

    def __repr__(self) -> str:
        return f"<call site {self.filename}:{self.line}>"

    def _check_write(
        self, f: Any, args: tuple[Any, ...], fargs: tuple[Any, ...], live: tuple[bool, ...]
    ) -> tuple[Any, ...]:
        """Refuse to write a value with a derivative where nobody would find it; fdata for what it is written into.

        `live`: which arguments but the first may carry a derivative.
        """
        x = args[0]
        array = type(x) is np.ndarray
        if type(f).__hash__ is None or not (array or isinstance(x, (list, dict, deque))):
            return fargs
        rule = find_rule_for_values(f, args)
        if rule is None or 0 not in rule.mutates or (array and x.dtype.kind not in "fcOV"):
            return fargs
        if any(on and is_active(v, fv) for on, v, fv in zip(live, args[1:], fargs[1:], strict=True)):
            if not array and run.is_wary() and (zero := zero_fdata(x)) is not None:
                return (zero, *fargs[1:])
            raise UnsupportedError(
                f"writing a value with a derivative into {objects.named(x)} from outside the function",
                self.filename,
                self.line,
                "pass the object as an argument, or return what you would store",
            )
        return fargs

    def __call__(
        self,
        f: Any,
        ff: Any,
        args: tuple[Any, ...],
        fargs: tuple[Any, ...],
        names: tuple[str, ...] = (),
        kwvalues: tuple[Any, ...] = (),
        kwfdata: tuple[Any, ...] = (),
    ) -> Result:
        try:
            fargs = known(args, fargs)
            if self.live is not None and any(self.live):
                if type(f) is pytypes.BuiltinFunctionType and type(f.__self__) in _CONTAINERS and ff is None:
                    ff = run.current().shadow(f.__self__)
                    if ff is None and callable(d := _native_method(type(f.__self__), f)):
                        ff = self._check_write(d, (f.__self__, *args), (None, *fargs), self.live)[0]
                elif fargs and fargs[0] is None:
                    fargs = self._check_write(f, args, fargs, self.live[1:])
            classes = tuple(map(type, args))
            if f is self.last and classes == self.classes and not names and self.generation == registry.generation:
                assert self.rule is not None
                if any(map(is_active, args, fargs)):
                    return run_rule(f, self.rule, args, fargs, {}, ())
            elif (
                not names
                and ff is None
                and type(f).__hash__ is not None
                and f not in _NATIVE
                and (ITERATORS.isdisjoint(classes))
            ):
                rule = find_rule_for_values(f, args)
                if rule is not None and rule.fn is not None and not any(map(objects.decides, args)) and _settled(rule):
                    self.last, self.classes, self.rule, self.generation = f, classes, rule, registry.generation
            if names:
                kwfdata = known(kwvalues, kwfdata)
            if f is setattr and self.live is not None and not self.live[-1] and fargs[-1] is None:
                y, fy, pb = objects.handle_setattr(_protected if self.protected else call, args, fargs, constant=True)
            else:
                y, fy, pb = call(f, ff, args, fargs, names, kwvalues, kwfdata, self.protected)
            if type(y) is Raised:
                leave(y.exc, pb)
            if fy is None and type(y) not in _ATOMS and ((self.live is not None and any(self.live)) or run.is_wary()):
                fy = zero_fdata(y) if not isinstance(y, np.ndarray) else None
            return y, fy, pb
        except _NoRule as e:
            bound = getattr(f, "__self__", None)  # of a method of a number nobody knows whether it has a derivative
            if self.live is not None and not any(self.live) and ff is None and not names and not is_active(bound, None):
                return run_plainly(f, args, {}, ())  # numbers, but none that has a derivative
            why = registry.refusal(e.f)
            if why is not None and e.f not in registry.opaque:
                raise MissingRule(
                    f"{name_of(e.f)} is not differentiated: {why}. It was given an active argument "
                    f"(number {e.active + 1}), in {self.filename}:{self.line} ({self.function})"
                ) from None
            from mooncake_py.diagnostics.missing import missing_rule

            where = f"{self.filename}:{self.line} ({self.function})"
            raise MissingRule(missing_rule(e.f, e.given, names, e.active, where, why)) from None


_CONTAINERS = frozenset({list, dict, deque, defaultdict, OrderedDict})
MOST = 256
"""Up to how many items of a list are looked at for each call: a loop must not look at all of them every time."""


def _settled(rule: Rule) -> bool:
    """Is the rule for all arguments of these classes, whatever they hold?"""
    return registry.Numbers not in rule.pattern and registry.Constant not in rule.pattern


_NATIVE = frozenset({ops.call_ex, builtins.__build_class__, *objects.NATIVE})
_ATOMS = frozenset({float, int, complex, bool, str, bytes, type(None), range, slice, type, pytypes.FunctionType})


def known(args: tuple[Any, ...], fargs: tuple[Any, ...]) -> tuple[Any, ...]:
    """fdata of arguments, that of objects from outside too where this run has met them."""
    if None not in fargs:
        return fargs
    here = run.current()
    if not (here.objects or here.made):
        return fargs
    return tuple(
        [here.shadow(x) if fx is None and type(x) not in _ATOMS else fx for x, fx in zip(args, fargs, strict=True)]
    )


class StaticSite:
    """A call of a Python function whose types are known; its rule is derived when the call first runs.

    Recursive functions need the delay, and code that never runs costs nothing.
    """

    __slots__ = ("forward", "function", "pullback", "types")

    def __init__(self, function: pytypes.FunctionType, types: tuple[Any, ...]):
        self.function, self.types = function, types
        self.forward: Callable[..., Any] = self._first
        self.pullback: Callable[..., Any] | None = None

    @classmethod
    def of(cls, info: CallInfo) -> StaticSite:
        return cls(info.target, tuple(map(widen, info.types)))

    def _first(self, *args: Any) -> Any:
        rule = rule_for(self.function, self.types, ())
        self.forward, self.pullback = rule.forward, rule.pullback
        return rule.forward(*args)


def _users_rule(f: Any, args: tuple[Any, ...]) -> bool:
    """Has a user said what this operator does to these objects?"""
    rule = find_rule_for_values(f, args)
    return rule is not None and rule.user


def _no_rule(f: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> bool:
    return not rules_of(f) or find_rule_for_values(f, args, names) is None


class _NoRule(MooncakeError):
    """A function without a rule was given these arguments, that numbered `active` carrying a derivative."""

    def __init__(self, f: Any, args: Sequence[Any], fargs: Sequence[Any]):
        self.f, self.given = f, tuple(args)
        self.active = next((i for i, (a, fa) in enumerate(zip(args, fargs, strict=False)) if is_active(a, fa)), 0)
        super().__init__(f"{name_of(f)} has no rule")


class _NotDerived(MooncakeError):
    """A Python function has no rule, and nothing of it has run."""

    def __init__(self, why: UnsupportedError):
        self.why = why
        super().__init__(str(why))


def is_active(x: Any, fdata: Any) -> bool:
    """May this value carry a derivative? Numbers may; things with identity do where they have fdata."""
    if fdata is not None:
        return True
    if isinstance(x, (float, complex, np.inexact)):
        return True
    return isinstance(x, tuple) and any(is_active(v, None) for v in x)


def call(
    f: Any,
    ff: Any,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    names: tuple[str, ...] = (),
    kwvalues: tuple[Any, ...] = (),
    kwfdata: tuple[Any, ...] = (),
    protected: bool = False,
) -> Result:
    """Run a call forwards: the value, its fdata, and the pullback of the call.

    `protected`: a call that raises when it has changed something gives a `Raised`, and the pullback of that.
    """
    kwargs = dict(zip(names, kwvalues, strict=True))
    alike = _protected if protected else call
    if type(f) is pytypes.MethodType:
        return _shifted(call(f.__func__, None, (f.__self__, *args), (ff, *fargs), names, kwvalues, kwfdata, protected))
    if type(f) is pytypes.BuiltinFunctionType or type(f) is pytypes.MethodWrapperType:
        self = f.__self__
        if self is not None and not isinstance(self, pytypes.ModuleType) and _no_rule(f, args, names):
            d = _native_method(type(self), f)
            if callable(d):
                return _shifted(call(d, None, (self, *args), (ff, *fargs), names, kwvalues, kwfdata, protected))
    k = registry.drained.get(f) if type(f).__hash__ is not None else None
    if k is not None and k < len(args) and _runs_out(f, k, args, fargs):
        return drain(call, k, f, args, fargs, names, kwvalues, kwfdata, protected)
    if f is ops.call_ex:
        return _call_ex(args, fargs, protected)
    if f is ops.load_special:
        y, fx = f(*args), fargs[0]
        return y, fx, None if fx is None else lambda dy: (None, dy, None)
    if type(f).__hash__ is not None:
        if f in objects.NATIVE and not names:
            found = objects.NATIVE[f](alike, args, fargs)
            if found is not None:
                if type(found[0]) is Raised and not protected:
                    note_missing(found[0].exc, f.__name__, "the call", 0)
                    raise found[0].exc
                return found
        elif f in objects.PROTOCOL and any(map(objects.decides, args)) and not names and not _users_rule(f, args):
            found = objects.PROTOCOL[f](alike, args, fargs)
            if found is not None:
                return found
        elif f is builtins.__build_class__:
            return objects.handle_build_class(ff, args, fargs, kwargs)
    if f is getattr and isinstance(args[1], str):
        found = _of_exception(args[0], args[1]) if isinstance(args[0], BaseException) else None
        return _getattr(args, fargs) if found is None else found
    if (iterates := ITERATION.get(f) if type(f).__hash__ is not None else None) is not None and not names:
        found = iterates(call, args, fargs, protected)
        if found is not None:
            return found
    active = any(map(is_active, args, fargs)) or any(map(is_active, kwvalues, kwfdata)) or ff is not None
    rule = find_rule_for_values(f, args, names)
    if rule is not None:
        asked = objects.asked(f, args, kwargs) if active and f not in registry.incurious else []
        if rule.fn is None or (not active and not rule.mutates):
            result: Result = f(*args, **kwargs), None, None
            if active and (told := run.observer()) is not None:
                told.stopped(f, result[0])
        else:
            result = run_rule(f, rule, args, fargs, kwargs, kwfdata)
        if asked:
            objects.check_unchanged(f, asked)
        return result
    if outputs.writes_out(f, len(args), names) and outputs.can_be_split(f):
        return _written(f, ff, args, fargs, names, kwvalues, kwfdata)
    if active and registry.refusal(f) is not None:
        raise _NoRule(f, args, fargs)
    python = registry.seen_through(f, len(args), bool(names), tuple(map(type, args)))
    if python is not None and (active or python is f):
        if not active and (within := all_it_reaches(python, (*args, *kwvalues))) is not None:
            return run_plainly(f, args, kwargs, names, protected, within)
        try:
            return _python(python, ff, args, fargs, names, kwvalues, kwfdata, protected)
        except _NotDerived as e:
            if active:
                raise e.why from None
            return run_plainly(f, args, kwargs, names, protected)
    found = call_object(alike, f, ff, args, fargs, names, kwvalues, kwfdata) if active else None
    if found is not None:
        return found
    if f is objects.TYPE_CALL:  # a metaclass has it called
        made = objects.type_call(alike, args[0], args[1:], fargs[1:], names, kwvalues, kwfdata)
        if made is not None:
            y, fy, pb = made
            return y, fy, None if pb is None else lambda dy: None if (ds := pb(dy)) is None else (None, *ds)
    if isinstance(f, type):
        found = objects.construct(alike, f, args, fargs, names, kwvalues, kwfdata)
        if found is not None:
            return found
    if not isinstance(f, (type, pytypes.BuiltinFunctionType, np.ufunc)):
        d = class_attribute(type(f), "__call__")
        if type(d) is pytypes.FunctionType:
            return _shifted(call(d, None, (f, *args), (ff, *fargs), names, kwvalues, kwfdata, protected))
    if not active:
        return run_plainly(f, args, kwargs, names, protected)
    if isinstance(f, type) and issubclass(f, BaseException) and not names:
        found = _exception(f, args, fargs)
        if found is not None:
            return found
    values = (*args, *kwvalues)
    if registry.refusal(f) is None and not any(map(has_derivative, values)) and inert_parts(values) is not None:
        result = run_plainly(f, args, kwargs, names, protected)
        if type(result[0]) in _ATOMS:  # of containers without numbers, and nothing that could hold on to them
            return result
    raise _NoRule(f, args, fargs)


_protected = functools.partial(call, protected=True)


def _exception(cls: type[BaseException], args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
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


def _of_exception(exc: BaseException, name: str) -> Result | None:
    """`exc.args`, and `exc.value` of a StopIteration; None for other attributes, and where there is no derivative."""
    shadow = tangent_of(exc)
    if shadow is None or not (name == "args" or (name == "value" and isinstance(exc, StopIteration))):
        return None
    f, r = shadow.f, shadow.r

    def pullback(dy: Any) -> None:
        if dy is not None:
            for i, t in enumerate(dy if name == "args" else (dy,)):
                r[i] = add_any(r[i], f[i], t)

    if name == "value":
        return exc.value, f[0], pullback  # type: ignore[attr-defined]
    return exc.args, f if any(x is not None for x in f) else None, pullback


def _written(
    f: Any,
    ff: Any,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    names: tuple[str, ...],
    kwvalues: tuple[Any, ...],
    kwfdata: tuple[Any, ...],
) -> Result:
    """`f(x, out=z)` as `f(x)` written into z."""

    def pairs(xs: Sequence[Any], fs: Sequence[Any]) -> list[tuple[Any, Any]]:
        return list(zip(xs, fs, strict=True))

    keyword = dict(zip(names, pairs(kwvalues, kwfdata), strict=True))
    rest, kept, out = outputs.split(f, pairs(args, fargs), keyword, (None, None))
    outs = out if isinstance(out, list) else pairs(*_parts(*out)) if type(out[0]) is tuple else [out]
    several = isinstance(f, np.ufunc) and f.nout > 1
    if len(outs) != (f.nout if several else 1):
        return f(*args, **dict(zip(names, kwvalues, strict=True))), None, None  # NumPy's own error
    xs, fs = tuple(x for x, _ in rest), tuple(fx for _, fx in rest)
    if any(map(is_active, xs, fs)):
        y, fy, pb = call(f, ff, xs, fs, tuple(kept), *zip(*kept.values(), strict=True) if kept else ())
    else:
        y, fy, pb = f(*xs, out=None, **{k: x for k, (x, _) in kept.items()}), None, None
    where = kept.get("where", (True, None))[0] if isinstance(f, np.ufunc) else True
    results = pairs(*_parts(y, fy)) if several else [(y, fy)]
    pulls: list[Pull | None] = []
    for i, (z, fz) in enumerate(outs):
        pulls.append(None)
        if z is not None:
            part, fpart = results[i]
            if fpart is not None and fz is None:
                raise UnsupportedError(
                    "writing a value with a derivative into an array from outside the function", "out=", None,
                    "pass the array as an argument, or return what you would store",
                )  # fmt: skip
            given = (z, part, isinstance(f, np.ufunc), where)
            pulls[i] = call(outputs.write_out, None, given, (fz, fpart, None, None))[2]
            results[i] = (z, fz)
    place = {k: i for i, k in enumerate(kept)}
    n = len(rest)

    def pullback(dy: Any) -> Any:
        parts = list(dy) if several and dy is not None else [dy] * len(outs)
        for i, undo in enumerate(pulls):
            if undo is not None:
                ds = undo(None)
                parts[i] = None if ds is None else ds[2]
        ds = None if pb is None else pb(tuple(parts) if several else parts[0])
        if ds is None:
            return None
        mine = list(ds[: 1 + n]) + [None] * (len(args) - n)
        return (*mine, *(ds[1 + n + place[k]] if k in place else None for k in names))

    if several:
        return tuple(z for z, _ in results), tuple(fz for _, fz in results), pullback
    return (*results[0], pullback)


def _runs_out(f: Any, k: int, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> bool:
    """Does f take item after item from its argument k, by Python code that is to be derived?"""
    if type(args[k]) in ITERATORS:
        return True
    if fargs[k] is None or not iterates_in_python(args[k]):
        return False
    if f is min or f is max:
        return len(args) == 1
    if f is operator.iadd:  # the objects are asked first
        return not objects.decides(args[0]) and not objects.defines(args[1], "__radd__")
    return True


def _call_ex(args: tuple[Any, ...], fargs: tuple[Any, ...], protected: bool) -> Result:
    """`f(*args, **kwargs)`."""
    f, star, double = args
    ff, fstar, fdouble = fargs
    listed: Pull | None = None
    if not isinstance(star, (tuple, list)):
        star, fstar, listed = call(list, None, (star,), (fstar,))
    items, fitems = _parts(star, fstar)
    names = tuple(double) if double is not None else ()
    values = tuple(double.values()) if double is not None else ()
    fvalues = tuple(fdouble.f.get(k) for k in names) if fdouble is not None else (None,) * len(names)
    y, fy, pb = call(f, ff, items, fitems, names, values, fvalues, protected)
    if pb is None and listed is None:
        return y, fy, None
    n = len(items)

    def pullback(dy: Any) -> Any:
        ds = None if pb is None else pb(dy)
        given = None if ds is None else _give(star, fstar, ds[1 : 1 + n])
        if listed is not None:
            back = listed(given)
            given = None if back is None else back[1]
        if ds is None:
            return None if given is None else (None, None, given, None)
        if fdouble is not None:
            for k, t in zip(names, ds[1 + n :], strict=True):
                if t is not None:
                    fdouble.r[k] = add_rdata(fdouble.r.get(k), t)
        return None, ds[0], given, None

    return y, fy, pullback


def _parts(x: Any, fx: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The items of a tuple or list, and their fdata."""
    items = tuple(x)
    if type(fx) is ListShadow:
        return items, tuple(fx.f)
    return items, fx if type(fx) is tuple else (None,) * len(items)


def _give(x: Any, fx: Any, ts: tuple[Any, ...]) -> Any:
    """The cotangent of a tuple or list by those of its items."""
    if type(fx) is ListShadow:
        fx.add(ts)
        return None
    return tuple(ts) if isinstance(x, tuple) else None


def _native_method(cls: type, bound: Any) -> Any:
    """The descriptor in C that gave this bound method."""
    found = getattr(bound, "__objclass__", None)
    if found is not None:
        return found.__dict__.get(bound.__name__)
    for k in cls.__mro__:
        d = k.__dict__.get(bound.__name__)
        if isinstance(d, (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)):
            return d
    return None


def _shifted(result: Result) -> Result:
    """A method's call as one of the bound method: the receiver is what the callee carries."""
    y, fy, pb = result
    if pb is None:
        return result

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else ds[1:]

    return y, fy, pullback


def _getattr(args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    x, name = args[0], args[1]
    y = getattr(*args)
    if type(y) in (pytypes.MethodType, pytypes.BuiltinFunctionType, pytypes.MethodWrapperType):
        if getattr(y, "__self__", None) is x:
            return y, fargs[0], lambda dy: (None, dy, None)
    d = class_attribute(type(x), name)
    if is_active(x, fargs[0]):
        if isinstance(x, tuple) and name in getattr(type(x), "_fields", ()):
            return _field(x, fargs[0], type(x)._fields.index(name))  # type: ignore[attr-defined]
        try:
            rule = find_rule_for_values(d, (x,))
        except TypeError:
            rule = None
        if registry.refusal(d) is not None:
            raise _NoRule(d, args, fargs)
        if rule is not None:
            if rule.fn is None:
                return y, None, None
            y, fy, pb = run_rule(functools.partial(attribute_of, name), rule, (x,), fargs[:1], {}, ())
            return y, fy, None if pb is None else (lambda dy: _padded(pb(dy)))
        if has_tangent(y):
            raise _NoRule(d if callable(d) else getattr, args, fargs)
    return y, None, None


def _field(x: tuple[Any, ...], fx: Any, i: int) -> Result:
    """A field of a named tuple."""
    fy = None if fx is None else fx[i]

    def pullback(dy: Any) -> Any:
        return None if dy is None else ((None, tuple([dy if k == i else None for k in range(len(x))]), None))

    return x[i], fy, pullback


def attribute_of(name: str, x: Any) -> Any:
    return getattr(x, name)


def _padded(ds: Any) -> Any:
    return None if ds is None else (None, ds[1], None)


def run_rule(
    f: Any,
    rule: Rule,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    kwargs: dict[str, Any],
    kwfdata: tuple[Any, ...],
    tree: Tree = ANY,
    watch: Watch | None = None,
) -> Result:
    """Run a registered rule on primals and fdata.

    `tree` says where the caller has the cotangent of the result (ANY: in its fdata, where it has such). In debug
    mode a `watch` is told what happens.
    """
    assert rule.fn is not None
    if watch is None and debug_frame() is not None:
        from mooncake_py.diagnostics.sites import watch as new_watch

        watch = new_watch(f, rule)

    def given(x: Any, fx: Any, i: int) -> Any:
        return CoDual(x, fx) if rule.sees_fdata(i) else x

    position = rule.positions(len(args), kwargs)
    kw = {k: given(v, fv, position[k]) for (k, v), fv in zip(kwargs.items(), kwfdata, strict=False)}
    if watch is not None:
        watch.before(args, fargs, kwargs)
    result = rule.fn(*map(given, args, fargs, range(len(args))), **kw)
    if rule.in_place:
        run.changed_in_place()
    elif type(result) is tuple and type(result[0]) in (int, bool, str) and (told := run.observer()) is not None:
        told.stopped(f, result[0])
    check = contract.RuleCall(rule, len(args)) if rule.user and watch is None else None
    if watch is not None:
        result = watch.pair(result)
    y, pb = result if check is None else contract.pair(result, check)
    forms = [] if check is None else [contract.form_of(x) for x in args]
    if isinstance(y, np.ndarray) and (type(y) is not np.ndarray or y.dtype.kind in "OV"):
        kind = f"dtype {y.dtype}" if type(y) is np.ndarray else f"class {type(y).__name__}"
        raise UnsupportedError(
            f"a value with a derivative in an array of {kind}", name_of(f), None,
            "use plain arrays of floats or complex numbers, lists or dicts",
        )  # fmt: skip
    if type(y) is CoDual:
        y, fy = y.primal, y.fdata
        own = False
    else:
        own = True
        fy = None
        if rule.alias and fargs[rule.alias[0]] is not None and tree in (REF, ANY):
            rest = args[1:]
            target = functools.partial(f, **kwargs) if kwargs else f
            fy = (
                zero_fdata(y)
                if type(y) is np.ndarray and repeats(y)
                else view_shadow(args[0], fargs[0], y, target, *rest)
            )
        elif not rule.mutates or tree != ANY:
            fy = zero_fdata(y) if tree == ANY else fresh_fdata(tree, y)
    if watch is not None:
        watch.after(y, fy, own, pb)
    fdatas = (*fargs, *kwfdata)
    n = len(args)

    def pullback(dy: Any) -> Any:
        if own and type(fy) is Shadow:
            if fy.is_view:
                return None
            dy = fy.take()
        elif own and fy is not None:
            dy = take_fdata(fy, dy)
        if dy is None and own and not rule.mutates:
            return None
        result = pb(dy) if watch is None else watch.run(pb, dy)
        if check is not None:
            result = _checked(result, forms, args, fargs, check)
        out: list[Any] = [None]
        for i in range(n):
            out.append(add_any(None, fdatas[i], cotangent(result, i)))
        for k, i in position.items():
            out.append(add_any(None, fdatas[len(out) - 1], cotangent(result, i)) if i >= 0 else None)
            del k
        return tuple(out)

    return y, fy, pullback


def fresh_fdata(tree: Tree, x: Any) -> Any:
    """Fresh fdata for a value whose cotangent is partly in variables of its caller's pullback."""
    if isinstance(tree, tuple):
        items = tuple(fresh_fdata(sub, v) for sub, v in zip(tree, x, strict=True))
        return items if any(f is not None for f in items) else None
    return zero_fdata(x) if tree in (REF, ANY) else None


def _checked(
    result: Any, forms: list[Any], args: tuple[Any, ...], fargs: tuple[Any, ...], check: contract.RuleCall
) -> Any:
    """The cotangents that a user's rule returned, if they belong to the arguments."""
    active = tuple(i for i, fx in enumerate(fargs) if fx is not None)
    contract.count(result, active, tuple(i for i, form in enumerate(forms) if form is not None), check)
    for i, form in enumerate(forms):
        if form is not None:
            contract.fit(cotangent(result, i), form, i, not np.iscomplexobj(args[i]), check)
    return result


def _python(
    f: pytypes.FunctionType,
    ff: Any,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    names: tuple[str, ...],
    kwvalues: tuple[Any, ...],
    kwfdata: tuple[Any, ...],
    protected: bool,
) -> Result:
    """A Python function: its derived rule for the types at hand."""
    if names or f.__code__.co_kwonlyargcount or f.__code__.co_flags & 0x0C or len(args) != f.__code__.co_argcount:
        slots = binding = _Slots()
        boxes = [slots.box(x, fx) for x, fx in zip((*args, *kwvalues), (*fargs, *kwfdata), strict=True)]
        n = len(args)
        params = bind(f, tuple(boxes[:n]), dict(zip(names, boxes[n:], strict=True)), *slots.defaults(f, ff))
        inputs = [slots.primal(v) for v in params]
        fdatas = [slots.fdata(v) for v in params]
        if f.__code__.co_flags & 0x08 and fdatas[-1] is None:
            fdatas[-1] = DictShadow({}, {})  # `**kwargs` is made for this call: the function may write to it
    else:
        params, binding = [], None
        inputs, fdatas = list(args), list(fargs)
    cells = cells_of(f)
    cell_f = ff.cells if ff is not None else known(cells, (None,) * len(cells))
    if run.is_wary():  # what is outside may have been written to
        cell_f = tuple([zero_fdata(c) if fc is None else fc for c, fc in zip(cells, cell_f, strict=True)])
        fdatas = [zero_fdata(x) if fx is None and is_data(x) else fx for x, fx in zip(inputs, fdatas, strict=True)]
    types = tuple(abstract_codual(x, fx) for x, fx in zip(inputs, fdatas, strict=True))
    free = tuple(abstract(c, fc is not None, MOST) for c, fc in zip(cells, cell_f, strict=True))
    try:
        rule = rule_for(f, types, free, outcome=protected)
    except UnsupportedError as e:
        raise _NotDerived(e) from None
    if rule.in_place:
        run.changed_in_place()
    for i in rule.derived.written_args:
        if fdatas[i] is None and type(inputs[i]) is np.ndarray and any(k == i for k, _ in rule.lanes):
            raise UnsupportedError(
                f"writing a value with a derivative into an array from outside the run (argument {i} of {f.__name__})",
                f.__code__.co_filename,
                f.__code__.co_firstlineno,
                "pass the array as an argument of the differentiated function",
            )
    try:
        y, inner, captures = rule.run([*inputs, *cells], [*fdatas, *cell_f])
    except BaseException as e:
        if not rule.reusable:
            note_missing(e, f.__qualname__, f.__code__.co_filename, f.__code__.co_firstlineno)
        raise
    tree = rule.derived.result_tree
    if protected:
        y, exc = y
        if exc is not None:
            run.changed_in_place()
            y, tree = Raised(exc), NONE
        else:
            tree, inner = (tree[0], None if inner is None else inner[0]) if isinstance(tree, tuple) else (NONE, None)
    fy = lift(tree, y, inner)

    def pullback(dy: Any) -> Any:
        dy = settle(tree, y, fy, dy)
        ds = rule.pullback(captures, (dy, None) if protected else dy)
        ds = [None if d is None else add_any(None, fx, d) for fx, d in zip(fdatas, ds, strict=False)]
        return (None, *ds) if binding is None else (None, *binding.scatter(params, ds))

    return y, fy, pullback


def abstract_codual(x: Any, fx: Any) -> Any:
    """The type of a value with this fdata: things with identity are active where they have some."""
    if type(x) is tuple:
        fs = fx if fx is not None else (None,) * len(x)
        return Tup(tuple(abstract_codual(v, fv) for v, fv in zip(x, fs, strict=True)))
    t = abstract(x, is_active(x, fx), MOST)
    if type(t) is Obj and not t.fields and id(x) in run.current().made:
        return Obj(t.cls, t.act, new=True)
    return t


class _Box:
    """Stands for one argument while it is bound to a parameter."""

    __slots__ = ("index", "primal", "shadow")

    def __init__(self, index: int, primal: Any, shadow: Any):
        self.index, self.primal, self.shadow = index, primal, shadow


class _Slots:
    """Follows arguments through binding: into `*args` tuples and `**kwargs` dicts and back."""

    def __init__(self) -> None:
        self.n = 0
        self.dicts: list[tuple[dict, DictShadow]] = []
        self.boxed_defaults: tuple[ListShadow, int] | None = None
        self.boxed_kwdefaults: tuple[DictShadow, int, list] | None = None

    def box(self, x: Any, fx: Any) -> _Box:
        self.n += 1
        return _Box(self.n - 1, x, fx)

    def primal(self, v: Any) -> Any:
        if type(v) is _Box:
            return v.primal
        if type(v) is tuple:
            return tuple(map(self.primal, v))
        if type(v) is dict and any(type(x) is _Box for x in v.values()):
            return {k: self.primal(x) for k, x in v.items()}
        return v

    def fdata(self, v: Any) -> Any:
        if type(v) is _Box:
            return v.shadow
        if type(v) is tuple:
            f = tuple(map(self.fdata, v))
            return f if any(x is not None for x in f) else None
        if type(v) is dict and any(type(x) is _Box for x in v.values()):
            shadow = DictShadow({k: self.fdata(x) for k, x in v.items()}, {})
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
            if type(v) is _Box:
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
