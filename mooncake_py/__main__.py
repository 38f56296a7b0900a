"""`python -m mooncake_py inspect module:function --args "1.0, np.ones(3)"`: a look inside from a shell."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mooncake_py", description="Look inside the gradient of a function."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("inspect", "what the engine made of a function"), ("profile", "where its time goes")):
        p = commands.add_parser(name, help=what)
        p.add_argument("function", help="module:function, or path/to/file.py:function")
        p.add_argument("--args", default="", help='arguments as Python: "1.0, np.ones(3)" (np and math are there)')
        p.add_argument("--html", metavar="FILE", help="write the page to a file")
        if name == "inspect":
            p.add_argument("--stage", help="print one stage, or 'all'")
            p.add_argument("--diff", nargs=2, metavar=("BEFORE", "AFTER"), help="print what changes between stages")
            p.add_argument("--colour", choices=("auto", "always", "never"), default="auto")
    given = parser.parse_args(argv)
    from mooncake_py.errors import MooncakeError

    try:
        f, args = _function(given.function), _arguments(given.args)
        if given.command == "inspect":
            _inspect(f, args, given)
        else:
            _profile(f, args, given)
    except (MooncakeError, ImportError, AttributeError, TypeError, ValueError, SyntaxError, NameError, KeyError) as e:
        print(f"{type(e).__name__}: {e.args[0] if isinstance(e, KeyError) else e}", file=sys.stderr)
        return 2
    return 0


def _function(spec: str) -> Any:
    module, colon, name = spec.rpartition(":")
    if not colon:
        raise ValueError(f"{spec!r} is not of the form module:function")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).resolve().parent))
        module = Path(module).stem
    else:
        sys.path.insert(0, os.getcwd())
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _arguments(text: str) -> tuple[Any, ...]:
    import math

    import numpy as np

    return tuple(eval(f"[{text}]", {"np": np, "numpy": np, "math": math}))


def _inspect(f: Any, args: tuple[Any, ...], given: argparse.Namespace) -> None:
    from mooncake_py.inspection import inspect
    from mooncake_py.inspection.stages import STAGES

    seen = inspect(f, *args)
    colour = {"auto": None, "always": True, "never": False}[given.colour]
    if given.html:
        Path(given.html).write_text(seen.html(), encoding="utf-8")
        print(f"wrote {given.html}")
    elif given.diff:
        seen.show(seen.diff(*given.diff), colour)
    elif given.stage == "all":
        for stage in STAGES:
            seen.show(f"== {stage}\n{seen.stage(stage)}", colour)
    else:
        seen.show(seen.stage(given.stage) if given.stage else None, colour)


def _profile(f: Any, args: tuple[Any, ...], given: argparse.Namespace) -> None:
    from mooncake_py.diagnostics.profile import profile

    seen = profile(f, *args, quiet=bool(given.html))
    if given.html:
        Path(given.html).write_text(seen.html(), encoding="utf-8")
        print(f"wrote {given.html}")


if __name__ == "__main__":
    sys.exit(main())
