"""What is kept for the reverse run, in bytes: measured in a forward run on copies of the arguments."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.transform.derived import Kept

if TYPE_CHECKING:
    from mooncake_py.inspection.inspect import Inspection


def sizes_of(seen: Inspection) -> list[tuple[Kept, int, int]]:
    """(what is kept, bytes in all, entries on its stack; 0 for what is kept once per call)."""
    n = len(seen.function.__code__.co_freevars)
    inputs = [*copy.deepcopy(seen.values[: len(seen.values) - n]), *seen.values[len(seen.values) - n :]]
    _, _, captures = seen.rule.run(inputs, [None] * len(inputs))
    out = []
    for k in seen.derived.kept:
        if k.how == "captured":
            out.append((k, nbytes(captures[k.place[0]]), 0))
        elif k.how == "pushed":
            where, i, step = k.place
            entries = captures[where][i::step]
            out.append((k, sum(map(nbytes, entries)) + 8 * len(entries), len(entries)))
        else:
            out.append((k, 0, 0))
    return out


def nbytes(x: Any) -> int:
    """Memory of a value: an array's data, what a container holds, each container counted once."""
    total = 0
    seen: set[int] = set()
    work = [x]
    while work:
        x = work.pop()
        if isinstance(x, (tuple, list)):
            if id(x) in seen:
                continue
            seen.add(id(x))
            work.extend(x)
        total += int(x.nbytes) if isinstance(x, np.ndarray) else sys.getsizeof(x)
    return total
