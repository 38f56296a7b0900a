"""A statement that calls other code: through a site that decides when it runs, or the rule of a function of numbers."""

from __future__ import annotations

import operator
import types as pytypes

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.types import TOP, Arr, Top
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform import helpers
from mooncake_py.transform.adinfo import ADInfo, ADStmtInfo, Reverse
from mooncake_py.transform.lanes import (
    ANY,
    NONE,
    NULL,
    NUM,
    REF,
    Path,
    Tree,
    has_fdata,
    lanes_given,
    leaves,
    part_of,
    subtree,
)
from mooncake_py.transform.protect import at_site
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.spread import run_pullback, take_dynamic
from mooncake_py.unwinding import take_partial

# The operations that a call site can run.
_DYNAMIC_OPS = frozenset({ops.call_ex, ops.unpack, ops.unpack_ex, ops.build_list, ops.build_map, ops.list_to_tuple})
_DYNAMIC_OPS |= {
    ops.make_cell,
    ops.cell_get,
    ops.cell_set,
    ops.cell_delete,
    ops.list_append,
    ops.list_extend,
    ops.map_add,
}
_DYNAMIC_OPS |= {ops.dict_update, ops.dict_merge, ops.truth, ops.match_class, ops.match_keys, ops.load_special}
_DYNAMIC_OPS |= {ops.build_set, ops.set_add, ops.set_update, ops.load_super, ops.format_value, ops.no_operator}
_CONSTRUCTS = {
    "store_global": "assigning a global variable",
}


