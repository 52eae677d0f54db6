"""The density of a table: a schema and a model, and the questions that can be asked of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from energyboost.checks import RandomState, choice, integer, real, seed_sequence
from energyboost.conditional import Conditional, Kind, pooled
from energyboost.errors import DataError, ParameterError, warn
from energyboost.joint import Joint
from energyboost.model.energy import Codes, Floats
from energyboost.sampling.annealing import LogZ
from energyboost.sampling.diagnostics import Diagnostics
from energyboost.sampling.protocol import How, Model, Start
from energyboost.tables import (
    Categories,
    Cells,
    Encoded,
    OrderedLevels,
    QuantileBins,
    Schema,
    Unseen,
    decode,
    decode_column,
    encode,
    encode_query,
    fill,
    frame_of,
    levels,
    read_values,
)
from energyboost.where import Missing, log_weights, restrictions

Impute = Literal["mean", "median", "mode", "sample"]

MOST_COMBINATIONS = 1_000_000
"""Of codes, whose probabilities :meth:`TableDensity.joint` tells."""


@dataclass(frozen=True, slots=True, eq=False)
class TableDensity:
    """A fitted density over the rows of a table.

    Parameters
    ----------
    schema : Schema
        How cells become codes.
    model : Model
        The model of the codes.
    """

    schema: Schema
    model: Model

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
        n_jobs: int | None = 1,
    ) -> Any:
        """Draw new rows: a frame of the training table's kind and dtypes.

        Parameters
        ----------
        n : int
            Number of rows.
        where : dict, optional
            Conditions on columns: a value, or ``between``, ``isin``, ``gt``, ``ge``, ``lt``, ``le``, ``missing``,
            ``not_missing``. All rows fulfil all of them; none is drawn and thrown away.
        avoid_missing : bool
            Whether to draw rows without missing cells.
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
        Every row ends a Gibbs chain of its own. From the pool, chains start at rows drawn without replacement, under
        conditions at those that fulfil them; where more are asked for, several start at one row and part later.
        """
        n = integer("n", n, 0)
        how = self._how(n_sweeps, start, temperature, n_trees, n_jobs)
        found = restrictions(self.schema, where, avoid_missing)
        for_codes, for_cells = seed_sequence(random_state).spawn(2)
        codes = self.model.sample(n, for_codes, how, log_weights(self.schema, self.model.code_start, found))
        within = {j: r.decoder(self.schema.columns[j].codec.decode) for j, r in found.items()}
        return decode(self.schema, codes, np.random.default_rng(for_cells), within=within)

    def complete(
        self,
        X: Any,
        n: int = 1,
        *,
        avoid_missing: bool = False,
        unseen: Unseen = "error",
        n_sweeps: int | Literal["auto"] = "auto",
        n_trees: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = 1,
    ) -> Any:
        """Draw the missing cells of rows, given their known ones: ``n`` rows for each, one after the other.

        Columns that ``X`` lacks are drawn, too. Known cells come back as they are.
        """
        n = integer("n", n, 1)
        query = encode_query(self.schema, X, unseen=unseen)
        how = self._how(n_sweeps, "pool", 1.0, n_trees, n_jobs)
        found = restrictions(self.schema, None, avoid_missing)
        for_codes, for_cells = seed_sequence(random_state).spawn(2)
        rows = np.repeat(np.arange(len(query.codes)), n)
        weights = log_weights(self.schema, self.model.code_start, found)
        free = query.missing[rows]
        codes = self.model.complete(query.codes[rows], free, for_codes, how, weights)
        cells = self._cells(codes, free, np.random.default_rng(for_cells))
        return fill(self.schema, X, query, cells, rows)

    def impute(
        self,
        X: Any,
        n: int = 1,
        kind: Impute | None = None,
        *,
        unseen: Unseen = "error",
        random_state: RandomState = None,
        n_jobs: int | None = 1,
    ) -> Any:
        """Fill the missing cells of a table; the others come back bit for bit.

        Parameters
        ----------
        X : frame
            Rows with gaps. Columns that it lacks are added.
        n : int
            Number of imputations; with more than one, a list of frames comes back, each with cells drawn anew.
        kind : {"mean", "median", "mode", "sample"}, optional
            What fills a cell. "mean" (default if n is 1): the mean of a number, on its grid, and the likeliest level of
            a label. "median" and "mode" likewise. "sample" (default if n is more): a draw of all missing cells of the
            row jointly.
        unseen : {"error", "marginalize"}
            What to do with labels that did not occur in training: refuse, or count them as missing.
        random_state : int, Generator, RandomState or None
            Of the draws.
        n_jobs : int
            Threads.
        """
        n = integer("n", n, 1)
        kind = ("mean" if n == 1 else "sample") if kind is None else kind
        choice("kind", kind, get_args(Impute))
        query = encode_query(self.schema, X, unseen=unseen)
        empty = [column.name for j, column in enumerate(self.schema.columns) if not self._values(j).any()]
        if any(query.missing[:, self.schema.index_of(name)].any() for name in empty):
            warn(f"nothing is known of columns that were missing in every training row: {empty} stay as they are")
        if kind == "sample":
            how, seeds = self._how("auto", "pool", 1.0, None, n_jobs), seed_sequence(random_state).spawn(n)
            drawn = [fill(self.schema, X, query, self._drawn_values(query, seed, how)) for seed in seeds]
            return drawn[0] if n == 1 else drawn
        if n > 1:
            raise ParameterError(f'n={n} imputations by the {kind} would be all alike: use kind="sample"')
        reduces = [self._guess(j, kind) if self._values(j).any() else _nothing for j in self._columns]
        guesses = self.model.gaps(query.codes, ~query.missing, reduces, n_jobs)
        cells = {
            j: self.schema.columns[j].codec.settle(read_values(self.schema, j, guess))
            for j, guess in guesses.items()
            if self._values(j).any()
        }
        return fill(self.schema, X, query, cells)

    def conditional(
        self, X: Any, target: Any, *, unseen: Unseen = "error", n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Conditional:
        """The distribution of a column given what is known of each row.

        The column need not be in ``X``; if it is, it is not read. Missing cells and lacking columns are summed out:
        exactly if it is one cell of a row, by chains if there are more; then ``error`` says how exact.
        """
        column, query = self._query(X, target, unseen)
        stage, ordered = self._check_trees(n_trees), self.schema.columns[column].codec.ordered
        known = self._known(column)

        def both(by_chain: Floats) -> Floats:
            share, error = pooled(by_chain, known, ordered)
            return np.concatenate([share, error[:, None]], axis=1)

        found = next(self.model.staged_conditional(query.codes, ~query.missing, column, [stage], both, n_jobs))
        return Conditional(self.schema, column, found[:, :-1], found[:, -1], query.index)

    def predict(
        self,
        X: Any,
        target: Any,
        *,
        kind: Kind | float = "mean",
        unseen: Unseen = "error",
        n_trees: int | None = None,
        n_jobs: int | None = 1,
    ) -> npt.NDArray[Any]:
        """The best single guess of a column given the others.

        ``kind`` is "mean" (of a label: the likeliest level), "median", "mode", or a number from 0 to 1: that quantile.
        The column need not be in ``X``; if it is, it is not read. Missing cells are summed out.
        """
        stage = self._check_trees(n_trees)
        return next(self.staged_predict(X, target, kind=kind, unseen=unseen, stages=[stage], n_jobs=n_jobs))

    def staged_predict(
        self,
        X: Any,
        target: Any,
        *,
        kind: Kind | float = "mean",
        unseen: Unseen = "error",
        stages: Sequence[int] | None = None,
        n_jobs: int | None = 1,
    ) -> Iterator[npt.NDArray[Any]]:
        """Predictions after each number of trees in ``stages`` (1, 2, ... unless told), in one pass over the trees."""
        column, query = self._query(X, target, unseen)
        self._known(column)
        return self._staged(query, column, stages, self._guess(column, kind), n_jobs)

    def predict_proba(
        self, X: Any, target: Any, *, unseen: Unseen = "error", n_trees: int | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """Probabilities of the levels of a column given the others, in the order of :meth:`levels`."""
        stage = self._check_trees(n_trees)
        return next(self.staged_predict_proba(X, target, unseen=unseen, stages=[stage], n_jobs=n_jobs))

    def staged_predict_proba(
        self,
        X: Any,
        target: Any,
        *,
        unseen: Unseen = "error",
        stages: Sequence[int] | None = None,
        n_jobs: int | None = 1,
    ) -> Iterator[Floats]:
        """Probabilities after each number of trees in ``stages`` (1, 2, ... unless told), in one pass."""
        column, query = self._query(X, target, unseen)
        if isinstance(self.schema.columns[column].codec, QuantileBins):
            raise DataError(
                f"column {target!r} is a {self.schema.columns[column].why}: it has no levels to give probabilities "
                "of; use conditional, or make it a category before fitting"
            )
        known = self._known(column)

        def given_known(by_chain: Floats) -> Floats:
            share = by_chain.mean(axis=1)[:, known]
            return np.asarray(share / share.sum(axis=1, keepdims=True))

        return self._staged(query, column, stages, given_known, n_jobs)

    def joint(
        self,
        X: Any,
        targets: Sequence[Any],
        *,
        unseen: Unseen = "error",
        n_trees: int | None = None,
        n_jobs: int | None = 1,
    ) -> Joint:
        """The distribution of a few columns together, given the others [eq:inference].

        Every combination of their codes gets its probability; refused where there are more than a million. Other cells
        that are missing are summed out, too, as far as that goes.
        """
        if isinstance(targets, str) or not isinstance(targets, Iterable):
            raise ParameterError(f"targets is a list of columns; got {targets!r}")
        columns = [self.schema.index_of(target) for target in targets]
        if not columns or len(set(columns)) < len(columns):
            raise ParameterError(f"targets are different columns, at least one; got {list(targets)!r}")
        query = encode_query(self.schema, X, absent=[self.schema.names[j] for j in columns], unseen=unseen)
        stage, known = self._check_trees(n_trees), ~query.missing
        most = self.model.n_combinations(known, columns)
        if len(most) and most.max() > MOST_COMBINATIONS:
            row = int(most.argmax())
            count = f"{most[row]:,.0f}" if most[row] < 1e12 else f"{most[row]:.0e}"
            raise DataError(
                f"{' x '.join(map(repr, targets))} with what is missing in row {row} has {count} combinations "
                f"of codes, more than {MOST_COMBINATIONS:,}: ask for fewer columns, fill gaps, or lower max_bins"
            )
        probability = self.model.joint(query.codes, known, columns, stage, n_jobs)
        return Joint(self.schema, columns, probability, query.index)

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
        energy = self.model.score(codes, n_trees, n_jobs)
        if not normalize:
            return energy
        widths = sum(np.log(c.codec.widths)[codes[:, j]] for j, c in enumerate(self.schema.columns))
        return energy - self.log_z(n_trees, n_jobs=n_jobs).value - widths

    def explain(self, X: Any, top: int = 3, *, n_trees: int | None = None, n_jobs: int | None = 1) -> Any:
        """The oddest cells of each row given its other cells, and what was likelier there: a frame.

        One row for each of the ``top`` cells of each row of ``X``, oddest first: the row's position, the column, its
        value as text, ``surprise`` (minus the logarithm of its probability: of the level, or of the bin; of a cell that
        is not missing, given that it is not), and the likeliest value with its own ``surprise``.
        """
        top, stage = integer("top", top, 1), self._check_trees(n_trees)
        codes = encode(self.schema, X)
        top = min(top, len(self.schema.columns))
        surprise, least = np.empty(codes.shape), np.empty(codes.shape)
        likelier = np.empty(codes.shape, codes.dtype)
        for j in self._columns:
            here = codes[:, j]
            probability = self.model.conditional(codes, j, stage, n_jobs)
            rows, missing = np.arange(len(codes)), self.schema.columns[j].codec.missing_code
            if missing is not None:  # of a cell that is there, given that it is
                probability[here != missing, missing] = 0
                probability /= probability.sum(axis=1, keepdims=True)
            likelier[:, j] = probability.argmax(axis=1)
            with np.errstate(divide="ignore"):
                surprise[:, j] = -np.log(probability[rows, here])
                least[:, j] = -np.log(probability[rows, likelier[:, j]])
        oddest = np.argsort(-surprise, axis=1, kind="stable")[:, :top]
        rows, columns = np.repeat(np.arange(len(codes)), top), oddest.ravel()
        said = [self._said(j) for j in self._columns]

        def words(shown: Codes) -> npt.NDArray[Any]:
            return np.array([said[j][shown[i, j]] for i, j in zip(rows, columns, strict=True)], dtype=object)

        return frame_of(
            self.schema,
            {
                "row": rows,
                "column": np.array([str(self.schema.names[j]) for j in columns], dtype=object),
                "value": words(codes),
                "surprise": surprise[rows, columns],
                "likelier": words(likelier),
                "its_surprise": least[rows, columns],
            },
            None,
        )

    def log_z(self, n_trees: int | None = None, *, n_jobs: int | None = 1) -> LogZ:
        """The log Z that log-densities use, with its standard error; exact for no tree and for one."""
        return self.model.log_z(self._check_trees(n_trees), n_jobs=n_jobs)

    def diagnostics(self, *, n_jobs: int | None = 1) -> Diagnostics:
        """How well chains mix along every column, and how well log Z is known, with a verdict in words; print it.

        Chains of the model start in the pool and are watched for 256 sweeps. Takes seconds, the first time.
        """
        return self.model.diagnostics(n_jobs=n_jobs)

    @property
    def _columns(self) -> range:
        return range(len(self.schema.columns))

    def _drawn_values(self, query: Encoded, seed: np.random.SeedSequence, how: How) -> dict[int, Cells]:
        """Draws of the cells that a query lacks, all of a row jointly, as values.

        That other cells of the row were recorded is not taken for a hint: cells may come out missing, and are then
        drawn anew from their values alone.
        """
        for_codes, for_values, for_cells = seed.spawn(3)
        codes = self.model.complete(query.codes, query.missing, for_codes, how)
        missing = [column.codec.missing_code for column in self.schema.columns]
        again = query.missing & np.array([codes[:, j] == code for j, code in enumerate(missing)]).T
        again &= np.array([self._values(j).any() for j in self._columns])
        found = {j: Missing(False).restrict(self.schema, j) for j in self._columns if again[:, j].any()}
        weights = log_weights(self.schema, self.model.code_start, found)
        codes = self.model.without_missing(codes, again, for_values, how, weights)
        return self._cells(codes, query.missing, np.random.default_rng(for_cells))

    def _cells(self, codes: Codes, free: npt.NDArray[np.bool_], rng: np.random.Generator) -> dict[int, Cells]:
        """The free cells of rows of codes, column by column."""
        return {
            j: column.codec.decode(codes[free[:, j], j], rng.random(np.count_nonzero(free[:, j])))
            for j, column in enumerate(self.schema.columns)
        }

    def _values(self, column: int) -> npt.NDArray[np.bool_]:
        """Which codes of a column stand for a value, not for missing."""
        codec = self.schema.columns[column].codec
        return np.asarray(np.arange(codec.n_codes) != codec.missing_code)

    def _said(self, j: int) -> list[str]:
        """What each code of a column is called: its value, the ends of its bin, or missing."""
        codec = self.schema.columns[j].codec
        codes = np.arange(codec.n_codes)
        low, high = (decode_column(self.schema, j, codes, np.full(len(codes), u)) for u in (0.0, 1 - 2.0**-53))
        utc = " UTC" if self.schema.columns[j].type.zone else ""
        return [
            "missing" if k == codec.missing_code else f"{a}{utc}" if a == b else f"{a} to {b}{utc}"
            for k, a, b in zip(codes, low, high, strict=True)
        ]

    def _guess(self, column: int, kind: Any) -> Callable[[Floats], npt.NDArray[Any]]:
        """What makes a single guess of probabilities."""
        codec = self.schema.columns[column].codec
        is_share = isinstance(kind, Real) and not isinstance(kind, bool)
        if not is_share:
            choice("kind", kind, get_args(Kind))
        if kind == "mode" or (kind == "mean" and isinstance(codec, Categories | OrderedLevels)):
            return lambda by_chain: self._distribution(column, by_chain).mode()
        if kind == "median" and not codec.ordered:
            return lambda by_chain: self._distribution(column, by_chain).mode()
        if kind != "mean":
            q = 0.5 if kind == "median" else real("kind", kind, 0, 1)
            return lambda by_chain: self._distribution(column, by_chain).quantile(q)
        return lambda by_chain: self._distribution(column, by_chain).mean()

    def _distribution(self, column: int, by_chain: Floats, index: Any = None) -> Conditional:
        """What chains say of a column, as an object."""
        return Conditional(
            self.schema,
            column,
            *pooled(by_chain, self._values(column), self.schema.columns[column].codec.ordered),
            index,
        )

    def _staged(
        self,
        query: Encoded,
        column: int,
        stages: Sequence[int] | None,
        reduce: Callable[[Floats], npt.NDArray[Any]],
        n_jobs: int | None,
    ) -> Iterator[npt.NDArray[Any]]:
        """Check everything, and only then compute, stage by stage."""
        if stages is None:
            stages = range(1, self.model.n_trees + 1)
        elif not isinstance(stages, Iterable):
            raise ParameterError(f"stages is a list of numbers of trees; got {stages!r}")
        stages = [integer("each of stages", stage, 0, self.model.n_trees) for stage in stages]
        if any(later < earlier for earlier, later in pairwise(stages)):
            raise ParameterError(f"stages are numbers of trees that never fall; got {stages}")
        return self.model.staged_conditional(query.codes, ~query.missing, column, stages, reduce, n_jobs)

    def _query(self, X: Any, target: Any, unseen: Unseen) -> tuple[int, Encoded]:
        """The column asked for, and the codes of a query."""
        column = self.schema.index_of(target)
        return column, encode_query(self.schema, X, absent=[self.schema.names[column]], unseen=unseen)

    def _known(self, column: int) -> npt.NDArray[np.bool_]:
        """The same, refused where there is none."""
        known = self._values(column)
        if not known.any():
            raise DataError(
                f"column {self.schema.names[column]!r} was missing in every training row: nothing to predict"
            )
        return known

    def _how(self, n_sweeps: Any, start: Any, temperature: Any, n_trees: int | None, n_jobs: int | None) -> How:
        is_auto = isinstance(n_sweeps, str) and n_sweeps == "auto"
        return How(
            None if is_auto else integer("n_sweeps", n_sweeps, 1, also=' or "auto"'),
            choice("start", start, get_args(Start)),  # type: ignore[arg-type]
            real("temperature", temperature, 0, open_low=True),
            self._check_trees(n_trees),
            n_jobs,
        )

    def _check_trees(self, n_trees: int | None) -> int:
        return self.model.n_trees if n_trees is None else integer("n_trees", n_trees, 0, self.model.n_trees)


def _nothing(by_chain: Floats) -> npt.NDArray[Any]:
    """Of a column without values, nothing can be said of any row."""
    return np.zeros(len(by_chain))
