"""What holds for all tests."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """The garbage collector need not walk all collected tests while each of them runs."""
    gc.freeze()
