"""What Python does with objects of known classes, found out before it runs.

An attribute is read from the object, or is a function of its class; an operator is a method, a call of a class makes
an object and calls `__init__`. Where the types tell which, the operation is a `Plan`: the calls it comes down to, which
`transform/protocol.py` puts in its place, or the read or write of an attribute, for which there are rules. What is
relied on of a class is guarded like a global name. Where the types do not tell, the answer is None, and the operation
is decided when it runs (`runtime/objects.py`).
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
import types as pytypes
from abc import ABCMeta
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from mooncake_py import fields
from mooncake_py.hashing import hashable
from mooncake_py.infer import recursive
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.asked_items import asks_items
from mooncake_py.infer.descriptors import read_by, written_by
from mooncake_py.infer.held import INHERITED, is_library, is_set
from mooncake_py.infer.lookup import DECIDED_LATE, MISSING, Lookup, carries, is_function
from mooncake_py.infer.named import answers, field_index, makes, replaces
from mooncake_py.infer.own_containers import BASES, CORE, base_of, is_in_c, is_of_base
from mooncake_py.infer.parts import activate
from mooncake_py.infer.recursive import fold, with_forms
from mooncake_py.infer.resolve import called_alone, class_of
from mooncake_py.infer.sources import Source
from mooncake_py.infer.special_methods import (
    BINARY,
    COMPARING,
    CONVERTED,
    IN_PLACE,
    SPECIAL,
    computed_or_asked,
    found_in,
    is_empty,
    is_filled,
    item_or_asked,
    item_or_made,
    item_or_zero,
    no_truth_of,
    one_answers,
    started,
    truth_of,
    two_answer,
)
from mooncake_py.infer.types import (
    BOT,
    MOST_FIELDS,
    Arr,
    Bot,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    T,
    Top,
    Tup,
    dict_of,
    is_scalar,
    join,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.iterators import advance, next_of_object
from mooncake_py.kept_iterators import (
    Generator,
    Lasting,
    goes_on,
    goes_on_as_in_c,
    item_of,
    item_of_or,
    kept_iterator,
    over_deque,
    over_sequence,
    over_tuple,
)
from mooncake_py.mirrors import constant_attributes
from mooncake_py.registry import overlay_modules, rules_of
from mooncake_py.run import NOTHING, Wary
from mooncake_py.structure import comes_first, is_user_class, slot_names

Keywords = tuple[tuple[str, Operand], ...]


class _Made:
    """Stands for the object that the first call of a plan makes."""

    def __repr__(self) -> str:
        return "<the object>"


MADE = Const(_Made())


@dataclass(frozen=True, slots=True)
class Spread:
    """The arguments of a call: the items of a sequence of any length between others, `taken` of them by code or by a
    class of named tuples. `display` is the tuple of them all, where there is one that is made for this call alone."""

    sequence: Operand
    by: pytypes.CodeType | type
    taken: int
    before: tuple[Operand, ...] = ()
    after: tuple[Operand, ...] = ()
    display: Var | None = None

    @property
    def length(self) -> int:
        """How long the sequence has to be."""
        return self.taken - len(self.before) - len(self.after)


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls that an operation is: of `function`, whose result is the operation's.

    A function in an operand is called whatever the classes of the arguments are.
    With `makes`, an object of that class is made first (MADE among the arguments) and is the result; `function` is
    its `__init__`, None where it has none: keyword arguments become attributes. With `argument`, the result stands in
    the place of that argument of the operation. `reads` are attributes of the operation's first argument that the
    function gets as keyword arguments, too. `lacks`: an object, its class, and the name of an attribute that the
    object is taken not to have itself. Of the arguments at the places `items`, objects of classes derived from
    containers, `function` gets what holds their items. With `spread`, what that says are the arguments. With `kept`,
    it is an attribute of a class, function or module, which stand as objects for what they keep by that name.
    """

    function: Any
    args: tuple[Operand, ...]
    kwargs: Keywords = ()
    makes: type | None = None
    argument: int | None = None
    reads: tuple[str, ...] = ()
    lacks: tuple[Operand, Operand, Operand] | None = None
    items: tuple[int, ...] = ()
    spread: Spread | None = None
    kept: bool = False