def dynamic_call(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A call decided when it runs. Forward: the call site finds the rule. Reverse: the pullback it gave, if any."""
    if getattr(call.target, "__module__", None) == ops.__name__ and call.target not in _DYNAMIC_OPS:
        name = call.target.__name__
        construct = _CONSTRUCTS.get(name, name.replace("_", " "))
        raise UnsupportedError(
            f"{construct} with a value that has a derivative", info.canonical.fn.filename, s.pos.line
        )
    callee_from = info.inferred.calls.get(s.fn) if isinstance(s.fn, Var) else None
    if callee_from is not None and callee_from.target is ops.load_build_class:
        _check_class_keywords(info, s)
    info.dynamic = True
    callee, args = at_site(s, call, info.types)
    live = tuple([info.tree(v) != NONE for v in (*args, *(v for _, v in s.kwargs))])
    site = info.dynamic_site(call, s, live, s.out in info.canonical.unwinding)
    site.written = info.may_be_written(s.out)
    site.made = not any(live) and not isinstance(call.target, pytypes.BuiltinFunctionType)
    rvs = through(info, s, [info.operand(callee), info.lane_of(callee)], Const(site), callee, args, s.kwargs)
    return ADStmtInfo(s, rvs, call.why)


def _check_class_keywords(info: ADInfo, s: Call) -> None:
    """What a class statement is given by keyword goes to code that is not followed."""
    given = [k for k, v in s.kwargs if k != "metaclass" and info.tree(v) != NONE]
    if given:
        raise UnsupportedError(
            f"the keyword {given[0]!r} of a class statement with a value that has a derivative",
            info.canonical.fn.filename,
            s.pos.line,
            "set the attribute after the class statement",
        )


def through(
    info: ADInfo,
    s: Call,
    callee: list[Operand],
    site: Const,
    fn: Operand,
    args: tuple[Operand, ...],
    kwargs: tuple[tuple[str, Operand], ...],
    deferred: tuple[int, ...] = (),
    always: bool = True,
    lanes: list[Operand] | None = None,
) -> Reverse:
    """A call through a site that gives `(value, fdata, pullback)`: emitted here, its reverse fragment in the result.

    `lanes`: the fdata of the arguments, where it is not that of the operands.
    """
    tree = info.tree(s.out)
    extra: list[Operand] = []
    if kwargs:
        extra = [
            Const(tuple(k for k, _ in kwargs)),
            info.emit(ops.build_tuple, *(info.operand(v) for _, v in kwargs)),
            info.tuple_of([info.lane_of(v) for _, v in kwargs]),
        ]
    values = info.emit(ops.build_tuple, *map(info.operand, args))
    fdatas = info.tuple_of([info.lane_of(v) for v in args] if lanes is None else lanes)
    triple = info.forward.call(site, *callee, values, fdatas, *extra)
    y = info.forward.call(operator.getitem, triple, Const(0), name=s.out.name)
    fdata = info.emit(operator.getitem, triple, Const(1))
    pb = info.emit(operator.getitem, triple, Const(2))
    for v in (triple, y, fdata, pb):
        info.types[v] = Top()
    info.types[y] = info.types.get(s.out, TOP)
    if any(kind == REF and isinstance(part_of(info.types[y], path), Arr) for path, kind in leaves(tree)):
        fdata = info.emit(helpers.with_shadows, fdata, y)
        info.types[fdata] = Top()
    info.f[s.out] = y
    info.set_lanes(s.out, fdata, tree)
    operands = [fn, *args, *(v for _, v in kwargs)]
    late = {i + 1 for i in deferred}

    def rvs(p: PullbackBuilder) -> None:
        dy = take_dynamic(info, p, s.out, tree)
        if always:
            run_pullback(p, pb, dy, operands, late)
        else:
            p.if_nonnull(dy, lambda: run_pullback(p, pb, dy, operands, late))

    return rvs


def unwound(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A call that raised. Forward: take what it left with the exception. Reverse: what it did until then."""
    pb = info.forward.call(take_partial, info.operand(s.args[0]))
    info.types[pb] = Top()
    return ADStmtInfo(s, lambda p: run_pullback(p, pb, NULL, call.args))


def _lane(info: ADInfo, v: Operand, path: Path) -> Operand:
    """The fdata that a callee asks for; nobody else does, where there is none."""
    if subtree(info.tree(v), path) in (REF, ANY):
        return info.lane_of(v, path)
    x = info.operand(v)
    for i in path:
        x = info.forward.call(operator.getitem, x, Const(i))
    return info.forward.call(zero_fdata, x)


def derived_call(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """A Python function of which it is known what it changes: its rule's forward function, in reverse its pullback.

    That gets the cotangents of numbers and gives those of the numbers it was given; to objects it adds them itself.
    """
    callee = call.callee
    assert callee is not None
    info.in_place |= callee.in_place is True
    info.dynamic |= callee.in_place is None
    tree = info.tree(s.out)
    site = Const(info.static_site(call, tree))
    forward = info.forward.call(getattr, site, Const("forward"))
    lanes = [_lane(info, call.args[i], path) for i, path in lanes_given(call.types)]
    triple = info.forward.call(forward, *map(info.operand, call.args), *lanes)
    y = info.forward.call(operator.getitem, triple, Const(0), name=s.out.name)
    captures = info.emit(operator.getitem, triple, Const(2))
    info.types[y] = info.types.get(s.out, TOP)
    info.f[s.out] = y
    if has_fdata(tree):
        info.set_lanes(s.out, info.emit(operator.getitem, triple, Const(1)), tree)
    must_run = bool(callee.changes) or has_fdata(tree)

    def rvs(p: PullbackBuilder) -> None:
        dy = _cotangent(p, s.out, tree, must_run)
        active = [(i, v) for i, v in enumerate(call.args) if any(kind != REF for _, kind in leaves(p.lanes.tree(v)))]

        def body() -> None:
            pullback = p.call(getattr, site, Const("pullback"))
            ds = p.call(pullback, p.forward_value(captures), dy)
            for i, v in active:
                d = p.call(operator.getitem, ds, Const(i))
                if all(kind in (NUM, REF) for _, kind in leaves(p.lanes.tree(v))):
                    p.nonnull.add(d)
                p.accumulate(v, d)

        if must_run:
            body()
        else:
            p.if_nonnull(dy, body)

    return ADStmtInfo(s, rvs if must_run or tree != NONE else None)


def _cotangent(p: PullbackBuilder, out: Var, tree: Tree, whole: bool, path: Path = ()) -> Operand:
    """The cotangents of the numbers in a result: objects have theirs in fdata, where the callee finds them.

    `whole`: in the shape of the result, even if there are none.
    """
    if isinstance(tree, tuple):
        items = [_cotangent(p, out, sub, whole, (*path, i)) for i, sub in enumerate(tree)]
        if all(p.is_zero(x) for x in items) and not whole:
            return NULL
        v = p.call(ops.build_tuple, *items)
        p.nonnull.add(v)
        return v
    return NULL if tree in (NONE, REF) else p.take(out, path)
