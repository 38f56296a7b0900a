"""The rules that ship with mooncake_py: operators, builtins, math, NumPy. Importing this registers them all."""

from mooncake_rules import (
    builtins_,
    containers,
    math_,
    numpy_create,
    numpy_elementwise,
    numpy_indexing,
    numpy_linalg,
    numpy_linear,
    numpy_reduce,
    numpy_shape,
    operators,
)

__all__ = [
    "builtins_", "containers", "math_", "numpy_create", "numpy_elementwise", "numpy_indexing", "numpy_linalg", "numpy_linear", "numpy_reduce", "numpy_shape", "operators",
]  # fmt: skip
