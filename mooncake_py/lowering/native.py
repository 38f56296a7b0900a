"""Instruction selection: what a `Call` pushes, in which order, and the instructions that consume it."""

from __future__ import annotations

import builtins
import importlib
import operator
import sys
from collections.abc import Callable
from types import CellType
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.ir import graph, ops
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Pos, Var

Ins = tuple[str, Any, int]
Seq = tuple[Ins, ...]

V: Any = importlib.import_module(f"mooncake_py.lowering.py3{sys.version_info[1]}")
"""The emit table of the running interpreter."""


class Sel:
    """A statement as the scheduler sees it: `operands` are pushed in order, then `seq` runs.

    `kind` tells forms that a consumer may absorb or that need more than a sequence ("call", "getattr",
    "global", "slice", "truth", "not", "compare", "none", "not_none", "unpack", "make_cell", "pull",
    "check_bound", "push"); `data` belongs to the kind. `reads` are cells, read in place and not pushed. A `void`
    statement leaves nothing on the stack; any other leaves its value.
    """

    __slots__ = ("data", "kind", "operands", "out", "outs", "pos", "reads", "seq", "void")

    def __init__(
        self,
        out: Var | None,
        operands: tuple[Operand, ...],
        seq: Seq,
        pos: Pos,
        kind: str = "",
        data: Any = None,
        void: bool = False,
        reads: tuple[Var, ...] = (),
    ):
        self.out, self.operands, self.seq, self.pos = out, operands, seq, pos
        self.kind, self.data, self.void, self.reads = kind, data, void, reads
        self.outs: tuple[Var | None, ...] = ()


# name -> (arity, stack order of the arguments, instructions, kind, data, void)
Plain = tuple[int, tuple[int, ...] | None, Seq, str, Any, bool]

# In the order of their numbers, which the in-place operators continue.
_BINARY = ("add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub", "truediv", "xor")

POP: Ins = ("POP_TOP", None, -1)
DROP_BENEATH: Seq = (("SWAP", 2, 0), POP)


def _plain_table() -> dict[int, Plain]:
    table: dict[int, Plain] = {}

    def add(
        fn: object, arity: int, seq: Seq, order: tuple[int, ...] | None = None, kind: str = "", data: Any = None
    ) -> None:
        table[id(fn)] = (arity, order, seq, kind, data, False)

    def add_void(fn: object, arity: int, seq: Seq, order: tuple[int, ...] | None = None) -> None:
        table[id(fn)] = (arity, order, seq, "", None, True)

    for op, name in enumerate(_BINARY):
        add(getattr(operator, name), 2, (("BINARY_OP", op, -1),))
        add(getattr(operator, "i" + name.rstrip("_")), 2, (("BINARY_OP", op + len(_BINARY), -1),))
    for name in ("lt", "le", "eq", "ne", "gt", "ge"):
        add(getattr(operator, name), 2, (V.compare(name),), kind="compare", data=name)
    add(operator.is_, 2, (("IS_OP", 0, -1),), kind="is", data=0)
    add(operator.is_not, 2, (("IS_OP", 1, -1),), kind="is", data=1)
    add(operator.contains, 2, (("CONTAINS_OP", 0, -1),), order=(1, 0), kind="contains")
    add(operator.neg, 1, (("UNARY_NEGATIVE", None, 0),))
    add(operator.pos, 1, (V.POSITIVE,))
    add(operator.invert, 1, (("UNARY_INVERT", None, 0),))
    add(operator.not_, 1, V.NOT, kind="not")
    add(operator.truth, 1, V.TRUTH, kind="truth")
    add(ops.truth, 1, V.TRUTH, kind="truth")
    add(operator.getitem, 2, (("BINARY_SUBSCR", None, -1),), kind="getitem")
    for put in (operator.setitem, ops.put_back_item):
        table[id(put)] = (3, (2, 0, 1), (("STORE_SUBSCR", None, -3),), "setitem", None, True)
    add_void(operator.delitem, 2, (("DELETE_SUBSCR", None, -2),))
    add(ops.getslice, 3, V.GETSLICE)
    add_void(ops.setslice, 4, V.SETSLICE, order=(3, 0, 1, 2))
    add(builtins.iter, 1, (("GET_ITER", None, 0),))
    for push in (ops.list_append, ops.put_back_last, ops.push):
        table[id(push)] = (2, None, (("LIST_APPEND", 1, -1), POP), "push", None, True)
    add_void(ops.list_extend, 2, (("LIST_EXTEND", 1, -1), POP))
    add_void(ops.set_add, 2, (("SET_ADD", 1, -1), POP))
    add_void(ops.set_update, 2, (("SET_UPDATE", 1, -1), POP))
    add_void(ops.map_add, 3, (("MAP_ADD", 1, -2), POP))
    add_void(ops.dict_update, 2, (("DICT_UPDATE", 1, -1), POP))
    add(ops.list_to_tuple, 1, (V.LIST_TO_TUPLE,))
    add(ops.pull, 1, (), kind="pull")
    add(ops.load_build_class, 0, (("LOAD_BUILD_CLASS", None, 1),))
    add(ops.load_assertion_error, 0, (("LOAD_ASSERTION_ERROR", None, 1),))
    if V.LOAD_LOCALS is not None:
        add(ops.load_locals, 0, V.LOAD_LOCALS)
    add_void(ops.import_star, 1, V.IMPORT_STAR)
    # PUSH_EXC_INFO puts the previous exception beneath: that is the token
    add(ops.push_exc_info, 1, (("PUSH_EXC_INFO", None, 1), POP))
    add_void(ops.pop_except, 1, (("POP_EXCEPT", None, -1),))
    add(ops.exc_match, 2, (("CHECK_EXC_MATCH", None, 0), *DROP_BENEATH))
    add(ops.exc_group_match, 2, (("CHECK_EG_MATCH", None, 0), ("BUILD_TUPLE", 2, -1)))  # and handles what it caught
    add(ops.match_mapping, 1, (("MATCH_MAPPING", None, 1), *DROP_BENEATH))
    add(ops.match_sequence, 1, (("MATCH_SEQUENCE", None, 1), *DROP_BENEATH))
    add(ops.match_keys, 2, (("MATCH_KEYS", None, 1), ("SWAP", 3, 0), POP, POP))
    add(ops.yield_, 1, V.YIELD)
    add(ops.yield_from, 1, (), kind="yield_from")
    add_void(ops.setup_annotations, 0, (("SETUP_ANNOTATIONS", None, 0),))
    add(ops.get_yield_from_iter, 1, (("GET_YIELD_FROM_ITER", None, 0),))
    return table