_HEAP = 1 << 9  # flag of a class that can be changed
# Classes in C whose operators leave it to the object on their right.
_DEFER = frozenset({int, float, bool, complex, str, tuple, list, type(None)})
_CONSTANTS = (int, float, complex, str, bytes, type(None))
PLAIN_READS = frozenset({k.__getattribute__ for k in (object, SimpleNamespace, BaseException, *BASES)})
_PLAIN_CLASSES = frozenset({type, ABCMeta})
"""Of classes of these kinds, an attribute is what they or those they derive from hold."""
_PLAIN_WRITES = frozenset({k.__setattr__ for k in (object, SimpleNamespace, BaseException)})
_CLASS = object.__dict__["__class__"]
_TYPE_CALL = type.__dict__["__call__"]
_OF_C = (pytypes.BuiltinFunctionType, np.ufunc)
_MISSING_OF_DEFAULTDICT = defaultdict.__dict__["__missing__"]
_MISSING_OF_COUNTER = Counter.__dict__["__missing__"]
_FACTORIES = frozenset({float, int, complex, list, dict, deque, tuple, str, bool})
WRITES = frozenset({*fields.INITIAL, fields.set_beside})
_PLAIN_EXCEPTIONS = [c for c in vars(builtins).values() if isinstance(c, type) and issubclass(c, BaseException)]
_PLAIN_EXCEPTIONS = [
    c
    for c in _PLAIN_EXCEPTIONS
    if not any(
        isinstance(d, (pytypes.MemberDescriptorType, pytypes.GetSetDescriptorType))
        for k in c.__mro__
        if k not in (BaseException, object)
        for d in vars(k).values()
    )
]
"""The builtin classes of exceptions that hold nothing but their arguments."""
_READ_AS_THEY_ARE = frozenset({type, pytypes.BuiltinFunctionType})
"""Classes and functions in C: they are no methods of the class that holds them."""
KEEP_ARGUMENTS = frozenset([Lookup(c).get("__init__", None) for c in _PLAIN_EXCEPTIONS])
_NEW_OF_EXCEPTIONS = frozenset([Lookup(c).get("__new__", None) for c in _PLAIN_EXCEPTIONS])


coming_back: WeakKeyDictionary[pytypes.CodeType, WeakSet[pytypes.CodeType]] = WeakKeyDictionary()
"""Functions that came back to themselves when they were taken in, with those that are kept apart in them.

Since a rule was last derived for the user, for that and for what it led to.
"""


FEW_STATEMENTS = 10  # of a function: it is better taken in wherever it is called


