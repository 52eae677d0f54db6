"""Columns of tables as arrays that can be counted and drawn."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from energyboost.tables.frames import LABELS, Name, open_table, plain

Array = npt.NDArray[Any]

MOST_LABELS = 12
OTHER = "(other)"


class Cells(NamedTuple):
    """One column: labels with None for missing, else numbers or dates with NaN or NaT."""

    values: Array
    declared: Sequence[Any] | None = None
    unit: str = ""

    @property
    def is_label(self) -> bool:
        """Whether the column holds labels."""
        return self.values.dtype == object

    @property
    def is_date(self) -> bool:
        """Whether the column holds dates."""
        return self.values.dtype.kind == "M"

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which cells are not missing."""
        if self.is_label:
            return np.array([cell is not None for cell in self.values], bool)
        return np.asarray(self.values == self.values)  # neither NaN nor NaT is itself


def columns_of(frame: Any) -> dict[Name, Cells]:
    """Return the cells of each column; durations are in seconds."""
    table, columns = open_table(frame), dict[Name, Cells]()
    for i, name in enumerate(table.names):
        column_type, cells = table.read(i)
        unit = ""
        if column_type.kind in LABELS:
            values = plain(column_type, cells).astype(object)
            values[cells.missing] = None
        elif column_type.kind == "number":
            values = np.where(cells.missing, np.nan, cells.values)
        else:
            values = plain(column_type, cells)
            if column_type.kind == "duration":
                values, unit = values / np.timedelta64(1, "s"), " (seconds)"
        columns[name] = Cells(values, column_type.categories, unit)
    return columns


def shown_labels(real: Cells, synthetic: Cells) -> list[Any]:
    """The labels that a panel has room for: the most frequent in their order, ``OTHER``, None for missing."""
    counts = Counter(real.values.tolist()) + Counter(synthetic.values.tolist())
    known: list[Any] = [label for label, _ in counts.most_common() if label is not None]
    declared = real.declared
    place = {label: i for i, label in enumerate(sorted(known) if declared is None else declared)}
    shown = sorted(known[:MOST_LABELS], key=lambda label: place.get(label, len(place)))
    return shown + [OTHER] * (len(known) > MOST_LABELS) + [None] * (None in counts)


def places_among(cells: Cells, shown: Sequence[Any]) -> npt.NDArray[np.int64]:
    """The place of each cell among the shown labels."""
    place = {label: i for i, label in enumerate(shown)}
    other = place.get(OTHER, -1)
    return np.array([place.get(cell, other) for cell in cells.values], np.int64)


def edges_of(numbers: Array, n_bins: int) -> Array:
    """Edges of a histogram; of whole numbers, each bin with as many of them as the others."""
    if len(numbers) and (numbers == np.rint(numbers)).all():
        step = max(1, -(-int(np.ptp(numbers) + 1) // n_bins))
        return np.arange(numbers.min() - 0.5, numbers.max() + 0.5 + step, step)
    return np.histogram_bin_edges(numbers, n_bins)