PLAIN = _plain_table()


def _word(x: Operand) -> str | None:
    """The string a constant operand holds, None where it is something else."""
    return x.value if type(x) is Const and type(x.value) is str else None


def _number(x: Operand) -> int | None:
    return x.value if type(x) is Const and type(x.value) is int else None


def _load_global(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (), (("LOAD_GLOBAL", (False, _word(args[0])), 1),), s.pos, "global", _word(args[0]))


def _getattr(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    name = _word(args[1]) if len(args) == 2 else None
    return Sel(s.out, (args[0],), (V.attribute(name),), s.pos, "getattr", name) if name is not None else None


def _setattr(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    name = _word(args[1]) if len(args) == 3 else None
    if name is None:
        return None
    return Sel(s.out, (args[2], args[0]), (("STORE_ATTR", name, -2),), s.pos, void=True)


def _delattr(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    name = _word(args[1]) if len(args) == 2 else None
    return Sel(s.out, (args[0],), (("DELETE_ATTR", name, -1),), s.pos, void=True) if name is not None else None


def _slice(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    if len(args) not in (2, 3):
        return None
    if len(args) == 3 and type(args[2]) is Const and args[2].value is None:
        args = args[:2]
    kind = "slice" if len(args) == 2 else ""
    return Sel(s.out, args, (("BUILD_SLICE", len(args), 1 - len(args)),), s.pos, kind)


def _build(opcode: str) -> Callable[[Call, tuple[Operand, ...]], Sel | None]:
    def select(s: Call, args: tuple[Operand, ...]) -> Sel | None:
        n = len(args)
        return Sel(s.out, args, ((opcode, n // 2 if opcode == "BUILD_MAP" else n, 1 - n),), s.pos)

    return select


def _build_tuple(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    if not args:
        return Sel(s.out, (Const(()),), (), s.pos)
    return Sel(s.out, args, (("BUILD_TUPLE", len(args), 1 - len(args)),), s.pos, "build_tuple")


def _format_value(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    x, spec, conversion = args
    if type(conversion) is not Const:
        return None
    plain = _word(spec) == ""
    return Sel(s.out, (x,) if plain else (x, spec), V.format_value(conversion.value, not plain), s.pos)


def _store_name(opcode: str) -> Callable[[Call, tuple[Operand, ...]], Sel | None]:
    return lambda s, args: Sel(s.out, (args[1],), ((opcode, _word(args[0]), -1),), s.pos, void=True)


def _delete_name(opcode: str) -> Callable[[Call, tuple[Operand, ...]], Sel | None]:
    return lambda s, args: Sel(s.out, (), ((opcode, _word(args[0]), 0),), s.pos, void=True)


def _load_name(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (), (("LOAD_NAME", _word(args[0]), 1),), s.pos)


def _import_name(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (args[2], args[1]), (("IMPORT_NAME", _word(args[0]), -1),), s.pos)


def _import_from(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (args[0],), (("IMPORT_FROM", _word(args[1]), 1), *DROP_BENEATH), s.pos)


def _load_dict_or_global(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (args[0],), (("LOAD_FROM_DICT_OR_GLOBALS", _word(args[1]), 0),), s.pos)


def _intrinsic(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, args[1:], V.intrinsic(_word(args[0]), len(args) - 1), s.pos)


def _match_class(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    subject, cls, n, names = args
    assert type(n) is Const
    return Sel(s.out, (subject, cls, names), (("MATCH_CLASS", n.value, -2),), s.pos)


def _make_function(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    code, *parts = args
    flags, given = 0, []
    for bit, part in zip((1, 2, 4, 8), parts, strict=True):
        if not (type(part) is Const and part.value is None):
            flags |= bit
            given.append(part)
    return Sel(s.out, (*given, code), V.make_function(flags), s.pos)


def _load_super(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    name = _word(args[3])
    seq = V.load_super(name) if name is not None else None
    return Sel(s.out, args[:3], seq, s.pos, "super", name) if seq is not None else None


def _call_ex(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    kwargs = args[2]
    if type(kwargs) is Const and kwargs.value is None:
        return Sel(s.out, args[:2], (("CALL_FUNCTION_EX", 0, -2),), s.pos, "call")
    return Sel(s.out, args, (("CALL_FUNCTION_EX", 1, -3),), s.pos, "call")


def _backwards(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (Const(reversed), args[0]), V.call(1, ()), s.pos, "call")


def _check_bound(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    return Sel(s.out, (args[0],), (), s.pos, "check_bound", args[1])


def select_unpack(s: Call, args: tuple[Operand, ...]) -> Sel | None:
    """Only for a tuple that is read item by item, which the scheduler finds out."""
    n = _number(args[1])
    if n is None:
        return None
    if len(args) == 2:
        return Sel(s.out, (args[0],), (("UNPACK_SEQUENCE", n, n - 1),), s.pos, "unpack", n)
    after = _number(args[2])
    if after is None:
        return None
    return Sel(s.out, (args[0],), (("UNPACK_EX", n | after << 8, n + after),), s.pos, "unpack", n + after + 1)


def select_with(enter: Call, exit: Call, call: Call) -> Sel:
    """`__enter__` and `__exit__` looked up and the first one called: one instruction."""
    sel = Sel(None, (enter.args[0],), (("BEFORE_WITH", None, 1),), enter.pos, "unpack")
    sel.outs = (call.out, exit.out)
    return sel


SPECIAL: dict[int, Callable[[Call, tuple[Operand, ...]], Sel | None]] = {
    id(ops.load_global): _load_global,
    id(builtins.getattr): _getattr,
    id(builtins.setattr): _setattr,
    id(ops.put_back): _setattr,
    id(builtins.delattr): _delattr,
    id(builtins.slice): _slice,
    id(ops.build_tuple): _build_tuple,
    id(ops.build_list): _build("BUILD_LIST"),
    id(ops.build_set): _build("BUILD_SET"),
    id(ops.build_map): _build("BUILD_MAP"),
    id(ops.build_string): _build("BUILD_STRING"),
    id(ops.format_value): _format_value,
    id(ops.store_global): _store_name("STORE_GLOBAL"),
    id(ops.delete_global): _delete_name("DELETE_GLOBAL"),
    id(ops.load_name): _load_name,
    id(ops.store_name): _store_name("STORE_NAME"),
    id(ops.delete_name): _delete_name("DELETE_NAME"),
    id(ops.import_name): _import_name,
    id(ops.import_from): _import_from,
    id(ops.load_dict_or_global): _load_dict_or_global,
    id(ops.intrinsic): _intrinsic,
    id(ops.match_class): _match_class,
    id(ops.make_function): _make_function,
    id(ops.load_super): _load_super,
    id(ops.call_ex): _call_ex,
    id(ops.backwards): _backwards,
    id(ops.check_bound): _check_bound,
}
UNPACKS = {id(ops.unpack), id(ops.unpack_ex)}
CELL_OPS = {
    id(ops.cell_get): ("LOAD_DEREF", 1, False),
    id(ops.cell_set): ("STORE_DEREF", -1, True),
    id(ops.cell_delete): ("DELETE_DEREF", 0, True),
}
IN_FRAME = {
    id(f): f.__name__
    for f in (
        *(ops.load_global, ops.store_global, ops.delete_global, ops.load_name, ops.store_name, ops.delete_name),
        *(ops.load_locals, ops.import_name, ops.import_from, ops.import_star, ops.classderef, ops.make_function),
        *(ops.push_exc_info, ops.pop_except, ops.match_class, ops.match_mapping),
        *(ops.match_sequence, ops.match_keys, ops.yield_, ops.get_yield_from_iter, ops.yield_from),
        *(ops.load_dict_or_global, ops.setup_annotations, ops.intrinsic),
    )
}


class Selector:
    """Selection within one function: which variables are cells of the frame decides how cells are read."""

    def __init__(self, fn: Function, cells: set[Var], unbound: set[Var]):
        self.fn = fn
        self._uses: dict[Var, int] | None = None
        self.cells = cells  # variables whose slot is a cell slot
        self.unbound = unbound  # variables that may hold UNBOUND

    def select(self, s: Call) -> Sel:
        fn, args = s.fn, s.args
        if type(fn) is Const and not s.kwargs:
            key = id(fn.value)
            plain = PLAIN.get(key)
            if plain is not None and plain[0] == len(args):
                _, order, seq, kind, data, void = plain
                if order is not None:
                    args = tuple([args[i] for i in order])
                if kind == "is":
                    kind, data = self._is_none(args, data)
                return Sel(s.out, args, seq, s.pos, kind, data, void)
            special = SPECIAL.get(key)
            if special is not None:
                found = special(s, args)
                if found is not None:
                    return found
            elif key in CELL_OPS or key in _CELL_MAKERS:
                found = self._cell(s, key)
                if found is not None:
                    return found
            if key in IN_FRAME:
                raise UnsupportedError(f"lowering of {IN_FRAME[key]!r}", self.fn.filename, s.pos.line)
        names = tuple([k for k, _ in s.kwargs])
        operands = (fn, *args, *[v for _, v in s.kwargs]) if names else (fn, *args)
        return Sel(s.out, operands, V.call(len(operands) - 1, names), s.pos, "call")

    def uses(self, v: Var) -> int:
        """How often v is read in the whole function."""
        if self._uses is None:
            self._uses = graph.use_counts(self.fn)
        return self._uses.get(v, 0)

    @staticmethod
    def _is_none(args: tuple[Operand, ...], negated: int) -> tuple[str, Any]:
        if type(args[1]) is Const and args[1].value is None:
            return ("not_none" if negated else "none"), None
        return "bool", None

    def _cell(self, s: Call, key: int) -> Sel | None:
        cell = s.args[0]
        if key == id(ops.make_cell):
            if type(cell) is Const and cell.value is ops.UNBOUND:
                return Sel(s.out, (Const(None),), (), s.pos, "make_cell", True)
            if cell in self.unbound:
                return None
            return Sel(s.out, (cell,), (), s.pos, "make_cell", False)
        if key == id(ops.load_dict_or_deref):
            cell = s.args[1]
            if cell in self.cells:
                seq = (("LOAD_FROM_DICT_OR_DEREF", cell, 0),)
                return Sel(s.out, s.args[:1], seq, s.pos, reads=(cell,))
            return None
        if key == id(ops.classderef):
            if cell in self.cells:
                return Sel(s.out, (), V.classderef(cell), s.pos, reads=(cell,))
            return None
        opcode, effect, void = CELL_OPS[key]
        if type(cell) is Var and cell in self.cells:
            pushed = (s.args[1],) if key == id(ops.cell_set) else ()
            return Sel(s.out, pushed, ((opcode, cell, effect),), s.pos, void=void, reads=(cell,))
        if key == id(ops.cell_get) and type(cell) is Const and type(cell.value) is CellType:
            return Sel(s.out, (cell,), (), s.pos, "const_cell")
        return None


_CELL_MAKERS = {id(ops.make_cell), id(ops.classderef), id(ops.load_dict_or_deref)}
