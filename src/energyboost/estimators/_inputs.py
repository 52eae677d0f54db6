"""What estimators are given, as scikit-learn has it: array-likes for tables, targets, weights, more parameters."""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, column_or_1d

from energyboost.errors import DataError, ParameterError
from energyboost.tables import Name, Table, with_column

Floats = npt.NDArray[np.float64]
Init = TypeVar("Init", bound=Callable[..., None])


def extends(init: Callable[..., None]) -> Callable[[Init], Init]:
    """Let a constructor that hands on ``*args`` and ``**kwargs`` show the parameters of the other one before its own.

    scikit-learn reads the parameters of an estimator from the signature of its constructor.
    """

    def extended(own: Init) -> Init:
        inherited = signature(init)
        added = [p for p in signature(own).parameters.values() if p.kind is p.KEYWORD_ONLY]
        own.__signature__ = inherited.replace(  # type: ignore[attr-defined]
            parameters=[*inherited.parameters.values(), *added]
        )
        return own

    return extended


def readable(X: Any) -> Any:
    """A table as `tables` reads it: rows in lists and what else can become an array become one."""
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required: a density needs every cell, X.toarray()")
    is_frame = hasattr(X, "columns") or hasattr(X, "to_frame")  # of one column, which is refused with a remedy
    if isinstance(X, list | tuple) or (hasattr(X, "__array__") and not is_frame and not isinstance(X, np.ndarray)):
        return np.asarray(X)
    return X


def target_name(table: Table, y: Any) -> Name:
    """What the column of a target is called: by its own name if it has one that is free, else "target"."""
    own: Name = getattr(y, "name", None) or ""
    possible = isinstance(own, str) or (table.kind == "pandas" and type(own) is int)
    if possible and own not in ("", *table.names):
        return own
    name = "target"
    while name in table.names:
        name += "_"
    return name


def target_values(y: Any, estimator: str) -> npt.NDArray[Any]:
    """A target as a 1-D array of whatever dtype it has."""
    if y is None:
        raise ParameterError(
            f"This {estimator} requires y to be passed, but the target y is None: the column to be predicted"
        )
    if hasattr(y, "to_numpy"):  # in which nullable integers stay integers
        y = y.to_numpy()
    values = np.asarray(column_or_1d(y, warn=True))
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    return values


def joined(table: Table, name: Name, values: npt.NDArray[Any]) -> Table:
    """The columns of X with that of y, which has no gaps."""
    if not table.names:
        raise DataError(
            f"X has 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required: give it a column"
        )
    if len(values) != table.n_rows:
        raise DataError(f"X has {table.n_rows:,} rows and y has {len(values):,}: give a target for each row")
    both = with_column(table, name, values)
    missing = both.read(len(both.names) - 1)[1].missing
    if missing.any():
        raise DataError(f"y is missing in row {int(missing.argmax())}: leave such rows out")
    return both


def checked_weight(sample_weight: Any, n_rows: int) -> Floats:
    """A weight for each row."""
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ParameterError(f"sample_weight has shape {weight.shape}, not ({n_rows},): give a weight for each row")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ParameterError(f"sample_weight is {weight[bad[0]]} in row {bad[0]}: weights are finite and at least 0")
    if not weight.any():
        raise ParameterError("sample_weight is zero for every row: there is nothing to learn from")
    return weight
