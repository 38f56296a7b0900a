"""Gradients of plain Python and NumPy code, by bytecode."""

from typing import TYPE_CHECKING, Any

from mooncake_py.errors import (
    AlwaysZeroWarning,
    ArgnumsError,
    ArgumentError,
    AuxError,
    CotangentError,
    DebugError,
    DroppedDerivative,
    DuplicateArgument,
    HolomorphicError,
    MissingRule,
    MooncakeError,
    NonScalarOutput,
    NotDifferentiated,
    OutputError,
    PullbackReuse,
    RuleConflict,
    RuleError,
    RuleResultError,
    SignatureError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from mooncake_py.api import build_rrule, value_and_pullback
    from mooncake_py.diagnostics.dropped import DroppedReport, dropped
    from mooncake_py.diagnostics.mode import debug
    from mooncake_py.diagnostics.profile import profile
    from mooncake_py.gradients import grad, value_and_grad
    from mooncake_py.inspection.inspect import Inspection, inspect
    from mooncake_py.interop import from_autograd
    from mooncake_py.kinds import Any_, Array, RealScalar, Scalar
    from mooncake_py.mirrors import Tangent, add_tangents, differentiable, scale_tangent
    from mooncake_py.prepared import Prepared, prepare
    from mooncake_py.pullback import Pullback
    from mooncake_py.registration import primitive, rrule, scoped_rules, substitute, unregister, zero_derivative
    from mooncake_py.runtime.user import zero_tangent
    from mooncake_py.shadows import At, NoDerivative
    from mooncake_py.stop import no_diff, stop_gradient
    from mooncake_py.switches import options
    from mooncake_py.tangents import CoDual
    from mooncake_py.tracebacks import show_engine_frames
    from mooncake_py.transforms import elementwise_grad, holomorphic_grad, jacobian, vjp
    from mooncake_py.vectors import ravel

__version__ = "0.1.0"

__all__ = [
    "AlwaysZeroWarning", "Any_", "ArgnumsError", "ArgumentError", "Array", "At", "AuxError", "CoDual",
    "CotangentError", "DebugError", "DroppedDerivative", "DroppedReport", "DuplicateArgument", "HolomorphicError",
    "Inspection", "MissingRule", "MooncakeError", "NoDerivative", "NonScalarOutput", "NotDifferentiated",
    "OutputError", "Prepared",
    "Pullback", "PullbackReuse", "RealScalar", "RuleConflict", "RuleError", "RuleResultError", "Scalar",
    "SignatureError", "Tangent", "UnsupportedError", "add_tangents", "build_rrule", "debug", "differentiable",
    "dropped", "elementwise_grad", "from_autograd", "grad", "holomorphic_grad", "inspect", "jacobian", "no_diff",
    "options", "prepare", "primitive", "profile", "ravel", "rrule", "scale_tangent", "scoped_rules",
    "show_engine_frames", "stop_gradient", "substitute", "unregister", "value_and_grad", "value_and_pullback", "vjp",
    "zero_derivative", "zero_tangent",
]  # fmt: skip

# Imported when they are first asked for: a program that only uses some does not wait for the others.
_MODULES = {
    "api": ("build_rrule", "value_and_pullback"),
    "pullback": ("Pullback",),
    "diagnostics.mode": ("debug",),
    "gradients": ("grad", "value_and_grad"),
    "kinds": ("Any_", "Array", "RealScalar", "Scalar"),
    "stop": ("no_diff", "stop_gradient"),
    "mirrors": ("Tangent", "add_tangents", "differentiable", "scale_tangent"),
    "runtime.user": ("zero_tangent",),
    "switches": ("options",),
    "shadows": ("At", "NoDerivative"),
    "tangents": ("CoDual",),
    "tracebacks": ("show_engine_frames",),
    "diagnostics.dropped": ("DroppedReport", "dropped"),
    "diagnostics.profile": ("profile",),
    "inspection": ("Inspection", "inspect"),
    "interop": ("from_autograd",),
    "prepared": ("Prepared", "prepare"),
    "registration": ("primitive", "rrule", "scoped_rules", "substitute", "unregister", "zero_derivative"),
    "transforms": ("elementwise_grad", "holomorphic_grad", "jacobian", "vjp"),
    "vectors": ("ravel",),
}
_LATER = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'mooncake_py' has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(f"mooncake_py.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
