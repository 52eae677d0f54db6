"""NRGBoost: boosted trees on the joint density of a table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

from energyboost.checks import RandomState
from energyboost.estimators._base import Boosting
from energyboost.estimators._questions import Questions
from energyboost.sampling.diagnostics import Diagnostics
from energyboost.sampling.protocol import Start
from energyboost.tables import Unseen


class NRGBoost(Questions, Boosting):
    """One model of a whole table: boosted trees on its joint density.

    Fit it on a frame with every column you have; then predict any column from the others, draw new rows, and score how
    likely rows are.

    Parameters
    ----------
    n_trees : int, default=200
        Rounds of boosting.
    learning_rate : float, default=0.15
        Factor on the step that the line search finds, above 0 and at most 1. Smaller steps want more trees.
    max_leaves : int, default=256
        Leaves per tree, 2 to 16,384. Larger tables bear more.
    max_ratio : float, default=2.0
        The most that a leaf may hold of the data relative to the model; the main regularisation.
    min_samples_leaf : int, default=0
        Fewest training rows in a leaf.
    feature_fraction : float, default=1.0
        Share of the columns, drawn anew for every leaf, that its split may use.
    objective : {"newton", "greedy_kl", "greedy_chi2"}, default="newton"
        What splits and leaf values are made for: NRGBoost's, or those of greedy multiplicative boosting, by the
        Kullback-Leibler or the chi-squared divergence.
    growth : {"best_first", "breadth_first"}, default="best_first"
        Which leaf is split next.
    line_search : bool, default=True
        Whether each tree's step is the one that raises the training likelihood most; otherwise it is 1.
    uniform_mix : float, default=0.1
        Weight of the uniform distribution in the baseline that boosting starts from.
    pool_size : int or "auto", default="auto"
        Model rows to train against; "auto" is 1.5 times the rows, at least 20,000.
    refresh : float, default=0.1
        Share of the pool replaced at random every round.
    n_chains : int, default=16
        Gibbs chains that renew the pool.
    refill : {"persistent", "restart"}, default="persistent"
        Chains that live through the whole training, or the paper's: chains that start anew from training rows in every
        round, after ``burn_in`` sweeps.
    burn_in : int, default=100
        Sweeps discarded at the start of a restarted chain.
    pairs : "auto" or list of pairs of column names, default="auto"
        Columns that sampling draws jointly, besides drawing every column in turn: those that depend on each other so
        much that chains would move slowly. "auto" finds them in the table; ``pairs_`` says which.
    max_bins : int, default=255
        Most codes for a column of numbers; a number with fewer distinct values keeps each of them.
    max_levels : int, default=1000
        Most levels for a column of labels.
    ids : list of column names, optional
        Columns that are left out of the model, and made anew in sampled rows.
    schema : dict, optional
        What single columns should become instead of what would be chosen for them: from their names to "drop", "id",
        "category", or a dict with "codec", "bins", "ordered" or "levels". docs/tables.md says what each does.
    verbose : bool, default=False
        Show a progress bar.
    n_jobs : int or None, default=None
        Threads; None means all processors. Results do not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        Same seed, same model.

    Attributes
    ----------
    density_ : TableDensity
        The fitted density itself.
    schema_ : Schema
        What became of each column, and why; print it.
    history_ : list of dict
        One record per round: leaves, step, gain in log-likelihood, log Z, acceptance.
    pairs_ : list of dict
        The columns drawn jointly, and how strongly they depend on each other in the table: 0 as by chance, 1 if one
        determines the other.
    n_trees_ : int
        Trees grown; fewer than ``n_trees`` if no leaf could be split any more.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(170, 10, 2000).round()
    >>> people = pd.DataFrame({"height": height, "tall": np.where(height > 175, "yes", "no")})
    >>> model = NRGBoost(n_trees=20, max_leaves=8, random_state=0).fit(people)
    >>> model.predict(pd.DataFrame({"height": [160.0, 190.0]}), target="tall")
    array(['no', 'yes'], dtype=object)
    >>> model.sample(3, random_state=0).dtypes.equals(people.dtypes)
    True
    """

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit the joint density of all columns of ``X``; there is no target, so ``y`` is not read.

        Rows count as often as ``sample_weight`` says.
        """
        self._fit_density(X, sample_weight, self.schema)
        self._set_features()
        return self

    def sample(
        self,
        n: int = 1,
        *,
        where: Mapping[Any, Any] | None = None,
        avoid_missing: bool = False,
        n_sweeps: int | Literal["auto"] = "auto",
        start: Start = "pool",
        temperature: float = 1.0,
        n_trees: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """Draw new rows: a frame of the training table's kind and dtypes. See :meth:`TableDensity.sample`."""
        return self._density().sample(
            n,
            where=where,
            avoid_missing=avoid_missing,
            n_sweeps=n_sweeps,
            start=start,
            temperature=temperature,
            n_trees=n_trees,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    def complete(
        self,
        X: Any,
        n: int = 1,
        *,
        avoid_missing: bool = False,
        unseen: Unseen = "error",
        n_sweeps: int | Literal["auto"] = "auto",
        random_state: RandomState = None,
    ) -> Any:
        """Draw missing cells given the known ones of each row, ``n`` times. See :meth:`TableDensity.complete`."""
        return self._density().complete(
            self._read(X),
            n,
            avoid_missing=avoid_missing,
            unseen=unseen,
            n_sweeps=n_sweeps,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    def diagnostics(self) -> Diagnostics:
        """How well chains mix and log Z is known, and what to do about it. See :meth:`TableDensity.diagnostics`."""
        found = self._density().diagnostics(n_jobs=self.n_jobs)
        return replace(found, acceptance=tuple(record["acceptance"] for record in self.history_))
