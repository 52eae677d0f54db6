"""What a user meets: scikit-learn's way of fitting and asking."""

from energyboost.estimators.detector import NRGBoostDetector
from energyboost.estimators.imputer import NRGBoostImputer
from energyboost.estimators.nrgboost import NRGBoost
from energyboost.estimators.supervised import NRGBoostClassifier, NRGBoostRegressor

__all__ = ["NRGBoost", "NRGBoostClassifier", "NRGBoostDetector", "NRGBoostImputer", "NRGBoostRegressor"]
