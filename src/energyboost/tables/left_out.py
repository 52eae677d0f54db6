"""Columns that the model does without: dropped ones, and ids, whose values are made anew."""

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from energyboost.errors import DataError
from energyboost.tables.codecs import Cells
from energyboost.tables.frames import ColumnType, Name

_FLOAT_BITS = {"float16": 11, "halffloat": 11, "float32": 24, "float": 24}
"""Whole numbers up to this power of two are exact; up to 53 for the others."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column that queries need not have and that the model does not know.

    Parameters
    ----------
    name : str or int
        The name of the column.
    place : int
        Where it stood in the training table.
    why : str
        The reason, and what is made anew.
    type : ColumnType, optional
        What the ids were, whole numbers or text; None for a dropped column, which does not come back.
    next : int
        Where ids that are whole numbers go on.
    """

    name: Name
    place: int
    why: str
    type: ColumnType | None = None
    next: int = 1

    @classmethod
    def ids(cls, name: Name, place: int, column_type: ColumnType, cells: Cells) -> Self:
        """Say how the ids of a column go on.

        Examples
        --------
        >>> cells = Cells(np.array([7, 9]), np.zeros(2, bool))
        >>> LeftOut.ids("id", 0, ColumnType("number", "int64"), cells).values(3).values
        array([10, 11, 12])
        """
        known = cells.values[~cells.missing]
        if column_type.kind == "string":
            return cls(name, place, f"id: left out, and made anew as '{name}-1', '{name}-2', ...", column_type)
        if column_type.kind != "number" or (known != np.rint(known)).any():
            came = f"a {column_type.kind} ({column_type})" if column_type.kind != "number" else "not whole numbers"
            raise DataError(
                f"column {name!r} is among the ids and is {came}: ids are whole numbers or text; make it one of them, "
                f"or drop it, schema={{{name!r}: 'drop'}}"
            )
        following = int(known.max()) + 1 if len(known) else 1
        if following > _largest(column_type.native):
            raise DataError(
                f"column {name!r} is among the ids and holds {following - 1}: {column_type} has no whole number above; "
                "cast it to int64"
            )
        return cls(name, place, f"id: left out, and made anew from {following} on", column_type, following)

    def values(self, n: int) -> Cells:
        """Return n new ids."""
        column_type, numbers = self.type, range(self.next, self.next + n)
        if column_type is None:
            raise ValueError(f"column {self.name!r} was dropped")
        present = np.zeros(n, dtype=bool)
        if column_type.kind == "string":
            return Cells(np.array([f"{self.name}-{i}" for i in numbers], dtype=object), present)
        largest = _largest(column_type.native)
        if n and numbers[-1] > largest:
            raise DataError(
                f"column {self.name!r} has room for {largest - self.next + 1:,} new ids, and {n:,} are needed: "
                f"{column_type} ends at {largest:,}; cast the column to int64 before fitting, or drop it"
            )
        return Cells(np.array(numbers, dtype=np.int64), present)

    def to_json(self) -> dict[str, Any]:
        """Return the column as plain JSON."""
        column_type = None if self.type is None else self.type.to_json()
        return {"name": self.name, "place": self.place, "why": self.why, "type": column_type, "next": self.next}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """Rebuild from what `to_json` returned."""
        column_type = None if state["type"] is None else ColumnType.from_json(state["type"])
        left = cls(state["name"], state["place"], state["why"], column_type, state["next"])
        right = isinstance(left.name, str | int) and isinstance(left.why, str)
        if not right or type(left.place) is not int or type(left.next) is not int:
            raise TypeError(f"column {left.name!r}, in place {left.place!r}, goes on with {left.next!r}")
        if column_type is not None and column_type.kind not in ("string", "number"):
            raise ValueError(f"column {left.name!r}, a {column_type.kind}, is no id")
        return left


def _largest(native: str) -> int:
    """Return the largest whole number, up to 2**63 - 1, that a dtype holds, and all below."""
    name = native.lower().removeprefix("arrowdtype(").removesuffix(")")
    if found := re.fullmatch(r"(u?)int(\d+)", name):
        return (1 << min(int(found[2]) - (not found[1]), 63)) - 1
    if found := re.fullmatch(r"decimal\d*\((\d+), (-?\d+)\)?", name):
        digits = int(found[1]) - max(int(found[2]), 0)
        return int(min(10**digits, 10**9)) - 1
    return (1 << 63) - 1 if name == "object" else 1 << _FLOAT_BITS.get(name, 53)
