"""`python -m docs.coverage LIBRARY ...`: write the pages of these libraries."""

from __future__ import annotations

import sys

from docs.coverage import page, report

for _name in sys.argv[1:]:
    page(_name).write_text(report(_name), encoding="utf-8")
