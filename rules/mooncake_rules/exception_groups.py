"""Groups of exceptions, taken apart: as the Python that `split` and `subgroup` could be written in."""

from __future__ import annotations

from typing import Any

from mooncake_py.registry import overlay


@overlay(BaseExceptionGroup.split)
def split_(group, condition):
    if _meets(group, condition):
        return group, None
    found, rest = _parts(group, condition)
    return _made_of(group, found), _made_of(group, rest)


@overlay(BaseExceptionGroup.subgroup)
def subgroup_(group, condition):
    return group if _meets(group, condition) else _made_of(group, _parts(group, condition)[0])


def _meets(exc, condition):
    return isinstance(exc, condition) if isinstance(condition, (type, tuple)) else bool(condition(exc))


def _parts(group, condition):
    """The exceptions that meet the condition, and the others; of a group in it, the part that does and the rest."""
    found: list[Any] = []
    rest: list[Any] = []
    for exc in group.exceptions:
        if isinstance(exc, BaseExceptionGroup):
            of_these, of_others = exc.split(condition)
            if of_these is not None:
                found.append(of_these)
            if of_others is not None:
                rest.append(of_others)
        elif _meets(exc, condition):
            found.append(exc)
        else:
            rest.append(exc)
    return found, rest


def _made_of(group, exceptions):
    if len(exceptions) == 0:
        return None
    if type(group).derive is BaseExceptionGroup.derive:
        part = BaseExceptionGroup(group.message, exceptions)
    else:
        part = group.derive(exceptions)
    part.__traceback__, part.__cause__, part.__context__ = group.__traceback__, group.__cause__, group.__context__
    if hasattr(group, "__notes__"):
        part.__notes__ = list(group.__notes__)
    return part
