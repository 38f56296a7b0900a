"""The border to the user on the way out: cotangents in the user's own types, and what is put back."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from types import CellType
from typing import Any

import numpy as np

from mooncake_py.errors import CotangentError
from mooncake_py.fields import bare
from mooncake_py.mirrors import Tangent, constant_attributes, declaration, declared_tangent, tangent_fields
from mooncake_py.shadows import Shadow
from mooncake_py.structure import (
    attributes,
    dict_kind,
    held_items,
    in_order,
    is_user_class,
    items_of,
    slot_of,
    store,
    unstore,
    with_items,
)
from mooncake_py.tangents import DictShadow, ListShadow, ObjectShadow, has_tangent
from mooncake_py.trees import children, describe, rebuild


def seed(y: Any, fdata: Any, dy: Any, seen: set[tuple[int, int]] | None = None) -> None:
    """Add the user's cotangent to the fdata of the value (its numbers travel as rdata)."""
    if dy is None or fdata is None:
        return
    seen = set() if seen is None else seen
    if (id(fdata), id(dy)) in seen:  # a container that holds itself
        return
    seen.add((id(fdata), id(dy)))
    if type(fdata) is Shadow:
        fdata.add(dy)
    elif type(fdata) is tuple:
        for v, f, d in zip(items_of(y), fdata, dy, strict=True):
            seed(v, f, d, seen)
    elif type(fdata) is ListShadow:
        for i, d in enumerate(dy):
            if fdata.f[i] is not None:
                seed(y[i], fdata.f[i], d, seen)
            elif d is not None:
                fdata.r[i] = d if fdata.r[i] is None else fdata.r[i] + d
    elif type(fdata) is ObjectShadow:
        fdata.add(dy)
    elif type(fdata) is DictShadow:
        for k, d in dy.items():
            if fdata.f.get(k) is not None:
                seed(y[k], fdata.f[k], d, seen)
            elif d is not None:
                fdata.r[k] = d if k not in fdata.r else fdata.r[k] + d


Saved = list[tuple[Any, Any]]
"""Arrays, containers, objects and cells with what they held."""
_MOST_WITHIN = 1 << 20
"""Arrays of more bytes are not copied for the case that a pullback ends with an exception."""


def snapshot_within(objects: Sequence[Any]) -> Saved:
    """The same as `snapshot`, with what these hold; a large array within stands for itself, as what it is now."""
    if not objects or all([type(x) is np.ndarray for x in objects]):
        return snapshot(objects)
    own = {id(x) for x in objects}
    held = [x for x in _held(objects, set()) if x is not objects]
    large = {id(x) for x in held if isinstance(x, np.ndarray) and x.nbytes > _MOST_WITHIN and id(x) not in own}
    return snapshot([x for x in held if id(x) not in large]) + [(x, x) for x in held if id(x) in large]


def writeable_of(args: Iterable[Any]) -> list[np.ndarray]:
    """The arrays among arguments that can be written to."""
    return [x for x in args if type(x) is np.ndarray and x.flags.writeable]


def unlock(arrays: Iterable[np.ndarray]) -> None:
    """Let arrays be written to again: a run may have set their flag `writeable` to False."""
    for x in arrays:
        if not x.flags.writeable:
            x.flags.writeable = True


def snapshot(objects: Iterable[Any]) -> Saved:
    """Arrays, lists, dicts and cells with what they hold now."""
    out: Saved = []
    for x in objects:
        if isinstance(x, (list, deque, set, dict)) and type(kept := getattr(x, "__dict__", None)) is dict:
            out.append((kept, kept.copy()))  # the attributes of an object of a class made from these
        if isinstance(x, (list, deque, set)):
            out.append((x, held_items(x)))
        elif isinstance(x, dict):
            out.append((x, dict(dict_kind(x).items(x))))
        elif isinstance(x, (np.ndarray, bytearray)):
            out.append((x, x.copy()))
        elif type(x) is CellType:
            with contextlib.suppress(ValueError):  # an empty cell
                out.append((x, x.cell_contents))
        elif is_user_class(type(x)) or hasattr(x, "__dict__"):
            out.append((x, _stored(x)))
    return out


