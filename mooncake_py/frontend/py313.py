"""CPython 3.13: what differs from the common table and from 3.12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mooncake_py.frontend import common
from mooncake_py.frontend.common import call
from mooncake_py.frontend.decode import Version
from mooncake_py.frontend.patterns import pop, popn
from mooncake_py.frontend.py312 import SHARED, super_attr
from mooncake_py.frontend.stack import NULL, Converted, Making, Marker

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator


def _load_global(ev: Evaluator, arg: int) -> None:
    ev.stack.append(common.load_global(ev, ev.names[arg >> 1]))
    if arg & 1:
        ev.stack.append(NULL)


def _load_attr(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.emit(common.GETATTR, (pop(ev), ev.names[arg >> 1])))
    if arg & 1:
        ev.stack.append(NULL)


def _load_super_attr(ev: Evaluator, arg: int) -> None:
    ev.stack.append(super_attr(ev, arg))
    if arg & 1:
        ev.stack.append(NULL)


def _load_fast_load_fast(ev: Evaluator, arg: int) -> None:
    ev.stack.append(ev.load(arg >> 4))
    ev.stack.append(ev.load(arg & 15))


def _store_fast_load_fast(ev: Evaluator, arg: int) -> None:
    ev.store(arg >> 4, pop(ev))
    ev.stack.append(ev.load(arg & 15))


def _store_fast_store_fast(ev: Evaluator, arg: int) -> None:
    ev.store(arg >> 4, pop(ev))
    ev.store(arg & 15, pop(ev))


def _call(ev: Evaluator, arg: int) -> None:
    fn, first, *args = popn(ev, arg + 2)
    call(ev, fn, tuple(args) if isinstance(first, Marker) else (first, *args))


def _call_kw(ev: Evaluator, arg: int) -> None:
    ev.keywords = pop(ev).value
    _call(ev, arg)


def _to_bool(ev: Evaluator, arg: int) -> None:
    if not ev.next_is("UNARY_NOT"):  # which takes the truth itself
        ev.stack.append(ev.truth(pop(ev)))


def _compare_op(ev: Evaluator, arg: int) -> None:
    result = ev.emit(common.COMPARE[arg >> 5], popn(ev, 2))
    ev.stack.append(ev.truth(result) if arg & 16 and not ev.next_is("UNARY_NOT") else result)


def _convert_value(ev: Evaluator, arg: int) -> None:
    ev.stack.append(Converted(pop(ev), arg))


def _format_simple(ev: Evaluator, arg: int) -> None:
    common.format_value(ev, pop(ev), common.EMPTY)


def _format_with_spec(ev: Evaluator, arg: int) -> None:
    spec = pop(ev)
    common.format_value(ev, pop(ev), spec)


def _make_function(ev: Evaluator, arg: int) -> None:
    _finish_function(ev, Making(pop(ev)))


def _set_function_attribute(ev: Evaluator, arg: int) -> None:
    making = pop(ev)
    making.parts[arg] = pop(ev)
    _finish_function(ev, making)


def _finish_function(ev: Evaluator, making: Making) -> None:
    if ev.next_is("SET_FUNCTION_ATTRIBUTE"):
        ev.stack.append(making)
    else:
        common.make_function(ev, making.code, making.parts)


VERSION = Version(
    handlers={
        **SHARED,
        "CALL": _call,
        "CALL_KW": _call_kw,
        "LOAD_GLOBAL": _load_global,
        "LOAD_ATTR": _load_attr,
        "LOAD_SUPER_ATTR": _load_super_attr,
        "LOAD_FAST_LOAD_FAST": _load_fast_load_fast,
        "STORE_FAST_LOAD_FAST": _store_fast_load_fast,
        "STORE_FAST_STORE_FAST": _store_fast_store_fast,
        "TO_BOOL": _to_bool,
        "COMPARE_OP": _compare_op,
        "CONVERT_VALUE": _convert_value,
        "FORMAT_SIMPLE": _format_simple,
        "FORMAT_WITH_SPEC": _format_with_spec,
        "MAKE_FUNCTION": _make_function,
        "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
        "END_FOR": common.pop_top,
    },
    effects={},
)
