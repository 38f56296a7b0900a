"""Gradients against the function itself, against hand-written gradients, and against other frameworks.

    python benchmarks/run.py                      every workload
    python benchmarks/run.py --only mlp --only heat
    python benchmarks/run.py --peers              HIPS autograd, PyTorch and JAX too (extra "peers")
    python benchmarks/run.py --ablate             what each optimisation is worth
    python benchmarks/run.py --json out.json --plot out.png

Everything in a row is measured in the same run, interleaved, as medians, with the garbage collector on and one BLAS
thread. Before anything is timed, our gradient and the hand-written one must agree with each other and with central
differences. Exits with 1 if one does not.
"""

from __future__ import annotations

import os

# Before NumPy is imported: threads that wait for each other would be most of the noise, and most of a small product.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse
import copy
import json
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import measure, report
from benchmarks.workloads import WORKLOADS, Workload

SWITCHES = ("specialise", "recompute", "trip_counts", "activity", "stack_folding", "tidy", "objects")
PEER_ORDER = ("autograd", "torch", "jax", "jax jit")
Gradients = tuple[Any, ...]


class WrongGradient(Exception):
    """A gradient that does not agree: nothing about its speed is worth printing."""


def our_gradient(work: Workload) -> Callable[..., tuple[Any, Gradients]]:
    from mooncake_py import value_and_grad

    return value_and_grad(work.fn, argnums=work.argnums)


def check(work: Workload, label: str, result: tuple[Any, Gradients], rtol: float = 1e-8) -> None:
    """`result` is a value and gradients: they must be the hand-written ones."""
    value, gradients = work.hand(*copy.deepcopy(work.args))
    compare(work, label, "value", result[0], value, rtol)
    if len(result[1]) != len(work.argnums):
        raise WrongGradient(f"{work.name}: {label} gives {len(result[1])} gradients, expected {len(work.argnums)}")
    for position, got, expected in zip(work.argnums, result[1], gradients, strict=True):
        compare(work, label, f"gradient {position}", got, expected, rtol)


def compare(work: Workload, label: str, what: str, got: Any, expected: Any, rtol: float) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    scale = float(np.max(np.abs(expected), initial=0.0)) + 1e-12
    if got.shape != expected.shape or not np.allclose(got, expected, rtol=rtol, atol=rtol * scale):
        raise WrongGradient(f"{work.name}: {what} of {label} differs from the hand-written one")


def check_against_differences(work: Workload) -> None:
    """One random direction per argument; the step suits functions of moderate curvature, as the workloads are."""
    rng = np.random.default_rng(0)
    _, gradients = work.hand(*copy.deepcopy(work.args))
    for position, gradient in zip(work.argnums, gradients, strict=True):
        arg = np.asarray(work.args[position])
        direction = rng.standard_normal(arg.shape) * np.maximum(np.abs(arg), 0.1)
        ends = []
        for t in (1e-6, -1e-6):
            args = list(copy.deepcopy(work.args))
            moved = arg + t * direction
            args[position] = moved if isinstance(args[position], np.ndarray) else float(moved)
            ends.append(work.fn(*args))
        expected = (ends[0] - ends[1]) / 2e-6
        terms = float(np.sum(np.abs(gradient * direction)))
        if abs(float(np.sum(gradient * direction)) - expected) > 1e-5 * max(abs(expected), terms, 1e-4):
            raise WrongGradient(f"{work.name}: the hand-written gradient {position} differs from central differences")


def run_workload(work: Workload, *, peers: bool, ablate: bool, rounds: int) -> report.Row:
    check_against_differences(work)
    args = copy.deepcopy(work.args)
    ours = our_gradient(work)
    check(work, "ours", ours(*args))
    variants: dict[str, Callable[[], object]] = {
        "primal": lambda: work.fn(*args),
        "hand": lambda: work.hand(*args),
        "ours": lambda: ours(*args),
    }
    remarks: list[str] = []
    if peers:
        from benchmarks.peers import peer_gradients

        for label, peer in peer_gradients(work, remarks):
            check(work, label, peer.result(), peer.rtol)
            variants[label] = peer.call
    seconds = measure.interleaved(variants, rounds=rounds)
    if ablate:
        seconds |= ablations(work, args, rounds)
    return report.Row(work.name, work.note, seconds, work.published, remarks)


def ablations(work: Workload, args: tuple[Any, ...], rounds: int) -> dict[str, float]:
    """One optimisation off at a time, and everything on, measured among them."""
    from mooncake_py import options

    gradients = {"all on": our_gradient(work)}
    around: dict[str, Callable[[], Any]] = {}
    for switch in SWITCHES:
        label = f"no {switch}"
        around[label] = partial(options, **{switch: False})
        with around[label]():
            gradients[label] = our_gradient(work)
            check(work, f"ours, {label}", gradients[label](*args))
    variants = {label: partial(gradient, *args) for label, gradient in gradients.items()}
    return measure.interleaved(variants, rounds=rounds, around=around)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", metavar="NAME", help="this workload only (may be repeated)")
    parser.add_argument("--peers", action="store_true", help="also run HIPS autograd, PyTorch and JAX")
    parser.add_argument("--ablate", action="store_true", help="also switch single optimisations off")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: for a first look, not for a claim")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="bar chart, PNG or SVG by the name's ending")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    options = parser.parse_args(argv)
    unknown = set(options.only or ()) - {work.name for work in WORKLOADS}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))} (--list names them)")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    chosen = parse(argv)
    if chosen.list:
        for work in WORKLOADS:
            print(f"{work.name:24s} {work.note}")
        return 0
    rows: list[report.Row] = []
    failures: list[str] = []
    for work in WORKLOADS:
        if chosen.only and work.name not in chosen.only:
            continue
        if sys.stderr.isatty():
            print(f"{work.name:<40s}", end="\r", file=sys.stderr)
        try:
            row = run_workload(work, peers=chosen.peers, ablate=chosen.ablate, rounds=7 if chosen.quick else 41)
        except WrongGradient as wrong:
            failures.append(str(wrong))
        except Exception as error:
            failures.append(f"{work.name}: {type(error).__name__}: {error}")
        else:
            rows.append(row)

    facts = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
    }
    print(f"CPython {facts['python']}, NumPy {facts['numpy']}, {facts['system']} {facts['machine']}")
    if rows:
        others = [label for label in PEER_ORDER if any(label in row.seconds for row in rows)]
        print(report.main_table(rows, others))
        for row in rows:
            for remark in row.remarks:
                print(f"  {row.name}: {remark}")
        if chosen.ablate:
            print("\nwith one optimisation off, times of the gradient over the full one's")
            print(report.ablation_table(rows, SWITCHES))
        if chosen.json:
            chosen.json.write_text(json.dumps(report.as_json(rows, facts), indent=1) + "\n", encoding="utf-8")
        if chosen.plot:
            title = f"gradient over primal, CPython {facts['python']}"
            report.plot(rows, ["hand", "ours", *others], chosen.plot, title)
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
