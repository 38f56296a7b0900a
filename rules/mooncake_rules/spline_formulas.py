"""B-splines in plain NumPy: values, and coefficients of what is fitted to data, for the derivatives by all of these.

Sources: C. de Boor, "A Practical Guide to Splines" (2001); P. Dierckx, "Curve and Surface Fitting with Splines"
(1993), for smoothing with a given residual; P. Green and B. Silverman, "Nonparametric Regression and Generalized
Linear Models" (1994), for smoothing with a given penalty. Points and coefficients stand along the first axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def values(t, c, x, k, nu):
    """The derivative of order nu at the points x, the first and the last polynomial going on beyond the knots."""
    n = len(t) - k - 1
    i = np.clip(np.searchsorted(t, x, "right") - 1, k, n - 1)
    column = (-1,) + (1,) * (c.ndim - 1)
    d = [c[i - k + j] for j in range(k + 1)]
    if nu > k:
        return d[0] * 0.0
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[i + j - k], t[i + j + 1 - r]
            if r <= nu:
                d[j] = (d[j] - d[j - 1]) * ((k - r + 1) / (high - low)).reshape(column)
            else:
                a = ((x - low) / (high - low)).reshape(column)
                d[j] = (1.0 - a) * d[j - 1] + a * d[j]
    return d[k]


def basis(t, x, k, nu):
    """What every coefficient contributes at the points x."""
    return values(t, np.eye(len(t) - k - 1), x, k, nu)


def differenced(t, c, k):
    """The coefficients of the derivative, for the knots without the first and the last."""
    n = len(t) - k - 1
    width = (t[k + 1 : n + k] - t[1:n]).reshape((-1,) + (1,) * (c.ndim - 1))
    return k * (c[1:n] - c[: n - 1]) / width


def summed(t, c, k):
    """The coefficients of the antiderivative, for the knots with the first and the last once more."""
    n = len(t) - k - 1
    width = (t[k + 1 : n + k + 1] - t[:n]).reshape((-1,) + (1,) * (c.ndim - 1))
    return np.concatenate([np.zeros((1, *c.shape[1:])), np.cumsum(c[:n] * width, axis=0) / (k + 1)])


def integral(t, c, a, b, k):
    whole = np.concatenate([t[:1], t, t[-1:]])
    ends = values(whole, summed(t, c, k), np.stack([a, b]), k + 1, 0)
    return ends[1] - ends[0]


# -- fitted to data ---------------------------------------------------------------------------------------


def knots_at(x, k, ends_given):
    """Where interpolation has its knots: at the data, or between them for an even degree."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    first, last = x[0] + np.zeros(k + 1), x[-1] + np.zeros(k + 1)
    if k == 1 or ends_given:
        return np.concatenate([first[1:], x, last[1:]])
    if k % 2:
        return np.concatenate([first, x[(k + 1) // 2 : len(x) - (k + 1) // 2], last])
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([first, middle[k // 2 : len(middle) - k // 2], last])


def interpolating(x, y, t, ends, k, orders):
    """The coefficients; `orders` are those of the derivatives given at the first and the last point, `ends` these."""
    if k == 0:
        return y
    left, right = orders
    rows = [basis(t, x[:1], k, m) for m in left] + [basis(t, x, k, 0)] + [basis(t, x[-1:], k, m) for m in right]
    n = len(left)
    given = [np.broadcast_to(v, y.shape[1:])[None] for v in ends]
    right_side = np.concatenate([*given[:n], y, *given[n:]])
    return solved(np.concatenate(rows), right_side)


def solved(a, b):
    return np.linalg.solve(a, b.reshape(len(b), -1)).reshape((a.shape[1], *b.shape[1:]))


def least_squares(x, y, w, t, k):
    a = w[:, None] * basis(t, x, k, 0)
    return solved(a.T @ a, np.tensordot(a.T * w, y, 1))


def roughness(x):
    """The integral of the squared second derivative of the natural spline, as a form of its values at x."""
    h = x[1:] - x[:-1]
    n = len(x)
    eye = np.eye(n)
    q = (eye[2:] - eye[1:-1]) / h[1:, None] - (eye[1:-1] - eye[:-2]) / h[:-1, None]
    r = np.diag((h[1:] + h[:-1]) / 3) + np.diag(h[1:-1] / 6, 1) + np.diag(h[1:-1] / 6, -1)
    return q.T @ np.linalg.solve(r, q)


def penalised(x, y, w, lam):
    """The values at x of the natural spline that minimises `sum(w (y - s(x))^2) + lam integral(s''^2)`."""
    return np.linalg.solve(np.diag(w) + lam * roughness(x), (w * y.T).T)


def cross_validation_slope(lam, x, y, w):
    """What is zero where the generalised cross-validation of the penalty is least (G. Wahba 1990)."""
    k = roughness(x)
    a = np.diag(w) + lam * k
    hat = np.linalg.solve(a, np.diag(w))
    change = -np.linalg.solve(a, k @ hat)
    free = len(x) - np.trace(hat)
    r = y - hat @ y
    return 2.0 * np.sum(r * r) * np.trace(change) - 2.0 * np.sum(r * (change @ y)) * free


# -- FITPACK's smoothing ----------------------------------------------------------------------------------


def jumps(t, k):
    """Those of the k-th derivatives of the basis functions at the inner knots, scaled as FITPACK does."""
    n = len(t) - k - 1
    inner = n - k
    rows = []
    for j in range(k + 1, n):
        row = []
        for i in range(n):
            v = 0.0
            if j - k - 1 <= i <= j:
                v = t[i + k + 1] - t[i]
                for m in range(i, i + k + 2):
                    if m != j:
                        v = v / (t[j] - t[m])
            row.append(v)
        rows.append(np.stack(row))
    return np.stack(rows) * ((t[n] - t[k]) / inner) ** k


def smoothing(x, y, w, t, k, s):
    """The coefficients of the spline whose weighted squared residuals sum up to s, as far as FITPACK goes.

    y has one column for each function. Its iteration is a rational one for the weight 1/p of the jumps; what is
    accepted depends on the data as it does there.
    """
    a = w[:, None] * basis(t, x, k, 0)
    right = w[:, None] * y
    exact = solved(a.T @ a, a.T @ right)
    n = len(t) - k - 1
    f3 = np.sum((right - a @ exact) ** 2) - s
    if n == k + 1 or abs(f3) < 0.001 * s:
        return exact
    ends = np.concatenate([t[: k + 1], t[n:]])
    lone = w[:, None] * basis(ends, x, k, 0)
    f1 = np.sum((right - lone @ solved(lone.T @ lone, lone.T @ right)) ** 2) - s
    b = jumps(t, k)
    p = n / np.sum(np.abs(np.diag(np.linalg.qr(a)[1])))
    p1, p3 = 0.0, np.inf
    first, third = False, False
    c = exact
    for _ in range(20):
        d = b / p
        c = solved(a.T @ a + d.T @ d, a.T @ right)
        p2 = p
        f2 = np.sum((right - a @ c) ** 2) - s
        if abs(f2) < 0.001 * s:
            return c
        if not third:
            if f2 - f3 <= 0.001 * s:
                p3, f3 = p2, f2
                p = p * 0.04
                if p <= p1:
                    p = p1 * 0.9 + p2 * 0.1
                continue
            third = bool(f2 < 0)
        if not first:
            if f1 - f2 <= 0.001 * s:
                p1, f1 = p2, f2
                p = p / 0.04
                if p3 != np.inf and p >= p3:
                    p = p2 * 0.1 + p3 * 0.9
                continue
            first = bool(f2 > 0)
        if f1 <= f2 or f2 <= f3:
            return c
        h1, h2, h3 = f1 * (f2 - f3), f2 * (f3 - f1), f3 * (f1 - f2)
        if p3 == np.inf:
            p = -(p2 * h1 + p1 * h2) / h3
        else:
            p = -(p1 * p2 * h3 + p2 * p3 * h1 + p1 * p3 * h2) / (p1 * h1 + p2 * h2 + p3 * h3)
        if f2 < 0:
            p3, f3 = p2, f2
        else:
            p1, f1 = p2, f2
    return c


def data_knots(t: Any, x: Any) -> Any:
    """Which data points the knots t are, and where they are means of two neighbours: t as a function of x.

    Knots that are neither are constants.
    """
    t, x = np.asarray(t, float), np.asarray(x, float)
    at = np.clip(np.searchsorted(x, t), 0, len(x) - 1)
    means = (x[1:] + x[:-1]) / 2
    between = np.clip(np.searchsorted(means, t), 0, len(means) - 1)
    is_point, is_mean = x[at] == t, means[between] == t
    matrix = np.zeros((len(t), len(x)))
    rows = np.arange(len(t))
    matrix[rows[is_point], at[is_point]] = 1.0
    mean = is_mean & ~is_point
    matrix[rows[mean], between[mean]] += 0.5
    matrix[rows[mean], between[mean] + 1] += 0.5
    return matrix, np.where(is_point | is_mean, 0.0, t)
