"""What a user meets: scikit-learn's way of fitting and asking."""

from energyboost.estimators.detector import NRGBoostDetector
from energyboost.estimators.forest import DensityForest
from energyboost.estimators.imputer import NRGBoostImputer
from energyboost.estimators.nrgboost import NRGBoost
from energyboost.estimators.supervised import NRGBoostClassifier, NRGBoostRegressor

__all__ = [
    "DensityForest",
    "NRGBoost",
    "NRGBoostClassifier",
    "NRGBoostDetector",
    "NRGBoostImputer",
    "NRGBoostRegressor",
]
