"""Random domains, trees and ensembles, and short trainings, for tests."""

import numpy as np

from energyboost.fitting.boosting import boost, start
from energyboost.fitting.config import BoostingConfig
from energyboost.fitting.grow import Rows
from energyboost.model.baseline import Baseline
from energyboost.model.domain import Domain
from energyboost.model.energy import Energy, columns_of
from energyboost.model.tree import Tree

ORDERED = Domain((5, 17, 64), (True, True, True))
UNORDERED = Domain((2, 65, 130), (False, False, False))
MIXED = Domain((1, 255, 300, 3), (True, False, True, False))
WIDE_LEVELS = Domain((300, 9, 40), (False, True, False))
SINGLE = Domain((17,), (True,))
SINGLE_UNORDERED = Domain((65,), (False,))
CASES = {  # domain, leaves per tree, leaves that the index allows for, words per tree that it takes
    "ordered": (ORDERED, 40, 64, 1),
    "unordered": (UNORDERED, 40, 64, 1),
    "mixed": (MIXED, 40, 64, 1),
    "many levels": (WIDE_LEVELS, 40, 64, 1),
    "single column": (SINGLE, 17, 64, 1),
    "single unordered column": (SINGLE_UNORDERED, 40, 64, 1),
    "trees of one leaf": (MIXED, 1, 64, 1),
    "trees of two leaves": (UNORDERED, 2, 64, 1),
    "2 words": (MIXED, 100, 128, 2),
    "4 words": (ORDERED, 250, 256, 4),
    "8 words": (ORDERED, 500, 512, 8),
}


def random_rows(rng, domain, n_rows):
    """Rows of independent, uniform codes."""
    return np.stack([rng.integers(0, size, n_rows) for size in domain.sizes], axis=1).astype(domain.code_dtype)


def possible_rows(rng, energy, n_rows):
    """Rows of the baseline, which never holds a code that cannot occur."""
    return energy.baseline.sample(n_rows, rng, energy.domain.code_dtype)


def dependent_rows(rng, domain, n_rows):
    """Rows whose columns depend on each other, with frequent and rare codes."""
    common = rng.random((n_rows, 1))
    share = np.where(rng.random((n_rows, domain.n_columns)) < 0.7, common, rng.random((n_rows, domain.n_columns)))
    codes = np.floor(share**1.5 * np.array(domain.sizes))
    return np.minimum(codes, np.array(domain.sizes) - 1).astype(domain.code_dtype)


def random_tree(rng, domain, n_leaves, shape="bushy", scale=1.0):
    """A tree of up to ``n_leaves`` leaves, none of them empty.

    A "bushy" tree splits leaves in turn, a "chain" always the last one made, which gives the deepest trees there are.
    """
    column, threshold, mask, children = [], [], [], []
    # (box, parent, side): side 0 is left
    open_leaves = [([np.arange(size) for size in domain.sizes], None, None)]
    done = []
    while open_leaves and len(open_leaves) + len(done) < n_leaves:
        box, parent, side = open_leaves.pop(-1 if shape == "chain" else 0)
        wide = [j for j, codes in enumerate(box) if len(codes) > 1]
        if not wide:
            done.append((parent, side))
            continue
        j = int(rng.choice(wide))
        if domain.ordered[j]:
            # a chain lasts longest when it gives up one code at a time
            cut = int(box[j][1] if shape == "chain" else rng.choice(box[j][1:]))
            left, bits = box[j][box[j] < cut], None
        else:
            cut = -1
            n_left = 1 if shape == "chain" else int(rng.integers(1, len(box[j])))
            left = np.sort(rng.choice(box[j], n_left, replace=False))
            # levels outside the leaf may stand on either side
            outside = np.setdiff1d(np.arange(domain.sizes[j]), box[j])
            bits = set(left.tolist()) | set(outside[rng.random(len(outside)) < 0.5].tolist())
        node = len(column)
        if parent is not None:
            children[parent][side] = node
        column.append(j)
        threshold.append(cut)
        mask.append(bits)
        children.append([None, None])
        open_leaves.append(([*box[:j], left, *box[j + 1 :]], node, 0))
        open_leaves.append(([*box[:j], np.setdiff1d(box[j], left), *box[j + 1 :]], node, 1))
    return _tree(rng, domain, column, threshold, mask, children, scale)


def _tree(rng, domain, column, threshold, mask, children, scale):
    n_leaves = 0

    def number(node):  # leaves from left to right
        nonlocal n_leaves
        for side in (0, 1):
            if children[node][side] is None:
                children[node][side] = ~n_leaves
                n_leaves += 1
            else:
                number(children[node][side])

    if column:
        number(0)
    words, mask_start = [], []
    for j, bits in zip(column, mask, strict=True):
        mask_start.append(-1 if bits is None else len(words))
        if bits is not None:
            n_words = -(-domain.sizes[j] // 64)
            words += [sum(1 << k % 64 for k in bits if k // 64 == word) for word in range(n_words)]
    left, right = np.array(children, np.int32).reshape(-1, 2).T
    return Tree(
        np.array(column, np.int32),
        np.array(threshold, np.int32),
        left.copy(),
        right.copy(),
        np.array(mask_start, np.int64),
        np.array(words, np.uint64),
        rng.normal(0, scale, max(1, n_leaves)),
    )


def random_baseline(rng, domain, impossible=0.0):
    """A product of random distributions, in which some codes may be impossible."""
    columns = columns_of(domain)
    probability = np.zeros(columns.start[-1])
    for first, size in zip(columns.start, columns.size, strict=False):
        share = rng.random(size) + 0.05
        share[1:][rng.random(size - 1) < impossible] = 0
        probability[first : first + size] = share / share.sum()
    return Baseline(columns, probability)


def random_energy(rng, domain, n_trees, n_leaves, *, max_leaves=None, shape="bushy", scale=0.5, impossible=0.0):
    """An ensemble of random trees on a random baseline."""
    energy = Energy(domain, random_baseline(rng, domain, impossible), n_trees, max_leaves or n_leaves)
    for _ in range(n_trees):
        energy.add(random_tree(rng, domain, n_leaves, shape, scale))
    return energy


def train(codes, domain, *, seed=0, n_jobs=1, weight=None, **parameters):
    """Train to the end: the last state and what every round reported."""
    config = BoostingConfig(**{"pool_size": 1000, "n_trees": 5, "max_leaves": 8, **parameters})
    rows = Rows(codes) if weight is None else Rows.weighted(codes, weight)
    first = start(rows, domain, config)
    rounds = list(boost(first, rows, config, seed, n_jobs))
    return rounds[-1][0] if rounds else first, [info for _, info in rounds]
