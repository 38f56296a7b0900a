"""Smaller programs that go wrong in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.programs.check import Program, outcome


def smaller(lines: list[str]) -> Iterator[list[str]]:
    """The same program without one statement, with a block in place of its header, or with a simpler expression."""
    margin = [len(line) - len(line.lstrip()) for line in lines]
    for i in range(len(lines)):
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or margin[end] > margin[i]):
            end += 1
        yield lines[:i] + lines[end:]
        if end > i + 1:
            yield lines[:i] + [line[4:] for line in lines[i + 1 : end]] + lines[end:]
    for i, line in enumerate(lines):
        for m in re.finditer(r"(?:[\w.]+)?\(", line):
            depth, end = 1, m.end()
            while end < len(line) and depth:
                depth += {"(": 1, ")": -1}.get(line[end], 0)
                end += 1
            for new in (line[m.end() : end - 1], "0.7", "p0"):
                yield lines[:i] + [line[: m.start()] + new + line[end:]] + lines[i + 1 :]
        for op in (" + ", " - ", " * ", " / "):
            at = line.find(op)
            while at >= 0:
                head = re.match(r"\s*(return |[\w\[\], ]+ [-+*/]?= )?", line)
                yield lines[:i] + [line[:at]] + lines[i + 1 :]
                if head and head.end() < at:
                    yield lines[:i] + [line[: head.end()] + line[at + len(op) :]] + lines[i + 1 :]
                at = line.find(op, at + 1)


def shrink(p: Program, directory: Path, why: str) -> Program:
    """The smallest program found that goes wrong in the same way."""
    key = re.sub(r"[-\d.e]+", "N", why)[:18]
    progress = True
    while progress:
        progress = False
        for lines in smaller(p.source.split("\n")):
            source = "\n".join(lines)
            if len(source) >= len(p.source):
                continue
            q = Program(p.seed, source, p.args)
            try:
                kind, reason = outcome(q, directory)
            except (SyntaxError, KeyError, RecursionError):
                continue
            if kind == "wrong" and re.sub(r"[-\d.e]+", "N", reason)[:18] == key:
                p, progress = q, True
                break
    return p
