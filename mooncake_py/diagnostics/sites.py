"""Call sites of code that is derived in debug mode: every rule is called through one of these."""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Callable
from typing import Any

from mooncake_py.diagnostics.mode import Frame, Mode, current, enter, leave
from mooncake_py.diagnostics.quick import QuickSite, is_quick
from mooncake_py.diagnostics.rules import PlainSite, RuleSite, Watch
from mooncake_py.diagnostics.where import Where, name_of
from mooncake_py.errors import DebugError
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.types import T
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Pos
from mooncake_py.ir.text import statement_text
from mooncake_py.rule import Rule
from mooncake_py.runtime.native import attribute_of
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Result
from mooncake_py.runtime.site import DynamicSite
from mooncake_py.transform.lanes import Tree


class Checks:
    """What the derivation of one function in debug mode needs: its code says where statements are."""

    def __init__(self, code: pytypes.CodeType, mode: Mode):
        self.code, self.mode = code, mode

    def where(self, s: Call) -> Where:
        function = s.pos.calls(self.code.co_qualname)[-1][1]
        return Where(self.code.co_filename, function, s.pos, statement_text(s))

    def dynamic_site(self, info: CallInfo, s: Call, live: tuple[bool, ...], protected: bool) -> DynamicSite:
        return CheckedSite(self.where(s), self.code.co_qualname, info.why, live, protected, self.mode)

    def rule_site(self, s: Call, call: CallInfo, rule: Rule, result: T | None) -> RuleSite:
        f = call.target
        if isinstance(f, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
            f = functools.partial(attribute_of, f.__name__)
        return RuleSite(f, rule, self.where(s), self.mode, call.types, result)

    def quick(self, site: RuleSite, call: CallInfo) -> QuickSite | None:
        """The checks of a rule of numbers, which may be taken in; None for any other."""
        return QuickSite(site) if not call.kwargs and is_quick(site) else None

    def called(self, site: RuleSite, tree: Tree) -> CheckedRule:
        return CheckedRule(site, tree)

    def plain_site(self, s: Call, call: CallInfo) -> PlainSite | None:
        """For a call that is just made; None where there is nothing to check."""
        if call.rule is None or call.rule.fn is not None or call.target is getattr:
            return None
        if getattr(call.target, "__module__", None) == ops.__name__:  # some work only in the frame they belong to
            return None
        return PlainSite(call.target, call.rule, self.where(s), self.mode)

    def comms(self, pos: Pos) -> CommsCheck:
        return CommsCheck(Where(self.code.co_filename, self.code.co_qualname, pos))


class CheckedRule:
    """A call of a rule that was known when its caller was derived."""

    __slots__ = ("site", "tree")

    def __init__(self, site: RuleSite, tree: Tree):
        self.site, self.tree = site, tree

    def __call__(
        self,
        args: tuple[Any, ...],
        fargs: tuple[Any, ...],
        names: tuple[str, ...] = (),
        kwvalues: tuple[Any, ...] = (),
        kwfdata: tuple[Any, ...] = (),
    ) -> Result:
        site = self.site
        kwargs = dict(zip(names, kwvalues, strict=True))
        return run_rule(site.f, site.rule, args, fargs, kwargs, kwfdata, self.tree, Watch(site))


class CheckedSite(DynamicSite):
    """A call decided when it runs: whatever rule it comes to is watched, and told where it was called."""

    __slots__ = ("mode", "where")
    bare = False

    def __init__(
        self, where: Where, function: str, why: str, live: tuple[bool, ...] | None, protected: bool, mode: Mode
    ):
        super().__init__(where.filename, where.pos, function, why, live, protected)
        self.where, self.mode = where, mode

    def __call__(self, *args: Any) -> Result:
        token = enter(Frame(self.mode, self.where))
        try:
            return super().__call__(*args)
        finally:
            leave(token)


def watch(f: Any, rule: Rule) -> Watch | None:
    """The watch of a rule that the call being made has come to; None outside debug mode."""
    frame = current()
    if frame is None:
        return None
    where = frame.where or Where("the call", name_of(f))
    return Watch(RuleSite(f, rule, where, frame.mode))


class CommsCheck:
    """Do the pullback's stacks come out even? `pull` takes the next entry, a call looks that nothing is left."""

    __slots__ = ("pull", "where")

    def __init__(self, where: Where):
        self.where = where
        self.pull: Callable[[Any], Any] = self._pull

    def _fail(self, what: str) -> DebugError:
        return DebugError(
            "comms",
            f"{what} in the pullback of {self.where.function}",
            rule=self.where.function,
            made="derived",
            statement=tuple(self.where.statement()),
            filename=self.where.filename,
            line=self.where.line,
            function=self.where.function,
            run="reverse",
            fix="the pullback was given what belongs to another run, or the engine is wrong: please report it",
        )

    def _pull(self, stack: Any) -> Any:
        for x in stack:
            return x
        raise self._fail("a stack of stored values is empty too early")

    def __call__(self, *stacks: Any) -> None:
        for stack in stacks:
            if any(True for _ in stack):
                raise self._fail("a stack of stored values is not empty at the end")
