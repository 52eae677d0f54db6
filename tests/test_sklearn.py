"""What scikit-learn expects of an estimator, and where ours differs on purpose."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from energyboost import NRGBoost

ANY_COLUMN = "predict asks for any column: it takes the name of one"
OWN_WORDS = "refused, in words that name the column and the remedy"
DIFFERENT = {
    "check_estimators_unfitted": ANY_COLUMN,
    "check_estimators_dtypes": ANY_COLUMN,
    "check_dtype_object": ANY_COLUMN,
    "check_estimators_pickle": ANY_COLUMN,
    "check_f_contiguous_array_estimator": ANY_COLUMN,
    "check_methods_sample_order_invariance": ANY_COLUMN,
    "check_methods_subset_invariance": ANY_COLUMN,
    "check_dict_unchanged": ANY_COLUMN,
    "check_fit_idempotent": ANY_COLUMN,
    "check_fit2d_predict1d": ANY_COLUMN,
    "check_n_features_in_after_fitting": ANY_COLUMN,
    "check_complex_data": OWN_WORDS,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_fit2d_1sample": OWN_WORDS,
}


@parametrize_with_checks(
    [NRGBoost(n_trees=3, max_leaves=4, pool_size=200, n_jobs=1)],
    expected_failed_checks=lambda _: DIFFERENT,
    xfail_strict=True,
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
