"""log Z by annealing along the rounds of boosting, from the exact model of one tree to the whole."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import t as student

from energyboost.model.energy import Codes, Energy
from energyboost.parallel import map_blocks
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import SINGLE, Moves
from energyboost.sampling.pool import draw_first, first_log_z

Floats = npt.NDArray[np.float64]

WORK = 200_000_000  # slices times trees, in all
WIDE = 0.5  # standard deviation of log Z over batches, from which on their mean is not trusted


@dataclass(frozen=True, slots=True)
class LogZ:
    """An estimate of log Z and its standard error, found by comparing ``n`` independent estimates."""

    value: float
    error: float
    n: int

    def interval(self, coverage: float = 0.95) -> tuple[float, float]:
        """Where log Z is, by Student's distribution."""
        half = 0.0
        if self.error != 0:
            half = float(student.ppf((1 + coverage) / 2, self.n - 1)) * self.error if self.n > 1 else float("inf")
        return self.value - half, self.value + half


def batch_size_for(energy: Energy) -> int:
    """As many rows per batch as take some seconds: each is moved once per tree, along all columns and trees before.

    0 where even 8 would take much longer.
    """
    size = WORK // (16 * max(1, len(energy.columns.size) * energy.n_trees**2 // 2))
    return min(size, 64) if size >= 8 else 0


def anneal(
    energy: Energy,
    seed: np.random.SeedSequence,
    *,
    moves: Moves = SINGLE,
    n_batches: int = 16,
    batch_size: int = 64,
    n_jobs: int | None = 1,
) -> tuple[list[LogZ], Codes]:
    """Sequential Monte Carlo from the model of one tree, drawn exactly, through that of two trees, three, to all.

    Every round weighs rows by what its tree adds, exp(tree), whose mean is the rise of Z [eq:partition-inc], draws rows
    anew by their weights where these have become uneven, and moves every row by one sweep of the new model. The mean
    weight of a batch is an unbiased estimate of Z. Returns the estimates after 0, 1, 2, ... trees, and all rows.
    """
    batches = map_blocks(lambda stream: _batch(energy, batch_size, stream, moves), seed.spawn(n_batches), n_jobs)
    log_z = np.array([one for one, _ in batches])
    value = logsumexp(log_z, axis=0) - np.log(n_batches)
    error = np.exp(log_z - value).std(axis=0, ddof=1) / np.sqrt(n_batches)  # of Z itself, as a share
    # Batches that differ by more are no longer near normal, and the share ends at 1 however far they are apart.
    spread = log_z.std(axis=0, ddof=1)
    error = np.where(spread > WIDE, np.maximum(error, spread), error)
    found = [LogZ(*both, n_batches) for both in zip(value.tolist(), error.tolist(), strict=True)]
    return found, np.concatenate([rows for _, rows in batches])


def _batch(energy: Energy, size: int, seed: np.random.SeedSequence, moves: Moves) -> tuple[Floats, Codes]:
    for_start, for_resampling, *for_sweeps = seed.spawn(2 + energy.n_trees)
    rng = np.random.default_rng(for_resampling)
    rows = draw_first(energy, size, np.random.default_rng(for_start))
    log_z = np.zeros(energy.n_trees + 1)
    log_z[1:2] = first_log_z(energy) if energy.n_trees else 0
    log_weight = np.full(size, log_z[min(1, energy.n_trees)])
    for t in range(1, energy.n_trees):
        tree = energy.trees[t]
        log_weight += tree.leaf_value[tree.leaves(rows)]
        total = logsumexp(log_weight)
        log_z[t + 1] = total - np.log(size)
        weight = np.exp(log_weight - total)
        if t == energy.n_trees - 1 or 1 / np.square(weight).sum() < size / 2:
            # systematic resampling: each row as often as its weight says, rounded up or down
            places = (rng.random() + np.arange(size)) / size
            rows = rows[np.minimum(np.searchsorted(np.cumsum(weight), places), size - 1)]
            log_weight = np.full(size, log_z[t + 1])
        sweep(energy, rows, 1, for_sweeps[t], moves=moves, n_trees=t + 1, block_size=size)
    return log_z, rows
