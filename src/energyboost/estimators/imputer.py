"""A transformer that fills the gaps of tables."""

from typing import Any, Self, get_args

from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from energyboost.checks import choice
from energyboost.density import Impute
from energyboost.estimators._base import Boosting
from energyboost.estimators._inputs import extends
from energyboost.tables import take_columns


class NRGBoostImputer(OneToOneFeatureMixin, TransformerMixin, Boosting):
    """Fill missing cells given the others of their row; known cells come back bit for bit.

    It learns from rows with gaps as they are. A frame comes back as a frame, an array as an array.

    The parameters are those of :class:`NRGBoost`, and one more.

    Parameters
    ----------
    kind : {"mean", "median", "mode", "sample"}, default="mean"
        What fills a cell: the mean of a number, on its grid, and the likeliest level of a label; the median or the mode
        likewise; or a draw of all missing cells of the row jointly, by ``random_state``.

    Attributes
    ----------
    density_ : TableDensity
        The density of the table.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X was a frame whose columns are all named by strings.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.repeat([[1.0, 10.0], [2.0, 20.0], [np.nan, 20.0]], 100, axis=0)
    >>> NRGBoostImputer(n_trees=40, learning_rate=0.5, max_leaves=4, random_state=0).fit_transform(table)[-1].round(1)
    array([ 2., 20.])
    """

    @extends(Boosting.__init__)
    def __init__(self, *args: Any, kind: Impute = "mean", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit the density of all columns of ``X``, gaps included; ``y`` is not read."""
        choice("kind", self.kind, get_args(Impute))
        self._fit_density(X, sample_weight, self.schema)
        self._set_features()
        return self

    @classmethod
    def from_fitted(cls, model: Boosting, *, kind: Impute = "mean") -> Self:
        """An imputer by a fitted :class:`NRGBoost`, without fitting again."""
        made = cls._of(model, kind=choice("kind", kind, get_args(Impute)))
        made._set_features()
        return made

    def transform(self, X: Any) -> Any:
        """Fill the missing cells of ``X``, whose columns come back as those of fit, in that order.

        Labels that did not occur in training stay, and count as missing where other cells of their row are filled.
        """
        filled = self._density().impute(
            self._read(X), kind=self.kind, unseen="marginalize", random_state=self.random_state, n_jobs=self.n_jobs
        )
        return take_columns(filled, [column.name for column in self.schema_.arranged])
