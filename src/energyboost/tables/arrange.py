"""Rows and columns taken from a frame, and a column put beside one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from energyboost.errors import DataError
from energyboost.tables.codecs import Array
from energyboost.tables.frames import Name, Table, open_table


def take_rows(frame: Any, rows: Array) -> Any:
    """Return some rows of a frame."""
    if isinstance(frame, Table):
        index = None if frame.index is None else frame.index[rows]
        return replace(frame, n_rows=len(rows), column=lambda i: frame.column(i)[rows], index=index)
    if isinstance(frame, np.ndarray):
        return frame[rows]
    return nw.from_native(frame, eager_only=True)[rows].to_native()


def take_columns(frame: Any, names: Sequence[Name]) -> Any:
    """Return those of some columns that a frame has, in the order of their names; an array as it is."""
    if isinstance(frame, np.ndarray):
        return frame
    narwhal = nw.from_native(frame, eager_only=True)
    own = list(narwhal.columns)
    wanted = [own.index(name) for name in names if name in own]
    return frame if wanted == list(range(len(own))) else narwhal[:, wanted].to_native()


def with_column(frame: Any, name: Name, values: Array) -> Table:
    """Look at a frame as a `Table` that has one more column, the last; nothing is copied or cast.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or 2-D numpy array
        What `open_table` takes.
    name : str or int
        The name of the new column, one that the frame does not have.
    values : array of shape (n_rows,)
        Its cells, of any dtype.

    Examples
    --------
    >>> import numpy as np
    >>> table = with_column(np.array([[1.5], [2.5]]), "target", np.array(["no", "yes"]))
    >>> table.names, table.read(1)[1].values.tolist()
    (('x0', 'target'), ['no', 'yes'])
    """
    table = open_table(frame)
    if name in table.names:
        raise DataError(f"the table has a column {name!r} already: give the new one another name")
    if len(values) != table.n_rows:
        raise DataError(f"the table has {table.n_rows:,} rows, and there are {len(values):,} values of {name!r}")
    column: Any = values
    names_type = table.names_type
    if table.kind != "numpy":
        cells = values.tolist() if values.dtype.kind in "OU" else values
        column = nw.new_series(str(name), cells, backend=table.kind)  # type: ignore[arg-type]
    if table.kind == "pandas":
        import pandas as pd

        names_type = str(pd.Index(table.names, dtype=table.names_type).append(pd.Index([name])).dtype)
    last = len(table.names)
    return replace(
        table,
        names=(*table.names, name),
        names_type=names_type,
        column=lambda i: column if i == last else table.column(i),
    )
