"""Whole random programs: functions, `main`, its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.check import Program
from tests.programs.forms import HEADER as FORMS
from tests.programs.given import HEADER as GIVEN
from tests.programs.outside import HEADER as OUTSIDE
from tests.programs.outside import Outside

HEADER = """import bisect
import cmath
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import typing

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

K = np.array([0.3, -0.8, 1.1, 0.5, -0.4, 0.9])


class Manager:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.left = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.left += 1
        return kind is not None and issubclass(kind, self.kinds)


class Failure(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


class Pair(typing.NamedTuple):
    x: float
    a: np.ndarray

    def size(self):
        return self.x * self.a.sum()
"""


class Writer(Outside):
    """Functions of the module, and the one that is differentiated."""

    def returned(self) -> str:
        if self.result == "f":
            return self.float(2)
        return {"a": self.array(self.n), "fa": f"({self.float()}, {self.array(self.n)})"}[self.result]

    def helper(self, name: str) -> None:
        form = self.pick(["default", "default", "rest", "recursive"])
        if form == "recursive":
            self.emit(f"def {name}(x, a, k):")
            self.indent = 1
            self.kinds = {"x": "f", "a": ("a", self.n)}
            self.let_in()
            self.emit("if k == 0:")
            self.emit(f"    return {self.float()}")
            self.statements(self.rng.randrange(1, 3), 0)
            self.emit(f"return {self.float(1)} + {name}(math.sin({self.float(1)}), {self.array(self.n, 1)}, k - 1)")
        else:
            default = self.pick(["", "", "", ", w=np.linspace(-0.4, 0.9, {})", ', w={{"p": 0.3, "q": -0.8}}']).format(
                self.n
            )
            own = ("*rest, k=0.2" if form == "rest" else "k=0.7") + default
            self.emit(f"def {name}(x, a, {own}):")
            self.indent = 1
            self.kinds = {"x": "f", "a": ("a", self.n), "k": "f"}
            self.let_in()
            if "{" in default:
                self.emit('k = k * w["p"] + x * w["q"]')
            elif default:
                self.emit("b = a * w")
                self.kinds["b"] = ("a", self.n)
            if form == "rest":
                self.emit("for r in rest:")
                self.emit("    x = x + math.sin(r) * k")
            self.loops = 1
            self.statements(self.rng.randrange(1, 4), 1)
            self.loops = 0
            self.emit(f"return {self.float(1)} + {self.float()}")
        self.indent, self.local, self.fixed = 0, {}, set()
        self.emit("")
        self.emit("")
        self.helpers.append((name, form))

    def main(self, statements: int) -> tuple[Any, ...]:
        floats, arrays = self.rng.randrange(1, 3), self.rng.randrange(1, 3)
        names = [f"p{i}" for i in range(floats)] + [f"b{i}" for i in range(arrays)]
        self.kinds = {x: "f" if x[0] == "p" else ("a", self.n) for x in names}
        self.kinds |= {"q": "l"} if self.maybe(0.25) else {}
        self.kinds |= {"r": "d"} if self.maybe(0.25) else {}
        names = list(self.kinds)
        self.result = self.pick(["f", "f", "f", "f", "a", "fa"])
        self.emit(f"def main({', '.join(names)}):")
        self.indent = 1
        self.let_in()
        self.statements(statements, 2)
        if self.result == "f":
            parts = []
            for i, (x, kind) in enumerate(self.kinds.items()):
                if kind == "f":
                    parts.append(f"{0.3 + 0.1 * (i % 7):.1f} * {x}")
                elif kind == ("a", self.n):
                    parts.append(f"np.dot(K[:{self.n}], {x})")
                elif kind[0] in "am":
                    parts.append(f"{x}.sum()")
                elif kind == "l":
                    parts.append(f"0.3 * {x}[0] - {x}[-1]")
                elif kind == "d":
                    parts.append(f'{x}["p"] * {x}["q"]')
                elif kind in ("t", "nt"):
                    parts.append(f"{x}[0] - {x}[1][0]")
                elif kind == "ll":
                    parts.append(f"0.5 * {x}[0][0] - sum({x}[1])")
                elif kind == "dq":
                    parts.append(f"0.5 * {x}[0] - {x}[-1]")
                elif kind == "c":
                    parts.append(f"0.5 * {x}.real - {x}.imag")
                elif kind == "da":
                    parts.append(f'{x}["p"] @ {x}["q"]')
            self.emit("return " + " + ".join(parts))
        else:
            self.emit(f"return {self.returned()}")
        noise = np.random.default_rng(self.rng.randrange(2**32))
        values: list[Any] = [float(noise.uniform(-1.2, 1.2)) for _ in range(floats)]
        values += [noise.uniform(-1.2, 1.2, self.n) for _ in range(arrays)]
        if arrays == 2 and self.maybe(0.15):
            values[-1] = values[-2]
        if "q" in names:
            values.append([float(noise.uniform(-1.2, 1.2)) for _ in range(3)])
        if "r" in names:
            values.append({key: float(noise.uniform(-1.2, 1.2)) for key in "pq"})
        return tuple(values)


def program(seed: int, short: bool = False) -> Program:
    """The program of this seed. A short one has less of everything, and is derived in a fraction of the time."""
    writer = Writer(seed)
    if writer.maybe(0.25):
        writer.outside = writer.rng.sample(["LOG", "TABLE", "STORE", "BOX", "TOTAL"], writer.rng.randrange(1, 6))
    for i in range(writer.pick([0, 0, 0, 1] if short else [0, 0, 1, 2])):
        writer.class_definition(str(i))
    for i in range(writer.rng.randrange(2)):
        writer.generator_definition(f"items{i}")
    for i in range(writer.rng.randrange(2 if short else 3)):
        writer.helper(f"g{i}")
    args = writer.main(writer.rng.randrange(2, 6) if short else writer.rng.randrange(4, 10))
    header = HEADER + FORMS + GIVEN + (OUTSIDE.format(n=writer.n) if writer.outside else "")
    return Program(seed, header + "\n\n" + "\n".join(writer.lines) + "\n", args)
