"""What comes back: frames with an index, some columns of one, results beside them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost.errors import DataError
from energyboost.tables import Schema, decode, decode_frame_columns, encode, encode_query, frame_of


def table():
    return pd.DataFrame(
        {
            "city": pd.Series(["Rome", "Oslo", "Rome"], dtype="category"),
            "when": pd.to_datetime(["2020-01-01", "2020-06-01", "2021-01-01"]).tz_localize("Europe/Rome"),
            "n": pd.array([1, None, 2**60 + 1], dtype="Int64"),
        }
    )


INDEXES = [
    pd.RangeIndex(5, 8),
    pd.Index([3, 3, 1], name="row"),
    pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["letter", None]),
    pd.date_range("2020-01-01", periods=3, tz="UTC"),
]


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: type(index).__name__)
def test_a_pandas_index_is_kept(index):
    schema = Schema.infer(table())
    frame = table().set_axis(index)
    query = encode_query(schema, frame)
    pd.testing.assert_index_equal(query.index, index, exact=True)
    back = decode(schema, query.codes, np.random.default_rng(0), query.index)
    pd.testing.assert_frame_equal(back, frame)
    pd.testing.assert_frame_equal(
        decode_frame_columns(schema, [2, 0], query.codes[:, [2, 0]], np.random.default_rng(0), index),
        frame[["n", "city"]],
    )


@pytest.mark.parametrize(
    "make",
    [lambda: pl.DataFrame({"x": [1, 2]}), lambda: pa.table({"x": [1, 2]}), lambda: np.array([[1], [2]])],
    ids=["polars", "pyarrow", "numpy"],
)
def test_other_libraries_have_no_index(make):
    schema = Schema.infer(make())
    query = encode_query(schema, make())
    assert query.index is None
    back = decode(schema, query.codes, np.random.default_rng(0), pd.Index([7, 8]))
    assert type(back) is type(make())
    assert frame_of(schema, {"p": np.array([0.5, 1.0])}, pd.Index([7, 8])) is not None


def test_some_columns_keep_dtypes_and_zones():
    schema = Schema.infer(table())
    codes = encode(schema, table())
    back = decode_frame_columns(schema, [1], codes[:, [1]], np.random.default_rng(0))
    pd.testing.assert_frame_equal(back, table()[["when"]])
    with pytest.raises(DataError, match=r"codes have shape \(n_rows, 1\)"):
        decode_frame_columns(schema, [1], codes, np.random.default_rng(0))


def test_places_inside_bins_may_be_given():
    schema = Schema.infer(np.arange(100).reshape(-1, 1), max_bins=2)
    codes = np.array([[0], [0], [1]])
    back = decode_frame_columns(schema, [0], codes, np.array([[0.0], [0.5], [0.999]]))
    assert back.ravel().tolist() == [0, 25, 99]


def test_results_are_frames_of_the_training_library():
    columns = {
        "p": np.array([0.25, 0.75]),
        "city": np.array(["Rome", None], object),
        "day": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    }
    index = pd.Index([9, 9], name="row")
    expected = pd.DataFrame(columns, index=index)
    pd.testing.assert_frame_equal(frame_of(Schema.infer(table()), columns, index), expected)
    polars = frame_of(Schema.infer(pl.DataFrame({"x": [1]})), columns)
    assert polars.schema == {"p": pl.Float64, "city": pl.String, "day": pl.Date}
    assert polars["city"].to_list() == ["Rome", None]
    arrow = frame_of(Schema.infer(pa.table({"x": [1]})), columns)
    assert arrow.to_pylist()[0] == {"p": 0.25, "city": "Rome", "day": dt.date(2020, 1, 1)}
    plain = frame_of(Schema.infer(np.zeros((1, 1))), columns)
    assert list(plain) == ["p", "city", "day"]
    assert frame_of(Schema.infer(np.zeros((1, 1))), {"p": columns["p"]}).tolist() == [[0.25], [0.75]]
