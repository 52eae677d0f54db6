"""Codecs: how the cells of one column become codes, and codes become cells again.

A codec is a small frozen value. It knows nothing of column names or of frame libraries: it reads and
writes `Cells`. One law holds for all of them: ``encode(decode(codes, uniforms)) == codes``, whatever
the uniforms in [0, 1).
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Label = str | int | float | bool
T = TypeVar("T")

MISSING, UNSEEN = -1, -2  #: what `encode` answers for a cell that has no code


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of a column as plain numpy: numbers (dates as integers), or objects.

    `values` holds an arbitrary filler wherever `missing` is true.
    """

    values: Array
    missing: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)


class Stored:
    """A frozen dataclass of scalars and tuples that writes itself as plain JSON."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields as lists, strings, numbers and booleans."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in state.items()}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Self:
        """Rebuild from what `to_json` returned."""
        return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in state.items()})


class Codec(Protocol):
    """What every codec offers."""

    @property
    def n_codes(self) -> int:
        """How many codes there are, the one for missing included."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something."""

    @property
    def missing_code(self) -> int | None:
        """The code of a missing cell; None when no cell was missing in training."""

    @property
    def centres(self) -> npt.NDArray[np.float64]:
        """The mean value each code stands for; NaN for missing and for what is not a number."""

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        """How many units of the column each code spans; 1 for a level, an atom, and missing."""

    def encode(self, cells: Cells) -> npt.NDArray[np.int64]:
        """Return the code of each cell; `MISSING` or `UNSEEN` where there is none."""

    def decode(self, codes: Array, uniforms: Array) -> Cells:
        """Return a cell for each code, drawn inside its bin by a uniform in [0, 1)."""

    def settle(self, cells: Cells) -> Cells:
        """Return values that need not occur, such as means, as the nearest that could: on the column's grid."""

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain JSON."""


class _Lookup(dict[Hashable, int]):
    """A dict that knows a code for every value: `UNSEEN` for the unknown ones."""

    def __missing__(self, key: Hashable) -> int:
        return UNSEEN


@dataclass(frozen=True, slots=True)
class _Labels(Stored):
    """Codes that stand for labels, one each."""

    levels: tuple[Label, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        if len(set(self.levels)) < len(self.levels) or not all(isinstance(x, Label) for x in self.levels):
            raise ValueError("the levels are not distinct labels")
        if not isinstance(self.missing, bool) or self.n_codes == 0:
            raise ValueError("there is no code")

    @property
    def n_codes(self) -> int:
        return len(self.levels) + self.missing

    @property
    def ordered(self) -> bool:
        return False

    @property
    def missing_code(self) -> int | None:
        return len(self.levels) if self.missing else None

    @property
    def centres(self) -> npt.NDArray[np.float64]:
        return np.full(self.n_codes, np.nan)

    @property
    def widths(self) -> npt.NDArray[np.float64]:
        return np.ones(self.n_codes)

    def encode(self, cells: Cells) -> npt.NDArray[np.int64]:
        lookup = _Lookup(zip(self.levels, self._level_codes(), strict=True))
        # map and fromiter stay in C: one hash per row, no Python loop
        codes = np.fromiter(map(lookup.__getitem__, cells.values.tolist()), np.int64, len(cells))
        codes[cells.missing] = MISSING if self.missing_code is None else self.missing_code
        return codes

    def decode(self, codes: Array, uniforms: Array) -> Cells:
        table = np.full(self.n_codes, None, dtype=object)
        table[list(self._level_codes())] = self.levels
        return Cells(table[codes], is_code(codes, self.missing_code))

    def settle(self, cells: Cells) -> Cells:
        return cells

    def _level_codes(self) -> range:
        shift = int(self.missing_code == 0 and self.missing)
        return range(shift, shift + len(self.levels))


@dataclass(frozen=True, slots=True)
class Categories(_Labels):
    """Unordered labels: one code per level; missing, when there is any, is the last.

    Examples
    --------
    >>> codec = Categories(("Oslo", "Rome"), missing=True)
    >>> cells = Cells(np.array(["Rome", None, "Paris"], object), np.array([False, True, False]))
    >>> codec.encode(cells)
    array([ 1,  2, -2])
    """


@dataclass(frozen=True, slots=True)
class OrderedLevels(_Labels):
    """Labels in their declared order; missing, when there is any, is code 0.

    Examples
    --------
    >>> OrderedLevels(("low", "high"), missing=True).decode(np.array([0, 2, 1]), np.zeros(3)).values
    array([None, 'high', 'low'], dtype=object)
    """

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something: here it does."""
        return True

    @property
    def missing_code(self) -> int | None:
        """The code of a missing cell: the first, if there is one."""
        return 0 if self.missing else None


def is_code(codes: Array, code: int | None) -> npt.NDArray[np.bool_]:
    """Return where `codes` are `code`; nowhere for None."""
    return np.zeros(len(codes), dtype=bool) if code is None else np.asarray(codes == code)


def labels_in_order(seen: Iterable[Any], declared: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the labels that occur: in declared order, else sorted."""
    present = set(seen)
    return tuple(sorted(present) if declared is None else (x for x in declared if x in present))
