"""What a rule costs beside the adjoint written by hand, for NumPy's functions: a ratio where they are large, time where
they are small.

    python benchmarks/rules.py [NAME ...] [--large N] [--small N] [--json FILE]

Every case is called several times in one straight function, on arrays of their own. The difference between many calls
and one is the cost of the call itself: forward, and reverse with a given cotangent, in the derived functions. By hand
the same is written down without functions in between.
"""

from __future__ import annotations

import argparse
import json
import linecache
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RATIO, MICROSECONDS = 1.3, 1.5
MANY = 9


@dataclass(frozen=True)
class Case:
    """`call` computes y from the arguments a (and b); by hand, `reverse` computes da (and db) from its cotangent dy."""

    name: str
    args: tuple[Callable[[np.random.Generator, int], Any], ...]
    call: str
    reverse: str
    large: int | None = None  # n where it is large, if another than for most


def matrix(r: np.random.Generator, n: int) -> np.ndarray:
    return r.normal(size=(n, n))


def positive(r: np.random.Generator, n: int) -> np.ndarray:
    return r.uniform(0.5, 2.0, size=(n, n))


def regular(r: np.random.Generator, n: int) -> np.ndarray:
    return r.normal(size=(n, n)) / n**0.5 + 2.0 * np.eye(n)


def definite(r: np.random.Generator, n: int) -> np.ndarray:
    a = r.normal(size=(n, n))
    return a @ a.T / n + np.eye(n)


def vector(r: np.random.Generator, n: int) -> np.ndarray:
    return r.normal(size=n)


def row(r: np.random.Generator, n: int) -> np.ndarray:
    return r.normal(size=(1, n))


