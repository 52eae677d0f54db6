"""Which pairs are drawn jointly, and how often."""

import numpy as np
import pytest

from energyboost.sampling import moves
from energyboost.sampling.moves import SINGLE, Moves, Pair, choose_pairs, dependences
from tests.ensembles import Domain

DOMAIN = Domain((255, 40, 3, 200, 7), (True, False, True, True, False))


def independent(rng, domain, n_rows=5000):
    return np.stack([rng.integers(0, size, n_rows) for size in domain.sizes], axis=1).astype(domain.code_dtype)


def chosen(codes, domain=DOMAIN):
    return {pair.columns for pair in choose_pairs(codes, domain)}


def test_independent_columns_have_no_pairs(rng):
    codes = independent(rng, DOMAIN)
    assert chosen(codes) == set()
    assert all(pair.dependence < moves.STRONG / 2 for pair in dependences(codes, DOMAIN))


@pytest.mark.parametrize(("known", "determined"), [(0, 4), (0, 2), (1, 4), (3, 2), (1, 2), (3, 1), (1, 0)])
def test_a_column_that_determines_another_is_found(rng, known, determined):
    """Whatever the function: levels are mapped at random, so that nothing rises or falls with anything."""
    codes = independent(rng, DOMAIN)
    function = rng.integers(0, DOMAIN.sizes[determined], DOMAIN.sizes[known])
    codes[:, determined] = function[codes[:, known]]
    found = choose_pairs(codes, DOMAIN)
    assert [pair.columns for pair in found] == [tuple(sorted((known, determined)))]
    assert found[0].dependence == pytest.approx(1, abs=1e-9)


def test_every_determined_column_is_found_however_many_there_are(rng):
    domain = Domain((60,) + (6,) * 9, (False,) * 10)
    codes = independent(rng, domain)
    for j in range(1, 10):
        codes[:, j] = rng.integers(0, 6, 60)[codes[:, 0]]
    assert {(0, j) for j in range(1, 10)} <= chosen(codes, domain)


def test_pairs_are_few_otherwise(rng):
    domain = Domain((30,) * 10, (True,) * 10)
    common = rng.random((5000, 1))
    codes = np.floor((0.97 * common + 0.03 * rng.random((5000, 10))) * 30).astype(np.uint8)
    assert len(chosen(codes, domain)) == 5


def test_dependence_is_strongest_first_and_always_the_same(rng):
    codes = independent(rng, DOMAIN)
    codes[:, 4] = codes[:, 1] % 7
    noisy = rng.random(len(codes)) < 0.8
    codes[noisy, 2] = codes[noisy, 0] // 90
    found = choose_pairs(codes, DOMAIN)
    assert [pair.columns for pair in found][:2] == [(1, 4), (0, 2)]
    assert found[0].dependence > found[1].dependence > moves.STRONG
    assert choose_pairs(codes, DOMAIN, n_jobs=3) == found


def test_the_measure_is_the_squared_correlation_of_normal_columns(rng):
    """Of normal columns, no functions correlate more than the columns themselves (Lancaster 1957)."""
    domain = Domain((64, 64), (True, True))
    a, b = rng.standard_normal((2, 20_000))
    b = 0.8 * a + 0.6 * b
    codes = np.stack([np.searchsorted(np.quantile(x, np.arange(1, 64) / 64), x) for x in (a, b)], axis=1)
    (pair,) = dependences(codes.astype(np.uint8), domain)
    assert pair.dependence == pytest.approx(0.64, abs=0.05)


def test_in_wide_tables_the_most_correlated_pairs_are_looked_at(rng, monkeypatch):
    monkeypatch.setattr(moves, "MOST_PAIRS", 20)
    domain = Domain((20,) * 30, (True,) * 30)
    codes = independent(rng, domain)
    codes[:, 7], codes[:, 21] = codes[:, 3] // 2, np.abs(codes[:, 11].astype(int) - 10)
    assert len(dependences(codes, domain)) == 20
    assert chosen(codes, domain) == {(3, 7), (11, 21)}


def test_columns_of_one_code_are_in_no_pair(rng):
    domain = Domain((1, 5), (True, False))
    assert dependences(independent(rng, domain), domain) == []
    assert dependences(independent(rng, Domain((5,), (True,))), Domain((5,), (True,))) == []


