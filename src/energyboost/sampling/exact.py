"""A density forest, and what can be asked of it on codes: everything is exact, and rows are independent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.errors import DataError
from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Floats
from energyboost.model.mixture import Mixture
from energyboost.sampling.annealing import LogZ
from energyboost.sampling.diagnostics import Diagnostics
from energyboost.sampling.protocol import Bools, How, Reduce

ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Exact:
    """A mixture of density trees, asked as any other model; see :class:`~energyboost.sampling.protocol.Model`."""

    mixture: Mixture

    @property
    def domain(self) -> Domain:
        """The space of the rows."""
        return self.mixture.domain

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.mixture.n_trees

    @property
    def code_start(self) -> npt.NDArray[np.int64]:
        """Where the codes of each column begin in `log_weights`."""
        return self.mixture.columns.start

    def sample(self, n: int, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None) -> Codes:
        """Independent rows."""
        return self.mixture.first(how.n_trees).sample(n, np.random.default_rng(seed), log_weights)

    def complete(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None
    ) -> Codes:
        """Rows with their ``free`` cells drawn from their distribution given the others."""
        return self.mixture.first(how.n_trees).complete(
            codes, free, np.random.default_rng(seed), log_weights, how.n_jobs
        )

    def without_missing(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None
    ) -> Codes:
        """Rows whose ``free`` cells are drawn anew by what ``log_weights`` leave of them."""
        return self.complete(codes, free, seed, how, log_weights)

    def score(self, codes: Codes, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """The log-probability of each row."""
        return self.mixture.first(n_trees).score(codes, n_jobs)

    def log_z(self, n_trees: int | None = None, *, n_jobs: int | None = 1) -> LogZ:
        """Nothing: probabilities sum to one."""
        return LogZ(0.0, 0.0, 1)

    def conditional(self, codes: Codes, column: int, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """Probabilities of every code of a column given all other cells."""
        return self.mixture.first(n_trees).conditional(codes, np.ones(codes.shape, bool), column, n_jobs=n_jobs)

    def staged_conditional(
        self,
        codes: Codes,
        known: Bools,
        column: int,
        stages: Sequence[int],
        reduce: Reduce,
        n_jobs: int | None = 1,
    ) -> Iterator[npt.NDArray[Any]]:
        """What ``reduce`` makes of the distribution of a column given the known cells."""
        starts = range(0, max(len(codes), 1), ROWS_AT_ONCE)
        for stage in stages:
            mixture = self.mixture.first(stage)
            parts = []
            for first in starts:
                rows = slice(first, first + ROWS_AT_ONCE)
                parts.append(reduce(mixture.conditional(codes[rows], known[rows], column, n_jobs=n_jobs)[:, None]))
            yield np.concatenate(parts)

    def gaps(
        self, codes: Codes, known: Bools, reduces: Sequence[Reduce], n_jobs: int | None = 1
    ) -> dict[int, npt.NDArray[Any]]:
        """For every column with gaps, what ``reduces[column]`` makes of its distribution in the rows with a gap."""
        found = {}
        for j, reduce in enumerate(reduces):
            rows = ~known[:, j]
            if rows.any():
                found[j] = next(self.staged_conditional(codes[rows], known[rows], j, [self.n_trees], reduce, n_jobs))
        return found

    def joint(
        self, codes: Codes, known: Bools, columns: Sequence[int], n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """The distribution of some columns together given the known cells, the others summed out."""
        mixture, sizes = self.mixture.first(n_trees), [self.domain.sizes[j] for j in columns]
        *first, last = columns
        places = np.unravel_index(np.arange(int(np.prod(sizes[:-1]))), sizes[:-1]) if first else ()
        out = np.empty((len(codes), *sizes))
        for i in range(len(codes)):
            n = int(np.prod(sizes[:-1]))
            rows, knows = np.repeat(codes[i : i + 1], n, axis=0), np.repeat(known[i : i + 1], n, axis=0)
            for j, place in zip(first, places, strict=True):
                rows[:, j], knows[:, j] = place, True
            knows[:, last] = False
            weight = np.exp(mixture.log_marginal(rows, knows, n_jobs))
            table = weight[:, None] * mixture.conditional(rows, knows, last, n_jobs=n_jobs)
            out[i] = (table / table.sum()).reshape(sizes) if table.sum() > 0 else 1 / np.prod(sizes)
        return out

    def n_combinations(self, known: Bools, columns: Sequence[int]) -> Floats:
        """Of the columns asked for; others that are not known are summed out in the trees."""
        return np.full(len(known), np.prod([float(self.domain.sizes[j]) for j in columns]))

    def diagnostics(self, *, n_jobs: int | None = 1) -> Diagnostics:
        """There is nothing to look at."""
        raise DataError("a forest has no chains: its rows are independent, and its densities exact")
