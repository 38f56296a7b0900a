"""Derived rules for tests that look inside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mooncake_py import build_rrule, registry, value_and_grad
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.interpret import Inference
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.ir.text import to_text
from mooncake_py.pipeline import derive_rule
from mooncake_py.run import Run
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for
from mooncake_py.runtime.site import DynamicSite
from mooncake_py.switches import current
from mooncake_py.transform.derived import Derivation


def rule_of(f: Callable[..., Any], *args: Any) -> DerivedRule:
    """The rule of a function that the user calls with these arguments, all active."""
    registry.load_packs()
    types = tuple(abstract(x, True) for x in args)
    with Run() as here:
        here.wary = wary = may_write_outside(f)  # type: ignore[arg-type]
        free = tuple(abstract(c, bool(wary)) for c in cells_of(f))  # type: ignore[arg-type]
        return rule_for(f, types, free, outermost=True)  # type: ignore[arg-type]


def derivation_of(f: Callable[..., Any], *args: Any, active: Sequence[bool] | None = None) -> Derivation:
    """What that is made of, made anew; of an argument that is not active only the value matters."""
    registry.load_packs()
    types = tuple(abstract(x, active is None or active[i]) for i, x in enumerate(args))
    stages: dict[str, Any] = {}
    with Run() as here:
        here.wary = wary = may_write_outside(f)  # type: ignore[arg-type]
        free = tuple(abstract(c, bool(wary)) for c in cells_of(f))  # type: ignore[arg-type]
        derive_rule(f, types, free, options=current(), observe=stages.__setitem__, wary=wary, outermost=True)  # type: ignore[arg-type]
    derivation: Derivation = stages["derived"]
    return derivation


def sites(f: Callable[..., Any], *args: Any) -> int:
    """How many calls of the derived rule are decided when they run."""
    return len(sites_in(rule_of(f, *args)))


def sites_in(rule: DerivedRule) -> list[DynamicSite]:
    return [x for x in rule.forward.__code__.co_consts if isinstance(x, DynamicSite)]  # type: ignore[attr-defined]


def all_sites(f: Callable[..., Any], *args: Any) -> list[str]:
    """The calls that are decided when they run, of the rule and of all those that its calls lead to."""
    value_and_grad(f)(*args)
    rule = rule_of(f, *args)
    found = [site for r in (rule, *rule._called()) for site in sites_in(r)]
    return [f"{site.line} ({site.function}): {site.why}" for site in found]


def text_of(f: Callable[..., Any], *args: Any) -> str:
    """Forward and pullback in the IR's text form."""
    derivation = derivation_of(f, *args)
    return to_text(derivation.forward) + "\n" + to_text(derivation.pullback)


def rounds_of(f: Callable[..., Any], *args: Any) -> list[int]:
    """How often the code of the function was gone through, in each of the times that it was inferred."""
    rounds: list[int] = []
    run, flow = Inference.run_or_narrow, Inference.flow

    def counted_run(inference: Inference, *args: Any) -> Any:
        rounds.append(0)
        return run(inference, *args)

    def counted_flow(inference: Inference, *since: Any) -> Any:
        rounds[-1] += 1
        return flow(inference, *since)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inference, "run_or_narrow", counted_run)
        patch.setattr(Inference, "flow", counted_flow)
        build_rrule(f, *args)
    return rounds
