"""What a schema decides, says, and refuses."""

import copy
import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost import errors
from energyboost.errors import DataError, ModelFileError, ParameterError
from energyboost.model.domain import Domain
from energyboost.tables import Schema


def mixed():
    return pd.DataFrame(
        {
            "age": [30, 40, 30, 50],
            "city": ["Rome", "Oslo", None, "Rome"],
            "size": pd.Categorical(["S", "L", "S", "S"], categories=["S", "M", "L"], ordered=True),
            "smoker": [True, False, True, True],
        }
    )


def test_the_domain_follows_the_columns():
    schema = Schema.infer(mixed())
    assert schema.domain == Domain((3, 3, 2, 2), (True, False, True, False))
    assert schema.domain.log_volume == pytest.approx(np.log(36))
    assert schema.names == ("age", "city", "size", "smoker")


def test_too_many_columns_are_refused():
    with pytest.raises(DataError, match="the table has 65,537 columns, more than 65,536: keep those you need"):
        Schema.infer(np.zeros((1, 65_537)))


def test_a_schema_prints_what_it_decided_and_why():
    lines = str(Schema.infer(mixed())).split("\n")
    assert lines[0].split() == ["column", "type", "codec", "codes", "why"]
    assert lines[2].split("  ")[-1] == "text with 2 distinct values: one level each, and one for missing"
    assert lines[3].split("  ")[-1] == "ordered category with 2 distinct values: one level each"
    assert len({line.index(word) for line, word in zip(lines, ["why", "num", "text"], strict=False)}) == 1


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.arange(9), "5 quantile bins of whole numbers"),
        (np.arange(9) / 8, "on a grid of 0.125"),
        (np.arange(9) * 1000, "on a grid of 1,000"),
        (np.sqrt(np.arange(9)), "5 quantile bins"),
        (np.arange(9) * np.timedelta64(15, "m"), "on a grid of 15 minutes"),
        (np.arange(9).astype("M8[D]"), "on a grid of 1 day"),
        (np.arange(9) * np.timedelta64(2, "ms"), "on a grid of 2 ms"),
    ],
)
def test_the_reason_names_the_grid(values, why):
    column = Schema.infer(values.reshape(-1, 1), max_bins=5).columns[0]
    assert why in column.why


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([7, 7], "constant number: one level"),
        ([7, None], "constant number: one level, and one for missing"),
        (["a", "a"], "constant text: one level"),
        ([None, None], "text with no values: every cell is missing"),
    ],
)
def test_the_reason_says_that_a_column_is_constant(values, why):
    assert Schema.infer(np.array(values, object).reshape(-1, 1)).columns[0].why == why


@pytest.mark.parametrize(("size", "dtype"), [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65_536, "uint16")])
def test_codes_take_the_smallest_dtype(size, dtype):
    assert Domain((2, size), (True, True)).code_dtype == dtype


@pytest.mark.parametrize("sizes", [(0,), (65_537,), (2, 2)])
def test_impossible_domains_are_refused(sizes):
    with pytest.raises(ValueError, match=r"1 to 65,536|flags in `ordered`"):
        Domain(sizes, (True,))


def test_columns_are_found_by_name_and_suggested():
    schema = Schema.infer(mixed())
    assert schema.index_of("size") == 2
    with pytest.raises(DataError, match=r"unknown column 'cty'; the columns are 'age'.*mean 'city'\?"):
        schema.index_of("cty")
    with pytest.raises(DataError, match=r"'smoker'$"):
        schema.index_of("zzz")
    with pytest.raises(DataError, match="asked for by its name; got Series: 0 "):
        schema.index_of(mixed()["city"])
    with pytest.raises(DataError, match="asked for by its name; got ndarray: "):
        schema.index_of(np.zeros(3))
    with pytest.raises(DataError, match="asked for by its name; got bool: True"):
        schema.index_of(True)
    with pytest.raises(DataError, match="unknown column 2"):
        schema.index_of(2)


def test_columns_of_an_array_are_found_by_position_too():
    schema = Schema.infer(np.zeros((4, 3)))
    assert [schema.index_of(name) for name in ("x2", 2, -1, np.int64(0))] == [2, 2, 2, 0]
    for outside in (3, -4):
        with pytest.raises(DataError, match=f"unknown column {outside}; the columns are 'x0', 'x1', 'x2'"):
            schema.index_of(outside)


