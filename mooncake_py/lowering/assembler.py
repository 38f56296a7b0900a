"""Instructions as a code object: offsets, jumps, line and exception tables.

The formats are those of CPython's `Objects/locations.md` and `Objects/exception_handling_notes.txt`. Sizes and offsets
are counted in code units of two bytes.
"""

from __future__ import annotations

import opcode
from collections.abc import Iterable, Sequence
from typing import Any

from mooncake_py.ir.nodes import Pos
from mooncake_py.lowering.native import V


class Label:
    """A place in the code."""

    __slots__ = ("at", "base")

    def __init__(self) -> None:
        self.base = self.at = -1  # the offset if every jump were one unit, and as it is


class TryBegin:
    """From here to its `TryEnd` an exception cuts the stack to `depth` and goes to `target`.

    `lasti`: the offset of what raised is pushed before the exception.
    """

    __slots__ = ("begin", "depth", "end", "lasti", "target")

    def __init__(self, target: Label, lasti: bool, depth: int):
        self.target, self.lasti, self.depth = target, lasti, depth
        self.begin, self.end = Label(), Label()


class TryEnd:
    __slots__ = ("entry",)

    def __init__(self, entry: TryBegin):
        self.entry = entry


class Cell:
    """The argument of an instruction on a cell in a slot of the frame, by the slot's name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


class Free:
    """The argument of an instruction on the cell of a free variable, by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


Arg = int | str | None | Label | Cell | Free | tuple[bool, str] | tuple[bool, bool, str]
"""An argument: a number, the name of a slot or attribute (with flags before it: the low bits), a jump's target."""

Line = tuple[str, Arg, Pos] | Label | TryBegin | TryEnd


class _Jump:
    __slots__ = ("at", "backward", "base", "extended", "op", "place", "tail", "target")

    def __init__(self, op: int, tail: bytes, backward: bool, target: Label, place: int, base: int):
        self.op, self.tail, self.backward, self.target, self.place = op, tail, backward, target, place
        self.base = self.at = base
        self.extended = 0  # EXTENDED_ARG units before it

    def distance(self) -> int:
        behind = self.at + self.extended + 1 + len(self.tail) // 2
        return behind - self.target.at if self.backward else self.target.at - behind


# name -> (number, room for the interpreter's caches, does a name mean a slot, instructions encoded before by argument)
_LOCAL = frozenset(opcode.haslocal)
_CACHES: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]  # by name since 3.13, before by number
_OPS: dict[str, tuple[int, bytes, bool, dict[int, bytes]]] = {
    name: (op, b"\0\0" * (_CACHES.get(name, 0) if isinstance(_CACHES, dict) else _CACHES[op]), op in _LOCAL, {})
    for name, op in opcode.opmap.items()
    if op < 256  # the others are the compiler's own
}
_PAIRS = {(first, then): opcode.opmap[both] for (first, then), both in V.SUPERINSTRUCTIONS.items()}
_EXTENDED_ARG = opcode.EXTENDED_ARG


class Assembled:
    """The parts of a code object that depend on its instructions."""

    __slots__ = ("code", "exceptions", "locations", "names", "size", "stretches")

    def __init__(self, lines: Iterable[Line], slots: Sequence[str], first_line: int):
        index = {name: i for i, name in enumerate(slots)}
        names: dict[str, int] = {}
        pieces: list[bytes] = []  # one per instruction
        stretches: list[tuple[Pos, int]] = []  # of instructions of one position: that, and the first one's number
        here: Pos | None = None
        marks: list[Label | _Jump] = []
        entries: list[TryBegin] = []
        at = 0
        before: tuple[str, int] | None = None  # the instruction before, on one of the first sixteen slots
        arg: Any
        for line in lines:
            if type(line) is not tuple:
                before = None
                label = _mark(line, entries)
                label.base = at
                marks.append(label)
                continue
            name, arg, pos = line
            if pos is not here:
                stretches.append((pos, len(pieces)))
                here = pos
            paired: tuple[str, int] | None = None
            op, tail, local, known = _OPS[name]
            kind = type(arg)
            if kind is int:
                n = arg
            elif arg is None:
                n = 0
            elif kind is str:
                if local:
                    n = index[arg]
                    if n < 16 and _PAIRS:
                        pair = None if before is None else _PAIRS.get((before[0], name))
                        if pair is None:
                            paired = name, n
                        else:
                            pieces[-1] = bytes((pair, before[1] << 4 | n))  # type: ignore[index]
                            before = None
                            if stretches[-1][1] == len(pieces):  # it has the position of the first of the two
                                stretches.pop()
                                here = stretches[-1][0]
                            continue
                else:
                    n = names.setdefault(arg, len(names))
            elif kind is Label:
                jump = _Jump(op, tail, "BACKWARD" in name, arg, len(pieces), at)
                marks.append(jump)
                n = 0
            elif kind is tuple:
                n = names.setdefault(arg[-1], len(names))
                for flag in arg[-2::-1]:
                    n = n << 1 | flag
            else:
                n = index[arg.name] if kind is Cell else len(slots) + arg.number
            piece = known.get(n)
            if piece is None:
                piece = _encoded(op, n, tail)
                if n < 256:
                    known[n] = piece
            pieces.append(piece)
            at += len(piece) >> 1
            before = paired
        end = Label()
        end.base = at
        marks.append(end)
        _settle(marks, pieces)
        self.code = b"".join(pieces)
        self.locations = _locations(pieces, stretches, first_line)
        self.exceptions = _exceptions(entries, end)
        self.names = tuple(names)
        self.stretches, self.size = stretches, len(pieces)

    def places(self) -> list[Pos]:
        """The position of every instruction."""
        ends = [*[first for _, first in self.stretches[1:]], self.size]
        return [pos for (pos, first), end in zip(self.stretches, ends, strict=True) for _ in range(first, end)]


