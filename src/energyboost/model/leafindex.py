"""The leaf sets of an ensemble, grown tree by tree."""

from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import LANES, Columns, LeafSets
from energyboost.kernels.leafsets import add_blocks, add_leaves, add_rows, blocks_of_leaves, leaf_boxes
from energyboost.model.tree import Tree

LARGEST_FLAT = 512  # leaves; larger trees keep one slot per block: memory stays linear in leaves


def _grown(array: npt.NDArray[Any], axis: int, length: int) -> npt.NDArray[Any]:
    """``array`` with at least ``length`` entries along ``axis``, new ones zero."""
    if array.shape[axis] >= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(length, array.shape[axis] * 3 // 2)
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


class LeafIndex:
    """Leaf sets of up to ``max_trees`` trees of up to ``max_leaves`` leaves, for :mod:`energyboost.kernels.slices`."""

    def __init__(
        self, columns: Columns, max_trees: int, max_leaves: int, code_dtype: np.dtype[np.unsignedinteger]
    ) -> None:
        self.columns = columns
        self.n_trees = 0
        self.blocked = max_leaves > LARGEST_FLAT
        # Blocks hold some 40 of their 64 leaves as a rule; a tree that needs more blocks widens the index.
        words = -(-max_leaves // (64 * 24)) if self.blocked else -(-max_leaves // 64)
        self.width = 1 << (words - 1).bit_length()
        self._used_rows = 0
        self._used_blocks = 0
        self._used_leaves = 0
        # the most rows of words that a tree can have: see add_rows
        self._rows_beside_leaves = 1 + len(columns.size) + int(columns.level_start[-1])
        n_columns, n_slots = len(columns.size), max_trees * self.width * 64
        n_leaf_slots = 0 if self.blocked else n_slots
        groups = np.where(columns.ordered, 0, np.diff(columns.start) // LANES)
        self._sets = LeafSets(
            words=np.zeros((0, self.width), np.uint64),
            tree_row=np.zeros(max_trees, np.uint32),
            step=np.zeros(
                (columns.start[-1], max_trees),
                np.uint16 if self._rows_beside_leaves + max_leaves <= 65_536 else np.uint32,
            ),
            value=np.zeros(n_leaf_slots, np.float32),
            lower=np.zeros((n_leaf_slots, n_columns), np.uint16 if columns.size.max() < 65_000 else np.uint32),
            levels=np.zeros((n_leaf_slots, groups.sum()), np.uint16),
            levels_start=np.cumsum(groups) - groups,
            block=np.zeros(n_slots if self.blocked else 0, np.uint32),
            block_first=np.zeros(0, np.uint32),
            block_size=np.zeros(0, np.uint8),
            block_box=np.zeros(0, code_dtype),
            block_levels=np.zeros((columns.level_start[-1], 0), np.uint64),
        )

    @property
    def arrays(self) -> LeafSets:
        """What kernels read. Taken anew after each :meth:`add`: arrays are replaced as they grow."""
        return self._sets

    def add(self, tree: Tree) -> None:
        """Append a tree."""
        nodes, first_row, first_block = tree.arrays, self._used_rows, self._used_blocks
        low, high, admits = leaf_boxes(self.columns, nodes)
        slot_of_leaf = np.arange(tree.n_leaves)
        first_leaf = self.n_trees * self.width * 64
        if self.blocked:
            first_leaf = self._used_leaves
            self._room_for_blocks(blocks_of_leaves(nodes, slot_of_leaf), tree.n_leaves)
        self._sets = self._sets._replace(
            words=_grown(self._sets.words, 0, first_row + self._rows_beside_leaves + tree.n_leaves)
        )
        sets = self._sets
        sets.tree_row[self.n_trees] = first_row
        step = sets.step[:, self.n_trees]
        self._used_rows += add_rows(self.columns, nodes, low, high, admits, slot_of_leaf, sets.words, first_row, step)
        add_leaves(self.columns, low, admits, tree.leaf_value, first_leaf, sets)
        if self.blocked:
            add_blocks(self.columns, low, high, admits, slot_of_leaf, first_leaf, first_block, sets)
        self.n_trees += 1

    def _room_for_blocks(self, n_blocks: int, n_leaves: int) -> None:
        """Make room for the blocks and leaves of the next tree, and number its blocks."""
        if n_blocks > 64 * self.width:
            self._widen(1 << (-(-n_blocks // 64) - 1).bit_length())
        first = self._used_blocks
        self._used_blocks += n_blocks
        self._used_leaves += n_leaves
        sets = self._sets
        self._sets = sets._replace(
            value=_grown(sets.value, 0, self._used_leaves),
            levels=_grown(sets.levels, 0, self._used_leaves),
            block_first=_grown(sets.block_first, 0, self._used_blocks),
            block_size=_grown(sets.block_size, 0, self._used_blocks),
            # kernels read 64 leaves at once, of which the last block may have fewer
            block_box=_grown(sets.block_box, 0, 2 * len(self.columns.size) * self._used_leaves + 64),
            block_levels=_grown(sets.block_levels, 1, self._used_blocks),
        )
        slot = self.n_trees * self.width * 64
        sets.block[slot : slot + n_blocks] = np.arange(first, first + n_blocks)

    def _widen(self, width: int) -> None:
        """More words per tree: one with more blocks than expected has come."""
        sets, n_trees = self._sets, len(self._sets.tree_row)
        words = np.zeros((len(sets.words), width), np.uint64)
        words[:, : self.width] = sets.words
        block = np.zeros((n_trees, width * 64), np.uint32)
        block[:, : self.width * 64] = sets.block.reshape(n_trees, -1)
        self._sets, self.width = sets._replace(words=words, block=block.reshape(-1)), width
