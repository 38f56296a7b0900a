"""Work at a stretch."""

import gc
import sys

import pytest

from mooncake_py.undisturbed import undisturbed


def test_the_collector_rests_and_works_again_after_an_error() -> None:
    def fail() -> None:
        assert not gc.isenabled()
        raise ValueError("of the work")

    assert gc.isenabled()
    with pytest.raises(ValueError, match="of the work"):
        undisturbed(fail)
    assert gc.isenabled()


def test_where_the_collector_was_off_it_stays_off() -> None:
    gc.disable()
    try:
        assert undisturbed(divmod, 7, 2) == (3, 1)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_there_is_room_for_the_frames_of_a_derivation() -> None:
    def caller() -> int:
        return sys._getframe(1).f_code.co_stacksize

    # The interpreter takes the power of two that holds this and a thousand words more: half of it is left.
    asked_for = 8 * undisturbed(caller)
    chunk = 1 << (asked_for + 8000).bit_length()
    assert chunk - asked_for > 100_000
