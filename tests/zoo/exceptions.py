"""`try`, `with`, `raise`, `assert`: raised and not, in loops, nested, with something changed before the exception."""

import contextlib
import math
import sys
import threading
import traceback
import warnings

import numpy as np

from tests.zoo.registry import case

V = np.array([1.3, 0.4, 2.2])
W = np.array([0.7, 1.9, -0.4, 1.1, 0.6])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@case(2.0, name="root_or_multiple_not_raised")
@case(-2.0, name="root_or_multiple_raised")
def root_or_multiple(x):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = x * 3.0
    return y * x


@case(1.5, 2.0)
@case(1.5, -2.0, name="else_and_finally_else_skipped")
def else_and_finally(x, k):
    try:
        y = math.log(k) * x
    except ValueError as e:
        y = x * len(str(e))
    else:
        y = y * y
    finally:
        x = x * 2.0
    return x * y


@case(1.5)
def division_by_zero(x):
    try:
        return x / 0.0
    except ZeroDivisionError:
        return x * x


@case(3.0)
def overflow(x):
    try:
        y = math.exp(x * 1000.0)
    except OverflowError:
        y = math.exp(-x)
    return y


@case(1.5, {"a": 2.0})
@case(1.5, {"a": 2.0, "b": 3.0}, name="key_error_key_there")
def key_error(x, d):
    try:
        r = d["a"] * x
        r = r * d["b"]
    except KeyError as e:
        r = x * len(e.args[0]) + d["a"]
    return r * x


@case(1.3, [1.0, 2.0, 0.5])
def index_error_ends_a_loop(x, xs):
    s, i = 0.0, 0
    while True:
        try:
            s = s + xs[i] * x
        except IndexError:
            break
        i += 1
    return s * x


@case(1.1)
def stop_iteration(x):
    it = iter([1.0, 2.0])
    s = x
    while True:
        try:
            s = s * next(it) + x
        except StopIteration:
            return s


@case(1.1)
def attribute_error(x):
    try:
        return x.no_such_thing
    except AttributeError:
        return x * x


@case(SINGULAR + 0.0, SINGULAR + np.eye(2))
def linalg_error(a, b):
    total = 0.0
    for k in (0.0, 1.0):
        try:
            total += np.linalg.inv(SINGULAR + k * np.eye(2)).sum() * b.sum() + a.sum() * k
        except np.linalg.LinAlgError:
            total += (a * b).sum()
    return total


@case(1.2)
def one_of_several(x):
    out = 0.0
    for k in range(4):
        try:
            if k == 0:
                out += [x][k + 1]
            elif k == 1:
                out += {"a": x}[k]
            elif k == 2:
                out += x / 0
            out += x
        except (IndexError, KeyError) as e:
            out += x * x * (k + 1) if isinstance(e, LookupError) else 100.0 * x
        except ArithmeticError:
            out += x**3
    return out


@case(1.2)
def bare_except(x):
    try:
        y = x * int("no")
    except:  # noqa: E722
        y = x * 4.0
    return y * x


@case(1.2)
def handler_that_does_not_match(x):
    try:
        try:
            raise KeyError("k")
        except IndexError:
            y = x * 100.0
        finally:
            y = x * 2.0
    except KeyError:
        y = y * x
    return y


@case(2.0)
def nested_and_raised_anew(x):
    try:
        try:
            y = math.sqrt(-x)
        except ValueError:
            x = x * 2.0
            raise KeyError("other") from None
    except KeyError as e:
        y = x * x * len(e.args)
    return y


@case(1.1)
def reraised(x):
    try:
        try:
            raise KeyError("k")
        except KeyError:
            x = x * 2.0
            raise
    except LookupError:
        x = x * x
    return x


@case(1.3)
def name_is_gone_after_the_handler(x):
    e = 2.0
    try:
        raise ValueError
    except ValueError as e:
        y = x * len(e.args)
    try:
        return e * y
    except UnboundLocalError:
        return x * x


@case(1.5, tags=("assert",))
def assertion_fails(x):
    try:
        assert x > 10.0, "small"
        y = x
    except AssertionError as e:
        y = x * len(str(e))
    return y * y


@case(1.5, tags=("assert",))
def assertion_holds(x):
    assert x > 1.0, f"{x} is small"
    y = x * x
    assert y > x
    return y


