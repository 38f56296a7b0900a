"""Choosing between arrays, and functions that call the user's: `select`, `choose`, `piecewise`, `apply_along_axis`,
`vectorize`. What calls a function of the user's is differentiated as Python code that does the same."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from mooncake_py.registry import called_as, overlay, pure, refuse, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors

# -- choosing ---------------------------------------------------------------------------------------------


@mirrors(np.select)
def select(condlist, choicelist, default=0):
    y = default
    for i in range(len(condlist) - 1, -1, -1):
        y = np.where(condlist[i], choicelist[i], y)
    return y


def chosen(a: Any, n: int, mode: str) -> np.ndarray:
    """Which of n choices is taken where."""
    index = np.asarray(a)
    return index % n if mode == "wrap" else np.clip(index, 0, n - 1)


def choose(a, choices, out=None, mode="raise"):
    index = chosen(a, len(choices), mode)
    y = 0.0
    for i in range(len(choices)):
        y = np.where(index == i, choices[i], y)
    return y


mirrors(np.choose, np.ndarray.choose)(choose)

# -- functions that call the user's -----------------------------------------------------------------------


@overlay(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    x = np.asarray(x)
    masks = masks_of(x, condlist, len(funclist))
    y = np.zeros_like(x)
    for i in range(len(masks)):
        f = funclist[i]
        if callable(f):
            part = x[masks[i]]
            if part.size > 0:
                y[masks[i]] = f(part, *args, **kw)
        else:
            y[masks[i]] = f
    return y


def masks_of(x: np.ndarray, condlist: Any, n: int) -> np.ndarray:
    """The condition of every function, that of the last being that no other holds where one is missing."""
    if np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0):
        condlist = [condlist]
    masks = np.asarray(condlist, dtype=bool)
    if len(masks) == n - 1:
        masks = np.concatenate([masks, ~np.any(masks, axis=0, keepdims=True)], axis=0)
    elif len(masks) != n:
        k = len(masks)
        raise ValueError(f"with {k} condition(s), either {k} or {k + 1} functions are expected")
    return masks


zero_derivative(masks_of, chosen)
pure.update({masks_of, chosen})


@overlay(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    arr = np.asarray(arr)
    x = np.moveaxis(arr, axis, -1)
    lead = x.shape[:-1]
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = x.reshape((-1, arr.shape[axis]))
    first = np.asarray(func1d(rows[0], *args, **kwargs))
    ys = [first]
    for i in range(1, len(rows)):
        ys.append(np.asarray(func1d(rows[i], *args, **kwargs)))
    y = np.stack(ys).reshape(lead + first.shape)
    k = axis % arr.ndim
    n = first.ndim
    order = [*range(k), *range(len(lead), len(lead) + n), *range(k, len(lead))]
    return np.transpose(y, order)


@overlay(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    y = np.asarray(a)
    n = y.ndim
    places = [axes] if np.ndim(axes) == 0 else list(axes)
    for i in range(len(places)):
        k = places[i] % n
        z = func(y, k)
        y = z if np.ndim(z) == n else np.expand_dims(z, k)
        if np.ndim(y) != n:
            raise ValueError("function is not returning an array of the correct shape")
    return y


@overlay(np.fromfunction)
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    return function(*np.indices(shape, dtype=dtype), **kwargs)


def call_elementwise(pyfunc, otypes, excluded, cache, signature, args, kwargs):
    """What an `np.vectorize` does when it is called.

    Where nothing says what the results are, NumPy calls the function for the first elements once more.
    """
    names = [k for k in kwargs if goes_through(k, kwargs[k], excluded, signature)]
    places_of = [i for i in range(len(args)) if goes_through(i, args[i], excluded, signature)]
    given = [args[i] for i in places_of] + [kwargs[k] for k in names]
    if len(given) == 0:
        return pyfunc(*args, **kwargs)
    xs = [np.asarray(v) for v in given]
    kept, results = core_dimensions(signature, len(given))
    leads = [np.shape(x)[: np.ndim(x) - n] for x, n in zip(xs, kept, strict=True)]
    shape, places = common_places(leads)
    flat = [np.reshape(x, (-1, *np.shape(x)[len(lead) :])) for x, lead in zip(xs, leads, strict=True)]
    ys = []
    n_calls = len(places[0])
    asked_first = n_calls > 0 and not (otypes or cache or signature)
    for i in [0, *range(n_calls)] if asked_first else range(n_calls):
        items = [flat[k][places[k][i]] for k in range(len(flat))]
        call = list(args)
        for k in range(len(places_of)):
            call[places_of[k]] = items[k]
        named = dict(kwargs)
        for k in range(len(names)):
            named[names[k]] = items[len(places_of) + k]
        ys.append(pyfunc(*call, **named))
    first = ys[0] if len(ys) > 0 and not otypes else None  # it says of what class all of them are
    if asked_first:
        del ys[0]
    several = len(ys) > 0 and isinstance(ys[0], tuple) if results is None else results > 1
    if several:
        n = len(ys[0])
        kinds = otypes if otypes or first is None else classes_of(first)
        return tuple([stacked([y[k] for y in ys], kinds[k] if kinds else None, shape) for k in range(n)])
    return stacked(ys, otypes[0] if otypes else None if first is None else class_of(first), shape)


def goes_through(key: int | str, x: Any, excluded: Any, signature: str | None) -> bool:
    """Is each call given its own element of this argument? One thing that is no number, a `self`, goes to all."""
    if excluded and key in excluded:
        return False
    if signature is not None or isinstance(x, (np.ndarray, list, tuple)):
        return True
    return np.ndim(x) > 0 or np.asarray(x).dtype != object


def stacked(ys, dtype, shape):
    """The results of all calls, in the shape the arguments broadcast to."""
    y = np.array(ys, dtype)
    return np.reshape(y, (*shape, *np.shape(y)[1:]))


def core_dimensions(signature: str | None, n: int) -> tuple[list[int], int | None]:
    """How many axes of every argument a call takes, and how many results it gives (None where it is not said)."""
    if signature is None:
        return [0] * n, None
    taken, given = (re.findall(r"\(([^()]*)\)", part) for part in signature.split("->"))
    if len(taken) != n:
        raise TypeError(f"wrong number of positional arguments: expected {len(taken)}, got {n}")
    return [len([name for name in part.split(",") if name.strip()]) for part in taken], len(given)


def common_places(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The shape that arrays broadcast to, and for each where its elements stand there."""
    shape = np.broadcast_shapes(*shapes)
    return shape, [np.broadcast_to(np.arange(math.prod(s)).reshape(s), shape).ravel() for s in shapes]


