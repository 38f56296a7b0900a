"""The general way to run any callable forwards with a pullback.

A call takes the callee, its arguments and their fdata, and returns `(value, fdata, pullback)`. The pullback
takes the rdata of the value and returns the rdata of callee, arguments and keyword arguments, in that order;
None stands for a pullback with nothing to do.
"""

from __future__ import annotations

import array
import builtins
import functools
import operator
import types as pytypes
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooncake_py import outputs, registry, run
from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import OF_NUMBERS, bare
from mooncake_py.hashing import hashable
from mooncake_py.infer.codes import NAMESPACES, OF_FRAMES
from mooncake_py.infer.held import is_library
from mooncake_py.infer.resolve import called_alone, class_attribute
from mooncake_py.ir import ops
from mooncake_py.iterators import found_among
from mooncake_py.printing import printed, writes_in_python
from mooncake_py.registry import find_rule_for_values, rules_of
from mooncake_py.rule import Rule
from mooncake_py.runtime.asked import asked as asked_by
from mooncake_py.runtime.asked import watched
from mooncake_py.runtime.behind import reaches_met
from mooncake_py.runtime.callables import call_object
from mooncake_py.runtime.classes import handle_build_class
from mooncake_py.runtime.coduals import ATOMS, is_active
from mooncake_py.runtime.construction import TYPE_CALL, construct, type_call
from mooncake_py.runtime.exceptions import make_exception, of_exception
from mooncake_py.runtime.followed import followed, keeps_to_itself
from mooncake_py.runtime.iteration import ITERATION, ITERATORS, drain, gives_keys, iterates_in_python
from mooncake_py.runtime.native import NoRule, native_attribute, native_method
from mooncake_py.runtime.objects import NATIVE
from mooncake_py.runtime.operators import PROTOCOL, decides, defines
from mooncake_py.runtime.outside_functions import items_too, may_be_called_back, refuse_written, with_outside
from mooncake_py.runtime.overrides import ASKS_ARRAYS, overridden
from mooncake_py.runtime.plain import all_it_reaches, inert_parts, refuse_functions, run_plainly
from mooncake_py.runtime.python import NotDerived, run_python
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Given, Pull, Result, of_bound, through
from mooncake_py.runtime.settled import is_ordinary, settled_for
from mooncake_py.runtime.user import has_derivative
from mooncake_py.spelling import given_by_name
from mooncake_py.structure import is_user_class, of_constant_package
from mooncake_py.tangents import ListShadow, add_rdata, zero_fdata
from mooncake_py.unwinding import Raised, note_missing


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
    if names and hashable(f) and (named := given_by_name(f, len(args), names)):
        first, order = Given(args, fargs, names, kwvalues, kwfdata).by_position(named)
        return through(call(f, ff, *first, protected), lambda ds: [ds[i] for i in order])
    given = Given(args, fargs, names, kwvalues, kwfdata)
    if type(f) is pytypes.MethodType:
        return of_bound(call(f.__func__, None, *given.after(f.__self__, ff), protected))
    if type(f) is pytypes.FunctionType and is_ordinary(f):
        return of_python(f, ff, given, protected)
    alike = call_protected if protected else call
    if type(f) is type and is_user_class(f) and is_ordinary(f) and (found := construct(alike, f, given)) is not None:
        return found
    if not names and hashable(f):
        found = _step_by_step(f, ff, args, fargs, alike, protected)
        if found is not None:
            return found
    kwargs = given.kwargs
    if type(f) in ASKS_ARRAYS and (found := overridden(alike, f, given)) is not None:
        return found
    if isinstance(f, (pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
        self = f.__self__
        if self is not None and not isinstance(self, pytypes.ModuleType) and _no_rule(f, args, names):
            d = native_method(type(self), f)
            if callable(d):
                return of_bound(call(d, None, *given.after(self, ff), protected))
    if f is print and "file" in names and writes_in_python(kwvalues[names.index("file")]):
        return call(printed, None, args, fargs, names, kwvalues, kwfdata, protected)
    if f is operator.contains and len(args) == 2 and _is_searched(args[0], fargs[0]):
        return call(found_among, None, args, fargs, protected=protected)
    k = _takes_items(f, args) if hashable(f) else None
    if k is not None and k < len(args):
        if _runs_out(f, k, args, fargs):
            return drain(call, k, f, given, protected)
        if type(args[k]) in _SETS and fargs[k] is not None:  # none of its items has a derivative to be told of
            rest = call(f, ff, args, (*fargs[:k], None, *fargs[k + 1 :]), names, kwvalues, kwfdata, protected=protected)
            return through(rest, lambda ds: (*ds[: k + 1], None, *ds[k + 2 :]))
    if f is ops.call_ex:
        return _call_ex(args, fargs, protected)
    if f is ops.load_special:
        return f(*args), fargs[0], lambda dy: (None, dy, None)
    if hashable(f):
        if f in PROTOCOL and any(map(decides, args)) and not names and not _users_rule(f, args):
            found = PROTOCOL[f](alike, args, fargs)
            if found is not None:
                return found
        elif f is builtins.__build_class__:
            return handle_build_class(call, args, fargs, kwargs)
        elif f in NAMESPACES and len(args) < OF_FRAMES[f] and not names:
            raise UnsupportedError(f"{f.__name__}() without a namespace", "the call", None, "name what it gives")
    if f is getattr and isinstance(args[1], str):
        found = of_exception(args[0], args[1]) if isinstance(args[0], BaseException) else None
        return native_attribute(args, fargs) if found is None else found
    active = any(map(is_active, args, fargs)) or any(map(is_active, kwvalues, kwfdata)) or ff is not None
    rule = find_rule_for_values(f, args, names)
    called_back = bool(run.is_wary()) and _is_curious(f) and any(map(may_be_called_back, items_too(given.values)))
    if called_back and rule is not None:
        given, active = _with_outside(f, rule, given, active)
    if rule is not None:
        asked = asked_by(f, args, kwargs) if active and f not in registry.incurious else []
        if not asked:
            return _by_rule(f, rule, active, given)
        steps = registry.in_steps.get(f)
        if steps is not None and (found := steps(alike, args, fargs, kwargs)) is not None:
            return found
        return watched(f, args, kwargs, asked, functools.partial(_by_rule, f, rule, active, given))
    if outputs.writes_out(f, len(args), names) and outputs.can_be_split(f):
        return _written(f, ff, given)
    if active and registry.refusal(f) is not None:
        found = _without_numbers(f, given, protected)
        if found is None:
            raise NoRule(f, args, fargs)
        return found
    python = registry.seen_through(f, len(args), bool(names), tuple(map(type, args)))
    if python is not None and (active or called_back or python is f):
        return of_python(python, ff, given, protected, f)
    brings = isinstance(f, (functools.partial, staticmethod))  # what has a derivative, perhaps
    if type(f) is functools._lru_cache_wrapper and run.is_wary():
        brings = reaches_met(f, run.current())
    found = call_object(alike, f, ff, given) if active or brings else None
    if found is not None:
        return found
    if f is TYPE_CALL:  # a metaclass has it called
        made = type_call(alike, args[0], Given(args[1:], fargs[1:], *given[2:]))
        if made is not None:
            y, fy, pb = made
            return y, fy, None if pb is None else lambda dy: None if (ds := pb(dy)) is None else (None, *ds)
    if isinstance(f, type):
        found = construct(alike, f, given)
        if found is not None:
            return found
    if not isinstance(f, (type, pytypes.BuiltinFunctionType, np.ufunc)):
        d = class_attribute(type(f), "__call__")
        if (alone := called_alone(d)) is not None:
            return call(alone, None, *given, protected)
        if type(d) is pytypes.FunctionType or (hashable(d) and registry.rules_of(d)):
            return of_bound(call(d, None, *given.after(f, ff), protected))
    if not active:
        if of_constant_package(f):
            refuse_functions(f, given.values)
        if called_back:
            refuse_written(f, given.values)
        return run_plainly(f, args, kwargs, names, protected)
    if isinstance(f, type) and issubclass(f, BaseException) and not names:
        found = make_exception(f, args, fargs)
        if found is not None:
            return found
    found = _without_numbers(f, given, protected)
    if found is not None:
        return found
    if not callable(f) or _changes_nothing(f, args):
        f(*args, **kwargs)  # Python has something to say about that itself
    raise NoRule(f, args, fargs)


def _is_curious(f: Any) -> bool:
    return not hashable(f) or f not in registry.incurious


def _with_outside(f: Any, rule: Rule, given: Given, active: bool) -> tuple[Given, bool]:
    """What a rule is given in a run that writes outside, with what functions come to there; has it a derivative?"""
    if rule.fn in registry.runs_given:
        fargs = tuple([with_outside(f, x, fx) for x, fx in zip(given.args, given.fargs, strict=True)])
        kwfdata = tuple([with_outside(f, x, fx) for x, fx in zip(given.kwvalues, given.kwfdata, strict=True)])
        new = given._replace(fargs=fargs, kwfdata=kwfdata)
        return new, active or any(map(is_active, new.values, new.fdata))
    if not active and not rule.mutates:
        refuse_written(f, given.values)
    return given, active


def _by_rule(f: Any, rule: Rule, active: bool, given: Given) -> Result:
    """A call for which there is this rule."""
    if rule.fn is None or (not active and not rule.mutates):
        y = f(*given.args, **given.kwargs)
        if active and (told := run.observer()) is not None:
            told.stopped(f, y)
        return (y, None, None) if keeps_to_itself(f, given.values) else followed((y, None, None))
    if getattr(f, "__module__", None) in OF_NUMBERS and any(map(decides, given.args)):
        given = given._replace(args=tuple(map(bare, given.args)))
    found = run_rule(f, rule, given.args, given.fargs, given.kwargs, given.kwfdata)
    return followed(found) if rule.user else found


def _changes_nothing(f: Any, args: tuple[Any, ...]) -> bool:
    """Is this an operator that cannot write to an operand, or a function of numbers that is given some?"""
    if not hashable(f):
        return False
    if f in _READING or (f in _WRITING and not hasattr(type(args[0]), _WRITING[f])):
        return True
    known = all(type(x) in ATOMS or type(x) in _NUMBERS or isinstance(x, np.number) for x in args)
    return known and getattr(f, "__module__", None) in ("_operator", "math", "cmath")


def _step_by_step(
    f: Any, ff: Any, args: tuple[Any, ...], fargs: tuple[Any, ...], alike: Any, protected: bool
) -> Result | None:
    """A call that is done step by step as Python does it, or of which it is settled to what rule it comes."""
    if (native := NATIVE.get(f)) is not None:
        found = native(alike, args, fargs)
        if found is not None and type(found[0]) is Raised and not protected:
            note_missing(found[0].exc, f.__name__, "the call", 0)
            raise found[0].exc
        return found
    if (iterates := ITERATION.get(f)) is not None:
        return iterates(call, args, fargs, protected)
    if ff is None and (settled := settled_for(f, args, tuple(map(type, args)))) is not None:
        active = settled.is_active(args, fargs)
        if not (active and settled.asks_items):
            return settled.run(f, args, fargs, active)
    return None


def of_python(
    python: pytypes.FunctionType, ff: Any, given: Given, protected: bool, f: Any = None, constant: bool = False
) -> Result:
    """A call of a Python function, or of what is differentiated as one (f); is all that it is given `constant`?"""
    active = ff is not None or any(map(is_active, given.values, given.fdata))
    plainly = python if f is None else f
    if not active and (within := all_it_reaches(python, given.values)) is not None:
        return run_plainly(plainly, given.args, given.kwargs, given.names, protected, within)
    try:
        return run_python(python, ff, given, protected, constant)
    except NotDerived as e:
        if active:
            raise e.why from None
        return run_plainly(plainly, given.args, given.kwargs, given.names, protected)


_NUMBERS = frozenset({float, complex, tuple})
_SETS = frozenset({set, frozenset})
_READING = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
        *(operator.matmul, operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor),
        *(operator.neg, operator.pos, operator.invert, operator.getitem),
        *(abs, complex, divmod, float, int, iter, len, reversed, round),
    }
)
_WRITING = {operator.setitem: "__setitem__", operator.delitem: "__delitem__", next: "__next__"}
_OF_CONSTANTS = ATOMS | {set, frozenset, array.array}


