"""Growing a tree, node for node against the plain twin."""

import numpy as np
import pytest

from energyboost.fitting.grow import NO_WEIGHT
from energyboost.kernels import grow as module
from energyboost.kernels.grow import Limits, Reference, grow, grow_at_random
from energyboost.model.energy import columns_of
from tests import naive
from tests.ensembles import Domain, dependent_rows, random_baseline, random_rows

MIXED = Domain((5, 17, 65, 1, 9), (True, False, True, True, False))
DOMAINS = {
    "ordered": Domain((2, 5, 64), (True, True, True)),
    "unordered": Domain((2, 17, 130), (False, False, False)),
    "mixed": MIXED,
    "two bytes": Domain((300, 4), (True, False)),
    "many levels": Domain((300, 4), (False, True)),
    "single column": Domain((65,), (True,)),
    "single unordered column": Domain((65,), (False,)),
}
EVERY = np.empty((0, 0), bool)
USUAL = Limits(12, 2.0, 0, False, False)


def data_and_pool(rng, domain, n_rows=400, n_pool=600):
    return dependent_rows(rng, domain, n_rows), dependent_rows(rng, domain, n_pool) if n_pool else EVERY


def per_column(columns, laid):
    return [laid[first : first + size] for first, size in zip(columns.start, columns.size, strict=False)]


