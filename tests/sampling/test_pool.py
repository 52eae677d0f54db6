"""The pool: exact at first, then thinned by rejection and refilled by chains."""

import math

import numpy as np
import pytest

from energyboost.model.baseline import Baseline
from energyboost.model.energy import Energy, columns_of
from energyboost.model.tree import Tree
from energyboost.sampling.pool import Pool, draw_first
from tests import exact, naive
from tests.chance import contradicted
from tests.ensembles import Domain, possible_rows, random_baseline, random_energy, random_tree

DOMAIN = Domain((2, 3, 1, 2), (True, False, True, False))
SIZE, CHAINS = 60_000, 20_000
MANY = 400_000  # where a row costs little


def model(n_trees):
    """A fixed model of dependent columns, and two trees for which it has room."""
    rng = np.random.default_rng(2)
    energy = Energy(DOMAIN, random_baseline(rng, DOMAIN), n_trees + 2, 8)
    for _ in range(n_trees):
        energy.add(random_tree(rng, DOMAIN, 8, scale=0.7))
    return energy, [random_tree(rng, DOMAIN, 8, scale=0.7) for _ in range(2)]


def slow_model():
    """Two columns that are mostly equal: a sweep seldom leads from (0, 0) to (1, 1)."""
    domain = Domain((2, 2), (True, True))
    columns = columns_of(domain)
    probability = np.zeros(columns.start[-1])
    probability[[0, 1]] = probability[columns.start[1] + np.arange(2)] = 0.5
    energy = Energy(domain, Baseline(columns, probability), 1, 4)
    column, left, right = (np.array(a, np.int32) for a in ([0, 1, 1], [1, ~0, ~2], [2, ~1, ~3]))
    no_mask = np.full(3, -1), np.empty(0, np.uint64)
    energy.add(Tree(column, np.ones(3, np.int32), left, right, *no_mask, np.array([1.0, -1, -1, 1])))
    return energy


def stream(seed):
    return np.random.SeedSequence(seed)


def a_pool(codes, chains):
    """A pool of given rows, of which none are new."""
    return Pool(codes, chains, 0, 0.0)


def draws_of(energy, rng, n_rows=SIZE):
    """Exact rows of a model."""
    cells = exact.cells(energy.domain)
    return cells[rng.choice(len(cells), n_rows, p=exact.probabilities(energy))]


def counts_of(codes, domain=DOMAIN):
    return np.bincount(exact.cell_numbers(domain, codes), minlength=math.prod(domain.sizes))


def advance(pool, energy, seed, **how):
    """The pool of the next round, after the model's last tree."""
    leaf = energy.trees[-1].leaves(pool.codes).astype(np.int64)
    return pool.advance(energy, leaf, stream(seed), **{"refresh": 0.1, **how})


def kept_of(pool):
    """The rows that were in the pool before."""
    return pool.codes[: len(pool.codes) - pool.n_new]


@pytest.mark.parametrize("n_trees", [0, 1])
def test_the_first_pool_holds_exact_rows_of_the_model(seed, n_trees):
    energy, _ = model(n_trees)
    pool = Pool.first(energy, MANY, 16, stream(seed))
    assert (pool.codes.shape, pool.codes.dtype, pool.chains.shape) == ((MANY, 4), np.uint8, (16, 4))
    assert not contradicted(counts_of(pool.codes), exact.probabilities(energy))
    # the control: the baseline where there is a tree, uniform cells where there is none
    other = exact.probabilities(energy, 0) if n_trees else np.full(12, 1 / 12)
    assert contradicted(counts_of(pool.codes), other)
    assert {tuple(row) for row in pool.chains} <= {tuple(row) for row in pool.codes}
    assert np.array_equal(pool.new, pool.codes)
    assert pool.acceptance == 0


@pytest.mark.parametrize("domain", [DOMAIN, Domain((4, 5), (True, True)), Domain((4, 5), (False, False))], ids=str)
@pytest.mark.parametrize("top", [0.0, 30.0])
def test_first_rows_are_exact_however_high_the_best_leaf_stands(rng, domain, top):
    fixed = np.random.default_rng(4)
    energy = Energy(domain, random_baseline(fixed, domain, impossible=0.2), 1, 6)
    tree = random_tree(fixed, domain, 6)
    possible = tree.leaves(possible_rows(fixed, energy, 1))[0]
    values = tree.leaf_value.copy()
    values[possible] += top
    energy.add(tree.with_values(values))
    with np.errstate(divide="ignore"):  # a leaf may hold impossible codes only
        rows = draw_first(energy, MANY, rng)
    assert not contradicted(counts_of(rows, domain), exact.probabilities(energy))
    assert contradicted(counts_of(rows, domain), exact.probabilities(energy, 0))