@case([1.0, 2.0, 3.0], 1.7)
@case([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 1.7, name="all_parts_in_a_loop_long_enough")
@case(np.array([1.0, 2.0]), -1.7, name="all_parts_in_a_loop_array_and_never")
def all_parts_in_a_loop(xs, x):
    s = 0.0
    for i in range(6):
        try:
            s = s + xs[i] * math.sqrt(x)
            s = s * 2.0
        except (IndexError, ValueError):
            s = s * x + x
        else:
            s = s - 0.1 * x
        finally:
            s += 1.0
    return s


@case(3.0, 4)
@case(-3.0, 4, name="leaves_in_every_way_returns_from_handler")
@case(2.1, 1, name="leaves_in_every_way_breaks_early")
def leaves_in_every_way(x, n):
    i = 0
    while True:
        try:
            x = math.sqrt(x) * 1.7
            i += 1
            if i > n:
                break
            if i == 2:
                continue
            x = x - 1.1
            [1, 2][i]
        except IndexError:
            x = x * 1.01
        except ValueError:
            return x * 7
    return x


@case(1.1)
def while_else_with_try(x):
    n = 0
    while n < 20:
        try:
            n += 1
            if n % 3 == 0:
                raise ValueError
            x = x + 0.1 * math.sin(x)
        except ValueError:
            x = x * 0.99
        else:
            if n == 14:
                break
    else:
        x = x * 100
    return x


@case(1.3)
def loop_inside_try(x):
    s = x
    try:
        for i in range(5):
            if i == 3:
                raise KeyError("a")
            s = s * x
        else:
            s = s + 100.0
    except KeyError:
        s = s + x * x
    return s


@case(W)
def loop_left_by_an_exception(a):
    s = 0.0
    try:
        for v in a:
            s += math.sqrt(v) * v
    except ValueError:
        s *= v
    return s


@case(W)
def two_loops_left_by_an_exception(a):
    s = 0.0
    try:
        for i in range(4):
            for j in range(3):
                s += a[i + j] * a[j] * (i + 1)
    except IndexError:
        s *= a[i] * a[j]
    return s


@case(1.3)
def for_else_with_try(x):
    for k in (4.0, 1.0, -1.0, 2.0):
        try:
            x = x * math.sqrt(k)
        except ValueError:
            break
    else:
        x = x * 100.0
    return x * x


@case(1.3)
def finally_with_return_inside(x):
    for i in range(3):
        try:
            if i == 1:
                return x * x * i
        finally:
            x = x * 1.5
    return x


@case(1.3)
def return_in_finally(x):
    def f():
        try:
            return x * 1.0
        finally:
            return x * x  # noqa: B012

    return f() * x


@case(1.3)
def finally_swallows(x):
    while True:
        try:
            x = x / 0.0
        finally:
            x = x * x
            break  # noqa: B012
    return x


@case(1.5)
def appended_before_each_exception(x):
    out = []
    for k in (1.0, -1.0, 0.0):
        try:
            out.append(x / k)
            out.append(math.sqrt(k) * x)
        except ZeroDivisionError:
            out.append(x * x)
            continue
        except ValueError:
            out.append(x * 3.0)
        else:
            out.append(x * 4.0)
        finally:
            out.append(x)
    return sum(v * (i + 1) for i, v in enumerate(out))


@case(V)
def argument_written_before_the_exception(a):
    out = []
    try:
        out.append(a[0])
        a[1] = a[0] * a[2]
        a[7] = 3.0
    except IndexError:
        out.append(a[1])
    return out[0] * out[1] + a.sum()


@case(V)
def array_scaled_before_the_exception(a):
    b = a * 2.0
    try:
        b *= a
        b[:2] *= a[0]
        b += np.ones(7)
    except ValueError:
        b -= a
    return b


@case(V, {"k": 1.0})
def dict_changed_before_the_exception(a, d):
    try:
        d["k"] = d["k"] * a[0]
        d["new"] = a[1] * a[2]
        d["k"] = d["gone"]
    except KeyError:
        d["k"] *= d["new"]
    return d["k"] + d["new"] * a.sum()


@case(1.3)
def cell_rebound_before_the_exception(x):
    def step(y):
        nonlocal x
        x = x * y
        return math.log(-y) + x

    try:
        step(2.0)
    except ValueError:
        x = x * x
    return x


def push(xs, x):
    xs.append(x * x)
    if len(xs) > 2:
        raise OverflowError("full")
    return x * 2.0


@case(1.2)
def callee_appends_then_raises(x):
    xs = []
    t = 0.0
    for i in range(5):
        try:
            t += push(xs, x * (i + 1))
        except OverflowError:
            t += xs[-1] * 0.5
    return t + sum(xs)


def scaled(a, i, k):
    a[i] *= k
    a[i + 1] = a[i] * a[i]
    a[i + 2] = math.sqrt(k - 2.0)
    return a[i] * k


@case(V, 3.0)
@case(V, 1.5, name="callee_writes_then_raises_math_error")
@case(W, 3.0, name="callee_writes_then_raises_longer")
@case(W, 1.5, name="callee_writes_then_raises_longer_math_error")
def callee_writes_then_raises(a, k):
    s = 0.0
    for i in range(3):
        try:
            s += scaled(a, i, k)
        except IndexError:
            s += a[0] * 3.0
        except ValueError:
            s += a[1] * a[2]
    return s + a.sum()


def cleans_up(a, k):
    try:
        a[0] = a[0] * k
        return scaled(a, 1, k)
    finally:
        a[1] *= 2.0


@case(V, 2.5)
@case(W, 2.5, name="exception_through_two_callees_not_raised")
@case(W, 1.5, name="exception_through_two_callees_raised_elsewhere")
def exception_through_two_callees(a, k):
    try:
        return cleans_up(a, k) + 1.0
    except (IndexError, ValueError):
        return (a * a).sum() * k


def fills(xs, x, n):
    xs.append(x)
    if n == 0:
        raise StopIteration
    return fills(xs, x * 1.1, n - 1)


@case(1.3)
def recursion_appends_then_raises(x):
    xs = []
    with contextlib.suppress(StopIteration):
        fills(xs, x, 4)
    return sum(xs) * xs[2]


def deep(x, n):
    try:
        if n == 0:
            return math.sqrt(-x)
        return deep(x * 1.1, n - 1) * x
    except ValueError:
        if n < 2:
            raise
        return x * x


@case(1.2)
def recursion_with_try(x):
    return deep(x, 4)


def attempt(f, *args, default=2.0):
    try:
        return f(*args)
    except (ValueError, TypeError):
        return args[0] * default


@case(1.7)
def callee_that_is_an_argument(x):
    t = attempt(math.sqrt, x) + attempt(math.sqrt, x - 3.0)
    return t * attempt(math.log, -x, default=3.0)


@case(V)
@case(-V, name="comprehension_inside_try_raised")
def comprehension_inside_try(a):
    xs = [v * 2.0 for v in a]
    try:
        ys = [math.sqrt(v) for v in xs]
    except ValueError:
        ys = [v * v for v in xs]
    return sum(ys)


def scrambles(index):
    index.sort()
    index[0] = 2
    raise RuntimeError


@case(1.3, V)
def captured_index_changed_before_the_exception(x, a):
    index = np.array([2, 0, 1])
    y = a[index] * x
    try:
        scrambles(index)
    except RuntimeError:
        y = y + a[index] ** 2 * x
    return (y * y).sum()


@case(1.3)
def decorated(x):
    def retry(f):
        def g(y, n):
            while True:
                try:
                    return f(y, n)
                except ValueError:
                    n += 2

        return g

    @retry
    def f(y, n):
        return y * math.sqrt(n) * n

    return f(x, -3) * x


@case(1.5, 2.9)
@case(-1.5, -3.0, name="bisection_with_guard_never")
def bisection_with_guard(x, k):
    low, high = 0.0, 4.0
    best = x
    for _ in range(6):
        mid = 0.5 * (low + high)
        try:
            best = best + 0.1 * math.log(mid - k) * x
            high = mid
        except ValueError:
            low = mid
            best = best * 0.9
    return best


class Carrier(Exception):
    """An exception that brings what it was made of."""


@case(1.3)
def exception_with_a_value(x):
    try:
        raise Carrier("stopped", x * x)
    except Carrier as e:
        return e.args[1] * x


class Diverged(Exception):
    def __init__(self, last, step):
        super().__init__(f"after {step} steps")
        self.last = last


@case(1.3)
def exception_with_an_attribute(x):
    try:
        for i in range(5):
            x = x * 1.5
            if i == 3:
                raise Diverged(x * x, i)
    except Diverged as e:
        return e.last * x * len(str(e))
    return x


@case(1.3)
def builtin_exception_with_a_value(x):
    y = x * 2.0
    try:
        y = y * x
        raise ValueError(y)
    except (KeyError, ValueError) as e:
        (z,) = e.args
    return z * y


@case(V)
def exception_with_an_array(a):
    try:
        raise Carrier(a * a, 2.0)
    except Carrier as e:
        b, k = e.args
    return b * k * a


def search(xs, goal):
    total = 0.0
    for x in xs:
        total = total + x * x
        if total > goal:
            raise Carrier(total, x)
    return total


@case(V, 1.0)
@case(V, 100.0, name="exception_with_a_value_from_a_callee_not_raised")
def exception_with_a_value_from_a_callee(a, goal):
    try:
        return search(list(a), goal)
    except Carrier as e:
        total, x = e.args
        return total * x + goal


def newton(x, k):
    if k == 0:
        raise Carrier(x)
    return newton(x - (x * x - 2.0) / (2.0 * x), k - 1)


@case(1.7)
def exception_with_a_value_ends_a_recursion(x):
    try:
        newton(x, 2)
    except Carrier as e:
        return e.args[0] * x


@case(1.3)
def exceptions_with_values_in_a_chain(x):
    try:
        try:
            raise KeyError(x * x)
        except KeyError as e:
            e.add_note(f"at {x:.1f}")
            raise Carrier(e.args[0] * 2.0) from e
    except Carrier as c:
        return c.args[0] * c.__cause__.args[0] + len(c.__cause__.__notes__)


@case(1.3)
def values_of_several_exceptions_in_a_loop(x):
    s = 0.0
    for i in range(4):
        try:
            if i % 2:
                raise Carrier(x * i, s)
            s = s + x
        except Carrier as e:
            s = s * 0.5 + e.args[0] * e.args[1]
    return s


def counted(x):
    for i in range(3):
        yield x * i
    return x * x


@case(1.3)
def value_of_a_generator_that_ended(x):
    g = counted(x)
    s = 0.0
    while True:
        try:
            s = s + next(g)
        except StopIteration as e:
            return s * e.value


# -- with ----------------------------------------------------------------------------------------------------


@case(V)
def with_errstate(a):
    with np.errstate(all="ignore"):
        y = np.log(a) * a
    return y


@case(V)
@case(V * 0.1, name="with_and_return_falls_through")
def with_and_return(a):
    with np.errstate(all="ignore"):
        y = a * 2.0
        if y.sum() > 3:
            return (y * a).sum()
    return y.sum()


@case(V)
def with_several(a):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        y = np.log(a)
    return (y * a).sum()


@case(V)
def with_in_a_loop(a):
    lock = threading.Lock()
    y = a * 1.0
    for i in range(5):
        with lock:
            if i == 2:
                continue
            y = y * a
            if i == 3:
                break
    return y.sum() if not lock.locked() else 0.0


@case(1.3)
def with_suppress(x):
    with contextlib.suppress(ValueError, ZeroDivisionError):
        y = x * 3.0
        y = y + math.sqrt(-x)
    return y * y


class Counts:
    """Counts how it is left; swallows a ValueError."""

    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, kind, value, traceback):
        self.n += 10
        return kind is ValueError


