"""Lists, dicts, tuples and closure cells: their fdata mirrors them item by item, and every change is undone."""

from mooncake_rules.containers import (
    cells,
    class_dicts,
    deques,
    dict_keys,
    dict_sources,
    dict_types,
    dicts,
    fields,
    lists,
    numbers,
    rearranged,
    set_types,
    sets,
    sums,
    tuples,
)
from mooncake_rules.containers.lists import elements

__all__ = [
    "cells",
    "class_dicts",
    "deques",
    "dict_keys",
    "dict_sources",
    "dict_types",
    "dicts",
    "elements",
    "fields",
    "lists",
    "numbers",
    "rearranged",
    "set_types",
    "sets",
    "sums",
    "tuples",
]
