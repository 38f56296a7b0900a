"""Small programs as people write them: solvers, simulations, models, statistics."""

import math

import numpy as np

from tests.zoo.registry import case

AREA = "programs"
V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
RNG = np.random.default_rng(7)


@case(3.0)
def newton_square_root(a):
    x = 1.0
    while True:
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-14:
            break
    return x


@case(2.0, 1.5)
def newton_kepler(mean_anomaly, scale):
    e = 0.3 * scale
    angle = mean_anomaly
    for _ in range(50):
        delta = (angle - e * math.sin(angle) - mean_anomaly) / (1 - e * math.cos(angle))
        angle -= delta
        if abs(delta) < 1e-14:
            break
    else:
        raise ValueError("no convergence")
    return math.cos(angle) - e


@case(0.3, 2.5)
def fixed_point(a, x):
    for _ in range(200):
        new = math.cos(a * x)
        if abs(new - x) < 1e-15:
            return new
        x = new
    return x


@case(0.2, 1.3)
def secant_method(a, b):
    def f(x):
        return x**3 - a * x - b

    x0, x1 = 1.0, 2.0
    for _ in range(9):
        y0, y1 = f(x0), f(x1)
        if abs(y1 - y0) < 1e-12:
            break
        x0, x1 = x1, x1 - y1 * (x1 - x0) / (y1 - y0)
    return x1


@case(1.2, 0.8)
def euler_pendulum(angle, damping):
    speed = 0.0
    for _ in range(40):
        speed += -0.05 * (math.sin(angle) + damping * speed)
        angle += 0.05 * speed
    return angle


@case(np.array([1.0, 0.5]), 0.7)
def runge_kutta_oscillator(y, omega):
    def slope(state):
        return np.array([state[1], -omega * omega * state[0]])

    h = 0.1
    for _ in range(10):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@case((1.1, 0.4, 0.1, 0.4))
def lotka_volterra(rates):
    alpha, beta, delta, gamma = rates
    prey, hunters = 10.0, 5.0
    path = np.zeros((30, 2))
    for i in range(30):
        path[i, 0], path[i, 1] = prey, hunters
        prey, hunters = (
            prey + 0.01 * (alpha - beta * hunters) * prey,
            hunters + 0.01 * (delta * prey - gamma) * hunters,
        )
    return path.mean(axis=0)


@case(np.sin(np.linspace(0, 3, 12)), 0.2)
def heat_equation_in_place(u, k):
    for _ in range(15):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case(np.sin(np.linspace(0, 3, 12)), 0.2)
def heat_equation_two_buffers(u, k):
    new = u.copy()
    for _ in range(6):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + k * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    return u


@case(np.cos(np.arange(25.0)).reshape(5, 5))
def laplace_sweeps(grid):
    for _ in range(3):
        for i in range(1, 4):
            for j in range(1, 4):
                grid[i, j] = 0.25 * (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1])
    return grid


@case(0.4, 1.6)
def trapezoid_rule(a, b):
    n = 20
    h = (b - a) / n
    total = 0.5 * (math.sin(a * a) + math.sin(b * b))
    for i in range(1, n):
        total += math.sin((a + i * h) ** 2)
    return total * h


@case(0.4, 1.6, 3.0)
def simpson_adaptive(a, b, k):
    def f(x):
        return math.exp(-k * x) * x

    def simpson(lo, hi):
        return (hi - lo) / 6 * (f(lo) + 4 * f((lo + hi) / 2) + f(hi))

    def refine(lo, hi, depth):
        mid = (lo + hi) / 2
        whole, parts = simpson(lo, hi), simpson(lo, mid) + simpson(mid, hi)
        if depth == 0 or abs(whole - parts) < 1e-15:
            return parts
        return refine(lo, mid, depth - 1) + refine(mid, hi, depth - 1)

    return refine(a, b, 3)


@case(V[:3], 0.7)
def polynomial_and_derivative(c, x):
    value, slope = 0.0, 0.0
    for k in range(len(c) - 1, -1, -1):
        slope = slope * x + value
        value = value * x + c[k]
    return value, slope


