"""Types of what leads to others of its own kind: lists that are linked, trees, graphs.

The type of such an object says once what all of these objects hold, and stands in itself as `Rec`: a node is
`Node(value: float, next: None or Rec(Node))`. Reading the attribute `next` puts the type back in its place (`read`),
writing it takes it out and adds what the node that is written holds (`fold`).

Objects of one class that are in each other are always of one type. So are containers where their types would have no
end (`linked`): `p = x, p` in a loop gives `(float, None or Rec(tuple of 2))`. Other containers in each other, the rows
of a matrix, have types of their own. What is read out of a container is read by `items`, `elem` and `fields`; `raw` is
for what goes through a type as it is written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mooncake_py.infer.base import remembered
from mooncake_py.infer.parts import with_act, with_parts
from mooncake_py.infer.types import (
    BOT,
    COMPOSED,
    LINKED,
    NESTED,
    Cell,
    Dct,
    Inst,
    Kind,
    Lst,
    Mixed,
    Obj,
    Rec,
    T,
    Top,
    Tup,
    Union,
    beside,
    bound,
    free,
    kind_of,
    parts_of,
    widen,
)

Around = Mapping[Kind, list[T]]
"""The kinds of what a value is in, with what is seen of others of them."""
MOST_FORMS = 8  # of types of one class that are made into one
MOST_LAYERS = 40  # the same of containers: each in which others of its kind are, before it is seen that there is no end
EXACT, WIDE, WIDEST = 0, 1, 2
"""Which containers in others of their kind become one with these: those in linked ones, all that have much in common
with what they are in, or all."""


@remembered
def read(t: T, whole: T) -> T:
    """The type of what is in a container or object of type `whole`, as that of a value on its own."""
    return fold(unfold(t, whole), {})


def unfold(t: T, whole: T) -> T:
    """The type of what is in something of type `whole`, which is put in where it stands in itself.

    What holds something with a derivative has one.
    """
    return t if bound(whole) not in free(t) else _unfolded(t, whole)


@remembered
def _unfolded(t: T, whole: T) -> T:
    if isinstance(t, Rec):
        return whole
    if isinstance(t, Union):  # however deep it may be, it is to be folded
        options = tuple([unfold(x, whole) for x in t.options])
        return Union(any(x.active for x in options), options)
    new = with_parts(t, lambda x: unfold(x, whole))
    return with_act(new, True) if whole.active and isinstance(new, (Lst, Dct, Cell, Obj)) else new


def fold(t: T, around: Around, width: int = EXACT) -> T:
    """The type of a value as that of what is in something of the kinds `around` it.

    What is seen of others of these kinds is added to the lists there.
    """
    if around or width:  # a constant tuple is one of these
        t = widen(t)
    if not isinstance(t, COMPOSED):
        return t
    if width == EXACT and around.keys().isdisjoint(_kinds_within(t)):
        return _folded_alone(t, len(around))  # what it is in says nothing of it
    return _folded(t, around, width)


@remembered
def _folded_alone(t: T, around: int) -> T:
    """The same of a type that has nothing in common with what it is in, which is `around` so many kinds."""
    return _folded(t, {("apart", i): [] for i in range(around)}, EXACT)


def _folded(t: T, around: Around, width: int) -> T:
    kind = bound(t)
    if kind is None:
        return with_parts(t, lambda x: fold(x, around, width))
    forms = around.get(kind)
    if isinstance(t, Obj):
        if forms is None:
            return together([t], around, width) if len(around) < NESTED else Inst(t.cls, t.act)
        return Inst(t.cls, t.act) if (found := _one_of(t, forms, kind)) is None else found
    if forms is not None:
        if width == WIDEST or not _is_apart(t, forms, kind):
            return Top(True) if (found := _one_of(t, forms, kind)) is None else found
        others = {k: x for k, x in around.items() if k != kind}
        return with_parts(t, lambda x: fold(x, others, width))
    if isinstance(t, LINKED) or (width and _leads_to(t, kind)):
        return together([t], around, width) if len(around) < NESTED else Top(True)
    new = with_parts(t, lambda x: fold(x, around, width))
    return next((x for x in _linked_within(new, kind) if new == opened(x)), new)


def opened(t: T) -> T:
    """A linked type with what it holds as types of values on their own."""
    return with_parts(t, lambda x: read(x, t))


def _one_of(t: T, forms: list[T], kind: Kind) -> T | None:
    if t not in forms:
        if len(forms) > (MOST_FORMS if isinstance(t, Obj) else MOST_LAYERS):
            return None
        forms.append(t)
    return Rec(kind)


def together(types: Sequence[T], around: Around, width: int = EXACT) -> T:
    """The type of something, or the join of several of one kind, and of all of its kind that it leads to, as one."""
    forms = list(dict.fromkeys(types))
    kind = bound(forms[0])
    assert kind is not None
    try:
        return with_forms(None, forms, {**around, kind: forms}, width)
    except Mixed:
        if width == WIDEST and around:
            raise  # of a type that this one stands in, perhaps
    if width < WIDEST:
        return together(types, around, WIDEST)
    return Inst(kind[1], True) if isinstance(forms[0], Obj) else Top(True)


def with_forms(whole: T | None, forms: Sequence[T], around: Around, width: int = EXACT) -> T:
    """A type, if there is one, and with it all these, of which there may come to be more."""
    for form in forms:  # there may be more and more
        folded = folded_in(form, around, width)
        whole = folded if whole is None else beside(whole, folded)
    assert whole is not None
    return whole


def folded_in(form: T, around: Around, width: int = EXACT) -> T:
    """One of these types with what it holds as that of those `around`."""
    return with_parts(form, lambda x: fold(unfold(x, form), around, width))


def linked(options: tuple[T, ...]) -> tuple[T, ...]:
    """The options of a value whose type is large, with containers of one kind that are in each other as one type."""
    if _folding:
        return options
    _folding.append(True)
    try:
        found = tuple([fold(x, {}, WIDE) for x in options])
        if any(_is_deep(x) for x in found):
            found = tuple([fold(x, {}, WIDEST) for x in found])
    finally:
        _folding.pop()
    return found if list(map(kind_of, found)) == list(map(kind_of, options)) else options


def ended(t: T) -> T:
    """The type of a value that is found to be deeper again and again: one that leads back to itself, if it can be."""
    return linked((t,))[0]


_folding: list[bool] = []
"""Not empty while types are made smaller: what is too large on the way is not made smaller first."""


def _is_deep(t: T) -> bool:
    """Is there still a container in one of its kind that is no linked one?"""
    kind = None if isinstance(t, (Obj, *LINKED)) else bound(t)
    return (kind is not None and _leads_to(t, kind)) or any(map(_is_deep, parts_of(t)))


def canonical(t: T) -> T:
    """The same type, as it is written down wherever it comes from."""
    if not holds_linked(t):
        return t
    new = fold(t, {})
    return t if new == t else new


@remembered
def holds_linked(t: T) -> bool:
    """Is there a container in it that leads to others of its kind?"""
    return isinstance(t, LINKED) or any(map(holds_linked, parts_of(t)))


@remembered
def _kinds_within(t: T) -> frozenset[Kind]:
    """The kinds of all containers and objects in a type, itself included, and of what it leads back to."""
    found = frozenset().union(*map(_kinds_within, parts_of(t)))
    kind = t.kind if isinstance(t, Rec) else bound(t)
    return found if kind is None else found | {kind}


@remembered
def _leads_to(t: T, kind: Kind) -> bool:
    """Is there a container of this kind in it?"""
    return any(bound(x) == kind or _leads_to(x, kind) for x in parts_of(t))


def _linked_within(t: T, kind: Kind) -> Iterator[T]:
    """The linked types of this kind in it, that are in no other linked one."""
    for x in parts_of(t):
        if not isinstance(x, LINKED):
            yield from _linked_within(x, kind)
        elif bound(x) == kind:
            yield x


def _is_apart(t: T, forms: Sequence[T], kind: Kind) -> bool:
    """Is it a container that holds no other of its kind, and has nothing in common with those that it is in?"""
    if _leads_to(t, kind) or free(t) or holds_linked(t):
        return False
    return not any(_are_alike(t, x) for x in forms)


def _are_alike(a: T, b: T) -> bool:
    """May one of two containers of one kind have in each place what the other one has?"""
    if isinstance(a, Tup) and isinstance(b, Tup):
        return all(map(_is_part, a.raw, b.raw))
    if isinstance(a, Lst) and isinstance(b, Lst):
        return _is_part(a.raw, b.raw)
    if isinstance(a, Dct) and isinstance(b, Dct):
        mine, others = dict(a.raw_fields), dict(b.raw_fields)
        both = mine.keys() & others.keys()
        apart = mine and others and not both
        return not apart and _is_part(a.raw, b.raw) and all(_is_part(mine[k], others[k]) for k in both)
    return False


def _is_part(a: T, b: T) -> bool:
    """Are all kinds of the one type kinds of the other one?"""
    mine, others = _kinds(a), _kinds(b)
    return mine <= others or others <= mine


def _kinds(t: T) -> frozenset[Kind | None]:
    t = widen(t)
    return frozenset(map(kind_of, t.options if isinstance(t, Union) else () if t is BOT else (t,)))
