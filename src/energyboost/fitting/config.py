"""The parameters of training. Their names are those of the estimator and of the command line."""

from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral, Real
from typing import Literal

import numpy as np

from energyboost.errors import ParameterError

Growth = Literal["best_first", "breadth_first"]
Refill = Literal["persistent", "restart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingConfig:
    """Parameters of NRGBoost training [alg:train].

    Parameters
    ----------
    n_trees : int
        Rounds of boosting, T.
    learning_rate : float
        Factor on the step that the line search finds, γ.
    max_leaves : int
        Leaves per tree, J; 2 to 16,384.
    max_ratio : float
        Largest P/Q a leaf may have, R; above 1.
    min_samples_leaf : int
        Fewest training rows in a leaf; 0 allows leaves that only the model fills.
    feature_fraction : float
        Share of the columns, drawn anew for every leaf, that its split may use.
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
        for name, low, high in (
            ("n_trees", 1, 1_000_000),
            ("max_leaves", 2, 16_384),
            ("min_samples_leaf", 0, None),
            ("n_chains", 1, 65_536),
            ("burn_in", 0, None),
        ):
            object.__setattr__(self, name, _integer(name, getattr(self, name), low, high))
        if self.pool_size != "auto":
            size = _integer("pool_size", self.pool_size, 16, None, also=' or "auto"')
            object.__setattr__(self, "pool_size", size)
        for name, least, most, open_low in (
            ("learning_rate", 0, None, True),
            ("max_ratio", 1, None, True),
            ("feature_fraction", 0, 1, True),
            ("uniform_mix", 0, 1, False),
            ("refresh", 0, 1, False),
        ):
            object.__setattr__(self, name, _real(name, getattr(self, name), least, most, open_low))
        for name, choices in (
            ("growth", ("best_first", "breadth_first")),
            ("refill", ("persistent", "restart")),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise ParameterError(f"{name} is one of {', '.join(map(repr, choices))}; got {value!r}")
        if not isinstance(self.line_search, bool | np.bool_):
            raise ParameterError(f"line_search is True or False; got {self.line_search!r}")

    def resolve_pool_size(self, n_rows: int) -> int:
        """The number of model rows to train with."""
        return max(20_000, n_rows * 3 // 2) if self.pool_size == "auto" else int(self.pool_size)


PARAMETERS = tuple(field.name for field in fields(BoostingConfig))


def _integer(name: str, value: object, low: int, high: int | None, also: str = "") -> int:
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= low and (high is None or number <= high):
            return number
    span = f"of at least {low:,}" if high is None else f"from {low:,} to {high:,}"
    raise ParameterError(f"{name} is a whole number {span}{also}; got {value!r}")


def _real(name: str, value: object, low: float, high: float | None, open_low: bool) -> float:
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        above_low = number > low if open_low else number >= low
        if above_low and isfinite(number) and (high is None or number <= high):
            return number
    above = f"above {low:g}" if open_low else f"of at least {low:g}"
    span = above if high is None else f"{above} and at most {high:g}"
    raise ParameterError(f"{name} is a number {span}; got {value!r}")
