"""The parameters of training. Their names are those of the estimator and of the command line."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from energyboost.checks import boolean, choice, integer, real

Growth = Literal["best_first", "breadth_first"]
Refill = Literal["persistent", "restart"]
Objective = Literal["newton", "greedy_kl", "greedy_chi2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingConfig:
    """Parameters of NRGBoost training [alg:train].

    Parameters
    ----------
    n_trees : int
        Rounds of boosting, T.
    learning_rate : float
        Factor on the step that the line search finds, γ; above 0, at most 1.
    max_leaves : int
        Leaves per tree, J; 2 to 16,384.
    max_ratio : float
        Largest P/Q a leaf may have, R; above 1.
    min_samples_leaf : int
        Fewest training rows in a leaf; 0 allows leaves that only the model fills.
    feature_fraction : float
        Share of the columns, drawn anew for every leaf, that its split may use.
    objective : {"newton", "greedy_kl", "greedy_chi2"}
        What splits and leaf values are made for [tbl:discbgm]: NRGBoost's, or those of greedy multiplicative boosting.
    growth : {"best_first", "breadth_first"}
        Which leaf is split next: the one that gains most, or the oldest.
    line_search : bool
        Whether each step is chosen by line search; otherwise it is 1.
    uniform_mix : float
        Weight of the uniform distribution in the baseline f0.
    pool_size : int or "auto"
        Model rows kept for training, M; "auto" is 1.5 times the rows, at least 20,000.
    refresh : float
        Share of the pool dropped at random every round, p_refresh.
    n_chains : int
        Gibbs chains that refill the pool.
    refill : {"persistent", "restart"}
        Chains that live through the whole training, or (the paper's way) chains that start anew from training rows
        in every round.
    burn_in : int
        Sweeps discarded at the start of a restarted chain.
    """

    n_trees: int = 200
    learning_rate: float = 0.15
    max_leaves: int = 256
    max_ratio: float = 2.0
    min_samples_leaf: int = 0
    feature_fraction: float = 1.0
    objective: Objective = "newton"
    growth: Growth = "best_first"
    line_search: bool = True
    uniform_mix: float = 0.1
    pool_size: int | Literal["auto"] = "auto"
    refresh: float = 0.1
    n_chains: int = 16
    refill: Refill = "persistent"
    burn_in: int = 100

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        checked = {
            "n_trees": integer("n_trees", self.n_trees, 1, 1_000_000),
            "learning_rate": real("learning_rate", self.learning_rate, 0, 1, open_low=True),
            "max_leaves": integer("max_leaves", self.max_leaves, 2, 16_384),
            "max_ratio": real("max_ratio", self.max_ratio, 1, open_low=True),
            "min_samples_leaf": integer("min_samples_leaf", self.min_samples_leaf, 0),
            "feature_fraction": real("feature_fraction", self.feature_fraction, 0, 1, open_low=True),
            "objective": choice("objective", self.objective, get_args(Objective)),
            "growth": choice("growth", self.growth, get_args(Growth)),
            "line_search": boolean("line_search", self.line_search),
            "uniform_mix": real("uniform_mix", self.uniform_mix, 0, 1),
            "refresh": real("refresh", self.refresh, 0, 1),
            "n_chains": integer("n_chains", self.n_chains, 1, 65_536),
            "refill": choice("refill", self.refill, get_args(Refill)),
            "burn_in": integer("burn_in", self.burn_in, 0),
        }
        if not (isinstance(self.pool_size, str) and self.pool_size == "auto"):
            checked["pool_size"] = integer("pool_size", self.pool_size, 16, also=' or "auto"')
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def resolve_pool_size(self, n_rows: int) -> int:
        """The number of model rows to train with."""
        return max(20_000, n_rows * 3 // 2) if self.pool_size == "auto" else int(self.pool_size)


PARAMETERS = tuple(field.name for field in fields(BoostingConfig))