@case(1.2)
@case(200.0, name="with_own_class_not_raised")
def with_own_class(x):
    with Counts() as m:
        x = x * 2.0
        x = x * math.sqrt(x - 100.0)
    return x * m.n


@case(1.2)
def with_nested_and_raised(x):
    outer = Counts()
    try:
        with outer, Counts() as inner:
            x = x * 2.0
            x = x * [x][inner.n]
    except IndexError:
        x = x * inner.n
    return x * outer.n * x


class Total:
    def __init__(self):
        self.total = 0.0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.total = self.total * 2.0
        return True

    def add(self, v):
        self.total = self.total + v
        if v > 2:
            raise KeyError(v)


@case(1.3)
def with_a_manager_that_computes(x):
    with Total() as t:
        t.add(x)
        t.add(x * x)
        t.add(x**3)
        t.add(100.0)
    return t.total


@contextlib.contextmanager
def halves():
    yield 0.5


@case(1.2)
def with_contextmanager(x):
    with halves() as k:
        y = x * k
    return y * x


@contextlib.contextmanager
def tolerant():
    try:
        yield
    except ValueError:
        pass


@case(1.2)
def with_contextmanager_that_swallows(x):
    with tolerant():
        x = x * 2.0
        x = x * math.log(-1.0)
    return x * x


