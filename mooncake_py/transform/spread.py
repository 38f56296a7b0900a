"""Cotangents around a statement's reverse: the result's, taken; what its pullback returns, given to the arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING

from mooncake_py.infer.types import TOP, Arr, Inst, Known, Real, T, Top, is_scalar, join
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand, Var
from mooncake_py.shadows import NoDerivative
from mooncake_py.transform import contract, helpers
from mooncake_py.transform.adinfo import ADInfo
from mooncake_py.transform.contract_checks import ContractChecks
from mooncake_py.transform.lanes import (
    ANY,
    ARR,
    NONE,
    NULL,
    REF,
    Path,
    Tree,
    has_fdata,
    leaves,
    may_be_whole,
    part_of,
)
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.values import AV, VAt, VTuple

if TYPE_CHECKING:
    from mooncake_py.diagnostics.quick import QuickSite

Parts = Operand | tuple["Parts", ...]
"""One operand for each part of a result, nested as its lanes are."""


def with_cotangent(
    info: ADInfo,
    p: PullbackBuilder,
    out: Var,
    tree: Tree,
    body: Callable[[Operand], None],
    always: bool,
    given: bool,
    whole: Parts | None = None,
) -> None:
    """Take the result's cotangent and run the fragment with it, if any of it is there (or anyway, if it must run).

    `whole`: the parts of the result, where zeros are to stand for those that nobody used.
    """
    if tree == NONE:
        if always:
            body(_packed(p, NULL, whole))
        return
    parts = take_parts(info, p, out, tree, (), given)
    if always or (given and has_fdata(tree)):  # a rule that gives fdata decides itself what there is to do
        _note_absent(p, parts)
        body(_packed(p, parts, whole))
    else:
        p.if_nonnull(_some(p, parts), lambda: body(_packed(p, parts, whole)))


def _note_absent(p: PullbackBuilder, parts: Parts) -> None:
    """Cotangents that may be None: their types are those of the values they belong to, and would deny it."""
    if isinstance(parts, tuple):
        for part in parts:
            _note_absent(p, part)
    elif isinstance(parts, Var) and parts not in p.nonnull:
        p.types[parts] = join(p.types.get(parts, TOP), Known(None))


def parts_of_result(info: ADInfo, y: Operand, t: T, tree: Tree) -> Parts:
    """The parts of a rule's result, as operands of the forward code; None for those that have no derivative."""
    if not isinstance(tree, tuple):
        return y
    parts: list[Parts] = []
    for i, sub in enumerate(tree):
        item: Operand = NULL
        t_item = part_of(t, (i,)) or TOP
        if sub != NONE:
            item = info.emit(operator.getitem, y, Const(i))
            info.types[item] = t_item
        parts.append(parts_of_result(info, item, t_item, sub))
    return tuple(parts)


def _some(p: PullbackBuilder, parts: Parts) -> Operand:
    """A cotangent that is there if any of them is."""
    if not isinstance(parts, tuple):
        return NULL if p.is_zero(parts) else parts
    some: Operand = NULL
    for part in parts:
        one = _some(p, part)
        if one is NULL or some in p.nonnull:
            continue
        some = one if some is NULL or one in p.nonnull else p.call(helpers.either, some, one)
    return some


def _packed(p: PullbackBuilder, parts: Parts, whole: Parts | None) -> Operand:
    """Cotangents as one value; with zeros for what nobody used, if `whole` has what they belong to."""
    if isinstance(parts, tuple):
        of = whole if isinstance(whole, tuple) else (whole,) * len(parts)
        items = [_packed(p, part, w) for part, w in zip(parts, of, strict=True)]
        if whole is None and all(p.is_zero(x) for x in items):
            return NULL
        v = p.call(ops.build_tuple, *items)
        p.nonnull.add(v)
        return v
    t = p.types.get(whole, TOP) if isinstance(whole, Var) else TOP
    if not isinstance(whole, Var) or is_scalar(t) or (isinstance(t, Arr) and parts in p.nonnull):
        return parts
    v = p.call(helpers.dense_zeros if isinstance(t, Arr) else helpers.filled, parts, p.forward_value(whole))
    p.types[v] = t
    p.nonnull.add(v)
    return v


def take_tree(info: ADInfo, p: PullbackBuilder, out: Var, tree: Tree, given: bool | Operand = False) -> Operand:
    """The cotangent of a result as one value."""
    return _packed(p, take_parts(info, p, out, tree, (), given), None)


def take_parts(
    info: ADInfo, p: PullbackBuilder, out: Var, tree: Tree, path: Path, given: bool | Operand = False
) -> Parts:
    """The cotangents of a result: of a tuple those of its parts.

    `given`: did the rule give the fdata? What is in there is then the rule's own business. An operand where that is
    known when it runs.
    """
    if isinstance(tree, tuple):
        return tuple([take_parts(info, p, out, sub, (*path, i), given) for i, sub in enumerate(tree)])
    if tree == NONE:
        return NULL
    if tree not in (REF, ANY):
        return p.take(out, path)
    own = p.take(out, path) if tree == ANY else NULL
    if given is True:
        return own
    fdata = p.forward_value(info.lane[(out, path)])
    if isinstance(given, (Var, Const)):
        dy = p.call(helpers.take_own, p.forward_value(given), own, fdata)
        p.types[dy] = Top()
    elif tree == ANY or may_be_whole(part_of(info.types.get(out), path)):
        dy = p.call(helpers.take_any, own, fdata)
    else:
        dy = p.call(helpers.shadow_take, fdata)
        if not path:
            p.types[dy] = info.types.get(out, TOP)
    return dy


