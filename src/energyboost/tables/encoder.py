"""Frames to codes, and codes to frames."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from energyboost.checks import choice
from energyboost.errors import DataError
from energyboost.tables.codecs import MISSING, UNSEEN, Array, Cells
from energyboost.tables.frames import (
    LABELS,
    NANOSECONDS,
    TIMES,
    ColumnType,
    Name,
    Table,
    open_table,
    plain,
    to_arrow,
    to_pandas,
    to_polars,
)
from energyboost.tables.frames import read as read_column
from energyboost.tables.numeric import QuantileBins
from energyboost.tables.schema import Column, Schema, listing

Unseen = Literal["error", "marginalize"]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A query as codes.

    `missing` marks the cells whose value is not known: gaps, absent columns, and unseen levels that
    are to be marginalised. Their code is the column's code for missing if it has one, and else 0.
    """

    codes: Array
    missing: npt.NDArray[np.bool_]
    index: Any = None


def frame_of(schema: Schema, columns: Mapping[str, Array], index: Any = None) -> Any:
    """SHIM."""
    import pandas as pd

    return pd.DataFrame(dict(columns), index=index)


def encode(schema: Schema, frame: Any, *, strict: bool = True) -> Array:
    """Return the codes of a complete table, missing cells as the level they were in training.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    frame : pandas, polars or pyarrow frame, or 2-D numpy array
        Columns are matched by name, in any order; those of an array by position.
    strict : bool
        Whether to refuse columns that the schema does not know; otherwise they are ignored.

    Returns
    -------
    codes : array of shape (n_rows, n_columns)
        C-contiguous, of the domain's `code_dtype`.

    Examples
    --------
    >>> table = np.array([[1.5, 7.0], [2.5, 8.0]])
    >>> encode(Schema.infer(table), table)
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """
    table = open_table(frame)
    codes = np.empty((table.n_rows, len(schema.columns)), dtype=schema.domain.code_dtype)
    for j, column, cells in _cells(schema, table, frozenset(), strict):
        found = column.codec.encode(cells)
        _refuse(column, found, cells, MISSING, UNSEEN)
        codes[:, j] = found
    return codes


def encode_query(
    schema: Schema,
    frame: Any,
    *,
    absent: Collection[Name] = (),
    unseen: Unseen = "error",
    strict: bool = False,
) -> Encoded:
    """Return the codes of a query, and which of its cells are not known.

    Parameters
    ----------
    schema, frame, strict
        As in `encode`.
    absent : collection of names
        Columns that the frame need not have; if it has them they are not read.
    unseen : {"error", "marginalize"}
        What to do with a level that did not occur in training.

    Examples
    --------
    >>> schema = Schema.infer(np.array([[1.5, 7.0], [2.5, 8.0]]))
    >>> query = encode_query(schema, np.array([[2.5], [np.nan]]), absent=["x1"])
    >>> query.codes.tolist(), query.missing.tolist()
    ([[1, 0], [0, 0]], [[False, True], [True, True]])
    """
    choice("unseen", unseen, get_args(Unseen))
    table = open_table(frame)
    skipped = frozenset(schema.index_of(name) for name in absent)
    shape = (table.n_rows, len(schema.columns))
    codes, missing = np.zeros(shape, dtype=schema.domain.code_dtype), np.ones(shape, dtype=bool)
    for j, column, cells in _cells(schema, table, skipped, strict):
        found = column.codec.encode(cells)
        if unseen == "error":
            _refuse(column, found, cells, UNSEEN)
        missing[:, j] = cells.missing | (found < 0)
        codes[:, j] = np.where(found < 0, column.codec.missing_code or 0, found)
    return Encoded(codes, missing, getattr(frame, "index", None))


def encode_values(schema: Schema, j: int, values: Any) -> npt.NDArray[np.int64]:
    """Return the codes of some values of column j: a list or a 1-D array.

    Dates may be ISO strings or `datetime` objects; in a column with a time zone they are in UTC.

    Examples
    --------
    >>> encode_values(Schema.infer(np.array([[10], [20], [30]])), 0, [20, 29])
    array([1, 2])
    """
    column, cells = schema.columns[j], read_values(schema, j, values)
    codes = column.codec.encode(cells)
    _refuse(column, codes, cells, MISSING, UNSEEN)
    return codes


