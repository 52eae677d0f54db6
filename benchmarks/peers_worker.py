"""What discriminative peers predict; runs in their environment: XGBoost, NGBoost and scikit-learn.

Reads a request as JSON from the command line, tables as .npz files; writes predictions as .npz. Parameters are tuned a
little on validation rows: the number of trees by early stopping.
"""

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import xgboost
from ngboost import NGBRegressor
from ngboost.distns import Normal
from sklearn.impute import KNNImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.frames import read_frame

XGB = {"n_estimators": 2000, "learning_rate": 0.05, "max_depth": 8, "subsample": 0.8, "colsample_bytree": 0.8}


def codes(frame: pd.DataFrame) -> pd.DataFrame:
    """Categories as their codes, NaN where missing."""
    coded = frame.copy()
    for name in frame.select_dtypes("category"):
        coded[name] = frame[name].cat.codes.where(frame[name].notna()).astype(float)
    return coded


def fit_xgboost(train: pd.DataFrame, validation: pd.DataFrame, target: str, objective: str) -> Any:
    """Boosted trees, as many as are best on validation rows."""
    kind = xgboost.XGBClassifier if objective == "class" else xgboost.XGBRegressor
    loss = {"class": "binary:logistic", "mean": "reg:squarederror", "median": "reg:absoluteerror"}[objective]
    model = kind(**XGB, objective=loss, tree_method="hist", n_jobs=2, early_stopping_rounds=50, random_state=0)
    split = [(codes(part.drop(columns=target)), codes(part[[target]])[target]) for part in (train, validation)]
    return model.fit(*split[0], eval_set=[split[1]], verbose=False)


def guess(model: Any, features: pd.DataFrame, objective: str) -> np.ndarray:
    """The mean, or the probability of the second class."""
    coded = codes(features)
    return model.predict_proba(coded)[:, 1] if objective == "class" else model.predict(coded)


def missing_covariate(
    request: dict[str, Any], train: pd.DataFrame, validation: pd.DataFrame, test: pd.DataFrame
) -> dict:
    """XGBoost on a test table in which one column was imputed."""
    target, gap, objective = request["target"], request["gap"], request["objective"]
    model = fit_xgboost(train, validation, target, objective)
    features = test.drop(columns=target)
    found = {"full data": guess(model, features, objective)}
    fills = {}
    if isinstance(train[gap].dtype, pd.CategoricalDtype):
        fills["mode"] = np.full(len(test), train[gap].mode()[0])
    else:
        fills["mean"], fills["median"] = np.full(len(test), train[gap].mean()), np.full(len(test), train[gap].median())
    fills["5 nearest neighbours"] = neighbours(train.drop(columns=target), features, gap)
    for name, values in fills.items():
        filled = features.copy()
        if isinstance(train[gap].dtype, pd.CategoricalDtype):
            filled[gap] = pd.Categorical(values, categories=train[gap].cat.categories)
        else:
            filled[gap] = values
        found[name] = guess(model, filled, objective)
    return found


def neighbours(train: pd.DataFrame, test: pd.DataFrame, gap: str) -> np.ndarray:
    """The mean or mode of a column among the 5 nearest training rows."""

    def numbers(frame: pd.DataFrame) -> np.ndarray:
        return pd.get_dummies(frame.drop(columns=gap), dtype=float).to_numpy()

    scaler = StandardScaler().fit(numbers(train))
    index = NearestNeighbors(n_neighbors=5).fit(scaler.transform(numbers(train)))
    near = index.kneighbors(scaler.transform(numbers(test)), return_distance=False)
    if isinstance(train[gap].dtype, pd.CategoricalDtype):
        found = train[gap].cat.codes.to_numpy()[near]
        most = np.array([np.bincount(row).argmax() for row in found])
        return train[gap].cat.categories.to_numpy()[most]
    return train[gap].to_numpy()[near].mean(axis=1)


def distributions(request: dict[str, Any], train: pd.DataFrame, validation: pd.DataFrame, test: pd.DataFrame) -> dict:
    """Normal distributions of NGBoost, and means and medians of XGBoost."""
    target = request["target"]
    x = [codes(part.drop(columns=target)).to_numpy(float) for part in (train, validation, test)]
    y = [part[target].to_numpy(float) for part in (train, validation)]
    ngb = NGBRegressor(Dist=Normal, n_estimators=2000, learning_rate=0.02, verbose=False, random_state=0)
    ngb.fit(x[0], y[0], X_val=x[1], Y_val=y[1], early_stopping_rounds=50)
    normal = ngb.pred_dist(x[2])
    features = test.drop(columns=target)
    found = {"loc": normal.loc, "scale": normal.scale}
    for objective in ("mean", "median"):
        found[objective] = guess(fit_xgboost(train, validation, target, objective), features, objective)
    return found


def impute(request: dict[str, Any], train: pd.DataFrame, hidden: pd.DataFrame) -> dict:
    """Gaps filled by scikit-learn's imputers that know the training rows; labels as their codes."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, SimpleImputer

    a, b = codes(train).to_numpy(float), codes(hidden).to_numpy(float)
    labels = [j for j, name in enumerate(train) if isinstance(train[name].dtype, pd.CategoricalDtype)]
    numbers = [j for j in range(train.shape[1]) if j not in labels]
    simple = b.copy()
    for columns, strategy in ((numbers, "mean"), (labels, "most_frequent")):
        if columns:
            simple[:, columns] = SimpleImputer(strategy=strategy).fit(a[:, columns]).transform(b[:, columns])
    scaler = StandardScaler().fit(a)
    some = np.random.default_rng(0).permutation(len(a))[:10_000]
    scaled = {
        "IterativeImputer": IterativeImputer(random_state=0, max_iter=10),
        "5 nearest neighbours": KNNImputer(n_neighbors=5),
    }
    found = {"mean or mode": simple}
    for name, imputer in scaled.items():
        rows = some if name.startswith("5") else slice(None)
        imputer.fit(scaler.transform(a[rows]))
        found[name] = scaler.inverse_transform(imputer.transform(scaler.transform(b)))
    return found


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.argv[1])
    frames = [read_frame(path) for path in request["frames"]]
    answers = {"missing": missing_covariate, "distributions": distributions, "impute": impute}
    found = answers[request["do"]](request, *frames)
    np.savez(request["out"], **{name: np.asarray(values, float) for name, values in found.items()})


if __name__ == "__main__":
    main()
