"""The rules that ship with mooncake_py: operators, builtins, math, NumPy. Importing this registers them all."""

from mooncake_rules import (
    builtins_,
    containers,
    math_,
    numpy_analysis,
    numpy_arrange,
    numpy_create,
    numpy_elementwise,
    numpy_fft,
    numpy_indexing,
    numpy_linalg,
    numpy_linear,
    numpy_random,
    numpy_reduce,
    numpy_shape,
    numpy_statistics,
    operators,
)

__all__ = [
    "builtins_",
    "containers",
    "math_",
    "numpy_analysis",
    "numpy_arrange",
    "numpy_create",
    "numpy_elementwise",
    "numpy_fft",
    "numpy_indexing",
    "numpy_linalg",
    "numpy_linear",
    "numpy_random",
    "numpy_reduce",
    "numpy_shape",
    "numpy_statistics",
    "operators",
]
