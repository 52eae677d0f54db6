"""The pool: model rows kept across rounds, thinned by rejection and refilled by Gibbs chains [alg:train]."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from energyboost.model.energy import Codes, Energy
from energyboost.parallel import map_blocks
from energyboost.sampling.gibbs import sweep

CHAINS_PER_BLOCK = 4


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows distributed (approximately) as the model, and the chains that renew them.

    Empty before the first round, which knows q_0 exactly.
    """

    codes: Codes
    chains: Codes
    acceptance: float
    size: int
    refresh: float
    n_chains: int
    restart_from: Codes | None  # training rows, where chains start anew every round
    burn_in: int

    @classmethod
    def empty(cls, rows: Codes, *, size: int, refresh: float, n_chains: int, burn_in: int, restart: bool) -> "Pool":
        """A pool of ``size`` rows to come, for a model that is trained on ``rows``."""
        nothing = rows[:0].copy()
        return cls(nothing, nothing, 1.0, size, refresh, n_chains, rows if restart else None, burn_in)

    def advance(self, energy: Energy, leaf: npt.NDArray[np.int64], seed: np.random.SeedSequence, n_jobs: int) -> "Pool":
        """The pool for the next round, after ``energy`` has got one more tree; ``leaf``: that of each row in it."""
        for_keeping, for_chains, for_starts = seed.spawn(3)
        if not len(self.codes):
            codes = _reject_from_baseline(energy, self.size, self.codes.dtype, for_keeping, n_jobs)
            chains = codes[np.random.default_rng(for_starts).integers(0, self.size, self.n_chains)]
            return replace(self, codes=codes, chains=chains)
        value = energy.trees[-1].leaf_value
        # [eq:paccept], times the share not refreshed
        keep_probability = np.exp(value - value.max()) * (1 - self.refresh)
        kept = self.codes[np.random.default_rng(for_keeping).random(self.size) < keep_probability[leaf]]
        n_new = self.size - len(kept)
        n_each = -(-n_new // self.n_chains)
        chains, n_sweeps = self.chains.copy(), n_each
        if self.restart_from is not None:
            starts = np.random.default_rng(for_starts).integers(0, len(self.restart_from), self.n_chains)
            chains, n_sweeps = self.restart_from[starts], n_each + self.burn_in
        new = sweep(energy, chains, n_sweeps, for_chains, n_kept=n_each, block_size=CHAINS_PER_BLOCK, n_jobs=n_jobs)
        # Every chain gives its states in turn, so that the rows cut off at the end are spread over the chains.
        new = new.transpose(1, 0, 2).reshape(-1, new.shape[2])[:n_new]
        return replace(self, codes=np.concatenate([kept, new]), chains=chains, acceptance=len(kept) / self.size)


def _reject_from_baseline(
    energy: Energy, n_rows: int, dtype: np.dtype, seed: np.random.SeedSequence, n_jobs: int
) -> Codes:
    """Exact rows of q_1: rows of q_0, kept with probability exp(f1 - max f1)."""
    tree = energy.trees[0]
    keep_probability = np.exp(tree.leaf_value - tree.leaf_value.max())

    def draw(stream: np.random.SeedSequence) -> Codes:
        rng = np.random.default_rng(stream)
        rows = energy.baseline.sample(n_rows, rng, dtype)
        kept: Codes = rows[rng.random(n_rows) < keep_probability[tree.leaves(rows)]]
        return kept

    drawn: list[Codes] = []
    while sum(map(len, drawn)) < n_rows:
        drawn.extend(map_blocks(draw, seed.spawn(2), n_jobs))
    return np.concatenate(drawn)[:n_rows]
