"""Hypothesis strategies: tables of every library, with every dtype that has a codec."""

import datetime as dt
from decimal import Decimal
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

MAX_BINS = st.sampled_from([2, 3, 5, 8, 255])
LABELS = ["", "Oslo", "Rome", "Ünna", "nan"]
NUMBERS = {
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "float32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "float16": st.floats(width=16, allow_nan=False, allow_infinity=False),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "small": st.integers(-9, 30),
    "decimal": st.integers(-(10**6), 10**6).map(lambda i: i / 100),
    "fraction": st.integers(-999, 999).map(lambda i: i / 3),
    "narrow": st.integers(0, 99).map(lambda i: 1 + i * 2.0**-52),
    "large": st.floats(1e12, 1e16),
    "quarter": st.integers(0, 999).map(lambda i: 7 + i / 4),
}
CENTS = st.integers(-(10**12) + 1, 10**12 - 1).map(lambda i: Decimal(i) / 100)
INSTANTS = st.one_of(
    st.integers(0, 10**9),
    st.integers(-500, 500).map(lambda k: 3600 * k),
    st.integers(0, 99).map(lambda k: 86_400 * k),
)


@st.composite
def number_columns(draw: st.DrawFn, max_size: int = 60) -> np.ndarray:
    """Draw a column of finite numbers in which a few values may be frequent."""
    kind = draw(st.sampled_from(sorted(NUMBERS)))
    dtype = kind if kind in ("float16", "float32", "int64") else "int64" if kind == "small" else "float64"
    values = draw(st.lists(NUMBERS[kind], min_size=1, max_size=max_size))
    times = draw(st.lists(st.sampled_from([1, 1, 1, 5]), min_size=len(values), max_size=len(values)))
    return np.repeat(np.array(values, dtype=dtype), times)


def uniforms(n: int) -> st.SearchStrategy[np.ndarray]:
    """Draw n numbers in [0, 1), its two ends among them."""
    edge = st.sampled_from([0.0, 0.5, np.nextafter(1.0, 0.0)])
    inside = st.floats(0, 1, exclude_max=True)
    return hnp.arrays(np.float64, n, elements=st.one_of(edge, inside))


def _whole(bits: int, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def _instants(letter: str, unit: str) -> st.SearchStrategy[Any]:
    return INSTANTS.map(lambda s: np.array(s, f"{letter}8[s]").astype(f"{letter}8[{unit}]")[()])


PANDAS: dict[str, tuple[Any, st.SearchStrategy[Any], Any]] = {  # dtype, cells, what stands for missing
    "int64": ("int64", _whole(64), ...),
    "uint8": ("uint8", _whole(8, signed=False), ...),
    "int32": ("int32", st.integers(0, 40), ...),
    "Int64": ("Int64", _whole(64), None),
    "UInt16": ("UInt16", _whole(16, signed=False), None),
    "float64": ("float64", NUMBERS["float64"], np.nan),
    "decimal": ("float64", NUMBERS["decimal"], np.nan),
    "float32": ("float32", NUMBERS["float32"], np.nan),
    "Float64": ("Float64", NUMBERS["fraction"], None),
    "arrow int": ("int64[pyarrow]", _whole(64), None),
    "arrow double": ("double[pyarrow]", NUMBERS["quarter"], None),
    "arrow string": (pd.ArrowDtype(pa.string()), st.sampled_from(LABELS), None),
    "arrow date": ("date32[day][pyarrow]", st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), None),
    "arrow instant": (
        pd.ArrowDtype(pa.timestamp("ns", "Asia/Tokyo")),
        st.integers(0, 10**15).map(lambda k: pd.Timestamp(k, tz="UTC")),
        None,
    ),
    "arrow dictionary": (pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())), st.sampled_from(LABELS), None),
    "arrow decimal": (pd.ArrowDtype(pa.decimal128(12, 2)), CENTS, None),
    "arrow large string": (pd.ArrowDtype(pa.large_string()), st.sampled_from(LABELS), None),
    "object number": ("object", st.integers(-9, 9), None),
    "object nan": ("object", st.sampled_from(LABELS), np.nan),
    "object bool": ("object", st.booleans(), None),
    "bool": ("bool", st.booleans(), ...),
    "boolean": ("boolean", st.booleans(), None),
    "str": ("str", st.sampled_from(LABELS), None),
    "string": ("string", st.sampled_from(LABELS), None),
    "python string": ("string[python]", st.sampled_from(LABELS), None),
    "object": ("object", st.sampled_from(LABELS), None),
    "category": (pd.CategoricalDtype(["z", *LABELS]), st.sampled_from(LABELS), None),
    "object category": (pd.CategoricalDtype(pd.Index(LABELS, dtype=object)), st.sampled_from(LABELS), None),
    "number category": (pd.CategoricalDtype([3, 1, 2]), st.sampled_from([1, 2, 3]), None),
    "ordered": (pd.CategoricalDtype(["z", *LABELS], ordered=True), st.sampled_from(LABELS), None),
    "instant": ("datetime64[us]", _instants("M", "us"), pd.NaT),
    "nanosecond": ("datetime64[ns]", st.integers(0, 10**6).map(lambda k: np.datetime64(k, "ns")), pd.NaT),
    "duration": ("timedelta64[ms]", _instants("m", "ms"), pd.NaT),
}
POLARS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "Int8": (pl.Int8, _whole(8)),
    "Int64": (pl.Int64, _whole(64)),
    "UInt32": (pl.UInt32, _whole(32, signed=False)),
    "Float32": (pl.Float32, NUMBERS["float32"]),
    "Float64": (pl.Float64, NUMBERS["decimal"]),
    "Decimal": (pl.Decimal(12, 2), CENTS),
    "Boolean": (pl.Boolean, st.booleans()),
    "String": (pl.String, st.sampled_from(LABELS)),
    "Categorical": (pl.Categorical, st.sampled_from(LABELS)),
    "Enum": (pl.Enum(["z", *LABELS]), st.sampled_from(LABELS)),
    "Date": (pl.Date, st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))),
    "Datetime": (pl.Datetime("ms"), INSTANTS.map(lambda s: dt.datetime(2000, 1, 1) + dt.timedelta(0, s))),
    "Duration": (pl.Duration("ns"), INSTANTS.map(lambda s: dt.timedelta(0, s))),
    "Null": (pl.Null, st.none()),
}


