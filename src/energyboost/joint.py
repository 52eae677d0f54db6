"""The distribution of a few columns together, as an object."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.tables import QuantileBins, Schema, decode_column, frame_of, levels

Floats = npt.NDArray[np.float64]


class Joint:
    """The distribution of a few columns together, for every row of a query.

    Parameters
    ----------
    schema : Schema
        The columns of the model.
    columns : sequence of int
        Which of them this is about.
    probability : array of shape (n_rows, n_codes, n_codes, ...)
        Of every combination of codes; missing is left out and the rest scaled up.
    index : pandas index, optional
        Of the query.
    """

    def __init__(self, schema: Schema, columns: Sequence[int], probability: Floats, index: Any = None) -> None:
        self._schema, self._columns, self._index = schema, list(columns), index
        self._codes = []
        for axis, j in enumerate(columns, 1):
            codec = schema.columns[j].codec
            known = np.flatnonzero(np.arange(codec.n_codes) != codec.missing_code)
            self._codes.append(known)
            probability = np.take(probability, known, axis=axis)
        total = probability.sum(axis=tuple(range(1, probability.ndim)), keepdims=True)
        self._probability: Floats = probability / total

    @property
    def targets(self) -> tuple[Any, ...]:
        """The columns that this is about."""
        return tuple(self._schema.names[j] for j in self._columns)

    @property
    def proba(self) -> Floats:
        """The probability of every combination: one axis for the rows, then one for each column."""
        return self._probability

    @property
    def levels(self) -> tuple[npt.NDArray[Any], ...]:
        """What the places along the axis of each column stand for: its levels, or the middles of its bins."""
        return tuple(
            decode_column(self._schema, j, codes)
            if isinstance(self._schema.columns[j].codec, QuantileBins)
            else levels(self._schema, j)
            for j, codes in zip(self._columns, self._codes, strict=True)
        )

    def __len__(self) -> int:
        return len(self._probability)

    def mode(self) -> dict[Any, npt.NDArray[Any]]:
        """The likeliest combination for each row: a value of each column."""
        flat = self._probability.reshape(len(self), -1).argmax(axis=1)
        places = np.unravel_index(flat, self._probability.shape[1:])
        return {name: level[place] for name, level, place in zip(self.targets, self.levels, places, strict=True)}

    def to_frame(self) -> Any:
        """A long frame of the training table's kind: the row's position, a value of each column, the probability."""
        places = np.unravel_index(np.arange(self._probability.size), self._probability.shape)
        columns: dict[str, npt.NDArray[Any]] = {"row": places[0]}
        for name, level, place in zip(self.targets, self.levels, places[1:], strict=True):
            columns[f"{name}_" if name in ("row", "probability") else str(name)] = level[place]
        zones = [self._schema.columns[j].type.zone for j in self._columns]
        zone = next((zone for zone in zones if zone), None)
        return frame_of(self._schema, columns | {"probability": self._probability.ravel()}, zone=zone)

    def __repr__(self) -> str:
        shape = " x ".join(f"{name!r} ({len(codes)})" for name, codes in zip(self.targets, self._codes, strict=True))
        return f"Joint of {shape}, {len(self):,} row{'s'[: len(self) != 1]}"
