"""Forward and pullback functions, assembled from the fragments of every statement.

The forward function has the blocks of the primal; joins get a parameter that says which edge was taken, loops
one that counts. It returns `(value, fdata, captures)`. The pullback takes `(captures, cotangent)` and walks the
blocks backwards; the edge numbers and trip counts are forward values like any other, so what of them is
captured or pushed is decided where all comms are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooncake_py.fields import narrow
from mooncake_py.infer.allocation import makes_container
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.parts import may_be_complex
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import (
    Call,
    Const,
    Operand,
    Return,
    Var,
    edges,
)
from mooncake_py.registry import is_pure, repeated, same_if_shaped, undoes
from mooncake_py.switches import DEFAULT, Options
from mooncake_py.transform import helpers
from mooncake_py.transform.adinfo import ADInfo
from mooncake_py.transform.batch import OUTER, batch_outer_products
from mooncake_py.transform.canonical import Canonical, canonicalise
from mooncake_py.transform.certain import fold
from mooncake_py.transform.control import Control
from mooncake_py.transform.derived import Derivation, Observer, Planned, ignore
from mooncake_py.transform.effects import functions_in, is_array
from mooncake_py.transform.facts import Facts
from mooncake_py.transform.forward import ForwardAssembly
from mooncake_py.transform.hoist import hoist
from mooncake_py.transform.lanes import NONE, NULL, Lanes, Tree
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.reverse import PullbackAssembly
from mooncake_py.transform.shapes import fold_shapes
from mooncake_py.transform.sweep import finish_helpers, sweep
from mooncake_py.transform.tidy import tidy
from mooncake_py.transform.transfer import Transfer
from mooncake_py.transform.undo import drop_unneeded
from mooncake_py.transform.useful import drop_useless
from mooncake_py.transform.views import note_passing_views

if TYPE_CHECKING:
    from mooncake_py.diagnostics.sites import Checks


def derive(
    inferred: Inferred,
    dynamic_site: Callable[[CallInfo, Call, tuple[bool, ...], bool], Any],
    static_site: Callable[[CallInfo, Tree], Any],
    options: Options = DEFAULT,
    observe: Observer = ignore,
    checks: Checks | None = None,
) -> Derivation:
    """The forward and pullback functions of an inferred primal; the sites are what its calls go through.

    With `checks`, those of debug mode.
    """
    types, fresh = inferred.types, fresh_beside(inferred.fn)
    canonical = canonicalise(inferred, fresh)
    lanes = Lanes(types, inferred.memory)
    _note_new_params(canonical, inferred.memory)
    note_passing_views(canonical, inferred, lanes)
    drop_useless(canonical, inferred, lanes)
    builder = Builder(fresh, NULL)
    info = ADInfo(
        inferred, canonical, fresh, lanes, builder, types, dynamic_site, static_site, options.specialise, checks=checks
    )
    info.real = not any(map(may_be_complex, {id(t): t for t in types.values()}.values()))

    control = Control(inferred, canonical, lanes, fresh, options)
    forward = ForwardAssembly(info, control)
    observe("planned", Planned(canonical, lanes, forward.plans))
    pullback = PullbackAssembly(info, control, forward)
    p = pullback.builder
    fold(p)
    called = functions_in(p)
    if not called.isdisjoint(same_if_shaped) or not called.isdisjoint(repeated):
        fold_shapes(p, builder, types, info.f)
    live = sweep(p, set(), everything=True)
    if not called.isdisjoint(undoes) and _drop_undoing(info, p):
        live = sweep(p, set(), everything=True)
    transfer = Transfer(control, forward, pullback, options)
    transfer.into_pullback(live)
    transfer.into_forward()
    builder.apply(_other_names(builder))
    builder.apply(builder.simplify_params())
    sweep(builder, info.removable, everything=False)
    if helpers.shadow_dense in called:
        hoist(p)
    finish_helpers(p)
    tidy(p, types, options.tidy)
    if options.tidy and OUTER in called:
        batch_outer_products(p, types, transfer.may_change())

    fn, facts = canonical.fn, Facts(info)
    exit_ = canonical.blocks[canonical.exit].term if canonical.exit is not None else None
    result_tree = lanes.tree(exit_.value) if isinstance(exit_, Return) else NONE
    written_args, written_cells = facts.written()
    touched_args, touched_cells, touched_globals = facts.touched()
    always_zero = facts.always_zero(p, result_tree)
    return Derivation(
        forward=builder.finish(fn.name, fn.filename, forward.params, fn.firstline),
        pullback=p.finish(fn.name, fn.filename, [pullback.captures_in, pullback.dy_in], fn.firstline),
        arg_trees=tuple(map(lanes.tree, (*fn.params, *fn.free))),
        lane_args=tuple(forward.lane_inputs),
        result_tree=result_tree,
        in_place=info.in_place,
        dynamic=info.dynamic,
        written_args=written_args,
        written_cells=written_cells,
        touched_args=touched_args,
        touched_cells=touched_cells,
        touched_globals=touched_globals,
        notes=tuple(forward.notes),
        stored=transfer.stored(),
        kept=transfer.kept(),
        captures_memory=any(is_array(types.get(v)) for v in p.comms.captures),
        always_zero=always_zero,
    )


def _other_names(builder: Builder) -> dict[Var, Operand]:
    """The values that were narrowed to know their types better, by the names they have in the code."""
    names: dict[Operand, Operand] = {
        s.out: s.args[0] for d in builder.blocks for s in d.stmts if type(s.fn) is Const and s.fn.value is narrow
    }

    def last(v: Operand) -> Operand:
        while v in names:
            v = names[v]
        return v

    return {v: last(x) for v, x in names.items() if isinstance(v, Var)}


def _note_new_params(canonical: Canonical, memory: Memory) -> None:
    """Parameters that canonicalisation added share memory with what flows into them."""
    for b in canonical.fn.blocks:
        for e in edges(b.term):
            params = canonical.blocks[e.target].params
            for p, a in zip(params[len(params) - len(e.args) :], e.args, strict=True):
                memory.join(p, a)
    memory.close()


def _drop_undoing(info: ADInfo, p: PullbackBuilder) -> bool:
    """Take out what is put back and not read after that; was there any?"""
    fn, calls = info.canonical.fn, info.inferred.calls
    outside: set[Var] = {*fn.params, *fn.free}
    for b in fn.blocks:
        for s in b.stmts:
            call = calls.get(s.out)
            if call is None or call.kind in ("dynamic", "derived") or call.named is not None:
                outside.update(v for v in (s.out, *s.operands()) if isinstance(v, Var))
            elif call.kind == "plain" and call.rule is None and not is_pure(call.target) and not makes_container(call):
                outside.add(s.out)
    primal_of = {f: v for v, f in info.f.items() if isinstance(f, Var)}
    for b in fn.blocks:
        for v in (*b.params, *(s.out for s in b.stmts)):
            primal_of.setdefault(v, v)
    for v in (*fn.params, *fn.free):
        primal_of.setdefault(v, v)
    defs = {s.out: s for d in info.forward.blocks for s in d.stmts}
    return drop_unneeded(p, info.inferred.memory, primal_of, defs, info.types, outside)
