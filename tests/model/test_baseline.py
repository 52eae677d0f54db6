"""f0, the product of one distribution per column."""

import numpy as np
import pytest

from energyboost.kernels.arrays import IMPOSSIBLE
from energyboost.model.baseline import Baseline
from energyboost.model.energy import columns_of
from tests.chance import contradicted
from tests.ensembles import Domain, dependent_rows, random_baseline

DOMAIN = Domain((1, 17, 300), (True, False, True))


@pytest.mark.parametrize("mix", [0.0, 0.1, 1.0])
def test_a_column_is_its_marginal_mixed_with_the_uniform_distribution(rng, mix):
    rows = dependent_rows(rng, DOMAIN, 100)
    baseline = Baseline.fit(columns_of(DOMAIN), rows, mix)
    for j, size in enumerate(DOMAIN.sizes):
        expected = [(1 - mix) * np.mean(rows[:, j] == code) + mix / size for code in range(size)]
        np.testing.assert_allclose(baseline.column(j), expected, rtol=1e-14)
        assert baseline.column(j).sum() == pytest.approx(1, abs=1e-14)


def test_padding_and_codes_without_probability_are_impossible(rng):
    columns = columns_of(DOMAIN)
    baseline = Baseline.fit(columns, dependent_rows(rng, DOMAIN, 100), 0.0)
    assert (baseline.column(2) == 0).any()
    assert np.array_equal(baseline.energy == IMPOSSIBLE, baseline.probability == 0)
    for j, size in enumerate(DOMAIN.sizes):
        assert (baseline.energy[columns.start[j] + size : columns.start[j + 1]] == IMPOSSIBLE).all()


def test_rows_are_drawn_with_the_probabilities_of_their_codes(rng):
    domain = Domain((1, 3, 40), (True, False, True))
    baseline, other = (random_baseline(rng, domain, impossible=0.3) for _ in range(2))
    rows = baseline.sample(100_000, rng, domain.code_dtype)
    assert rows.dtype == domain.code_dtype
    for j, size in enumerate(domain.sizes):
        counts = np.bincount(rows[:, j], minlength=size)
        assert not contradicted(counts, baseline.column(j), domain.n_columns)
        # the control: a column of another baseline, whose probabilities differ by tenths of themselves
        assert size == 1 or contradicted(counts, other.column(j), domain.n_columns)


def test_columns_are_drawn_independently(rng):
    domain = Domain((3, 4), (True, False))
    baseline = random_baseline(rng, domain)
    rows = baseline.sample(100_000, rng, domain.code_dtype).astype(int)
    counts = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=12)
    assert not contradicted(counts, np.outer(baseline.column(0), baseline.column(1)).ravel())
    # the control: the same codes, the second column sorted
    rows[:, 1].sort()
    rows[:, 0].sort()
    counts = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=12)
    assert contradicted(counts, np.outer(baseline.column(0), baseline.column(1)).ravel())


def test_the_ends_of_the_uniform_numbers_draw_the_first_and_the_last_possible_code():
    columns = columns_of(Domain((5,), (True,)))
    probability = np.zeros(columns.start[-1])
    probability[[1, 2, 3]] = 0.1, 0.2, 0.7

    class Ends:
        def random(self, n_rows):
            return np.array([0.0, np.nextafter(1.0, 0.0)])

    assert Baseline(columns, probability).sample(2, Ends(), np.uint8)[:, 0].tolist() == [1, 3]
