"""Calling Python functions: arguments of every kind, closures, recursion, lambdas, comprehensions, callables."""

import functools
import math
import operator
import types

import numpy as np

from tests.zoo.registry import add, case

AREA = "calls"
V = np.array([0.5, -1.2, 2.0, 0.3])
SCALE = 1.5


def square(x):
    return x * x


def affine(x, a=2.0, b=1.0):
    return a * x + b


def keyword_only(x, *, power=2, shift=0.5):
    return (x + shift) ** power


def positional_only(x, y, /, z):
    return x * y + z


def both_kinds(x, *rest, scale=1.0, **named):
    total = x * scale
    for r in rest:
        total = total * r
    return total + named.get("bias", 0.0) * 2


def pair(x):
    return x * x, math.sin(x)


@case(1.3)
def one_call(x):
    return square(x) + x


@case(1.3)
def calls_of_calls(x):
    return square(affine(square(x))) * affine(x)


@case(1.3, 0.4)
def defaults_and_keywords(x, y):
    return affine(x) + affine(x, y) * affine(b=x, x=y) + affine(y, b=square(x))


@case(1.3, 0.4)
def keyword_only_arguments(x, y):
    return keyword_only(x) + keyword_only(y, power=3) * keyword_only(x, shift=y)


@case(1.3, 0.4)
def positional_only_arguments(x, y):
    return positional_only(x, y, z=x * y) + positional_only(y, x, 2.0)


@case(1.3, 0.4)
def star_arguments_received(x, y):
    return both_kinds(x) + both_kinds(x, y, y) + both_kinds(y, x, scale=x, bias=y)


@case(1.3, 0.4)
def star_arguments_passed(x, y):
    args = (x, y, 3.0)
    return affine(*args) + positional_only(*args) + affine(x, *(y, 2.0)) + both_kinds(*args, x)


@case(1.3, 0.4)
def double_star_passed(x, y):
    options = {"a": 3.0, "b": 0.25}
    return affine(x, **options) * y + keyword_only(y, **{"power": 3})


@case(1.3, 0.4, 2.0)
def star_args_only(*values):
    total = 1.0
    for v in values:
        total = total * v + 1
    return total * len(values)


@case(1.3)
def default_from_global(x, scale=SCALE):
    return x * scale * SCALE


@case(1.3)
def default_dict_of_constants(x, table={"scale": 2.0, "steps": 2, "by": {"rate": 0.1, "acts": (math.sin, np.tanh)}}):  # noqa: B006
    for _ in range(table["steps"]):
        for act in table["by"]["acts"]:
            x = x - table["by"]["rate"] * act(table["scale"] * x)
    return x


@case(1.3)
def returns_a_pair(x):
    a, b = pair(x)
    return a * b + pair(b)[0]


@case(1.3)
def result_ignored(x):
    square(x)
    pair(x)
    return x * 3


@case(1.3)
def function_returning_none(x):
    def nothing(y):
        y * y

    nothing(x)
    return x * x


@case(1.3)
def nested_function(x):
    def inner(y):
        return y * x + math.cos(x)

    return inner(x) + inner(2.0)


@case(1.3, 0.4)
def closure_over_changed_variable(x, y):
    def inner():
        return x * y

    first = inner()
    x = y * 3
    return first * inner()


@case(1.3)
def nonlocal_accumulator(x):
    total = 0.0

    def feed(v):
        nonlocal total
        total = total + v * v
        return total

    feed(x)
    feed(x * 2)
    return total * feed(3.0)


@case(1.3)
def closure_in_loop(x):
    total = 0.0
    for i in range(4):

        def term(y):
            return y * x + i

        total = total + term(x * i)
    return total


@case(1.3)
def closure_over_loop_variable_late(x):
    i = 0

    def term():
        return x**i

    total = 0.0
    for i in range(1, 4):
        total += term()
    return total


@case(1.3)
def closure_chain(x):
    def outer(a):
        def middle(b):
            def inner(c):
                return a * b + c * x

            return inner

        return middle

    return outer(x)(2.0)(x * x)


@case(1.3)
def function_factory(x):
    def power(n):
        return lambda y: y**n * x

    cube, quad = power(3), power(4)
    return cube(x) + quad(0.5)


@case(1.3)
def lambdas(x):
    f = lambda y: y * math.sin(y)
    g = lambda y, k=x: y + k * y
    return f(x) + g(f(x)) + (lambda: x)()


@case(1.3)
def function_as_argument(x):
    def apply(f, v):
        return f(v) * v

    return apply(square, x) + apply(math.sin, x) + apply(lambda v: v + x, 2.0)


@case(math.cos, 1.3)
def active_function_argument(f, x):
    return f(x) * x


@case(1.3)
def choose_function(x):
    f = square if x > 1 else affine
    total = 0.0
    for g in (f, math.exp, affine):
        total = total + g(x)
    return total


@case(1.3)
def composed(x):
    def compose(f, g):
        return lambda v: f(g(v))

    return compose(compose(square, math.sin), affine)(x)


def factorial_like(x, n):
    if n == 0:
        return 1.0
    return (x + n) * factorial_like(x, n - 1)


