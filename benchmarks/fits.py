"""Seconds from a table to a fitted model, and what the model then predicts."""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.measure import median, spread, timed
from benchmarks.quality import best_test_r2, our_test_r2
from benchmarks.records import Goal, Record, judged
from benchmarks.session import OfficialFit, Session
from energyboost import NRGBoost

TARGET = "MedHouseVal"
LOWER_BY_AT_MOST = 0.003  # test R² of our defaults against the official fit


def readme_parameters(session: Session, n_trees: int, max_leaves: int = 256) -> dict[str, Any]:
    """The parameters of the official package's README, for another number of trees."""
    return {
        "num_trees": n_trees,
        "shrinkage": 0.15,
        "max_leaves": max_leaves,
        "max_ratio_in_leaf": 2,
        "num_model_samples": session.size(80_000, 8000),
        "p_refresh": 0.1,
        "num_chains": 16,
        "burn_in": session.size(100, 10),
    }


def our_names(params: dict[str, Any]) -> dict[str, Any]:
    """The same settings as parameters of ours."""
    return {
        "n_trees": params["num_trees"],
        "learning_rate": params["shrinkage"],
        "max_leaves": params["max_leaves"],
        "max_ratio": params["max_ratio_in_leaf"],
        "pool_size": params["num_model_samples"],
        "refresh": params["p_refresh"],
        "n_chains": params["num_chains"],
        "burn_in": params["burn_in"],
        "refill": "restart",
        "pairs": [],
    }


def default_parameters(session: Session) -> dict[str, Any]:
    """Our defaults, at the README's number of trees, leaves and learning rate."""
    return {"n_trees": session.size(200, 10), "max_leaves": 256, "learning_rate": 0.15}


def california_model(session: Session) -> OfficialFit:
    """The official README's fit, measured once for all that need it."""
    train = data.split(data.california())[0]
    return session.official_fit("california-200", train, readme_parameters(session, session.size(200, 10)))


def fit_ours(session: Session, frame: pd.DataFrame, parameters: dict[str, Any], seed: int) -> tuple[float, NRGBoost]:
    """Seconds of one fit, kernels warm, and the model."""
    common = {"n_jobs": session.threads, "random_state": seed}
    NRGBoost(**parameters | {"n_trees": min(20, parameters["n_trees"])}, **common).fit(
        frame
    )  # each size of trees is a kernel
    return timed(lambda: NRGBoost(**parameters, **common).fit(frame))


def fit_both(
    session: Session, train: pd.DataFrame, params: dict[str, Any], key: str
) -> tuple[list[float], list[NRGBoost], OfficialFit]:
    """Fits with the same settings: one of ours before the official one and one after it."""
    before = fit_ours(session, train, our_names(params), seed=0)
    official = session.official_fit(key, train, params)
    after = fit_ours(session, train, our_names(params), seed=1)
    return [before[0], after[0]], [before[1], after[1]], official


def compared(
    session: Session,
    name: str,
    goal: Goal,
    seconds: list[float],
    official: OfficialFit,
    settings: dict[str, Any],
    quality: dict[str, Any],
    conditions: dict[str, bool] | None = None,
) -> Record:
    """The record of a fit. What every official fit compiles anew is in its seconds, and told."""
    times = {"range ours": spread(seconds), "of which official compiles (s)": official.compile_seconds}
    return judged(
        name, "s", goal,
        ours=median(seconds),
        official=official.seconds,
        settings=settings | {"threads": session.threads, "official_time_from_earlier_run": official.reused},
        quality=times | quality,
        conditions=conditions,
    )  # fmt: skip


def california(session: Session) -> list[Record]:
    """The official README's example."""
    return [_california(session, "fit-california", Goal(10, 25), "california-200", session.size(200, 10))]


def california_50(session: Session) -> list[Record]:
    """The same with 50 trees."""
    return [_california(session, "fit-california-50", Goal(10, 25), "california-50", session.size(50, 8))]


def california_2048(session: Session) -> list[Record]:
    """Trees of 2,048 leaves."""
    n_trees = session.size(20, 5)
    return [_california(session, "fit-california-2048-20", Goal(8, 25), "california-2048", n_trees, 2048)]


