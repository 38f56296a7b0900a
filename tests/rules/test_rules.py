"""The cases of every rule file: every second one inlined, the others called by a site, which hands them values.

Each on one Python, those of files whose functions take seconds to derive every third time; all of them both ways with
`MOONCAKE_ZOO=all`.

Some in a function that writes to arrays from outside, so that the run keeps book of all arrays it meets.
"""

from __future__ import annotations

import copy
import importlib.util
import pkgutil
from collections.abc import Hashable

import mooncake_rules
import numpy as np
import pytest

from mooncake_py import value_and_pullback
from mooncake_py.errors import MissingRule
from mooncake_py.registry import load_packs, rules_of
from mooncake_py.testing import RuleCase, check_grads, known_call, unknown_call
from tests.functions import ALL, share

load_packs()
CASES: list[tuple[str, RuleCase]] = []
for _info in pkgutil.iter_modules(mooncake_rules.__path__):
    if _info.name.startswith("scipy_") and importlib.util.find_spec("scipy") is None:
        continue
    _module = importlib.import_module(f"mooncake_rules.{_info.name}")
    CASES += [(f"{_info.name}-{i}-{c.name}", c) for i, c in enumerate(getattr(_module, "CASES", []))]
LONG = {
    *("numpy_choose", "numpy_iterators", "scipy_density", "scipy_distributions", "scipy_expect", "scipy_grid"),
    *("scipy_hierarchy", "scipy_hypergeometric", "scipy_ivp", "scipy_limits", "scipy_moments", "scipy_nquad"),
    *("scipy_rational", "scipy_samples", "scipy_sparse_converted", "scipy_stats_native", "scipy_stats_ufuncs"),
    *("scipy_surfaces", "scipy_transform"),
}


def one_way(way: int) -> list[tuple[str, RuleCase]]:
    """Those that are looked at in one of two ways: half of the cases, a sixth of those that take seconds."""
    return [c for i, c in enumerate(CASES) if ALL or i % (6 if c[0].split("-")[0] in LONG else 2) == way]


CALLED = share(one_way(0))
INLINED = share(one_way(1))


@pytest.mark.parametrize("case", [c for _, c in INLINED], ids=[name for name, _ in INLINED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_inlined(case: RuleCase) -> None:
    check_grads(*known_call(case.fn, case.args, case.kwargs))


@pytest.mark.parametrize("case", [c for _, c in CALLED], ids=[name for name, _ in CALLED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_called(case: RuleCase) -> None:
    check_grads(*unknown_call(case.fn, case.args, case.kwargs))


def writes_to_floats(case: RuleCase) -> bool:
    x = case.args[0] if case.args else None
    writes = isinstance(case.fn, Hashable) and any(0 in r.mutates for r in rules_of(case.fn))
    return writes and isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 1


WRITING = share([c for c in CASES if writes_to_floats(c[1])])


@pytest.mark.parametrize("case", [c for _, c in WRITING], ids=[name for name, _ in WRITING])
def test_between_reads_of_items(case: RuleCase) -> None:
    """What is read before and after it adds to one array of cotangents, which the rule may give another one."""
    given = [f"x{i}" for i in range(len(case.args))]
    call = ", ".join([*given, *(f"{k}=options[{k!r}]" for k in case.kwargs)])
    lines = ["a = x0[first] * x0[last]", f"f({call})", "return a * x0[first] * x0[last] * x0[first]"]
    n = case.args[0].ndim
    scope = {"f": case.fn, "options": case.kwargs, "first": (0,) * n, "last": (-1,) * n}
    exec(f"def around({', '.join(given)}):\n" + "".join(f"    {line}\n" for line in lines), scope)
    check_grads(scope["around"], case.args)


OUTSIDE = np.zeros(1)


@pytest.mark.parametrize("case", [c for _, c in CALLED[::20]], ids=[name for name, _ in CALLED[::20]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_arrays_outside_are_written_to(case: RuleCase) -> None:
    f, args = known_call(case.fn, case.args, case.kwargs)

    def call(*args):
        OUTSIDE[0] += 1.0
        return f(*args)

    check_grads(call, args)


@pytest.mark.parametrize("case", [c for _, c in INLINED[::32]], ids=[name for name, _ in INLINED[::32]])
@pytest.mark.filterwarnings("ignore")
def test_debug_mode_has_nothing_to_say(case: RuleCase) -> None:
    """Cotangents of numbers are numbers, inferred types are those of the values, results are new arrays."""
    f, args = known_call(case.fn, case.args, case.kwargs)
    try:
        y, pullback = value_and_pullback(f, *args, debug_mode=True)
        pullback(y)
    except MissingRule:  # a part of the result has no derivative
        pass


def in_fortran_order(x):
    if type(x) is np.ndarray:
        return np.asfortranarray(x)
    return type(x)(map(in_fortran_order, x)) if type(x) in (tuple, list) else x


def layout(y):
    if isinstance(y, (tuple, list)):
        return [layout(v) for v in y]
    return [s for n, s in zip(y.shape, y.strides, strict=True) if n > 1] if isinstance(y, np.ndarray) else type(y)


def has_matrices(case: RuleCase) -> bool:
    return any(type(x) is np.ndarray and x.ndim > 1 for x in case.args)


OTHERWISE = {  # by NumPy's iterator, a sum over no axis at all, and a diagonal that is a view whatever the order
    *(
        "numpy_choose-23-_signed-f64(3x4)_float",
        "numpy_choose-26-<lambda>-f64(3x4)",
        "numpy_iterators-3-_written-f64(2x3)",
    ),
    *("numpy_ufunc-62-ufunc.reduce-f64(3x4)-axis=[]", "numpy_einsum-34-einsum-ii->i_f64(3x3)-order=C"),
}
ORDERED = share([c for c in CASES if c[0].startswith("numpy_") and has_matrices(c[1]) and c[0] not in OTHERWISE])


@pytest.mark.parametrize("case", [c for _, c in ORDERED], ids=[name for name, _ in ORDERED])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_results_are_laid_out_as_numpy_lays_them_out(case: RuleCase) -> None:
    """What reshape copies and what it gives a view of depends on it."""
    f, args = unknown_call(case.fn, in_fortran_order(case.args), case.kwargs)
    assert layout(value_and_pullback(f, *args)[0]) == layout(f(*copy.deepcopy(args)))
