"""Keyword arguments that are put together, and written to, before they are handed on."""

import functools
import math

from tests.zoo.registry import case


def _line(a, scale=1.0, shift=0.0):
    return a * scale + shift


@case(1.3)
def defaults_set_by_a_wrapper(x):
    def wrapper(a, **options):
        options.setdefault("scale", 2.0)
        options["shift"] = a
        return _line(a, **options)

    return wrapper(x) + wrapper(x, scale=x) * wrapper(x, scale=x * x)


@case(1.3)
def set_where_they_are_not_given(x):
    def wrapper(a, **options):
        if "scale" not in options:
            options["scale"] = a
        verbose = options.pop("verbose", False)
        if verbose:
            a = a * x
        return _line(a, **options) * (2.0 if options.get("shift") is None else 1.0)

    return wrapper(x) + wrapper(x, scale=3.0, verbose=True) + wrapper(x, shift=x * x)


def _decorated(f):
    def wrapper(*args, **options):
        options.setdefault("scale", 1.5)
        return f(*args, **options) * options["scale"]

    return wrapper


_scaled_line = _decorated(_line)


@case(1.3)
def a_decorator_that_has_options_of_its_own(x):
    return _scaled_line(x) + _scaled_line(x, shift=x) * _scaled_line(x, scale=x)


@case(1.3)
def one_option_another_than_in_a_dict(x):
    options = {"scale": x, "shift": 2.0}
    total = _line(x, **{**options, "scale": 2 * x})
    for i in range(4):
        total += _line(total, **{**options, "shift": total * i}) * 0.1
    return total


@case(1.3)
def copies_with_more_options(x):
    base = {"scale": x}
    total = _line(x, **dict(base, shift=1.0)) * _line(x, **(base | {"shift": x}))
    other = base.copy()
    other.update(shift=2 * x)
    other["scale"] = other["scale"] * x
    last = dict(scale=x)
    last.update({"shift": x})
    return total * _line(x, **other) + _line(x, **last)


@case(1.3)
def written_to_once_it_is_copied(x):
    options = {"scale": x}
    copy = {**options}
    options["scale"] = 3 * x
    copy["shift"] = options["scale"]
    return _line(x, **copy) * _line(x, **options)


@case(1.3)
@case(0.7, name="the_same_names_the_other_way")
def the_same_names_whichever_way_is_taken(x):
    options = {"scale": 1.0, "shift": x}
    if x > 1:
        options["scale"] = x * x
    else:
        options["scale"] = 2.0 * x
    total = 0.0
    for _ in range(5):
        total += _line(total + x, **options)
        options["shift"] = total * 0.1
    return total


@case(1.3)
def an_option_that_comes_later(x):
    options = {"scale": 1.0}
    total = 0.0
    for i in range(5):
        if i > 2:
            options["shift"] = x
        total += _line(total + x, **options) * 0.1
    return total


@case(1.3)
def filled_in_a_loop(x):
    options = {}
    for name in ("scale", "shift"):
        options[name] = x * len(name)
    update = options.update
    total = _line(x, **options)
    if x > 1:
        update(shift=x)
    return total * _line(x, **options)


@case(1.3)
def written_to_by_others(x):
    options = {"scale": 1.0}

    def move(d):
        d["shift"] = x

    move(options)
    total = _line(x, **options)
    held = [options]
    held[0]["scale"] = 2 * x
    return total * _line(x, **options) * _line(x, **{**options, "shift": 2.0})


@case(1.3)
def written_to_before_something_is_raised(x):
    options = {"scale": x}
    try:
        options["shift"] = x
        return options["steps"]
    except KeyError:
        return _line(x, **options)


@case(1.3)
@case(0.7, name="the_other_of_two_by_another_name")
def one_of_two_by_another_name(x):
    first, second = {"scale": x}, {"shift": x}
    either = first if x > 1 else second
    either["shift"] = 3 * x
    return _line(x, **first) * _line(x, **{**second, "scale": 2.0})


@case(1.3)
def taken_out_before(x):
    options = {"scale": x, "steps": 3.0}
    steps = options["steps"]
    del options["steps"]
    options.pop("tol", None)
    return _line(steps * x, **options) + len(options)


@case(1.3)
def order_of_what_is_put_together(x):
    a = {"p": x, "q": 2 * x}
    b = {**a, "r": x * x, "p": 5 * x}
    a["q"] = 7.0
    total = sum(i * v for i, v in enumerate(b.values()))
    for i, (name, v) in enumerate({**b, **a}.items()):
        total += i * v * len(name)
    return total


@case(1.3)
def a_name_given_twice(x):
    options = {"a": x}
    try:
        return _line(x, **options)
    except TypeError:
        return x * x


class _Model:
    def __init__(self, **config):
        config = {**{"w": 1.0, "b": 0.5}, **config}
        for name, v in config.items():
            setattr(self, name, v)

    def __call__(self, x):
        return self.w * x + self.b


@case(1.3)
def a_configuration_over_its_defaults(x):
    return _Model(w=x)(x) + _Model(b=x * x)(x)


@case(1.3)
def no_options_for_a_function_made_here(x):
    def either(a, **options):
        return a * options.get("scale", 2.0)

    return either(x) * either(x, scale=x)


def _doubled(a):
    return a * 2


def _with_others(a, **others):
    return a + sum(others.values())