def test_first_rows_of_a_wide_domain_follow_their_leaves_and_columns(rng):
    domain = Domain((300, 70, 2), (True, False, True))
    energy = random_energy(np.random.default_rng(3), domain, 1, 40)
    rows = draw_first(energy, MANY, rng)
    tree, share = energy.trees[0], []
    for leaf, box in enumerate(naive.leaf_boxes(tree, domain.sizes)):
        inside = [energy.baseline.column(j)[sorted(codes)].sum() for j, codes in enumerate(box)]
        share.append(math.prod(inside) * math.exp(tree.leaf_value[leaf]))
        part = rows[tree.leaves(rows) == leaf]
        for j, codes in enumerate(box):
            expected = np.zeros(domain.sizes[j])
            expected[sorted(codes)] = energy.baseline.column(j)[sorted(codes)] / inside[j]
            assert not contradicted(np.bincount(part[:, j], minlength=domain.sizes[j]), expected, 4 * 40)
    assert not contradicted(np.bincount(tree.leaves(rows), minlength=40), np.array(share) / sum(share), 4)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_ends_of_the_uniform_numbers_stay_inside_the_leaf(ordered):
    class Ends:
        def __init__(self, end):
            self.end = end

        def random(self, n_rows):
            return np.full(n_rows, self.end)

    domain = Domain((30, 40), (ordered, ordered))
    energy = random_energy(np.random.default_rng(5), domain, 1, 9)
    leaves = []
    for end in (0.0, np.nextafter(1.0, 0.0)):
        rows = draw_first(energy, 3, Ends(end))
        leaf = energy.trees[0].leaves(rows)[0]
        box = naive.leaf_boxes(energy.trees[0], domain.sizes)[leaf]
        pick = min if end == 0 else max
        assert rows.tolist() == [[pick(codes) for codes in box]] * 3
        leaves.append(leaf)
    assert leaves == [0, energy.trees[0].n_leaves - 1]


@pytest.mark.parametrize("refresh", [0.0, 0.3])
def test_rows_survive_by_the_leaf_they_are_in(rng, seed, refresh):
    energy, (tree, _) = model(1)
    pool = a_pool(draws_of(energy, rng), draws_of(energy, rng, 16))
    before = np.bincount(tree.leaves(pool.codes), minlength=tree.n_leaves)
    energy.add(tree)
    after = advance(pool, energy, seed, refresh=refresh)
    kept = np.bincount(tree.leaves(kept_of(after)), minlength=tree.n_leaves)
    assert after.acceptance == kept.sum() / SIZE
    expected = naive.keep_probabilities(tree.leaf_value, refresh)
    for share, n_kept, n in zip(expected, kept, before, strict=True):
        assert not contradicted([n_kept, n - n_kept], [share, 1 - share], tree.n_leaves)
    # the control: the same share of all leaves
    same = [after.acceptance, 1 - after.acceptance]
    counts = zip(kept, before - kept, strict=True)
    assert any(contradicted(of_leaf, same, tree.n_leaves) for of_leaf in counts)
    if refresh == 0:
        best = tree.leaf_value.argmax()
        assert kept[best] == before[best]


def test_rows_that_survive_are_rows_of_the_new_model(rng, seed):
    energy, (tree, _) = model(1)
    pool = a_pool(draws_of(energy, rng), draws_of(energy, rng, 16))
    energy.add(tree)
    counts = counts_of(kept_of(advance(pool, energy, seed)))
    assert not contradicted(counts, exact.probabilities(energy))
    assert contradicted(counts, exact.probabilities(energy, 1))


