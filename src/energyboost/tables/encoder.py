"""Frames to codes."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from energyboost.checks import choice
from energyboost.errors import DataError, warn
from energyboost.tables.codecs import MISSING, UNSEEN, Array, Cells
from energyboost.tables.decoder import levels
from energyboost.tables.frames import LABELS, NANOSECONDS, TIMES, ColumnType, Name, Table, open_table, plain
from energyboost.tables.frames import read as read_column
from energyboost.tables.schema import Column, Schema
from energyboost.tables.words import columns, listing

Unseen = Literal["error", "marginalize"]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A query as codes.

    `missing` marks the cells whose value is not known: gaps, columns that are not there, and unseen levels that
    are to be marginalised. Their code is the column's code for missing if it has one, and else 0. `index` is that of
    a pandas frame, and None for the other libraries.
    """

    codes: Array
    missing: npt.NDArray[np.bool_]
    index: Any = None


def encode(schema: Schema, frame: Any) -> Array:
    """Return the codes of a complete table, missing cells as the level they were in training.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    frame : pandas, polars or pyarrow frame, or 2-D numpy array
        Columns are matched by name, in any order; those of an array by position. Columns that were not there in
        training are ignored, with a warning; lacking ones are refused.

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
    places = _places(schema, table, range(len(schema.columns)), complete=True)
    codes = np.empty((table.n_rows, len(schema.columns)), dtype=schema.domain.code_dtype)
    for j, column, cells in _cells(schema, table, places):
        found = column.codec.encode(cells)
        _refuse(column, found, cells, MISSING, UNSEEN)
        codes[:, j] = found
    return codes


def encode_query(schema: Schema, frame: Any, *, absent: Collection[Name] = (), unseen: Unseen = "error") -> Encoded:
    """Return the codes of a query, and which of its cells are not known.

    Parameters
    ----------
    schema, frame
        As in `encode`; but the cells of lacking columns count as missing, as long as one column is there.
    absent : collection of names
        Columns that are not read, whether the frame has them or not.
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
    skipped = {schema.index_of(name) for name in absent}
    places = _places(schema, table, [j for j in range(len(schema.columns)) if j not in skipped], complete=False)
    unknown = np.array([column.codec.missing_code or 0 for column in schema.columns], schema.domain.code_dtype)
    codes = np.tile(unknown, (table.n_rows, 1))
    missing = np.ones(codes.shape, dtype=bool)
    for j, column, cells in _cells(schema, table, places):
        found = column.codec.encode(cells)
        if unseen == "error":
            _refuse(column, found, cells, UNSEEN)
        missing[:, j] = cells.missing | (found < 0)
        codes[:, j] = np.where(found < 0, unknown[j], found)
    return Encoded(codes, missing, table.index)


def encode_values(schema: Schema, j: int, values: Any) -> npt.NDArray[np.int64]:
    """Return the codes of some values of column j: a list or a 1-D array.

    Dates may be ISO strings or `datetime` objects: see `read_values`.

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

    In a column with a time zone, texts and `datetime` objects without one are in that of the column, and numpy's dates
    (which have none) in UTC, as they come out of predictions.

    Examples
    --------
    >>> read_values(Schema.infer(np.array(["2024-01-01"], "M8[D]")[:, None]), 0, ["1970-01-03"]).values
    array([2])
    """
    column = schema.columns[j]
    if column.type.kind in TIMES:
        letter = "m" if column.type.kind == "duration" else "M"
        try:
            if column.type.zone is not None and not (isinstance(values, np.ndarray) and values.dtype.kind == "M"):
                values = [_in_utc(value, column.type.zone) for value in values]
            array = np.asarray(values, dtype=f"{letter}8[{column.type.unit}]")
        except (ValueError, TypeError) as error:
            raise DataError(f"column {column.name!r} holds {column.type.kind}s: {error}") from error
    else:
        array = np.empty(len(values), dtype=object)
        array[:] = [float(value) if isinstance(value, Decimal) else value for value in values]
    return _conform(column, *read_column(column.name, array), aware=True)