_NUMBERS = (np.ndarray, float, int, complex, np.generic, list, tuple)


def with_one(pyfunc, otypes, cache, x):
    """The same for an array of numbers, which the function is given as Python's: in a plain loop, of which all is known
    beforehand."""
    if not isinstance(x, _NUMBERS):
        return call_elementwise(pyfunc, otypes, None, cache, None, (x,), {})
    flat = np.ravel(np.asarray(x))
    xs = flat.tolist()
    asked = None
    if not otypes and not cache and len(xs) > 0:
        asked = pyfunc(first_of(flat, xs))
    ys = [pyfunc(a) for a in xs]
    return of_calls(ys, asked, otypes, np.shape(x))


def with_two(pyfunc, otypes, cache, x, y):
    if not isinstance(x, _NUMBERS) or not isinstance(y, _NUMBERS):
        return call_elementwise(pyfunc, otypes, None, cache, None, (x, y), {})
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    flat, of_y = np.ravel(np.broadcast_to(x, shape)), np.ravel(np.broadcast_to(y, shape))
    xs, others = flat.tolist(), of_y.tolist()
    asked = None
    if not otypes and not cache and len(xs) > 0:
        asked = pyfunc(first_of(flat, xs), first_of(of_y, others))
    ys = [pyfunc(a, b) for a, b in zip(xs, others, strict=True)]
    return of_calls(ys, asked, otypes, shape)