def _stored(x: Any) -> dict[str, Any]:
    """What an object keeps by name: of a user's class in slots, too; of any other what its `__dict__` has."""
    return attributes(x) if is_user_class(type(x)) else dict(vars(x))


def put_back(saved: Saved) -> None:
    """Let them hold that again."""
    for x, content in saved:
        if isinstance(x, np.ndarray):
            if x.flags.writeable and content is not x:
                x[...] = content
        elif isinstance(x, (list, deque)):
            sequence: Any = list if isinstance(x, list) else deque
            sequence.clear(x)
            sequence.extend(x, content)
        elif isinstance(x, set):
            set.clear(x)
            set.update(x, content)
        elif isinstance(x, dict):
            kind = dict_kind(x)
            kind.clear(x)
            for k, v in content.items():
                kind.__setitem__(x, k, v)
        elif isinstance(x, bytearray):
            x[:] = content
        elif type(x) is not CellType:
            now = _stored(x)
            kept = now.keys() & content.keys()
            if not is_user_class(type(x)) or list(content) == [k for k in now if k in kept]:
                for k in now.keys() - kept:
                    unstore(x, k)
            else:  # in the order in which they were set, which slots have none of
                for k in now:
                    if k not in kept or slot_of(type(x), k) is None:
                        unstore(x, k)
                now = {k: v for k, v in now.items() if k in kept and slot_of(type(x), k) is not None}
            for k, v in content.items():
                if now.get(k, x) is not v:
                    store(x, k, v)
        else:
            x.cell_contents = content


def reachable(args: Iterable[Any]) -> set[int]:
    """The identities of the arguments and of all they hold."""
    seen: set[int] = set()
    work = list(args)
    while work:
        x = work.pop()
        if id(x) in seen or isinstance(x, (float, int, str)):
            continue
        seen.add(id(x))
        if isinstance(x, (list, tuple, dict, deque, set, frozenset)):
            work += _parts(x)
        elif not is_user_class(type(x)):
            continue
        if type(x) not in _WITHOUT_ATTRIBUTES:
            work.extend(attributes(x).values())
            work.append(getattr(x, "__dict__", None))
    return seen


def _parts(x: Any) -> list[Any]:
    """What a container holds, but for numbers and text where it holds nothing else: there may be many."""
    items = held_items(x)
    return [] if _PLAIN.issuperset(map(type, items)) else items


_PLAIN = frozenset({float, int, bool, complex, str, type(None)})


def contents(y: Any, args: Sequence[Any]) -> list[tuple[Any, Any]]:
    """What a result holds that is not the arguments' own, as it is now: undoing must not take it from the user."""
    given = reachable(args)
    arrays = [x for x in _held(args, set()) if isinstance(x, np.ndarray)]
    mine = [x for x in _held(y, given) if not isinstance(x, np.ndarray) or _is_own(x, arrays)]
    return snapshot(mine)


def _is_own(x: np.ndarray, given: Sequence[np.ndarray]) -> bool:
    return bool(x.flags.writeable) and not any(np.may_share_memory(x, a) for a in given)


def _held(y: Any, seen: set[int]) -> list[Any]:
    """The arrays, containers and objects in y, but those in `seen`."""
    out: list[Any] = []
    work = [y]
    seen = set(seen)
    while work:
        x = work.pop()
        if isinstance(x, (float, int, str)) or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, (list, tuple, dict, deque, set, frozenset)):
            work += _parts(x)
        elif not is_user_class(type(x)):
            if isinstance(x, np.ndarray):
                out.append(x)
            continue
        if type(x) not in _WITHOUT_ATTRIBUTES:
            work.extend(attributes(x).values())
        if not isinstance(x, tuple):
            out.append(x)
    return out


