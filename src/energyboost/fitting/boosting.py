"""Rounds of boosting [alg:train], as an iterator."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import grow_tree
from energyboost.fitting.line_search import likelihood_gain, line_search, log_z_step
from energyboost.kernels.grow import Reference
from energyboost.model.baseline import Baseline
from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Energy, columns_of
from energyboost.sampling.pool import Pool


@dataclass(frozen=True, slots=True)
class BoostingState:
    """A model in training: the energy so far and the pool that the next round fits against."""

    energy: Energy
    pool: Pool


@dataclass(frozen=True, slots=True)
class RoundInfo:
    """What one round did.

    ``round`` counts from 1. ``gain`` is the rise of the training log-likelihood per row, as the pool estimates it;
    ``acceptance`` the share of pool rows that survived rejection and refresh.
    """

    round: int
    n_leaves: int
    step: float
    gain: float
    log_z: float
    acceptance: float


def start(codes: Codes, domain: Domain, config: BoostingConfig) -> BoostingState:
    """A model without trees: the baseline of the training rows, and a pool still empty."""
    baseline = Baseline.fit(columns_of(domain), codes, config.uniform_mix)
    pool = Pool.empty(
        codes,
        size=config.resolve_pool_size(len(codes)),
        refresh=config.refresh,
        n_chains=config.n_chains,
        burn_in=config.burn_in,
        restart=config.refill == "restart",
    )
    return BoostingState(Energy(domain, baseline, config.n_trees, config.max_leaves), pool)


def boost(
    state: BoostingState, codes: Codes, config: BoostingConfig, seed: int, n_jobs: int = 1
) -> Iterator[tuple[BoostingState, RoundInfo]]:
    """Train on rows of codes up to ``config.n_trees`` trees, yielding the state after every round.

    The energy of ``state`` grows in place. Randomness of round t comes from ``(seed, t)`` alone, so a run depends
    neither on ``n_jobs`` nor on where it was started from. The iteration ends early when no leaf may be split.
    """
    energy, pool = state.energy, state.pool
    for t in range(energy.n_trees, config.n_trees):
        for_tree, for_pool = np.random.SeedSequence([seed, t]).spawn(2)
        reference = Reference(pool.codes, energy.baseline.probability)
        grown = grow_tree(energy.columns, codes, reference, config, np.random.default_rng(for_tree))
        if grown.tree.n_leaves == 1:
            return
        value = grown.p / grown.q - 1  # [eq:optimal-w]
        step = config.learning_rate * (line_search(value, grown.p, grown.q) if config.line_search else 1.0)
        tree = grown.tree.with_values(step * value)
        energy.add(tree, log_z_step(tree.leaf_value, grown.q))
        pool = pool.advance(energy, grown.pool_leaf, for_pool, n_jobs)
        yield (
            BoostingState(energy, pool),
            RoundInfo(
                round=t + 1,
                n_leaves=tree.n_leaves,
                step=step,
                gain=likelihood_gain(step, value, grown.p, grown.q),
                log_z=energy.log_z[-1],
                acceptance=pool.acceptance,
            ),
        )
