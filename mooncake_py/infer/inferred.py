"""What inference finds out: a type for every value, a meaning for every call, and what both rely on."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mooncake_py.closures import Holder, kept_captured, kept_default
from mooncake_py.fields import ABSENT, kept_by
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.types import Known, T
from mooncake_py.ir.nodes import BlockId, Function, Operand, Var
from mooncake_py.ir.ops import load_global
from mooncake_py.rule import Rule
from mooncake_py.run import NOTHING, Wary
from mooncake_py.runtime.fits import Fit, fit_or_abstract

if TYPE_CHECKING:
    from mooncake_py.infer.results import Result


@dataclass(slots=True)
class CallInfo:
    """What a call does.

    kind: "plain" (nothing to differentiate), "rule" (`rule`), "op" (the engine's own: tuples, cells, functions),
    "derived" (a Python function, `target`), "dynamic" (decided when it runs), "planned" (other calls, those of the Plan
    `target`, are to stand there; nothing is known of it until they do). `args` are the operands after a
    method's receiver has been put in front, `types` theirs.
    """

    kind: str
    target: Any = None
    rule: Rule | None = None
    args: tuple[Operand, ...] = ()
    kwargs: tuple[tuple[str, Operand], ...] = ()
    types: tuple[T, ...] = ()
    why: str = ""
    callee: Result | None = None  # for "derived": what is known of the callee by its own inference
    holder: type | None = None  # the class that keeps what the attribute is, which is no function

    @property
    def written(self) -> tuple[Operand, ...]:
        """The arguments that a rule, or a function of which that is known, writes to."""
        indices: Iterable[int] = ()
        if self.rule is not None:
            indices = self.rule.mutates
        elif self.kind == "derived" and self.callee is not None:
            indices = self.callee.changes or ()
        if not indices:
            return ()
        return tuple([self.args[i] for i in indices if i < len(self.args)])

    @property
    def named(self) -> tuple[Holder | None, str] | None:
        """The name outside the function that it reads: a global (None), an attribute of a module or class, a default
        value, or what a function captured."""
        if self.holder is not None:
            return self.holder, self.args[1].value  # type: ignore[union-attr]
        if self.target is kept_default or self.target is kept_captured or self.target is kept_by:
            return self.args[0].value, self.args[1].value  # type: ignore[union-attr]
        if self.target is load_global:
            return None, self.args[0].value  # type: ignore[union-attr]
        if self.target is getattr and len(self.types) > 1:
            holder, name = self.types[:2]
            if isinstance(holder, Known) and isinstance(holder.value, pytypes.ModuleType) and isinstance(name, Known):
                return (holder.value, name.value) if isinstance(name.value, str) else None
        return None


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A call of a Python function whose code is to stand there, if it can."""

    code: pytypes.CodeType


@dataclass(frozen=True, slots=True)
class Spelled:
    """A call of a function with `*args`, `**kwargs` or default values that has a rule of its own: it is to be one of a
    function that gets its arguments one by one (`transform/bound.py`). `args` are those that are not given by name."""

    function: pytypes.FunctionType
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Starred:
    """A call with starred arguments that is to be one with the items of a tuple (`transform/displays.py`)."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call of a generator function that calls itself, whose items are to come in a list (`transform/listed.py`).

    `later`: not before it is given to what takes its items; until then it is not known what it is.
    """

    code: pytypes.CodeType
    later: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Awaited:
    """A call that nothing was seen to come back from: there may be more of what it is given.

    Or one that would be decided late, by what is known so far: that is `call`.
    """

    call: CallInfo | None = None


def is_to_come(info: CallInfo) -> bool:
    """Do other calls come to stand there, and is what it gives not seen before?"""
    return info.kind == "planned" and not isinstance(info.target, Awaited) and not is_put_off(info)


def is_put_off(info: CallInfo) -> bool:
    """Is it to be seen later what stands there?"""
    return isinstance(info.target, Drawn) and info.target.later


@dataclass(frozen=True, slots=True)
class Guard:
    """A name whose meaning the rule relies on: `scope[name]` is `value` (or, if typed, of type `type`).

    `fits` says whether another value will do; None where none does.
    """

    scope: Any
    name: str
    value: Any
    type: T | None = None
    fits: Fit | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fits", None if self.type is None else fit_or_abstract(self.type))

    def holds(self) -> bool:
        """Is it still so?"""
        now = self.scope.get(self.name, ABSENT)
        if now is self.value:
            return True
        return self.fits is not None and now is not ABSENT and self.fits(now)


@dataclass(slots=True)
class Inferred:
    """The result: types and calls by the variable they define, the return type, the guards."""

    fn: Function
    types: dict[Var, T]
    calls: dict[Var, CallInfo]
    result: T
    guards: dict[tuple[int, str], Guard]
    memory: Memory
    reached: set[BlockId] = field(default_factory=set)
    wary: Wary = NOTHING
    relied: set[pytypes.FunctionType] = field(default_factory=set)  # functions whose results have the types they have
    outermost: bool = False  # of a function that the user calls
    early: bool = False  # are there calls left that wait for what the plans give?

    def of(self, fn: Function) -> Inferred:
        """What is known of another form of the function that keeps variables: nothing of those that are new in it."""
        new = {b.id for b in fn.blocks} - {b.id for b in self.fn.blocks}
        return replace(self, fn=fn, reached=self.reached | new)

    def each(self, one: Callable[[Inferred], Function | None]) -> Function | None:
        """The function with all that is made simpler one at a time, with what is known by now; None for nothing."""
        seen = self
        while (simpler := one(seen)) is not None:
            seen = seen.of(simpler)
        return None if seen is self else seen.fn
