"""What sweeps do besides drawing every column in turn: pairs of columns drawn jointly, and reflections."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from energyboost.kernels.arrays import LANES, PLANE_ROWS
from energyboost.kernels.dependence import determines, squared_maximal_correlation
from energyboost.model.baseline import Codes
from energyboost.model.domain import Domain
from energyboost.parallel import map_blocks

# What a pair costs is measured in pairs of cells of its plane; drawing one column alone takes as long as so many:
CELLS_PER_DRAW, CELLS_PER_TREE = 300, 14
# Finding the leaves of a tree takes as long as so many cells for each column, entering them as so many for each leaf
# and run of codes that it is entered in; some leaves of a tree are reached along two columns.
CELLS_PER_COLUMN, CELLS_PER_ENTRY, LEAVES = 2, 5, 22
SHARE = 0.8
"""Of the time of a sweep that pairs may take; less than 1, because costs are but estimates."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two columns, and how strongly they depend on each other: 0 as by chance, 1 if one determines the other."""

    columns: tuple[int, int]
    dependence: float


@dataclass(frozen=True, slots=True)
class Moves:
    """Pairs of columns, (outer, inner), to be drawn jointly after sweeps, and whether some sweeps reflect.

    To reflect an ordered column is to take it as far from the upper end of its conditional distribution as it was from
    the lower one. That leaves the model as it is, as drawing the column anew does, but a chain does not turn back at
    random: it crosses the distribution in fewer sweeps (overrelaxation, Neal 1998).
    """

    pairs: tuple[tuple[int, int], ...] = ()
    cells: tuple[int, ...] = ()  # that each pair costs
    cells_per_tree: tuple[int, ...] = ()  # and for each tree
    weights: tuple[float, ...] = ()
    reflecting: bool = False

    @classmethod
    def of(cls, domain: Domain, pairs: Iterable[Pair]) -> "Moves":
        """Moves along pairs of columns.

        Drawn in turn, two columns of squared maximal correlation r forget as 1, r, r^2, ..., which is r / (1 - r) more
        draws than at r = 0: so much more often a pair is drawn than others.
        """
        chosen = list(pairs)
        turned = tuple(_oriented(domain, *pair.columns) for pair in chosen)
        strength = [min(max(pair.dependence, 0.01), 0.98) for pair in chosen]
        return cls(
            turned,
            tuple(_cells(domain, *pair) for pair in turned),
            tuple(_cells_per_tree(domain, *pair) for pair in turned),
            tuple(r / (1 - r) for r in strength),
            reflecting=True,
        )

    def rates(self, n_columns: int, n_trees: int) -> npt.NDArray[np.float64]:
        """How often each pair is drawn per sweep, so that all together take their share of a sweep; none twice."""
        budget = SHARE * n_columns * (CELLS_PER_DRAW + CELLS_PER_TREE * n_trees)
        cost = np.array(self.cells, float) + np.array(self.cells_per_tree, float) * n_trees
        share, rates = np.array(self.weights), np.zeros(len(cost))
        for _ in range(len(cost)):  # what one pair cannot use, because it is drawn every time, goes to the others
            open_ = rates < 1
            left = budget - cost[~open_].sum()
            if left <= 0 or not open_.any():
                break
            rates[open_] = np.minimum(1, left * share[open_] / share[open_].sum() / cost[open_])
            if (rates[open_] < 1).all():  # all of it is used
                break
        return rates

    def reflections(self, n_sweeps: int) -> npt.NDArray[np.bool_]:
        """Which sweeps reflect ordered columns: every second, the first draws them anew.

        A reflection keeps how far out a column is: the more there are, the slower chains move between the middle of a
        distribution and its ends.
        """
        return self.reflecting & (np.arange(n_sweeps) % 2 > 0)

    def schedule(self, n_sweeps: int, n_columns: int, n_trees: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Which pairs are due after which sweep, (n_sweeps, n_pairs): evenly spread, from a random beginning."""
        rates = self.rates(n_columns, n_trees)
        done = np.floor(np.arange(n_sweeps + 1)[:, None] * rates + rng.random(len(rates)))
        return np.asarray(np.diff(done, axis=0) > 0)


SINGLE = Moves()
"""No pairs: columns move one after the other."""


def _oriented(domain: Domain, a: int, b: int) -> tuple[int, int]:
    """Outer and inner column: the inner one is the unordered one, else the one that makes fewer cells."""
    if domain.ordered[a] != domain.ordered[b]:
        return (a, b) if domain.ordered[a] else (b, a)
    return min((a, b), (b, a), key=lambda pair: _cells(domain, *pair))


def _cells_per_tree(domain: Domain, outer: int, inner: int) -> int:
    # a leaf is entered at two codes of an ordered outer column, in some of the levels of another one, and there at
    # two codes or in each run of LANES levels
    rows = 2 if domain.ordered[outer] else 1 + min(domain.sizes[outer], PLANE_ROWS) // 4
    entries = rows * (1 if domain.ordered[inner] else 1 + domain.sizes[inner] // LANES)
    return CELLS_PER_COLUMN * domain.n_columns + CELLS_PER_ENTRY * LEAVES * entries // 2


def _cells(domain: Domain, outer: int, inner: int) -> int:
    return min(domain.sizes[outer], PLANE_ROWS) * -(-domain.sizes[inner] // LANES) * LANES // 2


# --- choosing pairs --------------------------------------------------------------------------------------------------

ROUNDS = 8  # of the power iteration
LEAST_ROWS, MOST_ROWS = 2000, 20_000
WORK = 500_000_000  # row visits in all: of wide tables, fewer rows are looked at
MOST_PAIRS = 2000  # looked at closely
STRONG = 0.5
"""Pairs that depend on each other by less are left to single moves."""


def choose_pairs(codes: Codes, domain: Domain, n_jobs: int | None = 1) -> tuple[Pair, ...]:
    """The few pairs that single moves would be slowest along, strongest first.

    At most half as many as there are columns (but three), and besides these all in which one column determines the
    other. The same codes give the same pairs.
    """
    found = sorted(dependences(codes, domain, n_jobs), key=lambda pair: (-pair.dependence, pair.columns))
    most = max(3, domain.n_columns // 2)
    return tuple(
        pair for i, pair in enumerate(found) if pair.dependence >= STRONG and (i < most or pair.dependence > 1 - 1e-9)
    )


def given_pairs(
    codes: Codes, domain: Domain, pairs: Iterable[tuple[int, int]], n_jobs: int | None = 1
) -> tuple[Pair, ...]:
    """Pairs that the user has chosen, with their dependence."""
    return tuple(dependences(codes, domain, n_jobs, list(dict.fromkeys(pairs))))


def dependences(
    codes: Codes, domain: Domain, n_jobs: int | None = 1, pairs: list[tuple[int, int]] | None = None
) -> list[Pair]:
    """How strongly pairs of columns depend on each other: all pairs, or those given.

    The squared maximal correlation is the share by which drawing two columns in turn forgets slower than drawing them
    jointly: at 1, never. What it is with the rows of one column permuted is taken for chance; of two ordered columns
    the correlation of codes, which chance hardly raises, counts where it is more. Where there are more than
    ``MOST_PAIRS``, those are looked at that are most correlated in rank or in distance from the median, and all in
    which one column determines the other.
    """
    varying = [j for j in range(domain.n_columns) if domain.sizes[j] > 1]
    if len(codes) <= MOST_ROWS:
        codes = codes[np.lexsort(codes.T)]  # the order in which rows came says nothing, and must not move a model
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(codes))
    if pairs is None:
        pairs = list(combinations(varying, 2))
        if len(pairs) > MOST_PAIRS:
            pairs = _candidates(codes[rows[:LEAST_ROWS]], domain, pairs)
    n_rows = int(np.clip(WORK // max(1, 4 * ROUNDS * len(pairs)), LEAST_ROWS, MOST_ROWS))
    rows = rows[:n_rows]
    shuffled = rng.permutation(len(rows))
    columns = [np.ascontiguousarray(codes[rows, j]) for j in range(domain.n_columns)]
    starts = [rng.standard_normal(size) for size in domain.sizes]

    def dependence(pair: tuple[int, int]) -> Pair:
        a, b = pair
        sizes = domain.sizes[a], domain.sizes[b]
        found = squared_maximal_correlation(columns[a], columns[b], *sizes, starts[a], ROUNDS)
        chance = squared_maximal_correlation(columns[a], columns[b][shuffled], *sizes, starts[a], ROUNDS)
        value = (found - chance) / max(1e-12, 1 - chance)
        if domain.ordered[a] and domain.ordered[b] and np.ptp(columns[a]) > 0 and np.ptp(columns[b]) > 0:
            value = max(value, float(np.corrcoef(columns[a], columns[b])[0, 1]) ** 2)
        return Pair(pair, float(np.clip(value, 0, 1)))

    return map_blocks(dependence, pairs, n_jobs)


def _candidates(codes: Codes, domain: Domain, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    ranks = rankdata(codes, axis=0)
    functions = [ranks, np.abs(ranks - np.median(ranks, axis=0))]
    for values in functions:
        values -= values.mean(axis=0)
        values /= np.maximum(values.std(axis=0), 1e-12)
    strongest = np.max([np.abs(f.T @ g) for f in functions for g in functions], axis=0)
    a, b = np.array(pairs).T
    best = np.argsort(-np.maximum(strongest[a, b], strongest[b, a]), kind="stable")[:MOST_PAIRS]
    columns = [np.ascontiguousarray(codes[:, j]) for j in range(domain.n_columns)]
    # a column with a code of its own in most rows determines every other by chance
    telling = [2 * len(np.unique(column)) <= len(column) for column in columns]

    def bound(a: int, b: int) -> bool:
        return telling[a] and bool(determines(columns[a], columns[b], domain.sizes[a]))

    kept = set(best.tolist())
    return [pair for i, pair in enumerate(pairs) if i in kept or bound(*pair) or bound(*pair[::-1])]
