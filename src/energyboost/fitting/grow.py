"""Growing one tree of a round."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from energyboost.fitting.config import BoostingConfig
from energyboost.kernels.arrays import Columns
from energyboost.kernels.grow import Limits, Reference, grow
from energyboost.model.energy import Codes
from energyboost.model.tree import Tree, from_splits
from energyboost.sampling.moves import MOST_ROWS
from energyboost.sampling.pool import draw_rows

Floats = npt.NDArray[np.float64]


NO_WEIGHT = np.empty(0, np.int32)
MOST_WEIGHT = 1 << 30
"""The sum of all weights: counts are 32-bit integers."""
MOST_REPEATED = 1 << 22
"""Rows that weights are written out to, where nothing else will do."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Training rows: their codes, and how often each counts (empty: once)."""

    codes: Codes
    weight: npt.NDArray[np.int32] = field(default_factory=lambda: NO_WEIGHT)
    unit: float = 1.0  # what a row of weight 1 counts for

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def weighted(cls, codes: Codes, weight: Floats) -> "Rows":
        """Rows with weights of any kind: whole numbers as they are, others as finely as counts allow."""
        total, unit = float(weight.sum()), 1.0
        if (weight != np.rint(weight)).any() or total > MOST_WEIGHT:
            unit = min(MOST_WEIGHT / 2 / total, 65_536 / float(weight[weight > 0].min()))
        return cls(codes, np.rint(weight * unit).astype(np.int32), unit)

    def without_weights(self) -> Codes:
        """Codes that stand for these rows: each as often as it counts, or, if that is too many, some drawn so."""
        if not len(self.weight):
            return self.codes
        if self.unit == 1 and self.weight.sum(dtype=np.int64) <= MOST_REPEATED:
            return np.repeat(self.codes, self.weight, axis=0)
        return self.codes[draw_rows(len(self.codes), self.weight, MOST_ROWS, np.random.default_rng(0))]


@dataclass(frozen=True, slots=True)
class GrownTree:
    """A partition of the domain with what it holds of the data and of the model."""

    tree: Tree
    p: Floats  # share of the training rows in each leaf
    q: Floats  # share of the model in each leaf
    pool_leaf: npt.NDArray[np.int64]  # leaf of each pool row


def grow_tree(
    columns: Columns, rows: Rows, reference: Reference, config: BoostingConfig, seed: np.random.SeedSequence
) -> GrownTree:
    """Grow a tree on training rows against a reference; leaf values stay zero."""
    rng = np.random.default_rng(seed)
    limits = Limits(
        config.max_leaves,
        float(config.max_ratio),
        round(config.min_samples_leaf * rows.unit),
        config.growth == "breadth_first",
        config.objective == "greedy_kl",
    )
    growing, n_leaves = grow(
        columns,
        rows.codes,
        rows.weight,
        reference,
        limits,
        draw_columns(columns, config.feature_fraction, config.max_leaves, rng),
    )
    n_splits = n_leaves - 1
    tree, old = from_splits(
        columns,
        growing.split_leaf[:n_splits],
        growing.column[:n_splits],
        growing.threshold[:n_splits],
        growing.mask[:n_splits],
    )
    new = np.empty(n_leaves, np.int64)
    new[old] = np.arange(n_leaves)
    pool_leaf = np.empty(len(reference.codes), np.int64)
    first, last = growing.pool_segment[:n_leaves].T
    by_leaf = np.argsort(first, kind="stable")
    by_leaf = by_leaf[(last - first)[by_leaf] > 0]
    pool_leaf[growing.pool_rows] = np.repeat(new[by_leaf], (last - first)[by_leaf])
    p, q = growing.count[old].astype(float), growing.reference[old]
    return GrownTree(tree, p / p.sum(), q / q.sum(), pool_leaf)


def draw_columns(columns: Columns, fraction: float, max_leaves: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """For every leaf that will be looked at, the columns its split may use."""
    splittable = np.flatnonzero(columns.size > 1)
    n_drawn = max(1, round(fraction * len(splittable)))
    if n_drawn >= len(splittable):
        return np.empty((0, len(columns.size)), np.bool_)
    allowed = np.zeros((2 * max_leaves, len(columns.size)), np.bool_)
    drawn = np.broadcast_to(np.arange(len(splittable)) < n_drawn, (len(allowed), len(splittable)))
    allowed[:, splittable] = rng.permuted(drawn, axis=1)
    return allowed
