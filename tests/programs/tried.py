"""Random programs of array code that are made by running them: what a template gives stays if it runs.

So nothing need be known of what fits: shapes broadcast, views are written into, objects, lists and dicts hold arrays,
and constants come out of names, classes, default values, closures and partials. Deriving one takes a tenth of a second.
"""

from __future__ import annotations

import copy
import random
import re
import warnings
from typing import Any

import numpy as np

from tests.programs.check import Program
from tests.programs.templates import EXPRESSIONS, HEADER, HEADS, STATEMENTS, listed

SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (3,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 1, 3))
CONSTANTS = {"a": ("ROW", "TABLE", "REGULAR"), "s": ("0.7", "1.3", "2", "-0.4", "ZERO_D")}
ATTEMPTS = 30
LARGEST = 50.0


def kind_of(value: Any) -> str | None:
    """The letter that stands for such a value in templates."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return "a" if value.ndim else "s"
    if isinstance(value, float | np.floating):
        return "s"
    letters = {list: "l", dict: "d", tuple: "other"}
    return "o" if type(value).__name__ == "Box" else letters.get(type(value))


def is_small(value: Any) -> bool:
    """Is it of few elements, all finite and none large?"""
    if isinstance(value, np.ndarray):
        few = value.size <= 40 and value.ndim <= 3 and value.dtype != object
        return few and bool((np.abs(value) < LARGEST).all())
    if isinstance(value, float | np.floating):
        return bool(abs(value) < LARGEST)
    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [vars(value)["a"]]
    )
    return len(parts) <= 12 and all(map(is_small, parts))


class Trier:
    """A function `main(x, y)` as it grows, and what its variables hold."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.scope: dict[str, Any] = {}
        exec(HEADER, self.scope)
        self.names: list[str] = []
        self.lines: list[str] = []
        self.templates = listed(EXPRESSIONS), listed(STATEMENTS), listed(HEADS)
        noise = np.random.default_rng(seed)
        shapes = [self.rng.choice(SHAPES) for _ in range(2)]
        self.args = tuple([noise.uniform(-1.2, 1.2, s) if s else float(noise.uniform(-1.2, 1.2)) for s in shapes])
        for name, value in zip("xy", copy.deepcopy(self.args), strict=True):
            self.keep(name, value)

    def keep(self, name: str, value: Any) -> None:
        self.scope[name] = value
        self.names.append(name)

    def of_kind(self, kind: str) -> list[str]:
        return [name for name in self.names if kind_of(self.scope[name]) == kind]

    def operand(self, letter: str) -> str:
        """What stands for a letter of a template; LookupError where there is nothing of the kind."""
        if letter in "nkc":
            return {"n": "2", "k": f"{self.rng.uniform(-1, 1):.2f}", "c": f"{self.rng.uniform(0.5, 1.5):.2f}"}[letter]
        kind = {"b": "a", "t": "s"}.get(letter, letter)
        known, constants = self.of_kind(kind), CONSTANTS.get(kind, ())
        if constants and (not known or self.rng.random() < 0.15):
            return self.rng.choice(constants)
        if not known:
            raise LookupError(kind)
        return self.rng.choice([*known, *known[-6:]])

    def filled(self, template: str, written: bool = False) -> str:
        """The template with operands; `written`: the first stands for a variable, not for an argument."""
        text = template.replace("{{", "\0").replace("}}", "\1")
        first = re.search(r"\{(\w)\}", text)
        if written and first is not None:
            own = [name for name in self.of_kind(first[1]) if name not in ("x", "y")]
            if not own:
                raise LookupError(first[1])
            text = text.replace(first[0], self.rng.choice(own[-5:]))
        return re.sub(r"\{(\w)\}", lambda m: self.operand(m[1]), text).replace("\0", "{").replace("\1", "}")

    def statement(self) -> str | None:
        """One that runs, and has been run; None where none was found."""
        expressions, statements, _ = self.templates
        for _ in range(ATTEMPTS):
            new = f"v{len(self.scope)}" if self.rng.random() < 0.62 else None
            try:
                text = f"{new} = {self.filled(self.rng.choice(expressions))}" if new else ""
                text = text or self.filled(self.rng.choice(statements), written=True)
            except LookupError:
                continue
            if self.runs(text, new):
                return text
        return None

    def runs(self, text: str, new: str | None) -> bool:
        """Run a statement; where it raises or gives what is large or no value of a kind, all stays as it was."""
        before = {name: self.scope[name] for name in self.names}
        saved = copy.deepcopy(before)
        try:
            exec(text, self.scope)
            held = [self.scope[name] for name in (*self.names, *([new] if new else []))]
            if all(kind_of(v) and is_small(v) for v in held):
                if new:
                    self.names.append(new)
                return True
        except Exception:
            pass
        self.scope.update(saved)
        self.scope.pop(new or "", None)
        return False

    def block(self) -> list[str]:
        """A loop, branch or `with` around a few statements, which have been run once."""
        head = self.filled(self.rng.choice(self.templates[2]))
        outside = list(self.names)
        if head.startswith("for"):
            exec(f"{head}\n    break", self.scope)
            self.names += [
                name for name in ("r", "q") if name in head.split(" in ")[0].replace("for", "") if name in self.scope
            ]
        body = [f"    {s}" for s in (self.statement() for _ in range(self.rng.randrange(1, 4))) if s]
        for name in set(self.names) - set(outside):
            del self.scope[name]
        self.names = outside
        caught = ["except (ValueError, IndexError):", "    pass"] if head == "try:" else []
        return [head, *body, *caught] if body else []

    def grow(self, count: int) -> None:
        for _ in range(count):
            if self.rng.random() < 0.16:
                try:
                    self.lines += self.block()
                except Exception:  # it does not run, or there is nothing of the kind
                    continue
            elif (text := self.statement()) is not None:
                self.lines.append(text)


def program(seed: int) -> Program:
    """A program of up to a dozen statements; what it returns depends on some of its variables."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = Trier(seed)
        made.grow(made.rng.randrange(3, 12))
    names = made.rng.sample(made.names, made.rng.randrange(1, len(made.names) + 1))
    result = " + ".join(f"{0.3 + 0.1 * i:.1f} * total({name})" for i, name in enumerate(names))
    body = "\n".join(f"    {line}" for line in [*made.lines, f"return {result}"])
    return Program(seed, f"{HEADER}\n\ndef main(x, y):\n{body}\n", made.args)
