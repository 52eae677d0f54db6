"""The border to the frame libraries: columns in as plain cells, plain cells out as columns."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np

from energyboost.errors import DataError
from energyboost.tables.codecs import Array, Cells, Label, Stored

if TYPE_CHECKING:
    import pandas as pd

Name = str | int
Kind = Literal["boolean", "string", "category", "number", "date", "datetime", "duration"]
LABELS, TIMES = ("boolean", "string", "category"), ("date", "datetime", "duration")
FRAMES = ("pandas", "polars", "pyarrow", "numpy")
NANOSECONDS = {
    "W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9,
    "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1,
}  # fmt: skip
_NAT = {"M": np.datetime64("NaT"), "m": np.timedelta64("NaT")}
_REMEDY = "turn it into numbers, strings, booleans or dates, or drop it"
_COMPLEX_REMEDY = "make it two columns, its real and its imaginary part"
_CASTS = {"date64": "date32", "decimal256": "decimal128"}
_PLACES, _STEPS = 6, 2**50  # how fine, and of how many steps, decimals may be: what `QuantileBins` keeps on a grid


@dataclass(frozen=True, slots=True)
class ColumnType(Stored):
    """What a column was before it became codes: enough to write it back.

    Parameters
    ----------
    kind : str
        What energyboost takes it for, whatever the library calls it.
    native : str
        The dtype in the words of the frame library.
    unit, zone : str, optional
        The unit and time zone of dates and durations.
    categories : tuple, optional
        The declared categories, in order; None when there is no declaration.
    categories_type : str, optional
        The pandas dtype of the categories.
    ordered : bool
        Whether the categories are declared to be ordered.
    null : str
        What stands for a missing cell among Python objects: ``"None"``, ``"nan"`` or ``"NA"``.
    """

    kind: Kind
    native: str
    unit: str | None = None
    zone: str | None = None
    categories: tuple[Label, ...] | None = None
    categories_type: str | None = None
    ordered: bool = False
    null: str = "None"

    def __post_init__(self) -> None:
        if self.kind not in LABELS + TIMES + ("number",) or not isinstance(self.native, str):
            raise ValueError(f"no column has kind {self.kind!r} and dtype {self.native!r}")
        if (self.unit in NANOSECONDS) != (self.kind in TIMES):
            raise ValueError(f"no {self.kind} has unit {self.unit!r}")

    def __str__(self) -> str:
        return self.native


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A frame of any library, seen as named columns."""

    kind: str
    names: tuple[Name, ...]
    names_type: str
    n_rows: int
    column: Callable[[int], Any]
    index: Any = None  # of a pandas frame

    def read(self, i: int, name: Name | None = None) -> tuple[ColumnType, Cells]:
        """Return the type and the cells of column i."""
        return read(self.names[i] if name is None else name, self.column(i))


def open_table(frame: Any) -> Table:
    """Look at a frame as a `Table`, or refuse it."""
    if isinstance(frame, Table):
        return frame
    if isinstance(frame, np.ma.MaskedArray):
        raise DataError("masked arrays are not read: fill the mask, table.astype(float).filled(numpy.nan)")
    if isinstance(frame, np.ndarray):
        frame = np.asarray(frame)  # a numpy.matrix has no 1-D columns
        if frame.ndim != 2:
            raise DataError(
                f"a table has two dimensions, this array has {frame.ndim}. Reshape your data to (n_rows, n_columns)"
            )
        positions = tuple(f"x{j}" for j in range(frame.shape[1]))
        return Table("numpy", positions, "", len(frame), lambda i: frame[:, i])
    try:
        narwhal: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        names = Counter(getattr(frame, "column_names", frame.columns))
        twice = ", ".join(repr(name) for name, count in names.items() if count > 1)
        raise DataError(f"more than one column is called {twice}: rename or drop all but one") from error
    except TypeError as error:
        remedy = "make it one, pandas.DataFrame(table)"
        if hasattr(frame, "collect"):
            remedy = "collect() it first"
        elif isinstance(frame, str | PathLike):
            remedy = "read the file first, with pandas.read_csv or the like"
        elif hasattr(frame, "to_frame"):
            remedy = "one column is column.to_frame(), one row is frame.iloc[[i]]"
        kind = "None" if frame is None else f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise DataError(
            f"a table is a pandas, polars or pyarrow frame or a 2-D numpy array, not {kind}: {remedy}"
        ) from error
    kind = narwhal.implementation.name.lower()
    if kind not in FRAMES:
        raise DataError(f"{kind} frames are not supported: convert to pandas, polars or pyarrow")
    for name in narwhal.columns:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise DataError(f"columns are named by strings or whole numbers, not by {name!r}: rename them")
    pythonic = tuple(n if isinstance(n, str) else int(n) for n in narwhal.columns)
    native = narwhal.to_native()
    names_type, index = (str(native.columns.dtype), native.index) if kind == "pandas" else ("", None)
    return Table(kind, pythonic, names_type, len(narwhal), lambda i: narwhal[:, i], index)


