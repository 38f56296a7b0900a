"""The zoo: every function the engine must differentiate, collected from `tests/zoo/`, one file an area."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys

import tests.zoo
from tests.harness import Case
from tests.zoo import registry

for _module in sorted(info.name for info in pkgutil.iter_modules(tests.zoo.__path__)):
    importlib.import_module(f"tests.zoo.{_module}")

#: What the engine promises.
CASES: list[Case] = [case for case in registry.CASES if "wider" not in case.tags]
#: Functions beyond the promised rules: they move over when their rules come.
WIDER: list[Case] = [case for case in registry.CASES if "wider" in case.tags]
ALL = os.environ.get("MOONCAKE_ZOO") == "all"
TURN = sys.version_info.minor % 3
#: What need not be seen of every case on every Python: a third of them here, the others on the next two Pythons.
#: `MOONCAKE_ZOO=all` takes them all.
SHARE: list[Case] = CASES if ALL else [case for case in CASES[TURN::3] if "slow" not in case.tags]


def by_name(name: str) -> Case:
    """One case, for a debugging session: `check_case(by_name("loops.horner"))`."""
    return next(case for case in registry.CASES if case.name == name)
