"""The classifier, the regressor, the imputer and the detector as their users meet them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from energyboost import (
    DataError,
    NRGBoost,
    NRGBoostClassifier,
    NRGBoostDetector,
    NRGBoostImputer,
    NRGBoostRegressor,
    ParameterError,
)

SMALL = {"n_trees": 20, "learning_rate": 0.5, "max_leaves": 16, "pool_size": 1000, "n_jobs": 1, "random_state": 0}
FACES = [NRGBoost, NRGBoostClassifier, NRGBoostRegressor, NRGBoostImputer, NRGBoostDetector]


def shells(n=600, seed=0):
    """Length decides the class of four in five rows, and the weight but for noise; gaps in the colour."""
    rng = np.random.default_rng(seed)
    length = rng.integers(0, 30, n)
    kind = np.array(["a", "b", "c"])[length // 10]
    kind = np.where(rng.random(n) < 0.2, rng.choice(["a", "b", "c"], n), kind)
    colour = np.where(rng.random(n) < 0.2, None, np.where(kind == "a", "red", "blue")).astype(object)
    weight = length * 2.0 + rng.normal(0, 2, n).round(1)
    return pd.DataFrame({"length": length, "colour": colour, "kind": kind, "weight": weight})


TABLE, NEW = shells(), shells(200, 1)
X, NEW_X = TABLE[["length", "colour"]], NEW[["length", "colour"]]


def bytes_of(density):
    """All that a density holds."""
    model = density.model
    trees = [(t.leaf_value.tobytes(), t.column.tobytes()) for t in model.energy.trees]
    moves = model.moves
    return density.schema, trees, model.pool.tobytes(), model.chains.tobytes(), model.energy.log_z, moves


# --- targets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [object, "str", "category", "U1"])
def test_classes_of_any_kind_are_predicted_in_their_order(dtype):
    y = TABLE["kind"].to_numpy().astype("U1") if dtype == "U1" else TABLE["kind"].astype(dtype)
    model = NRGBoostClassifier(**SMALL).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    probability = model.predict_proba(NEW_X)
    assert probability.shape == (200, 3)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(NEW_X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(NEW_X)), probability)
    assert model.score(NEW_X, NEW["kind"]) > 0.75  # 0.87 at best, 0.33 by chance


@pytest.mark.parametrize(
    "labels", [np.array([7, -2, 3]), np.array([7, -2, 3], np.int16), np.array([1.0, -1.0, 2.0]), np.array([8, 9, 10])]
)
def test_numbers_are_classes_of_their_dtype(labels):
    y = labels[np.searchsorted(["a", "b", "c"], TABLE["kind"])]
    model = NRGBoostClassifier(**SMALL).fit(X, y)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == model.predict(NEW_X).dtype == labels.dtype
    assert type(model.schema_.columns[-1].codec).__name__ == "NumberCategories"
    assert model.score(NEW_X, labels[np.searchsorted(["a", "b", "c"], NEW["kind"])]) > 0.75


def test_true_and_false_are_classes():
    model = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"] == "a")
    assert model.classes_.tolist() == [False, True]
    assert model.score(NEW_X, NEW["kind"] == "a") > 0.8


def test_nullable_labels_are_classes_of_their_kind():
    whole = NRGBoostClassifier(**SMALL).fit(X, pd.Series(np.arange(600) % 3, dtype="Int64"))
    assert (whole.classes_.tolist(), whole.classes_.dtype) == ([0, 1, 2], np.int64)
    assert NRGBoostClassifier(**SMALL).fit(X, (TABLE["kind"] == "a").astype("boolean")).classes_.dtype == bool


def test_levels_in_an_order_of_their_own_are_classes_in_sorted_order():
    """Probabilities follow the classes, not the levels."""
    size = pd.Categorical(TABLE["kind"], categories=["c", "a", "b"], ordered=True)
    model = NRGBoost(**SMALL).fit(X.assign(size=size))
    assert model.levels("size").tolist() == ["c", "a", "b"]
    classifier = NRGBoostClassifier.from_fitted(model, "size")
    assert classifier.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(classifier.predict_proba(NEW_X), model.predict_proba(NEW_X, "size")[:, [1, 2, 0]])


def test_a_target_keeps_its_name_where_that_is_free():
    fits = NRGBoostClassifier(**{**SMALL, "n_trees": 2}), X
    assert fits[0].fit(X, TABLE["kind"]).target_ == "kind"
    assert fits[0].fit(X, TABLE["kind"].rename("colour")).target_ == "target"
    assert fits[0].fit(X, TABLE["kind"].to_numpy()).target_ == "target"
    assert fits[0].fit(X.rename(columns={"length": "target"}), TABLE["kind"].to_list()).target_ == "target_"
    assert fits[0].fit(X, TABLE["kind"]).feature_names_in_.tolist() == ["length", "colour"]
    assert fits[0].n_features_in_ == 2
    assert list(fits[0].density_.sample(3)) == ["length", "colour", "kind"]


def test_an_array_and_a_target_of_another_dtype_stay_as_they_are():
    array = TABLE[["length"]].to_numpy(np.int16)
    model = NRGBoostClassifier(**SMALL).fit(array, TABLE["kind"].to_numpy("U1"))
    assert [str(column.type) for column in model.schema_.columns] == ["int16", "<U1"]
    assert model.predict([[3], [25]]).tolist() == ["a", "c"]
    rows = model.density_.sample(50, random_state=0)
    assert rows.dtype == object
    assert set(rows[:, 1]) <= set("abc")
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_library_give_the_same_answers(library):
    frame, new = (
        {"pandas": part, "polars": pl.from_pandas(part), "pyarrow": pa.Table.from_pandas(part)}[library]
        for part in (X, NEW_X)
    )
    kind = pl.Series("kind", TABLE["kind"].to_list()) if library == "polars" else TABLE["kind"]
    classifier = NRGBoostClassifier(**SMALL).fit(frame, kind)
    assert classifier.target_ == "kind"
    plain = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"])
    np.testing.assert_array_equal(classifier.predict_proba(new), plain.predict_proba(NEW_X))
    assert type(classifier.density_.sample(5)) is type(frame)
    assert NRGBoostRegressor(**SMALL).fit(frame, TABLE["weight"]).score(new, NEW["weight"]) > 0.9


def test_columns_named_by_numbers_are_named_so():
    numbered = TABLE.set_axis(range(4), axis=1)
    model = NRGBoostClassifier(**SMALL).fit(numbered[[0, 1]], numbered[2])
    assert model.target_ == 2
    assert model.density_.sample(3).columns.tolist() == [0, 1, 2]
    assert NRGBoostClassifier(**SMALL).fit(numbered[[0]], TABLE["kind"]).density_.sample(3).columns.tolist() == [
        0,
        "kind",
    ]


def test_schema_and_ids_stand_beside_the_target():
    table = X.assign(key=np.arange(600))
    model = NRGBoostClassifier(**SMALL, schema={"length": {"codec": "QuantileBins", "bins": 8}}, ids=["key"])
    model.fit(table, TABLE["kind"])
    assert [type(column.codec).__name__ for column in model.schema_.columns] == [
        "QuantileBins",
        "Categories",
        "Categories",
    ]
    assert model.n_features_in_ == 3
    assert model.score(NEW_X.assign(key=0), NEW["kind"]) > 0.7
    with pytest.raises(ParameterError, match="target of a classifier and always a category: take it out"):
        NRGBoostClassifier(**SMALL, schema={"kind": {"ordered": True}}).fit(X, TABLE["kind"])
    with pytest.raises(ParameterError, match="schema is a dict"):
        NRGBoostClassifier(**SMALL, schema=3).fit(X, TABLE["kind"])


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ParameterError, "requires y to be passed, but the target y is None"),
        (TABLE["kind"][:9], DataError, "X has 600 rows and y has 9: give a target for each row"),
        (TABLE["kind"].where(TABLE.index != 4, None), DataError, "y is missing in row 4: leave such rows out"),
        (np.random.default_rng(0).random(600), ValueError, "Unknown label type: continuous"),
    ],
)
def test_targets_that_cannot_be_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        NRGBoostClassifier(**SMALL).fit(X, y)


def test_words_and_dates_are_no_numbers():
    with pytest.raises(DataError, match=r"y has dtype datetime64.*from_fitted on it"):
        NRGBoostRegressor(**SMALL).fit(X, pd.Series(pd.date_range("2020-01-01", periods=600)))
    with pytest.raises(DataError, match="'weight' holds labels"):
        NRGBoostRegressor(**SMALL, schema={"weight": "category"}).fit(X, TABLE["weight"].round(-1))
    with pytest.raises(ValueError, match="could not convert string to float"):
        NRGBoostRegressor(**SMALL).fit(X, TABLE["kind"])


# --- predictions ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regressor():
    return NRGBoostRegressor(**SMALL).fit(X, TABLE["weight"])


def test_a_regressor_predicts_means_medians_and_quantiles(regressor):
    assert regressor.score(NEW_X, NEW["weight"]) > 0.95
    distribution = regressor.predict_distribution(NEW_X)
    np.testing.assert_allclose(regressor.predict(NEW_X), distribution.mean(), rtol=1e-6)
    np.testing.assert_array_equal(regressor.predict(NEW_X, kind="median"), distribution.median())
    np.testing.assert_array_equal(regressor.predict(NEW_X, kind=0.9), distribution.quantile(0.9))
    inside = (NEW["weight"] <= regressor.predict(NEW_X, kind=0.9)).mean()
    assert 0.8 < inside < 0.98


def test_a_distribution_scores_better_than_a_guess_and_than_that_of_other_rows(regressor):
    """A point's continuous ranked probability score is its absolute error."""
    crps = regressor.predict_distribution(NEW_X).crps(NEW["weight"])
    assert crps.shape == (200,)
    assert crps.mean() < abs(regressor.predict(NEW_X) - NEW["weight"]).mean()
    assert crps.mean() < 0.3 * regressor.predict_distribution(NEW_X[::-1]).crps(NEW["weight"]).mean()


