"""`make_ad_stmts`: one primal statement into its forward and reverse fragments.

The forward fragment is emitted into the forward builder at once. The reverse fragment is a function that emits
into the pullback builder; it runs when the pullback is assembled, last statement first.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.closures import Captured, Default, Holder, kept_captured, kept_default
from mooncake_py.errors import WritesOutside
from mooncake_py.fields import kept_by, narrow
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.named import replaces
from mooncake_py.infer.types import Arr, Known
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.registry import is_pure
from mooncake_py.run import Wary
from mooncake_py.runtime.stored import shadow_of_kept
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform import helpers
from mooncake_py.transform.adinfo import ADInfo, ADStmtInfo
from mooncake_py.transform.calls import derived_call, dynamic_call, unwound
from mooncake_py.transform.effects import is_number
from mooncake_py.transform.lanes import (
    ANY,
    NONE,
    REF,
    Path,
    Tree,
    has_fdata,
    leaves,
    subtree,
)
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.rules import rule_stmt
from mooncake_py.transform.spread import take_dynamic


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
        return rule_stmt(info, s, call, call.rule)
    if call.kind == "derived":
        return derived_call(info, s, call)
    if call.kind == "dynamic":
        return dynamic_call(info, s, call)
    if call.kind == "unwound":
        return unwound(info, s, call)
    return _plain(info, s)


_OF_NUMBERS: dict[Any, Any] = {
    ops.build_list: helpers.fdata_of_numbers,
    ops.build_map: helpers.fdata_of_numbers_by_key,
}
"""What gives the fdata of a new container of numbers and constants."""


def _plain(info: ADInfo, s: Call) -> ADStmtInfo:
    """Forward: the statement itself. Reverse: nothing; what it made may become active later by being written to."""
    callee, args = info.operand(s.fn), tuple(map(info.operand, s.args))
    call = info.inferred.calls.get(s.out)
    if info.checks is not None and call is not None and (site := info.checks.plain_site(s, call)) is not None:
        callee, args = Const(site), (callee, *args)
    info.forward.append(Call(s.out, callee, args, info.keywords(s), s.pos))
    f = s.fn.value if isinstance(s.fn, Const) else None
    name = None if call is None else call.named
    is_array = isinstance(info.types.get(s.out), Arr)
    wary, is_written = (Wary.ARRAYS, info.is_written_array) if is_array else (Wary.OBJECTS, info.is_written)
    if name is not None and info.inferred.wary < wary and info.tree(s.out) != NONE and is_written(s.out):
        refused = WritesOutside(
            f"writing a value with a derivative into {_spoken(*name)}",
            info.canonical.fn.filename,
            s.pos.line,
            "pass the object as an argument, or return what you would store",
        )
        refused.wary, refused.before_the_run = wary, info.inferred.outermost
        raise refused
    if f in (ops.load_global, getattr, slice) and isinstance(info.types.get(s.out), Known):
        info.removable.add(s.out)
    of_numbers = _OF_NUMBERS.get(f)
    if of_numbers is not None and all(is_number(info.types.get(a)) for a in s.args if isinstance(a, Var)):
        info.fresh_lanes(s.out, False, of_numbers)
        return ADStmtInfo(s, None)
    if info.tree(s.out) != NONE:
        info.fresh_lanes(s.out, not _makes_it(info, s, call), shadow_of_kept if f is kept_by else zero_fdata)
    return ADStmtInfo(s, None)


def _spoken(holder: Holder | None, name: str) -> str:
    if isinstance(holder, Captured):
        return f"the variable {name!r}, which a function captured,"
    return f"the default value of {name!r}" if isinstance(holder, Default) else f"the global {name!r}"


def _makes_it(info: ADInfo, s: Call, call: CallInfo | None) -> bool:
    """Is the result of a plain call surely new, and not perhaps from outside, or of a memory that others know?"""
    f = None if call is None else call.target
    if f is None or f in (ops.load_global, kept_by, kept_default, kept_captured, getattr, operator.getitem):
        return False
    return is_pure(f, len(s.args), [k for k, _ in s.kwargs]) or (is_library(f) and info.inferred.wary < Wary.ARRAYS)


def _structural(info: ADInfo, s: Call, call: CallInfo) -> ADStmtInfo:
    """Tuples and functions: forward, the statement; lanes and cotangents go between the whole and its parts."""
    out, f = s.out, call.target
    if f is narrow:
        return _narrowed(info, s, call.args[0])
    info.forward.append(Call(out, info.operand(s.fn), tuple(map(info.operand, s.args)), info.keywords(s), s.pos))
    if f in (getattr, ops.make_function, ops.build_tuple, ops.unpack) or isinstance(f, type):
        info.removable.add(out)
    tree = info.tree(out)
    if tree == NONE:
        return ADStmtInfo(s, None)
    if f is ops.build_tuple or isinstance(f, type):
        parts: list[tuple[Path, Operand, Path]] = [((i,), a, ()) for i, a in enumerate(call.args)]
    elif f is operator.getitem:
        i = call.args[1].value  # type: ignore[union-attr]
        whole = info.tree(call.args[0])
        parts = [((), call.args[0], (i % len(whole) if isinstance(whole, tuple) else i,))]  # NONE has no parts
    elif replaces(f):
        given = dict(call.kwargs)
        parts = [
            ((i,), given.get(k, call.args[0]), () if k in given else (i,))
            for i, k in enumerate(info.types[out].cls._fields)  # type: ignore[attr-defined]
        ]
    elif f in (ops.unpack, ops.check_bound):
        parts = [((), call.args[0], ())]
    elif f is getattr:
        return _method(info, s, call.args[0], tree)
    else:
        return _function(info, s)
    for mine, source, theirs in parts:
        for path, kind in leaves(subtree(tree, mine), mine):
            if kind in (REF, ANY):
                info.lane[(out, path)] = info.coerced_lane(source, (*theirs, *path[len(mine) :]))

    def rvs(p: PullbackBuilder) -> None:
        for mine, source, theirs in parts:
            for path, kind in leaves(subtree(tree, mine), mine):
                if kind != REF:
                    t = p.take(out, path)
                    if not p.is_zero(t):
                        p.accumulate(source, t, (*theirs, *path[len(mine) :]))

    return ADStmtInfo(s, rvs if any(k != REF for _, k in leaves(tree)) else None)


def _narrowed(info: ADInfo, s: Call, x: Operand) -> ADStmtInfo:
    """A value whose type is now known better: it has lanes of its own. The statement goes once everything is there."""
    out = s.out
    info.forward.append(Call(out, s.fn, (info.operand(x),), (), s.pos))
    info.removable.add(out)
    tree = info.tree(out)
    if tree == NONE:
        return ADStmtInfo(s, None)
    if has_fdata(tree):
        info.set_lanes(out, info.coerced_lane(x, ()), tree)

    def rvs(p: PullbackBuilder) -> None:
        t = take_dynamic(info, p, out, tree)
        if not p.is_zero(t):
            p.accumulate(x, t)

    return ADStmtInfo(s, rvs if any(k != REF for _, k in leaves(tree)) else None)


def _method(info: ADInfo, s: Call, receiver: Operand, tree: Tree) -> ADStmtInfo:
    """A method that is bound to an active value: it carries what that carries."""
    if tree == REF:
        info.lane[(s.out, ())] = info.lane_of(receiver)
        return ADStmtInfo(s, None)
    info.lane[(s.out, ())] = info.coerced_lane(receiver, ())

    def rvs(p: PullbackBuilder) -> None:
        t = p.take(s.out, ())
        if not p.is_zero(t):
            p.accumulate(receiver, t)

    return ADStmtInfo(s, rvs)


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
