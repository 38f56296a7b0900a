"""Parts of complex numbers. Those of a real one are itself and zero, as NumPy has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import inline, probed, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_complex


@inline
def _complex_of(t: Any, like: Any) -> Any:
    """A real cotangent as one of a complex argument."""
    return t + 0j if is_complex(like) else t


@inline
def _imaginary_of(t: Any, like: Any) -> Any:
    return t * 1j if is_complex(like) else None


@rrule(np.real, types=(Scalar,))
@rrule(np.real, types=(Array,), alias=(0,))
@rrule(np.ndarray.real, alias=(0,))
@rrule(np.generic.real)
@rrule(np.complexfloating.real, float.real, complex.real)
def real(z):
    def pullback(dy):
        return _complex_of(dy, z)

    return z.real, pullback


@rrule(np.imag, types=(Scalar,))
@rrule(np.imag, types=(Array,), alias=(0,))
@rrule(np.ndarray.imag, alias=(0,))
@rrule(np.generic.imag)
@rrule(np.complexfloating.imag, float.imag, complex.imag)
def imag(z):
    def pullback(dy):
        return _imaginary_of(dy, z)

    return z.imag, pullback


@rrule(np.conjugate, types=(Scalar,))
@rrule(np.conjugate, types=(Array,))
def conjugate_copy(z):
    def pullback(dy):
        return dy.conjugate() if is_complex(z) else dy

    return np.conjugate(z), pullback


@rrule(np.ndarray.conj, np.ndarray.conjugate, np.generic.conj, np.generic.conjugate, alias=(0,))
@rrule(complex.conjugate, float.conjugate)
def conjugate(z):
    def pullback(dy):
        return dy.conjugate() if is_complex(z) else dy

    return z.conjugate(), pullback


@rrule(np.angle, types=(Scalar,))
@rrule(np.angle, types=(Array,))
def angle(z, deg=False):
    def pullback(dy):
        if not is_complex(z):
            return None
        h = np.abs(z)
        t = dy * (1j * z) / h / h
        return t * (180.0 / math.pi) if deg else t

    return np.angle(z, deg), pullback


probed.update({np.real, np.imag, np.conjugate, np.angle, np.ndarray.conj, np.ndarray.conjugate, np.generic.conj})
probed.update({np.ndarray.real, np.ndarray.imag, np.generic.real, np.generic.imag, np.complexfloating.real})
probed.update({np.complexfloating.imag, complex.conjugate, float.conjugate, np.generic.conjugate})
probed.update({float.real, float.imag, complex.real, complex.imag})

_TWO = int(np.__version__.split(".")[0]) >= 2


@rrule(np.sign, types=(Scalar,))
@rrule(np.sign, types=(Array,))
def sign(x):
    """Constant; of a complex number, since NumPy 2, x / |x|: that turns with x."""
    if is_complex(x) and _TWO:
        y = np.sign(x)

        def turned(dy):
            size = np.abs(x)
            return (dy - y * np.real(np.conjugate(y) * dy)) * (size > 0) / np.where(size > 0, size, 1.0)

        return y, turned

    def pullback(dy):
        return None

    return np.sign(x), pullback


probed.add(np.sign)


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3])
_Z = np.array([0.5 + 0.2j, -0.7 + 1.0j, 0.3 - 0.7j])

CASES: list[RuleCase] = [
    case(np.sign, np.array([0.5 + 0.2j, -0.7 + 1.0j])), case(np.sign, 0.3 - 0.4j),
    case(np.real, _Z), case(np.real, _V), case(np.real, 0.3 + 0.2j), case(np.imag, _Z), case(np.imag, 0.3 + 0.2j),
    case(np.angle, _Z), case(np.angle, _Z, deg=True), case(np.angle, [0.5 + 0.2j, -0.7 + 1.0j], True),
    case(np.sign, [0.5 + 0.2j, -0.7 + 1.0j]), case(np.sign, _V, where=_V > 0.5, out=np.zeros(4)),
    case(np.sign, _Z, where=_V[:3] > 0.5, out=np.zeros(3, complex)), case(np.angle, 0.3 + 0.2j),
    case(np.ndarray.conj, _Z), case(np.conjugate, _Z), case(np.ndarray.conjugate, _Z),
    case(lambda z: z.real * z.imag, _Z), case(lambda x: x.real * 2, _V),
]  # fmt: skip
