"""A SciPy that is too old for the rules is refused by its version, not by what it lacks."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mooncake_py.errors import MooncakeError

scipy_oldest = pytest.importorskip("mooncake_rules.scipy_oldest")


@pytest.mark.parametrize("version", ["1.16.0", "1.17.0rc1", "1.20.dev0+git", "2.0.0"])
def test_known(version: str) -> None:
    scipy_oldest.refuse_older(version)


@pytest.mark.parametrize("version", ["1.15.3", "1.9.0", "0.19.1"])
def test_older(version: str) -> None:
    with pytest.raises(MooncakeError, match=rf"SciPy {version} is older .* install --upgrade \"scipy>=1.16\""):
        scipy_oldest.refuse_older(version)


def test_what_is_installed_with_the_extra_is_known() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["optional-dependencies"]["scipy"] == [f"scipy>={scipy_oldest.OLDEST}"]
