"""Instructions, jump targets and protected regions of a code object, cut into basic blocks."""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator

Handler = Callable[["Evaluator", int], None]

UNCONDITIONAL = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "SEND"})
"""Jumps that never fall through (`SEND` is taken together with the loop behind it)."""

EXITS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})

STOPITERATION_ERROR = 3
"""The CALL_INTRINSIC_1 that every generator's outermost handler is made of."""

_RESTORING = frozenset({"SWAP", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST"})


@dataclass(frozen=True)
class Version:
    """What the frontend knows about one Python: a handler per opcode, and effects where `dis` tells another story."""

    handlers: Mapping[str, Handler]
    effects: Mapping[str, Callable[[int], int]]


@dataclass(frozen=True, slots=True)
class Region:
    """A protected region: on an exception the stack is cut to `depth` and control goes to `target`."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


class BasicBlock:
    """Instructions `start` to `end`; `preds` counts the ways in, exceptions not included."""

    __slots__ = ("end", "preds", "region", "start")

    def __init__(self, start: int, end: int):
        self.start, self.end = start, end
        self.preds = 0
        self.region: Region | None = None


@dataclass(slots=True)
class Decoded:
    """A code object as parallel lists; instructions are addressed by their index in them."""

    ops: list[int]
    args: list[int]
    units: list[int]
    targets: dict[int, int]
    blocks: dict[int, BasicBlock]


def _steps() -> list[int]:
    """The size in bytes of every instruction with its inline caches."""
    entries = dis._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(entries, dict):
        return [2 + 2 * entries.get(name, 0) for name in dis.opname]
    return [2 + 2 * n for n in entries] + [2] * (256 - len(entries))


def _signs() -> list[int]:
    signs = [0] * 256
    for op in dis.hasjrel:
        if op < 256:
            signs[op] = -1 if "BACKWARD" in dis.opname[op] else 1
    return signs


_STEP = _steps()
_SIGN = _signs()
_EXTENDED_ARG = dis.EXTENDED_ARG
_NOP = dis.opmap["NOP"]
_JUMPS = frozenset(dis.opmap[n] for n in UNCONDITIONAL if n in dis.opmap and n != "SEND")
_NO_FALL = frozenset(dis.opmap[n] for n in UNCONDITIONAL | EXITS if n in dis.opmap)


def is_jump(op: int) -> bool:
    return _SIGN[op] != 0


def falls_through(op: int) -> bool:
    return op not in _NO_FALL


def decode(code: CodeType) -> Decoded:
    raw = code.co_code
    ops: list[int] = []
    args: list[int] = []
    units: list[int] = []
    jumps: list[tuple[int, int]] = []
    index: dict[int, int] = {}  # of the instruction that starts at this byte
    start = at = extended = 0
    size = len(raw)
    while at < size:
        op = raw[at]
        arg = raw[at + 1] | extended
        if op == _EXTENDED_ARG:
            extended = arg << 8
            at += 2
            continue
        index[start] = len(ops)
        units.append(at >> 1)
        at += _STEP[op]
        sign = _SIGN[op]
        if sign:
            jumps.append((len(ops), at + sign * 2 * arg))
        ops.append(op)
        args.append(arg)
        start = at
        extended = 0
    targets = {k: index[t] for k, t in jumps}
    for k in targets:
        targets[k] = _thread(targets[k], ops, targets)
    regions = _regions(code.co_exceptiontable, index, len(ops)) if code.co_exceptiontable else []
    if regions:
        _drop_implicit(regions, ops, args)
    return Decoded(ops, args, units, targets, _cut(ops, targets, regions))


def _thread(target: int, ops: list[int], targets: dict[int, int]) -> int:
    """Where a jump to `target` ends up: jumps to jumps are jumps."""
    for _ in range(8):
        at = target
        while ops[at] == _NOP:
            at += 1
        if ops[at] not in _JUMPS or targets[at] == target:
            break
        target = targets[at]
    return target


def _cut(ops: list[int], targets: dict[int, int], regions: list[Region]) -> dict[int, BasicBlock]:
    size = len(ops)
    leaders = {0, *targets.values()}
    leaders.update(k + 1 for k in targets)
    leaders.update(k + 1 for k, op in enumerate(ops) if op in _NO_FALL)
    for r in regions:
        leaders.update((r.start, r.end, r.target))
    leaders.discard(size)
    starts = sorted(leaders)
    blocks = {a: BasicBlock(a, b) for a, b in zip(starts, [*starts[1:], size], strict=True)}
    blocks[0].preds = 1
    for t in targets.values():
        blocks[t].preds += 1
    for block in blocks.values():
        if ops[block.end - 1] not in _NO_FALL and block.end < size:
            blocks[block.end].preds += 1
    if regions:
        firsts = [r.start for r in regions]
        for block in blocks.values():
            k = bisect_right(firsts, block.start) - 1
            if k >= 0 and block.start < regions[k].end:
                block.region = regions[k]
    return blocks


def _regions(table: bytes, index: dict[int, int], size: int) -> list[Region]:
    """Parse the exception table (Objects/exception_handling_notes.txt in CPython's sources)."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    regions = []
    for k in range(0, len(numbers), 4):
        start, length, target, depth_lasti = numbers[k : k + 4]
        first = index[2 * start]
        last = index.get(2 * (start + length), size)
        regions.append(Region(first, last, index[2 * target], depth_lasti >> 1, bool(depth_lasti & 1)))
    return regions


def _drop_implicit(regions: list[Region], ops: list[int], args: list[int]) -> None:
    """Drop handlers the compiler adds and no user can see.

    They turn StopIteration into RuntimeError around a generator's body (generators do that by nature), and put
    back the locals an inlined comprehension shadows before the exception leaves the function with its locals.
    """

    def leaves(at: int) -> bool:
        if dis.opname[ops[at]] == "CALL_INTRINSIC_1" and args[at] == STOPITERATION_ERROR:
            at += 1
        else:
            while dis.opname[ops[at]] in _RESTORING:
                at += 1
        return dis.opname[ops[at]] == "RERAISE" and not any(r.start <= at < r.end for r in regions)

    while True:
        kept = [r for r in regions if not leaves(r.target)]
        if len(kept) == len(regions):
            return
        regions[:] = kept
