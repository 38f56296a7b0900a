"""The public calls: what may be differentiated, by what, and what comes back."""

from __future__ import annotations

import copy
import functools
import math
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mooncake_py import (
    CotangentError,
    PullbackReuse,
    build_rrule,
    grad,
    jacobian,
    rrule,
    scoped_rules,
    value_and_grad,
    value_and_pullback,
)


def three(x, y, z):
    return x * y * y * z


class Model:
    scale = 3.0

    def __init__(self):
        self.k = 2.0

    def method(self, x):
        return self.k * x * x * self.scale

    def __call__(self, x):
        return self.k * x

    @classmethod
    def of_class(cls, x):
        return cls.scale * x

    @staticmethod
    def static(x):
        return x * x


def closure(k: float) -> Callable[[float], float]:
    def f(x):
        return k * x

    return f


def defaults(x, k=2.0, *rest, scale=1.0, **more):
    for r in rest:
        x = x * r
    for v in more.values():
        x = x * v
    return x * k * scale


@pytest.mark.parametrize("argnums, expected", [
    (0, 45.0), (1, 60.0), (2, 18.0), (-1, 18.0), ((0,), (45.0,)), ((0, 2), (45.0, 18.0)), ((2, 0), (18.0, 45.0)),
    ((-3, 1), (45.0, 60.0)), ([0, 1], (45.0, 60.0)),
])  # fmt: skip
def test_argnums(argnums: Any, expected: Any) -> None:
    g, both = grad(three, argnums), value_and_grad(three, argnums)
    for _ in range(2):  # the second call is the warm one
        assert g(2.0, 3.0, 5.0) == expected
        assert both(2.0, 3.0, 5.0) == (90.0, expected)


@pytest.mark.parametrize("f, x, expected", [
    (Model().method, 2.0, 24.0),
    (Model(), 2.0, 2.0),
    (Model.of_class, 2.0, 3.0),
    (Model.static, 2.0, 4.0),
    (functools.partial(three, 2.0, z=5.0), 3.0, 60.0),
    (functools.partial(functools.partial(three, 2.0), z=5.0), 3.0, 60.0),
    (functools.partial(Model().method), 2.0, 24.0),
    (functools.partial(np.multiply, 2.0), 3.0, 2.0),
    (closure(7.0), 2.0, 7.0),
    (lambda x: x * x, 3.0, 6.0),
    (math.sin, 0.0, 1.0),
    (np.sin, 0.0, 1.0),
    (np.exp, np.float64(0.0), 1.0),
    (abs, -2.0, -1.0),
    (float, 2.0, 1.0),
])  # fmt: skip
def test_callables(f: Callable[..., Any], x: Any, expected: float) -> None:
    assert grad(f)(x) == expected
    value, pullback = value_and_pullback(f, x)
    assert value == f(x) and pullback(1.0) == (expected,)
    assert build_rrule(f, x)(x)[1](1.0) == (expected,)


def test_functions_of_arrays_themselves() -> None:
    x = np.arange(3.0)
    assert grad(np.sum)(x).tolist() == [1.0, 1.0, 1.0]
    assert grad(np.ndarray.sum)(x).tolist() == [1.0, 1.0, 1.0]
    assert value_and_pullback(np.multiply, x, x + 1.0)[1](np.ones(3))[0].tolist() == [1.0, 2.0, 3.0]


def test_keywords() -> None:
    assert grad(three)(2.0, 3.0, z=5.0) == 45.0
    assert grad(three)(2.0, z=5.0, y=3.0) == 45.0
    assert grad(defaults)(1.0) == 2.0
    assert grad(defaults)(1.0, 3.0, 5.0, 7.0, scale=0.5, u=2.0, v=3.0) == 3.0 * 5.0 * 7.0 * 0.5 * 6.0
    assert grad(defaults, (0, 1, 2))(1.0, 3.0, 5.0) == (15.0, 5.0, 3.0)
    y, pullback = value_and_pullback(defaults, 1.0, 3.0, 5.0, scale=2.0)
    assert y == 30.0 and pullback(1.0) == (30.0, 10.0, 6.0)


def test_keywords_between_calls_without() -> None:
    g = grad(three)
    assert [g(2.0, 3.0, 5.0), g(2.0, 3.0, z=1.0), g(2.0, 3.0, 5.0)] == [45.0, 9.0, 45.0]