@st.composite
def pandas_frames(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a pandas frame of mixed dtypes, with gaps wherever the dtype allows them."""
    n = draw(st.integers(1, 25))
    columns = {}
    for name in draw(st.lists(st.sampled_from(sorted(PANDAS)), min_size=1, max_size=5, unique=True)):
        dtype, cells, null = PANDAS[name]
        cells = cells if null is ... or draw(st.booleans()) else st.one_of(cells, st.just(null))
        columns[name] = pd.Series(draw(st.lists(cells, min_size=n, max_size=n)), dtype=dtype)
    if draw(st.booleans()):
        instants = pd.Series(draw(st.lists(_instants("M", "us"), min_size=n, max_size=n)), dtype="M8[us]")
        columns["zoned"] = instants.dt.tz_localize("UTC").dt.tz_convert("Europe/Rome")
    frame = pd.DataFrame(columns)
    return frame.set_axis(range(frame.shape[1]), axis=1) if draw(st.booleans()) else frame


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    """Draw a polars frame of mixed dtypes, with or without nulls."""
    n = draw(st.integers(1, 25))
    columns = {}
    for name in draw(st.lists(st.sampled_from(sorted(POLARS)), min_size=1, max_size=5, unique=True)):
        dtype, cells = POLARS[name]
        cells = st.one_of(cells, st.none()) if draw(st.booleans()) else cells
        columns[name] = pl.Series(draw(st.lists(cells, min_size=n, max_size=n)), dtype=dtype)
    if draw(st.booleans()):
        instants = draw(st.lists(st.integers(0, 10**15), min_size=n, max_size=n))
        columns["zoned"] = pl.Series(instants, dtype=pl.Datetime("ns", "America/New_York"))
    return pl.DataFrame(columns)


@st.composite
def numpy_tables(draw: st.DrawFn) -> np.ndarray:
    """Draw a 2-D array: of numbers with NaN, of booleans, of dates, of strings, or of objects."""
    shape = draw(st.tuples(st.integers(1, 25), st.integers(1, 3)))
    kind = draw(st.sampled_from(["float64", "float32", "int16", "bool", "M8[D]", "m8[s]", "U", "object"]))
    if kind == "object":
        columns = [
            draw(st.lists(st.one_of(cells, st.none()), min_size=shape[0], max_size=shape[0]))
            for cells in (st.sampled_from(LABELS), st.integers(-99, 99), st.booleans())[: shape[1]]
        ]
        return np.array(columns, dtype=object).T
    if kind == "U":
        return draw(hnp.arrays("U5", shape, elements=st.sampled_from(LABELS)))
    if kind in ("float64", "float32"):
        cells = st.one_of(NUMBERS["float32"], st.just(np.nan))
        return draw(hnp.arrays(kind, shape, elements=cells))
    whole = draw(hnp.arrays("int64", shape, elements=st.integers(0, 1 if kind == "bool" else 30_000)))
    return whole.astype(kind)
