"""Every code object of the running Python's standard library normalises, or is refused by a known name.

A ninth of the files on each Python; all of them with `MOONCAKE_ZOO=all python -m pytest tests/frontend/test_stdlib.py`.
"""

from __future__ import annotations

import os
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import CodeType

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.ir.verify import verify
from tests.functions import ALL, TURN

REFUSED = {"async def", "async for", "async generator"}
ASYNC = {"async def", "async for", "async generator"}
SAMPLE = 1 if ALL else 9
"""Every n-th file is taken, others on each Python."""


def files() -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    found = sorted(p for p in root.rglob("*.py") if "site-packages" not in p.parts)
    return found[TURN % SAMPLE :: SAMPLE]


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from code_objects(const)


def survey(batch: list[Path]) -> tuple[Counter[str], list[str]]:
    """How many code objects came out how, and what went wrong."""
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    for path in batch:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # tests of the parser
            continue
        for code in code_objects(module):
            try:
                verify(normalise(code))
                outcomes["normalised"] += 1
            except UnsupportedError as e:
                outcomes[e.construct] += 1
                if e.line is None:
                    faults.append(f"{path}: {code.co_qualname}: {e.construct} refused without a line")
            except Exception as e:
                faults.append(f"{path}: {code.co_qualname}: {type(e).__name__}: {e}")
    return outcomes, faults


def test_standard_library() -> None:
    paths = files()
    workers = os.cpu_count() or 1
    batches = [paths[k :: workers * 8] for k in range(workers * 8)]
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    with ProcessPoolExecutor(workers) as pool:
        for counts, wrong in pool.map(survey, batches):
            outcomes += counts
            faults += wrong
    total = outcomes.total()
    share = outcomes["normalised"] / total
    plain = total - sum(outcomes[c] for c in ASYNC)
    print(f"\n{len(paths)} files, {total} code objects, {share:.2%} normalise")
    for construct, count in outcomes.most_common():
        print(f"{count:8d}  {construct}")
    assert not faults, f"{len(faults)} faults, such as\n" + "\n".join(faults[:20])
    assert set(outcomes) <= REFUSED | {"normalised"}
    assert share > (0.975 if ALL else 0.96)  # the rest is asyncio, its tests above all
    assert outcomes["normalised"] / plain > 0.999
