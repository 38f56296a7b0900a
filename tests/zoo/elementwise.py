"""NumPy ufuncs, broadcasting, dtypes, where, powers, 0-d and empty arrays."""

import math

import numpy as np

from tests.zoo.registry import add, case

AREA = "elementwise"
V = np.array([0.6, -1.2, 2.1, 0.3])
P = np.array([0.4, 1.3, 2.2, 0.9])
M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])
U = np.array([0.5, -0.2, 0.7, -0.9])
Z = np.array([0.5 + 0.2j, -1.2 + 1.0j, 0.3 - 0.7j])

UNARY = {
    np.negative: V, np.positive: V, np.absolute: V, np.fabs: V, np.exp: V, np.exp2: V, np.expm1: V, np.log: P,
    np.log2: P, np.log10: P, np.log1p: P, np.sqrt: P, np.cbrt: P, np.square: V, np.reciprocal: P, np.sin: V,
    np.cos: V, np.tan: U, np.arcsin: U, np.arccos: U, np.arctan: V, np.sinh: V, np.cosh: V, np.tanh: V,
    np.arcsinh: V, np.arccosh: P + 1, np.arctanh: U, np.degrees: V, np.radians: V, np.deg2rad: V, np.rad2deg: V,
    np.sign: V, np.floor: V, np.ceil: V, np.rint: V, np.trunc: V,
}  # fmt: skip
for _ufunc, _at in UNARY.items():
    # `radians` and `deg2rad` are two ufuncs with names of their own
    add(f"np_{_ufunc.__name__}", _ufunc, _at, area=AREA)

BINARY = {
    np.add: (V, P), np.subtract: (V, P), np.multiply: (V, P), np.divide: (V, P), np.power: (P, V),
    np.maximum: (V, P), np.minimum: (V, P), np.fmax: (V, P), np.fmin: (V, P), np.arctan2: (V, P),
    np.hypot: (V, P), np.logaddexp: (V, P), np.logaddexp2: (V, P), np.remainder: (V, P), np.fmod: (V, P),
    np.floor_divide: (V, P), np.float_power: (P, V), np.copysign: (V, P - 1), np.ldexp: (V, np.array([1, 2, 0, -1])),
}  # fmt: skip
for _ufunc, _points in BINARY.items():
    add(f"np_{_ufunc.__name__}", _ufunc, *_points, area=AREA)


@case(V, P)
def operators(a, b):
    return (a + b) * (a - b) / b - (-a) + +b + b**2 + abs(a)


@case(V, 1.5)
def array_with_float(a, t):
    return t * a + a / t - (t - a) * 2 + t / (a + 5)


@case(V, 1.5)
def float_operators_reflected(a, t):
    return 1 - a + 2 / (a * a + t) + 2 ** (a * t)


@case(V, P)
def numpy_functions_mixed(a, b):
    return np.sin(a) * np.exp(-b) + np.log(b) * np.tanh(a) - np.sqrt(b + a * a)


@case(V)
def integer_powers(a):
    return a**2 + a**3 - a**1 + a**0 + a**-1


@case(P, V)
def array_to_the_array(a, b):
    return a**b


@case(1.7, V)
def float_to_the_array(t, b):
    return t**b + np.power(t, 2) * b


@case(np.array([0.0, 1.0, -2.0]))
def powers_at_zero(a):
    return a**2 + a**3 + np.square(a)


@case(np.array([0.0, 2.0, -3.0]))
def negative_base_integer_exponents(a):
    return a ** np.array([2, 3, 3])


@case(np.array([[1.0], [2.0], [-0.5]]), np.array([[0.5, -1.0, 2.0, 0.25]]))
def broadcast_column_row(a, b):
    return a * b + a


@case(M, np.array([1.0, -2.0, 0.5]))
def broadcast_vector_to_matrix(m, v):
    return m * v - v / (m * m + 1)


@case(M, np.array([[2.0], [3.0]]), 0.5)
def broadcast_three_ways(m, c, t):
    return m * c + t * m - c / t


@case(np.array(1.5), V)
def broadcast_zero_d(s, v):
    return s * v + v / s


@case(np.arange(24.0).reshape(2, 3, 4) / 10, np.array([[1.0], [2.0], [3.0]]), np.array([0.1, 0.2, 0.3, 0.4]))
def broadcast_three_dimensions(t, c, v):
    return t * c + v * t - c * v


@case(np.array([2.0]), V)
def broadcast_length_one(a, v):
    return a * v + np.maximum(a, v)


@case(np.ones((1, 1)) * 0.7, M)
def broadcast_one_by_one(a, m):
    return (a * m).sum() + a


@case(np.array(0.7))
def zero_d_array(s):
    return s * s + np.sin(s)


@case(np.array(0.7))
def zero_d_item(s):
    return s.item() * 2 + float(s) * s[()]


