"""The leaf sets of an ensemble, grown tree by tree."""

from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import LANES, Columns, LeafSets
from energyboost.kernels.leafsets import add_blocks, add_leaves, add_rows, blocks_of_leaves, leaf_boxes
from energyboost.model.tree import Tree

LARGEST_FLAT = 512  # leaves; larger trees keep one slot per block of up to 64 leaves, which is linear in leaves


def _grown(array: npt.NDArray[Any], axis: int, length: int) -> npt.NDArray[Any]:
    """``array`` with at least ``length`` entries along ``axis``, new ones zero."""
    if array.shape[axis] >= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(length, 2 * array.shape[axis])
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


class LeafIndex:
    """Leaf sets of up to ``max_trees`` trees of up to ``max_leaves`` leaves, for :mod:`energyboost.kernels.slices`."""

    def __init__(self, columns: Columns, max_trees: int, max_leaves: int, code_dtype: np.dtype) -> None:
        self.columns = columns
        self.n_trees = 0
        self.blocked = max_leaves > LARGEST_FLAT
        # Blocks are subtrees of at most 64 leaves, of which a tree of n leaves has fewer than n / 16 as a rule; the
        # width grows if one has more.
        words = -(-max_leaves // (64 * 24)) if self.blocked else -(-max_leaves // 64)
        self.width = 1 << max(0, (words - 1).bit_length())
        n_columns, n_codes = len(columns.size), int(columns.start[-1])
        n_slots = max_trees * self.width * 64
        n_leaf_slots = 0 if self.blocked else n_slots
        groups = np.where(columns.ordered, 0, np.diff(columns.start) // LANES)
        self._groups = groups
        self._used_rows = 0
        self._used_blocks = 0
        n_rows_per_tree = 2 + max_leaves + n_columns + int(columns.size[~columns.ordered].sum())
        self._sets = LeafSets(
            words=np.zeros((0, self.width), np.uint64),
            tree_row=np.zeros(max_trees, np.uint32),
            step=np.zeros((n_codes, max_trees), np.uint16 if n_rows_per_tree < 65_536 else np.uint32),
            value=np.zeros(n_leaf_slots, np.float32),
            lower=np.zeros((n_leaf_slots, n_columns), np.uint16 if columns.size.max() < 65_000 else np.uint32),
            levels=np.zeros(n_leaf_slots * int(groups.sum()), np.uint16),
            levels_start=np.zeros(n_columns, np.int64),
            block=np.zeros(n_slots if self.blocked else 0, np.uint32),
            block_leaves=np.zeros(0, np.uint64),
            block_low=np.zeros((n_columns, 0, 64), code_dtype),
            block_high=np.zeros((n_columns, 0, 64), code_dtype),
            block_levels=np.zeros((n_codes if not columns.ordered.all() else 0, 0), np.uint64),
        )
        self._place_levels(n_leaf_slots)

    @property
    def arrays(self) -> LeafSets:
        """What kernels read. Taken anew after each :meth:`add`: arrays are replaced as they grow."""
        return self._sets

    def _place_levels(self, n_leaf_slots: int) -> None:
        """Lay out the level sets of unordered columns for ``n_leaf_slots`` leaves, keeping what is there."""
        old, old_start = self._sets.levels, self._sets.levels_start
        start = np.concatenate([[0], np.cumsum(self._groups * n_leaf_slots)]).astype(np.int64)
        levels = np.zeros(start[-1], np.uint16)
        n_old = len(old) // max(1, int(self._groups.sum()))
        if n_old < n_leaf_slots:
            for j, groups in enumerate(self._groups):
                levels[start[j] : start[j] + n_old * groups] = old[old_start[j] : old_start[j] + n_old * groups]
        else:
            levels = old
        self._sets = self._sets._replace(levels=levels, levels_start=start[:-1])

    def add(self, tree: Tree) -> None:
        """Append a tree."""
        t = self.n_trees
        nodes = tree.arrays
        low, high, admits = leaf_boxes(self.columns, nodes)
        if self.blocked:
            block_of_leaf = np.zeros(tree.n_leaves, np.int64)
            n_blocks = blocks_of_leaves(nodes, block_of_leaf)
            at_of_leaf = self._place_blocks(t, block_of_leaf, n_blocks)
            slot_of_leaf = block_of_leaf
        else:
            slot_of_leaf = np.arange(tree.n_leaves)
            at_of_leaf = t * self.width * 64 + slot_of_leaf
        room = 2 + tree.n_leaves + len(self.columns.size) + int(self.columns.size[~self.columns.ordered].sum())
        first_row = self._used_rows
        self._sets = self._sets._replace(words=_grown(self._sets.words, 0, first_row + room))
        sets = self._sets
        sets.tree_row[t] = first_row
        self._used_rows += add_rows(
            self.columns, nodes, low, high, admits, slot_of_leaf, sets.words, first_row, sets.step[:, t]
        )
        add_leaves(
            self.columns,
            low,
            admits,
            tree.leaf_value,
            at_of_leaf,
            sets.value,
            sets.lower,
            sets.levels,
            sets.levels_start,
        )
        if self.blocked:
            add_blocks(
                self.columns, low, high, admits, at_of_leaf,
                sets.block_leaves, sets.block_low, sets.block_high, sets.block_levels,
            )  # fmt: skip
        self.n_trees += 1

    def _place_blocks(self, t: int, block_of_leaf: npt.NDArray[np.int64], n_blocks: int) -> npt.NDArray[np.int64]:
        """Make room for the blocks of tree ``t``; returns where each leaf stands."""
        if n_blocks > 64 * self.width:
            self._widen(1 << ((n_blocks + 63) // 64 - 1).bit_length())
        first = self._used_blocks
        self._used_blocks += n_blocks
        sets = self._sets
        block_low = _grown(sets.block_low, 1, self._used_blocks)
        n_leaf_slots = block_low.shape[1] * 64
        self._sets = sets._replace(
            value=_grown(sets.value, 0, n_leaf_slots),
            lower=_grown(sets.lower, 0, n_leaf_slots),
            block_leaves=_grown(sets.block_leaves, 0, block_low.shape[1]),
            block_low=block_low,
            block_high=_grown(sets.block_high, 1, block_low.shape[1]),
            block_levels=_grown(sets.block_levels, 1, block_low.shape[1]),
        )
        self._place_levels(n_leaf_slots)
        slots = t * self.width * 64
        self._sets.block[slots : slots + n_blocks] = np.arange(first, first + n_blocks)
        # bits of a block are its leaves from left to right
        firsts = np.searchsorted(block_of_leaf, np.arange(n_blocks))
        bit = np.arange(len(block_of_leaf)) - firsts[block_of_leaf]
        return (first + block_of_leaf) * 64 + bit

    def _widen(self, width: int) -> None:
        """More words per tree: a tree with more blocks than expected has come."""
        sets = self._sets
        words = np.zeros((sets.words.shape[0], width), np.uint64)
        words[:, : self.width] = sets.words
        block = np.zeros((len(sets.tree_row), width * 64), np.uint32)
        block[:, : self.width * 64] = sets.block.reshape(len(sets.tree_row), -1)
        self._sets = sets._replace(words=words, block=block.reshape(-1))
        self.width = width
