"""Handlers made from patterns: what most instructions do to the symbolic stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooncake_py.frontend.decode import Handler
from mooncake_py.ir.nodes import Const

if TYPE_CHECKING:
    from mooncake_py.frontend.normalise import Evaluator


def pop(ev: Evaluator) -> Any:
    return ev.stack.pop()


def popn(ev: Evaluator, n: int) -> tuple[Any, ...]:
    """The top n values, deepest first."""
    if not n:
        return ()
    values = tuple(ev.stack[-n:])
    del ev.stack[-n:]
    return values


def nop(ev: Evaluator, arg: int) -> None:
    pass


def refused(construct: str) -> Handler:
    def handler(ev: Evaluator, arg: int) -> None:
        ev.refuse(construct)

    return handler


def takes(fn: Callable[..., Any], n: int) -> Handler:
    """Pop n values, push fn of them."""
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.stack.append(ev.emit(callee, popn(ev, n)))

    return handler


def peeks(fn: Callable[..., Any], n: int) -> Handler:
    """Push fn of the top n values, which stay."""
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.stack.append(ev.emit(callee, tuple(ev.stack[-n:])))  # type: ignore[arg-type]

    return handler


def builds(fn: Callable[..., Any], per_item: int = 1) -> Handler:
    """Pop as many values as the argument says, push fn of them."""
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.stack.append(ev.emit(callee, popn(ev, arg * per_item)))

    return handler


def adds(fn: Callable[..., Any], n: int = 1) -> Handler:
    """Pop n values and add them to the container at the depth the argument says."""
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        values = popn(ev, n)
        ev.emit(callee, (ev.stack[-arg], *values))  # type: ignore[arg-type]

    return handler


def loads_name(fn: Callable[..., Any]) -> Handler:
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.stack.append(ev.emit(callee, (ev.names[arg],)))

    return handler


def stores_name(fn: Callable[..., Any]) -> Handler:
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.emit(callee, (ev.names[arg], pop(ev)))

    return handler


def deletes_name(fn: Callable[..., Any]) -> Handler:
    callee = Const(fn)

    def handler(ev: Evaluator, arg: int) -> None:
        ev.emit(callee, (ev.names[arg],))

    return handler
