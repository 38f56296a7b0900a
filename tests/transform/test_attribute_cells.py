"""Attributes of inner functions that are only called are variables."""

from __future__ import annotations

from tests.derive import all_sites


def sums(xs):
    def push(x):
        push.total = push.total * 0.5 + x
        push.calls += 1
        return push.total

    push.total = xs[0]
    push.calls = 0
    for x in xs:
        push(x)
    return push.total * push.calls


def test_nothing_is_decided_when_they_run() -> None:
    assert all_sites(sums, [0.4, 1.3, 0.9]) == []