def test_persistent_chains_go_on_from_where_they_were(rng, seed):
    energy = slow_model()
    rows = exact.cells(energy.domain)[:1]
    # as many chains as rows, of which none is kept: each chain gives one row per round
    pool = a_pool(draws_of(energy, rng, CHAINS), np.repeat(rows, CHAINS, axis=0))
    matrix = exact.sweep_matrix(energy.domain, exact.probabilities(energy))
    for n_sweeps in (1, 2, 3):
        pool = advance(pool, energy, seed + n_sweeps, refresh=1.0)
        assert np.array_equal(pool.codes, pool.chains)
        counts = counts_of(pool.codes, energy.domain)
        assert not contradicted(counts, np.linalg.matrix_power(matrix, n_sweeps)[0], 3)
        # the control: where chains would be after one sweep more
        assert contradicted(counts, np.linalg.matrix_power(matrix, n_sweeps + 1)[0], 3)


def test_restarted_chains_start_from_training_rows_and_burn_in(rng, seed):
    energy = slow_model()
    rows = exact.cells(energy.domain)[:1]
    pool = a_pool(draws_of(energy, rng, CHAINS), draws_of(energy, rng, CHAINS))
    matrix = exact.sweep_matrix(energy.domain, exact.probabilities(energy))
    for n_round in (0, 1):  # the second round leads no further than the first
        pool = advance(pool, energy, seed + n_round, refresh=1.0, restart_from=rows, burn_in=2)
        counts = counts_of(pool.codes, energy.domain)
        assert not contradicted(counts, np.linalg.matrix_power(matrix, 3)[0], 2)
        # the controls: a sweep less, a sweep more
        assert contradicted(counts, np.linalg.matrix_power(matrix, 2)[0], 2)
        assert contradicted(counts, np.linalg.matrix_power(matrix, 4)[0], 2)


REFILLS = {"persistent": {}, "restart": {"restart_from": exact.cells(DOMAIN)[3:7], "burn_in": 3}}


@pytest.mark.parametrize("refill", REFILLS)
def test_every_chain_gives_its_states_in_turn(rng, seed, refill):
    energy, _ = model(3)
    pool = a_pool(draws_of(energy, rng, 100), draws_of(energy, rng, 16))
    after = advance(pool, energy, seed, refresh=1.0, **REFILLS[refill])
    # 7 states of 16 chains, of which 100 are taken: the last states of the last 12 chains are left over
    assert np.array_equal(after.codes[96:], after.chains[:4])
    assert (after.acceptance, after.n_new) == (0, 100)
    assert np.array_equal(after.new, after.codes)


@pytest.mark.parametrize("refill", REFILLS)
@pytest.mark.parametrize("refresh", [0.0, 0.1, 1.0])
def test_the_pool_keeps_its_size(seed, refill, refresh):
    energy, trees = model(1)
    pool = Pool.first(energy, 999, 16, stream(seed))
    for tree in trees:
        energy.add(tree)
        before, pool = pool, advance(pool, energy, seed, refresh=refresh, **REFILLS[refill])
        assert (pool.codes.shape, pool.codes.dtype, pool.chains.shape) == ((999, 4), np.uint8, (16, 4))
        assert pool.acceptance == (999 - pool.n_new) / 999
        rows = iter(before.codes.tolist())
        assert all(row in rows for row in kept_of(pool).tolist())  # those kept stay in their order


@pytest.mark.parametrize("refill", REFILLS)
def test_a_tree_that_changes_nothing_drops_nothing(seed, refill):
    energy, (tree, _) = model(1)
    pool = Pool.first(energy, 500, 16, stream(seed))
    energy.add(tree.with_values(np.full(tree.n_leaves, 0.3)))
    after = advance(pool, energy, seed, refresh=0.0, **REFILLS[refill])
    assert np.array_equal(after.codes, pool.codes)
    assert (after.acceptance, after.n_new, len(after.new)) == (1, 0, 0)


def test_advancing_does_not_touch_the_pool_before(seed):
    energy, (tree, _) = model(1)
    pool = Pool.first(energy, 500, 16, stream(seed))
    codes, chains = pool.codes.copy(), pool.chains.copy()
    energy.add(tree)
    advance(pool, energy, seed)
    assert np.array_equal(pool.codes, codes)
    assert np.array_equal(pool.chains, chains)


def test_the_number_of_threads_changes_no_byte(seed):
    energy, (tree, _) = model(1)
    pool = Pool.first(energy, 5000, 16, stream(seed))
    energy.add(tree)
    after = [advance(pool, energy, seed + 1, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert len({(one.codes.tobytes(), one.chains.tobytes()) for one in after}) == 1