def with_three(pyfunc, otypes, cache, x, y, z):
    if not isinstance(x, _NUMBERS) or not isinstance(y, _NUMBERS) or not isinstance(z, _NUMBERS):
        return call_elementwise(pyfunc, otypes, None, cache, None, (x, y, z), {})
    shape = np.broadcast_shapes(np.shape(x), np.shape(y), np.shape(z))
    flat, of_y = np.ravel(np.broadcast_to(x, shape)), np.ravel(np.broadcast_to(y, shape))
    of_z = np.ravel(np.broadcast_to(z, shape))
    xs, second, third = flat.tolist(), of_y.tolist(), of_z.tolist()
    asked = None
    if not otypes and not cache and len(xs) > 0:
        asked = pyfunc(first_of(flat, xs), first_of(of_y, second), first_of(of_z, third))
    ys = [pyfunc(a, b, c) for a, b, c in zip(xs, second, third, strict=True)]
    return of_calls(ys, asked, otypes, shape)


def first_of(flat, xs):
    """NumPy gives its own number to the first call of all; a float does the same."""
    x = flat[0]
    return xs[0] if isinstance(x, float) else x


def of_calls(ys, asked, otypes, shape):
    """The results of calls with numbers, of the class that the first has."""
    if otypes:
        return np.reshape(np.array(ys, otypes[0]), shape) if len(otypes) == 1 else each_of(ys, otypes, shape)
    if len(ys) == 0:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    first = ys[0] if asked is None else asked
    if isinstance(first, float):
        return np.reshape(np.array(ys, float), shape)
    if isinstance(first, tuple):
        return each_of(ys, classes_of(first), shape)
    y = np.array(ys, class_of(first))
    return np.reshape(y, (*shape, *np.shape(y)[1:]))


def each_of(ys, dtypes, shape):
    """The results of a function that gives several."""
    out = []
    for k in range(len(dtypes)):
        part = []
        for y in ys:
            part.append(y[k])
        out.append(np.reshape(np.array(part, dtypes[k]), shape))
    return tuple(out)


def class_of(y: Any) -> np.dtype:
    return np.asarray(y).dtype


def classes_of(ys: tuple[Any, ...]) -> list[np.dtype]:
    return list(map(class_of, ys))


zero_derivative(common_places, core_dimensions, goes_through, class_of, classes_of)


def call_made(pyfunc, otypes, excluded, cache, signature, /, *args, **kwargs):
    return call_elementwise(pyfunc, otypes, excluded, cache, signature, args, kwargs)


def of_vectorized(made: dict[str, Any], n: int, names: list[str]) -> tuple[Any, tuple[Any, ...]] | None:
    """What a call of an `np.vectorize` comes down to."""
    if "pyfunc" not in made:  # a decorator, so far
        return None
    f, otypes, cache = made["pyfunc"], made.get("otypes"), made.get("cache", False)
    if "excluded" not in made and "signature" not in made and not names and 0 < n < 4:
        return (with_one, with_two, with_three)[n - 1], (f, otypes, cache)
    return call_made, (f, otypes, made.get("excluded"), cache, made.get("signature"))


called_as[np.vectorize] = of_vectorized


@overlay(np.vectorize)
def vectorize(pyfunc, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    def vectorized(*args, **kwargs):
        return call_elementwise(pyfunc, otypes, excluded, cache, signature, args, kwargs)

    return vectorized


@overlay(np.vectorize.__call__)
def vectorized_call(self, /, *args, **kwargs):
    return call_elementwise(self.pyfunc, self.otypes, self.excluded, self.cache, self.signature, args, kwargs)


refuse("its result is an array of objects; np.vectorize and comprehensions are differentiated", np.frompyfunc)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3, 1.7])
_P = np.array([0.4, 1.3, 2.2, 0.9, 1.7])
_M = np.sin(np.arange(12.0) * 1.3).reshape(3, 4) + 0.1
_T = np.sin(np.arange(24.0) * 1.7).reshape(2, 3, 4) + 0.1
_I = np.array([0, 1, 0, 2, 1])


def _pieces(x: np.ndarray, k: float) -> np.ndarray:
    return np.piecewise(x, [x < 0, x > 0.5], [lambda t: t * k, lambda t: t**2, 0.25])


_doubled = np.vectorize(lambda a: a * a if a > 0 else -a)


@np.vectorize
def _cut(a):
    return 0 if a > 0.7 else a


