"""A trained model with what its chains start from, and what can be asked of it on codes."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from energyboost.errors import DataError
from energyboost.model.domain import Domain
from energyboost.model.energy import Codes, Energy, Floats
from energyboost.sampling import marginal
from energyboost.sampling.annealing import LogZ, anneal, batch_size_for
from energyboost.sampling.diagnostics import MOST_SWEEPS, Diagnostics, Mixing, watch
from energyboost.sampling.gibbs import sweep
from energyboost.sampling.moves import SINGLE, Moves
from energyboost.sampling.pool import first_log_z
from energyboost.sampling.protocol import Bools, How, Reduce

BASELINE_SWEEPS = 100
"""From rows that are not of the model yet, as in the paper."""
RELIABLE = 0.1
"""The standard error up to which annealing is believed against the log Z carried along."""
LEAST_SWEEPS = 3
"""From pool rows, which are of the model already: they only have to part."""
LEAST_TO_COMPLETE = 10
"""From cells of pool rows beside the known cells of other rows: they have to come to fit each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Boosted:
    """Boosted trees on a domain, the pool that training ended with, and how chains move.

    Parameters
    ----------
    energy : Energy
        The unnormalised log-probability of a row of codes.
    pool : array of shape (n_pool, n_columns)
        Model rows that training ended with; where chains start from.
    chains : array of shape (n_chains, n_columns)
        The last states of the chains that renewed the pool.
    moves : Moves
        The pairs of columns that chains draw jointly.
    names : tuple of str
        What messages call the columns.
    """

    energy: Energy
    pool: Codes
    chains: Codes
    moves: Moves = SINGLE
    names: tuple[str, ...] = ()
    _measured: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # once, when first asked for

    @property
    def domain(self) -> Domain:
        """The space of the rows."""
        return self.energy.domain

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.energy.n_trees

    @property
    def code_start(self) -> npt.NDArray[np.int64]:
        """Where the codes of each column begin in `log_weights`."""
        return self.energy.columns.start

    def sample(self, n: int, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None) -> Codes:
        """Draw rows, each at the end of a chain of its own.

        ``log_weights`` (as the base of the energy) are factors on the probabilities of codes, by which rows are drawn
        under conditions.
        """
        for_starts, for_sweeps = seed.spawn(2)
        rng = np.random.default_rng(for_starts)
        n_trees = self.n_trees if how.n_trees is None else how.n_trees
        # pool rows are of the whole model at temperature 1, and of no other
        from_pool = how.start == "pool" and len(self.pool) > 0
        fitting = self._weights(self.pool, log_weights) if from_pool else np.empty(0)
        if from_pool and fitting.any():
            codes = self.pool[_spread(n, fitting, rng)]
            of_model = how.temperature == 1 and n_trees == self.n_trees
            n_fitting = float(fitting.sum() ** 2 / np.square(fitting).sum())  # as many of equal weight
            needed = BASELINE_SWEEPS
            if of_model and how.n_sweeps is None:
                needed = LEAST_SWEEPS if n <= n_fitting else self.sweeps_to_forget(how.n_jobs)
        else:
            codes = self.energy.baseline.sample(n, rng, self.domain.code_dtype, log_weights)
            needed = BASELINE_SWEEPS
        self._sweep(codes, needed if how.n_sweeps is None else how.n_sweeps, for_sweeps, how, log_weights)
        return codes

    def complete(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None = None
    ) -> Codes:
        """Rows with their ``free`` cells drawn given the others."""
        for_starts, for_sweeps = seed.spawn(2)
        codes = self._started(codes, free, np.random.default_rng(for_starts), log_weights)
        needed = 1  # one free column is drawn from its very distribution
        if (np.count_nonzero(free, axis=1) > 1).any() and how.n_sweeps is None:
            needed = max(LEAST_TO_COMPLETE, self.sweeps_to_forget(how.n_jobs, warn=False))
        needed = needed if how.n_sweeps is None else how.n_sweeps
        self._sweep(codes, needed, for_sweeps, how, log_weights, free)
        return codes

    def without_missing(
        self, codes: Codes, free: Bools, seed: np.random.SeedSequence, how: How, log_weights: Floats | None
    ) -> Codes:
        """Rows whose ``free`` cells are drawn anew by what ``log_weights`` leave of them, once, from where they are."""
        codes = codes.copy()
        self._sweep(codes, 1, seed, how, log_weights, free)
        return codes

    def states(self, codes: Codes, free: Bools, n_kept: int, seed: np.random.SeedSequence, how: How) -> Codes:
        """States of one chain per row along its ``free`` columns, (n_rows, n_kept, n_columns), its start forgotten."""
        for_starts, for_sweeps = seed.spawn(2)
        n_burned = max(LEAST_TO_COMPLETE, self.sweeps_to_forget(how.n_jobs, warn=False))
        codes = self._started(codes, free, np.random.default_rng(for_starts))
        return self._sweep(codes, n_burned + n_kept, for_sweeps, how, None, free, n_kept)

    def _started(self, codes: Codes, free: Bools, rng: np.random.Generator, log_weights: Floats | None = None) -> Codes:
        """Rows whose free cells are those of pool rows (of the baseline, if there is no pool)."""
        fitting = self._weights(self.pool, log_weights)
        if fitting.any():
            donors = self.pool[_spread(len(codes), fitting, rng)]
        else:
            donors = self.energy.baseline.sample(len(codes), rng, self.domain.code_dtype, log_weights)
        return np.where(free, donors, codes)

    def _weights(self, rows: Codes, log_weights: Floats | None) -> Floats:
        """The product of the factors of each row's codes."""
        if log_weights is None:
            return np.ones(len(rows))
        total: Floats = log_weights[self.energy.columns.start[:-1] + rows.astype(np.int64)].sum(axis=1)
        return np.asarray(np.exp(total))

    def _sweep(
        self,
        codes: Codes,
        n_sweeps: int,
        seed: np.random.SeedSequence,
        how: How,
        log_weights: Floats | None,
        free: Bools | None = None,
        n_kept: int = 0,
    ) -> Codes:
        return sweep(
            self.energy,
            codes,
            n_sweeps,
            seed,
            moves=self.moves,
            free=free,
            n_kept=n_kept,
            n_trees=how.n_trees,
            temperature=how.temperature,
            log_weights=log_weights,
            n_jobs=how.n_jobs,
        )

    def score(self, codes: Codes, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """The energy of each row."""
        return self.energy.score(codes, n_trees, n_jobs)

    def conditional(self, codes: Codes, column: int, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """Probabilities of every code of a column given all other cells."""
        return self.energy.conditional(codes, column, n_trees, n_jobs)

    def staged_conditional(
        self,
        codes: Codes,
        known: Bools,
        column: int,
        stages: Sequence[int],
        reduce: Reduce,
        n_jobs: int | None = 1,
    ) -> Iterator[npt.NDArray[Any]]:
        """See :func:`marginal.staged_conditional`."""
        return marginal.staged_conditional(self, codes, known, column, stages, reduce, n_jobs)

    def gaps(
        self, codes: Codes, known: Bools, reduces: Sequence[Reduce], n_jobs: int | None = 1
    ) -> dict[int, npt.NDArray[Any]]:
        """See :func:`marginal.gaps`."""
        return marginal.gaps(self, codes, known, reduces, n_jobs)

    def joint(
        self, codes: Codes, known: Bools, columns: Sequence[int], n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """See :func:`marginal.joint`."""
        return marginal.joint(self, codes, known, columns, n_trees, n_jobs)

    def n_combinations(self, known: Bools, columns: Sequence[int]) -> Floats:
        """Of the columns asked for and of those that are not known: all are summed over."""
        return marginal.n_combinations(self, known, columns)

    def log_z(self, n_trees: int | None = None, *, n_jobs: int | None = 1) -> LogZ:
        """The log Z that log-densities use, with its standard error.

        Exact for no tree and for one. Otherwise the better of two estimates, the same one for all numbers of trees:
        that carried along in training, and one by annealing along the trees, which is computed when first asked for
        and left out of models so large that it would take minutes.
        """
        t = self.n_trees if n_trees is None else n_trees
        if t <= 1:
            return LogZ(first_log_z(self.energy) if t else 0.0, 0.0, len(self.chains))
        if "log Z" not in self._measured:
            self._measured["log Z"] = self._better_log_z(n_jobs)
        return cast(list[LogZ], self._measured["log Z"])[t]

    def _better_log_z(self, n_jobs: int | None) -> list[LogZ]:
        """After 0, 1, 2, ... trees: the estimate that is surer in the end, or the one that can be believed."""
        carried = [self._carried(t) for t in range(self.n_trees + 1)]
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
        """How well chains mix along every column, and how well log Z is known."""
        if not len(self.pool):
            raise DataError("a model without trees has no chains to look at: its rows are drawn independently")
        chains = self.pool[:32].copy()
        began = perf_counter()
        sweep(self.energy, chains, 16, np.random.SeedSequence(0), moves=self.moves, block_size=4)
        return Diagnostics(
            columns=self.names or tuple(map(str, range(self.domain.n_columns))),
            mixing=self._mixing(n_jobs),
            n_sweeps=self.sweeps_to_forget(n_jobs, warn=False),
            seconds_per_draw=(perf_counter() - began) / (16 * len(chains)),
            log_z=self.log_z(n_jobs=n_jobs),
            carried=self._carried(self.n_trees),
        )

    def _mixing(self, n_jobs: int | None) -> Mixing:
        if "mixing" not in self._measured:
            self._measured["mixing"] = watch(self.energy, self.pool, self.moves, n_jobs)
        return cast(Mixing, self._measured["mixing"])

    def sweeps_to_forget(self, n_jobs: int | None, warn: bool = True) -> int:
        """As many as make chains forget where they started; says once if that is more than are taken."""
        if not len(self.pool):
            return LEAST_SWEEPS
        mixing = self._mixing(n_jobs)
        needed = mixing.sweeps_to_forget
        if warn and needed > MOST_SWEEPS and "warned" not in self._measured:
            self._measured["warned"] = True
            column = self.names[mixing.slowest] if self.names else mixing.slowest
            warnings.warn(
                f"chains forget column {column!r} only after about {needed:,} sweeps, and {MOST_SWEEPS} are taken: "
                "rows that start from the same row of the pool stay alike; diagnostics() says more, n_sweeps=... sets "
                "their number",
                stacklevel=5,
            )
        return min(max(needed, LEAST_SWEEPS), MOST_SWEEPS)


def _spread(n: int, weights: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """``n`` rows in random order, each as often as its weight says, rounded up or down.

    With equal weights, each is used once before any is used again.
    """
    rows = rng.permutation(np.flatnonzero(weights))
    below = np.cumsum(weights[rows])
    places = (rng.random() + np.arange(n)) / max(n, 1) * below[-1]
    return rng.permutation(rows[np.minimum(np.searchsorted(below, places, side="right"), len(rows) - 1)])
