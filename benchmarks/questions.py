"""Answers to questions, against the tools that people use for each: XGBoost, NGBoost, scikit-learn's imputers.

    python -m benchmarks.questions [--quick] [--only missing ...] [--write]

The peers run in an environment of their own, which is made at the first run; tables and predictions go to and fro as
.npz files. Prints one JSON object per figure, and tables, which ``--write`` puts into benchmarks/README.md.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks import data
from benchmarks.data import REPOSITORY, MissingDataError
from benchmarks.frames import write_frame
from benchmarks.measure import timed
from benchmarks.official import CACHE
from benchmarks.official_side import clean_environment, python_of
from benchmarks.quality import Stages
from benchmarks.tables import circumstances, number, table, write_between_markers
from energyboost import NRGBoost, between

REQUIREMENTS = ("xgboost-cpu==3.2.0", "ngboost==0.5.11", "pandas", "scikit-learn")
SETTINGS: dict[str, dict[str, Any]] = {
    "california": {"n_trees": 200, "max_leaves": 256, "learning_rate": 0.15},
    "adult": {"n_trees": 200, "max_leaves": 256, "learning_rate": 0.15},
    "protein": {"n_trees": 200, "max_leaves": 1024, "learning_rate": 0.15},
    "abalone": {"n_trees": 200, "max_leaves": 64, "learning_rate": 0.1},
}
TARGETS = {"california": "MedHouseVal", "adult": "income", "protein": "RMSD", "abalone": "rings"}
Parts = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


class Peers:
    """The peers' environment, one process for each request."""

    def __init__(self, folder: Path) -> None:
        self._python = python_of(folder, REQUIREMENTS)

    def __call__(self, do: str, frames: list[pd.DataFrame], **request: Any) -> dict[str, np.ndarray]:
        """Ask for predictions."""
        with TemporaryDirectory() as exchange:
            paths = [Path(exchange) / f"{i}.npz" for i in range(len(frames))]
            for path, frame in zip(paths, frames, strict=True):
                write_frame(path, frame)
            out = Path(exchange) / "out.npz"
            request |= {"do": do, "frames": [str(path) for path in paths], "out": str(out)}
            command = [self._python, "-m", "benchmarks.peers_worker", json.dumps(request)]
            subprocess.run(command, cwd=REPOSITORY, env=clean_environment(), check=True)
            with np.load(out) as found:
                return dict(found)


def parts(name: str, quick: bool) -> Parts:
    """Training, validation and test rows."""
    if name == "adult":
        train, validation = train_test_split(data.adult_train(), test_size=0.2, random_state=124)
        test = data.adult_test()
    else:
        loaders = {"california": data.california, "protein": data.protein, "abalone": data.abalone}
        train, validation, test = data.split(loaders[name]())
    found = tuple(part.iloc[: 1000 if quick else None].reset_index(drop=True) for part in (train, validation, test))
    return found[0], found[1], found[2]


def fitted(name: str, split: Parts, quick: bool) -> tuple[NRGBoost, int]:
    """A model of the training rows, and the number of trees that is best on validation rows."""
    settings = SETTINGS[name] | ({"n_trees": 10} if quick else {})
    model = NRGBoost(**settings, random_state=0).fit(split[0])
    stages = range(5, model.n_trees_ + 1, 5)
    target, truth = TARGETS[name], split[1][TARGETS[name]]
    staged: Stages
    if name == "adult":
        staged = (p[:, 1] for p in model.staged_predict_proba(split[1], target, unseen="marginalize", stages=stages))
        scores = [roc_auc_score(truth == model.levels(target)[1], p) for p in staged]
    else:
        scores = [r2_score(truth, guess) for guess in model.staged_predict(split[1], target, stages=stages)]
    return model, stages[int(np.argmax(scores))]


