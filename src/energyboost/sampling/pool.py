"""The pool: model rows kept across rounds, thinned by rejection and refilled by Gibbs chains [alg:train]."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from energyboost.kernels.leafsets import leaf_boxes
from energyboost.model.energy import Codes, Energy
from energyboost.sampling.gibbs import sweep


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows distributed (approximately) as the model, and the chains that renew them.

    Empty before the first round, which knows q_0 exactly.
    """

    codes: Codes
    chains: Codes  # last states
    n_new: int  # rows at the end of ``codes`` that the last round drew
    acceptance: float  # share of rows that the last round kept

    @classmethod
    def empty(cls, like: Codes) -> "Pool":
        """No rows yet, of the columns and dtype of ``like``."""
        return cls(like[:0].copy(), like[:0].copy(), 0, 0.0)

    @classmethod
    def first(cls, energy: Energy, size: int, n_chains: int, seed: np.random.SeedSequence) -> "Pool":
        """Independent, exact rows of a model of at most one tree."""
        rng = np.random.default_rng(seed)
        codes = draw_first(energy, size, rng)
        return cls(codes, codes[rng.integers(0, size, n_chains)], size, 0.0)

    @property
    def new(self) -> Codes:
        """The rows that the last round drew; no tree has been fitted on them yet."""
        return self.codes[len(self.codes) - self.n_new :]

    def advance(
        self,
        energy: Energy,
        leaf: npt.NDArray[np.int64],
        seed: np.random.SeedSequence,
        *,
        refresh: float,
        restart_from: Codes | None = None,
        restart_weight: npt.NDArray[np.int32] | None = None,
        burn_in: int = 0,
        n_jobs: int | None = 1,
    ) -> "Pool":
        """The pool for the next round, after ``energy`` has got one more tree.

        Parameters
        ----------
        energy : Energy
            The model with its new tree.
        leaf : array of int
            The leaf of the new tree that each row of the pool is in.
        seed : SeedSequence
            Of this round.
        refresh : float
            Share of the rows dropped at random.
        restart_from : array of codes, optional
            Rows where chains start anew, running ``burn_in`` sweeps first; otherwise they go on from their last states.
        restart_weight : array of int, optional
            How often each of these rows counts (empty: once).
        burn_in : int
            See ``restart_from``.
        n_jobs : int
            Threads.
        """
        for_keeping, for_chains, for_starts = seed.spawn(3)
        size, n_chains = len(self.codes), len(self.chains)
        value = energy.trees[-1].leaf_value
        # [eq:paccept], times the share not refreshed
        keep_probability = np.exp(value - value.max()) * (1 - refresh)
        kept = self.codes[np.random.default_rng(for_keeping).random(size) < keep_probability[leaf]]
        n_new = size - len(kept)
        n_each = -(-n_new // n_chains)
        chains, n_sweeps = self.chains.copy(), n_each
        if restart_from is not None:
            starts = draw_rows(len(restart_from), restart_weight, n_chains, np.random.default_rng(for_starts))
            chains, n_sweeps = restart_from[starts], n_each + burn_in
        new = sweep(energy, chains, n_sweeps, for_chains, n_kept=n_each, block_size=1, n_jobs=n_jobs)
        # Every chain gives its states in turn, so that the rows cut off at the end are spread over the chains:
        # new row r is a state of chain r % n_chains.
        new = new.transpose(1, 0, 2).reshape(-1, new.shape[2])[:n_new]
        return Pool(np.concatenate([kept, new]), chains, n_new, len(kept) / size)


def draw_rows(
    n_rows: int, weight: npt.NDArray[np.int32] | None, n: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw n of the rows 0, 1, ..., with replacement, by how often each counts (empty: once)."""
    if weight is None or not len(weight):
        return rng.integers(0, n_rows, n)
    up_to = np.cumsum(weight, dtype=np.int64)  # drawn as if each row stood there as often as it counts
    return np.searchsorted(up_to, rng.integers(0, up_to[-1], n), side="right")


def first_log_z(energy: Energy) -> float:
    """The log Z of the first tree alone, exactly."""
    mass = _masses(energy, *leaf_boxes(energy.columns, energy.trees[0].arrays))
    return float(logsumexp(energy.trees[0].leaf_value + np.log(mass).sum(axis=0)))


def _masses(
    energy: Energy, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], admits: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """What q_0 holds of each leaf's box along each column, (n_columns, n_leaves)."""
    columns = energy.columns
    mass = np.empty(low.shape)
    for j in range(len(low)):
        probability = energy.baseline.column(j)
        if columns.ordered[j]:
            below = np.concatenate([[0.0], np.cumsum(probability)])
            mass[j] = below[high[j]] - below[low[j]]
        else:
            mass[j] = admits[:, columns.level_start[j] : columns.level_start[j + 1]] @ probability
    return mass


def draw_first(energy: Energy, n_rows: int, rng: np.random.Generator) -> Codes:
    """Exact rows of q_0 exp(f_1): a leaf by its share, then every column from q_0 inside the leaf's box.

    The paper rejects rows of q_0 instead, which draws the same and takes longer the larger the largest leaf value is.
    """
    dtype, columns = energy.domain.code_dtype, energy.columns
    if not energy.n_trees:
        return energy.baseline.sample(n_rows, rng, dtype)
    low, high, admits = leaf_boxes(columns, energy.trees[0].arrays)
    below = [np.concatenate([[0.0], np.cumsum(energy.baseline.column(j))]) for j in range(len(columns.size))]
    mass = _masses(energy, low, high, admits)
    log_share = energy.trees[0].leaf_value + np.log(mass).sum(axis=0)
    share = np.cumsum(np.exp(log_share - log_share.max()))
    leaf = np.searchsorted(share / share[-1], rng.random(n_rows), side="right")
    codes = np.empty((n_rows, len(columns.size)), dtype)
    by_leaf = np.argsort(leaf, kind="stable")
    rows_of = np.split(by_leaf, np.cumsum(np.bincount(leaf, minlength=len(share)))[:-1])
    for j in range(len(columns.size)):
        reach = rng.random(n_rows) * mass[j][leaf]
        if columns.ordered[j]:
            drawn = np.searchsorted(below[j][1:], below[j][low[j][leaf]] + reach, side="right")
            codes[:, j] = np.clip(drawn, low[j][leaf], high[j][leaf] - 1)
            continue
        for one, rows in enumerate(rows_of):
            if not len(rows):
                continue
            levels = np.flatnonzero(admits[one, columns.level_start[j] : columns.level_start[j + 1]])
            inside = np.cumsum(np.diff(below[j])[levels])
            drawn = np.searchsorted(inside, reach[rows], side="right")
            codes[rows, j] = levels[np.minimum(drawn, len(levels) - 1)]
    return codes
