"""Trees as flat arrays: joined, split, and made from the splits of a grown one."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from energyboost.kernels.walk import energies
from energyboost.model.energy import columns_of
from energyboost.model.tree import Tree, from_splits, join, split
from tests import naive
from tests.ensembles import MIXED, Domain, random_rows, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def assert_same(one, other):
    for field in fields(Tree):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist(), field.name


@given(SEEDS, st.lists(st.sampled_from([1, 2, 3, 20]), max_size=6))
def test_split_undoes_join(seed, sizes):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, MIXED, size) for size in sizes]
    joined = join(trees)
    assert joined.node_start[-1] == sum(len(tree.column) for tree in trees)
    assert joined.leaf_start[-1] == sum(tree.n_leaves for tree in trees)
    parts = split(joined)
    assert len(parts) == len(trees)
    for tree, part in zip(trees, parts, strict=True):
        assert_same(tree, part)


@given(SEEDS, st.permutations(range(5)))
def test_energies_do_not_depend_on_the_order_of_trees(seed, order):
    rng = np.random.default_rng(seed)
    trees, rows = [random_tree(rng, MIXED, 9) for _ in range(5)], random_rows(rng, MIXED, 20)
    sums = []
    for some in (trees, [trees[i] for i in order]):
        sums.append(np.zeros(len(rows)))
        energies(join(some), 0, 5, rows, sums[-1])
    np.testing.assert_allclose(sums[0], sums[1], rtol=0, atol=1e-14 * 20)


def test_a_tree_alone_walks_as_it_does_among_others(rng):
    trees, rows = [random_tree(rng, MIXED, size) for size in (30, 1, 20)], random_rows(rng, MIXED, 50)
    for part, tree in zip(split(join(trees)), trees, strict=True):
        assert part.leaves(rows).tolist() == tree.leaves(rows).tolist()


def test_new_leaf_values_leave_the_partition_as_it_is(rng):
    tree, rows = random_tree(rng, MIXED, 20), random_rows(rng, MIXED, 50)
    other = tree.with_values(tree.leaf_value * 2)
    assert other.leaves(rows).tolist() == tree.leaves(rows).tolist()
    assert (other.leaf_value == 2 * tree.leaf_value).all()


@pytest.mark.parametrize("domain", [MIXED, Domain((65, 130), (False, False)), Domain((9,), (True,))], ids=str)
@pytest.mark.parametrize("n_splits", [0, 1, 2, 30])
def test_a_tree_from_splits_sorts_rows_as_the_splits_did(rng, domain, n_splits):
    columns = columns_of(domain)
    rows = random_rows(rng, domain, 500)
    split_leaf = np.array([rng.integers(0, n + 1) for n in range(n_splits)], np.int32)
    column = rng.integers(0, domain.n_columns, n_splits).astype(np.int32)
    threshold = np.array([rng.integers(0, domain.sizes[j] + 1) for j in column], np.int32)
    mask = rng.integers(0, 2**63, (n_splits, 5)).astype(np.uint64)
    leaf = np.zeros(len(rows), int)
    for n in range(n_splits):
        for i, row in enumerate(rows):
            code, j = int(row[column[n]]), column[n]
            left = code < threshold[n] if domain.ordered[j] else int(mask[n, code // 64]) >> code % 64 & 1
            if leaf[i] == split_leaf[n] and not left:
                leaf[i] = n + 1
    tree, old = from_splits(columns, split_leaf, column, threshold, mask)
    assert sorted(old) == list(range(n_splits + 1))
    assert old[tree.leaves(rows)].tolist() == leaf.tolist()
    assert old[[naive.leaf_of(tree, row) for row in rows]].tolist() == leaf.tolist()
    assert (tree.leaf_value == 0).all()


def test_leaves_are_numbered_from_left_to_right_and_parents_stand_first(rng):
    columns = columns_of(MIXED)
    split_leaf = np.array([0, 1, 0, 2, 3], np.int32)
    thresholds = np.arange(1, 6, dtype=np.int32)
    tree, _ = from_splits(columns, split_leaf, np.full(5, 2, np.int32), thresholds, np.zeros((5, 5), np.uint64))
    met = []

    def descend(node, parent):
        if node < 0:
            met.append(~node)
        else:
            assert node > parent
            descend(tree.left[node], node)
            descend(tree.right[node], node)

    descend(0, -1)
    assert met == list(range(6))
