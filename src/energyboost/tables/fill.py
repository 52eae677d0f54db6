"""Filling the gaps of a frame: the cells that it has stay as they are."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from energyboost.tables.codecs import Array, Cells
from energyboost.tables.encoder import Encoded
from energyboost.tables.frames import open_table, plain, to_arrow, to_pandas, to_polars
from energyboost.tables.schema import Column, Schema


def fill(
    schema: Schema,
    frame: Any,
    query: Encoded,
    cells: Mapping[int, Cells],
    rows: npt.NDArray[np.int64] | None = None,
) -> Any:
    """Return a frame with its missing cells filled, and with the columns that it lacks.

    Columns come in the order of training, those that were not there behind them. Filled columns get the dtype that they
    had in training, where that loses nothing of the cells that they have.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    frame : pandas, polars or pyarrow frame, or 2-D numpy array
        The rows with gaps; columns that the schema does not know stay as they are.
    query : Encoded
        The codes of the frame.
    cells : mapping
        For each column with gaps, by position, the cells for where ``query.missing[rows]`` is true, row by row.
    rows : array of int, optional
        Which rows of the frame to return, and how often; all, once, unless told.
    """
    rows = np.arange(len(query.codes)) if rows is None else rows
    table = open_table(frame)
    gaps: dict[int, Array] = {}  # by the position of a column in the schema
    for j, column in enumerate(schema.columns):
        wanted = query.missing[rows, j]
        own = np.ones(len(rows), bool)
        if column.name in table.names:
            own = table.read(table.names.index(column.name), column.name)[1].missing[rows]
        # what else is not known is a label that did not occur in training: it stays
        some = own[wanted]
        gaps[j] = own
        if own.any():
            cells = {**cells, j: Cells(cells[j].values[some], cells[j].missing[some])}
    if table.kind == "numpy":
        array = frame[rows]
        for j, column in enumerate(schema.columns):
            if gaps[j].any():
                array[gaps[j], table.names.index(column.name)] = plain(column.type, cells[j])
        return array
    taken = nw.from_native(frame, eager_only=True)[rows]
    changed = []
    for j, column in enumerate(schema.columns):
        if not gaps[j].any():
            continue
        new = _series(schema, column, cells[j], taken)
        if column.name in taken.columns:
            new = _merged(taken[column.name], np.flatnonzero(gaps[j]), new)
        changed.append(new.alias(column.name))  # type: ignore[arg-type]
    filled = taken.with_columns(*changed) if changed else taken
    ours = [column.name for column in schema.arranged if column.name in filled.columns]
    return filled.select([*ours, *(name for name in filled.columns if name not in ours)]).to_native()


def _series(schema: Schema, column: Column, cells: Cells, frame: "nw.DataFrame[Any]") -> "nw.Series[Any]":
    """Cells as a series of the query's library, of the training dtype if that is of this library."""
    kind, name = frame.implementation.name.lower(), str(column.name)
    index = frame.to_native().index if kind == "pandas" and len(cells) == len(frame) else None
    if kind != schema.kind:
        return nw.new_series(name, plain(column.type, cells).tolist(), backend=frame.implementation)
    if kind == "pandas":
        native = to_pandas(column.type, cells)
        native.index = native.index if index is None else index
    else:
        native = to_polars(column.type, cells, name) if kind == "polars" else to_arrow(column.type, cells)
    if kind == "pyarrow":
        import pyarrow as pa

        native = pa.chunked_array([native]) if isinstance(native, pa.Array) else native
    return nw.from_native(native, series_only=True)


def _merged(own: "nw.Series[Any]", places: npt.NDArray[np.int64], new: "nw.Series[Any]") -> "nw.Series[Any]":
    """A column with some cells replaced."""
    if len(places) == len(own):
        return new
    if own.dtype == nw.Categorical and own.implementation.is_pandas():
        return _merged_categories(own, places, new)
    if own.dtype in (nw.Categorical, nw.Enum):
        text = own.cast(nw.String).scatter(places, new.cast(nw.String))
        return text.cast(new.dtype if own.dtype == new.dtype else own.dtype)
    if own.dtype == new.dtype:
        return own.scatter(places, new)
    merged = own.scatter(places, new.cast(own.dtype))
    trained = merged.cast(new.dtype)
    return trained if bool((trained.cast(own.dtype) == merged).all()) else merged


def _merged_categories(own: "nw.Series[Any]", places: npt.NDArray[np.int64], new: "nw.Series[Any]") -> "nw.Series[Any]":
    series, fresh = own.to_native().copy(), new.to_native().astype(object)
    lacking = [level for level in fresh.unique() if level not in series.cat.categories]
    series = series.cat.add_categories(lacking) if lacking else series
    series.iloc[places] = fresh.to_numpy()
    return nw.from_native(series, series_only=True)
