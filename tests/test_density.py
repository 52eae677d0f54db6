"""The questions to a density, on models small enough to know every answer."""

import warnings

import numpy as np
import pandas as pd
import pytest

from energyboost import NRGBoost
from energyboost.density import TableDensity
from energyboost.model.energy import Energy
from energyboost.sampling import boosted
from energyboost.sampling.boosted import BASELINE_SWEEPS, LEAST_SWEEPS, Boosted
from energyboost.tables import Schema
from tests import exact
from tests.chance import contradicted
from tests.ensembles import Domain, dependent_rows, random_baseline, random_tree

DOMAIN = Domain((3, 2, 4), (True, False, True))


def table_of(codes):
    """Rows of codes as a table whose columns get exactly these codes back."""
    return pd.DataFrame({"a": codes[:, 0], "b": np.array(["u", "v"])[codes[:, 1]], "c": codes[:, 2]})


@pytest.fixture
def known():
    """A density on 24 cells, with trees that matter and a pool that is one row, over and over."""
    rng = np.random.default_rng(1)
    energy = Energy(DOMAIN, random_baseline(rng, DOMAIN), 3, 8)
    for _ in range(3):
        energy.add(random_tree(rng, DOMAIN, 8, scale=1.0))
        energy.log_z.append(exact.log_z(energy, energy.n_trees))
        energy.log_z_error.append(1e-9)
    schema = Schema.infer(table_of(exact.cells(DOMAIN)))
    pool = np.repeat(exact.cells(DOMAIN)[:1], 500, axis=0)
    return TableDensity(schema, Boosted(energy, pool, pool[:4]))


def cells_of(rows):
    codes = np.stack([rows["a"], rows["b"] == "v", rows["c"]], axis=1).astype(int)
    return np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=24)


