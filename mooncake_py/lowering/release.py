"""Slots are emptied by the last read of what they hold, for values worth it: arrays, whose memory is then free at once.

NumPy also writes the result of an operator into an operand that nobody else holds, if that is large: a temporary saved.
"""

from __future__ import annotations

from mooncake_py.lowering.assembler import Label, Line
from mooncake_py.lowering.native import V

_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", *_JUMPS})


class _Block:
    __slots__ = ("begin", "end", "kills", "live", "reads", "to")

    def __init__(self, begin: int):
        self.begin, self.end = begin, begin
        self.to: list[int] = []  # the blocks it goes to
        self.reads = self.kills = self.live = 0  # slots read before written, written, live at its end


def release(code: list[Line], names: set[str], none: int) -> list[Line]:
    """The code with the last reads of these slots emptying them; code with handlers, which may read them, as it is.

    `none` is the number of the constant None.
    """
    if not names or any(type(x) is not tuple and not isinstance(x, Label) for x in code):
        return code
    bit = {name: 1 << i for i, name in enumerate(sorted(names))}
    blocks = _blocks(code, bit)
    changed = True
    while changed:
        changed = False
        for b in reversed(blocks):
            live = 0
            for t in b.to:
                live |= blocks[t].reads | (blocks[t].live & ~blocks[t].kills)
            if live != b.live:
                b.live = live
                changed = True
    out: list[Line] = []
    for b in reversed(blocks):
        live = b.live
        for i in range(b.end - 1, b.begin - 1, -1):
            line = code[i]
            if type(line) is tuple and type(line[1]) is str and line[1] in bit:
                slot = bit[line[1]]
                if line[0] == "STORE_FAST":
                    live &= ~slot
                elif line[0] == "LOAD_FAST":
                    if not live & slot:
                        out += [
                            (name, none if name == "LOAD_CONST" else line[1], line[2]) for name in V.TAKE_FAST[::-1]
                        ]
                        live |= slot
                        continue
                    live |= slot
                else:
                    live |= slot
            out.append(line)
    out.reverse()
    return out


def _blocks(code: list[Line], bit: dict[str, int]) -> list[_Block]:
    blocks = [_Block(0)]
    at: dict[Label, int] = {}
    jumps: list[tuple[_Block, Label]] = []
    for i, line in enumerate(code):
        b = blocks[-1]
        if type(line) is not tuple:
            if b.begin != i:
                b.end = i
                blocks.append(_Block(i))
                b.to.append(len(blocks) - 1)
            assert isinstance(line, Label)
            at[line] = len(blocks) - 1
            continue
        name, arg, _ = line
        kind = type(arg)
        if kind is str:
            if arg in bit:
                slot = bit[arg]
                if name == "STORE_FAST":
                    b.kills |= slot
                elif not b.kills & slot:
                    b.reads |= slot
        elif kind is Label:
            jumps.append((b, arg))  # type: ignore[arg-type]
            b.end = i + 1
            blocks.append(_Block(i + 1))
            if name not in _ENDS:
                b.to.append(len(blocks) - 1)
        elif name in _ENDS:
            b.end = i + 1
            blocks.append(_Block(i + 1))
    blocks[-1].end = len(code)
    for b, label in jumps:
        b.to.append(at[label])
    return blocks
