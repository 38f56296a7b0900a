"""Specialised rules, kept: most calls of a rule have been seen before with arguments of the same types.

A template is what the specialiser made of a rule (and, by the type of the cotangent, of its pullback) for arguments of
certain types: statements over placeholders, put into derived code with the operands at hand in their places. Only
straight code is kept; what branches is evaluated where it is used. Constants are part of what a template is found by,
but for floats other than one that nothing in the rule looks at. A template is made anew where a name it relied on means
something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooncake_py import registry
from mooncake_py.infer.types import TOP, Known, T, Top
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Call, Const, Fresh, Operand, Var
from mooncake_py.rule import Rule
from mooncake_py.transform.lanes import NULL
from mooncake_py.transform.pullback import PullbackBuilder, keeps_shadows
from mooncake_py.transform.specialise import Specialiser
from mooncake_py.transform.values import (
    AV,
    Dependencies,
    NotSpecialised,
    Slot,
    VAt,
    VCell,
    VClosure,
    VCoDual,
    VIter,
    VTuple,
)

MOST = 4000
"""Templates kept; with more all are dropped."""

Key = tuple[Any, ...]


class Fragment:
    """Straight code over placeholders: statements, the types of what they define, a result."""

    __slots__ = ("maybe_none", "quiet", "reads", "result", "stmts", "types")

    def __init__(self, stmts: list[Call], types: dict[Var, T], maybe_none: set[Var], result: AV):
        self.stmts = stmts
        self.types = [types.get(s.out, TOP) for s in stmts]
        self.maybe_none = maybe_none
        self.result = result
        # Are all statements such that a builder need not look at them?
        self.quiet = all(isinstance(s.fn, Const) and keeps_shadows(s.fn.value) for s in stmts)
        own = {s.out for s in stmts}
        reads: dict[Var, None] = {}
        for s in stmts:
            reads.update((v, None) for v in s.operands() if isinstance(v, Var) and v not in own)
        reads.update((v, None) for v in _vars(result) if v not in own)
        self.reads = tuple(reads)


class Template:
    """A rule for arguments of certain types; `pullbacks` by the type of the cotangent."""

    __slots__ = ("forward", "names", "placeholders", "pullbacks", "real", "types")

    def __init__(
        self, placeholders: list[Operand], forward: Fragment, types: dict[Var, T], names: Dependencies, real: bool
    ):
        self.placeholders, self.forward, self.types, self.names, self.real = placeholders, forward, types, names, real
        self.pullbacks: dict[Any, Fragment | None] = {}

    def pullback(self, dy: T, constant: Operand | None, floats: tuple[str, ...]) -> Fragment | None:
        """The pullback's fragment for a cotangent of this type (or this constant); None where it is not straight."""
        for key in (dy, (dy, floats)):
            if key in self.pullbacks:
                return self.pullbacks[key]
        assert isinstance(self.forward.result, VTuple)
        closure = self.forward.result.items[1]
        made: Fragment | None = None
        looked = False
        if isinstance(closure, VClosure):
            builder, sp = _scratch(self.types, self.real, self.names)
            given: Operand = constant if constant is not None else _COTANGENT
            if constant is None:
                self.types[_COTANGENT] = dy
            try:
                result = sp.call_closure(closure, [given], {})
                if builder.block is builder.entry:
                    made = Fragment(builder.entry.stmts, self.types, sp.maybe_none, result)
            except NotSpecialised:
                made = None
            looked = sp.looked
        self.pullbacks[(dy, floats) if looked else dy] = made
        return made


_COTANGENT = Var(-1, "dy")
_FRESH = Fresh()
_templates: dict[Key, Template | str] = {}
_generation = -1


def _scratch(types: dict[Var, T], real: bool, names: Dependencies) -> tuple[Builder, Specialiser]:
    builder = Builder(_FRESH, NULL)
    sp = Specialiser(builder, types, real)
    sp.names = names
    return builder, sp