def test_one_gradient_function_for_many_signatures() -> None:
    g = grad(lambda x, n: np.sum(x * x * n))
    for _ in range(2):
        assert g(3.0, 2) == 12.0 and type(g(3.0, 2)) is float
        assert g(3.0, 2.0) == 12.0
        assert g(np.ones(2), 2).tolist() == [4.0, 4.0]
        assert g(np.ones((1, 2)), 2).tolist() == [[4.0, 4.0]]
        assert g(np.ones(2, np.float32), 2).dtype == np.float32


LOG: list[int] = []


def test_state_outside_goes_on_in_warm_calls() -> None:
    def logged(x):
        LOG.append(1)
        return x * x

    n = 0

    def counted(x):
        nonlocal n
        n += 1
        return x * n

    LOG.clear()
    g, h = value_and_grad(logged), value_and_grad(counted)
    assert [g(2.0) for _ in range(4)] == [(4.0, 4.0)] * 4 and len(LOG) == 4
    assert [h(2.0)[0] for _ in range(4)] == [2.0, 4.0, 6.0, 8.0] and n == 4


def test_names_and_docs_are_the_functions() -> None:
    def f(x):
        """What f is."""
        return x

    assert grad(f).__name__ == "f" and value_and_grad(f).__doc__ == "What f is."


# -- types of cotangents --


@pytest.mark.parametrize("cls", [float, np.float64, np.float32, np.float16])
def test_scalars_keep_their_type(cls: type) -> None:
    g = grad(lambda x: x * x * x)
    for _ in range(2):
        assert type(g(cls(2.0))) is cls and g(cls(2.0)) == 12.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex64, np.complex128])
def test_arrays_keep_their_dtype(dtype: Any) -> None:
    x = np.ones(3, dtype)
    y, pullback = value_and_pullback(lambda x: np.exp(x) * 2.0 + x[0], x)
    assert y.dtype == dtype and pullback(np.ones(3, dtype))[0].dtype == dtype
    assert grad(lambda x: np.sum(x.real * 2.0))(x).dtype == dtype


def test_single_precision_beside_double() -> None:
    a, b = np.ones(3, np.float32), np.ones(3)
    ds = grad(lambda a, b: np.sum(a * b), (0, 1))(a, b)
    assert [d.dtype for d in ds] == [np.float32, np.float64]


def test_what_has_no_derivative_gets_none() -> None:
    y, pullback = value_and_pullback(lambda x, n, s, i: x * n, 2.0, 3, "s", np.arange(3))
    assert y == 6.0 and pullback(1.0) == (3.0, None, None, None)


def test_an_argument_that_does_not_matter_gets_zeros() -> None:
    x = np.ones((2, 3))
    value, gradients = value_and_grad(lambda x, y: y * 2.0, (0, 1))(x, 1.5)
    assert value == 3.0 and gradients[1] == 2.0 and np.array_equal(gradients[0], np.zeros((2, 3)))


def test_structures_come_back_as_they_are() -> None:
    _, pullback = value_and_pullback(lambda t, d: t[0] * t[1][0] + d["a"], (2.0, [np.ones(2), 3]), {"a": 1.0, "b": "x"})
    (a, (b, none)), d = pullback(np.ones(2))
    assert (a, b.tolist(), none, d) == (2.0, [2.0, 2.0], None, {"a": 2.0, "b": None})


# -- buffers --


def in_place(x, y):
    x[0] = 0.0
    return x + y


X = np.arange(12.0).reshape(3, 4)
RETURNS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("identity", lambda x: x, (X,)),
    ("transposed", lambda x: x.T, (X,)),
    ("view", lambda x: x[1:, ::-1], (X,)),
    ("reshaped", lambda x: x.reshape(-1), (X,)),
    ("sum_of_two", lambda x, y: x + y, (X, X + 1.0)),
    ("difference", lambda x, y: x - y, (X, X + 1.0)),
    ("total", lambda x: x.sum(), (X,)),
    ("broadcast", lambda x, y: x + y, (X, np.ones(4))),
    ("product", lambda x, y: np.sum(x * y), (X, X + 1.0)),
    ("same_twice", lambda x, y: x * y, (X, X)),
    ("fortran", lambda x: x * 2.0, (np.asfortranarray(X),)),
    ("strided", lambda x: x * 2.0, (X[:, ::2],)),
    ("transposed_argument", lambda x: x * 1.0, (X.T,)),
    ("negative_strides", lambda x: x * 1.0, (X[::-1],)),
    ("tuple", lambda t: t[0] + t[1], ((X, X + 1.0),)),
    ("list", lambda t: t[0] + t[1], ([X, X + 1.0],)),
    ("in_place", in_place, (X.copy(), X + 1.0)),
]


