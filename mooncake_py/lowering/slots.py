"""Out of SSA: every variable that does not live on the stack gets a local slot.

Variables joined by a move share a slot where their live ranges allow it, hottest moves first; then slots are
handed out first-fit. Sets of variables are bit masks. Two variables interfere when one is live where the
other is written, so `conflicts[v]` (what is live where v is written) is looked up in both directions.

In derived code a variable that may be read where it was not written yet is None there: what a pullback needs of code
that was not come to, which many edges would bring to the function's end as parameters otherwise. Such variables are
live where the function starts, and written there.
"""

from __future__ import annotations

from mooncake_py.ir.nodes import BlockId, ForNext, Operand, Raise, Var
from mooncake_py.lowering.plan import Jump, PBlock, Plan

MOST_MISSES = 100
"""A slot that so many variables in a row could not have is not tried again: large functions keep hundreds of values
to their end."""


class Slots:
    __slots__ = ("cell_names", "names", "nones", "of")

    def __init__(self) -> None:
        self.of: dict[Var, int] = {}
        self.names: list[str] = []
        self.cell_names: list[str] = []  # names of the slots that hold cells of this frame
        self.nones: list[str] = []  # names of the slots that are None at the start


class _Numbers:
    """Bit numbers of the variables that need a slot."""

    __slots__ = ("bit", "conflicts", "vars")

    def __init__(self) -> None:
        self.bit: dict[Operand | None, int] = {}
        self.vars: list[Var] = []
        self.conflicts: list[int] = []

    def add(self, v: Var) -> None:
        if v not in self.bit:
            self.bit[v] = len(self.vars)
            self.vars.append(v)
            self.conflicts.append(0)


def allocate(plan: Plan, argnames: list[str], pinned: bool, derived: bool = False) -> Slots:
    """Slots for every variable that is stored; the first ones are the parameters', in order.

    `pinned`: nothing else may use the first parameter's slot (zero-argument `super` reads it).
    """
    numbers = _number(plan)
    unwritten = _conflicts(plan, numbers, derived)
    members, leader = _coalesce(plan, numbers)
    slots = _color(plan, numbers, members, leader, argnames, pinned)
    assert plan.cells.isdisjoint(unwritten), "a cell that is made later would have None in it"
    slots.nones = list(dict.fromkeys([slots.names[slots.of[v]] for v in unwritten]))
    return slots


def _number(plan: Plan) -> _Numbers:
    numbers = _Numbers()
    counts, folded, free = plan.counts, plan.folded, set(plan.fn.free)
    add = numbers.add
    for v in plan.fn.params:
        if v in counts:
            add(v)
    for p in plan.layout:
        for v in p.block.params:
            if v in counts and v not in free and v not in folded:
                add(v)
        for sel in p.sels:
            if sel.outs:
                for x in sel.outs:
                    if x is not None and x in counts:
                        add(x)
            elif sel.out is not None and sel.out in counts and sel.out not in folded:
                add(sel.out)
    return numbers


