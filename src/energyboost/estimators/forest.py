"""Density forests: normalised densities and independent rows, exactly."""

from collections.abc import Collection, Mapping
from typing import Any, Self

import numpy as np
from tqdm import tqdm

from energyboost.checks import RandomState, boolean, seed_sequence
from energyboost.density import TableDensity
from energyboost.estimators._questions import Questions
from energyboost.fitting.forest import PARAMETERS, Criterion, ForestConfig, Splitter, fit_forest
from energyboost.parallel import resolve_n_jobs
from energyboost.sampling.exact import Exact
from energyboost.tables import Unseen


class DensityForest(Questions):
    """One model of a whole table: the mean of density trees, in which every answer is exact.

    A density tree cuts the table's space into boxes and gives each the density of the training rows in it; a forest
    averages trees grown on bootstrap samples. Against `NRGBoost` it fits faster, draws independent rows, knows its
    normalised density, and sums out any number of missing cells exactly; its predictions are worse, and its rows less
    faithful. The models are those of the NRGBoost paper's appendix: density estimation trees (Ram and Gray 2011) and
    forests, and random forest density estimation.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees. One tree with ``bootstrap=False`` is the density estimation tree of Ram and Gray.
    max_leaves : int, default=4096
        Leaves per tree, 2 to 16,384.
    criterion : {"kl", "ise"}, default="kl"
        What a split raises most: the likelihood, or minus the integrated squared error.
    splitter : {"best", "random"}, default="best"
        The best split of the leaf that gains most; or random splits in the middle of leaves, which know nothing of the
        data (random forest density estimation).
    feature_fraction : float, default=1.0
        Share of the columns, drawn anew for every leaf, that its split may use.
    min_samples_leaf : int, default=0
        Fewest training rows in a leaf.
    bootstrap : bool, default=True
        Whether each tree sees as many rows as there are, drawn with replacement.
    max_bins, max_levels, ids, schema
        What becomes of columns, as in `NRGBoost`.
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
    n_trees_ : int
        Trees grown.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(170, 10, 2000).round()
    >>> people = pd.DataFrame({"height": height, "tall": np.where(height > 175, "yes", "no")})
    >>> forest = DensityForest(n_trees=20, max_leaves=64, random_state=0).fit(people)
    >>> forest.predict(pd.DataFrame({"height": [160.0, 190.0]}), target="tall")
    array(['no', 'yes'], dtype=object)
    >>> forest.sample(3, where={"tall": "yes"}, random_state=0)["tall"].tolist()
    ['yes', 'yes', 'yes']
    """

    def __init__(
        self,
        n_trees: int = 100,
        max_leaves: int = 4096,
        *,
        criterion: Criterion = "kl",
        splitter: Splitter = "best",
        feature_fraction: float = 1.0,
        min_samples_leaf: int = 0,
        bootstrap: bool = True,
        max_bins: int = 255,
        max_levels: int = 1000,
        ids: Collection[Any] | None = None,
        schema: Mapping[Any, Any] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.criterion = criterion
        self.splitter = splitter
        self.feature_fraction = feature_fraction
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_bins = max_bins
        self.max_levels = max_levels
        self.ids = ids
        self.schema = schema
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit the joint density of all columns of ``X``; there is no target, so ``y`` is not read.

        Rows count as often as ``sample_weight`` says.
        """
        config = ForestConfig(**{name: getattr(self, name) for name in PARAMETERS})
        verbose, n_jobs = boolean("verbose", self.verbose), resolve_n_jobs(self.n_jobs)
        schema, rows = self._table(X, sample_weight, self.schema)
        seed = int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0])
        with tqdm(total=config.n_trees, unit="tree", disable=not verbose) as bar:
            mixture = fit_forest(rows, schema.domain, config, seed, n_jobs, lambda _: bar.update())
        self._set_density(TableDensity(schema, Exact(mixture)))
        self._set_features()
        return self

    def sample(
        self,
        n: int = 1,
        *,
        where: Mapping[Any, Any] | None = None,
        avoid_missing: bool = False,
        n_trees: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """Draw independent rows: a frame of the training table's kind and dtypes. See :meth:`TableDensity.sample`."""
        return self._density().sample(
            n,
            where=where,
            avoid_missing=avoid_missing,
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
        random_state: RandomState = None,
    ) -> Any:
        """Draw missing cells given the known ones of each row, ``n`` times. See :meth:`TableDensity.complete`."""
        return self._density().complete(
            self._read(X), n, avoid_missing=avoid_missing, unseen=unseen, random_state=random_state, n_jobs=self.n_jobs
        )