def test_gaps_lacking_columns_and_unseen_labels_are_summed_out(regressor):
    rows = pd.DataFrame({"length": [3.0, np.nan], "colour": ["red", "red"]})
    lacking = regressor.predict(pd.DataFrame({"length": [3.0]}))
    unseen = regressor.predict(pd.DataFrame({"length": [3.0], "colour": ["green"]}))
    np.testing.assert_array_equal(lacking, unseen)
    low, red = regressor.predict(rows)
    assert low < 9 < red < 25  # red shells are short ones
    classifier = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"])
    assert classifier.predict(pd.DataFrame({"length": [25], "colour": ["green"]})).tolist() == ["c"]


def test_an_array_of_another_width_is_refused_with_what_was_expected(regressor):
    model = NRGBoostRegressor(**SMALL).fit(X[["length"]].to_numpy(), TABLE["weight"])
    with pytest.raises(DataError, match=r"X has 2 features, but NRGBoostRegressor is expecting 1 features as input"):
        model.predict(np.zeros((3, 2)))


# --- filling gaps ---------------------------------------------------------------------------------------------------


def gappy():
    rng = np.random.default_rng(3)
    return NEW.assign(
        weight=NEW["weight"].where(rng.random(200) > 0.3), kind=NEW["kind"].where(rng.random(200) > 0.3, None)
    )