def assert_twins_agree(domain, codes, reference, limits, allowed=None, kernel=grow, weight=NO_WEIGHT):
    """Both grow the same tree on the same rows; returns the plain one's splits and leaves."""
    columns = columns_of(domain)
    twin = (
        naive.PoolReference(reference.codes)
        if len(reference.codes)
        else naive.ProductReference(per_column(columns, reference.probability))
    )
    splits, leaves = naive.grow(
        np.repeat(codes, weight, axis=0) if len(weight) else codes,
        domain.sizes,
        domain.ordered,
        twin,
        max_leaves=limits.max_leaves,
        max_ratio=limits.max_ratio,
        min_samples_leaf=limits.min_samples_leaf,
        breadth_first=limits.breadth_first,
        by_likelihood=limits.by_likelihood,
        allowed=allowed,
    )
    flags = np.empty((0, domain.n_columns), bool) if allowed is None else allowed
    tree, n_leaves = kernel(columns, codes, weight, reference, limits, flags)
    assert n_leaves == len(leaves)
    for n, (leaf, column, threshold, left) in enumerate(splits):
        assert (tree.split_leaf[n], tree.column[n]) == (leaf, column)
        if domain.ordered[column]:
            assert tree.threshold[n] == threshold
        else:
            bits = {k for k in range(domain.sizes[column]) if int(tree.mask[n, k // 64]) >> k % 64 & 1}
            assert bits == left
    origin = np.repeat(np.arange(len(codes)), weight) if len(weight) else np.arange(len(codes))
    for leaf, (rows, part) in enumerate(leaves):
        first, last = tree.segment[leaf]
        counted = [row for row in tree.rows[first:last] if not len(weight) or weight[row]]
        assert sorted(counted) == sorted(set(origin[rows].tolist()))
        assert tree.count[leaf] == len(rows)
        # a pool's counts are exact; masses of a product are remainders of subtractions
        assert tree.reference[leaf] == pytest.approx(twin.mass(part), rel=1e-9)
        if len(reference.codes):
            assert tree.reference[leaf] == twin.mass(part)
            first, last = tree.pool_segment[leaf]
            assert sorted(tree.pool_rows[first:last]) == part.tolist()
    return splits, leaves


def pool_reference(domain, pool):
    return Reference(pool, np.zeros(columns_of(domain).start[-1]))


def product_reference(domain, baseline):
    return Reference(np.empty((0, domain.n_columns), domain.code_dtype), baseline.probability)


@pytest.mark.parametrize("name", DOMAINS)
def test_trees_against_a_pool_are_those_of_plain_growth(rng, name):
    domain = DOMAINS[name]
    codes, pool = data_and_pool(rng, domain)
    splits, _ = assert_twins_agree(domain, codes, pool_reference(domain, pool), USUAL)
    assert splits


@pytest.mark.parametrize("name", DOMAINS)
def test_trees_against_a_product_are_those_of_plain_growth(rng, name):
    domain = DOMAINS[name]
    codes, _ = data_and_pool(rng, domain, n_pool=0)
    baseline = random_baseline(rng, domain)
    splits, _ = assert_twins_agree(domain, codes, product_reference(domain, baseline), USUAL)
    assert splits


@pytest.mark.parametrize("breadth_first", [False, True])
@pytest.mark.parametrize("min_samples_leaf", [0, 1, 20])
@pytest.mark.parametrize("max_ratio", [1.05, 2.0, 1e9])
@pytest.mark.parametrize("max_leaves", [2, 3, 30])
def test_limits_stop_both_twins_alike(rng, max_leaves, max_ratio, min_samples_leaf, breadth_first):
    limits = Limits(max_leaves, max_ratio, min_samples_leaf, breadth_first, False)
    codes, pool = data_and_pool(rng, MIXED, 300, 200)
    assert_twins_agree(MIXED, codes, pool_reference(MIXED, pool), limits)
    assert_twins_agree(MIXED, codes, product_reference(MIXED, random_baseline(rng, MIXED)), limits)


@pytest.mark.parametrize("n_pool", [0, 30_000])
def test_subtracted_histograms_equal_counted_ones(rng, n_pool):
    # Leaves of so many rows keep their histograms, and the larger child of each is a difference.
    domain = Domain((40, 12, 3), (True, False, True))
    codes, pool = data_and_pool(rng, domain, 20_000, n_pool)
    reference = pool_reference(domain, pool) if n_pool else product_reference(domain, random_baseline(rng, domain))
    splits, leaves = assert_twins_agree(domain, codes, reference, Limits(60, 1e9, 0, False, False))
    few = columns_of(domain).start[-1] // (2 * domain.n_columns)
    assert len(splits) == 59
    assert np.mean([len(rows) > few for rows, _ in leaves]) > 0.5


@pytest.mark.parametrize("n_pool", [0, 5000])
def test_a_tree_does_not_depend_on_how_many_histograms_are_kept(rng, monkeypatch, n_pool):
    codes, pool = data_and_pool(rng, MIXED, 5000, n_pool)
    reference = pool_reference(MIXED, pool) if n_pool else product_reference(MIXED, random_baseline(rng, MIXED))
    free, compiled = [], module._start

    def start(*arguments):
        tree, opened = compiled.py_func(*arguments)
        free.append(opened.free[-1])
        return tree, opened

    # plain Python around the compiled steps, with room for four histograms only
    monkeypatch.setattr(module, "SLOT_BYTES", 0)
    monkeypatch.setattr(module, "_start", start)
    assert_twins_agree(MIXED, codes, reference, Limits(40, 1e9, 0, False, False), kernel=grow.py_func)
    assert free == [4]


@pytest.mark.parametrize("n_pool", [0, 600])
def test_only_allowed_columns_are_split_on(rng, n_pool):
    codes, pool = data_and_pool(rng, MIXED, n_pool=n_pool)
    reference = pool_reference(MIXED, pool) if n_pool else product_reference(MIXED, random_baseline(rng, MIXED))
    allowed = rng.random((2 * USUAL.max_leaves, MIXED.n_columns)) < 0.5
    assert_twins_agree(MIXED, codes, reference, USUAL, allowed)
    only = np.zeros((2 * USUAL.max_leaves, MIXED.n_columns), bool)
    only[:, 2] = True
    splits, _ = assert_twins_agree(MIXED, codes, reference, USUAL, only)
    assert {column for _, column, _, _ in splits} == {2}


def test_a_level_without_rows_goes_where_most_of_the_model_is():
    domain = Domain((6,), (False,))
    # P and Q per level; level 4 has neither. P/Q: 3 and 2 on levels 0 and 1, below 1 on the others.
    codes = np.repeat([0, 1, 2, 3], [30, 20, 20, 30]).astype(np.uint8)[:, None]
    pool = np.repeat([0, 1, 2, 3, 5], [10, 10, 30, 40, 10]).astype(np.uint8)[:, None]
    splits, _ = assert_twins_agree(domain, codes, pool_reference(domain, pool), Limits(2, 1e9, 0, False, False))
    # levels by P/Q: 5, 2, 3 | 1, 0; 80 of 100 model rows go left, and level 4 with them
    assert splits == [(0, 0, splits[0][2], {2, 3, 4, 5})]


def test_levels_that_only_the_data_has_are_never_alone():
    domain = Domain((4,), (False,))
    codes = np.repeat([0, 1, 2, 3], [10, 20, 30, 40]).astype(np.uint8)[:, None]
    pool = np.repeat([1, 2, 3], [50, 30, 20]).astype(np.uint8)[:, None]
    _, leaves = assert_twins_agree(domain, codes, pool_reference(domain, pool), Limits(4, 1e9, 0, False, False))
    assert len(leaves) == 3
    assert all(len(part) for _, part in leaves)


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=str)
def test_what_looks_like_the_model_is_not_split(rng, domain):
    codes = random_rows(rng, domain, 300)
    _, leaves = assert_twins_agree(domain, codes, pool_reference(domain, np.repeat(codes, 3, axis=0)), USUAL)
    assert len(leaves) == 1


def test_a_uniform_table_is_a_product_and_rounding_is_no_gain():
    domain = Domain((7, 3, 11), (True, False, True))
    codes = np.stack(np.meshgrid(*map(np.arange, domain.sizes)), axis=-1).reshape(-1, 3).astype(np.uint8)
    columns = columns_of(domain)
    probability = np.zeros(columns.start[-1])
    for first, size in zip(columns.start, columns.size, strict=False):
        probability[first : first + size] = 1 / size
    reference = Reference(np.empty((0, 3), np.uint8), probability)
    _, leaves = assert_twins_agree(domain, codes, reference, USUAL)
    assert len(leaves) == 1


@pytest.mark.parametrize("n_pool", [0, 600])
@pytest.mark.parametrize("max_leaves", [2, 30])
def test_a_row_of_weight_k_counts_as_k_rows(rng, n_pool, max_leaves):
    codes, pool = data_and_pool(rng, MIXED, n_pool=n_pool)
    reference = pool_reference(MIXED, pool) if n_pool else product_reference(MIXED, random_baseline(rng, MIXED))
    weight = rng.integers(0, 4, len(codes)).astype(np.int32)
    splits, _ = assert_twins_agree(MIXED, codes, reference, Limits(max_leaves, 4.0, 5, False, False), weight=weight)
    unweighted, _ = assert_twins_agree(MIXED, codes, reference, Limits(max_leaves, 4.0, 5, False, False))
    assert splits != unweighted


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("max_ratio", [2.0, np.inf])
@pytest.mark.parametrize("n_pool", [0, 600])
def test_splits_by_likelihood_are_those_of_plain_growth(rng, name, max_ratio, n_pool):
    domain = DOMAINS[name]
    codes, pool = data_and_pool(rng, domain, n_pool=n_pool)
    reference = pool_reference(domain, pool) if n_pool else product_reference(domain, random_baseline(rng, domain))
    limits = Limits(12, max_ratio, 0, False, True)
    splits, _ = assert_twins_agree(domain, codes, reference, limits)
    assert splits
    by_squares, _ = assert_twins_agree(domain, codes, reference, Limits(12, max_ratio, 0, False, False))
    assert name in ("single column", "single unordered column") or splits != by_squares


def test_random_trees_cut_leaves_in_the_middle(rng):
    domain = Domain((8, 5, 6), (True, True, False))
    codes = dependent_rows(rng, domain, 300)
    uniforms = rng.random((200, 2 + 6))
    tree, n_leaves = grow_at_random(columns_of(domain), codes, NO_WEIGHT, Limits(64, np.inf, 0, False, False), uniforms)
    assert n_leaves == 64
    boxes = [[set(range(size)) for size in domain.sizes]]
    for n in range(n_leaves - 1):
        leaf, j = int(tree.split_leaf[n]), int(tree.column[n])
        inside = boxes[leaf][j]
        left = {k for k in inside if (k < tree.threshold[n] if domain.ordered[j] else int(tree.mask[n, 0]) >> k & 1)}
        assert len(left) in (len(inside) // 2, -(-len(inside) // 2))
        assert len(inside) > 1
        boxes.append([*boxes[leaf][:j], inside - left, *boxes[leaf][j + 1 :]])
        boxes[leaf] = [*boxes[leaf][:j], left, *boxes[leaf][j + 1 :]]
    volume = [np.prod([len(codes_) / size for codes_, size in zip(box, domain.sizes, strict=True)]) for box in boxes]
    np.testing.assert_allclose(tree.reference[:n_leaves], volume, rtol=1e-12)
    for leaf, box in enumerate(boxes):
        inside = [all(int(row[j]) in box[j] for j in range(3)) for row in codes]
        assert tree.count[leaf] == sum(inside)
    # the oldest leaf is split first: no leaf is far deeper than another
    assert max(volume) <= 8 * min(volume)
