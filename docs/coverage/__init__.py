"""What is differentiated of a library, function by function: `python -m docs.coverage numpy` writes `docs/numpy.md`.

A module of this package is named like the library and says what to list:

- `NAMESPACES`: name -> module or class, whose public names are listed;
- `PACKS`: how the names of the rule modules begin that hold the cases (`CASES`) of its functions;
- `OUTSIDE`: why something has nothing to differentiate -> names, separated by spaces;
- `IMPLIED`: names that are covered by other means than a case of their own -> what covers them;
- `VERSION`: of the library;
- `OPEN`: where it is there, why names that are not known are refused; else they are an error.

What a function is follows from the registry: it has a rule, it is derived (from its own Python code or from simpler
code), it is not differentiable (its derivative is zero or it gives no numbers), or it is refused. A name that is none
of these is unknown, which is an error: a new release of the library added it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types as pytypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mooncake_rules

from mooncake_py import registry
from mooncake_py.testing import RuleCase

KINDS = ("rule", "derived", "not differentiable", "outside", "refused", "unknown")
DIFFERENTIABLE = ("rule", "derived", "refused", "unknown")


@dataclass(frozen=True, slots=True)
class Entry:
    """One public function: its kind, why, and whether a case goes through it."""

    space: str
    name: str
    kind: str
    why: str = ""
    tested: bool = False


def library(name: str) -> Any:
    """The table of a library, its rules loaded."""
    table = importlib.import_module(f"docs.coverage.{name}")
    registry.load_packs()
    for pack in _packs(table):
        importlib.import_module(f"mooncake_rules.{pack}")
    return table


def _packs(table: Any) -> list[str]:
    """The names of the library's rule modules."""
    return [m.name for m in pkgutil.iter_modules(mooncake_rules.__path__) if m.name.startswith(table.PACKS)]


def entries(table: Any) -> list[Entry]:
    """Every public name of the library's namespaces that can be called or read."""
    outside = {name: why for why, names in table.OUTSIDE.items() for name in names.split()}
    called, mentioned = _cases(table)
    out = []
    for space, owner in table.NAMESPACES.items():
        for name in public_names(owner):
            f = getattr(owner, name)
            if inspect.ismodule(f) or name in outside or f"{space}.{name}" in outside:
                why = "a module" if inspect.ismodule(f) else outside.get(f"{space}.{name}", outside.get(name, ""))
                out.append(Entry(space, name, "outside", why))
                continue
            kind, why = kind_of(f)
            tested = _hashable(f) and f in called
            full = f"{space}.{name}"
            tested = tested or full in table.IMPLIED or any(getattr(owner, n, None) is f for n in mentioned)
            if kind in ("python", "unknown"):
                kind = "derived" if tested else "unknown"
            if kind == "unknown" and hasattr(table, "OPEN"):
                kind, why = "refused", table.OPEN
            out.append(Entry(space, name, kind, table.IMPLIED.get(full, why), tested))
    return out


def public_names(owner: Any) -> list[str]:
    names = getattr(owner, "__all__", None)
    return sorted(n for n in (dir(owner) if names is None else names) if not n.startswith("_") and hasattr(owner, n))


def kind_of(f: Any) -> tuple[str, str]:
    """The kind of one function, and why; "python" where only its own code can be derived."""
    why = registry.refusal(f) if _hashable(f) else None
    if why is not None:
        return "refused", why
    rules = registry.rules_of(f) if _hashable(f) else []
    if any(r.fn is not None for r in rules):
        return "rule", ""
    if rules:
        return "not differentiable", ""
    return ("python" if registry.seen_through(f) is not None else "unknown"), ""


def _hashable(f: Any) -> bool:
    return type(f).__hash__ is not None


def _cases(table: Any) -> tuple[set[Any], set[str]]:
    """What the cases call, and the names that stand in the functions they are."""
    called: set[Any] = set()
    mentioned: set[str] = set()
    for pack in _packs(table):
        for case in getattr(importlib.import_module(f"mooncake_rules.{pack}"), "CASES", ()):
            assert isinstance(case, RuleCase)
            if isinstance(case.fn, pytypes.FunctionType) and case.fn.__module__.startswith("mooncake_rules"):
                mentioned.update(_names(case.fn))
            called.add(case.fn)
    return called, mentioned


def _names(f: pytypes.FunctionType) -> Iterator[str]:
    """The attributes and globals in a function's code and in that of functions nested in it or closed over."""
    codes = [f.__code__]
    for code in codes:
        yield from code.co_names
        codes.extend(c for c in code.co_consts if isinstance(c, pytypes.CodeType))
    for cell in f.__closure__ or ():
        name = getattr(cell.cell_contents, "__name__", None)
        if isinstance(name, str):
            yield name


def share(found: list[Entry]) -> tuple[int, int]:
    """How many of the differentiable functions are differentiated, and how many there are."""
    whole = [e for e in found if e.kind in DIFFERENTIABLE]
    return sum(e.kind in ("rule", "derived") for e in whole), len(whole)


def report(name: str) -> str:
    """The page of a library."""
    table = library(name)
    found = entries(table)
    done, whole = share(found)
    lines = [
        f"# {table.TITLE}",
        "",
        f"Written by `python -m docs.coverage {name}`, for {table.TITLE} {table.VERSION}.",
        "",
        f"{done} of {whole} differentiable functions are differentiated: {100 * done / whole:.1f} %.",
        "",
        *table.NOTES.strip().splitlines(),
        "",
        "| namespace | " + " | ".join(KINDS[:-1]) + " |",
        "|---|" + "---:|" * (len(KINDS) - 1),
    ]
    for space in table.NAMESPACES:
        counts = [sum(e.space == space and e.kind == k for e in found) for k in KINDS[:-1]]
        lines.append(f"| `{space}` | " + " | ".join(map(str, counts)) + " |")
    for space in table.NAMESPACES:
        lines += ["", f"## {space}"]
        for kind in KINDS:
            mine = [e for e in found if e.space == space and e.kind == kind]
            if not mine:
                continue
            lines += ["", f"**{kind}** ({len(mine)})", ""]
            reasons: dict[str, list[str]] = {}
            for e in mine:
                reasons.setdefault(e.why, []).append(f"`{e.name}`")
            for why, names in reasons.items():
                lines += [f"- {why}: {', '.join(names)}" if why else ", ".join(names)]
    return "\n".join(lines) + "\n"


def page(name: str) -> Path:
    return Path(__file__).parent.parent / f"{name}.md"
