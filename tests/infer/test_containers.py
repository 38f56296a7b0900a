"""What containers of `collections` hold is known: nothing of these functions is decided when it runs."""

from __future__ import annotations

from collections import deque

from tests.infer.test_protocol import sites

XS = [1.0, 2.0, 3.0]


def test_deques() -> None:
    def ends(xs):
        d = deque(maxlen=2)
        s = 0.0
        for x in xs:
            d.append(x * x)
            d.appendleft(s)
            s += d.pop() * d[0] + d.popleft()
        return s + sum(d) + len(d)

    def moved(xs):
        d = deque([(x, [x]) for x in xs])
        d.rotate(2)
        d.extend([(2.0, [xs[0]])])
        d[0][1].append(xs[1])
        d.insert(1, d[-1])
        s = 0.0
        for x, ys in d.copy():
            s += x * ys[0]
        return s * list(d)[1][0]

    def of_argument(d, x):
        d.append(x)
        return d[0] * d[-1]

    assert sites(ends, XS) == 0
    assert sites(moved, XS) == 0
    assert sites(of_argument, deque(XS, 3), 2.0) == 0
