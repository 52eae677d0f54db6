"""The official package's side, in an environment of its own: a JSON request per line in, an answer per line out.

Nothing of energyboost is imported here. Tables and arrays come and go as .npz files.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nrgboost
import numpy as np
import pandas as pd
from nrgboost.distribution import ProductOfMarginalsDistribution
from nrgboost.domain import FiniteIntRange, FiniteIntSet, ProductDomain
from nrgboost.tree.ensemble import GenerativeBoostingTreeEstimator

from benchmarks.frames import read_frame, write_frame

PACKAGES = ("nrgboost", "numpy", "numba", "pandas")
COMPILE_ONLY = {"num_trees": 1, "max_leaves": 2, "num_model_samples": 1000}


class Worker:
    """What a request can ask for: each method is one, its parameters are the request's."""

    model: nrgboost.NRGBooster
    trees: GenerativeBoostingTreeEstimator

    def versions(self) -> dict[str, Any]:
        """The versions that are measured."""
        return {name: version(name) for name in PACKAGES}

    def fit(self, frame: str, params: dict[str, Any], seed: int, model: str) -> dict[str, Any]:
        """Fit a table and save the model.

        Every fit compiles anew what finds splits, also in a process that is warm: `compile_seconds` is what a
        fit with next to no work takes there.
        """
        table = read_frame(Path(frame))
        small = {**params, "num_trees": 3, "num_model_samples": 2000, "burn_in": 2}
        self._fit(table, small, seed)
        compile_seconds = min(self._fit(table, {**params, **COMPILE_ONLY}, seed)[1] for _ in range(2))
        self.model, seconds = self._fit(table, params, seed)
        self.model.save(model)
        return {"seconds": seconds, "compile_seconds": compile_seconds}

    def load(self, model: str) -> dict[str, Any]:
        """Take up a model that `fit` saved."""
        self.model = nrgboost.NRGBooster.load(model)
        return {"n_trees": self.model.booster.num_trees}

    def predict(self, frame: str, target: str, out: str) -> dict[str, Any]:
        """Predict a column: expected values, or the places of the likeliest categories."""
        table = read_frame(Path(frame))
        begin = time.perf_counter()
        guess = self.model.predict(table, target)
        if guess.ndim == 2:
            guess = guess.argmax(axis=1)
        seconds = time.perf_counter() - begin
        np.save(out, guess)
        return {"seconds": seconds}

    def staged_predict(self, frame: str, target: str, out: str) -> dict[str, Any]:
        """Expected values of a column after 1, 2, ... trees."""
        stages = self.model.predict(read_frame(Path(frame)), target, cumulative=True)
        np.save(out, np.stack(list(stages)[1:]))  # the first is without any tree
        return {}

    def sample(self, n: int, n_sweeps: int, threads: int, seed: int, out: str) -> dict[str, Any]:
        """Draw rows, each by sweeps from the baseline."""
        begin = time.perf_counter()
        table = self.model.sample(n, num_steps=n_sweeps, num_threads=threads, seed=seed)
        seconds = time.perf_counter() - begin
        write_frame(Path(out), table)
        return {"seconds": seconds}

    def build(self, arrays: str) -> dict[str, Any]:
        """Build a model from the domain, the baseline and the trees of another one."""
        with np.load(arrays, allow_pickle=False) as loaded:
            parts = dict(loaded)
        sizes = parts["sizes"].tolist()
        kinds = (FiniteIntRange if ordered else FiniteIntSet for ordered in parts["ordered"])
        domain = ProductDomain([kind(size) for kind, size in zip(kinds, sizes, strict=True)])
        marginals = np.split(parts["marginals"], np.cumsum(sizes)[:-1])
        nodes = np.split(np.ascontiguousarray(parts["nodes"]), np.cumsum(parts["n_nodes"])[:-1])
        values = np.split(parts["leaf_values"], np.cumsum(parts["n_leaves"])[:-1])
        trees = [
            {"domain": domain, "nodes": node.view(np.int64)[:, 0].copy(), "leaf_values": value.copy()}
            for node, value in zip(nodes, values, strict=True)
        ]
        baseline = ProductOfMarginalsDistribution(domain, marginals)
        self.trees = GenerativeBoostingTreeEstimator.deserialize({"trees": trees, "initial_model": baseline})
        return {"n_nodes": int(parts["n_nodes"].sum())}

    def energies(self, codes: str, out: str) -> dict[str, Any]:
        """Energies of rows of codes, and the log-conditionals of every column."""
        rows = np.load(codes)
        slices = {f"column_{j}": self.trees.predict(rows, slice_dims=[j]) for j in range(rows.shape[1])}
        np.savez(out, energy=self.trees.predict(rows), **slices)
        return {}

    def gibbs(self, n_chains: int, n_sweeps: int, threads: int, seed: int) -> dict[str, Any]:
        """Sweeps of chains from the baseline, and the energies where they end."""
        begin = time.perf_counter()
        states = self.trees.sample_points(n_sweeps, num_chains=n_chains, seed=seed, num_threads=threads)
        seconds = time.perf_counter() - begin
        energy = self.trees.predict(states.reshape(n_chains, n_sweeps, -1)[:, -1])
        return {"seconds": seconds, "mean_energy": float(energy.mean()), "std_energy": float(energy.std())}

    def _fit(self, table: pd.DataFrame, params: dict[str, Any], seed: int) -> tuple[nrgboost.NRGBooster, float]:
        """A model, and the seconds from the table to it."""
        begin = time.perf_counter()
        # a copy, because the fit takes entries out of what it is given
        model = nrgboost.NRGBooster.fit(nrgboost.Dataset(table), dict(params), seed=seed)
        return model, time.perf_counter() - begin


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed along the way must not mix with the answers
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
