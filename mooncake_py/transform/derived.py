"""What a derivation gives: two functions, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from mooncake_py.closures import Holder
from mooncake_py.infer.types import T
from mooncake_py.ir.nodes import (
    BlockId,
    Function,
    Pos,
    node,
)
from mooncake_py.transform.adinfo import ADStmtInfo
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.lanes import Lanes, Path, Tree


@node
class Kept:
    """A forward value that the reverse run names, and how it gets there.

    `how`: "captured" (once per call), "pushed" (once per iteration) or "recomputed" (not stored). `what` is the name
    the user gave it, or says what the engine made it for; `pos` is where it was made. `part`: not the value itself is
    kept but this of it: "fdata", or an attribute.
    """

    how: str
    what: str | None
    pos: Pos
    type: T
    part: str = ""
    place: tuple[int, ...] = ()  # in the captures: the number, and for pushed ones what it is of how many at a time


@dataclass(frozen=True, slots=True)
class Planned:
    """What was decided for every statement of the canonical primal, for those who want to look."""

    canonical: Canonical
    lanes: Lanes
    plans: dict[BlockId, list[ADStmtInfo]]


Observer = Callable[[str, Any], None]


def ignore(stage: str, result: Any) -> None:
    """The observer that does not look."""


@dataclass(slots=True)
class Derived:
    """What a rule holds on to of its derivation: the trees of what goes in and comes out, what is changed and kept."""

    arg_trees: tuple[Tree, ...]
    lane_args: tuple[tuple[int, Path], ...]  # which fdata the forward takes after the primals
    result_tree: Tree
    in_place: bool  # does it change something that the pullback undoes?
    dynamic: bool  # does it make calls, decided when they run, which may do so?
    written_args: tuple[int, ...]  # parameters and cells whose objects the function itself writes to
    written_cells: tuple[int, ...]
    touched_args: tuple[int, ...]  # parameters, cells and globals whose objects it, or what it calls, may write to
    touched_cells: tuple[int, ...]
    touched_globals: tuple[tuple[Holder | None, str], ...]
    notes: tuple[tuple[int | None, str], ...]
    stored: tuple[str, ...]
    kept: tuple[Kept, ...]
    captures_memory: bool  # is anything captured that may be worth letting go of before the pullback is done?
    always_zero: tuple[int, ...]  # parameters whose cotangent is zero whatever the run

    @property
    def own_only(self) -> bool:
        """Does it, as far as is seen before the run, change nothing but what it makes?"""
        return not (self.touched_args or self.touched_cells or self.touched_globals)


@dataclass(slots=True)
class Derivation(Derived):
    """The result of a derivation: all that, and two functions in IR, which nobody needs once they are lowered."""

    forward: Function
    pullback: Function

    def without_code(self) -> Derived:
        return Derived(*[getattr(self, f.name) for f in fields(Derived)])