@pytest.mark.parametrize("kind", ["mean", "median", "mode", "sample"])
def test_an_imputer_fills_what_is_missing_and_nothing_else(kind):
    imputer = NRGBoostImputer(**SMALL, kind=kind).fit(TABLE)
    rows = gappy()
    full = imputer.transform(rows)
    assert full.notna().all().all()
    for name in rows:
        known = rows[name].notna()
        assert full[name][known].tolist() == rows[name][known].tolist()
    gaps = rows["weight"].isna()
    assert np.corrcoef(full["weight"][gaps], NEW["weight"][gaps])[0, 1] > 0.8
    expected = imputer.density_.impute(rows, kind=kind, random_state=0)
    pd.testing.assert_frame_equal(full, expected)


def test_an_imputer_gives_back_arrays_and_the_frames_it_is_asked_for():
    array = TABLE[["length", "weight"]].to_numpy()
    array[::5, 1] = np.nan
    imputer = NRGBoostImputer(**SMALL)
    full = imputer.fit_transform(array)
    assert isinstance(full, np.ndarray)
    assert np.isfinite(full).all()
    assert imputer.get_feature_names_out().tolist() == ["x0", "x1"]
    polars = imputer.set_output(transform="polars").transform(array)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["x0", "x1"]
    frame = NRGBoostImputer(**SMALL).fit(TABLE).set_output(transform="pandas").transform(gappy())
    assert frame.columns.tolist() == list(TABLE)
    assert isinstance(NRGBoostImputer(**SMALL).fit(pl.from_pandas(TABLE)).transform(pl.from_pandas(NEW)), pl.DataFrame)