@case(np.sin(np.arange(6.0)).reshape(2, 3), np.cos(np.arange(12.0)).reshape(3, 4))
def matmul_by_loops(a, b):
    c = np.zeros((2, 4))
    for i in range(2):
        for j in range(4):
            for k in range(3):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[0.3, 1.0], [2.0, 0.7]]))
def kron_by_loops(a, b):
    out = np.empty((4, 4))
    for i in range(2):
        for j in range(2):
            out[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = a[i, j] * b
    return out


SPD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.7], [0.5, -0.7, 2.5]])


@case(SPD)
def cholesky_by_loops(a):
    n = len(a)
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = math.sqrt(total) if i == j else total / low[j, j]
    return low


@case(SPD, np.array([1.0, -2.0, 0.5]))
def gauss_solve(a, b):
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@case(SPD, np.array([1.0, -2.0, 0.5]))
def conjugate_gradient(a, b):
    x = np.zeros(3)
    r = b - a @ x
    p = r.copy()
    for _ in range(3):
        ap = a @ p
        alpha = (r @ r) / (p @ ap)
        x = x + alpha * p
        new_r = r - alpha * ap
        p = new_r + (new_r @ new_r) / (r @ r) * p
        r = new_r
    return x


@case(SPD)
def power_iteration(a):
    v = np.ones(3)
    for _ in range(30):
        v = a @ v
        v = v / np.sqrt(v @ v)
    return v @ a @ v


@case(np.array([0.5, 1.5, 0.2]))
def gaussian_process_kernel(log_parameters):
    x = np.linspace(0, 1, 5)
    y = np.sin(3 * x)
    amplitude, length, noise = np.exp(log_parameters)
    gaps = (x[:, None] - x[None, :]) / length
    k = amplitude * np.exp(-0.5 * gaps**2) + noise * np.eye(5)
    # Gauss-Jordan: log-likelihood with neither a solver nor a factorisation of NumPy's
    log_det = 0.0
    w = np.concatenate([k, y[:, None]], axis=1)
    for i in range(5):
        log_det += np.log(w[i, i])
        w[i] /= w[i, i]
        for j in range(5):
            if j != i:
                w[j] -= w[j, i] * w[i]
    return -0.5 * (y @ w[:, -1] + log_det + 5 * math.log(2 * math.pi))


X = RNG.standard_normal((8, 4))
LABELS = np.array([0, 2, 1, 1, 0, 2, 2, 1])


@case(RNG.standard_normal((4, 6)) * 0.5, np.zeros(6), RNG.standard_normal((6, 3)) * 0.5, np.zeros(3), X, LABELS)
def mlp_cross_entropy(w1, b1, w2, b2, x, labels):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    scores = scores - scores.max(axis=1, keepdims=True)
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean() + 1e-3 * (np.sum(w1**2) + np.sum(w2**2))


@case(RNG.standard_normal(4 * 6 + 6 + 6 * 3 + 3) * 0.4)
def mlp_flat_parameters(theta):
    w1 = theta[:24].reshape(4, 6)
    b1 = theta[24:30]
    w2 = theta[30:48].reshape(6, 3)
    b2 = theta[48:]
    hidden = np.maximum(X @ w1 + b1, 0)
    return ((hidden @ w2 + b2) ** 2).mean()


@case(RNG.standard_normal((3, 3)) * 0.5, RNG.standard_normal((3, 2)), np.zeros(3), RNG.standard_normal((6, 2)))
def rnn(w, u, h, inputs):
    for x in inputs:
        h = np.tanh(w @ h + u @ x)
    return h


@case(RNG.standard_normal((8, 5)) * 0.4, RNG.standard_normal((4, 3)))
def lstm(weights, inputs):
    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    h, c = np.zeros(2), np.zeros(2)
    for x in inputs:
        gates = weights @ np.concatenate([h, x])
        i, f, o, g = gates[:2], gates[2:4], gates[4:6], gates[6:]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h, c


