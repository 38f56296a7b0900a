"""Tables and pictures of benchmark results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Row:
    """Seconds per call of one workload, by variant ("primal", "hand", "ours", a peer, "without ...")."""

    name: str
    note: str
    seconds: dict[str, float]
    published: float | None = None
    remarks: list[str] = field(default_factory=list)

    def ratio(self, variant: str, base: str) -> float | None:
        if variant not in self.seconds or base not in self.seconds:
            return None
        return self.seconds[variant] / self.seconds[base]


def geometric_mean(values: Iterable[float | None]) -> float | None:
    logs = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def seconds_cell(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]], footer: Sequence[Sequence[str]] = ()) -> str:
    widths = [max(len(line[i]) for line in [header, *lines, *footer]) for i in range(len(header))]

    def row(line: Sequence[str]) -> str:
        first, *rest = line
        return "  ".join([first.ljust(widths[0]), *(text.rjust(w) for text, w in zip(rest, widths[1:], strict=True))])

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([row(header), rule, *map(row, lines), rule, *map(row, footer)])


def main_table(rows: Sequence[Row], others: Sequence[str]) -> str:
    """gradient/primal and gradient/hand, then the same work by `others`, each over the primal."""
    header = ["workload", "primal", "hand/primal", "ours/primal", "ours/hand", "seed", *others]
    lines = [
        [
            row.name,
            seconds_cell(row.seconds["primal"]),
            cell(row.ratio("hand", "primal")),
            cell(row.ratio("ours", "primal")),
            cell(row.ratio("ours", "hand")),
            cell(row.published),
            *(cell(row.ratio(other, "primal")) for other in others),
        ]
        for row in rows
    ]
    pairs = [("hand", "primal"), ("ours", "primal"), ("ours", "hand")]
    footer = []
    for label, summary in (("geometric mean", geometric_mean), ("worst", worst)):
        own = [cell(summary(row.ratio(*pair) for row in rows)) for pair in pairs]
        footer.append([label, "", *own, "", *(cell(summary(row.ratio(o, "primal") for row in rows)) for o in others)])
    return text_table(header, lines, footer)


def ablation_table(rows: Sequence[Row], switches: Sequence[str]) -> str:
    """How many times slower the gradient is with one optimisation switched off."""
    header = ["workload", "all on", *(f"no {switch}" for switch in switches)]
    lines = [
        [row.name, seconds_cell(row.seconds["all on"]), *(cell(row.ratio(f"no {s}", "all on")) for s in switches)]
        for row in rows
    ]
    means = [cell(geometric_mean(row.ratio(f"no {s}", "all on") for row in rows)) for s in switches]
    return text_table(header, lines, [["geometric mean", "", *means]])


def plot(rows: Sequence[Row], variants: Sequence[str], path: Path, title: str) -> None:
    """A bar chart of every variant over the primal, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(max(8.0, 0.55 * len(rows)), 5.0))
    width = 0.85 / len(variants)
    for k, variant in enumerate(variants):
        places = [i + (k - (len(variants) - 1) / 2) * width for i in range(len(rows))]
        heights = [row.ratio(variant, "primal") or math.nan for row in rows]
        axes.bar(places, heights, width, label=variant)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(yscale="log", ylabel="time / primal", title=title)
    axes.set_xticks(range(len(rows)), [row.name for row in rows], rotation=60, ha="right", fontsize=8)
    axes.legend()
    axes.grid(axis="y", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def as_json(rows: Sequence[Row], facts: Mapping[str, object]) -> dict[str, object]:
    return {
        **facts,
        "geometric_mean": {
            "ours/hand": geometric_mean(row.ratio("ours", "hand") for row in rows),
            "ours/primal": geometric_mean(row.ratio("ours", "primal") for row in rows),
        },
        "worst": {
            "ours/hand": worst(row.ratio("ours", "hand") for row in rows),
            "ours/primal": worst(row.ratio("ours", "primal") for row in rows),
        },
        "workloads": [
            {"name": r.name, "note": r.note, "seconds": r.seconds, "published": r.published, "remarks": r.remarks}
            for r in rows
        ],
    }
