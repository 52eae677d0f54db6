"""Filling the gaps of a frame: the cells that it has stay as they are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.tables.codecs import Cells
from energyboost.tables.encoder import Encoded, rescale
from energyboost.tables.frames import TIMES, ColumnType, Name, Table, open_table, plain, to_arrow, to_pandas, to_polars
from energyboost.tables.schema import Column, Schema

Places = npt.NDArray[np.int64]


def fill(
    schema: Schema,
    frame: Any,
    query: Encoded,
    cells: Mapping[int, Cells],
    rows: Places | None = None,
) -> Any:
    """Return a frame with its missing cells filled, and with the columns that it lacks.

    Columns come in the order of training, those that were not there behind them. They keep their own dtypes; whole
    numbers that gaps had made floats are whole again where they were in training.

    Parameters
    ----------
    schema : Schema
        What was inferred from the training table.
    frame : pandas, polars or pyarrow frame, or 2-D numpy array
        The rows with gaps; columns that the schema does not know stay as they are.
    query : Encoded
        The codes of the frame.
    cells : mapping
        For each column, by position, the cells for where ``query.missing[rows]`` is true, row by row. Columns that are
        not there stay as they are.
    rows : array of int, optional
        Which rows of the frame to return, and how often; all, once, unless told.
    """
    rows = np.arange(len(query.codes)) if rows is None else rows
    table = open_table(frame)
    if table.kind == "numpy":
        return _filled_array(schema, table, frame[rows], query, cells, rows)
    natives = {name: table.column(i)[rows].to_native() for i, name in enumerate(table.names)}
    for j, column in enumerate(schema.columns):
        if j not in cells or not query.missing[rows, j].any():
            continue
        if column.name not in natives:
            natives[column.name] = _series(schema.kind == table.kind, table.kind, column.type, cells[j])
            continue
        own_type, own = table.read(table.names.index(column.name), column.name)
        places, new = _for_gaps(own.missing[rows], query.missing[rows, j], cells[j])
        natives[column.name] = _filled(schema, table.kind, column, own_type, natives[column.name], places, new)
    ours = [column.name for column in schema.arranged if column.name in natives]
    return _frame(frame, table.kind, {name: natives[name] for name in dict.fromkeys([*ours, *natives])}, rows)


def _for_gaps(own: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_], new: Cells) -> tuple[Places, Cells]:
    """Where a column itself has a gap and there is a value for it, and the values.

    What else is wanted is a label that did not occur in training: it stays.
    """
    some = own[wanted] & ~new.missing
    return np.flatnonzero(wanted)[some], Cells(new.values[some], new.missing[some])


def _filled_array(
    schema: Schema, table: Table, array: Any, query: Encoded, cells: Mapping[int, Cells], rows: Places
) -> Any:
    for j, column in enumerate(schema.columns):
        if j in cells and column.name in table.names:
            i = table.names.index(column.name)
            places, new = _for_gaps(table.read(i)[1].missing[rows], query.missing[rows, j], cells[j])
            array[places, i] = plain(column.type, new)
    return array


def _filled(
    schema: Schema, kind: str, column: Column, own_type: ColumnType, native: Any, places: Places, new: Cells
) -> Any:
    """A column with some cells replaced, and all others as they were."""
    if len(places) == len(native):
        return _series(schema.kind == kind, kind, column.type, new)
    own_type, native = _made_room(own_type, native, new)
    if own_type.kind in TIMES:
        new = Cells(rescale(new.values, column.type.unit or "", own_type.unit or ""), new.missing)
    from_new = np.arange(len(native))
    from_new[places] = len(native) + np.arange(len(places))
    both = _behind(kind, native, _series(True, kind, own_type, new), from_new)
    if own_type.kind == column.type.kind == "number" and schema.kind == kind and own_type != column.type:
        return _whole_again(kind, column, both)
    return both


def _made_room(own_type: ColumnType, native: Any, new: Cells) -> tuple[ColumnType, Any]:
    """A dtype that holds what a column has and what it gets: more categories, or fractions."""
    if own_type.native == "category" and own_type.categories is not None:
        lacking = [label for label in dict.fromkeys(new.values.tolist()) if label not in own_type.categories]
        if lacking:
            native = native.cat.add_categories(lacking)
            own_type = replace(own_type, categories=(*own_type.categories, *lacking))
    whole = own_type.kind == "number" and "int" in own_type.native.lower()
    if whole and new.values.dtype.kind == "f" and (new.values != np.rint(new.values)).any():
        if own_type.native[0] == "I" or own_type.native[0] == "U":  # nullable pandas, or polars
            native = native.astype("Float64") if hasattr(native, "astype") else native.cast(_polars_float())
            return replace(own_type, native="Float64"), native
        wide = "ArrowDtype(double)" if own_type.native.startswith("ArrowDtype") else "double"
        return replace(own_type, native=wide), _to_double(native)
    return own_type, native


def _polars_float() -> Any:
    import polars as pl

    return pl.Float64


def _to_double(native: Any) -> Any:
    import pyarrow as pa

    if hasattr(native, "astype"):
        import pandas as pd

        return native.astype(pd.ArrowDtype(pa.float64()))
    return native.cast(pa.float64())


def _series(same_library: bool, kind: str, column_type: ColumnType, cells: Cells) -> Any:
    """Cells as a series of a library, of a dtype of this library or of the dtype that comes closest."""
    if kind == "pandas":
        import pandas as pd

        return to_pandas(column_type, cells) if same_library else pd.Series(plain(column_type, cells))
    values = plain(column_type, cells)
    if kind == "polars":
        import polars as pl

        return to_polars(column_type, cells, "") if same_library else pl.Series(_listed(values))
    import pyarrow as pa

    array = to_arrow(column_type, cells) if same_library else pa.array(_listed(values))
    return pa.chunked_array([array]) if isinstance(array, pa.Array) else array


def _listed(values: Any) -> Any:
    return values.tolist() if values.dtype == object else values


def _behind(kind: str, native: Any, new: Any, places: Places) -> Any:
    """Some of the cells of two series, of the same dtype, laid one behind the other."""
    if kind == "pandas":
        import pandas as pd

        return pd.concat([native.reset_index(drop=True), new.astype(native.dtype)], ignore_index=True).take(places)
    if kind == "polars":
        return native.rename("").append(new.cast(native.dtype)).gather(places)
    import pyarrow as pa

    both = pa.chunked_array([*native.chunks, *new.cast(native.type).chunks], native.type)
    return both.unify_dictionaries().combine_chunks().take(pa.array(places))


def _whole_again(kind: str, column: Column, native: Any) -> Any:
    """Numbers in the dtype of training, where that loses nothing."""
    import narwhals as nw

    from energyboost.tables.frames import read

    found = read(column.name, nw.from_native(native, series_only=True))[1]
    if column.codec.to_json().get("dtype") != "int64" or found.values.dtype.kind == "i":
        return native
    if found.missing.any() or (found.values != np.rint(found.values)).any() or np.abs(found.values).max() >= 2.0**53:
        return native
    return _series(True, kind, column.type, Cells(found.values.astype(np.int64), found.missing))


def _frame(frame: Any, kind: str, natives: dict[Name, Any], rows: Places) -> Any:
    """Series as a frame of their library."""
    if kind == "pandas":
        import pandas as pd

        index = frame.index[rows]
        made = pd.concat([series.set_axis(index) for series in natives.values()], axis=1)
        own = all(name in frame.columns for name in natives)
        made.columns = pd.Index(list(natives), dtype=frame.columns.dtype if own else None)
        return made
    if kind == "polars":
        import polars as pl

        return pl.DataFrame([series.alias(str(name)) for name, series in natives.items()])
    import pyarrow as pa

    return pa.table(list(natives.values()), names=list(map(str, natives)))