def test_columns_come_back_in_the_order_of_fit():
    """Names that scikit-learn sets are those of fit: under them must stand the cells that belong to them."""
    imputer = NRGBoostImputer(**SMALL).fit(TABLE).set_output(transform="pandas")
    turned = imputer.transform(gappy()[["weight", "kind", "colour", "length"]])
    pd.testing.assert_frame_equal(turned, imputer.transform(gappy()))
    assert turned["length"].tolist() == NEW["length"].tolist()
    lacking = imputer.transform(NEW[["kind", "length", "colour"]])
    assert lacking.columns.tolist() == list(TABLE)


def test_an_unknown_way_to_fill_is_refused():
    with pytest.raises(ParameterError, match="kind is one of 'mean', 'median', 'mode', 'sample'; got 'best'"):
        NRGBoostImputer(**SMALL, kind="best").fit(TABLE)


# --- outliers -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def detector():
    return NRGBoostDetector(**SMALL, contamination=0.05).fit(TABLE)


def test_a_detector_tells_odd_rows_from_others(detector):
    score, side = detector.score_samples(TABLE), detector.predict(TABLE)
    assert (side == -1).sum() == 30
    assert score[side == -1].max() < detector.offset_ <= score[side == 1].min()
    np.testing.assert_array_equal(detector.decision_function(TABLE) < 0, side == -1)
    odd = NEW.assign(weight=60.0 - NEW["weight"].clip(0, 60))
    assert (detector.predict(odd) == -1).mean() > 0.5 > 0.2 > (detector.predict(NEW) == -1).mean()
    np.testing.assert_array_equal(clone(detector).fit_predict(TABLE), side)
    np.testing.assert_array_equal(score, detector.density_.score_samples(TABLE, normalize=False))


@pytest.mark.parametrize("contamination", [0, 0.6, "auto"])
def test_a_share_of_outliers_that_cannot_be_is_refused(contamination):
    with pytest.raises(ParameterError, match=r"contamination is a number above 0 and at most 0.5"):
        NRGBoostDetector(**SMALL, contamination=contamination).fit(TABLE)


# --- without fitting again ------------------------------------------------------------------------------------------


def test_every_face_can_be_put_on_a_fitted_model(detector):
    model = NRGBoost(**SMALL).fit(TABLE)
    classifier = NRGBoostClassifier.from_fitted(model, target="kind")
    regressor = NRGBoostRegressor.from_fitted(model, target="weight")
    imputer = NRGBoostImputer.from_fitted(model, kind="median")
    found = NRGBoostDetector.from_fitted(model, TABLE, contamination=0.05)
    for face in (classifier, regressor, imputer, found):
        assert face.density_ is model.density_
        assert face.history_ == model.history_
        assert face.get_params().items() >= SMALL.items()
        assert clone(face).get_params() == face.get_params()
    features = NEW[["length", "colour", "weight"]]
    assert classifier.feature_names_in_.tolist() == ["length", "colour", "weight"]
    np.testing.assert_array_equal(classifier.predict(features), model.predict(features, "kind"))
    np.testing.assert_array_equal(regressor.predict(NEW), model.predict(NEW, "weight"))
    pd.testing.assert_frame_equal(imputer.transform(gappy()), model.impute(gappy(), kind="median"))
    assert found.offset_ == detector.offset_
    own = NRGBoostDetector.from_fitted(model, contamination=0.05)
    assert (own.predict(model.sample(5000, random_state=1)) == -1).mean() == pytest.approx(0.05, abs=0.02)


