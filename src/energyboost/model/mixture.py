"""A mixture of density trees: an additive model, in which everything is exact [app:det]."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import Columns, Trees
from energyboost.kernels.boxes import NOBODY, draw, draw_freely, left_masses, marginals, tree_weights
from energyboost.kernels.walk import energies
from energyboost.model.baseline import Codes
from energyboost.model.domain import Domain
from energyboost.model.energy import columns_of
from energyboost.model.tree import Tree, join
from energyboost.parallel import map_blocks, row_blocks

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class Mixture:
    """The mean of the densities of some trees, each constant inside its leaves.

    Parameters
    ----------
    domain : Domain
        The space of the rows.
    trees : sequence of Tree
        A leaf's value is its density relative to the uniform distribution, P/V with V the share of the domain.
    shares : sequence of arrays
        The probability of every leaf of each tree, P.
    """

    domain: Domain
    trees: Sequence[Tree]
    shares: Sequence[Floats]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    def first(self, n_trees: int | None) -> "Mixture":
        """The mixture of the first trees; of none, the uniform distribution."""
        if n_trees is None or n_trees == self.n_trees:
            return self
        if n_trees:
            return Mixture(self.domain, self.trees[:n_trees], self.shares[:n_trees])
        nobody = np.empty(0, np.int32)
        leaf = Tree(nobody, nobody, nobody, nobody, np.empty(0, np.int64), np.empty(0, np.uint64), np.ones(1))
        return Mixture(self.domain, (leaf,), (np.ones(1),))

    @cached_property
    def columns(self) -> Columns:
        """The codes of all columns end to end."""
        return columns_of(self.domain)

    @cached_property
    def arrays(self) -> Trees:
        """All trees, as kernels read them."""
        return join(list(self.trees))

    def score(self, codes: Codes, n_jobs: int | None = 1) -> Floats:
        """The log-probability of each row of codes; minus infinity where no tree has any density."""
        out = np.zeros(len(codes))

        def run(rows: slice) -> None:
            part = np.zeros(len(codes[rows]))
            energies(self.arrays, 0, self.n_trees, codes[rows], part)
            out[rows] = part

        map_blocks(run, row_blocks(len(codes), 4096), n_jobs)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(out / self.n_trees) - self.domain.log_volume)

    def conditional(
        self, codes: Codes, known: Bools, column: int, log_weights: Floats | None = None, n_jobs: int | None = 1
    ) -> Floats:
        """Probabilities of every code of a column given the known cells of each row, the others summed out.

        Where no tree has any density, the codes are equally likely.
        """
        size, below = int(self.columns.size[column]), self._below(log_weights)
        known = known.copy()
        known[:, column] = False

        def run(rows: slice) -> Floats:
            out = np.zeros((len(codes[rows]), size + 1))
            marginals(self.columns, self.arrays, self.arrays.leaf_value, below, codes[rows], known[rows], column, out)
            density = np.maximum(np.cumsum(out, axis=1), 0) if self.columns.ordered[column] else out
            density = density[:, :size] * np.diff(below[self._codes_of(column)])
            total = density.sum(axis=1, keepdims=True)
            return np.where(total > 0, density / np.where(total > 0, total, 1), 1 / size)

        return np.concatenate(map_blocks(run, row_blocks(len(codes), ROWS_AT_ONCE) or [slice(0, 0)], n_jobs))

    def log_marginal(self, codes: Codes, known: Bools, n_jobs: int | None = 1) -> Floats:
        """The log-probability of the known cells of each row."""
        below = self._below(None)

        def run(rows: slice) -> Floats:
            out = np.zeros((len(codes[rows]), 1))
            marginals(self.columns, self.arrays, self.arrays.leaf_value, below, codes[rows], known[rows], NOBODY, out)
            return out[:, 0] / self.n_trees

        share = np.concatenate(map_blocks(run, row_blocks(len(codes), ROWS_AT_ONCE) or [slice(0, 0)], n_jobs))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share) - known @ np.log(self.columns.size))

    def sample(self, n: int, rng: np.random.Generator, log_weights: Floats | None = None) -> Codes:
        """Draw independent rows: a tree, a leaf of it, then every column inside its box."""
        dtype, n_columns = self.domain.code_dtype, self.domain.n_columns
        codes, uniforms = np.zeros((n, n_columns), dtype), rng.random((n, 1 + n_columns))
        if log_weights is None:
            tree = rng.integers(0, self.n_trees, n)
            draw_freely(self.columns, self.arrays, self._left_masses, self._below(None), tree, uniforms, codes)
            return codes
        nothing = np.zeros((1, n_columns), np.bool_)
        weights = self._tree_weights(codes[:1], nothing, log_weights, 1)[0]
        tree = rng.choice(self.n_trees, n, p=weights)
        known = np.zeros((n, n_columns), np.bool_)
        draw(self.columns, self.arrays, self.arrays.leaf_value, self._below(log_weights), tree, known, uniforms, codes)
        return codes

    def complete(
        self,
        codes: Codes,
        free: Bools,
        rng: np.random.Generator,
        log_weights: Floats | None = None,
        n_jobs: int | None = 1,
    ) -> Codes:
        """Rows with their ``free`` cells drawn given the others, exactly (of no density: uniformly)."""
        codes, known = codes.copy(), ~free
        uniforms = rng.random((len(codes), 2 + codes.shape[1]))
        for rows in row_blocks(len(codes), 4096):
            weights = self._tree_weights(codes[rows], known[rows], log_weights, n_jobs)
            below = np.cumsum(weights, axis=1)
            tree = np.minimum((below <= uniforms[rows, :1]).sum(axis=1), self.n_trees - 1)
            part, some = codes[rows], uniforms[rows, 1:]
            draw(
                self.columns,
                self.arrays,
                self.arrays.leaf_value,
                self._below(log_weights),
                tree,
                known[rows],
                some,
                part,
            )
        return codes

    def _tree_weights(self, codes: Codes, known: Bools, log_weights: Floats | None, n_jobs: int | None) -> Floats:
        """The share of each tree in the mixture, given the known cells of each row."""
        below = self._below(log_weights)

        def run(rows: slice) -> Floats:
            out = np.empty((len(codes[rows]), self.n_trees))
            tree_weights(self.columns, self.arrays, self.arrays.leaf_value, below, codes[rows], known[rows], out)
            return out

        weights = np.concatenate(map_blocks(run, row_blocks(len(codes), ROWS_AT_ONCE) or [slice(0, 0)], n_jobs))
        total = weights.sum(axis=1, keepdims=True)
        return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / self.n_trees)

    def _codes_of(self, column: int) -> slice:
        first = int(self.columns.start[column]) + column
        return slice(first, first + int(self.columns.size[column]) + 1)

    def _below(self, log_weights: Floats | None) -> Floats:
        """Running sums of the weights of codes: 1 / size of each, times a factor."""
        below = np.zeros(self.columns.start[-1] + self.domain.n_columns)
        for j, size in enumerate(self.columns.size):
            first = int(self.columns.start[j])
            factor = np.ones(size) if log_weights is None else np.exp(log_weights[first : first + size])
            below[self._codes_of(j)] = np.concatenate([[0.0], np.cumsum(factor / size)])
        return below

    @cached_property
    def _left_masses(self) -> Floats:
        """What of a tree's probability is below the left side of each node, as a share of what is below the node."""
        found = np.zeros(len(self.arrays.column))
        left_masses(self.arrays, np.concatenate(self.shares), found)
        return found