class Classes:
    """The classes that an inference has looked at; `looked` are the (class, name) pairs its result relies on."""

    def __init__(
        self,
        globals_: dict[str, Any] | None = None,
        cautious: bool = False,
        wary: Wary = NOTHING,
        own: Set[tuple[type, str]] = frozenset(),
        told: Mapping[Source, T] = MappingProxyType({}),
        patched: Set[str] = frozenset(),
        code: pytypes.CodeType | None = None,
    ) -> None:
        self.code = code  # of the function that is inferred
        self.begins_again = False  # because of functions that turned out to be better kept apart
        self.patched = patched  # special methods that the function itself sets on classes
        self.own = own  # names that are looked up in objects of a class even where nothing is known to set them
        self.told = told  # what values may be as well: what they were taken for has turned out to be too little
        self.wary = wary  # the data that classes hold may be written to
        self.globals = globals_  # of the functions that are made in this one
        self.cautious = cautious  # plans must not rely on what other plans may turn out to give
        self.looked: dict[tuple[type, str], Any] = {}
        self.scopes: dict[type, Lookup] = {}
        self.taken_in: dict[pytypes.CodeType, tuple[int, int]] = {}  # how often, and the statements of all that
        # Functions whose calls are not taken in at once.
        self.apart = {*coming_back, *(() if code is None else coming_back.get(code, ()))}
        self.apart_at_first = frozenset(self.apart)
        # Of these, generator functions that are to be looked at again, and how often they have been.
        self.postponed: set[pytypes.CodeType] = set()
        self.asked: Counter[pytypes.CodeType] = Counter()
        self.kept: set[Var] = set()  # iterators over what may be a sequence, which something keeps
        self.misfits: set[Var] = set()  # calls whose arguments do not simply fit the function

    def with_more_told(self, own: Set[tuple[type, str]], patched: Set[str]) -> Classes | None:
        """The classes to begin again with, where such names are found that were not taken into account; None if not."""
        if own <= self.own and patched <= self.patched:
            return None
        return self._with(self.own | own, self.patched | patched)

    def _with(self, own: Set[tuple[type, str]], patched: Set[str]) -> Classes:
        return Classes(self.globals, self.cautious, self.wary, own, self.told, patched, self.code)

    def anew(self) -> Classes:
        """The classes to begin again with, without functions that are better kept apart."""
        return self._with(self.own, self.patched)

    def keep_apart(self, code: pytypes.CodeType, comes_back: bool) -> None:
        """Note that calls of this function are not taken in, and of one that comes back that it is never to be.

        Else each of the functions that call one another would have others in it, which call it.
        """
        self.apart.add(code)
        if comes_back and code not in self.apart_at_first:
            coming_back.setdefault(code, WeakSet())
            self.begins_again = True

    def note_taken_in(self, code: pytypes.CodeType, statements: int) -> None:
        times, all_in_all = self.taken_in.get(code, (0, 0))
        self.taken_in[code] = times + 1, all_in_all + statements

    def is_to_be_smaller(self) -> bool:
        """Is it a function that comes back to itself, with others in it several times? One is kept apart then."""
        kept = None if self.code is None else coming_back.get(self.code)
        sizes = {code: n for code, (times, n) in self.taken_in.items() if times > 1 and n >= FEW_STATEMENTS * times}
        if kept is None or not sizes:
            return False
        kept.add(max(sizes, key=sizes.__getitem__))
        return True

    def look(self, cls: type, name: str) -> Any:
        """What the class has by that name, unbound; MISSING where it has nothing."""
        key = cls, name
        if key not in self.looked:
            self.looked[key] = Lookup(cls).get(name, MISSING)
        late = carries(cls, name) or name in self.patched or (self.wary and is_set(cls, name, self.wary))
        return DECIDED_LATE if late else self.looked[key]

    def scope(self, cls: type) -> Lookup:
        """The attributes of a class, always as the same scope."""
        return self.scopes.setdefault(cls, Lookup(cls))

    def has(self, x: Any, name: str) -> bool | None:
        """Has this class such an attribute? None for what is no class, or one that says itself what it has."""
        if not isinstance(x, type) or type(x) not in _PLAIN_CLASSES or (self.wary and x.__flags__ & _HEAP):
            return None
        return self.look(x, name) is not MISSING or hasattr(type(x), name)

    # -- attributes --

    def is_there(self, t: Obj, name: str) -> bool | None:
        """Is an attribute surely there? None where a method of the class may be asked for it."""
        d = self.look(t.cls, name)
        if self.look(t.cls, "__getattribute__") not in PLAIN_READS or (t.cls, name) in self.own:
            return None
        if d is MISSING or type(d) is pytypes.MemberDescriptorType:
            asked = self.look(t.cls, "__getattr__") is not MISSING
            return True if name in t.sure else None if asked else False
        computed = self.wary or d is DECIDED_LATE or (hasattr(type(d), "__get__") and not is_function(d))
        return None if computed else True

    def read(self, s: Call, x: Operand, t: Obj, name: str) -> tuple[T, Any] | None:
        """The type of `x.name`, and what it is: a Plan, a function with a rule, `getattr` (plain), or None (bound)."""
        cls = t.cls
        if self.look(cls, "__getattribute__") not in PLAIN_READS:
            return None
        if name == "__dict__":
            return self._dict(t)
        if name == "__class__":
            return Known(cls), getattr
        d = self.look(cls, name)
        held = t.field(name)
        if d is fields.ARGS:
            return self.stored(t, held)
        if d is MISSING or type(d) is pytypes.MemberDescriptorType:
            hook = self.look(cls, "__getattr__")
            if hook is MISSING or name in t.sure:
                return self.stored(t, held)
            if held is None and (cls, name) not in self.own:
                lacks = x, Const(cls), Const(name)
                if is_function(hook):
                    return BOT, Plan(hook, (x, Const(name)), lacks=lacks)
                if t.items is not None and is_of_base(hook, cls):
                    return BOT, Plan(Const(hook), (x, Const(name)), lacks=lacks, items=(0,))
            return None
        if isinstance(d, property):
            if type(d) is not property or not is_function(d.fget):
                return None
            ask = self.look(cls, "__getattr__")
            if ask is MISSING:
                return BOT, Plan(d.fget, (x,))
            asked = (Const(d.fget), Const(ask), x, Const(name))
            return (BOT, Plan(computed_or_asked, asked)) if is_function(ask) else None
        data = comes_first(d)
        if held is not None and name in t.sure and not data:
            return self.stored(t, held)
        if (computed := read_by(self, d, x, t, name)) is not None:
            return BOT, Plan(*computed)
        if data:
            return None
        if type(d) in (int, float, complex, str, bool, type(None)) and not self.wary:
            if held is None:
                return Known(d), getattr
            return self.stored(t, held, abstract(d, False))
        if held is not None or (cls, name) in self.own:
            return None
        if is_function(d):
            return Meth(d, (s,), t.act), None
        if t.items is not None and is_of_base(d, cls):
            return BOT, Plan(Const(getattr), (x, Const(name)), lacks=(x, Const(cls), Const(name)), items=(0,))
        if type(d) is staticmethod and is_function(d.__func__):
            return Known(d.__func__), getattr
        if type(d) is classmethod and is_function(d.__func__):
            return Meth(d.__func__, (s,), False, cls), None
        return (Known(d), getattr) if type(d) in _READ_AS_THEY_ARE else None

    def stored(self, t: Obj, held: T | None, default: T = BOT) -> tuple[T, Any]:
        held = default if held is None else join(recursive.read(held, t), default)
        if not t.act or held == BOT:
            return held, getattr
        if is_scalar(held):
            read = fields.get_number if t.items is None else fields.get_number_beside
            return held, read if held.active else getattr
        if t.items is not None:
            return held, fields.get_beside if held.active else getattr
        return held, fields.get_field

    def _dict(self, t: Obj) -> tuple[T, Any] | None:
        """The dict that keeps the attributes."""
        cls = t.cls
        d = self.look(cls, "__dict__")
        kinds = (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)  # the latter of a SimpleNamespace
        apart = type(d) in kinds and d.__name__ == "__dict__" and t.items is None
        if not apart or slot_names(cls) or constant_attributes(cls) or len(t.fields) > MOST_FIELDS:
            return None
        held = [(k, recursive.read(x, t)) for k, x in t.fields]
        return dict_of(dict, Inst(str), held, t.act), fields.get_dict if t.act else getattr

    def read_named(self, s: Call, x: Operand, t: Tup, name: str) -> tuple[T, Any] | None:
        """The same for an attribute of a named tuple; the place of a field is that of the tuple's item."""
        d = self.look(t.cls, name)
        if (i := field_index(d)) is not None:
            return t.items[i], i
        if name == "__class__":
            return Known(t.cls), getattr
        if type(d) is tuple and all(type(k) is str for k in d):
            return Known(d), getattr
        if type(d) is property:
            return (BOT, Plan(d.fget, (x,))) if is_function(d.fget) else None
        if is_function(d) or replaces(d) or type(d) is pytypes.MethodDescriptorType:
            return Meth(d, (s,), t.active, by_value=True), None
        return self.read_class(s, t.cls, name)

    def read_class(self, s: Call, cls: type, name: str) -> tuple[T, Any] | None:
        """The same for an attribute of a class; None for what is no function."""
        if type(cls) is not type and Lookup(type(cls)).get(name, MISSING) is not MISSING:
            return None
        d = self.look(cls, name)
        if is_function(d):
            return Known(d), getattr
        if type(d) is staticmethod and is_function(d.__func__):
            return Known(d.__func__), getattr
        if type(d) is classmethod and (is_function(d.__func__) or makes(d.__func__)):
            return Meth(d.__func__, (s,), False, cls), None
        return (Known(d), getattr) if type(d) in _READ_AS_THEY_ARE else None

    def read_super(self, s: Call, after: type, t: Obj | Tup | Dct, name: str) -> tuple[T, Any] | None:
        """`super(after, x).name`."""
        mro = t.cls.__mro__
        if after not in mro:
            return None
        for k in mro[mro.index(after) + 1 :]:
            if name in k.__dict__:
                d = self.look(k, name)
                if isinstance(d, property):
                    return (BOT, Plan(d.fget, (s.args[2],))) if is_function(d.fget) else None
                if is_function(d) or isinstance(d, pytypes.WrapperDescriptorType) or is_of_base(d, t.cls):
                    return Meth(d, (s,), t.active, by_value=isinstance(t, Tup)), None
                if isinstance(t, Tup) and (i := field_index(d)) is not None:
                    return t.items[i], i
                return None
        return None

    def keeps(self, t: Obj, name: str) -> bool:
        """Is it known what `x.__dict__[name] = v` does?"""
        apart = t.items is None and t.cls.__dictoffset__ != 0 and name not in slot_names(t.cls)
        return apart and self.look(t.cls, name) is not DECIDED_LATE

    def write(self, t: Obj, args: tuple[Operand, ...], name: str, v: T, raw: bool = False) -> Any:
        """`x.name = v`: a Plan, or the function whose rule it is; None where that is not known."""
        cls = t.cls
        if not raw:
            hook = self.look(cls, "__setattr__")
            if is_function(hook):
                return Plan(hook, (args[0], Const(name), args[2]))
            if t.items is not None and is_of_base(hook, cls):
                return Plan(Const(hook), (args[0], Const(name), args[2]), items=(0,))
            if hook not in _PLAIN_WRITES:
                return None
        d = self.look(cls, name)
        if type(d) is property and is_function(d.fset):
            return Plan(d.fset, (args[0], args[2]))
        if not raw and (described := written_by(self, d, args[0], args[2])) is not None:
            return Plan(*described)
        slot = type(d) is pytypes.MemberDescriptorType
        if not slot and (cls.__dictoffset__ == 0 or hasattr(type(d), "__set__") or hasattr(type(d), "__delete__")):
            return None
        if t.items is not None:
            return None if slot and is_in_c(d.__objclass__) else fields.set_beside
        if raw:
            return fields.set_raw
        held = t.field(name)
        if is_scalar(v) and (held is None or is_scalar(held)):
            return fields.set_number if name in t.sure else fields.add_number
        return fields.set_field

    # -- calls --

    def call(self, f: Any, args: tuple[Operand, ...], types: Sequence[T], kwargs: Keywords) -> Plan | None:
        """A call of an operator, of a builtin that asks the class of an object, or of a class."""
        if isinstance(f, type) and f not in SPECIAL:
            return self._construct(f, args, kwargs)
        if f is kept_iterator:
            return _kept(args, types[0])
        if (f is advance or f is next) and isinstance(types[0], Obj) and issubclass(types[0].cls, Generator):
            return _of_generator(f, args, types[0].cls)
        if f is dataclasses.replace and len(types) == 1 and isinstance(types[0], Obj):
            return self._replaced(types[0].cls, kwargs)
        if f is operator.getitem and isinstance(types[0], Dct):
            return self._item(types[0], args)
        if kwargs or not any(map(_is_asked, types[:2])) or any(r.user for r in rules_of(f)):
            return None
        if f in IN_PLACE and len(types) == 2:
            name, plain = IN_PLACE[f]
            t = types[0]
            method = self.look(t.cls, name) if isinstance(t, (Obj, Tup, Dct)) and _is_asked(t) else MISSING
            if method is not MISSING and (is_function(method) or not isinstance(t, Dct)):
                asked = (Const(method), *args, Const(plain), *args)
                return Plan(one_answers, asked) if is_function(method) else None
            f = plain
        if f in BINARY and len(types) == 2:
            counters = f in COMPARING and any(isinstance(t, Dct) for t in types)  # of them it is a constant that comes
            return None if counters else self._binary(f, args, types)
        t = types[0]
        if not isinstance(t, Obj):
            method = self.look(t.cls, SPECIAL[f]) if isinstance(t, (Tup, Dct)) and f in SPECIAL else MISSING
            return Plan(method, args) if is_function(method) else None
        if f is ops.truth or f is bool or f is operator.not_:
            for name, stand_ins in (("__bool__", (truth_of, no_truth_of)), ("__len__", (is_filled, is_empty))):
                method = self.look(t.cls, name)
                if method is not MISSING:
                    stand_in = stand_ins[f is operator.not_]
                    return Plan(stand_in, (Const(method), *args)) if is_function(method) else None
            return None
        if f is operator.contains:
            method = self.look(t.cls, "__contains__")
            return Plan(found_in, (Const(method), *args)) if is_function(method) else None
        if f in SPECIAL:
            method = self.look(t.cls, SPECIAL[f])
            if f is next and len(args) == 2:
                return Plan(next_of_object, args) if is_function(method) else None
            if f in CONVERTED:
                return Plan(CONVERTED[f], (Const(method), *args)) if is_function(method) else None
            return Plan(method, args) if is_function(method) else None
        return None

    def of_items(self, f: Any, args: tuple[Operand, ...], types: Sequence[T], kwargs: Keywords) -> Plan | None:
        """A call that asks objects of classes derived from containers for nothing but their items."""
        own = [k for k, t in enumerate(types) if isinstance(t, Obj) and t.items is not None]
        if not own or not hashable(f) or any(r.user for r in rules_of(f)):
            return None
        places = tuple([k for k in own if asks_items(self.look, f, k, types)])
        if not places:
            return None
        for k in places:
            for name in CORE:
                self.look(types[k].cls, name)  # type: ignore[attr-defined]
        if f is list.__init__ and len(args) <= 2 and not kwargs:
            return Plan(started, args)
        if f is operator.getitem or f is dict.__getitem__:
            missing = self.look(types[0].cls, "__missing__")  # type: ignore[attr-defined]
            asked = missing is not MISSING and missing is not _MISSING_OF_DEFAULTDICT
            if asked and issubclass(types[0].cls, dict):  # type: ignore[attr-defined]
                known = is_function(missing) and len(args) == 2
                return Plan(item_or_asked, (*args, Const(missing))) if known else None
        return Plan(Const(f), args, kwargs, items=places)

    def refuses(self, f: Any, types: Sequence[T]) -> bool:
        """Does an operator surely raise, given objects whose classes have nothing for it, and numbers?"""
        names: tuple[str, ...] = ()
        if f in IN_PLACE:
            name, f = IN_PLACE[f]
            names = (name,)
        if f in _NEED:
            return bool(types) and isinstance(types[0], Obj) and self.look(types[0].cls, SPECIAL[f]) is MISSING
        if f not in BINARY or f is operator.eq or f is operator.ne or len(types) != 2:
            return False
        of_objects = [t.cls for t in types if isinstance(t, Obj)]
        others = [exact_class(t) for t in types if not isinstance(t, Obj)]
        if not of_objects or not _NUMBERS.issuperset(others):
            return False
        return all(self.look(cls, name) is MISSING for cls in of_objects for name in (*names, *BINARY[f]))

    def fields_of(self, t: T) -> tuple[dataclasses.Field, ...] | None:
        """The fields of a data class, or of the one that an object is of; None where it is none, or may be another."""
        cls = t.value if isinstance(t, Known) else exact_class(t)
        if not isinstance(cls, type) or self.look(cls, "__dataclass_fields__") in (MISSING, DECIDED_LATE):
            return None
        return dataclasses.fields(cls)

    def _replaced(self, cls: type, given: Keywords) -> Plan | None:
        """Another object of a data class, with some of its fields given anew."""
        known = self.look(cls, "__dataclass_fields__")
        fields_ = [] if known is MISSING else dataclasses.fields(cls)
        names = [x.name for x in fields_]
        plain = len(names) == len(known) and all(x.init for x in fields_) if fields_ else False
        if not plain or not {k for k, _ in given} <= set(names) or self.look(cls, "__class__") is not _CLASS:
            return None
        changed = dict(given)
        return Plan(Const(cls), (), given, reads=tuple([k for k in names if k not in changed]))

    def _item(self, t: Dct, args: tuple[Operand, ...]) -> Plan | None:
        """An item of a dict that may make it."""
        if t.cls is Counter and self.look(Counter, "__missing__") is _MISSING_OF_COUNTER:
            return Plan(item_or_zero, args)
        f = self._called_plainly(t.factory) if t.cls is defaultdict else None
        if f is None:
            return None
        if isinstance(f, type):
            known = f in _FACTORIES or self._construct(f, (), ()) is not None
        else:
            known = is_function(f) and f.__defaults__ is None and f.__kwdefaults__ is None
        return Plan(item_or_made, (*args, Const(f))) if known else None

    def _called_plainly(self, t: T) -> Any:
        """The function or class; for a function that is made here and knows nothing, another one of its code."""
        if isinstance(t, Known):
            return t.value
        if not isinstance(t, Fn) or not t.knows_nothing or self.globals is None:
            return None
        return pytypes.FunctionType(t.code, self.globals)

    def is_true(self, t: T) -> bool:
        """Is an object of this type true, having no say in it?"""
        return isinstance(t, Obj) and all(self.look(t.cls, name) is MISSING for name in ("__bool__", "__len__"))

    def is_itself(self, t: T) -> bool:
        """Is it equal to nothing but itself: None, or an object of a class that has no say in it?"""
        if not isinstance(t, Obj):
            return t == Known(None)
        return all(self.look(t.cls, name) is getattr(object, name) for name in ("__eq__", "__ne__"))

    def called(self, x: Operand, t: Obj | Tup, args: tuple[Operand, ...], kwargs: Keywords) -> Plan | None:
        """A call of an object."""
        method = self.look(t.cls, "__call__")
        if is_function(method):
            return Plan(method, (x, *args), kwargs)
        alone = called_alone(method)
        return Plan(Const(alone), args, kwargs) if is_function(alone) or isinstance(alone, _OF_C) else None

    def _binary(self, f: Any, args: tuple[Operand, ...], types: Sequence[T]) -> Plan | None:
        name, back = BINARY[f]
        a, b = (exact_class(t) for t in types)
        if a is None or b is None:
            return None
        if not all(_is_asked(t) or c in _DEFER for t, c in zip(types, (a, b), strict=True)):
            return None
        left = self.look(a, name) if _is_asked(types[0]) else MISSING
        asked = _is_asked(types[1]) and (a is not b or back != f"__r{name[2:]}")
        right = self.look(b, back) if asked else MISSING
        if f is operator.mul and not hasattr(a, "__index__") and not hasattr(b, "__index__"):
            left, right = (MISSING if m in _REPEAT else m for m in (left, right))  # tuples, by whole numbers
        of_all = [getattr(object, n, MISSING) for n in (name, back)]  # which has no answer
        found = [m for m in (left, right) if m is not MISSING and m not in of_all]
        if not found or not all(is_function(m) for m in found):
            return None
        if isinstance(types[0], Tup) or isinstance(types[1], Tup):
            for k, n, m in ((a, name, left), (b, back, right)):
                if issubclass(k, tuple) and hasattr(tuple, n) and not is_function(m) and f is not operator.mul:
                    return None  # what tuples do is tried, too
        whole = (Const(f), *args)
        if not is_function(right):
            return Plan(one_answers, (Const(left), *args, *whole))
        if not is_function(left):
            return Plan(one_answers, (Const(right), *args[::-1], *whole))
        if a is not b and issubclass(b, a) and self.look(a, back) is not right:
            return Plan(two_answer, (Const(right), Const(left), *args[::-1], *whole))
        return Plan(two_answer, (Const(left), Const(right), *args, *whole))

    def _construct(self, cls: type, args: tuple[Operand, ...], kwargs: Keywords) -> Plan | None:
        if cls is SimpleNamespace and not args:
            return Plan(None, (), kwargs, cls)
        base = base_of(cls)
        if (base is None and not is_user_class(cls)) or rules_of(cls):
            return None
        if is_library(cls) and cls.__module__ not in overlay_modules and cls.__module__ not in INHERITED:
            return None
        if self.look(type(cls), "__call__") is not _TYPE_CALL:
            return None
        if issubclass(cls, BaseException):
            return self._raised(cls, args, kwargs)
        if self.look(cls, "__new__") is not (base or object).__new__:
            return None
        init = self.look(cls, "__init__")
        if base is not None and is_of_base(init, cls):
            return Plan(init, (MADE, *args), kwargs, cls, items=(0,))
        if init is object.__init__ and not args and not kwargs:
            return Plan(None, (), (), cls)
        return Plan(init, (MADE, *args), kwargs, cls) if is_function(init) else None

    def _raised(self, cls: type, args: tuple[Operand, ...], kwargs: Keywords) -> Plan | None:
        """An exception, which keeps its arguments whatever its `__init__` does."""
        init = self.look(cls, "__init__")
        if self.look(cls, "__new__") not in _NEW_OF_EXCEPTIONS or constant_attributes(cls):
            return None
        if is_function(init):
            return Plan(init, (MADE, *args), kwargs, cls)
        return Plan(None, (MADE, *args), (), cls) if init in KEEP_ARGUMENTS and not kwargs else None


