"""Queries: columns matched by name, gaps marked, and refusals that say where."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from energyboost.errors import DataError, ParameterError
from energyboost.tables import (
    Schema,
    decode,
    decode_column,
    encode,
    encode_query,
    encode_values,
    levels,
    numbers_to_values,
)


def people():
    return pd.DataFrame(
        {
            "age": [30, 40, 50, 60],
            "city": ["Rome", "Oslo", "Rome", "Bonn"],
            "bmi": [20.5, np.nan, 30.0, 25.0],
            "born": pd.to_datetime(["1990-01-01", "1980-05-05", "1970-01-01", "1960-01-01"]),
        }
    )


SCHEMA = Schema.infer(people())


def test_columns_are_matched_by_name_in_any_order_and_any_library():
    expected = encode(SCHEMA, people())
    shuffled = people()[["born", "bmi", "city", "age"]]
    np.testing.assert_array_equal(encode(SCHEMA, shuffled), expected)
    np.testing.assert_array_equal(encode(SCHEMA, pl.from_pandas(shuffled)), expected)
    assert expected[:, 2].tolist() == [1, 0, 3, 2]


def test_extra_columns_are_ignored_with_one_warning_at_the_line_that_asked():
    extra = people().assign(id=1, note="x")
    with pytest.warns(
        UserWarning, match="has columns 'id', 'note', which were not there in training and were ignored$"
    ) as w:
        found = encode(SCHEMA, extra)
    assert [warning.filename for warning in w] == [__file__]
    np.testing.assert_array_equal(found, encode(SCHEMA, people()))
    with pytest.warns(
        UserWarning, match="column 'id', which was not .* was ignored; it lacks column 'age', taken as missing"
    ):
        query = encode_query(SCHEMA, people().drop(columns="age").assign(id=1))
    np.testing.assert_array_equal(query.codes[:, 1:], found[:, 1:])


def test_lacking_columns_are_named():
    with pytest.raises(DataError, match=r"lacks columns 'city', 'born'; it has 'age', 'bmi': add what is lacking"):
        encode(SCHEMA, people()[["age", "bmi"]])


def test_a_query_marks_what_is_not_known():
    frame = people().drop(columns="age").astype({"city": object})
    frame.loc[1, "city"] = None
    query = encode_query(SCHEMA, frame, absent=["age"])
    assert query.codes[:, 0].tolist() == [0, 0, 0, 0]
    assert query.missing[:, 0].all()
    assert query.missing[:, 1:].sum() == 2
    assert query.missing[1].tolist() == [True, True, True, False]
    assert query.codes[1].tolist() == [0, 0, 0, 2]
    present = encode_query(SCHEMA, people(), absent=["age"])  # there, but not read
    assert present.missing[:, 0].all()


def test_lacking_columns_of_a_query_are_missing():
    frame = people()[["bmi", "age"]].set_axis(list("dcba"))
    query = encode_query(SCHEMA, frame)
    assert query.missing.any(axis=0).tolist() == [False, True, True, True]
    assert query.missing.all(axis=0).tolist() == [False, True, False, True]
    assert query.codes[:, 0].tolist() == [0, 1, 2, 3]
    assert query.index.tolist() == list("dcba")
    gaps = Schema.infer(people().assign(city=["Rome", None, "Oslo", "Rome"]))
    assert encode_query(gaps, people()[["age"]]).codes[0].tolist() == [0, 2, 0, 0]  # the code for missing


def test_a_query_without_any_column_of_the_model_is_refused():
    with pytest.raises(
        DataError, match=r"has none of the columns of the model, 'age', .*; it has 'Age': give at least"
    ):
        encode_query(SCHEMA, people()[["age"]].rename(columns={"age": "Age"}))
    with pytest.raises(DataError, match="it has none: give"):
        encode_query(SCHEMA, people()[[]])
    assert encode_query(SCHEMA, people()[["age"]], absent=["age"]).missing.all()


def test_a_missing_cell_where_none_was_in_training_is_refused():
    frame = people().astype({"age": "Int64"})
    frame.loc[2, "age"] = None
    with pytest.raises(DataError, match=r"column 'age', row 2: the cell is missing, .*: fill it, or drop"):
        encode(SCHEMA, frame)


def test_an_unseen_level_is_refused_or_marginalised():
    frame = people()
    frame.loc[3, "city"] = "Paris"
    message = r"column 'city', row 3: level 'Paris' did not .*'Bonn', 'Oslo', 'Rome': map it to one of them, or fit"
    with pytest.raises(DataError, match=message):
        encode(SCHEMA, frame)
    with pytest.raises(DataError, match=message):
        encode_query(SCHEMA, frame)
    query = encode_query(SCHEMA, frame, unseen="marginalize")
    assert query.missing[:, 1].tolist() == [False, False, False, True]
    with pytest.raises(ParameterError, match="unseen is one of 'error', 'marginalize'; got 'ignore'"):
        encode_query(SCHEMA, frame, unseen="ignore")


def test_values_for_an_all_missing_column_are_refused():
    schema = Schema.infer(pd.DataFrame({"x": [np.nan, np.nan]}))
    with pytest.raises(DataError, match="column 'x', row 1: every cell was missing in training: make it"):
        encode(schema, pd.DataFrame({"x": [np.nan, 2.0]}))


def test_arrays_are_matched_by_position():
    table = np.arange(12.0).reshape(4, 3)
    schema = Schema.infer(table)
    assert encode_query(schema, table[:, [0, 2]], absent=["x1"]).codes[:, [0, 2]].tolist() == [[i, i] for i in range(4)]
    assert encode_query(schema, table, absent=["x1"]).missing.sum() == 4
    assert encode(schema, pd.DataFrame(table, columns=["x0", "x1", "x2"])).tolist() == encode(schema, table).tolist()
    with pytest.raises(DataError, match=r"array has 2 columns, the model has 3: 'x0', .*; give all"):
        encode(schema, table[:, :2])
    with pytest.raises(DataError, match=r"array has 1 columns, the model has 3"):
        encode_query(schema, table[:, :1], absent=["x1"])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("age", ["x"] * 4, r"'age' was a number \(int64\) in training and is a string \(.*\) now: convert"),
        ("city", pd.to_datetime(["2020"] * 4), "'city' was a string .* is a datetime"),
        ("born", [1, 2, 3, 4], "'born' was a datetime .* is a number"),
        ("born", pd.to_timedelta([1, 2, 3, 4]), "'born' was a datetime .* is a duration"),
        (
            "born",
            pd.to_datetime(["2020"] * 4).tz_localize("UTC"),
            "'born' had time zone None .* UTC now: set or",
        ),
        ("bmi", [1.0, 2.0, -np.inf, np.inf], "'bmi' is infinite in row 2: replace it"),
    ],
)
def test_a_query_of_another_type_is_refused(column, values, message):
    with pytest.raises(DataError, match=message):
        encode(SCHEMA, people().assign(**{column: values}))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("age", [30.2, 40.0, 50.0, 1e9]),
        ("age", pd.array([30, 40, 50, 60], dtype="UInt8")),
        ("age", pd.Series([30, 40, 50, 60], dtype=object)),
        ("city", pd.Categorical(["Rome", "Oslo", "Rome", "Bonn"])),
        ("born", pd.Series(people()["born"]).astype("M8[s]")),
        ("born", pd.Series(people()["born"]).astype("M8[ns]")),
        ("born", np.array(["1990-01-01", "1980-05-05", "1970-01-01", "-9999-01-01"], "M8[s]")),
    ],
)
def test_a_query_of_a_kindred_type_is_converted(column, values):
    np.testing.assert_array_equal(encode(SCHEMA, people().assign(**{column: values})), encode(SCHEMA, people()))


def test_times_beyond_the_trained_unit_go_to_the_ends():
    born = people()[["born"]].astype("M8[ns]")
    schema = Schema.infer(born)
    far = pd.DataFrame({"born": np.array(["9999-01-01", "0001-01-01"], "M8[s]")})
    assert encode(schema, far).ravel().tolist() == [3, 0]


def test_polars_dates_answer_for_datetimes_of_the_same_day():
    frame = pl.DataFrame({"t": [dt.datetime(2020, 1, day) for day in (1, 2, 3)]})
    dates = frame.select(pl.col("t").cast(pl.Date))
    assert encode(Schema.infer(frame), dates).tolist() == [[0], [1], [2]]
    assert encode(Schema.infer(dates), frame).tolist() == [[0], [1], [2]]


def test_booleans_may_come_as_zeros_and_ones():
    schema = Schema.infer(pd.DataFrame({"b": [True, False]}))
    assert encode(schema, pd.DataFrame({"b": [0.0, 1.0]})).tolist() == [[0], [1]]
    with pytest.raises(DataError, match=r"column 'b', row 1: level 2 did not occur .* False, True: map it"):
        encode(schema, pd.DataFrame({"b": [0, 2]}))
    number = Schema.infer(pd.DataFrame({"n": [0, 1]}))
    assert encode(number, pd.DataFrame({"n": [True, False]})).tolist() == [[1], [0]]


@pytest.mark.parametrize("frame", [people().iloc[:0], pl.from_pandas(people()).head(0), np.zeros((0, 4))])
def test_no_rows_are_no_codes(frame):
    assert encode(SCHEMA, frame).shape == (0, 4)
    assert encode_query(SCHEMA, frame, absent=["age"]).missing.shape == (0, 4)


def test_a_gap_of_any_type_is_a_gap():
    frame = people().assign(bmi=pd.Series([None] * 4, dtype=object))
    assert encode(SCHEMA, frame)[:, 2].tolist() == [0, 0, 0, 0]
    query = encode_query(SCHEMA, frame.assign(city=np.nan, born=np.nan))
    assert query.missing.all(axis=0).tolist() == [False, True, True, True]


def test_single_values_are_encoded():
    assert encode_values(SCHEMA, 1, ["Rome", "Bonn"]).tolist() == [2, 0]
    assert encode_values(SCHEMA, 0, [39, 1000]).tolist() == [1, 3]
    assert encode_values(SCHEMA, 2, [None, 25]).tolist() == [0, 2]
    assert encode_values(SCHEMA, 3, ["1980-05-05", dt.datetime(1960, 1, 1)]).tolist() == [2, 0]
    with pytest.raises(DataError, match="'city', row 0: level 'Nice' did not occur"):
        encode_values(SCHEMA, 1, ["Nice"])
    with pytest.raises(DataError, match="'born' holds datetimes: "):
        encode_values(SCHEMA, 3, ["soon"])


def test_levels_are_the_original_labels():
    assert levels(SCHEMA, 1).tolist() == ["Bonn", "Oslo", "Rome"]
    assert levels(SCHEMA, 2).tolist() == [20.5, 25.0, 30.0]  # missing is no level
    assert levels(SCHEMA, 3).dtype.kind == "M"
    assert levels(Schema.infer(np.array([[True], [False]])), 0).dtype == bool
    with pytest.raises(DataError, match="'x0' has no levels: number with 9 distinct"):
        levels(Schema.infer(np.arange(9).reshape(-1, 1), max_bins=4), 0)


def test_codes_of_one_column_become_values():
    assert decode_column(SCHEMA, 1, np.array([2, 0])).tolist() == ["Rome", "Bonn"]
    assert np.isnan(decode_column(SCHEMA, 2, np.array([0, 1]))).tolist() == [True, False]
    bins = Schema.infer(np.arange(100.0).reshape(-1, 1), max_bins=2)
    assert decode_column(bins, 0, np.array([0, 0]), np.array([0.0, 0.999])).tolist() == [0, 49]


def test_means_of_dates_are_dates():
    means = numbers_to_values(SCHEMA, 3, np.array([0.4, np.nan]))
    assert means[0] == np.datetime64("1970-01-01")
    assert np.isnat(means[1])
    assert numbers_to_values(SCHEMA, 0, np.array([41.5])).tolist() == [41.5]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((2, 3), int), r"codes have shape \(n_rows, 4\) .* not \(2, 3\) int64"),
        (np.zeros((2, 4)), r"an integer dtype, not \(2, 4\) float64"),
        (np.array([[0, 3, 0, 0]]), r"column 'city' has codes outside 0 \.\. 2"),
        (np.array([[0, 0, -1, 0]]), r"column 'bmi' has codes outside 0 \.\. 3"),
    ],
)
def test_impossible_codes_are_refused(codes, message):
    with pytest.raises(DataError, match=message):
        decode(SCHEMA, codes, np.random.default_rng(0))
