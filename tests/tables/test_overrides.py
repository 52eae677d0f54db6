"""What can be asked for single columns: ids, dropped columns, codecs; and what is refused."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energyboost.errors import DataError, ParameterError
from energyboost.tables import (
    FrequentCategories,
    Levels,
    NumberCategories,
    QuantileBins,
    Schema,
    decode,
    encode,
    encode_query,
    levels,
)
from tests.strategies import pandas_frames


def orders():
    return pd.DataFrame(
        {
            "id": [7, 8, 9, 10, 11, 12],
            "size": ["mid", "low", "mid", "high", "low", "mid"],
            "city": ["Rome", "Rome", "Oslo", "Bonn", "Rome", "Oslo"],
            "class": np.array([0, 2, 1, 0, 2, 0], "int16"),
            "price": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
            "note": [b"raw", b"bytes", b"", b"", b"", b""],
            "key": ["k-1", "k-2", "k-3", "k-4", "k-5", "k-6"],
        }
    )


ASKED = {
    "size": {"ordered": ["low", "mid", "high", "huge"]},
    "city": {"levels": 1},
    "class": "category",
    "price": {"bins": 3},
    "note": "drop",
    "key": "id",
}


def through(frame, **asked):
    schema = Schema.infer(frame, **asked)
    restored = Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
    assert restored == schema
    codes = encode(restored, frame)
    back = decode(restored, codes, np.random.default_rng(0))
    return restored, codes, back


def test_every_column_becomes_what_was_asked():
    schema, codes, back = through(orders(), ids=["id"], overrides=ASKED)
    assert schema.names == ("size", "city", "class", "price")
    assert [type(c.codec).__name__ for c in schema.columns] == [
        "OrderedLevels", "FrequentCategories", "NumberCategories", "QuantileBins",
    ]  # fmt: skip
    assert all(c.why.endswith("(as asked)") for c in schema.columns)
    assert codes[:, 0].tolist() == [1, 0, 1, 2, 0, 1]
    assert codes[:, 1].tolist() == [0, 0, 1, 1, 0, 1]
    assert list(back) == ["id", "size", "city", "class", "price", "key"]
    pd.testing.assert_series_equal(back.dtypes, orders().drop(columns="note").dtypes)
    assert back["id"].tolist() == [13, 14, 15, 16, 17, 18]
    assert back["key"].tolist() == ["key-1", "key-2", "key-3", "key-4", "key-5", "key-6"]
    assert back["city"].tolist() == ["Rome", "Rome", "other", "other", "Rome", "other"]
    pd.testing.assert_frame_equal(back[["size", "class"]], orders()[["size", "class"]])
    assert (encode(schema, back.drop(columns=["id"])) == codes).all()


def test_the_schema_says_what_was_left_out():
    lines = str(Schema.infer(orders(), ids=["id"], overrides=ASKED)).split("\n")
    assert [line.split()[0] for line in lines] == ["column", *orders()]
    assert lines[1].endswith("id: left out, and made anew from 13 on")
    assert lines[6].endswith("dropped (as asked)")
    assert lines[7].endswith("made anew as 'key-1', 'key-2', ...")


def test_queries_may_have_what_was_left_out_or_not():
    schema = Schema.infer(orders(), ids=["id"], overrides=ASKED)
    expected = encode(schema, orders())
    for frame in (orders()[["price", "class", "city", "size"]], orders().assign(id="anything", key=1j, note=None)):
        np.testing.assert_array_equal(encode(schema, frame), expected)
        np.testing.assert_array_equal(encode_query(schema, frame).codes, expected)
    with pytest.raises(DataError, match="the model knows nothing of column 'key'; id: left out"):
        schema.index_of("key")
    with pytest.raises(
        DataError, match=r"array has 4 columns, the training table had 7: 'id', .*; give all of them, or"
    ):
        encode(schema, orders()[["size", "city", "class", "price"]].to_numpy())


def test_columns_of_an_array_stay_where_they_were():
    table = np.array([[5.0, 1.5, 0.0], [6.0, 2.5, 1.0], [7.0, 1.5, 1.0]])
    schema, codes, back = through(table, ids=[0], overrides={-1: "category", "x1": {"codec": "Levels"}})
    assert schema.names == ("x1", "x2")
    assert [schema.index_of(name) for name in (1, 2, -1, "x2")] == [0, 1, 1, 1]
    assert back.tolist() == [[8.0, 1.5, 0.0], [9.0, 2.5, 1.0], [10.0, 1.5, 1.0]]
    np.testing.assert_array_equal(encode_query(schema, table[:, :2], absent=["x2"]).codes[:, 0], codes[:, 0])
    with pytest.raises(DataError, match="knows nothing of column 'x0'"):
        schema.index_of(0)
    with pytest.raises(ParameterError, match=r"'x1': columns of an array .*numpy.delete\(table, 1, axis=1\)"):
        Schema.infer(table, overrides={1: "drop"})


def test_new_ids_in_an_array_of_text_are_not_cut():
    table = np.array([["a", "u"], ["b", "v"]] * 6)
    _, _, back = through(table, ids=["x0"])
    assert back[-1].tolist() == ["x0-12", "v"]


@pytest.mark.parametrize(
    ("make", "next_ids"),
    [
        (lambda: pd.DataFrame({"id": pd.array([3, None], "UInt8"), "x": [1, 2]}), [4, 5]),
        (lambda: pd.DataFrame({"id": [3.0, np.nan], "x": [1, 2]}), [4, 5]),
        (lambda: pd.DataFrame({"id": pd.Series([3, 9], dtype=object), "x": [1, 2]}), [10, 11]),
        (lambda: pd.DataFrame({"id": pd.array(["a", None], "string"), "x": [1, 2]}), ["id-1", "id-2"]),
        (lambda: pd.DataFrame({"id": pd.array([None, None], "Int64"), "x": [1, 2]}), [1, 2]),
        (lambda: pl.DataFrame({"id": pl.Series([-9, -5], dtype=pl.Int8), "x": [1, 2]}), [-4, -3]),
        (lambda: pl.DataFrame({"id": ["a", "b"], "x": [1, 2]}), ["id-1", "id-2"]),
        (lambda: pa.table({"id": pa.array([2**62, 1], pa.int64()), "x": [1, 2]}), [2**62 + 1, 2**62 + 2]),
        (lambda: pa.table({"id": pa.array(["a", None], pa.large_string()), "x": [1, 2]}), ["id-1", "id-2"]),
    ],
)
def test_ids_go_on_in_their_dtype(make, next_ids):
    _, _, back = through(make(), ids=["id"])
    assert type(back) is type(make())
    if isinstance(back, pd.DataFrame):
        pd.testing.assert_series_equal(back.dtypes, make().dtypes)
        assert back["id"].tolist() == next_ids
    else:
        assert back.schema == make().schema
        assert back["id"].to_pylist() == next_ids if isinstance(back, pa.Table) else back["id"].to_list() == next_ids


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True, False], r"'id' is among the ids and is a boolean \(bool\): ids are whole numbers or text; make it"),
        ([0.5, 1.0], "'id' is among the ids and is not whole numbers"),
        (pd.to_datetime(["2020", "2021"]), "is a datetime"),
        (pd.Categorical(["a", "b"]), "is a category"),
        (np.array([1, 255], "uint8"), "holds 255: uint8 has no whole number above; cast it to int64"),
        ([1, 2**63 - 1], "holds 9223372036854775807: int64 has no"),
    ],
)
def test_what_cannot_be_an_id_is_refused(values, message):
    with pytest.raises(DataError, match=message):
        Schema.infer(pd.DataFrame({"id": values, "x": [1, 2]}), ids=["id"])


@pytest.mark.parametrize(("dtype", "room"), [("int8", 27), ("float16", 1948), ("UInt8", 155)])
def test_ids_end_with_their_dtype(dtype, room):
    schema = Schema.infer(pd.DataFrame({"id": pd.Series([100], dtype=dtype), "x": [1]}), ids=["id"])
    full = decode(schema, np.zeros((room, 1), np.uint8), np.random.default_rng(0))
    assert full["id"].tolist() == list(range(101, 101 + room))
    with pytest.raises(
        DataError, match=f"'id' has room for {room:,} new ids, and {room + 1:,} are needed: {dtype} ends"
    ):
        decode(schema, np.zeros((room + 1, 1), np.uint8), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ids": "id"}, "ids is a list of column names; got 'id'"),
        ({"ids": ["ident"]}, r"ids names a column 'ident' that the table lacks; it has 'id', .*"),
        ({"ids": [True]}, "ids names a column True"),
        ({"overrides": ["id"]}, "schema is a dict from column names to what is asked for"),
        ({"overrides": {"siz": "drop"}}, r"schema names a column 'siz' that the table lacks; .*did you mean 'size'\?"),
        ({"overrides": {"size": "number"}}, "column 'size': what can be asked for is 'drop', .*; got 'number'"),
        ({"overrides": {"size": {"binz": 3}}}, "what can be asked for is"),
        ({"overrides": {"size": {}}}, "what can be asked for is"),
        ({"overrides": {"price": {"bins": 1}}}, "'price': bins is a whole number from 2 to 65,535; got 1"),
        ({"overrides": {"city": {"levels": 0}}}, "'city': levels is a whole number from 1 to"),
        ({"overrides": {"city": {"codec": "Bins"}}}, "'city': codec is one of 'Categories', .*; got 'Bins'"),
        ({"overrides": {"city": {"levels": 3, "bins": 9}}}, "'levels' and 'bins' contradict each other: keep one"),
        ({"overrides": {"price": {"codec": "Levels", "bins": 9}}}, "'codec' and 'bins' contradict"),
        ({"overrides": {"size": {"codec": "Categories", "ordered": True}}}, "'codec' and 'ordered' contradict"),
        ({"overrides": {"size": {"ordered": "low"}}}, r"ordered is True .*; got 'low'"),
        ({"overrides": {"size": {"ordered": ["low", "low"]}}}, "ordered is True"),
        ({"overrides": {"size": {"ordered": False}}}, "ordered is True"),
        (
            {"overrides": {"size": {"ordered": ["low", "mid"]}}},
            "level 'high' occurs in the table, and not in 'ordered'",
        ),
        (
            {"overrides": {"size": {"bins": 9}}},
            r"'size': a string \(.*\) cannot have bins=9; possible are 'ordered', 'levels', codec 'Categories' or 'Ord",
        ),
        (
            {"overrides": {"price": {"levels": 9}}},
            r"'price': a number \(float64\) cannot have levels=9; possible are 'bins', codec 'Levels' or 'Q",
        ),
        ({"overrides": {"price": {"ordered": True}}}, "'price': a number .* cannot have codec 'OrderedLevels'"),
        ({"overrides": {"city": {"codec": "Levels"}}}, "'city': a string .* cannot have codec 'Levels'"),
        ({"ids": ["id"], "overrides": {"id": "drop"}}, "column 'id' is among the ids, and schema asks something else"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(asked, message):
    with pytest.raises(ParameterError, match=message):
        Schema.infer(orders().drop(columns="note"), **asked)


def test_a_column_cannot_be_named_twice():
    with pytest.raises(ParameterError, match="schema names column 'x1' twice"):
        Schema.infer(np.zeros((2, 2)), overrides={1: "id", "x1": "id"})


def test_an_id_may_be_asked_for_in_both_ways():
    assert Schema.infer(orders()[["id", "size"]], ids=pd.Index(["id"]), overrides={"id": "id"}).names == ("size",)


def test_a_model_needs_a_column():
    with pytest.raises(DataError, match=r"every column is left out .*: leave at least one"):
        Schema.infer(orders()[["id", "note"]], ids=["id"], overrides={"note": "drop"})


NUMBERS = {
    "int8": np.array([3, 1, 3, 2], "int8"),
    "float32": np.array([0.1, 0.7, 0.1, 1e30], "float32"),
    "Int64": pd.array([2**62 + 1, None, 5, 5], "Int64"),
    "zoned": pd.to_datetime(["2020", "2021", "2020", None]).tz_localize("Europe/Rome"),
    "span": pd.to_timedelta([1, 2, 2, 1], "D"),
    "day": pd.array([dt.date(2020, 1, 1), None] * 2, "date32[day][pyarrow]"),
    "object": pd.Series([1, 2, None, 1], dtype=object),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_as_labels_come_back_exactly(name):
    frame = pd.DataFrame({"c": NUMBERS[name]})
    schema, codes, back = through(frame, overrides={"c": "category"})
    assert isinstance(schema.columns[0].codec, NumberCategories)
    assert schema.domain.ordered == (False,)
    pd.testing.assert_frame_equal(back, frame)
    assert (encode(schema, back) == codes).all()
    assert len(levels(schema, 0)) == frame["c"].nunique()


def test_numbers_as_labels_have_nothing_in_between():
    schema = Schema.infer(pd.DataFrame({"c": [0, 1], "f": np.array([0.1, 0.2], "f4")}), overrides={"c": "category"})
    assert encode(schema, pd.DataFrame({"c": [True, False], "f": [0.1, 0.2]}))[:, 0].tolist() == [1, 0]
    assert encode(schema, pd.DataFrame({"c": [1.0, 0.0], "f": [0.1, 0.2]}))[:, 0].tolist() == [1, 0]
    with pytest.raises(DataError, match=r"column 'c', row 1: level 0.5 did not occur .*; the levels are 0, 1: map"):
        encode(schema, pd.DataFrame({"c": [1.0, 0.5], "f": [0.1, 0.2]}))
    floats = Schema.infer(pd.DataFrame({"f": np.array([0.1, 0.2], "f4")}), overrides={"f": "category"})
    assert encode(floats, pd.DataFrame({"f": [0.2, 0.1]})).tolist() == [[1], [0]]  # as float32
    days = Schema.infer(np.array([["2020-01-01"], ["2020-01-02"]], "M8[D]"), overrides={"x0": "category"})
    with pytest.raises(DataError, match=r"level '2020-01-03' did not .* '2020-01-01', '2020-01-02': map"):
        encode(days, np.array([["2020-01-03"]], "M8[D]"))
    with pytest.raises(DataError, match="'x0' has 9 distinct values, more than max_levels=5: leave it a number"):
        Schema.infer(np.arange(9).reshape(-1, 1), max_levels=5, overrides={0: "category"})


def test_a_column_may_have_its_own_number_of_bins():
    table = np.stack([np.arange(100), np.arange(100)], axis=1)
    schema = Schema.infer(table, max_bins=10, overrides={0: {"bins": 50}, 1: {"codec": "Levels"}})
    assert schema.domain.sizes == (50, 100)
    assert isinstance(schema.columns[1].codec, Levels)
    few = Schema.infer(table[:5], overrides={0: {"codec": "QuantileBins"}, 1: {"bins": 9}})
    assert [type(c.codec) for c in few.columns] == [QuantileBins, Levels]
    with pytest.raises(DataError, match="needs 70,000 codes, more than 65,536: leave it quantile bins"):
        Schema.infer(np.arange(70_000).reshape(-1, 1), overrides={0: {"codec": "Levels"}})


def test_labels_may_be_sorted_or_freed_of_their_order():
    dtype = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"size": pd.Series(["L", "S", "M"], dtype=dtype), "name": ["b", "a", "c"]})
    asked = {"size": "category", "name": {"ordered": True}}
    schema, codes, back = through(frame, overrides=asked)
    assert schema.domain.ordered == (False, True)
    assert codes.tolist() == [[2, 1], [0, 0], [1, 2]]
    pd.testing.assert_frame_equal(back, frame)
    _, codes, back = through(frame, overrides={"size": {"ordered": ["L", "M", "S"]}})
    assert codes[:, 0].tolist() == [0, 2, 1]
    pd.testing.assert_frame_equal(back, frame)
    _, codes, back = through(pd.DataFrame({"b": [True, False]}), overrides={"b": {"ordered": [1, 0]}})
    assert codes.tolist() == [[0], [1]]
    assert back["b"].tolist() == [True, False]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a", "b", "c", None, "d"]),
        pd.Series(["b", "a", "b", "c", None, "d"], dtype="category"),
        pl.Series(["b", "a", "b", "c", None, "d"], dtype=pl.Enum(["a", "b", "c", "d"])),
        pl.Series(["b", "a", "b", "c", None, "d"], dtype=pl.Categorical),
        pa.array(["b", "a", "b", "c", None, "d"]).dictionary_encode(),
    ],
    ids=["text", "category", "Enum", "Categorical", "dictionary"],
)
def test_rare_levels_become_one(column):
    library = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)
    schema, codes, back = through(library({"c": column}), overrides={"c": {"levels": 2}})
    codec = schema.columns[0].codec
    assert isinstance(codec, FrequentCategories)
    assert codec.levels == ("a", "b", "other")  # of those as frequent, the first by name
    assert codes.ravel().tolist() == [1, 0, 1, 2, 3, 2]
    cells = back["c"].to_pylist() if library is pa.table else list(back["c"])
    assert cells[:4] == ["b", "a", "b", "other"]
    assert cells[4] is None or cells[4] is np.nan
    assert encode(schema, library({"c": ["never seen", "b"]})).ravel().tolist() == [2, 1]
    if library is pd.DataFrame and column.dtype == "category":
        assert back["c"].dtype.categories.tolist() == ["a", "b", "c", "d", "other"]
    if library is pl.DataFrame and column.dtype == pl.Enum:
        assert back["c"].dtype == pl.Enum(["a", "b", "c", "d", "other"])


def test_a_level_called_other_joins_the_rest():
    table = np.array(["other"] * 3 + ["a"] * 2 + ["b", "c"], dtype=object).reshape(-1, 1)
    schema = Schema.infer(table, overrides={0: {"levels": 2}})
    assert schema.columns[0].codec.levels == ("a", "other")
    assert encode(schema, table).ravel().tolist() == [1, 1, 1, 0, 0, 1, 1]
    enough = Schema.infer(table, overrides={0: {"levels": 4}})
    assert enough.columns[0].codec.levels == ("a", "b", "c", "other")
    with pytest.raises(DataError, match="level 'd' did not occur"):
        encode(enough, np.array([["d"]], dtype=object))
    with pytest.raises(ParameterError, match="column 'c': its levels are not text"):
        Schema.infer(pd.DataFrame({"c": pd.Categorical([1, 2, 3])}), overrides={"c": {"levels": 2}})


def test_all_ids_and_texts_are_refused_at_once():
    frame = pd.DataFrame(
        {
            "id": [f"id {i % 90}" for i in range(150)],
            "x": range(150),
            "note": [f"text {i % 80}" for i in range(150)],
            "street": pd.Categorical([f"street {i}" for i in range(150)]),
        }
    )
    message = (
        r"^column 'id' has 90 distinct texts in 150 rows; column 'note' has 80 .*; column 'street' has 150 distinct "
        r"levels, more than max_levels=100: they look like ids or free text, .*schema=\{'id': 'drop'\}.*ids=\['id'\].*"
        r"schema=\{'id': \{'levels': 20\}\}"
    )
    with pytest.raises(DataError, match=message):
        Schema.infer(frame, max_levels=100)
    asked = {"note": "drop", "street": {"levels": 20}}
    assert Schema.infer(frame, max_levels=100, ids=["id"], overrides=asked).names == ("x", "street")
    asked = {"id": "category", "note": {"ordered": True}}
    assert Schema.infer(frame, overrides=asked).domain.sizes == (90, 150, 80, 150)


@given(pandas_frames(), st.data())
@settings(max_examples=100)
def test_whatever_is_asked_for_codes_lead_back_to_themselves(frame, data):
    possible = ["category", "id", {"bins": 3}, {"ordered": True}, {"levels": 1}, {"codec": "Levels"}]
    possible += [{"codec": "QuantileBins"}, None]
    drawn = {name: data.draw(st.sampled_from(possible)) for name in frame}
    asked = {}
    for name, options in drawn.items():
        try:
            alone = Schema.infer(frame[[name]].assign(also=0), overrides={name: options})
            for left_out in alone.left_out:
                left_out.values(len(frame))  # there may be no room for as many new ids
        except (ParameterError, DataError):
            continue
        asked[name] = options
    schema, codes, back = through(frame.assign(also=0), overrides=asked)
    assert list(back) == [*frame, "also"]
    assert (encode(schema, back) == codes).all()
    for name in frame:
        if asked.get(name) != {"levels": 1}:  # a declaration of categories has a new one then
            assert back[name].dtype == frame[name].dtype