def read_values(schema: Schema, j: int, values: Any) -> Cells:
    """Return some values of column j as cells, whether or not they occur: a list or a 1-D array.

    Examples
    --------
    >>> read_values(Schema.infer(np.array(["2024-01-01"], "M8[D]")[:, None]), 0, ["1970-01-03"]).values
    array([2])
    """
    column = schema.columns[j]
    if column.type.kind in TIMES:
        letter = "m" if column.type.kind == "duration" else "M"
        try:
            array = np.asarray(values, dtype=f"{letter}8[{column.type.unit}]")
        except (ValueError, TypeError) as error:
            raise DataError(f"column {column.name!r} holds {column.type.kind}s: {error}") from error
    else:
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
    return _conform(column, *read_column(column.name, array), aware=True)


def decode(
    schema: Schema,
    codes: Array,
    rng: np.random.Generator,
    index: Any = None,
    within: Mapping[int, Callable[[Array, Array], Cells]] | None = None,
) -> Any:
    """Return codes as a frame of the training table's library, dtypes and column order.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    codes : array of shape (n_rows, n_columns)
        As from `encode`.
    rng : numpy.random.Generator
        Places the values of quantile bins inside their bins.
    index : pandas index, optional
        The rows' index; the other libraries have none.
    within : mapping, optional
        For some columns, by position, what decodes their codes and uniforms instead of the codec.

    Examples
    --------
    >>> table = np.array([[1.5, 7.0], [2.5, 8.0]])
    >>> schema = Schema.infer(table)
    >>> decode(schema, encode(schema, table), np.random.default_rng(0))
    array([[1.5, 7. ],
           [2.5, 8. ]])
    """
    _check_codes(schema, codes)
    decoders = {j: c.codec.decode for j, c in enumerate(schema.columns)} | dict(within or {})
    cells = [decoders[j](codes[:, j], rng.random(len(codes))) for j in range(len(schema.columns))]
    pairs = list(zip(schema.columns, cells, strict=True))
    if schema.kind == "pandas":
        import pandas as pd

        index = pd.RangeIndex(len(codes)) if index is None else index
        frame = pd.concat([to_pandas(c.type, x, index) for c, x in pairs], axis=1)
        frame.columns = pd.Index(schema.names, dtype=schema.names_type)
        return frame
    if schema.kind == "numpy":
        array = np.empty(codes.shape, dtype=schema.columns[0].type.native)
        for j, (column, values) in enumerate(pairs):
            array[:, j] = plain(column.type, values)
        return array
    if schema.kind == "polars":
        import polars as pl

        return pl.DataFrame([to_polars(c.type, x, str(c.name)) for c, x in pairs])
    import pyarrow as pa

    return pa.table({str(c.name): to_arrow(c.type, x) for c, x in pairs})


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


def _cells(schema: Schema, table: Table, skipped: frozenset[int], strict: bool) -> Iterator[tuple[int, Column, Cells]]:
    """Match the table's columns to the schema's and read those that are not skipped."""
    places = _places(schema, table, skipped, strict)
    for j, i in places.items():
        column = schema.columns[j]
        found_type, cells = table.read(i, column.name)
        yield j, column, _conform(column, found_type, cells)


