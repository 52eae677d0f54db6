"""Rows and columns taken from a frame, and a column put beside one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost import DataError
from energyboost.tables import Schema, decode, encode, open_table, take_columns, take_rows, with_column

FRAME = pd.DataFrame({"a": np.array([1, 2, 3], np.int16), "b": ["u", "v", "u"]}, index=[7, 8, 9])
FRAMES = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "pyarrow": pa.Table.from_pandas(FRAME[["a", "b"]])}
COLUMNS = [np.array([0.5, 1.5, np.nan]), np.array(["x", "y", "y"]), np.array([True, False, True])]


@pytest.mark.parametrize("values", COLUMNS, ids=lambda values: str(values.dtype))
@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_and_a_column_are_the_table_that_has_both(kind, values):
    table = with_column(take_columns(FRAMES[kind], ["a", "b"]), "c", values)
    assert (table.kind, table.names[-3:], table.n_rows) == (kind, ("a", "b", "c"), 3)
    schema = Schema.infer(table)
    rows = decode(schema, encode(schema, table), np.random.default_rng(0))
    assert type(rows) is type(FRAMES[kind])
    whole = FRAME.reset_index(drop=True).assign(c=values)
    found = rows if kind == "pandas" else rows.to_pandas()
    pd.testing.assert_frame_equal(found[["a", "b", "c"]], whole, check_dtype=False)
    assert found["a"].dtype == np.int16


def test_an_array_and_a_column_of_another_dtype_are_not_cast():
    array = np.array([[1, 2], [3, 4]], np.int16)
    table = with_column(array, "c", np.array(["x", "y"]))
    assert [str(table.read(i)[0]) for i in range(3)] == ["int16", "int16", "<U1"]
    schema = Schema.infer(table)
    assert decode(schema, encode(schema, table), np.random.default_rng(0)).tolist() == [[1, 2, "x"], [3, 4, "y"]]
    numbers = Schema.infer(with_column(array, "c", np.array([0.5, 1.5])))
    assert decode(numbers, np.array([[0, 0, 1]]), np.random.default_rng(0)).tolist() == [[1, 2, 1.5]]


def test_rows_of_a_table_are_rows_of_all_its_columns():
    table = take_rows(with_column(FRAME, "c", np.array([5, 6, 7])), np.array([2, 0]))
    assert [table.read(i)[1].values.tolist() for i in range(3)] == [[3, 1], ["u", "u"], [7, 5]]
    assert (table.n_rows, table.index.tolist()) == (2, [9, 7])
    assert open_table(table) is table


def test_columns_of_a_frame_are_taken_in_the_order_asked_for():
    for frame in FRAMES.values():
        assert list(open_table(take_columns(frame, ["b", "no", "a"])).names) == ["b", "a"]
    assert take_columns(FRAME, ["a", "b"]) is FRAME


def test_a_name_that_is_taken_and_a_column_of_another_length_are_refused():
    with pytest.raises(DataError, match="has a column 'a' already: give the new one another name"):
        with_column(FRAME, "a", np.zeros(3))
    with pytest.raises(DataError, match="the table has 3 rows, and there are 2 values of 'c'"):
        with_column(FRAME, "c", np.zeros(2))
