"""What became of each column of a table, and why."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

from energyboost.checks import integer
from energyboost.errors import DataError, ModelFileError
from energyboost.model.domain import MAX_CODES, MAX_COLUMNS, Domain
from energyboost.tables.categories import FrequentCategories, NumberCategories
from energyboost.tables.codecs import Array, Categories, Cells, Codec, OrderedLevels
from energyboost.tables.frames import FRAMES, LABELS, ColumnType, Name, Table, open_table
from energyboost.tables.infer import NOTHING_ASKED, TooVaried, choose_codec, looks_like_ids
from energyboost.tables.left_out import LeftOut
from energyboost.tables.numeric import Levels, QuantileBins
from energyboost.tables.overrides import Options, parse_overrides
from energyboost.tables.words import guess, listing

_OF_LABELS: tuple[Any, ...] = (Categories, FrequentCategories, OrderedLevels)
_OF_NUMBERS: tuple[Any, ...] = (Levels, QuantileBins, NumberCategories)
_CODECS = {codec.__name__: codec for codec in _OF_LABELS + _OF_NUMBERS}


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
        if codec not in (_OF_LABELS if column_type.kind in LABELS else _OF_NUMBERS):
            raise ValueError(f"column {name!r}, a {column_type.kind}, has codec {codec.__name__}")
        return cls(name, column_type, codec.from_json(fields), why)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, and how each becomes codes.

    Parameters
    ----------
    columns : tuple of Column
        Those of the model, in the order of the training table.
    kind : str
        The frame library: ``"pandas"``, ``"polars"``, ``"pyarrow"`` or ``"numpy"``.
    names_type : str
        The dtype of a pandas column index; empty for the other libraries.
    left_out : tuple of LeftOut
        The columns of the training table that the model does without: ids, and dropped ones.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema.infer(np.array([[1.5, 0.0], [2.5, 0.0], [1.5, np.nan]]))
    >>> schema.names, schema.domain.sizes
    (('x0', 'x1'), (2, 2))
    >>> print(schema)
    column  type     codec   codes  why
    x0      float64  Levels      2  number with 2 distinct values: one level each
    x1      float64  Levels      2  constant number: one level, and one for missing
    """

    columns: tuple[Column, ...]
    kind: str
    names_type: str = ""
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        max_bins: int = 255,
        max_levels: int = 1000,
        ids: Collection[Any] | None = None,
        overrides: Mapping[Any, Any] | None = None,
        weights: Array | None = None,
    ) -> Self:
        """Choose a codec for every column of a training table.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or 2-D numpy array
            The training table. The columns of an array are called x0, x1, ...
        max_bins : int
            How many codes a column of numbers may have, missing included. Many atoms may need more.
        max_levels : int
            How many levels a column of labels may have.
        ids : list of names, optional
            Columns that are left out of the model and made anew in what comes back.
        overrides : dict from names to what is asked for, optional
            ``"drop"``, ``"id"``, ``"category"``, or a dict with ``"codec"``, ``"bins"``, ``"ordered"`` or ``"levels"``.
        weights : array of shape (n_rows,), optional
            How often each row counts where bins, and frequent levels, are chosen.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"key": [7, 8, 9], "class": [0, 1, 1]})
        >>> print(Schema.infer(table, ids=["key"], overrides={"class": "category"}))
        column  type   codec             codes  why
        key     int64  -                     -  id: left out, and made anew from 10 on
        class   int64  NumberCategories      2  number as labels with 2 distinct values: one level each (as asked)
        """
        max_bins = integer("max_bins", max_bins, 2, MAX_CODES - 1)
        max_levels = integer("max_levels", max_levels, 1, MAX_CODES - 1)
        table = open_table(frame)
        _check_size(table)
        asked = parse_overrides(table.names, table.kind, ids, overrides)
        columns: list[Column] = []
        left_out: list[LeftOut] = []
        varied: dict[Name, str] = {}
        for i, name in enumerate(table.names):
            options = asked.get(name, NOTHING_ASKED)
            if options.left_out == "drop":
                left_out.append(LeftOut(name, i, "dropped (as asked)"))
                continue
            column_type, cells = table.read(i)
            if options.left_out == "id":
                left_out.append(LeftOut.ids(name, i, column_type, cells))
                continue
            try:
                columns.append(_column(name, column_type, cells, options, max_bins, max_levels, weights))
            except TooVaried as found:  # all of them are named at once
                varied[name] = str(found)
        if varied:
            raise looks_like_ids(varied)
        if not columns:
            raise DataError("every column is left out as an id or dropped: leave at least one for the model")
        return cls(tuple(columns), table.kind, table.names_type, tuple(left_out))

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns of the model."""
        return tuple(column.name for column in self.columns)

    @property
    def arranged(self) -> tuple[Column | LeftOut, ...]:
        """The columns of the training table, those that were left out in their places."""
        columns: list[Column | LeftOut] = list(self.columns)
        for left in self.left_out:
            columns.insert(left.place, left)
        return tuple(columns)

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
        if self.kind == "numpy" and isinstance(name, Integral):
            arranged = self.arranged
            if -len(arranged) <= int(name) < len(arranged):
                name = arranged[int(name)].name
        if name in names:
            return names.index(name)
        for left in self.left_out:
            if left.name == name:
                raise DataError(f"the model knows nothing of column {name!r}; {left.why}")
        raise DataError(f"unknown column {name!r}; the columns are {listing(names, 20)}{guess(name, names)}")

    def __str__(self) -> str:
        rows = [("column", "type", "codec", "codes", "why")]
        for c in self.arranged:
            if isinstance(c, LeftOut):
                rows.append((str(c.name), "-" if c.type is None else str(c.type), "-", "-", c.why))
            else:
                rows.append((str(c.name), str(c.type), type(c.codec).__name__, f"{c.codec.n_codes:,}", c.why))
        wide = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        return "\n".join(
            f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:<{wide[2]}}  {d:>{wide[3]}}  {e}" for a, b, c, d, e in rows
        )

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain JSON: lists, strings, numbers and booleans."""
        columns, left_out = [c.to_json() for c in self.columns], [c.to_json() for c in self.left_out]
        return {"kind": self.kind, "names_type": self.names_type, "columns": columns, "left_out": left_out}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """Rebuild from what `to_json` returned; anything else is a `ModelFileError`."""
        try:
            columns = tuple(Column.from_json(column) for column in state["columns"])
            left_out = tuple(LeftOut.from_json(column) for column in state["left_out"])
            schema = cls(columns, state["kind"], str(state["names_type"]), left_out)
            arranged = schema.arranged
            names = [column.name for column in arranged]
            if schema.kind not in FRAMES or schema.domain.n_columns < 1 or len(set(names)) < len(names):
                raise ValueError(f"a {schema.kind!r} frame with columns {names}")
            if any(arranged[left.place] is not left for left in left_out):
                raise ValueError(f"columns left out have places {[left.place for left in left_out]}")
            return schema
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
            raise ModelFileError(
                f"the schema is damaged ({type(error).__name__}: {error}): get the file again, or fit anew"
            ) from error


def _check_size(table: Table) -> None:
    if not table.names:
        raise DataError(
            f"the table has 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required: give it a column"
        )
    if len(table.names) > MAX_COLUMNS:
        raise DataError(f"the table has {len(table.names):,} columns, more than {MAX_COLUMNS:,}: keep those you need")
    if table.n_rows == 0:
        raise DataError("the table has no rows: there is nothing to learn from")


def _column(
    name: Name,
    column_type: ColumnType,
    cells: Cells,
    options: Options,
    max_bins: int,
    max_levels: int,
    weights: Array | None,
) -> Column:
    codec, why = choose_codec(
        name, column_type, cells, max_bins=max_bins, max_levels=max_levels, asked=options, weights=weights
    )
    if codec.n_codes > MAX_CODES:
        remedy = "leave it quantile bins" if isinstance(codec, Levels) else "lower max_bins"
        raise DataError(f"column {name!r} needs {codec.n_codes:,} codes, more than {MAX_CODES:,}: {remedy}")
    declared = column_type.categories
    if isinstance(codec, FrequentCategories) and declared is not None and codec.OTHER not in declared:
        column_type = replace(column_type, categories=(*declared, codec.OTHER))
    return Column(name, column_type, codec, why)