add("recursion", factorial_like, 0.7, 5, area=AREA)


def fibonacci(x, n):
    return x if n < 2 else fibonacci(x, n - 1) + fibonacci(x, n - 2) * x


add("double_recursion", fibonacci, 0.7, 6, area=AREA)


def is_even(x, n):
    return x if n == 0 else is_odd(x * 1.1, n - 1)


def is_odd(x, n):
    return -x * x if n == 0 else is_even(x + 0.1, n - 1)


add("mutual_recursion", is_even, 0.7, 5, area=AREA)


@case(0.7)
def local_recursion(x):
    def power(n):
        return 1.0 if n == 0 else x * power(n - 1)

    return power(4) + power(1)


@case(V)
def recursive_sum(v):
    if len(v) == 1:
        return v[0] * v[0]
    half = len(v) // 2
    return recursive_sum(v[:half]) * recursive_sum(v[half:])


@case(0.7)
def bisection_like_recursion(x):
    def solve(lo, hi, depth):
        mid = (lo + hi) * 0.5 * x
        if depth == 0:
            return mid
        return solve(mid, hi, depth - 1) if mid < x else solve(lo, mid, depth - 1)

    return solve(0.0, 2.0, 6)


@case(V)
def list_comprehension(v):
    squares = [x * x for x in v]
    return sum(squares) + squares[1] * squares[-1]


@case(1.3)
def comprehension_with_condition(x):
    return sum([x**i for i in range(6) if i % 2])


@case(1.3)
def nested_comprehension(x):
    rows = [[x * i + j for j in range(3)] for i in range(2)]
    return sum([sum(row) * row[0] for row in rows])


@case(1.3, 0.4)
def comprehension_over_two_ranges(x, y):
    return sum([x**i * y**j for i in range(3) for j in range(i)])


@case(1.3)
def comprehension_captures(x):
    scale = x * 2
    return sum([scale * square(i * x) for i in range(4)])


@case(1.3)
def lambda_in_comprehension(x):
    functions = [lambda y, k=k: y * x**k for k in range(3)]
    return sum([f(x) for f in functions])


@case(V)
def array_from_comprehension(v):
    return np.array([math.sin(x) * x for x in v])


@case(V, 1.5)
def stack_of_comprehension(v, t):
    return np.stack([v * t**i for i in range(3)])


@case(V)
def comprehension_shadows_name(v):
    x = v[0]
    doubled = [x * 2 for x in v]
    return x * doubled[2]


@case(V)
def zip_comprehension(v):
    return max([abs(a - b) for a, b in zip(v, v[1:])]) * min([x for x in v])


add("partial", functools.partial(affine, b=0.5), 1.3, area=AREA)
add("partial_positional", functools.partial(both_kinds, 2.0, scale=3.0), 1.3, area=AREA)
add("lambda_itself", lambda x: x * x + 1, 1.3, area=AREA)
add("ufunc_itself", np.sin, V, area=AREA)
add("ufunc_on_float", np.exp, 0.3, area=AREA)


def _make_closure(scale):
    def scaled(x):
        return x * scale + scale

    return scaled


add("closure_itself", _make_closure(2.5), 1.3, area=AREA)
add("closure_over_array", _make_closure(np.array([1.0, -2.0])), np.array([0.5, 3.0]), area=AREA)


class Polynomial:
    """Holds constants only: instances with active attributes come with object support."""

    degree = 2

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, x):
        return self.a * x**self.degree + self.b

    def slope(self, x):
        return 2 * self.a * x

    @staticmethod
    def shift(x):
        return x + 0.5

    @classmethod
    def power(cls, x):
        return x**cls.degree


add("callable_object", Polynomial(2.0, 1.0), 1.3, area=AREA)
add("bound_method", Polynomial(2.0, 1.0).slope, 1.3, area=AREA)


@case(1.3)
def methods_of_constants(x):
    return QUADRATIC(x) * QUADRATIC.slope(x) + Polynomial.shift(x) + QUADRATIC.power(x)


QUADRATIC = Polynomial(3.0, -1.0)


@functools.wraps(square)
def _wrapped(*args, **kwargs):
    return square(*args, **kwargs) * 2


@case(1.3)
def decorated_function(x):
    return _wrapped(x) + _wrapped(x=x)


@case(1.3)
def many_parameters(x):
    def f(a, b, c, d, e, f, g, h):
        return a * b + c * d + e * f + g * h

    return f(x, 1, x * x, 2.0, 3, x, math.sin(x), x)


@case(1.3)
def global_constants(x):
    return x * SCALE + math.pi * np.e


def _marked(name):
    def mark(f):
        f.name = name
        return f

    return mark


@case(0.4)
def default_with_a_derivative_behind_a_decorator(x):
    @_marked("cube")
    def cube(v, k=x, *, m=x * x):
        return v**3 * k + m

    table = {}

    @table.setdefault("marked", _marked("square"))
    def square(v, k=x):
        return v * v * k

    return cube(x) * square(2.0)


