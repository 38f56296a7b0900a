"""Types of objects that lead to objects of their own class: lists that are linked, trees, graphs.

The type of such an object says once what all of these objects hold, and stands in itself as `Rec`: a node is
`Node(value: float, next: None or Rec(Node))`. Reading the attribute `next` puts the type back in its place (`unfold`),
writing it takes it out and adds what the node that is written holds (`fold`).
"""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.infer.types import NESTED, Cell, Dct, Inst, Lst, Obj, Rec, T, Tup, Union, join

MOST_FORMS = 8  # of types of one class that are made into one


def unfold(t: T, whole: Obj) -> T:
    """The type of an attribute of an object of type `whole`, as that of a value on its own."""
    match t:
        case Rec(cls=c):
            return whole if c is whole.cls else t
        case Obj(cls=c, fields=fields):
            if c is whole.cls:
                return t
            return replace(t, fields=tuple([(k, unfold(x, whole)) for k, x in fields]))
        case Tup(items=items):
            return replace(t, items=tuple([unfold(x, whole) for x in items]))
        case Dct() | Union():
            return t.mapped(lambda x: unfold(x, whole))
        case Lst(elem=e) | Cell(elem=e):
            return t.holding(unfold(e, whole), t.active)
    return t


def fold(t: T, around: dict[type, list[Obj]]) -> T:
    """The type of a value as that of an attribute of objects of the classes `around` it.

    What is seen of objects of these classes is added to the lists there.
    """
    match t:
        case Obj(cls=c, act=act):
            forms = around.get(c)
            if forms is not None:
                if t not in forms:
                    if len(forms) > MOST_FORMS:
                        return Inst(c, act)
                    forms.append(t)
                return Rec(c)
            return together(t, around) if len(around) < NESTED else Inst(c, act)
        case Tup(items=items):
            return replace(t, items=tuple([fold(x, around) for x in items]))
        case Dct() | Union():
            return t.mapped(lambda x: fold(x, around))
        case Lst(elem=e) | Cell(elem=e):
            return t.holding(fold(e, around), t.active)
    return t


def together(t: Obj, around: dict[type, list[Obj]]) -> T:
    """The type of an object, and of all objects of its class that it leads to, as one."""
    forms = [t]
    inner = {**around, t.cls: forms}
    whole: T | None = None
    for form in forms:  # it grows meanwhile
        folded = replace(form, fields=tuple([(k, fold(unfold(x, form), inner)) for k, x in form.fields]))
        whole = folded if whole is None else join(whole, folded)
    assert whole is not None
    return whole
