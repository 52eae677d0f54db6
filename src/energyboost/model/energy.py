"""The energy f = f0 + sum of trees: what a fitted model is, on codes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import LANES, Columns, Trees
from energyboost.kernels.planes import planes
from energyboost.kernels.slices import slices
from energyboost.kernels.walk import energies
from energyboost.model.baseline import Baseline
from energyboost.model.domain import Domain
from energyboost.model.leafindex import LeafIndex
from energyboost.model.tree import Tree, join
from energyboost.parallel import map_blocks, row_blocks

Codes = npt.NDArray[np.unsignedinteger]
Floats = npt.NDArray[np.float64]

ROWS_AT_ONCE = 512


def columns_of(domain: Domain) -> Columns:
    """Lay the codes of a domain's columns end to end, each padded to a multiple of ``LANES``."""
    size = np.asarray(domain.sizes, np.int64)
    padded = -(-size // LANES) * LANES
    ordered = np.asarray(domain.ordered, bool)

    def starts(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    return Columns(size, ordered, starts(padded), starts(np.where(ordered, 0, size)))


class Energy:
    """f(x) = f0(x) + sum of trees [eq:ebm], with log Z after every round.

    It grows by :meth:`add` while a model is trained and is only read afterwards.
    """

    def __init__(self, domain: Domain, baseline: Baseline, n_trees: int = 16, n_leaves: int = 64) -> None:
        """Start without trees; room is made for some at first, and for more as they come."""
        self.domain = domain
        self.columns = baseline.columns
        self.baseline = baseline
        self.base = baseline.energy.astype(np.float32)
        self.trees: list[Tree] = []
        self.log_z = [0.0]  # of the first 0, 1, ... trees, carried along in training; f0 is normalised
        self.log_z_error = [0.0]  # their standard errors
        self._joined: Trees | None = None
        self.index = LeafIndex(self.columns, n_trees, n_leaves, domain.code_dtype)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    def add(self, tree: Tree) -> None:
        """Append a tree, its values already scaled; ``log_z`` and its error are for the caller to append to."""
        self.trees.append(tree)
        self._joined = None
        n_trees, n_leaves = self.index.max_trees, self.index.max_leaves
        if self.n_trees <= n_trees and tree.n_leaves <= n_leaves:
            self.index.add(tree)
            return
        n_trees = n_trees if self.n_trees <= n_trees else 2 * n_trees
        n_leaves = max(n_leaves, 1 << (tree.n_leaves - 1).bit_length())
        self.index = LeafIndex(self.columns, n_trees, n_leaves, self.domain.code_dtype)
        for known in self.trees:
            self.index.add(known)

    def score(self, codes: Codes, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """The energy of each row: its unnormalised log-probability."""
        n_trees = self.n_trees if n_trees is None else n_trees
        if self._joined is None:
            self._joined = join(self.trees)
        trees, base = self._joined, self.baseline.energy
        out = np.empty(len(codes))

        def run(rows: slice) -> None:
            part = base[self.columns.start[:-1] + codes[rows].astype(np.int64)].sum(axis=1)
            energies(trees, 0, n_trees, codes[rows], part)
            out[rows] = part

        map_blocks(run, row_blocks(len(codes), 4096), n_jobs)
        return out

    def conditional(self, codes: Codes, column: int, n_trees: int | None = None, n_jobs: int | None = 1) -> Floats:
        """Probabilities of every code of ``column`` given the other cells of each row [eq:inference]."""
        stage = self.n_trees if n_trees is None else n_trees
        return next(self.staged_conditional(codes, column, [stage], n_jobs=n_jobs))

    def staged_conditional(
        self,
        codes: Codes,
        column: int,
        stages: Sequence[int],
        reduce: Callable[[Floats], npt.NDArray[Any]] = lambda probability: probability,
        n_jobs: int | None = 1,
    ) -> Iterator[npt.NDArray[Any]]:
        """The conditional after each number of trees in ``stages`` (rising), in one pass over the trees.

        ``reduce`` is applied to the probabilities (n_rows, n_codes) of one block of rows after another: those of all
        rows need never be held at once.
        """
        kernel, codes = slices(self.index.width), np.ascontiguousarray(codes)
        start, size = int(self.columns.start[column]), int(self.columns.size[column])
        width = int(self.columns.start[column + 1]) - start + LANES
        base = self.baseline.energy[start : start + size]
        blocks = row_blocks(len(codes), ROWS_AT_ONCE)
        # what later stages build on; a single stage needs no more than its block
        kept = np.zeros((len(codes) if len(stages) > 1 else 0, width), np.float32)
        done = 0
        for stage in stages:
            first, done = done, stage

            def run(rows: slice, first: int = first, last: int = stage) -> npt.NDArray[Any]:
                energy = kept[rows] if len(kept) else np.zeros((len(codes[rows]), width), np.float32)
                if last > first:
                    kernel(self.columns, self.index.arrays, first, last, codes[rows], column, energy)
                slope = energy[:, :size].astype(np.float64)
                if self.columns.ordered[column]:
                    np.cumsum(slope, axis=1, out=slope)
                slope += base
                slope -= slope.max(axis=1, keepdims=True)
                np.exp(slope, out=slope)
                slope /= slope.sum(axis=1, keepdims=True)
                return reduce(slope)

            yield np.concatenate(map_blocks(run, blocks or [slice(0, 0)], n_jobs))

    def planes(
        self, codes: Codes, outer: int, inner: int, n_trees: int | None = None
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """exp(energy - top) of all codes of two columns given the others, (n_rows, outer codes, inner codes), and top.

        The energy is that of the trees and of the base of both columns: to compare rows that differ elsewhere, add the
        base of the other columns.
        """
        sizes = [int(self.columns.size[j]) for j in (outer, inner)]
        padded = int(self.columns.start[inner + 1] - self.columns.start[inner])
        out, top = np.empty((len(codes), sizes[0], padded), np.float32), np.empty(len(codes), np.float32)
        kernel, codes = planes(self.index.width), np.ascontiguousarray(codes)
        n_trees = self.n_trees if n_trees is None else n_trees
        kernel(self.columns, self.index.arrays, n_trees, self.base, outer, inner, codes, out, top)
        return out[:, :, : sizes[1]], top