def missing(peers: Peers, quick: bool) -> str:
    """One important column missing in all test rows [tbl:missing-data-results]."""
    rows = []
    for name, gap in (("california", "Longitude"), ("adult", "education")):
        split, target = parts(name, quick), TARGETS[name]
        model, n_trees = fitted(name, split, quick)
        test = split[2]
        truth = test[target] if name == "california" else test[target] == model.levels(target)[1]

        def score(guess: np.ndarray, name: str = name, truth: pd.Series = truth) -> float:
            return float(r2_score(truth, guess) if name == "california" else roc_auc_score(truth, guess))

        def ours(frame: pd.DataFrame, name: str = name, n_trees: int = n_trees, model: Any = model) -> np.ndarray:
            if name == "california":
                return np.asarray(model.predict(frame, TARGETS[name], n_trees=n_trees))
            return np.asarray(model.predict_proba(frame, TARGETS[name], unseen="marginalize", n_trees=n_trees)[:, 1])

        without = [gap, "education_num"] if gap == "education" else [gap]
        objective = "mean" if name == "california" else "class"
        found = {
            f"XGBoost, {how}": score(guess)
            for how, guess in peers("missing", list(split), target=target, gap=gap, objective=objective).items()
        }
        found["energyboost, full data"] = score(ours(test))
        seconds, guess = timed(lambda test=test, gap=gap, ours=ours: ours(test.drop(columns=gap)))
        found["energyboost, summed out"] = score(guess)
        if len(without) > 1:  # education_num says the same as education: without both, it really is missing
            found["energyboost, summed out, also without education_num"] = score(ours(test.drop(columns=without)))
        print(json.dumps({"table": name, "without": gap, "trees": n_trees, "seconds": seconds} | found), flush=True)
        rows += [(name, gap, how, f"{value:.3f}") for how, value in found.items()]
    return table(("table", "missing", "how", "R² or AUC"), rows)


def crps(peers: Peers, quick: bool) -> str:
    """Distributions of a number [tbl:crps-results]."""
    rows = []
    for name in ("california", "protein", "abalone"):
        split, target = parts(name, quick), TARGETS[name]
        model, n_trees = fitted(name, split, quick)
        truth = split[2][target].to_numpy(float)
        found = peers("distributions", list(split), target=target)
        ours = model.conditional(split[2], target, n_trees=n_trees)
        discrete = np.unique(split[0][target]) if name == "abalone" else None
        scores = {
            "NGBoost": (
                normal_crps(found["loc"], found["scale"], truth, discrete),
                np.abs(found["loc"] - truth).mean(),
            ),
            "XGBoost, squared error": (None, mean_error(found["mean"], truth)),
            "XGBoost, absolute error": (None, mean_error(found["median"], truth)),
            "energyboost": (float(ours.crps(truth).mean()), mean_error(ours.median(), truth)),
        }
        held = ((ours.interval(0.9)[:, 0] <= truth) & (truth <= ours.interval(0.9)[:, 1])).mean()
        record = {how: [score, error] for how, (score, error) in scores.items()}
        print(json.dumps({"table": name, "trees": n_trees, "90 % intervals hold": float(held)} | record), flush=True)
        rows += [
            (name, how, "" if score is None else f"{score:.3f}", f"{error:.3f}")
            for how, (score, error) in scores.items()
        ]
        rows.append((name, "energyboost: its 90 % intervals hold", f"{held:.3f}", ""))
    return table(("table", "model", "(C)RPS", "MAE of the median"), rows)


def mean_error(guess: np.ndarray, truth: np.ndarray) -> float:
    """The mean absolute error."""
    return float(np.abs(guess - truth).mean())


def normal_crps(loc: np.ndarray, scale: np.ndarray, y: np.ndarray, values: np.ndarray | None) -> float:
    """The mean CRPS of normal distributions; rounded to the nearest of some values, where these are given."""
    if values is None:
        z = (y - loc) / scale
        return float((scale * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))).mean())
    cuts = (values[1:] + values[:-1]) / 2
    below = norm.cdf((cuts - loc[:, None]) / scale[:, None])  # of each value but the last
    reached = values[:-1] >= y[:, None]
    return float(((below - reached) ** 2 @ np.diff(values)).mean())


