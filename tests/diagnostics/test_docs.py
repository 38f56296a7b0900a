"""docs/debugging.md: its programs run, and its messages are the ones that are printed.

`MOONCAKE_GOLDEN=write python -m pytest tests/diagnostics/test_docs.py` writes the messages anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "debugging.md"
BLOCK = re.compile(r"```(python|text)\n(.*?)```\n", re.DOTALL)


def words(message: str) -> str:
    """The message without what depends on the machine and on the lines of other files."""
    text = message.replace(str(PAGE), "docs/debugging.md")
    return re.sub(r"[^ ]*/mooncake_rules/(\w+\.py):\d+", r"\1", text)


def test_programs_and_messages() -> None:
    text = PAGE.read_text()
    scope: dict[str, Any] = {"__name__": "debugging"}
    out, last = [], 0
    said: str | None = None
    for m in BLOCK.finditer(text):
        body = m[2]
        if m[1] == "python":
            line = text[: m.start(2)].count("\n")
            scope.pop("message", None)
            exec(compile("\n" * line + body, str(PAGE), "exec"), scope)  # its lines are those of the page
            said = scope.get("message")
        elif said is not None:
            body, said = words(said) + "\n", None
        out += [text[last : m.start(2)], body]
        last = m.end(2)
    found = "".join([*out, text[last:]])
    if os.environ.get("MOONCAKE_GOLDEN") == "write":
        PAGE.write_text(found)
    assert found == PAGE.read_text()
