"""Every dtype of every library, with gaps and without: what comes back has it again, to the last detail."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from energyboost.errors import DataError
from energyboost.tables import QuantileBins, Schema, decode, encode

ZONE = "Europe/Rome"
NEW_IN_PANDAS, NEW_IN_POLARS = {}, {}
if int(pd.__version__.split(".")[0]) >= 3:
    NEW_IN_PANDAS["str with python storage"] = ("city", pd.StringDtype("python", na_value=np.nan))
if hasattr(pl, "Categories"):
    NEW_IN_POLARS["own Categories"] = ("city", pl.Categorical(pl.Categories("towns", "test", pl.UInt8)))
UNITS = ("s", "ms", "us", "ns")
CITIES = ["Rome", "Oslo", "", "Ünna", "nan"]
CATEGORIES = ["z", *CITIES]


def family(make):
    """Return a function from a number of cells to these, all of them different as long as the family has so many."""
    return lambda n, distinct: [make(i % distinct) for i in range(n)]


FAMILIES = {
    "whole": family(lambda i: i),
    "quarter": family(lambda i: i / 4),
    "cents": family(lambda i: Decimal(i - 40) / 100),
    "boolean": family(lambda i: i % 2 == 0),
    "city": family(lambda i: CITIES[i % 5]),
    "day": family(lambda i: dt.date(2020, 1, 1) + dt.timedelta(i)),
    "instant": family(lambda i: dt.datetime(2020, 1, 1) + dt.timedelta(hours=6 * i)),
    "span": family(lambda i: dt.timedelta(minutes=i)),
    "nothing": family(lambda i: None),
}
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TAKES_NO_GAP = {*INTEGERS, "bool"}  # of pandas

ARROW = {
    **{str(getattr(pa, name)()): ("whole", getattr(pa, name)()) for name in INTEGERS},
    "float": ("quarter", pa.float32()),
    "double": ("quarter", pa.float64()),
    "bool": ("boolean", pa.bool_()),
    "string": ("city", pa.string()),
    "large_string": ("city", pa.large_string()),
    "dictionary": ("city", pa.dictionary(pa.int8(), pa.string())),
    "date32": ("day", pa.date32()),
    **{f"timestamp {unit}": ("instant", pa.timestamp(unit)) for unit in UNITS},
    **{f"timestamp {unit} {ZONE}": ("instant", pa.timestamp(unit, ZONE)) for unit in UNITS},
    **{f"duration {unit}": ("span", pa.duration(unit)) for unit in UNITS},
    "null": ("nothing", pa.null()),
    "decimal128": ("cents", pa.decimal128(10, 2)),
    "wide decimal128": ("cents", pa.decimal128(38, 10)),
}
POLARS = {
    **{str(dtype): ("whole", dtype) for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64)},
    **{str(dtype): ("whole", dtype) for dtype in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
    "Float32": ("quarter", pl.Float32),
    "Float64": ("quarter", pl.Float64),
    "Boolean": ("boolean", pl.Boolean),
    "String": ("city", pl.String),
    "Categorical": ("city", pl.Categorical),
    "Enum": ("city", pl.Enum(CATEGORIES)),
    **NEW_IN_POLARS,
    "Date": ("day", pl.Date),
    **{f"Datetime {unit}": ("instant", pl.Datetime(unit)) for unit in UNITS[1:]},
    **{f"Datetime {unit} {ZONE}": ("instant", pl.Datetime(unit, ZONE)) for unit in UNITS[1:]},
    **{f"Duration {unit}": ("span", pl.Duration(unit)) for unit in UNITS[1:]},
    "Null": ("nothing", pl.Null),
    "Decimal": ("cents", pl.Decimal(10, 2)),
    "wide Decimal": ("cents", pl.Decimal(38, 10)),
}
PANDAS = {
    **{name: ("whole", name) for name in INTEGERS},
    **{name: ("whole", name) for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")},
    "float16": ("whole", "float16"),  # too short for a grid of decimals
    **{name: ("quarter", name) for name in ("float32", "float64", "Float32", "Float64")},
    **{name: ("boolean", name) for name in ("bool", "boolean")},
    **{name: ("city", name) for name in ("str", "string", "string[python]", "string[pyarrow]", "object")},
    **NEW_IN_PANDAS,
    "category": ("city", pd.CategoricalDtype(CATEGORIES)),
    "ordered category": ("city", pd.CategoricalDtype(CATEGORIES, ordered=True)),
    **{f"datetime64[{unit}]": ("instant", f"datetime64[{unit}]") for unit in UNITS},
    **{f"datetime64[{unit}, {ZONE}]": ("instant", f"datetime64[{unit}, {ZONE}]") for unit in UNITS},
    **{f"timedelta64[{unit}]": ("span", f"timedelta64[{unit}]") for unit in UNITS},
    **{f"arrow {name}": (kind, pd.ArrowDtype(dtype)) for name, (kind, dtype) in ARROW.items()},
}


def polars_frame(cells, dtype):
    if getattr(dtype, "time_zone", None):
        naive = pl.Series(cells, dtype=pl.Datetime(dtype.time_unit))
        return pl.DataFrame({"c": naive.dt.replace_time_zone(dtype.time_zone)})
    return pl.DataFrame({"c": pl.Series(cells, dtype=dtype)})


LIBRARIES = {
    "pandas": (PANDAS, lambda cells, dtype: pd.DataFrame({"c": pd.Series(cells, dtype=dtype)})),
    "polars": (POLARS, polars_frame),
    "pyarrow": (ARROW, lambda cells, dtype: pa.table({"c": pa.array(cells, dtype)})),
}
CASES = [
    pytest.param(library, name, gaps, id=f"{library} {name}{' with gaps' * gaps}")
    for library, (dtypes, _) in LIBRARIES.items()
    for name in dtypes
    for gaps in (False, True)
    if not (gaps and library == "pandas" and name in TAKES_NO_GAP)
]


def frame_of_dtype(library, name, n, distinct, gaps):
    dtypes, build = LIBRARIES[library]
    kind, dtype = dtypes[name]
    cells = FAMILIES[kind](n, distinct)
    return build([None if gaps and i % 5 == 3 else cell for i, cell in enumerate(cells)], dtype)


def there_and_back(frame, max_bins):
    schema = Schema.infer(frame, max_bins=max_bins)
    schema = Schema.from_json(json.loads(json.dumps(schema.to_json(), allow_nan=False)))
    codes = encode(schema, frame)
    back = decode(schema, codes, np.random.default_rng(0))
    assert (encode(schema, back) == codes).all()
    return schema, back


def assert_equal(back, frame):
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(back, frame)
    elif isinstance(frame, pl.DataFrame):
        assert back.schema == frame.schema
        assert back.equals(frame)
    else:
        assert back.schema == frame.schema
        assert back.to_pylist() == frame.to_pylist()


def column(frame):
    """The cells of the column as Python values, None for the missing ones."""
    if isinstance(frame, pd.DataFrame):
        return [None if pd.isna(cell) else cell for cell in frame["c"]]
    return frame["c"].to_list() if isinstance(frame, pl.DataFrame) else frame["c"].to_pylist()


def dtype_of(frame):
    return frame["c"].type if isinstance(frame, pa.Table) else frame["c"].dtype


@pytest.mark.parametrize(("library", "name", "gaps"), CASES)
def test_levels_come_back_exactly(library, name, gaps):
    frame = frame_of_dtype(library, name, 20, 7, gaps)
    _, back = there_and_back(frame, 255)
    assert_equal(back, frame)


@pytest.mark.parametrize(("library", "name", "gaps"), CASES)
def test_bins_come_back_on_the_grid_and_in_the_bin(library, name, gaps):
    frame = frame_of_dtype(library, name, 120, 120, gaps)
    schema, back = there_and_back(frame, 16)
    many = len(set(column(frame)) - {None}) > 5
    assert isinstance(schema.columns[0].codec, QuantileBins) == many
    assert dtype_of(back) == dtype_of(frame)
    assert [cell is None for cell in column(back)] == [cell is None for cell in column(frame)]
    full = frame_of_dtype(library, name, 120, 120, False)  # every point of the grid, those of the gaps too
    assert set(column(back)) <= {None, *column(full)}


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize("cell", ["12345678901234567.89", "0.1234567", "1.00000000000000000000000000000000001"])
def test_decimals_that_floats_do_not_keep_are_refused(library, cell):
    frame = pa.table({"c": pa.array([Decimal(0), Decimal(cell)])})
    frame = pl.from_arrow(frame) if library == "polars" else frame
    with pytest.raises(DataError, match=rf"'c' has dtype .*and {cell}.* in row 1: .* cast it to float"):
        Schema.infer(frame)


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([dt.time(1)], pa.time64("us")),
        ([[1]], pa.list_(pa.int64())),
        ([{"a": 1}], pa.struct({"a": pa.int64()})),
        ([b"x"], pa.binary()),
        ([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    ],
)
def test_an_arrow_column_without_a_codec_is_refused(cells, dtype):
    for frame in (pa.table({"c": pa.array(cells, dtype)}), pd.DataFrame({"c": pd.array(cells, pd.ArrowDtype(dtype))})):
        with pytest.raises(DataError, match=r"'c' has dtype .*, which is not supported: turn it into"):
            Schema.infer(frame)


@pytest.mark.parametrize(
    ("cell", "dtype", "cast"),
    [
        (dt.date(2020, 1, 1), pa.date64(), "date32"),
        (Decimal("1.25"), pa.decimal256(40, 2), "decimal128"),
        (Decimal(1000), pa.decimal128(10, -3), "float"),
    ],
)
def test_an_unusual_arrow_column_is_refused_with_the_cast_that_helps(cell, dtype, cast):
    cells = pa.array([None, cell], dtype)
    for frame in (pa.table({"c": cells}), pd.DataFrame({"c": pd.array(cells, pd.ArrowDtype(dtype))})):
        with pytest.raises(DataError, match=f"column 'c' has .*: cast it to {cast}"):
            Schema.infer(frame)


def test_decimals_are_answered_by_numbers():
    schema = Schema.infer(pl.DataFrame({"c": pl.Series([Decimal("0.07"), Decimal("1.10")], dtype=pl.Decimal(10, 2))}))
    assert encode(schema, pl.DataFrame({"c": [1.1, 0.07]})).tolist() == [[1], [0]]
    assert encode(schema, pa.table({"c": pa.array([Decimal("1.1")], pa.decimal128(5, 1))})).tolist() == [[1]]
