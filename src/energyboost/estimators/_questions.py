"""The questions that any fitted density answers, in scikit-learn's words."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin

from energyboost.checks import RandomState
from energyboost.conditional import Conditional, Kind
from energyboost.density import Impute
from energyboost.errors import DataError
from energyboost.estimators._base import Fitted
from energyboost.estimators._inputs import readable
from energyboost.joint import Joint
from energyboost.tables import Unseen

Floats = npt.NDArray[np.float64]


class Questions(DensityMixin, Fitted):
    """Predictions, distributions, gaps, densities."""

    n_jobs: int | None

    def impute(
        self,
        X: Any,
        n: int = 1,
        kind: Impute | None = None,
        *,
        unseen: Unseen = "error",
        random_state: RandomState = None,
    ) -> Any:
        """Fill missing cells; known ones come back bit for bit. See :meth:`TableDensity.impute`."""
        return self._density().impute(
            self._read(X), n, kind, unseen=unseen, random_state=random_state, n_jobs=self.n_jobs
        )

    def conditional(self, X: Any, target: Any, *, unseen: Unseen = "error", n_trees: int | None = None) -> Conditional:
        """The distribution of a column given what is known of each row. See :meth:`TableDensity.conditional`."""
        return self._density().conditional(self._read(X, 1), target, unseen=unseen, n_trees=n_trees, n_jobs=self.n_jobs)

    def joint(self, X: Any, targets: Sequence[Any], *, unseen: Unseen = "error", n_trees: int | None = None) -> Joint:
        """The distribution of a few columns together, given the others. See :meth:`TableDensity.joint`."""
        return self._density().joint(readable(X), targets, unseen=unseen, n_trees=n_trees, n_jobs=self.n_jobs)

    def predict(
        self,
        X: Any,
        target: Any = None,
        *,
        kind: Kind | float = "mean",
        unseen: Unseen = "error",
        n_trees: int | None = None,
    ) -> npt.NDArray[Any]:
        """Predict any column from the others: the mean of a number, the likeliest level of a label.

        ``target`` is the last column, unless told. It need not be in ``X``; if it is, it is not read.
        ``kind`` asks for the "median", the "mode", or a quantile (a number from 0 to 1) instead.
        """
        return self._density().predict(
            self._read(X, 1), self._target(target), kind=kind, unseen=unseen, n_trees=n_trees, n_jobs=self.n_jobs
        )

    def staged_predict(
        self,
        X: Any,
        target: Any = None,
        *,
        kind: Kind | float = "mean",
        unseen: Unseen = "error",
        stages: Sequence[int] | None = None,
    ) -> Iterator[npt.NDArray[Any]]:
        """Predictions after each number of trees in ``stages`` (1, 2, ... unless told), in one pass over the trees."""
        return self._density().staged_predict(
            self._read(X, 1), self._target(target), kind=kind, unseen=unseen, stages=stages, n_jobs=self.n_jobs
        )

    def predict_proba(
        self, X: Any, target: Any = None, *, unseen: Unseen = "error", n_trees: int | None = None
    ) -> Floats:
        """Probabilities of the levels of any column that has levels, in the order of :meth:`levels`."""
        return self._density().predict_proba(
            self._read(X, 1), self._target(target), unseen=unseen, n_trees=n_trees, n_jobs=self.n_jobs
        )

    def staged_predict_proba(
        self, X: Any, target: Any = None, *, unseen: Unseen = "error", stages: Sequence[int] | None = None
    ) -> Iterator[Floats]:
        """Probabilities after each number of trees in ``stages`` (1, 2, ... unless told), in one pass."""
        return self._density().staged_predict_proba(
            self._read(X, 1), self._target(target), unseen=unseen, stages=stages, n_jobs=self.n_jobs
        )

    def levels(self, target: Any) -> npt.NDArray[Any]:
        """The levels of a column, in the order of the columns of :meth:`predict_proba`."""
        return self._density().levels(target)

    def score_samples(self, X: Any, *, normalize: bool = True, n_trees: int | None = None) -> Floats:
        """Log-density of each row, per unit of binned columns and per level of others; or, unnormalised, its energy."""
        return self._density().score_samples(self._read(X), normalize=normalize, n_trees=n_trees, n_jobs=self.n_jobs)

    def explain(self, X: Any, top: int = 3, *, n_trees: int | None = None) -> Any:
        """The oddest cells of each row given its others, and what was likelier. See :meth:`TableDensity.explain`."""
        return self._density().explain(self._read(X), top, n_trees=n_trees, n_jobs=self.n_jobs)

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-density of the rows of ``X``."""
        scores = self.score_samples(X)
        if not len(scores):
            raise DataError("the table has no rows: there is no mean log-density of none")
        return float(scores.mean())

    def _target(self, target: Any) -> Any:
        return self.schema_.names[-1] if target is None else target
