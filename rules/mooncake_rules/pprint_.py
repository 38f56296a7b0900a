"""Text has no derivative: what is printed with `pprint`."""

from __future__ import annotations

import pprint

from mooncake_py.registry import zero_derivative

zero_derivative(pprint.pprint, pprint.pformat, pprint.pp, pprint.saferepr)
