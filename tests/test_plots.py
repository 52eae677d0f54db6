"""The picture of real and synthetic rows shows the numbers that it returns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from energyboost.errors import DataError, ParameterError
from energyboost.plots import compare

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


def test_shares_are_of_known_cells_in_bins_and_of_all_cells_in_labels():
    _, marginals, _ = compare(REAL, REAL[:2], n_bins=3)
    assert list(marginals) == list(REAL)
    np.testing.assert_allclose(marginals["size"].at, [1.5, 2.5, 3.5, 4.5])
    np.testing.assert_allclose(marginals["size"].real, [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(marginals["size"].synthetic, [1 / 2, 1 / 2, 0])
    assert marginals["city"].at.tolist() == ["Oslo", "Rome", None]
    np.testing.assert_allclose(marginals["city"].real, [1 / 4, 1 / 2, 1 / 4])
    assert marginals["member"].at.tolist() == [False, True]


def test_whole_numbers_get_bins_of_equally_many_of_them():
    _, marginals, _ = compare(REAL[["rooms"]], REAL[["rooms"]], n_bins=4)
    np.testing.assert_allclose(marginals["rooms"].at, [1.5, 3.5, 5.5, 7.5, 9.5])
    np.testing.assert_allclose(marginals["rooms"].real, [0.75, 0, 0, 0.25])


def test_dates_stay_dates_and_durations_become_seconds():
    _, marginals, pairs = compare(REAL, REAL, pairs=[("born", "lasts")])
    assert marginals["born"].at[[0, -1]].astype("M8[D]").astype(str).tolist() == ["2020-01-01", "2022-01-01"]
    born, lasts = pairs["born", "lasts"].real
    assert born.astype("M8[D]").astype(str).tolist() == ["2020-01-01", "2021-01-01"]
    assert lasts.tolist() == [60, 120]


def test_the_figure_has_a_panel_for_every_column_and_pair(tmp_path):
    figure, _, pairs = compare(REAL, REAL, pairs=[("size", "born"), ("rooms", "lasts")], n_points=2)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown[:6]] == list(REAL)
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in shown[6:]] == list(pairs)
    assert len(shown[7].lines[0].get_xdata()) == 2
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[1:4] == b"PNG"


def test_any_frame_library_will_do():
    _, expected, _ = compare(REAL, REAL)
    _, found, _ = compare(pl.from_pandas(REAL), REAL)
    for name in REAL:
        np.testing.assert_allclose(found[name].real, expected[name].real)


def test_labels_keep_their_declared_order_and_rare_ones_are_one():
    sizes = pd.DataFrame({"size": pd.Categorical(["hi", "lo", "hi"], categories=["lo", "hi"], ordered=True)})
    assert compare(sizes, sizes)[1]["size"].at.tolist() == ["lo", "hi"]
    many = pd.DataFrame({"n": [f"{i:02}" for i in range(20)] * 2 + ["00"] * 59 + [None]})
    at, shares, _ = compare(many, many)[1]["n"]
    assert len(at) == 14
    assert at[0] == "00"
    assert at[-2:].tolist() == ["(other)", None]
    np.testing.assert_allclose(shares[[0, 1, -2, -1]], [0.61, 0.02, 0.16, 0.01])


@pytest.mark.parametrize(
    ("synthetic", "pairs", "message"),
    [
        (REAL[["size"]], [], "the tables have different columns: 'size', 'born', 'city', .* and 'size'"),
        (REAL.astype({"rooms": str}), [], "column 'rooms' holds labels in one table only: make both"),
        (REAL[:0], [], "without rows has nothing to compare"),
        (REAL, [("size", "price")], "unknown column 'price'; the columns are 'size', "),
        (REAL, [("size", "city")], "column 'city' holds labels: scatter columns of numbers, dates or times"),
    ],
)
def test_refusals(synthetic, pairs, message):
    with pytest.raises(DataError, match=message):
        compare(REAL, synthetic, pairs=pairs)


def test_a_picture_without_bins_is_refused():
    with pytest.raises(ParameterError, match="n_bins is a whole number of at least 1; got 0"):
        compare(REAL, REAL, n_bins=0)
