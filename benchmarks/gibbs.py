"""The rate of Gibbs sweeps, one thread, on the same model: ours, and ours in the official package's form."""

import math
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.convert import official_arrays
from benchmarks.measure import alternate, median, spread, timed
from benchmarks.official_side import OfficialWorker
from benchmarks.records import Goal, Record, judged
from benchmarks.session import Session
from energyboost import NRGBoost
from energyboost.model.energy import Codes, Energy
from energyboost.sampling.gibbs import sweep
from energyboost.tables import encode


def california(session: Session) -> list[Record]:
    """California Housing, trees of 256 leaves."""
    train = data.split(data.california())[0]
    return [_rate(session, "gibbs-california", Goal(12, 25), train, n_trees=session.size(200, 40))]


def california_2048(session: Session) -> list[Record]:
    """California Housing, trees of 2,048 leaves."""
    train = data.split(data.california())[0]
    settings = {"n_trees": session.size(200, 4), "max_leaves": 2048}
    return [_rate(session, "gibbs-california-2048", Goal(8, 20), train, **settings)]


def mnist(session: Session) -> list[Record]:
    """MNIST 14 x 14 with its label: 197 columns. The model comes from a part of the digits."""
    digits = data.mnist(session.size(20_000, 1000))
    return [_rate(session, "gibbs-mnist", Goal(8, 20), digits, n_trees=session.size(50, 3))]


def adult(session: Session) -> list[Record]:
    """Adult: columns of categories beside columns of numbers."""
    return [_rate(session, "gibbs-adult", Goal(10, 25), data.adult_train(), n_trees=session.size(200, 40))]


def _rate(session: Session, name: str, goal: Goal, frame: pd.DataFrame, **parameters: Any) -> Record:
    if session.quick:
        parameters["pool_size"] = 4000
    estimator = NRGBoost(random_state=0, n_jobs=session.threads, **parameters)
    fit_seconds, model = timed(lambda: estimator.fit(frame))
    energy = model.density_.model.energy
    worker, arrays = session.official(threads=1), session.file(".npz")
    np.savez(arrays, allow_pickle=False, **official_arrays(energy))
    worker("build", arrays=arrays)
    differences = _differences(session, energy, encode(model.schema_, frame))

    n_sweeps, seconds = session.size(100, 10), session.size(2, 1) / session.size(1, 4)
    ours, official = _OurSide(energy, n_sweeps), _OfficialSide(worker, energy.domain.n_columns, n_sweeps)
    for side in (ours, official):
        side.calibrate(seconds)
    of_ours, of_official = alternate(session.size(5, 2), ours.microseconds, official.microseconds)
    settings = parameters | {
        "rows": len(frame),
        "columns": energy.domain.n_columns,
        "unordered_columns": energy.domain.ordered.count(False),
        "mean_leaves": float(np.mean([tree.n_leaves for tree in energy.trees])),
        "sweeps": n_sweeps,
        "chains_ours": ours.n_chains,
        "chains_official": official.n_chains,
        "threads": 1,
        "repeats": len(of_ours),
        "fit_seconds": fit_seconds,
    }
    quality = differences | {
        "range ours": spread(of_ours),
        "range official": spread(of_official),
        "mean final energy ours": ours.mean_energy,
        "mean final energy official": official.mean_energy,
        "standard error of their difference": math.hypot(ours.error, official.error),
    }
    return judged(
        name, "µs per slice", goal,
        ours=median(of_ours), official=median(of_official), settings=settings, quality=quality,
    )  # fmt: skip


def _differences(session: Session, energy: Energy, data_rows: Codes) -> dict[str, float]:
    """The largest differences between both sides' answers about the same rows; refuses unlike models."""
    rng = np.random.default_rng(0)
    anywhere = np.stack([rng.integers(0, size, 200) for size in energy.domain.sizes], axis=1)
    rows = np.concatenate([anywhere, data_rows[rng.integers(0, len(data_rows), 200)]])
    rows = rows.astype(energy.domain.code_dtype)
    codes, out = session.file(".npy"), session.file(".npz")
    np.save(codes, rows)
    session.official(threads=1)("energies", codes=codes, out=out)
    with np.load(out) as official:
        of_energy = float(np.abs(official["energy"] - energy.score(rows)).max())
        of_probability = max(
            float(np.abs(np.exp(official[f"column_{j}"]) - energy.conditional(rows, j)).max())
            for j in range(rows.shape[1])
        )
    # energies are sums of the same float64 numbers; our conditionals come from float32 sums
    if of_energy > 1e-8 or of_probability > 1e-4:
        raise ValueError(
            f"the two sides' models differ: by {of_energy:g} in energy, "
            f"by {of_probability:g} in conditional probability"
        )
    return {"largest difference in energy": of_energy, "in conditional probability": of_probability}


class _Side:
    """One side's chains: as many as the seconds of a repeat want."""

    n_chains = 8
    mean_energy = error = math.nan

    def __init__(self, n_columns: int, n_sweeps: int) -> None:
        self.n_sweeps = n_sweeps
        self._slices_per_chain = n_sweeps * n_columns
        self._seed = 0

    def calibrate(self, seconds: float) -> None:
        """Warm the side, then choose the number of chains by what a few of them take."""
        self._run()
        self.n_chains = max(8, math.ceil(self.n_chains * seconds / self._run()))

    def microseconds(self) -> float:
        """Microseconds per slice of one repeat; every repeat draws other numbers."""
        self._seed += 1
        return 1e6 * self._run() / (self.n_chains * self._slices_per_chain)

    def _run(self) -> float:
        raise NotImplementedError


class _OurSide(_Side):
    def __init__(self, energy: Energy, n_sweeps: int) -> None:
        super().__init__(energy.domain.n_columns, n_sweeps)
        self._energy = energy

    def _run(self) -> float:
        energy, rng = self._energy, np.random.default_rng(self._seed)

        def chains() -> Codes:
            codes = energy.baseline.sample(self.n_chains, rng, energy.domain.code_dtype)
            sweep(energy, codes, self.n_sweeps, np.random.SeedSequence(self._seed), n_jobs=1)
            return codes

        seconds, codes = timed(chains)
        score = energy.score(codes)
        self.mean_energy, self.error = float(score.mean()), float(score.std() / math.sqrt(len(score)))
        return seconds


class _OfficialSide(_Side):
    def __init__(self, worker: OfficialWorker, n_columns: int, n_sweeps: int) -> None:
        super().__init__(n_columns, n_sweeps)
        self._worker = worker

    def _run(self) -> float:
        answer = self._worker("gibbs", n_chains=self.n_chains, n_sweeps=self.n_sweeps, threads=1, seed=self._seed)
        self.mean_energy = answer["mean_energy"]
        self.error = answer["std_energy"] / math.sqrt(self.n_chains)
        return float(answer["seconds"])
