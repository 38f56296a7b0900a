"""scipy.integrate.tanhsinh: the integral of a function of numbers; its derivative is that of the same by `quad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as si
from scipy._lib._util import _RichResult

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule
from mooncake_py.stop import no_diff
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_rules.captured import watched
from mooncake_rules.mirror import as_written
from mooncake_rules.scipy_records import record_class

CASES: list[RuleCase] = []


def _tanhsinh() -> None:
    plain = as_written(si.tanhsinh)

    def found(f: Any, a: Any, b: Any, args: Any, options: dict[str, Any]) -> Any:
        if any(np.ndim(v) for v in (a, b, *args)) or not options.keys() <= {"maxlevel", "minlevel", "atol", "rtol"}:
            raise NotDifferentiated("scipy.integrate.tanhsinh is differentiated for one integral at a time, without "
                                    "kwargs, log, preserve_shape and callback")  # fmt: skip
        return plain(f, a, b, args=args, **options)

    @rrule(found)
    @watched
    def without_derivative(f: CoDual, a, b, args: CoDual, options: CoDual):
        """Also what f stores has none, while SciPy runs it."""
        return CoDual(found(f.primal, a, b, args.primal, options.primal), None), lambda dy: None

    record_class(_RichResult)

    @overlay(si.tanhsinh)
    def tanhsinh(f, a, b, *, args=(), **options):
        args = args if isinstance(args, tuple) else (args,)
        r = found(f, a, b, args, options)
        y = si.quad(lambda t: np.sum(f(np.array([t]), *args)), a, b, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
        return _RichResult(
            status=r["status"], integral=y + no_diff(r["integral"] - y), error=r["error"], nfev=r["nfev"],
            success=r["success"], maxlevel=r["maxlevel"], _order_keys=r["_order_keys"],
        )  # fmt: skip

    CASES.extend([
        case(lambda a, b, k: si.tanhsinh(lambda t: np.exp(-k * t * t), a, b, rtol=1e-12).integral, 0.2, 1.4, 0.7),
        case(lambda k: si.tanhsinh(lambda t, k: t ** (k - 1.0) * np.exp(-t), 0.0, np.inf, args=(k,))["integral"], 1.7),
    ])  # fmt: skip


if hasattr(si, "tanhsinh"):
    _tanhsinh()
