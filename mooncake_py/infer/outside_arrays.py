"""May a call write to arrays that it reaches from outside: by a name, a cell, a default value, a class, a module?

Arrays of numbers are data more often than not, and are handed to functions all the time. So, other than for lists
and objects (infer/outside.py), where such an array goes is followed from code to code: into parameters, out of
returns, through cells by their name and through attributes by theirs. The walk does not look at the order of
statements. What it knows of a value is whether that may be such an array (one whose items are numbers, or one whose
items may be arrays), or hold one.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types as pytypes
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import outputs
from mooncake_py.hashing import hashable
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, ForNext, Operand, Raise, Return, Var, all_edges, brings_value
from mooncake_py.registry import is_pure, load_packs, overlay_of, rules_of
from mooncake_py.structure import attributes, is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.outside import Code, Walk

NOTHING, ROW, GRID, HOLDER = 0, 1, 2, 4
ANY = ROW | GRID | HOLDER
_ARRAY = ROW | GRID

WRITING_METHODS = frozenset(
    {"fill", "put", "sort", "partition", "itemset", "resize", "setfield", "byteswap", "__setitem__", "setflags"}
)
WRITERS = frozenset({"put", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle"})
_GIVEN = frozenset({"at", "shuffle"})
"""Methods, of a ufunc and of what draws random numbers, that write to what they are given."""
_CONTAINERS = (list, tuple, deque)
_PASS_ON = frozenset(
    {iter, enumerate, zip, reversed, next, list, tuple, sorted, min, max, dict, map, filter, getattr, deque}
    | {ops.build_tuple, ops.build_list, ops.build_map, ops.unpack, ops.unpack_ex, ops.list_to_tuple, ops.check_bound}
    | {ops.load_special}
)
"""What these give holds, or is, what they are given."""
_GIVES_ITEM = frozenset({next, min, max, getattr, ops.check_bound, ops.load_special})
"""Of these, those that give one thing of it, or a method: `with np.nditer(a) as it` enters it."""
_PUT_IN = frozenset({ops.list_append, ops.list_extend, ops.map_add, ops.dict_update, ops.dict_merge})
_IN_PLACE = frozenset(
    getattr(operator, name) for name in dir(operator) if name[0] == "i" and hasattr(operator, f"__{name}__")
) - {operator.invert, operator.index, operator.is_, operator.is_not, operator.inv}
_NEW = frozenset(
    getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos", "abs", "eq", "ne")
) | {operator.lt, operator.le, operator.gt, operator.ge, operator.contains, operator.not_, ops.truth, len, isinstance}


MOST_ITEMS = 200  # of a container, so many are looked at
_NO_HOLDERS = frozenset({float, int, complex, bool, str, type(None), np.float64, np.int64})


def kinds(x: Any, depth: int = 3) -> int:
    """What a value from outside is, in the terms of this walk."""
    if isinstance(x, np.ndarray):
        return (ROW if x.ndim <= 1 else GRID) if x.dtype.kind in "fc" else NOTHING
    if isinstance(x, _CONTAINERS) or type(x) is dict:
        few = [*itertools.islice(x.values() if isinstance(x, dict) else x, MOST_ITEMS)] if depth else ()
        if _NO_HOLDERS.issuperset(map(type, few)):  # as it mostly is, and asked at every call
            return NOTHING
        return HOLDER if any([kinds(v, depth - 1) for v in few if type(v) not in _NO_HOLDERS]) else NOTHING
    if isinstance(x, functools.partial):
        return HOLDER if any(map(kinds, (*x.args, *x.keywords.values()))) else NOTHING
    if isinstance(x, pytypes.BuiltinFunctionType):
        return HOLDER if isinstance(x.__self__, np.ndarray) else NOTHING
    return HOLDER if type(x) is functools._lru_cache_wrapper else NOTHING


def _may_lead_on(module: pytypes.ModuleType) -> bool:
    """Are there arrays in a module, or further modules? There are none in `math`."""
    return any(isinstance(x, pytypes.ModuleType) or kinds(x) for x in vars(module).values())


def reaches_arrays(walk: Walk) -> bool:
    """Are there arrays outside that the code which a walk has found could come to?"""
    return _Arrays(walk).sources


def writes_arrays(walk: Walk) -> bool:
    """The answer for the code that a walk has found."""
    if not any(map(_writes_something, walk.codes.values())):
        return False
    found = _Arrays(walk)
    if not found.sources:
        return False
    load_packs()
    return found.answer()


_OF_NUMPY = frozenset(dir(np)) | frozenset(dir(np.ufunc))


def _writes_something(c: Code) -> bool:
    """Is there a statement in this code that may write to an array, whichever?"""
    for b in c.body.blocks:
        for s in b.stmts:
            f = s.fn.value if isinstance(s.fn, Const) else None
            if f is None or f is operator.setitem or f is ops.call_ex or f in _IN_PLACE or s.kwargs:
                return True
            if f is getattr and isinstance(s.args[1], Const):
                name = str(s.args[1].value)
                if name in WRITING_METHODS or name in _OF_NUMPY:
                    return True
    return False


class _Arrays:
    """The state of the walk; it only grows."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self.codes = list(walk.codes.values())
        self.held: dict[tuple[int, Operand], int] = {}
        self.cells: dict[str, int] = {}
        self.attributes: dict[str, int] = {}
        self.globals: dict[str, int] = {}
        self.filled: set[tuple[int, Var]] = set()  # parameters that arrays are put into
        self.returned: dict[pytypes.CodeType, int] = {}
        self.raised: dict[None, int] = {}  # what exceptions bring, whichever
        self.by_name: dict[str, list[Code]] = {}
        self.by_code: dict[pytypes.CodeType, Code] = {c.code: c for c in self.codes}
        self.size = 0
        for c in self.codes:
            self.by_name.setdefault(c.code.co_name, []).append(c)
            for name, v in c.free.items():
                self.grow(self.cells, name, kinds(v))
            for i, v in c.defaults.items():
                self.hold(c, c.body.params[i], kinds(v))
        for holder in walk.kept:
            self._attributes_of(holder)
        self.sources = self.size > 0 or any(
            n in c.globals and (kinds(x := c.globals[n]) or (isinstance(x, pytypes.ModuleType) and _may_lead_on(x)))
            for c in self.codes
            for n in c.code.co_names
        )
        self.sources = self.sources or any(kinds(scope.get(name)) for scope, name, *_ in walk.relied)

    def _attributes_of(self, x: Any) -> None:
        """What objects, classes and functions hold."""
        found = list(x.__dict__.items()) if isinstance(x, pytypes.FunctionType) else []
        if isinstance(x, type) or is_user_class(type(x)):
            classes = (x if isinstance(x, type) else type(x)).__mro__
            found = [(n, v) for k in classes if k is not object for n, v in k.__dict__.items()]
            found += [] if isinstance(x, type) else attributes(x).items()
        for name, v in found:
            self.grow(self.attributes, name, kinds(v))

    def grow(self, table: dict[Any, int], key: Any, kind: int) -> None:
        old = table.get(key, NOTHING)
        if kind & ~old:
            table[key] = old | kind
            self.size += 1

    def hold(self, c: Code, v: Operand, kind: int) -> None:
        if isinstance(v, Var):
            self.grow(self.held, (id(c), v), kind)

    def fill(self, c: Code, v: Operand, defs: dict[Var, Call]) -> None:
        """Note that an array is put into v, and into what v was found in."""
        self.hold(c, v, HOLDER)
        s = defs.get(v)  # type: ignore[arg-type]
        f = s.fn.value if s is not None and isinstance(s.fn, Const) else None
        if s is None:
            if v in c.body.params:
                self.filled.add((id(c), v))
        elif f is ops.load_global:
            self.grow(self.globals, str(s.args[0].value), HOLDER)  # type: ignore[union-attr]
        elif f is ops.cell_get:
            self.grow(self.cells, str(s.args[1].value), HOLDER)  # type: ignore[union-attr]
        elif f is getattr and isinstance(s.args[1], Const):
            self.grow(self.attributes, str(s.args[1].value), HOLDER)
        elif f is operator.getitem:
            self.fill(c, s.args[0], defs)

    def kind(self, c: Code, v: Operand) -> int:
        return self.held.get((id(c), v), NOTHING)

    def answer(self) -> bool:
        before = -1
        while before != self.size:
            before = self.size
            for c in self.codes:
                if self._code(c):
                    return True
        return False

    def _code(self, c: Code) -> bool:
        params_of = {b.id: b.params for b in c.body.blocks}
        defs = {s.out: s for b in c.body.blocks for s in b.stmts}
        for b in c.body.blocks:
            for s in b.stmts:
                if self._statement(c, s, defs):
                    return True
            term = b.term
            if isinstance(term, Return):
                self.grow(self.returned, c.code, self.kind(c, term.value))
            elif isinstance(term, Raise) and term.exc is not None:
                self.grow(self.raised, None, self.kind(c, term.exc))
            for e in all_edges(b):
                params = params_of[e.target]
                if e is b.handler or brings_value(term, e):
                    if isinstance(term, ForNext) and e is term.body:
                        self.hold(c, params[0], _item(self.kind(c, term.iterator)))
                    else:
                        self.hold(c, params[0], self.raised.get(None, NOTHING))
                    params = params[1:]
                for p, a in zip(params, e.args, strict=True):
                    self.hold(c, p, self.kind(c, a))
        return False

    def _statement(self, c: Code, s: Call, defs: dict[Var, Call]) -> bool:
        """Follow arrays through one statement. Does it write to one?"""
        f = s.fn.value if isinstance(s.fn, Const) else c.known(s.fn, defs)
        if isinstance(f, pytypes.MethodType):  # of a class, by the name of it: as any other method
            f = None
        if f is ops.load_global:
            name = s.args[0].value  # type: ignore[union-attr]
            self.hold(c, s.out, kinds(c.globals.get(name)) | self.globals.get(str(name), NOTHING))
            return False
        if f is ops.import_from:
            self.hold(c, s.out, kinds(c.known(s.out, defs)))
            return False
        if f is ops.cell_get:
            self.hold(c, s.out, self.cells.get(str(s.args[1].value), NOTHING))  # type: ignore[union-attr]
            return False
        if type(f) is functools._lru_cache_wrapper:
            self.hold(c, s.out, ANY)
        given = [self.kind(c, v) for v in (*s.args, *(v for _, v in s.kwargs))]
        if f is getattr and isinstance(s.args[1], Const):
            name = str(s.args[1].value)
            if given[0] & _ARRAY and name in WRITING_METHODS:
                return True
            kind = (_ARRAY if given[0] & _ARRAY else NOTHING) | (ANY if given[0] & HOLDER else NOTHING)
            holder = c.known(s.args[0], defs)
            if isinstance(holder, pytypes.ModuleType):
                kind |= kinds(vars(holder).get(name))
            self.hold(c, s.out, kind | self.attributes.get(name, NOTHING))
            return False
        if any(given):
            for t in self._called_back(c, s, f, defs):  # which may be given them in any order
                whole = functools.reduce(operator.or_, given)
                self._give(t, 0, [ANY if whole & HOLDER else whole] * len(t.body.params))
                self.hold(c, s.out, HOLDER | self.returned.get(t.code, NOTHING))
        if isinstance(s.fn, Var) and (f is None or self._is_users(f)):
            return self._called(c, s, f, given, defs)
        if f is ops.call_ex:
            return self._spread(c, s, defs)
        if not any(given):
            return False
        whole = given[0]
        if f in (operator.setitem, operator.delitem) or f in _IN_PLACE:
            if whole & _ARRAY:
                return True
            if f is operator.iadd or (f is operator.setitem and given[2]):
                self.fill(c, s.args[0], defs)
            if f is operator.iadd:
                self.hold(c, s.out, HOLDER)
        elif f is setattr:
            name = s.args[1].value if isinstance(s.args[1], Const) else None
            if whole & _ARRAY and (not isinstance(name, str) or hasattr(np.ndarray, name)):
                return True  # arrays have no other attributes: it is an object
            if isinstance(s.args[1], Const):
                self.grow(self.attributes, str(s.args[1].value), given[2])
        elif f is operator.getitem or f is ops.getslice:
            self.hold(c, s.out, self._selected(whole, s, defs))
        elif f is ops.cell_set or f is ops.make_cell:
            cell = s.args[0] if f is ops.cell_set else s.out
            if isinstance(cell, Var) and cell.name:
                self.grow(self.cells, cell.name, given[-1])
        elif f is ops.make_function:
            self._made(c, s, defs)
        elif f in (ops.yield_, ops.yield_from):
            self.grow(self.returned, c.code, HOLDER)
        elif f in _PUT_IN:
            self.fill(c, s.args[0], defs)
        else:
            return self._runs(c, s, f, given)
        return False

    def _called_back(self, c: Code, s: Call, f: Any, defs: dict[Var, Call]) -> Iterable[Code]:
        """The code that a function which is none of the user's may run: what it holds, and what it is given to call."""
        yield from [self.by_code[g.__code__] for g in self.walk.wrapped_by(f)]
        if isinstance(s.fn, Const) or self._is_users(f):
            return
        called = {"key"} if f is None else _called_by(f, len(s.args), bool(s.kwargs))
        for i, v in enumerate(s.args) if f is not None else ():
            yield from self._codes_of(c, v, defs, i in called)
        for name, v in s.kwargs:
            yield from self._codes_of(c, v, defs, name in called)

    def _codes_of(self, c: Code, v: Operand, defs: dict[Var, Call], surely: bool) -> Iterable[Code]:
        """The code that runs where v is called; any code where that is not seen, and v is `surely` called."""
        f = c.known(v, defs)
        while isinstance(f, (functools.partial, pytypes.MethodType)):
            f = f.func if isinstance(f, functools.partial) else f.__func__
        if isinstance(f, pytypes.FunctionType):
            return [self.by_code[f.__code__]] if f.__code__ in self.by_code else ()
        if f is not None:
            made = isinstance(f, type)
            known = is_user_class(f if isinstance(f, type) else type(f))
            return self.by_name.get("__init__" if made else "__call__", ()) if known else ()
        s = defs.get(v)  # type: ignore[arg-type]
        if s is not None and is_const(s.fn, ops.make_function):
            return [self.by_code[s.args[0].value]]  # type: ignore[union-attr]
        of = None if s is None or isinstance(s.fn, Const) else c.known(s.fn, defs)
        if s is not None and of is not None and not self._is_users(of):  # a partial, say
            called = _called_by(of, len(s.args), False)
            return [t for i, x in enumerate(s.args) for t in self._codes_of(c, x, defs, surely and i in called)]
        return self.codes if surely else ()

    def _is_users(self, f: Any) -> bool:
        """Is this a function that the walk has the code of, or a class?"""
        if isinstance(f, pytypes.FunctionType):
            return f.__code__ in self.by_code
        return isinstance(f, type) and is_user_class(f)

    def _selected(self, whole: int, s: Call, defs: dict[Var, Call]) -> int:
        """What `whole[index]` may be: numbers and slices are told apart."""
        kind = ANY if whole & HOLDER else NOTHING
        if whole & GRID:
            kind |= _ARRAY
        if whole & ROW and s.fn is not None:
            index = s.args[1]
            made = defs.get(index) if isinstance(index, Var) else None
            selects = made is not None and not (isinstance(made.fn, Const) and made.fn.value in _NEW)
            if selects or (isinstance(index, Const) and not isinstance(index.value, (int, str))):
                kind |= ROW
        return kind

    def _made(self, c: Code, s: Call, defs: dict[Var, Call]) -> None:
        """A function that is made: its default values."""
        inner = self.by_code.get(s.args[0].value)  # type: ignore[union-attr]
        built = defs.get(s.args[1])  # type: ignore[arg-type]
        if inner is None or built is None:
            return
        n = inner.code.co_argcount
        for i, v in enumerate(built.args):
            self.hold(inner, inner.body.params[n - len(built.args) + i], self.kind(c, v))

    def _runs(self, c: Code, s: Call, f: Any, given: list[int]) -> bool:
        """A function that is no user's, by its rules where it has some. Does it write to an array it is given?"""
        names = [k for k, _ in s.kwargs]
        n = len(given) - len(names)  # a method's receiver is one of them
        if outputs.writes_out(f, n, names):
            at = outputs.position(f)
            out = [k for k, name in zip(given[n:], names, strict=True) if name == "out"]
            if any(out) or (at is not None and any(given[at:n])):
                return True
        rules = rules_of(f)
        if given[0] & _ARRAY and getattr(f, "__name__", "") in WRITERS:
            return True
        if any(i < n and given[i] & _ARRAY for r in rules for i in r.mutates):
            return True
        known = hashable(f)
        if known and f in _PASS_ON:
            self.hold(c, s.out, HOLDER | (ANY if f in _GIVES_ITEM else NOTHING))
        elif rules:
            aliases = [i for r in rules for i in r.alias if i < n]
            self.hold(c, s.out, ANY if any(given[i] for i in aliases) else NOTHING)
        elif not (known and f in _NEW) and not is_pure(f, n, names):
            self.hold(c, s.out, ANY)
        return False

    def _called(self, c: Code, s: Call, f: Any, given: list[int], defs: dict[Var, Call]) -> bool:
        """A call of what a name or an attribute stands for."""
        made = defs.get(s.fn)  # type: ignore[arg-type]
        method = made is not None and isinstance(made.fn, Const) and made.fn.value is getattr
        if self.kind(c, s.fn) & (HOLDER if method else ANY):
            self.hold(c, s.out, ANY)
        if f is None and method and isinstance(made.args[1], Const):  # type: ignore[union-attr]
            name = str(made.args[1].value)  # type: ignore[union-attr]
            receiver = self.kind(c, made.args[0])  # type: ignore[union-attr]
            if name in _GIVEN and any(given[:1]):
                return True
            own = getattr(np.ndarray, name, None)
            if receiver & _ARRAY and own is not None and self._runs(c, s, own, [receiver, *given]):
                return True
            targets = self.by_name.get(name, [])
            if any(given) and not targets:
                self.fill(c, made.args[0], defs)  # type: ignore[union-attr]
            if any(given) and not targets:
                self.hold(c, s.out, ANY)
        elif isinstance(f, pytypes.FunctionType):
            targets = [self.by_code[f.__code__]]
        elif f is not None:
            targets = [t for t in self.by_name.get("__init__", []) if t.code.co_argcount > len(given)]
            if any(given) and not isinstance(getattr(f, "__init__", None), pytypes.FunctionType):
                self.hold(c, s.out, HOLDER)
        else:
            maker = made is not None and isinstance(made.fn, Const) and made.fn.value is ops.make_function
            code = made.args[0].value if maker else None  # type: ignore[union-attr]
            targets = [self.by_code[code]] if code in self.by_code else self.codes
        for t in targets:
            for first in (0, 1) if t.code.co_argcount and (method or isinstance(f, type) or f is None) else (0,):
                self._give(t, first, given[: len(s.args)])
                for p, v in zip(t.body.params[first:], s.args, strict=False):
                    if (id(t), p) in self.filled:
                        self.fill(c, v, defs)
            for (k, _), kind in zip(s.kwargs, given[len(s.args) :], strict=True):
                self._give_name(t, k, kind)
            generator = t.body.suspends
            self.hold(c, s.out, HOLDER if generator and self.returned.get(t.code) else self.returned.get(t.code, 0))
        return False

    def _spread(self, c: Code, s: Call, defs: dict[Var, Call]) -> bool:
        """`f(*args, **kwargs)`."""
        f = c.known(s.args[0], defs)
        kind = self.kind(c, s.args[1]) | self.kind(c, s.args[2])
        if f is not None and not isinstance(f, (pytypes.FunctionType, type)):
            return bool(kind) and self._runs(c, Call(s.out, s.fn, s.args[1:], (), s.pos), f, [ANY, ANY])
        for t in self.codes if f is None or isinstance(f, type) else [x for x in self.codes if x.code is f.__code__]:
            if kind:
                self._give(t, 0, [ANY] * len(t.body.params))
            self.hold(c, s.out, self.returned.get(t.code, NOTHING))
        return False

    def _give(self, t: Code, first: int, given: Iterable[int]) -> None:
        """Positional arguments, from that parameter on."""
        code = t.code
        for i, kind in enumerate(given, first):
            if kind and i < code.co_argcount:
                self.hold(t, t.body.params[i], kind)
            elif kind and code.co_flags & 0x04:
                self.hold(t, t.body.params[code.co_argcount + code.co_kwonlyargcount], HOLDER)

    def _give_name(self, t: Code, name: str, kind: int) -> None:
        names = t.code.co_varnames[: t.code.co_argcount + t.code.co_kwonlyargcount]
        if name in names:
            self.hold(t, t.body.params[names.index(name)], kind)
        elif kind and t.code.co_flags & 0x08:
            self.hold(t, t.body.params[-1], HOLDER)