def _conflicts(plan: Plan, numbers: _Numbers, derived: bool) -> list[Var]:
    """Find what interferes; the result is what may be read before it is written.

    In derived code any statement of a block may raise, and what the handler reads may be what others write.
    """
    masks: dict[Operand | None, int] = {v: 1 << i for v, i in numbers.bit.items()}
    mask = masks.get
    read: dict[BlockId, list[int]] = {}  # by each statement
    uses: dict[BlockId, int] = {}
    defs: dict[BlockId, int] = {}
    sure: dict[BlockId, int] = {}  # what is not read in the handler as it was before the block
    at_end: dict[BlockId, int] = {}
    for p in plan.layout:
        end = 0
        for j in p.jumps:
            for _, a in j.moves:
                end |= mask(a, 0)
            if j.push is not None:
                end |= mask(j.push, 0)
        at_end[p.id] = end
        used, own = end, 0
        for x in p.block.params:
            own |= mask(x, 0)
        sure[p.id] = own
        if p.handler is not None:
            used |= _handler_uses(p.handler, masks)
        by_each = read[p.id] = []
        for sel in p.sels:
            by_this = 0
            for y in sel.operands:
                by_this |= mask(y, 0)
            for y in sel.reads:
                by_this |= mask(y, 0)
            by_each.append(by_this)
            used |= by_this
            own |= mask(sel.out, 0)
            for z in sel.outs:
                own |= mask(z, 0)
        uses[p.id], defs[p.id] = used & ~own, own
        if not derived:
            sure[p.id] = own
    live_in = dict(uses)
    live_out = dict.fromkeys(uses, 0)
    changed = True
    order = plan.layout[::-1]
    while changed:
        changed = False
        for p in order:
            out = 0
            for j in p.jumps:
                out |= live_in[j.target]
            live_out[p.id] = out
            new = uses[p.id] | (out & ~defs[p.id])
            if p.handler is not None:
                new |= live_in[p.handler.target] & ~sure[p.id]
            if new != live_in[p.id]:
                live_in[p.id] = new
                changed = True
    for p in plan.layout:
        live = live_out[p.id] | at_end[p.id]
        live = _walk(p, live, masks, numbers, live_in, read[p.id], derived)
        _written_together(p.block.params, live, numbers)
    entry = plan.layout[0]
    at_start = live_in[entry.id]
    given = set(plan.fn.params)
    unwritten = [v for v in numbers.vars if at_start & masks[v] and v not in given] if at_start else []
    _written_together((*plan.fn.params, *unwritten), at_start, numbers)
    return unwritten


def _handler_uses(j: Jump, masks: dict[Operand | None, int]) -> int:
    used = masks.get(j.push, 0)
    for _, a in j.moves:
        used |= masks.get(a, 0)
    return used


def _walk(
    p: PBlock,
    live: int,
    masks: dict[Operand | None, int],
    numbers: _Numbers,
    live_in: dict[BlockId, int],
    read: list[int],
    derived: bool,
) -> int:
    """Backwards through a block, from what is live at its end to what is live at its start; `read` by statement."""
    conflicts, bit = numbers.conflicts, numbers.bit
    caught = 0 if p.handler is None else live_in[p.handler.target] | _handler_uses(p.handler, masks)
    # The statement that raises is the last one, and its result is stored after it has not raised: what only
    # the handler needs may share the result's slot. Otherwise it is the terminator that raises.
    last = len(p.sels) - 2
    if caught and (last < 0 or type(p.block.term) in (ForNext, Raise)):
        live |= caught
        caught = caught if derived else 0
    for k in range(len(p.sels) - 1, -1, -1):
        sel = p.sels[k]
        if sel.outs:
            _written_together(sel.outs, live, numbers)
            for x in sel.outs:
                live &= ~masks.get(x, 0)
        elif sel.out is not None:
            i = bit.get(sel.out)
            if i is not None:
                live &= ~(1 << i)
                conflicts[i] |= live
        if caught and (k == last or (derived and k < last)):
            live |= caught
        live |= read[k]
    return live


def _written_together(written: tuple[Var | None, ...], live: int, numbers: _Numbers) -> None:
    bit, conflicts = numbers.bit, numbers.conflicts
    found = [bit[v] for v in written if v in bit]
    for i in found:
        live |= 1 << i
    for i in found:
        conflicts[i] |= live & ~(1 << i)


def _coalesce(plan: Plan, numbers: _Numbers) -> tuple[dict[int, int], list[int]]:
    """Unite the two ends of moves where nothing forbids it: leader -> members, and each variable's leader."""
    bit, conflicts, cells, folded = numbers.bit, numbers.conflicts, plan.cells, plan.folded
    leader = list(range(len(numbers.vars)))
    members = {i: 1 << i for i in leader}
    params = {bit[v] for v in plan.fn.params if v in bit}
    wanted: list[tuple[int, int, int]] = []
    for p in plan.layout:
        weight = -plan.loop_depth[p.id]
        for j in p.jumps if p.handler is None else (*p.jumps, p.handler):
            for q, a in j.moves:
                if type(a) is Var and a in bit and q in bit and a not in folded and (q in cells) == (a in cells):
                    wanted.append((weight, bit[q], bit[a]))
    wanted.sort(key=lambda w: w[0])
    for _, x, y in wanted:
        while leader[x] != x:
            x = leader[x]
        while leader[y] != y:
            y = leader[y]
        if x == y or (x in params and y in params):
            continue
        if conflicts[x] & members[y] or conflicts[y] & members[x]:
            continue
        if y in params:
            x, y = y, x
        leader[y] = x
        members[x] |= members.pop(y)
        conflicts[x] |= conflicts[y]
    return members, leader


