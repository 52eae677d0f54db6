"""What a fitted model is worth: prediction at the best round, and telling its rows from real ones."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from energyboost import NRGBoost

Stages = Iterable[npt.NDArray[np.float64]]


def best_test_r2(
    validation: Stages, validation_truth: pd.Series, test: Stages, test_truth: pd.Series
) -> tuple[float, int]:
    """Test R² at the stage with the best validation R², and the place of that stage (from 0)."""
    best = int(np.argmax([r2_score(validation_truth, guess) for guess in validation]))
    return float([r2_score(test_truth, guess) for guess in test][best]), best


def our_test_r2(model: NRGBoost, validation: pd.DataFrame, test: pd.DataFrame, target: str) -> float:
    """Test R² of one of our models at its best round by validation R²."""
    stages = (model.staged_predict(frame, target) for frame in (validation, test))
    return best_test_r2(next(stages), validation[target], next(stages), test[target])[0]


def ml_efficiency(synthetic: pd.DataFrame, test: pd.DataFrame, target: str) -> float:
    """Test R² of boosted trees that learn from synthetic rows only."""
    features = [name for name in test if name != target]
    model = HistGradientBoostingRegressor(random_state=0).fit(synthetic[features], synthetic[target])
    return float(r2_score(test[target], model.predict(test[features])))


def two_sample_auc(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """How well boosted trees tell real rows from synthetic ones, in cross-validation: 0.5 is not at all."""
    rows = np.concatenate([np.asarray(real, float), np.asarray(synthetic, float)])
    is_real = np.repeat([1, 0], [len(real), len(synthetic)])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    classifier = HistGradientBoostingClassifier(random_state=0)
    probability = cross_val_predict(classifier, rows, is_real, cv=folds, method="predict_proba")
    return float(roc_auc_score(is_real, probability[:, 1]))
