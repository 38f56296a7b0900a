"""`types.SimpleNamespace`: made, changed, carried by loops, compared, in each other."""

import copy
from types import SimpleNamespace

from tests.zoo.registry import case

#: From CPython 3.13 on.
replace = getattr(copy, "replace", lambda p, **changes: SimpleNamespace(**{**vars(p), **changes}))


@case(1.3)
def namespace_made_and_changed(x):
    p = SimpleNamespace(a=x, b=[x, 2.0])
    p.b.append(p.a)
    p.c = x * x
    del p.a
    return p.b[2] * p.c + len(vars(p)) + sum(p.b)


@case(1.3, 0.4)
def namespace_carried_by_a_loop(x, y):
    s = SimpleNamespace(x=x, v=y)
    for _ in range(4):
        s = SimpleNamespace(x=s.x + 0.1 * s.v, v=s.v - 0.1 * s.x, before=s)
        s.v *= y
    return s.x * s.v + s.before.before.x


@case(1.3, 0.4)
def namespaces_compared_and_copied(x, y):
    p, q = SimpleNamespace(a=x), SimpleNamespace(a=x)
    s = x if p == q else 0.0
    q.a *= y
    r = SimpleNamespace(**vars(q))
    r.a += y
    try:
        return p.b
    except AttributeError as e:
        s += len(str(e)) * y
    return s + p.a * q.a * r.a * getattr(r, "z", y) + (3.0 * y if p != q else 0.0)


@case(1.3)
def namespaces_in_each_other(x):
    ps = [SimpleNamespace(k=i, inner=SimpleNamespace(v=x * i)) for i in range(4)]
    ps.sort(key=lambda p: -p.inner.v)
    ps[0].inner.v *= x
    return sum(p.k * p.inner.v for p in ps) + ps[0].inner.v


@case(1.3)
def namespace_replaced(x):
    p = SimpleNamespace(a=x, b=2.0)
    q = replace(p, b=x * x, c=p.a)
    return q.a * q.b * q.c + p.b * x
