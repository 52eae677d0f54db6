"""How well chains mix, with pairs of columns drawn jointly and without, and how well log Z is known."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks import data
from benchmarks.fits import default_parameters, fit_ours
from benchmarks.measure import timed
from benchmarks.records import Goal, Record, judged
from benchmarks.samplers import density_tree
from benchmarks.session import Session
from energyboost import NRGBoost
from energyboost.model.energy import Codes
from energyboost.sampling.boosted import Boosted
from energyboost.sampling.diagnostics import Mixing, measure_mixing
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import SINGLE, Moves
from energyboost.sampling.pool import draw_first
from energyboost.sampling.protocol import How

N_CHAINS = 64


def chains(density: Boosted, n_sweeps: int, moves: Moves, seed: int = 1) -> tuple[float, Codes]:
    """Seconds per sweep of a chain on one thread, and the states of chains from pool rows."""
    rows = density.pool[np.random.default_rng(seed).permutation(len(density.pool))[:N_CHAINS]]
    sweep(density.energy, rows.copy(), 2, np.random.SeedSequence(0), moves=moves)  # warms
    seconds, states = timed(
        lambda: sweep(density.energy, rows, n_sweeps, np.random.SeedSequence(seed), moves=moves, n_kept=n_sweeps)
    )
    return seconds / (n_sweeps * len(rows)), states


def mixing_of(density: Boosted, n_sweeps: int, moves: Moves) -> tuple[float, Mixing]:
    """Seconds per sweep, and how chains mix."""
    seconds, states = chains(density, n_sweeps, moves)
    return seconds, measure_mixing(states, density.energy.domain)


def named(model: NRGBoost, values: Any) -> str:
    """A figure per column, as text."""
    return ", ".join(f"{name} {value:.1f}" for name, value in zip(model.schema_.names, values, strict=True))


def pairs_of(model: NRGBoost) -> str:
    """The pairs that are drawn jointly, as text."""
    return ", ".join(f"{' & '.join(map(str, pair['columns']))} ({pair['dependence']:.2f})" for pair in model.pairs_)


def california(session: Session) -> list[Record]:
    """Autocorrelation of the slowest column, and independent draws per second of the one that was slowest."""
    train = data.split(data.california())[0]
    settings = default_parameters(session)
    model = fit_ours(session, train, settings, seed=0)[1]
    density, n_sweeps = model.density_.model, session.size(2000, 100)
    settings |= {"sweeps": n_sweeps, "chains": N_CHAINS, "threads": 1}
    single_seconds, single = mixing_of(density, n_sweeps, SINGLE)
    seconds, mixing = mixing_of(density, n_sweeps, density.moves)
    slowest = single.slowest
    quality = {
        "pairs": pairs_of(model),
        "IAT": named(model, mixing.iat),
        "IAT without pairs": named(model, single.iat),
        "seconds of a sweep against one without pairs": seconds / single_seconds,
    }
    gain = (single.iat[slowest] * single_seconds) / (mixing.iat[slowest] * seconds)
    return [
        judged(
            "iat-california", "sweeps", Goal(20, 5),
            ours=float(mixing.iat.max()), settings=settings, quality=quality,
        ),
        judged(
            "draws-california", "times without pairs", Goal(10, 50),
            ours=float(gain), settings=settings, quality={"column": str(model.schema_.names[slowest])},
        ),
    ]  # fmt: skip


def adult(session: Session) -> list[Record]:
    """How many chains have another education than at their start after 20 sweeps from the pool."""
    settings: dict[str, Any] = default_parameters(session)
    train = data.adult_train()
    model = fit_ours(session, train, settings, seed=0)[1]
    density, column = model.density_.model, list(train.columns).index("education")

    def changed(moves: Moves) -> float:
        rows = density.pool[np.random.default_rng(0).permutation(len(density.pool))[: session.size(4000, 400)]]
        start = rows[:, column].copy()
        sweep(density.energy, rows, 20, np.random.SeedSequence(0), moves=moves, n_jobs=session.threads)
        return float((rows[:, column] != start).mean())

    share = train["education"].value_counts(normalize=True)
    quality = {
        "pairs": pairs_of(model),
        "without pairs": changed(SINGLE),
        "independent draws": float(1 - np.square(share).sum()),
    }
    ours = changed(density.moves)
    return [
        judged(
            "education-adult", "share", Goal(0.70, 0.80), ours=ours, settings=settings | {"sweeps": 20}, quality=quality
        )
    ]


def mnist(session: Session) -> list[Record]:
    """How many chains have another digit than at their start after 100 sweeps."""
    settings: dict[str, Any] = {"n_trees": session.size(50, 5), "max_leaves": 256, "learning_rate": 0.15}
    train = data.mnist(session.size(10_000, 1000))
    model = fit_ours(session, train, settings, seed=0)[1]
    density, n = model.density_.model, session.size(500, 50)

    def changed(moves: Moves) -> tuple[float, float]:
        rows = density.pool[np.random.default_rng(0).permutation(len(density.pool))[:n]]
        start = rows[:, 0].copy()
        how = {"moves": moves, "n_jobs": session.threads}
        seconds, _ = timed(lambda: sweep(density.energy, rows, 100, np.random.SeedSequence(0), **how))
        return seconds, float((rows[:, 0] != start).mean())

    single_seconds, single = changed(SINGLE)
    seconds, ours = changed(density.moves)
    quality = {
        "share of chains": ours,
        "without pairs": single,
        "seconds against those without pairs": seconds / single_seconds,
        "number of pairs": len(model.pairs_),
    }
    return [
        judged(
            "digit-mnist", "times without pairs", Goal(1, 10),
            ours=ours / max(single, 1 / n), settings=settings | {"sweeps": 100, "chains": n}, quality=quality,
        )
    ]  # fmt: skip


def log_z(session: Session) -> list[Record]:
    """How often 95 % intervals hold log Z, on tables whose every cell can be enumerated."""
    n_fits, inside, z_scores, cells = session.size(200, 10), [], [], []
    for seed in range(n_fits):
        rng = np.random.default_rng(seed)
        table = dependent_table(rng)
        model = NRGBoost(n_trees=30, max_leaves=32, learning_rate=0.3, random_state=seed, n_jobs=session.threads).fit(
            table
        )
        density = model.density_.model
        domain = density.domain
        every = np.stack(np.unravel_index(np.arange(np.prod(domain.sizes)), domain.sizes), axis=1)
        energy = density.energy.score(every.astype(domain.code_dtype), n_jobs=session.threads)
        truth = float(np.logaddexp.reduce(energy))
        estimate = density.log_z(n_jobs=session.threads)
        low, high = estimate.interval()
        inside.append(low <= truth <= high)
        z_scores.append((estimate.value - truth) / estimate.error)
        cells.append(len(every))
    coverage = float(np.mean(inside))
    quality = {
        "cells": [min(cells), max(cells)],
        "mean of (estimate - truth) / error": float(np.mean(z_scores)),
        "its standard deviation": float(np.std(z_scores)),
    }
    settings = {"fits": n_fits, "n_trees": 30, "max_leaves": 32}
    within = {"from 0.90 to 0.99": 0.90 <= coverage <= 0.99}
    return [
        judged(
            "log-z-coverage", "share", Goal(0.90, 0.95), ours=coverage, settings=settings, quality=quality,
            conditions=within,
        )
    ]  # fmt: skip


def dependent_table(rng: np.random.Generator) -> pd.DataFrame:
    """2,000 rows of 4 to 6 columns that depend on each other, numbers and labels, with up to a million cells."""
    n_columns = int(rng.integers(4, 7))
    common = rng.standard_normal(2000)
    columns: dict[str, Any] = {}
    for j in range(n_columns):
        weight = rng.uniform(0.3, 0.95)
        value = weight * common + np.sqrt(1 - weight**2) * rng.standard_normal(2000)
        n_levels = int(rng.integers(3, 11))
        code = np.searchsorted(np.quantile(value, np.arange(1, n_levels) / n_levels), value)
        columns[f"x{j}"] = code if rng.random() < 0.6 else np.array(list("abcdefghij"))[rng.permutation(n_levels)][code]
    return pd.DataFrame(columns)


def log_z_bridge(session: Session) -> list[Record]:
    """Log Z against an estimate that rests on a density tree, whose normaliser and rows are exact: real tables."""
    tables: dict[str, tuple[Any, dict[str, Any]]] = {
        "california": (lambda: data.split(data.california())[0], default_parameters(session)),
        "abalone": (data.abalone, {"n_trees": session.size(100, 5), "max_leaves": 64}),
        "adult": (data.adult_train, {"n_trees": session.size(50, 5), "max_leaves": 256}),
    }
    quality, off = {}, []
    for name, (load, settings) in tables.items():
        model = fit_ours(session, load(), settings, seed=0)[1].density_.model
        ours, (other, error) = model.log_z(n_jobs=session.threads), bridged_log_z(model, session)
        off.append((ours.value - other) / float(np.hypot(ours.error, error)))
        quality[name] = f"{ours.value:.3f} ± {ours.error:.3f}, bridge {other:.3f} ± {error:.3f}"
    return [
        judged(
            "log-z-bridge", "standard errors", Goal(4, 2),
            ours=float(np.abs(off).max()), settings=default_parameters(session), quality=quality,
        )
    ]  # fmt: skip


def bridged_log_z(model: Boosted, session: Session) -> tuple[float, float]:
    """Log Z and its standard error by Bennett's acceptance ratio between the model and a density tree of its rows."""
    n, n_rows = session.size(10_000, 500), session.size(100_000, 2000)
    how = How(n_sweeps=5, n_jobs=session.threads)
    tree = density_tree(model.sample(n_rows, np.random.SeedSequence(4), how), model.domain)
    of_tree = draw_first(tree, 2 * n, np.random.default_rng(0))
    of_model = model.sample(n, np.random.SeedSequence(3), how)
    forward, back = (model.energy.score(rows) - tree.score(rows) for rows in (of_tree, of_model))
    more = np.log(len(back) / len(forward))

    def excess(log_ratio: float) -> float:
        return float(expit(more + forward - log_ratio).sum() - expit(log_ratio - more - back).sum())

    log_ratio = float(brentq(excess, -500, 500))
    shares = expit(more + forward - log_ratio), expit(log_ratio - more - back)
    error = np.sqrt(sum(share.var() / share.mean() ** 2 / len(share) for share in shares))
    return log_ratio, float(error)
