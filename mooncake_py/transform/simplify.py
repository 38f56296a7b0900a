"""The primal made simpler by what inference finds out, and inferred again, until nothing is left to do."""

from __future__ import annotations

import itertools
import types as pytypes
from collections.abc import Callable, Mapping, Sequence, Set

from mooncake_py.infer.inferred import Guard, Inferred, is_put_off, is_to_come
from mooncake_py.infer.interpret import Inference
from mooncake_py.infer.numbers import computes_numbers
from mooncake_py.infer.parts import is_exact
from mooncake_py.infer.protocol import Classes, coming_back
from mooncake_py.infer.sources import Source
from mooncake_py.infer.state import Before
from mooncake_py.infer.types import Obj, T
from mooncake_py.ir.nodes import BlockId, Function, Var
from mooncake_py.kept_iterators import Generator
from mooncake_py.run import NAMES, NOTHING, Wary
from mooncake_py.transform.advance import advance_iterators, ask_objects
from mooncake_py.transform.any_length import of_any_length
from mooncake_py.transform.asking import fuse, fuse_awaited
from mooncake_py.transform.bound import spell_out
from mooncake_py.transform.by_position import by_position
from mooncake_py.transform.closing import close_left
from mooncake_py.transform.dissolve import dissolve
from mooncake_py.transform.doubts import better_told, doubts, settle
from mooncake_py.transform.fixed import fixed_lists
from mooncake_py.transform.given import without_given
from mooncake_py.transform.held_functions import take_in_held
from mooncake_py.transform.inline import MOST_OF_RECURSIVE, MOST_TOTAL, inline_calls, take_in, take_in_awaited
from mooncake_py.transform.iterator_objects import as_objects
from mooncake_py.transform.kept import keep_views
from mooncake_py.transform.late_cells import settle_cells
from mooncake_py.transform.lift import lift
from mooncake_py.transform.listed import as_lists, draw, draw_again
from mooncake_py.transform.made_once import with_classes_made
from mooncake_py.transform.merge import merged
from mooncake_py.transform.protocol import as_calls, hidden, without_doubts
from mooncake_py.transform.raised import own_handlers
from mooncake_py.transform.rewrite import rewrite, show_starred, spread_starred
from mooncake_py.transform.single import without_single_params
from mooncake_py.transform.split import Narrowing, by_options, without_dead_ends
from mooncake_py.transform.standins import with_stand_ins
from mooncake_py.transform.stops import without_idle
from mooncake_py.transform.strict import without_strict
from mooncake_py.transform.united import unite
from mooncake_py.transform.unnamed import without_names
from mooncake_py.transform.unroll import unroll

MOST_ATTEMPTS = 5  # to find out what values that plans rely on may be
MOST_ROUNDS = 120  # in which functions are taken in: closures that are given closures to call may go on for long


