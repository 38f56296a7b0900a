"""What a call gives: the value, its fdata, and the pullback; and what it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Pull = Callable[[Any], Any]
Result = tuple[Any, Any, Pull | None]
Call = Callable[..., Result]


class Given(NamedTuple):
    """The arguments of a call, with their fdata, as every call takes them after callee and its fdata."""

    args: tuple[Any, ...]
    fargs: tuple[Any, ...]
    names: tuple[str, ...] = ()
    kwvalues: tuple[Any, ...] = ()
    kwfdata: tuple[Any, ...] = ()

    def after(self, x: Any, fx: Any) -> Given:
        """The same behind another argument."""
        return Given((x, *self.args), (fx, *self.fargs), *self[2:])

    def by_position(self, named: Sequence[str]) -> tuple[Given, list[int]]:
        """The same with these keyword arguments behind the positional ones, and where the cotangents of its callee
        and arguments then stand."""
        n = len(self.args)
        left = [k for k in self.names if k not in named]
        place = {k: 1 + n + i for i, k in enumerate((*named, *left))}
        values, fdata = (
            dict(zip(self.names, self.kwvalues, strict=True)),
            dict(zip(self.names, self.kwfdata, strict=True)),
        )
        moved = Given(
            (*self.args, *(values[k] for k in named)), (*self.fargs, *(fdata[k] for k in named)),
            tuple(left), tuple([values[k] for k in left]), tuple([fdata[k] for k in left]),
        )  # fmt: skip
        return moved, [*range(1 + n), *(place[k] for k in self.names)]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return dict(zip(self.names, self.kwvalues, strict=True))

    @property
    def values(self) -> tuple[Any, ...]:
        """All arguments, in the order in which a pullback gives their cotangents."""
        return (*self.args, *self.kwvalues)

    @property
    def fdata(self) -> tuple[Any, ...]:
        """fdata of them all."""
        return (*self.fargs, *self.kwfdata)


def through(result: Result, pick: Callable[[Any], Any]) -> Result:
    """The result of another call: `pick` makes the cotangents of its arguments from those of the call that was made."""
    y, fy, pb = result
    if pb is None:
        return result

    def pullback(dy: Any) -> Any:
        ds = pb(dy)
        return None if ds is None else pick(ds)

    return y, fy, pullback


def of_receiver(result: Result) -> Result:
    """A call of a function of x and constants as an attribute of x."""
    return through(result, lambda ds: ds[1])


def dropping(result: Result) -> Result:
    """The same for a function of objects only: their cotangents are in their shadows."""
    return through(result, lambda ds: None)


def of_bound(result: Result) -> Result:
    """A method's call as one of the bound method: the receiver is what the callee carries."""
    return through(result, lambda ds: ds[1:])


def without_first(result: Result) -> Result:
    """A call with a constant before the arguments as one without it."""
    return through(result, lambda ds: (None, *ds[2:]))
