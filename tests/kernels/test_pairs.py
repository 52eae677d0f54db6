"""Pairs drawn jointly against their plain twin: same uniforms in, same codes out."""

import numpy as np
import pytest

from energyboost.kernels.arrays import PLANE_ROWS
from energyboost.kernels.pairs import spread_rows
from energyboost.kernels.sweeps import sweeps
from energyboost.model import leafindex
from tests import naive
from tests.ensembles import MIXED, ORDERED, UNORDERED, Domain, possible_rows, random_energy, random_rows

NEAR = 2e-5  # rounding in single precision may decide a draw so close to a boundary
MANY = Domain((2, 17, 9, 5) + (2, 3) * 9, (True, False, True, False) + (True, False) * 9)


def run(energy, rows, pairs, uniforms, *, free=None, due=True, temperature=1.0, n_trees=None):
    """The rows after each sweep over the free columns (unless told those of pairs) and, if due, each pair."""
    codes, n_sweeps = rows.copy(), uniforms.shape[1]
    out = np.empty((len(rows), n_sweeps, rows.shape[1]), rows.dtype)
    moving = np.zeros(rows.shape, bool)
    moving[:, [j for pair in pairs for j in pair] if free is None else free] = True
    sweeps(energy.index.width)(
        energy.columns,
        energy.index.arrays,
        energy.n_trees if n_trees is None else n_trees,
        energy.base,
        np.float32(1 / temperature),
        moving,
        np.zeros(n_sweeps, bool),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.broadcast_to(due, (n_sweeps, len(pairs))),
        codes,
        uniforms,
        out,
    )
    assert np.array_equal(out[:, -1], codes)
    return out


def uniforms_for(rng, rows, pairs, n_sweeps=1):
    return rng.random((len(rows), n_sweeps, rows.shape[1] + 3 * len(pairs)), dtype=np.float32)


def assert_twins_agree(rng, energy, rows, pairs, **how):
    """Every draw is that of the plain twin, save few where the uniform number is next to a boundary."""
    n_draws = n_other = 0
    for pair in pairs:
        uniforms = uniforms_for(rng, rows, [pair])
        drawn = run(energy, rows, [pair], uniforms, **how)[:, 0]
        before = run(energy, rows, [pair], uniforms, due=False, **how)[:, 0]  # after the sweep alone
        for c, row in enumerate(before):
            decided_by = uniforms[c, 0, rows.shape[1] :]
            expected = naive.draw_pair(energy, row, *pair, decided_by, told=drawn[c, pair[0]], **how)
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
        uniforms = uniforms_for(rng, rows, pairs, 5)
        uniforms[:10], uniforms[10:20] = 0, np.nextafter(np.float32(1), np.float32(0))
        drawn = run(energy, rows, pairs, uniforms)
        for j in range(domain.n_columns):
            assert (energy.baseline.column(j)[drawn[..., j]] > 0).all()


def test_a_plane_is_left_clean_for_the_next_pair(rng):
    """Pairs of different kinds and sizes share the same room: one after the other, they are drawn as each alone."""
    energy = random_energy(rng, MIXED, 4, 40, max_leaves=64)
    rows = random_rows(rng, MIXED, 4)
    pairs = [(2, 3), (0, 1), (3, 1), (2, 0), (1, 3), (0, 3), (2, 3)]
    uniforms = uniforms_for(rng, rows, pairs, 3)
    every = [0, 1, 2, 3]
    together = run(energy, rows, pairs, uniforms, free=every)
    for s in range(3):
        rows = run(energy, rows, [], np.ascontiguousarray(uniforms[:, s : s + 1, :4]), free=every)[:, 0]
        for p, pair in enumerate(pairs):
            rows = drawn_alone(energy, rows, pair, uniforms[:, s, 4 + 3 * p : 7 + 3 * p])
        assert np.array_equal(rows, together[:, s])


def drawn_alone(energy, rows, pair, uniforms):
    """A pair without the sweep before it, whose columns are swept by numbers that lead to where they are."""
    stay = np.empty((len(rows), 1, rows.shape[1] + 3), np.float32)
    stay[:, 0, rows.shape[1] :] = uniforms
    moved = rows.copy()
    for j in range(rows.shape[1]):
        probability = energy.conditional(moved, j)
        here = np.arange(len(rows)), rows[:, j]
        stay[:, 0, j] = np.cumsum(probability, axis=1)[here] - probability[here] / 2
    assert np.array_equal(run(energy, rows, [pair], stay, due=False)[:, 0], rows)
    return run(energy, rows, [pair], stay)[:, 0]


def test_pairs_come_after_the_sweep_and_some_may_be_left_out(rng):
    energy = random_energy(rng, ORDERED, 4, 40, max_leaves=64)
    rows = random_rows(rng, ORDERED, 5)
    pairs, every = [(0, 1), (1, 2)], [0, 1, 2]
    uniforms = uniforms_for(rng, rows, pairs)
    both = run(energy, rows, pairs, uniforms, free=every, due=np.array([[True, False]]))[:, 0]
    swept = run(energy, rows, [], np.ascontiguousarray(uniforms[:, :, :3]), free=every)[:, 0]
    assert np.array_equal(both, drawn_alone(energy, swept, (0, 1), uniforms[:, 0, 3:6]))
    assert not np.array_equal(both, swept)


def test_a_pair_with_a_column_held_is_left_out(rng):
    energy = random_energy(rng, ORDERED, 4, 40, max_leaves=64)
    rows = random_rows(rng, ORDERED, 30)
    uniforms = uniforms_for(rng, rows, [(0, 1)])
    drawn = run(energy, rows, [(0, 1)], uniforms, free=[1, 2])
    assert np.array_equal(drawn, run(energy, rows, [(0, 1)], uniforms, free=[1, 2], due=False))
    assert (drawn[:, 0, 0] == rows[:, 0]).all()
    assert (drawn[:, 0, 1:] != rows[:, 1:]).any()


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 128, 129, 255, 1000, 65_536])
@pytest.mark.parametrize("uniform", [0.0, 0.9])
def test_rows_are_codes_a_stride_apart_the_present_one_among_them(size, uniform):
    for code in {0, size // 3, size - 1}:
        row_of = np.empty(size + 1, np.uint8)
        first, stride, n_rows = spread_rows(size, code, np.float32(uniform), row_of)
        chosen = list(range(first, size, stride))
        assert code in chosen
        assert len(chosen) == n_rows <= PLANE_ROWS
        assert row_of.tolist() == [sum(k < limit for k in chosen) for limit in range(size + 1)]
        assert stride == max(1, -(-size // PLANE_ROWS)) + (size > PLANE_ROWS and uniform < 0.5)


def test_the_largest_byte_is_a_code_like_any_other(rng):
    domain = Domain((256, 256, 2), (True, True, False))
    energy = random_energy(rng, domain, 4, 40, max_leaves=64)
    rows = random_rows(rng, domain, 3)
    rows[0, :2] = 255
    assert_twins_agree(rng, energy, rows, [(0, 1), (2, 0), (1, 2)])
    uniforms = np.full((3, 1, 6), np.nextafter(np.float32(1), np.float32(0)))
    drawn = run(energy, rows, [(0, 1)], uniforms)[:, 0]
    assert (drawn[:, 0] > 245).all()
