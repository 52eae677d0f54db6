"""What a fitted model answers on codes, whatever its kind."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Floats
from energyboost.sampling.annealing import LogZ
from energyboost.sampling.diagnostics import Diagnostics

Start = Literal["pool", "baseline"]
Bools = npt.NDArray[np.bool_]
Reduce = Callable[[Floats], npt.NDArray[Any]]
"""From the probabilities of a block of rows (n_rows, n_chains, n_codes), one chain where exact, to what is wanted."""


@dataclass(frozen=True, slots=True)
class How:
    """How rows are drawn; see :meth:`TableDensity.sample`. All but trees and threads is about chains."""

    n_sweeps: int | None = None  # None: as many as are needed
    start: Start = "pool"
    temperature: float = 1.0
    n_trees: int | None = None
    n_jobs: int | None = 1


class Model(Protocol):
    """A density on the codes of a domain."""

    @property
    def domain(self) -> Domain:
        """The space of the rows."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""

    @property
    def code_start(self) -> npt.NDArray[np.int64]:
        """Where the codes of each column begin in ``log_weights``, factors on the probabilities of codes."""

    def sample(self, n: int, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None) -> Codes:
        """Draw rows."""

    def complete(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None
    ) -> Codes:
        """Rows with their ``free`` cells drawn given the others."""

    def without_missing(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None
    ) -> Codes:
        """Rows whose ``free`` cells are drawn anew by what ``log_weights`` leave of them."""

    def score(self, codes: Codes, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """The log-probability of each row, up to log Z."""

    def log_z(self, n_trees: int | None = None, *, n_jobs: int | None = 1) -> LogZ:
        """What has to be taken off scores."""

    def conditional(self, codes: Codes, column: int, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """Probabilities of every code of a column given all other cells."""

    def staged_conditional(
        self,
        codes: Codes,
        known: Bools,
        column: int,
        stages: Sequence[int],
        reduce: Reduce,
        n_jobs: int | None = 1,
    ) -> Iterator[npt.NDArray[Any]]:
        """What ``reduce`` makes of the distribution of a column given the known cells, after some numbers of trees."""

    def gaps(
        self, codes: Codes, known: Bools, reduces: Sequence[Reduce], n_jobs: int | None = 1
    ) -> dict[int, npt.NDArray[Any]]:
        """For every column with gaps, what ``reduces[column]`` makes of its distribution in the rows with a gap."""

    def joint(
        self, codes: Codes, known: Bools, columns: Sequence[int], n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """The distribution of some columns together given the known cells, (n_rows, codes, codes, ...)."""

    def n_combinations(self, known: Bools, columns: Sequence[int]) -> Floats:
        """How many combinations of codes :meth:`joint` looks at for each row."""

    def diagnostics(self, *, n_jobs: int | None = 1) -> Diagnostics:
        """How well rows are drawn and log Z is known."""
