"""Distributions of one column: every question against plain numerical integration and counting."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost import Conditional, DataError, ParameterError
from energyboost.conditional import _crps
from energyboost.tables import QuantileBins, Schema
from tests.chance import FALSE_ALARM

DAYS = pd.date_range("2024-01-01", periods=400)


def tables():
    rng = np.random.default_rng(0)
    skewed = rng.gamma(2.0, 10.0, 3000)
    return {
        "bins without a grid": pd.DataFrame({"y": skewed}),
        "bins of whole numbers, atoms": pd.DataFrame(
            {"y": np.where(rng.random(3000) < 0.4, 0, (skewed * 50).astype(int))}
        ),
        "bins of decimals, gaps": pd.DataFrame({"y": np.where(rng.random(3000) < 0.2, np.nan, skewed.round(2))}),
        "levels": pd.DataFrame({"y": rng.integers(1, 15, 500)}),
        "levels far apart": pd.DataFrame({"y": rng.choice([-5.5, 0.0, 1.25, 100.0], 500)}),
        "one value": pd.DataFrame({"y": np.full(50, 7.0)}),
    }


def distribution(table, max_bins=40, n_rows=6, seed=1):
    """Random probabilities of the codes of a column, some of them 0."""
    schema = Schema.infer(table, max_bins=max_bins)
    rng = np.random.default_rng(seed)
    probability = rng.gamma(0.3, size=(n_rows, schema.columns[0].codec.n_codes)) + 1e-12
    probability[rng.random(probability.shape) < 0.3] = 0
    probability[:, -1] += 1e-3
    codec = schema.columns[0].codec
    probability = probability[:, np.arange(codec.n_codes) != codec.missing_code]
    return Conditional(schema, 0, probability / probability.sum(axis=1, keepdims=True)), codec


@pytest.fixture(params=tables().items(), ids=lambda item: item[0])
def case(request):
    return distribution(request.param[1])


def drawn(found, n=40_000, seed=0):
    return found.sample(n, random_state=seed).astype(float)


def places(codec):
    """Values before, at, inside and behind codes."""
    known = codec.lower[~np.isnan(codec.lower)], codec.upper[~np.isnan(codec.upper)]
    low, high = known[0].min(), known[1].max()
    inside = np.random.default_rng(2).uniform(low - 1, high + 1, 40)
    return np.concatenate([[low - 3, low, high, high + 3], known[0][::5], known[1][::7], inside])


def test_cumulative_probabilities_are_shares_of_draws(case):
    found, codec = case
    values = drawn(found)
    bound = np.sqrt(np.log(2 * len(places(codec)) * len(found) / FALSE_ALARM) / (2 * values.shape[1]))  # Hoeffding
    for y in places(codec):
        assert np.abs((values <= y).mean(axis=1) - found.cdf(y)).max() < bound
    # the control: the distributions of the other rows
    other = found[::-1]
    gaps = [np.abs((values <= y).mean(axis=1) - other.cdf(y)).max() for y in places(codec)]
    assert codec.n_codes == 1 or max(gaps) > bound


def test_cumulative_probabilities_rise_from_0_to_1(case):
    found, codec = case
    y = np.sort(places(codec))
    below = found.cdf(np.tile(y, (len(found), 1)))
    assert (np.diff(below, axis=1) >= -1e-12).all()
    np.testing.assert_allclose(below[:, [0, -1]], [[0, 1]] * len(found), atol=1e-12)


def test_quantiles_turn_cumulative_probabilities_round(case):
    found, codec = case
    q = np.array([0.0, 0.01, 0.25, 0.5, 0.9, 0.999, 1.0])
    values = found.quantile(q).astype(float)
    assert values.shape == (len(found), 7)
    assert (np.diff(values, axis=1) >= 0).all()
    below = found.cdf(values)
    assert (below >= q - 1e-6).all()
    # nothing smaller would do: just below the value there is less than the share
    span = np.ptp(places(codec))
    before = found.cdf(values - max(span, 1) * 1e-7)
    assert (before <= q + 1e-4).all()
    np.testing.assert_array_equal(found.median(), found.quantile(0.5))
    np.testing.assert_array_equal(found.interval(0.8), found.quantile([(1 - 0.8) / 2, 1 - (1 - 0.8) / 2]))


def test_the_ranked_probability_score_is_the_integral_it_is_defined_by(case):
    found, codec = case
    for y in places(codec)[::3]:
        ends = np.concatenate([codec.lower, codec.upper, [y]])
        ends = np.unique(ends[~np.isnan(ends)])
        x = np.unique(np.concatenate([np.linspace(a, b, 2001) for a, b in pairwise(ends)] + [ends]))
        middle = (x[1:] + x[:-1]) / 2
        height = (found.cdf(np.tile(middle, (len(found), 1))) - (middle >= y)) ** 2
        expected = (height * np.diff(x)).sum(axis=1)
        scale = max(1.0, np.ptp(ends))
        np.testing.assert_allclose(found.crps(y), expected, rtol=2e-3, atol=2e-5 * scale)


def test_the_score_of_a_point_is_the_distance_and_of_a_uniform_its_own():
    point = _crps(np.array([[0.0, 1.0]]), np.array([2.0, 5.0]), np.array([2.0, 5.0]), np.ones(2), np.array([9.0]))
    assert point[0] == pytest.approx(4)
    uniform = [
        _crps(np.ones((1, 1)), np.zeros(1), np.ones(1), np.array([np.inf]), np.array([y]))[0] for y in (0.0, 0.25, 2.0)
    ]
    np.testing.assert_allclose(uniform, [1 / 3, (0.25**3 + 0.75**3) / 3, 1 / 3 + 1])
    # a coin: E|Y - y| - E|Y - Y'| / 2
    coin = _crps(np.full((1, 2), 0.5), np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.ones(2), np.array([0.0]))
    assert coin[0] == pytest.approx(0.25)


def test_scores_are_expected_distances(case):
    """CRPS = E|Y - y| - E|Y - Y'| / 2 (Gneiting and Raftery 2007)."""
    found, codec = case
    a, b = drawn(found, seed=1), drawn(found, seed=2)
    for y in places(codec)[::9]:
        estimate = np.abs(a - y).mean(axis=1) - np.abs(a - b).mean(axis=1) / 2
        error = (np.abs(a - y).std(axis=1) + np.abs(a - b).std(axis=1)) / np.sqrt(a.shape[1])
        assert (np.abs(found.crps(y) - estimate) <= 6 * error + 1e-9).all()


