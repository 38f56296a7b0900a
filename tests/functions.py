"""The zoo: every function the engine must differentiate, collected from `tests/zoo/`, one file an area."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path
from typing import TypeVar

import pytest

import tests.zoo
from tests.harness import Case
from tests.zoo import registry

X = TypeVar("X")

for _module in sorted(info.name for info in pkgutil.iter_modules(tests.zoo.__path__)):
    importlib.import_module(f"tests.zoo.{_module}")

#: What the engine promises.
CASES: list[Case] = [case for case in registry.CASES if "wider" not in case.tags]
#: Those that take longest to check, by area: a fifth of them, which take three quarters of the time.
LONG: list[str] = (Path(__file__).parent / "long.txt").read_text().split()
#: Functions beyond the promised rules: they move over when their rules come.
WIDER: list[Case] = [case for case in registry.CASES if "wider" in case.tags]
ALL = os.environ.get("MOONCAKE_ZOO") == "all"
TURN = sys.version_info.minor % 3


def share(cases: list[X], after: int = 0) -> list[X]:
    """What need not be seen on every Python: a third here, the rest on the next two; all with `MOONCAKE_ZOO=all`.

    `after`: another third, that which is seen so many Pythons later.
    """
    return cases if ALL else cases[(TURN + after) % 3 :: 3]


def on_one_python(turn: int) -> pytest.MarkDecorator:
    """For a test that takes long and says the same on each: a third of them, by `turn`, run here."""
    return pytest.mark.skipif(not ALL and turn % 3 != TURN, reason="it takes long, and runs on another Python")


QUICK: list[Case] = [case for case in CASES if ALL or not ("slow" in case.tags or case.name in LONG)]
#: All that are seen on this Python: each on two, the long ones on one.
HERE: list[Case] = CASES if ALL else share(QUICK) + share(QUICK, 1) + share([c for c in CASES if c not in QUICK])
SHARE: list[Case] = share(QUICK)
#: Some of them, for what looks at each for long.
SAMPLE: list[Case] = SHARE if ALL else SHARE[::6]


def by_name(name: str) -> Case:
    """One case, for a debugging session: `check_case(by_name("loops.horner"))`."""
    return next(case for case in registry.CASES if case.name == name)