@case(1.2)
def with_exit_stack(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="raise"))
        stack.enter_context(contextlib.suppress(FloatingPointError))
        x = x * 2.0
        x = x * np.float64(1.0) / np.float64(0.0)
    return x * x


class _Failure(Exception):
    def __init__(self, value):
        super().__init__("failed")
        self.value = value


class _Keeper:
    """Keeps what it learns of the exception that it swallows."""

    def __init__(self):
        self.kept = 0.0

    def __enter__(self):
        return self

    def __exit__(self, cls, exc, trace):
        if exc is not None:
            self.kept = exc.value * 2.0
        return True


@case(1.3)
def with_exit_that_keeps_a_value_of_the_exception(x):
    with _Keeper() as keeper:
        raise _Failure(x * x)
    return keeper.kept * x


@case(1.3)
def with_exit_stack_that_keeps_a_value_of_the_exception(x):
    keeper = _Keeper()
    with contextlib.ExitStack() as stack:
        stack.enter_context(keeper)
        raise _Failure(x * x)
    return keeper.kept * x


@contextlib.contextmanager
def _squared(x):
    yield x * x


@case(1.3)
def context_manager_of_an_active_value(x):
    with _squared(x) as y:
        return y * x


class OutOfRange(ValueError):
    def __init__(self, x, *, by=0.0):
        super().__init__(x)
        self.x, self.by = x, by