@case(np.array(0.7), np.array(2.0))
def zero_d_power(s, p):
    return s**p + s**2


@case(np.zeros(0), 2.0)
def empty_array(a, t):
    return (a * t).sum() + t * t + len(a)


@case(np.zeros((0, 3)), np.ones(3))
def empty_matrix(m, v):
    return m * v, (m @ v).sum() + v.sum()


@case(V.astype(np.float32), P.astype(np.float32))
def single_precision(a, b):
    return a * b + np.sin(a) / b


@case(V.astype(np.float32), 1.5)
def single_precision_with_float(a, t):
    return t * a + np.exp(a) * 0.5


@case(V.astype(np.float32), P)
def single_and_double(a, b):
    return a * b + a


@case(V, tags=("single",))
def cast_to_single(a):
    b = a.astype(np.float32)
    return b * b + 1


@case(V)
def cast_to_same_dtype(a):
    return a.astype(float) * a.astype(np.float64, copy=False)


@case(V)
def cast_integer_data(a):
    weights = np.array([1, 2, 3, 4]).astype(np.float64)
    return a * weights


@case(V, np.array([3, 1, 2, 5]))
def integer_array_companion(a, n):
    return a * n + a**n + n


@case(V, np.array([True, False, True, True]))
def boolean_array_companion(a, mask):
    return a * mask + a * ~mask * 2


@case(Z)
def complex_arrays(z):
    return z * z + (1 + 2j) * np.exp(z) / (z + 3)


@case(Z, np.array([0.3, 0.4, -2.0]))
def complex_and_real_arrays(z, x):
    return z * x + x


@case(Z)
def complex_parts(z):
    return np.real(z) * np.imag(z) + np.abs(z) + np.conj(z).real + z.imag


@case(np.array([0.3, 0.4, -2.0]), np.array([1.0, 0.5, 0.1]))
def complex_from_real(x, y):
    z = x + 1j * y
    return np.abs(np.exp(z)) ** 2


@case(V)
def where_two_arrays(a):
    return np.where(a > 0, a * a, -3 * a)


@case(V, 2.0)
def where_scalars(a, t):
    return np.where(a > t, t, a) + np.where(a > 0, 1.0, t)


@case(M, np.array([1.0, -2.0, 0.5]), 0.3)
def where_broadcast(m, v, t):
    return np.where(m > v, m * v, t)


@case(V)
def relu_and_softplus(a):
    return np.maximum(a, 0) + np.maximum(0.0, a) * a + np.log1p(np.exp(-np.abs(a)))


@case(V)
def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


@case(V)
def clip_both_ways(a):
    return np.clip(a, -1.0, 1.5) * a + a.clip(0.0, 1.0)


@case(V, P)
def comparisons_are_inactive(a, b):
    return a * (a > b) + b * (a <= b) + (a != b).sum() * a


@case(V)
def sign_and_rounding(a):
    return np.sign(a) * a + np.floor(a) * a + np.round(a, 1)


@case(V)
def isfinite_tests(a):
    if np.isnan(a).any() or not np.isfinite(a).all():
        return a
    return a * 2


@case(V)
def float_functions_of_elements(a):
    return math.sin(a[0]) + math.exp(a[1]) * math.sqrt(a[2])


@case(V)
def numpy_scalar_arithmetic(a):
    x = a[0]
    y = np.float64(2.0) * x + x**2 - 1 / x
    return y * a[1] + abs(a[1])


@case(V)
def ufunc_methods_on_scalars(a):
    return np.sin(a[0]) * np.exp(a[1]) + np.maximum(a[2], 0.5) - np.float64(a[3])


@case(V, P)
def ufunc_keyword_dtype(a, b):
    return np.add(a, b, dtype=np.float64) * np.multiply(a, 2.0)


@case(1.5)
def array_built_from_float(t):
    return np.array([t, t * t, 1.0]) * t


@case(1.5, -0.5)
def nested_array_literal(a, b):
    m = np.array([[a, b], [-b, a * b]])
    return m * m


@case(V)
def asarray_of_array(a):
    return np.asarray(a) * np.asarray(a, dtype=float) + np.array(a)


@case(V)
def array_attributes(a):
    return a * a.size + a.shape[0] * a / a.ndim + a.real + a.itemsize


@case(0.3, V)
def logarithms_of_sums_that_are_zero(x, a):
    none = -math.inf + x
    nothing = np.array([-np.inf, 0.0, -np.inf, 1.0])
    y = np.logaddexp(np.logaddexp(none, 2.0 * none), x) + np.logaddexp2(np.logaddexp2(none, none), x)
    y = y + np.logaddexp(np.logaddexp(nothing + a, nothing * 2.0 + x), a)
    return y + np.logaddexp2(np.logaddexp2(nothing + a, none), a)