def imputation(peers: Peers, quick: bool) -> str:
    """A fifth of all cells hidden at random in test rows: how far off what is filled in is."""
    rows = []
    for name in ("california", "adult"):
        train, validation, test = parts(name, quick)
        test = test.iloc[:4000].reset_index(drop=True)
        hidden_cells = np.random.default_rng(0).random(test.shape) < 0.2
        hidden = test.mask(hidden_cells)
        model, _ = fitted(name, (train, validation, test), quick)
        numbers = [j for j, column in enumerate(test) if test[column].dtype.kind in "fiu"]
        labels = [j for j in range(test.shape[1]) if j not in numbers]
        seconds, ours = timed(lambda model=model, hidden=hidden: model.impute(hidden, unseen="marginalize"))
        means = model.impute(hidden, kind="median", unseen="marginalize")
        filled = peers("impute", [train, hidden.astype({test.columns[j]: float for j in numbers})])
        filled |= {"energyboost, mean": coded(ours, test), "energyboost, median": coded(means, test)}
        truth, spread = coded(test, test), train.iloc[:, numbers].std().to_numpy(float)
        for how, guess in filled.items():
            off = np.abs(guess - truth)[:, numbers] / spread
            mask = hidden_cells[:, numbers]
            rms, mae = float(np.sqrt((off[mask] ** 2).mean())), float(off[mask].mean())
            wrong = None
            if labels:
                wrong = float((np.rint(guess) != truth)[:, labels][hidden_cells[:, labels]].mean())
            print(json.dumps({"table": name, "how": how, "rms": rms, "mae": mae, "labels wrong": wrong}), flush=True)
            rows.append((name, how, f"{rms:.3f}", f"{mae:.3f}", "" if wrong is None else f"{wrong:.3f}"))
        rows.append((name, f"energyboost takes {number(seconds)} s for {len(test):,} rows", "", "", ""))
    head = ("table", "how", "RMS error of numbers", "mean error of numbers", "labels wrong")
    return table(head, rows) + "\n\nErrors of numbers are in standard deviations of their columns."


def coded(frame: pd.DataFrame, like: pd.DataFrame) -> np.ndarray:
    """Numbers as they are, categories as their codes."""
    columns = [
        pd.Categorical(frame[name], categories=like[name].cat.categories).codes
        if isinstance(like[name].dtype, pd.CategoricalDtype)
        else frame[name]
        for name in like
    ]
    return np.stack([np.asarray(column, float) for column in columns], axis=1)


def where(peers: Peers, quick: bool) -> str:
    """Rows under conditions on three columns at once, against rows without."""
    split = parts("adult", quick)
    model, _ = fitted("adult", split, quick)
    conditions = {"age": between(30, 45), "sex": "Female", "education": "Bachelors"}
    rows = []
    for n_sweeps in (3, 10, "auto"):
        asked = {"n_sweeps": n_sweeps, "random_state": 0}
        model.sample(100, **asked, where=conditions)
        free = [timed(lambda asked=asked: model.sample(10_000, **asked))[0] for _ in range(3)]
        bound = [timed(lambda asked=asked: model.sample(10_000, **asked, where=conditions))[0] for _ in range(3)]
        a, b = float(np.median(free)), float(np.median(bound))
        print(json.dumps({"n_sweeps": n_sweeps, "seconds": a, "seconds under conditions": b}), flush=True)
        rows.append((str(n_sweeps), number(a), number(b), f"{b / a:.2f}"))
    return table(("n_sweeps", "10,000 rows (s)", "under three conditions (s)", "ratio"), rows)


MEASUREMENTS: dict[str, Callable[[Peers, bool], str]] = {
    "missing": missing,
    "crps": crps,
    "imputation": imputation,
    "where": where,
}


def main() -> None:
    """Read the command line, measure, print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.questions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows and trees: does everything work?")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--env", type=Path, default=CACHE / "peers", help="the peers' environment")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/README.md")
    options = parser.parse_args()
    peers = Peers(options.env)
    for name in options.only:
        try:
            text = MEASUREMENTS[name](peers, options.quick)
        except MissingDataError as lacking:
            print(json.dumps({"name": name, "skipped": str(lacking)}), flush=True)
            continue
        text += f"\n\n{circumstances([date.today().isoformat()])}"
        print(f"\n{text}\n")
        if options.write and not options.quick:
            write_between_markers(name, text)


if __name__ == "__main__":
    main()
