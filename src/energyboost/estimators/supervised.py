"""A classifier and a regressor: the joint density of the columns of X and of y, asked for y given X."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from energyboost.conditional import Conditional, Kind
from energyboost.errors import DataError, ParameterError
from energyboost.estimators._base import Boosting
from energyboost.estimators._inputs import Floats, joined, readable, target_name, target_values
from energyboost.tables import Categories, Name, OrderedLevels, Table, open_table


class Supervised(Boosting):
    """What the classifier and the regressor share: a column that is the target."""

    target_: Name

    def _fit_target(self, table: Table, sample_weight: Any, overrides: Mapping[Any, Any] | None) -> None:
        """Fit the joint density of a table whose last column is the target."""
        self._fit_density(table, sample_weight, overrides)
        self._set_target(table.names[-1])

    def _set_target(self, target: Any) -> None:
        self.target_ = self.schema_.names[self.schema_.index_of(target)]
        self._set_features(self.target_)

    @property
    def _asked(self) -> dict[str, Any]:
        """What every prediction is asked for with: labels that did not occur in training count as missing."""
        return {"target": self.target_, "unseen": "marginalize", "n_jobs": self.n_jobs}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class NRGBoostClassifier(ClassifierMixin, Supervised):
    """A classifier by the joint density of the columns of X and of y.

    ``y`` is a label, whatever its dtype. Missing cells of X, columns that a frame lacks, and labels that did not occur
    in training are summed out.

    The parameters are those of :class:`NRGBoost`. ``schema`` and ``ids`` speak of the columns of X.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted, of the dtype of y.
    target_ : str or int
        What the column of y is called in ``density_``: by its own name if it had one, else "target".
    density_ : TableDensity
        The joint density; it answers every other question, too.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X was a frame whose columns are all named by strings.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(400) % 20
    >>> y = np.where(x < 7, "low", "high")
    >>> model = NRGBoostClassifier(n_trees=10, max_leaves=8, random_state=0).fit(x[:, None], y)
    >>> model.classes_, model.predict([[3], [15]])
    (array(['high', 'low'], dtype='<U4'), array(['low', 'high'], dtype='<U4'))
    """

    classes_: npt.NDArray[Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the joint density of the columns of ``X`` and of the labels ``y``."""
        values = target_values(y, type(self).__name__)
        table = open_table(readable(X))
        table = joined(table, target_name(table, y), values)
        check_classification_targets(values)
        self._fit_target(table, sample_weight, self._overrides(table.names[-1]))
        self._set_classes(np.unique(values))
        return self

    @classmethod
    def from_fitted(cls, model: Boosting, target: Any) -> Self:
        """A classifier of one column of a fitted :class:`NRGBoost`, without fitting again.

        The column holds labels. The features are all other columns, in the order of the training table.
        """
        made = cls._of(model)
        made._set_target(target)
        column = made.schema_.columns[made.schema_.index_of(target)]
        if not isinstance(column.codec, Categories | OrderedLevels):
            raise DataError(
                f"column {made.target_!r} is a {column.why}, and classes are labels: fit it as a category, "
                f"NRGBoost(schema={{{made.target_!r}: 'category'}}), or take NRGBoostRegressor"
            )
        made._set_classes(np.unique(made.density_.levels(target)))
        return made

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Floats:
        """The probability of every class, (n_rows, n_classes), in the order of ``classes_``."""
        return self._density().predict_proba(self._read(X), **self._asked)[:, self._order]

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _overrides(self, target: Name) -> Any:
        """What the user asks for the columns of X, and that y is a category."""
        if not isinstance(self.schema, Mapping | None):
            return self.schema  # which is refused where all are
        asked = {} if self.schema is None else dict(self.schema)
        if asked.get(target, "category") != "category":
            raise ParameterError(
                f"schema asks {asked[target]!r} for {target!r}, which is the target of a classifier and always a "
                "category: take it out"
            )
        return {**asked, target: "category"}

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        """Sorted classes, and where each stands among the levels; those of weight zero have none."""
        place = {level: k for k, level in enumerate(self.density_.levels(self.target_).tolist())}
        self.classes_ = classes[[one in place for one in classes.tolist()]]
        self._order = [place[one] for one in self.classes_.tolist()]


class NRGBoostRegressor(RegressorMixin, Supervised):
    """A regressor by the joint density of the columns of X and of y: for each row, a whole distribution.

    Missing cells of X, columns that a frame lacks, and labels that did not occur in training are summed out.

    The parameters are those of :class:`NRGBoost`. ``schema`` speaks of the columns of X and, by its name, of y.

    Attributes
    ----------
    target_ : str or int
        What the column of y is called in ``density_``: by its own name if it had one, else "target".
    density_ : TableDensity
        The joint density; it answers every other question, too.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X was a frame whose columns are all named by strings.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(400) % 20
    >>> model = NRGBoostRegressor(n_trees=20, max_leaves=8, random_state=0).fit(x[:, None], x // 5)
    >>> model.predict([[3], [17]]).round()
    array([0., 3.])
    >>> model.predict_distribution([[3], [17]]).interval(0.9).shape
    (2, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the joint density of the columns of ``X`` and of the numbers ``y``."""
        values = target_values(y, type(self).__name__)
        if values.dtype.kind in "mM":
            raise DataError(
                f"y has dtype {values.dtype}, and a regressor takes numbers: fit NRGBoost on a table that has it "
                "as a column and put NRGBoostRegressor.from_fitted on it, which predicts dates"
            )
        if values.dtype.kind not in "iuf":
            values = target_values(values.astype(float), type(self).__name__)
        table = open_table(readable(X))
        self._fit_target(joined(table, target_name(table, y), values), sample_weight, self.schema)
        return self

    @classmethod
    def from_fitted(cls, model: Boosting, target: Any) -> Self:
        """A regressor of one column of a fitted :class:`NRGBoost`, without fitting again.

        The column holds numbers or dates. The features are all other columns, in the order of the training table.
        """
        made = cls._of(model)
        made._set_target(target)
        return made

    def predict(self, X: Any, *, kind: Kind | float = "mean") -> npt.NDArray[Any]:
        """One guess for each row: the "mean", the "median", the "mode", or a number from 0 to 1, that quantile."""
        return self._density().predict(self._read(X), kind=kind, **self._asked)

    def predict_distribution(self, X: Any) -> Conditional:
        """The distribution of y for each row: its quantiles, intervals, density, CRPS, draws."""
        return self._density().conditional(self._read(X), **self._asked)

    def _set_target(self, target: Any) -> None:
        super()._set_target(target)
        column = self.schema_.columns[self.schema_.index_of(target)]
        if isinstance(column.codec, Categories | OrderedLevels):
            raise DataError(f"column {self.target_!r} holds labels ({column.why}): take NRGBoostClassifier")