NOT_A_TABLE = [
    ([[1, 2]], r"not builtins\.list"),
    (pd.Series([1]), r"not pandas.*Series: one column is column\.to_frame\(\)"),
    ("rows.csv", "not builtins.str: read the file first"),
    (pl.DataFrame({"a": [1]}).lazy(), r"LazyFrame: collect\(\) it first"),
    (np.zeros(3), "this array has 1. Reshape your data"),
    (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required: give it a column"),
    (np.zeros((0, 2)), "no rows: there is nothing"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column is called 'a': rename or drop"),
    (np.ma.masked_invalid([[1.0, np.nan]]), r"masked arrays are not read: fill the mask, .*filled"),
    (pd.DataFrame({True: [1], "b": [2]}), "not by True: rename"),
    (None, "not None: make it one"),
    (pa.table([[1], [2]], names=["a", "a"]), "more than one column is called 'a': rename or drop"),
    (pd.DataFrame({("a", "b"): [1]}), r"not by \('a', 'b'\): rename"),
]
BAD_COLUMN = [
    ([1.0, np.inf], "'c' is infinite in row 1: replace it"),
    (["a", 3], r"'c' mixes string \(row 0\) and number \(row 1\): make it one"),
    ([True, None, 2.5], r"'c' mixes boolean \(row 0\) and number \(row 2\)"),
    ([None, Decimal(1)], r"'c' holds objects of type decimal.Decimal \(row 1\): turn it into"),
    ([None, [1]], r"'c' holds objects of type builtins.list \(row 1\)"),
    (pd.Series([None, dt.date(2020, 1, 1)]), r"type datetime.date \(row 1\): convert it with pandas.to_date"),
    (
        pd.Series([pd.Timestamp("2020", tz="UTC")], dtype=object),
        r"type pandas.*Timestamp.*: convert it with pandas.to_d",
    ),
    (pd.Series([1j, 2]), "'c' has dtype complex128, which is not supported: turn it into"),
    (pd.Series([2**63], dtype="uint64"), r"'c' has 9223372036854775808 in row 0, beyond 2\*\*63 - 1: cast"),
    (pd.Series([10**30], dtype=object), "'c' holds numbers too large for 64 bits: cast it to float"),
    (pd.cut([1, 2], 2), "'c' has categories of type Interval .*: make them strings"),
    (pd.Series(pd.period_range("2020", periods=2, freq="M")), r"'c' has dtype period\[M\], .*turn it into"),
]


@pytest.mark.parametrize(("frame", "message"), NOT_A_TABLE)
def test_what_is_not_a_table_is_refused(frame, message):
    with pytest.raises(DataError, match=message):
        Schema.infer(frame)


@pytest.mark.parametrize(("values", "message"), BAD_COLUMN)
def test_a_column_without_a_codec_is_refused(values, message):
    with pytest.raises(DataError, match=message):
        Schema.infer(pd.DataFrame({"good": [1] * len(values), "c": values}))


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        ([{"a": 1}], pl.Struct({"a": pl.Int64}), r"'c' has dtype Struct, which is not supported: turn"),
        ([[1]], pl.List(pl.Int64), "'c' has dtype List"),
        ([None], pl.List(pl.Int64), "'c' has dtype List"),
        ([dt.time(1)], pl.Time, "'c' has dtype Time"),
        ([b"x"], pl.Binary, "'c' has dtype Binary"),
        ([[1, 2]], pl.Array(pl.Int64, 2), "'c' has dtype Array"),
        ([1], pl.Int128, "'c' has dtype Int128: cast it to Int64"),
        ([object()], pl.Object, "'c' has dtype Object"),
    ],
)
def test_a_polars_column_without_a_codec_is_refused(values, dtype, message):
    with pytest.raises(DataError, match=message):
        Schema.infer(pl.DataFrame({"c": pl.Series(values, dtype=dtype)}))


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [
        ("M8[M]", r"cast it to M8\[s\]"),
        ("m8[25s]", r"cast it to m8\[s\]"),
        ("c16", "Complex data not supported: make it two columns"),
        ("S3", "not supported: turn"),
    ],
)
def test_an_array_without_a_codec_is_refused(dtype, remedy):
    with pytest.raises(DataError, match=rf"'x0' has dtype .*{remedy}"):
        Schema.infer(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize(("gap", "codec"), [([], "Levels"), ([np.nan], "QuantileBins")])
def test_missing_counts_towards_max_bins(gap, codec):
    column = Schema.infer(pd.DataFrame({"c": [1.5, 2.5, 3.5, 4.5, *gap]}), max_bins=4).columns[0]
    assert type(column.codec).__name__ == codec


def test_too_many_levels_are_refused_with_remedies():
    frame = pd.DataFrame({"note": [f"text {i % 1200}" for i in range(2400)]})
    with pytest.raises(DataError, match=r"'note' has 1,200 distinct levels, .*1,000: it looks like an id .*'drop'"):
        Schema.infer(frame)
    assert Schema.infer(frame, max_levels=np.int64(1200)).domain.sizes == (1200,)


def test_text_that_hardly_repeats_is_refused_as_an_id():
    notes = [f"text {i}" for i in range(120)]
    with pytest.raises(
        DataError, match=r"'note' has 120 distinct texts in 120 rows: .* id or free text.*ids=\['note'\]"
    ):
        Schema.infer(pd.DataFrame({"note": notes}))
    for frame in (  # followed: it is a category; or it does repeat; or there are few of them
        pd.DataFrame({"note": notes}).astype("category"),
        pd.DataFrame({"note": notes * 2}),
        pd.DataFrame({"note": notes[:50]}),
    ):
        assert Schema.infer(frame).domain.ordered == (False,)


@pytest.mark.parametrize(
    "limits",
    [{"max_bins": 1}, {"max_bins": 65_536}, {"max_bins": 2.0}, {"max_bins": True}, {"max_levels": 0}],
)
def test_impossible_limits_are_refused(limits):
    (name,) = limits
    with pytest.raises(ParameterError, match=f"{name} is a whole number from"):
        Schema.infer(mixed(), **limits)


def damage(*path_and_value):
    *path, last, value = path_and_value
    frame = mixed().assign(id=[1, 2, 3, 4], key=["a", "b", "c", "d"])
    schema = Schema.infer(frame[["id", *mixed(), "key"]], ids=["id"], overrides={"key": "drop"})
    state = copy.deepcopy(schema.to_json())
    place = state
    for step in path:
        place = place[step]
    place[last] = value
    return state


@pytest.mark.parametrize(
    "state",
    [
        {},
        [],
        None,
        damage("kind", "spreadsheet"),
        damage("columns", []),
        damage("columns", 3),
        damage("columns", 0, "name", None),
        damage("columns", 0, "name", "city"),
        damage("columns", 0, "codec", "codec", "Pickle"),
        damage("columns", 0, "codec", "codec", "Categories"),
        damage("columns", 0, "codec", "values", [3, 1, 2]),
        damage("columns", 0, "codec", "values", [2**70]),
        damage("columns", 0, "codec", "values", list(range(70_000))),
        damage("columns", 0, "codec", "missing", "yes"),
        damage("columns", 1, "type", "kind", "number"),
        damage("columns", 1, "type", "colour", "red"),
        damage("columns", 0, "type", "unit", "s"),
        damage(
            "columns", 0, "codec", {"codec": "NumberCategories", "levels": ["a"], "missing": False, "dtype": "int64"}
        ),
        damage("columns", 0, "codec", {"codec": "NumberCategories", "levels": [1], "missing": False, "dtype": "M8"}),
        damage("columns", 1, "codec", {"codec": "NumberCategories", "levels": [1], "missing": False, "dtype": "int64"}),
        damage("columns", 1, "codec", {"codec": "FrequentCategories", "levels": ["a"], "missing": False}),
        damage("left_out", None),
        damage("left_out", 0, "name", "city"),
        damage("left_out", 0, "name", None),
        damage("left_out", 0, "place", 9),
        damage("left_out", 0, "place", "0"),
        damage("left_out", 1, "place", 0),
        damage("left_out", 0, "next", 1.5),
        damage("left_out", 0, "type", "kind", "boolean"),
        damage("left_out", 0, "why", 3),
    ],
)
def test_a_damaged_schema_is_refused(state):
    with pytest.raises(ModelFileError, match=r"the schema is damaged .*: get the file again"):
        Schema.from_json(state)


def test_importing_the_tables_imports_no_frame_library():
    # an empty package in place of energyboost, whose other parts may import what they like
    script = (
        "import sys, types; package = sys.modules['energyboost'] = types.ModuleType('energyboost'); "
        f"package.__path__ = {[str(Path(errors.__file__).parent)]}; import energyboost.tables; "
        "sys.exit(' '.join({'pandas', 'polars', 'pyarrow'} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