@pytest.mark.parametrize("n_trees", [0, 1, 3])
def test_densities_of_all_cells_sum_to_one_after_any_number_of_trees(known, n_trees):
    every = table_of(exact.cells(DOMAIN))
    expected = exact.probabilities(known.model.energy, n_trees)
    np.testing.assert_allclose(np.exp(known.score_samples(every, n_trees=n_trees)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("start", "n_trees", "temperature"), [("pool", 3, 1.0), ("baseline", 1, 1.0), ("pool", 3, 2.0)]
)
def test_rows_after_one_sweep_are_those_of_the_transition_matrix(known, seed, start, n_trees, temperature):
    """From where they are said to start, with the trees and at the temperature asked for."""
    first = {"pool": np.eye(24)[0], "baseline": exact.probabilities(known.model.energy, 0)}
    after = {
        (t, heat): exact.sweep_matrix(DOMAIN, exact.probabilities(known.model.energy, t, heat))
        for t, heat in [(3, 1.0), (1, 1.0), (3, 2.0)]
    }
    asked = {"start": start, "n_trees": n_trees, "temperature": temperature}
    counts = cells_of(known.sample(100_000, n_sweeps=1, random_state=seed, **asked))
    assert not contradicted(counts, first[start] @ after[n_trees, temperature])
    for other_start in first:  # the controls: every other combination
        for other in after:
            if (other_start, *other) != (start, n_trees, temperature):
                assert contradicted(counts, first[other_start] @ after[other])


def test_the_default_number_of_sweeps_follows_the_start_and_what_the_pool_is_of(known, monkeypatch):
    used, n_forget = [], known.diagnostics().n_sweeps
    monkeypatch.setattr(boosted, "sweep", lambda energy, codes, n_sweeps, *_, **__: used.append(n_sweeps))
    monkeypatch.setattr(boosted, "LEAST_SWEEPS", 2)
    for asked in ({}, {"start": "baseline"}, {"temperature": 0.5}, {"n_trees": 1}, {"n_sweeps": 7}):
        known.sample(3, random_state=0, **asked)
    known.sample(500, random_state=0)
    known.sample(501, random_state=0)  # more than the pool has
    assert used == [2, *[BASELINE_SWEEPS] * 3, 7, 2, n_forget]
    # columns of this model hardly depend on each other: chains forget almost at once
    assert LEAST_SWEEPS <= n_forget < 10 < BASELINE_SWEEPS == 100


@pytest.fixture(scope="module")
def bound():
    """A model of two columns that determine each other, drawn one after the other and jointly."""
    level = np.random.default_rng(0).integers(0, 6, 3000)
    table = pd.DataFrame({"name": np.array(list("abcdef"))[level], "number": level * 10, "x": level[::-1] % 2})
    parameters = {"n_trees": 80, "learning_rate": 0.5, "max_leaves": 16, "max_ratio": 8.0, "uniform_mix": 0.3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # training may end early
        return {pairs: NRGBoost(**parameters, pairs=pairs or [], random_state=0).fit(table) for pairs in ("auto", "")}


def test_slow_chains_are_told_about_once(bound):
    model = bound[""]
    with pytest.warns(UserWarning, match=r"chains forget column '(name|number)' only after about [\d,]+ sweeps"):
        model.sample(20_001, random_state=0)  # more than the pool has
    model.sample(20_001, random_state=0)  # warnings are errors in tests
    found = model.diagnostics()
    assert found.n_sweeps == 100
    assert "Chains hardly move along" in found.verdict or "Chains move slowly along" in found.verdict
    assert "'name'" in found.verdict or "'number'" in found.verdict


def test_pairs_make_chains_fast_where_columns_determine_each_other(bound):
    model = bound["auto"]
    assert {pair["columns"] for pair in model.pairs_} >= {("name", "number")}
    assert model.pairs_[0]["dependence"] == pytest.approx(1, abs=1e-6)
    found = model.diagnostics()
    assert found.mixing.iat.max() < 5
    assert bound[""].diagnostics().mixing.iat.max() > 50
    rows = model.sample(3000, random_state=0)
    assert (rows["name"].map(dict(zip("abcdef", range(0, 60, 10), strict=True))) == rows["number"]).mean() > 0.95


def test_diagnostics_say_what_was_measured(bound):
    model = bound["auto"]
    found = model.diagnostics()
    assert [record["column"] for record in found.records] == ["name", "number", "x"]
    assert all(record["n_effective_per_second"] > 0 for record in found.records)
    assert found.acceptance == tuple(record["acceptance"] for record in model.history_)
    assert found.n_sweeps == max(LEAST_SWEEPS, found.mixing.sweeps_to_forget)
    text = str(found)
    for part in ("IAT", "R-hat", "name", "a round kept", "practically independent", "log Z is", found.verdict):
        assert part in text


def test_log_z_of_one_tree_is_exact_and_takes_no_time(known, monkeypatch):
    monkeypatch.setattr(boosted, "anneal", None)
    known.model.energy.log_z[1] += 0.1
    for t in (0, 1):
        assert known.log_z(t).value == pytest.approx(exact.log_z(known.model.energy, t), abs=1e-12)
        assert known.log_z(t).error == 0


def test_log_densities_use_the_better_estimate_of_log_z(known, monkeypatch):
    exactly = known.log_z()
    assert (exactly.value, exactly.error) == (known.model.energy.log_z[-1], 1e-9)
    known.model.energy.log_z_error[-1] = 0.5  # annealing is better
    known.model._measured.clear()
    annealed = known.log_z()
    assert annealed.error < 0.05
    assert abs(annealed.value - exactly.value) < 6 * annealed.error
    known.model.energy.log_z[-1], known.model.energy.log_z_error[-1] = (
        exactly.value + 1,
        1e-9,
    )  # surer than it should be
    known.model._measured.clear()
    assert known.log_z() == annealed
    monkeypatch.setattr(boosted, "RELIABLE", 0.0)  # if annealing cannot be believed either, nobody is sure
    known.model._measured.clear()
    assert known.log_z().error == pytest.approx(1, abs=0.1)
    monkeypatch.setattr(boosted, "batch_size_for", lambda energy: 0)  # nor where it would take too long
    known.model._measured.clear()
    assert known.log_z() == (known.model._carried(3))
    monkeypatch.undo()
    known.model._measured.clear()
    every = table_of(exact.cells(DOMAIN))
    assert np.exp(known.score_samples(every)).sum() == pytest.approx(1, abs=6 * annealed.error)


@pytest.mark.parametrize("n", [0, 1, 499, 500, 1234])
def test_every_pool_row_starts_a_chain_before_any_starts_a_second(rng, n):
    times = np.bincount(boosted._spread(n, np.ones(500), rng), minlength=500)
    assert times.sum() == n
    assert np.ptp(times) <= 1


def test_a_predicted_column_is_known_even_if_training_lacked_cells():
    """Missing is left out of probabilities and of means, and the rest scaled up."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 4000)
    value = np.where(rng.random(4000) < 0.4, np.nan, group * 10.0)
    label = pd.Series(np.array(["x", "y"])[group]).where(rng.random(4000) > 0.4)
    table = pd.DataFrame({"group": group.astype(str), "value": value, "label": label})
    model = NRGBoost(n_trees=30, max_leaves=8, learning_rate=0.5, pool_size=4000, random_state=0).fit(table)
    asked = pd.DataFrame({"group": ["0", "1"]})
    np.testing.assert_allclose(model.predict(asked.assign(label=None), "value"), [0, 10], atol=0.3)
    probability = model.predict_proba(asked.assign(value=np.nan), "label")
    np.testing.assert_allclose(probability, np.eye(2), atol=0.05)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.predict(asked.assign(value=np.nan), "label").tolist() == ["x", "y"]


@pytest.mark.parametrize("n_jobs", [None, -1, 3])
def test_a_density_takes_any_number_of_jobs(known, n_jobs):
    one = known.sample(300, random_state=0)
    pd.testing.assert_frame_equal(known.sample(300, random_state=0, n_jobs=n_jobs), one)


@pytest.mark.parametrize("max_leaves", [30, 2500])
def test_rows_in_another_layout_have_the_same_answers(rng, max_leaves):
    """A kernel that reads rows by their address must get them in rows."""
    domain = Domain((65, 40, 30), (True, False, True))
    energy = Energy(domain, random_baseline(rng, domain), 2, max_leaves)
    for _ in range(2):
        energy.add(random_tree(rng, domain, max_leaves))
    rows = dependent_rows(rng, domain, 50)
    for column in range(3):
        np.testing.assert_array_equal(
            energy.conditional(np.asfortranarray(rows), column), energy.conditional(rows, column)
        )
    np.testing.assert_array_equal(energy.score(np.asfortranarray(rows)), energy.score(rows))
