"""Derivatives where differences cannot tell: near zero, near a pole and far out. The numbers are those of 60 digits."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad, value_and_pullback
from tests.functions import on_one_python

NUMBERS: list[tuple[str, Callable[..., Any], tuple[float, ...], tuple[float, ...]]] = [
    ("sinc", np.sinc, (1e-8,), (-3.2898681336964526e-8,)),
    ("sinc, series", np.sinc, (0.149,), (-0.4795332541605534,)),
    ("asinh", math.asinh, (1e160,), (1e-160,)),
    ("acosh", math.acosh, (1e160,), (1e-160,)),
    ("arcsinh", np.arcsinh, (-1e160,), (1e-160,)),
    ("math.expm1", math.expm1, (-45.0,), (2.862518580549394e-20,)),
    ("np.expm1", np.expm1, (-45.0,), (2.862518580549394e-20,)),
    ("atan2, small", math.atan2, (3e-200, 4e-200), (1.6e199, -1.2e199)),
    ("atan2, large", math.atan2, (3e200, 4e200), (1.6e-201, -1.2e-201)),
    ("arctan2, small", np.arctan2, (3e-200, 4e-200), (1.6e199, -1.2e199)),
    ("arctan2, large", np.arctan2, (3e200, 4e200), (1.6e-201, -1.2e-201)),
]


def _special() -> list[tuple[str, Callable[..., Any], tuple[float, ...], tuple[float, ...]]]:
    sc = pytest.importorskip("scipy.special")
    return [
        ("sinc", sc.sinc, (1e-8,), (-3.2898681336964526e-8,)),
        ("diric", lambda x: sc.diric(x, 4), (1e-8,), (-1.25e-8,)),
        ("diric, next peak", lambda x: sc.diric(x, 4), (2 * math.pi + 2.0**-20,), (1.25 * 2.0**-20,)),
        ("expit", sc.expit, (45.0,), (2.862518580549394e-20,)),
        ("expm1", sc.expm1, (-45.0,), (2.862518580549394e-20,)),
        ("dawsn", sc.dawsn, (1e8,), (-5e-17,)),
        ("dawsn, nearer", sc.dawsn, (-21.0,), (-0.001137665303001415,)),
        ("erfcx", sc.erfcx, (1e8,), (-5.641895835477562e-17,)),
        ("wofz", lambda x: np.real(sc.wofz(x) * -1j), (1e8,), (-5.641895835477562e-17,)),
        ("ellipkm1", sc.ellipkm1, (1e-15,), (-5e14,)),
        ("ellipkinc", sc.ellipkinc, (0.7, 1.0 - 1e-14), (1.307459259733589, 0.0839768209511951)),
        ("agm", sc.agm, (1.0, 1e12), (float("nan"), 0.052267524867386055)),
        ("log_ndtr", sc.log_ndtr, (-1e8,), (1e8,)),
        ("ndtri_exp", sc.ndtri_exp, (-5e15,), (1e-8,)),
        ("pseudo_huber", sc.pseudo_huber, (1e8, 1.0), (2.5e-25, 1.0)),
    ]  # fmt: skip


def _at_bounds() -> list[tuple[str, Callable[..., Any], tuple[float, ...], tuple[float, ...]]]:
    """Derivatives from within, where a parameter is at its bound and SciPy takes another formula."""
    st = pytest.importorskip("scipy.stats")
    sc = pytest.importorskip("scipy.special")
    nan = float("nan")
    chi2 = 0.11539974210409146
    return [
        ("ncx2.pdf", lambda c: st.ncx2.pdf(1.5, 3.0, c), (0.0,), (-0.25 * 2 * chi2,)),
        ("ncx2.logpdf", lambda c: st.ncx2.logpdf(1.5, 3.0, c), (0.0,), (-0.25,)),
        ("ncx2.cdf", lambda c: st.ncx2.cdf(1.5, 3.0, c), (0.0,), (-chi2,)),
        ("ncx2.sf", lambda c: st.ncx2.sf(1.5, 3.0, c), (0.0,), (chi2,)),
        ("chndtr", sc.chndtr, (1.5, 3.0, 0.0), (3.0 * chi2 / 1.5, nan, -chi2)),
        ("triang.pdf", lambda c: st.triang.pdf(0.4, c), (1.0,), (-0.8,)),
        ("triang.pdf at 0", lambda c: st.triang.pdf(0.4, c), (0.0,), (1.2,)),
        ("triang.cdf", lambda c: st.triang.cdf(0.4, c), (1.0,), (-0.16,)),
        ("trapezoid.mean", lambda d: st.trapezoid.mean(0.2, d), (1.0,), (61.0 / 243.0,)),
        ("vonmises.logpdf", lambda k: st.vonmises.logpdf(0.7, k), (0.0,), (math.cos(0.7),)),
        ("vonmises.pdf", lambda k: st.vonmises.pdf(0.7, k), (0.0,), (math.cos(0.7) / (2.0 * math.pi),)),
        ("vonmises.entropy", st.vonmises.entropy, (0.0,), (0.0,)),
        ("rice.pdf", lambda b: st.rice.pdf(0.8, b), (0.0,), (0.0,)),
        ("stdtr", sc.stdtr, (3.3, 0.0), (0.0, nan)),
        ("stdtrit", sc.stdtrit, (3.3, 0.5), (0.0, nan)),
        ("voigt_profile", sc.voigt_profile, (0.5, 0.0, 1.0), (-0.20371832715762603, 0.0, -0.15278874536821952)),
    ]


def _check(f: Callable[..., Any], at: tuple[float, ...], expected: tuple[float, ...]) -> None:
    for k, d in enumerate(expected):
        if not math.isnan(d):
            assert grad(lambda *a: float(f(*a)), argnums=k)(*at) == pytest.approx(d, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("f", "at", "expected"), [c[1:] for c in NUMBERS], ids=[c[0] for c in NUMBERS])
def test_of_numpy(f: Callable[..., Any], at: tuple[float, ...], expected: tuple[float, ...]) -> None:
    _check(f, at, expected)


def test_of_scipy() -> None:
    for _, f, at, expected in _special():
        _check(f, at, expected)


@on_one_python(0)
def test_at_bounds() -> None:
    for _, f, at, expected in _at_bounds():
        _check(f, at, expected)


@pytest.mark.parametrize("phase", [cmath.phase, np.angle])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_angles(phase: Callable[[Any], Any], size: float) -> None:
    z = complex(0.6 * size, 0.8 * size)
    (dz,) = value_and_pullback(lambda z: float(phase(z)), z)[1](1.0)
    assert dz * size == pytest.approx(-0.8 + 0.6j)


def test_on_the_cut_of_spence() -> None:
    sc = pytest.importorskip("scipy.special")
    for z in (complex(-0.5, 0.0), complex(-0.5, -0.0)):
        (dz,) = value_and_pullback(lambda z: complex(sc.spence(z)), z)[1](1.0)
        assert dz == pytest.approx((cmath.log(z) / (1.0 - z)).conjugate())


def test_at_poles_that_cancel() -> None:
    """poch is a polynomial in its first argument there, and a binomial coefficient vanishes."""
    sc = pytest.importorskip("scipy.special")
    _check(lambda z: sc.poch(z, 2.0), (-3.0,), (-5.0,))
    _check(lambda z: sc.poch(z, 2.0), (-1.0,), (-1.0,))
    _check(lambda z: sc.poch(z, -2.0), (-1.0,), (5 / 36,))
    _check(lambda n: sc.binom(n, 2.0), (0.0,), (-0.5,))
    _check(lambda k: sc.binom(5.0, k), (-1.0,), (1 / 6,))
    _check(lambda k: sc.binom(5.0, k), (7.0,), (1 / 42,))
    _check(lambda k: sc.binom(300.0, k), (-1.0,), (1 / 301,))


@on_one_python(1)
def test_moments_of_genextreme_without_shape() -> None:
    """SciPy's own values are not precise enough near zero: these are differences of values further away."""
    st = pytest.importorskip("scipy.stats")
    for k in "mvsk":

        def moment(c, k=k):
            return float(st.genextreme.stats(c, moments=k))

        wide, narrow = [(moment(h) - moment(-h)) / (2.0 * h) for h in (0.06, 0.03)]
        limit = (4.0 * narrow - wide) / 3.0
        assert grad(moment)(0.0) == pytest.approx(limit, rel=2e-3)
        assert grad(moment)(1e-9) == pytest.approx(grad(moment)(0.0), rel=1e-6)
    assert grad(lambda c: float(st.genextreme.mean(c)))(0.0) == pytest.approx(-(np.euler_gamma**2 + np.pi**2 / 6) / 2)