def check_cotangent(y: Any, dy: Any) -> Any:
    """The cotangent in the types of the value; CotangentError, with both structures, where it does not belong to it."""
    try:
        return _fitted(y, dy, "the value", set())
    except _Misfit as e:
        both = ""
        if children(y) is not None:
            both = f"\n  value:     {describe(y)}\n  cotangent: {describe(dy)}\n"
        raise CotangentError(f"the cotangent of {e}{both}") from None


class _Misfit(Exception):
    """What does not fit, and where."""


def _fitted(y: Any, dy: Any, where: str, seen: set[tuple[int, int]]) -> Any:
    parts = children(y) if not isinstance(y, np.ndarray) else None
    if parts is not None:
        if dy is None or not has_tangent(y) or (id(y), id(dy)) in seen:  # one tangent, reached from two places
            return None
        if not isinstance(y, tuple):
            seen.add((id(y), id(dy)))
        return _fitted_parts(y, dy, where, seen)
    if dy is None or not has_tangent(y):
        return None
    if isinstance(y, np.ndarray):
        if isinstance(dy, np.ma.MaskedArray) and np.ma.is_masked(dy):
            raise _Misfit(f"{where} must be a plain array, got one with masked elements: fill them (.filled(0.0))")
        try:
            d = np.asarray(dy)
        except ValueError:  # nested lists of several lengths
            d = np.asarray(None)
        if d.shape != y.shape or d.dtype.kind not in "fciu" or (d.dtype.kind == "c" != y.dtype.kind):
            raise _Misfit(f"{where} must be an array of shape {y.shape} and dtype {y.dtype}, got {_describe(dy)}")
        return d if d.dtype == y.dtype else d.astype(y.dtype)
    if isinstance(dy, np.ndarray) and dy.shape == ():
        dy = dy[()]
    takes_complex = isinstance(y, (complex, np.complexfloating))
    kinds = (int, float, complex, np.number) if takes_complex else (int, float, np.number)
    if not isinstance(dy, kinds) or (isinstance(dy, np.complexfloating) and not takes_complex):
        raise _Misfit(f"{where} must be a number like {y!r}, got {_describe(dy)}")
    return type(bare(y))(dy)


def _fitted_parts(y: Any, dy: Any, where: str, seen: set[tuple[int, int]]) -> Any:
    """The cotangent of a container or an object."""
    if isinstance(y, dict):
        if not isinstance(dy, dict) or not dy.keys() <= y.keys():
            raise _Misfit(f"{where}, a dict, must be a dict of its keys, got {_describe(dy)}")
        if missing := [k for k in y if k not in dy and has_derivative(y[k])]:
            raise _Misfit(f"{where}, a dict, must have all of its keys: {missing[0]!r} is missing (None is zero)")
        return {k: _fitted(y[k], d, f"{where}[{k!r}]", seen) for k, d in dy.items()}
    if is_user_class(type(y)):
        held = attributes(y)
        fields = tangent_fields(type(y), dy)
        other = isinstance(dy, Tangent) and dy._cls is not type(y)
        if other or fields is None or not fields.keys() <= held.keys():
            name = type(y).__name__
            raise _Misfit(f"{where}, a {name}, must be a Tangent or dict by its attributes, got {_describe(dy)}")
        return {k: _fitted(held[k], d, f"{where}.{k}", seen) for k, d in fields.items()}
    if not isinstance(dy, (tuple, list, deque)) or len(dy) != len(y):
        kind = f"a {type(y).__name__} of {len(y)}"
        raise _Misfit(f"{where}, {kind}, must be {kind}, got {_describe(dy)}")
    pairs = zip(children(y) or (), children(dy) or (), strict=True)
    parts = [_fitted(v, d, f"{where}[{i}]", seen) for i, (v, d) in enumerate(pairs)]
    return tuple(parts) if isinstance(y, tuple) else rebuild(y, parts)


