"""The checks are checked: an engine made of differences passes them, and every planted defect is caught."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mooncake_py
from tests.functions import CASES, by_name, share
from tests.harness import Case, check_case, children, inner, is_differentiable, map_tree, moved, rebuild, to_double

STEP = 1e-5
Pullback = Callable[[Any], tuple[Any, ...]]


def plain(value: Any) -> bool:
    """Made of numbers, arrays and tuples: the engine below restores nothing else."""
    return all(map(plain, value)) if isinstance(value, tuple) else children(value) is None


#: Differences of this step drown in the rounding of what computes in single precision inside, and differ from one call
#: to the next where sets of objects are gone through: in the order of addresses.
SAMPLE = share([case for case in CASES if not {"single", "sets"} & {*case.tags} and plain(case.args)])


def unit_cotangents(fn: Callable[..., Any], args: tuple[Any, ...], ybar: Any) -> tuple[Any, ...]:
    """The pullback by central differences along every coordinate (and, for complex numbers, its imaginary part)."""
    wide = to_double(args)

    def slope(position: int, path: tuple[int, ...], unit: Any) -> float:
        directions = [map_tree(lambda _: None, arg) for arg in args]
        directions[position] = placed(wide[position], path, unit)
        plus, minus = (inner(ybar, fn(*moved(wide, tuple(directions), t))) for t in (STEP, -STEP))
        return (plus - minus) / (2 * STEP)

    def of(value: Any, position: int, path: tuple[int, ...]) -> Any:
        if (parts := children(value)) is not None:
            return rebuild(value, [of(part, position, (*path, i)) for i, part in enumerate(parts)])
        if not is_differentiable(value):
            return None
        array = np.asarray(value)
        out = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            for unit in (1.0, 1j) if np.iscomplexobj(array) else (1.0,):
                e = np.zeros(array.shape, dtype=np.result_type(array, np.float64))
                e[index] = unit
                out[index] += unit * slope(position, path, e)
        return out if isinstance(value, np.ndarray) else type(value)(out[()])

    return tuple(of(arg, i, ()) for i, arg in enumerate(args))


def placed(value: Any, path: tuple[int, ...], unit: Any) -> Any:
    """A direction for `value` that is `unit` at the leaf at `path` and nothing elsewhere."""
    if not path:
        return unit if isinstance(value, np.ndarray) else unit[()]
    parts = children(value) or []
    return rebuild(
        value, [placed(v, path[1:], unit) if i == path[0] else map_tree(lambda _: None, v) for i, v in enumerate(parts)]
    )


def put_back(arg: Any, original: Any) -> None:
    if isinstance(arg, np.ndarray):
        arg.flags.writeable = True
        arg[...] = original
    elif isinstance(arg, list):
        arg[:] = copy.deepcopy(original)
    elif isinstance(arg, (dict, set)):
        arg.clear()
        arg.update(copy.deepcopy(original))


def difference_engine(spoil: Callable[[tuple[Any, ...]], tuple[Any, ...]], restore: bool = True) -> dict[str, Any]:
    """The public functions, by differences; `spoil` changes cotangents, without `restore` arguments stay written."""

    def value_and_pullback(fn: Callable[..., Any], *args: Any) -> tuple[Any, Pullback]:
        originals = copy.deepcopy(args)
        y = fn(*args)

        def pullback(ybar: Any) -> tuple[Any, ...]:
            for arg, original in zip(args, originals, strict=True):
                if restore:
                    put_back(arg, original)
            return spoil(unit_cotangents(fn, originals, ybar))

        # a view of an argument that was written changes when it is restored: what was returned must not
        return copy.deepcopy(y), pullback

    def build_rrule(fn: Callable[..., Any], *args: Any) -> Callable[..., tuple[Any, Pullback]]:
        return lambda *args: value_and_pullback(fn, *args)

    def value_and_grad(fn: Callable[..., Any], argnums: Any = 0) -> Callable[..., tuple[Any, Any]]:
        def both(*args: Any) -> tuple[Any, Any]:
            value, pullback = value_and_pullback(fn, *args)
            ds = pullback(type(value)(1.0))
            return value, ds[argnums] if isinstance(argnums, int) else tuple([ds[i] for i in argnums])

        return both

    return {"value_and_pullback": value_and_pullback, "build_rrule": build_rrule, "value_and_grad": value_and_grad}


def install(monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any]) -> None:
    for name, function in engine.items():
        monkeypatch.setattr(mooncake_py, name, function, raising=False)


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_differences_pass(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, difference_engine(lambda cotangents: cotangents))
    check_case(case)


def scaled(cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if c is None else type(c)(c * 1.001) if isinstance(c, float) else c * 1.001 for c in cotangents)


DEFECTS: dict[str, tuple[str, Callable[[tuple[Any, ...]], tuple[Any, ...]]]] = {
    "a thousandth too much": ("scalars.straight_line", scaled),
    "zero": ("scalars.straight_line", lambda cs: (0.0,)),
    "two arguments' cotangents exchanged": ("loops.over_zip", lambda cs: cs[::-1]),
    "a NumPy scalar for a float": ("scalars.straight_line", lambda cs: tuple(map(np.float64, cs))),
    "a float for an array": ("reductions.sum_all", lambda cs: (float(cs[0].sum()),)),
    "another shape": ("reductions.sum_all", lambda cs: (cs[0][:, None],)),
    "another dtype": ("reductions.sum_all", lambda cs: (cs[0].astype(np.float32),)),
    "a list for a tuple": ("structures.tuple_argument", lambda cs: (list(cs[0]),)),
    "zero for an integer": ("scalars.mixed_int_and_float", lambda cs: (cs[0], 0.0)),
    "one missing": ("loops.over_zip", lambda cs: cs[:1]),
    "not a tuple": ("scalars.straight_line", lambda cs: cs[0]),
    "a conjugate": ("scalars.complex_polynomial", lambda cs: (cs[0].conjugate(),)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defect_is_caught(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, spoil = DEFECTS[defect]
    install(monkeypatch, difference_engine(spoil))
    with pytest.raises(AssertionError):
        check_case(by_name(name))


def test_unrestored_arguments_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, difference_engine(lambda cotangents: cotangents, restore=False))
    with pytest.raises(AssertionError, match="restore"):
        check_case(by_name("mutation.argument_scaled"))


def test_other_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = difference_engine(lambda cotangents: cotangents)
    right = engine["value_and_pullback"]

    def wrong(fn: Callable[..., Any], *args: Any) -> tuple[Any, Pullback]:
        value, pullback = right(fn, *args)
        return np.nextafter(value, 9.0), pullback

    install(monkeypatch, engine | {"value_and_pullback": wrong})
    with pytest.raises(AssertionError, match="plain Python"):
        check_case(by_name("scalars.straight_line"))


def test_written_cotangent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = difference_engine(lambda cotangents: cotangents)
    right = engine["value_and_pullback"]

    def greedy(fn: Callable[..., Any], *args: Any) -> tuple[Any, Pullback]:
        value, pullback = right(fn, *args)

        def accumulate(ybar: Any) -> tuple[Any, ...]:
            cotangents = pullback(ybar)
            ybar += 1.0
            return cotangents

        return value, accumulate

    install(monkeypatch, engine | {"value_and_pullback": greedy})
    with pytest.raises(AssertionError, match="wrote into the cotangent"):
        check_case(by_name("elementwise.operators"))
