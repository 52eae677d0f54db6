"""DensityForest as its user meets it: the questions of any density, answered exactly."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from energyboost import DataError, DensityForest, between
from energyboost.tables import encode
from tests import exact
from tests.chance import contradicted
from tests.test_estimators import people
from tests.test_questions import DOMAIN, N_CELLS, table_of

SMALL = {"n_trees": 12, "max_leaves": 24, "random_state": 0}


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    codes = np.concatenate([exact.cells(DOMAIN), exact.cells(DOMAIN)[rng.integers(0, 30, 600)]])
    return DensityForest(**SMALL).fit(table_of(codes))


@pytest.fixture(scope="module")
def probability(forest):
    return np.exp(forest.score_samples(table_of(exact.cells(DOMAIN)), normalize=False))


def test_densities_of_all_cells_sum_to_one(forest, probability):
    assert probability.sum() == pytest.approx(1, abs=1e-9)
    estimate = forest.density_.log_z()
    assert (estimate.value, estimate.error) == (0, 0)
    every = table_of(exact.cells(DOMAIN))
    np.testing.assert_allclose(forest.score_samples(every), np.log(probability), rtol=1e-9)
    assert forest.score(every) == pytest.approx(np.log(probability).mean())


def test_any_number_of_gaps_is_summed_out_exactly(forest, probability):
    p = probability.reshape(DOMAIN.sizes)
    found = forest.conditional(pd.DataFrame({"a": [2.0, np.nan]}), "d")
    for row, share in zip(found.proba, (p[1].sum(axis=(0, 1)), p.sum(axis=(0, 1, 2))), strict=True):
        np.testing.assert_allclose(row, share / share.sum(), rtol=1e-9)
    assert (found.error == 0).all()
    joint = forest.joint(pd.DataFrame({"b": ["v"]}), ["d", "a"])
    expected = p[:, 1].sum(axis=1).T
    np.testing.assert_allclose(joint.proba[0], expected / expected.sum(), rtol=1e-9)


def test_rows_are_drawn_under_conditions_exactly(forest, probability, seed):
    rows = forest.sample(40_000, where={"a": between(1, 2), "b": "v"}, random_state=seed)
    counts = np.bincount(exact.cell_numbers(DOMAIN, encode(forest.schema_, rows)), minlength=N_CELLS)
    expected = np.zeros(DOMAIN.sizes)
    expected[:2, 1] = probability.reshape(DOMAIN.sizes)[:2, 1]
    assert not contradicted(counts, expected.ravel() / expected.sum())


def test_imputing_and_completing_draw_from_the_forest(forest, probability, seed):
    rows = pd.DataFrame({"a": [2.0], "d": ["mid"]})
    drawn = forest.complete(rows, 20_000, random_state=seed)
    codes = encode(forest.schema_, drawn.assign(a=drawn["a"].astype(int)))
    expected = np.zeros(DOMAIN.sizes)
    expected[1, :, :, 1] = probability.reshape(DOMAIN.sizes)[1, :, :, 1]
    counts = np.bincount(exact.cell_numbers(DOMAIN, codes), minlength=N_CELLS)
    assert not contradicted(counts, expected.ravel() / expected.sum())


@pytest.mark.parametrize(
    "changed",
    [{}, {"criterion": "ise"}, {"splitter": "random"}, {"feature_fraction": 0.5}, {"min_samples_leaf": 5}],
    ids=str,
)
def test_every_kind_of_forest_learns_a_table_and_gives_it_back(changed):
    table = people()
    model = DensityForest(**{**SMALL, "max_leaves": 256, **changed}).fit(table)
    rows = model.sample(500, random_state=1)
    assert rows.dtypes.equals(table.dtypes)
    unseen = people(seed=97)
    uniform = model.score_samples(unseen, n_trees=0)
    scores = model.score_samples(unseen)
    assert scores[np.isfinite(scores)].mean() > uniform.mean() + 0.3
    gappy = unseen.copy()
    gappy.loc[::3, "height"] = np.nan
    assert model.impute(gappy)["height"].notna().all()
    assert (model.predict(unseen, "sex") == unseen["sex"]).mean() > 0.6


def test_parameters_are_checked_and_forests_repeat():
    table = people(300)
    one, two = (DensityForest(**SMALL, n_jobs=n).fit(table) for n in (1, 3))
    assert one.sample(50, random_state=0).equals(two.sample(50, random_state=0))
    assert clone(one).get_params() == one.get_params()
    for wrong in ({"criterion": "gini"}, {"splitter": "worst"}, {"max_leaves": 1}, {"n_trees": 0}, {"bootstrap": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DensityForest(**wrong).fit(table)
    with pytest.raises(DataError, match="a forest has no chains"):
        one.density_.diagnostics()


def test_weights_count_as_copies_do():
    table, rng = people(400), np.random.default_rng(0)
    weight = rng.integers(0, 3, 400)
    plain = {"n_trees": 1, "bootstrap": False, "max_leaves": 64, "random_state": 0}
    weighted = DensityForest(**plain).fit(table, sample_weight=weight)
    copied = DensityForest(**plain).fit(table.loc[table.index.repeat(weight)])
    np.testing.assert_allclose(
        weighted.score_samples(table[:50], normalize=False), copied.score_samples(table[:50], normalize=False)
    )