def _describe(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape} and dtype {x.dtype}"
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, Tangent):
        return f"{x!r}"
    return f"{type(x).__name__}: {x!r}"


def array_ids(x: Any) -> frozenset[int]:
    """The identities of the arrays in a cotangent that the user gave: they stay the user's."""
    if isinstance(x, np.ndarray):
        return frozenset({id(x)})
    if isinstance(x, Mapping):
        x = list(x.values())
    if isinstance(x, (tuple, list)):
        return frozenset().union(*map(array_ids, x))
    return frozenset()


class Seen(dict[int, Any]):
    """The cotangents that were reported, by the identities of what they belong to; `todo`: of objects, without fields.

    They get these later: objects may be linked into lists that are longer than a stack is deep.
    """

    todo: list[tuple[Any, ObjectShadow | None, Tangent]] | tuple[()] = ()


def report(x: Any, fdata: Any, rdata: Any, seen: Seen, given: frozenset[int]) -> Any:
    """The cotangent of an argument in the argument's own structure, in buffers of its own."""
    d = _report(x, fdata, rdata, seen, given)
    while seen.todo:
        todo, seen.todo = seen.todo, []
        for x, shadow, tangent in todo:
            _report_fields(x, shadow, tangent, seen, given)
    return d


def _report(x: Any, fdata: Any, rdata: Any, seen: Seen, given: frozenset[int]) -> Any:
    if type(x) is float and (rdata is None or type(rdata) is float):
        return 0.0 if rdata is None else rdata
    if x is None:
        return None
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "fc":
            return None
        d = fdata.take() if type(fdata) is Shadow and rdata is None else rdata
        if d is None:
            return np.zeros(x.shape, x.dtype)
        if (
            type(d) is not np.ndarray
            or d.base is not None
            or not d.flags.c_contiguous
            or d.dtype != x.dtype
            or id(d) in given
            or d.shape != x.shape
            or id(d) in seen
        ):
            if type(d) is not np.ndarray or d.shape != x.shape:
                d = np.broadcast_to(d, x.shape)
            d = np.array(d, dtype=x.dtype, order="C")
        seen[id(d)] = d
        return d
    if isinstance(x, tuple):
        items = [
            _report(v, None if fdata is None else fdata[i], None if rdata is None else rdata[i], seen, given)
            for i, v in enumerate(items_of(x))
        ]
        return with_items(x, items)
    if isinstance(x, (list, deque, dict)):
        if -id(x) in seen:
            return seen[-id(x)]
        return _report_container(x, fdata, seen, given)
    if is_user_class(type(x)):
        return _report_object(x, fdata, seen, given)
    if not has_tangent(x):
        return None
    if rdata is None:
        return type(bare(x))(0)
    if isinstance(rdata, (complex, np.complexfloating)) and not isinstance(x, (complex, np.complexfloating)):
        rdata = rdata.real
    return type(bare(x))(rdata)


def _report_container(x: Any, fdata: Any, seen: Seen, given: frozenset[int]) -> Any:
    """The tangent of a list, deque or dict: one, however often it is reached."""
    if isinstance(x, dict):
        g = fdata if type(fdata) is DictShadow else None
        new: Any = OrderedDict() if type(x) is OrderedDict else {}
        if type(x) is defaultdict:
            new = defaultdict(x.default_factory)
        seen[-id(x)] = new
        for k, v in dict_kind(x).items(x):
            new[k] = _report(v, g.f.get(k) if g else None, g.r.pop(k, None) if g else None, seen, given)
        return new
    f = fdata if type(fdata) is ListShadow else None
    seen[-id(x)] = new = deque(maxlen=x.maxlen) if isinstance(x, deque) else []
    if f and type(x) is list and set(map(type, x)) == {float}:  # a long list is mostly numbers
        new.extend([0.0 if t is None else t if type(t) is float else _report(0.0, None, t, seen, given) for t in f.r])
        f.r[:] = [None] * len(x)
        return new
    items = in_order(x)
    for i, v in enumerate(items):
        new.append(_report(v, f.f[i] if f else None, f.r[i] if f else None, seen, given))
    if f:
        f.r.clear()
        f.r.extend([None] * len(items))  # the next call of the pullback starts at zero
    return new


