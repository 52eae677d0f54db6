"""NRGBoost: boosted trees on the joint density of a table."""

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from energyboost.checks import boolean
from energyboost.density import RandomState, Start, TableDensity, seed_sequence
from energyboost.errors import DataError, ParameterError
from energyboost.fitting.boosting import boost, start
from energyboost.fitting.config import PARAMETERS, BoostingConfig, Growth, Refill
from energyboost.model.energy import Codes
from energyboost.parallel import resolve_n_jobs
from energyboost.sampling.diagnostics import Diagnostics
from energyboost.sampling.moves import Moves, Pair, choose_pairs, given_pairs
from energyboost.tables import Schema, encode

Floats = npt.NDArray[np.float64]


class NRGBoost(DensityMixin, BaseEstimator):
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

    density_: TableDensity
    schema_: Schema
    history_: list[dict[str, Any]]
    pairs_: list[dict[str, Any]]
    n_trees_: int

    def __init__(
        self,
        n_trees: int = 200,
        learning_rate: float = 0.15,
        max_leaves: int = 256,
        *,
        max_ratio: float = 2.0,
        min_samples_leaf: int = 0,
        feature_fraction: float = 1.0,
        growth: Growth = "best_first",
        line_search: bool = True,
        uniform_mix: float = 0.1,
        pool_size: int | Literal["auto"] = "auto",
        refresh: float = 0.1,
        n_chains: int = 16,
        refill: Refill = "persistent",
        burn_in: int = 100,
        pairs: Literal["auto"] | Sequence[tuple[Any, Any]] = "auto",
        max_bins: int = 255,
        max_levels: int = 1000,
        ids: Collection[Any] | None = None,
        schema: Mapping[Any, Any] | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_ratio = max_ratio
        self.min_samples_leaf = min_samples_leaf
        self.feature_fraction = feature_fraction
        self.growth = growth
        self.line_search = line_search
        self.uniform_mix = uniform_mix
        self.pool_size = pool_size
        self.refresh = refresh
        self.n_chains = n_chains
        self.refill = refill
        self.burn_in = burn_in
        self.pairs = pairs
        self.max_bins = max_bins
        self.max_levels = max_levels
        self.ids = ids
        self.schema = schema
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit the joint density of all columns of ``X``; there is no target, so ``y`` is not read."""
        config = BoostingConfig(**{name: getattr(self, name) for name in PARAMETERS})
        verbose, n_jobs = boolean("verbose", self.verbose), resolve_n_jobs(self.n_jobs)
        schema = Schema.infer(
            X, max_bins=self.max_bins, max_levels=self.max_levels, ids=self.ids, overrides=self.schema
        )
        codes = encode(schema, X)
        if (codes == codes[0]).all():
            raise DataError(
                f"the table has {len(codes):,} row{'s'[: len(codes) > 1]}, all alike: a density needs at least 2 "
                "distinct rows"
            )
        seed = int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0])
        pairs = self._choose_pairs(schema, codes, n_jobs)
        moves = Moves.of(schema.domain, pairs)
        state, history = start(codes, schema.domain, config), []
        rounds = boost(state, codes, config, seed, n_jobs)
        for latest, info in tqdm(rounds, total=config.n_trees, unit="tree", disable=not verbose):
            state = latest
            history.append(asdict(info))
        if not history:
            warnings.warn(
                "no split was allowed: the model is its baseline, in which columns are independent; lower "
                "min_samples_leaf or raise max_ratio if that is not meant",
                stacklevel=2,
            )
        elif len(history) < config.n_trees:
            warnings.warn(
                f"training ended after {len(history)} of {config.n_trees} trees: then no split was allowed any more; "
                "lower learning_rate or raise max_ratio if more are wanted",
                stacklevel=2,
            )
        self.schema_, self.history_ = schema, history
        self.density_ = TableDensity(schema, state.energy, state.pool.codes, state.pool.chains, moves)
        names = schema.names
        self.pairs_ = [
            {"columns": tuple(names[j] for j in pair.columns), "dependence": pair.dependence} for pair in pairs
        ]
        self.n_trees_ = state.energy.n_trees
        self.n_features_in_ = len(schema.columns)
        if schema.kind != "numpy" and all(isinstance(name, str) for name in schema.names):
            self.feature_names_in_ = np.asarray(schema.names, object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        return self

    def sample(
        self,
        n: int = 1,
        *,
        n_sweeps: int | Literal["auto"] = "auto",
        start: Start = "pool",
        temperature: float = 1.0,
        n_trees: int | None = None,
        random_state: RandomState = None,
    ) -> Any:
        """Draw new rows: a frame of the training table's kind and dtypes. See :meth:`TableDensity.sample`."""
        return self._density().sample(
            n,
            n_sweeps=n_sweeps,
            start=start,
            temperature=temperature,
            n_trees=n_trees,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )

    def predict(self, X: Any, target: Any, *, n_trees: int | None = None) -> npt.NDArray[Any]:
        """Predict any column from the others: the mean of a number, the likeliest level of a label."""
        return self._density().predict(X, target, n_trees=n_trees, n_jobs=self.n_jobs)

    def staged_predict(self, X: Any, target: Any, *, stages: Sequence[int] | None = None) -> Iterator[npt.NDArray[Any]]:
        """Predictions after each number of trees in ``stages`` (1, 2, ... unless told), in one pass over the trees."""
        return self._density().staged_predict(X, target, stages=stages, n_jobs=self.n_jobs)

    def predict_proba(self, X: Any, target: Any, *, n_trees: int | None = None) -> Floats:
        """Probabilities of the levels of any column that has levels, in the order of :meth:`levels`."""
        return self._density().predict_proba(X, target, n_trees=n_trees, n_jobs=self.n_jobs)

    def staged_predict_proba(self, X: Any, target: Any, *, stages: Sequence[int] | None = None) -> Iterator[Floats]:
        """Probabilities after each number of trees in ``stages`` (1, 2, ... unless told), in one pass."""
        return self._density().staged_predict_proba(X, target, stages=stages, n_jobs=self.n_jobs)

    def levels(self, target: Any) -> npt.NDArray[Any]:
        """The levels of a column, in the order of the columns of :meth:`predict_proba`."""
        return self._density().levels(target)

    def score_samples(self, X: Any, *, normalize: bool = True, n_trees: int | None = None) -> Floats:
        """Log-density of each row, per unit of binned columns and per level of others; or, unnormalised, its energy."""
        return self._density().score_samples(X, normalize=normalize, n_trees=n_trees, n_jobs=self.n_jobs)

    def diagnostics(self) -> Diagnostics:
        """How well chains mix and log Z is known, and what to do about it. See :meth:`TableDensity.diagnostics`."""
        found = self._density().diagnostics(n_jobs=self.n_jobs)
        return replace(found, acceptance=tuple(record["acceptance"] for record in self.history_))

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-density of the rows of ``X``."""
        scores = self.score_samples(X)
        if not len(scores):
            raise DataError("the table has no rows: there is no mean log-density of none")
        return float(scores.mean())

    def _choose_pairs(self, schema: Schema, codes: Codes, n_jobs: int) -> tuple[Pair, ...]:
        if isinstance(self.pairs, str) and self.pairs == "auto":
            return choose_pairs(codes, schema.domain, n_jobs)
        if isinstance(self.pairs, str) or not isinstance(self.pairs, Iterable):
            raise ParameterError(f'pairs is "auto" or a list of pairs of column names; got {self.pairs!r}')
        wanted = []
        for pair in self.pairs:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise ParameterError(f"each of pairs is two column names, such as ('city', 'country'); got {pair!r}")
            a, b = sorted(schema.index_of(name) for name in pair)
            if a == b:
                raise ParameterError(f"each of pairs is two different columns; got {pair!r}")
            wanted.append((a, b))
        return given_pairs(codes, schema.domain, wanted, n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _density(self) -> TableDensity:
        check_is_fitted(self, "density_")
        return self.density_
