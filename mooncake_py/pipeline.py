"""The pipeline, top to bottom: a code object and a signature become a derived rule."""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence

from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.frontend import normalise
from mooncake_py.infer.base import forget
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.protocol import coming_back
from mooncake_py.infer.results import forget_what_was_in_vain
from mooncake_py.infer.types import Arr, T
from mooncake_py.ir.ops import load_build_class
from mooncake_py.lowering import lower
from mooncake_py.run import NOTHING, Wary
from mooncake_py.runtime.rule import DerivedRule
from mooncake_py.runtime.site import DynamicSite
from mooncake_py.runtime.static_site import StaticSite
from mooncake_py.switches import DEFAULT, Options
from mooncake_py.transform.assemble import derive
from mooncake_py.transform.class_bodies import as_function as body_as_function
from mooncake_py.transform.class_bodies import is_class_body
from mooncake_py.transform.collected import note_summands
from mooncake_py.transform.derived import Observer, ignore
from mooncake_py.transform.generators import as_function
from mooncake_py.transform.initial import note_first_writes
from mooncake_py.transform.lanes import Tree
from mooncake_py.transform.primal import prepare
from mooncake_py.transform.protect import with_outcome
from mooncake_py.transform.simplify import infer_simplified
from mooncake_py.transform.visits import note_single_visits


def derive_rule(
    fn: pytypes.FunctionType,
    arg_types: Sequence[T],
    free_types: Sequence[T],
    aliased: bool = False,
    options: Options = DEFAULT,
    outcome: bool = False,
    observe: Observer = ignore,
    wary: Wary = NOTHING,
    outermost: bool = False,
) -> DerivedRule:
    """The rule of a Python function for arguments (and contents of closure cells) of these types.

    With `outcome`, of the function that returns `(value, None)` or `(UNBOUND, exception)` and never raises.
    `outermost`: of one that the user calls, so that nothing of the run writes to what it returns.

    Raises UnsupportedError, naming construct, file and line, for code the engine does not differentiate.
    `observe` is told the result of every stage by its name: "normalised", "prepared", "inferred", "planned", "derived".
    """
    if outermost:  # what was derived before changes nothing
        forget_what_was_in_vain()
        coming_back.clear()
    body = normalise(fn.__code__)
    observe("normalised", body)
    if body.suspends:
        body = as_function(body, fn.__code__, fn.__globals__)
    elif is_class_body(fn.__code__):
        body = body_as_function(body, fn.__globals__)
    primal = prepare(body)
    observe("prepared", primal)
    if outcome:
        primal = with_outcome(primal)

    try:
        inferred, taken = infer_simplified(primal, fn, arg_types, free_types, aliased, wary, options.objects, outermost)
    finally:
        forget()
    note_first_writes(inferred, arg_types)
    note_summands(inferred)
    note_single_visits(inferred)
    observe("inferred", inferred)
    sites: list[StaticSite] = []

    def static_site(call: CallInfo, wanted: Tree) -> StaticSite:
        sites.append(StaticSite.of(call, wanted))
        return sites[-1]

    frame = debug_frame()
    if frame is None:
        derived = derive(inferred, DynamicSite.at(fn.__code__), static_site, options, observe)
    else:
        from mooncake_py.diagnostics.sites import Checks

        checks = Checks(fn.__code__, frame.mode)
        derived = derive(inferred, checks.dynamic_site, static_site, options, observe, checks)
    observe("derived", derived)
    heavy = {v for v, t in inferred.types.items() if isinstance(t, Arr)}
    if derived.captures_memory:
        heavy.add(derived.pullback.params[0])
    parts = derived.forward, derived.pullback
    codes = [lower(f, folding=options.stack_folding, heavy=heavy, derived=True) for f in parts]
    forward = pytypes.FunctionType(codes[0], fn.__globals__, fn.__name__)
    pullback = pytypes.FunctionType(codes[1], fn.__globals__, fn.__name__ + "_pullback")
    taken.update(c.target for c in inferred.calls.values() if c.kind == "derived")
    guards = tuple(inferred.guards.values())
    rule = DerivedRule(fn.__code__, forward, pullback, derived.without_code(), guards, taken, sites)
    rule.anywhere = not (inferred.memory.handed_back or body.calls(load_build_class))
    if frame is not None and not outcome:  # an outcome that is an exception has no value to look at
        from mooncake_py.diagnostics.derived import watch_rule

        watch_rule(rule, fn, inferred, frame.mode)
    return rule