def read(name: Name, column: Any) -> tuple[ColumnType, Cells]:
    """Return the type and the cells of one column, a narwhals series or a 1-D array."""
    if isinstance(column, np.ndarray):
        return _read_array(name, column)
    try:
        dtype, native = column.dtype, _native_name(column)
    except (ValueError, TypeError) as error:  # a decimal of negative scale
        raise DataError(f"column {name!r} has a dtype that cannot be read ({error}): cast it to float") from error
    if native == "object":
        return _read_objects(name, column.to_list(), native)
    missing = column.is_null().to_numpy()
    if dtype.is_integer() or dtype.is_float():
        if dtype in (nw.Int128, nw.UInt128):
            raise DataError(f"column {name!r} has dtype {native}: cast it to Int64 or Float64")
        return ColumnType("number", native), _numbers(name, column.fill_null(0).to_numpy(), missing)
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return _read_times(column, native)
    pandas_own: Any = getattr(column.to_native(), "dtype", None)
    if hasattr(pandas_own, "tz"):  # a zone whose name narwhals does not know
        naive = column.to_native().dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return ColumnType("datetime", native, unit=pandas_own.unit, zone=str(pandas_own.tz)), _times(naive)
    if dtype in (nw.Categorical, nw.Enum):
        return _read_category(name, column, native, missing)
    pandas_unknown = column.implementation.is_pandas() and native != "ArrowDtype(null)"  # a period, an interval
    null = dtype == nw.Unknown and not pandas_unknown and missing.all()
    if dtype == nw.Boolean or dtype == nw.String or null:
        kind: Kind = "boolean" if dtype == nw.Boolean else "string"
        return ColumnType(kind, native), Cells(_objects(column.to_list()), missing)
    if dtype == nw.Decimal:
        return ColumnType("number", native), _read_decimals(name, column.to_list(), native, missing)
    remedy = next((f"cast it to {cast}" for odd, cast in _CASTS.items() if odd in native), _REMEDY)
    raise DataError(f"column {name!r} has dtype {native}, which is not supported: {remedy}")


def _read_array(name: Name, array: Array) -> tuple[ColumnType, Cells]:
    native, kind = str(array.dtype), array.dtype.kind
    none = np.zeros(len(array), dtype=bool)
    if kind in "iuf":
        return ColumnType("number", native), _numbers(name, array, none)
    if kind in "bU":
        return ColumnType("boolean" if kind == "b" else "string", native), Cells(array.astype(object), none)
    if kind in "mM":
        unit, count = np.datetime_data(array.dtype)
        if unit not in NANOSECONDS or count != 1:
            raise DataError(f"column {name!r} has dtype {native}: cast it to {kind}8[s]")
        return ColumnType("datetime" if kind == "M" else "duration", native, unit=unit), _times(array)
    if kind == "O":
        return _read_objects(name, array.tolist(), native)
    if kind == "c":
        raise DataError(f"column {name!r} has dtype {native}. Complex data not supported: {_COMPLEX_REMEDY}")
    raise DataError(f"column {name!r} has dtype {native}, which is not supported: {_REMEDY}")