def _california(session: Session, name: str, goal: Goal, key: str, n_trees: int, max_leaves: int = 256) -> Record:
    train, validation, test = data.split(data.california())
    params = readme_parameters(session, n_trees, max_leaves)
    seconds, models, official = fit_both(session, train, params, key)
    quality = {
        "test R² ours": float(np.mean([our_test_r2(model, validation, test, TARGET) for model in models])),
        "test R² official": official_test_r2(session, official, validation, test),
    }
    return compared(session, name, goal, seconds, official, our_names(params), quality)


def official_test_r2(session: Session, fit: OfficialFit, validation: pd.DataFrame, test: pd.DataFrame) -> float:
    """Test R² of an official model at its best round by validation R²."""
    stages = (session.official_stages(fit, frame, TARGET) for frame in (validation, test))
    return best_test_r2(next(stages), validation[TARGET], next(stages), test[TARGET])[0]


def adult_30(session: Session) -> list[Record]:
    """Adult, its labels as categories: 30 trees."""
    train, test = data.adult_train(), data.adult_test()
    params = readme_parameters(session, session.size(30, 8))
    seconds, models, official = fit_both(session, train, params, "adult-30")
    worker, out = session.official(session.threads), session.file(".npy")
    worker("load", model=official.model)
    worker("predict", frame=session.sent(test), target="income", out=out)
    truth = test["income"]
    right = [float(np.mean(model.predict(test, "income") == truth.to_numpy())) for model in models]
    quality = {
        "test accuracy ours": float(np.mean(right)),
        "test accuracy official": float(np.mean(np.load(out) == truth.cat.codes.to_numpy())),
    }
    return [compared(session, "fit-adult-30", Goal(10, 25), seconds, official, our_names(params), quality)]


def default(session: Session) -> list[Record]:
    """Our defaults against the official README's fit."""
    train, validation, test = data.split(data.california())
    parameters = default_parameters(session)
    official = california_model(session)
    fits = [fit_ours(session, train, parameters, seed) for seed in range(session.size(3, 1))]
    ours = [our_test_r2(model, validation, test, TARGET) for _, model in fits]
    official_r2 = official_test_r2(session, official, validation, test)
    lower_by = official_r2 - float(np.mean(ours))
    quality = {
        "test R² ours": float(np.mean(ours)),
        "range of seeds": spread(ours),
        "test R² official": official_r2,
        "lower by": lower_by,
    }
    conditions = {f"not lower by more than {LOWER_BY_AT_MOST}": lower_by <= LOWER_BY_AT_MOST}
    seconds = [taken for taken, _ in fits]
    return [
        compared(
            session, "fit-default", Goal(40, 100), seconds, official, parameters | {"seeds": len(fits)},
            quality, conditions,
        )
    ]  # fmt: skip


def r2_california(session: Session) -> list[Record]:
    """What our defaults predict of California Housing."""
    settings = default_parameters(session)
    known = session.results.get("fit-california")
    official = known[0]["quality"]["test R² official"] if known else None
    return [_r2(session, "r2-california", Goal(0.850, 0.860), data.california(), TARGET, settings, official)]


def r2_abalone(session: Session) -> list[Record]:
    """What our defaults predict of Abalone, with smaller trees and steps."""
    settings = {"n_trees": session.size(200, 10), "max_leaves": 64, "learning_rate": 0.1}
    return [_r2(session, "r2-abalone", Goal(0.53, 0.55), data.abalone(), "rings", settings, None)]


def _r2(
    session: Session,
    name: str,
    goal: Goal,
    frame: pd.DataFrame,
    target: str,
    parameters: dict[str, Any],
    official: float | None,
) -> Record:
    train, validation, test = data.split(frame)
    seeds = range(session.size(3, 1))
    figures = [our_test_r2(fit_ours(session, train, parameters, seed)[1], validation, test, target) for seed in seeds]
    quality: dict[str, Any] = {"range of seeds": spread(figures)}
    if official is not None:
        quality["official, for reference"] = official
    settings = parameters | {"seeds": len(figures)}
    return judged(name, "test R²", goal, ours=float(np.mean(figures)), settings=settings, quality=quality)
