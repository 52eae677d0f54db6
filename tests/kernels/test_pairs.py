"""Pairs drawn jointly against their plain twin: same uniforms in, same codes out."""

import numpy as np
import pytest

from energyboost.kernels.sweeps import sweeps
from energyboost.model import leafindex
from tests import naive
from tests.ensembles import MIXED, ORDERED, UNORDERED, Domain, possible_rows, random_energy, random_rows

NEAR = 2e-5  # rounding in single precision may decide a draw so close to a boundary
MANY = Domain((2, 17, 9, 5) + (2, 3) * 9, (True, False, True, False) + (True, False) * 9)


def run(energy, rows, pairs, uniforms, *, free=(), due=None, temperature=1.0, n_trees=None):
    """The rows after each sweep over the free columns and each drawing of the pairs."""
    codes = rows.copy()
    out = np.empty((len(rows), uniforms.shape[1], rows.shape[1]), rows.dtype)
    n_trees = energy.n_trees if n_trees is None else n_trees
    sweeps(energy.index.width)(
        energy.columns,
        energy.index.arrays,
        n_trees,
        energy.base,
        np.float32(1 / temperature),
        np.array(free, np.int64),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.ones((uniforms.shape[1], len(pairs)), bool) if due is None else due,
        codes,
        uniforms,
        out,
    )
    assert np.array_equal(out[:, -1], codes)
    return out


def assert_twins_agree(rng, energy, rows, pairs, n_sweeps=2, **how):
    """Every draw is that of the plain twin, save few where the uniform number is next to a boundary."""
    uniforms = rng.random((len(rows), n_sweeps, 2 * len(pairs)), dtype=np.float32)
    n_draws = n_other = 0
    for p, pair in enumerate(pairs):  # one pair after the other, so that every state is seen
        drawn = run(energy, rows, [pair], uniforms[:, :1, 2 * p : 2 * p + 2].copy(), **how)[:, 0]
        for c, row in enumerate(rows):
            expected = naive.draw_pair(energy, row, *pair, uniforms[c, 0, 2 * p :], told=drawn[c, pair[0]], **how)
            for j, (code, distance) in zip(pair, expected, strict=True):
                n_draws += 1
                if drawn[c, j] != code:
                    n_other += 1
                    assert distance < NEAR, f"chain {c}, pair {pair}, column {j}: {drawn[c, j]}, not {code}"
            others = [j for j in range(rows.shape[1]) if j not in pair]
            assert np.array_equal(drawn[c, others], row[others])
    assert n_other <= 1 + 0.02 * n_draws


ALL_KINDS = {
    "ordered, ordered": (ORDERED, [(0, 1), (1, 0), (0, 2), (1, 2)]),
    "unordered, unordered": (UNORDERED, [(0, 1), (1, 0), (2, 0), (1, 2)]),
    "mixed": (MIXED, [(0, 1), (1, 0), (3, 2), (2, 3), (1, 3), (0, 3)]),
}


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("n_leaves", [1, 2, 40])
def test_pairs_are_drawn_as_their_plain_twin_draws_them(rng, kind, n_leaves):
    domain, pairs = ALL_KINDS[kind]
    energy = random_energy(rng, domain, 4, n_leaves, max_leaves=64)
    assert_twins_agree(rng, energy, random_rows(rng, domain, 8), pairs)


@pytest.mark.parametrize("domain", [MIXED, MANY], ids=["few columns", "many columns"])
@pytest.mark.parametrize("largest", [(40, 5000), (40, 80)], ids=["one level", "two levels"])
def test_pairs_of_large_trees_are_drawn_as_their_plain_twin_draws_them(rng, monkeypatch, domain, largest):
    monkeypatch.setattr(leafindex, "LARGEST", largest)
    monkeypatch.setattr(leafindex, "LARGEST_FLAT", 0)
    energy = random_energy(rng, domain, 2, 300, max_leaves=300)
    assert energy.index.n_levels == 1 + (largest[1] < 300)
    assert_twins_agree(rng, energy, random_rows(rng, domain, 6), [(0, 1), (2, 3), (3, 1), (2, 0)])


@pytest.mark.parametrize("how", [{"temperature": 0.3}, {"temperature": 5.0}, {"n_trees": 0}, {"n_trees": 2}], ids=str)
def test_temperature_and_number_of_trees_count_for_pairs_too(rng, how):
    energy = random_energy(rng, ORDERED, 4, 40, max_leaves=64)
    assert_twins_agree(rng, energy, random_rows(rng, ORDERED, 8), [(0, 1), (1, 2)], **how)


def test_codes_that_cannot_occur_are_never_drawn(rng):
    for domain, pairs in ALL_KINDS.values():
        energy = random_energy(rng, domain, 4, 40, max_leaves=64, impossible=0.5)
        rows = possible_rows(rng, energy, 30)
        uniforms = rng.random((30, 5, 2 * len(pairs)), dtype=np.float32)
        uniforms[:10], uniforms[10:20] = 0, np.nextafter(np.float32(1), np.float32(0))
        drawn = run(energy, rows, pairs, uniforms)
        for j in range(domain.n_columns):
            assert (energy.baseline.column(j)[drawn[..., j]] > 0).all()


def test_a_plane_is_left_clean_for_the_next_pair(rng):
    """Pairs of different kinds and sizes share the same room: one after the other, they are drawn as each alone."""
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 4)
    pairs = [(2, 3), (0, 1), (3, 1), (2, 0), (1, 3), (0, 3), (2, 3)]
    uniforms = rng.random((4, 3, 2 * len(pairs)), dtype=np.float32)
    together = run(energy, rows, pairs, uniforms)
    for s in range(3):
        for p, pair in enumerate(pairs):
            rows = run(energy, rows, [pair], np.ascontiguousarray(uniforms[:, s : s + 1, 2 * p : 2 * p + 2]))[:, 0]
        assert np.array_equal(rows, together[:, s])


def test_pairs_come_after_the_sweep_and_some_may_be_left_out(rng):
    energy = random_energy(rng, ORDERED, 4, 40, max_leaves=64)
    rows = random_rows(rng, ORDERED, 5)
    uniforms = rng.random((5, 1, 7), dtype=np.float32)
    due = np.array([[True, False]])
    both = run(energy, rows, [(0, 1), (1, 2)], uniforms, free=[0, 1, 2], due=due)
    swept = run(energy, rows, [], np.ascontiguousarray(uniforms[:, :, :3]), free=[0, 1, 2])[:, 0]
    then = run(energy, swept, [(0, 1)], np.ascontiguousarray(uniforms[:, :, 3:5]))
    assert np.array_equal(both, then)


def test_the_largest_byte_is_a_code_like_any_other(rng):
    domain = Domain((256, 256, 2), (True, True, False))
    energy = random_energy(rng, domain, 4, 40, max_leaves=64)
    rows = random_rows(rng, domain, 3)
    rows[0, :2] = 255
    assert_twins_agree(rng, energy, rows, [(0, 1), (2, 0), (1, 2)])
    uniforms = np.full((3, 1, 2), np.nextafter(np.float32(1), np.float32(0)))
    drawn = run(energy, rows, [(0, 1)], uniforms)[:, 0]
    assert (drawn[:, 0] > 250).all()
