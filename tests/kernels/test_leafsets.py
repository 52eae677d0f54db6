"""Leaf sets: which leaves of a tree a code admits."""

import numpy as np
import pytest

from energyboost.kernels.leafsets import leaf_boxes
from energyboost.model.energy import columns_of
from energyboost.model.leafindex import LeafIndex
from tests import naive
from tests.ensembles import Domain, random_tree

DOMAINS = [
    Domain((5, 17, 64), (True, True, True)),
    Domain((2, 65, 130), (False, False, False)),
    Domain((1, 255, 300, 3), (True, False, False, True)),
]


@pytest.mark.parametrize("n_leaves", [1, 2, 40])
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_leaf_boxes_are_those_of_the_walk(rng, domain, n_leaves):
    columns = columns_of(domain)
    tree = random_tree(rng, domain, n_leaves)
    low, high, admits = leaf_boxes(columns, tree.arrays)
    for leaf, box in enumerate(naive.leaf_boxes(tree, domain.sizes)):
        for j in range(domain.n_columns):
            if domain.ordered[j]:
                assert set(range(low[j, leaf], high[j, leaf])) == box[j]
            else:
                levels = admits[leaf, columns.level_start[j] : columns.level_start[j + 1]]
                assert set(np.flatnonzero(levels)) == box[j]


def admitted_slots(sets, columns, t, column, code):
    """The slots of tree t that a code admits, as the sets say."""
    row = sets.words[sets.tree_row[t] + sets.step[columns.start[column] + code, t]]
    return {64 * q + bit for q, word in enumerate(row) for bit in range(64) if int(word) >> bit & 1}


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_code_admits_the_leaves_whose_boxes_hold_it(rng, domain):
    columns = columns_of(domain)
    index = LeafIndex(columns, 3, 100, domain.code_dtype)
    trees = [random_tree(rng, domain, n_leaves) for n_leaves in (100, 1, 30)]
    for tree in trees:
        index.add(tree)
    for t, tree in enumerate(trees):
        boxes = naive.leaf_boxes(tree, domain.sizes)
        for j, size in enumerate(domain.sizes):
            for code in range(size):
                expected = {leaf for leaf, box in enumerate(boxes) if code in box[j]}
                assert admitted_slots(index.arrays, columns, t, j, code) == expected


@pytest.mark.parametrize("shape", ["bushy", "chain"])
def test_blocks_hold_the_boxes_of_their_leaves_and_are_admitted_with_any_of_them(rng, shape):
    domain = Domain((300, 300, 9), (True, True, False))
    columns = columns_of(domain)
    index = LeafIndex(columns, 4, 600, domain.code_dtype)
    trees = [random_tree(rng, domain, n_leaves, shape) for n_leaves in (600, 1, 64, 65)]
    for tree in trees:
        index.add(tree)
    sets = index.arrays
    for t, tree in enumerate(trees):
        boxes, block_of_leaf = naive.leaf_boxes(tree, domain.sizes), naive.blocks_of_leaves(tree)
        for j, size in enumerate(domain.sizes):
            for code in range(0, size, 7):
                expected = {block_of_leaf[leaf] for leaf, box in enumerate(boxes) if code in box[j]}
                assert admitted_slots(sets, columns, t, j, code) == expected
        n_in_use = 0
        for leaf, box in enumerate(boxes):
            block = int(sets.block[t * index.width * 64 + block_of_leaf[leaf]])
            first, size = int(sets.block_first[block]), int(sets.block_size[block])
            bit = leaf - block_of_leaf.index(block_of_leaf[leaf])
            n_in_use += bit < size
            assert sets.value[first + bit] == np.float32(tree.leaf_value[leaf])
            for j in (0, 1):
                low, high = sets.block_box[2 * (3 * first + j * size) :][[bit, size + bit]]
                assert set(range(low, high + 1)) == box[j]
            levels = sets.block_levels[columns.level_start[2] : columns.level_start[3], block]
            assert {k for k in range(9) if int(levels[k]) >> bit & 1} == box[2]
        assert n_in_use == tree.n_leaves