def zero_tangent(x: Any) -> Any:
    """The tangent of x that is zero, in x's structure: as `grad` returns it where nothing depends on x."""
    return report(x, None, None, Seen(), frozenset())


def _report_object(x: Any, fdata: Any, seen: Seen, given: frozenset[int]) -> Any:
    """The tangent of an object: one, however often the object is reached."""
    shadow = fdata if type(fdata) is ObjectShadow else None
    key = -id(x)
    if key in seen:
        return seen[key]
    own = declaration(type(x))
    if own is not None and own.zero is not None and not _any_added(shadow, set()):
        seen[key] = zero = own.zero(x)
        return zero
    tangent = seen[key] = Tangent(type(x), {})
    if own is None or own.tangent is None:
        if isinstance(seen.todo, tuple):
            seen.todo = []
        seen.todo.append((x, shadow, tangent))
        return tangent
    _report_fields(x, shadow, tangent, seen, given)
    made = seen[key] = declared_tangent(tangent)
    return made


def _report_fields(x: Any, shadow: ObjectShadow | None, tangent: Tangent, seen: Seen, given: frozenset[int]) -> None:
    constant = constant_attributes(type(x))
    for k, v in attributes(x).items():
        f, r = (shadow.f.get(k), shadow.r.pop(k, None)) if shadow else (None, None)
        tangent._fields[k] = None if k in constant else _report(v, f, r, seen, given)


def _any_added(fdata: Any, seen: set[int]) -> bool:
    """Was a cotangent added to this fdata, or to what it holds?"""
    if fdata is None or id(fdata) in seen:
        return False
    seen.add(id(fdata))
    if type(fdata) is Shadow:
        return fdata.data is not None
    if type(fdata) is tuple:
        return any(_any_added(f, seen) for f in fdata)
    if type(fdata) is ListShadow:
        return any(r is not None for r in fdata.r) or any(_any_added(f, seen) for f in fdata.f)
    if isinstance(fdata, (DictShadow, ObjectShadow)):
        return any(r is not None for r in fdata.r.values()) or any(_any_added(f, seen) for f in fdata.f.values())
    return True


_WITHOUT_ATTRIBUTES = frozenset({list, tuple, dict, defaultdict, deque, set, frozenset, np.ndarray})
PLAIN = frozenset({float, int, complex, bool, str, type(None)})


def all_plain(xs: Iterable[Any]) -> bool:
    """Are these numbers and strings of Python, and nothing else? (Asked of long lists: no step of it is in Python.)"""
    return PLAIN.issuperset(map(type, xs))


def has_derivative(x: Any, keys: bool = False, seen: set[int] | None = None) -> bool:
    """Is a float, a complex number or an array of such in x or in what x holds (`keys`: also in sets and as a key)?"""
    seen = set() if seen is None else seen
    if keys and isinstance(x, (set, frozenset)):
        return any(has_derivative(k, keys, seen) for k in x)
    if isinstance(x, (list, tuple, dict, deque)) or is_user_class(type(x)):
        if id(x) in seen:
            return False
        seen.add(id(x))
        if is_user_class(type(x)):
            constant = constant_attributes(type(x))
            return any(k not in constant and has_derivative(v, keys, seen) for k, v in attributes(x).items())
        if keys and isinstance(x, dict) and any(has_derivative(k, keys, seen) for k in x):
            return True
        return any(has_derivative(v, keys, seen) for v in (x.values() if isinstance(x, dict) else x))
    return has_tangent(x)
