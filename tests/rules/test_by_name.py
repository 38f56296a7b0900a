"""One case of every function with rules, its arguments given by name: a third of them on each Python, half of these
where the function is known before the run, half where it is not."""

from __future__ import annotations

import copy
import inspect

import pytest

from mooncake_py.registry import is_declared
from mooncake_py.testing import RuleCase, check_grads, known_call, unknown_call
from tests.functions import share
from tests.rules.test_rules import CASES


def by_name(case: RuleCase) -> RuleCase | None:
    """The case with all arguments by name that may be given so; None where the first may not."""
    try:
        parameters = list(inspect.signature(case.fn).parameters.values())
    except (TypeError, ValueError):
        return None
    named = {}
    for p, x in zip(parameters, case.args, strict=False):
        if p.kind is not p.POSITIONAL_OR_KEYWORD:
            return None
        named[p.name] = x
    if not named or len(named) < len(case.args):
        return None
    try:
        case.fn(**copy.deepcopy({**named, **case.kwargs}))
    except TypeError:  # what is called in the end does not take it
        return None
    return RuleCase(case.fn, (), {**named, **case.kwargs})


NAMED = {
    f"{c.fn.__module__}.{getattr(c.fn, '__qualname__', type(c.fn).__name__)}": named
    for _, c in reversed(CASES)
    if getattr(c.fn, "__module__", None) and is_declared(c.fn) and (named := by_name(c)) is not None
}


SHARE = share([*NAMED.items()])


@pytest.mark.parametrize(("name", "case"), SHARE[::2], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_known(name: str, case: RuleCase) -> None:
    check_grads(*known_call(case.fn, case.args, case.kwargs))


@pytest.mark.parametrize(("name", "case"), SHARE[1::2], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_unknown(name: str, case: RuleCase) -> None:
    check_grads(*unknown_call(case.fn, case.args, case.kwargs))