def _color(
    plan: Plan, numbers: _Numbers, members: dict[int, int], leader: list[int], argnames: list[str], pinned: bool
) -> Slots:
    slots = Slots()
    slots.names = list(argnames)
    bit, conflicts, cells = numbers.bit, numbers.conflicts, plan.cells
    taken = [0] * len(argnames)  # per slot: its variables, and all they conflict with
    hostile = [0] * len(argnames)
    is_cell = [False] * len(argnames)
    used_names = dict.fromkeys([*argnames, *(v.name for v in plan.fn.free if v.name)], 1)
    where: dict[int, int] = {}
    for n, v in enumerate(plan.fn.params):
        i = bit.get(v)
        if i is not None:
            where[i] = n
            taken[n], hostile[n] = members[i], conflicts[i]
    if pinned and taken:
        hostile[0] = -1
    arguments = _cells_of_arguments(plan, bit) if cells else {}
    tried, misses = list(range(len(taken))), [0] * len(taken)
    for k, i in enumerate(members):
        if i in where:
            continue
        if k % MOST_MISSES == 0:
            tried = [n for n in tried if misses[n] < MOST_MISSES]
        mine, bad = members[i], conflicts[i]
        at = where.get(arguments.get(i, -1))
        if at is not None and not (bad & taken[at]) and not (hostile[at] & mine) and taken[at].bit_count() == 1:
            is_cell[at] = True  # the argument's slot becomes the cell's, and the name stays what the user wrote
            taken[at] |= mine
            hostile[at] |= bad
            where[i] = at
            continue
        cell = numbers.vars[i] in cells
        for n in tried:
            if not bad & taken[n] and not hostile[n] & mine and is_cell[n] == cell:
                misses[n] = 0
                break
            misses[n] += 1
        else:
            n = len(taken)
            tried.append(n)
            misses.append(0)
            taken.append(0)
            hostile.append(0)
            is_cell.append(cell)
            slots.names.append(_name(numbers, i, mine, used_names))
        taken[n] |= mine
        hostile[n] |= bad
        where[i] = n
    slots.cell_names = [slots.names[n] for n in range(len(taken)) if is_cell[n]]
    for i, v in enumerate(numbers.vars):
        while leader[i] != i:
            i = leader[i]
        slots.of[v] = where[i]
    return slots


def _cells_of_arguments(plan: Plan, bit: dict[Operand | None, int]) -> dict[int, int]:
    """For a cell made from an argument, that argument (by number)."""
    params = set(plan.fn.params)
    return {
        bit[sel.out]: bit[sel.operands[0]]
        for sel in plan.layout[0].sels
        if sel.kind == "make_cell" and sel.out in bit and sel.operands[0] in params
    }


def _name(numbers: _Numbers, i: int, mine: int, used: dict[str, int]) -> str:
    """The user's name for one of the variables in the slot, made unique; `_n` where there is none.

    `used` has the number that the last slot of each name got.
    """
    base = numbers.vars[i].name
    k = i
    mine >>= i + 1
    while base is None and mine:
        k += 1
        if mine & 1:
            base = numbers.vars[k].name
        mine >>= 1
    base = name = base or "_"
    n = used.get(base, 0)
    while name in used:
        n += 1
        name = f"{'' if base == '_' else base}_{n}"
    used[name] = 1
    used[base] = max(n, 1)
    return name
