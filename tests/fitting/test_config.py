"""Parameters of training: what is refused, and how."""

import numpy as np
import pytest

from energyboost.errors import ParameterError
from energyboost.fitting.config import PARAMETERS, BoostingConfig

REFUSALS = [
    ("n_trees", 0, "n_trees is a whole number from 1 to 1,000,000; got 0"),
    ("n_trees", 2_000_000, "n_trees is a whole number from 1 to 1,000,000; got 2000000"),
    ("n_trees", 2.0, "n_trees is a whole number from 1 to 1,000,000; got 2.0"),
    ("n_trees", True, "n_trees is a whole number from 1 to 1,000,000; got True"),
    ("n_trees", None, "n_trees is a whole number from 1 to 1,000,000; got None"),
    ("max_leaves", 1, "max_leaves is a whole number from 2 to 16,384; got 1"),
    ("max_leaves", 16_385, "max_leaves is a whole number from 2 to 16,384; got 16385"),
    ("min_samples_leaf", -1, "min_samples_leaf is a whole number of at least 0; got -1"),
    ("min_samples_leaf", 0.1, "min_samples_leaf is a whole number of at least 0; got 0.1"),
    ("n_chains", 0, "n_chains is a whole number from 1 to 65,536; got 0"),
    ("n_chains", 65_537, "n_chains is a whole number from 1 to 65,536; got 65537"),
    ("burn_in", -1, "burn_in is a whole number of at least 0; got -1"),
    ("pool_size", 15, 'pool_size is a whole number of at least 16 or "auto"; got 15'),
    ("pool_size", "all", "pool_size is a whole number of at least 16 or \"auto\"; got 'all'"),
    ("learning_rate", 0, "learning_rate is a number above 0 and at most 1; got 0"),
    ("learning_rate", float("nan"), "learning_rate is a number above 0 and at most 1; got nan"),
    ("learning_rate", float("inf"), "learning_rate is a number above 0 and at most 1; got inf"),
    ("learning_rate", 1.5, "learning_rate is a number above 0 and at most 1; got 1.5"),
    ("pool_size", [1, 2], 'pool_size is a whole number of at least 16 or "auto"; got [1, 2]'),
    ("learning_rate", "fast", "learning_rate is a number above 0 and at most 1; got 'fast'"),
    ("learning_rate", True, "learning_rate is a number above 0 and at most 1; got True"),
    ("max_ratio", 1, "max_ratio is a number above 1; got 1"),
    ("max_ratio", float("inf"), "max_ratio is a number above 1; got inf"),
    ("feature_fraction", 0.0, "feature_fraction is a number above 0 and at most 1; got 0.0"),
    ("feature_fraction", 1.1, "feature_fraction is a number above 0 and at most 1; got 1.1"),
    ("uniform_mix", -0.1, "uniform_mix is a number of at least 0 and at most 1; got -0.1"),
    ("uniform_mix", 1.1, "uniform_mix is a number of at least 0 and at most 1; got 1.1"),
    ("refresh", -0.1, "refresh is a number of at least 0 and at most 1; got -0.1"),
    ("refresh", float("nan"), "refresh is a number of at least 0 and at most 1; got nan"),
    ("growth", "depth", "growth is one of 'best_first', 'breadth_first'; got 'depth'"),
    ("objective", "hinge", "objective is one of 'newton', 'greedy_kl', 'greedy_chi2'; got 'hinge'"),
    ("refill", None, "refill is one of 'persistent', 'restart'; got None"),
    ("line_search", 1, "line_search is True or False; got 1"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSALS)
def test_what_cannot_be_meant_is_refused(name, value, message):
    with pytest.raises(ParameterError) as refusal:
        BoostingConfig(**{name: value})
    assert str(refusal.value) == message


def test_every_parameter_refuses_something():
    assert {name for name, _, _ in REFUSALS} == set(PARAMETERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trees", np.int64(1)),
        ("max_leaves", 2),
        ("max_leaves", 16_384),
        ("min_samples_leaf", 0),
        ("n_chains", 65_536),
        ("burn_in", 0),
        ("pool_size", 16),
        ("pool_size", "auto"),
        ("learning_rate", np.float32(1e-3)),
        ("max_ratio", 1.0001),
        ("feature_fraction", 1),
        ("uniform_mix", 0),
        ("uniform_mix", 1),
        ("refresh", 0),
        ("refresh", 1),
        ("growth", "breadth_first"),
        ("refill", "restart"),
        ("line_search", False),
        ("line_search", np.bool_(True)),
    ],
)
def test_the_ends_of_what_can_be_meant_are_allowed(name, value):
    assert getattr(BoostingConfig(**{name: value}), name) == value


def test_numbers_of_numpy_become_plain_ones():
    config = BoostingConfig(n_trees=np.int32(3), pool_size=np.int64(50), learning_rate=np.float64(0.5), refresh=1)
    types = {name: type(getattr(config, name)) for name in ("n_trees", "pool_size", "learning_rate", "refresh")}
    assert types == {"n_trees": int, "pool_size": int, "learning_rate": float, "refresh": float}


def test_a_refusal_is_a_value_error():
    with pytest.raises(ValueError, match="n_trees"):
        BoostingConfig(n_trees=0)


@pytest.mark.parametrize(
    ("pool_size", "n_rows", "resolved"), [("auto", 100, 20_000), ("auto", 20_001, 30_001), (500, 10**6, 500)]
)
def test_the_pool_is_half_as_large_again_as_the_table_unless_told(pool_size, n_rows, resolved):
    assert BoostingConfig(pool_size=pool_size).resolve_pool_size(n_rows) == resolved
