"""Derived rules for tests that look inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import build_rrule, registry, value_and_grad
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.interpret import Inference
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.ir.nodes import Const
from mooncake_py.ir.text import to_text
from mooncake_py.pipeline import derive_rule
from mooncake_py.run import Run
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for
from mooncake_py.runtime.site import DynamicSite


def rule_of(f: Callable[..., Any], *args: Any, anew: bool = False) -> DerivedRule:
    """The rule of a function that the user calls with these arguments, all active: the one in use, or one made anew."""
    registry.load_packs()
    types = tuple(abstract(x, True) for x in args)
    with Run() as here:
        here.wary = wary = may_write_outside(f)  # type: ignore[arg-type]
        free = tuple(abstract(c, bool(wary)) for c in cells_of(f))  # type: ignore[arg-type]
        if anew:
            return derive_rule(f, types, free, wary=wary, outermost=True)  # type: ignore[arg-type]
        return rule_for(f, types, free, outermost=True)  # type: ignore[arg-type]


def sites(f: Callable[..., Any], *args: Any) -> int:
    """How many calls of the derived rule are decided when they run."""
    forward = rule_of(f, *args).derived.forward
    return sum(isinstance(s.fn, Const) and isinstance(s.fn.value, DynamicSite) for b in forward.blocks for s in b.stmts)


def all_sites(f: Callable[..., Any], *args: Any) -> list[str]:
    """The calls that are decided when they run, of the rule and of all those that its calls lead to."""
    value_and_grad(f)(*args)
    rule = rule_of(f, *args)
    forwards = [r.derived.forward for r in (rule, *rule._called())]
    stmts = [s for forward in forwards for b in forward.blocks for s in b.stmts]
    found = [s.fn.value for s in stmts if isinstance(s.fn, Const) and isinstance(s.fn.value, DynamicSite)]
    return [f"{site.line} ({site.function}): {site.why}" for site in found]


def text_of(rule: DerivedRule) -> str:
    """Forward and pullback in the IR's text form."""
    return to_text(rule.derived.forward) + "\n" + to_text(rule.derived.pullback)


def rounds_of(f: Callable[..., Any], *args: Any) -> list[int]:
    """How often the code of the function was gone through, in each of the times that it was inferred."""
    rounds: list[int] = []
    run, flow = Inference.run_or_narrow, Inference.flow

    def counted_run(inference: Inference, *args: Any) -> Any:
        rounds.append(0)
        return run(inference, *args)

    def counted_flow(inference: Inference) -> Any:
        rounds[-1] += 1
        return flow(inference)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inference, "run_or_narrow", counted_run)
        patch.setattr(Inference, "flow", counted_flow)
        build_rrule(f, *args)
    return rounds
