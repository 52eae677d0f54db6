"""One tree of a round: what it holds of the data and of the model."""

import numpy as np
import pytest

from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows, grow_tree
from energyboost.kernels.grow import Reference
from energyboost.model.energy import columns_of
from tests import naive
from tests.ensembles import Domain, dependent_rows, random_baseline, random_rows

DOMAIN = Domain((5, 17, 65, 1, 9), (True, False, True, True, False))
COLUMNS = columns_of(DOMAIN)


def grown(rng, n_pool=600, n_rows=400, **parameters):
    """A tree, and what it was grown on."""
    codes = dependent_rows(rng, DOMAIN, n_rows)
    pool = dependent_rows(rng, DOMAIN, n_pool)
    baseline = random_baseline(rng, DOMAIN)
    config = BoostingConfig(**{"max_leaves": 12, **parameters})
    tree = grow_tree(COLUMNS, Rows(codes), Reference(pool, baseline.probability), config, rng)
    return tree, codes, pool, baseline


@pytest.mark.parametrize("max_leaves", [2, 12, 100])
def test_counts_agree_with_walking_the_finished_tree(rng, max_leaves):
    result, codes, pool, _ = grown(rng, max_leaves=max_leaves)
    tree = result.tree
    p = np.bincount([naive.leaf_of(tree, row) for row in codes], minlength=tree.n_leaves)
    q = np.bincount([naive.leaf_of(tree, row) for row in pool], minlength=tree.n_leaves)
    assert 1 < tree.n_leaves <= max_leaves
    np.testing.assert_allclose(result.p, p / len(codes), rtol=1e-15)
    np.testing.assert_allclose(result.q, q / len(pool), rtol=1e-15)
    assert result.pool_leaf.tolist() == [naive.leaf_of(tree, row) for row in pool]
    assert result.pool_leaf.tolist() == tree.leaves(pool).tolist()


def test_against_a_product_the_model_s_shares_are_masses_of_boxes(rng):
    result, codes, _, baseline = grown(rng, n_pool=0)
    tree = result.tree
    boxes = naive.leaf_boxes(tree, DOMAIN.sizes)
    expected = [
        np.prod([sum(baseline.column(j)[k] for k in codes_of) for j, codes_of in enumerate(box)]) for box in boxes
    ]
    np.testing.assert_allclose(result.q, expected, rtol=1e-9)
    p = np.bincount(tree.leaves(codes), minlength=tree.n_leaves)
    np.testing.assert_allclose(result.p, p / len(codes), rtol=1e-15)
    assert result.pool_leaf.shape == (0,)


@pytest.mark.parametrize("n_pool", [0, 600])
def test_the_finished_tree_is_that_of_plain_growth(rng, n_pool):
    result, codes, pool, baseline = grown(rng, n_pool)
    reference = (
        naive.PoolReference(pool)
        if n_pool
        else naive.ProductReference([baseline.column(j) for j in range(DOMAIN.n_columns)])
    )
    _, leaves = naive.grow(
        codes, DOMAIN.sizes, DOMAIN.ordered, reference, max_leaves=12, max_ratio=2.0, min_samples_leaf=0
    )
    rows_of = {tuple(rows.tolist()) for rows, _ in leaves}
    leaf = result.tree.leaves(codes)
    assert {tuple(np.flatnonzero(leaf == k).tolist()) for k in range(result.tree.n_leaves)} == rows_of


@pytest.mark.parametrize("n_pool", [0, 600])
@pytest.mark.parametrize("max_ratio", [1.01, 1.5, 2.0, 5.0])
def test_no_leaf_passes_the_largest_ratio(rng, max_ratio, n_pool):
    result, *_ = grown(rng, n_pool, max_ratio=max_ratio, max_leaves=64)
    assert (result.q > 0).all()
    assert (result.p / result.q).max() <= max_ratio * (1 + 1e-9)