def _places(schema: Schema, table: Table, skipped: frozenset[int], strict: bool) -> dict[int, int]:
    wanted = [j for j in range(len(schema.columns)) if j not in skipped]
    if table.kind == "numpy":
        width, d = len(table.names), len(schema.columns)
        if width == d:
            return {j: j for j in wanted}
        if width == len(wanted):
            return {j: i for i, j in enumerate(wanted)}
        raise DataError(
            f"the array has {width} columns, the model has {d}: {listing(schema.names, 20)}; "
            "give all of them, or all but the target"
        )
    position, names = {name: i for i, name in enumerate(table.names)}, schema.names
    lacking = [names[j] for j in wanted if names[j] not in position]
    if lacking and strict:
        there = f"it has {listing(table.names, 20)}" if table.names else "it has none"
        columns = f"column{'s'[: len(lacking) > 1]} {listing(lacking, 10)}"
        raise DataError(f"the table lacks {columns}; {there}: add what is lacking")
    known = set(names)
    extra = [name for name in table.names if name not in known]
    if strict and extra:
        columns = f"column{'s'[: len(extra) > 1]} {listing(extra, 10)}"
        raise DataError(f"the table has {columns}, not there in training: drop what is not known")
    return {j: position[names[j]] for j in wanted if names[j] in position}


def _conform(column: Column, found: ColumnType, cells: Cells, *, aware: bool = False) -> Cells:
    """Bring a query's cells to the type that the column had in training."""
    trained = column.type
    if cells.missing.all():
        empty = np.full(len(cells), None) if trained.kind in LABELS else np.zeros(len(cells), np.int64)
        return Cells(empty, cells.missing)
    if trained.kind in LABELS and found.kind not in TIMES:
        return Cells(cells.values.astype(object), cells.missing)
    if trained.kind == "number" and found.kind in ("number", "boolean"):
        if found.kind == "boolean":
            return Cells(np.where(cells.missing, 0, cells.values).astype(np.int64), cells.missing)
        return cells
    same_family = (trained.kind == "duration") == (found.kind == "duration")
    if trained.kind in TIMES and found.kind in TIMES and same_family:
        if not aware and (trained.zone is None) != (found.zone is None):
            raise DataError(
                f"column {column.name!r} had time zone {trained.zone} in training and has {found.zone} now: "
                "set or drop the time zone"
            )
        return Cells(_rescale(cells.values, found.unit or "", trained.unit or ""), cells.missing)
    raise DataError(
        f"column {column.name!r} was a {trained.kind} ({trained}) in training and is a {found.kind} "
        f"({found}) now: convert it"
    )


def _rescale(times: Array, unit: str, new_unit: str) -> Array:
    """Change the unit of integer times; what the new unit does not reach goes to its ends."""
    coarse, fine = NANOSECONDS[unit], NANOSECONDS[new_unit]
    if coarse < fine:
        return times // (fine // coarse)
    limit = (2**63 - 1) * fine // coarse
    return np.clip(times, -limit, limit) * (coarse // fine)


def _refuse(column: Column, codes: Array, cells: Cells, *markers: int) -> None:
    """Refuse a column with cells that have no code."""
    bad = np.flatnonzero(np.isin(codes, markers))
    if len(bad) == 0:
        return
    row = bad[0]
    where = f"column {column.name!r}, row {row}: "
    if codes[row] == MISSING:
        raise DataError(
            f"{where}the cell is missing, and no cell of this column was missing in training: fill it, or drop the row"
        )
    known = levels(Schema((column,), "numpy"), 0)
    if len(known) == 0:
        raise DataError(f"{where}every cell was missing in training: make it missing, or fit again")
    or_missing = "" if column.codec.missing_code is None else ", make it missing"
    remedy = f"map it to one of them{or_missing}, or fit on a table that has it"
    raise DataError(
        f"{where}level {cells.values[row]!r} did not occur in training; the levels are "
        f"{listing(known.tolist(), 10)}: {remedy}"
    )


def _check_codes(schema: Schema, codes: Array) -> None:
    sizes = np.array(schema.domain.sizes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or codes.dtype.kind not in "iu":
        raise DataError(
            f"codes have shape (n_rows, {len(sizes)}) and an integer dtype, not {codes.shape} {codes.dtype}"
        )
    if len(codes) and ((codes.max(axis=0) >= sizes).any() or codes.min() < 0):
        j = int(np.argmax((codes.max(axis=0) >= sizes) | (codes.min(axis=0) < 0)))
        raise DataError(f"column {schema.names[j]!r} has codes outside 0 .. {sizes[j] - 1}")