def arrays(x: Any) -> list[np.ndarray]:
    if isinstance(x, np.ndarray):
        return [x]
    return [a for v in x for a in arrays(v)] if isinstance(x, tuple | list) else []


@pytest.mark.parametrize("f, args", [c[1:] for c in RETURNS], ids=[c[0] for c in RETURNS])
def test_gradients_are_buffers_of_their_own(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    y, pullback = value_and_pullback(f, *args)
    seed = y * 0.0 + 1.0
    gradients = arrays(pullback(seed))
    assert len(gradients) == len(arrays(args))
    foreign = [*arrays(args), *arrays(y), *arrays(seed)]
    for i, d in enumerate(gradients):
        assert d.flags.c_contiguous and d.flags.owndata and d.flags.writeable
        assert not any(np.shares_memory(d, other) for other in [*foreign, *gradients[:i]])


def test_writing_into_a_gradient_harms_nobody() -> None:
    x = np.arange(3.0)
    seed = np.ones(3)
    g = value_and_pullback(lambda x: x + 0.0, x)[1]
    for _ in range(2):
        (d,) = g(seed)
        assert d.tolist() == [1.0, 1.0, 1.0]
        d[:] = 7.0
    assert seed.tolist() == [1.0, 1.0, 1.0] and x.tolist() == [0.0, 1.0, 2.0]


def test_warm_gradients_are_buffers_of_their_own() -> None:
    g = grad(lambda x, y: np.sum(x + y), (0, 1))
    for _ in range(3):
        a, b = g(X, X + 1.0)
        assert not np.shares_memory(a, b) and a.flags.owndata and b.flags.owndata
        a[:] = b[:] = 0.0
    assert g(X, X)[0].tolist() == np.ones((3, 4)).tolist()


def test_a_python_scalar_result_of_zero_dimensions() -> None:
    value, gradient = value_and_grad(lambda x: np.sum(x, keepdims=True).reshape(()))(np.ones(3))
    assert value.shape == () and gradient.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda xs: xs[0] * xs[1], [2.0, 3.0], [3.0, 2.0]),
        (lambda t: t[0][0] * t[1], ([2.0], 3.0), ([3.0], 2.0)),
    ],
)
def test_a_pullback_over_containers_called_again_starts_at_zero(f: Any, x: Any, expected: Any) -> None:
    _, pullback = value_and_pullback(f, x)
    assert pullback.reusable
    for _ in range(3):
        assert pullback(1.0) == (expected,)
    assert jacobian(lambda x: np.array([f(x), 2.0 * f(x)]))(x) is not None


def test_jacobian_by_a_list() -> None:
    j = jacobian(lambda xs: np.array([xs[0] * xs[1], xs[0], xs[1]]))([2.0, 3.0])
    assert j[0].tolist() == [3.0, 1.0, 0.0] and j[1].tolist() == [2.0, 0.0, 1.0]


class Pair:
    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.a + other.a, self.b + other.b)

    def size(self) -> Any:
        return self.a * self.a + self.b * self.b


def adds_pairs(v):
    total = Pair(v[0], v[1]) + Pair(v[1], 1.0)
    return np.array([total.size(), total.a, v[0]])


def copies_pairs(v):
    p = Pair(v[0], v[1])
    q, r = copy.copy(p), copy.deepcopy(p)
    p.c = v[0] * v[1]
    return np.array([q.a * r.b, p.c * q.b, 1.0])


def reads_from_a_table(v):
    table = {"f": lambda p: p.size(), "xs": [v[0], v[1]]}
    return np.array([table["f"](Pair(*table["xs"])), table["xs"][1], 1.0])


def keeps_in_attributes(v):
    p = Pair(v[0], [v[1], v])
    p.more = {"c": p.b[0] * p.a}
    return np.array([p.more["c"], p.b[1][0] * p.a, p.a])