@pytest.mark.parametrize("min_samples_leaf", [1, 10, 50, 300])
def test_no_leaf_has_fewer_rows_than_asked_for(rng, min_samples_leaf):
    result, codes, *_ = grown(rng, min_samples_leaf=min_samples_leaf, max_leaves=64)
    assert (result.p * len(codes)).min() >= min_samples_leaf - 1e-9


def test_leaves_without_data_are_made_where_they_are_allowed(rng):
    sizes = {n: grown(np.random.default_rng(0), min_samples_leaf=n, max_leaves=64)[0].p.min() for n in (0, 1)}
    assert sizes[0] == 0
    assert sizes[1] > 0


def test_a_share_of_one_column_looks_at_one_column_at_a_time(rng):
    trees = [grown(rng, feature_fraction=1 / 5, max_leaves=2, max_ratio=100.0)[0].tree for _ in range(80)]
    # Each of the four columns that can be split on is drawn, and then split on, in a quarter of the looks: not once in
    # 80 with probability 0.75^80 < 2e-10. The column of one code is never drawn.
    assert {tuple(tree.column) for tree in trees} == {(0,), (1,), (2,), (4,)}


def test_columns_of_one_code_take_no_draw_from_the_others(rng):
    """Trees grow to their full size, each leaf on the one column that it drew: not stumps, and not on all columns."""
    domain = Domain((9, *(1,) * 8, 9), (True,) * 10)
    columns = columns_of(domain)
    codes, pool = dependent_rows(rng, domain, 3000), random_rows(rng, domain, 3000)
    reference = Reference(pool, random_baseline(rng, domain).probability)
    config = BoostingConfig(feature_fraction=0.1, max_leaves=8, max_ratio=100.0)
    trees = [grow_tree(columns, Rows(codes), reference, config, np.random.default_rng(s)).tree for s in range(20)]
    assert [tree.n_leaves for tree in trees] == [8] * 20
    first = [tree.column[0] for tree in trees]  # all alike with probability 2^-19 if drawn, surely if all are looked at
    assert set(first) == {0, 9}


def test_a_root_with_no_split_on_the_columns_drawn_is_split_on_any(rng):
    domain = Domain((9, 9), (True, True))
    codes = np.stack([rng.integers(0, 2, 2000) * 8, np.zeros(2000, int)], axis=1).astype(np.uint8)
    pool = np.stack([rng.integers(0, 9, 2000), np.zeros(2000, int)], axis=1).astype(np.uint8)
    reference = Reference(pool, random_baseline(rng, domain).probability)
    config = BoostingConfig(feature_fraction=0.5, max_leaves=2, max_ratio=100.0)
    seeds = map(np.random.default_rng, range(20))
    trees = [grow_tree(columns_of(domain), Rows(codes), reference, config, seed).tree for seed in seeds]
    assert {tuple(tree.column) for tree in trees} == {(0,)}


@pytest.mark.parametrize("share", [0.4, 0.61, 1.0])
def test_the_best_column_is_found_every_time_only_if_all_are_looked_at(rng, share):
    codes, pool = dependent_rows(rng, DOMAIN, 400), dependent_rows(rng, DOMAIN, 600)
    reference = Reference(pool, random_baseline(rng, DOMAIN).probability)
    config = BoostingConfig(feature_fraction=share, max_leaves=2, max_ratio=100.0)
    columns = set()
    for seed in range(40):  # with two or three columns of five, it is there every time with probability 0.6^40
        columns |= set(grow_tree(COLUMNS, Rows(codes), reference, config, np.random.default_rng(seed)).tree.column)
    assert (len(columns) == 1) == (share == 1.0)


def test_growth_does_not_touch_what_it_is_given(rng):
    codes, pool = dependent_rows(rng, DOMAIN, 400), dependent_rows(rng, DOMAIN, 600)
    baseline = random_baseline(rng, DOMAIN)
    before = codes.copy(), pool.copy(), baseline.probability.copy()
    grow_tree(COLUMNS, Rows(codes), Reference(pool, baseline.probability), BoostingConfig(max_leaves=12), rng)
    for array, same in zip((codes, pool, baseline.probability), before, strict=True):
        assert np.array_equal(array, same)
