"""Pictures of tables and models. Each function draws, and returns what it drew together with the numbers in it.

They need matplotlib, which the extra ``app`` brings: ``pip install 'energyboost[app]'``.
"""

from energyboost.plots.canvas import Picture
from energyboost.plots.comparisons import OTHER, Marginal, Marginals, Pair, Pairs, marginals, pairs
from energyboost.plots.fits import (
    Distribution,
    Importance,
    LearningCurve,
    conditional,
    importance,
    learning_curve,
)

__all__ = [
    "OTHER",
    "Distribution",
    "Importance",
    "LearningCurve",
    "Marginal",
    "Marginals",
    "Pair",
    "Pairs",
    "Picture",
    "conditional",
    "importance",
    "learning_curve",
    "marginals",
    "pairs",
]
