"""Code object -> SSA `Function`: the same for every supported Python wherever the bytecode means the same."""

from mooncake_py.frontend.normalise import normalise

__all__ = ["normalise"]
