"""The laws of the codecs, whatever the column."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energyboost.errors import DataError
from energyboost.tables import (
    Categories,
    Cells,
    FrequentCategories,
    Levels,
    NumberCategories,
    OrderedLevels,
    QuantileBins,
    Schema,
)
from energyboost.tables.codecs import MISSING, UNSEEN
from tests.strategies import MAX_BINS, number_columns, uniforms


def cells_of(values, missing=False):
    values = np.asarray(values)
    return Cells(values, np.full(len(values), missing))


def levels_of(values, missing=False):
    return Levels(tuple(np.unique(values).tolist()), values.dtype.name, missing)


NUMERIC = st.one_of(
    st.builds(levels_of, number_columns(), st.booleans()),
    st.builds(lambda v, k, m: QuantileBins.fit(v, k, missing=m), number_columns(), MAX_BINS, st.booleans()),
)
LABELS = st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=5).map(tuple)
CODECS = st.one_of(
    NUMERIC,
    st.builds(Categories, LABELS, st.booleans()),
    st.builds(OrderedLevels, LABELS, st.booleans()),
    st.builds(
        lambda v, m: NumberCategories(tuple(np.unique(v).tolist()), m, v.dtype.name), number_columns(), st.booleans()
    ),
    st.builds(lambda v, m: FrequentCategories((*v, "other"), m), LABELS, st.booleans()),
)


@given(CODECS, st.data())
@settings(max_examples=300)
def test_every_decoded_cell_encodes_to_its_own_code(codec, data):
    codes = np.repeat(np.arange(codec.n_codes), 3)
    cells = codec.decode(codes, data.draw(uniforms(len(codes))))
    assert codec.encode(cells).tolist() == codes.tolist()
    assert cells.missing.tolist() == (codes == codec.missing_code).tolist()


@pytest.mark.parametrize(
    "values",
    [
        1 + np.arange(40) * 2.0**-52,  # neighbouring floats: nothing lies between two bins
        np.append(3.0, 2.0**54 + 4 * np.arange(40)),  # whole numbers, but not all of them are floats
        (np.arange(4000) / 1000 + 8000).astype("float32"),  # decimals at the end of the precision
        np.append(np.arange(-40, 0), [-(2**63), 2**63 - 1]),
        np.arange(1, 41) * 5e-324,
        np.append(np.full(40, 1 / 3), np.sqrt(np.arange(40))),
    ],
)
@pytest.mark.parametrize("max_bins", [2, 3, 7, 39])
def test_values_at_the_limits_of_precision_keep_the_law(values, max_bins):
    codec = QuantileBins.fit(values, max_bins)
    own = codec.encode(cells_of(values))
    assert np.all((codec.lower[own] <= values) & (values <= codec.upper[own]))
    codes = np.repeat(np.arange(codec.n_codes), 101)
    draws = np.tile(np.append(np.arange(100) / 100, np.nextafter(1, 0)), codec.n_codes)
    drawn = codec.decode(codes, draws)
    np.testing.assert_array_equal(codec.encode(drawn), codes)
    assert np.all((codec.lower[codes] <= drawn.values) & (drawn.values <= codec.upper[codes]))


@given(CODECS)
def test_a_codec_survives_json(codec):
    assert type(codec).from_json(json.loads(json.dumps(codec.to_json(), allow_nan=False))) == codec


@given(number_columns(), MAX_BINS, st.booleans())
@settings(max_examples=200)
def test_bins_cover_the_column_and_hold_their_own_values(values, max_bins, missing):
    codec = QuantileBins.fit(values, max_bins, missing=missing)
    codes = codec.encode(cells_of(values))
    assert set(codes) == set(range(missing, codec.n_codes))
    floats = values.astype(float)
    assert codec.lower[int(missing)] == floats.min()
    assert codec.upper[-1] == floats.max()
    assert np.all(codec.lower[codes] <= floats)
    assert np.all(floats <= codec.upper[codes])
    scale = max(np.abs(floats).max(), np.finfo(float).tiny)
    for code in set(codes):
        mean = scale * np.mean(floats[codes == code] / scale)
        assert codec.centres[code] == pytest.approx(mean, rel=1e-9, abs=1e-9 * scale)
    if missing:
        assert np.isnan([codec.centres[0], codec.lower[0], codec.upper[0]]).all()
        assert codec.widths[0] == 1


@given(number_columns(), MAX_BINS, st.booleans(), st.data())
@settings(max_examples=200)
def test_frequent_values_are_atoms_and_come_back_exactly(values, max_bins, missing, data):
    codec = QuantileBins.fit(values, max_bins, missing=missing)
    distinct, counts = np.unique(values, return_counts=True)
    frequent = distinct[counts * max_bins >= len(values)]
    codes = codec.encode(cells_of(frequent))
    assert len(set(codes)) == len(frequent)
    assert codec.decode(codes, data.draw(uniforms(len(codes)))).values.tolist() == frequent.tolist()
    assert np.all(codec.widths[codes] == 1)


@given(number_columns(), MAX_BINS, st.booleans())
@settings(max_examples=200)
def test_the_number_of_codes_is_bounded(values, max_bins, missing):
    codec = QuantileBins.fit(values, max_bins, missing=missing)
    counts = np.unique(values, return_counts=True)[1]
    frequent = counts * max_bins >= len(values)
    stretches = np.count_nonzero(~frequent & np.concatenate([[True], frequent[:-1]]))
    assert codec.n_codes <= max(max_bins, missing + np.count_nonzero(frequent) + stretches)


@pytest.mark.parametrize(
    ("points", "divisor", "dtype"),
    [
        (np.arange(0, 4000, 4), 1, "int64"),
        (np.arange(-500, 500), 100, "float64"),
        (np.arange(-500, 500), 100, "float32"),
        (np.arange(0, 5000, 5), 100, "float64"),
        (np.arange(10**9, 10**9 + 1000), 10**6, "float64"),
    ],
)
def test_a_grid_is_kept(points, divisor, dtype):
    values = (points / divisor).astype(dtype)
    codec = QuantileBins.fit(values, 20)
    rng = np.random.default_rng(0)
    drawn = codec.decode(rng.integers(codec.n_codes, size=20_000), rng.random(20_000)).values
    assert drawn.dtype == values.dtype
    assert set(drawn.tolist()) == set(values.tolist())  # every grid point, and nothing else


def test_values_without_a_grid_are_drawn_continuously():
    values = np.random.default_rng(0).normal(size=1000)
    codec = QuantileBins.fit(values, 4)
    assert (codec.scale, codec.step, codec.n_codes) == (0, 0, 4)
    drawn = codec.decode(np.zeros(3, int), np.array([0.25, 0.5, 0.75])).values
    assert drawn == pytest.approx(codec.lower[0] + codec.widths[0] * np.array([0.25, 0.5, 0.75]))
    assert codec.upper[:-1] == pytest.approx(codec.lower[1:])  # neighbours touch
    counts = np.bincount(codec.encode(cells_of(values)))
    assert counts.tolist() == [250] * 4


def test_a_far_off_atom_stretches_no_bin():
    values = np.concatenate([np.full(500, -999.0), np.linspace(10, 20, 1000) ** 1.5])
    codec = QuantileBins.fit(values, 10)
    assert codec.lower[1] == 10**1.5
    assert codec.encode(cells_of([-600.0, -400.0, 9e9])).tolist() == [0, 1, codec.n_codes - 1]


def test_a_rare_value_alone_in_its_bin_is_no_atom():
    """On a grid, bins of one point and bins of two have the same density, if all values are as frequent."""
    for values in (np.arange(300), np.arange(300) / 100):
        codec = QuantileBins.fit(values, 255)
        codes = codec.encode(cells_of(values))
        share = np.bincount(codes) / len(values)
        assert codec.atoms == ()
        assert set(share * 300) == {1, 2}
        assert share / codec.widths == pytest.approx(np.full(codec.n_codes, share[0] / codec.widths[0]))
    codec = QuantileBins.fit(np.append(np.arange(300), [7] * 300), 100)
    assert codec.widths[codec.atoms[0]] == 1
    assert codec.first[codec.atoms[0]] == 7


def test_widths_count_grid_points_in_units_of_the_column():
    codec = QuantileBins.fit(np.arange(1000) / 100, 10)
    assert codec.widths == pytest.approx(np.ones(10))  # 100 points of 0.01
    assert QuantileBins.fit(np.arange(0, 5000, 5), 10).widths == pytest.approx(np.full(10, 500))
    assert Levels((1.5, 9.0), "float64", missing=True).widths.tolist() == [1, 1, 1]


def test_weights_act_as_repeated_rows():
    values, times = np.arange(50) ** 2, np.arange(50) % 4
    weighted = QuantileBins.fit(values, 8, weights=times)
    assert weighted == QuantileBins.fit(np.repeat(values, times), 8)
    assert weighted != QuantileBins.fit(values, 8)


def test_a_value_between_levels_goes_to_the_nearest():
    codec = Levels((0, 10, 11), "int64", missing=True)
    assert codec.encode(cells_of([4.9, 5.6, 10.4, 1e300, -1e300])).tolist() == [1, 2, 2, 3, 1]
    assert codec.encode(Cells(np.zeros(1), np.ones(1, bool))).tolist() == [0]


def test_what_has_no_code_is_marked():
    codec = Categories(("a", "b"))
    cells = Cells(np.array(["b", "c", None], object), np.array([False, False, True]))
    assert codec.encode(cells).tolist() == [1, UNSEEN, MISSING]
    assert Levels((), "float64", missing=True).encode(cells_of([3.0])).tolist() == [UNSEEN]


def test_missing_is_the_first_code_of_ordered_and_the_last_of_unordered_columns():
    assert [c(("a", "b"), True).missing_code for c in (OrderedLevels, Categories)] == [0, 2]
    assert [c(("a", "b")).missing_code for c in (OrderedLevels, Categories)] == [None, None]
    assert [c(("a", "b")).ordered for c in (OrderedLevels, Categories)] == [True, False]
    assert QuantileBins.fit(np.arange(9), 3, missing=True).missing_code == 0


@pytest.mark.parametrize(
    ("codec", "fields", "message"),
    [
        (Categories, {"levels": ["a", "a"]}, "distinct"),
        (Categories, {"levels": [["a"]]}, "unhashable|distinct"),
        (Categories, {"levels": []}, "no code"),
        (NumberCategories, {"levels": [1, True]}, "distinct"),
        (NumberCategories, {"levels": ["1"]}, "could not|not numbers"),
        (NumberCategories, {"levels": [float("inf")], "dtype": "float64"}, "not numbers"),
        (NumberCategories, {"levels": [2**63]}, "too large|out of bounds"),
        (NumberCategories, {"levels": [1], "dtype": "object"}, "dtype"),
        (FrequentCategories, {"levels": ["a"]}, "no level 'other'"),
        (Levels, {"values": [2.0, 1.0], "dtype": "float64"}, "do not rise"),
        (Levels, {"values": [1.0, float("nan")], "dtype": "float64"}, "do not rise"),
        (Levels, {"values": [1.0], "dtype": "object"}, "dtype"),
        (QuantileBins, {"step": 0}, "grid"),
        (QuantileBins, {"scale": 3}, "grid"),
        (QuantileBins, {"means": [1.0]}, "means"),
        (QuantileBins, {"last": [1]}, "begin"),
        (QuantileBins, {"first": [0, 1]}, "do not rise"),
    ],
)
def test_damaged_fields_are_refused(codec, fields, message):
    if codec is QuantileBins:
        good = {"first": [0, 2], "last": [1, 3], "means": [0.5, 2.5], "dtype": "int64", "scale": 1, "step": 1}
        codec.from_json(good)
        fields = good | fields
    with pytest.raises((ValueError, TypeError, OverflowError), match=message):
        codec.from_json(fields)


def test_whole_numbers_that_floats_cannot_hold_are_refused_among_floats():
    column = np.array([1, 2.5, 2**53 + 1, 3], dtype=object)[:, None]
    with pytest.raises(DataError, match="9007199254740993 in row 2 is not exact among the latter: cast it"):
        Schema.infer(column)
    assert Schema.infer(np.array([1, 2.5, 2**53, 3], dtype=object)[:, None]).names == ("x0",)
