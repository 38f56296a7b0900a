"""Names that are put together: what is relied on of classes is guarded."""

from mooncake_py import value_and_grad


class Reader:
    def of_one(self, x):
        return x * x


class One:
    pass


class Other:
    pass


def read(x, name):
    return getattr(Reader(), "of_" + name)(x)


def read_any(x, name):
    return getattr(Reader(), "of_" + name, abs)(x)


def by_class(x):
    total = 0.0
    for node in (One(), Other()):
        total += getattr(Reader(), "of_" + type(node).__name__.lower(), abs)(x)
    return total


def test_methods_that_a_class_gets_later_are_found():
    assert value_and_grad(read)(3.0, "one") == (9.0, 6.0)
    assert value_and_grad(read_any)(3.0, "two") == (3.0, 1.0)
    Reader.of_two = lambda self, x: 5.0 * x
    try:
        assert value_and_grad(read)(3.0, "two") == (15.0, 5.0)
        assert value_and_grad(read_any)(3.0, "two") == (15.0, 5.0)
    finally:
        del Reader.of_two


def test_a_class_that_is_renamed_is_asked_again():
    assert value_and_grad(by_class)(3.0) == (12.0, 7.0)
    Other.__name__ = "One"
    try:
        assert value_and_grad(by_class)(3.0) == (18.0, 12.0)
    finally:
        Other.__name__ = "Other"
