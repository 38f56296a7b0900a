"""The cases of every rule file: each inlined on one Python, and called by a site, which hands it values, on another.

All of them both ways with `MOONCAKE_ZOO=all`.

Some in a function that writes to arrays from outside, so that the run keeps book of all arrays it meets.
"""

from __future__ import annotations

import importlib.util
import pkgutil

import mooncake_rules
import numpy as np
import pytest

from mooncake_py import value_and_pullback
from mooncake_py.errors import MissingRule
from mooncake_py.registry import load_packs
from mooncake_py.testing import RuleCase, check_grads, known_call, unknown_call
from tests.functions import share

load_packs()
CASES: list[tuple[str, RuleCase]] = []
for _info in pkgutil.iter_modules(mooncake_rules.__path__):
    if _info.name.startswith("scipy_") and importlib.util.find_spec("scipy") is None:
        continue
    _module = importlib.import_module(f"mooncake_rules.{_info.name}")
    CASES += [(f"{_info.name}-{i}-{c.name}", c) for i, c in enumerate(getattr(_module, "CASES", []))]
CALLED = share(CASES)
INLINED = share(CASES, 1)


@pytest.mark.parametrize("case", [c for _, c in INLINED], ids=[name for name, _ in INLINED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_inlined(case: RuleCase) -> None:
    check_grads(*known_call(case.fn, case.args, case.kwargs))


@pytest.mark.parametrize("case", [c for _, c in CALLED], ids=[name for name, _ in CALLED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_called(case: RuleCase) -> None:
    check_grads(*unknown_call(case.fn, case.args, case.kwargs))


OUTSIDE = np.zeros(1)


@pytest.mark.parametrize("case", [c for _, c in CALLED[::5]], ids=[name for name, _ in CALLED[::5]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_arrays_outside_are_written_to(case: RuleCase) -> None:
    f, args = known_call(case.fn, case.args, case.kwargs)

    def call(*args):
        OUTSIDE[0] += 1.0
        return f(*args)

    check_grads(call, args)


@pytest.mark.parametrize("case", [c for _, c in INLINED[::16]], ids=[name for name, _ in INLINED[::16]])
@pytest.mark.filterwarnings("ignore")
def test_debug_mode_has_nothing_to_say(case: RuleCase) -> None:
    """Cotangents of numbers are numbers, inferred types are those of the values, results are new arrays."""
    f, args = known_call(case.fn, case.args, case.kwargs)
    try:
        y, pullback = value_and_pullback(f, *args, debug_mode=True)
        pullback(y)
    except MissingRule:  # a part of the result has no derivative
        pass
