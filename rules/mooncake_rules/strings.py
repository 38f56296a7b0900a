"""What methods of strings give: text is constant, but loops over its parts and dicts by its words need their types."""

from __future__ import annotations

from mooncake_py.infer.types import Inst, Lst, T, Tup
from mooncake_py.registry import infer_table, pure

_TEXT: T = Inst(str)
_OF_NAMES: dict[T, str] = {
    _TEXT: "capitalize casefold center expandtabs ljust lower lstrip removeprefix removesuffix replace rjust rstrip "
    "strip swapcase title upper zfill",
    Inst(bool): "endswith isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
    "istitle isupper startswith",
    Inst(int): "count find index rfind rindex",
    Inst(bytes): "encode",
    Lst(_TEXT): "split rsplit splitlines",
    Tup((_TEXT, _TEXT, _TEXT)): "partition rpartition",
}
for _type, _names in _OF_NAMES.items():
    for _name in _names.split():
        _method = str.__dict__[_name]
        infer_table[_method] = lambda args, kwargs, t=_type: t
        pure.add(_method)
infer_table[str.join] = infer_table[str.format] = infer_table[str.format_map] = lambda args, kwargs: _TEXT
