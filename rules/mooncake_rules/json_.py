"""Text has no derivative: what is written out as JSON."""

from __future__ import annotations

import json
import json.scanner

from mooncake_py.registry import overlay, zero_derivative

zero_derivative(json.dump, json.dumps, json.JSONEncoder.encode)

# Hooks that are given to `json.loads` are called by the scanner, of which the library has Python code as well.
overlay(json.scanner.make_scanner)(json.scanner.py_make_scanner)  # type: ignore[attr-defined]
