"""The rules that ship with mooncake_py: operators, builtins, math, NumPy. Importing this registers them all.

Those of SciPy are registered once SciPy's module has been imported, by whoever wants it.
"""

from mooncake_py.registry import when_imported
from mooncake_rules import (
    builtins_,
    cmath_,
    containers,
    iteration,
    math_,
    numpy_analysis,
    numpy_arrange,
    numpy_arraylike,
    numpy_choose,
    numpy_create,
    numpy_decompositions,
    numpy_elementwise,
    numpy_fft,
    numpy_histogram,
    numpy_indexing,
    numpy_linalg,
    numpy_linear,
    numpy_nan,
    numpy_norms,
    numpy_poly,
    numpy_put,
    numpy_random,
    numpy_reduce,
    numpy_sets,
    numpy_shape,
    numpy_statistics,
    numpy_ufunc,
    objects,
    operators,
)

__all__ = [
    "builtins_",
    "cmath_",
    "containers",
    "iteration",
    "math_",
    "numpy_analysis",
    "numpy_arrange",
    "numpy_arraylike",
    "numpy_choose",
    "numpy_create",
    "numpy_decompositions",
    "numpy_elementwise",
    "numpy_fft",
    "numpy_histogram",
    "numpy_indexing",
    "numpy_linalg",
    "numpy_linear",
    "numpy_nan",
    "numpy_norms",
    "numpy_poly",
    "numpy_put",
    "numpy_random",
    "numpy_reduce",
    "numpy_sets",
    "numpy_shape",
    "numpy_statistics",
    "numpy_ufunc",
    "objects",
    "operators",
]

numpy_arraylike.serve()
for _module, _packs in {
    "scipy._lib._array_api": ("scipy_common",),
    "scipy.special": ("scipy_special", "scipy_bessel"),
    "scipy.linalg": ("scipy_linalg",),
    "scipy.stats": ("scipy_stats",),
    "scipy.fft": ("scipy_fft",),
    "scipy.signal": ("scipy_signal",),
    "scipy.ndimage": ("scipy_ndimage",),
    "scipy.spatial.distance": ("scipy_spatial",),
    "scipy.optimize": ("scipy_optimize",),
    "scipy.integrate": ("scipy_integrate",),
}.items():
    when_imported(_module, *[f"mooncake_rules.{_pack}" for _pack in _packs])
