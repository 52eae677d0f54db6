"""A detector of outliers: rows of low energy."""

from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin

from energyboost.checks import real
from energyboost.estimators._base import Boosting
from energyboost.estimators._inputs import Floats, checked_weight, extends, readable
from energyboost.sampling.boosted import Boosted
from energyboost.tables import open_table, take_rows


class NRGBoostDetector(OutlierMixin, Boosting):
    """Find the rows that are least like the training table: outliers are -1, all others +1.

    A row is scored by its energy, the log-probability of its codes up to a constant. That is not the log-density of
    :meth:`NRGBoost.score_samples`, which is per unit of binned columns: there, a value with a code of its own has a
    probability beside the densities of others, and the narrow bins of crowded places weigh as much as how likely they
    are.

    The parameters are those of :class:`NRGBoost`, and one more. A row with a label that did not occur in training, or
    with a gap in a column that had none, has no energy and is refused.

    Parameters
    ----------
    contamination : float, default=0.1
        The share of outliers in the training table, above 0 and at most 0.5: it sets ``offset_``.

    Attributes
    ----------
    offset_ : float
        The least score of a row that is no outlier.
    density_ : TableDensity
        The density of the table.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X was a frame whose columns are all named by strings.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.repeat([[0, 0], [1, 1], [0, 1]], [60, 50, 2], axis=0)
    >>> detector = NRGBoostDetector(n_trees=10, max_leaves=4, contamination=0.02, random_state=0).fit(table)
    >>> detector.predict([[1, 1], [0, 1]])
    array([ 1, -1])
    """

    offset_: float

    @extends(Boosting.__init__)
    def __init__(self, *args: Any, contamination: float = 0.1, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.contamination = contamination

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit the density of all columns of ``X``, and where outliers begin; ``y`` is not read."""
        share = _share(self.contamination)
        self._fit_density(X, sample_weight, self.schema)
        self._set_features()
        X, weight = readable(X), None
        if sample_weight is not None:  # rows of weight zero may hold what training has not seen
            weight = checked_weight(sample_weight, open_table(X).n_rows)
            X, weight = take_rows(X, np.flatnonzero(weight)), weight[weight > 0]
        self.offset_ = self._offset(X, weight, share)
        return self

    @classmethod
    def from_fitted(cls, model: Boosting, X: Any = None, *, contamination: float = 0.1) -> Self:
        """A detector by a fitted :class:`NRGBoost`, without fitting again.

        The share ``contamination`` of the rows of ``X`` are outliers; without ``X``, of rows of the model.
        """
        share = _share(contamination)
        made = cls._of(model, contamination=contamination)
        made._set_features()
        if X is None:
            n_rows = (
                min(len(cast(Boosted, made.density_.model).pool), 10_000) or 10_000
            )  # as many as start chains of their own
            X = made.density_.sample(n_rows, random_state=0, n_jobs=made.n_jobs)
        made.offset_ = made._offset(X, None, share)
        return made

    def score_samples(self, X: Any) -> Floats:
        """The energy of each row: the higher, the more normal."""
        return self._density().score_samples(self._read(X), normalize=False, n_jobs=self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """The score less ``offset_``: below 0 for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Whether each row is an outlier, -1, or not, +1."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _offset(self, X: Any, weight: Floats | None, share: float) -> float:
        """The least score such that rows below it are no more than a share of all."""
        score = self.score_samples(X)
        weight = np.ones(len(score)) if weight is None else weight
        order = np.argsort(score, kind="stable")
        up_to = np.cumsum(weight[order])
        return float(score[order][np.searchsorted(up_to, share * up_to[-1] * (1 + 1e-9), side="right")])


def _share(contamination: Any) -> float:
    return real("contamination", contamination, 0, 0.5, open_low=True)