CASES = [
    # elementwise
    Case("sin", (matrix,), "np.sin(a)", "da = dy * np.cos(a)"),
    Case("exp", (matrix,), "np.exp(a)", "da = dy * y"),
    Case("log", (positive,), "np.log(a)", "da = dy / a"),
    Case("sqrt", (positive,), "np.sqrt(a)", "da = dy / (2.0 * y)"),
    Case("tanh", (matrix,), "np.tanh(a)", "da = dy * (1.0 - y * y)"),
    Case("square", (matrix,), "np.square(a)", "da = dy * (2.0 * a)"),
    Case("abs", (matrix,), "np.abs(a)", "da = dy * np.sign(a)"),
    Case("negative", (matrix,), "-a", "da = -dy"),
    Case("add", (matrix, matrix), "a + b", "da = db = dy"),
    Case("multiply", (matrix, matrix), "a * b", "da = dy * b\ndb = dy * a"),
    Case("divide", (matrix, positive), "a / b", "da = dy / b\ndb = -da * y"),
    Case("multiply by a number", (matrix,), "a * 2.5", "da = dy * 2.5"),
    Case("add a row", (matrix, row), "a + b", "da = dy\ndb = np.add.reduce(dy, 0, keepdims=True)"),
    Case("cube", (matrix,), "a**3", "da = dy * (3 * a**2)"),
    Case("power", (positive, matrix), "a**b", "da = dy * (b * a ** (b - 1))\ndb = dy * (y * np.log(a))"),
    Case("maximum", (matrix, matrix), "np.maximum(a, b)", "m = a > b\nda = dy * m\ndb = dy * ~m"),
    Case("arctan2", (matrix, positive), "np.arctan2(a, b)", "t = dy / (a * a + b * b)\nda = t * b\ndb = -t * a"),
    Case("hypot", (matrix, positive), "np.hypot(a, b)", "t = dy / y\nda = t * a\ndb = t * b"),
    Case("logaddexp", (matrix, matrix), "np.logaddexp(a, b)", "da = dy * np.exp(a - y)\ndb = dy * np.exp(b - y)"),
    Case("where", (matrix, matrix), "np.where(a > 0, a, b)",
         "m = a > 0\nda = np.where(m, dy, 0.0)\ndb = np.where(m, 0.0, dy)"),
    # reductions
    Case("sum", (matrix,), "np.sum(a)", "da = np.full((n, n), dy)"),
    Case("sum of columns", (matrix,), "np.sum(a, axis=0)", "da = np.empty((n, n))\nda[...] = dy"),
    Case("mean", (matrix,), "np.mean(a)", "da = np.full((n, n), dy / (n * n))"),
    Case("max of rows", (matrix,), "np.max(a, axis=1)",
         "m = a == y[:, None]\nda = m * (dy / np.sum(m, axis=1))[:, None]"),
    Case("var", (matrix,), "np.var(a)", "da = (a - np.mean(a)) * (dy * 2.0 / (n * n))"),
    Case("cumsum", (vector,), "np.cumsum(a)", "da = np.cumsum(dy[::-1])[::-1]"),
    # products
    Case("matmul", (matrix, matrix), "a @ b", "da = dy @ b.T\ndb = a.T @ dy"),
    Case("matrix by vector", (matrix, vector), "a @ b", "da = np.multiply.outer(dy, b)\ndb = a.T @ dy"),
    Case("dot of vectors", (vector, vector), "a @ b", "da = dy * b\ndb = dy * a"),
    Case("outer", (vector, vector), "np.outer(a, b)", "da = dy @ b\ndb = a @ dy"),
    Case("einsum", (matrix, matrix), "np.einsum('ij,jk->ik', a, b)",
         "da = np.einsum('ik,jk->ij', dy, b)\ndb = np.einsum('ij,ik->jk', a, dy)"),
    Case("kron", (matrix, vector), "np.kron(a, b)",
         "t = dy.reshape(n, n, n)\nda = t @ b\ndb = a.reshape(-1) @ t.reshape(n * n, n)", large=60),
    # linear algebra; values are those of NumPy's own call to the last bit, so that some decompositions are made twice
    Case("solve", (regular, vector), "np.linalg.solve(a, b)",
         "db = np.linalg.solve(a.T, dy)\nda = np.multiply.outer(-db, y)"),
    Case("inv", (regular,), "np.linalg.inv(a)", "t = y.T\nda = -(t @ dy @ t)"),
    Case("det", (regular,), "np.linalg.det(a)", "da = (dy * y) * np.linalg.inv(a).T"),
    Case("log of det", (regular,), "np.linalg.slogdet(a)[1]", "da = dy * np.linalg.inv(a).T"),
    Case("cholesky", (definite,), "np.linalg.cholesky(a)",
         "t = np.tril(y.T @ dy)\nt.ravel()[:: n + 1] *= 0.5\nv = np.linalg.inv(y)\n"
         "s = v.T @ (t + t.T) @ v\nda = np.tril(s)\nda.ravel()[:: n + 1] *= 0.5"),
    Case("eigvalsh", (definite,), "np.linalg.eigvalsh(a)",
         "v = np.linalg.eigh(a)[1]\nda = 2.0 * np.tril((v * dy) @ v.T)\nda.ravel()[:: n + 1] *= 0.5"),
    Case("singular values", (matrix,), "np.linalg.svd(a, compute_uv=False)",
         "u, s, v = np.linalg.svd(a)\nda = (u * dy) @ v"),
    Case("norm", (matrix,), "np.linalg.norm(a)", "da = a * (dy / y)"),
    Case("trace", (matrix,), "np.trace(a)", "da = np.zeros((n, n))\nda.ravel()[:: n + 1] = dy"),
    # shapes
    Case("transpose", (matrix,), "a.T", "da = dy.T"),
    Case("reshape", (matrix,), "a.reshape(-1)", "da = dy.reshape(n, n)"),
    Case("concatenate", (matrix, matrix), "np.concatenate([a, b])", "da = dy[:n]\ndb = dy[n:]"),
    Case("slice", (matrix,), "a[1:]", "da = np.zeros((n, n))\nda[1:] = dy"),
    Case("diag", (matrix,), "np.diag(a)", "da = np.zeros((n, n))\nda.ravel()[:: n + 1] = dy"),
]  # fmt: skip


def _function(source: str, name: str, serial: int) -> Callable[..., Any]:
    filename = f"<rules {serial} {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(source, filename, "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]


def _renamed(text: str, k: int) -> list[str]:
    """The lines of a template with the number of the call behind every local name."""
    return [
        re.sub(r"(?<![\w.])(a|b|y|da|db|dy|m|s|t|u|v)(?![\w(=]|\s*=[^=\s]|')", rf"\1_{k}", x) for x in text.splitlines()
    ]


