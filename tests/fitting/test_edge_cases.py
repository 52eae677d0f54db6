"""Tables at the edge of what can be trained on."""

import numpy as np
import pytest

from tests import exact
from tests.ensembles import Domain, dependent_rows, random_rows, train


def assert_sound(state, codes):
    """A density: finite energies of the training rows, conditionals that sum to one, a pool inside the domain."""
    energy, domain = state.energy, state.energy.domain
    assert np.isfinite(energy.score(codes)).all()
    assert (energy.score(codes) > -1e29).all()
    for column in range(domain.n_columns):
        conditional = energy.conditional(codes[:20], column)
        np.testing.assert_allclose(conditional.sum(axis=1), 1, rtol=1e-12)
        assert (conditional >= 0).all()
    assert (state.pool.codes < np.array(domain.sizes)).all()
    assert np.isfinite(energy.log_z).all()


@pytest.mark.parametrize(
    "domain",
    [
        Domain((1, 5, 1, 3, 1), (True, True, False, False, True)),
        Domain((17,), (True,)),
        Domain((17,), (False,)),
        Domain((2, 65, 7), (False, False, False)),
        Domain((2, 2), (True, True)),
        Domain((256, 2), (True, False)),
        Domain((257, 2), (False, True)),
        Domain((65_536, 2), (True, True)),
        Domain((2, 65_536), (True, False)),
    ],
    ids=str,
)
def test_domains_of_every_shape_can_be_trained_on(rng, domain):
    codes = dependent_rows(rng, domain, 300)
    state, infos = train(codes, domain)
    assert infos
    assert_sound(state, codes)


@pytest.mark.parametrize("max_leaves", [2, 64])
def test_a_table_of_equal_rows_is_learned(max_leaves):
    domain = Domain((5, 7, 3), (True, False, True))
    codes = np.tile(np.array([2, 6, 0], np.uint8), (100, 1))
    state, _ = train(codes, domain, max_leaves=max_leaves, n_trees=40, uniform_mix=0.5, pool_size=5000)
    assert_sound(state, codes)
    probability = exact.probabilities(state.energy)
    assert probability.argmax() == exact.cell_numbers(domain, codes[:1])[0]
    # the baseline gives the row about (1/2 + 1/2 * 1/size) per column, a quarter of the whole
    assert exact.probabilities(state.energy, 0).max() < 0.25
    assert probability.max() > 0.8


def test_equal_rows_and_no_uniform_part_leave_nothing_to_learn():
    domain = Domain((5, 7), (True, False))
    codes = np.tile(np.array([2, 6], np.uint8), (100, 1))
    state, infos = train(codes, domain, uniform_mix=0.0)
    assert infos == []
    assert exact.probabilities(state.energy).max() == 1


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("uniform_mix", [0.0, 0.5])
def test_one_column_becomes_its_shares(rng, ordered, uniform_mix):
    domain, pool = Domain((9,), (ordered,)), 20_000
    codes = dependent_rows(rng, domain, 500)
    state, _ = train(codes, domain, uniform_mix=uniform_mix, n_trees=60, pool_size=pool)
    # a pool's shares are off by a standard deviation of at most 1 / sqrt(4 M), and a chi-square test of nine codes
    # would not see more than this
    np.testing.assert_allclose(state.energy.conditional(codes[:1], 0)[0], exact.shares(domain, codes), atol=0.025)


def test_a_domain_of_one_cell_has_no_trees():
    state, infos = train(np.zeros((10, 2), np.uint8), Domain((1, 1), (True, False)))
    assert infos == []
    assert state.energy.conditional(np.zeros((1, 2), np.uint8), 1).tolist() == [[1.0]]


def test_one_row_is_a_table():
    domain = Domain((4, 3), (True, False))
    codes = np.array([[3, 1]], np.uint8)
    state, infos = train(codes, domain, uniform_mix=0.5)
    assert infos
    assert_sound(state, codes)


def rows_without_some_codes(rng):
    """Dependent rows in which codes 3 and 4 of the first column and level 0 of the second never stand."""
    codes = random_rows(rng, Domain((3, 3), (True, True)), 400) + np.array([0, 1], np.uint8)
    codes[codes[:, 0] == 2, 1] = 3
    return Domain((5, 4), (True, False)), codes


def unseen(state, codes):
    """Probabilities of the codes that never stand in a row, given the other cell of some rows."""
    return [state.energy.conditional(codes[:50], 0)[:, 3:], state.energy.conditional(codes[:50], 1)[:, :1]]


def test_codes_never_seen_keep_some_of_what_the_uniform_part_gives_them(rng):
    domain, codes = rows_without_some_codes(rng)
    state, _ = train(codes, domain, uniform_mix=0.2, n_trees=20)
    assert_sound(state, codes)
    for probability in unseen(state, codes):
        assert (probability > 0).all()
        assert probability.max() < 0.1


def test_codes_never_seen_are_impossible_without_a_uniform_part(rng):
    domain, codes = rows_without_some_codes(rng)
    state, infos = train(codes, domain, uniform_mix=0.0, n_trees=20)
    assert infos
    assert_sound(state, codes)
    assert all((probability == 0).all() for probability in unseen(state, codes))
    assert (state.pool.codes[:, 0] < 3).all()
    assert (state.pool.codes[:, 1] > 0).all()


def test_dependence_is_learned_without_a_uniform_part(rng):
    # Against the product of the table's own marginals no split of one column gains anything: rows of it tell more.
    codes = np.repeat(rng.integers(0, 4, 500), 2).reshape(-1, 2).astype(np.uint8)
    state, _ = train(codes, Domain((4, 4), (True, False)), uniform_mix=0.0, n_trees=40)
    equal = [exact.probabilities(state.energy, n_trees).reshape(4, 4).trace() for n_trees in (0, 40)]
    assert equal[0] < 0.3
    assert equal[1] > 0.8


def test_what_the_model_has_and_the_data_has_not_is_unlearned(rng):
    # the first level of the second column goes with the first code of the first column alone
    domain = Domain((3, 4), (True, False))
    codes = random_rows(rng, domain, 2000)
    codes[codes[:, 0] > 0, 1] = np.maximum(codes[codes[:, 0] > 0, 1], 1)
    state, _ = train(codes, domain, n_trees=60, pool_size=5000, max_leaves=6)
    assert_sound(state, codes)
    wrong = np.array([[1, 0], [2, 0]], np.uint8)
    before, after = (state.energy.conditional(wrong, 1, n_trees)[:, 0] for n_trees in (0, 60))
    assert (before > 0.05).all()
    assert (after < 0.02).all()


def test_training_ends_when_no_leaf_may_be_split(rng):
    codes = random_rows(rng, Domain((2, 2), (True, True)), 40)
    _, infos = train(codes, Domain((2, 2), (True, True)), min_samples_leaf=21, n_trees=5)
    assert infos == []
