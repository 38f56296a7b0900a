"""What is done to the primal before types are known: cells that can become plain values, functions that are made and
called on the spot (comprehensions, local lambdas) are taken in."""

from __future__ import annotations

from mooncake_py.ir.nodes import Function
from mooncake_py.transform.attribute_cells import with_attribute_cells
from mooncake_py.transform.inline import inline_one
from mooncake_py.transform.late_cells import settle_cells
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.rest_given import with_rest_given
from mooncake_py.transform.whole import whole_displays


def prepare(fn: Function) -> Function:
    """The primal as inference wants it."""
    fn = explicit(with_attribute_cells(whole_displays(fn)))
    while (inlined := inline_one(fn)) is not None:
        fn = inlined
    return with_rest_given(settle_cells(fn))
