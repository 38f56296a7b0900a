"""Text has no derivative: what is written out as JSON."""

from __future__ import annotations

import json

from mooncake_py.registry import zero_derivative

zero_derivative(json.dump, json.dumps, json.JSONEncoder.encode)
