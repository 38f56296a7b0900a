"""What goes wrong, by kind: every error says what, where (the user's file and line) and what to do."""

from __future__ import annotations

import sys

_OURS = ("mooncake_py", "mooncake_rules")


def user_position() -> tuple[str, int] | None:
    """File and line of the innermost frame that is not ours: the user's call, or the user's statement whose derived
    code is running."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


class MooncakeError(Exception):
    """The base of every error this library raises on its own account.

    `filename` and `line` say where in the user's code: they are set when the error leaves the library at the latest.
    """

    filename: str | None = None
    line: int | None = None
    placed = False  # has it been told where it belongs?

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[MooncakeError], args: tuple, state: dict) -> MooncakeError:
    e = cls.__new__(cls)
    e.args = args
    e.__dict__.update(state)
    return e


class PositionedError(MooncakeError):
    """An error that belongs to a line of the user's: it ends the message and stands in `filename` and `line`."""

    def __init__(self, message: str = "", position: tuple[str, int | None] | None = None):
        position = user_position() if position is None else position
        if position is not None:
            self.filename, self.line = position
            message = f"{message}, in {position[0]}:{position[1]}"
        super().__init__(message)


class UnsupportedError(MooncakeError):
    """Code the engine does not differentiate: refused when the rule is built, by construct, file and line."""

    def __init__(self, construct: str, filename: str, line: int | None, hint: str = ""):
        self.construct, self.hint = construct, hint
        super().__init__()
        self.at(filename, line)

    def at(self, filename: str, line: int | None) -> None:
        """Where the construct stands."""
        self.filename, self.line = filename, line
        place = f"{filename}:{line}" if line is not None else filename
        hint = f"; {self.hint}" if self.hint else ""
        self.args = (f"{self.construct} is not supported, in {place}{hint}",)


class WritesOutside(UnsupportedError):
    """What is from outside may be written to after all: the rule is to be derived with that `wary` (`run.Wary`).

    `before_the_run`: it was found when nothing had run yet.
    """

    wary: int = 0
    before_the_run = False


class DroppedDerivative(UnsupportedError):
    """A derivative would be lost where the code means to keep the number."""


class AlwaysZeroWarning(UserWarning):
    """A gradient was asked for by an argument that the result does not depend on."""


class MissingRule(MooncakeError):
    """A C function without a rule was given an active argument.

    `chain` holds the calls that led there, outermost first, as (file, line, function).
    """

    chain: tuple[tuple[str, int | None, str], ...] = ()


class NotDifferentiated(PositionedError, MissingRule):
    """A use of a function that its rule has no derivative for: an option, a part of the result, a singular point."""


class ArgumentError(PositionedError, TypeError):
    """The call itself is wrong: `f` not callable, no differentiable argument."""


class ArgnumsError(ArgumentError):
    """`argnums` that no argument of the call answers to, or that are neither ints nor names."""


class DuplicateArgument(ArgnumsError):
    """`argnums` that name one argument twice."""


class SignatureError(ArgumentError):
    """A prepared object was called with arguments of other types than it was prepared for."""


class OutputError(ArgumentError):
    """`out=` does not fit the gradients: another structure, shape or dtype, not writable, or memory used twice."""


class NonScalarOutput(PositionedError, TypeError):
    """`grad` needs a real scalar result."""


class HolomorphicError(PositionedError, ValueError):
    """`holomorphic_grad` of a function whose derivative depends on the direction."""


class AuxError(PositionedError, TypeError):
    """With `has_aux=True` the function must return a pair `(value, aux)`."""


class CotangentError(PositionedError, TypeError):
    """A cotangent whose structure, shape or type does not fit the value it belongs to."""


class PullbackReuse(MooncakeError, RuntimeError):
    """A pullback that had to undo mutations was called a second time."""


class RuleError(MooncakeError, TypeError):
    """A rule that cannot be registered, or that returned what does not fit its arguments."""


class RuleConflict(RuleError):
    """A rule for a signature that has one already, or one that would hide another or never be used."""


class RuleResultError(PositionedError, RuleError):
    """A rule returned the wrong number of cotangents, or one that does not fit its argument."""


class DebugError(MooncakeError):
    """A check of debug mode failed.

    `check` is its name, `rule` the function whose rule is at fault, `filename` and `line` where it was called (in the
    function `function`), `run` "forward" or "reverse"; the message has these, the statement, the values and the fix.
    """

    def __init__(
        self,
        check: str,
        what: str,
        *,
        rule: str,
        made: str = "",
        statement: tuple[str, ...] = (),
        filename: str = "",
        line: int | None = None,
        function: str = "",
        run: str = "forward",
        values: tuple[str, ...] = (),
        fix: str = "",
    ):
        self.check, self.what, self.rule, self.run, self.fix = check, what, rule, run, fix
        self.statement = statement[0] if statement else ""
        self.filename, self.line, self.function = filename, line, function
        self.placed = True
        rows: list[tuple[str, str]] = [("rule", f"{rule}, {made}" if made else rule)]
        rows += [("statement" if i == 0 else "", row) for i, row in enumerate(statement)]
        rows.append(("at", f"{filename}:{line}" + (f", in {function}" if function else "")))
        rows.append(("run", run))
        rows += [("values" if i == 0 else "", row) for i, row in enumerate(values)]
        if fix:
            rows.append(("fix", fix))
        super().__init__(what + "\n" + "\n".join(f"  {name:<10}{text}" for name, text in rows))
