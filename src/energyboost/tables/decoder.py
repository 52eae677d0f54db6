"""Codes to frames, and to plain arrays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.errors import DataError
from energyboost.tables.codecs import Array, Cells
from energyboost.tables.frames import TIMES, ColumnType, Name, plain, to_arrow, to_pandas, to_polars
from energyboost.tables.numeric import QuantileBins
from energyboost.tables.schema import Column, Schema

Draws = np.random.Generator | npt.NDArray[np.float64]


def decode(
    schema: Schema,
    codes: Array,
    rng: Draws,
    index: Any = None,
    within: Mapping[int, Callable[[Array, Array], Cells]] | None = None,
) -> Any:
    """Return codes as a frame of the training table's library, dtypes and column order, ids made anew.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    codes : array of shape (n_rows, n_columns)
        As from `encode`.
    rng : numpy.random.Generator, or array of the shape of the codes
        Places the values of quantile bins inside their bins; or the places themselves, in [0, 1).
    index : pandas index, optional
        The rows' index; the other libraries have none.
    within : mapping, optional
        For some columns, by position, what decodes their codes and uniforms instead of the codec.

    Examples
    --------
    >>> table = np.array([[1.5, 7.0], [2.5, 8.0]])
    >>> schema = Schema.infer(table)
    >>> decode(schema, np.array([[0, 0], [1, 1]]), np.random.default_rng(0))
    array([[1.5, 7. ],
           [2.5, 8. ]])
    """
    _check_codes(schema, codes)
    parts: dict[Name, tuple[ColumnType, Cells]] = {}
    places = _uniforms(rng, codes.shape)
    decoders = {j: c.codec.decode for j, c in enumerate(schema.columns)} | dict(within or {})
    decoded = {c.name: decoders[j](codes[:, j], next(places)) for j, c in enumerate(schema.columns)}
    for column in schema.arranged:
        if isinstance(column, Column):
            parts[column.name] = column.type, decoded[column.name]
        elif column.type is not None:
            parts[column.name] = column.type, column.values(len(codes))
    return _frame(schema, parts, len(codes), index)


def decode_frame_columns(schema: Schema, columns: Sequence[int], codes: Array, rng: Draws, index: Any = None) -> Any:
    """Return codes of some columns as a frame of only these, otherwise as `decode`.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    columns : sequence of int
        Which columns of the schema; each once.
    codes : array of shape (n_rows, len(columns))
        Their codes.
    rng, index
        As in `decode`.

    Examples
    --------
    >>> schema = Schema.infer(np.array([[1.5, 7.0], [2.5, 8.0]]))
    >>> decode_frame_columns(schema, [1], np.array([[1], [0]]), np.random.default_rng(0))
    array([[8.],
           [7.]])
    """
    some = Schema(tuple(schema.columns[j] for j in columns), schema.kind, schema.names_type)
    return decode(some, codes, rng, index)


def decode_column(schema: Schema, j: int, codes: Array, uniforms: Array | None = None) -> Array:
    """Return codes of column j as a numpy array of its values; without uniforms, mid-bin.

    Examples
    --------
    >>> schema = Schema.infer(np.array([["no"], ["yes"]], dtype=object))
    >>> decode_column(schema, 0, np.array([1, 0]))
    array(['yes', 'no'], dtype=object)
    """
    column = schema.columns[j]
    codes = np.asarray(codes)
    uniforms = np.full(len(codes), 0.5) if uniforms is None else uniforms
    return plain(column.type, column.codec.decode(codes, uniforms))


def levels(schema: Schema, j: int) -> Array:
    """Return the value that each code of column j stands for, the code for missing left out.

    Examples
    --------
    >>> levels(Schema.infer(np.array([[3.5], [np.nan], [2.0]])), 0)
    array([2. , 3.5])
    """
    column = schema.columns[j]
    if isinstance(column.codec, QuantileBins):
        raise DataError(f"column {column.name!r} has no levels: {column.why}")
    codes = np.arange(column.codec.n_codes)
    return decode_column(schema, j, codes[codes != column.codec.missing_code])


def numbers_to_values(schema: Schema, j: int, numbers: Array) -> Array:
    """Return numbers on the scale of column j, such as means, as its values: dates become dates again.

    Examples
    --------
    >>> days = np.array([["2024-01-01"], ["2024-01-03"]], dtype="M8[D]")
    >>> schema = Schema.infer(days)
    >>> numbers_to_values(schema, 0, schema.columns[0].codec.centres.mean(keepdims=True))
    array(['2024-01-02'], dtype='datetime64[D]')
    """
    column = schema.columns[j]
    if column.type.kind not in TIMES:
        return numbers
    missing = np.isnan(numbers)
    return plain(column.type, Cells(np.rint(np.where(missing, 0, numbers)).astype(np.int64), missing))


def frame_of(schema: Schema, columns: Mapping[str, Array], index: Any = None, zone: str | None = None) -> Any:
    """Return results, such as probabilities, as a frame of the training table's library.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    columns : mapping from names to 1-D arrays
        The columns of the frame, all of the same length.
    index : pandas index, optional
        The rows' index; the other libraries have none.
    zone : str, optional
        The time zone of dates, which are in UTC.

    Returns
    -------
    frame : frame, array or dict
        For a model of a numpy array: a 2-D array if all columns are floats, else a dict of 1-D arrays.

    Examples
    --------
    >>> schema = Schema.infer(np.array([[1.5, 7.0], [2.5, 8.0]]))
    >>> frame_of(schema, {"low": np.array([1.0, 2.0]), "high": np.array([3.0, 4.0])})
    array([[1., 3.],
           [2., 4.]])
    """
    if schema.kind == "pandas":
        import pandas as pd

        frame = pd.DataFrame(dict(columns), index=index)
        for name in frame.select_dtypes("datetime") if zone else ():
            frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(zone)
        return frame
    # the other libraries read objects best from lists
    plainest = {name: x.tolist() if x.dtype == object else x for name, x in columns.items()}
    if schema.kind == "polars":
        import polars as pl

        dates = pl.selectors.datetime() if zone else pl.selectors.by_name()
        return pl.DataFrame(plainest).with_columns(
            dates.dt.replace_time_zone("UTC").dt.convert_time_zone(zone or "UTC")
        )
    if schema.kind == "pyarrow":
        import pyarrow as pa

        arrow = {name: pa.array(x) for name, x in plainest.items()}
        for name, x in arrow.items():
            if zone and pa.types.is_timestamp(x.type):
                arrow[name] = x.cast(pa.timestamp(x.type.unit, zone))
        return pa.table(arrow)
    if all(x.dtype.kind == "f" for x in columns.values()):
        return np.column_stack(list(columns.values()))
    return dict(columns)


def _uniforms(rng: Draws, shape: tuple[int, ...]) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the places inside bins, column by column."""
    if isinstance(rng, np.random.Generator):
        return (rng.random(shape[0]) for _ in range(shape[1]))
    return iter(np.asarray(rng, np.float64).T)


