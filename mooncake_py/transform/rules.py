"""A statement that has a rule: the rule's body in the forward code, that of its pullback in the reverse code.

Where the body cannot be taken in, the rule is called, and the closure it returns travels to the pullback.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from mooncake_py.errors import DroppedDerivative
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.types import TOP, Arr, Top
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.rule import Rule
from mooncake_py.transform import contract, helpers, templates
from mooncake_py.transform.adinfo import ADInfo, ADStmtInfo
from mooncake_py.transform.calls import through
from mooncake_py.transform.contract_checks import ContractChecks
from mooncake_py.transform.lanes import (
    ANY,
    NULL,
    REF,
    Tree,
    fdata_type,
    has_fdata,
)
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.specialise import Specialiser
from mooncake_py.transform.spread import (
    Parts,
    check_numbers,
    distribute,
    parts_of_result,
    take_tree,
    unknown,
    with_cotangent,
)
from mooncake_py.transform.templates import Applied
from mooncake_py.transform.values import AV, NotSpecialised, VClosure, VCoDual, VTuple

if TYPE_CHECKING:
    from mooncake_py.diagnostics.sites import CheckedRule


def rule_stmt(info: ADInfo, s: Call, call: CallInfo, rule: Rule) -> ADStmtInfo:
    """Forward: the rule's body. Reverse: the body of the pullback it returned."""
    tree = info.tree(s.out)
    if call.target is operator.setitem and isinstance(call.types[0], Arr) and call.types[2].active:
        _check_write(info, s, call.types[0])
    quick = None
    if info.checks is not None:
        site = info.checks.rule_site(s, call, rule, info.types.get(s.out))
        quick = info.checks.quick(site, call) if info.specialise else None
        if quick is None:
            return _watched_rule(info, s, call, rule, info.checks.called(site, tree))
    seen = [i for i in rule.alias if i < len(call.args) and not rule.sees_fdata(i)]  # else the rule gives the fdata
    places = [i for i in seen if info.tree(call.args[i]) in (REF, ANY)]
    if places and tree in (REF, ANY):
        return _view(info, s, call, rule, places)
    info.writes(call, rule)
    operands, values = _rule_arguments(info, call, rule)
    check = ContractChecks(info, s, call, rule, operands) if rule.user else None
    if not info.specialise:
        return _opaque_rule(info, s, call, rule, operands, "switched off", check)
    sp = Specialiser(info.forward, info.types, info.real)
    mark = info.forward.block, len(info.forward.block.stmts)
    applied: Applied | None = None
    try:
        found = templates.apply(rule, *values, info.forward, info.types, info.real, info.templates)
        if found is not None:
            y, pb, applied = found
        else:
            result = sp.call_function(rule.fn, *values)  # type: ignore[arg-type]
            if not isinstance(result, VTuple) or len(result.items) != 2:
                if check is not None:
                    check.pair(result)
                raise NotSpecialised("it does not return a pair on every path")
            y, pb = result.items
        if check is not None:
            check.callable(pb)
    except NotSpecialised as e:
        block, n = mark
        block.term = None
        del block.stmts[n:]
        info.forward.block = block
        if info.checks is not None and quick is not None:
            return _watched_rule(info, s, call, rule, info.checks.called(quick.site, tree))
        return _opaque_rule(info, s, call, rule, operands, str(e), check)
    made = {st.out for st in mark[0].stmts[mark[1] :]}
    info.removable |= made
    fdata: AV = NULL
    given = isinstance(y, VCoDual)
    if isinstance(y, VCoDual):
        fdata = y.fdata
        y = y.primal
    value = sp.materialise(y)
    if isinstance(value, Var):
        if value in made:  # else it is what the rule was given
            info.removable.discard(value)
        if value.name is None:
            value.name = s.out.name
    info.f[s.out] = value
    whole = _whole(info, rule, s.out, tree) if not given else None
    known = info.types.get(s.out)
    if isinstance(value, Var) and known is not None and not isinstance(known, Top):
        info.types[value] = known
    _result_lanes(info, s, tree, given, fdata, sp)
    if quick is not None:
        info.forward.call(quick.value, value, *map(info.operand, call.args))

    def rvs(p: PullbackBuilder) -> None:
        def body(dy: Operand) -> None:
            if applied is not None:
                result = applied.reverse(p, dy)
                if result is not None:
                    distribute(p, result, operands, rule.deferred, check)
                    return
                closure = p.translate(templates.replaced(pb, applied.meaning))
            else:
                closure = p.translate(pb)
            if isinstance(closure, VClosure):
                block, n = p.block, len(p.block.stmts)
                try:
                    result = p.specialiser.call_closure(closure, [dy], {})
                except NotSpecialised:  # what was taken in so far must not run as well
                    block.term = None
                    del block.stmts[n:]
                    p.block = block
                    result = p.call(p.specialiser.materialise(closure), dy)
            else:
                result = p.call(p.specialiser.materialise(closure), dy)
            if quick is not None:
                check_numbers(p, quick, dy, result, operands)
            distribute(p, result, operands, rule.deferred, check)

        with_cotangent(info, p, s.out, tree, body, always=bool(rule.mutates), given=given, whole=whole)

    return ADStmtInfo(s, rvs)