@case(np.array([0.2, -0.1, 0.4, 0.3]))
def logistic_regression(beta):
    margin = X @ beta * np.where(LABELS == 1, 1.0, -1.0)
    return np.log1p(np.exp(-margin)).sum() + 0.5 * beta @ beta


@case(np.array([0.3, -0.5]), np.array([-1.0, 1.5]), np.array([0.1, -0.2]))
def mixture_log_likelihood(logits, means, log_scales):
    data = np.array([-1.2, 0.3, 1.9, 1.1, -0.4])
    log_w = logits - np.log(np.exp(logits).sum())
    z = (data[:, None] - means) / np.exp(log_scales)
    log_p = log_w - 0.5 * z**2 - log_scales - 0.5 * np.log(2 * np.pi)
    top = log_p.max(axis=1, keepdims=True)
    return (np.log(np.exp(log_p - top).sum(axis=1)) + top[:, 0]).sum()


@case(np.array([0.6, 0.3, 0.1]), np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]))
def hidden_markov_forward(start, transition):
    likelihoods = np.array([[0.5, 0.2, 0.1], [0.1, 0.7, 0.2], [0.3, 0.3, 0.9]])
    alpha = start * likelihoods[0]
    total = 0.0
    for row in likelihoods[1:]:
        norm = alpha.sum()
        total += np.log(norm)
        alpha = (alpha / norm) @ transition * row
    return total + np.log(alpha.sum())


@case(0.1, 0.3)
def kalman_filter(q, r):
    mean, var, loss = 0.0, 1.0, 0.0
    for z in (0.3, 0.5, 0.2, 0.9):
        var += q
        s = var + r
        loss += 0.5 * (math.log(s) + (z - mean) ** 2 / s)
        gain = var / s
        mean += gain * (z - mean)
        var *= 1 - gain
    return loss


@case(np.array([1.0, 2.0, 0.5]))
def gradient_descent_inside(target):
    x = np.zeros(3)
    for i in range(15):
        g = 2 * (x - target) + 0.4 * x**3
        x = x - 0.1 * g
        if np.sqrt(g @ g) < 1e-3:
            break
    return (x * x).sum()