def _of_class(x: np.ndarray, k: float) -> Any:
    """The first result says of which class all are."""
    f = np.vectorize(lambda a, d: 1 if a > 0.5 else a * d, excluded={"d"})
    g = np.vectorize(lambda a: (a * k, 2 if a > 0.5 else a))
    return f(x, d=k), f(x[::-1], d=k), g(x[1:]), g(x), _cut(x), _cut(x[::-1]), np.vectorize(lambda a: a, cache=True)(x)


def _with_numbers(x: np.ndarray, k: float) -> Any:
    f = np.vectorize(lambda a, b, c: a * b + c if a > 0.5 else c * a)
    g = np.vectorize(lambda a, b: (a * k, b), otypes="dd")
    return (
        f(x, x[:, None], 2),
        g(x, k),
        g(list(x), 3),
        _doubled(x),
        _doubled(x[0]),
        np.vectorize(math.sin, [float])(x[:0]),
    )


def _rows(m: np.ndarray, k: float) -> Any:
    return np.apply_along_axis(lambda r: np.sum(r * k), 0, m), np.apply_along_axis(np.cumsum, 1, m)


def _vectorized(x: np.ndarray, k: float) -> Any:
    f = np.vectorize(lambda a, b: a * b if a > 0 else a**2 * k)
    g = np.vectorize(lambda a, b: a * b[1], otypes=[float], excluded={1})
    h = np.vectorize(lambda a, d: a * d["k"] + d["k"])
    return f(x, 0.5), f(x[:, None], x[::-1]), g(x, x), h(x, {"k": k}), h(x, d={"k": k * 2.0})


def _signed(m: np.ndarray, k: float) -> Any:
    f = np.vectorize(lambda r, s: r.sum() * r + s, signature="(n),()->(n)")
    g = np.vectorize(lambda r: (r @ r, r[0]), signature="(n)->(),()")
    h = np.vectorize(lambda a, b, c=2.0: a * b**c, excluded=["c"])
    return f(m, m[:, 0]), g(m), h(m[0], b=m[1:], c=3.0), np.vectorize(lambda: k * 2.0)()


def _power(x: float, y: float) -> float:
    return x * y + x


CASES: list[RuleCase] = [
    case(np.select, [_V < 0, _V > 0.5], [_V * 2, _P], 0.5), case(np.select, [_M < 0, _M > 0.5], [_M, 0.5]),
    case(np.select, [_V < 0], [_P], default=_V), case(np.choose, _I, [_V, _P, _V * 2]),
    case(np.choose, _I, (_V, 0.5, _P)), case(np.choose, _I + 2, [_V, _P, 0.3], mode="wrap"),
    case(np.choose, _I * 2, [_V, _P, 0.3], mode="clip"), case(np.choose, np.array([[0], [1]]), [_V, _P]),
    case(np.ndarray.choose, _I, [_V, _P, 0.5]), case(np.choose, _I, [_V, _P, _V], out=np.zeros(5)),
    case(np.piecewise, _V, [_V < 0, _V >= 0], [0.5, lambda x: x**2]),
    case(np.piecewise, 0.3, [True], [lambda x: x * 2]), case(_pieces, _V, 1.5),
    case(np.apply_along_axis, lambda r: r * 2, 1, _M), case(np.apply_along_axis, lambda r: (r * r).sum(), 1, _T),
    case(_rows, _M, 0.5), case(np.apply_along_axis, np.outer, 1, _T, np.array([0.5, 1.5])),
    case(np.apply_over_axes, np.sum, _T, [0, 2]), case(np.apply_over_axes, np.sum, _T, 1),
    case(lambda k: np.fromfunction(lambda i, j: i * k + j, (2, 3)), 0.5), case(_vectorized, _V, 0.5),
    case(_of_class, _V, 0.5), case(_with_numbers, _V, 0.5),
    case(_signed, _M + 2, 0.5),
    case(lambda x: np.vectorize(np.hypot)(x, 2.0), 0.5), case(lambda x: np.vectorize(divmod)(x, 0.5)[1], _P),
    case(lambda x: np.vectorize(_power)(x, x.T[:1].T), _M + 2),
]  # fmt: skip