def _whole(info: ADInfo, rule: Rule, out: Var, tree: Tree) -> Parts | None:
    """The parts of its result that a rule is given zeros for where nobody uses them.

    A user's rule need not know of None; those that ship save the work.
    """
    several = isinstance(tree, tuple) or tree in (REF, ANY)
    if not rule.user or not (several or rule.mutates):
        return None
    return parts_of_result(info, info.operand(out), info.types.get(out, TOP), tree)


def _check_write(info: ADInfo, s: Call, t: Arr) -> None:
    """Refuse to write a value with a derivative into an array that cuts its fraction off."""
    if t.dtype is not None and t.dtype.kind in "iub":
        truth = t.dtype.kind == "b"
        raise DroppedDerivative(
            f"writing a value with a derivative into an array of {t.dtype}, which "
            + ("keeps whether it is zero," if truth else "cuts it to a whole number,"),
            info.canonical.fn.filename,
            s.pos.line,
            "make the array one of floats, or write "
            + ("a comparison (x != 0)" if truth else "int(...) of the value to say that its derivative may go"),
        )


def _rule_arguments(
    info: ADInfo, call: CallInfo, rule: Rule
) -> tuple[list[Operand | None], tuple[list[AV], dict[str, AV]]]:
    """For every parameter of the rule the primal operand whose cotangent it returns, and what the rule is given."""

    def value(v: Operand, i: int) -> AV:
        x = info.operand(v)
        return VCoDual(x, info.stored_lane(v)) if rule.sees_fdata(i) else x

    positional = [value(v, i) for i, v in enumerate(call.args)]
    operands: list[Operand | None] = list(call.args)
    keyword: dict[str, AV] = {}
    places = rule.positions(len(call.args), [k for k, _ in call.kwargs])
    for k, v in call.kwargs:
        i = places[k]
        keyword[k] = value(v, i)
        if i >= 0:
            operands.extend([None] * (i + 1 - len(operands)))
            operands[i] = v
    return operands, (positional, keyword)


def _result_lanes(info: ADInfo, s: Call, tree: Tree, given: bool, fdata: AV, sp: Specialiser) -> None:
    if not has_fdata(tree):
        return
    if given:
        info.set_lanes(s.out, sp.materialise(fdata), tree)
    else:
        info.fresh_lanes(s.out, False, helpers.fdata_of_result)


