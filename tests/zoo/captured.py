"""Functions of modules that have captured data: what factories and decorators with options make."""

import functools
import math

import numpy as np

from tests.zoo.registry import case


def _polynomial(coefficients):
    def value(x):
        result = 0.0
        for c in coefficients:
            result = result * x + c
        return result

    return value


def _settings(settings):
    def value(x):
        return settings["scale"] * x ** settings["power"] if settings["on"] else x

    return value


class _Gain:
    def __init__(self, gain):
        self.gain = gain


def _amplifier(gain):
    def value(x):
        return gain.gain * math.sin(x)

    return value


def _layer(weights, bias):
    return lambda x: np.tanh(weights @ x + bias)


def _checked(**kinds):
    def decorate(f):
        names = f.__code__.co_varnames[: f.__code__.co_argcount]

        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            for name, x in zip(names, args, strict=False):
                if name in kinds and not isinstance(x, kinds[name]):
                    raise TypeError(name)
            return f(*args, **kwargs)

        return wrapper

    return decorate


cubic = _polynomial([1.0, -2.0, 0.5, 3.0])
_square = _polynomial((2.0, 0.5, -1.0))
_of_settings = _settings({"scale": 2.0, "power": 3, "on": True})
_amplified = _amplifier(_Gain(1.5))
_layers = [_layer(np.array([[0.5, -0.2], [0.1, 0.3]]), np.array([0.1, -0.1])), _layer(np.eye(2), 0.5)]
_hidden = _layer(np.array([[0.4, -0.3], [0.2, 0.6]]), np.array([0.2, 0.0]))


@_checked(x=float, k=int)
def _power(x, k, *, scale=1.0):
    return scale * x**k


@case(0.7)
def factories_of_numbers(x):
    return sum(cubic(x + i) * _square(x) for i in range(3)) + cubic(_square(x))


@case(0.7)
def factories_of_settings_and_objects(x):
    return _of_settings(x) * _amplified(x) + _of_settings(_amplified(x * x))


@case(np.array([0.3, -0.6]))
def factories_of_arrays(x):
    y = _hidden(x)
    for layer in _layers:
        y = layer(y)
    return np.sum(y * _hidden(y))


@case(0.7)
def decorators_with_options(x):
    return sum(_power(x, i, scale=x) if i % 2 else _power(x, i) for i in range(4))