def _without_numbers(f: Any, given: Given, protected: bool) -> Result | None:
    """A call with containers that have fdata, but no number in them, and a result that could not hold on to them."""
    values = given.values
    if any(has_derivative(x, keys=True) for x in values) or inert_parts(values) is None:
        return None
    if any(map(gives_keys, values, given.fdata)):
        return None
    result = run_plainly(f, given.args, given.kwargs, given.names, protected)
    return result if type(result[0]) in _OF_CONSTANTS or type(result[0]) is Raised else None


call_protected = functools.partial(call, protected=True)


def _users_rule(f: Any, args: tuple[Any, ...]) -> bool:
    """Has a user said what this operator does to these objects?"""
    rule = find_rule_for_values(f, args)
    return rule is not None and rule.user


def _no_rule(f: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> bool:
    return not rules_of(f) or find_rule_for_values(f, args, names) is None


def _written(f: Any, ff: Any, given: Given) -> Result:
    """`f(x, out=z)` as `f(x)` written into z."""
    args, fargs, names, kwvalues, kwfdata = given

    def pairs(xs: Sequence[Any], fs: Sequence[Any]) -> list[tuple[Any, Any]]:
        return list(zip(xs, fs, strict=True))

    keyword = dict(zip(names, pairs(kwvalues, kwfdata), strict=True))
    rest, kept, out = outputs.split(f, pairs(args, fargs), keyword, (None, None))
    outs = out if isinstance(out, list) else pairs(*_parts(*out)) if type(out[0]) is tuple else [out]
    several = isinstance(f, np.ufunc) and f.nout > 1
    if several and outs[0][0] is Ellipsis:
        outs *= f.nout
    if len(outs) != (f.nout if several else 1):
        return f(*args, **given.kwargs), None, None  # NumPy's own error
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
        if z is Ellipsis:
            part, fpart, pulls[i] = call(np.asarray, None, results[i][:1], results[i][1:])
            results[i] = (part, fpart)
        elif z is not None:
            part, fpart = results[i]
            if fz is None and pb is not None and run.is_wary() >= run.ARRAYS:
                fz = zero_fdata(z)
            if fpart is not None and fz is None:
                raise UnsupportedError(
                    "writing a value with a derivative into an array from outside the function", "out=", None,
                    "pass the array as an argument, or return what you would store",
                )  # fmt: skip
            casting = kept.get("casting", ("same_kind", None))[0]
            what = (z, part, isinstance(f, np.ufunc), where, casting)
            pulls[i] = call(outputs.write_out, None, what, (fz, fpart, None, None, None))[2]
            results[i] = (z, fz)
    place = {k: i for i, k in enumerate(kept)}
    n = len(rest)

    def pullback(dy: Any) -> Any:
        parts = list(dy) if several and dy is not None else [dy] * len(outs)
        for i, undo in enumerate(pulls):
            if undo is not None:
                array = outs[i][0] is Ellipsis
                ds = undo(parts[i] if array else None)
                parts[i] = None if ds is None else ds[1 if array else 2]
        ds = None if pb is None else pb(tuple(parts) if several else parts[0])
        if ds is None:
            return None
        mine = list(ds[: 1 + n]) + [None] * (len(args) - n)
        return (*mine, *(ds[1 + n + place[k]] if k in place else None for k in names))

    if several:
        return tuple(z for z, _ in results), tuple(fz for _, fz in results), pullback
    return (*results[0], pullback)


def _takes_items(f: Any, args: tuple[Any, ...]) -> int | None:
    """Which of its positional arguments does f take item after item from? Setting a slice of a list does so, too."""
    if f is operator.setitem or f is list.__setitem__:
        return 2 if len(args) == 3 and isinstance(args[0], list) and isinstance(args[1], slice) else None
    return registry.drained.get(f)


def _is_searched(x: Any, fx: Any) -> bool:
    """Does Python code that is to be derived give the items among which `in` looks?"""
    if issubclass(type(x), ITERATORS):
        return True
    return is_active(x, fx) and not hasattr(type(x), "__contains__") and iterates_in_python(x)


def _runs_out(f: Any, k: int, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> bool:
    """Does f take item after item from its argument k, by Python code that is to be derived?"""
    if issubclass(type(args[k]), ITERATORS):
        return True
    x = args[k]
    if gives_keys(x, fargs[k]):
        return not (f is dict and isinstance(x, dict)) and (
            f is not operator.iadd or isinstance(args[0], (list, deque))
        )
    made = isinstance(x, type) and not is_library(type(x))  # a class has no fdata; its metaclass may know anything
    if not (made or is_active(x, fargs[k])) or not iterates_in_python(x):
        return False
    if f is min or f is max:
        return len(args) == 1
    if f is dict:  # what has keys is asked for them
        return not hasattr(args[0], "keys")
    if f is operator.iadd:  # the objects are asked first
        return not decides(args[0]) and not defines(args[1], "__radd__")
    return True


def _call_ex(args: tuple[Any, ...], fargs: tuple[Any, ...], protected: bool) -> Result:
    """`f(*args, **kwargs)`."""
    f, star, double = args
    ff, fstar, fdouble = fargs
    listed: Pull | None = None
    if not isinstance(star, (tuple, list)) or iterates_in_python(star):
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
