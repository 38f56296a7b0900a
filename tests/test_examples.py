"""Every example runs, draws and finds what it should; the functions in them have right derivatives."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py.testing import check_grads

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = sorted(p.stem for p in EXAMPLES.glob("*.py") if not p.stem.endswith("_model"))


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def run(name: str, picture: Path, **options: Any) -> Any:
    result = importlib.import_module(name).main(picture, **options)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000
    return result


def test_all_are_tested() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert SCRIPTS and all(f'"{name}"' in here for name in SCRIPTS)


def test_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.import_module("digits"), "ITERATIONS", 8)
    run("digits", tmp_path / "digits.png")
    accuracy = capsys.readouterr().out.split("test accuracy ")[-1].rstrip("%\n")
    assert float(accuracy) > 70.0


def test_lotka_volterra(tmp_path: Path) -> None:
    rates = run("lotka_volterra", tmp_path / "p.png", steps=80, iterations=60)
    assert np.allclose(rates, sys.modules["lotka_volterra"].TRUE_RATES, atol=0.1)


def test_lotka_volterra_gradient() -> None:
    module = importlib.import_module("lotka_volterra")
    check_grads(lambda p: module.loss(p, module.measure(8)), (np.log(module.TRUE_RATES) + 0.1,))


def test_gaussian_process(tmp_path: Path) -> None:
    p = run("gaussian_process", tmp_path / "p.png", points=30, iterations=40)
    assert 0.05 < np.exp(p["log_noise"]) < 0.5 and 0.3 < np.exp(p["log_length"]) < 3.0


def test_gaussian_process_gradient() -> None:
    module = importlib.import_module("gaussian_process")
    x = np.linspace(-1.0, 1.0, 6)
    check_grads(
        module.negative_log_likelihood, ({"log_scale": 0.1, "log_length": -0.5, "log_noise": -1.0}, x, np.sin(x))
    )


def test_kalman(tmp_path: Path) -> None:
    noise = run("kalman", tmp_path / "p.png", steps=200, iterations=30)
    true = sys.modules["kalman"].TRUE_NOISE
    assert noise[0] == pytest.approx(true[0], rel=0.5) and noise[1] == pytest.approx(true[1], rel=0.2)


def test_kalman_gradient() -> None:
    module = importlib.import_module("kalman")
    check_grads(module.kalman, (np.array([-1.0, 0.3]), module.simulate(7)[1]))


def test_heat(tmp_path: Path) -> None:
    first, last = run("heat", tmp_path / "p.png", n=60, steps=30, iterations=150)
    assert last < 1e-3 * first


def test_heat_gradient() -> None:
    module = importlib.import_module("heat")
    check_grads(lambda start, seen: module.loss(start, seen, 4), (np.arange(6.0), np.ones(8)))


def test_logistic(tmp_path: Path) -> None:
    assert run("logistic", tmp_path / "p.png", iterations=10) > 0.9


def test_logistic_gradient() -> None:
    module = importlib.import_module("logistic_model")
    rng = np.random.default_rng(0)
    check_grads(module.shard_loss, (rng.normal(size=4), rng.normal(size=(5, 3)), np.array([0.0, 1.0, 1.0, 0.0, 1.0])))


def test_orbits(tmp_path: Path) -> None:
    before, after = run("orbits", tmp_path / "p.png", steps=60, iterations=25)
    assert after < 1e-4 * before


def test_orbits_gradient() -> None:
    module = importlib.import_module("orbits")
    check_grads(lambda v: module.miss(v, 5), (np.array([0.1, 1.1]),))


def test_lstm(tmp_path: Path) -> None:
    losses = run("lstm", tmp_path / "p.png", hidden=6, length=20, iterations=30)
    assert losses[-1] < 0.3 * losses[0]


def test_lstm_gradient() -> None:
    module = importlib.import_module("lstm")
    check_grads(module.loss, (module.initial(3), np.sin(np.arange(8.0).reshape(4, 2))))
