"""Python's object protocol on values with tangents, decided when it runs.

What Python's C code does between two Python functions is done step by step (`attributes.py`, `construction.py`,
`operators.py`), so that the Python functions among them (methods, properties, `__init__`, `__add__`, descriptors,
`__getattr__`) are derived like any other. What is left is reading and writing what an object stores (`stored.py`).
"""

from __future__ import annotations

import functools
import types as pytypes
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from mooncake_py import fields
from mooncake_py.ir import ops
from mooncake_py.iterators import DictItems, DictValues
from mooncake_py.runtime.attributes import (
    behind_getattribute,
    generic_delete,
    generic_set,
    handle_delattr,
    handle_getattr,
    handle_hasattr,
    handle_load_super,
    handle_set_kept,
    handle_setattr,
    handle_super,
    handle_vars,
)
from mooncake_py.runtime.callables import cache_clear, cache_info
from mooncake_py.runtime.classes import handle_name_in, handle_name_or_cell
from mooncake_py.runtime.construction import bound_by_get, bound_method, handle_new
from mooncake_py.runtime.exceptions import exception_init, inits_that_keep_arguments
from mooncake_py.runtime.iteration import dict_view
from mooncake_py.runtime.results import Call, Result
from mooncake_py.runtime.stored import handle_delete_name, handle_load_name, handle_store_name

NATIVE: dict[Any, Callable[[Call, tuple[Any, ...], tuple[Any, ...]], Result | None]] = {
    getattr: handle_getattr,
    hasattr: handle_hasattr,
    setattr: handle_setattr,
    delattr: handle_delattr,
    vars: handle_vars,
    super: handle_super,
    pytypes.MethodType: bound_method,
    pytypes.FunctionType.__get__: bound_by_get,
    **dict.fromkeys((object.__setattr__, BaseException.__setattr__, type.__setattr__), generic_set),
    **dict.fromkeys((object.__delattr__, BaseException.__delattr__), generic_delete),
    **dict.fromkeys((object.__getattribute__, BaseException.__getattribute__), behind_getattribute),
    object.__new__: handle_new,
    object.__init__: lambda call, args, fargs: (None, None, None) if len(args) == 1 else None,
    fields.name_in: handle_name_in,
    fields.name_or_cell: handle_name_or_cell,
    fields.set_kept: handle_set_kept,
    fields.load_name: handle_load_name,
    fields.store_name: handle_store_name,
    fields.delete_name: handle_delete_name,
    **dict.fromkeys(inits_that_keep_arguments(), exception_init),
    ops.load_super: handle_load_super,
    dict.values: dict_view(DictValues),
    dict.items: dict_view(DictItems),
    OrderedDict.values: dict_view(DictValues),
    OrderedDict.items: dict_view(DictItems),
    functools._lru_cache_wrapper.cache_clear: cache_clear,
    functools._lru_cache_wrapper.cache_info: cache_info,
}
"""Functions in C that read, write or make what objects store."""