class Applied:
    """A template in a derivation: what its placeholders stand for."""

    __slots__ = ("floats", "meaning", "template")

    def __init__(self, template: Template, meaning: dict[Operand, Operand], floats: tuple[str, ...]):
        self.template, self.meaning, self.floats = template, meaning, floats

    def reverse(self, p: PullbackBuilder, dy: Operand) -> AV | None:
        """The pullback put into p; None where there is no fragment of it."""
        if isinstance(dy, Const):
            fragment = self.template.pullback(Known(dy.value), dy, self.floats)
        else:
            fragment = self.template.pullback(p.types.get(dy, TOP), None, self.floats)
        if fragment is None:
            return None
        meaning = self.meaning
        here: dict[Operand, Operand] = {
            v: p.forward_value(meaning.get(v, v)) for v in fragment.reads if v is not _COTANGENT
        }
        for x, actual in meaning.items():
            if isinstance(x, Const):
                here[x] = actual
        here[_COTANGENT] = dy
        types, maybe_none = p.types, p.specialiser.maybe_none
        stmts, pos = p.block.stmts, p.pos
        for s, t in zip(fragment.stmts, fragment.types, strict=True):
            args = tuple([here.get(a, a) for a in s.args])
            kwargs = tuple([(k, here.get(v, v)) for k, v in s.kwargs]) if s.kwargs else ()
            if fragment.quiet:
                out = p.fresh.var()
                stmts.append(Call(out, s.fn, args, kwargs, pos))
            else:
                out = p.call(here.get(s.fn, s.fn), *args, kwargs=kwargs)
            here[s.out] = out
            types[out] = t
            if s.out in fragment.maybe_none:
                maybe_none.add(out)
        return replaced(fragment.result, here)


def apply(
    rule: Rule,
    values: Sequence[AV],
    keywords: dict[str, AV],
    builder: Builder,
    types: dict[Var, T],
    real: bool,
    valid: set[Template],
) -> tuple[AV, AV, Applied] | None:
    """The rule's body put into the builder, straight code of it; None where the specialiser has to do it.

    `valid`: templates of which it has been seen in this derivation that their names mean what they meant.
    Raises NotSpecialised where it is known that it cannot.
    """
    global _generation
    if _generation != registry.generation or len(_templates) > MOST:
        _templates.clear()
        _generation = registry.generation
    leaves: list[Operand] = []
    described = tuple([_describe(v, types, leaves) for v in values])
    kw = tuple([(k, _describe(v, types, leaves)) for k, v in keywords.items()])
    key: Key = (rule.fn, real, described, kw)
    floats = tuple([repr(v.value) for v in leaves if isinstance(v, Const)])
    found = _templates.get(key)
    if found is None and floats:
        found = _templates.get((key, floats))
    if isinstance(found, Template) and found not in valid and not _still(found.names):
        found = None
    if found is None:
        found = _make(rule, values, keywords, types, real, key, floats)
    if isinstance(found, Template):
        valid.add(found)
    if isinstance(found, str):
        if found == _BRANCHES:
            return None
        raise NotSpecialised(found)
    meaning: dict[Operand, Operand] = dict(zip(found.placeholders, leaves, strict=True))
    fragment = found.forward
    stmts, pos, fresh = builder.block.stmts, builder.pos, builder.fresh
    for s, t in zip(fragment.stmts, fragment.types, strict=True):
        args = tuple([meaning.get(a, a) for a in s.args])
        kwargs = tuple([(k, meaning.get(v, v)) for k, v in s.kwargs]) if s.kwargs else ()
        out = fresh.var(s.out.name)
        stmts.append(Call(out, meaning.get(s.fn, s.fn), args, kwargs, pos))
        meaning[s.out] = out
        types[out] = t
    assert isinstance(fragment.result, VTuple)
    y, pb = fragment.result.items
    return replaced(y, meaning), pb, Applied(found, meaning, floats)


_BRANCHES = "branches"