def test_densities_add_up_to_one(case):
    found, codec = case
    if not isinstance(codec, QuantileBins):
        levels = np.asarray(found.levels, float)
        np.testing.assert_allclose(found.pdf(np.tile(levels, (len(found), 1))), found.proba)
        assert (found.pdf(levels.max() + 0.5) == 0).all()
        return
    middles = (codec.lower + codec.upper) / 2
    middles = np.where(codec.n_points > 1, np.clip(middles, codec.lower, codec.upper), codec.lower)[
        int(codec.missing) :
    ]
    density = found.pdf(np.tile(middles, (len(found), 1)))
    np.testing.assert_allclose(density @ codec.widths[int(codec.missing) :], 1, rtol=1e-9)
    assert np.isneginf(found.logpdf(codec.upper[-1] + 1)).all()


def test_moments_are_those_of_draws_up_to_where_bins_are_centred(case):
    found, codec = case
    values = drawn(found, 100_000)
    np.testing.assert_allclose(found.std(), values.std(axis=1), rtol=0.1, atol=1e-9)
    inside = codec.widths[int(codec.missing) :].max() if isinstance(codec, QuantileBins) else 0
    assert (np.abs(found.mean() - values.mean(axis=1)) <= inside / 2 + 6 * values.std(axis=1) / 300 + 1e-9).all()


def test_the_mode_is_where_density_is_highest():
    table = pd.DataFrame({"y": np.concatenate([np.zeros(400), np.linspace(1, 100, 600) ** 2])})
    schema = Schema.infer(table, max_bins=5)
    codec = schema.columns[0].codec
    assert codec.atoms
    even = np.full((1, codec.n_codes), 1 / codec.n_codes)
    assert Conditional(schema, 0, even).mode()[0] == 0  # an atom is likelier than any bin, or as likely
    bins = even.copy()
    bins[0, codec.atoms[0]] = 0.01
    bins /= bins.sum()
    densest = np.argmin(np.where(codec.n_points > 1, codec.widths, np.inf))
    assert codec.lower[densest] <= Conditional(schema, 0, bins).mode()[0] <= codec.upper[densest]


def test_entropy_is_minus_the_expected_log_density(case):
    found, _ = case
    values = drawn(found, 20_000)
    logs = -found.logpdf(values)
    error = logs.std(axis=1) / np.sqrt(values.shape[1])
    assert (np.abs(found.entropy() - logs.mean(axis=1)) <= 6 * error + 1e-9).all()


# --- labels and dates -----------------------------------------------------------------------------------------------