@pytest.mark.parametrize("f", [adds_pairs, copies_pairs, reads_from_a_table, keeps_in_attributes])
def test_a_pullback_over_new_objects_may_be_called_again(f: Any) -> None:
    v = np.array([2.0, 3.0])
    _, pullback = value_and_pullback(f, v)
    assert pullback.reusable
    rows = [pullback(row)[0] for row in (*np.eye(3), *np.eye(3))]
    h = 1e-6
    expected = np.transpose([(f(v + h * e) - f(v - h * e)) / (2.0 * h) for e in np.eye(2)])
    assert np.allclose(rows, [*expected, *expected]) and np.allclose(jacobian(f)(v), expected)


def test_an_object_that_is_returned_keeps_its_attributes() -> None:
    y, pullback = value_and_pullback(lambda x: Pair(x, x * x), 3.0)
    for _ in range(2):
        assert pullback({"a": 1.0, "b": 1.0}) == (7.0,) and (y.a, y.b) == (3.0, 9.0)


def overwrites(v):
    p = Pair(v[0], v[1])
    pairs = []
    pairs.append(p)
    p.a = p.a * v[1]
    return pairs[0].a


def deletes(v):
    p = Pair(v[0], v[1])
    a = p.a
    del p.a
    return a * p.b


def appends(v):
    xs = [v[0]]
    {"add": xs.append}["add"](v[1])
    return xs[0] * xs[1]


def writes_to_an_argument(v):
    {"scale": lambda x: x.__imul__(2.0)}["scale"](v)
    return v[0] * v[1]


def sets_an_attribute_of_an_argument(p):
    p.c = p.a * p.b
    return p.c


def lists(v):
    return sum([a**3 for a in v[1:]]) * v[0]


def fills(v):
    out = np.zeros(2)
    for i in range(2):
        out[i] = v[i] ** 2
    return out[0] * out[1]


@pytest.mark.parametrize("f", [overwrites, deletes, appends, lists, fills])
def test_a_function_that_changes_what_it_makes_runs_again_for_a_second_pullback(f: Any) -> None:
    _, pullback = value_and_pullback(f, np.array([2.0, 3.0]))
    assert not pullback.reusable
    first, second, third = (pullback(dy)[0] for dy in (1.0, 1.0, 2.0))
    assert np.any(first) and np.array_equal(first, second) and np.array_equal(2.0 * first, third)


def test_a_function_that_has_another_value_now_is_not_run_again_for_a_second_pullback() -> None:
    scale = [2.0, 3.0]
    x = np.array([4.0])
    _, pullback = value_and_pullback(lambda x: sum([v * scale[0] for v in x]), x)
    assert pullback(1.0)[0].tolist() == [2.0]
    scale.reverse()
    with pytest.raises(PullbackReuse, match="has another value now"):
        pullback(1.0)
    scale.reverse()
    assert pullback(1.0)[0].tolist() == [2.0] and x.tolist() == [4.0]


def drawn(x: Any) -> float:
    return sum([v * np.random.rand() for v in x])


@pytest.mark.parametrize(
    ("held", "dy"),
    [
        (lambda v: {"loss": v}, {"loss": 1.0}),
        (lambda v: [Pair(v, 1.0)], [{"a": 1.0, "b": 0.0}]),
        (lambda v: (0, {"a": (v,)}), (None, {"a": (1.0,)})),
    ],
)
def test_random_numbers_in_what_the_value_holds_are_other_ones(held: Any, dy: Any) -> None:
    _, pullback = value_and_pullback(lambda x: held(drawn(x)), np.array([1.0, 2.0]))
    assert not pullback.reusable
    pullback(dy)
    with pytest.raises(PullbackReuse, match="draws random numbers"):
        pullback(dy)


GENERATOR, OLD = np.random.default_rng(0), np.random.RandomState(0)
DICE = {"fair": random.Random(0)}


class Player:
    def __init__(self):
        self.dice = random.Random(3)

    def roll(self, n):
        return self.dice.randrange(n)


PLAYER = Player()


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: random.randrange(n),
        lambda n: np.random.randint(n),
        lambda n: int(GENERATOR.integers(n)),
        lambda n: OLD.randint(n),
        lambda n: DICE["fair"].randrange(n),
        lambda n: PLAYER.roll(n),
    ],
)
def test_a_draw_that_leaves_the_value_alone_is_noticed(draw: Any) -> None:
    def f(x):
        i = draw(len(x))
        out = np.zeros(2)
        out[0] = x[i]
        return out.sum()

    _, pullback = value_and_pullback(f, np.ones(50))
    pullback(1.0)
    state = GENERATOR.bit_generator.state, OLD.get_state()[2], DICE["fair"].getstate(), random.getstate()
    for _ in range(2):
        with pytest.raises(PullbackReuse, match="was called before"):
            pullback(1.0)
    assert state == (GENERATOR.bit_generator.state, OLD.get_state()[2], DICE["fair"].getstate(), random.getstate())