@case(100.0, 0.2, 1.0, 0.05)
def black_scholes(spot, vol, time, rate):
    strike = 95.0
    d1 = (math.log(spot / strike) + (rate + vol**2 / 2) * time) / (vol * math.sqrt(time))
    d2 = d1 - vol * math.sqrt(time)

    def phi(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    return spot * phi(d1) - strike * math.exp(-rate * time) * phi(d2)


@case(100.0, 0.25)
def binomial_option_tree(spot, vol):
    n, rate = 6, 0.03
    dt = 1.0 / n
    up = math.exp(vol * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = np.array([max(spot * up ** (2 * i - n) - 97.0, 0.0) for i in range(n + 1)])
    for step in range(n):
        for i in range(n - step):
            values[i] = math.exp(-rate * dt) * (p * values[i + 1] + (1 - p) * values[i])
    return values[0]


@case(np.array([[0.0, 0.0], [1.0, 0.3], [0.4, 1.1], [-0.8, 0.5]]))
def pair_potential(points):
    n = len(points)
    energy = 0.0
    for i in range(n):
        for j in range(i):
            d = points[i] - points[j]
            r2 = d @ d
            energy += 1 / r2**3 - 2 / r2
    return energy


@case(np.array([[0.0, 0.0], [1.0, 0.3], [0.4, 1.1], [-0.8, 0.5]]))
def pair_potential_vectorised(points):
    d = points[:, None, :] - points[None, :, :]
    r2 = (d**2).sum(axis=-1) + np.eye(len(points))
    return np.sum(np.exp(-r2)) / 2


@case(V)
def moving_average(a):
    out = np.zeros(3)
    for i in range(3):
        out[i] = a[i : i + 3].mean()
    return out * out


@case(V, np.array([0.25, 0.5, 0.25]))
def convolution_by_loops(a, kernel):
    out = np.zeros(len(a) - 2)
    for i in range(len(out)):
        for k in range(3):
            out[i] += a[i + k] * kernel[2 - k]
    return out


@case(np.sin(np.arange(20.0)).reshape(4, 5), np.array([[1.0, 0.5], [-0.5, 2.0]]))
def convolution_2d(image, kernel):
    out = np.zeros((3, 4))
    for di in range(2):
        for dj in range(2):
            out += kernel[di, dj] * image[di : di + 3, dj : dj + 4]
    return np.maximum(out, 0).sum()


@case(np.array([0.1, 0.5, 0.9, 1.4]), 0.6)
def interpolation(ys, x):
    xs = (0.0, 0.5, 1.0, 1.5)
    i = 0
    while i < len(xs) - 2 and x > xs[i + 1]:
        i += 1
    t = (x - xs[i]) / (xs[i + 1] - xs[i])
    return (1 - t) * ys[i] + t * ys[i + 1]


@case(np.array([3.0, 1.0, 2.0, 4.5]), np.array([2.0, 2.5, 1.0, 4.0]))
def dynamic_time_warping(a, b):
    n = len(a)
    cost = np.full((n + 1, n + 1), 1e9)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            cost[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, n]


@case((1.0, 2.0), (0.5, -0.3))
def complex_multiplication_by_tuples(p, q):
    def mul(a, b):
        return (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])

    z = p
    for _ in range(3):
        z = mul(z, q)
        z = (z[0] + 0.1, z[1])
    return z


@case(0.3 + 0.1j)
def mandelbrot_orbit(c):
    z = 0j
    for _ in range(6):
        z = z * z + c
        if abs(z) > 2:
            break
    return abs(z)


@case(0.4)
def taylor_series(x):
    term, total, n = 1.0, 0.0, 0
    while abs(term) > 1e-16:
        total += term
        n += 1
        term = term * x / n
    return total


@case(1.7, 2.9)
def arithmetic_geometric_mean(a, b):
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


@case(0.3, 0.6, 0.9)
def rotation_matrices(a, b, c):
    def rotation(t):
        return np.array([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]])

    return rotation(a) @ rotation(b) @ rotation(c * a) @ np.array([1.0, 2.0])


@case(1.0, 0.5)
def cubic_root_by_bisection(a, b):
    lo, hi = 0.0, a + 2.0
    for _ in range(3):
        mid = 0.5 * (lo + hi)
        if mid**3 > a * 2 + b:
            hi = mid
        else:
            lo = mid
    return 0.5 * (lo + hi) * b


def _minor(a, j):
    return np.delete(np.delete(a, 0, 0), j, 1)


def _laplace(a):
    if len(a) == 1:
        return a[0, 0]
    total = 0.0
    for j in range(len(a)):
        total = total + (-1) ** j * a[0, j] * _laplace(_minor(a, j))
    return total


@case(np.array([[0.5, 1.2, -0.3], [0.7, -1.1, 0.4], [0.2, 0.9, 1.3]]))
def determinant_by_minors(a):
    return _laplace(a) ** 2


@case(np.array([0.5, -1.2, 2.0]))
def kalman_filter_of_matrices(z):
    x, p = np.array([0.0, 0.0]), np.eye(2) * 1.3
    f, h = np.array([[1, 0.1], [0, 1.0]]), np.array([[1.0, 0]])
    total = 0.0
    for zi in z:
        x, p = f @ x, f @ p @ f.T + np.eye(2) * 0.01
        s = h @ p @ h.T + np.array([[0.3]])
        k = p @ h.T @ np.linalg.inv(s)
        y = zi - (h @ x)[0]
        x, p = x + k[:, 0] * y, (np.eye(2) - k @ h) @ p
        total -= 0.5 * (np.log(np.linalg.det(2 * np.pi * s)) + y * y / s[0, 0])
    return total