class _OfKeywords:
    def __init__(self, v, **others):
        self.v, self.others = v, others

    def scaled(self, k, **others):
        return self.v * k + sum(others.values())

    @staticmethod
    def plain(a, *rest, k=0.5):
        return a * k + sum(rest)


def _or(f, x):
    try:
        return f()
    except TypeError:
        return f(x)


@case(1.3)
def calls_that_lack_an_argument(x):
    total = _or(_doubled, x) + _or(_with_others, x) + _or(_OfKeywords.plain, x)
    for f in (_doubled, _with_others, lambda a, *, b=2.0: a * b):
        total += _or(f, x)
    if x > 5:
        return _doubled()
    try:
        return total * _doubled(**{})
    except TypeError:
        return total


@case(1.3)
def arguments_given_twice(x):
    total, o = x, _OfKeywords(x)
    calls = [
        lambda: _with_others(x, a=x),
        lambda: _with_others(x, **{"a": x}),
        lambda: _OfKeywords(x, v=1).v,
        lambda: o.scaled(x, self=1),
        lambda: o.scaled(x, k=x),
        lambda: functools.partial(_with_others, a=x)(x),
        lambda: (lambda a, **k: a)(x, a=x),
        lambda: _doubled(**[x]),
        lambda: len({**[(1, x)]}),
        lambda: _with_others(x, b=x),
    ]
    for i, call in enumerate(calls):
        try:
            total += call() * i
        except TypeError:
            total = total * x + i
    try:
        return total * _with_others(x, a=x)
    except TypeError:
        return total * total


class Length:
    """Set by a number, another length, parts in a list or by themselves, in one of several units."""

    def __init__(self, *parts, **how):
        self.metres = 0.0
        self.set(*parts, **how)

    def set(self, *parts, **how):
        if "feet" in how:
            if how["feet"]:
                self.set_feet(*parts)
                return
        if len(parts) == 0:
            self.metres = 0.0
        elif len(parts) == 1:
            given = parts[0]
            if isinstance(given, Length):
                self.metres = given.metres
            elif isinstance(given, (int, float)):
                if "scale" in how:
                    given = given * how["scale"]
                self.metres = self.reduced(given)
            elif isinstance(given, (list, tuple)):
                if len(given) == 0:
                    raise TypeError("no parts")
                elif len(given) == 1:
                    self.metres = self.reduced(given[0])
                elif len(given) == 2:
                    self.metres = self.summed(given[0], given[1])
                else:
                    self.metres = self.summed(given[0], given[1], given[2])
            else:
                raise TypeError("no length")
        elif len(parts) == 2:
            self.metres = self.summed(parts[0], parts[1])
        elif len(parts) == 3:
            self.metres = self.summed(parts[0], parts[1], parts[2])
        else:
            sign = -1.0 if parts[0] < 0 or parts[1] < 0 or parts[2] < 0 else 1.0
            self.metres = sign * self.summed(abs(parts[0]), abs(parts[1]), abs(parts[2]))

    def set_feet(self, *parts):
        self.set(*parts)
        self.metres *= 0.3048

    @staticmethod
    def reduced(x):
        if abs(x) >= 1000.0:
            sign = 1.0 if x >= 0 else -1.0
            x = sign * (abs(x) % 1000.0)
        return float(x)

    @staticmethod
    def summed(metres, centimetres, millimetres=0.0):
        return Length.reduced(metres + centimetres / 100.0 + millimetres / 1000.0)

    def __add__(self, other):
        return Length(self.metres + other.metres)

    def __rmul__(self, x):
        return Length(x * self.metres)


@case(1.3)
def lengths_set_in_several_ways(x):
    total = Length()
    for i, scale in enumerate([0.5, 1.5, 2.5]):
        part = Length()
        part += (i + 1) * Length(x, scale=scale)
        total = total + part
    parts = Length(x, x, x, -1.0)
    return total.metres**2 + parts.metres * Length([x, x]).metres * Length(total).metres


@case(1.3)
def lengths_in_feet(x):
    return Length(x, 2.0 * x, feet=True).metres * Length([x, x], feet=False).metres


class Signed:
    def __init__(self, *parts):
        self.size = 0.0
        self.set(*parts)

    def set(self, *parts):
        sign = math.sin(parts[0])
        self.size = sign * self.summed(parts[0], parts[1])

    @staticmethod
    def summed(a, b, c=0.0):
        return Signed.halved(a + b * b + c)

    @staticmethod
    def halved(a):
        return a / 2.0


@case(1.3)
def attribute_set_to_a_product_with_what_a_method_gives(x):
    return Signed(x, x * x).size * Signed(2.0, x).size


@case(1.3)
def keys_that_come_before_they_are_asked_for(x):
    def scaled(a, **options):
        if "scale" in options:
            a = a * options["scale"]
        if "shift" not in options:
            options["shift"] = 2.0
        if "shift" in options:
            a = a + options["shift"]
        for _ in range(2):
            if "again" in options:
                a = a * a
            options["again"] = True
        return a if "again" in options else a * 100.0

    return scaled(x) + scaled(x, scale=x) * scaled(x, shift=3.0 * x)


@case(1.3)
def options_told_by_text_and_number(x):
    def step(v, method="euler", order=1):
        if method == "euler":
            return v - 0.1 * v
        if order >= 4 or method != "midpoint":
            return v * 0.9
        return v - 0.1 * (v - 0.05 * v) ** order

    v = x
    for _ in range(3):
        v = step(v) + step(v, "midpoint", 2) * step(v, "midpoint", order=5)
    return v
