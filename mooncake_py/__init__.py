"""Gradients of plain Python and NumPy code, by bytecode."""

from mooncake_py.api import Pullback, build_rrule, grad, value_and_grad, value_and_pullback
from mooncake_py.errors import (
    ArgumentError,
    CotangentError,
    MissingRule,
    MooncakeError,
    NonScalarOutput,
    PullbackReuse,
    RuleError,
    UnsupportedError,
)
from mooncake_py.inspection import Inspection, inspect
from mooncake_py.registry import Any_, Array, RealScalar, Scalar, rrule, zero_derivative
from mooncake_py.switches import options
from mooncake_py.tangents import At, CoDual, NoDerivative

__version__ = "0.1.0"

__all__ = [
    "Any_", "ArgumentError", "Array", "At", "CoDual", "CotangentError", "Inspection", "MissingRule", "MooncakeError",
    "NoDerivative", "NonScalarOutput", "Pullback", "PullbackReuse", "RealScalar", "RuleError", "Scalar",
    "UnsupportedError", "build_rrule", "grad", "inspect", "options", "rrule", "value_and_grad", "value_and_pullback",
    "zero_derivative",
]  # fmt: skip