def test_an_ordered_category_has_quantiles_and_scores_in_levels():
    grades = pd.Categorical(["low", "mid", "high"] * 5, ["low", "mid", "high"], ordered=True)
    found = Conditional(Schema.infer(pd.DataFrame({"g": grades})), 0, np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]))
    assert found.quantile([0.1, 0.5, 1.0]).tolist() == [["low", "mid", "high"], ["low", "low", "mid"]]
    np.testing.assert_allclose(found.cdf("mid"), [0.5, 1])
    np.testing.assert_allclose(found.cdf(["low", "mid"]), [0.2, 1])
    np.testing.assert_allclose(found.crps(["high", "low"]), [0.2**2 + 0.5**2, 0.4**2])
    np.testing.assert_allclose(found.pdf(["high", "low"]), [0.5, 0.6])
    assert found.mode().tolist() == ["high", "low"]
    np.testing.assert_allclose(found.entropy()[1], -(0.6 * np.log(0.6) + 0.4 * np.log(0.4)))
    with pytest.raises(DataError, match="column 'g' holds labels"):
        found.mean()
    with pytest.raises(DataError, match="column 'g' has no level 'top'"):
        found.pdf("top")


def test_labels_without_order_have_probabilities_only():
    found = Conditional(Schema.infer(pd.DataFrame({"c": ["x", "y", None]})), 0, np.array([[0.4, 0.6]]))
    assert found.levels.tolist() == ["x", "y"]
    np.testing.assert_allclose(found.proba, [[0.4, 0.6]])
    assert found.mode().tolist() == ["y"]
    assert set(found.sample(200, random_state=0)[0]) == {"x", "y"}
    for ask in (found.median, found.interval, lambda: found.cdf("x"), lambda: found.crps("x")):
        with pytest.raises(DataError, match=r"column 'c' have no order, which [a-z ]+s need; use proba"):
            ask()
    assert "likeliest" in repr(found)
    assert "y 0.600" in found._repr_html_()


def test_dates_come_back_as_dates():
    found, _ = distribution(pd.DataFrame({"y": np.repeat(DAYS, 3)}), max_bins=20)
    assert found.quantile(0.5).dtype.kind == "M"
    assert (found.quantile(0.5) == found.quantile(0.5).astype("M8[D]")).all()  # on the grid of days
    assert found.mean().dtype.kind == "M"
    assert (found.cdf(DAYS[0] - pd.Timedelta("1D")) == 0).all()
    np.testing.assert_allclose(found.cdf(np.repeat(DAYS[-1:], len(found))), 1, rtol=1e-12)
    middle = found.median()
    assert (found.cdf(middle) >= 0.5 - 1e-9).all()


# --- how it is asked ------------------------------------------------------------------------------------------------


def test_one_value_one_for_each_row_or_several(case):
    found, codec = case
    y = places(codec)[: len(found)]
    each = found.cdf(y)
    assert each.shape == (len(found),)
    np.testing.assert_array_equal(found.cdf(pd.Series(y, index=range(7, 7 + len(y)))), each)
    many = found.cdf(np.tile(y, (len(found), 1)))
    assert many.shape == (len(found), len(y))
    np.testing.assert_array_equal(np.diag(many), each)
    np.testing.assert_array_equal(found.cdf(y[2]), many[:, 2])
    for wrong in (y[:-1], np.zeros((len(found), 2, 2))):
        with pytest.raises(ParameterError, match="there are 6 rows"):
            found.cdf(wrong)
    with pytest.raises(ParameterError, match="crps takes one observed value for each row"):
        found.crps(np.tile(y, (len(found), 2)))
    with pytest.raises(DataError, match=r"column 'y', row 1: the value is missing; leave such rows out, .*\[known\]"):
        found.cdf(np.where(np.arange(len(found)) == 1, np.nan, y))


def test_shares_that_are_none_are_refused(case):
    found, _ = case
    for wrong in (-0.1, 1.1, [0.5, 2]):
        with pytest.raises(ParameterError, match="quantiles are asked for by shares from 0 to 1"):
            found.quantile(wrong)
    with pytest.raises(ParameterError, match="coverage"):
        found.interval(2)
    with pytest.raises(ParameterError, match="n is a whole number"):
        found.sample(0)


def test_rows_can_be_picked_and_shown(case):
    found, _ = case
    np.testing.assert_allclose(found[2:4].mean(), found.mean()[2:4])
    np.testing.assert_allclose(found[-1].mean(), found.mean()[-1:])
    assert len(found[np.array([True] * 3 + [False] * 3)]) == 3
    assert "Conditional of 'y', 6 rows" in repr(found)
    assert "<table>" in found._repr_html_()
    frame = found.to_frame()
    assert list(frame) == ["mean", "std", "q05", "q25", "median", "q75", "q95"]
    assert len(frame) == 6


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_frames_of_dates_have_the_zone_of_training(library, zone):
    when = pd.date_range("2024-01-01", periods=300, freq="h", tz=zone)
    table = pd.DataFrame({"y": when}, index=range(5, 305))
    make = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
    found, _ = distribution(make[library](table))
    frame = found.to_frame()
    frame = frame if library == "pandas" else frame.to_pandas()
    assert str(frame["median"].dt.tz) == str(zone)
    assert frame["std"].dtype.kind == "m"
    assert (frame["q05"] <= frame["median"]).all()
    assert frame["median"].between(when[0], when[-1]).all()