def _in_utc(value: Any, zone: str) -> Any:
    """Return a date with or without a time zone as one in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        try:
            value = value.replace(tzinfo=ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError):  # an offset, such as +01:00
            value = value.replace(tzinfo=datetime.strptime(zone, "%z").tzinfo)
    return value.astimezone(UTC).replace(tzinfo=None)


def _cells(schema: Schema, table: Table, places: dict[int, int]) -> Iterator[tuple[int, Column, Cells]]:
    """Read the columns of the schema that the table has."""
    for j, i in places.items():
        column = schema.columns[j]
        found_type, cells = table.read(i, column.name)
        yield j, column, _conform(column, found_type, cells)


def _places(schema: Schema, table: Table, wanted: Collection[int], *, complete: bool) -> dict[int, int]:
    """Find where in the table the wanted columns of the schema stand."""
    if table.kind == "numpy":
        return _places_in_array(schema, table, wanted)
    names, position = schema.names, {name: i for i, name in enumerate(table.names)}
    lacking = [names[j] for j in wanted if names[j] not in position]
    if lacking and complete:
        there = f"it has {listing(table.names, 20)}" if table.names else "it has none"
        raise DataError(f"the table lacks {columns(lacking)}; {there}: add what is lacking")
    if lacking and not any(name in position for name in names):
        there = listing(table.names, 20) if table.names else "none"
        raise DataError(
            f"the table has none of the columns of the model, {listing(names, 20)}; it has {there}: give at least one"
        )
    known = {column.name for column in schema.arranged}
    extra = [name for name in table.names if name not in known]
    if extra:
        also = f"; it lacks {columns(lacking)}, taken as missing" if lacking else ""
        was = "was" if len(extra) == 1 else "were"
        warn(f"the table has {columns(extra)}, which {was} not there in training and {was} ignored{also}")
    return {j: position[names[j]] for j in wanted if names[j] in position}


def _places_in_array(schema: Schema, table: Table, wanted: Collection[int]) -> dict[int, int]:
    """Match by position: an array has all columns of the training table, or all but those that are not wanted."""
    arranged, width = schema.arranged, len(table.names)
    if width == len(arranged):
        standing = list(arranged)
    elif width == len(arranged) - len(schema.columns) + len(wanted):
        unwanted = {column.name for column in schema.columns} - {schema.columns[j].name for j in wanted}
        standing = [column for column in arranged if column.name not in unwanted]
    else:
        training = "the training table had" if schema.left_out else "the model has"
        raise DataError(
            f"the array has {width} columns, {training} {len(arranged)}: "
            f"{listing((column.name for column in arranged), 20)}; give all of them, or all but the target"
        )
    position, names = {column.name: i for i, column in enumerate(standing)}, schema.names
    return {j: position[names[j]] for j in wanted}


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
        return Cells(rescale(cells.values, found.unit or "", trained.unit or ""), cells.missing)
    raise DataError(
        f"column {column.name!r} was a {trained.kind} ({trained}) in training and is a {found.kind} "
        f"({found}) now: convert it"
    )


def rescale(times: Array, unit: str, new_unit: str) -> Array:
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
    known = _shown(levels(Schema((column,), "numpy"), 0))
    if len(known) == 0:
        raise DataError(f"{where}every cell was missing in training: make it missing, or fit again")
    or_missing = "" if column.codec.missing_code is None else ", make it missing"
    remedy = f"map it to one of them{or_missing}, or fit on a table that has it"
    cell = cells.values[[row]]
    if column.type.kind in TIMES:
        cell = plain(column.type, Cells(cell, cells.missing[[row]]))
    raise DataError(
        f"{where}level {_shown(cell)[0]!r} did not occur in training; the levels are {listing(known, 10)}: {remedy}"
    )


def _shown(values: Array) -> list[Any]:
    """Return values as they are read by people: dates in ISO format."""
    return list(map(str, values)) if values.dtype.kind in "mM" else values.tolist()
