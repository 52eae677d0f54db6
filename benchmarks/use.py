"""What a fitted model is used for: drawing rows, predicting a column."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.fits import TARGET, california_model, default_parameters, fit_ours
from benchmarks.measure import alternate, median, spread, timed
from benchmarks.quality import ml_efficiency, two_sample_auc
from benchmarks.records import Goal, Record, judged
from benchmarks.session import Session
from energyboost import NRGBoost

WORSE_BY_AT_MOST = 0.01  # two-sample AUC of the default start against 100 sweeps from the baseline


def sample(session: Session) -> list[Record]:
    """10,000 rows: ours by default, the official package's by its 100 sweeps from the baseline."""
    train, _, test = data.split(data.california())
    official_fit = california_model(session)
    model = fit_ours(session, train, default_parameters(session), seed=0)[1]
    n, n_official = session.size(10_000, 1000), session.size(10_000, 1000)
    n_sweeps = session.size(100, 10)

    def ours() -> float:
        return timed(lambda: model.sample(n, random_state=0))[0]

    ours()  # warms
    n_repeats = session.size(3, 1)
    before = alternate(n_repeats, ours)[0]
    official_seconds, official_rows = session.official_sample(official_fit, n_official, n_sweeps)
    of_ours = before + alternate(n_repeats, ours)[0]

    quality = _aucs(session, model, test, official_rows, n_sweeps) | {
        "ML efficiency ours": ml_efficiency(model.sample(n, random_state=0), test, TARGET),
        "ML efficiency official": ml_efficiency(official_rows, test, TARGET),
        "ML efficiency of as many real rows": ml_efficiency(train.iloc[:n], test, TARGET),
    }
    worse_by = quality["AUC default start"] - quality["AUC ours from the baseline"]
    settings = default_parameters(session) | {
        "rows": n,
        "official_rows": n_official,
        "official_seconds_scaled_by": n / n_official,
        "official_sweeps": n_sweeps,
        "threads": session.threads,
        "repeats": len(of_ours),
    }
    return [
        judged(
            "sample-10000", "s", Goal(300, 1000),
            ours=median(of_ours),
            official=official_seconds * n / n_official,
            settings=settings,
            quality={"range ours": spread(of_ours)} | quality | {"worse by": worse_by},
            conditions={f"not worse by more than {WORSE_BY_AT_MOST}": worse_by <= WORSE_BY_AT_MOST},
        )
    ]  # fmt: skip


def _aucs(
    session: Session, model: NRGBoost, test: pd.DataFrame, official_rows: pd.DataFrame, n_sweeps: int
) -> dict[str, Any]:
    """Two-sample AUCs against as many test rows, each the mean over several sets of synthetic rows."""
    seeds = range(session.size(4, 1))
    n = min(len(test), session.size(len(test), 1000))

    def auc(frames: list[pd.DataFrame]) -> list[float]:
        return [two_sample_auc(test.iloc[: len(rows)], rows[test.columns]) for rows in frames]

    default = auc([model.sample(n, random_state=1 + seed) for seed in seeds])
    baseline = auc([model.sample(n, start="baseline", n_sweeps=n_sweeps, random_state=1 + seed) for seed in seeds])
    parts = range(0, len(official_rows) - n + 1, n) or [0]
    official = auc([official_rows.iloc[first : first + n] for first in parts])
    pairs = np.subtract(default, baseline)
    error = float(np.std(pairs, ddof=1) / np.sqrt(len(pairs))) if len(pairs) > 1 else None
    return {
        "AUC default start": float(np.mean(default)),
        "AUC ours from the baseline": float(np.mean(baseline)),
        "AUC official": float(np.mean(official)),
        "standard error of their difference": error,
    }


def predict(session: Session) -> list[Record]:
    """The expected value of one column for all test rows, every tree used."""
    train, _, test = data.split(data.california())
    official_fit = california_model(session)
    model = fit_ours(session, train, default_parameters(session), seed=0)[1]
    worker, frame, out = session.official(session.threads), session.sent(test), session.file(".npy")
    worker("load", model=official_fit.model)

    def ours(n_jobs: int) -> float:
        return timed(lambda: model.set_params(n_jobs=n_jobs).predict(test, TARGET))[0]

    def official() -> float:
        return float(worker("predict", frame=frame, target=TARGET, out=out)["seconds"])

    ours(session.threads)
    official()  # both warm
    both = alternate(session.size(5, 2), lambda: ours(session.threads), official, lambda: ours(1))
    of_ours, of_official, of_one_thread = both
    quality = {
        "range ours": spread(of_ours),
        "range official": spread(of_official),
        "ours on one thread (s)": median(of_one_thread),
    }
    settings = default_parameters(session) | {
        "rows": len(test),
        "threads": session.threads,
        "threads_official": "no such option",
        "repeats": len(of_ours),
    }
    return [
        judged(
            "predict-california", "s", Goal(6, 20),
            ours=median(of_ours), official=median(of_official), settings=settings, quality=quality,
        )
    ]  # fmt: skip
