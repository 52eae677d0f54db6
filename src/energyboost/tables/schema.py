"""What became of each column of a table, and why."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

from energyboost.checks import integer
from energyboost.errors import DataError, ModelFileError
from energyboost.model.domain import MAX_CODES, MAX_COLUMNS, Domain
from energyboost.tables.codecs import Categories, Codec, OrderedLevels
from energyboost.tables.frames import FRAMES, LABELS, ColumnType, Name, open_table
from energyboost.tables.infer import choose_codec
from energyboost.tables.numeric import Levels, QuantileBins

_CODECS = {codec.__name__: codec for codec in (Categories, OrderedLevels, Levels, QuantileBins)}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type, the codec it got, and the reason."""

    name: Name
    type: ColumnType
    codec: Codec
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return the column as plain JSON."""
        codec = {"codec": type(self.codec).__name__, **self.codec.to_json()}
        return {"name": self.name, "type": self.type.to_json(), "codec": codec, "why": self.why}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """Rebuild from what `to_json` returned."""
        name, why, fields = state["name"], state["why"], dict(state["codec"])
        column_type, codec = ColumnType.from_json(state["type"]), _CODECS[fields.pop("codec")]
        if not isinstance(name, str | int) or not isinstance(why, str):
            raise TypeError(f"a column is named {name!r} and described by {why!r}")
        if (column_type.kind in LABELS) != (codec in (Categories, OrderedLevels)):
            raise ValueError(f"column {name!r}, a {column_type.kind}, has codec {codec.__name__}")
        return cls(name, column_type, codec.from_json(fields), why)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, and how each becomes codes.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the training table.
    kind : str
        The frame library: ``"pandas"``, ``"polars"``, ``"pyarrow"`` or ``"numpy"``.
    names_type : str
        The dtype of a pandas column index; empty for the other libraries.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema.infer(np.array([[1.5, 0.0], [2.5, 0.0], [1.5, np.nan]]))
    >>> schema.names, schema.domain.sizes
    (('x0', 'x1'), (2, 2))
    >>> print(schema)
    column  type     codec   codes  why
    x0      float64  Levels      2  number with 2 distinct values: one level each
    x1      float64  Levels      2  number with 1 distinct value: one level each, and one for missing
    """

    columns: tuple[Column, ...]
    kind: str
    names_type: str = ""

    @classmethod
    def infer(cls, frame: Any, *, max_bins: int = 255, max_levels: int = 1000) -> Self:
        """Choose a codec for every column of a training table.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or 2-D numpy array
            The training table. The columns of an array are called x0, x1, ...
        max_bins : int
            How many codes a column of numbers may have, missing included. Many atoms may need more.
        max_levels : int
            How many levels a column of labels may have.
        """
        max_bins = integer("max_bins", max_bins, 2, MAX_CODES - 1)
        max_levels = integer("max_levels", max_levels, 1, MAX_CODES - 1)
        table = open_table(frame)
        if not table.names:
            raise DataError("the table has no columns: give it at least one")
        if len(table.names) > MAX_COLUMNS:
            raise DataError(
                f"the table has {len(table.names):,} columns, more than {MAX_COLUMNS:,}: keep those you need"
            )
        if table.n_rows == 0:
            raise DataError("the table has no rows: there is nothing to learn from")
        columns = []
        for i, name in enumerate(table.names):
            column_type, cells = table.read(i)
            codec, why = choose_codec(name, column_type, cells, max_bins=max_bins, max_levels=max_levels)
            if codec.n_codes > MAX_CODES:
                raise DataError(
                    f"column {name!r} needs {codec.n_codes:,} codes, more than {MAX_CODES:,}: lower max_bins"
                )
            columns.append(Column(name, column_type, codec, why))
        return cls(tuple(columns), table.kind, table.names_type)

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def domain(self) -> Domain:
        """The space of the codes."""
        codecs = [column.codec for column in self.columns]
        return Domain(tuple(c.n_codes for c in codecs), tuple(c.ordered for c in codecs))

    def index_of(self, name: Name) -> int:
        """Return the position of a column, given its name; those of an array may be asked for by position, too."""
        names = self.names
        if isinstance(name, bool) or not isinstance(name, str | Integral):  # True is equal to 1
            raise DataError(f"a column is asked for by its name; got {type(name).__name__}: {str(name)[:60]}")
        if self.kind == "numpy" and isinstance(name, Integral) and -len(names) <= int(name) < len(names):
            return range(len(names))[int(name)]
        if name in names:
            return names.index(name)
        spelled = {str(known): known for known in names}
        close = difflib.get_close_matches(str(name), spelled, n=1)
        hint = f"; did you mean {spelled[close[0]]!r}?" if close else ""
        raise DataError(f"unknown column {name!r}; the columns are {listing(names, 20)}{hint}")

    def __str__(self) -> str:
        rows = [("column", "type", "codec", "codes", "why")] + [
            (str(c.name), str(c.type), type(c.codec).__name__, f"{c.codec.n_codes:,}", c.why) for c in self.columns
        ]
        wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return "\n".join(
            f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:<{wide[2]}}  {d:>{wide[3]}}  {e}" for a, b, c, d, e in rows
        )

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON: lists, strings, numbers and booleans."""
        columns = [column.to_json() for column in self.columns]
        return {"kind": self.kind, "names_type": self.names_type, "columns": columns}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """Rebuild from what `to_json` returned; anything else is a `ModelFileError`."""
        try:
            columns = tuple(Column.from_json(column) for column in state["columns"])
            schema = cls(columns, state["kind"], str(state["names_type"]))
            if schema.kind not in FRAMES or not 0 < len(set(schema.names)) == schema.domain.n_columns:
                raise ValueError(f"a {schema.kind!r} frame with columns {schema.names}")
            return schema
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(
                f"the schema is damaged ({type(error).__name__}: {error}): get the file again, or fit anew"
            ) from error


def listing(values: Iterable[Any], limit: int) -> str:
    """Write out the first values, and how many there are if these are not all."""
    shown = list(values)
    rest = f", ... ({len(shown):,} in all)" if len(shown) > limit else ""
    return ", ".join(map(repr, shown[:limit])) + rest
