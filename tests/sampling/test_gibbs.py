"""Sweeps over many chains, in threads."""

import numpy as np
import pytest

from energyboost.sampling.gibbs import sweep
from tests.ensembles import MIXED, possible_rows, random_energy, random_rows


def swept(energy, rows, n_sweeps=5, seed=3, **how):
    codes = rows.copy()
    return sweep(energy, codes, n_sweeps, np.random.SeedSequence(seed), **how), codes


@pytest.mark.parametrize("block_size", [4, 64])
def test_the_number_of_threads_changes_no_byte(rng, block_size):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 301)
    alone = swept(energy, rows, n_kept=2, block_size=block_size)
    for n_jobs in (2, 5):
        kept, codes = swept(energy, rows, n_kept=2, block_size=block_size, n_jobs=n_jobs)
        assert kept.tobytes() == alone[0].tobytes()
        assert codes.tobytes() == alone[1].tobytes()


def test_chains_of_different_blocks_and_seeds_differ(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = np.repeat(random_rows(rng, MIXED, 1), 40, axis=0)
    _, codes = swept(energy, rows, block_size=4)
    assert len(np.unique(codes, axis=0)) > 20
    _, other = swept(energy, rows, seed=4, block_size=4)
    assert not np.array_equal(codes, other)


def test_codes_move_in_place_and_the_last_states_are_returned(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 70)
    for n_kept in (0, 1, 5):
        kept, codes = swept(energy, rows, n_kept=n_kept)
        assert (kept.shape, kept.dtype) == ((70, n_kept, 4), rows.dtype)
        assert not np.array_equal(codes, rows)
        assert n_kept == 0 or np.array_equal(kept[:, -1], codes)
        assert (codes < np.array(MIXED.sizes)).all()


def test_no_sweeps_and_no_chains_move_nothing(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 7)
    kept, codes = swept(energy, rows, n_sweeps=0)
    assert np.array_equal(codes, rows)
    assert kept.shape == (7, 0, 4)
    assert swept(energy, rows[:0], n_kept=2)[0].shape == (0, 2, 4)


@pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e-3, 1e6, 1e30, 1e300, np.inf])
def test_no_temperature_leads_to_codes_that_cannot_occur(rng, temperature):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64, impossible=0.3)
    _, codes = swept(energy, possible_rows(rng, energy, 100), temperature=temperature)
    assert (codes < np.array(MIXED.sizes)).all()
    for j in range(MIXED.n_columns):
        assert (energy.baseline.column(j)[codes[:, j]] > 0).all()


def test_the_coldest_chains_climb(rng):
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 50)
    _, codes = swept(energy, rows, temperature=1e-3)
    # Equal in single precision is equal to a cold chain.
    assert (energy.score(codes) >= energy.score(rows) - 0.05).all()


def test_chains_in_another_layout_are_refused(rng):
    """They are moved in place: a copy in rows would be moved instead."""
    energy = random_energy(rng, MIXED, 1, 3)
    with pytest.raises(ValueError, match="must be C-contiguous"):
        sweep(energy, np.asfortranarray(random_rows(rng, MIXED, 5)), 1, np.random.SeedSequence(0))