def _read_objects(name: Name, values: list[Any], native: str) -> tuple[ColumnType, Cells]:
    """Read Python objects: all strings, all booleans or all numbers, with or without gaps."""
    types = list(map(type, values))
    number = {found: i for i, found in enumerate(dict.fromkeys(types))}
    tags = np.fromiter(map(number.__getitem__, types), np.int64, len(types))
    array = _objects(values)
    missing, null = np.zeros(len(values), dtype=bool), "None"
    families: dict[str, int] = {}  # the first row of each
    for found, tag in number.items():
        rows = np.flatnonzero(tags == tag)
        if issubclass(found, np.generic):
            array[rows] = [cell.item() for cell in array[rows]]
        if issubclass(found, float | np.floating):
            nan = np.isnan(array[rows].astype(np.float64))
            missing[rows[nan]] = True
            null, rows = "nan" if nan.any() else null, rows[~nan]
        elif found.__name__ in ("NoneType", "NAType", "NaTType"):
            missing[rows] = True
            null, rows = "NA" if found.__name__ == "NAType" else null, rows[:0]
        if len(rows):
            families.setdefault(_family(found), int(rows[0]))
    if len(families) > 1:
        found_at = " and ".join(f"{family} (row {row})" for family, row in families.items())
        raise DataError(f"column {name!r} mixes {found_at}: make it one of them, or drop it")
    family, row = next(iter(families.items()), ("string", 0))
    if family == "number":
        return ColumnType("number", native, null=null), _object_numbers(name, array, missing)
    if family not in ("boolean", "string"):
        remedy, kind = _REMEDY, family.split(".")[-1]
        if kind in ("datetime", "date", "Timestamp"):
            remedy = "convert it with pandas.to_datetime"
        elif kind in ("timedelta", "Timedelta"):
            remedy = "convert it with pandas.to_timedelta"
        raise DataError(f"column {name!r} holds objects of type {family} (row {row}): {remedy}")
    return ColumnType(family, native, null=null), Cells(array, missing)  # type: ignore[arg-type]


def _family(found: type) -> str:
    if issubclass(found, bool | np.bool_):
        return "boolean"
    if issubclass(found, int | float | np.integer | np.floating):
        return "number"
    return "string" if issubclass(found, str) else f"{found.__module__}.{found.__qualname__}"


def _object_numbers(name: Name, array: Array, missing: Array) -> Cells:
    filled = np.where(missing, 0, array).tolist()
    try:
        numbers = np.array(filled)
    except OverflowError as error:
        raise DataError(f"column {name!r} holds numbers too large for 64 bits: cast it to float") from error
    if numbers.dtype.kind not in "iuf":
        raise DataError(f"column {name!r} holds numbers too large for 64 bits: cast it to float")
    if numbers.dtype.kind == "f":
        rounded = [row for row, cell in enumerate(filled) if isinstance(cell, int) and int(float(cell)) != cell]
        if rounded:
            raise DataError(
                f"column {name!r} mixes whole and other numbers, and {filled[rounded[0]]} in row {rounded[0]} is not "
                "exact among the latter: cast it to int or to float"
            )
    return _numbers(name, numbers, missing)


def is_decimal(column_type: ColumnType) -> bool:
    """Return whether a column holds exact decimals, which its codec knows as floats."""
    return "ecimal" in column_type.native and column_type.kind == "number"


def _digits(column_type: ColumnType) -> tuple[int, int]:
    """Return how many digits a decimal has, and how many of them stand behind the point."""
    precision, scale = re.findall(r"-?\d+", column_type.native)[-2:]
    return int(precision), int(scale)


def _read_decimals(name: Name, values: list[Any], native: str, missing: Array) -> Cells:
    """Read exact decimals as floats, as long as these lead back to the same decimals."""
    column_type = ColumnType("number", native)
    places = min(max(_digits(column_type)[1], 0), _PLACES)
    points = np.zeros(len(values), dtype=np.int64)
    for row in np.flatnonzero(~missing):
        point = int(values[row].scaleb(places))
        if abs(point) >= _STEPS or Decimal(point).scaleb(-places) != values[row]:
            raise DataError(
                f"column {name!r} has dtype {native} and {values[row]} in row {row}: decimals are kept exactly with "
                f"at most 15 digits, {_PLACES} of them behind the point; cast it to float"
            )
        points[row] = point
    return Cells(points / 10**places, missing)


def _to_decimals(column_type: ColumnType, cells: Cells) -> list[Decimal | None]:
    places = min(max(_digits(column_type)[1], 0), _PLACES)
    points = np.rint(cells.values * 10.0**places).astype(np.int64).tolist()
    return [None if gap else Decimal(k).scaleb(-places) for k, gap in zip(points, cells.missing, strict=True)]


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _numbers(name: Name, values: Array, missing: Array) -> Cells:
    """Make whole numbers int64, take NaN for missing, and refuse the infinite."""
    if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
        raise DataError(
            f"column {name!r} has {values.max()} in row {int(values.argmax())}, beyond 2**63 - 1: "
            "cast it to float64, or drop it if it is an id"
        )
    if values.dtype.kind in "iu":
        return Cells(values.astype(np.int64, copy=False), missing)
    if values.dtype.name not in ("float16", "float32", "float64"):
        raise DataError(f"column {name!r} has dtype {values.dtype}: cast it to float64")
    if not np.isfinite(values).all():
        missing = missing | np.isnan(values)
        values = np.where(missing, np.zeros(1, values.dtype), values)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise DataError(
                f"column {name!r} is infinite in row {infinite[0]}: replace it by a number, or NaN (missing)"
            )
    return Cells(values, missing)


