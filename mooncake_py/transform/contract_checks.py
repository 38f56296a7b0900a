"""Checks of what users' rules return, put into derived code: the conditions are those of `contract.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.parts import differentiable_dtype, is_differentiable_class, may_be_complex
from mooncake_py.infer.types import (
    TOP,
    Arr,
    Inst,
    Known,
    Lst,
    T,
    Top,
    Tup,
    is_scalar,
    widen,
)
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.rule import Rule
from mooncake_py.structure import is_user_class
from mooncake_py.transform import contract
from mooncake_py.transform.lanes import NONE
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.values import AV, VAt, VTuple

if TYPE_CHECKING:
    from mooncake_py.transform.adinfo import ADInfo


def _has_derivative(t: T) -> bool:
    """Surely a number or array of floats?"""
    if isinstance(t, Inst):
        return is_differentiable_class(t.cls)
    return isinstance(t, Arr) and t.dtype is not None and differentiable_dtype(t.dtype)


class ContractChecks:
    """The checks of what a user's rule returns, in one call of it. Forward: the shapes are kept that are needed."""

    def __init__(self, info: ADInfo, s: Call, call: CallInfo, rule: Rule, operands: list[Operand | None]):
        self.call = contract.RuleCall(rule, len(call.args), (info.canonical.fn.filename, s.pos.line))
        self.forms: dict[int, tuple[Operand, bool]] = {}
        self.active = tuple(i for i, v in enumerate(operands) if v is not None and info.tree(v) != NONE)
        self.able = tuple(i for i, t in enumerate(call.types) if _has_derivative(widen(t)))
        for i in self.active:
            v = operands[i]
            assert v is not None
            t = widen(info.types.get(v, TOP)) if isinstance(v, Var) else widen(Known(v.value))
            if is_scalar(t):
                form: Operand = Const(contract.NUMBER)
            elif isinstance(t, Arr):
                form = info.emit(getattr, info.operand(v), Const("shape"))
            elif isinstance(t, (Top, Tup, Lst)) or (isinstance(t, Inst) and is_user_class(t.cls)):
                form = info.emit(contract.form_of, info.operand(v))
            else:
                continue
            self.forms[i] = form, not isinstance(t, Top) and not may_be_complex(t)

    def pair(self, result: AV) -> None:
        """Refuse what is no pair of value and pullback, where it is seen when the rule is derived."""
        if isinstance(result, VTuple) and len(result.items) != 2:
            self.call.fail(f"must return a pair (value, pullback), it returned a tuple of {len(result.items)}")
        if isinstance(result, VTuple) and isinstance(pb := result.items[1], Const) and not callable(pb.value):
            self.call.fail(
                f"must return a pair (value, pullback), its second part is {pb.value!r}, which is no function"
            )
        if isinstance(result, Const):
            self.call.fail(f"must return a pair (value, pullback), it returned {result.value!r}")

    def callable(self, pb: AV) -> None:
        """Refuse a constant in the place of the pullback."""
        if isinstance(pb, Const) and not callable(pb.value):
            self.call.fail(f"must return a pair (value, pullback), it returned {pb.value!r} for the pullback")

    def count(self, result: AV) -> None:
        """Refuse a wrong number of cotangents, where it is seen when the rule is derived."""
        if isinstance(result, VTuple):
            contract.count_tuple(len(result.items), self.able, self.call)

    @overload
    def fit(self, p: PullbackBuilder, i: int, t: Operand) -> Operand: ...
    @overload
    def fit(self, p: PullbackBuilder, i: int, t: AV) -> AV: ...
    def fit(self, p: PullbackBuilder, i: int, t: AV) -> AV:
        """The cotangent of argument i, checked when it is there."""
        if i not in self.forms or isinstance(t, VAt) or (isinstance(t, Const) and t.value is None):
            return t
        form, real = self.forms[i]
        value = p.specialiser.materialise(t)
        args = (value, p.forward_value(form), Const(i), Const(real), Const(self.call))
        out = p.call(contract.fit, *args)
        p.types[out] = p.specialiser.type_of(t)
        if isinstance(t, Var) and t in p.specialiser.maybe_none:
            p.specialiser.maybe_none.add(out)
        return out
