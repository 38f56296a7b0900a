"""The pipeline, top to bottom: a code object and a signature become a derived rule."""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence

from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.frontend import normalise
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.interpret import Inference
from mooncake_py.infer.protocol import Classes
from mooncake_py.infer.types import Arr, T
from mooncake_py.ir.nodes import Function
from mooncake_py.lowering import lower
from mooncake_py.run import NOTHING, Wary
from mooncake_py.runtime.rule import DerivedRule
from mooncake_py.runtime.site import DynamicSite, StaticSite
from mooncake_py.switches import DEFAULT, Options
from mooncake_py.transform.advance import advance_iterators
from mooncake_py.transform.asking import fuse
from mooncake_py.transform.assemble import derive
from mooncake_py.transform.cells import localise
from mooncake_py.transform.collected import note_summands
from mooncake_py.transform.derived import Observer, ignore
from mooncake_py.transform.dissolve import dissolve
from mooncake_py.transform.generators import as_function
from mooncake_py.transform.initial import note_first_writes
from mooncake_py.transform.inline import inline_calls
from mooncake_py.transform.kept import keep_views
from mooncake_py.transform.lift import lift
from mooncake_py.transform.primal import prepare, promote_cells
from mooncake_py.transform.protect import with_outcome
from mooncake_py.transform.protocol import as_calls, doubts, settle
from mooncake_py.transform.rewrite import rewrite
from mooncake_py.transform.single import without_single_params
from mooncake_py.transform.split import by_options
from mooncake_py.transform.standins import with_stand_ins
from mooncake_py.transform.unroll import unroll


def derive_rule(
    fn: pytypes.FunctionType,
    arg_types: Sequence[T],
    free_types: Sequence[T],
    aliased: bool = False,
    options: Options = DEFAULT,
    outcome: bool = False,
    observe: Observer = ignore,
    wary: Wary = NOTHING,
) -> DerivedRule:
    """The rule of a Python function for arguments (and contents of closure cells) of these types.

    With `outcome`, of the function that returns `(value, None)` or `(UNBOUND, exception)` and never raises.

    Raises UnsupportedError, naming construct, file and line, for code the engine does not differentiate.
    `observe` is told the result of every stage by its name: "normalised", "prepared", "inferred", "planned", "derived".
    """
    body = normalise(fn.__code__)
    observe("normalised", body)
    if body.kind == "generator":
        body = as_function(body, fn.__code__)
    primal = prepare(body)
    observe("prepared", primal)
    if outcome:
        primal = with_outcome(primal)

    def inferred_with(classes: Classes | None) -> tuple[Inferred, set[pytypes.FunctionType]]:
        inferred = Inference(primal, arg_types, fn.__globals__, free_types, aliased, wary, classes).run()
        taken: set[pytypes.FunctionType] = set()
        guards = inferred.guards
        while (simpler := simplify(inferred, fn, taken)) is not None:
            guards |= inferred.guards
            taken |= inferred.relied
            inferred = Inference(simpler, arg_types, fn.__globals__, free_types, aliased, wary, classes).run()
        if classes is not None and classes.cautious and (settled := settle(inferred, everything=True)) is not None:
            guards |= inferred.guards
            inferred = Inference(settled, arg_types, fn.__globals__, free_types, aliased, wary, classes).run()
        inferred.guards = guards | inferred.guards
        return inferred, taken | inferred.relied

    inferred, taken = inferred_with(Classes(fn.__globals__, wary=bool(wary)) if options.objects else None)
    if doubts(inferred.fn):
        inferred, taken = inferred_with(Classes(fn.__globals__, cautious=True, wary=bool(wary)))
    note_first_writes(inferred, arg_types)
    note_summands(inferred)
    observe("inferred", inferred)
    frame = debug_frame()
    if frame is None:
        derived = derive(inferred, DynamicSite.at(fn.__code__), StaticSite.of, options, observe)
    else:
        from mooncake_py.diagnostics.sites import Checks

        checks = Checks(fn.__code__, frame.mode)
        derived = derive(inferred, checks.dynamic_site, StaticSite.of, options, observe, checks)
    observe("derived", derived)
    heavy = {v for v, t in inferred.types.items() if isinstance(t, Arr)} | {derived.pullback.params[0]}
    codes = [lower(f, folding=options.stack_folding, heavy=heavy) for f in (derived.forward, derived.pullback)]
    forward = pytypes.FunctionType(codes[0], fn.__globals__, fn.__name__)
    pullback = pytypes.FunctionType(codes[1], fn.__globals__, fn.__name__ + "_pullback")
    taken.update(c.target for c in inferred.calls.values() if c.kind == "derived")
    rule = DerivedRule(fn.__code__, forward, pullback, derived, tuple(inferred.guards.values()), taken)
    if frame is not None and not outcome:  # an outcome that is an exception has no value to look at
        from mooncake_py.diagnostics.derived import watch_rule

        watch_rule(rule, fn, inferred, frame.mode)
    return rule


def simplify(inferred: Inferred, fn: pytypes.FunctionType, taken: set[pytypes.FunctionType]) -> Function | None:
    """The primal with one kind of thing made simpler by its types, None where nothing is left to do."""
    lifted = lift(inferred.fn, fn.__globals__)
    if lifted is not None:
        return localise(promote_cells(lifted))
    kept = keep_views(inferred)
    if kept is not None:
        return kept
    direct = as_calls(inferred)
    if direct is not None:
        return with_stand_ins(direct, inferred, fn.__globals__)
    settled = settle(inferred)
    if settled is not None:
        return settled
    simpler = rewrite(inferred)
    if simpler is not None:
        return simpler
    straight = unroll(inferred)
    if straight is not None:
        return straight
    larger = inline_calls(inferred, fn.__globals__, taken)
    if larger is not None:
        return localise(promote_cells(without_single_params(larger)))
    split = by_options(inferred)
    if split is not None:
        return split
    fused = fuse(inferred, fn.__globals__, taken)
    if fused is not None:
        return localise(promote_cells(fused))
    advanced = advance_iterators(inferred)
    return advanced if advanced is not None else dissolve(inferred)