def _times(array: Array) -> Cells:
    missing = np.isnat(array)
    return Cells(np.where(missing, 0, array.astype(array.dtype).view(np.int64)), missing)


def _read_times(column: "nw.Series[Any]", native: str) -> tuple[ColumnType, Cells]:
    dtype = column.dtype
    kind: Kind = "date" if dtype == nw.Date else "duration" if dtype == nw.Duration else "datetime"
    unit, zone = getattr(dtype, "time_unit", "D"), getattr(dtype, "time_zone", None)
    if zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if kind == "date":
        column = column.cast(nw.Datetime("us"))
    array = column.to_numpy()
    letter = "m" if kind == "duration" else "M"
    if array.dtype == object:  # a pandas Arrow column with gaps
        exact = f"{letter}8[{'us' if kind == 'date' else unit}]"
        array = column.to_native().to_numpy(dtype=exact, na_value=_NAT[letter])
    return ColumnType(kind, native, unit=unit, zone=zone), _times(array.astype(f"{letter}8[{unit}]"))


def _read_category(name: Name, column: "nw.Series[Any]", native: str, missing: Array) -> tuple[ColumnType, Cells]:
    declared, categories_type, ordered = None, None, False
    series = column.to_native()
    if native == "category":
        declared, ordered = tuple(series.cat.categories.tolist()), bool(series.cat.ordered)
        categories_type = _pandas_name(series.cat.categories.dtype)
    elif isinstance(column.dtype, nw.Enum):
        declared = tuple(column.dtype.categories)
    for label in declared or ():
        if not isinstance(label, Label):
            raise DataError(
                f"column {name!r} has categories of type {type(label).__name__} ({label!r}): "
                "make them strings, df[name].cat.rename_categories(str)"
            )
    kind = ColumnType("category", native, categories=declared, categories_type=categories_type, ordered=ordered)
    return kind, Cells(_objects(column.to_list()), missing)


def _native_name(column: "nw.Series[Any]") -> str:
    series = column.to_native()
    if column.implementation.is_pandas():
        return _pandas_name(series.dtype)
    if column.implementation.is_pyarrow():
        return str(series.type)
    if column.dtype == nw.Decimal:
        return f"Decimal({series.dtype.precision or 38}, {series.dtype.scale})"
    categories = getattr(series.dtype, "categories", None)
    if column.dtype == nw.Categorical and categories is not None and not categories.is_global():
        return f"Categorical{json.dumps([categories.name(), categories.namespace(), str(categories.physical())])}"
    return type(column.dtype).__name__


def _pandas_name(dtype: Any) -> str:
    """Name a pandas dtype so that `pandas_dtype` finds it again: str() drops the storage of strings."""
    kind = type(dtype).__name__
    if kind == "ArrowDtype":
        return f"ArrowDtype({dtype.pyarrow_dtype})"
    if kind == "StringDtype":
        with_nan = dtype.na_value is np.nan
        return (
            "str" if with_nan and dtype.storage != "python" else f"{'str' if with_nan else 'string'}[{dtype.storage}]"
        )
    return str(dtype)


def pandas_dtype(name: str) -> Any:
    """Return the pandas dtype that `_pandas_name` named."""
    import pandas as pd

    if name.startswith("ArrowDtype("):
        return pd.ArrowDtype(arrow_type(name[11:-1]))
    if name == "str[python]":
        return pd.StringDtype("python", na_value=np.nan)
    return pd.api.types.pandas_dtype(name)


def arrow_type(name: str) -> Any:
    """Return the Arrow type that is written so."""
    import pyarrow as pa

    if found := re.fullmatch(r"dictionary<values=(.+), indices=(.+), ordered=([01])>", name):
        return pa.dictionary(arrow_type(found[2]), arrow_type(found[1]), found[3] == "1")
    if found := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return pa.timestamp(found[1], found[2])
    if found := re.fullmatch(r"(decimal\d+)\((\d+), (-?\d+)\)", name):
        return getattr(pa, found[1])(int(found[2]), int(found[3]))
    return pa.type_for_alias(name)