def of_the_system() -> float:
    from secrets import randbelow

    return randbelow(1000) / 1000.0


class Drawer:
    def __init__(self, make: Any):
        self.make = make

    def draw(self) -> float:
        return self.make().random()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().random(),
        lambda: np.random.default_rng(None).random(),
        lambda: np.random.Generator(np.random.PCG64()).random(),
        lambda: np.random.RandomState().rand(),
        lambda: random.Random().random(),
        lambda: random.SystemRandom().random(),
        lambda: functools.partial(np.random.default_rng)().random(),
        lambda: Drawer(random.Random).draw(),
        of_the_system,
    ],
)
def test_generators_without_a_seed_are_other_ones(draw: Any) -> None:
    def f(x):
        out = np.zeros(2)
        out[0] = (x - 1.0) * draw()
        return out.sum()

    _, pullback = value_and_pullback(f, 1.0)
    pullback(1.0)
    for _ in range(2):
        with pytest.raises(PullbackReuse, match="random numbers"):
            pullback(1.0)


@pytest.mark.parametrize("seed", [5, np.random.SeedSequence(3)])
def test_a_seed_that_is_not_written_down_is_one(seed: Any) -> None:
    def f(x, seed):
        out = np.zeros(2)
        out[0] = (x - 1.0) * np.random.default_rng(seed).random()
        return out.sum()

    _, pullback = value_and_pullback(f, 1.0, seed)
    first = pullback(1.0)
    assert first[0] != 0.0 and pullback(1.0) == pullback(1.0) == first
    _, pullback = value_and_pullback(f, 1.0, None)
    pullback(1.0)
    with pytest.raises(PullbackReuse, match="other random numbers each time"):
        pullback(1.0)


def test_a_generator_with_a_seed_draws_the_same_again() -> None:
    def f(x):
        rng = np.random.default_rng(5)
        out = np.zeros(2)
        out[1] = x[rng.integers(len(x))] ** 2
        return out.sum()

    _, pullback = value_and_pullback(f, np.arange(50.0))
    first = pullback(1.0)[0]
    assert first.any() and pullback(1.0)[0].tolist() == first.tolist()


@pytest.mark.parametrize("f", [writes_to_an_argument, sets_an_attribute_of_an_argument])
def test_what_was_changed_in_place_can_be_undone_once(f: Any) -> None:
    x = Pair(2.0, 3.0) if f is sets_an_attribute_of_an_argument else np.array([2.0, 3.0])
    _, pullback = value_and_pullback(f, x)
    assert not pullback.reusable
    pullback(1.0)
    with pytest.raises(PullbackReuse, match="what it saved is used up"):
        pullback(1.0)


def test_a_cotangent_that_does_not_fit_is_told_of_before_reuse() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        x *= 2.0
        return x

    _, pullback = value_and_pullback(f, np.ones(3))
    pullback(np.ones(3))
    with pytest.raises(CotangentError, match="shape"):
        pullback(np.ones(4))


def test_a_pullback_that_ended_half_way_is_not_run_again() -> None:
    faulty = [True]

    def double(x):
        return 2.0 * x

    with scoped_rules():

        @rrule(double)
        def double_rule(x):
            def pullback(dy):
                if faulty:
                    raise ValueError("half way")
                return 2.0 * dy

            return 2.0 * x, pullback

        f = {"f": double}["f"]
        _, pullback = value_and_pullback(lambda xs: f(xs[0]) + xs[1] * xs[0], [2.0, 3.0])
        with pytest.raises(ValueError, match="half way"):
            pullback(1.0)
        faulty.clear()
        with pytest.raises(PullbackReuse, match="ended with an exception half way"):
            pullback(1.0)
        assert grad(lambda xs: f(xs[0]) + xs[1] * xs[0])([2.0, 3.0]) == [5.0, 2.0]


def overwritten(x, held, b):
    x[0] = x[1]
    held["xs"].append(held["o"].v)
    held["o"].v = 5.0
    taken = held.pop("a")
    taken *= 2.0
    b += 1.0