def infer_simplified(
    primal: Function,
    fn: pytypes.FunctionType,
    arg_types: Sequence[T],
    free_types: Sequence[T] = (),
    aliased: bool = False,
    wary: Wary = NOTHING,
    objects: bool = True,
    outermost: bool = False,
) -> tuple[Inferred, set[pytypes.FunctionType]]:
    """What is known of the simplest form of fn's primal, and the functions whose code or results that relies on."""

    relied: list[Guard] = []
    if outermost and objects and wary < NAMES:  # others may run several times in one run
        primal, relied = with_classes_made(primal, fn.__globals__)
    first = arg_types[0] if arg_types else None
    is_resumed = isinstance(first, Obj) and issubclass(first.cls, Generator) and first.cls.resume is fn

    def attempt(classes: Classes | None) -> tuple[Inferred, set[pytypes.FunctionType]] | Classes:
        """What is found, or what is to be taken to be so by another attempt."""
        before = Before()
        latest: Inference | None = None

        def inference_of(f: Function, patient: bool = True) -> Inference:
            new = Inference(
                f, arg_types, fn.__globals__, free_types, aliased, wary, classes, before, outermost, patient
            )
            if is_resumed:
                new.running = f.params[0]
            if latest is not None:  # what is written, as far as that is sure: found anew, it takes rounds
                guessed = latest.guessed
                new.forced |= {v: t for v, t in latest.forced.items() if v not in guessed and is_exact(t)}
            return new

        def glance(f: Function, known: Inferred) -> Inferred:
            return inference_of(f).glance(known)

        def again(f: Function, patient: bool = True) -> Inferred:
            nonlocal latest
            while True:
                f = merged(f)
                latest = inference_of(f, patient)
                known = latest.run_or_narrow(_Told(f))
                if isinstance(known, Inferred):
                    return known
                f = known

        def go_on(known: Inferred) -> Inferred:
            """The same function, in which what waits is looked into now."""
            assert latest is not None and latest.fn is known.fn
            more = latest.with_no_more_patience(_Told(known.fn))
            return more if isinstance(more, Inferred) else again(more, patient=False)

        inferred = again(primal)
        taken: set[pytypes.FunctionType] = set()
        for round_ in itertools.count():
            told = None if classes is None else classes.with_more_told(hidden(inferred), inferred.memory.shape.patched)
            if told is not None:
                return told  # there is an attribute, or a method, that was taken not to be
            most = MOST_TOTAL if round_ < MOST_ROUNDS else 0
            simpler = simplify(inferred, fn, taken, again, glance, classes, most)
            if classes is not None and (classes.begins_again or _is_to_be_smaller(inferred, simpler, classes)):
                return classes.anew()
            if simpler is None and not inferred.early:
                break
            inferred = go_on(inferred) if simpler is None else again(simpler)
        if classes is not None and classes.cautious and (settled := settle(inferred, everything=True)) is not None:
            inferred = again(settled)
        return without_doubts(inferred), taken | inferred.relied

    def with_classes(classes: Classes | None) -> tuple[Inferred, set[pytypes.FunctionType]]:
        while isinstance(found := attempt(classes), Classes):
            classes = found
        return found

    found = with_classes(Classes(fn.__globals__, wary=wary, code=fn.__code__) if objects else None)
    told: dict[Source, T] = {}
    for _ in range(MOST_ATTEMPTS if outermost else 0):  # others are inferred many times for one derivation
        if not (more := better_told(found[0], told)):
            break
        told |= more
        found = with_classes(Classes(fn.__globals__, wary=wary, told=told, code=fn.__code__))
    if doubts(found[0].fn):
        found = with_classes(Classes(fn.__globals__, cautious=True, wary=wary))
    found[0].guards |= {(id(g.scope), g.name): g for g in relied}
    return found


def _is_to_be_smaller(inferred: Inferred, simpler: Function | None, classes: Classes) -> bool:
    """Is it a function that comes back to itself, and grows because others stand in it several times?"""
    if simpler is None or not any(c.kind == "planned" for c in inferred.calls.values()):
        return False
    return sum(len(b.stmts) for b in simpler.blocks) > MOST_OF_RECURSIVE and classes.is_to_be_smaller()


class _Told:
    """Gives the function in which more is known of a value, before what is done with it is taken into account."""

    def __init__(self, fn: Function):
        self.narrowing = Narrowing(fn)

    def __call__(self, types: Mapping[Var, T], reached: Set[BlockId]) -> Function | None:
        fn = self.narrowing.fn
        return self.narrowing.narrowed(types, reached) or own_handlers(fn, types) or ask_objects(fn, types, reached)


