"""What a call of a Python function means: whether it is taken in, known by its result, or decided late."""

from __future__ import annotations

import types as pytypes
from dataclasses import replace
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from typing import Any

from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.attributes import Attributes
from mooncake_py.infer.codes import may_carry, may_receive
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import Awaited, CallInfo, Drawn, Spelled, TakenIn
from mooncake_py.infer.memory import has_identity
from mooncake_py.infer.outside import stands_alone
from mooncake_py.infer.parts import activate, passed, returned
from mooncake_py.infer.predicates import (
    may_be_written,
    takes_all,
)
from mooncake_py.infer.readers import engines_own, may_be_returned, may_come_back, may_grow, may_lead_on, may_pass
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.results import Result, is_numeric_call, is_plain, only_numbers, result_of
from mooncake_py.infer.types import (
    BOT,
    Bot,
    Dct,
    Fn,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    T,
    Top,
    Tup,
    Union,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Operand, Var
from mooncake_py.registry import infer_table

_ITERATE = (iter, zip, enumerate, reversed)
_WALKED = (Obj, Tup, Lst, Dct)
_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def is_empty_so_far(t: T) -> bool:
    """Is it a list or dict that is not yet seen to have anything in it?"""
    return (isinstance(t, Lst) and isinstance(t.elem, Bot)) or (isinstance(t, Dct) and isinstance(t.values(), Bot))


class PythonCalls(Attributes):
    """What each call of a Python function means."""

    def result_known(self, s: Call, f: pytypes.FunctionType, types: tuple[T, ...]) -> Result | None:
        """What is known of a plain function: of one with objects that is not taken in, by the simplest form of it."""
        found = result_of(f, types) if is_numeric_call(f, types) else None
        if found is not None:
            found = replace(found, changes={})
            if only_numbers(found.type) or isinstance(found.type, Bot):
                return found
        if self.classes is None or not all(map(may_pass, types)):
            return found if found is not None else result_of(f, types)
        again = self.is_apart(f) or may_come_back(f)
        unknown = found is not None and isinstance(found.type, Top)  # it may have to be made simpler to be known
        if again or unknown or not (any(t.active for t in types) or is_library(f)):
            if (again or any(map(may_grow, types))) and self.waits(s):
                return Result(BOT)
            better = result_of(f, types, simplified=True)
            if better is not None and better.changes and sum(map(has_identity, types)) > 1:
                better = result_of(f, types, simplified=True, aliased=True)
            if better is not None and better.changes is not None:
                return better
        return found if found is not None else result_of(f, types)

    def given(self, types: tuple[T, ...]) -> tuple[T, ...]:
        """The types that a function gets that is looked into."""
        return tuple(map(passed, types)) if self.outermost else types

    def is_apart(self, f: pytypes.FunctionType) -> bool:
        """Was f to be taken in, and cannot be?"""
        codes = {f.__code__, engines_own.get(f, f).__code__}
        return self.classes is not None and not codes.isdisjoint(self.classes.apart)

    def waits(self, s: Call) -> bool:
        """Is more to be known, by what other calls write, of what this call is given before it is looked into?"""
        if self.classes is None or self.classes.cautious or s.out in self.ready | self.late:
            return False
        self.waiting.add(s.out)
        return True

    def may_be_known(self, s: Call, info: CallInfo, t: T) -> bool:
        """May more be known of a call, or of what it gives, when more is of its operands by what others write?

        What it would give, and may write, says nothing of anything: it must not be put beside what is known by then.
        """
        if info.kind == "dynamic" and info.why == "call":
            if self.gives_known_items(s):
                return False
            self.unseen.add(s.out)
            return any(map(self.leads_to_more, s.operands()))
        made_of = info.rule is not None or info.kind == "plain"  # else code that is not seen may give anything
        if type(t) not in (Top, Real) or not made_of or not any(is_empty_so_far(self.type_of(v)) for v in s.args):
            return False
        self.hollow.add(s.out)
        return True

    def leads_to_more(self, v: Operand) -> bool:
        """May other code say more of a value, or of what it is an iterator over?"""
        if may_grow(self.type_of(v)):
            return True
        made = self.shape.defs.get(v) if isinstance(v, Var) else None
        callee = None if made is None else self.type_of(made.fn)
        iterates = isinstance(callee, Known) and any(callee.value is f for f in _ITERATE)
        return made is not None and iterates and any(map(self.leads_to_more, made.args))

    def is_in_sight(self, f: Operand) -> bool:
        """Is it a function that is made here, under the name it got there?"""
        made = self.shape.defs.get(f) if isinstance(f, Var) else None
        return made is not None and is_const(made.fn, ops.make_function)

    def may_be_others(self, s: Call) -> bool:
        """May a function that is called here, out of an object or a container, be another one when more is known of
        what is put there?"""
        self.hollow.add(s.out)
        return self.waits(s)

    def gives_known_items(self, s: Call) -> bool:
        """Is it an iterator over containers of which is known what is in them?"""
        callee = self.type_of(s.fn)
        if not isinstance(callee, Known) or not any(callee.value is f for f in (zip, enumerate, reversed)):
            return False
        return not any(isinstance(self.element_type(x), (Top, Bot)) for x in s.args)

    def is_taken_in(self, s: Call, target: Any, code: pytypes.CodeType, types: tuple[T, ...]) -> bool:
        """Is what a call of a function runs to stand in its place, so that nothing is to be said of the call itself?"""
        if self.classes is None or self.classes.cautious or code in self.classes.apart or code.co_flags & _SUSPENDED:
            return False
        if target is not None and self.is_apart(target):
            return False
        self.looked_around = True  # next time it may be known that it cannot be taken in
        if target is None or is_library(target) or not is_numeric_call(target, types):
            return target is None or not is_library(target)
        return s.out in self.shape.protected and may_carry(target, set())  # else it has a rule of its own

    def is_for_one_call(self, s: Call, code: pytypes.CodeType) -> bool:
        """Is it a generator that the next statement uses up, so that a list of its items may stand there?"""
        if self.classes is None or self.classes.cautious or code in self.classes.apart:
            return False
        self.looked_around = True
        user = self.shape.used_next.get(s.out) if code.co_flags & CO_GENERATOR else None
        if user is None:
            return False
        callee = self.callee_of(user)
        return isinstance(callee, Known) and takes_all(callee.value, s.out, user.args)

    def callee_of(self, s: Call) -> T:
        """What a call that comes later calls: a name may be looked up right before it."""
        made = self.shape.defs.get(s.fn) if isinstance(s.fn, Var) else None
        if made is not None and is_const(made.fn, ops.load_global):
            return self.global_type(made.args[0].value)  # type: ignore[union-attr]
        return self.type_of(s.fn)

    def is_for_a_plan(self, s: Call, code: pytypes.CodeType) -> bool:
        """Is it a generator that the next statement gives to code which is to stand there first?"""
        user = self.shape.used_next.get(s.out) if code.co_flags & CO_GENERATOR else None
        callee = None if user is None else self.callee_of(user)
        if isinstance(callee, Known):
            return isinstance(callee.value, (type, pytypes.FunctionType)) and not is_library(callee.value)
        return isinstance(callee, Obj) or (isinstance(callee, Meth) and isinstance(callee.func, pytypes.FunctionType))

    def is_drawn(self, s: Call, f: pytypes.FunctionType, types: tuple[T, ...]) -> bool:
        """Does f make generators that walk objects or containers by others of their kind, and may come in a list?

        Else these would be given to code that is not seen.
        """
        if self.classes is None or self.classes.cautious or self.wary or not f.__code__.co_flags & CO_GENERATOR:
            return False
        self.looked_around = True  # next time it may be known that they cannot
        walked = [t for t in types for t in (t.options if isinstance(t, Union) else (t,)) if isinstance(t, _WALKED)]
        later = f.__code__ in self.classes.postponed and self.is_given_away(s)
        if not walked or (f.__code__ in self.classes.apart and not later):
            return False
        if may_come_back(f):
            return True
        return f.__name__ == "__iter__" and any(isinstance(t, Obj) and may_lead_on(t) for t in walked)

    def is_given_away(self, s: Call) -> bool:
        """Is what a call gives an argument of others, whose code may come to stand here?"""
        return any(s.out in x.args and not is_const(x.fn, iter) for x in self.shape.statements)

    def is_spelled(
        self, s: Call, f: pytypes.FunctionType, args: tuple[Operand, ...], types: tuple[T, ...], act: bool
    ) -> bool:
        """Has f a rule of its own, for arguments that are not simply one for each of its parameters?"""
        if self.classes is None or self.wary or f.__closure__ is not None or is_library(f):
            return False
        code = f.__code__
        if code.co_flags & _SUSPENDED or s.out in self.classes.misfits:
            return False
        if not s.kwargs and is_plain(code) and len(args) == code.co_argcount:
            return False
        self.looked_around = True  # next time it may be known that the arguments do not fit
        if not act:
            return True  # what it gives is found out, and it is called
        return self.is_apart(f) or may_come_back(f) or self.gives_a_number(s, f, types)

    def gives_a_number(self, s: Call, f: pytypes.FunctionType, types: tuple[T, ...]) -> bool:
        """May a function of numbers, the last of which are left to it, give one, as far as its own code says?"""
        left = f.__code__.co_argcount - len(types)
        defaults = f.__defaults__ or ()
        if s.kwargs or not 0 <= left <= len(defaults):
            return False
        given = (*types, *[abstract(d, False) for d in defaults[len(defaults) - left :]])
        if not is_numeric_call(f, given) or (found := result_of(f, given)) is None:
            return False
        return only_numbers(found.type) or type(found.type) is Top  # it may have to be made simpler to be known

    def derived(self, s: Call, fn: T, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """A call of a Python function: known by its rule where it is known what comes out and what it changes.

        Else it is decided late.
        """
        kw = [self.type_of(v) for _, v in s.kwargs]
        target = fn.value if isinstance(fn, Known) else None
        act = fn.active or any(t.active for t in types) or any(t.active for t in kw)
        code = fn.code if isinstance(fn, Fn) else target.__code__  # type: ignore[union-attr]
        act = act or may_receive(code)
        written = any(map(may_be_written, (*types, *kw)))
        # Of a function that was made here nothing else is found out, not even what it gives for constants.
        if (act or written or self.wary or target is None) and self.is_taken_in(s, target, code, types):
            if target is None and not self.is_in_sight(s.fn) and self.may_be_others(s):
                return self.planned(s, Awaited())
            return self.planned(s, TakenIn(code))
        if target is None and self.is_for_one_call(s, code):
            return self.planned(s, TakenIn(code))
        if target is None and self.is_for_a_plan(s, code) and self.may_be_others(s):
            self.planned(s, Awaited())
            return Top(True)  # so that more is made of what it is given to
        if target is not None and self.is_drawn(s, target, types):
            later = code in self.classes.postponed  # type: ignore[union-attr]
            t = self.planned(s, Drawn(code, later))
            self.calls[s.out].types = types
            return Top(True) if later else t
        result: T = Top()
        if target is not None and self.is_spelled(s, target, args, types, act or written):
            return self.planned(s, Spelled(target, args))
        if (
            target is not None
            and not s.kwargs
            and target.__closure__ is None
            and is_plain(target.__code__)
            and len(types) == target.__code__.co_argcount
            and (is_numeric_call(target, types) or not is_library(target))  # a library's code may lead far
            and (not self.wary or (is_numeric_call(target, types) and stands_alone(target, self.wary)))
            and (found := self.result_known(s, target, given := self.given(types))) is not None
        ):
            self.guards |= found.guards
            self.relied |= found.functions
            if isinstance(found.type, Bot) and s.out not in self.late:
                return self.planned(s, Awaited())  # of a list that is not yet filled, say
            known = found.changes is not None and found.gives is not None and may_be_returned(found.type)
            if known and not (s.out in self.shape.protected and (found.changes or may_carry(target, set()))):
                plain = not (act or found.changes)
                kind = "plain" if plain else "derived"
                self.calls[s.out] = CallInfo(kind, target, None, args, (), given, callee=found)
                return returned(found.type) if self.outermost else found.type
            result = found.type
        act = act or bool(self.wary)
        # What is not known may be a function or a generator, that reaches what others write to.
        late = act or written or not (may_be_returned(result) or is_library(target))
        # What it raises is to be known for what derived code has raised, and holds constants (`raised.py`).
        late = late or (target is not None and s.out in self.shape.protected and may_carry(target, set()))
        self.calls[s.out] = CallInfo("dynamic" if late else "plain", target, None, args, s.kwargs, types, "call")
        if target in infer_table:
            result = result_type(target, types, tuple([(k, t) for (k, _), t in zip(s.kwargs, kw, strict=True)]))
        # A generator that may write is asked where that is put back, whatever it gives.
        return activate(result, act or (written and bool(code.co_flags & CO_GENERATOR)))