@pytest.mark.parametrize("keywords", [False, True])
@pytest.mark.parametrize("f", [np.sum, np.mean])
def test_arguments_are_put_back_after_a_pullback_that_raised(f: Any, keywords: bool) -> None:
    def measured(x):
        return f(x)

    def whole(x, held, b):
        overwritten(x, held, b)
        return measured(x) * 1.0

    faulty = [True]
    with scoped_rules():

        @rrule(measured)
        def measured_rule(x):
            def pullback(dy):
                if faulty:
                    raise ValueError("half way")
                return np.full(3, dy)

            return measured(x), pullback

        x, b = np.array([1.0, 2.0, 3.0]), np.ones(2)
        held = {"xs": [1.0], "o": SimpleNamespace(v=2.0), "a": np.ones(2)}
        before = repr((x, held, b))
        args, kwargs = ((x,), {"held": held, "b": b}) if keywords else ((x, held, b), {})
        df, of_a_constant = grad(whole), grad(lambda x, b: (b.fill(2.0), measured(x))[1] * 1.0)
        for fault in (True, False, True, True):
            faulty[:] = [1] * fault
            for g, given, named in ((df, args, kwargs), (of_a_constant, (x, b), {})):
                if fault:
                    with pytest.raises(ValueError, match="half way"):
                        g(*given, **named)
                else:
                    assert g(*given, **named).tolist() == [0.0 if g is df else 1.0, 2.0 if g is df else 1.0, 1.0]
                assert repr((x, held, b)) == before


def test_what_one_pullback_returns_for_a_list_in_two_places_is_given_to_another() -> None:
    def made(x: float) -> list[list[float]]:
        xs = [x * 2.0, x]
        return [xs, xs]

    def read(rows: list[list[float]]) -> float:
        return rows[0][0] * 3.0 + rows[1][1] * rows[0][1]

    rows, of_made = value_and_pullback(made, 1.5)
    (d,) = value_and_pullback(read, rows)[1](1.0)
    assert d[0] is d[1]
    assert of_made(d) == (9.0,) == value_and_pullback(lambda x: read(made(x)), 1.5)[1](1.0)
    assert value_and_pullback(made, 1.5)[1]([[1.0, 2.0], [1.0, 2.0]]) == (8.0,)


@pytest.mark.parametrize("f", [np.hypot, lambda x, y: np.hypot(x, y), lambda x, *, y: np.hypot(x, y)], ids=range(3))
def test_an_array_passed_twice_has_a_gradient_at_each_place(f: Any) -> None:
    x = np.array([3.0, 4.0])
    _, pullback = value_and_pullback(f, x, x) if f is np.hypot else value_and_pullback(f, x, y=x)
    ds, named = pullback.with_keywords(np.ones(2))
    assert np.allclose([*ds, *named.values()], np.full((2, 2), np.sqrt(0.5)))


def test_arrays_that_a_function_locks_can_be_written_to_again() -> None:
    def by_a_flag(x, b):
        b.flags.writeable = False
        x.flags["WRITEABLE"] = False
        return np.sum(x**2)

    def by_a_method(x, b):
        x *= 2.0
        x.setflags(write=False)
        b.setflags(write=False)
        return np.sum(x**2)

    for f, slope in ((by_a_flag, 2.0), (by_a_method, 8.0)):
        for call in (lambda df, x, b: df(x, b), lambda df, x, b: df(x, b=b)):
            df, x, b = grad(f), np.ones(2), np.ones(2)
            for _ in range(3):
                assert call(df, x, b).tolist() == [slope] * 2
                assert x.flags.writeable and b.flags.writeable and x.tolist() == [1.0, 1.0]


def test_an_array_in_two_places_has_a_gradient_at_each() -> None:
    w = np.array([3.0, 4.0])
    _, pullback = value_and_pullback(lambda p: np.sum(p["a"] * p["b"] ** 2 + p["c"][0]), {"a": w, "b": w, "c": [w[:]]})
    (d,) = pullback(1.0)
    assert d["a"].tolist() == [9.0, 16.0] and d["b"].tolist() == [18.0, 32.0] and d["c"][0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("f", [np.kron, np.inner, np.multiply, lambda x, y: x * y], ids=range(4))
def test_functions_of_libraries_tell_two_places_apart(f: Any) -> None:
    x = np.array([3.0, 4.0])
    y, pullback = value_and_pullback(f, x, x)
    one, two = pullback(np.ones_like(y) * 0.5)
    _, apart = value_and_pullback(f, x, x.copy())
    assert np.array_equal([one, two], apart(np.ones_like(y) * 0.5))