def test_an_unordered_column_is_the_inner_one_and_else_the_plane_is_small():
    domain = Domain((300, 20, 17, 255), (True, False, True, True))
    found = Moves.of(domain, [Pair(pair, 0.9) for pair in [(1, 0), (0, 1), (0, 2), (2, 3)]])
    assert found.pairs == ((0, 1), (0, 1), (0, 2), (3, 2))  # of a large outer column, 64 codes are looked at
    assert found.cells == (64 * 16,) * 4


@pytest.mark.parametrize("n_trees", [0, 10, 200])
def test_pairs_take_no_longer_than_the_sweep(rng, n_trees):
    domain = Domain((255, 255, 5, 16), (True,) * 4)
    found = Moves.of(domain, [Pair((0, 1), 0.9), Pair((2, 3), 0.5)])
    plan = found.schedule(4000, 4, n_trees, rng)
    assert plan.shape == (4000, 2)
    rate = found.rates(4, n_trees)
    np.testing.assert_allclose(plan.sum(axis=0), 4000 * rate, atol=1)
    budget = moves.SHARE * 4 * (moves.CELLS_PER_DRAW + moves.CELLS_PER_TREE * n_trees)
    cost = np.array(found.cells) + np.array(found.cells_per_tree) * n_trees
    assert (rate * cost).sum() <= budget * (1 + 1e-9)
    # evenly: never two and then none
    gaps = np.diff(np.flatnonzero(plan[:, 0]))
    assert np.ptp(gaps) <= 1


def test_a_plan_begins_at_random_so_that_few_sweeps_meet_every_pair_in_some_chains():
    domain = Domain((255, 255), (True, True))
    rate = Moves.of(domain, [Pair((0, 1), 0.9)]).rates(2, 100)[0]
    drawn = [
        Moves.of(domain, [Pair((0, 1), 0.9)]).schedule(1, 2, 100, np.random.default_rng(seed)).any()
        for seed in range(4000)
    ]
    assert abs(np.mean(drawn) - rate) < 5 * np.sqrt(rate / 4000)


def test_without_pairs_there_is_no_plan_and_no_number_drawn(rng):
    state = rng.bit_generator.state
    assert SINGLE.schedule(5, 3, 10, rng).shape == (5, 0)
    assert rng.bit_generator.state == state


@pytest.mark.parametrize("size", [40, 400])
def test_columns_that_say_the_same_are_found_in_small_tables_too(rng, size):
    """Where every value occurs once, any function looks like chance; the order does not."""
    value = rng.permutation(size)
    domain = Domain((size, size, 3), (True, True, False))
    codes = np.stack([value, size - 1 - value, rng.integers(0, 3, size)], axis=1).astype(domain.code_dtype)
    assert choose_pairs(codes, domain) == (Pair((0, 1), pytest.approx(1)),)


def test_in_wide_tables_whatever_determines_another_column_is_looked_at(rng, monkeypatch):
    """By a random map between levels, which no correlation of ranks shows; ids determine everything by chance."""
    monkeypatch.setattr(moves, "MOST_PAIRS", 20)
    domain = Domain((20,) * 29 + (2000,), (False,) * 30)
    codes = independent(rng, domain, 2000)
    codes[:, 29] = rng.permutation(2000)
    codes[:, 17] = rng.integers(0, 20, 20)[codes[:, 4]]
    assert (4, 17) in chosen(codes, domain)
    assert len(dependences(codes, domain)) < 25


def test_what_one_pair_cannot_use_goes_to_the_others():
    domain = Domain((255, 255, 2, 2) + (9,) * 5, (True,) * 9)
    alone = Moves.of(domain, [Pair((0, 1), 0.9)]).rates(9, 5)[0]
    beside = Moves.of(domain, [Pair((0, 1), 0.9), Pair((2, 3), 1.0)]).rates(9, 5)
    assert beside[1] == 1
    assert 0.6 * alone < beside[0] < alone


def test_unordered_pairs_cost_what_their_levels_take(rng):
    """A leaf is entered in up to half of the levels of an outer unordered column, in every run of inner levels."""
    ordered, unordered = (Moves.of(Domain((200, 200), (o, o)), [Pair((0, 1), 0.9)]) for o in (True, False))
    assert unordered.cells_per_tree[0] > 100 * ordered.cells_per_tree[0]
    assert unordered.rates(9, 200)[0] < 0.05 * ordered.rates(9, 200)[0]
