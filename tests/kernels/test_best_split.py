"""The split of a leaf is the best there is, by exact arithmetic over every way to split."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from energyboost.fitting.grow import NO_WEIGHT
from energyboost.kernels.grow import Limits, Reference, grow
from energyboost.model.energy import columns_of
from tests import exact, naive
from tests.ensembles import Domain

NO_LIMITS = Limits(2, 1e300, 0, False, False)
# rows of the data and of the pool with each code of a column
COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7)


def table(counts):
    """A column of codes in which code k stands as often as counts say."""
    return np.repeat(np.arange(len(counts)), counts).astype(np.uint8)[:, None]


def split_once(domain, codes, pool, limits=NO_LIMITS):
    """P and Q of the two leaves, or None where there is no split; and the column split on."""
    tree, n_leaves = grow(
        columns_of(domain),
        codes,
        NO_WEIGHT,
        Reference(pool, np.zeros(0)),
        limits,
        np.empty((0, domain.n_columns), bool),
    )
    if n_leaves == 1:
        return None, None
    sides = [(int(tree.count[leaf]), int(tree.reference[leaf])) for leaf in (0, 1)]
    return sides, int(tree.column[0])


def gain_of(sides):
    (p_left, q_left), (p_right, q_right) = sides
    return exact.gain(p_left, q_left, p_right, q_right)


def assert_best(sides, best):
    """The split gains as much as any; there is none only where none gains."""
    if sides is None:
        assert best is None or best == 0
    else:
        # in double precision, gains that differ by less than rounding are a tie, which may go to either
        assert abs(gain_of(sides) - best) <= 1e-10


def nonempty(p, q):
    return sum(p) > 0 and sum(q) > 0


@given(COUNTS)
def test_the_cut_of_an_ordered_column_is_the_best_of_all_cuts(counts):
    p, q = zip(*counts, strict=True)
    if nonempty(p, q):
        sides, _ = split_once(Domain((len(p),), (True,)), table(p), table(q))
        assert_best(sides, exact.best_gain(p, q, exact.cuts(range(len(p)))))


@given(COUNTS)
def test_the_levels_of_an_unordered_column_are_the_best_of_all_sets(counts):
    # Cutting the levels in order of P/Q is enough: no other set of levels gains more, as long as no cut is refused.
    # (A level of the data that the model never has would be cut off first, and cannot be: it has no Q.)
    p, q = zip(*((a, b) if b else (0, 0) for a, b in counts), strict=True)
    if nonempty(p, q):
        sides, _ = split_once(Domain((len(p),), (False,)), table(p), table(q))
        best = exact.best_gain(p, q, exact.subsets(len(p)))
        assert_best(sides, best)
        order = naive.order_of_codes(p, q, ordered=False)
        assert best == exact.best_gain(p, q, exact.cuts(order))


@given(st.integers(0, 2**32 - 1))
def test_the_column_is_the_best_of_all_columns(seed):
    rng = np.random.default_rng(seed)
    domain = Domain((4, 5, 3), (True, False, False))
    codes, pool = (
        np.stack([rng.choice(size, n, p=rng.dirichlet(np.ones(size))) for size in domain.sizes], axis=1)
        for n in (60, 90)
    )
    # every code stands in the pool, so that no cut is refused
    pool = np.concatenate([pool, np.arange(5)[:, None] % np.array(domain.sizes)])
    sides, _ = split_once(domain, codes.astype(np.uint8), pool.astype(np.uint8))
    best = []
    for j, size in enumerate(domain.sizes):
        p, q = (np.bincount(rows[:, j], minlength=size).tolist() for rows in (codes, pool))
        ways = exact.cuts(range(size)) if domain.ordered[j] else exact.subsets(size)
        best.append(exact.best_gain(p, q, ways) or 0)
    assert_best(sides, max(best))


@given(COUNTS)
def test_a_level_that_the_model_never_has_stays_with_the_level_before_it(counts):
    p, q = zip(*counts, strict=True)
    if nonempty(p, q):
        order = naive.order_of_codes(p, q, ordered=False)
        sides, _ = split_once(Domain((len(p),), (False,)), table(p), table(q))
        assert_best(sides, exact.best_gain(p, q, exact.cuts(order)))


@given(COUNTS, st.sampled_from([1.1, 1.5, 3.0]), st.integers(0, 4))
def test_among_cuts_that_are_not_refused_the_best_is_taken(counts, max_ratio, min_samples_leaf):
    p, q = zip(*counts, strict=True)
    if not nonempty(p, q):
        return
    scale, allowed = sum(q) / sum(p), []
    for left in exact.cuts(range(len(p))):
        sums = [sum(values[k] for k in left) for values in (p, q)]
        sides = [sums, [sum(p) - sums[0], sum(q) - sums[1]]]
        if all(b > 0 and a >= min_samples_leaf and a / b * scale <= max_ratio for a, b in sides):
            allowed.append(left)
    sides, _ = split_once(
        Domain((len(p),), (True,)), table(p), table(q), Limits(2, max_ratio, min_samples_leaf, False, False)
    )
    assert_best(sides, exact.best_gain(p, q, allowed))