def _frame(schema: Schema, parts: dict[Name, tuple[ColumnType, Cells]], n_rows: int, index: Any) -> Any:
    """Put columns together to a frame of the training table's library."""
    if schema.kind == "pandas":
        import pandas as pd

        frame = pd.concat([to_pandas(*part) for part in parts.values()], axis=1)
        frame.columns = pd.Index(list(parts), dtype=schema.names_type)
        if index is not None:
            frame.index = index
        return frame
    if schema.kind == "numpy":
        columns = [plain(*part) for part in parts.values()]
        natives = {np.dtype(column_type.native) for column_type, _ in parts.values()}
        is_mixed = len(natives) > 1 and any(native.kind not in "iuf" for native in natives)
        dtype = np.dtype(object) if is_mixed else np.result_type(*natives)
        if dtype.kind == "U":  # new ids may be longer than those of training
            dtype = np.result_type(dtype, *(column.astype("U").dtype for column in columns))
        array = np.empty((n_rows, len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            array[:, j] = column
        return array
    if schema.kind == "polars":
        import polars as pl

        return pl.DataFrame([to_polars(*part, str(name)) for name, part in parts.items()])
    import pyarrow as pa

    return pa.table({str(name): to_arrow(*part) for name, part in parts.items()})


def _check_codes(schema: Schema, codes: Array) -> None:
    sizes = np.array(schema.domain.sizes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or codes.dtype.kind not in "iu":
        raise DataError(
            f"codes have shape (n_rows, {len(sizes)}) and an integer dtype, not {codes.shape} {codes.dtype}"
        )
    if len(codes) and ((codes.max(axis=0) >= sizes).any() or codes.min() < 0):
        j = int(np.argmax((codes.max(axis=0) >= sizes) | (codes.min(axis=0) < 0)))
        raise DataError(f"column {schema.names[j]!r} has codes outside 0 .. {sizes[j] - 1}")
