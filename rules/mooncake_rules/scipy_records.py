"""The records that SciPy's solvers return: dicts whose items are attributes as well."""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult

from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, DictShadow, take_fdata, zero_fdata


def record_class(cls: type) -> None:
    """The rule of making such a record from keyword arguments."""

    @rrule(cls)
    def rule(**items: CoDual):
        y = cls(**{k: v.primal for k, v in items.items()})
        shadow = DictShadow({k: zero_fdata(v.primal) if v.fdata is None else v.fdata for k, v in items.items()}, {})

        def pullback(dy: Any) -> Any:
            out = []
            for k, v in items.items():
                r = shadow.r.pop(k, None)
                out.append(take_fdata(shadow.f[k], r) if v.fdata is None else r)
            return tuple(out)

        return CoDual(y, shadow), pullback


@rrule(OptimizeResult.__getattr__)
def attribute(self: CoDual, name):
    y = getattr(self.primal, name)
    shadow = self.fdata if type(self.fdata) is DictShadow else None
    fy = None if shadow is None else shadow.f.get(name)

    def pullback(dy: Any) -> Any:
        if shadow is not None and dy is not None and fy is None:
            shadow.add_item(name, dy)
        return None

    return CoDual(y, fy), pullback
