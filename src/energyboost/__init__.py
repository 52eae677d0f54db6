"""One model of a whole table: boosted trees on its joint density (NRGBoost)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from energyboost.conditional import Conditional
    from energyboost.density import TableDensity
    from energyboost.errors import DataError, ModelFileError, ParameterError
    from energyboost.estimators import (
        DensityForest,
        NRGBoost,
        NRGBoostClassifier,
        NRGBoostDetector,
        NRGBoostImputer,
        NRGBoostRegressor,
    )
    from energyboost.joint import Joint
    from energyboost.where import between, ge, gt, isin, le, lt, missing, not_missing

__version__ = "0.1.0"

# Loaded when first used: scikit-learn alone takes most of a second.
_HOME = {
    "DataError": "energyboost.errors",
    "DensityForest": "energyboost.estimators",
    "ModelFileError": "energyboost.errors",
    "NRGBoost": "energyboost.estimators",
    "NRGBoostClassifier": "energyboost.estimators",
    "NRGBoostDetector": "energyboost.estimators",
    "NRGBoostImputer": "energyboost.estimators",
    "NRGBoostRegressor": "energyboost.estimators",
    "ParameterError": "energyboost.errors",
    "TableDensity": "energyboost.density",
    "Conditional": "energyboost.conditional",
    "Joint": "energyboost.joint",
    "between": "energyboost.where",
    "ge": "energyboost.where",
    "gt": "energyboost.where",
    "isin": "energyboost.where",
    "le": "energyboost.where",
    "lt": "energyboost.where",
    "missing": "energyboost.where",
    "not_missing": "energyboost.where",
}

__all__ = [
    "Conditional",
    "DataError",
    "DensityForest",
    "Joint",
    "ModelFileError",
    "NRGBoost",
    "NRGBoostClassifier",
    "NRGBoostDetector",
    "NRGBoostImputer",
    "NRGBoostRegressor",
    "ParameterError",
    "TableDensity",
    "between",
    "ge",
    "gt",
    "isin",
    "le",
    "lt",
    "missing",
    "not_missing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
