"""`make_ad_stmts`: one primal statement into its forward and reverse fragments.

The forward fragment is emitted into the forward builder at once. The reverse fragment is a function that emits
into the pullback builder; it runs when the pullback is assembled, last statement first.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.errors import DroppedDerivative, UnsupportedError
from mooncake_py.infer.interpret import CallInfo, Inferred
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import Arr, Cell, Dct, Inst, Known, Lst, Real, T, Top
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Fresh, Operand, Var
from mooncake_py.registry import Rule
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform import contract, helpers, templates
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.contract_checks import ContractChecks
from mooncake_py.transform.lanes import (
    ANY,
    ARR,
    NONE,
    NULL,
    NUM,
    REF,
    Lanes,
    Path,
    Tree,
    fdata_type,
    has_fdata,
    leaves,
    subtree,
)
from mooncake_py.transform.protect import at_site
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.specialise import AV, NotSpecialised, Specialiser, VAt, VClosure, VCoDual, VTuple
from mooncake_py.transform.templates import Applied
from mooncake_py.unwinding import take_partial

if TYPE_CHECKING:
    from mooncake_py.diagnostics.quick import QuickSite
    from mooncake_py.diagnostics.sites import CheckedRule, Checks

# The operations that a call site can run.
_DYNAMIC_OPS = frozenset({ops.call_ex, ops.unpack, ops.unpack_ex, ops.build_list, ops.build_map, ops.list_to_tuple})
_DYNAMIC_OPS |= {ops.make_cell, ops.cell_get, ops.cell_set, ops.list_append, ops.list_extend, ops.map_add}
_DYNAMIC_OPS |= {ops.dict_update, ops.dict_merge, ops.truth, ops.match_class, ops.match_keys, ops.load_special}
_DYNAMIC_OPS |= {ops.build_set, ops.set_add, ops.set_update, ops.load_super, ops.format_value, ops.no_operator}
_CONSTRUCTS = {
    "store_global": "assigning a global variable",
}

Reverse = Callable[[PullbackBuilder], None]


@dataclass(slots=True)
class ADStmtInfo:
    """The plan of one statement: its reverse fragment (None: nothing to do), and what was decided for it.

    What travels from forward to reverse (the statement's comms) is not chosen here: reverse fragments name
    forward values freely and `PullbackBuilder.comms` collects them.
    """

    stmt: Call
    rvs: Reverse | None
    note: str = ""


@dataclass(slots=True)
class ADInfo:
    """The state of one derivation."""

    inferred: Inferred
    canonical: Canonical
    fresh: Fresh
    lanes: Lanes
    forward: Builder
    types: dict[Var, T]
    dynamic_site: Callable[[CallInfo, Call, tuple[bool, ...], bool], Any]
    static_site: Callable[[CallInfo], Any]
    specialise: bool = True
    f: dict[Var, Operand] = field(default_factory=dict)
    lane: dict[tuple[Var, Path], Operand] = field(default_factory=dict)
    removable: set[Var] = field(default_factory=set)
    in_place: bool = False  # is something changed that the pullback undoes?
    dynamic: bool = False  # are there calls that may change more?
    real: bool = False
    sure_memory: Memory | None = None
    checks: Checks | None = None  # debug mode: rules are not taken in, but called through its sites

    def writes(self, call: CallInfo, rule: Rule) -> None:
        """Note a statement that changes something: what is outside is as after a plain call, whenever it is undone."""
        if rule.in_place:
            rest = [v for i, v in enumerate(call.args) if i not in rule.mutates]
            logs = all(i < len(call.args) and self.is_log(call.args[i]) for i in rule.mutates)
            self.in_place |= not logs or any(leaves(self.tree(v)) for v in rest)

    def is_log(self, v: Operand) -> bool:
        """Is this what a global or a variable of an enclosing function holds, and no argument?"""
        if not isinstance(v, Var):
            return False
        fn, memory = self.inferred.fn, self.inferred.memory
        made = next((s for b in fn.blocks for s in b.stmts if s.out is v), None)
        if made is None or memory.find(v) in {memory.find(p) for p in fn.params if memory.identity(p)}:
            return False
        return is_const(made.fn, ops.load_global) or (is_const(made.fn, ops.cell_get) and made.args[0] in fn.free)

    def is_written(self, v: Var) -> bool:
        """Does a statement in sight write to this object, by this name or another?"""
        memory = self._memory()
        return memory.find(v) in {memory.find(w) for w in memory.written}

    def is_written_array(self, v: Operand) -> bool:
        """The same for an array, which may be in a list that grows."""
        memory = self._memory()
        kept = (Lst, Dct, Cell)
        return not isinstance(v, Var) or memory.find(v) in {
            memory.find(w) for w in memory.written if not isinstance(self.inferred.types.get(w), kept)
        }

    def _memory(self) -> Memory:
        if self.sure_memory is None:
            inferred = self.inferred
            self.sure_memory = Memory(inferred.fn, inferred.types, inferred.calls, False, surely=True)
        return self.sure_memory

    def operand(self, v: Operand) -> Operand:
        """A primal operand in the forward code; functions and modules that are known are constants there."""
        if not isinstance(v, Var):
            return v
        t = self.types.get(v)
        if isinstance(t, Known) and v in self.removable:
            return Const(t.value)
        return self.f.get(v, v)

    def tree(self, v: Operand) -> Tree:
        return self.lanes.tree(v)

    def lane_of(self, v: Operand, path: Path = ()) -> Operand:
        """The fdata of (part of) a value as one operand: nested tuples of lanes, None where there is none."""
        tree = subtree(self.tree(v), path)
        if isinstance(tree, tuple):
            assert isinstance(v, Var)
            items = [self.lane_of(v, (*path, i)) for i in range(len(tree))]
            if all(x is NULL for x in items):
                return NULL
            return self.emit(ops.build_tuple, *items)
        if tree in (REF, ANY):
            assert isinstance(v, Var)
            return self.lane[(v, path)]
        return NULL

    def emit(self, fn: Any, *args: Operand) -> Var:
        """A statement of the engine's own in the forward code: it goes where nobody uses it."""
        out = self.forward.call(fn, *args)
        self.removable.add(out)
        self.types[out] = Top()
        return out

    def set_lanes(self, v: Var, source: Operand, tree: Tree, path: Path = ()) -> None:
        """Read the lanes of v from an operand that holds its fdata."""
        if isinstance(tree, tuple):
            for i, sub in enumerate(tree):
                if has_fdata(sub):
                    self.set_lanes(v, self.emit(helpers.item_fdata, source, Const(i)), sub, (*path, i))
        elif tree in (REF, ANY):
            self.lane[(v, path)] = source
            if tree == REF and isinstance(source, Var):
                self.types[source] = fdata_type(self.types.get(v), path)

    def fresh_lanes(self, v: Var, zeros: Any = zero_fdata) -> None:
        """fdata for a value that was just made and carries no derivative from anywhere."""
        tree = self.tree(v)
        if has_fdata(tree):
            t = self.types.get(v)
            y = self.operand(v)
            if tree == REF and isinstance(t, Arr):
                f = self.emit(helpers.shadow_of, y)
            else:
                f = self.emit(zeros, y)
            self.set_lanes(v, f, tree)


def make_ad_stmts(info: ADInfo, s: Call) -> ADStmtInfo:
    """Forward: emitted into `info.forward`. Reverse: in the result."""
    call = info.inferred.calls.get(s.out)
    info.forward.pos = s.pos
    if call is None:  # never reached with values: an operand is never bound
        return _plain(info, s)
    if call.kind == "op":
        return _structural(info, s, call)
    if call.kind == "rule":
        assert call.rule is not None
        return _rule(info, s, call, call.rule)
    if call.kind == "derived":
        return _derived(info, s, call)
    if call.kind == "dynamic":
        return _dynamic(info, s, call)
    if call.kind == "unwound":
        return _unwound(info, s, call)
    return _plain(info, s)


def _plain(info: ADInfo, s: Call) -> ADStmtInfo:
    """Forward: the statement itself. Reverse: nothing; what it made may become active later by being written to."""
    callee, args = info.operand(s.fn), tuple(map(info.operand, s.args))
    call = info.inferred.calls.get(s.out)
    if info.checks is not None and call is not None and (site := info.checks.plain_site(s, call)) is not None:
        callee, args = Const(site), (callee, *args)
    info.forward.append(Call(s.out, callee, args, _kw(info, s), s.pos))
    f = s.fn.value if isinstance(s.fn, Const) else None
    outside = f is ops.load_global and info.tree(s.out) != NONE and info.is_written(s.out)
    if outside and (not info.inferred.wary or isinstance(info.types.get(s.out), Arr)):
        raise UnsupportedError(
            f"writing a value with a derivative into the global {s.args[0].value!r}",  # type: ignore[union-attr]
            info.canonical.fn.filename,
            s.pos.line,
            "pass the object as an argument, or return what you would store",
        )
    if f in (ops.load_global, getattr, slice) and isinstance(info.types.get(s.out), Known):
        info.removable.add(s.out)
    info.fresh_lanes(s.out)
    return ADStmtInfo(s, None)


def _structural(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """Tuples and functions: forward, the statement; lanes and cotangents go between the whole and its parts."""
    out, f = s.out, call.target
    info.forward.append(Call(out, s.fn, tuple(map(info.operand, s.args)), (), s.pos))
    if f in (getattr, ops.make_function, ops.build_tuple, ops.unpack):
        info.removable.add(out)
    tree = info.tree(out)
    if tree == NONE:
        return ADStmtInfo(s, None)
    if f is ops.build_tuple:
        parts: list[tuple[Path, Operand, Path]] = [((i,), a, ()) for i, a in enumerate(call.args)]
    elif f is operator.getitem:
        i = call.args[1].value  # type: ignore[union-attr]
        n = len(info.tree(call.args[0]))
        parts = [((), call.args[0], (i % n,))]
    elif f in (ops.unpack, ops.check_bound):
        parts = [((), call.args[0], ())]
    elif f is getattr:
        receiver = call.args[0]
        info.lane[(out, ())] = info.lane_of(receiver)
        return ADStmtInfo(s, None)
    else:
        return _function(info, s)
    for mine, source, theirs in parts:
        for path, kind in leaves(subtree(tree, mine), mine):
            if kind in (REF, ANY):
                info.lane[(out, path)] = coerce_lane(info, source, (*theirs, *path[len(mine) :]))

    def rvs(p: PullbackBuilder) -> None:
        for mine, source, theirs in parts:
            for path, kind in leaves(subtree(tree, mine), mine):
                if kind != REF:
                    t = p.take(out, path)
                    if not p.is_zero(t):
                        p.accumulate(source, t, (*theirs, *path[len(mine) :]))

    return ADStmtInfo(s, rvs if any(k != REF for _, k in leaves(tree)) else None)


def _function(info: ADInfo, s: Call) -> ADStmtInfo:
    """A function that is made. Forward: its fdata, from its cells' and defaults'. Reverse: the defaults' cotangents."""
    _, defaults, kwdefaults, _, closure = s.args
    shadow = info.emit(
        helpers.function_shadow,
        info.operand(defaults),
        info.lane_of(defaults),
        info.lane_of(kwdefaults),
        info.operand(closure),
        info.lane_of(closure),
    )
    info.lane[(s.out, ())] = shadow

    def rvs(p: PullbackBuilder) -> None:
        p.accumulate(defaults, p.call(helpers.take_defaults, p.forward_value(shadow)))

    return ADStmtInfo(s, rvs if info.tree(defaults) != NONE else None)


def coerce_lane(info: ADInfo, v: Operand, path: Path) -> Operand:
    """The fdata of part of a value where something of the value's shared memory class is expected."""
    kind = subtree(info.tree(v), path)
    if kind in (REF, ANY) or isinstance(kind, tuple):
        return info.lane_of(v, path)
    value = info.operand(v)
    if isinstance(value, Const) and value.value is ops.UNBOUND:
        return NULL
    for i in path:
        value = info.emit(operator.getitem, value, Const(i))
    return NULL if isinstance(value, Const) else info.emit(zero_fdata, value)


def _rule(info: ADInfo, s: Call, call: CallInfo, rule: Rule) -> ADStmtInfo:
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
    if rule.alias and tree in (REF, ANY) and info.tree(call.args[rule.alias[0]]) == REF:
        return _view(info, s, call, rule)
    info.writes(call, rule)
    operands, values = _rule_arguments(info, call, rule)
    check = ContractChecks(info, s, call, rule, operands) if rule.user else None
    if not info.specialise:
        return _opaque_rule(info, s, call, rule, operands, "switched off", check)
    sp = Specialiser(info.forward, info.types, info.real)
    mark = info.forward.block, len(info.forward.block.stmts)
    applied: Applied | None = None
    try:
        found = templates.apply(rule, *values, info.forward, info.types, info.real)
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
    for st in mark[0].stmts[mark[1] :]:
        info.removable.add(st.out)
    fdata: AV = NULL
    given = isinstance(y, VCoDual)
    if isinstance(y, VCoDual):
        fdata = y.fdata
        y = y.primal
    value = sp.materialise(y)
    if isinstance(value, Var):
        info.removable.discard(value)
        if value.name is None:
            value.name = s.out.name
    info.f[s.out] = value
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
                    _distribute(p, result, operands, rule.deferred, check)
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
                _check_numbers(p, quick, dy, result, operands)
            _distribute(p, result, operands, rule.deferred, check)

        _with_cotangent(info, p, s.out, tree, body, always=bool(rule.mutates), given=given)

    return ADStmtInfo(s, rvs)


def _check_write(info: ADInfo, s: Call, t: Arr) -> None:
    """Refuse to write a value with a derivative into an array that cuts its fraction off."""
    if t.dtype is not None and t.dtype.kind in "iub":
        raise DroppedDerivative(
            f"writing a value with a derivative into an array of {t.dtype}, which cuts it to a whole number,",
            info.canonical.fn.filename,
            s.pos.line,
            "make the array one of floats, or write int(...) of the value to say that its derivative may go",
        )


def _check_numbers(
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


def _rule_arguments(
    info: ADInfo, call: CallInfo, rule: Rule
) -> tuple[list[Operand | None], tuple[list[AV], dict[str, AV]]]:
    """For every parameter of the rule the primal operand whose cotangent it returns, and what the rule is given."""

    def value(v: Operand, i: int) -> AV:
        x = info.operand(v)
        return VCoDual(x, info.lane_of(v)) if rule.sees_fdata(i) else x

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
        info.fresh_lanes(s.out, helpers.fdata_of_result)


def _with_cotangent(
    info: ADInfo,
    p: PullbackBuilder,
    out: Var,
    tree: Tree,
    body: Callable[[Operand], None],
    always: bool,
    given: bool,
) -> None:
    """Take the result's cotangent and run the fragment with it, if it is there (or anyway, if it must run)."""
    if tree == NONE:
        dy: Operand = NULL
        if not always:
            return
    elif isinstance(tree, tuple):
        dy = _take_tree(info, p, out, tree, ())
    elif tree in (NUM, ARR):
        dy = p.take(out)
    elif given:
        dy = p.take(out) if tree == ANY else NULL
        always = True  # a rule that gives fdata decides itself what there is to do
    elif tree == REF:
        dy = p.call(helpers.shadow_take, p.forward_value(info.lane[(out, ())]))
        p.types[dy] = info.types.get(out, Top())
    else:
        dy = p.call(helpers.take_any, p.take(out), p.forward_value(info.lane[(out, ())]))
    if always:
        body(dy)
    else:
        p.if_nonnull(dy, lambda: body(dy))


def _take_tree(info: ADInfo, p: PullbackBuilder, out: Var, tree: Tree, path: Path) -> Operand:
    """The cotangent of a tuple as one value."""
    if isinstance(tree, tuple):
        items = [_take_tree(info, p, out, sub, (*path, i)) for i, sub in enumerate(tree)]
        if all(p.is_zero(x) for x in items):
            return NULL
        v = p.call(ops.build_tuple, *items)
        p.nonnull.add(v)
        return v
    if tree == NONE:
        return NULL
    if tree == REF:
        return p.call(helpers.shadow_take, p.forward_value(info.lane[(out, path)]))
    if tree == ANY:
        return p.call(helpers.take_any, p.take(out, path), p.forward_value(info.lane[(out, path)]))
    return p.take(out, path)


def _distribute(
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
                p.accumulate(v, t)
    elif isinstance(result, Const) and result.value is None:
        return
    elif isinstance(result, Var) and not isinstance(p.specialiser.type_of(result), (Arr, Inst, Real)):
        if check is not None:
            result = _unknown(
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
        p.accumulate(operands[0], result)


def _mark(p: PullbackBuilder, t: AV) -> None:
    """What a pullback computes for an argument is there: only a literal None says zero."""
    if isinstance(t, Var) and t not in p.specialiser.maybe_none:
        p.nonnull.add(t)


def _view(info: ADInfo, s: Call, call: CallInfo, rule: Rule) -> ADStmtInfo:
    """A view of shared memory. Forward: the call, and the same view of the fdata. Reverse: only if it was a copy."""
    plain = Call(s.out, info.operand(s.fn), tuple(map(info.operand, s.args)), _kw(info, s), s.pos)
    info.forward.append(plain)
    base = call.args[rule.alias[0]]
    lane = info.lane_of(base)
    x = info.operand(base)
    rest = [info.operand(a) for a in call.args[1:]]
    target = call.target
    if isinstance(target, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
        target, rest = getattr, [s.args[1]]
    f: Operand = Const(target)
    if call.kwargs:
        f = info.emit(helpers.with_keywords, f, *(x for k, v in call.kwargs for x in (Const(k), info.operand(v))))
    repeating = rule.target is np.broadcast_to and not info.is_written_array(base)
    make = helpers.stored_view_shadow if repeating else helpers.view_shadow
    shadow = info.emit(make, x, lane, s.out, f, *rest)
    info.lane[(s.out, ())] = shadow
    info.types[shadow] = fdata_type(info.types.get(s.out), ())
    basic = call.target is operator.getitem and helpers.index_kind(call.types[1], -1) == "basic"
    if basic and info.tree(s.out) == REF:
        return ADStmtInfo(s, None)
    copied = _copied(info, s, call, rule)

    def rvs(p: PullbackBuilder) -> None:
        number = p.take(s.out) if info.tree(s.out) == ANY else NULL
        dy = p.call(helpers.copy_take, p.forward_value(shadow), number)
        p.types[dy] = info.types.get(s.out, Top())
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
        _distribute(p, result, operands)

    return run


def _kw(info: ADInfo, s: Call) -> tuple[tuple[str, Operand], ...]:
    return tuple((k, info.operand(v)) for k, v in s.kwargs)


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
        return info.emit(helpers.CoDual, x, info.lane_of(v)) if rule.sees_fdata(i) else x

    args = [passed(v, i) for i, v in enumerate(call.args)]
    places = rule.positions(len(args), [k for k, _ in call.kwargs])
    kwargs = tuple((k, passed(v, places[k])) for k, v in call.kwargs)
    pair = info.forward.call(Const(rule.fn), *args, kwargs=kwargs)
    if check is not None:
        pair = info.forward.call(contract.pair, pair, Const(check.call))
    raw = info.forward.call(operator.getitem, pair, Const(0))
    pb = info.forward.call(operator.getitem, pair, Const(1))
    y = info.forward.call(helpers.primal_of, raw)
    info.types[y] = result_type(call.target, call.types, ())
    info.types[pb] = Top()
    info.f[s.out] = y
    given = info.emit(helpers.is_codual, raw)
    if has_fdata(tree):
        info.set_lanes(s.out, info.emit(helpers.fdata_of, raw), tree)

    def rvs(p: PullbackBuilder) -> None:
        def body(dy: Operand) -> None:
            _distribute(p, _unknown(p, p.call(p.forward_value(pb), dy)), operands, rule.deferred, check)

        if rule.codual and tree in (REF, ANY):  # whether the rule gave the fdata is known when it has run
            acc = p.take(s.out) if tree == ANY else NULL
            dy = p.call(helpers.take_own, p.forward_value(given), acc, p.forward_value(info.lane[(s.out, ())]))
            p.types[dy] = Top()
            body(dy)
        else:
            _with_cotangent(info, p, s.out, tree, body, always=bool(rule.mutates), given=False)

    return ADStmtInfo(s, rvs, f"the rule of {call.target!r} is called, not inlined: {why}")


def _unknown(p: PullbackBuilder, v: Var) -> Var:
    p.types[v] = Top()
    return v


def _dynamic(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A call decided when it runs. Forward: the call site finds the rule. Reverse: the pullback it gave, if any."""
    if getattr(call.target, "__module__", None) == ops.__name__ and call.target not in _DYNAMIC_OPS:
        name = call.target.__name__
        construct = _CONSTRUCTS.get(name, name.replace("_", " "))
        raise UnsupportedError(
            f"{construct} with a value that has a derivative", info.canonical.fn.filename, s.pos.line
        )
    info.dynamic = True
    callee, args = at_site(s, call, info.types)
    live = tuple(info.tree(v) != NONE for v in args)
    site = Const(info.dynamic_site(call, s, live, s.out in info.canonical.unwinding))
    rvs = _through(info, s, [info.operand(callee), info.lane_of(callee)], site, callee, args, s.kwargs)
    return ADStmtInfo(s, rvs, call.why)


def _watched_rule(info: ADInfo, s: Call, call: CallInfo, rule: Rule, site: CheckedRule) -> ADStmtInfo:
    """Debug mode. Forward: a site calls the rule and checks it. Reverse: its pullback, checked."""
    info.writes(call, rule)
    always = bool(rule.mutates) or has_fdata(info.tree(s.out))
    rvs = _through(info, s, [], Const(site), NULL, call.args, call.kwargs, rule.deferred, always)
    return ADStmtInfo(s, rvs)


def _through(
    info: ADInfo,
    s: Call,
    callee: list[Operand],
    site: Const,
    fn: Operand,
    args: tuple[Operand, ...],
    kwargs: tuple[tuple[str, Operand], ...],
    deferred: tuple[int, ...] = (),
    always: bool = True,
) -> Reverse:
    """A call through a site that gives `(value, fdata, pullback)`: emitted here, its reverse fragment in the result."""
    tree = info.tree(s.out)
    extra: list[Operand] = []
    if kwargs:
        extra = [
            Const(tuple(k for k, _ in kwargs)),
            info.emit(ops.build_tuple, *(info.operand(v) for _, v in kwargs)),
            _tuple_of(info, [info.lane_of(v) for _, v in kwargs]),
        ]
    values = info.emit(ops.build_tuple, *map(info.operand, args))
    fdatas = _tuple_of(info, [info.lane_of(v) for v in args])
    triple = info.forward.call(site, *callee, values, fdatas, *extra)
    y = info.forward.call(operator.getitem, triple, Const(0), name=s.out.name)
    fdata = info.emit(operator.getitem, triple, Const(1))
    pb = info.emit(operator.getitem, triple, Const(2))
    for v in (triple, y, fdata, pb):
        info.types[v] = Top()
    info.types[y] = info.types.get(s.out, Top())
    info.f[s.out] = y
    info.set_lanes(s.out, fdata, tree)
    operands = [fn, *args, *(v for _, v in kwargs)]
    late = {i + 1 for i in deferred}

    def rvs(p: PullbackBuilder) -> None:
        dy = _take_dynamic(info, p, s.out, tree)
        if always:
            _run_pullback(p, pb, dy, operands, late)
        else:
            p.if_nonnull(dy, lambda: _run_pullback(p, pb, dy, operands, late))

    return rvs


def _run_pullback(
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
                p.accumulate(v, t)

    p.if_nonnull(result, spread)


def _unwound(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A call that raised. Forward: take what it left with the exception. Reverse: what it did until then."""
    pb = info.forward.call(take_partial, info.operand(s.args[0]))
    info.types[pb] = Top()
    return ADStmtInfo(s, lambda p: _run_pullback(p, pb, NULL, call.args))


def _derived(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A Python function of numbers. Forward: its rule's forward function. Reverse: its pullback."""
    site = Const(info.static_site(call))
    forward = info.forward.call(getattr, site, Const("forward"))
    triple = info.forward.call(forward, *map(info.operand, call.args))
    y = info.forward.call(operator.getitem, triple, Const(0), name=s.out.name)
    captures = info.emit(operator.getitem, triple, Const(2))
    info.types[y] = info.types.get(s.out, Top())
    info.f[s.out] = y
    tree = info.tree(s.out)

    def rvs(p: PullbackBuilder) -> None:
        dy = _take_tree(info, p, s.out, tree, ())
        active = [(i, v) for i, v in enumerate(call.args) if p.lanes.tree(v) != NONE]

        def body() -> None:
            pullback = p.call(getattr, site, Const("pullback"))
            ds = p.call(pullback, p.forward_value(captures), dy)
            for i, v in active:
                d = p.call(operator.getitem, ds, Const(i))
                p.nonnull.add(d)
                p.accumulate(v, d)

        p.if_nonnull(dy, body)

    return ADStmtInfo(s, rvs if tree != NONE else None)


def _take_dynamic(info: ADInfo, p: PullbackBuilder, out: Var, tree: Tree, path: Path = ()) -> Operand:
    """The rdata of a result: its fdata went to the call site's own pullback already."""
    if isinstance(tree, tuple):
        items = [_take_dynamic(info, p, out, sub, (*path, i)) for i, sub in enumerate(tree)]
        return NULL if all(p.is_zero(x) for x in items) else p.call(ops.build_tuple, *items)
    return NULL if tree in (NONE, REF) else p.take(out, path)


def _tuple_of(info: ADInfo, items: list[Operand]) -> Operand:
    if all(x is NULL for x in items):
        return Const((None,) * len(items))
    return info.emit(ops.build_tuple, *items)