def programs(case: Case, times: int, n: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(the function, the adjoint by hand: takes the cotangents and then the arguments)."""
    names = "ab"[: len(case.args)]
    args = ", ".join(f"{x}_{k}" for k in range(times) for x in names)
    body = [f"    y_{k} = {_renamed(case.call, k)[0]}" for k in range(times)]
    result = ", ".join(f"y_{k}" for k in range(times))
    plain = "\n".join([f"def plain({args}):", *body, f"    return ({result},)\n"])
    lines = [f"def by_hand(dys, {args}):", f"    n = {n}"]
    for k in range(times):
        lines += [f"    {x}" for x in _renamed(f"y = {case.call}", k)]
    lines += [f"    {', '.join(f'dy_{k}' for k in range(times))}, = dys"]
    for k in reversed(range(times)):
        lines += [f"    {x}" for x in _renamed(case.reverse, k)]
    grads = ", ".join(f"d{x}_{k}" for k in range(times) for x in names)
    lines += [f"    return ({result},), ({grads},)\n"]
    return _function(plain, "plain", times), _function("\n".join(lines), "by_hand", times)


def _seconds(calls: list[Callable[[], object]], budget: float) -> list[float]:
    """The best time of each: they take turns, so that a change of the machine's speed hits them all alike."""
    counts = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        counts.append(max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7))))
    samples: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(samples[0]) < 5:
        for call, count, out in zip(calls, counts, samples, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                call()
            out.append((time.perf_counter() - start) / count)
    return [statistics.quantiles(s, n=4)[0] for s in samples]


def compare(case: Case, n: int, budget: float = 1.0) -> tuple[float, float]:
    """Seconds of one call, forward and reverse: (with the rule, by hand)."""
    from mooncake_py import registry
    from mooncake_py.infer.abstraction import abstract
    from mooncake_py.runtime.rule import rule_for
    from mooncake_py.tangents import zero_fdata

    registry.load_packs()
    calls: list[Callable[[], object]] = []
    for times in (1, MANY):
        r = np.random.default_rng(0)
        args = [make(r, n) for _ in range(times) for make in case.args]
        plain, by_hand = programs(case, times, n)
        rule = rule_for(plain, tuple(abstract(x, True) for x in args), (), outermost=True)  # type: ignore[arg-type]
        forward, pullback = rule.forward, rule.pullback
        lanes = [i for i, _ in rule.lanes]  # arguments with a shadow of their own
        y, _, _ = forward(*args, *[zero_fdata(args[i]) for i in lanes])
        dys = tuple(np.float64(r.normal()) if np.ndim(v) == 0 else r.normal(size=np.shape(v)) for v in y)

        def ours(forward=forward, pullback=pullback, args=args, dys=dys, lanes=lanes):  # type: ignore[no-untyped-def]
            shadows = [zero_fdata(args[i]) for i in lanes]
            grads = list(pullback(forward(*args, *shadows)[2], dys))
            for i, shadow in zip(lanes, shadows, strict=True):
                grads[i] = shadow.take()
            return grads

        check(case, ours(), by_hand(dys, *args)[1])
        calls.append(ours)
        calls.append(lambda by_hand=by_hand, args=args, dys=dys: by_hand(dys, *args))  # type: ignore[misc]
    one, hand_one, many, hand_many = _seconds(calls, budget)
    return (many - one) / (MANY - 1), (hand_many - hand_one) / (MANY - 1)


def check(case: Case, ours: Any, by_hand: Any) -> None:
    """Both must be the same gradient."""
    for x, y in zip(ours, by_hand, strict=True):
        if not np.allclose(x, y, rtol=1e-6, atol=1e-8):
            raise AssertionError(f"{case.name}: the rule and the adjoint by hand differ")


def main() -> int:
    parser = argparse.ArgumentParser(description="the cost of rules")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--large", type=int, default=200, metavar="N")
    parser.add_argument("--small", type=int, default=4, metavar="N")
    parser.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="for each case and size")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    facts = {}
    missed = []
    print(f"{'':24s}{f'ratio at n={chosen.large}':>16s}{f'over hand at n={chosen.small}':>22s}")
    for case in CASES:
        if chosen.names and case.name not in chosen.names:
            continue
        ours, hand = compare(case, min(chosen.large, case.large or chosen.large), chosen.budget)
        small, hand_small = compare(case, chosen.small, chosen.budget)
        ratio, over = ours / hand, (small - hand_small) * 1e6
        facts[case.name] = {"ratio": ratio, "microseconds_over": over, "microseconds_by_hand": hand_small * 1e6}
        miss = (ratio > RATIO and (ours - hand) * 1e6 > MICROSECONDS) or over > MICROSECONDS
        if miss:
            missed.append(case.name)
        print(f"{case.name:24s}{ratio:16.2f}{over:+19.2f} us{'   *' if miss else ''}", flush=True)
    print(f"targets: ratio {RATIO}, {MICROSECONDS} us; missed by {len(missed)} of {len(facts)}")
    if chosen.json:
        found = {"python": sys.version.split()[0], "numpy": np.__version__, "rules": facts}
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
