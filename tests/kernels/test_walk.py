"""Walking trees from the root."""

import numpy as np
import pytest

from energyboost.kernels.walk import energies, leaves
from energyboost.model.tree import join
from tests import naive
from tests.ensembles import Domain, random_energy, random_rows, random_tree

DOMAINS = [
    Domain((5, 17, 64), (True, True, True)),
    Domain((2, 65, 130), (False, False, False)),
    Domain((1, 255, 300, 3), (True, False, False, True)),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_every_row_falls_in_the_leaf_that_the_plain_walk_finds(rng, domain):
    rows = random_rows(rng, domain, 200)
    trees = [random_tree(rng, domain, n_leaves) for n_leaves in (1, 2, 40)]
    joined = join(trees)
    for t, tree in enumerate(trees):
        out = np.empty(len(rows), np.int32)
        leaves(joined, t, rows, out)
        assert out.tolist() == [naive.leaf_of(tree, row) for row in rows]
        assert tree.leaves(rows).tolist() == out.tolist()


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_energies_of_a_range_of_trees_add_up_their_leaf_values(rng, domain):
    energy = random_energy(rng, domain, 6, 20)
    rows = random_rows(rng, domain, 100)
    out = rng.normal(size=len(rows))
    before = out.copy()
    energies(join(energy.trees), 2, 5, rows, out)
    expected = [naive.energy_of(energy, row, 5) - naive.energy_of(energy, row, 2) for row in rows]
    # energies are sums of at most ten double-precision terms
    np.testing.assert_allclose(out - before, expected, rtol=0, atol=1e-13)
