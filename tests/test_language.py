"""The page on the language is what the zoo says, and what it calls refused is refused."""

from __future__ import annotations

import pytest

from mooncake_py import MooncakeError, value_and_grad
from tests.language import PAGE, REFUSED, Refused, areas, report


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == report(), "run `python -m tests.language`"


def test_the_zoo_is_large() -> None:
    assert sum(map(len, areas().values())) >= 300


@pytest.mark.parametrize("refused", REFUSED, ids=lambda r: r.f.__name__)
def test_refused(refused: Refused) -> None:
    with pytest.raises(MooncakeError, match=refused.says) as e:
        value_and_grad(refused.f)(1.3)
    assert "language.py" in str(e.value)
