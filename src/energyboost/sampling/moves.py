"""What a sweep does besides drawing every column in turn: pairs of columns drawn jointly."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import LANES
from energyboost.kernels.dependence import squared_maximal_correlation
from energyboost.model.baseline import Codes
from energyboost.model.domain import Domain
from energyboost.parallel import map_blocks

MOST_CELLS = 1 << 20
"""Pairs with more cells than this are not drawn jointly: their columns move one after the other."""
FEW_CELLS = 1 << 16
"""Pairs are chosen among those with at most so many cells."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two columns that are drawn jointly, and how strongly they depend on each other in the training table."""

    columns: tuple[int, int]
    dependence: float


@dataclass(frozen=True, slots=True)
class Moves:
    """Pairs drawn jointly after sweeps, in turn: ``rate`` of them per sweep."""

    pairs: tuple[tuple[int, int], ...] = ()
    rate: float = 1.0

    @classmethod
    def of(cls, domain: Domain, pairs: Sequence[tuple[int, int]]) -> "Moves":
        """As many pairs per sweep as cost about as much as the sweep itself."""
        if not pairs:
            return cls()
        turned = tuple(oriented(domain, *pair) for pair in pairs)
        cells = np.mean([domain.sizes[outer] * _padded(domain, inner) for outer, inner in turned])
        return cls(turned, float(np.clip(CELLS_PER_COLUMN * domain.n_columns / cells, 0.125, len(pairs))))

    def schedule(self, n_sweeps: int, first: int = 0) -> npt.NDArray[np.int64]:
        """The pairs after each sweep (n_sweeps, most per sweep, 2), beginning with pair ``first``; -1 for none."""
        if not self.pairs:
            return np.empty((n_sweeps, 0, 2), np.int64)
        done = np.floor(np.arange(n_sweeps + 1) * self.rate).astype(np.int64)
        visit = done[:-1, None] + np.arange(int(np.ceil(self.rate)))
        pairs = np.array(self.pairs)[(first + visit) % len(self.pairs)]
        return np.where((visit < done[1:, None])[..., None], pairs, -1)


SINGLE = Moves()
CELLS_PER_COLUMN = 5000  # of a pair: what takes as long as drawing one column of a model of 200 trees


def oriented(domain: Domain, a: int, b: int) -> tuple[int, int]:
    """Outer and inner column: the inner one is the unordered one, else the one that makes fewer cells."""
    if domain.ordered[a] != domain.ordered[b]:
        return (a, b) if domain.ordered[a] else (b, a)
    return min((a, b), (b, a), key=lambda pair: domain.sizes[pair[0]] * _padded(domain, pair[1]))


def _padded(domain: Domain, column: int) -> int:
    return -(-domain.sizes[column] // LANES) * LANES


ROUNDS = 12  # of the power iteration
WORK = 2_000_000_000  # row visits in all: of wide tables, fewer rows are looked at
LEAST_ROWS, MOST_ROWS = 2000, 20_000
STRONG = 0.25


def dependences(codes: Codes, domain: Domain, n_jobs: int | None = 1) -> list[Pair]:
    """How strongly every pair of columns depends on each other: 0 as by chance, 1 if one determines the other.

    The squared maximal correlation is the share by which drawing two columns in turn forgets slower than drawing them
    jointly: 1 means never. What it is with the rows of one column permuted is taken for chance. Deterministic.
    """
    varying = [j for j in range(domain.n_columns) if domain.sizes[j] > 1]
    pairs = [(a, b) for a, b in combinations(varying, 2) if domain.sizes[a] * domain.sizes[b] <= FEW_CELLS]
    if not pairs:
        return []
    rng = np.random.default_rng(0)
    n_rows = int(np.clip(WORK // (4 * ROUNDS * len(pairs)), LEAST_ROWS, MOST_ROWS))
    rows = rng.permutation(len(codes))[:n_rows]
    columns = {j: np.ascontiguousarray(codes[rows, j]) for j in varying}
    shuffled = rng.permutation(len(rows))
    starts = {j: rng.standard_normal(domain.sizes[j]) for j in varying}

    def dependence(pair: tuple[int, int]) -> Pair:
        a, b = pair
        sizes = domain.sizes[a], domain.sizes[b]
        found = squared_maximal_correlation(columns[a], columns[b], *sizes, starts[a], ROUNDS)
        chance = squared_maximal_correlation(columns[a], columns[b][shuffled], *sizes, starts[a], ROUNDS)
        return Pair(pair, float(np.clip((found - chance) / max(1e-12, 1 - chance), 0, 1)))

    return map_blocks(dependence, pairs, n_jobs)


def choose_pairs(codes: Codes, domain: Domain, n_jobs: int | None = 1) -> tuple[Pair, ...]:
    """The few pairs that single columns would move along slowest, strongest first."""
    found = sorted(dependences(codes, domain, n_jobs), key=lambda pair: (-pair.dependence, pair.columns))
    most = max(3, domain.n_columns // 2)
    strong = [pair for pair in found if pair.dependence >= STRONG]
    return tuple(pair for i, pair in enumerate(strong) if i < most or pair.dependence > 1 - 1e-9)
