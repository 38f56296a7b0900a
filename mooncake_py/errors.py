"""What goes wrong, by kind: every error says what, where (the user's file and line) and what to do."""

from __future__ import annotations


class MooncakeError(Exception):
    """The base of every error this library raises on its own account."""


class UnsupportedError(MooncakeError):
    """Code the engine does not differentiate: refused when the rule is built, by construct, file and line."""

    def __init__(self, construct: str, filename: str, line: int | None, hint: str = ""):
        self.construct, self.filename, self.line, self.hint = construct, filename, line, hint
        super().__init__(f"{construct} is not supported, in {filename}:{line}" + (f"; {hint}" if hint else ""))


class MissingRule(MooncakeError):
    """A C function without a rule was given an active argument."""


class ArgumentError(MooncakeError, TypeError):
    """The call itself is wrong: `f` not callable, argnums out of range, no differentiable argument."""


class NonScalarOutput(MooncakeError, TypeError):
    """`grad` needs a real scalar result."""


class CotangentError(MooncakeError, TypeError):
    """A cotangent whose structure, shape or type does not fit the value it belongs to."""


class PullbackReuse(MooncakeError, RuntimeError):
    """A pullback that had to undo mutations was called a second time."""


class RuleError(MooncakeError, TypeError):
    """A rule that cannot be registered, or that returned what does not fit its arguments."""
