"""Modules of the standard library, every function of them rebuilt, under their own test suites.

The suites' functions are rebuilt as well. What is left out looks at locals by name (`eval`, `locals()`) or at
the moment an object dies (a rebuilt function has other locals, and lets go of them later), or needs Ctrl-C.
A third of the suites on each Python; all of them with `MOONCAKE_ZOO=all`.
"""

from __future__ import annotations

import importlib
import io
import unittest

import pytest

from tests.functions import share
from tests.lowering.roundtrip import roundtripped

pytest.importorskip("test.support", reason="this Python comes without the standard library's tests")

SUITES: dict[str, tuple[list[str], set[str]]] = {
    "test_textwrap": (["textwrap"], set()),
    "test_heapq": (["heapq"], set()),
    "test_bisect": (["bisect"], set()),
    "test_fractions": (["fractions"], set()),
    "test_difflib": (["difflib"], set()),
    "test_colorsys": (["colorsys"], set()),
    "test_string": (["string"], set()),
    "test_json": (["json", "json.encoder", "json.decoder", "json.scanner"], set()),
    "test_argparse": (["argparse"], set()),
    "test_dataclasses": (["dataclasses"], set()),
    "test_contextlib": (["contextlib"], {"test_typo_exit"}),
    "test_with": ([], set()),
    "test_raise": ([], set()),
    "test_generators": ([], {"test_refcycle", "test_frame_resurrect", "test_raise_and_yield_from"}),
    "test_genexps": ([], set()),
    "test_listcomps": ([], set()),
    "test_scope": ([], {"testCellLeak", "testLocalsFunction"}),
    "test_unpack": ([], set()),
    "test_unpack_ex": ([], set()),
    "test_extcall": ([], set()),
    "test_keywordonlyarg": ([], set()),
    "test_call": ([], set()),
    "test_augassign": ([], set()),
    "test_compare": ([], set()),
    "test_class": ([], set()),
    "test_richcmp": ([], set()),
}


def _tests(suite: unittest.TestSuite, left_out: set[str]) -> unittest.TestSuite:
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(_tests(test, left_out))
        elif getattr(test, "_testMethodName", "") not in left_out:
            kept.addTest(test)
    return kept


@pytest.mark.parametrize("name", share([*SUITES]))
def test_suite(name: str) -> None:
    modules, left_out = SUITES[name]
    with roundtripped([*modules, f"test.{name}"]):
        try:
            for m in modules:
                importlib.import_module(m)
            module = importlib.import_module(f"test.{name}")
        except (unittest.SkipTest, ModuleNotFoundError) as e:
            pytest.skip(str(e))
        suite = _tests(unittest.defaultTestLoader.loadTestsFromModule(module), left_out)
        result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    faults = [f"{test}\n{text}" for test, text in (*result.failures, *result.errors)]
    assert not faults, "\n".join(faults)[-4000:]
    assert result.testsRun
