"""Codecs of labels that were asked for: numbers as labels, and the frequent levels with one for the rest."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from energyboost.tables.codecs import UNSEEN, Array, Categories, Cells, is_code


@dataclass(frozen=True, slots=True)
class NumberCategories(Categories):
    """Numbers (dates as integers) as unordered labels: one code per value, and no value in between.

    Examples
    --------
    >>> codec = NumberCategories((0, 1), dtype="int64")
    >>> codec.encode(Cells(np.array([1.0, 0.0, 0.5]), np.zeros(3, bool)))
    array([ 1,  0, -2])
    """

    dtype: str = "int64"

    def __post_init__(self) -> None:
        Categories.__post_init__(self)
        if self.dtype not in ("int64", "float16", "float32", "float64"):
            raise ValueError(f"dtype is {self.dtype!r}")
        if any(isinstance(x, str | bool) for x in self.levels) or not np.all(np.isfinite(self._values)):
            raise ValueError(f"levels {self.levels[:5]} are not numbers")

    @property
    def _values(self) -> Array:
        return np.array(self.levels, dtype=self.dtype)

    def encode(self, cells: Cells) -> npt.NDArray[np.int64]:
        """Return the code of each cell; `MISSING` or `UNSEEN` where there is none."""
        values = cells.values
        if self.dtype != "int64":  # a float32 of training is no float64 of a query, unless rounded alike
            with np.errstate(over="ignore"):
                values = values.astype(self.dtype)
        return Categories.encode(self, Cells(values, cells.missing))

    def decode(self, codes: Array, uniforms: Array) -> Cells:
        """Return the number of each code."""
        values = np.zeros(self.n_codes, self.dtype)
        values[: len(self.levels)] = self._values
        return Cells(values[codes], is_code(codes, self.missing_code))


@dataclass(frozen=True, slots=True)
class FrequentCategories(Categories):
    """The frequent labels of a column; any other label, seen in training or not, is "other".

    Examples
    --------
    >>> codec = FrequentCategories(("Oslo", "Rome", "other"))
    >>> codec.encode(Cells(np.array(["Rome", "Bergen"], object), np.zeros(2, bool)))
    array([1, 2])
    """

    OTHER: ClassVar[str] = "other"

    def __post_init__(self) -> None:
        Categories.__post_init__(self)
        if self.OTHER not in self.levels:
            raise ValueError(f"there is no level {self.OTHER!r}")

    def encode(self, cells: Cells) -> npt.NDArray[np.int64]:
        """Return the code of each cell; `MISSING` where there is none."""
        codes = Categories.encode(self, cells)
        codes[codes == UNSEEN] = self.levels.index(self.OTHER)
        return codes
