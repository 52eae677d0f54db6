"""From a frame to codes and back: dtypes, order and codes stay."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energyboost.tables import Levels, QuantileBins, Schema, decode, encode
from tests.strategies import MAX_BINS, numpy_tables, pandas_frames, polars_frames

SEEDS = st.integers(0, 2**32 - 1)


def through(frame, max_bins, seed, index=None):
    """Return the schema, the codes and the decoded frame, all through a schema read from JSON."""
    schema = Schema.infer(frame, max_bins=max_bins)
    restored = Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
    assert restored == schema
    codes = encode(restored, frame)
    assert codes.flags.c_contiguous
    assert codes.dtype == schema.domain.code_dtype
    assert (codes < np.array(schema.domain.sizes)).all()
    back = decode(restored, codes, np.random.default_rng(seed), index)
    assert (encode(schema, back) == codes).all()
    return schema, codes, back


def exact_columns(schema):
    return [j for j, column in enumerate(schema.columns) if not isinstance(column.codec, QuantileBins)]


@given(pandas_frames(), MAX_BINS, SEEDS)
@settings(max_examples=150)
def test_pandas(frame, max_bins, seed):
    frame.index = pd.Index(range(7, 7 + len(frame)), name="row")
    schema, _, back = through(frame, max_bins, seed, frame.index)
    pd.testing.assert_series_equal(back.dtypes, frame.dtypes)
    pd.testing.assert_index_equal(back.columns, frame.columns, exact="equiv")
    pd.testing.assert_frame_equal(back.isna(), frame.isna())
    exact = exact_columns(schema)
    pd.testing.assert_frame_equal(back.iloc[:, exact], frame.iloc[:, exact])


@given(polars_frames(), MAX_BINS, SEEDS)
@settings(max_examples=150)
def test_polars(frame, max_bins, seed):
    schema, _, back = through(frame, max_bins, seed)
    assert back.schema == frame.schema
    assert back.select(pl.all().is_null()).equals(frame.select(pl.all().is_null()))
    exact = [schema.names[j] for j in exact_columns(schema)]
    assert back.select(exact).equals(frame.select(exact))


@given(numpy_tables(), MAX_BINS, SEEDS)
@settings(max_examples=100)
def test_numpy(table, max_bins, seed):
    schema, _, back = through(table, max_bins, seed)
    assert back.dtype == table.dtype
    for j in exact_columns(schema):
        np.testing.assert_array_equal(back[:, j], table[:, j])


def test_pyarrow():
    table = pa.table(
        {
            "n": pa.array([3, None, 5], pa.int16()),
            "x": [0.5, 1.5, None],
            "s": ["a", None, "b"],
            "large": pa.array(["a", None, "b"], pa.large_string()),
            "d": pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), ["u", "v"]),
            "day": pa.array([1, None, 3], pa.date32()),
            "span": pa.array([1, None, 3], pa.duration("ms")),
            "t": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
            "nothing": pa.nulls(3),
        }
    )
    _, _, back = through(table, 255, 0)
    assert back.to_pylist() == table.to_pylist()
    assert back.schema == table.schema


def test_polars_nan_is_missing():
    schema, codes, back = through(pl.DataFrame({"x": [1.0, float("nan"), None]}), 255, 0)
    assert codes.ravel().tolist() == [1, 0, 0]
    assert back["x"].to_list() == [1.0, None, None]
    assert schema.columns[0].codec.missing_code == 0


def test_large_integers_keep_every_digit():
    frame = pd.DataFrame({"n": pd.array([2**62 + 1, None, 2**62 + 3], dtype="Int64")})
    _, _, back = through(frame, 255, 0)
    pd.testing.assert_frame_equal(back, frame)


def test_unused_categories_have_no_code_and_stay_declared():
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"c": pd.Series(["high", "low"], dtype=dtype)})
    schema, codes, back = through(frame, 255, 0)
    assert schema.domain.sizes == (2,)
    assert schema.domain.ordered == (True,)
    assert codes.ravel().tolist() == [1, 0]
    assert back["c"].dtype == dtype


def test_numpy_scalars_among_objects_are_what_they_hold():
    column = pd.Series([np.bool_(True), False, np.bool_(False)], dtype=object)
    _, codes, back = through(pd.DataFrame({"b": column, "s": np.array(["x", "y", "x"], object)}), 255, 0)
    assert codes[:, 0].tolist() == [1, 0, 0]
    assert back["b"].tolist() == [True, False, False]


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_a_table():
    matrix = np.asmatrix([[1.5, 2.0], [2.5, 3.0]])
    assert encode(Schema.infer(matrix), matrix).tolist() == [[0, 0], [1, 1]]


def test_missing_object_sentinels_come_back():
    frame = pd.DataFrame({"s": pd.Series(["a", pd.NA], dtype=object), "n": pd.Series([1, np.nan], dtype=object)})
    _, _, back = through(frame, 255, 0)
    assert back["s"][1] is pd.NA
    assert isinstance(back["n"][1], float)
    assert type(back["n"][0]) is int


def test_prices_keep_their_cents_and_zeros():
    rng = np.random.default_rng(0)
    price = np.where(rng.random(20_000) < 0.92, 0, np.round(rng.exponential(50, 20_000), 2))
    schema, _, back = through(pd.DataFrame({"price": price}), 255, 1)
    assert schema.domain.code_dtype == np.uint8
    np.testing.assert_array_equal(back["price"] == 0, price == 0)
    assert np.array_equal(np.round(back["price"], 2), back["price"])
    assert abs(back["price"].mean() / price.mean() - 1) < 0.02
    assert schema.columns[0].why.endswith("quantile bins on a grid of 0.01, 1 atom")


def test_whole_days_stay_whole_days():
    days = pd.Series(pd.date_range("2020-01-01", periods=1000, unit="ns"))
    schema, _, back = through(pd.DataFrame({"day": days}), 255, 0)
    assert (back["day"].dt.normalize() == back["day"]).all()
    assert schema.columns[0].why == ("datetime with 1,000 distinct values: 255 quantile bins on a grid of 1 day")


def test_many_codes_need_uint16():
    schema, codes, back = through(np.arange(1000).reshape(-1, 1), 1000, 0)
    assert isinstance(schema.columns[0].codec, Levels)
    assert codes.dtype == np.uint16
    assert back.ravel().tolist() == list(range(1000))


@pytest.mark.parametrize("cell", [None, np.nan, 3.5, "a", True])
def test_constant_and_empty_columns_have_one_code(cell):
    schema, codes, back = through(pd.DataFrame({"c": [cell, cell]}), 255, 0)
    assert schema.domain.sizes == (1,)
    assert codes.ravel().tolist() == [0, 0]
    pd.testing.assert_frame_equal(back, pd.DataFrame({"c": [cell, cell]}))


def test_no_rows_decode_to_no_rows():
    frame = pd.DataFrame({"x": [1.5, np.nan], "s": ["a", "b"], "t": pd.to_datetime(["2020", "2021"])})
    schema = Schema.infer(frame)
    back = decode(schema, encode(schema, frame)[:0], np.random.default_rng(0))
    pd.testing.assert_frame_equal(back, frame.iloc[:0], check_index_type=False)
