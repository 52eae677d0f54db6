"""Pictures show the numbers that they return."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

from energyboost import NRGBoost, plots
from energyboost.errors import DataError, ParameterError
from energyboost.plots import importance, learning_curve, marginals, pairs
from energyboost.plots.fits import _add_gains

REAL = pd.DataFrame(
    {
        "size": [1.5, 2.5, np.nan, 4.5],
        "born": pd.to_datetime(["2020-01-01", "2021-01-01", None, "2022-01-01"]),
        "city": ["Rome", None, "Oslo", "Rome"],
        "lasts": pd.to_timedelta([1, 2, 3, None], unit="min"),
        "member": [True, False, True, True],
        "rooms": [2, 3, 3, 9],
    }
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 1500
    size = rng.gamma(3, 20, n).round(1)
    return pd.DataFrame(
        {
            "size": size,
            "price": np.where(rng.random(n) < 0.4, 0, (size * 3 + rng.normal(0, 10, n)).round(2)),
            "kind": np.where(size > 60, "large", np.where(size > 30, "middling", "small")),
            "day": np.datetime64("2024-01-01") + (size * 3).astype(int).astype("m8[D]"),
            "rooms": np.clip(size // 15, 1, 6).astype(int),
            "noise": rng.normal(size=n).round(2),
        }
    )


@pytest.fixture(scope="module")
def model(table):
    return NRGBoost(n_trees=25, max_leaves=16, max_bins=32, random_state=0).fit(table[:1000])


# --- two tables, column by column -----------------------------------------------------------------------------------


def test_shares_are_of_known_cells_in_bins_and_of_all_cells_in_labels():
    columns = marginals(REAL, REAL[:2], n_bins=3).columns
    assert list(columns) == list(REAL)
    np.testing.assert_allclose(columns["size"].at, [1.5, 2.5, 3.5, 4.5])
    np.testing.assert_allclose(columns["size"].real, [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(columns["size"].synthetic, [1 / 2, 1 / 2, 0])
    assert columns["size"].missing == (0.25, 0)
    assert columns["city"].at.tolist() == ["Oslo", "Rome", None]
    np.testing.assert_allclose(columns["city"].real, [1 / 4, 1 / 2, 1 / 4])
    assert columns["member"].at.tolist() == [False, True]


def test_whole_numbers_get_bins_of_equally_many_of_them():
    rooms = marginals(REAL, REAL, columns=["rooms"], n_bins=4).columns["rooms"]
    np.testing.assert_allclose(rooms.at, [1.5, 3.5, 5.5, 7.5, 9.5])
    np.testing.assert_allclose(rooms.real, [0.75, 0, 0, 0.25])


def test_any_frame_library_will_do():
    expected, found = marginals(REAL, REAL).columns, marginals(pl.from_pandas(REAL), REAL).columns
    for name in REAL:
        np.testing.assert_allclose(found[name].real, expected[name].real)


def test_labels_keep_their_declared_order_and_rare_ones_are_one():
    sizes = pd.DataFrame({"size": pd.Categorical(["hi", "lo", "hi"], categories=["lo", "hi"], ordered=True)})
    assert marginals(sizes, sizes).columns["size"].at.tolist() == ["lo", "hi"]
    many = pd.DataFrame({"n": [f"{i:02}" for i in range(20)] * 2 + ["00"] * 59 + [None]})
    at, shares, _, missing = marginals(many, many).columns["n"]
    assert len(at) == 14
    assert at[0] == "00"
    assert at[-2:].tolist() == ["(other)", None]
    np.testing.assert_allclose(shares[[0, 1, -2, -1]], [0.61, 0.02, 0.16, 0.01])
    assert missing == (0.01, 0.01)


def test_columns_that_one_table_lacks_are_left_out_and_wide_tables_cut_short():
    assert list(marginals(REAL, REAL[["rooms", "size"]]).columns) == ["size", "rooms"]
    assert list(pairs(REAL[["rooms", "size", "city"]], REAL[["rooms", "size"]]).pairs) == [("rooms", "size")]
    with pytest.raises(DataError, match="unknown column 'city'; the columns are 'size'"):
        marginals(REAL, REAL[["size"]], columns=["city"])
    wide = pd.DataFrame(np.eye(30)).rename(columns=str)
    assert len(marginals(wide, wide).columns) == 24
    assert list(marginals(wide, wide, columns=["29"]).columns) == ["29"]


# --- two tables, pair by pair ---------------------------------------------------------------------------------------


def test_dates_stay_dates_and_durations_become_seconds():
    born = marginals(REAL, REAL).columns["born"].at
    assert born[[0, -1]].astype("M8[D]").astype(str).tolist() == ["2020-01-01", "2022-01-01"]
    kind, at, (born, lasts), _ = pairs(REAL, REAL, [("born", "lasts")]).pairs["born", "lasts"]
    assert (kind, at) == ("points", ())
    assert born.astype("M8[D]").astype(str).tolist() == ["2020-01-01", "2021-01-01"]
    assert lasts.tolist() == [60, 120]


def test_labels_and_numbers_are_quantiles_and_two_labels_are_shares():
    rows = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 5, "n": [1.0, 2, 3, 4, 5, *[7] * 5], "b": list("uuuuuuuuvv")})
    found = pairs(rows, rows[:5], columns=["a", "n", "b"]).pairs
    assert list(found) == [("a", "n"), ("a", "b"), ("n", "b")]
    kind, (labels,), real, synthetic = found["a", "n"]
    assert (kind, labels) == ("quantiles", ["x", "y"])
    np.testing.assert_allclose(real, [[1.2, 2, 3, 4, 4.8], [7] * 5])
    assert np.isnan(synthetic[1]).all()  # no row of that label
    kind, at, real, synthetic = found["a", "b"]
    assert (kind, at) == ("shares", (["x", "y"], ["u", "v"]))
    np.testing.assert_allclose(real, [[0.5, 0], [0.3, 0.2]])
    np.testing.assert_allclose(synthetic, [[1, 0], [0, 0]])
    kind, _, real, _ = pairs(REAL, REAL, [("born", "member")]).pairs["born", "member"]
    assert real.dtype.kind == "M"


def test_the_pairs_that_depend_most_are_chosen(table):
    chosen = list(pairs(table, table[:100]).pairs)
    assert len(chosen) == 6
    assert {"size", "day"} == set(chosen[0])
    assert not any("noise" in pair for pair in chosen)


def test_gaps_in_the_same_rows_make_no_pair():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    rows["d"] = rows["c"] + rng.normal(size=600) / 2
    rows.loc[:3, ["a", "b"]] = np.nan
    assert next(iter(pairs(rows, rows).pairs)) == ("c", "d")


def test_pictures_have_a_panel_for_every_column_and_pair(tmp_path, table):
    picture = marginals(REAL, REAL)
    assert [axes.get_title(loc="left") for axes in picture.axes] == [*[*REAL][:3], "lasts (seconds)", *[*REAL][4:]]
    scatter = pairs(REAL, REAL, [("size", "born"), ("rooms", "lasts")], n_points=2)
    assert [axes.get_xlabel() for axes in scatter.axes] == ["size", "rooms"]
    assert len(scatter.axes[1].lines[0].get_xdata()) == 2
    for shown in (picture, scatter, pairs(table, table)):
        shown.save(tmp_path / "picture.png", dpi=60)
        assert (tmp_path / "picture.png").read_bytes()[1:4] == b"PNG"
        assert shown._repr_png_()[1:4] == b"PNG"


def test_axes_may_be_given():
    figure = Figure()
    axes = figure.subplots(2, 2)
    picture = marginals(REAL, REAL, columns=["size", "city", "born"], axes=axes)
    assert picture.figure is figure
    assert picture.axes == tuple(axes.flat[:3])
    assert not axes[1, 1].get_visible()
    with pytest.raises(ParameterError, match="the picture has 6 panels: give as many axes; got 4"):
        marginals(REAL, REAL, axes=axes)


@pytest.mark.parametrize(
    ("synthetic", "columns", "message"),
    [
        (REAL[["size"]].set_axis(["s"], axis=1), None, "have no column in common: 'size', 'born', 'city', .* and 's'"),
        (REAL.astype({"rooms": str}), None, "column 'rooms' holds labels in one table only: make both"),
        (REAL[:0], None, "without rows has nothing to compare"),
        (REAL, [("size", "price")], "unknown column 'price'; the columns are 'size', "),
        (REAL, ["size"], "pairs are of at least two columns; got .'size'."),
        (REAL, [("size", "size")], "each pair is two different columns"),
        (REAL, [], "columns names no column"),
    ],
)
def test_refusals(synthetic, columns, message):
    with pytest.raises((DataError, ParameterError), match=message):
        pairs(REAL, synthetic, columns)


def test_a_picture_without_bins_is_refused():
    with pytest.raises(ParameterError, match="n_bins is a whole number of at least 1; got 0"):
        marginals(REAL, REAL, n_bins=0)


# --- a row ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["size", "price", "day", "rooms", "noise"])
def test_the_picture_of_numbers_shows_the_central_probabilities(model, table, target):
    row = table[1000:1001]
    drawn = plots.conditional(model, row, target)
    of = model.conditional(row, target)
    assert drawn.target == target
    assert drawn.observed == row[target].iloc[0]
    assert drawn.median == of.median()[0]
    assert drawn.interval == tuple(of.interval()[0])
    assert 0.997 < drawn.probability.sum() < 1 + 1e-9
    # as many draws fall between the edges
    draws = of.sample(20_000, random_state=0)[0]
    kinds = draws.dtype.kind == "M"
    edges = (drawn.at.astype(np.int64) if kinds else drawn.at).astype(float)
    numbers = draws.astype(drawn.at.dtype).astype(np.int64) if kinds else draws
    shares = np.histogram(numbers, edges)[0] / len(draws)
    assert np.abs(np.cumsum(shares) - np.cumsum(drawn.probability)).max() < 0.02


def test_the_picture_of_labels_shows_their_probabilities(model, table):
    of = model.conditional(table[1000:1010], "kind")
    drawn = plots.conditional(of, 3, observed="small")
    assert drawn.at.tolist() == of.levels.tolist()
    np.testing.assert_allclose(drawn.probability, of.proba[3])
    assert (drawn.median, drawn.interval) == (None, None)
    assert len(drawn.axes[0].patches) == 3


def test_of_many_levels_the_likeliest_are_shown():
    names = [f"city {k:02}" for k in range(20)]
    rows = pd.DataFrame({"city": np.repeat(names, np.arange(1, 21)), "x": np.arange(210) % 4})
    drawn = plots.conditional(NRGBoost(n_trees=2, random_state=0).fit(rows), rows[:1][["x"]], "city")
    assert drawn.at[-1] == "(other)"
    assert len(drawn.at) == 16
    assert drawn.probability.sum() == pytest.approx(1)
    assert drawn.observed is None


def test_a_picture_of_a_row_is_of_one_row_and_one_column(model, table):
    with pytest.raises(ParameterError, match=r"name the column: conditional\(model, row, target="):
        plots.conditional(model, table[:1])
    with pytest.raises(ParameterError, match="is of one row; got 2"):
        plots.conditional(model, table[:2], "size")
    with pytest.raises(ParameterError, match="row is a whole number from 0 to 1; got 2"):
        plots.conditional(model.conditional(table[:2], "size"), 2)
    with pytest.raises(ParameterError, match="is of column 'size', not of 'kind'"):
        plots.conditional(model.conditional(table[:2], "size"), 0, "kind")
    with pytest.raises(ParameterError, match="is of a fitted model; got NRGBoost: fit it first"):
        plots.conditional(NRGBoost(), table[:1], "size")


# --- a model --------------------------------------------------------------------------------------------------------


def test_a_learning_curve_adds_up(model, table):
    drawn = learning_curve(model, table[1000:])
    assert drawn.n_trees.tolist() == list(range(1, 26))
    np.testing.assert_allclose(drawn.total, np.cumsum([record["gain"] for record in model.history_]))
    held = model.score_samples(table[1000:], normalize=False).mean()
    before = model.score_samples(table[1000:], normalize=False, n_trees=0).mean()
    assert drawn.stages.tolist() == list(range(1, 26))
    assert drawn.held_out[-1] == pytest.approx(held - before - model.history_[-1]["log_z"])
    np.testing.assert_allclose(drawn.axes[0].lines[0].get_ydata(), drawn.total)
    assert len(learning_curve(model).held_out) == 0


def test_gains_of_a_tree_add_up_to_its_variance(model):
    pool = model.density_.model.pool
    for tree in model.density_.model.energy.trees[:5]:
        leaves = tree.leaves(pool)
        gain = np.zeros(6)
        _add_gains(tree, np.bincount(leaves, minlength=tree.n_leaves).astype(float), gain)
        assert gain.sum() == pytest.approx(tree.leaf_value[leaves].var(), rel=1e-6)
        assert set(np.flatnonzero(gain)) <= set(tree.column.tolist())


def test_a_column_of_noise_is_of_no_importance(model):
    drawn = importance(model)
    assert drawn.columns[-1] == "noise"
    assert drawn.gain.sum() == pytest.approx(1)
    assert (np.diff(drawn.gain) <= 0).all()
    assert drawn.gain[-1] < 0.05
    place = {name: k for k, name in enumerate(drawn.columns)}
    assert drawn.dependence[place["size"], place["day"]] > 0.8
    assert np.nanmax(np.delete(drawn.dependence[place["noise"]], place["noise"])) < 0.1
    np.testing.assert_array_equal(drawn.dependence, drawn.dependence.T)


def test_of_many_columns_the_most_important_are_shown(model):
    drawn = importance(model, most=2)
    assert len(drawn.columns) == 6
    assert len(drawn.axes[0].patches) == 2
    assert np.isfinite(drawn.dependence).sum() == 6 + 2
    assert importance(model.density_).columns == drawn.columns


def test_models_without_trees_or_history_are_refused(model, table):
    with pytest.warns(UserWarning, match="no split was allowed"):
        empty = NRGBoost(n_trees=2, min_samples_leaf=10**6, random_state=0).fit(table)
    for picture in (learning_curve, importance):
        with pytest.raises(DataError, match="the model has no trees"):
            picture(empty)
    with pytest.raises(ParameterError, match="of a fitted estimator, which has history_"):
        learning_curve(model.density_)


def test_without_matplotlib_it_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "import numpy as np; from energyboost import plots\n"
        "plots.marginals(np.eye(3), np.eye(3))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: pictures need matplotlib; run: pip install 'energyboost[app]'"
    )
