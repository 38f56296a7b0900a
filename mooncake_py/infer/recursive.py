"""Types of objects that lead to objects of their own class: lists that are linked, trees, graphs.

The type of such an object says once what all of these objects hold, and stands in itself as `Rec`: a node is
`Node(value: float, next: None or Rec(Node))`. Reading the attribute `next` puts the type back in its place (`read`),
writing it takes it out and adds what the node that is written holds (`fold`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mooncake_py.infer.base import remembered
from mooncake_py.infer.parts import with_parts
from mooncake_py.infer.types import NESTED, Cell, Dct, Inst, Lst, Obj, Rec, T, Union, join

Around = Mapping[type, list[Obj]]
"""The classes of the objects that a value is in, with what is seen of other objects of them."""
MOST_FORMS = 8  # of types of one class that are made into one


@remembered
def read(t: T, whole: Obj) -> T:
    """The type of an attribute of an object of type `whole`, as that of a value on its own."""
    return fold(unfold(t, whole), {})


def unfold(t: T, whole: Obj) -> T:
    """The type of an attribute of an object of type `whole`, which is put in where it stands in itself.

    What holds an object with a derivative has one.
    """
    if isinstance(t, (Obj, Rec)) and t.cls is whole.cls:
        return whole if isinstance(t, Rec) else t
    if isinstance(t, Union):  # however deep it may be, it is to be folded
        options = tuple([unfold(x, whole) for x in t.options])
        return Union(any(x.active for x in options), options)
    new = with_parts(t, lambda x: unfold(x, whole))
    return replace(new, act=True) if whole.act and new != t and isinstance(new, (Lst, Dct, Cell, Obj)) else new


def fold(t: T, around: Around) -> T:
    """The type of a value as that of an attribute of objects of the classes `around` it.

    What is seen of objects of these classes is added to the lists there.
    """
    if not isinstance(t, Obj):
        return with_parts(t, lambda x: fold(x, around))
    forms = around.get(t.cls)
    if forms is None:
        return together(t, around) if len(around) < NESTED else Inst(t.cls, t.act)
    if t not in forms:
        if len(forms) > MOST_FORMS:
            return Inst(t.cls, t.act)
        forms.append(t)
    return Rec(t.cls)


def together(t: Obj, around: Around) -> T:
    """The type of an object, and of all objects of its class that it leads to, as one."""
    forms = [t]
    inner = {**around, t.cls: forms}
    whole: T | None = None
    for form in forms:  # it grows meanwhile
        folded = folded_in(form, inner)
        whole = folded if whole is None else join(whole, folded)
    assert whole is not None
    return whole


def folded_in(form: Obj, around: Around) -> T:
    """One of these types with its attributes as those of objects of the classes `around`."""
    return with_parts(form, lambda x: fold(unfold(x, form), around))
