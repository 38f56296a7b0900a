"""The functions of `cmath`: holomorphic, so pullbacks multiply by the conjugate of the derivative."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from mooncake_py.registry import inline, probed, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex


@inline
def over(a: complex, b: complex) -> complex:
    """a / b as NumPy has it at b = 0: a pullback does not raise where the function did not."""
    return a / b if b else complex(math.inf, math.nan)


# by y, which says on which side of a branch cut x is: x * x has lost the sign of a zero
_TABLE: list[tuple[Callable, Callable[[Any, Any], Any]]] = [
    (cmath.exp, lambda x, y: y),
    (cmath.log10, lambda x, y: 1.0 / (x * math.log(10.0))),
    (cmath.sqrt, lambda x, y: over(0.5, y)),
    (cmath.sin, lambda x, y: cmath.cos(x)),
    (cmath.cos, lambda x, y: -cmath.sin(x)),
    (cmath.tan, lambda x, y: 1.0 + y * y),
    (cmath.sinh, lambda x, y: cmath.cosh(x)),
    (cmath.cosh, lambda x, y: cmath.sinh(x)),
    (cmath.tanh, lambda x, y: 1.0 - y * y),
    (cmath.asin, lambda x, y: over(1.0, cmath.cos(y))),
    (cmath.acos, lambda x, y: over(-1.0, cmath.sin(y))),
    (cmath.atan, lambda x, y: 1.0 / (1.0 + x * x)),
    (cmath.asinh, lambda x, y: over(1.0, cmath.cosh(y))),
    (cmath.acosh, lambda x, y: over(1.0, cmath.sinh(y))),
    (cmath.atanh, lambda x, y: 1.0 / (1.0 - x * x)),
]


@inline
def _like(t: Any, x: Any) -> Any:
    """The results are complex even where the argument is real: its cotangent is the real part."""
    return t if is_complex(x) else t.real


def _unary(f: Callable, derivative: Callable[[Any, Any], Any]) -> None:
    d = inline(derivative)

    def rule(x):
        y = f(x)

        def pullback(dy):
            return _like(dy * complex(d(x, y)).conjugate(), x)

        return y, pullback

    rrule(f)(rule)
    probed.add(f)


for _f, _d in _TABLE:
    _unary(_f, _d)


@rrule(cmath.log)
def log(x, base=None):
    if base is None:

        def pullback(dy):
            return _like(dy / complex(x).conjugate(), x)

        return cmath.log(x), pullback

    def pullback_base(dy):
        lb = cmath.log(base)
        dx, db = 1.0 / (x * lb), -cmath.log(x) / (base * lb * lb)
        return _like(dy * dx.conjugate(), x), _like(dy * db.conjugate(), base)

    return cmath.log(x, base), pullback_base


@rrule(cmath.phase)
def phase(z):
    """d arg z = Im(conj(z) dz) / |z|^2; zero at zero, as of `math.atan2`."""

    def pullback(dy):
        w = complex(z)
        h = abs(w)
        return _like(dy * 1j * (w / h) / h if h else 0j, z)

    return cmath.phase(z), pullback


@rrule(cmath.rect)
def rect(r, phi):
    y = cmath.rect(r, phi)

    def pullback(dy):
        unit = cmath.rect(1.0, phi)
        return (dy * unit.conjugate()).real, (dy * (1j * y).conjugate()).real

    return y, pullback


@rrule(cmath.polar)
def polar(z):
    y = cmath.polar(z)

    def pullback(dy):
        w = complex(z)
        t = 0j
        if dy[0] is not None and w:
            t = t + dy[0] * w / y[0]
        if dy[1] is not None and w:
            t = t + dy[1] * 1j * w / (y[0] * y[0])
        return _like(t, z)

    return y, pullback


probed.update({cmath.log, cmath.phase, cmath.rect, cmath.polar})
zero_derivative(cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose)

# -- cases ------------------------------------------------------------------------------------------------

CASES: list[RuleCase] = []
for _f in (*(f for f, _ in _TABLE), cmath.log, cmath.phase, cmath.polar):
    CASES.append(case(_f, 0.4 + 0.3j))
    if _f is not cmath.acosh:
        CASES.append(case(_f, 0.4))
CASES += [case(cmath.rect, 0.7, 0.3), case(cmath.log, 0.4 + 0.3j, 2.0), case(cmath.log, 0.4, 0.2 - 1.0j)]
