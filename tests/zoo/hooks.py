"""Functions that are given to the standard library, which calls them for what it reads."""

import json

from tests.zoo.registry import case

TEXT = '{"a": 1.5, "b": [3.0, {"c": 2, "d": -1e-1}, "text"], "e": {"c": 0.25, "d": true}}'


@case(1.3)
def objects_made_by_a_hook(x):
    found = json.loads(TEXT, object_hook=lambda d: {k: v * x if isinstance(v, float) else v for k, v in d.items()})
    return found["a"] * found["b"][1]["c"] + found["b"][1]["d"] * found["e"]["c"]


@case(1.3)
def numbers_made_by_hooks(x):
    found = json.loads(TEXT, parse_float=lambda t: float(t) * x, parse_int=lambda t: int(t) + x * x)
    return found["a"] * found["b"][0] + found["b"][1]["c"] * found["e"]["c"]


@case(1.3)
def pairs_given_to_a_hook(x):
    seen = []

    def hook(pairs):
        seen.append(len(pairs) * x)
        return dict(pairs)

    found = json.loads(TEXT, object_pairs_hook=hook)
    return sum(seen) * found["a"] * len(found)