def plain(column_type: ColumnType, cells: Cells) -> Array:
    """Return cells as one numpy array: labels as objects, dates as datetime64, gaps as fits the dtype."""
    values, missing, kind = cells.values, cells.missing, column_type.kind
    if kind in TIMES:
        times = values.astype(f"{'m' if kind == 'duration' else 'M'}8[{column_type.unit}]")
        return np.where(missing, np.array("NaT", times.dtype), times) if missing.any() else times
    if kind == "number" and column_type.native != "object":
        if not missing.any():
            return values
        return np.where(missing, np.nan, values if values.dtype.kind == "f" else values.astype(np.float64))
    if kind == "boolean" and column_type.native != "object" and not missing.any():
        return values.astype(bool)
    values = values.astype(object)
    values[missing] = _null(column_type)
    return values


def _null(column_type: ColumnType) -> Any:
    if column_type.null == "NA":
        import pandas as pd

        return pd.NA
    return np.nan if column_type.null == "nan" else None


def to_pandas(column_type: ColumnType, cells: Cells) -> "pd.Series[Any]":
    """Return cells as a pandas series of the column's own dtype."""
    import pandas as pd

    if column_type.native == "category":
        label_type = column_type.categories_type or "object"
        categories = pd.Index(list(column_type.categories or ()), dtype=pandas_dtype(label_type))
        dtype = pd.CategoricalDtype(categories, ordered=column_type.ordered)
        return pd.Series(pd.Categorical(plain(column_type, cells), dtype=dtype))
    dtype = pandas_dtype(column_type.native)
    if is_decimal(column_type):
        return pd.Series(_to_decimals(column_type, cells), dtype=dtype)
    if column_type.kind == "number" and column_type.native != "object":
        series = pd.Series(cells.values).astype(dtype)
        if cells.missing.any():  # set afterwards: through NaN, large Int64 would lose digits
            series.iloc[cells.missing] = None
        return series
    array = plain(column_type, cells)
    if column_type.zone is not None:
        return pd.Series(array).dt.tz_localize("UTC").astype(dtype)
    if column_type.kind == "date":
        return pd.Series(array).astype(dtype)
    return pd.Series(array, dtype=dtype)


def to_polars(column_type: ColumnType, cells: Cells, name: str) -> Any:
    """Return cells as a polars series of the column's own dtype."""
    import polars as pl

    kind, unit = column_type.kind, column_type.unit
    if is_decimal(column_type):
        precision, scale = _digits(column_type)
        return pl.Series(name, _to_decimals(column_type, cells), pl.Decimal(precision, scale))
    if column_type.native.startswith("Categorical["):
        called, namespace, physical = json.loads(column_type.native.removeprefix("Categorical"))
        dtype: Any = pl.Categorical(pl.Categories(called, namespace, getattr(pl, physical)))
    else:
        dtype = getattr(pl, column_type.native)
    if kind == "datetime":
        dtype = pl.Datetime(unit, column_type.zone)  # type: ignore[arg-type]
    elif kind == "duration":
        dtype = pl.Duration(unit)  # type: ignore[arg-type]
    elif column_type.native == "Enum":
        dtype = pl.Enum(list(map(str, column_type.categories or ())))
    if kind in LABELS:
        return pl.Series(name, plain(column_type, cells).tolist(), dtype)
    values = pl.Series(name, cells.values)
    gaps = pl.Series(cells.missing)
    return values.set(gaps, None).cast(pl.Int32).cast(dtype) if kind == "date" else values.set(gaps, None).cast(dtype)


def to_arrow(column_type: ColumnType, cells: Cells) -> Any:
    """Return cells as an Arrow array of the column's own type."""
    import pyarrow as pa

    wanted = arrow_type(column_type.native)
    if is_decimal(column_type):
        return pa.array(_to_decimals(column_type, cells), wanted)
    if column_type.kind in LABELS:
        return pa.array(plain(column_type, cells).tolist(), wanted)
    days = column_type.kind == "date"
    return pa.array(cells.values.astype("M8[D]") if days else cells.values, mask=cells.missing).cast(wanted)
