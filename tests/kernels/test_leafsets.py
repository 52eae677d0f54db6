"""Leaf sets: which leaves of a tree a code admits."""

import numpy as np
import pytest

from energyboost.kernels.arrays import FAN, LANES
from energyboost.kernels.leafsets import leaf_boxes
from energyboost.model import leafindex
from energyboost.model.energy import columns_of
from energyboost.model.leafindex import LeafIndex
from tests import naive
from tests.ensembles import Domain, random_rows, random_tree

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
    return bits_of(sets.words[sets.tree_row[t] + sets.step[columns.start[column] + code, t]])


def bits_of(row):
    """The places of the bits of a row of words."""
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


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_in_large_trees_a_code_admits_the_treelets_with_a_leaf_that_it_admits(rng, monkeypatch, domain):
    monkeypatch.setattr(leafindex, "LARGEST", (40, 5000))
    monkeypatch.setattr(leafindex, "LARGEST_FLAT", 0)
    columns, tree = columns_of(domain), random_tree(rng, domain, 100)
    index = LeafIndex(columns, 1, 100, domain.code_dtype)
    index.add(tree)
    first, treelets = index.arrays.first_slot[0], index.arrays.treelets
    boxes = naive.leaf_boxes(tree, domain.sizes)
    slots = bits_of(index.arrays.words[index.arrays.tree_row[0]])  # row 0 admits every slot
    leaves = {
        slot: [
            treelets.first[first + slot] + child
            for child in range(FAN)
            if treelets.path[first + slot, child] < 1 << (FAN - 1)
        ]
        for slot in slots
    }
    for j, size in enumerate(domain.sizes):
        for code in range(size):
            expected = {slot for slot in slots if any(code in boxes[leaf][j] for leaf in leaves[slot])}
            assert admitted_slots(index.arrays, columns, 0, j, code) == expected
    n_rows = 1 + int(index.arrays.step.max())
    assert n_rows <= 1 + sum(min(size, len(slots) + 1) for size in domain.sizes)  # none for cuts inside a slot


def test_trees_are_flat_unless_that_takes_too_much_memory():
    columns = columns_of(Domain((255,) * 9, (True,) * 9))
    levels = {
        (n_trees, max_leaves): LeafIndex(columns, n_trees, max_leaves, np.dtype(np.uint8)).n_levels
        for n_trees, max_leaves in [(2000, 512), (20, 2048), (200, 2048), (5, 4096), (5, 16_384)]
    }
    assert list(levels.values()) == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(("n_leaves", "n_before"), [(41, 0), (40, 2)])
def test_a_tree_that_does_not_fit_is_refused(rng, n_leaves, n_before):
    index = LeafIndex(columns_of(DOMAINS[0]), 2, 40, DOMAINS[0].code_dtype)
    for _ in range(n_before):
        index.add(random_tree(rng, DOMAINS[0], 40))
    with pytest.raises(ValueError, match=f"tree {n_before} with {n_leaves} leaves does not fit an index of 2 trees"):
        index.add(random_tree(rng, DOMAINS[0], n_leaves))


def admitted_by(row, column, box):
    """Whether a box holds a row, whatever its code of one column."""
    return all(code in codes for j, (code, codes) in enumerate(zip(row, box, strict=True)) if j != column)


def children(treelets, treelet, row, column):
    """The children that a row reaches in a treelet along a column: those that all nodes keep."""
    kept = 0
    for child in range(FAN):
        path = [lane for lane in range(FAN) if int(treelets.path[treelet, child]) >> lane & 1]
        there = FAN - 1 not in path
        goes_right = {
            lane: int(row[treelets.column[treelet, lane]]) >= treelets.threshold[treelet, lane] for lane in path
        }
        along = {lane for lane in path if treelets.column[treelet, lane] == column}
        kept |= (there and all(goes_right[lane] == (lane < child) for lane in path if lane not in along)) << child
    for node in range(treelets.set_start[treelet], treelets.set_start[treelet] + treelets.n_sets[treelet]):
        j = int(treelets.set_column[node])
        if j != column:
            word = int(treelets.mask_bits[int(treelets.set_word[node]) + int(row[j]) // 64])
            kept &= int(treelets.set_keep[node, 1 - (word >> int(row[j]) % 64 & 1)])
    return [int(treelets.first[treelet]) + bit for bit in range(FAN) if kept >> bit & 1]


@pytest.mark.parametrize("largest", [(40, 5000), (40, 80)], ids=["one level", "two levels"])
@pytest.mark.parametrize("shape", ["bushy", "chain"])
@pytest.mark.parametrize("n_more", [0, 300], ids=["few columns", "many columns"])
def test_slots_and_treelets_lead_to_the_leaves_that_a_row_can_reach(rng, monkeypatch, shape, largest, n_more):
    monkeypatch.setattr(leafindex, "LARGEST", largest)
    monkeypatch.setattr(leafindex, "LARGEST_FLAT", 0)
    domain = Domain((300, 90, 70) + (2,) * n_more, (True, True, False) + (True, False) * (n_more // 2))
    columns = columns_of(domain)
    index = LeafIndex(columns, 4, 600, domain.code_dtype)
    trees = [random_tree(rng, domain, n_leaves, shape) for n_leaves in (600, 1, 16, 17)]
    for tree in trees:
        index.add(tree)
    sets, first_leaf = index.arrays, 0
    assert sets.n_levels == 1 + (largest[1] < 600)
    for t, tree in enumerate(trees):
        boxes = naive.leaf_boxes(tree, domain.sizes)
        assert np.array_equal(sets.value[first_leaf:][: len(boxes)], tree.leaf_value.astype(np.float32))
        for leaf, box in enumerate(boxes):
            assert [min(box[j]) for j in (0, 1)] == sets.lower[first_leaf + leaf, :2].tolist()
            levels = sets.levels[first_leaf + leaf, sets.levels_start[2] :]
            assert {k for k in range(70) if int(levels[k // LANES]) >> k % LANES & 1} == box[2]
        for row in random_rows(rng, domain, 3):
            for column in (0, 2, domain.n_columns - 1):
                slots = set(range(64 * index.width))
                for j in range(domain.n_columns):
                    slots &= admitted_slots(sets, columns, t, j, row[j]) if j != column else slots
                reached = [int(sets.first_slot[t]) + slot for slot in sorted(slots)]
                for _ in range(sets.n_levels):
                    assert reached, "a slot or a treelet is reached without a leaf in it"
                    reached = [child for one in reached for child in children(sets.treelets, one, row, column)]
                expected = [leaf for leaf, box in enumerate(boxes) if admitted_by(row, column, box)]
                assert [leaf - first_leaf for leaf in reached] == expected
        first_leaf += tree.n_leaves