def _make(
    rule: Rule,
    values: Sequence[AV],
    keywords: dict[str, AV],
    types: dict[Var, T],
    real: bool,
    key: Key,
    floats: tuple[str, ...],
) -> Template | str:
    own: dict[Var, T] = {}
    names: Dependencies = []
    builder, sp = _scratch(own, real, names)
    placeholders: list[Operand] = []

    def stand_in(v: AV) -> AV:
        if isinstance(v, VCoDual):
            return VCoDual(stand_in(v.primal), stand_in(v.fdata))
        if isinstance(v, Const):
            if type(v.value) is not float or v.value == 1.0:
                return v
            x: Operand = Slot(v.value)
        else:
            assert isinstance(v, Var)
            x = _FRESH.var()
            own[x] = types.get(v, TOP)
        placeholders.append(x)
        return x

    positional = [stand_in(v) for v in values]
    keyword = {k: stand_in(v) for k, v in keywords.items()}
    made: Template | str
    try:
        assert rule.fn is not None
        result = sp.call_function(rule.fn, positional, keyword)  # type: ignore[arg-type]
        if not isinstance(result, VTuple) or len(result.items) != 2:
            raise NotSpecialised("it does not return a pair on every path")
        if builder.block is not builder.entry:
            made = _BRANCHES
        else:
            made = Template(placeholders, Fragment(builder.entry.stmts, own, set(), result), own, names, real)
    except NotSpecialised as e:
        made = str(e)
    if sp.looked or (floats and not isinstance(made, Template)):
        _templates[(key, floats)] = made
    else:
        _templates[key] = made
    return made


def _describe(v: AV, types: dict[Var, T], leaves: list[Operand]) -> Any:
    if isinstance(v, Var):
        leaves.append(v)
        return types.get(v, _TOP)
    if isinstance(v, Const):
        if type(v.value) is float:
            if v.value == 1.0:
                return _ONE
            leaves.append(v)
            return _FLOAT
        return ("constant", Known(v.value))  # a variable may have that type as well
    assert isinstance(v, VCoDual)
    return ("codual", _describe(v.primal, types, leaves), _describe(v.fdata, types, leaves))


_TOP = Top()
_FLOAT = ("constant", float)
_ONE = ("constant", "one")


def _still(names: Dependencies) -> bool:
    """Do the names that a template relied on mean what they meant?"""
    return all([scope.get(name, None) is value for scope, name, value in names])


def replaced(v: AV, meaning: dict[Operand, Operand]) -> AV:
    """An abstract value with what its placeholders stand for."""
    if isinstance(v, (Var, Const)):
        return meaning.get(v, v)
    match v:
        case VTuple(items=items):
            return VTuple(tuple([replaced(x, meaning) for x in items]))
        case VIter(items=items, asked=asked):
            return VIter(tuple([replaced(x, meaning) for x in items]), asked)
        case VCoDual(primal=p, fdata=f):
            return VCoDual(replaced(p, meaning), replaced(f, meaning))
        case VAt(index=i, value=x, once=once):
            return VAt(replaced(i, meaning), replaced(x, meaning), once)
        case VCell(content=c):
            return VCell(None if c is None else replaced(c, meaning))
        case VClosure():
            return VClosure(
                v.code,
                v.globals,
                tuple([replaced(x, meaning) for x in v.defaults]),
                {k: replaced(x, meaning) for k, x in v.kwdefaults.items()},
                tuple([VCell(None if x.content is None else replaced(x.content, meaning)) for x in v.cells]),
            )
    raise AssertionError(v)


def _vars(v: AV) -> list[Var]:
    out: list[Var] = []

    def collect(x: AV | None) -> None:
        match x:
            case Var():
                out.append(x)
            case VTuple(items=items) | VIter(items=items):
                for item in items:
                    collect(item)
            case VCoDual(primal=p, fdata=f):
                collect(p)
                collect(f)
            case VAt(index=i, value=value):
                collect(i)
                collect(value)
            case VCell(content=c):
                collect(c)
            case VClosure():
                for d in (*v_defaults(x), *x.cells):
                    collect(d)

    def v_defaults(c: VClosure) -> tuple[AV, ...]:
        return (*c.defaults, *c.kwdefaults.values())

    collect(v)
    return out
