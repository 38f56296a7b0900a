"""Code -> IR -> code: what the round-trip tests and the benchmark share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType, ModuleType
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend.normalise import normalise
from mooncake_py.ir.verify import verify
from mooncake_py.lowering import lower

OPTIMIZED = 1


def roundtrip_code(code: CodeType, refused: list[str] | None = None) -> CodeType:
    """The code object taken apart and rebuilt, and so are those inside it; what is refused stays as it is."""
    if code.co_flags & OPTIMIZED:
        try:
            fn = normalise(code)
        except UnsupportedError as e:
            if refused is None:
                raise
            refused.append(f"{code.co_qualname}: {e.construct}")
        else:
            verify(fn)
            code = lower(fn, like=code)
    consts = tuple(roundtrip_code(c, refused) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=consts)


def roundtrip(f: Callable[..., Any]) -> Callable[..., Any]:
    assert isinstance(f, FunctionType)
    g = FunctionType(roundtrip_code(f.__code__), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    g.__kwdefaults__ = f.__kwdefaults__
    g.__annotations__ = f.__annotations__
    g.__dict__.update(f.__dict__)
    return g


class _RoundTripLoader(SourceFileLoader):
    refused: list[str]

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_data(self.get_filename(fullname))
        return roundtrip_code(compile(source, self.get_filename(fullname), "exec", dont_inherit=True), self.refused)


class _Finder(MetaPathFinder):
    def __init__(self, names: Iterable[str], refused: list[str]):
        self.names, self.refused = set(names), refused

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self.names:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        loader = _RoundTripLoader(fullname, spec.origin)
        loader.refused = self.refused
        made = importlib.util.spec_from_file_location(
            fullname, spec.origin, loader=loader, submodule_search_locations=spec.submodule_search_locations
        )
        assert made is None or isinstance(made.loader, Loader)
        return made


@contextmanager
def roundtripped(names: Iterable[str]) -> Iterator[list[str]]:
    """Inside, the named modules are imported afresh with every function round-tripped."""
    names = list(names)
    refused: list[str] = []
    finder = _Finder(names, refused)
    saved = {n: sys.modules.pop(n, None) for n in names}
    sys.meta_path.insert(0, finder)
    try:
        yield refused
    finally:
        sys.meta_path.remove(finder)
        for n, module in saved.items():
            sys.modules.pop(n, None)
            if module is not None:
                sys.modules[n] = module