@case(0.4)
def a_function_that_is_given_itself(x):
    fix = lambda f: (lambda z: z(z))(lambda z: f(lambda *a: z(z)(*a)))  # noqa: E731
    return fix(lambda again: lambda n, a: a if n == 0 else again(n - 1, a * x + n))(5, 1.0)


@case(0.4, 1.5)
def a_method_called_by_name_with_a_value(x, y):
    add, scale = operator.methodcaller("__add__", x), operator.methodcaller("__mul__", 2.0)
    return add(y) * scale(x)


@case(0.4, 1.5)
def methods_of_numbers_and_tuples_kept(x, y):
    whole = (x, y, x * y)
    kept = {"times": x.__mul__, "abs": complex(x, y).__abs__, "item": whole.__getitem__}
    steps = [x.__add__, y.__rsub__, kept["times"]]
    total = kept["abs"]() * kept["item"](2)
    for step in steps:
        total += step(y * total)
    return total


KEPT = [np.interp, np.sum, np.dot]


@case([0.5, 0.2, 0.1], V * 0.9)
def library_functions_with_everything_by_name(values, x):
    ends = np.interp(x=x, fp=values, xp=[0.0, 1.0, 2.0])
    kept = KEPT[0](fp=values, left=0.1, xp=[0.0, 1.0, 2.0], x=x) + KEPT[1](axis=0, a=[x, x * 2.0])
    joined = np.stack(axis=1, arrays=(values, values)) if len(values) > 1 else None
    return ends * kept, joined, np.convolve(v=values, a=x), KEPT[1](a=values)


def weighed(**options):
    return np.average(axis=0, **options)


@case(V)
def library_functions_with_names_from_a_dict(x):
    return weighed(weights=x + 2.0, a=np.outer(x, x)) * np.cumsum(**{"a": x})


@case(1.3)
def shared_variable_deleted(x):
    k = [x * 2]

    def drop():
        nonlocal k
        del k

    def put(values):
        nonlocal k
        k = values

    first = k
    drop()
    try:
        y = k[0]
    except NameError:
        y = x * x
    put([first[0] * x, x])
    return sum(k) * first[0] * y


@case(1.3)
def shared_variables_deleted_in_a_loop(x):
    k = x

    def drop():
        nonlocal k
        del k

    for i in range(3):
        drop()
        k = x * i
    try:
        drop()
        drop()
    except NameError:
        k = x * x
    return k * x


@case(1.3)
def methods_bound_by_hand(x):
    class A:
        def __init__(self, v):
            self.v = v

        def times(self, k=1.0):
            return self.v * k * x

    def half(self):
        return self.v * x * 0.5

    a = A(x)
    return sum([f() for f in (types.MethodType(A.times, a), A.times.__get__(a), types.MethodType(half, a))])


def _scaled_by(x, k=1.0, m=0.5, *, c=0.1):
    return x * k - m + c


def _stepped_by(f, x, *args, **kwargs):
    for _ in range(2):
        x = x - 0.3 * f(x, *args, **kwargs)
    return x


@case(0.4, 1.3)
def functions_with_default_values_given_on(x, y):
    total = _stepped_by(_scaled_by, x) + _stepped_by(_scaled_by, x, y) * _stepped_by(_scaled_by, y, x, c=y)
    return total - _stepped_by(_scaled_by, x, **{"m": x, "k": y}) * _stepped_by(lambda u, *v: u * sum(v), x, y, x)


@case(0.4, 1.3)
def arguments_that_grow_in_a_loop(x, y):
    total, args = 0.0, ()
    for i in range(3):
        total += _scaled_by(x, *args) * y
        args = (*args, x * i + y)
        total += max(x, *args) + sum((*args, x, *args))
    return total


@case(0.4, 1.3)
def arguments_of_one_number_or_another(x, y):
    total = 0.0
    for i in range(4):
        given = (x,) if i % 2 else (y, x)
        total += _scaled_by(y, *given) * _scaled_by(*given, y if i < 2 else x)
        try:
            total += _scaled_by(x, y, *given, *given)
        except TypeError:
            total *= 1.5
    return total


class _Fitted:
    def __init__(self, f, *args, **options):
        self.f, self.args, self.options = f, args, options

    @property
    def more(self):
        return (self.args[0] * 2.0,)

    def at(self, x):
        return self.f(x, *self.args, **self.options) + self.f(x, *self.more)

    def __call__(self, *args):
        return self.at(*args) * len((*args, *self.args))


@case(0.4, 1.3)
def arguments_that_an_object_keeps(x, y):
    fits = [_Fitted(_scaled_by, x), _Fitted(_scaled_by, y, x), _Fitted(_scaled_by, y, c=x)]
    return sum(f(y) for f in fits) + fits[0].at(x)


def _pair(x):
    return x * 2.0, x + 1.0


@case(0.4, 1.3)
def starred_results_and_lists(x, y):
    first, *rest = (*_pair(x), y, *[x * i for i in range(2)], *_pair(y))
    args = [y, x]
    whole = (*args, *rest)
    args.append(first)
    return _scaled_by(*_pair(x)) * sum(whole) + _scaled_by(*args) + _scaled_by(x, *_pair(y), c=whole[-1]) * len(rest)
