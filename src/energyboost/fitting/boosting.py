"""Rounds of boosting [alg:train], as an iterator."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from energyboost.fitting.config import BoostingConfig, Objective
from energyboost.fitting.grow import Rows, grow_tree
from energyboost.fitting.line_search import line_search, log_z_rise, log_z_rise_after, rise_by_chain, standard_error
from energyboost.kernels.grow import Reference
from energyboost.model.baseline import Baseline
from energyboost.model.domain import Domain
from energyboost.model.energy import Energy, columns_of
from energyboost.sampling.pool import Pool


@dataclass(frozen=True, slots=True)
class BoostingState:
    """A model in training: the energy so far and the pool that the next round fits against.

    ``drift`` is, for each chain, how far log Z by its states alone would stand from the one carried along.
    """

    energy: Energy
    pool: Pool
    drift: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RoundInfo:
    """What one round did.

    ``round`` counts from 1. ``gain`` is the rise of the training log-likelihood per row, with log Z as estimated from
    rows that the tree was not fitted on; ``log_z_error`` is its standard error over chains; ``acceptance`` is the share
    of pool rows that survived rejection and refresh, 0 in round 1, which draws the whole pool.
    """

    round: int
    n_leaves: int
    step: float
    gain: float
    log_z: float
    log_z_error: float
    acceptance: float


def start(rows: Rows, domain: Domain, config: BoostingConfig) -> BoostingState:
    """A model without trees: the baseline of the training rows, and a pool still empty."""
    baseline = Baseline.fit(columns_of(domain), rows.codes, config.uniform_mix, rows.weight)
    # The index of leaves is rebuilt when trees outgrow it, which is rare: leaves by doubling, trees from 256 on.
    return BoostingState(
        Energy(domain, baseline, min(config.n_trees, 256)), Pool.empty(rows.codes), np.zeros(config.n_chains)
    )


def boost(
    state: BoostingState,
    rows: Rows,
    config: BoostingConfig,
    seed: int,
    n_jobs: int | None = 1,
) -> Iterator[tuple[BoostingState, RoundInfo]]:
    """Train on rows up to ``config.n_trees`` trees, yielding the state after every round.

    The energy of ``state`` grows in place. Randomness of round t comes from ``(seed, t)`` alone, so a run depends
    neither on ``n_jobs`` nor on where it was started from. The iteration ends early when no leaf may be split.
    """
    energy, pool, drift = state.energy, state.pool, state.drift
    size = config.resolve_pool_size(len(rows))
    for t in range(energy.n_trees, config.n_trees):
        for_tree, for_pool, for_start = np.random.SeedSequence([seed, t]).spawn(3)
        grown = grow_tree(energy.columns, rows, _reference(energy, pool), config, for_tree)
        if grown.tree.n_leaves == 1 and not len(pool.codes):
            # A baseline of the very marginals of the data leaves nothing to gain from any one split. Rows of it, whose
            # counts are not exact, do.
            pool = Pool.first(energy, size, config.n_chains, for_start)
            grown = grow_tree(energy.columns, rows, _reference(energy, pool), config, for_tree)
        if grown.tree.n_leaves == 1:
            return
        value = leaf_values(config.objective, grown.p, grown.q, len(rows))
        step = config.learning_rate * (line_search(value, grown.p, grown.q) if config.line_search else 1.0)
        tree = grown.tree.with_values(step * value)
        energy.add(tree)
        if len(pool.codes):
            pool = pool.advance(
                energy,
                grown.pool_leaf,
                for_pool,
                refresh=config.refresh,
                restart_from=rows.codes if config.refill == "restart" else None,
                restart_weight=rows.weight,
                burn_in=config.burn_in,
                n_jobs=n_jobs,
            )
            # where no row is new, those that the tree was fitted on must do
            after = tree.leaf_value[tree.leaves(pool.new)]
            rise = log_z_rise_after(after) if len(after) else log_z_rise(tree.leaf_value, grown.q)
            drift = drift + (rise_by_chain(after, config.n_chains) - rise if len(after) else 0.0)
        else:
            pool = Pool.first(energy, size, config.n_chains, for_pool)
            rise = log_z_rise(tree.leaf_value, grown.q)
        energy.log_z.append(energy.log_z[-1] + rise)
        energy.log_z_error.append(standard_error(drift))
        yield (
            BoostingState(energy, pool, drift),
            RoundInfo(
                round=t + 1,
                n_leaves=tree.n_leaves,
                step=step,
                gain=float(tree.leaf_value @ grown.p) - rise,
                log_z=energy.log_z[-1],
                log_z_error=energy.log_z_error[-1],
                acceptance=pool.acceptance,
            ),
        )


def leaf_values(
    objective: Objective, p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], n_rows: int
) -> npt.NDArray[np.float64]:
    """What a tree is to add to the energy in each leaf, for a step of 1 [tbl:discbgm].

    Of greedy boosting, the density is to be multiplied by P/Q; a leaf without training rows counts as one with half a
    row, because a density that is 0 once stays so.
    """
    if objective == "newton":
        return p / q - 1  # [eq:optimal-w]
    return np.log(np.maximum(p, 0.5 / n_rows) / q)


def _reference(energy: Energy, pool: Pool) -> Reference:
    return Reference(pool.codes, energy.baseline.probability)
