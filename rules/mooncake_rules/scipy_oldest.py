"""The oldest SciPy that the rules know: what they replace of its Python code is another in each version."""

from __future__ import annotations

import scipy

from mooncake_py.errors import MooncakeError

OLDEST = "1.16"


def refuse_older(version: str) -> None:
    """Raise where rules would be missing, or be for what is not there."""
    if tuple(map(int, version.split(".")[:2])) < tuple(map(int, OLDEST.split("."))):
        raise MooncakeError(
            f"SciPy {version} is older than what mooncake_py has rules for (SciPy {OLDEST}): "
            f'python -m pip install --upgrade "scipy>={OLDEST}"'
        )


refuse_older(scipy.__version__)