def _called_by(f: Any, n: int, keywords: bool) -> set[int | str]:
    """Which of its arguments, by number and name, a function that is none of the user's calls."""
    if f is functools.partial:
        return {0}
    fn = overlay_of(f, n, keywords)
    return {"key"} if fn is None else _calls(fn) | {"key"}


@functools.cache
def _calls(fn: pytypes.FunctionType) -> set[int | str]:
    """Which of its parameters Python code calls, itself or by another function of its module."""
    from mooncake_py.frontend import normalise  # slow to import, and not needed before

    body = normalise(fn.__code__)
    stmts = [s for b in body.blocks for s in b.stmts]
    named: dict[Operand, Any] = {}
    named |= {s.out: fn.__globals__.get(s.args[0].value) for s in stmts if is_const(s.fn, ops.load_global)}  # type: ignore[union-attr]
    callees: set[Operand] = {s.fn for s in stmts}
    for s in stmts:
        if is_const(s.fn, ops.call_ex):
            callees.add(s.args[0])
        g = named.get(s.fn)
        if isinstance(g, pytypes.FunctionType) and g.__module__ == fn.__module__ and g is not fn:
            callees.update(x for i, x in enumerate(s.args) if i in _calls(g))
    found = [i for i, p in enumerate(body.params) if p in callees]
    return {*found, *[fn.__code__.co_varnames[i] for i in found]}


def _item(kind: int) -> int:
    """What going through this gives."""
    return (ANY if kind & HOLDER else NOTHING) | (_ARRAY if kind & GRID else NOTHING)
