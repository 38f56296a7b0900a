"""Rules by users: for every kind of target, families, primitives, substitutes, scopes; what is refused and when."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mooncake_py import (
    Array,
    CoDual,
    MissingRule,
    MooncakeError,
    RealScalar,
    RuleConflict,
    RuleError,
    RuleResultError,
    Scalar,
    from_autograd,
    grad,
    primitive,
    registry,
    rrule,
    scoped_rules,
    substitute,
    unregister,
    value_and_grad,
    value_and_pullback,
    zero_derivative,
)
from mooncake_py.registration import _check_match

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with scoped_rules():
        yield


def up(x: float) -> float:
    return math.nextafter(x, 9.0)


def scaled(factor: float, place: int = 0, n: int = 1) -> Callable[..., Any]:
    """A rule of `up`-like functions: a derivative of `factor` by argument `place` of n."""

    def of(f: Callable[..., Any]) -> Callable[..., Any]:
        def rule(*args):
            def pullback(dy):
                return tuple(factor * dy if i == place else None for i in range(n))

            return f(*args), pullback

        return rule

    return of


# -- targets --


class Point:
    def __init__(self, x):
        self.x = x

    def method(self, k):
        return up(k) * self.x

    @classmethod
    def of_class(cls, k):
        return up(k)

    @staticmethod
    def static(k):
        return up(k)

    def __call__(self, k):
        return up(k) * self.x


def test_methods() -> None:
    rrule(Point.method)(scaled(3.0, 1, 2)(Point.method))
    rrule(Point.of_class)(scaled(4.0, 1, 2)(lambda cls, k: up(k)))
    rrule(Point.static)(scaled(5.0)(Point.static))
    rrule(Point.__call__)(scaled(6.0, 1, 2)(Point.__call__))
    p = Point(2.0)
    assert grad(p.method)(1.0) == 3.0 and grad(lambda k: p.method(k))(1.0) == 3.0
    assert grad(Point.of_class)(1.0) == 4.0 and grad(lambda k: p.of_class(k) + Point.of_class(k))(1.0) == 8.0
    assert grad(Point.static)(1.0) == 5.0 and grad(lambda k: p.static(k))(1.0) == 5.0
    assert grad(p)(1.0) == 6.0 and grad(lambda k: p(k) * 2.0)(1.0) == 12.0


def test_ufuncs_and_c_functions() -> None:
    @rrule(np.nextafter)
    def next_rule(a, b):
        def pullback(dy):
            return 2.0 * dy, None

        return np.nextafter(a, b), pullback

    @rrule(math.nextafter)
    def rule(a, b):
        def pullback(dy):
            return 3.0 * dy, None

        return math.nextafter(a, b), pullback

    assert grad(lambda x: np.sum(np.nextafter(x, 9.0)))(X).tolist() == [2.0, 2.0, 2.0]
    assert grad(up)(1.0) == 3.0


def test_a_rule_of_ones_own_wins_over_ours() -> None:
    g = grad(lambda x: math.sin(x))
    assert g(0.0) == 1.0

    @rrule(math.sin)
    def sin(x):
        def pullback(dy):
            return 7.0 * dy

        return math.sin(x), pullback

    assert g(0.0) == 7.0, "a rule that comes after the derivation is seen by the next call"
    unregister(math.sin)
    assert g(0.0) == 1.0


def test_rules_of_packs_that_come_later_do_not_win() -> None:
    def opaque(x):
        return up(x)

    rrule(opaque)(scaled(2.0)(opaque))
    registry.rrule(opaque)(scaled(5.0)(opaque))
    assert grad(lambda x: opaque(x))(1.0) == 2.0


def test_operators_by_the_classes_of_their_arguments() -> None:
    class Length(float):
        pass

    @rrule(operator.add, types=(Length, Length))
    def add(a, b):
        def pullback(dy):
            return 10.0 * dy, 20.0 * dy

        return float(a) + float(b), pullback

    def f(a, b):
        pair = [a, b]
        return pair[0] + pair[1]

    assert grad(f, (0, 1))(1.0, 2.0) == (1.0, 1.0)
    y, pullback = value_and_pullback(f, Length(1.0), Length(2.0))
    assert y == 3.0 and pullback(1.0) == (10.0, 20.0)


def test_several_targets() -> None:
    def other(x):
        return up(x)

    @rrule(up, other)
    def rule(x):
        def pullback(dy):
            return 0.5 * dy

        return up(x), pullback

    assert grad(lambda x: up(x) + other(x))(1.5) == 1.0


def test_annotations_of_coduals_in_every_spelling() -> None:
    def fill(a, v):
        a[...] = v

    def rule(a: mooncake_py.CoDual, v):  # type: ignore[name-defined]  # noqa: F821
        old = a.primal.copy()
        a.primal[...] = v

        def pullback(dy):
            a.primal[...] = old
            d = a.fdata.dense()
            total = float(np.sum(d))
            d.fill(0.0)
            return None, total

        return None, pullback

    rrule(fill, mutates=(0,))(rule)

    def f(x, v):
        y = x * 1.0
        fill(y, v)
        return np.sum(y)

    assert grad(f, 1)(X, 2.0) == 3.0


# -- families, zero derivatives --


def test_table() -> None:
    def soft(x):
        return np.nextafter(x, 9.0)

    def mix(a, b):
        return np.nextafter(a * b, 9.0)

    def three(a, b, c):
        return np.nextafter(a * b + c, 9.0)

    rrule.table({
        soft: lambda x, y: 2.0 * x,
        mix: (lambda a, b, y: b, lambda a, b, y: a),
        three: (lambda a, b, c, y: b, lambda a, b, c, y: a, None),
    })  # fmt: skip
    assert grad(lambda x: soft(x))(3.0) == 6.0
    assert np.array_equal(grad(lambda x: np.sum(soft(x)))(X), 2.0 * X)
    m = np.arange(6.0).reshape(2, 3)
    da, db = grad(lambda a, b: np.sum(mix(a, b)), (0, 1))(m, X)
    assert np.array_equal(da, np.broadcast_to(X, (2, 3))) and np.array_equal(db, m.sum(0))
    da, db = grad(lambda a, b: np.sum(mix(a, b)), (0, 1))(m[:, :1], 2.0)
    assert np.array_equal(da, np.full((2, 1), 2.0)) and db == pytest.approx(3.0)
    assert grad(lambda a, b, c: np.sum(three(a, b, c)), (0, 1, 2))(2.0, 3.0, 4.0) == (3.0, 2.0, 0.0)
    z = X + 1j
    (dz,) = value_and_pullback(lambda z: soft_complex(z), z)[1](np.ones(3, complex))
    assert np.allclose(dz, np.conj(2.0 * z))


def soft_complex(z):
    return np.asarray(np.frompyfunc(lambda v: v * v, 1, 1)(z), complex)


@pytest.fixture(autouse=True)
def complex_rule(scope: None) -> None:
    rrule.table({soft_complex: lambda z, y: 2.0 * z})


@pytest.mark.parametrize("derivative", [None, 3.0, (), (None, 2)])
def test_table_without_derivative(derivative: Any) -> None:
    with pytest.raises(RuleError, match="must be a function or a tuple of such"):
        rrule.table({up: derivative})


def test_table_with_another_number_of_arguments() -> None:
    with pytest.raises(RuleError, match="has 1 arguments, 2 derivatives"):
        rrule.table({np.sin: (lambda a, b, y: a, None)})


def test_zero_derivative_decorates() -> None:
    @zero_derivative
    def quantised(x):
        return float(round(x * 4.0)) / 4.0

    assert quantised(0.3) == 0.25 and grad(lambda x: quantised(x) * x)(0.3) == 0.25


# -- primitives and substitutes --


def test_primitive() -> None:
    @primitive
    def cube(x, k=1.0):
        return x * x * x * k

    with pytest.raises(MissingRule, match=r"cube has no rule \(it is declared a primitive, .*test_registration") as e:
        grad(lambda x: cube(x))(2.0)
    assert "    @mooncake_py.rrule(cube)\n    def cube_rule(x):" in str(e.value)
    assert grad(lambda x: x * cube(3.0))(2.0) == 27.0

    @cube.rrule
    def cube_rule(x, k=1.0):
        def pullback(dy):
            return 100.0 * dy, None

        return cube(x, k), pullback

    assert (
        grad(lambda x: cube(x))(2.0) == 100.0
        and grad(cube)(2.0) == 100.0
        and grad(lambda x: cube(x, k=2.0))(2.0) == 100.0
    )

    @cube.rrule(types=(Array,))
    def of_arrays(x, k=1.0):
        def pullback(dy):
            return 5.0 * dy, None

        return cube(x, k), pullback

    assert grad(lambda x: np.sum(cube(x)))(X).tolist() == [5.0, 5.0, 5.0]


def test_primitive_needs_a_function() -> None:
    with pytest.raises(RuleError, match="is not a Python function"):
        primitive(math.sin)


def opaque_square(x):
    return up(x * x)


def test_substitute() -> None:
    substitute(opaque_square, lambda x: x * x)
    g = value_and_grad(lambda x: opaque_square(x) + x)
    assert g(3.0) == (12.0, 7.0) and grad(opaque_square)(3.0) == 6.0
    assert np.array_equal(grad(lambda x: np.sum(opaque_square(x)))(X), 2.0 * X)
    assert grad(lambda x: x * opaque_square(3.0))(1.0) == opaque_square(3.0), "inactive: the function itself"
    unregister(opaque_square)
    with pytest.raises(MissingRule):
        g(3.0)


def test_substitute_of_what_has_a_rule() -> None:
    with scoped_rules():
        substitute(math.sin, lambda x: 5.0 * x)
        assert grad(lambda x: math.sin(x))(0.0) == 5.0 and grad(math.sin)(0.0) == 5.0
    assert grad(lambda x: math.sin(x))(0.0) == 1.0 and grad(math.sin)(0.0) == 1.0


@pytest.mark.parametrize("f, g, says", [
    (opaque_square, opaque_square, "cannot stand for itself"),
    (opaque_square, np.square, "must be a Python function"),
    (opaque_square, lambda x, y: x, "does not take the calls"),
    (opaque_square, lambda: 1.0, "does not take the calls"),
    (3, lambda x: x, "3 is not callable"),
])  # fmt: skip
def test_substitutes_that_cannot_be(f: Any, g: Any, says: str) -> None:
    with pytest.raises(RuleError, match=says):
        substitute(f, g)


def test_substitutes_in_conflict() -> None:
    substitute(opaque_square, lambda x: x * x)
    with pytest.raises(RuleConflict, match="substituted already"):
        substitute(opaque_square, lambda x: x)
    with pytest.raises(RuleConflict, match="is substituted"):
        rrule(opaque_square)(scaled(1.0)(opaque_square))
    rrule(up)(scaled(1.0)(up))
    with pytest.raises(RuleConflict, match=r"up has the rule .*rule \(.*test_registration"):
        substitute(up, lambda x: x)


# -- scopes --


def test_scope() -> None:
    g = grad(lambda x: up(x) + math.sin(x))
    with pytest.raises(MissingRule):
        g(0.0)
    with scoped_rules():
        rrule(up)(scaled(2.0)(up))
        assert g(0.0) == 3.0
        with scoped_rules():
            unregister(up)
            zero_derivative(up, math.sin)
            assert g(0.0) == 0.0
        assert g(0.0) == 3.0
    with pytest.raises(MissingRule):
        g(0.0)


def test_a_scope_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), scoped_rules():
        rrule(up)(scaled(2.0)(up))
        raise KeyError
    assert not registry.rules_of(up)


def test_unregister_what_is_not_there() -> None:
    for f in (up, math.sin):
        with pytest.raises(RuleError, match="nothing is registered for"):
            unregister(f)


# -- conflicts --


def test_the_same_types_twice() -> None:
    rrule(up, types=(RealScalar,))(scaled(2.0)(up))

    def other(x):
        return up(x), lambda dy: 3.0 * dy

    with pytest.raises(RuleConflict, match=r"up has a rule for .*: .*rule .*test_registration.*other"):
        rrule(up, types=(RealScalar,))(other)
    assert grad(lambda x: up(x))(1.0) == 2.0, "what is refused changes nothing"
    rrule(up, types=(RealScalar,), replace=True)(other)
    assert grad(lambda x: up(x))(1.0) == 3.0


def test_a_rule_that_would_hide_another() -> None:
    @rrule(up, types=(RealScalar,))
    def scalar(x):
        return up(x), lambda dy: 2.0 * dy

    for types in [(), (Scalar,)]:
        with pytest.raises(RuleConflict, match="arguments that the new one takes all of"):

            @rrule(up, types=types)
            def general(x):
                return up(x), lambda dy: 3.0 * dy

    with pytest.raises(RuleConflict):
        zero_derivative(up)
    with pytest.raises(RuleConflict):
        rrule.table({up: lambda x, y: 1.0})


def test_rules_beside_each_other() -> None:
    @rrule(up)
    def general(x):
        return up(x), lambda dy: 2.0 * dy

    @rrule(up, types=(Array,))
    def array(x):
        return np.nextafter(x, 9.0), lambda dy: 3.0 * dy

    assert grad(lambda x: up(x))(1.0) == 2.0
    assert grad(lambda x: np.sum(up(x)))(X).tolist() == [3.0, 3.0, 3.0]


def test_other_numbers_of_arguments_are_no_conflict() -> None:
    def many(x, y=1.0):
        return up(x) * y

    @rrule(many)
    def of_one(x):
        return many(x), lambda dy: 2.0 * dy

    @rrule(many)
    def of_two(x, y):
        return many(x, y), lambda dy: (3.0 * dy, None)

    assert grad(lambda x: many(x))(1.0) == 2.0 and grad(lambda x: many(x, 1.0))(1.0) == 3.0


def test_the_same_rule_again_takes_its_own_place() -> None:
    for factor in (2.0, 3.0):

        @rrule(up)
        def rule(x, factor=factor):
            return up(x), lambda dy: factor * dy

    assert grad(lambda x: up(x))(1.0) == 3.0
    assert len(registry.rules_of(up)) == 1


def test_a_cell_of_a_notebook_again() -> None:
    for cell, factor in (("<cell 1>", 2.0), ("<cell 7>", 4.0)):
        scope: dict[str, Any] = {"__name__": "__main__", "rrule": rrule, "up": up, "factor": factor}
        source = "@rrule(up)\ndef rule(x):\n    return up(x), lambda dy: factor * dy\n"
        exec(compile(source, cell, "exec"), scope)
    assert grad(lambda x: up(x))(1.0) == 4.0


# -- rules that can never match --


def two(x, y, *, flag=False):
    return up(x) * y


@pytest.mark.parametrize("target, types, rule, says", [
    (two, (), lambda x: 1, "no call of .*two.* can use the rule"),
    (two, (), lambda x, y, z: 1, "no call of"),
    (two, (Array, Array, Array), lambda x, y: 1, "takes 2 positional arguments, so it can never match the 3 types"),
    (two, (Array, Array, Array), lambda x, y, z=1: 1, "takes 2 positional arguments, so the 3 types never match"),
    (two, ("Array",), lambda x, y: 1, "must be kinds .* or classes, not 'Array'"),
    (two, (np.ones(2),), lambda x, y: 1, "must be kinds"),
    (np.sin, (), lambda x, y, z: 1, r"no call of numpy\.sin"),
    (math.atan2, (), lambda x: 1, r"no call of math\.atan2"),
    (Point, (), lambda x, y: 1, "no call of"),
    (lambda *, k: k, (), lambda x: 1, "no call of"),
])  # fmt: skip
def test_never_matching(target: Any, types: Any, rule: Any, says: str) -> None:
    with pytest.raises(RuleError, match=says):
        rrule(target, types=types)(rule)


@pytest.mark.parametrize("options", [{"alias": (2,)}, {"mutates": (5,)}, {"deferred": (-1,)}])
def test_positions_that_are_not_there(options: Any) -> None:
    with pytest.raises(RuleError, match="has no argument"):
        rrule(two, **options)(lambda x, y: 1)


def test_mutates_needs_a_codual() -> None:
    with pytest.raises(RuleError, match=r"annotate its parameter 'x' with CoDual"):
        rrule(two, mutates=(0,))(lambda x, y: 1)


@pytest.mark.parametrize("target, says", [
    (3, "3 is not callable"),
    (Point(1.0).method, "bound to one object; register Point.method"),
    (property(lambda self: 1), "a property is no function"),
])  # fmt: skip
def test_targets_that_cannot_be(target: Any, says: str) -> None:
    for register in (rrule, zero_derivative, unregister):
        with pytest.raises(RuleError, match=says):
            register(target)


def test_rules_that_cannot_be() -> None:
    def generator(x):
        yield x

    with pytest.raises(RuleError, match="it is a generator"):
        rrule(up)(generator)
    with pytest.raises(RuleError, match="must be a Python function, not builtin"):
        rrule(up)(math.sin)
    with pytest.raises(RuleError, match="name the function"):
        rrule()


def test_every_rule_of_ours_would_be_admitted() -> None:
    refused = []
    for f, rules in registry._rules.items():
        for r in rules:
            try:
                _check_match(r)
            except RuleError as e:
                refused.append((f, str(e)))
    assert not refused


# -- what rules return --


def product(x, y):
    return float(np.sum(np.asarray(x) * y))


def static(x, y):
    return product(x, y) * 2.0


def dynamic(x, y):
    fs = [product, None]
    return fs[0](x, y) * 2.0


@pytest.mark.parametrize("result, says", [
    (lambda dy, x, y: (dy * np.ones(3),), r"returned 1 cotangent for .*: there is none for argument 1 \(y\)"),
    (lambda dy, x, y: (dy * y * np.ones(3), dy, dy), "returned 3 cotangents for a call of 2 arguments"),
    (lambda dy, x, y: (dy * y, None), r"returned float: .* of argument 0 \(x\), it must be an array of shape \(3,\)"),
    (lambda dy, x, y: (np.ones((3, 1)), None), r"an array of shape \(3, 1\) as the cotangent of argument 0"),
    (lambda dy, x, y: (np.ones(1), None), r"an array of shape \(1,\)"),
    (lambda dy, x, y: (None, np.ones(3)), r"shape \(3,\) as the cotangent of argument 1 \(y\), it must be a number"),
    (lambda dy, x, y: (None, "text"), "str: 'text'"),
    (lambda dy, x, y: ([1.0, 2.0, 3.0], None), "a list of 3"),
    (lambda dy, x, y: (1j * np.ones(3), None), "a complex cotangent for argument 0"),
    (lambda dy, x, y: (None, 1j), "a complex cotangent for argument 1"),
])  # fmt: skip
@pytest.mark.parametrize("f", [static, dynamic, product])
@pytest.mark.parametrize("inlined", [True, False])
def test_cotangents_that_do_not_belong(f: Any, result: Any, says: str, inlined: bool) -> None:
    def inline_rule(x, y):
        def pullback(dy):
            return result(dy, x, y)

        return product(x, y), pullback

    def called_rule(x, y):
        [_ for _ in (i for i in range(2))]  # a generator: it is not inlined

        def pullback(dy):
            return result(dy, x, y)

        return product(x, y), pullback

    rrule(product)(inline_rule if inlined else called_rule)
    with pytest.raises(RuleResultError, match=says) as e:
        grad(f, (0, 1))(X, 2.0)
    message = str(e.value)
    assert "_rule (" in message and f"{__file__}:" in message and "product" in message
    lines = inspect.getsourcelines(f)
    if f is not product:
        assert e.value.line is not None and lines[1] <= e.value.line < lines[1] + len(lines[0])
    assert e.value.filename == __file__


@pytest.mark.parametrize("f", [static, dynamic, product])
def test_one_bare_cotangent_for_two(f: Any) -> None:
    rrule(product)(lambda x, y: (product(x, y), lambda dy: dy * np.ones(3)))
    with pytest.raises(RuleResultError, match=r"one cotangent that is not in a tuple.* argument 1 \(y\)|there is none"):
        grad(f, (0, 1))(X, X)


@pytest.mark.parametrize("f", [static, dynamic, product])
@pytest.mark.parametrize("returned", [3.0, (1.0, 2.0, 3.0), (1.0, 2.0), None])
def test_no_pair(f: Any, returned: Any) -> None:
    rrule(product)(lambda x, y: returned)
    with pytest.raises((RuleResultError, TypeError), match=r"must return a pair|not callable"):
        grad(f)(X, 2.0)


def test_the_right_ones_pass() -> None:
    @rrule(product)
    def rule(x, y):
        def pullback(dy):
            return dy * y * np.ones(3), dy * np.sum(x)

        return product(x, y), pullback

    for f in (static, dynamic):
        dx, dy = grad(f, (0, 1))(X, 2.0)
        assert dx.tolist() == [4.0, 4.0, 4.0] and dy == pytest.approx(3.0)


def test_every_error_has_the_base() -> None:
    assert issubclass(RuleConflict, RuleError) and issubclass(RuleResultError, RuleError)
    assert issubclass(RuleError, MooncakeError)


# -- autograd.extend --


def autograd_primitive() -> Any:
    extend = pytest.importorskip("autograd.extend")

    @extend.primitive
    def weighted(x, k):
        return np.sum(x * x) * k

    extend.defvjp(weighted, lambda ans, x, k: lambda g: g * 2.0 * x * k, argnums=(0,))
    return weighted


def test_from_autograd() -> None:
    f = autograd_primitive()
    from_autograd(f)
    assert np.allclose(grad(lambda x: f(x * 2.0, 3.0))(X), 24.0 * X)
    assert np.allclose(grad(f)(X, 3.0), 6.0 * X)
    with pytest.raises(
        MissingRule, match=r"weighted by argument 1 is not known: define it with autograd\.extend\.defvjp"
    ):
        grad(lambda k: f(X, k))(3.0)


def test_from_autograd_of_modules_and_complex() -> None:
    anp = pytest.importorskip("autograd.numpy")
    from autograd import grad as autograd_grad

    from_autograd(anp)

    def f(z):
        return anp.real(anp.sum(anp.exp(z) * (1.0 + 2.0j) + anp.conj(z) * z))

    z = X + 0.5j
    assert np.allclose(grad(f)(z), np.conj(autograd_grad(f)(z)))


def test_from_autograd_of_others() -> None:
    pytest.importorskip("autograd")
    for target in (up, 3, math, sys):
        with pytest.raises(RuleError, match="from_autograd: "):
            from_autograd(target)


def test_codual_is_exported() -> None:
    assert CoDual.__slots__ == ("fdata", "primal")


# -- objects --


class Money:
    def __init__(self, amount):
        self.amount = amount
        self.history = np.ones(2) * amount

    def __add__(self, other):
        return Money(self.amount + other.amount)


def test_a_rule_of_an_operator_on_objects() -> None:
    def f(x, y):
        return (Money(x) + Money(y)).amount

    assert grad(f, (0, 1))(1.0, 2.0) == (1.0, 1.0)

    @rrule(operator.add, types=(Money, Money))
    def add(a, b):
        def pullback(dy):
            return {"amount": 10.0 * dy.amount}, {"amount": 20.0 * dy["amount"]}

        return Money(a.amount + b.amount), pullback

    assert grad(f, (0, 1))(1.0, 2.0) == (10.0, 20.0)
    assert grad(lambda m: (m + Money(2.0)).amount)(Money(1.0)).amount == 10.0


def test_a_rule_of_a_method_that_is_an_operator() -> None:
    @rrule(Money.__add__)
    def add(a, b):
        def pullback(dy):
            return {"amount": 30.0 * dy.amount}, None

        return Money(a.amount + b.amount), pullback

    assert grad(lambda x: (Money(x) + Money(2.0)).amount)(1.0) == 30.0


def test_a_rule_of_a_class() -> None:
    @rrule(Money)
    def make(amount):
        def pullback(dy):
            return 7.0 * dy.amount + 3.0 * np.sum(dy.history)

        return Money(amount), pullback

    assert grad(lambda x: Money(x).amount)(1.0) == 7.0
    assert grad(lambda x: np.sum(Money(x).history))(1.0) == 6.0


def test_a_rule_whose_value_is_a_dict() -> None:
    def parts(x):
        return {"a": x, "b": np.ones(2) * x}

    @rrule(parts)
    def rule(x):
        def pullback(dy):
            b = dy.get("b")
            return 5.0 * (dy.get("a") or 0.0) + (0.0 if b is None else 3.0 * np.sum(b))

        return parts(x), pullback

    assert grad(lambda x: parts(x)["a"])(1.0) == 5.0
    assert grad(lambda x: np.sum(parts(x)["b"]))(1.0) == 6.0


@pytest.mark.parametrize("wrong", [3.0, None, "pullback"])
def test_a_pullback_that_cannot_be_called(wrong: Any) -> None:
    def double(x):
        return 2.0 * x

    @rrule(double)
    def double_rule(x):
        return 2.0 * x, wrong

    functions = {"double": double}
    for f in (lambda x: double(x), lambda x: functions["double"](x)):
        with pytest.raises(RuleResultError, match=r"double_rule.*must return a pair \(value, pullback\)") as e:
            grad(f)(1.0)
        assert e.value.line == f.__code__.co_firstlineno


def test_a_cotangent_of_a_list_of_another_length() -> None:
    def total(xs):
        return xs[0] + xs[1]

    @rrule(total)
    def total_rule(xs):
        def pullback(dy):
            return ([dy, dy, dy],)

        return xs[0] + xs[1], pullback

    with pytest.raises(RuleResultError, match=r"total_rule.*returned a list of 3 .*must be a list of 2"):
        grad(lambda x: total([x, x]))(1.0)


def test_a_table_for_what_has_one() -> None:
    def f(a, b):
        return a * b

    for _ in range(2):  # a cell of a notebook that runs again
        rrule.table({f: (lambda a, b, y: b, lambda a, b, y: a)})
    with pytest.raises(RuleConflict, match=r"<lambda> \(.*test_registration.py:\d+\)"):
        rrule.table({f: (lambda a, b, y: 2.0 * b, lambda a, b, y: a)})
    rrule.table({f: (lambda a, b, y: 2.0 * b, lambda a, b, y: a)}, replace=True)
    assert grad(lambda a: f(a, 3.0))(1.0) == 6.0


def test_what_is_shared_or_changed_may_be_any_argument_and_named() -> None:
    def tail(k, a):
        return a[k:]

    def scale(k, a):
        a *= k

    x, h = np.array([1.0, 2.0, 3.0]), 1e-6

    def by_position(x):
        z = x * 2.0
        y = tail(1, z)
        scale(x[0], z)
        y *= x[1:]
        return np.sum(z * z * x) + np.sum(y * y)

    def by_name(x):
        z = x * 2.0
        y = tail(k=1, a=z)
        scale(a=z, k=x[0])
        y *= x[1:]
        return np.sum(z * z * x) + np.sum(y * y)

    def through_a_list(x):
        held = [x * 2.0]
        held.append(tail(a=held[0], k=1))
        scale(x[0], a=held[0])
        held[1] *= x[1:]
        z, y = held
        return np.sum(z * z * x) + np.sum(y * y)

    def of_the_argument(x):
        scale(a=x, k=x[0] * 1.0)
        return np.sum(tail(a=x, k=0) ** 2 * np.array([1.0, 2.0, 3.0]))

    with scoped_rules():

        @rrule(tail, alias=(1,))
        def tail_rule(k, a):
            n = len(a)

            def pullback(dy):
                return None, np.concatenate([np.zeros(k), dy])[:n]

            return tail(k, a), pullback

        @rrule(scale, mutates=(1,))
        def scale_rule(k, a: CoDual):
            old = a.primal.copy()
            scale(k, a.primal)

            def pullback(dy):
                a.primal[...] = old
                d = a.fdata.dense()
                dk = np.sum(d * old)
                d *= k
                return dk, None

            return None, pullback

        for f in (by_position, by_name, through_a_list, of_the_argument):
            slopes = [(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(3)]
            for debug_mode in (False, True):
                given = x.copy()
                assert np.allclose(grad(f, debug_mode=debug_mode)(given), slopes, rtol=1e-6)
                assert given.tolist() == x.tolist()


# -- what no rule would be used for ---------------------------------------------------------------------


class Scaling:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


@pytest.mark.parametrize("register", [lambda f: rrule(f)(lambda x: (f(x), lambda d: d)), zero_derivative])
@pytest.mark.parametrize(
    "target", [Scaling(2.0), np.vectorize(up), functools.partial(up)], ids=["own", "numpy", "partial"]
)
def test_an_object_that_is_called_by_its_class_is_refused(register, target) -> None:
    with pytest.raises(RuleError, match=r"register (that|tests\.test_registration\.up|.*__call__)"):
        register(target)
    with pytest.raises(RuleError):
        substitute(target, lambda x: x)


def test_the_rule_of_the_class_is_used_instead() -> None:
    with scoped_rules():
        rrule(Scaling.__call__)(lambda self, x: (self.k * x, lambda d: (None, 9.0 * d)))
        c = Scaling(2.0)
        assert grad(lambda x: c(x))(1.0) == grad(c)(1.0) == 9.0


def test_a_class_is_not_substituted() -> None:
    with pytest.raises(RuleError, match=r"is a class.*@rrule\(Scaling\)"):
        substitute(Scaling, lambda k: Scaling(4.0 * k))


@pytest.mark.parametrize("target", [int, round, len, tuple, isinstance, bool], ids=lambda f: f.__name__)
def test_a_function_whose_rule_could_do_nothing_is_refused(target) -> None:
    with pytest.raises(RuleError, match="register a function of yours"):
        rrule(target)(lambda x: (target(x), lambda d: d))


def test_rounding_to_digits_gives_floats() -> None:
    with scoped_rules():
        rrule(round)(lambda x, n: (round(x, n), lambda d: (d, None)))
        assert grad(lambda x: round(x, 1))(1.26) == 1.0