def test_a_face_that_does_not_fit_the_column_says_which_does():
    model = NRGBoost(**SMALL).fit(TABLE)
    with pytest.raises(DataError, match=r"'length' is a number .*NRGBoost\(schema=\{'length': 'category'\}\)"):
        NRGBoostClassifier.from_fitted(model, "length")
    with pytest.raises(DataError, match=r"'kind' holds labels .*take NRGBoostClassifier"):
        NRGBoostRegressor.from_fitted(model, "kind")
    with pytest.raises(DataError, match=r"unknown column 'knid'.*did you mean 'kind'"):
        NRGBoostClassifier.from_fitted(model, "knid")
    with pytest.raises(ParameterError, match="from_fitted takes a fitted NRGBoost; got dict"):
        NRGBoostImputer.from_fitted({})
    with pytest.raises(NotFittedError):
        NRGBoostImputer.from_fitted(NRGBoost())
    follows = NRGBoost(**SMALL, schema={"length": "category"}).fit(TABLE)
    assert NRGBoostClassifier.from_fitted(follows, "length").classes_.tolist() == list(range(30))


def test_dates_are_predicted_by_a_regressor_put_on_a_model_of_them():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(TABLE["length"], "D")
    regressor = NRGBoostRegressor.from_fitted(NRGBoost(**SMALL).fit(X.assign(day=days)), "day")
    found = regressor.predict(NEW_X)
    assert found.dtype.kind == "M"
    late = (found - np.datetime64("2024-01-01")) / np.timedelta64(1, "D")
    assert abs(late - NEW["length"]).mean() < 3  # 7.5 for their mean


def test_a_column_of_an_array_may_be_asked_for_by_its_place():
    array = TABLE[["length", "weight"]].to_numpy()
    model = NRGBoost(**SMALL).fit(array)
    regressor = NRGBoostRegressor.from_fitted(model, 0)
    assert regressor.n_features_in_ == 1
    np.testing.assert_array_equal(regressor.predict(array[:9, 1:]), model.predict(array[:9], "x0"))
    np.testing.assert_array_equal(model.predict(array[:9]), model.predict(array[:9], "x1"))  # the last unless told


# --- weights --------------------------------------------------------------------------------------------------------

BINS = {"length": {"codec": "QuantileBins", "bins": 8}, "colour": {"levels": 1}}


@pytest.mark.parametrize("changed", [{}, {"refill": "restart", "burn_in": 2}, {"schema": BINS}], ids=str)
@pytest.mark.parametrize("face", FACES)
def test_a_weight_of_k_is_k_rows_and_none_is_no_row(face, changed):
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 3, len(TABLE)) * np.where(TABLE["colour"] == "red", 5, 1)  # then it is the first colour
    rows = TABLE if face in (NRGBoost, NRGBoostImputer, NRGBoostDetector) else X
    y = {NRGBoostClassifier: TABLE["kind"], NRGBoostRegressor: TABLE["weight"].round()}.get(face)
    rows = rows.drop(columns="weight", errors="ignore")
    repeated = np.repeat(np.arange(len(rows)), weight)
    heavy = face(**{**SMALL, **changed}).fit(rows, y, sample_weight=weight)
    many = face(**{**SMALL, **changed}).fit(rows.iloc[repeated], None if y is None else y.iloc[repeated])
    assert bytes_of(heavy.density_) == bytes_of(many.density_)
    assert heavy.pairs_ == many.pairs_
    assert getattr(heavy, "offset_", None) == getattr(many, "offset_", None)
    plain = face(**{**SMALL, **changed}).fit(rows, y)
    assert bytes_of(heavy.density_) != bytes_of(plain.density_)


@pytest.mark.parametrize("face", [NRGBoost, NRGBoostDetector])
def test_rows_in_another_order_are_the_same_table(face):
    one, other = face(**SMALL).fit(TABLE), face(**SMALL).fit(TABLE[::-1])
    assert bytes_of(one.density_) == bytes_of(other.density_)


def test_weights_of_any_unit_move_the_model():
    weight = np.where(TABLE["kind"] == "a", 0.001, 0.1)
    model = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"], sample_weight=weight)
    plain = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"])
    assert model.predict_proba(NEW_X)[:, 0].mean() < 0.5 * plain.predict_proba(NEW_X)[:, 0].mean()