def simplify(
    inferred: Inferred,
    fn: pytypes.FunctionType,
    taken: set[pytypes.FunctionType],
    again: Callable[[Function], Inferred],
    glance: Callable[[Function, Inferred], Inferred],
    classes: Classes | None = None,
    most: int = MOST_TOTAL,
) -> Function | None:
    """The primal with one kind of thing made simpler by its types, None where nothing is left to do.

    `again` infers what becomes of it, `glance` what becomes of the calls that are new. `most`: the statements that
    functions may be taken into.
    """

    def with_code(known: Inferred) -> Function | None:
        larger = None if classes is None else take_in(known, fn.__globals__, taken, classes, most)
        return None if larger is None else settle_cells(without_single_params(larger))

    if not inferred.early and computes_numbers(inferred):
        return None
    unnamed = without_names(inferred.fn, inferred.types)
    if unnamed is not None:
        return settle_cells(unnamed)
    lifted = lift(inferred.fn, fn.__globals__, inferred.types)
    if lifted is not None:
        return settle_cells(lifted)
    placed = by_position(inferred)
    if placed is not None:
        return placed
    direct = without_given(inferred, fn.__globals__)
    if direct is not None:
        return settle_cells(direct)
    sure = without_idle(inferred, fn.__globals__)
    if sure is not None:
        return sure
    ended = without_dead_ends(inferred)
    if ended is not None:
        return ended
    if inferred.early and not any(map(is_to_come, inferred.calls.values())):
        return awaited_calls(inferred, fn.__globals__, taken, most)  # of all else more is to be known first
    kept = keep_views(inferred)
    if kept is not None:
        return kept
    united = unite(inferred)
    if united is not None:
        return united
    shown = show_starred(inferred)
    if shown is not None:
        return shown
    held = take_in_held(inferred)
    if held is not None:
        return held
    larger = with_code(inferred)
    if larger is not None:
        return larger
    spelled = None if classes is None else spell_out(inferred, taken, classes)
    if spelled is not None:
        return spelled
    direct = as_calls(inferred)
    if direct is not None:
        direct = with_stand_ins(direct, inferred, fn.__globals__)
        larger = with_code(glance(direct, inferred))  # most are calls of functions that are to stand there
        return direct if larger is None else larger
    if classes is not None and any(map(is_put_off, inferred.calls.values())):
        return draw_again(inferred, classes)
    split = by_options(inferred)
    if split is not None:
        return split
    settled = settle(inferred)
    if settled is not None:
        return settled
    listed = None if classes is None else draw(inferred, fn.__globals__, again, classes)
    if listed is not None:
        return listed if listed is inferred.fn else settle_cells(listed)
    closed = close_left(inferred)
    if closed is not None:
        return closed
    plain = without_strict(inferred)
    if plain is not None:
        return plain
    starred = spread_starred(inferred)
    if starred is not None:
        return starred
    if inferred.early:
        return None  # what is called out of containers may change those that loops go over
    simpler = rewrite(inferred)
    if simpler is not None:
        return simpler
    looked_into = of_any_length(inferred)
    if looked_into is not None:
        return looked_into
    fixed = fixed_lists(inferred)
    if fixed is not None:
        return fixed
    straight = unroll(inferred)
    if straight is not None:
        return straight
    once_more = None if classes is None else draw_again(inferred, classes)
    if once_more is not None:
        return once_more
    larger = inline_calls(inferred, fn.__globals__, taken, coming_back.get(fn.__code__, ()), most)
    if larger is not None:
        return settle_cells(without_single_params(larger))
    fused = fuse(inferred, fn.__globals__, taken)
    if fused is not None:
        return settle_cells(fused)
    drawn = as_lists(inferred, again)
    if drawn is not None:
        return drawn
    dissolved = dissolve(inferred)  # an iterator that an object holds may be one that is known
    if dissolved is not None:
        return dissolved
    objects = None if classes is None else as_objects(inferred, fn.__globals__, taken, classes)
    return objects if objects is not None else advance_iterators(inferred)


def awaited_calls(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType], most: int) -> Function | None:
    """The function with calls taken in that would be decided late; None where there are none.

    What they give, and write to, is not known so far: nothing else may be made of the types.
    """
    larger = take_in_awaited(inferred, globals_, taken, most)
    if larger is not None:
        return settle_cells(without_single_params(larger))
    starred = spread_starred(inferred)
    if starred is not None:
        return starred
    fused = fuse_awaited(inferred, globals_, taken)
    return None if fused is None else settle_cells(fused)
