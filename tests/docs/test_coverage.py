"""The table of what is differentiated is complete, tested and written down."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re

import numpy as np
import pytest

from docs.coverage import DIFFERENTIABLE, Entry, entries, kind_of, library, page, report, share

LIBRARIES = {"numpy": (np.__version__, 0.95)}
if importlib.util.find_spec("scipy") is not None:
    LIBRARIES["scipy"] = (importlib.metadata.version("scipy"), 0.45)


@pytest.fixture(scope="module", params=sorted(LIBRARIES))
def found(request: pytest.FixtureRequest) -> tuple[str, list[Entry]]:
    return request.param, entries(library(request.param))


def test_no_name_is_unknown(found):
    """A release that adds a function makes this fail: give it a rule, or say in the table what it is."""
    assert [f"{e.space}.{e.name}" for e in found[1] if e.kind == "unknown"] == []


def test_every_function_that_is_differentiated_has_a_case(found):
    assert [f"{e.space}.{e.name}" for e in found[1] if e.kind in ("rule", "derived") and not e.tested] == []


def test_nearly_all_are_differentiated(found):
    name, es = found
    done, whole = share(es)
    assert whole == sum(e.kind in DIFFERENTIABLE for e in es)
    assert done >= LIBRARIES[name][1] * whole


def test_a_new_function_is_noticed():
    def new_function(x):
        return x

    assert kind_of(new_function)[0] == "python"  # derived only where a case goes through it
    assert kind_of(np.random.Generator.multivariate_hypergeometric)[0] == "unknown"


def test_the_page_is_up_to_date(found):
    """Written for one release of the library, it is compared where that is installed."""
    name, _ = found
    text = page(name).read_text(encoding="utf-8")
    written = re.search(r"`, for \w+ (\S+)\.\n", text)
    assert written is not None
    if written[1] != LIBRARIES[name][0]:
        pytest.skip(f"the page is of {name} {written[1]}")
    assert text == report(name), f"run `python -m docs.coverage {name}`"
