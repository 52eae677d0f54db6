"""The finite space that a model is a density on."""

import math
from dataclasses import dataclass

import numpy as np

MAX_CODES = 65_536
MAX_COLUMNS = 65_536


@dataclass(frozen=True, slots=True)
class Domain:
    """The product of the columns' codes: column j takes the codes ``0 .. sizes[j] - 1``.

    Parameters
    ----------
    sizes : tuple of int
        How many codes each column has, 1 to 65,536.
    ordered : tuple of bool
        Whether a column is split by thresholds in code order, or else by sets of its levels.

    Examples
    --------
    >>> domain = Domain(sizes=(2, 3), ordered=(True, False))
    >>> domain.n_columns, domain.code_dtype
    (2, dtype('uint8'))
    >>> round(math.exp(domain.log_volume))
    6
    """

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.ordered):
            raise ValueError(f"{len(self.sizes)} sizes but {len(self.ordered)} flags in `ordered`")
        if len(self.sizes) > MAX_COLUMNS:
            raise ValueError(f"{len(self.sizes):,} columns; a domain has at most {MAX_COLUMNS:,}")
        for j, size in enumerate(self.sizes):
            if not 1 <= size <= MAX_CODES:
                raise ValueError(f"column {j} has {size:,} codes; a column has 1 to {MAX_CODES:,}")

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.sizes)

    @property
    def code_dtype(self) -> np.dtype[np.unsignedinteger]:
        """The smallest dtype that holds every code: uint8, or uint16 from 257 codes on."""
        return np.dtype(np.uint8 if max(self.sizes, default=1) <= 256 else np.uint16)

    @property
    def log_volume(self) -> float:
        """The logarithm of the number of cells."""
        return math.fsum(map(math.log, self.sizes))
