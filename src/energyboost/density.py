"""The density of a table: a schema and an energy, and the questions that can be asked of them."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from energyboost.checks import choice, integer, real
from energyboost.errors import DataError, ParameterError
from energyboost.model.energy import Codes, Energy, Floats
from energyboost.sampling.annealing import LogZ, anneal, batch_size_for
from energyboost.sampling.diagnostics import MOST_SWEEPS, Diagnostics, Mixing, watch
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import SINGLE, Moves
from energyboost.sampling.pool import first_log_z
from energyboost.tables import (
    Categories,
    OrderedLevels,
    QuantileBins,
    Schema,
    decode,
    encode,
    encode_query,
    levels,
    numbers_to_values,
)

Start = Literal["pool", "baseline"]
RandomState = int | np.random.Generator | np.random.RandomState | None

BASELINE_SWEEPS = 100
"""From rows that are not of the model yet, as in the paper."""
RELIABLE = 0.1
"""The standard error up to which annealing is believed against the log Z carried along."""
LEAST_SWEEPS = 3
"""From pool rows, which are of the model already: they only have to part."""


@dataclass(frozen=True, slots=True, eq=False)
class TableDensity:
    """A fitted density over the rows of a table.

    Parameters
    ----------
    schema : Schema
        How cells become codes.
    energy : Energy
        The unnormalised log-probability of a row of codes.
    pool : array of shape (n_pool, n_columns)
        Model rows that training ended with; where sampling starts from.
    chains : array of shape (n_chains, n_columns)
        The last states of the chains that renewed the pool.
    moves : Moves
        The pairs of columns that chains draw jointly.
    """

    schema: Schema
    energy: Energy
    pool: Codes
    chains: Codes
    moves: Moves = SINGLE
    _measured: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # once, when first asked for

    def sample(
        self,
        n: int = 1,
        *,
        n_sweeps: int | Literal["auto"] = "auto",
        start: Start = "pool",
        temperature: float = 1.0,
        n_trees: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = 1,
    ) -> Any:
        """Draw new rows: a frame of the training table's kind and dtypes.

        Parameters
        ----------
        n : int
            Number of rows.
        n_sweeps : int or "auto"
            Gibbs sweeps that each row goes through. "auto" is 3 from the pool, as long as it has a row for each row
            asked for: these are rows of the model already. Where several chains must start from one row, it is as many
            as make them forget it, which is measured once per model, up to 100; it warns if more were needed. From the
            baseline, at another temperature or with fewer trees, it is 100.
        start : {"pool", "baseline"}
            Where each row's chain starts: at a row of the pool that training ended with, or at a row of the
            baseline f0, as in the paper.
        temperature : float
            Above 1 flattens the density, below 1 sharpens it.
        n_trees : int, optional
            Use only the first trees.
        random_state : int, Generator, RandomState or None
            Same seed, same rows.
        n_jobs : int
            Threads; the rows do not depend on it.

        Notes
        -----
        Every row ends a Gibbs chain of its own. From the pool, chains start at rows drawn without replacement; where
        more rows are asked for than the pool holds, several chains start at the same row and part in their sweeps.
        """
        n = integer("n", n, 0)
        n_trees = self._check_trees(n_trees)
        choice("start", start, get_args(Start))
        temperature = real("temperature", temperature, 0, open_low=True)
        if isinstance(n_sweeps, str) and n_sweeps == "auto":
            # pool rows are of the whole model at temperature 1, and of no other
            from_pool = start == "pool" and temperature == 1 and n_trees == self.energy.n_trees and len(self.pool) > 0
            n_sweeps = BASELINE_SWEEPS
            if from_pool:
                n_sweeps = LEAST_SWEEPS if n <= len(self.pool) else self._sweeps_to_forget(n_jobs)
        n_sweeps = integer("n_sweeps", n_sweeps, 1, also=' or "auto"')
        for_starts, for_sweeps, for_cells = seed_sequence(random_state).spawn(3)
        rng = np.random.default_rng(for_starts)
        if start == "baseline" or not len(self.pool):
            codes = self.energy.baseline.sample(n, rng, self.schema.domain.code_dtype)
        else:
            codes = self.pool[_spread(n, len(self.pool), rng)]
        sweep(
            self.energy,
            codes,
            n_sweeps,
            for_sweeps,
            moves=self.moves,
            n_trees=n_trees,
            temperature=temperature,
            n_jobs=n_jobs,
        )
        return decode(self.schema, codes, np.random.default_rng(for_cells))

    def predict(self, X: Any, target: Any, *, n_trees: int | None = None, n_jobs: int | None = 1) -> npt.NDArray[Any]:
        """The best single guess of a column given the others: the mean of a number, the likeliest level of a label.

        The column need not be in ``X``; if it is, it is not read.
        """
        stage = self._check_trees(n_trees)
        return next(self.staged_predict(X, target, stages=[stage], n_jobs=n_jobs))

    def staged_predict(
        self, X: Any, target: Any, *, stages: Sequence[int] | None = None, n_jobs: int | None = 1
    ) -> Iterator[npt.NDArray[Any]]:
        """Predictions after each number of trees in ``stages`` (1, 2, ... unless told), in one pass over the trees."""
        column = self.schema.index_of(target)
        codec = self.schema.columns[column].codec
        labels = isinstance(codec, Categories | OrderedLevels)
        known = self._known(column)
        names = levels(self.schema, column) if labels else None

        def likeliest(probability: Floats) -> npt.NDArray[np.int64]:
            return np.asarray(probability[:, known].argmax(axis=1))

        def mean(probability: Floats) -> Floats:
            share = probability[:, known]
            return np.asarray(share @ codec.centres[known] / share.sum(axis=1))

        guesses = self._staged(X, column, stages, likeliest if labels else mean, n_jobs)
        return (numbers_to_values(self.schema, column, guess) if names is None else names[guess] for guess in guesses)

    def predict_proba(self, X: Any, target: Any, *, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """Probabilities of the levels of a column given the others, in the order of :meth:`levels`."""
        stage = self._check_trees(n_trees)
        return next(self.staged_predict_proba(X, target, stages=[stage], n_jobs=n_jobs))

    def staged_predict_proba(
        self, X: Any, target: Any, *, stages: Sequence[int] | None = None, n_jobs: int | None = 1
    ) -> Iterator[Floats]:
        """Probabilities after each number of trees in ``stages`` (1, 2, ... unless told), in one pass."""
        column = self.schema.index_of(target)
        if isinstance(self.schema.columns[column].codec, QuantileBins):
            raise DataError(
                f"column {target!r} is a {self.schema.columns[column].why}: it has no levels to give probabilities "
                "of; use predict, or make it a category before fitting"
            )
        known = self._known(column)

        def given_known(probability: Floats) -> Floats:
            share = probability[:, known]
            return np.asarray(share / share.sum(axis=1, keepdims=True))

        return self._staged(X, column, stages, given_known, n_jobs)

    def levels(self, target: Any) -> npt.NDArray[Any]:
        """The levels that :meth:`predict_proba` speaks of."""
        return levels(self.schema, self.schema.index_of(target))

    def score_samples(
        self, X: Any, *, normalize: bool = True, n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """The log-density of each row, or its energy.

        The density is per unit of every column that is binned (its own unit: metres, dollars, days) and per level of
        every other one; a value with a bin of its own and a missing cell count as levels. ``normalize=False`` gives the
        energy: the log-probability of the row's codes up to a constant of the model.
        """
        n_trees = self._check_trees(n_trees)
        codes = encode(self.schema, X)
        energy = self.energy.score(codes, n_trees, n_jobs)
        if not normalize:
            return energy
        widths = sum(np.log(c.codec.widths)[codes[:, j]] for j, c in enumerate(self.schema.columns))
        return energy - self.log_z(n_trees, n_jobs=n_jobs).value - widths

    def log_z(self, n_trees: int | None = None, *, n_jobs: int | None = 1) -> LogZ:
        """The log Z that log-densities use, with its standard error.

        Exact for no tree and for one. Otherwise the better of two estimates, the same one for all numbers of trees:
        that carried along in training, and one by annealing along the trees, which is computed when first asked for
        and left out of models so large that it would take minutes.
        """
        t = self._check_trees(n_trees)
        if t <= 1:
            return LogZ(first_log_z(self.energy) if t else 0.0, 0.0, len(self.chains))
        if "log Z" not in self._measured:
            self._measured["log Z"] = self._better_log_z(n_jobs)
        return cast(list[LogZ], self._measured["log Z"])[t]

    def _better_log_z(self, n_jobs: int | None) -> list[LogZ]:
        """After 0, 1, 2, ... trees: the estimate that is surer in the end, or the one that can be believed."""
        carried = [self._carried(t) for t in range(self.energy.n_trees + 1)]
        size = batch_size_for(self.energy)
        if not size:
            return carried
        annealed, _ = anneal(self.energy, np.random.SeedSequence(0), moves=self.moves, batch_size=size, n_jobs=n_jobs)
        apart = abs(carried[-1].value - annealed[-1].value)
        if apart <= 4 * np.hypot(carried[-1].error, annealed[-1].error):
            return carried if carried[-1].error < annealed[-1].error else annealed
        # More than chance explains: annealing starts from an exact distribution, as long as it can be relied on.
        return (
            annealed
            if annealed[-1].error < RELIABLE
            else [replace(one, error=max(one.error, apart)) for one in carried]
        )

    def _carried(self, n_trees: int) -> LogZ:
        return LogZ(self.energy.log_z[n_trees], self.energy.log_z_error[n_trees], len(self.chains))

    def diagnostics(self, *, n_jobs: int | None = 1) -> Diagnostics:
        """How well chains mix along every column, and how well log Z is known, with a verdict in words; print it.

        Chains of the model start in the pool and are watched for 256 sweeps. Takes seconds, the first time.
        """
        if not len(self.pool):
            raise DataError("a model without trees has no chains to look at: its rows are drawn independently")
        mixing, chains = self._mixing(n_jobs), self.pool[:32].copy()
        began = perf_counter()
        sweep(self.energy, chains, 16, np.random.SeedSequence(0), moves=self.moves, block_size=4)
        return Diagnostics(
            columns=tuple(map(str, self.schema.names)),
            mixing=mixing,
            n_sweeps=self._sweeps_to_forget(n_jobs, warn=False),
            seconds_per_draw=(perf_counter() - began) / (16 * len(chains)),
            log_z=self.log_z(n_jobs=n_jobs),
            carried=self._carried(self.energy.n_trees),
        )

    def _mixing(self, n_jobs: int | None) -> Mixing:
        if "mixing" not in self._measured:
            self._measured["mixing"] = watch(self.energy, self.pool, self.moves, n_jobs)
        return cast(Mixing, self._measured["mixing"])

    def _sweeps_to_forget(self, n_jobs: int | None, warn: bool = True) -> int:
        """As many as make chains forget where they started; says once if that is more than are taken."""
        mixing = self._mixing(n_jobs)
        needed = mixing.sweeps_to_forget
        if warn and needed > MOST_SWEEPS and "warned" not in self._measured:
            self._measured["warned"] = True
            warnings.warn(
                f"chains forget column {self.schema.names[mixing.slowest]!r} only after about {needed:,} sweeps, and "
                f"{MOST_SWEEPS} are taken: rows that start from the same row of the pool stay alike; diagnostics() "
                "says more, n_sweeps=... sets their number",
                stacklevel=4,
            )
        return min(max(needed, LEAST_SWEEPS), MOST_SWEEPS)

    def _staged(
        self,
        X: Any,
        column: int,
        stages: Sequence[int] | None,
        reduce: Callable[[Floats], npt.NDArray[Any]],
        n_jobs: int | None,
    ) -> Iterator[npt.NDArray[Any]]:
        """Check everything, and only then compute, stage by stage."""
        if stages is None:
            stages = range(1, self.energy.n_trees + 1)
        elif not isinstance(stages, Iterable):
            raise ParameterError(f"stages is a list of numbers of trees; got {stages!r}")
        stages = [integer("each of stages", stage, 0, self.energy.n_trees) for stage in stages]
        if any(later < earlier for earlier, later in pairwise(stages)):
            raise ParameterError(f"stages are numbers of trees that never fall; got {stages}")
        return self.energy.staged_conditional(self._query(X, column), column, stages, reduce, n_jobs)

    def _query(self, X: Any, column: int) -> Codes:
        """Codes of a query in which one column is asked for."""
        query = encode_query(self.schema, X, absent=[self.schema.names[column]])
        for j, described in enumerate(self.schema.columns):
            if j != column and described.codec.missing_code is None and query.missing[:, j].any():
                row = int(query.missing[:, j].argmax())
                raise DataError(
                    f"column {described.name!r}, row {row}: the cell is missing, but no training row lacked it; "
                    "fill it in, or fit on a table with gaps in this column"
                )
        return query.codes

    def _known(self, column: int) -> npt.NDArray[np.bool_]:
        """Which codes of a column stand for a value, not for missing."""
        codec = self.schema.columns[column].codec
        known: npt.NDArray[np.bool_] = np.arange(codec.n_codes) != codec.missing_code
        if not known.any():
            raise DataError(
                f"column {self.schema.names[column]!r} was missing in every training row: nothing to predict"
            )
        return known

    def _check_trees(self, n_trees: int | None) -> int:
        return self.energy.n_trees if n_trees is None else integer("n_trees", n_trees, 0, self.energy.n_trees)


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The root of all randomness of one call; generators are advanced, so that each call with one differs."""
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    return np.random.SeedSequence(None if random_state is None else integer("random_state", random_state, 0))


def _spread(n: int, n_pool: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """``n`` pool rows in random order, each used once before any is used again."""
    rounds = [rng.permutation(n_pool) for _ in range(-(-n // n_pool))]
    return np.concatenate([np.empty(0, np.int64), *rounds])[:n]
