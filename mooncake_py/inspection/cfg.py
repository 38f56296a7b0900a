"""Control flow graphs as pictures: blocks with their statements, edges, placed by graphviz where it is installed."""

from __future__ import annotations

import html
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any

from mooncake_py.ir.graph import rpo
from mooncake_py.ir.nodes import BlockId, Function, Pos, edges
from mooncake_py.ir.text import block_lines

CHAR, LINE, PAD, GAP = 6.6, 15.0, 8.0, 34.0
LONGEST = 72  # characters of a statement that are shown; all of it stands in the tip


@dataclass(slots=True)
class Box:
    """One block: its lines, each with the key of the source place it belongs to."""

    id: BlockId
    lines: list[tuple[str, str]]
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return 2 * PAD + CHAR * max(min(len(text), LONGEST) for text, _ in self.lines)

    @property
    def height(self) -> float:
        return 2 * PAD + LINE * len(self.lines)


@dataclass(slots=True)
class Graph:
    """Boxes with their places and the edges between them; `back` edges close loops."""

    boxes: dict[BlockId, Box]
    edges: list[tuple[BlockId, BlockId, bool]]
    width: float = 0.0
    height: float = 0.0
    curves: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # of graphviz, by edge


def key_of(pos: Pos | None) -> str:
    """What ties statements of all stages to one place in the source."""
    if pos is None or pos.line is None:
        return ""
    return f"{pos.line}:{pos.col}-{pos.end_line}:{pos.end_col}"


def graph_of(fn: Function) -> Graph:
    """The graph of a function, placed."""
    consts: list[Any] = []
    boxes = {
        b.id: Box(b.id, [(text, key_of(getattr(item, "pos", None))) for text, item in block_lines(b, consts)])
        for b in fn.blocks
    }
    order = {b: i for i, b in enumerate(rpo(fn.blocks))}
    for b in fn.blocks:
        order.setdefault(b.id, len(order))
    links = [(b.id, e.target, order[e.target] <= order[b.id]) for b in fn.blocks for e in edges(b.term)]
    g = Graph(boxes, links)
    if not _by_graphviz(g):
        _by_ranks(g, sorted(boxes, key=order.__getitem__))
    return g


def _by_ranks(g: Graph, order: list[BlockId]) -> None:
    """Rows by the longest way from the entry, blocks of one row beside each other."""
    rank = dict.fromkeys(order, 0)
    for b in order:
        for source, target, back in g.edges:
            if source == b and not back:
                rank[target] = max(rank[target], rank[b] + 1)
    rows: dict[int, list[Box]] = {}
    for b in order:
        rows.setdefault(rank[b], []).append(g.boxes[b])
    g.width = max(sum(x.width + GAP for x in row) for row in rows.values()) + GAP
    y = PAD
    for _, row in sorted(rows.items()):
        x = (g.width - sum(b.width for b in row) - GAP * (len(row) - 1)) / 2
        for box in row:
            box.x, box.y = x, y
            x += box.width + GAP
        y += max(b.height for b in row) + GAP
    g.height = y
    loops = sum(back for *_, back in g.edges)
    g.width += 2 * PAD + 12 * loops  # room for the edges that go back


def _by_graphviz(g: Graph) -> bool:
    """Places and curves from `dot`; False where there is none."""
    dot = shutil.which("dot")
    if dot is None:
        return False
    lines = ["digraph { node [shape=box fixedsize=true]; nodesep=0.3; ranksep=0.4;"]
    lines += [f"  {b} [width={x.width / 72:.3f} height={x.height / 72:.3f}];" for b, x in g.boxes.items()]
    lines += [f"  {a} -> {b};" for a, b, _ in g.edges]
    try:
        done = subprocess.run(
            [dot, "-Tplain"], input="\n".join([*lines, "}"]), capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return False
    rest: dict[tuple[int, int], list[int]] = {}
    for i, (a, b, _) in enumerate(g.edges):
        rest.setdefault((int(a), int(b)), []).append(i)
    by_number = {int(b): x for b, x in g.boxes.items()}
    for row in done.stdout.splitlines():
        f = row.split()
        if f[0] == "graph":
            g.width, g.height = float(f[2]) * 72 + 2 * PAD, float(f[3]) * 72 + 2 * PAD
        elif f[0] == "node":
            box = by_number[int(f[1])]
            box.x = float(f[2]) * 72 - box.width / 2 + PAD
            box.y = g.height - PAD - float(f[3]) * 72 - box.height / 2
        elif f[0] == "edge":
            n = int(f[3])
            xy = [float(v) * 72 for v in f[4 : 4 + 2 * n]]
            curve = [(x + PAD, g.height - PAD - y) for x, y in zip(xy[::2], xy[1::2], strict=True)]
            g.curves[rest[(int(f[1]), int(f[2]))].pop(0)] = curve
    return True


def svg(g: Graph, name: str) -> str:
    """The picture; every statement carries its key in `data-k`, its full text as tip."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cfg" data-cfg="{name}" width="{g.width:.0f}" '
        f'height="{g.height:.0f}" viewBox="0 0 {g.width:.0f} {g.height:.0f}" font-family="monospace" font-size="11">',
        f'<defs><marker id="tip-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#667"/></marker></defs>',
    ]
    loops = 0
    for i, (a, b, back) in enumerate(g.edges):
        loops += back
        style = ' stroke-dasharray="4 3"' if back else ""
        out.append(
            f'<path class="edge{" back" if back else ""}" d="{_curve(g, i, a, b, back, loops)}" fill="none" '
            f'stroke="{"#b36" if back else "#667"}"{style} marker-end="url(#tip-{name})"/>'
        )
    for box in g.boxes.values():
        out.append(
            f'<g class="block"><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="4" fill="#fff" stroke="#99a"/>'
        )
        for i, (text, key) in enumerate(box.lines):
            y = box.y + PAD + LINE * (i + 0.75)
            shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
            weight = ' font-weight="bold"' if i == 0 else ""
            out.append(
                f'<text class="stmt" data-k="{key}" x="{box.x + PAD:.1f}" y="{y:.1f}"{weight} xml:space="preserve">'
                f"<title>{html.escape(text.strip())}</title>{html.escape(shown)}</text>"
            )
        out.append("</g>")
    return "\n".join([*out, "</svg>"])


def _curve(g: Graph, i: int, a: BlockId, b: BlockId, back: bool, loop: int) -> str:
    points = g.curves.get(i)
    if points is not None:
        head = f"M{points[0][0]:.1f},{points[0][1]:.1f} C"
        return head + " ".join(f"{x:.1f},{y:.1f}" for x, y in points[1:])
    s, t = g.boxes[a], g.boxes[b]
    x0, y0 = s.x + s.width / 2, s.y + s.height
    x1, y1 = t.x + t.width / 2, t.y
    if back:
        right = max(x.x + x.width for x in g.boxes.values()) + 12 * loop
        y0, y1 = s.y + s.height / 2, t.y + LINE
        return f"M{s.x + s.width:.1f},{y0:.1f} H{right:.1f} V{y1:.1f} H{t.x + t.width:.1f}"
    half = (y1 - y0) / 2
    return f"M{x0:.1f},{y0:.1f} C{x0:.1f},{y0 + half:.1f} {x1:.1f},{y1 - half:.1f} {x1:.1f},{y1:.1f}"
