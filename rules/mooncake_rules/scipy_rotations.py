"""Rotations as SciPy keeps them, quaternions (x, y, z, w): the derivatives of the compiled functions for them.

What is compiled multiplies any quaternions, of unit length or not, and so the pullbacks call it. v stands for the
vector part, u for that of unit length along an axis; q* is the conjugate of q.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_rules.common import unbroadcast

_SMALL = 1e-3
"""Angles below are taken by series, as SciPy does."""
Rule = Callable[..., tuple[Any, Callable[[Any], Any]]]


def as_arrays(y: Any) -> Any:
    """What compiled code gives is memory that has no arithmetic, in part."""
    if isinstance(y, tuple):
        return tuple(map(as_arrays, y))
    return y if y is None or isinstance(y, (float, np.ndarray, np.generic)) else np.asarray(y)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sum(a * b, axis=-1, keepdims=True)


def _quadratic() -> np.ndarray:
    """C such that the matrix of q has the elements q C q."""
    c = np.zeros((3, 3, 4, 4))
    x, y, z, w = range(4)
    for i, j, k in ((x, y, z), (y, z, x), (z, x, y)):
        c[i, i, i, i] = c[i, i, w, w] = 1.0
        c[i, i, j, j] = c[i, i, k, k] = -1.0
        for sign, row, column in ((-1.0, i, j), (1.0, j, i)):
            c[row, column, i, j] = c[row, column, j, i] = 1.0
            c[row, column, k, w] = c[row, column, w, k] = sign
    return c.reshape(9, 16)


_C = _quadratic()


def by_formula(compiled: Any, written: Callable[[str], Rule]) -> dict[str, Rule]:
    """The rules of a module's functions by their names; `written` gives that by SciPy's own Python code."""
    c = compiled

    def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.asarray(c.compose_quat(p, q))

    def conjugate(q: np.ndarray) -> np.ndarray:
        return np.asarray(c.inv(q))

    def pure(v: np.ndarray) -> np.ndarray:
        return np.concatenate([v, np.zeros((*v.shape[:-1], 1))], axis=-1)

    def from_quat(quat, normalize=True, copy=True, scalar_first=False):
        y = c.from_quat(quat, normalize, copy, scalar_first)

        def pullback(dy):
            if normalize:
                dy = (dy - y * _dot(y, dy)) / np.sqrt(_dot(quat, quat))
            return np.roll(dy, 1, axis=-1) if scalar_first else dy

        return y, pullback

    def as_quat(quat, canonical=False, scalar_first=False):
        y = np.asarray(c.as_quat(quat, canonical, scalar_first=scalar_first))

        def pullback(dy):
            dq = np.roll(dy, -1, axis=-1) if scalar_first else dy
            if not canonical:
                return dq
            same = _dot(np.roll(y, -1, axis=-1) if scalar_first else y, quat)
            return np.where(same < 0.0, -dq, dq)

        return y, pullback

    def compose_quat(p, q):
        def pullback(dy):
            dp, dq = product(dy, conjugate(q)), product(conjugate(p), dy)
            return unbroadcast(dp, p.shape), unbroadcast(dq, q.shape)

        return product(p, q), pullback

    def inv(quat):
        return conjugate(quat), conjugate

    def as_matrix(quat):
        def pullback(dy):
            k = (dy.reshape(-1, 9) @ _C).reshape(-1, 4, 4)
            return 2.0 * (k @ quat[..., None])[..., 0]

        return np.asarray(c.as_matrix(quat)), pullback

    def apply(quat, vectors, inverse=False):
        """y = q v q*, whose cotangent of q is -2 dy q v for vectors dy and v."""

        def pullback(dy):
            q = conjugate(quat) if inverse else quat
            dq = -2.0 * product(product(pure(dy), q), pure(vectors))
            dq = unbroadcast(conjugate(dq) if inverse else dq, quat.shape)
            return dq, unbroadcast(np.asarray(c.apply(quat, dy, not inverse)), vectors.shape)

        return np.asarray(c.apply(quat, vectors, inverse)), pullback

    def from_rotvec(rotvec, degrees=False):
        y = c.from_rotvec(rotvec, degrees)

        def pullback(dy):
            unit = np.pi / 180.0 if degrees else 1.0
            r = rotvec * unit
            a2 = _dot(r, r)
            small = a2 <= _SMALL**2
            a = np.sqrt(np.where(small, 1.0, a2))
            s = np.where(small, 0.5 - a2 / 48.0 + a2 * a2 / 3840.0, np.sin(a / 2.0) / a)  # of r in the vector part
            slope = np.where(small, -1.0 / 24.0 + a2 / 960.0, (np.cos(a / 2.0) / 2.0 - s) / (a * a))  # s' / a
            dv, dw = dy[..., :3], dy[..., 3:]
            return unit * (s * dv + r * (slope * _dot(r, dv) - s * dw / 2.0))

        return y, pullback

    def as_rotvec(quat, degrees=False):
        y = np.asarray(c.as_rotvec(quat, degrees))

        def pullback(dy):
            dr = dy * (180.0 / np.pi) if degrees else dy
            sign = np.where(_dot(y, quat[..., :3]) < 0.0, -1.0, 1.0)
            v, w = sign * quat[..., :3], sign * quat[..., 3:]
            n2 = _dot(v, v)
            n = np.sqrt(n2)
            a = 2.0 * np.arctan2(n, w)
            small = a <= _SMALL
            half = np.where(small, 1.0, a / 2.0)
            sine = np.sin(half)
            scale = np.where(small, 2.0 + a * a / 12.0, a / sine)
            slope = np.where(small, 1.0 / 6.0, (1.0 - half * np.cos(half) / sine) / (2.0 * half * sine))  # scale' / a
            da = slope * a * _dot(v, dr)
            size = n2 + w * w
            per = np.where(n > 0.0, 2.0 * w / (size * np.where(n > 0.0, n, 1.0)), 0.0)  # of the angle, by v
            return sign * np.concatenate([scale * dr + v * (da * per), -2.0 * da * n / size], axis=-1)

        return y, pullback

    def magnitude(quat):
        y = np.asarray(c.magnitude(quat))

        def pullback(dy):
            v, w = quat[..., :3], quat[..., 3:]
            n2 = _dot(v, v)
            n = np.sqrt(n2)
            t = 2.0 * np.asarray(dy)[..., None] / (n2 + w * w)
            return np.concatenate([v * (t * np.abs(w) / np.where(n > 0.0, n, 1.0)), -t * n * np.sign(w)], axis=-1)

        return y, pullback

    def axes(seq: str, angles: np.ndarray) -> np.ndarray:
        """The axes about which the rotations of Euler angles are made, all of them in the first frame, as rows."""
        intrinsic, n = seq.isupper(), len(seq)
        out = np.zeros((len(angles), n, 3))
        for i, letter in enumerate(seq.lower()):
            unit = np.zeros((1, 3))
            unit[0, "xyz".index(letter)] = 1.0
            before = slice(0, i) if intrinsic else slice(i + 1, n)
            if seq[before]:
                q = c.from_euler(seq[before], angles[:, before])
                unit = np.asarray(c.apply(q, unit))
            out[:, i] = unit
        return out

    def from_euler(seq, angles, degrees=False):
        """q changes by half of its product with a vector along the axis of each angle."""
        y = c.from_euler(seq, angles, degrees)

        def pullback(dy):
            unit = np.pi / 180.0 if degrees else 1.0
            given = np.reshape(angles, (-1, len(seq))) * unit
            half = product(np.reshape(dy, (-1, 4)), conjugate(np.reshape(y, (-1, 4))))[:, None, :3] / 2.0
            return None, np.reshape(unit * np.sum(axes(seq, given) * half, axis=-1), np.shape(angles)), None

        return y, pullback

    def as_euler(quat, seq, degrees=False, suppress_warnings=False):
        """The inverse of from_euler; where that has none the angles are SciPy's choice, differentiated as written."""
        y = np.asarray(c.as_euler(quat, seq, degrees, suppress_warnings))
        unit = np.pi / 180.0 if degrees else 1.0
        of_each = axes(seq, y * unit)
        if np.any(np.abs(np.linalg.det(of_each)) < 1e-6):
            return written("as_euler")(quat, seq, degrees, suppress_warnings)

        def pullback(dy):
            h = np.linalg.solve(of_each, dy[..., None] / unit)[..., 0]
            return product(pure(2.0 * h), quat), None, None, None

        return y, pullback

    rules = (from_quat, as_quat, compose_quat, inv, as_matrix, apply, from_rotvec, as_rotvec, magnitude, from_euler,
             as_euler)  # fmt: skip
    return {f.__name__: f for f in rules}
