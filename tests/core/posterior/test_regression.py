"""The cross-fitted regression: closed form, invariances, and what it must never do."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.posterior import regression
from fairarm.core.posterior.regression import FOLDS, Basis, cross_fit


def _folds(rng: np.random.Generator, count: np.ndarray) -> np.ndarray:
    return rng.multinomial(count, np.full(FOLDS, 1 / FOLDS))


def _data(n: int, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    v, z = rng.random(n), rng.integers(0, 3, n)
    mean = 0.5 + 0.35 * np.sin(6 * v + z)
    return {"v": v, "z": z}, mean, rng.uniform(-0.1, 0.1, n)


STATES = {"v": None, "z": 3}


@pytest.mark.parametrize(("n", "within"), [(200, 0.08), (2_000, 0.02), (20_000, 0.01)])
def test_finds_a_smooth_function_of_a_real_and_a_finite_column(n: int, within: float) -> None:
    columns, mean, noise = _data(n)
    made = cross_fit(columns, STATES, "v", mean + noise, _folds(np.random.default_rng(1), np.ones(n, dtype=int)))
    nodes = np.linspace(0.02, 0.98, 60)
    found = made.predict_surface({"z": np.arange(3)}, nodes, np.full((1, FOLDS), 1 / FOLDS))
    truth = 0.5 + 0.35 * np.sin(6 * nodes + np.arange(3)[:, None])
    assert np.sqrt(np.mean((found - truth) ** 2)) < within


def test_the_fit_solves_the_penalised_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """As rows of a larger problem: √λ for each coefficient but the constant's, and one row with outcome ½."""
    monkeypatch.setattr(regression, "PENALTIES", np.array([2.0]))
    columns, mean, noise = _data(80)
    folds = _folds(np.random.default_rng(1), np.ones(80, dtype=int))
    made = cross_fit(columns, STATES, "v", mean + noise, folds)
    features = made.basis.rows(columns)
    constant = np.eye(features.shape[1])[:1]
    shrunk = np.sqrt(2.0) * np.eye(features.shape[1])[1:]
    for f in range(FOLDS):
        kept = folds[:, f] == 0
        rows = np.concatenate([features[kept], constant, shrunk])
        y = np.concatenate([(mean + noise)[kept], [0.5], np.zeros(len(shrunk))])
        np.testing.assert_allclose(made.coefficients[f], np.linalg.lstsq(rows, y, rcond=None)[0], atol=1e-7)


def test_a_line_with_a_count_is_so_many_rows() -> None:
    columns, mean, noise = _data(60)
    count = np.random.default_rng(2).integers(1, 4, 60)
    folds = _folds(np.random.default_rng(3), count)
    once = cross_fit(columns, STATES, "v", mean + noise, folds)
    line = np.repeat(np.arange(60), count)
    by_row = np.concatenate([np.repeat(np.eye(FOLDS, dtype=int), n, axis=0) for n in folds])
    rows = cross_fit({k: c[line] for k, c in columns.items()}, STATES, "v", (mean + noise)[line], by_row)
    np.testing.assert_allclose(rows.coefficients, once.coefficients, atol=1e-9)
    np.testing.assert_allclose(rows.variance_coefficients, once.variance_coefficients, atol=1e-9)


def test_no_row_takes_part_in_its_own_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "PENALTIES", np.array([0.3]))
    columns, mean, noise = _data(100)
    folds = _folds(np.random.default_rng(1), np.ones(100, dtype=int))
    before = cross_fit(columns, STATES, "v", mean + noise, folds).predict(columns)
    changed = np.where(folds[:, 2] > 0, 0.5, mean + noise)
    after = cross_fit(columns, STATES, "v", changed, folds).predict(columns)
    np.testing.assert_allclose(before[2], after[2], atol=1e-9)
    assert np.abs(before[0] - after[0]).max() > 0.01


def test_a_surface_is_its_rows() -> None:
    columns, mean, noise = _data(300)
    made = cross_fit(columns, STATES, "v", mean + noise, _folds(np.random.default_rng(1), np.ones(300, dtype=int)))
    nodes, z = np.linspace(0, 1, 7), np.arange(3)
    shares = np.random.default_rng(0).dirichlet(np.ones(FOLDS), 3)
    rows = {"v": np.tile(nodes, 3), "z": np.repeat(z, 7)}
    expected = (made.predict(rows).reshape(FOLDS, 3, 7) * shares.T[:, :, None]).sum(axis=0)
    np.testing.assert_allclose(made.predict_surface({"z": z}, nodes, shares), expected, atol=1e-12)
    np.testing.assert_allclose(made.variance_surface({"z": z}, nodes).ravel(), made.variance(rows), atol=1e-12)


def test_the_residual_variance_follows_the_noise() -> None:
    rng = np.random.default_rng(0)
    v = rng.random(20_000)
    y = 0.5 + np.where(v < 0.5, 0.05, 0.4) * rng.uniform(-1, 1, len(v))
    made = cross_fit({"v": v}, {"v": None}, "v", y, _folds(rng, np.ones(len(v), dtype=int)))
    found = made.variance({"v": np.array([0.2, 0.8])})
    np.testing.assert_allclose(found, np.array([0.05, 0.4]) ** 2 / 3, rtol=0.15, atol=0.003)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_and_constant_columns(n: int) -> None:
    columns = {"v": np.full(n, 0.3), "z": np.zeros(n, dtype=int), "w": np.arange(n) / 7}
    states = {"v": None, "z": 1, "w": None}
    made = cross_fit(columns, states, "v", np.ones(n), _folds(np.random.default_rng(0), np.ones(n, dtype=int)))
    assert np.all((made.predict(columns) >= 0) & (made.predict(columns) <= 1))
    assert np.all(made.variance(columns) > 0)
    if n == 1:  # the one row is left out of its own fit, and nothing else is known
        assert made.predict(columns).min() == pytest.approx(0.5)


def test_predictions_stay_between_0_and_1_and_are_constant_beyond_the_data() -> None:
    rng = np.random.default_rng(0)
    v = rng.uniform(0.4, 0.6, 200)
    made = cross_fit({"v": v}, {"v": None}, "v", 1.0 * (v > 0.5), _folds(rng, np.ones(200, dtype=int)))
    far = made.predict({"v": np.array([-50.0, v.min(), v.max(), 50.0])})
    assert far.min() >= 0 and far.max() <= 1
    np.testing.assert_array_equal(far[:, 0], far[:, 1])
    np.testing.assert_array_equal(far[:, 2], far[:, 3])


def test_a_column_with_many_states_is_read_in_their_order() -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(0, 1000, 1500)
    y = 0.5 + 0.4 * np.sin(v / 150)
    made = cross_fit({"v": v}, {"v": 1000}, "v", y, _folds(rng, np.ones(1500, dtype=int)))
    unseen = np.setdiff1d(np.arange(1000), v)
    assert np.abs(made.predict({"v": unseen}).mean(axis=0) - 0.5 - 0.4 * np.sin(unseen / 150)).max() < 0.05


@pytest.mark.parametrize("n", [3, 50, 500])
def test_the_number_of_features_is_bounded(n: int) -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.integers(0, 30, n) for i in range(6)}
    basis = Basis.of(columns, dict.fromkeys(columns, 30), "c0", np.ones(n, dtype=int))
    assert basis.rows(columns).shape[1] <= 1 + regression.MAX_FEATURES
