"""A look inside: what the engine found out about a function, and what it made of it."""

from mooncake_py.inspection.inspect import Inspection, inspect

__all__ = ["Inspection", "inspect"]