def _view(info: ADInfo, s: Call, call: CallInfo, rule: Rule, places: list[int]) -> ADStmtInfo:
    """A view of shared memory. Forward: the call, and the same view of the fdata. Reverse: only if it was a copy."""
    plain = Call(s.out, info.operand(s.fn), tuple(map(info.operand, s.args)), info.keywords(s), s.pos)
    info.forward.append(plain)
    base = call.args[places[0]]
    x, *rest = [info.operand(a) for a in call.args]
    target = call.target
    if isinstance(target, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
        target, rest = getattr, [s.args[1]]
    f: Operand = Const(target)
    if call.kwargs:
        f = info.emit(helpers.with_keywords, f, *(x for k, v in call.kwargs for x in (Const(k), info.operand(v))))
    if places == [0] and info.tree(base) == REF:
        shadow = info.emit(helpers.view_shadow, x, info.lane_of(base), s.out, f, *rest)
    else:
        lanes = info.tuple_of([info.lane_of(a) if i in places else NULL for i, a in enumerate(call.args)])
        values = info.emit(ops.build_tuple, x, *rest)
        shadow = info.emit(helpers.view_shadow_at, Const(tuple(places)), s.out, f, values, lanes)
    info.lane[(s.out, ())] = shadow
    info.types[shadow] = fdata_type(info.types.get(s.out), ())
    basic = call.target is operator.getitem and helpers.index_kind(call.types[1], -1) == "basic"
    if basic and info.tree(s.out) == REF:
        return ADStmtInfo(s, None)
    copied = _copied(info, s, call, rule)

    def rvs(p: PullbackBuilder) -> None:
        number = p.take(s.out) if info.tree(s.out) == ANY else NULL
        dy = p.call(helpers.copy_take, p.forward_value(shadow), number)
        p.types[dy] = info.types.get(s.out, TOP)
        p.if_nonnull(dy, lambda: copied(p, dy))

    return ADStmtInfo(s, rvs)


def _copied(info: ADInfo, s: Call, call: CallInfo, rule: Rule) -> Callable[[PullbackBuilder, Operand], None]:
    """The pullback of a function that returned a copy where it could have returned a view."""
    operands, (args, kwargs) = _rule_arguments(info, call, rule)
    flat = [info.f.get(a, a) if isinstance(a, Var) else a for a in args]

    def run(p: PullbackBuilder, dy: Operand) -> None:
        values = [p.specialiser.materialise(p.translate(a)) for a in flat]
        kw = tuple((k, p.specialiser.materialise(p.translate(v))) for k, v in kwargs.items())
        result = p.call(helpers.rule_pullback, Const(rule.fn), dy, *values, kwargs=kw)
        distribute(p, result, operands)

    return run


def _opaque_rule(
    info: ADInfo,
    s: Call,
    call: CallInfo,
    rule: Rule,
    operands: list[Operand | None],
    why: str,
    check: ContractChecks | None,
) -> ADStmtInfo:
    """A rule that is called as a function; the closure it returns travels to the pullback."""
    tree = info.tree(s.out)

    def passed(v: Operand, i: int) -> Operand:
        x = info.operand(v)
        return info.emit(helpers.CoDual, x, info.stored_lane(v)) if rule.sees_fdata(i) else x

    args = [passed(v, i) for i, v in enumerate(call.args)]
    places = rule.positions(len(args), [k for k, _ in call.kwargs])
    kwargs = tuple((k, passed(v, places[k])) for k, v in call.kwargs)
    pair = info.forward.call(Const(rule.fn), *args, kwargs=kwargs)
    if check is not None:
        pair = info.forward.call(contract.pair, pair, Const(check.call))
    raw = info.forward.call(operator.getitem, pair, Const(0))
    pb = info.forward.call(operator.getitem, pair, Const(1))
    y = info.forward.call(helpers.primal_of, raw)
    info.types[y] = info.types.get(s.out, TOP)  # of the call as it stands, with its keywords
    info.types[pb] = Top()
    info.f[s.out] = y
    whole = _whole(info, rule, s.out, tree)
    given = info.emit(helpers.is_codual, raw)
    if has_fdata(tree):
        info.set_lanes(s.out, info.emit(helpers.fdata_of, raw), tree)

    def rvs(p: PullbackBuilder) -> None:
        def body(dy: Operand) -> None:
            distribute(p, unknown(p, p.call(p.forward_value(pb), dy)), operands, rule.deferred, check)

        if rule.codual and has_fdata(tree):  # whether the rule gave the fdata is known when it has run
            dy = take_tree(info, p, s.out, tree, given)
            if whole is not None:
                dy = p.call(helpers.filled_own, p.forward_value(given), dy, p.forward_value(y))
            body(dy)
        else:
            with_cotangent(info, p, s.out, tree, body, always=bool(rule.mutates), given=False, whole=whole)

    return ADStmtInfo(s, rvs, f"the rule of {call.target!r} is called, not inlined: {why}")


def _watched_rule(info: ADInfo, s: Call, call: CallInfo, rule: Rule, site: CheckedRule) -> ADStmtInfo:
    """Debug mode. Forward: a site calls the rule and checks it. Reverse: its pullback, checked."""
    info.writes(call, rule)
    always = bool(rule.mutates) or has_fdata(info.tree(s.out))
    lanes = [info.stored_lane(v) if rule.sees_fdata(i) else info.lane_of(v) for i, v in enumerate(call.args)]
    rvs = through(info, s, [], Const(site), NULL, call.args, call.kwargs, rule.deferred, always, lanes)
    return ADStmtInfo(s, rvs)
