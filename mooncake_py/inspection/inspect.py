"""`inspect`: per source line what was inferred, which calls are decided late and why, what is inlined, what is kept."""

from __future__ import annotations

import linecache
import os
import sys
import types as pytypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mooncake_py import registry
from mooncake_py.closures import empty_default, kept_captured, kept_default
from mooncake_py.errors import ArgumentError
from mooncake_py.hashing import hashable
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.brought import code_of
from mooncake_py.infer.held import may_change
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.outside import with_answer
from mooncake_py.infer.types import Known, T
from mooncake_py.inspection.describe import name_of, type_text
from mooncake_py.inspection.stages import coloured, difference, stage_text
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Pos
from mooncake_py.pipeline import derive_rule
from mooncake_py.run import Wary
from mooncake_py.runtime.binding import bind, unwrap
from mooncake_py.runtime.rule import DerivedRule, cells_of
from mooncake_py.switches import current
from mooncake_py.transform.derived import Derivation, Derived, Kept, Planned
from mooncake_py.transform.lanes import REF, leaves
from mooncake_py.transform.useful import WHY

_QUIET = frozenset({ops.load_global, ops.truth, ops.check_bound, empty_default, getattr, iter, slice})


@dataclass(slots=True)
class Finding:
    """One thing that is known of a source line.

    `kind`: "inlined", "called" (a rule that is not inlined), "derived" (a Python function with a rule of its own),
    "dynamic" (decided when it runs), "taken in", "value" (nothing to differentiate), "stored" or "recomputed".
    """

    kind: str
    text: str
    pos: Pos


@dataclass(slots=True)
class Inspection:
    """What the engine made of a function for arguments of these types; `str()` gives the text form.

    `stages` holds the result of every stage of the pipeline under its name ("normalised", "prepared", "inferred",
    "planned", "derived"), `lines` the findings by source line, `rule` the derived rule.
    """

    function: pytypes.FunctionType
    arguments: tuple[tuple[str, T], ...]
    stages: dict[str, Any]
    rule: DerivedRule
    values: tuple[Any, ...] = ()
    measured: bool = False
    lines: dict[int, list[Finding]] = field(default_factory=dict)

    @property
    def inferred(self) -> Inferred:
        result: Inferred = self.stages["inferred"]
        return result

    @property
    def derived(self) -> Derivation:
        result: Derivation = self.stages["derived"]
        return result

    def text(self) -> str:
        """The source, and under each line what is known of it."""
        code = self.function.__code__
        out = [f"{code.co_qualname}, {code.co_filename}:{code.co_firstlineno}"]
        out += [f"  {name}: {type_text(t)}" for name, t in self.arguments]
        out.append(f"  returns {type_text(self.inferred.result)}")
        out.append(f"  its pullback may be called {_how_often(self.derived)}")
        out.append("")
        shown = sorted({*self.lines, *_own_lines(code)})
        width = len(str(shown[-1]))
        for n in shown:
            source = linecache.getline(code.co_filename, n).rstrip()
            out.append(f"{n:>{width}} | {source}".rstrip())
            found: dict[str, None] = dict.fromkeys(
                f"{' ' * width} |   {_MARKS[f.kind]} {f.text}" for f in self.lines.get(n, ())
            )
            out += found
        return "\n".join(out)

    def stage(self, name: str, colour: bool = False) -> str:
        """One stage as text, the source beside it: "bytecode", "normalised", "prepared", "inferred", "forward",
        "pullback", "forward bytecode" or "pullback bytecode"."""
        text = stage_text(self, name)
        return coloured(text) if colour else text

    def diff(self, before: str, after: str) -> str:
        """What changes from one stage to another, as a unified diff."""
        return difference(self, before, after)

    def sizes(self) -> list[tuple[Kept, int, int]]:
        """What is kept for the reverse run, its bytes, and the entries on its stack (0 for what is kept once).

        The function is run forwards on copies of the arguments.
        """
        from mooncake_py.inspection.sizes import sizes_of

        self.measured = True
        return sizes_of(self)

    def show(self, text: str | None = None, colour: bool | None = None) -> None:
        """Print the text form, or another text, in colours where the output is a terminal (and NO_COLOR is not set)."""
        text = self.text() if text is None else text
        if colour is None:
            colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print(coloured(text) if colour else text)

    def html(self) -> str:
        """A self-contained page: source, both graphs, all stages; what belongs together lights up together."""
        from mooncake_py.inspection.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from mooncake_py.inspection.page import notebook

        return notebook(self)

    def _repr_svg_(self) -> str:
        from mooncake_py.inspection.page import picture

        return picture(self)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