def take_dynamic(info: ADInfo, p: PullbackBuilder, out: Var, tree: Tree, path: Path = ()) -> Operand:
    """The rdata of a result: its fdata went to the call site's own pullback already."""
    if isinstance(tree, tuple):
        items = [take_dynamic(info, p, out, sub, (*path, i)) for i, sub in enumerate(tree)]
        return NULL if all(p.is_zero(x) for x in items) else p.call(ops.build_tuple, *items)
    return NULL if tree in (NONE, REF) else p.take(out, path)


def distribute(
    p: PullbackBuilder,
    result: AV,
    operands: list[Operand | None],
    deferred: tuple[int, ...] = (),
    check: ContractChecks | None = None,
) -> None:
    """Add the cotangents a pullback returned to the arguments they belong to; `deferred` ones may be an `At`."""
    if check is not None:
        check.count(result)
    if isinstance(result, VTuple):
        for i, (v, t) in enumerate(zip(operands, result.items, strict=False)):
            if v is not None:
                if check is not None:
                    t = check.fit(p, i, t)
                _mark(p, t)
                p.accumulate(v, _placed(p, v, t))
    elif isinstance(result, Const) and result.value is None:
        return
    elif isinstance(result, Var) and not isinstance(p.specialiser.type_of(result), (Arr, Inst, Real)):
        if check is not None:
            result = unknown(
                p, p.call(contract.count, result, Const(check.active), Const(check.able), Const(check.call))
            )
        for i, v in enumerate(operands):
            if v is not None and p.lanes.tree(v) != NONE:
                part: Operand = p.call(helpers.cotangent, result, Const(i))
                if check is not None:
                    part = check.fit(p, i, part)
                if i in deferred and p.lanes.tree(v) == ARR:
                    p.accumulate_deferred(v, part)
                else:
                    p.accumulate(v, part)
    elif operands and operands[0] is not None:
        if check is not None:
            if rest := [i for i in check.active if i > 0]:
                contract.bare(rest[0], check.call)
            result = check.fit(p, 0, result)
        _mark(p, result)
        p.accumulate(operands[0], _placed(p, operands[0], result))


def _placed(p: PullbackBuilder, v: Operand, t: AV) -> AV:
    """A cotangent that a rule says is not known, with the line of the call where anybody asks for it."""
    if isinstance(t, Const) and type(t.value) is NoDerivative and p.lanes.tree(v) != NONE:
        return p.call(helpers.not_known, t)
    return t


def _mark(p: PullbackBuilder, t: AV) -> None:
    """What a pullback computes for an argument is there: only a literal None says zero."""
    if isinstance(t, Var) and t not in p.specialiser.maybe_none:
        p.nonnull.add(t)


def check_numbers(
    p: PullbackBuilder, quick: QuickSite, dy: Operand, result: AV, operands: list[Operand | None]
) -> None:
    """Debug mode: what the pullback of a rule of numbers returned."""
    items = result.items if isinstance(result, VTuple) else (result,)
    items = tuple(x.value if isinstance(x, VAt) else x for x in items)
    if len(items) != len(operands) or not all(isinstance(x, (Var, Const)) for x in items):
        p.call(quick.miscounted, p.specialiser.materialise(result))
        return
    if isinstance(result, Var) and not isinstance(p.specialiser.type_of(result), (Inst, Real)):
        p.call(quick.miscounted, result)
        return
    wanted = [v is not None and p.lanes.tree(v) != NONE for v in operands]
    p.call(quick.pulled, dy, *(p.specialiser.materialise(x) if w else NULL for x, w in zip(items, wanted, strict=True)))


def unknown(p: PullbackBuilder, v: Var) -> Var:
    p.types[v] = Top()
    return v


def run_pullback(
    p: PullbackBuilder, pb: Var, dy: Operand, operands: Sequence[Operand], late: Set[int] = frozenset()
) -> None:
    """Run the pullback that a call site gave, if any, and add what it returns to callee and arguments.

    `late`: operands whose cotangent may be deferred.
    """
    result = p.call(helpers.run_pullback, p.forward_value(pb), dy)
    p.types[result] = Top()
    active = [(i, v) for i, v in enumerate(operands) if any(k != REF for _, k in leaves(p.lanes.tree(v)))]
    if not active:
        return

    def spread() -> None:
        for i, v in active:
            t = p.call(operator.getitem, result, Const(i))
            if i in late and p.lanes.tree(v) == ARR:
                p.accumulate_deferred(v, t)
            else:
                p.accumulate(v, _placed(p, v, t))

    p.if_nonnull(result, spread)
