"""What scikit-learn expects of an estimator: ours pass all of its checks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from energyboost import NRGBoost, NRGBoostClassifier, NRGBoostDetector, NRGBoostImputer, NRGBoostRegressor

FAST = {"n_trees": 15, "learning_rate": 0.5, "max_leaves": 12, "pool_size": 1000, "n_jobs": 1}
ESTIMATORS = [NRGBoost, NRGBoostClassifier, NRGBoostRegressor, NRGBoostImputer, NRGBoostDetector]


@parametrize_with_checks(
    [estimator(**FAST) for estimator in ESTIMATORS],
    expected_failed_checks=lambda _: {},  # by name and reason; none differs
)
@pytest.mark.filterwarnings("ignore:(no split was allowed|training ended after):UserWarning")
@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_grid_search_finds_the_better_model():
    """By the log-density of rows left out; here a model that can learn the dependence and one that cannot."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, 900)
    table = pd.DataFrame({"x": x, "y": (x + rng.integers(0, 2, 900)).astype(float)})
    search = GridSearchCV(
        NRGBoost(n_trees=20, learning_rate=0.5, pool_size=2000, n_jobs=1, random_state=0),
        {"max_leaves": np.array([2, 32])},
        cv=3,
    ).fit(table)
    assert search.best_params_ == {"max_leaves": 32}
    assert search.best_estimator_.sample(5, random_state=0).shape == (5, 2)