def _mark(line: Line, entries: list[TryBegin]) -> Label:
    if type(line) is Label:
        return line
    if type(line) is TryBegin:
        entries.append(line)
        return line.begin
    assert type(line) is TryEnd
    return line.entry.end


def _encoded(op: int, arg: int, tail: bytes) -> bytes:
    if arg < 256:
        return bytes((op, arg)) + tail
    out = bytes((op, arg & 255)) + tail
    arg >>= 8
    while arg:
        out = bytes((_EXTENDED_ARG, arg & 255)) + out
        arg >>= 8
    return out


def _settle(marks: list[Label | _Jump], pieces: list[bytes]) -> None:
    """Where everything is, and the jumps: the farther a jump the larger it is, and what follows moves."""
    jumps = [m for m in marks if type(m) is _Jump]
    grown = True
    while grown:
        grown = False
        shift = 0
        for m in marks:
            m.at = m.base + shift
            if type(m) is _Jump:
                shift += m.extended
        for j in jumps:
            while j.distance() >> 8 * (j.extended + 1):
                j.extended += 1
                grown = True
    for j in jumps:
        pieces[j.place] = _encoded(j.op, j.distance(), j.tail)
        missing = 2 * (j.extended + 1) + len(j.tail) - len(pieces[j.place])
        if missing:  # what lies between has grown less than it might have
            pieces[j.place] = bytes((_EXTENDED_ARG, 0)) * (missing // 2) + pieces[j.place]


# -- tables -------------------------------------------------------------------------------------------------


def _locations(pieces: list[bytes], stretches: list[tuple[Pos, int]], line: int) -> bytes:
    """The location table; an instruction without a line has that of the one before."""
    out = bytearray()
    size = 0
    here: Pos | None = None
    ends = [*[first for _, first in stretches[1:]], len(pieces)]
    for (pos, first), end in zip(stretches, ends, strict=True):
        if pos is not here and pos.line is not None:
            if here is not None:
                line = _location(out, size, here, line)
                size = 0
            here = pos
        size += sum(map(len, pieces[first:end]))
    if here is not None:
        _location(out, size, here, line)
    return bytes(out)


def _location(out: bytearray, size: int, pos: Pos, before: int) -> int:
    """Entries for `size` bytes of code; the line, which the next entry's is relative to."""
    line, end_line, col, end_col = pos.line, pos.end_line, pos.col, pos.end_col
    assert line is not None
    units = size >> 1
    while units > 0:
        length = 7 if units > 8 else units - 1
        delta = line - before
        if col is None or end_col is None or end_line is None or end_line < line:
            out.append(0x80 | 13 << 3 | length)
            _varint(out, delta << 1 if delta >= 0 else -delta << 1 | 1)
        elif end_line == line and 0 <= delta < 3 and col < 128 and end_col < 128:
            out.append(0x80 | 10 + delta << 3 | length)
            out.append(col)
            out.append(end_col)
        else:
            out.append(0x80 | 14 << 3 | length)
            _varint(out, delta << 1 if delta >= 0 else -delta << 1 | 1)
            _varint(out, end_line - line)
            _varint(out, col + 1)
            _varint(out, end_col + 1)
        before = line
        units -= 8
    return line


def _varint(out: bytearray, value: int) -> None:
    """Six bits at a time, the lowest first."""
    while value >= 64:
        out.append(64 | value & 63)
        value >>= 6
    out.append(value)


def _exceptions(entries: list[TryBegin], end: Label) -> bytes:
    out = bytearray()
    for e in entries:
        begin = e.begin.at
        stop = e.end.at if e.end.at >= 0 else end.at
        first = len(out)
        for value in (begin, stop - begin, e.target.at, e.depth << 1 | e.lasti):
            shift = 0
            while value >> shift + 6:
                shift += 6
            while shift >= 0:  # six bits at a time, the highest first
                out.append((64 if shift else 0) | value >> shift & 63)
                shift -= 6
        out[first] |= 128  # an entry begins here
    return bytes(out)
