"""Density forests: trees grown on bootstrap samples against the uniform distribution, or at random [app:det]."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from energyboost.checks import boolean, choice, integer, real
from energyboost.fitting.grow import Rows, draw_columns
from energyboost.kernels.arrays import Columns
from energyboost.kernels.grow import Limits, Reference, grow, grow_at_random
from energyboost.model.domain import Domain
from energyboost.model.energy import columns_of
from energyboost.model.mixture import Mixture
from energyboost.model.tree import Tree, from_splits
from energyboost.parallel import map_blocks

Criterion = Literal["kl", "ise"]
Splitter = Literal["best", "random"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestConfig:
    """Parameters of density forests [app:det].

    Parameters
    ----------
    n_trees : int
        Number of trees.
    max_leaves : int
        Leaves per tree, 2 to 16,384.
    criterion : {"kl", "ise"}
        What a split raises most: the likelihood [eq:det-kl-split], or minus the integrated squared error
        [eq:det-ise-split].
    splitter : {"best", "random"}
        The best split of the leaf that gains most, or random splits in the middle of leaves, oldest first (RFDE).
    feature_fraction : float
        Share of the columns, drawn anew for every leaf, that its split may use.
    min_samples_leaf : int
        Fewest training rows in a leaf.
    bootstrap : bool
        Whether each tree sees as many rows as there are, drawn with replacement.
    """

    n_trees: int = 100
    max_leaves: int = 4096
    criterion: Criterion = "kl"
    splitter: Splitter = "best"
    feature_fraction: float = 1.0
    min_samples_leaf: int = 0
    bootstrap: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        checked = {
            "n_trees": integer("n_trees", self.n_trees, 1, 1_000_000),
            "max_leaves": integer("max_leaves", self.max_leaves, 2, 16_384),
            "criterion": choice("criterion", self.criterion, get_args(Criterion)),
            "splitter": choice("splitter", self.splitter, get_args(Splitter)),
            "feature_fraction": real("feature_fraction", self.feature_fraction, 0, 1, open_low=True),
            "min_samples_leaf": integer("min_samples_leaf", self.min_samples_leaf, 0),
            "bootstrap": boolean("bootstrap", self.bootstrap),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


PARAMETERS = tuple(field.name for field in fields(ForestConfig))


def fit_forest(
    rows: Rows,
    domain: Domain,
    config: ForestConfig,
    seed: int,
    n_jobs: int | None = 1,
    done: Callable[[int], object] = lambda n_trees: None,
) -> Mixture:
    """Grow all trees, in threads; ``done`` is called with the number of trees after each."""
    columns, finished = columns_of(domain), []

    def one(number: int) -> tuple[Tree, Floats]:
        grown = _grow_tree(columns, rows, config, np.random.SeedSequence([seed, number]))
        finished.append(number)
        done(len(finished))
        return grown

    grown = map_blocks(one, range(config.n_trees), n_jobs)
    return Mixture(domain, tuple(tree for tree, _ in grown), tuple(share for _, share in grown))


def _grow_tree(columns: Columns, rows: Rows, config: ForestConfig, seed: np.random.SeedSequence) -> tuple[Tree, Floats]:
    """A tree whose leaves have the density of (a bootstrap sample of) the rows, and the share of each leaf."""
    for_rows, for_splits = (np.random.default_rng(stream) for stream in seed.spawn(2))
    weight = rows.weight
    if config.bootstrap:
        chance = weight / weight.sum(dtype=np.int64) if len(weight) else None
        drawn = for_rows.choice(len(rows), len(rows), p=chance)
        weight = np.bincount(drawn, minlength=len(rows)).astype(np.int32)
    uniform = np.zeros(columns.start[-1])
    for first, size in zip(columns.start, columns.size, strict=False):
        uniform[first : first + size] = 1 / size
    least = round(config.min_samples_leaf * (1 if config.bootstrap else rows.unit))
    limits = Limits(config.max_leaves, np.inf, least, False, config.criterion == "kl")
    reference = Reference(np.empty((0, rows.codes.shape[1]), rows.codes.dtype), uniform)
    if config.splitter == "best":
        allowed = draw_columns(columns, config.feature_fraction, config.max_leaves, for_splits)
        growing, n_leaves = grow(columns, rows.codes, weight, reference, limits, allowed)
    else:
        most_levels = int(columns.size[~columns.ordered].max(initial=0))
        uniforms = for_splits.random((2 * config.max_leaves, 2 + most_levels))
        growing, n_leaves = grow_at_random(columns, rows.codes, weight, limits, uniforms)
    n_splits = n_leaves - 1
    tree, old = from_splits(
        columns, growing.split_leaf[:n_splits], growing.column[:n_splits], growing.threshold[:n_splits],
        growing.mask[:n_splits],
    )  # fmt: skip
    share = growing.count[old] / growing.count[:n_leaves].sum()
    return tree.with_values(share / growing.reference[old]), share  # [eq:optimal-v-det]