class NotThere(KeyError):
    def __init__(self, name, x):
        LookupError.__init__(self, name, x)


@case(1.5)
def classes_derived_from_errors_of_a_kind(x):
    r = 0.0
    for k in range(3):
        try:
            if k == 0:
                raise OutOfRange(x * x, by=2.0 * x)
            if k == 1:
                raise NotThere("a", x)
            raise RuntimeError("again", x) from OutOfRange(x)
        except OutOfRange as e:
            r += e.args[0] * e.by
        except KeyError as e:
            r += e.args[1] * len(e.args[0])
        except RuntimeError as e:
            r += e.args[1] * e.__cause__.x
    return r


class Holding(Exception):
    def __init__(self, a, b):
        self.a = a
        super().__init__(b)


@case(1.3)
def arguments_of_an_exception_set(x):
    s = 0.0
    for make in (ValueError, Exception):
        try:
            raise make(x)
        except (ValueError, Exception) as e:
            before = e.args
            e.args = (x * 3, *before)
            s += e.args[0] * e.args[1] * before[0]
    try:
        raise Holding(x, x * 2)
    except Holding as e:
        e.args += (x * 5,)
        return s * e.a * e.args[0] * e.args[1]


@case(1.3)
def causes_of_exceptions(x):
    class Deeper(Exception):
        pass

    def dive(n):
        try:
            if n == 0:
                raise Deeper(x)
            dive(n - 1)
        except Deeper as e:
            raise Deeper(e.args[0] * x, *e.args).with_traceback(None) from e

    try:
        dive(3)
    except Deeper as e:
        s, cause = len(e.args) * x, e
        while cause:
            s += cause.args[0]
            cause = cause.__cause__
        return s * e.__context__.args[0]


@case(1.3)
def item_of_a_tuple_that_is_added_to(x):
    xs = [x]
    pair = (xs, 2.0)
    try:
        pair[0] += [x * x]
    except TypeError:
        xs.append(x**3)
    try:
        del pair[1]
    except TypeError:
        return sum(xs)
    return 0.0


def the_one_being_handled():
    return sys.exc_info()[1].args[0]


def by_its_attribute():
    return sys.exception().value


class Reported(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


class Keeps:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.found = sys.exc_info()[1]
        return True


@case(1.3, tags=("exception being handled",))
def exceptions_that_are_being_handled(x):
    before = sys.exc_info()[0] is None and sys.exception() is None
    keeps = Keeps()
    with keeps:
        raise Reported(x * x)
    try:
        raise Reported(x * 3.0)
    except Reported:
        kind, e, _ = sys.exc_info()
        total = e.args[0] * x + the_one_being_handled() * by_its_attribute()
        text = traceback.format_exc()
    return total * keeps.found.value * before + (kind is Reported) * len(text.splitlines()[:1])


@case(1.3)
def arguments_of_an_exception_whose_class_is_made_here(x):
    class Stop(Exception):
        def __init__(self, v, w=1):
            self.v = v

    class Plain(Exception):
        pass

    e = Stop(x, w=2)
    try:
        raise Stop(x * x, w=x)
    except Stop as caught:
        total = caught.args[0] * len(caught.args)
    return total + e.args[0] * e.v + Plain(x, 1).args[0]


@case([np.float64(1.3), "n/a", np.float64(0.4), None])
def words_among_numbers_are_left_out(xs):
    t = np.float64(0.0)
    for v in xs:
        try:
            t += v * xs[0]
        except TypeError:
            t *= 1.5
        try:
            t += v
        except TypeError:
            t -= xs[2]
    return t
