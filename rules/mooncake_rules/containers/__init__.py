"""Lists, dicts, tuples and closure cells: their fdata mirrors them item by item, and every change is undone."""

from mooncake_rules.containers import cells, dicts, lists, sums, tuples
from mooncake_rules.containers.lists import elements

__all__ = ["cells", "dicts", "elements", "lists", "sums", "tuples"]
