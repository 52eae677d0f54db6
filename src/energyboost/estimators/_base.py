"""What all estimators share: the parameters of training, and training itself."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from energyboost.checks import RandomState, boolean, seed_sequence
from energyboost.density import TableDensity
from energyboost.errors import DataError, ParameterError, warn
from energyboost.estimators._inputs import checked_weight, readable
from energyboost.fitting.boosting import boost, start
from energyboost.fitting.config import PARAMETERS, BoostingConfig, Growth, Objective, Refill
from energyboost.fitting.grow import Rows
from energyboost.model.energy import Codes
from energyboost.parallel import resolve_n_jobs
from energyboost.sampling.boosted import Boosted
from energyboost.sampling.moves import Moves, Pair, choose_pairs, given_pairs
from energyboost.tables import Name, Schema, encode, open_table, take_rows
from energyboost.tables.words import listing


class Fitted(BaseEstimator):
    """What is known of a table once a model of it is fitted."""

    density_: TableDensity
    schema_: Schema
    n_trees_: int
    n_features_in_: int

    max_bins: int
    max_levels: int
    ids: Collection[Any] | None
    schema: Mapping[Any, Any] | None

    def _table(self, X: Any, sample_weight: Any, overrides: Mapping[Any, Any] | None) -> tuple[Schema, Rows]:
        """What became of the columns of a training table, and its rows as codes."""
        X, weight = readable(X), None
        if sample_weight is not None:
            weight = checked_weight(sample_weight, open_table(X).n_rows)
            X, weight = take_rows(X, np.flatnonzero(weight)), weight[weight > 0]
        schema = Schema.infer(
            X,
            max_bins=self.max_bins,
            max_levels=self.max_levels,
            ids=self.ids,
            overrides=overrides,
            weights=weight,
        )
        codes = encode(schema, X)
        if (codes == codes[0]).all():
            raise DataError(
                f"the table has {len(codes):,} row{'s'[: len(codes) > 1]}, all alike (n_samples={len(codes)}): a "
                "density needs at least 2 distinct rows"
            )
        return schema, Rows(codes) if weight is None else Rows.weighted(codes, weight)

    def _set_density(self, density: TableDensity) -> None:
        self.density_, self.schema_, self.n_trees_ = density, density.schema, density.model.n_trees

    def _set_features(self, target: Name | None = None) -> None:
        """What scikit-learn wants to know of the columns of ``X``: all of the training table but the target."""
        names = [column.name for column in self.schema_.arranged if target is None or column.name != target]
        self.n_features_in_ = len(names)
        if self.schema_.kind != "numpy" and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def _read(self, X: Any, n_absent: int = 0) -> Any:
        """A query as tables read it; an array has as many columns as X had in fit, or lacks what is asked for."""
        X, n = readable(X), self.n_features_in_
        if isinstance(X, np.ndarray) and X.ndim == 2 and not n - n_absent <= X.shape[1] <= n:
            names = listing((column.name for column in self.schema_.arranged), 20)
            but = ", or all but the target" if n_absent else ""
            raise DataError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {n} features as input, those of "
                f"its training table ({names}){but}"
            )
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _density(self) -> TableDensity:
        check_is_fitted(self, "density_")
        return self.density_


class Boosting(Fitted):
    """Parameters of training, the same for all estimators; see :class:`NRGBoost`."""

    history_: list[dict[str, Any]]
    pairs_: list[dict[str, Any]]

    def __init__(
        self,
        n_trees: int = 200,
        learning_rate: float = 0.15,
        max_leaves: int = 256,
        *,
        max_ratio: float = 2.0,
        min_samples_leaf: int = 0,
        feature_fraction: float = 1.0,
        objective: Objective = "newton",
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
        self.objective = objective
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

    def _fit_density(self, X: Any, sample_weight: Any = None, overrides: Mapping[Any, Any] | None = None) -> None:
        """Fit the joint density of all columns of a table."""
        config = BoostingConfig(**{name: getattr(self, name) for name in PARAMETERS})
        verbose, n_jobs = boolean("verbose", self.verbose), resolve_n_jobs(self.n_jobs)
        schema, rows = self._table(X, sample_weight, overrides)
        seed = int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0])
        pairs = self._choose_pairs(schema, rows.without_weights(), n_jobs)
        state, history = start(rows, schema.domain, config), []
        rounds = boost(state, rows, config, seed, n_jobs)
        for latest, info in tqdm(rounds, total=config.n_trees, unit="tree", disable=not verbose):
            state = latest
            history.append(asdict(info))
        if not history:
            warn(
                "no split was allowed: the model is its baseline, in which columns are independent; lower "
                "min_samples_leaf or raise max_ratio if that is not meant",
            )
        elif len(history) < config.n_trees:
            warn(
                f"training ended after {len(history)} of {config.n_trees} trees: then no split was allowed any more; "
                "lower learning_rate or raise max_ratio if more are wanted",
            )
        self.history_ = history
        names = schema.names
        self.pairs_ = [
            {"columns": tuple(names[j] for j in pair.columns), "dependence": pair.dependence} for pair in pairs
        ]
        moves, texts = Moves.of(schema.domain, pairs), tuple(map(str, names))
        model = Boosted(state.energy, state.pool.codes, state.pool.chains, moves, texts)
        self._set_density(TableDensity(schema, model))

    @classmethod
    def _of(cls, model: "Boosting", **own: Any) -> Self:
        """An estimator with the parameters and the density of a fitted one."""
        if not isinstance(model, Boosting):
            raise ParameterError(f"from_fitted takes a fitted NRGBoost; got {type(model).__name__}")
        density = model._density()
        made = cls(**{name: getattr(model, name) for name in signature(Boosting).parameters}, **own)
        made.history_, made.pairs_ = model.history_, model.pairs_
        made._set_density(density)
        return made

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