def going_on(cls: type[Generator]) -> tuple[Operand, Operand]:
    """What lets a generator of this class go on, and its code."""
    return Const(goes_on_as_in_c if issubclass(cls, Lasting) else goes_on), Const(cls.resume)


def _of_generator(f: Any, args: tuple[Operand, ...], cls: type[Generator]) -> Plan:
    go_on, resume = going_on(cls)
    if f is next:
        return Plan(item_of if len(args) == 1 else item_of_or, (go_on, resume, *args))
    assert isinstance(go_on, Const)
    return Plan(go_on.value, (resume, *(*args, Const(None), Const(None))[:3]))


def _kept(args: tuple[Operand, ...], t: T) -> Plan | None:
    """What makes an iterator over a value of this type."""
    if isinstance(t, Lst):
        return Plan(over_deque if t.cls is deque else over_sequence, args)
    if isinstance(t, Arr) and t.fewest:
        return Plan(over_sequence, args)
    if isinstance(t, Tup) and t.cls is tuple:
        return Plan(over_tuple, args)
    return None if isinstance(t, (Bot, Top)) else Plan(Const(iter), args)


_REPEAT = (tuple.__mul__, tuple.__rmul__)
_NEED = frozenset(
    {operator.neg, operator.pos, operator.invert, abs, len, next, operator.getitem, operator.setitem, operator.delitem}
)
"""Operators that ask for the one special method and nothing else."""
_NUMBERS = frozenset({int, float, bool, complex, type(None)})


def _is_asked(t: T) -> bool:
    """Does an operator ask the class of this value, which is written in Python?"""
    return isinstance(t, Obj) or (isinstance(t, Tup) and answers(t.cls)) or (isinstance(t, Dct) and t.cls is Counter)


def exact_class(t: T) -> type | None:
    """The class of the values; a real number of unknown class is no subclass of anybody's."""
    if isinstance(t, Known):
        return type(t.value)
    return float if isinstance(t, Real) else class_of(t)


def written(t: Obj, name: str, v: T) -> Obj:
    """What a write of an attribute tells of all objects that may be this one.

    What is stored in an object with a derivative may be written to through it, and then needs a derivative itself.
    """
    forms: list[T] = []
    v = widen(v)
    act = v.active
    around = {("a", t.cls): forms}
    put = fold(v, around)
    if name in constant_attributes(t.cls):
        put, act = activate(put, False), False
    whole: T = Obj.of(t.cls, t.act or act, {name: put}, t.sure)
    whole = with_forms(whole, forms, around)
    assert isinstance(whole, Obj)
    return whole