_MARKS = {
    "inlined": "+",
    "taken in": "+",
    "value": "-",
    "called": "!",
    "derived": ">",
    "dynamic": "?",
    "stored": "=",
    "recomputed": "~",
}


def inspect(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Inspection:
    """What the engine finds out about `f(*args, **kwargs)` and makes of it, with all arguments active.

    The function is derived anew and not run. Under each source line the text form shows expressions with their types
    and marks: `+` the rule is inlined, `!` the rule is called and why, `>` a Python function with a derived rule of its
    own, `?` decided when it runs and why, `-` nothing to differentiate, `=` stored for the reverse run, `~` computed
    again there.

    A function with a rule is shown as a call of it. Raises ArgumentError where f is neither a Python function nor has
    a rule, and what `build_rrule` raises.
    """
    registry.load_packs()
    g, all_args, all_kwargs = unwrap(f, args, kwargs)
    extra = len(all_args) - len(args)
    if type(g) is not pytypes.FunctionType:
        if not registry.rules_of(g):
            raise ArgumentError(f"{name_of(g)} is not a Python function and has no rule: there is nothing to derive")
        g, all_args, all_kwargs = _caller(g, all_args, all_kwargs)
    given = {id(x) for x in args}
    params = bind(g, all_args, all_kwargs, g.__defaults__, g.__kwdefaults__)
    code = g.__code__
    plain = len(params) == len(all_args)
    names = (*code.co_varnames[: len(params)], *code.co_freevars)

    def derived(wary: Wary) -> Inspection:
        types = tuple(
            abstract(v, may_change(v, wary) or (i >= extra if plain else id(v) in given or type(v) is tuple))
            for i, v in enumerate(params)
        )
        free = tuple(abstract(c, bool(wary)) for c in cells_of(g))
        stages: dict[str, Any] = {}
        rule = derive_rule(g, types, free, options=current(), observe=stages.__setitem__, wary=wary, outermost=True)
        given_types = tuple(zip(names, (*types, *free), strict=False))
        return Inspection(g, given_types, stages, rule, (*params, *cells_of(g)))

    seen = with_answer(derived, g, all_args[:extra], code_of((*args, *kwargs.values())))
    _statements(seen)
    _kept(seen)
    for found in seen.lines.values():
        found.sort(key=_place)
    return seen


def _caller(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[pytypes.FunctionType, tuple[Any, ...], dict[str, Any]]:
    """A Python function that does nothing but call f, which has a rule: what the rule becomes can be seen in it."""
    names = [f"x{i}" for i in range(len(args))]
    passed = ", ".join([*names, *(f"{k}={k}" for k in kwargs)])
    source = f"def call({', '.join([*names, *kwargs])}):\n    return f({passed})\n"
    filename = f"<a call of {name_of(f)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"f": f}
    exec(compile(source, filename, "exec"), scope)
    return scope["call"], (*args, *kwargs.values()), {}


def _place(f: Finding) -> tuple[Any, ...]:
    """Expressions as they stand in the source, larger ones first; then what is kept."""
    order = _ORDER[f.kind]
    return (order, f.text) if order else (order, "", f.pos.col or 0, -(f.pos.end_col or 0))


_ORDER = {kind: 1 if kind == "stored" else 2 if kind == "recomputed" else 0 for kind in _MARKS}


def _own_lines(code: pytypes.CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line}


def _add(seen: Inspection, kind: str, text: str, pos: Pos) -> None:
    if pos.line is not None:
        seen.lines.setdefault(pos.line, []).append(Finding(kind, text, pos))


def _source(pos: Pos, filename: str, otherwise: str) -> str:
    """The expression at a place in the source."""
    if pos.line is None or pos.col is None or pos.end_line != pos.line or pos.end_col is None:
        return otherwise
    line = linecache.getline(filename, pos.line).encode()
    text = line[pos.col : pos.end_col].decode(errors="replace").strip()
    return text or otherwise


def _statements(seen: Inspection) -> None:
    planned: Planned = seen.stages["planned"]
    inferred, filename = seen.inferred, seen.function.__code__.co_filename
    for plans in planned.plans.values():
        for plan in plans:
            call = inferred.calls.get(plan.stmt.out)
            if call is None:
                continue
            kind, note = _decision(call, plan.note, plan.stmt)
            if kind == "value" and (call.target in _QUIET if _hashable(call.target) else False):
                continue
            t = inferred.types[plan.stmt.out]
            what = _source(plan.stmt.pos, filename, _called(call.target))
            if plan.stmt.out.name and not what.startswith(plan.stmt.out.name + " "):
                what = f"{plan.stmt.out.name} = {what}"
            shared = any(k == REF for _, k in leaves(planned.lanes.tree(plan.stmt.out)))
            text = what if isinstance(t, Known) and t.value is None else f"{what}: {type_text(t)}"
            text += ", in memory that is written to or seen elsewhere" if shared else ""
            _add(seen, kind, text + (f"; {note}" if note else ""), plan.stmt.pos)


def _called(f: Any) -> str:
    if f is kept_default:
        return "its default value"
    if f is kept_captured:
        return "what it captured"
    return name_of(f) if f else "a call"


def _hashable(x: Any) -> bool:
    return hashable(x)


def _decision(call: CallInfo, note: str, s: Call) -> tuple[str, str]:
    """The kind of finding that a call is, and what there is to say."""
    if call.kind == "dynamic":
        return "dynamic", f"decided when it runs: {_why(call, s)}"
    if call.kind == "derived":
        return "derived", f"{name_of(call.target)} has a rule of its own, derived when it is first called"
    if call.kind == "rule":
        if note:
            return "called", note
        return "inlined", f"rule of {name_of(call.target)} inlined"
    return "value", WHY if call.why == WHY else ""


def _why(call: CallInfo, s: Call) -> str:
    if call.why == "call":
        callee = name_of(call.target) if call.target is not None else "the function"
        return f"{callee} is called with more than numbers, or is too large to take in"
    if call.why == "no rule":
        return f"{name_of(call.target)} has no rule for arguments of these types"
    name = name_of(s.fn.value) if isinstance(s.fn, Const) else None
    return call.why + (f" ({name})" if name else "")


def _kept(seen: Inspection) -> None:
    filename = seen.function.__code__.co_filename
    how = {"captured": "stored once", "pushed": "stored at every iteration", "recomputed": "computed again, not stored"}
    for k in seen.derived.kept:
        kind = "recomputed" if k.how == "recomputed" else "stored"
        _add(seen, kind, f"{how[k.how]}: {_what(k, filename)}: {type_text(k.type).removesuffix(', active')}", k.pos)


def _what(k: Kept, filename: str) -> str:
    what = k.what or _source(k.pos, filename, "a value")
    return f"{k.part} of {what}" if k.part else what


def _how_often(derived: Derived) -> str:
    if not (derived.in_place or derived.dynamic):
        return "again"
    if derived.own_only:
        return "again, and runs the function again for it"
    return "once" if derived.in_place else "again where no call in it changes anything in place"
