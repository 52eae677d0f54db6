"""The leaf sets of an ensemble, grown tree by tree."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import FAN, LANES, Columns, LeafSets, Treelets, Trees
from energyboost.kernels.leafsets import add_leaves, add_rows, add_treelets, group_leaves, leaf_boxes, slot_boxes
from energyboost.model.tree import Tree

Integers = npt.NDArray[np.int64]
Field = tuple[str, npt.DTypeLike, tuple[int, ...]]

# Slots that are leaves need no visits to treelets, but memory that grows with the square of the leaves: few trees of
# 2,048 leaves have it, and any number of trees of 512. Slots of up to 16 leaves suffice to 4,096 leaves; in larger
# trees slots are treelets of treelets.
LARGEST = (512, 4096)
LARGEST_FLAT = 2048
FLAT_BYTES = 1 << 26
LINE = 64  # bytes of a cache line


def _zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin at a cache line, so that no more lines are read than necessary."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(kind).reshape(shape)


def _grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """``array`` with at least ``length`` rows, new ones zero."""
    if len(array) >= length:
        return array
    larger = _zeros((max(length, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _record(*fields: Field) -> np.dtype[np.void]:
    """What is read together, side by side, and padded so that it lies in as few cache lines as can be."""
    size = np.dtype(list(fields)).itemsize
    padded = 1 << (size - 1).bit_length() if size < LINE else -(-size // LINE) * LINE
    return np.dtype([*fields, ("padding", np.uint8, (padded - size,))])


class LeafIndex:
    """Leaf sets of up to ``max_trees`` trees of up to ``max_leaves`` leaves, for :mod:`energyboost.kernels.slices`."""

    def __init__(
        self, columns: Columns, max_trees: int, max_leaves: int, code_dtype: np.dtype[np.unsignedinteger]
    ) -> None:
        self.columns = columns
        self.max_trees, self.max_leaves = max_trees, max_leaves
        self.n_trees = 0
        flat_bytes = (
            max_trees * max_leaves / 8 * min(max_leaves, int(columns.size.sum()))
        )  # about twice what it becomes
        flat = max_leaves <= LARGEST_FLAT and flat_bytes <= FLAT_BYTES
        self.n_levels = 0 if flat else sum(max_leaves > largest for largest in LARGEST)
        # A treelet has some 6 children as a rule; a tree with more slots than expected widens the index.
        words = -(-max_leaves // (64 * (1, 6, 32)[self.n_levels]))
        self.width = 1 << (words - 1).bit_length()  # a row then lies in as few cache lines as can be
        self._used_rows = 0
        # the most rows of words that a tree can have: see add_rows
        self._rows_beside_leaves = 1 + len(columns.size) + int(columns.level_start[-1])
        n_columns = len(columns.size)
        n_leaf_slots = max_trees * self.width * 64
        groups = np.where(columns.ordered, 0, np.diff(columns.start) // LANES)
        self._treelets = _TreeletList(n_columns, code_dtype)
        self._used_leaves = 0
        leaf: list[Field] = [
            ("value", np.float32, ()),
            ("lower", code_dtype, (n_columns,)),
            ("levels", np.uint16, (int(groups.sum()),)),
        ]
        # Records take more room than their fields apart: they pay where leaves are too many to stay in a fast cache.
        self._leaves: Any = (
            _zeros((0,), _record(*leaf))
            if self.n_levels
            else {name: _zeros((n_leaf_slots, *shape), dtype) for name, dtype, shape in leaf}
        )
        box: list[Field] = [
            ("box_value", np.float32, ()),
            ("box_lower", code_dtype, (n_columns,)),
            ("box_upper", code_dtype, (n_columns,)),
        ]
        self._boxes = _zeros((0 if self.n_levels else n_leaf_slots,), _record(*box))
        self._sets = LeafSets(
            words=_zeros((0, self.width), np.uint64),
            tree_row=np.zeros(max_trees, np.uint32),
            step=np.zeros(
                (columns.start[-1], max_trees),
                np.uint16 if self._rows_beside_leaves + max_leaves <= 65_536 else np.uint32,
            ),
            **self._leaf_fields(),
            levels_start=np.cumsum(groups) - groups,
            **self._box_fields(),
            first_slot=np.zeros(max_trees, np.uint32),
            n_levels=self.n_levels,
            treelets=self._treelets.arrays,
        )

    def _leaf_fields(self) -> dict[str, Any]:
        return {name: self._leaves[name] for name in ("value", "lower", "levels")}

    def _box_fields(self) -> dict[str, Any]:
        return {name: self._boxes[name] for name in ("box_value", "box_lower", "box_upper")}

    @property
    def arrays(self) -> LeafSets:
        """What kernels read. Taken anew after each :meth:`add`: arrays are replaced as they grow."""
        return self._sets

    def add(self, tree: Tree) -> None:
        """Append a tree."""
        if tree.n_leaves > self.max_leaves or self.n_trees == self.max_trees:
            raise ValueError(
                f"tree {self.n_trees} with {tree.n_leaves} leaves does not fit an index of "
                f"{self.max_trees} trees of up to {self.max_leaves} leaves"
            )
        nodes, first_row = tree.arrays, self._used_rows
        low, high, admits = leaf_boxes(self.columns, nodes)
        slot_of_leaf, first_leaf = np.arange(tree.n_leaves), self.n_trees * self.width * 64
        if self.n_levels:
            slot_of_leaf, first_leaf = self._add_treelets(nodes), self._used_leaves
            self._used_leaves += tree.n_leaves
            self._leaves = _grown(self._leaves, self._used_leaves)
            self._boxes = _grown(self._boxes, self._used_leaves)
            self._sets = self._sets._replace(**self._box_fields(), **self._leaf_fields())
        self._sets = self._sets._replace(
            words=_grown(self._sets.words, first_row + self._rows_beside_leaves + tree.n_leaves)
        )
        sets = self._sets
        if not self.n_levels:
            sets.first_slot[self.n_trees] = first_leaf
        sets.tree_row[self.n_trees] = first_row
        step = sets.step[:, self.n_trees]
        add_leaves(self.columns, low, high, admits, tree.leaf_value, first_leaf, sets)
        if self.n_levels:  # cuts inside a slot then make no row: rows must stay in a fast cache
            low, high, admits = slot_boxes(low, high, admits, slot_of_leaf)
        self._used_rows += add_rows(self.columns, nodes, low, high, admits, sets.words, first_row, step)
        self.n_trees += 1

    def _add_treelets(self, tree: Trees) -> Integers:
        """Append the treelets of a tree that is about to be added; returns the slot of each of its leaves."""
        child, first = np.arange(len(tree.leaf_value)), self._used_leaves
        for _ in range(self.n_levels):
            child, first = self._treelets.add(self.columns, tree, child, first)
        n_slots = int(child[-1]) + 1
        if n_slots > 64 * self.width:
            self._widen(1 << (-(-n_slots // 64) - 1).bit_length())
        self._sets.first_slot[self.n_trees] = first
        self._treelets.add_masks(tree)
        self._sets = self._sets._replace(treelets=self._treelets.arrays)
        return child

    def _widen(self, width: int) -> None:
        """More words per tree: one with more slots than expected has come."""
        words = _zeros((len(self._sets.words), width), np.uint64)
        words[:, : self.width] = self._sets.words
        self._sets, self.width = self._sets._replace(words=words), width


class _TreeletList:
    """Treelets of many trees, one behind the other."""

    def __init__(self, n_columns: int, code_dtype: np.dtype[np.unsignedinteger]) -> None:
        self._n_treelets = self._n_sets = self._n_words = 0
        treelet = _record(
            ("column", np.uint8 if n_columns <= 256 else np.uint16, (FAN,)),
            ("threshold", code_dtype, (FAN,)),
            ("path", np.uint16, (FAN,)),
        )
        self._records = _zeros((0,), treelet)
        self.arrays = Treelets(
            **self._fields(),
            first=np.zeros(0, np.uint32),
            set_start=np.zeros(0, np.uint32),
            n_sets=np.zeros(0, np.uint16),
            set_column=np.zeros(0, np.uint16),
            set_word=np.zeros(0, np.uint32),
            set_keep=np.zeros((0, 2), np.uint16),
            mask_bits=np.zeros(0, np.uint64),
        )

    def _fields(self) -> dict[str, npt.NDArray[Any]]:
        return {name: self._records[name] for name in ("column", "threshold", "path")}

    def add(self, columns: Columns, tree: Trees, child: Integers, first_child: int) -> tuple[Integers, int]:
        """Append the treelets over some children: ``child`` numbers those of the tree's leaves, from left to right.

        Returns which of the new treelets each leaf is in, and the place of the first of them.
        """
        group, first = np.empty(len(child), np.int64), self._n_treelets
        self._n_treelets += group_leaves(tree, child, group)
        self._records = _grown(self._records, self._n_treelets)
        self._grow(dict.fromkeys(("first", "set_start", "n_sets"), self._n_treelets))
        self._grow(dict.fromkeys(("set_column", "set_word", "set_keep"), self._n_sets + len(tree.column)))
        self._n_sets += add_treelets(
            columns, tree, child, group, first_child, first, self._n_sets, self._n_words, self.arrays
        )
        return group, first

    def add_masks(self, tree: Trees) -> None:
        """Append the masks of a tree, to which its treelets refer."""
        self._grow({"mask_bits": self._n_words + len(tree.mask_bits)})
        self.arrays.mask_bits[self._n_words : self._n_words + len(tree.mask_bits)] = tree.mask_bits
        self._n_words += len(tree.mask_bits)

    def _grow(self, lengths: dict[str, int]) -> None:
        grown = {name: _grown(getattr(self.arrays, name), length) for name, length in lengths.items()}
        self.arrays = self.arrays._replace(**self._fields(), **grown)
