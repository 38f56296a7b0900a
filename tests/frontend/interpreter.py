"""Runs normalised code directly: what the IR means, with no lowering between, to hold it against CPython."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator
from types import CellType, FunctionType
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Branch, Const, Edge, ForNext, Function, Goto, Operand, Raise, Return, Var


def interpreted(f: FunctionType) -> Callable[..., Any]:
    """f, run from its normal form; functions it makes are interpreted too."""
    fn = normalise(f.__code__)

    def run(*args: Any, **kwargs: Any) -> Any:
        frame = _Frame(fn, f)
        frame.bind(args, kwargs)
        if fn.kind == "generator":
            return _generator(frame)
        for _ in frame.run():
            raise AssertionError("a plain function yields")
        return frame.result()

    return run


def _generator(frame: _Frame) -> Generator[Any, Any, Any]:
    yield from frame.run()
    return frame.result()


class _Frame:
    def __init__(self, fn: Function, f: FunctionType):
        self.fn, self.f = fn, f
        self.blocks = {b.id: b for b in fn.blocks}
        self.env: dict[Var, Any] = dict(zip(fn.free, f.__closure__ or (), strict=True))
        self.handled: list[BaseException] = []
        self.value: Any = None
        self.error: BaseException | None = None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        code = self.f.__code__
        count = code.co_argcount
        names = code.co_varnames[: count + code.co_kwonlyargcount]
        values: dict[str, Any] = dict(self.f.__kwdefaults__ or {})
        defaults = self.f.__defaults__ or ()
        values.update(zip(names[count - len(defaults) : count], defaults, strict=True))
        values.update(zip(names, args[:count], strict=False))
        values.update({k: v for k, v in kwargs.items() if k in names})
        twice = kwargs.keys() & names[code.co_posonlyargcount : min(count, len(args))]
        if twice or not values.keys() >= {*names}:
            raise TypeError(f"{self.f.__name__}() cannot take these arguments")
        out = [values[name] for name in names]
        if code.co_flags & 0x04:
            out.append(args[count:])
        if code.co_flags & 0x08:
            out.append({k: v for k, v in kwargs.items() if k not in names})
        self.env.update(zip(self.fn.params, out, strict=True))

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value

    def get(self, x: Operand) -> Any:
        return x.value if isinstance(x, Const) else self.env[x]

    def run(self) -> Generator[Any, Any, None]:
        """Yields what the code yields; the end is left in `value` or `error`."""
        edge, first = Edge(self.fn.entry.id), ()
        while True:
            block = self.blocks[edge.target]
            values = [*first, *map(self.get, edge.args)]
            self.env.update(zip(block.params, values, strict=True))
            try:
                for s in block.stmts:
                    fn, args = self.get(s.fn), [self.get(a) for a in s.args]
                    if fn is ops.yield_:
                        self.env[s.out] = yield args[0]
                    elif fn is ops.yield_from:
                        self.env[s.out] = yield from args[0]
                    else:
                        self.env[s.out] = self.call(fn, args, {k: self.get(v) for k, v in s.kwargs})
                match block.term:
                    case Goto(edge=e):
                        edge, first = e, ()
                    case Branch(cond=cond, then=a, orelse=b):
                        edge, first = (a if self.get(cond) else b), ()
                    case ForNext(iterator=it, body=body, done=done):
                        try:
                            edge, first = body, (next(self.get(it)),)
                        except StopIteration:
                            edge, first = done, ()
                    case Return(value=v):
                        self.value = self.get(v)
                        return
                    case Raise(exc=None):
                        raise self.handled[-1]
                    case Raise(exc=exc, cause=None):
                        raise self.get(exc)
                    case Raise(exc=exc, cause=cause):
                        raise self.get(exc) from self.get(cause)
            except GeneratorExit:
                raise
            except BaseException as e:
                if block.handler is None:
                    self.error = e
                    return
                edge, first = block.handler, (e,)

    def call(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if fn is ops.load_global:
            name = args[0]
            names = self.f.__globals__
            if name in names:
                return names[name]
            if not hasattr(builtins, name):
                raise NameError(f"name {name!r} is not defined")
            return getattr(builtins, name)
        if fn is ops.store_global:
            self.f.__globals__[args[0]] = args[1]
            return None
        if fn is ops.make_function:
            code, defaults, kwdefaults, annotations, closure = args
            made = FunctionType(code, self.f.__globals__, code.co_name, defaults, closure)
            made.__kwdefaults__ = kwdefaults
            made.__annotations__ = dict(zip(annotations[::2], annotations[1::2], strict=True)) if annotations else {}
            return interpreted(made)
        if fn is ops.import_name:
            return __import__(args[0], self.f.__globals__, None, args[1], args[2])
        if fn is ops.import_from:
            try:
                return getattr(args[0], args[1])
            except AttributeError as e:
                raise ImportError(f"cannot import name {args[1]!r}") from e
        if fn is ops.push_exc_info:
            self.handled.append(args[0])
            return None
        if fn is ops.pop_except:
            self.handled.pop()
            return None
        if fn is ops.exc_group_match:
            rest, caught = fn(*args)
            if caught is not None:
                self.handled[-1] = caught
            return rest, caught
        if fn is ops.get_yield_from_iter:
            return iter(args[0])
        if fn is ops.match_sequence:
            return isinstance(args[0], (list, tuple))
        if fn is ops.match_mapping:
            return isinstance(args[0], dict)
        if fn is ops.match_keys:
            subject, keys = args
            if len(set(keys)) < len(keys):
                raise ValueError(
                    f"mapping pattern checks duplicate key ({next(k for k in keys if keys.count(k) > 1)!r})"
                )
            found = tuple(subject.get(k, keys) for k in keys)
            return found if all(v is not keys for v in found) else None
        if fn is ops.match_class:
            subject, cls, n, names = args
            if not isinstance(subject, cls):
                return None
            if cls in (int, float, str, list, tuple, dict):
                return (subject,) * n
            if n > len(getattr(cls, "__match_args__", ())):
                raise TypeError("more positional sub-patterns than the class has")
            names = (*(cls.__match_args__[:n] if n else ()), *names)
            return tuple(getattr(subject, k) for k in names) if all(hasattr(subject, k) for k in names) else None
        assert not isinstance(fn, CellType)
        return fn(*args, **kwargs)
