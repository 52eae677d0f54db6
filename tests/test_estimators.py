"""NRGBoost as its user meets it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from energyboost import DataError, NRGBoost, ParameterError

SMALL = {"n_trees": 20, "learning_rate": 0.4, "max_leaves": 16, "pool_size": 2000, "random_state": 0}


def people(n=1500, seed=0):
    """A table of every kind of column, with dependence to be learned and gaps."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    height = (rng.normal(170, 7, n) + 8 * (sex == "M")).round(1)
    grade = pd.Categorical(
        np.array(["low", "mid", "high"])[np.clip((height - 155) // 14, 0, 2).astype(int)],
        categories=["low", "mid", "high"],
        ordered=True,
    )
    income = np.where(rng.random(n) < 0.6, 0, rng.integers(1, 5000, n))
    weight = np.where(rng.random(n) < 0.2, np.nan, (height - 100 + rng.normal(0, 5, n)).round())
    return pd.DataFrame(
        {
            "sex": sex,
            "height": height,
            "grade": grade,
            "income": income,
            "weight": weight,
            "member": rng.random(n) < 0.3,
        }
    )


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def model(table):
    return NRGBoost(**SMALL).fit(table)


def test_samples_have_the_columns_dtypes_and_values_of_the_table(model, table):
    rows = model.sample(3000, random_state=1)
    assert list(rows) == list(table)
    assert rows.dtypes.equals(table.dtypes)
    assert set(rows["sex"]) == {"F", "M"}
    assert (rows["height"].round(1) == rows["height"]).all()
    assert abs((rows["income"] == 0).mean() - (table["income"] == 0).mean()) < 0.05
    assert abs(rows["weight"].isna().mean() - 0.2) < 0.05
    assert rows["height"].between(table["height"].min(), table["height"].max()).all()


def test_dependence_is_learned(model, table):
    """Rows drawn from the product of the marginals, which have no such gap, would fail this."""
    rows = model.sample(4000, random_state=2)
    gap = rows.groupby("sex")["height"].mean()
    assert gap["M"] - gap["F"] > 5
    predicted = model.predict(table, "sex")
    assert (predicted == table["sex"]).mean() > 0.65


def test_any_column_can_be_predicted_and_need_not_be_there(model, table):
    for column in table:
        with_it, without = (
            model.predict(table[:20], column),
            model.predict(table[:20].drop(columns=column), column),
        )
        np.testing.assert_array_equal(with_it, without)
    assert set(model.predict(table, "grade")) <= {"low", "mid", "high"}
    assert np.corrcoef(model.predict(table, "height"), table["height"])[0, 1] > 0.6


def test_probabilities_belong_to_the_levels_in_their_order(model, table):
    probability = model.predict_proba(table, "grade")
    assert model.levels("grade").tolist() == ["low", "mid", "high"]
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.levels("grade")[probability.argmax(axis=1)], model.predict(table, "grade"))
    assert model.predict_proba(table, "member").shape == (len(table), 2)


def test_a_binned_number_has_no_level_probabilities(model, table):
    with pytest.raises(DataError, match=r"'income'.*quantile bins.*use conditional"):
        model.predict_proba(table, "income")


def test_staged_predictions_are_the_predictions_of_fewer_trees(model, table):
    stages = [0, 1, 7, model.n_trees_]
    for stage, staged in zip(stages, model.staged_predict(table[:50], "height", stages=stages), strict=True):
        np.testing.assert_allclose(staged, model.predict(table[:50], "height", n_trees=stage), rtol=1e-6)
    every = list(model.staged_predict_proba(table[:50], "sex"))
    assert len(every) == model.n_trees_
    np.testing.assert_allclose(every[-1], model.predict_proba(table[:50], "sex"), atol=1e-6)


def test_no_two_calls_and_no_two_rows_are_copies(table):
    """Even where many more rows are drawn than the pool has, which chains then start at several times."""
    numbers = np.random.default_rng(0).normal(size=(500, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    model = NRGBoost(**{**SMALL, "pool_size": 500}).fit(numbers)
    first, second = model.sample(2000, random_state=0), model.sample(2000, random_state=1)
    both = np.concatenate([first, second])
    assert len(np.unique(both, axis=0)) == len(both)
    # not merely other values inside the same bins: the codes differ too
    codes = np.concatenate(
        [np.digitize(both[:, [j]], np.quantile(numbers[:, j], np.linspace(0, 1, 21))) for j in range(3)], 1
    )
    assert len(np.unique(codes, axis=0)) > 0.6 * min(len(both), 21**3) * 0.5
    again = model.sample(2000, random_state=0)
    np.testing.assert_array_equal(first, again)


def test_rows_without_a_seed_differ_between_calls(model):
    assert not model.sample(50).equals(model.sample(50))


def test_a_generator_is_advanced_by_each_call(model):
    rng = np.random.default_rng(0)
    assert not model.sample(50, random_state=rng).equals(model.sample(50, random_state=rng))


def test_starting_at_the_baseline_leads_to_the_same_distribution(model):
    pool, baseline = model.sample(4000, random_state=0), model.sample(4000, start="baseline", random_state=0)
    assert abs(pool["height"].mean() - baseline["height"].mean()) < 1.0
    gap = baseline.groupby("sex")["height"].mean()
    assert gap["M"] - gap["F"] > 5


def test_a_low_temperature_draws_likelier_rows(model):
    def typical(t):
        return model.score_samples(
            model.sample(500, temperature=t, n_sweeps=30, random_state=0), normalize=False
        ).mean()

    assert typical(0.5) > typical(1.0) > typical(2.0)


def test_log_density_is_that_of_the_bins_spread_over_their_widths(model, table):
    energy, density = model.score_samples(table, normalize=False), model.score_samples(table)
    log_z = model.density_.log_z().value
    height = model.schema_.index_of("height")
    widths = model.schema_.columns[height].codec.widths
    assert np.isfinite(density).all()
    same_bin = table[:1].assign(height=table["height"][0])
    assert model.score_samples(same_bin)[0] == pytest.approx(density[0])
    # in this table only income is cut into bins wider than a level
    income = model.schema_.columns[model.schema_.index_of("income")].codec
    in_bins = income.widths[income.encode(_cells(model, table, "income"))]
    in_height = widths[model.schema_.columns[height].codec.encode(_cells(model, table, "height"))]
    np.testing.assert_allclose(density, energy - log_z - np.log(in_bins) - np.log(in_height), rtol=1e-9)
    assert model.score(table) == pytest.approx(density.mean())


def _cells(model, table, name):
    import narwhals as nw

    from energyboost.tables.frames import read

    return read(name, nw.from_native(table[name], series_only=True))[1]


def test_training_raises_the_likelihood_of_rows_never_seen(model):
    unseen = people(seed=99)
    scores = [model.score_samples(unseen, n_trees=n).mean() for n in (0, 5, model.n_trees_)]
    assert scores[0] < scores[1] < scores[2]


def test_shuffled_rows_are_less_likely(model):
    unseen = people(seed=98)
    shuffled = unseen.assign(height=np.random.default_rng(0).permutation(unseen["height"]))
    assert model.score(shuffled) < model.score(unseen) - 0.2


def test_polars_in_polars_out(table):
    frame = pl.from_pandas(table.drop(columns="grade"))
    rows = NRGBoost(**SMALL).fit(frame).sample(40, random_state=0)
    assert isinstance(rows, pl.DataFrame)
    assert rows.schema == frame.schema


def test_numpy_in_numpy_out():
    array = np.random.default_rng(0).integers(0, 5, (300, 3)).astype(np.int16)
    model = NRGBoost(**SMALL).fit(array)
    rows = model.sample(40, random_state=0)
    assert rows.dtype == np.int16
    assert rows.shape == (40, 3)
    assert model.predict(array[:, :2], "x2").shape == (300,)


def test_more_than_256_levels_work():
    """Codes of two bytes: a target of 400 classes is ordinary."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 400, 4000)
    table = pd.DataFrame({"level": level.astype(str), "half": np.where(level < 200, "a", "b")})
    model = NRGBoost(n_trees=10, max_leaves=32, pool_size=4000, random_state=0).fit(table)
    assert model.predict_proba(table[:5], "level").shape == (5, 400)
    assert (model.predict(table, "half") == table["half"]).mean() > 0.9


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_nothing(table, n_jobs):
    one, many = NRGBoost(**SMALL, n_jobs=1).fit(table), NRGBoost(**SMALL, n_jobs=n_jobs).fit(table)
    assert one.history_ == many.history_
    assert one.density_.model.pool.tobytes() == many.density_.model.pool.tobytes()
    assert one.density_.model.chains.tobytes() == many.density_.model.chains.tobytes()
    assert one.sample(500, random_state=0).equals(many.sample(500, random_state=0))
    assert one.score_samples(table).tobytes() == many.score_samples(table).tobytes()
    assert one.predict(table, "height").tobytes() == many.predict(table, "height").tobytes()


def test_independent_columns_need_no_model_beyond_the_baseline():
    rows = np.random.default_rng(0).integers(0, 2, (50, 2))
    with pytest.warns(UserWarning, match="no split was allowed"):
        model = NRGBoost(n_trees=3, max_leaves=2, min_samples_leaf=10**6, random_state=0).fit(rows)
    assert model.n_trees_ == 0
    assert model.sample(10, random_state=0).shape == (10, 2)
    assert np.exp(model.score_samples(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))).sum() == pytest.approx(1)


def test_constant_and_all_missing_columns_come_back(table):
    odd = table[["sex", "height"]].assign(one=1.0, none=np.nan)
    rows = NRGBoost(**SMALL).fit(odd).sample(20, random_state=0)
    assert (rows["one"] == 1).all()
    assert rows["none"].isna().all()


def test_what_is_asked_for_single_columns_reaches_the_model(table):
    odd = table[["sex", "height"]].assign(key=range(len(table)), kind=table.index % 3, note=b"")
    model = clone(NRGBoost(**SMALL, ids=["key"], schema={"kind": "category", "note": "drop"})).fit(odd)
    rows = model.sample(3, random_state=0)
    assert list(rows) == ["sex", "height", "key", "kind"]
    assert rows["key"].tolist() == [len(table), len(table) + 1, len(table) + 2]
    assert model.predict_proba(odd[:5], "kind").shape == (5, 3)
    assert model.levels("kind").tolist() == [0, 1, 2]
    with pytest.warns(UserWarning, match="column 'extra', which was not there in training") as caught:
        guesses = model.predict(odd[:5].assign(extra=1), "kind")
    assert [warning.filename for warning in caught] == [__file__]
    assert guesses.tolist() == model.predict(odd[["sex", "height"]][:5], "kind").tolist()


def test_a_fitted_model_clones_and_pickles(model, table):
    assert not hasattr(clone(model), "density_")
    assert pickle.loads(pickle.dumps(model)).sample(20, random_state=3).equals(model.sample(20, random_state=3))


def test_repr_and_schema_tell_what_was_decided(model):
    assert "n_trees=20" in repr(model)
    assert "height" in str(model.schema_)
    assert "one level each" in str(model.schema_)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("rows.csv", "a table is a pandas, polars or pyarrow frame or a 2-D numpy array, not builtins.str: read"),
        (np.zeros(5), "this array has 1. Reshape your data to"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), "1 row, all alike"),
        (pd.DataFrame({"a": [1, 1, 1]}), "3 rows, all alike.*2 distinct rows"),
        (pd.DataFrame({"a": [1.0, np.inf, 2.0]}), "'a'.*row 1"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "more than one column is called 'a'"),
        (pd.DataFrame({"a": [1 + 2j, 3j]}), "'a' has dtype complex128, which is not supported"),
        (pd.DataFrame({"a": [np.nan, np.nan], "b": [None, None]}), "2 rows, all alike"),
    ],
)
def test_a_table_that_cannot_be_learned_is_refused_with_what_and_where(bad, message):
    with pytest.raises(DataError, match=message):
        NRGBoost(**SMALL).fit(bad)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (5, "stages is a list of numbers of trees; got 5"),
        ([99], "each of stages is a whole number from 0 to 20; got 99"),
        ([3, 2], r"never fall; got \[3, 2\]"),
    ],
)
def test_stages_are_checked_when_they_are_given(model, table, stages, message):
    """Not only when the first prediction is taken."""
    with pytest.raises(ParameterError, match=message):
        model.staged_predict(table, "height", stages=stages)
    with pytest.raises(DataError, match="unknown column 'nope'"):
        model.staged_predict(table, "nope")


def test_a_second_fit_leaves_nothing_of_the_first(table):
    model = NRGBoost(**SMALL).fit(table)
    assert model.feature_names_in_.tolist() == list(table)
    model.set_params(n_trees=3).fit(table.set_axis(range(table.shape[1]), axis=1))
    assert not hasattr(model, "feature_names_in_")
    assert len(model.history_) == model.n_trees_ == 3


def test_a_fit_that_ends_early_says_so():
    rows = np.random.default_rng(0).integers(0, 2, (60, 2))
    with pytest.warns(UserWarning, match=r"ended after \d+ of 100 trees: then no split was allowed any more"):
        NRGBoost(n_trees=100, max_ratio=1.01, pool_size=500, random_state=0).fit(rows)


def test_no_rows_have_no_mean_density(model, table):
    assert model.score_samples(table[:0]).shape == (0,)
    with pytest.raises(DataError, match="no rows"):
        model.score(table[:0])


def test_following_the_remedy_of_a_refusal_helps(model, table):
    """Cells that a query may not have become what the message says they may be."""
    unseen = table[:4].assign(sex="X")
    with pytest.raises(DataError, match="map it to one of them, or fit on a table that has it"):
        model.predict(unseen, "height")
    assert model.predict(unseen.assign(sex="F"), "height").shape == (4,)
    gap = NRGBoost(**SMALL).fit(table[["height"]].assign(sex=table["sex"].mask(table.index % 7 == 0)))
    with pytest.raises(DataError, match="map it to one of them, make it missing, or fit"):
        gap.predict(unseen[["sex"]], "height")
    assert gap.predict(unseen[["sex"]].assign(sex=None), "height").shape == (4,)


def test_an_unknown_target_is_named_with_the_columns_there_are(model, table):
    with pytest.raises(DataError, match=r"unknown column 'hight'.*'height'"):
        model.predict(table, "hight")


def test_a_gap_where_training_had_none_is_named(model, table):
    gap = table[:5].copy()
    gap.loc[3, "height"] = np.nan
    with pytest.raises(DataError, match=r"'height', row 3"):
        model.score_samples(gap)
    assert model.predict(gap, "sex").tolist()[:3] == model.predict(table[:3], "sex").tolist()  # not known: summed out


def test_nothing_can_be_asked_before_fitting():
    with pytest.raises(NotFittedError):
        NRGBoost().sample(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n is a whole number.*got -1"),
        ({"n": 2.5}, "got 2.5"),
        ({"n_sweeps": 0}, "n_sweeps is a whole number of at least 1"),
        ({"start": "data"}, "start is one of 'pool', 'baseline'; got 'data'"),
        ({"start": ["pool"]}, r"start is one of .*; got \['pool'\]"),
        ({"temperature": 0}, "temperature is a number above 0; got 0"),
        ({"n_trees": 99}, "n_trees is a whole number from 0 to 20; got 99"),
        ({"random_state": -3}, "random_state"),
    ],
)
def test_nonsense_in_sampling_is_refused(model, arguments, message):
    with pytest.raises(ParameterError, match=message):
        model.sample(**arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trees", 0),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("max_leaves", 1),
        ("max_leaves", 16_385),
        ("max_ratio", 1.0),
        ("min_samples_leaf", -1),
        ("feature_fraction", 0.0),
        ("feature_fraction", 1.5),
        ("growth", "depth"),
        ("line_search", "yes"),
        ("uniform_mix", -0.1),
        ("uniform_mix", 2),
        ("pool_size", "big"),
        ("pool_size", 3),
        ("refresh", 1.5),
        ("n_chains", 0),
        ("refill", "data"),
        ("burn_in", -1),
        ("max_bins", 1),
        ("n_jobs", 0),
        ("verbose", "no"),
        ("random_state", "seed"),
    ],
)
def test_nonsense_parameters_are_refused_by_name(name, value):
    table = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ParameterError, match=name):
        NRGBoost(**{**SMALL, name: value}).fit(table)


@pytest.mark.parametrize(
    "changed",
    [
        {"growth": "breadth_first"},
        {"feature_fraction": 0.5},
        {"refill": "restart"},
        {"line_search": False},
        {"uniform_mix": 1.0},
        {"refresh": 0.0},
        {"refresh": 1.0},
        {"n_chains": 1},
        {"min_samples_leaf": 20},
        {"max_leaves": 4},
    ],
)
def test_every_way_to_train_learns(table, changed):
    model = NRGBoost(**{**SMALL, **changed}).fit(table)
    unseen = people(seed=97)
    assert model.score(unseen) > model.score_samples(unseen, n_trees=0).mean() + 0.02


def test_pairs_may_be_chosen(table):
    model = NRGBoost(**SMALL, pairs=[("sex", "height")]).fit(table)
    assert [pair["columns"] for pair in model.pairs_] == [tuple(c for c in table.columns if c in ("sex", "height"))]
    assert len(model.density_.model.moves.pairs) == 1
    assert NRGBoost(**SMALL, pairs=[]).fit(table).pairs_ == []
    other = NRGBoost(**SMALL, pairs=[]).fit(table)
    assert np.array_equal(other.density_.model.pool, model.density_.model.pool)  # training draws single columns
    assert not other.sample(50, random_state=0).equals(model.sample(50, random_state=0))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("all", "pairs is \"auto\" or a list of pairs of column names; got 'all'"),
        (3, 'pairs is "auto" or a list of pairs of column names; got 3'),
        (["sex"], r"each of pairs is two column names, such as .*; got 'sex'"),
        ([("sex",)], r"each of pairs is two column names, such as .*; got \('sex',\)"),
        ([("sex", "sex")], r"each of pairs is two different columns; got \('sex', 'sex'\)"),
        ([("sex", "hight")], "unknown column 'hight'"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(table, pairs, message):
    with pytest.raises(ValueError, match=message):
        NRGBoost(**SMALL, pairs=pairs).fit(table)