def test_a_class_of_no_weight_is_no_class():
    weight = (TABLE["kind"] != "b").astype(float)
    model = NRGBoostClassifier(**SMALL).fit(X, TABLE["kind"], sample_weight=weight)
    assert model.classes_.tolist() == ["a", "c"]
    assert model.predict_proba(NEW_X).shape == (200, 2)
    # nor does a detector look at rows that it was told to leave out
    assert NRGBoostDetector(**SMALL).fit(TABLE, sample_weight=weight).offset_ < 0


# --- with the rest of scikit-learn ----------------------------------------------------------------------------------


def test_steps_of_a_pipeline():
    columns = ["length", "weight"]
    rows = TABLE[columns].astype(float).mask(np.random.default_rng(0).random((600, 2)) < 0.1)
    pipeline = make_pipeline(NRGBoostImputer(**SMALL), StandardScaler(), NRGBoostClassifier(**SMALL))
    pipeline.fit(rows, TABLE["kind"])
    assert pipeline.score(NEW[columns], NEW["kind"]) > 0.75
    pipeline.set_output(transform="pandas").fit(rows, TABLE["kind"])
    assert pipeline[-1].feature_names_in_.tolist() == columns
    numbers = FunctionTransformer(lambda rows: rows[make_column_selector(dtype_include="number")(rows)])
    assert make_pipeline(numbers, NRGBoostDetector(**SMALL)).fit_predict(TABLE).min() == -1


def test_a_search_over_parameters_own_and_inherited():
    search = GridSearchCV(
        NRGBoostClassifier(**{**SMALL, "n_trees": 8}), {"max_leaves": [2, 16], "max_ratio": [2.0]}, cv=2
    )
    search.fit(X[["length"]], TABLE["kind"] == "b", sample_weight=np.ones(600))
    assert search.best_params_["max_leaves"] == 16
    assert search.best_score_ > 0.75
    steps = make_pipeline(NRGBoostImputer(**SMALL), NRGBoostRegressor(**SMALL))
    filled = GridSearchCV(steps, {"nrgboostimputer__kind": ["mean", "mode"]}, cv=2).fit(X, TABLE["weight"])
    assert filled.best_score_ > 0.9


def test_cross_validation_scores_every_face():
    assert cross_val_score(NRGBoostClassifier(**SMALL), X, TABLE["kind"], cv=2).min() > 0.7
    assert cross_val_score(NRGBoostRegressor(**SMALL), X, TABLE["weight"], cv=2).min() > 0.9
    assert cross_val_score(NRGBoostClassifier(**SMALL), X, TABLE["kind"], cv=2, scoring="neg_log_loss").min() > -0.8


@pytest.mark.parametrize("face", FACES)
def test_parameters_are_set_cloned_and_shown(face):
    estimator = face(7, 0.3, max_ratio=3.0)
    assert estimator.get_params()["n_trees"] == 7
    assert estimator.set_params(burn_in=5).burn_in == 5
    assert clone(estimator).get_params() == estimator.get_params()
    assert set(face().get_params()) >= set(NRGBoost().get_params())
    assert "n_trees=7" in repr(estimator)
    with pytest.raises(TypeError, match="n_tree"):
        face(n_tree=7)


@pytest.mark.parametrize("face", [NRGBoostImputer(kind="mode"), NRGBoostDetector(contamination=0.2)], ids=str)
def test_parameters_of_one_estimator_are_among_the_others(face):
    assert {"kind", "contamination"} & set(face.get_params()) == set(repr_of(face))
    copy = pickle.loads(pickle.dumps(clone(face)))
    assert copy.get_params() == face.get_params()


def repr_of(face):
    return {name for name in ("kind", "contamination") if f"{name}=" in repr(face)}


def test_sparse_tables_are_refused_with_the_remedy():
    for estimator in FACES:
        with pytest.raises(TypeError, match=r"Sparse data was passed, but dense data is required.*X\.toarray\(\)"):
            estimator(**SMALL).fit(csr_array(np.eye(3)), np.arange(3))


def test_rows_in_lists_are_a_table():
    rows, kinds = X[["length"]].to_numpy().tolist(), TABLE["kind"].to_list()
    assert NRGBoostClassifier(**SMALL).fit(rows, kinds).predict([[5]]).tolist() == ["a"]
    assert NRGBoost(**SMALL).fit(TABLE[["length", "weight"]].to_numpy().tolist()).predict([[5, 0]]).shape == (1,)
