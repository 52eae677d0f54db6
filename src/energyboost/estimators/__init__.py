"""scikit-learn faces of a table density."""

from energyboost.estimators.nrgboost import NRGBoost

__all__ = ["NRGBoost"]
